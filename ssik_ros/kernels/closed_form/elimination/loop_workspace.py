"""
Offsets (W_...) of the parts of the elimination's float workspace, and the sizes of its arrays.

A row of candidates has six joint angles [rad], then the miss. The miss is the error by which the loop of chain and
target pose does not close, in link lengths and radians.
"""

from ssik_ros.kernels.closed_form.elimination import elimination as el, null_vectors as nv
from ssik_ros.kernels.rows.eigenvalues import SCRATCH_ROWS

JOINTS = 6
ROWS = 192
"""Rows of candidates before the best are chosen: two for each real root, for two cuts and six moved targets."""

POLYNOMIALS = el.LEFT * el.PRODUCTS
"""Numbers of the coefficients of the six equations at sin q_k, at cos q_k, or at 1."""
PENCIL = 2 * el.SIZE
"""Size of the eigenvalue problem that contains spurious roots."""

MOTION = 12
"""Numbers of a rotation and a translation."""
W_LOOP = 0
W_LAST = W_LOOP + (JOINTS - 1) * MOTION
"""The last motion of the loop: it depends on the target."""
W_INVERSES = W_LAST + MOTION
W_LAST_INVERSE = W_INVERSES + (JOINTS - 1) * MOTION
W_ELIMINATION = W_LAST_INVERSE + MOTION
W_SINE = W_ELIMINATION + el.ELIMINATION
W_COSINE = W_SINE + POLYNOMIALS
W_ONE = W_COSINE + POLYNOMIALS
W_MIXED_SINE = W_ONE + POLYNOMIALS
W_MIXED_COSINE = W_MIXED_SINE + POLYNOMIALS
W_MIXED_ONE = W_MIXED_COSINE + POLYNOMIALS
W_MATRIX = W_MIXED_ONE + POLYNOMIALS
W_SPARE = W_MATRIX + 256
W_REAL = W_SPARE + 256
W_IMAGINARY = W_REAL + PENCIL
W_BETA = W_IMAGINARY + PENCIL
W_PENCIL = W_BETA + PENCIL
W_SCRATCH = W_PENCIL + 2 * PENCIL * PENCIL
W_LU = W_SCRATCH + max(el.SCRATCH, nv.SCRATCH, SCRATCH_ROWS * el.MOST_EIGENVALUES)
W_SPACE = W_LU + 144
W_VECTORS = W_SPACE + 192
W_POSES = W_VECTORS + 192
W_LINE = W_POSES + 60
W_ROOTS = W_LINE + 16
W_FOUND = W_ROOTS + 2 * el.MOST_EIGENVALUES
W_NUDGED = W_FOUND + ROWS * (JOINTS + 1)
W_DOUBT = W_NUDGED + 12
"""Certainty of the candidates of the last target, see below."""
W_MULTIPLE = W_DOUBT + 1
"""Certainty of the candidates of the last cut's roots that are close together or nearly complex."""
W_COUNT = W_MULTIPLE + 1
"""Number of candidates of the last target at ``W_FOUND``; the best of them were returned."""
W_LARGEST = W_COUNT + 1
"""Largest entry of the eigenvalue problem of the last cut; infinite without a problem."""
CERTAIN, MULTIPLE, NEARLY_COMPLEX, INCOMPLETE, DOUBTFUL_TARGET = 0.0, 1.0, 2.0, 3.0, 4.0
"""
Certainty of candidates: every root has its candidate; some roots coincide, and each has its candidate; the candidates
of some nearly complex roots miss the target; some roots that coincide or are nearly complex have no candidate of their
own; a doubt is left.
"""
WORKSPACE = W_LARGEST + 1
INTS = 12
"""Sizes of the float and the int32 workspace."""
