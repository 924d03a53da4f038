"""Collision checks of one robot with itself and with objects; the geometry is read once, for all threads."""

import contextlib
import logging
import threading

from ssik_ros.errors import quote, SolverError, SsikError
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.scene import CollisionScene, Contact, NearestPair
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.scene.candidate_checks import PairFinder
from ssik_ros.server.scene.world import Surroundings

_LOGGER = logging.getLogger('ssik_ros.server')


class RobotCollisions:
    """
    Checks states of a robot for collisions with itself and with objects; several threads may call it at once.

    The geometry is read in the warm-up, or else at the first check.
    """

    def __init__(self, robot: RobotModel, padding: float = 0.0) -> None:
        """
        Keep the robot; the geometry is read later.

        :param robot: the robot.
        :param padding: bodies nearer than this to each other collide [m].
        """
        self._robot, self.padding = robot, padding
        self._checker: CollisionChecker | None = None
        # Checker and scenes serve one thread at a time.
        self._lock = threading.Lock()
        self._last: tuple[Surroundings, CollisionScene] | None = None

    def warm_up(self) -> None:
        """Make everything that checks need; an error is ignored here, and returned to requests that need a check."""
        with contextlib.suppress(SsikError):
            self._require_checker().scene().build_trees()

    def finder(self, around: Surroundings) -> PairFinder:
        """
        Return a function that returns the names of two bodies that collide in a full state, or None.

        :param around: objects in the world and carried ones.
        :raises RequestRefused: if the library, the geometry or a part of it is missing.
        """
        scene = self.scene(around)

        def find(state: FullState) -> tuple[str, str] | None:
            with self._lock:
                return scene.colliding_pair(state.positions, state.root_pose)

        return find

    def contacts(
        self, around: Surroundings, state: FullState, group: JointGroup | None
    ) -> list[Contact]:
        """
        Return one contact for each pair of bodies that collide in a state.

        :param around: objects in the world and carried ones.
        :param state: the full state.
        :param group: only pairs with a link that moves with joints of the group are returned; None for all pairs.
        :raises RequestRefused: if the library, the geometry or a part of it is missing.
        """
        scene = self.scene(around)
        moved = None if group is None else self._moved_by(group)
        with self._lock:
            return scene.contacts(
                state.positions,
                state.root_pose,
                lambda entry: moved is None or entry.shape.carrier in moved,
            )

    def nearest_pair(self, around: Surroundings, state: FullState) -> NearestPair | None:
        """
        Return the two bodies that are nearest to each other; None if no pair is checked.

        If several pairs overlap, one of them is returned, not always the pair that overlaps most.

        :param around: objects in the world and carried ones.
        :param state: the full state of the robot.
        :raises RequestRefused: if the library, the geometry or a part of it is missing.
        :raises RequestError: for a state that is not finite.
        :raises ModelError: for a collision shape of the robot with invalid numbers, and an object on an unknown link.
        """
        scene = self.scene(around)
        with self._lock:
            return scene.nearest_pair(state.positions, state.root_pose)

    def scene(self, around: Surroundings) -> CollisionScene:
        """
        Return the collision scene of the robot among objects; the scene of the last objects is kept.

        :param around: objects in the world and carried ones.
        :raises RequestRefused: if the library, the geometry or a part of it is missing: a result would be unchecked.
        :raises ModelError: for a collision shape of the robot with invalid numbers, and an object on an unknown link.
        """
        checker = self._require_checker()
        if not checker.available:
            raise Refusal.NO_COLLISION_CHECK.error(
                f'Robot {quote(self._robot.name)} has no collision geometry: nothing is known about '
                'collisions.'
            )
        if checker.warnings:
            raise Refusal.NO_COLLISION_CHECK.error(
                f'A part of robot {quote(self._robot.name)} cannot be checked for collisions: '
                f'{checker.warnings[0]}'
            )
        last = self._last
        if last is None or last[0] is not around:
            with self._lock:
                last = (around, checker.scene_of(around.standing, around.carried))
            self._last = last
        return last[1]

    def _moved_by(self, group: JointGroup) -> set[int]:
        """Return the indices of all joints that move with a group: its joints, their mimic joints, and all below."""
        tree = self._robot.tree
        moved = set(group.joint_indices.tolist())
        moved |= {j for j, leader in enumerate(tree.leaders.tolist()) if leader in moved}
        for joint, parent in enumerate(tree.parents.tolist()):
            if parent in moved:
                moved.add(joint)
        return moved

    def _require_checker(self) -> CollisionChecker:
        """
        Return the checker; the first call reads the geometry and logs warnings.

        Raise RequestRefused if the library is missing, and ModelError for a collision shape with invalid numbers.
        """
        with self._lock:
            if self._checker is None:
                try:
                    self._checker = CollisionChecker(self._robot, self.padding)
                except SolverError as error:
                    raise Refusal.NO_COLLISION_CHECK.error(str(error)) from error
                for warning in self._checker.warnings:
                    _LOGGER.warning('%s', warning)
            return self._checker
