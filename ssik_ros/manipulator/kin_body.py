"""
An arm in product-of-exponentials form: joint axes as lines, and the end-effector pose with all joints at zero.

T_base_ee(q) = E_1(q_1) ... E_n(q_n) home, where E_i rotates about, or slides along, the axis of joint i. Link frames
are not kept.
"""

from collections.abc import Iterable, Sequence
import math

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_kind, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    counted,
    describe_choices,
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    ModelError,
)
from ssik_ros.kernels.geometry.rotations import rotate_about, rpy_of_matrix
from ssik_ros.model.catalogue import CatalogueArm, CatalogueJoint, make_urdf, Vector
from ssik_ros.model.forward_kinematics import motion_about
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import dataclass

Limits = tuple[float, float] | None

NO_DIRECTION = 1e-9
"""Length of an axis below which it has no direction."""
JOINT_TYPES = ('revolute', 'continuous', 'prismatic')
"""Types that a joint of an arm may have."""


@dataclass(frozen=True, eq=False, slots=True)
class KinBodyJoint:
    """One joint of an arm: its name, type and limits, and its axis as a line in the base frame."""

    name: str
    type: str
    """``revolute``, ``continuous`` or ``prismatic``."""
    axis: FloatArray
    """(3,) unit direction in the base frame, all joints at zero."""
    point: FloatArray
    """(3,) a point of the axis in the base frame, all joints at zero [m]."""
    limits: Limits
    """(lower, upper), one of them maybe infinite; None for a joint without limits [rad or m]."""

    def motion(self, value: float) -> FloatArray:
        """
        Return the rigid transform E (4, 4) in the base frame by which a joint value moves all later links from zero.

        :param value: angle or displacement of the joint [rad or m].
        """
        return motion_about(JointKind[self.type.upper()], self.axis, self.point, value)


