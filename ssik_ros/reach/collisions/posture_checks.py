"""
Collision checks of many postures of a chain at once.

Kernels check convex bodies; where the hull of a mesh leaves a doubt, the collision library decides.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.reach.collisions.chain_scene import build_shapes, ChainRobot, ChainScene

LARGEST_POSTURE_CLEARANCE = 0.25
"""Largest clearance of a posture that is measured; larger clearances count as this [m]."""


class PostureChecks:
    """Checks postures of one chain for collisions with itself and with objects; serves one thread."""

    def __init__(self, chain: SerialChain, scene: ChainScene) -> None:
        """
        Build the collision shapes and the arrays of the kernels.

        :param chain: the chain.
        :param scene: the shapes, as arrays.
        :raises SolverError: when coal is missing.
        """
        robot, coal = ChainRobot(chain), import_coal()
        shapes, pairs = build_shapes(robot, scene, coal), scene.pairs.tolist()
        self._scene = CollisionScene(cast(RobotModel, robot), coal, shapes, pairs, 0.0)
        self._obstacles = Obstacles(cast(ToolChain, robot), self._scene)

    def free(self, q: FloatArray) -> NDArray[np.bool_]:
        """
        Return a mask (k,) of the postures without collisions.

        :param q: (k, n) postures.
        """
        return np.asarray(~self._obstacles.check(q).are_hits)

    def clearances(self, q: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
        """
        Return (mask (k,) of postures without collisions, lower bound (k,) on the clearance of each posture [m]).

        The clearance is the least distance of two bodies. Hulls replace meshes: the bound is 0 if hulls overlap or the
        posture collides. It is at most :data:`LARGEST_POSTURE_CLEARANCE`.

        :param q: (k, n) postures.
        """
        judged = self._obstacles.check(q, LARGEST_POSTURE_CLEARANCE)
        apart = np.clip(judged.distances, 0.0, LARGEST_POSTURE_CLEARANCE)
        return ~judged.are_hits, np.where(judged.are_hits, 0.0, apart)

    def least_distance(self, q: FloatArray) -> float:
        """
        Return the least distance of two bodies in one posture, measured by exact meshes [m].

        It is 0 if bodies overlap, and at most :data:`LARGEST_POSTURE_CLEARANCE`.

        :param q: (n,) posture.
        """
        return min(max(self._scene.least_distance(q), 0.0), LARGEST_POSTURE_CLEARANCE)
