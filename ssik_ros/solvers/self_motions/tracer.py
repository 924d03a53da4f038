"""
Trace the self-motions of one arm.

If the elbow of the arm moves on a circle, the curves are computed from this circle. Otherwise the closed form of the
arm finds postures on the curves, and each curve is followed. A curve is stored as knots: postures with tangents and arc
lengths.
"""

from collections.abc import Callable
import functools
import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import TopologyMismatch
from ssik_ros.kernels.closed_form.branches import held_search
from ssik_ros.kernels.closed_form.self_motions import (
    descents,
    elbow_circles,
    folds,
    lane_trace,
    pose_motions,
    segments,
    trace,
)
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import pose_from_numbers
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.arm_angle import ArmAngle
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, PLAIN
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.self_motions.completeness import choose_bound, find_gap
from ssik_ros.solvers.self_motions.curve import (
    JOINTS,
    orthonormal_numbers,
    split_curves,
    TracedPose,
)
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker
from ssik_ros.solvers.self_motions.still_curves import StillCurves
from ssik_ros.tolerances import DEFAULT_TOLERANCES

NOT_EXACT = 'the arm is not exactly of its class, so that its branches are those of Newton from a nearby arm'
FIRST_KNOTS = 2048
"""Number of knots allocated at first."""
WIDENED_LIMITS = 0.5
"""Widening of joint limits that finds curves with short stretches inside [rad]; for ranges below 1, a share of the
range."""
SECOND = (2, 4)
"""Joints that may be held in a second search, if the arm has no exact closed form with followed arcs."""
LEAST_SECOND = 8
"""Least number of values of the second held joint. It gets half the values of the first: no proof depends on it."""
STARTS = 128
"""Postures at which Newton iterations start in the search for short closed curves."""
KEPT_SHARES = 8
"""Resolutions whose values of the held joint are kept for later requests."""
SHARES, MORE_SHARES, MOST_SHARES = 16, 64, 1024
"""The default resolution is the range of the held joint divided by the first number. If arcs between two values of the
joint are not searched, it is divided by the second one. The finest resolution is the range divided by the third."""
RIGHT_ANGLES = (0, 1, 4, 5)
"""Joints whose axes must be perpendicular to the next axis if the elbow moves on a circle."""
PERPENDICULAR_COSINE = 1e-9
"""Largest scalar product of perpendicular axes; the kernel also checks the residual of the pose."""


Curves = tuple[TracedPose, FloatArray, IntArray]
"""Data shared by the curves of a pose, the knots of all curves, and the number of knots of each curve."""
Traced = tuple[TracedPose, FloatArray, IntArray, FloatArray]
"""Like ``Curves``, and the postures whose curves were followed."""
CandidateFinder = Callable[[], FloatArray]
"""Function that returns the postures found at values of the held joint."""


class CurveTable(NamedTuple):
    """
    The curves that were found for a pose, before they are cut at folds and crossings.

    ``find_candidates`` is for the proof that no curve is missing.
    """

    pose: TracedPose
    """Data shared by the curves."""
    knots: FloatArray
    """Stored postures (k, segments.COLUMNS) of all curves in turn, with tangents and arc lengths."""
    rows: IntArray
    """Number of knots of each curve (c,)."""
    find_candidates: CandidateFinder
    """Returns postures (m, 7) that must lie on the curves."""
    resolution: float
    """Distance of the sampled values of the held joint: a curve on which it moves less may be missed [rad or m]."""


