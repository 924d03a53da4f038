"""tools/build.sh builds the interface packages that the underlay lacks, and no other."""

from itertools import product
from pathlib import Path
import shutil
import subprocess

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(path.parent.name for path in (ROOT / 'interfaces').glob('*/package.xml'))

# Replies as python does if it is asked for the headers, and writes down the packages that colcon would build.
PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then
  echo "$VIRTUAL_ENV/include"
else
  printf '%s\\n' "$@" > "$VIRTUAL_ENV/colcon"
fi
"""

pytestmark = pytest.mark.skipif(not shutil.which('bash'), reason='no bash here')


def write(path: Path, text: str = '', mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def install(prefix: Path, package: str) -> None:
    write(prefix / 'share' / package / 'package.xml')


@pytest.fixture
def workspace(tmp_path):
    """Lay out a workspace with ROS from wheels, whose python and compilers only seem to work."""
    root = tmp_path / 'workspace'
    binaries = root / '.venv/bin'
    for name in ('activate', 'tools/build.sh'):
        write(root / name, (ROOT / name).read_text(), (ROOT / name).stat().st_mode)
    write(binaries / 'activate', f'export VIRTUAL_ENV="{root}/.venv" PATH="{binaries}:$PATH"\n')
    write(binaries / 'python', PYTHON, 0o755)
    for name in ('cmake', 'c++'):
        write(binaries / name, '#!/bin/sh\n', 0o755)
    write(root / '.venv/include/Python.h')
    write(root / '.venv/ros_library_path', f'{root}/.venv/lib\n')
    install(root / '.venv', 'rosidl_default_generators')
    for name in OURS:
        write(root / 'interfaces' / name / 'package.xml')
    (root / 'interfaces/notes').mkdir()
    return root


def build(workspace: Path, *prefixes: Path, what: str = 'interfaces') -> list[str]:
    """Run the script with these prefixes sourced, and tell which folders it built."""
    environment = {
        'PATH': '/usr/bin:/bin',
        'AMENT_PREFIX_PATH': ':'.join(str(prefix) for prefix in prefixes),
    }
    command = [shutil.which('bash'), str(workspace / 'tools/build.sh'), what]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    if not (workspace / '.venv/colcon').is_file():
        return []
    words = (workspace / '.venv/colcon').read_text().splitlines()
    assert words[:4] == ['-m', 'colcon', 'build', '--base-paths']
    return [
        word.removeprefix('interfaces/') for word in words[4 : words.index('--symlink-install')]
    ]


def leaves_out_cpp(workspace: Path) -> bool:
    """Tell whether the last build was told to make no type support for C++."""
    words = (workspace / '.venv/colcon').read_text().splitlines()
    assert words[words.index('--cmake-args') + 1] == '-DBUILD_TESTING=OFF'
    return any('interfaces_for_python.cmake' in word for word in words)


def test_interfaces_beside_the_wheels_serve_python_alone(workspace):
    build(workspace)
    assert leaves_out_cpp(workspace)


def test_interfaces_beside_a_ros_installation_serve_cpp_too(workspace, tmp_path):
    (workspace / '.venv/ros_library_path').unlink()
    install(tmp_path / 'opt/ros', 'rosidl_default_generators')
    build(workspace, tmp_path / 'opt/ros')
    assert not leaves_out_cpp(workspace)


def test_a_machine_without_the_real_packages_builds_all(workspace):
    assert build(workspace) == OURS


@pytest.mark.parametrize('name', OURS)
def test_a_package_that_the_underlay_has_is_not_built(workspace, tmp_path, name):
    underlay = tmp_path / 'opt/ros'
    install(underlay, name)
    assert build(workspace, tmp_path / 'other', underlay) == [x for x in OURS if x != name]


def test_the_underlay_may_hold_the_real_package_in_any_prefix(workspace, tmp_path):
    prefixes = [tmp_path / name for name in ('first', 'second')]
    for prefix, name in zip(prefixes, ('moveit_msgs', 'object_recognition_msgs')):
        install(prefix, name)
    real = ('moveit_msgs', 'object_recognition_msgs')
    assert build(workspace, *prefixes) == [name for name in OURS if name not in real]


def test_an_activated_shell_builds_what_an_earlier_build_installed(workspace):
    overlay = workspace / 'install/moveit_msgs'
    install(overlay, 'moveit_msgs')
    assert build(workspace, overlay) == OURS


def test_a_real_package_installed_later_is_no_longer_hidden(workspace, tmp_path):
    built = list(product(('install', 'build'), ('moveit_msgs', 'ssik_msgs')))
    for folder, name in built:
        install(workspace / folder / name, name)
    install(tmp_path / 'underlay', 'moveit_msgs')
    build(workspace, workspace / 'install/moveit_msgs', tmp_path / 'underlay')
    left = [(workspace / folder / name).exists() for folder, name in built]
    assert left == [False, True, False, True]


def test_without_ros_only_the_python_package_is_built(workspace):
    shutil.rmtree(workspace / '.venv/share')
    assert build(workspace) == []
    assert build(workspace, what='package') == ['.']


def test_without_headers_only_the_python_package_is_built(workspace):
    (workspace / '.venv/include/Python.h').unlink()
    assert build(workspace) == []
    assert build(workspace, what='package') == ['.']


def test_the_kinematics_plugin_is_built_where_moveit_is(workspace, tmp_path):
    write(workspace / 'moveit_plugin/package.xml')
    assert build(workspace, what='package') == ['.']
    install(tmp_path / 'underlay', 'moveit_core')
    assert build(workspace, tmp_path / 'underlay', what='package') == ['.', 'moveit_plugin']
    assert build(workspace, tmp_path / 'underlay') == OURS


def test_the_plugins_of_ros2_control_are_built_where_it_is(workspace, tmp_path):
    write(workspace / 'control_plugin/package.xml')
    assert build(workspace, what='package') == ['.']
    install(tmp_path / 'underlay', 'kinematics_interface')
    assert build(workspace, tmp_path / 'underlay', what='package') == ['.', 'control_plugin']
