"""
Boxes in joint space that hold all postures of a branch while the free parameters vary within a cell.

Problem
-------
A pose and values p of the free parameters determine a posture q of a branch. Over a cell of values p0 + dp with |dp| <=
h the posture changes continuously. Its value q0 at p0 is known. Find a matrix D and a bound e, so that
``|q - q0 - D dp| <= e`` holds for all dp in the cell.

Method
------
1. The pose error of a posture has a position part and a rotation part ``sum t_k x u_k / 2``. The t_k are the axes of
   the target, the u_k the axes of the tool. For dq = (dx, dp) it is ``error(q0) + J dq + r``, with the Jacobian J and a
   remainder r. It is zero on the branch.
2. Taylor: the position part of r is at most ``sum_k |dq_k| L_k (|w_k| + |dq_k| / 2)``. L_k is the largest distance of
   the tip from axis k over the box, 1 for a slide. w_k is the sum of dq_j a_j over turning joints before k, with the
   axes a_j. The rotation part is at most ``C / 2 + w^2 (angle + w) / 2``. C is the sum over pairs of
   ``|dq_j| |dq_k| sin_jk``, with the sine of the largest angle between both axes. w is the largest ``|sum dq_j a_j|``
   on the way. It is at most ``(|error| + |r|) / cos(angle) + C`` with the rotation parts, since q is on the branch too.
3. With J = (J_x, J_p): ``dx = -J_x^-1 J_p dp - J_x^-1 (error + r)``. Let |dq| <= b be a box, and N(b) the box of the
   right-hand sides. If N(b) lies inside b, the branch stays in N(b): it begins there, is continuous, and cannot leave b
   without having left N(b) before (Miranda; Krawczyk 1969).
4. N applied again to its own box makes it smaller. With D = -J_x^-1 J_p, e is the remaining half width.
5. If N(b) is not inside b, the box still holds all postures of the branch, but whether there are any is not proved.
   Such a box is intersected with N(b), around any q0. Any joints can be the parameters p. The joints are chosen that
   move most along the null space, compared with the roots of their half widths. If N(b) and b do not meet, the box
   holds no posture.

Degeneracies
------------
Near a fold of the cell's parameters step 5 chooses another joint as parameter. Near a singular posture J_x is singular
for each choice, N(b) is larger than b, and the cell has to be halved.

References: Krawczyk 1969; Neumaier 1990.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import BoolArray, chosen_rows, FloatArray, IntArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import MovedChain, SerialChain
from ssik_ros.paths.bounding.wrist_arms import (
    BOUND_ROUNDING,
    ParameterCells,
    Rows,
    WristArm,
)
from ssik_ros.paths.rotations import angles_between
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.windings import shifts_within
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement

FIRST_BOX_SIZE = 1.25
"""Size of the first box, as a multiple of the box that the derivatives give."""
LARGEST_BOX = 10.0
"""Half widths with which nothing is tried to be proved [rad or m]; squares of larger ones would overflow in the end."""
ROUNDS = 4
NEWTON_STEPS = 3
"""Most steps of the refinement from the centre of a box to a posture."""
NARROWINGS = 8
"""Number of times that a box is intersected with its Newton image N(b)."""
TURN_ROUNDS = 3
"""Number of times that the bound on a rotation is improved with itself."""
SINGULAR_SLOPE = 1e8
"""Largest derivative of a joint by a parameter; above it a branch counts as singular."""


class Nodes(NamedTuple):
    """
    k boxes in joint space; each holds all postures of a branch and winding whose free parameters are within one cell.

    A posture in a box is ``q + slopes @ dp`` with ``|dp| <= spans``, up to ``errors`` in each joint [rad or m]. The r
    parameters ``dp`` are changes of the free parameters of the arm, or of other joints that make the box smaller.
    """

    owners: IntArray
    """(k,) index of the cell that each box was made for, among the cells given to :func:`make_nodes`."""
    cells: ParameterCells
    """(k,) the cell of each box."""
    labels: IntArray
    """(k,) index of the branch, a row of ``LABELS`` of the arm."""
    q: FloatArray
    """(k, n) centres."""
    halves: FloatArray
    """(k, n) half widths."""
    spans: FloatArray
    """(k, r) half widths of the parameters ``dp``."""
    slopes: FloatArray
    """(k, n, r) derivatives of the joints by the parameters; zero where no linear model was proved."""
    errors: FloatArray
    """(k, n) largest distance of each joint from the linear model; the half width where no model was proved."""
    is_loose: BoolArray
    """(k,) whether it is not proved that the branch exists for all values in the cell."""
    prices: FloatArray
    """(k, n) derivatives of the cost of a path up to its posture in the box by the joints there; used for lower bounds,
    which are valid for any numbers."""

    def chosen(self, rows: Rows) -> 'Nodes':
        """
        Return the boxes with the given indices, as a new Nodes.

        :param rows: indices, a slice, or a mask (k,).
        """
        return chosen_rows(self, rows)


def make_nodes(
    arm: WristArm, cells: ParameterCells, poses: FloatArray, turning: IntArray
) -> Nodes:
    """
    Return boxes that together hold every posture within the limits whose free parameters are in the given cells.

    A cell gives at most one box for each branch and winding. Branches that are proved not to exist in a cell get none.

    :param arm: the arm.
    :param cells: cells of the free parameters, each with the index of its layer.
    :param poses: (layers, 4, 4) pose of the tip of each layer.
    :param turning: (n,) 1 for joints whose windings count as one posture, else 0.
    """
    boxes = arm.boxes(cells, poses)
    owner, label = np.nonzero(boxes.is_there)
    box_cells = cells.chosen(owner)
    q, halves = boxes.q[owner, label], boxes.halves[owner, label]
    targets = poses[box_cells.layers]
    nodes = Nodes(
        owners=owner,
        cells=box_cells,
        labels=label,
        q=q,
        halves=halves,
        spans=box_cells.halves.copy(),
        slopes=np.zeros((*q.shape, len(arm.parameters))),
        errors=halves.copy(),
        is_loose=np.ones(len(q), dtype=bool),
        prices=np.zeros(q.shape),
    )
    sure = np.flatnonzero(boxes.is_sure[owner, label])
    tangents = _enclosed(arm, q[sure], box_cells.halves[sure], targets[sure])
    _put(nodes, sure, tangents)
    nodes.is_loose[sure[tangents.is_proved]] = False
    loose = np.flatnonzero(nodes.is_loose)
    tangents, is_empty = _narrowed(arm, q[loose], halves[loose], targets[loose])
    _put(nodes, loose, tangents)
    kept = np.ones(len(q), dtype=bool)
    kept[loose[is_empty]] = False
    return _within_limits(arm.chain.chain, nodes.chosen(kept), turning)


class _Tangents(NamedTuple):
    """
    k boxes in joint space, each around a linear model: postures ``q + slopes @ dp`` with ``|dp| <= spans``.

    The parameters ``dp`` are changes of r joints.
    """

    q: FloatArray
    """(k, n) postures in the middle of the boxes [rad or m]."""
    halves: FloatArray
    """(k, n) largest distance of each joint from ``q`` [rad or m]."""
    spans: FloatArray
    """(k, r) half widths of the parameters [rad or m]."""
    slopes: FloatArray
    """(k, n, r) derivatives of the joints by the parameters."""
    errors: FloatArray
    """(k, n) largest distance of each joint from the linear model [rad or m]."""
    is_proved: BoolArray
    """(k,) whether the bounds of the box are proved."""


def _put(nodes: Nodes, rows: IntArray, tangents: _Tangents) -> None:
    """
    Replace boxes of ``nodes`` in place by those boxes of ``tangents`` whose bounds are proved.

    :param rows: (k,) index in ``nodes`` of each box of ``tangents``.
    """
    good = tangents.is_proved
    rows = rows[good]
    nodes.q[rows], nodes.halves[rows] = tangents.q[good], tangents.halves[good]
    nodes.spans[rows], nodes.slopes[rows] = tangents.spans[good], tangents.slopes[good]
    nodes.errors[rows] = tangents.errors[good]


class Expansion:
    """
    First-order model of the pose error around k postures, with bounds on the remainder of the Taylor expansion.

    The pose error ``miss`` (k, 6) is position [m] and rotation part, ``jacobians`` (k, 6, n) are its derivatives by the
    joints. :meth:`solve_for` expresses six joints by the others, the parameters; :meth:`errors` needs it.
    """

    def __init__(self, chain: ToolChain, q: FloatArray, poses: FloatArray) -> None:
        """
        Expand around postures.

        :param chain: the arm with its tool.
        :param q: (k, n) postures [rad or m].
        :param poses: (k, 4, 4) target of each posture.
        """
        self._chain, self._poses, self.q = chain, poses, q
        self._moved = chain.chain.moved(q)
        self._reached, self.jacobians = self._moved.poses, self._moved.jacobians()
        turned = _rotation_part(self._reached, poses)
        self.jacobians[:, 3:] = turned @ self.jacobians[:, 3:]
        offset = self._reached[:, :3, 3] - poses[:, :3, 3]
        self.miss = np.hstack([offset, _skew_part(self._reached, poses)])

    def solve_for(self, free: IntArray) -> None:
        """
        Take some joints as parameters; compute the derivatives ``slopes`` (k, n, r) of all joints by them.

        ``is_good`` (k,) becomes False where the other six joints are nearly singular.

        :param free: (k, r) indices of the joints that are parameters.
        """
        k, n = self.q.shape
        rows = np.arange(k)[:, None]
        is_free = np.zeros((k, n), dtype=bool)
        is_free[rows, free] = True
        self.six: IntArray = np.nonzero(~is_free)[1].reshape(k, 6)
        inner = np.take_along_axis(self.jacobians, self.six[:, None], axis=2)
        outer = np.take_along_axis(self.jacobians, free[:, None], axis=2)
        good = np.isfinite(inner).all(axis=(1, 2)) & (np.abs(np.linalg.det(inner)) > 1e-12)
        inner[~good] = np.eye(6)
        inverse = np.linalg.inv(inner)
        self.slopes: FloatArray = np.zeros((k, n, free.shape[1]))
        self.slopes[rows, self.six] = -inverse @ outer
        self.slopes[rows, free] = np.eye(free.shape[1])
        self.is_good = good & (np.abs(self.slopes).max(axis=(1, 2), initial=0.0) < SINGULAR_SLOPE)
        self._lengths = (
            np.linalg.norm(inverse[:, :, :3], axis=2),
            np.linalg.norm(inverse[:, :, 3:], axis=2),
        )
        self._still = np.abs(np.einsum('kij,kj->ki', inverse, self.miss)) + BOUND_ROUNDING
        levers, sines = _axes(self._moved)
        angle = angles_between(self._reached[:, :3, :3], self._poses[:, :3, :3]) + BOUND_ROUNDING
        miss = np.linalg.norm(self.miss[:, 3:], axis=1)
        self._start = _Start(levers, sines, miss, angle)

    def remainders(self, box: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Return bounds on the norm of the remainder of the pose error: position (k,) [m], and rotation part (k,).

        They hold for postures in the box that reach the target pose. Call :meth:`solve_for` first.

        :param box: (k, n) largest distance of each joint from ``q`` [rad or m].
        """
        return _remainders(self._chain, box, self._start)

    def errors(self, box: FloatArray) -> FloatArray:
        """
        Return bounds (k, n) on the distance of each joint from the tangent ``q + slopes @ dp`` [rad or m].

        They hold for postures on the target pose within a box. Joints that are parameters have 0.

        :param box: (k, n) largest distance of each joint from ``q`` [rad or m].
        """
        place, turn = self.remainders(box)
        bounds = np.zeros_like(box)
        six_bounds = (
            self._lengths[0] * place[:, None] + self._lengths[1] * turn[:, None] + self._still
        )
        np.put_along_axis(bounds, self.six, six_bounds, axis=1)
        return bounds


