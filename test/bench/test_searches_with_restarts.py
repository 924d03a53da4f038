"""Code around searches without limits: whole turns, random starts, and an end."""

import math

import numpy as np
import pytest

from bench.arms import read_arm
from bench.cases import draw_cases
from bench.peers import load_peers
from bench.peers.restarts import Restarts
from bench.verify import verify


@pytest.fixture
def restarts():
    return Restarts(read_arm('gen3'), seconds=0.02)


def test_joints_are_turned_into_their_limits_by_whole_turns(restarts):
    q = np.array([1.0, 0.5, -2.0, 1.0, 0.3, -0.2, 3.0])
    np.testing.assert_allclose(restarts.inside(q), q)
    wound = q + math.tau * np.array([2, -1, 0, 1, 0, -2, 1])
    np.testing.assert_allclose(restarts.inside(wound), q, atol=1e-12)
    # Limits of two turns leave an angle within them as it is.
    wide = np.array([-1.0, 3.0, -3.0, 1.0, 6.0, -6.0])
    np.testing.assert_array_equal(Restarts(read_arm('ur5e'), 1.0).inside(wide), wide)
    assert restarts.inside(q + np.array([0.0, 2.5, 0, 0, 0, 0, 0])) is None


def test_the_seed_is_the_first_start_and_the_others_are_within_limits(restarts):
    starts = []

    def search(start):
        starts.append(start)
        return start if len(starts) == 3 else None

    seed = np.zeros(7)
    assert restarts.until_found(search, seed) is starts[2] or (starts[2] >= restarts.lower).all()
    assert starts[0] is seed and len(starts) == 3
    lower, upper = restarts.bounds
    assert all((lower <= q).all() and (q <= upper).all() for q in starts[1:])


def test_a_search_that_never_arrives_has_an_end(restarts):
    assert restarts.until_found(lambda start: None, np.zeros(7)) is None


@pytest.mark.parametrize('tolerance', ['', ' exact'])
def test_the_loop_around_pinocchio_solves(tolerance):
    name = f'pinocchio loop{tolerance}'
    arm = read_arm('gen3')
    cases = draw_cases(arm, 5)
    prepared = load_peers([name])[name].prepare(arm)
    solutions = [
        prepared.solve(prepared.convert(T), q)
        for T, q in zip(cases.targets, cases.seeds, strict=True)
    ]
    verdict = verify(arm, solutions, cases.targets, 1e-6 if tolerance else 1e-3)
    assert verdict.claimed_wrongly == 0 and verdict.solved >= 3


@pytest.mark.parametrize('name', ['TRAC-IK', 'KDL LMA'])
def test_other_peers_solve_where_they_are_installed(name):
    peer = load_peers([name])[name]
    if not peer.available():
        pytest.skip(f'{peer.module} is not installed')
    arm = read_arm('panda')
    cases = draw_cases(arm, 5)
    prepared = peer.prepare(arm)
    solutions = [
        prepared.solve(prepared.convert(T), q)
        for T, q in zip(cases.targets, cases.seeds, strict=True)
    ]
    verdict = verify(arm, solutions, cases.targets, 1e-3)
    assert verdict.claimed_wrongly == 0 and verdict.solved >= 3
