"""Finding descriptions: MoveIt packages in MoveIt's order, the shipped robots, xacro, package URIs."""

import os
from pathlib import Path
import site
import sys
import sysconfig
import types

from test.model.small_robots import joint, robot

import pytest

from ssik_ros.errors import DescriptionNotFound, ModelError
from ssik_ros.model import description_files
from ssik_ros.model.description_files import (
    config_directory,
    find_moveit_config,
    resolve_package_uri,
)
from ssik_ros.model.loader import load_robot

ARM = robot(joint('j', 'revolute', 'a', 'b'), name='arm')
SRDF = '<robot name="arm"/>'


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return a ROS prefix that is the only one."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    return tmp_path / 'ros'


def write(prefix, package, files):
    """Write the files of a package and return its share folder."""
    folder = prefix / 'share' / package
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


PLAIN = {'config/arm.urdf': ARM, 'config/arm.srdf': SRDF}
ASSISTANT = """
moveit_setup_assistant_config:
  {key}:
    package: arm_description
    relative_path: urdf/robot.urdf
    xacro_args: "prefix:=left_ use_gripper:=false"
  {srdf}:
    relative_path: config/semantics.srdf
"""


def test_a_robot_s_name_finds_its_package(prefix):
    folder = write(prefix, 'arm_moveit_config', PLAIN)
    config = find_moveit_config('arm')
    assert config.directory == folder
    assert config.robot_name == 'arm'
    assert config.urdf_path == folder / 'config/arm.urdf'
    assert config.srdf_path == folder / 'config/arm.srdf'


def test_a_package_s_name_finds_it(prefix):
    folder = write(prefix, 'arm_moveit_config', PLAIN)
    assert find_moveit_config('arm_moveit_config').directory == folder


def test_a_package_may_have_any_name_when_the_robot_is_told(prefix):
    folder = write(prefix, 'cell', PLAIN)
    assert find_moveit_config('cell', 'arm').urdf_path == folder / 'config/arm.urdf'


def test_a_folder_may_be_given_itself(tmp_path):
    folder = write(tmp_path, 'arm_moveit_config', PLAIN)
    assert find_moveit_config(folder).robot_name == 'arm'


def test_the_xacro_of_the_package_comes_first(prefix):
    files = {
        **PLAIN,
        'config/arm.urdf.xacro': ARM,
        '.setup_assistant': ASSISTANT.format(key='URDF', srdf='SRDF'),
        'config/semantics.srdf': SRDF,
    }
    folder = write(prefix, 'arm_moveit_config', files)
    assert find_moveit_config('arm').urdf_path == folder / 'config/arm.urdf.xacro'


@pytest.mark.parametrize(('key', 'srdf'), [('URDF', 'SRDF'), ('urdf', 'srdf')])
def test_the_setup_assistant_s_entry_comes_second(prefix, key, srdf):
    described = write(prefix, 'arm_description', {'urdf/robot.urdf': ARM})
    files = {
        **PLAIN,
        '.setup_assistant': ASSISTANT.format(key=key, srdf=srdf),
        'config/semantics.srdf': SRDF,
    }
    folder = write(prefix, 'arm_moveit_config', files)
    config = find_moveit_config('arm')
    assert config.urdf_path == described / 'urdf/robot.urdf'
    assert config.srdf_path == folder / 'config/semantics.srdf'
    assert config.xacro_args == {'prefix': 'left_', 'use_gripper': 'false'}


def test_a_description_package_that_is_not_installed_is_named(prefix):
    files = {**PLAIN, '.setup_assistant': ASSISTANT.format(key='URDF', srdf='SRDF')}
    write(prefix, 'arm_moveit_config', files)
    with pytest.raises(DescriptionNotFound, match="'arm_description'"):
        find_moveit_config('arm')


