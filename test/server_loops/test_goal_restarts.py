"""Restarts of requests for goals: found by seed, within a budget, never called solved without being so."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.mechanisms import SOLVE_STATUS
from ssik_ros.model.loader import load_robot
from ssik_ros.server.loops.loop_requests import GoalsRequest, PoseGoal
from ssik_ros.server.loops.loop_server import LoopServer
from ssik_ros.server.requests.ik_requests import FramedPose
from ssik_ros.server.scene.frames import FrameReader
from ssik_ros.server.scene.states import StateReader

URDF = Path(__file__).resolve().parents[2] / 'config/robots/ur5e_moveit_config/config/ur5e.urdf'


@pytest.fixture(scope='module')
def arm():
    """Give the server of an arm, and its model in pinocchio."""
    robot = load_robot(URDF)
    server = LoopServer(FrameReader(robot), StateReader(robot))
    return server, pin.buildModelFromUrdf(str(URDF))


def pose_of(model, q):
    """Return the pose (4, 4) of the tool."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId('tool0')].homogeneous


def ask(arm, pose, **fields):
    """Return the response to a request for one pose of the tool, from the default state."""
    goal = PoseGoal('', 'tool0', FramedPose('', pose), np.eye(4))
    server = arm[0]
    return server.solve_goals(GoalsRequest([goal], **fields), server.states.default())


def missed(arm, count=12):
    """Return poses that can be reached, and that the search from the default state misses."""
    rng, poses = np.random.default_rng(0), []
    while len(poses) < count:
        pose = pose_of(arm[1], rng.uniform(-2.5, 2.5, arm[1].nq))
        if not ask(arm, pose, max_iterations=25).solved:
            poses.append(pose)
    return poses


def test_restarts_reach_what_the_state_at_hand_does_not_lead_to(arm):
    model = arm[1]
    for pose in missed(arm):
        response = ask(arm, pose, max_iterations=25, max_restarts=100, seed=1)
        assert response.solved and response.chains[0].restarts > 0
        names = arm[0].robot.variable_names
        values = dict(zip(names, response.state.positions, strict=True))
        q = np.array([values[name] for name in model.names[1:]])
        assert np.abs(pose_of(model, q) - pose).max() < 1e-5


def test_the_same_request_has_the_same_response_after_restarts(arm):
    pose = missed(arm, 1)[0]
    first, again, other = (
        ask(arm, pose, max_iterations=25, max_restarts=100, seed=seed) for seed in (1, 1, 2)
    )
    assert first.state.positions.tobytes() == again.state.positions.tobytes()
    assert first.chains[0].iterations == again.chains[0].iterations
    assert other.state.positions.tobytes() != first.state.positions.tobytes()


def test_a_goal_out_of_reach_uses_its_restarts_up_and_says_so(arm):
    pose = np.eye(4)
    pose[0, 3] = 3.0
    response = ask(arm, pose, max_restarts=4)
    (chain,) = response.chains
    assert not response.solved and chain.restarts == 4 and 'from 5 starts' in response.text
    assert chain.status == SOLVE_STATUS.STALLED and chain.closure_errors.max() > 1.0
    ended = ask(arm, pose, max_restarts=10_000, timeout=0.02)
    assert ended.chains[0].status == SOLVE_STATUS.TIMEOUT and ended.chains[0].restarts < 10_000


def test_without_restarts_a_search_stays_near_the_state_at_hand(arm):
    pose = missed(arm, 1)[0]
    response = ask(arm, pose, max_iterations=25)
    assert response.chains[0].restarts == 0 and 'starts' not in response.text
