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
3. Between neighbours at a and b a function of slope up to K is at most (f(a) + f(b) + K (b - a)) / 2. K is taken from the
   slopes between the two and next to them, times GROWTH. Where that bound of a joint's margin or of the room is
   negative, there is no arc; elsewhere the value half way is tried, until an arc is met or ruled out.

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

GROWTH = 1.5
"""Slopes inside an interval are at most so much larger than those seen."""
LEAST_SLOPE = 0.15
"""Slope that a branch may have without having been seen [rad/rad]."""
STEADY = 0.1
"""A joint whose changes next to an interval go back by no more than this share of the change in it is on its way."""
LARGEST_TURN = 2.0
"""Change of a joint between two places beyond which its direction is not known [rad]."""
NEIGHBOURS = 2e-4
"""Arcs next to a sampled one and nearer to it than this [rad] are not looked for."""
NARROWEST = 1e-10
"""Width of an interval that is not looked into any more [rad]."""
DEPTH = 40
"""Halvings from a scanned interval to the narrowest one."""
MOST = 600
"""Values that are tried for one pose between those of the scan."""


@inline_kernel
def _reaches(fa, fb, slope, width):
    """Return whether a function can reach zero between two places where it is ``fa`` and ``fb``."""
    return fa + fb + slope * width >= 2.0 * hb.INSIDE


@inline_kernel
def _turned(a, b):
    """Return b - a modulo a turn, in [-pi, pi)."""
    d = b - a
    return d - 2.0 * math.pi * math.floor(d / (2.0 * math.pi) + 0.5)


@inline_kernel
def _steepest(own, before, after, width, width_before, width_after):
    """Return the largest slope of three neighbouring intervals, by the changes in them."""
    slope = own / width
    if width_before > 0.0:
        slope = max(slope, before / width_before)
    if width_after > 0.0:
        slope = max(slope, after / width_after)
    return GROWTH * slope + LEAST_SLOPE


@kernel
def may_hide(places, p, a, b, r, branch, ranges, n):
    """
    Return whether a branch that is outside at two neighbouring places may be inside between them.

    :param places: of which a and b are the neighbours, p the one before a, r the one behind b; p = a, r = b for none.
    :param branch: its number.
    :param ranges: from :func:`held_branches.write_ranges`.
    :param n: number of joints.
    """
    column = hb.record(branch, n)
    width = places[b, hb.VALUE] - places[a, hb.VALUE]
    before = places[a, hb.VALUE] - places[p, hb.VALUE]
    after = places[r, hb.VALUE] - places[b, hb.VALUE]
    room = column + n + hb.ROOM
    ra, rb = places[a, room], places[b, room]
    if ra < 0.0 and rb < 0.0 and ra > -math.inf and rb > -math.inf:
        rp, rr = places[p, room], places[r, room]
        left = abs(ra - rp) if rp > -math.inf else 0.0
        right = abs(rb - rr) if rr > -math.inf else 0.0
        slope = _steepest(abs(ra - rb), left, right, width, before, after)
        if not _reaches(ra, rb, slope, width):
            return False
    for k in range(n):
        half = ranges[n + k]
        if half == math.inf:
            continue
        qa, qb = places[a, column + k], places[b, column + k]
        fa, fb = hb.margin(qa, ranges[k], half), hb.margin(qb, ranges[k], half)
        if fa + fb >= 0.0:
            continue
        slope = _slope_of(places, p, a, b, r, column + k)
        if not _reaches(fa, fb, slope, width):
            return False
    return True


@inline_kernel
def _slope_of(places, p, a, b, r, column):
    """Return how steep a joint may be between two places, by its changes there and next to them; see :func:`may_hide`."""
    qa, qb = places[a, column], places[b, column]
    return _steepest(
        abs(_turned(qa, qb)),
        abs(_turned(places[p, column], qa)),
        abs(_turned(qb, places[r, column])),
        abs(places[b, hb.VALUE] - places[a, hb.VALUE]),
        abs(places[a, hb.VALUE] - places[p, hb.VALUE]),
        abs(places[r, hb.VALUE] - places[b, hb.VALUE]),
    )


