"""
Steps shorter than the tolerance move the arm: control loops ask for nothing else.

A tolerance decides which searches succeed. Solutions are exact to a micrometre where the arm can reach the pose.
"""

from typing import Any

from test.promises.shipped_arms import catalogue_chain
from test.promises.xml_walker import FloatArray

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros import Manipulator

ARMS = ('panda', 'ur5e', 'gen3_6dof', 'irb6700')
SEARCHES = (
    'ssik_ros/PoseIK',
    'ssik_ros/LevenbergMarquardt',
    'ssik_ros/GaussNewton',
    'ssik_ros/NewtonRaphson',
)
SOLVERS = ('ssik_ros/Auto', *SEARCHES)
EXACT = 1e-6
"""Largest norm over position [m] and rotation [rad] error of a solution."""
READY = {
    # Far from singular postures.
    'panda': (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    'ur5e': (0.4, -1.3, 1.4, -1.5, -1.4, 0.3),
    'gen3_6dof': (0.2, -0.5, 1.2, 0.4, 0.9, -0.3),
    'irb6700': (0.3, 0.2, 0.3, 0.5, 0.8, -0.4),
}
RATES = [(speed, rate) for speed in (0.005, 0.02, 0.1, 0.5) for rate in (50.0, 250.0, 1000.0)]
"""Speeds of the tip [m/s] and rates of a control loop [1/s]."""


@pytest.fixture(scope='module', params=ARMS)
def arm(request: pytest.FixtureRequest) -> Manipulator:
    return Manipulator.from_prebuilt(request.param)


@pytest.fixture(scope='module', params=SOLVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ready(arm: Manipulator) -> FloatArray:
    return np.array(READY[arm.robot.name])


def ask(
    arm: Manipulator, name: str, target: FloatArray, seed: FloatArray, **parameters: Any
) -> FloatArray:
    """Return the joint values that a solver returns."""
    solution = arm.solve(target, seed=seed, method=name, max_solutions=1, **parameters)
    assert solution, f'{name}: {solution.reason}'
    return np.array(solution[0].q)


def error(arm: Manipulator, q: FloatArray, target: FloatArray) -> float:
    """Return the norm over position [m] and rotation [rad] error; infinite outside the limits."""
    chain = catalogue_chain(arm.robot.name)
    return float(np.hypot(*chain.errors(q, target))) if chain.is_inside(q) else np.inf


def moved(pose: FloatArray, shift: FloatArray, turn: FloatArray) -> FloatArray:
    """Return a pose (4, 4) that is moved by a shift (3,) and turned by a rotation vector (3,)."""
    result = pose.copy()
    result[:3, 3] += shift
    result[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ pose[:3, :3]
    return result


@pytest.mark.sampled
def test_no_step_is_too_short_to_be_made(arm: Manipulator, name: str) -> None:
    rng, seed = np.random.default_rng(7), ready(arm)
    for length in np.geomspace(1e-5, 2e-3, 24):
        q = seed + rng.uniform(-0.3, 0.3, arm.dof)
        shift, turn = rng.normal(size=(2, 3))
        shift, turn = length * shift / np.linalg.norm(shift), 0.3 * length * turn
        target = moved(arm.fk(q), shift, turn)
        solution = ask(arm, name, target, q)
        assert error(arm, solution, target) <= EXACT
        assert 0.0 < np.abs(solution - q).max() < 0.2


@pytest.mark.sampled
@pytest.mark.parametrize(('speed', 'rate'), RATES)
def test_a_control_loop_follows_its_line(
    arm: Manipulator, name: str, speed: float, rate: float
) -> None:
    q = ready(arm)
    start, step = arm.fk(q), np.array([0.6, -0.48, 0.64]) * speed / rate
    for count in range(1, 11):
        # As Servo: from the pose where the arm is by its joints.
        q_next = ask(arm, name, moved(arm.fk(q), step, np.zeros(3)), q)
        assert (q_next != q).any()
        q = q_next
        assert np.linalg.norm(arm.fk(q)[:3, 3] - start[:3, 3] - count * step) <= count * EXACT


@pytest.mark.sampled
def test_a_line_of_half_millimetres_repeats_no_point(arm: Manipulator, name: str) -> None:
    q = ready(arm)
    start, previous, steps = arm.fk(q), q, []
    for count in range(1, 41):
        target = moved(start, np.array([0.0, 0.0003, -0.0004]) * count, np.zeros(3))
        q = ask(arm, name, target, previous)
        assert error(arm, q, target) <= EXACT
        steps.append(float(np.linalg.norm(q - previous)))
        previous = q
    assert max(steps) < 1.5 * np.median(steps)
    assert min(steps) > 0.5 * np.median(steps)


@pytest.mark.sampled
@pytest.mark.parametrize('tolerance', [1e-5, 1e-3, 1e-2])
def test_solutions_are_exact_whatever_the_tolerance(
    arm: Manipulator, name: str, tolerance: float
) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = ready(arm) + rng.uniform(-0.4, 0.4, arm.dof)
        seed = ready(arm) + rng.uniform(-0.4, 0.4, arm.dof)
        target = arm.fk(q)
        solution = ask(arm, name, target, seed, target_tolerance=tolerance)
        assert error(arm, solution, target) <= EXACT


def test_a_seed_that_reaches_the_pose_comes_back_bit_by_bit(arm: Manipulator, name: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        q = ready(arm) + rng.uniform(-0.4, 0.4, arm.dof)
        assert ask(arm, name, arm.fk(q), q).tobytes() == q.tobytes()


@pytest.mark.sampled
def test_many_poses_are_exact_too(arm: Manipulator) -> None:
    rng = np.random.default_rng(5)
    seed = ready(arm)
    targets = np.array([arm.fk(seed + rng.uniform(-0.01, 0.01, arm.dof)) for _ in range(40)])
    for method in SOLVERS:
        batch = arm.solve_batch(targets, seed, method=method, max_solutions=1)
        assert (batch.counts == 1).all()
        for q, target in zip(batch.q, targets, strict=True):
            assert error(arm, q, target) <= EXACT


@pytest.mark.sampled
def test_anywhere_a_step_covers_most_of_its_way(arm: Manipulator, name: str) -> None:
    """At random postures, where the branch may end before the target does."""
    rng = np.random.default_rng(9)
    lower, upper = np.array([limit or (-3.0, 3.0) for limit in arm.joint_limits]).T
    for length in np.geomspace(1e-5, 2e-3, 60):
        q = rng.uniform(0.95 * lower, 0.95 * upper)
        direction = rng.normal(size=3)
        target = moved(arm.fk(q), length * direction / np.linalg.norm(direction), np.zeros(3))
        solution = ask(arm, name, target, q)
        assert (solution != q).any()
        # A stretched arm goes no further out on its branch.
        goes_on = any(np.abs(each.q - q).max() < 0.5 for each in arm.solve(target, seed=q))
        assert error(arm, solution, target) < (0.5 if goes_on else 1.0) * length


@pytest.mark.parametrize('name', SEARCHES)
def test_beside_a_straight_wrist_a_search_stays_on_its_branch(name: str) -> None:
    arm, rng = Manipulator.from_prebuilt('irb6700'), np.random.default_rng(6)
    for bend in (0.0, 1e-6, 1e-4, 1e-3, 1e-2):
        q = np.array([0.3, 0.2, 0.3, 0.5, bend, -0.4])
        for length in (1e-5, 1e-4, 8e-4):
            turn = rng.normal(size=3)
            target = moved(arm.fk(q), np.zeros(3), length * turn / np.linalg.norm(turn))
            solution = ask(arm, name, target, q)
            assert error(arm, solution, target) < length
            assert np.abs(solution - q).max() < 1.6


def test_a_pose_that_is_met_within_the_tolerance_only_is_still_a_solution() -> None:
    """Five joints meet a pose at most nearly; so do arms at their limits."""
    arm = Manipulator.from_prebuilt('xarm5')
    rng = np.random.default_rng(8)
    q = np.array([0.3, -0.4, -0.6, 0.9, 0.2])
    for _ in range(10):
        target = moved(arm.fk(q), np.zeros(3), rng.normal(size=3) * 2e-4)
        for method in SEARCHES:
            solution = ask(arm, method, target, q)
            assert error(arm, solution, target) <= 1e-3
