"""
Promise 1, verified or refused: a claimed solution holds at exactly the vector that was returned.

Judged by :mod:`xml_walker`. Conversely, a refusal names the cause that kept the solver from a solution.
"""

import math

from test.promises.shipped_arms import Arm, assert_holds, LINKS, load_arm, make_arm, TOLERANCE
from test.promises.xml_walker import FloatArray

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, IkResult, IkStatus

HINGE = """
<robot name="hinge">
  <link name="base"/><link name="door"/>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="door"/><axis xyz="0 0 1"/>
    <limit lower="-0.5" upper="0.5" effort="1" velocity="1"/>
  </joint>
</robot>
"""
FEW = settings(derandomize=True, deadline=None, max_examples=40)
LIMITED_SEARCHES = 200
"""Starts for poses that have no solution."""


@pytest.fixture(params=LINKS)
def arm(request: pytest.FixtureRequest) -> Arm:
    return load_arm(request.param)


def box_around(arm: Arm, centre: FloatArray, width: float) -> dict[str, FloatArray]:
    """Return the limits of a request that leave every joint a narrow range."""
    return {'lower': centre - width, 'upper': centre + width}


def assert_refused(result: IkResult, status: IkStatus, cause: Cause) -> None:
    """Check a result without solutions."""
    assert (result.status, result.cause, len(result.solutions)) == (status, cause, 0)
    assert result.nearest is not None and not result.solved


@pytest.mark.slow
def test_reachable_poses_are_found_and_hold(arm: Arm) -> None:
    for target, seed in arm.reachable(500, seed=1):
        assert_holds(arm, arm.ask(target, seed), target)


def test_a_tighter_tolerance_is_kept(arm: Arm) -> None:
    for target, seed in arm.reachable(20, seed=2):
        assert_holds(arm, arm.ask(target, seed, tolerance=1e-8), target, 1e-8)


@pytest.mark.parametrize('part', ['position', 'orientation'])
def test_one_part_in_reach_does_not_excuse_the_other(arm: Arm, part: str) -> None:
    """The seed meets one part of the target exactly and misses the other by a little."""
    for target, seed in arm.reachable(20, seed=3):
        start = arm.ask(target, seed, tolerance=1e-8).solutions[0]
        asked = target.copy()
        if part == 'position':
            asked[:3, 3] += 3e-3 * target[:3, 0]
        else:
            asked[:3, :3] = target[:3, :3] @ Rotation.from_rotvec([3e-3, 0.0, 0.0]).as_matrix()
        result = arm.ask(asked, start, max_searches=LIMITED_SEARCHES)
        assert result.cause in (Cause.NONE, Cause.LIMITS)
        if result.solved:
            assert_holds(arm, result, asked)


def test_seeds_outside_the_limits_are_brought_inside(arm: Arm) -> None:
    generator = np.random.default_rng(4)
    for target, _ in arm.reachable(50, seed=4):
        seed = generator.uniform(-15.0, 15.0, len(arm.chain.names))
        assert_holds(arm, arm.ask(target, seed), target)


def test_every_one_of_many_solutions_holds_and_differs(arm: Arm) -> None:
    for target, seed in arm.reachable(10, seed=5):
        result = arm.ask(target, seed, max_solutions=6, max_searches=LIMITED_SEARCHES)
        assert_holds(arm, result, target)
        distances = np.linalg.norm(result.solutions[:, None] - result.solutions[None], axis=2)
        assert (distances + np.eye(len(distances)) > 1e-9).all()


def test_solutions_pulled_towards_the_seed_hold_and_are_no_farther(arm: Arm) -> None:
    solver = arm.solver_with(solve_mode='optimize_distance', optimization_timeout=10.0)
    for target, seed in arm.reachable(20, seed=6):
        first = arm.ask(target, seed)
        request = SolveRequest(targets=target, seed=seed, max_searches=40)
        nearest = solver.solve(request)
        assert_holds(arm, nearest, target)
        changes = np.array([nearest.solutions[0], first.solutions[0]]) - seed
        changes -= np.where(
            np.isinf(arm.chain.lower), math.tau * np.round(changes / math.tau), 0.0
        )
        # Within the tolerance of the pose either may lie a little nearer.
        assert np.linalg.norm(changes[0]) <= np.linalg.norm(changes[1]) + 0.02


