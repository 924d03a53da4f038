"""
Starts of a search: a deterministic sequence, the same on every machine.

The generator is SplitMix64. Its state is one 64-bit word, which fits into the state array of a solve. Every bit of its
output is usable, and requests share no state.

:func:`spread_out` uses a low-discrepancy sequence instead, which covers the whole joint space evenly. Point n has the
coordinates frac(shift + n alpha), where alpha are negative powers of the generalised golden ratio. Only rotations of
ball joints are drawn at random.

References: [Steele2014] for the generator, [Roberts2018] for the sequence.
"""

import math

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3, vectors
from ssik_ros.kernels.rows import layout

INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFT_30 = np.uint64(30)
SHIFT_27 = np.uint64(27)
SHIFT_31 = np.uint64(31)
SHIFT_11 = np.uint64(11)
RANDOM_UNIT = 1.0 / 9007199254740992.0
"""2^-53: turns 53 random bits into a number in [0, 1)."""


@kernel
def uniform(random):
    """
    Return the next random number in [0, 1).

    :param random: (1,) uint64 state of the generator, advanced.
    """
    random[0] += INCREMENT
    z = random[0]
    z = (z ^ (z >> SHIFT_30)) * FIRST_FACTOR
    z = (z ^ (z >> SHIFT_27)) * SECOND_FACTOR
    z = z ^ (z >> SHIFT_31)
    return float(z >> SHIFT_11) * RANDOM_UNIT


@kernel
def draw(variable_i, lower, upper, seed, spread, free, random, q):
    """
    Write a random configuration within the limits.

    If the spread is below one, every joint stays near the seed: within this fraction of its range. For a joint without
    limits, it is within this fraction of half a turn. Joints that move no frame of the problem keep their values of
    ``q``.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits [rad or m].
    :param seed: (nq,) centre for joints without limits, and for all joints if spread < 1.
    :param spread: fraction of the ranges, in (0, 1]; revolute joints ignore it if ``free`` is True.
    :param free: True draws revolute joints from the full turn around the seed, whatever limits and spread; joints with
        equal limits get this value.
    :param random: (1,) uint64 state of the generator, advanced.
    :param q: (nq,) in and out.
    """
    for v in range(lower.shape[0]):
        if variable_i[v, layout.VARIABLE_MOVES] == layout.IDLE:
            continue
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_FIRST:
            draw_ball(lower[v] >= upper[v], seed[at : at + 4], spread, random, q[at : at + 4])
        elif kind == layout.PERIODIC and free and lower[v] < upper[v]:
            q[at] = draw_joint(-math.inf, math.inf, seed[at], 1.0, random)
        elif kind <= layout.LINEAR:
            q[at] = draw_joint(lower[v], upper[v], seed[at], spread, random)


@kernel
def spread_out(variable_i, lower, upper, centre, share, sequence, index, random, q):
    """
    Write a point of a low-discrepancy sequence, which fills the joint ranges evenly; ball joints are drawn at random.

    Joints that move no frame of the problem keep their values of ``q``, except for ball joints.

    :param variable_i: variable table of the problem.
    :param lower, upper: (nv,) limits of the ranges [rad or m]; a ball joint with equal limits keeps the rotation of
        ``centre``.
    :param centre: (nq,) joints without limits take the full turn around it.
    :param share: part of each range that is used, around its middle, in (0, 1].
    :param sequence: (2, nv) numbers alpha and shift of the sequence for each variable, in [0, 1).
    :param index: number of the point.
    :param random: (1,) uint64 state of the generator, advanced for ball joints.
    :param q: (nq,) in and out.
    """
    for v in range(lower.shape[0]):
        kind = variable_i[v, layout.VARIABLE_KIND]
        at = variable_i[v, layout.VARIABLE_Q]
        if kind == layout.BALL_FIRST:
            draw_ball(lower[v] >= upper[v], centre[at : at + 4], share, random, q[at : at + 4])
        elif kind <= layout.LINEAR and variable_i[v, layout.VARIABLE_MOVES] != layout.IDLE:
            place = sequence[1, v] + index * sequence[0, v]
            fraction = 0.5 + share * (place - math.floor(place) - 0.5)
            q[at] = place_joint(lower[v], upper[v], centre[at], fraction)


