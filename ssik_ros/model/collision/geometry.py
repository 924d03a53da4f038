"""
Read the ``<collision>`` elements of a URDF as collision shapes, by means of the collision library coal.

Boxes and round solids are objects of coal. A mesh is a :class:`Mesh`, which makes its object of coal at the first use.
Unknown shapes and meshes that cannot be read are left out, with a sentence about each.
"""

import logging
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import quote, shorten
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy, pose_matrix
from ssik_ros.model.description_files import existing_file, find_package, resolve_package_uri
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.reader import parse_origin
from ssik_ros.model.urdf.xml_document import XmlElement
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.model.collision')

MESH_SUFFIXES = ('.3ds', '.dae', '.glb', '.gltf', '.obj', '.off', '.ply', '.stl')
"""Suffixes of mesh files. Other files are never opened, since the URDF may come from an untrusted sender."""
MOST_MESH_BYTES = 64 << 20
"""Size of the largest mesh file that is read [bytes]."""
ROUND_SOLIDS = {
    'sphere': ('radius',),
    'cylinder': ('radius', 'length'),
    'capsule': ('radius', 'length'),
}
"""Names of the sizes of the solids other than boxes."""
STL_HEADER = 80
"""Bytes before the number of triangles in a binary STL file."""
STL_TRIANGLE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])


class Mesh:
    """
    The triangles of a mesh, and the trees of boxes that coal needs to check it.

    A tree takes ten times the memory of its triangles, so that each one is built at its first use.
    """

    def __init__(self, vertices: FloatArray, triangles: IntArray) -> None:
        """
        Keep the triangles; no tree is built.

        :param vertices: (v, 3) corners, at least one [m].
        :param triangles: (t, 3) indices of vertices.
        """
        self.vertices, self.triangles = vertices, triangles
        self.low, self.high = vertices.min(axis=0), vertices.max(axis=0)
        """Least and largest coordinates (3,) of the vertices [m]."""
        self.trees: dict[type, Any] = {}
        """The trees that are built, by class of coal."""

    def tree(self, kind: Any) -> Any:
        """
        Return the mesh with a tree of boxes, as an object of coal.

        :param kind: class of coal: BVHModelOBB for collisions; BVHModelOBBRSS for distances, of twice the size.
        """
        if kind not in self.trees:
            model = kind()
            model.beginModel(len(self.triangles), len(self.vertices))
            model.addVertices(np.ascontiguousarray(self.vertices, dtype=np.float64))
            model.addTriangles(np.ascontiguousarray(self.triangles, dtype=np.int64))
            model.endModel()
            self.trees[kind] = model
        return self.trees[kind]


def as_coal(geometry: Any, kind: Any) -> Any:
    """
    Return a geometry as an object of coal.

    :param geometry: a solid of coal, which is returned itself, or a :class:`Mesh`.
    :param kind: class of coal for a mesh: BVHModelOBB for collisions, BVHModelOBBRSS for distances.
    """
    return geometry.tree(kind) if isinstance(geometry, Mesh) else geometry


_MESHES: WeakValueDictionary[tuple[object, ...], Mesh] = WeakValueDictionary()
"""Meshes in use, by file and scale, so that all links and checkers share their triangles and trees."""


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """One collision shape of a link or of an object, fixed to the moving joint that carries it."""

    link: str
    """Name of the link or of the object."""
    carrier: int
    """Index of the moving joint that carries it; -1 for the root link, -2 for the world."""
    placement: FloatArray
    """(4, 4) pose in the carrier's moved frame."""
    geometry: Any
    """A :class:`Mesh`, or a solid as an object of the collision library coal."""
    center: FloatArray
    """(3,) centre of its bounding sphere and of its bounding box in its own frame [m]."""
    radius: float
    """Radius of its bounding sphere [m]."""
    half: FloatArray
    """(3,) half lengths of the edges of its bounding box, which are parallel to its own axes [m]."""


