"""
An independent complete solver for chains of revolute joints: Newton from many random postures.

It knows nothing of the elimination it judges: products of exponentials in plain numpy, all starts side by side.
"""

from dataclasses import dataclass

import numpy as np

STARTS = 600
DAMPED_STEPS = 18
DAMPING = 1e-4
NEWTON_STEPS = 12
RESIDUAL = 1e-10
"""Residual, in the chain's length unit and radians, up to which a posture is a solution."""
SAME = 1e-6
"""Solutions closer than this in every joint are one [rad]."""
NUDGE = 1e-11 * np.random.default_rng(0).standard_normal((6, 6))
"""Added to Jacobians, so that one singular posture does not stop a whole batch."""


def wrap(q):
    """Return angles in [-pi, pi)."""
    return (q + np.pi) % (2.0 * np.pi) - np.pi


def rotation_matrix(axis, angle):
    """Return the rotations (..., 3, 3) about one unit axis by angles (...)."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    angle = np.asarray(angle)[..., None, None]
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


@dataclass(frozen=True)
class Chain:
    """A chain of revolute joints; ``axes`` and ``points`` (n, 3) in the base frame, all joints at zero."""

    axes: np.ndarray
    points: np.ndarray

    @property
    def unit(self):
        """Return the chain's length unit: the largest distance of neighbouring points."""
        return max(np.linalg.norm(np.diff(self.points, axis=0), axis=1).max(), 1e-3)

    def pose(self, q):
        """Return E_1(q_1) ... E_n(q_n) as rotations (..., 3, 3) and translations (..., 3)."""
        rotation, translation, _ = self._walk(np.atleast_2d(q))
        return rotation, translation

    def target(self, q):
        """Return E_1(q_1) ... E_n(q_n) as twelve numbers."""
        rotation, translation = self.pose(q)
        return np.concatenate([rotation[0].ravel(), translation[0]])

    def _walk(self, q):
        """Return rotation, translation and the columns (..., 6, n) of the Jacobian at the origin."""
        n = q.shape[1]
        rotation = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        translation = np.zeros((len(q), 3))
        columns = np.empty((len(q), 6, n))
        for i in range(n):
            z = rotation @ self.axes[i]
            p = rotation @ self.points[i] + translation
            columns[:, :3, i] = np.cross(p, z)
            columns[:, 3:, i] = z
            turn = rotation_matrix(self.axes[i], q[:, i])
            shift = self.points[i] - turn @ self.points[i]
            translation = np.einsum('nij,nj->ni', rotation, shift) + translation
            rotation = rotation @ turn
        return rotation, translation, columns

    def linearise(self, q, g):
        """Return errors (..., 6) and Jacobians (..., 6, n) at the tip, lengths in units of the chain."""
        rotation, translation, columns = self._walk(q)
        columns[:, :3] += np.cross(
            columns[:, 3:], translation[:, None, :], axisa=1, axisb=2, axisc=1
        )
        relative = g[:9].reshape(3, 3) @ np.swapaxes(rotation, 1, 2)
        skew = 0.5 * np.stack(
            [
                relative[:, 2, 1] - relative[:, 1, 2],
                relative[:, 0, 2] - relative[:, 2, 0],
                relative[:, 1, 0] - relative[:, 0, 1],
            ],
            axis=1,
        )
        sine = np.linalg.norm(skew, axis=1)
        angle = np.arctan2(sine, 0.5 * (np.trace(relative, axis1=1, axis2=2) - 1.0))
        factor = np.where(sine > 1e-12, angle / np.where(sine > 0, sine, 1.0), 1.0)
        unit = self.unit
        columns[:, :3] /= unit
        error = np.concatenate([(g[9:] - translation) / unit, factor[:, None] * skew], axis=1)
        return error, columns

    def residual(self, q, g):
        """Return the largest error of each posture, lengths in units of the chain."""
        return np.abs(self.linearise(np.atleast_2d(q), g)[0]).max(axis=1, initial=0.0)

    def smallest_singular_value(self, q, g):
        """Return how far each posture is from a singular one."""
        jacobian = self.linearise(np.atleast_2d(q), g)[1]
        return np.linalg.svd(jacobian, compute_uv=False)[:, -1]


def newton(chain, q, g, steps, damping):
    """Return postures after so many damped steps, none of which turns a joint by more than a radian."""
    for _ in range(steps):
        error, jacobian = chain.linearise(q, g)
        transposed = np.swapaxes(jacobian, 1, 2)
        normal = jacobian @ transposed + damping * np.eye(6)
        step = np.einsum(
            'nij,nj->ni', transposed, np.linalg.solve(normal, error[..., None])[..., 0]
        )
        longest = np.abs(step).max(axis=1, initial=0.0)[:, None]
        q = q + step * np.minimum(1.0, 1.0 / np.maximum(longest, 1e-12))
    return q


def certify(chain, q, g):
    """Return the distinct solutions that Newton finds from postures (m, 6)."""
    q = np.asarray(q, dtype=float).reshape(-1, 6)
    for _ in range(NEWTON_STEPS):
        error, jacobian = chain.linearise(q, g)
        step = np.linalg.solve(jacobian + NUDGE, error[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, initial=0.0)[:, None]
        q = q + step * np.minimum(1.0, 1.0 / np.maximum(longest, 1e-12))
    return distinct(wrap(q[chain.residual(q, g) < RESIDUAL]))


def distinct(solutions):
    """Return solutions without repetitions."""
    kept = np.empty((0, 6))
    for q in solutions:
        if not len(kept) or np.abs(wrap(kept - q)).max(axis=1).min() > SAME:
            kept = np.vstack([kept, q])
    return kept


def find_all(chain, g, starts=STARTS, seed=0):
    """
    Return all solutions (m, 6) of a target.

    :param chain: the chain.
    :param g: (12,) target.
    :param starts: number of random postures.
    :param seed: of these.
    """
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (starts, 6))
    q = newton(chain, q, g, DAMPED_STEPS, DAMPING)
    near = chain.residual(q, g) < 0.1
    return certify(chain, q[near], g)


def difference(found, expected):
    """Return the solutions that one set lacks and that it has too many."""

    def without(these, others):
        if not len(others):
            return these
        return np.array(
            [q for q in these if np.abs(wrap(others - q)).max(axis=1).min() > 10 * SAME]
        ).reshape(-1, 6)

    return without(expected, found), without(found, expected)
