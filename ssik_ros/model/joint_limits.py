"""
Effective joint limits: limits of the URDF, replaced by a joint_limits.yaml, narrowed by mimic joints.

As in MoveIt, limits in the file replace those in the URDF even if they are wider; one warning for each such joint says
so. A velocity limit of 0 and a range that ends before it begins are not used.
"""

from collections.abc import Mapping
import math
from typing import Any

from ssik_ros.errors import describe_choices, LocatedMapping, nearest_name, quote
from ssik_ros.model.kinematic_tree import JointKind, VARIABLE_SUFFIXES
from ssik_ros.model.makers_yaml import find_sections
from ssik_ros.model.urdf.data import Mimic, Urdf, UrdfJoint
from ssik_ros.strict_yaml import is_finite_number, location
from ssik_ros.value_class import dataclass

ROUNDED_COPY = 1e-4
"""A file may repeat the limits of the URDF rounded by so much without being wider [rad or m]."""
USED_KEYS = (
    'has_position_limits',
    'min_position',
    'max_position',
    'has_velocity_limits',
    'max_velocity',
    'has_acceleration_limits',
    'max_acceleration',
)
FOREIGN_KEYS = (
    'has_deceleration_limits',
    'max_deceleration',
    'has_jerk_limits',
    'max_jerk',
    'has_effort_limits',
    'max_effort',
    'angle_wraparound',
    'has_soft_limits',
    'soft_lower_limit',
    'soft_upper_limit',
    'k_position',
    'k_velocity',
)


@dataclass(slots=True)
class JointLimits:
    """
    Limits of one scalar joint variable, infinite if a limit is missing.

    Positions are in rad or m, ``velocity`` in rad/s or m/s, ``acceleration`` in rad/s^2 or m/s^2.
    """

    lower: float
    upper: float
    velocity: float
    acceleration: float = math.inf
    """From a joint_limits.yaml; a URDF has no acceleration limits."""


def resolve_mimic(urdf: Urdf) -> dict[str, Mimic]:
    """
    Return the rule of every mimic joint by its name, with a leader that does not mimic any joint itself.

    If a joint mimics another mimic joint, both rules are combined into one.

    :param urdf: a checked description.
    """
    followers: dict[str, Mimic] = {}
    for joint in urdf.joints.values():
        chain = []
        while joint.mimic is not None and joint.name not in followers:
            chain.append(joint)
            joint = urdf.joints[joint.mimic.joint]
        rule = followers.get(joint.name, Mimic(joint.name, 1.0, 0.0))
        for follower in reversed(chain):
            rule = _multiply(follower.mimic, rule)
            followers[follower.name] = rule
    return {name: followers[name] for name in urdf.joints if name in followers}


def _multiply(mimic: Mimic | None, leader: Mimic) -> Mimic:
    """
    Return the combined rule of a joint that mimics another mimic joint.

    :param mimic: rule of the joint, which mimics the other joint.
    :param leader: rule of the other joint; its leader becomes the leader of the result.
    """
    assert mimic is not None
    offset = mimic.multiplier * leader.offset + mimic.offset
    return Mimic(leader.joint, mimic.multiplier * leader.multiplier, offset)


def limited_variables(joint: UrdfJoint) -> tuple[str, ...]:
    """
    Return the names of the variables of a joint that can have limits: angles and translations.

    :param joint: a joint of any type.
    """
    if joint.type == 'fixed':
        return ()
    suffixes = VARIABLE_SUFFIXES[JointKind[joint.type.upper()]]
    return tuple(joint.name + suffix for suffix in suffixes if not suffix.startswith('/rot'))


def compute_limits(
    urdf: Urdf,
    entries: Mapping[str, Any],
    followers: Mapping[str, Mimic],
    source: str = 'joint_limits',
) -> tuple[dict[str, JointLimits], list[str]]:
    """
    Return the effective limits by variable name, and a list of warnings.

    They are the limits of the URDF, replaced by the entries. Leaders are then narrowed so that mimic joints stay within
    limits, if this leaves a range. Mimic joints get the range that follows. A joint with several variables has MoveIt's
    variable names (``base/x``).

    :param urdf: a checked description.
    :param entries: entries of a joint_limits.yaml by joint; of a joint with several variables, by variable.
    :param followers: the mimic rules, from :func:`resolve_mimic`.
    :param source: the file of the entries, for warnings.
    """
    limits = {
        variable: JointLimits(joint.lower, joint.upper, joint.velocity)
        for joint in urdf.joints.values()
        for variable in limited_variables(joint)
    }
    warnings: list[str] = []
    for name, entry in entries.items():
        place = location(entries, name, source)
        if name in limits:
            faults = _replace(limits[name], entry)
            if faults:
                warnings.append(f'{place}: joint_limits.{name}: {"; ".join(faults)}.')
        else:
            warnings.append(
                f'{place}: joint_limits names {quote(name)}, which is not a joint with limits and is not '
                f'used. {describe_choices(str(name), limits)}'
            )
    for name, follower in followers.items():
        warnings += _tighten_leader(name, follower, limits)
    for name, follower in followers.items():
        limits[name] = _follower_limits(follower, limits[follower.joint], limits[name].velocity)
    return limits, warnings


