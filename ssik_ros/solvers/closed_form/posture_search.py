"""
Search postures of an arm by descents of all joints: for poses that no sampled value of the held joint has met.

Near singular postures the values of the held joint that reach a pose may fill so small an interval that every sample
misses it. The search therefore moves all joints at once. It also serves singular poses of arms without a held joint.

1. Descents start at the seed, then at spread starts. They stay within the limits, if these are to be kept.
2. From each posture near the pose, a patient descent goes on to the pose itself. It takes many steps, because steps
   near a singular posture gain little.
3. If all patient descents stop just short, the pose may be at the edge of reach, where descents stop in narrow valleys.
   Next to their ends, postures on the edge are then computed by
   :mod:`ssik_ros.kernels.closed_form.singular.reach_edge`, and patient descents begin there.

The descents compare metres with radians. So an arm of unusual size is searched in another unit of length, in which its
length is 1.

A posture of :meth:`PostureSearch.find` meets the tolerance of its goal; postures of :meth:`PostureSearch.find_several`
may miss the pose by 3e-5. An empty result proves nothing, unless the length of the links or the reach hulls exclude the
pose.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.certification import ranking
from ssik_ros.kernels.search import restart_search, state
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import LEAST_USUAL, MOST_USUAL, SerialChain
from ssik_ros.problem.problem import build_problem, PoseConstraint
from ssik_ros.problem.reach_hull import UnlimitedReach
from ssik_ros.solvers.search.arrays import SearchArrays
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement, unlimited
from ssik_ros.solvers.search.settings import joint_rows, SearchSettings, tip_tolerances

PATIENT_ERROR = 1e-3
"""Norm of position [m] and rotation [rad] error at which a patient descent takes over."""
MOST_STARTS = 64
"""Most starts of a search."""
MOST_PATIENT_STEPS = 100
"""Most steps of one patient descent."""
MOST_STEPS = 3000
"""Most steps of all patient descents together."""
EDGE_ERROR = 3e-5
"""Largest error of a posture near which the edge of reach is tried [m, rad]."""
FOLLOWED = 8
"""Most starts for the edge; the nearest to the pose come first."""
START_SEPARATION = 0.1
"""Difference of a joint above which two postures are both followed [rad or m]."""
ROTATION = math.sqrt(2.0)
"""Frobenius norm of the difference of two rotations, divided by the small angle between them."""


class Searched(NamedTuple):
    """Outcome of a posture search: a posture or None, the number of starts, and facts about a failure."""

    q: FloatArray | None
    """(n,) a posture that reaches the pose, or None."""
    starts: int = 0
    """Number of descents from different starts."""
    is_too_far: bool = False
    """True if the pose is proved to be out of reach, whatever the limits."""
    is_outside: bool = False
    """True if a descent without limits came near the pose, or if a proof excludes the pose within the limits."""
    close: tuple[FloatArray, ...] = ()
    """(n,) each: postures near the pose at which descents stopped, the nearest first, if none reaches it."""


class KeptLimits(NamedTuple):
    """Joint limits, and whether to respect them."""

    lower: FloatArray
    """(n,) [rad or m]."""
    upper: FloatArray
    are_kept: bool
    """True if postures outside the limits are rejected."""

    @property
    def bounds(self) -> FloatArray:
        """Return (2, n) lower and upper limits, infinite if limits are not kept."""
        limits = np.array([self.lower, self.upper])
        return limits if self.are_kept else unlimited(len(self.lower))

    def touched(self, q: FloatArray) -> NDArray[np.bool_]:
        """Return a mask (n,) of the joints of a posture that are on or outside a limit; all False if limits are not kept."""
        return self.are_kept & ((q <= self.lower) | (q >= self.upper))

    def clip(self, q: FloatArray) -> FloatArray:
        """Return a posture (n,) clipped to the limits; unchanged if limits are not kept."""
        return np.clip(q, self.lower, self.upper) if self.are_kept else q


class Goal(NamedTuple):
    """
    A demand on postures: they reach a pose within a tolerance, and are within limits if these are to be kept.

    The seed is the first start of a search, and settled postures are sorted by their distance from it.
    """

    pose: FloatArray
    """(4, 4) pose of the tip in the base."""
    limits: KeptLimits
    tolerance: float
    """Largest Frobenius norm of FK - T of an accepted posture."""
    seed: FloatArray | None = None
    """(n,) seed [rad or m]; None lets a search choose its first start and leaves the order open."""
    metric: int = ranking.SUM_OF_SQUARES
    """Distance from the seed, as for :func:`ranking.distance`."""


class _Nearest(NamedTuple):
    """End of a descent: its posture (n,), and the norm of position [m] and rotation [rad] error there."""

    error: float
    q: FloatArray


class PostureSearch:
    """
    Searches for postures of one chain that reach a pose, by descents of all joints from many starts.

    Several threads may call it at once.
    """

    def __init__(self, chain: SerialChain) -> None:
        """Prepare the search; a chain shorter than LEAST_USUAL or longer than MOST_USUAL is scaled to one metre."""
        length = chain.length
        self._length = 1.0 if LEAST_USUAL <= length <= MOST_USUAL or length == 0.0 else length
        self._units = np.where(chain.kinds == JointKind.PRISMATIC, self._length, 1.0)
        chain = chain if self._length == 1.0 else chain.scaled(1.0 / self._length)
        self._refinement = BoundedRefinement(chain)
        self._turns = chain.kinds != JointKind.PRISMATIC
        goal = PoseConstraint(frame_a=chain.base_link, frame_b=chain.tip_link, target=0)
        tree, names, with_hulls = chain.as_tree(), chain.joint_names, bool(self._turns.all())
        problem = build_problem(tree, names, [goal], with_hulls=with_hulls)
        self._unlimited = UnlimitedReach(
            ~self._turns, chain.axes, chain.points, chain.home, is_full_pose=True
        )
        # The kernel accepts only arrays that are writable.
        self._ints, self._reals = problem.ints.copy(), problem.reals.copy()
        self._problem = problem
        finite = np.isfinite(chain.upper - chain.lower)
        low, high = np.where(finite, chain.lower, 0.0), np.where(finite, chain.upper, 0.0)
        self._middle = 0.5 * (low + high)
        near = SearchSettings(tolerance=PATIENT_ERROR, slimit=MOST_STARTS)
        exact = SearchSettings(law='gauss', slimit=1, ilimit=MOST_PATIENT_STEPS, gives_up=False)
        self._seeded = near.pack(problem, self._middle, True)
        self._unseeded = near.pack(problem, self._middle, False)
        self._exact = exact.pack(problem, self._middle, True)
        for options in (self._seeded, self._unseeded, self._exact):
            options[state.MOST_NEAR_MISSES] = 0.0
        for options in (self._seeded, self._unseeded):
            options[state.VALIDATED] = 1.0
        self._pool: list[tuple[SearchArrays, SearchArrays]] = []

    def find(self, goal: Goal) -> Searched:
        """Search for one posture that reaches a pose, and return the outcome; on failure its ``q`` equals None."""
        units = self._units
        with self._run(goal) as run:
            outcome = run.find(None if goal.seed is None else goal.seed / units)
        q = None if outcome.q is None else outcome.q * units
        return outcome._replace(q=q, close=tuple(each * units for each in outcome.close))

    def find_several(
        self, goal: Goal, seeds: Sequence[FloatArray], starts: Sequence[int]
    ) -> tuple[list[FloatArray], int]:
        """
        Return the postures (n,) near a pose at which descents end, and the number of descents.

        A posture may miss the pose by up to EDGE_ERROR (3e-5), because descents converge slowly at singular poses.

        :param goal: the pose; its seed is not read.
        :param seeds: (n,) each; one descent begins at each.
        :param starts: numbers of further starts, spread over the limits. A later number is used only if no posture was
            found.
        """
        units = self._units
        with self._run(goal) as run:
            postures = [q for seed in seeds for q in run.postures(seed / units, 1)]
            for number, more in enumerate(starts):
                postures += [] if postures and number else run.postures(None, more)
            return [q * units for q in postures], run.starts

    def proves_none(self, goal: Goal) -> bool:
        """Return whether the reach hulls or the length of the links prove that a pose has no posture."""
        with self._run(goal) as run:
            return run.proves_none()

    @contextmanager
    def _run(self, goal: Goal) -> Iterator['_Run']:
        """
        Yield a search of one pose, with pose, limits and tolerance scaled to the unit of length of this object.

        :param goal: the pose, in metres.
        """
        if self._length != 1.0:
            pose, limits = goal.pose.copy(), goal.limits
            pose[:3, 3] /= self._length
            lower, upper = limits.lower / self._units, limits.upper / self._units
            goal = goal._replace(
                pose=pose,
                limits=limits._replace(lower=lower, upper=upper),
                tolerance=goal.tolerance / max(1.0, self._length),
            )
        arrays = self._take_arrays()
        try:
            yield _Run(self, arrays, goal)
        finally:
            self._pool.append(arrays)

    def is_too_far(self, pose: FloatArray, code: int) -> bool:
        """
        Return whether a pose is proved to be out of reach, whatever the limits of prismatic joints are.

        :param pose: (4, 4) pose of the tip in the base.
        :param code: code that the search kernel returned for the pose.
        """
        if code != state.OUT_OF_REACH:
            return False
        return bool(self._turns.all()) or self._unlimited.refuses(
            pose, PATIENT_ERROR, PATIENT_ERROR
        )

    def _take_arrays(self) -> tuple[SearchArrays, SearchArrays]:
        """Return a pair of search arrays from the pool, or a new pair; the caller puts the pair back."""
        try:
            return self._pool.pop()
        except IndexError:
            return SearchArrays(self._problem), SearchArrays(self._problem)

    def options_of(self, options: FloatArray, limits: KeptLimits) -> FloatArray:
        """Return a copy of the kernel's options with the limits, and the ranges of starts, written into it."""
        options, n = options.copy(), len(self._middle)
        lower, upper, sample_lower, sample_upper = _limit_rows(options, n)
        lower[:], upper[:] = limits.lower, limits.upper
        free = self._turns & (not limits.are_kept)
        sample_lower[:] = np.where(free, -np.inf, lower)
        sample_upper[:] = np.where(free, np.inf, upper)
        options[state.LIMITED] = float(limits.are_kept)
        # The length of the links proves nothing if prismatic joints have no limits.
        options[state.KEEPS_LOOKING] = float(not (limits.are_kept or self._turns.all()))
        return options


