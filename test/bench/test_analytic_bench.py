"""The comparison of all branches: the same arm in other frames, the verdict on sets, and that it runs and writes."""

import json

import numpy as np
import pytest

from bench import analytic, goals, pinning
from bench.alignment import align
from bench.branch_sets import judge
from bench.cases import Cases, draw_cases
from bench.catalogue_arms import ARMS, make_arm
from bench.measure import Measurement
from bench.peers import load_peers, NotComparable, Peer, Prepared

TURN = 2.0 * np.pi


@pytest.fixture
def irb(tmp_path):
    return make_arm('irb6700', tmp_path)


def rigid(generator):
    pose = np.eye(4)
    pose[:3, :3] = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    pose[:3, :3] *= np.linalg.det(pose[:3, :3])
    pose[:3, 3] = generator.normal(size=3)
    return pose


def test_other_frames_are_the_same_arm(irb):
    generator = np.random.default_rng(3)
    base, tool = rigid(generator), rigid(generator)
    q = generator.uniform(-1.0, 1.0, (10, 6))
    ours = irb.fk(q)
    fit = align(ours, np.linalg.inv(base) @ ours @ np.linalg.inv(tool))
    assert fit.difference < 1e-12
    np.testing.assert_allclose(fit.base, base, atol=1e-12)
    np.testing.assert_allclose(fit.to_theirs(base @ tool), np.eye(4), atol=1e-12)


def test_another_arm_is_told_apart(irb, tmp_path):
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (10, 6))
    longer = q.copy()
    longer[:, 3] += 1e-4 * q[:, 2]
    assert align(irb.fk(q), irb.fk(longer)).difference > 1e-5
    assert align(irb.fk(q), make_arm('puma560', tmp_path).fk(q)).difference > 1e-2


def test_only_different_branches_that_hold_count(irb):
    cases = draw_cases(irb, 2)
    q = cases.q[0]
    turned = q + TURN * np.eye(6)[5]
    branches = [np.array([q, turned, q + 0.1]), np.empty((0, 6))]
    sets = judge(irb, branches, cases)
    assert sets.counts == (1, 0)
    assert (sets.wrong, sets.repeated, sets.empty, sets.recovered_share) == (1, 1, 50.0, 50.0)
    beyond = int(abs(turned[5]) > irb.upper[5]) + int(
        ((q + 0.1 > irb.upper) | (q + 0.1 < irb.lower)).any()
    )
    assert sets.outside == beyond
    assert sets.worst_residual < 1e-12


def test_axes_at_zero_are_those_of_the_chain(tmp_path):
    arm = make_arm('ur5e', tmp_path)
    directions, points, tip = arm.lines()
    step = 1e-6
    np.testing.assert_allclose(tip, arm.fk(np.zeros((1, 6)))[0], atol=1e-15)
    moved = arm.fk(step * np.eye(6))
    for direction, point, pose in zip(directions, points, moved, strict=True):
        velocity = (pose[:3, 3] - tip[:3, 3]) / step
        np.testing.assert_allclose(velocity, np.cross(direction, tip[:3, 3] - point), atol=1e-5)


def test_every_arm_has_a_goal():
    assert {name.removesuffix('_of_ssik') for name in ARMS} == set(goals.ALL_BRANCHES_US)


def test_peers_say_why_they_cannot_be_compared(tmp_path):
    peers = load_peers()
    panda = make_arm('panda', tmp_path)
    pytest.importorskip('ssik', reason="ssik's modules are in .venv-bench only")
    with pytest.raises(NotComparable, match='locked'):
        peers['eaik'].prepare(panda)
    with pytest.raises(NotComparable, match='differs'):
        peers['ssik'].prepare(make_arm('puma560', tmp_path))
    with pytest.raises(NotComparable, match='no prebuilt'):
        peers['ssik'].prepare(make_arm('tm5_900', tmp_path))


