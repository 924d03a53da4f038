"""
A checked URDF as data, with the limits that are written in it; a joint_limits.yaml and mimic joints may change them.

Of links, only the names are read. Inertia, visual and collision elements stay unread in ``Urdf.document``, so that
wrong values in them cannot keep a robot from being loaded.
"""

from dataclasses import replace
import math

from ssik_ros.model.urdf.xml_document import XmlElement
from ssik_ros.value_class import dataclass

MOVING_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating')
SCALAR_TYPES = ('revolute', 'continuous', 'prismatic')
JOINT_TYPES = (*MOVING_TYPES, 'fixed')
ZERO = (0.0, 0.0, 0.0)
Z_AXIS = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Mimic:
    """The rule of a mimic joint: q = multiplier * q_leader + offset; ``offset`` is in rad or m."""

    joint: str
    """The leader."""
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """
    A ``<joint>`` element of a URDF as checked data, or the virtual joint of an SRDF above the root link.

    ``type`` is one of :data:`JOINT_TYPES`. ``parent`` and ``child`` are links. ``xyz`` [m] and ``rpy`` [rad] place the
    joint frame in the parent link. ``line`` is its line in the file, 0 for a virtual joint.
    """

    name: str
    type: str
    parent: str
    child: str
    xyz: tuple[float, ...] = ZERO
    rpy: tuple[float, ...] = ZERO
    axis: tuple[float, ...] = Z_AXIS
    """Unit axis in the joint frame."""
    lower: float = -math.inf
    """From ``limit`` and ``safety_controller`` together, -inf without a limit [rad or m]."""
    upper: float = math.inf
    velocity: float = math.inf
    """+inf without a limit [rad/s or m/s]."""
    mimic: Mimic | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class LoopConstraint:
    """
    A ``<constraint>`` element of a URDF, which closes a loop: a joint between frames on two links.

    The fields ``parent...`` describe the frame on the link ``parent``, the fields ``child...`` the frame on the link
    ``child``.
    """

    name: str
    type: str
    """The kind of the joint that was cut, as written (``revolute``, ``spherical``, ...)."""
    parent: str
    child: str
    parent_xyz: tuple[float, ...]
    """Origin of the frame on the parent link [m]; ``parent_rpy`` is its roll, pitch and yaw [rad]."""
    parent_rpy: tuple[float, ...]
    child_xyz: tuple[float, ...]
    child_rpy: tuple[float, ...]
    parent_axis: tuple[float, ...]
    """Axis of the joint in the frame on the parent link, not normalised; ``child_axis``: on the child link."""
    child_axis: tuple[float, ...]
    element: XmlElement
    """The element as it is written."""


@dataclass(frozen=True, slots=True)
class Urdf:
    """
    The content of a URDF as checked data: links, joints, root link and loop constraints.

    ``document`` is the root element. ``warnings`` has a sentence, with file and line, for each fault that was
    tolerated.
    """

    name: str
    links: tuple[str, ...]
    """In document order."""
    joints: dict[str, UrdfJoint]
    """In document order."""
    root: str
    constraints: tuple[LoopConstraint, ...]
    document: XmlElement
    warnings: tuple[str, ...]

    def children(self) -> dict[str, list[UrdfJoint]]:
        """Return the joints below each link by the name of the link, ordered by joint name as in urdfdom."""
        below: dict[str, list[UrdfJoint]] = {link: [] for link in self.links}
        for name in sorted(self.joints):
            below[self.joints[name].parent].append(self.joints[name])
        return below

    def depth_first(self) -> list[UrdfJoint]:
        """Return all joints in model order: depth first, children by joint name."""
        below = self.children()
        order: list[UrdfJoint] = []
        stack = below[self.root][::-1]
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(below[joint.child][::-1])
        return order

    def with_root_joint(self, joint: UrdfJoint) -> 'Urdf':
        """
        Return a copy of the description with one more joint above the root; its parent link becomes the root.

        :param joint: a joint to the present root link.
        """
        return replace(
            self,
            links=(joint.parent, *self.links),
            joints={joint.name: joint, **self.joints},
            root=joint.parent,
        )
