"""``plan_tool_path``: valid by other kinematics and the collision library, and no dearer than a dense search."""

from test.paths.made_paths import box, DOWN, line, robot

import numpy as np
import pytest

from ssik_ros.errors import DimensionMismatch, InvalidOption, InvalidTarget, SsikError
from ssik_ros.model.catalogue import arm_data, load_arm
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.requests import PathObjective, ToolPathRequest
from ssik_ros.paths.search import waypoint_search
from ssik_ros.paths.search.layered_search import make_layers
from ssik_ros.paths.search_space import Samples
from ssik_ros.paths.steps import path_cost
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.results import Cause

PANDA_LINE = line((0.45, -0.2, 0.4), (0.45, 0.25, 0.4), 40)
UR_LINE = line((0.3, -0.3, 0.4), (0.3, 0.3, 0.4), 40)


@pytest.fixture(scope='module')
def panda():
    """Return the Panda."""
    return robot('panda')


@pytest.fixture(scope='module')
def ur5e():
    """Return the UR5e."""
    return robot('ur5e')


def arm_of(model):
    """Return the group of an arm."""
    return next(group for group in model.groups.values() if len(group.joint_names) in (6, 7))


def assert_valid(model, path, waypoints, request, axis=None):
    """Check a path by pinocchio's forward kinematics, the limits and the steps."""
    group, kinematics = arm_of(model), ReferenceKinematics(model)
    planner = ToolPathPlanner(model, group, request)
    assert path.valid and not path.reason
    assert len(path.positions) == len(waypoints)
    for q, waypoint in zip(path.positions, waypoints, strict=True):
        state = planner.chain.full_state(q)
        base = kinematics.link_pose(state, group.base_link)
        reached = np.linalg.inv(base) @ kinematics.link_pose(state, group.tip)
        assert np.linalg.norm(reached[:3, 3] - waypoint[:3, 3]) < 1e-6
        if axis is None:
            assert np.abs(reached[:3, :3] - waypoint[:3, :3]).max() < 1e-6
        else:
            assert np.abs(reached[:3, :3] @ axis - waypoint[:3, :3] @ axis).max() < 1e-6
    low, high = planner.chain.chain.lower, planner.chain.chain.upper
    assert ((path.positions >= low - 1e-9) & (path.positions <= high + 1e-9)).all()
    assert np.abs(np.diff(path.positions, axis=0)).max() <= request.largest_turn + 1e-9
    assert path.cost == pytest.approx(path_cost(path.positions, planner.task(waypoints).limits))
    assert path.lower_bound <= path.cost


def dense_cost(model, waypoints, request, values=500):
    """Return the cost of the best sequence on a dense grid."""
    planner = ToolPathPlanner(model, arm_of(model), request)
    task, rows = planner.task(waypoints), np.arange(len(waypoints))
    part = (np.arange(values) + 0.5)[None, :, None] / values
    grid = task.space.lower[:, None, :] + part * (task.space.upper - task.space.lower)[:, None, :]
    # One parameter: the held joint if the arm has one, else the spin.
    none = np.zeros((len(rows), 1, 0))
    samples = (
        Samples(none, grid[..., 0][:, None]) if planner.chain.has_held else Samples(grid, grid)
    )
    solutions, parameters = task.space.postures(rows, waypoints, samples)
    layers = make_layers(solutions.q, solutions.owners, parameters, len(waypoints), task.limits)
    if planner.obstacles:
        for layer in range(layers.count):
            layers.check(layers.rows_of(layer), planner.obstacles[1])
    layers.connect(lambda: None)
    piece = layers.best_piece()
    assert len(piece.rows) == len(waypoints)
    return piece.cost


@pytest.mark.parametrize('objective', [PathObjective.JOINT_LENGTH, PathObjective.SQUARED_STEPS])
def test_seven_joints_are_no_dearer_than_a_dense_search(panda, objective):
    request = ToolPathRequest(objective=objective)
    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, request)
    assert_valid(panda, path, PANDA_LINE, request)
    assert path.cost <= 1.01 * dense_cost(panda, PANDA_LINE, request)


