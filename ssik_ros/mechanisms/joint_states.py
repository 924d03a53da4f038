"""Conversion between the joint states of a robot, by name or as a vector, and the joint frames of its mechanism."""

from collections.abc import Iterable, Mapping
import math

import numpy as np

from ssik_ros.arguments import check_kind, read_float, refuse
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    DimensionMismatch,
    InvalidTarget,
    JointNotFound,
    quote,
)
from ssik_ros.kernels.geometry.rotations import invert_pose, quaternion_of_matrix, rpy_of_matrix
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.free_frame import ANGLES
from ssik_ros.mechanisms.joint import Joint
from ssik_ros.mechanisms.names import DOF
from ssik_ros.model.robot_model import RobotModel

IN_QUATERNION = 1e-9
"""Smallest norm of a usable quaternion."""


class JointVariables:
    """Reads and writes the values of a robot's joint frames as position vectors (nq,) in the order of its model."""

    def __init__(self, model: RobotModel, joints: Mapping[str, Joint]) -> None:
        """
        Find the joint frame and degree of freedom of every position variable of the robot.

        :param model: the robot.
        :param joints: joint frames by name; moving joints of the robot must be among them.
        """
        self.model = model
        self.names = model.variable_names
        self.index = {name: k for k, name in enumerate(self.names)}
        self.scalars: list[tuple[int, Joint, DOF]] = []
        """Index in the vector, joint and degree of freedom of all variables but quaternions and followers."""
        self.balls: list[tuple[int, Joint]] = []
        """Index in the vector of the first of four numbers of a quaternion, and its joint."""
        self.followers: dict[int, tuple[int, float, float, Joint, DOF]] = {}
        """By index of the follower: index of the leader, multiplier and offset; joint and degree of freedom."""
        tree = model.tree
        for k, name in enumerate(tree.joint_names):
            joint, place, leader = joints[name], int(tree.idx_q[k]), int(tree.leaders[k])
            if leader >= 0:
                rule = float(tree.multipliers[k]), float(tree.offsets[k])
                self.followers[place] = int(tree.idx_q[leader]), *rule, joint, joint.dof[0]
                continue
            ball = joint.rotation == 'quaternion'
            dof = [d for d in joint.dof if not (ball and d in ANGLES)]
            self.scalars += [(place + i, joint, d) for i, d in enumerate(dof)]
            if ball:
                self.balls.append((place + len(dof), joint))

    def read(self) -> FloatArray:
        """
        Return the present positions (nq,) of all joints in the model's order.

        Mimic joints are computed from their leaders.
        """
        positions = np.zeros(len(self.names))
        for place, joint, dof in self.scalars:
            positions[place] = joint.get_dof_value(dof)
        for place, joint in self.balls:
            positions[place : place + 4] = joint.dof_quaternion
        for place, (leader, multiplier, offset, *_) in self.followers.items():
            positions[place] = multiplier * positions[leader] + offset
        return positions

    def write(self, positions: FloatArray) -> dict[str, float]:
        """
        Set the positions of all joints, clamped to their limits; mimic joints are computed from their leaders.

        :param positions: (nq,) finite numbers; the entries of mimic joints are not read.
        :returns: by name, the distance by which a variable was clamped into its limits [rad or m]; variables that were
            not clamped are left out.
        :raises InvalidTarget: for a number that is not finite, and a zero quaternion; the joints before it are set.
        """
        moved = {}
        for place, joint, dof in self.scalars:
            wanted = float(positions[place])
            joint.set_dof_value(dof, wanted)
            if joint.get_dof_value(dof) != wanted:
                moved[self.names[place]] = abs(joint.get_dof_value(dof) - wanted)
        for place, joint in self.balls:
            joint.dof_quaternion = positions[place : place + 4]
        self.settle_followers()
        return moved

    def settle_followers(self) -> None:
        """Compute the values of all mimic joints from their leaders, and set them."""
        positions = self.read()
        for place, (*_, joint, dof) in self.followers.items():
            joint._write(layout.VALUES + dof, [positions[place]])

    def overlay(self, given: Mapping[str, float]) -> tuple[FloatArray, list[int]]:
        """
        Return the present positions (nq,) with given ones replaced, and the indices of the replaced variables.

        No joint moves. If a mimic joint is given without its leader, the leader gets the value that fits.

        :param given: positions by variable name; all four numbers of an orientation.
        :raises JointNotFound: for a name that the robot does not have.
        :raises InvalidOption: for values that are not numbers.
        :raises InvalidTarget: for numbers that are not finite, an incomplete or zero orientation, and a mimic joint
            with multiplier 0 whose leader is not given.
        """
        positions, places = self.read(), []
        for name, value in given.items():
            place = self.index.get(name)
            if place is None:
                text = f'Robot {quote(self.model.name)} has no joint variable {quote(name)}'
                raise JointNotFound.unknown(text, name, self.names)
            number = read_float(f'The position of {quote(name)}', value)
            if not math.isfinite(number):
                raise InvalidTarget(f'The position of {quote(name)} is {number}.', name=name)
            if place in self.followers:
                leader, multiplier, offset, *_ = self.followers[place]
                if self.names[leader] in given:
                    continue
                if multiplier == 0.0:
                    text = f'{quote(name)} never moves: its leader cannot be told from it.'
                    raise InvalidTarget(text, name=name)
                place, number = leader, (number - offset) / multiplier
            positions[place] = number
            places.append(place)
        self._check_balls(positions, set(places))
        return positions, places

    def _check_balls(self, positions: FloatArray, places: set[int]) -> None:
        """
        Raise InvalidTarget if the orientation of a ball joint is given incompletely or is zero.

        :param positions: (nq,) positions with the given ones.
        :param places: indices of the given variables.
        """
        for start, joint in self.balls:
            given = places & set(range(start, start + 4))
            if given and len(given) < 4:
                text = f'{joint!r} needs all four numbers of its orientation.'
                raise InvalidTarget(text, joint=joint)
            if np.linalg.norm(positions[start : start + 4]) < IN_QUATERNION:
                raise InvalidTarget(f'The orientation of {joint!r} is zero.', joint=joint)

    def freedoms(self, places: Iterable[int]) -> list[tuple[Joint, DOF]]:
        """
        Return the pairs (joint frame, degree of freedom) that some position variables describe, each pair once.

        :param places: indices in the vector, not of mimic joints; any number of a quaternion gives all three angles of
            its joint.
        """
        of_place = {place: [(joint, dof)] for place, joint, dof in self.scalars}
        for start, joint in self.balls:
            angles = [(joint, dof) for dof in ANGLES]
            of_place.update({start + i: angles for i in range(4)})
        pairs = [freedom for place in places for freedom in of_place[place]]
        return list(dict.fromkeys(pairs))


