"""
How groups of elements are packed: structure in one integer and one float array, scratch and state in a third.

``ints`` starts with a header (counts, places of the tables, places in the workspace). Poses of objects and joint
values are no part of it: they are values, and come as arguments of every call.

=============  =================================================================================
table          one row per
=============  =================================================================================
slot           object of the environment: kind of joint (-1 for a dummy), place of its value
node           joint that moves during a solve, parents first; columns as in ``kernels.layout``
variable       degree of freedom (column of the Jacobian)
element        tip that is to meet a target
path           node that moves tip, target or constraint base of an element
group          elements solved together, in the order of priority
margin         variable that a group keeps away from its limits
follower       dependent joint whose value is linear in another one
=============  =================================================================================
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, matrix, vector
from ssik_ros.kernels.rows import layout

# Header of ``ints``: counts, then flags.
SLOTS = 0
NODES = 1
VARIABLES = 2
POSITIONS = 3
ELEMENTS = 4
ROWS = 5
GROUPS = 6
PATHS = 7
MARGINS = 8
FOLLOWERS = 9
WIDEST = 10
"""Most rows that one group can have."""
RUNS = 11
NESTED = 12
"""1 for nested priorities, 0 for strict ones."""
IGNORE_MAX_STEPS = 13
STOP_ON_LIMIT_HIT = 14
WEIGHTED = 15
"""1 when some joint has another weight than one."""
# Places of the tables.
AT_SLOT_I = 16
AT_NODE_I = 17
AT_RUN_I = 18
AT_VARIABLE_I = 19
AT_ELEMENT_I = 20
AT_PATH_I = 21
AT_GROUP_I = 22
AT_MARGIN_I = 23
AT_FOLLOWER_I = 24
AT_SLOT_F = 25
AT_VARIABLE_F = 26
AT_ELEMENT_F = 27
AT_GROUP_F = 28
AT_FOLLOWER_F = 29
# Places in the workspace.
WORK_NODE_F = 30
WORK_POSES = 31
WORK_PLACEMENTS = 32
WORK_FRAMES = 33
WORK_COMPONENTS = 34
WORK_MAPS = 35
WORK_JACOBIAN = 36
WORK_RESIDUAL = 37
WORK_COUNTS = 38
WORK_PROJECTED = 39
WORK_RIGHT = 40
WORK_SOLUTION = 41
WORK_NORMAL = 42
WORK_BASIS = 43
WORK_FACTORS = 44
WORK_JOINTS = 45
WORK_START = 46
WORK_BEST = 47
WORK_SPARE = 48
WORK_OPTIONS = 49
WORK_ERRORS = 50
WORK_HITS = 51
WORK_LEVELS = 52
WORK_REFERENCE = 53
WORK_KEPT = 54
WORK_GROUP_ERRORS = 55
WORK_SIZE = 56
HEADER = 57

SLOT_INTS = 2
SLOT_KIND = 0
SLOT_Q = 1
DUMMY = -1

# Columns of the node table beyond those of kernels.layout: a run of slots whose poses lead from the parent node.
NODE_INTS = layout.NODE_INTS
NODE_RATE = 15
"""Derivative of the joint's value by the variable that drives it."""
NODE_RUN_INTS = 2

VARIABLE_INTS = 4
VARIABLE_KIND = 0
VARIABLE_Q = 1
VARIABLE_TURNS = 2
VARIABLE_LIMITED = 3
VARIABLE_REALS = 5
VARIABLE_LOWER = 0
VARIABLE_UPPER = 1
VARIABLE_SCALE = 2
"""Square root of the joint weight."""
VARIABLE_MAX_STEP = 3
VARIABLE_MARGIN = 4

# Frames of an element: constraint base, target, tip; each a node and a run of slots.
ELEMENT_INTS = 16
ELEMENT_NODE = 0
ELEMENT_RUN = 3
ELEMENT_RUN_SIZE = 6
ELEMENT_HAS_TARGET = 9
ELEMENT_BITS = 10
ELEMENT_ROTATION = 11
ELEMENT_PATH = 12
ELEMENT_PATHS = 13
ELEMENT_ROWS = 14
BASE, TARGET, TIP = 0, 1, 2
NO_ROTATION = -1
ELEMENT_REALS = 6
ELEMENT_ERROR_WEIGHT = 0
ELEMENT_ROW_WEIGHT = 2
ELEMENT_PRECISION = 4
"""Two numbers each: linear, angular."""

PATH_INTS = 2
PATH_NODE = 0
PATH_MOVES = 1
MOVES_BASE, MOVES_TARGET, MOVES_TIP = 1, 2, 4

GROUP_INTS = 7
GROUP_ELEMENT = 0
GROUP_ELEMENTS = 1
GROUP_METHOD = 2
GROUP_ROW = 3
GROUP_MARGIN = 4
GROUP_MARGINS = 5
GROUP_REALS = 1

