"""
Collision checks of many postures of a chain at once.

Kernels check convex bodies; where the hull of a mesh leaves a doubt, the collision library decides.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.paths import clearance
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.collisions.bodies import make_bodies
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.reach.collisions.chain_scene import build_shapes, ChainRobot, ChainScene

CHECKS_PER_CALL = 4096
"""Postures of one kernel call."""
LARGEST_POSTURE_CLEARANCE = 0.25
"""Largest clearance of a posture that is measured; larger clearances count as this [m]."""


class PostureChecks:
    """Checks postures of one chain for collisions with itself and with objects; serves one thread."""

    def __init__(self, chain: SerialChain, scene: ChainScene) -> None:
        """
        Build the collision shapes and the arrays of the kernels.

        :param chain: the chain.
        :param scene: the shapes, as arrays.
        """
        robot, coal = ChainRobot(chain), import_coal()
        shapes, pairs = build_shapes(robot, scene, coal), scene.pairs.tolist()
        self._scene = CollisionScene(cast(RobotModel, robot), coal, shapes, pairs, 0.0)
        self._bodies, _ = make_bodies(cast(ToolChain, robot), self._scene)

    def free(self, q: FloatArray) -> NDArray[np.bool_]:
        """
        Return a mask (k,) of the postures without collisions.

        :param q: (k, n) postures.
        """
        return self._check(q, 0.0)[0]

    def clearances(self, q: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
        """
        Return (mask (k,) of postures without collisions, lower bound (k,) on the clearance of each posture [m]).

        The clearance is the least distance of two bodies. Hulls replace meshes: the bound is 0 if hulls overlap or the
        posture collides. It is at most :data:`LARGEST_POSTURE_CLEARANCE`.

        :param q: (k, n) postures.
        """
        free, apart = self._check(q, LARGEST_POSTURE_CLEARANCE)
        return free, np.where(free, np.clip(apart, 0.0, LARGEST_POSTURE_CLEARANCE), 0.0)

    def least_distance(self, q: FloatArray) -> float:
        """
        Return the least distance of two bodies in one posture, measured by exact meshes [m].

        It is 0 if bodies overlap, and at most :data:`LARGEST_POSTURE_CLEARANCE`.

        :param q: (n,) posture.
        """
        return min(max(self._scene.least_distance(q), 0.0), LARGEST_POSTURE_CLEARANCE)

    def _check(self, q: FloatArray, wanted: float) -> tuple[NDArray[np.bool_], FloatArray]:
        """
        Return (mask (k,) of postures without collisions, lower bound (k,) on the least distance of bodies [m]).

        The bound uses hulls instead of meshes, so that it may be zero or negative for a free posture.

        :param wanted: distance above which the bound need not be tight [m].
        """
        q = np.ascontiguousarray(q)
        verdicts, culprits = (np.zeros(len(q), dtype=np.int64) for _ in range(2))
        apart, every = np.full(len(q), wanted), np.arange(len(q))
        for start in range(0, len(q), CHECKS_PER_CALL):
            rows = every[start : start + CHECKS_PER_CALL]
            clearance.check_rows(verdicts, culprits, apart, q, rows, 0.0, wanted, *self._bodies)
        for row in np.flatnonzero(verdicts == clearance.DOUBTFUL).tolist():
            verdicts[row] = self._scene.colliding_pair(q[row]) is not None
        return verdicts == clearance.COLLISION_FREE, apart
