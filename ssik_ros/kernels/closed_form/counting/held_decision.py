"""
Whether many poses of seven joints are reached within limits: a posture that reaches one, or a proof that there is none.

Problem
-------
Seven joints reach a pose along curves, which a held joint parametrises. Decide whether any point of these curves is within all
limits.

Solutions
---------
REACHED with a posture within limits; PROVED where no value of the held joint has one; UNDECIDED where the cells of the held joint
that are left are too narrow or too many.

Method
------
1. The hull of what the arm reaches refuses most poses out of reach.
2. Two rows of eight values of the held joint find the postures of most poses that are reached.
3. The range of the held joint is divided into cells. :mod:`held_ranges` bounds every joint of every branch over a cell. A branch
   with a joint outside of its limits all over the cell is dropped; the others are looked at again in both halves of the cell. Where
   the middle of a cell has all joints within limits the branches there are computed.
4. Of a chain that is nearly of the class, the point W of the nearest chain of the class is beside the one of the target by a
   vector that depends on the joints. Ranges of the joints bound it, and it bounds the joints.

Degeneracies
------------
Poses whose only postures are on limits or singular are met by no value and ruled out by no cell: UNDECIDED.

Cost
----
Linear in the number of cells; a curve that misses its limits by m takes some multiple of sqrt(1 / m) of them.

References
----------
[Shimizu2008] for the arcs of an arm with two spherical joints.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel, vector
from ssik_ros.kernels.closed_form.branches import held_branches as hb, search as common
from ssik_ros.kernels.closed_form.certification.chain import triple
from ssik_ros.kernels.closed_form.counting import held_ranges as hr
from ssik_ros.kernels.geometry import lane_angles, lanes, se3, vectors
from ssik_ros.kernels.geometry.lanes import LANES

UNDECIDED, PROVED, REACHED, NOT_RIGID = 0, 1, 2, -1

LOW, HIGH, BEYOND, REVERSED, MOST, PROBES = 0, 1, 2, 3, 4, 5
"""Numbers of a spread: range of the held joint [rad], how far cells go beyond it, whether the class is that of the reversed chain,
most cells to look at, whether postures are looked for."""
SPREAD = 6
FIRST = 16
"""Cells of each branch to begin with, a multiple of the lanes."""
ARMS = 4
BOTH = 3
"""Bits of both wrists."""
NARROWEST = 1e-7
"""Half width of a cell that is not divided any further [rad]."""
ROUNDS = 1
"""How often ranges of joints bound the drift, and the drift the joints."""
CELL = 12
"""Numbers of a cell that waits: its middle, half its width, number of its arm plus four times the bits of its wrists; then those of
its rows from SHIFT to LIFT, and the range of joint 6."""
CODE, PLACE, LAST = 2, 3, 10
PLACES = 7
LAST_FIRST = 4
"""Parts of the range of joint 6 to begin with, where it is divided."""
LAST_SHARE = 0.3
"""Play of W over half the width of a cell from which on the range of joint 6 is divided, and not the cell."""


@inline_kernel
def scratch_size(most):
    """
    Return how many numbers :func:`decide_many` needs.

    :param most: cells to look at for one pose.
    """
    own = hr.ITEMS + hr.RANGES + LANES + 12
    return own + LANES * hb.place_size(7) + hb.ranges_size(7) + hb.scratch_size(7) + CELL * most


@kernel
def probe(run, values, count, places, ranges, scratch):
    """
    Return how many branches within limits there are at some values of the held joint.

    :param run: of the search, after its ``begin``.
    :param values: (8,) of which ``count`` are read [rad].
    :param places: room for eight.
    :param ranges, scratch: of :mod:`held_branches`, prepared.
    """
    n, found = run.ints[common.N], 0
    for lane in range(count):
        scratch[hb.VALUES + lane] = values[lane]
    useless = hb.write_by_lanes(places, 0, count, run.ints, run.reals, scratch)
    for lane in range(count):
        if (useless >> lane) & 1 != 0:
            continue
        places[hb.number_at(lane, hb.VALUE, n)] = values[lane]
        hb.write_margins(run, places, lane, ranges, hb.ROUNDING, scratch)
        margins = lanes.load(places, hb.row_at(lane, n + hb.MARGIN, n))
        rooms = lanes.load(places, hb.row_at(lane, n + hb.ROOM, n))
        bits = lanes.bits_of((margins >= 0.0) & (rooms == 0.0))
        if bits == 0:
            continue
        missed = hb.misses(run, places, lane, scratch)
        bits &= lanes.bits_of(missed <= run.options[common.TOLERANCE])
        for branch in range(hb.BRANCHES):
            found += (bits >> branch) & 1
    return found


@kernel
def _scan(run, spread, values, places, ranges, scratch):
    """Return how many branches within limits there are at the first values of the held joint that have any."""
    step = (spread[HIGH] - spread[LOW]) / (2 * LANES)
    for part in range(2):
        for lane in range(LANES):
            # First every other value.
            values[lane] = spread[LOW] + (2 * lane + part + 0.5) * step
        found = probe(run, values, LANES, places, ranges, scratch)
        if found > 0:
            return found
    return 0


@kernel
def _begin_cells(queue, spread, arm):
    """
    Write the first cells, those of one arm side by side, and return how many.

    If W of the true chain is beside that of the nearest one, each wrist has cells of its own.
    """
    drift, is_split = arm.numbers[hr.DRIFT], arm.numbers[hr.SPLIT] != 0.0
    low, high, count = spread[LOW] - spread[BEYOND], spread[HIGH] + spread[BEYOND], 0
    half, wrists = 0.5 * (high - low) / FIRST, 1 if drift == 0.0 else 2
    parts = LAST_FIRST if is_split else 1
    last = min(arm.limits[11] + hr.BESIDE, math.pi) / parts
    for branch in range(ARMS * wrists * parts):
        wrist = branch // parts
        code = wrist // wrists + ARMS * (BOTH if wrists == 1 else 1 + wrist % 2)
        for cell in range(FIRST):
            at = CELL * count
            queue[at], queue[at + 1] = low + (2 * cell + 1) * half, half
            queue[at + CODE] = float(code)
            for k in range(PLACES):
                queue[at + PLACE + k] = drift if hr.SHIFT + k == hr.BALL else 0.0
            queue[at + LAST] = arm.limits[5] + (2 * (branch % parts) + 1 - parts) * last
            queue[at + LAST + 1] = last
            count += 1
    return count


@kernel
def _take(items, queue, first, count):
    """Write eight cells side by side; the last one stands for those that are missing."""
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
    """Return centre and radius of a joint in eight cells, each with the wrist that is meant."""
    row, other = joint * LANES, (13 + joint) * LANES
    centre = lanes.select(is_second, lanes.load(out, other), lanes.load(out, row))
    row, other = row + 6 * LANES, other + 6 * LANES
    radius = lanes.select(is_second, lanes.load(out, other), lanes.load(out, row))
    return centre, radius


@inline_kernel
def _drift_of_arm(out, arm, is_second):
    """Return what joints 1 to 3 add to the drift, and its radius."""
    radius = lanes.spread(0.0)
    drift = (radius, radius, radius)
    for back in range(3):
        k = 2 - back
        centre, width = _joint_of(out, k, is_second)
        sine, cosine = lanes.sine_cosine(centre)
        aside = triple(arm.beside, k)
        away = vectors.subtract(drift, aside)
        radius = radius + lanes.lesser(width, 2.0) * lanes.root(vectors.dot(away, away))
        drift = vectors.turn(triple(arm.vectors, hr.H1 + k), cosine, sine, away)
        drift = vectors.add(drift, lane_angles.spread_vector(aside))
    return drift, radius


@inline_kernel
def _drift_of_wrist(out, arm, is_second):
    """Return what joints 4 to 6 add to the drift, seen from the last body, and its radius."""
    radius = lanes.spread(0.0)
    drift = (radius, radius, radius)
    for k in range(3, 6):
        centre, width = _joint_of(out, k, is_second)
        sine, cosine = lanes.sine_cosine(centre)
        aside = triple(arm.beside, k)
        away = vectors.add(drift, lane_angles.spread_vector(aside))
        radius = radius + lanes.lesser(width, 2.0) * lanes.root(vectors.dot(away, away))
        drift = vectors.turn(triple(arm.vectors, hr.H1 + k), cosine, -sine, away)
        drift = vectors.subtract(drift, aside)
    return drift, radius


@inline_kernel
def _lifted(arm, pose, own):
    """Return a vector of the last body as the target has it with the held joint at zero."""
    x = vectors.scale(vectors.dot(triple(arm.vectors, hr.X6), own), pose.x)
    y = vectors.scale(vectors.dot(triple(arm.vectors, hr.Y6), own), pose.y)
    z = vectors.cross(pose.x, pose.y)
    z = vectors.scale(vectors.dot(triple(arm.vectors, hr.H6), own), z)
    return vectors.add(x, vectors.add(y, z))


@inline_kernel
def _write_drift(items, out, arm, pose):
    """Write where W of the nearest chain is beside that of the true one, by the ranges of the joints, where they say more."""
    is_second = lanes.load(items, hr.WRIST * LANES) > 0.5
    drift, radius = _drift_of_arm(out, arm, is_second)
    own, own_radius = _drift_of_wrist(out, arm, is_second)
    lift = _lifted(arm, pose, own)
    radius = radius + own_radius + hr.ROUNDING
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
    """Write where W of the nearest chain is beside that of the true one, by the range of joint 6, on which alone it depends."""
    sine, cosine = lanes.sine_cosine(lanes.load(items, hr.LAST * LANES))
    aside, h6 = triple(arm.beside, 5), triple(arm.vectors, hr.H6)
    turned = vectors.turn(h6, cosine, -sine, lane_angles.spread_vector(aside))
    lift = _lifted(arm, pose, vectors.subtract(turned, aside))
    for i in range(3):
        lanes.store(items, (hr.LIFT + i) * LANES, lift[i])
    half = lanes.load(items, (hr.LAST + 1) * LANES)
    lanes.store(items, hr.BALL * LANES, arm.numbers[hr.SPLIT] * half + hr.ROUNDING)


@inline_kernel
def _cut_last(items, out):
    """Cut the range of joint 6 to that of the branch that is meant; return the bits of lanes with nothing left."""
    is_second = lanes.load(items, hr.WRIST * LANES) > 0.5
    centre, radius = _joint_of(out, 5, is_second)
    middle, half = lanes.load(items, hr.LAST * LANES), lanes.load(items, (hr.LAST + 1) * LANES)
    away = centre - middle
    away = away - 2.0 * math.pi * lanes.floor(away * (0.5 / math.pi) + 0.5)
    radius = radius + hr.BESIDE
    # Only a range that is met on one side alone is cut: beyond half a turn both sides are.
    is_narrow = radius + half < math.pi
    low, high = lanes.greater(away - radius, -half), lanes.lesser(away + radius, half)
    is_lost = is_narrow & (low > high)
    is_cut = is_narrow & (low <= high)
    lanes.store(items, hr.LAST * LANES, lanes.select(is_cut, middle + 0.5 * (low + high), middle))
    lanes.store(items, (hr.LAST + 1) * LANES, lanes.select(is_cut, 0.5 * (high - low), half))
    return lanes.bits_of(is_lost)


@kernel
def _examine(out, arm, pose, items):
    """Return the bits of eight cells that may hold a posture within limits, for both wrists."""
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
    """Write the middles of cells at which all joints may be within limits; return how many."""
    inside = lanes.bits_of(lanes.load(out, hr.MARGIN * LANES) >= 0.0) & first
    inside |= lanes.bits_of(lanes.load(out, (13 + hr.MARGIN) * LANES) >= 0.0) & second
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
    Add both halves of a cell; return how many cells there are now, most + 1 where there is no room or the cell is too narrow.

    :param start: number of the cell in the queue, and its place among the items.
    :param bits: of the wrists that are left.
    """
    at, lane, place = CELL * start[0], start[1], CELL * size
    half, last = queue[at + 1], items[(hr.LAST + 1) * LANES + lane]
    is_last = is_split and items[hr.BALL * LANES + lane] > LAST_SHARE * half
    if size + 2 > most or half < NARROWEST:
        return most + 1
    for side in range(2):
        way = side - 0.5
        queue[place], queue[place + 1] = queue[at], half
        queue[place + LAST], queue[place + LAST + 1] = items[hr.LAST * LANES + lane], last
        if is_last:
            queue[place + LAST] += way * last
            queue[place + LAST + 1] = 0.5 * last
        else:
            queue[place] += way * half
            queue[place + 1] = 0.5 * half
        queue[place + CODE] = float(int(queue[at + CODE]) % ARMS + ARMS * bits)
        for k in range(PLACES):
            queue[place + PLACE + k] = items[(hr.SHIFT + k) * LANES + lane]
        place += CELL
    return size + 2