def test_the_files_beside_the_missing_one_are_named(prefix):
    write(prefix, 'arm_description', {'urdf/robot_v2.urdf.xacro': ARM})
    files = {**PLAIN, '.setup_assistant': ASSISTANT.format(key='URDF', srdf='SRDF')}
    write(prefix, 'arm_moveit_config', files)
    with pytest.raises(DescriptionNotFound, match='beside it are robot_v2'):
        find_moveit_config('arm')


@pytest.mark.parametrize('missing', ['config/arm.urdf', 'config/arm.srdf'])
def test_a_missing_file_of_a_package_is_named(prefix, missing):
    write(prefix, 'arm_moveit_config', {k: v for k, v in PLAIN.items() if k != missing})
    with pytest.raises(DescriptionNotFound, match=missing):
        find_moveit_config('arm')


def test_optional_files_are_found_or_none(prefix):
    files = {**PLAIN, 'config/kinematics.yaml': 'g: {}'}
    folder = write(prefix, 'arm_moveit_config', files)
    config = find_moveit_config('arm')
    assert config.kinematics_path == folder / 'config/kinematics.yaml'
    assert config.joint_limits_path is None


def test_the_nearest_overlay_wins(prefix, tmp_path, monkeypatch):
    write(prefix, 'arm_moveit_config', PLAIN)
    nearer = write(tmp_path / 'overlay', 'arm_moveit_config', PLAIN)
    overlays = os.pathsep.join([str(tmp_path / 'overlay'), str(prefix)])
    monkeypatch.setenv('AMENT_PREFIX_PATH', overlays)
    assert find_moveit_config('arm').directory == nearer


TWICE = """
moveit_setup_assistant_config:
  control_xacro: {command: [position]}
  srdf: {relative_path: config/first.srdf}
  control_xacro: {command: [velocity]}
"""


def test_a_setup_assistant_file_may_have_keys_twice_that_nobody_reads(prefix, caplog):
    folder = write(
        prefix,
        'arm_moveit_config',
        {**PLAIN, '.setup_assistant': TWICE, 'config/first.srdf': SRDF},
    )
    assert find_moveit_config('arm').srdf_path == folder / 'config/first.srdf'
    assert caplog.messages == []


def test_of_an_entry_of_the_setup_assistant_that_stands_twice_the_last_counts(prefix, caplog):
    text = TWICE + '  srdf: {relative_path: config/arm.srdf}\n'
    folder = write(prefix, 'arm_moveit_config', {**PLAIN, '.setup_assistant': text})
    assert find_moveit_config('arm').srdf_path == folder / 'config/arm.srdf'
    assert caplog.messages == [
        f"{folder}/.setup_assistant:6: key 'srdf' stands already in line 4; the value of this line counts."
    ]


def test_a_broken_setup_assistant_file_does_not_matter_where_the_files_say_enough(prefix, caplog):
    folder = write(prefix, 'arm_moveit_config', {**PLAIN, '.setup_assistant': 'a: [1'})
    assert find_moveit_config('arm').urdf_path == folder / 'config/arm.urdf'
    assert f'{folder}/.setup_assistant, line 1' in caplog.messages[0]


SEVERAL = {
    f'config/{name}.{kind}': text
    for name in ('left', 'right')
    for kind, text in (('urdf.xacro', ARM), ('srdf', SRDF))
} | {'config/left.ros2_control.xacro': ARM, 'config/arm_macro.srdf.xacro': SRDF}


def test_a_package_of_several_robots_lists_its_files_and_the_parameter(prefix):
    write(prefix, 'cell_moveit_config', SEVERAL)
    with pytest.raises(DescriptionNotFound) as caught:
        find_moveit_config('cell_moveit_config')
    message = str(caught.value)
    assert 'config/left.srdf, config/right.srdf. Name one by semantic_file' in message
    assert 'config/left.urdf.xacro, config/right.urdf.xacro. Name' in message
    assert 'robot_name' in message and '--robot-name' in message


