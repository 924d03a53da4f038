"""
Write the frame of every joint of a tree in the root frame, for every kind of moving joint of a URDF and ball joints.

Shapes: ``n`` joints, parents before their children. A pose is a matrix (4, 4).
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.geometry import so3, vectors

REVOLUTE, CONTINUOUS, PRISMATIC, PLANAR, FLOATING, SPHERICAL = 0, 1, 2, 3, 4, 5
"""Kinds of joints. Quaternions of the last two are xyzw, of any length but zero."""


@kernel
def write_joint_poses(poses, placements, axes, kinds, parents, starts, positions):
    """
    Write the pose of each joint's frame in the root frame, after the motion of the joint.

    :param poses: (n, 4, 4) out.
    :param placements: (n, 4, 4) pose of each joint at value zero, in the moved frame of its parent joint.
    :param axes: (n, 3) unit axes in the frame of each joint.
    :param kinds: (n,) kinds of joints, such as REVOLUTE.
    :param parents: (n,) index of each joint's parent joint, -1 for the root; parents come before their children.
    :param starts: (n,) index in ``positions`` of each joint's first variable.
    :param positions: (nq,) position variables of all joints [rad or m]; quaternions are x, y, z, w.
    """
    for joint in range(kinds.shape[0]):
        parent, start, pose = parents[joint], starts[joint], poses[joint]
        if parent < 0:
            for i in range(4):
                for j in range(4):
                    pose[i, j] = placements[joint, i, j]
        else:
            _multiply(pose, poses[parent], placements[joint])
        _move(pose, axes[joint], kinds[joint], positions, start)


@kernel
def _multiply(out, a, b):
    """Write the product a b of two rigid transforms (4, 4) into ``out``, which must be a different array."""
    for i in range(3):
        for j in range(4):
            total = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
            out[i, j] = total + a[i, 3] if j == 3 else total
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel
def _move(pose, axis, kind, positions, start):
    """
    Multiply ``pose`` (4, 4) in place from the right by the motion of a joint: its translation, then its rotation.

    A planar joint moves along x and y of its frame and turns about its axis.

    :param axis: (3,) unit axis of the joint, in the joint's frame.
    :param kind: kind of joint, such as REVOLUTE.
    :param positions: position variables of all joints [rad or m].
    :param start: index in ``positions`` of the joint's first variable.
    """
    x, y, z = 0.0, 0.0, 0.0
    if kind == PRISMATIC:
        value = positions[start]
        x, y, z = value * axis[0], value * axis[1], value * axis[2]
    elif kind == PLANAR:
        x, y = positions[start], positions[start + 1]
    elif kind == FLOATING:
        x, y, z = positions[start], positions[start + 1], positions[start + 2]
    for i in range(3):
        pose[i, 3] += pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z
    if kind == PRISMATIC:
        return
    if kind == FLOATING or kind == SPHERICAL:
        _turn_by_quaternion(pose, positions, start + 3 if kind == FLOATING else start)
        return
    sine, cosine = so3.sine_cosine(positions[start + 2] if kind == PLANAR else positions[start])
    direction = vectors.read(axis, 0)
    for i in range(3):
        # r R = (R^T r)^T: each row is rotated by the inverse.
        row = vectors.turn(direction, cosine, -sine, (pose[i, 0], pose[i, 1], pose[i, 2]))
        pose[i, 0], pose[i, 1], pose[i, 2] = row


@kernel
def _turn_by_quaternion(pose, positions, start):
    """
    Multiply the rotation of ``pose`` (4, 4) in place from the right by a quaternion of any length but zero.

    :param positions: array that has the quaternion (x, y, z, w) from index ``start`` on.
    """
    rotation = so3.matrix_of(
        positions[start], positions[start + 1], positions[start + 2], positions[start + 3]
    )
    for i in range(3):
        a, b, c = pose[i, 0], pose[i, 1], pose[i, 2]
        for j in range(3):
            pose[i, j] = a * rotation[j] + b * rotation[3 + j] + c * rotation[6 + j]
