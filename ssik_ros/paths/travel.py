"""
Free travel from one pass to the next, without collisions.

Problem
-------
Given are the last posture of a pass and the first one of the next. Find straight motions in joint space from one to the other that
collide nowhere and stay within the limits.

Method
------
1. The straight motion, followed with bounds on how far each link can move, as between waypoints.
2. The same with the tool drawn back along its axis at both ends.
3. Two trees that grow from both ends towards random postures, and towards each other (Kuffner and LaValle 2000). The random
   numbers have a seed, the number of tries a bound.
4. Parts of a way that a straight motion can replace are cut short.

A way that is returned is proved to be free. A failed search does not prove that no way exists.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
import itertools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, whole_turns
from ssik_ros.kernels.paths.layers import LARGEST_STEP, SUM_OF_SQUARES, SUM_OF_STEPS
from ssik_ros.paths.obstacles import Obstacles
from ssik_ros.paths.requests import Stretch
from ssik_ros.paths.tool_chain import ToolChain

RETREATS = (0.03, 0.1, 0.25)
"""Distances by which the tool is drawn back along its axis [m]."""
MOST_TRIES = 1000
"""Random postures of one search."""
LONGEST_REACH = 1.5
"""Longest motion of one step of a tree [rad or m]."""
BACK_OFF = 0.8
"""Part of a motion up to a collision that a tree takes, so that its next steps have room."""
SHORTEST_GROWTH = 0.02
"""Motion below which a tree does not grow [rad or m]."""
SHORTCUTS = 120
SEED = 20
HALF_TURN = math.pi


class Way(NamedTuple):
    """Result of a search for free travel between two postures."""

    q: FloatArray | None
    """(k, n) corners of the way, both postures included; None if none was found."""
    tries: int
    """Motions that were looked at."""
    pair: int
    """The pair of bodies that collided most often; -1 if no motion collided."""
    is_start_shut_in: bool
    """Whether the search got less far from the start than from the end."""


class _Tree:
    """Postures that free motions join to a first posture, the root."""

    def __init__(self, root: FloatArray) -> None:
        self._q = np.empty((16, len(root)))
        self._parents: list[int] = []
        self.add(root, -1)

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, q: FloatArray, parent: int) -> int:
        """Add a posture below the posture with index ``parent`` and return its index."""
        if len(self) == len(self._q):
            self._q = np.vstack([self._q, np.empty_like(self._q)])
        self._q[len(self)] = q
        self._parents.append(parent)
        return len(self) - 1

    def posture(self, index: int) -> FloatArray:
        """Return the posture (n,) with an index."""
        return np.asarray(self._q[index])

    def nearest(self, q: FloatArray) -> int:
        """Return the index of the posture nearest to ``q`` in the norm of joint differences."""
        away = self._q[: len(self)] - q
        return int(np.argmin(np.einsum('ij,ij->i', away, away)))

    def way_to(self, index: int) -> FloatArray:
        """Return the postures (k, n) from the root to the posture with an index."""
        found = [index]
        while self._parents[found[-1]] >= 0:
            found.append(self._parents[found[-1]])
        return np.asarray(self._q[found[::-1]])


class TravelSearch:
    """Looks for free ways between postures; serves one thread."""

    def __init__(
        self,
        chain: ToolChain,
        obstacles: Obstacles | None,
        axis: FloatArray,
        pause: Callable[[], None],
        accepts: Callable[[FloatArray], bool] | None = None,
    ) -> None:
        """
        Store the settings that all searches share.

        :param chain: the joints.
        :param obstacles: None if collisions are not checked.
        :param axis: (3,) tool axis in the tip frame.
        :param pause: is called between steps of a search.
        :param accepts: tells whether the caller wants a corner (n,); None accepts all.
        """
        self._accepts = accepts
        self._chain, self._obstacles, self._axis, self._pause = chain, obstacles, axis, pause
        self._met: Counter[int] = Counter()
        self._tries = 0

    def find(self, start: FloatArray, end: FloatArray) -> Way:
        """
        Return a way from one posture to another; after a failed search it has None for its corners.

        :param start, end: (n,) within the limits.
        """
        self._met.clear()
        self._tries = 0
        if self._free_part(start, end) == 1.0:
            return Way(np.array([start, end]), self._tries, -1, False)
        trees = _Tree(start), _Tree(end)
        found = self._drawn_back(trees)
        if found is None:
            found = self._grow(trees, start, end)
        pair = self._met.most_common(1)[0][0] if self._met else -1
        if found is None:
            return Way(None, self._tries, pair, len(trees[0]) < len(trees[1]))
        return Way(self._shortened(found), self._tries, pair, False)

    def is_free(self, way: FloatArray) -> bool:
        """
        Return whether all straight motions of a way are free of collisions; True if collisions are not checked.

        :param way: (k, n).
        """
        return self._obstacles is None or bool((self._obstacles.follow(way)[0] == 1.0).all())

    def _free_part(self, start: FloatArray, end: FloatArray) -> float:
        """
        Return the free part of a straight motion, 0 to 1, and count the pair that ends it.

        If the caller refuses start or end, return 0.
        """
        self._pause()
        self._tries += 1
        reached = 1.0
        if self._obstacles is not None:
            parts, pairs = self._obstacles.follow(np.array([start, end]))
            reached = float(parts[0])
            if reached < 1.0:
                self._met[int(pairs[0])] += 1
        if reached == 1.0 and self._accepts is not None:
            return float(self._accepts(start) and self._accepts(end))
        return reached

    def _drawn_back(self, trees: tuple[_Tree, _Tree]) -> FloatArray | None:
        """
        Return a way on which the tool retreats along its axis at one end or both; None if all collide.

        Free postures are added to the trees.
        """
        behind: list[list[int]] = [[0], [0]]
        for tree, own in zip(trees, behind, strict=True):
            for way, side in itertools.product(RETREATS, (-1.0, 1.0)):
                away = self._beside(tree.posture(0), side * way)
                if away is not None and self._free_part(tree.posture(0), away) == 1.0:
                    own.append(tree.add(away, 0))
        for a, b in itertools.product(*behind):
            if (a or b) and self._free_part(trees[0].posture(a), trees[1].posture(b)) == 1.0:
                return np.vstack([trees[0].way_to(a), trees[1].way_to(b)[::-1]])
        return None

    def _beside(self, q: FloatArray, way: float) -> FloatArray | None:
        """
        Return the posture nearest to ``q`` with the tool moved along its axis by ``way`` [m].

        Return None if the nearest posture is on another branch or outside the limits.
        """
        chain = self._chain
        shifted = chain.pose(q)
        shifted[:3, 3] += way * (shifted[:3, :3] @ self._axis)
        held = q[chain.held] if chain.has_held else 0.0
        found = chain.find_postures(shifted[None], q[None, : chain.outer], np.array([[held]])).q
        if not len(found):
            return None
        found = found + np.where(chain.has_windings, whole_turns(q - found), 0.0)
        away = np.abs(found - q).max(axis=1)
        best = found[int(np.argmin(away))]
        own = chain.chain
        is_within = bool(((best >= own.lower) & (best <= own.upper)).all())
        return best if is_within and away.min() < HALF_TURN / 2.0 else None

    def _grow(
        self, trees: tuple[_Tree, _Tree], start: FloatArray, end: FloatArray
    ) -> FloatArray | None:
        """Grow both trees in turn until they meet; return the way (k, n) from start to end, None if they never meet."""
        for number, target in enumerate(self._targets(start, end)):
            own, other = trees if number % 2 == 0 else trees[::-1]
            new = self._extend(own, target, LONGEST_REACH)
            if new < 0:
                continue
            meeting = self._extend(other, own.posture(new), math.inf)
            if meeting >= 0 and (other.posture(meeting) == own.posture(new)).all():
                ways = own.way_to(new), other.way_to(meeting)[-2::-1]
                found = np.vstack(ways)
                return found if number % 2 == 0 else found[::-1]
        return None

    def _targets(self, start: FloatArray, end: FloatArray) -> Iterator[FloatArray]:
        """Yield the same random postures in each call: within the limits, at most half a turn beyond both ends."""
        rng, own = np.random.default_rng(SEED), self._chain.chain
        low = np.maximum(own.lower, np.minimum(start, end) - HALF_TURN)
        high = np.minimum(own.upper, np.maximum(start, end) + HALF_TURN)
        for _ in range(MOST_TRIES):
            yield low + (high - low) * rng.random(len(low))

    def _extend(self, tree: _Tree, target: FloatArray, longest: float) -> int:
        """
        Extend a tree from its nearest posture towards ``target`` as far as the motion is free, at most by ``longest``.

        Return the index of the new posture, -1 if the tree did not grow.
        """
        near = tree.nearest(target)
        start = tree.posture(near)
        away = target - start
        length = float(np.linalg.norm(away))
        if length > longest:
            target, away, length = (
                start + (longest / length) * away,
                (longest / length) * away,
                longest,
            )
        part = self._free_part(start, target)
        if part == 1.0:
            return tree.add(target, near)
        part *= BACK_OFF
        return tree.add(start + part * away, near) if part * length > SHORTEST_GROWTH else -1

    def _shortened(self, way: FloatArray) -> FloatArray:
        """Return a way (k, n) after replacing parts of it by straight motions that are free."""
        rng = np.random.default_rng(SEED)
        for _ in range(SHORTCUTS if len(way) > 2 else 0):
            a, b = np.sort(rng.random(2) * (len(way) - 1))
            i, j = int(a), int(b)
            if i == j:
                continue
            first = way[i] + (a - i) * (way[i + 1] - way[i])
            last = way[j] + (b - j) * (way[min(j + 1, len(way) - 1)] - way[j])
            if self._free_part(first, last) == 1.0:
                way = np.vstack([way[: i + 1], first, last, way[j + 1 :]])
        corner = 1
        while corner < len(way) - 1:
            if self._free_part(way[corner - 1], way[corner + 1]) == 1.0:
                way = np.delete(way, corner, axis=0)
            else:
                corner += 1
        return way


def travel_cost(way: FloatArray, weights: FloatArray, objective: int) -> float:
    """
    Return the cost of free travel, as if it were one step of the same length; 0 for the objective LARGEST_STEP.

    :param way: (k, n) corners.
    :param weights: (n,) of the objective.
    :param objective: SUM_OF_STEPS or another one of the kernels.
    """
    steps = np.abs(np.diff(way, axis=0)) * weights
    if objective == LARGEST_STEP:
        return 0.0
    if objective == SUM_OF_STEPS:
        return float(steps.sum())
    if objective == SUM_OF_SQUARES:
        return float(np.linalg.norm(steps, axis=1).sum() ** 2)
    return float(steps.max(axis=1).sum())


def travel_times(way: FloatArray, velocity: FloatArray) -> FloatArray:
    """
    Return when each corner (k,) of a way is reached with the slowest joint at its limit [s].

    :param way: (k, n) corners.
    :param velocity: (n,) limits.
    """
    spans = (np.abs(np.diff(way, axis=0)) / velocity).max(axis=1)
    return np.concatenate([[0.0], np.cumsum(spans)])


def split_path(
    q: FloatArray,
    ways: Mapping[int, FloatArray],
    times: FloatArray | None,
    velocity: FloatArray,
) -> list[Stretch]:
    """
    Return a path as passes and the travel between them, in the order of the path.

    :param q: (m, n) one row per waypoint.
    :param ways: travel from the waypoint with this index to the next one.
    :param times: (m,) when each waypoint is reached; None where unknown.
    :param velocity: (n,) limits.
    """
    found, begin = [], 0
    for end in [*sorted(ways), len(q) - 1]:
        rows = slice(begin, end + 1)
        own = None if times is None else times[rows]
        found.append(Stretch(False, begin, end, q[rows], own))
        if end in ways:
            own = None if times is None else times[end] + travel_times(ways[end], velocity)
            found.append(Stretch(True, end, end + 1, ways[end], own))
        begin = end + 1
    return found
