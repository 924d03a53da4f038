"""Environments: objects (joints and dummies) and task sets, with methods to solve, search, plan paths and save."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import os
from typing import Any

from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    check_callable,
    check_listed,
    read_count,
    read_flag,
    refuse,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.tasks import handling
from ssik_ros.tasks.alternates import alternate_configs
from ssik_ros.tasks.configuration_search import ConfigurationSearch
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.document import load as load_document, save as save_document
from ssik_ros.tasks.handling import handle_by_steps, jacobian_of
from ssik_ros.tasks.jacobian_callback import Callback
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Reference
from ssik_ros.tasks.overlay import Overlay
from ssik_ros.tasks.paths import PathResult, Walk
from ssik_ros.tasks.plan import Plan, plan_of
from ssik_ros.tasks.scene import Scene, SceneMaps
from ssik_ros.tasks.scene_link import Copier, copy_all, sync_from, sync_to
from ssik_ros.tasks.solve_result import not_performed, SolveResult
from ssik_ros.tasks.task_set import Task, TaskSetData
from ssik_ros.tasks.world import Priority, read_priority, TaskSetReference, World

RUN: Any = handling.run


class TaskSet(TaskSetData):
    """
    A list of tasks of an environment that are solved together; made by :meth:`Environment.add_task_set`.

    It adds to its base class the methods that need the environment, such as :meth:`solve`.
    """

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
        Copy tip, target and the objects that carry them from a scene, and add a task that moves the tip to the target.

        All joints of the scene that follow other joints are copied, too, with their masters.

        :param base: frame of the scene where the chain begins; None for the world.
        :param tip, target: names of frames of the scene that are not joints.
        :param constraints: bits of :class:`Constraint`: the coordinates that must agree.
        :returns: the task, and the record of all copies from this scene: ``to_ik`` has their handles by name in the
            scene.
        :raises FrameNotFound: for a name that the scene does not have.
        :raises InvalidOption: if tip or target is a joint, if the base does not carry the tip, or for other bits.
        """
        return Copier(self.world, scene).add_task(self, base, tip, target, constraints)

    @property
    def joints(self) -> tuple[IkJoint, ...]:
        """
        Return the joints that a solve of the enabled tasks moves, in the order of the Jacobian's columns.

        Passive joints are not among them. A joint that follows others is represented by the joint that finally drives
        it.
        """
        return plan_of(self.world, (self,)).joints

    @property
    def limit_hits(self) -> dict[IkJoint, float]:
        """
        Return the joints that stopped at a limit in the last solve, with the overshoot of each [rad or m].

        The overshoot is how far the step would have passed the limit: positive at the upper, negative at the lower one.
        The mapping is empty before the first solve.
        """
        result = self.world.results.get(self)
        hits = {} if result is None else result.limit_hits
        return {joint: amount for joint, amount in hits.items() if joint in self.joints}

    def erase(self) -> None:
        """Remove the task set from its environment."""
        self.world.task_sets.pop(self.name, None)
        self.world.changed()

    def solve(self, **options: Any) -> SolveResult:
        """
        Solve only this task set, move its joints, and return how the solve ended.

        :param options: keyword arguments of :meth:`Environment.solve`, such as ``max_iterations``.
        :raises RequestError: as :meth:`Environment.solve`.
        """
        return self.world.solve((self,), **options)

    def jacobian(self, *, exact: bool = True) -> tuple[FloatArray, FloatArray]:
        """
        Return Jacobian J (m, n) and error e (m,) at the present joint values, without weights.

        ``J dq = e`` gives a Newton step dq.

        The first rows belong to the tasks in the order of their handles: x, y, z, alpha, beta, gamma, as far as
        constrained. If the task set avoids limits, a row for each joint within its limit margin follows. The columns
        belong to ``joints``.

        :param exact: whether J is the derivative -de/dq of the error. False gives the velocity of the tip instead,
            which does not depend on the target. It is linear in the axes of the constraint base, then angular in the
            axes of the tip. Both are equal if the tip is at its target.
        :raises InvalidOption: for a value of ``exact`` without a truth value.
        """
        return jacobian_of(self.world, self, exact=exact)

    def find_configs(
        self, joints: Sequence[Reference] | None = None, **options: Any
    ) -> FloatArray:
        """
        Return configurations (k, n) in which all tasks are within precision, the nearest to the current one first.

        By default the search ends after the first one, whose windings are added; ``find_multiple`` goes on. The rows of
        the option ``configs`` are part of the result without a check. If the search finds none, these are all rows,
        which does not prove that none exists. The environment stays as it is.

        :param joints: the joints whose values a configuration holds; None for the joints of the task set.
        :param options: fields of :class:`ssik_ros.tasks.configuration_search.SearchOptions`, by name.
        :raises RequestError: for an unknown or wrong option, for an object that is not a joint, or without any joint.
        :raises FrameNotFound: (a KeyError) for an unknown joint.
        """
        return ConfigurationSearch(self.world, self, self._chosen(joints), options).run()

    def generate_path(
        self, joints: Sequence[Reference] | None, tip: Reference, points: int, **options: Any
    ) -> PathResult:
        """
        Return a path of configurations that moves a tip from its pose straight to its target.

        The environment stays as it is.

        :param joints: the joints whose values a configuration holds; None for the joints of the task set.
        :param points: number of configurations, the current one included; at least two.
        :param options: fields of :class:`ssik_ros.tasks.paths.PathOptions`, by name.
        :returns: false as a bool if a point fails.
        :raises RequestError: for a wrong number of points or option. Also for a tip without a target, or without an
            enabled task that can move it.
        :raises FrameNotFound: (a KeyError) for an unknown tip or joint.
        """
        return self._walk(joints, tip, options).straight(points)

    def follow_path(
        self,
        joints: Sequence[Reference] | None,
        tip: Reference,
        poses: Sequence[ArrayLike] | FloatArray,
        **options: Any,
    ) -> PathResult:
        """
        Return a path of configurations that moves a tip through poses in the world; the environment stays as it is.

        The first solve starts at the present joint values, each further one at the configuration before it.

        :param joints: the joints whose values a configuration holds; None for the joints of the task set.
        :param poses: at least one; 7 or 12 numbers or a matrix each.
        :param options: fields of :class:`ssik_ros.tasks.paths.PathOptions`, by name.
        :returns: false as a bool if a pose is not reached, or refused by the check of the options.
        :raises RequestError: without poses, or for a wrong pose or option. Also for a tip without a target, or without
            an enabled task that can move it.
        :raises FrameNotFound: (a KeyError) for an unknown tip or joint.
        """
        return self._walk(joints, tip, options).through(poses)

    def _walk(
        self, joints: Sequence[Reference] | None, tip: Reference, options: Mapping[str, Any]
    ) -> Walk:
        """
        Return a new :class:`Walk`, which solves pose after pose of a path for a tip; no pose is solved yet.

        Arguments and errors are the ones of :meth:`generate_path`.
        """
        return Walk(self.world, self, self._chosen(joints), self.world.dummy(tip), options)

    def _chosen(self, joints: Sequence[Reference] | None) -> tuple[IkJoint, ...]:
        """Return joints by their references; None means the joints of the task set."""
        if joints is None:
            return self.joints
        return tuple(map(self.world.joint, check_listed('joints', joints)))


