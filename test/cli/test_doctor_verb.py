"""``ssik doctor`` without a robot: the installation, also where the package itself does not load."""

import importlib.metadata
import importlib.util
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

from ssik_ros.cli import installation
from ssik_ros.cli.command import main
from ssik_ros.cli.installation import examine_installation, Probe
from ssik_ros.kernels.native import targets
from ssik_ros.server.findings import Level

ROOT = Path(__file__).resolve().parents[2]
LOADED = Probe(version='1.0', place='/somewhere')


def run(folder, *words, code='from ssik_ros.cli.command import main; raise SystemExit(main())'):
    """Return a finished process of the command, with one folder first on its path."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(('NUMBA_', 'SSIK_'))}
    path = os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')])
    return subprocess.run(
        [sys.executable, '-c', code, *words],
        env={**inherited, 'PYTHONPATH': path, 'PYTHONDONTWRITEBYTECODE': '1'},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def ask(folder):
    """Return the exit code and the rows of a check-up, by their subject."""
    done = run(folder, 'doctor', '--json')
    assert done.stderr == ''
    return done.returncode, {row['where']: row for row in json.loads(done.stdout)}


@pytest.fixture
def tree(tmp_path):
    """Return a source tree of the package that may be broken."""
    ignored = shutil.ignore_patterns('__pycache__')
    shutil.copytree(ROOT / 'ssik_ros', tmp_path / 'ssik_ros', ignore=ignored)
    (tmp_path / 'tools').mkdir()
    (tmp_path / 'tools' / 'build_native.py').touch()
    for name in ('scipy', 'pinocchio', 'coal', 'yaml', 'matplotlib', 'rich', 'rclpy'):
        # In place of packages that take long to import.
        (tmp_path / f'{name}.py').write_text("__version__ = '3.9'\n")
    return tmp_path


@pytest.fixture
def examine(monkeypatch):
    """Return a function that checks the installation, with given results of fresh processes."""

    def examine(**changes):
        library = Probe(shown=f'{targets.of_this_machine()[0]} /x.so True')
        probes = {installation.LIBRARY: library} | changes
        monkeypatch.setattr(installation, 'probe', lambda name, *_: probes.get(name, LOADED))
        return {finding.where: finding for finding in examine_installation()}

    return examine


def test_an_installation_that_works_has_no_faults():
    code, rows = ask(ROOT)
    assert code == 0
    assert all(row['level'] != 'fault' for row in rows.values())
    assert rows['Python']['what'].startswith('.'.join(map(str, sys.version_info[:3])))
    assert 'fits the sources' in rows['native library']['what']
    assert str(ROOT) in rows['native library']['what']


def test_the_collision_library_has_a_version_of_its_own(examine, monkeypatch):
    monkeypatch.setattr(importlib.metadata, 'requires', lambda name: ['pin<5,>=3.4'])
    old = Probe(version='3.0.3', place='/x.py')
    findings = examine(pinocchio=old, coal=old)
    assert findings['collision library'].level == installation.Level.FINE
    assert findings['pinocchio'].level == installation.Level.NOTE


def test_each_extra_is_listed_with_what_is_missing_and_the_command(examine, monkeypatch):
    has = {'viser', 'zarr', 'numcodecs', 'dask', 'distributed'}
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: True if name in has else None)
    findings = examine()
    assert findings['extra view'].level == installation.Level.FINE
    assert findings['extra reach'].level == installation.Level.NOTE
    assert (
        findings['extra reach'].what == 'pyarrow not found; only reach maps and data sets need it'
    )
    assert findings['extra reach'].mend == "pip install 'ssik_ros[reach]'"
    assert findings['extra xacro'].level == installation.Level.NOTE


def test_the_extras_are_those_of_the_package():
    text = (ROOT / 'setup.py').read_text(encoding='utf-8')
    for extra in installation.EXTRAS:
        listed = re.search(rf"'{extra.name}': \[(.*?)\]", text, re.S)[1]
        assert set(re.findall(r"'(\w+)[<>=]", listed)) == set(extra.modules)


def test_a_stale_library_is_a_fault_with_the_file_and_the_command(tree):
    file = tree / 'ssik_ros' / 'kernels' / 'geometry' / 'so3.py'
    file.write_text(f'{file.read_text()}\nOTHER = 1.0\n')
    code, rows = ask(tree)
    assert code == 1
    assert rows['native library']['level'] == 'fault'
    assert 'so3.py changed' in rows['native library']['what']
    assert rows['native library']['mend'] == f'make -C {tree} setup'
    assert rows['numpy']['level'] == 'fine'


def test_a_missing_library_is_a_fault_with_the_command(tree):
    for file in (tree / 'ssik_ros' / 'kernels' / 'native').glob('*.so'):
        file.unlink()
    code, rows = ask(tree)
    assert code == 1
    assert 'is not built' in rows['native library']['what']
    assert rows['native library']['mend'] == f'make -C {tree} setup'


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('size', 'what'), [(10, 'does not load: ImportError: '), (5000, 'ends Python with SIG')]
)
def test_a_library_that_is_cut_off_is_a_fault(tree, size, what):
    for file in (tree / 'ssik_ros' / 'kernels' / 'native').glob('*.so'):
        file.write_bytes(file.read_bytes()[:size])
    code, rows = ask(tree)
    assert code == 1
    assert rows['native library']['what'].startswith(what)


def test_a_verb_that_needs_a_stale_library_ends_with_one_line(tree):
    file = tree / 'ssik_ros' / 'kernels' / 'geometry' / 'so3.py'
    file.write_text(f'{file.read_text()}\nOTHER = 1.0\n')
    for name in ('rich', 'yaml', 'scipy'):
        (tree / f'{name}.py').unlink()
    done = run(tree, 'classify', 'ur5e')
    assert done.returncode == 2
    assert done.stderr.startswith('ssik classify: The native library was built from other kernels')
    assert done.stderr.count('\n') == 1


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('source', 'what'),
    [
        ("raise ModuleNotFoundError('No module', name=__name__)", 'not found'),
        ("raise RuntimeError('built for another numpy')", 'does not load: RuntimeError: built'),
        ('import absent_part', "does not load: No module named 'absent_part'"),
        ('import os; os.kill(os.getpid(), 4)', 'ends Python with SIGILL when imported'),
    ],
)
def test_a_package_that_does_not_load_is_a_fault_and_the_check_goes_on(tree, source, what):
    (tree / 'scipy.py').write_text(source)
    code, rows = ask(tree)
    assert code == 1
    assert rows['scipy']['level'] == 'fault' and rows['scipy']['what'].startswith(what)
    assert re.search(r'pip install .scipy|apt install python3-scipy', rows['scipy']['mend'])
    assert rows['numpy']['level'] == 'fine'


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['numpy', 'yaml', 'rich'])
def test_the_check_needs_no_package_of_others(tree, name):
    (tree / f'{name}.py').write_text("raise ModuleNotFoundError('No module', name=__name__)")
    done = run(tree, 'doctor')
    assert done.returncode == 1 and done.stderr == ''
    assert re.search(r'^fault  (numpy|PyYAML|rich) +not found$', done.stdout, re.MULTILINE)


def test_without_ros_there_are_notes_with_the_command(tree, monkeypatch):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    (tree / 'rclpy.py').write_text("raise ModuleNotFoundError('No module', name=__name__)")
    code, rows = ask(tree)
    assert code == 0
    assert rows['ROS']['level'] == 'note' and 'only the node needs ROS' in rows['ROS']['what']
    assert re.search('source|make|install', rows['ROS']['mend'])
    assert rows['MoveIt']['level'] == 'note'
    assert 'messages' not in rows


def test_missing_messages_are_named(examine, monkeypatch):
    monkeypatch.setattr(installation, 'MESSAGES', ('sensor_msgs', 'absent_msgs'))
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    packages = {'sensor_msgs': object()}
    monkeypatch.setattr(installation.importlib.util, 'find_spec', packages.get)
    rows = examine()
    assert rows['messages'].what.startswith('not found: absent_msgs;')
    assert rows['messages'].mend == 'sudo apt install ros-jazzy-absent-msgs'
    assert rows['ssik_msgs'].level == Level.NOTE and 'colcon build' in rows['ssik_msgs'].mend


def test_pinocchio_beside_numpy_1_is_installed_without_what_pip_takes_for_its_needs(
    examine, monkeypatch
):
    absent = Probe(error='not found')
    monkeypatch.setattr(installation.importlib.metadata, 'version', lambda name: '1.24.2')
    command = examine(pinocchio=absent)['pinocchio'].mend
    assert '--no-deps -r' in command and command.endswith('requirements/pinocchio.txt')
    monkeypatch.setattr(installation.importlib.metadata, 'version', lambda name: '2.3.0')
    assert '--no-deps' not in examine(pinocchio=absent)['pinocchio'].mend


def test_moveit_and_its_plugin_are_found_in_the_index_of_ros(examine, monkeypatch, tmp_path):
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'moveit_core').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    rows = examine()
    assert rows['MoveIt'].level == Level.FINE and str(tmp_path) in rows['MoveIt'].what
    assert rows['ssik_moveit'].level == Level.NOTE
    (index / 'ssik_moveit').touch()
    assert examine()['ssik_moveit'].level == Level.FINE


@pytest.mark.parametrize(
    ('version', 'level'),
    [('1.25.9', 'NOTE'), ('1.26', 'FINE'), ('1.26.0', 'FINE'), ('2.4.6', 'FINE'), ('3.0', 'NOTE')],
)
def test_a_version_outside_the_bounds_is_a_note(examine, monkeypatch, version, level):
    bounds = ['numpy<3,>=1.26', 'rich>=13.0', 'pytest; extra == "test"']
    monkeypatch.setattr(installation.importlib.metadata, 'requires', lambda _: bounds)
    row = examine(numpy=LOADED._replace(version=version))['numpy']
    assert row.level == Level[level]
    assert ('ssik_ros requires numpy<3,>=1.26' in row.what) == (level == 'NOTE')


@pytest.mark.parametrize(
    ('variable', 'value'),
    [('SSIK_ROS_JIT', '1'), ('NUMBA_DISABLE_JIT', '1'), ('SSIK_ROS_TARGET', 'x86_64_v2')],
)
def test_a_variable_that_changes_the_kernels_is_a_note(examine, monkeypatch, variable, value):
    for name in ('SSIK_ROS_JIT', 'NUMBA_DISABLE_JIT', 'SSIK_ROS_TARGET'):
        monkeypatch.delenv(name, raising=False)
    assert variable not in examine()
    monkeypatch.setenv(variable, value)
    row = examine()[variable]
    assert row.level == Level.NOTE and row.mend == f'unset {variable}'


def test_with_numba_a_missing_library_is_a_note_and_a_missing_numba_a_fault(examine, monkeypatch):
    monkeypatch.delenv('NUMBA_DISABLE_JIT', raising=False)
    monkeypatch.setenv('SSIK_ROS_JIT', '1')
    missing = {installation.LIBRARY: Probe('is not built'), 'numba': Probe('not found')}
    rows = examine(**missing)
    assert rows['native library'].level == Level.NOTE
    assert rows['numba'].level == Level.FAULT


def test_a_library_for_an_older_processor_is_a_note(examine, monkeypatch):
    monkeypatch.setattr(targets, 'of_this_machine', lambda: ['x86_64_v3', 'x86_64_v2'])
    row = examine(**{installation.LIBRARY: Probe(shown='x86_64_v2 /x.so True')})['native library']
    assert row.level == Level.NOTE and 'x86_64_v3, which is faster here' in row.what


def test_a_processor_without_the_newer_instructions_is_told_which(examine, monkeypatch):
    monkeypatch.delenv('SSIK_ROS_TARGET', raising=False)
    monkeypatch.setattr(targets, 'processor_flags', lambda: targets.X86_64_V3 - {'avx2', 'fma'})
    monkeypatch.setattr(targets, 'of_this_machine', lambda: ['x86_64_v2'])
    what = examine()['processor'].what
    assert what.endswith('x86_64_v2 suits it, x86_64_v3 needs avx2, fma')


def test_a_machine_without_a_library_is_told_to_install_numba(examine, monkeypatch):
    monkeypatch.setattr(targets, 'of_this_machine', lambda: ['x86_64_v2'])
    library = Probe('There is none', 'install numba and set SSIK_ROS_JIT=1')
    monkeypatch.setattr(installation, 'ROOT', Path('/nowhere'))
    examine()
    monkeypatch.setattr(targets, 'of_this_machine', list)
    monkeypatch.setattr(installation, 'probe', lambda *_: library)
    rows = {finding.where: finding for finding in examine_installation()}
    assert rows['native library'].mend == library.mend
    assert 'numba' in rows['processor'].mend and 'SSIK_ROS_JIT=1' in rows['processor'].mend


def test_files_without_a_robot_are_refused(capsys):
    assert main(['doctor', '--srdf', 'panda.srdf']) == 2
    assert 'name it' in capsys.readouterr().err


def test_the_messages_are_those_of_the_package():
    manifest = (ROOT / 'package.xml').read_text()
    named = re.findall(r'<exec_depend>(\w+_msgs|\w+_interfaces)</exec_depend>', manifest)
    assert set(named) <= {*installation.MESSAGES, 'ssik_msgs'}
    sources = '\n'.join(path.read_text() for path in (ROOT / 'ssik_ros' / 'ros').rglob('*.py'))
    imported = re.findall(r'^\s*from (\w+_(?:msgs|interfaces))\.', sources, re.MULTILINE)
    # ik_view sends goals to actions where they are installed; no node needs them.
    assert set(imported) - {'control_msgs'} == {*installation.MESSAGES, 'ssik_msgs'}


def small_package(folder):
    """Write a MoveIt configuration with two robots, in xacro, and return its folder."""
    (folder / 'cell_moveit_config/config').mkdir(parents=True)
    joint = (
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="1" '
        'velocity="1" effort="1"/></joint>'
    )
    for name in ('left', 'right'):
        head = f'<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        texts = {
            'urdf.xacro': f'{head}<link name="a"/><link name="b"/>{joint}</robot>',
            'srdf': f'{head}<group name="arm"><chain base_link="a" tip_link="b"/></group></robot>',
        }
        for ending, text in texts.items():
            (folder / f'cell_moveit_config/config/{name}.{ending}').write_text(text)
    return folder / 'cell_moveit_config'


def test_the_robot_of_a_package_and_xacro_arguments_can_be_named(tmp_path, capsys):
    pytest.importorskip('xacro', reason='xacro is not installed (pip install xacro)')
    folder = small_package(tmp_path)
    assert main(['doctor', str(folder)]) == 2
    error = capsys.readouterr().err
    assert 'config/left.srdf, config/right.srdf' in error and '--robot-name' in error
    words = ['--robot-name', 'right', '--xacro-arg', 'unused:=1', '--json']
    assert main(['doctor', str(folder), *words]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert any(row['where'].endswith('right.urdf.xacro') for row in rows)


def test_verbs_take_the_robot_of_a_package_and_xacro_arguments(tmp_path, capsys):
    pytest.importorskip('xacro', reason='xacro is not installed (pip install xacro)')
    package = ['--moveit-config', str(small_package(tmp_path))]
    assert main(['solve', *package, '--joints', '0.5']) == 2
    assert '--robot-name' in capsys.readouterr().err
    words = ['--robot-name', 'right', '--xacro-arg', 'unused:=1', '--joints', '0.5']
    assert main(['solve', *package, *words]) == 0
