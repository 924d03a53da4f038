"""
Compile the kernels ahead of their first use: for images, and in CI while one core is idle.

Every kind of closed form is asked once, then every solver of the registry warms up. What is compiled already is loaded.
"""

from pathlib import Path
import time

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.errors import SsikError
from ssik_ros.model.loader import load_robot
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.registry import list_solvers

PANDA = Path(__file__).parents[1] / 'config/robots/panda_moveit_config/config'
ARMS = ('jaco2', 'panda', 'ur5e', 'irb6700')
"""One for each kernel of a search: by elimination, with arcs of a held joint, with parallel axes, with a wrist."""


def main() -> None:
    """Compile, and say how long it took."""
    start = time.process_time()
    for name in ARMS:
        arm = Manipulator.from_prebuilt(name)
        targets = np.array([arm.fk(np.full(arm.dof, angle)) for angle in (0.3, 0.4)])
        arm.solve_q(targets[0])
        arm.solve_batch(targets)
    robot = load_robot(PANDA / 'panda.urdf', PANDA / 'panda.srdf')
    for name in list_solvers():
        try:
            create_solver(name, robot, robot.group('panda_arm')).warm_up()
        except SsikError as error:  # of another package, or for other robots
            print(f'{name}: {error}')
    print(f'Kernels are compiled: {time.process_time() - start:.0f} s of processor time.')


if __name__ == '__main__':
    main()
