"""The rescue of poses that the closed form misses: it saves them, and changes no other result."""

from test.closed_form.arms_under_test import ask, catalogue_arm, catalogue_chain
from test.complete_oracle import wrap

import numpy as np

from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL, PLAIN
from ssik_ros.solvers.closed_form.rescue import rescue

QUARTERS = np.array([-1, 1, 1, -1, 0, 0])
"""A posture on the edge of the reach of crx10ial: half of the targets near it are out of reach."""
TOLERANCE = 1e-9


class Blind(AnalyticArm):
    """A closed form that has lost everything near one pose, as a bad case of rounding would have it."""

    hidden = np.eye(4)

    def branches(self, pose, request=PLAIN):
        """Return the branches, none of which is left near the hidden pose."""
        result = super().branches(pose, request)
        return (
            result._replace(q=result.q[:0])
            if np.allclose(pose, self.hidden, atol=1e-3)
            else result
        )


def test_the_rescue_finds_a_posture_on_the_rim_from_targets_beside_it_alone():
    chain, arm = catalogue_chain('crx10ial'), Blind(catalogue_arm('crx10ial').chain)
    posture = 0.5 * np.pi * QUARTERS
    arm.hidden = pose = chain.poses(posture)[0]
    assert len(ask(arm, pose).q) == 0
    saved = rescue(arm, np.ascontiguousarray(pose), BranchRequest(mode=KEEP_ALL), TOLERANCE, 50)
    assert len(saved.rows) > 0
    assert chain.residuals(saved.rows[:, :6], pose).max() < TOLERANCE
    # The position of a fold is accurate only to the square root of the residual.
    assert np.abs(wrap(saved.rows[:, :6] - posture)).max(axis=1).min() < 1e-3


def test_the_rescue_finds_nothing_out_of_reach():
    chain, arm = catalogue_chain('crx10ial'), catalogue_arm('crx10ial')
    pose = chain.poses(0.5 * np.pi * QUARTERS)[0]
    pose[:3, 3] *= 1.5
    saved = rescue(arm, np.ascontiguousarray(pose), BranchRequest(mode=KEEP_ALL), TOLERANCE, 50)
    assert len(saved.rows) == 0


def test_postures_outside_the_limits_are_counted_once():
    chain, arm = catalogue_chain('crx10ial'), Blind(catalogue_arm('crx10ial').chain)
    arm.hidden = pose = np.ascontiguousarray(chain.poses(0.5 * np.pi * QUARTERS)[0])
    everywhere = rescue(arm, pose, BranchRequest(mode=KEEP_ALL), TOLERANCE, 50)
    nowhere = BranchRequest(lower=np.full(6, 0.1), upper=np.full(6, 0.2))
    saved = rescue(arm, pose, nowhere, TOLERANCE, 50)
    assert len(saved.rows) == 0
    assert 0 < saved.outside <= 2 * len(everywhere.rows), (saved.outside, len(everywhere.rows))
