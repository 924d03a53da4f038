"""
Read the arms of the comparison: limits and forward kinematics from the shipped URDFs.

Shares no code with the package, so that it can judge the solutions of the package and of its peers alike.
"""

from dataclasses import dataclass
import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import NDArray

from bench import ROOT

FloatArray = NDArray[np.float64]

ROBOTS = ROOT / 'config' / 'robots'

CHAINS = {
    'panda': ('panda_link0', 'panda_link8'),
    'gen3': ('base_link', 'end_effector_link'),
    'fanuc': ('base_link', 'tool0'),
    'ur5e': ('base_link', 'tool0'),
}
"""Base and tip link of each arm."""


@dataclass(frozen=True, slots=True)
class ChainJoint:
    """One moving joint, with everything rigid before it folded into its placement."""

    name: str
    is_revolute: bool
    """True for revolute and continuous joints, False for prismatic ones."""
    placement: FloatArray
    """(4, 4) pose of the joint frame in the moved frame of the joint before."""
    axis: FloatArray
    """(3,) unit vector in the joint frame."""
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Arm:
    """A chain of joints from a base to a tip."""

    name: str
    base: str
    tip: str
    urdf_path: Path
    joints: tuple[ChainJoint, ...]
    tip_placement: FloatArray
    """(4, 4) pose of the tip in the last joint's moved frame."""

    @property
    def lower(self) -> FloatArray:
        """Return (n,) lower limits; -inf for continuous joints."""
        return np.array([joint.lower for joint in self.joints])

    @property
    def upper(self) -> FloatArray:
        """Return (n,) upper limits; inf for continuous joints."""
        return np.array([joint.upper for joint in self.joints])

    def sampling_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds (n,) to draw joints from: the limits, or -pi to pi for a side without limit."""
        return (
            np.where(np.isfinite(self.lower), self.lower, -math.pi),
            np.where(np.isfinite(self.upper), self.upper, math.pi),
        )

    def lines(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return directions (n, 3) and points (n, 3) of the axes and the tip's pose (4, 4), all joints at zero, in the base."""
        pose, directions, points = np.eye(4), [], []
        for joint in self.joints:
            pose = pose @ joint.placement
            directions.append(pose[:3, :3] @ joint.axis)
            points.append(pose[:3, 3])
        return np.array(directions), np.array(points), pose @ self.tip_placement

    def fk(self, q: FloatArray) -> FloatArray:
        """
        Return the poses (k, 4, 4) of the tip in the base.

        :param q: (k, n) joint positions.
        """
        pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        for index, joint in enumerate(self.joints):
            pose = pose @ joint.placement @ joint_motion(joint, q[:, index])
        result: FloatArray = pose @ self.tip_placement
        return result

    def fk_and_jacobian(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return the poses (k, 4, 4) and the Jacobians (k, 6, n), linear rows first, in base axes.

        :param q: (k, n) joint positions.
        """
        pose = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        origins, axes = [], []
        for index, joint in enumerate(self.joints):
            pose = pose @ joint.placement
            origins.append(pose[:, :3, 3])
            axes.append(pose[:, :3, :3] @ joint.axis)
            pose = pose @ joint_motion(joint, q[:, index])
        pose = pose @ self.tip_placement
        columns = [
            np.hstack([np.cross(axis, pose[:, :3, 3] - origin), axis])
            if joint.is_revolute
            else np.hstack([axis, np.zeros_like(axis)])
            for joint, origin, axis in zip(self.joints, origins, axes, strict=True)
        ]
        return pose, np.stack(columns, axis=2)


def joint_motion(joint: ChainJoint, values: FloatArray) -> FloatArray:
    """
    Return the poses (k, 4, 4) of a joint's moved frame in its joint frame.

    :param values: (k,) positions.
    """
    motion = np.tile(np.eye(4), (len(values), 1, 1))
    if joint.is_revolute:
        x, y, z = joint.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        sine, cosine = np.sin(values)[:, None, None], np.cos(values)[:, None, None]
        motion[:, :3, :3] += sine * cross + (1.0 - cosine) * (cross @ cross)
    else:
        motion[:, :3, 3] = values[:, None] * joint.axis
    return motion


def read_arm(name: str) -> Arm:
    """
    Return an arm by its name in :data:`CHAINS`.

    :param name: such as ``panda``.
    """
    path = ROBOTS / f'{name}_moveit_config' / 'config' / f'{name}.urdf'
    base, tip = CHAINS[name]
    return chain_from_file(path, name, base, tip)


def chain_from_file(path: Path, name: str, base: str, tip: str) -> Arm:
    """
    Return the chain between two links of a URDF file.

    :param path: the file.
    :param name, base, tip: as for :func:`chain_from_xml`.
    """
    return chain_from_xml(ElementTree.parse(path).getroot(), name, base, tip, path)


def chain_from_xml(
    root: ElementTree.Element, name: str, base: str, tip: str, path: Path = Path()
) -> Arm:
    """
    Return the chain between two links of a URDF.

    :param root: its element ``robot``.
    :param base: link that poses are given in.
    :param tip: link whose pose is asked for.
    :param path: the file, for peers that read it themselves.
    """
    above = {_child(joint): joint for joint in root.findall('joint')}
    elements: list[ElementTree.Element] = []
    link = tip
    while link != base:
        elements.insert(0, above[link])
        link = _attribute(above[link], 'parent', 'link')
    joints: list[ChainJoint] = []
    pending = np.eye(4)
    for element in elements:
        pending = pending @ _origin(element)
        if element.get('type') != 'fixed':
            joints.append(_chain_joint(element, pending))
            pending = np.eye(4)
    return Arm(name, base, tip, path, tuple(joints), pending)


def _child(joint: ElementTree.Element) -> str:
    return _attribute(joint, 'child', 'link')


def _attribute(element: ElementTree.Element, child: str, attribute: str, default: str = '') -> str:
    """Return an attribute of a child element."""
    node = element.find(child)
    return default if node is None else node.get(attribute, default)


def _numbers(text: str) -> FloatArray:
    return np.array([float(word) for word in text.split()])


def _chain_joint(element: ElementTree.Element, placement: FloatArray) -> ChainJoint:
    """Return a moving joint, with the narrower limits of its elements ``limit`` and ``safety_controller``."""
    kind = element.get('type', '')
    if kind not in ('revolute', 'continuous', 'prismatic'):
        raise ValueError(f"joint '{element.get('name')}' is {kind}")
    axis = _numbers(_attribute(element, 'axis', 'xyz', '1 0 0'))
    lower, upper = -math.inf, math.inf
    if kind != 'continuous':
        soft = 'safety_controller'
        lower = max(
            float(_attribute(element, 'limit', 'lower', '0')),
            float(_attribute(element, soft, 'soft_lower_limit', '-inf')),
        )
        upper = min(
            float(_attribute(element, 'limit', 'upper', '0')),
            float(_attribute(element, soft, 'soft_upper_limit', 'inf')),
        )
    return ChainJoint(
        name=element.get('name', ''),
        is_revolute=kind != 'prismatic',
        placement=placement,
        axis=axis / np.linalg.norm(axis),
        lower=lower,
        upper=upper,
    )


def _origin(element: ElementTree.Element) -> FloatArray:
    """Return the pose of a joint frame in its parent link."""
    roll, pitch, yaw = _numbers(_attribute(element, 'origin', 'rpy', '0 0 0'))
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    pose = np.eye(4)
    pose[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    pose[:3, 3] = _numbers(_attribute(element, 'origin', 'xyz', '0 0 0'))
    return pose
