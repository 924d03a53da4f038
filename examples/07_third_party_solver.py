"""
Add a solver of your own without touching this package.

A package offers a ``SolverSpec`` under the entry-point group ``ssik_ros.solvers``; this file lays out the metadata that
pip would write for it. Names, parameters and errors then work as for built-in solvers.
"""

import dataclasses
from pathlib import Path
import sys
import tempfile

import numpy as np

from ssik_ros import create_solver, list_solvers, load_robot, SolveRequest
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.problem.contract import SolverSpec


class FromZero:
    """Ask PoseIK from the zero posture first, and from the caller's seed when that fails."""

    def __init__(self, robot, group, options):
        self._solver = create_solver('ssik_ros/PoseIK', robot, group, dataclasses.asdict(options))
        self.name, self.joint_names = 'acme/FromZero', group.joint_names
        self.base_frame, self.tip_frames = group.base_link, group.tips

    def solve(self, request):
        first = dataclasses.replace(request, seed=np.zeros(len(self.joint_names)), max_searches=1)
        result = self._solver.solve(first)
        return result if result.solved else self._solver.solve(request)

    def warm_up(self):
        self._solver.warm_up()


SPEC = SolverSpec(
    name='acme/FromZero',
    description='PoseIK from the zero posture.',
    options_type='ssik_ros.solvers.search.pose_ik.options:PoseIkOptions',
    parameters_file='ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml',
    factory=FromZero,
)

# In setup.py: entry_points={'ssik_ros.solvers': ['acme/FromZero = acme.solver:SPEC']}
folder = tempfile.TemporaryDirectory()
metadata = Path(folder.name, 'acme-1.0.dist-info')
metadata.mkdir()
(metadata / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n')
(metadata / 'entry_points.txt').write_text(f'[ssik_ros.solvers]\n{SPEC.name} = {__name__}:SPEC\n')
sys.path.append(folder.name)
print(', '.join(list_solvers()))
files = find_moveit_config('panda')
robot = load_robot(files.urdf_path, files.srdf_path)
solver = create_solver('acme/FromZero', robot, robot.group('panda_arm'))
target = np.array([[1, 0, 0, 0.5], [0, -1, 0, 0.0], [0, 0, -1, 0.5], [0, 0, 0, 1]], dtype=float)
print(f'{solver.name}: {solver.solve(SolveRequest(targets=target)).summary()}')
