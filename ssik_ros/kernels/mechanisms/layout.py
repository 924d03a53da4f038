"""
Layout of a mechanism, and of the solve of one of its chains, in flat arrays.

A mechanism has one row per frame in two tables that are the storage of its objects: numbers (pose, values, limits, ...)
and flags. They may change between solves. ``ints`` and ``reals`` store the structure of a chain. They are written once,
when the chain is compiled: a header of ``HEADER`` numbers, then tables with rows of a fixed width.

===========  ======================================================================================
table        one row per
===========  ======================================================================================
node         elementary motion: one degree of freedom, or the rotation of a ball; parents first
variable     unknown of the solve, numbered in the order of elimination
constraint   closing frame and closed link
path         node that moves a constraint's closing frame (2), closed link (1) or both (3)
column       variable that a constraint depends on, ascending
joint        joint with degrees of freedom: which variables are its six
segment      frame whose fixed pose goes into a placement
===========  ======================================================================================
"""

from typing import Annotated, NamedTuple

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, matrix
from ssik_ros.kernels.geometry.addresses import floats_at, integers_at
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.rows.views import Floats, Ints, Layout

# Columns of the table of numbers, one row per frame.
POSITION = 0
QUATERNION = 3
FIXED = 7
"""Number of leading columns that are a frame's fixed pose."""
VALUES = 7
ROTATION = 13
"""Rotation of a joint with three rotations as a quaternion: the state of a ball."""
TARGET = 17
REST = 23
LOWER = 29
UPPER = 35
REST_WEIGHT = 41
TARGET_WEIGHT = 47
FRAME_REALS = 48

# Columns of the table of flags.
LOCKED = 0
TARGET_SET = 6
REST_SET = 7
EXCLUDED = 8
TRACK_WRAP = 9
FRAME_FLAGS = 10

# Header of ``ints``.
NODES = 0
VARIABLES = 1
STATES = 2
CONSTRAINTS = 3
JOINTS = 4
BLOCKS = 5
"""Number of columns of all constraints together."""
PROFILE = 6
"""Number of entries in the profile of the normal matrix."""
PATHS = 7
SEGMENTS = 8
MOTIONS = 9
"""Largest number of elementary motions on the path of a constraint; a ball node counts as three."""
COUNTS = 10
"""Number of counts. The header continues with the offsets of the tables, then of the workspace arrays."""

# Node table; kinds 0 to 5 are the degrees of freedom X, Y, Z, EX, EY, EZ.
NODE_INTS = 8
NODE_KIND = 0
NODE_PARENT = 1
NODE_FRAME = 2
NODE_VARIABLE = 3
NODE_STATE = 4
NODE_SEGMENT = 5
NODE_SEGMENTS = 6
NODE_OWNER = 7
"""1 if the variable belongs to this node; 0 if the node follows another node."""
NODE_REALS = 2
NODE_MULTIPLIER = 0
NODE_OFFSET = 1
BALL = 6
FIRST_TURN = 3

# Variable table: these columns follow the columns of ``rows.layout``. No kind is PERIODIC: angles keep their windings.
VARIABLE_FRAME = layout.VARIABLE_INTS
VARIABLE_DOF = VARIABLE_FRAME + 1
VARIABLE_FIRST = VARIABLE_FRAME + 2
"""First column of its row of the normal matrix."""
VARIABLE_DIAGONAL = VARIABLE_FRAME + 3
"""Offset of its diagonal entry in the profile."""
VARIABLE_INTS = VARIABLE_FRAME + 4

# Constraint table.
CONSTRAINT_INTS = 13
CONSTRAINT_FRAME = 0
CONSTRAINT_MASK = 1
"""Bit mask: bit k selects row k."""
CONSTRAINT_WORLD = 2
"""1: measured along the axes of the world; 0: along the axes of the closing frame."""
CONSTRAINT_NODE_A = 3
CONSTRAINT_SEGMENT_A = 4
CONSTRAINT_SEGMENTS_A = 5
CONSTRAINT_NODE_B = 6
CONSTRAINT_SEGMENT_B = 7
CONSTRAINT_SEGMENTS_B = 8
CONSTRAINT_PATH = 9
CONSTRAINT_PATHS = 10
CONSTRAINT_COLUMN = 11
CONSTRAINT_COLUMNS = 12

