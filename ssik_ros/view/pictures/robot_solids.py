"""
The surfaces of a robot: its visual elements, or its collision elements where a link has no visual one.

If nothing of a robot can be drawn, or a mesh is missing, round bars between the joints stand for it.
"""

from collections.abc import Collection, Iterator
import copy
import itertools
from typing import Literal

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.checks import import_coal
from ssik_ros.model.collision.geometry import find_mesh, mesh_scale, origin_pose, read_triangles
from ssik_ros.model.forward_kinematics import compute_link_poses
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
        :param elements: elements of the URDF to draw. Missing visual elements are replaced, missing collision elements
            are not.
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

    def by_link(self) -> Iterator[tuple[str, list[tuple[Surface, Colour]]]]:
        """Yield each link that has solids, with its solids in its frame: all links at once would take much memory."""
        for link, parts in itertools.groupby(self._parts, lambda part: part[0]):
            found = [(solid.moved(pose), colour) for _, solid, pose, colour in parts]
            yield self.robot.tree.link_names[link], found

    @property
    def triangle_count(self) -> int:
        """Return the number of triangles of all solids."""
        return sum(len(part[1].corners) for part in self._parts)

    def _bars(self, drawn: set[int]) -> list[tuple[int, Surface, FloatArray, Colour]]:
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
                bars.append((link, solid, to_link, PLAIN))
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
        :param colour: colour of all solids; None for the colours of the URDF.
        :param marked: names of links that are drawn in :data:`MARKED`.
        """
        pointed_out = {self.robot.tree.link(name) for name in marked}
        return [
            (solid.moved(pose), MARKED if link in pointed_out else colour or its_colour)
            for (link, solid, _, its_colour), pose in zip(self._parts, self._poses(positions))
        ]

    def _poses(self, positions: FloatArray) -> list[FloatArray]:
        """Return the pose (4, 4) of each part in the root frame."""
        links = compute_link_poses(self.robot.tree, positions)
        return [links[link] @ pose for link, _, pose, _ in self._parts]

    def bounds(self, positions: FloatArray) -> FloatArray:
        """
        Return (2, 3) the lowest and the highest coordinates of all solids [m].

        :param positions: (nq) full state of the robot.
        """
        pairs = zip(self._parts, self._poses(positions))
        boxes = [solid.moved(pose).bounds() for (_, solid, _, _), pose in pairs]
        boxes = boxes or [np.zeros((2, 3))]
        return np.stack((np.min(boxes, axis=(0, 1)), np.max(boxes, axis=(0, 1))))

    def _parts_of(self, link: XmlElement) -> list[tuple[Surface, FloatArray, Colour]]:
        """Return the solids of a link with their poses (4, 4) in its frame and their colours."""
        elements = list(link.find_all('collision'))
        if self._elements == 'visual':
            elements = list(link.find_all('visual')) or elements
        parts = []
        for element in elements:
            solid = self._read_solid(element)
            if solid is not None:
                parts.append((solid, origin_pose(element), self._colour_of(element)))
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
    path = find_mesh(described, robot)
    if isinstance(path, str):
        return path
    mesh = read_triangles(path, mesh_scale(described), import_coal())
    return mesh if isinstance(mesh, str) else make_mesh(*mesh)
