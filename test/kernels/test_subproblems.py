"""Subproblems: round trips, least-squares solutions against dense scans, outcomes, degenerate and tangent input."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from ssik_ros.kernels.geometry.subproblems import sp1, sp2, sp3, sp4, sp5, sp6, three_axes
from ssik_ros.kernels.geometry.subproblems.outcomes import EXACT, FREE, NEAREST
from ssik_ros.kernels.geometry.vectors import perpendicular

TRIPS = 200
SCALES = (1e-6, 1.0, 1e6)
X, Y, Z, ZERO = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
SCAN = np.linspace(-np.pi, np.pi, 4001)


@pytest.fixture
def rng():
    return np.random.default_rng(20250607)


def unit(rng):
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def rotation(k, t):
    """Return R(k, t) by the exponential series of its generator, not by the package's formula."""
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(t) * K + (1 - np.cos(t)) * K @ K


def turned(k, angles, p):
    """Return R(k, t) p (m, 3) for many angles (m,)."""
    k, p = np.asarray(k), np.asarray(p)
    along = k * (k @ p)
    angles = np.atleast_1d(angles)[:, None]
    return along + np.cos(angles) * (p - along) + np.sin(angles) * np.cross(k, p)


def gap(a, b):
    """Return the difference of angles modulo a turn."""
    return np.abs(np.exp(1j * np.asarray(a)) - np.exp(1j * np.asarray(b)))


def contains(angles, wanted, tolerance):
    """Return whether one of the solutions (k, m) agrees with the wanted angles (m,)."""
    angles = np.asarray(angles).reshape(-1, np.size(wanted))
    return bool((gap(angles, wanted).max(axis=1) < tolerance).any())


def call_sp1(k, p, q):
    outcome, t = sp1.solve(tuple(k), tuple(p), tuple(q))
    return outcome, [t]


def call_sp2(k1, p, k2, q):
    outcome, *angles = sp2.solve(tuple(k1), tuple(p), tuple(k2), tuple(q))
    return outcome, np.reshape(angles, (2, 2))


def call_sp3(k, p, q, distance):
    outcome, *angles = sp3.solve(tuple(k), tuple(p), tuple(q), float(distance**2))
    return outcome, angles


def call_sp4(h, k, p, d):
    outcome, *angles = sp4.solve(tuple(h), tuple(k), tuple(p), float(d))
    return outcome, angles


def call_sp5(*vectors):
    out, zeros = np.full((4, 3), np.nan), np.empty(4)
    outcome, count = sp5.solve(out, *(tuple(map(float, v)) for v in vectors), zeros)
    return outcome, out[:count]


def call_sp6(a, b, d, scale=1.0):
    out, zeros = np.full((4, 2), np.nan), np.empty(4)
    a, b, d = (tuple(np.asarray(m, dtype=float).ravel()) for m in (a, b, d))
    outcome, count = sp6.solve(out, a, b, d, float(scale), zeros)
    return outcome, out[:count]


def call_three_axes(h1, h2, h3, matrix, offered=0.0):
    out = np.full((2, 3), np.nan)
    h1, h2, h3 = map(tuple, (h1, h2, h3))
    image, aside = matrix @ h3, matrix @ np.array(perpendicular(h3))
    vectors = (tuple(image), tuple(matrix.T @ h1), tuple(aside))
    return three_axes.solve(out, 0, h1, h2, h3, *vectors, offered), out


def circle(t):
    return np.array([np.cos(t), np.sin(t)])


# Subproblem 1: R(k, t) p = q.


@pytest.mark.parametrize('size', SCALES)
def test_sp1_finds_the_generating_angle(rng, size):
    for _ in range(TRIPS):
        k, p, t = unit(rng), size * rng.standard_normal(3), rng.uniform(-np.pi, np.pi)
        q = rotation(k, t) @ p
        outcome, (angle,) = call_sp1(k, p, q)
        assert outcome == EXACT
        assert gap(angle, t) < 1e-9
        assert np.linalg.norm(rotation(k, angle) @ p - q) < 1e-9 * size


