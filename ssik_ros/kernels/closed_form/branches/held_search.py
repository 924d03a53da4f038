"""
Find the branches of one pose of seven joints within limits, by sampling the held joint on the arcs inside the limits.

One kernel call solves a pose. It tries the seed's value of the held joint, then values spread over its range. Then
:mod:`ssik_ros.kernels.closed_form.branches.arcs` finds further arcs between these values, and long arcs get more
values.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import arcs, held_branches as hb, search as common
from ssik_ros.kernels.closed_form.certification import newton_lanes
from ssik_ros.kernels.closed_form.classes import lane_pipeline
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import put
from ssik_ros.kernels.rows.views import Floats, Memory

LEAST_SCAN = 12
"""Least number of scanned values, even if fewer are requested."""
LOW, HIGH, WANTED, TRIED = 0, 1, 2, 3
"""Numbers of a spread: range of the held joint [rad]; least number of values to try; number of tried values,
written."""
SPREAD = 4
LEAST_GAP = 1e-3
"""Least distance between extra values on a stretch within the limits, for one branch [rad]."""
DRIFT = 0.05
"""Ratio of a chain's distance from its class to the largest residual of candidates that Newton may start from."""


class Collected(NamedTuple):
    """
    Counts that :func:`collect` returns: tried values of the held joint, and candidates at the seed's value.

    ``tried``: number of tried values. ``seeds``: number of candidates at the seed's value. They are the first rows of
    the table, and all of them are certified later. ``outside``: number of these rows that do not count as branches
    within the limits. They are outside, miss the pose, or are the seed itself, which is added if the plan has a CUT.
    """

    tried: int
    seeds: int
    outside: int


