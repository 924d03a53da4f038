"""
The catalogue of arms: geometry and limits of real arms as data, and robots made of it.

``config/robots/catalogue.yaml`` describes its format. An arm of the catalogue has no shapes and no inertia: it has
only the data for kinematics.
"""

from collections.abc import Collection, Iterator, Mapping
import functools
import math
import os
from pathlib import Path
import re
from typing import Any, NoReturn
import xml.etree.ElementTree as ElementTree

from ssik_ros.errors import (
    ConfigError,
    counted,
    describe_choices,
    DescriptionNotFound,
    InvalidParameter,
    reads_file,
)
from ssik_ros.model.description_files import config_directory
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.strict_yaml import is_finite_number, location, parse_yaml, read_yaml
from ssik_ros.value_class import dataclass

Vector = tuple[float, float, float]

ARM_CLASSES = (
    'three_parallel',
    'spherical_wrist_2_parallel_3',
    'spherical_wrist_1_parallel_2',
    'spherical_wrist_1_meets_2',
    'spherical_wrist_2_meets_3',
    'spherical_wrist',
    'spherical_shoulder_4_parallel_5',
    'spherical_shoulder_5_parallel_6',
    'spherical_shoulder_5_meets_6',
    'spherical_shoulder_4_meets_5',
    'spherical_shoulder_6r',
    'three_parallel_3_4_5',
    'three_parallel_1_2_3',
    'three_parallel_4_5_6',
    'general_6r',
    'srs',
    'spherical_shoulder',
    'reversed_spherical_shoulder',
    'approximately_srs',
    'approximately_spherical_shoulder',
    'approximately_reversed_spherical_shoulder',
    'general_7r',
    'at_most_5r',
    'prismatic',
)
"""Classes of arms by their geometry; the head of the catalogue defines each class."""

JOINT_TYPES = ('revolute', 'continuous', 'prismatic')
_TEXTS = ('vendor', 'title', 'source', 'base_link', 'tip_link')
_ARM_KEYS = (*_TEXTS, 'dof', 'expected_class', 'joints', 'flange')
_JOINT_KEYS = ('name', 'type', 'xyz', 'rpy', 'axis')
_HEADING = re.compile(r'^  (\w+):\n', re.MULTILINE)
"""Line of the shipped catalogue at which an arm begins."""
_NAME = re.compile(r'[a-z][a-z0-9]*(?:_[a-z0-9]+)*')
_UNIT = 1e-12
"""Deviation of an axis from length 1 that rounding explains."""
_NO_FIGURE = '1e+30'
"""Unbounded velocity and effort in a URDF: other readers require numbers."""


@dataclass(frozen=True, slots=True)
class CatalogueJoint:
    """One joint of an arm in the catalogue; its origin is in the frame of the joint before it, or in the base link."""

    name: str
    type: str
    """revolute, continuous or prismatic."""
    xyz: Vector
    """Position of the origin [m]."""
    rpy: Vector
    """Roll, pitch and yaw of the origin [rad], as in a URDF."""
    axis: Vector
    """Unit axis in the joint's own frame."""
    lower: float
    """Lower limit, -inf for a continuous joint [rad or m]."""
    upper: float
    """Upper limit, +inf for a continuous joint [rad or m]."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A kinematic class that an arm belongs to only nearly, with the deviation of its axes from this class."""

    arm_class: str
    """One of :data:`ARM_CLASSES`."""
    distance: float
    """Largest distance of an axis from the point where the class wants axes to meet [m]."""
    angle: float
    """Largest sine between axes that the class wants parallel."""


@dataclass(frozen=True, slots=True)
class CatalogueArm:
    """An arm of the catalogue: its joints from base to tip, its kinematic class, and the source of its dimensions."""

    name: str
    vendor: str
    title: str
    source: str
    """The public description that the figures were read from."""
    base_link: str
    tip_link: str
    expected_class: str
    """The class that the arm belongs to, one of :data:`ARM_CLASSES`."""
    near_miss: NearMiss | None
    """The class that the arm belongs to only nearly; None without one."""
    joints: tuple[CatalogueJoint, ...]
    flange_xyz: Vector
    """Position of the tip link in the frame of the last joint [m]."""
    flange_rpy: Vector
    """Roll, pitch and yaw of the tip link in the frame of the last joint [rad]."""

    @property
    def dof(self) -> int:
        """Return the number of joints."""
        return len(self.joints)


