"""
All solutions of a redundant arm as curves: their ends, the best posture, and a picture.

Shows: ``Manipulator.self_motions``, curves with ends and lengths, ``best``, ``nearest``, a free axis of a tool. The
picture goes into a folder, a temporary one by default.
"""

from pathlib import Path
import sys
import tempfile

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.robot_state import RobotState
from ssik_ros.view.pictures import RobotPictures, save_picture

arm = Manipulator.from_urdf(
    find_moveit_config('panda').urdf_path, base='panda_link0', ee='panda_link8'
)
target = arm.fk(np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6]))

motions = arm.self_motions(target)
print(f'{motions!r}, proved: {motions.is_complete}')
for curve in motions:
    print(f'curve {curve.index}: {curve.length:.2f} rad, from {curve.start} to {curve.end}')

best = motions.best('limit_margin')
print(f'farthest from limits: {best.value:.3f} rad, on curve {best.curve}')
dexterous = motions.best('manipulability')
print(f'most manipulable: {np.round(dexterous.q, 3).tolist()}')
near = motions.nearest(np.zeros(7))
print(f'nearest to zero: {near.value:.3f} rad away')


def state_of(q):
    """Return the full state of the robot."""
    state = RobotState(arm.robot)
    state.set_group_positions(arm.group, q)
    return state.positions


states = [state_of(q) for q in motions[best.curve].sample(0.6)]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
picture = RobotPictures(arm.robot, states).draw(states, frames=[target])
save_picture(folder / 'self_motions.png', picture)
print(f'self_motions.png of {(folder / "self_motions.png").stat().st_size // 1000} kB')

# A drill may spin about its own axis: with that, six joints have curves of solutions too.
drill = Manipulator.from_prebuilt('ur5e')
spins = drill.self_motions(drill.fk(np.array([0.3, -1.2, 1.1, 0.4, 0.9, 0.2])), free_axis='z')
print(f'free tool axis: {len(spins)} curves, {len(spins.sample(0.1))} postures at 0.1 rad')
