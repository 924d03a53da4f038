"""PyPI's ssik: the prebuilt module of an arm, every branch within limits, one winding each, nearest to the seed first."""

import importlib
from typing import Any

import numpy as np

from bench.alignment import align, Alignment
from bench.arms import Arm, FloatArray
from bench.classes import CLASSES
from bench.peers import NotComparable, Peer, Prepared

SAME_ARM = 1e-6
"""Largest difference of poses, base and tool frames apart, at which its arm is ours."""
THEIR_NAMES = {'panda': 'franka_panda', 'crx10ial': 'fanuc_crx10ial'}
OWN_MODEL = '_of_ssik'
"""Suffix of the name of an arm that was made from the figures of a prebuilt module."""


def prebuilt(name: str) -> Any:
    """
    Return the prebuilt module of an arm.

    :param name: the arm's name in our catalogue, perhaps with :data:`OWN_MODEL` at its end.
    :raises NotComparable: if ssik has no prebuilt module of the arm.
    """
    import ssik

    plain = name.removesuffix(OWN_MODEL)
    wanted = f'{THEIR_NAMES.get(plain, plain)}_ik'
    for arm in ssik.list_arms():
        if arm.name == wanted:
            return importlib.import_module(arm.import_path)
    raise NotComparable(f'no prebuilt module {wanted}')


def frames(module: Any) -> FloatArray:
    """
    Return the constant poses (n + 1, 4, 4) before the first joint, between the joints and after the last joint.

    :param module: from :func:`prebuilt`.
    """
    before = [*module._JOINT_T_LEFTS, np.eye(4)]
    after = [np.eye(4), *module._JOINT_T_RIGHTS]
    return np.array([b @ a for b, a in zip(after, before, strict=True)])


def alignment(arm: Arm, module: Any) -> Alignment:
    """
    Return how its frames lie to ours.

    :param arm: the arm.
    :param module: from :func:`prebuilt`.
    :raises NotComparable: when it is another arm.
    """
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, len(arm.joints)))
    fit = align(arm.fk(q), np.array([module.fk(row) for row in q]))
    if fit.difference > SAME_ARM:
        raise NotComparable(f'its model differs by {fit.difference:.1e}')
    return fit


def limits_note(arm: Arm, module: Any) -> str:
    """
    Return which limits are not ours, empty when none.

    :param arm: the arm.
    :param module: from :func:`prebuilt`.
    """
    theirs = np.array([limits or (-np.inf, np.inf) for limits in module._JOINT_LIMITS])
    ours = np.column_stack([arm.lower, arm.upper])
    differ = ~np.isclose(ours, theirs, rtol=0.0, atol=1e-4).all(axis=1)
    return f'its limits differ at joint {np.flatnonzero(differ) + 1}' if differ.any() else ''


def read(solutions: Any) -> FloatArray:
    """Return all solutions of its call as an array (k, n)."""
    return np.array([s.q for s in solutions]).reshape(len(solutions), -1)


def prepare(arm: Arm) -> Prepared:
    """
    Return the solver of its prebuilt module, which takes poses in its own frames.

    :param arm: the arm.
    :raises NotComparable: when it has no such arm.
    """
    module = prebuilt(arm.name)
    fit = alignment(arm, module)
    solver = module.solve

    def solve(target: FloatArray, seed: FloatArray) -> Any:
        return solver(target, q_seed=seed, enumerate_windings=False)

    return Prepared(solve, fit.to_theirs, read, limits_note(arm, module))


def prepare_nearest(arm: Arm) -> Prepared:
    """
    Return the call for one solution, the nearest to the seed.

    :param arm: the arm.
    :raises NotComparable: when it has no such arm.
    """
    prepared, solver = prepare(arm), prebuilt(arm.name).solve

    def solve(target: FloatArray, seed: FloatArray) -> FloatArray | None:
        solutions = solver(target, q_seed=seed, max_solutions=1)
        return np.array(solutions[0].q) if solutions else None

    return Prepared(solve, prepared.convert, note=prepared.note)


def prepare_from_urdf(arm: Arm) -> Prepared:
    """
    Return the call for an arm that no module is built for.

    :param arm: the arm.
    """
    import ssik

    solver = ssik.Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip).solve

    def solve(target: FloatArray, seed: FloatArray) -> Any:
        return solver(target, q_seed=seed)

    return Prepared(solve, np.ascontiguousarray, read)


PREBUILT = 'ssik.prebuilt.<vendor>.<arm>_ik.solve'
ALL = f'{PREBUILT}(T, q_seed=seed, enumerate_windings=False)'
ONE = f'{PREBUILT}(T, q_seed=seed, max_solutions=1)'
FROM_URDF = 'ssik.Manipulator.from_urdf(urdf, base=base, ee=tip).solve(T)'
PEERS = (
    Peer('ssik', 'ssik', 'ssik', ALL, prepare, ('all_branches',)),
    Peer('ssik nearest', 'ssik', 'ssik', ONE, prepare_nearest, tuple(CLASSES), slow=True),
    Peer('ssik from URDF', 'ssik', 'ssik', FROM_URDF, prepare_from_urdf, ('start_up',)),
)