# Path table.
PATH_INTS = 3
PATH_NODE = 0
PATH_SIDE = 1
PATH_COLUMN = 2
MOVES_B = 1
MOVES_A = 2

# Joint table: frame, then the variable of each degree of freedom (or -1), then the kind of its rotation.
JOINT_INTS = 8
JOINT_FRAME = 0
JOINT_VARIABLES = 1
JOINT_ROTATION = 7
SINGLE = 0
TRIPLE = 1
BALL_ROTATION = 2

# Options of a solve.
METHOD = 0
MAX_ITERATIONS = 1
STALL = 2
DIVERGE = 3
DAMPING = 4
REST_FACTOR = 5
TRANSLATION_TOLERANCE = 6
ROTATION_TOLERANCE = 7
TRANSLATION_FACTOR = 8
ROTATION_FACTOR = 9
TRANSLATION_CLAMP = 10
ROTATION_CLAMP = 11
SIGMA = 12
LOW_TARGETS = 13
ESCAPES = 14
KEEP_FAILED = 15
SECONDARY = 16
OPTIONS = 17

# Methods.
LM = 0
DLS = 1
SVD = 2

# Secondary objectives.
POSTURE = 0
LIMIT_CENTRE = 1

# Counters: integer arguments and results of a solve.
STATUS = 0
ITERATIONS = 1
BAD = 2
"""Row of a frame with a number that is not finite, or -1."""
STOP = 3
"""Monotonic time at which to stop [ns]."""
RANDOM = 4
ESCAPED = 5
HELD = 6
CLOCK = 7
TASK = 9
FRESH = 10
"""Origin of the state to measure if it starts a descent: START, PULLED or RETURNED of ``descent``; else 0."""
TRIES = 11
ANEW = 12
WATCH = 13
"""Number of steps since a descent has gone uphill; 0 on its way down."""
EXCURSIONS = 14
COUNTERS = 15

# Integer head of a block: addresses of the arrays that may change with every solve, then the sizes of the arrays in the
# block. ``ints`` and the counters follow the head, then ``reals`` and the workspace.
BLOCK_TABLE = 0
BLOCK_FLAGS = 1
BLOCK_OPTIONS = 2
BLOCK_CANCEL = 3
BLOCK_FRAMES = 4
"""Number of rows of table and flags."""
BLOCK_INTS = 5
BLOCK_REALS = 6
BLOCK_WORK = 7
BLOCK = 8

# Statuses.
CONVERGED = 0
STALLED = 1
DIVERGED = 2
TIMEOUT = 3
RUNNING = -1
BAD_FRAME = -2

# Single numbers of a solve, at the end of the workspace.
COST = 0
TARGET_TRANSLATION = 1
TARGET_ROTATION = 2
REST_COST = 3
MU = 4
BOOST = 5
LEAST = 6
LARGEST_DIAGONAL = 7
EXPECTED = 8
GOOD_ERROR = 9
BEST_ERROR = 10
CLAMP = 11
GAIN = 12
SPREAD = 13
BEST_COST = 14
SLOW = 15
"""Number of slow steps of a descent since its last fast one; enough of them switch second derivatives on."""
WATCH_COST = 16
"""Cost of the state to restore if going uphill does not help."""
STEPS = 17
TRIED = 18
"""Number of iterations; the next number is the count of escapes. Results show both."""
FIRST_ERROR = 19
"""Sum of unmet errors at the beginning of a descent with fixed damping."""
NUMBERS = 20

# Columns of elementary motions: turn, motion of d = p_A - p_B, derivative of the rotation vector, signed axis,
# column of the Jacobian's first three rows; then variable and side.
TURN = 0
SHIFT = 3
SPIN = 6
AXIS = 9
ROWS = 12
MOTION_VARIABLE = 15
MOTION_SIDE = 16
MOTION = 17
SCRATCH = 64


