"""Environments: private worlds of objects, sets of tasks in them, and every calculation on both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import os
from typing import Any

from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    check_callable,
    check_listed,
    check_mapping,
    read_count,
    read_flag,
    refuse,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.tasks import handling
from ssik_ros.tasks.alternates import alternate_configs
from ssik_ros.tasks.configuration_search import find_configs
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.document import load as load_document, save as save_document
from ssik_ros.tasks.handling import Callback, handle_by_steps, jacobian_of
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Reference
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.paths import follow_path, generate_path, PathResult
from ssik_ros.tasks.plan import Plan, plan_of
from ssik_ros.tasks.scene import Scene, SceneMaps
from ssik_ros.tasks.scene_link import Copier, copy_all, sync_from, sync_to
from ssik_ros.tasks.solve_result import not_performed, SolveResult
from ssik_ros.tasks.task_set import Task, TaskSetData
from ssik_ros.tasks.world import Priority, read_priority, TaskSetReference, World

RUN: Any = handling.run


class TaskSet(TaskSetData):
    """Tasks that are solved together; made by :meth:`Environment.add_task_set`."""

    world: Environment

    def add_task_from_scene(
        self,
        scene: Scene,
        base: str | None,
        tip: str,
        target: str,
        constraints: int = Constraint.POSE,
    ) -> tuple[Task, SceneMaps]:
        """
        Copy the objects that carry tip and target from a scene, and add a task for them.

        :param base: frame of the scene where the chain begins; None for the world.
        :returns: the task, and the mapping from objects of the scene to objects of the environment.
        """
        return Copier(self.world, scene).add_task(self, base, tip, target, constraints)

    @property
    def joints(self) -> tuple[IkJoint, ...]:
        """Return the joints that a solve moves, in the order of the Jacobian's columns."""
        return plan_of(self.world, (self,)).joints

    @property
    def limit_hits(self) -> dict[IkJoint, float]:
        """Return the joints that stopped at a limit in the last solve, with their signed overshoot [rad or m]."""
        result = self.world.results.get(self)
        hits = {} if result is None else result.limit_hits
        return {joint: amount for joint, amount in hits.items() if joint in self.joints}

    def erase(self) -> None:
        """Remove the task set from its environment."""
        self.world.task_sets.pop(self.name, None)
        self.world.changed()

    def solve(self, **options: Any) -> SolveResult:
        """Move the joints; see :meth:`Environment.solve`."""
        return self.world.solve((self,), **options)

    def jacobian(self, *, exact: bool = True) -> tuple[FloatArray, FloatArray]:
        """
        Return Jacobian (m, n) and error (m,) at the present joint values, without weights.

        The first rows belong to the tasks in the order of their handles (x, y, z, alpha, beta, gamma). Rows of joints
        near their limits follow. Each column belongs to a joint of ``joints``. J dq = e is a Newton step.

        :param exact: whether J is the derivative -de/dq of the error. False gives the geometric rows, which do not
            depend on the target: velocity of the tip in the axes of the constraint base, angular velocity in the axes
            of the tip. Both are the same where the tip is at its target.
        """
        return jacobian_of(self.world, self, exact=exact)

    def find_configs(
        self, joints: Sequence[Reference] | None = None, **options: Any
    ) -> FloatArray:
        """
        Return configurations (k, n) in which all tasks are within precision, the nearest first.

        The environment stays as it is. See :class:`ssik_ros.tasks.configuration_search.SearchOptions` for the options.

        :param joints: the joints whose values a configuration holds; None for the joints of the task set.
        """
        return find_configs(self.world, self, self._chosen(joints), options)

    def generate_path(
        self, joints: Sequence[Reference] | None, tip: Reference, points: int, **options: Any
    ) -> PathResult:
        """
        Return configurations that move a tip straight to its target; the environment stays as it is.

        :param points: configurations, the current one included; at least two.
        :param options: see :class:`ssik_ros.tasks.paths.PathOptions`.
        """
        dummy = self.world.dummy(tip)
        return generate_path(self.world, self, self._chosen(joints), dummy, points, **options)

    def follow_path(
        self,
        joints: Sequence[Reference] | None,
        tip: Reference,
        poses: Sequence[ArrayLike] | FloatArray,
        **options: Any,
    ) -> PathResult:
        """
        Return configurations that move a tip through given poses; the environment stays as it is.

        :param options: see :class:`ssik_ros.tasks.paths.PathOptions`.
        """
        dummy = self.world.dummy(tip)
        return follow_path(self.world, self, self._chosen(joints), dummy, poses, **options)

    def _chosen(self, joints: Sequence[Reference] | None) -> tuple[IkJoint, ...]:
        """Return joints by their references; None means the joints of the task set."""
        if joints is None:
            return self.joints
        return tuple(map(self.world.joint, check_listed('joints', joints)))


MOST_ITERATIONS = 2**31
"""Of one solve."""


