"""
One start of a search: errors at a state, a step by the law, and steps until a solution or until the start is given up.

Method
    1. Errors are measured before the first step and after every step. Unless the start ignores limits, each step ends
       inside the limits (:func:`ssik_ros.kernels.rows.steps.bounded_step`). It is shortened to a largest joint step.
       PoseIK multiplies its step by a factor instead, which grows to one as the error shrinks. It holds joints only at
       limits that the step would cross.
    2. A start is given up after its number of steps. It is given up earlier if the squared error has not shrunk by a
       fixed factor in a few steps. After many failures every fourth start is patient, because descents to the edge of
       the workspace are slow. The only or last start of the Newton family is patient too.
    3. The Newton family also gives a start up if the linear model twice running predicts a decrease of the squared
       error by less than a fifth. The only start of a law with a given damping goes on in any case.
    4. If the damping does not fade with the error, the last five steps go without damping. So do five steps before a
       start is given up. Each of them has to halve the squared error.
    5. A tolerance decides which starts succeed, not how exact the solution is: steps with next to no damping follow
       from the solution (:func:`polish`), whatever the law. Control loops need this. If a seed within the tolerance
       were the solution, no step shorter than the tolerance would ever move the arm.

Degeneracies
    A plain inverse that does not exist ends the start. States that are not finite end the start and are never solutions.
    Near a singular posture or at a limit, a polish may not come closer. Then it tries damped steps, and otherwise leaves
    the solution within its tolerance.

Cost
    One forward pass, one Jacobian and at least one factorisation per step: O(N + m^2 n + m^3).
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import layout, rows, steps
from ssik_ros.kernels.search import clock, laws, serial, six_rows, state

HOPELESS = 0.8
"""If the linear model leaves at least this share of the squared error, a step counts as hopeless."""
HOPELESS_STEPS = 2
FINISH_STEPS = 5
"""Number of last steps of a start that go without damping, if the law's damping does not fade."""
FINISH_GAIN = 0.5
"""Factor by which each of these steps must shrink the squared error."""
POLISHED_ERROR = 1e-6
"""Largest error norm of a polished solution [m, rad]."""
SEED_POSE_ERROR = 1e-10
"""Error norm below which the seed is returned unchanged: its pose differs from the target only by rounding [m, rad]."""
LARGEST_POLISH = 0.2
"""Longest step of a revolute joint in a polish [rad]: near a singular posture a longer one leaves the branch."""
DAMPED_STEPS = 24
"""Most steps of a polish with damping."""
MORE_DAMPING, LESS_DAMPING = 30.0, 0.1
"""Factors on the damping of a polish after a step that did not help, and after one that did."""
MOST_DAMPING = 1e6
LEAST_SHRINK = 0.99
"""Factor by which a step with damping must shrink the squared error."""
PATIENT_EVERY = 4
PATIENT_AFTER = 16
PATIENT_PROGRESS = 0.998001
"""Value of PROGRESS in a patient start of PoseIK."""


@inline_kernel
def is_over(counters, cancel):
    """
    Return CANCELLED if the caller has cancelled a search, DEADLINE if its time is up, else RUNNING.

    Once a solution is stored, the deadline is STOP_WITH_SOLUTION, which may be earlier than STOP.

    :param counters: state of the search, with both deadlines [ns].

    :param cancel: (1,) int64, not zero if the caller cancels.
    """
    if cancel[0] != 0:
        return state.CANCELLED
    stop = counters[state.STOP if counters[state.COUNT] == 0 else state.STOP_WITH_SOLUTION]
    if stop == state.LAST_TIME or clock.monotonic_ns(vector(counters, state.CLOCK, 2)) < stop:
        return state.RUNNING
    return state.DEADLINE


@kernel
def measure(ints, reals, options, work, q):
    """
    Write residual, Jacobian and errors at a configuration into the workspace; return (square, inside).

    :param ints, reals, options, work: packed problem, options of the search, workspace.
    :param q: (nq,) the configuration.
    :returns: (square, inside): squared norm of the weighted residual; whether every error is within tolerance and the
        square below the option ERROR_SQUARED.
    """
    square, inside = look(ints, reals, options, work, q)
    if options[state.SERIAL] != 0.0:
        serial.fill_jacobian(ints, reals, work)
    return square, inside


