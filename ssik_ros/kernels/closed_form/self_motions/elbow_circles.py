"""
Compute all curves on which an arm with two spherical joints keeps a pose, from the circle of its elbow.

Problem
-------
Axes 1, 2, 3 meet in S, axes 5, 6, 7 meet in W, and neighbours among them are perpendicular. A pose is given. Find its
curves within the limits.

Solutions
---------
For each of at most two values of joint 4, four closed curves (joints 2 and 6 have two signs), cut at joint limits.

Method
------
1. The pose defines the position of W, which gives q4. The rotation of the shoulder is R(psi) = R(l, psi) R_0, with l
   along the line from S to W and psi the angle of the elbow about it. Each component u . R(psi) v is a wave m + a cos
   psi + b sin psi.
2. For three perpendicular axes, the angles follow from such components: q1 = atan2 of two, q2 = acos of one, q3 = atan2
   of two. The wrist is solved in the same way. The derivatives are closed formulas, too.
3. The other sign of joint 2 is (q1 + pi, -q2, q3 + pi), where q2 is counted from the value that makes axes 1 and 3
   parallel. The same holds for the wrist. So four curves are images of one, with the same knots up to signs and half
   turns.
4. A joint reaches a limit where a wave vanishes, at two angles psi at most. Between neighbouring angles nothing
   changes, so the middle decides which images are within the limits.
5. Segments are halved until tangents and chords of neighbouring knots fit.

Degeneracies
------------
Other methods handle a stretched elbow, W near S, and a shoulder or wrist that comes near its singular posture on the
circle. They also handle poses out of reach.

Cost
----
Six arc tangents for each knot, for eight knots at once.

References
----------
[Shimizu2008] defines the arm angle and derives its limits.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import plan_layout
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments, trace
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT
from ssik_ros.kernels.geometry import joint_values, lanes, se3, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.subproblems import sp3, sp4
from ssik_ros.kernels.geometry.subproblems.outcomes import EXACT
from ssik_ros.kernels.rows.views import Floats, Memory

NOT_PLAIN = -2
"""Returned in place of the number of curves if another method must handle the pose."""

WAVES = 5
"""Number of waves of three axes: cosine of the middle joint, cosine and sine of the first and of the last joint."""
SIDE = 3 * WAVES
OFFSET, BEND = 2 * SIDE, 2 * SIDE + 2
"""Offsets after the waves of both sides: values of the middle joints that make the outer axes parallel; value of joint
4."""
ELBOW = BEND + 1
ELBOW_JOINT = 3
"""Index of joint 4; three joints of the shoulder precede it."""

FIRST_RING, RING = 8, 256
"""First and largest number of knots of the circle."""
AFTER = KIND
"""Column of a knot of the circle: row of the next knot. Column ARC is its angle psi."""
FITS = segments.COLUMNS
"""Column of a knot of the circle: 1 if the next knot is near enough."""
RING_COLUMNS = segments.COLUMNS + 1
LEAST_COSINE, LARGEST_CHORD_MISS = 0.7, 0.05
"""Least cosine of the angle between neighbouring tangents; largest distance of the chord from their mean [rad]."""
LEAST_ELBOW_SINE = 2e-3
"""Smallest sine of a middle joint or of the elbow; below it, another method must handle the pose."""
SHORTEST_KNOT_DISTANCE = 1e-5
"""Smallest distance of two knots [rad of psi]; below it, another method must handle the pose."""
LEAST_SPACING_SHARE = 0.1
"""Knots of the circle that are nearer to an end than this share of their spacing are left out [1]."""

ROOTS = 24
"""Most roots: two angles for each of two limits of six joints."""
PLACE, JOINT, UPPER, FLIP, WIDTH = range(5)
"""Columns of a root: psi; joint that reaches a limit; side of the limit, 1 for upper, -1 for lower; posture of the
joint's side of the arm, 0 or 1; distance to the next root."""
ROOT = 5
PAIR = 2 * N + 2
"""Number of rows of eight numbers: psi, joints, tangent, room."""
FIRST_TURN, BENT_TURN, TURNS = 12, 21, 30
"""Offsets after the motion of the tip that the pose requires: R_0; R_0 times the rotation of joint 4."""
MOST_CURVES = 8 * ROOTS // 2
"""Most curves: for two values of joint 4, and four images each."""
CIRCLE_ERROR = 1e-9
"""Largest Frobenius norm of FK - T at the first knot of a circle; more means that the chain does not fit this
method."""


