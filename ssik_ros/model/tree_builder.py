"""The kinematic tree of a checked URDF: pinocchio composes the placements, the URDF says the rest."""

from collections.abc import Mapping
import html
import math
from typing import Any

import numpy as np
import pinocchio as pin

from ssik_ros.errors import ModelError
from ssik_ros.model.joint_limits import Follower
from ssik_ros.model.joint_limits import limited_variables
from ssik_ros.model.joint_limits import Limits
from ssik_ros.model.kinematic_tree import FloatArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.kinematic_tree import KinematicTree
from ssik_ros.model.kinematic_tree import POSITION_SIZE
from ssik_ros.model.urdf import MOVING_TYPES
from ssik_ros.model.urdf import Urdf
from ssik_ros.model.urdf import UrdfJoint

_LINES = str.maketrans({'\n': '&#10;', '\r': '&#13;', '\t': '&#9;'})


def _quoted(text: str) -> str:
    """Return a text as the value of an attribute, as ``xml.sax.saxutils`` does, which needs all of urllib for it."""
    return f'"{html.escape(text).translate(_LINES)}"'


def write_kinematic_urdf(urdf: Urdf) -> str:
    """
    Return the kinematics of a description as a URDF that every parser accepts without remarks.

    :param urdf: a checked description.
    """
    links = ''.join(f'<link name={_quoted(link)}/>' for link in urdf.links)
    joints = ''.join(_write_joint(joint) for joint in urdf.joints.values())
    return f'<robot name={_quoted(urdf.name)}>{links}{joints}</robot>'


def _write_joint(joint: UrdfJoint) -> str:
    """Return a joint element; limits are of no interest there."""
    xyz, rpy, axis = (' '.join(map(repr, v)) for v in (joint.xyz, joint.rpy, joint.axis))
    return (
        f'<joint name={_quoted(joint.name)} type="{joint.type}">'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<parent link={_quoted(joint.parent)}/><child link={_quoted(joint.child)}/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )


def build_pinocchio_model(urdf: Urdf) -> Any:
    """
    Return pinocchio's model of a description; continuous joints are (cos, sin) pairs there.

    :param urdf: a checked description.
    :raises ModelError: when pinocchio refuses it.
    """
    try:
        return pin.buildModelFromXML(write_kinematic_urdf(urdf))
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"pinocchio refuses robot '{urdf.name}': {error}.") from error


def build_tree(
    urdf: Urdf,
    limits: Mapping[str, Limits],
    followers: Mapping[str, Follower],
    pinocchio_model: Any,
) -> KinematicTree:
    """
    Return the kinematic tree of a description.

    :param urdf: a checked description.
    :param limits: effective limits of the scalar joints.
    :param followers: resolved mimic rules.
    :param pinocchio_model: pinocchio's model of the same description.
    """
    joints = [joint for joint in urdf.depth_first() if joint.type in MOVING_TYPES]
    index = {joint.name: i for i, joint in enumerate(joints)}
    kinds = [_kind_of(joint, limits) for joint in joints]
    sizes = [POSITION_SIZE[kind] for kind in kinds]
    of_pinocchio = {pinocchio_model.getJointId(name): i for name, i in index.items()}
    carriers, link_placements = _place_links(urdf, pinocchio_model, of_pinocchio)
    lower, upper, velocity = _stack_limits(joints, limits, sizes)
    identity = Follower('', 1.0, 0.0)
    rules = [followers.get(joint.name, identity) for joint in joints]
    return KinematicTree(
        name=urdf.name,
        root_link=urdf.root,
        joint_names=tuple(index),
        kinds=np.array(kinds, dtype=np.int64),
        parents=_parents(joints, pinocchio_model, of_pinocchio),
        placements=_place_joints(joints, pinocchio_model),
        axes=np.array([joint.axis for joint in joints]).reshape(-1, 3),
        idx_q=np.concatenate([[0], np.cumsum(sizes)])[: len(joints)].astype(np.int64),
        lower=lower,
        upper=upper,
        velocity=velocity,
        leaders=np.array([index.get(rule.leader, -1) for rule in rules], dtype=np.int64),
        multipliers=np.array([rule.multiplier for rule in rules], dtype=np.float64),
        offsets=np.array([rule.offset for rule in rules], dtype=np.float64),
        link_names=urdf.links_depth_first(),
        link_joints=carriers,
        link_placements=link_placements,
    )


def _kind_of(joint: UrdfJoint, limits: Mapping[str, Limits]) -> JointKind:
    """Return the kind; a continuous joint that a file limited is a revolute one from then on."""
    kind = JointKind[joint.type.upper()]
    if kind == JointKind.CONTINUOUS:
        bound = limits[joint.name]
        if math.isfinite(bound.lower) or math.isfinite(bound.upper):
            return JointKind.REVOLUTE
    return kind


def _parents(
    joints: list[UrdfJoint], model: Any, of_pinocchio: Mapping[int, int]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the index of the moving joint above each joint, -1 for none."""
    above = [model.parents[model.getJointId(joint.name)] for joint in joints]
    return np.array([of_pinocchio.get(joint, -1) for joint in above], dtype=np.int64)


def _place_joints(joints: list[UrdfJoint], model: Any) -> FloatArray:
    """Return the pose of each joint frame in the moved frame of its parent."""
    placements = model.jointPlacements
    poses = [placements[model.getJointId(joint.name)].homogeneous for joint in joints]
    return np.array(poses, dtype=np.float64).reshape(-1, 4, 4)


def _place_links(
    urdf: Urdf, model: Any, of_pinocchio: Mapping[int, int]
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], FloatArray]:
    """Return the moving joint that carries each link, and the link's pose in its moved frame."""
    names = urdf.links_depth_first()
    frames = [model.frames[model.getFrameId(name, pin.FrameType.BODY)] for name in names]
    carriers = [of_pinocchio.get(frame.parentJoint, -1) for frame in frames]
    poses = [frame.placement.homogeneous for frame in frames]
    return np.array(carriers, dtype=np.int64), np.array(poses, dtype=np.float64)


def _stack_limits(
    joints: list[UrdfJoint], limits: Mapping[str, Limits], sizes: list[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return lower, upper and velocity limits of all position variables."""
    free = Limits(-math.inf, math.inf, math.inf)
    rows: list[Limits] = []
    for joint, size in zip(joints, sizes, strict=True):
        limited = [limits[variable] for variable in limited_variables(joint)]
        rows += limited + [free] * (size - len(limited))
    table = np.array([(row.lower, row.upper, row.velocity) for row in rows], dtype=np.float64)
    lower, upper, velocity = table.reshape(-1, 3).T.copy()
    return lower, upper, velocity
