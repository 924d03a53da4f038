"""
The branches of six joints at values of the seventh, and how far each is inside the limits.

A place is what is known of one value of the held joint: rows of eight numbers, one for each branch. Branches keep their
number from value to value, so that one branch is a curve over the held joint.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import held_wrist_lanes, search
from ssik_ros.kernels.closed_form.certification.chain import triple
from ssik_ros.kernels.closed_form.classes import candidates, lane_pipeline, spherical_wrist
from ssik_ros.kernels.geometry import lanes, se3
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import copy

BRANCHES = LANES
"""Branches of the closed forms of six joints."""
EVERY = (1 << BRANCHES) - 1
"""The bits of all branches."""

MARGIN, ROOM = 0, 1
"""Rows of a place behind those of its n joints: least distance to a limit [rad]; minus the residual where the branch does
not exist and 0 where it does."""
NUMBERS = 2
"""The row behind these holds single numbers."""
ROWS = 3
VALUE, INSIDE_BITS, HIT_BITS, BRIDGE_BITS, NEXT = 0, 1, 2, 3, 4
"""Value of the held joint [rad]; bits of the branches that exist within the limits; of those whose stretch within the limits
has been sampled; of those that stay within the limits up to the next scanned place; number of the next place by value."""

INSIDE = -1e-10
"""Margin from which on a branch is within the limits [rad]: what certification puts on the limit."""
ROUNDING = 1e-6
"""Candidates of an exact class are no further from the solution [rad], and doubled ones reach the pose to this."""
EVERYTHING = -1e300
"""Margin that every branch has for which there is a candidate."""
MISSING = 2.0
"""Mark of a branch for which there is no candidate."""
FAR = 0.6
"""Beyond this margin [rad] the existence of a branch is not checked."""

VALUES = held_wrist_lanes.SCRATCH
"""Places in the scratch: eight values of the held joint, then chain, special points and target of the lanes."""
AXES, POINTS = VALUES + LANES, VALUES + LANES + 18
SPECIAL, TARGET = POINTS + 18, POINTS + 24
AREA = TARGET + 12


@inline_kernel
def place_size(n):
    """
    Return how many numbers a place has.

    :param n: number of joints.
    """
    return LANES * (n + ROWS)


@inline_kernel
def ranges_size(n):
    """
    Return how many numbers :func:`write_ranges` writes.

    :param n: number of joints.
    """
    return 3 * n + 1


@inline_kernel
def waiting_size(n, capacity):
    """
    Return how many numbers candidates need that wait for certification: how many they are, then rows.

    :param n: number of joints.
    :param capacity: how many can wait; more are dropped.
    """
    return 1 + (n + 1) * capacity


@inline_kernel
def scratch_size(n):
    """
    Return how many numbers :func:`write_by_lanes` and :func:`write_margins` need.

    :param n: number of joints.
    """
    return AREA + lane_pipeline.area_size(n)


@inline_kernel
def row_at(at, row, n):
    """
    Return where a row of a place begins.

    :param at: number of the place.
    :param row: index of a joint, or n + MARGIN, n + ROOM.
    :param n: number of joints.
    """
    return LANES * ((n + ROWS) * at + row)


@inline_kernel
def number_at(at, what, n):
    """
    Return where a number of a place stands.

    :param at: number of the place.
    :param what: VALUE, ...
    :param n: number of joints.
    """
    return LANES * ((n + ROWS) * at + n + NUMBERS) + what


@inline_kernel
def bits_at(places, at, what, n):
    """
    Return bits of a place, one for each branch.

    :param places: flat.
    :param at: number of the place.
    :param what: INSIDE_BITS, ...
    :param n: number of joints.
    """
    return int(places[number_at(at, what, n)])


@inline_kernel
def margin(value, center, half):
    """
    Return how far an angle is inside a joint's limits, modulo 2 pi [rad]; negative outside.

    :param value: the angle [rad].
    :param center, half: middle of the range and half its width, infinite where every angle has a winding inside.
    """
    away = value - center
    return half - abs(away - 2.0 * math.pi * math.floor(away / (2.0 * math.pi) + 0.5))


@kernel
def write_ranges(ranges, ints, reals):
    """
    Write middle and half width of the range of every joint but the held one.

    :param ranges: (ranges_size(n),) middles, then half widths [rad], infinite where every angle has a winding inside; how
        many joints have limits; their indices, narrow ranges first, as those settle most.
    :param ints, reals: the plan.
    """
    n, count = ints[search.N], 0
    for k in range(n):
        low, high = reals[6 * n + 24 + k], reals[7 * n + 24 + k]
        is_free = not high - low < 2.0 * math.pi or k == ints[search.HELD]
        ranges[k] = 0.0 if is_free else 0.5 * (low + high)
        ranges[n + k] = math.inf if is_free else 0.5 * (high - low)
        if is_free:
            continue
        place = count
        while place > 0 and ranges[n + int(ranges[2 * n + place])] > ranges[n + k]:
            ranges[2 * n + 1 + place] = ranges[2 * n + place]
            place -= 1
        ranges[2 * n + 1 + place] = k
        count += 1
    ranges[2 * n] = count


@kernel
def prepare(ranges, ints, reals, g, scratch):
    """
    Write what all values of the held joint have in common.

    :param ranges: (ranges_size(n),) out.
    :param ints, reals: the plan.
    :param g: (12,) G of the seven joints.
    :param scratch: (scratch_size(n),).
    """
    n = ints[search.N]
    write_ranges(ranges, ints, reals)
    if not is_done_by_lanes(ints):
        return
    still, target = vector(scratch, 0, 12), vector(scratch, TARGET, 12)
    se3.identity(still)
    candidates.write_six(
        vector(scratch, AXES, 18),
        vector(scratch, POINTS, 18),
        vector(reals, 8 * n + 30, 3 * n),
        vector(reals, 11 * n + 30, 3 * n),
        n,
        ints[search.HELD],
        still,
        ints[search.REVERSED] != 0,
    )
    copy(vector(scratch, SPECIAL, 6), vector(reals, 8 * n + 24, 6))
    if ints[search.REVERSED] != 0:
        se3.invert(target, g)
    else:
        copy(target, g)


@inline_kernel
def is_done_by_lanes(ints):
    """
    Return whether eight values of the held joint are done at once.

    :param ints: the plan.
    """
    n, held = ints[search.N], ints[search.HELD]
    is_class = (
        ints[search.KIND] == candidates.SPHERICAL_WRIST
        and ints[search.CASE] == spherical_wrist.MEETING_12
    )
    return is_class and n == 7 and (held == 0 or held == n - 1)


@kernel
def write_by_lanes(places, first, count, ints, reals, scratch):
    """
    Write the joints of some places, marks in place of their rooms; return the bits of values at which they are of no use.

    :param places: flat.
    :param first: number of the first place to write.
    :param count: how many values, up to eight, stand in the scratch from VALUES on.
    :param ints, reals: the plan.
    :param scratch: prepared.
    """
    n = ints[search.N]
    if not is_done_by_lanes(ints):
        return EVERY
    held, is_reversed = ints[search.HELD], ints[search.REVERSED] != 0
    for lane in range(count, LANES):
        scratch[VALUES + lane] = scratch[VALUES]
    held_wrist_lanes.write_targets(
        scratch,
        vector(scratch, TARGET, 12),
        triple(vector(reals, 8 * n + 30, 3 * n), held),
        triple(vector(reals, 11 * n + 30, 3 * n), held),
        vector(scratch, VALUES, LANES),
        held > 0,
        is_reversed,
    )
    useless = held_wrist_lanes.write_branches(
        scratch,
        vector(scratch, AXES, 18),
        vector(scratch, POINTS, 18),
        vector(scratch, SPECIAL, 6),
    )
    for column in range(held_wrist_lanes.COLUMNS):
        row = n + ROOM
        if column < 6:
            row = 5 - column if is_reversed else column
            row += held == 0
        for lane in range(count):
            start = row_at(first + lane, row, n)
            for branch in range(BRANCHES):
                places[start + branch] = scratch[held_wrist_lanes.column_of(branch, column) + lane]
    for lane in range(count):
        value = lanes.spread(scratch[VALUES + lane])
        lanes.store(places, row_at(first + lane, held, n), value)
    return useless


@kernel
def take_candidates(places, at, raw, count, n):
    """
    Write the joints of one place, marks in place of its rooms.

    :param places: flat.
    :param at: number of the place.
    :param raw: (., n) candidates, of which there are ``count``; those that one subproblem makes differ by one bit of
        their number.
    """
    for branch in range(BRANCHES):
        for k in range(n):
            places[row_at(at, k, n) + branch] = raw[branch, k] if branch < count else 0.0
        mark = 0.0 if branch < count else MISSING
        for bit in (1, 2, 4):
            # A tangent subproblem returns one candidate twice, and so does one out of reach.
            if branch ^ bit < count and _are_same(raw, branch, branch ^ bit, n):
                mark = 1.0
        places[row_at(at, n + ROOM, n) + branch] = mark


@inline_kernel
def _are_same(raw, a, b, n):
    """Return whether two candidates are one, to the last bit."""
    same = True
    for k in range(n):
        same = same and raw[a, k] == raw[b, k]
    return same


@kernel
def write_margins(run, places, at, ranges, rounding, scratch):
    """
    Write how far the branches of a place are inside the limits, and whether those exist that are marked as doubtful.

    :param run: of the search.
    :param places: flat.
    :param at: number of the place, whose joints are written, and marks in place of rooms.
    :param ranges: from :func:`write_ranges`.
    :param rounding: by how much candidates that reach the pose may miss it.
    :param scratch: (scratch_size(n),).
    """
    n = run.ints[search.N]
    least = lanes.spread(math.inf)
    for place in range(int(ranges[2 * n])):
        k = int(ranges[2 * n + 1 + place])
        away = lanes.load(places, row_at(at, k, n)) - ranges[k]
        away = away - 2.0 * math.pi * lanes.floor(away * (0.5 / math.pi) + 0.5)
        least = lanes.lesser(ranges[n + k] - lanes.absolute(away), least)
    marks, room = lanes.load(places, row_at(at, n + ROOM, n)), lanes.spread(0.0)
    is_marked = marks > 0.0
    if lanes.bits_of(is_marked) != 0:
        least = lanes.select(marks == MISSING, -math.inf, least)
        room = lanes.select(is_marked, -math.inf, room)
        is_near = is_marked & (least >= -FAR)
        if lanes.bits_of(is_near) != 0:
            miss = misses(run, places, at, scratch)
            miss = lanes.select(miss < rounding, 0.0, -miss)
            room = lanes.select(is_near, miss, room)
    lanes.store(places, row_at(at, n + MARGIN, n), least)
    lanes.store(places, row_at(at, n + ROOM, n), room)
    bits = lanes.bits_of((least >= INSIDE) & (room == 0.0))
    places[number_at(at, INSIDE_BITS, n)] = float(bits)
    places[number_at(at, HIT_BITS, n)] = 0.0


@inline_kernel
def misses(run, places, at, scratch):
    """
    Return what the branches of a place miss the pose by.

    :param run: of the search.
    :param places, at: a place whose joints are written.
    :param scratch: (scratch_size(n),).
    """
    n, slides, target = run.ints[search.N], run.ints[search.SLIDES], search.target_of(run)
    area = vector(scratch, AREA, lane_pipeline.area_size(n))
    for k in range(n):
        lanes.store(area, LANES * k, lanes.load(places, row_at(at, k, n)))
    axes, points, home = search.chain_of(run)
    lane_pipeline.measure(area, axes, points, home, n, slides, target, 1.0)
    return lanes.load(area, lane_pipeline.row_of(n, lane_pipeline.RESIDUAL))


@kernel
def keep_place(places, at, least, ranges, pending, n):
    """
    Let the branches of a place with a margin and not hit yet wait for certification.

    :param places: flat.
    :param at: number of the place; these branches count as hit from now on.
    :param least: the margin that they shall have: INSIDE; -ROUNDING where certification is to decide; EVERYTHING for all
        candidates, whether they reach the pose or not.
    :param ranges: from :func:`write_ranges`; what is outside of them by rounding is put on the limit.
    :param pending: (waiting_size(n, capacity),) how many wait, then joint values and number of the place of each.
    :param n: number of joints.
    """
    margins = lanes.load(places, row_at(at, n + MARGIN, n))
    rooms = lanes.load(places, row_at(at, n + ROOM, n))
    hit = bits_at(places, at, HIT_BITS, n)
    bits = lanes.bits_of(margins >= least) & ~hit
    if least > EVERYTHING:
        bits &= lanes.bits_of(rooms == 0.0)
    if bits == 0:
        return
    for branch in range(BRANCHES):
        start = 1 + int(pending[0]) * (n + 1)
        if (bits >> branch) & 1 == 0 or start + n >= pending.shape[0]:
            continue
        for k in range(n):
            pending[start + k] = places[row_at(at, k, n) + branch]
        outside = places[row_at(at, n + MARGIN, n) + branch]
        if -ROUNDING <= outside < 0.0:
            _put_on_limits(pending, start, ranges, n)
        pending[start + n] = float(at)
        pending[0] += 1.0
    places[number_at(at, HIT_BITS, n)] = float(hit | bits)


@inline_kernel
def _put_on_limits(pending, start, ranges, n):
    """Put what is outside of the limits by rounding on the limit; the candidate stands from ``start`` on."""
    for k in range(n):
        value, center = pending[start + k], ranges[k]
        beyond = min(0.0, margin(value, center, ranges[n + k]))
        is_above = margin(value, center - 1.0, math.pi) < margin(value, center + 1.0, math.pi)
        pending[start + k] = value + (beyond if is_above else -beyond)


@inline_kernel
def add_candidate(pending, q, held, value, at, n):
    """
    Let one more candidate wait for certification.

    :param pending: as for :func:`keep_place`.
    :param q: (n,) the candidate.
    :param held, value: index of the held joint, and its value there [rad].
    :param at: number of the place that it belongs to.
    :param n: number of joints.
    """
    start = 1 + int(pending[0]) * (n + 1)
    for k in range(n):
        pending[start + k] = value if k == held else q[k]
    pending[start + n] = float(at)
    pending[0] += 1.0


@kernel
def read_waiting(raw, pending, first, n):
    """
    Read up to eight candidates that wait, those of one place together, and return how many.

    :param raw: (., n) out.
    :param pending: as for :func:`keep_place`.
    :param first: the first of them.
    :param n: number of joints.
    """
    waiting = int(pending[0])
    count = min(BRANCHES, waiting - first)
    if first + count < waiting:
        behind, end = pending[(first + count + 1) * (n + 1)], count
        while end > 0 and pending[(first + end) * (n + 1)] == behind:
            end -= 1
        count = end if end > 0 else count
    for row in range(count):
        copy(raw[row], vector(pending, 1 + (first + row) * (n + 1), n))
    return count
