"""
Read a URDF into checked data.

As specified, the narrower of ``limit`` and ``safety_controller`` counts, unless they leave no range. Missing ends of
``limit`` are 0. The default axis is x; planar joints move in the same plane as in MoveIt. Most faults that MoveIt
tolerates become warnings, so that a wrong finger does not keep an arm from being loaded.
"""

from collections.abc import Collection
import math

from ssik_ros.errors import describe_choices, InvalidLimits, ModelError, quote
from ssik_ros.kernels.geometry.rotations import matrix_of_quaternion, rpy_of_matrix
from ssik_ros.model.urdf.data import (
    JOINT_TYPES,
    LoopConstraint,
    Mimic,
    SCALAR_TYPES,
    Urdf,
    UrdfJoint,
    Z_AXIS,
    ZERO,
)
from ssik_ros.model.urdf.notes import FileNotes
from ssik_ros.model.urdf.structure import check_ends, find_root, release_mimic
from ssik_ros.model.urdf.xml_document import by_name, parse_xml, XmlElement
from ssik_ros.tolerances import DEFAULT_TOLERANCES

UNBOUNDED = 1e9
"""A limit as large as this is how exporters spell "none" [rad or m]."""
DEFAULT_AXIS = (1.0, 0.0, 0.0)


def parse_urdf(
    text: str, max_joints: int | None = None, source: str = 'robot description'
) -> Urdf:
    """
    Return a robot description as checked data.

    :param text: URDF text.
    :param max_joints: a robot with more joints, fixed ones included, is refused before it is read; None for no bound.
    :param source: the file, for warnings.
    :raises ModelError: by name and line, for anything that does not describe one tree of joints.
    """
    most = {} if max_joints is None else {'joint': max_joints}
    hint = 'The parameter max_robot_joints bounds them; raise it if the robot is meant.'
    document = parse_xml(text, 'robot description', most, hint)
    notes = FileNotes(source)
    links = _parse_links(document)
    joints = _parse_joints(document, notes)
    check_ends(joints, links)
    release_mimic(joints, notes)
    return Urdf(
        name=document.require('name'),
        links=tuple(links),
        joints=joints,
        root=find_root(joints, links),
        constraints=tuple(_parse_constraints(document, links, notes)),
        document=document,
        warnings=tuple(notes.lines),
    )


def _parse_links(document: XmlElement) -> dict[str, XmlElement]:
    """Return the link elements by name; raise ModelError without any link, and for a missing or repeated name."""
    elements = document.find_all('link')
    links = by_name(((element, element.require('name'), element) for element in elements), 'Link')
    if not links:
        document.fail('The robot description has no links')
    return links


def _parse_joints(document: XmlElement, notes: FileNotes) -> dict[str, UrdfJoint]:
    """Return the joints by name; raise ModelError if a name comes twice, and as :func:`_parse_joint`."""
    parsed = ((e, _parse_joint(e, notes)) for e in document.find_all('joint'))
    return by_name(((element, joint.name, joint) for element, joint in parsed), 'Joint')


def _parse_joint(element: XmlElement, notes: FileNotes) -> UrdfJoint:
    """
    Return the joint of an element; a joint whose axis has no length is read as fixed, with a note.

    Raise ModelError for a missing name, type, parent or child, an unknown type, and numbers that cannot be read. Raise
    InvalidLimits for a revolute joint without a <limit>.
    """
    name = element.require('name')
    kind = element.require('type')
    if kind not in JOINT_TYPES:
        element.fail(
            f'Joint {quote(name)} has the unknown type {quote(kind)}',
            describe_choices(kind, JOINT_TYPES),
        )
    xyz, rpy = parse_origin(element.find('origin'))
    axis = _parse_axis(element, name, kind, notes)
    kind = kind if any(axis) else 'fixed'
    lower, upper, velocity = _parse_limits(element, name, kind, notes)
    return UrdfJoint(
        name=name,
        type=kind,
        parent=_end(element, f'Joint {quote(name)}', 'parent'),
        child=_end(element, f'Joint {quote(name)}', 'child'),
        xyz=xyz,
        rpy=rpy,
        axis=axis if any(axis) else Z_AXIS,
        lower=lower,
        upper=upper,
        velocity=velocity,
        mimic=_parse_mimic(element, name, kind, notes),
        line=element.line,
    )


