"""
Zeros of trigonometric polynomials of degree two.

Problem
-------
f(t) = a0 + a1 cos t + b1 sin t + a2 cos 2t + b2 sin 2t = 0, t in (-pi, pi].

Solutions
---------
None, two or four, counted with multiplicity, unless f vanishes everywhere. If rounding has moved a double zero slightly
off the real axis, its nearest angle is returned twice. Such an angle satisfies the equation only nearly, so the caller
has to check all of them.

Method
------
1. Move the origin so that the largest of eight samples of |f| lies at pi: with x = tan(t / 2) the leading coefficient
   c4 = f(pi) of the quartic is then of the size of f.
2. Depress the quartic, x = y - c3 / (4 c4), and split it into two quadratics by a positive root of its resolvent.
3. Take the real roots, and the real part of complex pairs nearly on the real axis.
4. Apply up to three Newton steps to f itself, as long as they reduce |f|.

Degeneracies
------------
If all coefficients are zero, no zeros are returned. Double zeros are accurate to the square root of rounding.

Cost
----
Sines and cosines of the nine angles of step 1 and of each Newton step, one cube root or arc cosine, up to five square
roots, and four arc tangents.

References
----------
[Elias2025] for the equations that lead here.
"""

import math

from ssik_ros.kernels._jit import inline_kernel, kernel
from ssik_ros.kernels.geometry import so3

NEARLY_REAL = 1e-3
"""Largest imaginary part of a complex pair that counts as a double zero, relative to 1 + x^2."""
NEARLY_EVEN = 1e-6
"""Largest root of the resolvent, relative to p, with which y^4 + p y^2 + q y + r counts as even."""
POLISH = 3
"""Number of Newton steps on f."""


@inline_kernel
def _value(a0, a1, b1, a2, b2, c, s):
    """Return f(t) = a0 + a1 cos t + b1 sin t + a2 cos 2t + b2 sin 2t, with c = cos t and s = sin t."""
    return a0 + a1 * c + b1 * s + a2 * (c * c - s * s) + 2.0 * b2 * s * c


@inline_kernel
def _slope(a1, b1, a2, b2, c, s):
    """
    Return the derivative f'(t) of the polynomial f of :func:`_value`, with c = cos t and s = sin t.

    :param a1, b1, a2, b2: coefficients of f.
    """
    return b1 * c - a1 * s + 2.0 * (b2 * (c * c - s * s) - 2.0 * a2 * s * c)


@kernel
def _polish(a0, a1, b1, a2, b2, t):
    """
    Return the estimate ``t`` of a zero of f, improved by at most POLISH Newton steps [rad].

    It stops early at a slope of 0, at a step of 0.1 rad or more, and at a step that does not reduce |f|. The step that
    stops it is not made, so ``t`` itself may be returned.

    :param a0, a1, b1, a2, b2: coefficients of f, see :func:`_value`.
    :param t: first estimate [rad].
    """
    c, s = math.cos(t), math.sin(t)
    f = _value(a0, a1, b1, a2, b2, c, s)
    for _ in range(POLISH):
        slope = _slope(a1, b1, a2, b2, c, s)
        if slope == 0.0 or f == 0.0:
            break
        step = f / slope
        if not abs(step) < 0.1:
            break
        c, s = math.cos(t - step), math.sin(t - step)
        better = _value(a0, a1, b1, a2, b2, c, s)
        if not abs(better) < abs(f):
            break
        t, f = t - step, better
    return t


@kernel
def _resolvent_root(p, q, r):
    """
    Return the largest root m of m^3 + p m^2 + (p^2 / 4 - r) m - q^2 / 8 = 0, or 0 if rounding makes it negative.

    With m, the quartic y^4 + p y^2 + q y + r splits into two quadratics.

    :param p, q, r: coefficients of the quartic.
    """
    b, c, d = p, 0.25 * p * p - r, -0.125 * q * q
    # Depressed: z^3 + u z + v with m = z - b / 3.
    u = c - b * b / 3.0
    v = (2.0 * b * b / 27.0 - c / 3.0) * b + d
    half = 0.5 * v
    discriminant = half * half + u * u * u / 27.0
    if discriminant > 0.0:
        root = math.sqrt(discriminant)
        # The two cube roots multiply to -u / 3: the larger one has no cancellation.
        cube = -half - root if half > 0.0 else -half + root
        big = math.copysign(abs(cube) ** (1.0 / 3.0), cube)
        z = big - u / (3.0 * big) if big != 0.0 else 0.0
    else:
        radius = math.sqrt(max(0.0, -u / 3.0))
        cosine = -half / (radius * radius * radius) if radius > 0.0 else 1.0
        z = 2.0 * radius * math.cos(math.acos(min(1.0, max(-1.0, cosine))) / 3.0)
    m = z - b / 3.0
    value = ((m + b) * m + c) * m + d
    for _ in range(2):
        slope = (3.0 * m + 2.0 * b) * m + c
        if not slope > 0.0:
            break
        # A double zero of f makes this a double root, where the slope is rounding: no step that does not gain.
        closer = m - value / slope
        rest = ((closer + b) * closer + c) * closer + d
        if not abs(rest) < abs(value):
            break
        m, value = closer, rest
    return max(m, 0.0)


