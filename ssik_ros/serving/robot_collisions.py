"""Collisions of one robot for those who ask about it: made once, shared by all threads."""

import contextlib
import logging
import threading

from ssik_ros.errors import SolverError
from ssik_ros.model.collision import CollisionChecker
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.serving.candidate_checks import PairFinder
from ssik_ros.serving.questions import FullState
from ssik_ros.serving.refusals import QuestionRefused
from ssik_ros.serving.refusals import Refusal

_LOGGER = logging.getLogger('ssik_ros.serving')


class RobotCollisions:
    """The collision checker of a robot, made when the server warms up, or else when a question needs it."""

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        self._checker: CollisionChecker | None = None
        # The checker serves one thread at a time.
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Read the geometry; what is wrong with it is told to those who ask for a check."""
        with contextlib.suppress(QuestionRefused):
            self._require_checker()

    def finder(self) -> PairFinder:
        """
        Return what finds the bodies that collide in a state.

        :raises QuestionRefused: when there is no library, no geometry, or only a part of it, so that an answer
            would not be free of collisions but unchecked.
        """
        checker = self._require_checker()
        if not checker.available:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                f"Robot '{self._robot.name}' has no collision geometry: nothing is known about "
                'collisions.',
            )
        if checker.warnings:
            raise QuestionRefused(
                Refusal.NO_COLLISION_CHECK,
                f"A part of robot '{self._robot.name}' cannot be checked for collisions: "
                f'{checker.warnings[0]}',
            )

        def find(state: FullState) -> tuple[str, str] | None:
            with self._lock:
                return checker.colliding_pair(state.positions)

        return find

    def _require_checker(self) -> CollisionChecker:
        """Return the checker, made by the first who needs it, after saying what it leaves out."""
        with self._lock:
            if self._checker is None:
                try:
                    self._checker = CollisionChecker(self._robot)
                except SolverError as error:
                    raise QuestionRefused(Refusal.NO_COLLISION_CHECK, str(error)) from error
                for warning in self._checker.warnings:
                    _LOGGER.warning('%s', warning)
            return self._checker
