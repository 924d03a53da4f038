"""
Every branch of one pose: candidates, certification, limits, order, in one kernel call.

An arm with seven joints is asked once for every value of its held joint.
"""

import math

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
RAW, CERTIFIED, BRANCHES, DROPPED, KEPT, COUNT, PROVED = 0, 1, 2, 3, 4, 5, 6
"""PROVED: 1 where a pose was refused before any candidate was made, by the hull of what the chain reaches."""
COUNTERS = 7

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


@inline_kernel
def candidates_in(work, n):
    """
    Return (BRANCHES_OF_SIX, n) the candidates of the last value of a held joint, before any of them was certified.

    :param work, n: scratch of a search, and number of joints.
    """
    return matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)


@kernel
def search(out, counters, ints, reals, samples, matrix_t, seed, options, work):
    """
    Write the solutions of one pose, best first, and return how many; -1 when the pose is no rigid transform.

    :param out: (capacity, n + 3) a solution in each row, then what is left at exactly these numbers: position error
        [m], rotation error [rad], and Frobenius norm of FK - T.
    :param counters: (COUNTERS + capacity,) integers: counts, then scratch.
    :param ints, reals: the plan.
    :param samples: values of the held joint [rad]; one number that is not read where none is held.
    :param matrix_t: (4, 4) T; a rotation that is off by rounding or less than ``rigid`` is made exact.
    :param seed: (n,) reference of the order, and of the turn of each joint; read if options say so.
    :param options: (OPTIONS,).
    :param work: (work_size(n, capacity),) scratch.
    """
    if not begin(counters, ints, reals, matrix_t, options, work):
        return -1
    if is_refused(counters, ints, reals, options, work):
        return 0
    n = ints[N]
    raw = matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)
    own = vector(work, STORE + 2 * n + BRANCHES_OF_SIX * n, candidates.SCRATCH)
    for sample in range(samples.shape[0]):
        count = candidates.write_candidates(
            raw,
            ints[KIND],
            ints[CASE],
            ints[REVERSED] != 0,
            vector(reals, 8 * n + 30, 3 * n),
            vector(reals, 11 * n + 30, 3 * n),
            n,
            ints[SLIDES],
            ints[HELD],
            samples[sample],
            vector(reals, 8 * n + 24, 6),
            vector(ints, BEHIND, 2),
            vector(work, 0, 12),
            offered_angle(ints, reals, seed, options),
            own,
        )
        keep(counters, ints, reals, count, counters[KEPT], seed, options, out.shape[0], work)
    return finish(out, counters, ints, reals, options, work)


@inline_kernel
def offered_angle(ints, reals, seed, options):
    """
    Return the angle of the last joint of the class where a pose leaves it free: the seed's, inside the limits.

    :param ints, reals, seed, options: as for :func:`search`.
    """
    n = ints[N]
    joint = ints[FREE] if ints[REVERSED] != 0 else ints[FREE + min(n, 6) - 1]
    if is_slide(ints[SLIDES], joint):
        for i in range(n):
            # Slides behind the last joint that turns: only where the order of the class is the chain's.
            if i != ints[HELD] and not is_slide(ints[SLIDES], i):
                joint = i
    wish = seed[joint] if options[HAS_SEED] != 0.0 else options[OFFERED]
    if int(options[MODE]) == ranking.KEEP_ALL:
        return wish
    return min(max(wish, reals[6 * n + 24 + joint]), reals[7 * n + 24 + joint])


@kernel
def begin(counters, ints, reals, matrix_t, options, work):
    """
    Put the target into the scratch and the counts to zero; return whether it is a rigid transform.

    :param counters, ints, reals, matrix_t, options, work: as for :func:`search`.
    """
    fill(counters[:COUNTERS], 0)
    if not se3.is_rigid(matrix_t, 0, options[RIGID]):
        return False
    n = ints[N]
    target = vector(work, TARGET, 12)
    se3.from_matrix(target, matrix_t, 0)
    se3.orthonormalise(target)
    se3.compose(vector(work, 0, 12), target, vector(reals, 6 * n + 12, 12))
    return True


