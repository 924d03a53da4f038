"""What the import leaves for later, or for nobody: each of these modules takes as long as ten of ours."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from ssik_ros import Manipulator
from ssik_ros.kernels import steps
print(*sorted(sys.modules))
print(type(steps.clamp_seed).__name__, type(getattr(steps.clamp_seed, '_cache', None)).__name__)
"""


def output(program):
    """Return the lines that a new process prints."""
    command = [sys.executable, '-c', program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture(scope='module')
def printed():
    """Return the modules that the import loads, and what it says of a kernel."""
    modules, kernel = output(PROGRAM)
    return set(modules.split()), kernel


@pytest.mark.parametrize(
    'name', ['scipy.linalg', 'scipy.spatial', 'urllib.request', 'matplotlib', 'rclpy', 'rich']
)
def test_the_import_does_not_load_what_it_does_not_need(printed, name):
    modules, _ = printed
    assert 'ssik_ros.api' in modules
    assert name not in modules


def test_caches_of_kernels_are_opened_when_they_are_asked(printed):
    kind, cache = printed[1].split()
    # Without a compiler a kernel is a function without a cache.
    assert kind == 'function' or cache == '_CacheOnDemand'


@pytest.mark.parametrize('name', ['PoseIK', 'LevenbergMarquardt', 'Auto'])
def test_a_warm_start_does_not_load_what_a_compiler_needs(name):
    program = f"""
import sys
from ssik_ros import create_solver
from ssik_ros import Manipulator
arm = Manipulator.from_prebuilt('ur5e')
create_solver('ssik_ros/{name}', arm.robot, arm.group).warm_up()
print('scipy.linalg' in sys.modules)
"""
    # The first process may have to compile.
    output(program)
    assert output(program) == ['False']
