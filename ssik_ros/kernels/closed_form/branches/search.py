"""
Every branch of one pose: candidates, certification, limits, order, in one kernel call.

An arm with seven joints is solved once for every value of its held joint.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.certification.chain import is_slide, triple
from ssik_ros.kernels.closed_form.classes import candidates, lane_pipeline
from ssik_ros.kernels.closed_form.singular import singular_refinement
from ssik_ros.kernels.geometry import lanes, se3, so3, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import copy, fill
from ssik_ros.kernels.rows import reach_hull

# Integers of a plan.
N, HELD, KIND, CASE, REVERSED, BEHIND = 0, 1, 2, 3, 4, 5
FREE = 7
"""The first of the joints that may move, N of them."""
CUT = FREE + 8
"""Where an elimination cuts the loop of the chain, -1 for classes that need none."""
SLIDES = CUT + 1
"""Which joints are prismatic: bit i for joint i from zero, see :mod:`chain`."""
PLAN_INTS = SLIDES + 1

# Options of a call.
MODE, METRIC, HAS_SEED, MAX_SOLUTIONS, TOLERANCE, NEAR, SAME, OFFERED = 0, 1, 2, 3, 4, 5, 6, 7
RIGID = 8
OPTIONS = 9

# What a call counts.
RAW, CERTIFIED, BRANCHES, DROPPED, KEPT, COUNT, PROVED, DOUBT = 0, 1, 2, 3, 4, 5, 6, 7
"""
PROVED: 1 if the hull of the chain's reach proves the pose out of reach, before any candidate is made.
DOUBT: 1 if branches within limits may exist that the search did not find, because the pose is singular or nearly so, or
because a candidate nearly reaches the pose.
"""
COUNTERS = 8

# Places in the scratch: G, T, what is left at a candidate, then what depends on the number of joints.
TARGET, LEFT, STORE = 12, 24, 27

ALMOST = 1e-5
"""Residual below which candidates that cannot be certified are tried again from beside."""
NUDGES = (1e-4, 0.2)
"""
How far from beside, the next one where the one before gave nothing [rad].

At a singular posture there is no first-order motion to the solution; the larger way is for poses that the arm can almost
reach by a continuum of postures, and exactly by few of them.
"""

CLOSING = 1e-7
"""Residual that Newton leaves, in the size of the chain and in radians, above which a candidate misses the pose for certain."""
IRREGULAR = 1e-4
"""Smallest pivot of the Jacobian, relative to its largest entry, up to which other postures may lie close to a solution."""
OUTSIDE = 1e-5
"""How far outside of its limits a joint has to be for certain [rad or m]."""
SAME_VALUE = 1e-9
"""Largest difference of two values of a held joint that count as one [rad or m]."""

BRANCHES_OF_SIX = 16
"""Most candidates for six joints."""


def plan_size(n: int) -> int:
    """
    Return how many real numbers the plan of a chain has.

    :param n: number of joints.
    """
    return 14 * n + 30 + reach_hull.BLOCK


@inline_kernel
def at_hull(n):
    """
    Return where the hull of a chain begins in the plan, its point in the base frame with all joints at zero.

    :param n: number of joints.
    """
    return 14 * n + 30


def work_size(n: int, capacity: int) -> int:
    """
    Return how many numbers of scratch a search needs.

    :param n: number of joints.
    :param capacity: how many branches can be kept.
    """
    own = candidates.SCRATCH + singular_refinement.scratch_size(n) + lane_pipeline.area_size(n)
    return STORE + 2 * n + BRANCHES_OF_SIX * n + own + (n + 4) * capacity


@inline_kernel
def _own_scratch(n):
    """Return where the scratch of the certification begins, and of the refinement, which needs more."""
    return STORE + 2 * n + BRANCHES_OF_SIX * n + candidates.SCRATCH


@inline_kernel
def _area(n):
    """Return where the candidates stand that are measured together."""
    return _own_scratch(n) + singular_refinement.scratch_size(n)


@inline_kernel
def _store(n):
    """Return where the branches that are kept begin: rows of n + 3 numbers, then the keys of their order."""
    return _area(n) + lane_pipeline.area_size(n)


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
    Return the real numbers of a plan.

    :param axes, points: (n, 3) the chain, on which candidates are certified.
    :param home: (12,) M.
    :param lower, upper: (n,) limits.
    :param special: (6,) special points of the class, NaN for none.
    :param own_axes, own_points: (n, 3) the chain from which candidates are made: the same, or the nearest one that
        the class fits exactly.
    :param hull: (BLOCK,) of what the chain reaches, see :mod:`ssik_ros.kernels.rows.reach_hull`; None for none.
    """
    inverse = np.empty(12)
    se3.invert(inverse, home)
    chain = (axes.ravel(), points.ravel(), home, inverse, lower, upper)
    refusing = reach_hull.no_hull() if hull is None else hull
    parts = (*chain, special, own_axes.ravel(), own_points.ravel(), refusing)
    return np.concatenate(parts).astype(np.float64)


