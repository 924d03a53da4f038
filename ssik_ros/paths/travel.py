"""
Free travel: collision-free joint motions from the end of one pass to the beginning of the next.

Problem
-------
Given are the last posture of a pass and the first posture of the next pass. Find a polyline in joint space, straight
motions from one to the other, that does not collide and stays within the limits.

Method
------
1. Try the straight motion; bounds on how far each link can move prove it free.
2. Try the same with the tool drawn back along its axis at one end or both.
3. Grow two trees of postures from both ends towards random postures, and towards each other (Kuffner and LaValle 2000).
   The random numbers have a fixed seed, and the number of tries is bounded.
4. Shorten the polyline: replace parts of it by straight motions if these are free.

A returned polyline is proved to be free. A failed search does not prove that no polyline exists.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
import itertools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import are_inside, FloatArray, whole_turns
from ssik_ros.paths.collisions.obstacles import Obstacles
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


class TravelResult(NamedTuple):
    """Result of a search for free travel between two postures: the corners of the polyline, or None."""

    q: FloatArray | None
    """(k, n) corners of the polyline, both postures included; None if none was found."""
    tries: int
    """Number of straight motions that were checked."""
    pair: int
    """Index of the pair of bodies that collided most often, see :class:`Obstacles`; -1 if no motion collided."""
    is_start_shut_in: bool
    """Whether the tree from the start has fewer postures than the tree from the end; False if a polyline was found."""


class _Tree:
    """A tree of postures: a free straight motion joins each posture to its parent, and at last to the root."""

    def __init__(self, root: FloatArray) -> None:
        self._q = np.empty((16, len(root)))
        self._parents: list[int] = []
        self.add(root, -1)

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, q: FloatArray, parent: int) -> int:
        """Add a posture as a child of the posture with index ``parent`` (-1 for the root), and return its index."""
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
        differences = self._q[: len(self)] - q
        return int(np.argmin(np.einsum('ij,ij->i', differences, differences)))

    def path_to(self, index: int) -> FloatArray:
        """Return the postures (k, n) from the root to the posture with an index."""
        indices = [index]
        while self._parents[indices[-1]] >= 0:
            indices.append(self._parents[indices[-1]])
        return np.asarray(self._q[indices[::-1]])


class TravelSearch:
    """Searches collision-free polylines between two postures; serves one thread."""

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
        :param pause: called before each motion is checked; it raises an exception to stop.
        :param accepts: the caller's filter: returns whether a polyline may have a corner at a posture (n,); None
            accepts all.
        """
        self._accepts = accepts
        self._chain, self._obstacles, self._axis, self._pause = chain, obstacles, axis, pause
        self._met: Counter[int] = Counter()
        self._tries = 0

    def find(self, start: FloatArray, end: FloatArray) -> TravelResult:
        """
        Search for a collision-free polyline from one posture to another; return it with the number of motions tried.

        If the search fails, the corners ``q`` of the result are None.

        :param start, end: (n,) postures within the limits.
        """
        self._met.clear()
        self._tries = 0
        if self._free_part(start, end) == 1.0:
            return TravelResult(np.array([start, end]), self._tries, -1, False)
        trees = _Tree(start), _Tree(end)
        corners = self._drawn_back(trees)
        if corners is None:
            corners = self._grow(trees, start, end)
        pair = self._met.most_common(1)[0][0] if self._met else -1
        if corners is None:
            return TravelResult(None, self._tries, pair, len(trees[0]) < len(trees[1]))
        return TravelResult(self._shortened(corners), self._tries, pair, False)

    def is_free(self, corners: FloatArray) -> bool:
        """
        Return whether all straight motions between the corners of a polyline are free of collisions.

        Without collision checks, return True.

        :param corners: (k, n) corners.
        """
        return self._obstacles is None or bool((self._obstacles.follow(corners)[0] == 1.0).all())

    def _free_part(self, start: FloatArray, end: FloatArray) -> float:
        """
        Return how far a straight motion is free, from 0 to 1, and count the colliding pair of bodies.

        If the motion is free but the caller refuses its start or end, return 0.
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
        Return a polyline (k, n) on which the tool first retreats along its axis at one end or both.

        Return None if no such polyline is free. Postures of free retreats are added to the two trees.
        """
        retreats: list[list[int]] = [[0], [0]]
        for tree, indices in zip(trees, retreats, strict=True):
            for distance, side in itertools.product(RETREATS, (-1.0, 1.0)):
                retreated = self._shifted(tree.posture(0), side * distance)
                if retreated is not None and self._free_part(tree.posture(0), retreated) == 1.0:
                    indices.append(tree.add(retreated, 0))
        for a, b in itertools.product(*retreats):
            if (a or b) and self._free_part(trees[0].posture(a), trees[1].posture(b)) == 1.0:
                return np.vstack([trees[0].path_to(a), trees[1].path_to(b)[::-1]])
        return None

    def _shifted(self, q: FloatArray, shift: float) -> FloatArray | None:
        """
        Return the posture nearest to ``q``, by the largest joint difference, whose tool is shifted along its axis.

        Parameters keep their values. Return None without a solution, or if the nearest solution is outside the limits
        or differs by a quarter turn or more.

        :param shift: distance of the shift [m].
        """
        chain = self._chain
        shifted = chain.pose(q)
        shifted[:3, 3] += shift * (shifted[:3, :3] @ self._axis)
        held = q[chain.held] if chain.has_held else 0.0
        postures = chain.find_postures(shifted[None], q[None, : chain.outer], np.array([[held]])).q
        if not len(postures):
            return None
        postures = postures + np.where(chain.has_windings, whole_turns(q - postures), 0.0)
        changes = np.abs(postures - q).max(axis=1)
        best = postures[int(np.argmin(changes))]
        serial = chain.chain
        is_within = bool(are_inside(best, serial.lower, serial.upper).all())
        return best if is_within and changes.min() < HALF_TURN / 2.0 else None

    def _grow(
        self, trees: tuple[_Tree, _Tree], start: FloatArray, end: FloatArray
    ) -> FloatArray | None:
        """
        Grow both trees in turn until they meet; return the polyline (k, n) from start to end.

        Return None if they have not met after MOST_TRIES random postures.
        """
        for number, target in enumerate(self._targets(start, end)):
            tree, other = trees if number % 2 == 0 else trees[::-1]
            new = self._extend(tree, target, LONGEST_REACH)
            if new < 0:
                continue
            meeting = self._extend(other, tree.posture(new), math.inf)
            if meeting >= 0 and (other.posture(meeting) == tree.posture(new)).all():
                halves = tree.path_to(new), other.path_to(meeting)[-2::-1]
                corners = np.vstack(halves)
                return corners if number % 2 == 0 else corners[::-1]
        return None

    def _targets(self, start: FloatArray, end: FloatArray) -> Iterator[FloatArray]:
        """
        Yield MOST_TRIES random postures within the limits, the same ones at each call.

        Each joint is at most half a turn outside the range between start and end.
        """
        rng, serial = np.random.default_rng(SEED), self._chain.chain
        low = np.maximum(serial.lower, np.minimum(start, end) - HALF_TURN)
        high = np.minimum(serial.upper, np.maximum(start, end) + HALF_TURN)
        for _ in range(MOST_TRIES):
            yield low + (high - low) * rng.random(len(low))

    def _extend(self, tree: _Tree, target: FloatArray, longest: float) -> int:
        """
        Extend a tree from its nearest posture towards ``target``, at most by ``longest``.

        If the motion is free, the tree gets its end, otherwise BACK_OFF times the free part. Return the index of the
        new posture, -1 if the tree did not grow.
        """
        near = tree.nearest(target)
        start = tree.posture(near)
        motion = target - start
        length = float(np.linalg.norm(motion))
        if length > longest:
            target, motion, length = (
                start + (longest / length) * motion,
                (longest / length) * motion,
                longest,
            )
        part = self._free_part(start, target)
        if part == 1.0:
            return tree.add(target, near)
        part *= BACK_OFF
        return tree.add(start + part * motion, near) if part * length > SHORTEST_GROWTH else -1

    def _shortened(self, corners: FloatArray) -> FloatArray:
        """
        Return a polyline (k, n) with the same ends that is not longer: free straight motions replace some parts.

        :param corners: (c, n) postures of the given polyline.
        """
        rng = np.random.default_rng(SEED)
        for _ in range(SHORTCUTS if len(corners) > 2 else 0):
            a, b = np.sort(rng.random(2) * (len(corners) - 1))
            i, j = int(a), int(b)
            if i == j:
                continue
            first = corners[i] + (a - i) * (corners[i + 1] - corners[i])
            last = corners[j] + (b - j) * (corners[min(j + 1, len(corners) - 1)] - corners[j])
            if self._free_part(first, last) == 1.0:
                corners = np.vstack([corners[: i + 1], first, last, corners[j + 1 :]])
        corner = 1
        while corner < len(corners) - 1:
            if self._free_part(corners[corner - 1], corners[corner + 1]) == 1.0:
                corners = np.delete(corners, corner, axis=0)
            else:
                corner += 1
        return corners