def list_arms() -> tuple[str, ...]:
    """Return the names of the arms in the shipped catalogue, in its order."""
    return tuple(_shipped_texts())


def arm_data(name: str) -> CatalogueArm:
    """
    Return one arm of the shipped catalogue.

    :param name: name of the arm.
    :raises DescriptionNotFound: for an unknown name; the message suggests a similar known name, if any.
    """
    texts = _shipped_texts()
    if name not in texts:
        raise DescriptionNotFound.unknown(f"The catalogue has no arm '{name}'", name, texts)
    return _read_shipped(name)


@functools.cache
def load_arm(name: str) -> RobotModel:
    """
    Return one arm of the shipped catalogue as a robot; a second call returns the same object.

    :param name: name of the arm.
    :raises DescriptionNotFound: for an unknown name; the message suggests a similar known name, if any.
    """
    return load_robot(make_urdf(arm_data(name)))


def catalogue_path() -> Path:
    """
    Return the file of the shipped catalogue.

    :raises DescriptionNotFound: if the configuration files of the package are not installed.
    """
    return config_directory() / 'robots' / 'catalogue.yaml'


@functools.cache
def _shipped_texts() -> dict[str, str]:
    """Return the YAML text of each arm of the shipped catalogue, by name."""
    _, _, text = catalogue_path().read_text(encoding='utf-8').partition('\narms:\n')
    _, *parts = _HEADING.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@functools.cache
def _read_shipped(name: str) -> CatalogueArm:
    """Return one arm of the shipped catalogue; the texts of other arms are not parsed."""
    text = f'arms:\n  {name}:\n{_shipped_texts()[name]}'
    path = str(catalogue_path())
    return parse_catalogue(parse_yaml(text, path), path)[name]


def make_urdf(arm: CatalogueArm) -> str:
    """
    Return the arm as the text of a URDF: links without shapes and inertia, joints with limits.

    :param arm: the arm; the URDF's robot has its name, base link and tip link.
    """
    robot = ElementTree.Element('robot', name=arm.name)
    for link in _links(arm):
        ElementTree.SubElement(robot, 'link', name=link)
    parent = arm.base_link
    for joint in arm.joints:
        child = _moved_link(joint)
        element = _append_joint(robot, joint.name, joint.type, parent, child)
        _append_vectors(element, 'origin', xyz=joint.xyz, rpy=joint.rpy)
        _append_vectors(element, 'axis', xyz=joint.axis)
        _append_limit(element, joint)
        parent = child
    flange = _append_joint(robot, _flange_joint(arm.tip_link), 'fixed', parent, arm.tip_link)
    _append_vectors(flange, 'origin', xyz=arm.flange_xyz, rpy=arm.flange_rpy)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _links(arm: CatalogueArm) -> Iterator[str]:
    """Iterate over the names of the links from base to tip."""
    yield arm.base_link
    yield from map(_moved_link, arm.joints)
    yield arm.tip_link


def _moved_link(joint: CatalogueJoint) -> str:
    """Return the name of the link that a joint moves."""
    return f'{joint.name}_link'


def _flange_joint(tip_link: str) -> str:
    """Return the name of the fixed joint between the last moved link and the tip link."""
    return f'{tip_link}_mount'


def _append_joint(
    robot: ElementTree.Element, name: str, kind: str, parent: str, child: str
) -> ElementTree.Element:
    """Append a ``<joint>`` between two links to a ``<robot>`` element, and return the new element."""
    joint = ElementTree.SubElement(robot, 'joint', name=name, type=kind)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    return joint


def _append_vectors(parent: ElementTree.Element, tag: str, **vectors: Vector) -> None:
    """
    Append an XML element whose attributes are vectors, with all digits of their numbers.

    :param parent: the element to append to.
    :param tag: tag of the new element.
    :param vectors: vectors by the name of the attribute.
    """
    texts = {key: ' '.join(map(repr, vector)) for key, vector in vectors.items()}
    ElementTree.SubElement(parent, tag, texts)


