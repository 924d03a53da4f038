"""
Random poses for data sets, drawn from five strata, which are kinds of poses that an arm reaches in different ways.

The strata are poses of random postures, random poses in space, poses near joint limits, near singularities, and at the
border of the reachable poses.
"""

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.geometry.rotations import rotations_of
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.measures import manipulability

STRATA = ('postures', 'space', 'limits', 'singular', 'border')
"""Poses of random postures; random poses in a ball; one joint at a limit; nearly singular; at the border of reach."""
WIDE = np.pi
"""Half the range of a joint without limits [rad or m]."""
STRATUM_SHARE = 0.01
"""Largest distance from a limit of a joint in the stratum at limits, as a part of its range."""
NEARLY = 32
"""Random postures that are drawn for a sample; the nearest to a singularity is taken."""
HALVINGS = 24
"""Number of times that the way from a reached pose to an unreached pose is halved."""
OUTWARD_FACTOR = 3.0
"""Factor on the distance of a reached position from the base that puts the position out of reach [1]."""
OFFSETS = (1e-6, 1e-2)
"""Least and largest distance from the border, as a part of the distance from the base."""

Reached = Callable[[FloatArray], NDArray[np.bool_]]


class Drawn(NamedTuple):
    """Random poses for one unit of a data set (a block of samples), each with its stratum; :func:`draw` makes them."""

    poses: FloatArray
    """(m, 4, 4) of the tip in the base link."""
    strata: NDArray[np.uint8]
    """(m,) indices into :data:`STRATA`."""


def draw(
    chain: SerialChain, shares: FloatArray, count: int, rng: np.random.Generator, reached: Reached
) -> Drawn:
    """
    Return ``count`` random poses; the stratum of each is drawn by the given shares.

    :param chain: the arm.
    :param shares: (strata,) probability of each of :data:`STRATA`; they sum to one.
    :param count: number of poses.
    :param rng: generator of random numbers.
    :param reached: called with poses (m, 4, 4); returns a mask (m,) of the poses that are reachable.
    :raises ValueError: if the shares do not sum to one, or if the limits of a joint exclude the interval +-WIDE.
    """
    strata = rng.choice(len(STRATA), size=count, p=shares).astype(np.uint8)
    poses = np.empty((count, 4, 4))
    makers = (_of_postures, _in_space, _at_limits, _singular)
    for index in np.unique(strata).tolist():
        rows = np.flatnonzero(strata == index)
        if index < len(makers):
            poses[rows] = makers[index](chain, len(rows), rng)
        else:
            poses[rows] = _at_border(chain, len(rows), rng, reached)
    return Drawn(poses, strata)


def _range(chain: SerialChain) -> tuple[FloatArray, FloatArray]:
    """
    Return (lower ends (n,), upper ends (n,)) of the ranges in which joints are drawn [rad or m].

    A range has the limits of the joint, cut to +-WIDE. If the limits exclude this interval, the range has the part of
    2 WIDE next to the finite limit that is nearest to it.
    """
    low = np.where(chain.upper < -WIDE, chain.upper - 2.0 * WIDE, -WIDE)
    high = np.where(chain.lower > WIDE, chain.lower + 2.0 * WIDE, WIDE)
    return np.maximum(chain.lower, low), np.minimum(chain.upper, high)


def _random_q(chain: SerialChain, count: int, rng: np.random.Generator) -> FloatArray:
    """Return random postures (count, n) within the limits."""
    low, high = _range(chain)
    q: FloatArray = rng.uniform(low, high, (count, len(low)))
    return q


def _of_postures(chain: SerialChain, count: int, rng: np.random.Generator) -> FloatArray:
    """Return the tip poses (count, 4, 4) of random postures within the limits."""
    return chain.moved(_random_q(chain, count, rng)).poses


def _in_space(chain: SerialChain, count: int, rng: np.random.Generator) -> FloatArray:
    """
    Return random poses (count, 4, 4): positions in a ball around the first joint, and any orientation.

    The radius of the ball is the length of all links. Many of the poses are out of reach.
    """
    poses = np.tile(np.eye(4), (count, 1, 1))
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    poses[:, :3, 3] = (
        chain.points[0] + chain.length * rng.uniform(size=(count, 1)) ** (1.0 / 3.0) * directions
    )
    quaternions = rng.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    poses[:, :3, :3] = rotations_of(quaternions)
    return poses


def _at_limits(chain: SerialChain, count: int, rng: np.random.Generator) -> FloatArray:
    """Return the tip poses (count, 4, 4) of random postures in which one joint is just within one of its limits."""
    (low, high), q = _range(chain), _random_q(chain, count, rng)
    joints: IntArray = rng.integers(len(low), size=count)
    margins = STRATUM_SHARE * (high - low)[joints] * rng.uniform(size=count)
    is_low = rng.uniform(size=count) < 0.5
    q[np.arange(count), joints] = np.where(is_low, low[joints] + margins, high[joints] - margins)
    return chain.moved(q).poses


def _singular(chain: SerialChain, count: int, rng: np.random.Generator) -> FloatArray:
    """
    Return the tip poses (count, 4, 4) of postures near singularities.

    For each pose, :data:`NEARLY` random postures are drawn and the one with the least manipulability is taken.
    """
    q = _random_q(chain, NEARLY * count, rng)
    measures = manipulability(chain, q).reshape(count, NEARLY)
    chosen = q.reshape(count, NEARLY, -1)[np.arange(count), measures.argmin(axis=1)]
    return chain.moved(chosen).poses


def _at_border(
    chain: SerialChain, count: int, rng: np.random.Generator, reached: Reached
) -> FloatArray:
    """
    Return poses (count, 4, 4) slightly inside or outside the border of the reachable poses.

    The tip pose of a random posture is moved straight away from the first joint, with the same orientation. Bisection
    between its distance and :data:`OUTWARD_FACTOR` times that looks for the place where ``reached`` turns false; if
    there are several, it ends at any of them. The pose is then put short of this place or past it, each with
    probability 0.5, by a random part of the distance within :data:`OFFSETS`.
    """
    inner = _of_postures(chain, count, rng)
    base = chain.points[0]
    low, high = np.ones(count), np.full(count, OUTWARD_FACTOR)
    directions = inner[:, :3, 3] - base
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        inner[:, :3, 3] = base + middle[:, None] * directions
        is_reached = reached(inner)
        low, high = np.where(is_reached, middle, low), np.where(is_reached, high, middle)
    offsets = np.exp(rng.uniform(math.log(OFFSETS[0]), math.log(OFFSETS[1]), count))
    signs = np.where(rng.uniform(size=count) < 0.5, -1.0, 1.0)
    inner[:, :3, 3] = base + (low * (1.0 + signs * offsets))[:, None] * directions
    return inner
