"""
Responses about states of a robot.

:func:`check_state` returns collisions and verdicts on constraints, :func:`compute_fk` poses of links and their objects.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, list_names, shorten
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.scene import Contact
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import (
    FkRequest,
    FkResponse,
    FullState,
    LinkGoal,
    StateRequest,
)
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.scene.constraint_check import ConstraintVerdict
from ssik_ros.server.scene.planning_scene import PlanningScene


class StateResponse(NamedTuple):
    """The collisions of a state, and a verdict on each constraint; or a refusal if it could not be checked."""

    refusal: Refusal
    """Kind of fault of the request; NONE if it was accepted."""
    cause: Cause
    """Cause of the refusal; else NONE, even for an invalid state."""
    text: str
    """Why the state could not be checked; empty if it was checked."""
    contacts: Sequence[Contact] = ()
    """One for each pair of bodies that collide."""
    verdicts: Sequence[ConstraintVerdict] = ()
    """On each constraint, joints first, then positions, then orientations."""

    @property
    def is_valid(self) -> bool:
        """Return whether the state was checked, collides with nothing and satisfies all constraints."""
        return (
            self.refusal is Refusal.NONE
            and not self.contacts
            and all(verdict.holds for verdict in self.verdicts)
        )


def check_state(
    scene: PlanningScene,
    request: StateRequest,
    state: FullState,
    current: FullState,
    group: JointGroup | None,
) -> StateResponse:
    """
    Return the collisions of a state, and a verdict on each constraint.

    :param scene: the robot among objects.
    :param request: the request.
    :param state: the full state to check.
    :param current: state of the robot, which places frames.
    :param group: only collisions of links that its joints move count; None for all.
    :raises RequestRefused: for constraints or collisions that cannot be checked.
    """
    constraints = scene.make_constraints(request.constraints, current)
    verdicts = () if constraints is None else constraints.judge(state)
    around = scene.surroundings(request.state.carried, state, current)
    contacts = scene.collisions.contacts(around, state, group)
    return StateResponse(Refusal.NONE, Cause.NONE, '', contacts, verdicts)


def compute_fk(scene: PlanningScene, request: FkRequest, current: FullState) -> FkResponse:
    """
    Return the poses of links, carried objects and subframes.

    Unknown names are left out; the refusal is then UNKNOWN_LINK, and the text names up to 20 of them. If the frame of
    the request is unknown, the refusal is UNKNOWN_FRAME, the text names the frame, and poses are in the model frame.

    :param scene: the robot among objects.
    :param request: the request.
    :param current: state of the robot, for joints that the request does not name.
    :raises RequestRefused: for an empty list of links, and an invalid state. Also for invalid carried objects of the
        request, if a name is not a link.
    """
    links = request.links
    if not links:
        raise Refusal.GOAL_COUNT.error('fk_link_names is empty: name at least one link.')
    state = scene.states.merge(current, request.state)
    around = scene.around(request.state, state, current)
    # Names may come many times; each is looked up and placed once.
    goals = {link: scene.goal_of(link, around) for link in dict.fromkeys(links)}
    goals = {
        link: goal for link, goal in goals.items() if goal.link in scene.robot.tree.link_index
    }
    poses = dict(zip(goals, _place(scene, list(goals.values()), state), strict=True))
    placed_links = [link for link in links if link in poses]
    refusal, text = Refusal.NONE, f'{counted(len(placed_links), "pose")}.'
    if len(placed_links) < len(links):
        missing = list_names(link for link in links if link not in poses)
        refusal = Refusal.UNKNOWN_LINK
        text = f'Not links of robot {shorten(scene.robot.name)}: {missing}.'
    named, frame = scene.robot.model_frame, None
    try:
        frame = scene.frames.in_model_frame(request.frame, current)
    except RequestRefused as refused:
        refusal, text = refused.refusal, str(refused)
    else:
        # A link at the model frame keeps the name that the request has.
        named = (
            request.frame
            if frame is not None or request.frame in scene.robot.tree.link_index
            else named
        )
    if frame is not None:
        inverse = invert_pose(frame)
        poses = {link: inverse @ pose for link, pose in poses.items()}
    placed = [poses[link] for link in placed_links]
    return FkResponse(refusal, Cause.NONE, text, placed_links, placed, named)


def _place(scene: PlanningScene, led: Sequence[LinkGoal], state: FullState) -> list[FloatArray]:
    """Return the poses (4, 4) of links or carried objects in the model frame, one for each goal."""
    poses = scene.frames.links_in_root([goal.link for goal in led], state)
    return [
        state.root_pose @ (pose if goal.tool is None else pose @ goal.tool)
        for goal, pose in zip(led, poses, strict=True)
    ]
