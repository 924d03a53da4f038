"""
Compute all candidates of an arm with parallel axes 2, 3 and 4 together, in SIMD lanes.

Four lanes hold up to four pairs of joints 1 and 5, and compute them if axes 5 and 6 meet. Then eight lanes compute both
elbows of each pair. See :mod:`three_parallel` for the formulas. Poses near a wrist singularity are left to the kernel
for single solutions, which chooses free angles and keeps digits that are lost here.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    map_point,
    screw,
    triple,
)
from ssik_ros.kernels.geometry import lane_angles, lanes, so3, vectors
from ssik_ros.kernels.geometry.subproblems import sp3, sp4, sp6
from ssik_ros.kernels.geometry.subproblems.outcomes import BADLY, FREE

NEARLY_LINED_UP = 1e-3
"""Sine of the angle between the parallel axes and axis 6 below which a pose is left to the kernel for single
solutions."""
AT_ZEROS = 2 * lanes.HALF_LANES
SINES, COSINES = 2, 4
"""First rows of the sines and of the cosines, after the angles of joints 1 and 5."""
SCRATCH = 6 * lanes.HALF_LANES
"""Size of the scratch of the kernels: two angles of each pair, with their sines and cosines."""


@inline_kernel
def _store_angle(angles, place, angle, sine, cosine):
    """
    Store one angle of four pairs (q1, q5), with its sine and cosine.

    :param angles: (SCRATCH,) out.
    :param place: 0 for joint 1, 1 for joint 5.
    :param angle, sine, cosine: values in four lanes.
    """
    lanes.store(angles, place * lanes.HALF_LANES, angle)
    lanes.store(angles, (SINES + place) * lanes.HALF_LANES, sine)
    lanes.store(angles, (COSINES + place) * lanes.HALF_LANES, cosine)


@inline_kernel
def _write_rank_one(angles, a, b, d):
    """
    Write four pairs (q1, q5) that solve two equations, for an arm whose axes 5 and 6 meet.

    The equations are a (cos q1, sin q1) + b (cos q5, sin q5) = d. One combination of them contains joint 1 only. An
    equation that no angle solves gets the angle with the least error, twice.

    :param angles: (SCRATCH,) out: rows of four: the angles [rad], their sines, their cosines.
    :param a, b: coefficients of joints 1 and 5, 2x2 matrices as tuples, row by row; b has rank one.
    :param d: right-hand sides, a pair.
    :returns: whether one of the angles is hardly determined.
    """
    alone, (m1, m2, ma1, ma2, md) = sp6.split_rank_one(a, b, d)
    sine, cosine = lane_angles.of_component(
        lanes.spread_half(alone[0]),
        lanes.spread_half(alone[1]),
        lanes.spread_half(alone[2]),
        lane_angles.side_of(lanes.places_half(), 2.0),
    )
    s, c = lane_angles.turned_by(sine, cosine)
    _store_angle(angles, 0, lanes.arc_tangent(sine, cosine), s, c)
    sine, cosine = lane_angles.of_component(
        lanes.spread_half(m1),
        lanes.spread_half(m2),
        md - ma1 * c - ma2 * s,
        lane_angles.side_of(lanes.places_half(), 1.0),
    )
    s, c = lane_angles.turned_by(sine, cosine)
    _store_angle(angles, 1, lanes.arc_tangent(sine, cosine), s, c)
    least = min(alone[0] * alone[0] + alone[1] * alone[1], m1 * m1 + m2 * m2)
    return least <= BADLY * BADLY


@kernel
def write_outer(angles, axes, points, g):
    """
    Write the pairs of angles of joints 1 and 5, the outer joints, for which the parallel joints may reach the pose.

    With one to three pairs, the other lanes repeat the last pair.

    :param angles: (SCRATCH,) out: rows of four: the angles [rad], their sines, their cosines.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :returns: (count, is_free): number of pairs, 0 to 4; whether the pose hardly determines one of the angles.
    """
    h1, h, h5, h6 = triple(axes, 0), triple(axes, 1), triple(axes, 4), triple(axes, 5)
    o1, o5, o6 = triple(points, 0), triple(points, 4), triple(points, 5)
    back = (-h1[0], -h1[1], -h1[2])
    p, d6 = vectors.subtract(map_point(g, o6), o1), vectors.subtract(o6, o5)
    a, b, c = sp4.coefficients(h, back, p)
    e, f, k = sp4.coefficients(h, h5, d6)
    a2, b2, c2 = sp4.coefficients(h, back, vectors.times(g, h6))
    e2, f2, k2 = sp4.coefficients(h, h5, h6)
    offset = vectors.subtract(o5, o1)
    inverse = 1.0 / (vectors.norm(p) + vectors.norm(d6) + vectors.norm(offset))
    height = (vectors.dot(h, offset) + k - c) * inverse
    first = (a * inverse, b * inverse, a2, b2)
    second = (-e * inverse, -f * inverse, -e2, -f2)
    if sp6.relative_determinant(second[0], second[1], second[2], second[3]) < sp6.RANK_ONE:
        is_free = _write_rank_one(angles, first, second, (height, k2 - c2))
        return 4, is_free
    pairs = matrix(angles, 0, 4, 2)
    outcome, count = sp6.solve(
        pairs, first, second, (height, k2 - c2), 1.0, vector(angles, AT_ZEROS, 4)
    )
    if count > 0:
        q1 = lane_angles.read_rows(pairs, 0, count)
        q5 = lane_angles.read_rows(pairs, 1, count)
        s1, c1 = lanes.sine_cosine(q1)
        s5, c5 = lanes.sine_cosine(q5)
        _store_angle(angles, 0, q1, s1, c1)
        _store_angle(angles, 1, q5, s5, c5)
    return count, outcome == FREE


@kernel
def write_inner(out, angles, axes, points, g):
    """
    Write eight candidates from four pairs of joints 1 and 5; return True, or False if they are unusable.

    They are unusable if the wrist of one of them is nearly singular: axis 6 nearly parallel to the parallel axes. Then
    nothing is written. Rows 2 i and 2 i + 1 belong to pair i.

    :param out: (8, 6) out: candidates, not certified.
    :param angles: (SCRATCH,) the angles of joints 1 and 5, with sines and cosines; overwritten.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    """
    h1, h, h5, h6 = triple(axes, 0), triple(axes, 1), triple(axes, 4), triple(axes, 5)
    o1, o2, o3 = triple(points, 0), triple(points, 1), triple(points, 2)
    o4, o5, o6 = triple(points, 3), triple(points, 4), triple(points, 5)
    q1, q5 = lanes.load_half(angles, 0), lanes.load_half(angles, lanes.HALF_LANES)
    s1, s5 = (
        lanes.load_half(angles, SINES * lanes.HALF_LANES),
        lanes.load_half(angles, (SINES + 1) * lanes.HALF_LANES),
    )
    c1, c5 = (
        lanes.load_half(angles, COSINES * lanes.HALF_LANES),
        lanes.load_half(angles, (COSINES + 1) * lanes.HALF_LANES),
    )
    turned = vectors.transposed_times(g, vectors.turn(h1, c1, s1, h))
    across = vectors.cross(h6, turned)
    if lanes.bits_of(vectors.dot(across, across) <= NEARLY_LINED_UP * NEARLY_LINED_UP) != 0:
        return False
    wanted = vectors.turn(h5, c5, -s5, h)
    sine, cosine = lane_angles.between(h6, turned, wanted)
    q6 = lanes.arc_tangent(sine, cosine)
    s6, c6 = lane_angles.turned_by(sine, cosine)
    # Motion K of the parallel joints, applied to a direction and to the point of axis 4.
    v = vectors.perpendicular(h)
    kv = vectors.turn(h5, c5, -s5, v)
    kv = vectors.times(g, vectors.turn(h6, c6, -s6, kv))
    kv = vectors.turn(h1, c1, -s1, kv)
    ko = map_point(g, screw(h6, o6, c6, -s6, screw(h5, o5, c5, -s5, o4)))
    reach = vectors.subtract(screw(h1, o1, c1, -s1, ko), o2)
    sine, cosine = lane_angles.between(h, v, kv)
    whole = lanes.arc_tangent(sine, cosine)
    scratch = vector(angles, 0, lanes.LANES)
    lane_angles.write_pairs(out, 0, q1, scratch)
    lane_angles.write_pairs(out, 4, q5, scratch)
    lane_angles.write_pairs(out, 5, q6, scratch)
    sign3 = 1.0 if vectors.dot(h, triple(axes, 2)) > 0.0 else -1.0
    sign4 = 1.0 if vectors.dot(h, triple(axes, 3)) > 0.0 else -1.0
    q2, elbow, rest = _elbows(h, o2, o3, o4, reach, whole)
    lane_angles.write_columns(out, 1, q2, scratch)
    lane_angles.write_columns(out, 2, sign3 * elbow, scratch)
    lane_angles.write_columns(out, 3, sign4 * rest, scratch)
    return True


@inline_kernel
def _elbows(h, o2, o3, o4, reach, whole):
    """
    Return the angles of the three parallel joints, for both elbows of four pairs of joints 1 and 5 [rad].

    Both elbows of a pair are in neighbouring lanes.

    :param h: common direction of the axes.
    :param o2, o3, o4: points of the axes.
    :param reach: required vector from ``o2`` to the point of axis 4, in four lanes.
    :param whole: sum of the three angles, in four lanes [rad].
    :returns: (q2, q3, q4): the angles of the parallel joints, each in eight lanes.
    """
    arm, base = vectors.subtract(o4, o3), vectors.subtract(o2, o3)
    a, b, middle = sp3.coefficients(h, arm, base)
    sine, cosine = lane_angles.of_component(
        lanes.spread(a),
        lanes.spread(b),
        lanes.in_pairs(middle - 0.5 * vectors.dot(reach, reach)),
        lane_angles.side_of(lanes.places(), 1.0),
    )
    elbow = lanes.arc_tangent(sine, cosine)
    s3, c3 = lane_angles.turned_by(sine, cosine)
    x = vectors.add(vectors.turn(h, c3, s3, arm), (-base[0], -base[1], -base[2]))
    sine, cosine = lane_angles.between(h, x, lane_angles.pair_of(reach))
    q2 = lanes.arc_tangent(sine, cosine)
    rest = lanes.in_pairs(whole) - q2 - elbow
    # Wrapped here without a branch: a processor cannot predict which poses need it.
    rest = lanes.select(rest > math.pi, rest - so3.TWO_PI, rest)
    return q2, elbow, lanes.select(rest <= -math.pi, rest + so3.TWO_PI, rest)
