"""
Postures on edges and faces of the limits that come nearest to a pose.

Problem
-------
Descents hardly end at a solution that has nearly all joints on their limits or next to them. Return postures of this
kind that nearly reach a pose.

Method
------
On an edge all joints but one are on a limit. Along a turning joint the squared error of the pose, over both position
and rotation, is a + b cos q + c sin q; along a prismatic joint it is a parabola of given curvature. Three values
determine the first, two values the second, and so the joint value with the smallest error. On a face two joints move:
one is swept over a few values, and at each the other moves as on an edge. The nearest of these postures are kept, each
once.

Degeneracies
------------
A joint without two finite limits has to be the joint that moves. If there are two such joints, there are no edges, and
both move on every face. If there are three, there are no faces. Chains of more than MOST_JOINTS joints are not tried.

Cost
----
n 2^(n - 1) edges with up to five forward passes each, 0.6 ms for seven joints, and n (n - 1) 2^(n - 3) faces with eight
times as many, 8 ms.
"""

import math

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.closed_form.singular.singular_refinement import Aim
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.geometry.vectors import copy

MOST_JOINTS = 8
"""Most joints of a chain whose edges and faces are tried."""
SWEPT = 8
"""Values of the swept joint of a face."""
NOTHING_SWEPT = -1
"""The swept joint of an edge."""
EDGE_SEPARATION = 1e-9
"""If all joints of two postures differ by at most this share of their range, they are one posture [1]."""


@kernel
def find_nearest(
    out,
    errors,
    lower,
    upper,
    axes,
    points,
    home,
    n,
    slides,
    joints,
    target,
    unit,
    on_faces,
    q,
    scratch,
):
    """
    Try postures on all edges or faces of the limits, and write those nearest to a pose, the nearest first.

    On an edge all joints but one are on a limit, and the best value of this joint is computed. On a face all joints but
    two are, and one of both takes only SWEPT values. So a better posture of a face may lie between them.

    :param out: (most, n) out; ``most`` is the largest number of postures.
    :param errors: (most,) out: Frobenius norms of FK - T, lengths divided by ``unit``.
    :param lower, upper: (n,) limits, may be infinite.
    :param axes, points, home, n, slides, target, unit: chain, target pose and unit of length, as in
        :class:`singular_refinement.Aim`.
    :param joints: (n,) indices of the joints: 0 to n - 1.
    :param on_faces: True lets two joints move (faces), False one (edges).
    :param q: (n,) scratch.
    :param scratch: (certify.scratch_size(n),) numbers.
    :returns: number of postures; 0 for chains of more than MOST_JOINTS joints, and if too many joints have no limits.
    """
    if n > MOST_JOINTS:
        return 0
    count, aim = 0, Aim(axes, points, home, n, slides, joints, n, target, unit)
    for moving in range(n):
        for swept in range(moving if on_faces else 1):
            swept = swept if on_faces else NOTHING_SWEPT
            if _others_have_limits(moving, swept, lower, upper):
                count = _keep_nearest(
                    out, errors, count, q, moving, swept, lower, upper, aim, scratch
                )
    for k in range(count):
        errors[k] = math.sqrt(errors[k])
    return count


@kernel
def _others_have_limits(moving, swept, lower, upper):
    """
    Return whether all joints except ``moving`` and ``swept`` have two finite limits.

    :param moving, swept: indices of two joints.
    :param lower, upper: (n,) limits.
    """
    are_limited = True
    for v in range(lower.shape[0]):
        is_limited = math.isfinite(lower[v]) and math.isfinite(upper[v])
        are_limited = are_limited and (is_limited or v == moving or v == swept)
    return are_limited


@kernel
def _keep_nearest(out, errors, count, q, moving, swept, lower, upper, aim, scratch):
    """
    Try all edges or faces along given joints, and insert the nearest postures into ``out``.

    On an edge all joints but ``moving`` are on a limit, on a face all but ``moving`` and ``swept``.

    :param out, errors: postures (most, n), the nearest first, and their squared errors (most,); changed.
    :param count: number of rows in use before.
    :param q: (n,) scratch.
    :param moving: index of the joint whose best value is computed.
    :param swept: index of the joint that takes SWEPT values, or NOTHING_SWEPT for edges.
    :param lower, upper: (n,) limits.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param scratch: (certify.scratch_size(n),) numbers.
    :returns: new number of rows in use.
    """
    for corner in range(1 << aim.n):
        if not _put_on_corner(q, corner, moving, swept, lower, upper):
            continue
        for sample in range(1 if swept == NOTHING_SWEPT else SWEPT):
            if swept != NOTHING_SWEPT:
                low, high = _range_of(swept, lower, upper, aim)
                q[swept] = low + (sample + 0.5) / SWEPT * (high - low)
            for value in _lowest(q, moving, lower, upper, aim, scratch):
                if lower[moving] <= value <= upper[moving]:
                    q[moving] = value
                    error = _squared_error(q, aim, scratch)
                    count = _keep(out, errors, count, q, error, lower, upper)
    return count


