"""
Poses of a chain straight from URDF text: the judge of the promises, which shares nothing with the package.

Rotations are scipy's, so that not even their formulas are the package's.
"""

from dataclasses import dataclass
import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FloatArray = NDArray[np.float64]
Element = ElementTree.Element


@dataclass(frozen=True)
class Chain:
    """The joints from a base link down to a tip, fixed ones included."""

    joints: tuple[Element, ...]

    @property
    def moving(self) -> tuple[Element, ...]:
        """Return the joints that are variables, in the chain's order."""
        return tuple(joint for joint in self.joints if joint.get('type') != 'fixed')

    @property
    def names(self) -> tuple[str, ...]:
        """Return their names."""
        return tuple(joint.get('name', '') for joint in self.moving)

    @property
    def lower(self) -> FloatArray:
        """Return (n,) lower limits; -inf for continuous joints."""
        return np.array([limits(joint)[0] for joint in self.moving])

    @property
    def upper(self) -> FloatArray:
        """Return (n,) upper limits; inf for continuous joints."""
        return np.array([limits(joint)[1] for joint in self.moving])

    def pose(self, q: FloatArray) -> FloatArray:
        """
        Return the pose (4, 4) of the tip in the base.

        :param q: (n,) joint positions.
        """
        values = iter(q)
        pose = np.eye(4)
        for joint in self.joints:
            pose = pose @ origin(joint)
            if joint.get('type') != 'fixed':
                pose = pose @ motion(joint, next(values))
        return pose

    def errors(self, q: FloatArray, target: FloatArray) -> tuple[float, float]:
        """
        Return distance [m] and angle [rad] between the pose of a joint vector and a target.

        :param q: (n,) joint positions.
        :param target: (4, 4).
        """
        pose = self.pose(q)
        turn = Rotation.from_matrix(pose[:3, :3].T @ target[:3, :3])
        return float(np.linalg.norm(pose[:3, 3] - target[:3, 3])), float(turn.magnitude())

    def is_inside(self, q: FloatArray) -> bool:
        """
        Return whether a joint vector is finite and within the closed limits.

        :param q: (n,) joint positions.
        """
        return bool(np.isfinite(q).all() and (self.lower <= q).all() and (q <= self.upper).all())

    def sample(self, generator: np.random.Generator) -> FloatArray:
        """
        Return a joint vector (n,) within the limits, continuous joints within one turn.

        :param generator: where it comes from.
        """
        return generator.uniform(
            np.maximum(self.lower, -math.pi) if np.isinf(self.lower).any() else self.lower,
            np.minimum(self.upper, math.pi) if np.isinf(self.upper).any() else self.upper,
        )


def read_chain(urdf: Path | str, base: str, tip: str) -> Chain:
    """
    Return the chain between two links.

    :param urdf: a file, or the text itself.
    :param base: link that poses are given in.
    :param tip: link whose pose is asked for.
    """
    text = urdf if isinstance(urdf, str) else urdf.read_text(encoding='utf-8')
    above = {attribute(j, 'child', 'link'): j for j in ElementTree.fromstring(text).iter('joint')}
    joints: list[Element] = []
    while tip != base:
        joints.insert(0, above[tip])
        tip = attribute(above[tip], 'parent', 'link')
    return Chain(tuple(joints))


def attribute(joint: Element, child: str, name: str, default: str = '') -> str:
    """Return an attribute of a child of a joint, or the default of the URDF."""
    element = joint.find(child)
    return default if element is None else element.get(name, default)


def numbers(text: str) -> list[float]:
    """Return the numbers of an attribute."""
    return [float(word) for word in text.split()]


def limits(joint: Element) -> tuple[float, float]:
    """Return the limits of a joint, narrowed by the limits of its safety controller."""
    if joint.get('type') == 'continuous':
        return -math.inf, math.inf
    soft_lower = attribute(joint, 'safety_controller', 'soft_lower_limit', '-inf')
    soft_upper = attribute(joint, 'safety_controller', 'soft_upper_limit', 'inf')
    lower, upper = (attribute(joint, 'limit', bound, '0') for bound in ('lower', 'upper'))
    return max(float(lower), float(soft_lower)), min(float(upper), float(soft_upper))


def origin(joint: Element) -> FloatArray:
    """Return the pose of a joint's frame in its parent link."""
    pose = np.eye(4)
    angles = numbers(attribute(joint, 'origin', 'rpy', '0 0 0'))
    pose[:3, :3] = Rotation.from_euler('xyz', angles).as_matrix()
    pose[:3, 3] = numbers(attribute(joint, 'origin', 'xyz', '0 0 0'))
    return pose


def motion(joint: Element, value: float) -> FloatArray:
    """Return the pose of a joint's moved frame in its own frame."""
    axis = np.array(numbers(attribute(joint, 'axis', 'xyz', '1 0 0')))
    axis /= np.linalg.norm(axis)
    pose = np.eye(4)
    if joint.get('type') == 'prismatic':
        pose[:3, 3] = value * axis
    else:
        half = 0.5 * value
        quaternion = [*(math.sin(half) * axis), math.cos(half)]
        pose[:3, :3] = Rotation.from_quat(quaternion).as_matrix()
    return pose