class Circles(NamedTuple):
    """
    Arrays that build the curves of a pose for one value of joint 4.

    The circle is the curve on which the elbow turns by psi about the line from shoulder to wrist. A knot is a stored
    posture of the circle, a wave a function m + a cos psi + b sin psi. An image is the circle with one of two postures
    of the shoulder and one of two postures of the wrist; there are four. A root is an angle psi at which a joint
    reaches a limit. ``curve`` has the chain, the limits and the target; ``turns`` are rotations that the circle starts
    from.
    """

    scratch: Annotated[Floats, 'cp.scratch_size()']
    """Scratch of ``curve``."""
    elbow: Annotated[Floats, ELBOW]
    """Waves for one value of joint 4."""
    ring: Annotated[Floats, RING, RING_COLUMNS]
    """Knots of the circle; column AFTER links them in a ring."""
    ends: Annotated[Floats, ROOTS, segments.COLUMNS]
    """Knots at the roots."""
    gaps: Annotated[Floats, ROOTS, segments.COLUMNS]
    """Knots halfway between each root and the next."""
    roots: Annotated[Floats, ROOTS, ROOT]
    """Roots, sorted by psi."""
    inside: Annotated[Floats, ROOTS]
    """Images within the limits after each root, as bits: two for the shoulder, then two for the wrist."""
    image_roots: Annotated[Floats, ROOTS]
    """Indices of the roots of one image."""
    image_inside: Annotated[Floats, ROOTS]
    """1 if this image is within the limits between a root in ``image_roots`` and the next, else 0."""
    numbers: Annotated[Floats, LANES * PAIR]
    """Numbers of eight knots."""
    turns: Annotated[Floats, TURNS]
    """Motion of the tip that the pose requires; R_0; R_0 times the rotation of joint 4."""
    curve: cp.Curve


SCRATCH = Memory(Circles, '', globals())
scratch_size = SCRATCH.size('scratch_size')
_view = SCRATCH.kernel('_view')


@kernel
def find(knots, heads, target, spheres, matrix_t, ints, reals, free, work):
    """
    Write all curves of a pose within the limits, for an arm with two spherical joints; return their number.

    A curve is a path of postures that keep the pose. The number is 0 if no posture that reaches the pose is within the
    limits.

    :param knots: (., segments.COLUMNS) out: knots of all curves in turn, postures with tangent and arc length.
    :param heads: (MOST_CURVES, 2) integers out: first row and number of rows of each curve.
    :param target: (12,) out: the target with an orthonormal rotation, row by row, then its translation.
    :param spheres: (6,) S and W, the centres of shoulder and wrist in the base frame, with all joints at zero.
    :param matrix_t: (4, 4) target pose of the tip, a rigid transform.
    :param ints, reals: the plan of seven joints.
    :param free: (7,) indices of the joints: 0 to 6.
    :param work: (scratch_size(),) scratch.
    :returns: number of curves; NOT_PLAIN (-2) if another method must handle the pose, also if it is out of reach;
        NO_ROOM (-1) if the knots do not fit.
    """
    se3.from_matrix(target, matrix_t, 0)
    se3.orthonormalise(target)
    c = cp.open_curve(ints, reals, target, free, work)
    run = _view(work, c)
    turns = run.turns
    se3.compose(turns, target, plan_layout.view_plan(reals, N).inverse)
    shoulder, wrist = vectors.read(spheres, 0), vectors.read(spheres, 3)
    moved = vectors.add(vectors.times(turns, wrist), vectors.read(turns, 9))
    reach = vectors.subtract(moved, shoulder)
    h, o = vectors.read(c.axes, 9), vectors.read(c.points, 9)
    upper, lower = vectors.subtract(o, shoulder), vectors.subtract(wrist, o)
    to_shoulder = vectors.subtract(shoulder, o)
    outcome, first, second = sp3.solve(h, lower, to_shoulder, vectors.dot(reach, reach))
    near = LEAST_ELBOW_SINE * (vectors.norm(upper) + vectors.norm(lower))
    is_bent = abs(math.sin(0.5 * (first - second))) > LEAST_ELBOW_SINE
    if outcome != EXACT or not (is_bent and vectors.norm(reach) > near):
        return NOT_PLAIN
    count, row = 0, 0
    for choice in range(2):
        bend = first if choice == 0 else second
        if c.lower[3] > -math.inf:
            bend = joint_values.winding(bend, 0.5 * (c.lower[3] + c.upper[3]))
            if (
                not c.lower[3] - joint_values.LIMIT_ROUNDING
                <= bend
                <= c.upper[3] + joint_values.LIMIT_ROUNDING
            ):
                continue
            bend = min(max(bend, c.lower[3]), c.upper[3])
        run.elbow[BEND] = bend
        folded = vectors.add(upper, vectors.rotate(h, bend, lower))
        _write_turns(turns, h, bend, folded, reach)
        if not _write_waves(run, turns, reach) or not _write_ring(run):
            return NOT_PLAIN
        size = _write_roots(run)
        for image in range(4):
            more, row = _write_image(run, knots, heads, count, row, image, size)
            if more < 0:
                return more
            count += more
    return count


