"""
Find the arcs of the held joint of seven on which a branch is within all joint limits.

:func:`choose_values` chooses the values to try next, and :func:`take_in` adds their branches.

Problem
-------
The branches of six joints are curves over the value of the seventh. A branch is a solution where it exists and every
joint is within its limits. Those values form arcs, which may be narrow or a single value.

Solutions
---------
At least one posture on every arc of every branch, if the assumption of step 3 holds and MOST_TRIED_VALUES tried values
are enough.

Method
------
1. The margin of a branch is the smallest distance of a joint to its limits. Where the branch does not exist, its room
   is minus the residual of the nearest posture. A branch is inside if its margin is not negative and its room is 0.
2. Scan values. An arc that contains no scanned value lies between two neighbours that are both outside.
3. Assume that, between two neighbours, a joint deviates from its chord by at most half the width times the change of
   slope towards the adjacent intervals. This is exact where two straight lines meet, and four times too large for a
   parabola. It bounds the part of the interval in which each joint may be within its limits. The slopes bound the room:
   it is at most (f(a) + f(b) + K (b - a)) / 2. If no part is left, the interval has no arc. Otherwise try values in
   between until an arc is found or ruled out.
4. There may be another arc next to a sampled one. If a branch leaves the limits by joints that move steadily, it does
   not return. If two joints may leave and return between two values that are inside, there may be a third arc between
   them.

Degeneracies
------------
If an arc is a single value (two joints on their limits, or one that touches its limit), the bounds close in on it down
to NARROWEST_ARC. A branch that bends sharply next to a singular posture has large slopes, so more values are tried
there. Any detour of a curve between two values that leaves its slopes unchanged is missed.

Cost
----
All eight branches of an interval are examined together. Eight values are tried at a time: the middle of each of eight
intervals, or several values in fewer intervals.

References
----------
[Shimizu2008] describes the arcs of an arm with two spherical joints.
"""

import math
from typing import NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import held_branches as hb
from ssik_ros.kernels.geometry import lane_angles, lanes
from ssik_ros.kernels.geometry.lanes import LANES

LEAST_BEND = 0.03
"""Extra deviation of a joint from its chord, beyond the deviation that its slopes show, per width of the interval."""
GROWTH = 1.5
"""Largest factor by which slopes of the room inside an interval exceed the measured slopes."""
LEAST_ROOM_SLOPE = 0.1
"""Least assumed slope of the room [1/rad]."""
STEADY = 0.1
"""A joint moves steadily if its changes next to an interval reverse by at most this share of the change in the
interval."""
LARGEST_KNOWN_CHANGE = 2.0
"""If a joint changes by more than this between two places, its direction is unknown [rad]."""
NEIGHBOURS = 2e-4
"""Arcs next to a sampled one and nearer to it than this [rad] are not searched for."""
NARROWEST_ARC = 1e-12
"""Width of an interval of an arc below which it is not divided any further [rad]."""
MOST_TRIED_VALUES = 600
"""Most values of the held joint that are tried for one pose between the scanned values."""
COLUMNS = 4
"""Numbers of an interval on the stack: the place before it, both ends, the place after it."""
STACK_HEAD = LANES + 3
"""Rows of the stack that hold the intervals under examination, and a chain of LANES + 4 places."""


class Interval(NamedTuple):
    """
    An interval of the held joint between two neighbouring tried values.

    ``p``, ``a``, ``b`` and ``r`` are indices of places in ascending order of the value. A place is one tried value of
    the held joint with its branches. The interval is from ``a`` to ``b``; ``p`` and ``r`` are needed for slopes. At an
    end of the range, p is a, or r is b. ``width`` is the distance from a to b [rad]. ``before``, ``between`` and
    ``after`` are the inverse distances from p to a, a to b, and b to r [1/rad], 0 for a distance of 0.
    """

    p: int
    """The place before ``a``; ``a`` itself if ``a`` is the first place."""
    a: int
    b: int
    r: int
    """The place after ``b``; ``b`` itself if ``b`` is the last place."""
    width: float
    """Distance between a and b [rad]."""
    before: float
    """Inverse of the distance between p and a [1/rad]; 0 if p is a."""
    between: float
    """Inverse of ``width`` [1/rad]; 0 if ``width`` is 0."""
    after: float
    """Inverse of the distance between b and r [1/rad]; 0 if r is b."""


