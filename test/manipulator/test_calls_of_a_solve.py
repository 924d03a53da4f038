"""A warm solve enters few functions: the way from ``Manipulator.solve`` to the kernel and back is short."""

from pathlib import Path
import sys

import numpy as np
import pytest

import ssik_ros
from ssik_ros import Manipulator

OWN = str(Path(ssik_ros.__file__).parent)
MOST = 8
"""Calls of own functions in one warm solve."""
ARMS = ('ur5e', 'puma560', 'jaco2', 'panda', 'iiwa14')


def entered(solve):
    """Return the own functions that a call enters, one entry for each call."""
    names = []

    def note(frame, event, argument):
        if event == 'call' and frame.f_code.co_filename.startswith(OWN):
            names.append(frame.f_code.co_name)

    for _ in range(3):
        solve()
    sys.setprofile(note)
    try:
        solve()
    finally:
        sys.setprofile(None)
    return names


@pytest.fixture(scope='module', params=ARMS)
def arm(request):
    return Manipulator.from_prebuilt(request.param)


@pytest.mark.parametrize(
    'options',
    [
        {},
        {'max_solutions': 1},
        {'target_tolerance': 1e-6},
        {'allow_refinement': True},
        {'seed_metric': 'wrap_linf'},
    ],
    ids=lambda options: ' '.join(options) or 'plain',
)
@pytest.mark.parametrize('call', ['solve', 'solve_q'])
@pytest.mark.parametrize('has_seed', [False, True])
def test_a_warm_solve_enters_eight_functions_at_most(arm, options, call, has_seed):
    q = arm.neutral + 0.1
    target, seed = arm.fk(q), q if has_seed else None
    names = entered(lambda: getattr(arm, call)(target, q_seed=seed, **options))
    assert names and len(names) <= MOST, names


def test_profiling_sees_the_functions_of_this_package(arm):
    names = entered(lambda: arm.fk(np.zeros(arm.dof)))
    assert 'fk' in names