@inline_kernel
def look(ints, reals, options, work, q):
    """
    Write residual and errors at a configuration into the workspace; return (square, inside).

    For a serial problem (an arm of revolute joints with one target), the Jacobian is missing, and
    :func:`serial.fill_jacobian` writes it later; for other problems it is written here.

    :param ints, reals, options, work: packed problem, options of the search, workspace.
    :param q: (nq,) the configuration.
    :returns: (square, inside): squared norm of the weighted residual; whether every error is within tolerance and the
        square below the option ERROR_SQUARED.
    """
    w = layout.view_workspace(ints, work)
    if options[state.SERIAL] != 0.0:
        serial.compare(ints, reals, work, q)
    else:
        rows.evaluate(ints, reals, work, q, False)
    square = steps.squared_norm(w.residual)
    inside = square < options[state.ERROR_SQUARED]
    largest = state.tolerances(ints, options)
    for c in range(ints[layout.CONSTRAINTS]):
        position, rotation = w.errors[c, 0], w.errors[c, 1]
        norm = largest[state.NORM, c]
        inside = inside and position * position + rotation * rotation <= norm * norm
        inside = inside and position <= largest[state.POSITION, c]
        inside = inside and rotation <= largest[state.ROTATION, c]
    return square, inside


@kernel
def within_limits(ints, reals, work, q):
    """Return whether every joint value of ``q`` (nq,) is within its limits, limits included; ball joints are not checked."""
    t, w = layout.view_problem(ints, reals, work)
    for v in range(w.lower.shape[0]):
        if t.variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            value = q[t.variable_i[v, layout.VARIABLE_Q]]
            if not w.lower[v] <= value <= w.upper[v]:
                return False
    return True


@inline_kernel
def patience(options, count):
    """
    Return (is patient, may give up, factor): how long a start of a search is continued without good progress.

    A patient start is not given up for slow progress. Other starts must shrink the squared error to ``factor`` times
    itself in PROGRESS_STEPS steps. PoseIK has no patient starts, but sometimes a factor near one. If ``may give up`` is
    True, any start also ends when the linear model twice running leaves more than HOPELESS of the squared error. With
    constant damping, it then first makes its last steps without damping.

    :param count: number of the start, from 1.
    """
    patient = count > PATIENT_AFTER and count % PATIENT_EVERY == 1
    progress = options[state.PROGRESS]
    if options[state.LAW] == laws.POSE_IK:
        return False, False, PATIENT_PROGRESS if patient else progress
    gives_up, most = options[state.GIVES_UP] != 0.0, options[state.MAX_SEARCHES]
    # With a given damping a short step promises little, even if the start is not stuck.
    is_trusted = most > 1.0 or options[state.LAW] == laws.ADAPTIVE
    return patient or count >= most or not gives_up, gives_up and is_trusted, progress


@kernel
def descend(ints, reals, options, limited, cancel, counters, work):
    """
    Run one start of a search: step from ``state`` towards the targets until they are reached or it is given up.

    ``best`` of the workspace gets the configuration with the smallest error that was seen within limits. The counter
    STALLED grows if the start was given up for slow progress, SINGULAR_SEEN if a plain inverse did not exist.

    :param ints, reals, options, counters, work: packed problem, options, counters and workspace of the search.
    :param cancel: (1,) int64, read at each step; not zero ends the search.
    :param limited: True keeps every step inside the limits.
    :returns: RUNNING if the state is within every tolerance, EXHAUSTED if the start was given up, else DEADLINE or
        CANCELLED.
    """
    w = layout.view_workspace(ints, work)
    is_newton = options[state.LAW] != laws.POSE_IK
    patient, gives_up, progress = patience(options, counters[state.SEARCHES])
    keeps = limited or options[state.LIMITED] == 0.0
    last = int(options[state.MAX_ITERATIONS])
    every = int(options[state.PROGRESS_STEPS])
    is_constant = options[state.CONSTANT] != 0.0
    # If the damping fades with the error, there is nothing to finish.
    finish = last - FINISH_STEPS if is_constant and last >= 2 * FINISH_STEPS else last + 1
    mu = options[state.GAIN]
    before, window, left = 0.0, math.inf, 0.0
    hopeless, iteration = 0, 0
    while True:
        code = is_over(counters, cancel)
        if code != state.RUNNING:
            return code
        square, inside = look(ints, reals, options, work, w.state)
        if iteration == 0 and counters[state.SEARCHES] == 1:
            w.scalars[state.FIRST_SQUARE] = square
        if keeps and square < w.scalars[state.BEST_SQUARE]:
            w.scalars[state.BEST_SQUARE] = square
            vectors.copy(w.best, w.state)
        if inside:
            return state.RUNNING
        ends = iteration >= last or not math.isfinite(square)
        is_far = iteration == 0 and square > options[state.NEAR_SQUARED] > 0.0
        if is_far or (ends and not is_newton):
            return state.EXHAUSTED
        if iteration > finish and not square <= FINISH_GAIN * before:
            counters[state.STALLED] += 1
            return state.EXHAUSTED
        if iteration % every == 0 or ends:
            stalled = not square <= progress * window
            finishes = is_constant and not ends
            counters[state.STALLED] += 1 if stalled and (ends or not (patient or finishes)) else 0
            if ends or (stalled and not patient and not finishes):
                return state.EXHAUSTED
            if stalled and not patient and iteration < finish:
                finish, last = iteration, min(last, iteration + FINISH_STEPS)
            window = square
        if iteration > 0:
            mu = laws.follow(mu, before, left, square)
        before = square
        left = step_on(ints, reals, options, work, square, mu, limited, iteration >= finish)
        iteration += 1
        counters[state.ITERATIONS] += 1
        hopeless = hopeless + 1 if left > HOPELESS * square else 0
        if left < 0.0:
            counters[state.SINGULAR_SEEN] += 1
            return state.EXHAUSTED
        if hopeless >= HOPELESS_STEPS and gives_up and iteration < finish:
            if not is_constant:
                counters[state.STALLED] += 1
                return state.EXHAUSTED
            finish, last = iteration, min(last, iteration + FINISH_STEPS)