@kernel
def is_refused(counters, ints, reals, options, work):
    """
    Return whether the target is outside of what the chain can reach, whatever its limits, by the hull of that: a proof.

    :param counters, ints, reals, options, work: as for :func:`search`, after :func:`begin`.
    """
    hull, tolerance = vector(reals, at_hull(ints[N]), reach_hull.BLOCK), options[TOLERANCE]
    # What moves the tip from where it is with all joints at zero moves the point, too.
    if reach_hull.refuses(hull, 1, vector(work, 0, 12), tolerance, tolerance):
        counters[PROVED] = 1
        return True
    return False


@kernel
def finish(out, counters, ints, reals, options, work):
    """
    Write the solutions that were kept, best first, and return how many.

    :param out, counters, ints, reals, options, work: as for :func:`search`.
    """
    n, capacity = ints[N], out.shape[0]
    axes, points = vector(reals, 0, 3 * n), vector(reals, 3 * n, 3 * n)
    home, target = vector(reals, 6 * n, 12), vector(work, TARGET, 12)
    rest = vector(work, _own_scratch(n), certify.scratch_size(n))
    rows = matrix(work, _store(n), capacity, n + 3)
    keys = vector(work, _store(n) + (n + 3) * capacity, capacity)
    indices = vector(counters, COUNTERS, capacity)
    kept = counters[KEPT]
    if kept <= LANES <= capacity:
        lane_pipeline.order_few(keys, indices, kept, vector(work, _area(n), LANES))
    else:
        ranking.order(keys, indices, kept)
    wanted, written = min(int(options[MAX_SOLUTIONS]), capacity), 0
    for i in range(kept):
        if written == wanted:
            break
        row = indices[i]
        for k in range(n + 3):
            out[written, k] = rows[row, k]
        if out[written, n + 2] < 0.0:
            left = vector(work, LEFT, 3)
            certify.measure(axes, points, home, n, ints[SLIDES], out[written], target, left, rest)
            for k in range(3):
                out[written, n + k] = left[k]
        # Putting a value on its limit moves the tip.
        if out[written, n + 2] <= options[TOLERANCE]:
            written += 1
    counters[COUNT] = written
    return written


@kernel
def keep(counters, ints, reals, count, first, seed, options, capacity, work):
    """
    Certify the candidates for one value of the held joint, keep those that are wanted; return the smallest residual.

    :param counters: counts so far; KEPT is the next free row of the store.
    :param count: how many candidates stand in the scratch.
    :param first: row of the store from which on branches are for the same value of the held joint.
    :param capacity: rows of the store.
    :param ints, reals, seed, options, work: as for :func:`search`.
    """
    n, held = ints[N], ints[HELD]
    q, raw = vector(work, STORE + n, n), matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)
    counters[RAW] += count
    kept, certified, smallest = counters[KEPT], counters[CERTIFIED], math.inf
    for start in range(0, count, LANES):
        group = min(LANES, count - start)
        error = _keep_group(
            counters, ints, reals, start, group, first, seed, options, capacity, work
        )
        smallest = min(smallest, error)
    if counters[CERTIFIED] == certified and smallest < ALMOST:
        for nudge in NUDGES:
            error = _keep_refined(
                counters, ints, reals, count, nudge, first, seed, options, capacity, work
            )
            smallest = min(smallest, error)
            if counters[CERTIFIED] > certified:
                break
    # A continuum of solutions may have been represented outside the limits: the seed may lie on it.
    if options[HAS_SEED] != 0.0 and counters[CERTIFIED] > certified and counters[KEPT] == kept:
        for k in range(n):
            q[k] = raw[0, k] if k == held else seed[k]
        _keep_one(counters, ints, reals, first, seed, options, capacity, work)
    return smallest