def _append_limit(element: ElementTree.Element, joint: CatalogueJoint) -> None:
    """
    Append the ``<limit>`` of a revolute or prismatic joint to its XML element; do nothing for a continuous joint.

    ``lower`` and ``upper`` are the limits of the joint [rad or m]; effort and velocity are written as unbounded (1e30).
    """
    if joint.type == 'continuous':
        return
    ElementTree.SubElement(
        element,
        'limit',
        lower=repr(joint.lower),
        upper=repr(joint.upper),
        effort=_NO_FIGURE,
        velocity=_NO_FIGURE,
    )


@reads_file(ConfigError)
def read_catalogue(path: str | os.PathLike[str]) -> dict[str, CatalogueArm]:
    """
    Return the arms of a catalogue by name, in the order of the file.

    :param path: a file of the format of the shipped catalogue.
    :raises DescriptionNotFound: if the file does not exist.
    :raises InvalidParameter: for a missing or misspelt key and a wrong value, with file and line.
    :raises ConfigError: when the file is malformed.
    """
    return parse_catalogue(read_yaml(Path(path)), str(path))


def parse_catalogue(content: Any, source: str) -> dict[str, CatalogueArm]:
    """
    Return the arms in the content of a catalogue by name, in the order of the file.

    :param content: the content, as :func:`read_yaml` returns it.
    :param source: the file, for messages.
    :raises InvalidParameter: for a missing or misspelt key and a wrong value, with file and line.
    :raises ConfigError: if an entry is not a mapping.
    """
    arms = _Entry(content, 'catalogue', source).only('arms').entries('arms')
    return {name: _parse_arm(name, entry) for name, entry in arms.items()}


