"""
Layout of a packed problem: one integer and one float array, so that any problem fits one compiled kernel.

``ints`` starts with a header of ``HEADER`` numbers: counts, then the places of the tables and of the arrays of the
workspace. The integer tables follow; ``reals`` has the float tables, then the hulls of constraints. Every table is a
rectangle of rows with a fixed stride; :func:`view_tables` gives it as a 2-D array.

=============  =================================================================================
table          one row per
=============  =================================================================================
node           moving joint that matters, parents first, its axis turned to +z, fixed parts folded in
variable       degree of freedom (column of the Jacobian)
constraint     relative pose that is to be reached
path           joint that moves a constraint's frame a or b (each constraint has a run of them)
=============  =================================================================================
"""

from typing import Annotated, NamedTuple

from ssik_ros.kernels._jit import inline_kernel
from ssik_ros.kernels.rows.views import Floats, Ints, Layout

# Header of ``ints``.
NODES = 0
VARIABLES = 1
POSITIONS = 2
CONSTRAINTS = 3
ROWS = 4
PATHS = 5
TARGETS = 6
COUNTS = 7
"""Number of counts. The header continues with the offsets of the tables, then of the workspace arrays."""

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
NODE_RATE = 15
"""Derivative of the joint's value with respect to its variable."""

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
"""Code for the motion that the variable causes, see below."""

# Kinds of variables: a periodic one may shift by full windings without moving any link.
PERIODIC = 0
LINEAR = 1
BALL_FIRST = 2
BALL_REST = 3

# Effect of a variable on the frames: an idle one keeps the seed's value; a rotating one can be sampled without limits.
IDLE = 0
SLIDES = 1
TURNS = 2

# Columns of the constraint tables.
CONSTRAINT_INTS = 11
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
CONSTRAINT_MASK = 10
"""Bit k: component k has a row."""
CONSTRAINT_REALS = 48
CONSTRAINT_PLACEMENT_A = 0
CONSTRAINT_PLACEMENT_B = 12
CONSTRAINT_WEIGHT = 24
CONSTRAINT_LOWER = 30
CONSTRAINT_UPPER = 36
CONSTRAINT_REACH_CENTRE = 42
CONSTRAINT_REACH = 45
CONSTRAINT_HULLS = 46
"""Offset of a constraint's hulls in ``reals``, in the form of :mod:`ssik_ros.kernels.rows.reach_hull`."""
CONSTRAINT_HULL_COUNT = 47
"""Number of a constraint's hulls."""

# Axes along which rows are measured.
WORLD = 0
FRAME_A = 1
GOAL = 2
FRAME_B = 3

# Rotation kinds.
FULL = 0
ALIGN = 1
SPIN = 2
NO_ROTATION = -1

# Columns of the path table: the node, and the sum of the frames that it moves. Frame a also moves a goal that is fixed to it.
PATH_INTS = 2
PATH_NODE = 0
PATH_SIDE = 1
MOVES_B = 1
MOVES_GOAL = 2
MOVES_A = 4

REFUSED_ROWS = 64
"""Number of refused candidates that a search stores."""
SCALARS = 6
"""Number of single numbers that a search stores between calls."""
SHORTER_SIDE = 'min(ints[ROWS], ints[VARIABLES])'


class Tables(NamedTuple):
    """
    The tables of a packed problem, as views that :func:`view_tables` returns.

    Fields that end in ``_i`` hold integers, fields that end in ``_f`` floats; ``path`` holds integers. Each row
    describes one node, variable, constraint or path entry; the constants of this module name the columns.
    """

    node_i: Annotated[Ints, 'ints[NODES]', NODE_INTS]
    """Moving joints, parents first: kind, parent, first position and velocity variable."""
    variable_i: Annotated[Ints, 'ints[VARIABLES]', VARIABLE_INTS]
    """Velocity variables (columns of the Jacobian): kind, position variable, motion that the variable causes."""
    constraint_i: Annotated[Ints, 'ints[CONSTRAINTS]', CONSTRAINT_INTS]
    """Relative poses to reach: nodes of frames a and b, target, axes, run in the path table, selected components."""
    path: Annotated[Ints, 'ints[PATHS]', PATH_INTS]
    """Nodes that move a frame of a constraint, constraint by constraint: node, and bits of the moved frames."""
    node_f: Annotated[Floats, 'ints[NODES]', NODE_REALS]
    """For each node: placement in the moved parent (12 numbers), multiplier, offset, screw lead, rate."""
    constraint_f: Annotated[Floats, 'ints[CONSTRAINTS]', CONSTRAINT_REALS]
    """For each constraint: placements of frames a and b, weights, tolerated deviations, ball and hulls of its reach."""


