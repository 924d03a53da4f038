"""
Read the region of a reach map from a text, and poses for a map from a CSV file.

The region ``auto`` is a ball that the tip never leaves, from :func:`ball_of`.
"""

import math
from pathlib import Path

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget, quote
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.number_tables import read_table
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.grid import BOX, GridRegion, LARGEST_COORDINATE

FORMS = 'auto, sphere:RADIUS, sphere:X,Y,Z,RADIUS or box:X,Y,Z,X,Y,Z'
COLUMNS = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
MOST_POSES = 10_000_000
UNIT_NORM_DEVIATION = 1e-3
"""Largest deviation of the norm of a quaternion in a file from 1 [1]."""


def read_region(text: str, chain: SerialChain) -> GridRegion:
    """
    Return the region that a text describes, in the frame of the chain's base link.

    :param text: ``auto``, ``sphere:RADIUS``, ``sphere:X,Y,Z,RADIUS`` or ``box:X,Y,Z,X,Y,Z`` with two corners [m].
    :param chain: chain of the arm; a ball without centre is around its first joint.
    :raises InvalidOption: for other texts, and for a region without volume.
    """
    kind, _, rest = text.partition(':')
    if text == 'auto':
        return ball_of(chain)
    try:
        numbers = [float(word) for word in rest.split(',')]
    except ValueError:
        numbers = []
    if kind == 'sphere' and len(numbers) in (1, 4):
        x, y, z = numbers[:-1] or chain.points[0].tolist()
        if not 0.0 < numbers[-1] <= LARGEST_COORDINATE:
            raise InvalidOption(
                f'The radius of a region is a positive number, not {numbers[-1]:g}.'
            )
        return GridRegion.sphere((x, y, z), numbers[-1])
    if kind == BOX and len(numbers) == 6:
        a, b, c, d, e, f = numbers
        return GridRegion(BOX, (a, b, c), (d, e, f))
    raise InvalidOption(f'A region is {FORMS}, not {quote(text)}.')


def ball_of(chain: SerialChain) -> GridRegion:
    """
    Return a ball around the first joint that the tip never leaves.

    Its radius is the length of all links plus, for each prismatic joint, the larger absolute value of its two limits.

    :param chain: chain of the arm.
    :raises InvalidOption: if a prismatic joint lacks a limit.
    """
    slides = chain.kinds == JointKind.PRISMATIC
    strokes = np.maximum(np.abs(chain.lower), np.abs(chain.upper))[slides]
    radius = chain.length + float(strokes.sum())
    if not math.isfinite(radius):
        raise InvalidOption('A joint slides without limits: the arm has no end. Name a region.')
    x, y, z = chain.points[0].tolist()
    return GridRegion.sphere((x, y, z), max(radius, 1e-6))


def read_pose_list(file: Path) -> FloatArray:
    """
    Return the poses of a CSV file (n, 7): positions [m] and unit quaternions x, y, z, w.

    :param file: a header with x, y, z, qx, qy, qz, qw in any order, other columns left out, then a row for each pose.
    :raises SsikError: if the file cannot be read, or if a row is not a pose.
    """
    table = read_table(file, MOST_POSES, COLUMNS, skips_others=True)
    poses = np.column_stack([table[name] for name in COLUMNS])
    norms = np.linalg.norm(poses[:, 3:], axis=1)
    is_pose = (np.abs(poses) <= LARGEST_COORDINATE).all(axis=1) & (
        np.abs(norms - 1.0) <= UNIT_NORM_DEVIATION
    )
    wrong = np.flatnonzero(~is_pose)
    if len(wrong):
        numbers = poses[wrong[0]].tolist()
        raise InvalidTarget(
            f"'{file}': row {wrong[0] + 1} below the names is no pose with a unit quaternion: {numbers}."
        )
    poses[:, 3:] /= norms[:, None]
    return np.ascontiguousarray(poses)