def _enclosed(arm: WristArm, q: FloatArray, cell: FloatArray, poses: FloatArray) -> _Tangents:
    """
    Return a box for each posture ``q`` (k, n) that holds its branch over a cell of the parameters.

    ``cell`` (k, r) are the half widths of the cells. ``is_proved`` of the result is True where the proof succeeded;
    other boxes must not be used.

    :param poses: (k, 4, 4) target poses.
    """
    expansion = Expansion(arm.chain, q, poses)
    expansion.solve_for(np.tile(arm.parameters, (len(q), 1)))
    linear = np.einsum('knr,kr->kn', np.abs(expansion.slopes), cell)
    box, proved = FIRST_BOX_SIZE * linear + BOUND_ROUNDING, np.zeros(len(q), dtype=bool)
    errors = np.zeros_like(q)
    six = arm.six
    for _ in range(ROUNDS):
        new_errors = expansion.errors(box)
        within = (linear[:, six] + new_errors[:, six] < box[:, six]).all(axis=1)
        errors = np.where(proved[:, None], np.minimum(errors, new_errors), new_errors)
        proved |= within
        wider = np.minimum(FIRST_BOX_SIZE * (linear + errors) + BOUND_ROUNDING, LARGEST_BOX)
        box = np.where(proved[:, None], linear + errors, wider)
    is_proved = expansion.is_good & proved
    return _Tangents(q, linear + errors, cell, expansion.slopes, errors, is_proved)