@kernel
def take_step(ints, reals, options, work, square, mu, limited):
    """
    Move the state by one step with the damping that the law of the search chooses; the new state is not measured.

    :param square: squared norm of the weighted residual at the state, which must be measured with its Jacobian.
    :param mu: factor on the damping of the adaptive law.
    :param limited: True keeps the step inside the limits.
    :returns: squared error that the linear model predicts after the step (0 for PoseIK); -1 if the law needs a plain
        inverse and the Jacobian is singular, so that no step was made.
    """
    return step_on(ints, reals, options, work, square, mu, limited, False)


@inline_kernel
def step_on(ints, reals, options, work, square, mu, limited, finishing):
    """
    Move the state, which :func:`look` has measured, by one step of the search's law; the new state is not measured.

    :param square: squared norm of the weighted residual at the state.
    :param mu: factor on the damping of the adaptive law.
    :param limited: True keeps the step inside the limits.
    :param finishing: True leaves out the law's damping, for the last steps of a start.
    :returns: squared error that the linear model predicts after the step (0 for PoseIK); -1 if the law needs a plain
        inverse and the Jacobian is singular, so that no step was made.
    """
    if options[state.LAW] == laws.POSE_IK:
        take_scaled_step(ints, reals, options, work, square, limited)
        return 0.0
    damping = laws.SINGULAR_DAMPING if finishing else damping_of(options, mu, square)
    return take_damped_step(
        ints, reals, options, work, damping, options[state.LARGEST_STEP], limited
    )


@inline_kernel
def damping_of(options, mu, square):
    """
    Return the damping that the law of a search adds to the diagonal of the normal equations.

    :param options: of the search, with its law and gains.
    :param mu: factor on the damping of the adaptive law.
    :param square: squared norm of the weighted residual at the state.
    """
    law, gain, damping = options[state.LAW], options[state.GAIN], options[state.OWN_DAMPING]
    return laws.damping_of(law, gain, damping, mu, square)


@inline_kernel
def take_damped_step(ints, reals, options, work, damping, largest, limited):
    """
    Move the state, which :func:`look` has measured, by one damped step; the new state is not measured.

    :param damping: added to the diagonal of the normal equations.
    :param largest: longest step of a revolute joint [rad].
    :param limited: True keeps the step inside the limits.
    :returns: squared error that the linear model predicts after the step; -1 if the law needs a plain inverse and the
        Jacobian is singular, so that no step was made.
    """
    w, scales = layout.view_workspace(ints, work), state.joint_scales(ints, options)
    if options[state.SERIAL] != 0.0:
        serial.fill_jacobian(ints, reals, work)
    if options[state.SERIAL] != 0.0 and ints[layout.VARIABLES] >= six_rows.ROWS:
        left = six_rows.bounded_step(ints, reals, work, damping, limited, scales, largest)
    else:
        left = steps.bounded_step(ints, reals, work, damping, limited, scales, largest)
    if options[state.PLAIN_INVERSE] != 0.0 and laws.is_singular(w.normal, w.free):
        return -1.0
    variable_i = layout.view_tables(ints, reals).variable_i
    steps.advance(variable_i, w.lower, w.upper, limited, 1.0, w.step, w.state)
    return left