@given(q=st.lists(st.floats(-6.28, 6.28), min_size=6, max_size=6), turn=st.integers(0, 63))
@FEW
def test_ranges_of_two_turns_keep_the_seeds_turn(q: list[float], turn: int) -> None:
    arm = load_arm('ur5e')
    seed = np.clip(q, arm.chain.lower + 0.01, arm.chain.upper - 0.01)
    flips = np.array([math.tau * (turn >> k & 1) for k in range(6)])
    other = np.where(seed > 0.0, seed - flips, seed + flips)
    target = arm.chain.pose(other)
    # A solution on another turn would be more than six radians away.
    result = arm.ask(target, seed)
    assert_holds(arm, result, target)
    assert np.abs(result.solutions[0] - seed).max() < 1e-2


def test_350_degrees_has_a_solution_near_350_degrees() -> None:
    arm = load_arm('ur5e')
    solution = np.radians([-10.0, -60.0, 80.0, -110.0, -90.0, 20.0])
    seed = solution + np.array([math.tau + 0.02, 0.02, -0.02, 0.02, -0.02, 0.02])
    target = arm.chain.pose(solution)
    result = arm.ask(target, seed)
    assert_holds(arm, result, target)
    assert math.degrees(result.solutions[0][0]) == pytest.approx(350.0, abs=2.0)


@pytest.mark.parametrize('turned', [47.0, -47.0, 3.2, 1000.0])
def test_continuous_joints_stay_within_half_a_turn_of_the_seed(turned: float) -> None:
    arm = load_arm('gen3')
    continuous = np.isinf(arm.chain.lower)
    for target, seed in arm.reachable(30, seed=7):
        far = np.where(continuous, seed + turned, seed)
        result = arm.ask(target, far)
        assert_holds(arm, result, target)
        assert np.abs(result.solutions[0] - far)[continuous].max() <= math.pi + ROOM


ROOM = 1e-9
"""Rounding of an angle of a thousand radians, with room to spare."""


def test_a_turn_too_far_for_its_digits_is_not_claimed() -> None:
    """At 3e13 rad neighbouring numbers are 4e-3 rad apart: a shifted angle is another pose."""
    arm = load_arm('gen3')
    continuous = np.isinf(arm.chain.lower)
    for target, seed in arm.reachable(20, seed=8):
        far = np.where(continuous, 3e13 + seed, seed)
        result = arm.ask(target, far, max_searches=20)
        if result.solved:
            assert_holds(arm, result, target)


def test_the_limits_of_a_request_are_kept(arm: Arm) -> None:
    generator = np.random.default_rng(9)
    for _ in range(20):
        q = arm.chain.sample(generator)
        limits = box_around(arm, q, 0.3)
        seed = q + generator.uniform(-0.3, 0.3, len(q))
        target = arm.chain.pose(q)
        result = arm.ask(target, seed, max_solutions=3, max_searches=LIMITED_SEARCHES, **limits)
        assert_holds(arm, result, target)
        assert (result.solutions >= limits['lower']).all()
        assert (result.solutions <= limits['upper']).all()


def test_joints_are_held_and_distances_from_the_seed_kept(arm: Arm) -> None:
    generator = np.random.default_rng(10)
    first = arm.chain.names[0]
    width = np.full(len(arm.chain.names), 0.4)
    for _ in range(20):
        q = arm.chain.sample(generator)
        seed = np.clip(q + generator.uniform(-0.2, 0.2, len(q)), arm.chain.lower, arm.chain.upper)
        target = arm.chain.pose(q)
        held = arm.ask(target, seed, locked={first: q[0]})
        assert_holds(arm, held, target)
        assert held.solutions[0][0] == q[0]
        near = arm.ask(target, seed, consistency_limits=width)
        assert_holds(arm, near, target)
        assert np.abs(near.solutions[0] - seed).max() <= 0.4


def test_what_lies_beyond_the_links_is_unreachable(arm: Arm) -> None:
    for target, seed in arm.reachable(20, seed=11):
        target[:3, 3] *= 5.0 / np.linalg.norm(target[:3, 3])
        assert_refused(arm.ask(target, seed), IkStatus.UNSOLVED, Cause.UNREACHABLE)


@pytest.mark.sampled
def test_what_lies_just_out_of_reach_is_never_claimed(arm: Arm) -> None:
    generator = np.random.default_rng(12)
    poses = [arm.chain.pose(arm.chain.sample(generator)) for _ in range(300)]
    farthest = sorted(poses, key=lambda pose: -float(np.linalg.norm(pose[:3, 3])))[:20]
    for target in farthest:
        target[:3, :3] = poses[0][:3, :3]
        target[:3, 3] *= 1.05
        result = arm.ask(target, max_searches=LIMITED_SEARCHES)
        if result.solved:
            assert_holds(arm, result, target)
        else:
            causes = (Cause.UNREACHABLE, Cause.LIMITS, Cause.BUDGET, Cause.NOT_FOUND)
            assert result.status == IkStatus.UNSOLVED and result.cause in causes


