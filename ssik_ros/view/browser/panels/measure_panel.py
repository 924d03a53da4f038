"""The panel of measures of the posture: the manipulability ellipsoid of the tip, and the nearest pair of bodies."""

import numpy as np

from ssik_ros.model.collision.scene import NearestPair
from ssik_ros.server.requests.refusals import RequestRefused
from ssik_ros.view.browser.link_meshes import page_colour, page_pose, SceneLines
from ssik_ros.view.browser.page_panels import BasePage, Panel, plain, post_refresh
from ssik_ros.view.limit_room import short
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.velocity_ellipsoid import VelocityEllipsoid

SCALE = 0.25
"""Length of a radius of 1 m/s for 1 rad/s [m]."""
FLATTEST = 1e-3
"""Least radius that is drawn, as a part of the largest one."""
NEARLY_FLAT = 0.05
"""Ratio of the radii below which a posture is called nearly singular."""
COLOUR, WARNING = page_colour((0.3, 0.55, 0.85)), page_colour((0.95, 0.55, 0.15))


class MeasurePanel(Panel):
    """Draws the manipulability ellipsoid and the nearest pair of bodies, each if its box is ticked."""

    def __init__(self, page: BasePage[PostureSession]) -> None:
        """
        Add the controls to the page, and the shapes to its scene; the shapes stay hidden until a box is ticked.

        The box of the ellipsoid is shown only if the session has a group with one tip.

        :param page: the page.
        """
        self._page, gui = page, page.gui
        has_ellipsoid = isinstance(page.session, Session) and len(page.session.tips) == 1
        self._ellipsoid_box = gui.add_checkbox(
            'manipulability ellipsoid', False, visible=has_ellipsoid
        )
        self._ellipsoid_text = gui.add_markdown('')
        self._pair_box = gui.add_checkbox('nearest pair of bodies', False)
        self._pair_text = gui.add_markdown('')
        for each in (self._ellipsoid_box, self._pair_box):
            post_refresh(page, each)
        scene, size = page.scene, page.size
        self._ball = scene.add_icosphere(
            '/ellipsoid', 1.0, COLOUR, opacity=0.35, cast_shadow=False, visible=False
        )
        self._weakest = SceneLines(scene, '/weakest', WARNING, 0.006 * size)
        self._pair = SceneLines(scene, '/nearest_pair', WARNING, 0.008 * size)

    def show(self, session: PostureSession) -> None:
        ellipsoid = None
        if self._ellipsoid_box.value and isinstance(session, Session):
            ellipsoid = session.velocity_ellipsoid()
        self._ball.visible = ellipsoid is not None
        self._ellipsoid_text.content = describe_ellipsoid(ellipsoid) if ellipsoid else ''
        if ellipsoid is None:
            self._weakest.draw(None)
            return
        self._ball.wxyz, self._ball.position = page_pose(ellipsoid.pose)
        radii = SCALE * np.maximum(ellipsoid.radii, FLATTEST * ellipsoid.radii[0])
        self._ball.scale = float(radii[0]), float(radii[1]), float(radii[2])
        place, half = ellipsoid.pose[:3, 3], SCALE * ellipsoid.radii[0] * ellipsoid.weakest
        self._weakest.draw([[place - half, place + half]])

    def show_details(self, session: PostureSession) -> None:
        pair, text = measure_pair(session) if self._pair_box.value else (None, '')
        self._pair.draw(None if pair is None else pair.points[None])
        self._pair_text.content = plain(text)


def describe_ellipsoid(ellipsoid: VelocityEllipsoid) -> str:
    """
    Return Markdown about the direction in which the tip moves slowest, and a warning if the posture is nearly singular.

    :param ellipsoid: the ellipsoid.
    """
    x, y, z = ellipsoid.weakest
    least, most = (plain(short(float(ellipsoid.radii[k]))) for k in (2, 0))
    kind = '**Nearly singular.** ' if ellipsoid.ratio < NEARLY_FLAT else ''
    text = f'The tip moves least along the orange line, {plain(f"({x:.2f}, {y:.2f}, {z:.2f})")}: '
    return f'{kind}{text}{least} of at most {most} m/s, for joints at 1 rad/s.'


def measure_pair(session: PostureSession) -> tuple[NearestPair | None, str]:
    """
    Return the two nearest bodies of the shown posture, and a sentence with their names and distance or overlap [mm].

    Without such a pair, the sentence says why.

    :param session: the session.
    """
    try:
        pair = session.nearest_pair()
    except RequestRefused as refusal:
        return None, str(refusal)
    if pair is None:
        return None, 'No pair of bodies is checked for collisions.'
    apart = f'{1e3 * abs(pair.distance):.0f} mm'
    how = 'overlap by' if pair.distance < 0.0 else 'are apart by'
    return pair, f'{pair.first} and {pair.second} {how} {apart}.'
