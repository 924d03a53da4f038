"""The tabs of a page and the panels in them, which depend on the kind of session."""

from collections.abc import Callable, Sequence
from typing import Any

from ssik_ros.view.browser.page_panels import BasePage, Panel
from ssik_ros.view.browser.panels.branch_panel import BranchPanel
from ssik_ros.view.browser.panels.camera_panel import CameraPanel
from ssik_ros.view.browser.panels.copy_panel import CopyPanel
from ssik_ros.view.browser.panels.curve_panel import CurvePanel
from ssik_ros.view.browser.panels.joint_panel import JointPanel
from ssik_ros.view.browser.panels.measure_panel import MeasurePanel
from ssik_ros.view.browser.panels.mechanism_panels import LoopPanel, TaskPanel
from ssik_ros.view.browser.panels.obstacle_panel import ObstaclePanel
from ssik_ros.view.browser.panels.path_panel import PathPanel
from ssik_ros.view.browser.panels.reach_panel import ReachPanel
from ssik_ros.view.browser.panels.reason_panel import ReasonPanel
from ssik_ros.view.browser.panels.solver_panel import SolverPanel
from ssik_ros.view.browser.panels.target_panel import StatusPanel, TargetPanel
from ssik_ros.view.browser.panels.waypoint_panel import WaypointPanel
from ssik_ros.view.browser.scene_pictures import PicturePanel
from ssik_ros.view.sessions.loop_session import LoopSession
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.sessions.task_session import TaskSession

MakePanel = Callable[[Any], Panel]
"""Makes a panel of a page whose session has the kind that the panel needs."""


def make_panels(page: BasePage[Any]) -> list[Panel]:
    """
    Make the status line, the camera buttons and all tabs with their panels; return the panels in the order of the page.

    :param page: the page.
    """
    panels: list[Panel] = [StatusPanel(page), CameraPanel(page)]
    tabs = page.gui.add_tab_group()
    for title, kinds in list_tabs(page).items():
        with tabs.add_tab(title):
            panels += [kind(page) for kind in kinds]
    return panels


def list_tabs(page: BasePage[Any]) -> dict[str, Sequence[MakePanel]]:
    """
    Return the classes of the panels in each tab, by the tab's title.

    :param page: the page, whose session and extras decide.
    """
    session = page.session
    tabs: dict[str, Sequence[MakePanel]] = {
        'Target': [TargetPanel, PicturePanel],
        'Joints': [JointPanel],
    }
    tabs |= _own_tabs(session)
    tabs['Obstacles'] = [ObstaclePanel]
    tabs['Measures'] = [MeasurePanel]
    if isinstance(session, Session) and len(session.tips) == 1:
        tabs['Path'] = [WaypointPanel, PathPanel]
    elif page.extras.playback is not None:
        tabs['Path'] = [PathPanel]
    if page.extras.cloud is not None:
        tabs['Reach'] = [ReachPanel]
    return tabs


def _own_tabs(session: PostureSession) -> dict[str, Sequence[MakePanel]]:
    """Return the tabs that are specific to the kind of session, such as "Branches": panel classes by title."""
    if isinstance(session, LoopSession):
        return {'Mechanism': [LoopPanel]}
    if isinstance(session, TaskSession):
        return {'Tasks': [TaskPanel]}
    if not isinstance(session, Session):
        return {}
    curve = [CurvePanel] if session.is_redundant else []
    branches: Sequence[MakePanel] = [BranchPanel, *curve]
    return {
        'Branches': branches,
        'Why not': [ReasonPanel],
        'Solver': [SolverPanel],
        'Copy': [CopyPanel],
    }
