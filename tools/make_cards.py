"""
Draw the pictures on the cards of examples into docs/images/cards: ``python tools/make_cards.py [NUMBER ...]``.

Each is named by the number of its example, and shows its content. Examples whose content is in another
picture of docs/images have none here: :data:`site_sources.PICTURES`.
"""

from collections.abc import Callable, Sequence
import contextlib
import io
import math
from pathlib import Path
import runpy
import sys
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from ssik_ros import Manipulator
from ssik_ros.arrays import FloatArray
from ssik_ros.view.pictures import RobotPictures
from ssik_ros.view.pictures.maker_shapes import EXTRA, has_wheel
from ssik_ros.view.pictures.solids import make_box, make_cylinder

sys.path.insert(0, str(Path(__file__).resolve().parent))
from make_pictures import (
    arrow_ends,
    chosen_names,
    draw_clear,
    FOLDER,
    load,
    looking_down,
    save_small,
    shift,
    state_of,
    WOOD,
)

matplotlib.use('Agg')
EXAMPLES = FOLDER.parents[1] / 'examples'
SIZE = (400, 280)
"""Of a card in the gallery [pixels]."""
BLUE, ORANGE, GREY = '#4a90d9', '#e8800c', '#8a8f98'
"""Colours of lines that are seen on light and dark pages."""
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
"""A posture of a Panda."""
POSTURE = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
"""A posture of a UR5e."""
Row = Sequence[float]


def panda() -> Manipulator:
    """Return a Panda with its flange as tip."""
    return load('panda', 'panda_link0', 'panda_link8')


def ur5e() -> Manipulator:
    """Return a UR5e."""
    return load('ur5e', 'base_link', 'tool0')


def run(number: str) -> dict[str, Any]:
    """Run an example without arguments, and return its names; its printed lines are dropped."""
    path = next(EXAMPLES.glob(f'{number}_*.py'))
    words, sys.argv = sys.argv, [str(path)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return runpy.run_path(str(path))
    finally:
        sys.argv = words


def draw(number: str, arm: Any, rows: Sequence[FloatArray], **options: Any) -> None:
    """Draw an arm in postures, the first of them opaque."""
    scenery = options.pop('scenery', ())
    states = [state_of(arm, q) for q in rows]
    shown = [*map(arrow_ends, options.get('frames', ())), *options.get('lines', ())]
    points = np.concatenate([np.zeros((0, 3)), *shown])
    pictures = RobotPictures(arm.robot, states, size=SIZE, scenery=scenery, points=points)
    save(number, draw_clear(pictures, states, **options))


def save(number: str, image: Any) -> None:
    """Write a card."""
    save_small(f'cards/{number}.png', np.asarray(image))


def follow(arm: Manipulator, poses: Sequence[FloatArray], q: FloatArray) -> list[FloatArray]:
    """Return a posture for each pose, each near the one before."""
    rows = []
    for pose in poses:
        q = arm.solve(pose, q_seed=q, max_solutions=1)[0].q
        rows.append(q)
    return rows


def draw_flat(number: str, paint: Callable[[Any], None]) -> None:
    """Draw in a plane with equal axes."""
    figure, axes = plt.subplots(figsize=(4.0, 2.8))
    axes.set_axis_off()
    axes.set_aspect('equal')
    paint(axes)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, transparent=True)
    plt.close(figure)
    save(number, Image.open(buffer).convert('RGBA'))


def solve_a_pose() -> None:
    """Draw a Panda at the pose of the example."""
    arm, target = panda(), looking_down(0.5, 0.0, 0.5)
    draw('01', arm, [arm.solve(target)[0].q], frames=[target])


def nearest() -> None:
    """Draw a Panda at a seed, and in the nearest and the farthest of some solutions."""
    arm = panda()
    target = arm.fk(np.array([0.9, 0.2, -0.4, -1.7, 0.3, 2.0, 0.1]))
    branches = sorted(
        (solution.q for solution in arm.solve(target, q_seed=READY, max_solutions=8)),
        key=lambda q: float(np.linalg.norm(q - READY)),
    )
    draw('02', arm, [branches[0], READY, branches[-1]], frames=[target])


