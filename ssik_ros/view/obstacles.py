"""Obstacles of a viewer: read from files, made from the numbers on a page, written as YAML, and drawn as surfaces."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, InvalidOption, quote, reads_file
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, pose_matrix, rpy_of_matrix
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.geometry import MESH_SUFFIXES
from ssik_ros.model.collision.objects import (
    check_shape,
    ObjectShape,
    read_mesh_shape,
    SolidKind,
    WorldObject,
)
from ssik_ros.strict_yaml import EntryReader, location, parse_yaml, read_yaml, refuse
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.solids import (
    join,
    make_box,
    make_cylinder,
    make_mesh,
    make_sphere,
    Surface,
)
from ssik_ros.view.pose_text import rounded

KINDS = {'box': SolidKind.BOX, 'sphere': SolidKind.SPHERE, 'cylinder': SolidKind.CYLINDER}
"""Solids that a page can add: lengths of the edges, radius, height and radius [m]."""
KEYS = (*KINDS, 'mesh', 'scale', 'xyz', 'rpy')
LARGEST_OBSTACLE = 10.0
"""Largest size of an obstacle that a page adds [m]."""
MOST_OBSTACLES = 32
"""Most obstacles of a page."""
ORIGIN = np.eye(4)
OBSTACLE: Colour = (0.62, 0.55, 0.45)
"""Colour of obstacles."""


def make_solid(name: str, kind: str, sizes: list[float], pose: FloatArray) -> WorldObject:
    """
    Return an obstacle that is a box, a sphere or a cylinder.

    :param name: name of the obstacle.
    :param kind: one of :data:`KINDS`.
    :param sizes: lengths of the three edges, the radius, or height and radius [m].
    :param pose: (4, 4) in the model frame.
    :raises ModelError: for a wrong number of sizes, or sizes that are not positive.
    :raises InvalidOption: for a size above LARGEST_OBSTACLE.
    """
    if max(sizes, default=0.0) > LARGEST_OBSTACLE:
        raise InvalidOption(
            f'An obstacle may be {LARGEST_OBSTACLE:g} m large, not {max(sizes):g} m.'
        )
    return WorldObject(name, pose, (_make_shape(kind, sizes, f'Obstacle {quote(name)}'),))


def _make_shape(kind: str, sizes: list[float], noun: str) -> ObjectShape:
    """Return a solid; ``noun`` names the obstacle in the ModelError for sizes that are wrong."""
    shape = ObjectShape(KINDS[kind], sizes, ORIGIN)
    check_shape(shape, noun)
    return shape


def only_solid(item: WorldObject) -> ObjectShape:
    """
    Return the only shape of an obstacle: a box, a sphere or a cylinder.

    :param item: the obstacle.
    :raises InvalidOption: for any other shape, such as a mesh, and for an obstacle of several shapes.
    """
    if len(item.shapes) != 1 or item.shapes[0].kind not in KINDS.values():
        raise InvalidOption(
            f'Obstacle {quote(item.name)} is not a box, a sphere or a cylinder, so it cannot be copied as text: remove it, '
            'or give its file to --obstacles.'
        )
    return item.shapes[0]


def describe_obstacles(items: Iterable[WorldObject]) -> dict[str, dict[str, Any]]:
    """
    Return obstacles as a mapping by name that can be written as YAML: size, ``xyz`` and ``rpy`` of each.

    :func:`parse_obstacles` reads this mapping under the key ``obstacles``.

    :param items: the obstacles.
    :raises InvalidOption: for an obstacle that is not one box, sphere or cylinder.
    """
    names = {kind: name for name, kind in KINDS.items()}
    by_name = {}
    for item in items:
        shape = only_solid(item)
        pose, sizes = item.pose @ shape.pose, rounded(shape.sizes)
        by_name[item.name] = {
            names[shape.kind]: sizes if len(sizes) > 1 else sizes[0],
            'xyz': rounded(pose[:3, 3]),
            'rpy': rounded(rpy_of_matrix(pose[:3, :3])),
        }
    return by_name


def read_obstacle_option(text: str) -> list[WorldObject]:
    """
    Return the obstacles that the option ``--obstacles`` of the command line gives.

    :param text: path of a file, or YAML that begins with a brace.
    :raises SsikError: if the file cannot be read or has a wrong entry; the message names its line.
    """
    if text.lstrip().startswith('{'):
        return parse_obstacles(parse_yaml(text, '--obstacles'), '--obstacles')
    return read_obstacles(Path(text))


@reads_file(ConfigError)
def read_obstacles(path: Path) -> list[WorldObject]:
    """
    Return the obstacles in a YAML file, or one obstacle for a mesh file.

    :param path: the file; paths of meshes in a YAML file are relative to its folder.
    :raises SsikError: if the file cannot be read or has a wrong entry; the message names its line.
    """
    if path.suffix.lower() in MESH_SUFFIXES:
        return [WorldObject(path.stem, ORIGIN, (read_mesh_shape(path, 1.0, import_coal()),))]
    return parse_obstacles(read_yaml(path), str(path), path.parent)


def parse_obstacles(
    content: Any, source: str = 'file of obstacles', folder: Path = Path()
) -> list[WorldObject]:
    """
    Return the obstacles in the parsed content of a YAML file.

    :param content: the mapping at the top of the file, with the key ``obstacles``.
    :param source: the file's name for messages.
    :param folder: folder to which paths of meshes are relative.
    :raises SsikError: for a wrong entry; the message names its line.
    """
    entries = EntryReader(content, source, 'the file', ('obstacles',)).mapping('obstacles')
    return [
        _read_entry(name, entry, location(entries, name, source), folder)
        for name, entry in entries.items()
    ]


def _read_entry(name: str, entry: Any, place: str, folder: Path) -> WorldObject:
    """
    Return the obstacle of one entry of a file; raise SsikError for a wrong entry.

    :param place: file and line of the entry, for messages.
    :param folder: folder to which paths of meshes are relative.
    """
    reader = EntryReader(entry, place, f'obstacle {quote(name)}', KEYS)
    kinds = [kind for kind in (*KINDS, 'mesh') if kind in reader.entry]
    if len(kinds) != 1:
        refuse(place, f'obstacle {quote(name)} needs one of {", ".join((*KINDS, "mesh"))}')
    shape = _read_shape(reader, kinds[0], folder)
    xyz, rpy = (
        reader.numbers(key, 3) if key in reader.entry else (0.0, 0.0, 0.0)
        for key in ('xyz', 'rpy')
    )
    return WorldObject(name, pose_matrix(np.array(xyz), matrix_of_rpy(*rpy)), (shape,))


def _read_shape(reader: EntryReader, kind: str, folder: Path) -> ObjectShape:
    if kind == 'mesh':
        scale = reader.positive('scale') if 'scale' in reader.entry else 1.0
        return read_mesh_shape(folder / reader.text('mesh'), scale, import_coal())
    count = KINDS[kind].count
    sizes = [reader.positive(kind)] if count == 1 else list(reader.numbers(kind, count))
    return _make_shape(kind, sizes, f'{reader.place}: {reader.noun}')


def obstacle_surface(item: WorldObject) -> Surface:
    """
    Return the triangles of an obstacle in its own frame; a plane has no triangles.

    :param item: the obstacle.
    """
    return join([_surface_of(shape).moved(shape.pose) for shape in item.shapes])


def _surface_of(shape: ObjectShape) -> Surface:
    sizes = [float(size) for size in shape.sizes]
    if shape.kind is SolidKind.BOX:
        return make_box(sizes)
    if shape.kind is SolidKind.SPHERE:
        return make_sphere(sizes[0])
    if shape.kind is SolidKind.CYLINDER:
        return make_cylinder(sizes[1], sizes[0])
    if shape.kind is SolidKind.CONE:
        return make_cylinder(sizes[1], sizes[0], 0.0)
    if shape.vertices is None or shape.triangles is None:
        return join([])
    return make_mesh(shape.vertices, shape.triangles)
