"""
Loops of a robot whose URDF is a tree: from a ``loop_closures.yaml``, from ``<constraint>`` elements, or from code.

Every loop is cut at one joint. The cut leaves two frames, one on a parent link and one on a child link. They coincide
except for the free motion of the joint, along and about the axes of the parent's frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    ConfigError,
    describe_choices,
    InvalidClosure,
    quote,
    reads_file,
    shorten,
)
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, pose_matrix
from ssik_ros.mechanisms.names import DOF, DOF_NAMES
from ssik_ros.model.urdf.data import LoopConstraint
from ssik_ros.problem.problem import rotation_to_axis
from ssik_ros.strict_yaml import EntryReader, finite_number, location, read_yaml, refuse
from ssik_ros.value_class import dataclass

FREE_OF_TYPE: Mapping[str, tuple[DOF, ...]] = {
    'fixed': (),
    'revolute': (DOF.EZ,),
    'continuous': (DOF.EZ,),
    'prismatic': (DOF.Z,),
    'cylindrical': (DOF.Z, DOF.EZ),
    'planar': (DOF.X, DOF.Y, DOF.EZ),
    'universal': (DOF.EX, DOF.EY),
    'spherical': (DOF.EX, DOF.EY, DOF.EZ),
}
"""The free degrees of freedom of each joint type; the z axis of the frame is the joint's axis."""
TYPES_WITH_AXIS = ('revolute', 'continuous', 'prismatic', 'cylindrical', 'planar')
_FILE_KEYS = ('loops', 'active_joints', 'initial_positions')
_LOOP_KEYS = ('type', 'dof', 'axis', 'parent', 'child')
_END_KEYS = ('link', 'xyz', 'rpy')
_CONSTRAINT_TAGS = (
    'parent',
    'child',
    'parent_origin',
    'child_origin',
    'parent_axis',
    'child_axis',
)
_SAME_AXIS = 1e-9
_ZEROS = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class LoopClosure:
    """
    One loop of a robot, cut at a joint: two frames on two links that may differ only in some DOF.

    In the closed loop the frames coincide, except for motion in the listed degrees of freedom.
    """

    name: str
    parent: str
    """Name of the link with the frame that has the axes of the free motion."""
    child: str
    """Name of the other link."""
    dof: tuple[DOF, ...] = ()
    """The degrees of freedom in which the two frames may differ, ascending."""
    parent_pose: FloatArray = field(default_factory=lambda: np.eye(4))
    """(4, 4) pose of the frame on the parent link [m]."""
    child_pose: FloatArray = field(default_factory=lambda: np.eye(4))
    """(4, 4) pose of the frame on the child link [m]."""


@dataclass(frozen=True)
class LoopClosures:
    """The content of a ``loop_closures.yaml``: loops, names of active joints, and initial positions."""

    closures: tuple[LoopClosure, ...] = ()
    active_joints: tuple[str, ...] = ()
    """Names of the variables of joints with motors; all other joints follow from them."""
    initial_positions: Mapping[str, float] = field(default_factory=dict)
    """A state in which the loops are closed, or nearly so, by variable [rad or m]: it chooses the assembly mode."""


def z_to(axis: ArrayLike) -> FloatArray:
    """
    Return a rotation (3, 3) that turns the z axis into another axis.

    If the z component of the other axis is not negative, it is the smallest such rotation. Otherwise half a turn about
    x comes first.

    :param axis: (3,) of any length but zero.
    """
    array = np.asarray(axis, dtype=float)
    return rotation_to_axis(array / np.linalg.norm(array))[:3, :3]


def frame_pose(xyz: Sequence[float], rpy: Sequence[float], rotation: FloatArray) -> FloatArray:
    """
    Return the pose (4, 4) of a URDF origin, followed by a rotation.

    :param xyz: position [m].
    :param rpy: roll, pitch, yaw [rad].
    :param rotation: (3, 3) in the frame.
    """
    return pose_matrix(np.asarray(xyz, dtype=float), matrix_of_rpy(*rpy) @ rotation)


@reads_file(ConfigError)
def read_loop_closures(path: str | os.PathLike[str]) -> LoopClosures:
    """
    Return the loops of a robot from a file.

    :param path: a ``loop_closures.yaml``.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ConfigError: for unknown keys and wrong values, with their place.
    """
    return parse_loop_closures(read_yaml(Path(path)), str(path))


def parse_loop_closures(content: Any, source: str = 'loop_closures') -> LoopClosures:
    """
    Return the loops in the content of a ``loop_closures.yaml``.

    :param content: the mapping.
    :param source: the file's name for messages.
    :raises ConfigError: for unknown keys and wrong values, with their place.
    """
    reader = EntryReader(content, source, 'the file', _FILE_KEYS)
    loops, start = reader.mapping('loops'), reader.mapping('initial_positions')
    active, place = reader.entry.get('active_joints', []), reader.where('initial_positions')
    if not isinstance(active, list) or not all(isinstance(name, str) for name in active):
        reader.refuse('active_joints', 'is no list of names')
    return LoopClosures(
        closures=tuple(
            _read_loop(name, loop, location(loops, name, source)) for name, loop in loops.items()
        ),
        active_joints=tuple(active),
        initial_positions={
            name: finite_number(value, location(start, name, place), quote(name))
            for name, value in start.items()
        },
    )


