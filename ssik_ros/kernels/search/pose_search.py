"""
Random-restart pose search: the whole of PoseIK in one re-entrant kernel.

Problem
    Find q within limits such that every constraint of a packed problem is met within its tolerance, the first
    one found or the one nearest to the seed.

Method
    1. The first start is the seed, brought inside the limits; every other one is drawn from a
       deterministic sequence.
    2. From each start, damped Newton steps dq = J^T (J J^T + damping f(|e|) I)^-1 e with
       f(x) = min(1, x / fade) + c min(x, largest)^2. Far from the target, where the linear model means little, the damping grows
       with the squared error and steps are short. Near it the damping fades with the error: convergence stays
       quadratic even where the arm is nearly singular, which a constant damping would make a crawl.
    3. The step is multiplied by ``multiplier`` while the error is above ``threshold``; below, the factor grows
       linearly towards one as the error shrinks.
    4. A joint that crosses a limit is unwound by a full turn where that is inside, else held at the limit as
       long as the step pushes outward (active set). Every eighth start ignores limits instead: it reaches branches
       that the limits hide from a descent, and shows whether the limits are what refuses the target.
    5. A start that does not shrink the error by a fixed factor in a few steps is given up early; every fourth one,
       once many have failed, is patient instead, for targets at the edge of the workspace where descents crawl.
    6. A solution is shifted by full turns to the equivalent nearest to the seed, and measured again at exactly
       those numbers before it counts.
    7. When several solutions are wanted, or some may be refused, each is polished by further steps as long as they shrink the error, so that
       one branch found twice is recognised as one.
    8. ``optimize_distance``: each solution is pulled along the null space towards the seed; once there is one, starts near the
       seed alternate with starts anywhere; the search goes on until its own time or start budget ends.

Solutions
    At most the number of rows of ``out`` less one, sorted by squared joint distance to the seed, distinct.

Degeneracies
    At a singular configuration the damping keeps the step finite; a start that stalls there is given up.

Cost
    One forward pass, one Jacobian and one Cholesky factorisation per step: O(N + m^2 n + m^3).

References
    [Wampler1986], [Nakamura1986] for damped least squares, [Sugihara2011] and [Fan2005] for damping by the error,
    [Beeson2015] for restarts against limits.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import joint_values, se3, so3, vectors
from ssik_ros.kernels.rows import layout, reach_hull, rows, steps
from ssik_ros.kernels.search import clock, restarts

# Phases: what the caller says when it calls.
FRESH = 0
REFUSED = 1
ACCEPTED = 2
CONTINUED = 3

# What a call says when it returns.
FOUND = 0
CANDIDATE = 1
EXHAUSTED = 2
DEADLINE = 3
CANCELLED = 4
BAD_TARGET = 5
BAD_STATE = 6
OUT_OF_REACH = 7
UNSAMPLED = 8
RUNNING = 9

# Integer state (int64) of a search between calls.
SEARCHES = 0
ITERATIONS = 1
COUNT = 2
RANDOM = 3
LIMITS_SEEN = 4
REFUSALS = 5
STOP = 6
OPTIMISE_STOP = 7
CLOCK = 8
CLOCK_ENDED = 10
STALLED = 11
UNSAMPLED_VARIABLE = 12
STATE_SIZE = 13

# Float state.
BEST_ERROR = 0

# Options: single numbers, followed by lower (nv), upper (nv) and tolerance (c).
DAMPING = 0
MULTIPLIER = 1
THRESHOLD = 2
MAX_ITERATIONS = 3
OPTIMISE = 4
GAIN = 5
MAX_SEARCHES = 6
OPTIMISE_NS = 7
VALIDATED = 8
RIGID = 9
SAME = 10
KEEPS_LOOKING = 11
"""Whether the nearest state is looked for also where a target is proved to be out of reach."""
OPTIONS = 12

NEVER = np.iinfo(np.int64).max
"""A deadline that does not come. By its name: asked in a kernel, numba brings scipy.linalg along when machine code is loaded."""
ERROR_DAMPING = 500.0
"""Growth c of the damping with the squared error [1/(m^2, rad^2)]."""
LARGEST_ERROR = 4.0
"""Error beyond which the damping grows no more [m, rad]: far along a rail the linear model holds again."""
FADE = 0.1
"""Error below which the damping fades in proportion [m, rad]."""
PROGRESS_STEPS = 3
"""Steps after which a descent must have shown progress."""
PROGRESS = 0.6
"""Factor by which the error must have shrunk by then."""
PATIENT_PROGRESS = 0.999
"""The same for a patient start."""
FREE_EVERY = 8
PATIENT_EVERY = 4
PATIENT_AFTER = 16
SHORTEST_QUATERNION = 1e-6
"""Below this length a quaternion says nothing about a rotation."""
FIRST_SEED = 0x5331C0DE
"""Start of the deterministic sequence."""
LARGEST_PULL = 0.3
"""Longest null-space pull in one step [rad or m]: further, its linear model breaks the target."""
SETTLED = 1e-2
"""Relative gain in squared distance, per unit of pull gain, below which a pull has arrived."""
CLOSING_STEPS = 6
"""Newton steps without a pull that bring a pulled solution back within tolerance."""
POLISH_STEPS = 5
"""Most steps of a polish; convergence is quadratic."""
POLISH_GAIN = 0.5
"""Factor by which each of them must shrink the error."""
NEAR_SPREAD = 0.05
"""Smallest spread of starts near the seed, as a fraction of the joint ranges."""
NEAR_GROWTH = 0.02
"""Growth of that spread with each start."""


@kernel
def search(ints, reals, options, phase, timeout_ns, cancel, counters, work, out):
    """
    Run or resume a search, until it has an answer, a candidate to be validated, or no budget left.

    :param ints, reals: packed problem.
    :param options: (OPTIONS + 2 nv + c,).
    :param phase: FRESH, the verdict on the candidate that the previous call returned, or CONTINUED when that one was
        EXHAUSTED and there is a larger budget of starts now.
    :param timeout_ns: wall-clock budget of the whole search, counted from the fresh call; <= 0 for none.
    :param cancel: (1,) int64, read at each step; not zero ends the search.
    :param counters: (STATE_SIZE,) int64 state, work: float state; kept between calls. Before a fresh
        call the caller writes the seed into ``reference`` and the targets into ``matrices``.
    :param out: (K + 1, nq + 2 c + 2): solutions, position and rotation error of each constraint in turn, norm of the
        errors, squared distance to the seed; the last row is the candidate.
    :returns: FOUND, CANDIDATE, EXHAUSTED, DEADLINE, CANCELLED, or why the search could not run.
    """
    if phase == FRESH:
        code = begin(ints, reals, options, timeout_ns, counters, work)
        if code != RUNNING:
            return code
    elif phase == ACCEPTED:
        insert(counters, out)
    elif phase == REFUSED:
        remember_refused(ints, counters, work, out)
    return run(ints, reals, options, cancel, counters, work, out)


@kernel
def remember_refused(ints, counters, work, out):
    """Keep the candidate that was refused, in place of the oldest one."""
    w = layout.view_workspace(ints, work)
    row = counters[REFUSALS] % layout.REFUSED_ROWS
    for k in range(w.state.shape[0]):
        w.refused[row, k] = out[out.shape[0] - 1, k]
    counters[REFUSALS] += 1


@kernel
def begin(ints, reals, options, timeout_ns, counters, work):
    """Check the request, load targets, limits and seed into the workspace, start the clock."""
    w = layout.view_workspace(ints, work)
    lower, upper, targets = w.lower, w.upper, w.targets
    for k in range(STATE_SIZE):
        counters[k] = 0
    counters[RANDOM] = FIRST_SEED
    w.scalars[BEST_ERROR] = math.inf
    now = clock.monotonic_ns(vector(counters, CLOCK, 2))
    counters[STOP] = now + timeout_ns if timeout_ns > 0 else NEVER
    counters[OPTIMISE_STOP] = min(counters[STOP], now + np.int64(options[OPTIMISE_NS]))
    for k in range(w.reference.shape[0]):
        if not abs(w.reference[k]) <= joint_values.LARGEST:
            return BAD_STATE
    nv = lower.shape[0]
    for v in range(nv):
        lower[v] = options[OPTIONS + v]
        upper[v] = options[OPTIONS + nv + v]
    variable_i = layout.view_tables(ints, reals).variable_i
    if not normalise_balls(variable_i, w.reference):
        return BAD_STATE
    steps.clamp_seed(variable_i, lower, upper, w.reference, w.state)
    vectors.copy(w.best, w.state)
    for t in range(targets.shape[0]):
        if not se3.is_rigid(w.matrices, 4 * t, options[RIGID]):
            return BAD_TARGET
        se3.from_matrix(targets[t], w.matrices, 4 * t)
        se3.orthonormalise(targets[t])
    if options[KEEPS_LOOKING] == 0.0 and (
        out_of_reach(ints, reals, options, targets) or beyond_hull(ints, reals, options, targets)
    ):
        w.scalars[BEST_ERROR], _ = measure(ints, reals, options, work, w.state)
        return OUT_OF_REACH
    return RUNNING


@kernel
def normalise_balls(variable_i, q):
    """Bring the quaternions of a state to unit length in place; return False when one has no direction."""
    for v in range(variable_i.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] == layout.BALL_FIRST:
            at = variable_i[v, layout.VARIABLE_Q]
            length = math.sqrt(steps.squared_norm(q[at : at + 4]))
            if length < SHORTEST_QUATERNION:
                return False
            for k in range(4):
                q[at + k] /= length
    return True


@kernel
def out_of_reach(ints, reals, options, targets):
    """Return whether a target lies further from the first joint than the links are long: a proof."""
    t = layout.view_tables(ints, reals)
    tolerances = OPTIONS + 2 * ints[layout.VARIABLES]
    for c in range(ints[layout.CONSTRAINTS]):
        reach = t.constraint_f[c, layout.CONSTRAINT_REACH]
        target = t.constraint_i[c, layout.CONSTRAINT_TARGET]
        if math.isfinite(reach) and target >= 0:
            total = 0.0
            for k in range(3):
                d = targets[target, 9 + k] - t.constraint_f[c, layout.CONSTRAINT_REACH_CENTRE + k]
                total += d * d
            if math.sqrt(total) > reach + options[tolerances + c]:
                return True
    return False


@kernel
def beyond_hull(ints, reals, options, targets):
    """Return whether a target is outside of what the chain can reach, by the hull of that: a proof."""
    t = layout.view_tables(ints, reals)
    tolerances = OPTIONS + 2 * ints[layout.VARIABLES]
    for c in range(ints[layout.CONSTRAINTS]):
        count = int(t.constraint_f[c, layout.CONSTRAINT_HULL_COUNT])
        if count > 0:
            at_hulls = int(t.constraint_f[c, layout.CONSTRAINT_HULLS])
            hulls = vector(reals, at_hulls, count * reach_hull.BLOCK)
            slack = options[tolerances + c]
            target = targets[t.constraint_i[c, layout.CONSTRAINT_TARGET]]
            if reach_hull.refuses(hulls, count, target, slack, slack):
                return True
    return False


@kernel
def run(ints, reals, options, cancel, counters, work, out):
    """Go from start to start until something is to be said."""
    w = layout.view_workspace(ints, work)
    wanted = out.shape[0] - 1
    optimise = options[OPTIMISE] != 0.0
    nv = ints[layout.VARIABLES]
    variable_i = layout.view_tables(ints, reals).variable_i
    while True:
        if not optimise and counters[COUNT] >= wanted:
            return FOUND
        if counters[SEARCHES] >= options[MAX_SEARCHES]:
            return FOUND if counters[COUNT] > 0 else EXHAUSTED
        if counters[SEARCHES] == 1:
            counters[UNSAMPLED_VARIABLE] = restarts.can_sample(variable_i, w.lower, w.upper)
            if counters[UNSAMPLED_VARIABLE] >= 0:
                return FOUND if counters[COUNT] > 0 else UNSAMPLED
        free_run = counters[SEARCHES] % FREE_EVERY == FREE_EVERY - 1
        place_start(ints, reals, optimise, free_run, counters, work)
        code = descend(ints, reals, options, not free_run, cancel, counters, work)
        if code == DEADLINE or code == CANCELLED:
            counters[CLOCK_ENDED] = 1
            return FOUND if counters[COUNT] > 0 else code
        if code == RUNNING and settle(ints, reals, options, counters, work):
            if wanted > 1 or options[VALIDATED] != 0.0:
                polish(ints, reals, options, work)
            if optimise and ints[layout.ROWS] < nv:
                pull_to_seed(ints, reals, options, cancel, counters, work)
            if stage(ints, reals, options, optimise, counters, work, out):
                if options[VALIDATED] != 0.0:
                    return CANDIDATE
                insert(counters, out)


@kernel
def place_start(ints, reals, optimise, free, counters, work):
    """Write the next start into the state; the first one, the seed, is there already."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    if counters[SEARCHES] > 0:
        spread = 1.0
        if optimise and counters[COUNT] > 0 and counters[SEARCHES] % 2 == 1:
            spread = min(1.0, NEAR_SPREAD + NEAR_GROWTH * counters[SEARCHES])
        random = counters[RANDOM : RANDOM + 1].view(np.uint64)
        restarts.draw(variable_i, w.lower, w.upper, w.reference, spread, free, random, w.state)
    counters[SEARCHES] += 1


