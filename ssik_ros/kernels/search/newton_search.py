"""
Newton searches with restarts: the whole of NR, GN and LM in one re-entrant kernel.

Problem
    Find q within limits such that E = e^T W e / 2 is below a tolerance and every constraint of a packed problem is
    within its own tolerances, the first one found, or several.

Method
    1. The first start is the seed, brought inside the limits; without a seed the best of a few points. The next ones
       lie near the seed, each further away, then follow a low-discrepancy sequence through all joint ranges.
    2. From each start, steps by the law (:mod:`ssik_ros.kernels.search.laws`), each ending inside the limits
       (:func:`ssik_ros.kernels.rows.steps.bounded_step`) and shortened to a largest joint step. Errors are measured before
       the first step and after every one.
    3. A start is given up after its number of steps; earlier when the linear model sees no way to shrink the error
       inside the limits twice running, or when five steps have not shrunk the squared error by a fixed factor. The
       only or last start that is allowed, and after many failures every fourth one, is not given up for that last
       reason: descents to the edge of the workspace crawl. The only start of a law with a given damping goes on in
       any case. Where the damping does not fade with the error, the last five steps, or those before a start
       is given up, go without: each has to halve the squared error.
    4. Every eighth start ignores limits: it reaches branches that the limits hide from a descent, and shows whether
       the limits are what refuses the target.
    5. A solution is shifted by full turns to the equivalent nearest to the seed, and measured again at exactly those
       numbers before it counts.
    6. When several solutions are wanted, or some may be refused, each is polished by further steps as long as they
       shrink the error, so that one branch found twice is recognised as one.
    7. Secondary objectives move a solution within the null space (:mod:`ssik_ros.kernels.search.null_space`).

Solutions
    At most the number of rows of ``out`` less one, sorted by squared joint distance to the seed, distinct. On failure
    ``best`` holds the state with the smallest E seen, with its own errors.

Degeneracies
    A plain inverse that does not exist ends the start. States that are not finite end it, too, and never count.

Cost
    One forward pass, one Jacobian, at least one factorisation per step: O(N + m^2 n + m^3).

References
    [Wampler1986], [Sugihara2011], [Fan2005] for steps, [Beeson2015] for restarts against limits.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.geometry import joint_values, se3, vectors
from ssik_ros.kernels.rows import layout, reach_hull, rows, steps
from ssik_ros.kernels.search import (
    clock,
    laws,
    null_space,
    pose_search,
    restarts,
    serial,
    six_rows,
)
from ssik_ros.kernels.search.pose_search import (
    ACCEPTED,
    BAD_STATE,
    BAD_TARGET,
    CANCELLED,
    CANDIDATE,
    CLOCK,
    CLOCK_ENDED,
    COUNT,
    DEADLINE,
    EXHAUSTED,
    FOUND,
    FRESH,
    ITERATIONS,
    LIMITS_SEEN,
    OUT_OF_REACH,
    RANDOM,
    RIGID,
    RUNNING,
    SEARCHES,
    STALLED,
    STATE_SIZE,
    STOP,
    UNSAMPLED,
    UNSAMPLED_VARIABLE,
    VALIDATED,
)

# Integer state (int64) of a search between calls: that of PoseIK, one of whose places it does not need.
SINGULAR_SEEN = pose_search.OPTIMISE_STOP

# Float state.
BEST_ERROR = 0
ERROR = 1
"""Places of the smallest error norm |W^1/2 e| seen, and of the error norm at the first solution."""

# Options: single numbers (RIGID, SAME and VALIDATED stand where PoseIK has them), then the arrays below.
LAW = 0
GAIN = 1
"""k of the toolbox's laws, first mu of the adaptive one."""
OWN_DAMPING = 2
PLAIN_INVERSE = 3
MAX_ITERATIONS = 4
MAX_SEARCHES = 5
ERROR_SQUARED = 6
"""Largest |W^1/2 e|^2 of a solution: twice the toolbox's tolerance on E."""
LIMITED = 7
SEEDED = 11
"""Whether the caller gave a seed to start from."""
RANDOM_SEED = 12
LARGEST_STEP = 13
WEIGHTED = 14
"""Whether joints have weights."""
GIVES_UP = 15
"""Whether starts that make little progress are given up."""
SERIAL = 16
"""Whether :func:`ssik_ros.kernels.search.serial.evaluate` holds."""
NEAR_SQUARED = 17
"""Squared error that a start may have, further away it is given up at once; zero for any."""
KEEPS_LOOKING = 18
"""Whether the nearest state is looked for also where a target is proved to be out of reach."""
CONSTANT = 19
"""Whether the damping has a part that does not fade with the error."""
OPTIONS = 20 + null_space.NUMBERS
AT_NULL_SPACE = 20

