"""
An independent complete solver for chains of up to six joints of which some slide: Newton from many starts.

It shares no code with the package. Kinematics and linear algebra are plain numpy, with all starts in one array. Chains
with fewer joints are solved in the sense of least squares, and postures that miss the pose are dropped.
"""

from dataclasses import dataclass

from test.complete_oracle import Comparison, crossed, rotations, wrap

import numpy as np

STARTS = 500
DAMPED_STEPS = 25
DAMPING = 1e-4
NEWTON_STEPS = 12
LEAST_DAMPING = 1e-14
"""Keeps singular normal equations solvable; further Newton steps correct the error that it causes."""
CLOSED = 1e-11
"""Largest error at which a posture is a solution [rad, and lengths in units of the chain]."""
SAME = 1e-6
"""Postures nearer than this in every joint are one [rad, or units of the chain]."""
LONGEST = 6.0
"""How far slides start from zero, in units of the chain."""


@dataclass(frozen=True, eq=False)
class SlidingChain:
    """Joints as lines in the base frame, all joints at zero, and the pose of the tip there."""

    axes: np.ndarray
    """(n, 3) unit directions."""
    points: np.ndarray
    """(n, 3) a point of each line."""
    slides: tuple
    """Indices of the prismatic joints."""
    home: np.ndarray
    """(4, 4)."""

    @property
    def size(self):
        return len(self.axes)

    @property
    def turns(self):
        """Return (n,) whether a joint turns."""
        return ~np.isin(np.arange(self.size), self.slides)

    @property
    def unit(self):
        """Return the length that errors and slides are measured in."""
        steps = np.diff(np.vstack([self.points, self.home[:3, 3]]), axis=0)
        return max(np.linalg.norm(steps, axis=1).max(), 1e-3)

    def walk(self, q):
        """Return rotations and translations of the tip, and columns (k, n, 6) of the Jacobian at the tip."""
        rotation = np.broadcast_to(np.eye(3), (len(q), 3, 3))
        translation, lines = np.zeros((len(q), 3)), []
        for i, (axis, point) in enumerate(zip(self.axes, self.points, strict=True)):
            lines.append((rotation @ axis, rotation @ point + translation))
            if i in self.slides:
                translation = translation + q[:, i, None] * lines[-1][0]
                continue
            turn = rotations(axis, q[:, i])
            rest = (point - turn @ point)[:, :, None]
            translation = translation + np.squeeze(rotation @ rest, axis=2)
            rotation = rotation @ turn
        translation = rotation @ self.home[:3, 3] + translation
        columns = []
        for i, (z, p) in enumerate(lines):
            if i in self.slides:
                columns.append(np.hstack([z, np.zeros_like(z)]))
            else:
                columns.append(np.hstack([crossed(z, translation - p), z]))
        return rotation @ self.home[:3, :3], translation, np.stack(columns, axis=1)

    def poses(self, q):
        """Return the poses (k, 4, 4) of the tip at postures (k, n)."""
        rotation, translation, _ = self.walk(np.atleast_2d(q))
        pose = np.zeros((len(rotation), 4, 4))
        pose[:, :3, :3], pose[:, :3, 3], pose[:, 3, 3] = rotation, translation, 1.0
        return pose

    def linearise(self, q, target):
        """Return errors (k, 6) and transposed Jacobians (k, n, 6), lengths and slides in units of the chain."""
        rotation, translation, columns = self.walk(q)
        relative = target[:3, :3] @ np.swapaxes(rotation, 1, 2)
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
        factor = np.where(sine < 1e-12, 1.0, angle / np.maximum(sine, 1e-12))
        columns[:, :, :3] /= self.unit
        columns[:, list(self.slides)] *= self.unit
        shift = (target[:3, 3] - translation) / self.unit
        return np.hstack([shift, factor[:, None] * skew]), columns

    def wrapped(self, q):
        """Return postures with angles in [-pi, pi)."""
        return np.where(self.turns, wrap(q), q)

    def gaps(self, these, others):
        """Return (k, m) the largest difference of a joint between postures (k, n) and (m, n)."""
        difference = these[:, None] - others[None]
        scaled = np.where(self.turns, wrap(difference), difference / self.unit)
        return np.abs(scaled).max(axis=2, initial=0.0)

    def residuals(self, q, target):
        """Return the Frobenius norms (k,) of FK(q) - T."""
        return np.linalg.norm(self.poses(q) - target, axis=(1, 2)) if len(q) else np.zeros(0)

    def random_posture(self, rng, travel=1.0):
        """Return (n,) angles over the turn and slides up to ``travel`` units of the chain."""
        q = rng.uniform(-np.pi, np.pi, self.size)
        return np.where(self.turns, q, q / np.pi * travel * self.unit)


