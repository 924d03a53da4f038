"""
Solve one pose by elimination in an artifact, a generated Python module that solves one arm.

:func:`eliminate` is copied into artifacts of arms without a closed form, like :mod:`ssik_ros.artifact.runtime`.
"""

from typing import Any

import numpy as np

from ssik_ros.kernels.closed_form.branches import plan_layout, search
from ssik_ros.kernels.closed_form.elimination import general_search, loop_workspace


def eliminate(*request: Any) -> int:
    """
    Solve one pose by elimination; return the number of solutions, -1 if the pose is not rigid.

    Each of the first rows of the first array gets a solution: n joint values and three errors. The last error is the
    Frobenius norm of FK - T.

    :param request: nine arguments, as for the search in closed form. They are rows (out), counters (out), ints, reals,
        samples of the held joint, target (4, 4), seed (n,), options, work. ``reals`` ends with the constants of the
        elimination.
    """
    ints, reals = request[2:4]
    # A copy: with a held joint, the search overwrites the constants for its present value.
    constants = reals[plan_layout.plan_size(ints[search.N]) :].copy()
    loop_work = np.zeros(general_search.loop_size(ints[search.N]))
    loop_ints = np.zeros(loop_workspace.INTS, dtype=np.int32)
    six = np.empty((search.BRANCHES_OF_SIX, 6))
    arguments = *request, constants, six, loop_work, loop_ints
    count: int = general_search.search(*arguments)
    return count
