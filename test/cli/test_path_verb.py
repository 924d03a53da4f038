"""``ssik path``: files in, a table, JSON or CSV out."""

import csv
import json
from pathlib import Path
import shutil

import numpy as np
import pytest

from ssik_ros.cli.command import main
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths.path_file import read_problem, read_waypoints

DATA = Path(__file__).resolve().parents[1] / 'paths' / 'data'
FILE = DATA / 'line.yaml'


def test_json_has_the_joint_values_of_each_waypoint(capsys):
    assert main(['path', str(FILE), '--json']) == 0
    plan, problem = json.loads(capsys.readouterr().out), read_problem(FILE)
    assert plan['valid'] and plan['reason'] == ''
    assert plan['joint_names'] == [f'panda_joint{k}' for k in range(1, 8)]
    q = np.array(plan['positions'])
    assert plan['lower_bound'] <= plan['cost']
    assert plan['cost'] == pytest.approx(np.abs(np.diff(q, axis=0)).sum())
    own, robot = ReferenceKinematics(problem.robot), problem.robot
    for values, waypoint in zip(q, problem.waypoints, strict=True):
        state = robot.default_positions()
        state[problem.group.idx_q] = values
        assert np.abs(own.link_pose(state, problem.group.tip) - waypoint).max() < 1e-6


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
