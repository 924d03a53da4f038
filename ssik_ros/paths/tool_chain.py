"""
A chain of joints, usually five to eight, for tool paths: exact postures for a pose and values of the free parameters.

An exact pose takes six joints, and the closed form treats at most seven. Joints before the last seven are outer joints,
whose values are parameters. The closed form of seven holds one joint, whose value is a parameter too. With five joints
it finds the spin of the tool as a sixth joint.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ssik_ros.arguments import read_float
from ssik_ros.arrays import FloatArray, IntArray, joined_rows
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.kernels.paths import postures
from ssik_ros.model.forward_kinematics import (
    compute_joint_poses,
    compute_link_pose,
    motion_about,
)
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.requests import CommonSpin, ToolPathRequest
from ssik_ros.paths.rotations import rotations
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

FULL, MOST_INNER = 6, 7
"""Joints that an exact pose takes, and that the closed form takes; those before them are parameters."""
OF_EACH_JOINT = ('kinds', 'lower', 'upper', 'joint_indices', 'idx_q')
"""Arrays of a chain with a number for each joint."""
ROWS_AT_ONCE = 20_000
"""Values of a held joint that one kernel call tries: a few hundredths of a second."""


class PostureRows(NamedTuple):
    """Exact postures of m poses in one table, grouped by pose, with the number of branches of each pose."""

    q: FloatArray
    """(k, n) [rad or m]."""
    owners: IntArray
    """(k,) index of the pose that each posture reaches."""
    counts: IntArray
    """(m, 3) branches of each pose, how many of them are outside the limits, and whether more may exist."""


class ToolChain:
    """
    The moving joints of a group that follow a tool path, with the closed form of their inner joints.

    ``n`` is the number of moving joints. The first ``outer`` joints and the held joint have values that the caller
    chooses.
    """

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        request: ToolPathRequest | None = None,
        spin: CommonSpin | None = None,
    ) -> None:
        """
        Build the chain from workpiece or base link to the tool, without locked joints, and find its closed form.

        :param robot: the robot.
        :param group: a group with one tip, or with a second one that carries the workpiece.
        :param request: tool, workpiece, locked joints and state; None for the default request.
        :param spin: the spin that the tool may have at all waypoints; None without one. Only an arm with five joints
            uses it: the closed form finds its spin.
        :raises TopologyMismatch: when the chain has no closed form.
        :raises InvalidOption: for locked joints that the chain does not have, a value outside the limits, and fewer
            than six joints without a spin. Also if the workpiece is not one of two tips, or if a joint moves both tips.
        """
        settings = request or ToolPathRequest()
        self.robot, self.locked = robot, dict(settings.locked)
        self._state = robot.default_positions() if settings.state is None else settings.state
        self.world_link = group.base_link
        """Link in whose frame obstacles are."""
        whole, self.turned = _whole_chain(robot, group, settings.workpiece)
        if settings.tool is not None:
            whole = replace(whole, home=whole.home @ settings.tool)
        _check_locked(whole, self.locked)
        self.turned = tuple(name for name in self.turned if name not in self.locked)
        """Joints between workpiece and base link, the one next to the workpiece first."""
        self.chain = lock_joints(whole, self.locked)
        """The moving joints."""
        self.size = len(self.chain.joint_names)
        self.outer = max(0, self.size - MOST_INNER)
        """Number of first joints whose values are parameters."""
        inner = _keep_joints(self.chain, range(self.outer, self.size))
        self.has_spin = len(inner.joint_names) < FULL
        """Whether the spin of the tool is found with the posture."""
        if self.has_spin:
            inner = _with_spin(inner, spin)
        self.arm = AnalyticArm(inner)
        self.held = self.arm.plan.held + self.outer if self.arm.plan.held >= 0 else -1
        """Index of the joint whose value is the last parameter; -1 without such a joint."""
        self.has_windings = np.asarray(
            (self.chain.kinds != JointKind.PRISMATIC)
            & ~(self.chain.upper - self.chain.lower < 2.0 * np.pi)
        )
        """(n) whether each angle of a joint has a winding within the limits."""

    @property
    def has_held(self) -> bool:
        """Return whether the closed form keeps one joint at a given value while it solves for the other six."""
        return self.held >= 0

    @property
    def velocity(self) -> FloatArray:
        """Return the velocity limits (n,) of the joints [rad/s or m/s]; infinite without a limit."""
        return np.asarray(self.robot.tree.velocity[self.chain.idx_q])

    def pose(self, q: FloatArray) -> FloatArray:
        """
        Return the pose (4, 4) of the tip in the frame of the waypoints: the base frame, or the workpiece.

        :param q: (n,) posture.
        """
        return self.chain.pose(q)

    def base_pose(self) -> FloatArray:
        """Return the pose (4, 4) of the group's base link in the root frame; obstacles are given in this link."""
        tree = self.robot.tree
        poses = compute_joint_poses(tree, self.full_state(np.zeros(self.size)))
        return compute_link_pose(tree, poses, tree.link(self.world_link))

    def full_state(self, q: FloatArray) -> FloatArray:
        """
        Return the full state (nq,) of the robot when the chain has posture ``q``.

        Locked joints have their values, mimic joints follow, and other joints have the requested or default state.

        :param q: (n,) posture.
        """
        state = self._state.copy()
        for name, value in self.locked.items():
            state[self.robot.tree.idx_q[self.robot.require_joint(name)]] = value
        state[self.chain.idx_q] = q
        return self.robot.with_mimic(state)

    def find_postures(
        self, poses: FloatArray, outer: FloatArray, values: FloatArray
    ) -> PostureRows:
        """
        Return the postures within limits that reach one of some poses with given values of the parameters.

        At a (nearly) singular pose postures may be missing; ``counts`` says so.

        :param poses: (m, 4, 4) poses of the tip in the frame of the waypoints.
        :param outer: (m, outer) values of the first joints [rad or m].
        :param values: (m, s) values of the held joint to try at each pose; without a held joint (m, 1), not read.
        """
        inner = self._behind_outer(poses, outer)
        if self.arm.plan.ints[search.CUT] >= 0:
            posture_rows = self._one_by_one(inner, values)
        else:
            posture_rows = self._in_chunks(inner, values)
        if self.has_spin:
            posture_rows = posture_rows._replace(q=np.ascontiguousarray(posture_rows.q[:, :-1]))
        if self.outer:
            q = np.hstack([outer[posture_rows.owners], posture_rows.q])
            return posture_rows._replace(q=q)
        return posture_rows

    def _behind_outer(self, poses: FloatArray, outer: FloatArray) -> FloatArray:
        """
        Return the poses (m, 4, 4) that the inner joints must reach if the outer joints have the values ``outer``.

        :param poses: (m, 4, 4) poses that the whole chain must reach.
        :param outer: (m, outer) values of the first joints [rad or m].
        """
        for joint in range(self.outer):
            poses = self.motions(joint, -outer[:, joint]) @ poses
        return np.ascontiguousarray(poses)

    def motions(self, joint: int, values: FloatArray) -> FloatArray:
        """
        Return the rigid motions (k, 4, 4) that values of one joint cause, in the base frame of the chain.

        :param joint: index of the joint.
        :param values: (k,) joint values [rad or m].
        """
        axis, point = self.chain.axes[joint], self.chain.points[joint]
        motions = np.tile(np.eye(4), (len(values), 1, 1))
        if self.chain.kinds[joint] == JointKind.PRISMATIC:
            motions[:, :3, 3] = values[:, None] * axis
            return motions
        motions[:, :3, :3] = rotations(values[:, None] * axis)
        motions[:, :3, 3] = point - motions[:, :3, :3] @ point
        return motions

    def poses(self, q: FloatArray) -> FloatArray:
        """
        Return the poses (k, 4, 4) of the tip in the frame of the waypoints, as :meth:`pose`.

        :param q: (k, n) postures.
        """
        return self.chain.moved(q).poses

    def _prepared(self, values: int) -> Prepared:
        """
        Return a prepared closed-form request for all branches within limits.

        :param values: number of values of the held joint that a pose brings; space for them is reserved.
        """
        return self.arm.requests.prepare(BranchRequest(held_values=np.zeros(values)))

    def _in_chunks(self, poses: FloatArray, values: FloatArray) -> PostureRows:
        """
        Return the postures of the inner joints at poses, for a closed form that a kernel solves for many poses at once.

        :param poses: (m, 4, 4) poses that the inner joints must reach.
        :param values: (m, s) values of the held joint.
        """
        width = values.shape[1]
        prepared = self._prepared(width)
        capacity = search.BRANCHES_OF_SIX * width
        arrays = BranchArrays(self.arm.plan.size, capacity)
        chunk = max(1, ROWS_AT_ONCE // width)
        parts = []
        for start in range(0, len(poses), chunk):
            chunk_poses = poses[start : start + chunk]
            q = np.empty((len(chunk_poses) * capacity, self.arm.plan.size))
            owners = np.empty(len(q), dtype=np.int64)
            counts = np.zeros((len(chunk_poses), 3), dtype=np.int64)
            used = postures.search_rows(
                q,
                owners,
                counts,
                chunk_poses,
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
        return joined_rows(parts)

    def _one_by_one(self, poses: FloatArray, values: FloatArray) -> PostureRows:
        """
        Return the postures of the inner joints, pose by pose, for a closed form by elimination (roots of a polynomial).

        :param poses: (m, 4, 4) poses that the inner joints must reach.
        :param values: (m, s) values of the held joint.
        """
        prepared = self._prepared(values.shape[1])
        arrays = BranchArrays(self.arm.plan.size, search.BRANCHES_OF_SIX * values.shape[1])
        parts, n = [], self.arm.plan.size
        for pose, samples in enumerate(values):
            request = prepared._replace(samples=np.ascontiguousarray(samples))
            count = max(0, arrays.search(request, poses[pose]))
            rows = arrays.rows[:count, :n].copy()
            counted = arrays.counters[[search.BRANCHES, search.DROPPED, search.DOUBT]][None]
            parts.append(PostureRows(rows, np.full(count, pose), counted))
        return joined_rows(parts)


def _whole_chain(
    robot: RobotModel, group: JointGroup, workpiece: str | None
) -> tuple[SerialChain, tuple[str, ...]]:
    """
    Return the chain from the workpiece, or without one from the base link, to the tool, and names of workpiece joints.

    Workpiece joints move the workpiece; the one next to it comes first. Raise InvalidOption if the workpiece is not one
    of two tips, or if a joint moves both tips.
    """
    if workpiece is None:
        return SerialChain.from_group(robot, group), ()
    tools = [tip for tip in group.tips if tip != workpiece]
    if workpiece not in group.tips or len(tools) != 1:
        raise InvalidOption(
            f"The group '{group.name}' has the tips {', '.join(group.tips)}; workpiece has to be one of two, not "
            f"'{workpiece}'."
        )
    first, last = (
        SerialChain.from_group(robot, replace(group, tips=(tip,), is_chain=True))
        for tip in (workpiece, tools[0])
    )
    shared = set(first.joint_names).intersection(last.joint_names)
    if shared:
        raise InvalidOption(
            f"Joint '{min(shared)}' moves both the tool and the workpiece; leave it out of the group or lock it."
        )
    return _seen_from_tip(first, last), first.joint_names[::-1]


def _seen_from_tip(first: SerialChain, last: SerialChain) -> SerialChain:
    """
    Return the chain from the tip of ``first`` back to the base of both chains, and on to the tip of ``last``.

    The joints of ``first`` come in the opposite order, with negative axes, so that joint values stay the same.
    """
    # Inverse of exp(s1 q1) exp(s2 q2) home: joints in reverse, each about its axis the other way round.
    base = invert_pose(first.home)
    axes = np.vstack([-first.axes[::-1], last.axes]) @ base[:3, :3].T
    points = np.vstack([first.points[::-1], last.points]) @ base[:3, :3].T + base[:3, 3]
    columns = {
        name: np.concatenate([getattr(first, name)[::-1], getattr(last, name)])
        for name in OF_EACH_JOINT
    }
    return SerialChain(
        base_link=first.tip_link,
        tip_link=last.tip_link,
        joint_names=first.joint_names[::-1] + last.joint_names,
        axes=axes,
        points=points,
        home=base @ last.home,
        **columns,
    )


def _with_spin(chain: SerialChain, spin: CommonSpin | None) -> SerialChain:
    """
    Return a chain with one more joint at its tip, which turns by minus the spin about the tool axis.

    Raise InvalidOption without a spin.
    """
    if spin is None:
        raise InvalidOption(
            'An arm of five joints reaches an exact pose only by chance. Let the tool spin about the same axis, and '
            'in the same range, at each waypoint.'
        )
    return replace(
        chain,
        joint_names=(*chain.joint_names, 'spin'),
        kinds=np.append(chain.kinds, JointKind.CONTINUOUS),
        axes=np.vstack([chain.axes, chain.home[:3, :3] @ spin.axis]),
        points=np.vstack([chain.points, chain.home[:3, 3]]),
        lower=np.append(chain.lower, -spin.upper),
        upper=np.append(chain.upper, -spin.lower),
        joint_indices=np.append(chain.joint_indices, -1),
        idx_q=np.append(chain.idx_q, -1),
    )


def lock_joints(chain: SerialChain, locked: Mapping[str, float]) -> SerialChain:
    """
    Return a shorter chain, in which some joints are rigid at given values.

    :param chain: the chain.
    :param locked: value of each locked joint by its name [rad or m]; names outside the chain are ignored.
    """
    before = np.eye(4)
    axes, points = chain.axes.copy(), chain.points.copy()
    for joint, name in enumerate(chain.joint_names):
        kind, axis, point = JointKind(chain.kinds[joint]), chain.axes[joint], chain.points[joint]
        if name in locked:
            before = before @ motion_about(kind, axis, point, locked[name])
        axes[joint] = before[:3, :3] @ axis
        points[joint] = before[:3, :3] @ point + before[:3, 3]
    moved = replace(chain, axes=axes, points=points, home=before @ chain.home)
    return _keep_joints(
        moved, [k for k, name in enumerate(chain.joint_names) if name not in locked]
    )


def _check_locked(chain: SerialChain, locked: Mapping[str, float]) -> None:
    """
    Raise InvalidOption for a locked joint that is not in the chain, or whose value is outside its limits.

    :param locked: values of joints by name [rad or m].
    """
    for name, value in locked.items():
        if name not in chain.joint_names:
            raise InvalidOption.unknown(
                f"Locked joint '{name}' is not in the group", name, chain.joint_names
            )
        joint = chain.joint_names.index(name)
        if (
            not chain.lower[joint]
            <= read_float(f'locked[{quote(name)}]', value)
            <= chain.upper[joint]
        ):
            raise InvalidOption(
                f"Joint '{name}' is locked at {value:g}, outside its limits [{chain.lower[joint]:g}, "
                f'{chain.upper[joint]:g}].'
            )


def _keep_joints(chain: SerialChain, joints: 'range | list[int]') -> SerialChain:
    """Return a chain of the joints with the given indices; all other joints are rigid at zero."""
    kept = list(joints)
    arrays = {name: getattr(chain, name)[kept] for name in ('axes', 'points', *OF_EACH_JOINT)}
    return replace(chain, joint_names=tuple(chain.joint_names[k] for k in kept), **arrays)
