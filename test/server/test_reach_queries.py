"""Requests about the reach of a robot, without ROS: frames, bounds, and maps that are not of the robot."""

from dataclasses import replace

import numpy as np
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach import CellStatus, ReachMap
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.grid import Grid, GridRegion
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import quaternions_of, spread_orientations
from ssik_ros.results import Cause
from ssik_ros.server.reach_queries import MOST_EXACT, open_map, ReachQueries, ReachRequest
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer

for package in ('zarr', 'distributed'):
    pytest.importorskip(package)


@pytest.fixture(scope='module')
def server():
    """Return a robot that is served."""
    files = find_moveit_config('ur5e')
    robot = load_robot(files.urdf_path, files.srdf_path, files.joint_limits_path)
    return RobotServer(robot, robot.groups.values())


@pytest.fixture(scope='module')
def path(server, tmp_path_factory):
    """Return the folder of a map of the robot."""
    chain = SerialChain.from_robot(server.robot, 'base_link', 'tool0')
    grid = Grid(GridRegion.sphere((0.0, 0.0, 0.16), 1.0), 0.25, spread_orientations(16))
    folder = tmp_path_factory.mktemp('maps') / 'ur5e.zarr'
    make_map(make_plan(chain, 'ur5e', grid), folder, Workers(0))
    return folder


@pytest.fixture
def queries(server, path):
    """Return the object that responds to reach requests."""
    return ReachQueries(open_map(str(path), server.frames), server.frames, server.cancel)


def rows_of(poses):
    """Return the numbers (7 m) of poses (m, 4, 4)."""
    return np.hstack([poses[:, :3, 3], quaternions_of(poses[:, :3, :3])]).ravel()


def random_poses(count, seed=0):
    """Return poses (count, 4, 4) around the base."""
    from scipy.spatial.transform import Rotation

    rng, poses = np.random.default_rng(seed), np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = rng.uniform(-0.8, 0.8, (count, 3))
    poses[:, :3, :3] = Rotation.random(count, random_state=seed).as_matrix()
    return poses


@pytest.mark.parametrize('exact', [False, True])
def test_poses_in_any_frame_are_those_of_the_map(server, queries, path, exact):
    state, poses = server.states.default(), random_poses(60)
    expected = ReachMap.open(path).query(poses, exact=exact)
    base = state.root_pose @ server.frames.link_in_root('base_link', state)
    for frame in ('', 'base_link', 'forearm_link'):
        here = server.frames.in_model_frame(frame, state)
        here = np.eye(4) if here is None else here
        moved = np.linalg.inv(here) @ base @ poses
        response = queries.query(ReachRequest(rows_of(moved), frame, exact), state)
        assert response.refusal is Refusal.NONE
        assert (response.base, response.tip) == ('base_link', 'tool0')
        # Rounding may put a pose at the border of two cells into the other one.
        assert (response.result.status == expected.status).mean() > 0.95
        assert np.allclose(response.result.angle, expected.angle, atol=1e-6)
    assert {CellStatus.REACHABLE, CellStatus.OUT_OF_REACH} <= set(expected.status.tolist())
    assert expected.proved.all() == exact


def test_nothing_is_asked(server, queries):
    response = queries.query(ReachRequest(np.empty(0)), server.states.default())
    assert response.refusal is Refusal.NONE and len(response.result.status) == 0
    response = queries.query(ReachRequest(np.empty(0), exact=True), server.states.default())
    assert response.refusal is Refusal.NONE and len(response.result.status) == 0


WRONG = {
    'six numbers': (np.zeros(6), '', False, Refusal.GOAL_COUNT, '6 numbers'),
    'nan': (np.array([np.nan, 0, 0, 0, 0, 0, 1]), '', False, Refusal.BAD_TARGET, 'Pose 0'),
    'no quaternion': (np.array([0.1, *[0.0] * 6]), '', False, Refusal.BAD_TARGET, 'Pose 0'),
    'infinite': (np.array([1e300, 0, 0, 0, 0, 0, 1]), '', True, Refusal.BAD_TARGET, 'Pose 0'),
    'frame': (np.array([0, 0, 0, 0, 0, 0, 1.0]), 'moon', False, Refusal.UNKNOWN_FRAME, "'moon'"),
    'too many': (np.zeros(7 * 100_001), '', False, Refusal.GOAL_COUNT, '100000'),
    'too many to solve': (
        *(np.tile([0, 0, 0, 0, 0, 0, 1.0], MOST_EXACT + 1), '', True),
        *(Refusal.GOAL_COUNT, '1000'),
    ),
}


@pytest.mark.parametrize('case', WRONG.values(), ids=WRONG)
def test_wrong_requests_are_refused(server, queries, case):
    poses, frame, exact, refusal, text = case
    response = queries.query(ReachRequest(poses, frame, exact), server.states.default())
    assert response.refusal is refusal and text in response.text
    assert response.result is None


def test_a_node_that_ends_solves_no_more(server, path):
    cancel = np.zeros(1, dtype=np.int64)
    queries = ReachQueries(open_map(str(path), server.frames), server.frames, cancel)
    request, state = ReachRequest(rows_of(random_poses(40)), exact=True), server.states.default()
    assert queries.query(request, state).refusal is Refusal.NONE
    cancel[0] = 1
    assert queries.query(request, state).refusal is Refusal.FAULT


def test_maps_of_other_robots_and_what_is_no_map_are_refused(server, tmp_path):
    panda = find_moveit_config('panda')
    robot = load_robot(panda.urdf_path, panda.srdf_path)
    chain = SerialChain.from_robot(robot, 'panda_link0', 'panda_link8')
    grid = Grid(GridRegion.sphere((0.0, 0.0, 5.0), 0.3), 0.2, spread_orientations(4))
    make_map(make_plan(chain, 'panda', grid), tmp_path / 'panda.zarr', Workers(0))
    with pytest.raises(SsikError, match='of another robot'):
        open_map(str(tmp_path / 'panda.zarr'), server.frames)
    served = SerialChain.from_robot(server.robot, 'base_link', 'tool0')
    tight = replace(served, upper=served.upper - 1e-3)
    make_map(make_plan(tight, 'ur5e', grid), tmp_path / 'tight.zarr', Workers(0))
    with pytest.raises(SsikError, match=r'limits of .* have changed since'):
        open_map(str(tmp_path / 'tight.zarr'), server.frames)
    with pytest.raises(SsikError, match='There is no map'):
        open_map(str(tmp_path / 'none.zarr'), server.frames)


def test_without_a_map_the_reason_is_the_response(server):
    response = ReachQueries('The disk is gone.', server.frames).query(
        ReachRequest(np.zeros(7)), server.states.default()
    )
    assert (response.refusal, response.cause) == (Refusal.FAULT, Cause.NONE)
    assert response.text == 'The disk is gone.'
