"""``ssik add-arm``: figures of an arm into a catalogue, and back."""

import math

import numpy as np
import pytest

from ssik_ros.cli import catalogue_entry
from ssik_ros.cli.catalogue_entry import entry_text
from ssik_ros.cli.command import main
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, rpy_of_matrix
from ssik_ros.model.catalogue import (
    arm_data,
    catalogue_path,
    list_arms,
    load_arm,
    make_urdf,
    parse_catalogue,
    read_catalogue,
)
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.strict_yaml import parse_yaml


def add(path, *words):
    """Return the exit code of ``ssik add-arm`` into a catalogue."""
    return main(['add-arm', *words, '--catalogue', str(path)])


@pytest.fixture
def catalogue(tmp_path):
    """Return a catalogue of two arms with comments."""
    path = tmp_path / 'arms.yaml'
    arms = [entry_text(arm_data(name)) for name in ('ur5e', 'jaco2')]
    path.write_text('# head\n\narms:\n' + '\n  # between\n'.join(arms), encoding='utf-8')
    return path


def test_an_arm_comes_into_a_new_catalogue_and_moves_like_its_description(tmp_path, capsys):
    path, urdf = tmp_path / 'mine.yaml', find_moveit_config('panda').urdf_path
    words = ['--base', 'panda_link0', '--ee', 'panda_link8', '--name', 'my_panda']
    assert add(path, str(urdf), *words, '--vendor', "Franka's", '--title', 'no') == 0
    assert "'my_panda' was added to" in capsys.readouterr().out
    arm = read_catalogue(path)['my_panda']
    assert (arm.vendor, arm.title, arm.source) == ("Franka's", 'no', urdf.name)
    assert (arm.expected_class, arm.tip_link) == ('spherical_shoulder', 'panda_link8')
    ours = SerialChain.from_robot(load_robot(make_urdf(arm)), 'panda_link0', 'panda_link8')
    theirs = SerialChain.from_robot(load_robot(urdf), 'panda_link0', 'panda_link8')
    assert list(ours.lower) == list(theirs.lower) and ours.joint_names == theirs.joint_names
    for q in np.random.default_rng(1).uniform(-2.0, 2.0, (10, 7)):
        assert np.abs(ours.pose(q) - theirs.pose(q)).max() < 1e-12


def test_the_rest_of_a_catalogue_stays_as_it_is(catalogue):
    before = catalogue.read_text(encoding='utf-8')
    assert add(catalogue, '--robot', 'gen3', '--name', 'my_gen3') == 0
    after = catalogue.read_text(encoding='utf-8')
    assert after.startswith(before.rstrip('\n') + '\n\n  my_gen3:\n')
    assert list(read_catalogue(catalogue)) == ['ur5e', 'jaco2', 'my_gen3']


def test_an_arm_is_replaced_by_force_alone(catalogue, capsys):
    before = catalogue.read_text(encoding='utf-8')
    words = ['--robot', 'puma560', '--name', 'ur5e', '--title', 'Puma']
    assert add(catalogue, *words) == 2
    assert '--force' in capsys.readouterr().err
    assert catalogue.read_text(encoding='utf-8') == before
    assert add(catalogue, *words, '--force') == 0
    after = catalogue.read_text(encoding='utf-8')
    assert after.startswith('# head\n\narms:\n  ur5e:\n') and '\n  # between\n  jaco2:' in after
    arms = read_catalogue(catalogue)
    assert (list(arms), arms['ur5e'].title) == (['ur5e', 'jaco2'], 'Puma')
    assert arms['jaco2'] == parse_catalogue(parse_yaml(before, 'x'), 'x')['jaco2']


def test_a_dry_run_writes_nothing(catalogue, capsys):
    before = catalogue.read_text(encoding='utf-8')
    assert add(catalogue, '--robot', 'gen3', '--name', 'my_gen3', '--dry-run') == 0
    assert capsys.readouterr().out.startswith('  my_gen3:\n    vendor: unknown\n')
    assert catalogue.read_text(encoding='utf-8') == before


def test_the_catalogue_that_comes_along_is_meant_by_default(capsys):
    before = catalogue_path().read_bytes()
    assert main(['add-arm', '--robot', 'ur5e', '--name', 'ur5e']) == 2
    assert str(catalogue_path()) in capsys.readouterr().err
    assert main(['add-arm', '--robot', 'ur5e', '--name', 'not_there', '--dry-run']) == 0
    assert catalogue_path().read_bytes() == before


@pytest.mark.parametrize('name', list_arms())
def test_every_arm_is_described_as_it_stands_in_the_catalogue(name):
    arm, robot = arm_data(name), load_arm(name)
    group = robot.group_from_links(arm.base_link, arm.tip_link)
    chosen = catalogue_entry.ChosenGroup(robot, group)
    again = catalogue_entry.describe_arm(chosen, name, arm.vendor, arm.title, arm.source)
    assert again.expected_class == arm.expected_class
    assert (again.near_miss is None) == (arm.near_miss is None)
    if arm.near_miss is not None:
        assert again.near_miss.arm_class == arm.near_miss.arm_class
        assert again.near_miss.distance == pytest.approx(
            arm.near_miss.distance, rel=1e-5, abs=1e-12
        )
        assert again.near_miss.angle == pytest.approx(arm.near_miss.angle, rel=1e-5, abs=1e-12)
    for ours, theirs in zip(again.joints, arm.joints, strict=True):
        assert (ours.name, ours.type, ours.lower, ours.upper) == (
            theirs.name,
            theirs.type,
            theirs.lower,
            theirs.upper,
        )
        assert (ours.xyz, ours.rpy) == (theirs.xyz, theirs.rpy)
        assert ours.axis == pytest.approx(theirs.axis, abs=1e-15)
    content = parse_yaml('arms:\n' + entry_text(again), 'x')
    assert parse_catalogue(content, 'x') == {name: again}


