"""Self-motions of one arm: postures on every curve by its closed form, then the curves through them."""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import TopologyMismatch
from ssik_ros.kernels.closed_form.self_motions import segments, trace
from ssik_ros.kernels.geometry.rotations import pose_numbers
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest, PLAIN
from ssik_ros.solvers.self_motions.curve import JOINTS, TracedPose
from ssik_ros.solvers.self_motions.motions import SelfMotions

FIRST_KNOTS = 2048
"""Knots for which there is room at first."""
LEAST_VALUES = 16
"""Values of the held joint at which all branches are looked for, at least."""
SHARES = 16
"""The default resolution is the range of the held joint over this."""


class CurveArrays(NamedTuple):
    """Room for the curves of one pose; later ones reuse it."""

    knots: FloatArray
    work: FloatArray


class SelfMotionTracer:
    """The self-motions of a chain of seven joints."""

    def __init__(self, arm: AnalyticArm, dof: int) -> None:
        """
        Take the closed form of a chain.

        :param arm: of seven joints, one of them held.
        :param dof: how many of them are the arm's own; the last one is a spin of the tool where it is 6.
        :raises TopologyMismatch: when the chain has another number of joints.
        """
        if arm.plan.size != 7 or arm.plan.held < 0:
            raise TopologyMismatch(
                f'Self-motions need one redundant joint: seven joints, or six and a free axis of the tool. '
                f'This arm has {arm.plan.size}.'
            )
        self._arm, self._dof = arm, dof
        self._pool: list[CurveArrays] = []

    def motions(self, pose: FloatArray, resolution: float | None = None) -> SelfMotions:
        """
        Return the self-motions of a pose.

        :param pose: (4, 4) a rigid transform: of the tip in the base.
        :param resolution: every curve on which the held joint moves by more than this is found [rad or m]; None for the
            sixteenth part of its range.
        """
        arm, plan = self._arm, self._arm.plan
        low, high = arm.held_range(plan.held, PLAIN)
        values = SHARES if resolution is None else math.ceil((high - low) / resolution)
        request = BranchRequest(samples=max(values, LEAST_VALUES))
        found = arm.branches_refined(pose, request)
        seeds = np.empty((0, 7)) if found is None else found.q
        prepared = arm.prepare(request, pose)
        own = TracedPose(
            plan,
            self._dof,
            prepared.reals,
            pose_numbers(pose),
            arm.accepted(None),
            arm.chain.lower,
            arm.chain.upper,
        )
        knots, rows = self._trace(own, np.ascontiguousarray(seeds))
        step = (high - low) / max(values, LEAST_VALUES)
        why = '' if plan.drift == 0.0 else 'the arm is not exactly of its class'
        return SelfMotions(own, knots, rows, step, why)

    def _trace(self, own: TracedPose, seeds: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the knots of the curves through postures, and how many knots each curve has."""
        arrays = self._pool.pop() if self._pool else _make_arrays(FIRST_KNOTS)
        while True:
            heads = np.empty((len(seeds), 2), dtype=np.int64)
            is_done = np.zeros(len(seeds), dtype=np.int64)
            where = own.target, seeds, is_done, JOINTS, arrays.work
            count = trace.trace(arrays.knots, heads, own.plan.ints, own.reals, *where)
            if count >= 0:
                break
            arrays = _make_arrays(2 * len(arrays.knots))
        rows = heads[:count, trace.ROWS].copy()
        knots = arrays.knots[: int(rows.sum())].copy()
        self._pool.append(arrays)
        return knots, rows


def _make_arrays(count: int) -> CurveArrays:
    """Return room for so many knots."""
    return CurveArrays(np.empty((count, segments.COLUMNS)), np.empty(trace.scratch_size()))
