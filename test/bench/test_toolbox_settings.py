"""With every setting of the toolbox, our calls find at least as many poses as its own."""

import numpy as np
import pytest

from bench import toolbox_settings
from bench.arms import read_arm

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


@pytest.fixture(scope='module')
def panda():
    """Return the arm as users of ours make it, and the poses."""
    arm = read_arm('panda')
    return toolbox_settings.ours(arm), toolbox_settings.poses(arm, 1000)


@pytest.mark.parametrize('setting', toolbox_settings.SETTINGS, ids=str)
def test_no_setting_finds_fewer_poses_than_the_toolbox(panda, setting):
    arm, cases = panda
    call, arguments = setting
    name = arguments.get('method', call), arguments.get('k', arguments.get('pinv_damping'))
    for theirs, (start, searches) in zip(
        FOUND_BY_THE_TOOLBOX[name], toolbox_settings.STARTS, strict=True
    ):
        row = toolbox_settings.Row(call, arguments, start, searches)
        assert toolbox_settings.count_found(getattr(arm, call), row, cases) >= theirs


@pytest.mark.parametrize('method', ['wampler', 'sugihara'])
def test_a_search_by_heavy_damping_ends_with_steps_that_do_not_crawl(panda, method):
    arm, cases = panda
    for target, seed in zip(cases.targets[:100], cases.seeds[:100], strict=True):
        answer = arm.ik_LM(target, seed, method=method, k=1.0, tol=1e-12)
        if answer.success:
            assert np.abs(arm.fk(answer.q) - target).max() < 2e-6
        assert answer.iterations <= 30 * answer.searches
