"""
Find the branches of one pose by elimination, for chains without special structure or close to a chain with structure.

:func:`search` is the kernel, :func:`make_scratch` returns its scratch. If the chain is close to a chain with a closed
form, the closed form comes first. The elimination follows only if a doubt is left.

This is a separate module, because the elimination is much machine code and few arms need it. With seven joints, six are
solved at each value of the held joint; the constants of this chain are computed for each value.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import kernel, matrix, vector
from ssik_ros.kernels.closed_form.branches import search as common
from ssik_ros.kernels.closed_form.certification import certify, nearby_branches, ranking
from ssik_ros.kernels.closed_form.certification.chain import write_motion
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.closed_form.elimination import closed_loop, general_6r
from ssik_ros.kernels.closed_form.elimination.loop_workspace import (
    CERTAIN,
    DOUBTFUL_TARGET,
    MULTIPLE,
    NEARLY_COMPLEX,
    ROWS,
    W_COUNT,
    W_DOUBT,
    W_FOUND,
    W_LARGEST,
    WORKSPACE,
)
from ssik_ros.kernels.closed_form.singular import singular_postures
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.so3 import wrap_to_pi
from ssik_ros.kernels.geometry.vectors import copy, put
from ssik_ros.kernels.rows.views import Floats, Memory

STANDS_STILL = 1e-3
"""Largest angle of an added joint that counts as zero; the certification on the real joints decides [rad]."""
CURVE_REFERENCE = 0.1
"""Without a seed, the wanted point of a curve is near this value of each joint [rad]. At zero, curves often cross."""
LITTLE_ASIDE = 1e-6
"""With a seed, the wanted point is shifted by this times the joint's number, to break ties [rad]."""
MOST_JOINTS = 7
ALL_OF_CLASS = 8
"""Number of branches that the classes of nearby chains have for one value of the held joint."""


class LoopWork(NamedTuple):
    """
    Scratch of :func:`search` for n joints: the workspace of the elimination, and arrays for doubtful candidates.

    :func:`_settle` refines doubtful candidates to exact solutions.
    """

    loop: Annotated[Floats, WORKSPACE]
    """Workspace of :mod:`general_6r`, which gets the whole array."""
    lower: Annotated[Floats, 'n']
    """Lower limits, infinite if limits do not count."""
    upper: Annotated[Floats, 'n']
    """Upper limits."""
    wish: Annotated[Floats, 'n']
    """Reference posture."""
    rows: Annotated[Floats, ROWS, 'n']
    """Candidates of the chain's joints."""
    singular: Annotated[Floats, 'singular_postures.scratch_size(n)']
    """Scratch of :mod:`singular_postures`."""


LOOP_WORK = Memory(LoopWork, 'n', globals())
loop_size = LOOP_WORK.size('loop_size')
_view = LOOP_WORK.kernel('_view')


