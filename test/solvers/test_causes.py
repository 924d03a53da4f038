"""Causes of failures: facts about the robot are proved, and every other cause only says that a search failed."""

from test.solvers.arms import chain, describe, joint, X, Y, Z

import numpy as np
import pinocchio
import pytest
from scipy.optimize import least_squares

from ssik_ros import Manipulator
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import Cause, CAUSE_TEXT
from ssik_ros.solvers.closed_form.batch import search_batch
from ssik_ros.solvers.closed_form.branch_request import PLAIN
from ssik_ros.solvers.closed_form.held_proof import AbsenceCauses
from ssik_ros.solvers.registry import create_solver

TURN = '-3.1 3.1'
SOLVERS = ('Auto', 'PoseIK', 'LevenbergMarquardt', 'NewtonRaphson', 'GaussNewton')
ALL = (*SOLVERS, 'Analytic')
GANTRY_WITH_WRIST = chain(
    ('prismatic', '0 0 0', X, '-1 1'),
    ('prismatic', '0 0 0', Y, '-1 1'),
    ('prismatic', '0 0 2', Z, '-1 0'),
    ('revolute', '0 0 0', Z, TURN),
    ('revolute', '0 0 0', Y, TURN),
    ('revolute', '0 0 0', Z, TURN),
)
NARROW_SCARA = chain(
    ('revolute', '0 0 0.4', Z, TURN),
    ('revolute', '0.4 0 0', Z, '-2.5 2.5'),
    ('prismatic', '0.3 0 0', Z, '-0.2 0.1'),
    ('revolute', '0 0 0', Z, TURN),
    tool='0 0 0',
)


def rail(length, arm='ur5e'):
    """Return an arm of the catalogue on a rail that is not at right angles to its first axis."""
    text = f"""<link name="rail_base"/>
    <joint name="rail" type="prismatic"><parent link="rail_base"/><child link="base_link"/>
      <origin xyz="0.2 0 0.5" rpy="0.1 0 0.3"/><axis xyz="0 1 0"/>
      <limit lower="-{length}" upper="{length}" effort="1" velocity="1"/></joint>
    <link name="base_link" />"""
    return make_urdf(arm_data(arm)).replace('<link name="base_link" />', text)


BEYOND_A_SLIDE = {
    'scara': (NARROW_SCARA, 'l0', 'tip', [0.3, -0.7, 0.11, -0.4]),
    'gantry': (GANTRY_WITH_WRIST, 'l0', 'tip', [1.5, 0.3, -0.2, 0.4, 0.8, 1.1]),
    'rail': (rail(1), 'rail_base', 'tool0', [2.5, 0.3, -1.2, 1.4, -0.8, 1.1, 0.5]),
    'far along a rail': (rail(1), 'rail_base', 'tool0', [50.0, 0.3, -1.2, 1.4, -0.8, 1.1, 0.5]),
}
"""Robots, and postures of which only the slide is outside its limits."""


def load(text, base, tip):
    """Return a robot, its group, and poses by kinematics that share no code with the solvers."""
    robot = load_robot(text)
    group = robot.group_from_links(base, tip)
    kinematics = ReferenceKinematics(robot)

    def pose(q):
        state = robot.default_positions()
        state[group.idx_q] = q
        return np.linalg.inv(kinematics.link_pose(state, base)) @ kinematics.link_pose(state, tip)

    return robot, group, pose


@pytest.mark.parametrize('solver', ALL)
@pytest.mark.parametrize('case', BEYOND_A_SLIDE)
def test_what_only_the_limits_of_a_slide_keep_away_is_not_called_unreachable(case, solver):
    text, base, tip, q = BEYOND_A_SLIDE[case]
    robot, group, pose = load(text, base, tip)
    result = create_solver(f'ssik_ros/{solver}', robot, group).solve(SolveRequest(pose(q)))
    assert not result.solved and result.cause is Cause.LIMITS
    assert 'the joint limits keep the target out of reach' in result.summary()


@pytest.mark.parametrize('solver', SOLVERS)
def test_limits_of_slides_are_proved_to_be_the_cause_without_a_start(solver):
    text, base, tip, q = BEYOND_A_SLIDE['rail']
    robot, group, pose = load(text, base, tip)
    result = create_solver(f'ssik_ros/{solver}', robot, group).solve(SolveRequest(pose(q)))
    assert (result.cause, result.searches, result.is_proved) == (Cause.LIMITS, 0, True)
    assert 'proved by the geometry of its links' in result.summary()


@pytest.mark.parametrize('solver', ALL)
def test_what_no_slide_leads_to_is_unreachable_whatever_the_limits(solver):
    robot, group, pose = load(NARROW_SCARA, 'l0', 'tip')
    aside = pose([0.3, -0.7, 0.0, -0.4])
    aside[0, 3] += 3.0
    result = create_solver(f'ssik_ros/{solver}', robot, group).solve(SolveRequest(aside))
    assert (result.cause, result.is_proved) == (Cause.UNREACHABLE, True)


