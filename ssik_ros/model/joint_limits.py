"""Effective joint limits: the description's, tightened by joint_limits.yaml and by mimic followers."""

from collections.abc import Mapping
import math
from typing import Any

from ssik_ros.errors import describe_choices, InvalidLimits, InvalidParameter, nearest_name, quote
from ssik_ros.model.kinematic_tree import JointKind, VARIABLE_SUFFIXES
from ssik_ros.model.urdf.data import Mimic, Urdf, UrdfJoint
from ssik_ros.value_class import dataclass

ROUNDED_COPY = 1e-4
"""A file may repeat the model's limits rounded by so much without being wider [rad or m]."""
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
    """Limits of one scalar joint, infinite where there is none."""

    lower: float
    upper: float
    velocity: float
    acceleration: float = math.inf
    """Only files have it."""


def resolve_mimic(urdf: Urdf) -> dict[str, Mimic]:
    """
    Return for every mimic joint the joint that finally drives it; chains are multiplied out.

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
    """Return the rule of a joint that mimics a joint with a rule of its own."""
    assert mimic is not None
    offset = mimic.multiplier * leader.offset + mimic.offset
    return Mimic(leader.joint, mimic.multiplier * leader.multiplier, offset)


def limited_variables(joint: UrdfJoint) -> tuple[str, ...]:
    """
    Return the variables of a joint that can have limits: angles and translations.

    :param joint: a joint of any type.
    """
    if joint.type == 'fixed':
        return ()
    suffixes = VARIABLE_SUFFIXES[JointKind[joint.type.upper()]]
    return tuple(joint.name + suffix for suffix in suffixes if not suffix.startswith('/rot'))


def compute_limits(
    urdf: Urdf, entries: Mapping[str, Any], followers: Mapping[str, Mimic]
) -> tuple[dict[str, JointLimits], list[str]]:
    """
    Return the effective limits of all variables that can have some, and warnings.

    Joints with several variables have them under MoveIt's variable names (``base/x``).

    :param urdf: a checked description.
    :param entries: joint_limits.yaml's entries by joint.
    :param followers: the resolved mimic rules.
    :raises InvalidLimits: when an entry is wider than the model or nothing is left.
    """
    limits = {
        variable: JointLimits(joint.lower, joint.upper, joint.velocity)
        for joint in urdf.joints.values()
        for variable in limited_variables(joint)
    }
    warnings: list[str] = []
    for name, entry in entries.items():
        if name in limits:
            _tighten(name, limits[name], entry, warnings)
        else:
            warnings.append(
                f'joint_limits names {quote(name)}, which is not a joint with limits. '
                + describe_choices(str(name), limits)
            )
    for name, follower in followers.items():
        _tighten_leader(name, follower, limits)
    for name, follower in followers.items():
        limits[name] = _follower_limits(follower, limits[follower.joint], limits[name].velocity)
    return limits, warnings


def find_entries(document: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """
    Return the entries by joint of a joint_limits.yaml, whichever of its layouts it has.

    :param document: the loaded file, or its ``joint_limits`` part's parent, or None.
    :raises InvalidParameter: when there is no mapping of joints in it.
    """
    if not document:
        return {}
    found: Any = document
    for key in ('/**', 'ros__parameters', 'robot_description_planning', 'joint_limits'):
        if isinstance(found, Mapping) and key in found:
            found = found[key]
    if found is document and not _looks_like_entries(found):
        raise InvalidParameter(
            "joint_limits has no key 'joint_limits'; it holds "
            + ', '.join(quote(key) for key in list(document)[:10])
            + '.'
        )
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise InvalidParameter(f'joint_limits is {type(found).__name__}, not a mapping by joint.')
    return _join_dotted(found)


def _join_dotted(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries under whole names: parameters split the name of a joint at its dots."""
    joined: dict[str, Any] = {}
    for name, entry in entries.items():
        if isinstance(entry, Mapping) and any(isinstance(v, Mapping) for v in entry.values()):
            deeper = _join_dotted({k: v for k, v in entry.items() if isinstance(v, Mapping)})
            joined.update({f'{name}.{key}': value for key, value in deeper.items()})
            entry = {k: v for k, v in entry.items() if not isinstance(v, Mapping)}
            if not entry:
                continue
        joined[name] = entry
    return joined


def _looks_like_entries(document: object) -> bool:
    """Return whether a mapping holds, by joint, keys that this module reads."""
    return isinstance(document, Mapping) and all(
        isinstance(entry, Mapping) and set(entry) <= {*USED_KEYS, *FOREIGN_KEYS}
        for entry in document.values()
    )


