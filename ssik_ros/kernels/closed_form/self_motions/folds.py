"""
Folds of traced curves: where the held joint turns back.

Problem
-------
Between two knots the held joint's part of the tangent changes its sign. Wanted is the posture at which it vanishes: there two
branches of the six other joints meet.

Solutions
---------
One between two knots with different signs.

Method
------
The place by the cubic, then chords of the tangent's part on the curve itself.

Degeneracies
------------
Two folds between two knots have no trace in the signs: the curve is not parted there.

Cost
----
About ten forward passes and eliminations for each fold.
"""

from ssik_ros.kernels._jit import kernel, vector
from ssik_ros.kernels.closed_form.self_motions import curve_points as cp, segments, trace
from ssik_ros.kernels.closed_form.self_motions.curve_points import N
from ssik_ros.kernels.closed_form.self_motions.segments import ARC, KIND, TANGENT

LOOKS = 25
AT_FOLD = 1e-10
"""Part of the held joint in the tangent that counts as none."""


@kernel
def insert_folds(out, knots, ints, reals, target, free, work):
    """
    Write the knots of one curve with those of its folds; return how many there are.

    :param out: (2 k, segments.COLUMNS) out.
    :param knots: (k, segments.COLUMNS) of one curve.
    :param ints, reals: the plan of seven joints.
    :param target: (12,) T.
    :param free: (7,) integers, 0 to 6.
    :param work: (trace.scratch_size(),).
    """
    cp.write_limits(work, ints, reals)
    c = cp.open_curve(ints, reals, target, free, work)
    q, count = vector(work, cp.scratch_size(), N), 0
    for row in range(knots.shape[0]):
        for column in range(segments.COLUMNS):
            out[count, column] = knots[row, column]
        count += 1
        if row + 1 == knots.shape[0]:
            break
        before, behind = knots[row, TANGENT + c.held], knots[row + 1, TANGENT + c.held]
        if before * behind < 0.0:
            _write_fold(c, q, out[count], knots, row, before)
            count += 1
    return count


@kernel
def _write_fold(c, q, out, knots, row, sign):
    """Write the knot at which the held joint turns back between a row and the next."""
    width = knots[row + 1, ARC] - knots[row, ARC]
    low, high = 0.0, 1.0
    f_low, f_high = sign, knots[row + 1, TANGENT + c.held]
    share, side = 0.5, 0
    for _ in range(LOOKS):
        share = low + (high - low) * f_low / (f_low - f_high)
        f = _part_at(c, q, knots, row, width, share)
        if abs(f) < AT_FOLD:
            break
        # The end that stays twice counts half: then both ends come near.
        if f * f_low > 0.0:
            low, f_low = share, f
            f_high = 0.5 * f_high if side == 1 else f_high
            side = 1
        else:
            high, f_high = share, f
            f_low = 0.5 * f_low if side == -1 else f_low
            side = -1
    for k in range(N):
        out[k], out[TANGENT + k] = q[k], c.tangent[k]
    out[ARC] = knots[row, ARC] + share * width
    out[KIND], out[segments.ROOM] = trace.FOLD, c.facts[cp.PIVOT]


@kernel
def _part_at(c, q, knots, row, width, share):
    """Return the held joint's part of the tangent at a share of a segment; the point is left in q."""
    segments.write_point(q, knots, row, row + 1, width, share)
    segments.write_slope(c.row, knots, row, row + 1, width, share)
    cp.correct_exactly(c, q, cp.dot(c.row, q))
    return c.tangent[c.held]
