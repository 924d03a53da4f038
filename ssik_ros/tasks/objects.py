"""Objects of an environment: dummies, and what they share with joints (names, parents, poses)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote
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

if TYPE_CHECKING:
    from ssik_ros.tasks.world import World

Reference = Union['IkObject', str, int, None]
"""An object, its name or its handle; None or -1 for the world."""


class IkObject:
    """
    A named frame with a parent or none, and a local pose.

    A pose of a joint excludes the joint's own motion; children, and poses given relative to a joint, include it.
    """

    object_type: ObjectType

    def __init__(self, world: World, name: str, handle: int, slot: int) -> None:
        """Keep where the object stands in its world; made by ``Environment.add_dummy`` and ``add_joint``."""
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
        """Return the object that carries this one; None for the world."""
        return self._parent

    @property
    def children(self) -> tuple[IkObject, ...]:
        """Return the objects that this one carries."""
        return tuple(item for item in self.world.slots if item._parent is self)

    def ancestors(self) -> Iterator[IkObject]:
        """Return this object and all above it, nearest first."""
        item: IkObject | None = self
        while item is not None:
            yield item
            item = item._parent

    def set_parent(self, parent: Reference, keep_in_place: bool = True) -> None:
        """
        Hang the object on another one.

        :param parent: None for the world.
        :param keep_in_place: keep the pose in the world; otherwise the local pose.
        :raises InvalidOption: when the parent is carried by this object.
        """
        new = self.world.find(parent)
        if new is not None and self in new.ancestors():
            raise InvalidOption(
                f'{quote(new.name)} cannot carry {quote(self.name)}, which carries it.'
            )
        pose = self.transform() if keep_in_place else None
        self._parent = new
        self.world.changed()
        if pose is not None:
            self.place(pose, None)

    def transform(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return the pose as the twelve numbers of the kernels.

        :param relative_to: the world, an object, or ``PARENT``.
        """
        other = self._reference(relative_to)
        if other is self._parent:
            return np.array(self.world.poses[self.slot])
        own = self.world.world_pose(self, moved=False)
        if other is None:
            return own
        return compose(invert(self.world.world_pose(other, moved=True)), own)

    def place(self, pose: FloatArray, relative_to: IkObject | None) -> None:
        """
        Write the pose, twelve numbers of the kernels.

        :param relative_to: None for the world.
        """
        if relative_to is not self._parent:
            if relative_to is not None:
                pose = compose(self.world.world_pose(relative_to, moved=True), pose)
            if self._parent is not None:
                pose = compose(invert(self.world.world_pose(self._parent, moved=True)), pose)
        self.world.poses[self.slot] = pose

    def _reference(self, relative_to: Reference) -> IkObject | None:
        """Return the object that a pose is relative to."""
        if isinstance(relative_to, int) and relative_to == PARENT:
            return self._parent
        return self.world.find(relative_to)

    def pose(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return x, y, z, qx, qy, qz, qw.

        :param relative_to: the world, an object, or ``PARENT``.
        """
        return to_seven(self.transform(relative_to))

    def matrix(self, relative_to: Reference = WORLD) -> FloatArray:
        """
        Return the 4x4 matrix of the pose.

        :param relative_to: the world, an object, or ``PARENT``.
        """
        return to_matrix(self.transform(relative_to))

    def set_pose(self, pose: ArrayLike, relative_to: Reference = WORLD) -> None:
        """
        Move the object.

        :param pose: 7 or 12 numbers, or a 3x4 or 4x4 matrix.
        :param relative_to: the world, an object, or ``PARENT``.
        :raises InvalidTarget: when the pose is not a finite rigid transform.
        """
        self.place(read_pose(pose, f'pose of {quote(self.name)}'), self._reference(relative_to))

    @property
    def quaternion(self) -> FloatArray:
        """Return or set the orientation in the world as x, y, z, w."""
        return to_seven(self.transform())[3:]

    @quaternion.setter
    def quaternion(self, value: ArrayLike) -> None:
        self.set_pose([*self.transform()[9:], *read_rotation(value)])

    @property
    def euler(self) -> FloatArray:
        """Return or set the orientation in the world as (alpha, beta, gamma): Rx(alpha) Ry(beta) Rz(gamma) [rad]."""
        return to_euler(self.transform())

    @euler.setter
    def euler(self, value: ArrayLike) -> None:
        self.quaternion = read_rotation(value)

    def erase(self) -> None:
        """
        Take the object out of its environment.

        Its children move to its parent and keep their places in the world; tasks that use it vanish, and task sets
        left empty; joints that depend on it are freed.
        """
        self.world.erase(self)


class Dummy(IkObject):
    """A plain frame; as a tip it may have one target."""

    object_type = ObjectType.DUMMY

    def __init__(self, world: World, name: str, handle: int, slot: int) -> None:
        """Start without a target."""
        super().__init__(world, name, handle, slot)
        self._target: Dummy | None = None

    @property
    def position(self) -> FloatArray:
        """Return or set the position in the world [m]."""
        return self.transform()[9:].copy()

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self.set_pose([*np.asarray(value, dtype=float), *self.quaternion])

    @property
    def target(self) -> Dummy | None:
        """Return or set the dummy that this tip is to meet; None for none."""
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