def make_shape(
    link: str, carrier: int, placement: FloatArray, geometry: Any, *, is_endless: bool = False
) -> CollisionShape:
    """
    Return a CollisionShape; its bounding sphere and box are computed from the geometry.

    :param link: name of the link or object.
    :param carrier: index of the moving joint that carries the shape; -1 for the root link, -2 for the world.
    :param placement: (4, 4) pose in the moved frame of this joint.
    :param geometry: a :class:`Mesh`, or a solid of coal.
    :param is_endless: True for a shape without bounds, such as a plane; the radius of its sphere is infinite.
    """
    if is_endless:
        endless = np.full(3, np.inf)
        return CollisionShape(link, carrier, placement, geometry, np.zeros(3), np.inf, endless)
    if isinstance(geometry, Mesh):
        low, high = geometry.low, geometry.high
        center = 0.5 * (low + high)
        radius = float(np.linalg.norm(geometry.vertices - center, axis=1).max())
    else:
        geometry.computeLocalAABB()
        box = geometry.aabb_local
        low, high = np.array(box.min_), np.array(box.max_)
        center, radius = np.array(geometry.aabb_center), float(geometry.aabb_radius)
    half = 0.5 * (high - low)
    return CollisionShape(link, carrier, placement, geometry, center, radius, half)


def read_shapes(robot: RobotModel, coal: Any) -> tuple[list[CollisionShape], tuple[str, ...]]:
    """
    Return the collision shapes of a robot in tree order, and a sentence for each shape that is left out.

    A size of zero or less is only logged.

    :param robot: the robot.
    :param coal: the collision library.
    :raises ModelError: if a size, a mesh scale or an origin has numbers that are missing or not finite. Also for an
        origin too far away or with a wrong rotation, and for a mesh that names no file.
    """
    warnings: list[str] = []
    elements = {element.get('name'): element for element in robot.urdf.document.find_all('link')}
    shapes = [
        shape
        for link in robot.tree.link_names
        if link in elements
        for collision in elements[link].find_all('collision')
        if (shape := _read_shape(robot, link, collision, coal, warnings)) is not None
    ]
    return shapes, tuple(warnings)


def _read_shape(
    robot: RobotModel, link: str, collision: XmlElement, coal: Any, warnings: list[str]
) -> CollisionShape | None:
    """Return the shape of a <collision> element; None, with a sentence added to ``warnings``, if it is left out."""
    holder = collision.find('geometry')
    described = next(iter(holder.children), None) if holder is not None else None
    if described is None:
        warnings.append(f'Link {quote(link)}: the <collision> in line {collision.line} is empty.')
        return None
    geometry = _make_geometry(described, robot, coal)
    if isinstance(geometry, str):
        warnings.append(f'Link {quote(link)}: {geometry}')
        return None
    tree, index = robot.tree, robot.tree.link(link)
    placement = tree.link_placements[index] @ origin_pose(collision)
    return make_shape(link, int(tree.link_joints[index]), placement, geometry)


def origin_pose(collision: XmlElement) -> FloatArray:
    """Return the pose (4, 4) of a <collision> element in the frame of its link; raise ModelError if malformed."""
    xyz, rpy = parse_origin(collision.find('origin'))
    return pose_matrix(np.array(xyz), matrix_of_rpy(*rpy))


def _make_geometry(described: XmlElement, robot: RobotModel, coal: Any) -> Any:
    """Return coal's solid or a Mesh for the child of a <geometry> element, or a sentence that says why it is left out."""
    if described.tag == 'mesh':
        path = find_mesh(described, robot)
        return path if isinstance(path, str) else read_mesh(path, mesh_scale(described), coal)
    if described.tag == 'box':
        sizes = described.vector('size', (0.0, 0.0, 0.0))
    elif described.tag in ROUND_SOLIDS:
        sizes = tuple(map(described.number, ROUND_SOLIDS[described.tag]))
    else:
        return f'the shape <{shorten(described.tag)}> in line {described.line} is unknown and left out.'
    if min(sizes) <= 0.0:
        _LOGGER.warning(
            'The <%s> in line %d of robot %s has a size that is not above zero: its collisions may be missed.',
            described.tag,
            described.line,
            quote(robot.name),
        )
    return getattr(coal, described.tag.capitalize())(*sizes)


def find_mesh(described: XmlElement, robot: RobotModel) -> Path | str:
    """
    Return the path of the mesh file that a ``<mesh>`` element names; a sentence with the reason if it is missing.

    Raise ModelError if the element names no file.
    """
    name = described.require('filename')
    path = resolve_package_uri(name, robot.directory)
    if path is None and robot.directory is not None and '://' not in name:
        path = existing_file(robot.directory / name)
    if path is None:
        return f'the mesh {quote(name)} is not found and left out.{_hint(name, robot)}'
    return path


