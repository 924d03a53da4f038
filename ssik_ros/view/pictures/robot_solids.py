"""
The surfaces of a robot: its visual elements, or its collision elements where a link has no visual one.

If nothing of a robot can be drawn, or a mesh is missing, round bars between the joints stand for it.
"""

from collections.abc import Collection
import copy
from typing import Any, Literal

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.geometry import load_mesh, origin_pose
from ssik_ros.model.forward_kinematics import compute_joint_poses
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.xml_document import XmlElement
from ssik_ros.view.pictures.bars import bar_ends
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.solids import (
    join,
    make_box,
    make_cylinder,
    make_mesh,
    make_sphere,
    make_tube,
    SEGMENTS,
    Surface,
)

PLAIN: Colour = (0.78, 0.8, 0.83)
"""Colour of links without a material."""
MARKED: Colour = (0.88, 0.16, 0.14)
"""Colour of links that a picture points out, such as two that collide."""
BAR = 0.03
"""Radius of a bar, as a part of the length of all bars."""
Elements = Literal['visual', 'collision']


class RobotSolids:
    """The solids of one robot, which its joints move."""

    def __init__(
        self, robot: RobotModel, elements: Elements = 'visual', segments: int = SEGMENTS
    ) -> None:
        """
        Read the shapes of the URDF; each mesh that cannot be read gives a warning.

        :param robot: the robot.
        :param elements: which elements of the URDF are preferred; those of the collisions have nothing in their stead.
        :param segments: number of flat pieces around a sphere or a cylinder; even.
        """
        self.robot, self._segments, self._elements = robot, segments, elements
        self._meshes: dict[tuple[str | None, str | None], Surface | str] = {}
        self._read()

    def coarser(self, segments: int) -> 'RobotSolids':
        """
        Return the same solids with other spheres and cylinders; meshes are not read again.

        :param segments: number of flat pieces around a sphere or a cylinder; even.
        """
        other = copy.copy(self)
        other._segments = segments
        other._read()
        return other

    def _read(self) -> None:
        """Read the parts of all links."""
        robot = self.robot
        self.warnings: list[str] = []
        document = robot.urdf.document
        self._materials = {m.get('name'): m for m in document.find_all('material')}
        links = {element.get('name'): element for element in document.find_all('link')}
        self._parts = [
            (robot.tree.link(name), *part)
            for name in robot.tree.link_names
            if name in links
            for part in self._parts_of(links[name])
        ]
        if self._elements == 'visual' and (not self._parts or self.warnings):
            self._parts += self._bars({int(robot.tree.link_joints[p[0]]) for p in self._parts})

    def by_link(self) -> dict[str, list[tuple[Surface, Colour]]]:
        """Return the solids of each link in the frame of the link."""
        found: dict[str, list[tuple[Surface, Colour]]] = {}
        for link, solid, colour in self._parts:
            found.setdefault(self.robot.tree.link_names[link], []).append((solid, colour))
        return found

    def _bars(self, drawn: set[int]) -> list[tuple[int, Surface, Colour]]:
        """Return a bar from each joint to the next ones, for bodies without solids."""
        tree, ends = self.robot.tree, bar_ends(self.robot.tree)
        lengths = [max(map(np.linalg.norm, found), default=0.0) for found in ends.values()]
        radius = BAR * float(sum(lengths))
        bars = []
        for carrier in sorted(set(ends) - drawn):
            link = tree.link_joints.tolist().index(carrier)
            to_link = invert_pose(tree.link_placements[link])
            tubes = [make_tube(np.stack((np.zeros(3), end)), radius) for end in ends[carrier]]
            joint = [] if carrier < 0 else [make_sphere(1.3 * radius)]
            solid = join([*joint, *tubes])
            if len(solid.corners):
                bars.append((link, solid.moved(to_link), PLAIN))
        return bars

    def at(
        self,
        positions: FloatArray,
        colour: Colour | None = None,
        marked: Collection[str] = (),
    ) -> list[tuple[Surface, Colour]]:
        """
        Return the solids with their colours at a state of the robot.

        :param positions: (nq) full state of the robot.
        :param colour: colour of all solids; None for those of the URDF.
        :param marked: names of links that are drawn in :data:`MARKED`.
        """
        tree = self.robot.tree
        pointed_out = {tree.link(name) for name in marked}
        poses = compute_joint_poses(tree, positions)
        found = []
        for link, solid, its_colour in self._parts:
            carrier = tree.link_joints[link]
            pose = tree.link_placements[link]
            pose = pose if carrier < 0 else poses[carrier] @ pose
            shown = MARKED if link in pointed_out else colour or its_colour
            found.append((solid.moved(pose), shown))
        return found

    def bounds(self, positions: FloatArray) -> FloatArray:
        """
        Return (2, 3) the lowest and the highest coordinates of all solids [m].

        :param positions: (nq) full state of the robot.
        """
        return join([solid for solid, _ in self.at(positions)]).bounds()

    def _parts_of(self, link: XmlElement) -> list[tuple[Surface, Colour]]:
        """Return the solids of a link in its frame."""
        elements = list(link.find_all('collision'))
        if self._elements == 'visual':
            elements = list(link.find_all('visual')) or elements
        parts = []
        for element in elements:
            solid = self._read_solid(element)
            if solid is not None:
                parts.append((solid.moved(origin_pose(element)), self._colour_of(element)))
        return parts

    def _read_solid(self, element: XmlElement) -> Surface | None:
        holder = element.find('geometry')
        described = next(iter(holder.children), None) if holder is not None else None
        if described is None:
            return None
        if described.tag == 'box':
            return make_box(described.vector('size', (0.0, 0.0, 0.0)))
        if described.tag == 'sphere':
            return make_sphere(described.number('radius'), self._segments)
        if described.tag in ('cylinder', 'capsule'):
            radius, length = described.number('radius'), described.number('length')
            return make_cylinder(radius, length, segments=self._segments)
        return self._read_mesh(described)

    def _read_mesh(self, described: XmlElement) -> Surface | None:
        if described.tag != 'mesh':
            return None
        name = described.get('filename'), described.get('scale')
        if name not in self._meshes:
            self._meshes[name] = _load(described, self.robot)
        mesh = self._meshes[name]
        if isinstance(mesh, str):
            self.warnings.append(mesh)
            return None
        return mesh

    def _colour_of(self, element: XmlElement) -> Colour:
        """Return the colour of a visual element's material, here or at the top of the URDF."""
        material = element.find('material')
        if material is not None and material.find('color') is None:
            material = self._materials.get(material.get('name'))
        colour = None if material is None else material.find('color')
        if colour is None:
            return PLAIN
        red, green, blue, *_ = colour.vector('rgba', (*PLAIN, 1.0))
        return (red, green, blue)


def _load(described: XmlElement, robot: RobotModel) -> Surface | str:
    """Return the surface of a mesh, or why it cannot be read."""
    mesh: Any = load_mesh(described, robot, import_coal())
    if isinstance(mesh, str):
        return mesh
    corners = map(mesh.tri_indices, range(mesh.num_tris))
    triangles = np.array([(t[0], t[1], t[2]) for t in corners]).reshape(-1, 3)
    return make_mesh(np.asarray(mesh.vertices(), dtype=np.float64), triangles)
