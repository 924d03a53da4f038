"""
The self-motions of an arm: of its seven joints, or of six joints and a spin about an axis of the tool.

A self-motion is a curve of postures along which the joints move while the tip stays, or only spins about this axis. Six
joints or fewer without a spin have such curves at some singular poses.
"""

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_float, read_numbers, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget, RequestError, TopologyMismatch
from ssik_ros.manipulator.solve_settings import read_target, repair_target
from ssik_ros.manipulator.tolerance_policy import TolerancePolicy
from ssik_ros.model.collision.checks import CollisionChecker, import_coal
from ssik_ros.model.collision.objects import read_objects, WorldObject
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.self_motions.continuum import (
    follow_continuum,
    insert_joint,
    spread_postures,
)
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker, Objective
from ssik_ros.solvers.self_motions.tracer import SelfMotionTracer

TOOL_AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0)}
SPIN = 'spin'
"""Name of the joint that stands for the free axis of the tool."""
SHORTEST_AXIS = 1e-6
SEVEN = 7
"""Joints that have curves at every pose."""


class SelfMotionArm:
    """
    Finds the self-motions of one arm: curves of postures that reach one pose, maybe up to a spin of the tool.

    One instance serves one thread.
    """

    def __init__(self, robot: RobotModel, group: JointGroup, policy: TolerancePolicy) -> None:
        """
        Store the arm; the search is prepared at the first use.

        :param robot, group: the robot, and the group of the arm.
        :param policy: tolerances of the arm.
        """
        self._robot, self._group, self._policy = robot, group, policy
        self._tracers: dict[tuple[float, float, float] | None, SelfMotionTracer] = {}
        self._closed_form: AnalyticArm | None = None

    def find(
        self, T_target: ArrayLike, free_axis: str | ArrayLike | None, resolution: float | None
    ) -> SelfMotions:
        """
        Return the solutions of a pose as curves; see :meth:`ssik_ros.Manipulator.self_motions`.

        :param T_target: (4, 4) pose of the end effector in the base.
        :param free_axis: for six joints, the tool axis about which the tool may spin: ``x``, ``y``, ``z`` or a vector.
        :param resolution: a curve on which the held joint moves by less than this may be missed [rad or m].
        :raises TopologyMismatch, ValueError, TypeError: as :meth:`ssik_ros.Manipulator.self_motions`.
        """
        axis = read_axis(free_axis)
        if resolution is not None and not 0.0 < read_float('resolution', resolution) < math.inf:
            raise InvalidOption(f'resolution must be a positive number, not {shown(resolution)}.')
        target = read_target(T_target)
        if axis is None and len(self._group.joint_names) < SEVEN:
            continuum = self._find_continuum(target)
            if continuum is not None:
                return continuum
        tracer = self._tracer(axis)
        motions = tracer.motions(target, resolution)
        if motions is None:
            target = repair_target(target, self._policy.rigid)
            motions = tracer.motions(target, resolution)
        if motions is None:
            raise InvalidTarget(
                f'T_target is no rigid transform: {target.tolist()}', target=target
            )
        return motions

    def _find_continuum(self, target: FloatArray) -> SelfMotions | None:
        """
        Return the curves of postures of a singular pose, for an arm of six joints or fewer.

        Return None if no curve is found, if the pose is not a rigid transform, or if the arm has no closed form.
        """
        chain = SerialChain.from_group(self._robot, self._group)
        if self._closed_form is None:
            try:
                self._closed_form = AnalyticArm(
                    chain, parallel=self._policy.axis_parallel, meeting=self._policy.axis_intersect
                )
            except TopologyMismatch:
                return None
        branches = self._closed_form.branches(target, BranchRequest(mode=KEEP_ALL))
        if branches is None:
            return None
        rows = spread_postures(chain, target, branches.q)
        return follow_continuum(chain, rows, self._clearance) if len(rows) else None

    def _tracer(self, axis: tuple[float, float, float] | None) -> SelfMotionTracer:
        """
        Return the object that finds the curves, made at the first call for a free axis and kept.

        :param axis: unit vector in the tip's frame about which the tool may spin; None for a fixed tool.
        """
        if axis not in self._tracers:
            chain = SerialChain.from_group(self._robot, self._group)
            self._tracers[axis] = make_tracer(chain, axis, self._policy, self._clearance)
        return self._tracers[axis]

    def _clearance(self, obstacles: Sequence[WorldObject]) -> Objective:
        """
        Return a function that maps a joint vector to the least distance between two bodies [m].

        Only pairs of bodies count whose relative pose the arm changes. Joints outside the arm have default positions.
        Raise InvalidOption for a robot without collision geometry, and ModelError for an invalid object.

        :param obstacles: objects in the root frame of the robot, which count as bodies.
        """
        robot, at = self._robot, self._group.idx_q
        checker = CollisionChecker(robot)
        if not checker.available:
            raise InvalidOption("The objective 'clearance' needs a robot with collision geometry.")
        scene = checker.scene_of(read_objects('obstacles', obstacles))
        states = [robot.default_positions() for _ in range(2)]
        # Any two postures that differ in every joint.
        states[0][at], states[1][at] = 0.3 + 0.1 * np.arange(len(at)), -0.4
        pairs = scene.moving_pairs(*states)
        moving = CollisionScene(robot, import_coal(), scene.shapes, pairs, 0.0)

        def clearance(q: FloatArray) -> float:
            state = robot.default_positions()
            state[at] = q
            return moving.least_distance(state)

        return clearance