class _Run:
    """The search of a :class:`PostureSearch` for one pose; lengths are in the unit of this posture search."""

    def __init__(
        self, owner: PostureSearch, arrays: tuple[SearchArrays, SearchArrays], goal: Goal
    ) -> None:
        """
        Write the request into the arrays of the first descents and of the patient descents.

        :param owner: the posture search, whose packed problem and options the run uses.
        :param arrays: arrays of the first descents, then of the patient descents.
        :param goal: the pose, in the unit of length of the owner; its seed is not read.
        """
        self._owner, self._limits, self._pose = owner, goal.limits, goal.pose
        self._ints, self._reals = owner._ints, owner._reals
        self._near, self._exact = arrays
        for each in arrays:
            each.matrices[0] = goal.pose
        self._n = len(owner._middle)
        self._options = owner.options_of(owner._exact, goal.limits)
        self._tolerance = goal.tolerance / ROTATION
        tip_tolerances(self._options, self._n, 1)[state.NORM] = self._tolerance
        self._out = np.empty((2, self._n + 4))
        self._never = np.zeros(1, dtype=np.int64)
        self._steps = 0
        self.starts = 0
        """Number of descents that :meth:`postures` has begun."""

    def find(self, seed: FloatArray | None) -> Searched:
        """
        Search for a posture that reaches the pose, and return the outcome; on failure its ``q`` equals None.

        :param seed: (n,) the first start; None lets the kernel choose it.
        """
        owner, near = self._owner, self._near
        options = owner._unseeded if seed is None else owner._seeded
        options = owner.options_of(options, self._limits)
        near.reference[:] = owner._middle if seed is None else seed
        out, stopped = np.empty((2, self._n + 4)), []
        code = self._kernel(options, state.FRESH, near, out)
        while code == state.CANDIDATE and self._steps < MOST_STEPS:
            place = self._approach(out[-1, : self._n])
            if place.error <= self._tolerance:
                return Searched(place.q, int(near.counters[state.SEARCHES]))
            stopped.append(place)
            code = self._kernel(options, state.REFUSED, near, out)
        places = _choose_different(stopped)
        for place in places:
            ends = self._ends_at_edge(place.q) if place.error <= EDGE_ERROR else ()
            reached = next((end.q for end in ends if end.error <= self._tolerance), None)
            if reached is not None:
                return Searched(reached, int(near.counters[state.SEARCHES]))
        return Searched(
            None,
            int(near.counters[state.SEARCHES]),
            owner.is_too_far(self._pose, code),
            code == state.OUT_OF_REACH or bool(near.counters[state.LIMITS_SEEN]),
            tuple(place.q for place in places if place.error <= PATIENT_ERROR),
        )

    def postures(self, seed: FloatArray | None, most: int) -> list[FloatArray]:
        """
        Return the postures (n,) near the pose at which descents end, with errors of at most EDGE_ERROR (3e-5).

        Values of prismatic joints are in the unit of length of the owner.

        :param seed: (n,) start of the first descent; None uses spread starts only.
        :param most: number of starts.
        """
        owner, near = self._owner, self._near
        options = owner._unseeded if seed is None else owner._seeded
        options = owner.options_of(options, self._limits)
        options[state.MAX_SEARCHES] = most
        near.reference[:] = owner._middle if seed is None else seed
        out, postures = np.empty((2, self._n + 4)), []
        code = self._kernel(options, state.FRESH, near, out)
        while code == state.CANDIDATE:
            place = self._approach(out[-1, : self._n])
            if place.error <= EDGE_ERROR:
                postures.append(place.q)
            code = self._kernel(options, state.REFUSED, near, out)
        self.starts += int(near.counters[state.SEARCHES])
        return postures

    def proves_none(self) -> bool:
        """Return whether the pose is proved to be out of reach; no descent is begun."""
        options = self._owner.options_of(self._owner._seeded, self._limits)
        options[state.MAX_SEARCHES] = 0.0
        self._near.reference[:] = self._owner._middle
        code = self._kernel(options, state.FRESH, self._near, self._out)
        return self._owner.is_too_far(self._pose, code)

    def _kernel(
        self, options: FloatArray, phase: int, arrays: SearchArrays, out: FloatArray
    ) -> int:
        """
        Run the search kernel, and return its code, such as ``state.FOUND`` or ``state.CANDIDATE``.

        :param phase: ``state.FRESH`` starts a search, ``state.REFUSED`` continues it after a refused candidate.
        :param out: (2, n + 4) gets an accepted posture in the first row, or a candidate in the last row.
        """
        code: int = restart_search.search(
            self._ints,
            self._reals,
            options,
            phase,
            0,
            self._never,
            arrays.counters,
            arrays.work,
            out,
        )
        return code

    def _approach(self, q: FloatArray) -> _Nearest:
        """
        Return the end of a patient descent from posture ``q`` (n,), which is near the pose, to the pose itself.

        It takes at most MOST_PATIENT_STEPS (100) steps, which are added to ``_steps``, and may end short of the pose.
        """
        exact = self._exact
        exact.reference[:] = q
        code = self._kernel(self._options, state.FRESH, exact, self._out)
        self._steps += int(exact.counters[state.ITERATIONS])
        if code == state.FOUND:
            q, error = self._out[0, : self._n].copy(), float(self._out[0, -2])
        else:
            q, error = exact.best.copy(), float(np.linalg.norm(exact.errors))
        return _Nearest(error, q)

    def _ends_at_edge(self, q: FloatArray) -> Iterator[_Nearest]:
        """
        Yield the ends of descents that begin at the edge of reach, next to a posture (n,) that is near the pose.

        For the first descent all joints move to the edge. If some joints are on limits, only the other joints move for
        a second.
        """
        is_free, every = ~self._limits.touched(q), np.ones(self._n, dtype=np.bool_)
        is_partly = is_free.any() and not is_free.all()
        for moving in (every, is_free) if is_partly else (every,):
            start = self._owner._refinement.moved_to_edge(self._pose, q, moving)
            yield self._approach(self._limits.clip(start))


def _limit_rows(options: FloatArray, n: int) -> FloatArray:
    """Return (4, n) views into the options: lower and upper limits, then lower and upper bounds of starts."""
    return joint_rows(options, n)[: state.SAMPLING_UPPER + 1]


def _choose_different(places: list[_Nearest]) -> list[_Nearest]:
    """
    Return at most FOLLOWED (8) of the ends of descents, the one with the smallest error first.

    An end is left out if all its joints are within 0.1 rad or m of a chosen end with a smaller error.
    """
    chosen: list[_Nearest] = []
    for place in sorted(places, key=lambda place: place.error):
        if all(np.abs(place.q - other.q).max() > START_SEPARATION for other in chosen):
            chosen.append(place)
    return chosen[:FOLLOWED]
