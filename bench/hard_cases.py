"""Goals that are harder than random ones: at limits, at singularities, and out of reach."""

import numpy as np

from bench.arms import Arm, FloatArray
from bench.cases import Cases, SEED

AT_LIMIT = 0.01
"""Largest distance of the joint that is near its limit [rad or m]."""
EXACTLY = 0.25
"""Share of goals with a joint exactly at its limit."""
SINGULAR = 1e-3
"""Largest smallest singular value of the Jacobian, metres and radians side by side."""
MOST_SINGULAR = 1e-6
DESCENTS = 30
STEP = 1e-6
"""Of finite differences [rad or m]."""
LONGEST = 0.3
"""Of one step towards a singularity [rad or m]."""
CLIMBS = 40
"""Starts when the reach is looked for."""
BEYOND = (1.02, 1.5)
"""Distances that are out of reach, in reaches."""
WITHIN = 0.95
"""Where the tip of a goal is whose wrist is out of reach, in reaches."""


def draw_near_limits(arm: Arm, count: int) -> Cases:
    """
    Draw goals with a joint at a limit or close to it; arms without limits have none.

    :param arm: the arm.
    :param count: number of goals.
    """
    generator = np.random.default_rng(SEED)
    lower, upper = arm.sampling_bounds()
    q = generator.uniform(lower, upper, (count, len(lower)))
    seeds = generator.uniform(lower, upper, q.shape)
    limited = np.flatnonzero(np.isfinite(arm.lower) & np.isfinite(arm.upper))
    if not len(limited):
        raise ValueError(f'{arm.name} has no limits')
    joint = generator.choice(limited, count)
    distance = generator.uniform(0.0, AT_LIMIT, count)
    distance[generator.uniform(size=count) < EXACTLY] = 0.0
    at_upper = generator.uniform(size=count) < 0.5
    rows = np.arange(count)
    q[rows, joint] = np.where(at_upper, upper[joint] - distance, lower[joint] + distance)
    return Cases(q, seeds, arm.fk(q))


def smallest_singular_values(arm: Arm, q: FloatArray) -> FloatArray:
    """
    Return the smallest singular values (k,) of the Jacobians.

    :param arm: the arm.
    :param q: (k, n) joint positions.
    """
    values: FloatArray = np.linalg.svd(arm.fk_and_jacobian(q)[1], compute_uv=False)[:, -1]
    return values


def descend(arm: Arm, q: FloatArray, wanted: FloatArray) -> FloatArray:
    """
    Return configurations within limits, most of which are as singular as wanted.

    :param arm: the arm.
    :param q: (k, n) where to start.
    :param wanted: (k,) smallest singular values.
    """
    lower, upper = arm.sampling_bounds()
    q = q.copy()
    for _ in range(DESCENTS):
        value = smallest_singular_values(arm, q)
        open_rows = np.flatnonzero(value > wanted)
        if not len(open_rows):
            break
        start = q[open_rows]
        slope = np.empty_like(start)
        for index, shift in enumerate(STEP * np.eye(start.shape[1])):
            slope[:, index] = smallest_singular_values(arm, start + shift)
        slope = (slope - value[open_rows, None]) / STEP
        # The value is |distance| next to a singularity: its tangent leads there, in bounded steps.
        aim = value[open_rows] - 0.5 * wanted[open_rows]
        step = slope * (aim / np.maximum((slope * slope).sum(axis=1), 1e-12))[:, None]
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
        q[open_rows] = np.clip(start - step, lower, upper)
    return q


def draw_near_singular(arm: Arm, count: int) -> Cases:
    """
    Draw goals at configurations whose Jacobian is nearly singular, some more than others.

    :param arm: the arm.
    :param count: number of goals.
    """
    generator = np.random.default_rng(SEED)
    lower, upper = arm.sampling_bounds()
    kept = np.empty((0, len(lower)))
    while len(kept) < count:
        starts = generator.uniform(lower, upper, (2 * count, len(lower)))
        wanted = 10.0 ** generator.uniform(np.log10(MOST_SINGULAR), np.log10(SINGULAR), 2 * count)
        ends = descend(arm, starts, wanted)
        kept = np.vstack([kept, ends[smallest_singular_values(arm, ends) <= wanted]])
    q = kept[:count]
    return Cases(q, generator.uniform(lower, upper, q.shape), arm.fk(q))


