"""
Decide whether poses of seven joints are reached within limits: find a posture, or prove that none exists.

:func:`decide_many` does this for many poses.

Problem
-------
Seven joints reach a pose along curves that the held joint parametrises. Decide whether any point of these curves is
within all limits. The arm is one of those for which :mod:`held_ranges` bounds the joints.

Solutions
---------
REACHED: a posture within limits was found. PROVED: no value of the held joint has one. UNDECIDED: the remaining cells
of the held joint are too narrow or too many.

Method
------
1. The reach hull excludes most poses that are out of reach.
2. If postures are wanted, two batches of eight values of the held joint find them for most reachable poses.
3. Divide the range of the held joint into cells. :mod:`held_ranges` bounds every joint of every branch over a cell. If
   some joint is outside its limits all over the cell, drop the branch. Otherwise examine both halves of the cell. If
   postures are wanted and all joints are within limits at the middle of a cell, compute the branches there.
4. If a chain only nearly fits the class, W of the nearest chain differs from W of the target by a vector. This vector
   depends on the joints. Ranges of the joints bound it, and it bounds the joints.

Degeneracies
------------
If all postures of a pose are on limits or singular, no value finds them and no cell excludes them: UNDECIDED.

Cost
----
Linear in the number of cells. A curve that misses its limits by m needs a number of cells proportional to sqrt(1 / m).

References
----------
[Shimizu2008] describes the arcs of an arm with two spherical joints.
"""

import math
from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.branches import held_branches as hb, search as common
from ssik_ros.kernels.closed_form.certification.chain import triple
from ssik_ros.kernels.closed_form.counting import held_ranges as hr
from ssik_ros.kernels.geometry import lane_angles, lanes, se3, vectors
from ssik_ros.kernels.geometry.lanes import LANES
from ssik_ros.kernels.rows.views import Floats, Memory

UNDECIDED, PROVED, REACHED, NOT_RIGID = 0, 1, 2, -1

LOW, HIGH, BEYOND, REVERSED, CELL_COUNT, PROBES = 0, 1, 2, 3, 4, 5
"""Numbers of a spread: range of the held joint [rad]; extension of the range for the cells; 1 if the class fits the
reversed chain; most cells to examine; 1 if postures are searched, too."""
SPREAD = 6
FIRST = 16
"""Number of first cells of each branch; a multiple of the number of lanes."""
ARMS = 4
BOTH = 3
"""Bit mask of both wrists."""
NARROWEST_CELL = 1e-7
"""Half width of a cell below which it is not divided any further [rad]."""
ROUNDS = 1
"""Number of rounds in which ranges of joints bound the drift, and the drift bounds the joints."""
CELL = 12
"""Numbers of a waiting cell: its middle; half its width; index of its arm posture plus four times the bits of its
wrists; rows SHIFT to LIFT of :mod:`held_ranges`; range of joint 6."""
CODE, PLACE, LAST = 2, 3, 10
PLACES = 7
LAST_JOINT = 5
"""Index of joint 6."""
LAST_FIRST = 4
"""Number of first parts of the range of joint 6, if it is divided."""
LAST_SHARE = 0.3
"""If the play of W exceeds this share of a cell's half width, the range of joint 6 is divided instead of the cell."""


class DecisionScratch(NamedTuple):
    """
    Scratch of :func:`decide_many`, which examines at most ``most`` cells of a pose.

    A cell is a range of the held joint for one posture of joints 1 to 3.
    """

    items: Annotated[Floats, hr.ITEMS]
    """Eight cells."""
    bounds: Annotated[Floats, hr.RANGES]
    """Ranges of the joints in these cells, see :func:`held_ranges.bound`."""
    values: Annotated[Floats, LANES]
    """Values of the held joint to try."""
    target: Annotated[Floats, 12]
    """Motion of the free joints with the held joint at zero."""
    places: Annotated[Floats, 'LANES * hb.place_size(7)']
    """Branches at eight values of the held joint."""
    ranges: Annotated[Floats, 'hb.ranges_size(7)']
    """A :class:`held_branches.Ranges`."""
    lanes: Annotated[Floats, 'hb.scratch_size(7)']
    """Scratch of :mod:`held_branches`."""
    queue: Annotated[Floats, 'CELL * most']
    """Waiting cells."""


