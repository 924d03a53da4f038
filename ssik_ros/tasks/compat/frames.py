"""
Functions of the simIK API for objects and dummies (plain frames): create, find, erase, and read or set poses.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Sequence
import sys

from numpy.typing import ArrayLike

from ssik_ros.arguments import check_kind, read_count, read_numbers
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.tasks.compat.registry import environment_of, handle_of, object_of, reference
from ssik_ros.tasks.constants import WORLD
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.pose_formats import read_rotation, to_euler, to_seven, to_twelve


def createDummy(environmentHandle: int, dummyName: str = '') -> int:
    """
    Add a dummy, a plain frame at the world's origin, and return its handle.

    :param dummyName: a name that no object has; if it is empty, a free name is chosen.
    :raises UnknownHandle: for an unknown environment.
    :raises ModelError: if the name is taken.
    """
    name = check_kind('dummyName', dummyName, str) or None
    return environment_of(environmentHandle).add_dummy(name).handle


def getObjects(environmentHandle: int, index: int) -> tuple[int, str, bool, int] | None:
    """
    Return (handle, name, whether it is a joint, joint type) of the object number ``index``, counted from 0.

    The joint type is a ``jointtype_...`` number, and 0 for a dummy. None if the environment has no object of this
    number.
    """
    items = environment_of(environmentHandle).slots
    if read_count('index', index, -sys.maxsize) < 0 or index >= len(items):
        return None
    item = items[index]
    kind = int(item.kind) if isinstance(item, IkJoint) else 0
    return item.handle, item.name, isinstance(item, IkJoint), kind


def getObjectHandle(environmentHandle: int, objectName: str) -> int:
    """Return the handle of an object by its name; raise FrameNotFound for an unknown name."""
    check_kind('objectName', objectName, str, 'a text')
    return environment_of(environmentHandle)[objectName].handle


def doesObjectExist(environmentHandle: int, objectName: str) -> bool:
    """Return whether an object of this name exists."""
    return objectName in environment_of(environmentHandle)


def eraseObject(environmentHandle: int, objectHandle: int) -> None:
    """
    Remove an object from an environment, with the tasks that have it as tip, base or constraint base.

    Task sets that have no task left are removed, too. The children of the object move to its parent and keep their
    poses in the world. Tips that have the object as target lose their target. Joints that depend on it become
    independent.

    :raises KeyError: for an unknown handle.
    """
    object_of(environmentHandle, objectHandle).erase()


def getObjectParent(environmentHandle: int, objectHandle: int) -> int:
    """Return the handle of the object that carries an object; -1 if the world carries it."""
    return handle_of(object_of(environmentHandle, objectHandle).parent)


def setObjectParent(
    environmentHandle: int, objectHandle: int, parentObjectHandle: int, keepInPlace: bool = True
) -> None:
    """
    Give an object another parent; -1 for the world.

    :param keepInPlace: keep the pose of the object in the world; False keeps its pose relative to the parent.
    :raises InvalidOption: if the object carries the new parent.
    """
    item = object_of(environmentHandle, objectHandle)
    item.set_parent(reference(parentObjectHandle), keepInPlace)


def getObjectType(environmentHandle: int, objectHandle: int) -> int:
    """Return ``objecttype_joint`` or ``objecttype_dummy``."""
    return int(object_of(environmentHandle, objectHandle).object_type)


def getObjectPose(
    environmentHandle: int, objectHandle: int, relativeToObjectHandle: int = WORLD
) -> list[float]:
    """
    Return the pose of an object as [x, y, z [m], qx, qy, qz, qw], relative to another object or to the world (-1).

    The pose of a joint is its frame at the value zero.
    """
    item = object_of(environmentHandle, objectHandle)
    return [float(number) for number in item.pose(relativeToObjectHandle)]


def setObjectPose(
    environmentHandle: int,
    objectHandle: int,
    pose: Sequence[float],
    relativeToObjectHandle: int = WORLD,
) -> None:
    """
    Set the pose of an object: x, y, z [m], qx, qy, qz, qw, relative to another object or to the world (-1).

    :raises InvalidTarget: for numbers that are not finite, and for a zero quaternion.
    """
    object_of(environmentHandle, objectHandle).set_pose(pose, relativeToObjectHandle)


def getObjectTransformation(
    environmentHandle: int, objectHandle: int, relativeToObjectHandle: int = WORLD
) -> tuple[list[float], list[float], list[float]]:
    """
    Return position [m], quaternion [x, y, z, w] and Euler angles [rad] of an object, each as a list.

    They are relative to another object or to the world (-1). For a joint they describe its frame at the value zero.
    """
    pose = object_of(environmentHandle, objectHandle).transform(relativeToObjectHandle)
    seven = to_seven(pose).tolist()
    return seven[:3], seven[3:], to_euler(pose).tolist()


def setObjectTransformation(
    environmentHandle: int,
    objectHandle: int,
    position: Sequence[float],
    eulerOrQuaternion: Sequence[float],
    relativeToObjectHandle: int = WORLD,
) -> None:
    """
    Set the pose of an object relative to another object or to the world (-1).

    :param position: x, y, z [m].
    :param eulerOrQuaternion: three Euler angles [rad] or a quaternion x, y, z, w.
    :raises InvalidTarget: for numbers that are not finite, and for a zero quaternion.
    """
    turn = read_rotation(eulerOrQuaternion)
    pose = [*read_numbers('position', position, (3,)), *turn]
    object_of(environmentHandle, objectHandle).set_pose(pose, relativeToObjectHandle)


def getObjectMatrix(
    environmentHandle: int, objectHandle: int, relativeToObjectHandle: int = WORLD
) -> list[float]:
    """
    Return the pose of an object as the twelve numbers of a 3x4 matrix, row by row.

    The pose is relative to another object or to the world (-1). The pose of a joint is its frame at the value zero.
    """
    item = object_of(environmentHandle, objectHandle)
    return [float(number) for number in to_twelve(item.transform(relativeToObjectHandle))]


def setObjectMatrix(
    environmentHandle: int,
    objectHandle: int,
    matrix: ArrayLike,
    relativeToObjectHandle: int = WORLD,
) -> None:
    """
    Set the pose of an object relative to another object or to the world (-1).

    :param matrix: the twelve numbers of a 3x4 matrix row by row, or a 3x4 or 4x4 matrix.
    :raises InvalidTarget: if the matrix is not a finite rigid transform.
    """
    object_of(environmentHandle, objectHandle).set_pose(matrix, relativeToObjectHandle)


def getTargetDummy(environmentHandle: int, tipDummyHandle: int) -> int:
    """Return the handle of the dummy that a tip is to meet; -1 for a tip without a target."""
    return handle_of(environment_of(environmentHandle).dummy(tipDummyHandle).target)


def setTargetDummy(environmentHandle: int, tipDummyHandle: int, targetDummyHandle: int) -> None:
    """
    Give a tip its target, or remove the target with -1.

    :raises KeyError: for an unknown handle.
    :raises InvalidOption: if the tip has another target already, if one of both is a joint, or if they are the same
        dummy.
    """
    tip = environment_of(environmentHandle).dummy(tipDummyHandle)
    new = reference(targetDummyHandle)
    if tip.target is not None and new is not None and tip.target.handle != new:
        raise InvalidOption(
            f'Tip {quote(tip.name)} has the target {quote(tip.target.name)}; remove it with -1 first.'
        )
    tip.target = new
