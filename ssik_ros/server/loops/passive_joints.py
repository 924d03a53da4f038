"""
Compute the positions of passive joints from a stream of active ones, each from the state before.

The motion is divided into small parts, so that the robot normally stays in the assembly mode in which it began.
:class:`PassiveJoints` takes the reports of joints and returns a :class:`Followed` for each. Passive joints are the
joints that the loops of the robot move.
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

from ssik_ros.errors import list_names, SsikError
from ssik_ros.mechanisms.urdf_robot import CompletedState, UrdfRobot

LONGEST_PART = 0.05
"""Longest motion of a joint between two states; a longer motion is divided into parts [rad or m]."""
MOST_STEPS = 40


class Followed(NamedTuple):
    """The positions of all joints, computed from the reported ones; or the reason why they are unknown."""

    names: tuple[str, ...]
    """Names of all variables; empty if the positions are unknown."""
    positions: tuple[float, ...]
    """Positions of all variables [rad or m]; empty if the loops could not be closed."""
    problem: str
    """The problem, which usable positions may have, too; empty without a problem."""


class PassiveJoints:
    """
    Computes the passive joints of a robot with loops from reports of its active joints, one report after the other.

    It serves one thread.
    """

    def __init__(self, robot: UrdfRobot, limit_tolerance: float = 0.0) -> None:
        """
        Keep a robot; its present positions choose the assembly mode that is kept.

        :param robot: mechanism with loops; this object moves it from now on.
        :param limit_tolerance: largest distance of a reported joint outside its limits that counts as at the limit [rad
            or m].
        """
        self.robot = robot
        self._tolerance = limit_tolerance
        self._reported: dict[str, float] = {}
        self._good = robot.positions
        self._heard = self._listen_to()

    def _listen_to(self) -> frozenset[str]:
        """
        Return the variables that are taken from reports: active ones, and those that no loop moves.

        Without active joints, return all variables.
        """
        robot = self.robot
        mechanism = robot.completion.mechanism
        moved = {mechanism.frames[row].name for row in mechanism.chain_joints}
        names = frozenset(robot.variable_names)
        if not robot.active_joints:
            return names
        return names - moved | frozenset(robot.active_joints)

    def warm_up(self) -> None:
        """Close the loops of the initial state, so that the first report does not wait; if that fails, move back."""
        done = self.robot.complete_state()
        if done.converged:
            self._good = self.robot.positions
        else:
            self._go_back()

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the active joints without a reported position."""
        return tuple(name for name in self.robot.active_joints if name not in self._reported)

    def follow(self, names: Sequence[str], positions: Sequence[float]) -> Followed:
        """
        Add a report to all reports until now; return all joint positions, or the reason why they are unknown.

        Joints of other robots, passive joints and values that are not finite are ignored. If the robot has no active
        joints, all of its joints are read.

        :param names, positions: joints of the report, and their positions [rad or m].
        """
        if len(names) != len(positions):
            return Followed((), (), 'A report has other numbers of names and positions.')
        for name, value in zip(names, positions, strict=True):
            if name in self._heard and math.isfinite(value):
                self._reported[name] = float(value)
        if self.missing:
            return Followed((), (), f'No message has reported {list_names(self.missing)} yet.')
        if not self._reported:
            return Followed((), (), 'No joint of the robot has been reported yet.')
        try:
            return self._complete()
        except SsikError as error:
            self._go_back()
            return Followed((), (), str(error))

    def _complete(self) -> Followed:
        robot = self.robot
        before = dict(zip(robot.variable_names, self._good, strict=True))
        largest_change = max(abs(value - before[name]) for name, value in self._reported.items())
        done = robot.complete_state(
            self._reported, steps=min(MOST_STEPS, 1 + int(min(largest_change, 1e6) / LONGEST_PART))
        )
        problem = self._describe_problem(done)
        if problem.startswith('!'):
            self._go_back()
            return Followed((), (), problem[1:])
        self._good = robot.positions
        return Followed(*robot.to_joint_state(), problem)

    def _describe_problem(self, done: CompletedState) -> str:
        """
        Return a sentence about open loops or joints outside their limits; empty without a problem.

        A leading ``!`` means that the state cannot be used.
        """
        open_chains = [result for result in done.results if not result.converged]
        beyond = [
            name
            for name in done.clamped
            if not abs(self._reported.get(name, math.inf) - done.positions[name])
            <= self._tolerance
        ]
        if beyond:
            return f'!Reported outside the limits: {list_names(beyond)}.'
        if open_chains:
            worst = max(open_chains, key=lambda result: sum(result.error))
            length, angle = worst.error
            return (
                '!The loops cannot be closed for what is reported: they miss by '
                f'{length:.3g} m and {angle:.3g} rad.'
            )
        if done.clamped:
            return (
                f'Reported a little outside the limits, shown at them: {list_names(done.clamped)}.'
            )
        return ''

    def _go_back(self) -> None:
        """Move the robot back to the last state in which the loops were closed."""
        self.robot.from_joint_state(self.robot.variable_names, self._good)
