"""
The branches of six joints at one value of the seventh, and how far each is inside the limits.

A place is a row of numbers: the value of the held joint, then a record for each branch. Branches keep their number from
value to value, so that one branch is a curve over the held joint.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import matrix
from ssik_ros.kernels._jit import vector
from ssik_ros.kernels.analytic import candidates
from ssik_ros.kernels.analytic import lane_pipeline
from ssik_ros.kernels.analytic import search

BRANCHES = 8
"""Branches of the closed forms of six joints."""
VALUE, FIRST = 0, 1
"""Columns of a place: value of the held joint, first record."""
MARGIN, ROOM, HIT, WORST = 0, 1, 2, 3
"""Numbers of a record behind its n joint values: least distance to a limit [rad], minus the residual where the branch does
not exist and 0 where it does, 1 where its stretch within the limits has been sampled, and the joint nearest to its limit."""
RECORD = 4

INSIDE = -1e-10
"""Margin from which on a branch is within the limits [rad]: what certification puts on the limit."""
ROUNDING = 1e-6
"""Candidates of an exact class are no further from the solution [rad], and doubled ones reach the pose to this."""
FAR = 0.6
"""Beyond this margin [rad] nobody asks whether a branch exists."""


@inline_kernel
def place_size(n):
    """
    Return how many numbers a place has.

    :param n: number of joints.
    """
    return FIRST + BRANCHES * (n + RECORD)


@inline_kernel
def waiting_size(n):
    """
    Return how many numbers :func:`flush` keeps of the candidates that wait.

    :param n: number of joints.
    """
    return 1 + BRANCHES * n


@inline_kernel
def record(branch, n):
    """
    Return the column where the record of a branch begins.

    :param branch: its number.
    :param n: number of joints.
    """
    return FIRST + branch * (n + RECORD)


@inline_kernel
def margin(value, center, half):
    """
    Return how far an angle is inside a joint's limits, modulo a turn [rad]; negative outside.

    :param value: the angle [rad].
    :param center, half: middle of the range and half its width, infinite where every angle has a turn inside.
    """
    away = value - center
    return half - abs(away - 2.0 * math.pi * math.floor(away / (2.0 * math.pi) + 0.5))


@kernel
def write_ranges(ranges, ints, reals):
    """
    Write middle and half width of the range of every joint but the held one.

    :param ranges: (2 n,) middles, then half widths [rad], infinite where every angle has a turn inside.
    :param ints, reals: the plan.
    """
    n = ints[search.N]
    for k in range(n):
        low, high = reals[6 * n + 24 + k], reals[7 * n + 24 + k]
        is_free = not high - low < 2.0 * math.pi or k == ints[search.HELD]
        ranges[k] = 0.0 if is_free else 0.5 * (low + high)
        ranges[n + k] = math.inf if is_free else 0.5 * (high - low)


@kernel
def write_place(places, at, value, ranges, ints, reals, seed, options, work, scratch):
    """
    Write the branches at one value of the held joint, and return how many candidates there are.

    :param places: (., place_size(n)) of which row ``at`` is written.
    :param value: of the held joint [rad].
    :param ranges: from :func:`write_ranges`.
    :param ints, reals, seed, options, work: as for :func:`search.search`, after its ``begin``.
    :param scratch: (lane_pipeline.area_size(n),) numbers.
    """
    n = ints[search.N]
    raw = matrix(work, search.STORE + 2 * n, search.BRANCHES_OF_SIX, n)
    count = candidates.write_candidates(
        raw,
        ints[search.KIND],
        ints[search.CASE],
        ints[search.REVERSED] != 0,
        vector(reals, 8 * n + 30, 3 * n),
        vector(reals, 11 * n + 30, 3 * n),
        n,
        ints[search.SLIDES],
        ints[search.HELD],
        value,
        vector(reals, 8 * n + 24, 6),
        vector(ints, search.BEHIND, 2),
        vector(work, 0, 12),
        search.offered_angle(ints, reals, seed, options),
        vector(
            work,
            search.STORE + 2 * n + search.BRANCHES_OF_SIX * n,
            candidates.SCRATCH,
        ),
    )
    places[at, VALUE] = value
    for branch in range(BRANCHES):
        column = record(branch, n)
        places[at, column + n + HIT] = 0.0
        if branch >= count:
            for k in range(n):
                places[at, column + k] = 0.0
            places[at, column + n + WORST] = 0.0
            places[at, column + n + MARGIN] = places[at, column + n + ROOM] = -math.inf
            continue
        for k in range(n):
            places[at, column + k] = raw[branch, k]
        _write_margin(places, at, column, ranges, n)
    _write_rooms(places, at, min(count, BRANCHES), raw, ints, reals, work, scratch)
    return count


@inline_kernel
def _write_margin(places, at, column, ranges, n):
    """Write how far a branch is inside the limits, and by which joint; its joint values stand in the place."""
    least, worst = math.inf, 0
    for k in range(n):
        if ranges[n + k] < math.inf:
            room = margin(places[at, column + k], ranges[k], ranges[n + k])
            if room < least:
                least, worst = room, k
    places[at, column + n + MARGIN] = least
    places[at, column + n + WORST] = float(worst)


@kernel
def _write_rooms(places, at, count, raw, ints, reals, work, scratch):
    """
    Write whether branches exist: a tangent subproblem returns one candidate twice, and so does one out of reach.

    :param count: how many candidates stand in ``raw``; those that one subproblem makes differ by one bit of their number.
    :param places, at, ints, reals, work, scratch: as for :func:`write_place`.
    """
    n, doubled, is_near = ints[search.N], 0, False
    for branch in range(count):
        column = record(branch, n) + n
        places[at, column + ROOM] = 0.0
        for bit in (1, 2, 4):
            if branch ^ bit < count and _are_same(raw, branch, branch ^ bit, n):
                doubled |= 1 << branch
        if (doubled >> branch) & 1 != 0:
            places[at, column + ROOM] = -math.inf
            is_near = is_near or places[at, column + MARGIN] >= -FAR
    if not is_near:
        return
    area = vector(scratch, 0, lane_pipeline.area_size(n))
    lane_pipeline.read_candidates(area, raw, 0, count, n)
    lane_pipeline.measure(
        area,
        vector(reals, 0, 3 * n),
        vector(reals, 3 * n, 3 * n),
        vector(reals, 6 * n, 12),
        n,
        ints[search.SLIDES],
        vector(work, search.TARGET, 12),
        1.0,
    )
    for branch in range(count):
        if (doubled >> branch) & 1 != 0:
            miss = area[lane_pipeline.row_of(n, lane_pipeline.RESIDUAL) + branch]
            places[at, record(branch, n) + n + ROOM] = 0.0 if miss < ROUNDING else -miss


@inline_kernel
def _are_same(raw, a, b, n):
    """Return whether two candidates are one, to the last bit."""
    same = True
    for k in range(n):
        same = same and raw[a, k] == raw[b, k]
    return same


@inline_kernel
def is_inside(places, at, branch, n):
    """
    Return whether a branch exists at a place and is within the limits.

    :param places, at, branch, n: place, number of the branch, number of joints.
    """
    column = record(branch, n) + n
    return places[at, column + MARGIN] >= INSIDE and places[at, column + ROOM] == 0.0


@inline_kernel
def is_hit(places, at, branch, n):
    """Return whether a branch's stretch within the limits has been sampled, seen from a place."""
    return places[at, record(branch, n) + n + HIT] != 0.0


