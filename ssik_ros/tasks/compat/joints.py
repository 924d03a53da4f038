"""
Functions of the simIK API for joints: type, mode, value, limits, weight, largest step, screw lead and dependency.

The package :mod:`ssik_ros.tasks.compat` lists the errors that every function may raise.
"""
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
    """
    Return the joint of an environment by both handles; raise InvalidOption if the object is not a joint.

    :raises KeyError: if the environment or the object is unknown.
    """
    return environment_of(environment).joint(handle)


def createJoint(
    environmentHandle: int,
    jointType: int | str = JointType.REVOLUTE,
    jointName: str | int = '',
) -> int:
    """
    Add a joint at the world's origin with the default settings of its type, and return its handle.

    Type and name may come in either order, because the original's document and examples differ.

    :param jointType: a ``jointtype_...`` number.
    :param jointName: a name that no object has; if it is empty, a free name is chosen.
    :raises UnknownHandle: for an unknown environment.
    :raises ModelError: if the name is taken.
    :raises InvalidOption: for an unknown type.
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
    """
    Return the mode of a joint: ``jointmode_ik`` if solves may move it, ``jointmode_passive`` if they keep its value.

    :raises KeyError: for an unknown environment or object.
    :raises InvalidOption: if the object is not a joint.
    """
    return int(_joint(environmentHandle, jointHandle).mode)


def setJointMode(environmentHandle: int, jointHandle: int, jointMode: int) -> None:
    """Set whether solves may move a joint: ``jointmode_ik`` allows it, ``jointmode_passive`` keeps the joint at its value."""
    _joint(environmentHandle, jointHandle).mode = jointMode


def getJointPosition(environmentHandle: int, jointHandle: int) -> float:
    """Return the value of a revolute or prismatic joint [rad or m]; raise UnsupportedJoint for a spherical one."""
    return _joint(environmentHandle, jointHandle).position


def setJointPosition(environmentHandle: int, jointHandle: int, position: float) -> None:
    """
    Set the value of a revolute or prismatic joint [rad or m].

    The value of a cyclic joint is wrapped to [-pi, pi], others are clamped into the limits. A cyclic joint is not
    wrapped if its whole turn would turn a joint that follows it by something else than whole turns. The value of a
    joint that follows another joint does not change.

    :raises KeyError: for an unknown handle.
    :raises UnsupportedJoint: for a spherical joint.
    :raises InvalidOption: if the object is not a joint, or the value is not finite.
    """
    _joint(environmentHandle, jointHandle).position = position


def getJointTransformation(
    environmentHandle: int, jointHandle: int
) -> tuple[list[float], list[float], list[float]]:
    """
    Return the motion that a joint makes at its present value: position [m], quaternion x, y, z, w, Euler angles [rad].

    The motion is relative to the joint's frame at the value zero. Each of the three is a list.
    """
    pose = _joint(environmentHandle, jointHandle).intrinsic_transform()
    seven = to_seven(pose).tolist()
    return seven[:3], seven[3:], to_euler(pose).tolist()


def getJointMatrix(environmentHandle: int, jointHandle: int) -> list[float]:
    """
    Return the motion that a joint makes at its present value, as the twelve numbers of a 3x4 matrix, row by row.

    The motion is relative to the joint's frame at the value zero.
    """
    pose = _joint(environmentHandle, jointHandle).intrinsic_transform()
    return [float(number) for number in to_twelve(pose)]


def setSphericalJointMatrix(environmentHandle: int, jointHandle: int, matrix: ArrayLike) -> None:
    """
    Set the rotation of a spherical joint.

    :param matrix: twelve numbers of a 3x4 matrix row by row, or a matrix; the translation is ignored.
    :raises KeyError: for an unknown handle.
    :raises UnsupportedJoint: for another kind of joint.
    :raises InvalidTarget: if the matrix is not a rotation.
    """
    _joint(environmentHandle, jointHandle).rotation = matrix


def setSphericalJointRotation(
    environmentHandle: int, jointHandle: int, eulerOrQuaternion: Sequence[float]
) -> None:
    """
    Set the rotation of a spherical joint: three Euler angles [rad], or a quaternion x, y, z, w.

    :raises DimensionMismatch: for another number of values.
    :raises InvalidTarget: for numbers that are not finite, and for a zero quaternion.
    :raises UnsupportedJoint: for another kind of joint.
    """
    numbers = read_numbers('eulerOrQuaternion', eulerOrQuaternion, (None,))
    if len(numbers) not in (3, 4):
        raise DimensionMismatch(f'3 or 4 numbers are a rotation, not {len(numbers)}.')
    _joint(environmentHandle, jointHandle).rotation = numbers


def getJointInterval(environmentHandle: int, jointHandle: int) -> tuple[bool, list[float]]:
    """
    Return whether a joint turns without limits, and [lower limit, upper minus lower limit] [rad or m].

    For a joint without limits the two numbers are defaults that have no effect.
    """
    joint = _joint(environmentHandle, jointHandle)
    lower, upper = joint.limits
    return joint.cyclic, [lower, upper - lower]


def setJointInterval(
    environmentHandle: int, jointHandle: int, cyclic: bool, interval: Sequence[float] = ()
) -> None:
    """
    Let a joint turn without limits (``cyclic``), or set its limits.

    :param interval: lower limit, and upper minus lower limit [rad or m]; without it the stored limits apply, which are
        the defaults after a joint was cyclic. Not used if ``cyclic`` is true.
    :raises DimensionMismatch: for another number of values.
    :raises InvalidLimits: for a negative width, and for numbers that are not finite.
    :raises UnsupportedJoint: for limits of a spherical joint, and for a cyclic prismatic joint.
    """
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
    """
    Return (master, offset, multiplier) of a joint that follows another joint, or (-1, 0, 1) if it follows none.

    ``master`` is the handle of the other joint. The value is ``multiplier * master's value + offset``, unless a
    callback gives it.
    """
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
    """
    Let a joint follow another joint, the master; -1 ends this.

    The value becomes ``offset + mult * master``, or the returned value of the callback if there is a callback. If this
    closes a cycle, the joint in the cycle that depended on this one becomes independent.

    :param callback: called with the handles of environment and joint and the master's value [rad or m]; a function or
        'module:function'.
    :raises InvalidOption: if the master is this joint, a spherical joint or not a joint. Also for a callback that is
        not a function, and for a number that is not finite, given here or returned by the callback.
    :raises UnsupportedJoint: if this joint is spherical and gets a master.
    """
    function = read_function(callback)
    _joint(environmentHandle, jointHandle).depend_on(
        reference(depJointHandle), mult, offset, function, with_handles=function is not None
    )


def getJointWeight(environmentHandle: int, jointHandle: int) -> float:
    """Return the weight of a joint in solves; joints with larger weights take a larger share of the motion."""
    return _joint(environmentHandle, jointHandle).weight


def setJointWeight(environmentHandle: int, jointHandle: int, weight: float) -> None:
    """
    Set the weight of a joint in solves; joints with larger weights take a larger share of the motion.

    A weight below 1e-5 becomes 1e-5.
    """
    _joint(environmentHandle, jointHandle).weight = weight


def getJointLimitMargin(environmentHandle: int, jointHandle: int) -> float:
    """
    Return the limit margin of a joint [rad or m].

    Task sets that avoid limits push the joint back while it is nearer to a limit than this margin.
    """
    return _joint(environmentHandle, jointHandle).limit_margin


def setJointLimitMargin(environmentHandle: int, jointHandle: int, margin: float) -> None:
    """
    Set the limit margin of a joint [rad or m], which must not be negative.

    Task sets that avoid limits push the joint back while it is nearer to a limit than this margin.
    """
    _joint(environmentHandle, jointHandle).limit_margin = margin


def getJointMaxStepSize(environmentHandle: int, jointHandle: int) -> float:
    """
    Return the largest motion of a joint in one iteration [rad or m].

    Solves of task sets with ``group_ignoremaxsteps``, the default, ignore it.
    """
    return _joint(environmentHandle, jointHandle).max_step


def setJointMaxStepSize(environmentHandle: int, jointHandle: int, stepSize: float) -> None:
    """
    Set the largest motion of a joint in one iteration [rad or m]; raise InvalidOption if it is not positive.

    Solves of task sets with ``group_ignoremaxsteps``, the default, ignore it.
    """
    _joint(environmentHandle, jointHandle).max_step = stepSize


def getJointScrewLead(environmentHandle: int, jointHandle: int) -> float:
    """Return the translation per turn of a revolute joint [m]; 0 for a hinge."""
    return _joint(environmentHandle, jointHandle).screw_lead


def setJointScrewLead(environmentHandle: int, jointHandle: int, lead: float) -> None:
    """
    Set the translation per turn of a revolute joint [m]; 0 makes it a hinge, another value a screw with limits.

    A cyclic joint that becomes a screw gets its stored limits, and its value is clamped into them. A screw that becomes
    a hinge keeps its limits.

    Raise UnsupportedJoint for a lead on another kind of joint.
    """
    _joint(environmentHandle, jointHandle).screw_lead = lead