NEVER = pose_search.NEVER
FIRST_CANDIDATES = 3
"""Points of which the best one is the first start when there is no seed."""
FIRST_SHARE = 0.5
"""Part of the joint ranges, around their middle, that these points lie in: far from limits descents succeed."""
NEAR_STARTS = 1
"""Starts near the seed, after the seed itself."""
NEAR_SPREAD = 0.5
"""Spread of the first of them, as a fraction of the joint ranges."""
NEAR_GROWTH = 1.5
HOPELESS = 0.8
"""Share of the squared error that the linear model leaves, from which a step is called hopeless."""
HOPELESS_STEPS = 2
PROGRESS_STEPS = 5
PROGRESS = 0.6
"""Steps after which a start must have shown progress, and factor by which its squared error must have shrunk."""
FINISH_STEPS = 5
"""Last updates of a search, which go without damping where the law's damping does not fade."""
FINISH_GAIN = 0.5
"""Factor by which each of them must shrink the squared error."""
FREE_EVERY = 8
PATIENT_EVERY = 4
PATIENT_AFTER = 16
POLISH_STEPS = 6
POLISH_GAIN = 0.5
"""Most steps of a polish, and factor by which each of them must shrink the error."""


@inline_kernel
def joint_scales(ints, options):
    """Return (nv,) 1 / sqrt(weight) of each joint, empty where all weights are equal."""
    nv, c = ints[layout.VARIABLES], ints[layout.CONSTRAINTS]
    count = nv if options[WEIGHTED] != 0.0 else 0
    return vector(options, OPTIONS + 6 * nv + 3 * c, count)


@inline_kernel
def option_rows(ints, options, row):
    """Return (nv,) one of the arrays lower, upper, sampling lower, sampling upper, alpha, shift."""
    nv = ints[layout.VARIABLES]
    return vector(options, OPTIONS + row * nv, nv)


@kernel
def search(ints, reals, options, phase, timeout_ns, cancel, counters, work, out):
    """
    Run or resume a search, until it has an answer, a candidate to be validated, or no budget left.

    :param ints, reals: packed problem.
    :param options: (OPTIONS + 7 nv + 3 c + nv + nq,): single numbers, then lower, upper, sampling lower, sampling
        upper, alpha, shift (nv each), tolerances on norm, position, rotation (c each), joint scales (nv), and what
        :mod:`null_space` needs (influence (nv), posture (nq)).
    :param phase: FRESH, or the verdict on the candidate that the previous call returned.
    :param timeout_ns: wall-clock budget of the whole search, counted from the fresh call; <= 0 for none.
    :param cancel: (1,) int64, read at each step; not zero ends the search.
    :param counters: (STATE_SIZE,) int64 state, work: float state; kept between calls. Before a fresh
        call the caller writes the seed into ``reference`` and the targets into ``matrices``.
    :param out: (K + 1, nq + 2 c + 2): solutions, position and rotation error of each constraint in turn, norm of the
        errors, squared distance to the seed; the last row is the candidate.
    :returns: FOUND, CANDIDATE, EXHAUSTED, DEADLINE, CANCELLED, or why the search could not run.
    """
    if phase == FRESH:
        code = prove_or_begin(ints, reals, options, timeout_ns, counters, work)
    else:
        code = RUNNING
        if phase == ACCEPTED:
            pose_search.insert(counters, out)
        else:
            pose_search.remember_refused(ints, counters, work, out)
    if code == RUNNING:
        code = run(ints, reals, options, cancel, counters, work, out)
    if code != FOUND and code != CANDIDATE and code != BAD_TARGET and code != BAD_STATE:
        settle_for_best(ints, reals, options, work)
    return code


@kernel
def settle_for_best(ints, reals, options, work):
    """Make the best state seen the state, measured anew; return its |W^1/2 e|^2."""
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.best)
    square, _ = measure(ints, reals, options, work, w.state)
    w.scalars[BEST_ERROR] = math.sqrt(square)
    return square