class Block(NamedTuple):
    """
    Arguments, scratch and results of the solve of one chain: views of one block of memory.

    ``table`` and ``flags`` hold all frames of the mechanism, one row each; ``ints`` and ``reals`` the compiled chain;
    ``options`` the options of the solve; ``counters`` and ``work`` state and results. If another thread sets
    ``cancel`` (1,) to 1, the solve ends.
    """

    table: np.ndarray
    """(F, FRAME_REALS) numbers of the mechanism's frames."""
    flags: np.ndarray
    """(F, FRAME_FLAGS) flags of the mechanism's frames, such as locks."""
    options: np.ndarray
    """(OPTIONS,) options of the solve."""
    cancel: np.ndarray
    """(1,) flag; if another thread sets it to 1, the solve ends."""
    ints: np.ndarray
    """Integers of the compiled chain: the header, then tables of integers."""
    counters: np.ndarray
    """(COUNTERS,) integer arguments, state and results of the solve, such as STATUS."""
    reals: np.ndarray
    """Floats of the compiled chain: multiplier and offset of each node."""
    work: np.ndarray
    """Floats of the :class:`ChainWorkspace`: scratch, state and results."""


class ChainTables(NamedTuple):
    """
    Tables of a compiled chain, as views that :func:`view_tables` returns; constants of this module name their columns.

    ``factors`` (., NODE_REALS) holds floats, the multiplier and the offset of each node; all others hold integers.
    """

    node: Annotated[Ints, 'ints[NODES]', NODE_INTS]
    """Elementary motions: one degree of freedom, or the rotation of a ball; parents first."""
    variable: Annotated[Ints, 'ints[VARIABLES]', VARIABLE_INTS]
    """Unknowns of the solve, in the order of elimination."""
    constraint: Annotated[Ints, 'ints[CONSTRAINTS]', CONSTRAINT_INTS]
    """Pairs of a closing frame and a closed link that must coincide."""
    path: Annotated[Ints, 'ints[PATHS]', PATH_INTS]
    """Nodes that move an end of a constraint, constraint by constraint."""
    column: Annotated[Ints, 'ints[BLOCKS]']
    """Variables on which each constraint depends, ascending, constraint by constraint."""
    joint: Annotated[Ints, 'ints[JOINTS]', JOINT_INTS]
    """Joints with degrees of freedom: which variables are their six, -1 for a missing one."""
    segment: Annotated[Ints, 'ints[SEGMENTS]']
    """Frames whose fixed poses are multiplied into one placement, placement by placement."""
    factors: Annotated[Floats, 'ints[NODES]', NODE_REALS]
    """Multiplier and offset of each node: its value is multiplier * variable + offset."""


