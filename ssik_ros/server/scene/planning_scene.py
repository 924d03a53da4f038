"""
:class:`PlanningScene` is a robot with the objects around it, which requests need in addition to a solver.

It makes full states, computes poses of frames, has the objects, and makes the checks of constraints and collisions.
"""

from collections.abc import Callable, Collection, Mapping
import dataclasses
import functools
from typing import Protocol

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError, quote
from ssik_ros.model.collision.objects import CarriedObject, check_object
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.constraints import ConstraintsGiven, NO_CONSTRAINTS
from ssik_ros.server.requests.ik_requests import (
    AT_MODEL_FRAME,
    CarriedGiven,
    FullState,
    LinkGoal,
    ObjectGiven,
    StateGiven,
)
from ssik_ros.server.requests.refusals import Refusal, unknown
from ssik_ros.server.scene.candidate_checks import CandidateChecks
from ssik_ros.server.scene.constraint_check import ConstraintCheck
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.server.scene.robot_collisions import RobotCollisions
from ssik_ros.server.scene.states import StateReader
from ssik_ros.server.scene.world import PlacedFrame, SceneWorld, Surroundings

Transforms = Callable[[str, Collection[str]], PlacedFrame | str]
"""Returns where a frame is, relative to one of the named frames, or why its place is unknown."""


class SceneRequest(Protocol):
    """A request whose solutions may have to satisfy constraints and avoid collisions."""

    state: StateGiven
    avoid_collisions: bool
    constraints: ConstraintsGiven