def find_entries(
    document: Mapping[str, Any] | None, source: str = 'joint_limits'
) -> tuple[Mapping[str, Any], list[str]]:
    """
    Return the limit entries of a joint_limits.yaml by joint name, in any of its usual layouts, and warnings.

    :param document: content of the file, or a larger parameter mapping that contains it; None gives no entries.
    :param source: the file, for warnings and errors.
    :raises ConfigError: when the file is not a mapping.
    """
    entries_by_joint: LocatedMapping = LocatedMapping()
    warnings: list[str] = []
    for section in find_sections(document or None, 'robot_description_planning', source):
        entries = section.get('joint_limits', section if _looks_like_entries(section) else None)
        place = location(section, 'joint_limits', source)
        if isinstance(entries, Mapping):
            _join_dotted(entries, '', place, entries_by_joint)
        elif entries is not None:
            warnings.append(f'{place}: joint_limits is not a mapping by joint; it is not used.')
        elif 'joint_limits' not in section:
            keys = ', '.join(quote(key) for key in list(section)[:10])
            warnings.append(f"{source}: there is no key 'joint_limits', only {keys}.")
    return entries_by_joint, warnings


def _join_dotted(
    entries: Mapping[str, Any], before: str, place: str, joined: LocatedMapping
) -> None:
    """
    Add limit entries to ``joined`` by joint name, joining nested keys by dots.

    ROS parameters nest a joint name that contains dots: ``a.b`` becomes ``b`` below ``a``.

    :param entries: entries at the present level.
    :param before: keys above, with a dot at the end; empty at the outermost level.
    :param place: file and line of the entries.
    """
    for key, entry in entries.items():
        name, where = f'{before}{key}', location(entries, key, place)
        if isinstance(entry, Mapping) and any(isinstance(v, Mapping) for v in entry.values()):
            deeper = LocatedMapping()
            deeper.update({k: v for k, v in entry.items() if isinstance(v, Mapping)})
            deeper.places.update(getattr(entry, 'places', {}))
            _join_dotted(deeper, f'{name}.', where, joined)
            entry = {k: v for k, v in entry.items() if not isinstance(v, Mapping)}
            if not entry:
                continue
        joined[name] = entry
        joined.places[name] = where


def _looks_like_entries(document: Mapping[str, Any]) -> bool:
    """Return whether a mapping holds, for each joint, only keys of a joint_limits.yaml."""
    return all(
        isinstance(entry, Mapping) and set(entry) <= {*USED_KEYS, *FOREIGN_KEYS}
        for entry in document.values()
    )


def _replace(limits: JointLimits, entry: object) -> list[str]:
    """
    Replace limits in place by an entry of a joint_limits.yaml; return its faults as parts of a sentence.

    An entry that is not a mapping, and a value with a fault, leave the present limit as it is. A limit that is wider
    than the present one counts, but is a fault, too.
    """
    if not isinstance(entry, Mapping):
        return [f'{entry!r} is not a mapping and is not used']
    faults: list[str] = []
    for key in entry:
        nearest = nearest_name(key, USED_KEYS)
        if key not in USED_KEYS and key not in FOREIGN_KEYS and nearest:
            faults.append(f'the key {quote(key)} is not used; did you mean {quote(nearest)}?')
    _replace_positions(limits, entry, faults)
    if entry.get('has_velocity_limits'):
        velocity = abs(_number(entry, 'max_velocity', limits.velocity, faults))
        if velocity == 0.0:
            faults.append('max_velocity 0 is not used')
        elif velocity > limits.velocity * (1.0 + ROUNDED_COPY) + ROUNDED_COPY:
            faults.append(
                f'max_velocity {velocity:.6g} counts, which is above {limits.velocity:.6g} of the URDF'
            )
            limits.velocity = velocity
        else:
            limits.velocity = min(velocity, limits.velocity)
    if entry.get('has_acceleration_limits'):
        acceleration = _number(entry, 'max_acceleration', math.inf, faults)
        if acceleration > 0.0:
            limits.acceleration = acceleration
        else:
            faults.append(f'max_acceleration {acceleration:.6g} is not above zero and is not used')
    return faults


