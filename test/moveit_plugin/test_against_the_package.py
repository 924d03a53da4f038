"""Responses of the plugin and of KinematicsBase to the same random requests."""

from test.moveit_plugin.transport_programs import description_of, needs_tools, write_requests

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.moveit.kinematics_base import KinematicsBase

pytestmark = [needs_tools, pytest.mark.slow]

ARMS = {'panda': 'panda_arm', 'ur5e': 'ur_manipulator'}
TIMEOUT = 0.5
SAME = 1e-6
"""Largest difference between joint vectors. The poses of the plugin pass through quaternions [rad]."""
SAME_BRANCH = 1e-4
"""The same for branches next to a singular posture [rad]."""


def values_of(line, name=''):
    """Return the code of a line and the numbers after it."""
    code, *numbers = line.removeprefix(name).split()
    return int(code), np.array([float(x) for x in numbers])


def covers(rows, others):
    """Return whether each of some joint vectors is among others."""
    return all(min(np.abs(row - other).max() for other in others) < SAME_BRANCH for row in rows)


@pytest.mark.parametrize('solver', ['Auto', 'Analytic', 'PoseIK', 'LevenbergMarquardt'])
@pytest.mark.parametrize('robot', ARMS)
def test_both_find_the_same_solutions(programs, tmp_path, robot, solver):
    model, name = load_robot(*description_of(robot)), f'ssik_ros/{solver}'
    group = model.group(ARMS[robot])
    base = KinematicsBase(name)
    assert base.initialize(model, group.name)
    rng = np.random.default_rng(11)
    count = 100 if solver == 'Auto' else 20
    postures = [model.sample(group, rng) for _ in range(count)]
    seeds = [model.sample(group, rng) for _ in range(count)]
    poses = [base.get_position_fk(base.get_tip_frames(), q)[0] for q in postures]
    write_requests(tmp_path / 'requests.txt', poses, seeds)
    more = {'robot': robot, 'group': group.name, 'kinematics_solver': name}
    lines = iter(programs.run('solutions', tmp_path / 'requests.txt', **more))
    for pose, seed in zip(poses, seeds, strict=True):
        code, q = values_of(next(lines), 'search ')
        expected = base.search_position_ik(pose, seed, TIMEOUT)
        assert code == expected.error_code
        assert code != 1 or np.abs(q - expected.solution).max() < SAME
        code, q = values_of(next(lines), 'nearest ')
        expected = base.get_position_ik(pose, seed)
        assert code == expected.error_code
        if code == 1:
            distances = [np.abs(each - seed).sum() for each in (q, expected.solution)]
            assert distances[0] == pytest.approx(distances[1], abs=1e-5)
        rows = [values_of(next(lines))[1] for _ in range(int(next(lines).split()[1]))]
        expected = base.get_position_ik_solutions([pose], seed).solutions
        assert covers(rows, expected) and covers(expected, rows)
