"""
Find candidates for the postures of a chain of six revolute joints that reach a pose, by elimination.

Problem
-------
E_1(q_1) ... E_6(q_6) = G. E_i is the rotation about axis i, and G = T M^-1, with the target T and the pose M of the tip
at zero.

Solutions
---------
At most sixteen candidates, close to exact; the caller has to certify them on the chain. If solutions share the angle of
joint k, where the loop is cut, they are still distinguished. W_DOUBT of the workspace tells whether solutions may be
missing.

Method
------
1. Write the chain as a loop Rz(q_0) B_0 .. Rz(q_5) B_5 = I and cut it at a joint k.
2. Eliminate five joints. A real eigenvalue problem of size at most 16 in tan(q_k / 2) remains, already without its
   spurious roots.
3. At each real root take the null vector of twelve equations and read two joints from it. A linear system gives two
   more joints, and the closed loop gives the last one.
4. If a root has no candidate, use more robust roots, then another cut, then slightly moved targets.
5. If roots are still in doubt, the caller counts the solutions with another cut by :func:`is_confirmed`.

Degeneracies
------------
A cut may be singular for a whole family of arms, so :func:`choose_start` tries all twelve. A chain for which none of
them is suitable cannot be solved. If a chain has infinitely many solutions for a target, they have no isolated roots.
Then the result has some of them, or is empty.

Cost
----
Two small orthogonal factorisations, an elimination of 12 equations, eigenvalues of a 16x16 matrix, and a factorisation
of 12 equations for each real root.

References
----------
[Raghavan1993], [Manocha1994]
"""

from collections.abc import Callable
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.elimination import elimination as el
from ssik_ros.kernels.closed_form.elimination.closed_loop import (
    AT_ELIMINATION,
    AT_FIXED,
    AT_JOINT,
    AT_REVERSED,
    AT_SCALE,
    close_loop,
    CONSTANTS,
    CUT,
    CUTS,
    FIRST_CUT,
    prepare_constants,
    prepare_cut,
    SECOND_CUT,
)
from ssik_ros.kernels.closed_form.elimination.loop_workspace import (
    CERTAIN,
    DOUBTFUL_TARGET,
    INTS,
    JOINTS,
    MULTIPLE,
    PENCIL,
    ROWS,
    W_BETA,
    W_COSINE,
    W_COUNT,
    W_DOUBT,
    W_ELIMINATION,
    W_FOUND,
    W_IMAGINARY,
    W_INVERSES,
    W_LARGEST,
    W_LOOP,
    W_MATRIX,
    W_MIXED_COSINE,
    W_MIXED_ONE,
    W_MIXED_SINE,
    W_MULTIPLE,
    W_NUDGED,
    W_ONE,
    W_PENCIL,
    W_REAL,
    W_ROOTS,
    W_SCRATCH,
    W_SINE,
    W_SPARE,
    WORKSPACE,
)
from ssik_ros.kernels.closed_form.elimination.root_candidates import (
    add_candidates,
    DOUBTFUL_MISS,
    JOINED,
)
from ssik_ros.kernels.geometry.se3 import compose
from ssik_ros.kernels.geometry.so3 import wrap_to_pi
from ssik_ros.kernels.geometry.vectors import copy, fill, rotate
from ssik_ros.kernels.rows.eigenvalues import eigenvalues, SCRATCH_ROWS
from ssik_ros.kernels.rows.pencil_eigenvalues import generalised_eigenvalues

CANDIDATE_ROWS = 16
"""Most candidates that are kept."""
NUDGE = 3e-3
"""Motion of a target if nothing else removes a doubt, in link lengths and radians."""
NEARER = 3e-4
"""Smaller motion of a target, for nearly singular solutions, which the larger motion loses."""
NUDGE_AXIS = (0.48, -0.6, 0.64)
NUDGE_SHIFT = (0.6, 0.64, -0.48)
"""Directions of the motion, unit vectors."""
NUDGED_TARGETS = 6
"""Number of moved targets that are solved for a target in doubt."""

