"""Write a request of a viewer as a test case in JSON, which ``ssik solve --case FILE`` replays."""

from typing import Any

from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.view.sessions.session import Session

KIND = 'ssik_ros case'
VERSION = 1


def make_case(session: Session) -> dict[str, Any]:
    """
    Return the shown request and its outcome as a test case: a mapping for JSON, which ``ssik solve --case`` replays.

    :param session: the session, without ignored limits, collisions or orientation (``relaxations``).
    :raises InvalidOption: if constraints are ignored, because a test case cannot say so.
    """
    session.refuse_relaxed('A test case')
    base, kinematics = session.model_in_base, session.kinematics
    return {
        'kind': KIND,
        'version': VERSION,
        'robot': dict(session.origin),
        'group': session.group.name,
        'base': session.group.base_link,
        'tips': list(session.tips),
        'poses': {k: list(numbers_of_pose(base @ pose)) for k, pose in session.targets.items()},
        'seed': session.seed.tolist(),
        'solver': kinematics.solver,
        'parameters': dict(kinematics.parameters),
        'position_only': kinematics.position_only,
        'outcome': {
            'solved': session.outcome.solved,
            'cause': session.outcome.cause.name,
            'text': session.outcome.text,
        },
    }
