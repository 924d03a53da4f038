"""
Layout of packed task sets: structure in one integer and one float array, scratch and state in a third.

``ints`` starts with a header: counts, flags, places of the tables, places of the arrays in the workspace. Poses of
objects and joint values come as arguments of every call.

=============  =================================================================================
table          one row per
=============  =================================================================================
slot           object of the environment: kind of joint (-1 for a dummy), place of its value
node           joint that moves during a solve, parents first; columns as in ``kernels.rows.layout``
node run       for each node, begin and size of its part of the table ``run``
run            object on the way from a node or frame to the node before it
variable       degree of freedom (column of the Jacobian)
task           tip that is to meet a target
path           node that moves tip, target or constraint base of a task
set            tasks solved together, in the order of priority
margin         variable that a set keeps away from its limits
follower       dependent joint: its value is linear in the value of another joint
=============  =================================================================================
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.rows.views import Floats, Ints, Layout

# Header of ``ints``: counts, then flags.
SLOTS = 0
NODES = 1
VARIABLES = 2
POSITIONS = 3
TASKS = 4
ROWS = 5
SETS = 6
PATHS = 7
MARGINS = 8
FOLLOWERS = 9
WIDEST = 10
"""Most rows that one set can have."""
RUNS = 11
NESTED = 12
"""1 for nested priorities, 0 for strict ones."""
IGNORE_MAX_STEPS = 13
STOP_ON_LIMIT_HIT = 14
WEIGHTED = 15
"""1 when some joint has another weight than one."""
COUNTS = 16
"""After the counts follow the places of the tables, then the places of the workspace arrays."""

SLOT_INTS = 2
SLOT_KIND = 0
SLOT_Q = 1
DUMMY = -1

# More columns of the node table: the run of slots between the parent node and this node.
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

# A task is a constraint of ``rows.layout``: frame a is the constraint base, the goal is the target, frame b is the tip.
# More columns follow the columns of a constraint: the node and the run of slots of each frame.
TASK_NODE = layout.CONSTRAINT_INTS
TASK_RUN = TASK_NODE + 3
TASK_RUN_SIZE = TASK_NODE + 6
TASK_HAS_TARGET = TASK_NODE + 9
TASK_ROWS = TASK_NODE + 10
TASK_INTS = TASK_NODE + 11
TASK_REALS = 14
TASK_ROW_WEIGHT = 0
TASK_ERROR_WEIGHT = 6
TASK_PRECISION = 12
"""Two numbers: linear, angular."""

SET_INTS = 7
SET_ELEMENT = 0
SET_ELEMENTS = 1
SET_METHOD = 2
SET_ROW = 3
SET_MARGIN = 4
SET_MARGINS = 5
SET_REALS = 1

FOLLOWER_INTS = 2
FOLLOWER_REALS = 2

# Methods, with the numbers of the document.
PSEUDO_INVERSE = 0
DAMPED = 1
TRANSPOSE = 2
UNDAMPED = 3

# Options of a search.
MAX_DISTANCE = 0
METRIC, METRIC_ANGULAR = 1, 4
SEQUENCE = 5
"""Where alpha and shift of each variable start."""

SCALARS = 12

# Rows of the errors that the protection of sets compares.
BEFORE, ALONE = 0, 1
SET_ERRORS = 2
LONGER_SIDE = 'max(ints[WIDEST], ints[VARIABLES])'


class TaskTables(NamedTuple):
    """
    The tables of packed task sets, as views that :func:`view_tables` returns; constants of this module name the columns.

    Fields that end in ``_f`` hold floats, all others integers. ``slot_*``: objects of the environment. ``node_*``:
    joints that move. ``run``: objects between a node, or a frame of a task, and the node before it. ``variable_*``:
    columns of the Jacobian. ``task_*``: tips and targets. ``path``: nodes that move a frame of a task. ``set_*``: task
    sets, highest priority first. ``margin``: variables that a set keeps away from limits. ``follower_*``: dependent
    joints.
    """

    slot_i: Annotated[Ints, 'ints[SLOTS]', SLOT_INTS]
    """Objects of the environment: kind of joint, or -1 for a dummy, and index of its value in the joint values."""
    node_i: Annotated[Ints, 'ints[NODES]', layout.NODE_INTS]
    """Joints that move during a solve, parents first."""
    node_run: Annotated[Ints, 'ints[NODES]', NODE_RUN_INTS]
    """For each node, begin and size of its part of ``run``: the objects from its parent node to the node."""
    run: Annotated[Ints, 'ints[RUNS]']
    """Indices of objects, one chain of objects after the other, each with the outermost object first."""
    variable_i: Annotated[Ints, 'ints[VARIABLES]', VARIABLE_INTS]
    """Velocity variables: kind, index of the value, 1 if the variable turns, 1 if it has limits."""
    task_i: Annotated[Ints, 'ints[TASKS]', TASK_INTS]
    """Tasks: a constraint of ``rows.layout``, then node and part of ``run`` of constraint base, target and tip."""
    path: Annotated[Ints, 'ints[PATHS]', layout.PATH_INTS]
    """Nodes that move a frame of a task, task by task: node, and bits of the moved frames."""
    set_i: Annotated[Ints, 'ints[SETS]', SET_INTS]
    """Task sets, highest priority first: first task and number of tasks, method, first row, limit margins."""
    margin: Annotated[Ints, 'ints[MARGINS]']
    """Variables that a set keeps away from their limits, set by set."""
    follower_i: Annotated[Ints, 'ints[FOLLOWERS]', FOLLOWER_INTS]
    """Dependent joints: index of the own value, and index of the value that it follows."""
    slot_f: Annotated[Floats, 'ints[SLOTS]']
    """For each object, translation along z for a unit of its value: 1 for a slide, 0 for a rotation, else the lead."""
    variable_f: Annotated[Floats, 'ints[VARIABLES]', VARIABLE_REALS]
    """For each variable: limits, square root of the joint weight, largest step and limit margin [rad or m]."""
    task_f: Annotated[Floats, 'ints[TASKS]', TASK_REALS]
    """For each task: six weights of Jacobian rows, six weights of errors, linear [m] and angular [rad] precision."""
    set_f: Annotated[Floats, 'ints[SETS]', SET_REALS]
    """For each set, its damping: a number on the diagonal of the normal equations."""
    follower_f: Annotated[Floats, 'ints[FOLLOWERS]', FOLLOWER_REALS]
    """For each dependent joint, factor and offset of its value."""


class TaskWorkspace(NamedTuple):
    """
    Scratch and state of a solve of task sets, as views of one float array that :func:`view_workspace` returns.

    ``jacobian`` and ``residual`` hold the weighted rows of all sets, and ``errors`` the linear [m] and angular [rad]
    error of each task. ``move``, ``step``, ``level``, ``levels`` and ``wish`` are joint motions divided by the joint
    scales; ``travel`` and ``hits`` are in [rad or m]. ``start``, ``before``, ``kept`` and ``best`` are joint values:
    before the solve, before the step, last accepted in the step, and best of a search. Other fields are poses, matrices
    and scratch of the functions that compute a step.
    """

    node_f: Annotated[Floats, 'ints[NODES]', layout.NODE_REALS]
    """Placements of the nodes, written anew by every solve."""
    poses: Annotated[Floats, 'ints[NODES]', 12]
    """Poses of the nodes."""
    placements: Annotated[Floats, '3 * ints[TASKS]', 12]
    """Constraint base, target and tip of each task in their nodes."""
    frames: Annotated[Floats, '3 * ints[TASKS]', 12]
    """The same in the world."""
    components: Annotated[Floats, 'ints[TASKS]', 6]
    """Errors before selection and weights."""
    maps: Annotated[Floats, '3 * ints[TASKS]', 9]
    """Matrices that take world twists to the rows of each task."""
    jacobian: Annotated[Floats, 'ints[ROWS]', 'ints[VARIABLES]']
    """Weighted Jacobian rows of all sets."""
    residual: Annotated[Floats, 'ints[ROWS]']
    """Weighted errors of all sets."""
    counts: Annotated[Floats, 'ints[SETS]']
    """Rows that each set has at the moment."""
    projected: Annotated[Floats, 'ints[WIDEST]', 'ints[VARIABLES]']
    """Rows of one set without their parts along the basis."""
    right: Annotated[Floats, 'ints[WIDEST]']
    """Residual that the motion so far leaves in one set."""
    solution: Annotated[Floats, LONGER_SIDE]
    """Solution of the normal equations of one set."""
    normal: Annotated[Floats, LONGER_SIDE, LONGER_SIDE]
    """Normal equations of one set, then their factors."""
    basis: Annotated[Floats, 'ints[VARIABLES]', 'ints[VARIABLES]']
    """Orthonormal rows that lower priorities must not move along."""
    own_basis: Annotated[Floats, LONGER_SIDE, LONGER_SIDE]
    """This and the next two: scratch of the inverse by rank."""
    factors: Annotated[Floats, LONGER_SIDE, LONGER_SIDE]
    columns: Annotated[Floats, LONGER_SIDE, LONGER_SIDE]
    move: Annotated[Floats, 'ints[VARIABLES]']
    """Joint motion so far, divided by the scales."""
    step: Annotated[Floats, 'ints[VARIABLES]']
    """Motion that one set adds to ``move``, divided by the scales."""
    level: Annotated[Floats, 'ints[VARIABLES]']
    """``move`` before the present set adds its motion."""
    given: Annotated[Floats, 'ints[SETS]']
    """1 for sets whose motion the caller gives in ``motion`` and ``inverse``, else 0."""
    motion: Annotated[Floats, 'ints[SETS]', 'ints[VARIABLES]']
    """Constant part of the given motion of each set [rad or m]."""
    inverse: Annotated[Floats, 'ints[ROWS]', 'ints[VARIABLES]']
    """Given motion for each unit of a residual: transposed inverses of the Jacobians of all sets."""
    held: Annotated[Floats, 'ints[VARIABLES]']
    """1 for joints that stop at a limit."""
    wish: Annotated[Floats, 'ints[VARIABLES]']
    """With nested priorities, the motion of each stopped joint to its limit, divided by the scale."""
    travel: Annotated[Floats, 'ints[VARIABLES]']
    """Motion of the joints since the step began [rad or m]."""
    kept_travel: Annotated[Floats, 'ints[VARIABLES]']
    """The same at the state ``kept``."""
    kept_hits: Annotated[Floats, 'ints[VARIABLES]']
    """Limit hits of the step itself, while corrections have hits of their own."""
    start: Annotated[Floats, 'ints[POSITIONS]']
    """Values before the solve, or where a search begins."""
    best: Annotated[Floats, 'ints[POSITIONS]']
    """Values with the smallest error of a search."""
    spare: Annotated[Floats, 24]
    """Scratch of single functions."""
    scalars: Annotated[Floats, SCALARS]
    """Largest linear and angular error, then the single numbers of a search and of the protection."""
    options: Annotated[Floats, f'{SEQUENCE} + 2 * ints[VARIABLES]']
    """Largest distance, metric (4,), alpha and shift of each variable."""
    errors: Annotated[Floats, 'ints[TASKS]', 2]
    """Linear and angular error of each task."""
    hits: Annotated[Floats, 'ints[VARIABLES]']
    """By how much each joint would have gone beyond a limit, with sign."""
    levels: Annotated[Floats, 'ints[SETS]', 'ints[VARIABLES]']
    """Motion that each set added to the step, divided by the scales."""
    reference: Annotated[Floats, 'ints[ROWS]']
    """Residual of each set at the state where its own part of the step ended; every margin has its own entry."""
    before: Annotated[Floats, 'ints[POSITIONS]']
    """Values at the start of a step."""
    kept: Annotated[Floats, 'ints[POSITIONS]']
    """Values at the end of the part of the step that was accepted last."""
    set_errors: Annotated[Floats, SET_ERRORS, 'ints[SETS]']
    """Norm of each set's residual before the step, and at the end of its own part of the step."""


TABLES = Layout(TaskTables, COUNTS, globals())
WORKSPACE = Layout(TaskWorkspace, TABLES.end, globals())
HEADER = WORKSPACE.end
AT_RUN = TABLES.entry('run')
AT_TASK_F = TABLES.entry('task_f')
AT_FRAMES = WORKSPACE.entry('frames')
AT_MAPS = WORKSPACE.entry('maps')
FRAMES_SIZE, MAPS_SIZE = 3 * 12, 3 * 9
"""Numbers of the frames and of the maps of one task."""
AT_JACOBIAN = WORKSPACE.entry('jacobian')
AT_RESIDUAL = WORKSPACE.entry('residual')
AT_PROJECTED = WORKSPACE.entry('projected')
view_tables = TABLES.kernel('view_tables')
view_workspace = WORKSPACE.kernel('view_workspace')
