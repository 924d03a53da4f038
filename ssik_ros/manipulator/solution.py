"""One solution, as the façade hands it out."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

RefinementMode = Literal['none', 'lm']
"""How a solution came about: from a closed form as it is, or by an iteration."""


class Solution(NamedTuple):
    """One inverse-kinematics solution."""

    q: NDArray[np.float64]
    """(dof,) joint vector [rad or m]."""
    fk_residual: float
    """Frobenius norm of FK(q) - T_target."""
    refinement_used: RefinementMode = 'none'
    """``'none'``, or ``'lm'`` when an iteration produced or rescued the solution."""