def _read_loop(name: str, content: Any, place: str) -> LoopClosure:
    """
    Return one loop from its mapping in a file; raise ConfigError with the line for wrong content.

    :param name: name of the loop.
    :param content: the mapping.
    :param place: file and line of the loop, for messages.
    """
    reader = EntryReader(content, place, f'loop {quote(name)}', _LOOP_KEYS)
    if ('type' in reader.entry) == ('dof' in reader.entry):
        refuse(place, f"{reader.noun} needs either 'type' or 'dof'")
    dof, has_axis = _free(reader)
    if has_axis != ('axis' in reader.entry):
        text = 'needs the axis of its joint' if has_axis else "has no use for an 'axis'"
        refuse(place, f'{reader.noun} {text}')
    axis = reader.numbers('axis', 3) if has_axis else (0.0, 0.0, 1.0)
    if math.hypot(*axis) < _SAME_AXIS:
        reader.refuse('axis', 'is zero')
    parent, parent_pose = _read_end(reader, 'parent', z_to(axis))
    child, child_pose = _read_end(reader, 'child', z_to(axis))
    return LoopClosure(name, parent, child, dof, parent_pose, child_pose)


def _read_end(loop: EntryReader, end: str, rotation: FloatArray) -> tuple[str, FloatArray]:
    """
    Return link name and pose (4, 4) of one end of a loop in a file.

    Raise ConfigError for wrong content.

    :param loop: entry of the loop.
    :param end: ``parent`` or ``child``.
    :param rotation: (3, 3) rotation that follows the pose in the file.
    """
    if end not in loop.entry:
        refuse(loop.place, f'{loop.noun} has no {quote(end)}')
    where, what = loop.where(end), f'the {end} of {loop.noun}'
    reader = EntryReader(loop.entry[end], where, what, _END_KEYS)
    if not isinstance(reader.entry.get('link'), str):
        refuse(where, f"{what} names no 'link'")
    xyz, rpy = (
        reader.numbers(key, 3) if key in reader.entry else _ZEROS for key in ('xyz', 'rpy')
    )
    return reader.entry['link'], frame_pose(xyz, rpy, rotation)


def _free(reader: EntryReader) -> tuple[tuple[DOF, ...], bool]:
    """
    Return the free degrees of freedom of a loop in a file, and whether its joint type has an axis.

    Raise ConfigError for wrong content. Without ``type``, the degrees of freedom are read from ``dof``, and the second
    value is False.
    """
    if 'type' in reader.entry:
        kind = reader.choice('type', FREE_OF_TYPE)
        return FREE_OF_TYPE[kind], kind in TYPES_WITH_AXIS
    names = reader.entry['dof']
    if not isinstance(names, list) or len({str(n) for n in names}) < len(names):
        reader.refuse('dof', f'is no list of different names but {names!r}')
    for dof in names:
        if dof not in DOF_NAMES:
            hint = describe_choices(dof, DOF_NAMES)
            refuse(reader.where('dof'), f'unknown degree of freedom {dof!r}', hint)
    return tuple(sorted(DOF[dof] for dof in names)), False


def closure_of_constraint(constraint: LoopConstraint) -> LoopClosure:
    """
    Return the loop that a ``<constraint>`` element of a URDF describes.

    :param constraint: the element; in the closed loop, its axes on both links are the same line.
    :raises InvalidClosure: for an unknown type and an axis of length zero. Also for a prismatic joint whose axes on
        both links differ, because the relative orientation of the links would be unknown.
    """
    name, kind = constraint.name, constraint.type
    line = constraint.element.line
    if kind not in FREE_OF_TYPE:
        text = f'Constraint {quote(name)} (line {line}) has no known type: {quote(kind)}. '
        raise InvalidClosure(text + describe_choices(kind, FREE_OF_TYPE), name=name, line=line)
    rotations = [np.eye(3), np.eye(3)]
    if kind in TYPES_WITH_AXIS:
        axes = [np.array(axis) for axis in (constraint.parent_axis, constraint.child_axis)]
        if not all(np.linalg.norm(axis) > _SAME_AXIS for axis in axes):
            text = f'Constraint {quote(name)} (line {line}) has an axis of length zero.'
            raise InvalidClosure(text, name=name, line=line)
        rotations = [z_to(axis) for axis in axes]
        if (
            kind == 'prismatic'
            and np.abs(rotations[0][:, 2] - rotations[1][:, 2]).max() > _SAME_AXIS
        ):
            text = (
                f'Constraint {quote(name)} (line {line}) is a slide, and its two axes differ: turn '
                'its origins instead, so that both frames have the same axis.'
            )
            raise InvalidClosure(text, name=name, line=line)
    return LoopClosure(
        name=name,
        parent=constraint.parent,
        child=constraint.child,
        dof=FREE_OF_TYPE[kind],
        parent_pose=frame_pose(constraint.parent_xyz, constraint.parent_rpy, rotations[0]),
        child_pose=frame_pose(constraint.child_xyz, constraint.child_rpy, rotations[1]),
    )


def unused_parts(constraint: LoopConstraint) -> list[str]:
    """Return a sentence for each child element of a ``<constraint>`` that this package ignores."""
    return [
        f'<{shorten(part.tag)}> of constraint {quote(constraint.name)} (line {part.line}) is not used.'
        for part in constraint.element.children
        if part.tag not in _CONSTRAINT_TAGS
    ]