def _replace_positions(limits: JointLimits, entry: Mapping[str, Any], faults: list[str]) -> None:
    """
    Change position limits in place by an entry, even if has_position_limits is false, as MoveIt does.

    Append the faults of the entry to ``faults``. The limits stay if the lower limit of the entry is above its upper
    limit.
    """
    model = f'[{limits.lower:.6g}, {limits.upper:.6g}]'
    if 'min_position' not in entry and 'max_position' not in entry:
        if entry.get('has_position_limits') is False and math.isfinite(
            limits.upper - limits.lower
        ):
            faults.append(
                f'has_position_limits is false, but {model} of the URDF counts, as in MoveIt'
            )
        return
    lower = _number(entry, 'min_position', limits.lower, faults)
    upper = _number(entry, 'max_position', limits.upper, faults)
    if lower > upper:
        faults.append(f'[{lower:.6g}, {upper:.6g}] is no range, so {model} of the URDF counts')
        return
    if limits.lower - ROUNDED_COPY <= lower <= limits.lower:
        lower = limits.lower
    if limits.upper <= upper <= limits.upper + ROUNDED_COPY:
        upper = limits.upper
    if lower < limits.lower or upper > limits.upper:
        faults.append(
            f'[{lower:.6g}, {upper:.6g}] counts, which is wider than {model} of the URDF'
        )
    elif entry.get('has_position_limits') is False:
        faults.append(
            f'[{lower:.6g}, {upper:.6g}] counts although has_position_limits is false, as in MoveIt'
        )
    limits.lower, limits.upper = lower, upper


def _number(entry: Mapping[str, Any], key: str, default: float, faults: list[str]) -> float:
    """
    Return the number at a key of an entry, or ``default`` if the key is missing or its value is not a number.

    For a value that is not a number, a phrase is appended to ``faults``.
    """
    value = entry.get(key, default)
    is_infinite = isinstance(value, float) and math.isinf(value)
    if not (is_infinite or is_finite_number(value)):
        faults.append(f'{key} is {value!r}, not a number, and is not used')
        return default
    return float(value)


def _tighten_leader(name: str, follower: Mimic, limits: dict[str, JointLimits]) -> list[str]:
    """
    Narrow the limits of a leader in place, so that a mimic joint stays within limits; return warnings.

    Velocity and acceleration limits are narrowed too. If no range would be left, the leader keeps all its limits, with
    a warning. With a multiplier of 0 the leader keeps its limits; a warning follows only if the offset is outside the
    limits of the mimic joint.

    :param name: the mimic joint.
    :param follower: its rule.
    :param limits: limits by variable name.
    """
    mimic, leader = limits[name], limits[follower.joint]
    shown = f'[{mimic.lower:.6g}, {mimic.upper:.6g}]'
    if follower.multiplier == 0.0:
        if mimic.lower <= follower.offset <= mimic.upper:
            return []
        return [
            f'Joint {quote(name)} is held at {follower.offset:.6g} by its <mimic>, outside its limits '
            f'{shown}, which are not used.'
        ]
    ends = sorted(
        (end - follower.offset) / follower.multiplier for end in (mimic.lower, mimic.upper)
    )
    lower, upper = max(leader.lower, ends[0]), min(leader.upper, ends[1])
    if lower > upper or (lower == upper and leader.lower < leader.upper):
        return [
            f'The limits {shown} of the mimic joint {quote(name)} leave no range to its leader '
            f'{quote(follower.joint)} [{leader.lower:.6g}, {leader.upper:.6g}]; they are not used, as in MoveIt.'
        ]
    leader.lower, leader.upper = lower, upper
    leader.velocity = min(leader.velocity, mimic.velocity / abs(follower.multiplier))
    leader.acceleration = min(leader.acceleration, mimic.acceleration / abs(follower.multiplier))
    return []


def _follower_limits(follower: Mimic, leader: JointLimits, velocity: float) -> JointLimits:
    """
    Return the limits of a mimic joint: the range of its values while its leader moves within limits.

    :param velocity: velocity limit of the mimic joint, taken as it is.
    """
    if follower.multiplier == 0.0:
        return JointLimits(follower.offset, follower.offset, velocity)
    ends = sorted(
        follower.multiplier * end + follower.offset for end in (leader.lower, leader.upper)
    )
    return JointLimits(ends[0], ends[1], velocity)
