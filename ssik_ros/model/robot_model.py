"""A robot: its kinematic tree, planning groups and limits, and full states of it."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

import numpy as np

from ssik_ros.arguments import check_kind
from ssik_ros.arrays import finite_range, FloatArray
from ssik_ros.errors import (
    counted,
    GroupNotFound,
    InvalidLimits,
    JointNotFound,
    list_names,
    ModelError,
    quote,
)
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.group_builder import GroupBuilder
from ssik_ros.model.joint_group import JointGroup, name_variables
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE
from ssik_ros.model.srdf import EndEffector, GroupState, Srdf, VirtualJoint
from ssik_ros.model.urdf.data import LoopConstraint, Urdf
from ssik_ros.value_class import dataclass

QUATERNION_START = {JointKind.FLOATING: 3, JointKind.SPHERICAL: 0}
"""Index of the quaternion among the variables of a joint."""
WITH_ANGLE = JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PLANAR
"""Kinds of joints whose last variable is an angle."""

FollowerRow = tuple[int, int, float, float]
"""Position variables of a follower and of its leader, multiplier and offset."""


@dataclass(frozen=True, eq=False)
class RobotModel:
    """
    One robot: kinematic tree, descriptions, limits and planning groups; immutable.

    A full state is an array of ``tree.nq`` positions in the tree's order. ``urdf_xml`` is the text of the URDF,
    expanded if it was a xacro file. ``groups`` has the planning groups of the SRDF by name.

    Methods apart from :meth:`set_followers` raise InvalidOption for an argument of a wrong type, unless they name
    another error.
    """

    name: str
    tree: KinematicTree
    urdf: Urdf = field(repr=False)
    urdf_xml: str = field(repr=False)
    srdf: Srdf = field(repr=False)
    warnings: tuple[str, ...] = field(repr=False, default=())
    """Faults and unused parts of the descriptions, one sentence each: at most 100, then the number of further ones."""
    directory: Path | None = field(repr=False, default=None)
    """Folder of the URDF, if it came from a file."""
    accelerations: Mapping[str, float] = field(repr=False, default_factory=dict)
    """Finite acceleration limits of variables by name, from a joint_limits.yaml [rad/s^2 or m/s^2]."""
    groups: Mapping[str, JointGroup] = field(init=False)
    _builder: GroupBuilder = field(init=False, repr=False)
    _mimic: list[FollowerRow] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Build the planning groups, and the table of mimic joints."""
        builder = GroupBuilder(self.urdf, self.tree)
        object.__setattr__(self, '_builder', builder)
        object.__setattr__(self, '_mimic', find_followers(self.tree))
        object.__setattr__(self, 'groups', builder.build_all(self.srdf))

    @property
    def virtual_joints(self) -> tuple[VirtualJoint, ...]:
        """
        Return the virtual joint above the root link as a tuple; empty if the SRDF has none.

        If the SRDF has several, the first one is taken, as in MoveIt.
        """
        above = [j for j in self.srdf.virtual_joints if j.attached]
        return tuple(above[:1])

    @property
    def end_effectors(self) -> tuple[EndEffector, ...]:
        """Return the end effectors in the semantic description."""
        return self.srdf.end_effectors

    @property
    def constraints(self) -> tuple[LoopConstraint, ...]:
        """Return the ``<constraint>`` elements of the URDF."""
        return self.urdf.constraints

    @property
    def model_frame(self) -> str:
        """Return MoveIt's planning frame: the root link, or the parent frame of a moving virtual joint."""
        for joint in self.virtual_joints:
            if joint.type != 'fixed':
                return joint.parent_frame
        return self.tree.root_link

    @property
    def variable_names(self) -> tuple[str, ...]:
        """Return the names of all position variables of a full state."""
        return name_variables(self.tree, range(len(self.tree.joint_names)))

    def group(self, name: str) -> JointGroup:
        """
        Return a planning group by its name.

        :param name: its name in the semantic description.
        :raises GroupNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        try:
            return self.groups[name]
        except (KeyError, TypeError):
            raise GroupNotFound.unknown(
                f'Robot {quote(self.name)} has no group {quote(name)}', name, self.groups
            ) from None

    def read_group(self, group: 'str | JointGroup') -> JointGroup:
        """
        Return a planning group that is given as an object or by name.

        :param group: the group or its name.
        :raises GroupNotFound: for an unknown name; the message suggests a similar known name, if any.
        :raises InvalidOption: for anything else.
        """
        if isinstance(group, str):
            return self.group(group)
        return check_kind('group', group, JointGroup, 'a group or its name')

    def group_from_links(self, base: str, tip: str, name: str = '') -> JointGroup:
        """
        Return the group of all joints from one link down to another; no SRDF is needed.

        :param base: the link that targets are given in.
        :param tip: the link that targets are for.
        :param name: the group's name, ``base-tip`` by default.
        :raises FrameNotFound: when a link does not exist.
        :raises ModelError: if the tip is not below the base, or if no joint moves between them.
        """
        for what, link in (('base', base), ('tip', tip), ('name', name)):
            check_kind(what, link, str, 'a text')
        return self._builder.between(base, tip, name or f'{base}-{tip}')

    def default_positions(self) -> FloatArray:
        """
        Return MoveIt's default state (nq,): each variable is 0, or the middle of its limits if they exclude 0.

        If they exclude 0 and one of them is infinite, the variable is at the finite limit. Quaternions are identity,
        and mimic joints are set from their leaders.
        """
        tree = self.tree
        with np.errstate(invalid='ignore', over='ignore'):
            middle = 0.5 * tree.lower + 0.5 * tree.upper
        inside = (tree.lower <= 0.0) & (tree.upper >= 0.0)
        one_sided = np.where(np.isfinite(tree.lower), tree.lower, tree.upper)
        positions = np.where(inside, 0.0, np.where(np.isfinite(middle), middle, one_sided))
        for joint, kind in enumerate(tree.kinds):
            start = QUATERNION_START.get(JointKind(kind))
            if start is not None:
                positions[tree.idx_q[joint] + start + 3] = 1.0
        return self.with_mimic(positions)

    def with_mimic(self, positions: FloatArray) -> FloatArray:
        """
        Return a copy of a full state in which each mimic joint has the value that follows from its leader.

        :param positions: (nq) full state.
        :raises DimensionMismatch: if they are not (nq,).
        """
        result = self.tree.full_state(positions)
        self.set_followers(result)
        return result

    def set_followers(self, positions: FloatArray) -> None:
        """
        Set each mimic joint of a full state, in place, to the value that follows from its leader.

        :param positions: (nq) full state.
        """
        for follower, leader, multiplier, offset in self._mimic:
            positions[follower] = multiplier * positions[leader] + offset

    def named_state(self, group: str | JointGroup, state: str) -> FloatArray:
        """
        Return the positions (n,) of a group in one of its named postures.

        Joints that the posture does not name have their default values. Values are not clamped to limits.

        :param group: the group or its name.
        :param state: the posture's name.
        :raises ModelError: when the group does not exist or has no such posture, or a joint has a wrong number of
            values.
        """
        joint_group = self.read_group(group)
        states = {s.name: s for s in self.srdf.states if s.group == joint_group.name}
        if not isinstance(state, str) or state not in states:
            raise ModelError.unknown(
                f'Group {quote(joint_group.name)} has no state {quote(state)}', state, states
            )
        return self._positions_of(states[state])[joint_group.idx_q]

    def _positions_of(self, state: GroupState) -> FloatArray:
        """
        Return the default state (nq,) with the values of a named posture.

        Raise ModelError if the posture gives a joint the wrong number of values.
        """
        tree = self.tree
        positions = self.default_positions()
        for name, values in state.values.items():
            if name not in tree.joint_index and self._holds_fixed(name):
                continue
            joint = tree.joint(name)
            size = POSITION_SIZE[JointKind(tree.kinds[joint])]
            if len(values) != size:
                raise ModelError(
                    f'State {quote(state.name)} of group {quote(state.group)} gives joint {quote(name)} '
                    f'{counted(len(values), "value")} instead of {size}.',
                    joint=name,
                )
            positions[tree.idx_q[joint] : tree.idx_q[joint] + size] = values
        return positions

    def _holds_fixed(self, name: str) -> bool:
        """
        Return whether a name is a joint of the URDF or a virtual joint.

        For a name that is not a moving joint, this means that its value in a posture has no effect.
        """
        return name in self.urdf.joints or any(j.name == name for j in self.srdf.virtual_joints)

    def sampling_bounds(self, group: str | JointGroup) -> tuple[FloatArray, FloatArray]:
        """
        Return finite lower and upper bounds (n,), (n,) of random positions of a group.

        Angles without limits get [-pi, pi], angles with one limit a range of 2 pi from this limit. Quaternions get [-1,
        1].

        :param group: the group or its name.
        :raises InvalidLimits: when a translation lacks a limit.
        :raises GroupNotFound: for an unknown name.
        """
        group = self.read_group(group)
        lower, upper = group.lower.copy(), group.upper.copy()
        angles: list[int] = []
        stop = 0
        for joint in group.joint_indices:
            kind = JointKind(self.tree.kinds[joint])
            start, stop = stop, stop + POSITION_SIZE[kind]
            if kind in QUATERNION_START:
                first = start + QUATERNION_START[kind]
                lower[first:stop], upper[first:stop] = -1.0, 1.0
            elif kind in WITH_ANGLE:
                angles.append(stop - 1)
        lower[angles], upper[angles] = finite_range(lower[angles], upper[angles])
        unbounded = ~(np.isfinite(lower) & np.isfinite(upper))
        if unbounded.any():
            names = [group.variable_names[i] for i in np.flatnonzero(unbounded)]
            raise InvalidLimits(
                f'Group {quote(group.name)} cannot be sampled: {list_names(names)} of robot '
                f'{quote(self.name)} has no position limits. Give them in the URDF or in '
                'joint_limits.yaml.',
                names=tuple(names),
            )
        return lower, upper

    def sample(self, group: str | JointGroup, rng: 'np.random.Generator') -> FloatArray:
        """
        Return random positions (n,) of a group, uniform within its bounds; quaternions are uniform rotations.

        :param group: the group or its name.
        :param rng: the generator.
        :raises InvalidLimits: when a translation lacks a limit.
        :raises GroupNotFound: for an unknown name.
        """
        group = self.read_group(group)
        lower, upper = self.sampling_bounds(group)
        check_kind('rng', rng, np.random.Generator, 'a Generator of numpy')
        positions = np.clip(upper - rng.random(len(upper)) * (upper - lower), lower, upper)
        start = 0
        for joint in group.joint_indices:
            kind = JointKind(self.tree.kinds[joint])
            if kind in QUATERNION_START:
                first = start + QUATERNION_START[kind]
                quaternion = rng.standard_normal(4)
                positions[first : first + 4] = quaternion / np.linalg.norm(quaternion)
            start += POSITION_SIZE[kind]
        return positions

    def rigid_offset(self, link_a: str, link_b: str) -> FloatArray | None:
        """
        Return the constant pose (4, 4) of link b in link a, or None if a joint moves between them.

        :param link_a: name of a link.
        :param link_b: name of a link.
        :raises FrameNotFound: when a link does not exist.
        """
        tree = self.tree
        a, b = tree.link(link_a), tree.link(link_b)
        if tree.link_joints[a] != tree.link_joints[b]:
            return None
        offset: FloatArray = invert_pose(tree.link_placements[a]) @ tree.link_placements[b]
        return offset

    def require_joint(self, name: str) -> int:
        """
        Return the index of a moving joint.

        :param name: the joint's name.
        :raises JointNotFound: for an unknown name, with a similar known name, if any, and for a joint that is fixed.
        """
        check_kind('name', name, str, 'the name of a joint')
        if name not in self.tree.joint_index and name in self.urdf.joints:
            raise JointNotFound(
                f'Joint {quote(name)} of robot {quote(self.name)} is fixed.', name=name
            )
        return self.tree.joint(name)


def find_followers(tree: KinematicTree) -> list[FollowerRow]:
    """
    Return a row for each mimic joint: (its variable, its leader's variable, multiplier, offset).

    Variables are indices in a full state.

    :param tree: the robot.
    """
    followers = np.flatnonzero(tree.leaders >= 0)
    columns = (
        tree.idx_q[followers],
        tree.idx_q[tree.leaders[followers]],
        tree.multipliers[followers],
        tree.offsets[followers],
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))
