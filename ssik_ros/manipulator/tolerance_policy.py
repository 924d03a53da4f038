"""The numerical tolerances that a user of :class:`ssik_ros.Manipulator` may set, under ssik's names."""

from collections.abc import Iterator
from dataclasses import fields
import math

from ssik_ros.arguments import shown
from ssik_ros.errors import InvalidOption
from ssik_ros.value_class import dataclass


@dataclass(frozen=True, slots=True)
class TolerancePolicy:
    """
    Tolerances of an arm under ssik's names: for its axes, its solutions and its targets; rarely changed.

    The report of a solve warns about changed fields that no calculation reads. It also warns about axis tolerances that
    differ from those with which the Manipulator was made.
    """

    axis_parallel: float = 1e-8
    """Largest sine of the angle between axes that count as parallel; read when a Manipulator is made [1]."""
    axis_intersect: float = 1e-8
    """
    Largest distance of axes from a common point, relative to the arm's size, at which they count as meeting [1].

    It is read when a Manipulator is made. Solutions are exact on the arm as it is in any case.
    """
    subproblem_feasibility: float = 1e-9
    """Kept for compatibility: whether a candidate is exact is decided by forward kinematics, not by subproblems."""
    subproblem_numerical: float = 1e-5
    """A third of the deviation from a rigid transform that a target may have, and the loosest residual ever accepted."""
    subproblem_degeneracy: float = 1e-12
    """Kept for compatibility: degenerate subproblems are told by the arm's own geometry."""
    subproblem_dedup: float = 1e-3
    """Difference of two branches, in every joint, below which they may be one [rad]."""
    subproblem_postverify: float = 1e-9
    """Largest Frobenius norm of FK(q) - T of an accepted solution of a closed form."""

    def __post_init__(self) -> None:
        """Raise InvalidOption if a field is not a positive number."""
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0.0 < value < math.inf:
                raise InvalidOption(
                    f'TolerancePolicy.{field.name} must be a positive number, not {shown(value)}.',
                    name=field.name,
                    value=value,
                )

    def __repr__(self) -> str:
        """Return a text with the fields that differ from their defaults."""
        changed = [
            f'{field.name}={getattr(self, field.name)!r}'
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f'TolerancePolicy({", ".join(changed)})'

    @property
    def fk_atol(self) -> float:
        """Return the largest residual of an accepted solution: the Frobenius norm of its pose minus the target."""
        return min(self.subproblem_postverify, self.subproblem_numerical)

    @property
    def rigid(self) -> float:
        """Return the tolerance of rigid targets: the largest Frobenius norm of R^T R - I for the rotation block R."""
        return 3.0 * self.subproblem_numerical

    def unused_changes(self, made_with: 'TolerancePolicy') -> Iterator[str]:
        """
        Yield a warning for each changed field that has no effect on a solve.

        These are fields that no calculation reads, and axis tolerances that differ from those with which the arm was
        made.

        :param made_with: policy that the arm was made with.
        """
        for name in READ_WHEN_MADE:
            if getattr(self, name) != getattr(made_with, name):
                yield f'policy.{name} is not used here: give it when the Manipulator is made.'
        for name in UNUSED:
            if getattr(self, name) != getattr(DEFAULT_TOLERANCE_POLICY, name):
                yield f'policy.{name} is not used: forward kinematics decides what is a solution.'


READ_WHEN_MADE = ('axis_parallel', 'axis_intersect')
"""Fields that decide about the class of an arm."""
UNUSED = ('subproblem_feasibility', 'subproblem_degeneracy')
"""Fields that no calculation reads."""

DEFAULT_TOLERANCE_POLICY = TolerancePolicy()