MOST_ITERATIONS = 2**31
"""Of one solve."""


class Environment(World[TaskSet]):
    """
    A world of dummies (plain frames) and joints, with task sets that are solved in it.

    Changing poses and joint values is cheap. After any other change the next solve packs the objects for the kernels
    again.
    """

    def __init__(self, name: str | None = None, priority: Priority = 'strict') -> None:
        """
        Make an empty environment.

        :param name: shown in messages.
        :param priority: how several task sets share the joints, unless a solve says otherwise. With ``strict`` a met
            task set stays met. ``nested`` moves each one only in the null space of those before it. :class:`World` says
            more.
        :raises InvalidOption: for another priority, or a name that is not a text.
        """
        super().__init__(name, priority)
        self.results: dict[TaskSetData, SolveResult] = {}
        """Last result of each task set."""

    @classmethod
    def from_scene(cls, scene: Scene, name: str | None = None) -> Environment:
        """
        Return an environment with everything that a scene has: joints as joints, other frames as dummies.

        It has no task sets and the priority ``strict``.

        :param scene: any object with the methods of :class:`ssik_ros.tasks.scene.Scene`.
        :param name: name of the environment in messages.
        :raises InvalidOption: if the scene lacks a method.
        :raises FrameNotFound, UnsupportedJoint: for a parent or master that the scene does not have, and for a
            spherical joint that follows another joint.
        """
        environment = cls(name)
        copy_all(environment, scene)
        return environment

    def make_task_set(self, name: str, handle: int) -> TaskSet:
        """Return a new, empty task set for this environment; it is not in ``task_sets`` yet."""
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
        Move the joints so that the tips of some task sets meet their targets, and return how the solve ended.

        The result is false as a bool if a tip is not within its precision. If no task set is enabled, or if an enabled
        one has no enabled task with a free joint, nothing moves. The result then has the reason NOT_PERFORMED.

        :param task_sets: the first has the highest priority; None for all. Disabled ones are left out.
        :param max_iterations: most steps; None for the value of the first task set.
        :param priority: ``strict`` or ``nested``; None for the environment's.
        :param sync: scene to read joint values and targets from before, and to write joint values to after a success.
        :param allow_error: write to the scene after a failure, too, but not after NOT_PERFORMED.
        :param debug: bit 0 adds overlays (marker data) of all tasks to the result.
        :param callback: sees and may replace the rows, see :mod:`ssik_ros.tasks.jacobian_callback`.
        :raises TaskSetNotFound: (a KeyError) for a task set that the environment does not have.
        :raises RequestError: for an option of a wrong value, and if nothing in the environment came from the scene
            ``sync``.
        :raises EnvironmentClosed: after :meth:`close`.
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
            self.require_open()
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
        if sync is not None and (read_flag('allow_error', allow_error) or result.success):
            self.sync_to(sync, plan.task_sets)
        if debug & 1:
            result.overlays = tuple(self.debug_overlay(e.tip, e.base) for e in plan.tasks)
        return result

    def _plan_to_handle(self, task_sets: tuple[TaskSet, ...], priority: Priority) -> Plan:
        """
        Return the plan (packed arrays for the kernels) of the enabled ones among some task sets.

        The plan is kept in ``plans`` for the next call if the priority is the environment's.
        """
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
        Return Jacobian (m, n) and error (m,) of the chain from a base to a tip, at the present joint values.

        The environment stays as it is.

        :param last_joint: the joint that carries the tip.
        :param tip_pose, target_pose: poses in the world; without a target the error is zero.
        :param base: the object at which the chain begins; None for the world.
        :param constraints: bits of :class:`Constraint` that choose the m rows.
        :param constraint_base_pose: pose in the world in whose axes positions are measured; None for the base.
        :param exact: whether the Jacobian is the derivative -de/dq of the error. False gives the velocity of the tip,
            as :meth:`TaskSet.jacobian` explains.
        :raises FrameNotFound: (a KeyError) for an unknown joint or base.
        :raises ValueError, TypeError: for a pose or constraints of a wrong form, and if ``last_joint`` is not a joint.
        """
        joint = self.joint(last_joint)
        above = self.find(base)
        twin = self.copy()
        tip = twin.add_dummy()
        tip.set_pose(tip_pose)
        tip.set_parent(joint.handle)
        task = twin.add_task_set().add_task(
            tip, base=None if above is None else above.handle, constraints=constraints
        )
        for pose, what in ((target_pose, 'target'), (constraint_base_pose, 'constraint_base')):
            if pose is not None:
                dummy = twin.add_dummy()
                dummy.set_pose(pose)
                setattr(task, what, dummy)
        return jacobian_of(twin, task.task_set, exact=read_flag('exact', exact))

    def alternate_configs(
        self,
        joints: Sequence[Reference],
        low: Sequence[float] | None = None,
        ranges: Sequence[float] | None = None,
        *,
        max_configs: int | None = None,
    ) -> FloatArray:
        """
        Return all configurations (k, n) of some joints with the same poses: windings (whole turns) within limits.

        Only revolute joints with limits, without a screw lead or a master, have windings, if joints that follow them
        turn by whole turns, too. Other joints keep their values, and their intervals do not count.

        The current configuration is one of them if it is inside the intervals, unless ``max_configs`` cuts it off. No
        rows if the interval of a joint contains none of its windings.

        :param low, ranges: lower end and width of the interval of each joint, which the limits of the joint cut. Width
            0 means the limits themselves, a negative width an interval of that width centred on the current value.
        :param max_configs: most rows; None for all.
        :raises FrameNotFound: (a KeyError) for an unknown joint.
        :raises DimensionMismatch: if ``low`` or ``ranges`` have another length than ``joints``.
        :raises InvalidOption: for an object that is not a joint, a positive width without ``low``, or a negative
            ``max_configs``.
        """
        chosen = [self.joint(item) for item in check_listed('joints', joints)]
        return alternate_configs(self, chosen, self.values, low, ranges, max_configs)

    def sync_from(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Copy joint values, and the poses of targets relative to their bases, from a scene into this environment.

        :param task_sets: task sets whose joints and targets are read; None for everything that was copied from the
            scene.
        :raises FrameNotFound: (a KeyError) if a target or base of a task that came from the scene was erased since.
        :raises RequestError: if nothing in the environment was copied from this scene.
        :raises TaskSetNotFound: (a KeyError) for a task set that the environment does not have.
        """
        sync_from(self, scene, self._listed(task_sets))

    def sync_to(self, scene: Scene, task_sets: Iterable[TaskSetReference] | None = None) -> None:
        """
        Set the joints of a scene to the values of the joints that were copied from it.

        :param task_sets: task sets whose joints are written; None for all joints that were copied from the scene.
        :raises RequestError: if nothing in the environment was copied from this scene.
        :raises TaskSetNotFound: (a KeyError) for a task set that the environment does not have.
        """
        sync_to(self, scene, self._listed(task_sets))

    def _listed(self, task_sets: Iterable[TaskSetReference] | None) -> tuple[TaskSet, ...] | None:
        """
        Return task sets of this environment by themselves, their names or handles; None stays None.

        :raises TaskSetNotFound: for a task set that the environment does not have.
        """
        if task_sets is None:
            return None
        return tuple(map(self.task_set, check_listed('task_sets', task_sets)))

    def debug_overlay(self, tip: Reference, base: Reference = None, **options: Any) -> Overlay:
        """
        Return an overlay: marker data that show the chain from a base to a tip, its joint axes and its target.

        :param tip: the dummy at the end of the chain.
        :param base: where the chain begins; None for the world.
        :param options: ``scale``, ``text`` and ``limits`` of :class:`ssik_ros.tasks.overlay.Overlay`.
        :raises FrameNotFound: (a KeyError) for an unknown tip or base.
        :raises InvalidOption: if the tip is not a dummy, and for an unknown option or a scale that is not positive.
        """
        return Overlay(self, self.dummy(tip), self.find(base), **options)

    def save(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """
        Return the environment as a JSON document, and write the document to the file ``path`` if given.

        :raises ModelError: if functions of dependent joints cannot be saved; the message names them.
        :raises InvalidOption: if ``path`` is not a path, or if the file cannot be written.
        :raises EnvironmentClosed: for a closed environment.
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
        Return a new environment from a document of :meth:`save`.

        :param source: the bytes of the document, or the path of its file.
        :param functions: functions of dependent joints by their names in the document, like ``{'math:sin': math.sin}``.
            Loading imports no module itself.
        :raises DocumentError: for a malformed document, with the item that is wrong.
        :raises DescriptionNotFound: (a FileNotFoundError) if the file cannot be read.
        :raises InvalidOption: if ``source`` is neither bytes nor a path, or ``functions`` not a mapping.
        """
        if not isinstance(source, bytes | str | os.PathLike):
            refuse('source', source, 'the bytes of a document, or a path')
        environment = cls()
        load_document(environment, source, functions)
        return environment

    def copy(self) -> Environment:
        """
        Return an independent copy with the same joint values, poses, handles and task sets.

        Functions of dependent joints are shared with the original.

        :raises EnvironmentClosed: for a closed environment.
        """
        other = Environment(self.name, self.priority)
        self.copy_to(other)
        return other

    def close(self) -> None:
        """Remove all task sets and mark the environment as closed; most calls afterwards raise EnvironmentClosed."""
        self.task_sets.clear()
        self.plans.clear()
        self.closed = True

    def __enter__(self) -> Environment:
        """Return the environment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the environment."""
        self.close()
