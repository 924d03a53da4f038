"""
Every branch of one pose for chains without structure, or nearly with one: elimination.

Where the chain is near one that has a closed form, that comes first, and the elimination only where it leaves a doubt.

A module of its own, because the elimination is much machine code, and only few arms need it. Seven joints are six for
each value of the held one; the constants of that chain are computed on the way.
"""

import numpy as np

from ssik_ros.kernels import se3
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import matrix
from ssik_ros.kernels._jit import vector
from ssik_ros.kernels.analytic import candidates
from ssik_ros.kernels.analytic import certify
from ssik_ros.kernels.analytic import closed_loop
from ssik_ros.kernels.analytic import general_6r
from ssik_ros.kernels.analytic import nearby_branches
from ssik_ros.kernels.analytic import search as common
from ssik_ros.kernels.analytic.chain import write_motion
from ssik_ros.kernels.so3 import wrap_to_pi

STANDS_STILL = 1e-3
"""Angle of an added joint that counts as none; the certification on the real joints decides [rad]."""
ALL_OF_CLASS = 8
"""Branches that the classes of nearby chains have for one value of the held joint."""


@kernel
def search(
    out,
    counters,
    ints,
    reals,
    samples,
    matrix_t,
    seed,
    options,
    work,
    constants,
    six,
    loop_work,
    loop_ints,
):
    """
    Write the solutions of one pose, best first, and return how many; -1 when the pose is no rigid transform.

    :param out, counters, ints, reals, samples, matrix_t, seed, options, work: as for the search in closed form.
    :param constants: of the elimination; written here where a joint is held.
    :param six: (16, 6) scratch.
    :param loop_work, loop_ints: scratch of the elimination.
    """
    if not common.begin(counters, ints, reals, matrix_t, options, work):
        return -1
    n, held = ints[common.N], ints[common.HELD]
    axes, points = vector(reals, 0, 3 * n), vector(reals, 3 * n, 3 * n)
    g = vector(work, 0, 12)
    raw = matrix(work, common.STORE + 2 * n, common.BRANCHES_OF_SIX, n)
    own = common.STORE + 2 * n + common.BRANCHES_OF_SIX * n
    own_axes, own_points = vector(work, own, 18), vector(work, own + 18, 18)
    moved, back = vector(work, own + 42, 12), vector(work, own + 54, 12)
    own_g = vector(work, own + 66, 12)
    rest = vector(work, own + candidates.SCRATCH, certify.scratch_size(n))
    for sample in range(samples.shape[0]):
        value, first = samples[sample], counters[common.KEPT]
        if ints[common.KIND] != candidates.GENERAL:
            # The closed form of a nearby chain: all of its branches in regular postures, or none by far, settle the sample.
            before = counters[common.BRANCHES]
            count = candidates.write_candidates(
                raw,
                ints[common.KIND],
                ints[common.CASE],
                ints[common.REVERSED] != 0,
                vector(reals, 8 * n + 30, 3 * n),
                vector(reals, 11 * n + 30, 3 * n),
                n,
                ints[common.SLIDES],
                held,
                value,
                vector(reals, 8 * n + 24, 6),
                vector(ints, common.BEHIND, 2),
                g,
                common.offered_angle(ints, reals, seed, options),
                vector(work, own, candidates.SCRATCH),
            )
            smallest = common.keep(
                counters, ints, reals, count, first, seed, options, out.shape[0], work
            )
            found = counters[common.BRANCHES] - before
            # Fewer candidates are those of a class that knows only real ones: no evidence that there are no others.
            if count == ALL_OF_CLASS and smallest > options[common.NEAR]:
                continue
            if found == ALL_OF_CLASS and nearby_branches.are_all(
                axes,
                points,
                vector(reals, 6 * n, 12),
                n,
                ints[common.SLIDES],
                vector(ints, common.FREE, n),
                raw,
                count,
                options[common.NEAR],
                rest,
            ):
                continue
        own_g[:] = g
        if held >= 0:
            write_motion(moved, axes, points, ints[common.SLIDES], held, value)
            se3.invert(back, moved)
            se3.compose(own_g, g, back)
            candidates.write_six(own_axes, own_points, axes, points, n, held, moved, False)
            closed_loop.prepare_constants(
                constants, own_axes, own_points, ints[common.CUT], loop_work
            )
        count = general_6r.solve(six, constants, own_g, loop_work, loop_ints)
        count = _take_real_joints(raw, six, count, min(n, 6))
        if n >= 6:
            candidates.put_in_order(raw, count, n, held, value, False)
        common.keep(counters, ints, reals, count, first, seed, options, out.shape[0], work)
    return common.finish(out, counters, ints, reals, options, work)


@kernel
def _take_real_joints(raw, six, count, joints):
    """
    Copy candidates whose joints behind the first few are at zero, and return how many there are.

    A chain of fewer than six joints is solved with joints added behind it, which must not have moved.

    :param raw: (16, joints or more) out.
    :param six: (16, 6) candidates.
    :param joints: how many of the six are real.
    """
    taken = 0
    for row in range(count):
        is_real = True
        for k in range(joints, 6):
            is_real = is_real and abs(wrap_to_pi(six[row, k])) < STANDS_STILL
        if is_real:
            for k in range(joints):
                raw[taken, k] = six[row, k]
            taken += 1
    return taken


class EliminationArrays:
    """Scratch of the elimination; never shared by two searches at a time."""

    __slots__ = ('loop_ints', 'loop_work', 'six')

    def __init__(self) -> None:
        """Allocate."""
        self.six = np.empty((common.BRANCHES_OF_SIX, 6))
        self.loop_work, self.loop_ints = general_6r.workspace()
