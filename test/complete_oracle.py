"""
An independent complete solver: every posture of a six-joint chain that reaches a pose, by Newton from many starts.

It shares no code with the package: chains are read from URDF text with the standard library or made here. Kinematics
and linear algebra are plain numpy, with all starts in one array. If the solver under test has a posture that the oracle
has not, the oracle draws eight times as many starts (see :func:`compare`).
"""

from dataclasses import dataclass, replace
import xml.etree.ElementTree as ElementTree

import numpy as np

STARTS = 600
DAMPED_STEPS = 18
DAMPING = 1e-4
NEWTON_STEPS = 9
CLOSED = 1e-11
"""Largest error at which a posture is a solution [rad, and lengths in units of the chain]."""
SAME = 1e-6
"""Postures nearer than this in every joint are one [rad]."""

NUDGE = 1e-13 * np.random.default_rng(0).standard_normal((6, 6))
"""Added to Jacobians: one singular posture must not stop a whole batch."""


def wrap(q):
    """Return angles in [-pi, pi)."""
    return (q + np.pi) % (2.0 * np.pi) - np.pi


def cross_matrix(v):
    """Return the matrix (3, 3) that multiplies by a vector from the left."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotations(axis, angles):
    """Return the rotations (k, 3, 3) about a unit axis by angles (k,)."""
    cross = cross_matrix(axis)
    angles = np.atleast_1d(angles)[:, None, None]
    return np.eye(3) + np.sin(angles) * cross + (1.0 - np.cos(angles)) * (cross @ cross)


def crossed(a, b):
    """Return the vector products of two arrays (k, 3)."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )


