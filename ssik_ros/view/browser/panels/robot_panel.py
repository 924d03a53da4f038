"""The panel of the real robot: its posture next to the shown one, and a button that sends the shown posture as a goal."""

from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidTarget, quote, SsikError
from ssik_ros.server.requests.ik_requests import FullState, StateRequest
from ssik_ros.view.browser.controls import on_press
from ssik_ros.view.browser.link_meshes import RobotMeshes, SEGMENTS
from ssik_ros.view.browser.page_panels import BasePage, plain
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.sessions.session import Session

REAL: Colour = (0.2, 0.45, 0.95)
STALE: Colour = (0.45, 0.45, 0.45)
REAL_ROBOT_OPACITY = 0.45
"""Opacity of the real robot [1]."""
DURATIONS = (1.0, 60.0)
"""Range of the slider [s]."""
USUAL_DURATION = 5.0
BASE_MOVED = 1e-3
"""A goal is not sent if the base has moved more than that since [m, or as a part of a turn's matrix]."""


class Whereabouts(NamedTuple):
    """The last known state of the real robot, whether it is recent, and a text for the user."""

    state: FullState | None
    """None before the first message."""
    is_fresh: bool
    text: str
    """Error or assumption about the posture; empty if there is nothing to say."""


class RealRobot(Protocol):
    """Interface of a real robot for the panel: where it is, and how a goal is sent to it."""

    @property
    def receiver(self) -> str:
        """Return the name of the topic or action to which goals are sent; empty if no receiver was named."""

    def where(self) -> Whereabouts:
        """Return the last known state of the robot."""

    def problem(self) -> str:
        """Return why no goal can be sent now; empty if one can."""

    def status(self) -> str:
        """Return a text about the goal that was sent last, such as its progress; empty before the first goal."""

    def send(self, goal: FloatArray, seconds: float) -> str:
        """
        Send a posture to the robot as a goal; return a note for the user, which may be empty.

        :param goal: (n,) posture [rad or m].
        :param seconds: duration of the motion [s].
        """

    def stop(self) -> None:
        """Cancel the goal that was sent last."""


class RobotPanel:
    """
    Shows the real robot as a transparent blue one, grey if its state is old.

    If a receiver of goals is named, a button sends the shown posture to the robot.
    """

    def __init__(self, page: BasePage[Session], robot: RealRobot) -> None:
        """
        Make the meshes and the controls, below the tabs, so that the stop button is always visible.

        :param page: the page.
        :param robot: the real robot.
        """
        self._page, self._robot = page, robot
        solids = RobotSolids(page.session.robot, segments=SEGMENTS)
        self._meshes = RobotMeshes(page.scene, solids, '/real', REAL_ROBOT_OPACITY)
        self._meshes.root.visible = False
        self._note = ''
        self._send: Any = None
        with page.gui.add_folder('Robot'):
            self._add_controls(page.gui)
        self.refresh()

    def _add_controls(self, gui: Any) -> None:
        page, robot = self._page, self._robot
        self._text = gui.add_markdown('')
        self._is_wanted = gui.add_checkbox('show the real robot', True)
        on_press(gui.add_button('Begin where the robot is'), partial(page.post, self._begin))
        if robot.receiver:
            low, high = DURATIONS
            self._seconds = gui.add_slider('duration [s]', low, high, 0.5, USUAL_DURATION)
            self._send = gui.add_button(f'Send the goal to {robot.receiver}', disabled=True)
            on_press(self._send, partial(page.post, self._send_goal))
            on_press(gui.add_button('Stop'), self._stop)

    def _begin(self) -> None:
        there = self._robot.where()
        if there.state is None:
            raise InvalidTarget(there.text)
        with self._page.session.undo_step():
            self._page.session.begin_at(there.state)

    def _send_goal(self) -> None:
        """Send the shown posture to the robot; raise InvalidTarget if :func:`require_sendable` refuses it."""
        session = self._page.session
        require_sendable(session, self._robot.where())
        self._note = self._robot.send(session.joints.copy(), float(self._seconds.value))

    def _stop(self) -> None:
        """Stop the robot at once, before any waiting events of the page are handled."""
        try:
            self._robot.stop()
            self._note = ''
        except SsikError as error:
            self._note = str(error)

    def refresh(self) -> None:
        """Update mesh, colour and texts to the present state of the robot; called often, always by the same thread."""
        there = self._robot.where()
        is_shown = self._is_wanted.value and there.state is not None
        if there.state is not None and is_shown:
            self._meshes.place(there.state)
        self._meshes.mark(dict.fromkeys(self._meshes.links, REAL if there.is_fresh else STALE))
        self._meshes.root.visible = is_shown
        self._text.content = self._describe(there)
        if self._send is not None:
            self._send.disabled = not there.is_fresh or bool(self._robot.problem())

    def _describe(self, there: Whereabouts) -> str:
        lines = ['The blue robot is the real one.' if there.is_fresh else '', plain(there.text)]
        if self._send is not None:
            lines += map(plain, (self._robot.problem(), self._robot.status(), self._note))
            lines.append('The way to the goal is not checked for collisions.')
        return '\n\n'.join(filter(None, lines))


def require_sendable(session: Session, there: Whereabouts) -> None:
    """
    Raise InvalidTarget if the shown posture must not be sent to the robot.

    It must reach the target without ignored constraints, and without collisions as far as these can be checked. The
    robot's state must be recent, and its base must be where the session has it.

    :param session: the session that shows the posture.
    :param there: state of the real robot.
    :raises InvalidTarget: with the reason.
    """
    reason = _reason_against(session, there)
    if reason:
        raise InvalidTarget(f'Nothing is sent. {reason}')


def _reason_against(session: Session, there: Whereabouts) -> str:
    """Return why the shown posture must not be sent to the robot; empty if it may be."""
    if there.state is None or not there.is_fresh:
        return there.text
    if session.relaxations != Relaxations():
        return 'The goal counts only with all limits: take back what was let go of.'
    if not session.outcome.solved:
        return session.outcome.text
    if not np.allclose(session.state.root_pose, there.state.root_pose, atol=BASE_MOVED):
        return 'The base of the robot has moved since: begin where the robot is.'
    # The other joints are where the robot has them.
    goal = session.state_with(session.joints, there.state)
    contacts = session.server.check_state(StateRequest(), goal).contacts
    for contact in contacts:
        return f'At the goal {quote(contact.first)} and {quote(contact.second)} collide.'
    return ''