SCRATCH = Memory(DecisionScratch, 'most', globals())
scratch_size = SCRATCH.size('scratch_size')
view_scratch = SCRATCH.kernel('view_scratch')


@kernel
def probe(run, values, count, places, ranges, scratch):
    """
    Return how many branches are within limits and reach the pose, summed over several values of the held joint.

    A branch reaches the pose if its pose error is at most ERROR_OPTION; Newton steps are not made. Values that the
    kernel for eight values cannot solve, as at a straight wrist, are skipped.

    :param run: a :class:`search.BranchRun`, after :func:`search.begin`.
    :param values: (8,) values of the held joint [rad]; the first ``count`` are read.
    :param count: number of values.
    :param places: scratch for the branches at eight values, 8 * place_size(n) numbers.
    :param ranges, scratch: arrays of :mod:`held_branches` after ``prepare``.
    """
    n, n_branches = run.ints[common.N], 0
    vectors.put(hb.view_scratch(scratch, n).values, values, count)
    useless = hb.write_by_lanes(places, 0, count, run.ints, run.reals, scratch)
    for lane in range(count):
        if (useless >> lane) & 1 != 0:
            continue
        places[hb.number_at(lane, hb.VALUE, n)] = values[lane]
        hb.write_margins(run, places, lane, ranges, hb.CANDIDATE_ERROR, scratch)
        margins = lanes.load(places, hb.row_at(lane, n + hb.MARGIN, n))
        rooms = lanes.load(places, hb.row_at(lane, n + hb.RESIDUAL_ROW, n))
        bits = lanes.bits_of((margins >= 0.0) & (rooms == 0.0))
        if bits == 0:
            continue
        missed = hb.misses(run, places, lane, scratch)
        bits &= lanes.bits_of(missed <= run.options[common.ERROR_OPTION])
        for branch in range(hb.BRANCHES):
            n_branches += (bits >> branch) & 1
    return n_branches


@kernel
def _scan(run, spread, values, places, ranges, scratch):
    """
    Look for a posture within limits at sixteen values of the held joint, spread over its range.

    The values are tested in two batches of eight. The second batch is left out if the first one has a posture.

    :param run, places, ranges, scratch: the search, scratch for branches, and ranges of the joints, as for
        :func:`probe`.
    :param spread: (SPREAD,) settings with the range.
    :param values: (8,) scratch.
    :returns: number of branches within limits in the first successful batch; 0 if both batches have none.
    """
    step = (spread[HIGH] - spread[LOW]) / (2 * LANES)
    for part in range(2):
        for lane in range(LANES):
            # The first batch has every other value.
            values[lane] = spread[LOW] + (2 * lane + part + 0.5) * step
        n_branches = probe(run, values, LANES, places, ranges, scratch)
        if n_branches > 0:
            return n_branches
    return 0


