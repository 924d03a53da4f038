"""
Boxes that hold all postures of a branch over a cell of the free parameters.

Problem
-------
A branch of a pose is there for all values p0 + dp, |dp| <= h, of the free parameters, and continuous. At p0 its posture
q0 is known. Find D and e with ``|q - q0 - D dp| <= e`` for all of them.

Method
------
1. Taken for all joints, dq = (dx, dp), the miss of the pose has a position part and, with the axes t_k of the target and u_k of
   the tool, a rotation part ``sum t_k x u_k / 2``. Both vanish on the branch, so that ``0 = miss(q0) + J dq + r``.
2. Taylor: the position part of r is at most ``sum_k |dq_k| L_k (|w_k| + |dq_k| / 2)``, L_k the largest distance of the tip from
   axis k over the box, 1 for a slide, and w_k the sum of dq_j a_j over turning joints before k. The rotation part is at most
   ``C / 2 + w^2 (angle + w) / 2``: C the sum over pairs of ``|dq_j| |dq_k| sin_jk``, sin_jk of the largest angle between both axes,
   and w the largest ``|sum dq_j a_j|`` on the way, at most ``|miss| + |r| + C``, since q is on the branch too.
3. With J = (J_x, J_p): ``dx = -J_x^-1 J_p dp - J_x^-1 (miss + r)``. Let |dq| <= b be a box, and N(b) the box of the
   right-hand sides. If N(b) lies inside b, the branch stays in N(b): it begins there, is continuous, and cannot leave b
   without having left N(b) before (Miranda; Krawczyk 1969).
4. N applied again to its own box makes it smaller. With D = -J_x^-1 J_p, e is the remaining half width.
5. All other boxes hold their postures without proof that there are any. Taylor holds for each posture in them, around any q0, with any
   joints as x: those joints are p that turn most along the null space for their half widths. N(b) meets b in a smaller box. One that
   misses b holds no posture.

Degeneracies
------------
Near a fold of the cell's parameters step 5 chooses another joint as parameter. Near a singular posture J_x is singular
for each choice, N(b) is larger than b, and the cell has to be halved.

References: Krawczyk 1969; Neumaier 1990.
"""

import math
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray, TURN, turns_within
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import MovedChain
from ssik_ros.paths.bounding.wrist_arms import (
    BoolArray,
    BOUND_ROUNDING,
    ParameterCells,
    Rows,
    WristArm,
)
from ssik_ros.paths.tool_chain import ToolChain

FIRST_BOX_SIZE = 1.25
"""Size of the first box, as a multiple of the box that the derivatives give."""
LARGEST_BOX = 10.0
"""Half widths with which nothing is tried to be proved [rad or m]; squares of larger ones would overflow in the end."""
ROUNDS = 4
NEWTON_STEPS = 3
"""Steps from the centre of a box to a posture."""
NARROWINGS = 8
"""Number of times that a box is intersected with its Newton image N(b)."""
TURN_ROUNDS = 3
"""Number of times that the bound on a rotation is improved with itself."""
SINGULAR_SLOPE = 1e8
"""Largest derivative of a joint by a parameter; above it a branch counts as singular."""


class Nodes(NamedTuple):
    """Boxes of postures: each holds the postures of one branch whose parameters are in one cell."""

    owners: IntArray
    """(k,) index of the cell."""
    cells: ParameterCells
    labels: IntArray
    """(k,) index of the branch, a row of ``LABELS`` of the arm."""
    q: FloatArray
    """(k, n) centres."""
    halves: FloatArray
    """(k, n) half widths."""
    spans: FloatArray
    """(k, r) half widths of the parameters that D takes."""
    slopes: FloatArray
    """(k, n, r) D; zero for joints that follow no tangent."""
    errors: FloatArray
    """(k, n) e; the half widths of joints that follow no tangent."""
    is_loose: BoolArray
    """(k,) whether the branch is not proved to be there over the whole cell."""
    prices: FloatArray
    """(k, n) derivatives of the cost of a sequence up to a box by the joints there; any numbers give a valid bound."""

    def chosen(self, rows: Rows) -> 'Nodes':
        """
        Return some of the nodes.

        :param rows: indices, a slice, or a mask.
        """
        return Nodes(
            owners=self.owners[rows],
            cells=self.cells.chosen(rows),
            labels=self.labels[rows],
            q=self.q[rows],
            halves=self.halves[rows],
            spans=self.spans[rows],
            slopes=self.slopes[rows],
            errors=self.errors[rows],
            is_loose=self.is_loose[rows],
            prices=self.prices[rows],
        )


