"""
Search for the best place for the base of one arm, or of two, so that a list of tasks is reached.

Problem
-------
At a given place of the base, each task has a best posture: within limits, and without collisions with the robot itself
and the cell. Find the place with the largest weight of reached tasks. Among equal places, take the place whose worst
posture is best by the objective.

Method
------
1. Find the tasks that are reached from each place of a grid, without collision checks. For two arms, combine their best
   places.
2. At the best of these places, compute the value of the worst posture, still without collision checks. Keep the best
   places that are apart from each other.
3. From each of them, search at random in a box around the best place so far. Collisions are checked here. The box
   shrinks while nothing better is found. A descent is not used: the worst of several postures is not a smooth function,
   and a descent would stop at a kink.

Proofs
------
Each task that counts as reached has a posture that was checked for collisions, also with the other arm, as far as the
arms have collision geometry. It is not proved that no better place exists.
"""

from collections.abc import Callable, Sequence
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.reach.arm_pairs import ArmPair
from ssik_ros.reach.placement import OBJECTIVES, PlacedArm, PlaceTasks, Variants
from ssik_ros.value_class import dataclass

MOST_PLACES = 20_000
"""Places of the grid of one arm."""
MOST_ALONG = 400
"""Of these along one direction."""
PLACES_PER_ROUND = 64
"""Places of one round of the search around a place."""
JUDGED = 1024
"""Places of the grid whose postures are compared."""
FINEST_BOX = 2e-4
"""Size of the box in which a search ends [m or rad]."""
CHECKED = 6
"""Most placements of a round that are checked for collisions."""
BOX_SHRINK = 0.6
"""Size of the box of the next round, as a share of the box of this round [1]."""
MOST_ROUNDS = 60
EQUAL = 1e-6
"""Difference of the values of two placements that are as good as each other, relative to the value."""
PAIRED = 256
"""Places of each of two arms that are paired."""


@dataclass(frozen=True, eq=False)
class PlaceSettings:
    """Settings of a search for places: objective, number of results, distance of two arms, and seed."""

    objective: str = 'manipulability'
    """Quantity to maximise in the worst posture: ``manipulability`` or ``limit_margin``."""
    places: int = 10
    """Most placements to return."""
    apart: float = 0.0
    """Least distance of the base links of two arms [m]."""
    seed: int = 0
    """Seed of the random search around a place."""

    def __post_init__(self) -> None:
        """Raise InvalidOption for values that make no sense."""
        if self.objective not in OBJECTIVES:
            raise InvalidOption.unknown(
                f"There is no objective '{self.objective}'", self.objective, OBJECTIVES
            )
        if not 1 <= self.places <= 100 or not self.apart >= 0.0 or self.seed < 0:
            raise InvalidOption('places takes 1 to 100, apart and seed take 0 or more.')


class TaskResult(NamedTuple):
    """Result for one task at one placement: the arm and posture that reach it, or the reason why none does."""

    reached: bool
    arm: int
    """The arm that reaches it; -1 if no arm does."""
    q: FloatArray | None
    """(n,) its best posture that does not collide [rad or m]; None if no arm reaches the task."""
    value: float
    """Value of the objective at that posture; NaN without a posture."""
    reason: str
    """Why the task is not reached; empty if it is reached."""


class Placement(NamedTuple):
    """A place for the base of each arm, with the result of each task there."""

    coordinates: FloatArray
    """(arms, 6) x, y, z [m], roll, pitch, yaw [rad] of each base link in the cell."""
    weight: float
    """Sum of the weights of the tasks that are reached."""
    value: float
    """Least value of the objective among the postures of the reached tasks; NaN if no task is reached."""
    tasks: tuple[TaskResult, ...]
    """Results in the order of the tasks."""

    @property
    def reached(self) -> int:
        """Return the number of tasks that an arm reaches from this placement."""
        return sum(task.reached for task in self.tasks)


class PlaceResult(NamedTuple):
    """
    Result of a search for places of robot bases: the best placements that were found, and tasks without a grid place.

    ``hopeless`` and ``conflicts`` are tasks, by their indices, that no place of the grid reaches, singly or in pairs.
    Collisions are ignored for them, and places between grid points may reach them. ``notes`` has sentences for the user
    about collision checks that are not done.
    """

    placements: tuple[Placement, ...]
    """Best first."""
    tried: int
    """Number of places that were tried: grid places of each arm, and placements of all arms together."""
    hopeless: tuple[int, ...]
    """Tasks that no arm reaches from any place of its grid."""
    conflicts: tuple[tuple[int, int], ...]
    """Pairs of other tasks that no place of the grid reaches together; empty for two arms."""
    notes: tuple[str, ...]

    @property
    def reaches_all(self) -> bool:
        """Return whether the best placement reaches every task."""
        return bool(self.placements) and all(task.reached for task in self.placements[0].tasks)