@inline_kernel
def _row_of(column):
    """Return the index in ``Circles.numbers`` of eight numbers: joint k in column k, its derivative in column N + k."""
    return LANES * (1 + column)


@kernel
def _write_turns(turns, h, bend, folded, reach):
    """
    Write two rotations that the elbow circle starts from: R_0 of the shoulder, and R_0 times the rotation of joint 4.

    R_0 turns the line from shoulder to folded wrist onto ``reach``; it is the rotation of joints 1 to 3 at psi = 0.

    :param turns: (TURNS,) out: both rotations, row by row, from FIRST_TURN and BENT_TURN on.
    :param h: direction of axis 4.
    :param bend: value of joint 4 [rad].
    :param folded: vector from shoulder centre S to wrist centre W with joint 4 at ``bend``, other joints at zero.
    :param reach: vector from S to W that the pose requires.
    """
    a, b = _unit(folded), _unit(reach)
    side_a, side_b = vectors.perpendicular(a), vectors.perpendicular(b)
    up_a, up_b = vectors.cross(a, side_a), vectors.cross(b, side_b)
    first, bent = vector(turns, FIRST_TURN, 9), vector(turns, BENT_TURN, 9)
    for i in range(3):
        for k in range(3):
            first[3 * i + k] = b[i] * a[k] + side_b[i] * side_a[k] + up_b[i] * up_a[k]
    for k in range(3):
        column = vectors.times(first, vectors.rotate(h, bend, vectors.unit(k)))
        for i in range(3):
            bent[3 * i + k] = column[i]


@inline_kernel
def _unit(a):
    """Return the unit vector in the direction of a vector."""
    return vectors.scale(1.0 / vectors.norm(a), a)


@kernel
def _write_waves(run, turns, reach):
    """
    Write into ``run.elbow`` the joints of shoulder and wrist as functions of the elbow angle psi.

    They are five waves for each side: cosine of the middle joint, cosine and sine of the first and of the last joint.
    A wave m + a cos psi + b sin psi is stored as (m, a, b). At OFFSET are the values of joints 2 and 6 that make their
    neighbouring axes parallel [rad].

    :param run: a :class:`Circles`.
    :param turns: (TURNS,) motion of the tip, and the rotations of :func:`_write_turns`.
    :param reach: vector from the shoulder centre to the wrist centre that the pose requires.
    :returns: False if the shoulder or the wrist comes near its singular posture on the circle.
    """
    c, elbow, line = run.curve, run.elbow, _unit(reach)
    first, bent = vector(turns, FIRST_TURN, 9), vector(turns, BENT_TURN, 9)
    for side in range(2):
        a, b = vectors.read(c.axes, 12 * side), vectors.read(c.axes, 12 * side + 3)
        z = vectors.read(c.axes, 12 * side + 6)
        across, beyond = vectors.cross(a, b), vectors.cross(z, b)
        elbow[OFFSET + side] = math.atan2(vectors.dot(z, across), vectors.dot(z, a))
        for k in range(WAVES):
            left = a if k == 0 or k > 2 else (vectors.scale(-1.0, across) if k == 1 else b)
            right = z if k < 3 else (beyond if k == 3 else b)
            if side == 0:
                wave = sp4.coefficients(left, line, vectors.times(first, right))
            else:
                # The wrist's rotation is the elbow's rotation reversed, then the pose.
                wave = sp4.coefficients(
                    vectors.times(turns, right), line, vectors.times(bent, left)
                )
            vectors.write(elbow, SIDE * side + 3 * k, (wave[2], wave[0], wave[1]))
        mean, cosine, sine = vectors.read(elbow, SIDE * side)
        most = abs(mean) + math.sqrt(cosine * cosine + sine * sine)
        if not 1.0 - most > 0.5 * LEAST_ELBOW_SINE * LEAST_ELBOW_SINE:
            return False
    return True


