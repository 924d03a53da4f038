"""
Every branch of an arm with as many joints as rows, by Newton from many random starts: slow and independent.

Starts come in rounds; a pose is done when a round has found nothing new. How complete that is shows in the share
of poses whose known configuration was met, which no start is told about.
"""

from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np

from bench.arms import Arm, FloatArray
from bench.cases import Cases

STARTS = 60
"""Starts of one round for each pose."""
LEAST_ROUNDS = 3
MOST_ROUNDS = 15
ITERATIONS = 60
CONVERGED = 1e-9
"""Norm of the error at which a start has arrived."""
SAME = 1e-4
"""Largest joint difference, modulo 2 pi, within one branch."""
CHUNK = 60
"""Poses worked on at once."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each pose the solution within limits that is nearest to the seed, over all branches and windings."""

    q: FloatArray
    """(k, n)"""
    distance: FloatArray
    """(k,) norm of the joint difference."""
    branches: FloatArray
    """(k,) how many branches were found, within limits or not."""
    complete: float
    """Share of poses whose known configuration was met [%]."""


def wrap(angles: FloatArray) -> FloatArray:
    """
    Return angles in [-pi, pi).

    :param angles: [rad].
    """
    wrapped: FloatArray = (angles + math.pi) % (2.0 * math.pi) - math.pi
    return wrapped


def twist(actual: FloatArray, wanted: FloatArray) -> FloatArray:
    """
    Return the errors (k, 6) from poses to poses: translation, then rotation vector, in base axes.

    :param actual: (k, 4, 4).
    :param wanted: (k, 4, 4).
    """
    rotation = wanted[:, :3, :3] @ np.swapaxes(actual[:, :3, :3], 1, 2)
    skew = np.stack(
        [
            rotation[:, 2, 1] - rotation[:, 1, 2],
            rotation[:, 0, 2] - rotation[:, 2, 0],
            rotation[:, 1, 0] - rotation[:, 0, 1],
        ],
        axis=1,
    )
    sine = np.linalg.norm(skew, axis=1)
    angle = np.arctan2(sine, np.trace(rotation, axis1=1, axis2=2) - 1.0)
    scale = np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 0.5)
    return np.hstack([wanted[:, :3, 3] - actual[:, :3, 3], skew * scale[:, None]])


def descend(arm: Arm, q: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """
    Return where damped Newton arrives from each start, and which starts arrived, as a mask (k,).

    :param arm: the arm.
    :param q: (k, n) starts.
    :param targets: (k, 4, 4).
    """
    q = q.copy()
    active = np.arange(len(q))
    arrived = np.zeros(len(q), dtype=bool)
    for _ in range(ITERATIONS):
        pose, jacobian = arm.fk_and_jacobian(q[active])
        error = twist(pose, targets[active])
        square = np.sum(error * error, axis=1)
        done = square <= CONVERGED * CONVERGED
        arrived[active[done]] = True
        active, error, jacobian, square = (a[~done] for a in (active, error, jacobian, square))
        if not len(active):
            break
        damping = 1e-3 * np.minimum(square, 1.0) + 1e-12
        transposed = np.swapaxes(jacobian, 1, 2)
        normal = jacobian @ transposed + damping[:, None, None] * np.eye(6)
        step = (transposed @ np.linalg.solve(normal, error[:, :, None]))[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        q[active] += step * np.minimum(1.0, 0.7 / np.maximum(longest, 1e-300))
    return q, arrived


def add_new(known: list[FloatArray], found: FloatArray) -> bool:
    """
    Add the branches that are not known yet; return whether there was one.

    :param known: branches of one pose.
    :param found: (k, n) more of them.
    """
    before = len(known)
    for q in found:
        if not known or np.abs(wrap(np.array(known) - q)).max(axis=1).min() > SAME:
            known.append(q)
    return len(known) > before


def find_branches(
    arm: Arm, targets: FloatArray, generator: np.random.Generator
) -> list[list[FloatArray]]:
    """
    Return the branches of each pose, angles in [-pi, pi).

    :param arm: the arm; all joints must be revolute.
    :param targets: (k, 4, 4).
    :param generator: where starts come from.
    """
    n = len(arm.joints)
    known: list[list[FloatArray]] = [[] for _ in targets]
    open_poses = list(range(len(targets)))
    for rounds in range(1, MOST_ROUNDS + 1):
        starts = generator.uniform(-math.pi, math.pi, (len(open_poses) * STARTS, n))
        wanted = np.repeat(targets[open_poses], STARTS, axis=0)
        q, arrived = descend(arm, starts, wanted)
        q, arrived = wrap(q).reshape(-1, STARTS, n), arrived.reshape(-1, STARTS)
        news = [add_new(known[p], q[k][arrived[k].astype(bool)]) for k, p in enumerate(open_poses)]
        if rounds >= LEAST_ROUNDS:
            open_poses = [p for p, new in zip(open_poses, news, strict=True) if new]
        if not open_poses:
            break
    return known


def nearest_winding(arm: Arm, q: FloatArray, seed: FloatArray) -> FloatArray | None:
    """
    Return the equivalent of a configuration within limits that is nearest to a seed; None if none is inside.

    Windings of joints are independent: the best winding of each joint gives the best of all combinations.

    :param arm: the arm.
    :param q: (n,).
    :param seed: (n,).
    """
    windings = 2.0 * math.pi * np.arange(-3, 4)[:, None]
    candidates = q + windings
    inside = (candidates >= arm.lower) & (candidates <= arm.upper)
    if not inside.any(axis=0).all():
        return None
    distance = np.where(inside, np.abs(candidates - seed), np.inf)
    return candidates[distance.argmin(axis=0), np.arange(len(q))]


def find_nearest(arm: Arm, cases: Cases) -> Nearest:
    """
    Return the nearest solution of each case.

    :param arm: the arm; all joints must be revolute.
    :param cases: goals and seeds.
    """
    generator = np.random.default_rng(1)
    solutions, counts, met = [], [], 0
    for start in range(0, len(cases.q), CHUNK):
        chunk = slice(start, start + CHUNK)
        found = find_branches(arm, cases.targets[chunk], generator)
        for branches, q, seed in zip(found, cases.q[chunk], cases.seeds[chunk], strict=True):
            met += not add_new(branches, wrap(q)[None])
            counts.append(len(branches))
            inside = [a for b in branches if (a := nearest_winding(arm, b, seed)) is not None]
            # The known configuration is inside the limits, if only in the digits it was drawn with.
            solutions.append(min([*inside, q], key=lambda a: float(np.linalg.norm(a - seed))))
    nearest = np.array(solutions)
    distance = np.linalg.norm(nearest - cases.seeds, axis=1)
    return Nearest(nearest, distance, np.array(counts), 100.0 * met / len(cases.q))


def load_nearest(path: Path, arm: Arm, cases: Cases) -> Nearest:
    """
    Return the stored nearest solutions, or find and store them.

    :param path: an ``.npz`` file; one for other cases is replaced.
    :param arm: the arm.
    :param cases: goals and seeds.
    """
    if path.is_file():
        with np.load(path) as stored:
            if str(stored['digest']) == cases.digest:
                return Nearest(
                    stored['q'], stored['distance'], stored['branches'], float(stored['complete'])
                )
    found = find_nearest(arm, cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        digest=cases.digest,
        q=found.q,
        distance=found.distance,
        branches=found.branches,
        complete=found.complete,
    )
    return found