def make_tracer(
    chain: SerialChain,
    free_axis: tuple[float, float, float] | None,
    policy: TolerancePolicy,
    clearance: ClearanceMaker | None = None,
) -> SelfMotionTracer:
    """
    Return the object that finds the self-motions of an arm.

    :param chain: seven joints, or six and a free axis.
    :param free_axis: unit vector in the tip's frame about which the tool may spin; None for a fixed tool.
    :param policy: tolerances for parallel and for meeting axes.
    :param clearance: maps obstacles to the objective ``clearance``; None without a robot model.
    :raises TopologyMismatch: if the number of joints is another, or if the chain has no closed form.
    """
    dof = len(chain.joint_names)
    if dof != (7 if free_axis is None else 6):
        raise TopologyMismatch(
            f"Self-motions need one redundant joint: '{chain.base_link}' to '{chain.tip_link}' has {dof} joints"
            f'{"" if free_axis is None else " and a free axis of the tool"}; it takes seven, or six and a free axis. '
            'Six joints alone have curves at singular poses.'
        )
    whole = chain if free_axis is None else add_spin(chain, np.array(free_axis))
    # With six joints, hold the spin: the six joints then keep the closed form that they have without it.
    held = None if free_axis is None else dof
    arm = AnalyticArm(
        whole, parallel=policy.axis_parallel, meeting=policy.axis_intersect, held=held
    )
    return SelfMotionTracer(arm, dof, clearance)


def read_axis(free_axis: str | ArrayLike | None) -> tuple[float, float, float] | None:
    """
    Return a free axis of the tool as a unit vector, a tuple of three floats; None for a fixed tool.

    :param free_axis: ``x``, ``y``, ``z``, or three numbers, in the tip's frame; None if the tool may not spin.
    :raises TypeError: when it is something else, and for numbers that are not finite or a vector shorter than 1e-6.
    """
    if free_axis is None:
        return None
    given = TOOL_AXES.get(free_axis, free_axis) if isinstance(free_axis, str) else free_axis
    try:
        axis = read_numbers('free_axis', given)
    except RequestError:
        axis = np.zeros(0)
    size = math.hypot(*axis) if axis.shape == (3,) else 0.0
    if not (np.isfinite(size) and size >= SHORTEST_AXIS):
        raise InvalidOption(
            f"free_axis must be 'x', 'y', 'z' or a vector of three numbers, not {shown(free_axis)}."
        )
    x, y, z = (axis / size).tolist()
    return x, y, z


def add_spin(chain: SerialChain, axis: FloatArray) -> SerialChain:
    """
    Return a copy of a chain with one more revolute joint at its tip, without limits.

    :param chain: the arm.
    :param axis: (3,) unit vector in the tip's frame; the joint rotates about it through the tip.
    """
    axis, point = chain.home[:3, :3] @ axis, chain.home[:3, 3]
    return insert_joint(chain, SPIN, axis, point, len(chain.axes))
