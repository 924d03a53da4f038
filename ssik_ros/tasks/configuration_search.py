"""
Search for configurations that meet a task set: solve from many starts, add windings, validate and sort.

A kernel solves from the starts; Python does, step by step, if user functions move joints. Validation, windings and
sorting are done in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
import math
import time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import read_count, read_flag, read_float, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray, wrap_angle
from ssik_ros.errors import counted, DimensionMismatch, InvalidOption, quote
from ssik_ros.kernels.tasks import handling, packing
from ssik_ros.problem.seeded_numbers import uniform_numbers
from ssik_ros.tasks.alternates import alternate_configs
from ssik_ros.tasks.constants import JointType, Reason
from ssik_ros.tasks.handling import evaluate, take_step
from ssik_ros.tasks.joints import IkJoint, joint_values
from ssik_ros.tasks.plan import make_numbers, Plan, plan_of
from ssik_ros.tasks.pose_formats import read_pose
from ssik_ros.tasks.task_set import TaskSetData
from ssik_ros.tasks.world import TaskWorld
from ssik_ros.value_class import dataclass

Options = TypeVar('Options')
DEFAULT_TIME = 0.2
ITERATIONS = 60
"""Most steps from one start."""
CHUNK = 16
"""Starts that a worker takes at a time."""
ENDLESS = 2**62
LONGEST_SEARCH_TIME = 1e9
"""Longest time that a search gets [s]; a request for more time gets this."""
MOST_WORKERS = 1024
MOST_CONFIGS = 4096
"""Most configurations of one search: the windings of many joints can exceed any memory."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search for configurations that meet all tasks of a task set: budgets, metrics, results and checks."""

    max_dist: float = math.inf
    """Starts whose tips are further from their targets than this are left out, by ``p_metric``."""
    max_time: float | None = None
    """Time budget [s]; None means 0.2, or no limit if ``max_samples`` is given."""
    max_samples: int | None = None
    """Most starts; without ``max_time`` the result is then the same every time."""
    p_metric: Sequence[float] = (1.0, 1.0, 1.0, 0.1)
    """Weights of x, y, z and the angle in distances of tips; only constrained rows count."""
    c_metric: Sequence[float] | None = None
    """Weight of each joint in distances of configurations; None for ones."""
    find_multiple: bool = False
    """Whether to go on after the first configuration."""
    find_alt: bool = True
    """Whether to add configurations that differ by windings."""
    max_configs: int | None = None
    """Number of configurations at which the search ends; None for any, of which at most ``MOST_CONFIGS`` are kept."""
    seed: int | None = None
    """Shifts the sequence of starts; None for one fixed sequence."""
    validate: Callable[[FloatArray], object] | None = None
    """Takes a configuration (n,) and returns whether it is acceptable."""
    configs: ArrayLike = ()
    """Configurations (k, n) that the caller has already; they are part of the result."""
    workers: int = 1
    """Most threads; the result does not depend on their number unless time runs out. Functions of dependent joints are called by
    one thread."""
    merge_tolerance: float = 1e-4
    """Configurations nearer than this in every joint are one [rad or m]."""
    target: ArrayLike | None = None
    """Pose in the world for the target of the first enabled task; None leaves the target at its present pose."""

    def __post_init__(self) -> None:
        """
        Check the options.

        :raises InvalidOption: for a value of a wrong type or out of range, such as a negative time.
        :raises DimensionMismatch: if ``p_metric`` has not four weights, or ``c_metric`` is not a list.
        """
        for name in ('max_samples', 'max_configs', 'seed'):
            value = getattr(self, name)
            if value is not None:
                read_count(name, value)
        for name in ('max_time', 'max_dist', 'merge_tolerance'):
            value = getattr(self, name)
            if value is not None and not read_float(name, value) >= 0.0:
                raise InvalidOption(f'{name} must be >= 0, not {value}.')
        for name, size in (('p_metric', 4), ('c_metric', None)):
            given = getattr(self, name)
            if given is not None or name == 'p_metric':
                weights = read_numbers(name, given, (size,))
                if not ((weights >= 0.0) & (weights < math.inf)).all():
                    raise InvalidOption(f'{name} needs finite numbers >= 0, not {shown(given)}.')
        for name in ('find_multiple', 'find_alt'):
            read_flag(name, getattr(self, name))
        read_count('workers', self.workers, 1, MOST_WORKERS)
        if self.validate is not None and not callable(self.validate):
            refuse('validate', self.validate, 'a function of a configuration')


