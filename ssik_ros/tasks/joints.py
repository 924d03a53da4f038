"""Joints of an environment: revolute (also as a screw), prismatic and spherical, with limits, weights and dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_callable, read_flag, read_float, read_number, read_numbers
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidLimits, InvalidOption, quote, UnsupportedJoint
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.rows import layout
from ssik_ros.tasks.constants import JointMode, JointType, NODE_KIND, ObjectType, read_member
from ssik_ros.tasks.objects import IkObject, ObjectTable, Reference, Setting
from ssik_ros.tasks.pose_formats import joint_motion, read_rotation, to_matrix
from ssik_ros.value_class import dataclass

SMALLEST_WEIGHT = 1e-5
DEPENDENCY_DIFFERENCE = 1e-6
"""Step of the central difference that stands for the derivative of a dependency without one."""
DEFAULTS = {
    JointType.REVOLUTE: ((-math.pi, math.pi), math.radians(10.0), math.radians(5.0)),
    JointType.PRISMATIC: ((-0.5, 0.5), 0.1, 0.01),
    JointType.SPHERICAL: ((-math.pi, math.pi), math.radians(10.0), 0.0),
}
"""Limits, largest step and limit margin of a new joint."""


@dataclass
class Dependency:
    """The rule by which a joint follows another joint, its master: ``multiplier * master + offset``, or a function."""

    master: IkJoint
    multiplier: float = 1.0
    offset: float = 0.0
    function: Callable[..., float] | None = None
    """Function of the master's value, used instead of multiplier and offset."""
    derivative: Callable[[float], float] | None = None
    """Derivative of the function by the master's value; None for a central difference."""
    with_handles: bool = False
    """Whether the function takes (environment handle, joint handle, value), as ported scripts have it."""

    def value(self, joint: IkJoint, position: float) -> float:
        """
        Return the value of the dependent joint for a value ``position`` of its master [rad or m].

        :param joint: the dependent joint, whose handles a ported function gets.
        :raises InvalidOption: if a user function does not return a finite number.
        """
        if self.function is None:
            return position * self.multiplier + self.offset
        arguments = (joint.world.handle, joint.handle) if self.with_handles else ()
        result = self.function(*arguments, position)
        return _finite(result, joint, 'dependency')

    def rate(self, joint: IkJoint, position: float) -> float:
        """
        Return the derivative of the dependent joint's value by its master's value, at the master's value ``position``.

        Without a given derivative, a central difference of the function is used.

        :param joint: the dependent joint.
        :raises InvalidOption: if a user function does not return a finite number.
        """
        if self.function is None:
            return self.multiplier
        if self.derivative is not None:
            return _finite(self.derivative(position), joint, 'derivative')
        ahead = self.value(joint, position + DEPENDENCY_DIFFERENCE)
        return (ahead - self.value(joint, position - DEPENDENCY_DIFFERENCE)) / (
            2.0 * DEPENDENCY_DIFFERENCE
        )


def _finite(value: float, joint: IkJoint, what: str) -> float:
    """
    Return a number of a joint's setting as a float; raise InvalidOption if it is not finite.

    ``what`` names the setting in the message.
    """
    return read_number(f'The {what} of joint {quote(joint.name)}', value)


def _read_weight(joint: IkJoint, value: float) -> float:
    """Return a weight as a float, raised to 1e-5 if it is smaller; raise InvalidOption if it is not finite."""
    return max(_finite(value, joint, 'weight'), SMALLEST_WEIGHT)


def _read_length(what: str, least: str) -> Callable[[IkJoint, float], float]:
    """
    Return a function (joint, value) that checks a setting: it returns a finite float, or raises InvalidOption.

    :param what: name of the setting for messages.
    :param least: ``> 0``, or ``>= 0`` if zero is allowed.
    """

    def read(joint: IkJoint, value: float) -> float:
        number = _finite(value, joint, what)
        if number < 0.0 or (number == 0.0 and least == '> 0'):
            text = f'The {what} of joint {quote(joint.name)} must be {least}: {number}.'
            raise InvalidOption(text)
        return number

    return read


