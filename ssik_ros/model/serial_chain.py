"""
A chain of joints with one degree of freedom each, in product-of-exponentials form, for closed forms and tool paths.

T_base_tip(q) = exp(S_1 q_1) ... exp(S_n q_n) home. Each screw S_i is given by its unit axis and a point on the axis, in
the base frame with all joints at zero.
"""

from dataclasses import replace
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, freeze_fields, IntArray, wrap_angles
from ssik_ros.errors import list_names, quote, TopologyMismatch, UnsupportedJoint
from ssik_ros.kernels.closed_form.certification.chain import pack_slides
from ssik_ros.kernels.closed_form.certification.chain_rows import evaluate_rows
from ssik_ros.kernels.geometry.rotations import invert_pose, pose_numbers
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.value_class import dataclass

LEAST_USUAL, MOST_USUAL = 0.05, 50.0
"""Lengths of arms for which descents may compare metres with radians [m]."""
SERIAL_KINDS = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)


@dataclass(frozen=True, eq=False)
class SerialChain:
    """A chain of ``n`` revolute, continuous or prismatic joints from a base link to a tip link; immutable."""

    base_link: str
    tip_link: str
    joint_names: tuple[str, ...]
    kinds: IntArray
    """(n,) :class:`JointKind` values: revolute, continuous or prismatic."""
    axes: FloatArray
    """(n, 3) unit axes in the base frame, all joints at zero."""
    points: FloatArray
    """(n, 3) a point on each axis in the base frame, all joints at zero [m]."""
    home: FloatArray
    """(4, 4) pose of the tip in the base frame, all joints at zero."""
    lower: FloatArray
    """(n,) lower limits, -inf for joints without one [rad or m]."""
    upper: FloatArray
    """(n,) upper limits, +inf for joints without one [rad or m]."""
    joint_indices: IntArray
    """(n,) index of each joint in the robot's kinematic tree."""
    idx_q: IntArray
    """(n,) index of each joint's variable in a full state."""

    def __post_init__(self) -> None:
        """Make every array read-only."""
        freeze_fields(self)

    @classmethod
    def from_robot(cls, robot: RobotModel, base: str, tip: str) -> 'SerialChain':
        """
        Return the chain from one link down to another.

        :param robot: the robot.
        :param base: the base link.
        :param tip: a link below it.
        :raises ModelError: if the tip is not below the base, or if no joint moves between them.
        :raises UnsupportedJoint: for mimic joints and joints with several degrees of freedom.
        """
        return cls.from_group(robot, robot.group_from_links(base, tip))

    @classmethod
    def from_group(cls, robot: RobotModel, group: JointGroup) -> 'SerialChain':
        """
        Return the chain from a group's base link to its tip.

        :param robot: the robot.
        :param group: a group with one tip.
        :raises ModelError: when the group has several tips or none.
        :raises UnsupportedJoint: for mimic joints, joints with several degrees of freedom, and moving joints on the way
            that the group does not have.
        """
        tree = robot.tree
        above_base = tree.joint_path(group.base_link)
        path = tree.joint_path(group.tip)[len(above_base) :]
        for joint in path:
            _check_joint(tree, joint, group)
        axes, points, home = _compute_screws(tree, group.base_link, group.tip, path)
        indices = np.array(path, dtype=np.int64)
        idx_q = tree.idx_q[indices]
        return cls(
            base_link=group.base_link,
            tip_link=group.tip,
            joint_names=tuple(tree.joint_names[joint] for joint in path),
            kinds=tree.kinds[indices],
            axes=axes,
            points=points,
            home=home,
            lower=tree.lower[idx_q],
            upper=tree.upper[idx_q],
            joint_indices=indices,
            idx_q=idx_q,
        )

    @classmethod
    def from_whole_group(cls, robot: RobotModel, group: JointGroup) -> 'SerialChain':
        """
        Return the chain from a group's base link to its tip, for a group that has no other joints.

        :param robot: the robot.
        :param group: a group with one tip.
        :raises TopologyMismatch: if the group has joints outside the chain.
        :raises ModelError: when the group has several tips or none.
        :raises UnsupportedJoint: for mimic joints, joints with several degrees of freedom, and moving joints on the
            chain that the group does not have.
        """
        chain = cls.from_group(robot, group)
        if chain.joint_names != group.joint_names:
            others = sorted(set(group.joint_names) - set(chain.joint_names))
            raise TopologyMismatch(
                f"Group '{group.name}' has joints beside the chain to its tip: {list_names(others)}."
            )
        return chain

    @property
    def length(self) -> float:
        """
        Return the length of the arm [m]: of the line from axis to axis to the tip, with all joints at zero.

        The line goes through the stored point of each axis.
        """
        places = np.vstack([self.points, self.home[:3, 3]])
        return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())

    def scaled(self, factor: float) -> 'SerialChain':
        """
        Return a copy of the chain with all lengths multiplied, limits of prismatic joints included.

        :param factor: positive factor.
        """
        home = self.home.copy()
        home[:3, 3] *= factor
        slides = np.where(self.kinds == JointKind.PRISMATIC, factor, 1.0)
        limits = slides * self.lower, slides * self.upper
        points = factor * self.points
        return replace(self, points=points, home=home, lower=limits[0], upper=limits[1])

    def as_tree(self) -> KinematicTree:
        """
        Return a kinematic tree that consists of this chain only, with base and tip as its links.

        The frame of each joint is at the point of its axis, with the orientation of the base.
        """
        n = len(self.joint_names)
        placements, tip = np.tile(np.eye(4), (n, 1, 1)), self.home.copy()
        placements[:, :3, 3] = np.diff(self.points, axis=0, prepend=np.zeros((1, 3)))
        tip[:3, 3] -= self.points[-1]
        return KinematicTree(
            name=self.tip_link,
            root_link=self.base_link,
            joint_names=self.joint_names,
            kinds=self.kinds.copy(),
            parents=np.arange(-1, n - 1),
            placements=placements,
            axes=self.axes.copy(),
            idx_q=np.arange(n),
            lower=self.lower.copy(),
            upper=self.upper.copy(),
            velocity=np.full(n, np.inf),
            leaders=np.full(n, -1),
            multipliers=np.ones(n),
            offsets=np.zeros(n),
            link_names=(self.base_link, self.tip_link),
            link_joints=np.array([-1, n - 1]),
            link_placements=np.stack([np.eye(4), tip]),
        )

    def wrap_turns(self, values: FloatArray) -> FloatArray:
        """
        Return joint values or their differences, with angles wrapped to [-pi, pi]; prismatic values are unchanged.

        :param values: (..., n) [rad or m].
        """
        return np.where(self.kinds == JointKind.PRISMATIC, values, wrap_angles(values))

    def pose(self, q: FloatArray) -> FloatArray:
        """
        Return the pose (4, 4) of the tip in the base frame.

        :param q: (n,) joint vector [rad or m].
        """
        return np.asarray(self.moved(q[None]).poses[0])

    def moved(self, q: FloatArray) -> 'MovedChain':
        """
        Return axes, points and tip poses of the chain at ``k`` postures, in the base frame.

        :param q: (k, n) joint values [rad or m].
        """
        k, n = q.shape
        screws, numbers, poses = np.empty((k, 6 * n)), np.empty((k, 12)), np.zeros((k, 4, 4))
        evaluate_rows(screws, numbers, *self.packed, np.ascontiguousarray(q))
        poses[:, :3, :3] = numbers[:, :9].reshape(k, 3, 3)
        poses[:, :3, 3], poses[:, 3, 3] = numbers[:, 9:], 1.0
        lines = screws.reshape(k, n, 2, 3)
        turns = self.kinds != JointKind.PRISMATIC
        return MovedChain(turns, lines[:, :, 0], lines[:, :, 1], poses)

    @functools.cached_property
    def packed(self) -> 'PackedChain':
        """Return the chain in the flat arrays that kernels take; do not write to them."""
        slides = pack_slides(kind == JointKind.PRISMATIC for kind in self.kinds)
        # Copies, as some kernels accept only arrays that are writable.
        return PackedChain(
            self.axes.flatten(), self.points.flatten(), pose_numbers(self.home), slides
        )


