"""
The robot as data: one immutable tree of joints and links in flat arrays.

``nj`` moving joints (revolute, continuous, prismatic, planar, floating, spherical), ``nl`` links, ``nq``
position variables. Fixed joints are folded into placements. ``T_ab`` is the pose of b in a.

Position variables: a revolute, continuous or prismatic joint has one scalar. A planar joint has (x, y, theta) as in
MoveIt, a floating joint (x, y, z, qx, qy, qz, qw), a spherical joint (qx, qy, qz, qw). Tangent (velocity) variables
are as many as degrees of freedom; the tangent of a rotation is the body angular velocity.

A mimic joint keeps its own position variable, so that a full state has values for all moving joints, as in MoveIt.
``leaders`` refers to the joint that finally drives it (chains are resolved): q = multiplier * q_leader + offset.
"""

from dataclasses import field
from enum import IntEnum

from ssik_ros.arguments import read_numbers
from ssik_ros.arrays import FloatArray, freeze_fields, IntArray
from ssik_ros.errors import (
    counted,
    DimensionMismatch,
    FrameNotFound,
    JointNotFound,
    quote,
)
from ssik_ros.kernels.geometry import joint_poses
from ssik_ros.value_class import dataclass


class JointKind(IntEnum):
    """Kinds of moving joints: revolute, continuous, prismatic, planar, floating, spherical."""

    REVOLUTE = joint_poses.REVOLUTE
    CONTINUOUS = joint_poses.CONTINUOUS
    PRISMATIC = joint_poses.PRISMATIC
    PLANAR = joint_poses.PLANAR
    FLOATING = joint_poses.FLOATING
    SPHERICAL = joint_poses.SPHERICAL


_QUATERNION = ('/rot_x', '/rot_y', '/rot_z', '/rot_w')
VARIABLE_SUFFIXES = {
    **dict.fromkeys((JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC), ('',)),
    JointKind.PLANAR: ('/x', '/y', '/theta'),
    JointKind.FLOATING: ('/trans_x', '/trans_y', '/trans_z', *_QUATERNION),
    JointKind.SPHERICAL: _QUATERNION,
}
"""MoveIt's names of the position variables, as suffixes of the joint's name."""
POSITION_SIZE = {kind: len(suffixes) for kind, suffixes in VARIABLE_SUFFIXES.items()}


@dataclass(frozen=True, eq=False)
class KinematicTree:
    """
    A robot as flat arrays: ``nj`` moving joints and ``nl`` links, with limits and mimic rules; immutable.

    Joints are depth first, children sorted by joint name, as in urdfdom and MoveIt.
    """

    name: str
    root_link: str
    joint_names: tuple[str, ...]
    """(nj,) names of the moving joints."""
    kinds: IntArray
    """(nj,) :class:`JointKind` values."""
    parents: IntArray
    """(nj,) index of the nearest moving joint above, -1 without one; always smaller than the joint's own index."""
    placements: FloatArray
    """(nj, 4, 4) pose of the joint frame in the moved frame of the parent joint (or the root link)."""
    axes: FloatArray
    """(nj, 3) unit axis in the joint frame; ignored for planar (which moves in xy), floating, spherical."""
    idx_q: IntArray
    """(nj,) first position variable of the joint in a full state."""
    lower: FloatArray
    """(nq) lower limits, -inf for joints without one [rad or m]."""
    upper: FloatArray
    """(nq) upper limits, +inf for joints without one [rad or m]."""
    velocity: FloatArray
    """(nq) velocity limits, +inf for joints without one [rad/s or m/s]."""
    leaders: IntArray
    """(nj,) the driving joint of a mimic joint, -1 for a joint that does not follow another."""
    multipliers: FloatArray
    """(nj,) mimic multiplier, 1 for other joints."""
    offsets: FloatArray
    """(nj,) mimic offset, 0 for other joints [rad or m]."""
    link_names: tuple[str, ...]
    """(nl,) all links, the root first, in depth-first order."""
    link_joints: IntArray
    """(nl,) the moving joint that carries the link, -1 for links rigid with the root."""
    link_placements: FloatArray
    """(nl, 4, 4) pose of the link in the moved frame of its joint (or the root link)."""
    joint_index: dict[str, int] = field(init=False, repr=False)
    link_index: dict[str, int] = field(init=False, repr=False)
    """Index of each link by name; ``joint_index`` is the same for moving joints."""

    def __post_init__(self) -> None:
        """Index the names and make every array read-only."""
        object.__setattr__(self, 'joint_index', {n: i for i, n in enumerate(self.joint_names)})
        object.__setattr__(self, 'link_index', {n: i for i, n in enumerate(self.link_names)})
        freeze_fields(self)

    @property
    def nq(self) -> int:
        """Return the number of position variables of a full state."""
        return len(self.lower)

    def full_state(self, positions: FloatArray) -> FloatArray:
        """
        Return given positions as a full state: a new float array (nq,).

        :param positions: (nq,) position variables [rad or m].
        :raises DimensionMismatch: if they have another shape.
        :raises InvalidOption: if they are not numbers.
        """
        state = read_numbers('positions', positions)
        if state.shape != (self.nq,):
            raise DimensionMismatch(
                f'A full state of robot {quote(self.name)} has {counted(self.nq, "position")}, not the shape '
                f'{state.shape}.',
                expected=(self.nq,),
                actual=state.shape,
            )
        return state

    def joint(self, name: str) -> int:
        """
        Return the index of a moving joint.

        :param name: the joint's name.
        :raises JointNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        try:
            return self.joint_index[name]
        except (KeyError, TypeError):
            raise JointNotFound.unknown(
                f'Robot {quote(self.name)} has no moving joint {quote(name)}',
                name,
                self.joint_names,
            ) from None

    def link(self, name: str) -> int:
        """
        Return the index of a link.

        :param name: the link's name.
        :raises FrameNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        try:
            return self.link_index[name]
        except (KeyError, TypeError):
            raise FrameNotFound.unknown(
                f'Robot {quote(self.name)} has no link {quote(name)}', name, self.link_names
            ) from None

    def joint_path(self, link: str) -> list[int]:
        """
        Return the indices of the moving joints from the root to a link, in that order.

        :param link: the link's name.
        :raises FrameNotFound: for an unknown name; the message suggests a similar known name, if any.
        """
        path: list[int] = []
        joint = int(self.link_joints[self.link(link)])
        while joint >= 0:
            path.append(joint)
            joint = int(self.parents[joint])
        return path[::-1]
