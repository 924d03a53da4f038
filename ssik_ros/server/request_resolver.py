"""
Look up frames and objects that requests name: :class:`RequestResolver` makes a :class:`ResolvedRequest` to be solved.

It has the group, the full state, the target poses in the model frame, and the checks of candidates. A link that does
not exist is refused later, when the solver is called.
"""

import logging
from typing import NamedTuple

from ssik_ros.arrays import FloatArray, is_within_reason
from ssik_ros.errors import counted, quote
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.requests.ik_requests import FullState, IkRequest, LinkGoal
from ssik_ros.server.requests.poses import require_pose
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.planning_scene import PlanningScene

_LOGGER = logging.getLogger('ssik_ros.server')


class ResolvedRequest(NamedTuple):
    """A request for inverse kinematics after its frames, objects and constraints were looked up."""

    group: GroupServer
    state: FullState
    """Seed, joints outside the group, and the pose of the root link."""
    goals: list[LinkGoal]
    """Target poses in the model frame, one for each link of the request; the links need not exist."""
    checks: CandidateChecks | None
    """Constraints and collision checks of candidates; None if the request has neither."""


class RequestResolver:
    """
    Looks up frames and objects of requests, and moves target poses into the model frame.

    Several threads may call it at once.
    """

    def __init__(self, scene: PlanningScene) -> None:
        """
        Keep the scene.

        :param scene: the robot, its frames, and the objects around it.
        """
        self._scene = scene
        self.model_frames = {scene.robot.model_frame}
        """Frames that are the model frame; the empty name too, after a log line has said so."""

    def resolve(
        self, request: IkRequest, current: FullState, group: GroupServer, state: FullState
    ) -> ResolvedRequest:
        """
        Return a request with its frames, objects and constraints looked up, and its poses in the model frame.

        The order of checks is MoveIt's: number of poses, frames, poses, constraints, collisions. A link that does not
        exist is kept; the solver's group refuses it later.

        :param request: the request.
        :param current: state of the robot, which places frames and objects.
        :param group: the group of the request.
        :param state: the full state of the request.
        :raises RequestRefused: if there are no poses or not as many as links, for unknown frames, for invalid poses or
            objects, and for checks that cannot be made.
        """
        poses = self.poses(request, current)
        checks = self._scene.make_checks(request, state, current)
        around = self._scene.around(request.state, state, current)
        pairs = zip(request.links, poses)
        goals = [self._scene.goal_of(link, around, pose) for link, pose in pairs]
        return ResolvedRequest(group, state, goals, checks)

    def poses(self, request: IkRequest, current: FullState) -> list[FloatArray]:
        """
        Return the poses (4, 4) of a request in the model frame; log once if a pose has no frame.

        :param request: the request.
        :param current: state of the robot, which places the frames.
        :raises RequestRefused: if there are no poses or not as many as links, for unknown frames, and for invalid
            poses.
        """
        if not request.poses or len(request.poses) != len(request.links):
            raise Refusal.GOAL_COUNT.error(
                f'{counted(len(request.poses), "pose")} came with {counted(len(request.links), "link name")}.',
            )
        # All frames before any pose: an unknown frame outranks numbers that are not finite.
        frames = []
        for framed in request.poses:
            frames.append(self._scene.frames.in_model_frame(framed.frame, current))
            if not framed.frame and '' not in self.model_frames:
                self.model_frames.add('')
                _LOGGER.info(
                    'A pose came without a frame; the model frame %s is meant. This is said once.',
                    quote(self._scene.robot.model_frame),
                )
        triples = zip(request.links, request.poses, frames)
        return [in_model_frame(link, framed.pose, frame) for link, framed, frame in triples]


def in_model_frame(link: str, pose: FloatArray, frame: FloatArray | None) -> FloatArray:
    """
    Return a pose (4, 4) in the model frame.

    :param link: the link that is to be there, for messages.
    :param pose: (4, 4) in its frame.
    :param frame: (4, 4) pose of that frame in the model frame; None for the model frame itself.
    :raises RequestRefused: for a number that is not finite, and a coordinate beyond ``LARGEST_REQUEST_VALUE`` [m].
    """
    if not is_within_reason(pose):
        require_pose(f'The pose for link {quote(link)}' if link else 'The pose', pose)
    return pose if frame is None else frame @ pose