@pytest.mark.sampled
@pytest.mark.parametrize('objective', PathObjective)
def test_every_objective_gives_a_valid_path(ur5e, objective):
    request = ToolPathRequest(objective=objective, spin_axis=(0, 0, 1))
    path = plan_tool_path(ur5e, arm_of(ur5e), UR_LINE, request)
    assert_valid(ur5e, path, UR_LINE, request, np.array([0.0, 0.0, 1.0]))
    assert path.cost <= 1.01 * dense_cost(ur5e, UR_LINE, request, 180)


def test_six_joints_take_the_cheapest_branch(ur5e):
    request = ToolPathRequest()
    path = plan_tool_path(ur5e, arm_of(ur5e), UR_LINE, request)
    assert_valid(ur5e, path, UR_LINE, request)
    free = plan_tool_path(ur5e, arm_of(ur5e), UR_LINE, spin_axis=(0, 0, 1))
    assert free.cost < path.cost


def test_a_path_keeps_clear_of_an_obstacle_between_waypoints_too(panda):
    post = box((0.08, 0.08, 0.5), (0.25, 0.02, 0.55), 'post')
    request = ToolPathRequest(obstacles=[post], clearance=0.01)
    open_path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, obstacles=[])
    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, request)
    assert_valid(panda, path, PANDA_LINE, request)
    planner = ToolPathPlanner(panda, panda.group('panda_arm'), request)
    exact = planner.obstacles[1]
    assert any(exact.is_colliding(q) for q in open_path.positions), 'the post is in no way'
    for a, b in zip(path.positions[:-1], path.positions[1:], strict=True):
        assert not any(exact.is_colliding(a + t * (b - a)) for t in np.linspace(0.0, 1.0, 7))


def test_corridors_are_compared_on_all_waypoints_where_fewer_are_too_far_apart(panda, monkeypatch):
    """A tool that turns by more than a radian between the waypoints that corridors are compared on."""
    monkeypatch.setattr(waypoint_search, 'ROUGH_LAYERS', 2)
    c, s = (wave(np.linspace(-2.0, 2.0, 40)) for wave in (np.cos, np.sin))
    poses = PANDA_LINE.copy()
    poses[:, :2, 0], poses[:, :2, 1] = np.stack([c, s], axis=1), np.stack([s, -c], axis=1)
    request = ToolPathRequest()
    assert_valid(panda, plan_tool_path(panda, 'panda_arm', poses, request), poses, request)


def test_start_and_end_postures_are_kept(panda):
    free = plan_tool_path(panda, 'panda_arm', PANDA_LINE)
    request = ToolPathRequest(start=free.positions[0], end=free.positions[-1])
    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, request)
    assert np.abs(path.positions[0] - free.positions[0]).max() < 1e-9
    assert np.abs(path.positions[-1] - free.positions[-1]).max() < 1e-9
    assert path.cost <= 1.01 * free.cost


def test_a_plan_has_the_same_bytes_again(panda):
    first, again = (plan_tool_path(panda, 'panda_arm', PANDA_LINE, obstacles=[]) for _ in range(2))
    assert first.positions.tobytes() == again.positions.tobytes()


def test_whole_turns_stay_within_limits(ur5e):
    turns = np.linspace(0.0, 3.0 * np.pi, 120)
    poses = np.repeat(line((0.3, 0.2, 0.4), (0.3, 0.2, 0.4), 2)[:1], len(turns), axis=0)
    for pose, turn in zip(poses, turns, strict=True):
        c, s = np.cos(turn), np.sin(turn)
        pose[:3, :3] = DOWN @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    request = ToolPathRequest()
    path = plan_tool_path(ur5e, arm_of(ur5e), poses, request)
    assert_valid(ur5e, path, poses, request)


