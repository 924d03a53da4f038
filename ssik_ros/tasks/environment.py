"""Environments: private worlds of objects, groups of elements in them, and every calculation on both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import os
from typing import Any, Literal, TYPE_CHECKING

from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, InvalidOption, ModelError, quote
from ssik_ros.kernels.tasks import handling
from ssik_ros.tasks import configuration_search, document, paths, scene_link
from ssik_ros.tasks.alternates import alternate_configs
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.duplicate import duplicate
from ssik_ros.tasks.element import Element
from ssik_ros.tasks.group import Group, GroupNotFound
from ssik_ros.tasks.handling import Callback, evaluate, handle_by_steps, not_performed, SolveResult
from ssik_ros.tasks.jacobian_callback import group_rows
from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.objects import Reference
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.paths import PathResult
from ssik_ros.tasks.plan import make_plan, Plan, Purpose
from ssik_ros.tasks.scene_link import SceneMaps
from ssik_ros.tasks.world import World

if TYPE_CHECKING:
    from ssik_ros.tasks.scene import Scene

Priority = Literal['strict', 'nested']
GroupReference = Group | str | int
RUN: Any = handling.run
MOST_PLANS = 64
"""Combinations of groups whose packed form is kept."""


class Environment(World):
    """
    A private world of dummies and joints, with groups of elements to be solved.

    Poses and joint values are cheap to change; any other change packs the structure anew at the next solve.
    """

    def __init__(self, name: str | None = None, priority: Priority = 'strict') -> None:
        """
        Start empty.

        :param name: shown in messages.
        :param priority: how several groups of one solve share the joints unless the call says otherwise. With
            ``strict`` a met group stays met, and the groups after it cost a group on its way at most half of what it
            gains in a step. ``nested`` is the original's formula.
        """
        super().__init__(name)
        self.priority: Priority = _priority(priority)
        self.scene_maps: dict[int, SceneMaps] = {}
        """Objects that came from scenes, by the identity of the scene."""
        self._plans: dict[Any, Plan] = {}
        self._next_group = 0

    @classmethod
    def from_scene(cls, scene: Scene, name: str | None = None) -> Environment:
        """
        Return an environment with everything that a scene has: joints as joints, other frames as dummies.

        :param scene: see :mod:`ssik_ros.tasks.scene`.
        """
        environment = cls(name)
        scene_link.copy_all(environment, scene)
        return environment

    def add_group(
        self, name: str | None = None, method: int | str | None = None, **settings: Any
    ) -> Group:
        """
        Add a group.

        :param name: free name; None for ``groupN``.
        :param method: a :class:`Method`, its number or its name; None for the pseudo-inverse.
        :param settings: attributes of the group, such as ``damping`` and ``max_iterations``.
        """
        self.find(None)
        number = 1
        while name is None and f'group{number}' in self.groups:
            number += 1
        name = f'group{number}' if name is None else name
        if not isinstance(name, str) or not name:
            raise ModelError(f'A group needs a name that is not empty, not {name!r}.')
        if name in self.groups:
            raise ModelError(f'Environment {quote(self.name)} already has a group {quote(name)}.')
        group = Group(self, name, self._next_group)
        if method is not None:
            settings['method'] = method
        for key, value in settings.items():
            if not isinstance(getattr(Group, key, None), property):
                known = [k for k, v in vars(Group).items() if isinstance(v, property) and v.fset]
                raise InvalidOption(f'{quote(key)} is no setting. ' + describe_choices(key, known))
            setattr(group, key, value)
        self._next_group += 1
        self.groups[name] = group
        self.changed()
        return group

    def group(self, reference: GroupReference) -> Group:
        """
        Return a group by itself, its name or its handle.

        :raises GroupNotFound: (a KeyError) when there is none.
        """
        self.find(None)
        for group in self.groups.values():
            if reference is group or reference == group.name or reference == group.handle:
                return group
        name = getattr(reference, 'name', reference)
        raise GroupNotFound(
            f'Environment {quote(self.name)} has no group {name!r}. '
            + describe_choices(str(name), self.groups),
            name=name,
            available=tuple(self.groups),
        )

    def plan(
        self, groups: tuple[Group, ...], *, nested: bool = False, purpose: Purpose = 'handling'
    ) -> Plan:
        """Return the packed form of some groups, made anew only after a change of structure."""
        key = (groups, nested, purpose)
        plan = self._plans.get(key)
        if plan is None or plan.version != self.version:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = make_plan(self, groups, nested=nested, purpose=purpose)
        return plan

    def solve(
        self,
        groups: Iterable[GroupReference] | None = None,
        *,
        max_iterations: int | None = None,
        priority: Priority | None = None,
        sync: Scene | None = None,
        allow_error: bool = False,
        debug: int = 0,
        callback: Callback | None = None,
    ) -> SolveResult:
        """
        Move the joints so that the tips of some groups meet their targets.

        :param groups: the first has the highest priority; None for all. Disabled ones are left out.
        :param max_iterations: most steps; None for the first group's.
        :param priority: None for the environment's.
        :param sync: scene to read before, and to write to after a success.
        :param allow_error: write to the scene without success too.
        :param debug: bit 0 leaves overlays of all elements in the result.
        :param callback: sees and may replace the rows, see :mod:`ssik_ros.tasks.jacobian_callback`.
        """
        if groups.__class__ is not tuple:
            groups = tuple(self.groups.values() if groups is None else groups)
        plan = self._plans.get(groups)
        if (
            plan is None
            or plan.version != self.version
            or priority is not None
            or sync is not None
        ):
            chosen = tuple(map(self.group, groups))
            if sync is not None:
                self.sync_from(sync, chosen)
            plan = self._plan_to_handle(chosen, _priority(priority or self.priority))
        if not plan.valid:
            return not_performed(plan, self)
        if callback is None and not plan.slaves:
            numbers = plan.numbers
            if max_iterations is not None:
                numbers = numbers.copy()
                numbers[handling.MAX_ITERATIONS] = max_iterations
            answer = RUN(plan.ints, plan.reals, plan.work, self.poses, self.values, numbers)
            if plan.functions:
                self.follow()
        else:
            limit = plan.groups[0].max_iterations if max_iterations is None else max_iterations
            answer = handle_by_steps(plan, self, limit, callback)
        result = SolveResult(plan, answer, plan.outcome.copy(), self.values.copy())
        for group in plan.groups:
            group._last = result
        if sync is not None and (result.success or allow_error):
            self.sync_to(sync, plan.groups)
        if debug & 1:
            elements = plan.elements
            return result.with_overlays(tuple(self.debug_overlay(e.tip, e.base) for e in elements))
        return result

    def _plan_to_handle(self, groups: tuple[Group, ...], priority: Priority) -> Plan:
        """Return the packed form of those groups that are enabled; kept for the next call of the same groups."""
        enabled = tuple(group for group in groups if group.enabled)
        plan = self.plan(enabled, nested=priority == 'nested')
        if priority == self.priority:
            self._plans[groups] = plan
        return plan

    def group_jacobian(
        self, group: GroupReference, *, exact: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return Jacobian and error of a group; see :meth:`Group.jacobian`."""
        chosen = (self.group(group),)
        plan = self.plan(chosen, purpose='rows')
        evaluate(plan, self, self.values.copy())
        jacobian, error = group_rows(plan, 0)
        error = error.copy()
        if not exact:
            plan = self.plan(chosen, purpose='geometry')
            evaluate(plan, self, self.values.copy())
            jacobian, _ = group_rows(plan, 0)
        return jacobian.copy(), error

    def jacobian(
        self,
        last_joint: Reference,
        tip_pose: ArrayLike,
        target_pose: ArrayLike | None = None,
        *,
        base: Reference = None,
        constraints: int = Constraint.POSE,
        constraint_base_pose: ArrayLike | None = None,
        exact: bool = True,
    ) -> tuple[FloatArray, FloatArray]:
        """
        Return Jacobian (m, n) and error (m,) of a chain.

        :param last_joint: the last joint of the chain, which carries the tip.
        :param tip_pose, target_pose: in the world; without a target the error is zero.
        :param base: where the chain begins; None for the world.
        :param constraint_base_pose: in whose axes positions are measured, in the world; None for the base.
        :param exact: as in :meth:`Group.jacobian`.
        """
        joint = self.joint(last_joint)
        above = self.find(base)
        own = self.copy()
        tip = own.add_dummy()
        tip.set_pose(tip_pose)
        tip.set_parent(joint.handle)
        element = own.add_group().add_element(
            tip, base=None if above is None else above.handle, constraints=constraints
        )
        for pose, what in ((target_pose, 'target'), (constraint_base_pose, 'constraint_base')):
            if pose is not None:
                dummy = own.add_dummy()
                dummy.set_pose(pose)
                setattr(element, what, dummy)
        return own.group_jacobian(element.group, exact=exact)

    def find_configs(
        self,
        group: GroupReference,
        joints: Sequence[Reference] | None = None,
        **options: Any,
    ) -> FloatArray:
        """
        Return configurations (k, n) in which all elements of a group are within precision, the nearest first.

        The environment stays as it is. See :class:`ssik_ros.tasks.configuration_search.SearchOptions` for the options.

        :param joints: whose values a configuration holds; None for the joints of the group.
        """
        return configuration_search.find_configs(
            self, self.group(group), self._joints(joints, group), options
        )

    def alternate_configs(
        self,
        joints: Sequence[Reference],
        low: Sequence[float] | None = None,
        ranges: Sequence[float] | None = None,
        *,
        max_configs: int | None = None,
    ) -> FloatArray:
        """
        Return all configurations (k, n) that differ from the current one by whole turns within limits.

        :param low, ranges: interval of each joint; range 0 for the joint's own, a negative one for a window of that
            width around the current value.
        :param max_configs: most rows.
        """
        chosen = [self.joint(item) for item in joints]
        return alternate_configs(self, chosen, self.values, low, ranges, max_configs)

    def generate_path(
        self,
        group: GroupReference,
        joints: Sequence[Reference] | None,
        tip: Reference,
        points: int,
        **options: Any,
    ) -> PathResult:
        """
        Return configurations that move a tip straight to its target; the environment stays as it is.

        :param points: configurations, the current one included; at least two.
        :param options: see :func:`ssik_ros.tasks.paths.generate_path`.
        """
        chosen = self._joints(joints, group)
        return paths.generate_path(
            self, self.group(group), chosen, self.dummy(tip), points, **options
        )

    def follow_path(
        self,
        group: GroupReference,
        joints: Sequence[Reference] | None,
        tip: Reference,
        poses: Sequence[ArrayLike] | FloatArray,
        **options: Any,
    ) -> PathResult:
        """
        Return configurations that move a tip through given poses; the environment stays as it is.

        :param options: see :func:`ssik_ros.tasks.paths.follow_path`.
        """
        chosen = self._joints(joints, group)
        return paths.follow_path(
            self, self.group(group), chosen, self.dummy(tip), poses, **options
        )

    def _joints(
        self, joints: Sequence[Reference] | None, group: GroupReference
    ) -> tuple[Joint, ...]:
        """Return the joints asked for, those of the group by default."""
        if joints is None:
            return self.group(group).joints
        return tuple(self.joint(item) for item in joints)

    def add_element_from_scene(
        self,
        group: GroupReference,
        scene: Scene,
        base: str | None,
        tip: str,
        target: str,
        constraints: int = Constraint.POSE,
    ) -> tuple[Element, SceneMaps]:
        """Copy a chain from a scene and add its element; see :meth:`Group.add_element_from_scene`."""
        return scene_link.add_element(
            self, self.group(group), scene, base, tip, target, constraints
        )

    def sync_from(self, scene: Scene, groups: Iterable[GroupReference] | None = None) -> None:
        """
        Take joint values, and the poses of targets relative to their bases, from a scene.

        :param groups: whose joints and targets; None for everything that came from the scene.
        """
        scene_link.sync_from(
            self, scene, None if groups is None else tuple(map(self.group, groups))
        )

    def sync_to(self, scene: Scene, groups: Iterable[GroupReference] | None = None) -> None:
        """
        Give joint values to a scene.

        :param groups: whose joints; None for everything that came from the scene.
        """
        scene_link.sync_to(self, scene, None if groups is None else tuple(map(self.group, groups)))

    def debug_overlay(self, tip: Reference, base: Reference = None, **options: Any) -> Overlay:
        """
        Return marker data that show a chain; see :mod:`ssik_ros.tasks.overlay`.

        :param base: where the chain begins; None for the world.
        """
        return Overlay(self, self.dummy(tip), self.find(base), **options)

    def save(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """
        Return the environment as a document, and write it to a file if asked.

        :raises ModelError: when functions cannot be saved, naming them.
        """
        return document.save(self, path)

    @classmethod
    def load(cls, source: bytes | str | os.PathLike[str]) -> Environment:
        """
        Return the environment of a document.

        :param source: the bytes of :meth:`save`, or the path of a file.
        :raises DocumentError: when the document is malformed, naming the item.
        """
        environment = cls()
        document.load(environment, source)
        return environment

    def copy(self) -> Environment:
        """Return an independent copy: objects with the same handles, groups, dependencies with their functions."""
        other = Environment(self.name, self.priority)
        duplicate(self, other)
        return other

    def close(self) -> None:
        """Drop everything; the environment cannot be used any more."""
        self.groups.clear()
        self._plans.clear()
        self.closed = True

    def __enter__(self) -> Environment:
        """Return the environment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the environment."""
        self.close()


def _priority(value: str) -> Priority:
    """Return a known priority."""
    if value == 'strict':
        return 'strict'
    if value == 'nested':
        return 'nested'
    raise InvalidOption(f"The priority is 'strict' or 'nested', not {quote(value)}.")
