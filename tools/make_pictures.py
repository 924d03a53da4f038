"""
Draw the pictures of README and docs into docs/images: ``python tools/make_pictures.py [NAME ...]``.

Equal versions of the package, of numpy and of example-robot-data draw equal pictures.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
import os
from pathlib import Path
import sys
import tempfile
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ssik_ros import load_robot, Manipulator, RobotState, SolveRequest
from ssik_ros.arrays import FloatArray
from ssik_ros.mechanisms import DOF, Goal, load_mechanism, mechanism_names, Solver
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach import ReachMap
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.grid import Grid
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.reach.plots import draw_slices
from ssik_ros.reach.regions import read_region
from ssik_ros.view.pictures import RobotPictures, save_animation, save_picture
from ssik_ros.view.pictures.maker_shapes import EXTRA, has_wheel
from ssik_ros.view.pictures.solids import make_box

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run_pages

matplotlib.use('Agg')
FOLDER = Path(__file__).resolve().parents[1] / 'docs/images'
RATE = 15.0
"""Pictures of an animation in a second."""
WOOD = (0.86, 0.76, 0.62)
"""Colour of tables and shelves."""


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
    states = [state_of(arm, solution.q) for solution in arm.solve(target, q_seed=seed)]
    pictures = RobotPictures(arm.robot, states, points=arrow_ends(target))
    picture = draw_clear(pictures, states, frames=[target])
    save_picture(FOLDER / 'ur5e_branches.png', picture)


def draw_my_robot() -> None:
    """Draw a UR5e in one posture, as the first tutorial does."""
    arm = load('ur5e', 'base_link', 'tool0')
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    state = state_of(arm, q)
    pictures = RobotPictures(arm.robot, [state], size=(720, 480), points=arrow_ends(arm.fk(q)))
    picture = draw_clear(pictures, [state], frames=[arm.fk(q)])
    save_small('my_robot.png', picture)


def draw_self_motion() -> None:
    """Draw a Panda that moves its elbow while its hand stays."""
    arm = load('panda', 'panda_link0', 'panda_link8')
    q = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.6, 0.8])
    target = arm.fk(q)
    states = []
    for held in 0.8 + 0.9 * np.sin(np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)):
        q = arm.solve(target, q_seed=q, hold={6: held}, max_solutions=1)[0].q
        states.append(state_of(arm, q))
    pictures = RobotPictures(arm.robot, states, size=(480, 400), points=arrow_ends(target))
    images = [draw_clear(pictures, [state], frames=[target]) for state in states]
    save_animation(FOLDER / 'panda_self_motion.webp', images, RATE)


def draw_no_solution() -> None:
    """Draw a Panda as near as it comes to a pose out of reach."""
    arm = load('panda', 'panda_link0', 'panda_link8')
    target = looking_down(0.95, 0.0, 0.2)
    request = SolveRequest(targets=target, seed=arm.neutral, wants_nearest=True)
    q = arm.solver().solve(request).q
    state = state_of(arm, q)
    ends = arrow_ends(target)
    pictures = RobotPictures(
        arm.robot, [state], size=(720, 420), direction=(0.5, -1.0, 0.4), points=ends
    )
    missing = np.stack((arm.fk(q)[:3, 3], target[:3, 3]))
    save_small(
        'why_no_solution.png',
        draw_clear(pictures, [state], frames=[target], lines=[missing]),
    )


def draw_pick() -> None:
    """Draw a UR5e between table and shelf: a free posture, and one that hits the table."""
    arm = load('ur5e', 'base_link', 'tool0')
    target = looking_down(0.55, 0.1, 0.15)
    rows = arm.solve_q(target, arm.neutral)
    by_name = dict(zip(arm.branch_names(rows), rows, strict=True))
    names = ('shoulder +, elbow +, wrist -', 'shoulder +, elbow -, wrist -')
    states = [state_of(arm, by_name[name]) for name in names]
    boxes = (((0.7, 1.2, 0.04), (0.65, 0.0, -0.02)), ((0.3, 0.6, 0.02), (0.7, 0.1, 0.45)))
    scenery = [(make_box(size).moved(shift(*centre)), WOOD) for size, centre in boxes]
    pictures = RobotPictures(arm.robot, states, size=(720, 480), scenery=scenery)
    save_small('pick_with_collisions.png', draw_clear(pictures, states, frames=[target]))


def draw_tracking() -> None:
    """Draw a Panda that follows a circle."""
    arm = load('panda', 'panda_link0', 'panda_link8')
    ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    tracker, centre = arm.tracker(ready), arm.fk(ready)
    states, points = [], []
    for angle in np.linspace(0.0, 2.0 * np.pi, 33):
        target = shift(0.0, 0.1 * np.sin(angle), 0.1 - 0.1 * np.cos(angle)) @ centre
        tracker.track(target)
        states.append(state_of(arm, tracker.q))
        points.append(target[:3, 3])
    pictures = RobotPictures(arm.robot, states, size=(400, 360))
    circle = np.array(points)
    images = [draw_clear(pictures, [state], lines=[circle]) for state in states[:-1:2]]
    save_animation(FOLDER / 'tracking.webp', images, RATE)


def draw_priorities() -> None:
    """Draw a Panda before and after its elbow moved aside while its hand stayed."""
    arm = load('panda', 'panda_link0', 'panda_link8')
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.0, 0.0])
    target = arm.fk(q)
    aside = q
    for value in np.linspace(0.0, 0.7, 15):
        aside = arm.solve(target, q_seed=aside, hold={6: value}, max_solutions=1)[0].q
    states = [state_of(arm, aside), state_of(arm, q)]
    pictures = RobotPictures(arm.robot, states, size=(720, 480), points=arrow_ends(target))
    save_small('priorities.png', draw_clear(pictures, states, frames=[target]))


def draw_mechanisms() -> None:
    """Draw the mechanisms that come along, and a delta robot in motion."""
    for name in mechanism_names():
        robot = load_mechanism(name)
        pictures = RobotPictures(robot.model, [robot.positions], size=(420, 380))
        save_small(f'{name}.png', draw_clear(pictures, [robot.positions]))
    robot = load_mechanism('delta')
    goal, platform = Goal('goal'), robot.links['platform']
    goal.set_goal_dof(DOF.X, DOF.Y, DOF.Z)
    goal.make_closure(platform)
    home, states, points = platform.get_world_position(), [], []
    for angle in np.linspace(0.0, 2.0 * np.pi, 33):
        points.append(home + 0.08 * np.array((np.cos(angle), np.sin(angle), 0.0)))
        goal.set_position(*points[-1])
        Solver(robot.root).solve()
        states.append(robot.positions.copy())
    pictures = RobotPictures(robot.model, states, size=(400, 360))
    circle = np.array(points)
    images = [draw_clear(pictures, [state], lines=[circle]) for state in states[:-1:2]]
    save_animation(FOLDER / 'parallel_robot.webp', images, RATE)


def draw_self_collision() -> None:
    """Draw a UR5e that touches itself, with the two links in red."""
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path)
    arm = Manipulator(robot, robot.group('ur_manipulator'))
    checker = CollisionChecker(robot)
    state = state_of(arm, np.array([0.3, -1.9, 2.75, -0.4, 1.4, 0.0]))
    pair = checker.colliding_pair(state)
    assert pair, 'this posture is chosen because two links touch'
    pictures = RobotPictures(robot, [state], size=(600, 480))
    picture = draw_clear(pictures, [state], marked=pair)
    save_small('self_collision.png', picture)


def draw_fanuc() -> None:
    """Draw a FANUC M-10iA in every posture of one pose."""
    arm = load('fanuc', 'base_link', 'tool0')
    seed = np.array([0.3, 0.2, -0.1, 0.5, 0.9, 0.2])
    target = arm.fk(seed)
    states = [state_of(arm, solution.q) for solution in arm.solve(target, q_seed=seed)]
    pictures = RobotPictures(arm.robot, states, size=(720, 480), points=arrow_ends(target))
    save_small('fanuc_branches.png', draw_clear(pictures, states, frames=[target]))


def draw_path() -> None:
    """Draw a UR5e along a straight line."""
    arm = load('ur5e', 'base_link', 'tool0')
    line = np.array([looking_down(0.5, y, 0.25) for y in np.linspace(-0.4, 0.4, 41)])
    above = np.array([-0.9, -1.2, 1.6, -1.97, -1.57, -0.9])
    start = arm.solve(line[0], q_seed=above)[0].q
    path = arm.ik_LM(line, start, max_joint_step=0.2)
    states = [state_of(arm, q) for q in path.q[::20]]
    pictures = RobotPictures(arm.robot, states, size=(720, 480))
    save_small('joint_path.png', draw_clear(pictures, states[::-1], lines=[line[:, :3, 3]]))
    draw_curves(arm.joint_names, path.q)


def draw_bead() -> None:
    """Draw the plot that the tutorial of the glue bead makes, by running its page."""
    page, before = FOLDER.parent / 'tutorials' / 'bead.md', Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            run_pages.run_page(page)
            save_small('bead.png', np.asarray(Image.open('bead.png').convert('RGB')))
        finally:
            os.chdir(before)


def draw_reach() -> None:
    """Draw the places at which a UR5e can work with its tool down, as the how-to does."""
    arm = load('ur5e', 'base_link', 'tool0')
    places = np.linspace(-1.0, 1.0, 41)
    poses = np.array([looking_down(x, y, 0.1) for y in places for x in places])
    counts = arm.solve_batch(poses).counts
    tile, scenery = make_box((0.045, 0.045, 0.004)), []
    for pose, count in zip(poses[counts > 0], counts[counts > 0], strict=True):
        shade = 1.0 - count / counts.max()
        colour = (0.2 + 0.6 * shade, 0.55 + 0.35 * shade, 0.4 + 0.4 * shade)
        scenery.append((tile.moved(pose), colour))
    state = state_of(arm, np.array([0.3, -1.2, 1.4, -1.77, -1.57, 0.5]))
    pictures = RobotPictures(arm.robot, [state], size=(720, 480), scenery=scenery)
    save_small('reach.png', draw_clear(pictures, [state]))


def draw_reach_slices() -> None:
    """Draw three planes of a map of a Panda with a radius of 1 m."""
    arm = Manipulator.from_prebuilt('panda')
    chain = SerialChain.from_group(arm.robot, arm.group)
    grid = Grid(read_region('sphere:1', chain), 0.05, spread_orientations(64))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'panda.zarr'
        make_map(make_plan(chain, arm.robot.name, grid), path, Workers(0))
        draw_slices(ReachMap.open(path)).savefig(FOLDER / 'reach_slices.png', dpi=120)


def draw_curves(names: Sequence[str], rows: FloatArray) -> None:
    """Draw joint values along a path."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout='constrained')
    for name, values in zip(names, rows.T, strict=True):
        axes.plot(np.linspace(0.0, 0.8, len(rows)), values, label=name)
    axes.set(xlabel='way of the tool [m]', ylabel='joint value [rad]')
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(FOLDER / 'joint_values.png', dpi=100)
    plt.close(figure)


