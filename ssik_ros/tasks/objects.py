"""Objects of an environment (the base of joints, and dummies, which are plain frames), and the table that holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
import functools
from typing import Any, cast, Generic, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_flag, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import FrameNotFound, InvalidOption, quote, RequestError
from ssik_ros.tasks.constants import ObjectType, PARENT, WORLD
from ssik_ros.tasks.pose_formats import (
    compose,
    invert,
    read_pose,
    read_rotation,
    to_euler,
    to_matrix,
    to_seven,
)

T = TypeVar('T')
Reference = Union['IkObject', str, int, None]
"""An object, its name or its handle; None or -1 for the world."""


class EnvironmentClosed(RequestError, RuntimeError):
    """Raised by calls that look up an object, or solve, copy or save, after :meth:`Environment.close`."""


class ObjectTable(ABC):
    """
    Base of an environment: its objects by name and handle, their poses, and the joint values.

    ``slots`` lists the objects in the order in which they were made. ``poses`` has a row (12,) for each of them, its
    pose relative to its parent. ``values`` (nq,) has the joint values.

    Methods that look up an object by itself, its name or its handle raise EnvironmentClosed after
    :meth:`Environment.close`.
    """

    def __init__(self, name: str | None = None) -> None:
        """
        Start without objects.

        :param name: shown in messages; None for "environment".
        """
        self.name = name or 'environment'
        self.handle = WORLD
        """Number under which a registry knows the environment; -1 if it is not registered."""
        self.version = 0
        """Grows with every change of structure or of a setting; poses and joint values are no structure."""
        self.poses: FloatArray = np.empty((0, 12))
        self.values: FloatArray = np.empty(0)
        self.slots: list[IkObject] = []
        self.closed = False
        self._by_name: dict[str, IkObject] = {}
        self._by_handle: dict[int, IkObject] = {}

    def __contains__(self, name: object) -> bool:
        """Return whether an object of this name exists."""
        return isinstance(name, str) and name in self._by_name

    def __getitem__(self, name: str | int) -> IkObject:
        """
        Return an object by its name or handle.

        :raises FrameNotFound: (a KeyError) for an unknown one, with the most similar name; also for None and -1, the
            world.
        :raises InvalidOption: for a reference of another type.
        :raises EnvironmentClosed: after :meth:`Environment.close`.
        """
        match = self.find(name)
        if match is None:
            raise FrameNotFound('The world is no object.', name=name)
        return match

    @property
    def objects(self) -> dict[str, IkObject]:
        """Return all objects by name, in the order in which they were made."""
        return dict(self._by_name)

    def require_open(self) -> None:
        """Raise EnvironmentClosed if the environment was closed."""
        if self.closed:
            raise EnvironmentClosed(f'Environment {quote(self.name)} is closed.')

    def find(self, reference: Reference) -> IkObject | None:
        """
        Return the object of a reference; None for the world.

        :param reference: an object of this environment, its name or its handle; None or -1 for the world.
        :raises FrameNotFound: (a KeyError) if this environment does not have the object.
        :raises InvalidOption: for a reference of another type.
        :raises EnvironmentClosed: after :meth:`Environment.close`.
        """
        self.require_open()
        if reference is None:
            return None
        if isinstance(reference, IkObject):
            if reference.world is not self or self._by_name.get(reference.name) is not reference:
                raise FrameNotFound(
                    f'{quote(reference.name)} belongs to another environment, or was erased.',
                    name=reference.name,
                )
            return reference
        if isinstance(reference, str):
            if reference not in self._by_name:
                raise FrameNotFound.unknown(
                    f'Environment {quote(self.name)} has no object {quote(reference)}',
                    reference,
                    self._by_name,
                )
            return self._by_name[reference]
        if isinstance(reference, bool) or not isinstance(reference, int | np.integer):
            refuse('The reference of an object', reference, 'the object, its name or its handle')
        if reference == WORLD:
            return None
        if reference not in self._by_handle:
            raise FrameNotFound(
                f'Environment {quote(self.name)} has no object with the handle {shown(reference)}.',
                name=reference,
                available=tuple(self._by_handle),
            )
        return self._by_handle[reference]

    def dummy(self, reference: Reference) -> Dummy:
        """
        Return a dummy of this environment by itself, its name or its handle.

        :raises FrameNotFound: (a KeyError) if the environment does not have the object.
        :raises InvalidOption: if the object is a joint or the world.
        """
        match = self.find(reference)
        if not isinstance(match, Dummy):
            raise InvalidOption(f'{quote(getattr(match, "name", "world"))} is not a dummy.')
        return match

    def changed(self) -> None:
        """Increase ``version`` after a change of structure or of a setting, so that the next solve packs the environment again."""
        self.version += 1

    @abstractmethod
    def world_pose(self, item: IkObject, moved: bool) -> FloatArray:
        """
        Return the pose (12,) of an object in the world.

        :param moved: whether a joint's own motion is included.
        """

    @abstractmethod
    def follow(self, values: FloatArray | None = None) -> None:
        """
        Set the joints that depend on other joints to the values that their dependencies give, in place.

        :param values: (nq,) joint values to change, in the order of ``q``; None for the values of the environment.
        """

    @abstractmethod
    def wraps(self, item: IkObject) -> bool:
        """
        Return whether a whole turn of a joint turns all joints that depend on it by whole turns, too.

        False if one of these joints is not a plain revolute joint, turns by a fraction of a turn or follows a user
        function.

        :param item: a joint that follows no other joint.
        """

    @abstractmethod
    def erase(self, reference: Reference) -> None:
        """
        Remove an object from the environment, with the tasks that have it as tip, base or constraint base.

        Its children move to its parent, and joints that depend on it become independent, as for :meth:`IkObject.erase`.

        :param reference: the object, its name or its handle.
        :raises FrameNotFound: (a KeyError) for an unknown object.
        :raises InvalidOption: for the world itself.
        """


class Setting(Generic[T]):
    """
    A descriptor: an attribute of an object, task or task set whose new values are checked.

    After a change of the attribute, the next solve packs the environment for the kernels again.
    """

    def __init__(self, default: T, read: Callable[[Any, Any], T]) -> None:
        """
        Describe the attribute.

        :param default: value of a new object.
        :param read: takes the object and the written value; returns the value to store, or raises an error.
        """
        self._default, self._read = default, read

    def __set_name__(self, owner: type, name: str) -> None:
        """Choose ``_name`` as the attribute that stores the value, and set the default on the class."""
        self._name = f'_{name}'
        setattr(owner, self._name, self._default)

    def __get__(self, item: Any, owner: type) -> T:
        """Return the stored value of the object; the descriptor itself if it is read from the class."""
        return cast(T, self if item is None else getattr(item, self._name))

    def __set__(self, item: Any, value: Any) -> None:
        """Check and store a value, and let the next solve pack the environment for the kernels again."""
        setattr(item, self._name, self._read(item, value))
        item.world.changed()


def read_switch(item: object, value: object) -> bool:
    """Return the truth value of an on/off setting; raise InvalidOption if it has none, such as an array."""
    return read_flag('The switch', value)


@functools.cache
def _setting_names(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes of a class that can be set."""
    return tuple(
        name
        for cls in kind.__mro__
        for name, value in vars(cls).items()
        if isinstance(value, Setting) or getattr(value, 'fset', None)
    )


