"""Collision objects as data, with checks: solids, meshes and planes, fixed in the world or carried by a link."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arguments import check_kind, refuse
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import counted, DescriptionNotFound, InvalidOption, ModelError, quote
from ssik_ros.model.collision.geometry import Mesh, read_triangles
from ssik_ros.value_class import dataclass


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

    @property
    def count(self) -> int:
        """Return how many sizes describe a shape of this kind; 0 for a mesh, -1 for an unknown kind."""
        return self.value[0] if isinstance(self.value, tuple) else int(self.value)


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
    """A named collision object: a pose, its shapes, and named frames on it. It is immutable."""

    name: str
    pose: FloatArray
    """(4, 4) in the model frame; of a carried object in the link that carries it."""
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
    Return copies of objects with their poses in another frame.

    :param objects: the objects.
    :param pose: (4, 4) pose of the frame that they are in, in the other frame.
    """
    return [replace(item, pose=pose @ item.pose) for item in objects]


def read_objects(name: str, objects: Any) -> tuple[WorldObject, ...]:
    """
    Check an argument and return it as a tuple of WorldObject.

    :param name: name of the argument, for messages.
    :param objects: the value of the argument.
    :raises InvalidOption: if it is not iterable or contains anything but WorldObject.
    """
    if not isinstance(objects, Iterable):
        refuse(name, objects, 'a list of WorldObject')
    return tuple(check_kind(name, item, WorldObject) for item in objects)


def check_shape(shape: ObjectShape, noun: str) -> None:
    """
    Raise ModelError if the numbers of a collision shape are invalid.

    :param shape: the shape.
    :param noun: words for the object that has the shape, for the message.
    :raises ModelError: for an unknown kind, and for numbers that are missing or not finite. Also for a solid with a
        size that is not above zero, and a plane without direction. Also for a mesh without triangles or with indices
        outside its vertices.
    """
    sizes = np.asarray(shape.sizes, dtype=np.float64)
    wrong = ''
    if shape.kind == SolidKind.UNKNOWN:
        wrong = 'a kind other than box, sphere, cylinder and cone'
    elif not np.isfinite(shape.pose).all():
        wrong = 'a pose that is no finite rigid transform'
    elif len(sizes) != shape.kind.count or not np.isfinite(sizes).all():
        wrong = f'{counted(len(sizes), "number")} instead of {shape.kind.count} finite ones'
    elif shape.kind == SolidKind.PLANE and not sizes[:3].any():
        wrong = 'no direction'
    elif shape.kind not in (SolidKind.PLANE, SolidKind.MESH) and not (sizes > 0.0).all():
        wrong = 'a size that is not above zero'
    elif shape.kind == SolidKind.MESH:
        wrong = _mesh_fault(shape.vertices, shape.triangles)
    if wrong:
        name = 'solid' if shape.kind == SolidKind.UNKNOWN else shape.kind.name.lower()
        raise ModelError(f'{noun} has a {name} with {wrong}.', object=noun)


def _mesh_fault(vertices: FloatArray | None, triangles: IntArray | None) -> str:
    """
    Return the fault of a mesh as a phrase, such as indices outside the vertices; empty if the mesh is valid.

    :param vertices: (v, 3) [m].
    :param triangles: (t, 3) indices of vertices.
    """
    if vertices is None or triangles is None or not len(triangles):
        return 'no triangles'
    if not np.isfinite(vertices).all():
        return 'a vertex that is not finite'
    if int(triangles.max()) >= len(vertices) or int(triangles.min()) < 0:
        return 'a triangle of vertices that it does not have'
    return ''


def read_mesh_shape(path: Path, scale: float, coal: Any) -> ObjectShape:
    """
    Return the mesh in a file as a shape.

    :param path: the file.
    :param scale: factor of its coordinates.
    :param coal: the collision library.
    :raises DescriptionNotFound: if the file does not exist.
    :raises InvalidOption: if the file is not a mesh or is too large.
    :raises ModelError: if the mesh has no triangles or numbers that are not finite.
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
    Return a checked shape, without its pose, as a solid of coal or as a Mesh.

    :param shape: the shape.
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