@kernel
def begin(ints, reals, options, timeout_ns, counters, work):
    """Check the request, load targets, limits and seed into the workspace, start the clock."""
    w = layout.view_workspace(ints, work)
    lower, upper, targets = w.lower, w.upper, w.targets
    for k in range(STATE_SIZE):
        counters[k] = 0
    counters[RANDOM] = np.int64(options[RANDOM_SEED])
    w.scalars[BEST_ERROR] = math.inf
    counters[STOP] = NEVER
    if timeout_ns > 0:
        counters[STOP] = clock.monotonic_ns(vector(counters, CLOCK, 2)) + timeout_ns
    for k in range(w.reference.shape[0]):
        if not abs(w.reference[k]) <= joint_values.LARGEST:
            return BAD_STATE
    nv = lower.shape[0]
    for v in range(nv):
        lower[v] = options[OPTIONS + v]
        upper[v] = options[OPTIONS + nv + v]
    variable_i = layout.view_tables(ints, reals).variable_i
    if not pose_search.normalise_balls(variable_i, w.reference):
        return BAD_STATE
    if options[LIMITED] != 0.0:
        steps.clamp_seed(variable_i, lower, upper, w.reference, w.state)
    else:
        hold_seed(variable_i, lower, upper, w.reference, w.state)
    vectors.copy(w.best, w.state)
    for t in range(targets.shape[0]):
        if not se3.is_rigid(w.matrices, 4 * t, options[RIGID]):
            return BAD_TARGET
        se3.from_matrix(targets[t], w.matrices, 4 * t)
        se3.orthonormalise(targets[t])
    if options[KEEPS_LOOKING] == 0.0 and out_of_reach(ints, reals, options, targets):
        return OUT_OF_REACH
    return RUNNING


@kernel
def prove_or_begin(ints, reals, options, timeout_ns, counters, work):
    """
    Begin as :func:`begin`, but end where the hull of what the chain reaches proves that there is no solution.

    A control loop goes towards such targets all the same, and begins without this.
    """
    code = begin(ints, reals, options, timeout_ns, counters, work)
    if code == RUNNING and options[KEEPS_LOOKING] == 0.0:
        targets = layout.view_workspace(ints, work).targets
        code = OUT_OF_REACH if beyond_hull(ints, reals, options, targets) else code
    return code


