"""Joints: revolute with or without a screw lead, prismatic, spherical; limits, weights, dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_callable, read_flag, read_float, read_numbers, shown
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidLimits, InvalidOption, quote, UnsupportedJoint
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.rows import layout
from ssik_ros.tasks.constants import JointMode, JointType, NODE_KIND, ObjectType
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
    """A joint's value as a function of another joint's."""

    master: IkJoint
    multiplier: float = 1.0
    offset: float = 0.0
    function: Callable[..., float] | None = None
    """Function of the master's value, used instead of multiplier and offset."""
    derivative: Callable[[float], float] | None = None
    with_handles: bool = False
    """Whether the function takes (environment handle, joint handle, value), as ported scripts have it."""

    def value(self, joint: IkJoint, position: float) -> float:
        """Return the dependent value for a value of the master."""
        if self.function is None:
            return position * self.multiplier + self.offset
        arguments = (joint.world.handle, joint.handle) if self.with_handles else ()
        result = self.function(*arguments, position)
        try:
            number = float(result)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InvalidOption(
                f'The dependency of joint {quote(joint.name)} returned {result!r}, not a finite number.'
            )
        return number

    def rate(self, joint: IkJoint, position: float) -> float:
        """Return the derivative of the dependent value by the master's."""
        if self.function is None:
            return self.multiplier
        if self.derivative is not None:
            return float(self.derivative(position))
        ahead = self.value(joint, position + DEPENDENCY_DIFFERENCE)
        return (ahead - self.value(joint, position - DEPENDENCY_DIFFERENCE)) / (
            2.0 * DEPENDENCY_DIFFERENCE
        )


def _finite(value: float, joint: IkJoint, what: str) -> float:
    """Return a finite number; raise InvalidOption for anything else."""
    number = read_float(f'The {what} of joint {quote(joint.name)}', value)
    if not math.isfinite(number):
        raise InvalidOption(f'The {what} of joint {quote(joint.name)} must be finite: {value}.')
    return number


def _read_mode(joint: IkJoint, value: int) -> JointMode:
    """Return a joint mode by its number; raise InvalidOption for an unknown one."""
    try:
        return JointMode(value)
    except (RecursionError, ValueError):
        raise InvalidOption(f'{shown(value)} is no joint mode; 0 is passive, 2 is ik.') from None


def _read_weight(joint: IkJoint, value: float) -> float:
    """Return a weight, raised to SMALLEST_WEIGHT if it is smaller."""
    return max(_finite(value, joint, 'weight'), SMALLEST_WEIGHT)


def _read_length(what: str, least: str) -> Callable[[IkJoint, float], float]:
    """Return a reader of lengths; ``least`` is ``> 0`` or ``>= 0``."""

    def read(joint: IkJoint, value: float) -> float:
        number = _finite(value, joint, what)
        if number < 0.0 or (number == 0.0 and least == '> 0'):
            text = f'The {what} of joint {quote(joint.name)} must be {least}: {number}.'
            raise InvalidOption(text)
        return number

    return read