class PackedChain(NamedTuple):
    """
    A chain as the flat arrays that kernels take.

    The layout is described in :mod:`ssik_ros.kernels.closed_form.certification.chain`.
    """

    axes: FloatArray
    """(3 n,) unit directions."""
    points: FloatArray
    """(3 n,) a point of each axis [m]."""
    home: FloatArray
    """(12,) pose of the tip in the base frame with all joints at zero: rotation row by row, then position [m]."""
    slides: int
    """Bit mask of the prismatic joints: bit i for joint i from zero."""


class MovedChain(NamedTuple):
    """Axes, points and tip poses of a chain at ``k`` postures, in the base frame."""

    turns: NDArray[np.bool_]
    """(n,) False for prismatic joints."""
    axes: FloatArray
    """(k, n, 3) unit axes."""
    points: FloatArray
    """(k, n, 3) a point on each axis [m]."""
    poses: FloatArray
    """(k, 4, 4) poses of the tip."""

    def jacobians(self, at: FloatArray | None = None, length: float = 1.0) -> FloatArray:
        """
        Return the Jacobians (k, 6, n) at the tip, or at another point that is fixed to the tip.

        They map joint velocities to the linear velocity (divided by ``length``) and then the angular velocity, in the
        base frame.

        :param at: (k, 3) position of the point in the base frame [m]; None for the tip.
        :param length: length in whose units linear velocities are given [m].
        """
        if at is None:
            at = self.poses[:, :3, 3]
        turns = self.turns[:, None]
        levers = np.cross(self.axes, at[:, None] - self.points)
        moves = np.where(turns, levers, self.axes) / length
        rows = np.concatenate([moves, np.where(turns, self.axes, 0.0)], axis=2)
        return np.swapaxes(rows, 1, 2)


