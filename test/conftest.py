"""Fixtures of all tests: Hypothesis profiles, a ROS domain, the shipped robots, loaded once, and a pose."""

import os
from pathlib import Path

from test import ros_domain

from hypothesis import settings
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.kernels.geometry.addresses import LIBRARY
from ssik_ros.model.loader import load_robot

settings.register_profile('ci', derandomize=True, deadline=None, print_blob=True)
settings.register_profile('dev', deadline=None)
settings.load_profile('ci' if os.environ.get('CI') else 'dev')

ROBOTS_DIRECTORY = Path(__file__).resolve().parents[1] / 'config' / 'robots'
SHIPPED = ('panda', 'fanuc', 'gen3', 'ur5e')
CHECKED_SUMMARY = os.environ.pop('SSIK_ROS_CHECKED_SUMMARY', None)
"""How the run of tools/run_tests.sh before this one ended; not for the processes that tests start."""


def pytest_addoption(parser):
    """Let a run take a part of the tests, see tools/run_tests.sh."""
    parser.addoption(
        '--first-parameters',
        action='store_true',
        help='run each test with its first parameters only, and no heavy test',
    )
    parser.addoption(
        '--part',
        choices=('quick', 'long'),
        help='quick: what is not slow, with the first parameters of sampled tests; long: the rest, but nothing heavy',
    )


def first_parameters(items):
    """Return the first item of each test."""
    first = {}
    for item in items:
        first.setdefault(item.nodeid.partition('[')[0], item)
    return set(first.values())


def quick_part(items):
    """Return the items of a quick run."""
    quick = [item for item in items if not item.get_closest_marker('slow')]
    first = first_parameters(quick)
    return {item for item in quick if item in first or not item.get_closest_marker('sampled')}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep the items of the part that is chosen, and deselect all others."""
    part = config.getoption('--part')
    light = [item for item in items if not item.get_closest_marker('heavy')]
    kept = set(items)
    if part == 'quick':
        kept = quick_part(items)
    elif part == 'long':
        kept = set(light) - quick_part(items)
    if config.getoption('--first-parameters'):
        kept &= first_parameters(light)
    others = [item for item in items if item not in kept]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item in kept]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop():
    """Run all tests of this process in a ROS domain of its own."""
    with ros_domain.own_environment():
        yield


if hasattr(LIBRARY, 'failures'):

    @pytest.fixture(autouse=True)
    def no_failed_check():
        """Fail a test in which a kernel of the checked library left an array, even if the exception was caught."""
        failures = LIBRARY.failures()
        before = len(failures)
        yield
        assert failures[before:] == []


def pytest_terminal_summary(terminalreporter):
    """Say how the tests on the checked library ended, which ran before."""
    if CHECKED_SUMMARY:
        terminalreporter.write_line(f'On the checked library: {CHECKED_SUMMARY}')


@pytest.fixture
def domain():
    """Return a ROS domain for one test."""
    with ros_domain.claimed_domain() as claimed:
        yield claimed


@pytest.fixture(scope='session')
def robots():
    """Return the four shipped robots by name."""
    loaded = {}
    for name in SHIPPED:
        folder = ROBOTS_DIRECTORY / f'{name}_moveit_config' / 'config'
        limits = folder / 'joint_limits.yaml'
        loaded[name] = load_robot(folder / f'{name}.urdf', folder / f'{name}.srdf', limits)
    return loaded


@pytest.fixture
def blocked():
    """
    Return a pose (4, 4) that the panda's limits forbid and that nothing but a search can tell.

    The arm is nearly stretched with its last joint half a turn from zero; the nearest state is off by a centimetre.
    """
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler('xyz', [1.426, -0.331, 3.045]).as_matrix()
    pose[:3, 3] = 0.675, -0.287, 0.137
    return pose


@pytest.fixture(params=SHIPPED)
def robot(request, robots):
    """Return each shipped robot in turn."""
    return robots[request.param]