def name_positions(names: Iterable[str], positions: Iterable[float]) -> dict[str, float]:
    """
    Return a mapping from names to positions.

    :param names: names of variables, each once.
    :param positions: as many numbers.
    :raises DimensionMismatch: if the numbers of names and positions differ, or a name comes twice.
    :raises InvalidOption: for anything but a list of texts and a list of numbers.
    """
    for what, given in (('names', names), ('positions', positions)):
        if not isinstance(given, Iterable):
            refuse(what, given, 'a list')
    listed, numbers = list(names), [read_float('positions', value) for value in positions]
    for name in listed:
        check_kind('names', name, str, 'a list of names')
    if len(listed) != len(numbers):
        text = f'There are {counted(len(listed), "name")} and {counted(len(numbers), "position")}.'
        raise DimensionMismatch(text, names=tuple(listed))
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise DimensionMismatch(f'{quote(twice)} is named twice.', name=twice)
    return dict(zip(listed, numbers, strict=True))


def fit_closure(joint: Joint) -> None:
    """
    Set the values of a closure joint from the gap between its frame and the link that it closes onto.

    If the loop is closed, the values are exact. Otherwise each degree of freedom gets its component of the gap (x, y,
    z, ex, ey or ez), clamped into its limits. Other values may bring the frame nearer to the link.

    :param joint: the closure joint; all other joints stay as they are.
    """
    assert joint.parent is not None and joint.child is not None
    start = joint.parent.matrix_world @ joint.matrix
    gap = invert_pose(start) @ joint.child.matrix_world
    values = (*gap[:3, 3], *rpy_of_matrix(gap[:3, :3]))
    for dof in joint.dof:
        joint.set_dof_value(dof, float(values[dof]))
    if joint.rotation == 'quaternion':
        joint.dof_quaternion = quaternion_of_matrix(gap[:3, :3])
