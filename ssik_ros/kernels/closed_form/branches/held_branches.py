"""
Branches of six joints at values of the seventh, held joint, with their distances to the limits.

A place stores the eight branches at one value of the held joint. It has rows of eight numbers, one number for each
branch: a row for each joint, the margin to the limits, and the room (0 if the branch reaches the pose, otherwise minus
its pose error). Another row has single numbers, such as VALUE and HIT_BITS. A branch has the same index at all places,
so it is a curve over the held joint. A branch is hit at a place if its arc there has been sampled.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import held_wrist_lanes, plan_layout, search
from ssik_ros.kernels.closed_form.certification.chain import triple
from ssik_ros.kernels.closed_form.classes import candidates, lane_pipeline, spherical_wrist
from ssik_ros.kernels.geometry import joint_values, lane_angles, lanes, se3
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import copy
from ssik_ros.kernels.rows.views import Floats, Memory

BRANCHES = LANES
"""Number of branches of the closed forms of six joints."""
EVERY = (1 << BRANCHES) - 1
"""Bit mask of all branches."""

MARGIN, RESIDUAL_ROW = 0, 1
"""Rows of a place after the rows of its n joints. MARGIN: least distance to a limit [rad]. RESIDUAL_ROW: 0 if the
branch exists, otherwise minus its residual."""
NUMBERS = 2
"""The row after these rows holds single numbers."""
ROWS = 3
VALUE, INSIDE_BITS, HIT_BITS, BRIDGE_BITS, NEXT = 0, 1, 2, 3, 4
"""Single numbers of a place: value of the held joint [rad]; bits of the branches that exist within the limits; bits of
the branches whose stretch within the limits has been sampled; bits of the branches that stay within the limits up to
the next scanned place; index of the place with the next larger value."""

INSIDE_MARGIN = -1e-10
"""Least margin of a branch within the limits [rad]; certification moves tiny excesses onto the limit."""
CANDIDATE_ERROR = 1e-6
"""Largest distance of candidates of an exact class from the solution [rad], and largest pose error of double
candidates."""
EVERYTHING = -1e300
"""Margin that every existing candidate exceeds."""
MISSING = 2.0
"""Mark of a branch without a candidate."""
UNCHECKED_DISTANCE = 0.6
"""Distance of a branch outside the limits above which its existence is not checked [rad]."""


class Ranges(NamedTuple):
    """
    Ranges of the n joints of an arm within their limits, as :func:`write_ranges` writes them.

    The held joint, and joints whose range covers a full turn, count as joints without limits.
    """

    middles: Annotated[Floats, 'n']
    """Middles of the ranges [rad]."""
    halves: Annotated[Floats, 'n']
    """Half widths [rad], infinite if the range covers a full turn."""
    limited_count: Annotated[Floats, 1]
    """Number of joints with limits."""
    limited: Annotated[Floats, 'n']
    """Indices of these joints, narrow ranges first because they decide most."""


RANGES = Memory(Ranges, 'n', globals())
ranges_size = RANGES.size('ranges_size')
view_ranges = RANGES.kernel('view_ranges')


class LaneScratch(NamedTuple):
    """
    Scratch for the branches at eight values of the held joint, for an arm of n joints.

    :func:`prepare` writes constants of the free joints, :func:`write_by_lanes` computes branches, and
    :func:`write_margins` their errors.
    """

    wrist: Annotated[Floats, held_wrist_lanes.SCRATCH]
    """Scratch of :mod:`held_wrist_lanes`."""
    values: Annotated[Floats, LANES]
    """Values of the held joint."""
    axes: Annotated[Floats, 18]
    """Directions of the axes of the free joints, in the order of the class."""
    points: Annotated[Floats, 18]
    """Points of these axes."""
    special: Annotated[Floats, 6]
    """Special points of the class."""
    target: Annotated[Floats, 12]
    """Motion that all joints together must make; its inverse if the class fits the reversed chain."""
    area: Annotated[Floats, 'lane_pipeline.area_size(n)']
    """Eight branches that are measured together, see :mod:`lane_pipeline`."""


SCRATCH = Memory(LaneScratch, 'n', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@inline_kernel
def place_size(n):
    """
    Return how many numbers a place takes in the flat table of places; a place stores the branches at one held value.

    :param n: number of joints.
    """
    return LANES * (n + ROWS)


@inline_kernel
def row_at(at, row, n):
    """
    Return the offset, in the flat table of places, of a row of eight numbers, one for each branch.

    A place stores the eight branches at one value of the held joint.

    :param at: index of the place.
    :param row: index of a joint, for its values; n + MARGIN for the distances to the limits; n + RESIDUAL_ROW for the
        rooms, which are 0 for a branch that reaches the pose, otherwise minus its pose error.
    :param n: number of joints.
    """
    return LANES * ((n + ROWS) * at + row)


@inline_kernel
def number_at(at, what, n):
    """
    Return the offset, in the flat table of places, of a single number of a place.

    A place stores the eight branches at one value of the held joint.

    :param at: index of the place.
    :param what: VALUE, value of the held joint; INSIDE_BITS, HIT_BITS or BRIDGE_BITS, masks of branches, see
        :func:`bits_at`; NEXT, index of the place with the next larger value.
    :param n: number of joints.
    """
    return LANES * ((n + ROWS) * at + n + NUMBERS) + what


@inline_kernel
def bits_at(places, at, what, n):
    """
    Return a number of a place as an integer, usually a mask with one bit for each branch.

    A place stores the eight branches at one value of the held joint.

    :param places: flat table of places.
    :param at: index of the place.
    :param what: INSIDE_BITS, branches within limits here; HIT_BITS, branches whose range of held values within limits
        has a candidate already; BRIDGE_BITS, branches within limits from here to the next scanned place; or NEXT, index
        of the place with the next larger value, -1 after the last.
    :param n: number of joints.
    """
    return int(places[number_at(at, what, n)])


@inline_kernel
def margin(value, center, half):
    """
    Return the distance of an angle to the nearer limit of a joint, modulo 2 pi [rad]; negative outside the limits.

    :param value: the angle [rad].
    :param center, half: middle and half width of the range; the half width is infinite if the range covers a full turn.
    """
    return half - abs(joint_values.wrapped(value - center))


@kernel
def write_ranges(ranges, ints, reals):
    """
    Write middle and half width of the range of every joint, and the indices of the joints with limits.

    The held joint, and joints whose range covers a full turn, count as joints without limits.

    :param ranges: a :class:`Ranges`, out.
    :param ints, reals: integers and real numbers of the arm's plan, see :mod:`search`.
    """
    n, count = ints[search.N], 0
    plan, halves, limited = plan_layout.view_plan(reals, n), ranges.halves, ranges.limited
    for k in range(n):
        low, high = plan.lower[k], plan.upper[k]
        is_free = not high - low < 2.0 * math.pi or k == ints[search.HELD]
        ranges.middles[k] = 0.0 if is_free else 0.5 * (low + high)
        halves[k] = math.inf if is_free else 0.5 * (high - low)
        if is_free:
            continue
        place = count
        while place > 0 and halves[int(limited[place - 1])] > halves[k]:
            limited[place] = limited[place - 1]
            place -= 1
        limited[place] = k
        count += 1
    ranges.limited_count[0] = count


@kernel
def prepare(ranges, ints, reals, g, scratch):
    """
    Write the ranges of the joints and the constants of the free joints, which do not depend on the held joint's value.

    :param ranges: a :class:`Ranges`, out.
    :param ints, reals: integers and real numbers of the arm's plan, see :mod:`search`.
    :param g: (12,) G, the motion that all seven joints together must make: rotation row by row, then translation.
    :param scratch: (scratch_size(n),) out: axes, points, special points and target of the six free joints for
        :func:`write_by_lanes`; not written unless :func:`is_done_by_lanes`.
    """
    n = ints[search.N]
    write_ranges(ranges, ints, reals)
    if not is_done_by_lanes(ints):
        return
    plan, room, still = (
        plan_layout.view_plan(reals, n),
        view_scratch(scratch, n),
        vector(scratch, 0, 12),
    )
    se3.identity(still)
    candidates.write_six(
        room.axes,
        room.points,
        plan.own_axes,
        plan.own_points,
        n,
        ints[search.HELD],
        still,
        ints[search.REVERSED] != 0,
    )
    copy(room.special, plan.special)
    if ints[search.REVERSED] != 0:
        se3.invert(room.target, g)
    else:
        copy(room.target, g)


@inline_kernel
def is_done_by_lanes(ints):
    """
    Return whether :func:`write_by_lanes` can solve the arm for eight values of the held joint at once.

    It can if the first or last joint of seven is held, and the class is a spherical wrist with meeting axes 1 and 2.

    :param ints: integers of the arm's plan.
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
    Write the branches at up to eight values of the held joint; return a bit mask of the values it cannot solve.

    The joints of each branch are written, and a mark in row n + RESIDUAL_ROW: 1 if a subproblem of the branch was
    tangent or out of reach, else 0. If :func:`is_done_by_lanes` is False, nothing is written, and the mask has all bits
    (EVERY).

    :param places: flat table of places; a place stores the eight branches at one value of the held joint.
    :param first: index of the first place to write.
    :param count: number of values in the scratch, at most eight; the other values are overwritten, and their bits of
        the mask mean nothing.
    :param ints, reals: integers and real numbers of the arm's plan, see :mod:`search`.
    :param scratch: scratch after :func:`prepare`.
    """
    n = ints[search.N]
    if not is_done_by_lanes(ints):
        return EVERY
    held, is_reversed = ints[search.HELD], ints[search.REVERSED] != 0
    plan, room = plan_layout.view_plan(reals, n), view_scratch(scratch, n)
    wrist, values = room.wrist, room.values
    for lane in range(count, LANES):
        values[lane] = values[0]
    h, o = triple(plan.own_axes, held), triple(plan.own_points, held)
    held_wrist_lanes.write_targets(wrist, room.target, h, o, values, held > 0, is_reversed)
    useless = held_wrist_lanes.write_branches(wrist, room.axes, room.points, room.special)
    for column in range(held_wrist_lanes.COLUMNS):
        row = n + RESIDUAL_ROW
        if column < 6:
            row = 5 - column if is_reversed else column
            row += held == 0
        for lane in range(count):
            start = row_at(first + lane, row, n)
            for branch in range(BRANCHES):
                places[start + branch] = wrist[held_wrist_lanes.column_of(branch, column) + lane]
    for lane in range(count):
        value = lanes.spread(values[lane])
        lanes.store(places, row_at(first + lane, held, n), value)
    return useless


@kernel
def take_candidates(places, at, raw, count, n):
    """
    Write the branches at one value of the held joint from the candidates of a closed form.

    The joints of each branch are written, and a mark in row n + RESIDUAL_ROW: 0 for a regular candidate, 1 if both
    solutions of a subproblem are equal, MISSING for a branch without a candidate.

    :param places: flat table of places; a place stores the eight branches at one value of the held joint.
    :param at: index of the place.
    :param raw: (., n) candidates. The two solutions of one subproblem differ by one bit of their index.
    :param count: number of candidates.
    :param n: number of joints.
    """
    for branch in range(BRANCHES):
        for k in range(n):
            places[row_at(at, k, n) + branch] = raw[branch, k] if branch < count else 0.0
        mark = 0.0 if branch < count else MISSING
        for bit in (1, 2, 4):
            # A subproblem that is tangent or out of reach returns one candidate twice.
            other = branch ^ bit
            if max(branch, other) < count and _are_same(raw, branch, other, n):
                mark = 1.0
        places[row_at(at, n + RESIDUAL_ROW, n) + branch] = mark


@inline_kernel
def _are_same(raw, a, b, n):
    """Return whether rows a and b of ``raw`` (., n) are bitwise equal."""
    same = True
    for k in range(n):
        same = same and raw[a, k] == raw[b, k]
    return same


@kernel
def write_margins(run, places, at, ranges, rounding, scratch):
    """
    Write margins, rooms and INSIDE_BITS of a place whose joints and marks are written, and clear its HIT_BITS.

    A place stores the eight branches at one value of the held joint. The marks come from :func:`take_candidates` or
    :func:`write_by_lanes`. The margin of a branch is the least distance of a joint to its limits [rad], negative
    outside, -inf for a branch without a candidate. The room replaces the mark: 0 if the branch reaches the pose,
    otherwise minus its pose error. It is -inf if a marked branch is so far outside the limits that its error was not
    computed. INSIDE_BITS are the branches that reach the pose within the limits, HIT_BITS the branches with a sample.

    :param run: a :class:`search.BranchRun`, the arrays of the search.
    :param places: flat table of places.
    :param at: index of the place.
    :param ranges: ranges of the joints, a :class:`Ranges`.
    :param rounding: residual below which a candidate counts as reaching the pose.
    :param scratch: (scratch_size(n),) scratch.
    """
    n = run.ints[search.N]
    least = lanes.spread(math.inf)
    for i in range(int(ranges.limited_count[0])):
        k = int(ranges.limited[i])
        distance = lanes.load(places, row_at(at, k, n)) - ranges.middles[k]
        distance = lane_angles.wrapped(distance)
        least = lanes.lesser(ranges.halves[k] - lanes.absolute(distance), least)
    marks, room = lanes.load(places, row_at(at, n + RESIDUAL_ROW, n)), lanes.spread(0.0)
    is_marked = marks > 0.0
    if lanes.bits_of(is_marked) != 0:
        least = lanes.select(marks == MISSING, -math.inf, least)
        room = lanes.select(is_marked, -math.inf, room)
        is_near = is_marked & (least >= -UNCHECKED_DISTANCE)
        if lanes.bits_of(is_near) != 0:
            miss = misses(run, places, at, scratch)
            miss = lanes.select(miss < rounding, 0.0, -miss)
            room = lanes.select(is_near, miss, room)
    lanes.store(places, row_at(at, n + MARGIN, n), least)
    lanes.store(places, row_at(at, n + RESIDUAL_ROW, n), room)
    bits = lanes.bits_of((least >= INSIDE_MARGIN) & (room == 0.0))
    places[number_at(at, INSIDE_BITS, n)] = float(bits)
    places[number_at(at, HIT_BITS, n)] = 0.0


@inline_kernel
def misses(run, places, at, scratch):
    """
    Return the pose errors of the eight branches of a place, one in each lane: Frobenius norm of FK - T.

    A place stores the eight branches at one value of the held joint.

    :param run: a :class:`search.BranchRun`, the arrays of the search.
    :param places, at: table of places, and index of a place whose rows of joints are written.
    :param scratch: (scratch_size(n),) scratch.
    """
    n, slides, target = run.ints[search.N], run.ints[search.SLIDES], search.work_of(run).target
    area = view_scratch(scratch, n).area
    for k in range(n):
        lanes.store(area, LANES * k, lanes.load(places, row_at(at, k, n)))
    axes, points, home = search.chain_of(run)
    lane_pipeline.measure(area, axes, points, home, n, slides, target, 1.0)
    return lanes.load(area, lane_pipeline.row_of(n, lane_pipeline.RESIDUAL))


@kernel
def keep_place(places, at, least, ranges, pending, n):
    """
    Append the branches of a place to the candidates for certification, and set their bits in HIT_BITS.

    A branch is appended if its bit is not set yet, its margin to the limits is at least ``least``, and it reaches the
    pose. With EVERYTHING it need not reach the pose. If the table is full, bits are set without an append.

    :param places: flat table of places; a place stores the eight branches at one value of the held joint.
    :param at: index of the place.
    :param least: least margin [rad]: INSIDE_MARGIN; -CANDIDATE_ERROR if certification shall decide; EVERYTHING for all
        candidates, whether or not they reach the pose.
    :param ranges: ranges of the joints, a :class:`Ranges`; joints outside by at most CANDIDATE_ERROR are moved onto the
        limit.
    :param pending: (waiting_size(n, capacity),) number of waiting candidates, then joint values and place index of
        each.
    :param n: number of joints.
    """
    margins = lanes.load(places, row_at(at, n + MARGIN, n))
    rooms = lanes.load(places, row_at(at, n + RESIDUAL_ROW, n))
    hit = bits_at(places, at, HIT_BITS, n)
    bits = lanes.bits_of(margins >= least) & ~hit
    if least > EVERYTHING:
        bits &= lanes.bits_of(rooms == 0.0)
    if bits == 0:
        return
    for branch in range(BRANCHES):
        start = _waiting_at(int(pending[0]), n)
        if (bits >> branch) & 1 == 0 or start + n >= pending.shape[0]:
            continue
        for k in range(n):
            pending[start + k] = places[row_at(at, k, n) + branch]
        outside = places[row_at(at, n + MARGIN, n) + branch]
        if -CANDIDATE_ERROR <= outside < 0.0:
            _put_on_limits(pending, start, ranges, n)
        pending[start + n] = float(at)
        pending[0] += 1.0
    places[number_at(at, HIT_BITS, n)] = float(hit | bits)


@inline_kernel
def _put_on_limits(pending, start, ranges, n):
    """
    Move the joints of a waiting candidate that are outside their limits onto the nearer limit, in place.

    :param pending: table of waiting candidates.
    :param start: offset of the candidate in ``pending``.
    :param ranges: ranges of the joints, a :class:`Ranges`.
    :param n: number of joints.
    """
    for k in range(n):
        value, center = pending[start + k], ranges.middles[k]
        beyond = min(0.0, margin(value, center, ranges.halves[k]))
        is_above = margin(value, center - 1.0, math.pi) < margin(value, center + 1.0, math.pi)
        pending[start + k] = value + (beyond if is_above else -beyond)


@inline_kernel
def _waiting_at(index, n):
    """
    Return the offset of waiting candidate ``index`` in ``pending``, the table of candidates to certify.

    A candidate takes n + 1 numbers: its joint values, then the index of its place.

    :param n: number of joints.
    """
    return 1 + index * (n + 1)


@inline_kernel
def add_candidate(pending, q, held, value, at, n):
    """
    Append a posture, with the held joint set to a value, to the candidates that wait for certification.

    :param pending: table of waiting candidates, as for :func:`keep_place`; the caller makes sure that it has room.
    :param q: (n,) the posture.
    :param held, value: index of the held joint, and its value [rad].
    :param at: index of the candidate's place, the stored value of the held joint.
    :param n: number of joints.
    """
    start = _waiting_at(int(pending[0]), n)
    for k in range(n):
        pending[start + k] = value if k == held else q[k]
    pending[start + n] = float(at)
    pending[0] += 1.0


@kernel
def read_waiting(raw, pending, first, n):
    """
    Copy up to eight waiting candidates from number ``first`` on into ``raw``; return how many.

    Candidates at one value of the held joint stay together: if not all of them fit, they are left for the next call.
    They are divided only if there are more than eight.

    :param raw: (8 or more, n) out.
    :param pending: table of waiting candidates, as for :func:`keep_place`.
    :param first: index of the first candidate to read.
    :param n: number of joints.
    """
    waiting = int(pending[0])
    count = min(BRANCHES, waiting - first)
    if first + count < waiting:
        next_place, end = pending[_waiting_at(first + count, n) + n], count
        while end > 0 and pending[_waiting_at(first + end - 1, n) + n] == next_place:
            end -= 1
        count = end if end > 0 else count
    for row in range(count):
        copy(raw[row], vector(pending, _waiting_at(first + row, n), n))
    return count
