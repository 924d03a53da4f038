"""Goals and seeds: drawn in a fixed order from a fixed seed, so that they are the same for every peer and run."""

from collections.abc import Iterator
from dataclasses import dataclass
import hashlib

import numpy as np

from bench.arms import Arm, FloatArray

SEED = 12345


@dataclass(frozen=True, slots=True)
class Cases:
    """Requests that have a solution: each target is the pose at ``q``."""

    q: FloatArray
    """(k, n), NaN for goals that have no solution."""
    seeds: FloatArray
    """(k, n)"""
    targets: FloatArray
    """(k, 4, 4)"""

    def every(self, step: int) -> 'Cases':
        """
        Return one of so many.

        :param step: how many.
        """
        return Cases(self.q[::step], self.seeds[::step], self.targets[::step])

    def pairs(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return the target and the seed of each request."""
        return zip(self.targets, self.seeds, strict=True)

    @property
    def digest(self) -> str:
        """Return a short hash of all numbers, to tell whether two runs had the same requests."""
        content = b''.join(array.tobytes() for array in (self.q, self.seeds, self.targets))
        return hashlib.sha256(content).hexdigest()[:12]


def draw_cases(arm: Arm, count: int, spread: float | None = None) -> Cases:
    """
    Draw goals within the limits: all configurations first, then all seeds.

    :param arm: the arm.
    :param count: number of goals.
    :param spread: largest distance of a seed from its configuration at each joint [rad or m]; None
        means seeds anywhere within the limits.
    """
    generator = np.random.default_rng(SEED)
    lower, upper = arm.sampling_bounds()
    shape = (count, len(arm.joints))
    q = generator.uniform(lower, upper, shape)
    if spread is None:
        seeds = generator.uniform(lower, upper, shape)
    else:
        seeds = np.clip(q + generator.uniform(-spread, spread, shape), arm.lower, arm.upper)
    return Cases(q, seeds, arm.fk(q))