@kernel
def _begin_cells(queue, spread, arm):
    """
    Write the first cells, which cover the range of the held joint for every arm posture, into the queue.

    The range is extended by BEYOND of ``spread`` at both ends.

    A cell is a range of the held joint for one posture of joints 1 to 3. If the chain does not fit the class exactly,
    each wrist has its own cells. If the range of joint 6 is divided, each of its LAST_FIRST parts has its own cells.

    :param queue: (CELL most,) out: CELL numbers for each cell.
    :param spread: (SPREAD,) settings with the range of the held joint.
    :param arm: a :class:`held_ranges.HeldArm`.
    :returns: number of cells.
    """
    drift, is_split = arm.numbers[hr.DRIFT], arm.numbers[hr.SPLIT] != 0.0
    low, high, count = spread[LOW] - spread[BEYOND], spread[HIGH] + spread[BEYOND], 0
    half, wrists = 0.5 * (high - low) / FIRST, 1 if drift == 0.0 else 2
    parts = LAST_FIRST if is_split else 1
    last = min(arm.limits[hr.LIMIT_HALVES + LAST_JOINT] + hr.PROVED_OUTSIDE, math.pi) / parts
    for branch in range(ARMS * wrists * parts):
        wrist = branch // parts
        code = wrist // wrists + ARMS * (BOTH if wrists == 1 else 1 + wrist % 2)
        for cell in range(FIRST):
            at = CELL * count
            queue[at], queue[at + 1] = low + (2 * cell + 1) * half, half
            queue[at + CODE] = float(code)
            for k in range(PLACES):
                queue[at + PLACE + k] = drift if hr.SHIFT + k == hr.BALL else 0.0
            queue[at + LAST] = arm.limits[LAST_JOINT] + (2 * (branch % parts) + 1 - parts) * last
            queue[at + LAST + 1] = last
            count += 1
    return count


