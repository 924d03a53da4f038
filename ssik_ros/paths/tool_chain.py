"""A chain of five to eight joints as a closed form with free parameters: exact postures for any values of these."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.paths import postures
from ssik_ros.model.forward_kinematics import (
    compute_joint_poses,
    compute_link_pose,
    joint_motion,
)
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared

MOST_INNER = 7
"""Joints that the closed form takes; those before them are parameters."""
ROWS_AT_ONCE = 20_000
"""Values of a held joint that one kernel call tries: a few hundredths of a second."""


class PostureRows(NamedTuple):
    """Exact postures of many poses, one pose after the other."""

    q: FloatArray
    """(k, n) [rad or m]."""
    owners: IntArray
    """(k,) the pose of each."""
    counts: IntArray
    """(m, 3) branches of each pose, how many are outside the limits, and whether a proof refuses the pose."""


class ToolChain:
    """The joints that follow a tool path."""

    def __init__(
        self, robot: RobotModel, group: JointGroup, locked: Mapping[str, float] | None = None
    ) -> None:
        """
        Find the closed form.

        :param robot: the robot.
        :param group: a group with one tip.
        :param locked: joints of the group that do not move, with their values.
        :raises TopologyMismatch: when the chain has no closed form.
        :raises InvalidOption: for locked joints that the group does not have, or a value outside the limits.
        """
        self.robot, self.locked = robot, dict(locked or {})
        whole = SerialChain.from_group(robot, group)
        _check_locked(whole, self.locked)
        self.chain = lock_joints(whole, self.locked)
        """The moving joints."""
        self.size = len(self.chain.joint_names)
        self.outer = max(0, self.size - MOST_INNER)
        """Number of first joints whose values are parameters."""
        self.arm = AnalyticArm(_keep_joints(self.chain, range(self.outer, self.size)))
        self.held = self.arm.plan.held + self.outer if self.arm.plan.held >= 0 else -1
        """Index of the joint whose value is the last parameter, -1 for none."""
        self.wound: list[int] = []
        """Joints whose windings are told apart, since a path did not stay within their limits."""
        self.turning: IntArray = (
            (self.chain.kinds != JointKind.PRISMATIC)
            & ~(self.chain.upper - self.chain.lower < 2.0 * np.pi)
        ).astype(np.int64)
        """(n) 1 for joints whose angles have a winding within the limits, whatever they are."""

    @property
    def has_held(self) -> bool:
        """Return whether a joint of the closed form is held at values."""
        return self.held >= 0

    def pose(self, q: FloatArray) -> FloatArray:
        """
        Return the pose (4, 4) of the tip in the base frame, by the product of exponentials.

        :param q: (n).
        """
        return self.chain.pose(q)

    def base_pose(self) -> FloatArray:
        """Return the pose (4, 4) of the base link in the root frame."""
        tree = self.robot.tree
        poses = compute_joint_poses(tree, self.full_state(np.zeros(self.size)))
        return compute_link_pose(tree, poses, tree.link(self.chain.base_link))

    def tell_windings_apart(self, joint: int) -> None:
        """
        Treat the windings of a joint as different postures, since a path did not stay within its limits.

        :param joint: its index.
        """
        self.wound.append(joint)
        self.turning[joint] = 0

    def full_state(self, q: FloatArray) -> FloatArray:
        """
        Return the full state of the robot at a posture; other joints are at their default values.

        :param q: (n).
        """
        state = self.robot.default_positions()
        for name, value in self.locked.items():
            state[self.robot.tree.idx_q[self.robot.require_joint(name)]] = value
        state[self.chain.idx_q] = q
        return self.robot.with_mimic(state)

    def find_postures(
        self, poses: FloatArray, outer: FloatArray, values: FloatArray
    ) -> PostureRows:
        """
        Return every posture within limits at some poses.

        :param poses: (m, 4, 4) of the tip in the base frame.
        :param outer: (m, outer) values of the first joints.
        :param values: (m, s) values of the held joint; (m, 1), not read, if none is held.
        """
        inner = self._behind_outer(poses, outer)
        if self.arm.plan.ints[search.CUT] >= 0:
            found = self._one_by_one(inner, values)
        else:
            found = self._in_chunks(inner, values)
        if self.outer:
            q = np.hstack([outer[found.owners], found.q])
            return found._replace(q=q)
        return found

    def _behind_outer(self, poses: FloatArray, outer: FloatArray) -> FloatArray:
        """Return the poses that the inner joints have to reach."""
        for joint in range(self.outer):
            kind, axis = JointKind(self.chain.kinds[joint]), self.chain.axes[joint]
            point = self.chain.points[joint]
            values, index = np.unique(outer[:, joint], return_inverse=True)
            motions = np.array([_motion(kind, axis, point, -value) for value in values])
            poses = motions[index] @ poses
        return np.ascontiguousarray(poses)

    def _prepared(self, values: int) -> Prepared:
        """Return the request for all branches within limits at so many values of the held joint."""
        return self.arm.prepare(BranchRequest(held_values=np.zeros(values)))

    def _in_chunks(self, poses: FloatArray, values: FloatArray) -> PostureRows:
        """Return the postures of poses whose closed form is one kernel."""
        width = values.shape[1]
        prepared = self._prepared(width)
        capacity = search.BRANCHES_OF_SIX * width
        arrays = BranchArrays(self.arm.plan.size, capacity)
        chunk = max(1, ROWS_AT_ONCE // width)
        parts = []
        for start in range(0, len(poses), chunk):
            own = poses[start : start + chunk]
            q = np.empty((len(own) * capacity, self.arm.plan.size))
            owners = np.empty(len(q), dtype=np.int64)
            counts = np.zeros((len(own), 3), dtype=np.int64)
            used = postures.search_rows(
                q,
                owners,
                counts,
                own,
                np.ascontiguousarray(values[start : start + chunk]),
                prepared.ints,
                prepared.reals,
                prepared.options,
                prepared.seed,
                arrays.rows,
                arrays.counters,
                arrays.work,
            )
            parts.append(PostureRows(q[:used].copy(), owners[:used] + start, counts))
        return _together(parts)

    def _one_by_one(self, poses: FloatArray, values: FloatArray) -> PostureRows:
        """Return the postures of poses whose closed form is an elimination."""
        prepared = self._prepared(values.shape[1])
        arrays = BranchArrays(self.arm.plan.size, search.BRANCHES_OF_SIX * values.shape[1])
        parts, n = [], self.arm.plan.size
        for pose, own in enumerate(values):
            request = prepared._replace(samples=np.ascontiguousarray(own))
            count = max(0, arrays.search(request, poses[pose]))
            rows = arrays.rows[:count, :n].copy()
            counted = arrays.counters[[search.BRANCHES, search.DROPPED, search.PROVED]][None]
            parts.append(PostureRows(rows, np.full(count, pose), counted))
        return _together(parts)


def lock_joints(chain: SerialChain, locked: Mapping[str, float]) -> SerialChain:
    """
    Return a chain without some joints, which stay at their values.

    :param chain: the chain.
    :param locked: values by name; other names are ignored.
    """
    before = np.eye(4)
    axes, points = chain.axes.copy(), chain.points.copy()
    for joint, name in enumerate(chain.joint_names):
        kind, axis, point = JointKind(chain.kinds[joint]), chain.axes[joint], chain.points[joint]
        if name in locked:
            before = before @ _motion(kind, axis, point, locked[name])
        axes[joint] = before[:3, :3] @ axis
        points[joint] = before[:3, :3] @ point + before[:3, 3]
    moved = replace(chain, axes=axes, points=points, home=before @ chain.home)
    return _keep_joints(
        moved, [k for k, name in enumerate(chain.joint_names) if name not in locked]
    )


def _check_locked(chain: SerialChain, locked: Mapping[str, float]) -> None:
    """Raise for a locked joint that the chain does not have, or that is locked outside its limits."""
    for name, value in locked.items():
        if name not in chain.joint_names:
            raise InvalidOption.unknown(
                f"Locked joint '{name}' is not in the group", name, chain.joint_names
            )
        joint = chain.joint_names.index(name)
        if not chain.lower[joint] <= value <= chain.upper[joint]:
            raise InvalidOption(
                f"Joint '{name}' is locked at {value:g}, outside its limits [{chain.lower[joint]:g}, "
                f'{chain.upper[joint]:g}].'
            )


def _keep_joints(chain: SerialChain, joints: 'range | list[int]') -> SerialChain:
    """Return a chain of some of the joints of another, as if the others did not exist."""
    kept = list(joints)
    return replace(
        chain,
        joint_names=tuple(chain.joint_names[k] for k in kept),
        kinds=chain.kinds[kept],
        axes=chain.axes[kept],
        points=chain.points[kept],
        lower=chain.lower[kept],
        upper=chain.upper[kept],
        joint_indices=chain.joint_indices[kept],
        idx_q=chain.idx_q[kept],
    )


def _motion(kind: JointKind, axis: FloatArray, point: FloatArray, value: float) -> FloatArray:
    """Return the motion (4, 4) of one joint in the base frame."""
    motion = joint_motion(kind, axis, np.array([value]))
    if kind != JointKind.PRISMATIC:
        motion[:3, 3] = point - motion[:3, :3] @ point
    return motion


def _together(parts: list[PostureRows]) -> PostureRows:
    """Return several results as one."""
    return PostureRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