class ChainWorkspace(NamedTuple):
    """
    Scratch and results of the solve of one chain, as views of one float array that :func:`view_workspace` returns.

    States of the chain [rad or m]: ``current`` (before a step), ``trial`` (after it), ``best`` (of all descents) and
    ``good`` (to return to). ``step`` is the step, between ``low`` and ``high``; ``lower`` and ``upper`` are limits of
    values. ``residual`` and ``blocks`` are the weighted rows e and J, ``errors`` the unweighted errors [m, rad];
    ``normal`` and ``gradient`` are H = J^T J and g = J^T e. ``numbers`` has single numbers such as COST. The poses,
    twists and other arrays are scratch.
    """

    poses: Annotated[Floats, 'ints[NODES]', 12]
    """Pose of each node after its motion."""
    placements: Annotated[Floats, 'ints[NODES]', 12]
    """Fixed pose of each node in its parent."""
    end_placements: Annotated[Floats, '2 * ints[CONSTRAINTS]', 12]
    """Fixed pose of each closing frame and closed link in its node."""
    ends: Annotated[Floats, '2 * ints[CONSTRAINTS]', 12]
    """Pose of each closing frame and closed link."""
    residual: Annotated[Floats, 'ints[CONSTRAINTS]', 6]
    """Weighted rows; rows without weight are zero."""
    rates: Annotated[Floats, 'ints[NODES]', 12]
    """Twist of each node along a step, and its derivative."""
    blocks: Annotated[Floats, 'ints[BLOCKS]', 6]
    """Jacobian of each constraint, column by column."""
    motions: Annotated[Floats, 'ints[MOTIONS]', MOTION]
    """Elementary motions of one constraint."""
    normal: Annotated[Floats, 'ints[PROFILE]']
    """Profile of J^T J."""
    factor: Annotated[Floats, 'ints[PROFILE]']
    """Profile of its L D L^T factors."""
    scratch: Annotated[Floats, SCRATCH]
    """Scratch of single functions."""
    fixed: Annotated[Floats, 'ints[SEGMENTS]', FIXED]
    """Fixed poses of frames at the last solve; NaN before the first one."""
    turns: Annotated[Floats, 'ints[CONSTRAINTS]', 3]
    """Rotation vector of each constraint in world axes, with all components and without weight."""
    dense: Annotated[Floats, '2 * ints[VARIABLES] * ints[VARIABLES]']
    """Scratch of spectral steps."""
    errors: Annotated[Floats, 'ints[CONSTRAINTS]', 2]
    """Length and angle [m, rad] of the selected rows: the first array that a result keeps."""
    gradient: Annotated[Floats, 'ints[VARIABLES]']
    """J^T e."""
    step: Annotated[Floats, 'ints[VARIABLES]']
    """Motion of each variable in the next step [rad or m]."""
    right: Annotated[Floats, 'ints[VARIABLES]']
    """Right side of the damped normal equations, then their solution."""
    lower: Annotated[Floats, 'ints[VARIABLES]']
    """Lower limits of the values [rad or m]; infinite for none."""
    upper: Annotated[Floats, 'ints[VARIABLES]']
    """Upper limits of the values [rad or m]; infinite for none."""
    held: Annotated[Floats, 'ints[VARIABLES]']
    """0 free, 1 at the upper bound of the step, -1 at the lower bound, 2 locked."""
    low: Annotated[Floats, 'ints[VARIABLES]']
    """Least motion of each variable in a step, at most 0 for values inside the limits."""
    high: Annotated[Floats, 'ints[VARIABLES]']
    """Largest motion of each variable in a step, at least 0 for values inside the limits."""
    pull: Annotated[Floats, 'ints[VARIABLES]']
    """Negative gradient of the secondary objective; also scratch of spectral steps."""
    current: Annotated[Floats, 'ints[STATES]']
    """State at which the next step begins."""
    trial: Annotated[Floats, 'ints[STATES]']
    """State after a step, which is measured and then accepted or refused."""
    best: Annotated[Floats, 'ints[STATES]']
    """State with the smallest error of all descents."""
    good: Annotated[Floats, 'ints[STATES]']
    """State to which a descent returns: before it went uphill, or before it diverged."""
    numbers: Annotated[Floats, NUMBERS]
    """Single numbers of a solve, such as COST."""


TABLES = Layout(ChainTables, COUNTS, globals())
WORKSPACE = Layout(ChainWorkspace, TABLES.end, globals())
RESULT = WORKSPACE.entry('errors')
"""Header entry of the first array that a result keeps; the result ends with the workspace."""
HEADER = WORKSPACE.end
view_tables = TABLES.kernel('view_tables')
view_workspace = WORKSPACE.kernel('view_workspace')


@inline_kernel
def view_block(address):
    """
    Return the arrays of a chain's block of memory as a :class:`Block` of views.

    :param address: address of the block; its first BLOCK int64 numbers are sizes and addresses of the arrays.
    """
    head = integers_at(address, 0, BLOCK)
    frames, ints, reals = head[BLOCK_FRAMES], head[BLOCK_INTS], head[BLOCK_REALS]
    at = BLOCK + ints + COUNTERS
    return Block(
        matrix(floats_at(head[BLOCK_TABLE], 0, frames * FRAME_REALS), 0, frames, FRAME_REALS),
        matrix(integers_at(head[BLOCK_FLAGS], 0, frames * FRAME_FLAGS), 0, frames, FRAME_FLAGS),
        floats_at(head[BLOCK_OPTIONS], 0, OPTIONS),
        integers_at(head[BLOCK_CANCEL], 0, 1),
        integers_at(address, BLOCK, ints),
        integers_at(address, BLOCK + ints, COUNTERS),
        floats_at(address, at, reals),
        floats_at(address, at + reals, head[BLOCK_WORK]),
    )


@inline_kernel
def view_chain(address):
    """
    Return (block, tables, workspace) of a chain: a :class:`Block`, :class:`ChainTables` and :class:`ChainWorkspace`.

    Kernels pass the address of the block to each other, because passing all arrays would cost more.

    :param address: address of the block.
    """
    block = view_block(address)
    return (
        block,
        view_tables(block.ints, block.reals),
        view_workspace(block.ints, block.work),
    )
