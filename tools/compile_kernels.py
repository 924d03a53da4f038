"""
Compile the kernels ahead of their first use: for images, and in CI while one core is idle.

Every kind of closed form is asked once, then every solver of the registry warms up. What is compiled already is loaded. Two
processes begin at different ends: each kernel is compiled by the one that comes to it first, and loaded by the other.
"""

from collections.abc import Callable
import functools
import multiprocessing
import os
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
MOST_PROCESSES = 2
"""Each takes 0.8 GB; a third one would mostly wait for the others."""


def ask_arm(name: str) -> None:
    """
    Ask an arm of the catalogue for all branches.

    :param name: of the arm.
    """
    arm = Manipulator.from_prebuilt(name)
    targets = np.array([arm.fk(np.full(arm.dof, angle)) for angle in (0.3, 0.4)])
    arm.solve_q(targets[0])
    arm.solve_batch(targets)


def warm_up(name: str) -> None:
    """
    Warm a solver up.

    :param name: of the solver.
    """
    robot = load_robot(PANDA / 'panda.urdf', PANDA / 'panda.srdf')
    try:
        create_solver(name, robot, robot.group('panda_arm')).warm_up()
    except SsikError as error:  # of another package, or for other robots
        print(f'{name}: {error}')


def tasks() -> list[Callable[[], None]]:
    """Return what is to be asked."""
    arms = [functools.partial(ask_arm, name) for name in ARMS]
    return arms + [functools.partial(warm_up, name) for name in list_solvers()]


def work(is_backwards: bool) -> None:
    """
    Do all tasks.

    :param is_backwards: whether the last one comes first.
    """
    listed = tasks()
    for task in reversed(listed) if is_backwards else listed:
        task()


def main() -> None:
    """Compile, and say how long it took."""
    start = time.perf_counter()
    context = multiprocessing.get_context('spawn')
    ends = range(min(MOST_PROCESSES, os.cpu_count() or 1))
    processes = [context.Process(target=work, args=(bool(end),)) for end in ends]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise SystemExit('Kernels could not be compiled; the errors stand above.')
    print(f'Kernels are compiled: {time.perf_counter() - start:.0f} s.')


if __name__ == '__main__':
    main()