@kernel
def _range_of(v, lower, upper, aim):
    """
    Return the range (low, high) over which joint v is swept: its limits if both are finite.

    Otherwise it is one turn [rad], or for a prismatic joint twice ``aim.unit`` [m]. It begins or ends at the finite
    limit; without limits its middle is 0.

    :param lower, upper: (n,) limits.
    :param aim: a :class:`singular_refinement.Aim`: prismatic joints and unit of length.
    """
    has_lower, has_upper = math.isfinite(lower[v]), math.isfinite(upper[v])
    half = aim.unit if is_slide(aim.slides, v) else math.pi
    low = lower[v] if has_lower else (upper[v] - 2.0 * half if has_upper else -half)
    high = upper[v] if has_upper else (lower[v] + 2.0 * half if has_lower else half)
    return low, high


@kernel
def _put_on_corner(q, corner, moving, swept, lower, upper):
    """
    Put all joints except ``moving`` and ``swept`` on limits, in place.

    :param q: (n,) the posture.
    :param corner: bit mask: bit v is 1 for the upper limit of joint v, 0 for the lower limit.
    :param moving, swept: indices of the two joints that keep their values.
    :param lower, upper: (n,) limits.
    :returns: False if a smaller ``corner`` gives the same posture, so that this corner can be skipped; then q is
        changed in part.
    """
    for v in range(q.shape[0]):
        is_upper, moves = corner >> v & 1, v == moving or v == swept
        if is_upper and (moves or lower[v] == upper[v]):
            return False
        if not moves:
            q[v] = upper[v] if is_upper else lower[v]
    return True


@kernel
def _squared_error(q, aim, scratch):
    """
    Return the squared Frobenius norm of the tip pose at q minus the target; lengths are divided by ``aim.unit``.

    :param q: (n,) joint values.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param scratch: (certify.scratch_size(n),) numbers.
    """
    n, target = aim.n, aim.target
    room = certify.view_scratch(scratch, n)
    pose = room.pose
    certify.evaluate(aim.axes, aim.points, aim.home, n, aim.slides, q, room.screws, pose)
    total = 0.0
    for i in range(9):
        total += (pose[i] - target[i]) ** 2
    for i in range(9, 12):
        total += ((pose[i] - target[i]) / aim.unit) ** 2
    return total


@kernel
def _lowest(q, moving, lower, upper, aim, scratch):
    """
    Return a pair of values of joint ``moving`` to try for the least pose error, with all other joints fixed.

    If the joint is prismatic, the result is (best value within the limits, nan). If a turning joint has its best value,
    or a winding of it, within the limits, it is (this value, nan). Otherwise the result is both limits. ``q[moving]``
    is overwritten.

    :param q: (n,) values of the other joints.
    :param moving: index of the joint.
    :param lower, upper: (n,) limits.
    :param aim: a :class:`singular_refinement.Aim`: chain and target.
    :param scratch: (certify.scratch_size(n),) numbers.
    """
    low, high, unit = lower[moving], upper[moving], aim.unit
    if is_slide(aim.slides, moving):
        middle = 0.5 * (low + high) if math.isfinite(low + high) else 0.0
        q[moving] = middle - unit
        before = _squared_error(q, aim, scratch)
        q[moving] = middle + unit
        best = middle - 0.25 * (_squared_error(q, aim, scratch) - before) * unit
        return min(max(best, low), high), math.nan
    q[moving] = 0.0
    ahead = _squared_error(q, aim, scratch)
    q[moving] = 0.5 * math.pi
    aside = _squared_error(q, aim, scratch)
    q[moving] = math.pi
    opposite = _squared_error(q, aim, scratch)
    middle = 0.5 * (ahead + opposite)
    best = math.atan2(middle - aside, middle - ahead)
    if math.isfinite(low + high):
        # The winding nearest to the middle of the range is inside if any is.
        best = joint_values.winding(best, 0.5 * (low + high))
    elif best < low:
        # The upper limit is infinite: the winding within a turn above the lower one is inside.
        best = max(low, joint_values.winding(best, low + math.pi))
    elif best > high:
        best = min(high, joint_values.winding(best, high - math.pi))
    if low <= best <= high:
        return best, math.nan
    return low, high


@kernel
def _keep(out, errors, count, q, error, lower, upper):
    """
    Insert a posture into the sorted rows of the nearest postures; return the new number of rows.

    If it nearly equals a row, it is left out, also if it is nearer. If ``out`` is full, the farthest posture is
    dropped.

    :param out, errors: postures (most, n) and their squared errors (most,), the nearest first; changed.
    :param count: number of rows in use before.
    :param q: (n,) the posture.
    :param error: its squared error.
    :param lower, upper: (n,) limits; two joint values are equal within EDGE_SEPARATION of this range.
    """
    most, n = out.shape
    for k in range(count):
        is_same = True
        for v in range(n):
            reach = upper[v] - lower[v] if math.isfinite(upper[v] - lower[v]) else 1.0
            is_same = is_same and abs(out[k, v] - q[v]) <= EDGE_SEPARATION * reach
        if is_same:
            return count
    place = count
    while place > 0 and error < errors[place - 1]:
        place -= 1
    if place == most:
        return count
    for k in range(min(count, most - 1), place, -1):
        errors[k] = errors[k - 1]
        copy(out[k], out[k - 1])
    errors[place] = error
    copy(out[place], q)
    return min(count + 1, most)