def _narrowed(
    arm: WristArm, q: FloatArray, halves: FloatArray, poses: FloatArray
) -> tuple[_Tangents, BoolArray]:
    """
    Return smaller boxes that hold the same postures as boxes around ``q``, and a mask (k,) of boxes without a posture.

    Given boxes have the half widths ``halves`` (k, n). New boxes may use other joints as parameters; they must be used
    only where ``is_proved`` is True. The mask is True only if it is proved that no posture in the box reaches its pose.

    :param q: (k, n) centres of the given boxes.
    :param poses: (k, 4, 4) target poses.
    """
    refinement, center = BoundedRefinement(arm.chain.chain), q.copy()
    for k, bounds in enumerate(np.stack([q - halves, q + halves], axis=1)):
        refined = refinement.refine(poses[k], q[k], bounds, math.inf, NEWTON_STEPS)
        center[k] = q[k] if refined is None else refined
    expansion = Expansion(arm.chain, center, poses)
    box = halves + np.abs(center - q)
    spanned = np.linalg.svd(expansion.jacobians)[2][:, 6:]
    free = _pivots(spanned / np.sqrt(box[:, None] + 1e-12))
    expansion.solve_for(free)
    slopes, errors = expansion.slopes, np.full_like(box, np.inf)
    for _ in range(NARROWINGS):
        spans = np.take_along_axis(box, free, axis=1)
        errors = np.minimum(errors, expansion.errors(box))
        box = np.minimum(box, np.einsum('knr,kr->kn', np.abs(slopes), spans) + errors)
    # A joint whose tangent tells less than its half width does not follow it.
    is_free = np.zeros(box.shape, dtype=bool)
    np.put_along_axis(is_free, free, True, axis=1)
    is_wide = (errors >= box) & ~is_free
    slopes[is_wide], errors[is_wide] = 0.0, box[is_wide]
    is_proved = expansion.is_good & np.isfinite(errors).all(axis=1)
    is_empty = expansion.is_good & (np.abs(center - q) > box + halves + BOUND_ROUNDING).any(axis=1)
    return _Tangents(center, box, spans, slopes, errors, is_proved), is_empty


