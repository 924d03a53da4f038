"""Find the maximum of a function of one number on an interval: on a grid, then by golden-section search."""

from collections.abc import Callable
import math

CANDIDATES = 3
"""Number of best places on the grid around which the maximum is refined."""
SECTION = 0.5 * (math.sqrt(5.0) - 1.0)
"""Fraction of an interval that a golden-section step keeps."""
NARROWEST_BRACKET = 1e-9
"""Width of an interval at which the refinement ends."""


def find_maximum(
    function: Callable[[float], float], length: float, spacing: float
) -> tuple[float, float]:
    """
    Return (x, f(x)) of the maximum of a function f on [0, length].

    The function is evaluated on a grid, then refined around the three best grid points. A peak narrower than the grid
    may be missed.

    :param function: function of one number; NaN counts as the worst value.
    :param length: end of the interval; 0 evaluates the function at 0 only.
    :param spacing: largest distance of neighbouring grid points.
    """
    count = max(1, math.ceil(length / spacing))
    places = [length * (i / count) for i in range(count + 1)] if length > 0.0 else [0.0]
    values = [_value(function, place) for place in places]
    order = sorted(range(len(places)), key=lambda i: -values[i])[:CANDIDATES]
    best = (places[order[0]], values[order[0]])
    for i in order:
        low, high = places[max(i - 1, 0)], places[min(i + 1, len(places) - 1)]
        peak = _golden(function, low, high)
        best = peak if peak[1] > best[1] else best
    return best


def _golden(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """
    Return (x, f(x)) of the maximum of a function f in an interval, by golden-section search.

    The function must have a single maximum there.
    """
    a, b = high - SECTION * (high - low), low + SECTION * (high - low)
    f_a, f_b = _value(function, a), _value(function, b)
    while high - low > NARROWEST_BRACKET:
        if f_a >= f_b:
            high, b, f_b = b, a, f_a
            a = high - SECTION * (high - low)
            f_a = _value(function, a)
        else:
            low, a, f_a = a, b, f_b
            b = low + SECTION * (high - low)
            f_b = _value(function, b)
    return (a, f_a) if f_a >= f_b else (b, f_b)


def _value(function: Callable[[float], float], place: float) -> float:
    """Return the value of a function at ``place``, with minus infinity in place of NaN."""
    value = float(function(place))
    return value if value == value else -math.inf
