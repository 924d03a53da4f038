"""The programs that use the transport as a plugin of MoveIt does: built once for each kind, run by scenario."""

from dataclasses import dataclass
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / 'config/robots/panda_moveit_config/config'
GROUP, BASE, TIP = 'panda_arm', 'panda_link0', 'panda_link8'
TOLERANCE = 1e-3
ROUNDING = 1e-9
PATIENCE = 120.0
"""A run that takes longer than this hangs [s]."""
COMPILING = 900.0
"""A build that takes longer than this hangs, whatever else the machine does [s]."""
SANITIZERS = '-O0 -fno-omit-frame-pointer -fsanitize=address,undefined'


def missing_tool():
    """Return the reason why the programs cannot be built; empty if they can."""
    for tool in ('cmake', 'c++'):
        if shutil.which(tool) is None:
            return f'{tool} is not installed'
    headers = Path(sysconfig.get_paths()['include'], 'Python.h')
    if not headers.is_file():
        return f'{headers} is not there'
    library = Path(
        sysconfig.get_config_var('LIBDIR') or '', str(sysconfig.get_config_var('LDLIBRARY'))
    )
    if library.suffix == '.a' or not library.is_file():
        return f'this Python has no shared library ({library})'
    return ''


def build(folder, flags=''):
    """Build the programs below a folder; skip with the compiler's words where the flags are not known."""
    arguments = [
        *('cmake', '-S', str(ROOT / 'moveit_plugin'), '-B', str(folder)),
        *('-DSSIK_MOVEIT_SCENARIOS=ON', '-DSSIK_MOVEIT_CORE_ONLY=ON', '-DCMAKE_BUILD_TYPE=None'),
        *(f'-DCMAKE_CXX_FLAGS={flags} -Werror', f'-DPython3_EXECUTABLE={sys.executable}'),
    ]
    # The prefixes of a sourced workspace are of no use here, and may hold another Python.
    for command in (arguments, ['cmake', '--build', str(folder)]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILING)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return Programs(folder)


def knows_sanitizers(folder):
    """Return whether programs can be built and run with the sanitizers."""
    source = folder / 'empty.cpp'
    source.write_text('int main() { return 0; }\n')
    program = folder / 'empty'
    command = ['c++', *SANITIZERS.split(), str(source), '-o', str(program)]
    built = subprocess.run(command, capture_output=True)
    return built.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0


@dataclass
class Programs:
    """Programs of one build."""

    folder: Path

    def command(self, scenario, questions, count=1, group=GROUP, **parameters):
        """Return the command line of a scenario."""
        return [
            str(self.folder / 'scenario_host'),
            str(self.folder / 'libtransport_scenarios.so'),
            *self.arguments(scenario, questions, count, group, **parameters),
        ]

    def arguments(self, scenario, questions, count=1, group=GROUP, **parameters):
        """Return the arguments of a scenario."""
        return [
            *(scenario, str(CONFIG / 'panda.urdf'), str(CONFIG / 'panda.srdf'), group),
            *(str(questions), str(count)),
            *(f'{key}={value}' for key, value in parameters.items()),
        ]

    def run(self, scenario, questions, count=1, status=0, environment=None, **more):
        """Run a scenario; return its lines."""
        done = subprocess.run(
            self.command(scenario, questions, count, **more),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=host_environment() if environment is None else environment,
        )
        assert done.returncode == status, done.stdout[-2000:] + done.stderr[-8000:]
        return done.stdout.splitlines()


def host_environment(**more):
    """Return the environment of a host that finds this package."""
    # Python keeps its memory until the end of the process, so that looking for leaks finds only that.
    paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
    own = {'PYTHONPATH': os.pathsep.join(paths), 'ASAN_OPTIONS': 'detect_leaks=0'}
    if sys.prefix != sys.base_prefix:
        own['VIRTUAL_ENV'] = sys.prefix
    return {**os.environ, **own, **more}


class Judge:
    """Knows, by pinocchio, where links of the arm are."""

    def __init__(self):
        self.robot = load_robot(CONFIG / 'panda.urdf', CONFIG / 'panda.srdf')
        self.group = self.robot.group(GROUP)
        self._kinematics = ReferenceKinematics(self.robot)

    def pose(self, q, link=TIP):
        positions = self.robot.default_positions()
        positions[self.group.idx_q] = q
        base = self._kinematics.link_pose(positions, BASE)
        return np.linalg.inv(base) @ self._kinematics.link_pose(positions, link)

    def reaches(self, q, pose):
        actual = self.pose(q)
        position = np.linalg.norm(actual[:3, 3] - pose[:3, 3])
        angle = Rotation.from_matrix(actual[:3, :3].T @ pose[:3, :3]).magnitude()
        inside = (q >= self.group.lower).all() and (q <= self.group.upper).all()
        return bool(inside and np.hypot(position, angle) <= TOLERANCE + ROUNDING)

    def ask(self, path, count, seed=7):
        """Write requests to a file; return their poses and seeds."""
        rng = np.random.default_rng(seed)
        poses = [self.pose(self.robot.sample(self.group, rng)) for _ in range(count)]
        seeds = [self.robot.sample(self.group, rng) for _ in range(count)]
        with path.open('w') as file:
            for pose, own in zip(poses, seeds):
                turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
                numbers = [*pose[:3, 3], *turn, *own]
                file.write(' '.join(repr(float(x)) for x in numbers) + '\n')
        return poses, seeds


needs_tools = pytest.mark.skipif(bool(missing_tool()), reason=missing_tool() or 'all there')