@kernel
def search(
    out,
    counters,
    ints,
    reals,
    samples,
    matrix_t,
    seed,
    options,
    work,
    constants,
    six,
    loop_work,
    loop_ints,
):
    """
    Write the solutions of one pose, best first; return their number, -1 if the pose is not a rigid transform.

    The best is the nearest to the seed; without a seed, the order is arbitrary. The number is 0 with counter PROVED at
    1 if the pose is proved to be out of reach. Counter DOUBT tells whether solutions may be missing.

    :param out, counters, ints, reals, samples, matrix_t, seed, options, work: solutions, counters, plan of the arm,
        values of the held joint, target pose, seed, options and scratch, as for
        :func:`ssik_ros.kernels.closed_form.branches.search.search`.
    :param constants: (CONSTANTS,) constants of the elimination, from :func:`general_6r.prepare`; overwritten if a joint
        is held.
    :param six, loop_work, loop_ints: scratch of the elimination, from :func:`make_scratch`.
    """
    run = common.BranchRun(counters, ints, reals, seed, options, work, out.shape[0])
    if not common.begin(run, matrix_t):
        return -1
    if common.is_refused(run):
        return 0
    n, held = ints[common.N], ints[common.HELD]
    axes, points, _ = common.chain_of(run)
    parts = common.work_of(run)
    g, raw, scratch = parts.g, parts.candidates, parts.class_scratch
    own_axes = vector(scratch, candidates.AT_AXES, 18)
    own_points = vector(scratch, candidates.AT_POINTS, 18)
    moved, back = vector(scratch, candidates.AT_MOVED, 12), vector(scratch, candidates.AT_BACK, 12)
    own_g = vector(scratch, candidates.AT_TARGET, 12)
    count = 0
    for sample in range(samples.shape[0]):
        value, first = samples[sample], counters[common.KEPT]
        if ints[common.KIND] != candidates.GENERAL and _keep_nearby(run, value):
            continue
        copy(own_g, g)
        if held >= 0:
            write_motion(moved, axes, points, ints[common.SLIDES], held, value)
            se3.invert(back, moved)
            se3.compose(own_g, g, back)
            candidates.write_six(own_axes, own_points, axes, points, n, held, moved, False)
            closed_loop.prepare_constants(
                constants, own_axes, own_points, ints[common.CUT], loop_work
            )
        count = general_6r.solve(six, constants, own_g, loop_work, loop_ints, False)
        count = _take_real_joints(raw, six, count, n, held, value)
        if loop_work[W_DOUBT] != CERTAIN:
            count = _settle(run, count, value, constants, six, own_g, loop_work, loop_ints)
        before = counters[common.BRANCHES]
        common.keep(run, count, first)
        branches = counters[common.BRANCHES] - before
        is_open = counters[common.DOUBT] == 0 and not loop_work[W_LARGEST] < general_6r.PROVING
        # Only the lack of solutions needs the confirmation, which takes as long as the search.
        if is_open and (
            counters[common.KEPT] > 0
            or not general_6r.is_confirmed(branches, constants, own_g, loop_work, loop_ints)
        ):
            counters[common.DOUBT] = common.UNLESS_MET
    written = common.finish(out, run)
    if counters[common.DOUBT] == common.UNLESS_MET:
        counters[common.DOUBT] = 0 if common.is_met(run) else 1
    common.note_doubt(run, count)
    return written


@kernel
def _keep_nearby(run, value):
    """
    Keep the solutions to which the closed form of the nearest chain of a class leads, after Newton steps.

    :param run: a :class:`search.BranchRun`.
    :param value: value of the held joint [rad]; ignored if no joint is held.
    :returns: True if no other branch is to be expected, so that no elimination is needed; see
        :func:`nearby_branches.are_all`.
    """
    n, ints, counters = run.ints[common.N], run.ints, run.counters
    before, first = counters[common.BRANCHES], counters[common.KEPT]
    near = run.options[common.RESIDUAL_OPTION]
    count = common.write_candidates(run, value)
    smallest = common.keep(run, count, first)
    # Fewer candidates come from a class that returns only real ones: they do not prove that there are no others.
    if count == ALL_OF_CLASS and smallest > near:
        return True
    if counters[common.BRANCHES] - before != ALL_OF_CLASS:
        return False
    axes, points, home = common.chain_of(run)
    slides, (free, _), work = (
        ints[common.SLIDES],
        common.joints_that_may_move(run),
        common.work_of(run),
    )
    raw, scratch = work.candidates, work.certification
    return nearby_branches.are_all(axes, points, home, n, slides, free, raw, count, near, scratch)