def _pivots(rows: FloatArray) -> IntArray:
    """
    Return the indices (k, r), ascending, of r columns of each (r, n) matrix that are as independent as possible.

    ``rows`` (k, r, n) are the matrices; columns are chosen one by one, the longest remainder first.
    """
    k, r, _ = rows.shape
    left, pivots = rows.copy(), np.zeros((k, r), dtype=np.int64)
    for number in range(r):
        lengths = np.linalg.norm(left, axis=1)
        pivots[:, number] = np.argmax(lengths, axis=1)
        column = np.take_along_axis(left, pivots[:, None, number : number + 1], axis=2)
        column /= np.maximum(np.linalg.norm(column, axis=1, keepdims=True), 1e-300)
        left = left - column * (np.swapaxes(column, 1, 2) @ left)
    return np.sort(pivots, axis=1)


def _rotation_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """
    Return the matrices (k, 3, 3) that map the tool's angular velocity to the derivative of the rotation error.

    The rotation error is the vector of :func:`_skew_part`; ``reached`` and ``poses`` (k, 4, 4) are tool and target
    poses.
    """
    between = reached[:, :3, :3] @ np.swapaxes(poses[:, :3, :3], 1, 2)
    trace = np.trace(between, axis1=1, axis2=2)
    return np.asarray(0.5 * (trace[:, None, None] * np.eye(3) - between))