@kernel
def _take(items, queue, first, count):
    """
    Copy up to eight cells from the queue into ``items``, one in each lane.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param items: (ITEMS,) out, laid out as :class:`held_ranges.Cells`.
    :param queue: table of cells.
    :param first: index of the first cell to copy.
    :param count: number of cells, at most eight; the last one fills unused lanes.
    """
    for lane in range(LANES):
        at = CELL * (first + min(lane, count - 1))
        code = int(queue[at + CODE])
        arm = code % ARMS
        items[lane], items[LANES + lane] = queue[at], queue[at + 1]
        items[2 * LANES + lane] = 1.0 - 2.0 * (arm // 2)
        items[3 * LANES + lane] = 1.0 - 2.0 * (arm % 2)
        for k in range(PLACES):
            items[(hr.SHIFT + k) * LANES + lane] = queue[at + PLACE + k]
        items[hr.WRIST * LANES + lane] = 1.0 if code // ARMS == 2 else 0.0
        for k in range(2):
            items[(hr.LAST + k) * LANES + lane] = queue[at + LAST + k]


@inline_kernel
def _joint_of(out, joint, is_second):
    """
    Return the range of a joint in eight cells, as (centre, radius) [rad].

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param out: (RANGES,) ranges of the joints, from :func:`held_ranges.bound`.
    :param joint: index of the joint in the class, 0 to 5.
    :param is_second: mask of the lanes whose second wrist is meant; others read the first wrist.
    """
    row, other = joint * LANES, (13 + joint) * LANES
    centre = lanes.select(is_second, lanes.load(out, other), lanes.load(out, row))
    row, other = row + 6 * LANES, other + 6 * LANES
    radius = lanes.select(is_second, lanes.load(out, other), lanes.load(out, row))
    return centre, radius


@inline_kernel
def _drift_of_arm(out, arm, is_second):
    """
    Return (drift, bound): part of the wrist centre's drift that axes 1 to 3 cause, and a bound on its error, in lanes.

    The drift is a vector in units of the arm: the wrist centre W on the nearest chain of the class, minus W on the true
    chain.

    :param out: (RANGES,) ranges of the joints.
    :param arm: a :class:`held_ranges.HeldArm`.
    :param is_second: mask of the lanes with the second wrist.
    """
    radius = lanes.spread(0.0)
    drift = (radius, radius, radius)
    for back in range(3):
        k = 2 - back
        centre, width = _joint_of(out, k, is_second)
        sine, cosine = lanes.sine_cosine(centre)
        aside = triple(arm.axis_offsets, k)
        lever = vectors.subtract(drift, aside)
        radius = radius + lanes.lesser(width, 2.0) * lanes.root(vectors.dot(lever, lever))
        drift = vectors.turn(triple(arm.vectors, hr.H1 + k), cosine, sine, lever)
        drift = vectors.add(drift, lane_angles.spread_vector(aside))
    return drift, radius


@inline_kernel
def _drift_of_wrist(out, arm, is_second):
    """
    Return (drift, bound): part of the wrist centre's drift that axes 4 to 6 cause, and a bound on its error, in lanes.

    The drift is a vector in units of the arm: the wrist centre W on the nearest chain of the class, minus W on the true
    chain. It is given in the frame of the last body.

    :param out: (RANGES,) ranges of the joints.
    :param arm: a :class:`held_ranges.HeldArm`.
    :param is_second: mask of the lanes with the second wrist.
    """
    radius = lanes.spread(0.0)
    drift = (radius, radius, radius)
    for k in range(3, 6):
        centre, width = _joint_of(out, k, is_second)
        sine, cosine = lanes.sine_cosine(centre)
        aside = triple(arm.axis_offsets, k)
        lever = vectors.add(drift, lane_angles.spread_vector(aside))
        radius = radius + lanes.lesser(width, 2.0) * lanes.root(vectors.dot(lever, lever))
        drift = vectors.turn(triple(arm.vectors, hr.H1 + k), cosine, -sine, lever)
        drift = vectors.subtract(drift, aside)
    return drift, radius


@inline_kernel
def _lifted(arm, pose, local):
    """
    Return a vector that is fixed to the last body, in the base frame, if the body is at the target.

    The held joint is at zero.

    :param arm, pose: a :class:`held_ranges.HeldArm` and the target, a :class:`held_ranges.Pose`.
    :param local: the vector in the frame of the last body, with all joints at zero.
    """
    x = vectors.scale(vectors.dot(triple(arm.vectors, hr.X6), local), pose.x)
    y = vectors.scale(vectors.dot(triple(arm.vectors, hr.Y6), local), pose.y)
    z = vectors.cross(pose.x, pose.y)
    z = vectors.scale(vectors.dot(triple(arm.vectors, hr.H6), local), z)
    return vectors.add(x, vectors.add(y, z))


@inline_kernel
def _write_drift(items, out, arm, pose):
    """
    Bound the drift of the wrist centre W by the ranges of the joints, and write it into eight cells.

    A cell is a range of the held joint for one posture of joints 1 to 3. The drift is the position of W on the nearest
    chain of the class minus W on the true chain. A lane changes only if the radius, the bound on the drift's error,
    gets smaller.

    :param items: (ITEMS,) eight cells; rows SHIFT, LIFT and BALL are written.
    :param out: (RANGES,) ranges of the joints.
    :param arm, pose: a :class:`held_ranges.HeldArm` and the target, a :class:`held_ranges.Pose`.
    """
    is_second = lanes.load(items, hr.WRIST * LANES) > 0.5
    drift, radius = _drift_of_arm(out, arm, is_second)
    wrist_drift, wrist_radius = _drift_of_wrist(out, arm, is_second)
    lift = _lifted(arm, pose, wrist_drift)
    radius = radius + wrist_radius + hr.INTERVAL_ROUNDING
    before = lanes.load(items, hr.BALL * LANES)
    is_less = radius < before
    for i in range(3):
        at = (hr.SHIFT + i) * LANES
        lanes.store(items, at, lanes.select(is_less, drift[i], lanes.load(items, at)))
        at = (hr.LIFT + i) * LANES
        lanes.store(items, at, lanes.select(is_less, lift[i], lanes.load(items, at)))
    lanes.store(items, hr.BALL * LANES, lanes.select(is_less, radius, before))


@inline_kernel
def _write_lift(items, arm, pose):
    """
    Write the drift of the wrist centre W into eight cells, for an arm of which only axis 6 misses W.

    A cell is a range of the held joint for one posture of joints 1 to 3. The drift is the position of W on the nearest
    chain of the class minus W on the true chain. It depends on joint 6 only here, and follows from the range of joint 6
    in the cells.

    :param items: (ITEMS,) eight cells; rows LIFT and BALL are written.
    :param arm, pose: a :class:`held_ranges.HeldArm` and the target, a :class:`held_ranges.Pose`.
    """
    sine, cosine = lanes.sine_cosine(lanes.load(items, hr.LAST * LANES))
    aside, h6 = triple(arm.axis_offsets, 5), triple(arm.vectors, hr.H6)
    turned = vectors.turn(h6, cosine, -sine, lane_angles.spread_vector(aside))
    lift = _lifted(arm, pose, vectors.subtract(turned, aside))
    for i in range(3):
        lanes.store(items, (hr.LIFT + i) * LANES, lift[i])
    half = lanes.load(items, (hr.LAST + 1) * LANES)
    lanes.store(items, hr.BALL * LANES, arm.numbers[hr.SPLIT] * half + hr.INTERVAL_ROUNDING)


@inline_kernel
def _cut_last(items, out):
    """
    Narrow the range of joint 6 in each cell to its computed range, in place.

    A cell is a range of the held joint for one posture of joints 1 to 3.

    :param items: (ITEMS,) eight cells; row LAST and the next are written.
    :param out: (RANGES,) ranges of the joints.
    :returns: bits of the cells in which no value of joint 6 is left.
    """
    is_second = lanes.load(items, hr.WRIST * LANES) > 0.5
    centre, radius = _joint_of(out, 5, is_second)
    middle, half = lanes.load(items, hr.LAST * LANES), lanes.load(items, (hr.LAST + 1) * LANES)
    offset = centre - middle
    offset = lane_angles.wrapped(offset)
    radius = radius + hr.PROVED_OUTSIDE
    # Cut only if both ranges together are shorter than a turn; otherwise they overlap on both sides.
    is_narrow = radius + half < math.pi
    low, high = lanes.greater(offset - radius, -half), lanes.lesser(offset + radius, half)
    is_lost = is_narrow & (low > high)
    is_cut = is_narrow & (low <= high)
    lanes.store(items, hr.LAST * LANES, lanes.select(is_cut, middle + 0.5 * (low + high), middle))
    lanes.store(items, (hr.LAST + 1) * LANES, lanes.select(is_cut, 0.5 * (high - low), half))
    return lanes.bits_of(is_lost)


@kernel
def _examine(out, arm, pose, items):
    """
    Bound the joints of eight cells, and return which cells may contain a posture within limits.

    A cell is a range of the held joint for one posture of joints 1 to 3. It has bounds on its drift: the wrist centre W
    on the nearest chain of the class minus W on the true chain.

    :param out: (RANGES,) out: ranges of the joints, see :func:`held_ranges.bound`.
    :param arm, pose: a :class:`held_ranges.HeldArm` and the target, a :class:`held_ranges.Pose`.
    :param items: (ITEMS,) eight cells; their drift and range of joint 6 may be narrowed.
    :returns: (first, second): bits of these cells for the first wrist, and for the second wrist.
    """
    is_split = arm.numbers[hr.SPLIT] != 0.0
    if is_split:
        _write_lift(items, arm, pose)
    first, second = hr.bound(out, arm, pose, items)
    if arm.numbers[hr.DRIFT] == 0.0:
        return first, second
    meant = lanes.bits_of(lanes.load(items, hr.WRIST * LANES) > 0.5)
    first, second = first & ~meant, second & meant
    if is_split:
        left = 255 & ~_cut_last(items, out)
        return first & left, second & left
    for _ in range(ROUNDS):
        if first | second == 0:
            break
        _write_drift(items, out, arm, pose)
        again, other = hr.bound(out, arm, pose, items)
        first, second = first & again, second & other
    return first, second


@kernel
def _choose_values(values, items, out, spread, first, second, count):
    """
    Write values of the held joint to try: the middles of cells at which all joints may be within limits.

    A cell is a range of the held joint for one posture of joints 1 to 3. Equal values are written once.

    :param values: (8,) out: values of the held joint [rad], moved into its range.
    :param items, out: eight cells, and the ranges of their joints, from :func:`_examine`.
    :param spread: (SPREAD,) settings with the range.
    :param first, second: bits of the cells that may have a posture, for each wrist.
    :param count: number of cells.
    :returns: number of values.
    """
    inside = lanes.bits_of(lanes.load(out, hr.MARGIN * LANES) >= 0.0) & first
    inside |= lanes.bits_of(lanes.load(out, (hr.WRIST_ROWS + hr.MARGIN) * LANES) >= 0.0) & second
    chosen = 0
    for lane in range(count):
        if (inside >> lane) & 1 == 0:
            continue
        value = min(max(items[lane], spread[LOW]), spread[HIGH])
        is_new = True
        for other in range(chosen):
            is_new = is_new and values[other] != value
        if is_new:
            values[chosen] = value
            chosen += 1
    return chosen


@kernel
def _divide(queue, size, most, items, start, bits, is_split):
    """
    Append both halves of a cell to the queue; return the new number of cells.

    A cell is a range of the held joint for one posture of joints 1 to 3. It also has bounds on the drift of the wrist
    centre, and a range of joint 6. The result is most + 1 if the queue is full or the cell is too narrow to be divided.

    :param queue: table of ``size`` cells.
    :param size: number of cells in the queue before.
    :param most: largest number of cells.
    :param items: eight cells with their drift and range of joint 6.
    :param start: pair: index of the cell in the queue, and its lane in ``items``.
    :param bits: bits of the wrists that may still have a posture, 1 to 3.
    :param is_split: True if the range of joint 6 may be divided instead of the cell.
    """
    at, lane, place = CELL * start[0], start[1], CELL * size
    half, last = queue[at + 1], items[(hr.LAST + 1) * LANES + lane]
    is_last = is_split and items[hr.BALL * LANES + lane] > LAST_SHARE * half
    if size + 2 > most or half < NARROWEST_CELL:
        return most + 1
    for side in range(2):
        shift = side - 0.5
        queue[place], queue[place + 1] = queue[at], half
        queue[place + LAST], queue[place + LAST + 1] = items[hr.LAST * LANES + lane], last
        if is_last:
            queue[place + LAST] += shift * last
            queue[place + LAST + 1] = 0.5 * last
        else:
            queue[place] += shift * half
            queue[place + 1] = 0.5 * half
        queue[place + CODE] = float(int(queue[at + CODE]) % ARMS + ARMS * bits)
        for k in range(PLACES):
            queue[place + PLACE + k] = items[(hr.SHIFT + k) * LANES + lane]
        place += CELL
    return size + 2


@kernel
def _divide_all(queue, size, most, items, head, first, second, count, is_split):
    """
    Append both halves of all cells that may have a posture to the queue; return the new number of cells.

    A cell is a range of the held joint for one posture of joints 1 to 3. It also has bounds on the drift of the wrist
    centre, and a range of joint 6. The result is most + 1 if a cell cannot be divided, because the queue is full or the
    cell is too narrow.

    :param queue, size: table of waiting cells, and number of cells in it.
    :param most: largest number of cells.
    :param items: eight cells with their drift and range of joint 6.
    :param head: index in the queue of the first cell in ``items``.
    :param first, second: bits of the cells that may have a posture, for each wrist.
    :param count: number of cells in ``items``.
    :param is_split: True if the range of joint 6 may be divided instead of the cell.
    """
    for lane in range(count):
        bits = ((first >> lane) & 1) | (((second >> lane) & 1) << 1)
        bits &= int(queue[CELL * (head + lane) + CODE]) // ARMS
        if bits != 0:
            size = _divide(queue, size, most, items, (head + lane, lane), bits, is_split)
            if size > most:
                break
    return size


@kernel
def _decide(run, arm, pose, spread, scratch):
    """
    Decide whether one pose is reached within limits.

    :param run: a :class:`search.BranchRun`, after :func:`search.begin`.
    :param arm, pose: a :class:`held_ranges.HeldArm` and the target, a :class:`held_ranges.Pose`.
    :param spread: (SPREAD,) settings: range of the held joint, most cells, and whether postures are searched.
    :param scratch: (scratch_size(most),) scratch.
    :returns: (status, branches, cells): REACHED, PROVED (no posture exists) or UNDECIDED; number of branches in the
        batch of values that has any, else 0; number of examined cells, ranges of the held joint. The batch of cells
        that ends the search by REACHED or UNDECIDED is not counted.
    """
    most, is_looking = int(spread[CELL_COUNT]), spread[PROBES] != 0.0
    room = view_scratch(scratch, most)
    items, out, values, places, queue = (
        room.items,
        room.bounds,
        room.values,
        room.places,
        room.queue,
    )
    ranges, is_split = hb.view_ranges(room.ranges, 7), arm.numbers[hr.SPLIT] != 0.0
    if is_looking:
        hb.prepare(ranges, run.ints, run.reals, common.work_of(run).g, room.lanes)
        n_branches = _scan(run, spread, values, places, ranges, room.lanes)
        if n_branches > 0:
            return REACHED, n_branches, 0
    size, head = _begin_cells(queue, spread, arm), 0
    while head < size:
        count = min(LANES, size - head)
        _take(items, queue, head, count)
        first, second = _examine(out, arm, pose, items)
        if first | second != 0:
            if is_looking:
                chosen = _choose_values(values, items, out, spread, first, second, count)
                n_branches = 0
                if chosen > 0:
                    n_branches = probe(run, values, chosen, places, ranges, room.lanes)
                if n_branches > 0:
                    return REACHED, n_branches, head
            size = _divide_all(queue, size, most, items, head, first, second, count, is_split)
            if size > most:
                return UNDECIDED, 0, head
        head += count
    return PROVED, 0, head


@kernel
def decide_many(
    status,
    branches,
    tried,
    poses,
    ints,
    reals,
    options,
    seed,
    held,
    numbers,
    limits,
    axis_offsets,
    spread,
    counters,
    work,
    scratch,
):
    """
    Write for each pose whether it is reached within limits.

    :param status: (m,) out: REACHED (2, a posture was found), PROVED (1, none exists), UNDECIDED (0), or NOT_RIGID
        (-1). Without PROBES in ``spread`` no posture is searched, so REACHED does not occur.
    :param branches: (m,) out: branches within limits in the batch of values of the held joint that found any, else 0.
    :param tried: (m,) out: number of examined cells, ranges of the held joint, without the last batch of at most eight
        for REACHED and UNDECIDED.
    :param poses: (m, 4, 4) target poses of the tip.
    :param ints, reals, options, seed: plan of the arm and options of the call, as for :func:`search.search`; the seed
        is ignored.
    :param held, numbers, limits, axis_offsets: fields of the arm's :class:`held_ranges.HeldArm`; ``held`` is its
        ``vectors``.
    :param spread: (SPREAD,) settings, such as LOW.
    :param counters, work: scratch of one search.
    :param scratch: (scratch_size(most),) scratch.
    """
    run = common.BranchRun(counters, ints, reals, seed, options, work, 1)
    arm = hr.HeldArm(held, numbers, limits, axis_offsets)
    target = view_scratch(scratch, int(spread[CELL_COUNT])).target
    for i in range(poses.shape[0]):
        branches[i], tried[i] = 0, 0
        if not common.begin(run, poses[i]):
            status[i] = NOT_RIGID
            continue
        if common.is_refused(run):
            status[i] = PROVED
            continue
        g = common.work_of(run).g
        if spread[REVERSED] != 0.0:
            se3.invert(target, g)
        else:
            vectors.copy(target, g)
        for k in range(9, 12):
            target[k] = target[k] / numbers[hr.SIZE]
        pose = hr.make_pose(arm, target)
        status[i], branches[i], tried[i] = _decide(run, arm, pose, spread, scratch)