def reach(arm: Arm, offset: FloatArray) -> float:
    """
    Return how far a point of the last link comes from a fixed point of the first axis [m].

    Found by climbing from random configurations, limits left out, so that no turn of a joint reaches further.

    :param arm: an arm whose first joint is revolute.
    :param offset: (3,) the point, in the frame of the tip.
    """
    generator = np.random.default_rng(SEED)
    centre = arm.joints[0].placement[:3, 3]
    q = generator.uniform(*arm.sampling_bounds(), (CLIMBS, len(arm.joints)))
    best, slope = np.zeros(CLIMBS), np.zeros_like(q)
    rate = np.full(CLIMBS, 0.5)
    at = q
    for _ in range(400):
        pose, jacobian = arm.fk_and_jacobian(at)
        lever = pose[:, :3, :3] @ offset
        radii = pose[:, :3, 3] + lever - centre
        distance = np.linalg.norm(radii, axis=1)
        better = distance >= best
        q = np.where(better[:, None], at, q)
        rate = np.where(better, 1.3 * rate, 0.4 * rate)
        velocity = jacobian[:, :3] - np.cross(lever[:, :, None], jacobian[:, 3:], axis=1)
        fresh = np.einsum('ki,kij->kj', radii / distance[:, None], velocity)
        slope = np.where(better[:, None], fresh, slope)
        best = np.maximum(best, distance)
        at = q + rate[:, None] * slope
    return float(best.max())


def wrist_point(arm: Arm) -> FloatArray:
    """
    Return the point of the last axis that is nearest to the axis before it, (3,) in the frame of the tip.

    The last joint does not move it: a wrist centre, or where the last two axes meet. Parallel axes: the joint itself.

    :param arm: an arm whose last two joints are revolute.
    """
    last = arm.joints[-1]
    before = last.placement[:3, :3].T @ arm.joints[-2].axis
    origin = -last.placement[:3, :3].T @ last.placement[:3, 3]
    along = float(last.axis @ before)
    sine_square = 1.0 - along * along
    shift = (
        (last.axis @ origin - along * (before @ origin)) / sine_square if sine_square > 1e-9 else 0
    )
    point: FloatArray = (np.linalg.inv(arm.tip_placement) @ [*(shift * last.axis), 1.0])[:3]
    return point


def draw_unreachable(arm: Arm, count: int) -> Cases:
    """
    Draw goals without a solution: one half too far away, the other turned so that the wrist would be.

    Arms whose tip is that point of the wrist have the first kind only.

    :param arm: an arm whose first and last joint are revolute.
    :param count: number of goals.
    """
    generator = np.random.default_rng(SEED)
    lower, upper = arm.sampling_bounds()
    shape = (count, len(lower))
    targets = arm.fk(generator.uniform(lower, upper, shape))
    seeds = generator.uniform(lower, upper, shape)
    centre = arm.joints[0].placement[:3, 3]
    wrist = wrist_point(arm)
    reaches = reach(arm, np.zeros(3)), reach(arm, wrist)
    directions = generator.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    factor = generator.uniform(*BEYOND, count)
    targets[:, :3, 3] = centre + (factor * reaches[0])[:, None] * directions
    if WITHIN * reaches[0] + 0.9 * np.linalg.norm(wrist) > BEYOND[0] * reaches[1]:
        for index in range(1, count, 2):
            targets[index] = _turned_away(
                targets[index], centre, directions[index], wrist, reaches, generator
            )
    return Cases(np.full(shape, np.nan), seeds, targets)


def _turned_away(
    pose: FloatArray,
    centre: FloatArray,
    direction: FloatArray,
    wrist: FloatArray,
    reaches: tuple[float, float],
    generator: np.random.Generator,
) -> FloatArray:
    """Return a pose whose tip can be reached and whose wrist cannot, for it would be farther out than the tip."""
    pose = pose.copy()
    pose[:3, 3] = centre + WITHIN * reaches[0] * direction
    while np.linalg.norm(pose[:3, :3] @ wrist + pose[:3, 3] - centre) < BEYOND[0] * reaches[1]:
        pose[:3, :3] = random_rotation(generator)
    return pose


def random_rotation(generator: np.random.Generator) -> FloatArray:
    """
    Return a random rotation (3, 3).

    :param generator: source of the draws.
    """
    rotation: FloatArray = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    rotation[:, 0] *= np.linalg.det(rotation)
    return rotation
