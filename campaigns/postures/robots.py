"""
The robots of a campaign: shipped arms, robots of a folder, and random chains drawn from a seed.

Every robot is the text of a URDF. The judges read it with :mod:`bench.arms`, the package with its own reader.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import functools
import json
import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.random import Generator
from scipy.spatial.transform import Rotation

from bench.arms import Arm, chain_from_xml, CHAINS, FloatArray, read_arm
from ssik_ros.manipulator.kin_body import KinBody, KinBodyJoint
from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.catalogue import arm_data, list_arms, make_urdf

FAMILIES = ('shipped', 'field', 'random')


@dataclass(frozen=True, eq=False)
class Robot:
    """One arm: the text of its URDF with two links, and the judges' reading of it."""

    name: str
    family: str
    """One of :data:`FAMILIES`."""
    urdf: str
    base: str
    tip: str

    @functools.cached_property
    def arm(self) -> Arm:
        """Return the chain as the judges read it."""
        return chain_from_xml(ElementTree.fromstring(self.urdf), self.name, self.base, self.tip)

    @property
    def dof(self) -> int:
        """Return the number of joints."""
        return len(self.arm.joints)

    @functools.cached_property
    def turns(self) -> FloatArray:
        """Return (n,) which joints are revolute."""
        return np.array([joint.is_revolute for joint in self.arm.joints])

    @functools.cached_property
    def size(self) -> float:
        """Return the length of the arm: the sum of the distances between its joints and its tip [m]."""
        places = [*(joint.placement for joint in self.arm.joints), self.arm.tip_placement]
        return max(1e-9, float(sum(np.linalg.norm(place[:3, 3]) for place in places)))

    @functools.cached_property
    def unit(self) -> FloatArray:
        """Return (n,) unit of each joint: 1 rad, or the length of the arm [m]."""
        return np.where(self.turns, 1.0, self.size)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return (n,) bounds to draw postures from: the limits, or one revolution."""
        lower, upper = self.arm.sampling_bounds()
        slides = ~self.turns
        # A slide without limits is drawn within one length of the arm.
        lower[slides] = np.where(np.isfinite(self.arm.lower[slides]), lower[slides], -self.size)
        upper[slides] = np.where(np.isfinite(self.arm.upper[slides]), upper[slides], self.size)
        return lower, upper

    def with_limits(self, lower: FloatArray, upper: FloatArray) -> 'Robot':
        """
        Return the robot with other joint limits.

        :param lower, upper: (n,) [rad or m].
        """
        root = ElementTree.fromstring(self.urdf)
        elements = {element.get('name'): element for element in root.findall('joint')}
        for joint, low, high in zip(self.arm.joints, lower, upper, strict=True):
            element = elements[joint.name]
            for name in ('limit', 'safety_controller'):
                for old in element.findall(name):
                    element.remove(old)
            endless = not (np.isfinite(low) or np.isfinite(high)) and joint.is_revolute
            element.set('type', _kind(joint.is_revolute, endless))
            element.append(_limit(low, high, endless))
        return replace(self, urdf=ElementTree.tostring(root, encoding='unicode'))

    def manipulator(self) -> Manipulator:
        """Return the arm as the package loads it."""
        return Manipulator.from_urdf(self.urdf, base=self.base, ee=self.tip)


def shipped(name: str) -> Robot:
    """
    Return an arm that the package ships.

    :param name: of the catalogue, or a key of :data:`bench.arms.CHAINS` with the prefix ``config/``.
    """
    plain = name.removeprefix('config/')
    if plain != name:
        arm = read_arm(plain)
        return Robot(name, 'shipped', arm.urdf_path.read_text(), arm.base, arm.tip)
    data = arm_data(name)
    return Robot(name, 'shipped', make_urdf(data), data.base_link, data.tip_link)


def all_shipped() -> Iterator[Robot]:
    """Return every arm that the package ships."""
    for name in [*(f'config/{key}' for key in CHAINS), *list_arms()]:
        yield shipped(name)


def in_folder(folder: Path) -> Iterator[Robot]:
    """
    Return the robots of a folder that has ``ROBOT/robot.urdf`` and ``ROBOT/groups.json``.

    :param folder: with one folder for each robot; groups with other joints than turns and slides are left out.
    """
    for file in sorted(folder.glob('*/groups.json')):
        text = (file.parent / 'robot.urdf').read_text()
        for group in json.loads(file.read_text()):
            name = f'{file.parent.name}/{group["group"]}'
            robot = Robot(name, 'field', text, group['base'], group['tip'])
            try:
                names = [joint.name for joint in robot.arm.joints]
            except ValueError:
                continue
            if names == group['joints'] and 'mimic' not in _chain_text(robot):
                yield robot


def _chain_text(robot: Robot) -> str:
    """Return the elements of the chain's joints as text."""
    root, names = ElementTree.fromstring(robot.urdf), {joint.name for joint in robot.arm.joints}
    chosen = (element for element in root.findall('joint') if element.get('name') in names)
    return ''.join(ElementTree.tostring(element, encoding='unicode') for element in chosen)


@dataclass(frozen=True, eq=False)
class Screws:
    """Joints as lines in the base frame, all joints at zero, and the pose of the tip there."""

    axes: FloatArray
    """(n, 3) unit directions."""
    points: FloatArray
    """(n, 3) a point of each line."""
    home: FloatArray
    """(4, 4)."""
    turns: FloatArray
    """(n,) which joints are revolute."""
    lower: FloatArray
    upper: FloatArray

    def robot(self, name: str, family: str) -> Robot:
        """Return the chain as a robot whose links are parallel at zero, so that no rotation is rounded."""
        finite = np.isfinite([self.lower, self.upper]).any(axis=0)
        limits = [
            (float(low), float(high)) if has_limits else None
            for low, high, has_limits in zip(self.lower, self.upper, finite, strict=True)
        ]
        joints = tuple(
            KinBodyJoint(
                f'joint_{i + 1}', 'revolute' if is_turn else 'prismatic', axis, point, pair
            )
            for i, (is_turn, axis, point, pair) in enumerate(
                zip(self.turns, self.axes, self.points, limits, strict=True)
            )
        )
        body = KinBody(joints, self.home, 'base', 'tip', 'chain')
        return Robot(name, family, body.to_urdf(), body.base_link, body.ee_link)


