"""
A URDF as data, checked: what its joints and links say, before any limit or order is derived.

Links are names: inertia, visual and collision elements do not matter for kinematics and are not read
here, so that a missing mesh or a careless inertia cannot keep a robot from moving.
"""

from dataclasses import dataclass
import math

from ssik_ros.errors import describe_choices
from ssik_ros.errors import InvalidLimits
from ssik_ros.errors import ModelError
from ssik_ros.model.xml_document import parse_xml
from ssik_ros.model.xml_document import XmlElement

MOVING_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating')
SCALAR_TYPES = ('revolute', 'continuous', 'prismatic')
JOINT_TYPES = (*MOVING_TYPES, 'fixed')
UNBOUNDED = 1e9
"""A limit as large as this is how exporters spell "none" [rad or m]."""


@dataclass(frozen=True, slots=True)
class Mimic:
    """The follower's rule: q = multiplier * q_leader + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """One joint element."""

    name: str
    type: str
    parent: str
    child: str
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]
    axis: tuple[float, ...]
    """Unit axis in the joint frame."""
    lower: float
    """From ``limit`` and ``safety_controller`` together, -inf for none [rad or m]."""
    upper: float
    velocity: float
    """+inf for none [rad/s or m/s]."""
    mimic: Mimic | None
    line: int


@dataclass(frozen=True, slots=True)
class UrdfConstraint:
    """A ``<constraint>`` element (a kinematic loop) as it is written; closures interpret it."""

    name: str
    type: str
    element: XmlElement


@dataclass(frozen=True, slots=True)
class Urdf:
    """One robot element."""

    name: str
    links: tuple[str, ...]
    """In document order."""
    joints: dict[str, UrdfJoint]
    """In document order."""
    root: str
    constraints: tuple[UrdfConstraint, ...]
    document: XmlElement
    warnings: tuple[str, ...]

    def children(self) -> dict[str, list[UrdfJoint]]:
        """Return the joints below each link, ordered by joint name as urdfdom orders them."""
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

    def links_depth_first(self) -> tuple[str, ...]:
        """Return all links in model order, the root first."""
        return (self.root, *(joint.child for joint in self.depth_first()))


def parse_urdf(text: str) -> Urdf:
    """
    Return a robot description as checked data.

    :param text: URDF text.
    :raises ModelError: by name and line, for anything that does not describe one tree of joints.
    """
    document = parse_xml(text, 'robot description')
    if document.tag != 'robot':
        document.fail(f'The root element of a robot description is <robot>, not <{document.tag}>')
    warnings: list[str] = []
    links = _parse_links(document)
    joints = _parse_joints(document, warnings)
    _check_ends(joints, links)
    _check_mimic(joints)
    return Urdf(
        name=document.require('name'),
        links=tuple(links),
        joints=joints,
        root=_find_root(joints, links),
        constraints=tuple(
            UrdfConstraint(element.get('name'), element.get('type'), element)
            for element in document.find_all('constraint')
        ),
        document=document,
        warnings=tuple(warnings),
    )


def _parse_links(document: XmlElement) -> dict[str, XmlElement]:
    """Return the link elements by name."""
    links: dict[str, XmlElement] = {}
    for element in document.find_all('link'):
        name = element.require('name')
        if name in links:
            element.fail(f"Link '{name}' is declared twice, first in line {links[name].line}")
        links[name] = element
    if not links:
        document.fail('The robot description has no links')
    return links


def _parse_joints(document: XmlElement, warnings: list[str]) -> dict[str, UrdfJoint]:
    """Return the joints by name."""
    joints: dict[str, UrdfJoint] = {}
    for element in document.find_all('joint'):
        joint = _parse_joint(element, warnings)
        if joint.name in joints:
            first = joints[joint.name].line
            element.fail(f"Joint '{joint.name}' is declared twice, first in line {first}")
        joints[joint.name] = joint
    return joints


def _parse_joint(element: XmlElement, warnings: list[str]) -> UrdfJoint:
    """Return one joint."""
    name = element.require('name')
    kind = element.require('type')
    if kind not in JOINT_TYPES:
        element.fail(
            f"Joint '{name}' has the unknown type '{kind}'", describe_choices(kind, JOINT_TYPES)
        )
    origin = element.find('origin') or XmlElement('origin', {}, element.line)
    lower, upper, velocity = _parse_limits(element, name, kind, warnings)
    return UrdfJoint(
        name=name,
        type=kind,
        parent=_end(element, name, 'parent'),
        child=_end(element, name, 'child'),
        xyz=origin.vector('xyz', (0.0, 0.0, 0.0)),
        rpy=origin.vector('rpy', (0.0, 0.0, 0.0)),
        axis=_parse_axis(element, name, kind, warnings),
        lower=lower,
        upper=upper,
        velocity=velocity,
        mimic=_parse_mimic(element, name, kind, warnings),
        line=element.line,
    )


def _end(element: XmlElement, name: str, tag: str) -> str:
    """Return the link that a joint starts from or ends in."""
    end = element.find(tag)
    if end is None:
        element.fail(f"Joint '{name}' has no <{tag}>")
    return end.require('link')


def _parse_axis(
    element: XmlElement, name: str, kind: str, warnings: list[str]
) -> tuple[float, ...]:
    """Return the unit axis; planar joints move in the xy plane of their frame, as in MoveIt."""
    axis = element.find('axis')
    if kind in ('fixed', 'floating'):
        return (0.0, 0.0, 1.0)
    if kind == 'planar':
        if axis is not None and axis.vector('xyz', (1.0, 0.0, 0.0))[:2] != (0.0, 0.0):
            warnings.append(
                f"Planar joint '{name}' moves in the xy plane of its frame, as in MoveIt; its "
                f'axis (line {axis.line}) is not used.'
            )
        return (0.0, 0.0, 1.0)
    if axis is None:
        return (1.0, 0.0, 0.0)
    vector = axis.vector('xyz', (1.0, 0.0, 0.0))
    norm = math.hypot(*vector)
    if not (norm > 1e-12 and math.isfinite(norm)):
        axis.fail(f"The axis of joint '{name}' is zero or has no finite length")
    return tuple(component / norm for component in vector)


def _parse_limits(
    element: XmlElement, name: str, kind: str, warnings: list[str]
) -> tuple[float, float, float]:
    """Return lower, upper and velocity limit."""
    limit = element.find('limit')
    if kind in ('fixed', 'floating', 'planar'):
        return -math.inf, math.inf, math.inf
    velocity = _velocity_limit(limit, name, warnings)
    if kind == 'continuous':
        return -math.inf, math.inf, velocity
    if limit is None and kind == 'revolute':
        raise InvalidLimits(
            f"Revolute joint '{name}' has no <limit> (line {element.line}); a joint without "
            "limits is of type 'continuous'.",
            joint=name,
            line=element.line,
        )
    lower, upper = _position_limits(limit, name, warnings)
    soft_lower, soft_upper = _soft_limits(element.find('safety_controller'))
    both = max(lower, soft_lower), min(upper, soft_upper)
    if both[0] > both[1]:
        raise InvalidLimits(
            f"Joint '{name}' (line {element.line}): <limit> [{lower:.6g}, {upper:.6g}] and "
            f'<safety_controller> [{soft_lower:.6g}, {soft_upper:.6g}] have nothing in common.',
            joint=name,
            line=element.line,
        )
    return *both, velocity


def _velocity_limit(limit: XmlElement | None, name: str, warnings: list[str]) -> float:
    """Return the velocity limit, +inf for none."""
    if limit is None or not limit.get('velocity'):
        return math.inf
    velocity = limit.number_or_infinity('velocity')
    if velocity < 0.0:
        raise InvalidLimits(
            f"Joint '{name}' has the negative velocity limit {velocity} (line {limit.line}).",
            joint=name,
            line=limit.line,
        )
    if velocity == 0.0:
        warnings.append(
            f"Joint '{name}' has the velocity limit 0 (line {limit.line}), which is read as none."
        )
    return velocity if 0.0 < velocity < UNBOUNDED else math.inf


def _position_limits(
    limit: XmlElement | None, name: str, warnings: list[str]
) -> tuple[float, float]:
    """Return what ``<limit>`` says; by the specification a missing lower or upper is 0."""
    if limit is None:
        return -math.inf, math.inf
    if not limit.get('lower') and not limit.get('upper'):
        warnings.append(
            f"Joint '{name}' cannot move: its <limit> (line {limit.line}) has neither lower nor "
            'upper, and both are 0 by default.'
        )
    lower, upper = (
        limit.number_or_infinity(end) if limit.get(end) else 0.0 for end in ('lower', 'upper')
    )
    if lower > upper:
        raise InvalidLimits(
            f"Joint '{name}' has lower limit {lower} above upper limit {upper} "
            f'(line {limit.line}).',
            joint=name,
            line=limit.line,
        )
    return _unbounded(lower), _unbounded(upper)


def _unbounded(limit: float) -> float:
    """Return a limit, or the infinity it stands for."""
    return math.copysign(math.inf, limit) if abs(limit) >= UNBOUNDED else limit


def _soft_limits(safety: XmlElement | None) -> tuple[float, float]:
    """Return the soft limits; one that is not written does not bind."""
    if safety is None:
        return -math.inf, math.inf
    lower = safety.get('soft_lower_limit')
    upper = safety.get('soft_upper_limit')
    return (
        _unbounded(safety.number_or_infinity('soft_lower_limit')) if lower else -math.inf,
        _unbounded(safety.number_or_infinity('soft_upper_limit')) if upper else math.inf,
    )


def _parse_mimic(element: XmlElement, name: str, kind: str, warnings: list[str]) -> Mimic | None:
    """Return the mimic rule of a joint."""
    mimic = element.find('mimic')
    if mimic is None:
        return None
    if kind == 'fixed':
        warnings.append(f"Fixed joint '{name}' has a <mimic> (line {mimic.line}) without effect.")
        return None
    if kind not in SCALAR_TYPES:
        mimic.fail(f"Joint '{name}' of type {kind} cannot mimic another joint")
    leader = mimic.require('joint')
    return Mimic(leader, mimic.number('multiplier', 1.0), mimic.number('offset', 0.0))


def _check_ends(joints: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> None:
    """Raise unless every joint connects two links and every link hangs on one joint."""
    above: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in links:
                raise ModelError(
                    f"The {end} link '{link}' of joint '{joint.name}' (line {joint.line}) does "
                    f'not exist. {describe_choices(link, links)}',
                    joint=joint.name,
                    line=joint.line,
                )
        if joint.child in above:
            raise ModelError(
                f"Link '{joint.child}' is the child of two joints, '{above[joint.child].name}' "
                f"and '{joint.name}' (line {joint.line}); a kinematic loop is not written as a "
                'second parent but as a loop closure.',
                link=joint.child,
                line=joint.line,
            )
        above[joint.child] = joint


def _find_root(joints: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> str:
    """Return the one link without a parent; raise for none, several and separate cycles."""
    children = {joint.child: joint for joint in joints.values()}
    roots = [link for link in links if link not in children]
    if len(roots) > 1:
        raise ModelError(
            f'The robot description has {len(roots)} root links, so it is not one tree: '
            + ', '.join(f"'{root}' (line {links[root].line})" for root in roots[:10])
            + '.',
            roots=tuple(roots),
        )
    cycle = _find_cycle(children, links)
    if cycle:
        names = ' -> '.join(joint.name for joint in cycle)
        raise ModelError(
            f'The joints {names} form a cycle (line {cycle[0].line}); a kinematic loop is '
            'written as a loop closure.',
            joints=tuple(joint.name for joint in cycle),
            line=cycle[0].line,
        )
    return roots[0]


def _find_cycle(children: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> list[UrdfJoint]:
    """Return the joints of a cycle in order from parent to child, or nothing."""
    clear: set[str] = set()
    for start in links:
        path: dict[str, UrdfJoint] = {}
        link = start
        while link in children and link not in clear and link not in path:
            path[link] = children[link]
            link = children[link].parent
        if link in path:
            names = list(path)
            return [path[name] for name in names[names.index(link) :]][::-1]
        clear.update(path)
    return []


def _check_mimic(joints: dict[str, UrdfJoint]) -> None:
    """Raise unless every mimic joint follows, in the end, a scalar joint that follows nobody."""
    for joint in joints.values():
        seen = [joint.name]
        while joint.mimic is not None:
            leader = joints.get(joint.mimic.joint)
            if leader is None or leader.type not in SCALAR_TYPES:
                scalar = [name for name, other in joints.items() if other.type in SCALAR_TYPES]
                raise ModelError(
                    f"Joint '{joint.name}' (line {joint.line}) mimics '{joint.mimic.joint}', "
                    f'which is not a joint with one degree of freedom. '
                    + describe_choices(joint.mimic.joint, scalar),
                    joint=joint.name,
                    line=joint.line,
                )
            if leader.name in seen:
                raise ModelError(
                    f'Mimic joints form a cycle: {" -> ".join([*seen, leader.name])} '
                    f'(line {joint.line}).',
                    joints=tuple(seen),
                    line=joint.line,
                )
            seen.append(leader.name)
            joint = leader