@inline_kernel
def places_needed(last):
    """
    Return the largest number of places, tried values of the held joint, that a search writes.

    This is last + 1 scanned places plus MOST_TRIED_VALUES.

    :param last: index of the last scanned place.
    """
    return last + 1 + MOST_TRIED_VALUES


@inline_kernel
def stack_size(last):
    """
    Return how many integers the stack of a search needs: intervals of the held joint that wait for an examination.

    A place is one tried value of the held joint.

    :param last: index of the last scanned place.
    """
    # A round removes at least one interval and adds one more than it has values.
    return COLUMNS * (STACK_HEAD + last + 2 * MOST_TRIED_VALUES)


@inline_kernel
def _interval(places, n, p, a, b, r):
    """
    Return the :class:`Interval` between places a and b, with its width and the inverse distances of its neighbours.

    A place is one tried value of the held joint with its branches.

    :param places: flat table of places, see :mod:`held_branches`.
    :param n: number of joints.
    :param p, r: place before a, and place after b; p is a, or r is b, at an end of the range.
    """
    width = places[hb.number_at(b, hb.VALUE, n)] - places[hb.number_at(a, hb.VALUE, n)]
    before = places[hb.number_at(a, hb.VALUE, n)] - places[hb.number_at(p, hb.VALUE, n)]
    after = places[hb.number_at(r, hb.VALUE, n)] - places[hb.number_at(b, hb.VALUE, n)]
    return Interval(
        p,
        a,
        b,
        r,
        width,
        1.0 / before if before > 0.0 else 0.0,
        1.0 / width if width > 0.0 else 0.0,
        1.0 / after if after > 0.0 else 0.0,
    )


@inline_kernel
def _step(places, ranges, n, interval, joint):
    """
    Return how one joint moves between two tried values of the held joint: five numbers for each of the eight branches.

    A place is one tried value of the held joint, with its eight branches. The five numbers are in radians:

    - start: angle at place a relative to the middle of the joint's range;
    - change: from a to b;
    - before: change from p to a, 0 if p is a;
    - after: change from b to r, 0 if r is b;
    - bend: estimated largest deviation from the straight line between a and b, from the slopes on both sides.

    The first four are in [-pi, pi).

    :param places: flat table of places, see :mod:`held_branches`.
    :param ranges: a :class:`held_branches.Ranges`.
    :param n: number of joints.
    :param interval: an :class:`Interval` from place a to b, with p before and r after.
    :param joint: index of the joint.
    :returns: (start, change, before, after, bend), each eight lanes, one for each branch.
    """
    at_a = lanes.load(places, hb.row_at(interval.a, joint, n))
    at_b = lanes.load(places, hb.row_at(interval.b, joint, n))
    before = lane_angles.wrapped(at_a - lanes.load(places, hb.row_at(interval.p, joint, n)))
    after = lane_angles.wrapped(lanes.load(places, hb.row_at(interval.r, joint, n)) - at_b)
    change = lane_angles.wrapped(at_b - at_a)
    slope = change * interval.between
    # At an end of the range one neighbour is missing: assume half of the slope there.
    left = before * interval.before if interval.before > 0.0 else 0.5 * slope
    right = after * interval.after if interval.after > 0.0 else 0.5 * slope
    turn = lanes.greater(lanes.absolute(slope - left), lanes.absolute(right - slope))
    bend = interval.width * (0.5 * turn + LEAST_BEND)
    return (
        lane_angles.wrapped(at_a - lanes.spread(ranges.middles[joint])),
        change,
        before,
        after,
        bend,
    )


