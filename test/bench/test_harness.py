"""The harness that judges all peers: its kinematics, its cases, its verdicts, its figures."""

import argparse
import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bench import report, run
from bench.arms import chain_from_xml, CHAINS, read_arm
from bench.cases import draw_cases
from bench.classes import CLASSES
from bench.clocks import measure_overhead
from bench.measure import measure, Measurement
from bench.peers import load_peers, NotComparable, Peer, Prepared
from bench.peers.roboticstoolbox import align_z
from bench.times import best_pass, Times
from bench.verify import pose_errors, verify
from ssik_ros.benchmark.harness import timed_call

SLIDER = """
<robot name="slider">
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="lift" type="prismatic">
    <origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>
    <parent link="a"/><child link="b"/><axis xyz="2 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <safety_controller soft_lower_limit="-0.5" soft_upper_limit="3" k_velocity="1"/>
  </joint>
  <joint name="turn" type="continuous">
    <parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="end" type="fixed">
    <origin xyz="0 0 0.5"/><parent link="c"/><child link="d"/>
  </joint>
</robot>
"""


@pytest.fixture
def slider():
    return chain_from_xml(ElementTree.fromstring(SLIDER), 'slider', 'a', 'd')


def echo(solutions):
    """Return a peer that gives the known solutions in turn."""
    given = iter(np.tile(solutions, (9, 1)))
    return Prepared(lambda target, seed: next(given), np.ascontiguousarray)


def test_a_chain_is_read_and_moved_by_hand_calculation(slider):
    assert (slider.lower.tolist(), slider.upper.tolist()) == ([-0.5, -np.inf], [1.0, np.inf])
    pose = slider.fk(np.array([[0.25, np.pi / 2]]))[0]
    expected = [[-1, 0, 0, 1], [0, -1, 0, 0.25], [0, 0, 1, 0.5], [0, 0, 0, 1]]
    np.testing.assert_allclose(pose, expected, atol=1e-15)


@pytest.mark.parametrize('name', CHAINS)
def test_kinematics_agree_with_pinocchio(name):
    pin = pytest.importorskip('pinocchio')
    arm = read_arm(name)
    model = pin.buildModelFromUrdf(str(arm.urdf_path))
    q = draw_cases(arm, 20).q
    for values, pose in zip(q, arm.fk(q), strict=True):
        configuration = pin.neutral(model)
        for joint, value in zip(arm.joints, values, strict=True):
            index = model.joints[model.getJointId(joint.name)]
            cell = [value] if index.nq == 1 else [np.cos(value), np.sin(value)]
            configuration[index.idx_q : index.idx_q + index.nq] = cell
        data = model.createData()
        pin.framesForwardKinematics(model, data, configuration)
        base, tip = (data.oMf[model.getFrameId(link)] for link in (arm.base, arm.tip))
        np.testing.assert_allclose(pose, (base.inverse() * tip).homogeneous, atol=1e-12)


def test_jacobians_agree_with_finite_differences(slider):
    for arm in (slider, read_arm('panda')):
        q = draw_cases(arm, 5).q
        _, jacobian = arm.fk_and_jacobian(q)
        step = 1e-6
        for index in range(len(arm.joints)):
            shift = step * np.eye(len(arm.joints))[index]
            after, before = arm.fk(q + shift), arm.fk(q - shift)
            linear = (after[:, :3, 3] - before[:, :3, 3]) / (2 * step)
            turn = (after[:, :3, :3] @ np.swapaxes(before[:, :3, :3], 1, 2)) / (2 * step)
            angular = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
            skew = np.stack([turn[:, 1, 2], turn[:, 2, 0], turn[:, 0, 1]], axis=1)
            column = np.hstack([linear, 0.5 * (angular - skew)])
            np.testing.assert_allclose(jacobian[:, :, index], column, atol=1e-8)


