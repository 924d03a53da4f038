"""Objectives that rate the postures of a curve, by name, such as manipulability or distance to the joint limits."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import check_kind, read_numbers
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import DimensionMismatch, InvalidOption
from ssik_ros.model.collision.objects import WorldObject
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.chain_kinematics import manipulability_of

Objective = Callable[[FloatArray], float]
"""Function of joint values (dof,) to maximize."""

ClearanceMaker = Callable[[Sequence[WorldObject]], Objective]
"""Function that returns the objective ``clearance`` of an arm for a list of obstacles."""


def make_objective(
    objective: str | Objective,
    chain: SerialChain,
    dof: int,
    posture: ArrayLike | None,
    clearance: Callable[[], Objective] | None,
) -> Objective:
    """
    Return an objective as a function that maps joint values (dof,) to a number; larger is better.

    :param objective: ``manipulability``, ``limit_margin``, ``clearance``, ``distance`` (minus the distance from
        ``posture``, in which whole turns count), or a function of joint values (dof,), which is returned unchanged.
    :param chain: the arm; a spin of the tool may follow its ``dof`` joints.
    :param dof: number of joints of the arm.
    :param posture: (dof,) reference of ``distance``.
    :param clearance: makes the objective ``clearance``; None if the robot has no geometry.
    :raises TypeError: for other objectives.
    :raises ValueError: if ``distance`` has no posture of dof finite numbers.
    """
    if callable(objective):
        return objective
    check_kind('objective', objective, str, 'the name of an objective or a function')
    if objective == 'manipulability':
        return lambda q: manipulability(chain, q)
    if objective == 'limit_margin':
        lower, upper = chain.lower[:dof], chain.upper[:dof]
        return lambda q: float(np.minimum(q - lower, upper - q).min())
    if objective == 'clearance' and clearance is not None:
        return clearance()
    if objective == 'distance':
        near = np.empty(0) if posture is None else read_numbers('posture', posture)
        if near.shape != (dof,) or not np.isfinite(near).all():
            raise DimensionMismatch(
                f"The objective 'distance' needs a posture of {dof} finite joint values, not {posture!r}.",
                expected=(dof,),
            )
        return lambda q: -float(np.linalg.norm(q - near))
    raise InvalidOption(
        "The objective must be 'manipulability', 'limit_margin', 'clearance' (of a robot with geometry), 'distance' or a "
        f'function, not {objective!r}.'
    )


def manipulability(chain: SerialChain, q: FloatArray) -> float:
    """
    Return Yoshikawa's manipulability, the product of the singular values of the Jacobian; 0 at a singular posture.

    It is |det J| for six joints, sqrt(det(J J^T)) for more, and sqrt(det(J^T J)) for fewer.

    :param chain: the arm; joints after the first ``dof`` are set to zero and left out of the Jacobian J.
    :param q: (dof,) joint values.
    """
    whole = np.zeros(len(chain.joint_names))
    whole[: len(q)] = q
    jacobian = chain.moved(whole[None]).jacobians()[0][:, : len(q)]
    return float(manipulability_of(jacobian))
