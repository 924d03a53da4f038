"""
The interface of a search: codes, counters, and packed options.

The options are one flat array: the single numbers below, rows of (nv,) numbers, and the tolerances of each constraint.
The scales of the joints and the arrays of the secondary objectives follow. A policy, such as PoseIK or
Levenberg-Marquardt, is a set of these numbers.
"""

import numpy as np

from ssik_ros.kernels._jit import inline_kernel, matrix, vector
from ssik_ros.kernels.rows import layout

# Phases, which the caller passes.
FRESH = 0
REFUSED = 1
ACCEPTED = 2
CONTINUED = 3
"""The previous call returned EXHAUSTED, and the budget of starts is larger now."""

# Codes that a call returns.
FOUND = 0
CANDIDATE = 1
EXHAUSTED = 2
DEADLINE = 3
CANCELLED = 4
BAD_TARGET = 5
BAD_STATE = 6
OUT_OF_REACH = 7
UNSAMPLED = 8
RUNNING = 9

# Counters (int64) of a search between calls.
SEARCHES = 0
ITERATIONS = 1
COUNT = 2
RANDOM = 3
LIMITS_SEEN = 4
REFUSALS = 5
STOP = 6
STOP_WITH_SOLUTION = 7
"""When the search ends once it has a solution [ns]."""
CLOCK = 8
CLOCK_ENDED = 10
STALLED = 11
UNSAMPLED_VARIABLE = 12
SINGULAR_SEEN = 13
NEAR_MISSES = 14
"""Number of near misses so far, or ALL_COUNT."""
STATE_SIZE = 15

ALL_COUNT = -1
"""A near miss is a solution at once: a better one does not exist, or enough starts have looked for it."""

# Scalars of the workspace.
BEST_ERROR = 0
"""Error norm |W^1/2 e| of the best state, written when a call ends without a solution."""
ERROR = 1
"""Error norm at the first solution."""
BEST_SQUARE = 2
"""Smallest |W^1/2 e|^2 seen."""
NEAR_MISS_SQUARE = 3
"""|W^1/2 e|^2 of the best near miss."""
FIRST_SQUARE = 4
"""|W^1/2 e|^2 where the first start begins."""

# Options: single numbers.
LAW = 0
GAIN = 1
"""k of the toolbox's laws, first mu of the adaptive one, damping of PoseIK."""
OWN_DAMPING = 2
"""Squared damping of the pseudo-inverse."""
PLAIN_INVERSE = 3
MAX_ITERATIONS = 4
MAX_SEARCHES = 5
ERROR_SQUARED = 6
"""Largest |W^1/2 e|^2 of a solution, exclusive."""
LIMITED = 7
VALIDATED = 8
RIGID_TOLERANCE = 9
SOLUTION_SEPARATION = 10
"""If all joints of two solutions differ by less than this, they are one [rad or m]."""
SEEDED = 11
"""Whether the caller gave a seed to start from."""
RANDOM_SEED = 12
LARGEST_STEP = 13
WEIGHTED = 14
"""Whether joints have weights."""
GIVES_UP = 15
"""Whether starts that make little progress are given up."""
SERIAL = 16
"""Whether :func:`ssik_ros.kernels.search.serial.evaluate` holds."""
NEAR_SQUARED = 17
"""Squared error above which a start is given up at once; zero for no bound."""
KEEPS_LOOKING = 18
"""Whether the nearest state is searched for even if a target is proved to be out of reach."""
CONSTANT = 19
"""Whether the damping has a part that does not fade with the error."""
PROGRESS_STEPS = 20
PROGRESS = 21
"""Steps after which a start must have shown progress, and factor by which its squared error must have shrunk."""
POLISH_STEPS = 22
POLISH_GAIN = 23
"""Most steps of a polish, and factor by which each of them must shrink the squared error."""
MULTIPLIER = 24
THRESHOLD = 25
"""PoseIK's factor on a step, and the error below which the factor grows towards one."""
OPTIMISE = 26
OPTIMISE_NS = 27
"""Whether the solution nearest to the seed is searched for, and for how long [ns]."""
PULL_GAIN = 28
"""Part of the distance to the seed that one step of this pull covers."""
IMPROVES = 29
LIMIT_GAIN = 30
MANIPULABILITY_GAIN = 31
POSTURE_GAIN = 32
CLOSEST = 33
"""Secondary objectives: whether there are any, their gains, and ps [rad or m]."""
MOST_NEAR_MISSES = 34
"""Number of near misses after which the best one is the solution; 0: a near miss is a solution at once."""
GOES_ON = 35
"""Whether a search that has used its starts goes on later. Then no near miss is a solution yet."""
OPTIONS = 36

