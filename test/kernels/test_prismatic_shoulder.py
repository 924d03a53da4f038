"""Candidates of chains with slides: every posture that a pose is made from is among them, whatever the order of joints."""

from hypothesis import given, strategies as st
import numpy as np
import pytest

from ssik_ros.kernels.closed_form.classes import (
    orientation_first,
    prismatic_shoulder,
    slide_lengths,
)
from ssik_ros.kernels.geometry.subproblems.outcomes import EXACT, FREE

SHOULDERS = {'PRR': 1, 'RPR': 2, 'PPR': 3, 'RRP': 4, 'PRP': 5, 'RPP': 6}
SIX_OF_THREE_TURNS = [(0b000111, 6), (0b111000, 6), (0b101010, 6), (0b010101, 6), (0b110001, 6)]
FEWER = [(0b11100, 5), (0b00011, 5), (0b0111, 4), (0b1000, 4), (7, 3), (2, 3), (3, 2), (1, 1)]
TURNS_FIRST = SIX_OF_THREE_TURNS + FEWER
"""Slides as bits, and the number of joints: three joints turn at most."""
FOUND = 1e-6
NEWTON_REACHES = 1e-2
"""Largest distance from a solution at which the certification converges."""
SEEDS = st.integers(0, 2**32 - 1)


def unit(rng):
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def rotation(k, t):
    """Return R(k, t) by the exponential series of its generator, not by the package's formula."""
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(t) * K + (1 - np.cos(t)) * K @ K


def product(axes, points, slides, q):
    """Return E_1 ... E_n (4, 4)."""
    pose = np.eye(4)
    for i, value in enumerate(q):
        step = np.eye(4)
        if slides >> i & 1:
            step[:3, 3] = value * axes[i]
        else:
            step[:3, :3] = rotation(axes[i], value)
            step[:3, 3] = points[i] - step[:3, :3] @ points[i]
        pose = pose @ step
    return pose


def numbers(pose):
    return np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])


def random_chain(rng):
    """Return six axes of which the last three meet."""
    axes = np.array([unit(rng) for _ in range(6)])
    points = np.cumsum(rng.uniform(-0.6, 0.6, (6, 3)), axis=0)
    points[4:] = points[3]
    return axes, points


def random_posture(rng, slides, n):
    is_slide = np.array([slides >> i & 1 for i in range(n)], dtype=bool)
    return np.where(is_slide, rng.uniform(-1.0, 1.0, n), rng.uniform(-np.pi, np.pi, n))


def distance(candidates, q, slides):
    """Return the distance of a posture to the nearest of the solutions (k, n)."""
    gaps = np.abs(np.exp(1j * candidates) - np.exp(1j * q))
    for i in range(len(q)):
        if slides >> i & 1:
            gaps[:, i] = np.abs(candidates[:, i] - q[i])
    return gaps.max(axis=1, initial=0.0).min(initial=np.inf)


def shoulder_candidates(axes, points, slides, n, w, g):
    out = np.full((8, n), np.nan)
    count, _ = prismatic_shoulder.solve(
        out,
        axes[:n].ravel().copy(),
        points[:n].ravel().copy(),
        slides,
        n,
        w.copy(),
        numbers(g),
        0.0,
        np.empty(prismatic_shoulder.SCRATCH),
    )
    return out[:count]


def orientation_candidates(axes, points, slides, n, g):
    out = np.full((2, n), np.nan)
    count, _ = orientation_first.solve(
        out,
        axes[:n].ravel().copy(),
        points[:n].ravel().copy(),
        slides,
        n,
        numbers(g),
        0.0,
        np.empty(orientation_first.SCRATCH),
    )
    return out[:count]


@pytest.mark.sampled
@pytest.mark.parametrize('n', [6, 5, 4, 3])
@pytest.mark.parametrize('order', SHOULDERS)
@given(seed=SEEDS)
def test_a_shoulder_with_slides_finds_its_posture_again(order, n, seed):
    rng = np.random.default_rng(seed)
    axes, points = random_chain(rng)
    slides = SHOULDERS[order]
    q = random_posture(rng, slides, n)
    g = product(axes, points, slides, q)
    candidates = shoulder_candidates(axes, points, slides, n, points[3], g)
    assert np.isfinite(candidates).all()
    assert distance(candidates, q, slides) < NEWTON_REACHES


@pytest.mark.parametrize('tilt', [0.0, 1e-12, 1e-8, 1e-5, 1.9e-4, 2.1e-4, 1e-3, 1e-2, 0.3])
@pytest.mark.parametrize('meet', [False, True], ids=['apart', 'meeting'])
def test_a_slide_nearly_across_its_axis_loses_no_posture(tilt, meet):
    rng = np.random.default_rng(5)
    apart = []
    for _ in range(150):
        axes, points = random_chain(rng)
        across = np.cross(axes[1], unit(rng))
        axes[2] = across / np.linalg.norm(across) + tilt * axes[1]
        axes[2] /= np.linalg.norm(axes[2])
        if meet:
            points[1] = points[0]
        q = random_posture(rng, 4, 6)
        g = product(axes, points, 4, q)
        candidates = shoulder_candidates(axes, points, 4, 6, points[3], g)
        apart.append(distance(candidates, q, 4))
    assert max(apart) < NEWTON_REACHES
    assert np.median(apart) < 1e-8