@inline_kernel
def scan_size(wanted):
    """
    Return the number of scanned values: the least multiple of ``wanted`` that is at least LEAST_SCAN.

    :param wanted: requested number of values of the held joint.
    """
    return wanted * ((LEAST_SCAN + wanted - 1) // wanted)


@inline_kernel
def last_scanned(wanted):
    """
    Return the index of the last scanned place, which is scan_size(wanted) + 1.

    A place is one tried value of the held joint. Place 0 is the lower end of its range, the last place the upper end.
    The scan_size(wanted) scanned values lie between both.

    :param wanted: requested number of values of the held joint.
    """
    return scan_size(wanted) + 1


@inline_kernel
def places_needed(last):
    """
    Return how many places a search needs: last + 1 scanned places, MOST_TRIED_VALUES more, and eight for extra values.

    A place is one tried value of the held joint with its branches.

    :param last: index of the last scanned place.
    """
    return arcs.places_needed(last) + LANES


class ArcScratch(NamedTuple):
    """
    Scratch of a search of seven joints that samples the held joint on arcs within the limits.

    ``n`` is the number of joints, ``wanted`` the requested number of values, ``capacity`` the most candidates that wait
    for certification.
    """

    lanes: Annotated[Floats, 'hb.scratch_size(n)']
    """Scratch of :mod:`held_branches`."""
    ranges: Annotated[Floats, 'hb.ranges_size(n)']
    """A :class:`held_branches.Ranges`."""
    fill: Annotated[Floats, 'hb.BRANCHES * (wanted + 2)']
    """Extra values of the held joint that :func:`_choose_more` adds."""
    pending: Annotated[Floats, '1 + (n + 1) * capacity']
    """Candidates that wait for certification: their number, then of each its joint values and the index of its
    place."""


SCRATCH = Memory(ArcScratch, 'n, wanted, capacity', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@inline_kernel
def turning_range(low, high, limits_count):
    """
    Return the range (low, high) of values to try for a held revolute joint [rad].

    It is the joint's limits, or -pi to pi if limits do not count or are infinite. Limits of more than a full turn are
    replaced by a full turn about their middle.

    :param low, high: limits of the joint; may be infinite.
    :param limits_count: True if solutions outside the limits are dropped.
    """
    if not limits_count or not math.isfinite(high - low):
        return -math.pi, math.pi
    if high - low >= 2.0 * math.pi:
        # The limits cover a full turn, so a range of 2 pi is enough.
        middle = 0.5 * (low + high)
        return middle - math.pi, middle + math.pi
    return low, high


@inline_kernel
def into_range(value, low, high, slides):
    """
    Return a joint value moved into a range: an angle by whole turns, a prismatic joint's length by clipping.

    If no winding of an angle is inside, the angle is clipped to an end of the range.

    :param value, low, high: angle and range [rad], or [m] for a prismatic joint.
    :param slides: True for a prismatic joint, which has no windings.
    """
    turn = 2.0 * math.pi
    moved = value
    if slides:
        return min(max(value, low), high)
    if moved > high:
        moved -= turn * math.ceil((moved - high) / turn)
    elif moved < low:
        moved += turn * math.ceil((low - moved) / turn)
    return moved if low <= moved <= high else min(max(value, low), high)


@kernel
def search(
    out, counters, ints, reals, spread, matrix_t, seed, options, work, places, stack, scratch
):
    """
    Write the solutions of one pose within limits, best first; return their number, -1 if the pose is not rigid.

    The held joint is sampled, so solutions at other values of it are not among them. If the reach hull of the arm
    proves the pose out of reach, the number is 0 and counter PROVED is 1. Of more than ``capacity`` solutions, those
    certified first are kept.

    :param out: (capacity, n + 3) out: joint values in each row, then position error [m], rotation error [rad], and
        Frobenius norm of FK - T.
    :param counters, ints, reals, matrix_t, seed, options, work: counters, plan of the arm, target pose, seed, options
        and scratch, as for :func:`search.search`; limits are respected.
    :param spread: (SPREAD,) range of the held joint and requested number of values; TRIED is written.
    :param places: (places_needed(last_scanned(wanted)) * place_size(n),) scratch.
    :param stack: (arcs.stack_size(last_scanned(wanted)),) integers, scratch.
    :param scratch: (scratch_size(n, wanted, capacity),) scratch.
    """
    run = common.BranchRun(counters, ints, reals, seed, options, work, out.shape[0])
    if not common.begin(run, matrix_t):
        return -1
    if common.is_refused(run):
        spread[TRIED] = 0.0
        return 0
    n, wanted = ints[common.N], int(spread[WANTED])
    collected = collect(run, spread, places, stack, scratch)
    room = view_scratch(scratch, n, wanted, out.shape[0])
    ranges, fill, pending = hb.view_ranges(room.ranges, n), room.fill, room.pending
    values = hb.view_scratch(room.lanes, n).values
    free = arcs.places_needed(last_scanned(wanted))
    added = _choose_more(fill, places, n, wanted, int(pending[0]) - collected.outside)
    for first in range(0, added, LANES):
        count = min(LANES, added - first)
        put(values, vector(fill, first, count), count)
        write_places(run, places, free, count, ranges, room.lanes)
        for i in range(count):
            hb.keep_place(places, free + i, hb.INSIDE_MARGIN, ranges, pending, n)
    spread[TRIED] = collected.tried + added
    _certify(run, pending, collected.seeds, room.lanes)
    return common.finish(out, run)


@kernel
def collect(run, spread, places, stack, scratch):
    """
    Append candidates to the waiting table: those within limits at the requested values, and one or more on every arc.

    An arc is missed only if the assumption of :mod:`arcs` fails, its number of values is used up, or the table is full.
    All candidates at the seed's value come first, also those outside the limits. If an elimination gives the
    candidates, the seed is one of them. The table is a part of ``scratch``, see :class:`ArcScratch`.

    :param run: a :class:`search.BranchRun`, after :func:`search.begin`.
    :param spread, places, stack, scratch: range of the held joint and scratch, as for :func:`search`.
    :returns: a :class:`Collected`.
    """
    n, wanted, options, seed = run.ints[common.N], int(spread[WANTED]), run.options, run.seed
    last, ints = last_scanned(wanted), run.ints
    room = view_scratch(scratch, n, wanted, run.capacity)
    ranges, pending = hb.view_ranges(room.ranges, n), room.pending
    values = hb.view_scratch(room.lanes, n).values
    pending[0] = 0.0
    hb.prepare(ranges, ints, run.reals, common.work_of(run).g, room.lanes)
    seeded = _start(
        spread, seed[ints[common.HELD]] if options[common.HAS_SEED] != 0.0 else math.nan
    )
    # Write the scanned places, then the seed's place, eight at a time.
    most, scanned = arcs.places_needed(last), last + 1
    free = scanned + (seeded == seeded)
    for first in range(0, free, LANES):
        count = min(LANES, free - first)
        _choose_scanned(values, spread, first, count, last)
        if first + count > scanned:
            values[scanned - first] = seeded
        write_places(run, places, first, count, ranges, room.lanes)
    seed_bits = 0
    if seeded == seeded:
        # Keep all candidates at the seed's value: the pose may be singular, and the seed one of its postures.
        hb.keep_place(places, scanned, hb.EVERYTHING, ranges, pending, n)
        if ints[common.CUT] >= 0:
            # The nearby chain may have no branch at a fold of the true chain, so the seed is a candidate, too.
            hb.add_candidate(pending, seed, ints[common.HELD], seeded, scanned, n)
        seed_bits = hb.bits_at(places, scanned, hb.INSIDE_BITS, n)
    # Candidates at the seed's value that are outside the limits do not count.
    seeds = int(pending[0])
    outside = seeds - _count_bits(seed_bits)
    _keep_scanned(places, ranges, n, pending, seeded, wanted)
    size = arcs.push_scanned(stack, last)
    while True:
        count, parts, size = arcs.choose_values(places, ranges, n, pending, stack, size, values)
        if count == 0 or free + count * parts > most:
            break
        write_places(run, places, free, count * parts, ranges, room.lanes)
        size = arcs.take_in(places, ranges, n, pending, stack, size, count, parts, free)
        free += count * parts
    return Collected(free, seeds, outside)


@inline_kernel
def _start(spread, value):
    """
    Return the seed's value of the held joint moved into the range [rad]; NaN, which means no seed, stays NaN.

    :param spread: (SPREAD,) settings with the range.
    :param value: the seed's value, or NaN.
    """
    # Chains with prismatic joints are not sampled on arcs.
    return into_range(value, spread[LOW], spread[HIGH], False) if value == value else value


@kernel
def write_places(run, places, first, count, ranges, scratch):
    """
    Write the eight branches at given values of the held joint: joints, margins, rooms and INSIDE_BITS.

    A margin is the least distance of a joint to its limits [rad]. A room is 0 if the branch reaches the pose, otherwise
    minus its pose error. Values that the kernel for eight values cannot solve are solved one by one.

    :param run: a :class:`search.BranchRun`, after :func:`search.begin`.
    :param places: flat table of places, see :mod:`held_branches`.
    :param first: index of the first place to write.
    :param count: number of values, at most eight.
    :param ranges: a :class:`held_branches.Ranges`.
    :param scratch: a :class:`held_branches.LaneScratch` as a flat array, after :func:`held_branches.prepare`, with the
        values [rad].
    """
    n, rounding = run.ints[common.N], hb.CANDIDATE_ERROR
    if run.ints[common.CUT] >= 0:
        # The true chain may have a branch where the nearby chain misses the pose by less than this.
        rounding = DRIFT * run.options[common.RESIDUAL_OPTION]
    useless = hb.write_by_lanes(places, first, count, run.ints, run.reals, scratch)
    values = hb.view_scratch(scratch, n).values
    for lane in range(count):
        at, value = first + lane, values[lane]
        places[hb.number_at(at, hb.VALUE, n)] = value
        if (useless >> lane) & 1 != 0:
            n_candidates = common.write_candidates(run, value)
            hb.take_candidates(places, at, common.work_of(run).candidates, n_candidates, n)
        hb.write_margins(run, places, at, ranges, rounding, scratch)


@inline_kernel
def _choose_scanned(values, spread, first, count, last):
    """
    Write the scanned values with numbers ``first`` to ``first + count - 1`` into ``values`` [rad].

    Value 0 is the low end of the held joint's range, value ``last`` the high end. The values between them are the
    midpoints of last - 1 equal steps.

    :param values: (8,) out.
    :param spread: (SPREAD,) settings with the range.
    :param first, count: number of the first value, and how many to write, at most eight.
    :param last: number of the last scanned value.
    """
    step = (spread[HIGH] - spread[LOW]) / (last - 1)
    for i in range(count):
        value = spread[LOW] + (first + i - 0.5) * step
        values[i] = min(max(value, spread[LOW]), spread[HIGH])


@kernel
def _keep_scanned(places, ranges, n, pending, seeded, wanted):
    """
    Append candidates at scanned places to ``pending``: at requested values, on runs without these, and at both ends.

    A place is one value of the held joint. Every (last - 1) / ``wanted``-th scanned place is a requested value; the
    seed's value is skipped. A run is a series of scanned places along which one branch stays within limits. A run
    without a candidate gets one in its middle. At both ends of the range, remaining candidates are appended even if
    they are outside the limits by up to CANDIDATE_ERROR; certification decides about them. NEXT links the places, and
    HIT_BITS is set for the branches of runs with a candidate.

    :param places, ranges, n, pending: places, ranges, number of joints and waiting candidates, as for
        :func:`held_branches.keep_place`.
    :param seeded: seed's value of the held joint, which has been sampled; NaN without a seed.
    :param wanted: requested number of values.
    """
    last = last_scanned(wanted)
    every = (last - 1) // wanted
    for i in range(every // 2, last, every):
        value = places[hb.number_at(i, hb.VALUE, n)]
        if i > 0 and not abs(value - seeded) < common.SAME_VALUE:
            hb.keep_place(places, i, hb.INSIDE_MARGIN, ranges, pending, n)
    for i in range(last + 1):
        places[hb.number_at(i, hb.NEXT, n)] = float(i + 1 if i < last else -1)
    _keep_runs(places, ranges, n, pending, last)
    hb.keep_place(places, 0, -hb.CANDIDATE_ERROR, ranges, pending, n)
    low, high = places[hb.number_at(0, hb.VALUE, n)], places[hb.number_at(last, hb.VALUE, n)]
    if high - low > 2.0 * math.pi - common.SAME_VALUE:
        # Both ends of a full turn are the same value.
        hit = hb.bits_at(places, 0, hb.HIT_BITS, n) | hb.bits_at(places, last, hb.HIT_BITS, n)
        places[hb.number_at(last, hb.HIT_BITS, n)] = float(hit)
    hb.keep_place(places, last, -hb.CANDIDATE_ERROR, ranges, pending, n)


@kernel
def _keep_runs(places, ranges, n, pending, last):
    """
    Append a candidate from the middle of each run that has none yet, and set HIT_BITS along all runs that have one.

    A run is a series of scanned places, values of the held joint, along which one branch stays within limits. Other
    branches within limits at the middle are appended, too, unless they have a candidate. If the middle is an end of the
    range, nothing is appended. BRIDGE_BITS of the places are written.

    :param places, ranges, n, pending: places, ranges, number of joints and waiting candidates, as for
        :func:`held_branches.keep_place`.
    :param last: index of the last scanned place, counting both ends of the range.
    """
    for i in range(last):
        # If both places are sampled, the stretch between them needs no test.
        both = hb.bits_at(places, i, hb.HIT_BITS, n) & hb.bits_at(places, i + 1, hb.HIT_BITS, n)
        before, after, others = max(i - 1, 0), min(i + 2, last), hb.EVERY & ~both
        bits = both | arcs.bridge(places, ranges, n, before, i, i + 1, after, others)
        places[hb.number_at(i, hb.BRIDGE_BITS, n)] = float(bits)
    places[hb.number_at(last, hb.BRIDGE_BITS, n)] = 0.0
    for branch in range(hb.BRANCHES):
        bit, start, sampled = 1 << branch, 0, False
        for i in range(last + 1):
            sampled = sampled or hb.bits_at(places, i, hb.HIT_BITS, n) & bit != 0
            if hb.bits_at(places, i, hb.BRIDGE_BITS, n) & bit != 0:
                continue
            if i > start or hb.bits_at(places, i, hb.INSIDE_BITS, n) & bit != 0:
                middle = (start + i + 1) // 2
                if not sampled and 0 < middle < last:
                    hb.keep_place(places, middle, hb.INSIDE_MARGIN, ranges, pending, n)
                    sampled = True
                for k in range(start, i + 1 if sampled else start):
                    hit = hb.bits_at(places, k, hb.HIT_BITS, n) | bit
                    places[hb.number_at(k, hb.HIT_BITS, n)] = float(hit)
            start, sampled = i + 1, False


@inline_kernel
def _count_bits(bits):
    """Return the number of set bits among the lowest eight."""
    count = 0
    for branch in range(hb.BRANCHES):
        count += (bits >> branch) & 1
    return count


@inline_kernel
def _stretch(places, at, n):
    """
    Return (distance from a place to the next [rad], number of branches that are within limits at both).

    A place is one tried value of the held joint. Both results are 0 for the last place.

    :param places: flat table of places, linked by NEXT.
    :param at: index of the place.
    :param n: number of joints.
    """
    next_place = hb.bits_at(places, at, hb.NEXT, n)
    if next_place < 0:
        return 0.0, 0
    bits = hb.bits_at(places, at, hb.INSIDE_BITS, n)
    bits &= hb.bits_at(places, next_place, hb.INSIDE_BITS, n)
    width = places[hb.number_at(next_place, hb.VALUE, n)] - places[hb.number_at(at, hb.VALUE, n)]
    return width, _count_bits(bits)


@kernel
def _choose_more(fill, places, n, wanted, kept):
    """
    Write extra values of the held joint, if the arcs have fewer candidates than requested; return their number.

    The goal is, for each branch with an arc, one candidate for each requested value and one for the seed's value. The
    extra values are spread evenly over the arcs.

    :param fill: out: values of the held joint [rad].
    :param places, n: places of the search, linked by NEXT in the order of values, and number of joints.
    :param wanted: requested number of values.
    :param kept: number of candidates within limits that wait for certification.
    """
    met, length, at = 0, 0.0, 0
    while at >= 0:
        met |= hb.bits_at(places, at, hb.HIT_BITS, n)
        width, branches = _stretch(places, at, n)
        length += width * branches
        at = hb.bits_at(places, at, hb.NEXT, n)
    missing = (wanted + 1) * _count_bits(met) - kept
    if missing <= 0 or not length > 0.0:
        return 0
    gap, count, due, at = max(length / missing, LEAST_GAP), 0, 0.5, 0
    while at >= 0:
        width, branches = _stretch(places, at, n)
        due += width / gap if branches > 0 else 0.0
        more, low = int(due), places[hb.number_at(at, hb.VALUE, n)]
        due -= more
        for part in range(min(more, fill.shape[0] - count)):
            fill[count] = low + width * ((part + 1.0) / (more + 1.0))
            count += 1
        at = hb.bits_at(places, at, hb.NEXT, n)
    return count


@kernel
def _certify(run, pending, seeds, scratch):
    """
    Certify the waiting candidates, eight at a time, and store new solutions among the kept branches of the search.

    :param run: a :class:`search.BranchRun`.
    :param pending: table of waiting candidates, as for :func:`held_branches.keep_place`.
    :param seeds: number of leading candidates with the seed's value of the held joint, which keep this value.
    :param scratch: scratch of :mod:`held_branches`.
    """
    n, first, raw = run.ints[common.N], 0, common.work_of(run).candidates
    while first < int(pending[0]):
        count = hb.read_waiting(raw, pending, first, n)
        if run.ints[common.CUT] >= 0:
            # Fix the held joint only at the seed's value. Other values are rough, and a free joint avoids folds.
            _polish(run, raw, count, run.ints[common.HELD] if first < seeds else -1, scratch)
        common.keep(run, count, run.counters[common.KEPT] if first >= seeds else 0)
        first += count


@kernel
def _polish(run, raw, count, held, scratch):
    """
    Move candidates of the nearest chain that fits a class towards solutions of the arm's true chain, in place.

    A candidate may not arrive, so the caller has to certify it.

    :param run: a :class:`search.BranchRun` with the true chain and the target.
    :param raw: (8 or more, n) candidates in the first ``count`` rows.
    :param count: number of candidates.
    :param held: index of a joint that does not move; -1 lets all joints move.
    :param scratch: scratch of :mod:`held_branches`, overwritten.
    """
    n, size = run.ints[common.N], newton_lanes.scratch_size(run.ints[common.N])
    area, own_scratch = vector(scratch, size, LANES * n), vector(scratch, 0, size)
    lane_pipeline.read_candidates(area, raw, 0, count, n)
    axes, points, home = common.chain_of(run)
    target = common.work_of(run).target
    newton_lanes.polish(area, axes, points, home, n, held, target, own_scratch)
    for lane in range(count):
        lane_pipeline.read_lane(raw[lane], area, lane, n)
