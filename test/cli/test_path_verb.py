"""``ssik path``: files in, a table, JSON or CSV out."""

import csv
import dataclasses
import json
from pathlib import Path
import re
import shutil

import numpy as np
import pytest
import yaml

from ssik_ros.cli.command import main
from ssik_ros.cli.verb import path as path_verb
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths.path_file import read_problem, read_waypoints
from ssik_ros.paths.requests import ToolPath
from ssik_ros.view.playback import read_joint_path

DATA = Path(__file__).resolve().parents[1] / 'paths' / 'data'
FILE = DATA / 'line.yaml'
HEAD = 'x,y,z,qw,qx,qy,qz\n'


def test_json_has_the_joint_values_of_each_waypoint(capsys):
    assert main(['path', str(FILE), '--json']) == 0
    plan, problem = json.loads(capsys.readouterr().out), read_problem(FILE)
    assert plan['valid'] and plan['reason'] == ''
    assert plan['joint_names'] == [f'panda_joint{k}' for k in range(1, 8)]
    q = np.array(plan['positions'])
    assert plan['lower_bound'] <= plan['cost']
    assert plan['cost'] == pytest.approx(np.abs(np.diff(q, axis=0)).sum())
    kinematics, robot = ReferenceKinematics(problem.robot), problem.robot
    for values, waypoint in zip(q, problem.waypoints, strict=True):
        state = robot.default_positions()
        state[problem.group.idx_q] = values
        assert np.abs(kinematics.link_pose(state, problem.group.tip) - waypoint).max() < 1e-6


def test_json_has_each_value_of_the_plan():
    rows, times = np.zeros((2, 1)), np.array((0.0, 0.5))
    plan = ToolPath(True, ('turn',), rows, 2.0, 1.0, penalty=0.25, deviation=1e-4, times=times)
    written = path_verb.as_mapping(plan)
    assert set(written) == {field.name for field in dataclasses.fields(plan)}
    assert (written['penalty'], written['deviation'], written['times']) == (0.25, 1e-4, [0.0, 0.5])
    assert json.loads(json.dumps(written)) == written


def test_a_table_and_a_csv(capsys, tmp_path):
    target = tmp_path / 'path.csv'
    assert main(['path', str(FILE), '-o', str(target)]) == 0
    text = capsys.readouterr().out
    assert 'through all 30 waypoints' in text and 'panda_joint7' in text
    with target.open(encoding='utf-8') as stream:
        rows = list(csv.reader(stream))
    assert rows[0][:2] == ['waypoint', 'panda_joint1']
    assert [int(row[0]) for row in rows[1:]] == list(range(30))


def copy_with(tmp_path, old, new):
    """Return a copy of the problem with other text."""
    shutil.copy(DATA / 'line.csv', tmp_path)
    file = tmp_path / 'line.yaml'
    text = FILE.read_text(encoding='utf-8')
    assert old in text
    file.write_text(text.replace(old, new), encoding='utf-8')
    return file


def test_an_impossible_path_says_why(capsys, tmp_path):
    file = copy_with(tmp_path, '[0.45, 0.0, 0.4]', '[2.0, 0.0, 0.4]')
    assert main(['path', str(file)]) == 1
    assert 'Waypoint 0 is out of reach.' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('old', 'new', 'wanted'),
    [
        ('robot: panda', 'robot: pandda', 'panda'),
        ('boxes:', 'boxxes:', 'boxes'),
        ('group: panda_arm', 'group: panda_amr', 'panda_arm'),
        ('offset_frame: world', 'offset_frame: table', 'table'),
        ('[0.45, 0.0, 0.4]', '[0.45, .nan, 0.4]', 'offset_xyz'),
        ('line.csv', 'missing.csv', 'missing.csv'),
        ('[0.5, 0.5, 0.1]', '[0.5, -0.5, 0.1]', 'box 1'),
        ('revolute_deg: 10.0', 'revolute_deg: 0.0', 'largest_turn'),
    ],
)
def test_wrong_files_are_refused_in_one_line(capsys, tmp_path, old, new, wanted):
    assert main(['path', str(copy_with(tmp_path, old, new))]) == 2
    error = capsys.readouterr().err
    assert error.startswith('ssik path: ') and error.count('\n') == 1
    assert wanted in error


@pytest.mark.parametrize(
    'row', ['0,0,nan,1,0,0,0', '0,0,0,0,0,0,0', '0,0,0,1,0,0', '0,a,0,1,0,0,0']
)
def test_rows_that_are_no_poses_are_refused(capsys, tmp_path, row):
    file = copy_with(tmp_path, 'name: line', 'name: other')
    with (tmp_path / 'line.csv').open('a', encoding='utf-8') as stream:
        stream.write(f'{row}\n')
    assert main(['path', str(file)]) == 2
    assert 'line.csv' in capsys.readouterr().err