def _step(chain, q, target, damping):
    """Return postures after one damped step that turns no joint by more than a radian."""
    error, columns = chain.linearise(q, target)
    normal = columns @ np.swapaxes(columns, 1, 2) + damping * np.eye(chain.size)
    step = np.linalg.solve(normal, columns @ error[:, :, None])[:, :, 0]
    longest = np.abs(np.where(chain.turns, step, 0.0)).max(axis=1, initial=0.0)[:, None]
    return q + np.where(chain.turns, 1.0, chain.unit) * step / np.maximum(1.0, longest)


def find_all(chain, target, rng, starts=STARTS):
    """
    Return the postures (m, n) that reach a pose.

    :param target: (4, 4).
    :param rng: generator of the starts.
    """
    q = np.array([chain.random_posture(rng, LONGEST) for _ in range(starts)])
    for _ in range(DAMPED_STEPS):
        q = _step(chain, q, target, DAMPING)
    return refined(chain, q, target)


def refined(chain, q, target):
    """Return the different solutions that Newton reaches from postures (k, n)."""
    for _ in range(NEWTON_STEPS if len(q) else 0):
        q = _step(chain, q, target, LEAST_DAMPING)
    if len(q):
        q = q[np.abs(chain.linearise(q, target)[0]).max(axis=1) < CLOSED]
    return distinct(chain, chain.wrapped(q))


def distinct(chain, solutions):
    """Return postures without repetitions."""
    kept = []
    while len(solutions):
        kept.append(solutions[0])
        solutions = solutions[chain.gaps(solutions, solutions[:1])[:, 0] > SAME]
    return np.array(kept).reshape(-1, chain.size)


def without(chain, these, others):
    """Return the postures that are not among others."""
    if not len(these) or not len(others):
        return these
    return these[chain.gaps(these, others).min(axis=1) > SAME]


def compare(chain, target, solutions, rng, starts=STARTS):
    """
    Compare a set of solutions with the complete one, a :class:`complete_oracle.Comparison`.

    A member of the set that the oracle has never met is extra unless Newton on the oracle's chain stays where it is.

    :param solutions: (k, n) the set.
    """
    solutions = chain.wrapped(np.asarray(solutions).reshape(-1, chain.size))
    complete = find_all(chain, target, rng, starts)
    if len(without(chain, solutions, complete)):
        more = find_all(chain, target, rng, 8 * starts)
        complete = distinct(chain, np.vstack([complete, more]))
    strangers = without(chain, solutions, complete)
    confirmed = [
        row
        for row in strangers
        if len(without(chain, row[None], refined(chain, row[None], target))) == 0
        and chain.residuals(row[None], target)[0] < 1e-9 * max(1.0, chain.unit)
    ]
    unseen = np.array(confirmed).reshape(-1, chain.size)
    complete = np.vstack([complete, unseen])
    repeated = solutions[len(distinct(chain, solutions)) :]
    return Comparison(
        missing=without(chain, complete, solutions),
        extra=np.vstack([without(chain, solutions, complete), repeated]),
        residual=chain.residuals(solutions, target).max(initial=0.0),
        count=len(complete),
        unseen=len(unseen),
    )
