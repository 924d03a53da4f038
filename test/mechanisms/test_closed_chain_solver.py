"""ssik_ros/ClosedChain: ordinary groups judged by pinocchio, groups of robots with loops by closed forms."""

import math

from test.mechanisms.mechanisms import BASE_RADIUS, hexagon, LEG_OFFSET, PLATFORM_RADIUS

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.cli.command import main
from ssik_ros.errors import ConfigError
from ssik_ros.mechanisms import load_mechanism
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkStatus
from ssik_ros.solvers.registry import create_solver

NAME = 'ssik_ros/ClosedChain'


@pytest.fixture(scope='module')
def panda():
    """Return (solver, function from group positions to the pose of the tip)."""
    files = find_moveit_config('panda')
    robot = load_robot(files.urdf_path, files.srdf_path)
    group = robot.group('panda_arm')
    reference = ReferenceKinematics(robot)

    def pose(q):
        full = robot.default_positions()
        full[group.idx_q] = q
        return reference.group_tip_poses(full, group)[0]

    return create_solver(NAME, robot, group), pose, group


def draw(group, rng):
    return group.lower + (group.upper - group.lower) * rng.uniform(0.1, 0.9, len(group.lower))


def test_an_ordinary_arm_reaches_its_poses(panda):
    solver, pose, group = panda
    rng = np.random.default_rng(2)
    for _ in range(25):
        target = pose(draw(group, rng))
        result = solver.solve(SolveRequest(targets=target, seed=draw(group, rng)))
        assert result.solved, result.summary()
        assert np.abs(pose(result.q) - target).max() < 2e-3
        assert (result.q >= group.lower).all() and (result.q <= group.upper).all()
        again = solver.solve(SolveRequest(targets=target, seed=result.q, tolerance=1e-7))
        assert np.abs(pose(again.q) - target).max() < 1e-6


def test_a_request_is_kept_to(panda):
    solver, pose, group = panda
    rng = np.random.default_rng(3)
    q = draw(group, rng)
    target, seed = pose(q), np.clip(q + 0.2, group.lower, group.upper)
    held = solver.solve(SolveRequest(targets=target, seed=seed, locked={'panda_joint3': q[2]}))
    assert held.solved and held.q[2] == q[2]
    upper = group.upper.copy()
    upper[0] = q[0] - 0.1
    below = solver.solve(SolveRequest(targets=target, seed=seed, upper=upper))
    assert below.solved and below.q[0] <= upper[0]
    several = solver.solve(SolveRequest(targets=target, seed=seed, max_solutions=3))
    assert len(several.solutions) == 3
    for one in several.solutions:
        assert np.abs(pose(one) - target).max() < 2e-3
    other = solver.solve(
        SolveRequest(targets=target, seed=seed, validate=lambda q: q[0] > several.q[0] + 0.1)
    )
    assert other.solved and other.q[0] > several.q[0] + 0.1
    none = solver.solve(SolveRequest(targets=target, seed=seed, validate=lambda q: False))
    assert (none.status, none.cause) == (IkStatus.UNSOLVED, Cause.VALIDATION)
    tool = np.eye(4)
    tool[:3, 3] = 0.1, 0.0, 0.2
    moved = solver.solve(SolveRequest(targets=target @ tool, seed=seed, tool_offsets=tool))
    assert moved.solved and np.abs(pose(moved.q) - target).max() < 2e-3


def test_a_search_ends_when_it_is_told_to(panda):
    solver, pose, group = panda
    far = pose(group.lower)
    # Inside the shoulder: near enough for the links, but they do not fold that far.
    far[:3, 3] = 0.0, 0.0, 0.333
    result = solver.solve(SolveRequest(targets=far, seed=group.lower, timeout=1e-4))
    assert result.cause == Cause.DEADLINE and result.clock_ended
    stop = np.ones(1, dtype=np.int64)
    result = solver.solve(SolveRequest(targets=far, seed=group.lower, cancel=stop))
    assert result.cause == Cause.DEADLINE and result.searches <= 1
    assert solver.solve(SolveRequest(targets=far, seed=group.lower)).cause == Cause.LIMITS
    far[:3, 3] += 5.0
    result = solver.solve(SolveRequest(targets=far, seed=group.lower))
    assert result.cause == Cause.UNREACHABLE
    assert np.isfinite(result.residual) and result.q @ result.q > 0.0
    assert solver.solve(SolveRequest(targets=far * np.nan)).cause == Cause.BAD_TARGET