@dataclass(frozen=True, eq=False, slots=True)
class KinBody:
    """An arm as its joint axes, from base to end effector, and the pose of the end effector with all joints at zero."""

    joints: tuple[KinBodyJoint, ...]
    home: FloatArray
    """(4, 4) pose of the end effector in the base, all joints at zero."""
    base_link: str = 'base'
    ee_link: str = 'ee'
    name: str = 'arm'

    def __post_init__(self) -> None:
        """
        Check the types of ``joints`` and ``home``, and make their arrays read-only.

        :raises ModelError: without joints, and for ``joints`` that are neither a tuple nor a list.
        :raises TypeError: for a joint or ``home`` of a wrong type.
        """
        if not isinstance(self.joints, tuple | list) or not self.joints:
            raise ModelError('An arm needs a tuple of joints.')
        check_kind('home', self.home, np.ndarray, 'an array (4, 4)')
        for joint in self.joints:
            check_kind('joints', joint, KinBodyJoint)
            joint.axis.setflags(write=False)
            joint.point.setflags(write=False)
        self.home.setflags(write=False)

    @property
    def dof(self) -> int:
        """Return the number of joints."""
        return len(self.joints)

    @property
    def axes(self) -> FloatArray:
        """Return the unit directions (n, 3) of the axes in the base frame."""
        return np.array([joint.axis for joint in self.joints])

    @property
    def points(self) -> FloatArray:
        """Return a point (n, 3) of each axis in the base frame [m]."""
        return np.array([joint.point for joint in self.joints])

    def fk(self, q: ArrayLike) -> FloatArray:
        """
        Return the pose (4, 4) of the end effector in the base.

        :param q: (n,) joint vector [rad or m].
        :raises ValueError: for another shape, and values that are not finite.
        """
        values = _numbers(q, 'q', (self.dof,))
        pose = np.eye(4)
        # Not by SerialChain.pose, which loses two digits and takes at most 63 joints.
        for joint, value in zip(self.joints, values, strict=True):
            pose = pose @ joint.motion(value)
        return pose @ self.home

    @classmethod
    def from_chain(cls, chain: SerialChain) -> 'KinBody':
        """
        Return the arm of a chain.

        :param chain: a chain of one-degree joints.
        :raises InvalidOption: for anything else.
        """
        check_kind('chain', chain, SerialChain)
        joints = [
            KinBodyJoint(
                name, JointKind(kind).name.lower(), axis.copy(), point.copy(), limits_of(lo, hi)
            )
            for name, kind, axis, point, lo, hi in zip(
                chain.joint_names,
                chain.kinds,
                chain.axes,
                chain.points,
                chain.lower,
                chain.upper,
                strict=True,
            )
        ]
        return cls(tuple(joints), chain.home.copy(), chain.base_link, chain.tip_link)

    @classmethod
    def from_axes(
        cls,
        H: ArrayLike,
        P: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
    ) -> 'KinBody':
        """
        Return the arm with given axes h and offsets p, whose tip is at T = p_0 J_1(q_1) p_1 ... J_n(q_n) p_n.

        J_i is the rotation R(h_i, q_i) of a revolute joint, or the shift by q_i h_i of a prismatic one.

        :param H: (n, 3) directions in the base frame, of any length.
        :param P: (n + 1, 3) offsets in the base frame at zero: base to axis 1, axis i to axis i + 1, axis n to the
            end effector [m].
        :param limits: (n, 2), or for each joint a pair or None; None means no limits [rad or m].
        :param joint_types: (n,) each ``revolute``, ``continuous`` (which has no limits) or ``prismatic``; None means
            revolute ones.
        :raises ValueError: for wrong shapes, numbers that are not finite, lengths above 1e12 m, axes without direction,
            unknown types and invalid limits.
        """
        axes = _numbers(H, 'H', (None, 3))
        offsets = _lengths(P, 'P', (len(axes) + 1, 3))
        corners = np.cumsum(offsets, axis=0)
        home = np.eye(4)
        home[:3, 3] = corners[-1]
        return cls(_joints(axes, corners[:-1], limits, joint_types), home)

    @classmethod
    def from_transforms(
        cls,
        T: ArrayLike,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
    ) -> 'KinBody':
        """
        Return the arm with joints between given frames: T_0 J_1(q_1) T_1 ... J_n(q_n) T_n.

        J_i is the rotation about ``axis`` of a revolute joint, or the shift along it of a prismatic one.

        :param T: (n + 1, 4, 4) frame of joint 1 in the base, of joint i + 1 in joint i, of the end effector in joint n.
        :param axis: (3,) direction of every joint in its own frame, or (n, 3) of each.
        :param limits: (n, 2), or for each joint a pair or None; None means no limits [rad or m].
        :param joint_types: (n,) each ``revolute``, ``continuous`` or ``prismatic``; None means revolute ones.
        :raises ValueError: as :meth:`from_axes`, and for matrices that are not rigid transforms.
        """
        frames = _lengths(T, 'T', (None, 4, 4))
        if len(frames) < 2:
            raise DimensionMismatch(
                f'T needs a matrix for each joint and one for the end effector, not {len(frames)}.'
            )
        for number, frame in enumerate(frames):
            _check_rigid(frame, number)
        n = len(frames) - 1
        numbers = read_numbers('axis', axis)
        directions = (
            _numbers(axis, 'axis', (n, 3))
            if numbers.ndim == 2
            else np.tile(_numbers(axis, 'axis', (3,)), (n, 1))
        )
        pose = np.eye(4)
        axes, points = np.empty((n, 3)), np.empty((n, 3))
        for i, frame in enumerate(frames[:-1]):
            pose = pose @ frame
            axes[i], points[i] = pose[:3, :3] @ directions[i], pose[:3, 3]
        return cls(_joints(axes, points, limits, joint_types), pose @ frames[-1])

    @classmethod
    def from_dh(
        cls,
        alpha: ArrayLike,
        a: ArrayLike,
        d: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        sigma: ArrayLike | None = None,
        theta: ArrayLike | None = None,
    ) -> 'KinBody':
        """
        Return the arm with distal Denavit-Hartenberg parameters: Rz Tz Tx(a) Rx(alpha) for each joint.

        A revolute joint is Rz(theta + q) Tz(d), a prismatic one Rz(theta) Tz(d + q).

        :param alpha: (n,) twists [rad].
        :param a: (n,) lengths of common normals [m].
        :param d: (n,) offsets along the joint axes, of prismatic joints at zero [m].
        :param limits: (n, 2), or for each joint a pair or None; None means no limits [rad or m].
        :param sigma: (n,) 0 for a revolute joint, 1 for a prismatic one; None means revolute ones.
        :param theta: (n,) angles about the joint axes, of revolute joints at zero [rad]; None means zeros.
        :raises ValueError: for lists of different length, numbers that are not finite, and lengths above 1e12 m. Also
            for a sigma that is neither 0 nor 1, and for invalid limits.
        """
        twists = _numbers(alpha, 'alpha', (None,))
        lengths = _lengths(a, 'a', twists.shape)
        offsets = _lengths(d, 'd', twists.shape)
        angles = np.zeros(len(twists)) if theta is None else _numbers(theta, 'theta', twists.shape)
        frames = [np.eye(4)]
        for angle, twist, length, offset in zip(angles, twists, lengths, offsets, strict=True):
            rotation, frame = np.eye(4), np.eye(4)
            rotation[:3, :3] = rotate_about(np.array([0.0, 0.0, 1.0]), float(angle))
            frame[:3, :3] = rotate_about(np.array([1.0, 0.0, 0.0]), float(twist))
            frame[:3, 3] = length, 0.0, offset
            frames.append(rotation @ frame)
        types = None if sigma is None else _types_of_sigma(_numbers(sigma, 'sigma', twists.shape))
        return cls.from_transforms(np.array(frames), limits=limits, joint_types=types)

    def to_urdf(self) -> str:
        """
        Return the text of a URDF with the same joints; its links have no shapes and no inertia.

        A revolute joint without limits becomes a continuous joint.
        """
        corners = [np.zeros(3), *(joint.point for joint in self.joints)]
        flange = self.home[:3, 3] - corners[-1]
        arm = CatalogueArm(
            *(self.name, '', '', '', self.base_link, self.ee_link, '', None),
            joints=tuple(map(_catalogue_joint, self.joints, corners)),
            flange_xyz=_vector(flange),
            flange_rpy=rpy_of_matrix(self.home[:3, :3]),
        )
        return make_urdf(arm)


