"""
The objects around a robot and the objects that it carries.

Messages change them through :class:`SceneWorld`; each request reads one snapshot, a :class:`Surroundings`.
"""

from collections.abc import Callable, Iterable
import dataclasses
import threading
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError, quote
from ssik_ros.model.collision.objects import CarriedObject, check_object, WorldObject

MOST_PARTS = 10_000
"""Shapes, subframes and touch links of all objects together."""
MOST_VERTICES = 5_000_000
"""Of all meshes together."""


class PlacedFrame(NamedTuple):
    """The pose (4, 4) of a frame that is not a link, in ``base``: the name of a link, or empty for the model frame."""

    base: str
    """A link, or empty for the model frame."""
    pose: FloatArray
    """(4, 4) in the base."""


class Surroundings(NamedTuple):
    """
    A snapshot of all objects: those in the world, and those that the robot carries. Collision checks use all of them.

    As long as no object changes, the world returns the same instance.
    """

    standing: tuple[WorldObject, ...] = ()
    """Objects that no link carries; their poses are in the model frame."""
    carried: tuple[CarriedObject, ...] = ()
    """Objects on links; their poses are in their links."""

    def find_frame(self, name: str) -> PlacedFrame | None:
        """
        Return the pose of an object or subframe: relative to the model frame, or to the link that carries the object.

        Return None for an unknown name.

        :param name: name of the object, or ``object/subframe``.
        """
        bases = [(item, '') for item in self.standing]
        for item, base in [*bases, *((c.object, c.link) for c in self.carried)]:
            if name == item.name:
                return PlacedFrame(base, item.pose)
            owner, _, subframe = name.partition('/')
            if owner == item.name and subframe in item.subframes:
                return PlacedFrame(base, item.pose @ item.subframes[subframe])
        return None

    def carry(self, more: Iterable[CarriedObject]) -> 'Surroundings':
        """
        Return surroundings with more carried objects, which replace all other objects of the same names.

        :param more: objects.
        """
        added = {entry.object.name: entry for entry in more}
        if not added:
            return self
        standing = tuple(item for item in self.standing if item.name not in added)
        carried = tuple(entry for entry in self.carried if entry.object.name not in added)
        return Surroundings(standing, (*carried, *added.values()))

    def standing_named(self, name: str) -> WorldObject | None:
        """
        Return the object of a name in the world; None if no object has this name or a link carries it.

        :param name: name of the object.
        """
        return next((item for item in self.standing if item.name == name), None)


NOTHING_AROUND = Surroundings()