@dataclass(frozen=True, eq=False)
class LineChain:
    """Revolute joints as lines in the base frame, all joints at zero, and the pose of the tip there."""

    axes: np.ndarray
    """(n, 3) unit directions."""
    points: np.ndarray
    """(n, 3) a point of each line."""
    home: np.ndarray
    """(4, 4)."""

    @property
    def unit(self):
        """Return the length that errors are measured in."""
        return max(np.linalg.norm(np.diff(self.points, axis=0), axis=1).max(), 1e-3)

    def poses(self, q):
        """Return the poses (k, 4, 4) of the tip at postures (k, n)."""
        rotation, place, _ = self._walk(np.atleast_2d(q))
        pose = np.zeros((place.shape[1], 4, 4))
        pose[:, :3, :3] = rotation.reshape(3, 3, -1).transpose(2, 1, 0)
        pose[:, :3, 3], pose[:, 3, 3] = place.T, 1.0
        return pose

    def _walk(self, q):
        """
        Return rotations of the tip, their columns one below the other (9, k), its places (3, k), and lines (n, 2, 3, k).

        A line is the direction of a joint's axis and a point of it. Postures run along the last axis, so that each
        step is one product of a small matrix with a wide one.
        """
        count = len(q)
        rotation = np.repeat(np.eye(3).reshape(9, 1), count, axis=1)
        place = np.zeros((3, count))
        lines = np.empty((len(self.axes), 2, 3, count))
        for joint, (axis, point, angles) in enumerate(
            zip(self.axes, self.points, q.T, strict=True)
        ):
            columns = rotation.reshape(3, 3 * count)
            lines[joint, 0] = (axis @ columns).reshape(3, count)
            lines[joint, 1] = (point @ columns).reshape(3, count) + place
            k = cross_matrix(axis)
            sine, rest = np.tile(np.sin(angles), 3), np.tile(1.0 - np.cos(angles), 3)
            columns = columns + sine * (k.T @ columns) + rest * ((k @ k).T @ columns)
            rotation = columns.reshape(9, count)
            place = lines[joint, 1] - (point @ columns).reshape(3, count)
        columns = rotation.reshape(3, 3 * count)
        place = place + (self.home[:3, 3] @ columns).reshape(3, count)
        return (self.home[:3, :3].T @ columns).reshape(9, count), place, lines

    def linearise(self, q, target):
        """Return errors (k, 6) and transposed Jacobians (k, n, 6) at the tip, lengths in units of the chain."""
        rotation, place, lines = self._walk(q)
        wanted = target[:3, :3].T.reshape(9, 1)
        skew = np.zeros((3, len(q)))
        for have, want in zip(rotation.reshape(3, 3, -1), wanted.reshape(3, 3), strict=True):
            skew -= 0.5 * (cross_matrix(want) @ have)
        sine = np.sqrt((skew * skew).sum(axis=0))
        angle = np.arctan2(sine, 0.5 * ((wanted.T @ rotation)[0] - 1.0))
        factor = np.where(sine < 1e-12, 1.0, angle / np.maximum(sine, 1e-12))
        error = np.vstack([(target[:3, 3:] - place) / self.unit, factor * skew])
        columns = np.empty((len(q), len(lines), 6))
        for joint, (z, p) in enumerate(lines):
            arm = (place - p) / self.unit
            columns[:, joint, 0] = z[1] * arm[2] - z[2] * arm[1]
            columns[:, joint, 1] = z[2] * arm[0] - z[0] * arm[2]
            columns[:, joint, 2] = z[0] * arm[1] - z[1] * arm[0]
            columns[:, joint, 3:] = z.T
        return error.T, columns

    def residuals(self, q, target):
        """Return the Frobenius norms (k,) of FK(q) - T."""
        if not len(q):
            return np.zeros(0)
        return np.linalg.norm(self.poses(q) - target, axis=(1, 2))

    def singular_value(self, q, target):
        """Return how far one posture is from a singular one: the smallest singular value of the Jacobian."""
        columns = self.linearise(q[None], target)[1][0]
        return np.linalg.svd(columns, compute_uv=False)[-1]

    def held(self, joint, value):
        """Return the chain without one joint, which stays at a value."""
        turn = rotations(self.axes[joint], value)[0]
        center = self.points[joint]
        axes, points, home = self.axes.copy(), self.points.copy(), self.home.copy()
        axes[joint + 1 :] = axes[joint + 1 :] @ turn.T
        points[joint + 1 :] = (points[joint + 1 :] - center) @ turn.T + center
        home[:3, :3] = turn @ home[:3, :3]
        home[:3, 3] = turn @ (home[:3, 3] - center) + center
        return LineChain(np.delete(axes, joint, 0), np.delete(points, joint, 0), home)

    def with_tool(self, tool):
        """Return the chain with a tool (4, 4) at its tip."""
        return replace(self, home=self.home @ tool)


def chain_from_urdf(text, base, tip):
    """Return the chain of revolute joints between two links of a URDF's text."""
    joints = {j.find('child').get('link'): j for j in ElementTree.fromstring(text).iter('joint')}
    path, link = [], tip
    while link != base:
        path.append(joints[link])
        link = path[-1].find('parent').get('link')
    pose, axes, points = np.eye(4), [], []
    for joint in reversed(path):
        pose = pose @ _origin(joint)
        if joint.get('type') != 'fixed':
            axis = np.array([float(word) for word in joint.find('axis').get('xyz').split()])
            axes.append(pose[:3, :3] @ axis / np.linalg.norm(axis))
            points.append(pose[:3, 3])
    return LineChain(np.array(axes), np.array(points), pose)


def _origin(joint):
    """Return the pose (4, 4) of a joint's frame in its parent."""
    pose, origin = np.eye(4), joint.find('origin')
    if origin is not None:
        roll, pitch, yaw = (float(word) for word in origin.get('rpy', '0 0 0').split())
        x, y, z = np.eye(3)
        pose[:3, :3] = rotations(z, yaw)[0] @ rotations(y, pitch)[0] @ rotations(x, roll)[0]
        pose[:3, 3] = [float(word) for word in origin.get('xyz', '0 0 0').split()]
    return pose


