"""Zeros of trigonometric polynomials against the eigenvalues of a companion matrix, and where they are hard to find."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from ssik_ros.kernels.geometry.polynomials import trigonometric_zeros

REAL = 1e-6
"""Distance of a root from the unit circle below which it counts as a real zero."""


def zeros_of(*coefficients):
    """Return the zeros that the kernel finds."""
    out = np.full(4, np.nan)
    return out[: trigonometric_zeros(out, *map(float, coefficients))]


def values(coefficients, t):
    """Return f at angles."""
    a0, a1, b1, a2, b2 = coefficients
    return a0 + a1 * np.cos(t) + b1 * np.sin(t) + a2 * np.cos(2 * t) + b2 * np.sin(2 * t)


def zeros_on_the_circle(coefficients):
    """Return the zeros by z = exp(i t): the roots of a quartic that lie on the unit circle."""
    a0, a1, b1, a2, b2 = coefficients
    quartic = [a2 - 1j * b2, a1 - 1j * b1, 2 * a0, a1 + 1j * b1, a2 + 1j * b2]
    roots = np.roots(quartic)
    roots = roots[np.abs(roots) > 1e-300]
    return np.angle(roots[np.abs(np.log(np.abs(roots))) < REAL])


def with_zeros(t, lead=1.0):
    """Return the coefficients of lead times the product of sin((t - t_i) / 2) over four zeros."""
    a, b = np.exp(1j * np.array(t) / 2), np.exp(-1j * np.array(t) / 2)
    # sin((t - t_i)/2) = (z^(1/2) b_i - z^(-1/2) a_i) / 2i; the product is z^-2 times a quartic in z.
    quartic = np.array([1.0 + 0j])
    for one, other in zip(a, b, strict=True):
        quartic = np.convolve(quartic, [other / 2j, -one / 2j])
    c2, c1, c0 = lead * quartic[:3]
    return np.array([c0.real, 2 * c1.real, -2 * c1.imag, 2 * c2.real, -2 * c2.imag])


def gap(a, b):
    return np.abs(np.exp(1j * np.asarray(a)) - np.exp(1j * np.asarray(b)))


def worst_gap(wanted, zeros):
    """Return how far the worst of the wanted zeros is from every one that was found."""
    return max((gap(t, zeros).min(initial=np.inf) for t in wanted), default=0.0)


def test_every_zero_on_the_circle_is_found_and_nothing_else():
    rng = np.random.default_rng(1)
    counts = set()
    for _ in range(2000):
        coefficients = rng.standard_normal(5)
        wanted, zeros = zeros_on_the_circle(coefficients), zeros_of(*coefficients)
        counts.add(len(zeros))
        assert worst_gap(wanted, zeros) < 1e-6
        assert np.abs(values(coefficients, zeros)).max(initial=0.0) < 1e-6
        assert (zeros > -np.pi).all()
        assert (zeros <= np.pi).all()
    assert counts == {0, 2, 4}


def test_simple_zeros_are_as_good_as_rounding():
    rng = np.random.default_rng(2)
    for _ in range(500):
        wanted = np.sort(rng.uniform(-np.pi, np.pi, 4))
        separations = np.diff(np.append(wanted, wanted[0] + 2 * np.pi))
        zeros = zeros_of(*with_zeros(wanted))
        assert len(zeros) == 4
        # A zero moves by the rounding of f over its slope there.
        assert worst_gap(wanted, zeros) < 1e-14 / separations.min() ** 3


@pytest.mark.parametrize('apart', [1e-2, 1e-4, 1e-6, 1e-8, 0.0])
def test_near_double_and_double_zeros_are_never_lost(apart):
    rng = np.random.default_rng(3)
    for _ in range(300):
        t = rng.uniform(-np.pi, np.pi, 3)
        if gap(t[:, None], t).sum() < 1.0:
            continue
        wanted = [t[0], t[0] + apart, t[1], t[2]]
        zeros = zeros_of(*with_zeros(wanted))
        assert len(zeros) == 4
        assert worst_gap(wanted, zeros) < 1e-3


def test_two_double_zeros_are_found():
    rng = np.random.default_rng(4)
    for _ in range(300):
        t = rng.uniform(-np.pi, np.pi, 2)
        if gap(*t) < 0.1:
            continue
        zeros = zeros_of(*with_zeros([t[0], t[0], t[1], t[1]]))
        assert worst_gap(t, zeros) < 1e-2


@pytest.mark.sampled
@pytest.mark.parametrize('others', ['none', 'even', 'any'])
@pytest.mark.parametrize('apart', [0.0, 1e-6, 1e-5, 1e-4])
def test_a_double_zero_of_few_coefficients_is_found(others, apart):
    """Arms with their axes in one plane lead to such polynomials: some coefficients vanish but for rounding."""
    rng = np.random.default_rng(7)
    for number in range(1000):
        t = 0.0 if number % 2 else np.pi / 4 * rng.integers(-4, 5)
        # cos(t') - cos(apart / 2) with t' = t - middle, times a factor of degree zero or one.
        fold = np.array([-np.cos(0.5 * apart), np.cos(t), np.sin(t)])
        factor = {'none': [1.0, 0.0, 0.0], 'even': [2.5, rng.uniform(-2, 2), 0.0]}.get(
            others, [3.0, *rng.uniform(-2, 2, 2)]
        )
        (a, b, c), (d, e, f) = fold, factor
        coefficients = np.array(
            [
                a * d + 0.5 * (b * e + c * f),
                a * e + b * d,
                a * f + c * d,
                0.5 * (b * e - c * f),
                0.5 * (b * f + c * e),
            ]
        )
        noise = 10.0 ** rng.uniform(-26.0, -16.0, 5) * rng.integers(-1, 2, 5)
        coefficients += noise * np.abs(coefficients).max()
        assert gap(t, zeros_of(*coefficients)).min(initial=np.inf) < 1e-3


def test_a_zero_at_pi_is_found():
    for others in ([0.3, 1.0, -2.0], [0.0, np.pi / 2, -np.pi / 2]):
        zeros = zeros_of(*with_zeros([np.pi, *others]))
        assert worst_gap([np.pi], zeros) < 1e-9


@pytest.mark.parametrize('name', ['first order', 'second order only', 'constant'])
def test_vanishing_leading_coefficients(name):
    rng = np.random.default_rng(5)
    for _ in range(300):
        a0, a1, b1, a2, b2 = rng.standard_normal(5)
        if name == 'first order':
            a2 = b2 = 0.0
        elif name == 'second order only':
            a1 = b1 = 0.0
        else:
            a1 = b1 = a2 = b2 = 0.0
        coefficients = (a0, a1, b1, a2, b2)
        wanted = zeros_on_the_circle(coefficients) if name != 'constant' else []
        zeros = zeros_of(*coefficients)
        assert worst_gap(wanted, zeros) < 1e-6
        assert np.abs(values(coefficients, zeros)).max(initial=0.0) < 1e-6


def test_the_zero_polynomial_has_no_zeros():
    assert len(zeros_of(0, 0, 0, 0, 0)) == 0


@pytest.mark.parametrize('scale', [1e-150, 1e-30, 1e-9, 1e9, 1e30, 1e150, -1.0])
def test_the_scale_of_the_polynomial_does_not_matter(scale):
    rng = np.random.default_rng(6)
    for _ in range(200):
        coefficients = rng.standard_normal(5)
        zeros, scaled = zeros_of(*coefficients), zeros_of(*(scale * coefficients))
        assert len(zeros) == len(scaled)
        assert worst_gap(zeros, scaled) < 1e-6


@pytest.mark.parametrize('place', range(5))
def test_not_a_number_ends_without_zeros(place):
    coefficients = np.ones(5)
    coefficients[place] = np.nan
    assert not np.isfinite(zeros_of(*coefficients)).any()


coefficient = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x if abs(x) > 1e-6 else 0.0)
"""Leaves out numbers twelve orders below the largest; zeros at pi and vanishing coefficients are tested above."""


@given(st.tuples(*[coefficient] * 5))
def test_a_change_of_sign_always_has_its_zero(coefficients):
    grid = np.linspace(-np.pi, np.pi, 257)
    f = values(coefficients, grid)
    size = np.abs(coefficients).sum()
    zeros = zeros_of(*coefficients)
    assert np.isfinite(zeros).all()
    for left, right, a, b in zip(grid, grid[1:], f, f[1:]):
        if a * b < 0 and min(abs(a), abs(b)) > 1e-9 * size:
            inside = (zeros >= left - 1e-6) & (zeros <= right + 1e-6)
            assert inside.any()