def test_limits_are_named_when_only_they_refuse(arm: Arm) -> None:
    generator = np.random.default_rng(13)
    for _ in range(10):
        q, centre = arm.chain.sample(generator), arm.chain.sample(generator)
        limits = box_around(arm, centre, 0.02)
        limits = {
            'lower': np.maximum(limits['lower'], arm.chain.lower),
            'upper': np.minimum(limits['upper'], arm.chain.upper),
        }
        result = arm.ask(arm.chain.pose(q), max_searches=LIMITED_SEARCHES, **limits)
        assert_refused(result, IkStatus.UNSOLVED, Cause.LIMITS)


@pytest.mark.parametrize('angle', [0.51, 1.0, -0.7, 3.0])
def test_a_hinge_does_not_open_further_than_it_can(angle: float) -> None:
    arm = make_arm('hinge', HINGE, 'base', 'door')
    target = arm.chain.pose(np.array([angle]))
    result = arm.ask(target, max_searches=LIMITED_SEARCHES)
    assert_refused(result, IkStatus.UNSOLVED, Cause.LIMITS)


@pytest.mark.parametrize('angle', [0.5, -0.5, 0.0])
def test_a_closed_limit_belongs_to_the_range(angle: float) -> None:
    arm = make_arm('hinge', HINGE, 'base', 'door')
    target = arm.chain.pose(np.array([angle]))
    assert_holds(arm, arm.ask(target), target)


def bad_targets() -> dict[str, FloatArray]:
    """Return matrices that are no poses."""
    wrong = {name: np.eye(4) for name in ('nan', 'inf', 'huge', 'scaled', 'mirrored', 'row')}
    wrong['nan'][0, 3] = np.nan
    wrong['inf'][2, 2] = np.inf
    wrong['huge'][:3, :3] *= 1e200
    wrong['scaled'][:3, :3] *= 1.1
    wrong['mirrored'][0, 0] = -1.0
    wrong['row'][3, 0] = 0.5
    return {**wrong, 'zero': np.zeros((4, 4)), 'sheared': np.eye(4) + 0.1 * np.eye(4, k=1)}


@pytest.mark.parametrize('name', bad_targets())
def test_what_is_no_pose_is_refused(name: str) -> None:
    result = load_arm('fanuc').ask(bad_targets()[name])
    assert_refused(result, IkStatus.REFUSED, Cause.BAD_TARGET)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_a_seed_that_is_not_finite_is_refused(arm: Arm, value: float) -> None:
    (target, seed), *_ = arm.reachable(1, seed=14)
    for index in range(len(seed)):
        bad = seed.copy()
        bad[index] = value
        assert_refused(arm.ask(target, bad), IkStatus.REFUSED, Cause.BAD_STATE)


def test_after_a_refusal_the_solver_gives_the_results_of_before(arm: Arm) -> None:
    (target, seed), *_ = arm.reachable(1, seed=15)
    before = arm.ask(target, seed)
    arm.ask(bad_targets()['nan'], seed)
    arm.ask(target, np.full(len(seed), np.nan))
    after = arm.ask(target, seed)
    assert after.solutions.tobytes() == before.solutions.tobytes()


def test_a_validation_that_refuses_everything_is_the_cause(arm: Arm) -> None:
    for target, seed in arm.reachable(5, seed=16):
        result = arm.ask(target, seed, validate=lambda q: False, max_searches=30)
        assert_refused(result, IkStatus.UNSOLVED, Cause.VALIDATION)


def test_validation_sees_only_what_holds_and_its_verdict_counts(arm: Arm) -> None:
    for target, seed in arm.reachable(10, seed=17):
        seen: list[FloatArray] = []

        def refuse_the_first(q: FloatArray, seen: list[FloatArray] = seen) -> bool:
            seen.append(q)
            return len(seen) > 1

        request = {'validate': refuse_the_first, 'max_searches': LIMITED_SEARCHES}
        result = arm.ask(target, seed, **request)
        for q in seen:
            assert np.hypot(*arm.chain.errors(q, target)) <= TOLERANCE + ROOM
            assert arm.chain.is_inside(q)
        if result.solved:
            assert_holds(arm, result, target)
            assert len(seen) == 2 and np.array_equal(seen[1], result.solutions[0])
        else:
            assert (result.cause, len(seen)) == (Cause.VALIDATION, 1)
