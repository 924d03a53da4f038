"""Self-motions of one arm: postures on every curve by its closed form, then the curves through them."""

from collections.abc import Callable
import functools
import math

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import TopologyMismatch
from ssik_ros.kernels.closed_form.branches import held_search
from ssik_ros.kernels.closed_form.self_motions import (
    descents,
    elbow_circles,
    folds,
    inside,
    lane_trace,
    pose_motions,
    segments,
    trace,
)
from ssik_ros.kernels.geometry import se3
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest, PLAIN
from ssik_ros.solvers.closed_form.arm_angle import ArmAngle
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.plan import AnalyticPlan
from ssik_ros.solvers.self_motions.completeness import choose_bound, find_gap
from ssik_ros.solvers.self_motions.curve import JOINTS, TracedPose
from ssik_ros.solvers.self_motions.motions import SelfMotions
from ssik_ros.solvers.self_motions.objectives import ClearanceMaker
from ssik_ros.solvers.self_motions.still_curves import StillCurves
from ssik_ros.tolerances import DEFAULT_TOLERANCES

NOT_EXACT = 'the arm is not exactly of its class, so that its branches are those of Newton from a nearby arm'
FIRST_KNOTS = 2048
"""Knots for which there is room at first."""
WIDER = 0.5
"""By how much limits are widened for curves of which short stretches are inside [rad], or as a share of shorter ranges."""
BESIDE = 1e-9
"""How far a posture may be beyond a limit by rounding [rad or m]."""
SECOND = (2, 4)
"""Joints of which one is held, too, where the arm is not exactly of a class with a closed form."""
LEAST_SECOND = 8
"""Values at least of that joint: half as many as of the other one suffice, for nothing is proved with it."""
STARTS = 128
"""Postures from which Newton looks for short closed curves."""
SHARES, MORE_SHARES, MOST_SHARES = 16, 64, 1024
"""The default resolution is the range of the held joint over the first number, or over the second one where arcs between two
values of the joint are not looked for; the finest one is the range over the third."""
RIGHT_ANGLES = (0, 1, 4, 5)
"""Joints whose axes are across those of the next ones where the elbow moves on a circle."""
ACROSS = 1e-9
"""Scalar product of two axes up to which they count as such: the kernel looks at what is left of the pose, too."""


Curves = tuple[TracedPose, FloatArray, IntArray]
"""What the curves of a pose share, their knots, and how many knots each has."""
Traced = tuple[TracedPose, FloatArray, IntArray, FloatArray]
"""The same and the postures that lie on them."""
CandidateFinder = Callable[[], FloatArray]
"""Returns these postures."""


