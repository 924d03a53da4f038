"""Tolerances of waypoints: each plan is within them by other formulas, and more freedom costs no more."""

from test.paths.made_paths import box, DOWN, line, robot

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import InvalidOption, SsikError
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.paths.planner import plan_tool_path, ToolPathPlanner
from ssik_ros.paths.pose_freedom import PoseFreedom
from ssik_ros.paths.requests import (
    ANY_ANGLE,
    PathObjective,
    PathPenalties,
    PathTolerance,
    ToolPathRequest,
)
from ssik_ros.paths.rotations import rotation_vectors, rotations, tilts_of

LINE = line((0.3, -0.3, 0.4), (0.3, 0.3, 0.4), 24)
TOLERANCES = {
    'spin about x': PathTolerance(axis=(1, 0, 0), spin=ANY_ANGLE),
    'spin about any axis': PathTolerance(axis=(0.2, -0.4, 1), spin=ANY_ANGLE),
    'part of a turn': PathTolerance(spin=(-0.3, 0.5)),
    'cone': PathTolerance(cone=0.2),
    'cone and spin': PathTolerance(cone=0.15, spin=ANY_ANGLE),
    'box': PathTolerance(position=((-0.02, -0.01, 0.0), (0.02, 0.01, 0.03))),
    'roll, pitch, yaw': PathTolerance(roll=(-0.1, 0.2), pitch=(-0.1, 0.0), yaw=(-0.3, 0.3)),
    'all': PathTolerance(cone=0.1, spin=ANY_ANGLE, position=((-0.01,) * 3, (0.01,) * 3)),
}

SLOW = ('cone and spin', 'all')


@pytest.fixture(scope='module')
def ur5e():
    """Return the UR5e."""
    return robot('ur5e')


def group_of(model):
    """Return the group of an arm."""
    return next(group for group in model.groups.values() if len(group.joint_names) in (6, 7))


def reached_poses(model, group, path, locked=()):
    """Return the poses of the tip in the base frame by pinocchio."""
    kinematics, poses = ReferenceKinematics(model), []
    for q in path.positions:
        state = model.default_positions()
        for name, value in dict(locked).items():
            state[model.tree.idx_q[model.require_joint(name)]] = value
        for name, value in zip(path.joint_names, q, strict=True):
            state[model.tree.idx_q[model.require_joint(name)]] = value
        base = kinematics.link_pose(state, group.base_link)
        poses.append(np.linalg.inv(base) @ kinematics.link_pose(state, group.tips[0]))
    return np.array(poses)


def assert_within(tolerance, waypoint, reached):
    """Check one pose by the rotations of SciPy."""
    between = np.linalg.inv(waypoint) @ reached
    low, high = (np.asarray(corner) for corner in tolerance.position)
    assert (between[:3, 3] >= low - 1e-6).all() and (between[:3, 3] <= high + 1e-6).all()
    turned = Rotation.from_matrix(between[:3, :3])
    angles = np.array([tolerance.yaw, tolerance.pitch, tolerance.roll])
    if angles.any():
        euler = turned.as_euler('ZYX')
        assert (euler >= angles[:, 0] - 1e-6).all() and (euler <= angles[:, 1] + 1e-6).all()
        return
    axis = np.asarray(tolerance.axis, dtype=float) / np.linalg.norm(tolerance.axis)
    there = turned.apply(axis)
    tilt = np.arctan2(np.linalg.norm(np.cross(axis, there)), axis @ there)
    assert tilt <= tolerance.cone + 1e-6
    if tilt < 1e-6 and tolerance.spin != ANY_ANGLE:
        spin = turned.as_rotvec() @ axis
        assert tolerance.spin[0] - 1e-6 <= spin <= tolerance.spin[1] + 1e-6


@pytest.mark.sampled
@pytest.mark.parametrize(
    'name',
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TOLERANCES],
)
def test_postures_are_within_their_tolerance_and_cost_no_more(ur5e, name):
    group, tolerance = group_of(ur5e), TOLERANCES[name]
    exact = plan_tool_path(ur5e, group, LINE)
    path = plan_tool_path(ur5e, group, LINE, tolerance=tolerance)
    assert path.valid, path.reason
    for waypoint, reached in zip(LINE, reached_poses(ur5e, group, path), strict=True):
        assert_within(tolerance, waypoint, reached)
    assert path.lower_bound <= path.cost < exact.cost
    assert np.abs(np.diff(path.positions, axis=0)).max() <= 0.35