NEARLY_REAL = 1e-3
"""Largest imaginary part of tan of a real root, relative to 1 + |tan|^2."""
SPLIT_BY_ROUNDING, MOST_NEARLY_REAL = 2e-7, 0.05
"""Rounding may split two roots that coincide: NEARLY_REAL per largest entry of the eigenvalue problem, and at most."""
SURELY_REAL = 1e-5
"""Like NEARLY_REAL, for roots that must have a solution. Others may belong to a pair that has just become complex."""
GOOD_ENTRY = 100.0
"""Largest entry of the eigenvalue problem of an origin that is used at once [1]."""
DOUBTFUL_ENTRY = 1e6
"""Entry of the eigenvalue problem above which the eigenvalues are in doubt [1]."""
PROVING = 3e5
"""If an entry is larger, missing solutions prove nothing, because the two roots of a fold may differ too much."""
TRUSTED = 1e4
"""If no entry is larger, a cut may prove that there are no roots, or remove the doubt of another cut."""
ORIGINS = 5
"""Number of origins of q_k that are tried, 1 rad apart."""


def workspace() -> tuple[Any, Any]:
    """Return (work, ints), new arrays of floats and of int32 integers, as :func:`solve` takes them."""
    return np.zeros(WORKSPACE), np.zeros(INTS, dtype=np.int32)


@kernel
def _choose_matrix(elimination, work):
    """
    Choose the origin of q_k, an angle [rad], and write the eigenvalue problem's matrix for it to ``W_MATRIX``.

    A root q_k is an angle of joint k, where the loop is cut, at which the loop can close. The eigenvalues are the
    tangents of (q_k - origin) / 2. ORIGINS origins are tried in turn. The first one whose matrix has only entries below
    GOOD_ENTRY is chosen, else the one whose matrix has the smallest largest entry.

    :param elimination: the :class:`Elimination`; the mixed polynomials are in ``work``.
    :param work: the float workspace; W_SPARE and W_SCRATCH are overwritten.
    :returns: (size, origin, largest): size of the matrix (0 if no origin has one), the origin [rad], and the largest
        entry (infinite without a matrix).
    """
    sine, cosine = matrix(work, W_MIXED_SINE, 6, 9), matrix(work, W_MIXED_COSINE, 6, 9)
    one = matrix(work, W_MIXED_ONE, 6, 9)
    scratch = vector(work, W_SCRATCH, el.SCRATCH)
    size, origin, best = 0, 0.0, math.inf
    for attempt in range(ORIGINS):
        q = 1.0 * attempt
        trial = vector(work, W_SPARE, 256)
        trial_size, largest = el.write_companion(
            trial, sine, cosine, one, elimination.counts, math.cos(q), math.sin(q), scratch
        )
        if largest < best:
            size, origin, best = trial_size, q, largest
            copy(vector(work, W_MATRIX, size * size), trial)
        if best < GOOD_ENTRY:
            break
    return size, origin, best


@inline_kernel
def _insert(out, count, q, part):
    """
    Insert a root into a list of ascending roots, and its imaginary part into a second list; return their new length.

    :param out: (32,) ``count`` roots [rad]; from 16 on their imaginary parts [rad], which are 0 for a ``part`` up to
        SURELY_REAL.
    :param count: number of roots in the lists before.
    :param q: the root, without its imaginary part [rad].
    :param part: absolute imaginary part of tan(q / 2), relative to 1 + |tan|^2: half the imaginary part of the root.
    """
    place = count
    while place > 0 and out[place - 1] > q:
        out[place] = out[place - 1]
        out[el.MOST_EIGENVALUES + place] = out[el.MOST_EIGENVALUES + place - 1]
        place -= 1
    out[place] = q
    out[el.MOST_EIGENVALUES + place] = 2.0 * part if part > SURELY_REAL else 0.0
    return count + 1


