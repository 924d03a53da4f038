"""Meshes and lines in viser's scene: the robot, its ghosts (transparent copies), obstacles, and the paths of tips."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.forward_kinematics import compute_link_poses
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.server.requests.ik_requests import FullState
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers
from ssik_ros.view.obstacles import OBSTACLE, obstacle_surface
from ssik_ros.view.pictures.renderer import Colour
from ssik_ros.view.pictures.robot_solids import RobotSolids
from ssik_ros.view.pictures.solids import find_equal_rows, join, simplify, Surface

SEGMENTS = 16
"""Flat pieces around a sphere or a cylinder of the robot: a browser without a graphics card draws each triangle with the processor."""
GHOST_SEGMENTS = 8
GHOST_TRIANGLES = 3000
"""Of a ghost, about."""
GHOST_OPACITY = 0.15
"""Ghosts are faint, so that the robot is seen first."""
HIGHLIGHTED = 5.0
"""Opacity of the highlighted ghost, divided by the opacity of the other ghosts."""
DIGITS = 6
"""Corners that agree in so many digits are one vertex."""
Pose = tuple[tuple[float, float, float, float], tuple[float, float, float]]
"""Quaternion (w, x, y, z) and position [m], as pages take them."""


def page_pose(pose: FloatArray) -> Pose:
    """
    Return a pose in viser's form: quaternion (w, x, y, z), and position (x, y, z) [m].

    :param pose: (4, 4).
    """
    x, y, z, qx, qy, qz, qw = numbers_of_pose(pose)
    return (qw, qx, qy, qz), (x, y, z)


def read_page_pose(wxyz: Sequence[float], position: Sequence[float]) -> FloatArray:
    """
    Return the pose (4, 4) of a quaternion and a position, which viser gives.

    :param wxyz: quaternion w, x, y, z.
    :param position: x, y, z [m].
    """
    w, x, y, z = wxyz
    return pose_of_numbers(*position, x, y, z, w)


def page_colour(colour: Colour) -> tuple[int, int, int]:
    """
    Return a colour in viser's form: red, green and blue, each from 0 to 255.

    :param colour: red, green and blue, each from 0 to 1.
    """
    red, green, blue = (round(255.0 * part) for part in colour)
    return red, green, blue


TIP_LINE = page_colour((0.1, 0.55, 0.75))
"""Colour of the line that a tip draws along a path."""


def line_segments(points: FloatArray) -> NDArray[np.float32]:
    """
    Return the n - 1 segments (n - 1, 2, 3) of the polyline through points, in viser's form [m].

    :param points: (n, 3) [m].
    """
    return np.stack((points[:-1], points[1:]), axis=1).astype(np.float32)


class SceneLines:
    """Line segments of one colour in viser's scene, hidden until :meth:`draw` gets some."""

    def __init__(
        self, scene: Any, name: str, colour: tuple[int, int, int], thickness: float
    ) -> None:
        """
        Add the node to the scene.

        :param scene: viser's scene.
        :param name: name of the node in the scene.
        :param colour: red, green and blue, each from 0 to 255.
        :param thickness: width of the lines [m].
        """
        nothing = np.zeros((1, 2, 3), np.float32)
        self._node = scene.add_line_segments(
            name, nothing, colour, thickness=thickness, visible=False
        )

    def draw(self, segments: ArrayLike | None) -> None:
        """
        Show these segments instead of earlier ones.

        :param segments: (n, 2, 3) ends of the segments [m]; None to hide all.
        """
        self._node.visible = segments is not None
        if segments is not None:
            self._node.points = np.asarray(segments, np.float32)


def add_tip_lines(scene: Any, lines: Iterable[FloatArray], size: float) -> list[Any]:
    """
    Add to the scene the lines along which a path moves the tips; return viser's nodes, to remove them later.

    :param scene: viser's scene.
    :param lines: the points (n, 3) of each line [m].
    :param size: length of the robot, by which the width of the lines is scaled [m].
    """
    return [
        scene.add_line_segments(
            f'/path/{number}', line_segments(points), TIP_LINE, thickness=0.005 * size
        )
        for number, points in enumerate(lines)
    ]