@kernel
def flush(pending, counters, ints, reals, seed, options, capacity, work):
    """
    Certify and keep the candidates that wait.

    :param pending: (waiting_size(n),) how many wait, then their joint values.
    :param counters, ints, reals, seed, options, capacity, work: as for :func:`search.keep`.
    """
    n, count = ints[search.N], int(pending[0])
    raw = matrix(work, search.STORE + 2 * n, search.BRANCHES_OF_SIX, n)
    for row in range(count):
        for k in range(n):
            raw[row, k] = pending[1 + row * n + k]
    pending[0] = 0.0
    if count > 0:
        first = counters[search.KEPT]
        search.keep(counters, ints, reals, count, first, seed, options, capacity, work)


@kernel
def keep_place(
    places, at, least, ranges, pending, counters, ints, reals, seed, options, capacity, work
):
    """
    Let the branches of a place with a margin and not hit yet wait for :func:`flush`; return whether there are.

    Eight are certified at the cost of one; those of one place stay together.

    :param places, at: the place; these branches count as hit from now on.
    :param least: the margin that they shall have: INSIDE, or -ROUNDING where certification is to decide.
    :param ranges: from :func:`write_ranges`; what is outside of them by rounding is put on the limit.
    :param pending: as for :func:`flush`, which is called where it is full.
    :param counters, ints, reals, seed, options, capacity, work: as for :func:`search.keep`.
    """
    n, count, found = ints[search.N], 0, False
    for branch in range(BRANCHES):
        count += _is_wanted(places, at, branch, n, least)
    if int(pending[0]) + count > BRANCHES:
        flush(pending, counters, ints, reals, seed, options, capacity, work)
    for branch in range(BRANCHES):
        if not _is_wanted(places, at, branch, n, least):
            continue
        column, row = record(branch, n), int(pending[0])
        for k in range(n):
            value, center = places[at, column + k], ranges[k]
            beyond = min(0.0, margin(value, center, ranges[n + k]))
            is_above = margin(value, center - 1.0, math.pi) < margin(value, center + 1.0, math.pi)
            pending[1 + row * n + k] = value + (beyond if is_above else -beyond)
        pending[0] += 1.0
        places[at, column + n + HIT] = 1.0
        found = True
    return found


@inline_kernel
def _is_wanted(places, at, branch, n, least):
    """Return whether a branch has a margin, exists, and is not hit."""
    column = record(branch, n) + n
    may_be = places[at, column + MARGIN] >= least and not places[at, column + ROOM] < 0.0
    return may_be and places[at, column + HIT] == 0.0