class IkJoint(IkObject):
    """
    A joint of an environment: it turns about its z axis or slides along it; a spherical joint turns about any axis.

    A revolute joint with a screw lead also slides as it turns. ``kind`` is the JointType; ``place_in_values`` is the
    index of the joint's first value among all joint values.
    """

    object_type = ObjectType.JOINT
    mode = Setting(JointMode.IK, lambda joint, value: read_member(JointMode, value, 'joint mode'))
    """A :class:`JointMode`: whether solves may move the joint."""
    weight = Setting(1.0, _read_weight)
    """How readily the joint moves; at least 1e-5."""
    limit_margin = Setting(0.0, _read_length('limit margin', '>= 0'))
    """Distance to a limit within which task sets that avoid limits push back [rad or m]."""
    max_step = Setting(0.0, _read_length('largest step', '> 0'))
    """Largest motion in one step, unless the task set ignores it (``ignore_max_steps``) [rad or m]."""

    def __init__(
        self, world: ObjectTable, name: str, handle: int, slot: int, kind: JointType, place: int
    ) -> None:
        """
        Make a joint with the default limits and steps of its kind; ``Environment.add_joint`` calls this.

        :param slot: index of the joint's pose among the poses of the world.
        :param place: index of the joint's first value among all joint values.
        """
        super().__init__(world, name, handle, slot)
        self.kind = kind
        self.place_in_values = place
        (self._lower, self._upper), self._max_step, self._limit_margin = DEFAULTS[kind]
        self._cyclic = kind != JointType.PRISMATIC
        self._screw_lead = 0.0
        self._dependency: Dependency | None = None

    @property
    def size(self) -> int:
        """Return how many numbers the value of the joint has: 4 for a spherical joint (a quaternion), 1 for others."""
        return 4 if self.kind == JointType.SPHERICAL else 1

    @property
    def columns(self) -> int:
        """Return how many columns the joint has in a Jacobian: 3 for a spherical joint, 1 for others."""
        return 3 if self.kind == JointType.SPHERICAL else 1

    @property
    def node_kind(self) -> int:
        """
        Return the number by which :mod:`ssik_ros.kernels.rows.layout` knows the joint's kind.

        SCREW if it has a screw lead.
        """
        return layout.SCREW if self._screw_lead != 0.0 else NODE_KIND[self.kind]

    @property
    def node_lead(self) -> float:
        """
        Return the translation along the z axis per unit of the joint's value.

        It is 1 for a prismatic joint, ``screw_lead / (2 pi)`` for others [m/rad].
        """
        if self.kind == JointType.PRISMATIC:
            return 1.0
        return self._screw_lead / (2.0 * math.pi)

    def _must_be_scalar(self, what: str) -> None:
        """Raise UnsupportedJoint for a spherical joint; ``what`` is the setting that it does not have."""
        if self.kind == JointType.SPHERICAL:
            raise UnsupportedJoint(f'Spherical joint {quote(self.name)} has no {what}.')

    @property
    def position(self) -> float:
        """
        Return or set the value of a joint that is not spherical [rad or m].

        A new value is clamped into the limits or wrapped as by :meth:`bring_inside`. The value of a joint that follows
        another joint does not change.

        :raises UnsupportedJoint: for a spherical joint.
        :raises InvalidOption: if the new value is not finite.
        """
        self._must_be_scalar('position; use its rotation')
        return float(self.world.values[self.place_in_values])

    @position.setter
    def position(self, value: float) -> None:
        self._must_be_scalar('position; use its rotation')
        self.world.values[self.place_in_values] = self.bring_inside(
            _finite(value, self, 'position')
        )
        self.world.follow()

    def bring_inside(self, value: float) -> float:
        """
        Return a value as the joint may have it: clamped into the limits, or wrapped to [-pi, pi] for a cyclic joint.

        The value is unchanged for a dependent or spherical joint. A cyclic joint is not wrapped if its whole turn would
        turn a joint that depends on it by something else than whole turns.

        :raises InvalidOption: for a value that is not a number.
        """
        if self._dependency is not None or self.kind == JointType.SPHERICAL:
            return value
        value = read_float('value', value)
        if not self._cyclic:
            return min(max(value, self._lower), self._upper)
        return float(so3.wrap_to_pi(value)) if self.world.wraps(self) else value

    @property
    def rotation(self) -> FloatArray:
        """
        Return or set the rotation of a spherical joint as a quaternion (4,): x, y, z, w.

        It can be set by Euler angles [rad] or a matrix, too.

        :raises UnsupportedJoint: for a joint that is not spherical.
        :raises InvalidTarget: for a zero quaternion, numbers that are not finite, and a matrix that is not a rotation.
        :raises TypeError, ValueError: for a value of another form.
        """
        return self._quaternion().copy()

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        self._quaternion()[:] = read_rotation(value, f'rotation of {quote(self.name)}')

    def _quaternion(self) -> FloatArray:
        """Return the four numbers of a spherical joint as a view of the joint values; raise UnsupportedJoint for others."""
        if self.kind != JointType.SPHERICAL:
            raise UnsupportedJoint(f'Joint {quote(self.name)} is not spherical; use its position.')
        return self.world.values[self.place_in_values : self.place_in_values + 4]

    @property
    def intrinsic(self) -> FloatArray:
        """Return the motion of the joint at its present value as a 4x4 matrix, relative to its frame at the value zero."""
        return to_matrix(self.intrinsic_transform())

    def intrinsic_transform(self) -> FloatArray:
        """Return the motion of the joint at its present value as a pose (12,), relative to its frame at the value zero."""
        value = self.rotation if self.kind == JointType.SPHERICAL else self.position
        return joint_motion(self.kind, value, self._screw_lead)

    @property
    def passive(self) -> bool:
        """Return or set whether solves must not move the joint."""
        return self.mode == JointMode.PASSIVE

    @passive.setter
    def passive(self, value: bool) -> None:
        self.mode = JointMode.PASSIVE if read_flag('passive', value) else JointMode.IK

    @property
    def cyclic(self) -> bool:
        """
        Return or set whether the joint turns without limits.

        Setting True resets the limits to the defaults and the screw lead to 0. Setting False clamps the value into the
        stored limits.

        :raises UnsupportedJoint: for True on a prismatic joint and False on a spherical one.
        """
        return self._cyclic

    @cyclic.setter
    def cyclic(self, value: bool) -> None:
        value = read_flag('cyclic', value)
        if self.kind == JointType.SPHERICAL and not value:
            raise UnsupportedJoint(f'Spherical joint {quote(self.name)} has no limits.')
        if self.kind == JointType.PRISMATIC and value:
            raise UnsupportedJoint(f'Prismatic joint {quote(self.name)} cannot be cyclic.')
        if value:
            self._lower, self._upper = DEFAULTS[self.kind][0]
            self._screw_lead = 0.0
        self._cyclic = value
        self._after_limits()

    @property
    def limits(self) -> tuple[float, float]:
        """
        Return or set (lower, upper) limit [rad or m]; a joint with new limits is no longer cyclic.

        The value is clamped into new limits.

        :raises InvalidLimits: if they are not finite, or if the lower one is larger.
        :raises UnsupportedJoint: for a spherical joint.
        :raises TypeError, ValueError: for anything but two numbers.
        """
        return self._lower, self._upper

    @limits.setter
    def limits(self, value: tuple[float, float]) -> None:
        self._must_be_scalar('limits')
        lower, upper = read_numbers('limits', value, (2,)).tolist()
        if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
            raise InvalidLimits(
                f'The limits of joint {quote(self.name)} must be finite and in order: {lower}, {upper}.'
            )
        self._lower, self._upper, self._cyclic = lower, upper, False
        self._after_limits()

    def _after_limits(self) -> None:
        """Bring the value of an independent joint inside its limits, and let the next solve pack the environment again."""
        self.world.changed()
        if self.kind != JointType.SPHERICAL and self._dependency is None:
            self.position = self.position

    @property
    def screw_lead(self) -> float:
        """
        Return or set the translation along the axis per whole turn of a revolute joint [m]; 0 for a plain hinge.

        Another value than 0 makes the joint non-cyclic, so that its value is clamped into the stored limits.

        :raises UnsupportedJoint: for a lead on another kind of joint.
        :raises InvalidOption: for a value that is not a finite number.
        """
        return self._screw_lead

    @screw_lead.setter
    def screw_lead(self, value: float) -> None:
        lead = _finite(value, self, 'screw_lead')
        if self.kind != JointType.REVOLUTE and lead != 0.0:
            raise UnsupportedJoint(
                f'Only a revolute joint can be a screw, not {quote(self.name)}.'
            )
        self._screw_lead = lead
        if self._screw_lead != 0.0:
            self._cyclic = False
        self._after_limits()

    @property
    def dependency(self) -> Dependency | None:
        """Return the rule by which the joint follows another joint; None if it follows no joint."""
        return self._dependency

    def depend_on(
        self,
        master: Reference,
        multiplier: float = 1.0,
        offset: float = 0.0,
        function: Callable[..., float] | None = None,
        derivative: Callable[[float], float] | None = None,
        with_handles: bool = False,
    ) -> None:
        """
        Let the value follow a master joint: ``multiplier * value + offset``, or a function of the master's value.

        If this closes a cycle of dependencies, the joint in the cycle that depended on this one becomes independent.

        :param master: the joint to follow; None to end the dependency.
        :param function: used instead of multiplier and offset.
        :param derivative: of the function by the master's value; None for a difference quotient.
        :param with_handles: whether the function takes (environment handle, joint handle, value).
        :raises FrameNotFound: (a KeyError) for an unknown master.
        :raises InvalidOption: if the master is this joint, a spherical joint or not a joint. Also for a number that is
            not finite: given here, or returned by the function now or later, when the master moves. If the function
            fails now, the joint follows the master nevertheless.
        :raises UnsupportedJoint: if this joint is spherical and a master is given.
        """
        for name, given in (('function', function), ('derivative', derivative)):
            if given is not None:
                check_callable(name, given)
        with_handles = read_flag('with_handles', with_handles)
        other = self.world.find(master)
        if other is None:
            self._dependency = None
            self._after_limits()
            return
        self._must_be_scalar('dependency')
        if not isinstance(other, IkJoint) or other.kind == JointType.SPHERICAL or other is self:
            raise InvalidOption(f'Joint {quote(self.name)} cannot depend on {quote(other.name)}.')
        numbers = _finite(multiplier, self, 'multiplier'), _finite(offset, self, 'offset')
        before = {self: self._dependency}
        item = other
        while item._dependency is not None:
            if item._dependency.master is self:
                before[item], item._dependency = item._dependency, None
                break
            item = item._dependency.master
        self._dependency = Dependency(other, *numbers, function, derivative, with_handles)
        self.world.changed()
        try:
            self.world.follow()
        except BaseException:
            for joint, dependency in before.items():
                joint._dependency = dependency
            self.world.changed()
            raise

    def driver(self) -> IkJoint:
        """
        Return the joint at the end of this joint's dependencies: the master of its master and so on.

        A joint that depends on no other joint returns itself.
        """
        joint = self
        while joint._dependency is not None:
            joint = joint._dependency.master
        return joint


def joint_values(joints: Sequence[IkJoint], values: FloatArray) -> FloatArray:
    """
    Return the values of some joints, picked from the values of all joints, as one flat array (n,).

    A spherical joint has four numbers.

    :param values: (nq,) in the order of ``Environment.q``.
    """
    return values[value_places(joints)]


def value_places(joints: Sequence[IkJoint]) -> IntArray:
    """Return the indices (n,) of the values of some joints in ``Environment.q``; four indices for a spherical joint."""
    places = [joint.place_in_values + k for joint in joints for k in range(joint.size)]
    return np.array(places, dtype=np.int64)
