"""
Draw the pictures of README and docs into docs/images: ``python tools/make_pictures.py [NAME ...]``.

Equal versions of the package and of numpy draw equal pictures.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
import sys

import numpy as np

from ssik_ros import Manipulator
from ssik_ros.arrays import FloatArray
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.robot_state import RobotState
from ssik_ros.view.pictures import RobotPictures, save_animation, save_picture

FOLDER = Path(__file__).resolve().parents[1] / 'docs/images'
RATE = 15.0
"""Pictures of an animation in a second."""


def load(name: str, base: str, tip: str) -> Manipulator:
    """Return an arm of config/robots with its visual elements."""
    return Manipulator.from_urdf(find_moveit_config(name).urdf_path, base=base, ee=tip)


def state_of(arm: Manipulator, q: FloatArray) -> FloatArray:
    """Return the full state of the robot with the joints of the arm at q."""
    state = RobotState(arm.robot)
    state.set_group_positions(arm.group, q)
    return state.positions


def draw_branches() -> None:
    """Draw a UR5e in every posture of one pose."""
    arm = load('ur5e', 'base_link', 'tool0')
    seed = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    target = arm.fk(seed)
    states = [state_of(arm, found.q) for found in arm.solve(target, q_seed=seed)]
    picture = RobotPictures(arm.robot, states).draw(states, frames=[target])
    save_picture(FOLDER / 'ur5e_branches.png', picture)


def draw_my_robot() -> None:
    """Draw a UR5e in one posture, as the first tutorial does."""
    arm = load('ur5e', 'base_link', 'tool0')
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    state = state_of(arm, q)
    picture = RobotPictures(arm.robot, [state], size=(720, 480)).draw([state], frames=[arm.fk(q)])
    save_picture(FOLDER / 'my_robot.png', picture)


def draw_self_motion() -> None:
    """Draw a Panda that moves its elbow while its hand stays."""
    arm = load('panda', 'panda_link0', 'panda_link8')
    q = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.8])
    target = arm.fk(q)
    states = []
    for held in 0.8 + 0.9 * np.sin(np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)):
        q = arm.solve(target, q_seed=q, hold={6: held}, max_solutions=1)[0].q
        states.append(state_of(arm, q))
    pictures = RobotPictures(arm.robot, states, size=(480, 400))
    images = [pictures.draw([state], frames=[target]) for state in states]
    save_animation(FOLDER / 'panda_self_motion.gif', images, RATE)


PICTURES: dict[str, Callable[[], None]] = {
    'ur5e_branches': draw_branches,
    'my_robot': draw_my_robot,
    'panda_self_motion': draw_self_motion,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Draw the pictures that are named, or all.

    :param arguments: words of the command line; None means those of the process.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(PICTURES))
    for name in parser.parse_args(arguments).names or PICTURES:
        if name not in PICTURES:
            parser.error(f'there is no picture {name!r}; choose from {", ".join(PICTURES)}')
        PICTURES[name]()
        print(f'docs/images: {name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
