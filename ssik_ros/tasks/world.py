"""Base of environments: dummies (plain frames), joints and task sets by name and handle; made, copied and erased here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
import copy
from dataclasses import replace
from typing import Any, cast, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import as_integer, check_kind, read_numbers, shown
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import (
    counted,
    DimensionMismatch,
    InvalidOption,
    ModelError,
    quote,
)
from ssik_ros.kernels.tasks import packing, task_rows
from ssik_ros.tasks.constants import JointType, read_member
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Dummy, IkObject, ObjectTable, Reference, write_settings
from ssik_ros.tasks.pose_formats import IDENTITY, read_pose, read_quaternion
from ssik_ros.tasks.scene import SceneMaps
from ssik_ros.tasks.task_set import TaskSetData, TaskSetNotFound

Item = TypeVar('Item', bound=IkObject)
Member = TypeVar('Member', bound=TaskSetData)
TaskSetReference = TaskSetData | str | int
Priority = Literal['strict', 'nested']

KIND_NAMES = {kind.name.lower(): kind for kind in JointType}
LAST = ('limits', 'position')
"""Settings of a new joint that come after all others: a lead changes the limits, and a position is brought inside them."""


class World(ObjectTable, Generic[Member]):
    """Base of :class:`~ssik_ros.tasks.environment.Environment`: a table of dummies, joints and task sets, without any solving."""

    def __init__(self, name: str | None = None, priority: Priority = 'strict') -> None:
        """
        Make an empty world.

        :param name: shown in messages.
        :param priority: how task sets that are solved together share the joints, unless the call says otherwise. With
            ``strict``, a task set that is met to 1e-8 m and rad stays met. Another one loses at most half of a step's
            progress to the task sets after it. ``nested`` projects each task set onto the null space of the ones before
            it, by the formula of CoppeliaSim's simIK.
        :raises InvalidOption: for another priority, or a name that is not a text.
        """
        if name is not None:
            check_kind('name', name, str, 'a text')
        super().__init__(name)
        self.priority: Priority = read_priority(priority)
        self.scene_maps: dict[int, SceneMaps] = {}
        """Objects that came from scenes, by the identity of the scene."""
        self.task_sets: dict[str, Member] = {}
        self.plans: dict[Any, Any] = {}
        """Packed task sets, kept by :func:`ssik_ros.tasks.plan.plan_of`."""
        self._next_handle = 0
        self._next_task_set = 0
        self._tables: tuple[IntArray, FloatArray] | None = None
        self._dependents: tuple[tuple[IkJoint, ...], frozenset[int]] | None = None

    @abstractmethod
    def make_task_set(self, name: str, handle: int) -> Member:
        """Return a new, empty task set for this world; it is not in ``task_sets`` yet."""

    def __repr__(self) -> str:
        """Return the name and the numbers of objects and task sets."""
        return f'<{type(self).__name__} {self.name!r}: {counted(len(self.slots), "object")}, {counted(len(self.task_sets), "task set")}>'

    def joint(self, reference: Reference) -> IkJoint:
        """
        Return a joint by itself, its name or its handle.

        :raises FrameNotFound: (a KeyError) if the world does not have the object.
        :raises InvalidOption: if the object is a dummy or the world itself.
        """
        match = self.find(reference)
        if not isinstance(match, IkJoint):
            raise InvalidOption(f'{quote(getattr(match, "name", "world"))} is not a joint.')
        return match

    @property
    def joints(self) -> tuple[IkJoint, ...]:
        """Return all joints, in the order in which they were made."""
        return tuple(item for item in self.slots if isinstance(item, IkJoint))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of all joints, in the order of ``q``."""
        return tuple(joint.name for joint in self.joints)

    @property
    def q(self) -> FloatArray:
        """
        Return a copy of the values of all joints (nq,) [rad or m], or set them.

        A spherical joint has four numbers, a quaternion x, y, z, w. New values are wrapped, clamped into the limits, or
        normalised. The values of joints that follow other joints are computed anew.

        :raises DimensionMismatch: for another number of values, or values that are not finite.
        :raises InvalidTarget: for a zero quaternion.
        """
        return self.values.copy()

    @q.setter
    def q(self, value: ArrayLike) -> None:
        array = read_numbers('q', value)
        if array.shape != self.values.shape or not np.isfinite(array).all():
            raise DimensionMismatch(
                f'q has {counted(len(self.values), "value")}, finite ones; these have the shape {array.shape}: '
                f'{shown(array)}.',
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

    def _new_name(self, name: str | None, stem: str, what: str, taken: Mapping[str, Any]) -> str:
        """
        Return a name for a new object or task set after a check that it is free.

        :param name: the wanted name; None for ``stem`` and the smallest free number.
        :param what: "an object" or "a task set", for messages.
        :param taken: the names in use, as keys.
        :raises ModelError: if the name is empty or taken.
        """
        self.require_open()
        if name is None:
            number = 1
            while f'{stem}{number}' in taken:
                number += 1
            return f'{stem}{number}'
        if not isinstance(name, str) or not name:
            raise ModelError(
                f'{what.capitalize()} needs a name that is not empty, not {shown(name)}.'
            )
        if name in taken:
            raise ModelError(f'Environment {quote(self.name)} already has {what} {quote(name)}.')
        return name

    def add_dummy(
        self, name: str | None = None, parent: Reference = None, pose: ArrayLike | None = None
    ) -> Dummy:
        """
        Add a dummy, a plain frame, and return it.

        :param name: a name that no object has; None for ``dummy1``, ``dummy2`` and so on.
        :param parent: the object that carries the frame; None for the world.
        :param pose: relative to the parent; None for the identity.
        :raises ModelError: if the name is empty or taken, or the parent is unknown.
        :raises ValueError, TypeError: if the pose is malformed.
        """
        name = self._new_name(name, 'dummy', 'an object', self._by_name)
        above = self.find(parent)
        local = _local_pose(pose, name)
        return self._register(Dummy(self, name, self._next_handle, len(self.slots)), above, local)

    def add_joint(
        self,
        kind: str | int,
        name: str | None = None,
        parent: Reference = None,
        pose: ArrayLike | None = None,
        **settings: Any,
    ) -> IkJoint:
        """
        Add a joint and return it; the joint moves about or along the z axis of its pose.

        :param kind: ``revolute``, ``prismatic`` or ``spherical``, or a :class:`JointType`.
        :param name: a name that no object has; None for ``joint1``, ``joint2`` and so on.
        :param parent: the object that carries the joint; None for the world.
        :param pose: frame of the joint at the value zero, relative to the parent; None for the identity.
        :param settings: attributes of the joint, such as ``limits`` and ``screw_lead``; None for the default. A
            revolute joint without ``limits`` and ``screw_lead`` turns without limits.
        :raises ModelError: if the name is empty or taken, or the parent is unknown.
        :raises ValueError, TypeError: for an unknown kind or setting, and a malformed pose or value; no joint is added.
        """
        type_ = read_member(JointType, kind, 'joint type', KIND_NAMES)
        name = self._new_name(name, 'joint', 'an object', self._by_name)
        above = self.find(parent)
        local = _local_pose(pose, name)
        joint = IkJoint(self, name, self._next_handle, len(self.slots), type_, len(self.values))
        rest = [0.0, 0.0, 0.0, 1.0] if type_ == JointType.SPHERICAL else [0.0]
        self.values = np.concatenate([self.values, rest])
        self._register(joint, above, local)
        last = {key: settings.pop(key, None) for key in LAST}
        try:
            for chosen in (settings, last):
                write_settings(joint, {k: v for k, v in chosen.items() if v is not None})
        except Exception:
            self.erase(joint)
            raise
        return joint

    def add_task_set(
        self, name: str | None = None, method: int | str | None = None, **settings: Any
    ) -> Member:
        """
        Add an empty task set and return it.

        :param name: a name that no task set has; None for ``task set1``, ``task set2`` and so on.
        :param method: a :class:`Method`, its number or its name; None for the pseudo-inverse.
        :param settings: attributes of the task set, such as ``damping`` and ``max_iterations``.
        :raises ModelError: if the name is empty or taken.
        :raises InvalidOption: for an unknown or wrong setting.
        """
        name = self._new_name(name, 'task set', 'a task set', self.task_sets)
        task_set = self.make_task_set(name, self._next_task_set)
        if method is not None:
            settings['method'] = method
        write_settings(task_set, settings)
        self._next_task_set += 1
        self.task_sets[name] = task_set
        self.changed()
        return task_set

    def task_set(self, reference: TaskSetReference) -> Member:
        """
        Return a task set by itself, its name or its handle.

        :raises TaskSetNotFound: (a KeyError) if the environment does not have the task set.
        """
        self.require_open()
        key = reference if isinstance(reference, str) else as_integer(reference)
        for task_set in self.task_sets.values():
            is_named = key is not None and key in (task_set.name, task_set.handle)
            if is_named or reference is task_set:
                return task_set
        name = shown(getattr(reference, 'name', reference))
        raise TaskSetNotFound.unknown(
            f'Environment {quote(self.name)} has no task set {name}', name, self.task_sets
        )

    def _register(self, item: Item, parent: IkObject | None, local: FloatArray) -> Item:
        """
        Store a new object in the tables of poses, names and handles, and return it.

        :param parent: the object that carries it; None for the world.
        :param local: (12,) pose relative to the parent.
        """
        item._parent = parent
        self.poses = np.vstack([self.poses, local])
        self.slots.append(item)
        self._by_name[item.name] = item
        self._by_handle[item.handle] = item
        self._next_handle = max(self._next_handle, item.handle + 1)
        self.changed()
        return item

    def changed(self) -> None:
        """Note a change of structure or of a setting: increase ``version``, and forget tables of the objects."""
        super().changed()
        self._tables = self._dependents = None

    def slot_tables(self) -> tuple[IntArray, FloatArray]:
        """
        Return two tables about all S objects, which kernels read.

        The first (S, 2) has the kind of the joint and the index of its value; both are ``packing.DUMMY`` for a dummy.
        The second (S,) has the translation of the joint along z per unit of its value [m/rad or 1].
        """
        if self._tables is None:
            ints = np.full((len(self.slots), packing.SLOT_INTS), packing.DUMMY, dtype=np.int64)
            reals = np.zeros(len(self.slots))
            for joint in self.joints:
                ints[joint.slot] = joint.node_kind, joint.place_in_values
                reals[joint.slot] = joint.node_lead
            self._tables = ints, reals
        return self._tables

    def world_pose(self, item: IkObject, moved: bool) -> FloatArray:
        """
        Return the pose (12,) of an object in the world: rotation matrix row by row, then translation [m].

        :param moved: True for the frame that a joint moves, False for the joint's frame at the value zero.
        """
        run = np.array([above.slot for above in item.line()], dtype=np.int64)
        out, spare = np.empty(12), np.empty(12)
        task_rows.fold(out, run, *self.slot_tables(), self.poses, self.values, moved, spare)
        return out

    def _dependent_joints(self) -> tuple[tuple[IkJoint, ...], frozenset[int]]:
        """
        Return the joints that follow other joints, each after its master, and a set of pose indices (slots).

        The set has the independent joints for which :meth:`wraps` is False.
        """
        if self._dependents is None:
            ordered: list[IkJoint] = []
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
            self._dependents = tuple(ordered), frozenset(geared)
        return self._dependents

    def dependent_joints(self) -> tuple[IkJoint, ...]:
        """Return the joints that follow other joints, each after its master."""
        return self._dependent_joints()[0]

    def wraps(self, item: IkObject) -> bool:
        """
        Return whether a whole turn of a joint turns all joints that depend on it by whole turns, too.

        False if one of these joints is not a plain revolute joint, turns by a fraction of a turn or follows a user
        function.

        :param item: a joint that follows no other joint; for others the result is True without a check.
        """
        return item.slot not in self._dependent_joints()[1]

    def follow(self, values: FloatArray | None = None) -> None:
        """
        Set the joints that depend on other joints to the values that their dependencies give, in place.

        If a user function raises, no value changes.

        :param values: (nq,) joint values to change, in the order of ``q``; None for the values of the world.
        """
        vector = self.values if values is None else values
        results: list[tuple[int, float]] = []
        new_values: dict[int, float] = {}
        for joint in self.dependent_joints():
            rule = joint.dependency
            assert rule is not None
            master = rule.master.place_in_values
            value = rule.value(joint, new_values.get(master, float(vector[master])))
            new_values[joint.place_in_values] = value
            results.append((joint.place_in_values, value))
        # All at once: a function that raises leaves everything as it was.
        for place, value in results:
            vector[place] = value

    def erase(self, reference: Reference) -> None:
        """
        Remove an object from the world, with the tasks that have it as tip, base or constraint base.

        Its children move to its parent, and joints that depend on it become independent, as for :meth:`IkObject.erase`.

        :param reference: the object, its name or its handle.
        :raises FrameNotFound: (a KeyError) if the world does not have the object.
        :raises InvalidOption: for the world itself.
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
            rule = other._dependency if isinstance(other, IkJoint) else None
            if isinstance(other, IkJoint) and rule is not None and rule.master is item:
                other._dependency = None
        for name, task_set in tuple(self.task_sets.items()):
            if task_set.tasks:
                task_set.forget(gone)
                if not task_set.tasks:
                    del self.task_sets[name]
        self._remove(gone)

    def _remove(self, item: IkObject) -> None:
        """
        Remove an object from all tables.

        The pose indices (slots) of objects and the value indices of joints after it become smaller. Handles stay.
        Values are brought inside the limits.
        """
        self.poses = np.delete(self.poses, item.slot, axis=0)
        self.slots.remove(item)
        del self._by_name[item.name], self._by_handle[item.handle]
        for slot, other in enumerate(self.slots):
            other.slot = slot
        if isinstance(item, IkJoint):
            gone = range(item.place_in_values, item.place_in_values + item.size)
            self.values = np.delete(self.values, list(gone))
            for joint in self.joints:
                if joint.place_in_values > item.place_in_values:
                    joint.place_in_values -= item.size
        self.changed()
        # A joint that was freed now has limits of its own.
        self.q = self.values

    def copy_to(self, other: World[Member]) -> None:
        """
        Fill the empty world ``other`` with copies of all objects and task sets; they keep their handles.

        User functions of dependent joints, and scenes, are shared and not copied.

        :raises EnvironmentClosed: if this world was closed.
        """
        self.require_open()
        other.poses, other.values = self.poses.copy(), self.values.copy()
        twins: dict[IkObject, IkObject] = {}
        for item in self.slots:
            twin = copy.copy(item)
            twin.world = other
            twins[item] = twin
            other.slots.append(twin)
            other._by_name[twin.name] = twin
            other._by_handle[twin.handle] = twin
        other._next_handle = self._next_handle
        for item, twin in twins.items():
            twin._parent = None if item._parent is None else twins[item._parent]
            if isinstance(item, Dummy) and item._target is not None:
                twin._target = twins[item._target]  # type: ignore[attr-defined]
            if isinstance(item, IkJoint) and item._dependency is not None:
                master: Any = twins[item._dependency.master]
                twin._dependency = replace(item._dependency, master=master)  # type: ignore[attr-defined]
        for name, task_set in self.task_sets.items():
            other.task_sets[name] = _copy_task_set(task_set, other, twins)
        other._next_task_set = self._next_task_set
        other.scene_maps = {key: maps.copy() for key, maps in self.scene_maps.items()}
        other.changed()


TaskWorld = World[Any]
"""A world, whatever its task sets can do."""


def _copy_task_set(
    task_set: Member, other: ObjectTable, twins: Mapping[IkObject, IkObject]
) -> Member:
    """
    Return a copy of a task set and its tasks for another world.

    :param twins: the copy of each object in the other world.
    """
    twin = copy.copy(task_set)
    twin.world = other
    twin.tasks = []
    for task in task_set.tasks:
        task_twin = copy.copy(task)
        task_twin.task_set = twin
        task_twin.tip = other.dummy(twins[task.tip])
        task_twin.base = None if task.base is None else twins[task.base]
        below = task.constraint_base
        task_twin.constraint_base = None if below is None else twins[below]
        twin.tasks.append(task_twin)
    return twin


def read_priority(value: str) -> Priority:
    """Return ``strict`` or ``nested``; raise InvalidOption for any other value."""
    if isinstance(value, str) and value in ('strict', 'nested'):
        return cast(Priority, value)
    raise InvalidOption(f"The priority is 'strict' or 'nested', not {shown(value)}.")


def _local_pose(pose: ArrayLike | None, name: str) -> FloatArray:
    """
    Return the pose of an object in its parent as a new array (12,): rotation matrix row by row, then translation [m].

    :param pose: any form that :func:`read_pose` takes; None for the identity.
    :param name: the object's name, for messages.
    :raises TypeError, ValueError: if ``pose`` has no form of a pose.
    :raises InvalidTarget: if the pose is not a finite rigid transform.
    """
    return np.array(IDENTITY) if pose is None else read_pose(pose, f'pose of {quote(name)}')