class SelfMotionTracer:
    """
    Finds the curves of postures that reach a pose within the limits, for one chain of seven joints.

    The seventh joint may be a spin of the tool of a six-joint arm. A curve may be missing; :meth:`find_gap` tries to
    prove that none is.
    """

    def __init__(
        self, arm: AnalyticArm, dof: int, clearance: ClearanceMaker | None = None
    ) -> None:
        """
        Prepare the search for one chain.

        :param arm: closed form of seven joints, one of them held.
        :param dof: number of joints of the arm: 7, or 6 if the last joint is a spin of the tool.
        :param clearance: makes the objective ``clearance``; None if the robot has no geometry.
        :raises TopologyMismatch: if the chain has another number of joints.
        """
        if arm.plan.size != 7 or arm.plan.held < 0:
            raise TopologyMismatch(
                f'Self-motions need one redundant joint: seven joints, or six and a free axis of the tool. '
                f'This arm has {arm.plan.size}.'
            )
        self._arm, self._dof, self._clearance = arm, dof, clearance
        self._shares = SHARES if arm.requests.has_arcs(PLAIN) else MORE_SHARES
        self._second = self._find_second()
        self._bound: FloatArray | None = None
        self._still: StillCurves | None = None
        self._is_slide, self._tolerance = (
            arm.requests.is_slide(arm.plan.held),
            arm.requests.accepted(None),
        )
        self._turning = (
            (0.0, 0.0) if self._is_slide else arm.requests.held_range(arm.plan.held, PLAIN)
        )
        self._prepared: dict[int, Prepared] = {}
        self._pool: list[PoseArrays] = []
        self._spheres = _find_spheres(arm)
        self._circles: list[CircleArrays] = []
        self._tables: Tables = []

    def motions(self, pose: FloatArray, resolution: float | None = None) -> SelfMotions | None:
        """
        Return the self-motions of a pose, or None if the pose is not a rigid transform.

        :param pose: (4, 4) pose of the tip in the base; its rotation is made orthonormal.
        :param resolution: a curve on which the held joint moves by less than this may be missed [rad or m]. The value
            used is the range of the joint divided by a whole number from 16 to 1024. It is the largest such value that
            is not above ``resolution``. If ``resolution`` is below a 1024th of the range, the value used is a 1024th of
            it. None means a sixteenth of the range, or a 64th for an arm that is not searched on arcs
            (intervals of the held joint's range with a branch within the limits).
        """
        table = self.trace(pose, resolution)
        if table is None:
            return None
        curves = table.pose, table.knots, table.rows, table.resolution
        return SelfMotions(*curves, functools.partial(self.find_gap, table))

    def trace(self, pose: FloatArray, resolution: float | None = None) -> CurveTable | None:
        """
        Return the curves of a pose as one table, or None if the pose is not a rigid transform.

        :param pose: (4, 4) pose of the tip in the base; its rotation is made orthonormal.
        :param resolution: a curve on which the held joint moves by less than this may be missed [rad or m]; see
            :meth:`motions`.
        """
        if not se3.is_rigid(pose, 0, DEFAULT_TOLERANCES.rigid):
            return None
        low, high = self._range(pose) if self._is_slide else self._turning
        wanted = self._shares if resolution is None else (high - low) / resolution
        shares = math.ceil(min(max(wanted, SHARES), MOST_SHARES))
        look: CandidateFinder
        curves = self.find_on_circles(pose)
        if curves is not None:
            look = functools.partial(self._find_candidates, curves[0].target, shares)
        else:
            traced = self.find_at_values(pose, shares)
            if traced is None:
                return None
            curves = traced[:3]
            look = functools.partial(self._with_still_curves, curves[0], traced[3])
        return CurveTable(*curves, look, (high - low) / shares)

    def find_gap(self, table: CurveTable) -> str:
        """
        Return a text that says why a curve may be missing; an empty text if the curves are proved to be complete.

        Complete means that no curve is missing on which the held joint moves by more than the resolution.

        :param table: curves of this arm.
        """
        if table.pose.plan.drift != 0.0:
            return NOT_EXACT
        if self._bound is None:
            self._bound = choose_bound(self._arm.plan.chain)
        candidates = table.find_candidates()
        return find_gap(table.pose, table.knots, table.rows, candidates, self._bound)

    def _with_still_curves(self, shared: TracedPose, candidates: FloatArray) -> FloatArray:
        """Return the candidates (m, 7) together with postures on curves along which the held joint hardly moves."""
        if self._still is None:
            self._still = StillCurves(self._arm)
        return np.vstack([candidates, self._still.postures(shared)])

    def _find_candidates(self, target: FloatArray, shares: int) -> FloatArray:
        """
        Return the branches (m, 7) of a pose within the limits, at ``shares`` or more values of the held joint.

        :param target: (12,) pose of the tip in the base: rotation row by row, then translation.
        """
        pose = pose_from_numbers(target)
        branches = self._arm.branches_refined(pose, BranchRequest(samples=shares))
        return branches.q if branches else np.empty((0, JOINTS.size))

    def find_on_circles(self, pose: FloatArray) -> Curves | None:
        """
        Return the curves of a pose for an arm whose elbow moves on a circle about the line from shoulder to wrist.

        Return None if the arm has another geometry, or if the kernel cannot decide for this pose, such as one out of
        reach.

        :param pose: (4, 4) pose of the tip in the base.
        """
        plan, spheres = self._arm.plan, self._spheres
        if spheres is None:
            return None
        arrays = self._circles.pop() if self._circles else CircleArrays()
        while (count := arrays.find(plan, pose, spheres)) == trace.NO_ROOM:
            arrays.enlarge()
        curves = self._share(arrays.target.copy()), *arrays.curves(count)
        self._circles.append(arrays)
        return curves if count >= 0 else None

    def find_at_values(self, pose: FloatArray, shares: int) -> Traced | None:
        """
        Return the curves through postures at some values of the held joint; None if the pose is not rigid.

        If a curve crosses another or passes near a singular posture, curves along which the held joint does not move
        are searched, too.

        :param pose: (4, 4) pose of the tip in the base.
        :param shares: number of values of the held joint.
        """
        traced = self._find(pose, shares) if self._second is None else None
        if traced is None:
            traced = self._find_slowly(pose, BranchRequest(samples=shares))
        if traced is not None and descents.are_wanted(traced[1]):
            traced = self._look_beside(*traced)
        return traced

    def _range(self, pose: FloatArray) -> tuple[float, float]:
        """Return (low, high), the range of values that a held prismatic joint can have at a pose [m]."""
        values = self._arm.requests.prepare(PLAIN, pose).samples
        step = values[1] - values[0]
        return float(values[0] - 0.5 * step), float(values[-1] + 0.5 * step)

    def _find(self, pose: FloatArray, shares: int) -> Traced | None:
        """
        Return the curves of a pose from one kernel call; None if the call settles nothing.

        The call settles the pose if it finds a curve, or proves that the pose is out of reach.

        :param shares: number of values of the held joint.
        """
        prepared = self._prepared.get(shares)
        if prepared is None:
            prepared = self._arm.requests.prepare_arcs(BranchRequest(samples=shares))
            if len(self._prepared) >= KEPT_SHARES:
                self._prepared.clear()
            self._prepared[shares] = prepared
        arrays = self._pool.pop() if self._pool else PoseArrays(prepared)
        if len(arrays.seeds) < prepared.capacity:
            arrays = PoseArrays(prepared)
        while (count := arrays.find(prepared, pose)) == trace.NO_ROOM:
            arrays.enlarge()
        shared = self._share(arrays.target.copy())
        knots, rows = arrays.curves(count)
        candidates = arrays.seeds[: int(arrays.spread[held_search.TRIED])].copy()
        self._pool.append(arrays)
        is_settled = count > 0 or count == pose_motions.TOO_FAR
        return (shared, knots, rows, candidates) if is_settled else None

    def _find_slowly(self, pose: FloatArray, request: BranchRequest) -> Traced | None:
        """
        Return the curves through all postures that a branch search finds; None if the pose is not a rigid transform.

        :param request: options of the branch search; its samples are the values of the held joint.
        """
        target = orthonormal_numbers(pose)
        shared = self._share(target)
        search = self._seeds if self._arm.requests.has_arcs(request) else self._wide_seeds
        seeds = search(shared, pose_from_numbers(target), request)
        if seeds is None:
            return None
        seeds = np.ascontiguousarray(seeds)
        return (shared, *self._trace(shared, seeds), seeds)

    def _share(self, target: FloatArray) -> TracedPose:
        """
        Return the data that all curves of a pose share.

        :param target: (12,) pose: rotation row by row, then translation.
        """
        plan, chain = self._arm.plan, self._arm.chain
        numbers = plan.reals, target, self._tolerance, chain.lower, chain.upper
        return TracedPose(plan, self._dof, *numbers, self._clearance)

    def _seeds(
        self, shared: TracedPose, pose: FloatArray, request: BranchRequest
    ) -> FloatArray | None:
        """
        Return the branches (m, 7) of a pose within the limits of the request, as starts of curves.

        If a second joint is held, its branches follow. Return None if the pose is not a rigid transform.
        """
        requests = [request]
        if self._second is not None:
            shares = max((request.samples or SHARES) // 2, LEAST_SECOND)
            requests.append(request._replace(held=self._second, samples=shares))
        branches = [self._arm.branches_refined(pose, each) for each in requests]
        return np.vstack([each.q for each in branches if each]) if branches[0] else None

    def _wide_seeds(
        self, shared: TracedPose, pose: FloatArray, request: BranchRequest
    ) -> FloatArray | None:
        """
        Return starts of curves (m, 7), found with limits widened by up to 0.5 rad; None for an invalid pose.

        Curves are traced within the wide limits. Each part of such a curve within the real limits gives at least one
        start, unless it is very short. So a part may be found that is too short for the samples of the held joint.
        """
        wide = WIDENED_LIMITS * (shared.upper - shared.lower).clip(0.0, 1.0)
        request = request._replace(lower=shared.lower - wide, upper=shared.upper + wide)
        seeds = self._seeds(shared, pose, request)
        if seeds is None:
            return None
        widened = shared._replace(reals=self._arm.requests.prepare(request, pose).reals)
        seeds = np.vstack(
            [seeds, self._spread_seeds(widened, shared.lower - wide, shared.upper + wide)]
        )
        # The proof needs the seeds within the limits, too.
        return shared.starts_inside(seeds, split_curves(*self._trace(widened, seeds)))

    def _look_beside(
        self, shared: TracedPose, knots: FloatArray, rows: IntArray, candidates: FloatArray
    ) -> Traced:
        """
        Return the curves, with curves added along which the held joint does not move.

        These are searched from spread postures. All other curves are kept as they are: near singular postures, a second
        search may follow a curve twice.

        :param knots, rows: stored postures with tangents and arc lengths of the curves found so far, and how many each
            curve has.
        :param candidates: (m, 7) postures whose curves were followed.
        """
        more = self._spread_seeds(shared, shared.lower, shared.upper)
        again = self._trace(shared, np.vstack([candidates, more]))
        kept = [*self._parts(shared, knots, rows, False), *self._parts(shared, *again, True)]
        return shared, np.vstack(kept), np.array([len(part) for part in kept]), candidates

    def _parts(
        self, shared: TracedPose, knots: FloatArray, rows: IntArray, is_still: bool
    ) -> list[FloatArray]:
        """
        Return the knots of each curve on which the held joint moves, or with ``is_still`` of all other curves.

        A knot is a posture on a curve, with tangent and arc length. The held joint moves on a curve if it moves at more
        than half of the knots: near a crossing the tangent turns towards the other curve.
        """
        column = segments.TANGENT + shared.plan.held
        return [
            part
            for part in split_curves(knots, rows)
            if bool(np.median(np.abs(part[:, column])) <= folds.STILL_COMPONENT) == is_still
        ]

    def _spread_seeds(
        self, shared: TracedPose, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        """
        Return postures (m, 7) of the pose that Newton iterations reach from 128 random starts.

        Some may lie on short closed curves, which sampling the held joint misses.

        :param shared: data shared by the curves; its ``reals`` hold the limits of the postures.
        :param lower, upper: (7,) range of the starts; angles are clipped to [-pi, pi].
        """
        both = np.array([lower, upper])
        slides = [self._arm.requests.is_slide(k) for k in range(both.shape[1])]
        low, high = np.where(slides, both, both.clip(-np.pi, np.pi))
        q: FloatArray = low + (high - low) * np.random.default_rng(0).random((STARTS, len(low)))
        return shared.descend(q)

    def _find_second(self) -> int | None:
        """
        Return the index of a second joint to hold: 2, else 4 (counted from 0); None if neither can be held.

        None is also returned if one held joint is enough: if the arm is exactly of its class, and is searched only on
        arcs, intervals of the held joint's range with a branch within the limits. Otherwise a second joint is needed.
        For example, near a straight elbow the first held joint hardly moves along a curve.
        """
        if self._arm.plan.drift == 0.0 and self._arm.requests.has_arcs(PLAIN):
            return None
        return next(filter(self._arm.requests.can_hold_instead, SECOND), None)

    def _trace(self, shared: TracedPose, seeds: FloatArray) -> tuple[FloatArray, IntArray]:
        """
        Return the knots of the curves through postures ``seeds`` (m, 7), and the number of knots of each curve (c,).

        Knots (k, segments.COLUMNS) are postures on the curves, with tangents and arc lengths.
        """
        return follow_curves(shared, seeds, self._tables)


Tables = list[tuple[FloatArray, FloatArray]]
"""Arrays of knots and scratch that later calls reuse."""


def follow_curves(
    shared: TracedPose, seeds: FloatArray, tables: Tables | None = None
) -> tuple[FloatArray, IntArray]:
    """
    Follow the curves through postures in both directions; return all knots (k, COLUMNS) and the knots per curve (c,).

    A knot is a posture on a curve, with tangent, arc length, and a code that says whether the curve ends there.

    :param shared: data shared by the curves.
    :param seeds: (m, 7) postures that reach the pose, contiguous; those on a curve that was followed are skipped.
    :param tables: pool of arrays; the call takes one entry and puts it back. None allocates new arrays.
    """
    scratch = lane_trace.scratch_size(len(seeds))
    knots, work = tables.pop() if tables else (_knots(FIRST_KNOTS), np.empty(0))
    work = work if len(work) >= scratch else np.empty(scratch)
    heads = np.empty((len(seeds), 2), dtype=np.int64)
    while True:
        is_done = np.zeros(len(seeds), dtype=np.int64)
        where = shared.target, seeds, is_done, JOINTS, work
        count = lane_trace.follow(knots, heads, shared.plan.ints, shared.reals, *where)
        if count >= 0:
            break
        knots = _knots(2 * len(knots))
    rows = heads[:count, trace.ROWS].copy()
    used_knots = knots[: int(rows.sum())].copy()
    if tables is not None:
        tables.append((knots, work))
    return used_knots, rows


class CurveArrays:
    """
    Arrays into which a kernel writes the curves of one pose: knots, counts of knots, and the target pose.

    A knot is a posture on a curve, with tangent and arc length.
    """

    def __init__(self, capacity: int) -> None:
        """
        Allocate the arrays.

        :param capacity: largest number of curves.
        """
        self.heads = np.empty((capacity, 2), dtype=np.int64)
        self.target = np.empty(12)
        self.knots = _knots(FIRST_KNOTS)

    def enlarge(self) -> None:
        """Replace the array of postures on curves (knots) by an empty one of twice the size; its contents are lost."""
        self.knots = _knots(2 * len(self.knots))

    def curves(self, count: int) -> tuple[FloatArray, IntArray]:
        """
        Return copies of the knots of all curves in turn, and the number of knots of each curve.

        A knot is a posture on a curve, with tangent and arc length.

        :param count: number of curves; a negative number counts as 0.
        """
        rows = self.heads[: max(count, 0), trace.ROWS].copy()
        return self.knots[: sum(rows.tolist())].copy(), rows


class PoseArrays(CurveArrays):
    """
    Result and scratch arrays of a kernel call that finds the curves of one pose by sampling the held joint.

    Later calls reuse an instance; calls that run at the same time need separate instances.
    """

    def __init__(self, prepared: Prepared) -> None:
        """
        Allocate the arrays.

        :param prepared: request that samples the held joint on arcs of its range; its capacity sets the sizes.
        """
        capacity, size = prepared.capacity, len(prepared.seed)
        super().__init__(capacity)
        self._branches = BranchArrays(size, capacity)
        self.spread = prepared.samples.copy()
        self.seeds = np.empty((capacity, size))
        self._is_done = np.empty(capacity, dtype=np.int64)
        self._work = np.empty(lane_trace.scratch_size(capacity))

    def find(self, prepared: Prepared, pose: FloatArray) -> int:
        """
        Write the curves of a pose into the arrays, and return their number, or a negative code.

        ``trace.NO_ROOM`` means that the array for postures on curves is too small: :meth:`enlarge` it.
        ``pose_motions.TOO_FAR`` means that the pose is out of reach, ``pose_motions.NOT_RIGID`` that it is not rigid.

        :param prepared: request on arcs, with at most the capacity of these arrays.
        :param pose: (4, 4) pose of the tip in the base.
        """
        branches, spread = self._branches, self.spread
        spread[:] = prepared.samples
        arcs = branches.arc_arrays(int(spread[held_search.WANTED]))
        count: int = pose_motions.find(
            *(self.knots, self.heads, self.target, self.seeds, self._is_done, JOINTS),
            *(self._work, branches.counters, prepared.ints, prepared.reals, spread),
            *(pose, prepared.seed, prepared.options, branches.work),
            *(arcs.places, arcs.stack, arcs.scratch),
        )
        return count


class CircleArrays(CurveArrays):
    """
    Result and scratch arrays of a kernel call that finds the curves of an arm whose elbow moves on a circle.

    Later calls reuse an instance; calls that run at the same time need separate instances.
    """

    def __init__(self) -> None:
        """Allocate the arrays."""
        super().__init__(elbow_circles.MOST_CURVES)
        self._work = np.empty(elbow_circles.scratch_size())

    def find(self, plan: AnalyticPlan, pose: FloatArray, spheres: FloatArray) -> int:
        """
        Write the curves of a pose into the arrays, and return their number, or a negative code.

        ``trace.NO_ROOM`` means that the array for postures on curves is too small: :meth:`enlarge` it. Other codes mean
        that the curves are unknown.

        :param plan: plan of seven joints.
        :param pose: (4, 4) pose of the tip in the base.
        :param spheres: (6,) centres of shoulder and wrist in the base, with all joints at zero [m].
        """
        where = pose, plan.ints, plan.reals, JOINTS, self._work
        count: int = elbow_circles.find(self.knots, self.heads, self.target, spheres, *where)
        return count


def _find_spheres(arm: AnalyticArm) -> FloatArray | None:
    """
    Return the centres (6,) of a spherical shoulder, then of a spherical wrist, in the base with all joints at zero [m].

    Return None if the arm lacks one of them or has it only nearly, or if neighbouring axes of shoulder or wrist are not
    perpendicular.
    """
    chain = arm.plan.chain
    angles = ArmAngle.of_chain(chain) if arm.plan.drift == 0.0 else None
    cosines = [chain.axes[k] @ chain.axes[k + 1] for k in RIGHT_ANGLES]
    if angles is None or np.abs(cosines).max() > PERPENDICULAR_COSINE:
        return None
    return np.concatenate([angles.shoulder, angles.wrist])


def _knots(size: int) -> FloatArray:
    """Return a new array (size, segments.COLUMNS) for knots: postures on curves, with tangents and arc lengths."""
    return np.empty((size, segments.COLUMNS))