class Workspace(NamedTuple):
    """
    Scratch and state of a search, as views of one float array that :func:`view_workspace` returns.

    Values of joints are in [rad or m]. The caller writes the seed into ``reference`` and the targets into ``matrices``.
    ``state`` is the present configuration; ``best``, ``near_miss``, ``kept`` and ``trial`` are stored ones, ``refused``
    solutions that the caller refused. ``lower`` and ``upper`` are limits. ``jacobian`` and ``residual`` hold the
    weighted rows J and e of the last evaluation, ``errors`` position [m] and rotation [rad] error of each constraint.
    ``step`` is the joint step. The other fields are poses, and scratch of steps.
    """

    poses: Annotated[Floats, 'ints[NODES]', 12]
    """Poses of the nodes."""
    jacobian: Annotated[Floats, 'ints[ROWS]', 'ints[VARIABLES]']
    """Weighted Jacobian J = -de/dq of the last evaluation."""
    residual: Annotated[Floats, 'ints[ROWS]']
    """Weighted errors e of the last evaluation."""
    normal: Annotated[Floats, SHORTER_SIDE, SHORTER_SIDE]
    """Normal equations, then their factor."""
    right: Annotated[Floats, SHORTER_SIDE]
    """Right side, then solution of the normal equations."""
    step: Annotated[Floats, 'ints[VARIABLES]']
    """Joint step."""
    gradient: Annotated[Floats, 'ints[VARIABLES]']
    """Wished motion within the null space, such as the pull to the seed; also scratch of a step."""
    lower: Annotated[Floats, 'ints[VARIABLES]']
    """Lower limits of the search; equal limits hold a joint."""
    upper: Annotated[Floats, 'ints[VARIABLES]']
    """Upper limits of the search."""
    free: Annotated[Floats, 'ints[VARIABLES]']
    """1 for joints that the last step moved freely."""
    state: Annotated[Floats, 'ints[POSITIONS]']
    """Current configuration."""
    best: Annotated[Floats, 'ints[POSITIONS]']
    """Configuration with the smallest error seen within limits."""
    trial: Annotated[Floats, 'ints[POSITIONS]']
    """Nearest verified configuration of a pull, or the state before a step that may be undone."""
    reference: Annotated[Floats, 'ints[POSITIONS]']
    """The seed as it was given; the caller writes it."""
    errors: Annotated[Floats, 'ints[CONSTRAINTS]', 2]
    """Position error [m] and rotation error [rad] of each constraint."""
    targets: Annotated[Floats, 'ints[TARGETS]', 12]
    """Target poses, checked and orthonormal."""
    frames: Annotated[Floats, 3, 12]
    """Frame a, goal and frame b of the current constraint."""
    maps: Annotated[Floats, 3, 9]
    """Matrices that map root twists to the rows of the current constraint."""
    components: Annotated[Floats, 6]
    """Error of the current constraint before selection and weights."""
    active: Annotated[Floats, 6]
    """Weights of the current constraint; 0 for components inside their boxes."""
    spare: Annotated[Floats, 15]
    """Scratch of single functions."""
    scalars: Annotated[Floats, SCALARS]
    """Single numbers that a search stores between calls."""
    matrices: Annotated[Floats, '4 * ints[TARGETS]', 4]
    """Target matrices one below the other; the caller writes them."""
    refused: Annotated[Floats, REFUSED_ROWS, 'ints[POSITIONS]']
    """The last candidates that a validation refused."""
    kept: Annotated[Floats, 'ints[POSITIONS]']
    """Best configuration of a motion within the null space."""
    near_miss: Annotated[Floats, 'ints[POSITIONS]']
    """Best configuration within the tolerances that is not exact."""


TABLES = Layout(Tables, COUNTS, globals())
WORKSPACE = Layout(Workspace, TABLES.end, globals())
WORK_SIZE = WORKSPACE.end
HEADER = WORK_SIZE + 1
view_tables = TABLES.kernel('view_tables')
view_workspace = WORKSPACE.kernel('view_workspace')


@inline_kernel
def view_problem(ints, reals, work):
    """
    Return the :class:`Tables` and the :class:`Workspace` of a packed problem, as views without copies.

    :param ints, reals: the packed problem.
    :param work: its workspace.
    """
    return view_tables(ints, reals), view_workspace(ints, work)
