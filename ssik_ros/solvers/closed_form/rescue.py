"""
Rescue targets that the closed form misses: solve perturbed targets, then refine the postures for the target itself.

Close to singular targets, rounding can lose candidates. Callers try the rescue only if they have found no branch.
"""

from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL
from ssik_ros.solvers.closed_form.placing import place
from ssik_ros.solvers.closed_form.plan import BRANCH_SEPARATION
from ssik_ros.solvers.search.bounded_refinement import BoundedRefinement, unlimited

SHIFTS = (5e-3, 10e-3, 20e-3, 50e-3)
"""Sizes of the perturbations of the target [m and rad]."""
DIRECTIONS = 4
"""Number of perturbations of each size."""
MOST_RESCUE_CANDIDATES = 64
"""Most candidates of one perturbed target."""
_ROOTS = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0]))


class Rescued(NamedTuple):
    """Solutions that the rescue found within the limits, with counts of tried candidates and of postures outside."""

    rows: FloatArray
    """(k, n + 3) joint values, then errors, as in :class:`ssik_ros.solvers.closed_form.branch_request.Branches`."""
    tried: int
    """Number of candidates that were iterated on."""
    outside: int
    """Number of distinct postures that reach the target outside the limits."""


def rescue(
    arm: AnalyticArm,
    target: FloatArray,
    request: BranchRequest,
    tolerance: float,
    iterations: int,
) -> Rescued:
    """
    Return solutions of a target that the closed form misses, found from branches of slightly moved targets.

    Moved targets are tried one after the other, up to 16, until iterations from the branches of one of them reach the
    target itself within the limits. Solutions may be missing, and their order is open.

    :param arm: closed form of the arm.
    :param target: (4, 4) rigid transform.
    :param request: seed, limits and held joint.
    :param tolerance: largest Frobenius norm of FK - T of an accepted solution.
    :param iterations: most steps for each candidate.
    :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
    """
    solutions: list[FloatArray] = []
    outside: list[FloatArray] = []
    tried = 0
    refinement, n = BoundedRefinement(arm.chain), arm.plan.size
    kept = arm.requests.limits(request)
    limits = kept.lower, kept.upper
    bounds = unlimited(n)
    near = request._replace(mode=KEEP_ALL, max_solutions=MOST_RESCUE_CANDIDATES)
    for number in range(len(SHIFTS) * DIRECTIONS):
        branches = arm.branches(_perturbed(target, number), near)
        for q in () if branches is None else branches.q:
            tried += 1
            if request.held is not None:
                bounds[:, request.held] = q[request.held]
            refined = refinement.refine(target, q, bounds, tolerance, iterations)
            reached = (*(row[:n] for row in solutions), *outside)
            if refined is None or any(_are_same(arm.chain, refined, row) for row in reached):
                continue
            placed = place(arm.plan, refined, target, request.seed, limits, request.mode)
            if placed is None:
                outside.append(refined)
            elif placed[-1] <= tolerance:
                solutions.append(placed)
        if solutions:
            break
    return Rescued(np.array(solutions).reshape(len(solutions), n + 3), tried, len(outside))


def _perturbed(target: FloatArray, number: int) -> FloatArray:
    """
    Return the target (4, 4) after a small shift and rotation, the same at each call.

    :param number: number of the motion, from 0; there are four directions of each size, the smallest size first.
    """
    size = SHIFTS[number // DIRECTIONS]
    shift = 2.0 * np.mod((number + 1) * _ROOTS, 1.0) - 1.0
    shift *= size / np.linalg.norm(shift)
    moved = target.copy()
    angle = float(np.linalg.norm(shift[3:]))
    moved[:3, :3] = rotate_about(shift[3:] / angle, angle) @ target[:3, :3]
    moved[:3, 3] += shift[:3]
    return moved


def _are_same(chain: SerialChain, first: FloatArray, second: FloatArray) -> bool:
    """Return whether two postures (n,) agree in all joints within 1e-3, modulo whole turns."""
    return bool(np.abs(chain.wrap_turns(first - second)).max() < BRANCH_SEPARATION)
