"""Judge sets of branches: number of different branches, how many reach the pose, and whether the known one is found."""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from bench.arms import Arm, FloatArray
from bench.cases import Cases

HOLDS = 1e-5
"""Largest Frobenius norm of FK - T at which a branch reaches its target."""
SAME = 1e-4
"""Largest difference of two joint vectors, modulo 2 pi, that are one branch [rad]."""
AT_LIMIT = 1e-9
"""How far beyond a limit a joint may be by rounding [rad]."""


@dataclass(frozen=True, slots=True)
class BranchSets:
    """The verdict on the branches of all cases."""

    counts: tuple[int, ...]
    """Different branches of each case that reach its pose."""
    empty: float
    """Share of cases without any [%]."""
    recovered_share: float | None
    """Share of cases whose own configuration is among them [%]; None where a pose has a continuum of them."""
    wrong: int
    """Branches that do not reach the pose."""
    outside: int
    """Branches outside the limits."""
    repeated: int
    """Branches that are in a set twice."""
    worst_residual: float
    """Frobenius norm of FK - T, among those that hold."""

    @property
    def span(self) -> str:
        """Return the smallest, median and largest number of branches."""
        return f'{min(self.counts)}-{np.median(self.counts):.0f}-{max(self.counts)}'

    @property
    def mean(self) -> float:
        """Return the mean number of branches."""
        return float(np.mean(self.counts))


def wrap(angles: FloatArray) -> FloatArray:
    """
    Return angles in [-pi, pi).

    :param angles: [rad].
    """
    wrapped: FloatArray = (angles + math.pi) % (2.0 * math.pi) - math.pi
    return wrapped


def residuals(arm: Arm, q: FloatArray, target: FloatArray) -> FloatArray:
    """
    Return the Frobenius norms (k,) of FK - T.

    :param arm: the arm.
    :param q: (k, n).
    :param target: (4, 4), or (k, 4, 4) for a target of each row.
    """
    norms: FloatArray = np.linalg.norm(arm.fk(q) - target, axis=(1, 2))
    return norms


def different(q: FloatArray) -> FloatArray:
    """
    Return the rows of (k, n) that do not repeat an earlier one, modulo 2 pi.

    :param q: (k, n).
    """
    gaps = np.abs(wrap(q[:, None] - q[None])).max(axis=2) <= SAME
    rows: FloatArray = q[~np.tril(gaps, -1).any(axis=1)]
    return rows


def judge(arm: Arm, solutions: Sequence[FloatArray], cases: Cases) -> BranchSets:
    """
    Return the verdict on one set of branches for each case.

    :param arm: the arm.
    :param solutions: (k, n) each.
    :param cases: goals.
    """
    counts, recoveries, outside, repeated = [], 0, 0, 0
    norms, wrong = [np.empty(0)], 0
    for q, posture, target in zip(solutions, cases.q, cases.targets, strict=True):
        residual = residuals(arm, q, target)
        holds = residual <= HOLDS
        rows = different(q[holds])
        counts.append(len(rows))
        recoveries += bool((np.abs(wrap(rows - posture)).max(axis=1, initial=0.0) <= SAME).any())
        wrong += int((~holds).sum())
        repeated += int(holds.sum()) - len(rows)
        outside += int(((q < arm.lower - AT_LIMIT) | (q > arm.upper + AT_LIMIT)).any(axis=1).sum())
        norms.append(residual[holds])
    seen, asked = np.concatenate(norms), len(cases.q)
    return BranchSets(
        counts=tuple(counts),
        empty=100.0 * counts.count(0) / asked,
        recovered_share=100.0 * recoveries / asked if len(arm.joints) <= 6 else None,
        wrong=wrong,
        outside=outside,
        repeated=repeated,
        worst_residual=float(seen.max(initial=0.0)) if len(seen) else np.nan,
    )
