"""
Draw a mechanism as markers for a 3D viewer such as RViz: links, degrees of freedom, limits and goals.

:func:`markers` returns them as data. Points are in the world frame of the mechanism. Names and numbers of markers
change only with the structure of the mechanism.
"""

from collections.abc import Iterable, Iterator, Sequence
import math

import numpy as np

from ssik_ros.arguments import check_kind, read_flag, read_number, read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy
from ssik_ros.markers import angles_of_arc, Color, Marker
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.graph import as_frames, describe, find_roots, list_frames
from ssik_ros.mechanisms.joint import Goal, Joint
from ssik_ros.mechanisms.names import DOF
from ssik_ros.solvers.mechanisms.structure import find_chains

LINKS: Color = (0.8, 0.8, 0.8, 1.0)
FREE_COLOR: Color = (1.0, 0.5, 0.0, 1.0)
LOCKED: Color = (0.35, 0.35, 0.35, 1.0)
AT_LIMIT: Color = (1.0, 0.0, 0.0, 1.0)
OUTSIDE: Color = (0.0, 0.3, 1.0, 1.0)
"""A joint that is in no chain."""
GOAL: Color = (0.0, 0.8, 0.2, 1.0)
CLOSURE: Color = (0.9, 0.1, 0.9, 1.0)
"""The remaining error of a closure or a goal."""
BEHIND = 0.1
"""Opacity of markers that are drawn over everything else."""
LIMIT_OPACITY = 0.3
LINE_WIDTH, JOINT_HALF_LENGTH, JOINT_RADIUS = 0.02, 0.5, 0.2
"""Width of lines, half length and radius of joints, relative to the scale."""


def markers(
    roots: Frame | Iterable[Frame],
    *,
    scale: float = 0.1,
    color: Color | None = None,
    namespace: str = 'ik',
    draw_through: bool = False,
) -> list[Marker]:
    """
    Return the markers of all mechanisms that contain the given frames, at their present values.

    Lines lead from frames to their parents, and from each closing joint or goal to the link that it closes onto. A
    rotation is a cylinder along its axis; three rotations are a sphere. A translation is a line over its range. On a
    side without a limit, this line ends half of ``scale`` from the origin of the frame. An angle with two limits has a
    wedge, nested as the rotations (about z, then y, then x). Colours distinguish free joints, locked joints, joints at
    a limit, joints outside every chain, and goals.

    :param roots: any frames; everything that is connected with them is drawn.
    :param scale: size of a joint [m].
    :param color: of links and free joints, instead of the two colours that they have.
    :param namespace: the first part of the markers' namespaces.
    :param draw_through: make everything transparent, to be drawn a second time over all else.
    :raises InvalidOption: when the scale is not positive, or an argument has a wrong type.
    :raises DimensionMismatch: for a color that is not four numbers.
    :raises InvalidClosure: if ``roots`` has anything but frames.
    """
    check_kind('namespace', namespace, str, 'a text')
    if not read_number('scale', scale) > 0.0:
        raise InvalidOption(f'The scale of markers must be > 0, not {scale}.', scale=scale)
    if color is not None:
        red, green, blue, alpha = read_numbers('color', color, (4,)).tolist()
        color = red, green, blue, alpha
    frames = list_frames(find_roots(as_frames('roots', roots)))
    shape = describe(frames)
    solved = {joint for chain in find_chains(shape) for joint in chain.joints}
    poses = {id(frame): frame.matrix_world for frame in frames}
    carried = [(f, f.parent) for f in frames if f.parent is not None]
    closures = [f for f in frames if isinstance(f, Joint) and f.is_closure]
    closed = [(f, f.child) for f in closures if f.child is not None]
    drawn = [
        _lines('links', carried, poses, color or LINKS, LINE_WIDTH * scale),
        _lines('closures', closed, poses, CLOSURE, LINE_WIDTH * scale),
    ]
    for row, frame in enumerate(frames):
        if isinstance(frame, Goal):
            drawn.append(
                ('goals', 'line_list', GOAL, 2.0 * LINE_WIDTH * scale, _axes(frame, scale))
            )
        elif isinstance(frame, Joint):
            state = _state_color(frame, row in solved, color or FREE_COLOR)
            drawn += _joint(frame, poses, state, scale)
    opacity = BEHIND if read_flag('draw_through', draw_through) else 1.0
    numbers: dict[str, int] = {}
    result = []
    for kind, figure, shade, size, points in drawn:
        number = numbers[kind] = numbers.get(kind, -1) + 1
        faded = (*shade[:3], shade[3] * opacity)
        result.append(Marker(f'{namespace}/{kind}', number, figure, faded, size, points))
    return result


Drawn = tuple[str, str, Color, float, FloatArray]