def test_sp1_is_nearest_among_all_angles_where_it_cannot_be_exact(rng):
    for _ in range(TRIPS):
        k, p, q = unit(rng), rng.standard_normal(3), rng.standard_normal(3)
        outcome, (t,) = call_sp1(k, p, q)
        best = np.linalg.norm(turned(k, SCAN, p) - q, axis=1).min()
        assert outcome == NEAREST
        assert np.linalg.norm(rotation(k, t) @ p - q) <= best + 1e-12


@pytest.mark.parametrize('tilt', [1e-3, 1e-5, 1e-7])
def test_sp1_keeps_the_angle_of_vectors_close_to_the_axis(rng, tilt):
    for _ in range(50):
        k, t = unit(rng), rng.uniform(-np.pi, np.pi)
        across = np.array(perpendicular(tuple(k)))
        p, q = (k + tilt * v for v in (across, turned(k, t, across)[0]))
        outcome, (angle,) = call_sp1(k, p, q)
        assert outcome == EXACT
        # Rounding of p and q over their distance from the axis, not over its square.
        assert gap(angle, t) < 2e-15 / tilt
        assert sp1.angle_between(tuple(k), tuple(p), tuple(q)) == angle


# Subproblem 2: R(k1, t1) p = R(k2, t2) q.


@pytest.mark.parametrize('size', SCALES)
def test_sp2_finds_the_generating_pair(rng, size):
    for _ in range(TRIPS):
        k1, k2, t = unit(rng), unit(rng), rng.uniform(-np.pi, np.pi, 2)
        p = size * rng.standard_normal(3)
        q = rotation(k2, t[1]).T @ rotation(k1, t[0]) @ p
        outcome, pairs = call_sp2(k1, p, k2, q)
        assert outcome == EXACT
        assert contains(pairs, t, 1e-6)
        for t1, t2 in pairs:
            assert np.linalg.norm(rotation(k1, t1) @ p - rotation(k2, t2) @ q) < 1e-9 * size


def test_sp2_is_nearest_among_all_pairs_where_it_cannot_be_exact(rng):
    missed = 0
    for _ in range(TRIPS):
        k1, k2, p, q = unit(rng), unit(rng), rng.standard_normal(3), rng.standard_normal(3)
        outcome, pairs = call_sp2(k1, p, k2, q)
        coarse = SCAN[::20]
        gaps = turned(k1, coarse, p)[:, None] - turned(k2, coarse, q)[None]
        best = np.linalg.norm(gaps, axis=2).min()
        missed += outcome == NEAREST
        for t1, t2 in pairs:
            assert np.linalg.norm(rotation(k1, t1) @ p - rotation(k2, t2) @ q) <= best + 1e-9
    assert missed == TRIPS