def test_a_path_message_has_the_same_waypoints(tmp_path):
    poses = read_waypoints(DATA / 'line.csv')
    lines = ['header: {frame_id: world}', 'poses:']
    for pose in poses:
        x, y, z = pose[:3, 3].tolist()
        lines += [
            '- header: {frame_id: world}',
            '  pose:',
            f'    position: {{x: {x}, y: {y}, z: {z}}}',
            '    orientation: {x: 0.0, y: 0.0, z: 0.0, w: 1.0}',
        ]
    file = tmp_path / 'path.yaml'
    file.write_text('\n'.join(lines), encoding='utf-8')
    assert np.array_equal(read_waypoints(file), poses)


def seconds(stamp):
    """Return a duration of a message."""
    return stamp['sec'] + 1e-9 * stamp['nanosec']


def test_a_trajectory_has_times_within_the_velocity_limits(capsys, tmp_path):
    target = tmp_path / 'trajectory.yaml'
    assert main(['path', str(FILE), '-o', str(target), '--json']) == 0
    plan, problem = json.loads(capsys.readouterr().out), read_problem(FILE)
    message = yaml.safe_load(target.read_text(encoding='utf-8'))
    assert set(message) == {'header', 'joint_names', 'points'}
    assert message['joint_names'] == plan['joint_names']
    q = np.array([point['positions'] for point in message['points']])
    assert np.array_equal(q, np.array(plan['positions']))
    times = np.array([seconds(point['time_from_start']) for point in message['points']])
    assert times[0] == 0.0 and (np.diff(times) > 0.0).all()
    velocity = problem.robot.tree.velocity[problem.group.idx_q]
    assert (np.abs(np.diff(q, axis=0)) / np.diff(times)[:, None] <= velocity + 1e-6).all()
    assert not np.any(message['points'][0]['velocities'] + message['points'][-1]['velocities'])


def test_a_tool_speed_makes_the_trajectory_slower(tmp_path):
    target = tmp_path / 'trajectory.yml'
    file = copy_with(tmp_path, 'name: line', 'name: line\ntool_speed: 0.02')
    assert main(['path', str(file), '-o', str(target)]) == 0
    message = yaml.safe_load(target.read_text(encoding='utf-8'))
    places = read_problem(file).waypoints[:, :3, 3]
    length = np.linalg.norm(np.diff(places, axis=0), axis=1).sum()
    assert seconds(message['points'][-1]['time_from_start']) >= length / 0.02 - 1e-6


@pytest.fixture(scope='module')
def parted(tmp_path_factory):
    """Return a file of two passes with a wall between them."""
    folder = tmp_path_factory.mktemp('parted')
    places = [*np.linspace(-0.45, -0.25, 8), *np.linspace(0.25, 0.45, 8)]
    rows = [f'0.0,{y:.4f},0.0,1,0,0,0\n' for y in places]
    (folder / 'line.csv').write_text(HEAD + ''.join(rows), encoding='utf-8')
    file = folder / 'line.yaml'
    text = FILE.read_text(encoding='utf-8') + 'passes: [8]\n'
    text = text.replace('[0.5, 0.5, 0.1]', '[1.2, 0.02, 0.6]')
    text = text.replace('[0.6, 0.0, 0.1]', '[0.9, 0.0, 0.3]')
    file.write_text(text, encoding='utf-8')
    return file


def has_rows(table, rows):
    """Return whether each of some rows is in a table, in their order."""
    matches = [np.flatnonzero((np.abs(table - row) < 1e-12).all(axis=1)) for row in rows]
    return all(map(len, matches)) and (np.diff([places[0] for places in matches]) > 0).all()


@pytest.mark.parametrize('ending', ['csv', 'yaml'])
def test_every_output_has_the_corners_between_passes(capsys, tmp_path, parted, ending):
    target = tmp_path / f'path.{ending}'
    assert main(['path', str(parted), '-o', str(target), '--json']) == 0
    plan = json.loads(capsys.readouterr().out)
    first, travel, second = plan['stretches']
    assert [stretch['travel'] for stretch in (first, travel, second)] == [False, True, False]
    assert [(stretch['first'], stretch['last']) for stretch in plan['stretches']] == [
        (0, 7),
        (7, 8),
        (8, 15),
    ]
    corners = np.array(travel['positions'])
    assert len(corners) > 2 and np.array_equal(corners[[0, -1]], plan['positions'][7:9])
    assert len(travel['times']) == len(corners)
    if ending == 'csv':
        played = read_joint_path(target)
        assert len(played.rows) == 16 + len(corners) - 2
        assert has_rows(played.rows, corners) and has_rows(played.rows, plan['positions'])
    else:
        message = yaml.safe_load(target.read_text(encoding='utf-8'))
        points = np.array([point['positions'] for point in message['points']])
        assert has_rows(points, corners) and has_rows(points, plan['positions'])


