"""
Search with restarts for PoseIK, Newton-Raphson, Gauss-Newton and Levenberg-Marquardt, in one re-entrant kernel.

Problem
    Find q within limits such that every constraint of a packed problem is within its tolerances and E = e^T W e / 2 is
    below a bound: the first solution, several, or the nearest to the seed that a time budget permits.

Method
    1. The first start is the seed, brought inside the limits. Without a seed it is the best of a few points. PoseIK
       draws the other starts at random. The Newton family starts once near the seed, if there is one, and then follows
       a low-discrepancy sequence through all joint ranges.
    2. From each start the state moves by steps of a law (:mod:`ssik_ros.kernels.search.descent`,
       :mod:`ssik_ros.kernels.search.laws`).
    3. Every eighth start ignores limits: it reaches branches that the limits hide from a descent, and shows whether
       the limits are the reason that the target cannot be reached.
    4. A solution is moved by full windings to the equivalent nearest to the seed, and measured again at exactly those
       numbers before it counts.
    5. Each solution is polished to :data:`ssik_ros.kernels.search.descent.POLISHED_ERROR`, whatever the tolerance. If
       several are wanted, or some may be refused, the polish goes on to rounding, so that one branch found twice is
       recognised as one. Where a descent ends next to the targets, at a limit or a singular posture, the polish leaves
       an error. Such a near miss is a solution only if some more starts find no better one.
    6. Secondary objectives, and the pull towards the seed, move a solution within the null space
       (:mod:`ssik_ros.kernels.search.null_space`). A search for the nearest solution goes on until its time or its
       budget of starts ends. After the first solution, its random starts alternate between near the seed and anywhere.

Solutions
    At most the number of rows of ``out`` less one, sorted by squared joint distance to the seed, distinct. On failure
    ``best`` holds the state with the smallest E seen within the limits, and ``errors`` the errors there.

References
    [Wampler1986], [Nakamura1986], [Sugihara2011], [Fan2005] for steps, [Beeson2015] for restarts against limits.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.geometry import joint_values, se3, so3, vectors
from ssik_ros.kernels.rows import layout, reach_hull, steps
from ssik_ros.kernels.search import clock, descent, laws, null_space, restarts, state

FIRST_CANDIDATES = 3
"""Number of points whose best one is the first start of a search without a seed."""
FIRST_SHARE = 0.5
"""Share of the joint ranges, around their middle, for these points: far from limits descents succeed."""
NEAR_STARTS = 1
"""Number of starts of the Newton family near the seed, after the seed itself."""
NEAR_SPREAD = 0.5
"""Spread of the first of them, as a fraction of the joint ranges."""
NEAR_GROWTH = 1.5
NEAREST_SPREAD = 0.05
"""Smallest spread of starts near the seed while the nearest solution is searched for."""
NEAREST_GROWTH = 0.02
"""Growth of that spread with each start."""
FREE_EVERY = 8
LONGEST_STEP_SQUARE = 0.05**2
"""Squared error of the seed below which a request is a step from the seed [m^2 and rad^2]."""
SHORTEST_QUATERNION = 1e-6
"""If a quaternion is shorter, it does not define a rotation."""


@kernel
def search(ints, reals, options, phase, timeout_ns, cancel, counters, work, out):
    """
    Run or resume a search, until it has enough solutions, a candidate that the caller must validate, or no budget left.

    :param ints, reals: packed problem.
    :param options: see :mod:`ssik_ros.kernels.search.state`.
    :param phase: FRESH for a new search; ACCEPTED or REFUSED, the verdict on the candidate of the call before;
        CONTINUED with a larger budget of starts.
    :param timeout_ns: wall-clock budget of the whole search [ns], counted from the fresh call; <= 0 means no budget.
    :param cancel: (1,) int64, read at each step; not zero ends the search.
    :param counters, work: (STATE_SIZE,) int64 and float state, kept between calls. Before a fresh call the caller
        writes the seed into ``reference`` and the targets into ``matrices`` of the workspace.
    :param out: (K + 1, nq + 2 c + 2) out: rows of solutions, the candidate as the last row. A row has the nq joint
        values, and position error [m] and rotation error [rad] of each of c constraints. Its last two numbers are the
        norm of all errors and the squared distance to the seed.
    :returns: FOUND; CANDIDATE if the caller must validate the last row; EXHAUSTED, DEADLINE or CANCELLED without a
        solution; or BAD_STATE, BAD_TARGET, OUT_OF_REACH, UNSAMPLED.
    """
    code = state.RUNNING
    if phase == state.FRESH:
        code = begin(ints, reals, options, True, timeout_ns, counters, work)
    elif phase == state.ACCEPTED:
        insert(counters, out)
    elif phase == state.REFUSED:
        remember_refused(ints, counters, work, out)
    if code == state.RUNNING:
        code = run(ints, reals, options, cancel, counters, work, out)
    has_state = code != state.BAD_TARGET and code != state.BAD_STATE
    if has_state and code != state.FOUND and code != state.CANDIDATE:
        settle_for_best(ints, reals, options, work)
    return code


@kernel
def settle_for_best(ints, reals, options, work):
    """
    Copy ``best`` of the workspace to ``state`` and measure it; return the squared norm of its weighted residual.

    BEST_ERROR of the scalars gets the square root of this number.
    """
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.best)
    square, _ = descent.measure(ints, reals, options, work, w.state)
    w.scalars[state.BEST_ERROR] = math.sqrt(square)
    return square


@kernel
def begin(ints, reals, options, with_hulls, timeout_ns, counters, work):
    """
    Start a search: check the request, load targets, limits and seed into the workspace, and start the clock.

    The counters of searches and iterations begin at 0. ``state`` and ``best`` become the seed, moved inside the limits
    unless the search ignores them.

    :param with_hulls: True lets the reach hulls prove that the targets are out of reach. A control loop passes False,
        because it moves towards such targets.
    :param timeout_ns: wall-clock budget [ns]; <= 0 means no budget.
    :returns: RUNNING if the search can go on. BAD_STATE for a seed with a value that is not finite or too large, or
        with a quaternion that is too short. BAD_TARGET for a matrix that is not rigid. OUT_OF_REACH if a target is
        proved to be out of reach; with the option KEEPS_LOOKING this is not tested.
    """
    w = layout.view_workspace(ints, work)
    lower, upper, targets = w.lower, w.upper, w.targets
    vectors.fill(counters[: state.STATE_SIZE], 0)
    counters[state.RANDOM] = np.int64(options[state.RANDOM_SEED])
    w.scalars[state.BEST_ERROR] = math.inf
    w.scalars[state.BEST_SQUARE] = math.inf
    start_clock(options, timeout_ns, counters)
    for k in range(w.reference.shape[0]):
        if not abs(w.reference[k]) <= joint_values.LARGEST_JOINT_VALUE:
            return state.BAD_STATE
    vectors.copy(lower, state.joint_row(ints, options, state.LOWER))
    vectors.copy(upper, state.joint_row(ints, options, state.UPPER))
    variable_i = layout.view_tables(ints, reals).variable_i
    if not normalise_balls(variable_i, w.reference):
        return state.BAD_STATE
    if options[state.LIMITED] != 0.0:
        steps.clamp_seed(variable_i, lower, upper, w.reference, w.state)
    else:
        hold_seed(variable_i, lower, upper, w.reference, w.state)
    vectors.copy(w.best, w.state)
    for t in range(targets.shape[0]):
        if not se3.is_rigid(w.matrices, 4 * t, options[state.RIGID_TOLERANCE]):
            return state.BAD_TARGET
        se3.from_matrix(targets[t], w.matrices, 4 * t)
        se3.orthonormalise(targets[t])
    if options[state.KEEPS_LOOKING] != 0.0:
        return state.RUNNING
    is_far = is_out_of_reach(ints, reals, options, targets, with_hulls)
    return state.OUT_OF_REACH if is_far else state.RUNNING


@kernel
def start_clock(options, timeout_ns, counters):
    """
    Write the two deadlines of a search [ns] into ``counters``: STOP without a solution, STOP_WITH_SOLUTION with one.

    :param timeout_ns: wall-clock budget [ns]; <= 0 means no budget.
    """
    counters[state.STOP] = counters[state.STOP_WITH_SOLUTION] = state.LAST_TIME
    if timeout_ns <= 0 and options[state.OPTIMISE] == 0.0:
        return
    now = clock.monotonic_ns(vector(counters, state.CLOCK, 2))
    if timeout_ns > 0:
        counters[state.STOP] = counters[state.STOP_WITH_SOLUTION] = now + timeout_ns
    if options[state.OPTIMISE] != 0.0:
        deadline = now + np.int64(options[state.OPTIMISE_NS])
        counters[state.STOP_WITH_SOLUTION] = min(counters[state.STOP], deadline)


@kernel
def normalise_balls(variable_i, q):
    """
    Divide the quaternions of ball joints in ``q`` (nq,) by their norms; return False if a quaternion is too short.

    :param variable_i: variable table of the problem.
    """
    for v in range(variable_i.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] == layout.BALL_FIRST:
            at = variable_i[v, layout.VARIABLE_Q]
            length = math.sqrt(steps.squared_norm(q[at : at + 4]))
            if length < SHORTEST_QUATERNION:
                return False
            vectors.divide(q[at:], length, 4)
    return True


@kernel
def hold_seed(variable_i, lower, upper, seed, q):
    """
    Copy ``seed`` (nq,) to ``q`` without limiting it; only a joint with equal limits gets the value of its limits.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits [rad or m].
    """
    vectors.copy(q, seed)
    for v in range(lower.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR and lower[v] >= upper[v]:
            q[variable_i[v, layout.VARIABLE_Q]] = lower[v]


@kernel
def is_out_of_reach(ints, reals, options, targets, with_hulls):
    """
    Return whether it is proved that no joint values reach the targets; False proves nothing.

    A target is out of reach if it is farther from the first joint than the links are long, or outside the reach hull, by
    more than the tolerances.

    :param targets: (t, 12) poses.
    :param with_hulls: True uses the hulls, too.
    """
    t = layout.view_tables(ints, reals)
    largest, error = state.tolerances(ints, options), math.sqrt(options[state.ERROR_SQUARED])
    for c in range(ints[layout.CONSTRAINTS]):
        norm = min(largest[state.NORM, c], error)
        position = min(norm, largest[state.POSITION, c])
        target = t.constraint_i[c, layout.CONSTRAINT_TARGET]
        reach = t.constraint_f[c, layout.CONSTRAINT_REACH]
        if math.isfinite(reach) and target >= 0:
            centre = vectors.read(t.constraint_f[c], layout.CONSTRAINT_REACH_CENTRE)
            if vectors.norm(vectors.subtract(vectors.read(targets[target], 9), centre)) > (
                reach + position
            ):
                return True
        count = int(t.constraint_f[c, layout.CONSTRAINT_HULL_COUNT])
        if with_hulls and count > 0:
            at = int(t.constraint_f[c, layout.CONSTRAINT_HULLS])
            hulls = vector(reals, at, count * reach_hull.BLOCK)
            rotation = min(norm, largest[state.ROTATION, c])
            if reach_hull.refuses(hulls, count, targets[target], position, rotation):
                return True
    return False


@kernel
def run(ints, reals, options, cancel, counters, work, out):
    """
    Search until enough solutions are stored in ``out``, a candidate must be validated, or the search ends.

    :param cancel: (1,) int64, read at each step; not zero ends the search.
    :param out: (K + 1, nq + 2 c + 2) rows of solutions, the candidate as the last row, see :func:`search`.
    :returns: FOUND if at least one solution is stored, CANDIDATE, or the code of the failure.
    """
    w = layout.view_workspace(ints, work)
    wanted, optimise = out.shape[0] - 1, options[state.OPTIMISE] != 0.0
    while optimise or counters[state.COUNT] < wanted:
        bound = distance_bound(options, counters, out)
        code = find(ints, reals, options, wanted, bound, cancel, counters, work)
        if code != state.RUNNING:
            return state.FOUND if counters[state.COUNT] > 0 else code
        if stage(ints, reals, options, counters, work, out):
            if counters[state.COUNT] == 0:
                w.scalars[state.ERROR] = math.sqrt(steps.squared_norm(w.residual))
            if options[state.VALIDATED] != 0.0:
                return state.CANDIDATE
            insert(counters, out)
    return state.FOUND


@kernel
def distance_bound(options, counters, out):
    """
    Return the squared distance to the seed below which a further solution is worth storing; infinite if any is.

    The bound is finite if the nearest solutions are wanted and ``out`` is full: it is the squared distance of the
    farthest stored solution.
    """
    count, width = counters[state.COUNT], out.shape[1]
    if options[state.OPTIMISE] != 0.0 and count == out.shape[0] - 1:
        return out[count - 1, width - 1]
    return math.inf


@kernel
def find(ints, reals, options, wanted, bound, cancel, counters, work):
    """
    Make starts until the state of the workspace is a measured solution or the search must end.

    :param wanted: number of solutions that are wanted in the end.
    :param bound: squared distance to the seed; the caller keeps only nearer solutions.
    :returns: RUNNING with a solution; else EXHAUSTED, DEADLINE, CANCELLED, or UNSAMPLED if starts cannot be drawn
        because a sliding joint has no limits.
    """
    while counters[state.SEARCHES] < options[state.MAX_SEARCHES]:
        if counters[state.SEARCHES] == 1:
            counters[state.UNSAMPLED_VARIABLE] = find_unsampled(ints, reals, options)
            if counters[state.UNSAMPLED_VARIABLE] >= 0:
                return state.UNSAMPLED
        free_run = counters[state.SEARCHES] % FREE_EVERY == FREE_EVERY - 1
        limited = options[state.LIMITED] != 0.0 and not free_run
        if counters[state.SEARCHES] > 0 or options[state.SEEDED] == 0.0:
            place_start(ints, reals, options, free_run, counters, work)
        counters[state.SEARCHES] += 1
        code = descent.descend(ints, reals, options, limited, cancel, counters, work)
        if code == state.DEADLINE or code == state.CANCELLED:
            counters[state.CLOCK_ENDED] = 1
            return state.RUNNING if take_near_miss(ints, reals, options, counters, work) else code
        if code == state.RUNNING and settle(ints, reals, options, wanted, counters, work):
            if is_put_aside(ints, options, counters, work):
                is_enough = counters[state.NEAR_MISSES] >= options[state.MOST_NEAR_MISSES]
                if not (is_enough and take_near_miss(ints, reals, options, counters, work)):
                    continue
            if options[state.OPTIMISE] != 0.0 and ints[layout.ROWS] < ints[layout.VARIABLES]:
                null_space.pull_to_seed(ints, reals, options, bound, cancel, counters, work)
            if options[state.IMPROVES] != 0.0:
                null_space.improve(ints, reals, options, cancel, counters, work)
            return state.RUNNING
    if options[state.GOES_ON] == 0.0 and take_near_miss(ints, reals, options, counters, work):
        return state.RUNNING
    return state.EXHAUSTED


@kernel
def is_put_aside(ints, options, counters, work):
    """
    Return whether the search should go on because the state is only a near miss: within tolerance, but not exact.

    While no solution is stored, the best near miss is stored in ``near_miss`` for :func:`take_near_miss`. A near miss
    is accepted at once (False) if near misses count as solutions. It is also accepted at once if it was reached from a
    seed next to the target, as in the steps of a path. For an exact state the result is False, too.
    """
    w = layout.view_workspace(ints, work)
    if options[state.MOST_NEAR_MISSES] == 0.0 or counters[state.NEAR_MISSES] == state.ALL_COUNT:
        return False
    if descent.is_exact(w.errors, descent.POLISHED_ERROR):
        return False
    is_step = counters[state.SEARCHES] == 1 and options[state.SEEDED] != 0.0
    if is_step and w.scalars[state.FIRST_SQUARE] < LONGEST_STEP_SQUARE:
        return False
    if counters[state.COUNT] == 0:
        square = steps.squared_norm(w.residual)
        if counters[state.NEAR_MISSES] == 0 or square < w.scalars[state.NEAR_MISS_SQUARE]:
            w.scalars[state.NEAR_MISS_SQUARE] = square
            vectors.copy(w.near_miss, w.state)
        counters[state.NEAR_MISSES] += 1
    return True


@kernel
def take_near_miss(ints, reals, options, counters, work):
    """
    Copy the best near miss, within the tolerances but not exact, to the state and measure it; return True.

    From then on near misses count as solutions at once.

    :returns: False, without a change, if no near miss is stored or a solution is stored.
    """
    if counters[state.NEAR_MISSES] <= 0 or counters[state.COUNT] > 0:
        return False
    counters[state.NEAR_MISSES] = state.ALL_COUNT
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.near_miss)
    descent.look(ints, reals, options, work, w.state)
    return True


@kernel
def find_unsampled(ints, reals, options):
    """Return the index of the first variable without a range to draw starts from; -1 if all variables have a range."""
    lower, upper = state.sampling_range(ints, options)
    return restarts.can_sample(layout.view_tables(ints, reals).variable_i, lower, upper)


@kernel
def place_start(ints, reals, options, free, counters, work):
    """
    Write the configuration with which the next start begins into the state.

    The first start keeps the state, which is the seed, if the caller gave a seed. Without a seed it is the best of a
    few points; it keeps the state if a variable has no range to draw points from.

    :param free: True draws revolute joints from the full turn, whatever their limits.
    """
    t, w = layout.view_problem(ints, reals, work)
    index = counters[state.SEARCHES]
    is_newton, seeded = options[state.LAW] != laws.POSE_IK, options[state.SEEDED] != 0.0
    if index == 0:
        if not seeded and find_unsampled(ints, reals, options) < 0:
            choose_start(ints, reals, options, counters, work)
        return
    near = index if seeded else NEAR_STARTS + 1
    if is_newton and near > NEAR_STARTS and not free:
        place_point(ints, reals, options, index + FIRST_CANDIDATES, 1.0, counters, work)
        return
    spread = 1.0
    if is_newton and not free:
        spread = min(1.0, NEAR_SPREAD * NEAR_GROWTH ** (near - 1))
    elif options[state.OPTIMISE] != 0.0 and counters[state.COUNT] > 0 and index % 2 == 1:
        spread = min(1.0, NEAREST_SPREAD + NEAREST_GROWTH * index)
    random = counters[state.RANDOM : state.RANDOM + 1].view(np.uint64)
    lower, upper = state.sampling_range(ints, options)
    restarts.draw(t.variable_i, lower, upper, w.reference, spread, free, random, w.state)


@kernel
def place_point(ints, reals, options, point, share, counters, work):
    """
    Write point number ``point`` of the low-discrepancy sequence in the joint ranges into the state.

    See :func:`restarts.spread_out` for the sequence.

    :param share: part of each joint range that is used, around its middle, in (0, 1].
    """
    w = layout.view_workspace(ints, work)
    nv = ints[layout.VARIABLES]
    sequence = matrix(options, state.OPTIONS + state.ALPHA * nv, 2, nv)
    restarts.spread_out(
        layout.view_tables(ints, reals).variable_i,
        state.joint_row(ints, options, state.SAMPLING_LOWER),
        state.joint_row(ints, options, state.SAMPLING_UPPER),
        w.reference,
        share,
        sequence,
        point,
        counters[state.RANDOM : state.RANDOM + 1].view(np.uint64),
        w.state,
    )


@kernel
def choose_start(ints, reals, options, counters, work):
    """
    Write the point with the smallest error into the state, out of the first FIRST_CANDIDATES points of the sequence.

    The sequence is the low-discrepancy sequence of :func:`place_point`.
    """
    w = layout.view_workspace(ints, work)
    nearest = math.inf
    for point in range(1, FIRST_CANDIDATES + 1):
        place_point(ints, reals, options, point, FIRST_SHARE, counters, work)
        square, _ = descent.measure(ints, reals, options, work, w.state)
        if square < nearest:
            nearest = square
            vectors.copy(w.trial, w.state)
    if nearest < math.inf:
        vectors.copy(w.state, w.trial)


@kernel
def settle(ints, reals, options, wanted, counters, work):
    """
    Move a state by whole turns as near to the seed as limits permit, and polish it; return whether it is a solution.

    Unless the search ignores limits, it is False for a state outside the limits, which is counted in LIMITS_SEEN. It is
    False, too, if the whole turns bring an error beyond its tolerance by rounding. The state must be measured. If the
    result is False, it is not polished.

    :param wanted: number of solutions that are wanted in the end; with several, the polish goes on to rounding.
    """
    t, w = layout.view_problem(ints, reals, work)
    moved = False
    for v in range(w.lower.shape[0]):
        if t.variable_i[v, layout.VARIABLE_KIND] == layout.PERIODIC:
            at = t.variable_i[v, layout.VARIABLE_Q]
            value = steps.nearest_winding(w.state[at], w.reference[at], w.lower[v], w.upper[v])
            moved = moved or value != w.state[at]
            w.state[at] = value
    if options[state.LIMITED] != 0.0 and not descent.within_limits(ints, reals, work, w.state):
        counters[state.LIMITS_SEEN] += 1
        return False
    if moved:
        _, inside = descent.look(ints, reals, options, work, w.state)
        if not inside:
            return False
    enough = descent.POLISHED_ERROR
    if counters[state.ITERATIONS] == 0:
        enough = descent.SEED_POSE_ERROR
    if wanted > 1 or options[state.VALIDATED] != 0.0:
        enough = 0.0
    descent.polish(ints, reals, options, enough, work)
    return True


@kernel
def stage(ints, reals, options, counters, work, out):
    """
    Write the measured state as candidate into the last row of ``out``; return whether it is new and near enough.

    :returns: False, and nothing is written, if the state equals a stored or refused solution, or is not nearer to the
        seed than :func:`distance_bound`.
    """
    w = layout.view_workspace(ints, work)
    errors, row, width = w.errors, out.shape[0] - 1, out.shape[1]
    nq, constraints = w.state.shape[0], errors.shape[0]
    distance = null_space.squared_distance(ints, reals, work, w.state)
    if distance >= distance_bound(options, counters, out):
        return False
    for k in range(counters[state.COUNT]):
        if is_same(ints, reals, out[k], w.state, options[state.SOLUTION_SEPARATION]):
            return False
    for k in range(min(counters[state.REFUSALS], layout.REFUSED_ROWS)):
        if is_same(ints, reals, w.refused[k], w.state, options[state.SOLUTION_SEPARATION]):
            return False
    vectors.put(out[row], w.state, nq)
    total = 0.0
    for c in range(constraints):
        column = nq + 2 * c
        out[row, column], out[row, column + 1] = errors[c, 0], errors[c, 1]
        total += errors[c, 0] * errors[c, 0] + errors[c, 1] * errors[c, 1]
    out[row, width - 2] = math.sqrt(total)
    out[row, width - 1] = distance
    return True


@kernel
def is_same(ints, reals, a, b, tolerance):
    """
    Return whether every joint of two configurations differs by at most ``tolerance`` [rad or m], whole turns ignored.

    Ball joints count as equal if 1 minus the absolute inner product of their quaternions is at most ``tolerance``
    squared.

    :param a, b: (nq,) configurations.
    """
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(variable_i.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_FIRST:
            product = vectors.inner(a[at:], b[at:], 4)
            if 1.0 - abs(product) > tolerance * tolerance:
                return False
        elif kind <= layout.LINEAR:
            difference = a[at] - b[at]
            if kind == layout.PERIODIC:
                difference = so3.wrap_to_pi(difference)
            if abs(difference) > tolerance:
                return False
    return True


@kernel
def remember_refused(ints, counters, work, out):
    """
    Store the candidate, the last row of ``out``, in ``refused`` of the workspace, so that it is not offered again.

    The oldest of REFUSED_ROWS stored ones is overwritten.
    """
    w = layout.view_workspace(ints, work)
    row = counters[state.REFUSALS] % layout.REFUSED_ROWS
    vectors.copy(w.refused[row], out[out.shape[0] - 1])
    counters[state.REFUSALS] += 1


@kernel
def insert(counters, out):
    """
    Insert the candidate, the last row of ``out``, into the rows of solutions, sorted by distance to the seed.

    If the rows are full, the farthest of the stored solutions is dropped.
    """
    last, width = out.shape[0] - 1, out.shape[1]
    k = min(counters[state.COUNT], last - 1)
    while k > 0 and out[k - 1, width - 1] > out[last, width - 1]:
        vectors.copy(out[k], out[k - 1])
        k -= 1
    vectors.copy(out[k], out[last])
    counters[state.COUNT] = min(counters[state.COUNT] + 1, last)
