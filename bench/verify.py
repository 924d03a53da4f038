"""Judge solutions by the harness' own forward kinematics."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.arms import Arm, FloatArray
from ssik_ros.model.reference_kinematics import ReferenceKinematics

ROUNDING = 1e-9
"""Forgiven beyond the tolerance: two correct computations of one error differ by less."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many solutions hold, and how far the worst accepted one is off."""

    asked: int
    solved: int
    """Solutions within limits and within tolerance in position and in orientation."""
    claimed_wrongly: int
    """Solutions given that do not hold."""
    worst_position: float
    """Over the solutions that hold [m]."""
    worst_orientation: float
    """Over the solutions that hold [rad]."""

    @property
    def success(self) -> float:
        """Return the share of goals solved [%]."""
        return 100.0 * self.solved / self.asked


def pose_errors(actual: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Return position errors (k,) [m] and rotation angles (k,) [rad] between poses.

    :param actual: (k, 4, 4).
    :param wanted: (k, 4, 4).
    """
    pairs = zip(actual, wanted, strict=True)
    errors = np.array([ReferenceKinematics.pose_errors(*pair) for pair in pairs]).reshape(-1, 2)
    return errors[:, 0], errors[:, 1]


def verify(
    arm: Arm, solutions: Sequence[FloatArray | None], targets: FloatArray, tolerance: float
) -> Verdict:
    """
    Return how many solutions hold.

    :param arm: the arm.
    :param solutions: k joint vectors, None where a peer gave none.
    :param targets: (k, 4, 4).
    :param tolerance: for position [m] and for orientation [rad].
    """
    given = [index for index, solution in enumerate(solutions) if solution is not None]
    if not given:
        return Verdict(len(solutions), 0, 0, np.nan, np.nan)
    q = np.array([solutions[index] for index in given])
    with np.errstate(invalid='ignore'):
        position, angle = pose_errors(arm.fk(q), targets[given])
        holds = (
            np.isfinite(q).all(axis=1)
            & (q >= arm.lower).all(axis=1)
            & (q <= arm.upper).all(axis=1)
            & (position <= tolerance + ROUNDING)
            & (angle <= tolerance + ROUNDING)
        )
    solved = int(holds.sum())
    return Verdict(
        asked=len(solutions),
        solved=solved,
        claimed_wrongly=len(given) - solved,
        worst_position=float(position[holds].max(initial=0.0)),
        worst_orientation=float(angle[holds].max(initial=0.0)),
    )