def test_the_text_names_free_travel(capsys, parted):
    assert main(['path', str(parted)]) == 0
    assert 'Free travel from waypoint 7 to 8: ' in capsys.readouterr().out


def test_budgets_of_the_bound_reach_the_plan(capsys, monkeypatch):
    given, plan = [], path_verb.plan_tool_path

    def recorded(*arguments, **settings):
        given.append((settings['bound_seconds'], settings['bound_rounds']))
        return plan(*arguments, **settings)

    monkeypatch.setattr(path_verb, 'plan_tool_path', recorded)
    for options in ([], ['--bound-seconds', '0.1', '--bound-rounds', '2']):
        assert main(['path', str(FILE), '--json', *options]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert 0.0 < printed['lower_bound'] <= printed['cost']
    assert given == [(0.0, 0), (0.1, 2)]
    assert main(['path', str(FILE), '--bound-seconds', '-1']) == 2
    assert 'bound_seconds' in capsys.readouterr().err


def size_of_png(file):
    """Return width and height of a PNG in pixels."""
    head = file.read_bytes()[:24]
    assert head.startswith(b'\x89PNG')
    return int.from_bytes(head[16:20], 'big'), int.from_bytes(head[20:24], 'big')


def test_plots_of_a_path_and_of_a_failure(capsys, tmp_path):
    assert main(['path', str(FILE), '--plot', str(tmp_path)]) == 0
    whole = size_of_png(tmp_path / 'line.png')
    assert whole[0] > 500 and whole[1] > 500
    far = copy_with(tmp_path, '[0.45, 0.0, 0.4]', '[2.0, 0.0, 0.4]')
    assert main(['path', str(far), '--plot', str(tmp_path / 'far.svg')]) == 1
    assert 'Waypoint 0 is out of reach.' in capsys.readouterr().out
    assert (tmp_path / 'far.svg').read_text(encoding='utf-8').count('<svg') == 1


@pytest.mark.parametrize(
    ('option', 'name', 'wanted'),
    [
        ('-o', 'path.txt', '.csv, .yaml, .yml'),
        ('-o', 'missing/path.csv', 'missing'),
        ('--plot', 'plot.csv', '.png'),
        ('--plot', 'missing/plot.png', 'missing'),
    ],
)
def test_wrong_files_are_refused_before_the_plan(
    capsys, tmp_path, monkeypatch, option, name, wanted
):
    monkeypatch.setattr(path_verb, 'plan_tool_path', lambda *_, **__: pytest.fail('planned'))
    assert main(['path', str(FILE), option, str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1 and wanted in error


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('rows', 'wanted'),
    [
        (['0,0,nan,1,0,0,0'] * 2, "line 2: z is 'nan', no finite number"),
        (['0,0,0,1,0,0,0'], '1 waypoint; a path has 2 to 100000'),
        ([], 'no rows of numbers'),
        (['0,0,0,1,0,0'], 'line 2 has 6 cells, not 7'),
        (['0,0,0,2,0,0,0'] * 2, 'waypoint 0'),
        (['0,0,0,1,0,0,0'] * 1_000_000, 'more than 100000 rows'),
    ],
)
def test_files_with_bad_waypoints_are_refused_in_one_line(capsys, tmp_path, rows, wanted):
    file = copy_with(tmp_path, 'name: line', 'name: other')
    (tmp_path / 'line.csv').write_text(HEAD + '\n'.join(rows), encoding='utf-8')
    target = tmp_path / 'path.csv'
    target.write_text('kept', encoding='utf-8')
    assert main(['path', str(file), '-o', str(target)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1 and wanted in error
    assert target.read_text(encoding='utf-8') == 'kept'


@pytest.mark.parametrize(
    'line',
    [
        'offset_rotation: x',
        'offset_rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]',
        'offset_rotation: [[1, 0], [0, 1]]',
        'boxes: 5',
        f'offset_xyz: [0, 0, 1{"0" * 400}]',
        f'clearance: 1{"0" * 400}',
        'passes: [1.5]',
    ],
)
def test_values_of_another_kind_are_refused_in_one_line(capsys, tmp_path, line):
    key, text = line.partition(':')[0], FILE.read_text(encoding='utf-8')
    parts = [part for part in re.split(r'\n(?=\w)', text) if not part.startswith(f'{key}:')]
    (tmp_path / 'line.csv').write_text(HEAD + '0,0,0,1,0,0,0\n' * 2, encoding='utf-8')
    file = tmp_path / 'line.yaml'
    file.write_text('\n'.join([*parts, line]), encoding='utf-8')
    assert main(['path', str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1 and key in error and len(error) < 1000


def test_five_joints_without_a_spin_are_refused_in_one_line(capsys, tmp_path):
    locked = 'locked: {panda_joint3: 0.0, panda_joint5: 0.0}'
    file = copy_with(tmp_path, 'name: line', f'name: line\n{locked}')
    assert main(['path', str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1 and 'five joints' in error and 'spin' in error