def _skew_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """
    Return the rotation error (k, 3) between reached and target poses: half the sum of t_k x u_k over the axes x, y, z.

    t_k are the axes of the target ``poses``, u_k the axes of the ``reached`` poses, both (k, 4, 4).
    """
    crosses = np.cross(poses[:, :3, :3], reached[:, :3, :3], axis=1)
    return np.asarray(0.5 * crosses.sum(axis=2))


def _axes(moved: MovedChain) -> tuple[FloatArray, FloatArray]:
    """
    Return the distance (k, n) of the tip from each joint axis [m], and the sine (k, n, n) between each two axes.

    The distance is 1 for prismatic joints.
    """
    arms, axes = moved.poses[:, None, :3, 3] - moved.points, moved.axes
    levers = np.where(moved.turns, np.linalg.norm(np.cross(arms, axes), axis=2), 1.0)
    sines = np.linalg.norm(np.cross(axes[:, :, None], axes[:, None]), axis=3)
    return levers, sines


class _Start(NamedTuple):
    """
    Values at the k postures that an expansion is around; :func:`_remainders` computes bounds over a box with them.

    They are the distance of the tip from each axis, the sines of the angles between axes, and the rotation error.
    """

    levers: FloatArray
    """(k, n) distance of the tip from each axis [m]; 1 for slides."""
    sines: FloatArray
    """(k, n, n) sine of the angle between each two axes."""
    miss: FloatArray
    """(k,) length of the rotation part of the pose error."""
    angle: FloatArray
    """(k,) angle of the rotation error [rad]."""


def _remainders(chain: ToolChain, box: FloatArray, start: _Start) -> tuple[FloatArray, FloatArray]:
    """
    Return bounds on the remainder of the pose error's Taylor expansion: position (k,) [m] and rotation part (k,).

    They hold for postures on the target pose within ``box`` (k, n) of the expansion's postures [rad or m].

    :param start: values at the postures of the expansion.
    """
    is_turn = chain.chain.kinds != JointKind.PRISMATIC
    turns = box * is_turn
    sums = np.cumsum(turns, axis=1)
    whole = sums[:, -1]
    # The angle between two axes changes by at most the turns of the joints between them.
    between = np.maximum((sums - turns)[:, None, :] - sums[:, :, None], 0.0)
    sines = np.triu(np.minimum(start.sines + between, 1.0), 1)
    crossed = np.einsum('kj,kji,ki->k', turns, sines, turns)
    spin, turn = whole, 0.5 * whole**2
    for _ in range(TURN_ROUNDS):
        bound = 0.5 * (crossed + spin**2 * (start.angle + spin))
        turn = np.minimum(turn, bound)
        cosine = np.cos(np.minimum(start.angle, 1.5))
        spin = np.minimum(spin, (start.miss + turn) / cosine + crossed)
    place, moved = np.zeros(len(box)), np.zeros(len(box))
    for joint in range(box.shape[1] - 1, -1, -1):
        lever = start.levers[:, joint] + moved if is_turn[joint] else np.ones(len(box))
        # Bound the turn of all joints before this one: by their sum, or by the whole turn minus the turn of the others.
        front = sums[:, joint] - turns[:, joint]
        front = np.minimum(front, spin + whole - front)
        place += box[:, joint] * lever * (front + 0.5 * turns[:, joint])
        moved = moved + box[:, joint] * lever
    return place, turn


def _within_limits(serial: SerialChain, nodes: Nodes, turning: IntArray) -> Nodes:
    """
    Return the boxes that overlap the joint limits, a copy for each winding (shift of a joint by whole turns) that does.

    Boxes are not shifted in joints that ``turning`` marks by 1.
    """
    bounded = np.flatnonzero((turning == 0) & (serial.kinds != JointKind.PRISMATIC))
    for joint in bounded.tolist():
        low, high = float(serial.lower[joint]), float(serial.upper[joint])
        rows, shifts = shifts_within(nodes.q[:, joint], low, high, nodes.halves[:, joint])
        nodes = nodes.chosen(rows)
        nodes.q[:, joint] += shifts
    slides = serial.kinds == JointKind.PRISMATIC
    inside = (nodes.q + nodes.halves >= serial.lower) & (nodes.q - nodes.halves <= serial.upper)
    return nodes.chosen((inside | ~slides).all(axis=1))