@kernel
def count_leaving(places, p, a, b, r, branch, ranges, n):
    """
    Return how many joints of a branch, inside at two neighbouring places, may leave their limits between them.

    :param places, p, a, b, r, branch, ranges, n: as for :func:`may_hide`.
    """
    column, count = hb.record(branch, n), 0
    width = places[b, hb.VALUE] - places[a, hb.VALUE]
    for k in range(column, column + n):
        half = ranges[n + k - column]
        if half == math.inf:
            continue
        center = ranges[k - column]
        fa = hb.margin(places[a, k], center, half)
        fb = hb.margin(places[b, k], center, half)
        if fa + fb < _slope_of(places, p, a, b, r, k) * width:
            # Half a turn may have been one the other way round.
            count += 2 if abs(_turned(places[a, k], places[b, k])) > LARGEST_TURN else 1
    return count


@kernel
def leaves_once(places, p, a, b, r, branch, ranges, n):
    """
    Return whether a branch that is inside at place a and outside at b leaves the limits once on the way, on a steady course.

    :param places, p, a, b, r, branch, ranges, n: as for :func:`may_hide`, in either direction.
    """
    column = hb.record(branch, n)
    width = abs(places[b, hb.VALUE] - places[a, hb.VALUE])
    for k in range(column, column + n):
        half = ranges[n + k - column]
        if half == math.inf:
            continue
        center = ranges[k - column]
        qa, qb = places[a, k], places[b, k]
        fa, fb = hb.margin(qa, center, half), hb.margin(qb, center, half)
        if fa + fb >= _slope_of(places, p, a, b, r, k) * width:
            continue
        own, side = _turned(qa, qb), 1.0 if _turned(center, qb) > 0.0 else -1.0
        back = min(_turned(places[p, k], qa) * side, _turned(qb, places[r, k]) * side)
        if not (fb < 0.0 and own * side > 0.0 and back >= -STEADY * abs(own)):
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
    is_wide = places[b, hb.VALUE] - places[a, hb.VALUE] > NEIGHBOURS
    for branch in range(hb.BRANCHES):
        hit_a, hit_b = hb.is_hit(places, a, branch, n), hb.is_hit(places, b, branch, n)
        if hit_a or hit_b:
            if is_wide and not _is_settled(places, p, a, b, r, branch, ranges, n):
                return True
        elif may_hide(places, p, a, b, r, branch, ranges, n):
            return True
    return False


@kernel
def inherit_hits(places, p, a, m, b, r, ranges, n):
    """
    Count a place as hit where its branch is inside on the way to a neighbour that is.

    :param places: of which m is the new one, a and b its neighbours, p and r those behind them.
    :param ranges, n: as for :func:`may_hide`.
    """
    for branch in range(hb.BRANCHES):
        if not hb.is_inside(places, m, branch, n):
            continue
        from_a = hb.is_hit(places, a, branch, n)
        from_b = hb.is_hit(places, b, branch, n)
        if (from_a and count_leaving(places, p, a, m, b, branch, ranges, n) == 0) or (
            from_b and count_leaving(places, a, m, b, r, branch, ranges, n) == 0
        ):
            places[m, hb.record(branch, n) + n + hb.HIT] = 1.0


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
            hb.keep_place(places, a, counters, ints, reals, seed, options, capacity, work)
            continue
        if tried >= most:
            break
        middle = pool + depth
        value = 0.5 * (places[a, hb.VALUE] + places[b, hb.VALUE])
        hb.write_place(places, middle, value, ranges, ints, reals, seed, options, work, scratch)
        inherit_hits(places, p, a, middle, b, r, ranges, n)
        hb.keep_place(places, middle, counters, ints, reals, seed, options, capacity, work)
        tried += 1
        for row in range(size, size + 2):
            is_left = row > size
            stack[row, 0], stack[row, 1] = (p, a) if is_left else (a, middle)
            stack[row, 2], stack[row, 3] = (middle, b) if is_left else (b, r)
            stack[row, 4] = depth + 1
        size += 2
    return tried
