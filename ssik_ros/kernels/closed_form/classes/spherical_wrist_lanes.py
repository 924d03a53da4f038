"""
Compute all candidates of an arm with a spherical wrist together, in SIMD lanes; a nearly straight wrist is refused.

See :mod:`spherical_wrist` for the formulas. If axes 2 and 3 are parallel, four lanes compute the four postures of the
first three joints; in other cases the caller gives up to four postures. Then eight lanes compute both wrists of each
posture, in two neighbouring lanes.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    screw,
    triple,
)
from ssik_ros.kernels.geometry import lane_angles, lanes, vectors
from ssik_ros.kernels.geometry.subproblems import sp3, sp4, three_axes
from ssik_ros.kernels.geometry.subproblems.outcomes import BADLY

SINES, COSINES = 3, 6
"""First rows of the sines and of the cosines, after the angles of three joints."""
SCRATCH = 9 * lanes.HALF_LANES
"""Numbers that the kernels here need: three angles of each posture, with their sines and cosines."""


@inline_kernel
def _store_angle(angles, joint, y, x):
    """
    Store the angle atan2(y, x), with its sine and cosine, as the angle of one joint in four postures.

    :param angles: (SCRATCH,) out: four lanes for each number.
    :param joint: index of the joint, 0 to 2.
    :param y, x: numbers in four lanes.
    :returns: (sine, cosine) of the angle, in four lanes each.
    """
    s, c = lane_angles.turned_by(y, x)
    lanes.store(angles, joint * lanes.HALF_LANES, lanes.arc_tangent(y, x))
    lanes.store(angles, (SINES + joint) * lanes.HALF_LANES, s)
    lanes.store(angles, (COSINES + joint) * lanes.HALF_LANES, c)
    return s, c


@inline_kernel
def _load_angle(angles, joint):
    """
    Return (sine, cosine) of one joint in four postures, in four lanes each.

    :param angles: (SCRATCH,) with the angle, from :func:`_store_angle`.
    :param joint: index of the joint, 0 to 2.
    """
    return (
        lanes.load_half(angles, (SINES + joint) * lanes.HALF_LANES),
        lanes.load_half(angles, (COSINES + joint) * lanes.HALF_LANES),
    )


@kernel
def write_arm_parallel_23(angles, axes, points, w, p):
    """
    Write joints 1 to 3 of four postures that move the wrist centre W to p. Axes 2 and 3 must be parallel.

    If p is out of reach, the postures have the angles that come nearest, and miss p.

    :param angles: (SCRATCH,) out: rows of four: the angles [rad], their sines, their cosines.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero.
    :param w, p: W with all joints at zero, and its target G W.
    :returns: whether the pose hardly determines joint 1, because p is on axis 1 or close to it.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    o1, o2, o3 = triple(points, 0), triple(points, 1), triple(points, 2)
    back = (-h1[0], -h1[1], -h1[2])
    a, b, c = sp4.coefficients(h2, back, vectors.subtract(p, o1))
    height = vectors.dot(h2, vectors.subtract(w, o1)) - c
    lever = vectors.subtract(p, o2)
    is_free = a * a + b * b <= BADLY * BADLY * vectors.dot(lever, lever)
    side = lane_angles.side_of(lanes.places_half(), 2.0)
    sine, cosine = lane_angles.of_component(
        lanes.spread_half(a), lanes.spread_half(b), lanes.spread_half(height), side
    )
    s1, c1 = _store_angle(angles, 0, sine, cosine)
    reach = vectors.subtract(screw(back, o1, c1, s1, p), o2)
    a, b, middle = sp3.coefficients(h3, vectors.subtract(w, o3), vectors.subtract(o2, o3))
    sine, cosine = lane_angles.of_component(
        lanes.spread_half(a),
        lanes.spread_half(b),
        middle - 0.5 * vectors.dot(reach, reach),
        lane_angles.side_of(lanes.places_half(), 1.0),
    )
    s3, c3 = _store_angle(angles, 2, sine, cosine)
    x = screw(h3, o3, c3, s3, w)
    sine, cosine = lane_angles.between(h2, vectors.subtract(x, o2), reach)
    _store_angle(angles, 1, sine, cosine)
    return is_free