@pytest.mark.slow
def test_each_waypoint_has_a_tolerance_of_its_own(ur5e):
    group, kinds = group_of(ur5e), [None, TOLERANCES['cone'], TOLERANCES['box'], None]
    tolerances = [kinds[k % 4] for k in range(len(LINE))]
    tolerances[5] = PathTolerance(roll=(-0.2, 0.2))
    path = plan_tool_path(ur5e, group, LINE, tolerance=tolerances)
    assert path.valid, path.reason
    for each, waypoint, reached in zip(
        tolerances, LINE, reached_poses(ur5e, group, path), strict=True
    ):
        assert_within(each or PathTolerance(), waypoint, reached)


@pytest.mark.parametrize('name', TOLERANCES)
def test_numbers_of_a_pose_give_the_pose_again(name):
    rng, count = np.random.default_rng(1), 50
    freedom = PoseFreedom([TOLERANCES[name]], count)
    rows, waypoints = np.arange(count), np.tile(np.eye(4), (count, 1, 1))
    waypoints[:, :3, :3] = Rotation.random(count, random_state=1).as_matrix()
    values = rng.uniform(freedom.lower, freedom.upper)[:, freedom.columns]
    reached = freedom.poses(waypoints, rows, freedom.clip(rows, values))
    miss = freedom.miss(rows, waypoints, reached)
    assert max(miss.position.max(), miss.angle.max()) < 1e-9
    again = freedom.numbers_of(rows, waypoints, reached)[:, freedom.columns]
    assert np.abs(freedom.poses(waypoints, rows, again) - reached).max() < 1e-9


def test_poses_outside_a_tolerance_are_told():
    rows, waypoints = np.zeros(1, dtype=int), np.eye(4)[None]
    outside = np.eye(4)
    outside[:3, 3] = 0.03, 0.0, 0.0
    outside[:3, :3] = Rotation.from_rotvec([0.3, 0.0, 0.0]).as_matrix()
    miss = PoseFreedom([PathTolerance(cone=0.2, position=((-1, 0, 0), (0.01, 0, 0)))], 1).miss(
        rows, waypoints, outside[None]
    )
    assert miss.position[0] == pytest.approx(0.02) and miss.angle[0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    'tolerance',
    [
        PathTolerance(spin=(0.5, -0.5)),
        PathTolerance(spin=('0', '1')),
        PathTolerance(cone=-0.1),
        PathTolerance(cone='0.1'),
        PathTolerance(cone=np.nan),
        PathTolerance(axis=(0, 0, 0), spin=ANY_ANGLE),
        PathTolerance(position=((0, 0), (1, 1))),
        PathTolerance(spin=ANY_ANGLE, roll=(0.0, 0.1)),
        PathTolerance(pitch=(-2.0, 2.0)),
        PathTolerance(position=((-1e9,) * 3, (1e9,) * 3)),
        [None, None],
    ],
)
def test_tolerances_that_make_no_sense_are_refused(ur5e, tolerance):
    with pytest.raises(SsikError):
        plan_tool_path(ur5e, group_of(ur5e), LINE, tolerance=tolerance)


def test_an_arm_of_five_joints_finds_the_spin_itself(ur5e):
    group, locked = group_of(ur5e), {'wrist_3_joint': 0.4}
    path = plan_tool_path(ur5e, group, LINE, spin_axis=(0, 0, 1), locked=locked)
    assert path.valid, path.reason
    assert path.positions.shape == (len(LINE), 5)
    tolerance = PathTolerance(spin=ANY_ANGLE)
    for waypoint, reached in zip(LINE, reached_poses(ur5e, group, path, locked), strict=True):
        assert_within(tolerance, waypoint, reached)
    with pytest.raises(SsikError, match='five joints'):
        plan_tool_path(ur5e, group, LINE, locked=locked)


