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

from typing import Annotated, NamedTuple

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.rows.views import Layout

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
COUNTS = 16
"""Behind the counts stand the places of the tables, then those of the workspace and its size."""

SLOT_INTS = 2
SLOT_KIND = 0
SLOT_Q = 1
DUMMY = -1

# Columns of the node table beyond those of kernels.layout: a run of slots whose poses lead from the parent node.
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

# Rows of the errors that the protection of groups compares.
BEFORE, ALONE = 0, 1
GROUP_ERRORS = 2
LONGER_SIDE = 'max(ints[WIDEST], ints[VARIABLES])'


class Tables(NamedTuple):
    """The tables of packed task sets, as views."""

    slot_i: Annotated[IntArray, 'ints[SLOTS]', SLOT_INTS]
    node_i: Annotated[IntArray, 'ints[NODES]', layout.NODE_INTS]
    node_run: Annotated[IntArray, 'ints[NODES]', NODE_RUN_INTS]
    run: Annotated[IntArray, 'ints[RUNS]']
    variable_i: Annotated[IntArray, 'ints[VARIABLES]', VARIABLE_INTS]
    element_i: Annotated[IntArray, 'ints[ELEMENTS]', ELEMENT_INTS]
    path: Annotated[IntArray, 'ints[PATHS]', PATH_INTS]
    group_i: Annotated[IntArray, 'ints[GROUPS]', GROUP_INTS]
    margin: Annotated[IntArray, 'ints[MARGINS]']
    follower_i: Annotated[IntArray, 'ints[FOLLOWERS]', FOLLOWER_INTS]
    slot_f: Annotated[FloatArray, 'ints[SLOTS]']
    variable_f: Annotated[FloatArray, 'ints[VARIABLES]', VARIABLE_REALS]
    element_f: Annotated[FloatArray, 'ints[ELEMENTS]', ELEMENT_REALS]
    group_f: Annotated[FloatArray, 'ints[GROUPS]', GROUP_REALS]
    follower_f: Annotated[FloatArray, 'ints[FOLLOWERS]', FOLLOWER_REALS]


class Workspace(NamedTuple):
    """Scratch and state of a solve, as views of one float array."""

    node_f: Annotated[FloatArray, 'ints[NODES]', layout.NODE_REALS]
    """Placements of the nodes, written anew by every solve."""
    poses: Annotated[FloatArray, 'ints[NODES]', 12]
    """Poses of the nodes."""
    placements: Annotated[FloatArray, '3 * ints[ELEMENTS]', 12]
    """Constraint base, target and tip of each task in their nodes."""
    frames: Annotated[FloatArray, '3 * ints[ELEMENTS]', 12]
    """The same in the world."""
    components: Annotated[FloatArray, 'ints[ELEMENTS]', 6]
    """Errors before selection and weights."""
    maps: Annotated[FloatArray, '3 * ints[ELEMENTS]', 9]
    """Matrices that take world twists to the rows of each task."""
    jacobian: Annotated[FloatArray, 'ints[ROWS]', 'ints[VARIABLES]']
    residual: Annotated[FloatArray, 'ints[ROWS]']
    counts: Annotated[FloatArray, 'ints[GROUPS]']
    """Rows that each set has at the moment."""
    projected: Annotated[FloatArray, 'ints[WIDEST]', 'ints[VARIABLES]']
    """Rows of one set without their parts along the basis."""
    right: Annotated[FloatArray, 'ints[WIDEST]']
    solution: Annotated[FloatArray, LONGER_SIDE]
    normal: Annotated[FloatArray, LONGER_SIDE, LONGER_SIDE]
    basis: Annotated[FloatArray, 'ints[VARIABLES]', 'ints[VARIABLES]']
    """Orthonormal rows that lower priorities must not move along."""
    own_basis: Annotated[FloatArray, LONGER_SIDE, LONGER_SIDE]
    """This and the next two: scratch of the inverse by rank."""
    factors: Annotated[FloatArray, LONGER_SIDE, LONGER_SIDE]
    columns: Annotated[FloatArray, LONGER_SIDE, LONGER_SIDE]
    move: Annotated[FloatArray, 'ints[VARIABLES]']
    """Joint motion so far, divided by the scales."""
    step: Annotated[FloatArray, 'ints[VARIABLES]']
    """Motion of one level."""
    level: Annotated[FloatArray, 'ints[VARIABLES]']
    """Motion at the start of a level."""
    held: Annotated[FloatArray, 'ints[VARIABLES]']
    """1 for joints that stop at a limit."""
    wish: Annotated[FloatArray, 'ints[VARIABLES]']
    """Motion to the limit, in the nested form."""
    travel: Annotated[FloatArray, 'ints[VARIABLES]']
    """Motion of the joints since the step began [rad or m]."""
    kept_travel: Annotated[FloatArray, 'ints[VARIABLES]']
    """The same at the state ``kept``."""
    kept_hits: Annotated[FloatArray, 'ints[VARIABLES]']
    """Limit hits of the step itself, while corrections have hits of their own."""
    start: Annotated[FloatArray, 'ints[POSITIONS]']
    """Values before the solve, or where a search begins."""
    best: Annotated[FloatArray, 'ints[POSITIONS]']
    """Values with the smallest error of a search."""
    spare: Annotated[FloatArray, 24]
    scalars: Annotated[FloatArray, SCALARS]
    """Largest linear and angular error, then the single numbers of a search and of the protection."""
    options: Annotated[FloatArray, f'{SEQUENCE} + 2 * ints[VARIABLES]']
    """Largest distance, metric (4,), alpha and shift of each variable."""
    errors: Annotated[FloatArray, 'ints[ELEMENTS]', 2]
    """Linear and angular error of each task."""
    hits: Annotated[FloatArray, 'ints[VARIABLES]']
    """By how much each joint would have gone beyond a limit, with sign."""
    levels: Annotated[FloatArray, 'ints[GROUPS]', 'ints[VARIABLES]']
    """Motion that each set added to the step, divided by the scales."""
    reference: Annotated[FloatArray, 'ints[ROWS]']
    """Residual of each set where its own level ended; every margin has a place of its own."""
    before: Annotated[FloatArray, 'ints[POSITIONS]']
    """Values at the start of a step."""
    kept: Annotated[FloatArray, 'ints[POSITIONS]']
    """Values where the last level ended that was accepted."""
    group_errors: Annotated[FloatArray, GROUP_ERRORS, 'ints[GROUPS]']
    """Norm of each set's residual before the step, and where its own level ended."""


TABLES = Layout(Tables, COUNTS, globals())
WORKSPACE = Layout(Workspace, TABLES.end, globals())
HEADER = WORKSPACE.end
AT_RUN = TABLES.entry('run')
AT_FRAMES = WORKSPACE.entry('frames')
AT_MAPS = WORKSPACE.entry('maps')
AT_JACOBIAN = WORKSPACE.entry('jacobian')
AT_RESIDUAL = WORKSPACE.entry('residual')
AT_PROJECTED = WORKSPACE.entry('projected')
view_tables = TABLES.kernel('view_tables')
view_workspace = WORKSPACE.kernel('view_workspace')
