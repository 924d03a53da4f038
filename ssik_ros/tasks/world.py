"""The objects of an environment: names and handles, local poses in one table, joint values in one vector."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import (
    counted,
    DimensionMismatch,
    FrameNotFound,
    InvalidOption,
    ModelError,
    quote,
    RequestError,
)
from ssik_ros.kernels.tasks import packing, task_rows
from ssik_ros.tasks.constants import JointType, WORLD
from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.objects import Dummy, IkObject, Reference
from ssik_ros.tasks.pose_formats import IDENTITY, read_pose, read_quaternion

if TYPE_CHECKING:
    from ssik_ros.tasks.task_set import TaskSet

Item = TypeVar('Item', bound=IkObject)

KIND_NAMES = {
    'revolute': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'spherical': JointType.SPHERICAL,
}


class EnvironmentClosed(RequestError, RuntimeError):
    """The environment was closed; nothing can be done with it any more."""


class World:
    """Dummies and joints by name and handle; the base of :class:`~ssik_ros.tasks.environment.Environment`."""

    def __init__(self, name: str | None = None) -> None:
        """
        Start empty.

        :param name: shown in messages.
        """
        self.name = name or 'environment'
        self.handle = WORLD
        """Number under which a registry knows the environment; -1 for none."""
        self.version = 0
        """Grows with every change of structure or of a setting; poses and joint values are no structure."""
        self.poses: FloatArray = np.empty((0, 12))
        self.values: FloatArray = np.empty(0)
        self.slots: list[IkObject] = []
        self.task_sets: dict[str, TaskSet] = {}
        self.closed = False
        self._by_name: dict[str, IkObject] = {}
        self._by_handle: dict[int, IkObject] = {}
        self._next_handle = 0
        self._tables: tuple[int, IntArray, FloatArray] = (
            -1,
            np.empty((0, 2), np.int64),
            np.empty(0),
        )
        self._dependents: tuple[int, tuple[Joint, ...], frozenset[int]] = (-1, (), frozenset())

    def __repr__(self) -> str:
        """Return the name and what is inside."""
        return f'<{type(self).__name__} {self.name!r}: {counted(len(self.slots), "object")}, {counted(len(self.task_sets), "task set")}>'

    def __contains__(self, name: object) -> bool:
        """Return whether an object of this name exists."""
        return name in self._by_name

    def __getitem__(self, name: str | int) -> IkObject:
        """
        Return an object by its name or handle.

        :raises FrameNotFound: (a KeyError) with the nearest name.
        """
        found = self.find(name)
        if found is None:
            raise FrameNotFound('The world is no object.', name=name)
        return found

    def find(self, reference: Reference) -> IkObject | None:
        """
        Return what a reference means; None for the world.

        :param reference: an object of this environment, its name or its handle; None or -1 for the world.
        :raises FrameNotFound: (a KeyError) when there is no such object here.
        """
        if self.closed:
            raise EnvironmentClosed(f'Environment {quote(self.name)} is closed.')
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
        if reference == WORLD:
            return None
        if reference not in self._by_handle:
            raise FrameNotFound(
                f'Environment {quote(self.name)} has no object with the handle {reference}.',
                name=reference,
                available=tuple(self._by_handle),
            )
        return self._by_handle[reference]

    def joint(self, reference: Reference) -> Joint:
        """Return a joint; a KeyError when there is none, an InvalidOption when the object is no joint."""
        found = self.find(reference)
        if not isinstance(found, Joint):
            raise InvalidOption(f'{quote(getattr(found, "name", "world"))} is not a joint.')
        return found

    def dummy(self, reference: Reference) -> Dummy:
        """Return a dummy; a KeyError when there is none, an InvalidOption when the object is no dummy."""
        found = self.find(reference)
        if not isinstance(found, Dummy):
            raise InvalidOption(f'{quote(getattr(found, "name", "world"))} is not a dummy.')
        return found

    @property
    def objects(self) -> dict[str, IkObject]:
        """Return all objects by name, in the order in which they were made."""
        return dict(self._by_name)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Return all joints, in the order in which they were made."""
        return tuple(item for item in self.slots if isinstance(item, Joint))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of all joints, in the order of ``q``."""
        return tuple(joint.name for joint in self.joints)

    @property
    def q(self) -> FloatArray:
        """
        Return or set the values of all joints, a copy of the one vector that holds them.

        Spherical joints have four numbers, a quaternion. Setting wraps, clamps and normalises like the joints' own
        setters; the numbers given for dependent joints are replaced.
        """
        return self.values.copy()

    @q.setter
    def q(self, value: ArrayLike) -> None:
        array = np.array(value, dtype=float)
        if array.shape != self.values.shape or not np.isfinite(array).all():
            raise DimensionMismatch(
                f'The joints have {counted(len(self.values), "value")}, finite ones; these have the shape {array.shape}: '
                f'{array}.',
                expected=self.values.shape,
                actual=array.shape,
            )
        for joint in self.joints:
            at = joint.place_in_values
            if joint.kind == JointType.SPHERICAL:
                array[at : at + 4] = read_quaternion(array[at : at + 4], joint.name)
            else:
                array[at] = joint.bring_inside(float(array[at]))
        self.values[:] = array
        self.follow()

    def changed(self) -> None:
        """Note that the structure, or a setting, is another one now."""
        self.version += 1

    def new_name(self, name: str | None, stem: str) -> str:
        """Return a name that is free, or refuse one that is not."""
        if self.closed:
            raise EnvironmentClosed(f'Environment {quote(self.name)} is closed.')
        if name is None:
            number = 1
            while f'{stem}{number}' in self._by_name:
                number += 1
            return f'{stem}{number}'
        if not isinstance(name, str) or not name:
            raise ModelError(f'An object needs a name that is not empty, not {name!r}.')
        if name in self._by_name:
            raise ModelError(
                f'Environment {quote(self.name)} already has an object {quote(name)}.'
            )
        return name

    def add_dummy(
        self, name: str | None = None, parent: Reference = None, pose: ArrayLike | None = None
    ) -> Dummy:
        """
        Add a plain frame.

        :param name: free name; None for ``dummyN``.
        :param parent: what carries it; None for the world.
        :param pose: relative to the parent; None for identity.
        """
        name = self.new_name(name, 'dummy')
        above = self.find(parent)
        local = _local_pose(pose, name)
        return self._register(Dummy(self, name, self._next_handle, len(self.slots)), above, local)

    def add_joint(
        self,
        kind: str | int,
        name: str | None = None,
        parent: Reference = None,
        pose: ArrayLike | None = None,
        *,
        limits: tuple[float, float] | None = None,
        position: float | None = None,
        screw_lead: float = 0.0,
    ) -> Joint:
        """
        Add a joint; its axis is the z axis of its pose.

        :param kind: ``revolute``, ``prismatic`` or ``spherical``, or a :class:`JointType`.
        :param name: free name; None for ``jointN``.
        :param parent: what carries it; None for the world.
        :param pose: relative to the parent, without the joint's own motion; None for identity.
        :param limits: lower and upper limit; None leaves a revolute joint cyclic.
        """
        type_ = read_joint_type(kind)
        name = self.new_name(name, 'joint')
        above = self.find(parent)
        local = _local_pose(pose, name)
        joint = Joint(self, name, self._next_handle, len(self.slots), type_, len(self.values))
        rest = [0.0, 0.0, 0.0, 1.0] if type_ == JointType.SPHERICAL else [0.0]
        self.values = np.concatenate([self.values, rest])
        self._register(joint, above, local)
        try:
            if screw_lead != 0.0:
                joint.screw_lead = screw_lead
            if limits is not None:
                joint.limits = limits
            if position is not None:
                joint.position = position
        except Exception:
            self.erase(joint)
            raise
        return joint

    def _register(self, item: Item, parent: IkObject | None, local: FloatArray) -> Item:
        """Give a new object its row and its handle."""
        item._parent = parent
        self.poses = np.vstack([self.poses, local])
        self.slots.append(item)
        self._by_name[item.name] = item
        self._by_handle[item.handle] = item
        self._next_handle = max(self._next_handle, item.handle + 1)
        self.changed()
        return item

    def slot_tables(self) -> tuple[IntArray, FloatArray]:
        """Return kind and place of the value (S, 2), and the lead (S,) of every slot, for the kernels."""
        if self._tables[0] != self.version:
            ints = np.full((len(self.slots), packing.SLOT_INTS), packing.DUMMY, dtype=np.int64)
            reals = np.zeros(len(self.slots))
            for joint in self.joints:
                ints[joint.slot] = joint.node_kind, joint.place_in_values
                reals[joint.slot] = joint.node_lead
            self._tables = (self.version, ints, reals)
        return self._tables[1], self._tables[2]

    def world_pose(self, item: IkObject, moved: bool) -> FloatArray:
        """
        Return the pose of an object in the world.

        :param moved: whether a joint's own motion is included.
        """
        run = np.array([above.slot for above in item.ancestors()][::-1], dtype=np.int64)
        out, spare = np.empty(12), np.empty(12)
        task_rows.fold(out, run, *self.slot_tables(), self.poses, self.values, moved, spare)
        return out

    def _dependent_joints(self) -> tuple[tuple[Joint, ...], frozenset[int]]:
        """Return dependent joints, masters first, and the slots of joints whose full turns move another one."""
        if self._dependents[0] != self.version:
            ordered: list[Joint] = []
            geared: set[int] = set()
            waiting = [joint for joint in self.joints if joint.dependency is not None]
            while waiting:
                masters = {id(joint) for joint in waiting}
                ready = [j for j in waiting if id(j.dependency.master) not in masters]  # type: ignore[union-attr]
                ordered += ready
                waiting = [joint for joint in waiting if joint not in ready]
            for joint in ordered:
                item = joint
                while item.dependency is not None:
                    rule = item.dependency
                    whole = rule.function is None and rule.multiplier == round(rule.multiplier)
                    if not (
                        whole and joint.kind == JointType.REVOLUTE and joint.screw_lead == 0.0
                    ):
                        geared.add(joint.driver().slot)
                    item = rule.master
            self._dependents = (self.version, tuple(ordered), frozenset(geared))
        return self._dependents[1], self._dependents[2]

    def dependent_joints(self) -> tuple[Joint, ...]:
        """Return the joints that depend on others, masters first."""
        return self._dependent_joints()[0]

    def wraps(self, joint: Joint) -> bool:
        """Return whether a full turn of a joint moves nothing, its dependent joints included."""
        return joint.slot not in self._dependent_joints()[1]

    def follow(self, values: FloatArray | None = None) -> None:
        """
        Write the values of dependent joints.

        :param values: a vector like ``q``; None for the environment's own.
        """
        vector = self.values if values is None else values
        results: list[tuple[int, float]] = []
        known: dict[int, float] = {}
        for joint in self.dependent_joints():
            rule = joint.dependency
            assert rule is not None
            master = rule.master.place_in_values
            value = rule.value(joint, known.get(master, float(vector[master])))
            known[joint.place_in_values] = value
            results.append((joint.place_in_values, value))
        # All at once: a function that raises leaves everything as it was.
        for place, value in results:
            vector[place] = value

    def erase(self, reference: Reference) -> None:
        """
        Take an object out; see :meth:`IkObject.erase`.

        :param reference: the object, its name or its handle.
        """
        item = self.find(reference)
        if item is None:
            raise InvalidOption('The world cannot be erased.')
        gone: IkObject = item
        for child in gone.children:
            child.set_parent(gone.parent, keep_in_place=True)
        for other in self.slots:
            if isinstance(other, Dummy) and other._target is item:
                other._target = None
            rule = other._dependency if isinstance(other, Joint) else None
            if isinstance(other, Joint) and rule is not None and rule.master is item:
                other._dependency = None
        for task_set in tuple(self.task_sets.values()):
            task_set.forget(gone)
        self._remove(gone)

    def _remove(self, item: IkObject) -> None:
        """Close the gap that an object leaves in the tables."""
        self.poses = np.delete(self.poses, item.slot, axis=0)
        self.slots.remove(item)
        del self._by_name[item.name], self._by_handle[item.handle]
        for slot, other in enumerate(self.slots):
            other.slot = slot
        if isinstance(item, Joint):
            gone = range(item.place_in_values, item.place_in_values + item.size)
            self.values = np.delete(self.values, list(gone))
            for joint in self.joints:
                if joint.place_in_values > item.place_in_values:
                    joint.place_in_values -= item.size
        self.changed()
        # A joint that was freed now has limits of its own.
        self.q = self.values


def read_joint_type(kind: str | int) -> JointType:
    """Return the joint type of a name or a number."""
    if isinstance(kind, str):
        if kind not in KIND_NAMES:
            raise InvalidOption.unknown(f'{quote(kind)} is no joint type', kind, KIND_NAMES)
        return KIND_NAMES[kind]
    try:
        return JointType(kind)
    except ValueError:
        choices = {int(item): item.name.lower() for item in JointType}
        raise InvalidOption(f'{kind} is no joint type; there are {choices}.') from None


def _local_pose(pose: ArrayLike | None, name: str) -> FloatArray:
    """Return a local pose, identity for none."""
    return np.array(IDENTITY) if pose is None else read_pose(pose, f'pose of {quote(name)}')


def turn_difference(a: float, b: float) -> float:
    """Return the shortest turn from an angle to another [rad]."""
    return math.remainder(b - a, 2.0 * math.pi)


def check_unique(items: Sequence[object], what: str) -> None:
    """Refuse lists in which something stands twice."""
    if len(set(map(id, items))) != len(items):
        raise InvalidOption(f'{what} are named twice: {list(items)}.')
