"""
Take the pictures of ``ssik view`` in docs/images in a Chromium without window: ``python tools/shoot_view.py [NAME ...]``.

Needs Chromium and requirements/browser.txt, as the tests of the page do, and requirements/robots.txt
for the makers' meshes.
"""

from collections.abc import Callable, Sequence
import io
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from PIL import Image

from ssik_ros.cli.command import make_parser
from ssik_ros.cli.viewed_robot import open_session
from ssik_ros.view.browser.page import Page
from ssik_ros.view.browser.panels.robot_panel import RobotPanel, Whereabouts
from ssik_ros.view.waypoints import make_problem, plan_waypoints, record_waypoint

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]
from test.view.made_browser import open_browser, Screen  # noqa: E402
from test.view.made_pages import controls_of  # noqa: E402

from make_pictures import chosen_names, save_small  # noqa: E402

ZOOM = 'zoom to robot (Z)'
BENT = (0.9, 0.2, 0.0, -2.356, 0.0, 1.571, 0.785)
"""A posture of a Panda."""
OBSTACLES = 'obstacles:\n  table: {box: [0.6, 1.0, 0.04], xyz: [0.5, 0.0, 0.1]}\n  ball: {sphere: 0.08, xyz: [0.4, 0.3, 0.5]}\n'
Size = tuple[int, int]


class Shot:
    """One page in a browser."""

    def __init__(self, browser: Any, size: Size, *words: str) -> None:
        session, extras = open_session(make_parser('view').parse_args(['view', *words]))
        self.session: Any = session
        self.page = Page(self.session, port=0, extras=extras)
        self._browser, self._size = browser, size

    def do(self, action: Callable[[], None]) -> None:
        """Do something in the thread of the page."""
        self.page.post(action)
        assert self.page.mailbox.wait_idle(60.0)

    def move(self, link: str, *shift: float) -> None:
        """Move a target [m]."""
        pose = self.session.targets[link].copy()
        pose[:3, 3] += shift
        self.do(lambda: self.session.move_target(link, pose))

    def save(self, name: str, *steps: tuple[str, str]) -> None:
        """Press controls, each named by its role and text, and write a picture of 128 colours."""
        screen = Screen(self._browser, self.page, self._size)
        for role, text in steps:
            screen.tab.get_by_role(role, name=text, exact=True).click()
            screen.settle()
        # The mouse would show a hint. Labels are drawn by and by.
        screen.tab.mouse.move(5, 5)
        screen.tab.wait_for_timeout(3000)
        assert not screen.errors, screen.errors
        image = Image.open(io.BytesIO(screen.tab.screenshot(timeout=60000))).convert('RGB')
        save_small(f'{name}.png', np.asarray(image))
        screen.tab.close()
        self.page.close()


def shoot_branches(browser: Any) -> None:
    """Show the branches of a UR5e."""
    shot = Shot(browser, (1000, 620), 'ur5e')
    shot.save('view_branches', ('button', ZOOM), ('tab', 'Branches'))


def shoot_path(browser: Any) -> None:
    """Show a planned path through three waypoints of a UR5e."""
    shot = Shot(browser, (1000, 700), 'ur5e')
    session = shot.session
    for shift in ((0.0, 0.0, 0.0), (0.0, 0.25, 0.0), (-0.1, 0.0, -0.3)):
        shot.move('tool0', *shift)
        shot.do(lambda: record_waypoint(session))
    playback = plan_waypoints(make_problem(session))
    shot.page.extras = shot.page.extras._replace(playback=playback)
    shot.do(lambda: playback.show(session, 0.0))
    shot.save('view_path', ('button', ZOOM), ('tab', 'Path'))


def shoot_why_not(browser: Any) -> None:
    """Show why a UR5e does not reach a target."""
    shot = Shot(browser, (1000, 620), 'ur5e')
    shot.move('tool0', -0.3, 0.0, 0.5)
    shot.save('view_why_not', ('tab', 'Why not'))


def shoot_obstacles(browser: Any) -> None:
    """Show a Panda between obstacles, one of which was added by hand."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, 'cell.yaml')
        file.write_text(OBSTACLES)
        shot = Shot(browser, (1280, 800), 'panda', '--obstacles', str(file))
    steps = [('tab', 'Obstacles'), ('button', 'Add an obstacle')]
    shot.save('view_obstacles', *steps)


def shoot_mechanism(browser: Any) -> None:
    """Show a hexapod that leans."""
    shot = Shot(browser, (1280, 800), 'hexapod')
    shot.move(shot.session.tips[0], 0.03, 0.02, -0.01)
    shot.save('view_mechanism', ('tab', 'Mechanism'))


def shoot_tasks(browser: Any) -> None:
    """Show two arms whose object is to go out of reach."""
    shot = Shot(browser, (1280, 800), 'dual_arm', '--tasks', 'dual_arm')
    shot.move(shot.session.tips[0], 0.5, 0.0, 0.3)
    shot.save('view_tasks', ('tab', 'Tasks'))


def shoot_reach(browser: Any) -> None:
    """Show half of a reach map of a UR5e."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            'reach',
            'ur5e',
            '--grid',
            '0.1',
            '--orientations',
            '16',
            '-o',
            f'{folder}/map.zarr',
        ]
        subprocess.run([sys.executable, '-m', 'ssik_ros.cli.command', *words], check=True)
        shot = Shot(browser, (1280, 800), 'ur5e', '--reach', f'{folder}/map.zarr')
    for handle in controls_of(shot.page).values():
        if handle.label == 'cut away along':
            handle.value = 'y'
        elif handle.label == 'up to [%]':
            handle.value = 50
    shot.save('view_reach', ('tab', 'Reach'))


class StandIn:
    """A robot that stays where its goal was at first."""

    receiver = '/arm_controller/joint_trajectory'

    def __init__(self, session: Any) -> None:
        self._state = session.state

    def where(self) -> Whereabouts:
        return Whereabouts(self._state, True, '')

    def problem(self) -> str:
        return ''

    status = problem

    def send(self, goal: Any, seconds: float) -> str:
        return ''

    def stop(self) -> None:
        pass


def shoot_robot(browser: Any) -> None:
    """Show the goal of a Panda together with the real robot."""
    shot = Shot(browser, (1100, 800), 'panda')
    panel = RobotPanel(shot.page, StandIn(shot.session))
    shot.do(lambda: shot.session.set_joints(np.array(BENT)))
    panel.refresh()
    shot.save('view_robot', ('tab', 'Joints'))


PICTURES: dict[str, Callable[[Any], None]] = {
    'branches': shoot_branches,
    'path': shoot_path,
    'why_not': shoot_why_not,
    'obstacles': shoot_obstacles,
    'mechanism': shoot_mechanism,
    'tasks': shoot_tasks,
    'reach': shoot_reach,
    'robot': shoot_robot,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Take the pictures that are named, or all.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    names = chosen_names(PICTURES, __doc__, arguments)
    with open_browser() as browser:
        for name in names:
            PICTURES[name](browser)
            print(f'docs/images: view_{name}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
