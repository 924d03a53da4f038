"""
Laws: solutions follow when the arm is moved, scaled, mirrored, reversed, written in another order, or given a fixed link.

No oracle is needed: the same arm in another description has the same solutions, up to the rounding of either.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
import math
from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.random import Generator

from bench.arms import FloatArray
from campaigns.postures.judging import branch_distance, Fault, is_complete, Judged, Tally
from campaigns.postures.planter import smallest_singular_values
from campaigns.postures.robots import direction, Robot, rotation_about, Screws, screws_of

ROWS = 4
EDGE = 1e-9
"""Distance from the limits below which rounding decides whether a posture is within them [rad or m]."""
CERTAIN = 1e-4
"""Smallest singular value of a solution that both descriptions must have."""


class Described(NamedTuple):
    """An arm in another description."""

    robot: Robot
    poses: FloatArray
    """(k, 4, 4) the poses in that description."""
    back: Callable[[FloatArray], FloatArray]
    """Returns postures (m, n) of the first description."""


def moved_base(judged: Judged, rng: Generator) -> Described:
    """Return the arm on a base at another pose."""
    move, screws = _pose(rng, judged.robot.size), screws_of(judged.robot)
    rotation = move[:3, :3]
    points = screws.points @ rotation.T + move[:3, 3]
    other = replace(screws, axes=screws.axes @ rotation.T, points=points, home=move @ screws.home)
    return Described(_robot(judged, other), move @ judged.poses, _same)


def fixed_link(judged: Judged, rng: Generator) -> Described:
    """Return the arm with another link at its tip."""
    tool, screws = _pose(rng, judged.robot.size), screws_of(judged.robot)
    return Described(
        _robot(judged, replace(screws, home=screws.home @ tool)), judged.poses @ tool, _same
    )


def scaled(judged: Judged, rng: Generator) -> Described:
    """Return the arm with all lengths longer or shorter by one factor."""
    factor, screws = float(rng.choice([0.25, 0.5, 2.0, 4.0])), screws_of(judged.robot)
    home, poses = screws.home.copy(), judged.poses.copy()
    home[:3, 3] *= factor
    poses[:, :3, 3] *= factor
    unit = np.where(screws.turns, 1.0, factor)
    other = replace(
        screws,
        points=factor * screws.points,
        home=home,
        lower=screws.lower * unit,
        upper=screws.upper * unit,
    )
    return Described(_robot(judged, other), poses, lambda q: q / unit)


def mirrored(judged: Judged, rng: Generator) -> Described:
    """Return the arm in a mirror."""
    normal, screws = direction(rng), screws_of(judged.robot)
    mirror = np.eye(4)
    mirror[:3, :3] -= 2.0 * np.outer(normal, normal)
    flat = mirror[:3, :3]
    signs = np.where(screws.turns, -1.0, 1.0)[:, None]
    other = replace(
        screws,
        axes=signs * (screws.axes @ flat),
        points=screws.points @ flat,
        home=mirror @ screws.home @ mirror,
    )
    return Described(_robot(judged, other), mirror @ judged.poses @ mirror, _same)


def reversed_arm(judged: Judged, rng: Generator) -> Described:
    """Return the arm held at its tip, its base to be placed."""
    del rng
    screws = screws_of(judged.robot)
    back = np.linalg.inv(screws.home)
    axes = -(screws.axes @ back[:3, :3].T)[::-1]
    points = (screws.points @ back[:3, :3].T + back[:3, 3])[::-1]
    other = Screws(axes, points, back, screws.turns[::-1], screws.lower[::-1], screws.upper[::-1])
    poses = np.linalg.inv(judged.poses)
    return Described(_robot(judged, other), poses, lambda q: q[:, ::-1])


def reordered(judged: Judged, rng: Generator) -> Described:
    """Return the arm with the elements of its URDF in another order."""
    root = ElementTree.fromstring(judged.robot.urdf)
    elements = list(root)
    for element in elements:
        root.remove(element)
    for index in rng.permutation(len(elements)):
        root.append(elements[index])
    text = ElementTree.tostring(root, encoding='unicode')
    return Described(replace(judged.robot, urdf=text), judged.poses, _same)


LAWS = (moved_base, fixed_link, scaled, mirrored, reversed_arm, reordered)


def judge_laws(judged: Judged, tally: Tally) -> Iterator[Fault]:
    """Compare all branches of some poses in two descriptions of the arm."""
    del tally
    if not judged.is_complete:
        return
    rng = np.random.default_rng(judged.group.seed)
    law = LAWS[int(rng.integers(len(LAWS)))]
    other = law(judged, rng)
    arm = other.robot.manipulator()
    if not is_complete(arm):
        return
    for row in judged.rows(ROWS):
        pose = _rigid(other.poses[row])
        first = judged.manipulator.solve_q(judged.poses[row])
        second = other.back(arm.solve_q(pose))
        if len(first) and not len(second) and judged.margin(judged.group.q[row]) > EDGE:
            yield judged.fault('law', 'laws', row, f'{law.__name__}: no solution')
            continue
        for which, rows, others in (('first', first, second), ('second', second, first)):
            lost = _lost(judged, rows, others)
            if lost is not None:
                detail = f'{law.__name__}: only the {which} description has {lost.tolist()}'
                yield judged.fault('law', 'laws', row, detail)
                break


def _lost(judged: Judged, rows: FloatArray, others: FloatArray) -> FloatArray | None:
    """Return an isolated posture of a set that is missing in another set, or None."""
    if not len(rows):
        return None
    sigmas = smallest_singular_values(judged.robot, rows)
    for q, sigma in zip(rows, sigmas, strict=True):
        unsure = branch_distance(float(sigma))
        if sigma < CERTAIN or judged.margin(q) < unsure:
            continue
        if judged.distances(others, q).min(initial=math.inf) > unsure:
            lost: FloatArray = q
            return lost
    return None


def _robot(judged: Judged, screws: Screws) -> Robot:
    """Return a robot of lines."""
    return screws.robot(judged.robot.name, judged.robot.family)


def _same(q: FloatArray) -> FloatArray:
    """Return postures as they are."""
    return q


def _pose(rng: Generator, size: float) -> FloatArray:
    """Return a random pose (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_about(direction(rng), rng.uniform(0.0, math.pi))
    pose[:3, 3] = size * rng.uniform(-1.0, 1.0, 3)
    return pose


def _rigid(pose: FloatArray) -> FloatArray:
    """Return a pose whose rotation is exact to rounding."""
    u, _, v = np.linalg.svd(pose[:3, :3])
    exact = np.eye(4)
    exact[:3, :3], exact[:3, 3] = u @ v, pose[:3, 3]
    return exact