# Rows of (nv,) options, which follow the single numbers.
LOWER = 0
UPPER = 1
SAMPLING_LOWER = 2
SAMPLING_UPPER = 3
ALPHA = 4
SHIFT = 5
JOINT_ROWS = 6

# Rows of (c,) options, which follow these: largest norm over both errors, position error, rotation error.
NORM = 0
POSITION = 1
ROTATION = 2
TOLERANCES = 3

LAST_TIME = np.iinfo(np.int64).max
"""Stop time of a search without a deadline. Kernels use this name: np.iinfo inside a kernel makes numba load scipy.linalg."""


@inline_kernel
def joint_row(ints, options, row):
    """
    Return a view (nv,) of one of the option rows that have a number for each velocity variable.

    :param row: LOWER, UPPER, SAMPLING_LOWER, SAMPLING_UPPER, ALPHA or SHIFT.
    """
    nv = ints[layout.VARIABLES]
    return vector(options, OPTIONS + row * nv, nv)


@inline_kernel
def limits(ints, options):
    """Return (lower, upper), views (nv,) of the joint limits in the options [rad or m]."""
    return joint_row(ints, options, LOWER), joint_row(ints, options, UPPER)


@inline_kernel
def sampling_range(ints, options):
    """Return (lower, upper), views (nv,) of the ends of the ranges in which starts are drawn [rad or m]."""
    return joint_row(ints, options, SAMPLING_LOWER), joint_row(ints, options, SAMPLING_UPPER)


@inline_kernel
def tolerances(ints, options):
    """
    Return a view (TOLERANCES, c) of the largest errors that a solution may have at each of c constraints.

    The rows are NORM (largest norm over both errors), POSITION [m] and ROTATION [rad].
    """
    at = OPTIONS + JOINT_ROWS * ints[layout.VARIABLES]
    return matrix(options, at, TOLERANCES, ints[layout.CONSTRAINTS])


@inline_kernel
def joint_scales(ints, options):
    """
    Return a view (nv,) of the factors by which a search scales the velocity variables; empty if all are exactly 1.

    With joint weights a factor is 1 / sqrt(weight). Without weights it is 1, but range / 2 pi for a slide with a finite
    range above 100 m.
    """
    nv = ints[layout.VARIABLES]
    count = nv if options[WEIGHTED] != 0.0 else 0
    return vector(
        options, OPTIONS + JOINT_ROWS * nv + TOLERANCES * ints[layout.CONSTRAINTS], count
    )


@inline_kernel
def influence(ints, options):
    """Return a view (nv,) of the distances from limits below which secondary objectives push joints [rad or m]."""
    nv = ints[layout.VARIABLES]
    at = OPTIONS + (JOINT_ROWS + 1) * nv + TOLERANCES * ints[layout.CONSTRAINTS]
    return vector(options, at, nv)


@inline_kernel
def posture(ints, options):
    """Return a view (nq,) of the configuration to which the posture objective pulls the arm [rad or m]."""
    at = (
        OPTIONS + (JOINT_ROWS + 2) * ints[layout.VARIABLES] + TOLERANCES * ints[layout.CONSTRAINTS]
    )
    return vector(options, at, ints[layout.POSITIONS])
