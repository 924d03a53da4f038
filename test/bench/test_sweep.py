"""The sweep over random poses counts missing solutions."""

import dataclasses

import numpy as np
import pytest

from bench import sweep
from bench.arms import read_arm
from bench.cases import draw_cases


@pytest.mark.parametrize('seeds', sweep.SEEDS)
@pytest.mark.parametrize('name', ['ur5e', 'gen3'])
def test_every_pose_of_a_small_sweep_is_solved(name, seeds):
    row = sweep.sweep(read_arm(name), seeds, 40)
    assert (row.asked, row.verified, row.wrong) == (40, 100.0, 0)
    assert (row.nearest_asked, row.not_nearest) == (40 if name == 'ur5e' else 0, 0)
    assert row.is_complete
    assert len(sweep.cells(row)) == len(sweep.HEADER)


@pytest.mark.parametrize('missing', [{'verified': 99.99}, {'wrong': 1}, {'not_nearest': 1}])
def test_a_row_with_something_missing_is_not_complete(missing):
    row = sweep.Row('ur5e', 'anywhere', 10, 100.0, 0, 0.0, 0.0, 1, '', 10, 0)
    assert row.is_complete
    assert not dataclasses.replace(row, **missing).is_complete


def test_a_solution_at_another_winding_is_further_away_than_the_nearest():
    arm = read_arm('ur5e')
    cases = draw_cases(arm, 20)
    for q, seed in zip(cases.q, cases.seeds, strict=True):
        turned = [
            q + 2.0 * np.pi * np.eye(6)[joint] * turn for joint in range(6) for turn in (-1, 0, 1)
        ]
        inside = [t for t in turned if (t >= arm.lower).all() and (t <= arm.upper).all()]
        best = min(sweep.seed_distance(arm, t, seed) for t in inside)
        assert sweep.nearest_winding(arm, q[None], seed)[0] <= best + 1e-12
    assert sweep.nearest_winding(arm, np.full((1, 6), -3.0), np.full(6, 3.0))[0] == pytest.approx(
        np.linalg.norm([2.0 * np.pi - 6.0] * 2 + [6.0] + [2.0 * np.pi - 6.0] * 3)
    )


def test_nearest_solutions_that_are_first_ones_are_noticed(monkeypatch):
    arm = read_arm('ur5e')
    original = sweep.solver_of

    def first_found(arm, name, **parameters):
        parameters.pop('solve_mode', None)
        return original(arm, 'ssik_ros/LevenbergMarquardt', **parameters)

    monkeypatch.setattr(sweep, 'solver_of', first_found)
    assert sweep.count_further(arm, draw_cases(arm, 20))[1] > 5