def circle(count, radius=0.1):
    """Return the poses of a circle, the first one again at the end."""
    angles = np.linspace(0.0, 2.0 * np.pi, count)
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = DOWN
    poses[:, :3, 3] = np.array([0.45, 0.0, 0.35]) + radius * np.stack(
        [np.cos(angles), np.sin(angles), 0.0 * angles], axis=1
    )
    return poses


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_closed_paths_end_where_they_begin(name):
    model, spin = robot(name), (0, 0, 1) if name == 'ur5e' else None
    poses, group = circle(60), group_of(model)
    path = plan_tool_path(model, group, poses, spin_axis=spin, is_closed=True)
    assert path.valid, path.reason
    assert np.abs(path.positions[-1] - path.positions[0]).max() < 1e-6
    free = plan_tool_path(model, group, poses, spin_axis=spin)
    assert free.cost <= path.cost * 1.001 and path.cost < 1.5 * free.cost


@pytest.mark.parametrize('row', [None, 0, -1])
def test_an_open_path_cannot_be_closed(ur5e, row):
    group = group_of(ur5e)
    settings = {} if row is None else {'start': plan_tool_path(ur5e, group, LINE).positions[row]}
    with pytest.raises(InvalidOption, match='misses the '):
        plan_tool_path(ur5e, group, LINE, is_closed=True, **settings)


def test_joints_move_freely_between_passes(ur5e):
    first, second = (
        line((0.4, -0.3, 0.4), (0.4, -0.1, 0.4), 12),
        line((0.4, 0.1, 0.4), (0.4, 0.3, 0.4), 12),
    )
    poses, group = np.concatenate([first, second]), group_of(ur5e)
    largest = 0.08
    joined = plan_tool_path(ur5e, group, poses, largest_turn=largest)
    path = plan_tool_path(ur5e, group, poses, largest_turn=largest, passes=[12])
    steps = np.abs(np.diff(path.positions, axis=0)).max(axis=1)
    assert path.valid and not joined.valid and joined.failed_waypoint == 12
    assert steps[11] > largest and np.delete(steps, 11).max() <= largest
    for passes in ([0], [24], [5, 3]):
        with pytest.raises(SsikError):
            plan_tool_path(ur5e, group, poses, passes=passes)


def test_no_joint_is_too_fast_at_the_tool_speed(ur5e):
    group, velocity = group_of(ur5e), 3.1
    slow = plan_tool_path(ur5e, group, LINE, tool_speed=0.1)
    spans = np.diff(slow.times)
    assert slow.valid and np.allclose(spans, 0.6 / 23 / 0.1)
    used = np.abs(np.diff(slow.positions, axis=0)).max(axis=1) / spans
    share = plan_tool_path(
        ur5e, group, LINE, tool_speed=0.1, objective=PathObjective.LARGEST_SPEED
    )
    assert used.max() < velocity and share.cost <= used.max() / velocity * 1.05
    assert not plan_tool_path(ur5e, group, LINE, tool_speed=50.0).valid


def test_penalties_lead_away_from_limits_and_obstacles():
    model = robot('panda')
    poses, group = line((0.45, -0.2, 0.4), (0.45, 0.25, 0.4), 20), group_of(model)
    planner = ToolPathPlanner(model, group, ToolPathRequest())
    chain = planner.chain.chain

    def margin(q):
        margins = np.minimum(q - chain.lower, chain.upper - q) / (chain.upper - chain.lower)
        return margins.min()

    plain = plan_tool_path(model, group, poses)
    careful = plan_tool_path(
        model, group, poses, penalties=PathPenalties(limits=50.0, limit_zone=0.3)
    )
    assert careful.valid and margin(careful.positions) > margin(plain.positions)
    assert careful.penalty > 0.0 and careful.cost >= plain.cost - 1e-6
    post = box((0.08, 0.08, 0.5), (0.25, 0.02, 0.55), 'post')
    near = plan_tool_path(model, group, poses, obstacles=[post])
    far = plan_tool_path(
        model, group, poses, obstacles=[post], penalties=PathPenalties(obstacles=20.0)
    )
    exact = ToolPathPlanner(model, group, ToolPathRequest(obstacles=[post])).obstacles[1]
    assert exact.distances(far.positions, 0.1).min() > exact.distances(near.positions, 0.1).min()
    with pytest.raises(SsikError):
        plan_tool_path(model, group, poses, penalties=PathPenalties(obstacles=1.0))


def test_singular_postures_cost_what_they_are_told_to(ur5e):
    group = group_of(ur5e)
    costs = ToolPathPlanner(
        ur5e, group, ToolPathRequest(penalties=PathPenalties(singularities=3.0))
    ).costs
    stretched = np.zeros(6)
    bent = np.array([0.0, -1.2, 1.6, -2.0, -1.57, 0.0])
    values = costs.values(np.array([stretched, bent]), np.zeros(6))
    assert values[0] == pytest.approx(3.0, abs=1e-6) and values[1] < 2.0


