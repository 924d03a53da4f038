"""
Find the branches of one pose by one kernel call. A branch is an isolated posture that reaches the pose.

:func:`search` takes the candidates of the arm's closed form and certifies them on the arm's true chain. It chooses
windings within the limits, and sorts the solutions by their distance from the seed. Counter DOUBT tells whether
branches may be missing. A plan has the data of the arm: :func:`pack_plan` packs its real numbers. Other searches call
the parts of this search with a :class:`BranchRun`.

Of an arm with seven joints, one joint is held, and the search is repeated for every given value of it. Branches at
other values are not found.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.branches import plan_layout
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.closed_form.classes import candidates, lane_pipeline
from ssik_ros.kernels.closed_form.singular import singular_refinement
from ssik_ros.kernels.geometry import lanes, se3, so3, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import copy, fill
from ssik_ros.kernels.rows import reach_hull
from ssik_ros.kernels.rows.views import Floats, Memory

# Integers of a plan.
N, HELD, KIND, CASE, REVERSED, BEHIND = 0, 1, 2, 3, 4, 5
JOINT_INDICES = 7
"""Index of the first of N joint indices; the held joint is not among the joints that may move."""
CUT = JOINT_INDICES + 8
"""Joint where an elimination cuts the loop of the chain; -1 for classes without elimination."""
SLIDES = CUT + 1
"""Bit mask of the prismatic joints: bit i for joint i from zero, see :mod:`chain`."""
INEXACT = SLIDES + 1
"""Whether the axes fit the class only nearly; next to singular postures that hides solutions."""
PLAN_INTS = INEXACT + 1

# Options of a call.
MODE, METRIC, HAS_SEED, MAX_SOLUTIONS = 0, 1, 2, 3
ERROR_OPTION, RESIDUAL_OPTION, SEPARATION_OPTION, OFFERED, RIGID_OPTION = 4, 5, 6, 7, 8
OPTIONS = 9

# Counters of a call.
RAW, CERTIFIED, BRANCHES, DROPPED, KEPT, COUNT, PROVED, DOUBT = 0, 1, 2, 3, 4, 5, 6, 7
"""
PROVED: 1 if the reach hull of the chain proves the pose out of reach before any candidate is made.
DOUBT: 1 if the search may have missed branches within limits: the pose is singular or nearly so, or a candidate nearly
reaches the pose. During a search also UNLESS_MET.
"""
COUNTERS = 8
UNLESS_MET = 2
"""DOUBT that ends if the search finds a solution within limits."""

ALMOST = 1e-5
"""If no candidate is certified but the smallest residual is below this, candidates are refined from shifted starts."""
NUDGES = (1e-4, 0.2)
"""
Shifts of the starts; a shift is tried if the shift before it gave no solution [rad].