class Environment(World[TaskSet]):
    """
    A private world of dummies and joints, with task sets of tasks to be solved.

    Poses and joint values are cheap to change; any other change packs the structure anew at the next solve.
    """

    def __init__(self, name: str | None = None, priority: Priority = 'strict') -> None:
        """Start empty; see :class:`World`."""
        super().__init__(name, priority)
        self.results: dict[TaskSetData, SolveResult] = {}
        """Last result of each task set."""

    @classmethod
    def from_scene(cls, scene: Scene, name: str | None = None) -> Environment:
        """
        Return an environment with everything that a scene has: joints as joints, other frames as dummies.

        :param scene: see :mod:`ssik_ros.tasks.scene`.
        """
        environment = cls(name)
        copy_all(environment, scene)
        return environment

    def make_task_set(self, name: str, handle: int) -> TaskSet:
        """Return a new task set, which does not belong to the environment yet."""
        return TaskSet(self, name, handle)

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
        if task_sets is None:
            task_sets = tuple(self.task_sets.values())
        elif task_sets.__class__ is not tuple or task_sets not in self.plans:
            task_sets = tuple(map(self.task_set, check_listed('task_sets', task_sets)))
        plan = self.plans.get(task_sets)
        if (
            plan is None
            or plan.version != self.version
            or priority is not None
            or sync is not None
        ):
            chosen = tuple(map(self.task_set, task_sets))
            if sync is not None:
                self.sync_from(sync, chosen)
            plan = self._plan_to_handle(
                chosen, read_priority(self.priority if priority is None else priority)
            )
        if not plan.valid:
            return not_performed(plan, self)
        if max_iterations is not None:
            max_iterations = min(read_count('max_iterations', max_iterations), MOST_ITERATIONS)
        if callback is not None:
            check_callable('callback', callback)
        if debug.__class__ is not int:
            debug = read_count('debug', debug)
        if callback is None and not plan.slaves:
            numbers = plan.numbers
            if max_iterations is not None:
                numbers = numbers.copy()
                numbers[handling.MAX_ITERATIONS] = max_iterations
            summary = RUN(plan.ints, plan.reals, plan.work, self.poses, self.values, numbers)
            if plan.functions:
                self.follow()
        else:
            limit = plan.task_sets[0].max_iterations if max_iterations is None else max_iterations
            summary = handle_by_steps(plan, self, limit, callback)
        result = SolveResult(plan, summary, plan.outcome.copy(), self.values.copy())
        for task_set in plan.task_sets:
            self.results[task_set] = result
        if sync is not None and (result.success or allow_error):
            self.sync_to(sync, plan.task_sets)
        if debug & 1:
            result.overlays = tuple(self.debug_overlay(e.tip, e.base) for e in plan.tasks)
        return result

    def _plan_to_handle(self, task_sets: tuple[TaskSet, ...], priority: Priority) -> Plan:
        """Return the packed form of the enabled ones of some task sets, and keep it in ``plans`` for the next call."""
        enabled = tuple(task_set for task_set in task_sets if task_set.enabled)
        plan = plan_of(self, enabled, nested=priority == 'nested')
        if priority == self.priority:
            self.plans[task_sets] = plan
        return plan

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
        :param base: the object at which the chain begins; None for the world.
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
        return jacobian_of(own, task.task_set, exact=read_flag('exact', exact))

    def alternate_configs(
        self,
        joints: Sequence[Reference],
        low: Sequence[float] | None = None,
        ranges: Sequence[float] | None = None,
        *,
        max_configs: int | None = None,
    ) -> FloatArray:
        """
        Return all configurations (k, n) that differ from the current one by windings within limits.

        :param low, ranges: lower end and width of the interval of each joint; width 0 means the limits of the joint, a
            negative width a window of that width around the current value.
        :param max_configs: most rows.
        """
        if not isinstance(joints, Iterable) or isinstance(joints, str):
            refuse('joints', joints, 'a list of joints')
        chosen = [self.joint(item) for item in joints]
        return alternate_configs(self, chosen, self.values, low, ranges, max_configs)

    def sync_from(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Copy joint values, and the poses of targets relative to their bases, from a scene into this environment.

        :param task_sets: task sets whose joints and targets are read; None for everything that came from the scene.
        """
        sync_from(self, scene, self._listed(task_sets))

    def sync_to(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Apply joint values to a scene.

        :param task_sets: task sets whose joints are written; None for everything that came from the scene.
        """
        sync_to(self, scene, self._listed(task_sets))

    def _listed(self, task_sets: Iterable[TaskSetReference] | None) -> tuple[TaskSet, ...] | None:
        """Return task sets by their references; None stays None."""
        if task_sets is None:
            return None
        return tuple(map(self.task_set, check_listed('task_sets', task_sets)))

    def debug_overlay(self, tip: Reference, base: Reference = None, **options: Any) -> Overlay:
        """
        Return marker data that show a chain; see :mod:`ssik_ros.tasks.overlay`.

        :param base: where the chain begins; None for the world.
        """
        return Overlay(self, self.dummy(tip), self.find(base), **options)

    def save(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """
        Return the environment as a document, and write it to a file if there is a path.

        :raises ModelError: when functions cannot be saved, naming them.
        """
        if path is not None and not isinstance(path, str | os.PathLike):
            refuse('path', path, 'the path of a file')
        return save_document(self, path)

    @classmethod
    def load(
        cls,
        source: bytes | str | os.PathLike[str],
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Environment:
        """
        Return the environment of a document.

        :param source: the bytes of :meth:`save`, or the path of a file.
        :param functions: functions of dependencies by their names in the document, like ``{'math:sin': math.sin}``. A
            document imports nothing itself.
        :raises DocumentError: when the document is malformed, naming the item.
        """
        if not isinstance(source, bytes | str | os.PathLike):
            refuse('source', source, 'the bytes of a document, or a path')
        if functions is not None:
            check_mapping('functions', functions, 'functions by their names')
        environment = cls()
        load_document(environment, source, functions)
        return environment

    def copy(self) -> Environment:
        """Return an independent copy: objects with the same handles, task sets, dependencies with their functions."""
        other = Environment(self.name, self.priority)
        self.copy_to(other)
        return other

    def close(self) -> None:
        """Close the environment: drop its task sets; every later use raises EnvironmentClosed."""
        self.task_sets.clear()
        self.plans.clear()
        self.closed = True

    def __enter__(self) -> Environment:
        """Return the environment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the environment."""
        self.close()
