"""
Find the posture of a pose at the edge of reach, such as with a straight arm.

Problem
-------
A posture that nearly reaches a pose is given, and descents do not get nearer. At the edge of reach one direction u
(force and moment) is felt by no joint, J^T u = 0, and the error depends on the other motions of the arm by its square
only. A descent that follows the gradient takes thousands of steps along a narrow valley.

Method
------
Unknowns: joint values q, the direction u, and the distance s of the pose from the edge. Equations: the error of the pose
is s u, J^T u = 0, and u has length one. There are as many equations as unknowns. Newton's method converges quadratically
if the second derivatives along u are regular on the null space of J.

Degeneracies
------------
If J lacks two ranks, or the second derivatives vanish, the steps of least squares may lead nowhere. The caller measures
the result.

References
----------
[Nocedal2006], chapter 18 for Newton's method on the equations of Lagrange.
"""

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.labels import move_axes, transposed_jacobians

MOST_STEPS = 15
LONGEST_STEP = 0.3
"""Largest change of a joint in one step [rad or m]."""
SETTLED = 1e-12
"""Largest change of a joint in the last step [rad or m]."""
RESOLVED = 1e-14
"""Singular value of the equations, relative to the largest, that counts as zero."""


class ReachEdge:
    """The edge of reach of one chain; several threads may call it at once."""

    def __init__(self, chain: SerialChain) -> None:
        """Take a chain of revolute and prismatic joints."""
        self._chain = chain
        places = np.vstack([chain.points, chain.home[:3, 3]])
        self._unit = float(np.linalg.norm(places - places[0], axis=1).max()) or 1.0

    def posture(self, pose: FloatArray, q: FloatArray, is_free: NDArray[np.bool_]) -> FloatArray:
        """
        Return the posture (n,) on the edge that is nearest to a pose, in terms of the error along u.

        :param pose: (4, 4) pose of the tip in the base.
        :param q: (n,) posture that nearly reaches it [rad or m].
        :param is_free: (n,) which joints may move.
        """
        q, free = q.copy(), np.flatnonzero(is_free)
        motions, error = self._motions(q, pose)
        force = np.linalg.svd(motions[free].T)[0][:, -1]
        distance, n = float(force @ error), len(free)
        equations = np.zeros((n + 7, n + 7))
        for _ in range(MOST_STEPS):
            own = motions[free]
            equations[:6, :n], equations[6 : 6 + n, :n] = own.T, _bend(own, force)
            equations[:6, n:-1], equations[:6, -1] = distance * np.eye(6), force
            equations[6 : 6 + n, n:-1], equations[-1, n:-1] = own, force
            wrong = [error - distance * force, -own @ force, [0.5 - 0.5 * force @ force]]
            step = np.linalg.lstsq(equations, np.concatenate(wrong), rcond=RESOLVED)[0]
            longest = float(np.abs(step[:n]).max(initial=0.0))
            step *= min(1.0, LONGEST_STEP / max(longest, SETTLED))
            q[free] += step[:n]
            if longest <= SETTLED:
                break
            force, distance = force + step[n:-1], distance + float(step[-1])
            motions, error = self._motions(q, pose)
        return q

    def _motions(self, q: FloatArray, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the motion of the tip for each joint (n, 6), and the error of the pose (6,), both linear first."""
        axes, points = (each[0] for each in move_axes(self._chain, q[None]))
        tip = self._chain.pose(q)
        turn = 0.5 * np.cross(tip[:3, :3], pose[:3, :3], axis=0).sum(axis=1)
        error = np.concatenate([(pose[:3, 3] - tip[:3, 3]) / self._unit, turn])
        return transposed_jacobians(self._chain, axes, points, tip[:3, 3], self._unit), error


def _bend(motions: FloatArray, force: FloatArray) -> FloatArray:
    """
    Return the derivatives (n, n) of J^T u by the joints.

    A joint turns the motions of all joints after it. Its own motion turns with the tip that these joints move.

    :param motions: (n, 6) motion of the tip for each joint, in their order, linear first.
    :param force: (6,) the direction u.
    """
    linear, angular = motions[:, :3], motions[:, 3:]
    turned = np.cross(angular[:, None], linear) @ force[:3]
    upper = np.triu(turned)
    turns = np.tril((np.cross(angular, angular[:, None]) @ force[3:]), -1)
    return np.asarray(upper + np.triu(turned, 1).T + turns)