@pytest.mark.parametrize('order', ['PRR', 'RPR', 'RRP'])
def test_a_shoulder_out_of_reach_gives_finite_numbers_only(order):
    rng = np.random.default_rng(6)
    for _ in range(50):
        axes, points = random_chain(rng)
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = rotation(unit(rng), 1.0), rng.uniform(-9.0, 9.0, 3)
        candidates = shoulder_candidates(axes, points, SHOULDERS[order], 6, points[3], g)
        assert np.isfinite(candidates).all()


def test_a_wrist_on_the_axis_that_turns_it_is_a_candidate_too():
    rng = np.random.default_rng(7)
    for order in SHOULDERS:
        slides = SHOULDERS[order]
        axes, points = random_chain(rng)
        q = random_posture(rng, slides, 6)
        turning = [i for i in range(3) if not slides >> i & 1]
        # Move W onto the last axis that turns it: that angle is then open.
        points[3:] = points[turning[-1]]
        if turning[-1] < 2:
            q[turning[-1] + 1 : 3] = 0.0
        g = product(axes, points, slides, q)
        candidates = shoulder_candidates(axes, points, slides, 6, points[3], g)
        assert np.isfinite(candidates).all()
        errors = [
            np.abs(product(axes, points, slides, a) @ [*points[3], 1] - g @ [*points[3], 1])
            for a in candidates
        ]
        assert min(error.max() for error in errors) < 1e-6


@pytest.mark.sampled
@pytest.mark.parametrize(('slides', 'n'), TURNS_FIRST, ids='{0:b}'.format)
@given(seed=SEEDS)
def test_chains_whose_turns_make_the_orientation_find_their_posture_again(slides, n, seed):
    rng = np.random.default_rng(seed)
    axes = np.array([unit(rng) for _ in range(6)])
    points = np.cumsum(rng.uniform(-0.6, 0.6, (6, 3)), axis=0)
    q = random_posture(rng, slides, n)
    candidates = orientation_candidates(axes, points, slides, n, product(axes, points, slides, q))
    assert np.isfinite(candidates).all()
    directions = np.linalg.svd(moved_slides(axes, slides, q), compute_uv=False)
    # Where the slides nearly lie in a plane, their lengths are as inexact as the plane is thin.
    if directions.min(initial=1.0) > 1e-3:
        assert distance(candidates, q, slides) < FOUND


def moved_slides(axes, slides, q):
    """Return the directions of the slides at a posture, one in each row."""
    turn, rows = np.eye(3), []
    for i, value in enumerate(q):
        if slides >> i & 1:
            rows.append(turn @ axes[i])
        else:
            turn = turn @ rotation(axes[i], value)
    return np.array(rows).reshape(-1, 3)


@given(seed=SEEDS)
def test_lengths_are_those_of_least_squares(seed):
    rng = np.random.default_rng(seed)
    a, b, c, r = unit(rng), unit(rng), unit(rng), rng.standard_normal(3)
    outcome, *xy = slide_lengths.solve_two(tuple(a), tuple(b), tuple(r))
    expected = np.linalg.lstsq(np.stack([a, b], axis=1), r, rcond=None)[0]
    assert outcome == EXACT
    assert np.abs(xy - expected).max() < 1e-6 * (1.0 + np.abs(expected).max())
    outcome, *xyz = slide_lengths.solve_three(tuple(a), tuple(b), tuple(c), tuple(r))
    expected = np.linalg.solve(np.stack([a, b, c], axis=1), r)
    assert outcome == EXACT
    assert np.abs(xyz - expected).max() < 1e-6 * (1.0 + np.abs(expected).max()) ** 2


def test_directions_in_a_plane_are_flagged_and_still_reach_what_they_can():
    rng = np.random.default_rng(8)
    for _ in range(100):
        a, b = unit(rng), unit(rng)
        c = a + b
        three = [a, b, c / np.linalg.norm(c)]
        rng.shuffle(three)
        wanted = rng.standard_normal(3) @ np.array(three)
        outcome, *lengths = slide_lengths.solve_three(*map(tuple, three), tuple(wanted))
        assert outcome == FREE
        assert np.abs(np.array(lengths) @ np.array(three) - wanted).max() < 1e-9
        outcome, x, y = slide_lengths.solve_two(tuple(a), tuple(-a), tuple(2.0 * a))
        assert outcome == FREE
        assert x - y == pytest.approx(2.0)
    same = [tuple(a)] * 3
    outcome, *lengths = slide_lengths.solve_three(*same, tuple(3.0 * a))
    assert outcome == FREE
    assert sum(lengths) == pytest.approx(3.0)
