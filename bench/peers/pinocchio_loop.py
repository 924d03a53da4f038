"""The loop that users of pinocchio write: damped Newton in Python, started at the seed and then at random."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import NotComparable, Peer, Prepared
from bench.peers.restarts import Restarts

SECONDS = 0.05
DAMPING = 1e-6
ITERATIONS = 30
FK_AGREEMENT = 1e-9


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
    for q in np.random.default_rng(0).uniform(*arm.sampling_bounds(), (20, model.nq)):
        pin.forwardKinematics(model, data, q)
        theirs = pin.updateFramePlacement(model, data, frame).homogeneous
        difference = float(np.abs(theirs - arm.fk(q[None])[0]).max())
        if difference > FK_AGREEMENT:
            raise NotComparable(f'its FK differs by {difference:.1e}')
    return model, frame


def prepare_at(tolerance: float) -> Callable[[Arm], Prepared]:
    """
    Return a function that prepares the loop for an arm.

    :param tolerance: of the norm of the error.
    """

    def prepare(arm: Arm) -> Prepared:
        import pinocchio as pin

        model, frame = make_model(arm)
        data, damping = model.createData(), DAMPING * np.eye(6)
        restarts = Restarts(arm, SECONDS)

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

    return prepare


def _peer(name: str, tolerance: float, classes: tuple[str, ...]) -> Peer:
    """Return the peer of one tolerance."""
    return Peer(
        name=name,
        module='pinocchio',
        distribution='pin',
        call=f'damped Newton in Python, damping {DAMPING}, {ITERATIONS} iterations a start',
        prepare=prepare_at(tolerance),
        classes=classes,
        slow=True,
    )


PEERS = (_peer('pinocchio loop', 1e-3, AT_MILLI), _peer('pinocchio loop exact', 1e-6, AT_MICRO))