@kernel
def hold_seed(variable_i, lower, upper, seed, q):
    """Write a seed as it is, but for joints that are held by equal limits."""
    for k in range(q.shape[0]):
        q[k] = seed[k]
    for v in range(lower.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR and lower[v] >= upper[v]:
            q[variable_i[v, layout.VARIABLE_Q]] = lower[v]


@kernel
def out_of_reach(ints, reals, options, targets):
    """Return whether a target lies further from the first joint than the links are long: a proof."""
    t = layout.view_tables(ints, reals)
    nv, constraints = ints[layout.VARIABLES], ints[layout.CONSTRAINTS]
    for c in range(constraints):
        reach = t.constraint_f[c, layout.CONSTRAINT_REACH]
        target = t.constraint_i[c, layout.CONSTRAINT_TARGET]
        if math.isfinite(reach) and target >= 0:
            at = OPTIONS + 6 * nv + c
            slack = min(options[at], options[at + constraints])
            slack = min(slack, math.sqrt(options[ERROR_SQUARED]))
            total = 0.0
            for k in range(3):
                d = targets[target, 9 + k] - t.constraint_f[c, layout.CONSTRAINT_REACH_CENTRE + k]
                total += d * d
            if math.sqrt(total) > reach + slack:
                return True
    return False


@kernel
def beyond_hull(ints, reals, options, targets):
    """Return whether a target is outside of what the chain can reach, by the hull of that: a proof."""
    t = layout.view_tables(ints, reals)
    nv, constraints = ints[layout.VARIABLES], ints[layout.CONSTRAINTS]
    for c in range(constraints):
        count = int(t.constraint_f[c, layout.CONSTRAINT_HULL_COUNT])
        if count > 0:
            at = OPTIONS + 6 * nv + c
            norm = min(options[at], math.sqrt(options[ERROR_SQUARED]))
            position = min(norm, options[at + constraints])
            rotation = min(norm, options[at + 2 * constraints])
            at_hulls = int(t.constraint_f[c, layout.CONSTRAINT_HULLS])
            hulls = vector(reals, at_hulls, count * reach_hull.BLOCK)
            target = targets[t.constraint_i[c, layout.CONSTRAINT_TARGET]]
            if reach_hull.refuses(hulls, count, target, position, rotation):
                return True
    return False


@kernel
def run(ints, reals, options, cancel, counters, work, out):
    """Go from solution to solution until something is to be said."""
    w = layout.view_workspace(ints, work)
    wanted = out.shape[0] - 1
    while counters[COUNT] < wanted:
        code = find(ints, reals, options, wanted, cancel, counters, work)
        if code != RUNNING:
            return FOUND if counters[COUNT] > 0 else code
        if pose_search.stage(ints, reals, options, False, counters, work, out):
            if counters[COUNT] == 0:
                w.scalars[ERROR] = math.sqrt(steps.squared_norm(w.residual))
            if options[VALIDATED] != 0.0:
                return CANDIDATE
            pose_search.insert(counters, out)
    return FOUND


@kernel
def find(ints, reals, options, wanted, cancel, counters, work):
    """
    Go from start to start until the state is a solution, measured.

    :param wanted: how many solutions there shall be in the end.
    :returns: RUNNING with a solution, otherwise why there is none.
    """
    while counters[SEARCHES] < options[MAX_SEARCHES]:
        if counters[SEARCHES] == 1:
            lower, upper = option_rows(ints, options, 2), option_rows(ints, options, 3)
            variable_i = layout.view_tables(ints, reals).variable_i
            counters[UNSAMPLED_VARIABLE] = restarts.can_sample(variable_i, lower, upper)
            if counters[UNSAMPLED_VARIABLE] >= 0:
                return UNSAMPLED
        free_run = counters[SEARCHES] % FREE_EVERY == FREE_EVERY - 1
        limited = options[LIMITED] != 0.0 and not free_run
        if counters[SEARCHES] > 0 or options[SEEDED] == 0.0:
            place_start(ints, reals, options, free_run, counters, work)
        counters[SEARCHES] += 1
        code = descend(ints, reals, options, limited, cancel, counters, work)
        if code == DEADLINE or code == CANCELLED:
            counters[CLOCK_ENDED] = 1
            return code
        if code == RUNNING and settle(ints, reals, options, counters, work):
            if wanted > 1 or options[VALIDATED] != 0.0:
                polish(ints, reals, options, work)
            if options[AT_NULL_SPACE + null_space.ACTIVE] != 0.0:
                improve(ints, reals, options, cancel, counters, work)
            return RUNNING
    return EXHAUSTED


@kernel
def place_start(ints, reals, options, free, counters, work):
    """Write the next start into the state; a seed is there already."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    index = counters[SEARCHES]
    seeded = options[SEEDED] != 0.0
    random = counters[RANDOM : RANDOM + 1].view(np.uint64)
    lower, upper = option_rows(ints, options, 2), option_rows(ints, options, 3)
    nv = ints[layout.VARIABLES]
    sequence = matrix(options, OPTIONS + 4 * nv, 2, nv)
    if index == 0:
        if not seeded and restarts.can_sample(variable_i, lower, upper) < 0:
            choose_start(ints, reals, options, sequence, counters, work)
        return
    near = index if seeded else NEAR_STARTS + 1
    if near <= NEAR_STARTS or free:
        spread = 1.0 if free else min(1.0, NEAR_SPREAD * NEAR_GROWTH ** (near - 1))
        restarts.draw(variable_i, lower, upper, w.reference, spread, free, random, w.state)
    else:
        point = index + FIRST_CANDIDATES
        restarts.spread_out(
            variable_i, lower, upper, w.reference, 1.0, sequence, point, random, w.state
        )


@kernel
def choose_start(ints, reals, options, sequence, counters, work):
    """Write the one of a few points of the sequence that is nearest to the targets."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    random = counters[RANDOM : RANDOM + 1].view(np.uint64)
    lower, upper = option_rows(ints, options, 2), option_rows(ints, options, 3)
    nearest = math.inf
    for point in range(1, FIRST_CANDIDATES + 1):
        restarts.spread_out(
            variable_i, lower, upper, w.reference, FIRST_SHARE, sequence, point, random, w.state
        )
        square, _ = measure(ints, reals, options, work, w.state)
        if square < nearest:
            nearest = square
            vectors.copy(w.trial, w.state)
    if nearest < math.inf:
        vectors.copy(w.state, w.trial)


@inline_kernel
def is_over(counters, cancel):
    """Return DEADLINE, CANCELLED or RUNNING."""
    if cancel[0] != 0:
        return CANCELLED
    stop = counters[STOP]
    if stop == NEVER or clock.monotonic_ns(vector(counters, CLOCK, 2)) < stop:
        return RUNNING
    return DEADLINE


@kernel
def measure(ints, reals, options, work, q):
    """
    Write residual, Jacobian and errors at a configuration.

    :returns: |W^1/2 e|^2, and whether every tolerance is kept.
    """
    square, inside = look(ints, reals, options, work, q)
    if options[SERIAL] != 0.0:
        serial.fill_jacobian(ints, reals, work)
    return square, inside


@inline_kernel
def look(ints, reals, options, work, q):
    """Do as :func:`measure`, but for the Jacobian of serial problems, which only a step needs."""
    w = layout.view_workspace(ints, work)
    if options[SERIAL] != 0.0:
        serial.compare(ints, reals, work, q)
    else:
        rows.evaluate(ints, reals, work, q, False)
    constraints = ints[layout.CONSTRAINTS]
    square = steps.squared_norm(w.residual)
    inside = square < options[ERROR_SQUARED]
    at = OPTIONS + 6 * ints[layout.VARIABLES]
    for c in range(constraints):
        position, rotation = w.errors[c, 0], w.errors[c, 1]
        norm = options[at + c]
        inside = inside and position * position + rotation * rotation <= norm * norm
        inside = inside and position <= options[at + constraints + c]
        inside = inside and rotation <= options[at + 2 * constraints + c]
    return square, inside


@kernel
def descend(ints, reals, options, limited, cancel, counters, work):
    """
    Step from the state towards the targets.

    :returns: RUNNING when the state keeps every tolerance, EXHAUSTED when the start was given up, or why it was ended.
    """
    w = layout.view_workspace(ints, work)
    count = counters[SEARCHES]
    patient = count > PATIENT_AFTER and count % PATIENT_EVERY == 1
    patient = patient or count >= options[MAX_SEARCHES] or options[GIVES_UP] == 0.0
    # With a given damping a step promises little because it is short, not because there is no way.
    is_trusted = options[MAX_SEARCHES] > 1.0 or options[LAW] == laws.ADAPTIVE
    gives_up = options[GIVES_UP] != 0.0 and is_trusted
    keeps = limited or options[LIMITED] == 0.0
    last = int(options[MAX_ITERATIONS])
    is_constant = options[CONSTANT] != 0.0
    # Where the damping fades with the error, there is nothing to finish.
    finish = last - FINISH_STEPS if is_constant and last >= 2 * FINISH_STEPS else last + 1
    mu = options[GAIN]
    before, window, left = 0.0, math.inf, 0.0
    hopeless, iteration = 0, 0
    while True:
        code = is_over(counters, cancel)
        if code != RUNNING:
            return code
        square, inside = look(ints, reals, options, work, w.state)
        if keeps and square < w.scalars[BEST_ERROR]:
            w.scalars[BEST_ERROR] = square
            for k in range(w.state.shape[0]):
                w.best[k] = w.state[k]
        if inside:
            return RUNNING
        ends = iteration >= last or not math.isfinite(square)
        if iteration == 0 and square > options[NEAR_SQUARED] > 0.0:
            return EXHAUSTED
        if iteration > finish and not square <= FINISH_GAIN * before:
            counters[STALLED] += 1
            return EXHAUSTED
        if iteration % PROGRESS_STEPS == 0 or ends:
            stalled = not square <= PROGRESS * window
            finishes = is_constant and not ends
            counters[STALLED] += 1 if stalled and (ends or not (patient or finishes)) else 0
            if ends or (stalled and not patient and not finishes):
                return EXHAUSTED
            if stalled and not patient and iteration < finish:
                finish, last = iteration, min(last, iteration + FINISH_STEPS)
            window = square
        if iteration > 0:
            mu = laws.follow(mu, before, left, square)
        before = square
        left = step_on(ints, reals, options, work, square, mu, limited, iteration >= finish)
        iteration += 1
        counters[ITERATIONS] += 1
        hopeless = hopeless + 1 if left > HOPELESS * square else 0
        if left < 0.0:
            counters[SINGULAR_SEEN] += 1
            return EXHAUSTED
        if hopeless >= HOPELESS_STEPS and gives_up and iteration < finish:
            if not is_constant:
                counters[STALLED] += 1
                return EXHAUSTED
            finish, last = iteration, min(last, iteration + FINISH_STEPS)


@kernel
def take_step(ints, reals, options, work, square, mu, limited):
    """Move the state by one step, as :func:`step_on`."""
    return step_on(ints, reals, options, work, square, mu, limited, False)


@inline_kernel
def step_on(ints, reals, options, work, square, mu, limited, finishing):
    """
    Move the state by one step from where :func:`look` saw it.

    :param finishing: whether the law's damping is left out.
    :returns: squared error that the linear model leaves, -1 when a plain inverse does not exist.
    """
    w = layout.view_workspace(ints, work)
    damping = laws.damping_of(options[LAW], options[GAIN], options[OWN_DAMPING], mu, square)
    damping = laws.ROUNDING if finishing else damping
    scales, largest = joint_scales(ints, options), options[LARGEST_STEP]
    if options[SERIAL] != 0.0:
        serial.fill_jacobian(ints, reals, work)
    if options[SERIAL] != 0.0 and ints[layout.VARIABLES] >= six_rows.ROWS:
        left = six_rows.bounded_step(ints, reals, work, damping, limited, scales, largest)
    else:
        left = steps.bounded_step(ints, reals, work, damping, limited, scales, largest)
    if options[PLAIN_INVERSE] != 0.0 and laws.is_singular(w.normal, w.free):
        return -1.0
    if options[SERIAL] != 0.0:
        serial.advance(ints, reals, work, limited)
    else:
        variable_i = layout.view_tables(ints, reals).variable_i
        steps.advance(variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
    return left


@kernel
def settle(ints, reals, options, counters, work):
    """
    Shift the state to its equivalent nearest to the seed; return whether that is a solution, measured anew.

    What :func:`descend` measured is still valid when no joint had to be shifted.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    lower, upper, state = w.lower, w.upper, w.state
    moved, inside_limits = False, True
    for v in range(lower.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.PERIODIC:
            value = steps.nearest_turn(state[at], w.reference[at], lower[v], upper[v])
            moved = moved or value != state[at]
            state[at] = value
        if kind <= layout.LINEAR:
            inside_limits = inside_limits and lower[v] <= state[at] <= upper[v]
    if options[LIMITED] != 0.0 and not inside_limits:
        counters[LIMITS_SEEN] += 1
        return False
    if moved:
        _, inside = measure(ints, reals, options, work, state)
        return inside
    return True


@kernel
def polish(ints, reals, options, work):
    """Step on from a solution while that shrinks the error well; the state ends as the best one, measured."""
    w = layout.view_workspace(ints, work)
    limited = options[LIMITED] != 0.0
    before, _ = measure(ints, reals, options, work, w.state)
    for _ in range(POLISH_STEPS):
        vectors.copy(w.trial, w.state)
        take_step(ints, reals, options, work, before, laws.SMALLEST_MU, limited)
        square, inside = measure(ints, reals, options, work, w.state)
        if not inside or not square <= POLISH_GAIN * before:
            vectors.copy(w.state, w.trial)
            measure(ints, reals, options, work, w.state)
            return
        before = square


@kernel
def improve(ints, reals, options, cancel, counters, work):
    """
    Move a solution within its null space towards the secondary objectives; the state ends as the best one, measured.

    The candidate row of the refused ones keeps what has to be restored.
    """
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    limited = options[LIMITED] != 0.0
    kept = w.refused[layout.REFUSED_ROWS - 1]
    polish(ints, reals, options, work)
    vectors.copy(kept, w.state)
    value = null_space.objective(ints, reals, options, AT_NULL_SPACE, work, w.state)
    pull = null_space.FIRST_PULL
    iteration = 0
    while pull > null_space.SMALLEST_PULL and iteration < null_space.STEPS:
        if is_over(counters, cancel) != RUNNING:
            break
        iteration += 1
        counters[ITERATIONS] += 1
        null_space.gradient(ints, reals, options, AT_NULL_SPACE, work, w.state)
        measure(ints, reals, options, work, w.state)
        length = null_space.pulled_step(ints, reals, work, pull, limited)
        steps.advance(variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
        square, _ = measure(ints, reals, options, work, w.state)
        for _ in range(POLISH_STEPS):
            if square < null_space.EXACT:
                break
            take_step(ints, reals, options, work, square, laws.SMALLEST_MU, limited)
            square, _ = measure(ints, reals, options, work, w.state)
        _, inside = measure(ints, reals, options, work, w.state)
        after = null_space.objective(ints, reals, options, AT_NULL_SPACE, work, w.state)
        fits = not limited or pose_search.within_limits(ints, reals, work, w.state)
        if inside and square < null_space.EXACT and fits and after > value:
            value = after
            vectors.copy(kept, w.state)
            pull = min(2.0 * pull, null_space.LARGEST_PULL)
            if length < null_space.SMALLEST_PULL:
                break
        else:
            vectors.copy(w.state, kept)
            pull *= 0.5
    vectors.copy(w.state, kept)
    measure(ints, reals, options, work, w.state)