def test_the_robot_of_a_package_of_several_can_be_named(prefix):
    folder = write(prefix, 'cell_moveit_config', SEVERAL)
    config = find_moveit_config('cell_moveit_config', 'right')
    assert config.urdf_path == folder / 'config/right.urdf.xacro'
    assert (config.srdf_path, config.robot_name) == (folder / 'config/right.srdf', 'right')


def test_a_named_robot_is_never_replaced_by_the_one_of_the_setup_assistant(prefix):
    files = {**SEVERAL, '.setup_assistant': TWICE.replace('first', 'left')}
    folder = write(prefix, 'cell_moveit_config', files)
    assert (
        find_moveit_config('cell_moveit_config', 'right').srdf_path == folder / 'config/right.srdf'
    )
    with pytest.raises(DescriptionNotFound, match=r'config/middle\.urdf'):
        find_moveit_config('cell_moveit_config', 'middle')


@pytest.mark.parametrize('place', ['config', 'srdf'])
@pytest.mark.parametrize('ending', ['', '.xacro'])
def test_the_only_robot_of_a_package_needs_no_name(prefix, place, ending):
    files = {
        'config/kinematics.yaml': '',
        f'{place}/lx.srdf{ending}': SRDF,
        f'urdf/lx.urdf{ending}': ARM,
    }
    folder = write(prefix, 'cell', files)
    config = find_moveit_config('cell')
    assert config.srdf_path == folder / f'{place}/lx.srdf{ending}'
    assert (config.urdf_path, config.robot_name) == (folder / f'urdf/lx.urdf{ending}', 'lx')


def test_an_srdf_that_became_a_xacro_since_the_setup_assistant_is_found(prefix):
    files = {
        'config/first.srdf.xacro': SRDF,
        'config/arm.urdf.xacro': ARM,
        '.setup_assistant': TWICE,
    }
    folder = write(prefix, 'arm_moveit_config', files)
    assert find_moveit_config('arm').srdf_path == folder / 'config/first.srdf.xacro'


def test_a_package_without_a_urdf_takes_a_given_one(prefix, tmp_path):
    folder = write(prefix, 'cell', {'config/kinematics.yaml': '', 'config/lx.srdf': SRDF})
    with pytest.raises(DescriptionNotFound, match='robot_description_file'):
        find_moveit_config('cell')
    config = find_moveit_config('cell', urdf=tmp_path / 'own.urdf')
    assert (config.urdf_path, config.srdf_path) == (
        tmp_path / 'own.urdf',
        folder / 'config/lx.srdf',
    )


CONFIG = {'srdf/cs.srdf': SRDF, 'config/kinematics.yaml': 'g: {}'}
MANIFEST = '<package format="3"><exec_depend>arm_description</exec_depend></package>'


@pytest.mark.parametrize('ending', ['', '.xacro'])
def test_a_urdf_in_a_package_that_is_depended_on_is_used_and_said(prefix, caplog, ending):
    described = write(prefix, 'arm_description', {f'urdf/cs.urdf{ending}': ARM})
    write(prefix, 'other_description', {'urdf/cs.urdf': ARM})
    write(prefix, 'robot_moveit_config', {**CONFIG, 'package.xml': MANIFEST})
    config = find_moveit_config('robot_moveit_config')
    assert config.urdf_path == described / f'urdf/cs.urdf{ending}'
    assert [record.getMessage() for record in caplog.records] == [
        f"'{config.directory}' has no URDF: '{config.urdf_path}' is used, from a package that it depends on."
    ]


def test_of_a_package_in_two_overlays_the_nearest_counts(prefix, tmp_path, monkeypatch):
    write(prefix, 'arm_description', {'urdf/cs.urdf': ARM})
    write(prefix, 'robot_moveit_config', {**CONFIG, 'package.xml': MANIFEST})
    nearer = write(tmp_path / 'overlay', 'arm_description', {'urdf/cs.urdf': ARM})
    overlays = os.pathsep.join([str(tmp_path / 'overlay'), str(prefix)])
    monkeypatch.setenv('AMENT_PREFIX_PATH', overlays)
    assert find_moveit_config('robot_moveit_config').urdf_path == nearer / 'urdf/cs.urdf'


