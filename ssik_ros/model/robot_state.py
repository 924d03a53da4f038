"""The full state of a robot by joint names; mimic joints always agree with their leaders."""

from collections.abc import Mapping, Sequence

import numpy as np

from ssik_ros.arguments import check_kind, check_mapping, read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, DimensionMismatch, quote, RequestError
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.robot_model import RobotModel

CONTRADICTION = 1e-3
"""A follower is reported if its given value differs by more than this from its leader's rule [rad or m]."""

JointValue = float | Sequence[float] | FloatArray


class RobotState:
    """
    The positions of all joints of one robot, which can be changed; a new state has the default positions.

    A method raises InvalidOption for an argument of a wrong type, unless it names another error.
    """

    def __init__(self, robot: RobotModel, positions: FloatArray | None = None) -> None:
        """
        Start at the default positions of the robot, or at given ones.

        :param robot: the robot.
        :param positions: (nq) full state; mimic joints are set from their leaders. None for the defaults.
        :raises DimensionMismatch: if the shape is not (nq,).
        :raises RequestError: if a value is not finite.
        """
        self.robot = check_kind('robot', robot, RobotModel)
        start = robot.default_positions() if positions is None else robot.with_mimic(positions)
        self._positions = _require_finite(start, 'positions')
        self._joint_poses: FloatArray | None = None

    @property
    def positions(self) -> FloatArray:
        """Return the full state (nq,), read-only; later changes of the state do not appear in the array."""
        view = self._positions.view()
        view.setflags(write=False)
        return view

    def copy(self) -> 'RobotState':
        """Return an independent state with the same positions."""
        return RobotState(self.robot, self._positions)

    def set_group_positions(self, group: str | JointGroup, q: FloatArray) -> None:
        """
        Set the position variables of a planning group; mimic joints follow.

        :param group: the group or its name.
        :param q: (n,) values in group order [rad or m].
        :raises GroupNotFound: for an unknown name.
        :raises DimensionMismatch: when the group has another number of variables.
        :raises RequestError: when a value is not finite.
        """
        joint_group = self._group(group)
        values = read_numbers('q', q)
        if values.shape != joint_group.idx_q.shape:
            raise DimensionMismatch(
                f'Group {quote(joint_group.name)} has {joint_group.variable_count} position variables; '
                f'the given values have the shape {values.shape}.',
                expected=joint_group.idx_q.shape,
                actual=values.shape,
            )
        positions = self._positions.copy()
        positions[joint_group.idx_q] = _require_finite(values, f'Group {quote(joint_group.name)}')
        self._assign(positions)

    def group_positions(self, group: str | JointGroup) -> FloatArray:
        """
        Return the position variables (n,) of a planning group as a new array [rad or m].

        :param group: the group or its name.
        :raises GroupNotFound: for an unknown name.
        """
        return self._positions[self._group(group).idx_q]

    def set_joint_positions(self, values: Mapping[str, JointValue]) -> tuple[str, ...]:
        """
        Set joints by name; mimic joints follow, and all other joints keep their values.

        If a mimic joint is given without its leader, the leader is set so that the mimic joint has its value. With a
        multiplier of 0, the leader stays as it is. If both are given, the value of the leader counts. On an error
        nothing is changed.

        :param values: by the name of a joint: a number, or a list with a number for each of its variables [rad or m].
        :returns: names of mimic joints whose given value contradicts the value of their leader.
        :raises JointNotFound: if a name is not a moving joint.
        :raises RequestError: for a wrong number of values, and values that are not finite.
        """
        tree = self.robot.tree
        positions = self._positions.copy()
        followers: dict[int, float] = {}
        for name, value in check_mapping(
            'values', values, 'values by the name of a joint'
        ).items():
            joint = self.robot.require_joint(name)
            numbers = self._joint_values(joint, value)
            if tree.leaders[joint] < 0:
                positions[tree.idx_q[joint] : tree.idx_q[joint] + len(numbers)] = numbers
            else:
                followers[joint] = float(numbers[0])
        for joint, number in followers.items():
            leader = tree.leaders[joint]
            if tree.joint_names[leader] not in values and tree.multipliers[joint] != 0.0:
                driven = (number - tree.offsets[joint]) / tree.multipliers[joint]
                positions[tree.idx_q[leader]] = driven
        self._assign(positions)
        return tuple(
            tree.joint_names[joint]
            for joint, number in followers.items()
            if abs(self._positions[tree.idx_q[joint]] - number) > CONTRADICTION
        )

    def joint_positions(self, name: str) -> FloatArray:
        """
        Return the position variables of one moving joint as a new array [rad or m].

        :param name: the joint's name.
        :raises JointNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        tree = self.robot.tree
        joint = self.robot.require_joint(name)
        start = int(tree.idx_q[joint])
        return self._positions[start : start + POSITION_SIZE[JointKind(tree.kinds[joint])]].copy()

    def link_transform(self, link: str) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the root frame.

        :param link: the link's name.
        :raises FrameNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        index = self.robot.tree.link(link)
        if self._joint_poses is None:
            self._joint_poses = compute_joint_poses(self.robot.tree, self._positions)
        return compute_link_pose(self.robot.tree, self._joint_poses, index)

    def _group(self, group: str | JointGroup) -> JointGroup:
        """Return a group that is given as an object or by name."""
        return self.robot.read_group(group)

    def _joint_values(self, joint: int, value: JointValue) -> FloatArray:
        """
        Return the value of a joint as an array with a number for each of its variables.

        Raise RequestError if the number of values is wrong, or if a value is not a finite number.
        """
        tree = self.robot.tree
        name = tree.joint_names[joint]
        numbers = np.atleast_1d(read_numbers(f'The value of joint {quote(name)}', value))
        size = POSITION_SIZE[JointKind(tree.kinds[joint])]
        if numbers.shape != (size,):
            raise DimensionMismatch(
                f'Joint {quote(name)} has {counted(size, "position variable")}; the given value has the shape '
                f'{numbers.shape}.',
                joint=name,
            )
        return _require_finite(numbers, f'Joint {quote(name)}')

    def _assign(self, positions: FloatArray) -> None:
        """Replace all positions, set mimic joints from their leaders, and forget cached link poses."""
        self._positions = self.robot.with_mimic(positions)
        self._joint_poses = None


def _require_finite(values: FloatArray, what: str) -> FloatArray:
    """Return values unchanged if all are finite; raise RequestError otherwise."""
    if not np.isfinite(values).all():
        raise RequestError(f'{what} has values that are not finite: {values}.', values=values)
    return values