FOLLOWER_INTS = 2
FOLLOWER_REALS = 2

# Methods, with the numbers of the document.
PSEUDO_INVERSE = 0
DAMPED = 1
TRANSPOSE = 2
UNDAMPED = 3

# Options of a search.
MAX_DISTANCE = 0
METRIC = 1
SEQUENCE = 5
"""Where alpha and shift of each variable start."""

SCALARS = 12
JOINT_ARRAYS = 8

# Rows of the errors that the protection of groups compares.
BEFORE, ALONE = 0, 1
GROUP_ERRORS = 2


class Tables(NamedTuple):
    """The tables of packed groups, as views."""

    slot_i: np.ndarray
    slot_f: np.ndarray
    node_i: np.ndarray
    node_run: np.ndarray
    run: np.ndarray
    variable_i: np.ndarray
    variable_f: np.ndarray
    element_i: np.ndarray
    element_f: np.ndarray
    path: np.ndarray
    group_i: np.ndarray
    group_f: np.ndarray
    margin: np.ndarray
    follower_i: np.ndarray
    follower_f: np.ndarray


class Workspace(NamedTuple):
    """Scratch and state of a solve, as views of one float array."""

    node_f: np.ndarray
    """(N, NODE_REALS) placements of the nodes, written anew by every solve."""
    poses: np.ndarray
    """(N, 12) poses of the nodes."""
    placements: np.ndarray
    """(3 E, 12) constraint base, target and tip of each element in their nodes."""
    frames: np.ndarray
    """(3 E, 12) the same in the world."""
    components: np.ndarray
    """(E, 6) errors before selection and weights."""
    maps: np.ndarray
    """(3 E, 9) matrices that take world twists to the rows of each element."""
    jacobian: np.ndarray
    """(m, nv)."""
    residual: np.ndarray
    """(m,)."""
    counts: np.ndarray
    """(g,) rows that each group has at the moment."""
    basis: np.ndarray
    """(nv, nv) orthonormal rows that lower priorities must not move along."""
    move: np.ndarray
    """(nv,) joint motion so far, divided by the scales."""
    step: np.ndarray
    """(nv,) motion of one level."""
    level: np.ndarray
    """(nv,) motion at the start of a level."""
    held: np.ndarray
    """(nv,) 1 for joints that stop at a limit."""
    wish: np.ndarray
    """(nv,) motion to the limit, in the nested form."""
    travel: np.ndarray
    """(nv,) motion of the joints since the step began [rad or m]."""
    kept_travel: np.ndarray
    """(nv,) the same at the state ``kept``."""
    kept_hits: np.ndarray
    """(nv,) limit hits of the step itself, while corrections have hits of their own."""
    start: np.ndarray
    """(nq,) values before the solve, or where a search begins."""
    best: np.ndarray
    """(nq,) values with the smallest error of a search."""
    spare: np.ndarray
    """(24,)."""
    scalars: np.ndarray
    """(SCALARS,) largest linear and angular error, squared residual."""
    options: np.ndarray
    """(SEQUENCE + 2 nv,) largest distance, metric (4,), alpha and shift of each variable."""
    errors: np.ndarray
    """(E, 2) linear and angular error of each element."""
    hits: np.ndarray
    """(nv,) by how much each joint would have gone beyond a limit, with sign."""
    levels: np.ndarray
    """(g, nv) motion that each group added to the step, divided by the scales."""
    reference: np.ndarray
    """(m,) residual that each group had where its own level ended; every margin has a place of its own."""
    before: np.ndarray
    """(nq,) values at the start of a step."""
    kept: np.ndarray
    """(nq,) values where the last level ended that was accepted."""
    group_errors: np.ndarray
    """(GROUP_ERRORS, g) norm of each group's residual before the step, and where its own level ended."""


def place_workspace(header: np.ndarray) -> None:
    """
    Write the places of the workspace arrays into a header whose counts are complete.

    :param header: (HEADER,) int64.
    """
    nodes, nv, nq = int(header[NODES]), int(header[VARIABLES]), int(header[POSITIONS])
    elements, rows, widest = int(header[ELEMENTS]), int(header[ROWS]), int(header[WIDEST])
    side = max(widest, nv)
    sizes = (
        (WORK_NODE_F, layout.NODE_REALS * nodes),
        (WORK_POSES, 12 * nodes),
        (WORK_PLACEMENTS, 36 * elements),
        (WORK_FRAMES, 36 * elements),
        (WORK_COMPONENTS, 6 * elements),
        (WORK_MAPS, 27 * elements),
        (WORK_JACOBIAN, rows * nv),
        (WORK_RESIDUAL, rows),
        (WORK_COUNTS, int(header[GROUPS])),
        (WORK_PROJECTED, widest * nv),
        (WORK_RIGHT, widest),
        (WORK_SOLUTION, side),
        (WORK_NORMAL, side * side),
        (WORK_BASIS, nv * nv),
        (WORK_FACTORS, 3 * side * side),
        (WORK_JOINTS, JOINT_ARRAYS * nv),
        (WORK_START, nq),
        (WORK_BEST, nq),
        (WORK_SPARE, 24 + SCALARS),
        (WORK_OPTIONS, SEQUENCE + 2 * nv),
        (WORK_ERRORS, 2 * elements),
        (WORK_HITS, nv),
        (WORK_LEVELS, int(header[GROUPS]) * nv),
        (WORK_REFERENCE, rows),
        (WORK_KEPT, 2 * nq),
        (WORK_GROUP_ERRORS, GROUP_ERRORS * int(header[GROUPS])),
    )
    place = 0
    for entry, size in sizes:
        header[entry] = place
        place += size
    header[WORK_SIZE] = place