@pytest.mark.parametrize('tilt', [1e-3, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize('side', [1, 2])
def test_sp2_keeps_its_digits_where_the_vectors_meet_close_to_an_axis(rng, tilt, side):
    for _ in range(50):
        k1, k2 = unit(rng), unit(rng)
        near = k1 if side == 1 else k2
        z = near + tilt * np.cross(near, unit(rng))
        p = rotation(k1, rng.uniform(-3, 3)) @ z
        q = rotation(k2, rng.uniform(-3, 3)) @ z
        outcome, pairs = call_sp2(k1, p, k2, q)
        gaps = [np.linalg.norm(rotation(k1, a) @ p - rotation(k2, b) @ q) for a, b in pairs]
        assert outcome == EXACT
        assert max(gaps) < 1e-14


# Subproblem 3: |R(k, t) p - q| = d.


@pytest.mark.parametrize('size', SCALES)
def test_sp3_finds_the_generating_angle(rng, size):
    for _ in range(TRIPS):
        k, t = unit(rng), rng.uniform(-np.pi, np.pi)
        p, q = size * rng.standard_normal(3), size * rng.standard_normal(3)
        distance = np.linalg.norm(rotation(k, t) @ p - q)
        outcome, angles = call_sp3(k, p, q, distance)
        assert outcome == EXACT
        assert contains(angles, t, 1e-5)
        for angle in angles:
            assert abs(np.linalg.norm(rotation(k, angle) @ p - q) - distance) < 1e-9 * size


def test_sp3_comes_nearest_to_a_distance_out_of_reach(rng):
    for factor in (0.9, 1.1):
        for _ in range(TRIPS // 2):
            k, p, q = unit(rng), rng.standard_normal(3), rng.standard_normal(3)
            distances = np.linalg.norm(turned(k, SCAN, p) - q, axis=1)
            wanted = factor * (distances.min() if factor < 1 else distances.max())
            outcome, angles = call_sp3(k, p, q, wanted)
            assert outcome == NEAREST
            for t in angles:
                miss = abs(np.linalg.norm(rotation(k, t) @ p - q) - wanted)
                assert miss <= np.abs(distances - wanted).min() + 1e-9


# Subproblem 4: h . R(k, t) p = d.


@pytest.mark.parametrize('size', SCALES)
def test_sp4_finds_the_generating_angle(rng, size):
    for _ in range(TRIPS):
        k, t = unit(rng), rng.uniform(-np.pi, np.pi)
        h, p = rng.standard_normal(3), size * rng.standard_normal(3)
        d = h @ rotation(k, t) @ p
        outcome, angles = call_sp4(h, k, p, d)
        assert outcome == EXACT
        assert contains(angles, t, 1e-5)
        for angle in angles:
            assert abs(h @ rotation(k, angle) @ p - d) < 1e-9 * size


def test_sp4_comes_nearest_to_a_component_out_of_reach(rng):
    for side in (-1.0, 1.0):
        for _ in range(TRIPS // 2):
            k, h, p = unit(rng), rng.standard_normal(3), rng.standard_normal(3)
            values = turned(k, SCAN, p) @ h
            wanted = values.max() + 0.3 if side > 0 else values.min() - 0.3
            outcome, angles = call_sp4(h, k, p, wanted)
            assert outcome == NEAREST
            assert gap(*angles) < 1e-12
            assert abs(h @ rotation(k, angles[0]) @ p - wanted) <= 0.3 + 1e-5


@pytest.mark.parametrize('inside', [1e-3, 1e-6, 1e-9, 1e-12, 0.0])
def test_sp4_stays_exact_up_to_the_tangent_point(rng, inside):
    for _ in range(50):
        k, h, p = unit(rng), unit(rng), unit(rng)
        a, b, c = sp4.coefficients(tuple(h), tuple(k), tuple(p))
        d = np.hypot(a, b) * (1.0 - inside) + c
        outcome, angles = call_sp4(h, k, p, d)
        assert outcome == EXACT
        assert max(abs(h @ rotation(k, t) @ p - d) for t in angles) < 1e-14


# Subproblem 5: p0 + R(k1, t1) p1 = R(k2, t2) (p2 + R(k3, t3) p3).


def sides_of_sp5(vectors, t):
    p0, k1, p1, k2, p2, k3, p3 = vectors
    left = p0 + rotation(k1, t[0]) @ p1
    return left, rotation(k2, t[1]) @ (p2 + rotation(k3, t[2]) @ p3)


def random_sp5(rng, size=1.0):
    """Return the vectors of a problem, and angles (3,) that solve it."""
    k1, k2, k3 = (unit(rng) for _ in range(3))
    p1, p2, p3 = (size * rng.standard_normal(3) for _ in range(3))
    t = rng.uniform(-np.pi, np.pi, 3)
    p0 = rotation(k2, t[1]) @ (p2 + rotation(k3, t[2]) @ p3) - rotation(k1, t[0]) @ p1
    return (p0, k1, p1, k2, p2, k3, p3), t


@pytest.mark.parametrize('size', SCALES)
def test_sp5_finds_the_generating_triple(rng, size):
    for _ in range(TRIPS):
        vectors, t = random_sp5(rng, size)
        outcome, triples = call_sp5(*vectors)
        assert outcome == EXACT
        assert 1 <= len(triples) <= 4
        assert contains(triples, t, 1e-3)
        for triple in triples:
            left, right = sides_of_sp5(vectors, triple)
            assert np.linalg.norm(left - right) < 1e-7 * size


@pytest.mark.parametrize('parallel', ['k1', 'k3'])
def test_sp5_solves_parallel_axes_by_its_rank_one_form(rng, parallel):
    for _ in range(TRIPS):
        (p0, k1, p1, k2, p2, k3, p3), t = random_sp5(rng)
        k1, k3 = (k2 if parallel == 'k1' else k1), (-k2 if parallel == 'k3' else k3)
        p0 = rotation(k2, t[1]) @ (p2 + rotation(k3, t[2]) @ p3) - rotation(k1, t[0]) @ p1
        outcome, triples = call_sp5(p0, k1, p1, k2, p2, k3, p3)
        # NEAREST where the second height is out of reach: one outcome speaks for all triples.
        assert outcome in (EXACT, NEAREST)
        assert contains(triples, t, 1e-5)


def test_sp5_says_free_where_all_axes_are_parallel(rng):
    # One equation is left for two angles.
    for _ in range(50):
        (p0, k, p1, _, p2, _, p3), t = random_sp5(rng)
        p0 = rotation(k, t[1]) @ (p2 + rotation(k, t[2]) @ p3) - rotation(k, t[0]) @ p1
        outcome, triples = call_sp5(p0, k, p1, k, p2, k, p3)
        assert outcome != EXACT
        assert np.isfinite(triples).all()


# Subproblem 6: A u1 + B u2 = d.


def test_sp6_finds_the_generating_pair(rng):
    for _ in range(TRIPS):
        a, b = rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
        t = rng.uniform(-np.pi, np.pi, 2)
        d = a @ circle(t[0]) + b @ circle(t[1])
        outcome, pairs = call_sp6(a, b, d)
        assert outcome == EXACT
        assert 2 <= len(pairs) <= 4
        assert contains(pairs, t, 1e-3)
        for t1, t2 in pairs:
            assert np.abs(a @ circle(t1) + b @ circle(t2) - d).max() < 1e-8


def test_sp6_has_as_many_pairs_as_a_dense_scan_shows(rng):
    for _ in range(TRIPS):
        a, b = rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
        d = a @ circle(rng.uniform(-3, 3)) + b @ circle(rng.uniform(-3, 3))
        rest = np.linalg.solve(b, d[:, None] - a @ circle(SCAN))
        f = np.sum(rest**2, axis=0) - 1.0
        crossings = np.count_nonzero(np.diff(np.sign(f)))
        outcome, pairs = call_sp6(a, b, d)
        distinct = len({tuple(np.round(np.exp(1j * pair), 3)) for pair in pairs})
        assert outcome == EXACT
        assert distinct >= crossings


@pytest.mark.parametrize('which', ['a', 'b', 'both', 'a has a zero row', 'b is tiny'])
def test_sp6_solves_matrices_of_rank_one(rng, which):
    for _ in range(TRIPS):
        a, b = rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
        if which in ('a', 'both'):
            a[1] = rng.standard_normal() * a[0]
        if which in ('b', 'both'):
            b[0] = rng.standard_normal() * b[1]
        if which == 'a has a zero row':
            a[0] = 0.0
        if which == 'b is tiny':
            b[1] = 3.0 * b[0]
            b *= 1e-3
        t = rng.uniform(-np.pi, np.pi, 2)
        d = a @ circle(t[0]) + b @ circle(t[1])
        _, pairs = call_sp6(a, b, d)
        assert contains(pairs, t, 1e-4)
        assert len(pairs) <= 4


def test_sp6_says_nearest_where_no_pair_is_left(rng):
    for _ in range(TRIPS):
        a, b = rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
        outcome, pairs = call_sp6(a, b, [50.0, 60.0])
        assert outcome == NEAREST
        assert len(pairs) == 0


def test_sp6_says_nearest_for_pairs_that_miss(rng):
    # u1 + 2 u2 = d has solutions up to |d| = 3; a little beyond, the double zero has left the real axis.
    outcome, pairs = call_sp6(np.eye(2), 2 * np.eye(2), [3.0 + 1e-7, 0.0])
    assert outcome == NEAREST
    assert contains(pairs, [0.0, 0.0], 1e-2)


# A rotation as a product about three axes.


def product(h1, h2, h3, t):
    return rotation(h1, t[0]) @ rotation(h2, t[1]) @ rotation(h3, t[2])


def test_three_axes_find_the_generating_triple(rng):
    for _ in range(TRIPS):
        axes, t = [unit(rng) for _ in range(3)], rng.uniform(-np.pi, np.pi, 3)
        matrix = product(*axes, t)
        outcome, triples = call_three_axes(*axes, matrix)
        assert outcome == EXACT
        assert contains(triples, t, 1e-6)
        for triple in triples:
            assert np.abs(product(*axes, triple) - matrix).max() < 1e-9


@pytest.mark.parametrize('tilt', [1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 3e-10, 0.0])
@pytest.mark.parametrize('home', [0.0, np.pi])
def test_three_axes_keep_their_digits_where_the_outer_ones_nearly_line_up(rng, tilt, home):
    for _ in range(50):
        h1, h2 = unit(rng), unit(rng)
        h3 = rotation(h2, -home) @ h1
        t = np.array([rng.uniform(-3, 3), home + tilt, rng.uniform(-3, 3)])
        matrix = product(h1, h2, h3, t)
        _, triples = call_three_axes(h1, h2, h3, matrix)
        assert max(np.abs(product(h1, h2, h3, s) - matrix).max() for s in triples) < 3e-11


def test_three_axes_give_a_free_angle_the_offered_value(rng):
    for _ in range(50):
        h, across = np.array(X), np.array(Y)
        t = rng.uniform(-np.pi, np.pi, 2)
        matrix = product(h, across, h, [t[0], 0.0, 0.0])
        outcome, triples = call_three_axes(h, across, h, matrix, offered=t[1])
        assert outcome == FREE
        assert (triples[:, 2] == t[1]).all()
        assert max(np.abs(product(h, across, h, s) - matrix).max() for s in triples) < 1e-14


def test_three_axes_say_nearest_for_a_rotation_they_cannot_make(rng):
    tilted = np.array([0.0, np.sin(0.2), np.cos(0.2)])
    matrix = rotation(np.array(X), 2.5)
    outcome, triples = call_three_axes(Z, tilted, Z, matrix)
    reach = turned(tilted, SCAN, Z) @ np.array(Z)
    assert outcome == NEAREST
    assert np.isfinite(triples).all()
    made = [product(np.array(Z), tilted, np.array(Z), t)[2, 2] for t in triples]
    assert made == pytest.approx([reach.min()] * 2, abs=1e-6)


# Degenerate input never raises, never gives NaN, and is said to be degenerate.


@pytest.mark.parametrize(
    ('outcome', 'solved'),
    [
        (FREE, lambda: call_sp1(Z, Z, Z)),
        (FREE, lambda: call_sp1(Z, ZERO, ZERO)),
        (NEAREST, lambda: call_sp1(Z, Z, X)),
        (NEAREST, lambda: call_sp1(Z, ZERO, X)),
        (FREE, lambda: call_sp2(Z, X, Z, Y)),
        (FREE, lambda: call_sp2(Z, ZERO, X, ZERO)),
        (NEAREST, lambda: call_sp2(Z, ZERO, X, Y)),
        (FREE, lambda: call_sp2(Z, Z, X, Z)),
        (NEAREST, lambda: call_sp2(Z, Z, X, X)),
        (FREE, lambda: call_sp3(Z, Z, X, np.sqrt(2))),
        (FREE, lambda: call_sp3(Z, X, Z, np.sqrt(2))),
        (FREE, lambda: call_sp3(Z, ZERO, ZERO, 0.0)),
        (NEAREST, lambda: call_sp3(Z, Z, X, 5.0)),
        (FREE, lambda: call_sp4(X, Z, Z, 0.0)),
        (FREE, lambda: call_sp4(Z, Z, X, 0.0)),
        (FREE, lambda: call_sp4(ZERO, Z, ZERO, 0.0)),
        (NEAREST, lambda: call_sp4(X, Z, Z, 1.0)),
        (NEAREST, lambda: call_sp4(ZERO, Z, ZERO, 1.0)),
        (FREE, lambda: call_sp6(np.zeros((2, 2)), np.zeros((2, 2)), [0.0, 0.0])),
        (NEAREST, lambda: call_sp6(np.zeros((2, 2)), np.zeros((2, 2)), [1.0, 0.0])),
        (FREE, lambda: call_sp6(np.ones((2, 2)), np.ones((2, 2)), [1.0, 1.0])),
    ],
)
def test_degenerate_input_gets_its_outcome_and_finite_angles(outcome, solved):
    said, angles = solved()
    assert said == outcome
    assert np.isfinite(angles).all()


@pytest.mark.parametrize('zeros', range(1, 16))
def test_sp5_survives_zero_vectors_and_parallel_axes(rng, zeros):
    points = [ZERO if zeros >> i & 1 else rng.standard_normal(3) for i in range(4)]
    for axes in ((X, Y, Z), (Z, Z, Z), (X, X, Z), (X, Z, Z), (Z, X, Z)):
        p0, p1, p2, p3 = points
        outcome, triples = call_sp5(p0, axes[0], p1, axes[1], p2, axes[2], p3)
        assert outcome in (EXACT, NEAREST, FREE)
        assert np.isfinite(triples).all()


numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: x if abs(x) > 1e-9 else 0.0)
"""Leaves out tiny numbers; the scale tests and the near-tangent ones cover those."""
vectors_of_numbers = st.tuples(numbers, numbers, numbers)
angles_of_axes = st.tuples(st.floats(0, np.pi), st.floats(-np.pi, np.pi))


def axis_at(angles):
    polar, azimuth = angles
    x, y = np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth)
    return np.array([x, y, np.cos(polar)])


@given(angles_of_axes, vectors_of_numbers, vectors_of_numbers, numbers)
def test_exact_means_that_the_equations_of_one_angle_hold(axis, p, q, d):
    k, p, q = axis_at(axis), np.array(p), np.array(q)
    size = p @ p + q @ q + d * d
    outcome, angles = call_sp1(k, p, q)
    assert np.isfinite(angles).all()
    if outcome == EXACT:
        assert np.linalg.norm(rotation(k, angles[0]) @ p - q) <= 1e-8 * np.sqrt(size)
    outcome, angles = call_sp4(q, k, p, d)
    assert np.isfinite(angles).all()
    if outcome != NEAREST:
        assert all(abs(q @ rotation(k, t) @ p - d) <= 1e-8 * (size + abs(d)) for t in angles)


@given(angles_of_axes, vectors_of_numbers, angles_of_axes, vectors_of_numbers)
def test_exact_means_that_the_equation_of_two_angles_holds(first, p, second, q):
    k1, k2, p, q = axis_at(first), axis_at(second), np.array(p), np.array(q)
    if np.linalg.norm(q) > 0:
        q *= np.linalg.norm(p) / np.linalg.norm(q)
    outcome, pairs = call_sp2(k1, p, k2, q)
    assert np.isfinite(pairs).all()
    if outcome == EXACT and np.linalg.norm(np.cross(k1, k2)) > 1e-3:
        for t1, t2 in pairs:
            miss = np.linalg.norm(rotation(k1, t1) @ p - rotation(k2, t2) @ q)
            assert miss <= 1e-4 * np.linalg.norm(p)