def add_obstacle(scene: Any, name: str, item: WorldObject) -> Any:
    """
    Add an obstacle to the scene at its pose; return viser's mesh.

    :param scene: viser's scene.
    :param name: name of the node in the scene.
    :param item: the obstacle.
    """
    mesh = add_surface(scene, name, (obstacle_surface(item), OBSTACLE))
    mesh.wxyz, mesh.position = page_pose(item.pose)
    return mesh


def add_surface(
    scene: Any, name: str, part: tuple[Surface, Colour], opacity: float | None = None
) -> Any:
    """
    Add a surface of one colour to the scene; return viser's mesh.

    :param scene: viser's scene.
    :param name: name of the node in the scene.
    :param part: the surface and its colour.
    :param opacity: less than 1 for a transparent surface; None for an opaque one.
    """
    vertices, triangles = indexed(part[0])
    colour = page_colour(part[1])
    return scene.add_mesh_simple(
        name, vertices, triangles, color=colour, opacity=opacity, side='double'
    )


def indexed(surface: Surface) -> tuple[FloatArray, IntArray]:
    """
    Return a surface as vertices (n, 3) and triangles (k, 3), which are indices of vertices.

    Corners of triangles with the same position and normal, rounded to DIGITS digits after the point, become one vertex.

    :param surface: the surface.
    """
    corners = np.hstack((surface.corners.reshape(-1, 3), surface.normals.reshape(-1, 3)))
    first, which = find_equal_rows(np.round(corners * 10.0**DIGITS))
    return corners[first, :3], which.reshape(-1, 3)


def link_poses(robot: RobotModel, state: FullState) -> FloatArray:
    """
    Return the poses (nl, 4, 4) of all nl links in the model frame.

    :param robot: the robot.
    :param state: full state of the robot.
    """
    poses: FloatArray = state.root_pose @ compute_link_poses(robot.tree, state.positions)
    return poses


class RobotMeshes:
    """The meshes of one robot in viser's scene, with a node for each link that has surfaces."""

    def __init__(
        self, scene: Any, solids: RobotSolids, name: str, opacity: float | None = None
    ) -> None:
        """
        Add the meshes of all links to the scene.

        :param scene: viser's scene.
        :param solids: the surfaces of the robot.
        :param name: name of the robot's node in the scene.
        :param opacity: less than 1 for a transparent robot; None for an opaque one.
        """
        self._robot = solids.robot
        self.root = scene.add_frame(name, show_axes=False)
        self._frames, self._meshes = {}, {}
        self._poses = np.full((len(solids.robot.tree.link_names), 4, 4), np.nan)
        self._marks: dict[str, Colour] = {}
        for link, parts in solids.by_link():
            self._frames[link] = scene.add_frame(f'{name}/{link}', show_axes=False)
            self._meshes[link] = [
                (
                    add_surface(scene, f'{name}/{link}/{number}', part, opacity),
                    page_colour(part[1]),
                )
                for number, part in enumerate(_by_colour(parts))
            ]

    @property
    def links(self) -> tuple[str, ...]:
        """Return the links that have meshes."""
        return tuple(self._meshes)

    def place(self, state: FullState) -> None:
        """
        Move the meshes to the poses of the links in a state; links that have their pose already stay untouched.

        :param state: full state of the robot.
        """
        before, self._poses = self._poses, link_poses(self._robot, state)
        are_moved = (self._poses != before).any(axis=(1, 2))
        for link, frame in self._frames.items():
            place = self._robot.tree.link(link)
            if are_moved[place]:
                frame.wxyz, frame.position = page_pose(self._poses[place])

    def mark(self, colours: dict[str, Colour]) -> None:
        """
        Give some links other colours; all other links get back the colours of their materials.

        The same colours as in the last call change nothing.

        :param colours: colour by name of the link.
        """
        if colours == self._marks:
            return
        self._marks = dict(colours)
        wanted = {link: page_colour(colour) for link, colour in colours.items()}
        for link, parts in self._meshes.items():
            for mesh, material_colour in parts:
                mesh.color = wanted.get(link, material_colour)


