"""
Boxes that hold all postures of a branch over a cell of the free parameters.

Problem
-------
A branch of a pose is there for all values p0 + dp, |dp| <= h, of the free parameters, and continuous. At p0 its posture q0 is
known. Find D and e with ``|q - q0 - D dp| <= e`` for all of them.

Method
------
1. Taken for all joints, dq = (dx, dp), the miss of the pose has a position part and, with the axes t_k of the target and u_k of
   the tool, a rotation part ``sum t_k x u_k / 2``. Both vanish on the branch, so that ``0 = miss(q0) + J dq + r``.
2. Taylor: the position part of r is at most ``sum_jk |dq_j| |dq_k| L_k / 2``, L_k the largest distance of the tip from the axis
   of the later joint over the box, and 1 for a slide behind a turning joint; the rotation part is at most
   ``(sum |dq_j|)^2 / 2`` over turning joints, since the second derivative has a matrix ``[w_j] [w_k] R`` whose skew part is no
   longer than 1.
3. With J = (J_x, J_p): ``dx = -J_x^-1 J_p dp - J_x^-1 (miss + r)``. Let |dq| <= b be a box, and N(b) what follows from it.
   Where N(b) lies inside b, the branch stays in N(b): it begins there, is continuous, and cannot leave b without having left
   N(b) before (Miranda; Krawczyk 1969).
4. N applied again to its own box makes it smaller; e is what is left beside D = -J_x^-1 J_p.

Degeneracies
------------
Near a fold J_x is singular, N(b) is larger than b, and the cell has to be halved.

References: Krawczyk 1969; Neumaier 1990.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.paths.bounding.tip_ways import tip_levers
from ssik_ros.paths.bounding.wrist_arms import BoolArray, ParameterCells, Rows, WristArm
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.paths.windings import TURN

WIDER = 1.25
"""First box, in what the derivatives alone give."""
ROUNDS = 4
ROUNDING = 1e-9
STEEPEST = 1e8
"""Derivative from which on a branch counts as singular."""


class Nodes(NamedTuple):
    """Boxes of postures, each of one branch over one cell."""

    owners: IntArray
    """(k,) index of the cell."""
    cells: ParameterCells
    labels: IntArray
    """(k,) which branch."""
    q: FloatArray
    """(k, n) centres."""
    halves: FloatArray
    """(k, n) half widths."""
    slopes: FloatArray
    """(k, n, r) D; zero for loose boxes."""
    errors: FloatArray
    """(k, n) e; the half widths for loose boxes."""
    is_loose: BoolArray

    def chosen(self, rows: Rows) -> 'Nodes':
        """
        Return some of the nodes.

        :param rows: their indices, a slice, or whether to take each.
        """
        return Nodes(
            owners=self.owners[rows],
            cells=self.cells.chosen(rows),
            labels=self.labels[rows],
            q=self.q[rows],
            halves=self.halves[rows],
            slopes=self.slopes[rows],
            errors=self.errors[rows],
            is_loose=self.is_loose[rows],
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
    sure = np.flatnonzero(boxes.is_sure[owner, label])
    slopes = np.zeros((*q.shape, len(arm.parameters)))
    errors = halves.copy()
    is_loose = np.ones(len(q), dtype=bool)
    tight, tight_slopes, tight_errors, good = _enclosed(
        arm, q[sure], own.halves[sure], poses[own.layers[sure]]
    )
    rows = sure[good]
    halves[rows], slopes[rows], errors[rows] = tight[good], tight_slopes[good], tight_errors[good]
    is_loose[rows] = False
    nodes = Nodes(owner, own, label, q, halves, slopes, errors, is_loose)
    return _within_limits(arm.chain, nodes)


def _enclosed(
    arm: WristArm, q: FloatArray, cell: FloatArray, poses: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return half widths, D, e, and whether the branch is proved to stay there."""
    chain, six, free = arm.chain, arm.six, arm.parameters
    reached = chain.poses(q)
    jacobians = chain.jacobians(q)
    jacobians[:, 3:] = _rotation_part(reached, poses) @ jacobians[:, 3:]
    miss = np.hstack([reached[:, :3, 3] - poses[:, :3, 3], _skew_part(reached, poses)])
    inner = jacobians[:, :, six]
    good = np.isfinite(inner).all(axis=(1, 2)) & (np.abs(np.linalg.det(inner)) > 1e-12)
    inner[~good] = np.eye(6)
    inverse = np.linalg.inv(inner)
    slopes = np.zeros((*q.shape, len(free)))
    slopes[:, six] = -inverse @ jacobians[:, :, free]
    slopes[:, free] = np.eye(len(free))
    good &= np.abs(slopes).max(axis=(1, 2), initial=0.0) < STEEPEST
    lengths = np.linalg.norm(inverse[:, :, :3], axis=2), np.linalg.norm(inverse[:, :, 3:], axis=2)
    still = np.abs(np.einsum('kij,kj->ki', inverse, miss))
    levers = _levers(chain, q, reached)
    linear = np.einsum('knr,kr->kn', np.abs(slopes), cell)
    box, proved = WIDER * linear + ROUNDING, np.zeros(len(q), dtype=bool)
    errors = np.zeros_like(q)
    for _ in range(ROUNDS):
        place, turn = _remainders(chain, box, levers)
        own = lengths[0] * place[:, None] + lengths[1] * turn[:, None] + still + ROUNDING
        within = (linear[:, six] + own < box[:, six]).all(axis=1)
        errors[:, six] = np.where(proved[:, None], np.minimum(errors[:, six], own), own)
        proved |= within
        box = np.where(proved[:, None], linear + errors, WIDER * (linear + errors)) + (
            ROUNDING * ~proved[:, None]
        )
    return linear + errors, slopes, errors, good & proved


