"""``ssik_ros/Auto`` takes part in the comparison, and its answers hold at the tolerance of each class."""

import numpy as np
import pytest

from bench.arms import read_arm
from bench.cases import draw_cases
from bench.classes import CLASSES
from bench.peers.auto import EXACT
from bench.peers.auto import PEER
from bench.verify import verify


def test_every_class_of_one_answer_has_one_of_the_two():
    assert sorted(PEER.classes + EXACT.classes) == sorted(CLASSES)


@pytest.mark.parametrize(('peer', 'spread'), [(PEER, None), (EXACT, None), (EXACT, 0.05)])
def test_its_answers_are_within_the_tolerance_of_its_classes(peer, spread):
    arm = read_arm('gen3')
    cases = draw_cases(arm, 20, spread)
    prepared = peer.prepare(arm)
    answers = [prepared.solve(T, q) for T, q in zip(cases.targets, cases.seeds, strict=True)]
    verdict = verify(arm, answers, cases.targets, CLASSES[peer.classes[0]].tolerance)
    assert (verdict.success, verdict.claimed_wrongly) == (100.0, 0)
    assert np.isfinite(verdict.worst_norm)