@inline_kernel
def view_tables(ints, reals):
    """Return the :class:`Tables`; those that the caller does not use cost nothing."""
    nodes, nv, elements, groups = ints[NODES], ints[VARIABLES], ints[ELEMENTS], ints[GROUPS]
    return Tables(
        matrix(ints, ints[AT_SLOT_I], ints[SLOTS], SLOT_INTS),
        vector(reals, ints[AT_SLOT_F], ints[SLOTS]),
        matrix(ints, ints[AT_NODE_I], nodes, NODE_INTS),
        matrix(ints, ints[AT_NODE_I] + nodes * NODE_INTS, nodes, NODE_RUN_INTS),
        vector(ints, ints[AT_RUN_I], ints[RUNS]),
        matrix(ints, ints[AT_VARIABLE_I], nv, VARIABLE_INTS),
        matrix(reals, ints[AT_VARIABLE_F], nv, VARIABLE_REALS),
        matrix(ints, ints[AT_ELEMENT_I], elements, ELEMENT_INTS),
        matrix(reals, ints[AT_ELEMENT_F], elements, ELEMENT_REALS),
        matrix(ints, ints[AT_PATH_I], ints[PATHS], PATH_INTS),
        matrix(ints, ints[AT_GROUP_I], groups, GROUP_INTS),
        matrix(reals, ints[AT_GROUP_F], groups, GROUP_REALS),
        vector(ints, ints[AT_MARGIN_I], ints[MARGINS]),
        matrix(ints, ints[AT_FOLLOWER_I], ints[FOLLOWERS], FOLLOWER_INTS),
        matrix(reals, ints[AT_FOLLOWER_F], ints[FOLLOWERS], FOLLOWER_REALS),
    )


@inline_kernel
def view_workspace(ints, work):
    """Return the :class:`Workspace`; views that the caller does not use cost nothing."""
    nodes, nv, nq = ints[NODES], ints[VARIABLES], ints[POSITIONS]
    elements, m = ints[ELEMENTS], ints[ROWS]
    joints, spare = ints[WORK_JOINTS], ints[WORK_SPARE]
    return Workspace(
        matrix(work, ints[WORK_NODE_F], nodes, layout.NODE_REALS),
        matrix(work, ints[WORK_POSES], nodes, 12),
        matrix(work, ints[WORK_PLACEMENTS], 3 * elements, 12),
        matrix(work, ints[WORK_FRAMES], 3 * elements, 12),
        matrix(work, ints[WORK_COMPONENTS], elements, 6),
        matrix(work, ints[WORK_MAPS], 3 * elements, 9),
        matrix(work, ints[WORK_JACOBIAN], m, nv),
        vector(work, ints[WORK_RESIDUAL], m),
        vector(work, ints[WORK_COUNTS], ints[GROUPS]),
        matrix(work, ints[WORK_BASIS], nv, nv),
        vector(work, joints, nv),
        vector(work, joints + nv, nv),
        vector(work, joints + 2 * nv, nv),
        vector(work, joints + 3 * nv, nv),
        vector(work, joints + 4 * nv, nv),
        vector(work, joints + 5 * nv, nv),
        vector(work, joints + 6 * nv, nv),
        vector(work, joints + 7 * nv, nv),
        vector(work, ints[WORK_START], nq),
        vector(work, ints[WORK_BEST], nq),
        vector(work, spare, 24),
        vector(work, spare + 24, SCALARS),
        vector(work, ints[WORK_OPTIONS], SEQUENCE + 2 * nv),
        matrix(work, ints[WORK_ERRORS], elements, 2),
        vector(work, ints[WORK_HITS], nv),
        matrix(work, ints[WORK_LEVELS], ints[GROUPS], nv),
        vector(work, ints[WORK_REFERENCE], m),
        vector(work, ints[WORK_KEPT], nq),
        vector(work, ints[WORK_KEPT] + nq, nq),
        matrix(work, ints[WORK_GROUP_ERRORS], GROUP_ERRORS, ints[GROUPS]),
    )
