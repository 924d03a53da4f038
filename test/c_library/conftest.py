"""C libraries that the tests share: built once for a run, by the command line."""

import shutil

from c_arm import CArm
import pytest

from ssik_ros.cli.command import main
from ssik_ros.kernels.native import portable

FROZEN = ('ur5e',)
"""Arms whose constants are part of the machine code, unless a test says otherwise: that takes a while."""


@pytest.fixture(scope='session', autouse=True)
def _needs_kernels_and_compiler():
    """Skip where a C library cannot be built, and say what is missing."""
    if not (portable.FOLDER / portable.STAMP).is_file():
        pytest.skip(f'the kernels for C programs are not built: run "{portable.BUILD}"')
    for program in ('cc', 'objcopy', 'ar'):
        if shutil.which(program) is None:
            pytest.skip(f'{program} is not installed')


@pytest.fixture(scope='session')
def build(tmp_path_factory):
    """Return a function that builds the library of a catalogue arm and returns its folder."""
    made = {}

    def build_one(robot, *options):
        if robot not in FROZEN and not options:
            options = ('--shared-kernels',)
        key = robot, *options
        if key not in made:
            folder = tmp_path_factory.mktemp(robot) / robot
            robot_options = [robot] if robot.endswith('.urdf') else ['--robot', robot]
            code = main(['build', *robot_options, '--target', 'c', '-o', str(folder), *options])
            assert code == 0
            made[key] = folder
        return made[key]

    return build_one


@pytest.fixture(scope='session')
def c_arm(build):
    """Return a function that loads the shared library of a catalogue arm."""
    made = {}

    def load(robot, *options):
        key = robot, *options
        if key not in made:
            made[key] = CArm(build(robot, *options), robot)
        return made[key]

    return load
