"""All solutions at values of one held joint by Newton from many starts, with forward kinematics of its own."""

import numpy as np

STEPS = 40
EXACT = 1e-12
SAME = 1e-6


def turns(axis, angles):
    """Return rotations (m, 3, 3) about an axis."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sines * cross + (1.0 - cosines) * (cross @ cross)


def poses_and_jacobians(body, q):
    """Return rotation (m, 3, 3), position (m, 3) of the tip, and Jacobians (m, 6, n) by the arm's joints as loaded."""
    rotation, place = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3))
    axes, points = [], []
    for k, (axis, point) in enumerate(zip(body.axes, body.points, strict=True)):
        axes.append(rotation @ axis)
        points.append(rotation @ point + place)
        rotation = rotation @ turns(axis, q[:, k])
        place = points[-1] - rotation @ point
    tip = rotation @ body.home[:3, 3] + place
    columns = [np.hstack([np.cross(z, tip - p), z]) for z, p in zip(axes, points, strict=True)]
    return rotation @ body.home[:3, :3], tip, np.stack(columns, axis=2)


def errors(body, target, q):
    """Return rotations (m, 3, 3), way and half rotation to a pose (m, 6), and Jacobians (m, 6, n)."""
    rotation, tip, jacobian = poses_and_jacobians(body, q)
    there = np.broadcast_to(target[:3, :3], rotation.shape)
    turned = 0.5 * np.cross(rotation, there, axis=1).sum(axis=2)
    return rotation, np.hstack([target[:3, 3] - tip, turned]), jacobian


def solutions(body, target, held, values, starts, seed):
    """Return the different solutions (k, n) within the limits at values of a joint."""
    rng, n = np.random.default_rng(seed), len(body.lower)
    lower = np.where(np.isfinite(body.lower), body.lower, -np.pi)
    upper = np.where(np.isfinite(body.upper), body.upper, np.pi)
    q = lower + (upper - lower) * rng.random((len(values) * starts, n))
    q[:, held] = np.repeat(values, starts)
    free = [k for k in range(n) if k != held]
    rows = np.arange(len(q))
    for _ in range(STEPS):
        _, error, jacobian = errors(body, target, q[rows])
        is_open = np.linalg.norm(error, axis=1) >= 0.01 * EXACT
        rows, error, jacobian = rows[is_open], error[is_open], jacobian[is_open]
        step = np.linalg.solve(jacobian[:, :, free] + 1e-13 * np.eye(6), error[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        q[np.ix_(rows, free)] += step * np.minimum(1.0, 0.7 / np.maximum(longest, 1e-300))
    rotation, error, _ = errors(body, target, q)
    is_met = np.linalg.norm(error, axis=1) < EXACT
    is_met &= np.einsum('mij,ij->m', rotation, target[:3, :3]) > 0.0
    middle = 0.5 * (lower + upper)
    q[:, free] -= 2.0 * np.pi * np.round((q - middle) / (2.0 * np.pi))[:, free]
    q = q[is_met & ((q >= lower) & (q <= upper)).all(axis=1)]
    kept: list[np.ndarray] = []
    for row in q:
        if not any(np.abs(row - other).max() < SAME for other in kept):
            kept.append(row)
    return np.array(kept).reshape(-1, n)
