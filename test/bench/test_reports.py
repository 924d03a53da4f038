"""The reports on deadlines and distances: the oracle that they use, and a run of each."""

import json
import math

import numpy as np
import pytest

from bench import branches, deadline, nearest, pinning
from bench.arms import read_arm
from bench.cases import draw_cases


@pytest.fixture(autouse=True)
def unpinned(monkeypatch):
    """Leave the process of the tests on all its cores."""
    monkeypatch.setattr(pinning, 'pin', lambda cpu: cpu)


@pytest.fixture(scope='module')
def fanuc():
    return read_arm('fanuc')


def test_every_branch_found_reaches_its_pose(fanuc):
    cases = draw_cases(fanuc, 3)
    found = branches.find_branches(fanuc, cases.targets, np.random.default_rng(0))
    for known, q, target in zip(found, cases.q, cases.targets, strict=True):
        np.testing.assert_allclose(
            fanuc.fk(np.array(known)), np.tile(target, (len(known), 1, 1)), atol=1e-8
        )
        # The wrist turned over is another branch, and the known configuration is one.
        assert len(known) >= 2 and len(known) % 2 == 0
        assert not branches.add_new(known, branches.wrap(q)[None])


def test_the_nearest_of_all_turns_is_chosen(fanuc):
    seed = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 6.0])
    q = np.array([0.1, 0.2, -0.3, 0.4, 0.5, -1.0])
    turned = branches.nearest_winding(fanuc, q, seed)
    np.testing.assert_allclose(turned, [0.1, 0.2, -0.3, 0.4, 0.5, math.tau - 1.0])
    assert branches.nearest_winding(fanuc, q - 2.0 * np.eye(6)[1], seed) is None


def test_the_oracle_is_no_farther_than_the_known_solution(fanuc, tmp_path):
    cases = draw_cases(fanuc, 3)
    path = tmp_path / 'branches.npz'
    found = branches.load_nearest(path, fanuc, cases)
    known = np.linalg.norm(cases.q - cases.seeds, axis=1)
    assert (found.distance <= known).all()
    assert (found.q >= fanuc.lower).all() and (found.q <= fanuc.upper).all()
    again = branches.load_nearest(path, fanuc, cases)
    assert np.array_equal(again.q, found.q) and again.complete == found.complete


def test_distances_of_continuous_joints_are_modulo_a_turn():
    gen3 = read_arm('gen3')
    seed = np.zeros((2, 7))
    answer = np.array([math.tau + 0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(
        nearest.distances(gen3, [answer, None], seed), [0.5, np.nan], atol=1e-12
    )


def test_distances_are_reported(tmp_path, capsys):
    nearest.main(f'--arms fanuc panda --samples 3 --output {tmp_path}'.split())
    rows = json.loads((tmp_path / 'nearest.json').read_text())['rows']
    assert [row['arm'] for row in rows] == ['fanuc', 'panda']
    assert all(row['success'] == 100.0 for row in rows)
    assert 'nearest branch' in capsys.readouterr().out


def test_overruns_are_reported(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(deadline, 'TIMEOUTS_MS', (1.0,))
    deadline.main(f'--arms ur5e --samples 5 --output {tmp_path}'.split())
    (row,) = json.loads((tmp_path / 'deadline.json').read_text())['rows']
    assert (row['calls'], row['clock_ended']) == (5, 5)
    assert 0.0 < row['iteration_us'] < 1000.0
    assert 'ur5e' in capsys.readouterr().out
