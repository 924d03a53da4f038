"""
Collision checks of postures and of straight motions between them.

Kernels check convex bodies. If the hull of a mesh leaves a doubt, the collision library decides. A pair is the index of
two bodies whose distance some joint of the chain changes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.paths import clearance, convex
from ssik_ros.model.collision.scene import CollisionScene
from ssik_ros.paths.collisions.bodies import make_bodies
from ssik_ros.paths.control import do_nothing
from ssik_ros.paths.tool_chain import ToolChain

POSTURES_PER_CALL = 500
"""Postures of one kernel call: a few milliseconds."""
MOTIONS_AT_ONCE = 50
"""Motions of one kernel call."""


class Verdicts(NamedTuple):
    """Results of collision checks of m postures: whether each collides, a pair of bodies, and a bound on distances."""

    verdicts: IntArray
    """(m,) COLLISION_FREE, COLLIDES, or DOUBTFUL if only exact shapes can decide."""
    pairs: IntArray
    """(m,) index of the pair of bodies that collides or may collide; -1 for postures that the kernels prove free."""
    distances: FloatArray
    """
    (m,) lower bound on the distance of all pairs that were measured, with hulls in place of meshes [m].

    It is at most the distance that was asked for. In a posture that collides, some pairs may not be measured.
    """

    @property
    def are_hits(self) -> NDArray[np.bool_]:
        """Return a mask (m,) of the postures that are not free."""
        return np.asarray(self.verdicts != clearance.COLLISION_FREE)


class Obstacles:
    """Collision checks of a robot against itself and against objects, at a required distance; serves one thread."""

    def __init__(
        self, chain: ToolChain, scene: CollisionScene, look_up: Callable[[], None] = do_nothing
    ) -> None:
        """
        Make the arrays for the kernels.

        :param chain: the joints that move.
        :param scene: the robot among objects; its padding is the least distance, bodies closer than this collide.
        :param look_up: called between steps of the preparation; it raises an exception to stop.
        :raises UnsupportedJoint: if a joint of the robot mimics a joint of the chain.
        """
        self.distance = scene.padding
        self._chain = chain
        self._arrays, owners = make_bodies(chain, scene, look_up)
        # Bodies that no joint of the chain moves towards each other are not the path's concern.
        shapes = owners[self._arrays.pairs]
        self._scene = scene.with_pairs(np.unique(shapes, axis=0).tolist())
        is_mesh = (self._arrays.kinds == convex.HULL)[self._arrays.pairs].any(axis=1)
        self._mesh_pairs, self._solid_pairs = np.flatnonzero(is_mesh), np.flatnonzero(~is_mesh)
        shape_pairs, self._scene_pairs = np.unique(shapes[is_mesh], axis=0, return_inverse=True)
        self._scene_pairs = self._scene_pairs.ravel()
        """Pair of meshes of the scene that each pair of hulls is a part of."""
        self._meshes = scene.with_pairs(shape_pairs.tolist())
        names = [entry.shape.link for entry in scene.shapes]
        self._names = [(names[a], names[b]) for a, b in shapes.tolist()]

    def judge(self, q: FloatArray, enough: float = 0.0) -> Verdicts:
        """
        Check postures by the kernels only, and return the verdicts.

        :param q: (m, n) postures.
        :param enough: distance beyond the required one; above it the distances need not be tight [m].
        """
        q = np.ascontiguousarray(q)
        verdicts, pairs = (np.empty(len(q), dtype=np.int64) for _ in range(2))
        distances, rows, wanted = np.empty(len(q)), np.arange(len(q)), self.distance + enough
        for start in range(0, len(q), POSTURES_PER_CALL):
            part = rows[start : start + POSTURES_PER_CALL]
            clearance.check_rows(
                verdicts, pairs, distances, q, part, self.distance, wanted, *self._arrays
            )
        return Verdicts(verdicts, pairs, distances)

    def distances(self, q: FloatArray, enough: float) -> FloatArray:
        """
        Return, for each posture, a lower bound (k,) on the least distance of bodies, minus the required distance [m].

        Meshes are replaced by their hulls. Negative values mean that the required distance may not be kept. For a
        posture that collides, the value is negative, but other pairs may be nearer.

        :param q: (k, n) postures.
        :param enough: distance beyond the required one; above it the bounds need not be tight [m].
        """
        return self.judge(q, enough).distances - self.distance

    def check(self, q: FloatArray, enough: float = 0.0) -> Verdicts:
        """
        Check postures by the kernels, and doubtful ones by the collision library; return the verdicts, none doubtful.

        The library changes only the verdict of a posture: its pair and distance come from the kernels.

        :param q: (m, n) postures.
        :param enough: distance beyond the required one; above it the distances need not be tight [m].
        """
        judged = self.judge(q, enough)
        for index in np.flatnonzero(judged.verdicts == clearance.DOUBTFUL):
            # The kernel keeps the pair with the least bound: others, with a mesh or without, may collide, too.
            judged.verdicts[index] = self.is_colliding(q[index])
        return judged

    def is_colliding(self, q: FloatArray) -> bool:
        """
        Return whether one posture collides, by the collision library and exact shapes.

        :param q: (n,) posture.
        """
        return self._scene.colliding_pair(self._chain.full_state(q)) is not None

    def follow(
        self, q: FloatArray, look_up: Callable[[], None] = do_nothing
    ) -> tuple[FloatArray, IntArray]:
        """
        Return how far each straight motion between neighbouring rows is free (k - 1,), and a pair of bodies (k - 1,).

        The free part runs from 0 to 1. It is proved free, but a part below 1 may be too small, because the steps of a
        proof are limited. The pair collides, or nearly, where the part ends; it is -1 for a free motion.

        :param q: (k, n) postures, angles not wrapped.
        :param look_up: called once for each MOTIONS_AT_ONCE motions; it raises an exception to stop.
        """
        reached, pairs = np.empty(len(q) - 1), np.empty(len(q) - 1, dtype=np.int64)
        for begin in range(0, len(q) - 1, MOTIONS_AT_ONCE):
            look_up()
            part = slice(begin, begin + MOTIONS_AT_ONCE)
            reached[part], pairs[part] = self._follow(q[begin : begin + MOTIONS_AT_ONCE + 1])
        return reached, pairs

    def _follow(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """
        Return how far each straight motion between neighbouring rows of ``q`` (k, n) is free, and a pair of bodies.

        Both have the shape (k - 1,). The free part is 1 if the whole motion is free; then the pair is -1. Otherwise the
        pair collides, or nearly, where the free part ends.
        """
        q = np.ascontiguousarray(q)
        reached, pairs = self._follow_some(q, self._solid_pairs)
        if not len(self._mesh_pairs):
            return reached, pairs
        by_hulls, hulls = self._follow_some(q, self._mesh_pairs)
        for row in np.flatnonzero((reached == 1.0) & (by_hulls < 1.0)):
            reached[row] = self._follow_meshes(q[row], q[row + 1])
            pairs[row] = hulls[row] if reached[row] < 1.0 else -1
        return reached, pairs

    def _follow_some(self, q: FloatArray, chosen: IntArray) -> tuple[FloatArray, IntArray]:
        """
        Return the free part (k - 1,) of each motion by the kernel, and the pair that ends it; -1 for a free motion.

        :param q: (k, n) postures.
        :param chosen: indices of the pairs to check.
        """
        arrays = self._arrays
        part = arrays._replace(
            pairs=np.ascontiguousarray(arrays.pairs[chosen]),
            axis_of=np.ascontiguousarray(arrays.axis_of[chosen]),
        )
        reached, pairs = np.empty(len(q) - 1), np.empty(len(q) - 1, dtype=np.int64)
        clearance.follow(reached, pairs, q, self.distance, np.empty(q.shape[1]), *part)
        return reached, np.where(pairs >= 0, np.append(chosen, -1)[pairs], -1)

    def _follow_meshes(self, start: FloatArray, end: FloatArray) -> float:
        """
        Return how far one straight motion is free of collisions of exact meshes, from 0 to 1.

        It advances step by step, as far as the distances of the collision library prove the motion free.

        :param start, end: (n,) postures.
        """
        arrays, steps, reached = self._arrays, np.abs(end - start), 0.0
        motions = np.zeros(len(self._meshes.pairs))
        for pair, (a, b) in zip(self._scene_pairs, arrays.pairs[self._mesh_pairs], strict=True):
            joints = slice(arrays.carriers[a] + 1, arrays.carriers[b] + 1)
            motions[pair] = max(motions[pair], float(steps[joints] @ arrays.levers[joints, b]))
        for _ in range(clearance.PARTS):
            state = self._chain.full_state(start + reached * (end - start))
            # A bounding sphere that stays away for the rest of the motion needs no distance.
            rest = self.distance + motions * (1.0 - reached)
            apart = self._meshes.distances(state, rest) - self.distance
            part = min(
                (d / motion for d, motion in zip(apart, motions, strict=True) if motion > 0.0),
                default=1.0,
            )
            reached = min(1.0, reached + max(part, 0.0))
            if reached == 1.0 or part < clearance.SHORTEST_MOTION:
                break
        return reached

    def describe(self, pair: int) -> str:
        """
        Return a text with the names of the two bodies of a pair: "second with first".

        :param pair: index of the pair, from :meth:`check` or :meth:`follow`.
        """
        first, second = self._names[pair]
        return f'{second} with {first}'
