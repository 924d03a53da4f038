"""
The programs that use the transport as a plugin of MoveIt does: built once for each kind, run by scenario.

Parameters that begin with ``its_`` are for the transport, such as ``its_command``; others are of a kinematics.yaml.
"""

from dataclasses import dataclass
import os
from pathlib import Path
import shutil
import subprocess
import sys

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
COMMAND = """#!/bin/sh
{before}
export PYTHONPATH="{root}${{PYTHONPATH:+:$PYTHONPATH}}"
exec "{python}" -c "import sys; from ssik_ros.cli.command import main; sys.exit(main())" "$@"
"""
SANITIZERS = '-O0 -fno-omit-frame-pointer -fsanitize=address,undefined'


def description_of(robot):
    """Return the files of a robot."""
    folder = ROOT / f'config/robots/{robot}_moveit_config/config'
    return folder / f'{robot}.urdf', folder / f'{robot}.srdf'


def missing_tool():
    """Return the reason why the programs cannot be built; empty if they can."""
    for tool in ('cmake', 'c++', 'cc', 'objcopy', 'ar'):
        if shutil.which(tool) is None:
            return f'{tool} is not installed'
    return ''


def write_command(path, before=''):
    """Write the command ssik of this checkout, after other lines of a shell script."""
    path.write_text(COMMAND.format(before=before, root=ROOT, python=sys.executable))
    path.chmod(0o755)
    return path


def build(folder, flags=''):
    """Build the programs below a folder."""
    folder.mkdir(exist_ok=True)
    arguments = [
        *('cmake', '-S', str(ROOT / 'moveit_plugin'), '-B', str(folder)),
        *('-DSSIK_MOVEIT_SCENARIOS=ON', '-DSSIK_MOVEIT_CORE_ONLY=ON', '-DCMAKE_BUILD_TYPE=None'),
        *(
            f'-DCMAKE_CXX_FLAGS={flags} -Werror',
            f'-DSSIK_COMMAND={write_command(folder / "ssik")}',
        ),
    ]
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
    """Programs of one build; the folder also holds the command ``ssik`` and a cache."""

    folder: Path

    def command(self, scenario, requests, count=1, group=GROUP, robot='panda', **parameters):
        """Return the command line of a scenario."""
        urdf, srdf = description_of(robot)
        return [
            str(self.folder / 'scenario_host'),
            str(self.folder / 'libtransport_scenarios.so'),
            *(scenario, str(urdf), str(srdf), group, str(requests), str(count)),
            *(f'{key.replace("its_", ":")}={value}' for key, value in parameters.items()),
        ]

    def environment(self, **more):
        """Return the environment of a host that finds the command, with a cache of this build."""
        path = f'{self.folder}{os.pathsep}{os.environ.get("PATH", "")}'
        cache = self.folder / 'cache'
        variables = {'PATH': path, 'XDG_CACHE_HOME': str(cache), 'AMENT_PREFIX_PATH': ''}
        return {**os.environ, **variables, **more}

    def run(self, scenario, requests, count=1, status=0, environment=None, **more):
        """Run a scenario; return its lines."""
        done = subprocess.run(
            self.command(scenario, requests, count, **more),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=self.environment() if environment is None else environment,
        )
        assert done.returncode == status, done.stdout[-2000:] + done.stderr[-8000:]
        return done.stdout.splitlines()


def write_requests(path, poses, seeds):
    """Write poses (4, 4) with seeds (n,) to a file."""
    with path.open('w') as file:
        for pose, seed in zip(poses, seeds, strict=True):
            turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
            file.write(' '.join(repr(float(x)) for x in [*pose[:3, 3], *turn, *seed]) + '\n')


class Judge:
    """Knows, by pinocchio, where links of the Panda are."""

    def __init__(self):
        self.robot = load_robot(*description_of('panda'))
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
        write_requests(path, poses, seeds)
        return poses, seeds


needs_tools = pytest.mark.skipif(bool(missing_tool()), reason=missing_tool() or 'all there')