@inline_kernel
def _shares_inside(start, change, reach):
    """
    Return (first, last): the shares of an interval between which a joint may be within its limits, eight lanes each.

    A place is one tried value of the held joint. A share is 0 at place a and 1 at place b. Where the joint is outside
    all along, the first share is larger than the last.

    :param start: angle at a relative to the middle of the range [rad].
    :param change: change from a to b [rad].
    :param reach: half the width of the range plus the largest deviation from the chord [rad].
    """
    start = lanes.select(change < 0.0, -start, start)
    size = lanes.absolute(change)
    inverse = 1.0 / lanes.select(size > 0.0, size, 1.0)
    first, last = lanes.spread(2.0), lanes.spread(-1.0)
    for turn in range(2):
        # A joint that turns upwards meets the range at its winding or at the next winding.
        middle = 2.0 * math.pi * turn - start
        low, high = middle - reach, middle + reach
        is_met = (high >= 0.0) & (low <= size)
        share = lanes.select(low > 0.0, low * inverse, 0.0)
        first = lanes.select(is_met & (share < first), share, first)
        share = lanes.select(high < size, high * inverse, 1.0)
        last = lanes.select(is_met & (share > last), share, last)
    is_inside = (lanes.absolute(start) <= reach) & (lanes.absolute(start + size) <= reach)
    return lanes.select(is_inside, 0.0, first), lanes.select(is_inside, 1.0, last)


@inline_kernel
def _rooms(places, n, interval):
    """
    Return (rooms at a, rooms at b, mask) of the eight branches; the mask marks branches that reach the pose at neither.

    The room is 0 if the branch reaches the pose, and minus its pose error if it misses the pose. It is -inf if this was
    not checked. The mask leaves out branches that were not checked at one of both places.

    :param places: flat table of places, see :mod:`held_branches`.
    :param n: number of joints.
    :param interval: :class:`Interval` between places a and b, two values of the held joint.
    """
    a = lanes.load(places, hb.row_at(interval.a, n + hb.RESIDUAL_ROW, n))
    b = lanes.load(places, hb.row_at(interval.b, n + hb.RESIDUAL_ROW, n))
    return a, b, (a < 0.0) & (b < 0.0) & (a > -math.inf) & (b > -math.inf)


@kernel
def existing(places, n, interval):
    """
    Return a bit mask of the branches that may reach the pose somewhere between two neighbouring places.

    A place is one tried value of the held joint. A branch is left out if it misses the pose at both places by too much.
    Its slopes, with a margin of GROWTH, then exclude a solution in between.

    :param places: flat table of places, see :mod:`held_branches`.
    :param n: number of joints.
    :param interval: :class:`Interval` between the two places.
    """
    a, b, is_absent = _rooms(places, n, interval)
    if lanes.bits_of(is_absent) == 0:
        return hb.EVERY
    a, b = lanes.select(is_absent, a, 0.0), lanes.select(is_absent, b, 0.0)
    p = lanes.load(places, hb.row_at(interval.p, n + hb.RESIDUAL_ROW, n))
    r = lanes.load(places, hb.row_at(interval.r, n + hb.RESIDUAL_ROW, n))
    p, r = lanes.select(p > -math.inf, p, a), lanes.select(r > -math.inf, r, b)
    slope = lanes.absolute(b - a) * interval.between
    slope = lanes.greater(lanes.absolute(a - p) * interval.before, slope)
    slope = lanes.greater(lanes.absolute(b - r) * interval.after, slope)
    reach = a + b + (GROWTH * slope + LEAST_ROOM_SLOPE) * interval.width
    return hb.EVERY & ~lanes.bits_of(is_absent & (reach < 0.0))


@inline_kernel
def _stays(start, change, bend, half):
    """
    Return a mask of the branches on which a joint stays within its range between places a and b.

    A place is one tried value of the held joint. Between both, the joint deviates from a straight line by at most
    ``bend``.

    :param start, change: angle at a relative to the middle of the range, and its change to b [rad].
    :param bend: largest deviation from the chord [rad], from :func:`_step`.
    :param half: half the width of the range [rad].
    """
    there = lanes.greater(lanes.absolute(start), lanes.absolute(start + change))
    return there + bend <= half


