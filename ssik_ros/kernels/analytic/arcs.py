"""
Seven joints within limits: on which arcs of the held joint a branch lies inside them.

Problem
-------
The branches of six joints are curves over the value of the seventh. A branch may be taken where it exists and every
joint is within its limits: on arcs, which may be narrow, or one value.

Solutions
---------
At least one posture on every arc of every branch.

Method
------
1. The margin of a branch is the least distance of a joint to its limits, its room is minus the residual of the nearest
   posture where it does not exist. It is inside where the margin is not negative and the room is 0.
2. Values are scanned. An arc that holds none of them lies between two neighbours that are both outside.
3. Between two neighbours a joint is taken to be off its chord by no more than half the width times the change of slope
   towards the intervals beside, which is exact where two straight lines meet and four times too much for a parabola.
   That says between which shares of the interval each joint may be within its limits. The room is bounded by its slopes:
   it is at most (f(a) + f(b) + K (b - a)) / 2. Where no share is left, there is no arc; elsewhere the value half way is
   tried, until an arc is met or ruled out.
4. Beside a sampled arc there may be another one. Where a branch leaves the limits by joints that go steadily, it does not
   come back; where two joints may leave and return between two places inside, there may be a third arc between.

Degeneracies
------------
An arc that is one value (two joints on their limits, or one that touches its own): the bounds close in on it, to
NARROWEST. A branch that turns quickly next to a singular posture has large slopes, and is looked at more closely. What
a curve does between two values without a trace in its slopes is not seen.

Cost
----
The closed form once for each value: those of the scan, and about two more for each time that a branch comes near its limits.

References
----------
[Shimizu2008] for the arcs of an arm with two spherical joints.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.analytic import held_branches as hb
from ssik_ros.kernels.analytic import search

LEAST_BEND = 0.03
"""What a joint may be off its chord without a trace in its changes, over the width of the interval."""
GROWTH = 1.5
"""Slopes of the room inside an interval are at most so much larger than those seen."""
LEAST_SLOPE = 0.1
"""Slope that the room may have without having been seen [1/rad]."""
STEADY = 0.1
"""A joint whose changes next to an interval go back by no more than this share of the change in it is on its way."""
LARGEST_TURN = 2.0
"""Change of a joint between two places beyond which its direction is not known [rad]."""
NEIGHBOURS = 2e-4
"""Arcs next to a sampled one and nearer to it than this [rad] are not looked for."""
NARROWEST = 1e-12
"""Width of an interval that is not looked into any more [rad]."""
DEPTH = 44
"""Halvings from a scanned interval to the narrowest one."""
MOST = 600
"""Values that are tried for one pose between those of the scan."""


@inline_kernel
def _turned(a, b):
    """Return b - a modulo a turn, in [-pi, pi)."""
    d = b - a
    return d - 2.0 * math.pi * math.floor(d / (2.0 * math.pi) + 0.5)


@inline_kernel
def widths(places, p, a, b, r):
    """
    Return the width between two places, and one over the widths before, between and behind them, 0 for none.

    :param places, p, a, b, r: as for :func:`may_hide`, in either direction.
    """
    width = abs(places[b, hb.VALUE] - places[a, hb.VALUE])
    before = abs(places[a, hb.VALUE] - places[p, hb.VALUE])
    after = abs(places[r, hb.VALUE] - places[b, hb.VALUE])
    return (
        width,
        1.0 / before if before > 0.0 else 0.0,
        1.0 / width,
        1.0 / after if after > 0.0 else 0.0,
    )


@inline_kernel
def _bend(places, p, a, b, r, column, change, scales):
    """
    Return how far a joint may be from its chord between two places, by its changes there and next to them [rad].

    :param places, p, a, b, r: as for :func:`may_hide`, in either direction.
    :param column: of the joint.
    :param change: of the joint between the two [rad].
    :param scales: from :func:`widths`.
    """
    slope = change * scales[2]
    # At an end of the range half of the change has to do.
    left = right = 0.5 * slope
    if scales[1] > 0.0:
        left = _turned(places[p, column], places[a, column]) * scales[1]
    if scales[3] > 0.0:
        right = _turned(places[b, column], places[r, column]) * scales[3]
    return scales[0] * (0.5 * max(abs(slope - left), abs(right - slope)) + LEAST_BEND)


@inline_kernel
def _shares_inside(places, p, a, b, r, column, center, half, scales):
    """
    Return from which to which share of an interval a joint may be within limits; the first is above the second for none.

    :param places, p, a, b, r, column, scales: as for :func:`_bend`.
    :param center, half: middle of the joint's range and half its width [rad].
    """
    start = _turned(center, places[a, column])
    change = _turned(places[a, column], places[b, column])
    reach = half + _bend(places, p, a, b, r, column, change, scales) - hb.INSIDE
    size = abs(change)
    if change < 0.0:
        start = -start
    if abs(start) <= reach and abs(start + size) <= reach:
        return 0.0, 1.0
    first, last = 2.0, -1.0
    for turn in range(2):
        # A joint that turns upwards is within the range as it stands, or a turn further on.
        middle = 2.0 * math.pi * turn - start
        low, high = middle - reach, middle + reach
        if high >= 0.0 and low <= size:
            first = min(first, low / size if low > 0.0 else 0.0)
            last = max(last, high / size if high < size else 1.0)
    return first, last


@inline_kernel
def _may_exist(places, p, a, b, r, column):
    """
    Return whether a branch may exist between two places.

    :param places, p, a, b, r: as for :func:`may_hide`.
    :param column: of the room of the branch.
    """
    ra, rb = places[a, column], places[b, column]
    if ra == 0.0 or rb == 0.0 or not ra > -math.inf or not rb > -math.inf:
        return True
    width = places[b, hb.VALUE] - places[a, hb.VALUE]
    slope = abs(rb - ra) / width
    if p != a and places[p, column] > -math.inf:
        slope = max(
            slope, abs(ra - places[p, column]) / (places[a, hb.VALUE] - places[p, hb.VALUE])
        )
    if r != b and places[r, column] > -math.inf:
        slope = max(
            slope, abs(rb - places[r, column]) / (places[r, hb.VALUE] - places[b, hb.VALUE])
        )
    return ra + rb + (GROWTH * slope + LEAST_SLOPE) * width >= 0.0


@inline_kernel
def may_hide(places, p, a, b, r, branch, ranges, n, scales):
    """
    Return whether a branch that is outside at two neighbouring places may be inside between them.

    :param places: of which a and b are the neighbours, p the one before a, r the one behind b; p = a, r = b for none.
    :param branch: its number.
    :param ranges: from :func:`held_branches.write_ranges`.
    :param n: number of joints.
    :param scales: from :func:`widths`.
    """
    column = hb.record(branch, n)
    # The joint that is furthest outside mostly settles it.
    worst = int(places[a, column + n + hb.WORST])
    low, high = _shares_inside(
        places, p, a, b, r, column + worst, ranges[worst], ranges[n + worst], scales
    )
    if low > high or not _may_exist(places, p, a, b, r, column + n + hb.ROOM):
        return False
    for k in range(n):
        if k == worst or ranges[n + k] == math.inf:
            continue
        first, last = _shares_inside(
            places, p, a, b, r, column + k, ranges[k], ranges[n + k], scales
        )
        low, high = max(low, first), min(high, last)
        if low > high:
            return False
    return True


@inline_kernel
def _stays(places, p, a, b, r, column, center, half, scales):
    """Return whether a joint that is inside at place a stays so until b; see :func:`_shares_inside`."""
    start = _turned(center, places[a, column])
    change = _turned(places[a, column], places[b, column])
    bend = _bend(places, p, a, b, r, column, change, scales)
    return max(abs(start), abs(start + change)) + bend <= half


@kernel
def count_leaving(places, p, a, b, r, branch, ranges, n):
    """
    Return how many joints of a branch, inside at two neighbouring places, may leave their limits between them.

    :param places, p, a, b, r, branch, ranges, n: as for :func:`may_hide`.
    """
    column, count, scales = hb.record(branch, n), 0, widths(places, p, a, b, r)
    for k in range(n):
        half, at = ranges[n + k], column + k
        if half < math.inf and not _stays(places, p, a, b, r, at, ranges[k], half, scales):
            # Half a turn may have been one the other way round.
            count += 2 if abs(_turned(places[a, at], places[b, at])) > LARGEST_TURN else 1
    return count


@kernel
def leaves_once(places, p, a, b, r, branch, ranges, n):
    """
    Return whether a branch that is inside at place a and outside at b leaves the limits once on the way, on a steady course.

    :param places, p, a, b, r, branch, ranges, n: as for :func:`may_hide`, in either direction.
    """
    column, scales = hb.record(branch, n), widths(places, p, a, b, r)
    for k in range(n):
        half, at = ranges[n + k], column + k
        if half == math.inf or _stays(places, p, a, b, r, at, ranges[k], half, scales):
            continue
        end = _turned(ranges[k], places[b, at])
        side = 1.0 if end > 0.0 else -1.0
        change = _turned(places[a, at], places[b, at])
        before, after = (
            _turned(places[p, at], places[a, at]),
            _turned(places[b, at], places[r, at]),
        )
        is_steady = change * side > 0.0 and min(before * side, after * side) >= -STEADY * abs(
            change
        )
        if not (abs(end) > half and is_steady):
            return False
    return True


@inline_kernel
def _is_settled(places, p, a, b, r, branch, ranges, n):
    """Return whether a branch that is hit at one of two places at least has no other arc between them."""
    in_a, in_b = hb.is_inside(places, a, branch, n), hb.is_inside(places, b, branch, n)
    if not in_b:
        return leaves_once(places, p, a, b, r, branch, ranges, n)
    if not in_a:
        return leaves_once(places, r, b, a, p, branch, ranges, n)
    both = hb.is_hit(places, a, branch, n) and hb.is_hit(places, b, branch, n)
    # One joint that leaves and comes back parts two arcs; it takes two to leave a third one between them.
    return count_leaving(places, p, a, b, r, branch, ranges, n) <= (1 if both else 0)


@kernel
def is_doubtful(places, p, a, b, r, ranges, n):
    """
    Return whether an arc of some branch may lie between two places and not have been sampled.

    :param places, p, a, b, r, ranges, n: as for :func:`may_hide`.
    """
    scales = widths(places, p, a, b, r)
    for branch in range(hb.BRANCHES):
        if hb.is_hit(places, a, branch, n) or hb.is_hit(places, b, branch, n):
            is_wide = scales[0] > NEIGHBOURS
            if is_wide and not _is_settled(places, p, a, b, r, branch, ranges, n):
                return True
        elif may_hide(places, p, a, b, r, branch, ranges, n, scales):
            return True
    return False


@kernel
def search_between(
    places,
    stack,
    p,
    a,
    b,
    r,
    pool,
    ranges,
    pending,
    counters,
    ints,
    reals,
    seed,
    options,
    capacity,
    work,
    scratch,
    most,
):
    """
    Sample the arcs that lie between two neighbouring places; return how many values were tried.

    :param places: scanned places, and from row ``pool`` on DEPTH + 1 free ones.
    :param stack: (2 DEPTH + 2, 5) integers, scratch.
    :param p, a, b, r: as for :func:`may_hide`.
    :param ranges: from :func:`held_branches.write_ranges`.
    :param pending: candidates that wait, see :func:`held_branches.flush`.
    :param counters, ints, reals, seed, options, capacity, work: as for :func:`search.keep`.
    :param scratch: as for :func:`held_branches.write_place`.
    :param most: values that may be tried.
    """
    n, tried, size = ints[search.N], 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = p, a, b, r, 0
    while size > 0:
        size -= 1
        p, a, b, r = stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3]
        depth = stack[size, 4]
        if not is_doubtful(places, p, a, b, r, ranges, n):
            continue
        width = places[b, hb.VALUE] - places[a, hb.VALUE]
        if width < NARROWEST or depth >= DEPTH:
            # One value, as far as numbers go: certification decides.
            for place in (a, b):
                hb.keep_place(
                    places,
                    place,
                    -hb.ROUNDING,
                    ranges,
                    pending,
                    counters,
                    ints,
                    reals,
                    seed,
                    options,
                    capacity,
                    work,
                )
            continue
        if tried >= most:
            break
        middle = pool + depth
        value = 0.5 * (places[a, hb.VALUE] + places[b, hb.VALUE])
        hb.write_place(places, middle, value, ranges, ints, reals, seed, options, work, scratch)
        hb.keep_place(
            places,
            middle,
            hb.INSIDE,
            ranges,
            pending,
            counters,
            ints,
            reals,
            seed,
            options,
            capacity,
            work,
        )
        tried += 1
        for row in range(size, size + 2):
            is_left = row > size
            stack[row, 0], stack[row, 1] = (p, a) if is_left else (a, middle)
            stack[row, 2], stack[row, 3] = (middle, b) if is_left else (b, r)
            stack[row, 4] = depth + 1
        size += 2
    return tried
