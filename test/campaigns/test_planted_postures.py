"""Campaigns: planted postures reach their poses, judges see all faults, faults replay, a short campaign is clean."""

import json
from pathlib import Path

import numpy as np
import pytest

from campaigns.postures import __main__ as command, failures, laws, solving
from campaigns.postures.completeness import judge_branches
from campaigns.postures.judges import judge
from campaigns.postures.judging import Judged, SEARCHES, Tally
from campaigns.postures.planter import CLASSES, Planter, scaled_jacobians
from campaigns.postures.robots import (
    all_shipped,
    in_folder,
    random_robot,
    Robot,
    screws_of,
    shipped,
)
from campaigns.postures.steps import STEP_ROWS
from ssik_ros.manipulator.batch_solutions import BatchSolutions
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.results import Cause, IkResult, IkStatus

FAULTS = Path(__file__).parent / 'faults'
"""Faults of earlier versions, as campaigns wrote them."""


def planter(name, seed=0):
    return Planter(shipped(name), np.random.default_rng(seed))


def group_of(name, kind, seed=0, count=12):
    return planter(name, seed).draw(count, (kind,))


def sigmas(robot, q):
    return np.linalg.svd(scaled_jacobians(robot, q), compute_uv=False)[:, -1]


@pytest.mark.parametrize('name', ['config/panda', 'irb120', 'stanford', 'xarm5'])
def test_an_arm_written_as_lines_is_the_same_arm(name):
    robot = shipped(name)
    lower, upper = robot.bounds()
    q = np.random.default_rng(1).uniform(lower, upper, (20, robot.dof))
    again = screws_of(robot).robot(robot.name, robot.family)
    np.testing.assert_allclose(again.arm.fk(q), robot.arm.fk(q), atol=1e-12)
    np.testing.assert_array_equal(again.arm.lower, robot.arm.lower)


def test_the_judges_and_the_package_read_the_same_arm():
    for seed in range(20):
        robot = random_robot(seed)
        arm = robot.manipulator()
        lower, upper = robot.bounds()
        q = np.random.default_rng(seed).uniform(lower, upper)
        np.testing.assert_allclose(
            robot.arm.fk(q[None])[0], arm.fk(q), atol=1e-12 * max(1.0, robot.size)
        )


def test_the_same_seed_gives_the_same_chain():
    assert random_robot(7).urdf == random_robot(7).urdf
    assert random_robot(7).urdf != random_robot(8).urdf


@pytest.mark.parametrize('kind', CLASSES)
@pytest.mark.parametrize('name', ['ur5e', 'iiwa14', 'stanford', 'openmanipulator_x'])
def test_planted_postures_are_within_their_limits(name, kind):
    for seed in range(4):
        group = group_of(name, kind, seed)
        assert (group.q >= group.robot.arm.lower).all()
        assert (group.q <= group.robot.arm.upper).all()


@pytest.mark.parametrize('kind', ['fixed', 'fold'])
@pytest.mark.parametrize('name', ['ur5e', 'irb120', 'gen3_6dof'])
def test_postures_at_fixed_values_and_folds_are_singular(name, kind):
    for seed in range(3):
        group = group_of(name, kind, seed, 24)
        # A root of the determinant is known to rounding.
        exact = group.q[group.offsets <= 1e-10]
        assert len(exact)
        assert sigmas(group.robot, exact).max() < 1e-9


def test_the_straight_wrist_is_found_without_a_list():
    assert 0.0 in planter('irb120').special[4]
    assert 0.0 in planter('puma560').special[4]


def test_seven_joints_have_postures_that_are_singular_with_a_joint_held():
    special = planter('iiwa14').special
    assert any(len(values) for values in special)


@pytest.fixture
def blind(monkeypatch):
    """Let the package find nothing, and call that proved."""

    def nothing(self, poses, q_seed=None, **options):
        counts = np.zeros(len(poses), dtype=np.int64)
        return BatchSolutions.from_counts(np.empty((0, self.dof)), np.empty(0), counts)

    class Proved:
        cause = Cause.UNREACHABLE

    monkeypatch.setattr(Manipulator, 'solve_batch', nothing)
    monkeypatch.setattr(Manipulator, 'solve', lambda self, pose, **options: ([], Proved))


def test_a_false_proof_and_a_lost_posture_are_counted(blind):
    tally, group = Tally(), group_of('ur5e', 'regular')
    faults = judge(group, tally, ('solve',))
    claims = [fault.claim for fault in faults]
    assert claims.count('false proof') == claims.count('lost') == len(group.q)
    assert tally.faults['lost', 'solve', 'ur5e', 'regular'] == len(group.q)
    assert 'LevenbergMarquardt' in faults[1].detail


def without_one(solve):
    """Return a solve that leaves out its last solution."""
    return lambda self, *arguments, **options: solve(self, *arguments, **options)[:-1]


def test_a_missing_branch_is_seen_by_newton(monkeypatch):
    monkeypatch.setattr(Manipulator, 'solve_q', without_one(Manipulator.solve_q))
    group = group_of('irb120', 'regular', 1)
    assert [fault.claim for fault in judge_branches(Judged(group), Tally())]


def test_solutions_that_miss_leave_limits_or_repeat_are_seen():
    group = group_of('ur5e', 'regular', 1)
    judged, good = Judged(group), group.q[0]
    for rows, claim in (
        ([good + 1e-3], 'extra'),
        ([group.robot.arm.upper + 1.0], 'limits'),
        ([good, good], 'duplicate'),
    ):
        faults = solving.judge_solutions(judged, Tally(), 0, np.array(rows), 'solve', 1e-9)
        assert claim in [fault.claim for fault in faults]
    assert not list(solving.judge_solutions(judged, Tally(), 0, good[None], 'solve', 1e-9))


