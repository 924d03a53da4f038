"""
Count the branches within limits of many poses, eight poses at a time.

Problem
-------
Count the branches of m poses of an arm with six joints. The numbers equal the numbers of separate searches.

Method
------
Kernels for some classes count eight poses side by side. Poses for which a comparison is too close to be certain, and
poses that are not rigid up to rounding, are searched one by one. So are all poses of arms whose class has no such
kernel.

Cost
----
A fifth of a microsecond for a counted pose; the time of :func:`search.search` for a searched pose.
"""

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import plan_layout, search
from ssik_ros.kernels.closed_form.certification.chain import triple
from ssik_ros.kernels.closed_form.classes import candidates, spherical_wrist, three_parallel
from ssik_ros.kernels.closed_form.counting import (
    gates,
    pose_lanes,
    spherical_wrist_poses,
    three_parallel_poses,
)
from ssik_ros.kernels.geometry import lane_poses, lanes, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.subproblems import sp6

N = 6
"""Number of joints."""
AT_POINTS, AT_SPECIAL, AT_LIMITS = 18, 36, 42
"""Offsets in the data of a class, which begin with the axes."""
ARM_SCRATCH = AT_LIMITS + N * gates.LIMIT
"""Size of the data of a class."""
SCRATCH = pose_lanes.POSES + LANES + ARM_SCRATCH
"""Size of the scratch of :func:`count_many`: eight poses, their counts, the chain of the class, special points,
limits."""

EVERY = (1 << LANES) - 1
DOUBTFUL = -3
"""Returned in place of a number of branches: further branches may exist."""


@inline_kernel
def _is_same_chain(plan):
    """
    Return whether the arm fits its class exactly: the candidates come from the same chain on which they are certified.

    :param plan: real numbers of the plan, a :class:`plan_layout.Plan`.
    """
    is_same = True
    for i in range(plan.axes.shape[0]):
        is_same = (
            is_same and plan.axes[i] == plan.own_axes[i] and plan.points[i] == plan.own_points[i]
        )
    return is_same


@inline_kernel
def _counted_arm(ints, reals, scratch):
    """
    Write the data of an arm for the counting kernels into the scratch; return views of them.

    :param ints, reals: integers and real numbers of the plan of six joints.
    :param scratch: (ARM_SCRATCH,) out.
    :returns: a :class:`pose_lanes.CountedArm`.
    """
    n, is_reversed = ints[search.N], ints[search.REVERSED] != 0
    axes, points = vector(scratch, 0, 18), vector(scratch, AT_POINTS, 18)
    special, limits = vector(scratch, AT_SPECIAL, 6), vector(scratch, AT_LIMITS, 6 * gates.LIMIT)
    plan = plan_layout.view_plan(reals, n)
    candidates.write_six(axes, points, plan.axes, plan.points, n, -1, plan.home, is_reversed)
    vectors.copy(special, plan.special)
    is_plane = ints[search.KIND] == candidates.THREE_PARALLEL
    if is_plane and special[0] == special[0]:
        # Axes 5 and 6 meet: use the intersection as the point of axis 6.
        vectors.copy(points[3 * candidates.LAST_AXIS : 3 * candidates.LAST_AXIS + 3], special[:3])
    gates.write_limits(limits, plan.lower, plan.upper, n, is_reversed)
    size2 = 0.0
    for k in range(1, n):
        offset = vectors.subtract(triple(points, k), triple(points, k - 1))
        size2 += vectors.dot(offset, offset)
    return pose_lanes.CountedArm(axes, points, special, limits, size2)


