"""
How a problem is packed into one integer and one float array, so that any problem fits one compiled kernel.

``ints`` starts with a header of ``HEADER`` numbers (counts, then the places of the tables); ``reals`` has the
float tables. Every table is a rectangle of rows with a fixed stride; :func:`view_tables` gives it as a 2-D array.

=============  =================================================================================
table          one row per
=============  =================================================================================
node           moving joint that matters, parents first, its axis turned to +z, fixed parts folded in
variable       degree of freedom (column of the Jacobian)
constraint     relative pose that is to be reached
path           joint that moves a constraint's frame a or b (each constraint has a run of them)
joint row      row in joint space (posture, limit margin)
=============  =================================================================================
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, matrix, vector

# Header of ``ints``.
NODES = 0
VARIABLES = 1
POSITIONS = 2
CONSTRAINTS = 3
ROWS = 4
JOINT_ROWS = 5
PATHS = 6
AT_NODE_I = 7
AT_VARIABLE_I = 8
AT_CONSTRAINT_I = 9
AT_PATH_I = 10
AT_JOINT_ROW_I = 11
AT_NODE_F = 12
AT_CONSTRAINT_F = 13
AT_JOINT_ROW_F = 14
TARGETS = 15
# Places of the workspace arrays in the float state of a solve.
WORK_POSES = 16
WORK_JACOBIAN = 17
WORK_RESIDUAL = 18
WORK_NORMAL = 19
WORK_RIGHT = 20
WORK_JOINTS = 21
WORK_STATES = 22
WORK_ERRORS = 23
WORK_TARGETS = 24
WORK_SCRATCH = 25
WORK_MATRICES = 26
WORK_REFUSED = 27
WORK_SIZE = 28
HEADER = 30

# Columns of the node tables.
NODE_INTS = 4
NODE_KIND = 0
NODE_PARENT = 1
NODE_Q = 2
NODE_V = 3
NODE_REALS = 16
NODE_MULTIPLIER = 12
NODE_OFFSET = 13
NODE_LEAD = 14

# Kinds of nodes.
REVOLUTE = 0
PRISMATIC = 1
SCREW = 2
SPHERICAL = 3

# Columns of the variable table.
VARIABLE_INTS = 3
VARIABLE_KIND = 0
VARIABLE_Q = 1
VARIABLE_MOVES = 2
"""How the variable moves the frames of the problem, see below."""

# Kinds of variables: a periodic one may be shifted by full turns without moving any link.
PERIODIC = 0
LINEAR = 1
BALL_FIRST = 2
BALL_REST = 3

# How a variable moves the frames: an idle one keeps the seed's value; one that turns can be drawn without limits.
IDLE = 0
SLIDES = 1
TURNS = 2

# Columns of the constraint tables.
CONSTRAINT_INTS = 10
CONSTRAINT_NODE_A = 0
CONSTRAINT_NODE_B = 1
CONSTRAINT_TARGET = 2
CONSTRAINT_POSITION_FRAME = 3
CONSTRAINT_ROTATION_FRAME = 4
CONSTRAINT_ROTATION_KIND = 5
CONSTRAINT_BOXED = 6
CONSTRAINT_PLAIN = 7
CONSTRAINT_PATH = 8
CONSTRAINT_PATHS = 9
CONSTRAINT_REALS = 48
CONSTRAINT_PLACEMENT_A = 0
CONSTRAINT_PLACEMENT_B = 12
CONSTRAINT_WEIGHT = 24
CONSTRAINT_LOWER = 30
CONSTRAINT_UPPER = 36
CONSTRAINT_REACH_CENTRE = 42
CONSTRAINT_REACH = 45
CONSTRAINT_HULLS = 46
"""Where the hulls of a constraint begin in ``reals``, as :mod:`ssik_ros.kernels.rows.reach_hull` wants them,"""
CONSTRAINT_HULL_COUNT = 47
"""and how many there are."""

# Axes along which rows are measured.
WORLD = 0
FRAME_A = 1
GOAL = 2
FRAME_B = 3

# Rotation kinds.
FULL = 0
ALIGN = 1
SPIN = 2

# Columns of the path table: which node, and whether it moves frame b (1), frame a (2) or both (3).
PATH_INTS = 2
PATH_NODE = 0
PATH_SIDE = 1
MOVES_B = 1
MOVES_A = 2

# Columns of the joint-row tables.
JOINT_ROW_INTS = 2
JOINT_ROW_VARIABLE = 0
JOINT_ROW_KIND = 1
JOINT_ROW_REALS = 2
JOINT_ROW_WEIGHT = 0
JOINT_ROW_MARGIN = 1
POSTURE = 0
MARGIN = 1

SCRATCH = 84
"""Floats of scratch that evaluating the rows needs."""
REFUSED_ROWS = 64
"""Refused candidates that a search remembers."""
SCALARS = 4
"""Floats in which a search keeps single numbers between calls."""


VELOCITY_ARRAYS = 5
"""Arrays of one number per velocity variable: step, gradient, lower, upper, free."""
STATE_ARRAYS = 4
"""Arrays of one number per position variable: state, best, trial, reference."""
BEST, REFERENCE = 1, 3
"""Which of them these two are."""


class Tables(NamedTuple):
    """The tables of a packed problem, as views."""

    node_i: np.ndarray
    node_f: np.ndarray
    variable_i: np.ndarray
    constraint_i: np.ndarray
    constraint_f: np.ndarray
    path: np.ndarray
    joint_row_i: np.ndarray
    joint_row_f: np.ndarray


class Workspace(NamedTuple):
    """Scratch and state of a search, as views of one float array; ``k = min(m, nv)``."""

    poses: np.ndarray
    """(N, 12) poses of the nodes."""
    jacobian: np.ndarray
    """(m, nv)."""
    residual: np.ndarray
    """(m,)."""
    normal: np.ndarray
    """(k, k) normal equations, then their factor."""
    right: np.ndarray
    """(k,) right side, then solution of the normal equations."""
    step: np.ndarray
    """(nv,) joint step."""
    gradient: np.ndarray
    """(nv,) way to the seed, or the pull towards it."""
    lower: np.ndarray
    """(nv,)."""
    upper: np.ndarray
    """(nv,)."""
    free: np.ndarray
    """(nv,) 1 for joints that the last step moved freely."""
    state: np.ndarray
    """(nq,) current configuration."""
    best: np.ndarray
    """(nq,) configuration with the smallest error seen within limits."""
    trial: np.ndarray
    """(nq,) nearest verified configuration of a pull."""
    reference: np.ndarray
    """(nq,) the seed as it was given; written by the caller."""
    errors: np.ndarray
    """(c, 2) position and rotation error of each constraint."""
    targets: np.ndarray
    """(t, 12) target poses, checked and orthonormal."""
    frames: np.ndarray
    """(3, 12) frame a, goal and frame b of the constraint at hand."""
    maps: np.ndarray
    """(3, 9) matrices that take root twists to its rows."""
    components: np.ndarray
    """(6,) its error before selection and weights."""
    spare: np.ndarray
    """(12,)."""
    scalars: np.ndarray
    """(SCALARS,) single numbers that a search keeps between calls."""
    matrices: np.ndarray
    """(4 t, 4) target matrices one below the other; written by the caller."""
    refused: np.ndarray
    """(REFUSED_ROWS, nq) the last candidates that a validation refused."""


def place_workspace(header: np.ndarray) -> None:
    """
    Write the places of the workspace arrays into a header whose counts are complete.

    :param header: (HEADER,) int64.
    """
    nodes, nv, nq, constraints, rows = (int(header[i]) for i in range(5))
    side = min(rows, nv)
    sizes = (
        (WORK_POSES, 12 * nodes),
        (WORK_JACOBIAN, rows * nv),
        (WORK_RESIDUAL, rows),
        (WORK_NORMAL, side * side),
        (WORK_RIGHT, side),
        (WORK_JOINTS, VELOCITY_ARRAYS * nv),
        (WORK_STATES, STATE_ARRAYS * nq),
        (WORK_ERRORS, 2 * constraints),
        (WORK_TARGETS, 12 * int(header[TARGETS])),
        (WORK_SCRATCH, SCRATCH + SCALARS),
        (WORK_MATRICES, 16 * int(header[TARGETS])),
        (WORK_REFUSED, REFUSED_ROWS * nq),
    )
    place = 0
    for entry, size in sizes:
        header[entry] = place
        place += size
    header[WORK_SIZE] = place


@inline_kernel
def view_tables(ints, reals):
    """Return the :class:`Tables` of a packed problem; those that the caller does not use cost nothing."""
    constraints, joint_rows = ints[CONSTRAINTS], ints[JOINT_ROWS]
    return Tables(
        matrix(ints, ints[AT_NODE_I], ints[NODES], NODE_INTS),
        matrix(reals, ints[AT_NODE_F], ints[NODES], NODE_REALS),
        matrix(ints, ints[AT_VARIABLE_I], ints[VARIABLES], VARIABLE_INTS),
        matrix(ints, ints[AT_CONSTRAINT_I], constraints, CONSTRAINT_INTS),
        matrix(reals, ints[AT_CONSTRAINT_F], constraints, CONSTRAINT_REALS),
        matrix(ints, ints[AT_PATH_I], ints[PATHS], PATH_INTS),
        matrix(ints, ints[AT_JOINT_ROW_I], joint_rows, JOINT_ROW_INTS),
        matrix(reals, ints[AT_JOINT_ROW_F], joint_rows, JOINT_ROW_REALS),
    )


@inline_kernel
def view_workspace(ints, work):
    """Return the :class:`Workspace` of a solve; views that the caller does not use cost nothing."""
    nv, nq, m = ints[VARIABLES], ints[POSITIONS], ints[ROWS]
    k = min(m, nv)
    joints, states, scratch = ints[WORK_JOINTS], ints[WORK_STATES], ints[WORK_SCRATCH]
    return Workspace(
        matrix(work, ints[WORK_POSES], ints[NODES], 12),
        matrix(work, ints[WORK_JACOBIAN], m, nv),
        vector(work, ints[WORK_RESIDUAL], m),
        matrix(work, ints[WORK_NORMAL], k, k),
        vector(work, ints[WORK_RIGHT], k),
        vector(work, joints, nv),
        vector(work, joints + nv, nv),
        vector(work, joints + 2 * nv, nv),
        vector(work, joints + 3 * nv, nv),
        vector(work, joints + 4 * nv, nv),
        vector(work, states, nq),
        vector(work, states + nq, nq),
        vector(work, states + 2 * nq, nq),
        vector(work, states + 3 * nq, nq),
        matrix(work, ints[WORK_ERRORS], ints[CONSTRAINTS], 2),
        matrix(work, ints[WORK_TARGETS], ints[TARGETS], 12),
        matrix(work, scratch, 3, 12),
        matrix(work, scratch + 36, 3, 9),
        vector(work, scratch + 63, 6),
        vector(work, scratch + 69, 12),
        vector(work, scratch + SCRATCH, SCALARS),
        matrix(work, ints[WORK_MATRICES], 4 * ints[TARGETS], 4),
        matrix(work, ints[WORK_REFUSED], REFUSED_ROWS, nq),
    )
