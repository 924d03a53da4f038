"""Record poses with this package's solutions; the self-test of a C library must find the same ones."""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray
from ssik_ros.artifact.c.blocks import Arm
from ssik_ros.errors import counted, InvalidLimits, TopologyMismatch
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import OneSolution
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

POSES = 40
PRIME = 1099511628211
START = 14695981039346656037


class RecordedPose(NamedTuple):
    """A target pose and a seed, with the solutions that this package finds for them; made by :func:`record`."""

    pose: FloatArray
    """(4, 4) pose of the tip in the base."""
    seed: FloatArray
    """(n,) seed [rad or m]."""
    branches: FloatArray
    """
    (k, n) branches within limits that the closed form finds, the nearest to the seed first [rad or m].

    Empty without a closed form.
    """
    first: FloatArray
    """(n,) the solution of the solver of plain requests (one pose, one seed, no conditions) [rad or m]."""


def random_joints(arm: Arm, rng: np.random.Generator) -> FloatArray:
    """
    Return a random joint vector (n,) within limits [rad or m]; :func:`finite_range` replaces missing limits.

    :param arm: the arm.
    :param rng: random generator.
    """
    values: FloatArray = rng.uniform(*finite_range(arm.group.lower, arm.group.upper))
    return values


def record(arm: Arm, count: int = POSES) -> list[RecordedPose]:
    """
    Return random poses, each with the solutions of the closed form, if there is one, and of the plain solver.

    The plain solver takes requests with one pose, one seed and no conditions. Poses that one of both does not solve are
    left out. Every call returns the same poses for an arm.

    :param arm: the arm.
    :param count: number of poses.
    :raises InvalidLimits: if fewer than ``count`` of 4 ``count`` random poses are solved, or as for :func:`solve_one`.
    :raises TopologyMismatch: for a group without a plain solver, such as one with several tips.
    """
    if arm.plain is None:
        raise TopologyMismatch(
            f"Group '{arm.group.name}' has {counted(len(arm.group.tips), 'tip')}. A C library of its own has one arm with "
            'one tip; libssik serves the group from its blocks (--blocks).'
        )
    rng, poses = np.random.default_rng(1), []
    for _ in range(4 * count):
        pose, seed = arm.kinematics.pose(random_joints(arm, rng)), random_joints(arm, rng)
        one = solve_one(arm, pose, seed)
        if one is not None:
            poses.append(one)
        if len(poses) == count:
            return poses
    raise InvalidLimits(
        f'Of {4 * count} poses within the limits only {len(poses)} are solved by the closed form and by the search; '
        'a self-test needs more.'
    )


def solve_one(arm: Arm, pose: FloatArray, seed: FloatArray) -> RecordedPose | None:
    """
    Return a pose with this package's solutions; None if the plain solver or the closed form finds none within limits.

    None is also returned if the closed form needs a descent to find its branches. Without a closed form, only the plain
    solver counts.

    :param arm: the arm, whose ``plain`` is not None.
    :param pose: (4, 4) of the tip in the base.
    :param seed: (n,) [rad or m].
    :raises InvalidLimits: as :meth:`~ssik_ros.solvers.closed_form.arm.AnalyticArm.branches`.
    """
    assert arm.plain is not None
    first = arm.plain.solve(SolveRequest(targets=pose, seed=seed))
    if not isinstance(first, OneSolution):
        return None
    branches = np.empty((0, len(seed)))
    if arm.form is not None:
        solved = arm.form.arm.branches_refined(pose, BranchRequest(seed=seed))
        if solved is None or not len(solved.q) or solved.starts:
            return None
        branches = solved.q
    return RecordedPose(pose, seed, branches, first.solutions[0])


def hash_of(values: FloatArray) -> int:
    """Return the 64-bit FNV-1a hash of the bytes of some numbers."""
    total = START
    for byte in np.ascontiguousarray(values, dtype='<f8').tobytes():
        total = (total ^ byte) * PRIME & 0xFFFFFFFFFFFFFFFF
    return total


def recorded_header(poses: list[RecordedPose], n: int) -> str:
    """
    Return the text of ``recorded.h``, with the poses and hashes of their solutions.

    :param poses: result of :func:`record`.
    :param n: number of joints.
    """
    lines = [
        f'enum {{ POSES = {len(poses)} }};',
        'static const struct recorded {',
        f'  double pose[16], seed[{n}];',
        '  int64_t count, found;',
        '  uint64_t branches, first;',
        '} RECORDED[POSES] = {',
    ]
    for each in poses:
        pose, seed = (', '.join(map(float.hex, part.ravel().tolist())) for part in each[:2])
        hashes = f'UINT64_C({hash_of(each.branches)}), UINT64_C({hash_of(each.first)})'
        lines.append(f'  {{{{{pose}}}, {{{seed}}}, {len(each.branches)}, 1, {hashes}}},')
    return '\n'.join([*lines, '};', ''])