@kernel
def _write_roots(out, size, origin, largest, work):
    """
    Write the real and nearly real roots q_k of the problem at ``W_MATRIX`` in ascending order; return their number.

    A root q_k is an angle of joint k, where the loop is cut, at which the loop can close. The number is -1 if the
    eigenvalues do not converge.

    :param out: (32,) out: up to 16 roots [rad], then from 16 on their imaginary parts, 0 for a root that is surely
        real.
    :param size, origin: size of the eigenvalue problem, whose unknown is tan((q_k - origin) / 2); the origin [rad].
    :param largest: largest entry of the eigenvalue problem.
    :param work: the float workspace; the matrix is overwritten.
    """
    nearly_real = max(NEARLY_REAL, min(MOST_NEARLY_REAL, SPLIT_BY_ROUNDING * largest))
    real, imaginary = vector(work, W_REAL, PENCIL), vector(work, W_IMAGINARY, PENCIL)
    scratch = vector(work, W_SCRATCH, SCRATCH_ROWS * el.MOST_EIGENVALUES)
    if eigenvalues(real, imaginary, vector(work, W_MATRIX, 256), size, scratch) != 0:
        return -1
    count = 0
    for i in range(size):
        x, y = real[i], imaginary[i]
        square = 1.0 + x * x + y * y
        if abs(y) <= nearly_real * square:
            count = _insert(out, count, wrap_to_pi(origin + 2.0 * math.atan(x)), abs(y) / square)
    return count