def test_the_request_without_limits_is_measured_without_ours_beside_it(monkeypatch):
    asked = []

    def measure(prepared, cases, repeats):
        asked.append(set(prepared))
        spent = np.full((repeats, 2), float(len(asked)))
        return {name: Measurement(spent, spent, ((None, None),) * repeats) for name in prepared}

    monkeypatch.setattr(analytic, 'measure', measure)
    everyone = dict.fromkeys((analytic.OWN, analytic.FREE, analytic.AS_MANY, 'eaik'))
    measured = analytic.measure_apart(everyone, None, 1)
    assert asked == [{analytic.OWN, analytic.AS_MANY, 'eaik'}, {analytic.FREE, 'eaik'}]
    passes = {name: seen.cpu[:, 0].tolist() for name, seen in measured.items()}
    assert passes == {analytic.OWN: [1], analytic.AS_MANY: [1], analytic.FREE: [2], 'eaik': [1, 2]}
    assert len(measured['eaik'].solutions) == 2
    asked.clear()
    analytic.measure_apart(dict.fromkeys((analytic.OWN, 'eaik')), None, 1)
    assert asked == [{analytic.OWN, 'eaik'}]


def test_the_request_without_limits_is_for_six_joints(tmp_path):
    free = load_peers()[analytic.FREE]
    with pytest.raises(NotComparable, match='seventh'):
        free.prepare(make_arm('panda', tmp_path))
    arm = make_arm('irb6700', tmp_path)
    cases, prepared = draw_cases(arm, 3), free.prepare(arm)
    for target, q in zip(cases.targets, cases.q, strict=True):
        branches = prepared.read(prepared.solve(prepared.convert(target), None))
        assert np.abs(np.exp(1j * branches) - np.exp(1j * q)).max(axis=1).min() < 1e-6


def test_a_run_writes_what_it_prints(monkeypatch, tmp_path, capsys):
    def knows(arm):
        cases = draw_cases(arm, 3)
        return Prepared(
            lambda target, seed: cases.q[np.abs(cases.targets - target).max(axis=(1, 2)) < 1e-9],
            lambda target: target,
            lambda q: q,
        )

    def refuses(arm):
        raise NotComparable('another arm')

    everyone = (
        Peer(analytic.OWN, 'numpy', 'numpy', '', knows, (analytic.CLASS,)),
        Peer('ssik', 'numpy', 'numpy', '', knows, (analytic.CLASS,)),
        Peer('shy', 'numpy', 'numpy', '', refuses, (analytic.CLASS,)),
        Peer('absent', 'no_such_module', '', '', knows, (analytic.CLASS,)),
    )
    monkeypatch.setattr(analytic, 'load_peers', lambda: {peer.name: peer for peer in everyone})
    monkeypatch.setattr(pinning, 'pin', lambda cpu: cpu)
    options = f'--arms irb6700 --samples 3 --repeats 1 --output {tmp_path}'
    analytic.main(options.split())
    content = json.loads((tmp_path / 'analytic.json').read_text())
    assert [(r['peer'], r['note']) for r in content['rows']] == [
        (analytic.OWN, ''),
        ('ssik', ''),
        ('shy', 'another arm'),
        ('absent', 'not installed'),
    ]
    assert content['rows'][0]['sets']['counts'] == [1, 1, 1]
    assert len(content['conditions']['load_average_after']) == 3
    text = (tmp_path / 'analytic.md').read_text()
    assert 'another arm' in text and text.strip() in capsys.readouterr().out


def test_so_many_samples_are_taken_as_give_the_solutions_of_the_peer(monkeypatch, tmp_path):
    arm = make_arm('panda', tmp_path)
    cases = Cases(np.zeros((1, 7)), np.zeros((1, 7)), np.zeros((1, 4, 4)))
    monkeypatch.setattr(analytic.ssik_ros_solve_q, 'prepare', lambda arm, samples: samples)
    monkeypatch.setattr(
        analytic,
        'solution_count',
        lambda arm, cases, who: 3 * who if isinstance(who, int) else 100,
    )
    assert analytic.as_many(arm, cases, None) == 34
