"""Joints with up to six degrees of freedom, and goals."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arguments import check_kind, read_choice, read_flag, read_float, read_numbers, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidClosure,
    InvalidLimits,
    InvalidOption,
    InvalidTarget,
)
from ssik_ros.kernels.geometry.rotations import (
    matrix_of_quaternion,
    matrix_of_rpy,
    pose_matrix,
    quaternion_of_matrix,
    rpy_of_matrix,
)
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import Frame, Link
from ssik_ros.mechanisms.names import DOF, DOF_NAMES, read_dof
from ssik_ros.mechanisms.storage import frozen

ANGLES = (DOF.EX, DOF.EY, DOF.EZ)
ROTATIONS = ('euler', 'quaternion')


def _six(start: int, text: str) -> property:
    """Return a property with the six numbers of a joint that begin at a column of the table."""
    return property(lambda joint: frozen(joint._read(start, 6)), doc=text)


def _flag(column: int, text: str) -> property:
    """Return a property for a flag of a joint."""
    return property(
        lambda joint: bool(joint._storage.flags[joint._row, column]),
        lambda joint, value: joint._set_flag(column, value),
        doc=text,
    )


class Joint(Frame):
    """
    A fixed pose in the parent, followed by up to six degrees of freedom.

    After the fixed pose comes Trans(x, y, z) Rz(ez) Ry(ey) Rx(ex). A joint has one child, a link, or closes onto a link
    that has its place elsewhere.
    """

    def __init__(self, name: str = '') -> None:
        """
        Make a joint without degrees of freedom.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._dof: tuple[DOF, ...] = ()
        self._closure: Link | None = None
        self._rotation = 'euler'
        self._followed: dict[DOF, tuple[Joint, DOF, float, float]] = {}

    # Structure.

    @property
    def child(self) -> Frame | None:
        """The link below, or the link that this joint closes onto."""
        return self._closure if self._closure is not None else next(iter(self._children), None)

    @property
    def is_closure(self) -> bool:
        """Whether this joint closes onto a link that has another parent."""
        return self._closure is not None

    def add_child(self, child: Frame) -> None:
        """
        Put a link below this joint.

        :param child: a link without a parent.
        :raises InvalidClosure: see :meth:`Frame.add_child`; a joint has one child, a link.
        """
        if not isinstance(child, Link):
            raise InvalidClosure(f'{self!r} is a joint, its child is a link.', frame=child)
        self._check_has_none()
        super().add_child(child)

    def make_closure(self, link: Link) -> None:
        """
        Close a loop: this joint's frame and a link are to coincide.

        :param link: keeps its parent; it lists this joint among its ``closure_joints``.
        :raises InvalidClosure: if this joint has a child, or ``link`` is not a link.
        """
        if not isinstance(link, Link):
            raise InvalidClosure(
                f'{self!r} closes onto links only: link is {shown(link)}.', frame=link
            )
        self._check_has_none()
        self._closure = link
        link._closure_joints.append(self)
        self._restructured(link)

    def remove_closure(self) -> None:
        """Undo :meth:`make_closure`."""
        link = self._closure
        if link is None:
            raise InvalidClosure(f'{self!r} closes onto nothing.', frame=self)
        link._closure_joints.remove(self)
        self._closure = None
        self._restructured(link)

    def _check_has_none(self) -> None:
        if self.child is not None:
            raise InvalidClosure(f'{self!r} already has the child {self.child!r}.', frame=self)

    # Degrees of freedom.

    @property
    def dof(self) -> tuple[DOF, ...]:
        """The free degrees of freedom, ascending."""
        return self._dof

    @property
    def dof_flags(self) -> NDArray[np.uint8]:
        """(6,) 1 for each free degree of freedom."""
        flags = np.zeros(6, dtype=np.uint8)
        flags[list(self._dof)] = 1
        flags.flags.writeable = False
        return flags

    def set_dof(self, *dof: DOF) -> None:
        """
        Choose the degrees of freedom; values, targets and rest poses become 0, limits infinite, locks open.

        :param dof: in the order X, Y, Z, EX, EY, EZ, each at most once.
        :raises InvalidOption: if they are unknown, repeated or in another order.
        """
        known = all(
            isinstance(d, int | np.integer) and not isinstance(d, bool) and 0 <= d < 6 for d in dof
        )
        if not known or any(a >= b for a, b in pairwise(dof)):
            text = f'Degrees of freedom must be among {DOF_NAMES}, ascending, each once: dof is {shown(dof)}.'
            raise InvalidOption(text, value=dof)
        self._dof = tuple(DOF(d) for d in dof)
        self._followed = {}
        if len(set(ANGLES) & set(self._dof)) < 3:
            self._rotation = 'euler'
        with self._storage.lock:
            row = self._storage.reals[self._row]
            row[layout.VALUES : layout.LOWER] = 0.0
            row[layout.ROTATION + 3] = 1.0
            row[layout.LOWER : layout.LOWER + 6] = -np.inf
            row[layout.UPPER : layout.UPPER + 6] = np.inf
            self._storage.flags[self._row, layout.LOCKED : layout.LOCKED + 6] = 0
        self._restructured()

    def clear_dof(self) -> None:
        """Make this joint rigid."""
        self.set_dof()

    @property
    def rotation(self) -> str:
        """How three angles are stored: ``euler`` or ``quaternion`` (a ball joint, without singular orientations)."""
        return self._rotation

    @rotation.setter
    def rotation(self, kind: str) -> None:
        read_choice('rotation', kind, ROTATIONS)
        if kind == 'quaternion':
            angles = [d for d in self._dof if d in ANGLES]
            limited = np.isfinite(self._read(layout.LOWER, 12).reshape(2, 6)[:, 3:]).any()
            followed = any(d in self._followed for d in angles)
            if len(angles) < 3 or limited or followed:
                text = (
                    f'{self!r} can be a ball with EX, EY and EZ free, without limits and leaders.'
                )
                raise InvalidOption(text, joint=self)
        self._rotation = kind
        self._restructured()

    @property
    def dof_quaternion(self) -> FloatArray:
        """The rotation of the degrees of freedom as x, y, z, w."""
        return frozen(quaternion_of_matrix(self.matrix_dof[:3, :3]))

    @dof_quaternion.setter
    def dof_quaternion(self, quaternion: ArrayLike) -> None:
        values = read_numbers('dof_quaternion', quaternion).ravel()
        norm = np.linalg.norm(values)
        if values.size != 4 or not np.isfinite(norm) or norm < 1e-9:
            raise InvalidTarget(
                f'dof_quaternion has four numbers, not {shown(quaternion)}.', value=values
            )
        if not set(ANGLES) <= set(self._dof):
            raise InvalidOption(f'{self!r} does not have all three angles free.', joint=self)
        angles = rpy_of_matrix(matrix_of_quaternion(values))
        for dof, angle in zip(ANGLES, angles, strict=True):
            self.set_dof_value(dof, angle)
        self._write(layout.ROTATION, values / norm)

    @property
    def matrix_dof(self) -> FloatArray:
        """The (4, 4) transform of the degrees of freedom."""
        row = self._storage.reals[self._row]
        values = row[layout.VALUES : layout.VALUES + 6]
        if self._rotation == 'quaternion':
            rotation = matrix_of_quaternion(row[layout.ROTATION : layout.ROTATION + 4])
        else:
            rotation = matrix_of_rpy(*values[3:])
        return frozen(pose_matrix(values[:3], rotation))

    # Six numbers each; zero or infinite if a degree of freedom is not free.

    dof_values = _six(layout.VALUES, '(6,) values [m, rad].')
    dof_target = _six(layout.TARGET, '(6,) targets.')
    dof_rest_pose = _six(layout.REST, '(6,) rest pose.')
    min_dof_limit = _six(layout.LOWER, '(6,) lower limits.')
    max_dof_limit = _six(layout.UPPER, '(6,) upper limits.')

    def _check_free(self, dof: int) -> DOF:
        if not isinstance(dof, int | np.integer) or dof not in self._dof:
            names = ', '.join(d.name for d in self._dof) or 'none'
            text = f'dof {shown(dof)} is not free in {self!r}; free are: {names}.'
            raise InvalidOption(text, joint=self, dof=dof)
        return DOF(dof)

    @staticmethod
    def _check_number(what: str, value: float, infinite: bool = False) -> float:
        number = read_float(what, value)
        if np.isnan(number) or (np.isinf(number) and not infinite):
            raise InvalidTarget(f'{what} must be a number, not {value}.', value=value)
        return number

    def _for_each(self, change: Callable[[DOF, float], Any], values: Sequence[float]) -> list[Any]:
        """Call a function with each free degree of freedom and its value; return the results."""
        if len(values) != len(self._dof):
            text = f'{self!r} has {len(self._dof)} degrees of freedom, not {len(values)}.'
            raise DimensionMismatch(text, joint=self, values=values)
        return [change(dof, value) for dof, value in zip(self._dof, values, strict=True)]

    def set_dof_value(self, dof: DOF, value: float) -> bool:
        """
        Set one value, clamped into the limits.

        :returns: whether it is at a limit.
        :raises InvalidOption: when the degree of freedom is not free.
        """
        dof = self._check_free(dof)
        number = self._check_number('value', value)
        if dof in self._followed:
            raise InvalidOption(
                f'{dof.name} of {self!r} follows another one.', joint=self, dof=dof
            )
        low, high = self._limits(dof)
        self._write(layout.VALUES + dof, min(max(number, low), high))
        if dof >= DOF.EX:
            self._update_quaternion()
        return number <= low or number >= high

    def _update_quaternion(self) -> None:
        """Compute the quaternion from the three angles."""
        rotation = matrix_of_rpy(*self._read(layout.VALUES + 3, 3))
        self._write(layout.ROTATION, quaternion_of_matrix(rotation))

    def _number(self, column: int) -> float:
        return float(self._storage.reals[self._row, column])

    def _limits(self, dof: DOF) -> tuple[float, float]:
        return self._number(layout.LOWER + dof), self._number(layout.UPPER + dof)

    def set_dof_values(self, *values: float) -> bool:
        """
        Set the values of all free degrees of freedom; return whether one is at a limit.

        :param values: as many as there are free degrees of freedom.
        """
        return any(self._for_each(self.set_dof_value, values))

    def get_dof_value(self, dof: DOF) -> float:
        """Return one value; 0 if it is not free."""
        return self._number(layout.VALUES + read_dof(dof))

    def set_target_value(self, dof: DOF, value: float) -> bool:
        """Set one target, clamped when it is used; return whether it is at or beyond a limit."""
        return self._set_wanted(layout.TARGET, dof, value)

    def set_target_values(self, *values: float) -> bool:
        """Set the targets of all free degrees of freedom."""
        return any(self._for_each(self.set_target_value, values))

    def get_target_value(self, dof: DOF) -> float:
        """Return one target."""
        return self._number(layout.TARGET + read_dof(dof))

    def set_rest_pose_value(self, dof: DOF, value: float) -> bool:
        """Set one number of the rest pose, clamped when it is used; return whether it is at or beyond a limit."""
        return self._set_wanted(layout.REST, dof, value)

    def set_rest_pose_values(self, *values: float) -> bool:
        """Set the rest pose of all free degrees of freedom."""
        return any(self._for_each(self.set_rest_pose_value, values))

    def get_rest_pose_value(self, dof: DOF) -> float:
        """Return one number of the rest pose."""
        return self._number(layout.REST + read_dof(dof))

    def _set_wanted(self, start: int, dof: DOF, value: float) -> bool:
        dof = self._check_free(dof)
        number = self._check_number('value', value)
        self._write(start + dof, number)
        low, high = self._limits(dof)
        return number <= low or number >= high

    def set_min_limit(self, dof: DOF, value: float) -> bool:
        """Set one lower limit; the value is clamped at once. Return whether it then is at the limit."""
        return self._set_limit(dof, value, self.get_max_limit(dof))

    def set_max_limit(self, dof: DOF, value: float) -> bool:
        """Set one upper limit; the value is clamped at once. Return whether it then is at the limit."""
        return self._set_limit(dof, self.get_min_limit(dof), value)

    def set_limits(self, dof: DOF, low: float, high: float) -> bool:
        """Set both limits of one degree of freedom; return whether the value then is at a limit."""
        return self._set_limit(dof, low, high)

    def _set_limit(self, dof: DOF, low: float, high: float) -> bool:
        dof = self._check_free(dof)
        low, high = (
            self._check_number(name, v, infinite=True)
            for name, v in (('low', low), ('high', high))
        )
        if low > high or low == np.inf or high == -np.inf:
            text = f'{dof.name} of {self!r}: the limits {low} and {high} leave no range.'
            raise InvalidLimits(text, joint=self, dof=dof)
        if self._rotation == 'quaternion' and dof >= DOF.EX and np.isfinite([low, high]).any():
            text = f'{self!r} is a ball: limits of angles need rotation = "euler".'
            raise InvalidOption(text, joint=self, dof=dof)
        self._write(layout.LOWER + dof, low)
        self._write(layout.UPPER + dof, high)
        value = self.get_dof_value(dof)
        if dof not in self._followed and not low <= value <= high:
            return self.set_dof_value(dof, value)
        return value in (low, high)

    def set_min_limits(self, *values: float) -> None:
        """Set the lower limits of all free degrees of freedom."""
        self._for_each(self.set_min_limit, values)

    def set_max_limits(self, *values: float) -> None:
        """Set the upper limits of all free degrees of freedom."""
        self._for_each(self.set_max_limit, values)

    def get_min_limit(self, dof: DOF) -> float:
        """Return one lower limit."""
        return self._number(layout.LOWER + read_dof(dof))

    def get_max_limit(self, dof: DOF) -> float:
        """Return one upper limit."""
        return self._number(layout.UPPER + read_dof(dof))

    # Flags and weights.

    def _set_flag(self, place: int, value: Any) -> None:
        with self._storage.lock:
            self._storage.flags[self._row, place] = read_flag('The flag', value)

    target_set = _flag(
        layout.TARGET_SET, 'Whether the solver moves the values towards the targets.'
    )
    rest_pose_set = _flag(
        layout.REST_SET,
        'Whether the solver moves the values towards the rest pose where closures and goals leave room.',
    )
    track_wrap = _flag(
        layout.TRACK_WRAP,
        'Whether targets and rest poses of angles are exact, not equal modulo 2 pi.',
    )

    @property
    def locked(self) -> bool:
        """Whether no degree of freedom is moved by the solver."""
        return bool(self._storage.flags[self._row, list(self._dof)].all())

    @locked.setter
    def locked(self, value: bool) -> None:
        self.lock(*self._dof) if read_flag('locked', value) else self.unlock(*self._dof)

    @property
    def locked_dof(self) -> tuple[DOF, ...]:
        """The degrees of freedom that the solver does not move."""
        return tuple(d for d in self._dof if self._storage.flags[self._row, layout.LOCKED + d])

    def lock(self, *dof: DOF) -> None:
        """Keep degrees of freedom at their values; the three angles of a ball joint go together."""
        self._lock(dof, True)

    def unlock(self, *dof: DOF) -> None:
        """Let the solver move degrees of freedom again."""
        self._lock(dof, False)

    def _lock(self, dof: Iterable[DOF], value: bool) -> None:
        chosen = {self._check_free(d) for d in dof}
        if self._rotation == 'quaternion' and chosen & set(ANGLES):
            chosen |= set(ANGLES)
        for d in chosen:
            self._set_flag(layout.LOCKED + d, value)

    @property
    def target_weight(self) -> float:
        """Weight of the targets relative to closures and goals."""
        return self._number(layout.TARGET_WEIGHT)

    @target_weight.setter
    def target_weight(self, value: float) -> None:
        self._write(layout.TARGET_WEIGHT, self._check_weight(value))

    def set_rest_pose_weights(self, *values: float) -> None:
        """Set the weights of the rest pose of all free degrees of freedom (1 by default)."""
        self._for_each(
            lambda dof, value: self._write(layout.REST_WEIGHT + dof, self._check_weight(value)),
            values,
        )

    def _check_weight(self, value: float) -> float:
        weight = read_float('weight', value)
        if not 0.0 <= weight < np.inf:
            raise InvalidOption(f'A weight is not negative and finite: not {value}.', value=value)
        return weight

    def follow(
        self,
        dof: DOF,
        leader: 'Joint',
        leader_dof: DOF,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        """
        Make one degree of freedom follow another one: value = multiplier * leader + offset.

        Its limits then bound the leader.

        :param dof: of this joint.
        :param leader: another joint of the mechanism (or this one).
        :raises InvalidOption: for angles of ball joints, or for a leader that follows this joint.
        :raises InvalidTarget: for numbers that are not finite.
        """
        check_kind('leader', leader, Joint)
        dof, leader_dof = self._check_free(dof), leader._check_free(leader_dof)
        for joint, d in ((self, dof), (leader, leader_dof)):
            if joint._rotation == 'quaternion' and d >= DOF.EX:
                raise InvalidOption(
                    f'The angles of {joint!r}, a ball joint, go together.', joint=joint
                )
        end: tuple[Joint, DOF] | None = (leader, leader_dof)
        while end is not None:
            if end == (self, dof):
                text = f'{dof.name} of {self!r} would follow itself.'
                raise InvalidOption(text, joint=self, dof=dof)
            followed = end[0]._followed.get(end[1])
            end = None if followed is None else followed[:2]
        factor = self._check_number('multiplier', multiplier)
        self._followed[dof] = (leader, leader_dof, factor, self._check_number('offset', offset))
        self._restructured(leader)

    def save_rest_pose(self) -> None:
        """Make the values the rest pose and switch it on."""
        self._write(layout.REST, self._read(layout.VALUES, 6))
        self.rest_pose_set = True


class Goal(Joint):
    """
    A target pose of a link.

    Its listed degrees of freedom are fixed to the goal (all six at first), the others are free for the link. It has no
    values of its own: its pose is moved instead.
    """

    def __init__(self, name: str = '') -> None:
        """
        Make a goal that fixes all six degrees of freedom.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._world = False
        self.set_dof(*DOF)

    def add_child(self, child: Frame) -> None:
        """
        Refuse: a goal has no children.

        :raises InvalidClosure: always.
        """
        raise InvalidClosure(
            f'{self!r} is a goal, it only closes onto links and has no child.', frame=child
        )

    def set_goal_dof(self, *dof: DOF) -> None:
        """Choose the degrees of freedom that are fixed to the goal."""
        self.set_dof(*dof)

    def set_free_dof(self, *dof: DOF) -> None:
        """Choose the free degrees of freedom; all others are fixed to the goal."""
        known = {read_dof(d) for d in dof}
        self.set_dof(*(d for d in DOF if d not in known))

    def set_dof_value(self, dof: DOF, value: float) -> bool:
        """
        Refuse: a goal has no values.

        :raises InvalidOption: always.
        """
        raise InvalidOption(f'{self!r} is a goal: move its pose, it has no values.', joint=self)

    @property
    def mask_frame(self) -> str:
        """The frame whose axes measure the fixed degrees of freedom: ``goal`` or ``world``."""
        return 'world' if self._world else 'goal'

    @mask_frame.setter
    def mask_frame(self, frame: str) -> None:
        self._world = read_choice('mask_frame', frame, ('goal', 'world')) == 'world'
        self._restructured()