At a singular posture no first-order motion leads to the solution. The larger shift is for poses that a continuum of
postures almost reaches and few postures reach exactly.
"""

CLOSING = 1e-7
"""If Newton leaves a larger residual, in sizes of the chain and in radians, a candidate surely misses the pose."""
CLOSING_ELIMINATED = 1e-5
"""CLOSING for candidates of an elimination: where four roots coincide, they miss a solution by more than 1e-7, and
Newton gains nothing."""
IRREGULAR = 1e-4
"""Smallest pivot of the Jacobian, relative to its largest entry; if not larger, other postures may be near a
solution."""
SURELY_OUTSIDE = 1e-5
"""If a joint is farther outside its limits than this, it is surely outside [rad or m]."""
SAME_VALUE = 1e-9
"""Largest difference between two values of a held joint that count as one [rad or m]."""

MOST_BETWEEN = 4 * 16
"""Most branches between two copies in the order: symmetric ones at the same distance from the seed."""
BRANCHES_OF_SIX = 16
"""Most candidates for six joints."""


class Work(NamedTuple):
    """
    Scratch of a search of a chain of n joints that keeps at most ``capacity`` branches.

    ``certification`` is shared by certification and refinement. ``kept`` and ``keys`` are the kept branches, ``area``
    is for eight candidates that are measured together.
    """

    g: Annotated[Floats, 12]
    """G = T M^-1, the motion that all joints together must make."""
    target: Annotated[Floats, 12]
    """Target pose T of the tip: rotation row by row, then translation."""
    left: Annotated[Floats, 3]
    """Errors of a candidate."""
    placed: Annotated[Floats, 'n']
    """A candidate with the windings of its joints chosen."""
    candidate: Annotated[Floats, 'n']
    """The current candidate: the joint values that are being certified."""
    candidates: Annotated[Floats, BRANCHES_OF_SIX, 'n']
    """Candidates of the closed form, not certified. With a held joint, those for the value that was tried last."""
    class_scratch: Annotated[Floats, candidates.SCRATCH]
    """Scratch of the closed form of the class."""
    certification: Annotated[Floats, 'singular_refinement.scratch_size(n)']
    """Scratch of :mod:`certify` and :mod:`singular_refinement`."""
    area: Annotated[Floats, 'lane_pipeline.area_size(n)']
    """Eight candidates, see :mod:`lane_pipeline`."""
    kept: Annotated[Floats, 'capacity * (n + 3)']
    """Kept branches in turn, see :func:`_rows_of`."""
    keys: Annotated[Floats, 'capacity']
    """Sort keys of the kept branches: distance from the seed, 0 without a seed."""
    errors: Annotated[Floats, 3]
    """Errors of a kept branch."""


WORK = Memory(Work, 'n, capacity', globals())
work_size = WORK.size('work_size')
view_work = WORK.kernel('view_work')


def pack_plan(
    axes: np.ndarray,
    points: np.ndarray,
    home: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    special: np.ndarray,
    own_axes: np.ndarray,
    own_points: np.ndarray,
    hull: np.ndarray | None = None,
) -> np.ndarray:
    """
    Return the real numbers of a plan as one flat array in the layout of :class:`plan_layout.Plan`.

    :param axes, points: (n, 3) chain on which candidates are certified.
    :param home: (12,) M, pose of the tip with all joints at zero: rotation row by row, then translation.
    :param lower, upper: (n,) limits.
    :param special: (6,) special points of the class; NaN for a missing point.
    :param own_axes, own_points: (n, 3) chain that gives the candidates: the same chain, or the nearest chain that fits
        the class exactly.
    :param hull: (BLOCK,) reach hull of the chain, see :mod:`ssik_ros.kernels.rows.reach_hull`; None means no hull.
    """
    inverse = np.empty(12)
    se3.invert(inverse, home)
    chain = (axes.ravel(), points.ravel(), home, inverse, lower, upper)
    refusing = reach_hull.no_hull() if hull is None else hull
    parts = (*chain, special, own_axes.ravel(), own_points.ravel(), refusing)
    return np.concatenate(parts).astype(np.float64)


class BranchRun(NamedTuple):
    """
    Arrays of one search, passed together to its functions; n is the number of joints.

    ``counters``: (COUNTERS + capacity,) integers such as KEPT, then scratch. ``ints`` (PLAN_INTS,) and ``reals``
    (plan_layout.plan_size(n),): plan of the arm. ``seed``: (n,) joint values [rad or m]. ``options``: (OPTIONS,)
    options of the call, such as MODE. ``work``: (work_size(n, capacity),) scratch with target, candidates and kept
    branches. ``capacity``: most branches that can be kept.
    """

    counters: np.ndarray
    ints: np.ndarray
    reals: np.ndarray
    seed: np.ndarray
    options: np.ndarray
    work: np.ndarray
    capacity: int
    """Number of rows for kept branches."""


@inline_kernel
def plan_of(run):
    """Return the real numbers of the plan of a search (a :class:`BranchRun`) as a :class:`plan_layout.Plan`."""
    return plan_layout.view_plan(run.reals, run.ints[N])


@inline_kernel
def chain_of(run):
    """
    Return (axes, points, home) of the chain that certifies candidates: views (3 n,), (3 n,), (12,) of the plan.

    :param run: a :class:`BranchRun` with the plan.
    """
    plan = plan_of(run)
    return plan.axes, plan.points, plan.home


@inline_kernel
def limits_of(run):
    """
    Return (lower, upper), views (n,) of the joint limits in the plan [rad or m]; infinite without a limit.

    :param run: a :class:`BranchRun` with the plan.
    """
    plan = plan_of(run)
    return plan.lower, plan.upper


@inline_kernel
def work_of(run):
    """Return the scratch of a search (a :class:`BranchRun`) as views, a :class:`Work`."""
    return view_work(run.work, run.ints[N], run.capacity)


@inline_kernel
def _rows_of(run):
    """
    Return a view (capacity, n + 3) of the kept branches: joint values, position error, rotation error, Frobenius norm.

    Errors of -1 mark a row that is not measured yet.

    :param run: a :class:`BranchRun` with the kept branches.
    """
    return matrix(work_of(run).kept, 0, run.capacity, run.ints[N] + 3)


@inline_kernel
def _has_seed(run):
    """Return whether the call has a seed, as option HAS_SEED of a :class:`BranchRun` tells."""
    return run.options[HAS_SEED] != 0.0


@inline_kernel
def _measure(run, q, errors):
    """
    Write the errors of joint values q (n,): position error [m], rotation error [rad], Frobenius norm of FK - T.

    :param run: a :class:`BranchRun` with the chain and the target.
    :param errors: (3,) out.
    """
    axes, points, home = chain_of(run)
    n, slides, work = run.ints[N], run.ints[SLIDES], work_of(run)
    certify.measure(axes, points, home, n, slides, q, work.target, errors, work.certification)


@kernel
def search(out, counters, ints, reals, samples, matrix_t, seed, options, work):
    """
    Write the solutions of one pose, best first; return their number, -1 if the pose is not a rigid transform.

    The best solution is the one nearest to the seed; without a seed, the order is arbitrary. If the reach hull of the
    arm proves the pose out of reach, the number is 0 and counter PROVED is 1. DOUBT of ``counters`` tells whether
    solutions may be missing. Of more than ``capacity`` solutions, those certified first are kept, also if others are
    nearer to the seed.

    :param out: (capacity, n + 3) joint values in each row, then the errors at exactly these numbers: position error
        [m], rotation error [rad], and Frobenius norm of FK - T.
    :param counters: (COUNTERS + capacity,) integers out: counters such as RAW, KEPT, COUNT and DOUBT, then scratch.
    :param ints, reals: integers and real numbers of the arm's plan.
    :param samples: values of the held joint [rad or m]; if no joint is held, one number that is not read.
    :param matrix_t: (4, 4) target pose of the tip; it may deviate from a rigid transform by less than RIGID_OPTION, and
        a copy is made orthonormal.
    :param seed: (n,) sorts the solutions and selects the winding of each joint; read if HAS_SEED is set.
    :param options: (OPTIONS,) options of the call, such as MODE and MAX_SOLUTIONS.
    :param work: (work_size(n, capacity),) scratch.
    """
    run = BranchRun(counters, ints, reals, seed, options, work, out.shape[0])
    if not begin(run, matrix_t):
        return -1
    if is_refused(run):
        return 0
    count = 0
    for sample in range(samples.shape[0]):
        count = write_candidates(run, samples[sample])
        keep(run, count, counters[KEPT])
    written = finish(out, run)
    note_doubt(run, count)
    return written


@inline_kernel
def write_candidates(run, value):
    """
    Write the candidates of the closed form for one value of the held joint into the scratch; return their number.

    They are in ``candidates`` of :class:`Work`. Counter DOUBT is set to 1 if the pose hardly determines an angle, as at
    a singular posture.

    :param run: a :class:`BranchRun`, after :func:`begin`.
    :param value: value of the held joint [rad or m]; not read if no joint is held.
    """
    n, ints, plan, work = run.ints[N], run.ints, plan_of(run), work_of(run)
    count, is_free = candidates.write_candidates(
        work.candidates,
        ints[KIND],
        ints[CASE],
        ints[REVERSED] != 0,
        plan.own_axes,
        plan.own_points,
        n,
        ints[SLIDES],
        ints[HELD],
        value,
        plan.special,
        vector(ints, BEHIND, 2),
        work.g,
        _offered_angle(run),
        work.class_scratch,
    )
    if is_free:
        run.counters[DOUBT] = 1
    return count


@inline_kernel
def note_doubt(run, count):
    """
    Set counter DOUBT after a search without a solution, if its candidates do not prove that none exists.

    Nothing changes if a solution was found, if a joint is held (samples prove nothing), or if DOUBT is set already. If
    the axes fit the class only nearly, DOUBT is set without a test.

    :param run: a :class:`BranchRun`, after :func:`finish`.
    :param count: number of candidates in the scratch, before certification.
    """
    counters = run.counters
    # Most searches end here, without the call of _is_proof.
    if not is_met(run) and run.ints[HELD] < 0 and counters[DOUBT] == 0:
        counters[DOUBT] = 1 if run.ints[INEXACT] != 0 or not _is_proof(run, count) else 0


@inline_kernel
def is_met(run):
    """
    Return whether a finished search has found a solution: one was written to ``out``.

    If MAX_SOLUTIONS is 0, nothing is written, and a kept branch counts.

    :param run: a :class:`BranchRun`, after :func:`finish`.
    """
    counters = run.counters
    return counters[COUNT] > 0 or (counters[KEPT] > 0 and not run.options[MAX_SOLUTIONS] > 0.0)


@kernel
def _is_proof(run, count):
    """
    Return whether the candidates of a search prove that no posture within the limits reaches the pose.

    They do if each candidate clearly misses the pose, or reaches it at a regular posture well outside the limits.
    Without candidates the result is True. The current candidate in the scratch is overwritten.

    :param run: a :class:`BranchRun` with the candidates.
    :param count: number of candidates in the scratch, before certification.
    """
    n, slides, (free, moving) = run.ints[N], run.ints[SLIDES], joints_that_may_move(run)
    work, mode = work_of(run), ranking.WITHIN_LIMITS
    raw, q, left, scratch = work.candidates, work.candidate, work.left, work.certification
    axes, points, home = chain_of(run)
    lower, upper = limits_of(run)
    aim = aim_at(run, free, moving, _extent(run))
    closing = CLOSING if run.ints[CUT] < 0 else CLOSING_ELIMINATED
    for row in range(count):
        copy(q, raw[row])
        _measure(run, q, left)
        if left[2] > run.options[RESIDUAL_OPTION]:
            continue
        error = certify.certify(
            axes, points, home, n, slides, q, free, moving, work.target, math.inf, left, scratch
        )
        if error > max(closing * (1.0 + aim.unit), run.options[ERROR_OPTION]):
            continue
        is_clear = error <= run.options[ERROR_OPTION]
        is_clear = is_clear and singular_refinement.is_regular(q, aim, IRREGULAR, scratch)
        if not is_clear or ranking.place_beside(
            q, n, slides, lower, upper, q, mode, SURELY_OUTSIDE
        ):
            return False
    return True


@inline_kernel
def _offered_angle(run):
    """
    Return the angle to use for the last joint if the pose leaves it free [rad], as at a straight wrist.

    It is the seed's angle, or option OFFERED without a seed, clipped to the limits except in mode KEEP_ALL. The joint
    is the last revolute one in the order of the class.

    :param run: a :class:`BranchRun`.
    """
    n, ints, slides = run.ints[N], run.ints, run.ints[SLIDES]
    joint = ints[JOINT_INDICES] if ints[REVERSED] != 0 else ints[JOINT_INDICES + min(n, 6) - 1]
    if is_slide(slides, joint):
        for i in range(n):
            # Prismatic joints after the last revolute joint occur only if the class fits the chain without reversal.
            if i != ints[HELD] and not is_slide(slides, i):
                joint = i
    wish = run.seed[joint] if _has_seed(run) else run.options[OFFERED]
    if int(run.options[MODE]) == ranking.KEEP_ALL:
        return wish
    lower, upper = limits_of(run)
    return min(max(wish, lower[joint]), upper[joint])


@kernel
def begin(run, matrix_t):
    """
    Start a search: clear the counters, and write the target T and G = T M^-1 into the scratch.

    M is the pose of the tip with all joints at zero.

    :param run: a :class:`BranchRun`.
    :param matrix_t: (4, 4) target pose of the tip; its rotation is made orthonormal in the scratch.
    :returns: False if ``matrix_t`` deviates from a rigid transform by more than RIGID_OPTION; then no target is
        written.
    """
    fill(run.counters[:COUNTERS], 0)
    if not se3.is_rigid(matrix_t, 0, run.options[RIGID_OPTION]):
        return False
    work = work_of(run)
    se3.from_matrix(work.target, matrix_t, 0)
    se3.orthonormalise(work.target)
    se3.compose(work.g, work.target, plan_of(run).inverse)
    return True


@kernel
def is_refused(run):
    """
    Return whether the reach hull of the arm proves the target unreachable within ERROR_OPTION.

    The proof holds whatever the limits of revolute joints are; limits of prismatic joints count. If so, counter PROVED
    is set to 1.

    :param run: a :class:`BranchRun`, after :func:`begin`.
    """
    hull, tolerance = plan_of(run).hull, run.options[ERROR_OPTION]
    # The motion that takes the tip from its place at zero to the target also moves the point of the hull.
    if reach_hull.refuses(hull, 1, work_of(run).g, tolerance, tolerance):
        run.counters[PROVED] = 1
        return True
    return False


@kernel
def finish(out, run):
    """
    Write the kept solutions, best first, at most MAX_SOLUTIONS; return their number, which is also stored in COUNT.

    Rows that are not measured yet, such as those moved onto limits, are measured now. Solutions whose residual exceeds
    ERROR_OPTION are left out. With a held joint, copies of earlier solutions are left out, too.

    :param out: (capacity, n + 3) out: joint values, position error [m], rotation error [rad], Frobenius norm of FK - T.
    :param run: a :class:`BranchRun` with kept branches.
    """
    n, capacity, kept = run.ints[N], run.capacity, run.counters[KEPT]
    work, indices = work_of(run), vector(run.counters, COUNTERS, capacity)
    rows, keys, left = _rows_of(run), work.keys, work.left
    if kept <= LANES <= capacity:
        lane_pipeline.order_few(keys, indices, kept, work.area)
    else:
        ranking.order(keys, indices, kept)
    wanted, written = min(int(run.options[MAX_SOLUTIONS]), capacity), 0
    for i in range(kept):
        if written == wanted:
            break
        row = indices[i]
        for k in range(n + 3):
            out[written, k] = rows[row, k]
        if out[written, n + 2] < 0.0:
            _measure(run, out[written], left)
            for k in range(3):
                out[written, n + k] = left[k]
        # A value that was clipped to its limit moves the tip, so check the residual again.
        is_good = out[written, n + 2] <= run.options[ERROR_OPTION]
        if is_good and not (run.ints[HELD] >= 0 and _is_copy(run, i)):
            written += 1
        else:
            keys[row] = math.nan
    run.counters[COUNT] = written
    return written


@kernel
def keep(run, count, first):
    """
    Certify the candidates in the scratch and keep the new solutions; return the smallest residual of a candidate.

    The result is infinite without candidates. If no candidate becomes a solution but the smallest residual is below
    ALMOST, shifted candidates are refined. If all solutions are outside the limits or repeat kept solutions, a given
    seed is certified, too.

    :param run: a :class:`BranchRun`, after :func:`begin`.
    :param count: number of candidates in the scratch, all at one value of the held joint.
    :param first: number of kept branches before this value. Only later rows are compared with new solutions.
    """
    held, counters = run.ints[HELD], run.counters
    counters[RAW] += count
    kept, certified, smallest = counters[KEPT], counters[CERTIFIED], math.inf
    for start in range(0, count, LANES):
        smallest = min(smallest, _keep_group(run, start, min(LANES, count - start), first))
    if counters[CERTIFIED] == certified and smallest < ALMOST:
        for nudge in NUDGES:
            smallest = min(smallest, _keep_refined(run, count, nudge, first))
            if counters[CERTIFIED] > certified:
                break
    # The candidate of a continuum of solutions may be outside the limits while the seed lies on the continuum.
    if _has_seed(run) and counters[CERTIFIED] > certified and counters[KEPT] == kept:
        work = work_of(run)
        copy(work.candidate, run.seed)
        if held >= 0:
            work.candidate[held] = work.candidates[0, held]
        _keep_one(run, first)
    return smallest


@kernel
def _keep_refined(run, count, nudge, first):
    """
    Shift each candidate by a fixed pattern, refine it, and keep the solutions; return the smallest residual.

    The residual is infinite without candidates.

    :param run: a :class:`BranchRun` with candidates in the scratch.
    :param count: number of candidates.
    :param nudge: size of the shift [rad].
    :param first: number of kept branches before this value of the held joint, with which solutions are not compared.
    """
    n, held, slides = run.ints[N], run.ints[HELD], run.ints[SLIDES]
    work, (free, moving) = work_of(run), joints_that_may_move(run)
    q, raw = work.candidate, work.candidates
    aim = aim_at(run, free, moving, _extent(run))
    smallest = math.inf
    for row in range(count):
        if certify.repeats(raw, row, n, slides, run.options[SEPARATION_OPTION]):
            continue
        for k in range(n):
            # A fixed pattern of shifts leaves the singular posture in every direction.
            aside = nudge * (1.0 + 0.37 * k) * (1.0 - 2.0 * (k % 2))
            q[k] = raw[row, k] + (aside if k != held else 0.0)
        singular_refinement.refine(q, aim, work.certification)
        for k in range(n):
            if k != held and not is_slide(slides, k):
                q[k] = so3.wrap_to_pi(q[k])
        smallest = min(smallest, _keep_one(run, first))
    return smallest


@inline_kernel
def joints_that_may_move(run):
    """
    Return (free, moving): the joints, and their number, that a search may move: all but the held joint.

    ``free`` (n,) has the indices of all joints; only its first ``moving`` entries may move.

    :param run: a :class:`BranchRun` with the plan.
    """
    n = run.ints[N]
    return vector(run.ints, JOINT_INDICES, n), n if run.ints[HELD] < 0 else n - 1


@inline_kernel
def aim_at(run, free, moving, unit):
    """
    Return the chain, the target and the joints that may move, packed as a :class:`singular_refinement.Aim`.

    :param run: a :class:`BranchRun`, after :func:`begin`.
    :param free: (n,) indices of the joints; the first ``moving`` of them may move.
    :param moving: number of joints that may move.
    :param unit: length that counts as one [m].
    """
    n, slides, target = run.ints[N], run.ints[SLIDES], work_of(run).target
    axes, points, home = chain_of(run)
    return singular_refinement.Aim(axes, points, home, n, slides, free, moving, target, unit)


@kernel
def _extent(run):
    """
    Return the largest distance of the chain's points and the target from the first point [m]; 1 if it is zero.

    :param run: a :class:`BranchRun`, after :func:`begin`.
    """
    n, target = run.ints[N], work_of(run).target
    _, points, _ = chain_of(run)
    origin, square = triple(points, 0), 0.0
    for k in range(1, n + 1):
        p = triple(points, k) if k < n else (target[9], target[10], target[11])
        offset = vectors.subtract(p, origin)
        square = max(square, vectors.dot(offset, offset))
    return math.sqrt(square) if square > 0.0 else 1.0


@kernel
def _keep_group(run, start, group, first):
    """
    Certify up to eight candidates and keep new solutions; return the smallest residual of a candidate.

    Candidates that reach the target up to rounding are kept as they are. Candidates with a residual of at most
    RESIDUAL_OPTION get Newton steps one by one. Others are ignored.

    :param run: a :class:`BranchRun` with candidates in the scratch.
    :param start, group: index of the first candidate in the scratch, and number of candidates.
    :param first: number of kept branches before this value of the held joint, with which solutions are not compared.
    """
    n, slides, options = run.ints[N], run.ints[SLIDES], run.options
    mode, same, near = int(options[MODE]), options[SEPARATION_OPTION], options[RESIDUAL_OPTION]
    work = work_of(run)
    raw, area, q, target = work.candidates, work.area, work.candidate, work.target
    lower, upper = limits_of(run)
    axes, points, home = chain_of(run)
    lane_pipeline.read_candidates(area, raw, start, group, n)
    lost = lane_pipeline.place(area, n, slides, lower, upper, run.seed, _has_seed(run), mode)
    lane_pipeline.measure(area, axes, points, home, n, slides, target, near)
    if _has_seed(run):
        metric = int(options[METRIC])
        lane_pipeline.write_distances(area, run.seed, n, slides, lower, upper, metric)
    enough = min(certify.rounding(target), options[ERROR_OPTION])
    # Branches that were kept in another way have no bits to compare.
    value = raw[start, run.ints[HELD]] if run.ints[HELD] >= 0 else 0.0
    dropped = run.counters[DROPPED] - 1
    is_first = run.counters[KEPT] == first and not _is_dropped_at(run, dropped, value)
    alike = lane_pipeline.find_alike(area, n, group, same) if is_first else -1
    smallest = math.inf
    residuals = lanes.load(area, lane_pipeline.row_of(n, lane_pipeline.RESIDUAL))
    every = (1 << group) - 1
    done = lanes.bits_of(residuals <= enough) & every
    if alike == 0 and done == lanes.bits_of(residuals <= near) & every:
        return _keep_all(run, done, lost)
    for lane in range(group):
        error = area[lane_pipeline.row_of(n, lane_pipeline.RESIDUAL) + lane]
        if error <= enough:
            lane_pipeline.read_lane(q, area, lane, n)
            is_alike, is_lost = (alike >> lane) & 1 != 0, (lost >> lane) & 1 != 0
            _keep_measured(run, lane, is_alike, is_lost, first)
        elif error <= near:
            for k in range(n):
                value = raw[start + lane, k]
                q[k] = value if is_slide(slides, k) else so3.wrap_to_pi(value)
            error = _keep_one(run, first)
            alike = -1
        smallest = min(smallest, error)
    return smallest


@inline_kernel
def _store_row(run, area, lane, kept):
    """
    Write a measured candidate, with its three errors and its sort key, as kept branch number ``kept``.

    The key is the distance from the seed, 0 without a seed.

    :param run: a :class:`BranchRun`.
    :param area: area of eight measured candidates, see :mod:`lane_pipeline`.
    :param lane: index of the candidate among the eight.
    :param kept: row to write.
    """
    n, work = run.ints[N], work_of(run)
    rows = _rows_of(run)
    for k in range(n):
        rows[kept, k] = area[LANES * k + lane]
    for k in range(3):
        rows[kept, n + k] = area[lane_pipeline.row_of(n, k) + lane]
    key = area[lane_pipeline.row_of(n, lane_pipeline.DISTANCE) + lane]
    work.keys[kept] = key if _has_seed(run) else 0.0


@kernel
def _keep_all(run, done, lost):
    """
    Keep all of eight measured candidates that reach the target within the limits; return the smallest residual.

    No two candidates may be equal, because they are not compared. Solutions outside the limits are counted as dropped.

    :param run: a :class:`BranchRun` with the measured candidates in ``area`` of its scratch.
    :param done: bits of the candidates that reach the target up to rounding.
    :param lost: bits of the candidates outside the limits.
    """
    n, counters, work = run.ints[N], run.counters, work_of(run)
    area, q = work.area, work.candidate
    residual = lane_pipeline.row_of(n, lane_pipeline.RESIDUAL)
    smallest, certified, kept = math.inf, 0, counters[KEPT]
    for lane in range(LANES):
        smallest = min(smallest, area[residual + lane])
        is_done, is_lost = (done >> lane) & 1, (lost >> lane) & 1
        certified += is_done
        if kept < run.capacity:
            # Write every candidate, and overwrite it if it does not count: a branch here would be unpredictable.
            _store_row(run, area, lane, kept)
            kept += is_done & (1 - is_lost)
    counters[KEPT] = kept
    counters[CERTIFIED] += certified
    counters[BRANCHES] += certified
    if done & lost != 0:
        for lane in range(LANES):
            if (done & lost) >> lane & 1 != 0:
                lane_pipeline.read_lane(q, area, lane, n)
                _drop(run, q)
    return smallest


@inline_kernel
def _drop(run, q):
    """
    Count a solution q (n,) that is outside the limits as DROPPED.

    It is also stored, so that copies can be recognised: the first one in the last row of the kept branches, later ones
    in rows before it. Without a free row it is only counted.

    :param run: a :class:`BranchRun`.
    """
    n, counters, rows = run.ints[N], run.counters, _rows_of(run)
    row = run.capacity - 1 - counters[DROPPED]
    if row > counters[KEPT]:
        for k in range(n):
            rows[row, k] = q[k]
        rows[row, n + 2] = -1.0
    counters[DROPPED] += 1


@inline_kernel
def _is_dropped_at(run, number, value):
    """
    Return whether dropped solution ``number`` is stored, and has a given value of the held joint.

    Dropped solutions are those outside the limits. Without a held joint, the value does not matter.

    :param run: a :class:`BranchRun`.
    :param number: index in the order of dropping; -1 returns False.
    :param value: value of the held joint [rad or m].
    """
    row, held = run.capacity - 1 - number, run.ints[HELD]
    if number < 0 or row <= run.counters[KEPT]:
        return False
    return held < 0 or abs(_rows_of(run)[row, held] - value) <= run.options[SEPARATION_OPTION]


@inline_kernel
def _keep_measured(run, lane, is_alike, is_lost, first):
    """
    Count one of eight measured candidates as a solution, and keep it, or drop it if it is outside the limits.

    A candidate that repeats a kept solution is only counted as certified. So is a candidate outside the limits that
    repeats a dropped solution. Without a free row, a solution is counted, but not stored. The candidate must also be
    the current candidate in the scratch.

    :param run: a :class:`BranchRun`.
    :param lane: index among the eight candidates.
    :param is_alike: True if it must be compared with the solutions that are kept for this value of the held joint.
    :param is_lost: True if it is outside the limits.
    :param first: number of kept branches before this value of the held joint.
    """
    work, counters = work_of(run), run.counters
    area, q = work.area, work.candidate
    counters[CERTIFIED] += 1
    error = area[lane_pipeline.row_of(run.ints[N], lane_pipeline.RESIDUAL) + lane]
    if is_alike and _is_known(run, first, q, error, not is_lost):
        return
    counters[BRANCHES] += 1
    if is_lost:
        _drop(run, q)
    elif counters[KEPT] < run.capacity:
        _store_row(run, area, lane, counters[KEPT])
        counters[KEPT] += 1


@kernel
def _keep_one(run, first):
    """
    Improve the current candidate by Newton steps, and keep it if it is a new solution; return its residual.

    A solution outside the limits is dropped, unless a fold allows to move it onto the limits. The current candidate is
    in the scratch.

    :param run: a :class:`BranchRun`.
    :param first: number of kept branches before this value of the held joint, with which solutions are not compared.
    """
    n, slides, options, work = run.ints[N], run.ints[SLIDES], run.options, work_of(run)
    counters, kept, near = run.counters, run.counters[KEPT], options[RESIDUAL_OPTION]
    axes, points, home = chain_of(run)
    lower, upper = limits_of(run)
    left, q, placed, scratch = work.left, work.candidate, work.placed, work.certification
    free, moving = joints_that_may_move(run)
    error = certify.certify(
        axes, points, home, n, slides, q, free, moving, work.target, near, left, scratch
    )
    if not error <= options[ERROR_OPTION]:
        return error
    counters[CERTIFIED] += 1
    mode, wishes = int(options[MODE]), run.seed if _has_seed(run) else q
    copy(placed, q)
    is_inside = ranking.place(placed, n, slides, lower, upper, wishes, mode)
    if is_inside and not _are_equal(placed, q, n):
        # A joint that was clipped to its limit may require the other joints to follow.
        _measure(run, placed, left)
        is_inside = left[2] <= options[ERROR_OPTION]
    is_inside = is_inside or _put_on_limits(run, wishes)
    if _is_known(run, first, q, error, is_inside):
        return error
    counters[BRANCHES] += 1
    if not is_inside:
        _drop(run, q)
    elif kept < run.capacity:
        # The errors of a posture at another winding or on a limit are measured later.
        is_same, rows = _are_equal(placed, q, n), _rows_of(run)
        for k in range(n):
            rows[kept, k] = placed[k]
        for k in range(3):
            rows[kept, n + k] = left[k] if is_same else -1.0
        key, metric = 0.0, int(options[METRIC])
        if _has_seed(run):
            key = ranking.distance(placed, run.seed, n, slides, lower, upper, metric)
        work.keys[kept] = key
        counters[KEPT] = kept + 1
    return error


@inline_kernel
def _is_copy(run, place):
    """
    Return whether a sorted branch equals an earlier one up to SAME_VALUE.

    This happens if the seed's value of the held joint is also a sample, or if Newton leads to it from a sample. Up to
    MOST_BETWEEN earlier branches with nearly the same distance from the seed are compared. Branches with the key NaN,
    which were left out, are skipped.

    :param run: a :class:`BranchRun` with sorted branches.
    :param place: place of the branch in the sorted order.
    """
    n, work, indices = run.ints[N], work_of(run), vector(run.counters, COUNTERS, run.capacity)
    rows, keys = _rows_of(run), work.keys
    row = indices[place]
    for earlier in range(place - 1, max(place - 1 - MOST_BETWEEN, -1), -1):
        other = indices[earlier]
        # The bound holds for sums of squares, whose derivative is twice the distance, and for other metrics.
        if keys[row] - keys[other] > n * SAME_VALUE * (1.0 + 2.0 * math.sqrt(keys[row])):
            return False
        if keys[other] == keys[other] and _are_copies(rows, row, other, n):
            return True
    return False


@inline_kernel
def _are_copies(rows, row, other, n):
    """
    Return whether the postures in rows ``row`` and ``other`` differ by at most SAME_VALUE in each joint [rad or m].

    :param rows: (., n or more) postures of n joints.
    :param n: number of joints.
    """
    largest = 0.0
    for k in range(n):
        largest = max(largest, abs(rows[row, k] - rows[other, k]))
    return largest <= SAME_VALUE


@inline_kernel
def _are_equal(q, other, n):
    """Return whether two postures (n,) are exactly equal."""
    is_same = True
    for k in range(n):
        is_same = is_same and q[k] == other[k]
    return is_same


@kernel
def _put_on_limits(run, wishes):
    """
    Move joints of the candidate that are just outside their limits onto them, and let the other joints compensate.

    This works only at a fold, where solutions are close together in one direction. The indices of the moving joints are
    stored temporarily after the counters.

    :param run: a :class:`BranchRun` with the current candidate in the scratch.
    :param wishes: (n,) preferred joint values, which select the windings.
    :returns: whether this gave a solution within the limits; it is in ``placed`` of the scratch.
    """
    n, slides, mode = run.ints[N], run.ints[SLIDES], int(run.options[MODE])
    work, placed = work_of(run), work_of(run).placed
    free, on_limit = vector(run.counters, COUNTERS, n), 0
    lower, upper = limits_of(run)
    scratch, tolerance = work.certification, run.options[ERROR_OPTION]
    copy(placed, work.candidate)
    for _ in range(n):
        if not ranking.place_beside(
            placed, n, slides, lower, upper, wishes, mode, ranking.FOLD_LIMIT_ROUNDING
        ):
            return False
        moving = 0
        for k in range(n):
            if placed[k] == lower[k] or placed[k] == upper[k]:
                on_limit |= 1 << k
            elif k != run.ints[HELD] and (on_limit >> k) & 1 == 0:
                free[moving] = k
                moving += 1
        aim = aim_at(run, free, moving, _extent(run))
        if moving == 0 or not singular_refinement.refine(placed, aim, scratch) <= tolerance:
            return False
        if ranking.place(placed, n, slides, lower, upper, wishes, mode):
            return True
    return False


@kernel
def _is_known(run, first, q, error, is_inside):
    """
    Return whether a solution equals one that is already kept or dropped for this value of the held joint.

    Near a fold a solution within the limits may have a neighbour outside. So a solution within the limits is not
    compared with dropped solutions.

    :param run: a :class:`BranchRun`.
    :param first: number of kept branches before this value of the held joint, with which q is not compared.
    :param q: (n,) the solution.
    :param error: residual at q.
    :param is_inside: True if the solution is within the limits.
    """
    for row in range(first, run.counters[KEPT]):
        if _is_same_as(run, row, q, error):
            return True
    if is_inside:
        return False
    value = q[run.ints[HELD]] if run.ints[HELD] >= 0 else 0.0
    # The dropped solutions of this sample are the last ones.
    for number in range(run.counters[DROPPED] - 1, -1, -1):
        if not _is_dropped_at(run, number, value):
            break
        if _is_same_as(run, run.capacity - 1 - number, q, error):
            return True
    return False


@kernel
def _is_same_as(run, row, q, error):
    """
    Return whether the posture q (n,) and the kept branch in row ``row`` are the same solution.

    They are if all joints differ by less than SEPARATION_OPTION and the midpoint of both reaches the target up to
    rounding. Near a fold two solutions may be as close, but their midpoint misses the pose by the square of their
    distance. Postures equal up to SAME_VALUE always count as the same.

    :param run: a :class:`BranchRun`.
    :param error: residual at q, the Frobenius norm of FK - T.
    """
    n, slides, work = run.ints[N], run.ints[SLIDES], work_of(run)
    rows, scratch = _rows_of(run), work.certification
    if not certify.are_near(rows, row, q, n, slides, run.options[SEPARATION_OPTION]):
        return False
    axes, points, home = chain_of(run)
    there = rows[row, n + 2]
    if there < 0.0:
        # Not measured yet: the row is at another winding, on a limit, or outside the limits.
        start = row * rows.shape[1]
        _measure(run, vector(work.kept, start, n), work.errors)
        there = work.errors[2]
    reached, target = max(error, there), work.target
    if certify.meet_half_way(
        axes, points, home, n, slides, rows, row, q, target, reached, scratch
    ):
        return True
    # On tiny arms that test is too strict for copies; no fold is so narrow.
    same = SAME_VALUE if slides == 0 else SAME_VALUE * certify.share_of(points, n)
    return certify.are_near(rows, row, q, n, slides, same)