def _catalogue_joint(joint: KinBodyJoint, corner: FloatArray) -> CatalogueJoint:
    """
    Return a joint in the form that :func:`make_urdf` takes.

    :param corner: (3,) point of the previous joint in the base frame, zeros for the first joint [m].
    """
    endless = joint.limits is None and joint.type == 'revolute'
    lower, upper = joint.limits or (-math.inf, math.inf)
    kind, place = 'continuous' if endless else joint.type, _vector(joint.point - corner)
    axis = _vector(joint.axis)
    return CatalogueJoint(joint.name, kind, place, (0.0, 0.0, 0.0), axis, lower, upper)


def _vector(values: FloatArray) -> Vector:
    x, y, z = values.tolist()
    return x, y, z


def limits_of(lower: float, upper: float) -> Limits:
    """
    Return the limits of a joint as a pair; None if neither is finite.

    :param lower, upper: limits, which may be infinite [rad or m].
    """
    return (float(lower), float(upper)) if np.isfinite([lower, upper]).any() else None


def _numbers(values: ArrayLike, name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """
    Return finite numbers as an array of ``shape`` (None: any size but zero); errors call it ``name``.

    Raise DimensionMismatch for another shape, and ModelError for a number that is not finite.
    """
    array = read_numbers(name, values, shape)
    if not array.size:
        raise DimensionMismatch(
            f'{name} must have at least one row, not the shape {array.shape}.',
            expected=shape,
            actual=array.shape,
        )
    if not np.isfinite(array).all():
        raise ModelError(f'{name} has values that are not finite: {array.tolist()}.', name=name)
    return array


def _lengths(values: ArrayLike, name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """
    Return lengths as an array of ``shape`` [m]; raise ModelError for a length above 1e12 m or not finite.

    Raise DimensionMismatch for another shape. Errors call the lengths ``name``.
    """
    array, longest = _numbers(values, name, shape), DEFAULT_TOLERANCES.largest_length
    if (np.abs(array) > longest).any():
        raise ModelError(
            f'{name} has values beyond {longest:g}: {array.tolist()}. Lengths are in metres.',
            name=name,
        )
    return array


def _check_rigid(frame: FloatArray, number: int) -> None:
    rotation = frame[:3, :3]
    off = np.abs(rotation.T @ rotation - np.eye(3)).max()
    last = np.abs(frame[3] - (0.0, 0.0, 0.0, 1.0)).max()
    if max(off, last) > DEFAULT_TOLERANCES.rigid or np.linalg.det(rotation) <= 0.0:
        raise ModelError(f'Matrix {number} of T is no rigid transform: {frame.tolist()}.')


def _joints(
    axes: FloatArray,
    points: FloatArray,
    limits: Sequence[Limits] | ArrayLike | None,
    joint_types: Sequence[str] | None,
) -> tuple[KinBodyJoint, ...]:
    """
    Return the joints, named ``joint1``, ``joint2`` and so on; raise ModelError for an axis of length zero.

    Errors of :func:`_pairs` for limits and of :func:`_types` for types pass through.

    :param axes: (n, 3) directions of any length.
    :param points: (n, 3) a point on each axis [m].
    :param limits: (n, 2), or for each joint a pair or None; None means no limits [rad or m].
    :param joint_types: (n,) types; None means revolute ones.
    """
    lengths = np.linalg.norm(axes, axis=1)
    if (lengths < NO_DIRECTION).any():
        joint = int(np.argmin(lengths))
        raise ModelError(
            f'The axis of joint {joint + 1} in H is degenerate: {axes[joint].tolist()} has no direction.',
            joint=joint,
        )
    pairs = _pairs(limits, len(axes))
    types = _types(joint_types, pairs)
    return tuple(
        KinBodyJoint(f'joint{i + 1}', kind, axis / length, point.copy(), pair)
        for i, (kind, axis, length, point, pair) in enumerate(
            zip(types, axes, lengths, points, pairs, strict=True)
        )
    )


def _types(joint_types: Sequence[str] | None, pairs: list[Limits]) -> list[str]:
    """
    Return the type of each joint; without ``joint_types``, all are ``revolute``.

    Raise InvalidOption for an unknown type, InvalidLimits for limits of a continuous joint, and DimensionMismatch for
    another number of types.

    :param pairs: limits of each joint.
    """
    if joint_types is None:
        return ['revolute'] * len(pairs)
    types = list(joint_types) if isinstance(joint_types, Iterable) else []
    if isinstance(joint_types, str) or len(types) != len(pairs):
        raise DimensionMismatch(
            f'joint_types must name the type of each of {counted(len(pairs), "joint")}, not {shown(joint_types)}.',
            expected=len(pairs),
        )
    for i, (kind, pair) in enumerate(zip(types, pairs, strict=True)):
        if kind not in JOINT_TYPES:
            raise InvalidOption(
                f'Joint {i + 1} cannot be {shown(kind)} by joint_types: {describe_choices(shown(kind), JOINT_TYPES)}',
                name='joint_types',
            )
        if kind == 'continuous' and pair is not None:
            raise InvalidLimits(
                f'Joint {i + 1} is continuous and has no limits, but limits has {pair}.', joint=i
            )
    return types


def _types_of_sigma(sigma: FloatArray) -> list[str]:
    """
    Return the joint types for 0 (revolute) and 1 (prismatic) in a Denavit-Hartenberg table.

    Raise InvalidOption for other numbers.
    """
    if not np.isin(sigma, (0.0, 1.0)).all():
        raise InvalidOption(
            f'sigma must be 0 for revolute and 1 for prismatic joints, not {sigma.tolist()}.',
            name='sigma',
        )
    return ['prismatic' if value else 'revolute' for value in sigma]


def _pairs(limits: Sequence[Limits] | ArrayLike | None, n: int) -> list[Limits]:
    """
    Return (lower, upper), one of them maybe infinite, or None for each of n joints.

    Raise InvalidOption or DimensionMismatch for another form of limits. Raise InvalidLimits for NaN, or for a lower
    limit above the upper one.
    """
    if limits is None:
        return [None] * n
    if not isinstance(limits, Iterable):
        refuse('limits', limits, 'a row for each joint')
    rows = list(limits)
    if len(rows) != n:
        raise DimensionMismatch(
            f'limits must have a row for each of {counted(n, "joint")}, not {len(rows)}.',
            expected=n,
        )
    return [None if row is None else _pair(row, i) for i, row in enumerate(rows)]


def _pair(row: ArrayLike, joint: int) -> Limits:
    lower, upper = (float(value) for value in _pair_values(row, joint))
    if math.isnan(lower) or math.isnan(upper) or lower > upper:
        raise InvalidLimits(
            f'limits of joint {joint + 1} leave no room: {lower} to {upper}.', joint=joint
        )
    return limits_of(lower, upper)


def _pair_values(row: ArrayLike, joint: int) -> FloatArray:
    values = read_numbers('limits', row)
    if values.shape != (2,):
        raise DimensionMismatch(f'limits of joint {joint + 1} are no pair: {shown(row)}.')
    return values