@pytest.mark.parametrize(
    'files',
    [
        {**CONFIG},
        {**CONFIG, 'package.xml': '<package><exec_depend>arm_des'},
        {**CONFIG, 'package.xml': MANIFEST.replace('exec_depend', 'test_depend')},
    ],
)
def test_a_urdf_in_a_package_that_is_not_depended_on_is_only_named(prefix, files):
    described = write(prefix, 'arm_description', {'urdf/cs.urdf': ARM})
    write(prefix, 'robot_moveit_config', files)
    with pytest.raises(DescriptionNotFound) as refused:
        find_moveit_config('robot_moveit_config')
    assert f'of other packages: {described}/urdf/cs.urdf. Name one by' in str(refused.value)


def test_of_two_urdfs_that_are_depended_on_none_is_chosen(prefix):
    both = '<exec_depend>arm_description</exec_depend><depend>new_description</depend>'
    for package in ('arm_description', 'new_description'):
        write(prefix, package, {'urdf/cs.urdf': ARM})
    write(prefix, 'robot_moveit_config', {**CONFIG, 'package.xml': both})
    with pytest.raises(DescriptionNotFound, match='of other packages'):
        find_moveit_config('robot_moveit_config')


def test_a_description_package_beside_the_configuration_need_not_be_installed(tmp_path):
    described = write(tmp_path, 'arm_description', {'urdf/robot.urdf': ARM, 'package.xml': ''})
    folder = write(
        tmp_path,
        'arm_moveit_config',
        {
            '.setup_assistant': ASSISTANT.format(key='urdf', srdf='srdf'),
            'config/semantics.srdf': SRDF,
        },
    )
    assert find_moveit_config(folder).urdf_path == described / 'urdf/robot.urdf'


def test_an_unknown_name_lists_the_places_and_the_shipped_robots(prefix):
    with pytest.raises(DescriptionNotFound) as caught:
        find_moveit_config('pandda')
    message = str(caught.value)
    assert str(prefix) in message
    assert "Did you mean 'panda'" in message
    assert 'fanuc' in message


@pytest.mark.parametrize('name', ['panda', 'panda_moveit_config', 'moveit_resources_panda'])
def test_a_shipped_robot_is_found_by_name_package_and_alias(prefix, name):
    config = find_moveit_config(name)
    assert config.robot_name == 'panda'
    assert config.urdf_path.is_file()


def test_a_shipped_robot_is_found_by_the_alias_of_its_package_and_robot(prefix):
    config = find_moveit_config('moveit_resources_panda_moveit_config', 'moveit_resources_panda')
    assert config.directory.name == 'panda_moveit_config'


def test_an_installed_package_comes_before_a_shipped_robot(prefix):
    files = {name.replace('arm', 'panda'): text for name, text in PLAIN.items()}
    folder = write(prefix, 'panda_moveit_config', files)
    assert find_moveit_config('panda').directory == folder


def test_the_shipped_panda_loads_with_moveit_s_frames_and_order():
    config = find_moveit_config('panda')
    model = load_robot(config.urdf_path, config.srdf_path, config.joint_limits_path)
    fingers = ('panda_finger_joint1', 'panda_finger_joint2')
    arm = tuple(f'panda_joint{i}' for i in range(1, 8))
    assert model.tree.joint_names == arm + fingers
    assert model.model_frame == 'world'
    group = model.group('panda_arm')
    assert (group.base_link, group.tip, group.joint_names) == ('panda_link0', 'panda_link8', arm)


@pytest.mark.parametrize('name', ['panda', 'fanuc', 'gen3', 'ur5e'])
def test_a_shipped_robot_loads_without_remarks(name):
    config = find_moveit_config(name)
    assert load_robot(config.urdf_path, config.srdf_path, config.joint_limits_path).warnings == ()