def parse_origin(origin: XmlElement | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """
    Return position [m] and roll, pitch, yaw [rad] of an origin element; zeros without the element or an attribute.

    :param origin: an element with xyz and with rpy or quat_xyzw, or None.
    :raises ModelError: for other than finite numbers, a coordinate beyond the largest length, both rotations, or a
        quaternion whose norm is not 1, within 1 %.
    """
    if origin is None:
        return ZERO, ZERO
    xyz, longest = origin.vector('xyz', ZERO), DEFAULT_TOLERANCES.largest_length
    if max(map(abs, xyz)) > longest:
        given = quote(origin.get('xyz'))
        origin.fail(
            f'<origin xyz={given}> is farther away than {longest:g} m', 'Lengths are in metres.'
        )
    if 'quat_xyzw' not in origin.attributes:
        return xyz, origin.vector('rpy', ZERO)
    if 'rpy' in origin.attributes:
        origin.fail('<origin> has both rpy and quat_xyzw')
    quaternion = origin.vector('quat_xyzw', (0.0, 0.0, 0.0, 1.0))
    if abs(math.hypot(*quaternion) - 1.0) > DEFAULT_TOLERANCES.quaternion_norm:
        origin.fail(f'The quaternion {origin.get("quat_xyzw")} is not of length 1')
    return xyz, rpy_of_matrix(matrix_of_quaternion(quaternion))


def _parse_constraints(
    document: XmlElement, links: Collection[str], notes: FileNotes
) -> list[LoopConstraint]:
    """Return the loop constraints of a URDF; a wrong one is left out with a warning, as MoveIt ignores them all."""
    constraints = []
    for element in document.find_all('constraint'):
        try:
            constraints.append(_parse_constraint(element, links))
        except ModelError as error:
            notes.add(element.line, f'The constraint is left out. {error}')
    return constraints


def _parse_constraint(element: XmlElement, links: Collection[str]) -> LoopConstraint:
    """
    Return the loop constraint of an element.

    Raise ModelError if a link of it does not exist, if its name, parent or child is missing, or if numbers cannot be
    read.
    """
    name = element.require('name')
    ends = {tag: _end(element, f'Constraint {quote(name)}', tag) for tag in ('parent', 'child')}
    for tag, link in ends.items():
        if link not in links:
            element.fail(
                f'The {tag} link {quote(link)} of constraint {quote(name)} does not exist',
                describe_choices(link, links),
            )
    parent_xyz, parent_rpy = parse_origin(element.find('parent_origin'))
    child_xyz, child_rpy = parse_origin(element.find('child_origin'))
    return LoopConstraint(
        name=name,
        type=element.get('type'),
        **ends,
        parent_xyz=parent_xyz,
        parent_rpy=parent_rpy,
        child_xyz=child_xyz,
        child_rpy=child_rpy,
        parent_axis=_vector_of(element.find('parent_axis'), DEFAULT_AXIS),
        child_axis=_vector_of(element.find('child_axis'), DEFAULT_AXIS),
        element=element,
    )


def _vector_of(element: XmlElement | None, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return the xyz of an element, by default ``default``; raise ModelError if it is not three finite numbers."""
    return default if element is None else element.vector('xyz', default)


def _end(element: XmlElement, owner: str, tag: str) -> str:
    """
    Return the link that the <parent> or <child> (``tag``) of an element names; raise ModelError without one.

    :param owner: noun and name of the element, for the message.
    """
    end = element.find(tag)
    if end is None:
        element.fail(f'{owner} has no <{tag}>')
    return end.require('link')


def _parse_axis(element: XmlElement, name: str, kind: str, notes: FileNotes) -> tuple[float, ...]:
    """
    Return the unit axis of a joint: x without an <axis>; zeros, with a note, if it has no length.

    It is z for fixed and floating joints, and for planar joints, which move in the xy plane, as in MoveIt.
    """
    axis = element.find('axis')
    if kind in ('fixed', 'floating'):
        return Z_AXIS
    if kind == 'planar':
        if axis is not None and axis.vector('xyz', DEFAULT_AXIS)[:2] != (0.0, 0.0):
            notes.add(
                axis.line,
                f'Planar joint {quote(name)} moves in the xy plane of its frame, as in MoveIt; its '
                'axis is not used.',
            )
        return Z_AXIS
    if axis is None:
        return DEFAULT_AXIS
    vector = axis.vector('xyz', DEFAULT_AXIS)
    norm = math.hypot(*vector)
    if not (norm > 1e-12 and math.isfinite(norm)):
        notes.add(
            axis.line,
            f'The axis of joint {quote(name)} is zero or has no finite length: the joint is read as fixed.',
        )
        return ZERO
    return tuple(component / norm for component in vector)


def _parse_limits(
    element: XmlElement, name: str, kind: str, notes: FileNotes
) -> tuple[float, float, float]:
    """
    Return lower and upper limit [rad or m] and velocity limit of a joint; a missing limit is infinite.

    A <safety_controller> narrows the limits, unless it leaves no range: then a note is added. A continuous joint has
    only a velocity limit; a fixed, floating or planar joint has no limit.

    Raise InvalidLimits for a revolute joint without a <limit>, and ModelError for text that is not a number.
    """
    limit = element.find('limit')
    if kind in ('fixed', 'floating', 'planar'):
        return -math.inf, math.inf, math.inf
    velocity = _velocity_limit(limit, name, notes)
    if kind == 'continuous':
        return -math.inf, math.inf, velocity
    if limit is None and kind == 'revolute':
        raise InvalidLimits(
            f'Revolute joint {quote(name)} has no <limit> (line {element.line}); a joint without '
            "limits is of type 'continuous'.",
            joint=name,
            line=element.line,
        )
    lower, upper = _position_limits(limit, name, notes)
    safety = element.find('safety_controller')
    soft_lower, soft_upper = _soft_limits(safety)
    both = max(lower, soft_lower), min(upper, soft_upper)
    if safety is not None and both[0] >= both[1] and lower < upper:
        notes.add(
            safety.line,
            f'Joint {quote(name)}: <limit> [{lower:.6g}, {upper:.6g}] and <safety_controller> '
            f'[{soft_lower:.6g}, {soft_upper:.6g}] leave no range; the <safety_controller> is not used.',
        )
        both = lower, upper
    return *both, velocity


def _velocity_limit(limit: XmlElement | None, name: str, notes: FileNotes) -> float:
    """
    Return the velocity limit of a joint [rad/s or m/s].

    It is infinite if the limit is missing, 0, or at least 1e9. A negative limit is read as positive. Zero and
    negative limits add a note.
    """
    if limit is None or not limit.get('velocity'):
        return math.inf
    velocity = limit.number_or_infinity('velocity')
    if velocity < 0.0:
        notes.add(
            limit.line,
            f'Joint {quote(name)} has the negative velocity limit {velocity:g}; it is read as {-velocity:g}.',
        )
        velocity = -velocity
    if velocity == 0.0:
        notes.add(
            limit.line, f'Joint {quote(name)} has the velocity limit 0, which is read as none.'
        )
    return velocity if 0.0 < velocity < UNBOUNDED else math.inf


def _position_limits(limit: XmlElement | None, name: str, notes: FileNotes) -> tuple[float, float]:
    """
    Return lower and upper of a ``<limit>`` in ascending order [rad or m].

    Without a ``<limit>`` both are infinite, and so are limits of at least 1e9 in magnitude. By the specification a
    missing lower or upper is 0. Swapped limits, and both missing, add a note.
    """
    if limit is None:
        return -math.inf, math.inf
    if not limit.get('lower') and not limit.get('upper'):
        notes.add(
            limit.line,
            f'Joint {quote(name)} cannot move: its <limit> has neither lower nor upper, and both are 0 '
            'by default.',
        )
    lower, upper = (
        limit.number_or_infinity(end) if limit.get(end) else 0.0 for end in ('lower', 'upper')
    )
    if lower > upper:
        notes.add(
            limit.line,
            f'Joint {quote(name)} has the lower limit {lower:g} above the upper limit {upper:g}; they are '
            'read in the other order.',
        )
        lower, upper = upper, lower
    return _unbounded(lower), _unbounded(upper)


def _unbounded(limit: float) -> float:
    """Return a limit unchanged, or infinity with the same sign if its magnitude is at least 1e9."""
    return math.copysign(math.inf, limit) if abs(limit) >= UNBOUNDED else limit


def _soft_limits(safety: XmlElement | None) -> tuple[float, float]:
    """
    Return the soft limits of a <safety_controller> [rad or m].

    A limit is infinite if it is not written or has a magnitude of at least 1e9.
    """
    if safety is None:
        return -math.inf, math.inf
    lower = safety.get('soft_lower_limit')
    upper = safety.get('soft_upper_limit')
    return (
        _unbounded(safety.number_or_infinity('soft_lower_limit')) if lower else -math.inf,
        _unbounded(safety.number_or_infinity('soft_upper_limit')) if upper else math.inf,
    )


def _parse_mimic(element: XmlElement, name: str, kind: str, notes: FileNotes) -> Mimic | None:
    """Return the mimic rule of a joint; None if it has none, or, with a warning, if it cannot mimic a joint."""
    mimic = element.find('mimic')
    if mimic is None:
        return None
    if kind == 'fixed':
        notes.add(mimic.line, f'Fixed joint {quote(name)} has a <mimic> without effect.')
        return None
    if kind not in SCALAR_TYPES:
        notes.add(
            mimic.line,
            f'Joint {quote(name)} of type {kind} cannot mimic another joint: its <mimic> is not used.',
        )
        return None
    leader = mimic.require('joint')
    return Mimic(leader, mimic.number('multiplier', 1.0), mimic.number('offset', 0.0))
