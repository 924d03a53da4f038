"""The keys of package.xml name packages that ROS machines have, in versions that the bounds allow."""

from pathlib import Path
import re
import runpy
import shutil
import subprocess
from typing import Any
import xml.etree.ElementTree as ElementTree

import pytest
import setuptools
import yaml

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = ('package.xml', 'interfaces/ssik_msgs/package.xml', 'moveit_plugin/package.xml')

SYSTEMS = ('bookworm', 'noble', 'trixie', 'resolute')
SYSTEM_PYTHONS = ('3.11', '3.12', '3.13', '3.14')
# Packages of Debian 12, Ubuntu 24.04, Debian 13 and Ubuntu 26.04: the upstream versions that apt installs.
SYSTEM_KEYS = {
    'python3-hypothesis': ('6.67.1', '6.98.15', '6.130.5', '6.151.5'),
    'python3-matplotlib': ('3.6.3', '3.6.3', '3.10.1', '3.10.7'),
    'python3-numpy': ('1.24.2', '1.26.4', '2.2.4', '2.3.5'),
    'python3-pytest': ('7.2.1', '7.4.4', '8.3.5', '9.0.2'),
    'python3-rich': ('13.3.1', '13.7.1', '13.9.4', '13.9.4'),
    'python3-scipy': ('1.10.1', '1.11.4', '1.15.3', '1.16.3'),
    'python3-yaml': ('6.0', '6.0.1', '6.0.2', '6.0.3'),
}

COMMON_INTERFACES = ('5.3.8', '5.9.3', '5.10.1')
LAUNCH = ('3.4.11', '3.9.8', '3.10.0')
LAUNCH_ROS = ('0.26.12', '0.29.9', '0.30.1')
# Packages of Jazzy, Lyrical and Rolling: the versions that rosdistro listed in August 2026.
ROS_KEYS = {
    'action_msgs': ('2.0.4', '2.4.5', '2.5.1'),
    'ament_cmake': ('2.5.6', '2.8.8', '2.9.1'),
    'ament_index_python': ('1.8.4', '1.13.3', '1.14.2'),
    'builtin_interfaces': ('2.0.4', '2.4.5', '2.5.1'),
    'diagnostic_msgs': COMMON_INTERFACES,
    'geometry_msgs': COMMON_INTERFACES,
    'launch': LAUNCH,
    'launch_pytest': LAUNCH,
    'launch_ros': LAUNCH_ROS,
    'launch_testing': LAUNCH,
    'launch_testing_ros': LAUNCH_ROS,
    'moveit_configs_utils': ('2.12.4', '2.15.0', '2.15.0'),
    'moveit_core': ('2.12.4', '2.15.0', '2.15.0'),
    'moveit_msgs': ('2.6.0', '2.7.2', '2.7.2'),
    'moveit_ros_move_group': ('2.12.4', '2.15.0', '2.15.0'),
    'moveit_ros_planning': ('2.12.4', '2.15.0', '2.15.0'),
    'pinocchio': ('4.1.0', '4.1.0', '4.1.0'),
    'pluginlib': ('5.4.5', '5.8.4', '6.0.1'),
    'rcl_interfaces': ('2.0.4', '2.4.5', '2.5.1'),
    'rclcpp': ('28.1.21', '32.0.2', '33.0.4'),
    'rclpy': ('7.1.11', '10.0.10', '11.0.2'),
    'robot_state_publisher': ('3.3.4', '3.5.5', '3.6.1'),
    'rosidl_default_generators': ('1.6.1', '1.8.1', '1.9.0'),
    'rosidl_default_runtime': ('1.6.1', '1.8.1', '1.9.0'),
    'rviz2': ('14.1.23', '15.2.5', '16.0.2'),
    'sensor_msgs': COMMON_INTERFACES,
    'shape_msgs': COMMON_INTERFACES,
    'std_msgs': COMMON_INTERFACES,
    'tf2_msgs': ('0.36.22', '0.45.9', '0.46.3'),
    'trajectory_msgs': COMMON_INTERFACES,
    'visualization_msgs': COMMON_INTERFACES,
    'xacro': ('2.1.1', '2.1.1', '2.1.1'),
}