class SelfMotionTracer:
    """The self-motions of a chain of seven joints."""

    def __init__(
        self, arm: AnalyticArm, dof: int, clearance: ClearanceMaker | None = None
    ) -> None:
        """
        Take the closed form of a chain.

        :param arm: of seven joints, one of them held.
        :param dof: how many of them are the arm's own; the last one is a spin of the tool where it is 6.
        :param clearance: makes the objective of that name, None where there is no robot to measure.
        :raises TopologyMismatch: when the chain has another number of joints.
        """
        if arm.plan.size != 7 or arm.plan.held < 0:
            raise TopologyMismatch(
                f'Self-motions need one redundant joint: seven joints, or six and a free axis of the tool. '
                f'This arm has {arm.plan.size}.'
            )
        self._arm, self._dof, self._clearance = arm, dof, clearance
        self._shares = SHARES if arm.has_arcs(PLAIN) else MORE_SHARES
        self._second = self._find_second()
        self._bound: FloatArray | None = None
        self._still: StillCurves | None = None
        self._is_slide, self._tolerance = arm.is_slide(arm.plan.held), arm.accepted(None)
        self._turning = (0.0, 0.0) if self._is_slide else arm.held_range(arm.plan.held, PLAIN)
        self._prepared: dict[int, Prepared] = {}
        self._pool: list[PoseArrays] = []
        self._spheres = _find_spheres(arm)
        self._circles: list[CircleArrays] = []
        self._tables: Tables = []

    def motions(self, pose: FloatArray, resolution: float | None = None) -> SelfMotions | None:
        """
        Return the self-motions of a pose, None where it is no rigid transform.

        :param pose: (4, 4) of the tip in the base; rounding is taken out of its rotation.
        :param resolution: every curve on which the held joint moves by more than this is found [rad or m]; None for the
            arm's own, see :attr:`SelfMotions.resolution`.
        """
        if not se3.is_rigid(pose, 0, DEFAULT_TOLERANCES.rigid):
            return None
        low, high = self._range(pose) if self._is_slide else self._turning
        wanted = self._shares if resolution is None else (high - low) / resolution
        shares = math.ceil(min(max(wanted, SHARES), MOST_SHARES))
        look: CandidateFinder
        curves = self._find_on_circles(pose)
        if curves is not None:
            look = functools.partial(self._find_candidates, curves[0].target, shares)
        else:
            found = self._find_at_values(pose, shares)
            if found is None:
                return None
            curves = found[:3]
            look = functools.partial(self._with_still_curves, curves[0], found[3])
        prove = functools.partial(self._find_gap, *curves, look)
        return SelfMotions(*curves, (high - low) / shares, prove)

    def _find_gap(
        self, own: TracedPose, knots: FloatArray, rows: IntArray, look: CandidateFinder
    ) -> str:
        """Return why a curve may be missing, empty when none is."""
        if own.plan.drift != 0.0:
            return NOT_EXACT
        if self._bound is None:
            self._bound = choose_bound(self._arm.plan.chain)
        return find_gap(own, knots, rows, look(), self._bound)

    def _with_still_curves(self, own: TracedPose, candidates: FloatArray) -> FloatArray:
        """Return the postures (m, 7) of a pose, and more on curves along which the held joint hardly moves."""
        if self._still is None:
            self._still = StillCurves(self._arm)
        target = np.empty((4, 4))
        se3.to_matrix(target, own.target)
        return np.vstack([candidates, self._still.postures(own, target)])

    def _find_candidates(self, target: FloatArray, shares: int) -> FloatArray:
        """Return the postures (m, 7) of a pose (12,) within the limits at values of the held joint."""
        pose = np.empty((4, 4))
        se3.to_matrix(pose, target)
        found = self._arm.branches_refined(pose, BranchRequest(samples=shares))
        return found.q if found else np.empty((0, JOINTS.size))

    def _find_on_circles(self, pose: FloatArray) -> Curves | None:
        """Return pose, knots and rows by the circles of the elbow; None where these do not serve."""
        plan, spheres = self._arm.plan, self._spheres
        if spheres is None:
            return None
        arrays = self._circles.pop() if self._circles else CircleArrays()
        while (count := arrays.find(plan, pose, spheres)) == trace.NO_ROOM:
            arrays.enlarge()
        found = self._own(arrays.target.copy()), *arrays.curves(count)
        self._circles.append(arrays)
        return found if count >= 0 else None

    def _find_at_values(self, pose: FloatArray, shares: int) -> Traced | None:
        """Return what values of the held joint lead to; None where the pose is no rigid transform."""
        found = self._find(pose, shares) if self._second is None else None
        if found is None:
            found = self._find_slowly(pose, BranchRequest(samples=shares))
        if found is not None and descents.are_wanted(found[1]):
            found = self._look_beside(*found)
        return found

    def _range(self, pose: FloatArray) -> tuple[float, float]:
        """Return the range over which a held slide is looked at [m]."""
        values = self._arm.prepare(PLAIN, pose).samples
        step = values[1] - values[0]
        return float(values[0] - 0.5 * step), float(values[-1] + 0.5 * step)

    def _find(self, pose: FloatArray, shares: int) -> Traced | None:
        """Return pose, knots and rows by one kernel call; None where it meets nothing."""
        if shares not in self._prepared:
            self._prepared[shares] = self._arm.prepare_arcs(BranchRequest(samples=shares))
        prepared = self._prepared[shares]
        arrays = self._pool.pop() if self._pool else PoseArrays(prepared)
        if len(arrays.seeds) < prepared.capacity:
            arrays = PoseArrays(prepared)
        while (count := arrays.find(prepared, pose)) == trace.NO_ROOM:
            arrays.enlarge()
        own = self._own(arrays.target.copy())
        knots, rows = arrays.curves(count)
        candidates = arrays.seeds[: int(arrays.spread[held_search.TRIED])].copy()
        self._pool.append(arrays)
        is_settled = count > 0 or count == pose_motions.TOO_FAR
        return (own, knots, rows, candidates) if is_settled else None

    def _find_slowly(self, pose: FloatArray, request: BranchRequest) -> Traced | None:
        """Return pose, knots and rows by postures from a search for branches; None where the pose is no rigid transform."""
        target, exact = np.empty(12), np.empty((4, 4))
        se3.from_matrix(target, pose, 0)
        se3.orthonormalise(target)
        se3.to_matrix(exact, target)
        own = self._own(target)
        search = self._seeds if self._arm.has_arcs(request) else self._wide_seeds
        seeds = search(own, exact, request)
        if seeds is None:
            return None
        seeds = np.ascontiguousarray(seeds)
        return (own, *self._trace(own, seeds), seeds)

    def _own(self, target: FloatArray) -> TracedPose:
        """Return what the curves of a pose share."""
        plan, chain = self._arm.plan, self._arm.chain
        numbers = plan.reals, target, self._tolerance, chain.lower, chain.upper
        return TracedPose(plan, self._dof, *numbers, self._clearance)

    def _seeds(
        self, own: TracedPose, pose: FloatArray, request: BranchRequest
    ) -> FloatArray | None:
        """Return postures (m, 7) that reach a pose within the limits, at least one on each curve; None for no rigid pose."""
        requests = [request]
        if self._second is not None:
            shares = max((request.samples or SHARES) // 2, LEAST_SECOND)
            requests.append(request._replace(held=self._second, samples=shares))
        found = [self._arm.branches_refined(pose, each) for each in requests]
        return np.vstack([each.q for each in found if each]) if found[0] else None

    def _wide_seeds(
        self, own: TracedPose, pose: FloatArray, request: BranchRequest
    ) -> FloatArray | None:
        """Return the same from curves that are traced within wider limits, of which short stretches are inside."""
        wide = WIDER * (own.upper - own.lower).clip(0.0, 1.0)
        request = request._replace(lower=own.lower - wide, upper=own.upper + wide)
        seeds = self._seeds(own, pose, request)
        if seeds is None:
            return None
        widened = own._replace(reals=self._arm.prepare(request, pose).reals)
        seeds = np.vstack([seeds, self._spread_seeds(widened, own.lower - wide, own.upper + wide)])
        knots, rows = self._trace(widened, seeds)
        # Those within the limits, without which nothing would be proved, and some of every stretch within them.
        is_inside = ((seeds >= own.lower - BESIDE) & (seeds <= own.upper + BESIDE)).all(axis=1)
        found, work = (
            [seeds[is_inside].clip(own.lower, own.upper)],
            np.empty(inside.scratch_size()),
        )
        for part in np.split(knots, np.cumsum(rows)[:-1]) if len(rows) else ():
            out = np.empty((inside.MARKS * len(part), 7))
            where = own.plan.ints, own.reals, own.target, JOINTS, work
            found.append(out[: inside.write_inside(out, part, *where)])
        return np.vstack(found)

    def _look_beside(
        self, own: TracedPose, knots: FloatArray, rows: IntArray, candidates: FloatArray
    ) -> Traced:
        """
        Return the same and the curves on which the held joint stands still, where Newton reaches any from spread postures.

        All other curves are kept from the first search: beside singular postures a second one may follow the same curve twice.
        """
        more = self._spread_seeds(own, own.lower, own.upper)
        again = self._trace(own, np.vstack([candidates, more]))
        kept = [*self._parts(own, knots, rows, False), *self._parts(own, *again, True)]
        return own, np.vstack(kept), np.array([len(part) for part in kept]), candidates

    def _parts(
        self, own: TracedPose, knots: FloatArray, rows: IntArray, is_still: bool
    ) -> list[FloatArray]:
        """
        Return the knots of each curve on which the held joint moves, or stands still.

        It stands still if it does so at most knots: beside a crossing the tangent turns towards the other curve.
        """
        column = segments.TANGENT + own.plan.held
        parts = np.split(knots, np.cumsum(rows)[:-1]) if len(rows) else []
        return [
            part
            for part in parts
            if bool(np.median(np.abs(part[:, column])) <= folds.STILL) == is_still
        ]

    def _spread_seeds(self, own: TracedPose, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return postures (m, 7) that reach a pose, from some spread over limits: short closed curves are among those met."""
        both = np.array([lower, upper])
        slides = [self._arm.is_slide(k) for k in range(both.shape[1])]
        low, high = np.where(slides, both, both.clip(-np.pi, np.pi))
        q: FloatArray = low + (high - low) * np.random.default_rng(0).random((STARTS, len(low)))
        where = own.plan.ints, own.reals, own.target, JOINTS, np.empty(descents.scratch_size())
        count: int = descents.descend(q, *where)
        return q[:count]

    def _find_second(self) -> int | None:
        """
        Return another joint to hold, None where one suffices.

        Where an elbow is nearly straight the arm turns between shoulder and wrist while the joints at its ends hardly move.
        """
        if self._arm.plan.drift == 0.0 and self._arm.has_arcs(PLAIN):
            return None
        for joint in SECOND:
            try:
                if joint != self._arm.plan.held and self._arm.holds(joint):
                    return joint
            except TopologyMismatch:
                continue
        return None

    def _trace(self, own: TracedPose, seeds: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the knots of the curves through postures, and how many knots each curve has."""
        return follow_curves(own, seeds, self._tables)


Tables = list[tuple[FloatArray, FloatArray]]
"""Room for knots and scratch that later calls reuse."""


def follow_curves(
    own: TracedPose, seeds: FloatArray, tables: Tables | None = None
) -> tuple[FloatArray, IntArray]:
    """
    Return the knots of the curves through postures, and how many knots each curve has.

    :param own: what the curves share.
    :param seeds: (m, 7) postures that reach the pose, contiguous.
    :param tables: idle room, and what this call leaves.
    """
    scratch = lane_trace.scratch_size(len(seeds))
    knots, work = tables.pop() if tables else (_knots(FIRST_KNOTS), np.empty(0))
    work = work if len(work) >= scratch else np.empty(scratch)
    heads = np.empty((len(seeds), 2), dtype=np.int64)
    while True:
        is_done = np.zeros(len(seeds), dtype=np.int64)
        where = own.target, seeds, is_done, JOINTS, work
        count = lane_trace.follow(knots, heads, own.plan.ints, own.reals, *where)
        if count >= 0:
            break
        knots = _knots(2 * len(knots))
    rows = heads[:count, trace.ROWS].copy()
    found = knots[: int(rows.sum())].copy()
    if tables is not None:
        tables.append((knots, work))
    return found, rows


class CurveArrays:
    """The curves of one pose as kernels write them."""

    def __init__(self, capacity: int) -> None:
        """
        Allocate.

        :param capacity: how many curves there may be.
        """
        self.heads = np.empty((capacity, 2), dtype=np.int64)
        self.target = np.empty(12)
        self.knots = _knots(FIRST_KNOTS)

    def enlarge(self) -> None:
        """Make room for twice as many knots."""
        self.knots = _knots(2 * len(self.knots))

    def curves(self, count: int) -> tuple[FloatArray, IntArray]:
        """
        Return copies of the knots of all curves, and how many knots each has.

        :param count: number of curves, or less than 0 for none.
        """
        rows = self.heads[: max(count, 0), trace.ROWS].copy()
        return self.knots[: sum(rows.tolist())].copy(), rows


class PoseArrays(CurveArrays):
    """Results and scratch for the curves of one pose; later poses reuse them, two at a time never share them."""

    def __init__(self, prepared: Prepared) -> None:
        """
        Allocate.

        :param prepared: a request on arcs.
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
        Write the curves of a pose; return how many there are, or why that is not known.

        :param prepared: a request on arcs, for no more branches than there is room for.
        :param pose: (4, 4).
        """
        branches, spread = self._branches, self.spread
        spread[:] = prepared.samples
        own = branches.arc_arrays(int(spread[held_search.WANTED]))
        count: int = pose_motions.find(
            *(self.knots, self.heads, self.target, self.seeds, self._is_done, JOINTS),
            *(self._work, branches.counters, prepared.ints, prepared.reals, spread),
            *(pose, prepared.seed, prepared.options, branches.work),
            *(own.places, own.stack, own.scratch),
        )
        return count


class CircleArrays(CurveArrays):
    """Results and scratch for the curves of one pose by the circle of the elbow, used like :class:`PoseArrays`."""

    def __init__(self) -> None:
        """Allocate."""
        super().__init__(elbow_circles.MOST_CURVES)
        self._work = np.empty(elbow_circles.scratch_size())

    def find(self, plan: AnalyticPlan, pose: FloatArray, spheres: FloatArray) -> int:
        """
        Write the curves of a pose; return how many there are, or why that is not known.

        :param plan: of seven joints.
        :param pose: (4, 4).
        :param spheres: (6,) where the axes of the shoulder meet, and those of the wrist, all joints at zero [m].
        """
        where = pose, plan.ints, plan.reals, JOINTS, self._work
        count: int = elbow_circles.find(self.knots, self.heads, self.target, spheres, *where)
        return count


def _find_spheres(arm: AnalyticArm) -> FloatArray | None:
    """Return where the axes of shoulder and wrist meet (6,), None where they do not, or not at right angles."""
    chain = arm.plan.chain
    angles = ArmAngle.of_chain(chain) if arm.plan.drift == 0.0 else None
    cosines = [chain.axes[k] @ chain.axes[k + 1] for k in RIGHT_ANGLES]
    if angles is None or np.abs(cosines).max() > ACROSS:
        return None
    return np.concatenate([angles.shoulder, angles.wrist])


def _knots(size: int) -> FloatArray:
    """Return room for so many knots."""
    return np.empty((size, segments.COLUMNS))