@kernel
def is_over(counters, cancel, optimise):
    """Return DEADLINE, CANCELLED or RUNNING; an optimisation that has an answer has its own deadline."""
    if cancel[0] != 0:
        return CANCELLED
    stop = counters[OPTIMISE_STOP] if optimise and counters[COUNT] > 0 else counters[STOP]
    if clock.monotonic_ns(vector(counters, CLOCK, 2)) >= stop:
        return DEADLINE
    return RUNNING


@kernel
def measure(ints, reals, options, work, q):
    """
    Write residual, Jacobian and errors at a configuration.

    :returns: norm of the residual, and whether every constraint is within its tolerance.
    """
    w = layout.view_workspace(ints, work)
    rows.evaluate(ints, reals, work, q, False)
    nv = ints[layout.VARIABLES]
    inside = True
    for c in range(w.errors.shape[0]):
        tolerance = options[OPTIONS + 2 * nv + c]
        square = w.errors[c, 0] * w.errors[c, 0] + w.errors[c, 1] * w.errors[c, 1]
        inside = inside and square <= tolerance * tolerance
    return math.sqrt(steps.squared_norm(w.residual)), inside


@kernel
def descend(ints, reals, options, limited, cancel, counters, work):
    """
    Step from the state towards the targets.

    :returns: RUNNING when the state meets every tolerance, EXHAUSTED when the start was given up, or why it was ended.
    """
    w = layout.view_workspace(ints, work)
    patient = counters[SEARCHES] > PATIENT_AFTER and counters[SEARCHES] % PATIENT_EVERY == 1
    progress = PATIENT_PROGRESS if patient else PROGRESS
    before = math.inf
    iteration = 0
    while True:
        code = is_over(counters, cancel, options[OPTIMISE] != 0.0)
        if code != RUNNING:
            return code
        error, inside = measure(ints, reals, options, work, w.state)
        if limited and error < w.scalars[BEST_ERROR]:
            w.scalars[BEST_ERROR] = error
            vectors.copy(w.best, w.state)
        if inside:
            return RUNNING
        if iteration >= options[MAX_ITERATIONS] or not math.isfinite(error):
            return EXHAUSTED
        if iteration % PROGRESS_STEPS == 0:
            if error > progress * before:
                counters[STALLED] += 1
                return EXHAUSTED
            before = error
        take_step(ints, reals, options, work, error, limited)
        iteration += 1
        counters[ITERATIONS] += 1


