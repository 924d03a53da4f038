"""
Thirteen programs of a first day, written as a new user writes them after the README.

The first guess must work. Where it cannot work, the error must name the call that does; such guesses are in
``GUESSES``.
"""

import copy
import pickle

import numpy as np
import pytest

import ssik_ros
from ssik_ros import load_robot, Manipulator, PoseTarget, RobotState, solve_ik

TWO_ARMS = '<robot name="duo"><link name="base"/>{joints}</robot>'
JOINT = (
    '<link name="{child}"/><joint name="{child}_joint" type="revolute"><parent link="{parent}"/>'
    '<child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
    '<limit lower="-2.9" upper="2.9" effort="1" velocity="1"/></joint>'
)


@pytest.fixture(scope='module')
def arm():
    return Manipulator.from_prebuilt('ur5e')


@pytest.fixture(scope='module')
def target(arm):
    return arm.fk([0.3, -1.2, 1.4, -0.8, 1.1, 0.5])


def two_arms():
    rows = []
    for side, y in (('left', 0.2), ('right', -0.2)):
        names = ['base', *(f'{side}_{i}' for i in range(1, 7))]
        axes = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
        offsets = (f'0 {y} 0.4', '0 0 0.1', '0.4 0 0', '0.1 0 0', '0.3 0 0', '0.1 0 0')
        rows += [
            JOINT.format(parent=a, child=b, xyz=o, axis=x)
            for a, b, o, x in zip(names[:-1], names[1:], offsets, axes, strict=True)
        ]
    members = ''.join(
        f'<joint name="{side}_{i}_joint"/>' for side in ('left', 'right') for i in range(1, 7)
    )
    srdf = f'<robot name="duo"><group name="both_arms">{members}</group></robot>'
    return load_robot(TWO_ARMS.format(joints=''.join(rows)), srdf)


def test_01_load_a_urdf_and_look_at_it(tmp_path):
    urdf = ssik_ros.find_moveit_config('panda').urdf_path
    arm = Manipulator.from_urdf(urdf, base='panda_link0', tip='panda_link8')
    assert arm.dof == len(arm.joint_names) == len(arm.lower) == len(arm.upper) == 7
    assert Manipulator.from_prebuilt('panda').dof == 7


def test_02_the_solution_nearest_to_where_the_robot_is(arm, target):
    q_now = arm.neutral
    nearest = arm.solve(target, seed=q_now, max_solutions=1)[0].q
    others = [s.q for s in arm.solve(target, q_seed=q_now)]
    assert (others[0] == nearest).all()
    assert np.linalg.norm(nearest - q_now) <= min(np.linalg.norm(q - q_now) for q in others)


def test_03_all_solutions(arm, target):
    solutions = arm.solve(target)
    assert len(solutions) == 8
    assert arm.fk([s.q for s in solutions]) == pytest.approx(np.array([target] * 8), abs=1e-8)


def test_04_a_batch_of_poses(arm):
    poses = [arm.fk(arm.random(k)) for k in range(20)]
    for pose, solutions in zip(poses, arm.solve_batch(poses), strict=True):
        assert arm.fk(solutions[0]) == pytest.approx(pose, abs=1e-8)


def test_05_a_position_with_any_orientation(arm):
    result = arm.solve_position([0.4, 0.2, 0.3])
    assert result.success
    assert arm.fk(result.q)[:3, 3] == pytest.approx([0.4, 0.2, 0.3], abs=2e-3)


def test_06_an_arm_with_five_joints():
    arm = Manipulator.from_prebuilt('wx250')
    q = arm.neutral + 0.2
    assert arm.solve(arm.fk(q))[0].q == pytest.approx(q, abs=1e-6)
    assert arm.ik_LM(arm.fk(q), mask=[1, 1, 1, 0, 1, 1]).success


