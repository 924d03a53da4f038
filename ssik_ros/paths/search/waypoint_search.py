"""
Search for the best joint path along waypoints: :class:`WaypointSearch`, or :func:`search_closed` for a closed path.

A corridor is a sequence of postures with its free parameters. A search finds corridors on coarse grids and improves the
best of them on finer grids. Then it chooses windings, and joins passes by free travel.
"""

from collections.abc import Mapping, Sequence
import itertools
import math
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.paths.control import PlanControl, PlanStopped
from ssik_ros.paths.pose_freedom import PoseMiss
from ssik_ros.paths.search.first_grids import corridors_of_larger_steps, first_corridors
from ssik_ros.paths.search.reasons import passes_not_joined, PathFailure
from ssik_ros.paths.search.refinement import Refinement
from ssik_ros.paths.search.sequences import Checks, Corridor, GridSearch
from ssik_ros.paths.search_space import SearchSpace
from ssik_ros.paths.steps import StepLimits
from ssik_ros.paths.travel import TravelSearch
from ssik_ros.paths.windings import put_within_limits, unwind
from ssik_ros.results import Cause

DENSITIES = (1, 3)
"""Factors on the number of values in the first grid, tried in this order until a path is found."""
ROUGH, FINEST_SPACING = 0.15, 4e-3
"""Spacings to which each corridor and the best one are refined, as a part of the first grid's."""
ROUGH_LAYERS = 250
"""Waypoints on which corridors are compared, about."""
MOST_PAIRS = 4
"""Pairs of postures between which free travel from one pass to the next is looked for."""
SAME_END = 1e-6
"""Largest difference at which the end of a path counts as the requested one [rad or m]."""

NO_SEQUENCE = PathFailure(-1, Cause.NOT_FOUND, 'No sequence of the first grid leads on.')

Ends = tuple[FloatArray | None, FloatArray | None]


class SearchOutcome(NamedTuple):
    """Result of a search for a joint path: the path, or its longest part with the failure."""

    q: FloatArray
    """(k, n) the path [rad or m]; if the search failed, the longest part of a path that was found."""
    first: int
    """Waypoint of the first row."""
    cost: float
    """Cost of the path, with straight motions in place of free travel; infinite if the search found none."""
    failure: PathFailure | None
    """Why the search failed; None if it found a path."""
    limits: StepLimits
    """The step limits of the task; they tell apart the windings of joints that would leave their limits otherwise."""
    stopped: str = ''
    """Why the search ended early; empty if it did not."""
    travel_paths: Mapping[int, FloatArray] = MappingProxyType({})
    """Corners (k, n) of free travel, by the index of the waypoint that it leaves."""


class PathTask(NamedTuple):
    """Input of a search: waypoints, free parameters, step limits, checks, and the clock."""

    space: SearchSpace
    limits: StepLimits
    poses: FloatArray
    """(m, 4, 4) waypoints."""
    checks: Checks
    control: PlanControl
    travel: TravelSearch | None = None
    """Joins the passes; None where they need not be joined."""

    def miss(self, posture: FloatArray, row: int) -> PoseMiss:
        """
        Return by how much the tool misses a waypoint at a posture, in arrays with one element.

        :param posture: (n,) joint values [rad or m].
        :param row: index of the waypoint; -1 is the last one.
        """
        rows = np.array([row % len(self.poses)])
        return self.space.freedom.miss(
            rows, self.poses[rows], self.space.chain.pose(posture)[None]
        )


