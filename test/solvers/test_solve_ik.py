"""PoseIK's own function: targets for links, a state that is updated, a value or an error text."""

import gc
import weakref

from test.solvers.arms import (
    load_arm,
    moved,
    PLANAR_3R,
    tip_poses,
    turned,
    TWO_ARMED,
    TWO_ARMED_SRDF,
)

import numpy as np
import pytest

import ssik_ros
from ssik_ros import PoseIkOptions, PoseTarget, RobotState, solve_ik
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
    InvalidParameter,
    InvalidTarget,
    SolverError,
)
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.results import Cause, IkResult


class Duration:
    """A double of rclpy's Duration."""

    def __init__(self, nanoseconds):
        """Keep the number that rclpy's class offers too."""
        self.nanoseconds = nanoseconds


@pytest.fixture
def panda(robots):
    """Return panda, a random state and a random reachable target of its arm's tip."""
    robot, rng = robots['panda'], np.random.default_rng(31)
    state = RobotState(robot)
    state.set_group_positions('panda_arm', robot.sample(robot.group('panda_arm'), rng))
    q = robot.sample(robot.group('panda_arm'), rng)
    return robot, state, PoseTarget('panda_link8', link_pose(robot, q, 'panda_link8'))


def link_pose(robot, q, link):
    """Return the pose of a link of panda in the root by pinocchio."""
    group = robot.group('panda_arm')
    return tip_poses(robot, group, q, base=robot.tree.root_link, tips=(link,))[0]


def is_at(state, target, tolerance=1e-3):
    """Return whether the target's link is at its pose in a state."""
    reached = ReferenceKinematics(state.robot).link_pose(state.positions, target.link)
    return np.hypot(*ReferenceKinematics.pose_errors(reached, target.pose)) <= tolerance


FAR = PoseTarget('panda_link8', moved(5.0))


def test_a_solution_is_a_value_and_updates_the_state(panda):
    _, state, target = panda
    outcome = solve_ik(state, 'panda_arm', [target])
    assert outcome and outcome.has_value() and outcome.error == ''
    assert (outcome.value() == outcome.q).all()
    assert (state.group_positions('panda_arm') == outcome.q).all()
    assert is_at(state, target)


def test_without_a_solution_there_is_a_text_and_the_state_stays_to_the_bit(panda):
    _, state, _ = panda
    before = state.positions.tobytes()
    outcome = solve_ik(state, 'panda_arm', [FAR])
    assert not outcome and not outcome.has_value() and outcome.q is None
    assert 'out of reach' in outcome.error
    assert state.positions.tobytes() == before


def test_asking_a_failure_for_its_value_is_an_error_that_carries_the_result(panda):
    _, state, _ = panda
    outcome = solve_ik(state, 'panda_arm', [FAR])
    with pytest.raises(SolverError, match='out of reach') as caught:
        outcome.value()
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.result.cause == Cause.UNREACHABLE


def test_an_outcome_holds_the_whole_result(panda):
    _, state, target = panda
    outcome = solve_ik(state, 'panda_arm', [target])
    assert isinstance(outcome.result, IkResult) and outcome.result.solved
    assert (outcome.result.q == outcome.q).all()


def test_without_a_seed_the_search_starts_from_the_state(panda):
    robot, state, target = panda
    start = state.group_positions('panda_arm')
    implicit = solve_ik(state.copy(), 'panda_arm', [target])
    explicit = solve_ik(RobotState(robot), 'panda_arm', [target], seed=start)
    assert (implicit.q == explicit.q).all()
    here = PoseTarget('panda_link8', link_pose(robot, start, 'panda_link8'))
    assert (solve_ik(state, 'panda_arm', [here]).q == start).all()


def test_a_seed_wins_over_the_state(panda):
    robot, state, target = panda
    q = robot.sample(robot.group('panda_arm'), np.random.default_rng(32))
    target = PoseTarget('panda_link8', link_pose(robot, q, 'panda_link8'))
    assert (solve_ik(state, 'panda_arm', [target], q).q == q).all()
    assert (solve_ik(state, 'panda_arm', [target], q.tolist()).q == q).all()


def test_the_group_may_be_given_itself(panda):
    robot, state, target = panda
    by_name = solve_ik(state.copy(), 'panda_arm', [target])
    assert (solve_ik(state, robot.group('panda_arm'), [target]).q == by_name.q).all()


@pytest.mark.parametrize('link', ['panda_link8', 'panda_hand', 'panda_link7', 'panda_link5'])
def test_any_link_that_the_group_moves_can_be_the_target(panda, link):
    robot, state, _ = panda
    q = robot.sample(robot.group('panda_arm'), np.random.default_rng(33))
    target = PoseTarget(link, link_pose(robot, q, link))
    assert solve_ik(state, 'panda_arm', [target])
    assert is_at(state, target)