def make_config(folder):
    """Make a configuration folder and return it."""
    (folder / 'robots').mkdir(parents=True)
    return folder


def test_configuration_files_in_a_ros_prefix_come_first(prefix):
    expected = make_config(prefix / 'share' / 'ssik_ros' / 'config')
    assert config_directory() == expected


def test_configuration_files_in_a_python_prefix_come_second(prefix, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, 'prefix', str(tmp_path / 'python'))
    expected = make_config(tmp_path / 'python' / 'share' / 'ssik_ros' / 'config')
    assert config_directory() == expected


def test_missing_configuration_files_are_an_error_with_the_places(prefix, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, 'prefix', str(tmp_path / 'python'))
    monkeypatch.setattr(sysconfig, 'get_path', lambda name: str(tmp_path / name))
    monkeypatch.setattr(site, 'getuserbase', lambda: str(tmp_path / 'user'))
    monkeypatch.setattr(description_files, 'SOURCE_TREE', tmp_path / 'source')
    with pytest.raises(DescriptionNotFound) as caught:
        config_directory()
    for place in ('python/share/ssik_ros', 'data/share/ssik_ros', 'user/share/ssik_ros', 'source'):
        assert str(tmp_path / place / 'config') in str(caught.value)


def test_a_package_uri_is_a_file_of_an_installed_package(prefix):
    folder = write(prefix, 'arm_description', {'meshes/link.stl': ''})
    uri = 'package://arm_description/meshes/link.stl'
    assert resolve_package_uri(uri) == folder / 'meshes/link.stl'


@pytest.mark.parametrize(
    'uri',
    [
        'package://gone/x.stl',
        'package://',
        'package:///x.stl',
        'file://gone',
        '',
        'file://\0',
        pytest.param('package://arm/' + 'x' * 10_000, id='a name that no file can have'),
    ],
)
def test_a_uri_that_leads_nowhere_is_none(prefix, uri):
    write(prefix, 'arm', {'x.stl': ''})
    assert resolve_package_uri(uri) is None


@pytest.mark.parametrize('relative', ['../other/x.stl', 'meshes/../../other/x.stl', '{absolute}'])
def test_a_package_uri_does_not_leave_its_package(prefix, relative):
    write(prefix, 'arm', {'meshes/link.stl': ''})
    absolute = write(prefix, 'other', {'x.stl': ''}) / 'x.stl'
    assert resolve_package_uri('package://arm/' + relative.format(absolute=absolute)) is None


def test_a_plain_path_is_no_uri(tmp_path):
    path = tmp_path / 'x.stl'
    path.touch()
    assert resolve_package_uri(str(path)) is None


def test_a_file_uri_is_a_path(tmp_path):
    path = tmp_path / 'x.stl'
    path.touch()
    assert resolve_package_uri(f'file://{path}') == path


XACRO = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>'


@pytest.fixture
def without_xacro(monkeypatch):
    """Take xacro away, module and program."""
    monkeypatch.setitem(sys.modules, 'xacro', None)
    monkeypatch.setenv('PATH', '')


def test_xacro_that_is_not_installed_is_said(tmp_path, without_xacro):
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    with pytest.raises(ModelError, match='xacro is not installed'):
        load_robot(path)


def test_xacro_elements_in_comments_need_no_xacro(tmp_path, without_xacro):
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM.replace('</robot>', '<!-- <xacro:old/> --></robot>'))
    assert load_robot(path).name == 'arm'


def test_the_xacro_module_expands_with_the_given_arguments(tmp_path, monkeypatch):
    seen = {}

    def process_file(path, mappings):
        seen.update(mappings, path=Path(path).name)
        return types.SimpleNamespace(toxml=lambda: ARM)

    monkeypatch.setitem(sys.modules, 'xacro', types.SimpleNamespace(process_file=process_file))
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    assert load_robot(path, xacro_args={'hand': True, 'n': 2}).name == 'arm'
    assert seen == {'hand': 'true', 'n': '2', 'path': 'arm.urdf.xacro'}