@inline_kernel
def _leaves_once(start, change, before, after, half, is_forward):
    """
    Return a mask of the branches on which a joint leaves its range once and does not return between two places.

    A place is one tried value of the held joint. The joint must be outside its range at one end of the interval, and
    must move steadily towards this end.

    :param start, change, before, after: angle at a and changes of the joint, from :func:`_step`.
    :param half: half the width of the range [rad].
    :param is_forward: mask of the branches that leave from a towards b; all others leave from b towards a.
    """
    out = lanes.select(is_forward, start + change, start)
    out = lane_angles.wrapped(out)
    side = lanes.select(out > 0.0, 1.0, lanes.spread(-1.0))
    side = lanes.select(is_forward, side, -side)
    back = lanes.lesser(before * side, after * side)
    is_steady = (change * side > 0.0) & (back >= -STEADY * lanes.absolute(change))
    return (lanes.absolute(out) > half) & is_steady


@inline_kernel
def _staying(places, ranges, n, interval):
    """
    Return a bit mask of the branches on which all joints stay within limits from place a to place b.

    A place is one tried value of the held joint. Between both, the bounds of :func:`_step` are used, which assume that
    slopes change little.

    :param places, ranges, n, interval: places, ranges of the joints, number of joints, and the interval, as for
        :func:`is_doubtful`.
    """
    stays = lanes.places() >= 0.0
    for i in range(int(ranges.limited_count[0])):
        joint = int(ranges.limited[i])
        start, change, _, _, bend = _step(places, ranges, n, interval, joint)
        stays = stays & _stays(start, change, bend, ranges.halves[joint])
    return lanes.bits_of(stays)


@kernel
def is_doubtful(places, ranges, n, interval):
    """
    Return whether more values of the held joint must be tried between two neighbouring tried values, the places.

    A branch is hit at a place (its bit in HIT_BITS) if its arc there has a sample. More values are needed if a branch
    that is hit at neither place may be within limits in between. They are also needed if a branch that is hit may have
    a further arc in between. Further arcs in an interval of at most NEIGHBOURS (2e-4 rad) do not count.

    :param places: flat table of places, see :mod:`held_branches`.
    :param ranges: a :class:`held_branches.Ranges`.
    :param n: number of joints.
    :param interval: :class:`Interval` between the two places.
    """
    hit_a = hb.bits_at(places, interval.a, hb.HIT_BITS, n)
    hit_b = hb.bits_at(places, interval.b, hb.HIT_BITS, n)
    # If a branch is inside at neither end, any arc counts; otherwise only another arc.
    others = (hit_a | hit_b) if interval.width > NEIGHBOURS else 0
    hidden = existing(places, n, interval) & ~(hit_a | hit_b)
    if hidden == 0 and others == 0:
        return False
    _, rooms, is_absent = _rooms(places, n, interval)
    low, high = lanes.spread(0.0), lanes.spread(1.0)
    leaving, steady = lanes.spread(0.0), lanes.spread(1.0)
    margins = lanes.load(places, hb.row_at(interval.b, n + hb.MARGIN, n))
    is_forward = (margins < hb.INSIDE_MARGIN) | (rooms < 0.0)
    for i in range(int(ranges.limited_count[0])):
        joint = int(ranges.limited[i])
        half = ranges.halves[joint]
        start, change, before, after, bend = _step(places, ranges, n, interval, joint)
        if hidden != 0:
            first, last = _shares_inside(start, change, bend + (half - hb.INSIDE_MARGIN))
            low, high = lanes.greater(low, first), lanes.lesser(high, last)
            # Joints of a branch that exists only in between leave their chords like a square root.
            hidden &= lanes.bits_of((low <= high) | is_absent)
        if others == 0:
            if hidden == 0:
                return False
            continue
        stays = _stays(start, change, bend, half)
        # A change of nearly pi may be a rotation in the other direction.
        is_large = lanes.absolute(change) > LARGEST_KNOWN_CHANGE
        leaving = leaving + lanes.select(
            stays, 0.0, lanes.select(is_large, 2.0, lanes.spread(1.0))
        )
        once = _leaves_once(start, change, before, after, half, is_forward)
        steady = lanes.select(stays | once, steady, 0.0)
    if hidden != 0:
        return True
    in_a = hb.bits_at(places, interval.a, hb.INSIDE_BITS, n)
    in_b = hb.bits_at(places, interval.b, hb.INSIDE_BITS, n)
    # One joint that leaves and returns separates two arcs; a third arc between them needs two such joints.
    stay = lanes.bits_of(leaving < 0.5) | (lanes.bits_of(leaving < 1.5) & hit_a & hit_b)
    settled = (in_a & in_b & stay) | (~(in_a & in_b) & lanes.bits_of(steady > 0.5))
    return others & ~settled != 0


