"""``ssik place``: tables, JSON, exit codes and one-line errors."""

import json

import pytest

from ssik_ros.cli.command import main

CELL = """
name: bench
arms:
  - robot: [irb120, kr6_r900]
    place: {x: [-0.4, 0.4], y: 0.0}
tasks: tasks.csv
places: 2
"""
HEAD = 'x,y,z,qw,qx,qy,qz\n'


@pytest.fixture
def cell(tmp_path):
    """Return the file of a cell with a task that is reached."""
    (tmp_path / 'cell.yaml').write_text(CELL)
    (tmp_path / 'tasks.csv').write_text(HEAD + '0.3,0.2,0.3,0,1,0,0\n')
    return tmp_path / 'cell.yaml'


def test_places_are_printed_with_the_robots_to_choose_from(cell, capsys):
    assert main(['place', str(cell)]) == 0
    text = capsys.readouterr().out
    assert 'irb120' in text and 'kr6_r900' in text and "'bench'" in text
    assert 'no collision geometry' in text


def test_json_has_every_choice(cell, capsys):
    assert main(['place', str(cell), '--json']) == 0
    choices = json.loads(capsys.readouterr().out)
    assert {choice['robots'][0] for choice in choices} == {'irb120', 'kr6_r900'}
    assert all(choice['reaches_all'] and len(choice['places']) <= 2 for choice in choices)
    assert choices[0]['places'][0]['value'] >= choices[1]['places'][0]['value']
    assert set(choices[0]['places'][0]['bases'][0]) == {'x', 'y', 'z', 'roll', 'pitch', 'yaw'}


def test_a_task_that_fails_everywhere_is_explained(cell, capsys):
    (cell.parent / 'tasks.csv').write_text(HEAD + '0.3,0.2,0.3,0,1,0,0\n9,0,0,1,0,0,0\n')
    assert main(['place', str(cell)]) == 1
    text = capsys.readouterr().out
    assert 'Task 1 fails at the best place: out of reach' in text
    assert 'No place that was tried reaches task 1' in text


def test_a_wrong_file_is_one_line(cell, capsys):
    cell.write_text(CELL + 'speed: 1\n')
    assert main(['place', str(cell)]) == 2
    error = capsys.readouterr().err
    assert 'speed' in error and error.count('\n') == 1