def test_limits_are_the_cause_where_the_target_is_reached_without_them(panda):
    solver, pose, group = panda
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = draw(group, rng)
        lower, upper = q - 0.05, q + 0.05
        upper[0] = q[0] - 0.3
        lower[0] = q[0] - 0.5
        ask = SolveRequest(targets=pose(q), seed=upper, lower=lower, upper=upper, max_searches=3)
        result = solver.solve(ask)
        assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.LIMITS)
        assert (result.q >= lower).all() and (result.q <= upper).all()
        assert result.searches == 3
        # With the other joints locked, no value of the first one helps.
        locked = {f'panda_joint{k + 1}': q[k] + 0.2 for k in range(1, 7)}
        ask = SolveRequest(targets=pose(q), seed=q, locked=locked, max_searches=3)
        assert solver.solve(ask).cause == Cause.BUDGET


def test_a_position_alone_leaves_the_orientation_free(panda):
    _, pose, group = panda
    solver = create_solver(NAME, panda[0].robot, group, position_only=True)
    target = pose(draw(group, np.random.default_rng(4)))
    target[:3, :3] = Rotation.from_rotvec([2.0, 0.5, 1.0]).as_matrix()
    result = solver.solve(SolveRequest(targets=target, seed=0.5 * (group.lower + group.upper)))
    assert result.solved
    assert np.abs(pose(result.q)[:3, 3] - target[:3, 3]).max() < 1e-3


@pytest.fixture(scope='module')
def hexapod():
    urdf, loops = mechanism_files('hexapod')
    robot = load_robot(urdf)
    group = robot.group_from_links('base', 'platform')
    solver = create_solver(NAME, robot, group, {'loop_closures_file': str(loops)})
    home = load_mechanism('hexapod').initial_state
    return solver, np.array([home[name] for name in group.variable_names])


def test_a_platform_goes_where_its_legs_are_long_enough(hexapod):
    """Solved exactly where the closed form has every leg within its limits: the loops decide."""
    solver, home = hexapod
    assert '6 loops' in solver.reason
    base = hexagon(BASE_RADIUS, 0.25, 0.0)
    ends = hexagon(PLATFORM_RADIUS, 0.25, math.pi / 3)[[5, 0, 1, 2, 3, 4]]
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(30):
        target = np.eye(4)
        target[:3, 3] = np.array([0, 0, 0.0975]) + rng.uniform(-0.02, 0.02, 3)
        target[:3, :3] = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix()
        slides = (
            np.linalg.norm(ends @ target[:3, :3].T + target[:3, 3] - base, axis=1) - LEG_OFFSET
        )
        room = min((slides - 0.035).min(), (0.08 - slides).min())
        if abs(room) < 2e-3:
            continue
        result = solver.solve(SolveRequest(targets=target, seed=home, max_searches=5))
        assert result.solved == (room > 0.0), (room, result.summary())
        seen.add(result.solved)
        if result.solved:
            assert np.abs(result.q[:3] - target[:3, 3]).max() < 1e-3
    assert seen == {True, False}


def test_an_open_loop_is_no_solution_however_near_the_tip_is(hexapod):
    solver, home = hexapod
    target = np.eye(4)
    # Every leg would have to be about a centimetre longer than it can be.
    target[2, 3] = 0.135
    result = solver.solve(SolveRequest(targets=target, seed=home, tolerance=0.05, max_searches=3))
    assert (result.status, result.cause) == (IkStatus.UNSOLVED, Cause.LOOP)


def test_a_wrong_file_of_loops_is_refused(tmp_path):
    path = tmp_path / 'loops.yaml'
    path.write_text('loop: {}\n')
    robot = load_robot(mechanism_files('hexapod')[0])
    group = robot.group_from_links('base', 'platform')
    with pytest.raises(ConfigError, match='loops'):
        create_solver(NAME, robot, group, {'loop_closures_file': str(path)})


def test_the_command_solves_with_it(capsys):
    words = ['solve', '--robot', 'panda', '--group', 'panda_arm', '--solver', NAME]
    assert main([*words, '--pose', '0.4', '0', '0.5', '1', '0', '0', '0']) == 0
    assert NAME in capsys.readouterr().out