class BranchRun(NamedTuple):
    """One search: a plan, what is wanted, and where the search works and counts."""

    counters: np.ndarray
    ints: np.ndarray
    reals: np.ndarray
    seed: np.ndarray
    options: np.ndarray
    work: np.ndarray
    capacity: int
    """Rows of the store of branches."""


@inline_kernel
def chain_of(run):
    """Return axes, points and home of the chain on which candidates are certified."""
    n = run.ints[N]
    home = vector(run.reals, 6 * n, 12)
    return vector(run.reals, 0, 3 * n), vector(run.reals, 3 * n, 3 * n), home


@inline_kernel
def limits_of(run):
    """Return lower and upper limits (n,)."""
    n = run.ints[N]
    return vector(run.reals, 6 * n + 24, n), vector(run.reals, 7 * n + 24, n)


@inline_kernel
def target_of(run):
    """Return (12,) T."""
    return vector(run.work, TARGET, 12)


@inline_kernel
def candidates_in(work, n):
    """
    Return (BRANCHES_OF_SIX, n) the candidates of the last value of a held joint, before certification.

    :param work, n: scratch of a search, and number of joints.
    """
    return matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)


@inline_kernel
def candidates_of(run):
    """Return the same of a search."""
    return candidates_in(run.work, run.ints[N])


@inline_kernel
def class_scratch(run):
    """Return the scratch of the class."""
    n = run.ints[N]
    return vector(run.work, STORE + 2 * n + BRANCHES_OF_SIX * n, candidates.SCRATCH)


@inline_kernel
def certification_scratch(run):
    """Return the scratch of the certification and of the refinement."""
    n = run.ints[N]
    return vector(run.work, _own_scratch(n), singular_refinement.scratch_size(n))


@inline_kernel
def _candidate(run):
    """Return (n,) the candidate in hand."""
    n = run.ints[N]
    return vector(run.work, STORE + n, n)


@inline_kernel
def _area_of(run):
    """Return where eight candidates are measured together."""
    n = run.ints[N]
    return vector(run.work, _area(n), lane_pipeline.area_size(n))


@inline_kernel
def _rows_of(run):
    """Return (capacity, n + 3) the branches that are kept, with their errors."""
    n = run.ints[N]
    return matrix(run.work, _store(n), run.capacity, n + 3)


@inline_kernel
def _keys_of(run):
    """Return (capacity,) the keys of the order of the branches that are kept."""
    return vector(run.work, _store(run.ints[N]) + (run.ints[N] + 3) * run.capacity, run.capacity)


@inline_kernel
def _has_seed(run):
    """Return whether there is a seed."""
    return run.options[HAS_SEED] != 0.0


@inline_kernel
def _measure(run, q, errors):
    """Write what is left at joint values (n,)."""
    axes, points, home = chain_of(run)
    n, slides, scratch = run.ints[N], run.ints[SLIDES], certification_scratch(run)
    certify.measure(axes, points, home, n, slides, q, target_of(run), errors, scratch)


@kernel
def search(out, counters, ints, reals, samples, matrix_t, seed, options, work):
    """
    Write the solutions of one pose, best first, and return how many; -1 when the pose is no rigid transform.

    :param out: (capacity, n + 3) a solution in each row, then the errors at exactly these numbers: position error
        [m], rotation error [rad], and Frobenius norm of FK - T.
    :param counters: (COUNTERS + capacity,) integers: counts, then scratch.
    :param ints, reals: the plan.
    :param samples: values of the held joint [rad]; one number that is not read where none is held.
    :param matrix_t: (4, 4) T; a rotation that is off by rounding or less than ``rigid`` is made exact.
    :param seed: (n,) reference of the order, and of the winding of each joint; read if options say so.
    :param options: (OPTIONS,).
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
    Write the candidates of the closed form and return how many there are.

    :param value: of the held joint.
    """
    n, ints, reals = run.ints[N], run.ints, run.reals
    count, is_free = candidates.write_candidates(
        candidates_of(run),
        ints[KIND],
        ints[CASE],
        ints[REVERSED] != 0,
        vector(reals, 8 * n + 30, 3 * n),
        vector(reals, 11 * n + 30, 3 * n),
        n,
        ints[SLIDES],
        ints[HELD],
        value,
        vector(reals, 8 * n + 24, 6),
        vector(ints, BEHIND, 2),
        vector(run.work, 0, 12),
        _offered_angle(run),
        class_scratch(run),
    )
    if is_free:
        run.counters[DOUBT] = 1
    return count


