"""The state of a viewer without a viewer: targets, branches, causes, remedies, undo."""

from test.view.made_arms import two_arms

import numpy as np
import pytest

from ssik_ros.errors import InvalidTarget, SsikError
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.server.requests.ik_requests import Branch, BranchOptions, FramedPose, IkRequest
from ssik_ros.view.relaxations import Relaxations
from ssik_ros.view.remedies import find_remedies
from ssik_ros.view.sessions.session import choose_different, MOST_FOUND, Session

TOLERANCE = 2e-3
"""Norm of the error of the default solver [m and rad], and room for its rounding."""


def session_of(name='panda', group='panda_arm'):
    files = find_moveit_config(name)
    robot = load_robot(files.urdf_path, files.srdf_path)
    return Session(robot, robot.group(group))


def distance(session):
    """Return how far the tip is from its target, by forward kinematics."""
    (link, target), *_ = session.targets.items()
    return np.abs(session.tip_pose(link) - target).max()


def moved(session, *by):
    pose = session.targets[session.tips[0]].copy()
    pose[:3, 3] += by
    return pose


def test_the_posture_follows_a_dragged_target_within_the_limits():
    session = session_of()
    for _ in range(20):
        session.move_target(session.tips[0], moved(session, 0.01, 0.005, -0.01))
        assert session.outcome.solved and distance(session) < TOLERANCE
        assert (session.lower <= session.joints).all() and (session.joints <= session.upper).all()


def test_targets_follow_the_joints():
    session = session_of()
    q = session.joints + 0.1
    session.set_joints(q)
    assert (session.joints == q).all() and distance(session) == 0.0
    session.set_joints(np.full(7, 100.0))
    assert (session.joints == session.upper).all()


@pytest.mark.parametrize(
    'q', [np.zeros(6), np.zeros((7, 1)), np.full(7, np.nan), np.full(7, np.inf), 'abc', None]
)
def test_joints_that_are_none_are_refused(q):
    session = session_of()
    before = session.joints
    with pytest.raises(InvalidTarget, match='7 joint variables'):
        session.set_joints(q)
    assert (session.joints == before).all()


def test_each_branch_reaches_the_target_and_differs_from_the_shown_posture():
    session = session_of('ur5e', 'ur_manipulator')
    session.set_joints(np.array((0.3, -1.2, 1.4, -0.9, 1.1, 0.2)))
    session.complete()
    assert len(session.branches) == 7
    for branch in session.branches:
        state = session.state_with(branch.positions)
        link = session.tips[0]
        assert np.abs(session.tip_pose(link, state) - session.targets[link]).max() < TOLERANCE
        assert np.abs(branch.positions - session.joints).max() > 0.05
    session.take(session.branches[3])
    assert distance(session) < TOLERANCE
    session.complete()
    assert len(session.branches) == 7


def test_the_branches_of_a_seven_joint_arm_that_are_shown_have_all_labels_and_differ():
    session = session_of()
    session.set_joints(np.array((0.4, -0.5, 0.2, -2.0, 0.1, 1.7, 0.6)))
    session.complete()
    (link, target), *_ = session.targets.items()
    pose = FramedPose(session.robot.model_frame, target)
    request = IkRequest(
        session.group.name,
        [link],
        [pose],
        timeout=1.0,
        avoid_collisions=session.avoids_collisions,
        branches=BranchOptions(MOST_FOUND),
    )
    branches = session.server.solve_all(request, session.state).branches
    assert len(branches) > 40 and len(session.branches) == session.most_branches == 8
    signs = [branch.label.partition(' at ')[0] for branch in branches if branch.distance > 0.05]
    assert {b.label.partition(' at ')[0] for b in session.branches} == set(signs)
    distances = [branch.distance for branch in session.branches]
    assert distances == sorted(distances) and '8 are shown' in session.branches_text
    q = np.array([session.joints, *(branch.positions for branch in session.branches)])
    apart = np.abs(q[:, None] - q).max(axis=2) + 9.0 * np.eye(len(q))
    nearest = np.array([session.joints, *(branch.positions for branch in branches[1:9])])
    crowded = np.abs(nearest[:, None] - nearest).max(axis=2) + 9.0 * np.eye(len(nearest))
    assert apart.min() > 2.0 * crowded.min()


