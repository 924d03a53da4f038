"""
The common part of all viewers: a robot among obstacles, targets, the posture that follows them, and undo.

A session knows neither browser nor ROS. One thread at a time calls it. The request that follows a dragged target is
solved at once; slower work (other branches, an explanation, collisions) waits for :meth:`PostureSession.complete`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidTarget, quote
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.collision.scene import Contact, NearestPair
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import Branch, FullState, StateRequest
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.robot_server import RobotServer

MOST_UNDONE = 100


class SolveOutcome(NamedTuple):
    """Outcome of the last request."""

    solved: bool
    cause: Cause
    text: str
    seconds: float = 0.0
    """Time within the solver [s]."""
    iterations: int = 0


class Earlier(NamedTuple):
    """A state and targets that undo returns to."""

    state: FullState
    targets: dict[str, FloatArray]


BEGIN = SolveOutcome(True, Cause.NONE, 'Drag an arrow, a plane or an arc of the target.')
BY_HAND = SolveOutcome(True, Cause.NONE, 'The joints are set by hand.')


class PostureSession(ABC):
    """A robot, its targets and its posture; subclasses know how targets are solved."""

    server: RobotServer
    """Knows states, frames and collisions, and the groups of some sessions."""
    variable_names: tuple[str, ...]
    """(n) joint variables that move by hand."""
    places: IntArray
    """(n) indices of their positions in a full state."""
    lower: FloatArray
    upper: FloatArray
    """(n) limits, infinite for joints without limits [rad or m]."""
    links: Mapping[str, str]
    """The link that each target is for."""
    state: FullState
    outcome: SolveOutcome
    branches: tuple[Branch, ...]
    contacts: tuple[Contact, ...]
    explanation: Explanation | None
    most_branches = 0
    """Other branches that are looked for."""
    can_avoid = False
    """Whether postures that collide can be avoided."""
    avoids_collisions = False

    def __init__(self, robot: RobotModel) -> None:
        """
        Begin without targets, branches or contacts.

        :param robot: the robot.
        """
        self.robot = robot
        self.targets: dict[str, FloatArray] = {}
        self._earlier: list[Earlier] = []
        self._rng = np.random.default_rng(0)
        self._forget_details()

    @abstractmethod
    def solve(self) -> None:
        """Ask for the present targets again."""

    @abstractmethod
    def home_joints(self) -> FloatArray:
        """Return the posture (n) to begin with [rad or m]."""

    @abstractmethod
    def random_joints(self) -> FloatArray:
        """Return some posture (n); the sequence is the same in each session [rad or m]."""

    @property
    def joints(self) -> FloatArray:
        """Return the posture (n) [rad or m]."""
        return self.state.positions[self.places]

    @property
    def tips(self) -> tuple[str, ...]:
        """Return the names of the targets: links, or frames that links follow."""
        return tuple(self.links)

    def tip_pose(self, name: str, state: FullState | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the model frame.

        :param name: of the link, or of its target.
        :param state: a state; None for the shown one.
        """
        state = state or self.state
        link = self.links.get(name, name)
        return state.root_pose @ self.server.frames.link_in_root(link, state)

    def set_joints(self, q: FloatArray) -> None:
        """
        Move the joints; the targets follow.

        :param q: (n) posture, brought inside the limits [rad or m].
        :raises InvalidTarget: for another number of joints, and numbers that are not finite.
        """
        if np.shape(q) != self.places.shape or not np.isfinite(q).all():
            raise InvalidTarget(
                f'There are {len(self.places)} joint variables to set by finite numbers, not {np.size(q)}.'
            )
        self.show_state(self._moved_by_hand(np.clip(q, self.lower, self.upper)))

    def _moved_by_hand(self, q: FloatArray) -> FullState:
        """Return the state of the whole robot for a posture inside the limits."""
        return self.state_with(q)

    def show_state(self, state: FullState, outcome: SolveOutcome = BY_HAND) -> None:
        """
        Show a state; the targets follow.

        :param state: of the whole robot.
        :param outcome: the solve that led to the state, for the status text.
        """
        self._show(state)
        self.targets = {name: self.tip_pose(name) for name in self.tips}
        self.outcome = outcome

    def begin_at(self, state: FullState) -> None:
        """
        Show the robot in a state; the targets follow.

        :param state: of the whole robot; joints that move by hand are brought inside their limits.
        """
        self.state = state
        self.set_joints(self.joints)

    def move_target(self, name: str, pose: FloatArray) -> None:
        """
        Move a target; the posture follows if the solver finds one.

        :param name: of the target.
        :param pose: (4, 4) in the model frame.
        :raises InvalidTarget: for an unknown name, and numbers that are not finite.
        """
        if name not in self.targets or not np.isfinite(pose).all():
            raise InvalidTarget(f'{quote(name)} with this pose is no target of this session.')
        self.targets[name] = np.array(pose, dtype=np.float64)
        self.solve()

    def go_home(self) -> None:
        """Show the first posture again."""
        self.remember()
        self.set_joints(self.home_joints())

    def go_anywhere(self) -> None:
        """Show a random posture; the sequence of postures is the same in each session."""
        self.remember()
        self.set_joints(self.random_joints())

    def remember(self) -> None:
        """Keep state and targets for :meth:`undo`."""
        self._earlier.append(Earlier(self._solved, dict(self.targets)))
        del self._earlier[:-MOST_UNDONE]

    def undo(self) -> bool:
        """Return to the last kept state and targets; return False if none are kept."""
        if not self._earlier:
            return False
        earlier = self._earlier.pop()
        self._show(self._inside(earlier.state))
        self.targets = dict(earlier.targets)
        if self.state is not earlier.state:
            # Limits that were released then count again.
            self.solve()
            return True
        self.outcome = SolveOutcome(True, Cause.NONE, 'Undone.')
        return True

    @property
    def obstacles(self) -> tuple[WorldObject, ...]:
        """Return the objects around the robot."""
        return self.server.scene.world.now().standing

    def put_obstacle(self, item: WorldObject) -> None:
        """
        Put an object there, instead of any other of its name.

        :param item: the object.
        :raises ModelError: for invalid shapes.
        """
        self.server.scene.world.add(item)
        self._meet_obstacles()

    def move_obstacle(self, name: str, pose: FloatArray) -> None:
        """
        Move an object.

        :param name: its name.
        :param pose: (4, 4) in the model frame.
        :raises ModelError: for an unknown name, or a pose that is not a rigid transform.
        """
        self.server.scene.world.move(name, pose)
        self._meet_obstacles()

    def remove_obstacle(self, name: str) -> None:
        """
        Take an object away.

        :param name: its name.
        :raises ModelError: for an unknown name.
        """
        self.server.scene.world.remove(name)
        self._meet_obstacles()

    def _meet_obstacles(self) -> None:
        """Look for a posture among the obstacles as they are now."""
        if self.avoids_collisions:
            self.solve()
        self._forget_details()

    def complete(self) -> None:
        """Do the slower work of a posture; here, find colliding links and objects."""
        self.check_collisions()

    def check_collisions(self) -> None:
        """Find the colliding links and objects in the shown posture."""
        response = self.server.check_state(StateRequest(), self.state)
        self.contacts = tuple(response.contacts)
        self.unchecked = response.text if response.refusal is not Refusal.NONE else ''

    def nearest_pair(self) -> NearestPair | None:
        """Return the two bodies that are nearest to each other in the shown posture; None if nothing is checked."""
        scene = self.server.scene
        try:
            return scene.collisions.nearest_pair(scene.world.now(), self.state)
        except RequestRefused:
            return None

    def _show(self, state: FullState) -> None:
        self.state = self._solved = state
        self._forget_details()

    def _forget_details(self) -> None:
        self.branches, self.contacts, self.explanation = (), (), None
        self.branches_text, self.branches_complete, self.unchecked = '', False, ''

    def state_with(self, q: FloatArray, state: FullState | None = None) -> FullState:
        """
        Return a state with other positions of the joint variables.

        :param q: (n) posture [rad or m].
        :param state: gives all other joints; None for the shown state.
        """
        state = state or self.state
        positions = state.positions.copy()
        positions[self.places] = q
        return state._replace(positions=self.robot.with_mimic(positions))

    def _inside(self, state: FullState) -> FullState:
        """Return a state with the joint variables inside their limits; the same state if they are inside."""
        q = state.positions[self.places]
        inside = np.clip(q, self.lower, self.upper)
        return state if np.array_equal(q, inside) else self.state_with(inside, state)


def find_places(robot: RobotModel, names: Sequence[str]) -> IntArray:
    """
    Return the indices of variables in a full state.

    :param robot: the robot.
    :param names: of its variables.
    """
    return np.array([robot.variable_names.index(name) for name in names], dtype=np.int64)
