"""
Meshes for an arm that has none, taken from an installed package of robot descriptions such as example-robot-data.

A URDF of such a package fits if it has the arm's joints by name and order, with the same axes at the zero posture. The
frames of its links may differ.
"""

from collections.abc import Iterator, Sequence
import contextlib
import itertools
from pathlib import Path

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import quote, SsikError
from ssik_ros.kernels.geometry.rotations import invert_pose, pose_matrix
from ssik_ros.model.collision.geometry import find_mesh, origin_pose
from ssik_ros.model.description_files import (
    config_directory,
    data_folders,
    find_files,
    share_directories,
)
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_poses
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SERIAL_KINDS
from ssik_ros.model.urdf.xml_document import XmlElement
from ssik_ros.value_class import dataclass

EXTRA = "pip install 'ssik_ros[robots]'"
WHEEL = 'example-robot-data'
"""Name of the package that the extra installs, and of its folder."""
LARGEST_URDF = 2 << 20
"""Size of the largest URDF that is looked into [bytes]."""
SAME_AXIS = 1e-3
"""Axes differ by at most this [rad and m]."""


@dataclass(frozen=True, eq=False)
class VisualPart:
    """One visual or collision element of a robot that is drawn."""

    link: int
    """The link of the drawn robot that carries it."""
    element: XmlElement
    pose: FloatArray
    """(4, 4) in the frame of the link."""
    owner: RobotModel
    """The robot whose URDF has the element."""


def is_borrower(robot: RobotModel) -> bool:
    """
    Return whether a robot may be drawn with meshes from another URDF.

    True for a robot with visual elements that is shipped with this package, and for a robot without any shapes.

    :param robot: the robot.
    :raises DescriptionNotFound: if the configuration files of the package are not installed.
    """
    links = list(robot.urdf.document.find_all('link'))
    if not any(True for link in links for _ in link.find_all('visual')):
        return not any(True for link in links for _ in link.find_all('collision'))
    folder = robot.directory
    return (
        folder is not None
        and (config_directory() / 'robots').resolve() in folder.resolve().parents
    )


def find_maker_parts(robot: RobotModel) -> list[VisualPart]:
    """
    Return the visual elements with meshes of the installed URDF that fits an arm best, placed on the arm's links.

    Of several that fit, the URDF with the most meshes is taken. The list is empty if no URDF fits.

    :param robot: the arm.
    """
    names = _chain(robot.tree)
    best: list[VisualPart] = []
    for path, text in _urdf_texts() if names else ():
        if not all(f'"{name}"' in text for name in names):
            continue
        try:
            other = load_robot(path, logs_warnings=False)
        except SsikError:
            continue
        parts = _parts_of(robot, other, names)
        if len(parts) > len(best):
            best = parts
    return best


def has_wheel() -> bool:
    """Return whether the optional package with meshes of arms is installed."""
    return any((folder / WHEEL).is_dir() for folder in data_folders())


def missing_note(robot: RobotModel) -> str:
    """
    Return a sentence that a robot is drawn with simple shapes, and how to install meshes if that may help.

    :param robot: the robot.
    """
    shapes = f'{quote(robot.name)} is drawn with simple shapes'
    if has_wheel():
        return f'{shapes}: no installed package has meshes of an arm with its axes.'
    return f'{shapes}. The meshes of some arms come with {EXTRA}.'


def _urdf_texts() -> Iterator[tuple[Path, str]]:
    """
    Yield path and text of each URDF in installed packages of robot descriptions, from ROS, pip or robot_descriptions.

    Files above LARGEST_URDF bytes and files that cannot be read are left out. Bytes that are not UTF-8 are replaced.
    """
    described = (share.glob('*description*') for share in share_directories())
    folders = itertools.chain(data_folders(), itertools.chain.from_iterable(described))
    for path in itertools.chain.from_iterable(find_files(folder, '.urdf') for folder in folders):
        with contextlib.suppress(OSError):
            if path.stat().st_size <= LARGEST_URDF:
                yield path, path.read_text(encoding='utf-8', errors='replace')


def _chain(tree: KinematicTree) -> list[str]:
    """Return the names of the revolute, continuous and prismatic joints on the longest chain of a robot, without mimic joints."""
    paths = [tree.joint_path(link) for link in tree.link_names]
    longest = max(paths, key=len)
    joints = [j for j in longest if tree.kinds[j] in SERIAL_KINDS and tree.leaders[j] < 0]
    return [tree.joint_names[j] for j in joints]


def _parts_of(robot: RobotModel, other: RobotModel, names: Sequence[str]) -> list[VisualPart]:
    """
    Return the visual elements with meshes of ``other``, placed on the links of ``robot``.

    The list is empty unless the joints ``names`` of both robots have the same axes. Links of a tool on the arm are left
    out.
    """
    if _chain_below(other.tree, names) != list(names):
        return []
    lines, others = _axes(robot.tree, names), _axes(other.tree, names)
    to_root = _line_frame(lines) @ invert_pose(_line_frame(others))
    if not _agree(lines, others, to_root):
        return []
    names = [*names, *_further_joints(robot.tree, other.tree, names, to_root)]
    carriers = {-1: -1} | {other.tree.joint_index[n]: robot.tree.joint_index[n] for n in names}
    zero, other_zero = (compute_link_poses(r.tree, _zero(r.tree)) for r in (robot, other))
    elements = {element.get('name'): element for element in other.urdf.document.find_all('link')}
    carried = robot.tree.link_joints.tolist()
    ends = _tool_links(other, set(names))
    parts = []
    for place, name in enumerate(other.tree.link_names):
        carrier = int(other.tree.link_joints[place])
        if carrier not in carriers or name in ends or name not in elements:
            continue
        # A link of the same name is coloured where links collide.
        link = robot.tree.link_index.get(name, -1)
        if link < 0 or carried[link] != carriers[carrier]:
            link = carried.index(carriers[carrier])
        pose = invert_pose(zero[link]) @ to_root @ other_zero[place]
        parts += [
            VisualPart(link, element, pose @ origin_pose(element), other)
            for element in elements[name].find_all('visual')
            if _has_mesh(element, other)
        ]
    return parts