@kernel
def _keep_refined(counters, ints, reals, count, nudge, first, seed, options, capacity, work):
    """
    Refine candidates to rounding from a little beside, keep those that arrive; return the smallest residual.

    :param count: how many candidates stand in the scratch.
    :param nudge: how far from beside [rad].
    :param counters, ints, reals, first, seed, options, capacity, work: as for :func:`keep`.
    """
    n, held, slides = ints[N], ints[HELD], ints[SLIDES]
    q, raw = vector(work, STORE + n, n), matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)
    aim = _aim(ints, reals, vector(ints, FREE, n), n if held < 0 else n - 1, work)
    rest = vector(work, _own_scratch(n), singular_refinement.scratch_size(n))
    smallest = math.inf
    for row in range(count):
        if certify.repeats(raw, row, n, slides, options[SAME]):
            continue
        for k in range(n):
            # A fixed pattern leaves the singular posture in every direction.
            aside = nudge * (1.0 + 0.37 * k) * (1.0 - 2.0 * (k % 2))
            q[k] = raw[row, k] + (aside if k != held else 0.0)
        singular_refinement.refine(q, aim, rest)
        for k in range(n):
            if k != held and not is_slide(slides, k):
                q[k] = so3.wrap_to_pi(q[k])
        error = _keep_one(counters, ints, reals, first, seed, options, capacity, work)
        smallest = min(smallest, error)
    return smallest


@inline_kernel
def _aim(ints, reals, free, moving, work):
    """
    Return the chain and the pose as a refinement wants them.

    :param free: (n,) indices of the joints that may move, ``moving`` of them.
    """
    n, target = ints[N], vector(work, TARGET, 12)
    points = vector(reals, 3 * n, 3 * n)
    return singular_refinement.Aim(
        vector(reals, 0, 3 * n),
        points,
        vector(reals, 6 * n, 12),
        n,
        ints[SLIDES],
        free,
        moving,
        target,
        _extent(points, target, n),
    )


@kernel
def _extent(points, target, n):
    """Return the largest distance of a point of the chain, or of the target, from its first point; one if all meet."""
    origin, square = triple(points, 0), 0.0
    for k in range(1, n + 1):
        p = triple(points, k) if k < n else (target[9], target[10], target[11])
        way = vectors.subtract(p, origin)
        square = max(square, vectors.dot(way, way))
    return math.sqrt(square) if square > 0.0 else 1.0