def test_locked_joints_stay(panda):
    value = 0.3
    request = ToolPathRequest(locked={'panda_joint3': value})
    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, request)
    assert path.valid and 'panda_joint3' not in path.joint_names
    kinematics = ReferenceKinematics(panda)
    planner = ToolPathPlanner(panda, panda.group('panda_arm'), request)
    state = planner.chain.full_state(path.positions[-1])
    assert state[panda.tree.idx_q[panda.require_joint('panda_joint3')]] == value
    reached = kinematics.link_pose(state, panda.group('panda_arm').tip)
    assert np.abs(reached - PANDA_LINE[-1]).max() < 1e-6


def test_out_of_reach_in_the_middle(panda):
    poses = line((0.45, -0.2, 0.4), (0.45, 0.25, 0.4), 41)
    poses[20:24, 0, 3] = 3.0
    path = plan_tool_path(panda, 'panda_arm', poses)
    assert not path.valid and np.isinf(path.cost)
    assert (path.cause, path.failed_waypoint) == (Cause.UNREACHABLE, 20)
    assert 'Waypoint 20' in path.reason
    assert (path.first_waypoint, len(path.positions)) == (0, 20)


def test_a_wall_in_the_middle(panda):
    wall = box((1.0, 0.02, 2.0), (0.8, 0.1, 0.5), 'wall')
    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, obstacles=[wall])
    assert (path.valid, path.cause) == (False, Cause.COLLISION)
    assert 'wall' in path.reason
    assert 0.0 < PANDA_LINE[path.failed_waypoint][1, 3] < 0.1


def test_branches_that_are_not_joined(ur5e):
    poses = UR_LINE.copy()
    poses[20:, :3, :3] = UR_LINE[0, :3, :3] @ np.diag([1.0, -1.0, -1.0])
    path = plan_tool_path(ur5e, arm_of(ur5e), poses)
    assert not path.valid
    assert (path.cause, path.failed_waypoint) == (Cause.CONSISTENCY, 20)
    assert 'Waypoints 19 and 20' in path.reason
    assert len(path.positions) == 20


@pytest.mark.sampled
@pytest.mark.parametrize(
    'waypoints',
    [
        np.full((3, 4, 4), np.nan),
        PANDA_LINE[:1],
        np.zeros((3, 4, 4)),
        np.broadcast_to(np.eye(4), (1_000_000, 4, 4)),
        PANDA_LINE * np.diag([1.0, 1.0, -1.0, 1.0]),
    ],
)
def test_waypoints_that_are_none_are_refused(panda, waypoints):
    with pytest.raises(InvalidTarget):
        plan_tool_path(panda, 'panda_arm', waypoints)


def test_one_pose_is_no_path(panda):
    with pytest.raises(DimensionMismatch, match=r'waypoints must have the shape \(m, 4, 4\)'):
        plan_tool_path(panda, 'panda_arm', PANDA_LINE[0])


@pytest.mark.parametrize(
    'settings',
    [
        {'largest_turn': 0.0},
        {'largest_turn': np.nan},
        {'clearance': -1.0},
        {'spin_axis': (0.0, 0.0, 0.0)},
        {'locked': {'panda_joint9': 0.0}},
        {'locked': {'panda_joint4': 3.0}},
        {'start': (0.0, 1.0)},
        {'largest_trun': 0.1},
    ],
)
def test_settings_that_make_no_sense_are_refused(panda, settings):
    with pytest.raises(SsikError):
        plan_tool_path(panda, 'panda_arm', PANDA_LINE, **settings)


def test_a_misspelt_setting_names_the_right_one(panda):
    with pytest.raises(InvalidOption, match='largest_turn'):
        plan_tool_path(panda, 'panda_arm', PANDA_LINE, largest_trun=0.1)


def test_a_cancelled_plan_says_so(panda):
    asked = []

    def is_cancelled():
        asked.append(1)
        return len(asked) > 3

    path = plan_tool_path(panda, 'panda_arm', PANDA_LINE, is_cancelled=is_cancelled)
    assert (path.valid, path.cause) == (False, Cause.DEADLINE)
    assert 'cancelled' in path.reason