@kernel
def _write_ring(run):
    """
    Write into ``run.ring`` knots of the whole elbow circle, so dense that the cubics between neighbours are accurate.

    :param run: a :class:`Circles` with the waves of one value of joint 4.
    :returns: False if the chain misses the pose, the knots come too near to each other, or more than RING are needed.
    """
    ring, count = run.ring, FIRST_RING
    for row in range(count):
        ring[row, ARC], ring[row, FITS] = 2.0 * math.pi * row / FIRST_RING, 0.0
        ring[row, AFTER] = row + 1 if row + 1 < FIRST_RING else 0
    _write_knots(run, ring, 0, count)
    if not _reaches(run):
        return False
    while True:
        first = count
        for row in range(first):
            after = int(ring[row, AFTER])
            if ring[row, FITS] > 0.0 or _fit(ring, row, after):
                ring[row, FITS] = 1.0
                continue
            step = ring[after, ARC] - ring[row, ARC]
            step += 2.0 * math.pi if step <= 0.0 else 0.0
            if step < SHORTEST_KNOT_DISTANCE or count == RING:
                return False
            ring[count, ARC], ring[count, FITS] = ring[row, ARC] + 0.5 * step, 0.0
            ring[count, AFTER], ring[row, AFTER] = after, count
            count += 1
        if count == first:
            return True
        _write_knots(run, ring, first, count - first)


@inline_kernel
def _reaches(run):
    """
    Return whether the first knot of the elbow circle reaches the pose.

    It does if the Frobenius norm of FK - T there is at most CIRCLE_ERROR.

    :param run: a :class:`Circles` with the knot in ``ring``.
    """
    cp.measure(run.curve, run.ring[0], run.curve.errors)
    return run.curve.errors[2] <= CIRCLE_ERROR


@kernel
def _fit(table, a, b):
    """
    Return whether the cubic between knots a and b, two stored postures in rows of a table, is accurate enough.

    The cosine between both tangents must be at least LEAST_COSINE, and the chord must fit the mean of the tangents.

    :param table: (., segments.COLUMNS or more) knots: postures with tangents.
    :param a, b: rows of both knots.
    """
    square, cosine = 0.0, 0.0
    for k in range(N):
        change = segments.wrapped(table[b, k] - table[a, k], -math.inf)
        square += change * change
        cosine += table[a, TANGENT + k] * table[b, TANGENT + k]
    half = 0.5 * math.sqrt(square) * (1.0 + max(0.0, 1.0 - cosine) / 12.0)
    miss = 0.0
    for k in range(N):
        change = segments.wrapped(table[b, k] - table[a, k], -math.inf)
        miss += (change - half * (table[a, TANGENT + k] + table[b, TANGENT + k])) ** 2
    return cosine >= LEAST_COSINE and miss <= LARGEST_CHORD_MISS * LARGEST_CHORD_MISS


