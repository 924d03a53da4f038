"""The requests of a benchmark: reproducible, the same for all, kept in a file."""

import json

from test.benchmark.planar_arm import closed_form, LIMITS, SRDF, URDF

import numpy as np
import pytest

from ssik_ros.benchmark.cases import make_cases, read_goals, write_goals
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.errors import ConfigError, DescriptionNotFound, InvalidLimits
from ssik_ros.model.loader import load_robot


def make_oracle(urdf=URDF, srdf=SRDF):
    robot = load_robot(urdf, srdf)
    return GroupOracle(robot, robot.group('arm'))


@pytest.fixture
def oracle():
    return make_oracle()


@pytest.fixture
def goals_file(oracle, tmp_path):
    path = tmp_path / 'goals.jsonl'
    write_goals(make_cases(oracle, 10, 12345), oracle, path)
    return path


def rewrite(path, line, **changes):
    """Change entries of one line of a goals file."""
    lines = path.read_text(encoding='utf-8').splitlines()
    lines[line] = json.dumps({**json.loads(lines[line]), **changes})
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')


def test_one_random_seed_gives_the_same_requests_every_time(oracle):
    first, again = make_cases(oracle, 20, 12345), make_cases(make_oracle(), 20, 12345)
    assert first.goals.tobytes() == again.goals.tobytes()
    assert first.seeds.tobytes() == again.seeds.tobytes()
    assert first.targets.tobytes() == again.targets.tobytes()


def test_another_random_seed_gives_other_requests(oracle):
    assert not np.array_equal(make_cases(oracle, 5, 1).goals, make_cases(oracle, 5, 2).goals)


def test_a_shorter_run_has_the_first_requests_of_a_longer_one(oracle):
    short, long = make_cases(oracle, 3, 7), make_cases(oracle, 30, 7)
    assert np.array_equal(short.goals, long.goals[:3])
    assert np.array_equal(short.seeds, long.seeds[:3])


def test_goal_and_seed_of_a_trial_are_drawn_one_after_the_other(oracle):
    rng = np.random.default_rng(12345)
    robot, group = oracle.robot, oracle.group
    expected = [robot.sample(group, rng) for _ in range(4)]
    cases = make_cases(oracle, 2, 12345)
    drawn = [cases.goals[0], cases.seeds[0], cases.goals[1], cases.seeds[1]]
    assert np.array_equal(drawn, expected)


def test_states_are_uniform_within_the_limits(oracle):
    states = make_cases(oracle, 2000, 3).goals / LIMITS
    assert np.abs(states).max() <= 1.0
    assert np.abs(states.mean(axis=0)).max() < 0.05
    assert np.allclose(states.var(axis=0), 1.0 / 3.0, atol=0.02)


def test_the_target_is_the_pose_of_the_goal(oracle):
    cases = make_cases(oracle, 10, 5)
    recovered = [closed_form(targets[0]) for targets in cases.targets]
    assert np.allclose(recovered, cases.goals, atol=1e-12)


def test_a_translation_without_limits_cannot_be_sampled():
    slider = URDF.replace('"elbow" type="revolute"', '"elbow" type="prismatic"')
    endless = make_oracle(slider.replace('lower="-2.5" upper="2.5"', 'lower="-inf" upper="inf"'))
    with pytest.raises(InvalidLimits, match='elbow'):
        make_cases(endless, 1, 0)


def test_a_goals_file_gives_back_the_same_bits(oracle, goals_file):
    written, read = make_cases(oracle, 10, 12345), read_goals(goals_file, oracle)
    assert read.goals.tobytes() == written.goals.tobytes()
    assert read.seeds.tobytes() == written.seeds.tobytes()
    assert read.targets.tobytes() == written.targets.tobytes()
    assert read.random_seed == 12345


def test_a_goals_file_names_what_it_is_about(goals_file):
    header = json.loads(goals_file.read_text(encoding='utf-8').splitlines()[0])
    assert (header['robot'], header['group'], header['variables']) == (
        'planar',
        'arm',
        ['shoulder', 'elbow'],
    )
    assert (header['base_frame'], header['tip_frames']) == ('base_link', ['tool0'])


def test_a_goals_file_of_other_joints_is_refused(oracle, goals_file):
    rewrite(goals_file, 0, variables=['elbow', 'shoulder'])
    with pytest.raises(ConfigError, match='variables'):
        read_goals(goals_file, oracle)


def test_a_goals_file_of_a_robot_of_another_size_is_refused(goals_file):
    longer = make_oracle(URDF.replace('xyz="0.4 0 0"', 'xyz="0.41 0 0"'))
    with pytest.raises(ConfigError, match='another robot'):
        read_goals(goals_file, longer)


@pytest.mark.parametrize(
    ('line', 'changes'),
    [
        (0, {'format': 'something else'}),
        (0, {'version': 2}),
        (1, {'goal': [0.0]}),
        (1, {'goal': [0.0, float('nan')]}),
        (1, {'seed': 'left'}),
        (1, {'seed': None}),
    ],
)
def test_a_malformed_goals_file_is_an_error_with_its_name(oracle, goals_file, line, changes):
    rewrite(goals_file, line, **changes)
    with pytest.raises(ConfigError, match=r'goals\.jsonl'):
        read_goals(goals_file, oracle)


def test_a_goals_file_that_is_no_json_is_an_error_with_the_line(oracle, goals_file):
    goals_file.write_text('{}\nnot json\n', encoding='utf-8')
    with pytest.raises(ConfigError, match=r'goals\.jsonl, line 2'):
        read_goals(goals_file, oracle)


def test_a_goals_file_without_trials_is_refused(oracle, goals_file):
    header = goals_file.read_text(encoding='utf-8').splitlines()[0]
    goals_file.write_text(header + '\n', encoding='utf-8')
    with pytest.raises(ConfigError, match='at least one trial'):
        read_goals(goals_file, oracle)


def test_a_missing_goals_file_is_named(oracle, tmp_path):
    with pytest.raises(DescriptionNotFound, match=r'gone\.jsonl'):
        read_goals(tmp_path / 'gone.jsonl', oracle)