def test_an_entry_that_moves_otherwise_is_refused(monkeypatch, tmp_path, capsys):
    original = catalogue_entry.rpy_of_matrix
    monkeypatch.setattr(
        catalogue_entry,
        'rpy_of_matrix',
        lambda rotation: (original(rotation)[0] + 1e-10, *original(rotation)[1:]),
    )
    assert add(tmp_path / 'mine.yaml', '--robot', 'ur5e', '--name', 'mine') == 2
    assert 'misses its description by' in capsys.readouterr().err
    assert not (tmp_path / 'mine.yaml').exists()


@pytest.mark.parametrize('pitch', [0.0, 0.3, -1.2, *(s * math.pi / 2 for s in (1, -1, 1 - 1e-9))])
def test_roll_pitch_and_yaw_make_the_rotation_again(pitch):
    rng = np.random.default_rng(5)
    for roll, yaw in rng.uniform(-math.pi, math.pi, (20, 2)):
        rotation = matrix_of_rpy(roll, pitch, yaw)
        again = matrix_of_rpy(*rpy_of_matrix(rotation))
        assert np.abs(again - rotation).max() < 1e-15


def test_fixed_joints_between_are_multiplied_in(tmp_path):
    arm = arm_data('ur5e')
    text = make_urdf(arm).replace(
        '<parent link="elbow_joint_link" />', '<parent link="bracket" />', 1
    )
    bracket = (
        '<link name="bracket"/><joint name="screw" type="fixed"><parent link="elbow_joint_link"/>'
        '<child link="bracket"/><origin xyz="0.01 0.02 0.03" rpy="0.1 1.5707963267948966 0.3"/>'
        '</joint></robot>'
    )
    path = tmp_path / 'arm.urdf'
    path.write_text(text.replace('</robot>', bracket), encoding='utf-8')
    assert add(tmp_path / 'mine.yaml', str(path), '--ee', 'tool0', '--name', 'mine') == 0
    added = read_catalogue(tmp_path / 'mine.yaml')['mine']
    assert [joint.name for joint in added.joints] == [joint.name for joint in arm.joints]
    assert added.joints[3].xyz != arm.joints[3].xyz and added.joints[2] == arm.joints[2]


def test_poses_count_from_the_base_that_was_named(tmp_path):
    world = (
        '<link name="world"/><joint name="stand" type="fixed"><parent link="world"/>'
        '<child link="base_link"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint></robot>'
    )
    path = tmp_path / 'arm.urdf'
    path.write_text(make_urdf(arm_data('ur5e')).replace('</robot>', world), encoding='utf-8')
    for base in ('base_link', 'world'):
        words = ['--base', base, '--ee', 'tool0', '--name', base]
        assert add(tmp_path / 'mine.yaml', str(path), *words) == 0
    arms = read_catalogue(tmp_path / 'mine.yaml')
    expected = arm_data('ur5e').joints[0].xyz
    assert arms['base_link'].joints[0].xyz == pytest.approx(expected, abs=1e-15)
    assert arms['world'].joints[0].xyz != pytest.approx(expected, abs=0.1)


def test_a_chain_of_eight_joints_has_no_class(tmp_path, capsys):
    more = (
        '<link name="more"/><joint name="eighth" type="continuous"><parent link="panda_link8"/>'
        '<child link="more"/></joint></robot>'
    )
    path = tmp_path / 'arm.urdf'
    path.write_text(make_urdf(arm_data('panda')).replace('</robot>', more), encoding='utf-8')
    assert add(tmp_path / 'mine.yaml', str(path), '--name', 'mine') == 2
    assert 'has 8 joints' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--robot', 'ur5e', '--name', 'My-Arm'], 'lower case with underscores'),
        (['--robot', 'ur5e', '--name', 'x', '--base', 'no'], 'no'),
        (['--name', 'x'], 'Name one robot'),
        (['--robot', 'ur5e', '--name', 'x', '--vendor', ' '], 'vendor'),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_two(words, message, tmp_path, capsys):
    path = tmp_path / 'mine.yaml'
    assert add(path, *words) == 2
    assert message in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize('text', ['arms: {}\n', 'other: 1\n', 'arms: [\n', 'arms:\n  x: 1\n'])
def test_a_catalogue_that_cannot_be_read_is_left_alone(text, tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text(text, encoding='utf-8')
    assert add(path, '--robot', 'ur5e', '--name', 'mine') == 2
    assert path.read_text(encoding='utf-8') == text


def test_a_place_that_cannot_be_written_is_an_error(tmp_path, capsys):
    assert add(tmp_path / 'gone' / 'mine.yaml', '--robot', 'ur5e', '--name', 'mine') == 2
    assert 'cannot be written' in capsys.readouterr().err


def test_a_name_is_asked_for(capsys):
    with pytest.raises(SystemExit) as ended:
        main(['add-arm', '--robot', 'ur5e'])
    assert ended.value.code == 2 and '--name' in capsys.readouterr().err


def test_a_slide_without_limits_is_named(tmp_path, capsys):
    text = '<robot name="r"><link name="a"/><link name="b"/><joint name="rail" type="prismatic">'
    text += '<parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint></robot>'
    urdf = tmp_path / 'slide.urdf'
    urdf.write_text(text)
    assert (
        add(tmp_path / 'mine.yaml', str(urdf), '--name', 'slide', '--base', 'a', '--tip', 'b') == 2
    )
    assert "Joint 'rail' lacks a limit" in capsys.readouterr().err
    assert not (tmp_path / 'mine.yaml').exists()
