"""Forward kinematics straight from URDF text, sharing nothing with the package: an oracle for tests."""

import xml.etree.ElementTree as ElementTree

import numpy as np


def numbers(text):
    """Return the numbers of an attribute."""
    return np.array([float(word) for word in text.split()])


def origin_pose(joint):
    """Return the pose of a joint frame in its parent link."""
    origin = joint.find('origin')
    pose = np.eye(4)
    if origin is not None:
        roll, pitch, yaw = numbers(origin.get('rpy', '0 0 0'))
        pose[:3, :3] = (
            turn(np.array([0, 0, 1]), yaw)
            @ turn(np.array([0, 1, 0]), pitch)
            @ turn(np.array([1, 0, 0]), roll)
        )
        pose[:3, 3] = numbers(origin.get('xyz', '0 0 0'))
    return pose


def turn(axis, angle):
    """Return Rodrigues' rotation about an axis of any length."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def quaternion_matrix(quaternion):
    """Return the rotation of an xyzw quaternion by its sandwich product with the unit vectors."""
    vector, w = quaternion[:3], quaternion[3]
    columns = [
        e + 2 * w * np.cross(vector, e) + 2 * np.cross(vector, np.cross(vector, e))
        for e in np.eye(3)
    ]
    return np.array(columns).T


def motion(joint, values):
    """Return the pose of a joint's moved frame in its joint frame."""
    kind = joint.get('type')
    pose = np.eye(4)
    element = joint.find('axis')
    axis = np.array([1.0, 0, 0]) if element is None else numbers(element.get('xyz'))
    if kind in ('revolute', 'continuous'):
        pose[:3, :3] = turn(axis, values[0])
    elif kind == 'prismatic':
        pose[:3, 3] = values[0] * axis / np.linalg.norm(axis)
    elif kind == 'planar':
        pose[:3, :3] = turn(np.array([0, 0, 1]), values[2])
        pose[:2, 3] = values[:2]
    elif kind == 'floating':
        pose[:3, :3] = quaternion_matrix(values[3:])
        pose[:3, 3] = values[:3]
    return pose


def value_of(joints, name, values):
    """Return the value of a joint, following mimic rules."""
    mimic = joints[name].find('mimic')
    if mimic is None:
        return values.get(name, ())
    leader = value_of(joints, mimic.get('joint'), values)[0]
    return (float(mimic.get('multiplier', 1)) * leader + float(mimic.get('offset', 0)),)


def link_pose(text, values, link):
    """
    Return the pose of a link in the root frame.

    :param text: URDF text.
    :param values: position variables by joint; followers need none.
    :param link: the link's name.
    """
    joints = {joint.get('name'): joint for joint in ElementTree.fromstring(text).findall('joint')}
    above = {joint.find('child').get('link'): joint for joint in joints.values()}
    pose = np.eye(4)
    while link in above:
        joint = above[link]
        value = value_of(joints, joint.get('name'), values)
        pose = origin_pose(joint) @ motion(joint, value) @ pose
        link = joint.find('parent').get('link')
    return pose
