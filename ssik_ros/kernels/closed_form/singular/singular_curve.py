"""
Classify a solution with one singular direction: isolated, multiple, or a point of a curve of solutions.

:func:`examine` classifies, :func:`represent` follows a curve to the point that represents it.

Problem
-------
The Jacobian at a solution q_0 has one null vector n. Decide whether q_0 is an isolated solution, several coincident
solutions, or a point of a curve of solutions. Return one point that does not depend on rounding.

Method
------
1. For nine values of s around zero, find the point with n.(q - q_0) = s that has the smallest error e (six numbers).
   g(s) is the component of e along the largest of the nine errors. Put a polynomial of degree eight through g. Its
   zeros are the solutions near q_0.
2. If g vanishes at all nine points, repeat with a larger spacing. If it vanishes again, q_0 is on a curve.
3. Otherwise apply Pellet's test. If m > 1 zeros lie within a small radius, they are an m-fold solution that rounding
   has split. Their mean, -a_(m-1) / (m a_m), is accurate almost to rounding, while each zero moves by its m-th root.
   Use the point at the mean if its pose is as exact.
4. Follow a curve by steps along its tangent, each corrected across it, until it closes. The curve is nearest to a
   reference posture where the scalar product of the tangent and the difference to the reference rises through zero;
   regula falsi finds this place. Bisection finds places where a joint reaches a limit. The nearest of all these points,
   within limits if possible, represents the curve.

Degeneracies
------------
At crossings of curves the tangent keeps its direction. If a curve does not close within the allowed steps, only the
followed part is searched.

Cost
----
About fifty forward passes for an isolated solution, some six hundred for a curve.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.closed_form.singular import singular_refinement as sr
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.kernels.geometry.vectors import copy, largest_of
from ssik_ros.kernels.rows.views import Floats, Memory

PLACES = 9
"""Number of places at which g is measured."""
SPACINGS = (5e-4, 2e-2)
"""Spacings of these places; if g vanishes at all places with the smaller spacing, the larger one is used [rad]."""
_NODES = np.arange(PLACES) - PLACES // 2
COEFFICIENTS = tuple(
    tuple(row) for row in np.linalg.inv(np.vander(_NODES.astype(float), increasing=True)).tolist()
)
"""Matrix that maps the values to the coefficients of the polynomial."""
CORRECTIONS = 8
"""Most steps across a curve."""
ARRIVED = 1e-13
"""Step across a curve below which the correction has converged [rad]."""
ZERO_MEASURE = 1e-13
"""Largest value of g that counts as zero."""
RADII = (0.05, 0.25, 1.0, 4.0)
"""Radii within which zeros count as one multiple zero, in spacings."""
FARTHEST_MEAN = 4.0
"""Largest accepted distance of the mean of these zeros, in spacings."""
SETTLED_MEAN = 1e-4
"""Motion of the mean below which its iteration ends, in spacings."""
LOOKS = 5
"""Most iterations of the mean."""
CURVE_STRIDE = 0.1
"""Length of a step along a curve [rad]."""
MOST_STRIDES = 240
"""Most steps along one curve."""
CURVE_ERROR = 1e-11
"""Largest error of a point on a curve."""
CLOSED_CURVE_DISTANCE = 0.7
"""Distance from its start below which a curve counts as closed, in strides."""
CURVE_DISTANCE = 0.02
"""Distance from the chords of a curve below which a posture is on the curve [rad]."""
FALSI_STEPS = 30
ON_LIMIT = 1e-12
"""Largest distance outside a limit of the point at which a curve crosses it [rad]; its pose stays exact on the
limit."""
HALVINGS = 40
"""Number of bisections of a stride in which a joint reaches its limit; leads to 1e-13 rad."""
NEAREST_POINT_PRODUCT = 1e-11
"""Scalar product of the tangent and the difference to the reference that counts as zero [rad]."""
NOT_NEAREST = 1e3
"""Penalty on the squared distance of points that are not the nearest point of their curve; they depend on the start."""

ISOLATED = 0
CURVE = 1


class CurveScratch(NamedTuple):
    """
    Scratch of this module's functions for a chain of n joints.

    ``refinement`` is the scratch of a refinement. The fields from ``here`` to ``last`` are points and directions of a
    curve that is followed. The fields from ``other`` on serve :func:`examine`.
    """

    refinement: Annotated[Floats, 'sr.scratch_size(n)']
    """Scratch of :mod:`singular_refinement`, which gets the whole array."""
    here: Annotated[Floats, 'n']
    """Point after the last stride."""
    before: Annotated[Floats, 'n']
    """Point before it."""
    near: Annotated[Floats, 'n']
    """A point of the last stride that may represent the curve."""
    best: Annotated[Floats, 'n']
    """The best of the points ``near`` so far."""
    along: Annotated[Floats, 6]
    """Direction of a stride, in the joints that may move."""
    last: Annotated[Floats, 6]
    """Another direction of the curve, in the joints that may move."""
    other: Annotated[Floats, 'n']
    """Corrected posture next to the point."""
    measured: Annotated[Floats, PLACES]
    """Signed pose errors g at nine places, from :func:`_measure`."""
    polynomial: Annotated[Floats, PLACES]
    """Coefficients of the polynomial through the errors g."""
    errors: Annotated[Floats, PLACES, 'sr.ROWS']
    """Pose errors at the places."""


SCRATCH = Memory(CurveScratch, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def _dot(step, a, b, aim):
    """
    Return the scalar product of a direction and the difference b - a of two postures.

    Differences of angles are wrapped to (-pi, pi]. Only the joints that may move count.

    :param step: (count,) direction in the joints that may move.
    :param a, b: (n,) postures.
    :param aim: a :class:`singular_refinement.Aim`, which names these joints.
    """
    total = 0.0
    for j in range(aim.moving):
        i = aim.free[j]
        change = b[i] - a[i]
        total += step[j] * (change if is_slide(aim.slides, i) else so3.wrap_to_pi(change))
    return total


@kernel
def _solve_along(q, along, length, corrects, aim, scratch):
    """
    Write a least-squares step with a given component along a direction; return the norm of the pose error at q.

    The step is in column ``aim.moving`` of ``normal`` of the scratch.

    :param q: (n,) the posture.
    :param along: (6,) unit vector of the direction in the free joints.
    :param length: the component of the step along it.
    :param corrects: True for a step that also removes the pose error, False for one that keeps the pose.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param scratch: (sr.scratch_size(n),) scratch.
    """
    room, count = sr.view_scratch(scratch, aim.n), aim.moving
    normal = room.normal
    error = sr.write_equations(room.system, q, aim, scratch)
    certify.write_normal(normal, room.system, count)
    for a in range(count):
        for b in range(count):
            normal[a, b] += along[a] * along[b]
        normal[a, count] = (normal[a, count] if corrects else 0.0) + length * along[a]
    sr.solve_positive(normal, count)
    return error


@kernel
def correct(q, start, along, s, aim, scratch):
    """
    Move a posture, in place, to the smallest pose error among postures at a given distance along a direction.

    The distance is the scalar product of ``along`` and the difference to ``start``. At most CORRECTIONS Newton steps
    are made.

    :param q: (n,) first guess in, the posture out.
    :param start: (n,) posture at distance zero.
    :param along: (6,) unit vector of the direction in the free joints.
    :param s: the distance [rad, or m for a prismatic joint].
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param scratch: (sr.scratch_size(n),) scratch.
    :returns: norm of the pose error, with lengths in ``aim.unit``: at q, or before the last step if the steps did not
        converge.
    """
    room, free, count = sr.view_scratch(scratch, aim.n), aim.free, aim.moving
    normal = room.normal
    error = math.inf
    for _ in range(CORRECTIONS):
        missing = s - _dot(along, start, q, aim)
        error = _solve_along(q, along, missing, True, aim, scratch)
        if largest_of(normal[:, count], count) <= ARRIVED:
            break
        certify.move(room.trial, q, free, count, normal, sr.LONGEST_REFINEMENT_STEP)
        copy(q, room.trial)
    return error


@inline_kernel
def _go(q, start, along, s, aim):
    """
    Write q (n,): the posture ``start`` moved straight by s times the direction ``along`` (6,).

    :param aim: a :class:`singular_refinement.Aim`, whose ``free`` names the joints of ``along``.
    """
    copy(q, start)
    for j in range(aim.moving):
        q[aim.free[j]] += s * along[j]


@kernel
def _measure(g, start, along, h, aim, q, errors, scratch):
    """
    Measure the pose error at nine places along a direction, as signed numbers g; return the largest error.

    At each place the error is the smallest one across the direction, see :func:`correct`. g is the component of this
    error (six numbers) along the largest of the nine errors. Lengths are in ``aim.unit``.

    :param g: (9,) out.
    :param start, along: (n,) posture at the middle place, and the direction (6,) in the free joints.
    :param h: distance of neighbouring places [rad].
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param q: (n,) scratch.
    :param errors: (9, 6) scratch.
    :param scratch: (sr.scratch_size(n),) scratch.
    """
    system = sr.view_scratch(scratch, aim.n).system
    largest, place = -1.0, 0
    for i in range(PLACES):
        s = (i - PLACES // 2) * h
        _go(q, start, along, s, aim)
        size = correct(q, start, along, s, aim, scratch)
        copy(errors[i], system[:, aim.moving])
        if size > largest:
            largest, place = size, i
    for i in range(PLACES):
        g[i] = 0.0
        for k in range(sr.ROWS):
            g[i] += errors[i, k] * errors[place, k] / (largest + 1e-300)
    return largest


@inline_kernel
def _power(x, m):
    """Return x to the power m, a small integer that is not negative."""
    result = 1.0
    for _ in range(m):
        result *= x
    return result


@kernel
def _mean_zero(g, a):
    """
    Return (m, mean): how many zeros of the polynomial through g coincide near zero, and their mean.

    Distances are in spacings, the distance of neighbouring places at which g is given. m is 1 for a single zero. If
    Pellet's test does not decide, m (2 to 8) is the power of the largest term, and the mean is cut to FARTHEST_MEAN.

    :param g: (9,) values at -4 .. 4 spacings.
    :param a: (9,) out: coefficients of the polynomial, lowest power first.
    """
    for m in range(PLACES):
        a[m] = 0.0
        for i in range(PLACES):
            a[m] += COEFFICIENTS[m][i] * g[i]
    for radius in RADII:
        total = 0.0
        for m in range(PLACES):
            total += abs(a[m]) * _power(radius, m)
        for m in range(1, PLACES):
            term = abs(a[m]) * _power(radius, m)
            if term > 2.0 * (total - term):
                return m, -a[m - 1] / (m * a[m])
    # Clustered roots are detected from their mean, which is the first guess.
    best, power = 2, -1.0
    for m in range(2, PLACES):
        term = abs(a[m]) * _power(FARTHEST_MEAN, m)
        if term > power:
            best, power = m, term
    return best, min(max(-a[best - 1] / (best * a[best]), -FARTHEST_MEAN), FARTHEST_MEAN)


@kernel
def examine(q, along, aim, exact, scratch):
    """
    Decide by the pose errors nearby whether a singular solution is isolated or a point of a curve of solutions.

    An isolated solution is moved in place to the mean of the solutions that coincide there, if the mean is as exact.
    The decision is numerical, not a proof: on a curve the error has to vanish at nine places around q, at the larger of
    the two SPACINGS.

    :param q: (n,) a solution.
    :param along: (6,) unit null vector of the Jacobian in the free joints.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param exact: largest norm of the pose error of a solution, with lengths in ``aim.unit``.
    :param scratch: (scratch_size(n),) scratch.
    :returns: ISOLATED (0) or CURVE (1).
    """
    room = view_scratch(scratch, aim.n)
    other, g, a, errors = room.other, room.measured, room.polynomial, room.errors
    copy(other, q)
    best = correct(other, q, along, 0.0, aim, scratch)
    is_curve = False
    for h in SPACINGS:
        for _ in range(LOOKS):
            is_curve = _measure(g, q, along, h, aim, other, errors, scratch) < ZERO_MEASURE
            if is_curve:
                break
            multiplicity, s = _mean_zero(g, a)
            if multiplicity < 2 or not abs(s) <= FARTHEST_MEAN:
                return ISOLATED
            _go(other, q, along, s * h, aim)
            error = correct(other, q, along, s * h, aim, scratch)
            if not error <= max(best, exact):
                break
            copy(q, other)
            best = error
            if abs(s) < SETTLED_MEAN:
                return ISOLATED
    return CURVE if is_curve else ISOLATED


@kernel
def _write_tangent(along, q, aim, scratch):
    """
    Replace a direction near the tangent of a curve of solutions by the unit tangent at q.

    :param along: (6,) direction in the free joints in, unit tangent out.
    :param q: (n,) a posture on the curve.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param scratch: (sr.scratch_size(n),) scratch.
    """
    room, count = sr.view_scratch(scratch, aim.n), aim.moving
    normal = room.normal
    _solve_along(q, along, 1.0, False, aim, scratch)
    total = 0.0
    for a in range(count):
        total += normal[a, count] ** 2
    for a in range(count):
        along[a] = normal[a, count] / math.sqrt(total)


@kernel
def _rate(q, aim, lower, upper, wish, play):
    """
    Rate a posture: return (number of joints outside their limits, squared distance from a reference posture).

    :param q, lower, upper: (n,) posture and limits; a turning joint is inside if one of its windings is.
    :param aim: a :class:`singular_refinement.Aim`: the chain.
    :param wish: (n,) reference posture; differences of angles are modulo 2 pi.
    :param play: largest distance outside a limit of a turning joint that counts as inside, at most LIMIT_ROUNDING
        [rad]. A prismatic joint has to be exactly inside.
    """
    outside, total = 0.0, 0.0
    for i in range(aim.n):
        if is_slide(aim.slides, i):
            value, change = min(max(q[i], lower[i]), upper[i]), q[i] - wish[i]
            outside += 0.0 if value == q[i] else 1.0
        else:
            value = ranking.place_in_limits(so3.wrap_to_pi(q[i]), lower[i], upper[i], wish[i])
            change = so3.wrap_to_pi(q[i] - wish[i])
            outside += 0.0 if abs(so3.wrap_to_pi(value - q[i])) <= play else 1.0
        total += change * change
    return outside, total


@kernel
def _approach(q, start, along, aim, wish, tangent, scratch):
    """
    Write the point of a stride along a curve that is nearest to a reference posture.

    A stride is a step of length CURVE_STRIDE. If the distance has no minimum inside the stride, this is the end of the
    stride.

    :param q: (n,) out.
    :param start, along: posture where the stride begins, and its direction (6,) in the free joints.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param wish: (n,) reference posture.
    :param tangent: (6,) scratch.
    :param scratch: (sr.scratch_size(n),) scratch.
    """
    low, high = 0.0, CURVE_STRIDE
    at_low, at_high = -1.0, 1.0
    for side in range(FALSI_STEPS):
        # The ends are measured first, then Illinois' false position.
        if side == 0:
            s = low
        elif side == 1:
            s = high
        else:
            s = high - at_high * (high - low) / (at_high - at_low)
        _go(q, start, along, s, aim)
        correct(q, start, along, s, aim, scratch)
        copy(tangent, along)
        _write_tangent(tangent, q, aim, scratch)
        slope = -_dot(tangent, q, wish, aim)
        if side == 0:
            at_low = slope
        elif side == 1:
            at_high = slope
        else:
            if abs(slope) < NEAREST_POINT_PRODUCT:
                break
            if slope < 0.0:
                low, at_low, at_high = s, slope, 0.5 * at_high
            else:
                high, at_high, at_low = s, slope, 0.5 * at_low
        if side == 1 and not at_low < 0.0 < at_high:
            break


@kernel
def _cross_limit(q, start, along, aim, limits, wish, forward, least, scratch):
    """
    Find the point of a stride at which a joint reaches its limit; return its distance along the stride [rad].

    A stride is a step of length CURVE_STRIDE along a curve. The point is bracketed by bisection.

    :param q: (n,) out: the point; at most ``least`` joints are outside their limits there.
    :param start, along: (n,) first posture of the stride, and its direction (6,) in the free joints.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param limits: lower and upper limits (n,), (n,).
    :param wish: (n,) posture that selects windings.
    :param forward: True if the number of joints outside grows along the stride.
    :param least: number of joints outside at the better end of the stride.
    :param scratch: (sr.scratch_size(n),) scratch.
    """
    inside, outside = (0.0, CURVE_STRIDE) if forward else (CURVE_STRIDE, 0.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        _go(q, start, along, middle, aim)
        correct(q, start, along, middle, aim, scratch)
        count, _ = _rate(q, aim, limits[0], limits[1], wish, ON_LIMIT)
        inside, outside = (middle, outside) if count <= least else (inside, middle)
    _go(q, start, along, inside, aim)
    correct(q, start, along, inside, aim, scratch)
    return inside


@kernel
def length_within(start, tangent, aim, lower, upper, trace, scratch):
    """
    Follow a curve of solutions from a point in one direction; return its length within the limits [rad].

    It ends where a joint reaches a limit, the curve closes or cannot be followed, or after MOST_STRIDES strides of
    CURVE_STRIDE. A metre of a prismatic joint counts as a radian. The length is exact only if it ends at a limit, else
    it is a whole number of strides.

    :param start: (n,) a solution within the limits.
    :param tangent: (6,) the direction in the free joints, a unit vector.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param lower, upper: (n,) limits.
    :param trace: (n,) scratch.
    :param scratch: (scratch_size(n),) numbers.
    """
    room = view_scratch(scratch, aim.n)
    here, before, along, last = room.here, room.before, room.along, room.last
    copy(here, start)
    copy(along, tangent)
    for stride in range(MOST_STRIDES):
        copy(before, here)
        copy(last, along)
        _go(here, before, last, CURVE_STRIDE, aim)
        if not correct(here, before, last, CURVE_STRIDE, aim, scratch) < CURVE_ERROR:
            return CURVE_STRIDE * stride
        outside, _ = _rate(here, aim, lower, upper, start, LIMIT_ROUNDING)
        if outside > 0.0:
            limits = (lower, upper)
            inside = _cross_limit(trace, before, last, aim, limits, start, True, 0.0, scratch)
            return CURVE_STRIDE * stride + inside
        if stride > 2 and _gap(here, start, aim) < CLOSED_CURVE_DISTANCE * CURVE_STRIDE:
            return CURVE_STRIDE * (stride + 1)
        _write_tangent(along, here, aim, scratch)
    return CURVE_STRIDE * MOST_STRIDES


@kernel
def represent(q, along, aim, lower, upper, wish, trace, scratch):
    """
    Follow a curve of solutions, and move q in place to the point that represents it; return the number of strides.

    Of the part that was followed, this is the point with the fewest joints outside their limits; among those, the point
    nearest to the reference posture. A stride is a step of CURVE_STRIDE. The curve is followed in one direction until
    it closes, cannot be followed, or MOST_STRIDES strides are made.

    :param q: (n,) a solution on the curve in, the point out.
    :param along: (6,) its tangent in the free joints, a unit vector; overwritten.
    :param aim: a :class:`singular_refinement.Aim`: chain, joints that may move, and target.
    :param lower, upper: (n,) limits.
    :param wish: (n,) the reference posture.
    :param trace: (MOST_STRIDES + 1, n) out: points of the curve, one row more than strides.
    :param scratch: (scratch_size(n),) numbers.
    """
    room = view_scratch(scratch, aim.n)
    here, before, near, best = room.here, room.before, room.near, room.best
    last, tangent = room.along, room.last
    copy(here, q)
    copy(best, q)
    copy(trace[0], q)
    best_outside, best_distance = _rate(q, aim, lower, upper, wish, LIMIT_ROUNDING)
    best_distance += NOT_NEAREST
    many, limits = best_outside, (lower, upper)
    slope, strides = -_dot(along, q, wish, aim), 0
    while strides < MOST_STRIDES:
        copy(before, here)
        copy(last, along)
        _go(here, before, last, CURVE_STRIDE, aim)
        if not correct(here, before, last, CURVE_STRIDE, aim, scratch) < CURVE_ERROR:
            break
        strides += 1
        copy(trace[strides], here)
        _write_tangent(along, here, aim, scratch)
        was, slope = slope, -_dot(along, here, wish, aim)
        were, (many, _) = many, _rate(here, aim, lower, upper, wish, LIMIT_ROUNDING)
        for number in range(3):
            # The point of the stride itself; the nearest one between it and the one before; one on a limit.
            if number == 0:
                copy(near, here)
            elif number == 1 and was < 0.0 <= slope:
                _approach(near, before, last, aim, wish, tangent, scratch)
            elif number == 2 and were != many:
                least = min(were, many)
                _cross_limit(near, before, last, aim, limits, wish, were < many, least, scratch)
            else:
                continue
            outside, distance = _rate(near, aim, lower, upper, wish, LIMIT_ROUNDING)
            distance += NOT_NEAREST if number == 0 else 0.0
            if outside < best_outside or (outside == best_outside and distance < best_distance):
                best_outside, best_distance = outside, distance
                copy(best, near)
        if strides > 3 and _gap(here, q, aim) < CLOSED_CURVE_DISTANCE * CURVE_STRIDE:
            break
    copy(q, best)
    return strides


@kernel
def _gap(a, b, aim):
    """
    Return the Euclidean distance of two postures a and b (n,) in joint space, angles modulo 2 pi.

    :param aim: a :class:`singular_refinement.Aim`, which tells the prismatic joints.
    """
    total = 0.0
    for i in range(aim.n):
        change = a[i] - b[i]
        if not is_slide(aim.slides, i):
            change = so3.wrap_to_pi(change)
        total += change * change
    return math.sqrt(total)


@kernel
def is_on_trace(trace, strides, q, aim):
    """
    Return whether a posture is within CURVE_DISTANCE of a curve that :func:`represent` has followed.

    The curve is taken as straight lines between its points, steps of CURVE_STRIDE apart.

    :param trace: (MOST_STRIDES + 1, n) points of the curve, of which ``strides`` + 1 rows are filled.
    :param strides: number of steps between these points.
    :param q: (n,) the posture.
    :param aim: a :class:`singular_refinement.Aim`: the chain.
    """
    for i in range(strides):
        square = along = length = 0.0
        for k in range(aim.n):
            offset, chord = q[k] - trace[i, k], trace[i + 1, k] - trace[i, k]
            if not is_slide(aim.slides, k):
                offset = so3.wrap_to_pi(offset)
            square += offset * offset
            along += offset * chord
            length += chord * chord
        share = min(max(along / length, 0.0), 1.0)
        if square - share * (2.0 * along - share * length) < CURVE_DISTANCE * CURVE_DISTANCE:
            return True
    return False