class SceneWorld:
    """The present objects around a robot and on its links; several threads may change and read them at once."""

    def __init__(self) -> None:
        """Start without objects."""
        self._lock = threading.Lock()
        self._now = NOTHING_AROUND

    def now(self) -> Surroundings:
        """Return a snapshot of all objects."""
        return self._now

    def add(self, item: WorldObject) -> None:
        """
        Add an object to the world; it replaces an object of the same name there, but not one that a link carries.

        :param item: the object, with its pose in the model frame.
        :raises ModelError: for an invalid name, pose or shape, no shape, or too many shapes, subframes or vertices in
            the world.
        """
        check_object(item)
        with self._lock:
            self._replace(item)

    def append(self, item: WorldObject) -> None:
        """
        Add shapes and subframes to the object of the same name in the world; without such an object, add ``item``.

        The pose of the old object stays, and so do the places of the new shapes in the model frame. A new subframe
        replaces an old one of the same name.

        :param item: the new shapes and subframes, in an object frame at ``item.pose`` in the model frame.
        :raises ModelError: for an invalid name, pose or shape, no new shape, or too many shapes, subframes or vertices
            in the world. Also if the new shapes are too far away from the old object.
        """
        check_object(item)
        with self._lock:
            old = self._now.standing_named(item.name)
            if old is None:
                self._replace(item)
                return
            # The new shapes are given in their own object frame.
            to_old = np.linalg.inv(old.pose) @ item.pose
            moved = tuple(dataclasses.replace(s, pose=to_old @ s.pose) for s in item.shapes)
            subframes = {name: to_old @ pose for name, pose in item.subframes.items()}
            # Far from the old object, the moved shapes may be too far away.
            check_object(dataclasses.replace(old, shapes=moved))
            self._replace(
                dataclasses.replace(
                    old, shapes=(*old.shapes, *moved), subframes={**old.subframes, **subframes}
                )
            )

    def move(self, name: str, pose: FloatArray) -> None:
        """
        Set the pose of an object of the world.

        :param name: its name.
        :param pose: (4, 4) in the model frame.
        :raises ModelError: when the object does not exist, or the pose is not finite or too far away.
        """
        with self._lock:
            old = self._require(name)
            moved = dataclasses.replace(old, pose=pose)
            check_object(moved)
            self._replace(moved)

    def remove(self, name: str) -> None:
        """
        Remove an object from the world.

        :param name: its name; empty for all objects that are not carried.
        :raises ModelError: when the object does not exist.
        """
        with self._lock:
            if name:
                self._require(name)
            kept = [item for item in self._now.standing if name and item.name != name]
            self._now = self._now._replace(standing=tuple(kept))

    def attach(self, carried: CarriedObject) -> None:
        """
        Attach an object to a link, and remove objects of its name from the world.

        :param carried: the object, its link and its touch links.
        :raises ModelError: for an invalid name, pose or shape, no shape, or too many shapes or vertices in the world.
        """
        check_object(carried.object)
        with self._lock:
            self._exchange(self._now.carry([carried]), carried.object)

    def detach(self, name: str, link: str, place: Callable[[CarriedObject], FloatArray]) -> None:
        """
        Return carried objects to the world, where each replaces an object of the same name.

        :param name: name of one object; empty for all objects that ``link`` carries. Unknown names have no effect.
        :param link: the link that carries all of them, read only without a name; empty for any link.
        :param place: returns the pose (4, 4) of a carried object in the model frame.
        :raises ModelError: for a pose that is not finite or too far away; nothing changes then.
        """
        with self._lock:
            gone = [
                entry
                for entry in self._now.carried
                if name == entry.object.name or (not name and link in ('', entry.link))
            ]
            put_down = [dataclasses.replace(entry.object, pose=place(entry)) for entry in gone]
            for item in put_down:
                check_object(item)
            kept = tuple(entry for entry in self._now.carried if entry not in gone)
            names = {item.name for item in put_down}
            others = [item for item in self._now.standing if item.name not in names]
            self._now = Surroundings((*others, *put_down), kept)

    def _require(self, name: str) -> WorldObject:
        world_object = self._now.standing_named(name)
        if world_object is None:
            names = [item.name for item in self._now.standing]
            raise ModelError.unknown(f'There is no object {quote(name)}', name, names)
        return world_object

    def _replace(self, item: WorldObject) -> None:
        others = [other for other in self._now.standing if other.name != item.name]
        self._exchange(self._now._replace(standing=(*others, item)), item)

    def _exchange(self, now: Surroundings, item: WorldObject) -> None:
        """
        Make ``now`` the current objects; raise ModelError, which names ``item``, if they are too many.

        Counted are the vertices of all meshes, and all shapes, subframes and touch links together.
        """
        items = [*now.standing, *(entry.object for entry in now.carried)]
        parts = sum(len(entry.touch_links) for entry in now.carried)
        parts += sum(len(each.shapes) + len(each.subframes) for each in items)
        corners = (shape.vertices for each in items for shape in each.shapes)
        vertices = sum(len(points) for points in corners if points is not None)
        if parts > MOST_PARTS or vertices > MOST_VERTICES:
            raise ModelError(
                f'Object {quote(item.name)} does not fit: the world holds up to {MOST_PARTS} shapes, '
                f'subframes and touch links and {MOST_VERTICES} vertices. Remove objects first.',
                object=item.name,
            )
        self._now = now
