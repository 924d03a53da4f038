"""``ssik view --ros``: wrong arguments are refused in one line, and the right node is started."""

import itertools
import json
import os
import sys

import pytest

from ssik_ros.cli.command import main


class Started(Exception):
    """The process would be another one now."""


@pytest.fixture
def started(monkeypatch):
    """Give the words of the program that was started."""
    pytest.importorskip('viser', reason='needs the extra view: pip install viser')
    monkeypatch.setattr('ssik_ros.cli.verb.view.find_spec', lambda name: object())
    words = []

    def start(path, given):
        words.extend(given)
        raise Started

    monkeypatch.setattr(os, 'execv', start)
    return words


def test_without_ros_one_line_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    assert main(['view', '--ros']) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'rclpy' in line and 'Source' in line


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--ros', '--snapshot', 'a.png'], 'leave out --snapshot'),
        (['--ros', '--joints', '0', '0'], 'leave out --joints'),
        (['panda', '--send-to', '/x'], 'add --ros'),
        (['panda', '--node', '/x'], 'add --ros'),
    ],
)
def test_options_that_contradict_each_other_are_refused(capsys, words, text):
    assert main(['view', *words]) == 2
    assert text in capsys.readouterr().err


def parameters_of(words):
    given = [word for before, word in itertools.pairwise(words) if before == '-p']
    return {name: json.loads(value) for name, _, value in (word.partition(':=') for word in given)}


def test_the_options_become_parameters_of_the_node(started, tmp_path):
    with pytest.raises(Started):
        main(['view', '--ros'])
    assert started[1:5] == ['-m', 'ssik_ros.ros.executables', 'ik_view', '--ros-args']
    assert parameters_of(started) == {'host': '127.0.0.1', 'port': 8080, 'open_browser': False}
    started.clear()
    (tmp_path / 'arm.urdf').write_text('')
    options = ['--node', '/left', '--send-to', '/arm', '--group', '1', '--open', '--port', '0']
    with pytest.raises(Started):
        main(['view', str(tmp_path / 'arm.urdf'), '--ros', *options])
    assert parameters_of(started) == {
        'robot_description_file': str(tmp_path / 'arm.urdf'),
        'group': '1',
        'node': '/left',
        'send_to': '/arm',
        'host': '127.0.0.1',
        'port': 0,
        'open_browser': True,
    }


def test_a_word_names_a_robot_that_comes_along(started):
    with pytest.raises(Started):
        main(['view', 'panda', '--ros'])
    assert parameters_of(started)['moveit_config_package'] == 'panda'
    started.clear()
    assert main(['view', 'panda', '--urdf', 'a.urdf', '--ros']) == 2
    assert not started