@kernel
def _write_knots(run, table, first, count):
    """
    Write joint values, unit tangent and distance from singular postures of knots at given elbow angles psi.

    A knot is a stored posture of the elbow circle. The distance is the least sine of joints 2 and 6, counted from their
    singular values, in column LEAST_PIVOT.

    :param run: a :class:`Circles`, as :func:`find` prepares it.
    :param table: (., segments.COLUMNS) or more columns; column ARC has the angle psi of each row.
    :param first, count: first row, and number of rows.
    """
    numbers = run.numbers
    for start in range(first, first + count, LANES):
        for lane in range(LANES):
            numbers[lane] = table[min(start + lane, first + count - 1), ARC]
        sine, cosine = lanes.sine_cosine(lanes.load(numbers, 0))
        room, square = lanes.spread(1.0), lanes.spread(0.0)
        for side in range(2):
            least, more = _write_side(run, side, cosine, sine)
            room, square = lanes.lesser(room, least), square + more
        size = 1.0 / lanes.root(square)
        lanes.store(numbers, LANES * (PAIR - 1), room)
        lanes.store(numbers, _row_of(ELBOW_JOINT), lanes.spread(run.elbow[BEND]))
        lanes.store(numbers, _row_of(N + ELBOW_JOINT), lanes.spread(0.0))
        for k in range(N):
            at = _row_of(N + k)
            lanes.store(numbers, at, size * lanes.load(numbers, at))
        for lane in range(min(LANES, first + count - start)):
            for k in range(2 * N):
                table[start + lane, k] = numbers[_row_of(k) + lane]
            table[start + lane, segments.LEAST_PIVOT] = numbers[LANES * (PAIR - 1) + lane]


@inline_kernel
def _wave(elbow, side, k, cosine, sine):
    """
    Return (value, derivative by psi) of a wave of one side of the arm, in each lane.

    A wave is a function ``m + a cos(psi) + b sin(psi)`` of the elbow angle psi.

    :param elbow: coefficients (m, a, b) of the waves of both sides, as :func:`_write_waves` stores them.
    :param side: 0 for the shoulder, 1 for the wrist.
    :param k: index of the wave, below WAVES.
    :param cosine, sine: cosine and sine of the elbow angle psi, in eight lanes.
    """
    mean, a, b = vectors.read(elbow, SIDE * side + 3 * k)
    return mean + a * cosine + b * sine, b * cosine - a * sine


@inline_kernel
def _write_side(run, side, cosine, sine):
    """
    Write three joints of one side of the arm, and their derivatives by psi, for eight knots into ``run.numbers``.

    :param run: a :class:`Circles` with the waves of both sides.
    :param side: 0 for the shoulder, joints 1 to 3; 1 for the wrist, joints 5 to 7.
    :param sine, cosine: sine and cosine of psi, in eight lanes.
    :returns: (sine, sum): sine of joint 2 or 6, counted from its singular value, and the sum of the squared
        derivatives, in eight lanes.
    """
    middle, middle_slope = _wave(run.elbow, side, 0, cosine, sine)
    x, x_slope = _wave(run.elbow, side, 1, cosine, sine)
    y, y_slope = _wave(run.elbow, side, 2, cosine, sine)
    u, u_slope = _wave(run.elbow, side, 3, cosine, sine)
    v, v_slope = _wave(run.elbow, side, 4, cosine, sine)
    square = x * x + y * y
    size, at = lanes.root(square), _row_of((ELBOW_JOINT + 1) * side)
    first, last = (x * y_slope - y * x_slope) / square, (u * v_slope - v * u_slope) / square
    turn = -middle_slope / size
    lanes.store(run.numbers, at, lanes.arc_tangent(y, x))
    lanes.store(
        run.numbers, at + LANES, run.elbow[OFFSET + side] + lanes.arc_tangent(size, middle)
    )
    lanes.store(run.numbers, at + 2 * LANES, lanes.arc_tangent(v, u))
    at += LANES * N
    lanes.store(run.numbers, at, first)
    lanes.store(run.numbers, at + LANES, turn)
    lanes.store(run.numbers, at + 2 * LANES, last)
    return size, first * first + turn * turn + last * last


