"""Tasks: a tip that is to meet its target, in some rows, measured somewhere, to some precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ssik_ros.errors import InvalidOption
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.objects import Dummy, IkObject, Reference

if TYPE_CHECKING:
    from ssik_ros.tasks.task_set import TaskSet

PRECISION = (0.0005, math.radians(0.1))


class Task:
    """One task of a task set; made by :meth:`TaskSet.add_task`."""

    def __init__(self, task_set: TaskSet, handle: int, tip: Dummy) -> None:
        """Start with the defaults of the document: position, world as base."""
        self.task_set = task_set
        self.handle = handle
        self.tip = tip
        self._constraints = Constraint.POSITION
        self._enabled = True
        self._base: IkObject | None = None
        self._constraint_base: IkObject | None = None
        self._precision = PRECISION
        self._weights = (1.0, 1.0, 1.0)
        self._target_motion = True
        self._closure = False

    def __repr__(self) -> str:
        """Return task set and tip."""
        return f'<Task {self.handle} of {self.task_set.name!r}: {self.tip.name!r}>'

    def _changed(self) -> None:
        self.task_set.world.changed()

    @property
    def target(self) -> Dummy | None:
        """Return or set the target of the tip; all tasks with this tip share it."""
        return self.tip.target

    @target.setter
    def target(self, value: Reference) -> None:
        self.tip.target = value

    @property
    def constraints(self) -> Constraint:
        """Return or set which rows count."""
        return self._constraints

    @constraints.setter
    def constraints(self, value: int) -> None:
        if not 0 <= int(value) <= Constraint.POSE:
            raise InvalidOption(f'Constraints are bits from 0 to 31, not {value}.')
        self._constraints = Constraint(int(value))
        self._changed()

    @property
    def enabled(self) -> bool:
        """Return or set whether the task takes part."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._enabled = bool(value)
        self._changed()

    @property
    def base(self) -> IkObject | None:
        """Return or set where the chain to the tip begins; None for the world."""
        return self._base

    @base.setter
    def base(self, value: Reference) -> None:
        self._base = self.task_set.world.find(value)
        self._changed()

    @property
    def constraint_base(self) -> IkObject | None:
        """Return or set in whose axes positions are measured; None for the base."""
        return self._constraint_base

    @constraint_base.setter
    def constraint_base(self, value: Reference) -> None:
        self._constraint_base = self.task_set.world.find(value)
        self._changed()

    @property
    def precision(self) -> tuple[float, float]:
        """Return or set the largest distance [m] and angle [rad] that count as met."""
        return self._precision

    @precision.setter
    def precision(self, value: tuple[float, float]) -> None:
        linear, angular = (float(number) for number in value)
        if not (0.0 <= linear < math.inf and 0.0 <= angular < math.inf):
            raise InvalidOption(f'A precision is two finite numbers >= 0, not {value}.')
        self._precision = linear, angular
        self._changed()

    @property
    def weights(self) -> tuple[float, float, float]:
        """Return or set the linear, angular and overall weight."""
        return self._weights

    @weights.setter
    def weights(self, value: tuple[float, float, float]) -> None:
        linear, angular, overall = (float(number) for number in value)
        if not all(0.0 <= number < math.inf for number in (linear, angular, overall)):
            raise InvalidOption(f'Weights are three finite numbers >= 0, not {value}.')
        self._weights = linear, angular, overall
        self._changed()

    @property
    def target_motion(self) -> bool:
        """
        Return or set whether the motion of a target that hangs on solved joints enters the Jacobian.

        False treats the target as fixed and lets only the joints between base and tip act, as the original does.
        """
        return self._target_motion

    @target_motion.setter
    def target_motion(self, value: bool) -> None:
        self._target_motion = bool(value)
        self._changed()

    @property
    def closure(self) -> bool:
        """Return or set whether the joints that carry the target are solved too, to close a loop."""
        return self._closure

    @closure.setter
    def closure(self, value: bool) -> None:
        self._closure = bool(value)
        self._changed()

    def erase(self) -> None:
        """Take the task out of its task set."""
        self.task_set.tasks.remove(self)
        self._changed()

    def uses(self, item: IkObject) -> bool:
        """Return whether an object is tip, base or constraint base of the task."""
        return item in (self.tip, self._base, self._constraint_base)
