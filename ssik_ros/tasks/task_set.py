"""Tasks (a tip that is to meet its target), and task sets, in which tasks are solved together; settings are checked."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any, Literal

from ssik_ros.arguments import (
    as_integer,
    read_count,
    read_flag,
    read_float,
    read_number,
    read_numbers,
    refuse,
    shown,
)
from ssik_ros.errors import InvalidOption, quote, RequestError
from ssik_ros.tasks.constants import Constraint, Method, read_member, TaskSetFlag, TIP_FLAG
from ssik_ros.tasks.objects import (
    Dummy,
    IkObject,
    ObjectTable,
    read_switch,
    Reference,
    Setting,
    write_settings,
)

PRECISION = (0.0005, math.radians(0.1))
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
    """Raised if no task set has the given name or handle, or if the task set does not contain the given task."""


def _read_constraints(task: Task, value: int) -> Constraint:
    """Return a whole number from 0 to 31 as bits of :class:`Constraint`; raise InvalidOption for other values."""
    bits = as_integer(value)
    if bits is None or not 0 <= bits <= Constraint.POSE:
        raise InvalidOption(f'constraints are bits from 0 to 31, not {shown(value)}.')
    return Constraint(bits)


def _read_object(task: Task, value: Reference) -> IkObject | None:
    """
    Return the object of the task's environment that a reference names: the object, its name or its handle.

    Return None for the world (None or -1). Raise FrameNotFound for an unknown object.
    """
    return task.world.find(value)


def _read_tuple(name: str, count: int) -> Callable[[Task, Any], Any]:
    """
    Return a function (task, value) that reads a tuple of finite numbers that are not negative.

    It raises DimensionMismatch for another count, and InvalidOption for other values.

    :param name: the setting, for messages.
    :param count: how many numbers.
    """

    def read(task: Task, value: Any) -> tuple[float, ...]:
        numbers = read_numbers(name, value, (count,)).tolist()
        if not all(0.0 <= number < math.inf for number in numbers):
            refuse(f'The {name}', value, f'{count} finite numbers >= 0')
        return tuple(numbers)

    return read


class Task:
    """A tip that is to meet its target in the coordinates of ``constraints``; made by :meth:`TaskSetData.add_task`."""

    constraints = Setting(Constraint.POSITION, _read_constraints)
    """Coordinates of the tip that must agree with the target, as bits of :class:`Constraint`."""
    enabled = Setting(True, read_switch)
    """Whether solves include the task."""
    base = Setting(None, _read_object)
    """Where the chain to the tip begins; None for the world."""
    constraint_base = Setting(None, _read_object)
    """In whose axes positions are measured; None for the base."""
    precision = Setting(PRECISION, _read_tuple('precision', 2))
    """Largest distance [m] and angle [rad] that count as met."""
    weights = Setting((1.0, 1.0, 1.0), _read_tuple('weights', 3))
    """Linear, angular and overall weight."""
    target_motion = Setting(True, read_switch)
    """
    Whether the motion of a target that hangs on solved joints enters the Jacobian.

    False treats the target as fixed and lets only the joints between base and tip act, as the original does.
    """
    closure = Setting(False, read_switch)
    """Whether the joints that carry the target are solved too, to close a loop."""

    def __init__(self, task_set: TaskSetData, handle: int, tip: Dummy) -> None:
        """
        Make a task of a tip with the defaults of simIK: x, y and z are constrained, and the chain begins at the world.

        :param handle: number of the task in its task set.
        """
        self.task_set = task_set
        self.handle = handle
        self.tip = tip

    def __repr__(self) -> str:
        """Return task set and tip."""
        return f'<Task {self.handle} of {self.task_set.name!r}: {self.tip.name!r}>'

    @property
    def world(self) -> ObjectTable:
        """Return the environment to which the task set of this task belongs."""
        return self.task_set.world

    @property
    def target(self) -> Dummy | None:
        """
        Return or set the target of the tip, a dummy or None for no target; all tasks with this tip share it.

        :raises FrameNotFound: (a KeyError) for an unknown target.
        :raises InvalidOption: if the target is a joint or the tip itself.
        """
        return self.tip.target

    @target.setter
    def target(self, value: Reference) -> None:
        self.tip.target = value

    def erase(self) -> None:
        """Remove the task from its task set."""
        self.task_set.tasks.remove(self)
        self.world.changed()


def _read_damping(task_set: TaskSetData, value: float) -> float:
    """Return a finite damping that is not negative; raise InvalidOption for others."""
    damping = read_float('damping', value)
    if not 0.0 <= damping < math.inf:
        raise InvalidOption(f'The damping must be finite and >= 0, not {damping}.')
    return damping


def _read_iterations(task_set: TaskSetData, value: float) -> int:
    """Return a number of iterations; raise InvalidOption for anything but a whole number from 0 to 2^31 - 1."""
    # In scripts of simIK, a whole number may be a float.
    iterations = read_number('max_iterations', value)
    if not (0.0 <= iterations < 2**31 and iterations.is_integer()):
        refuse('max_iterations', value, 'a whole number from 0 on, and below 2^31')
    return int(iterations)


def _read_weights_mode(task_set: TaskSetData, value: WeightsMode) -> WeightsMode:
    """Return ``least_squares`` or ``gain``; raise InvalidOption for any other value."""
    if value not in ('least_squares', 'gain'):
        raise InvalidOption(f"The weights mode is 'least_squares' or 'gain', not {quote(value)}.")
    return value


def _switch(flag: TaskSetFlag) -> property:
    """Return a property of a task set that reads and writes one bit of its ``flags`` as a bool."""

    def put(task_set: TaskSetData, value: bool) -> None:
        task_set.flags = (
            task_set.flags | flag if read_flag('The switch', value) else task_set.flags & ~flag
        )

    return property(lambda task_set: bool(task_set.flags & flag), put)


class TaskSetData:
    """
    A list of tasks that are solved together, with the method and the settings of the solve.

    Users get the derived class ``TaskSet``, which also reaches the environment.
    """

    flags = Setting(
        TaskSetFlag.ENABLED | TaskSetFlag.IGNORE_MAX_STEPS,
        lambda task_set, value: TaskSetFlag(read_count('flags', value)),
    )
    """All switches as bits."""
    enabled = _switch(TaskSetFlag.ENABLED)
    """Whether solves include the task set."""
    ignore_max_steps = _switch(TaskSetFlag.IGNORE_MAX_STEPS)
    """Whether steps may be longer than ``max_step`` of the joints; the first task set of a solve decides."""
    restore_on_bad_linear = _switch(TaskSetFlag.RESTORE_ON_BAD_LINEAR)
    """
    Whether a solve restores the joint values before it if the linear error of a tip is beyond its precision.

    The first task set of a solve decides for all of them.
    """
    restore_on_bad_angular = _switch(TaskSetFlag.RESTORE_ON_BAD_ANGULAR)
    """Whether a solve restores the joint values before it if the angular error of a tip is beyond its precision."""
    stop_on_limit_hit = _switch(TaskSetFlag.STOP_ON_LIMIT_HIT)
    """Whether a solve ends after the step in which a joint stops at a limit; the first task set of a solve decides."""
    avoid_limits = _switch(TaskSetFlag.AVOID_LIMITS)
    """Whether joints within their limit margin are pushed back."""
    method = Setting(
        Method.PSEUDO_INVERSE,
        lambda task_set, value: read_member(Method, value, 'method', METHOD_NAMES),
    )
    """How rows are inverted: a :class:`Method`, its number or its name."""
    damping = Setting(0.1, _read_damping)
    """Damping of damped least squares, squared on the diagonal."""
    max_iterations = Setting(3, _read_iterations)
    """Most steps of a solve; the first task set of a solve decides."""
    weights_mode = Setting('least_squares', _read_weights_mode)
    """
    Effect of task weights.

    ``least_squares`` scales whole rows, so that tasks trade off; ``gain`` scales errors only, as the original.
    """

    def __init__(self, world: ObjectTable, name: str, handle: int) -> None:
        """
        Make an empty task set with the defaults of simIK: pseudo-inverse, at most 3 iterations, step sizes not limited.

        :param handle: number of the task set in its environment.
        """
        self.world = world
        self.name = name
        self.handle = handle
        self.tasks: list[Task] = []

    def __repr__(self) -> str:
        """Return the name and the number of tasks."""
        return f'<TaskSet {self.name!r}: {len(self.tasks)} tasks>'

    def add_task(
        self,
        tip: Reference,
        base: Reference = None,
        target: Reference = None,
        constraints: int = Constraint.POSE,
        **settings: Any,
    ) -> Task:
        """
        Add a task that moves a tip to its target, and return the task.

        :param tip: the dummy that is to meet the target.
        :param base: the object at which the chain to the tip begins; None for the world.
        :param target: the dummy that the tip is to meet; None keeps the tip's target.
        :param constraints: bits of :class:`Constraint`: the coordinates that must agree.
        :param settings: other attributes of the task, such as ``precision``, ``weights`` and ``closure``.
        :raises FrameNotFound: (a KeyError) for an unknown tip, base or target.
        :raises InvalidOption: if tip or target is not a dummy, or for an unknown or wrong setting.
        :raises DimensionMismatch: for another number of values in ``precision`` or ``weights``.
        """
        dummy = self.world.dummy(tip)
        used = {task.handle for task in self.tasks}
        handle = next(number for number in range(len(used) + 1) if number not in used)
        task = Task(self, handle, dummy)
        write_settings(task, {'base': base, 'constraints': constraints, **settings})
        if target is not None:
            dummy.target = target
        self.tasks.append(task)
        self.tasks.sort(key=lambda item: item.handle)
        self.world.changed()
        return task

    def task(self, reference: Task | int | str | IkObject) -> Task:
        """
        Return a task by itself, its handle, its tip or the tip's name.

        A tip may also be named by its handle plus ``TIP_FLAG``. If several tasks have this tip, the first one is
        returned.

        :raises TaskSetNotFound: (a KeyError) if the task set does not have the task.
        """
        handle = as_integer(reference)
        key = reference if isinstance(reference, str) else handle
        for task in self.tasks:
            objects: list[Any] = [task, task.tip]
            if key is not None and key in (task.handle, task.tip.name):
                return task
            if any(reference is item for item in objects):
                return task
        if handle is not None and handle >= TIP_FLAG:
            for task in self.tasks:
                if task.tip.handle == handle - TIP_FLAG:
                    return task
        raise TaskSetNotFound(
            f'Task set {quote(self.name)} has no task {shown(reference)}; it has '
            f'{[(task.handle, task.tip.name) for task in self.tasks]}.',
            name=reference,
        )

    def forget(self, item: IkObject) -> None:
        """Remove the tasks that have an object as tip, base or constraint base."""
        self.tasks = [
            task for task in self.tasks if item not in (task.tip, task.base, task.constraint_base)
        ]
