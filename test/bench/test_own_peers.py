"""Our solvers take part in the comparison, and their solutions hold at the tolerance of each class."""

import numpy as np
import pytest

from bench.arms import read_arm
from bench.cases import draw_cases
from bench.classes import AT_MICRO, AT_MILLI, CLASSES
from bench.peers import load_peers
from bench.verify import verify


def test_every_class_of_one_solution_is_for_one_of_the_two_tolerances():
    assert sorted(AT_MILLI + AT_MICRO) == sorted(CLASSES)


@pytest.mark.parametrize(
    ('name', 'spread'),
    [
        ('Auto', None),
        ('Auto exact', None),
        ('Auto exact', 0.05),
        ('LevenbergMarquardt exact', None),
        ('Analytic exact', None),
        ('PoseIK', None),
    ],
)
def test_its_solutions_are_within_the_tolerance_of_its_classes(name, spread):
    arm = read_arm('gen3')
    cases = draw_cases(arm, 20, spread)
    peer = load_peers([name])[name]
    prepared = peer.prepare(arm)
    solutions = [prepared.solve(T, q) for T, q in zip(cases.targets, cases.seeds, strict=True)]
    verdict = verify(arm, solutions, cases.targets, CLASSES[peer.classes[0]].tolerance)
    assert (verdict.success, verdict.claimed_wrongly) == (100.0, 0)
    assert np.isfinite(verdict.worst_position)
    assert peer.is_own