def test_07_two_arms_at_once():
    robot = two_arms()
    state = RobotState(robot)
    state.set_group_positions('both_arms', np.linspace(-0.8, 0.9, 12))
    targets = [PoseTarget(tip, state.link_transform(tip)) for tip in ('left_6', 'right_6')]
    assert solve_ik(RobotState(robot), 'both_arms', targets).success


def test_08_an_arm_on_a_mobile_base():
    files = ssik_ros.find_moveit_config('panda')
    srdf = (
        '<robot name="panda"><virtual_joint name="base" type="planar" parent_frame="world" '
        'child_link="panda_link0"/><group name="mobile"><joint name="base"/>'
        '<chain base_link="panda_link0" tip_link="panda_link8"/></group></robot>'
    )
    robot = load_robot(files.urdf_path, srdf)
    arm = Manipulator(robot, robot.group('mobile'))
    far = ssik_ros.pose(xyz=(3.0, 1.0, 0.5), rpy=(np.pi, 0.0, 0.0))
    q = arm.solve(far, seed=arm.neutral)[0].q
    assert arm.fk(q)[:3, 3] == pytest.approx(far[:3, 3], abs=2e-3)


def test_09_an_own_cost(arm, target):
    best = arm.solve(target, cost=lambda q: -arm.manipulability(q), max_solutions=1)[0].q
    assert arm.manipulability(best) == max(arm.manipulability(s.q) for s in arm.solve(target))


def test_10_without_collisions(arm, target):
    scene = arm.scene(boxes={'table': ((1.0, 1.0, 0.1), (0.5, 0.0, -0.1))})
    for solution in arm.solve(target, scene=scene):
        assert not arm.in_collision(solution.q, scene)


def test_11_a_path(arm):
    poses = [ssik_ros.pose((0.5, y, 0.3), rpy=(np.pi, 0, 0)) for y in np.linspace(-0.2, 0.2, 10)]
    path = arm.plan(poses)
    assert path.valid
    assert arm.fk(path.positions) == pytest.approx(np.array(poses), abs=1e-6)


def test_12_follow_a_target_at_500_hz(arm):
    tracker = arm.tracker(arm.neutral + 0.2, dt=0.002)
    target = arm.fk(arm.neutral + 0.2)
    for _ in range(50):
        target[0, 3] -= 0.0002
        tracker.track(target)
    assert arm.fk(tracker.q)[:3, 3] == pytest.approx(target[:3, 3], abs=1e-5)


def test_13_a_picture(arm, tmp_path):
    arm.show(arm.neutral, picture=tmp_path / 'arm.png')
    assert (tmp_path / 'arm.png').stat().st_size > 1000


GUESSES = {
    'position': (lambda arm: arm.solve([0.4, 0.1, 0.3]), 'solve_position'),
    'stack': (lambda arm: arm.solve(np.array([np.eye(4)] * 3)), 'solve_batch'),
    'forward': (lambda arm: arm.forward_kinematics(arm.neutral), "'fk'"),
    'inverse': (lambda arm: arm.inverse_kinematics(np.eye(4)), "'solve'"),
    'plot': (lambda arm: arm.plot(arm.neutral), "'show'"),
    'limits': (lambda arm: arm.qlim, "'joint_limits'"),
    'misspelt': (lambda arm: arm.solve_bach([]), "'solve_batch'"),
    'keyword': (lambda arm: arm.solve(np.eye(4), max_solution=1), 'max_solutions'),
    'step': (lambda arm: arm.tracker(arm.neutral).step(np.eye(4)), "'track'"),
    'rate': (lambda arm: arm.tracker(arm.neutral, rate=500), "'dt'"),
    'number': (lambda arm: arm.solve(np.eye(4), n=3), "'max_solutions'"),
    'start': (lambda arm: arm.plan([np.eye(4)] * 2, seed=arm.neutral), "'start'"),
    'joints of a path': (lambda arm: arm.plan([arm.fk(arm.neutral + 0.1)] * 2).q, "'positions'"),
    'error': (lambda arm: arm.solve(arm.fk(arm.neutral + 0.1))[0].error, "'fk_residual'"),
    'place': (lambda arm: arm.scene(boxes=[{'size': [1, 1, 1], 'position': [3, 0, 0]}]), "'xyz'"),
    'tips': (lambda arm: Manipulator(two_arms(), two_arms().group('both_arms')), 'solve_ik'),
    'name': (lambda arm: Manipulator.from_prebuilt('ur5ee'), 'ur5e'),
    'import': (lambda arm: ssik_ros.Manipulater, 'Manipulator'),
}


