"""
A session for a mechanism with closed loops: targets for some links, and sliders for active joints.

The loops stay closed while the targets are reached.
"""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import describe_choices, InvalidOption, InvalidTarget, quote
from ssik_ros.mechanisms.loop_closures import closure_of_constraint, LoopClosures
from ssik_ros.mechanisms.urdf_robot import from_urdf
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.loops.loop_requests import CompletionRequest, GoalsRequest, PoseGoal
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.requests.ik_requests import FramedPose, FullState
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.view.sessions.posture_session import (
    BEGIN,
    PostureSession,
    SolveOutcome,
)

DRAG_TIMEOUT = 0.05
"""Budget of each chain while a target is dragged [s]."""
SLIDER_STEP = 0.05
"""Longest step of a joint towards the value of its slider, so that the mechanism keeps its assembly mode [rad or m]."""
MOST_STEPS = 60
TRIES = 12
POSTURE_SHRINK = 0.7
"""Factor by which a random posture that closes no loop is drawn towards the first posture [1]."""
ROTATIONS = ('EX', 'EY', 'EZ')


class LoopSession(PostureSession):
    """
    A session whose robot has closed loops, which stay closed while joints are moved and while targets are reached.

    If the solver does not reach a target, the shown state is its last one, in which loops may be open.
    """

    def __init__(
        self, robot: RobotModel, loops: LoopClosures, goals: Sequence[str] | None = None
    ) -> None:
        """
        Begin in the initial positions of the loops, with the loops closed if possible.

        :param robot: the robot.
        :param loops: loop closures, in addition to the ones in the URDF.
        :param goals: names of the links that get a target; None for the links that close the loops.
        :raises InvalidOption: for an unknown link, or if there are neither loops nor goals.
        :raises SsikError: when a loop is not well-defined.
        """
        super().__init__(robot)
        self.server = RobotServer(robot, [])
        self._loops = LoopServer(self.server.frames, self.server.states, loops)
        self.warnings = self._loops.warnings
        begun = from_urdf(robot, loops=loops, free_root=False)
        self._lead(begun.active_joints or _leaders(robot))
        closures = [*loops.closures, *map(closure_of_constraint, robot.constraints)]
        links = dict.fromkeys(goals or [closure.child for closure in closures])
        self.links = {link: link for link in links}
        for link in links:
            if link not in robot.tree.link_index:
                choices = describe_choices(link, robot.tree.link_names)
                raise InvalidOption(f'There is no link {quote(link)} to be led. {choices}')
        if not links:
            raise InvalidOption('The robot has no loops: name the links to be led with --goal.')
        self.turning = dict.fromkeys(links, True)
        """Whether the orientation of each target counts."""
        self._first = self.server.states.default()._replace(positions=begun.positions)
        self.state = self._solved = self._first
        closed = self._loops.complete(CompletionRequest((), ()), self._first)
        if closed.state is not None and closed.solved:
            self._first = closed.state
        self.show_state(self._first, BEGIN)

    def random_joints(self) -> FloatArray:
        home = self.home_joints()
        offset = super().random_joints() - home
        for _ in range(TRIES):
            if self._close(home + offset) is not None:
                return home + offset
            offset *= POSTURE_SHRINK
        return home

    def go_home(self) -> None:
        with self.undo_step():
            self.show_state(self._first)

    def _moved_by_hand(self, q: FloatArray, state: FullState | None) -> FullState:
        closed = self._close(q, state)
        if closed is None:
            raise InvalidTarget('With these joints the loops do not close; the posture stays.')
        return closed

    def _close(self, q: FloatArray, state: FullState | None = None) -> FullState | None:
        """
        Return the full state in which the loops are closed and joints have the values of a posture; None if that fails.

        If the active joints of the mechanism are known, the solver gets all joints of the posture. Otherwise it gets
        only the joints that differ from ``state``.

        :param q: (n,) posture inside the limits [rad or m].
        :param state: full state at which the solver begins; None for the shown state.
        """
        before = self.joints if state is None else state.positions[self.places]
        change = np.abs(q - before)
        # Of joints that are not known to be the active ones only those that move are given.
        given = range(len(q)) if self._loops.active_joints else np.flatnonzero(change)
        names = [self.variable_names[k] for k in given]
        steps = min(MOST_STEPS, 1 + int(change.max(initial=0.0) / SLIDER_STEP))
        request = CompletionRequest(names, [float(q[k]) for k in given], steps=steps)
        response = self._loops.complete(request, state or self._solved)
        return response.state if response.solved else None

    def solve(self) -> None:
        goals = [
            PoseGoal(
                name,
                self.links[name],
                FramedPose(self.robot.model_frame, pose),
                np.eye(4),
                () if self.turning[name] else ROTATIONS,
            )
            for name, pose in self.targets.items()
        ]
        request = GoalsRequest(goals, timeout=DRAG_TIMEOUT)
        begun = perf_counter()
        response = self._loops.solve_goals(request, self._solved)
        seconds = perf_counter() - begun
        self._forget_details()
        count = sum(chain.iterations for chain in response.chains)
        self.outcome = SolveOutcome(response.solved, response.cause, response.text, seconds, count)
        if response.state is not None and response.solved:
            self._show(response.state)
        elif response.state is not None:
            self.state = response.state

    def let_turn(self, name: str, turns: bool) -> None:
        """
        Choose whether the orientation of a target counts, and solve again.

        :param name: name of the target.
        :param turns: True if the link must take the target's orientation, False if only its position counts.
        """
        self.turning[name] = turns
        self.solve()


def _leaders(robot: RobotModel) -> tuple[str, ...]:
    """Return the names of the joint variables that are not mimic joints of other joints."""
    tree = robot.tree
    led = set(tree.idx_q[tree.leaders >= 0].tolist())
    return tuple(name for place, name in enumerate(robot.variable_names) if place not in led)
