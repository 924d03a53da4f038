"""
Build one packed problem, which every iterative kernel can run, from a robot and a list of relative poses.

A goal of a tip, a closure of a loop, a masked target and a task are the same thing here: a :class:`PoseConstraint`.
Packing folds fixed joints into constants, and rotates every joint axis to +z. It drops joints that move all frames
alike or none of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from enum import IntEnum
import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import check_kind, read_numbers
from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption, InvalidTarget, ModelError, quote
from ssik_ros.kernels.geometry import se3
from ssik_ros.kernels.geometry.rotations import invert_pose, pose_from_numbers, pose_numbers
from ssik_ros.kernels.rows import layout, reach_hull
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE
from ssik_ros.problem.reach_hull import BallReach, make_hulls, UnlimitedReach
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import dataclass

Number = TypeVar('Number', np.float64, np.int64)

IDENTITY = np.eye(4)


class Axes(IntEnum):
    """Frame whose axes measure the rows of a constraint: the world, frame a, the goal or frame b."""

    WORLD = layout.WORLD
    """
    Axes of the root of the problem: frame a of the first constraint, if no joint of the problem moves this frame.

    Otherwise it is the moved frame of the last joint above all frames, or the root link.
    """
    FRAME_A = layout.FRAME_A
    """Axes of frame a of the constraint."""
    GOAL = layout.GOAL
    """Axes of the pose that frame b should have."""
    FRAME_B = layout.FRAME_B
    """Axes of frame b of the constraint."""


class RotationKind(IntEnum):
    """Which rotation a constraint asks for: the full one, an alignment of z axes, or the spin about z."""

    FULL = layout.FULL
    """The three components of the rotation vector."""
    ALIGN = layout.ALIGN
    """The z axes of goal and frame b point the same way; the spin about them is free."""
    SPIN = layout.SPIN
    """Only the rotation about z (sixth row)."""


def _six(value: float) -> FloatArray:
    """Return a read-only array of six numbers that are all ``value``."""
    return _frozen(np.full(6, value))


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """How a relative pose is measured: weights, axes and tolerated deviations of its six rows (x, y, z, rx, ry, rz)."""

    weights: FloatArray = field(default_factory=lambda: _six(1.0))
    """(6,) factor on each row (x, y, z, rx, ry, rz) of residual and Jacobian; 0 leaves the row out."""
    position_axes: Axes = Axes.WORLD
    """Frame whose axes measure the rows x, y, z."""
    rotation_axes: Axes = Axes.WORLD
    """Frame whose axes measure the rows rx, ry, rz."""
    rotation: RotationKind = RotationKind.FULL
    """Which rotation the rows rx, ry, rz measure."""
    lower: FloatArray = field(default_factory=lambda: _six(0.0))
    """(6,) lowest deviation (actual minus goal) that does not count as an error, <= 0 [m, rad]."""
    upper: FloatArray = field(default_factory=lambda: _six(0.0))
    """(6,) highest deviation that does not count as an error, >= 0 [m, rad]."""

    def __post_init__(self) -> None:
        """
        Replace the arrays by read-only copies.

        :raises InvalidOption: for weights that are negative, not finite or all zero, bounds that are NaN or exclude
            zero, or invalid axes.
        :raises DimensionMismatch: for an array that does not have six numbers.
        """
        for name in ('weights', 'lower', 'upper'):
            value = read_numbers(f'Rows.{name}', getattr(self, name), (6,))
            if np.isnan(value).any():
                raise InvalidOption(f'Rows.{name} contains NaN: {value}.')
            object.__setattr__(self, name, _frozen(value))
        usable = np.isfinite(self.weights).all() and (self.weights >= 0).all()
        if not (usable and self.weights.any()):
            raise InvalidOption(
                f'Row weights must be finite, >= 0 and not all zero: {self.weights}.'
            )
        if (self.lower > 0).any() or (self.upper < 0).any():
            raise InvalidOption('A box of deviations must contain zero in every row.')
        for name, kind in (
            ('position_axes', Axes),
            ('rotation_axes', Axes),
            ('rotation', RotationKind),
        ):
            check_kind(f'Rows.{name}', getattr(self, name), kind)
        self._check_rotation()

    def _check_rotation(self) -> None:
        """
        Check that an alignment or a spin is defined with the axes and weights.

        :raises InvalidOption: for an alignment not measured in the goal or frame b, or a spin with weights in rows 4
            and 5.
        """
        if self.rotation == RotationKind.ALIGN and self.rotation_axes not in (
            Axes.GOAL,
            Axes.FRAME_B,
        ):
            raise InvalidOption('An axis alignment is measured in Axes.GOAL or Axes.FRAME_B.')
        if self.rotation == RotationKind.SPIN and self.weights[3:5].any():
            raise InvalidOption(
                'A spin has one row, the sixth; the weights of rows 4 and 5 must be 0.'
            )

    @property
    def boxed(self) -> bool:
        """Return whether any row has a tolerated deviation, a box that is wider than zero."""
        return bool(self.lower.any() or self.upper.any())

    @property
    def count(self) -> int:
        """Return the number of rows whose weight is not zero."""
        return int(np.count_nonzero(self.weights))


def position_rows() -> Rows:
    """Return rows that constrain the position and leave the orientation free."""
    return Rows(weights=np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))


@dataclass(frozen=True, eq=False, slots=True)
class PoseConstraint:
    """
    Demand that frame b has a given pose relative to frame a.

    The pose is ``offset``, or ``offset`` times a target of the request if ``target`` is given.
    """

    frame_a: str
    """Link that the pose is given in."""
    frame_b: str
    """Link whose pose is constrained."""
    offset: FloatArray | None = None
    """(4, 4) pose of the goal, or of the frame of the targets, in frame a; None is identity."""
    tool: FloatArray | None = None
    """(4, 4) pose of the constrained point in frame b; None is identity."""
    target: int | None = None
    """Index of the request's target that follows ``offset``; None for a constraint without one."""
    rows: Rows = field(default_factory=Rows)
    """Weights, axes and tolerated deviations of the six components; by default a full pose in world axes."""

    def __post_init__(self) -> None:
        """
        Replace the transforms by read-only copies.

        :raises InvalidTarget: for a transform that is not rigid.
        :raises InvalidOption: for a negative index of a target.
        """
        for name in ('offset', 'tool'):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _rigid(value, f'PoseConstraint.{name}'))
        if self.target is not None and self.target < 0:
            raise InvalidOption(f'PoseConstraint.target must be >= 0 or None, not {self.target}.')