@pytest.mark.parametrize('guess', GUESSES)
def test_a_wrong_guess_names_the_right_call(arm, guess):
    call, words = GUESSES[guess]
    with pytest.raises((ValueError, TypeError, AttributeError, FileNotFoundError)) as caught:
        call(arm)
    assert words in str(caught.value)


def test_every_result_says_whether_it_is_a_success(arm, target):
    out_of_reach = target.copy()
    out_of_reach[0, 3] = 9.0
    for pose, is_reached in ((target, True), (out_of_reach, False)):
        assert arm.solve(pose).success is is_reached
        assert arm.solve(pose, max_solutions=1).success is is_reached
        assert arm.solve(pose, method='ssik_ros/LevenbergMarquardt').success is is_reached
        assert arm.ik_LM(pose).success is is_reached
        assert arm.plan([pose, pose]).success is is_reached
        assert arm.solve_batch([pose]).success.tolist() == [is_reached]


def test_an_empty_list_says_why(arm, target):
    far = target.copy()
    far[0, 3] = 9.0
    for options in ({}, {'max_solutions': 1}, {'respect_limits': False}):
        solutions = arm.solve(far, **options)
        assert solutions == []
        assert solutions.reason.startswith('Unreachable')
        assert solutions.cause == ssik_ros.Cause.UNREACHABLE
    empty = arm.solve(far)
    # The report is about the pose at the time of the call.
    far[:] = target
    assert empty.cause == ssik_ros.Cause.UNREACHABLE
    solved = arm.solve(target)
    assert (solved.reason, solved.cause) == ('', ssik_ros.Cause.NONE)
    solved.clear()
    assert (solved.reason, solved.cause) == ('', ssik_ros.Cause.NONE)
    solutions, diagnostic = arm.solve(ssik_ros.pose((9.0, 0.0, 0.0)), explain=True)
    assert (solutions.reason, solutions.cause) == (diagnostic.summary(), diagnostic.cause)
    for copied in (pickle.loads(pickle.dumps(solutions)), copy.deepcopy(solutions)):
        assert copied == [] and copied.reason == solutions.reason
    again = pickle.loads(pickle.dumps(arm.solve(target)))
    assert again.success and again.cause == ssik_ros.Cause.NONE


def test_objects_may_be_mappings(arm):
    scene = arm.scene(
        boxes=[
            {'size': (0.1, 0.2, 0.3), 'xyz': (0.5, 0.0, 0.2), 'rpy': (0.0, 0.0, 1.0)},
            {'size': (0.1, 0.2, 0.3), 'pose': ssik_ros.pose((0.5, 0.0, 0.2), rpy=(0.0, 0.0, 1.0))},
        ],
        spheres={'ball': {'size': 0.1, 'xyz': (1.0, 0.0, 0.0)}},
    )
    assert (scene.objects[0].pose == scene.objects[1].pose).all()
    assert scene.objects[2].pose[:3, 3].tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match='not both'):
        arm.scene(spheres=[{'size': 0.1, 'xyz': (1.0, 0.0, 0.0), 'pose': np.eye(4)}])


def test_an_arm_with_five_joints_says_what_to_leave_free():
    arm = Manipulator.from_prebuilt('wx250')
    tilted = ssik_ros.pose((0.3, 0.1, 0.2), rpy=(0.3, 0.5, 0.7))
    solutions, diagnostic = arm.solve(tilted, explain=True)
    assert solutions == []
    assert 'solve_position' in diagnostic.summary() and 'mask' in diagnostic.summary()