def test_a_xacro_module_that_fails_is_an_error_of_ours(tmp_path, monkeypatch):
    def process_file(path, mappings):
        raise KeyError('no such macro')

    monkeypatch.setitem(sys.modules, 'xacro', types.SimpleNamespace(process_file=process_file))
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    with pytest.raises(ModelError, match='no such macro'):
        load_robot(path)


def fake_program(folder, script):
    """Write a program called xacro and return its folder."""
    program = folder / 'xacro'
    program.write_text(f'#!/bin/sh\n{script}\n')
    program.chmod(0o755)
    return folder


def test_the_xacro_program_stands_in_for_the_module(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    (tmp_path / 'out.urdf').write_text(ARM)
    script = f'[ "$2" = "hand:=false" ] && /bin/cat "{tmp_path}/out.urdf"'
    monkeypatch.setenv('PATH', str(fake_program(tmp_path, script)))
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    assert load_robot(path, xacro_args={'hand': False}).name == 'arm'


def test_a_xacro_program_that_fails_is_an_error_with_its_words(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    monkeypatch.setenv('PATH', str(fake_program(tmp_path, 'echo "bad macro" >&2; exit 2')))
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(XACRO)
    with pytest.raises(ModelError, match='bad macro'):
        load_robot(path)


def test_arguments_for_a_file_that_is_no_xacro_are_said():
    assert 'xacro_args' in load_robot(ARM, xacro_args={'hand': True}).warnings[0]


def test_a_file_may_be_written_in_another_encoding(tmp_path):
    path = tmp_path / 'arm.urdf'
    text = '<?xml version="1.0" encoding="iso-8859-1"?>' + ARM.replace('"arm"', '"Gelenk_ä"')
    path.write_bytes(text.encode('iso-8859-1'))
    assert load_robot(path).name == 'Gelenk_ä'


def test_a_file_that_is_not_text_is_an_error(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_bytes(b'\xff\xfe\x00binary')
    with pytest.raises(ModelError, match='utf-8'):
        load_robot(path)


XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
ARM_XACRO = f'<robot name="arm" {XACRO}><link name="$(arg link)"/></robot>'
SRDF_XACRO = (
    f'<robot name="arm" {XACRO}><xacro:include filename="part.xacro"/>'
    '<group name="$(arg group)"><link name="a"/></group></robot>'
)
PART = f'<robot {XACRO}><xacro:arg name="side" default="left"/></robot>'


@pytest.fixture
def xacro_files(tmp_path):
    """Return a URDF and an SRDF in xacro that need an argument each."""
    pytest.importorskip('xacro', reason='xacro is not installed (pip install xacro)')
    texts = {'arm.urdf.xacro': ARM_XACRO, 'arm.srdf.xacro': SRDF_XACRO, 'part.xacro': PART}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path / 'arm.urdf.xacro', tmp_path / 'arm.srdf.xacro'


def test_each_file_takes_the_xacro_arguments_that_it_declares(xacro_files):
    model = load_robot(*xacro_files, xacro_args={'link': 'a', 'group': 'g'})
    assert (model.tree.root_link, list(model.groups)) == ('a', ['g'])


def test_a_missing_xacro_argument_is_named_with_file_parameter_and_declared_ones(xacro_files):
    with pytest.raises(ModelError) as caught:
        load_robot(*xacro_files, xacro_args={'link': 'a'})
    message = str(caught.value)
    assert str(xacro_files[1]) in message
    assert 'Its arguments: group, side; given (xacro_args, --xacro-arg): link:=a' in message


def test_a_warning_about_an_expanded_file_says_so(xacro_files):
    path = xacro_files[1]
    path.write_text(SRDF_XACRO.replace('"a"', '"b"'))
    warnings = load_robot(*xacro_files, xacro_args={'link': 'a', 'group': 'g'}).warnings
    assert warnings[0].startswith(f'{path} (expanded):')
