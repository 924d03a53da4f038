"""
Reduce the candidates of a singular pose to one reproducible point for each solution.

Problem
-------
Candidates for one pose are given. Some lie on folds, on multiple solutions or on curves of solutions. Return each
different solution, and one point of each curve. The points must not change if the last bits of the pose change.

Method
------
1. Refine every candidate to rounding. Exact candidates come first. Others within tolerance are used afterwards; if the
   Jacobian is singular there, only if no solution is near, because rounding may have made them from an exact one.
2. If the Jacobian is regular, the point is final.
3. With one null vector, :mod:`singular_curve` tells an isolated solution from a curve, and moves to the point that
   represents the solution or the curve.
4. With more null vectors, search a curve in both directions of each of them. If no curve is found, the point is
   isolated, and :mod:`singular_points` computes its exact position.
5. Drop points that repeat a stored solution, or that lie on a curve that was followed.

Degeneracies
------------
Surfaces of solutions are represented by the points that candidates lead to. An arm may nearly have a curve of
solutions: along it, the error is above rounding and below the tolerance. Then the returned points are arbitrary. At
most sixteen solutions are returned, and the points of at most four curves are stored.

Cost
----
About five forward passes for a regular candidate; for others, the cost of :mod:`singular_curve`.
"""

from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.closed_form.certification.nearby_branches import smallest_pivot
from ssik_ros.kernels.closed_form.singular import (
    singular_curve as sc,
    singular_points as sp,
    singular_refinement as sr,
)
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.vectors import copy, fill
from ssik_ros.kernels.rows import singular_values
from ssik_ros.kernels.rows.views import Floats, Memory

REGULAR_SINGULAR_VALUE = 1e-5
"""Singular value above which the Jacobian is regular, with lengths in the chain's unit."""
NULL = 1e-3
"""If one singular value vanishes, others below this may vanish, too."""
NEARLY_SINGULAR = 3e-4
"""Relative pivot of a candidate's Jacobian below which it is examined more closely."""
ISOLATED = 1e-9
"""Singular value above which an exact solution is isolated, with lengths in the chain's unit."""
REGULAR_SEPARATION = 1e-6
"""If all joints of two regular solutions differ by less than this, they are one [rad]."""
SINGULAR_SEPARATION = 3e-5
"""If all joints of two singular solutions differ by less than this, they are one [rad]: rounding moves them by its
square root."""
LEAST_SEPARATION = 1e-2
"""Least distance of an inexact solution from all others; nearer ones may be copies that rounding has moved [rad]."""
PROBE = 0.25
"""Distance along a null vector at which a curve is searched for [rad]."""
STAYED = 0.3
"""If a probe ends nearer than this share of PROBE, there are no solutions in its direction."""
FOLLOWED = 1e-10
"""Largest Frobenius norm of FK - T at a point of a curve, which is corrected later."""
CURVES = 4
"""Most curves that are stored."""
MOST_SINGULAR_SOLUTIONS = 16
"""Most solutions at singular postures that are returned."""


class Place(NamedTuple):
    """
    Working memory for one pose: the solutions and curves that were found, and the solution under examination.

    ``solutions`` (16, n) are stored, ``is_point`` is 1 for singular solutions that represent no curve. ``q`` (1, n) is
    examined; ``values`` and ``vectors`` are its singular values and right singular vectors. ``traces`` are points of
    the curves of solutions that were followed, ``strides`` their lengths in steps. The rest is scratch. All are views
    of one flat array.
    """

    solutions: Annotated[Floats, MOST_SINGULAR_SOLUTIONS, 'n']
    """Solutions."""
    q: Annotated[Floats, 1, 'n']
    """The solution under examination."""
    probe: Annotated[Floats, 'n']
    """A posture near the solution under examination."""
    is_point: Annotated[Floats, MOST_SINGULAR_SOLUTIONS]
    """1 for singular solutions that represent no curve, but may lie on a curve that is found later; else 0."""
    values: Annotated[Floats, 6]
    """Singular values."""
    vectors: Annotated[Floats, 6, 6]
    """Right singular vectors; null vectors are in the last columns."""
    along: Annotated[Floats, 6]
    """Direction of a curve."""
    strides: Annotated[Floats, CURVES]
    """Followed length of each curve, in strides."""
    traces: Annotated[Floats, 'CURVES * (sc.MOST_STRIDES + 1) * n']
    """Points of each curve, (CURVES, MOST_STRIDES + 1, n), as a flat array."""
    extra: Annotated[Floats, 'sp.scratch_size()']
    """Scratch of :mod:`singular_points`."""
    rest: Annotated[Floats, 'sc.scratch_size(n)']
    """Scratch of :mod:`singular_curve`."""


