"""
A wait set of rclpy that is built once and used for many waits.

rclpy builds its wait set anew for each wait, twice for each response: with the twenty services and topics of the
node this takes longer than the response itself. Here it is built after nodes change; between two waits only the
handles are added again.
"""

from collections.abc import Callable, Iterable
import contextlib
from typing import Any, NamedTuple

from rclpy.callback_groups import (
    CallbackGroup,
    MutuallyExclusiveCallbackGroup,
    ReentrantCallbackGroup,
)
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node

KINDS = ('timer', 'subscription', 'guard_condition', 'client', 'service')
"""Kinds of entities, in the order in which ready ones are run."""


class Ready(NamedTuple):
    """An entity of a node, such as a timer or service; a :class:`ReusedWaitSet` returns those that are ready to run."""

    kind: str
    """One of :data:`KINDS`, or 'waitable'."""
    entity: Any
    """The object of rclpy."""
    node: Node


class _Armed(NamedTuple):
    """One callback group, with its entities and the functions that add them to the wait set."""

    group: CallbackGroup
    entries: list[tuple[Any, Callable[[Any], Any], Any]]
    """(entity, function, argument): called with the argument, the function adds the entity to the wait set."""

    def arm(self) -> None:
        """Add the entities that may run now to the wait set: none if a mutually exclusive group runs a callback."""
        if isinstance(self.group, MutuallyExclusiveCallbackGroup):
            # The group decides alike for all of its entities.
            if not self.group.can_execute(self.entries[0][0]):
                return
        elif not isinstance(self.group, ReentrantCallbackGroup):
            for entity, add, handle in self.entries:
                if self.group.can_execute(entity):
                    add(handle)
            return
        for _, add, handle in self.entries:
            add(handle)


class ReusedWaitSet:
    """A wait set of rclpy for repeated waits on the entities that nodes have when it is made; one thread at a time."""

    def __init__(self, nodes: Iterable[Node], guards: Iterable[Any], context: Context) -> None:
        """
        Gather all entities of the nodes; their handles are kept alive until :meth:`close`.

        :param nodes: the nodes.
        :param guards: guard conditions that end a wait without being returned.
        :param context: ROS context of all of them.
        """
        self._held = contextlib.ExitStack()
        self._entities: dict[str, dict[int, Ready]] = {kind: {} for kind in KINDS}
        self._waitables: list[Ready] = []
        self._handed: list[Ready] = []
        """The waitables of the present wait, without those in busy groups."""
        self._guards = list(guards)
        try:
            self._fill(list(nodes), context)
        except BaseException:
            self._held.close()
            raise

    def _fill(self, nodes: list[Node], context: Context) -> None:
        for node in nodes:
            self._gather('timer', node.timers, node)
            self._gather('subscription', node.subscriptions, node)
            self._gather('guard_condition', node.guards, node)
            self._gather('client', node.clients, node)
            self._gather('service', node.services, node)
            for waitable in node.waitables:
                if self._hold(waitable):
                    self._waitables.append(Ready('waitable', waitable, node))
        self._guards = [guard for guard in self._guards if self._hold(guard.handle)]
        self._held.enter_context(context.handle)
        counts = {kind: len(entities) for kind, entities in self._entities.items()}
        counts['guard_condition'] += len(self._guards)
        order = ('subscription', 'guard_condition', 'timer', 'client', 'service')
        sizes = [counts[kind] for kind in order] + [0]
        for ready in self._waitables:
            n = ready.entity.get_num_entities()
            parts = [n.num_subscriptions, n.num_guard_conditions, n.num_timers]
            parts += [n.num_clients, n.num_services, n.num_events]
            sizes = [size + part for size, part in zip(sizes, parts, strict=True)]
        make: Any = rclpy_implementation.WaitSet
        self._set: Any = make(*sizes, context.handle)
        self._armed = self._by_group()

    def _gather(self, kind: str, entities: Iterable[Any], node: Node) -> None:
        for entity in entities:
            if self._hold(entity.handle):
                self._entities[kind][entity.handle.pointer] = Ready(kind, entity, node)

    def _hold(self, handle: Any) -> bool:
        """Keep a handle alive until :meth:`close`; return false if it is already destroyed."""
        try:
            self._held.enter_context(handle)
        except rclpy_implementation.InvalidHandle:
            return False
        return True

    def _by_group(self) -> list[_Armed]:
        """
        Return the entities of all nodes by callback group: timers, services, subscriptions and so on.

        Each comes with its handle and the function that adds the handle to the wait set.
        """
        groups: dict[int, _Armed] = {}
        for kind, entities in self._entities.items():
            add = getattr(self._set, f'add_{kind}')
            for ready in entities.values():
                self._enlist(groups, ready.entity, add, ready.entity.handle)
        for ready in self._waitables:
            self._enlist(groups, ready.entity, self._hand_over, ready)
        return list(groups.values())

    def _hand_over(self, ready: Ready) -> None:
        ready.entity.add_to_wait_set(self._set)
        self._handed.append(ready)

    @staticmethod
    def _enlist(
        groups: dict[int, _Armed], entity: Any, add: Callable[[Any], Any], handle: Any
    ) -> None:
        group = entity.callback_group
        groups.setdefault(id(group), _Armed(group, [])).entries.append((entity, add, handle))

    @property
    def services(self) -> list[Ready]:
        """Return all services, ready or not."""
        return list(self._entities['service'].values())

    def wait(self, *, blocks: bool = True) -> list[Ready]:
        """
        Wait until entities are ready, and return them, except for waitables, which :meth:`rest` returns.

        The list may be empty, because guard conditions end the wait and are not returned.

        :param blocks: false to return at once, perhaps without an entity.
        """
        self._set.clear_entities()
        self._handed.clear()
        for armed in self._armed:
            armed.arm()
        for guard in self._guards:
            self._set.add_guard_condition(guard.handle)
        self._set.wait(-1 if blocks else 0)
        ready: list[Ready] = []
        for kind, entities in self._entities.items():
            if entities:
                pointers = self._set.get_ready_entities(kind)
                ready += [entities[pointer] for pointer in pointers if pointer in entities]
        return ready

    def rest(self) -> list[Ready]:
        """
        Return the waitables that were ready at the end of the last wait; a second call returns an empty list.

        There are many waitables, and each takes a check of its own. :meth:`wait` does not check them, so that responses
        do not have to wait.
        """
        ready = [waiting for waiting in self._handed if waiting.entity.is_ready(self._set)]
        self._handed.clear()
        return ready

    def close(self) -> None:
        """Release all handles."""
        self._held.close()