class _Entry:
    """
    One mapping of a catalogue file, with methods that read and check its values.

    Errors name file and line.
    """

    def __init__(self, content: Any, what: str, place: str) -> None:
        """Keep the mapping, else raise ConfigError; messages call it ``what`` and give its ``place`` (file and line)."""
        self.what = what
        self.place = place
        if not isinstance(content, Mapping):
            raise ConfigError(f'{place}: {what} is not a mapping.', place=place)
        self.content = content

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise InvalidParameter about the value of a key, with file and line."""
        where = location(self.content, key, self.place)
        raise InvalidParameter(
            f"{where}: '{key}' of {self.what} {problem}.", key=key, value=self.content.get(key)
        )

    def only(self, *required: str, optional: tuple[str, ...] = ()) -> '_Entry':
        """Return this entry if it has all required keys and no unknown key; raise InvalidParameter otherwise."""
        allowed = (*required, *optional)
        for key in self.content:
            if key not in allowed:
                self.fail(key, f'is unknown. {describe_choices(key, allowed)[:-1]}')
        missing = [key for key in required if key not in self.content]
        if missing:
            raise InvalidParameter(
                f'{self.place}: {self.what} has no {", ".join(missing)}.', missing=missing
            )
        return self

    def entry(self, key: str, what: str) -> '_Entry':
        """Return the entry below a key, which messages call ``what``; raise ConfigError if it is not a mapping."""
        return _Entry(self.content[key], what, location(self.content, key, self.place))

    def entries(self, key: str) -> dict[str, '_Entry']:
        """Return the entries in the mapping below a key, by name; raise ConfigError if one of them is not a mapping."""
        below = self.entry(key, f"'{key}'")
        return {name: below.entry(name, f"'{name}'") for name in below.content}

    def items(self, key: str, what: str) -> list['_Entry']:
        """
        Return the entries in the list below a key.

        Raise InvalidParameter for anything but a list with an entry, and ConfigError for an entry that is not a
        mapping.

        :param what: word for an entry in messages.
        """
        values = self.content[key]
        if not isinstance(values, list) or not values:
            self.fail(key, 'is not a list with an entry')
        place = location(self.content, key, self.place)
        return [
            _Entry(value, f'{what} {i} of {self.what}', _first_place(value, place))
            for i, value in enumerate(values, start=1)
        ]

    def text(self, key: str, choices: Collection[str] = ()) -> str:
        """
        Return the text below a key.

        Raise InvalidParameter if it is empty or not a text, or not among ``choices`` (if there are any).
        """
        value = self.content[key]
        if not isinstance(value, str) or not value.strip():
            self.fail(key, f'is {value!r} where a text is needed')
        if choices and value not in choices:
            self.fail(key, f"is '{value}'. {describe_choices(value, choices)[:-1]}")
        return value

    def number(self, key: str) -> float:
        """Return the number below a key; raise InvalidParameter if it is negative, not finite or not a number."""
        value = self.content[key]
        if not is_finite_number(value) or value < 0.0:
            self.fail(key, f'is {value!r} where a number that is not negative is needed')
        return float(value)

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """Return the ``count`` finite numbers of the list below a key; raise InvalidParameter for any other value."""
        values = self.content[key]
        right = (
            isinstance(values, list)
            and len(values) == count
            and all(map(is_finite_number, values))
        )
        if not right:
            self.fail(key, f'is {values!r} where a list of {count} finite numbers is needed')
        return tuple(float(value) for value in values)

    def vector(self, key: str) -> Vector:
        """Return the list of three finite numbers below a key as a tuple."""
        x, y, z = self.numbers(key, 3)
        return x, y, z


def _first_place(value: Any, fallback: str) -> str:
    """Return file and line of the first key of a mapping; the fallback for any other value."""
    return (
        location(value, next(iter(value), ''), fallback) if isinstance(value, dict) else fallback
    )


def _parse_arm(name: str, entry: _Entry) -> CatalogueArm:
    """Return an arm from its entry in a catalogue; raise InvalidParameter for wrong values."""
    if not _NAME.fullmatch(name):
        raise InvalidParameter(
            f"{entry.place}: the name '{name}' of an arm is not in lower case with underscores.",
            value=name,
        )
    entry.only(*_ARM_KEYS, optional=('near_miss',))
    flange = entry.entry('flange', f"the flange of '{name}'").only('xyz', 'rpy')
    arm = CatalogueArm(
        name=name,
        **{key: entry.text(key) for key in _TEXTS},
        expected_class=entry.text('expected_class', ARM_CLASSES),
        near_miss=_parse_near_miss(entry),
        joints=tuple(_parse_joint(joint) for joint in entry.items('joints', 'joint')),
        flange_xyz=flange.vector('xyz'),
        flange_rpy=flange.vector('rpy'),
    )
    _check_names(arm, entry)
    if isinstance(entry.content['dof'], bool) or entry.content['dof'] != arm.dof:
        entry.fail(
            'dof', f'is {entry.content["dof"]!r}, but the arm has {counted(arm.dof, "joint")}'
        )
    return arm


def _check_names(arm: CatalogueArm, entry: _Entry) -> None:
    """Raise InvalidParameter if the URDF of an arm would have two links or two joints with the same name."""
    joints = [*(joint.name for joint in arm.joints), _flange_joint(arm.tip_link)]
    for kind, names in (('joints', joints), ('links', list(_links(arm)))):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            entry.fail('joints', f"lead to two {kind} with the name '{twice}'")


def _parse_near_miss(entry: _Entry) -> NearMiss | None:
    """Return the class that an arm nearly belongs to, and its deviation; None if the entry names no class."""
    if 'near_miss' not in entry.content:
        return None
    near = entry.entry('near_miss', f'the near miss of {entry.what}')
    near.only('class', 'distance', 'angle')
    return NearMiss(near.text('class', ARM_CLASSES), near.number('distance'), near.number('angle'))


def _parse_joint(entry: _Entry) -> CatalogueJoint:
    """Return a joint from its entry in a catalogue; raise InvalidParameter for wrong values."""
    entry.only(*_JOINT_KEYS, optional=('limits',))
    kind = entry.text('type', JOINT_TYPES)
    axis = entry.vector('axis')
    if abs(math.hypot(*axis) - 1.0) > _UNIT:
        entry.fail('axis', f'is {list(axis)}, whose length is not 1')
    lower, upper = _parse_limits(entry, kind)
    return CatalogueJoint(
        name=entry.text('name'),
        type=kind,
        xyz=entry.vector('xyz'),
        rpy=entry.vector('rpy'),
        axis=axis,
        lower=lower,
        upper=upper,
    )


def _parse_limits(entry: _Entry, kind: str) -> tuple[float, float]:
    """Return lower and upper limit of a joint [rad or m]; infinite for a continuous joint, required for others."""
    if kind == 'continuous':
        if 'limits' in entry.content:
            entry.fail('limits', 'belongs to a continuous joint, which has none')
        return -math.inf, math.inf
    entry.only(*_JOINT_KEYS, 'limits')
    lower, upper = entry.numbers('limits', 2)
    if lower >= upper:
        entry.fail('limits', f'is [{lower:g}, {upper:g}], which leaves no room')
    return lower, upper