def read_options(kind: type[Options], options: Mapping[str, Any]) -> Options:
    """
    Return an instance of the options class ``kind`` with fields given by name; other fields get their defaults.

    :raises InvalidOption: for an unknown name; the class itself refuses wrong values.
    """
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    for name in options:
        if name not in names:
            raise InvalidOption.unknown(f'{quote(name)} is no option', name, names)
    return kind(**options)


def _read_configs(configs: ArrayLike, size: int) -> FloatArray:
    """
    Return configurations that the caller gives as an array (k, size).

    :raises InvalidOption: if the count of numbers is not a multiple of ``size``, or if a number is not finite.
    """
    rows = read_numbers('configs', configs)
    if rows.size % size or not np.isfinite(rows).all():
        refuse('configs', configs, f'rows of {counted(size, "finite number")}')
    return rows.reshape(-1, size)


class ConfigurationSearch:
    """
    A search for configurations of some joints that meet all tasks of a task set; the world does not change.

    It has settings, copies of poses and joint values, and in ``configs`` the configurations so far. If :meth:`run`
    finds none, this does not prove that none exists.
    """

    def __init__(
        self,
        world: TaskWorld,
        task_set: TaskSetData,
        joints: Sequence[IkJoint],
        options: Mapping[str, Any],
    ) -> None:
        """
        Copy poses and joint values of the world, and put the target at the pose of the options if they have one.

        The results in ``configs`` begin with the configurations that the options have.

        :param joints: the joints of a configuration.
        :param options: fields of :class:`SearchOptions`, by name.
        :raises RequestError: for an unknown or wrong option, or without any joint.
        """
        self.settings = settings = read_options(SearchOptions, options)
        self.plan = plan = plan_of(world, (task_set,), purpose='search')
        self.world = world
        self.joints = joints
        self.poses = world.poses.copy()
        self.current = world.values.copy()
        if settings.target is not None and plan.tasks:
            self._place_target(settings.target)
        self.size = sum(joint.size for joint in joints)
        if not self.size:
            raise InvalidOption('joints must name at least one joint.')
        self.metric = np.ones(len(joints))
        if settings.c_metric is not None:
            self.metric = read_numbers('c_metric', settings.c_metric)
            if self.metric.shape != (len(joints),):
                raise DimensionMismatch(f'c_metric needs {counted(len(joints), "number")}.')
        rows = _read_configs(settings.configs, self.size)
        self.options = self.make_options()
        self.configs: list[FloatArray] = []
        for row in rows:
            self._merge(row.copy())

    def _place_target(self, pose: ArrayLike) -> None:
        """
        Put the target of the first task at a pose in the world, only in ``poses`` of this search.

        :raises InvalidOption: if the tip of the task has no target.
        :raises InvalidTarget: if the pose is not a finite rigid transform.
        :raises TypeError, ValueError: for a pose of another form.
        """
        tip = self.plan.tasks[0].tip
        if tip.target is None:
            raise InvalidOption(f'Tip {quote(tip.name)} has no target.')
        placed = read_pose(pose, f'pose of {quote(tip.target.name)}')
        self.poses[tip.target.slot] = tip.target.local(placed, None)

    def run(self) -> FloatArray:
        """
        Search, and return configurations (k, n) of the joints, the nearest to the current one first.

        If the search finds none, or if no enabled task has a free joint, the rows are only the configurations that were
        given.
        """
        if self.plan.valid:
            self._search()
        return self._sorted()

    def _search(self) -> None:
        """
        Search until ``configs`` has ``max_configs`` configurations, or the time or the starts are used up.

        One accepted solution with its windings is enough without ``find_multiple``.
        """
        settings = self.settings
        # Loading the machine code from disk must not use up the search's time.
        evaluate(self.plan, self.world, self.current.copy(), self.poses)
        seconds = settings.max_time
        if seconds is None:
            seconds = DEFAULT_TIME if settings.max_samples is None else math.inf
        deadline = 0
        if seconds < math.inf:
            deadline = time.monotonic_ns() + int(min(seconds, LONGEST_SEARCH_TIME) * 1e9)
        end = ENDLESS if settings.max_samples is None else settings.max_samples
        for values in self._candidates(end, deadline):
            accepted = self._accept(values)
            full = settings.max_configs is not None and len(self.configs) >= settings.max_configs
            if full or (accepted and not settings.find_multiple):
                return
            # Validation and merging take time too.
            if deadline and time.monotonic_ns() >= deadline:
                return

    def _candidates(self, end: int, deadline: int) -> Iterator[FloatArray]:
        """
        Yield solutions, the values of all joints (nq,), from the starts 0 to ``end`` - 1, in the order of the starts.

        Starts without a solution are skipped. Several workers scan the starts in parallel, unless user functions move a
        joint.

        :param deadline: time of the monotonic clock at which the search stops [ns]; 0 for no deadline.
        """
        # Joints that functions of the user move are part of the world, which threads cannot share.
        if self.plan.slaves:
            yield from self._scan_by_steps(end, deadline)
            return
        if self.settings.workers == 1:
            yield from self._scan_in_kernel(0, end, deadline, self.plan.work)
            return
        works = [self.plan.work.copy() for _ in range(self.settings.workers)]

        def scan(start: int, work: FloatArray) -> list[FloatArray]:
            return list(self._scan_in_kernel(start, min(start + CHUNK, end), deadline, work))

        with ThreadPoolExecutor(len(works)) as pool:
            for first in range(0, end, CHUNK * len(works)):
                starts = range(first, min(first + CHUNK * len(works), end), CHUNK)
                for solutions in pool.map(scan, starts, works):
                    yield from solutions
                if deadline and time.monotonic_ns() >= deadline:
                    return

    def _scan_in_kernel(
        self, first: int, end: int, deadline: int, work: FloatArray
    ) -> Iterator[FloatArray]:
        """
        Yield the solutions (nq,) that the kernel finds from the starts ``first`` to ``end`` - 1, in their order.

        :param deadline: time of the monotonic clock at which the scan stops [ns]; 0 for no deadline.
        :param work: workspace of the kernel, which only this scan uses.
        """
        numbers = make_numbers(handling.SEARCH, ITERATIONS)
        numbers[handling.FIRST_START : handling.SEED + 1] = first, end, deadline, self._seed
        views = packing.WORKSPACE.show(self.plan.ints, work)
        views.start[:], views.options[:] = self.current, self.options
        packed = (self.plan.ints, self.plan.reals, work, self.poses)
        while numbers[handling.FIRST_START] < end:
            q = np.empty_like(self.current)
            start = handling.run(*packed, q, numbers)[0]
            if start < 0:
                return
            yield q
            numbers[handling.FIRST_START] = start + 1

    def _scan_by_steps(self, end: int, deadline: int) -> Iterator[FloatArray]:
        """
        Yield the solutions (nq,) from the starts 0 to ``end`` - 1, in their order, with every step taken from Python.

        For worlds in which user functions move joints: the kernel cannot call these functions.

        :param deadline: time of the monotonic clock at which the scan stops [ns]; 0 for no deadline.
        """
        numbers = make_numbers(handling.SEARCH, 0)
        numbers[handling.SEED] = self._seed
        plan = self.plan
        plan.views.start[:], plan.views.options[:] = self.current, self.options
        for index in range(end):
            if deadline and time.monotonic_ns() >= deadline:
                return
            q = np.empty_like(self.current)
            handling.begin_start(plan.ints, plan.reals, plan.work, numbers, index, q)
            self.world.follow(q)
            if descend_by_steps(plan, self.world, q, self.poses):
                yield q

    @property
    def _seed(self) -> int:
        """Return the random seed of the settings as a number below 2^62; 0 if the settings have none."""
        return 0 if self.settings.seed is None else int(self.settings.seed) % 2**62

    def make_options(self) -> FloatArray:
        """
        Return the numbers of a search for the kernel: [largest distance, metric (4,), steps (nv,), shifts (nv,)].

        Start 0 is the present posture. Start i > 0 puts the joint of column v at the fraction ``shifts[v] + i *
        steps[v]``, modulo 1, of its range. Ball joints get random rotations instead.
        """
        nv = self.plan.nv
        root = 2.0
        for _ in range(64):
            root = (1.0 + root) ** (1.0 / (nv + 1))
        alphas = [root ** -(k + 1) % 1.0 for k in range(nv)]
        shifts = np.full(nv, 0.5)
        if self.settings.seed is not None:
            shifts = uniform_numbers(self.settings.seed, nv)
        return np.array([self.settings.max_dist, *self.settings.p_metric, *alphas, *shifts])

    def _accept(self, values: FloatArray) -> bool:
        """
        Merge the configuration of a solution, and its windings if wanted, into ``configs`` if ``validate`` accepts it.

        Windings are validated one by one. Return whether at least one configuration is accepted. ``configs`` does not
        grow beyond ``max_configs``, or beyond ``MOST_CONFIGS`` without it.

        :param values: (nq,) the solution, values of all joints.
        """
        limit = MOST_CONFIGS if self.settings.max_configs is None else self.settings.max_configs
        config = joint_values(self.joints, values)
        rows = [config]
        if self.settings.find_alt:
            others = alternate_configs(self.world, self.joints, values, max_configs=limit)
            rows += [row for row in others if not np.array_equal(row, config)]
        accepted = False
        for row in rows:
            if self.settings.validate is None or self.settings.validate(row.copy()):
                accepted = True
                if len(self.configs) < limit:
                    self._merge(row)
        return accepted

    def _merge(self, row: FloatArray) -> None:
        """
        Add a configuration (n,) to ``configs``, unless ``configs`` has nearly the same one.

        Nearly the same means that each joint differs by at most the merge tolerance [rad or m].
        """
        for other in self.configs:
            motions = np.abs(joint_differences(self.joints, other, row))
            if motions.max(initial=0.0) <= self.settings.merge_tolerance:
                return
        self.configs.append(row)

    def _sorted(self) -> FloatArray:
        """
        Return the configurations ``configs`` as rows (k, n), the nearest to the current one first.

        The distance is the norm of the joint motions, weighted by ``c_metric``. No rows if ``configs`` is empty.
        """
        if not self.configs:
            return np.empty((0, self.size))
        here = joint_values(self.joints, self.current)
        distances = [
            float(np.linalg.norm(self.metric * joint_differences(self.joints, here, row)))
            for row in self.configs
        ]
        order = sorted(range(len(distances)), key=lambda k: (distances[k], tuple(self.configs[k])))
        return np.array([self.configs[k] for k in order])