def test_a_finger_beyond_the_group_is_where_the_state_puts_it(panda):
    robot, state, _ = panda
    state.set_joint_positions({'panda_finger_joint1': 0.03})
    goal = state.copy()
    goal.set_group_positions(
        'panda_arm', robot.sample(robot.group('panda_arm'), np.random.default_rng(34))
    )
    pose = ReferenceKinematics(robot).link_pose(goal.positions, 'panda_leftfinger')
    target = PoseTarget('panda_leftfinger', pose)
    assert solve_ik(state, 'panda_arm', [target])
    assert is_at(state, target)
    assert state.joint_positions('panda_finger_joint1') == [0.03]


def test_one_link_twice_is_an_error_that_names_it(panda):
    _, state, target = panda
    with pytest.raises(InvalidTarget, match='panda_link8'):
        solve_ik(state, 'panda_arm', [target, target])


def test_no_target_at_all_is_an_error(panda):
    _, state, _ = panda
    with pytest.raises(InvalidTarget, match='at least one'):
        solve_ik(state, 'panda_arm', [])


@pytest.mark.parametrize('error', [KeyError, ValueError])
@pytest.mark.parametrize('what', ['link', 'group'])
def test_an_unknown_name_is_an_error_that_names_the_nearest(panda, what, error):
    _, state, target = panda
    group = 'panda_amr' if what == 'group' else 'panda_arm'
    targets = [PoseTarget('panda_link88', target.pose)] if what == 'link' else [target]
    with pytest.raises(error, match='panda_arm' if what == 'group' else 'panda_link8'):
        solve_ik(state, group, targets)


@pytest.mark.parametrize('pose', [np.eye(3), np.zeros(7), np.zeros((1, 4, 4))])
def test_a_pose_of_a_wrong_shape_is_an_error_that_names_the_link(panda, pose):
    _, state, _ = panda
    with pytest.raises((InvalidTarget, DimensionMismatch), match='panda_link8'):
        solve_ik(state, 'panda_arm', [PoseTarget('panda_link8', pose)])


def test_a_pose_that_is_no_rigid_transform_is_an_outcome_without_value(panda):
    _, state, _ = panda
    outcome = solve_ik(state, 'panda_arm', [PoseTarget('panda_link8', 2.0 * np.eye(4))])
    assert not outcome and 'rigid' in outcome.error
    assert outcome.result.cause == Cause.BAD_TARGET


def test_a_seed_of_a_wrong_shape_is_an_error(panda):
    _, state, target = panda
    with pytest.raises(DimensionMismatch, match='7'):
        solve_ik(state, 'panda_arm', [target], seed=np.zeros(6))


@pytest.mark.parametrize('timeout', [None, 0, 0.0, 10, 10.0, Duration(0), Duration(10**10)])
def test_a_timeout_is_a_number_or_a_duration(panda, timeout):
    _, state, target = panda
    outcome = solve_ik(state, 'panda_arm', [target], timeout=timeout)
    assert outcome and not outcome.result.clock_ended


@pytest.mark.parametrize('timeout', [1e-9, Duration(1)])
def test_a_timeout_of_a_nanosecond_ends_the_search(panda, timeout):
    _, state, target = panda
    before = state.positions.tobytes()
    outcome = solve_ik(state, 'panda_arm', [target], timeout=timeout)
    assert outcome.result.clock_ended and 'deadline' in outcome.error
    assert state.positions.tobytes() == before


@pytest.mark.parametrize('timeout', ['0.1', True, [1], float('nan')])
def test_a_timeout_of_another_kind_is_an_error(panda, timeout):
    _, state, target = panda
    with pytest.raises(InvalidOption) as caught:
        solve_ik(state, 'panda_arm', [target], timeout=timeout)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    'params',
    [
        {'target_tolerance': 1e-7},
        {'epsilon': 1e-7, 'damping': 1e-4},
        PoseIkOptions(target_tolerance=1e-7),
    ],
)
def test_params_are_options_or_names_or_aliases(panda, params):
    _, state, target = panda
    assert solve_ik(state, 'panda_arm', [target], params=params)
    assert is_at(state, target, 1.001e-7)


def test_a_misspelt_parameter_is_an_error_that_names_the_nearest(panda):
    _, state, target = panda
    with pytest.raises(InvalidParameter, match='target_tolerance') as caught:
        solve_ik(state, 'panda_arm', [target], params={'target_tolerence': 1e-3})
    assert isinstance(caught.value, ValueError)


def test_params_of_one_call_do_not_stay_for_the_next(panda):
    _, state, target = panda
    plain = solve_ik(state.copy(), 'panda_arm', [target]).q
    solve_ik(state.copy(), 'panda_arm', [target], params={'target_tolerance': 0.1})
    assert (solve_ik(state.copy(), 'panda_arm', [target]).q == plain).all()


def test_validation_sees_the_state_at_the_candidate_the_group_and_the_candidate(panda):
    _, state, target = panda
    seen = []

    def check(candidate_state, group, q):
        seen.append((group.name, is_at(candidate_state, target)))
        assert (candidate_state.group_positions(group) == q).all()
        return True

    assert solve_ik(state, 'panda_arm', [target], validation_fn=check)
    assert seen == [('panda_arm', True)]


