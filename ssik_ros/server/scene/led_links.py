"""
Poses of the frame that a request leads to poses: a link, or an object that a link carries.

:class:`LedLink` computes its pose from joint vectors of a group, :func:`tool_at_tip` its constant pose in a tip.
"""

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, quote
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.server.requests.ik_requests import LinkGoal
from ssik_ros.server.requests.refusals import Refusal


class LedLink:
    """Forward kinematics of the frame that a request leads to poses: a link, or a carried object fixed to it."""

    def __init__(self, chain: ChainKinematics, tool: FloatArray | None = None) -> None:
        """
        Keep the chain and the tool.

        :param chain: from the base to the link.
        :param tool: (4, 4) pose of the led frame in the link; None for the link itself.
        """
        self._chain, self._tool = chain, tool

    def pose(self, q: FloatArray, state: FloatArray | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of the led frame in the base of the chain.

        :param q: (n,) joint vector of the group [rad or m].
        :param state: (nq,) full state, read for joints outside the group; None means default values.
        """
        pose = self._chain.pose(q, state)
        return pose if self._tool is None else pose @ self._tool


def tool_at_tip(robot: RobotModel, tip: str, led: LinkGoal) -> FloatArray | None:
    """
    Return the pose (4, 4), in a tip frame, of a link or of the object that it carries; None for the tip itself.

    :param robot: the robot.
    :param tip: name of the tip link.
    :param led: the link, and the pose of a carried object in it; an empty link is the tip.
    :raises RequestRefused: for an unknown link, and a link that is not fixed to the tip.
    """
    link = led.link or tip
    if link == tip:
        return led.tool
    if link not in robot.tree.link_index:
        text = f'Robot {quote(robot.name)} has no link {quote(link)}. '
        text += describe_choices(link, robot.tree.link_names)
        raise Refusal.UNKNOWN_LINK.error(text)
    offset = robot.rigid_offset(tip, link)
    if offset is None:
        text = f'Link {quote(link)} is not rigidly attached to the tip {quote(tip)}.'
        raise Refusal.UNKNOWN_LINK.error(text)
    return offset if led.tool is None else offset @ led.tool