@kernel
def bridge(places, ranges, n, p, a, b, r, wanted):
    """
    Return a bit mask of the branches that are within the limits at place a, at place b, and probably between them.

    A place is one tried value of the held joint. Between the places the bounds of :func:`_step` decide.

    :param places: flat table of places, see :mod:`held_branches`.
    :param ranges: a :class:`held_branches.Ranges`.
    :param n: number of joints.
    :param p, a, b, r: four consecutive places, as in :class:`Interval`.
    :param wanted: bit mask of the branches to examine; other branches are never returned.
    """
    bits = hb.bits_at(places, a, hb.INSIDE_BITS, n) & wanted
    bits &= hb.bits_at(places, b, hb.INSIDE_BITS, n)
    if bits == 0:
        return 0
    return bits & _staying(places, ranges, n, _interval(places, n, p, a, b, r))


@kernel
def _inherit(places, ranges, n, p, a, b, r, other):
    """
    Copy hits from one end of an interval to the other end, for branches that stay within the limits in between.

    A place is one tried value of the held joint. A branch is hit at a place if its arc through this place has a sample
    already.

    :param places, ranges, n: places, ranges of the joints, and number of joints, as for :func:`is_doubtful`.
    :param p, a, b, r: four consecutive places, as in :class:`Interval`.
    :param other: a or b, the end whose hits are read. HIT_BITS of the opposite end is written.
    """
    at = a + b - other
    hit = hb.bits_at(places, at, hb.HIT_BITS, n)
    wanted = hb.bits_at(places, other, hb.HIT_BITS, n) & ~hit
    more = bridge(places, ranges, n, p, a, b, r, wanted)
    places[hb.number_at(at, hb.HIT_BITS, n)] = float(hit | more)


@kernel
def push_scanned(stack, last):
    """
    Write the ``last`` intervals between neighbouring scanned values of the held joint onto a stack; return ``last``.

    The interval with the smallest values is on top. An interval is four indices p, a, b, r of scanned values: a and b
    are its ends, p comes before a, and r after b. At an end of the range, p is a, or r is b.

    :param stack: (stack_size(last),) integers out; the rows before STACK_HEAD are not written.
    :param last: index of the last scanned value; the first one has index 0.
    """
    for size in range(last):
        a, row = last - 1 - size, COLUMNS * (STACK_HEAD + size)
        stack[row], stack[row + 1] = max(a - 1, 0), a
        stack[row + 2], stack[row + 3] = a + 1, min(a + 2, last)
    return last