@inline_kernel
def damping_factor(error):
    """Return the factor on the given damping at an error norm; step 2 of the method."""
    bounded = min(error, LARGEST_ERROR)
    return min(1.0, error / FADE) + ERROR_DAMPING * bounded * bounded


@kernel
def take_step(ints, reals, options, work, error, limited):
    """Move the state by one damped step; steps 2 to 4 of the method."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    damping = options[DAMPING] * damping_factor(error)
    steps.limited_step(ints, reals, work, damping, limited)
    scale = options[MULTIPLIER]
    if error < options[THRESHOLD]:
        scale += (1.0 - scale) * (1.0 - error / options[THRESHOLD])
    steps.advance(variable_i, w.lower, w.upper, limited, scale, w.step, w.state)


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
    if not inside_limits:
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
    before, _ = measure(ints, reals, options, work, w.state)
    for _ in range(POLISH_STEPS):
        vectors.copy(w.trial, w.state)
        take_step(ints, reals, options, work, before, True)
        error, inside = measure(ints, reals, options, work, w.state)
        if not inside or error > POLISH_GAIN * before:
            vectors.copy(w.state, w.trial)
            measure(ints, reals, options, work, w.state)
            return
        before = error


@kernel
def squared_distance(ints, reals, work, q):
    """Return the squared joint distance of a configuration to the seed (by plain or wrapped difference)."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    steps.difference_to(variable_i, w.lower, w.upper, w.reference, q, w.gradient)
    return steps.squared_norm(w.gradient)


