"""Task sets: tasks that are solved together, by one method, with one set of switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, Literal, TYPE_CHECKING

from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote, RequestError
from ssik_ros.tasks.constants import Constraint, Method, TaskSetFlag, TIP_FLAG
from ssik_ros.tasks.handling import SolveResult
from ssik_ros.tasks.joints import Joint
from ssik_ros.tasks.objects import IkObject, Reference
from ssik_ros.tasks.paths import PathResult
from ssik_ros.tasks.task import PRECISION, Task

if TYPE_CHECKING:
    from ssik_ros.tasks.environment import Environment
    from ssik_ros.tasks.scene import Scene
    from ssik_ros.tasks.scene_link import SceneMaps

WeightsMode = Literal['least_squares', 'gain']
METHOD_NAMES = {
    'pinv': Method.PSEUDO_INVERSE,
    'pseudo_inverse': Method.PSEUDO_INVERSE,
    'dls': Method.DAMPED_LEAST_SQUARES,
    'damped_least_squares': Method.DAMPED_LEAST_SQUARES,
    'transpose': Method.JACOBIAN_TRANSPOSE,
    'jacobian_transpose': Method.JACOBIAN_TRANSPOSE,
    'undamped': Method.UNDAMPED_PSEUDO_INVERSE,
    'undamped_pseudo_inverse': Method.UNDAMPED_PSEUDO_INVERSE,
}


class TaskSetNotFound(RequestError, KeyError):
    """An environment has no task set, or a task set no task, of that name or handle."""


def _switch(flag: TaskSetFlag, text: str) -> property:
    """Return a property for one bit of the flags."""

    def get(self: TaskSet) -> bool:
        return bool(self._flags & flag)

    def put(self: TaskSet, value: bool) -> None:
        self.flags = self._flags | flag if value else self._flags & ~flag

    return property(get, put, doc=text)


class TaskSet:
    """Tasks that are solved together; made by :meth:`Environment.add_task_set`."""

    enabled = _switch(TaskSetFlag.ENABLED, 'Whether the task set takes part.')
    ignore_max_steps = _switch(
        TaskSetFlag.IGNORE_MAX_STEPS, 'Whether steps may be longer than the joints allow.'
    )
    restore_on_bad_linear = _switch(
        TaskSetFlag.RESTORE_ON_BAD_LINEAR, 'Whether joints go back when a position is not reached.'
    )
    restore_on_bad_angular = _switch(
        TaskSetFlag.RESTORE_ON_BAD_ANGULAR,
        'Whether joints go back when an orientation is not reached.',
    )
    stop_on_limit_hit = _switch(
        TaskSetFlag.STOP_ON_LIMIT_HIT, 'Whether a solve ends where a joint stops at a limit.'
    )
    avoid_limits = _switch(
        TaskSetFlag.AVOID_LIMITS, 'Whether joints within their limit margin are pushed back.'
    )

    def __init__(self, world: Environment, name: str, handle: int) -> None:
        """Start with the defaults of the document: pseudo-inverse, 3 iterations, largest steps ignored."""
        self.world = world
        self.name = name
        self.handle = handle
        self.tasks: list[Task] = []
        self._last: SolveResult | None = None
        self._flags = TaskSetFlag.ENABLED | TaskSetFlag.IGNORE_MAX_STEPS
        self._method = Method.PSEUDO_INVERSE
        self._damping = 0.1
        self._max_iterations = 3
        self._weights_mode: WeightsMode = 'least_squares'

    def __repr__(self) -> str:
        """Return name and size."""
        return f'<TaskSet {self.name!r}: {len(self.tasks)} tasks>'

    @property
    def flags(self) -> TaskSetFlag:
        """Return or set all switches as bits."""
        return self._flags

    @flags.setter
    def flags(self, value: int) -> None:
        self._flags = TaskSetFlag(int(value))
        self.world.changed()

    @property
    def method(self) -> Method:
        """Return or set how rows are inverted: a :class:`Method`, its number or its name."""
        return self._method

    @method.setter
    def method(self, value: int | str) -> None:
        if isinstance(value, str):
            if value not in METHOD_NAMES:
                raise InvalidOption.unknown(f'{quote(value)} is no method', value, METHOD_NAMES)
            value = METHOD_NAMES[value]
        try:
            self._method = Method(value)
        except ValueError:
            raise InvalidOption(f'{value} is no method; there are {list(Method)}.') from None
        self.world.changed()

    @property
    def damping(self) -> float:
        """Return or set the damping of damped least squares, squared on the diagonal."""
        return self._damping

    @damping.setter
    def damping(self, value: float) -> None:
        if not 0.0 <= float(value) < math.inf:
            raise InvalidOption(f'The damping must be finite and >= 0, not {value}.')
        self._damping = float(value)
        self.world.changed()

    @property
    def max_iterations(self) -> int:
        """Return or set the most steps of a solve."""
        return self._max_iterations

    @max_iterations.setter
    def max_iterations(self, value: float) -> None:
        if not 0 <= value < 2**31:
            raise InvalidOption(f'The number of iterations must be >= 0, not {value}.')
        self._max_iterations = int(value)
        self.world.changed()

    @property
    def weights_mode(self) -> WeightsMode:
        """
        Return or set what task weights do.

        ``least_squares`` scales whole rows, so that tasks trade off; ``gain`` scales errors only, as the original.
        """
        return self._weights_mode

    @weights_mode.setter
    def weights_mode(self, value: WeightsMode) -> None:
        if value not in ('least_squares', 'gain'):
            raise InvalidOption(
                f"The weights mode is 'least_squares' or 'gain', not {quote(value)}."
            )
        self._weights_mode = value
        self.world.changed()

    def add_task(
        self,
        tip: Reference,
        base: Reference = None,
        target: Reference = None,
        constraints: int = Constraint.POSE,
        *,
        precision: tuple[float, float] = PRECISION,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
        constraint_base: Reference = None,
        closure: bool = False,
    ) -> Task:
        """
        Add a task.

        :param tip: the dummy that is to be somewhere.
        :param base: where its chain begins; None for the world.
        :param target: the dummy it is to meet; None keeps the tip's target.
        :param constraints: bits of :class:`Constraint`.
        :param precision: distance [m] and angle [rad] that count as met.
        :param weights: linear, angular, overall.
        :param constraint_base: in whose axes positions are measured; None for the base.
        :param closure: whether the joints that carry the target are solved too.
        """
        dummy = self.world.dummy(tip)
        used = {task.handle for task in self.tasks}
        handle = next(number for number in range(len(used) + 1) if number not in used)
        task = Task(self, handle, dummy)
        task.base = base
        task.constraint_base = constraint_base
        task.constraints = constraints
        task.precision, task.weights, task.closure = precision, weights, closure
        if target is not None:
            dummy.target = target
        self.tasks.append(task)
        self.tasks.sort(key=lambda item: item.handle)
        self.world.changed()
        return task

    def add_task_from_scene(
        self,
        scene: Scene,
        base: str | None,
        tip: str,
        target: str,
        constraints: int = Constraint.POSE,
    ) -> tuple[Task, SceneMaps]:
        """
        Copy what tip and target hang on from a scene, and add a task for them.

        :param base: frame of the scene where the chain begins; None for the world.
        :returns: the task, and which scene object is which object here.
        """
        return self.world.add_task_from_scene(self, scene, base, tip, target, constraints)

    def task(self, reference: Task | int | str | IkObject) -> Task:
        """
        Return a task by its handle, its tip, or the handle of its tip plus ``TIP_FLAG``.

        :raises TaskSetNotFound: (a KeyError) when there is none.
        """
        for task in self.tasks:
            known: list[Any] = [task, task.handle, task.tip, task.tip.name]
            if any(reference is item or reference == item for item in known):
                return task
        if isinstance(reference, int) and reference >= TIP_FLAG:
            for task in self.tasks:
                if task.tip.handle == reference - TIP_FLAG:
                    return task
        raise TaskSetNotFound(
            f'Task set {quote(self.name)} has no task {reference!r}; it has '
            f'{[(task.handle, task.tip.name) for task in self.tasks]}.',
            name=reference,
        )

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Return the joints that a solve moves, in the order of the Jacobian's columns."""
        return self.world.plan((self,)).joints

    @property
    def limit_hits(self) -> dict[Joint, float]:
        """Return the joints of the task set that stopped at a limit in the last solve, and the signed overshoot."""
        hits = {} if self._last is None else self._last.limit_hits
        return {joint: amount for joint, amount in hits.items() if joint in self.joints}

    def forget(self, item: IkObject) -> None:
        """Drop the tasks that use an object, and the task set if it is empty then."""
        kept = [task for task in self.tasks if not task.uses(item)]
        if len(kept) < len(self.tasks):
            self.tasks = kept
            if not kept:
                self.erase()

    def erase(self) -> None:
        """Take the task set out of its environment."""
        self.world.task_sets.pop(self.name, None)
        self.world.changed()

    def solve(self, **options: Any) -> SolveResult:
        """Move the joints; see :meth:`Environment.solve`."""
        return self.world.solve((self,), **options)

    def jacobian(self, *, exact: bool = True) -> tuple[FloatArray, FloatArray]:
        """
        Return Jacobian (m, n) and error (m,) where the joints stand, without weights.

        Rows are those of the tasks in the order of their handles (x, y, z, alpha, beta, gamma), then those of joints
        near their limits; columns are those of ``joints``. J dq = e is a Newton step.

        :param exact: whether J is the derivative -de/dq of the error. False gives the geometric rows, which do not depend
            on the target: velocity of the tip in the axes of the constraint base, angular velocity in those of the tip.
            Both are the same where the tip is at its target.
        """
        return self.world.task_set_jacobian(self, exact=exact)

    def find_configs(
        self, joints: Sequence[Reference] | None = None, **options: Any
    ) -> FloatArray:
        """Return configurations (k, n) that meet all targets; see :meth:`Environment.find_configs`."""
        return self.world.find_configs(self, joints, **options)

    def generate_path(
        self, joints: Sequence[Reference] | None, tip: Reference, points: int, **options: Any
    ) -> PathResult:
        """Return a straight path of a tip to its target; see :meth:`Environment.generate_path`."""
        return self.world.generate_path(self, joints, tip, points, **options)

    def follow_path(
        self,
        joints: Sequence[Reference] | None,
        tip: Reference,
        poses: Sequence[ArrayLike] | FloatArray,
        **options: Any,
    ) -> PathResult:
        """Return a path through poses of a tip; see :meth:`Environment.follow_path`."""
        return self.world.follow_path(self, joints, tip, poses, **options)

    def settings(self) -> Mapping[str, Any]:
        """Return method, damping and iterations, as they stand in a document."""
        return {
            'flags': int(self._flags),
            'method': self._method.name.lower(),
            'damping': self._damping,
            'max_iterations': self._max_iterations,
            'weights_mode': self._weights_mode,
        }
