"""What all tests share: Hypothesis profiles, a ROS domain, the shipped robots, loaded once, and a pose."""

import os
from pathlib import Path

from hypothesis import settings
import numpy as np
import pytest
import ros_domain
from scipy.spatial.transform import Rotation

from ssik_ros.model.loader import load_robot

settings.register_profile('ci', derandomize=True, deadline=None, print_blob=True)
settings.register_profile('dev', deadline=None)
settings.load_profile('ci' if os.environ.get('CI') else 'dev')

ROBOTS_DIRECTORY = Path(__file__).resolve().parents[1] / 'config' / 'robots'
SHIPPED = ('panda', 'fanuc', 'gen3', 'ur5e')


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop():
    """Run all tests of this process in a ROS domain of its own."""
    with ros_domain.own_environment():
        return (yield)


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