def test_windings_come_as_branches_when_they_are_wanted():
    session = session_of('ur5e', 'ur_manipulator')
    session.wants_windings = True
    session.complete()
    assert len(session.branches) == session.most_branches
    assert any(any(branch.windings) for branch in session.branches)


def test_a_target_out_of_reach_has_a_cause_a_nearest_posture_and_comes_back():
    session = session_of()
    home = session.targets[session.tips[0]].copy()
    session.move_target(session.tips[0], moved(session, 3.0, 0.0, 0.0))
    assert session.outcome.cause == Cause.UNREACHABLE and 'out of reach' in session.outcome.text
    before = session.joints
    session.complete()
    assert not session.branches and session.explanation is not None
    assert (session.joints != before).any() and distance(session) > 1.0
    assert session.explanation.advice
    session.move_target(session.tips[0], home)
    session.complete()
    assert session.outcome.solved and session.explanation is None


def limited_session():
    """Return a session whose target only a limit keeps away, and the joint of that limit."""
    session = session_of('ur5e', 'ur_manipulator')
    files = find_moveit_config('ur5e')
    limits = {'joint_limits': {'elbow_joint': {'max_position': 0.5, 'min_position': -0.5}}}
    for joint in limits['joint_limits'].values():
        joint['has_position_limits'] = True
    robot = load_robot(files.urdf_path, files.srdf_path, limits)
    narrow = Session(robot, robot.group('ur_manipulator'))
    q = np.array((0.3, -1.2, 1.4, -0.9, 1.1, 0.2))
    narrow.move_target('tool0', session.tip_pose('tool0', session.state_with(q)))
    narrow.complete()
    return narrow


def test_a_released_limit_helps_and_can_be_taken_back():
    session = limited_session()
    assert session.outcome.cause == Cause.LIMITS
    remedies = {remedy.label: remedy.relaxations for remedy in find_remedies(session)}
    assert 'Release the limit of elbow_joint' in remedies
    session.relax(remedies['Release the limit of elbow_joint'])
    assert (
        session.outcome.solved and abs(session.joints[2]) > 0.5 and distance(session) < TOLERANCE
    )
    assert session.relaxations.describe() == ["The limits of 'elbow_joint' do not count."]
    session.relax(Relaxations())
    assert not session.outcome.solved and (np.abs(session.joints) <= session.upper).all()


def test_a_free_orientation_helps():
    session = limited_session()
    label = 'Leave the orientation free'
    remedy = next(r for r in find_remedies(session) if r.label == label)
    session.relax(remedy.relaxations)
    link = session.tips[0]
    gap = np.linalg.norm(session.tip_pose(link)[:3, 3] - session.targets[link][:3, 3])
    assert session.outcome.solved == (gap < TOLERANCE)


def colliding_session():
    """Return a session whose only posture collides with itself, while collisions are avoided."""
    session = session_of()
    rng = np.random.default_rng(5)
    session.avoids_collisions = True
    for _ in range(400):
        session.set_joints(session.robot.sample(session.group, rng))
        session.check_collisions()
        if not session.contacts:
            continue
        session.solve()
        session.complete()
        if session.outcome.cause == Cause.COLLISION:
            return session
    raise AssertionError('no posture whose collision cannot be avoided')


def test_colliding_links_may_touch_if_the_user_says_so():
    session = colliding_session()
    remedies = [r for r in find_remedies(session) if 'touch' in r.label]
    assert remedies and remedies[0].relaxations.pairs
    first, second = remedies[0].relaxations.pairs[0]
    session.relax(remedies[0].relaxations)
    session.complete()
    touching = {frozenset((c.first, c.second)) for c in session.contacts}
    assert frozenset((first, second)) not in touching


def test_letting_one_pair_touch_keeps_the_choice_of_the_checker_without_a_semantic_description():
    files = find_moveit_config('panda')
    robot = load_robot(files.urdf_path)
    session = Session(robot, robot.group_from_links('panda_link0', 'panda_link8'))
    ready = np.array((0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785))
    session.set_joints(ready)
    session.complete()
    assert not session.contacts and not session.unchecked
    session.relax(Relaxations().with_pair('panda_link1', 'panda_link7'))
    session.set_joints(ready)
    session.complete()
    assert not session.contacts


