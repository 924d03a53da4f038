"""Collision checks of a robot against itself, the world and carried objects, with the collision library coal."""

from collections.abc import Iterable, Iterator, Sequence
import importlib
import itertools
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import SolverError
from ssik_ros.model.collision.geometry import CollisionShape, make_shape, read_shapes
from ssik_ros.model.collision.objects import (
    CarriedObject,
    make_geometry,
    ObjectShape,
    read_carried,
    read_objects,
    SolidKind,
    WorldObject,
)
from ssik_ros.model.collision.scene import BodyKind, CollisionScene, IN_WORLD, SceneShape
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel

MOST_SHAPES = 1000
"""Shapes of a robot that is checked for collisions: the pairs among them are half a million."""
PROBES = 20
PROBE_SEED = 1


def import_coal() -> Any:
    """
    Return coal, the collision library, as a module.

    :raises SolverError: when it is missing.
    """
    try:
        return importlib.import_module('coal')
    except ImportError as error:
        raise SolverError('Collision checking needs coal, which pinocchio brings.') from error


class CollisionChecker:
    """
    Collision checks of one robot, with the pairs of links that the SRDF leaves enabled; serves one thread.

    Links that no joint moves relative to each other are never checked. If the SRDF disables no pair, two kinds of pairs
    are left out. These are neighbours in the tree, and pairs that collide in all of some random states.
    """

    def __init__(self, robot: RobotModel, padding: float = 0.0) -> None:
        """
        Load the collision geometry of a robot; sentences about geometry that is left out are in ``warnings``.

        A robot with more than 1000 collision shapes is not checked: all of them are left out.

        :param robot: the robot.
        :param padding: bodies nearer to each other than this count as colliding [m].
        :raises SolverError: when coal is missing.
        :raises InvalidOption: if the padding is not a finite number.
        :raises ModelError: for a malformed collision shape: numbers that are missing or not finite, an origin that is
            too far away, or a mesh that names no file.
        """
        self.robot = robot
        self.padding = padding
        self._coal = import_coal()
        self.shapes, self.warnings = read_shapes(robot, self._coal)
        if len(self.shapes) > MOST_SHAPES:
            text = f'The robot has {len(self.shapes)} collision shapes; up to {MOST_SHAPES} are checked.'
            self.shapes, self.warnings = [], (text,)
        self._link_shapes = [SceneShape(shape, BodyKind.LINK) for shape in self.shapes]
        self._enabled, self._disabled = (
            {frozenset((pair.link1, pair.link2)) for pair in pairs}
            for pairs in (robot.srdf.enabled_collisions, robot.srdf.disabled_collisions)
        )
        self._no_default = frozenset(robot.srdf.no_default_collisions)
        scene = self._make_scene(self._link_shapes, list(self._checked_pairs()))
        self._scene = scene if self._disabled else scene.with_pairs(self._apart_pairs(scene))

    def _make_scene(
        self, shapes: Sequence[SceneShape], pairs: Sequence[tuple[int, int]] | IntArray
    ) -> CollisionScene:
        return CollisionScene(self.robot, self._coal, shapes, pairs, self.padding)

    @property
    def available(self) -> bool:
        """Return whether collision geometry of the robot was loaded."""
        return bool(self.shapes)

    @property
    def checked_links(self) -> tuple[str, ...]:
        """Return the names of the links that have collision geometry."""
        return tuple(dict.fromkeys(shape.link for shape in self.shapes))

    def unchecked_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of link names, both with collision geometry, that are never checked against each other."""
        checked = {
            frozenset((self.shapes[int(a)].link, self.shapes[int(b)].link))
            for a, b in self._scene.pairs
        }
        pairs = itertools.combinations(self.checked_links, 2)
        return [pair for pair in pairs if frozenset(pair) not in checked]

    def colliding_pair(self, positions: FloatArray) -> tuple[str, str] | None:
        """
        Return the names of two links that collide, the first such pair in the order of the tree; None if no links do.

        :param positions: (nq,) full state.
        :raises RequestError: for a state of another size, or one that is not finite. Without a pair to check, the state
            is not read.
        """
        return self._scene.colliding_pair(positions)

    def scene(
        self, world: Iterable[WorldObject] = (), carried: Iterable[CarriedObject] = ()
    ) -> CollisionScene:
        """
        Return a collision scene of the robot among objects; without objects always the same scene.

        Objects in the world are checked against all links and all carried objects. A carried object is checked against
        all links except its own link and its ``touch_links``, and against objects that other links carry.

        :param world: objects with poses in the model frame.
        :param carried: objects with poses in links.
        :raises ModelError: for an invalid object, which the collision library would miss, and for an unknown link.
        :raises InvalidOption: for anything but such objects.
        """
        return self.scene_of(read_objects('world', world), read_carried('carried', carried))

    def scene_of(
        self, fixed: Sequence[WorldObject] = (), carried: Sequence[CarriedObject] = ()
    ) -> CollisionScene:
        """
        Return the scene of :meth:`scene` for objects that are checked already.

        :param fixed: objects with poses in the model frame.
        :param carried: objects with poses in links.
        :raises ModelError: for an unknown link.
        """
        if not fixed and not carried:
            return self._scene
        held = [entry for item in carried for entry in self._carried_shapes(item)]
        standing = [entry for item in fixed for entry in self._world_shapes(item)]
        links, first_standing = len(self._link_shapes), len(self._link_shapes) + len(held)
        shapes = [*self._link_shapes, *held, *standing]
        held_pairs: list[tuple[int, int]] = []
        for index, entry in enumerate(held, start=links):
            allowed = {entry.holder, *entry.touch_links}
            held_pairs += [
                (k, index) for k in range(links) if self._link_shapes[k].shape.link not in allowed
            ]
            held_pairs += [
                (k, index) for k in range(links, index) if shapes[k].holder != entry.holder
            ]
        held_part = np.array(held_pairs, dtype=np.int64).reshape(-1, 2)
        standing_part = np.indices((first_standing, len(standing))).reshape(2, -1).T
        standing_part[:, 1] += first_standing
        pairs = np.concatenate((self._scene.pairs, held_part, standing_part))
        return self._make_scene(shapes, pairs)

    def with_padding(self, scene: CollisionScene, padding: float) -> CollisionScene:
        """
        Return a scene of this checker with a larger padding, as a checker with this padding would make it.

        Unless the SRDF disables pairs, links that the larger padding makes touch in all random states are not checked
        against each other.

        :param scene: a scene from :meth:`scene`.
        :param padding: bodies nearer to each other than this count as colliding [m]; at least the checker's padding.
        :raises InvalidOption: if the padding is not a finite number.
        """
        links, others = np.split(scene.pairs, [len(self._scene.pairs)])
        padded = CollisionScene(self.robot, self._coal, scene.shapes, links.tolist(), padding)
        return padded.with_pairs(self._apart_pairs(padded) + others.tolist())

    def _world_shapes(self, item: WorldObject) -> Iterator[SceneShape]:
        for shape in item.shapes:
            placed = self._place(item.name, IN_WORLD, item.pose @ shape.pose, shape)
            yield SceneShape(placed, BodyKind.WORLD)

    def _carried_shapes(self, carried: CarriedObject) -> Iterator[SceneShape]:
        tree, item = self.robot.tree, carried.object
        link = tree.link(carried.link)
        placement = tree.link_placements[link] @ item.pose
        for shape in item.shapes:
            placed = self._place(
                item.name, int(tree.link_joints[link]), placement @ shape.pose, shape
            )
            yield SceneShape(placed, BodyKind.CARRIED, carried.link, carried.touch_links)

    def _place(
        self, name: str, carrier: int, placement: FloatArray, shape: ObjectShape
    ) -> CollisionShape:
        geometry, is_endless = make_geometry(shape, self._coal), shape.kind == SolidKind.PLANE
        return make_shape(name, carrier, placement, geometry, is_endless=is_endless)

    def _apart_pairs(self, scene: CollisionScene) -> list[tuple[int, int]]:
        """
        Return the pairs of a scene of links without those that collide in every one of some random states.

        Such pairs touch by construction. If the SRDF disables pairs, all pairs are returned.
        """
        pairs, touching = [(a, b) for a, b in scene.pairs.tolist()], scene
        if self._disabled:
            return pairs
        states = list(_random_states(self.robot))
        # Few pairs are near in all states: only their meshes need trees.
        for find in (CollisionScene.near_pairs, CollisionScene.touching_pairs):
            for positions in states:
                touching = touching.with_pairs(sorted(find(touching, positions)))
        left_out = set(map(tuple, touching.pairs.tolist()))
        return [pair for pair in pairs if pair not in left_out]

    def _checked_pairs(self) -> Iterator[tuple[int, int]]:
        """Iterate over the pairs of shapes to check, as two indices into ``shapes``."""
        for (a, first), (b, second) in itertools.combinations(enumerate(self.shapes), 2):
            if self._may_collide(first, second):
                yield a, b

    def _may_collide(self, first: CollisionShape, second: CollisionShape) -> bool:
        """
        Return whether two collision shapes are checked against each other.

        They are not if the same joint carries both. Otherwise pairs that the SRDF enables are always checked. Pairs
        that it disables, and all other pairs of a link in ``disable_default_collisions``, are not. If the SRDF disables
        no pair, shapes on neighbouring joints are not checked.
        """
        if first.carrier == second.carrier:
            return False
        pair = frozenset((first.link, second.link))
        if pair in self._enabled:
            return True
        if not pair.isdisjoint(self._no_default):
            return False
        if not self._disabled:
            return not self._are_neighbours(first.carrier, second.carrier)
        return pair not in self._disabled

    def _are_neighbours(self, first: int, second: int) -> bool:
        """
        Return whether one of two moving joints is the parent of the other.

        :param first, second: indices of the joints; -1 is the root link.
        """
        parents = self.robot.tree.parents
        return bool(
            (first >= 0 and parents[first] == second) or (second >= 0 and parents[second] == first)
        )


def _random_states(robot: RobotModel) -> Iterator[FloatArray]:
    """
    Iterate over 20 random full states (nq,) within the limits, the same at each call.

    In place of a missing limit, angles of revolute and continuous joints have -pi or pi, and other variables their
    default values.
    """
    tree = robot.tree
    rng = np.random.default_rng(PROBE_SEED)
    default = robot.default_positions()
    angular = np.zeros(tree.nq, dtype=bool)
    angular[tree.idx_q[np.isin(tree.kinds, (JointKind.REVOLUTE, JointKind.CONTINUOUS))]] = True
    low = np.where(np.isfinite(tree.lower), tree.lower, np.where(angular, -np.pi, default))
    high = np.where(np.isfinite(tree.upper), tree.upper, np.where(angular, np.pi, default))
    for _ in range(PROBES):
        yield robot.with_mimic(rng.uniform(low, np.maximum(low, high)))