def test_a_refused_candidate_is_not_the_solution(panda):
    _, state, target = panda
    seen = []
    outcome = solve_ik(
        state, 'panda_arm', [target], validation_fn=lambda s, g, q: seen.append(q) or len(seen) > 2
    )
    assert outcome and (outcome.q == seen[2]).all() and is_at(state, target)


def test_while_candidates_are_validated_the_state_itself_stays(panda):
    _, state, target = panda
    before = state.positions.tobytes()
    unchanged = []

    def check(candidate_state, group, q):
        unchanged.append(state.positions.tobytes() == before)
        return len(unchanged) > 2

    assert solve_ik(state, 'panda_arm', [target], validation_fn=check)
    assert unchanged == [True, True, True]


def test_an_error_in_validation_comes_through_and_the_state_stays_to_the_bit(panda):
    _, state, target = panda
    before = state.positions.tobytes()

    def fail(candidate_state, group, q):
        candidate_state.set_group_positions(group, np.zeros(7))
        raise ZeroDivisionError('in the callback')

    with pytest.raises(ZeroDivisionError, match='in the callback'):
        solve_ik(state, 'panda_arm', [target], validation_fn=fail)
    assert state.positions.tobytes() == before
    assert solve_ik(state, 'panda_arm', [target])


def test_both_arms_reach_their_targets_and_the_torso_helps():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group, rng = robot.group('upper_body'), np.random.default_rng(35)
    for _ in range(5):
        state = RobotState(robot)
        poses = tip_poses(robot, group, robot.sample(group, rng))
        targets = [PoseTarget(link, pose) for link, pose in zip(group.tips, poses, strict=True)]
        assert solve_ik(state, 'upper_body', targets)
        assert all(is_at(state, target) for target in targets)


def test_the_order_of_targets_does_not_matter():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    group, state = robot.group('upper_body'), RobotState(robot)
    poses = tip_poses(robot, group, np.full(13, 0.3))
    targets = [PoseTarget(link, pose) for link, pose in zip(group.tips, poses, strict=True)]
    assert solve_ik(state, group, targets[::-1])
    assert all(is_at(state, target) for target in targets)


def test_a_turned_torso_outside_the_group_stays_and_is_reckoned_with():
    robot = load_robot(TWO_ARMED, TWO_ARMED_SRDF)
    state = RobotState(robot)
    state.set_joint_positions({'torso': 0.9})
    goal = state.copy()
    goal.set_group_positions('left', np.full(6, 0.4))
    pose = ReferenceKinematics(robot).link_pose(goal.positions, 'left_tool')
    target = PoseTarget('left_tool', pose)
    assert solve_ik(state, 'left', [target])
    assert is_at(state, target) and state.joint_positions('torso') == [0.9]


def test_targets_are_poses_in_the_root_link_of_the_robot():
    robot, _ = load_arm(PLANAR_3R)
    inner = robot.group_from_links('l1', 'tip')
    state = RobotState(robot)
    state.set_joint_positions({'j1': 0.5})
    goal = state.copy()
    goal.set_joint_positions({'j2': 0.7, 'j3': -0.3})
    target = PoseTarget('tip', ReferenceKinematics(robot).link_pose(goal.positions, 'tip'))
    assert solve_ik(state, inner, [target]) and is_at(state, target)
    assert state.joint_positions('j1') == [0.5]


def test_calls_in_a_row_with_other_links_and_groups_do_not_mix(panda):
    robot, _, _ = panda
    q = robot.sample(robot.group('panda_arm'), np.random.default_rng(36))
    for link in ('panda_link8', 'panda_hand', 'panda_link8', 'panda_link6', 'panda_hand'):
        state = RobotState(robot)
        target = PoseTarget(link, link_pose(robot, q, link) @ turned((0, 0, 1), 0.01))
        assert solve_ik(state, 'panda_arm', [target]) and is_at(state, target)


def test_equal_calls_get_equal_bytes(panda):
    _, state, target = panda
    solutions = [solve_ik(state.copy(), 'panda_arm', [target]).q.tobytes() for _ in range(3)]
    assert len(set(solutions)) == 1


def test_a_robot_that_nobody_uses_any_more_is_let_go():
    references = []
    for _ in range(40):
        robot = load_robot(PLANAR_3R)
        group = robot.group_from_links('l0', 'tip')
        target = PoseTarget('tip', tip_poses(robot, group, np.full(3, 0.2))[0])
        assert solve_ik(RobotState(robot), group, [target])
        references.append(weakref.ref(robot))
    del robot, group, target
    gc.collect()
    assert sum(reference() is not None for reference in references) <= 35


def test_the_function_and_its_words_are_on_the_front_page():
    assert ssik_ros.solve_ik is solve_ik and ssik_ros.PoseTarget is PoseTarget