@kernel
def spread_arm(angles, arm, count):
    """
    Write given values of joints 1 to 3 of up to four postures into lanes, with their sines and cosines.

    With fewer than four postures, the other lanes repeat the last one.

    :param angles: (SCRATCH,) out: rows of four: the angles, their sines, their cosines.
    :param arm: (4, 3) postures of the first three joints in its first ``count`` rows [rad].
    :param count: number of postures, 1 to 4.
    """
    for k in range(3):
        angle = lane_angles.read_rows(arm, k, count)
        sine, cosine = lanes.sine_cosine(angle)
        lanes.store(angles, k * lanes.HALF_LANES, angle)
        lanes.store(angles, (SINES + k) * lanes.HALF_LANES, sine)
        lanes.store(angles, (COSINES + k) * lanes.HALF_LANES, cosine)


@inline_kernel
def undo(h1, s1, c1, h2, s2, c2, h3, s3, c3, v):
    """
    Return a vector with the rotations of joints 1 to 3 undone: (R_1 R_2 R_3)^T v.

    :param h1, h2, h3: unit axes.
    :param s1, c1, s2, c2, s3, c3: sines and cosines of the angles.
    :param v: the vector.
    """
    return vectors.turn(h3, c3, -s3, vectors.turn(h2, c2, -s2, vectors.turn(h1, c1, -s1, v)))


@kernel
def write_wrists(out, angles, axes, g):
    """
    Complete four postures of joints 1 to 3 by both wrists: write eight candidates and return True.

    If a wrist is nearly straight, nothing is written, and the result is False. Rows 2 i and 2 i + 1 belong to posture
    i.

    :param out: (8, 6) out: candidates, not certified.
    :param angles: (SCRATCH,) joints 1 to 3, with sines and cosines, in four lanes; overwritten.
    :param axes: (18,) directions of the six axes, all joints at zero.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    """
    h1, h2, h3 = triple(axes, 0), triple(axes, 1), triple(axes, 2)
    h4, h5, h6 = triple(axes, 3), triple(axes, 4), triple(axes, 5)
    q1, q2 = lanes.load_half(angles, 0), lanes.load_half(angles, lanes.HALF_LANES)
    q3 = lanes.load_half(angles, 2 * lanes.HALF_LANES)
    (s1, c1), (s2, c2) = _load_angle(angles, 0), _load_angle(angles, 1)
    s3, c3 = _load_angle(angles, 2)
    image = undo(h1, s1, c1, h2, s2, c2, h3, s3, c3, vectors.times(g, h6))
    tilt = vectors.cross(h4, image)
    nearly = three_axes.NEARLY_ALIGNED * three_axes.NEARLY_ALIGNED
    if lanes.bits_of(vectors.dot(tilt, tilt) <= nearly) != 0:
        return False
    moved = vectors.turn(h1, c1, s1, vectors.turn(h2, c2, s2, vectors.turn(h3, c3, s3, h4)))
    side = lanes.select(vectors.dot(h4, image) >= 0.0, 1.0, -1.0)
    a, b, rest, height = three_axes.squared_height(h4, h5, h6, image, side)
    # From here on both wrists of each posture.
    x = lanes.in_pairs(lanes.root(lanes.greater(height, 0.0)))
    x = lane_angles.side_of(lanes.places(), 1.0) * x
    rest, image = lanes.in_pairs(rest), lane_angles.pair_of(image)
    sine, cosine = b * rest + a * x, a * rest - b * x
    q5 = lanes.arc_tangent(sine, cosine)
    s5, c5 = lane_angles.turned_by(sine, cosine)
    sine, cosine = lane_angles.between(h4, vectors.turn(h5, c5, s5, h6), image)
    q4 = lanes.arc_tangent(sine, cosine)
    wanted = lane_angles.pair_of(vectors.transposed_times(g, moved))
    sine, cosine = lane_angles.between(h6, vectors.turn(h5, c5, -s5, h4), wanted)
    q6 = -lanes.arc_tangent(sine, cosine)
    scratch = vector(angles, 0, lanes.LANES)
    lane_angles.write_pairs(out, 0, q1, scratch)
    lane_angles.write_pairs(out, 1, q2, scratch)
    lane_angles.write_pairs(out, 2, q3, scratch)
    lane_angles.write_columns(out, 3, q4, scratch)
    lane_angles.write_columns(out, 4, q5, scratch)
    lane_angles.write_columns(out, 5, q6, scratch)
    return True