def keys_of(manifest: str) -> set[str]:
    """Return the dependencies of a manifest, without the packages of this repository."""
    root = ElementTree.parse(ROOT / manifest).getroot()
    keys = {str(element.text) for element in root if element.tag.endswith('depend')}
    return keys - {'ssik_ros', 'ssik_msgs'}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))


def bounds() -> dict[str, tuple[str, str]]:
    """Return the lower and the upper bound of each key, as far as pip has one."""
    received: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, 'setup', lambda **arguments: received.update(arguments))
        patch.chdir(ROOT)
        runpy.run_path(str(ROOT / 'setup.py'))
    lines = (ROOT / 'requirements/dev.txt').read_text().splitlines()
    rows = [
        re.match(r'([\w-]+)(?:>=([\d.]+))?(?:,?<([\d.]+))?', line)
        for line in [*received['install_requires'], *lines]
    ]
    names = {'pin': 'pinocchio', 'PyYAML': 'python3-yaml'}
    return {
        names.get(row[1], f'python3-{row[1]}'): (row[2] or '0', row[3] or '999999')
        for row in rows
        if row
    }


@pytest.mark.parametrize('manifest', MANIFESTS)
def test_every_key_is_known_to_the_systems_and_distributions(manifest):
    unknown = keys_of(manifest) - set(SYSTEM_KEYS) - set(ROS_KEYS)
    assert not unknown, f'{manifest}: look these keys up in rosdistro and add them to the tables'


def test_the_tables_hold_no_key_that_nothing_depends_on():
    assert set(SYSTEM_KEYS) | set(ROS_KEYS) == set().union(*map(keys_of, MANIFESTS))


@pytest.mark.parametrize('key', [*SYSTEM_KEYS, 'pinocchio'])
def test_every_version_that_a_key_brings_is_within_the_bounds(key):
    lower, upper = bounds()[key]
    versions = {**SYSTEM_KEYS, **ROS_KEYS}[key]
    if key == 'python3-pytest':
        # requirements/dev.txt bounds pytest for the launch of Kilted. Ubuntu 26.04 has the launch of Lyrical.
        versions = versions[: SYSTEMS.index('resolute')]
    for version in versions:
        assert numbers(lower) <= numbers(version) < numbers(upper), (version, lower, upper)


def test_the_pinocchio_for_systems_without_ros_packages_is_that_of_ros():
    pinned = re.search(r'^pin==(.+)$', (ROOT / 'requirements/pinocchio.txt').read_text(), re.M)
    assert pinned is not None and pinned[1] in ROS_KEYS['pinocchio']


def test_distributions_are_tried_with_each_python_and_the_numpy_of_each_system():
    table = runpy.run_path(str(ROOT / 'tools/try_distributions.py'))['NUMPY']
    pythons = [f'3.{minor}' for minor in range(10, 15)]
    assert list(table) == pythons
    assert set(SYSTEM_KEYS['python3-numpy']) <= {name for row in table.values() for name in row}
    versions = zip(SYSTEMS, SYSTEM_PYTHONS, SYSTEM_KEYS['python3-numpy'], strict=True)
    for system, python, numpy in versions:
        assert numpy in table[python], system
    workflow = yaml.safe_load((ROOT / '.github/workflows/nightly.yml').read_text())
    assert workflow['jobs']['install']['strategy']['matrix']['python'] == pythons


@pytest.mark.sampled
@pytest.mark.parametrize('key', SYSTEM_KEYS)
def test_apt_of_this_machine_has_the_version_of_the_table(key):
    release = Path('/etc/os-release')
    codename = re.search(r'^VERSION_CODENAME=(\w+)', release.read_text(), re.M)
    if codename is None or codename[1] not in SYSTEMS or not shutil.which('apt-cache'):
        pytest.skip('neither Debian 12 or 13 nor Ubuntu 24.04 or 26.04')
    shown = subprocess.run(['apt-cache', 'show', key], capture_output=True, text=True, check=False)
    versions = re.findall(r'^Version: (?:\d+:)?(\d+(?:\.\d+)*)', shown.stdout, re.M)
    if not versions:
        pytest.skip('apt has no lists yet: apt-get update')
    assert SYSTEM_KEYS[key][SYSTEMS.index(codename[1])] in versions
