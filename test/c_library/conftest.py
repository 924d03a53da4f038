"""C libraries that the tests share: built once for a run, by the command line."""

import shutil

from test.c_library.c_arm import CArm, made_arm

import pytest

from ssik_ros.cli.command import main
from ssik_ros.errors import NativeLibraryError
from ssik_ros.kernels.native import portable

FROZEN = ('ur5e',)
"""Arms whose constants are part of the machine code, unless a test says otherwise: that takes a while."""


@pytest.fixture(scope='session', autouse=True)
def _needs_kernels_and_compiler():
    """Skip the test if a C library cannot be built; the reason names the missing program."""
    try:
        portable.digest()
    except NativeLibraryError as error:
        pytest.skip(str(error))
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
            folder = tmp_path_factory.mktemp('arm') / 'library'
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


@pytest.fixture(scope='session')
def build_generic(tmp_path_factory):
    """Return the folder of the library that reads blocks."""
    folder = tmp_path_factory.mktemp('generic') / 'libssik'
    assert main(['build', '--target', 'libssik', '-o', str(folder)]) == 0
    return folder


@pytest.fixture(scope='session')
def made_urdf(tmp_path_factory):
    """Return a function that writes the URDF of an arm that is not in the catalogue."""

    def make(name):
        path = tmp_path_factory.mktemp(name) / f'{name}.urdf'
        path.write_text(made_arm(name).to_urdf(), encoding='utf-8')
        return str(path)

    return make