@kernel
def _write_roots(run):
    """
    Write the roots into ``run.roots``, sorted: the angles psi at which a joint reaches a limit; return their number.

    Also write the postures at the roots (``run.ends``) and halfway to the next root (``run.gaps``). ``run.inside``
    tells which postures of shoulder and wrist are within the limits halfway. Without roots, the whole circle is one gap
    with its knot at psi = 0.

    :param run: a :class:`Circles` with the waves of one value of joint 4.
    """
    c, elbow, count = run.curve, run.elbow, 0
    for side in range(2):
        at = SIDE * side
        for k in range(3):
            joint = 4 * side + k
            for upper in range(2 if c.lower[joint] > -math.inf else 0):
                limit = c.upper[joint] if upper == 1 else c.lower[joint]
                if k == 1:
                    limit -= elbow[OFFSET + side]
                sine, cosine = math.sin(limit), math.cos(limit)
                if k == 1:
                    wave = vectors.subtract(vectors.read(elbow, at), (cosine, 0.0, 0.0))
                    sign_wave = (sine, 0.0, 0.0)
                else:
                    x = vectors.read(elbow, at + (3 if k == 0 else 9))
                    y = vectors.read(elbow, at + (6 if k == 0 else 12))
                    wave = vectors.subtract(vectors.scale(sine, x), vectors.scale(cosine, y))
                    sign_wave = vectors.add(vectors.scale(cosine, x), vectors.scale(sine, y))
                outcome, one, other = sp4.solve_linear(wave[1], wave[2], -wave[0], 1.0)
                if outcome == EXACT:
                    _add_root(run.roots, count, one, sign_wave, joint, upper)
                    _add_root(run.roots, count + 1, other, sign_wave, joint, upper)
                    count += 2
    for i in range(count):
        psi = run.roots[i, PLACE]
        next_psi = (
            run.roots[i + 1, PLACE] if i + 1 < count else run.roots[0, PLACE] + 2.0 * math.pi
        )
        run.ends[i, ARC], run.gaps[i, ARC] = psi, 0.5 * (psi + next_psi)
        run.roots[i, WIDTH] = next_psi - psi
    if count == 0:
        run.gaps[0, ARC], run.roots[0, WIDTH] = 0.0, 2.0 * math.pi
    _write_knots(run, run.ends, 0, count)
    _write_knots(run, run.gaps, 0, max(count, 1))
    for i in range(max(count, 1)):
        run.inside[i] = _images_inside(run, run.gaps[i])
    return count


@kernel
def _add_root(roots, count, psi, sign_wave, joint, upper):
    """
    Insert a root, an angle psi at which a joint reaches a limit, into the ``count`` sorted roots.

    :param roots: (ROOTS, ROOT) rows PLACE (psi in [0, 2 pi)), JOINT, UPPER (1 for an upper limit, -1 for a lower one),
        FLIP; the width of the gap after the root is not written.
    :param psi: angle at which the joint reaches its limit [rad].
    :param sign_wave: wave (m, a, b). If its value at psi is negative, FLIP is 1: the root belongs to images with the
        other posture of the joint's side of the arm.
    :param joint, upper: index of the joint; 1 for its upper limit, 0 for its lower limit.
    """
    value, _ = _wave(sign_wave, 0, 0, math.cos(psi), math.sin(psi))
    if psi < 0.0:
        psi += 2.0 * math.pi
    row = count
    while row > 0 and roots[row - 1, PLACE] > psi:
        for k in range(ROOT):
            roots[row, k] = roots[row - 1, k]
        row -= 1
    roots[row, PLACE], roots[row, JOINT] = psi, joint
    roots[row, UPPER], roots[row, FLIP] = 2.0 * upper - 1.0, 0.0 if value >= 0.0 else 1.0


