"""Joints, by the names of ported scripts."""
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from ssik_ros.arguments import read_count, read_flag, read_numbers
from ssik_ros.errors import DimensionMismatch
from ssik_ros.tasks.compat.registry import environment_of, handle_of, read_function, reference
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.pose_formats import to_euler, to_seven, to_twelve


def _joint(environment: int, handle: int) -> IkJoint:
    """Return a joint by its handle."""
    return environment_of(environment).joint(handle)


def createJoint(
    environmentHandle: int,
    jointType: int | str = JointType.REVOLUTE,
    jointName: str | int = '',
) -> int:
    """
    Return the handle of a new joint; an empty name means a free one.

    Type and name may come in either order, because the original's document and examples differ.
    """
    if isinstance(jointType, str):
        has_type = not isinstance(jointName, str) or jointName
        jointType, jointName = jointName if has_type else JointType.REVOLUTE, jointType
    name = jointName if isinstance(jointName, str) else str(read_count('jointName', jointName))
    return environment_of(environmentHandle).add_joint(jointType, name or None).handle


def getJointType(environmentHandle: int, jointHandle: int) -> int:
    """Return ``jointtype_revolute``, ``jointtype_prismatic`` or ``jointtype_spherical``."""
    return int(_joint(environmentHandle, jointHandle).kind)


def getJointMode(environmentHandle: int, jointHandle: int) -> int:
    """Return ``jointmode_passive`` or ``jointmode_ik``."""
    return int(_joint(environmentHandle, jointHandle).mode)


def setJointMode(environmentHandle: int, jointHandle: int, jointMode: int) -> None:
    """Freeze a joint, or free it."""
    _joint(environmentHandle, jointHandle).mode = jointMode


def getJointPosition(environmentHandle: int, jointHandle: int) -> float:
    """Return the value of a joint that is not spherical."""
    return _joint(environmentHandle, jointHandle).position


def setJointPosition(environmentHandle: int, jointHandle: int, position: float) -> None:
    """Write the value of a joint that is not spherical."""
    _joint(environmentHandle, jointHandle).position = position


def getJointTransformation(
    environmentHandle: int, jointHandle: int
) -> tuple[list[float], list[float], list[float]]:
    """Return position, quaternion and Euler angles of a joint's own motion."""
    pose = _joint(environmentHandle, jointHandle).intrinsic_transform()
    seven = to_seven(pose).tolist()
    return seven[:3], seven[3:], to_euler(pose).tolist()


def getJointMatrix(environmentHandle: int, jointHandle: int) -> list[float]:
    """Return the twelve numbers of the 3x4 matrix of a joint's own motion."""
    pose = _joint(environmentHandle, jointHandle).intrinsic_transform()
    return [float(number) for number in to_twelve(pose)]


def setSphericalJointMatrix(environmentHandle: int, jointHandle: int, matrix: ArrayLike) -> None:
    """Turn a spherical joint: twelve numbers of a 3x4 matrix, whose translation is ignored."""
    _joint(environmentHandle, jointHandle).rotation = matrix


def setSphericalJointRotation(
    environmentHandle: int, jointHandle: int, eulerOrQuaternion: Sequence[float]
) -> None:
    """Set the rotation of a spherical joint: three Euler angles [rad], or a quaternion x, y, z, w."""
    numbers = read_numbers('eulerOrQuaternion', eulerOrQuaternion, (None,))
    if len(numbers) not in (3, 4):
        raise DimensionMismatch(f'3 or 4 numbers are a rotation, not {len(numbers)}.')
    _joint(environmentHandle, jointHandle).rotation = numbers


def getJointInterval(environmentHandle: int, jointHandle: int) -> tuple[bool, list[float]]:
    """Return whether a joint is cyclic, and lower limit and range."""
    joint = _joint(environmentHandle, jointHandle)
    lower, upper = joint.limits
    return joint.cyclic, [lower, upper - lower]


def setJointInterval(
    environmentHandle: int, jointHandle: int, cyclic: bool, interval: Sequence[float] = ()
) -> None:
    """Make a joint cyclic, or give it lower limit and range; without an interval it keeps its own."""
    joint = _joint(environmentHandle, jointHandle)
    if read_flag('cyclic', cyclic):
        joint.cyclic = True
        return
    numbers = read_numbers('interval', interval, (None,)).tolist()
    if len(numbers) not in (0, 2):
        raise DimensionMismatch(
            f'An interval is lower limit and range, not {len(numbers)} numbers.'
        )
    if numbers:
        joint.limits = numbers[0], sum(numbers)
    else:
        joint.cyclic = False


def getJointDependency(environmentHandle: int, jointHandle: int) -> tuple[int, float, float]:
    """Return the joint that a joint depends on (-1 for none), offset and multiplier."""
    rule = _joint(environmentHandle, jointHandle).dependency
    if rule is None:
        return -1, 0.0, 1.0
    return handle_of(rule.master), rule.offset, rule.multiplier


def setJointDependency(
    environmentHandle: int,
    jointHandle: int,
    depJointHandle: int,
    offset: float = 0,
    mult: float = 1,
    callback: Callable[[int, int, float], float] | str | None = None,
) -> None:
    """Let a joint follow another one (-1: none), linearly or by callback(environment, joint, master's position)."""
    function = read_function(callback)
    _joint(environmentHandle, jointHandle).depend_on(
        reference(depJointHandle), mult, offset, function, with_handles=function is not None
    )


def getJointWeight(environmentHandle: int, jointHandle: int) -> float:
    """Return how readily a joint moves."""
    return _joint(environmentHandle, jointHandle).weight


def setJointWeight(environmentHandle: int, jointHandle: int, weight: float) -> None:
    """Write how readily a joint moves."""
    _joint(environmentHandle, jointHandle).weight = weight


def getJointLimitMargin(environmentHandle: int, jointHandle: int) -> float:
    """Return the distance to a limit within which a joint is pushed back."""
    return _joint(environmentHandle, jointHandle).limit_margin


def setJointLimitMargin(environmentHandle: int, jointHandle: int, margin: float) -> None:
    """Write the distance to a limit within which a joint is pushed back."""
    _joint(environmentHandle, jointHandle).limit_margin = margin


def getJointMaxStepSize(environmentHandle: int, jointHandle: int) -> float:
    """Return the largest motion of a joint in one iteration."""
    return _joint(environmentHandle, jointHandle).max_step


def setJointMaxStepSize(environmentHandle: int, jointHandle: int, stepSize: float) -> None:
    """Write the largest motion of a joint in one iteration."""
    _joint(environmentHandle, jointHandle).max_step = stepSize


def getJointScrewLead(environmentHandle: int, jointHandle: int) -> float:
    """Return the translation per turn of a revolute joint."""
    return _joint(environmentHandle, jointHandle).screw_lead


def setJointScrewLead(environmentHandle: int, jointHandle: int, lead: float) -> None:
    """Make a revolute joint a screw, 0 for a hinge."""
    _joint(environmentHandle, jointHandle).screw_lead = lead