def _rotation_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """Return what turns angular speeds into changes of the rotation part (k, 3, 3)."""
    between = reached[:, :3, :3] @ np.swapaxes(poses[:, :3, :3], 1, 2)
    trace = np.trace(between, axis1=1, axis2=2)
    return np.asarray(0.5 * (trace[:, None, None] * np.eye(3) - between))


def _skew_part(reached: FloatArray, poses: FloatArray) -> FloatArray:
    """Return sum t_k x u_k / 2 (k, 3)."""
    crosses = np.cross(poses[:, :3, :3], reached[:, :3, :3], axis=1)
    return np.asarray(0.5 * crosses.sum(axis=2))


def _levers(chain: ToolChain, q: FloatArray, reached: FloatArray) -> FloatArray:
    """Return the distance (k, n) of the tip from each axis; not read for slides."""
    own = chain.chain
    levers, pose = np.ones(q.shape), np.tile(np.eye(4), (len(q), 1, 1))
    tips = reached[:, :3, 3]
    for joint in range(chain.size):
        axes = pose[:, :3, :3] @ own.axes[joint]
        points = pose[:, :3, :3] @ own.points[joint] + pose[:, :3, 3]
        levers[:, joint] = np.linalg.norm(np.cross(tips - points, axes), axis=1)
        pose = pose @ chain.motions(joint, q[:, joint])
    return levers


def _remainders(
    chain: ToolChain, box: FloatArray, levers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest second-order parts (k,) of position and rotation over boxes."""
    is_turn = chain.chain.kinds != JointKind.PRISMATIC
    # How far the tip is from an axis depends on later joints alone, and these move the tip by no more.
    moved = box @ tip_levers(chain)
    place = np.zeros(len(box))
    for joint in range(box.shape[1]):
        lever = levers[:, joint] + moved if is_turn[joint] else np.ones(len(box))
        own = 0.5 * box[:, joint] * is_turn[joint]
        place += box[:, joint] * lever * ((box[:, :joint] * is_turn[:joint]).sum(axis=1) + own)
    return place, 0.5 * (box @ is_turn) ** 2


def _within_limits(chain: ToolChain, nodes: Nodes) -> Nodes:
    """Return the nodes whose boxes meet the limits, in every winding that does."""
    own = chain.chain
    bounded = np.flatnonzero((chain.turning == 0) & (own.kinds != JointKind.PRISMATIC))
    for joint in bounded.tolist():
        low, high = float(own.lower[joint]), float(own.upper[joint])
        value, half = nodes.q[:, joint], nodes.halves[:, joint]
        first = np.ceil((low - half - value) / TURN).astype(np.int64)
        last = np.floor((high + half - value) / TURN).astype(np.int64)
        counts = np.maximum(last - first + 1, 0)
        rows = np.repeat(np.arange(len(value)), counts)
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        shifts = TURN * (first[rows] + turn)
        nodes = nodes.chosen(rows)
        nodes.q[:, joint] += shifts
    slides = own.kinds == JointKind.PRISMATIC
    inside = (nodes.q + nodes.halves >= own.lower) & (nodes.q - nodes.halves <= own.upper)
    return nodes.chosen((inside | ~slides).all(axis=1))