@kernel
def _keep_group(counters, ints, reals, start, group, first, seed, options, capacity, work):
    """
    Certify up to eight candidates, keep those that are wanted, and return the smallest residual.

    What reaches the target to rounding is done with; the others go the long way one by one.

    :param start, group: the first of the candidates in the scratch, and how many.
    :param counters, ints, reals, first, seed, options, capacity, work: as for :func:`keep`.
    """
    n, slides, mode = ints[N], ints[SLIDES], int(options[MODE])
    raw = matrix(work, STORE + 2 * n, BRANCHES_OF_SIX, n)
    area, q = vector(work, _area(n), lane_pipeline.area_size(n)), vector(work, STORE + n, n)
    lower, upper = vector(reals, 6 * n + 24, n), vector(reals, 7 * n + 24, n)
    axes, points = vector(reals, 0, 3 * n), vector(reals, 3 * n, 3 * n)
    home, target = vector(reals, 6 * n, 12), vector(work, TARGET, 12)
    has_seed = options[HAS_SEED] != 0.0
    lane_pipeline.read_candidates(area, raw, start, group, n)
    lost = lane_pipeline.place(area, n, slides, lower, upper, seed, has_seed, mode)
    lane_pipeline.measure(area, axes, points, home, n, slides, target, options[NEAR])
    if has_seed:
        lane_pipeline.write_distances(area, seed, n, slides, lower, upper, int(options[METRIC]))
    enough = min(certify.rounding(target), options[TOLERANCE])
    # Branches that came another way than these have no mark to compare.
    rows = matrix(work, _store(n), capacity, n + 3)
    value = raw[start, ints[HELD]] if ints[HELD] >= 0 else 0.0
    is_first = counters[KEPT] == first and not _is_dropped_at(
        counters, ints, rows, counters[DROPPED] - 1, value, options[SAME]
    )
    alike = lane_pipeline.find_alike(area, n, group, options[SAME]) if is_first else -1
    smallest = math.inf
    residuals = lanes.load(area, lane_pipeline.row_of(n, lane_pipeline.RESIDUAL))
    every = (1 << group) - 1
    done = lanes.bits_of(residuals <= enough) & every
    if alike == 0 and done == lanes.bits_of(residuals <= options[NEAR]) & every:
        return _keep_all(counters, ints, done, lost, options, capacity, work)
    for lane in range(group):
        error = area[lane_pipeline.row_of(n, lane_pipeline.RESIDUAL) + lane]
        if error <= enough:
            for k in range(n):
                q[k] = area[LANES * k + lane]
            is_alike = (alike >> lane) & 1 != 0
            is_lost = (lost >> lane) & 1 != 0
            _keep_measured(
                counters, ints, reals, lane, is_alike, is_lost, first, options, capacity, work
            )
        elif error <= options[NEAR]:
            for k in range(n):
                value = raw[start + lane, k]
                q[k] = value if is_slide(slides, k) else so3.wrap_to_pi(value)
            error = _keep_one(counters, ints, reals, first, seed, options, capacity, work)
            alike = -1
        smallest = min(smallest, error)
    return smallest


@kernel
def _keep_all(counters, ints, done, lost, options, capacity, work):
    """
    Keep all candidates that were measured together and are done with, none like another; return the smallest residual.

    :param done: bits of those that reach the target to rounding.
    :param lost: bits of those that are outside the limits.
    :param counters, ints, options, capacity, work: as for :func:`keep`.
    """
    n, kept = ints[N], counters[KEPT]
    area = vector(work, _area(n), lane_pipeline.area_size(n))
    rows = matrix(work, _store(n), capacity, n + 3)
    keys = vector(work, _store(n) + (n + 3) * capacity, capacity)
    has_seed = options[HAS_SEED] != 0.0
    residual = lane_pipeline.row_of(n, lane_pipeline.RESIDUAL)
    smallest, certified = math.inf, 0
    for lane in range(LANES):
        smallest = min(smallest, area[residual + lane])
        is_done, is_lost = (done >> lane) & 1, (lost >> lane) & 1
        certified += is_done
        if kept < capacity:
            # Written in any case, and left to the next one unless it counts: nobody can predict which ones do.
            for k in range(n):
                rows[kept, k] = area[LANES * k + lane]
            for k in range(3):
                rows[kept, n + k] = area[lane_pipeline.row_of(n, k) + lane]
            key = area[lane_pipeline.row_of(n, lane_pipeline.DISTANCE) + lane]
            keys[kept] = key if has_seed else 0.0
            kept += is_done & (1 - is_lost)
    counters[CERTIFIED] += certified
    counters[BRANCHES] += certified
    counters[KEPT] = kept
    if done & lost != 0:
        q = vector(work, STORE + n, n)
        for lane in range(LANES):
            if (done & lost) >> lane & 1 != 0:
                for k in range(n):
                    q[k] = area[LANES * k + lane]
                _drop(counters, rows, q, n)
    return smallest


@inline_kernel
def _drop(counters, rows, q, n):
    """Count a branch outside the limits, and remember it behind those that are kept, from the end on."""
    row = rows.shape[0] - 1 - counters[DROPPED]
    if row > counters[KEPT]:
        for k in range(n):
            rows[row, k] = q[k]
        rows[row, n + 2] = -1.0
    counters[DROPPED] += 1