@inline_kernel
def note_doubt(run, count):
    """
    Count a doubt if the search has no solution and its candidates do not prove that none exists.

    Poses for which an angle is hardly determined are in doubt anyway. A held joint is sampled, which proves nothing.

    :param count: how many candidates stand in the scratch, before certification.
    """
    counters = run.counters
    is_met = counters[COUNT] > 0 or (counters[KEPT] > 0 and not run.options[MAX_SOLUTIONS] > 0.0)
    # Most searches end here, without the call.
    if not is_met and run.ints[HELD] < 0 and counters[DOUBT] == 0 and not _is_proof(run, count):
        counters[DOUBT] = 1


@kernel
def _is_proof(run, count):
    """
    Return whether the candidates of six joints prove that no solution lies within the limits.

    The proof: each candidate misses the pose by much, or reaches it at a regular posture well outside of the limits.

    :param count: as for :func:`note_doubt`.
    """
    n, slides, free = run.ints[N], run.ints[SLIDES], vector(run.ints, FREE, run.ints[N])
    raw, q, left = candidates_of(run), _candidate(run), vector(run.work, LEFT, 3)
    axes, points, home = chain_of(run)
    lower, upper = limits_of(run)
    scratch, target, mode = certification_scratch(run), target_of(run), ranking.WITHIN_LIMITS
    aim = aim_at(run, free, n, _extent(run))
    for row in range(count):
        copy(q, raw[row])
        _measure(run, q, left)
        if left[2] > run.options[NEAR]:
            continue
        error = certify.certify(
            axes, points, home, n, slides, q, free, n, target, math.inf, left, scratch
        )
        if error > max(CLOSING * (1.0 + aim.unit), run.options[TOLERANCE]):
            continue
        is_clear = error <= run.options[TOLERANCE]
        is_clear = is_clear and singular_refinement.is_regular(q, aim, IRREGULAR, scratch)
        if not is_clear or ranking.place_beside(q, n, slides, lower, upper, q, mode, OUTSIDE):
            return False
    return True