def _further_joints(
    tree: KinematicTree, other: KinematicTree, names: Sequence[str], to_root: FloatArray
) -> list[str]:
    """
    Return the names of joints outside the arm, such as finger joints, that both robots have with the same axes.

    :param names: joints of the arm.
    :param to_root: (4, 4) pose of the other robot's root frame in the root frame of ``tree``.
    """
    both = [
        name
        for name in tree.joint_names
        if name in other.joint_index
        and name not in names
        and {tree.kinds[tree.joint_index[name]], other.kinds[other.joint_index[name]]}
        <= {*SERIAL_KINDS}
    ]
    return [name for name in both if _agree(_axes(tree, [name]), _axes(other, [name]), to_root)]


def _has_mesh(element: XmlElement, robot: RobotModel) -> bool:
    """Return whether a visual element names a mesh file that exists."""
    holder = element.find('geometry')
    mesh = None if holder is None else holder.find('mesh')
    return mesh is not None and isinstance(find_mesh(mesh, robot), Path)


def _zero(tree: KinematicTree) -> FloatArray:
    """Return the full state (nq) with all joints at zero; rotations of floating and spherical joints are the identity."""
    state = np.zeros(tree.nq)
    for joint, kind in enumerate(tree.kinds.tolist()):
        if kind in (JointKind.FLOATING, JointKind.SPHERICAL):
            state[tree.idx_q[joint] + (6 if kind == JointKind.FLOATING else 3)] = 1.0
    return state


def _chain_below(tree: KinematicTree, names: Sequence[str]) -> list[str]:
    """
    Return the names of the moving joints on the path from the first to the last of some joints, both included.

    The list is empty if a joint is missing, or if the last one is not carried by the first.
    """
    if not all(name in tree.joint_index for name in names):
        return []
    link = tree.link_joints.tolist().index(tree.joint_index[names[-1]])
    path = [tree.joint_names[joint] for joint in tree.joint_path(tree.link_names[link])]
    return path[path.index(names[0]) :] if names[0] in path else []


def _tool_links(robot: RobotModel, names: set[str]) -> set[str]:
    """
    Return the names of links that carry joints of a tool, such as the body of a gripper.

    Links directly at a joint of the arm are not among them.

    :param names: joints of the arm.
    """
    arm = [joint for joint in robot.urdf.joints.values() if joint.name in names]
    ends = {link for joint in arm for link in (joint.parent, joint.child)}
    moving = [robot.urdf.joints[name] for name in robot.tree.joint_names if name not in names]
    return {joint.parent for joint in moving} - ends


def _axes(tree: KinematicTree, names: Sequence[str]) -> list[tuple[FloatArray, FloatArray]]:
    """Return for each joint a point on its axis and the direction of the axis, in the root frame at the zero posture [m]."""
    poses = compute_joint_poses(tree, _zero(tree))
    joints = [tree.joint_index[name] for name in names]
    return [(poses[j][:3, 3], poses[j][:3, :3] @ tree.axes[j]) for j in joints]


def _line_frame(lines: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """
    Return a frame (4, 4) at the axes of an arm, by which two robots with the same axes can be aligned.

    Its z axis is the first axis. Its x axis is perpendicular to the first axis and to the next one that is a different
    line. Its origin is the point of the first axis that is nearest to that line; if both are parallel, the given point.

    :param lines: point and direction of each axis.
    """
    point, z = lines[0]
    x, foot = np.cross(z, np.eye(3)[int(np.abs(z).argmin())]), point
    for other, direction in lines[1:]:
        across, offset = np.cross(z, direction), other - point
        apart = offset - (offset @ z) * z
        if np.linalg.norm(across) > SAME_AXIS:
            x = across
            # The point of the first axis that is nearest to the second axis.
            foot = point + z * (np.cross(offset, direction) @ across) / (across @ across)
            break
        if np.linalg.norm(apart) > SAME_AXIS:
            x = apart
            break
    x = x / np.linalg.norm(x)
    return pose_matrix(foot, np.column_stack((x, np.cross(z, x), z)))


def _agree(
    lines: Sequence[tuple[FloatArray, FloatArray]],
    others: Sequence[tuple[FloatArray, FloatArray]],
    to_root: FloatArray,
) -> bool:
    """Return whether each axis of ``others``, moved by ``to_root`` (4, 4), is the same line with the same direction in ``lines``."""
    for (point, direction), (other, turned) in zip(lines, others, strict=True):
        offset = to_root[:3, :3] @ other + to_root[:3, 3] - point
        if np.linalg.norm(to_root[:3, :3] @ turned - direction) > SAME_AXIS:
            return False
        if np.linalg.norm(np.cross(offset, direction)) > SAME_AXIS:
            return False
    return True