@inline_kernel
def _is_dropped_at(counters, ints, rows, number, value, same):
    """
    Return whether a branch outside the limits is remembered, and is for this value of the held joint.

    :param number: which one, in the order in which they were dropped; -1 for none.
    """
    row = rows.shape[0] - 1 - number
    if number < 0 or row <= counters[KEPT]:
        return False
    return ints[HELD] < 0 or abs(rows[row, ints[HELD]] - value) <= same


@inline_kernel
def _keep_measured(counters, ints, reals, lane, is_alike, is_lost, first, options, capacity, work):
    """
    Keep the candidate in the scratch, one of eight that were measured, if it is new and wanted.

    :param lane: its place among the eight.
    :param is_alike: whether it may be one of those kept of this sample already.
    :param is_lost: whether it is outside the limits.
    :param counters, ints, reals, first, options, capacity, work: as for :func:`keep`.
    """
    n, kept = ints[N], counters[KEPT]
    area, q = vector(work, _area(n), lane_pipeline.area_size(n)), vector(work, STORE + n, n)
    rows = matrix(work, _store(n), capacity, n + 3)
    counters[CERTIFIED] += 1
    error = area[lane_pipeline.row_of(n, lane_pipeline.RESIDUAL) + lane]
    if is_alike and _is_known(counters, ints, reals, first, q, error, options, capacity, work):
        return
    counters[BRANCHES] += 1
    if is_lost:
        _drop(counters, rows, q, n)
    elif kept < capacity:
        for k in range(n):
            rows[kept, k] = q[k]
        for k in range(3):
            rows[kept, n + k] = area[lane_pipeline.row_of(n, k) + lane]
        key = 0.0
        if options[HAS_SEED] != 0.0:
            key = area[lane_pipeline.row_of(n, lane_pipeline.DISTANCE) + lane]
        vector(work, _store(n) + (n + 3) * capacity, capacity)[kept] = key
        counters[KEPT] = kept + 1


@kernel
def _keep_one(counters, ints, reals, first, seed, options, capacity, work):
    """
    Certify the candidate in the scratch, keep it if it is wanted, and return its residual.

    :param counters, ints, reals, first, seed, options, capacity, work: as for :func:`keep`.
    """
    n, held, slides, kept = ints[N], ints[HELD], ints[SLIDES], counters[KEPT]
    axes, points = vector(reals, 0, 3 * n), vector(reals, 3 * n, 3 * n)
    home = vector(reals, 6 * n, 12)
    lower, upper = vector(reals, 6 * n + 24, n), vector(reals, 7 * n + 24, n)
    target, left = vector(work, TARGET, 12), vector(work, LEFT, 3)
    placed, q = vector(work, STORE, n), vector(work, STORE + n, n)
    rest = vector(work, _own_scratch(n), certify.scratch_size(n))
    rows = matrix(work, _store(n), capacity, n + 3)
    moving = n if held < 0 else n - 1
    error = certify.certify(
        axes,
        points,
        home,
        n,
        slides,
        q,
        vector(ints, FREE, n),
        moving,
        target,
        options[NEAR],
        left,
        rest,
    )
    if not error <= options[TOLERANCE]:
        return error
    counters[CERTIFIED] += 1
    if _is_known(counters, ints, reals, first, q, error, options, capacity, work):
        return error
    counters[BRANCHES] += 1
    has_seed, mode = options[HAS_SEED] != 0.0, int(options[MODE])
    wishes = seed if has_seed else q
    copy(placed, q)
    if not ranking.place(placed, n, slides, lower, upper, wishes, mode) and not _put_on_limits(
        counters, ints, reals, wishes, options, work
    ):
        _drop(counters, rows, q, n)
    elif kept < capacity:
        # A joint that was moved by a turn or onto its limit has to be measured again.
        is_same = True
        for k in range(n):
            is_same = is_same and (q[k] == placed[k])
            rows[kept, k] = placed[k]
        for k in range(3):
            rows[kept, n + k] = left[k] if is_same else -1.0
        key = 0.0
        if has_seed:
            key = ranking.distance(placed, seed, n, slides, lower, upper, int(options[METRIC]))
        vector(work, _store(n) + (n + 3) * capacity, capacity)[kept] = key
        counters[KEPT] = kept + 1
    return error