def test_undo_returns_postures_and_targets_in_order():
    session = session_of()
    shown = []
    for action in (session.go_anywhere, session.go_anywhere, session.go_home):
        shown.append((session.joints.copy(), session.targets[session.tips[0]].copy()))
        action()
    for q, target in reversed(shown):
        assert session.undo()
        assert (session.joints == q).all() and (session.targets[session.tips[0]] == target).all()
    assert not session.undo()


def test_a_refused_change_leaves_nothing_to_undo():
    session = session_of()
    with pytest.raises(InvalidTarget), session.undo_step():
        session.set_joints(np.full(7, np.nan))
    assert not session.undo()


def test_a_state_that_is_refused_is_not_begun_at():
    session = session_of()
    shown = session.state
    with pytest.raises(InvalidTarget, match='finite'):
        session.begin_at(session.state_with(np.full(7, np.nan)))
    assert session.state is shown


def test_random_postures_are_the_same_in_each_session():
    first, second = session_of(), session_of()
    for session in (first, second):
        session.go_anywhere()
    assert (first.joints == second.joints).all()


def test_another_solver_solves_and_a_wrong_parameter_is_named():
    session = session_of()
    session.use_solver('ssik_ros/LevenbergMarquardt', {'ilimit': 50})
    session.move_target(session.tips[0], moved(session, 0.05, 0.0, 0.0))
    assert session.outcome.solved and session.outcome.seconds > 0.0
    before = session.kinematics
    with pytest.raises(SsikError, match='ilimit'):
        session.use_solver('ssik_ros/LevenbergMarquardt', {'ilimitt': 50})
    assert session.kinematics is before


def test_another_solver_keeps_the_scene_and_what_is_relaxed():
    session = session_of()
    session.relax(Relaxations(orientation=True))
    scene = session.server.scene
    session.use_solver('ssik_ros/LevenbergMarquardt', {})
    # The meshes of the robot are not read again.
    assert session.server.scene is scene
    served = session.server.groups[session.group.name].kinematics
    assert served.position_only and served.solver == session.kinematics.solver
    session.relax(Relaxations())
    assert not session.server.groups[session.group.name].kinematics.position_only


def test_two_arms_have_a_target_each():
    robot = two_arms()
    session = Session(robot, robot.group('both'))
    session.go_anywhere()
    left, right = session.tips
    session.move_target(left, moved(session, 0.0, 0.02, 0.02))
    assert session.outcome.solved
    for link in (left, right):
        assert np.abs(session.tip_pose(link) - session.targets[link]).max() < TOLERANCE


def test_a_second_solver_gets_the_same_requests_and_moves_nothing():
    session = session_of()
    session.compare_with('ssik_ros/GaussNewton')
    session.move_target(session.tips[0], moved(session, 0.03, 0.0, 0.0))
    assert session.outcome.solved and session.rival_outcome.solved
    assert session.rival_outcome.seconds > 0.0 and session.rival_outcome.iterations > 0
    with pytest.raises(SsikError, match='There is no solver'):
        session.compare_with('ssik_ros/GausNewton')
    session.solve()
    assert session.rival == 'ssik_ros/GaussNewton' and session.rival_outcome is not None
    session.compare_with('')
    session.solve()
    assert session.rival_outcome is None


@pytest.mark.parametrize(
    ('values', 'most', 'chosen'),
    [
        ([0.1, 0.1, 0.1], 2, [0.1]),
        ([0.1, 0.2, 0.5, 0.2], 3, [0.1, 0.2, 0.5]),
    ],
)
def test_equal_branches_are_chosen_once(values, most, chosen):
    branches = [
        Branch(np.full(2, value), 0.0, 0.0, value, 1.0, 'elbow +', 0, ()) for value in values
    ]
    different = choose_different(branches, np.zeros(2), most)
    assert [branch.distance for branch in different] == chosen