def make_nodes(arm: WristArm, cells: ParameterCells, poses: FloatArray) -> Nodes:
    """
    Return boxes that hold every posture over some cells within the limits.

    :param arm: the arm.
    :param cells: the cells.
    :param poses: (layers, 4, 4) pose of each layer.
    """
    boxes = arm.boxes(cells, poses)
    owner, label = np.nonzero(boxes.is_there)
    own = cells.chosen(owner)
    q, halves = boxes.q[owner, label], boxes.halves[owner, label]
    targets = poses[own.layers]
    nodes = Nodes(
        owners=owner,
        cells=own,
        labels=label,
        q=q,
        halves=halves,
        spans=own.halves.copy(),
        slopes=np.zeros((*q.shape, len(arm.parameters))),
        errors=halves.copy(),
        is_loose=np.ones(len(q), dtype=bool),
        prices=np.zeros(q.shape),
    )
    sure = np.flatnonzero(boxes.is_sure[owner, label])
    found = _enclosed(arm, q[sure], own.halves[sure], targets[sure])
    _put(nodes, sure, found)
    nodes.is_loose[sure[found.is_proved]] = False
    loose = np.flatnonzero(nodes.is_loose)
    found, is_empty = _narrowed(arm, q[loose], halves[loose], targets[loose])
    _put(nodes, loose, found)
    kept = np.ones(len(q), dtype=bool)
    kept[loose[is_empty]] = False
    return _within_limits(arm.chain, nodes.chosen(kept))


class _Tangents(NamedTuple):
    """Boxes of postures ``q + slopes @ dp`` for |dp| <= ``spans``, with joint errors of at most ``errors``."""

    q: FloatArray
    halves: FloatArray
    spans: FloatArray
    slopes: FloatArray
    errors: FloatArray
    is_proved: BoolArray


def _put(nodes: Nodes, rows: IntArray, found: _Tangents) -> None:
    """Overwrite rows of ``nodes`` with the boxes of ``found`` that are proved."""
    good = found.is_proved
    rows = rows[good]
    nodes.q[rows], nodes.halves[rows] = found.q[good], found.halves[good]
    nodes.spans[rows], nodes.slopes[rows] = found.spans[good], found.slopes[good]
    nodes.errors[rows] = found.errors[good]


class _Expansion:
    """Linear model of the pose error ``miss`` (k, 6) around postures, solved for six joints, with error bounds."""

    def __init__(self, chain: ToolChain, q: FloatArray, poses: FloatArray) -> None:
        self._chain, self._poses = chain, poses
        self.move_to(q)

    def move_to(self, q: FloatArray) -> None:
        """Compute pose errors and Jacobians at other postures (k, n)."""
        chain, poses = self._chain, self._poses
        self.q = q
        self._moved = chain.chain.moved(q)
        self._reached, self.jacobians = self._moved.poses, self._moved.jacobians()
        turned = _rotation_part(self._reached, poses)
        self.jacobians[:, 3:] = turned @ self.jacobians[:, 3:]
        away = self._reached[:, :3, 3] - poses[:, :3, 3]
        self.miss = np.hstack([away, _skew_part(self._reached, poses)])

    def solve_for(self, free: IntArray) -> None:
        """
        Take some joints as parameters: set ``slopes`` (k, n, r), the derivatives of all joints by them.

        ``is_good`` (k,) becomes False for postures that are nearly singular.

        :param free: (k, r) indices of the joints.
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
        chords = np.linalg.norm(self._reached[:, :3, :3] - self._poses[:, :3, :3], axis=(1, 2))
        angle = 2.0 * np.arcsin(np.minimum(chords / math.sqrt(8.0), 1.0)) + BOUND_ROUNDING
        miss = np.linalg.norm(self.miss[:, 3:], axis=1)
        self._start = _Start(levers, sines, miss, angle)

    def errors(self, box: FloatArray) -> FloatArray:
        """Return bounds (k, n) on each joint's distance from the tangent, for postures within ``box`` of ``q``."""
        place, turn = _remainders(self._chain, box, self._start)
        found = np.zeros_like(box)
        own = self._lengths[0] * place[:, None] + self._lengths[1] * turn[:, None] + self._still
        np.put_along_axis(found, self.six, own, axis=1)
        return found


def _enclosed(arm: WristArm, q: FloatArray, cell: FloatArray, poses: FloatArray) -> _Tangents:
    """
    Return boxes around postures ``q`` for cells of half widths ``cell`` (k, r).

    ``is_proved`` tells whether it is proved that a box holds its branch over the whole cell.
    """
    expansion = _Expansion(arm.chain, q, poses)
    expansion.solve_for(np.tile(arm.parameters, (len(q), 1)))
    linear = np.einsum('knr,kr->kn', np.abs(expansion.slopes), cell)
    box, proved = FIRST_BOX_SIZE * linear + BOUND_ROUNDING, np.zeros(len(q), dtype=bool)
    errors = np.zeros_like(q)
    six = arm.six
    for _ in range(ROUNDS):
        own = expansion.errors(box)
        within = (linear[:, six] + own[:, six] < box[:, six]).all(axis=1)
        errors = np.where(proved[:, None], np.minimum(errors, own), own)
        proved |= within
        wider = np.minimum(FIRST_BOX_SIZE * (linear + errors) + BOUND_ROUNDING, LARGEST_BOX)
        box = np.where(proved[:, None], linear + errors, wider)
    is_proved = expansion.is_good & proved
    return _Tangents(q, linear + errors, cell, expansion.slopes, errors, is_proved)


