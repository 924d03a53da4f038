"""Descriptions checked against each other: the shipped ones are in order, and each fault that is built in is found."""

from pathlib import Path
import re

from test.server.served_robots import joint, robot_text

import pytest

from ssik_ros.cli.command import main
from ssik_ros.server.checkup import examine, Level, RobotFiles

CONFIG = Path(__file__).resolve().parents[2] / 'config' / 'robots'
BALL = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
SRDF = """
<robot name="made"><group name="arm"><chain base_link="l0" tip_link="tip"/></group>
<group_state name="home" group="arm"><joint name="j1" value="0.5"/></group_state>
<disable_collisions link1="l0" link2="l1"/></robot>
"""
KINEMATICS = 'arm:\n  kinematics_solver: ssik_ros/PoseIK\n  kinematics_solver_timeout: 0.05\n'
LIMITS = 'joint_limits:\n  j1:\n    has_position_limits: true\n    min_position: -1.0\n    max_position: 1.0\n'


@pytest.fixture
def files(tmp_path):
    """Return a function that writes four files, some of them changed, and examines them."""

    def write(**changes):
        urdf = robot_text(
            joint('j1', 'revolute', 'l0', 'l1', '0 0 0.3', '0 1 0'),
            joint('j2', 'revolute', 'l1', 'l2', '0.4 0 0', '0 1 0'),
            joint('end', 'fixed', 'l2', 'tip', '0.3 0 0'),
            shapes={'l0': BALL, 'l2': BALL},
        )
        texts = {'urdf': urdf, 'srdf': SRDF, 'kinematics': KINEMATICS, 'joint_limits': LIMITS}
        paths = {}
        for name, text in {**texts, **changes}.items():
            if text is not None:
                ending = 'yaml' if name in ('kinematics', 'joint_limits') else name
                paths[name] = tmp_path / f'robot_{name}.{ending}'
                paths[name].write_text(text(texts[name]) if callable(text) else text)
        return RobotFiles(**paths)

    return write


def faults(files, level=Level.FAULT):
    return [f for f in examine(files) if f.level is level]


@pytest.mark.parametrize('name', ['panda', 'fanuc', 'gen3', 'ur5e'])
def test_shipped_robots_have_no_fault(name):
    folder = CONFIG / f'{name}_moveit_config' / 'config'
    files = (f'{name}.urdf', f'{name}.srdf', 'kinematics.yaml', 'joint_limits.yaml')
    findings = faults(RobotFiles(*(folder / file for file in files)))
    assert [f for f in findings if f.where != 'collisions'] == []


def test_four_files_that_agree_are_fine(files):
    findings = examine(files())
    assert {f.level for f in findings} == {Level.FINE}, findings
    assert any('10 of 10 random poses solved' in f.what for f in findings)


def replaced(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)

    return change


BROKEN = {
    'urdf': ({'urdf': replaced('<child link="l2"/>', '<child link="nowhere"/>')}, 'nowhere'),
    'no group is left': (
        {'srdf': replaced('tip_link="tip"', 'tip_link="tpi"')},
        'there is no group',
    ),
    'limits of zero': (
        {
            'urdf': lambda text: re.sub(r'(lower|upper)="[^"]*"', r'\1="0"', text),
            'joint_limits': None,
        },
        'all limits of j1, j2 are 0',
    ),
    'a named group of fixed joints': (
        {
            'srdf': replaced(
                '<group_state', '<group name="hand"><link name="tip"/></group><group_state'
            ),
            'kinematics': KINEMATICS + 'hand:\n  kinematics_solver: ssik_ros/Auto\n',
        },
        'no moving joint',
    ),
    'misspelt solver': ({'kinematics': replaced('PoseIK', 'PoseKI')}, 'PoseIK'),
    'misspelt key': ({'kinematics': KINEMATICS + '  target_tolerence: 0.1\n'}, 'target_tolerance'),
    'state': ({'srdf': replaced('value="0.5"', 'value="2.0"')}, 'j1'),
    'mesh': (
        {'urdf': replaced('<sphere radius="0.05"/>', '<mesh filename="package://gone/x.stl"/>')},
        'gone',
    ),
}


@pytest.mark.parametrize('name', BROKEN)
def test_what_does_not_work_is_found_with_what_to_do(files, name):
    changes, part = BROKEN[name]
    findings = faults(files(**changes))
    assert findings, name
    assert any(part in f.what for f in findings), findings
    assert all(f.mend for f in findings)


NOTED = {
    'srdf': (
        {'srdf': replaced('tip_link="tip"', 'tip_link="tpi"')},
        "2: <chain> names the unknown link 'tpi'",
    ),
    'wider limits': (
        {'joint_limits': replaced('max_position: 1.0', 'max_position: 9.0')},
        '2: joint_limits.j1: [-1, 9] counts',
    ),
    'no srdf': ({'srdf': None}, 'there is none'),
    'no kinematics': ({'kinematics': None}, 'there is none'),
    'no limits': ({'joint_limits': None}, 'there is none'),
    'foreign solver': ({'kinematics': replaced('ssik_ros/PoseIK', 'kdl/KDL')}, 'kdl/KDL'),
    'other group': ({'kinematics': KINEMATICS + 'leg:\n  kinematics_solver: ""\n'}, 'leg'),
    'milliseconds': ({'kinematics': replaced('0.05', '0.0005')}, '0.0005'),
    'no exclusions': (
        {'srdf': replaced('<disable_collisions link1="l0" link2="l1"/>', '')},
        'no pair of links',
    ),
    'no geometry': ({'urdf': replaced(BALL, '')}, 'no link has collision geometry'),
}


@pytest.mark.parametrize('name', NOTED)
def test_what_may_not_be_meant_is_noted(files, name):
    changes, part = NOTED[name]
    findings = faults(files(**changes), Level.NOTE)
    assert any(part in f.what for f in findings), findings
    assert all(f.mend for f in findings)


def test_a_group_of_fixed_joints_that_no_kinematics_yaml_names_is_fine(files):
    hand = '<group name="hand"><link name="tip"/></group><group_state'
    findings = examine(files(srdf=replaced('<group_state', hand)))
    (finding,) = (f for f in findings if f.where == "group 'hand'")
    assert (finding.level, finding.what.startswith('no joint moves')) == (Level.FINE, True)


def test_meshes_that_are_missing_are_not_called_no_geometry(files):
    mesh = '<collision><geometry><mesh filename="package://gone/x.stl"/></geometry></collision>'
    said = [f.what for f in examine(files(urdf=replaced(BALL, mesh))) if f.where == 'collisions']
    assert said and all('gone' in text for text in said)


def test_the_command_says_so_by_its_exit_code(files, capsys):
    fine = files()
    words = [str(fine.urdf), '--srdf', str(fine.srdf), '--kinematics', str(fine.kinematics)]
    assert main(['doctor', *words, '--joint-limits', str(fine.joint_limits)]) == 0
    assert '0 fault' in capsys.readouterr().out
    broken = files(srdf=replaced('value="0.5"', 'value="2.0"'))
    assert main(['doctor', *words, '--json', '--joint-limits', str(broken.joint_limits)]) == 1
    assert '"fault"' in capsys.readouterr().out
    assert main(['doctor', 'no_such_robot']) == 2
