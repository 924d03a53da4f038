"""
Every branch of one pose of seven joints within limits: the held joint is sampled on the arcs that are inside them.

One kernel call for a pose. The seed's own value of the held joint comes first, then values that are spread over its
range, then what :mod:`ssik_ros.kernels.analytic.arcs` finds between those, then more values on the arcs that were found.
"""

import math

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels._jit import vector
from ssik_ros.kernels.analytic import arcs
from ssik_ros.kernels.analytic import held_branches as hb
from ssik_ros.kernels.analytic import lane_pipeline
from ssik_ros.kernels.analytic import search as common

LEAST_SCAN = 12
"""Values that are looked at, however few are to be kept."""
LOW, HIGH, WANTED, TRIED = 0, 1, 2, 3
"""Numbers of a spread: range of the held joint [rad], values that shall be tried at least; values tried, written."""
SPREAD = 4
FILL = 4
"""Of this share of the values wanted at least one branch shall be within limits."""
SAME_VALUE = 1e-9
"""Values nearer to the seed's than this are its own [rad]."""


@inline_kernel
def scan_size(wanted):
    """
    Return how many values are scanned, a multiple of those wanted.

    :param wanted: values that shall be tried at least.
    """
    return wanted * ((LEAST_SCAN + wanted - 1) // wanted)


@inline_kernel
def places_needed(wanted):
    """Return how many places a search needs: the scanned ones, both ends, and those of the halvings."""
    return scan_size(wanted) + 2 + arcs.DEPTH + 1


@inline_kernel
def scratch_size(n):
    """Return how many numbers of scratch a search needs beside its places."""
    return lane_pipeline.area_size(n) + 2 * n + hb.waiting_size(n)


@inline_kernel
def turning_range(low, high, limits_count):
    """
    Return the range over which the values of a held joint that turns are spread: its limits, or one turn [rad].

    :param low, high: its limits, infinite for none.
    :param limits_count: whether solutions outside the limits are dropped.
    """
    if not limits_count or not math.isfinite(high - low):
        return -math.pi, math.pi
    if high - low >= 2.0 * math.pi:
        # Every angle has a turn inside: one turn is all there is.
        middle = 0.5 * (low + high)
        return middle - math.pi, middle + math.pi
    return low, high


@inline_kernel
def into_range(value, low, high, slides):
    """
    Return an angle moved by whole turns into a range, or its nearest end where no turn lies inside.

    :param value, low, high: [rad], or [m] of a joint that slides.
    :param slides: whether the joint slides, and has no turns.
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

    :param out, counters, ints, reals, matrix_t, seed, options, work: as for :func:`search.search`; limits count.
    :param spread: (SPREAD,).
    :param places: (places_needed(wanted), place_size(n)) scratch.
    :param stack: (2 DEPTH + 2, 5) integers, scratch.
    :param scratch: (scratch_size(n),) numbers.
    """
    if not common.begin(counters, ints, reals, matrix_t, options, work):
        return -1
    n, capacity, size = ints[common.N], out.shape[0], lane_pipeline.area_size(ints[common.N])
    own, ranges = vector(scratch, 0, size), vector(scratch, size, 2 * n)
    pending = vector(scratch, size + 2 * n, hb.waiting_size(n))
    pending[0] = 0.0
    hb.write_ranges(ranges, ints, reals)
    hits = _scan(
        places,
        spread,
        ranges,
        pending,
        counters,
        ints,
        reals,
        seed,
        options,
        capacity,
        work,
        own,
    )
    wanted = int(spread[WANTED])
    last = scan_size(wanted) + 1
    _keep_runs(places, last, ranges, pending, counters, ints, reals, seed, options, capacity, work)
    tried = _look_between(
        places,
        last,
        stack,
        ranges,
        pending,
        counters,
        ints,
        reals,
        seed,
        options,
        capacity,
        work,
        own,
    )
    tried += _fill_up(
        places,
        last,
        wanted // FILL - hits,
        ranges,
        pending,
        counters,
        ints,
        reals,
        seed,
        options,
        capacity,
        work,
        own,
    )
    hb.flush(pending, counters, ints, reals, seed, options, capacity, work)
    spread[TRIED] = tried + last + 1 + (options[common.HAS_SEED] != 0.0)
    return common.finish(out, counters, ints, reals, options, work)


@kernel
def _scan(
    places,
    spread,
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
):
    """
    Try the seed's value and values that are spread over the range, and return at how many a branch is within limits.

    :param places: of which the first ones are written: the low end of the range, the values, the high end.
    :param spread, ranges, pending, counters, ints, reals, seed, options, capacity, work, scratch: as for the search.
    """
    last, hits, seeded = scan_size(int(spread[WANTED])) + 1, 0, math.nan
    if options[common.HAS_SEED] != 0.0:
        # Chains with slides are not sampled on arcs.
        seeded = into_range(seed[ints[common.HELD]], spread[LOW], spread[HIGH], False)
        count = hb.write_place(
            places, 0, seeded, ranges, ints, reals, seed, options, work, scratch
        )
        # All of them: the pose may be singular, and the seed one of its postures.
        common.keep(counters, ints, reals, count, 0, seed, options, capacity, work)
        hits += counters[common.KEPT] > 0
    every = (last - 1) // int(spread[WANTED])
    step = (spread[HIGH] - spread[LOW]) / (last - 1)
    for i in range(last + 1):
        value = min(max(spread[LOW] + (i - 0.5) * step, spread[LOW]), spread[HIGH])
        hb.write_place(places, i, value, ranges, ints, reals, seed, options, work, scratch)
        if 0 < i < last and i % every == every // 2 and not abs(value - seeded) < SAME_VALUE:
            hits += hb.keep_place(
                places,
                i,
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
    return hits


@kernel
def _look_between(
    places,
    last,
    stack,
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
):
    """
    Sample what is inside at the ends of the range alone, and the arcs between scanned places; return how many values were tried.

    :param places, last: scanned places 0 to ``last``; those behind are free.
    :param stack, ranges, pending, counters, ints, reals, seed, options, capacity, work, scratch: as for the search.
    """
    for end in (0, last):
        hb.keep_place(
            places,
            end,
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
    tried = 0
    for i in range(last):
        tried += arcs.search_between(
            places,
            stack,
            max(i - 1, 0),
            i,
            i + 1,
            min(i + 2, last),
            last + 1,
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
            arcs.MOST - tried,
        )
    return tried


@kernel
def _keep_runs(
    places, last, ranges, pending, counters, ints, reals, seed, options, capacity, work
):
    """
    Sample the runs of scanned places inside the limits that hold no sample yet; all places of a run then count as hit.

    :param places, last: scanned places 0 to ``last``, both ends of the range included.
    :param ranges: from :func:`held_branches.write_ranges`.
    :param pending, counters, ints, reals, seed, options, capacity, work: as for :func:`held_branches.keep_place`.
    """
    n = ints[common.N]
    for branch in range(hb.BRANCHES):
        start = 0
        while start <= last:
            if not hb.is_inside(places, start, branch, n):
                start += 1
                continue
            end, sampled = start, False
            while end <= last and hb.is_inside(places, end, branch, n):
                # Two samples need no bridge between them.
                is_bridge = end > start and not (sampled and hb.is_hit(places, end, branch, n))
                before, after = max(end - 2, 0), min(end + 1, last)
                if is_bridge and arcs.count_leaving(
                    places, before, end - 1, end, after, branch, ranges, n
                ):
                    break
                sampled = sampled or hb.is_hit(places, end, branch, n)
                end += 1
            middle = (start + end) // 2
            if not sampled and 0 < middle < last:
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
                sampled = True
            for i in range(start, end):
                places[i, hb.record(branch, n) + n + hb.HIT] = 1.0 if sampled else 0.0
            start = end


@inline_kernel
def _has_hit(places, at, n):
    """Return whether any branch of a place is inside and sampled."""
    found = False
    for branch in range(hb.BRANCHES):
        found = found or hb.is_hit(places, at, branch, n)
    return found


@kernel
def _fill_up(
    places,
    last,
    missing,
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
):
    """
    Try more values next to those with postures inside the limits, about as many as are missing; return how many.

    :param places, last: scanned places 0 to ``last``; the row behind them is free.
    :param missing: how many values with postures are wanted; none where it is not positive.
    :param ranges, pending, counters, ints, reals, seed, options, capacity, work, scratch: as for the search.
    """
    n, intervals = ints[common.N], 0
    for i in range(last):
        intervals += _has_hit(places, i, n) or _has_hit(places, i + 1, n)
    if missing <= 0 or intervals == 0:
        return 0
    parts, tried = (missing + intervals - 1) // intervals + 1, 0
    # An odd number of parts: what lies half way has been tried already.
    parts += 1 - parts % 2
    for i in range(last):
        if not (_has_hit(places, i, n) or _has_hit(places, i + 1, n)):
            continue
        low, high = places[i, hb.VALUE], places[i + 1, hb.VALUE]
        for part in range(1, parts):
            value = low + part * (high - low) / parts
            hb.write_place(
                places, last + 1, value, ranges, ints, reals, seed, options, work, scratch
            )
            hb.keep_place(
                places,
                last + 1,
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
    return tried
