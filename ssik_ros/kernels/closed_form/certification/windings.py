"""
List the combinations of windings of several joints, best first, without building all of them.

Problem
-------
A joint whose range is larger than 2 pi reaches the same posture at several values q + 2 pi k. The values of different
joints combine freely. Return the k combinations, of all branches, that are nearest to a seed, in the order of distance.

Method
------
1. For each branch and joint, sort the values inside the limits by their distance to the seed.
2. A combination is an index into each of these lists. Its successors increase the index of one joint by one. This joint
   is the last joint with a nonzero index, or a joint after it. So every combination has exactly one predecessor, and
   the predecessor is not farther away.
3. A heap of open combinations starts with the first combination of each branch. The top of the heap is the next best.

If combinations are equally distant, the earlier branch comes first, then the smaller indices.

Cost
----
At most n insertions into the heap for each returned combination, independent of the number of all combinations.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry import so3
from ssik_ros.kernels.geometry.joint_values import LIMIT_ROUNDING
from ssik_ros.kernels.geometry.vectors import fill


@inline_kernel
def has_windings(lower, upper, slides):
    """
    Return whether a joint may take the same angle at several values within its limits.

    It may if it is revolute and its finite limits are more than 2 pi apart.

    :param lower, upper: limits [rad].
    :param slides: True for a prismatic joint.
    """
    is_long = upper - lower > so3.TWO_PI + LIMIT_ROUNDING
    return math.isfinite(lower) and math.isfinite(upper) and is_long and not slides


@inline_kernel
def _range_of_windings(value, lower, upper):
    """
    Return (least, largest) whole number k for which ``value`` + 2 pi k lies within the limits; (0, 0) if no k does.

    :param value: the angle [rad].
    :param lower, upper: finite limits [rad], which a value may exceed by LIMIT_ROUNDING.
    """
    first = math.ceil((lower - LIMIT_ROUNDING - value) / so3.TWO_PI)
    last = math.floor((upper + LIMIT_ROUNDING - value) / so3.TWO_PI)
    return (first, last) if first <= last else (0.0, 0.0)


@kernel
def count_windings(sizes, branches, lower, upper, slides):
    """
    Write for each joint of each branch at how many values within the limits it takes the same angle.

    :param sizes: (b, n) out: at least 1, also for prismatic joints and joints without windings.
    :param branches: (b, n) joint values, within limits [rad or m].
    :param lower, upper: (n,) limits; may be infinite.
    :param slides: bit mask of the prismatic joints, see :mod:`chain`.
    """
    for row in range(branches.shape[0]):
        for i in range(branches.shape[1]):
            sizes[row, i] = 1
            if has_windings(lower[i], upper[i], is_slide(slides, i)):
                first, last = _range_of_windings(branches[row, i], lower[i], upper[i])
                sizes[row, i] = int(last - first) + 1


@kernel
def write_windings(values, costs, sizes, branches, lower, upper, slides, seed, has_seed):
    """
    Write the values that each joint of each branch may take, nearest to the seed first, and their distances from it.

    Without a seed the values nearest to zero come first and all distances are zero. A revolute joint without limits has
    one value, which is compared modulo 2 pi.

    :param values, costs: (b, n, largest of ``sizes``) out: values [rad or m], and distances from the seed; entries from
        ``sizes`` on are not written.
    :param sizes: (b, n) number of values of each joint, from :func:`count_windings`.
    :param branches: (b, n) joint values of b branches, within the limits [rad or m].
    :param lower, upper: (n,) limits; may be infinite.
    :param slides: bit mask of the prismatic joints.
    :param seed: (n,) [rad or m].
    :param has_seed: whether the seed is used.
    """
    for row in range(branches.shape[0]):
        for i in range(branches.shape[1]):
            q, wish = branches[row, i], seed[i] if has_seed else 0.0
            first = 0.0
            if has_windings(lower[i], upper[i], is_slide(slides, i)):
                first, _ = _range_of_windings(q, lower[i], upper[i])
            for k in range(sizes[row, i]):
                value = q + so3.TWO_PI * (first + k)
                if sizes[row, i] > 1:
                    value = min(max(value, lower[i]), upper[i])
                change = value - wish
                if math.isinf(lower[i]) and math.isinf(upper[i]) and not is_slide(slides, i):
                    change = so3.wrap_to_pi(change)
                cost, place = abs(change), k
                while place > 0 and costs[row, i, place - 1] > cost:
                    values[row, i, place] = values[row, i, place - 1]
                    costs[row, i, place] = costs[row, i, place - 1]
                    place -= 1
                values[row, i, place], costs[row, i, place] = value, cost
            if not has_seed:
                costs[row, i, : sizes[row, i]] = 0.0


@kernel
def _distance(costs, places, metric):
    """
    Return the distance of a combination of windings from the seed: sum of squares, or largest difference of a joint.

    :param costs: (n, .) distances of each joint's windings from the seed, of one branch.
    :param places: (n,) index of the winding of each joint.
    :param metric: SUM_OF_SQUARES, or LARGEST_DIFFERENCE.
    """
    total = 0.0
    for i in range(places.shape[0]):
        cost = costs[i, places[i]]
        total = max(total, cost) if metric == ranking.LARGEST_DIFFERENCE else total + cost * cost
    return total


@inline_kernel
def _comes_first(keys, owners, codes, a, b):
    """
    Return whether combination a of windings is sorted before combination b.

    The smaller distance from the seed decides, then the earlier branch, then the smaller code.

    :param keys, owners, codes: distance, branch and code of all combinations; a code numbers the windings of all
        joints.
    :param a, b: indices of both combinations.
    """
    if keys[a] != keys[b]:
        return keys[a] < keys[b]
    if owners[a] != owners[b]:
        return owners[a] < owners[b]
    return codes[a] < codes[b]


@kernel
def _push(heap, size, item, keys, owners, codes):
    """
    Insert a combination of windings into a binary heap, whose first entry is the best combination.

    :param heap: indices of combinations; ``size`` entries are in use before, one more after.
    :param size: number of entries in use.
    :param item: index of the combination to insert.
    :param keys, owners, codes: distance, branch and code of all combinations, which sort them as in
        :func:`_comes_first`.
    """
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _comes_first(keys, owners, codes, item, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


@kernel
def _pop(heap, size, keys, owners, codes):
    """
    Remove the best combination of windings from a binary heap, and return its index.

    :param heap, size: the heap, and its number of entries before, at least one.
    :param keys, owners, codes: distance, branch and code of all combinations, which sort them as in
        :func:`_comes_first`.
    """
    best, item, at = heap[0], heap[size - 1], 0
    while True:
        below = 2 * at + 1
        if below >= size - 1:
            break
        if below + 1 < size - 1 and _comes_first(
            keys, owners, codes, heap[below + 1], heap[below]
        ):
            below += 1
        if not _comes_first(keys, owners, codes, heap[below], item):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = item
    return best


@kernel
def _read_places(places, code, sizes):
    """
    Write the index of each joint's winding from the code of a combination; the last joint varies fastest.

    :param places: (n,) out.
    :param code: number of the combination, with ``sizes`` (n,) as the bases of its digits.
    """
    for i in range(places.shape[0] - 1, -1, -1):
        places[i] = code % sizes[i]
        code //= sizes[i]


@kernel
def take_best(out, of_branch, values, costs, sizes, metric, heap, keys, owners, codes, places):
    """
    Write the k best combinations of windings over all branches, nearest to the seed first.

    :param out: (k, n) out: joint values [rad or m]; k is at most the number of all combinations, which is not checked.
    :param of_branch: (k,) out: index of the branch of each combination.
    :param values, costs, sizes: values of each joint of each branch, their distances from the seed and their number, as
        for :func:`write_windings`.
    :param metric: SUM_OF_SQUARES or LARGEST_DIFFERENCE of :mod:`ranking`.
    :param heap, keys, owners, codes: (b + k n,) scratch for b branches; heap, owners and codes are integers.
    :param places: (n,) integers of scratch.
    """
    n, made, size = values.shape[1], 0, 0
    for branch in range(values.shape[0]):
        fill(places, 0)
        keys[made], owners[made] = _distance(costs[branch], places, metric), branch
        codes[made] = 0
        _push(heap, size, made, keys, owners, codes)
        made += 1
        size += 1
    for row in range(out.shape[0]):
        item = _pop(heap, size, keys, owners, codes)
        size -= 1
        branch = owners[item]
        _read_places(places, codes[item], sizes[branch])
        of_branch[row] = branch
        last = 0
        for i in range(n):
            out[row, i] = values[branch, i, places[i]]
            if places[i] > 0:
                last = i
        stride = 1
        for i in range(n - 1, last - 1, -1):
            if places[i] + 1 < sizes[branch, i]:
                places[i] += 1
                keys[made], owners[made] = _distance(costs[branch], places, metric), branch
                codes[made] = codes[item] + stride
                places[i] -= 1
                _push(heap, size, made, keys, owners, codes)
                made += 1
                size += 1
            stride *= sizes[branch, i]


@kernel
def measure_rows(errors, rows, axes, points, home, slides, target, scratch):
    """
    Write the pose errors of many postures.

    :param errors: (k, 3) out: position error [m], rotation error [rad], Frobenius norm of FK - T.
    :param rows: (k, n) joint values [rad or m].
    :param axes, points: (3 n,) directions of the joint axes and a point on each, all joints at zero.
    :param home: (12,) M, pose of the tip with all joints at zero: rotation row by row, then translation.
    :param slides: bit mask of the prismatic joints.
    :param target: (12,) T, target pose of the tip: rotation row by row, then translation.
    :param scratch: flat scratch of ``certify.scratch_size(n)`` numbers.
    """
    for row in range(rows.shape[0]):
        certify.measure(
            axes, points, home, rows.shape[1], slides, rows[row], target, errors[row], scratch
        )