@kernel
def pull_to_seed(ints, reals, options, cancel, counters, work):
    """
    Move a solution within the null space towards the seed; the state ends as the nearest verified one.

    The step is the Newton correction of the targets plus the projected pull; a last few corrections alone bring the
    arrival back within tolerance.
    """
    w = layout.view_workspace(ints, work)
    state, trial = w.state, w.trial
    vectors.copy(trial, state)
    nearest = squared_distance(ints, reals, work, trial)
    before = nearest
    closing = 0
    iteration = 0
    while iteration < options[MAX_ITERATIONS] and is_over(counters, cancel, True) == RUNNING:
        distance = squared_distance(ints, reals, work, state)
        error, inside = measure(ints, reals, options, work, state)
        if inside and distance < nearest and within_limits(ints, reals, work, state):
            nearest = distance
            vectors.copy(trial, state)
        settled = iteration > 0 and abs(before - distance) <= SETTLED * options[GAIN] * before
        before = distance
        if (settled or closing > 0) and (inside or closing >= CLOSING_STEPS):
            break
        if settled or closing > 0:
            closing += 1
            take_step(ints, reals, options, work, error, True)
        else:
            pulled_step(ints, reals, options, work, error)
        iteration += 1
        counters[ITERATIONS] += 1
    vectors.copy(state, trial)
    measure(ints, reals, options, work, state)