@pytest.mark.parametrize('law', laws.LAWS, ids=lambda law: law.__name__)
def test_solutions_follow_and_a_broken_law_is_seen(law, monkeypatch):
    group = group_of('irb120', 'regular', 2)
    monkeypatch.setattr(laws, 'LAWS', (law,))
    assert not list(laws.judge_laws(Judged(group), Tally()))

    def broken(judged, rng):
        other = law(judged, rng)
        poses = other.poses.copy()
        poses[:, :3, 3] += 1e-3
        return other._replace(poses=poses)

    broken.__name__ = 'broken'
    monkeypatch.setattr(laws, 'LAWS', (broken,))
    assert {fault.claim for fault in laws.judge_laws(Judged(group), Tally())} == {'law'}


def test_a_fault_is_kept_and_replayed(blind, tmp_path, capsys):
    store = failures.Store(tmp_path, most=2)
    for fault in judge(group_of('ur5e', 'regular'), Tally(), ('solve',)):
        store.add(fault)
    paths = sorted(tmp_path.glob('*.json'))
    assert len(paths) == 4
    saved = json.loads(paths[0].read_text())
    assert saved['claim'] == 'false proof'
    assert saved['robot'] == 'ur5e'
    assert failures.replay(paths[:1]) == 1
    assert 'false proof, solve: UNREACHABLE' in capsys.readouterr().out


def test_what_is_mended_replays_as_right(tmp_path, capsys):
    fault = Judged(group_of('ur5e', 'regular')).fault('lost', 'solve', 0, 'nothing')
    failures.Store(tmp_path, most=1).add(fault)
    assert failures.replay(list(tmp_path.glob('*.json'))) == 0
    assert 'nothing is wrong' in capsys.readouterr().out


@pytest.mark.sampled
@pytest.mark.parametrize('path', sorted(FAULTS.glob('*.json')), ids=lambda path: path.stem)
def test_what_campaigns_have_found_stays_mended(path):
    group = failures.group_of(json.loads(path.read_text()))
    faults = judge(group, Tally(), ('solve', 'Analytic', 'reach'))
    assert [fault for fault in faults if fault.claim in failures.WRONG] == []


@pytest.mark.parametrize('content', ['{"seconds": 1}', 'no JSON', '[]'])
def test_a_replay_names_a_file_that_is_not_of_a_fault(tmp_path, content):
    path = tmp_path / 'campaign.json'
    path.write_text(content)
    with pytest.raises(SystemExit, match='is not the file of a fault'):
        failures.replay([path])


def test_judges_that_draw_draw_the_same_in_a_replay():
    group = group_of('ur5e', 'regular')
    fault = Judged(group).fault('lost', 'waypoints', 3, 'nothing')
    again = failures.group_of(failures.as_json(fault))
    assert again.generator(0).random() == group.generator(3).random()


def test_robots_of_a_folder_are_read(tmp_path):
    folder = tmp_path / 'ur5e'
    folder.mkdir()
    robot = shipped('ur5e')
    (folder / 'robot.urdf').write_text(robot.urdf)
    names = [joint.name for joint in robot.arm.joints]
    chosen = {'group': 'arm', 'base': robot.base, 'tip': robot.tip, 'joints': names}
    other = chosen | {'group': 'half', 'joints': names[:3]}
    (folder / 'groups.json').write_text(json.dumps([chosen, other]))
    (read,) = in_folder(tmp_path)
    assert (read.name, read.family, read.dof) == ('ur5e/arm', 'field', 6)


def test_every_shipped_arm_is_attacked():
    robots = list(all_shipped())
    assert len({robot.name for robot in robots}) == len(robots)
    assert all(isinstance(robot, Robot) for robot in robots)


class StandsStill:
    """A solver that returns the seed."""

    def solve(self, request):
        q = np.array([request.seed])
        return IkResult(IkStatus.SOLVED, Cause.NONE, q, np.zeros((1, 2)), None, 0.0, 1, 1, False)


def test_an_arm_that_stands_still_follows_no_step(monkeypatch):
    group = group_of('ur5e', 'regular', 1)
    assert not judge(group, Tally(), ('steps',))
    monkeypatch.setattr(Manipulator, 'solver', lambda self, name: StandsStill())
    faults = judge(group, Tally(), ('steps',))
    assert {fault.claim for fault in faults} == {'step'}
    assert len(faults) == len(SEARCHES) * STEP_ROWS


QUICK = ('solve', 'Analytic', 'Auto', 'steps', 'reach', 'branches', 'self_motions', 'laws')
"""Judges that take milliseconds for a pose."""


@pytest.mark.slow
@pytest.mark.heavy
def test_a_short_campaign_is_clean(tmp_path, capsys):
    arguments = ['--poses', '360', '--group', '4', '--chains', '25', '--kinds', 'regular']
    code = command.main([*arguments, '--judges', *QUICK, '--output', str(tmp_path)])
    text = capsys.readouterr().out
    assert code == 0, text
    content = json.loads((tmp_path / 'campaign.json').read_text())
    assert content['planted'] == 360
    assert {key.split()[0] for key in content['trials']} == set(QUICK)


@pytest.mark.slow
def test_a_short_campaign_at_singular_postures_is_clean(tmp_path, capsys):
    aim = ['--families', 'shipped', '--dof', '6', '--kinds', 'fixed', 'fold', 'zero']
    size = ['--poses', '552', '--group', '12', '--judges', 'solve', 'Analytic', 'reach']
    code = command.main([*aim, *size, '--output', str(tmp_path)])
    text = capsys.readouterr().out
    assert code == 0, text
    assert json.loads((tmp_path / 'campaign.json').read_text())['singular'] > 250
