"""Collision checks of postures and motions: kernels for convex bodies, the collision library where a mesh leaves doubt."""

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.paths import clearance, convex
from ssik_ros.model.collision.checks import CollisionChecker, import_coal
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.paths.bodies import make_bodies
from ssik_ros.paths.tool_chain import ToolChain

AT_ONCE = 500
"""Postures of one kernel call: a few milliseconds."""
FINEST = 1.0 / 64.0
"""Part of a motion to which meshes are checked."""


class Obstacles:
    """What a robot must not touch: itself, and objects. One instance serves one thread."""

    def __init__(
        self, chain: ToolChain, world: Sequence[WorldObject] = (), distance: float = 0.0
    ) -> None:
        """
        Load the geometry.

        :param chain: the joints that move.
        :param world: objects in the frame of the chain's base link.
        :param distance: least distance [m].
        """
        self.distance = distance
        self._chain = chain
        checker = CollisionChecker(chain.robot, distance)
        self.warnings = checker.warnings
        scene = checker.scene([_in_root(chain, item) for item in world])
        self._arrays = make_bodies(chain, scene)
        # Bodies that no joint of the chain moves towards each other are not the path's concern.
        pairs = [(int(a), int(b)) for a, b in self._arrays.pairs]
        self._scene = CollisionScene(chain.robot, import_coal(), scene.shapes, pairs, distance)
        names = [entry.shape.link for entry in scene.shapes]
        self._names = [(names[a], names[b]) for a, b in self._arrays.pairs.tolist()]
        self.has_meshes = bool((self._arrays.kinds == convex.HULL).any())
        """Whether a posture may need the collision library, which takes long."""
        self.checked = 0
        """Postures that have been checked so far."""

    def check(self, q: FloatArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return of some rows whether each collides, and its pair, -1 for none.

        :param q: (k, n) postures.
        :param rows: (m,) rows to check.
        """
        verdicts = np.zeros(len(q), dtype=np.int64)
        pairs = np.full(len(q), -1, dtype=np.int64)
        distances = np.empty(len(q))
        own = self._arrays
        for start in range(0, len(rows), AT_ONCE):
            part = np.ascontiguousarray(rows[start : start + AT_ONCE])
            clearance.check_rows(
                verdicts, pairs, distances, q, part, self.distance, self.distance, *own
            )
        self.checked += len(rows)
        for row in rows[verdicts[rows] == clearance.DOUBTFUL]:
            verdicts[row] = self.is_colliding(q[row])
        return verdicts[rows] != clearance.FREE, pairs[rows]

    def is_colliding(self, q: FloatArray) -> bool:
        """
        Return the collision library's word on one posture.

        :param q: (n).
        """
        return self._scene.colliding_pair(self._chain.full_state(q)) is not None

    def follow(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """
        Return how far each straight motion from one row to the next is free (1: all of it), and what ends it.

        :param q: (k, n) postures, angles not wrapped.
        """
        reached, pairs = np.empty(len(q) - 1), np.empty(len(q) - 1, dtype=np.int64)
        spare, q = np.empty(q.shape[1]), np.ascontiguousarray(q)
        clearance.follow(reached, pairs, q, self.distance, spare, *self._arrays)
        return reached, pairs

    def describe(self, pair: int) -> str:
        """
        Return the names of a pair.

        :param pair: its number.
        """
        first, second = self._names[pair]
        return f'{second} with {first}'


def _in_root(chain: ToolChain, item: WorldObject) -> WorldObject:
    """Return an object placed in the root frame instead of the frame of the chain's base link."""
    # Objects of WorldObject are never changed, only replaced.
    return WorldObject(item.name, chain.base_pose() @ item.pose, item.shapes, item.subframes)