def _rigid(value: FloatArray, what: str) -> FloatArray:
    """
    Return a read-only copy of a rigid transform (4, 4).

    :param what: name of the value, for the message.
    :raises InvalidTarget: if the value is not a finite rigid transform.
    """
    array = read_numbers(what, value)
    if array.shape != (4, 4) or not se3.is_rigid(array, 0, DEFAULT_TOLERANCES.rigid):
        raise InvalidTarget(f'{what} is not a finite rigid 4x4 transform: {value}.')
    return _frozen(array)


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """
    Inverse-kinematics problem packed for the kernels; ``nq`` position and ``nv`` velocity variables, the group's first.

    Joints outside the group that move a frame follow as *passive* variables. A solver holds them by equal limits at
    their values in the state of the request.
    """

    ints: IntArray
    """Header and integer tables in the form of :mod:`ssik_ros.kernels.rows.layout`."""
    reals: FloatArray
    """Float tables in the same form, then reach hulls if there are any."""
    nq: int
    """Number of position variables; a ball joint has four."""
    nv: int
    """Number of velocity variables; a ball joint has three."""
    group_size: int
    """Position variables that belong to the group; the rest are passive."""
    idx_q: IntArray
    """(nq,) index of each variable in a full state of the tree."""
    lower: FloatArray
    """(nv,) lower limits of the tree [rad or m], minus infinity for rotations of balls."""
    upper: FloatArray
    """(nv,) upper limits of the tree [rad or m], infinite for rotations of balls."""
    variable_q: IntArray
    """(nv,) position variable of each velocity variable."""
    variable_kind: IntArray
    """(nv,) PERIODIC, LINEAR, BALL_FIRST or BALL_REST of :mod:`ssik_ros.kernels.rows.layout`."""
    joint_of_variable: tuple[str, ...]
    """(nv,) name of the joint each velocity variable belongs to."""
    constraints: tuple[PoseConstraint, ...]
    """The relative poses, in the order of their rows."""
    reaches: tuple[tuple[int, UnlimitedReach | BallReach | None], ...] = ()
    """
    For each target of a chain with slides: its index, and its reach without limits of slides.

    An unknown reach is given as None. The tuple is empty without hulls, and if no slide moves a tip. In the
    second case the kernels' proofs that a target is out of reach use no limits.
    """

    @property
    def reach(self) -> float:
        """
        Return an upper bound on the distance of a tip from its first joint, the largest of all constraints [m].

        It adds the lengths of all links and, for each slide, its largest absolute value. It is infinite if a slide
        lacks limits, is not in the group, or may leave its limits (``keeps_limits`` False). It is also infinite if a
        constraint is not an unweighted target pose of frame b in the fixed root frame.
        """
        table = layout.TABLES.show(self.ints, self.reals).constraint_f
        return float(table[:, layout.CONSTRAINT_REACH].max())

    @property
    def workspace_size(self) -> int:
        """Return how many floats the workspace of a solve has."""
        return int(self.ints[layout.WORK_SIZE])

    @property
    def rows(self) -> int:
        """Return the number m of rows of residual and Jacobian."""
        return int(self.ints[layout.ROWS])