def _tighten(name: str, limits: JointLimits, entry: object, warnings: list[str]) -> None:
    """Apply one entry of joint_limits.yaml."""
    if not isinstance(entry, Mapping):
        raise InvalidParameter(f'joint_limits.{name} is not a mapping but {entry!r}.')
    _check_keys(name, entry)
    if entry.get('has_position_limits'):
        lower = _number(name, entry, 'min_position', limits.lower)
        upper = _number(name, entry, 'max_position', limits.upper)
        _check_narrower(name, limits, lower, upper)
        limits.lower, limits.upper = max(lower, limits.lower), min(upper, limits.upper)
    elif 'has_position_limits' in entry and math.isfinite(limits.upper - limits.lower):
        warnings.append(
            f'joint_limits.{name}.has_position_limits is false, but limits may only be '
            f'tightened: [{limits.lower:.6g}, {limits.upper:.6g}] of the model stay.'
        )
    if entry.get('has_velocity_limits'):
        velocity = _number(name, entry, 'max_velocity', limits.velocity)
        if velocity < 0.0 or velocity > limits.velocity * (1.0 + ROUNDED_COPY) + ROUNDED_COPY:
            raise InvalidLimits(
                f'joint_limits.{name}.max_velocity {velocity:.6g} is not within the '
                f"model's velocity limit {limits.velocity:.6g}; limits may only be tightened.",
                joint=name,
            )
        limits.velocity = min(velocity, limits.velocity)
    if entry.get('has_acceleration_limits'):
        acceleration = _number(name, entry, 'max_acceleration', math.inf)
        if not acceleration > 0.0:
            raise InvalidLimits(
                f'joint_limits.{name}.max_acceleration {acceleration:.6g} is not above zero.',
                joint=name,
            )
        limits.acceleration = acceleration


def _check_keys(name: str, entry: Mapping[str, Any]) -> None:
    """Raise for a key that is a misspelt one of ours."""
    for key in entry:
        nearest = nearest_name(key, USED_KEYS)
        if key not in USED_KEYS and key not in FOREIGN_KEYS and nearest:
            raise InvalidParameter(
                f'joint_limits.{name} has no key {quote(key)}. Did you mean {quote(nearest)}?',
                joint=name,
                key=key,
            )


def _number(name: str, entry: Mapping[str, Any], key: str, default: float) -> float:
    """Return a number of an entry."""
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidParameter(
            f'joint_limits.{name}.{key} is {value!r}, not a number.', joint=name, key=key
        )
    return float(value)


def _check_narrower(name: str, limits: JointLimits, lower: float, upper: float) -> None:
    """Raise when limits of the file are inverted or wider than the model's."""
    shown = f'[{lower:.6g}, {upper:.6g}]'
    if lower > upper:
        raise InvalidLimits(f'joint_limits.{name} is inverted: {shown}.', joint=name)
    wider = lower < limits.lower - ROUNDED_COPY or upper > limits.upper + ROUNDED_COPY
    if wider or lower > limits.upper or upper < limits.lower:
        raise InvalidLimits(
            f"joint_limits.{name} {shown} is not within the model's limits "
            f'[{limits.lower:.6g}, {limits.upper:.6g}]; limits may only be tightened.',
            joint=name,
        )


def _tighten_leader(name: str, follower: Mimic, limits: dict[str, JointLimits]) -> None:
    """Keep the leader where its follower is within limits."""
    own, leader = limits[name], limits[follower.joint]
    if follower.multiplier == 0.0:
        if not own.lower <= follower.offset <= own.upper:
            raise InvalidLimits(
                f'Joint {quote(name)} is held at {follower.offset:.6g} by its <mimic>, outside its '
                f'limits [{own.lower:.6g}, {own.upper:.6g}].',
                joint=name,
            )
        return
    ends = sorted((end - follower.offset) / follower.multiplier for end in (own.lower, own.upper))
    lower, upper = max(leader.lower, ends[0]), min(leader.upper, ends[1])
    if lower > upper:
        raise InvalidLimits(
            f'The limits of joint {quote(follower.joint)} [{leader.lower:.6g}, {leader.upper:.6g}] '
            f'leave no room for those of its mimic joint {quote(name)} [{own.lower:.6g}, '
            f'{own.upper:.6g}].',
            joint=follower.joint,
            follower=name,
        )
    leader.lower, leader.upper = lower, upper
    leader.velocity = min(leader.velocity, own.velocity / abs(follower.multiplier))
    leader.acceleration = min(leader.acceleration, own.acceleration / abs(follower.multiplier))


def _follower_limits(follower: Mimic, leader: JointLimits, velocity: float) -> JointLimits:
    """Return the image of the leader's range, so that a consistent follower is never outside."""
    if follower.multiplier == 0.0:
        return JointLimits(follower.offset, follower.offset, velocity)
    ends = sorted(
        follower.multiplier * end + follower.offset for end in (leader.lower, leader.upper)
    )
    return JointLimits(ends[0], ends[1], velocity)