@kernel
def _divide_all(queue, size, most, items, head, first, second, count, is_split):
    """
    Add both halves of the cells that may hold a posture; return how many cells there are now, most + 1 where one is lost.

    :param head: number of the first of these cells in the queue.
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
    Return what a pose is, how many branches a value of the held joint has, and how many cells were looked at.

    :param run: of the search, after its ``begin``.
    """
    most, n = int(spread[MOST]), 7
    items, out = vector(scratch, 0, hr.ITEMS), vector(scratch, hr.ITEMS, hr.RANGES)
    at = hr.ITEMS + hr.RANGES
    values, at = vector(scratch, at, LANES), at + LANES + 12
    places, at = vector(scratch, at, LANES * hb.place_size(n)), at + LANES * hb.place_size(n)
    ranges, at = vector(scratch, at, hb.ranges_size(n)), at + hb.ranges_size(n)
    own, at = vector(scratch, at, hb.scratch_size(n)), at + hb.scratch_size(n)
    queue, is_looking = vector(scratch, at, CELL * most), spread[PROBES] != 0.0
    is_split = arm.numbers[hr.SPLIT] != 0.0
    if is_looking:
        hb.prepare(ranges, run.ints, run.reals, vector(run.work, 0, 12), own)
        found = _scan(run, spread, values, places, ranges, own)
        if found > 0:
            return REACHED, found, 0
    size, head = _begin_cells(queue, spread, arm), 0
    while head < size:
        count = min(LANES, size - head)
        _take(items, queue, head, count)
        first, second = _examine(out, arm, pose, items)
        if first | second != 0:
            if is_looking:
                chosen = _choose_values(values, items, out, spread, first, second, count)
                found = 0
                if chosen > 0:
                    found = probe(run, values, chosen, places, ranges, own)
                if found > 0:
                    return REACHED, found, head
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
    beside,
    spread,
    counters,
    work,
    scratch,
):
    """
    Write what each pose is: REACHED, PROVED to be out of reach, UNDECIDED, or NOT_RIGID.

    :param status: (m,) out.
    :param branches: (m,) out, branches within limits at the value of the held joint that met one, with its neighbours.
    :param tried: (m,) out, cells of the held joint that were looked at.
    :param poses: (m, 4, 4) targets.
    :param ints, reals, options, seed: of the plan, as for :func:`search.search`; the seed is not read.
    :param held, numbers, limits, beside: of :class:`held_ranges.HeldArm`.
    :param spread: (SPREAD,) LOW, ...
    :param counters, work: scratch of one search.
    :param scratch: (scratch_size(most),).
    """
    run = common.BranchRun(counters, ints, reals, seed, options, work, 1)
    arm = hr.HeldArm(held, numbers, limits, beside)
    target = vector(scratch, hr.ITEMS + hr.RANGES + LANES, 12)
    for i in range(poses.shape[0]):
        branches[i], tried[i] = 0, 0
        if not common.begin(run, poses[i]):
            status[i] = NOT_RIGID
            continue
        if common.is_refused(run):
            status[i] = PROVED
            continue
        g = vector(work, 0, 12)
        if spread[REVERSED] != 0.0:
            se3.invert(target, g)
        else:
            vectors.copy(target, g)
        for k in range(9, 12):
            target[k] = target[k] / numbers[hr.SIZE]
        pose = hr.make_pose(arm, target)
        status[i], branches[i], tried[i] = _decide(run, arm, pose, spread, scratch)