@inline_kernel
def place_joint(lower, upper, centre, fraction):
    """
    Return the value at a fraction of the range of a joint [rad or m].

    Without limits the range is a full turn about ``centre``; with one limit it is a full turn from this limit. Equal
    limits give their value.

    :param fraction: 0 for the lower end, 1 for the upper end.
    """
    if lower >= upper:
        return lower
    if math.isinf(lower) and math.isinf(upper):
        return centre + math.pi * (2.0 * fraction - 1.0)
    lower, upper = one_turn(lower, upper)
    return lower + fraction * (upper - lower)


@inline_kernel
def one_turn(lower, upper):
    """
    Return (lower, upper) limits of a turning joint [rad]; a missing limit is one turn from the other one.

    Infinite numbers mark missing limits; at most one of them may be missing.
    """
    if math.isinf(lower):
        return upper - 2.0 * math.pi, upper
    if math.isinf(upper):
        return lower, lower + 2.0 * math.pi
    return lower, upper


@kernel
def draw_ball(held, seed, spread, random, quaternion):
    """
    Write a random rotation of a ball joint into ``quaternion`` (4,).

    With spread 1 it is uniformly distributed over all rotations, with a smaller spread it is near the seed.

    :param held: True writes the seed's rotation instead.
    :param seed: (4,) quaternion xyzw.
    :param spread: share of half a turn by which each component of the rotation vector from the seed may differ from 0.
    :param random: (1,) uint64 state of the generator, advanced.
    """
    vectors.put(quaternion, seed, 4)
    if held:
        return
    if spread < 1.0:
        reach = spread * math.pi
        x, y = 2.0 * uniform(random) - 1.0, 2.0 * uniform(random) - 1.0
        z = 2.0 * uniform(random) - 1.0
        so3.rotate_quaternion(quaternion, reach * x, reach * y, reach * z)
    else:
        draw_rotation(random, quaternion)


@kernel
def draw_joint(lower, upper, centre, spread, random):
    """
    Return a random value of one joint within its limits [rad or m].

    Equal limits give their value. Without limits the range is a full turn about ``centre``; with one limit it is a full
    turn from this limit.

    :param centre: if the spread is below one, the result differs from this value, moved inside the limits, by at most
        ``spread`` times the range.
    :param spread: share of the range, in (0, 1].
    :param random: (1,) uint64 state of the generator, advanced.
    """
    fraction = uniform(random)
    if lower >= upper:
        return lower
    if math.isinf(lower) and math.isinf(upper):
        return centre + spread * math.pi * (2.0 * fraction - 1.0)
    low, high = one_turn(lower, upper)
    if spread < 1.0:
        reach = spread * (high - low)
        centre = min(max(centre, lower), upper)
        low, high = max(lower, centre - reach), min(upper, centre + reach)
    return low + fraction * (high - low)


@kernel
def draw_rotation(random, quaternion):
    """
    Write a random unit quaternion (x, y, z, w), uniformly distributed over all rotations.

    :param random: (1,) uint64 state of the generator, advanced.
    :param quaternion: (4,) out.
    """
    a, b, c = uniform(random), uniform(random), uniform(random)
    first, second = math.sqrt(1.0 - a), math.sqrt(a)
    quaternion[0] = first * math.sin(2.0 * math.pi * b)
    quaternion[1] = first * math.cos(2.0 * math.pi * b)
    quaternion[2] = second * math.sin(2.0 * math.pi * c)
    quaternion[3] = second * math.cos(2.0 * math.pi * c)


@kernel
def can_sample(variable_i, lower, upper):
    """
    Return the index of the first variable that cannot be sampled, because it has no range; -1 if all variables can.

    The limits are (nv,) [rad or m]. A sliding joint with an infinite limit has no range. Ball joints and joints that
    move no frame of the problem are skipped.
    """
    for v in range(lower.shape[0]):
        moves = variable_i[v, layout.VARIABLE_MOVES]
        if moves == layout.IDLE or variable_i[v, layout.VARIABLE_KIND] > layout.LINEAR:
            continue
        if math.isfinite(lower[v]) and math.isfinite(upper[v]):
            continue
        if moves != layout.TURNS:
            return v
    return -1
