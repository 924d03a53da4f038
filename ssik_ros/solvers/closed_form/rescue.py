"""
Rescue targets that the closed form misses: solve perturbed targets, then iterate to the target itself.

Close to singular targets, rounding can lose candidates. Callers try the rescue only if they have found no branch.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.geometry.rotations import pose_numbers, rotate_about
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.closed_form.placing import measure, place

SHIFTS = (5e-3, 10e-3, 20e-3, 50e-3)
"""Sizes of the perturbations of the target [m and rad]."""
DIRECTIONS = 4
"""Number of perturbations of each size."""
MOST = 64
"""Most candidates of one perturbed target."""
LONGEST_STEP = 0.3
"""Largest change of a joint in one step [rad]."""
_ROOTS = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0]))


class Rescued(NamedTuple):
    """Outcome of the rescue."""

    rows: FloatArray
    """(k, n + 3) joint values, then errors, as in :class:`ssik_ros.solvers.closed_form.branch_request.Branches`."""
    tried: int
    """Number of candidates that were iterated on."""
    outside: int
    """Number of solutions that reach the target outside the limits."""


def rescue(
    arm: AnalyticArm,
    target: FloatArray,
    request: BranchRequest,
    tolerance: float,
    iterations: int,
) -> Rescued:
    """
    Return the solutions that iterations reach from the branches of perturbed targets.

    :param arm: closed form of the arm.
    :param target: (4, 4) rigid transform.
    :param request: seed, limits and held joint.
    :param tolerance: largest Frobenius norm of FK - T of an accepted solution.
    :param iterations: most Newton steps for each candidate.
    """
    found: list[FloatArray] = []
    tried = outside = 0
    near = request._replace(mode=KEEP_ALL, max_solutions=MOST)
    for number in range(len(SHIFTS) * DIRECTIONS):
        branches = arm.branches(_perturbed(target, number), near)
        for q in () if branches is None else branches.q:
            tried += 1
            row = _Iteration(arm, target, request.held).run(q.copy(), iterations)
            if not row[-1] <= tolerance or any(_is_same(arm.chain, row, other) for other in found):
                continue
            limits = arm.chain.lower, arm.chain.upper
            placed = place(
                arm.plan, row[: arm.plan.size], target, request.seed, limits, request.mode
            )
            if placed is None:
                outside += 1
            elif placed[-1] <= tolerance:
                found.append(placed)
        if found:
            break
    n = arm.plan.size
    return Rescued(np.array(found).reshape(len(found), n + 3), tried, outside)


def _perturbed(target: FloatArray, number: int) -> FloatArray:
    """Return the target after a small motion; a fixed sequence gives size and direction for each number."""
    size = SHIFTS[number // DIRECTIONS]
    shift = 2.0 * np.mod((number + 1) * _ROOTS, 1.0) - 1.0
    shift *= size / np.linalg.norm(shift)
    moved = target.copy()
    angle = float(np.linalg.norm(shift[3:]))
    moved[:3, :3] = rotate_about(shift[3:] / angle, angle) @ target[:3, :3]
    moved[:3, 3] += shift[:3]
    return moved


class _Iteration:
    """Damped Newton iteration on the arm's chain."""

    def __init__(self, arm: AnalyticArm, target: FloatArray, fixed: int | None) -> None:
        """Prepare for a target (4, 4); the joint with index ``fixed`` does not move."""
        chain = arm.chain
        self.plan, self.n, self.target = arm.plan, arm.plan.size, target
        self.slides = int(arm.plan.ints[search.SLIDES])
        self.fixed = fixed
        self.axes, self.points = chain.axes.ravel(), chain.points.ravel()
        self.home = pose_numbers(chain.home)
        self.aim = pose_numbers(target)
        self.scratch = np.empty(certify.scratch_size(self.n))

    def measure(self, q: FloatArray) -> FloatArray:
        """Return joint values and their errors (n + 3,)."""
        return measure(self.plan, q, self.target)

    def run(self, q: FloatArray, iterations: int) -> FloatArray:
        """Iterate from q and return the best joint values with their errors (n + 3,)."""
        best, damping = self.measure(q), 1e-5
        for _ in range(iterations):
            if best[-1] <= certify.rounding(self.aim):
                break
            row = self.measure(best[: self.n] + self._step(best[: self.n], damping))
            if row[-1] < best[-1]:
                best, damping = row, 0.1 * damping
            else:
                damping *= 10.0
        return best

    def _step(self, q: FloatArray, damping: float) -> FloatArray:
        """Return the damped least-squares step (n,) towards the target."""
        screws, pose = np.empty(6 * self.n), np.empty(12)
        certify.evaluate(self.axes, self.points, self.home, self.n, self.slides, q, screws, pose)
        z, p = screws.reshape(self.n, 2, 3).transpose(1, 0, 2)
        jacobian = np.vstack([np.cross(z, pose[9:] - p).T, z.T])
        for joint in range(self.n):
            if self.slides >> joint & 1:
                jacobian[:, joint] = [*z[joint], 0.0, 0.0, 0.0]
        if self.fixed is not None:
            jacobian[:, self.fixed] = 0.0
        have, want = pose[:9].reshape(3, 3), self.aim[:9].reshape(3, 3)
        rotation = 0.5 * np.cross(have.T, want.T).sum(axis=0)
        error = np.concatenate([self.aim[9:] - pose[9:], rotation])
        square = jacobian @ jacobian.T + damping * np.eye(6)
        step: FloatArray = jacobian.T @ np.linalg.solve(square, error)
        return step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))


def _is_same(chain: SerialChain, row: FloatArray, other: FloatArray) -> bool:
    """Return whether two solutions agree in all joints, up to whole turns."""
    return bool(np.abs(chain.wrap_turns(row[:-3] - other[:-3])).max() < 1e-3)