def test_cases_are_drawn_in_the_stated_order():
    arm = read_arm('gen3')
    generator = np.random.default_rng(12345)
    lower, upper = arm.sampling_bounds()
    cases = draw_cases(arm, 7)
    assert np.array_equal(cases.q, generator.uniform(lower, upper, (7, 7)))
    assert np.array_equal(cases.seeds, generator.uniform(lower, upper, (7, 7)))
    assert lower[0] == -np.pi and np.array_equal(cases.targets, arm.fk(cases.q))


def test_seeds_nearby_stay_within_limits_and_spread():
    arm = read_arm('panda')
    cases = draw_cases(arm, 500, spread=0.05)
    assert np.abs(cases.seeds - cases.q).max() <= 0.05
    assert (cases.seeds >= arm.lower).all() and (cases.seeds <= arm.upper).all()


@pytest.mark.sampled
@pytest.mark.parametrize('name', CLASSES)
def test_every_class_draws_the_same_goals_again(name):
    arm, draw = read_arm('ur5e'), CLASSES[name].draw
    drawn = draw(arm, 5)
    assert draw(arm, 5).digest == drawn.digest
    assert draw(arm, 6).digest != drawn.digest


def test_only_verified_solutions_count(slider):
    right = np.array([0.5, 1.0])
    targets = np.tile(slider.fk(right[None]), (7, 1, 1))
    solutions = [
        right,
        None,
        right + np.array([5e-4, 9e-4]),
        right + np.array([2e-3, 0.0]),
        right + np.array([0.0, 2e-3]),
        np.array([np.nan, 1.0]),
        np.array([0.5, np.inf]),
    ]
    verdict = verify(slider, solutions, targets, 1e-3)
    assert (verdict.asked, verdict.solved, verdict.claimed_wrongly) == (7, 2, 4)
    assert verdict.worst_position == pytest.approx(5e-4)
    assert verdict.worst_orientation == pytest.approx(9e-4)


def test_a_solution_outside_the_limits_does_not_hold(slider):
    outside = np.array([1.5, 0.0])
    assert verify(slider, [outside], slider.fk(outside[None]), 1e-3).claimed_wrongly == 1


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-3, 1.5, 3.1415926])
def test_rotation_errors_keep_their_digits(angle):
    turned = np.eye(4)[None].copy()
    turned[0, :2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert pose_errors(np.eye(4)[None], turned)[1][0] == pytest.approx(angle, abs=1e-15)


def test_every_peer_solves_every_case_in_every_pass():
    arm = read_arm('fanuc')
    cases = draw_cases(arm, 6)
    warm = np.vstack([cases.q, cases.q, cases.q])
    measured = measure({'one': echo(warm), 'two': echo(warm)}, cases, repeats=2)
    for measurement in measured.values():
        assert measurement.cpu.shape == measurement.wall.shape == (2, 6)
        assert np.array_equal(measurement.solutions, [cases.q, cases.q])


def test_clocks_see_a_call_and_not_themselves():
    overhead = measure_overhead()
    result, wall, cpu = timed_call(sum, range(200_000))
    assert result == 19_999_900_000
    assert wall > 10 * overhead.wall > 0
    assert cpu > 10 * overhead.cpu > 0


def test_figures_come_from_the_best_pass():
    times, medians = best_pass(np.array([[9.0, 9.0, 9.0], [1.0, 2.0, 6.0]]))
    assert (times.median, times.mean, medians) == (2.0, 3.0, (9.0, 2.0))


def test_ratios_are_those_of_the_peer_to_beat():
    times = {'slow': Times(20, 40, 60, 90), 'fast': Times(10, 10, 10, 9)}
    rows = [report.Row('first_found_1e-3', 'panda', n, cpu=t, wall=t) for n, t in times.items()]
    faster = report.speedups(rows[1], rows[0])
    assert faster == {'median': 2.0, 'mean': 4.0, 'p99': 10.0}
    assert report.speedups(rows[1], None) is None


def test_elementary_frames_turn_z_into_the_axis():
    for axis in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8]]]):
        frame = align_z(axis)[:3, :3]
        np.testing.assert_allclose(frame @ [0, 0, 1], axis, atol=1e-15)
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(frame) == pytest.approx(1.0)


def test_each_class_names_a_peer_that_takes_part():
    peers = load_peers()
    for name, bench_class in CLASSES.items():
        assert name in peers[bench_class.reference].classes


