"""
Write the candidates of a whole arm by the closed form of its class: joint vectors that may reach a pose.

:func:`write_candidates` serves six joints of a class, fewer with prismatic joints, or seven with one joint held at a
value.

E_i is the motion of joint i, and G = E_1 ... E_n the motion that all joints together must make. Seven joints with joint
L held are six: the joints after joint L are moved by E_L, and G becomes G E_L^-1. For the reversed chain, E_6^-1 ...
E_1^-1 = G^-1 is a chain with the axes -h_6 ... -h_1 through the same points.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.certification.chain import (
    is_slide,
    map_point,
    triple,
    write_motion,
)
from ssik_ros.kernels.closed_form.classes import (
    orientation_first,
    prismatic_shoulder,
    spherical_wrist,
    three_parallel,
)
from ssik_ros.kernels.geometry import se3, vectors
from ssik_ros.kernels.geometry.vectors import copy

SPHERICAL_WRIST = 0
THREE_PARALLEL = 1
GENERAL = 2
"""Kind of chains that are solved by elimination, in a separate module."""
PRISMATIC_SHOULDER = 3
ORIENTATION_FIRST = 4

OWN_SCRATCH = 94
"""Largest scratch of a class; a plain number, so that an artifact of one class refers to no other class."""
AT_AXES, AT_POINTS, AT_SPECIAL, AT_MOVED, AT_BACK, AT_TARGET, AT_REST = 0, 18, 36, 42, 54, 66, 78
"""Places in the scratch: a chain of six joints, motion of the held joint and its inverse, target, scratch of a
class."""
SCRATCH = AT_REST + OWN_SCRATCH
"""Size of the scratch of :func:`write_candidates`: chain, special points, three transforms, and the scratch of the
class."""
LAST_AXIS = 5
"""Index of axis 6."""


@kernel
def write_six(out_axes, out_points, axes, points, n, held, moved, is_reversed):
    """
    Write the axes and points of the joints that a closed form solves for: all but the held joint, at most six.

    Joints after the held one are moved by it. For the reversed chain, the order is reversed and the axes are negative.

    :param out_axes, out_points: (18,) out, in the order of the class.
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param n: number of joints.
    :param held: index of the held joint, -1 if no joint is held.
    :param moved: (12,) motion E of the held joint; not read if no joint is held.
    :param is_reversed: True if the class fits the reversed chain.
    """
    row, last = 0, n - 1 if held < 0 else n - 2
    for i in range(n):
        if i == held:
            continue
        h, o = triple(axes, i), triple(points, i)
        if 0 <= held < i:
            h, o = vectors.times(moved, h), map_point(moved, o)
        place, sign = (last - row, -1.0) if is_reversed else (row, 1.0)
        for k in range(3):
            out_axes[3 * place + k] = sign * h[k]
            out_points[3 * place + k] = o[k]
        row += 1


@inline_kernel
def free_slides(slides, n, held, is_reversed):
    """
    Return a bit mask of the prismatic joints among the free joints, which are all but the held joint.

    Bit i belongs to free joint i in the order of the class.

    :param slides: bit mask of the prismatic joints of the chain.
    :param n: number of joints.
    :param held: index of the held joint, -1 if no joint is held.
    :param is_reversed: True if the class fits the reversed chain.
    """
    mask, row, last = 0, 0, n - 1 if held < 0 else n - 2
    for i in range(n):
        if i != held:
            if is_slide(slides, i):
                mask |= 1 << (last - row if is_reversed else row)
            row += 1
    return mask


@kernel
def write_candidates(
    out,
    kind,
    case,
    is_reversed,
    axes,
    points,
    n,
    slides,
    held,
    value,
    special,
    is_moved,
    g,
    offered,
    scratch,
):
    """
    Write the candidates that a closed form gives for one pose and one value of the held joint.

    :param out: (16, n) out: joint vectors in the order of the chain, not certified.
    :param kind: class of the free joints: SPHERICAL_WRIST, THREE_PARALLEL, PRISMATIC_SHOULDER or ORIENTATION_FIRST.
        GENERAL has no closed form and must not be passed.
    :param case: case of the class, such as ``PARALLEL_23``. For PRISMATIC_SHOULDER it is the bit mask of the prismatic
        joints among the first three; for ORIENTATION_FIRST it is not read.
    :param is_reversed: True if the class fits the reversed chain.
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param n: 6, or 7 with a held joint; fewer for classes with prismatic joints.
    :param slides: bit mask of the prismatic joints. Free joints must be revolute in classes without prismatic joints.
    :param held: index of the held joint, -1 if no joint is held.
    :param value: value of the held joint [rad or m].
    :param special: (6,) two special points of the class, such as the wrist centre, with all joints at zero.
    :param is_moved: (2,) for each special point, whether the held joint moves it.
    :param g: (12,) G, the motion that all joints together must make: rotation row by row, then translation.
    :param offered: angle for a joint that a singular pose leaves free [rad].
    :param scratch: (SCRATCH,) scratch.
    :returns: (count, is_free): number of candidates, at most 16; whether the pose hardly determines one of their angles,
        so that other postures may exist. Out of reach, candidates may be written that miss the pose.
    """
    own_axes, own_points = vector(scratch, AT_AXES, 18), vector(scratch, AT_POINTS, 18)
    own_special, rest = vector(scratch, AT_SPECIAL, 6), vector(scratch, AT_REST, OWN_SCRATCH)
    moved, back = vector(scratch, AT_MOVED, 12), vector(scratch, AT_BACK, 12)
    own_g = vector(scratch, AT_TARGET, 12)
    copy(own_special, special)
    if held >= 0:
        write_motion(moved, axes, points, slides, held, value)
        se3.invert(back, moved)
        se3.compose(own_g, g, back)
        for i in range(2):
            if is_moved[i]:
                point = map_point(moved, triple(special, i))
                for k in range(3):
                    own_special[3 * i + k] = point[k]
    else:
        copy(own_g, g)
    write_six(own_axes, own_points, axes, points, n, held, moved, is_reversed)
    if is_reversed:
        copy(back, own_g)
        se3.invert(own_g, back)
    if kind == SPHERICAL_WRIST:
        count, is_free = spherical_wrist.solve(
            out, case, own_axes, own_points, own_special, own_g, offered, rest
        )
    elif kind == PRISMATIC_SHOULDER:
        free = n if held < 0 else n - 1
        count, is_free = prismatic_shoulder.solve(
            out, own_axes, own_points, case, free, own_special, own_g, offered, rest
        )
    elif kind == ORIENTATION_FIRST:
        free = n if held < 0 else n - 1
        own_slides = free_slides(slides, n, held, is_reversed)
        count, is_free = orientation_first.solve(
            out, own_axes, own_points, own_slides, free, own_g, offered, rest
        )
    else:
        if case == three_parallel.AXES_234 and special[0] == special[0]:
            # Axes 5 and 6 meet: the sixth point is there.
            copy(own_points[3 * LAST_AXIS : 3 * LAST_AXIS + 3], own_special[:3])
        count, is_free = three_parallel.solve(
            out, case, own_axes, own_points, own_special, own_g, offered, rest
        )
    put_in_order(out, count, n, held, value, is_reversed)
    return count, is_free


@kernel
def put_in_order(out, count, n, held, value, is_reversed):
    """
    Turn rows of free joints, in place, into rows of the whole chain: restore the order and insert the held joint.

    :param out: (count or more, n) rows; the first columns have the values of the free joints.
    :param count: number of rows.
    :param n: number of joints.
    :param held: index of the held joint, -1 if no joint is held.
    :param value: value of the held joint [rad or m].
    :param is_reversed: True if the free joints are in the order of the reversed chain.
    """
    last = n - 1 if held < 0 else n - 2
    for row in range(count):
        if is_reversed:
            for k in range((last + 1) // 2):
                out[row, k], out[row, last - k] = out[row, last - k], out[row, k]
        if held >= 0:
            for k in range(n - 1, held, -1):
                out[row, k] = out[row, k - 1]
            out[row, held] = value