@kernel
def take_scaled_step(ints, reals, options, work, square, limited):
    """
    Move the state by PoseIK's step: a damped step times a factor that grows to one near the targets.

    Far from the targets the factor is the option MULTIPLIER.

    :param square: squared norm of the weighted residual at the state, which must be measured with its Jacobian.
    :param limited: True keeps the step inside the limits.
    """
    t, w = layout.view_problem(ints, reals, work)
    damping = laws.damping_of(laws.POSE_IK, options[state.GAIN], 0.0, 0.0, square)
    steps.limited_step(ints, reals, work, damping, limited)
    error, scale = math.sqrt(square), options[state.MULTIPLIER]
    if error < options[state.THRESHOLD]:
        scale += (1.0 - scale) * (1.0 - error / options[state.THRESHOLD])
    steps.advance(t.variable_i, w.lower, w.upper, limited, scale, w.step, w.state)


@kernel
def polish(ints, reals, options, enough, work):
    """
    Improve a solution by nearly undamped steps as long as each shrinks the error well.

    If the errors are still above POLISHED_ERROR, damped steps follow. The state ends as the best one, measured. It may
    stay less exact, as near a singular posture.

    :param enough: norm of position and rotation error at which the polish ends [m, rad]; with 0, only a step that gains
        too little or the option POLISH_STEPS ends it.
    :param work: its state must be measured and within the tolerances.
    """
    w = layout.view_workspace(ints, work)
    before = steps.squared_norm(w.residual)
    for _ in range(int(options[state.POLISH_STEPS])):
        if is_exact(w.errors, enough):
            return
        square = try_step(ints, reals, options, work, laws.SMALLEST_MU, before)
        if not square <= options[state.POLISH_GAIN] * before:
            take_back(ints, reals, options, work)
            break
        before = square
    if not is_exact(w.errors, POLISHED_ERROR):
        polish_with_damping(ints, reals, options, work, before)


@kernel
def polish_with_damping(ints, reals, options, work, before):
    """
    Improve a solution by damped steps as long as they shrink the error; for solutions near a singular posture.

    Undamped steps are too long there. The state ends as the best one, measured; it need not reach POLISHED_ERROR.

    :param before: squared norm of the weighted residual at the state.
    """
    w = layout.view_workspace(ints, work)
    mu = laws.LARGEST_MU
    for _ in range(DAMPED_STEPS):
        square = try_step(ints, reals, options, work, mu, before)
        if not square <= LEAST_SHRINK * before:
            take_back(ints, reals, options, work)
            mu *= MORE_DAMPING
            if mu > MOST_DAMPING:
                return
            continue
        before = square
        mu *= LESS_DAMPING
        if is_exact(w.errors, POLISHED_ERROR):
            return


@inline_kernel
def try_step(ints, reals, options, work, mu, before):
    """
    Move the state by a damped step of at most LARGEST_POLISH and measure it; ``trial`` gets the state before.

    :param mu: factor on the damping of the adaptive law.
    :param before: squared norm of the weighted residual before the step.
    :returns: the same after the step; infinite if it has not become smaller or an error is outside its tolerance.
    """
    w, limited = layout.view_workspace(ints, work), options[state.LIMITED] != 0.0
    vectors.copy(w.trial, w.state)
    damping = laws.damping_of(laws.ADAPTIVE, 0.0, 0.0, mu, before)
    take_damped_step(ints, reals, options, work, damping, LARGEST_POLISH, limited)
    square, inside = look(ints, reals, options, work, w.state)
    return square if inside and square < before else math.inf


@inline_kernel
def take_back(ints, reals, options, work):
    """Undo a step of :func:`try_step`: copy ``trial`` back to the state, and measure the state again."""
    w = layout.view_workspace(ints, work)
    vectors.copy(w.state, w.trial)
    look(ints, reals, options, work, w.state)


@inline_kernel
def is_exact(errors, enough):
    """
    Return whether, for every constraint, the norm of position and rotation error together is at most ``enough``.

    :param errors: (c, 2) position [m] and rotation error [rad] of each constraint.
    :param enough: largest norm [m, rad].
    """
    for c in range(errors.shape[0]):
        if errors[c, 0] * errors[c, 0] + errors[c, 1] * errors[c, 1] > enough * enough:
            return False
    return True