def write_settings(item: Any, settings: Mapping[str, Any]) -> None:
    """
    Set attributes of an object, task or task set by name, in the order of the mapping.

    :raises InvalidOption: for a name that is not a settable attribute; the attributes before it are set.
    :raises SsikError: as the attribute raises for a wrong value.
    """
    setting_names = _setting_names(type(item))  # type: ignore[arg-type]
    for name, value in settings.items():
        if name not in setting_names:
            raise InvalidOption.unknown(f'{quote(name)} is no setting', name, setting_names)
        setattr(item, name, value)


class IkObject:
    """
    A named frame of an environment, a joint or a dummy, with a pose relative to its parent or to the world.

    The pose of a joint is its frame at the value zero. Its children, and poses relative to it, are in the frame that
    the joint has moved.
    """

    object_type: ObjectType

    def __init__(self, world: ObjectTable, name: str, handle: int, slot: int) -> None:
        """
        Store name and places of the object; ``Environment.add_dummy`` and ``add_joint`` call this.

        :param handle: number of the object in its environment; it never changes.
        :param slot: index of the object's pose among the poses of the environment.
        """
        self.world = world
        self.name = name
        self.handle = handle
        self.slot = slot
        self._parent: IkObject | None = None

    def __repr__(self) -> str:
        """Return kind and name."""
        return f'<{type(self).__name__} {self.name!r}>'

    @property
    def parent(self) -> IkObject | None:
        """Return the object that carries this object; None for the world."""
        return self._parent

    @property
    def children(self) -> tuple[IkObject, ...]:
        """Return the objects that this object carries."""
        return tuple(item for item in self.world.slots if item._parent is self)

    def ancestors(self) -> Iterator[IkObject]:
        """Yield this object, its parent, the parent's parent and so on."""
        item: IkObject | None = self
        while item is not None:
            yield item
            item = item._parent

    def line(self) -> list[IkObject]:
        """Return all objects that carry this object, the outermost first, then this object."""
        return list(self.ancestors())[::-1]

    def set_parent(self, parent: Reference, keep_in_place: bool = True) -> None:
        """
        Give the object another parent, which carries it from then on.

        :param parent: the object, its name or its handle; None for the world.
        :param keep_in_place: keep the pose in the world; False keeps the pose relative to the parent.
        :raises InvalidOption: if this object carries the new parent.
        :raises FrameNotFound: (a KeyError) for an unknown parent.
        """
        new = self.world.find(parent)
        if new is not None and self in new.ancestors():
            raise InvalidOption(
                f'{quote(new.name)} cannot carry {quote(self.name)}, which carries it.'
            )
        pose = self.transform() if read_flag('keep_in_place', keep_in_place) else None
        self._parent = new
        self.world.changed()
        if pose is not None:
            self.place(pose, None)

    def transform(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return a copy of the pose (12,): the rotation matrix row by row, then the translation [m].

        The pose of a joint is its frame at the value zero.

        :param relative_to: None or -1 for the world, an object (a joint with its motion), or ``PARENT``.
        :raises FrameNotFound: (a KeyError) for an unknown object ``relative_to``.
        """
        other = self._reference(relative_to)
        if other is self._parent:
            return np.array(self.world.poses[self.slot])
        pose = self.world.world_pose(self, moved=False)
        if other is None:
            return pose
        return compose(invert(self.world.world_pose(other, moved=True)), pose)

    def place(self, pose: FloatArray, relative_to: IkObject | None) -> None:
        """
        Set the pose, given as (12,): the rotation matrix row by row, then the translation [m].

        :param relative_to: the object in whose frame the pose is given; None for the world.
        """
        self.world.poses[self.slot] = self.local(pose, relative_to)

    def local(self, pose: FloatArray, relative_to: IkObject | None) -> FloatArray:
        """
        Return the pose (12,) relative to the parent for a pose (12,) relative to another object; nothing moves.

        :param relative_to: the other object; None for the world.
        """
        if relative_to is not self._parent:
            if relative_to is not None:
                pose = compose(self.world.world_pose(relative_to, moved=True), pose)
            if self._parent is not None:
                pose = compose(invert(self.world.world_pose(self._parent, moved=True)), pose)
        return pose

    def _reference(self, relative_to: Reference) -> IkObject | None:
        """
        Return the object that a reference (an object, name or handle) names; None for the world.

        ``PARENT`` names the parent of this object.
        """
        if isinstance(relative_to, int) and relative_to == PARENT:
            return self._parent
        return self.world.find(relative_to)

    def pose(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return the pose (7,): x, y, z [m], qx, qy, qz, qw.

        The pose of a joint is its frame at the value zero.

        :param relative_to: None or -1 for the world, an object, or ``PARENT``.
        :raises FrameNotFound: (a KeyError) for an unknown object ``relative_to``.
        """
        return to_seven(self.transform(relative_to))

    def matrix(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return the pose as a 4x4 matrix [m].

        The pose of a joint is its frame at the value zero.

        :param relative_to: None or -1 for the world, an object, or ``PARENT``.
        :raises FrameNotFound: (a KeyError) for an unknown object ``relative_to``.
        """
        return to_matrix(self.transform(relative_to))

    def set_pose(self, pose: ArrayLike, relative_to: Reference = WORLD) -> None:
        """
        Move the object to a pose; its children move along.

        :param pose: 7 or 12 numbers, a 3x4 or 4x4 matrix, or any other form of :func:`ssik_ros.pose`.
        :param relative_to: frame of the pose: None or -1 for the world, an object, or ``PARENT``.
        :raises InvalidTarget: if the pose is not a finite rigid transform.
        :raises TypeError, ValueError: if the pose has another form.
        :raises FrameNotFound: (a KeyError) for an unknown object ``relative_to``.
        """
        self.place(read_pose(pose, f'pose of {quote(self.name)}'), self._reference(relative_to))

    @property
    def quaternion(self) -> FloatArray:
        """
        Return or set the orientation in the world as x, y, z, w.

        :raises InvalidTarget: for a quaternion that is zero or not finite.
        :raises TypeError, ValueError: for a value of another form.
        """
        return to_seven(self.transform())[3:]

    @quaternion.setter
    def quaternion(self, value: ArrayLike) -> None:
        self.set_pose([*self.transform()[9:], *read_rotation(value)])

    @property
    def euler(self) -> FloatArray:
        """
        Return or set the orientation in the world as (alpha, beta, gamma): Rx(alpha) Ry(beta) Rz(gamma) [rad].

        :raises InvalidTarget: for an angle that is not finite.
        :raises TypeError, ValueError: for a value of another form.
        """
        return to_euler(self.transform())

    @euler.setter
    def euler(self, value: ArrayLike) -> None:
        self.quaternion = read_rotation(value)

    def erase(self) -> None:
        """
        Remove the object from its environment.

        Its children move to its parent and keep their poses in the world. Tasks with the object as tip, base or
        constraint base are removed, and task sets that have no task left. Tips whose target it is have no target
        afterwards. Joints that depend on the object become independent.
        """
        self.world.erase(self)


class Dummy(IkObject):
    """A plain frame of an environment; as the tip of a task it may have another dummy as its target."""

    object_type = ObjectType.DUMMY

    def __init__(self, world: ObjectTable, name: str, handle: int, slot: int) -> None:
        """
        Make a dummy without a target; ``Environment.add_dummy`` calls this.

        :param handle: number of the dummy in its environment.
        :param slot: index of the dummy's pose among the poses of the environment.
        """
        super().__init__(world, name, handle, slot)
        self._target: Dummy | None = None

    @property
    def position(self) -> FloatArray:
        """
        Return or set the position in the world [m].

        :raises InvalidTarget: for numbers that are not finite.
        :raises TypeError, ValueError: for anything but three numbers.
        """
        return self.transform()[9:].copy()

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self.set_pose([*read_numbers('position', value, (3,)), *self.quaternion])

    @property
    def target(self) -> Dummy | None:
        """
        Return or set the dummy that this dummy, as a tip, is to meet; None for no target.

        :raises FrameNotFound: (a KeyError) for an unknown target.
        :raises InvalidOption: if the target is this dummy itself or a joint.
        """
        return self._target

    @target.setter
    def target(self, value: Reference) -> None:
        target = self.world.find(value)
        if target is self:
            raise InvalidOption(f'{quote(self.name)} cannot be its own target.')
        if target is not None and not isinstance(target, Dummy):
            raise InvalidOption(f'Only a dummy can be a target, not {quote(target.name)}.')
        self._target = target
        self.world.changed()