@kernel
def pulled_step(ints, reals, options, work, error):
    """Move the state by a Newton correction plus a pull towards the seed; expects the way there in ``gradient``."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    gradient = w.gradient
    largest = 0.0
    for v in range(gradient.shape[0]):
        gradient[v] *= options[GAIN]
        if steps.pushes_out(variable_i, v, w.state, w.lower, w.upper, gradient[v]):
            gradient[v] = 0.0
        largest = max(largest, abs(gradient[v]))
    if largest > LARGEST_PULL:
        for v in range(gradient.shape[0]):
            gradient[v] *= LARGEST_PULL / largest
    damping = options[DAMPING] * damping_factor(error)
    steps.limited_step(ints, reals, work, damping, True)
    steps.add_null_space_pull(w.jacobian, w.normal, w.right, gradient, w.free, w.step)
    steps.advance(variable_i, w.lower, w.upper, True, 1.0, w.step, w.state)


@kernel
def within_limits(ints, reals, work, q):
    """Return whether every joint lies in its closed interval."""
    w = layout.view_workspace(ints, work)
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(w.lower.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            value = q[variable_i[v, layout.VARIABLE_Q]]
            if not w.lower[v] <= value <= w.upper[v]:
                return False
    return True


@kernel
def stage(ints, reals, options, optimise, counters, work, out):
    """
    Write the state, which the last measurement verified, into the candidate row of ``out``.

    :returns: False when it is one of the solutions already there, or, while optimising, no nearer than they are.
    """
    w = layout.view_workspace(ints, work)
    state, errors = w.state, w.errors
    nq = state.shape[0]
    constraints = errors.shape[0]
    row = out.shape[0] - 1
    distance = squared_distance(ints, reals, work, state)
    count = counters[COUNT]
    if optimise and count == row and distance >= out[count - 1, nq + 2 * constraints + 1]:
        return False
    for k in range(count):
        if is_same(ints, reals, out[k], state, options[SAME]):
            return False
    for k in range(min(counters[REFUSALS], layout.REFUSED_ROWS)):
        if is_same(ints, reals, w.refused[k], state, options[SAME]):
            return False
    for i in range(nq):
        out[row, i] = state[i]
    total = 0.0
    for c in range(constraints):
        out[row, nq + 2 * c] = errors[c, 0]
        out[row, nq + 2 * c + 1] = errors[c, 1]
        total += errors[c, 0] * errors[c, 0] + errors[c, 1] * errors[c, 1]
    out[row, nq + 2 * constraints] = math.sqrt(total)
    out[row, nq + 2 * constraints + 1] = distance
    return True


@kernel
def is_same(ints, reals, a, b, tolerance):
    """Return whether two configurations agree in every joint, full turns apart included."""
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(variable_i.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_FIRST:
            product = 0.0
            for k in range(4):
                product += a[at + k] * b[at + k]
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
def insert(counters, out):
    """Take the candidate row into the solutions, which stay sorted by distance; the farthest one may fall out."""
    last = out.shape[0] - 1
    width = out.shape[1]
    k = min(counters[COUNT], last - 1)
    while k > 0 and out[k - 1, width - 1] > out[last, width - 1]:
        for i in range(width):
            out[k, i] = out[k - 1, i]
        k -= 1
    for i in range(width):
        out[k, i] = out[last, i]
    counters[COUNT] = min(counters[COUNT] + 1, last)
