"""The posture that the view opens with."""

from test.view.made_arms import two_arms

import numpy as np
import pytest

from ssik_ros.model.default_seed import default_state
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.view.sessions.first_posture import find_first_state
from ssik_ros.view.sessions.session import Session


def load(name, group, *, has_srdf=True):
    files = find_moveit_config(name)
    named = load_robot(files.urdf_path, files.srdf_path)
    if has_srdf:
        return named, named.group(group)
    robot, named_group = load_robot(files.urdf_path), named.group(group)
    return robot, robot.group_from_links(named_group.base_link, named_group.tip, group)


def smallest(robot, group, state):
    """Return the smallest singular value of the Jacobian."""
    chain = ChainKinematics(robot, group, group.base_link, group.tip)
    jacobian = chain.jacobian(state[group.idx_q])
    return np.linalg.svd(jacobian, compute_uv=False)[min(6, len(group.idx_q)) - 1]


def test_a_ur5e_opens_with_eight_branches_and_home_returns_to_them():
    session = Session(*load('ur5e', 'ur_manipulator'))
    first = session.joints.copy()
    session.complete()
    assert len(session.branches) == 7 and not session.contacts
    session.set_joints(np.zeros(6))
    session.go_home()
    assert (session.joints == first).all()


def test_a_regular_named_posture_is_kept():
    robot, group = load('panda', 'panda_arm')
    state = find_first_state(robot, group, lambda _: pytest.fail('nothing to check'))
    assert (state == default_state(robot)).all()


@pytest.mark.parametrize('name', ['ur5e', 'gen3', 'fanuc'])
def test_without_named_postures_a_regular_one_is_found_within_the_limits(name):
    group_name = {'ur5e': 'ur_manipulator'}.get(name, 'manipulator')
    robot, group = load(name, group_name, has_srdf=False)
    assert smallest(robot, group, default_state(robot)) < 1e-6
    state = find_first_state(robot, group, lambda _: True)
    q = state[group.idx_q]
    assert smallest(robot, group, state) > 0.05
    assert (group.lower <= q).all() and (q <= group.upper).all()
    assert (state == find_first_state(robot, group, lambda _: True)).all()


def test_postures_in_collision_are_left_out():
    robot, group = load('ur5e', 'ur_manipulator')
    free = find_first_state(robot, group, lambda _: True)
    other = find_first_state(robot, group, lambda state: not (state == free).all())
    assert smallest(robot, group, other) > 0.05 and not (other == free).all()
    assert (find_first_state(robot, group, lambda _: False) == default_state(robot)).all()


def test_a_group_with_several_tips_opens_at_its_default():
    robot = two_arms()
    state = find_first_state(robot, robot.group('both'), lambda _: True)
    assert (state == default_state(robot)).all()
