"""KDL through ``PyKDL``: Levenberg-Marquardt without limits, started at the seed and then at random."""

from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_fk, Prepared
from bench.peers.pairs import at_both_tolerances
from bench.peers.restarts import Restarts

EPSILON = 1e-5
"""Of the error whose rotation it weighs by 0.01, its defaults both: 1e-5 m and 1e-3 rad."""
EXACT_EPSILON = 5e-9


def to_frame(pose: FloatArray) -> Any:
    """
    Return a pose in its type.

    :param pose: (4, 4).
    """
    import PyKDL

    rotation = PyKDL.Rotation(*(float(value) for value in pose[:3, :3].ravel()))
    return PyKDL.Frame(rotation, PyKDL.Vector(*(float(value) for value in pose[:3, 3])))


def make_chain(arm: Arm) -> Any:
    """
    Return its chain of an arm.

    :param arm: the arm.
    """
    import PyKDL

    chain = PyKDL.Chain()
    for joint in arm.joints:
        kind = PyKDL.Joint.RotAxis if joint.is_revolute else PyKDL.Joint.TransAxis
        axis = joint.placement[:3, :3] @ joint.axis
        origin, direction = (
            PyKDL.Vector(*(float(value) for value in vector))
            for vector in (joint.placement[:3, 3], axis)
        )
        moving = PyKDL.Joint(joint.name, origin, direction, kind)
        chain.addSegment(PyKDL.Segment(joint.name, moving, to_frame(joint.placement)))
    still = PyKDL.Joint('tip', PyKDL.Joint.Fixed)
    chain.addSegment(PyKDL.Segment('tip', still, to_frame(arm.tip_placement)))
    return chain


def forward_kinematics(chain: Any, q: FloatArray) -> FloatArray:
    """
    Return the pose (4, 4) of the tip of its chain.

    :param chain: from :func:`make_chain`.
    :param q: (n,).
    """
    import PyKDL

    values, frame = PyKDL.JntArray(len(q)), PyKDL.Frame()
    for index, value in enumerate(q):
        values[index] = float(value)
    PyKDL.ChainFkSolverPos_recursive(chain).JntToCart(values, frame)
    rows = [[frame[row, column] for column in range(4)] for row in range(3)]
    return np.array([*rows, [0.0, 0.0, 0.0, 1.0]])


def prepare(arm: Arm, epsilon: float) -> Prepared:
    """
    Return its search with restarts.

    :param arm: the arm.
    :param epsilon: of the weighted error.
    """
    import PyKDL

    chain, n = make_chain(arm), len(arm.joints)
    check_fk(arm, lambda q: forward_kinematics(chain, q))
    # Its own weights: with a numpy newer than the one it was built for, an array of them ends the process.
    solver = PyKDL.ChainIkSolverPos_LMA(chain, epsilon)
    start_values, solution = PyKDL.JntArray(n), PyKDL.JntArray(n)
    restarts = Restarts(arm)
    # The solver refers to the chain without keeping it.
    owned = chain, solver

    def solve(target: Any, seed: FloatArray) -> FloatArray | None:
        def search(start: FloatArray) -> FloatArray | None:
            for index, value in enumerate(start.tolist()):
                start_values[index] = value
            if owned[1].CartToJnt(start_values, target, solution) < 0:
                return None
            return np.array([solution[index] for index in range(n)])

        return restarts.until_found(search, seed)

    return Prepared(solve, to_frame, note='restarts and limits in Python')


PEERS = at_both_tolerances(
    'KDL LMA',
    prepare,
    'ChainIkSolverPos_LMA(chain, {}).CartToJnt(q, T), limits and restarts in Python',
    (EPSILON, EXACT_EPSILON),
    module='PyKDL',
    distribution='PyKDL',
    slow=True,
)