def two_arms() -> None:
    """Draw the robot of the example in its solution."""
    names = run('03')
    state = names['state'].positions
    save('03', draw_clear(RobotPictures(names['robot'], [state], size=SIZE), [state]))


def own_limits() -> None:
    """Draw a Gen3 with a point 10 cm in front of its flange."""
    arm = load('gen3', 'base_link', 'end_effector_link')
    q = np.array([0.2, 0.5, 0.1, 1.2, 0.1, 0.9, 0.3])
    tool = arm.fk(q) @ shift(0.0, 0.0, 0.1)
    draw('04', arm, [q, q + 0.15, q - 0.15], frames=[tool])


def third_party() -> None:
    """Draw a Panda at a target, and at the zero posture where the solver begins."""
    arm, target = panda(), looking_down(0.5, 0.0, 0.5)
    draw('07', arm, [arm.solve(target)[0].q, np.zeros(7)], frames=[target])


def over_ros() -> None:
    """Draw a UR5e that was asked for a pose, and the seed of the request."""
    arm = ur5e()
    target = arm.fk(POSTURE)
    draw(
        '08', arm, [POSTURE, POSTURE + np.array((0.0, -0.3, 0.5, 0.1, 0.0, 0.0))], frames=[target]
    )


def newton() -> None:
    """Draw a Panda along a line."""
    arm = panda()
    start = arm.fk(READY)
    line = [shift(0.0, y, -0.1) @ start for y in np.linspace(-0.35, 0.35, 21)]
    rows = follow(arm, line, READY)
    points = np.array([pose[:3, 3] for pose in line])
    draw('10', arm, rows[::5][::-1], lines=[points])


def closed_chain() -> None:
    """Draw a chain of links that reaches a goal, and where it was before."""

    def paint(axes: Any) -> None:
        before = np.array(((0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)))
        after = np.array(((0.0, 0.0), (0.55, 0.83), (1.47, 1.23), (2.2, 0.55)))
        axes.plot(*before.T, '-o', color=GREY, lw=4, ms=9, alpha=0.5)
        axes.plot(*after.T, '-o', color=BLUE, lw=6, ms=12)
        axes.plot(*after[-1], '*', color=ORANGE, ms=26)

    draw_flat('11', paint)


def rover() -> None:
    """Draw the rover of the example on its ground, from the side."""
    names = run('13')
    body = names['body'].dof_values

    def paint(axes: Any) -> None:
        x = np.linspace(body[0] - 1.0, body[0] + 1.0, 101)
        axes.fill_between(x, names['ground'](x, -0.4), -0.3, color=WOOD, lw=0)
        places = np.array([wheel.get_world_position() for wheel in names['wheels'][:2]])
        axes.plot(places[:, 0], places[:, 2] + 0.09, 'o', color=GREY, ms=22)
        for place in places:
            axes.plot([body[0], place[0]], [body[2], place[2] + 0.09], color=BLUE, lw=6)
        lean = 0.4 * np.array((math.cos(body[4]), -math.sin(body[4])))
        ends = np.array((body[[0, 2]] - lean, body[[0, 2]] + lean)).T
        axes.plot(*ends, color=ORANGE, lw=12, solid_capstyle='round')

    draw_flat('13', paint)