SCRATCH = Memory(Place, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


class Choice(NamedTuple):
    """
    Bounds on the pose error of solutions, and criteria for the point that represents a curve of solutions.

    ``exact`` is the Frobenius norm of FK - T that rounding causes, ``tolerance`` its largest value for a solution. The
    point has the fewest joints outside ``lower`` and ``upper`` (n,); among such points, the nearest to the posture
    ``wish`` (n,).
    """

    exact: float
    """Frobenius norm of FK - T that rounding causes."""
    tolerance: float
    """Largest Frobenius norm of FK - T of a solution."""
    lower: np.ndarray
    """(n,) lower limits; the point that represents a curve is within the limits if possible."""
    upper: np.ndarray
    """(n,) upper limits."""
    wish: np.ndarray
    """(n,) reference posture: the nearest point of a curve represents it."""


@kernel
def _count_null_vectors(place, q, aim):
    """
    Return the number of null vectors of the Jacobian at the posture q (n,), 0 if the Jacobian counts as regular.

    It is regular if the smallest singular value is at least REGULAR_SINGULAR_VALUE; otherwise the values below NULL are
    counted.

    :param place: a :class:`Place`: singular values and right singular vectors are written there.
    :param aim: a :class:`singular_refinement.Aim`: chain and joints that may move.
    """
    system = sr.view_scratch(place.rest, aim.n).system
    sr.write_equations(system, q, aim, place.rest)
    singular_values.decompose(place.values, place.vectors, system, sr.ROWS, aim.moving)
    nulls = 0
    for j in range(aim.moving):
        nulls += 1 if place.values[j] < NULL else 0
    return nulls if place.values[aim.moving - 1] < REGULAR_SINGULAR_VALUE else 0


@kernel
def _error(place, q, aim):
    """
    Return the Frobenius norm of FK(q) - T, the pose of the tip at the posture q (n,) minus the target of ``aim``.

    The scratch ``place.rest`` is overwritten.
    """
    room = certify.view_scratch(place.rest, aim.n)
    certify.evaluate(aim.axes, aim.points, aim.home, aim.n, aim.slides, q, room.screws, room.pose)
    return certify.residual(room.pose, aim.target)


@kernel
def _is_known(rows, kept, q, aim, same):
    """
    Return whether a posture repeats one of the stored postures: no joint differs by ``same`` or more.

    Angles are compared modulo 2 pi.

    :param rows: (., n) stored postures, the first ``kept`` rows.
    :param q: (n,) the posture.
    :param aim: a :class:`singular_refinement.Aim`: the chain.
    :param same: [rad or m].
    """
    for row in range(kept):
        largest = 0.0
        for k in range(aim.n):
            change = q[k] - rows[row, k]
            largest = max(
                largest, abs(change if is_slide(aim.slides, k) else so3.wrap_to_pi(change))
            )
        if largest < same:
            return True
    return False


@inline_kernel
def _trace(place, curve, n):
    """
    Return a view (MOST_STRIDES + 1, n) of the stored points of one curve of solutions.

    :param place: a :class:`Place`.
    :param curve: index of the curve.
    :param n: number of joints.
    """
    rows = sc.MOST_STRIDES + 1
    return matrix(place.traces, curve * rows * n, rows, n)


@kernel
def _is_on_curve(place, curves, q, aim):
    """
    Return whether the posture q (n,) lies on one of the first ``curves`` curves of solutions in ``place``.

    :param place: a :class:`Place` with points of the curves.
    :param aim: a :class:`singular_refinement.Aim`: the chain.
    """
    for curve in range(curves):
        if sc.is_on_trace(_trace(place, curve, aim.n), int(place.strides[curve]), q, aim):
            return True
    return False


@kernel
def _add(place, kept, q, aim, same):
    """
    Append a posture to the solutions in ``place``, unless it repeats one of them; return the new number of solutions.

    It repeats a solution if no joint differs by ``same`` or more. Without a free row nothing is added. With a ``same``
    other than REGULAR_SEPARATION, ``place.is_point`` marks the solution as singular.

    :param place: a :class:`Place`, with ``kept`` solutions before.
    :param q: (n,) the posture.
    :param aim: a :class:`singular_refinement.Aim`: the chain.
    :param same: least difference of a joint that makes two postures two solutions [rad or m].
    """
    if kept >= MOST_SINGULAR_SOLUTIONS or _is_known(place.solutions, kept, q, aim, same):
        return kept
    copy(place.solutions[kept], q)
    place.is_point[kept] = 0.0 if same == REGULAR_SEPARATION else 1.0
    return kept + 1


@kernel
def _add_curve(place, kept, curves, q, aim, choice):
    """
    Follow the curve of solutions through q, and add the point that represents it to the solutions of ``place``.

    If CURVES curves are stored, the new one replaces the last of them. A point that repeats a solution is not added.

    :param place: a :class:`Place`; ``place.along`` is the tangent of the curve.
    :param kept, curves: numbers of solutions and of curves so far.
    :param q: (n,) the point; it is overwritten.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param choice: a :class:`Choice`: which point represents a curve.
    :returns: (kept, curves): new numbers of solutions and of curves.
    """
    # If the curves do not fit, replace the last one.
    curve = min(curves, CURVES - 1)
    trace = _trace(place, curve, aim.n)
    place.strides[curve] = sc.represent(
        q, place.along, aim, choice.lower, choice.upper, choice.wish, trace, place.rest
    )
    added = _add(place, kept, q, aim, SINGULAR_SEPARATION)
    if added > kept:
        place.is_point[kept] = 0.0
    return added, curve + 1


@kernel
def _write_null_vector(place, number, sign, aim):
    """
    Write a right singular vector of the Jacobian, times ``sign``, as a direction into ``place.along``.

    :param place: a :class:`Place` after :func:`_count_null_vectors`.
    :param number: 0 for the vector with the smallest singular value, 1 for the next.
    :param sign: 1.0 or -1.0.
    :param aim: a :class:`singular_refinement.Aim`, which has the number of joints that may move.
    """
    for j in range(aim.moving):
        place.along[j] = sign * place.vectors[j, aim.moving - 1 - number]


@kernel
def _add_crossing(place, kept, curves, nulls, q, aim, choice):
    """
    Search curves through a posture with several null vectors, and add the point that represents each of them.

    If no direction leads to another solution, the posture counts as isolated, and its exact position is added. Both are
    added to the solutions of ``place``. A solution in a direction gives nothing if it is on a stored curve or has
    several null vectors, too.

    :param place: arrays of the pose, see :class:`Place`.
    :param kept, curves: numbers of solutions and of curves so far.
    :param nulls: number of null vectors.
    :param q: (n,) the posture, moved if it is isolated.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param choice: a :class:`Choice`: which point represents a curve.
    :returns: (kept, curves): new numbers of solutions and of curves.
    """
    is_crossing = False
    for direction in range(2 * nulls):
        # Compute the null vectors of q again: a probe has overwritten them.
        _count_null_vectors(place, q, aim)
        _write_null_vector(place, direction // 2, 1.0 - 2.0 * (direction % 2), aim)
        copy(place.probe, q)
        for j in range(aim.moving):
            place.probe[aim.free[j]] += PROBE * place.along[j]
        error = sr.refine(place.probe, aim, place.rest)
        if not error <= FOLLOWED or _is_known(place.q, 1, place.probe, aim, STAYED * PROBE):
            continue
        is_crossing = True
        if _is_on_curve(place, curves, place.probe, aim):
            continue
        if _count_null_vectors(place, place.probe, aim) == 1:
            _write_null_vector(place, 0, 1.0, aim)
            kept, curves = _add_curve(place, kept, curves, place.probe, aim, choice)
    if not is_crossing:
        _sharpen(place, nulls, q, aim, choice.exact)
        kept = _add(place, kept, q, aim, SINGULAR_SEPARATION)
    return kept, curves


@kernel
def _sharpen(place, nulls, q, aim, exact):
    """
    Move q (n,), an isolated solution with at most ``nulls`` null vectors, in place to its exact position.

    The largest number of null vectors for which the Frobenius norm of FK - T stays within ``exact`` is used. If only
    one is left, :func:`singular_curve.examine` moves q.

    :param place: a :class:`Place`, whose scratch is overwritten.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    """
    for number in range(nulls, 1, -1):
        copy(place.probe, q)
        spare = sr.view_scratch(place.rest, aim.n).trial
        sp.sharpen(place.probe, number, aim, spare, place.extra, place.rest)
        if _error(place, place.probe, aim) <= exact:
            copy(q, place.probe)
            return
    _count_null_vectors(place, q, aim)
    _write_null_vector(place, 0, 1.0, aim)
    sc.examine(q, place.along, aim, exact, place.rest)


@kernel
def are_regular(rows, count, aim, scratch):
    """
    Return whether the Jacobian is regular, by a margin, at all candidates; True without candidates.

    :param rows: (., n) candidates in the first ``count`` rows [rad or m].
    :param count: number of candidates.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param scratch: (scratch_size(n),) numbers.
    """
    place = _view(scratch, aim.n)
    system = sr.view_scratch(place.rest, aim.n).system
    for row in range(count):
        if aim.moving < sr.ROWS:
            if _count_null_vectors(place, rows[row], aim) > 0:
                return False
            continue
        sr.write_equations(system, rows[row], aim, place.rest)
        if not smallest_pivot(system) > NEARLY_SINGULAR:
            return False
    return True


@kernel
def _take(place, kept, curves, aim, choice):
    """
    Classify the solution in ``place.q``, and add it to the solutions of ``place`` unless it repeats one of them.

    If it is a point of a curve of solutions, the point that represents this curve is added instead.

    :param place: a :class:`Place`.
    :param kept, curves: numbers of solutions and of curves before.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param choice: a :class:`Choice`: error bounds, and which point represents a curve.
    :returns: (kept, curves): new numbers of solutions and of curves.
    """
    q = place.q[0]
    nulls = _count_null_vectors(place, q, aim)
    if nulls == 0:
        return _add(place, kept, q, aim, REGULAR_SEPARATION), curves
    if _is_on_curve(place, curves, q, aim):
        return kept, curves
    if nulls > 1:
        return _add_crossing(place, kept, curves, nulls, q, aim, choice)
    _write_null_vector(place, 0, 1.0, aim)
    if sc.examine(q, place.along, aim, choice.exact, place.rest) == sc.CURVE:
        return _add_curve(place, kept, curves, q, aim, choice)
    same = SINGULAR_SEPARATION if _error(place, q, aim) <= choice.exact else LEAST_SEPARATION
    return _add(place, kept, q, aim, same), curves


@kernel
def settle(out, rows, count, aim, choice, scratch):
    """
    Refine candidates of one pose, and write each different solution once; return their number, at most 16.

    A curve of solutions gives one point, see :class:`Choice`. Candidates with an error above the tolerance are left
    out, and so are solutions after the sixteenth. An isolated singular solution that is not exact is left out if a
    solution before it is within LEAST_SEPARATION.

    :param out: (16, n) out; may be the same array as ``rows``.
    :param rows: (., n) candidates in the first ``count`` rows; they are refined in place.
    :param count: number of candidates.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param choice: a :class:`Choice`: error bounds, and which point represents a curve.
    :param scratch: (scratch_size(n),) scratch.
    """
    place = _view(scratch, aim.n)
    q = place.q[0]
    kept = curves = 0
    for row in range(count):
        sr.refine(rows[row], aim, place.rest)
    for is_exact in (True, False):
        for row in range(count):
            error = _error(place, rows[row], aim)
            if error <= choice.tolerance and (error <= choice.exact) == is_exact:
                copy(q, rows[row])
                kept, curves = _take(place, kept, curves, aim, choice)
    left = 0
    for row in range(kept):
        copy(q, place.solutions[row])
        if place.is_point[row] == 0.0 or not _is_on_curve(place, curves, q, aim):
            copy(out[left], q)
            left += 1
    return left


@kernel
def settle_rows(
    out,
    curves,
    isolated,
    rows,
    axes,
    points,
    home,
    n,
    slides,
    free,
    target,
    unit,
    limits,
    wish,
    errors,
    scratch,
):
    """
    Refine candidates, write each different solution once, and write the curve of solutions through each of them.

    At most 16 solutions are written, as by :func:`settle`. All joints may move.

    :param out: (16, n) out, another array than ``rows``.
    :param curves: (16, n + 2) out: unit tangent of each solution's curve, then the lengths of the curve within the
        limits against the tangent and along it [rad]; zeros for an isolated solution.
    :param isolated: (count,) out: 1 for each candidate that is a solution up to rounding and whose smallest singular
        value exceeds ISOLATED, which proves that it is isolated; else 0.
    :param rows: (count, n) candidates; they are refined in place.
    :param axes, points, home, n, slides: the chain, as for :func:`certify.evaluate`: (3 n,) unit axes and points on
        them, (12,) pose of the tip at zero, number of joints, bit mask of the prismatic joints.
    :param free: (n,) indices of the joints, 0 to n - 1.
    :param target: (12,) target pose of the tip: rotation row by row, then translation.
    :param unit: length that counts as one [m].
    :param limits: (2, n) lower and upper limits.
    :param wish: (n,) reference posture: the nearest point of a curve represents it.
    :param errors: (2,) Frobenius norms of FK - T: caused by rounding, and largest of a solution.
    :param scratch: (scratch_size(n),) scratch.
    :returns: number of solutions.
    """
    aim = sr.Aim(axes, points, home, n, slides, free, n, target, unit)
    choice = Choice(errors[0], errors[1], limits[0], limits[1], wish)
    count = settle(out, rows, rows.shape[0], aim, choice, scratch)
    place = _view(scratch, n)
    for row in range(rows.shape[0]):
        _count_null_vectors(place, rows[row], aim)
        is_exact = _error(place, rows[row], aim) <= choice.exact
        isolated[row] = 1.0 if is_exact and place.values[n - 1] > ISOLATED else 0.0
    for row in range(count):
        fill(curves[row], 0.0)
        copy(place.q[0], out[row])
        if _count_null_vectors(place, out[row], aim) == 0:
            continue
        _write_null_vector(place, 0, 1.0, aim)
        if sc.examine(place.q[0], place.along, aim, choice.exact, place.rest) != sc.CURVE:
            continue
        for side in range(2):
            _count_null_vectors(place, out[row], aim)
            _write_null_vector(place, 0, 1.0 if side == 1 else -1.0, aim)
            curves[row, n + side] = sc.length_within(
                out[row], place.along, aim, choice.lower, choice.upper, place.probe, place.rest
            )
        for k in range(n):
            curves[row, k] = place.along[k]
    return count