class IkJoint(IkObject):
    """A joint that turns about, or slides along, its own z axis; a spherical one turns freely."""

    object_type = ObjectType.JOINT
    mode = Setting(JointMode.IK, _read_mode)
    """Whether the joint is free to move in a solve."""
    weight = Setting(1.0, _read_weight)
    """How readily the joint moves; at least 1e-5."""
    limit_margin = Setting(0.0, _read_length('limit margin', '>= 0'))
    """Distance to a limit within which task sets that avoid limits push back [rad or m]."""
    max_step = Setting(0.0, _read_length('largest step', '> 0'))
    """Largest motion in one iteration [rad or m]."""

    def __init__(
        self, world: ObjectTable, name: str, handle: int, slot: int, kind: JointType, place: int
    ) -> None:
        """Start with the defaults of the kind; ``place`` is the index of its first value among all joint values."""
        super().__init__(world, name, handle, slot)
        self.kind = kind
        self.place_in_values = place
        (self._lower, self._upper), self._max_step, self._limit_margin = DEFAULTS[kind]
        self._cyclic = kind != JointType.PRISMATIC
        self._screw_lead = 0.0
        self._dependency: Dependency | None = None

    @property
    def size(self) -> int:
        """Return the number of values of the joint."""
        return 4 if self.kind == JointType.SPHERICAL else 1

    @property
    def columns(self) -> int:
        """Return the number of Jacobian columns of the joint."""
        return 3 if self.kind == JointType.SPHERICAL else 1

    @property
    def node_kind(self) -> int:
        """Return the kind of the joint as a number of :mod:`ssik_ros.kernels.rows.layout`."""
        return layout.SCREW if self._screw_lead != 0.0 else NODE_KIND[self.kind]

    @property
    def node_lead(self) -> float:
        """Return the translation per unit of the value [m/rad, 1]."""
        if self.kind == JointType.PRISMATIC:
            return 1.0
        return self._screw_lead / (2.0 * math.pi)

    def _must_be_scalar(self, what: str) -> None:
        """Raise UnsupportedJoint for a spherical joint; ``what`` is the setting that it does not have."""
        if self.kind == JointType.SPHERICAL:
            raise UnsupportedJoint(f'Spherical joint {quote(self.name)} has no {what}.')

    @property
    def position(self) -> float:
        """Return or set the value [rad or m]: wrapped where cyclic, clamped into the limits otherwise."""
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
        """Return a value wrapped for a cyclic joint, unchanged for a dependent one, else clamped into the limits."""
        if self._dependency is not None or self.kind == JointType.SPHERICAL:
            return value
        value = read_float('value', value)
        if not self._cyclic:
            return min(max(value, self._lower), self._upper)
        return float(so3.wrap_to_pi(value)) if self.world.wraps(self) else value

    @property
    def rotation(self) -> FloatArray:
        """Return or set the rotation of a spherical joint: x, y, z, w; set also by Euler angles or a matrix."""
        if self.kind != JointType.SPHERICAL:
            raise UnsupportedJoint(f'Joint {quote(self.name)} is not spherical; use its position.')
        return self.world.values[self.place_in_values : self.place_in_values + 4].copy()

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        if self.kind != JointType.SPHERICAL:
            raise UnsupportedJoint(f'Joint {quote(self.name)} is not spherical; use its position.')
        place = self.place_in_values
        self.world.values[place : place + 4] = read_rotation(
            value, f'rotation of {quote(self.name)}'
        )

    @property
    def intrinsic(self) -> FloatArray:
        """Return the 4x4 matrix of the joint's own motion, a screw's translation included."""
        return to_matrix(self.intrinsic_transform())

    def intrinsic_transform(self) -> FloatArray:
        """Return the joint's own motion as the twelve numbers of the kernels."""
        value = self.rotation if self.kind == JointType.SPHERICAL else self.position
        return joint_motion(self.kind, value, self._screw_lead)

    @property
    def passive(self) -> bool:
        """Return or set whether the joint is frozen at its value."""
        return self.mode == JointMode.PASSIVE

    @passive.setter
    def passive(self, value: bool) -> None:
        self.mode = JointMode.PASSIVE if read_flag('passive', value) else JointMode.IK

    @property
    def cyclic(self) -> bool:
        """Return or set whether the joint turns without limits; setting it resets limits and screw lead."""
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
        """Return or set lower and upper limit [rad or m]; setting them makes the joint non-cyclic."""
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
        """Mark plans as outdated, and wrap or clamp the value into new limits."""
        self.world.changed()
        if self.kind != JointType.SPHERICAL and self._dependency is None:
            self.position = self.position

    @property
    def screw_lead(self) -> float:
        """Return or set the translation per turn of a revolute joint [m]; a screw is not cyclic."""
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
        """Return the rule by which the joint follows another one; None for a free joint."""
        return self._dependency

    def depend_on(
        self,
        master: Reference,
        multiplier: float = 1.0,
        offset: float = 0.0,
        function: Callable[..., float] | None = None,
        derivative: Callable[[float], float] | None = None,
        **details: Any,
    ) -> None:
        """
        Let the value follow another joint: multiplier * value + offset, or a function of the value.

        If this closes a cycle, the joint that depended on this one is released.

        :param master: None to end the dependency.
        :param derivative: of the function; found by differences when missing.
        """
        for name, given in (('function', function), ('derivative', derivative)):
            if given is not None:
                check_callable(name, given)
        other = self.world.find(master)
        if other is None:
            self._dependency = None
            self._after_limits()
            return
        self._must_be_scalar('dependency')
        if not isinstance(other, IkJoint) or other.kind == JointType.SPHERICAL or other is self:
            raise InvalidOption(f'Joint {quote(self.name)} cannot depend on {quote(other.name)}.')
        numbers = _finite(multiplier, self, 'multiplier'), _finite(offset, self, 'offset')
        item = other
        while item._dependency is not None:
            if item._dependency.master is self:
                item._dependency = None
                break
            item = item._dependency.master
        self._dependency = Dependency(other, *numbers, function, derivative, **details)
        self.world.changed()
        self.world.follow()

    def driver(self) -> IkJoint:
        """Return the joint that finally drives this joint; the joint itself if it is independent."""
        joint = self
        while joint._dependency is not None:
            joint = joint._dependency.master
        return joint


def joint_values(joints: Sequence[IkJoint], values: FloatArray) -> FloatArray:
    """
    Return the values of some joints from a vector of all values, as one flat array; four for a spherical joint.

    :param values: (nq,) in the order of ``Environment.q``.
    """
    return values[value_places(joints)]


def value_places(joints: Sequence[IkJoint]) -> IntArray:
    """Return the indices of the values of some joints in ``Environment.q``; four for a spherical joint."""
    places = [joint.place_in_values + k for joint in joints for k in range(joint.size)]
    return np.array(places, dtype=np.int64)