@kernel
def _write_safe_roots(out, work):
    """
    Write the real and nearly real roots q_k, in ascending order, from a larger eigenvalue problem without inverse.

    A root q_k is an angle of joint k, where the loop is cut, at which the loop can close. The larger problem also has
    spurious roots. The first 16 that it gives, in no order, are kept, so that true roots may be lost.

    :param out: (32,) out: up to 16 roots [rad], then from 16 on their imaginary parts, 0 for a root that is surely
        real.
    :param work: the float workspace with the polynomials at W_SINE, W_COSINE and W_ONE.
    :returns: number of roots, -1 if the eigenvalues do not converge.
    """
    n = PENCIL
    a, b = vector(work, W_PENCIL, n * n), vector(work, W_PENCIL + n * n, n * n)
    fill(a, 0.0)
    fill(b, 0.0)
    # By columns: where the equations depend on each other, QZ steps keep infinite roots of this pencil, and lose those
    # of its transpose.
    upper, lower = matrix(work, W_PENCIL, n, n), matrix(work, W_PENCIL + n * n, n, n)
    sine, cosine = matrix(work, W_SINE, 6, 9), matrix(work, W_COSINE, 6, 9)
    one = matrix(work, W_ONE, 6, 9)
    for i in range(el.SIZE):
        upper[el.SIZE + i, i] = lower[i, i] = 1.0
        # The equation itself, then times x_a.
        shift = 3 if i % 2 == 0 else 0
        for j in range(el.PRODUCTS):
            s, c, fixed = sine[i // 2, j], cosine[i // 2, j], one[i // 2, j]
            upper[shift + j, el.SIZE + i] = -(fixed + c)
            upper[el.SIZE + shift + j, el.SIZE + i] = -2.0 * s
            lower[el.SIZE + shift + j, el.SIZE + i] = fixed - c
    real, imaginary = vector(work, W_REAL, n), vector(work, W_IMAGINARY, n)
    beta = vector(work, W_BETA, n)
    if generalised_eigenvalues(real, imaginary, beta, a, b, n) != 0:
        return -1
    count = 0
    for i in range(n):
        x, y, z = real[i], imaginary[i], beta[i]
        square = x * x + y * y + z * z
        if count < el.MOST_EIGENVALUES and abs(y) * z <= NEARLY_REAL * square:
            q = wrap_to_pi(2.0 * math.atan2(x, z))
            count = _insert(out, count, q, abs(y) * z / square)
    return count


@kernel
def _add_roots(candidates, begin, elimination, k, work, ints, is_careful):
    """
    Compute the roots of one cut and add their candidates; if this leaves a doubt, do the same with a larger problem.

    The miss of a candidate is the distance by which the loop does not close. A root is an angle of joint k at which the
    loop can close. The larger problem, see :func:`_write_safe_roots`, needs no inverse; its candidates may repeat the
    first ones. W_LARGEST and W_MULTIPLE of ``work`` are written.

    :param candidates: (ROWS, 7) out: six angles in the order of the loop [rad], then the miss; ``begin`` rows are
        filled.
    :param begin: number of filled rows.
    :param elimination, k: the :class:`Elimination`, and the joint of the roots, where the loop is cut.
    :param work, ints: workspace, from :func:`workspace`.
    :param is_careful: True leaves out roots that look nearly real but are surely complex; this takes time.
    :returns: (count, complete): new number of filled rows, and whether the surely real roots have enough candidates
        that reach the target, see :func:`add_candidates`. Without new candidates, it is True only if no entry of the
        small problem reaches TRUSTED. It is False if the larger problem is needed and its eigenvalues do not converge.
    """
    roots = vector(work, W_ROOTS, 2 * el.MOST_EIGENVALUES)
    size, origin, largest = _choose_matrix(elimination, work)
    work[W_LARGEST] = largest
    if size > 0 and largest < DOUBTFUL_ENTRY:
        total = _write_roots(roots, size, origin, largest, work)
        if total >= 0:
            count, complete = add_candidates(
                candidates, begin, roots, total, elimination, k, work, ints, is_careful
            )
            # Near symmetric targets real roots may be lost to rounding, all of them at once.
            if complete and (count > begin or largest < TRUSTED):
                return count, True
    total = _write_safe_roots(roots, work)
    if total < 0:
        return begin, False
    count, complete = add_candidates(
        candidates, begin, roots, total, elimination, k, work, ints, is_careful
    )
    # If the equations are singular for every angle, their roots are arbitrary, and the absence of roots proves nothing.
    return count, complete and count > begin


@kernel
def solve_cut(candidates, count, constants, g, work, ints, is_careful):
    """
    Add the candidates of a target that one cut of the loop gives, in the joint order of the chain.

    A root is an angle at which the loop of the chain, cut at one joint, can close.

    :param candidates: (ROWS, 7) out: six angles [rad], then the miss, the largest distance by which the loop does not
        close, in link lengths and radians.
    :param count: number of rows that are filled already.
    :param constants: (CUT,) constants of the cut, from :func:`closed_loop.prepare_cut`.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param work, ints: workspace, from :func:`workspace`.
    :param is_careful: True leaves out roots that look nearly real but are surely complex; this takes time.
    :returns: (count, certain): new number of filled rows, and whether this cut leaves no doubt that it has all
        candidates, see :func:`_add_roots`.
    """
    k = int(constants[AT_JOINT])
    close_loop(constants, g, work)
    scratch = vector(work, W_SCRATCH, el.SCRATCH)
    loop, inverses = matrix(work, W_LOOP, 6, 12), matrix(work, W_INVERSES, 6, 12)
    block = el.view_elimination(work, W_ELIMINATION)
    if constants[AT_FIXED] != 0.0:
        elimination = vector(work, W_ELIMINATION, el.ELIMINATION)
        copy(elimination, vector(constants, AT_ELIMINATION, el.ELIMINATION))
    else:
        el.eliminate(block, inverses, k, scratch)
    sine, cosine = matrix(work, W_SINE, 6, 9), matrix(work, W_COSINE, 6, 9)
    one = matrix(work, W_ONE, 6, 9)
    el.write_polynomials(sine, cosine, one, block, loop, k, scratch)
    el.mix_rows(matrix(work, W_MIXED_SINE, 6, 9), block.mix, sine)
    el.mix_rows(matrix(work, W_MIXED_COSINE, 6, 9), block.mix, cosine)
    el.mix_rows(matrix(work, W_MIXED_ONE, 6, 9), block.mix, one)
    begin = count
    count, certain = _add_roots(candidates, begin, block, k, work, ints, is_careful)
    if constants[AT_REVERSED] != 0.0:
        for row in range(begin, count):
            for j in range(3):
                candidates[row, j], candidates[row, 5 - j] = (
                    candidates[row, 5 - j],
                    candidates[row, j],
                )
    return count, certain and block.counts[3] == el.RANK


@inline_kernel
def _distance(candidates, i, j):
    """
    Return the largest difference of a joint between two candidates, modulo 2 pi [rad].

    :param candidates: (ROWS, 7) six angles [rad], then the miss.
    :param i, j: rows of both candidates.
    """
    distance = 0.0
    for joint in range(JOINTS):
        distance = max(distance, abs(wrap_to_pi(candidates[i, joint] - candidates[j, joint])))
    return distance


@kernel
def _write_merits(merits, candidates, count):
    """
    Write a number for each candidate by which the best sixteen are chosen; larger is better.

    The miss of a candidate is the distance by which the loop does not close. First come candidates with a miss below
    DOUBTFUL_MISS that differ from all candidates with a smaller miss. Then come others with a miss below twice NUDGE,
    then the rest. Within a group, a small miss and a large distance from candidates with a smaller miss count.

    :param merits: (ROWS,) out.
    :param candidates, count: (ROWS, 7) candidates with their miss, in the first ``count`` rows.
    """
    for i in range(count):
        nearest = math.pi
        for j in range(count):
            if candidates[j, 6] < candidates[i, 6] or (
                candidates[j, 6] == candidates[i, 6] and j < i
            ):
                nearest = min(nearest, _distance(candidates, i, j))
        miss = candidates[i, 6]
        merits[i] = nearest / (miss + NUDGE) + (1e4 if miss < 2.0 * NUDGE else 0.0)
        merits[i] += 1e8 if miss < DOUBTFUL_MISS and nearest > JOINED else 0.0


@kernel
def _copy_best(out, candidates, count, merits):
    """
    Write the best candidates, at most sixteen, in the order in which they were found; return their number.

    Up to sixteen candidates are all written. Of more, those with the largest numbers of :func:`_write_merits` are:
    first candidates that reach the target and differ from each other.

    :param out: (16, 6) out: angles in (-pi, pi].
    :param candidates, count: (ROWS, 7) candidates with their miss, in the first ``count`` rows.
    :param merits: (ROWS,) scratch.
    """
    if count > CANDIDATE_ROWS:
        _write_merits(merits, candidates, count)
    written = 0
    for i in range(count):
        better = 0
        if count > CANDIDATE_ROWS:
            for j in range(count):
                if merits[j] > merits[i] or (merits[j] == merits[i] and j < i):
                    better += 1
        if better < CANDIDATE_ROWS:
            for j in range(JOINTS):
                out[written, j] = wrap_to_pi(candidates[i, j])
            written += 1
    return written


@kernel
def _nudge(out, g, number, unit):
    """
    Write a target that is rotated and shifted a little in an arbitrary direction.

    :param out: (12,) out: rotation row by row, then translation.
    :param g: (12,) the target.
    :param number: which motion, 0 to 5. 0 and 1 go forth and back by NUDGE along the first direction, 2 and 3 along the
        second. 4 and 5 go along the first direction by the smaller motion NEARER.
    :param unit: length unit of the chain [m].
    """
    size = NEARER if number > 3 else NUDGE
    size = size if number % 2 == 0 else -size
    axis, shift = (NUDGE_SHIFT, NUDGE_AXIS) if number // 2 == 1 else (NUDGE_AXIS, NUDGE_SHIFT)
    for j in range(3):
        x, y, z = rotate(axis, size, (g[j], g[3 + j], g[6 + j]))
        out[j], out[3 + j], out[6 + j] = x, y, z
    for i in range(3):
        out[9 + i] = g[9 + i] + size * unit * shift[i]


@kernel
def solve(out, constants, g, work, ints, is_careful):
    """
    Write candidates for the postures that reach a target, not certified; return their number, at most 16.

    They come from roots, the angles at which the loop of the chain, cut at one joint, can close. Entry W_DOUBT of
    ``work`` tells whether a posture may be missing.

    :param out: (16, 6) out: joint angles in (-pi, pi].
    :param constants: (CONSTANTS,) of :func:`prepare_constants`.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param work, ints: workspace, from :func:`workspace`; W_DOUBT becomes CERTAIN, or a mark such as DOUBTFUL_TARGET.
    :param is_careful: True leaves out roots that look nearly real but are surely complex; this takes time.
    """
    candidates = matrix(work, W_FOUND, ROWS, JOINTS + 1)
    cut = vector(constants, FIRST_CUT, CUT)
    count, certain = solve_cut(candidates, 0, cut, g, work, ints, is_careful)
    doubt = work[W_MULTIPLE]
    if not certain and constants[0] > 1.0:
        # Another cut resolves a doubt: solutions share the angle of one joint, not of two.
        cut = vector(constants, SECOND_CUT, CUT)
        count, certain = solve_cut(candidates, count, cut, g, work, ints, is_careful)
        doubt = max(doubt, work[W_MULTIPLE])
        # Near symmetric targets every cut is nearly singular, so both may have lost the same solution.
        certain = certain and work[W_LARGEST] < TRUSTED
    work[W_DOUBT] = doubt
    work[W_COUNT] = count
    if not certain:
        work[W_DOUBT] = DOUBTFUL_TARGET
        solve_beside(constants, g, work, ints)
        count = int(work[W_COUNT])
    return _copy_best(out, candidates, count, vector(work, W_SCRATCH, ROWS))


@kernel
def is_confirmed(count, constants, g, work, ints):
    """
    Return whether a second cut proves that a target has no more solutions than the ``count`` that were found.

    Without a second cut this is False. A root is an angle of the joint where the loop is cut. A nearly complex root of
    one cut is seldom nearly complex in another, because the angles of other joints differ by more.

    :param count: number of different solutions that were found.
    :param constants, g, work, ints: constants of the chain, target and workspace, as for :func:`solve`. The rows at
        ``W_FOUND`` are overwritten.
    """
    if not constants[0] > 1.0:
        return False
    candidates = matrix(work, W_FOUND, ROWS, JOINTS + 1)
    rows, certain = solve_cut(
        candidates, 0, vector(constants, SECOND_CUT, CUT), g, work, ints, True
    )
    if not certain or work[W_MULTIPLE] > MULTIPLE or not work[W_LARGEST] < TRUSTED:
        return False
    closing = 0
    for row in range(rows):
        closing += 1 if candidates[row, 6] < DOUBTFUL_MISS else 0
    return closing <= count


@kernel
def solve_beside(constants, g, work, ints):
    """
    Solve up to six slightly moved targets, and add their candidates at ``W_FOUND``; W_COUNT is the new number.

    This helps if the target itself is in doubt. A target with a symmetry can make every cut singular, but its
    neighbours do not. Fewer targets are solved if the table may overflow. The miss of each candidate grows by NUDGE.

    :param constants, work, ints: constants of the chain and workspace, as for :func:`solve`.
    :param g: (12,) G of the target in doubt.
    """
    candidates, count = matrix(work, W_FOUND, ROWS, JOINTS + 1), int(work[W_COUNT])
    nudged = vector(work, W_NUDGED, 12)
    for number in range(NUDGED_TARGETS):
        if count + 2 * el.MOST_EIGENVALUES > ROWS:
            break
        first = count
        _nudge(nudged, g, number, constants[FIRST_CUT + AT_SCALE])
        place = SECOND_CUT if number // 2 == 1 and constants[0] > 1.0 else FIRST_CUT
        cut = vector(constants, place, CUT)
        count, _ = solve_cut(candidates, count, cut, nudged, work, ints, False)
        for row in range(first, count):
            candidates[row, 6] += NUDGE
    work[W_COUNT] = count


TRIALS = 8
"""Number of postures that rate a cut."""
KNOWN_POSTURE_DISTANCE = 1e-3
"""Largest difference of a joint between a candidate and a known posture that counts as found [rad]."""
EXACT_DIGITS = 8.5
"""Least mean number of correct digits, at known postures, of a cut that may prove that a pose has no solution."""
ENOUGH_DIGITS = 10.5
"""Mean number of correct digits, at known postures, above which more digits make a cut no better."""
SAME_ENTRIES = 0.05
"""If the mean logarithms of their largest entries differ by less, two cuts are equally good; rounding changes less."""


class Rating(NamedTuple):
    """
    How well a cut of the loop finds the TRIALS postures again that are given in advance, from their targets.

    All fields but ``entries`` are counts or truth values, which rounding hardly changes.
    """

    is_exact: bool
    """Whether most targets leave no doubt, and the postures have at least EXACT_DIGITS correct digits on average."""
    is_accurate: bool
    """Like ``is_exact``, for ENOUGH_DIGITS."""
    certain: int
    """Number of targets for which the cut leaves no doubt that it has all solutions."""
    trusted: int
    """Number of these targets with no entry above TRUSTED, so that the cut removes a doubt of another cut."""
    plain: int
    """Number of trusted targets without roots that are close together or nearly complex."""
    is_constant: bool
    """Whether the elimination does not depend on the target, so that it is done once."""
    entries: float
    """Mean decimal logarithm of the largest entry of the eigenvalue problem; at least 0."""

    def for_first(self) -> tuple[int, ...]:
        """
        Return the numbers by which a first cut is chosen, the most important first; the greatest tuple is the best.

        Whether the cut is exact comes first, because any other cut would allow no proof.
        """
        doubts = self.is_exact, self.trusted, self.plain, self.is_accurate, self.certain
        return *doubts, self.is_constant

    def for_second(self) -> tuple[int, ...]:
        """
        Return the numbers by which a second cut is chosen, the most important first; the greatest tuple is the best.

        The number of trusted targets comes first, because a second cut has to remove the doubts of the first one.
        """
        return self.trusted, self.plain, self.is_exact, self.is_constant


def _trial(axes: Any, points: Any, number: int) -> tuple[Any, Any]:
    """
    Return a test posture without structure, and the target that it reaches.

    :param axes, points: (6, 3) unit directions of the axes, and a point on each [m].
    :param number: place in a fixed sequence of postures, from 0.
    :returns: (angles, target): angles (6,) [rad], and the target G (12,).
    """
    joints = np.arange(JOINTS)
    share = (number + 1) * 0.7548776662 + joints * joints * 0.5698402910
    angles = 2.0 * math.pi * (share % 1.0) - math.pi
    g, step, before = np.zeros(12), np.empty(12), np.empty(12)
    g[:9] = np.eye(3).ravel()
    # Not by certify.evaluate, whose targets have two digits less: cuts are rated by the last digits.
    for h, o, q in zip(axes, points, angles, strict=True):
        k = np.array([[0.0, -h[2], h[1]], [h[2], 0.0, -h[0]], [-h[1], h[0], 0.0]])
        rotation = np.eye(3) + math.sin(q) * k + (1.0 - math.cos(q)) * (k @ k)
        step[:9], step[9:] = rotation.ravel(), o - rotation @ o
        before[:] = g
        compose(g, before, step)
    return angles, g


def _rate_cut(constants: Any, trials: Any, candidates: Any, work: Any, ints: Any) -> Rating | None:
    """
    Rate a cut by how well it finds given postures again; return None if it misses a posture.

    :param constants: (CUT,) constants of the cut, from :func:`closed_loop.prepare_cut`.
    :param trials: pairs of a posture (6,) and its target (12,).
    :param candidates: (ROWS, 7) scratch.
    :param work, ints: workspace, from :func:`workspace`.
    """
    digits = entries = 0.0
    certain = trusted = plain = 0
    for angles, g in trials:
        count, is_certain = solve_cut(candidates, 0, constants, g, work, ints, False)
        turns = (candidates[:count, :JOINTS] - angles) / (2.0 * math.pi)
        distances = np.abs(turns - np.rint(turns)).max(axis=1, initial=0.0) * 2.0 * math.pi
        nearest = float(distances.min(initial=math.inf))
        if not nearest < KNOWN_POSTURE_DISTANCE:
            return None
        digits -= math.log10(nearest + 1e-15) / len(trials)
        entries += math.log10(max(1.0, work[W_LARGEST])) / len(trials)
        is_trusted = is_certain and bool(work[W_LARGEST] < TRUSTED)
        certain += is_certain
        trusted += is_trusted
        plain += is_trusted and bool(work[W_MULTIPLE] == CERTAIN)
    is_mostly_certain = 2 * certain > len(trials)
    return Rating(
        is_exact=is_mostly_certain and digits >= EXACT_DIGITS,
        is_accurate=is_mostly_certain and digits >= ENOUGH_DIGITS,
        certain=certain,
        trusted=trusted,
        plain=plain,
        is_constant=bool(constants[AT_FIXED] != 0.0),
        entries=entries,
    )


def _choose_cut(ratings: dict[int, Rating], merit: Callable[[Rating], tuple[int, ...]]) -> int:
    """
    Return the cut with the greatest merit; of several, the first one whose entries are nearly the smallest.

    Nearly means that ``entries`` of the rating exceeds the least of these cuts by SAME_ENTRIES at most.

    :param ratings: rating of each cut, in ascending order of the cuts; not empty.
    :param merit: :meth:`Rating.for_first` or :meth:`Rating.for_second`.
    """
    greatest = max(map(merit, ratings.values()))
    equal = {cut: rating.entries for cut, rating in ratings.items() if merit(rating) == greatest}
    least = min(equal.values())
    return next(cut for cut, entries in equal.items() if entries <= least + SAME_ENTRIES)


def _joint_of(cut: int) -> int:
    """
    Return the index in the chain of the joint at which a cut is made, 0 to 5.

    Cuts 0 to 5 belong to the chain, cuts 6 to 11 to the reversed chain, from its first joint on.
    """
    return cut if cut < JOINTS else 11 - cut


def choose_start(axes: Any, points: Any) -> tuple[int, bool]:
    """
    Choose where to cut the loop of a chain; return (start, is_exact): the choice as one number, and its accuracy.

    All twelve cuts are tested by postures that are given in advance. The number contains the best cut, and a second cut
    at another joint for doubtful targets, if one gives all postures. It is -1, and the accuracy False, if no cut gives
    all postures. Rounding errors do not change the choice, except next to a threshold of the rating.

    :param axes: (18,) unit directions.
    :param points: (18,) a point on each axis [m].
    :returns: (start, is_exact): number for :func:`prepare` and :func:`prepare_constants`; whether the best cut is
        accurate enough to prove that a pose has no solution.
    """
    # The kernels take arrays that are writable.
    axes = np.array(axes, dtype=float).ravel()
    points = np.array(points, dtype=float).ravel()
    trials = [_trial(axes.reshape(6, 3), points.reshape(6, 3), i) for i in range(TRIALS)]
    constants, candidates = np.zeros(CUT), np.zeros((ROWS, JOINTS + 1))
    work, ints = workspace()
    ratings = {}
    for cut in range(CUTS):
        prepare_cut(constants, axes, points, cut, work)
        rating = _rate_cut(constants, trials, candidates, work, ints)
        if rating is not None:
            ratings[cut] = rating
    if not ratings:
        return -1, False
    first = _choose_cut(ratings, Rating.for_first)
    others = {cut: r for cut, r in ratings.items() if _joint_of(cut) != _joint_of(first)}
    second = _choose_cut(others, Rating.for_second) if others else -1
    return first + CUTS * (second + 1), ratings[first].is_exact


def prepare(axes: Any, points: Any, start: int) -> Any:
    """
    Return the constants (CONSTANTS,) of a chain for :func:`solve`, as a new array.

    :param axes: (18,) unit directions.
    :param points: (18,) a point on each axis [m].
    :param start: number of the cuts, from :func:`choose_start`; not negative.
    """
    constants = np.zeros(CONSTANTS)
    prepare_constants(
        constants,
        np.array(axes, dtype=float).ravel(),
        np.array(points, dtype=float).ravel(),
        start,
        workspace()[0],
    )
    return constants
