"""Environments: private worlds of objects, task sets of tasks in them, and every calculation on both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import os
from typing import Any, Literal, TYPE_CHECKING

from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, ModelError, quote
from ssik_ros.kernels.tasks import handling
from ssik_ros.tasks import configuration_search, document, paths, scene_link
from ssik_ros.tasks.alternates import alternate_configs
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.duplicate import duplicate
from ssik_ros.tasks.handling import Callback, evaluate, handle_by_steps, not_performed, SolveResult
from ssik_ros.tasks.jacobian_callback import task_set_rows
from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.objects import Reference
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.paths import PathResult
from ssik_ros.tasks.plan import make_plan, Plan, Purpose
from ssik_ros.tasks.scene_link import SceneMaps
from ssik_ros.tasks.task import Task
from ssik_ros.tasks.task_set import TaskSet, TaskSetNotFound
from ssik_ros.tasks.world import World

if TYPE_CHECKING:
    from ssik_ros.tasks.scene import Scene

Priority = Literal['strict', 'nested']
TaskSetReference = TaskSet | str | int
RUN: Any = handling.run
MOST_PLANS = 64
"""Combinations of task sets whose packed form is kept."""


class Environment(World):
    """
    A private world of dummies and joints, with task sets of tasks to be solved.

    Poses and joint values are cheap to change; any other change packs the structure anew at the next solve.
    """

    def __init__(self, name: str | None = None, priority: Priority = 'strict') -> None:
        """
        Start empty.

        :param name: shown in messages.
        :param priority: how several task sets of one solve share the joints unless the call says otherwise. With
            ``strict`` a met task set stays met, and the task sets after it cost a task set on its way at most half of what it
            gains in a step. ``nested`` is the original's formula.
        """
        super().__init__(name)
        self.priority: Priority = _priority(priority)
        self.scene_maps: dict[int, SceneMaps] = {}
        """Objects that came from scenes, by the identity of the scene."""
        self._plans: dict[Any, Plan] = {}
        self._next_task_set = 0

    @classmethod
    def from_scene(cls, scene: Scene, name: str | None = None) -> Environment:
        """
        Return an environment with everything that a scene has: joints as joints, other frames as dummies.

        :param scene: see :mod:`ssik_ros.tasks.scene`.
        """
        environment = cls(name)
        scene_link.copy_all(environment, scene)
        return environment

    def add_task_set(
        self, name: str | None = None, method: int | str | None = None, **settings: Any
    ) -> TaskSet:
        """
        Add a task set.

        :param name: free name; None for ``task_setN``.
        :param method: a :class:`Method`, its number or its name; None for the pseudo-inverse.
        :param settings: attributes of the task set, such as ``damping`` and ``max_iterations``.
        """
        self.find(None)
        number = 1
        while name is None and f'task set{number}' in self.task_sets:
            number += 1
        name = f'task set{number}' if name is None else name
        if not isinstance(name, str) or not name:
            raise ModelError(f'A task set needs a name that is not empty, not {name!r}.')
        if name in self.task_sets:
            raise ModelError(
                f'Environment {quote(self.name)} already has a task set {quote(name)}.'
            )
        task_set = TaskSet(self, name, self._next_task_set)
        if method is not None:
            settings['method'] = method
        for key, value in settings.items():
            if not isinstance(getattr(TaskSet, key, None), property):
                known = [k for k, v in vars(TaskSet).items() if isinstance(v, property) and v.fset]
                raise InvalidOption.unknown(f'{quote(key)} is no setting', key, known)
            setattr(task_set, key, value)
        self._next_task_set += 1
        self.task_sets[name] = task_set
        self.changed()
        return task_set

    def task_set(self, reference: TaskSetReference) -> TaskSet:
        """
        Return a task set by itself, its name or its handle.

        :raises TaskSetNotFound: (a KeyError) when there is none.
        """
        self.find(None)
        for task_set in self.task_sets.values():
            if reference is task_set or reference == task_set.name or reference == task_set.handle:
                return task_set
        name = getattr(reference, 'name', reference)
        raise TaskSetNotFound.unknown(
            f'Environment {quote(self.name)} has no task set {name!r}', str(name), self.task_sets
        )

    def plan(
        self,
        task_sets: tuple[TaskSet, ...],
        *,
        nested: bool = False,
        purpose: Purpose = 'handling',
    ) -> Plan:
        """Return the packed form of some task sets, made anew only after a change of structure."""
        key = (task_sets, nested, purpose)
        plan = self._plans.get(key)
        if plan is None or plan.version != self.version:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = make_plan(self, task_sets, nested=nested, purpose=purpose)
        return plan

    def solve(
        self,
        task_sets: Iterable[TaskSetReference] | None = None,
        *,
        max_iterations: int | None = None,
        priority: Priority | None = None,
        sync: Scene | None = None,
        allow_error: bool = False,
        debug: int = 0,
        callback: Callback | None = None,
    ) -> SolveResult:
        """
        Move the joints so that the tips of some task sets meet their targets.

        :param task_sets: the first has the highest priority; None for all. Disabled ones are left out.
        :param max_iterations: most steps; None for the first task set's.
        :param priority: None for the environment's.
        :param sync: scene to read before, and to write to after a success.
        :param allow_error: write to the scene without success too.
        :param debug: bit 0 leaves overlays of all tasks in the result.
        :param callback: sees and may replace the rows, see :mod:`ssik_ros.tasks.jacobian_callback`.
        """
        if task_sets.__class__ is not tuple:
            task_sets = tuple(self.task_sets.values() if task_sets is None else task_sets)
        plan = self._plans.get(task_sets)
        if (
            plan is None
            or plan.version != self.version
            or priority is not None
            or sync is not None
        ):
            chosen = tuple(map(self.task_set, task_sets))
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
            limit = plan.task_sets[0].max_iterations if max_iterations is None else max_iterations
            answer = handle_by_steps(plan, self, limit, callback)
        result = SolveResult(plan, answer, plan.outcome.copy(), self.values.copy())
        for task_set in plan.task_sets:
            task_set._last = result
        if sync is not None and (result.success or allow_error):
            self.sync_to(sync, plan.task_sets)
        if debug & 1:
            tasks = plan.tasks
            return result.with_overlays(tuple(self.debug_overlay(e.tip, e.base) for e in tasks))
        return result

    def _plan_to_handle(self, task_sets: tuple[TaskSet, ...], priority: Priority) -> Plan:
        """Return the packed form of those task sets that are enabled; kept for the next call of the same task sets."""
        enabled = tuple(task_set for task_set in task_sets if task_set.enabled)
        plan = self.plan(enabled, nested=priority == 'nested')
        if priority == self.priority:
            self._plans[task_sets] = plan
        return plan

    def task_set_jacobian(
        self, task_set: TaskSetReference, *, exact: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return Jacobian and error of a task set; see :meth:`TaskSet.jacobian`."""
        chosen = (self.task_set(task_set),)
        plan = self.plan(chosen, purpose='rows')
        evaluate(plan, self, self.values.copy())
        jacobian, error = task_set_rows(plan, 0)
        error = error.copy()
        if not exact:
            plan = self.plan(chosen, purpose='geometry')
            evaluate(plan, self, self.values.copy())
            jacobian, _ = task_set_rows(plan, 0)
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
        :param exact: as in :meth:`TaskSet.jacobian`.
        """
        joint = self.joint(last_joint)
        above = self.find(base)
        own = self.copy()
        tip = own.add_dummy()
        tip.set_pose(tip_pose)
        tip.set_parent(joint.handle)
        task = own.add_task_set().add_task(
            tip, base=None if above is None else above.handle, constraints=constraints
        )
        for pose, what in ((target_pose, 'target'), (constraint_base_pose, 'constraint_base')):
            if pose is not None:
                dummy = own.add_dummy()
                dummy.set_pose(pose)
                setattr(task, what, dummy)
        return own.task_set_jacobian(task.task_set, exact=exact)

    def find_configs(
        self,
        task_set: TaskSetReference,
        joints: Sequence[Reference] | None = None,
        **options: Any,
    ) -> FloatArray:
        """
        Return configurations (k, n) in which all tasks of a task set are within precision, the nearest first.

        The environment stays as it is. See :class:`ssik_ros.tasks.configuration_search.SearchOptions` for the options.

        :param joints: whose values a configuration holds; None for the joints of the task set.
        """
        return configuration_search.find_configs(
            self, self.task_set(task_set), self._joints(joints, task_set), options
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
        task_set: TaskSetReference,
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
        chosen = self._joints(joints, task_set)
        return paths.generate_path(
            self, self.task_set(task_set), chosen, self.dummy(tip), points, **options
        )

    def follow_path(
        self,
        task_set: TaskSetReference,
        joints: Sequence[Reference] | None,
        tip: Reference,
        poses: Sequence[ArrayLike] | FloatArray,
        **options: Any,
    ) -> PathResult:
        """
        Return configurations that move a tip through given poses; the environment stays as it is.

        :param options: see :func:`ssik_ros.tasks.paths.follow_path`.
        """
        chosen = self._joints(joints, task_set)
        return paths.follow_path(
            self, self.task_set(task_set), chosen, self.dummy(tip), poses, **options
        )

    def _joints(
        self, joints: Sequence[Reference] | None, task_set: TaskSetReference
    ) -> tuple[Joint, ...]:
        """Return the joints asked for, those of the task set by default."""
        if joints is None:
            return self.task_set(task_set).joints
        return tuple(self.joint(item) for item in joints)

    def add_task_from_scene(
        self,
        task_set: TaskSetReference,
        scene: Scene,
        base: str | None,
        tip: str,
        target: str,
        constraints: int = Constraint.POSE,
    ) -> tuple[Task, SceneMaps]:
        """Copy a chain from a scene and add its task; see :meth:`TaskSet.add_task_from_scene`."""
        return scene_link.add_task(
            self, self.task_set(task_set), scene, base, tip, target, constraints
        )

    def sync_from(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Take joint values, and the poses of targets relative to their bases, from a scene.

        :param task_sets: whose joints and targets; None for everything that came from the scene.
        """
        scene_link.sync_from(
            self, scene, None if task_sets is None else tuple(map(self.task_set, task_sets))
        )

    def sync_to(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Give joint values to a scene.

        :param task_sets: whose joints; None for everything that came from the scene.
        """
        scene_link.sync_to(
            self, scene, None if task_sets is None else tuple(map(self.task_set, task_sets))
        )

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
        """Return an independent copy: objects with the same handles, task sets, dependencies with their functions."""
        other = Environment(self.name, self.priority)
        duplicate(self, other)
        return other

    def close(self) -> None:
        """Drop everything; the environment cannot be used any more."""
        self.task_sets.clear()
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