def test_the_deviation_between_waypoints_is_never_above_what_is_told(ur5e):
    group, poses = group_of(ur5e), line((0.3, -0.3, 0.4), (0.3, 0.3, 0.4), 8)
    path = plan_tool_path(ur5e, group, poses)
    planner, worst = ToolPathPlanner(ur5e, group, ToolPathRequest()), 0.0
    for part in np.linspace(0.0, 1.0, 101):
        q = path.positions[:-1] + part * np.diff(path.positions, axis=0)
        there = poses[:-1, :3, 3] + part * np.diff(poses[:, :3, 3], axis=0)
        reached = planner.chain.poses(q)[:, :3, 3]
        worst = max(worst, np.linalg.norm(reached - there, axis=1).max())
    assert 0.5 * path.deviation < worst <= path.deviation
    refused = plan_tool_path(ur5e, group, poses, largest_deviation=0.5 * worst)
    assert not refused.valid and 'leave its tolerance' in refused.reason
    fine = plan_tool_path(ur5e, group, LINE, largest_deviation=0.5 * worst)
    assert fine.valid


def test_corners_are_cut_by_no_more_than_they_may(ur5e):
    first, second = (
        line((0.4, -0.2, 0.4), (0.4, 0.2, 0.4), 20),
        line((0.4, 0.2, 0.4), (0.2, 0.2, 0.4), 12),
    )
    poses, group = np.concatenate([first, second[1:]]), group_of(ur5e)
    path = plan_tool_path(ur5e, group, poses, corner=0.01, largest_turn=0.5)
    reached = reached_poses(ur5e, group, path)
    deviations = np.linalg.norm(reached[:, :3, 3] - poses[:, :3, 3], axis=1)
    assert path.valid and 0.005 < deviations.max() <= 0.0100001 and (deviations > 1e-6).sum() < 12
    steps = np.diff(reached[:, :3, 3], axis=0)
    units = steps / np.linalg.norm(steps, axis=1)[:, None]
    assert np.arccos(np.clip((units[:-1] * units[1:]).sum(axis=1), -1, 1)).max() < 1.2


def test_a_narrow_tolerance_costs_no_more_than_none_on_seven_joints():
    model = robot('panda')
    poses, group = line((0.45, -0.2, 0.4), (0.45, 0.25, 0.4), 40), group_of(model)
    exact = plan_tool_path(model, group, poses)
    path = plan_tool_path(model, group, poses, tolerance=PathTolerance(cone=0.2))
    assert path.valid and path.cost <= exact.cost


@pytest.mark.parametrize('flip', [(1, -1, -1), (-1, 1, -1)])
@pytest.mark.parametrize('tolerance', ['cone and spin', 'none'])
def test_a_pose_that_looks_the_other_way_is_outside_by_half_a_turn(flip, tolerance):
    cone = 0.1 if tolerance != 'none' else 0.0
    spin = (-np.pi, np.pi) if cone else (0.0, 0.0)
    freedom = PoseFreedom([PathTolerance(cone=cone, spin=spin)], 1)
    reached = np.diag([*map(float, flip), 1.0])
    miss = freedom.miss(np.array([0]), np.eye(4)[None], reached[None])
    assert miss.angle[0] == pytest.approx(np.pi - cone, abs=1e-12)


def test_rotation_vectors_and_tilts_of_half_turns():
    rng = np.random.default_rng(4)
    axes = rng.standard_normal((20, 3))
    axes = np.vstack([axes / np.linalg.norm(axes, axis=1)[:, None], np.eye(3)])
    turned = 2.0 * axes[:, :, None] * axes[:, None] - np.eye(3)
    assert np.abs(rotations(rotation_vectors(turned)) - turned).max() < 1e-9
    # An axis across the half turn's axis is turned to its opposite.
    across = np.cross(axes, np.roll(axes, 1, axis=0))
    across /= np.linalg.norm(across, axis=1)[:, None]
    tilted = rotations(tilts_of(across, turned))
    assert np.abs(np.einsum('kij,kj->ki', tilted, across) + across).max() < 1e-9