def _by_colour(parts: Collection[tuple[Surface, Colour]]) -> list[tuple[Surface, Colour]]:
    """Return one surface for each colour, joined from all parts of this colour."""
    by_colour: dict[Colour, list[Surface]] = {}
    for surface, colour in parts:
        by_colour.setdefault(colour, []).append(surface)
    return [(join(surfaces), colour) for colour, surfaces in by_colour.items()]


class GhostMeshes:
    """Transparent copies of a robot (ghosts) in viser's scene, with few triangles; all of them share the same meshes."""

    def __init__(self, scene: Any, solids: RobotSolids, colours: Sequence[Colour]) -> None:
        """
        Add the shared meshes to the scene; no ghost is visible yet.

        :param scene: viser's scene.
        :param solids: the surfaces of the robot.
        :param colours: colours of the ghosts; their number is the largest number of ghosts.
        """
        self._robot, self._count = solids.robot, len(colours)
        inks = np.array([page_colour(colour) for colour in colours], dtype=np.uint8)
        self.meshes = {}
        for link, surface in _coarse_links(solids).items():
            vertices, triangles = indexed(surface)
            self.meshes[link] = scene.add_batched_meshes_simple(
                f'/ghosts/{link}',
                vertices,
                triangles,
                batched_wxyzs=np.tile((1.0, 0.0, 0.0, 0.0), (self._count, 1)),
                batched_positions=np.zeros((self._count, 3)),
                batched_scales=np.zeros(self._count),
                batched_colors=inks,
                opacity=GHOST_OPACITY,
                batched_opacities=np.ones(self._count, dtype=np.float32),
                lod='off',
                cast_shadow=False,
                receive_shadow=False,
                visible=False,
            )
        self._drawn = 0

    def place(self, states: Sequence[FullState]) -> None:
        """
        Show a ghost for each state, and hide all others.

        :param states: full states; more states than colours are left out.
        """
        shown = list(states)[: self._count]
        if not shown and not self._drawn:
            return
        poses = [link_poses(self._robot, state) for state in shown]
        for link, mesh in self.meshes.items():
            place = self._robot.tree.link(link)
            rows = [page_pose(pose[place]) for pose in poses]
            rows += [((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))] * (self._count - len(rows))
            mesh.batched_wxyzs = np.array([row[0] for row in rows], dtype=np.float32)
            mesh.batched_positions = np.array([row[1] for row in rows], dtype=np.float32)
            if len(shown) != self._drawn:
                sizes = np.arange(self._count) < len(shown)
                mesh.batched_scales = sizes.astype(np.float32)
                mesh.visible = bool(shown)
        self._drawn = len(shown)

    def highlight(self, index: int) -> None:
        """
        Make one ghost less transparent, and all others as transparent as before.

        :param index: index of the ghost; -1 for none.
        """
        strengths = np.where(np.arange(self._count) == index, HIGHLIGHTED, 1.0)
        for mesh in self.meshes.values():
            mesh.batched_opacities = strengths.astype(np.float32)


def _coarse_links(solids: RobotSolids) -> dict[str, Surface]:
    """
    Return by name the surface of each link with few triangles, which face outwards.

    All links together have about GHOST_TRIANGLES triangles, but each link may have 50.
    """
    coarser = solids.coarser(GHOST_SEGMENTS)
    share = min(1.0, GHOST_TRIANGLES / max(coarser.triangle_count, 1))
    surfaces = {}
    for link, parts in coarser.by_link():
        surface = join([surface for surface, _ in parts])
        most = int(share * len(surface.corners)) + 1
        surfaces[link] = facing_outwards(simplify(surface, max(most, 50)))
    return surfaces


def facing_outwards(surface: Surface) -> Surface:
    """
    Return a closed surface with the triangles counter-clockwise as seen from outside.

    If the enclosed volume is negative, as for a mirrored mesh, the order of all corners is reversed.

    :param surface: the surface.
    """
    a, b, c = np.moveaxis(surface.corners - surface.bounds().mean(axis=0), 1, 0)
    volume = float(np.einsum('ij,ij->', a, np.cross(b, c)))
    if volume >= 0.0:
        return surface
    return Surface(surface.corners[:, ::-1], surface.normals[:, ::-1])
