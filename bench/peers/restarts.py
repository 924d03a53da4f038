"""Code that a user adds to a search with one start and without limits: random restarts, windings, a check."""

from collections.abc import Callable
import math
from time import process_time

import numpy as np

from bench.arms import Arm, FloatArray

SECONDS = 0.05
"""Processor time after which no other start follows [s]."""
Search = Callable[[FloatArray], FloatArray | None]
"""A start (n,) in, where the search has arrived or None out."""


class Restarts:
    """Random starts within the limits of an arm until a solution lies within them too."""

    def __init__(self, arm: Arm, seconds: float = SECONDS) -> None:
        """
        Remember the limits.

        :param arm: the arm.
        :param seconds: of processor time, after which no other start follows.
        """
        self.lower, self.upper = arm.lower, arm.upper
        self.bounds = arm.sampling_bounds()
        self.is_revolute = np.array([joint.is_revolute for joint in arm.joints])
        self.seconds = seconds
        self.generator = np.random.default_rng(1)

    def inside(self, q: FloatArray) -> FloatArray | None:
        """
        Return a configuration with its joints wound into the limits, None when they do not fit.

        :param q: (n,).
        """
        low, high = self.bounds
        below = np.ceil((low - q) / math.tau)
        above = np.floor((high - q) / math.tau)
        whole = np.where(self.is_revolute, np.where(below > 0, below, np.minimum(above, 0)), 0.0)
        wound: FloatArray = q + math.tau * whole
        fits = (wound >= self.lower).all() and (wound <= self.upper).all()
        return wound if fits else None

    def until_found(self, search: Search, seed: FloatArray) -> FloatArray | None:
        """
        Return the first solution within limits, None when the time is over.

        :param search: the search.
        :param seed: (n,) the first start.
        """
        end = process_time() + self.seconds
        start = seed
        while True:
            solution = search(start)
            if solution is not None:
                wound = self.inside(solution)
                if wound is not None:
                    return wound
            if process_time() > end:
                return None
            start = self.generator.uniform(*self.bounds)