@inline_kernel
def _has_lanes(ints, reals, arm):
    """
    Return whether a kernel can count the branches of eight poses of this arm at once.

    The arm must fit its class exactly and have no prismatic joint. In one class, the wrist is spherical and axes 2 and
    3 are parallel. In the other, axes 2 to 4 are parallel and axes 5 and 6 meet.

    :param ints, reals: integers and real numbers of the plan.
    :param arm: a :class:`pose_lanes.CountedArm`.
    """
    if (
        ints[search.SLIDES] != 0
        or arm.size2 == 0.0
        or not _is_same_chain(plan_layout.view_plan(reals, N))
    ):
        return False
    if ints[search.KIND] == candidates.SPHERICAL_WRIST:
        return ints[search.CASE] == spherical_wrist.PARALLEL_23
    if ints[search.KIND] != candidates.THREE_PARALLEL:
        return False
    (m1, m2, m3, m4), _, _ = three_parallel_poses.outer_equations(arm)
    is_alone = sp6.relative_determinant(m1, m2, m3, m4) < sp6.RANK_ONE
    return ints[search.CASE] == three_parallel.AXES_234 and is_alone


@inline_kernel
def _count_eight(arm, kind, is_reversed, reals, area, affine):
    """
    Write the numbers of branches of eight poses into ``area``; return the bits of the poses whose number is uncertain.

    :param arm: a :class:`pose_lanes.CountedArm`.
    :param kind: class of the arm: SPHERICAL_WRIST, otherwise the class with three parallel axes.
    :param is_reversed: True if the class fits the reversed chain.
    :param reals: the plan's real numbers.
    :param area: (POSES + LANES,) the poses, then their counts.
    :param affine: bits of the poses whose last row is (0, 0, 0, 1); others count as uncertain.
    """
    target = lane_poses.load_poses(area, 0)
    doubt = gates.not_in(pose_lanes.are_rigid(target)) | (~affine & EVERY)
    g = pose_lanes.times_transform(target, plan_layout.view_plan(reals, N).inverse)
    if is_reversed:
        g = pose_lanes.inverted(g)
    if kind == candidates.SPHERICAL_WRIST:
        total, unsure = spherical_wrist_poses.count(arm, g)
    else:
        total, unsure = three_parallel_poses.count(arm, g)
    lanes.store(area, pose_lanes.POSES, total)
    return doubt | unsure


@kernel
def count_many(counts, poses, ints, reals, samples, seed, options, rows, counters, work, scratch):
    """
    Write the number of branches within limits of each pose; return how many poses had to be searched one by one.

    The arm must have six joints, no held joint and no elimination; this is not checked.

    :param counts: (m,) out: number of branches; -1 if the pose is not a rigid transform; DOUBTFUL (-3) if further
        branches may exist.
    :param poses: (m, 4, 4) target poses of the tip.
    :param ints, reals, samples, options: plan of the arm and options of the call, as for :func:`search.search`, with
        mode WITHIN_LIMITS and without a seed.
    :param seed: (n,) ignored.
    :param rows, counters, work: scratch of one search.
    :param scratch: (SCRATCH,) scratch.
    """
    area = vector(scratch, 0, pose_lanes.POSES + LANES)
    arm_scratch = vector(scratch, pose_lanes.POSES + LANES, ARM_SCRATCH)
    size, searched = poses.shape[0], 0
    arm = _counted_arm(ints, reals, arm_scratch)
    has_lanes = _has_lanes(ints, reals, arm)
    kind, is_reversed = ints[search.KIND], ints[search.REVERSED] != 0
    for start in range(0, size, LANES):
        group, doubt = min(LANES, size - start), EVERY
        if has_lanes:
            affine = pose_lanes.gather(area, poses, start, group)
            doubt = _count_eight(arm, kind, is_reversed, reals, area, affine)
        for lane in range(group):
            if (doubt >> lane) & 1 == 0:
                counts[start + lane] = int(area[pose_lanes.POSES + lane])
                continue
            searched += 1
            counts[start + lane] = search.search(
                rows, counters, ints, reals, samples, poses[start + lane], seed, options, work
            )
            if counters[search.DOUBT] != 0:
                counts[start + lane] = DOUBTFUL
    return searched
