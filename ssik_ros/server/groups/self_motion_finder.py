"""
Find self-motions of a pose: curves of postures of a group that put a link at the pose.

The group has seven joints, or six joints and an axis of the link about which the link may rotate freely.
:class:`SelfMotionFinder` responds to a request with a :class:`SelfMotionsResponse`.
"""

from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, InvalidOption, TopologyMismatch
from ssik_ros.manipulator.self_motion_arms import make_tracer, read_axis
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.results import Cause, no_solution
from ssik_ros.server.groups.all_branches import BranchFinder
from ssik_ros.server.requests.ik_requests import (
    FullState,
    LARGEST_RESPONSE,
    LinkGoal,
    SelfMotionOptions,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.tracer import SelfMotionTracer

DEFAULT_SPACING = 0.1
"""Distance of two postures of a curve if a request names none [rad]."""
MOST_KEPT = 16
"""Chains with a link and a free axis of which the closed form is kept."""


class SelfMotionsResponse(NamedTuple):
    """
    The self-motions of a pose that were found within the limits, as curves of postures; or the cause of a failure.

    ``text`` says whether a curve may be missing.
    """

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """NOT_FOUND if no posture within the limits was found, or the cause of a refusal; else NONE."""
    text: str
    """One sentence or more about the outcome."""
    joint_names: tuple[str, ...] = ()
    """Names of the variables of the group, in the order of the postures."""
    motions: SelfMotions | None = None
    """The curves; None for a refused request."""
    postures: tuple[tuple[FloatArray, FloatArray], ...] = ()
    """(arc lengths (m,) from the start of the curve, postures (m, n)) of each curve. Arc lengths are in joint space
    [rad]; a metre of a prismatic joint counts as a radian."""


class SelfMotionFinder:
    """
    Finds self-motions of a pose for one group: curves of postures along which the link keeps the pose.

    If a request names a free axis, the link may rotate about this axis.
    """

    def __init__(self, finder: BranchFinder) -> None:
        """
        Keep the branch finder of a group.

        :param finder: branch finder of the group.
        """
        self._finder = finder
        self._tracers: dict[bytes, SelfMotionTracer] = {}

    def find(
        self, goal: LinkGoal, state: FullState, options: SelfMotionOptions
    ) -> SelfMotionsResponse:
        """
        Return the self-motions of a pose: the curves of postures within the limits that are found, with samples.

        The text says whether it is proved that no curve is missing on which the held joint moves by more than the
        resolution. If no posture within the limits is found, the cause is NOT_FOUND.

        :param goal: the pose in the model frame, and its link.
        :param state: joints outside the group.
        :param options: free axis, resolution and spacing of the request.
        :raises RequestRefused: for invalid options, a pose that is not a rigid transform, and too many samples. Also
            for a group without a solver, a closed form or one redundant joint, and for a link that is not fixed to a
            tip.
        """
        server = self._finder.server
        solver = server.require_solver()
        spacing = _read_positive('spacing', options.spacing) or DEFAULT_SPACING
        resolution = _read_positive('resolution', options.resolution)
        led = self._finder.led_link(solver, goal)
        q = server.robot.default_positions()[server.group.idx_q]
        tracer = self._tracer(led.pose(q, state.positions), options)
        target = server.frames.model_in_link(solver.base_frame, state) @ goal.pose
        motions = tracer.motions(np.ascontiguousarray(target), resolution)
        names = server.group.variable_names
        if motions is None:
            raise Refusal.BAD_TARGET.error('The target pose is no rigid transform.')
        if not len(motions):
            text = no_solution(Cause.NOT_FOUND, '; no posture within the limits was found.')
            return SelfMotionsResponse(Refusal.NONE, Cause.NOT_FOUND, text, names, motions)
        postures = _sample(motions, spacing)
        complete = (
            f'none is missing on which the held joint moves by more than {motions.resolution:.3g}'
        )
        proof = complete if motions.is_complete else motions.reason
        text = f'{counted(len(motions), "curve")}: {proof}.'
        return SelfMotionsResponse(Refusal.NONE, Cause.NONE, text, names, motions, postures)

    def _tracer(self, pose: FloatArray, options: SelfMotionOptions) -> SelfMotionTracer:
        """
        Return the object that traces self-motion curves for one link and the free axis in the options, from a cache.

        ``pose`` (4, 4) is the pose of the link in the base link at the default joint positions; it tells where the link
        is fixed to the tip. Raise RequestRefused for an arm that has no such curves, and for an invalid axis.
        """
        server = self._finder.server
        axis = _read_axis(options.free_axis)
        key = pose.tobytes() + np.array(axis or ()).tobytes()
        if key not in self._tracers:
            try:
                chain = SerialChain.from_whole_group(server.robot, server.group)
                q = server.robot.default_positions()[server.group.idx_q]
                tool = np.linalg.solve(chain.pose(q), pose)
                link_chain = replace(chain, home=chain.home @ tool)
                made = make_tracer(link_chain, axis, DEFAULT_TOLERANCE_POLICY)
            except TopologyMismatch as error:
                raise Refusal.NO_SOLVER.error(str(error)) from error
            if len(self._tracers) >= MOST_KEPT:
                self._tracers.clear()
            self._tracers[key] = made
        return self._tracers[key]


def _read_axis(given: tuple[float, float, float]) -> tuple[float, float, float] | None:
    """
    Return a free axis as a unit vector, None for (0, 0, 0).

    Raise RequestRefused for a vector that is not finite or too short for a direction.
    """
    try:
        return read_axis(given) if any(given) else None
    except InvalidOption as error:
        raise Refusal.BAD_OPTION.error(str(error)) from error


def _read_positive(name: str, value: float) -> float | None:
    """
    Return an option of a request if it is positive, None if it is zero.

    Raise RequestRefused if it is negative or not finite.

    ``name`` is the option in the error text.
    """
    if not 0.0 <= value < math.inf:
        text = f'{name} is {value:g}; it must be a finite number of at least zero.'
        raise Refusal.BAD_OPTION.error(text)
    return value or None


def _sample(motions: SelfMotions, spacing: float) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """
    Return (arc lengths (m,), postures (m, n)) of each curve, at most ``spacing`` apart.

    Arc lengths and spacing are lengths in joint space [rad]; a metre of a prismatic joint counts as a radian. Raise
    RequestRefused for more than ``LARGEST_RESPONSE`` postures in all.
    """
    counts = [math.ceil(min(curve.length / spacing, 1e9)) + 1 for curve in motions]
    if sum(counts) > LARGEST_RESPONSE:
        raise Refusal.BAD_OPTION.error(
            f'spacing {spacing:g} asks for {sum(counts)} postures; a response holds {LARGEST_RESPONSE} at most.',
        )
    arcs = [np.linspace(0.0, c.length, n) for c, n in zip(motions, counts, strict=True)]
    return tuple((s, curve(s)) for s, curve in zip(arcs, motions, strict=True))
