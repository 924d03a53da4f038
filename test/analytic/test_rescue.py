"""The rescue of poses that the closed form misses: what it is for, and that it changes nothing else."""

from arms_under_test import ask
from arms_under_test import catalogue_arm
from arms_under_test import catalogue_chain
import numpy as np

from ssik_ros.solvers.analytic.arm import KEEP_ALL
from ssik_ros.solvers.analytic.arm import Question
from ssik_ros.solvers.analytic.rescue import rescue

QUARTERS = np.array([-1, 1, 1, -1, 0, 0])
"""A posture on the rim of what crx10ial reaches: its only root is double, and singular equations hide it."""
TOLERANCE = 1e-9


def test_the_rescue_finds_a_posture_on_the_rim_that_the_elimination_misses():
    chain, arm = catalogue_chain('crx10ial'), catalogue_arm('crx10ial')
    pose = chain.poses(0.5 * np.pi * QUARTERS)[0]
    # Where this is no longer empty, the rescue has lost the pose that it is for.
    assert len(ask(arm, pose).q) == 0
    saved = rescue(arm, np.ascontiguousarray(pose), Question(mode=KEEP_ALL), TOLERANCE, 50)
    assert len(saved.rows) > 0
    assert chain.residuals(saved.rows[:, :6], pose).max() < TOLERANCE


def test_the_rescue_finds_nothing_out_of_reach():
    chain, arm = catalogue_chain('crx10ial'), catalogue_arm('crx10ial')
    pose = chain.poses(0.5 * np.pi * QUARTERS)[0]
    pose[:3, 3] *= 1.5
    saved = rescue(arm, np.ascontiguousarray(pose), Question(mode=KEEP_ALL), TOLERANCE, 50)
    assert len(saved.rows) == 0
