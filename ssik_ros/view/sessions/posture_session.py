"""
The base of all viewers' sessions: a robot among obstacles, targets, the posture that follows the targets, and undo.

A session does not depend on a browser or on ROS. Only one thread at a time may call it. The request for a dragged
target is solved at once. Slower work (other branches, explanation of a failure, collisions) is done by
:meth:`PostureSession.complete`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray, IntArray
from ssik_ros.errors import InvalidTarget, quote
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.collision.scene import Contact, NearestPair
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import Cause
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.requests.ik_requests import Branch, FullState, StateRequest
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer

MOST_UNDONE = 100


class SolveOutcome(NamedTuple):
    """How the last request ended: solved or not, cause of a failure, text for the user, time and iterations."""

    solved: bool
    cause: Cause
    text: str
    seconds: float = 0.0
    """Time within the solver [s]."""
    iterations: int = 0
    is_on_path: bool = False
    """Whether a joint path set the posture, so that other branches of its pose say nothing."""


class Earlier(NamedTuple):
    """A state of the robot with its targets that was stored for undo."""

    state: FullState
    """The last solved full state."""
    targets: dict[str, FloatArray]
    """Pose (4, 4) of each target in the model frame, by name."""


BEGIN = SolveOutcome(True, Cause.NONE, 'Drag an arrow, a plane or an arc of the target.')
BY_HAND = SolveOutcome(True, Cause.NONE, 'The joints are set by hand.')


class PostureSession(ABC):
    """Base of sessions: a robot, the targets of its tips, and the shown posture; subclasses define how targets are solved."""

    server: RobotServer
    """Knows states, frames and collisions, and the groups of some sessions."""
    variable_names: tuple[str, ...]
    """(n,) joint variables that move by hand."""
    places: IntArray
    """(n,) indices of their positions in a full state."""
    lower: FloatArray
    """(n,) lower limits, -inf for joints without limits [rad or m]."""
    upper: FloatArray
    """(n,) upper limits, inf for joints without limits [rad or m]."""
    links: Mapping[str, str]
    """Name of the link that is to be at each target, by the name of the target."""
    state: FullState
    """Full state of the robot that is shown; :attr:`joints` is its part that moves by hand."""
    _first: FullState
    """Full state with which the session begins."""
    outcome: SolveOutcome
    """How the last solve ended."""
    branches: tuple[Branch, ...]
    """Other branches of the reached pose; empty until :meth:`complete` finds them."""
    contacts: tuple[Contact, ...]
    """Colliding pairs of the shown state; empty until :meth:`complete` looks for them."""
    explanation: Explanation | None
    """Why the target is not reached; None if it is, for several targets, or until :meth:`complete` finds the reason."""
    most_branches = 0
    """Largest number of ``branches``."""
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
        """Solve for the present targets, and store the state and the outcome of the solve."""

    def home_joints(self) -> FloatArray:
        """
        Return the posture (n,) of :meth:`go_home` [rad or m].

        It is the first posture of the session. If obstacles collide with the first posture, it may be another one.
        """
        return self._first.positions[self.places]

    def random_joints(self) -> FloatArray:
        """Return a random posture (n,) [rad or m]; each session draws the same sequence."""
        drawn: FloatArray = self._rng.uniform(*finite_range(self.lower, self.upper))
        return drawn

    def _lead(self, names: Sequence[str]) -> None:
        """Let a user move these joint variables by hand, within the limits of the robot."""
        tree, self.variable_names = self.robot.tree, tuple(names)
        self.places = find_places(self.robot, self.variable_names)
        self.lower, self.upper = tree.lower[self.places], tree.upper[self.places]

    @property
    def joints(self) -> FloatArray:
        """Return the shown posture (n,): the positions of the joint variables that a user moves by hand [rad or m]."""
        return self.state.positions[self.places]

    @property
    def tips(self) -> tuple[str, ...]:
        """Return the names of the targets; each is a link, or a frame that a link is to follow."""
        return tuple(self.links)

    def tip_pose(self, name: str, state: FullState | None = None) -> FloatArray:
        """
        Return the pose (4, 4) of a link in the model frame.

        :param name: name of the link, or of the target that the link follows; in a task session also a frame of its
            file.
        :param state: full state with root pose and joint positions; None for the shown one.
        :raises FrameNotFound: for an unknown name.
        """
        state = state or self.state
        link = self.links.get(name, name)
        return state.root_pose @ self.server.frames.link_in_root(link, state)

    def gaps(self) -> FloatArray:
        """Return for each target the positions of its tip and of the target itself, (n, 2, 3), in the model frame [m]."""
        ends = [(self.tip_pose(name), pose) for name, pose in self.targets.items()]
        return np.array(ends)[:, :, :3, 3]

    def colliding_links(self) -> set[str]:
        """Return the names of all links in ``contacts``, without the names of obstacles."""
        names = {name for contact in self.contacts for name in (contact.first, contact.second)}
        return names & set(self.robot.tree.link_index)

    def set_joints(self, q: FloatArray, state: FullState | None = None) -> None:
        """
        Show a posture, and move the targets to the tips.

        :param q: (n,) posture, clamped into the limits [rad or m].
        :param state: full state that gives all other joints; None for the shown state.
        :raises InvalidTarget: for another number of joints, for numbers that are not finite, and if the loops of a robot do
            not close at the posture; the shown posture then stays.
        """
        if np.shape(q) != self.places.shape or not np.isfinite(q).all():
            raise InvalidTarget(
                f'There are {len(self.places)} joint variables to set by finite numbers, not {np.size(q)}.'
            )
        self.show_state(self._moved_by_hand(np.clip(q, self.lower, self.upper), state))

    def _moved_by_hand(self, q: FloatArray, state: FullState | None) -> FullState:
        """
        Return the full state for a posture; subclasses may move further joints.

        :param q: (n,) posture inside the limits [rad or m].
        :param state: full state that gives all other joints; None for the shown state.
        """
        return self.state_with(q, state)

    def show_state(self, state: FullState, outcome: SolveOutcome = BY_HAND) -> None:
        """
        Show a state, and move the targets to the tips.

        :param state: full state of the robot.
        :param outcome: outcome of the solve that led to the state, for the status text.
        """
        self._show(state)
        self.targets = {name: self.tip_pose(name) for name in self.tips}
        self.outcome = outcome

    def begin_at(self, state: FullState) -> None:
        """
        Show the robot in a state, such as the state of the real robot, and move the targets to the tips.

        :param state: full state; joints that a user can move are clamped into their limits.
        :raises InvalidTarget: as :meth:`set_joints`; the shown posture then stays.
        """
        self.set_joints(state.positions[self.places], state)

    def move_target(self, name: str, pose: FloatArray) -> None:
        """
        Move a target and solve; the posture changes only if the solver returns one.

        :param name: name of the target.
        :param pose: (4, 4) in the model frame.
        :raises InvalidTarget: for an unknown name, and numbers that are not finite.
        """
        if name not in self.targets or not np.isfinite(pose).all():
            raise InvalidTarget(f'{quote(name)} with this pose is no target of this session.')
        self.targets[name] = np.array(pose, dtype=np.float64)
        self.solve()

    def go_home(self) -> None:
        """
        Store the last solved state and the targets for undo, and show the posture of :meth:`home_joints`.

        Joints that a user does not move by hand keep their values, except in a :class:`LoopSession`.
        """
        with self.undo_step():
            self.set_joints(self.home_joints())

    def go_anywhere(self) -> None:
        """
        Store the present state for undo, and show a random posture; each session has the same sequence of postures.

        :raises InvalidTarget: as :meth:`set_joints`.
        """
        with self.undo_step():
            self.set_joints(self.random_joints())

    @contextmanager
    def undo_step(self) -> Iterator[None]:
        """
        Store the last solved state and the targets for :meth:`undo`, unless the block raises an exception.

        The stored values are those before the block.
        """
        earlier = Earlier(self._solved, dict(self.targets))
        yield
        self._earlier.append(earlier)
        del self._earlier[:-MOST_UNDONE]

    def undo(self) -> bool:
        """
        Return to the state and targets that :meth:`undo_step` stored last, and remove them from the store.

        :returns: False if nothing is stored.
        """
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
        """Return the obstacles around the robot, with their poses in the model frame."""
        return self.server.scene.world.now().standing

    def put_obstacle(self, item: WorldObject) -> None:
        """
        Add an obstacle at its pose; it replaces an obstacle of the same name. Solve again if collisions are avoided.

        :param item: the obstacle.
        :raises ModelError: for invalid shapes.
        """
        self.server.scene.world.add(item)
        self._meet_obstacles()

    def move_obstacle(self, name: str, pose: FloatArray) -> None:
        """
        Move an obstacle to a pose, and solve again if collisions are avoided.

        :param name: name of the obstacle.
        :param pose: (4, 4) in the model frame.
        :raises ModelError: for an unknown name, or a pose that is not finite or too far away.
        """
        self.server.scene.world.move(name, pose)
        self._meet_obstacles()

    def remove_obstacle(self, name: str) -> None:
        """
        Remove an obstacle, and solve again if collisions are avoided.

        :param name: name of the obstacle.
        :raises ModelError: for an unknown name.
        """
        self.server.scene.world.remove(name)
        self._meet_obstacles()

    def _meet_obstacles(self) -> None:
        """Solve again after a change of obstacles if collisions are avoided, and forget branches and contacts."""
        if self.avoids_collisions:
            self.solve()
        self._forget_details()

    def complete(self) -> None:
        """Do the slower work for the shown posture; this class only checks collisions."""
        self.check_collisions()

    def check_collisions(self) -> None:
        """
        Find the colliding links and objects of the shown posture, and store them in ``contacts``.

        If collisions cannot be checked, ``unchecked`` says why.
        """
        response = self.server.check_state(StateRequest(), self.state)
        self.contacts = tuple(response.contacts)
        self.unchecked = response.text if response.refusal is not Refusal.NONE else ''

    def nearest_pair(self) -> NearestPair | None:
        """
        Return the two bodies (links or obstacles) that are nearest to each other in the shown posture.

        None if no pair of bodies is checked for collisions. If several pairs overlap, one of them is returned, not
        always the one that overlaps most.

        :raises RequestRefused: if collisions cannot be checked: without the collision library, or if a part of the
            geometry is missing, or all of it.
        """
        scene = self.server.scene
        return scene.collisions.nearest_pair(scene.world.now(), self.state)

    def _show(self, state: FullState) -> None:
        self.state = self._solved = state
        self._forget_details()

    def _forget_details(self) -> None:
        self.branches, self.contacts, self.explanation = (), (), None
        self.branches_text, self.branches_complete, self.unchecked = '', False, ''

    def state_with(self, q: FloatArray, state: FullState | None = None) -> FullState:
        """
        Return a copy of a full state with the posture ``q``; mimic joints follow.

        :param q: (n,) posture [rad or m].
        :param state: full state that gives all other joints; None for the shown state.
        """
        state = state or self.state
        positions = state.positions.copy()
        positions[self.places] = q
        return state._replace(positions=self.robot.with_mimic(positions))

    def _inside(self, state: FullState) -> FullState:
        """Return a full state with the posture clamped into the limits; the very same object if it is inside already."""
        q = state.positions[self.places]
        inside = np.clip(q, self.lower, self.upper)
        return state if np.array_equal(q, inside) else self.state_with(inside, state)


def find_places(robot: RobotModel, names: Sequence[str]) -> IntArray:
    """
    Return the indices (n,) of joint variables in a full state.

    :param robot: the robot.
    :param names: names of the variables.
    """
    return np.array([robot.variable_names.index(name) for name in names], dtype=np.int64)