def looking_down(x: float, y: float, z: float) -> FloatArray:
    """Return a pose whose z axis points down."""
    return shift(x, y, z) @ np.diag([1.0, -1.0, -1.0, 1.0])


def arrow_ends(pose: FloatArray) -> FloatArray:
    """Return (3, 3) about where the arrows of a frame end."""
    ends: FloatArray = pose[:3, 3] + 0.25 * pose[:3, :3].T
    return ends


def shift(x: float, y: float, z: float) -> FloatArray:
    """Return a translation (4, 4)."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def draw_clear(
    pictures: RobotPictures, states: Sequence[FloatArray], **options: Any
) -> NDArray[np.uint8]:
    """Return a picture without a white background, for light and dark pages."""
    return pictures.draw(states, is_transparent=True, **options)


def save_small(name: str, image: NDArray[np.uint8]) -> None:
    """Write a picture of 256 colours, which is a third as large."""
    picture = Image.fromarray(image)
    method = Image.Quantize.FASTOCTREE if picture.mode == 'RGBA' else None
    small = picture.quantize(256, method=method, dither=Image.Dither.NONE)
    small.save(FOLDER / name, optimize=True)


PICTURES: dict[str, Callable[[], None]] = {
    'ur5e_branches': draw_branches,
    'my_robot': draw_my_robot,
    'panda_self_motion': draw_self_motion,
    'why_no_solution': draw_no_solution,
    'pick_with_collisions': draw_pick,
    'tracking': draw_tracking,
    'priorities': draw_priorities,
    'mechanisms': draw_mechanisms,
    'self_collision': draw_self_collision,
    'fanuc_branches': draw_fanuc,
    'joint_path': draw_path,
    'bead': draw_bead,
    'reach': draw_reach,
    'reach_slices': draw_reach_slices,
}


WITH_MESHES = {'panda_self_motion', 'why_no_solution', 'tracking', 'priorities'}
"""Pictures of arms whose meshes come with an extra: without it they are not drawn again."""


def chosen_names(
    pictures: Iterable[str], description: str | None, arguments: Sequence[str] | None
) -> list[str]:
    """
    Return the pictures that a command line names, or all.

    :param pictures: names of pictures.
    :param description: of the program.
    :param arguments: words of the command line; None means ``sys.argv``.
    """
    names = list(pictures)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(names))
    chosen: list[str] = parser.parse_args(arguments).names or names
    for name in chosen:
        if name not in names:
            parser.error(f'there is no picture {name!r}; choose from {", ".join(names)}')
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Draw the pictures that are named, or all.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    for name in chosen_names(PICTURES, __doc__, arguments):
        if name in WITH_MESHES and not has_wheel():
            print(f'docs/images: {name} is left as it is, because its meshes are missing: {EXTRA}')
            continue
        PICTURES[name]()
        print(f'docs/images: {name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