@pytest.mark.parametrize('solver', SOLVERS)
def test_beside_a_rail_a_pose_is_unreachable_and_along_it_the_limits_are_the_cause(solver):
    robot, group, pose = load(rail(1), 'rail_base', 'tool0')
    asked = create_solver(f'ssik_ros/{solver}', robot, group)
    q = np.array([0.2, 0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    along = pose(q + np.eye(7)[0]) - pose(q)
    shifted = pose(q)
    shifted[:3, 3] += 4.0 * np.cross(along[:3, 3], [0.0, 0.0, 1.0])
    assert asked.solve(SolveRequest(shifted)).cause is Cause.UNREACHABLE
    # A position far along the rail does not change this.
    shifted[:3, 3] += 300.0 * along[:3, 3]
    assert asked.solve(SolveRequest(shifted)).cause is Cause.UNREACHABLE
    assert asked.solve(SolveRequest(pose(q + 300.0 * np.eye(7)[0]))).cause is Cause.LIMITS


@pytest.mark.sampled
@pytest.mark.parametrize('solver', ['LevenbergMarquardt', 'PoseIK', 'Auto'])
def test_no_pose_that_longer_slides_would_reach_is_called_unreachable(solver):
    rng = np.random.default_rng(11)
    for _ in range(25):
        joints = []
        for slides in rng.permutation([True, True, *[False] * rng.integers(2, 5)]):
            axis = ' '.join(f'{value:g}' for value in rng.choice(np.eye(3), 1)[0])
            xyz = ' '.join(f'{value:.3f}' for value in rng.uniform(-0.3, 0.3, 3))
            kind, limit = ('prismatic', '-0.2 0.3') if slides else ('revolute', TURN)
            joints.append((kind, xyz, axis, limit))
        robot, group, pose = load(chain(*joints), 'l0', 'tip')
        asked = create_solver(f'ssik_ros/{solver}', robot, group)
        slides = np.array([entry[0] == 'prismatic' for entry in joints])
        for far in (0.5, 3.0, 100.0):
            q = rng.uniform(-3.0, 3.0, len(joints))
            q[slides] = far * rng.choice([-1.0, 1.0], slides.sum())
            result = asked.solve(SolveRequest(pose(q)))
            assert result.solved or result.cause is not Cause.UNREACHABLE


def test_a_tip_that_no_slide_moves_is_unreachable_beside_one_on_a_slide():
    robot = load_robot(
        describe(
            joint('lift', 'prismatic', 'base', 'a', '0 0 1', Z, '-0.5 0.5'),
            joint('swing', 'revolute', 'a', 'left', '0.4 0 0', Z, TURN),
            joint('left_tip', 'fixed', 'left', 'one', '0.2 0 0'),
            joint('first', 'revolute', 'base', 'b', '0 1 0', Z, TURN),
            joint('second', 'revolute', 'b', 'c', '0.4 0 0', Y, TURN),
            joint('right_tip', 'fixed', 'c', 'two', '0.3 0 0'),
        ),
        """<robot name="made"><group name="left"><chain base_link="base" tip_link="one"/></group>
        <group name="right"><chain base_link="base" tip_link="two"/></group>
        <group name="both"><group name="left"/><group name="right"/></group></robot>""",
    )
    group = robot.group('both')
    kinematics = ReferenceKinematics(robot)
    state = robot.default_positions()
    poses = np.array([kinematics.link_pose(state, link) for link in group.tips])
    asked = create_solver('ssik_ros/PoseIK', robot, group)
    assert asked.solve(SolveRequest(poses)).solved
    up, sideways = poses.copy(), poses.copy()
    up[group.tips.index('one'), 2, 3] += 2.0
    sideways[group.tips.index('two'), 0, 3] += 2.0
    assert asked.solve(SolveRequest(up)).cause is Cause.LIMITS
    assert asked.solve(SolveRequest(sideways)).cause is Cause.UNREACHABLE


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_search_with_a_locked_joint_that_does_not_converge_says_nothing_of_the_arm(solver):
    arm = Manipulator.from_prebuilt('ur5e')
    target = arm.fk([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])
    asked = create_solver(f'ssik_ros/{solver}', arm.robot, arm.group)
    result = asked.solve(SolveRequest(target, locked={arm.joint_names[2]: 0.7}))
    assert not result.solved and result.cause is Cause.NOT_FOUND
    assert result.searches >= 100 and not result.is_proved
    assert 'no start of the search converged' in result.summary()
    assert 'out of reach' not in result.summary() and 'proved' not in result.summary()


@pytest.mark.parametrize('solver', SOLVERS)
def test_looking_for_the_nearest_posture_keeps_the_cause_that_is_proved(solver):
    for case, cause in (('rail', Cause.LIMITS), (None, Cause.UNREACHABLE)):
        text, base, tip, q = BEYOND_A_SLIDE[case or 'scara']
        robot, group, pose = load(text, base, tip)
        target = pose(q)
        target[0, 3] += 0.0 if case else 3.0
        asked = create_solver(f'ssik_ros/{solver}', robot, group)
        result = asked.solve(SolveRequest(target, wants_nearest=True))
        assert result.cause is cause and result.iterations > 0


def least_error(pose, target, near, starts=10):
    """Return the least error norm that Levenberg-Marquardt of SciPy reaches, from starts near a posture and anywhere."""
    rng = np.random.default_rng(1)
    nearby = near + 0.1 * rng.normal(size=(starts, len(near)))
    anywhere = rng.uniform(-np.pi, np.pi, (starts, len(near)))

    def error(q):
        return pinocchio.log6(pinocchio.SE3(np.linalg.inv(target) @ pose(q))).vector

    searches = (
        least_squares(error, q, method='lm', xtol=1e-14, ftol=1e-14, gtol=1e-14)
        for q in (*nearby, *anywhere)
    )
    return min(np.linalg.norm(search.fun) for search in searches)


@pytest.mark.parametrize('name', ['ur5e', 'puma560'])
def test_poses_just_beside_what_is_reached_are_solved_and_no_reached_one_is_unreachable(name):
    """
    The closed form proves something of the exact pose only, so that UNREACHABLE is a proof for the exact pose.

    Whether a pose within the tolerance is reached, a search has to find, and nearly always does.
    """
    arm = arm_data(name)
    robot, group, pose = load(make_urdf(arm), arm.base_link, arm.tip_link)
    asked = create_solver('ssik_ros/Auto', robot, group)
    rng, causes, refused = np.random.default_rng(0), [], []
    lower, upper = np.clip((group.lower, group.upper), -3.1, 3.1)
    for _ in range(2000):
        q, seed = rng.uniform(lower, upper), rng.uniform(lower, upper)
        # Stretched: half of the poses nearby have no exact branch.
        q[2] = 0.0 if name == 'ur5e' else q[2]
        target, aside = pose(q), rng.normal(size=3)
        target[:3, 3] += rng.uniform(1e-4, 9e-4) * aside / np.linalg.norm(aside)
        causes.append(asked.solve(SolveRequest(target, seed=seed)).cause)
        if causes[-1] is Cause.UNREACHABLE:
            refused.append((target, q))
    assert refused, 'the seed of the draws gives poses to judge'
    assert min(least_error(pose, target, q) for target, q in refused[:10]) > 1e-6
    assert causes.count(Cause.NONE) >= 1990
    assert len(refused) <= 3


@pytest.mark.parametrize(('joint', 'is_singular'), [(1, False), (1, True), (4, True)])
def test_every_surface_gives_one_cause_for_a_pose_that_limits_exclude(joint, is_singular):
    """At a singular pose, branches outside the limits prove nothing, because others may be missing."""
    files = find_moveit_config('ur5e')
    name = load_robot(files.urdf_path, files.srdf_path).group('ur_manipulator').joint_names[joint]
    limits = {'joint_limits': {name: {'min_position': 1.0, 'max_position': 1.3}}}
    robot = load_robot(files.urdf_path, files.srdf_path, limits)
    group = robot.group('ur_manipulator')
    closed, auto = (
        create_solver(f'ssik_ros/{each}', robot, group) for each in ('Analytic', 'Auto')
    )
    arm = Manipulator.from_urdf(
        files.urdf_path, base=group.base_link, ee=group.tip, joint_limits=limits
    )
    rng, absence = np.random.default_rng(0), AbsenceCauses(closed.arm)
    expected = Cause.NOT_FOUND if is_singular else Cause.LIMITS
    failed = 0
    for _ in range(40):
        q = rng.uniform(-3.0, 3.0, 6)
        q[4] = 0.0 if is_singular else q[4]
        pose = closed.chain.pose(q)
        result = closed.solve(SolveRequest(pose))
        if result.solved:
            continue
        counts = search_batch(closed.arm, pose[None], None, PLAIN, 1).counts
        causes = [
            result.cause,
            closed.solve_all(SolveRequest(pose)).cause,
            arm.solve(pose).cause,
            Cause(absence.explain(pose[None], counts)[0]),
        ]
        searched = auto.solve(SolveRequest(pose))
        # Auto accepts a posture on a limit that misses the pose by less than its tolerance.
        causes += [] if searched.solved else [searched.cause]
        assert causes == [expected] * len(causes)
        failed += 1
    assert failed >= 20


def test_every_cause_has_a_text_of_its_own_that_begins_no_other():
    assert set(CAUSE_TEXT) == set(Cause)
    texts = list(CAUSE_TEXT.values())
    for text in texts:
        assert [other for other in texts if other.startswith(text)] == [text]


@pytest.mark.parametrize('law', ['LevenbergMarquardt', 'NewtonRaphson', 'Auto'])
@pytest.mark.parametrize('length', [1e3, 1e4, 1e5])
def test_poses_along_a_rail_of_kilometres_are_found(law, length):
    robot, group, pose = load(rail(length), 'rail_base', 'tool0')
    asked = create_solver(f'ssik_ros/{law}', robot, group)
    rng = np.random.default_rng(1)
    for index in range(60):
        q, seed = rng.uniform(group.lower, group.upper, (2, 7))
        target = pose(q)
        result = asked.solve(SolveRequest(target, seed=seed if index % 2 else None))
        assert result.solved
        assert np.abs(pose(result.q) - target).max() < 2e-3