def screws_of(robot: Robot) -> Screws:
    """
    Return a robot's joints as lines.

    :param robot: any.
    """
    arm = robot.arm
    return Screws(*arm.lines(), robot.turns, arm.lower.copy(), arm.upper.copy())


def _kind(is_revolute: bool, endless: bool) -> str:
    """Return the type of a joint in a URDF."""
    return ('continuous' if endless else 'revolute') if is_revolute else 'prismatic'


def _limit(low: float, high: float, endless: bool) -> ElementTree.Element:
    """Return the element of a joint's limits."""
    element = ElementTree.Element('limit', effort='1e+30', velocity='1e+30')
    if not endless:
        element.set('lower', repr(float(low)))
        element.set('upper', repr(float(high)))
    return element


def rotation_about(axis: FloatArray, angle: float) -> FloatArray:
    """
    Return the rotation (3, 3) about an axis.

    :param axis: (3,) unit vector.
    :param angle: [rad].
    """
    result: FloatArray = Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()
    return result


def direction(rng: Generator) -> FloatArray:
    """Return a random unit vector (3,)."""
    vector = rng.standard_normal(3)
    result: FloatArray = vector / np.linalg.norm(vector)
    return result


PARALLEL: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
    ((), ()),
    ((1, 2, 3), ()),
    ((1, 2, 3), (4, 5)),
    ((1, 2), (3, 4, 5)),
    ((0, 1), (3, 4, 5)),
    ((), (3, 4, 5)),
    ((0, 1, 2), (4, 5)),
    ((2, 3, 4), ()),
    ((1, 2), (4, 5)),
    ((), (4, 5)),
    ((0, 1, 2, 3), ()),
    ((1, 2, 3, 4, 5), ()),
    ((3, 4), (0, 1, 2)),
)
"""Indices of parallel axes and of axes that meet in a point, of six joints: the classes with a closed form and their like."""
MEETING_TOO = ((0, 1), (1, 2), (2, 3))
"""Further pairs of axes that may meet."""
NEAR = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""How far the axes of a chain are from its class [rad, and lengths of a link]."""
SIZES = (1.0, 1.0, 1.0, 1e-3, 1e3)
"""Length of a link [m]."""


def random_robot(seed: int) -> Robot:
    """
    Return a random chain of five to seven joints.

    :param seed: which one; the same seed gives the same chain.
    """
    rng = np.random.default_rng([31, seed])
    count = int(rng.choice([5, 6, 6, 6, 6, 6, 6, 7, 7]))
    parallel, meeting = PARALLEL[rng.integers(len(PARALLEL))]
    is_boxed = rng.random() < 0.5
    if is_boxed:
        # Axes along x, y and z through the corners of a grid, as real arms have them.
        axes = np.eye(3)[rng.integers(0, 3, 6)] * rng.choice([-1.0, 1.0], (6, 1))
        steps = 0.1 * rng.integers(-2, 5, (6, 3)) * (rng.random((6, 3)) < 0.6)
    else:
        axes = np.array([direction(rng) for _ in range(6)])
        steps = rng.uniform(-0.6, 0.6, (6, 3))
    points = np.cumsum(steps, axis=0)
    for joint in parallel[1:]:
        axes[joint] = rng.choice([-1.0, 1.0]) * axes[parallel[0]]
    points[list(meeting)] = points[meeting[0]] if meeting else points[list(meeting)]
    for pair in MEETING_TOO:
        if rng.random() < 0.2 and not set(pair) & set(meeting):
            points[pair[1]] = points[pair[0]]
    if rng.random() < 0.3:
        axes, points = -axes[::-1].copy(), points[::-1].copy()
    if count == 7:
        where = int(rng.integers(0, 7))
        axes = np.insert(axes, where, direction(rng) if not is_boxed else np.eye(3)[where % 3], 0)
        points = np.insert(points, where, points[min(where, 5)], 0)
    axes, points = axes[:count], points[:count]
    turns = np.ones(count, dtype=bool)
    if rng.random() < 0.2:
        turns[rng.choice(count, int(rng.integers(1, 3)), replace=False)] = False
    near = float(rng.choice(NEAR))
    axes = axes + near * rng.uniform(-1.0, 1.0, axes.shape)
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    points = points + near * rng.uniform(-1.0, 1.0, points.shape)
    home = np.eye(4)
    if rng.random() < 0.5:
        home[:3, :3] = rotation_about(direction(rng), rng.uniform(0.0, math.pi))
    home[:3, 3] = points[-1] + 0.2 * rng.uniform(-1.0, 1.0, 3)
    size = float(rng.choice(SIZES))
    points, home[:3, 3] = size * points, size * home[:3, 3]
    half = np.where(turns, rng.choice([math.inf, 3.1, 2.0]), size)
    screws = Screws(axes, points, home, turns, -half, half)
    kinds = ''.join('R' if turn else 'P' for turn in turns)
    words = [
        f'random-{seed}',
        kinds,
        'box' if is_boxed else 'skew',
        f'near{near:g}',
        f'size{size:g}',
    ]
    return screws.robot(' '.join(words), 'random')