class WaypointSearch:
    """One search for the best joint path along waypoints, with free travel between its passes."""

    def __init__(self, task: PathTask, ends: Ends, earlier_path: FloatArray | None = None) -> None:
        """
        Store the input; :meth:`run` does the search.

        :param task: waypoints, limits and checks.
        :param ends: postures (n,) that the path must have at the first and the last waypoint; None leaves an end free.
        :param earlier_path: (m, n) a path that is tried as a further candidate of the first grid; None without any.
        """
        self._task, self._ends, self._earlier_path = task, ends, earlier_path
        space, nothing = task.space, np.zeros(0, dtype=np.int64)
        q, parameters = np.zeros((0, space.chain.size)), np.zeros((0, space.size))
        self._best = Corridor(q, parameters, math.inf, space.spacing, nothing)
        """The best path so far, or its longest part; empty before the first one."""
        self._travel_paths: dict[int, FloatArray] = {}
        self._shut_in: list[tuple[int, FloatArray]] = []

    def run(self) -> SearchOutcome:
        """
        Search on finer and finer grids until these end or time is up, and return the best path that was found.

        If no path was found along all waypoints, return its longest part with the failure.
        """
        failure, stopped = None, ''
        chain = self._task.space.chain
        try:
            failure = self._search_and_travel()
        except PlanStopped as stop:
            stopped = str(stop)
            if not self._is_whole:
                missing = 'The passes are not joined' if self._is_full else 'No path'
                failure = PathFailure(-1, Cause.DEADLINE, f'{missing} yet: {stop}.')
        q, outside = self._placed()
        if failure is None and outside >= 0:
            name = chain.chain.joint_names[outside]
            text = f"Joint '{name}' would turn further than its limits allow."
            failure = PathFailure(-1, Cause.LIMITS, text)
        best, limits = self._best, self._task.limits
        first = int(best.rows[0]) if len(best.q) else 0
        cost = best.cost if failure is None else math.inf
        outcome = SearchOutcome(q, first, cost, failure, limits, stopped, self._travel_paths)
        return outcome if failure is None else _joined_part(self._task, outcome)

    @property
    def _is_full(self) -> bool:
        """Return whether the best path so far has a posture at each waypoint."""
        return len(self._best.q) == len(self._task.poses)

    @property
    def _is_whole(self) -> bool:
        """Return whether the best path so far has a posture at each waypoint, and its passes are all joined."""
        task = self._task
        travels = 0 if task.travel is None else int(task.limits.is_travel.sum())
        return self._is_full and len(self._travel_paths) == travels

    def _search_and_travel(self) -> PathFailure | None:
        """
        Search a path with free travel between its passes and store it; return None, or the failure.

        If no travel is found from or to a posture, another path is searched that avoids it, up to MOST_PAIRS paths in
        all. If travel fails, ``_best`` is the part of the last path before the gap. If the first search fails, it is as
        :meth:`_search` leaves it.
        """
        blocked, piece = None, self._best
        for _ in range(MOST_PAIRS):
            failure = self._search_within_limits()
            if failure is None:
                failure, step = self._travel()
                if failure is None:
                    return None
                blocked = failure
                piece = self._best.before(step + 1)
            elif blocked is None:
                return failure
            else:
                break
        self._best = piece
        return blocked

    def _search_within_limits(self) -> PathFailure | None:
        """
        Search a path whose joints stay within their limits and store it in ``_best``; return None, or the failure.

        If a joint leaves its limits in every winding, the search is repeated with its windings as different postures.
        """
        failure = None
        for _ in range(self._task.space.chain.size):
            failure = self._search()
            _, outside = self._placed()
            if failure is not None or outside < 0:
                break
            limits = self._task.limits.with_windings_apart(outside)
            self._task = self._task._replace(limits=limits)
        return failure

    def _travel(self) -> tuple[PathFailure | None, int]:
        """
        Search free travel between all passes and store it in ``_travel_paths``; return (None, -1), or a failure.

        A failure comes with the index of the last waypoint before the gap. Nothing is done if passes need not be joined
        or the path leaves its limits.
        """
        task = self._task
        q, outside = self._placed()
        self._travel_paths = {}
        if task.travel is None or outside >= 0:
            return None, -1
        for number, step in enumerate(np.flatnonzero(task.limits.is_travel).tolist(), start=1):
            task.control.report(0.9, f'free travel to waypoint {step + 1}')
            result = task.travel.find(q[step], q[step + 1])
            if result.q is None:
                at = step if result.is_start_shut_in else step + 1
                self._shut_in.append((at, q[at]))
                obstacles = task.checks.obstacles
                bodies = (
                    obstacles[1].describe(result.pair) if obstacles and result.pair >= 0 else ''
                )
                tried = result.tries, len(self._shut_in)
                return passes_not_joined(number, step, tried, bodies), step
            self._travel_paths[step] = result.q
        return None, -1

    def _placed(self) -> tuple[FloatArray, int]:
        """
        Return the best path (k, n), shifted by whole turns into its limits, and the first joint that leaves them.

        The index is -1 if no joint leaves its limits. A joint with limits that misses the given end posture by whole
        turns counts as one that leaves them.
        """
        best, turning = self._best, self._task.limits.turning
        if not len(best.q):
            return best.q, -1
        chain = self._task.space.chain.chain
        start = self._ends[0] if best.rows[0] == 0 else None
        q, outside = put_within_limits(
            unwind(best.q, turning, start), turning, chain, start is not None
        )
        end = self._ends[1] if best.rows[-1] == len(self._task.poses) - 1 else None
        if outside < 0 and end is not None:
            missed = np.flatnonzero((turning != 0) & (np.abs(q[-1] - end) > SAME_END))
            bounded = missed[np.isfinite(chain.upper[missed])]
            outside = int(bounded[0]) if len(bounded) else -1
        return q, outside

    def _search(self) -> PathFailure | None:
        """
        Search for the best path on grids of the parameters, from coarse to fine, and store it in ``_best``.

        Return None, or the failure; then ``_best`` is a part of a path, if the grids gave one. Joint limits after
        winding, and free travel, are not checked here.
        """
        space, limits, poses, checks, control, _ = self._task
        shut_in = tuple(self._shut_in)
        grids = GridSearch(space, poses, checks, control.pause, self._ends, shut_in)
        control.store_cost(math.inf)
        stride, failure = space.stride(len(poses)), None
        densities = list(DENSITIES if space.size else DENSITIES[:1])
        while densities:
            control.report(0.1, f'first grid, stride {stride}')
            corridors, failure = first_corridors(grids, limits, stride, densities[0])
            if failure is None:
                if self._earlier_path is not None:
                    corridors = [self._corridor_of(self._earlier_path), *corridors]
                failure = self._refine_best(grids, corridors)
                if failure is None:
                    return None
            elif corridors:
                self._best = corridors[0]
            if failure.cause is Cause.UNREACHABLE and stride == 1:
                return failure
            if stride > 1:
                stride = max(1, stride // 2)
            else:
                densities.pop(0)
        return self._search_narrows(grids, failure)

    def _search_narrows(
        self, grids: GridSearch, failure: PathFailure | None
    ) -> PathFailure | None:
        """
        Search again in ways that pass narrow places, after normal grids failed; return None, or the failure.

        First, waypoints no longer keep an extra distance from obstacles. Then steps larger than their limits are
        allowed at first, if there are free parameters. The path or its longest part is stored in ``_best``.

        :param grids: the search whose grids gave no path.
        :param failure: its failure, returned if this search fails too.
        """
        space, limits, control = self._task.space, self._task.limits, self._task.control
        density = DENSITIES[-1] if space.size == 1 else DENSITIES[0]
        if grids.checks.obstacles is not None:
            control.report(0.1, 'first grid without spare distance')
            grids = grids._replace(checks=grids.checks.without_spare_distance())
            corridors, failure = first_corridors(grids, limits, 1, density)
            if failure is None and self._refine_best(grids, corridors) is None:
                return None
            if failure is not None and corridors and len(corridors[0].q) > len(self._best.q):
                self._best = corridors[0]
        if space.size and not space.is_scattered:
            control.report(0.1, 'first grid with larger steps')
            corridors = corridors_of_larger_steps(grids, limits, density)
            if corridors and self._refine_best(grids, corridors) is None:
                return None
        return failure or NO_SEQUENCE

    def _refine_best(self, grids: GridSearch, corridors: Sequence[Corridor]) -> PathFailure | None:
        """
        Refine corridors (candidate paths) on all waypoints, best first; store the first success in ``_best``.

        Return None, or NO_SEQUENCE if no corridor can be refined.
        """
        space, control = self._task.space, self._task.control
        refinement = Refinement(grids, self._task.limits, control, np.arange(len(grids.poses)))
        for rough in self._refine_all(refinement, corridors):
            control.report(0.6, 'refinement')
            whole = refinement.refine(rough, ROUGH * space.spacing)
            if whole is not None:
                self._best = whole
                # Where a joint turns too far the caller begins again, so that the finest grids can wait.
                if self._placed()[1] < 0:
                    finest = FINEST_SPACING * space.spacing
                    self._best = refinement.refine(whole, finest) or whole
                return None
        return NO_SEQUENCE

    def _corridor_of(self, q: FloatArray) -> Corridor:
        """
        Return a path as a corridor: a candidate with the free parameters of its postures and infinite cost.

        :param q: (m, n) postures at the first m waypoints.
        """
        space, poses = self._task.space, self._task.poses
        parameters = []
        for row, posture in enumerate(q):
            self._task.control.pause()
            parameters.append(space.parameters_of(posture, row, poses[row]))
        return Corridor(q, np.array(parameters), math.inf, space.spacing, np.arange(len(q)))

    def _refine_all(self, refinement: Refinement, corridors: Sequence[Corridor]) -> list[Corridor]:
        """
        Refine each corridor (candidate path) roughly, on about ROUGH_LAYERS waypoints; return them, the cheapest first.

        Corridors that cannot be refined are left out; if none can be refined, all are returned unchanged.
        """
        control, spacing = self._task.control, self._task.space.spacing
        rough: list[Corridor] = []
        stride = max(1, len(self._task.poses) // ROUGH_LAYERS)
        on_some = refinement._replace(rows=self._task.limits.every_nth(stride))
        for index, corridor in enumerate(corridors):
            control.report(0.2 + 0.4 * index / len(corridors), f'corridor {index + 1}')
            refined = on_some.refine(corridor, ROUGH * spacing)
            if refined is not None:
                rough.append(refined)
        return sorted(rough, key=lambda candidate: candidate.cost) or list(corridors)


def search_closed(task: PathTask, ends: Ends) -> SearchOutcome:
    """
    Return the best closed joint path that is found: its last posture is equal to its first.

    If no end posture is given, the first and the last posture of the best open path are tried as both ends. If no path
    is found, the outcome has the failure.

    :param task: waypoints, limits and checks.
    :param ends: given postures at the first and the last waypoint; the first one that is not None is used for both.
    :raises InvalidOption: if no end posture is given, and neither tried posture reaches both waypoints.
    """
    given = ends[0] if ends[0] is not None else ends[1]
    if given is not None:
        return WaypointSearch(task, (given, given)).run()
    free = WaypointSearch(task._replace(travel=None), (None, None)).run()
    if free.failure is None and free.stopped:
        failure = PathFailure(-1, Cause.DEADLINE, f'No closed path yet: {free.stopped}.')
        free = free._replace(cost=math.inf, failure=failure)
    if free.failure is not None:
        return _joined_part(task, free)
    limits, outcomes = free.limits, []
    tries = [free.q[0], free.q[-1]]
    if np.abs(unwind(np.array(tries), limits.turning)[1] - tries[0]).max() < SAME_END:
        tries = tries[:1]
    tries = [q for q in tries if not any(task.miss(q, row).is_missed[0] for row in (0, -1))]
    if not tries:
        miss = task.miss(free.q[0], -1)
        raise InvalidOption(
            'A closed path ends where it begins, but the posture at the first waypoint misses the last one by '
            f'{miss.position[0]:.3g} m and {miss.angle[0]:.3g} rad.'
        )
    for posture in tries:
        outcome = WaypointSearch(task._replace(limits=limits), (posture, posture)).run()
        limits = outcome.limits
        outcomes.append(outcome)
    return min(outcomes, key=lambda outcome: (outcome.failure is not None, outcome.cost))


def _joined_part(task: PathTask, piece: SearchOutcome) -> SearchOutcome:
    """
    Return the longest part of a path in which the straight motions between passes are free.

    If passes need not be joined, return the path unchanged. The part has no other free travel.
    """
    if task.travel is None:
        return piece
    q, first = piece.q, piece.first
    travels = np.flatnonzero(task.limits.is_travel) - first
    travels = travels[(travels >= 0) & (travels < len(q) - 1)]
    apart = [step + 1 for step in travels.tolist() if not task.travel.is_free(q[step : step + 2])]
    bounds = itertools.pairwise([0, *apart, len(q)])
    begin, end = max(bounds, key=lambda span: span[1] - span[0])
    return piece._replace(q=q[begin:end], first=first + begin, travel_paths={})