def travel_times(corners: FloatArray, velocity: FloatArray) -> FloatArray:
    """
    Return the time (k,) at which each corner of a polyline is reached, from 0 at the first [s].

    On each motion the slowest joint has its velocity limit.

    :param corners: (k, n) corners.
    :param velocity: (n,) velocity limits [rad/s or m/s].
    """
    spans = (np.abs(np.diff(corners, axis=0)) / velocity).max(axis=1)
    return np.concatenate([[0.0], np.cumsum(spans)])


def split_path(
    q: FloatArray,
    travel_paths: Mapping[int, FloatArray],
    times: FloatArray | None,
    velocity: FloatArray,
) -> list[Stretch]:
    """
    Return a path as a list of passes and the free travel between them, in the order of the path.

    :param q: (m, n) one posture per waypoint.
    :param travel_paths: free travel (k, n) from the waypoint with this index to the next one.
    :param times: (m,) when each waypoint is reached [s]; None if unknown.
    :param velocity: (n,) velocity limits [rad/s or m/s].
    """
    stretches, begin = [], 0
    for end in [*sorted(travel_paths), len(q) - 1]:
        rows = slice(begin, end + 1)
        stretch_times = None if times is None else times[rows]
        stretches.append(Stretch(False, begin, end, q[rows], stretch_times))
        if end in travel_paths:
            stretch_times = (
                None if times is None else times[end] + travel_times(travel_paths[end], velocity)
            )
            stretches.append(Stretch(True, end, end + 1, travel_paths[end], stretch_times))
        begin = end + 1
    return stretches
