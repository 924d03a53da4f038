"""
Write a chain of six joints and a target as a closed loop of rotations about z, ready to be cut at a joint.

:func:`prepare_constants` writes the part that only depends on the arm, :func:`close_loop` the part of the target.

E_i is the rotation about axis i, and G the motion that all joints together must make. Joint i gets a frame F_i with z
on its axis. The unit of length is the largest distance of neighbouring points. With B_i = F_i^-1 F_(i+1) and B_5 =
F_5^-1 G^-1 F_0, the equation E_0 ... E_5 = G reads Rz(q_0) B_0 ... Rz(q_5) B_5 = I. A reversed loop has the axes -h_5
.. -h_0, the target G^-1, and the same angles in reversed order.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, matrix, vector
from ssik_ros.kernels.closed_form.elimination import elimination as el
from ssik_ros.kernels.closed_form.elimination.loop_workspace import (
    JOINTS,
    MOTION,
    W_ELIMINATION,
    W_INVERSES,
    W_LAST,
    W_LAST_INVERSE,
    W_LOOP,
    W_SCRATCH,
)
from ssik_ros.kernels.geometry.se3 import compose, invert
from ssik_ros.kernels.geometry.vectors import copy, copy_table, cross, perpendicular, stretch

AT_TRANSLATION = 9
"""Offset of the translation in a motion (12,)."""
CUTS = 12
"""Number of places to cut the loop: six joints, then the same six of the reversed chain."""

# Constants: how many cuts, then for each its numbers, frames and motions, and its elimination where no target is needed
# for it.
AT_SCALE, AT_JOINT, AT_REVERSED, AT_FIXED = 0, 1, 2, 3
AT_FIRST = 8
AT_LAST = AT_FIRST + 12
AT_MOTIONS = AT_LAST + 12
AT_INVERSES = AT_MOTIONS + 60
AT_ELIMINATION = AT_INVERSES + 60
CUT = AT_ELIMINATION + el.ELIMINATION
FIRST_CUT = 1
SECOND_CUT = FIRST_CUT + CUT
"""Places of the two cuts in the constants of an arm, after their number."""
CONSTANTS = SECOND_CUT + CUT
"""Size of the constants of an arm, in numbers."""


@kernel
def _write_frame(out, axes, points, joint, reversed_, inverse_scale):
    """
    Write the frame F of a joint: its z axis is the joint's axis, its origin the joint's point.

    :param out: (12,) out: rotation row by row, then translation in length units.
    :param axes, points: (18,) directions of the axes, and a point on each [m].
    :param joint: index of the joint; on the reversed chain it counts from the last joint.
    :param reversed_: True for the reversed chain, which has negative axes.
    :param inverse_scale: inverse of the length unit [1/m].
    """
    i = 5 - joint if reversed_ else joint
    sign = -1.0 if reversed_ else 1.0
    z = (sign * axes[3 * i], sign * axes[3 * i + 1], sign * axes[3 * i + 2])
    x = perpendicular(z)
    y = cross(z, x)
    for r in range(3):
        out[3 * r], out[3 * r + 1], out[3 * r + 2] = x[r], y[r], z[r]
        out[9 + r] = points[3 * i + r] * inverse_scale


@kernel
def _length_unit(points):
    """Return the largest distance between neighbouring points (18,) of six axes [m]; 1 if all coincide."""
    largest = 0.0
    for i in range(JOINTS - 1):
        here, there = 3 * i, 3 * (i + 1)
        x = points[there] - points[here]
        y = points[there + 1] - points[here + 1]
        z = points[there + 2] - points[here + 2]
        largest = max(largest, x * x + y * y + z * z)
    return math.sqrt(largest) if largest > 0.0 else 1.0


@kernel
def prepare_cut(out, axes, points, cut, work):
    """
    Write the constants of a chain whose loop is cut at one joint, for :func:`general_6r.solve_cut`.

    :param out: (CUT,) out: length unit, joint, whether the loop is reversed, motions between the frames of the joints;
        also the elimination if it does not depend on the target.
    :param axes, points: (18,) directions of the six axes and a point on each, all joints at zero.
    :param cut: joint where the loop is cut: 0 to 5 on the chain, 6 to 11 for joints 0 to 5 of the reversed chain.
    :param work: float workspace of :func:`general_6r.solve`, overwritten.
    """
    joint = cut % JOINTS
    reversed_ = cut >= JOINTS
    unit = _length_unit(points)
    out[AT_SCALE] = unit
    out[AT_JOINT] = joint
    out[AT_REVERSED] = 1.0 if reversed_ else 0.0
    # The sixth motion contains the target and joins the frames of joints 5 and 0.
    out[AT_FIXED] = 1.0 if joint >= 3 else 0.0
    first, last = vector(out, AT_FIRST, 12), vector(out, AT_LAST, 12)
    three = matrix(work, W_LOOP, 3, MOTION)
    near, far, back = three[0], three[1], three[2]
    motions, inverses = matrix(out, AT_MOTIONS, 5, 12), matrix(out, AT_INVERSES, 5, 12)
    _write_frame(near, axes, points, 0, reversed_, 1.0 / unit)
    copy(first, near)
    for joint_ in range(5):
        _write_frame(far, axes, points, joint_ + 1, reversed_, 1.0 / unit)
        invert(back, near)
        compose(motions[joint_], back, far)
        invert(inverses[joint_], motions[joint_])
        copy(near, far)
    copy(last, near)
    if joint >= 3:
        all_inverses = matrix(work, W_INVERSES, 6, 12)
        copy_table(matrix(work, W_INVERSES, 5, 12), inverses)
        block = el.view_elimination(out, AT_ELIMINATION)
        el.eliminate(block, all_inverses, joint, vector(work, W_ELIMINATION, el.SCRATCH))


@kernel
def prepare_constants(out, axes, points, start, work):
    """
    Write the constants of a chain for :func:`general_6r.solve`: number of cuts (1 or 2), then the data of each cut.

    :param out: (CONSTANTS,) out.
    :param axes: (18,) unit directions of the axes in the base frame, all joints at zero.
    :param points: (18,) a point on each axis [m].
    :param start: numbers of one or two cuts in one integer, from :func:`general_6r.choose_start`; not negative.
    :param work: float workspace of :func:`general_6r.solve`, overwritten.
    """
    first, second = start % CUTS, start // CUTS - 1
    prepare_cut(vector(out, FIRST_CUT, CUT), axes, points, first, work)
    out[0] = 1.0
    if second >= 0:
        prepare_cut(vector(out, SECOND_CUT, CUT), axes, points, second, work)
        out[0] = 2.0


@kernel
def close_loop(constants, g, work):
    """
    Write the six motions B of a loop and their inverses into the workspace; the last one contains the target.

    The translations are in length units of the chain.

    :param constants: (CUT,) of :func:`prepare_cut`.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation [m].
    :param work: float workspace; W_LOOP and W_INVERSES are written, the begin of W_SCRATCH is overwritten.
    """
    copy(vector(work, W_LOOP, 60), vector(constants, AT_MOTIONS, 60))
    copy(vector(work, W_INVERSES, 60), vector(constants, AT_INVERSES, 60))
    first, last = vector(constants, AT_FIRST, 12), vector(constants, AT_LAST, 12)
    a, b = vector(work, W_SCRATCH, 12), vector(work, W_SCRATCH + MOTION, 12)
    motion, inverse = vector(work, W_LAST, 12), vector(work, W_LAST_INVERSE, 12)
    scale = 1.0 / constants[AT_SCALE]
    copy(a, g)
    stretch(vector(a, AT_TRANSLATION, 3), scale, 3)
    if constants[AT_REVERSED] != 0.0:
        invert(b, a)
        copy(a, b)
    # inverse of the last motion = first^-1 G last
    invert(motion, first)
    compose(b, motion, a)
    compose(inverse, b, last)
    invert(motion, inverse)


@inline_kernel
def turn(out, q, pose):
    """
    Write the product Rz(q) ``pose``: the motion ``pose``, then a rotation about the z axis of the base.

    :param out: (12,) out, another array than ``pose``.
    :param q: angle [rad].
    :param pose: (12,) rotation row by row, then translation.
    """
    c, s = math.cos(q), math.sin(q)
    for j in range(3):
        x, y = pose[j], pose[3 + j]
        out[j], out[3 + j], out[6 + j] = c * x - s * y, s * x + c * y, pose[6 + j]
    out[9], out[10], out[11] = c * pose[9] - s * pose[10], s * pose[9] + c * pose[10], pose[11]