@kernel
def _settle(run, count, value, constants, six, g, loop_work, loop_ints):
    """
    Refine doubtful candidates of an elimination to exact solutions, each different one once; return their number.

    Singular solutions then do not depend on rounding. If all candidates are surely regular, they stay unrefined.
    Candidates of nearly complex roots may be computed again first. Counter DOUBT is set if solutions may still be
    missing.

    :param run: a :class:`search.BranchRun`, with the candidates in its scratch; solutions replace them.
    :param count: number of candidates.
    :param value: value of the held joint [rad].
    :param g: (12,) G, the motion that the six joints together must make.
    :param constants, six, loop_work, loop_ints: constants and scratch of the elimination, as for :func:`search`.
    """
    n, held, options = run.ints[common.N], run.ints[common.HELD], run.options
    raw = common.work_of(run).candidates
    room = _view(loop_work, n)
    lower, upper, wish, rows, scratch = room.lower, room.upper, room.wish, room.rows, room.singular
    least, most = common.limits_of(run)
    for k in range(n):
        is_free = int(options[common.MODE]) == ranking.KEEP_ALL
        lower[k] = -math.inf if is_free else least[k]
        upper[k] = math.inf if is_free else most[k]
        # Shift the reference a little: of two points at the same distance one must be nearer.
        if options[common.HAS_SEED] != 0.0:
            wish[k] = run.seed[k] + LITTLE_ASIDE * (k + 1)
        else:
            wish[k] = CURVE_REFERENCE * (1.0 + 0.37 * (k + 1))
    unit = constants[closed_loop.FIRST_CUT + closed_loop.AT_SCALE]
    free, moving = common.joints_that_may_move(run)
    aim = common.aim_at(run, free, moving, unit)
    doubt = loop_work[W_DOUBT]
    # Roots that lie together usually belong to regular solutions that share an angle.
    is_regular = doubt != DOUBTFUL_TARGET
    is_regular = is_regular and singular_postures.are_regular(raw, count, aim, scratch)
    if doubt == NEARLY_COMPLEX and not is_regular:
        count = general_6r.solve(six, constants, g, loop_work, loop_ints, True)
        count = _take_real_joints(raw, six, count, n, held, value)
        doubt = loop_work[W_DOUBT]
        is_regular = doubt == CERTAIN
        if doubt == MULTIPLE or doubt == NEARLY_COMPLEX:
            is_regular = singular_postures.are_regular(raw, count, aim, scratch)
    if is_regular:
        return count
    if doubt != DOUBTFUL_TARGET:
        general_6r.solve_beside(constants, g, loop_work, loop_ints)
    loop_candidates = matrix(loop_work, W_FOUND, ROWS, 7)
    count = _take_real_joints(rows, loop_candidates, int(loop_work[W_COUNT]), n, held, value)
    exact = certify.rounding(aim.target)
    choice = singular_postures.Choice(exact, options[common.ERROR_OPTION], lower, upper, wish)
    count = singular_postures.settle(raw, rows, count, aim, choice, scratch)
    is_regular = singular_postures.are_regular(raw, count, aim, scratch)
    if is_regular and count > 0 and doubt == MULTIPLE:
        return count
    # A root without a solution of its own may belong to a curve of postures, or to a fold, but seldom does.
    is_unsure = is_regular and doubt != DOUBTFUL_TARGET
    if is_unsure and general_6r.is_confirmed(count, constants, g, loop_work, loop_ints):
        return count
    if run.counters[common.DOUBT] != 1:
        run.counters[common.DOUBT] = common.UNLESS_MET if is_unsure else 1
    return count


@kernel
def _take_real_joints(raw, six, count, n, held, value):
    """
    Copy candidates of six joints to rows of the chain's joints; return their number.

    A held joint is inserted. A chain of fewer than six joints was solved with added joints at its end; candidates in
    which an added joint is not at zero are left out.

    :param raw: (count or more, n or more) out.
    :param six: (., 6 or more) candidates in the first ``count`` rows.
    :param count: number of candidates.
    :param n: number of joints of the chain.
    :param held, value: index of the held joint (-1 if no joint is held), and its value.
    """
    taken, joints = 0, min(n, 6)
    for row in range(count):
        is_real = True
        for k in range(joints, 6):
            is_real = is_real and abs(wrap_to_pi(six[row, k])) < STANDS_STILL
        if is_real:
            put(raw[taken], six[row], joints)
            taken += 1
    if n >= 6:
        candidates.put_in_order(raw, taken, n, held, value, False)
    return taken


def make_scratch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return new scratch arrays for :func:`search`, for chains of up to seven joints.

    They are ``six`` (16, 6), ``loop_work`` (floats) and ``loop_ints`` (int32).
    """
    _, loop_ints = general_6r.workspace()
    return np.empty((common.BRANCHES_OF_SIX, 6)), np.zeros(loop_size(MOST_JOINTS)), loop_ints