@kernel
def _put_on_limits(counters, ints, reals, wishes, options, work):
    """
    Put the joints of a solution that are just outside their limits on these, and let the others make up for it.

    That is possible at a fold, where solutions lie together in a direction, and only there.

    :param counters: indices stand behind the counts for a while.
    :param wishes: (n,) where joints should rather be.
    :param ints, reals, options, work: as for :func:`keep`; the solution stands in the scratch, the result beside it.
    :returns: whether there is a result.
    """
    n, slides = ints[N], ints[SLIDES]
    placed, q = vector(work, STORE, n), vector(work, STORE + n, n)
    lower, upper = vector(reals, 6 * n + 24, n), vector(reals, 7 * n + 24, n)
    free = vector(counters, COUNTERS, n)
    rest = vector(work, _own_scratch(n), singular_refinement.scratch_size(n))
    copy(placed, q)
    on_limit, mode = 0, int(options[MODE])
    for _ in range(n):
        if not ranking.place_beside(
            placed, n, slides, lower, upper, wishes, mode, ranking.BESIDE_LIMIT
        ):
            return False
        moving = 0
        for k in range(n):
            if placed[k] == lower[k] or placed[k] == upper[k]:
                on_limit |= 1 << k
            elif k != ints[HELD] and (on_limit >> k) & 1 == 0:
                free[moving] = k
                moving += 1
        aim = _aim(ints, reals, free, moving, work)
        if moving == 0 or not singular_refinement.refine(placed, aim, rest) <= options[TOLERANCE]:
            return False
        if ranking.place(placed, n, slides, lower, upper, wishes, mode):
            return True
    return False


@kernel
def _is_known(counters, ints, reals, first, q, error, options, capacity, work):
    """
    Return whether a solution is among those of this sample already, kept or dropped.

    Near a fold two true solutions are close, and the pose half way is off by the square of their distance: only
    rounding is allowed there, not the tolerance of solutions.

    :param q: (n,) the solution.
    :param error: residual at q.
    :param counters, ints, reals, first, options, capacity, work: as for :func:`keep`.
    """
    n, same = ints[N], options[SAME]
    rows = matrix(work, _store(n), capacity, n + 3)
    for row in range(first, counters[KEPT]):
        if _is_same_as(ints, reals, rows, row, q, error, same, work):
            return True
    value = q[ints[HELD]] if ints[HELD] >= 0 else 0.0
    # Those of this sample are the last ones.
    for number in range(counters[DROPPED] - 1, -1, -1):
        if not _is_dropped_at(counters, ints, rows, number, value, same):
            break
        if _is_same_as(ints, reals, rows, capacity - 1 - number, q, error, same, work):
            return True
    return False


@kernel
def _is_same_as(ints, reals, rows, row, q, error, same, work):
    """Return whether a solution is that of a row."""
    n, slides, target = ints[N], ints[SLIDES], vector(work, TARGET, 12)
    if not certify.are_near(rows, row, q, n, slides, same):
        return False
    axes, points = vector(reals, 0, 3 * n), vector(reals, 3 * n, 3 * n)
    home = vector(reals, 6 * n, 12)
    rest = vector(work, _own_scratch(n), certify.scratch_size(n))
    there = rows[row, n + 2]
    if there < 0.0:
        # It was moved by a turn or onto a limit and not measured since, or it lies outside the limits.
        errors = vector(work, _own_scratch(n) + 6 * n + 12, 3)
        there_q = vector(work, _store(n) + row * (n + 3), n)
        certify.measure(axes, points, home, n, slides, there_q, target, errors, rest)
        there = errors[2]
    reached = max(error, there)
    return certify.meet_half_way(
        axes, points, home, n, slides, rows, row, q, target, reached, rest
    )
