"""
Every branch of one pose of seven joints within limits: the held joint is sampled on the arcs that are inside them.

One kernel call for a pose. The seed's own value of the held joint comes first, then values that are spread over its
range, then what :mod:`ssik_ros.kernels.closed_form.branches.arcs` finds between those, then more values on the arcs that were found.
"""

import math
from typing import NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import arcs, held_branches as hb, search as common
from ssik_ros.kernels.closed_form.certification import newton_lanes
from ssik_ros.kernels.closed_form.classes import lane_pipeline
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.geometry.vectors import put

LEAST_SCAN = 12
"""Values that are looked at, however few are to be kept."""
LOW, HIGH, WANTED, TRIED = 0, 1, 2, 3
"""Numbers of a spread: range of the held joint [rad], values that shall be tried at least; values tried, written."""
SPREAD = 4
LEAST_GAP = 1e-3
"""Stretches within the limits are not filled up with values nearer to each other than this, for one branch [rad]."""
DRIFT = 0.05
"""How far a chain is from its class, over the residual of candidates from which Newton may start."""


class Collected(NamedTuple):
    """What :func:`collect` returns."""

    tried: int
    seeds: int
    outside: int


@inline_kernel
def scan_size(wanted):
    """
    Return how many values are scanned, a multiple of those wanted.

    :param wanted: values that shall be tried at least.
    """
    return wanted * ((LEAST_SCAN + wanted - 1) // wanted)


@inline_kernel
def last_scanned(wanted):
    """Return the number of the last scanned place: both ends of the range are looked at besides the values."""
    return scan_size(wanted) + 1


@inline_kernel
def places_needed(last):
    """
    Return how many places a search needs: the scanned ones, the seed's, and those that are tried between.

    :param last: number of the last scanned place.
    """
    return arcs.places_needed(last) + LANES


@inline_kernel
def scratch_size(n, wanted, capacity):
    """
    Return how many numbers of scratch a search needs beside its places.

    :param n: number of joints.
    :param wanted: values that shall be tried at least.
    :param capacity: how many branches can be kept.
    """
    waiting = hb.waiting_size(n, capacity)
    return hb.scratch_size(n) + hb.ranges_size(n) + fill_size(wanted) + waiting


@inline_kernel
def fill_size(wanted):
    """Return how many values may be added to those that were tried."""
    return hb.BRANCHES * (wanted + 2)


@inline_kernel
def turning_range(low, high, limits_count):
    """
    Return the range over which the values of a held revolute joint are spread: its limits, or 2 pi [rad].

    :param low, high: its limits, infinite for none.
    :param limits_count: whether solutions outside the limits are dropped.
    """
    if not limits_count or not math.isfinite(high - low):
        return -math.pi, math.pi
    if high - low >= 2.0 * math.pi:
        # Every angle has a winding inside: 2 pi is the whole range.
        middle = 0.5 * (low + high)
        return middle - math.pi, middle + math.pi
    return low, high


@inline_kernel
def into_range(value, low, high, slides):
    """
    Return the winding of an angle inside a range, or the nearest end of the range if none is inside.

    :param value, low, high: [rad], or [m] of a joint that slides.
    :param slides: whether the joint slides, and has no windings.
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
    Write the solutions of one pose, best first, and return how many; -1 when the pose is no rigid transform.

    What is tried waits, and is certified together: then the machine code of the certification stands here alone.

    :param out, counters, ints, reals, matrix_t, seed, options, work: as for :func:`search.search`; limits count.
    :param spread: (SPREAD,).
    :param places: (places_needed(last_scanned(wanted)) * place_size(n),) scratch.
    :param stack: (arcs.stack_size(last_scanned(wanted)),) integers, scratch.
    :param scratch: (scratch_size(n, wanted, capacity),) numbers.
    """
    run = common.BranchRun(counters, ints, reals, seed, options, work, out.shape[0])
    if not common.begin(run, matrix_t):
        return -1
    if common.is_refused(run):
        spread[TRIED] = 0.0
        return 0
    n, wanted = ints[common.N], int(spread[WANTED])
    found = collect(run, spread, places, stack, scratch)
    ranges, fill, pending = open_scratch(n, wanted, out.shape[0], scratch)
    values, beside = vector(scratch, hb.VALUES, LANES), arcs.places_needed(last_scanned(wanted))
    added = _choose_more(fill, places, n, wanted, int(pending[0]) - found.outside)
    for first in range(0, added, LANES):
        count = min(LANES, added - first)
        put(values, vector(fill, first, count), count)
        write_places(run, places, beside, count, ranges, scratch)
        for i in range(count):
            hb.keep_place(places, beside + i, hb.INSIDE, ranges, pending, n)
    spread[TRIED] = found.tried + added
    _certify(run, pending, found.seeds, scratch)
    return common.finish(out, run)


@inline_kernel
def open_scratch(n, wanted, capacity, scratch):
    """
    Return the ranges of the joints, values to add, and candidates that wait for certification.

    :param n, wanted, capacity: as for :func:`scratch_size`.
    :param scratch: of the search.
    """
    own = hb.scratch_size(n)
    after = own + hb.ranges_size(n)
    return (
        vector(scratch, own, hb.ranges_size(n)),
        vector(scratch, after, fill_size(wanted)),
        vector(scratch, after + fill_size(wanted), hb.waiting_size(n, capacity)),
    )


@kernel
def collect(run, spread, places, stack, scratch):
    """
    Let candidates wait for certification: all within limits at the scanned values, and at least one on every arc.

    :param run: of the search, after its ``begin``.
    :param spread, places, stack, scratch: as for :func:`search`.
    :returns: how many values were tried, how many of the candidates are at the seed's value, and how many of these outside
        the limits.
    """
    n, wanted, options, seed = run.ints[common.N], int(spread[WANTED]), run.options, run.seed
    last, ints = last_scanned(wanted), run.ints
    values = vector(scratch, hb.VALUES, LANES)
    ranges, _, pending = open_scratch(n, wanted, run.capacity, scratch)
    pending[0] = 0.0
    hb.prepare(ranges, ints, run.reals, vector(run.work, 0, 12), scratch)
    seeded = _start(
        spread, seed[ints[common.HELD]] if options[common.HAS_SEED] != 0.0 else math.nan
    )
    # The scanned places and the seed's behind them, eight at a time.
    beside, scanned = arcs.places_needed(last), last + 1
    free = scanned + (seeded == seeded)
    for first in range(0, free, LANES):
        count = min(LANES, free - first)
        _choose_scanned(values, spread, first, count, last)
        if first + count > scanned:
            values[scanned - first] = seeded
        write_places(run, places, first, count, ranges, scratch)
    own = 0
    if seeded == seeded:
        # All of them: the pose may be singular, and the seed one of its postures.
        hb.keep_place(places, scanned, hb.EVERYTHING, ranges, pending, n)
        if ints[common.CUT] >= 0:
            # The nearby chain may have no branch at a fold of the true one: the seed itself is a candidate too.
            hb.add_candidate(pending, seed, ints[common.HELD], seeded, scanned, n)
        own = hb.bits_at(places, scanned, hb.INSIDE_BITS, n)
    # Of these, those outside the limits do not count.
    seeds = int(pending[0])
    outside = seeds - _count_bits(own)
    _keep_scanned(places, ranges, n, pending, seeded, wanted)
    size = arcs.push_scanned(stack, last)
    while True:
        count, parts, size = arcs.choose_values(places, ranges, n, pending, stack, size, values)
        if count == 0 or free + count * parts > beside:
            break
        write_places(run, places, free, count * parts, ranges, scratch)
        size = arcs.take_in(places, ranges, n, pending, stack, size, count, parts, free)
        free += count * parts
    return Collected(free, seeds, outside)


@inline_kernel
def _start(spread, value):
    """Return the seed's value of the held joint inside the range, or no number where there is none."""
    # Chains with slides are not sampled on arcs.
    return into_range(value, spread[LOW], spread[HIGH], False) if value == value else value


@kernel
def write_places(run, places, first, count, ranges, scratch):
    """
    Write the branches at some values of the held joint, which stand in the scratch from VALUES on.

    :param run: of the search, after its ``begin``.
    :param places: flat.
    :param first: number of the first place to write.
    :param count: how many values, up to eight.
    :param ranges: from :func:`held_branches.write_ranges`.
    :param scratch: prepared, see :func:`held_branches.prepare`.
    """
    n, rounding = run.ints[common.N], hb.ROUNDING
    if run.ints[common.CUT] >= 0:
        # The true chain may have a branch where the nearby one has none by less than this.
        rounding = DRIFT * run.options[common.NEAR]
    useless = hb.write_by_lanes(places, first, count, run.ints, run.reals, scratch)
    for lane in range(count):
        at, value = first + lane, scratch[hb.VALUES + lane]
        places[hb.number_at(at, hb.VALUE, n)] = value
        if (useless >> lane) & 1 != 0:
            found = common.write_candidates(run, value)
            hb.take_candidates(places, at, common.candidates_of(run), found, n)
        hb.write_margins(run, places, at, ranges, rounding, scratch)


@inline_kernel
def _choose_scanned(values, spread, first, count, last):
    """Write the values of some scanned places: the low end of the range, values half a step apart from it, the high end."""
    step = (spread[HIGH] - spread[LOW]) / (last - 1)
    for i in range(count):
        value = spread[LOW] + (first + i - 0.5) * step
        values[i] = min(max(value, spread[LOW]), spread[HIGH])


@kernel
def _keep_scanned(places, ranges, n, pending, seeded, wanted):
    """
    Sample the scanned places: as many as are wanted, and in every run of them inside the limits at least one.

    :param places, ranges, n, pending: as for :func:`held_branches.keep_place`.
    :param seeded: the seed's value, which has been sampled.
    :param wanted: values that shall be tried at least.
    """
    last = last_scanned(wanted)
    every = (last - 1) // wanted
    for i in range(every // 2, last, every):
        value = places[hb.number_at(i, hb.VALUE, n)]
        if i > 0 and not abs(value - seeded) < common.SAME_VALUE:
            hb.keep_place(places, i, hb.INSIDE, ranges, pending, n)
    for i in range(last + 1):
        places[hb.number_at(i, hb.NEXT, n)] = float(i + 1 if i < last else -1)
    _keep_runs(places, ranges, n, pending, last)
    hb.keep_place(places, 0, -hb.ROUNDING, ranges, pending, n)
    low, high = places[hb.number_at(0, hb.VALUE, n)], places[hb.number_at(last, hb.VALUE, n)]
    if high - low > 2.0 * math.pi - common.SAME_VALUE:
        # Both ends of a revolution are one value.
        hit = hb.bits_at(places, 0, hb.HIT_BITS, n) | hb.bits_at(places, last, hb.HIT_BITS, n)
        places[hb.number_at(last, hb.HIT_BITS, n)] = float(hit)
    hb.keep_place(places, last, -hb.ROUNDING, ranges, pending, n)


@kernel
def _keep_runs(places, ranges, n, pending, last):
    """
    Sample the runs of scanned places inside the limits that hold no sample yet; all places of a run then count as hit.

    :param places, ranges, n, pending: as for :func:`held_branches.keep_place`.
    :param last: number of the last scanned place, both ends of the range included.
    """
    for i in range(last):
        # Two samples need no bridge between them.
        both = hb.bits_at(places, i, hb.HIT_BITS, n) & hb.bits_at(places, i + 1, hb.HIT_BITS, n)
        before, behind, others = max(i - 1, 0), min(i + 2, last), hb.EVERY & ~both
        bits = both | arcs.bridge(places, ranges, n, before, i, i + 1, behind, others)
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
                    hb.keep_place(places, middle, hb.INSIDE, ranges, pending, n)
                    sampled = True
                for k in range(start, i + 1 if sampled else start):
                    hit = hb.bits_at(places, k, hb.HIT_BITS, n) | bit
                    places[hb.number_at(k, hb.HIT_BITS, n)] = float(hit)
            start, sampled = i + 1, False


@inline_kernel
def _count_bits(bits):
    """Return how many of eight bits are set."""
    count = 0
    for branch in range(hb.BRANCHES):
        count += (bits >> branch) & 1
    return count


@inline_kernel
def _stretch(places, at, n):
    """Return the width of the interval behind a place, and how many branches are within limits at both ends."""
    behind = hb.bits_at(places, at, hb.NEXT, n)
    if behind < 0:
        return 0.0, 0
    bits = hb.bits_at(places, at, hb.INSIDE_BITS, n)
    bits &= hb.bits_at(places, behind, hb.INSIDE_BITS, n)
    width = places[hb.number_at(behind, hb.VALUE, n)] - places[hb.number_at(at, hb.VALUE, n)]
    return width, _count_bits(bits)


@kernel
def _choose_more(fill, places, n, wanted, kept):
    """
    Write more values on the stretches within the limits, evenly, where few have been tried; return how many.

    As many postures are wanted as if every branch with an arc had one at each requested value, and at the seed's.

    :param fill: (fill_size(wanted),) out.
    :param places, n: of the search, after that between the scanned places.
    :param wanted: number of requested values.
    :param kept: postures that wait for certification.
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
    gap, count, way, at = max(length / missing, LEAST_GAP), 0, 0.5, 0
    while at >= 0:
        width, branches = _stretch(places, at, n)
        way += width / gap if branches > 0 else 0.0
        more, low = int(way), places[hb.number_at(at, hb.VALUE, n)]
        way -= more
        for part in range(min(more, fill.shape[0] - count)):
            fill[count] = low + width * ((part + 1.0) / (more + 1.0))
            count += 1
        at = hb.bits_at(places, at, hb.NEXT, n)
    return count


@kernel
def _certify(run, pending, seeds, scratch):
    """
    Certify the candidates that wait and keep those that are wanted, eight at the cost of one.

    :param pending: as for :func:`held_branches.keep_place`.
    :param seeds: how many of the first of them are at the seed's value of the held joint.
    :param scratch: as for the search.
    """
    n, first, raw = run.ints[common.N], 0, common.candidates_of(run)
    while first < int(pending[0]):
        count = hb.read_waiting(raw, pending, first, n)
        if run.ints[common.CUT] >= 0:
            # The seed's value is held, others only say where to look: then no fold is in the way.
            _polish(run, raw, count, run.ints[common.HELD] if first < seeds else -1, scratch)
        common.keep(run, count, run.counters[common.KEPT] if first >= seeds else 0)
        first += count


@kernel
def _polish(run, raw, count, held, scratch):
    """
    Move the candidates of a chain that is nearly of a class to the true chain's solutions, in place.

    :param raw: (8 or more, n), of which ``count`` rows are candidates.
    :param held: index of a joint that does not move, -1 for none.
    :param scratch: as for the search; what values were tried with is no longer needed.
    """
    n, own = run.ints[common.N], newton_lanes.scratch_size(run.ints[common.N])
    area, own_scratch = vector(scratch, own, LANES * n), vector(scratch, 0, own)
    lane_pipeline.read_candidates(area, raw, 0, count, n)
    axes, points, home = common.chain_of(run)
    newton_lanes.polish(area, axes, points, home, n, held, common.target_of(run), own_scratch)
    for k in range(n):
        for lane in range(count):
            raw[lane, k] = area[LANES * k + lane]