def rotation_to_axis(axis: FloatArray) -> FloatArray:
    """
    Return a rotation, as a matrix (4, 4), that turns the +z axis to a given axis.

    If the axis has z >= 0, it is the shortest such rotation. Otherwise +z is turned by pi about x first, because the
    shortest rotation to -z is not unique.

    :param axis: (3,) unit vector.
    """
    x, y, z = axis
    if z < 0.0:
        return rotation_to_axis(-axis) @ np.diag([1.0, -1.0, -1.0, 1.0])
    rotation = np.eye(4)
    skew = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    rotation[:3, :3] += skew + skew @ skew / (1.0 + z)
    return rotation


AXIS_X, AXIS_Y, AXIS_Z = np.eye(3)
SINGLE = {
    JointKind.REVOLUTE: layout.REVOLUTE,
    JointKind.CONTINUOUS: layout.REVOLUTE,
    JointKind.PRISMATIC: layout.PRISMATIC,
}


class _Nodes:
    """Builder of the node table: one row for each degree of freedom (one for a ball), with the joint axis turned to +z."""

    def __init__(self, tree: KinematicTree, root_joint: int, root_offset: FloatArray) -> None:
        """
        Start a table without nodes.

        :param tree: the robot.
        :param root_joint: joint that carries the problem's root, -1 for the root link of the robot.
        :param root_offset: (4, 4) pose of the frame of this joint, after its motion, in the problem's root frame.
        """
        self.tree = tree
        self.ints: list[list[int]] = []
        self.reals: list[FloatArray] = []
        self.carrier: dict[int, tuple[int, FloatArray]] = {root_joint: (-1, root_offset)}
        """Joint -> (node, pose of the joint's moved frame in that node's moved frame)."""
        self.driven: list[tuple[int, int, float]] = []
        """(velocity variable, node kind, multiplier) of each row."""

    def add_joint(self, joint: int, q: int, v: int, multiplier: float, offset: float) -> None:
        """
        Append the nodes of a joint; its parent joint must have been added before.

        :param joint: index of the joint in the tree.
        :param q, v: first position and velocity variable of the joint, or of the joint that it follows.
        :param multiplier, offset: a joint with one variable has the value ``multiplier`` * variable ``q`` + ``offset``.
        """
        kind = JointKind(int(self.tree.kinds[joint]))
        node, carried = self.carrier[int(self.tree.parents[joint])]
        placement = carried @ self.tree.placements[joint]
        if kind in SINGLE:
            axis = np.asarray(self.tree.axes[joint])
            node, rest = self._add(SINGLE[kind], node, placement, axis, q, v, multiplier, offset)
        elif kind == JointKind.SPHERICAL:
            node, rest = self._add(layout.SPHERICAL, node, placement, AXIS_Z, q, v)
        else:
            node, rest = self._add(layout.PRISMATIC, node, placement, AXIS_X, q, v)
            node, rest = self._add(layout.PRISMATIC, node, rest, AXIS_Y, q + 1, v + 1)
            if kind == JointKind.PLANAR:
                node, rest = self._add(layout.REVOLUTE, node, rest, AXIS_Z, q + 2, v + 2)
            else:
                node, rest = self._add(layout.PRISMATIC, node, rest, AXIS_Z, q + 2, v + 2)
                node, rest = self._add(layout.SPHERICAL, node, rest, AXIS_Z, q + 3, v + 3)
        self.carrier[joint] = (node, rest)

    def _add(
        self,
        kind: int,
        parent: int,
        placement: FloatArray,
        axis: FloatArray,
        q: int,
        v: int,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> tuple[int, FloatArray]:
        """
        Append one node; return its index, and the pose (4, 4) of the joint's frame in the node's frame.

        Both frames are after the motion. The pose is a rotation, because the axis of a node is +z.

        :param kind: kind of the node, such as ``layout.REVOLUTE``.
        :param parent: index of the node above, -1 for the root.
        :param placement: (4, 4) pose of the joint in the moved frame of the parent.
        :param axis: (3,) unit axis in the joint's frame.
        :param q, v: position and velocity variable.
        :param multiplier, offset: the node moves by ``multiplier`` * variable + ``offset``.
        """
        rotation = rotation_to_axis(axis)
        lead = 1.0 if kind == layout.PRISMATIC else 0.0
        self.ints.append([kind, parent, q, v])
        self.reals.append(
            np.concatenate(
                [pose_numbers(placement @ rotation), [multiplier, offset, lead, multiplier]]
            )
        )
        self.driven.append((v, kind, multiplier))
        return len(self.ints) - 1, rotation.T

    def frame(self, joint: int, placement: FloatArray) -> tuple[int, FloatArray]:
        """
        Return the node to which a frame is fixed, -1 for the root, and the frame's pose (4, 4) in this node.

        The pose is relative to the node's frame after its motion.

        :param joint: joint to which the frame is fixed.
        :param placement: (4, 4) pose of the frame in the joint's frame after its motion.
        """
        node, rest = self.carrier[joint]
        return node, rest @ placement

    def ancestors(self, node: int) -> list[int]:
        """Return the indices of the nodes on the way from the root to ``node``, which comes last; empty for the root (-1)."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.ints[node][layout.NODE_PARENT]
        return path[::-1]


class _Variables:
    """Builder of the variable table: gives position and velocity variables to the joints of a problem."""

    def __init__(self, tree: KinematicTree) -> None:
        """
        Start a table without variables.

        :param tree: the robot.
        """
        self.tree = tree
        self.first: dict[int, tuple[int, int]] = {}
        self.idx_q: list[int] = []
        self.variable_q: list[int] = []
        self.kinds: list[int] = []
        self.is_revolute: list[bool] = []
        self.names: list[str] = []

    def add(self, joint: int) -> None:
        """Give a joint, by its index in the tree, its variables, unless it has them already."""
        if joint in self.first:
            return
        kind = JointKind(int(self.tree.kinds[joint]))
        q, v = len(self.idx_q), len(self.variable_q)
        self.first[joint] = (q, v)
        start = int(self.tree.idx_q[joint])
        self.idx_q += range(start, start + POSITION_SIZE[kind])
        kinds, places = self._tangent(kind)
        self.kinds += kinds
        self.is_revolute += [kind != layout.LINEAR for kind in kinds]
        self.variable_q += [q + place for place in places]
        self.names += [self.tree.joint_names[joint]] * len(kinds)

    @staticmethod
    def _tangent(kind: JointKind) -> tuple[list[int], list[int]]:
        """
        Return (kinds, positions) of the velocity variables of a joint of some kind, one number for each.

        A kind is PERIODIC, LINEAR, BALL_FIRST or BALL_REST of :mod:`ssik_ros.kernels.rows.layout`. The positions are
        indices of position variables, counted within the joint.
        """
        ball = [layout.BALL_FIRST, layout.BALL_REST, layout.BALL_REST]
        line = layout.LINEAR
        if kind == JointKind.SPHERICAL:
            return ball, [0, 0, 0]
        if kind == JointKind.FLOATING:
            return [line, line, line, *ball], [0, 1, 2, 3, 3, 3]
        if kind == JointKind.PLANAR:
            return [line, line, layout.PERIODIC], [0, 1, 2]
        return [line if kind == JointKind.PRISMATIC else layout.PERIODIC], [0]

    def keep_periodic(self, driven: Iterable[tuple[int, int, float]]) -> None:
        """
        Mark a variable as linear, not periodic, if adding a full turn to it moves a link.

        This happens if a joint that has or follows the variable slides, or turns by a multiple of it that is not a
        whole number.

        :param driven: (velocity variable, node kind, multiplier) of each node.
        """
        for v, kind, multiplier in driven:
            if kind == layout.SPHERICAL:
                continue
            if kind != layout.REVOLUTE or multiplier != round(multiplier):
                self.kinds[v] = layout.LINEAR

    def table(self, driven: Iterable[tuple[int, int, float]]) -> list[list[int]]:
        """
        Return the rows of the variable table: [kind, position variable, effect] for each velocity variable.

        The effect is TURNS or SLIDES, or IDLE if the variable moves no node.

        :param driven: (velocity variable, node kind, multiplier) of each node.
        """
        moving = {
            v + k for v, kind, _ in driven for k in range(3 if kind == layout.SPHERICAL else 1)
        }
        moves = [
            (layout.TURNS if is_revolute else layout.SLIDES) if v in moving else layout.IDLE
            for v, is_revolute in enumerate(self.is_revolute)
        ]
        return [list(row) for row in zip(self.kinds, self.variable_q, moves, strict=True)]

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return (lower, upper) limits (nv,) of the velocity variables [rad or m]; infinite for rotations of balls."""
        lower = np.full(len(self.kinds), -np.inf)
        upper = np.full(len(self.kinds), np.inf)
        for v, kind in enumerate(self.kinds):
            if kind <= layout.LINEAR:
                place = self.idx_q[self.variable_q[v]]
                lower[v], upper[v] = self.tree.lower[place], self.tree.upper[place]
        return lower, upper


def _common_prefix(paths: Sequence[Sequence[int]]) -> list[int]:
    """Return the longest list of joints with which all paths begin."""
    prefix: list[int] = []
    for joints in zip(*paths, strict=False):
        if len(set(joints)) > 1:
            break
        prefix.append(joints[0])
    return prefix


def _reach(nodes: _Nodes, path: list[int], placement: FloatArray, limits: list[float]) -> float:
    """
    Return an upper bound on the distance of frame b from the first joint on its path [m].

    It is the sum of the lengths of all links after the first joint and of the numbers ``limits``.

    :param path: nodes from the root to frame b, at least one.
    :param placement: (4, 4) pose of frame b in its node.
    :param limits: for each node of the path, its number from :func:`_travel` [m].
    """
    reach = float(np.linalg.norm(placement[:3, 3])) + sum(limits)
    return reach + sum(float(np.linalg.norm(nodes.reals[node][9:12])) for node in path[1:])


def build_problem(
    tree: KinematicTree,
    joints: Sequence[str],
    constraints: Sequence[PoseConstraint],
    *,
    with_hulls: bool = False,
    keeps_limits: bool = True,
) -> Problem:
    """
    Return the packed problem of some relative poses of a robot.

    :param tree: the robot.
    :param joints: the group's joints, in the order of its solutions; none may be a mimic follower.
    :param constraints: at least one relative pose.
    :param with_hulls: whether to add hulls, which prove that a target is out of reach; for problems with many requests.
    :param keeps_limits: whether such proofs may use the limits of slides; False if solutions outside of the limits
        count.
    :raises JointNotFound, FrameNotFound: for an unknown joint or link; the message has a similar name, if any.
    :raises ModelError: for a joint that only follows another joint, or is named twice.
    :raises InvalidOption: without a constraint.
    """
    if not constraints:
        raise InvalidOption('A problem needs at least one constraint.')
    variables = _Variables(tree)
    for name in joints:
        joint = tree.joint(name)
        if tree.leaders[joint] >= 0:
            leader = tree.joint_names[int(tree.leaders[joint])]
            raise ModelError(
                f'Joint {quote(name)} only follows {quote(leader)}; solve for that one instead.'
            )
        if joint in variables.first:
            raise ModelError(f'Joint {quote(name)} is named twice.')
        variables.add(joint)
    group_size = len(variables.idx_q)
    paths = {name: tree.joint_path(name) for c in constraints for name in (c.frame_a, c.frame_b)}
    prefix = _common_prefix(list(paths.values()))
    moving = sorted({joint for path in paths.values() for joint in path[len(prefix) :]})
    root_joint = prefix[-1] if prefix else -1
    nodes = _Nodes(tree, root_joint, _root_offset(tree, constraints[0].frame_a, root_joint))
    for index in moving:
        driver = int(tree.leaders[index]) if tree.leaders[index] >= 0 else index
        variables.add(driver)
        q, v = variables.first[driver]
        nodes.add_joint(index, q, v, float(tree.multipliers[index]), float(tree.offsets[index]))
    variables.keep_periodic(nodes.driven)
    # Proofs use the limits of the first ``n_limited`` velocity variables. A passive slide has the value of the state.
    n_limited = sum(place < group_size for place in variables.variable_q) if keeps_limits else 0
    problem = _pack(tree, variables, nodes, group_size, tuple(constraints), n_limited)
    return _add_hulls(problem, nodes, tree, n_limited) if with_hulls else problem


def _root_offset(tree: KinematicTree, base: str, root_joint: int) -> FloatArray:
    """
    Return the pose (4, 4) of the root joint's frame, after its motion, in the link ``base``.

    It is the identity if the link is not fixed to this joint.

    :param root_joint: index of the joint, -1 for the root link.
    """
    link = tree.link(base)
    if int(tree.link_joints[link]) != root_joint:
        return IDENTITY
    return invert_pose(np.asarray(tree.link_placements[link]))


def _link_frame(tree: KinematicTree, nodes: _Nodes, name: str) -> tuple[int, FloatArray]:
    """
    Return (node, pose): the node to which a link is fixed, -1 for the root, and the link's pose (4, 4) in this node.

    The pose is relative to the frame of the node after its motion.
    """
    link = tree.link(name)
    return nodes.frame(int(tree.link_joints[link]), np.asarray(tree.link_placements[link]))


def _pack(
    tree: KinematicTree,
    variables: _Variables,
    nodes: _Nodes,
    group_size: int,
    constraints: tuple[PoseConstraint, ...],
    n_limited: int,
) -> Problem:
    """
    Return the packed problem from its finished node and variable tables, without hulls.

    :param group_size: number of position variables of the group, which come first.
    :param n_limited: number of velocity variables, from the first on, whose limits the reach may use.
    """
    lower, upper = variables.limits()
    travel = _travel(nodes, lower, upper, n_limited)
    path_table: list[list[int]] = []
    constraint_i, constraint_f = [], []
    for constraint in constraints:
        row_i, row_f = _pack_constraint(tree, nodes, constraint, travel, path_table)
        constraint_i.append(row_i)
        constraint_f.append(row_f)
    targets = 1 + max((c.target for c in constraints if c.target is not None), default=-1)
    tables = (
        nodes.ints,
        variables.table(nodes.driven),
        constraint_i,
        path_table,
        nodes.reals,
        constraint_f,
    )
    header = np.zeros(layout.HEADER, dtype=np.int64)
    header[layout.NODES] = len(nodes.ints)
    header[layout.VARIABLES] = len(variables.kinds)
    header[layout.POSITIONS] = len(variables.idx_q)
    header[layout.CONSTRAINTS] = len(constraints)
    header[layout.ROWS] = sum(constraint.rows.count for constraint in constraints)
    header[layout.PATHS] = len(path_table)
    header[layout.TARGETS] = targets
    header[layout.WORK_SIZE] = layout.WORKSPACE.place(header)
    ints, reals = layout.TABLES.pack(header, tables)
    return Problem(
        ints=_frozen(ints),
        reals=_frozen(reals),
        nq=len(variables.idx_q),
        nv=len(variables.kinds),
        group_size=group_size,
        idx_q=_frozen(np.array(variables.idx_q, dtype=np.int64)),
        lower=_frozen(lower),
        upper=_frozen(upper),
        variable_q=_frozen(np.array(variables.variable_q, dtype=np.int64)),
        variable_kind=_frozen(np.array(variables.kinds, dtype=np.int64)),
        joint_of_variable=tuple(variables.names),
        constraints=constraints,
    )


def _frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def _travel(nodes: _Nodes, lower: FloatArray, upper: FloatArray, n_limited: int) -> list[float]:
    """
    Return for each node the largest absolute value that it can have as a slide along its axis [m]; 0 for rotations.

    For a slide this is the larger absolute limit of its variable times the absolute multiplier, plus the absolute
    offset. It is infinite for a variable whose limits do not count, unless the multiplier is 0.

    :param lower, upper: (nv,) limits of the velocity variables [rad or m].
    :param n_limited: number of velocity variables, from the first on, whose limits count.
    """
    travel = []
    for (v, kind, multiplier), reals in zip(nodes.driven, nodes.reals, strict=True):
        span = 0.0
        if kind == layout.PRISMATIC:
            farthest = max(abs(lower[v]), abs(upper[v])) if v < n_limited else math.inf
            moved = abs(multiplier) * farthest if multiplier != 0.0 else 0.0
            span = moved + abs(reals[layout.NODE_OFFSET])
        travel.append(float(span))
    return travel


def _pack_constraint(
    tree: KinematicTree,
    nodes: _Nodes,
    constraint: PoseConstraint,
    travel: list[float],
    path_table: list[list[int]],
) -> tuple[list[int], FloatArray]:
    """
    Return the rows (integers, numbers) of one constraint for the constraint tables; append its path to ``path_table``.

    :param travel: result of :func:`_travel` [m], for the reach.
    :param path_table: rows of the path table, to which the nodes that move frame a or b are appended.
    """
    node_a, place_a = _link_frame(tree, nodes, constraint.frame_a)
    node_b, place_b = _link_frame(tree, nodes, constraint.frame_b)
    place_a = place_a @ (IDENTITY if constraint.offset is None else constraint.offset)
    place_b = place_b @ (IDENTITY if constraint.tool is None else constraint.tool)
    path_a, path_b = nodes.ancestors(node_a), nodes.ancestors(node_b)
    rows = constraint.rows
    target = -1 if constraint.target is None else constraint.target
    simple = (
        rows.rotation == RotationKind.FULL
        and rows.position_axes == rows.rotation_axes == Axes.WORLD
        and bool((rows.weights == 1.0).all())
        and not rows.boxed
    )
    plain = simple and node_a < 0 and node_b >= 0 and target >= 0
    plain = plain and np.allclose(place_a, IDENTITY, rtol=0.0, atol=1e-15)
    first = len(path_table)
    moves_a = layout.MOVES_A + layout.MOVES_GOAL
    for node in sorted(set(path_a) | set(path_b)):
        side = layout.MOVES_B * (node in path_b) + moves_a * (node in path_a)
        path_table.append([node, side])
    centre, reach = np.zeros(3), np.inf
    if plain:
        centre = nodes.reals[path_b[0]][9:12]
        reach = _reach(nodes, path_b, place_b, [travel[node] for node in path_b])
    ints = [node_a, node_b, target, rows.position_axes, rows.rotation_axes, rows.rotation]
    mask = sum(1 << k for k in range(6) if rows.weights[k] != 0.0)
    ints += [int(rows.boxed), int(plain), first, len(path_table) - first, mask]
    parts = [pose_numbers(place_a), pose_numbers(place_b), rows.weights, rows.lower, rows.upper]
    reals = np.concatenate([*parts, centre, [reach, 0.0, 0.0]])
    return [int(value) for value in ints], reals


class _FrameChain(NamedTuple):
    """The chain of joints from a constraint's root to its tip, in the form of the arguments of :func:`make_hulls`."""

    slides: NDArray[np.bool_]
    """(n,) True for joints that slide, False for joints that turn."""
    axes: FloatArray
    """(n, 3) unit axes in the root frame, all joints at zero."""
    points: FloatArray
    """(n, 3) a point on each axis in the root frame, all joints at zero [m]."""
    lower: FloatArray
    """(n,) least value of each slide [m]; not read for joints that turn."""
    upper: FloatArray
    """(n,) largest value of each slide [m]; not read for joints that turn."""
    home: FloatArray
    """(4, 4) pose of the tip in the root frame, all joints at zero."""
    is_full_pose: bool
    """True if the target is a full pose, False if it is a position."""


def _add_hulls(problem: Problem, nodes: _Nodes, tree: KinematicTree, n_limited: int) -> Problem:
    """
    Return a copy of a problem with reach hulls of its constraints, and with ``reaches`` for slides without limits.

    The hulls are appended to the numbers of the problem.

    :param n_limited: number of velocity variables, from the first on, whose limits the hulls may use.
    """
    reals = [problem.reals.copy()]
    place = len(problem.reals)
    table = layout.TABLES.show(problem.ints, reals[0]).constraint_f
    reaches: list[tuple[int, UnlimitedReach | BallReach | None]] = []
    for index, constraint in enumerate(problem.constraints):
        chain = _chain_of(problem, nodes, tree, constraint, n_limited)
        hulls = None if chain is None else make_hulls(*chain[:6], is_full_pose=chain.is_full_pose)
        if hulls is not None:
            table[index, layout.CONSTRAINT_HULLS] = place
            table[index, layout.CONSTRAINT_HULL_COUNT] = len(hulls) // reach_hull.BLOCK
            reals.append(hulls)
            place += len(hulls)
        if constraint.target is not None:
            reaches.append(
                (constraint.target, _without_limits(problem, nodes, tree, index, chain))
            )
    if not any(_moves_by_slides(nodes, tree, constraint) for constraint in problem.constraints):
        reaches = []
    return replace(problem, reals=_frozen(np.concatenate(reals)), reaches=tuple(reaches))


def _without_limits(
    problem: Problem, nodes: _Nodes, tree: KinematicTree, index: int, chain: _FrameChain | None
) -> UnlimitedReach | BallReach | None:
    """
    Return the reach of a constraint's tip if slides had no limits; None if it is unknown.

    :param index: index of the constraint.
    :param chain: result of :func:`_chain_of` for the constraint.
    """
    if chain is not None:
        return UnlimitedReach(*chain[:3], chain.home, is_full_pose=chain.is_full_pose)
    if _moves_by_slides(nodes, tree, problem.constraints[index]):
        return None
    row = layout.TABLES.show(problem.ints, problem.reals).constraint_f[index]
    centre = row[layout.CONSTRAINT_REACH_CENTRE :][:3]
    return BallReach(centre.copy(), float(row[layout.CONSTRAINT_REACH]))


def _moves_by_slides(nodes: _Nodes, tree: KinematicTree, constraint: PoseConstraint) -> bool:
    """Return whether a prismatic joint moves frame b of a constraint, so that the reach depends on limits of such joints."""
    last, _ = _link_frame(tree, nodes, constraint.frame_b)
    return any(
        nodes.ints[node][layout.NODE_KIND] == layout.PRISMATIC
        and nodes.reals[node][layout.NODE_MULTIPLIER] != 0.0
        for node in nodes.ancestors(last)
    )


def _chain_of(
    problem: Problem,
    nodes: _Nodes,
    tree: KinematicTree,
    constraint: PoseConstraint,
    n_limited: int,
) -> _FrameChain | None:
    """
    Return the chain of joints that moves a constraint's tip in the root frame, for a hull of its reach.

    Return None if a hull cannot be made: if the constraint has no target, or has an offset or a box. The same holds if
    its weights do not select a full pose or a position, or frame a is not the fixed root frame. A joint that is neither
    revolute nor prismatic, or no joint above frame b, also gives None.

    :param n_limited: number of velocity variables, from the first on, whose limits count; slides of others have no
        limits.
    """
    rows = constraint.rows
    is_full_pose = bool((rows.weights == 1.0).all()) and rows.rotation == RotationKind.FULL
    is_place = bool((rows.weights == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]).all())
    node_a, place_a = _link_frame(tree, nodes, constraint.frame_a)
    last, placement = _link_frame(tree, nodes, constraint.frame_b)
    is_fixed = (
        node_a < 0 and constraint.offset is None and np.allclose(place_a, IDENTITY, 0, 1e-15)
    )
    is_free = not (is_full_pose or is_place) or rows.boxed or constraint.target is None
    if is_free or not is_fixed or last < 0:
        return None
    pose, axes, points, travel, slides = IDENTITY, [], [], [], []
    for node in nodes.ancestors(last):
        kind = nodes.ints[node][layout.NODE_KIND]
        if kind not in (layout.REVOLUTE, layout.PRISMATIC):
            return None
        pose = pose @ pose_from_numbers(nodes.reals[node][:12])
        axes.append(pose[:3, 2])
        points.append(pose[:3, 3])
        slides.append(kind == layout.PRISMATIC)
        travel.append(_slide_range(nodes, node, problem, n_limited))
    tip = pose @ placement @ (IDENTITY if constraint.tool is None else constraint.tool)
    lower, upper = np.array(travel).T
    chain = np.array(slides), np.array(axes), np.array(points), lower, upper
    return _FrameChain(*chain, tip, is_full_pose)


def _slide_range(
    nodes: _Nodes, node: int, problem: Problem, n_limited: int
) -> tuple[float, float]:
    """
    Return the (least, largest) value of a sliding node, multiplier times variable plus offset, within its limits [m].

    The range is infinite if the node's velocity variable is ``n_limited`` or a later one, whose limits do not count.
    With multiplier 0 it is (offset, offset) in any case.
    """
    v = nodes.ints[node][layout.NODE_V]
    multiplier = float(nodes.reals[node][layout.NODE_MULTIPLIER])
    offset = float(nodes.reals[node][layout.NODE_OFFSET])
    if multiplier == 0.0:
        return offset, offset
    if v >= n_limited:
        return -math.inf, math.inf
    ends = offset + multiplier * problem.lower[v], offset + multiplier * problem.upper[v]
    return float(min(ends)), float(max(ends))