@inline_kernel
def _in_image(run, value, joint, flip):
    """
    Return the value of a joint in an image of the elbow circle, from its value on the circle [rad].

    An image is the circle with one of two postures of the shoulder and one of two postures of the wrist.

    :param run: a :class:`Circles` with the values that make neighbouring axes parallel.
    :param value: value of the joint on the circle.
    :param joint: index of the joint.
    :param flip: 1 if the joint's side of the arm, shoulder or wrist, is in its other posture in the image, else 0.
    """
    if flip == 0 or joint == ELBOW_JOINT:
        return value
    if joint % 4 == 1:
        return 2.0 * run.elbow[OFFSET + joint // 4] - value
    return value + math.pi


@kernel
def _images_inside(run, knot):
    """
    Return a bit mask of the postures of shoulder and wrist that are within the limits at a knot of the elbow circle.

    Bit 2 side + flip stands for three joints of a side: side 0 is the shoulder, 1 the wrist; flip 1 is its other
    posture.

    :param run: a :class:`Circles` with the limits.
    :param knot: joint values of the knot.
    """
    c, bits = run.curve, 0
    for side in range(2):
        for flip in range(2):
            is_inside = True
            for joint in range(4 * side, 4 * side + 3):
                low, high = c.lower[joint], c.upper[joint]
                if low > -math.inf:
                    value = _in_image(run, knot[joint], joint, flip)
                    value = joint_values.winding(value, 0.5 * (low + high))
                    is_inside = (
                        is_inside
                        and low - joint_values.LIMIT_ROUNDING
                        <= value
                        <= high + joint_values.LIMIT_ROUNDING
                    )
            bits += (1 << (2 * side + flip)) if is_inside else 0
    return bits


@inline_kernel
def _flip_of(image, joint):
    """
    Return 1 if the shoulder or wrist that a joint belongs to is in its other posture in an image, else 0.

    An image is the curve of an arm's elbow circle with one of two postures of shoulder and of wrist.

    :param image: bit 0 is 1 for the other posture of the shoulder, bit 1 for the other posture of the wrist.
    :param joint: index of the joint; 0 to 3 belong to the shoulder, 4 to 6 to the wrist.
    """
    return (image >> (joint // 4)) & 1


@kernel
def _write_image(run, knots, heads, count, row, image, size):
    """
    Write the parts of one image of the elbow circle that are within the limits, each as a curve.

    An image is the circle with one of two postures of the shoulder and one of two postures of the wrist.

    :param run: a :class:`Circles`, as :func:`find` prepares it.
    :param knots, heads: out: knots, and first row and number of rows of each curve.
    :param count, row: number of heads and of rows of knots that are in use before.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    :param size: number of roots.
    :returns: (curves, row): number of written curves, or NO_ROOM if their knots do not fit; and the next free row of
        knots.
    """
    image_roots, n_roots, outside = run.image_roots, 0, -1
    for root in range(size):
        joint = int(run.roots[root, JOINT])
        if int(run.roots[root, FLIP]) == _flip_of(image, joint):
            image_roots[n_roots] = root
            n_roots += 1
    stretches = max(n_roots, 1)
    for i in range(stretches):
        begin = int(image_roots[i]) if n_roots > 0 else 0
        end = (
            int(image_roots[i + 1])
            if i + 1 < n_roots
            else (int(image_roots[0]) if n_roots > 0 else 0)
        )
        run.image_inside[i] = _is_inside(run, image, begin, end, size)
        if run.image_inside[i] == 0.0:
            outside = i
    if outside < 0:
        rows = _write_whole(run, knots, row, image)
        heads[count, trace.FIRST_ROW], heads[count, trace.ROWS] = row, rows
        return (1, row + rows) if rows > 0 else (rows, row)
    n_curves, begin = 0, -1
    for k in range(1, stretches + 1):
        i = (outside + k) % stretches
        is_inside = run.image_inside[i] > 0.0
        if is_inside and begin < 0:
            begin = i
        if is_inside or begin < 0:
            continue
        rows = _write_stretch(run, knots, row, image, int(image_roots[begin]), int(image_roots[i]))
        if rows < 0:
            return rows, row
        at = count + n_curves
        heads[at, trace.FIRST_ROW], heads[at, trace.ROWS] = row, rows
        n_curves, row, begin = n_curves + 1, row + rows, -1
    return n_curves, row


@kernel
def _is_inside(run, image, begin, end, size):
    """
    Return 1.0 if an image is within the limits between two neighbouring roots of it, else 0.0.

    An image is the circle with one of two postures of the shoulder and one of two postures of the wrist. Roots of other
    images may lie between both roots, and cut the range into gaps. The posture in the middle of the widest of these
    gaps decides.

    :param run: a :class:`Circles` with the roots.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    :param begin, end: indices of the roots, angles psi at which a joint reaches a limit; if they are equal, the whole
        circle is meant.
    :param size: number of roots.
    """
    bits = (1 << _flip_of(image, 0)) | (4 << _flip_of(image, 4))
    gap, widest, is_inside = begin, -1.0, 0.0
    while True:
        if run.roots[gap, WIDTH] > widest:
            widest = run.roots[gap, WIDTH]
            is_inside = 1.0 if int(run.inside[gap]) & bits == bits else 0.0
        gap = gap + 1 if gap + 1 < size else 0
        if gap == end or size == 0:
            return is_inside


@kernel
def _write_whole(run, knots, first, image):
    """
    Write the whole elbow circle of an image as a closed curve, its first knot repeated at the end.

    An image is the circle with one of two postures of the shoulder and one of two postures of the wrist.

    :param run: a :class:`Circles` with the knots of the circle.
    :param knots: (., segments.COLUMNS) out.
    :param first: row of the first knot.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    :returns: number of knots, or NO_ROOM if they do not fit.
    """
    row, at = 0, first
    while True:
        if at == knots.shape[0]:
            return trace.NO_ROOM
        _put(run, knots, at, first, run.ring[row], image)
        if at > first and row == 0:
            knots[at, KIND] = trace.CLOSED
            return at - first + 1
        row, at = int(run.ring[row, AFTER]), at + 1


@kernel
def _write_stretch(run, knots, first, image, begin, end):
    """
    Write the part of an image's circle from root ``begin`` to root ``end`` as one curve.

    A root is an angle psi at which a joint reaches a limit.

    :param run: a :class:`Circles` with the roots and the knots of the circle.
    :param knots: (., segments.COLUMNS) out.
    :param first: row of the first knot.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    :param begin, end: indices of both roots.
    :returns: number of knots; 1 for a stretch without length; NO_ROOM if they do not fit.
    """
    start, stop = run.roots[begin, PLACE], run.roots[end, PLACE]
    stop += 2.0 * math.pi if end < begin else 0.0
    if first + 2 > knots.shape[0]:
        return trace.NO_ROOM
    _write_end(run, knots, first, first, image, begin)
    row, lap, at = 0, 0.0, first + 1
    while True:
        after = int(run.ring[row, AFTER])
        psi = run.ring[row, ARC] + lap
        lap += 2.0 * math.pi if after == 0 else 0.0
        near = LEAST_SPACING_SHARE * (run.ring[after, ARC] + lap - psi)
        if psi >= stop - near:
            break
        if at + 2 > knots.shape[0]:
            return trace.NO_ROOM
        if psi > start + near:
            _put(run, knots, at, first, run.ring[row], image)
            at += 1
        row = after
    _write_end(run, knots, at, first, image, end)
    # Zero length: a single posture between two limits.
    return at - first + 1 if knots[at, ARC] > 0.0 else 1


@kernel
def _write_end(run, knots, at, first, image, root):
    """
    Write an end of a curve into row ``at`` of ``knots``: the knot at a root, with its joint exactly on the limit.

    :param run: a :class:`Circles` with the roots.
    :param knots: (., segments.COLUMNS) out.
    :param first: row of the first knot of the curve.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    :param root: index of the root, an angle psi at which a joint reaches a limit.
    """
    joint, side = int(run.roots[root, JOINT]), run.roots[root, UPPER]
    _put(run, knots, at, first, run.ends[root], image)
    knots[at, joint] = run.curve.upper[joint] if side > 0.0 else run.curve.lower[joint]
    knots[at, KIND] = trace.limit_kind(joint, side)


@kernel
def _put(run, knots, at, first, knot, image):
    """
    Write an image of one knot of the elbow circle into row ``at`` of ``knots``, and its arc length from row ``first``.

    An image is the circle with one of two postures of the shoulder and one of two postures of the wrist. Joints with
    limits get the winding nearest to the middle of their limits, others the winding nearest to the row before.

    :param run: a :class:`Circles` with the limits.
    :param knots: (., segments.COLUMNS) out.
    :param knot: joints, tangent and other columns of the knot on the circle.
    :param image: bit 0 for the shoulder's other posture, bit 1 for the wrist's other posture.
    """
    c = run.curve
    for k in range(N):
        flip, near = _flip_of(image, k), 0.0
        if c.lower[k] > -math.inf:
            near = 0.5 * (c.lower[k] + c.upper[k])
        elif at > first:
            near = knots[at - 1, k]
        knots[at, k] = joint_values.winding(_in_image(run, knot[k], k, flip), near)
        is_turned = flip == 1 and k % 4 == 1
        knots[at, TANGENT + k] = -knot[TANGENT + k] if is_turned else knot[TANGENT + k]
    knots[at, segments.LEAST_PIVOT], knots[at, KIND], knots[at, ARC] = (
        knot[segments.LEAST_PIVOT],
        0.0,
        0.0,
    )
    if at > first:
        knots[at, ARC] = knots[at - 1, ARC] + segments.length_of(knots, at - 1, at)