def _check_joint(tree: KinematicTree, joint: int, group: JointGroup) -> None:
    """Raise UnsupportedJoint for a mimic joint, a joint with several variables, or a joint outside the group."""
    name = tree.joint_names[joint]
    kind = JointKind(tree.kinds[joint])
    reason = ''
    if kind not in SERIAL_KINDS:
        reason = f'it is {kind.name.lower()}'
    elif tree.leaders[joint] >= 0:
        reason = f'it mimics {quote(tree.joint_names[tree.leaders[joint]])}'
    elif joint not in group.joint_indices:
        reason = f'group {quote(group.name)} does not contain it'
    if reason:
        raise UnsupportedJoint(
            f'Joint {quote(name)} between {quote(group.base_link)} and {quote(group.tip)} cannot be part of a '
            f'serial chain: {reason}.',
            joint=name,
        )


def _compute_screws(
    tree: KinematicTree, base: str, tip: str, path: list[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Return unit axes (n, 3) and points (n, 3) of joints, and the pose (4, 4) of the tip, all in the base frame.

    All joints are at zero; ``path`` holds their indices in the tree, from base to tip.
    """
    pose = invert_pose(tree.link_placements[tree.link(base)])
    axes = np.empty((len(path), 3))
    points = np.empty((len(path), 3))
    for i, joint in enumerate(path):
        pose = pose @ tree.placements[joint]
        axis = pose[:3, :3] @ tree.axes[joint]
        axes[i] = axis / np.linalg.norm(axis)
        points[i] = pose[:3, 3]
    return axes, points, pose @ tree.link_placements[tree.link(tip)]
