"""Collision objects as data, with checks: solids, meshes and planes, fixed in the world or carried by a link."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
import math
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import check_kind, refuse
from ssik_ros.arrays import are_within_reason, FloatArray, IntArray, is_within_reason, TOO_FAR
from ssik_ros.errors import counted, DescriptionNotFound, InvalidOption, ModelError, quote
from ssik_ros.kernels.geometry import se3
from ssik_ros.model.collision.geometry import Mesh, read_triangles
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import dataclass

_Kind = TypeVar('_Kind')
FLOAT = {float}
LONGEST_NAME = 1_000
"""Characters of the name of an object or frame."""


class SolidKind(Enum):
    """Kinds of shapes of collision objects; the text of each names its sizes in their order, ``count`` their number."""

    BOX = 3
    """x, y, z [m]."""
    SPHERE = 1
    """Radius [m]."""
    CYLINDER = (2, 'cylinder')
    """Height along z, radius [m]."""
    CONE = (2, 'cone')
    """Height along z, radius at the bottom [m]; the origin is halfway up."""
    PLANE = 4
    """a, b, c, d of a x + b y + c z + d = 0."""
    MESH = 0
    UNKNOWN = -1
    """Unknown shape type in a collision object message."""

    def __init__(self, count: int, word: str = '') -> None:
        """
        Store the number of sizes.

        :param count: how many sizes describe a shape of this kind; 0 for a mesh, -1 for an unknown kind.
        :param word: text that tells kinds with equal counts apart.
        """
        del word
        self.count = count


@dataclass(frozen=True, eq=False)
class ObjectShape:
    """
    One shape of a collision object: a solid with its sizes, or a mesh, at a pose in the object.

    :class:`SolidKind` says which sizes each kind has; a mesh has none.
    """

    kind: SolidKind
    sizes: Sequence[float]
    pose: FloatArray
    """(4, 4) in the frame of the object."""
    vertices: FloatArray | None = None
    """(v, 3) of a mesh [m]."""
    triangles: IntArray | None = None
    """(t, 3) indices of vertices."""


@dataclass(frozen=True, eq=False)
class WorldObject:
    """A named collision object: a pose, its shapes, and named frames on it. Its fields cannot be set."""

    name: str
    pose: FloatArray
    """
    (4, 4) in the model frame, unless a parameter names another frame for its objects.

    The pose of a carried object is in the link that carries it.
    """
    shapes: tuple[ObjectShape, ...]
    subframes: Mapping[str, FloatArray] = field(default_factory=dict)
    """(4, 4) each, in the frame of the object."""


@dataclass(frozen=True, eq=False)
class CarriedObject:
    """A collision object that a link carries, with the links that may touch it."""

    object: WorldObject
    """The object; its pose is in the frame of ``link``."""
    link: str
    """The link that carries it."""
    touch_links: frozenset[str] = frozenset()
    """Links that may touch it, in addition to the link that carries it."""


def place_objects(objects: Sequence[WorldObject], pose: FloatArray) -> list[WorldObject]:
    """
    Return copies of checked objects with their poses in another frame; the new poses are checked.

    :param objects: the objects, which :func:`check_object` accepts.
    :param pose: (4, 4) pose of the frame that they are in, in the other frame.
    :raises ModelError: if an object is beyond ``LARGEST_REQUEST_VALUE`` in the other frame.
    """
    placed = [replace(item, pose=pose @ item.pose) for item in objects]
    for item in placed:
        _refuse(item, _pose_fault(item.pose))
    return placed


def read_objects(name: str, objects: Any) -> tuple[WorldObject, ...]:
    """
    Check an argument and return it as a tuple of WorldObject.

    :param name: name of the argument, for messages.
    :param objects: the value of the argument.
    :raises InvalidOption: if it is not iterable or contains anything but WorldObject.
    :raises ModelError: for an invalid object, such as one without shapes, see :func:`check_object`.
    """
    given = _read_all(name, objects, WorldObject)
    for item in given:
        check_object(item)
    return given


def read_carried(name: str, carried: Any) -> tuple[CarriedObject, ...]:
    """
    Check an argument and return it as a tuple of CarriedObject.

    :param name: name of the argument, for messages.
    :param carried: the value of the argument.
    :raises InvalidOption: if it is not iterable or contains anything but CarriedObject.
    :raises ModelError: for an invalid object, such as one without shapes, see :func:`check_object`.
    """
    given = _read_all(name, carried, CarriedObject)
    read_objects(name, [entry.object for entry in given])
    return given


def _read_all(name: str, values: Any, kind: type[_Kind]) -> tuple[_Kind, ...]:
    """Return an argument as a tuple of instances of a class; raise InvalidOption for anything else."""
    if not isinstance(values, Iterable):
        refuse(name, values, f'a list of {kind.__name__}')
    return tuple(check_kind(name, value, kind) for value in values)


def check_object(item: WorldObject) -> None:
    """
    Raise an error if an object is invalid: for the collision library it would be no obstacle at all.

    :param item: the object.
    :raises ModelError: for no name or too long a name, an object without shapes, a pose that is not a rigid transform,
        and a shape that :func:`check_shape` refuses. Also for a pose or a size beyond ``LARGEST_REQUEST_VALUE``.
    """
    if not isinstance(item.name, str) or not item.name:
        raise ModelError('An object has no id.')
    _refuse(item, _object_fault(item))


def _refuse(item: WorldObject, fault: str) -> None:
    """Raise ModelError for an object with a fault, a phrase that follows "has"; do nothing if it is empty."""
    if fault:
        raise ModelError(f'Object {quote(item.name)} has {fault}.', object=item.name)


def _object_fault(item: WorldObject) -> str:
    """Return the fault of an object as a phrase that follows "has"; empty if it is valid."""
    if max(map(len, (item.name, *item.subframes))) > LONGEST_NAME:
        return f'a name of more than {LONGEST_NAME} characters'
    if not item.shapes:
        return 'no shape'
    return _pose_fault(item.pose) or next(filter(None, map(_shape_fault, item.shapes)), '')


def check_shape(shape: ObjectShape, noun: str) -> None:
    """
    Raise ModelError if the numbers of a collision shape are invalid.

    :param shape: the shape.
    :param noun: words for the object that has the shape, for the message.
    :raises ModelError: for an unknown kind, a pose that is not a rigid transform, and numbers that are missing, not
        finite or beyond ``LARGEST_REQUEST_VALUE``. Also for a solid with a size that is not above zero, and a plane
        without direction. Also for a mesh without triangles or with indices outside its vertices.
    """
    fault = _shape_fault(shape)
    if fault:
        raise ModelError(f'{noun} has {fault}.', object=noun)


def _shape_fault(shape: ObjectShape) -> str:
    """Return the fault of a shape as a phrase that follows "has"; empty if it is valid."""
    check_kind('shape', shape, ObjectShape)
    if not isinstance(shape.kind, SolidKind) or shape.kind is SolidKind.UNKNOWN:
        return 'a solid with a kind other than box, sphere, cylinder and cone'
    fault = _pose_fault(shape.pose) or _size_fault(shape.kind, shape.sizes)
    if not fault and shape.kind is SolidKind.MESH:
        fault = _mesh_fault(_as_numbers(shape.vertices), _as_numbers(shape.triangles))
    return f'a {shape.kind.name.lower()} with {fault}' if fault else ''


def _pose_fault(given: Any) -> str:
    """Return the fault of the pose of an object or shape as a phrase; empty if it is valid."""
    pose = np.ascontiguousarray(_as_numbers(given), dtype=np.float64)
    if pose.shape != (4, 4) or not se3.is_rigid(pose, 0, DEFAULT_TOLERANCES.rigid):
        return 'a pose that is no finite rigid transform'
    return '' if are_within_reason(pose[:3, 3].tolist()) else f'a pose {TOO_FAR}'


def _size_fault(kind: SolidKind, given: Any) -> str:
    """Return the fault of the sizes of a shape as a phrase such as "no direction"; empty if they are valid."""
    sizes = given
    if type(given) not in (tuple, list) or not FLOAT.issuperset(map(type, given)):
        array = _as_numbers(given)
        sizes = array.tolist() if array.ndim == 1 else [math.nan] * array.size
    if len(sizes) != kind.count or not all(map(math.isfinite, sizes)):
        return f'{counted(len(sizes), "number")} instead of {kind.count} finite ones'
    if kind is SolidKind.PLANE:
        if not np.linalg.norm(sizes[:3]) > 0.0:
            return 'no direction'
    elif kind is not SolidKind.MESH and min(sizes) <= 0.0:
        return 'a size that is not above zero'
    return '' if are_within_reason(sizes) else f'a size {TOO_FAR}'


def _mesh_fault(vertices: NDArray[Any], triangles: NDArray[Any]) -> str:
    """
    Return the fault of a mesh as a phrase such as "no triangles"; empty if it is valid.

    :param vertices: (v, 3) [m].
    :param triangles: (t, 3) indices of vertices.
    """
    if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,) or not len(triangles):
        return 'no triangles'
    if not is_within_reason(vertices):
        is_far = np.isfinite(vertices).all()
        return f'a vertex {TOO_FAR}' if is_far else 'a vertex that is not finite'
    if not (triangles.min() >= 0 and triangles.max() < len(vertices)):
        return 'a triangle of vertices that it does not have'
    return ''


def _as_numbers(values: Any) -> NDArray[Any]:
    """Return real numbers as an array of the same shape; a single NaN for anything else."""
    try:
        numbers = np.asarray(values)
    except ValueError:
        return np.array(np.nan)
    return numbers if numbers.dtype.kind in 'fiu' else np.array(np.nan)


def read_mesh_shape(path: Path, scale: float, coal: Any) -> ObjectShape:
    """
    Return the mesh in a file as a shape.

    :param path: the file.
    :param scale: factor of its coordinates.
    :param coal: the collision library.
    :raises DescriptionNotFound: if the file does not exist.
    :raises InvalidOption: if the file is too large, or cannot be read as a mesh with finite numbers.
    :raises ModelError: if the mesh has no triangles, or a vertex that is too far away after scaling.
    """
    if not path.is_file():
        raise DescriptionNotFound(f'There is no mesh {quote(path)}.')
    mesh = read_triangles(path, np.full(3, scale), coal)
    if isinstance(mesh, str):
        raise InvalidOption(f'Obstacle: {mesh}')
    shape = ObjectShape(SolidKind.MESH, (), np.eye(4), *mesh)
    check_shape(shape, f'Mesh {quote(path)}')
    return shape


def make_geometry(shape: ObjectShape, coal: Any) -> Any:
    """
    Return a shape as a solid of coal or as a Mesh; its pose is not part of the result.

    :param shape: a shape that :func:`check_shape` accepts; it is not checked again.
    :param coal: the collision library.
    """
    sizes = [float(value) for value in shape.sizes]
    if shape.kind == SolidKind.BOX:
        return coal.Box(*sizes)
    if shape.kind == SolidKind.SPHERE:
        return coal.Sphere(*sizes)
    if shape.kind == SolidKind.CYLINDER:
        return coal.Cylinder(sizes[1], sizes[0])
    if shape.kind == SolidKind.CONE:
        return coal.Cone(sizes[1], sizes[0])
    if shape.kind == SolidKind.PLANE:
        normal = np.array(sizes[:3])
        length = float(np.linalg.norm(normal))
        return coal.Plane(normal / length, -sizes[3] / length)
    return Mesh(np.asarray(shape.vertices), np.asarray(shape.triangles))