def test_progress_rises_to_the_end(panda):
    parts = []
    plan_tool_path(
        panda,
        'panda_arm',
        PANDA_LINE,
        report_progress=lambda progress: parts.append(progress.part),
    )
    assert parts == sorted(parts) and parts[-1] <= 1.0 and len(parts) > 2


def self_motion(chain, q, step, count):
    """Return postures (count, n) of one pose, whose fastest joint moves by a step each time, by null vectors."""
    pose, rows, before = chain.pose(q), [q], None
    for _ in range(count - 1):
        along = np.linalg.svd(chain.chain.moved(rows[-1][None]).jacobians()[0])[2][-1]
        along = along if before is None or along @ before > 0.0 else -along
        before, low, high = along, 0.0, 2.0 * step / np.abs(along).max()
        for _ in range(12):
            middle = 0.5 * (low + high)
            posture = moved_back(chain, rows[-1] + middle * along, pose)
            is_long = np.abs(posture - rows[-1]).max() > step
            low, high = (low, middle) if is_long else (middle, high)
        rows.append(moved_back(chain, rows[-1] + low * along, pose))
    return np.array(rows)


def moved_back(chain, q, pose):
    """Return the nearest posture of a pose."""
    for _ in range(3):
        turned = pose[:3, :3] @ chain.pose(q)[:3, :3].T
        turn = 0.5 * (turned - turned.T)[[2, 0, 1], [1, 2, 0]]
        miss = np.concatenate([pose[:3, 3] - chain.pose(q)[:3, 3], turn])
        q = q + np.linalg.pinv(chain.chain.moved(q[None]).jacobians()[0]) @ miss
    return q


@pytest.mark.sampled
@pytest.mark.parametrize(('largest', 'share'), [(0.005, 0.9), (0.02, 0.98), (0.1, 0.98)])
def test_joints_may_move_nearly_as_far_as_they_may_in_every_step(panda, largest, share):
    """From one posture of a pose to another one; the steps of no grid are as large as they may be."""
    chain = ToolPathPlanner(panda, arm_of(panda), ToolPathRequest()).chain
    ends = self_motion(
        chain, np.array([-0.5, -0.4, 0.2, -2.0, 0.1, 1.8, 0.6]), share * largest, 30
    )
    waypoints = np.repeat(chain.pose(ends[0])[None], 30, axis=0)
    request = ToolPathRequest(start=ends[0], end=ends[-1], largest_turn=largest)
    path = plan_tool_path(panda, arm_of(panda), waypoints, request)
    assert_valid(panda, path, waypoints, request)


def test_a_path_needs_no_distance_beyond_the_clearance(ur5e):
    slab = box((0.1, 0.8, 0.02), (0.3, 0.0, 0.35), 'slab')
    free = plan_tool_path(ur5e, arm_of(ur5e), UR_LINE, obstacles=[])
    planner = ToolPathPlanner(ur5e, arm_of(ur5e), ToolPathRequest(obstacles=[slab]))
    room = float(planner.obstacles[1].distances(free.positions, 1.0).min())
    request = ToolPathRequest(obstacles=[slab], clearance=room - 3e-4)
    path = plan_tool_path(ur5e, arm_of(ur5e), UR_LINE, request)
    assert_valid(ur5e, path, UR_LINE, request)
    assert room > 0.01


def test_a_robot_without_collision_geometry_takes_the_same_path_with_checks():
    arm, data = load_arm('irb120'), arm_data('irb120')
    group = arm.group_from_links(data.base_link, data.tip_link)
    chain = ToolChain(arm, group)
    waypoints = chain.poses(np.linspace(0.1, 0.3, 5)[:, None] * [1.0, 2.0, 1.0, 3.0, 5.0, 2.0])
    paths = [
        plan_tool_path(arm, group, waypoints, obstacles=obstacles) for obstacles in (None, [])
    ]
    assert all(path.valid for path in paths)
    assert np.array_equal(paths[0].positions, paths[1].positions)