def _narrowed(
    arm: WristArm, q: FloatArray, halves: FloatArray, poses: FloatArray
) -> tuple[_Tangents, BoolArray]:
    """
    Return narrower boxes for the postures within ``halves`` of ``q``, and a mask (k,) of boxes without any posture.

    The parameters of the new boxes are the joints that describe them best. The mask holds proved cases only.
    """
    expansion = _Expansion(arm.chain, q, poses)
    for _ in range(NEWTON_STEPS):
        jacobians = expansion.jacobians
        squares = jacobians @ np.swapaxes(jacobians, 1, 2) + 1e-9 * np.eye(6)
        step = np.linalg.solve(squares, expansion.miss[:, :, None])
        moved = expansion.q - (np.swapaxes(jacobians, 1, 2) @ step)[:, :, 0]
        expansion.move_to(np.clip(moved, q - halves, q + halves))
    center = expansion.q
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
    """Return the indices (k, r), ascending, of the most independent columns of matrices (k, r, n), by pivoting."""
    k, r, _ = rows.shape
    left, found = rows.copy(), np.zeros((k, r), dtype=np.int64)
    for number in range(r):
        lengths = np.linalg.norm(left, axis=1)
        found[:, number] = np.argmax(lengths, axis=1)
        column = np.take_along_axis(left, found[:, None, number : number + 1], axis=2)
        column /= np.maximum(np.linalg.norm(column, axis=1, keepdims=True), 1e-300)
        left = left - column * (np.swapaxes(column, 1, 2) @ left)
    return np.sort(found, axis=1)


def _rotation_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the matrices (k, 3, 3) that map the angular velocity of the tool to the rate of :func:`_skew_part`."""
    between = reached[:, :3, :3] @ np.swapaxes(poses[:, :3, :3], 1, 2)
    trace = np.trace(between, axis1=1, axis2=2)
    return np.asarray(0.5 * (trace[:, None, None] * np.eye(3) - between))


def _skew_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """Return the rotation part (k, 3) of the pose error: half the sum of target axis cross tool axis over x, y, z."""
    crosses = np.cross(poses[:, :3, :3], reached[:, :3, :3], axis=1)
    return np.asarray(0.5 * crosses.sum(axis=2))


def _axes(moved: MovedChain) -> tuple[FloatArray, FloatArray]:
    """Return the distance (k, n) of the tip from each axis, 1 for slides, and the sine (k, n, n) between each two."""
    arms, axes = moved.poses[:, None, :3, 3] - moved.points, moved.axes
    levers = np.where(moved.turns, np.linalg.norm(np.cross(arms, axes), axis=2), 1.0)
    sines = np.linalg.norm(np.cross(axes[:, :, None], axes[:, None]), axis=3)
    return levers, sines


class _Start(NamedTuple):
    """Quantities at the centre of an expansion; :func:`_remainders` computes its bounds from them."""

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
    Return bounds (k,) on the second-order parts of position [m] and rotation, for postures that reach the pose.

    ``box`` (k, n) are the half widths within which the postures lie.
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
        own = 0.5 * (crossed + spin**2 * (start.angle + spin))
        turn = np.minimum(turn, own)
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


def _within_limits(chain: ToolChain, nodes: Nodes) -> Nodes:
    """Return a node for each winding of a box that overlaps the limits; endless joints get no further winding."""
    own = chain.chain
    bounded = np.flatnonzero((chain.turning == 0) & (own.kinds != JointKind.PRISMATIC))
    for joint in bounded.tolist():
        low, high = float(own.lower[joint]), float(own.upper[joint])
        value, half = nodes.q[:, joint], nodes.halves[:, joint]
        first, last = (turns.astype(np.int64) for turns in turns_within(value, low, high, half))
        counts = np.maximum(last - first + 1, 0)
        rows = np.repeat(np.arange(len(value)), counts)
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        shifts = TURN * (first[rows] + turn)
        nodes = nodes.chosen(rows)
        nodes.q[:, joint] += shifts
    slides = own.kinds == JointKind.PRISMATIC
    inside = (nodes.q + nodes.halves >= own.lower) & (nodes.q - nodes.halves <= own.upper)
    return nodes.chosen((inside | ~slides).all(axis=1))