@inline_kernel
def _offered_angle(run):
    """Return the angle of the last joint of the class where a pose leaves it free: the seed's, inside the limits."""
    n, ints, slides = run.ints[N], run.ints, run.ints[SLIDES]
    joint = ints[FREE] if ints[REVERSED] != 0 else ints[FREE + min(n, 6) - 1]
    if is_slide(slides, joint):
        for i in range(n):
            # Slides behind the last revolute joint: only where the order of the class is the chain's.
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
    Put the target into the scratch and the counts to zero; return whether it is a rigid transform.

    :param matrix_t: as for :func:`search`.
    """
    fill(run.counters[:COUNTERS], 0)
    if not se3.is_rigid(matrix_t, 0, run.options[RIGID]):
        return False
    target = target_of(run)
    se3.from_matrix(target, matrix_t, 0)
    se3.orthonormalise(target)
    se3.compose(vector(run.work, 0, 12), target, vector(run.reals, 6 * run.ints[N] + 12, 12))
    return True


@kernel
def is_refused(run):
    """Return whether the hull of what the chain reaches proves that the target is outside, whatever the limits."""
    hull = vector(run.reals, at_hull(run.ints[N]), reach_hull.BLOCK)
    tolerance = run.options[TOLERANCE]
    # What moves the tip from where it is with all joints at zero moves the point, too.
    if reach_hull.refuses(hull, 1, vector(run.work, 0, 12), tolerance, tolerance):
        run.counters[PROVED] = 1
        return True
    return False


@kernel
def finish(out, run):
    """
    Write the solutions that were kept, best first, and return how many.

    :param out: as for :func:`search`.
    """
    n, capacity, kept = run.ints[N], run.capacity, run.counters[KEPT]
    rows, keys = _rows_of(run), _keys_of(run)
    indices = vector(run.counters, COUNTERS, capacity)
    if kept <= LANES <= capacity:
        lane_pipeline.order_few(keys, indices, kept, vector(run.work, _area(n), LANES))
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
            left = vector(run.work, LEFT, 3)
            _measure(run, out[written], left)
            for k in range(3):
                out[written, n + k] = left[k]
        # The seed's value of a held joint may be one of its samples, too, or Newton may lead to it from one of them.
        is_copy = run.ints[HELD] >= 0 and written > 0
        is_copy = is_copy and _are_copies(out[written], out[written - 1], n)
        # Putting a value on its limit moves the tip.
        if out[written, n + 2] <= run.options[TOLERANCE] and not is_copy:
            written += 1
    run.counters[COUNT] = written
    return written


@kernel
def keep(run, count, first):
    """
    Certify the candidates for one value of the held joint, keep those that are wanted; return the smallest residual.

    :param count: how many candidates stand in the scratch.
    :param first: row of the store from which on branches are for the same value of the held joint.
    """
    n, held, counters = run.ints[N], run.ints[HELD], run.counters
    counters[RAW] += count
    kept, certified, smallest = counters[KEPT], counters[CERTIFIED], math.inf
    for start in range(0, count, LANES):
        smallest = min(smallest, _keep_group(run, start, min(LANES, count - start), first))
    if counters[CERTIFIED] == certified and smallest < ALMOST:
        for nudge in NUDGES:
            smallest = min(smallest, _keep_refined(run, count, nudge, first))
            if counters[CERTIFIED] > certified:
                break
    # A continuum of solutions may have been represented outside the limits: the seed may lie on it.
    if _has_seed(run) and counters[CERTIFIED] > certified and counters[KEPT] == kept:
        q, raw = _candidate(run), candidates_of(run)
        for k in range(n):
            q[k] = raw[0, k] if k == held else run.seed[k]
        _keep_one(run, first)
    return smallest


@kernel
def _keep_refined(run, count, nudge, first):
    """
    Refine candidates to rounding from a little beside, keep those that arrive; return the smallest residual.

    :param nudge: how far from beside [rad].
    :param count, first: as for :func:`keep`.
    """
    n, held, slides = run.ints[N], run.ints[HELD], run.ints[SLIDES]
    q, raw, scratch = _candidate(run), candidates_of(run), certification_scratch(run)
    free, moving = vector(run.ints, FREE, n), n if held < 0 else n - 1
    aim = aim_at(run, free, moving, _extent(run))
    smallest = math.inf
    for row in range(count):
        if certify.repeats(raw, row, n, slides, run.options[SAME]):
            continue
        for k in range(n):
            # A fixed pattern leaves the singular posture in every direction.
            aside = nudge * (1.0 + 0.37 * k) * (1.0 - 2.0 * (k % 2))
            q[k] = raw[row, k] + (aside if k != held else 0.0)
        singular_refinement.refine(q, aim, scratch)
        for k in range(n):
            if k != held and not is_slide(slides, k):
                q[k] = so3.wrap_to_pi(q[k])
        smallest = min(smallest, _keep_one(run, first))
    return smallest


@inline_kernel
def aim_at(run, free, moving, unit):
    """
    Return the chain and the pose as a refinement wants them.

    :param free: (n,) indices of the joints that may move, ``moving`` of them.
    :param unit: length that counts as one [m].
    """
    n, slides, target = run.ints[N], run.ints[SLIDES], target_of(run)
    axes, points, home = chain_of(run)
    return singular_refinement.Aim(axes, points, home, n, slides, free, moving, target, unit)


@kernel
def _extent(run):
    """Return the largest distance of a point of the chain, or of the target, from its first point; one if all meet."""
    n, target = run.ints[N], target_of(run)
    _, points, _ = chain_of(run)
    origin, square = triple(points, 0), 0.0
    for k in range(1, n + 1):
        p = triple(points, k) if k < n else (target[9], target[10], target[11])
        way = vectors.subtract(p, origin)
        square = max(square, vectors.dot(way, way))
    return math.sqrt(square) if square > 0.0 else 1.0


@kernel
def _keep_group(run, start, group, first):
    """
    Certify up to eight candidates, keep those that are wanted, and return the smallest residual.

    What reaches the target to rounding is done with; the others go the long way one by one.

    :param start, group: the first of the candidates in the scratch, and how many.
    :param first: as for :func:`keep`.
    """
    n, slides, options = run.ints[N], run.ints[SLIDES], run.options
    mode, same, near = int(options[MODE]), options[SAME], options[NEAR]
    raw, area, q, target = candidates_of(run), _area_of(run), _candidate(run), target_of(run)
    lower, upper = limits_of(run)
    axes, points, home = chain_of(run)
    lane_pipeline.read_candidates(area, raw, start, group, n)
    lost = lane_pipeline.place(area, n, slides, lower, upper, run.seed, _has_seed(run), mode)
    lane_pipeline.measure(area, axes, points, home, n, slides, target, near)
    if _has_seed(run):
        metric = int(options[METRIC])
        lane_pipeline.write_distances(area, run.seed, n, slides, lower, upper, metric)
    enough = min(certify.rounding(target), options[TOLERANCE])
    # Branches that came another way than these have no mark to compare.
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
            for k in range(n):
                q[k] = area[LANES * k + lane]
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
    """Write one of the candidates that were measured together into a row of the store, with its key."""
    n, rows = run.ints[N], _rows_of(run)
    for k in range(n):
        rows[kept, k] = area[LANES * k + lane]
    for k in range(3):
        rows[kept, n + k] = area[lane_pipeline.row_of(n, k) + lane]
    key = area[lane_pipeline.row_of(n, lane_pipeline.DISTANCE) + lane]
    _keys_of(run)[kept] = key if _has_seed(run) else 0.0


@kernel
def _keep_all(run, done, lost):
    """
    Keep all candidates that were measured together and are done with, none like another; return the smallest residual.

    :param done: bits of those that reach the target to rounding.
    :param lost: bits of those that are outside the limits.
    """
    n, counters, area, q = run.ints[N], run.counters, _area_of(run), _candidate(run)
    residual = lane_pipeline.row_of(n, lane_pipeline.RESIDUAL)
    smallest, certified, kept = math.inf, 0, counters[KEPT]
    for lane in range(LANES):
        smallest = min(smallest, area[residual + lane])
        is_done, is_lost = (done >> lane) & 1, (lost >> lane) & 1
        certified += is_done
        if kept < run.capacity:
            # Written in any case, and left to the next one unless it counts: a processor cannot predict which ones do.
            _store_row(run, area, lane, kept)
            kept += is_done & (1 - is_lost)
    counters[KEPT] = kept
    counters[CERTIFIED] += certified
    counters[BRANCHES] += certified
    if done & lost != 0:
        for lane in range(LANES):
            if (done & lost) >> lane & 1 != 0:
                for k in range(n):
                    q[k] = area[LANES * k + lane]
                _drop(run, q)
    return smallest


@inline_kernel
def _drop(run, q):
    """Count a branch outside the limits, and remember it behind those that are kept, from the end on."""
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
    Return whether a branch outside the limits is remembered, and is for this value of the held joint.

    :param number: which one, in the order in which they were dropped; -1 for none.
    """
    row, held = run.capacity - 1 - number, run.ints[HELD]
    if number < 0 or row <= run.counters[KEPT]:
        return False
    return held < 0 or abs(_rows_of(run)[row, held] - value) <= run.options[SAME]