def _lines(
    kind: str,
    pairs: Sequence[tuple[Frame, Frame]],
    poses: dict[int, FloatArray],
    color: Color,
    width: float,
) -> Drawn:
    """
    Return the marker with a line between the origins of the two frames of each pair.

    :param kind: second part of the marker's namespace, after the caller's one.
    :param poses: pose (4, 4) of each frame in the world, by the id of the frame object.
    :param width: width of the lines [m].
    """
    ends = [poses[id(end)][:3, 3] for pair in pairs for end in pair]
    return kind, 'line_list', color, width, np.array(ends).reshape(-1, 3)


def _axes(frame: Joint, scale: float) -> FloatArray:
    """
    Return the ends (2 k, 3) in the world [m] of lines from a goal's origin along each direction that it fixes.

    The directions are axes of the goal, or of the world if ``mask_frame`` is ``world``. A goal that fixes angles only
    has one line, along z.

    :param frame: the goal.
    :param scale: length of a line [m].
    """
    pose = frame.matrix_world
    is_world = isinstance(frame, Goal) and frame.mask_frame == 'world'
    axes = scale * (np.eye(3) if is_world else pose[:3, :3])
    fixed = [dof for dof in frame.dof if dof < DOF.EX] or [DOF.Z]
    origin = pose[:3, 3]
    return np.array([p for dof in fixed for p in (origin, origin + axes[:, dof])])


def _state_color(joint: Joint, solved: bool, free: Color) -> Color:
    if not solved:
        return OUTSIDE
    if joint.dof and joint.locked:
        return LOCKED
    for dof in joint.dof:
        value = joint.get_dof_value(dof)
        if value <= joint.get_min_limit(dof) or value >= joint.get_max_limit(dof):
            return AT_LIMIT
    return free


def _joint(
    joint: Joint, poses: dict[int, FloatArray], color: Color, scale: float
) -> Iterator[Drawn]:
    """
    Yield the markers of a joint's degrees of freedom, with points in the world [m].

    :param poses: pose (4, 4) of each frame in the world, by the id of the frame object.
    :param color: of the joint; its limits are drawn in the same color, more transparent.
    :param scale: size of a joint [m].
    """
    before = np.eye(4) if joint.parent is None else poses[id(joint.parent)]
    frame = before @ joint.matrix
    values = joint.dof_values
    origin = poses[id(joint)][:3, 3]
    for dof in (d for d in joint.dof if d < DOF.EX):
        low, high = joint.get_min_limit(dof), joint.get_max_limit(dof)
        ends = [
            limit if math.isfinite(limit) else values[dof] + side * JOINT_HALF_LENGTH * scale
            for limit, side in ((low, -1), (high, 1))
        ]
        line = np.array([origin + (end - values[dof]) * frame[:3, dof] for end in ends])
        yield 'slides', 'line_list', color, 2.0 * LINE_WIDTH * scale, line
    angles = [dof for dof in joint.dof if dof >= DOF.EX]
    if len(angles) == 3:
        yield 'balls', 'sphere', color, 2.0 * JOINT_RADIUS * scale, origin[None, :].copy()
    for dof in angles:
        # The axes nest: z first, then y, then x.
        ex, ey, ez = values[3:] * (np.arange(3) > dof - 3)
        axes = frame[:3, :3] @ matrix_of_rpy(ex, ey, ez)
        if len(angles) < 3:
            half = JOINT_HALF_LENGTH * scale * axes[:, dof - 3]
            ends = [origin - half, origin + half]
            yield 'turns', 'cylinder', color, JOINT_RADIUS * scale, np.array(ends)
        wedge = _wedge(joint, dof, axes, origin, scale)
        if len(wedge):
            yield 'limits', 'triangle_list', (*color[:3], LIMIT_OPACITY), 0.0, wedge


def _wedge(
    joint: Joint, dof: DOF, axes: FloatArray, origin: FloatArray, scale: float
) -> FloatArray:
    """
    Return corners (3 k, 3) in the world [m] of triangles over the range of an angle, at most a full circle.

    The array is empty if the angle lacks a limit.

    :param dof: the angle: EX, EY or EZ.

    :param axes: (3, 3) rotation of the joint in the world at zero value of the angle: columns x, y, z.
    :param origin: (3,) origin of the joint in the world [m].
    :param scale: radius [m].
    """
    low, high = joint.get_min_limit(dof), joint.get_max_limit(dof)
    if not (math.isfinite(low) and math.isfinite(high)):
        return np.zeros((0, 3))
    angles = angles_of_arc(low, high)
    u, v = axes[:, (dof - 2) % 3], axes[:, (dof - 1) % 3]
    rim = origin + scale * (np.outer(np.cos(angles), u) + np.outer(np.sin(angles), v))
    corners = np.empty((len(rim) - 1, 3, 3))
    corners[:, 0], corners[:, 1], corners[:, 2] = origin, rim[:-1], rim[1:]
    return corners.reshape(-1, 3)