def test_a_named_peer_must_be_there(monkeypatch):
    with pytest.raises(SystemExit, match='roboticstoolbox'):
        run.choose_peers(['nobody'])
    absent = Peer('absent', 'no_such_module', '', '', lambda arm: None)
    monkeypatch.setattr(run, 'load_peers', lambda: {'absent': absent})
    with pytest.raises(SystemExit, match='no_such_module'):
        run.choose_peers(['absent'])
    assert list(run.choose_peers(None)) == ['absent']


def refuses(arm):
    raise NotComparable('another arm')


def test_where_no_pose_has_a_solution_none_is_right(slider):
    bench_class = CLASSES['unreachable']
    out_of_reach = draw_cases(slider, 4)
    out_of_reach.targets[:3, 0, 3] += 9.0
    solutions = (None, np.zeros(2), None, out_of_reach.q[3])
    spent = np.ones((1, 4))
    peer = Peer('claims', 'numpy', 'numpy', '', refuses)
    row = report.make_row(
        bench_class, slider, peer, out_of_reach, Measurement(spent, spent, (solutions,))
    )
    assert (row.success, row.claimed_wrongly) == (50.0, 2)
    assert '1 of the poses were reached' in row.note


def test_rows_say_where_a_class_has_no_goals(monkeypatch, tmp_path):
    def draw(arm, count):
        raise NotComparable('the hull tells nearly all')

    bench_class = dataclasses.replace(CLASSES['unreachable_inside'], draw=draw)
    peer = Peer('there', 'numpy', 'numpy', '', refuses, (bench_class.name,))
    options = argparse.Namespace(output=tmp_path, samples=3, repeats=1)
    (row,) = run.compare(bench_class, 'fanuc', {'there': peer}, options)
    assert (row.has_goals, row.cpu, row.note) == (
        False,
        None,
        'no goals: the hull tells nearly all',
    )
    cases = dataclasses.replace(bench_class, draw=draw_cases)
    (row,) = run.compare(cases, 'fanuc', {'there': peer}, options)
    assert (row.has_goals, row.cpu, row.note) == (True, None, 'another arm')


def test_slow_peers_are_asked_evenly_spread_poses(slider):
    cases = draw_cases(slider, 10)
    assert np.array_equal(cases.every(4).q, cases.q[[0, 4, 8]])
    assert np.array_equal(cases.every(4).targets, cases.targets[[0, 4, 8]])


def test_a_run_writes_what_it_prints(monkeypatch, tmp_path, capsys):
    arm = read_arm('fanuc')
    solutions = np.vstack([draw_cases(arm, 3).q] * 5)
    name = 'first_found_1e-3'
    there = Peer('there', 'numpy', 'numpy', '', lambda arm: echo(solutions), (name,))
    absent = Peer('absent', 'no_such_module', '', '', lambda arm: echo(solutions), (name,))
    elsewhere = Peer('elsewhere', 'numpy', 'numpy', '', lambda arm: echo(solutions))
    slow = Peer('slow', 'numpy', 'numpy', '', lambda arm: echo(solutions), (name,), slow=True)
    shy = Peer('shy', 'numpy', 'numpy', '', refuses, (name,))
    peers = {peer.name: peer for peer in (there, absent, elsewhere, slow, shy)}
    monkeypatch.setattr(run, 'load_peers', lambda: peers)
    monkeypatch.setattr(run.pinning, 'pin', lambda cpu: cpu)
    run.main(f'--classes {name} --arms fanuc --samples 3 --output {tmp_path}'.split())
    rows = json.loads((tmp_path / 'peers.json').read_text())['rows']
    assert [(row['peer'], row['note'], row['success']) for row in rows] == [
        ('there', '', 100.0),
        ('slow', '', 100.0),
        ('absent', 'not installed', 0.0),
        ('shy', 'another arm', 0.0),
    ]
    markdown = (tmp_path / 'peers.md').read_text()
    assert 'not installed' in markdown and markdown.splitlines()[0] in capsys.readouterr().out