@inline_kernel
def _keep_measured(run, lane, is_alike, is_lost, first):
    """
    Keep the candidate in the scratch, one of eight that were measured, if it is new and wanted.

    :param lane: its place among the eight.
    :param is_alike: whether it may be one of those kept of this sample already.
    :param is_lost: whether it is outside the limits.
    :param first: as for :func:`keep`.
    """
    area, q, counters = _area_of(run), _candidate(run), run.counters
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
    Certify the candidate in the scratch, keep it if it is wanted, and return its residual.

    :param first: as for :func:`keep`.
    """
    n, held, slides, options = run.ints[N], run.ints[HELD], run.ints[SLIDES], run.options
    counters, kept = run.counters, run.counters[KEPT]
    axes, points, home = chain_of(run)
    lower, upper = limits_of(run)
    left, placed, q = vector(run.work, LEFT, 3), vector(run.work, STORE, n), _candidate(run)
    free, moving = vector(run.ints, FREE, n), n if held < 0 else n - 1
    target, near, scratch = target_of(run), options[NEAR], certification_scratch(run)
    error = certify.certify(
        axes, points, home, n, slides, q, free, moving, target, near, left, scratch
    )
    if not error <= options[TOLERANCE]:
        return error
    counters[CERTIFIED] += 1
    mode, wishes = int(options[MODE]), run.seed if _has_seed(run) else q
    copy(placed, q)
    is_inside = ranking.place(placed, n, slides, lower, upper, wishes, mode)
    if is_inside and not _are_equal(placed, q, n):
        # A joint on its limit may need the others to follow.
        _measure(run, placed, left)
        is_inside = left[2] <= options[TOLERANCE]
    is_inside = is_inside or _put_on_limits(run, wishes)
    if _is_known(run, first, q, error, is_inside):
        return error
    counters[BRANCHES] += 1
    if not is_inside:
        _drop(run, q)
    elif kept < run.capacity:
        # A joint at another winding or on its limit has to be measured again.
        is_same, rows = _are_equal(placed, q, n), _rows_of(run)
        for k in range(n):
            rows[kept, k] = placed[k]
        for k in range(3):
            rows[kept, n + k] = left[k] if is_same else -1.0
        key, metric = 0.0, int(options[METRIC])
        if _has_seed(run):
            key = ranking.distance(placed, run.seed, n, slides, lower, upper, metric)
        _keys_of(run)[kept] = key
        counters[KEPT] = kept + 1
    return error


@inline_kernel
def _are_copies(q, other, n):
    """Return whether two postures (n,) at values of a held joint are one."""
    largest = 0.0
    for k in range(n):
        largest = max(largest, abs(q[k] - other[k]))
    return largest <= SAME_VALUE


@inline_kernel
def _are_equal(q, other, n):
    """Return whether two postures (n,) have the same numbers."""
    is_same = True
    for k in range(n):
        is_same = is_same and q[k] == other[k]
    return is_same


@kernel
def _put_on_limits(run, wishes):
    """
    Put the joints of a solution that are just outside their limits on these, and let the others make up for it.

    That is possible at a fold, where solutions lie together in a direction, and only there. Indices stand behind the
    counts for a while.

    :param wishes: (n,) where joints should rather be.
    :returns: whether there is a result, beside the solution in the scratch.
    """
    n, slides, mode = run.ints[N], run.ints[SLIDES], int(run.options[MODE])
    placed, free, on_limit = vector(run.work, STORE, n), vector(run.counters, COUNTERS, n), 0
    lower, upper = limits_of(run)
    scratch, tolerance = certification_scratch(run), run.options[TOLERANCE]
    copy(placed, _candidate(run))
    for _ in range(n):
        if not ranking.place_beside(
            placed, n, slides, lower, upper, wishes, mode, ranking.BESIDE_LIMIT
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
    Return whether a solution is among those of this sample already, kept or dropped.

    Beside a fold a solution within the limits may have a neighbour outside of them: only dropped solutions are compared with
    those that were dropped.

    Near a fold two true solutions are close, and the pose half way is off by the square of their distance: only
    rounding is allowed there, not the tolerance of solutions.

    :param q: (n,) the solution.
    :param error: residual at q.
    :param first: as for :func:`keep`.
    :param is_inside: whether the solution is within the limits.
    """
    for row in range(first, run.counters[KEPT]):
        if _is_same_as(run, row, q, error):
            return True
    if is_inside:
        return False
    value = q[run.ints[HELD]] if run.ints[HELD] >= 0 else 0.0
    # Those of this sample are the last ones.
    for number in range(run.counters[DROPPED] - 1, -1, -1):
        if not _is_dropped_at(run, number, value):
            break
        if _is_same_as(run, run.capacity - 1 - number, q, error):
            return True
    return False


@kernel
def _is_same_as(run, row, q, error):
    """Return whether a solution is that of a row."""
    n, slides, rows, scratch = (
        run.ints[N],
        run.ints[SLIDES],
        _rows_of(run),
        certification_scratch(run),
    )
    if not certify.are_near(rows, row, q, n, slides, run.options[SAME]):
        return False
    axes, points, home = chain_of(run)
    there = rows[row, n + 2]
    if there < 0.0:
        # It is at another winding or on a limit and not measured yet, or it lies outside the limits.
        errors = vector(run.work, _own_scratch(n) + 6 * n + 12, 3)
        _measure(run, vector(run.work, _store(n) + row * (n + 3), n), errors)
        there = errors[2]
    reached, target = max(error, there), target_of(run)
    return certify.meet_half_way(
        axes, points, home, n, slides, rows, row, q, target, reached, scratch
    )
