"""
With every setting of the Robotics Toolbox, our calls find at least as many poses of the panda as its own.

The counts of the toolbox were measured by ``bench/toolbox_settings.py`` of version 0.2.0.
"""

import numpy as np
import pytest

from bench.arms import read_arm
from bench.cases import draw_cases
from ssik_ros.manipulator.manipulator import Manipulator

FOUND_BY_THE_TOOLBOX = {
    ('ik_NR', 0.0): (998, 393, 230),
    ('ik_NR', 0.01): (1000, 387, 232),
    ('ik_NR', 0.1): (990, 398, 231),
    ('ik_GN', 0.0): (998, 404, 227),
    ('ik_GN', 0.1): (998, 404, 227),
    ('chan', 1.0): (1000, 603, 380),
    ('chan', 0.1): (1000, 590, 378),
    ('chan', 0.01): (1000, 523, 336),
    ('wampler', 1.0): (13, 0, 0),
    ('wampler', 0.1): (896, 209, 110),
    ('wampler', 0.01): (993, 398, 231),
    ('wampler', 1e-4): (999, 380, 231),
    ('sugihara', 1.0): (7, 0, 0),
    ('sugihara', 0.1): (893, 197, 103),
    ('sugihara', 0.01): (995, 505, 293),
    ('sugihara', 1e-4): (1000, 599, 378),
}
"""Of 1,000 poses, by roboticstoolbox-python 1.5.0: with 100 searches from a random start, then with one from the ready
posture and from a random one."""


READY = np.array([0.0, -np.pi / 4, 0.0, -3.0 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
STARTS = (('random', 100), ('ready', 1), ('random', 1))
"""Where a call begins, and how many searches it may make."""


@pytest.fixture(scope='module')
def panda():
    """Return the arm as users of ours make it, and the poses of the class ``first_found_1e-3``."""
    arm = read_arm('panda')
    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    return manipulator, draw_cases(arm, 1000)


def arguments_of(name, value):
    """Return the call and the arguments of a setting."""
    if name.startswith('ik_'):
        return name, {'pinv': True, 'pinv_damping': value}
    return 'ik_LM', {'method': name, 'k': value}


def count_found(ask, cases, start, searches, arguments):
    """Return how many poses a call finds."""
    starts = [READY if start == 'ready' else seed for seed in cases.seeds]
    pairs = zip(cases.targets, starts, strict=True)
    return sum(
        ask(target, q0=q, slimit=searches, joint_limits=True, **arguments).success
        for target, q in pairs
    )


@pytest.mark.parametrize('setting', FOUND_BY_THE_TOOLBOX, ids=str)
def test_no_setting_finds_fewer_poses_than_the_toolbox(panda, setting):
    arm, cases = panda
    call, arguments = arguments_of(*setting)
    for theirs, (start, searches) in zip(FOUND_BY_THE_TOOLBOX[setting], STARTS, strict=True):
        assert count_found(getattr(arm, call), cases, start, searches, arguments) >= theirs


@pytest.mark.parametrize('method', ['wampler', 'sugihara'])
def test_a_search_by_heavy_damping_ends_with_steps_that_do_not_crawl(panda, method):
    arm, cases = panda
    for target, seed in zip(cases.targets[:100], cases.seeds[:100], strict=True):
        result = arm.ik_LM(target, seed, method=method, k=1.0, tol=1e-12)
        if result.success:
            assert np.abs(arm.fk(result.q) - target).max() < 2e-6
        assert result.iterations <= 30 * result.searches
