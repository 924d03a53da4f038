"""Frames by name against pinocchio, for any pose of the base."""

from test.server.served_robots import (
    inner_multi_robot,
    mobile_robot,
    random_full_state,
    random_rigid,
    standing_robot,
    torso_robot,
    true_pose,
)

import numpy as np
import pytest

from ssik_ros.errors import FrameNotFound
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.server.scene.states import StateReader

MADE = {
    'torso': torso_robot,
    'planar base': lambda: mobile_robot('planar'),
    'floating base': lambda: mobile_robot('floating'),
    'base that nobody moves': lambda: standing_robot('floating'),
    'fixed virtual joint': lambda: standing_robot('fixed'),
    'joints of several variables inside': inner_multi_robot,
}
NAMES = ('panda', 'fanuc', 'gen3', 'ur5e', *MADE)


@pytest.fixture(params=NAMES)
def some_robot(request, robots):
    return robots[request.param] if request.param in robots else MADE[request.param]()


@pytest.mark.parametrize('seed', [1, 2])
def test_every_link_is_where_pinocchio_has_it(some_robot, seed):
    state = random_full_state(some_robot, np.random.default_rng(seed))
    reader = FrameReader(some_robot)
    together = reader.links_in_root(list(some_robot.tree.link_names), state)
    for link, pose in zip(some_robot.tree.link_names, together, strict=True):
        truth = true_pose(some_robot, state, link)
        assert reader.link_in_root(link, state) == pytest.approx(pose, abs=1e-15)
        assert state.root_pose @ pose == pytest.approx(truth, abs=1e-12)
        framed = reader.in_model_frame(link, state)
        if framed is None:
            assert link == some_robot.model_frame
            framed = np.eye(4)
        assert framed == pytest.approx(truth, abs=1e-12)
        assert reader.model_in_link(link, state) @ truth == pytest.approx(np.eye(4), abs=1e-12)


def test_the_empty_frame_is_the_model_frame(some_robot):
    state = random_full_state(some_robot, np.random.default_rng(3))
    reader = FrameReader(some_robot)
    assert reader.in_model_frame('', state) is None
    assert reader.in_model_frame(some_robot.model_frame, state) is None


def test_the_model_frame_is_what_a_moving_virtual_joint_hangs_on():
    state = StateReader(standing_robot('floating')).default()
    pose = random_rigid(np.random.default_rng(0))
    moved = state._replace(root_pose=pose)
    assert FrameReader(standing_robot('floating')).in_model_frame('map', moved) is None
    root = FrameReader(standing_robot('floating')).in_model_frame('l0', moved)
    assert root == pytest.approx(pose, abs=0.0)


def test_what_a_fixed_virtual_joint_hangs_on_is_no_frame():
    reader = FrameReader(standing_robot('fixed'))
    state = StateReader(standing_robot('fixed')).default()
    assert reader.in_model_frame('l0', state) is None
    with pytest.raises(RequestRefused, match="Frame 'map'"):
        reader.in_model_frame('map', state)


@pytest.mark.parametrize(
    ('frame', 'nearest'),
    [('panda_lnik3', 'panda_link3'), ('wrold', 'world')],
)
def test_an_unknown_frame_is_refused_with_the_nearest_name(robots, frame, nearest):
    robot = robots['panda']
    with pytest.raises(RequestRefused) as caught:
        FrameReader(robot).in_model_frame(frame, StateReader(robot).default())
    assert caught.value.refusal is Refusal.UNKNOWN_FRAME
    assert f"'{frame}'" in str(caught.value) and f"Did you mean '{nearest}'?" in str(caught.value)


def test_an_unknown_link_is_a_mistake_of_the_caller(robots):
    reader = FrameReader(robots['panda'])
    with pytest.raises(FrameNotFound, match='panda_link1'):
        reader.links_in_root(['panda_lnik1'], StateReader(robots['panda']).default())


def test_reading_frames_changes_no_state():
    robot, rng = torso_robot(), np.random.default_rng(5)
    state = random_full_state(robot, rng)
    before = state.positions.tobytes(), state.root_pose.tobytes()
    reader = FrameReader(robot)
    for link in robot.tree.link_names:
        pose = reader.in_model_frame(link, state)
        pose[:3, 3] += 1.0
        reader.model_in_link(link, state)[:3, 3] += 1.0
    assert before == (state.positions.tobytes(), state.root_pose.tobytes())
    again = reader.in_model_frame('pelvis', state)
    assert again == pytest.approx(state.root_pose, abs=0.0)