def find_places(
    arms: Sequence[PlacedArm],
    tasks: PlaceTasks,
    settings: PlaceSettings | None = None,
    report: Callable[[float, str], None] = lambda share, text: None,
) -> PlaceResult:
    """
    Return the best placements that a search finds, of one arm or of two arms that share the tasks.

    :param arms: one arm or two, each with the places that its base may have.
    :param tasks: poses to reach, in the cell.
    :param settings: settings of the search; None for the defaults.
    :param report: called with the finished share, 0 to below 1, and a text about the present step. The share starts
        again at 0 for the grid of a second arm.
    :raises InvalidOption: for another number of arms.
    """
    if not 1 <= len(arms) <= 2:
        raise InvalidOption(f'A placement has one arm or two, not {len(arms)}.')
    return _PlaceSearch(arms, tasks, settings or PlaceSettings(), report).run()


class _Judged(NamedTuple):
    """Scores of c placements without collision checks: best values of tasks, weight of reached tasks, worst value."""

    best: FloatArray
    """(c, m) best value of the objective for each task; -inf if the task is not reached."""
    score: FloatArray
    """
    (c, 2) weight of reached tasks, and value of the worst posture, -1 without a posture.

    Both are -1 if the bases of two arms are nearer than allowed.
    """


class _PlaceSearch:
    """
    One search for the best placements of the arms.

    A placement is given by shares (d,): for each direction in which a base may move, a number from 0 to 1 between its
    ends.
    """

    def __init__(
        self,
        arms: Sequence[PlacedArm],
        tasks: PlaceTasks,
        settings: PlaceSettings,
        report: Callable[[float, str], None],
    ) -> None:
        """Store arms, tasks, settings, and the progress callback."""
        self.arms, self.tasks, self.settings, self.report = arms, tasks, settings, report
        self.variants: Variants = tasks.variants()
        self.sizes = [arm.space.size for arm in arms]
        self.lengths = np.concatenate([arm.space.lengths() for arm in arms])
        directions = np.vstack([arm.space.directions for arm in arms])
        self.moves: NDArray[np.bool_] = np.abs(directions[:, :3]).max(axis=1, initial=0.0) > 0.0
        self.is_paired = len(arms) == 2 and all(arm.is_checked for arm in arms)
        """Whether collisions between two arms are checked."""
        self.tried = 0

    def run(self) -> PlaceResult:
        """Search on a grid, then around its best placements, and return the best results."""
        grids = [_grid(arm.space.lengths()) for arm in self.arms]
        reached = [self._reach(index, grid) for index, grid in enumerate(grids)]
        starts, spacing = self._starts(grids, reached)
        improved = []
        for index, start in enumerate(starts):
            self.report(0.3 + 0.7 * index / len(starts), 'search around places')
            improved.append(self._improve(start, spacing))
        improved.sort(key=lambda each: (-each[1][0], -each[1][1]))
        kept = self._different(improved, spacing)
        placements = tuple(self._placement(shares) for shares in kept[: self.settings.places])
        hopeless, conflicts = _explain(reached)
        return PlaceResult(placements, self.tried, hopeless, conflicts, self._notes())

    def _different(
        self, placements: list[tuple[FloatArray, tuple[float, float]]], spacing: FloatArray
    ) -> list[FloatArray]:
        """
        Return placements (d,) as shares from 0 to 1, best first, without those that are nearly equal to a better one.

        Nearly equal are placements that differ by at most a quarter of the grid spacing in each direction. If only
        orientations of the bases differ by more, a placement is left out if its score is equal.

        :param placements: placements with their scores (weight, worst value), best first.
        :param spacing: (d,) spacing of the grid, in shares.
        """
        kept: list[tuple[FloatArray, tuple[float, float]]] = []
        for shares, score in placements:
            for other, other_score in kept:
                is_same = not self._is_apart(shares, other, 0.25 * spacing)
                is_turned = not self._is_moved(shares, other, 0.25 * spacing)
                if is_same or (is_turned and np.allclose(score, other_score, rtol=EQUAL)):
                    break
            else:
                kept.append((shares, score))
        return [shares for shares, _ in kept]

    def _notes(self) -> tuple[str, ...]:
        """Return sentences for the user about collision checks that are not done for lack of geometry."""
        notes = [
            f"'{arm.robot.name}' has no collision geometry: its collisions are not checked."
            for arm in self.arms
            if not arm.is_checked
        ]
        if len(self.arms) == 2 and not self.is_paired:
            notes.append(
                'So collisions between the two arms are not checked; "apart" keeps their bases apart.'
            )
        return tuple(dict.fromkeys(notes))

    def _reach(self, index: int, grid: FloatArray) -> NDArray[np.bool_]:
        """
        Return a mask (c, m) of the tasks that an arm reaches within limits from each place, without collision checks.

        :param index: index of the arm.
        :param grid: (c, d) places of this arm, as shares from 0 to 1 of its ranges.
        """
        arm, rows = self.arms[index], []
        chunk = max(1, 100_000 // len(self.variants.owners))
        for start in range(0, len(grid), chunk):
            self.report(0.3 * start / len(grid), f'grid of {arm.robot.name}')
            places = arm.space.coordinates(grid[start : start + chunk])
            rows.append(arm.reaches(places, self.variants))
        self.tried += len(grid)
        return np.concatenate(rows)

    def _starts(
        self, grids: list[FloatArray], reached: list[NDArray[np.bool_]]
    ) -> tuple[list[FloatArray], FloatArray]:
        """
        Return placements (d,) to start searches from, apart from each other, and the grid spacing (d,).

        Both are shares: for each direction in which a base may move, a number from 0 to 1. At most ``places`` + 2
        placements are returned. Those at different positions come first, then those that differ only by a turn; each
        part is best first.

        :param grids: for each arm, its places (c, d) as shares.
        :param reached: for each arm, a mask (c, m) of the tasks that each place reaches.
        """
        rows = self._paired(grids, reached)
        judged = [
            self._judge(rows[k : k + PLACES_PER_ROUND])
            for k in range(0, len(rows), PLACES_PER_ROUND)
        ]
        score = np.concatenate([each.score for each in judged])
        spacing = np.concatenate([_spacing(grid) for grid in grids])
        order = np.lexsort((-score[:, 1], -score[:, 0]))
        starts: list[FloatArray] = []
        # First those at different positions: places that differ by a turn are often as good as each other.
        for are_apart in (self._is_moved, self._is_apart):
            for row in rows[order]:
                if len(starts) >= self.settings.places + 2:
                    break
                if all(are_apart(row, other, 2.0 * spacing) for other in starts):
                    starts.append(row)
        return starts, spacing

    def _paired(self, grids: list[FloatArray], reached: list[NDArray[np.bool_]]) -> FloatArray:
        """
        Return at most JUDGED placements (c, d) on the grid that reach a large weight of tasks, largest first.

        With one arm no place of the grid is better. For two arms, only the PAIRED best places of each are combined;
        pairs of bases nearer than ``apart`` come last.

        :param grids, reached: as for :meth:`_starts`.
        """
        weights = self.tasks.weights
        if len(grids) == 1:
            reached_weights = reached[0] @ weights
            return grids[0][_largest(reached_weights, JUDGED)]
        chosen = [_largest(each @ weights, PAIRED) for each in reached]
        first, second = (each[rows] for each, rows in zip(reached, chosen, strict=True))
        both = (first * weights) @ second.T.astype(float)
        together = (first @ weights)[:, None] + (second @ weights)[None] - both
        places = [
            arm.space.coordinates(grid[rows])[:, :3]
            for arm, grid, rows in zip(self.arms, grids, chosen, strict=True)
        ]
        distance = np.linalg.norm(places[0][:, None] - places[1][None], axis=2)
        together[distance < self.settings.apart] = -1.0
        best = _largest(together.ravel(), JUDGED)
        one, two = np.unravel_index(best, together.shape)
        return np.hstack([grids[0][chosen[0][one]], grids[1][chosen[1][two]]])

    def _is_apart(self, a: FloatArray, b: FloatArray, spacing: FloatArray) -> bool:
        """Return whether two placements (d,) differ by more than ``spacing`` (d,) in at least one direction."""
        return bool((np.abs(a - b) > spacing).any())

    def _is_moved(self, a: FloatArray, b: FloatArray, spacing: FloatArray) -> bool:
        """
        Return whether two placements (d,) differ by more than ``spacing`` in a direction that shifts a base.

        Directions that only rotate a base do not count.
        """
        return bool((np.abs(a - b) > spacing)[self.moves].any())

    def _split(self, shares: FloatArray) -> list[FloatArray]:
        """Return, for each arm, the coordinates (c, 6) of its base at placements (c, d) [m, rad]."""
        parts = np.split(shares, np.cumsum(self.sizes)[:-1], axis=1)
        return [arm.space.coordinates(part) for arm, part in zip(self.arms, parts, strict=True)]

    def _judge(self, shares: FloatArray) -> _Judged:
        """
        Return the scores of placements (c, d) without collision checks.

        If two bases are nearer than ``apart``, both numbers of the score are -1.
        """
        count, tasks = len(shares), len(self.tasks.poses)
        places, best = self._split(shares), np.full((count, tasks), -np.inf)
        for arm, coordinates in zip(self.arms, places, strict=True):
            postures = arm.postures(coordinates, self.variants, self.settings.objective)
            np.maximum.at(best.reshape(-1), postures.cells, postures.values)
        self.tried += count
        score = self._score(best)
        if len(places) == 2:
            near = np.linalg.norm(places[0][:, :3] - places[1][:, :3], axis=1)
            score[near < self.settings.apart] = -1.0
        return _Judged(best, score)

    def _score(self, best: FloatArray) -> FloatArray:
        """
        Return scores (c, 2): the weight of reached tasks, and the value of the worst of their best postures.

        The second number is -1 if no task is reached.

        :param best: (c, m) best value of each task at each placement; -inf if the task is not reached.
        """
        is_reached = best > -np.inf
        worst = np.where(is_reached, best, np.inf).min(axis=1)
        weight = is_reached @ self.tasks.weights
        return np.stack([weight, np.where(np.isfinite(worst), worst, -1.0)], axis=1)

    def _checked(self, shares: FloatArray) -> tuple[tuple[float, float], list[TaskResult]]:
        """
        Return the score (weight, worst value) of one placement with collision checks, and the result of each task.

        If the arms collide before they work, the score is (-1, -1) and no task is reached. The worst value is -1
        without a reached task.

        :param shares: (d,) the placement.
        """
        tasks: list[TaskResult] = []
        places = self._split(shares[None])
        postures = [
            arm.postures(place, self.variants, self.settings.objective)
            for arm, place in zip(self.arms, places, strict=True)
        ]
        pair = ArmPair(self.arms, [place[0] for place in places]) if self.is_paired else None
        touching = None if pair is None else pair.at_rest()
        if touching is not None:
            reason = f'the arms collide before they work: {touching[0]} with {touching[1]}'
            nothing = TaskResult(False, -1, None, float('nan'), reason)
            return (-1.0, -1.0), [nothing] * len(self.tasks.poses)
        for task in range(len(self.tasks.poses)):
            options = sorted(
                (-each.values[row], index, row)
                for index, each in enumerate(postures)
                for row in np.flatnonzero(each.cells == task)
            )
            collision, result = '', None
            for negative, index, row in options:
                q = postures[index].q[row]
                collision = self._collision(pair, index, places[index][0], q)
                if not collision:
                    result = TaskResult(True, index, q.copy(), -float(negative), '')
                    break
            if result is None:
                reason = self._why(places, task, collision)
                result = TaskResult(False, -1, None, float('nan'), reason)
            tasks.append(result)
        values = [task.value for task in tasks if task.reached]
        weight = float(self.tasks.weights @ np.array([task.reached for task in tasks]))
        return (weight, min(values, default=-1.0)), tasks

    def _collision(self, pair: ArmPair | None, arm: int, place: FloatArray, q: FloatArray) -> str:
        """
        Return the names of bodies that collide in a posture of an arm, as text; empty if the posture is free.

        If there is a ``pair``, a free posture is accepted in it, so that later postures are checked against it. Without
        collision geometry every posture counts as free.

        :param pair: both arms; None with one arm, or if an arm has no collision geometry.
        :param arm: index of the arm.
        :param place: (6,) coordinates of its base.
        """
        bodies = self.arms[arm].colliding_pair(place, q)
        if bodies is not None:
            return f'{bodies[0]} with {bodies[1]}'
        other = None if pair is None else pair.accept(arm, q)
        return '' if other is None else f'{other[0]} with {other[1]} of the other arm'

    def _why(self, places: list[FloatArray], task: int, collision: str) -> str:
        """
        Return as text why no arm reaches a task.

        :param places: for each arm, the coordinates (1, 6) of its base.
        :param collision: bodies that collide in the last posture that was tried; empty if there was no posture.
        """
        if collision:
            return f'each posture that was found collides, the last one {collision}'
        words = [
            arm.why_not(place[0], self.tasks, task)
            for arm, place in zip(self.arms, places, strict=True)
        ]
        return '; '.join(dict.fromkeys(words))

    def _improve(
        self, start: FloatArray, spacing: FloatArray
    ) -> tuple[FloatArray, tuple[float, float]]:
        """
        Improve a placement (d,) by a random search in a shrinking box; return it with its score (weight, worst value).

        :param start: the placement to begin with, in shares.
        :param spacing: (d,) half size of the first box, in shares.
        """
        rng = np.random.default_rng(self.settings.seed)
        best, score = start, self._checked(start)[0]
        box, finest = spacing.copy(), FINEST_BOX / self.lengths if len(start) else spacing
        for _ in range(MOST_ROUNDS):
            if (box <= finest).all():
                break
            aside = rng.uniform(-1.0, 1.0, (PLACES_PER_ROUND, len(start))) * box
            rows = np.clip(best + aside, 0.0, 1.0)
            scores = self._judge(rows).score
            better, is_better = None, False
            for row in np.lexsort((-scores[:, 1], -scores[:, 0]))[:CHECKED]:
                # Without collisions a placement is never worth less: the first that is not better ends it.
                if tuple(scores[row]) <= score:
                    break
                better = self._checked(rows[row])[0]
                if better > score:
                    best, score, is_better = rows[row], better, True
                    break
            if not is_better:
                box = box * BOX_SHRINK
        return best, score

    def _placement(self, shares: FloatArray) -> Placement:
        """Return a placement (d,) as a result: coordinates, weight, worst value and tasks, after collision checks."""
        (weight, value), tasks = self._checked(shares)
        places = np.array([place[0] for place in self._split(shares[None])])
        is_any = any(task.reached for task in tasks)
        return Placement(places, weight, value if is_any else float('nan'), tuple(tasks))


def _grid(lengths: FloatArray) -> FloatArray:
    """
    Return a regular grid of places (c, d), at most MOST_PLACES, about equally fine in all directions.

    A place has a share, from 0 to 1, of each direction. A radian counts as a metre. A direction has at most MOST_ALONG
    places. Without directions there is one place (1, 0).

    :param lengths: (d,) length of each direction [m or rad].
    """
    size = len(lengths)
    if size == 0:
        return np.zeros((1, 0))
    low, high = 1e-4, float(lengths.max()) + 1.0
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        counts = np.minimum(np.ceil(lengths / middle) + 1, MOST_ALONG)
        low, high = (middle, high) if counts.prod() > MOST_PLACES else (low, middle)
    counts = np.minimum(np.ceil(lengths / high) + 1, MOST_ALONG).astype(int)
    axes = [np.linspace(0.0, 1.0, count) for count in counts.tolist()]
    return np.array(list(itertools.product(*axes)))


def _spacing(grid: FloatArray) -> FloatArray:
    """Return the distance (d,) of neighbouring grid points in each direction, in shares."""
    return np.array([1.0 / max(1, len(np.unique(column)) - 1) for column in grid.T])


def _largest(values: FloatArray, most: int) -> NDArray[np.int64]:
    """
    Return the indices of the ``most`` largest values, the largest value first; all indices if there are not more.

    If not all values equal to the last one fit, some are taken that are spread evenly among them.
    """
    order = np.argsort(-values, kind='stable')
    if len(order) <= most:
        return order
    last = values[order[most - 1]]
    above, equal = order[values[order] > last], order[values[order] == last]
    spread = np.linspace(0, len(equal) - 1, most - len(above)).astype(int)
    return np.concatenate([above, equal[spread]])


def _explain(
    reached: list[NDArray[np.bool_]],
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """
    Return (tasks that no place on the grid reaches, pairs of other tasks that no place reaches together).

    Tasks are given by their indices. Collisions are ignored. For two arms, no pairs are returned.

    :param reached: for each arm, a mask (c, m) of the tasks that each place reaches.
    """
    alone = np.any([each.any(axis=0) for each in reached], axis=0)
    hopeless = tuple(np.flatnonzero(~alone).tolist())
    if len(reached) > 1:
        return hopeless, ()
    both = reached[0].T.astype(np.float32) @ reached[0].astype(np.float32)
    a, b = np.nonzero(np.triu((both == 0.0) & alone[:, None] & alone[None], 1))
    return hopeless, tuple(zip(a.tolist(), b.tolist(), strict=True))