def mesh_scale(described: XmlElement) -> FloatArray:
    """Return the scale factors (3,) of a ``<mesh>`` element, ones by default; raise ModelError if malformed."""
    return np.array(described.vector('scale', (1.0, 1.0, 1.0)))


def read_mesh(path: Path, scale: FloatArray, coal: Any) -> Mesh | str:
    """
    Return the mesh in a file, or a sentence that says why it is left out; meshes in use are cached.

    :param path: an existing file.
    :param scale: (3,) factors of its coordinates.
    :param coal: the collision library.
    """
    fault = mesh_file_fault(path)
    if fault:
        return fault
    state = path.stat()
    key = (path.resolve(), state.st_mtime_ns, state.st_size, *scale.tolist())
    mesh = _MESHES.get(key)
    if mesh is None:
        try:
            # The loader builds a tree as well; this kind takes the least time, and is thrown away.
            model = coal.MeshLoader(coal.BV_AABB).load(str(path), scale)
            rows = map(model.tri_indices, range(model.num_tris))
            triangles = np.array([(t[0], t[1], t[2]) for t in rows], dtype=np.int64)
            vertices = np.array(model.vertices(), dtype=np.float64)
            if not np.isfinite(vertices).all():
                raise ValueError('a vertex is not finite')
            mesh = _MESHES[key] = Mesh(vertices, triangles.reshape(-1, 3))
        except (RuntimeError, ValueError) as error:
            return f'the mesh {quote(path.name)} cannot be read and is left out: {error}.'
    return mesh


def read_triangles(path: Path, scale: FloatArray, coal: Any) -> tuple[FloatArray, IntArray] | str:
    """
    Return vertices (n, 3) [m] and triangles (k, 3) of a mesh, or a sentence that says why it is left out.

    :param path: an existing file.
    :param scale: (3,) factors of its coordinates.
    :param coal: the collision library, which reads all but binary STL files.
    """
    corners = read_stl(path)
    if corners is not None:
        return corners.reshape(-1, 3) * scale, np.arange(corners.size // 3).reshape(-1, 3)
    mesh = read_mesh(path, scale, coal)
    return mesh if isinstance(mesh, str) else (mesh.vertices, mesh.triangles)


def read_stl(path: Path) -> FloatArray | None:
    """
    Return the triangle corners (k, 3, 3) of a binary STL file; None for any other file.

    None is also returned for a damaged file, a file that is too large, and corners that are not finite.

    :param path: an existing file.
    """
    if path.suffix.lower() != '.stl' or mesh_file_fault(path):
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    count = int.from_bytes(content[STL_HEADER : STL_HEADER + 4], 'little')
    if not count or len(content) != STL_HEADER + 4 + count * STL_TRIANGLE.itemsize:
        return None
    corners = np.frombuffer(content, STL_TRIANGLE, offset=STL_HEADER + 4)['corners']
    return corners.astype(np.float64) if np.isfinite(corners).all() else None


def mesh_file_fault(path: Path) -> str:
    """
    Return a sentence that says why a mesh file is not read: unknown suffix or too large; empty if it may be read.

    :param path: an existing file.
    """
    name = quote(path.name)
    if path.suffix.lower() not in MESH_SUFFIXES:
        return f'the mesh {name} is left out: its name ends in none of {" ".join(MESH_SUFFIXES)}.'
    if path.stat().st_size > MOST_MESH_BYTES:
        return f'the mesh {name} is left out: it is larger than {MOST_MESH_BYTES >> 20} MiB.'
    return ''


def _hint(name: str, robot: RobotModel) -> str:
    """Return advice for a mesh location at which no file exists, beginning with a space; empty without advice."""
    if name.startswith('package://'):
        return _package_hint(name.removeprefix('package://').partition('/')[0], robot)
    if '://' in name or robot.directory is not None:
        return ''
    return ' Write its location as package:// or file://, since the URDF is text and not a file.'


def _package_hint(package: str, robot: RobotModel) -> str:
    """
    Return a sentence about a mesh whose file is missing in a ROS package; the text begins with a space.

    It says that the installed package lacks the file, or advises to source the workspace that has the package.
    """
    if find_package(package) is not None:
        return f' The package {quote(package)} is installed without this file.'
    around = '' if robot.directory is None else ', nor is its folder around the URDF'
    return f' The package {quote(package)} is not installed{around}: source the workspace that has it.'