def mechanisms() -> None:
    """Put the pictures of three mechanisms side by side."""
    card = Image.new('RGBA', SIZE)
    for place, name in enumerate(('delta', 'hexapod', 'dual_arm')):
        part = Image.open(FOLDER / f'{name}.png').convert('RGBA')
        part.thumbnail((SIZE[0] // 3, SIZE[1]))
        card.paste(part, (place * SIZE[0] // 3, (SIZE[1] - part.height) // 2))
    save('16', card)


def session() -> None:
    """Draw a UR5e at a dragged target, and its other branches."""
    arm = ur5e()
    target = shift(0.05, 0.0, -0.05) @ arm.fk(POSTURE + np.array((0.9, 0.0, 0.0, 0.0, 0.0, 0.0)))
    rows = list(arm.solve_q(target, POSTURE)[:4])
    start = shift(-0.05, 0.0, 0.05) @ target
    draw('17', arm, rows, frames=[target], lines=[np.array((start[:3, 3], target[:3, 3]))])


def environment() -> None:
    """Draw a Panda whose flange follows a circle."""
    arm, q = panda(), np.array([0.0, 0.2, 0.0, -1.6, 0.0, 1.8, 0.0])
    centre = arm.fk(q)
    angles = np.linspace(0.0, 2.0 * np.pi, 61)
    points = centre[:3, 3] + 0.2 * np.stack((np.cos(angles) - 1.0, np.sin(angles), 0 * angles), 1)
    draw('20', arm, [q], lines=[points], frames=[centre])


def relative_arms() -> None:
    """Draw two UR5e that hold one object."""
    arm = ur5e()
    left = np.array([0.6, -1.3, 1.7, -2.0, -1.57, 0.0])
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    tip = arm.fk(left)
    # Both bases are as far from the object, one on either side of it.
    other = shift(2.0 * tip[0, 3], 2.0 * tip[1, 3], 0.0) @ turn
    pictures = RobotPictures(arm.robot, [state_of(arm, left)])
    solids = pictures.solids.at(state_of(arm, left))
    scenery = [(surface.moved(other), colour) for surface, colour in solids]
    grip = make_box((0.12, 0.12, 0.25)).moved(tip)
    draw('22', arm, [left], scenery=[*scenery, (grip, WOOD)])


def screws() -> None:
    """Draw a screw with its nut, and a gripper with two fingers."""

    def paint(axes: Any) -> None:
        z = np.linspace(0.0, 4.0, 400)
        axes.plot(0.35 * np.sin(12.0 * z), z, color=GREY, lw=3)
        axes.plot([-0.7, 0.7], [2.4, 2.4], color=BLUE, lw=22, solid_capstyle='butt')
        axes.annotate(
            '', (1.2, 3.4), (1.2, 1.4), arrowprops={'arrowstyle': '->', 'lw': 3, 'color': ORANGE}
        )
        axes.plot([2.4, 4.6], [3.4, 3.4], color=GREY, lw=16, solid_capstyle='round')
        for x in (2.9, 4.1):
            axes.plot([x, x], [3.2, 1.2], color=BLUE, lw=12, solid_capstyle='round')
            inside = x + (0.45 if x < 3.5 else -0.45)
            axes.annotate(
                '',
                (inside, 2.0),
                (x, 2.0),
                arrowprops={'arrowstyle': '->', 'lw': 3, 'color': ORANGE},
            )
        axes.set(xlim=(-1.2, 5.2), ylim=(-0.2, 4.2))

    draw_flat('23', paint)


def configurations() -> None:
    """Draw all configurations of a pose, and the straight way to the best of them."""
    arm = ur5e()
    seed = np.array([-0.6, -1.2, 1.4, 0.0, 0.0, 0.0]) + 0.3
    target = looking_down(0.45, 0.3, 0.3)
    rows = list(arm.solve_q(target, seed))
    points = np.array((arm.fk(seed)[:3, 3], target[:3, 3]))
    draw('24', arm, [rows[0], seed, *rows[1:3]], frames=[target], lines=[points])


def ported() -> None:
    """Draw the planar arm of the example along its path."""
    names = run('25')
    path = np.array(names['path']).reshape(-1, 3)

    def paint(axes: Any) -> None:
        for number, q in enumerate(path[::3]):
            angles = np.cumsum(q)
            points = np.cumsum(0.4 * np.stack((np.cos(angles), np.sin(angles)), 1), axis=0)
            points = np.vstack((np.zeros(2), points))
            is_last = number == len(path[::3]) - 1
            axes.plot(
                *points.T,
                '-o',
                color=BLUE if is_last else GREY,
                lw=6,
                ms=11,
                alpha=1.0 if is_last else 0.4,
            )
        axes.plot(0.5, 0.7, '*', color=ORANGE, ms=24)

    draw_flat('25', paint)


def scene_over_ros() -> None:
    """Draw a Panda that moves to a cup on a table."""
    arm, target = panda(), looking_down(0.5, 0.25, 0.3)
    cup = make_cylinder(0.04, 0.12).moved(shift(0.5, 0.25, 0.2))
    table = make_box((0.5, 0.8, 0.03)).moved(shift(0.5, 0.1, 0.12))
    rows = [arm.solve(target, q_seed=READY)[0].q, READY]
    draw('26', arm, rows, scenery=[(table, WOOD), (cup, (0.85, 0.35, 0.2))])


def tool_path() -> None:
    """Draw a Panda along a line, past a post."""
    arm = panda()
    line = [looking_down(0.45, y, 0.4) for y in np.linspace(-0.2, 0.25, 10)]
    post = make_box((0.08, 0.08, 0.5)).moved(shift(0.25, 0.02, 0.55))
    points = np.array([pose[:3, 3] for pose in line])
    rows = follow(arm, line, np.array([-0.5, 0.2, 0.3, -2.2, 0.3, 2.3, 0.5]))
    draw('27', arm, [rows[0]], scenery=[(post, (0.85, 0.35, 0.2))], lines=[points])


def self_motions() -> None:
    """Draw the postures of a curve, as the example does."""
    names = run('28')
    states = names['states']
    pictures = RobotPictures(names['arm'].robot, states, size=SIZE)
    save('28', draw_clear(pictures, states[:5], frames=[names['target']]))


def samples() -> None:
    """Draw a UR5e among the poses of samples."""
    arm, generator = ur5e(), np.random.default_rng(1)
    tile = make_box((0.03, 0.03, 0.03))
    places = [arm.fk(q)[:3, 3] for q in generator.uniform(-np.pi, np.pi, (160, 6))]
    scenery = [(tile.moved(shift(*p)), (0.3, 0.4 + 0.4 * abs(p[2]), 0.85)) for p in places]
    draw('29', arm, [POSTURE], scenery=scenery)


def path_over_ros() -> None:
    """Draw a Panda halfway along a path with corners."""
    arm = panda()
    corners = np.array(((0.35, -0.3, 0.3), (0.35, 0.3, 0.3), (0.6, 0.3, 0.3), (0.6, -0.1, 0.3)))
    rows = follow(arm, [looking_down(*corner) for corner in corners], READY)
    draw('30', arm, rows[2:] + rows[:1], lines=[corners], frames=[looking_down(*corners[2])])


CARDS: dict[str, Callable[[], None]] = {
    '01': solve_a_pose,
    '02': nearest,
    '03': two_arms,
    '04': own_limits,
    '07': third_party,
    '08': over_ros,
    '10': newton,
    '11': closed_chain,
    '13': rover,
    '16': mechanisms,
    '17': session,
    '20': environment,
    '22': relative_arms,
    '23': screws,
    '24': configurations,
    '25': ported,
    '26': scene_over_ros,
    '27': tool_path,
    '28': self_motions,
    '29': samples,
    '30': path_over_ros,
}


WITH_MESHES = {'01', '02', '07', '10', '20', '26', '27', '28', '30'}
"""Cards of a Panda, whose meshes come with an extra: without it they are not drawn again."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Draw the cards that are named, or all.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    (FOLDER / 'cards').mkdir(exist_ok=True)
    for number in chosen_names(CARDS, __doc__, arguments):
        if number in WITH_MESHES and not has_wheel():
            print(
                f'docs/images/cards: {number} is left as it is, because its meshes are missing: {EXTRA}'
            )
            continue
        CARDS[number]()
        print(f'docs/images/cards: {number}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