@kernel
def choose_values(places, ranges, n, pending, stack, size, values):
    """
    Take intervals from the stack until eight of them may hide an arc, and write the values to try inside these.

    An interval lies between two neighbouring tried values of the held joint. Intervals that hide nothing are dropped.
    If a doubtful interval is narrower than NARROWEST_ARC, candidates at both its ends are appended to ``pending``, and
    certification decides. As eight values cost as much as one, fewer intervals get more values each.

    :param places, ranges, n: places, ranges of the joints, and number of joints, as for :func:`is_doubtful`.
    :param pending: table of candidates that wait for certification, as for :func:`held_branches.keep_place`.
    :param stack: (stack_size(last),) from :func:`push_scanned`. The taken intervals are copied to its beginning.
    :param size: number of intervals on the stack.
    :param values: (8,) out: values of the held joint [rad], interval by interval.
    :returns: (count, parts, size): number of taken intervals (0 if the search is finished), number of values in each,
        and number of intervals that are left on the stack.
    """
    count = 0
    while size > 0 and count < LANES:
        size -= 1
        row = COLUMNS * (STACK_HEAD + size)
        a, b = stack[row + 1], stack[row + 2]
        interval = _interval(places, n, stack[row], a, b, stack[row + 3])
        if not is_doubtful(places, ranges, n, interval):
            continue
        if interval.width < NARROWEST_ARC:
            # A single value within rounding: let certification decide.
            hb.keep_place(places, a, -hb.CANDIDATE_ERROR, ranges, pending, n)
            hb.keep_place(places, b, -hb.CANDIDATE_ERROR, ranges, pending, n)
            continue
        for column in range(COLUMNS):
            stack[COLUMNS * count + column] = stack[row + column]
        count += 1
    parts = LANES // count if count > 0 else 0
    for i in range(count):
        low = places[hb.number_at(stack[COLUMNS * i + 1], hb.VALUE, n)]
        high = places[hb.number_at(stack[COLUMNS * i + 2], hb.VALUE, n)]
        for part in range(parts):
            values[i * parts + part] = low + (high - low) * ((part + 1.0) / (parts + 1.0))
    return count, parts, size


@kernel
def take_in(places, ranges, n, pending, stack, size, count, parts, first):
    """
    Divide the intervals of :func:`choose_values` at their new places, and push the parts onto the stack.

    A place is one tried value of the held joint. The new places are linked in the order of their values. Branches there
    that are within limits, and whose arc has no candidate yet, are appended to ``pending``.

    :param places, ranges, n, pending, stack, size: places, ranges of the joints, number of joints, waiting candidates,
        and stack with its number of intervals, as for :func:`choose_values`.
    :param count, parts: number of divided intervals, and number of new places in each.
    :param first: index of the first new place; the others follow in the order of the values.
    :returns: new number of intervals on the stack.
    """
    chain = vector(stack, COLUMNS * LANES, LANES + 4)
    for i in range(count - 1, -1, -1):
        chain[0], chain[1] = stack[COLUMNS * i], stack[COLUMNS * i + 1]
        for part in range(parts):
            chain[2 + part] = first + i * parts + part
        chain[2 + parts], chain[3 + parts] = stack[COLUMNS * i + 2], stack[COLUMNS * i + 3]
        _keep_chain(places, ranges, n, pending, chain, parts)
        for k in range(1 + parts, 0, -1):
            for column in range(COLUMNS):
                stack[COLUMNS * (STACK_HEAD + size) + column] = chain[k - 1 + column]
            size += 1
    return size


@kernel
def _keep_chain(places, ranges, n, pending, chain, count):
    """
    Link the new places inside one interval by NEXT, and append their candidates within limits to ``pending``.

    A place is one tried value of the held joint. Branches that stay within the limits up to a place where their bit in
    HIT_BITS is set are left out.

    :param places, ranges, n, pending: places, ranges, number of joints and waiting candidates, as for
        :func:`choose_values`.
    :param chain: indices of count + 4 places in ascending order: place before the interval, its first end, the new
        places, its other end, place after it.
    :param count: number of new places.
    """
    for k in range(1, count + 2):
        places[hb.number_at(chain[k], hb.NEXT, n)] = float(chain[k + 1])
    for k in range(count + 1, 1, -1):
        p, a, b, r = chain[k - 1], chain[k], chain[k + 1], chain[k + 2]
        _inherit(places, ranges, n, p, a, b, r, b)
    for k in range(2, count + 2):
        p, a, b, r = chain[k - 2], chain[k - 1], chain[k], chain[k + 1]
        _inherit(places, ranges, n, p, a, b, r, a)
        hb.keep_place(places, b, hb.INSIDE_MARGIN, ranges, pending, n)
