"""Solutions within limits, each branch by one representative, best first."""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.closed_form.certification.chain import is_slide
from ssik_ros.kernels.geometry import so3

TWO_PI = 2.0 * math.pi
TURNS = 1.0 / TWO_PI
"""Turns of an angle [1/rad]: a product costs less than a division where the next step is a whole number."""
NEAR_LIMIT = 1e-9
"""A value this little outside a limit [rad or m] is put on the limit."""
BESIDE_LIMIT = 1e-6
"""A value this little outside may belong on it: at a fold a solution is known to the square root of rounding only."""
FARTHEST_WISH = 1e6
"""How far from zero joints without limits may be asked for [rad]: much farther out a turn is lost in rounding."""

KEEP_ALL = 0
WITHIN_LIMITS = 1
WRAP_ONLY = 2

SUM_OF_SQUARES = 0
LARGEST = 1


@inline_kernel
def nearest_winding(value, wish):
    """Return the angle modulo a turn that is nearest to a wish; of two equally near ones the larger."""
    return value + TWO_PI * math.floor((wish - value) * TURNS + 0.5)


@inline_kernel
def sensible_wish(wish, lower, upper):
    """
    Return a wish brought to within a turn of the limits: the same turn is nearest to it, and no digits are lost on the way.

    :param wish: angle [rad], finite.
    :param lower, upper: limits, infinite for none.
    """
    least, most = max(lower - TWO_PI, -FARTHEST_WISH), min(upper + TWO_PI, FARTHEST_WISH)
    return min(max(wish, least), most)


@inline_kernel
def place_in_limits(value, lower, upper, wish):
    """
    Return an angle modulo a turn inside closed limits, the one nearest to a wish; NaN where there is none.

    :param value: the angle [rad].
    :param lower, upper: limits, infinite for none.
    :param wish: where it should rather be.
    """
    return _place_beside_limits(value, lower, upper, wish, NEAR_LIMIT)


@inline_kernel
def _place_beside_limits(value, lower, upper, wish, near):
    """Return what :func:`place_in_limits` does; what is up to ``near`` outside is put on the limit."""
    best = nearest_winding(value, sensible_wish(wish, lower, upper))
    # What rounding has put just outside belongs to the limit, not to another turn.
    if best > upper + near:
        best -= TWO_PI * math.ceil((best - upper - near) * TURNS)
    elif best < lower - near:
        best += TWO_PI * math.ceil((lower - near - best) * TURNS)
    if lower - near <= best <= upper + near:
        return min(max(best, lower), upper)
    return math.nan


@inline_kernel
def _wrap(value, slides):
    """Return an angle in (-pi, pi], or the value of a joint that slides."""
    return value if slides else so3.wrap_to_pi(value)


@kernel
def place(q, n, slides, lower, upper, wishes, mode):
    """
    Choose the representative of one solution, in place; return whether it is wanted.

    :param q: (n,) the solution.
    :param slides: which joints are prismatic, and stay as they are.
    :param lower, upper: (n,) limits.
    :param wishes: (n,) where joints should rather be.
    :param mode: KEEP_ALL, WITHIN_LIMITS, or WRAP_ONLY, which wraps what it can and keeps everything.
    """
    return place_beside(q, n, slides, lower, upper, wishes, mode, NEAR_LIMIT)


@kernel
def place_beside(q, n, slides, lower, upper, wishes, mode, near):
    """
    Choose a representative as :func:`place`; values up to ``near`` outside their limits are put on them.

    :param q, n, slides, lower, upper, wishes, mode: as there.
    """
    if mode == KEEP_ALL:
        for i in range(n):
            q[i] = _wrap(q[i], is_slide(slides, i))
        return True
    for i in range(n):
        if is_slide(slides, i):
            inside = lower[i] - near <= q[i] <= upper[i] + near
            value = min(max(q[i], lower[i]), upper[i]) if inside else math.nan
        else:
            value = _place_beside_limits(so3.wrap_to_pi(q[i]), lower[i], upper[i], wishes[i], near)
        if value == value:
            q[i] = value
        elif mode == WITHIN_LIMITS:
            return False
        else:
            q[i] = _wrap(q[i], is_slide(slides, i))
    return True


@kernel
def distance(q, seed, n, slides, lower, upper, metric):
    """
    Return how far a solution is from the seed; joints that turn without any limit are compared modulo a turn.

    :param q, seed: (n,).
    :param slides: which joints are prismatic.
    :param lower, upper: (n,) limits, infinite for none.
    :param metric: SUM_OF_SQUARES, or LARGEST.
    """
    total = 0.0
    for i in range(n):
        d = q[i] - seed[i]
        if math.isinf(lower[i]) and math.isinf(upper[i]) and not is_slide(slides, i):
            d = so3.wrap_to_pi(d)
        if metric == LARGEST:
            total = max(total, abs(d))
        else:
            total += d * d
    return total


@kernel
def order(keys, indices, count):
    """
    Write the indices of keys in ascending order; equal keys keep their order.

    :param keys: (count or more,) numbers.
    :param indices: (count or more,) out.
    :param count: how many.
    """
    for i in range(count):
        key, j = keys[i], i
        while j > 0 and keys[indices[j - 1]] > key:
            indices[j] = indices[j - 1]
            j -= 1
        indices[j] = i
