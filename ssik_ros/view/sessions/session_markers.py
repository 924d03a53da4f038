"""Markers that show a session in RViz or another viewer of ROS markers."""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.markers import Color, Marker
from ssik_ros.view.pictures.bars import bar_lines, length_of_bars
from ssik_ros.view.sessions.session import Session

REACHED: Color = (0.2, 0.75, 0.35, 0.9)
NEAREST: Color = (0.95, 0.6, 0.15, 0.9)
BRANCH: Color = (0.3, 0.5, 0.9, 0.35)
MISSING: Color = (0.9, 0.15, 0.15, 1.0)
WIDTH = 0.012
"""Of the lines of the posture, as a part of the robot's length."""
LETTERS = 0.05
"""Height of letters, as a part of the robot's length."""
NOTHING: FloatArray = np.zeros((0, 3))


def make_markers(session: Session) -> list[Marker]:
    """
    Return markers of a session: posture, joints, other branches, the cause of a failure, and lines to missed targets.

    Each call returns markers with the same names and numbers. A marker without points removes the one of an earlier
    call.

    :param session: the session.
    """
    lines = bar_lines(session.robot, session.state)
    size = length_of_bars(lines)
    colour = REACHED if session.outcome.solved else NEAREST
    markers = [
        Marker('posture', 0, 'line_list', colour, WIDTH * size, lines),
        Marker('joints', 0, 'sphere', colour, 2.0 * WIDTH * size, np.unique(lines, axis=0)),
    ]
    for number in range(session.most_branches):
        ghost = NOTHING
        if number < len(session.branches):
            state = session.state_with(session.branches[number].positions)
            ghost = bar_lines(session.robot, state)
        markers.append(Marker('branches', number, 'line_list', BRANCH, 0.5 * WIDTH * size, ghost))
    return [*markers, *_failure_markers(session, size)]


def _failure_markers(session: Session, size: float) -> list[Marker]:
    """
    Return a text marker with the cause of a failure above the first target, and lines from each tip to its target.

    Both are without points if the targets are reached.

    :param size: length of the robot, by which letters and lines are scaled [m].
    """
    if session.outcome.solved:
        text, place, gaps = '', NOTHING, NOTHING
    else:
        text, gaps = session.outcome.text, session.gaps()
        place = gaps[0, 1:] + (0.0, 0.0, 2.0 * LETTERS * size)
    return [
        Marker('cause', 0, 'text', MISSING, LETTERS * size, place, text),
        Marker('gap', 0, 'line_list', MISSING, WIDTH * size, gaps.reshape(-1, 3)),
    ]