@inline_kernel
def _quadratic(out, count, shift, linear, constant):
    """
    Append the two roots of y^2 + linear y + constant, plus ``shift``, to ``out``; return the new count.

    If the roots are complex and nearly real, their real part is appended twice. If they are complex and not nearly
    real, nothing is appended.

    :param out: (4,) roots.
    :param count: number of roots in ``out`` before the call.
    :param shift: number that is added to each root.
    :param linear, constant: coefficients of the quadratic.
    """
    half = 0.5 * linear
    discriminant = half * half - constant
    if discriminant >= 0.0:
        far = -half - math.sqrt(discriminant) if half >= 0.0 else -half + math.sqrt(discriminant)
        near = constant / far if far != 0.0 else 0.0
        out[count], out[count + 1] = far + shift, near + shift
        return count + 2
    middle = shift - half
    if math.sqrt(-discriminant) <= NEARLY_REAL * (1.0 + middle * middle):
        out[count] = out[count + 1] = middle
        return count + 2
    return count


@kernel
def trigonometric_zeros(out, a0, a1, b1, a2, b2):
    """
    Write the zeros of a0 + a1 cos t + b1 sin t + a2 cos 2t + b2 sin 2t; return their number: 0, 2 or 4.

    The number is 0 if all coefficients are zero, too. The zeros have no order. A pair of complex zeros close to the
    real axis counts as a double zero.

    :param out: (4,) zeros in (-pi, pi] [rad]; a double zero appears twice.
    :param a0, a1, b1, a2, b2: coefficients.
    """
    # Step 1.
    origin, largest = 0.0, -1.0
    for i in range(8):
        t = 0.25 * math.pi * i
        size = abs(_value(a0, a1, b1, a2, b2, math.cos(t), math.sin(t)))
        if size > largest:
            largest, origin = size, t - math.pi
    if not largest > 0.0:
        return 0
    c, s = math.cos(origin), math.sin(origin)
    c2, s2 = c * c - s * s, 2.0 * s * c
    d1, e1 = a1 * c + b1 * s, b1 * c - a1 * s
    d2, e2 = a2 * c2 + b2 * s2, b2 * c2 - a2 * s2
    lead = a0 - d1 + d2
    k3 = 2.0 * (e1 - 2.0 * e2) / lead
    k2 = (2.0 * a0 - 6.0 * d2) / lead
    k1 = 2.0 * (e1 + 2.0 * e2) / lead
    k0 = (a0 + d1 + d2) / lead
    # Step 2.
    shift = -0.25 * k3
    p = k2 - 0.375 * k3 * k3
    q = k1 - 0.5 * k2 * k3 + 0.125 * k3 * k3 * k3
    r = k0 - 0.25 * k1 * k3 + 0.0625 * k2 * k3 * k3 - 3.0 / 256.0 * k3 * k3 * k3 * k3
    m = _resolvent_root(p, q, r)
    # Step 3.
    w, half = math.sqrt(2.0 * m), 0.5 * p + m
    if m > NEARLY_EVEN * abs(p):
        apart = 0.5 * q / w
    else:
        # q / w would be a quotient of roundings.
        apart = math.copysign(math.sqrt(max(0.0, half * half - r)), q)
    count = _quadratic(out, 0, shift, -w, half + apart)
    count = _quadratic(out, count, shift, w, half - apart)
    # Step 4.
    for i in range(count):
        t = _polish(a0, a1, b1, a2, b2, 2.0 * math.atan(out[i]) + origin)
        out[i] = so3.wrap_to_pi(t)
    return count