def _step(chain, q, target, damping):
    """Return postures after one step that turns no joint by more than a radian."""
    error, columns = chain.linearise(q, target)
    # A transposed view would cost the product four times as much.
    normal = np.ascontiguousarray(np.swapaxes(columns, 1, 2)) @ columns + damping * np.eye(6)
    step = (columns @ np.linalg.solve(normal, error[:, :, None]))[:, :, 0]
    longest = np.abs(step).max(axis=1, initial=0.0)[:, None]
    return q + step / np.maximum(1.0, longest)


def _newton_step(chain, q, target):
    error, columns = chain.linearise(q, target)
    jacobian = np.swapaxes(columns, 1, 2) + NUDGE
    step = np.linalg.solve(jacobian, error[:, :, None])[:, :, 0]
    longest = np.abs(step).max(axis=1, initial=0.0)[:, None]
    return q + step / np.maximum(1.0, longest)


def find_all(chain, target, rng, starts=STARTS):
    """
    Return the postures (m, 6) in [-pi, pi) that reach a pose.

    :param chain: six joints.
    :param target: (4, 4).
    :param rng: generator of the starts.
    """
    q = rng.uniform(-np.pi, np.pi, (starts, 6))
    for _ in range(DAMPED_STEPS):
        q = _step(chain, q, target, DAMPING)
    q = q[np.abs(chain.linearise(q, target)[0]).max(axis=1) < 0.3]
    return refined(chain, q, target)


def refined(chain, q, target):
    """Return the different solutions that Newton reaches from postures (k, 6)."""
    for _ in range(NEWTON_STEPS):
        if not len(q):
            break
        q = _newton_step(chain, q, target)
    if len(q):
        q = q[np.abs(chain.linearise(q, target)[0]).max(axis=1) < CLOSED]
    return distinct(wrap(q))


def distinct(solutions):
    """Return postures without repetitions."""
    kept = []
    while len(solutions):
        kept.append(solutions[0])
        solutions = solutions[np.abs(wrap(solutions - solutions[0])).max(axis=1) > SAME]
    return np.array(kept).reshape(-1, 6)


def without(these, others, same=SAME):
    """Return the postures that are not among others."""
    if not len(these) or not len(others):
        return these
    gaps = np.abs(wrap(these[:, None] - others[None])).max(axis=2).min(axis=1)
    return these[gaps > same]


@dataclass(frozen=True, eq=False)
class Comparison:
    """How a set of solutions differs from the complete one."""

    missing: np.ndarray
    """(., 6) solutions that are not in the set."""
    extra: np.ndarray
    """(., 6) members of the set that are not solutions, or that are repeated."""
    residual: float
    """Largest Frobenius norm of FK - T in the set, on the oracle's chain."""
    count: int
    """Size of the complete set."""
    unseen: int
    """Solutions that only the solver under test has found, and Newton confirms."""


def compare(chain, target, solutions, rng, starts=STARTS):
    """
    Compare a set of solutions with the complete one.

    If the oracle has not found a member of the set, it draws eight times as many starts. A member that is still not
    found counts as extra, unless Newton on the oracle's chain confirms it.

    :param solutions: (k, 6) the set.
    """
    solutions = wrap(np.asarray(solutions))
    complete = find_all(chain, target, rng, starts)
    if len(without(solutions, complete)):
        complete = distinct(np.vstack([complete, find_all(chain, target, rng, 8 * starts)]))
    strangers = without(solutions, complete)
    confirmed = without(refined(chain, strangers, target), complete)
    confirmed = confirmed[: len(confirmed) - len(without(confirmed, strangers))]
    complete = np.vstack([complete, confirmed])
    repeated = solutions[len(distinct(solutions)) :]
    return Comparison(
        missing=without(complete, solutions),
        extra=np.vstack([without(solutions, complete), repeated]),
        residual=chain.residuals(solutions, target).max(initial=0.0),
        count=len(complete),
        unseen=len(confirmed),
    )
