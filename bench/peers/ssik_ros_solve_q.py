"""This package's façade: every branch within limits as an array, nearest to the seed first."""

from typing import Any

from bench.arms import Arm, FloatArray
from bench.peers import NotComparable, Peer, Prepared


def prepare(arm: Arm, samples: int | None = None) -> Prepared:
    """
    Return ``solve_q``.

    :param arm: the arm.
    :param samples: values of the redundancy of seven joints; None means the default.
    """
    # Imported late, so that the other peers can be measured where this package does not load.
    from ssik_ros.manipulator.manipulator import Manipulator
    from ssik_ros.solvers.closed_form.options import AnalyticOptions

    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    solve_q = manipulator.solve_q
    note = manipulator.solver_name
    if len(arm.joints) == 7:
        note += f', {samples or AnalyticOptions().redundancy_samples} samples and the seed'

    def solve(target: FloatArray, seed: FloatArray) -> Any:
        return solve_q(target, seed)

    def solve_with(target: FloatArray, seed: FloatArray) -> Any:
        return solve_q(target, seed, redundancy_samples=samples)

    return Prepared(
        solve if samples is None else solve_with,
        convert=lambda target: target.copy(),
        note=note,
    )


def prepare_free(arm: Arm) -> Prepared:
    """
    Return ``solve_q`` with eaik's request: no limits, no seed.

    :param arm: the arm.
    :raises NotComparable: when it has a joint whose values are sampled, within limits or not.
    """
    from ssik_ros.manipulator.manipulator import Manipulator

    if len(arm.joints) != 6:
        raise NotComparable('without limits all values of a seventh joint are as good')
    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    solve_q = manipulator.solve_q

    def solve(target: FloatArray, seed: FloatArray) -> Any:
        return solve_q(target, respect_limits=False)

    return Prepared(
        solve,
        convert=lambda target: target.copy(),
        note=f'{manipulator.solver_name}, no limits, no seed',
    )


ALL, NO_LIMITS = 'Manipulator.solve_q(T, seed)', 'Manipulator.solve_q(T, respect_limits=False)'
PEER = Peer('solve_q', 'ssik_ros', '', ALL, prepare, ('all_branches', 'start_up'))
FREE = Peer('solve_q free', 'ssik_ros', '', NO_LIMITS, prepare_free, ('all_branches',))
PEERS = (PEER, FREE)