class PlanningScene:
    """
    A robot with the objects around it; several threads may call it at once.

    ``states`` makes full states, ``frames`` computes poses, ``world`` has the objects, ``collisions`` checks states.
    """

    def __init__(
        self,
        robot: RobotModel,
        world: SceneWorld | None = None,
        transforms: Transforms | None = None,
        *,
        padding: float = 0.0,
        initial: Mapping[str, float] | None = None,
    ) -> None:
        """
        Make the readers of states and frames, and the collision checks.

        :param robot: the robot.
        :param world: the objects around; None without objects.
        :param transforms: finds frames that are neither links nor objects; None for no such frames.
        :param padding: bodies nearer than this to each other collide [m].
        :param initial: positions of variables without a reported position; other variables have their defaults.
        :raises RequestRefused: for a name in ``initial`` that is not a variable of the robot.
        """
        self.robot = robot
        self.world = SceneWorld() if world is None else world
        self._transforms = transforms
        self._known_frames = frozenset({robot.model_frame, *robot.tree.link_index})
        self.states = StateReader(robot, initial)
        self.frames = FrameReader(robot, self._find_frame)
        self.collisions = RobotCollisions(robot, padding)

    def _find_frame(self, name: str) -> PlacedFrame | str:
        """
        Return the pose of an object, subframe or published frame, looked up in this order.

        If the name is unknown, return a text that says why; it may be empty.
        """
        placed = self.world.now().find_frame(name)
        if placed is not None:
            return placed
        if self._transforms is None:
            return ''
        published = self._transforms(name, self._known_frames)
        if isinstance(published, PlacedFrame) and published.base == self.robot.model_frame:
            return published._replace(base='')
        return published

    def goal_of(
        self, link: str, around: Callable[[], Surroundings], pose: FloatArray = AT_MODEL_FRAME
    ) -> LinkGoal:
        """
        Return a goal that puts a link, a carried object or a subframe of a carried object at a pose.

        :param link: name of the link, object or subframe; any other name is kept as the link and is refused later.
        :param around: returns the objects around the robot.
        :param pose: (4, 4) in the model frame.
        """
        if link and link not in self.robot.tree.link_index:
            placed = around().find_frame(link)
            if placed is not None and placed.base:
                return LinkGoal(placed.base, pose, placed.pose)
        return LinkGoal(link, pose)

    def around(
        self, given: StateGiven, state: FullState, current: FullState
    ) -> Callable[[], Surroundings]:
        """
        Return a function without arguments that returns the objects around the robot.

        The returned function collects the objects in its first call, because many requests do not need them. It raises
        RequestRefused if the request has invalid objects, or objects with unknown links or frames.

        :param given: the state that a request names, with its carried objects.
        :param state: the full state of the request.
        :param current: state of the robot, which places frames.
        """
        return functools.cache(lambda: self.surroundings(given.carried, state, current))

    def make_checks(
        self, request: SceneRequest, state: FullState, current: FullState
    ) -> CandidateChecks | None:
        """
        Return the checks of constraints and collisions for candidates; None if the request has neither.

        :param request: the request.
        :param state: the full state of the request.
        :param current: state of the robot, which places frames.
        :raises RequestRefused: for unknown names, for invalid constraints and objects, and for constraints or
            collisions that cannot be checked.
        """
        if request.constraints is NO_CONSTRAINTS and not request.avoid_collisions:
            return None
        constraints = self.make_constraints(request.constraints, current)
        if not request.avoid_collisions:
            return None if constraints is None else CandidateChecks(constraints, None)
        around = self.surroundings(request.state.carried, state, current)
        return CandidateChecks(constraints, self.collisions.finder(around))

    def make_constraints(
        self, given: ConstraintsGiven, current: FullState
    ) -> ConstraintCheck | None:
        """
        Return the check of constraints; None if there are no constraints.

        :param given: the constraints.
        :param current: state of the robot, which places frames that are not links.
        :raises RequestRefused: for unknown names, invalid fields and kinds of constraints that are not supported.
        """
        if given is NO_CONSTRAINTS or given.are_none:
            return None
        return ConstraintCheck(
            self.frames, given, lambda frame: self.frames.in_model_frame(frame, current)
        )

    def surroundings(
        self, given: CarriedGiven, state: FullState, current: FullState
    ) -> Surroundings:
        """
        Return the objects around the robot and on its links, after the request has attached and detached some of them.

        The world itself does not change.

        :param given: carried objects of the request.
        :param state: the full state of the request.
        :param current: state of the robot, which places frames.
        :raises RequestRefused: for invalid objects, and unknown links and frames.
        """
        around = self.world.now()
        if given.forgets and around.carried:
            around = around._replace(carried=())
        if not given.objects:
            return around
        gone = {entry.object.name for entry in given.objects if entry.is_gone}
        if gone:
            kept = tuple(c for c in around.carried if c.object.name not in gone)
            around = around._replace(carried=kept)
        added = [
            self.carry(entry, around, state, current)
            for entry in given.objects
            if not entry.is_gone
        ]
        return around.carry(added)

    def carry(
        self, given: ObjectGiven, around: Surroundings, state: FullState, current: FullState
    ) -> CarriedObject:
        """
        Return an attached object with its pose in the link that carries it.

        :param given: the object; without shapes it is taken from the world by its name.
        :param around: the objects of the world.
        :param state: the state in which it is attached.
        :param current: state of the robot, which places frames.
        :raises RequestRefused: for a malformed object, and for an unknown link or frame.
        """
        if given.link not in self.robot.tree.link_index:
            text = f'Object {quote(given.object.name)} is carried by the link {quote(given.link)}, which robot '
            text += f'{quote(self.robot.name)} does not have'
            raise unknown(Refusal.BAD_STATE, text, given.link, self.robot.tree.link_names)
        item, frame = given.object, given.frame
        standing = around.standing_named(item.name)
        if not item.shapes and standing is not None:
            item, frame = standing, self.robot.model_frame
        if frame and frame != given.link:
            placed = self.frames.in_model_frame(frame, current)
            pose = item.pose if placed is None else placed @ item.pose
            item = dataclasses.replace(
                item, pose=self.frames.model_in_link(given.link, state) @ pose
            )
        carried = CarriedObject(item, given.link, given.touch_links)
        try:
            check_object(item)
        except ModelError as error:
            raise Refusal.BAD_STATE.error(str(error)) from error
        return carried
