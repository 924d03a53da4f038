"""The loop that users of pinocchio write: damped Newton in Python, started at the seed and then at random."""

from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.peers import check_fk, Prepared
from bench.peers.pairs import at_both_tolerances
from bench.peers.restarts import Restarts

DAMPING = 1e-6
ITERATIONS = 30


def make_model(arm: Arm) -> tuple[Any, int]:
    """
    Return its model of an arm, every joint an angle or a length, and the number of the tip's frame.

    :param arm: the arm.
    """
    import pinocchio as pin

    model, parent = pin.Model(), 0
    for joint in arm.joints:
        kind = (
            pin.JointModelRevoluteUnaligned
            if joint.is_revolute
            else pin.JointModelPrismaticUnaligned
        )
        parent = model.addJoint(parent, kind(joint.axis), pin.SE3(joint.placement), joint.name)
    tip = pin.Frame('tip', parent, 0, pin.SE3(arm.tip_placement), pin.FrameType.OP_FRAME)
    frame = model.addFrame(tip)
    data = model.createData()

    def forward(q: FloatArray) -> FloatArray:
        pin.forwardKinematics(model, data, q)
        return np.array(pin.updateFramePlacement(model, data, frame).homogeneous)

    check_fk(arm, forward)
    return model, frame


def prepare(arm: Arm, tolerance: float) -> Prepared:
    """
    Return the loop for an arm.

    :param arm: the arm.
    :param tolerance: of the norm of the error.
    """
    import pinocchio as pin

    model, frame = make_model(arm)
    data, damping = model.createData(), DAMPING * np.eye(6)
    restarts = Restarts(arm)

    def solve(target: Any, seed: FloatArray) -> FloatArray | None:
        def search(start: FloatArray) -> FloatArray | None:
            q = start
            for _ in range(ITERATIONS):
                pin.computeJointJacobians(model, data, q)
                J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
                difference = pin.updateFramePlacement(model, data, frame).actInv(target)
                error = pin.log6(difference).vector
                if error @ error < tolerance * tolerance:
                    return q
                q = q + J.T @ np.linalg.solve(J @ J.T + damping, error)
            return None

        return restarts.until_found(search, seed)

    return Prepared(solve, pin.SE3, note='loop, restarts and limits in Python')


PEERS = at_both_tolerances(
    'pinocchio loop',
    prepare,
    f'damped Newton in Python, damping {DAMPING}, {ITERATIONS} iterations a start',
    module='pinocchio',
    distribution='pin',
    slow=True,
)
