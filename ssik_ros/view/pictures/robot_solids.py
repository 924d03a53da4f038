"""
The surfaces of a robot in pictures: visual elements of its URDF, or collision elements of links without visual ones.

A robot that is shipped with simple shapes, or has no shapes, gets the meshes of its maker if an installed package has
them. If no visual element can be drawn, or if a mesh is missing, joints whose links have no surface get round bars.
"""

from collections.abc import Collection, Iterator, Mapping
import copy
import itertools
from typing import Literal

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.collision.geometry import find_mesh, mesh_scale, origin_pose
from ssik_ros.model.forward_kinematics import compute_link_poses
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.xml_document import XmlElement
from ssik_ros.view.pictures.bars import bar_ends
from ssik_ros.view.pictures.maker_shapes import (
    find_maker_parts,
    is_borrower,
    missing_note,
    VisualPart,
)
from ssik_ros.view.pictures.mesh_files import MeshFile, read_meshes
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.solids import (
    box_around,
    join,
    make_box,
    make_cylinder,
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
    """The surfaces and colours of one robot, by link, which can be placed at any state."""

    def __init__(
        self, robot: RobotModel, elements: Elements = 'visual', segments: int = SEGMENTS
    ) -> None:
        """
        Read the shapes of the robot; ``warnings`` gets a sentence for each mesh that cannot be read.

        If the robot is drawn with simple shapes, :attr:`note` says in one line how to get meshes.

        :param robot: the robot.
        :param elements: elements of the URDF to draw. Only missing visual elements are replaced by collision elements
            or bars.
        :param segments: number of flat pieces around a sphere or a cylinder; even.
        """
        self.robot, self._segments, self._elements = robot, segments, elements
        self.note = ''
        self._drawn = self._choose_parts()
        self._meshes = self._read_files()
        self._read()

    def coarser(self, segments: int) -> 'RobotSolids':
        """
        Return a copy whose spheres and cylinders have another number of flat pieces; meshes are shared.

        :param segments: number of flat pieces around a sphere or a cylinder; even.
        """
        other = copy.copy(self)
        other._segments = segments
        other._read()
        return other

    def _choose_parts(self) -> list[VisualPart]:
        """
        Return the elements to draw, in the order of the links.

        A robot that may borrow shapes gets the meshes of the URDF that fits, and its own elements where that has none.
        """
        robot = self.robot
        links = {element.get('name'): element for element in robot.urdf.document.find_all('link')}
        parts = [
            VisualPart(robot.tree.link(name), element, origin_pose(element), robot)
            for name in robot.tree.link_names
            if name in links
            for element in self._elements_of(links[name])
        ]
        if self._elements == 'collision' or not is_borrower(robot):
            return parts
        better = find_maker_parts(robot)
        if not better:
            self.note = missing_note(robot)
        covered = {int(robot.tree.link_joints[part.link]) for part in better}
        kept = [part for part in parts if int(robot.tree.link_joints[part.link]) not in covered]
        return sorted([*better, *kept], key=lambda part: part.link)

    def _elements_of(self, link: XmlElement) -> list[XmlElement]:
        """
        Return the elements of a link that are drawn.

        These are its visual elements, or its collision elements if it has no visual ones or if collision elements are
        wanted.
        """
        elements = list(link.find_all('collision'))
        if self._elements == 'visual':
            elements = list(link.find_all('visual')) or elements
        return elements

    def _read_files(self) -> dict[int, Surface | str]:
        """
        Return for each mesh the surface, or a sentence why it cannot be drawn.

        The keys are the ``id`` numbers of the geometry elements in the URDF.
        """
        outcomes: dict[int, Surface | str] = {}
        files: dict[int, MeshFile] = {}
        for part in self._drawn:
            described = _geometry_of(part.element)
            if described is None or described.tag != 'mesh':
                continue
            path = find_mesh(described, part.owner)
            if isinstance(path, str):
                outcomes[id(described)] = path
            else:
                x, y, z = mesh_scale(described).tolist()
                files[id(described)] = MeshFile(path, (x, y, z))
        wanted = list(dict.fromkeys(files.values()))
        surfaces = dict(zip(wanted, read_meshes(wanted), strict=True))
        return outcomes | {key: surfaces[file] for key, file in files.items()}

    def _read(self) -> None:
        """
        Make the surfaces of all chosen elements, and the warnings about missing meshes.

        Bars are added if nothing is drawn or if a visual mesh is missing.
        """
        robot = self.robot
        self.warnings: list[str] = []
        self._parts: list[tuple[int, Surface, FloatArray, Colour]] = []
        materials = {owner: _materials(owner) for owner in {part.owner for part in self._drawn}}
        for part in self._drawn:
            solid = self._read_solid(part)
            if solid is not None:
                colour = _colour_of(part.element, materials[part.owner])
                self._parts.append((part.link, solid, part.pose, colour))
        if self._elements == 'visual' and (not self._parts or self.warnings):
            self._parts += self._bars({int(robot.tree.link_joints[p[0]]) for p in self._parts})

    def by_link(self) -> Iterator[tuple[str, list[tuple[Surface, Colour]]]]:
        """Yield (link name, [(surface in the link's frame, colour), ...]) for each link with surfaces, one link at a time."""
        for link, parts in itertools.groupby(self._parts, lambda part: part[0]):
            surfaces = [(solid.moved(pose), colour) for _, solid, pose, colour in parts]
            yield self.robot.tree.link_names[link], surfaces

    @property
    def triangle_count(self) -> int:
        """Return the number of triangles of all solids."""
        return sum(len(part[1].corners) for part in self._parts)

    def _bars(self, drawn: set[int]) -> list[tuple[int, Surface, FloatArray, Colour]]:
        """
        Return bars as (link index, surface, pose in the link, colour), for joints whose links have no surfaces.

        The bars of a joint lead to the next joints and link origins.

        :param drawn: indices of the joints whose links have surfaces; -1 for the root.
        """
        tree, ends = self.robot.tree, bar_ends(self.robot.tree)
        lengths = [max(map(np.linalg.norm, points), default=0.0) for points in ends.values()]
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
        Return the surfaces with their colours in the root frame, at a state of the robot.

        :param positions: (nq) full state of the robot.
        :param colour: colour of all surfaces; None for the colours of the URDF.
        :param marked: names of links whose colour is :data:`MARKED`.
        :raises FrameNotFound: for an unknown name in ``marked``.
        """
        pointed_out = {self.robot.tree.link(name) for name in marked}
        links = compute_link_poses(self.robot.tree, positions)
        return [
            (
                solid.moved(links[link] @ pose),
                MARKED if link in pointed_out else colour or material,
            )
            for link, solid, pose, material in self._parts
        ]

    def bounds(self, positions: FloatArray) -> FloatArray:
        """
        Return (2, 3) the lowest and the highest coordinates of all solids in the root frame [m]; zeros without solids.

        :param positions: (nq) full state of the robot.
        """
        boxes = [solid.bounds() for solid, _ in self.at(positions)]
        return box_around(np.concatenate(boxes or [np.zeros((2, 3))]))

    def _read_solid(self, part: VisualPart) -> Surface | None:
        """
        Return the surface of an element in its own frame; None if it has no shape or its mesh cannot be drawn.

        A mesh that cannot be drawn adds a warning.
        """
        described = _geometry_of(part.element)
        if described is None:
            return None
        if described.tag == 'box':
            return make_box(described.vector('size', (0.0, 0.0, 0.0)))
        if described.tag == 'sphere':
            return make_sphere(described.number('radius'), self._segments)
        if described.tag in ('cylinder', 'capsule'):
            radius, length = described.number('radius'), described.number('length')
            return make_cylinder(radius, length, segments=self._segments)
        mesh = self._meshes.get(id(described))
        if isinstance(mesh, str):
            self.warnings.append(mesh)
            return None
        return mesh


def _geometry_of(element: XmlElement) -> XmlElement | None:
    """Return the shape of a visual or collision element, such as its ``box`` or ``mesh``; None if it has no shape."""
    holder = element.find('geometry')
    return None if holder is None else next(iter(holder.children), None)


def _materials(robot: RobotModel) -> dict[str | None, XmlElement]:
    """Return the materials that a URDF defines outside of links, by name."""
    return {top.get('name'): top for top in robot.urdf.document.find_all('material')}


def _colour_of(element: XmlElement, materials: Mapping[str | None, XmlElement]) -> Colour:
    """
    Return the colour of a visual element's material; PLAIN if it has no colour.

    If the element only names a material, its colour is looked up in ``materials``.
    """
    material = element.find('material')
    if material is not None and material.find('color') is None:
        material = materials.get(material.get('name'))
    colour = None if material is None else material.find('color')
    if colour is None:
        return PLAIN
    red, green, blue, *_ = colour.vector('rgba', (*PLAIN, 1.0))
    return (red, green, blue)
