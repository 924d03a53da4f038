"""Kinematic trees made from few words, and a plain numpy walk through them."""

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE

QUATERNION_START = {JointKind.SPHERICAL: 0, JointKind.FLOATING: 3}
DRIVEN = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)


@dataclass
class Joint:
    """One moving joint; it carries a link of its own name with the prefix ``link_``."""

    name: str
    kind: JointKind = JointKind.REVOLUTE
    parent: str | None = None
    """Name of the joint above; None for the root link ``base``."""
    placement: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: tuple = (0.0, 0.0, 1.0)
    lower: float = -np.inf
    upper: float = np.inf
    leader: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0
    link_placement: np.ndarray = field(default_factory=lambda: np.eye(4))


def pose(xyz=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)):
    """Return a 4x4 transform."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    matrix[:3, 3] = xyz
    return matrix


def random_pose(rng, reach=1.0):
    """Return a 4x4 transform of any rotation."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.random(None, rng).as_matrix()
    matrix[:3, 3] = rng.uniform(-reach, reach, 3)
    return matrix


def make_tree(*joints, base_placement=None):
    """Return the tree of some joints, parents first, with the links ``base`` and ``link_<joint>``."""
    index = {joint.name: i for i, joint in enumerate(joints)}
    sizes = [POSITION_SIZE[joint.kind] for joint in joints]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    axes = np.array([joint.axis for joint in joints], dtype=float).reshape(-1, 3)
    limits = [np.repeat([getattr(j, side) for j in joints], sizes) for side in ('lower', 'upper')]
    for joint, start in zip(joints, starts, strict=False):
        if joint.kind in QUATERNION_START:
            first = start + QUATERNION_START[joint.kind]
            limits[0][first : first + 4], limits[1][first : first + 4] = -1.0, 1.0
    base = np.eye(4) if base_placement is None else base_placement
    return KinematicTree(
        name='made',
        root_link='base',
        joint_names=tuple(index),
        kinds=np.array([int(joint.kind) for joint in joints], dtype=np.int64),
        parents=np.array([index.get(j.parent, -1) for j in joints], dtype=np.int64),
        placements=np.array([joint.placement for joint in joints], dtype=float).reshape(-1, 4, 4),
        axes=axes / np.linalg.norm(axes, axis=1, keepdims=True),
        idx_q=starts[:-1],
        lower=limits[0].astype(float),
        upper=limits[1].astype(float),
        velocity=np.full(starts[-1], np.inf),
        leaders=np.array([index.get(j.leader, -1) for j in joints], dtype=np.int64),
        multipliers=np.array([joint.multiplier for joint in joints], dtype=float),
        offsets=np.array([joint.offset for joint in joints], dtype=float),
        link_names=('base', *(f'link_{joint.name}' for joint in joints)),
        link_joints=np.arange(-1, len(joints)),
        link_placements=np.array([base, *(joint.link_placement for joint in joints)]),
    )


def random_tree(rng, count=8, kinds=tuple(JointKind), mimic=0.3):
    """Return a random tree of ``count`` joints; about ``mimic`` of the scalar ones follow another."""
    joints = []
    for i in range(count):
        kind = JointKind(int(rng.choice(kinds)))
        leaders = [j.name for j in joints if j.kind in DRIVEN and j.leader is None]
        follows = kind in DRIVEN and leaders and rng.random() < mimic
        joint = Joint(
            name=f'j{i}',
            kind=kind,
            parent=None if not joints or rng.random() < 0.2 else str(rng.choice(joints).name),
            placement=random_pose(rng),
            axis=(0.0, 0.0, 1.0) if kind == JointKind.PLANAR else tuple(rng.normal(size=3)),
            link_placement=random_pose(rng),
        )
        if follows:
            joint.leader = str(rng.choice(leaders))
            joint.multiplier = float(rng.choice([-1.0, 0.5, 2.0, -0.3]))
            joint.offset = float(rng.uniform(-1.0, 1.0))
        joints.append(joint)
    return make_tree(*joints, base_placement=random_pose(rng))


def random_state(tree, rng, reach=3.0):
    """Return a random full state with unit quaternions and followers in their places."""
    q = rng.uniform(-reach, reach, tree.nq)
    for start, kind in zip(tree.idx_q, tree.kinds, strict=True):
        if JointKind(kind) in QUATERNION_START:
            first = start + QUATERNION_START[JointKind(kind)]
            q[first : first + 4] = Rotation.random(None, rng).as_quat()
    for joint, leader in enumerate(tree.leaders):
        if leader >= 0:
            value = q[tree.idx_q[leader]]
            q[tree.idx_q[joint]] = tree.multipliers[joint] * value + tree.offsets[joint]
    return q


def joint_motion(kind, axis, values):
    """Return the transform that a joint makes."""
    if kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        return pose(rotation_vector=axis * values[0])
    if kind == JointKind.PRISMATIC:
        return pose(xyz=axis * values[0])
    if kind == JointKind.PLANAR:
        return pose((values[0], values[1], 0.0), (0.0, 0.0, values[2]))
    motion = np.eye(4)
    motion[:3, :3] = Rotation.from_quat(values[-4:]).as_matrix()
    if kind == JointKind.FLOATING:
        motion[:3, 3] = values[:3]
    return motion


def walk(tree, q):
    """Return the pose of every link in the root link's frame of reference, by name."""
    moved = []
    for joint, code in enumerate(tree.kinds):
        kind = JointKind(code)
        start = tree.idx_q[joint]
        values = q[start : start + POSITION_SIZE[kind]]
        local_pose = tree.placements[joint] @ joint_motion(kind, tree.axes[joint], values)
        parent = tree.parents[joint]
        moved.append(local_pose if parent < 0 else moved[parent] @ local_pose)
    placed = zip(tree.link_names, tree.link_joints, tree.link_placements, strict=True)
    return {
        name: np.array(placement) if joint < 0 else moved[joint] @ placement
        for name, joint, placement in placed
    }
