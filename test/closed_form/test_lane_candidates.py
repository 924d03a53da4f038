"""Candidates that are made eight at a time: all of their class, and left to others where those know better."""

import importlib
import pkgutil

from test.closed_form.arms_under_test import catalogue_arm
from test.closed_form.synthetic_arms import make_six, serial_chain

import numpy as np
import pytest

from ssik_ros.kernels.closed_form import classes
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.classes import (
    candidates,
    spherical_wrist,
    spherical_wrist_lanes,
    three_parallel,
    three_parallel_lanes,
)
from ssik_ros.solvers.closed_form.plan import make_plan

CASES = {
    'spherical_two_parallel': spherical_wrist.PARALLEL_23,
    'spherical_base_parallel': spherical_wrist.PARALLEL_12,
    'spherical_two_intersecting': spherical_wrist.MEETING_12,
    'spherical_elbow_intersecting': spherical_wrist.MEETING_23,
    'spherical': spherical_wrist.GENERIC,
    'three_parallel': three_parallel.AXES_234,
    'three_parallel, wrist meeting': three_parallel.AXES_234,
}


class Class:
    """The chain of a plan as the kernels of its class take it."""

    def __init__(self, plan, case):
        """Read a plan for six joints that is not reversed."""
        assert (plan.ints[search.CASE], plan.ints[search.REVERSED]) == (case, 0)
        self.case, self.chain = case, plan.chain
        self.is_wrist = not plan.name.startswith('three_parallel')
        self.axes, self.points = plan.reals[78:96].copy(), plan.reals[96:114].copy()
        self.special = plan.reals[72:78].copy()
        if not self.is_wrist and np.isfinite(self.special[0]):
            self.points[15:18] = self.special[:3]

    def goal(self, q):
        """Return G (12,) of the pose at a posture."""
        g = self.chain.pose(q) @ np.linalg.inv(self.chain.home)
        return np.concatenate([g[:3, :3].ravel(), g[:3, 3]])

    def candidates(self, q):
        """Return the candidates of the class's kernel for the pose at a posture."""
        out, kernels = np.zeros((8, 6)), spherical_wrist if self.is_wrist else three_parallel
        scratch, goal = np.zeros(kernels.SCRATCH), self.goal(q)
        arguments = self.axes, self.points, self.special, goal, 0.3, scratch
        return out[: kernels.solve(out, self.case, *arguments)[0]]

    def is_done_together(self, q):
        """Return whether candidates of the pose at a posture are made eight at a time."""
        out, goal = np.zeros((8, 6)), self.goal(q)
        if not self.is_wrist:
            angles = np.zeros(three_parallel_lanes.SCRATCH)
            three_parallel_lanes.write_outer(angles, self.axes, self.points, goal)
            return three_parallel_lanes.write_inner(out, angles, self.axes, self.points, goal)
        angles = np.zeros(spherical_wrist_lanes.SCRATCH)
        spherical_wrist_lanes.spread_arm(angles, np.tile(q[:3], (4, 1)), 1)
        return spherical_wrist_lanes.write_wrists(out, angles, self.axes, goal)


@pytest.mark.parametrize('name', CASES)
def test_candidates_reach_the_pose_and_the_posture_is_among_them(name):
    rng = np.random.default_rng(1)
    exact, together = 0, 0
    for _ in range(8):
        chain = make_six(name, rng)
        subject = Class(make_plan(serial_chain(chain)), CASES[name])
        for q in rng.uniform(-3.0, 3.0, (5, 6)):
            rows = subject.candidates(q)
            residuals = chain.residuals(rows, chain.poses(q)[0])
            gaps = np.abs(np.mod(rows - q + np.pi, 2.0 * np.pi) - np.pi).max(axis=1)
            assert gaps.min() < 1e-6
            assert residuals[gaps.argmin()] < 1e-10
            exact += (residuals < 1e-10).sum()
            together += subject.is_done_together(q)
    assert exact >= 2 * 8 * 5
    assert together >= 38


@pytest.mark.parametrize(('name', 'case'), [('puma560', 0), ('irb6700', 0), ('ur5e', 0)])
@pytest.mark.parametrize('bend', [0.0, 1e-9, 5e-4, -5e-4, 2e-3, -2e-3])
def test_postures_near_a_singularity_of_the_wrist_are_left_to_the_kernel_for_one(name, case, bend):
    rng = np.random.default_rng(2)
    subject = Class(catalogue_arm(name).plan, case)
    for q in rng.uniform(-2.0, 2.0, (10, 6)):
        q[4] = bend
        assert subject.is_done_together(q) == (abs(bend) > 1e-3)
        rows = subject.candidates(q)
        residuals = [np.abs(subject.chain.pose(row) - subject.chain.pose(q)).max() for row in rows]
        assert min(residuals) < 1e-13


def test_every_class_has_room_for_its_numbers():
    modules = [
        importlib.import_module(f'{classes.__name__}.{module.name}')
        for module in pkgutil.iter_modules(classes.__path__)
    ]
    sizes = {
        module.__name__: module.SCRATCH
        for module in modules
        if hasattr(module, 'SCRATCH') and module is not candidates
    }
    assert len(sizes) >= 4 and max(sizes.values()) <= candidates.OWN_SCRATCH