def descend_by_steps(plan: Plan, world: TaskWorld, values: FloatArray, poses: FloatArray) -> bool:
    """
    Take steps until all tasks are within precision, and then further ones while each halves the error.

    For worlds in which user functions move joints; at most 60 steps.

    :param values: (nq,) start; overwritten by the solution, unchanged after a failure.
    :param poses: (slots, 12) local poses of all objects.
    :returns: whether a solution was found.
    :raises InvalidOption: as :func:`evaluate`; ``values`` may have changed then.
    """
    best, smallest = values.copy(), math.inf
    for _ in range(ITERATIONS):
        within, linear, angular = evaluate(plan, world, values, poses)
        if smallest < math.inf and not (within and linear + angular < 0.5 * smallest):
            break
        if within:
            best, smallest = values.copy(), linear + angular
        if take_step(plan, world, values) & Reason.CANNOT_INVERT:
            break
        world.follow(values)
    values[:] = best
    return smallest < math.inf


def joint_differences(joints: Sequence[IkJoint], a: FloatArray, b: FloatArray) -> FloatArray:
    """
    Return the motion (joints,) of each joint from configuration ``a`` to ``b`` [rad or m].

    Motions of cyclic joints are wrapped to [-pi, pi]. The motion of a spherical joint is the angle between both
    rotations, from 0 to pi.

    :param a, b: (n,) values of the joints, four for each spherical joint.
    """
    motions = np.empty(len(joints))
    at = 0
    for k, joint in enumerate(joints):
        if joint.kind == JointType.SPHERICAL:
            cosine = min(1.0, abs(float(a[at : at + 4] @ b[at : at + 4])))
            motions[k] = 2.0 * math.acos(cosine)
        elif joint.cyclic:
            motions[k] = wrap_angle(float(b[at]) - float(a[at]))
        else:
            motions[k] = b[at] - a[at]
        at += joint.size
    return motions
