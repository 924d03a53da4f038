"""Ported scripts: every documented name with its arguments, defaults and return shape, and one effect of each."""

import contextlib
import enum
import inspect
import json
import warnings

from test.tasks.documented_names import EXCEPTIONS, NAMES
from test.tasks.made_worlds import random_pose

import numpy as np
import pinocchio as pin
import pytest

from ssik_ros.errors import DimensionMismatch, FrameNotFound, InvalidOption, SsikError
from ssik_ros.tasks import compat as ik, RobotScene
from ssik_ros.tasks.compat.registry import environment_of, overlay_of, UnknownHandle
from ssik_ros.tasks.task_set import TaskSetNotFound

TABLE = {line.partition('(')[0]: line for line in NAMES.split('\n') if line}
DEPRECATED = {
    'applyIkEnvironmentToScene',
    'applySceneToIkEnvironment',
    'findConfig',
    'getConfigForTipPose',
    'getLinkedDummy',
    'setLinkedDummy',
}
covered = set()


class Recorder:
    """The API, noting which names a test uses."""

    def __getattr__(self, name):
        """Return a name of the API."""
        covered.add(name)
        return getattr(ik, name)


sim = Recorder()
Q = [0.3, -0.5, 0.7, -0.2, 0.9, 0.4]


def plain(value):
    """Return a default in the words of the document."""
    if isinstance(value, tuple | list):
        return '[' + ','.join(f'{number:g}' for number in value) + ']'
    if isinstance(value, enum.IntEnum):
        # Python 3.10 writes the name of the member.
        return str(int(value))
    return repr(value) if isinstance(value, str) else str(value)


@pytest.mark.parametrize('name', TABLE)
def test_documented_name_has_its_arguments_and_defaults(name):
    inner = TABLE[name].partition('(')[2].removesuffix(')').replace(', ', '\n')
    wanted = [line.partition('=') for line in inner.split('\n')]
    parameters = inspect.signature(getattr(ik, name)).parameters
    assert list(parameters) == [argument for argument, _, _ in wanted]
    for argument, equal, default in wanted:
        given = parameters[argument].default
        assert (given is inspect.Parameter.empty) == (equal == '')
        if equal:
            assert plain(given) in (default, {'{}': 'None'}.get(default, default))


def test_there_are_81_names_and_six_of_them_warn():
    assert len(TABLE) == 81
    assert set(EXCEPTIONS) <= set(TABLE)
    assert set(TABLE) <= set(ik.__all__)
    assert set(TABLE) >= DEPRECATED


@pytest.fixture
def env():
    handle = sim.createEnvironment()
    yield handle
    with contextlib.suppress(UnknownHandle):
        sim.eraseEnvironment(handle)


@pytest.fixture
def arm(env):
    """Return environment, task set, task, joints, tip and target of a six-joint arm whose target is within reach."""
    rng = np.random.default_rng(7)
    joints, parent = [], -1
    for index in range(6):
        joint = sim.createJoint(env, ik.jointtype_revolute, f'joint{index}')
        sim.setObjectParent(env, joint, parent, False)
        sim.setObjectPose(env, joint, random_pose(rng), ik.handle_parent)
        sim.setJointInterval(env, joint, False, [-3.0, 6.0])
        joints.append(joint)
        parent = joint
    tip, target = sim.createDummy(env, 'tip'), sim.createDummy(env, 'target')
    sim.setObjectParent(env, tip, parent, False)
    for joint, value in zip(joints, Q, strict=True):
        sim.setJointPosition(env, joint, value)
    sim.setObjectPose(env, target, sim.getObjectPose(env, tip))
    sim.setTargetDummy(env, tip, target)
    task_set = sim.createGroup(env, 'arm')
    task = sim.addElement(env, task_set, tip)
    sim.setElementConstraints(env, task_set, task, ik.constraint_pose)
    return env, task_set, task, joints, tip, target


def shift(env, joints, by=0.05):
    for joint in joints:
        sim.setJointPosition(env, joint, sim.getJointPosition(env, joint) + by)


def test_objects_have_names_handles_types_and_an_order(env):
    dummy, joint = sim.createDummy(env), sim.createJoint(env, ik.jointtype_prismatic, 'slide')
    assert sim.getObjects(env, 0) == (dummy, 'dummy1', False, 0)
    assert sim.getObjects(env, 1) == (joint, 'slide', True, ik.jointtype_prismatic)
    assert sim.getObjects(env, 2) is None
    assert sim.getObjectHandle(env, 'slide') == joint
    assert sim.doesObjectExist(env, 'slide') is True and not sim.doesObjectExist(env, 'slid')
    assert sim.getObjectType(env, joint) == 1 and sim.getObjectType(env, dummy) == 4
    assert sim.getJointType(env, joint) == ik.jointtype_prismatic == 11
    with pytest.raises(KeyError, match='slide'):
        sim.getObjectHandle(env, 'slid')
    with pytest.raises(SsikError, match='already'):
        sim.createDummy(env, 'slide')
    other = sim.createJoint(env, 'hinge', ik.jointtype_revolute)
    assert sim.getObjects(env, 2)[:2] == (other, 'hinge')
    assert sim.getJointType(env, sim.createJoint(env, 'plain')) == ik.jointtype_revolute


def test_parents_poses_matrices_and_transformations(env):
    base, child = sim.createDummy(env, 'base'), sim.createDummy(env, 'child')
    assert sim.getObjectParent(env, child) == -1
    half = np.sqrt(0.5)
    sim.setObjectPose(env, base, [1, 2, 3, 0, 0, half, half])
    sim.setObjectParent(env, child, base)
    np.testing.assert_allclose(sim.getObjectPose(env, child), [0, 0, 0, 0, 0, 0, 1], atol=1e-12)
    sim.setObjectParent(env, child, -1)
    sim.setObjectPose(env, child, [1, 0, 0, 0, 0, 0, 1], ik.handle_world)
    sim.setObjectParent(env, child, base, False)
    assert sim.getObjectParent(env, child) == base
    np.testing.assert_allclose(sim.getObjectPose(env, child)[:3], [1, 3, 3], atol=1e-12)
    position, quaternion, euler = sim.getObjectTransformation(env, child)
    assert (len(position), len(quaternion), len(euler)) == (3, 4, 3)
    np.testing.assert_allclose(euler, [0, 0, np.pi / 2], atol=1e-12)
    sim.setObjectTransformation(env, child, [0, 0, 1], [0.1, 0.2, 0.3], base)
    transformation = sim.getObjectTransformation(env, child, base)
    np.testing.assert_allclose(
        [*transformation[0], *transformation[2]], [0, 0, 1, 0.1, 0.2, 0.3], atol=1e-12
    )
    matrix = sim.getObjectMatrix(env, child, ik.handle_parent)
    assert len(matrix) == 12 and matrix[11] == pytest.approx(1.0)
    sim.setObjectMatrix(env, child, [1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7])
    np.testing.assert_allclose(sim.getObjectPose(env, child), [5, 6, 7, 0, 0, 0, 1], atol=1e-12)


def test_erased_objects_leave_children_tasks_and_followers_in_order(arm):
    env, task_set, _, joints, tip, _ = arm
    sim.setJointDependency(env, joints[1], joints[4], 0.1, 0.5)
    pose = sim.getObjectPose(env, tip)
    sim.eraseObject(env, joints[4])
    np.testing.assert_allclose(sim.getObjectPose(env, tip), pose, atol=1e-12)
    assert sim.getObjectParent(env, joints[5]) == joints[3]
    assert sim.getJointDependency(env, joints[1]) == (-1, 0.0, 1.0)
    assert sim.doesGroupExist(env, 'arm') is True
    sim.eraseObject(env, tip)
    assert sim.doesGroupExist(env, 'arm') is False
    with pytest.raises(KeyError):
        sim.getGroupFlags(env, task_set)


def test_joint_defaults_and_settings(env):
    joint = sim.createJoint(env, ik.jointtype_revolute)
    assert sim.getJointInterval(env, joint) == (True, [-np.pi, 2 * np.pi])
    assert sim.getJointMode(env, joint) == ik.jointmode_ik == 2
    assert sim.getJointWeight(env, joint) == 1.0
    assert sim.getJointLimitMargin(env, joint) == pytest.approx(np.radians(5.0))
    assert sim.getJointMaxStepSize(env, joint) == pytest.approx(np.radians(10.0))
    assert sim.getJointScrewLead(env, joint) == 0.0
    assert sim.getJointDependency(env, joint) == (-1, 0.0, 1.0)
    sim.setJointPosition(env, joint, 4.0)
    assert sim.getJointPosition(env, joint) == pytest.approx(4.0 - 2 * np.pi)
    sim.setJointInterval(env, joint, False, [-0.5, 1.5])
    assert sim.getJointPosition(env, joint) == -0.5
    sim.setJointMode(env, joint, ik.jointmode_passive)
    sim.setJointWeight(env, joint, 0.0)
    sim.setJointLimitMargin(env, joint, 0.2)
    sim.setJointMaxStepSize(env, joint, 0.3)
    sim.setJointScrewLead(env, joint, 0.01)
    assert sim.getJointMode(env, joint) == 0 and sim.getJointWeight(env, joint) == 1e-5
    assert sim.getJointLimitMargin(env, joint) == 0.2
    assert sim.getJointMaxStepSize(env, joint) == 0.3 and sim.getJointScrewLead(env, joint) == 0.01
    sim.setJointInterval(env, joint, True)
    assert sim.getJointInterval(env, joint)[0] is True and sim.getJointScrewLead(env, joint) == 0.0
    slide = sim.createJoint(env, ik.jointtype_prismatic)
    assert sim.getJointInterval(env, slide) == (False, [-0.5, 1.0])


def test_own_motion_of_joints(env):
    screw = sim.createJoint(env, ik.jointtype_revolute)
    sim.setJointInterval(env, screw, False, [-10.0, 20.0])
    sim.setJointScrewLead(env, screw, 0.2)
    sim.setJointPosition(env, screw, np.pi / 2)
    position, quaternion, euler = sim.getJointTransformation(env, screw)
    np.testing.assert_allclose([*position, *euler], [0, 0, 0.05, 0, 0, np.pi / 2], atol=1e-12)
    assert len(quaternion) == 4
    np.testing.assert_allclose(
        sim.getJointMatrix(env, screw), [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0.05], atol=1e-12
    )
    ball = sim.createJoint(env, ik.jointtype_spherical)
    sim.setSphericalJointRotation(env, ball, [0.0, 0.4, 0.0])
    np.testing.assert_allclose(sim.getJointTransformation(env, ball)[2], [0, 0.4, 0], atol=1e-12)
    sim.setSphericalJointMatrix(env, ball, [0, -1, 0, 9, 1, 0, 0, 9, 0, 0, 1, 9])
    matrix = sim.getJointMatrix(env, ball)
    np.testing.assert_allclose(matrix, [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0], atol=1e-12)
    with pytest.raises(SsikError):
        sim.setSphericalJointMatrix(env, screw, np.eye(3, 4).ravel())
    with pytest.raises(SsikError):
        sim.getJointPosition(env, ball)


def double(environment, joint, value):
    """Return a dependent value; a callback by its name."""
    return 2.0 * value


def test_dependent_joints_follow_their_masters(env):
    master, slave = sim.createJoint(env, 10, 'master'), sim.createJoint(env, 11, 'slave')
    sim.setJointDependency(env, slave, master, 0.25, -0.5)
    sim.setJointPosition(env, master, 1.0)
    assert sim.getJointPosition(env, slave) == -0.25
    assert sim.getJointDependency(env, slave) == (master, 0.25, -0.5)
    sim.setJointDependency(env, slave, master, callback=f'{__name__}:double')
    assert sim.getJointPosition(env, slave) == 2.0
    sim.setJointDependency(env, slave, master, callback=lambda e, j, x: 10.0 * e + j + x)
    assert sim.getJointPosition(env, slave) == 10.0 * env + slave + 1.0
    sim.setJointDependency(env, slave, -1)
    assert sim.getJointDependency(env, slave)[0] == -1
    assert sim.getJointPosition(env, slave) == 0.5


def test_task_sets_have_names_flags_and_a_calculation(env):
    task_set = sim.createGroup(env)
    named = sim.createGroup(env, 'named')
    assert sim.getGroupHandle(env, 'named') == named != task_set
    assert sim.getGroupFlags(env, task_set) == ik.group_enabled | ik.group_ignoremaxsteps == 3
    assert sim.getGroupCalculation(env, task_set) == (ik.method_pseudo_inverse, 0.1, 3)
    sim.setGroupCalculation(env, task_set, ik.method_damped_least_squares, 0.2, 20.0)
    assert sim.getGroupCalculation(env, task_set) == (1, 0.2, 20)
    with pytest.raises(ValueError, match='max_iterations'):
        sim.setGroupCalculation(env, task_set, ik.method_damped_least_squares, 0.2, 1.5)
    assert sim.getGroupCalculation(env, np.int64(task_set)) == (1, 0.2, 20)
    sim.setGroupFlags(env, task_set, 1 | 16 | 64)
    assert sim.getGroupFlags(env, task_set) == 81
    with pytest.raises(KeyError, match='named'):
        sim.getGroupHandle(env, 'name')


def test_tasks_are_found_by_handle_and_by_tip(arm):
    env, task_set, task, joints, tip, target = arm
    by_tip = tip + ik.handleflag_tipdummy
    fresh = sim.addElement(env, task_set, target)
    assert (task, fresh) == (0, 1)
    assert sim.getElementConstraints(env, task_set, fresh) == ik.constraint_position
    assert sim.getElementFlags(env, task_set, by_tip) == 1
    assert sim.getElementBase(env, task_set, by_tip) == (-1, -1)
    assert sim.getElementPrecision(env, task_set, by_tip) == [0.0005, np.radians(0.1)]
    assert sim.getElementWeights(env, task_set, by_tip) == [1.0, 1.0, 1.0]
    sim.setElementFlags(env, task_set, fresh, 0)
    sim.setElementBase(env, task_set, by_tip, joints[0], joints[1])
    sim.setElementPrecision(env, task_set, by_tip, [1e-4, 1e-3])
    sim.setElementWeights(env, task_set, by_tip, [0.5, 0.25, 2.0])
    sim.setElementConstraints(env, task_set, by_tip, ik.constraint_x | ik.constraint_alpha_beta)
    assert sim.getElementFlags(env, task_set, fresh) == 0
    assert sim.getElementBase(env, task_set, task) == (joints[0], joints[1])
    assert sim.getElementPrecision(env, task_set, task) == [1e-4, 1e-3]
    assert sim.getElementWeights(env, task_set, task) == [0.5, 0.25, 2.0]
    assert sim.getElementConstraints(env, task_set, task) == 9
    assert sim.getGroupJoints(env, task_set) == joints[1:]
    assert sim.getTargetDummy(env, tip) == target
    with pytest.raises(SsikError, match='remove it'):
        sim.setTargetDummy(env, tip, sim.createDummy(env))
    sim.setTargetDummy(env, tip, -1)
    assert sim.getTargetDummy(env, tip) == -1


def test_handling_moves_the_joints_and_says_how_it_went(arm):
    env, task_set, _, joints, _, target = arm
    shift(env, joints)
    sim.setGroupCalculation(env, task_set, ik.method_damped_least_squares, 0.01, 50)
    result, reason, precision = sim.handleGroup(env, task_set)
    assert (result, reason) == (ik.result_success, 0) and precision[0] < 5e-4
    sim.setObjectPose(env, target, [50, 0, 0, 0, 0, 0, 1])
    result, reason, precision = sim.handleGroups(env, [task_set], {'debug': 1})
    assert result == ik.result_fail == 2 and reason & ik.calc_notwithintolerance
    assert precision[0] > 40.0
    seen = []
    sim.handleGroup(env, task_set, {'callback': lambda data: seen.append(data['jacobian'].shape)})
    assert (6, 6) in seen
    hits, amounts = sim.getGroupJointLimitHits(env, task_set)
    assert len(hits) == len(amounts) and set(hits) <= set(joints)
    sim.setGroupFlags(env, task_set, 0)
    assert sim.handleGroup(env, task_set)[:2] == (ik.result_not_performed, 1 | 16)


def test_limit_hits_are_signed_overshoots(env):
    slide, tip, target = sim.createJoint(env, 11, 's'), sim.createDummy(env), sim.createDummy(env)
    sim.setObjectParent(env, tip, slide)
    sim.setTargetDummy(env, tip, target)
    sim.setObjectPose(env, target, [0, 0, -0.8, 0, 0, 0, 1])
    task_set = sim.createGroup(env)
    sim.addElement(env, task_set, tip)
    _, reason, _ = sim.handleGroup(env, task_set)
    assert reason & ik.calc_limithit
    hits, amounts = sim.getGroupJointLimitHits(env, task_set)
    assert hits == [slide] and amounts[0] == pytest.approx(-0.3, abs=1e-6)


def test_jacobians_are_flat_lists_row_by_row(arm):
    env, task_set, _, joints, tip, target = arm
    shift(env, joints)
    jacobian, error = sim.computeGroupJacobian(env, task_set)
    assert len(jacobian) == 36 and len(error) == 6 and isinstance(jacobian, list)
    pose, goal = sim.getObjectPose(env, tip), sim.getObjectMatrix(env, target)
    chain, left = sim.computeJacobian(env, -1, joints[-1], ik.constraint_pose, pose, goal)
    np.testing.assert_allclose(chain, jacobian, atol=1e-12)
    np.testing.assert_allclose(left, error, atol=1e-12)
    rows, still = sim.computeJacobian(env, joints[0], joints[-1], ik.constraint_x, pose)
    assert len(rows) == 5 and still == [0.0]


def chain_twice(rng, kinds):
    """Return a chain of joints here and in pinocchio: environment, handles, model, joint values."""
    env, model = sim.createEnvironment(), pin.Model()
    parent, above, handles, values = -1, 0, [], []
    for index, kind in enumerate(kinds):
        pose, value = random_pose(rng), rng.uniform(-0.4, 0.4)
        joint = sim.createJoint(
            env,
            ik.jointtype_prismatic if kind == 'slide' else ik.jointtype_revolute,
            f'joint{index}',
        )
        sim.setObjectParent(env, joint, parent, False)
        sim.setObjectPose(env, joint, pose, ik.handle_parent)
        sim.setJointPosition(env, joint, value)
        joint_model = pin.JointModelPZ() if kind == 'slide' else pin.JointModelRZ()
        above = model.addJoint(
            above, joint_model, pin.XYZQUATToSE3(np.array(pose)), f'joint{index}'
        )
        parent = joint
        handles.append(joint)
        values.append(value)
    return env, handles, model, np.array(values)


@pytest.mark.parametrize('seed', range(90))
def test_chain_jacobians_are_geometric_however_far_the_target_is(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(['turn', 'turn', 'slide'], 6)
    env, handles, model, values = chain_twice(rng, kinds)
    bits = int(rng.integers(1, 32))
    tip, target, base = (random_pose(rng, 1.0) for _ in range(3))
    rows, error = sim.computeJacobian(env, -1, handles[-1], bits, tip, target, base)
    data = model.createData()
    pin.forwardKinematics(model, data, values)
    placed = pin.XYZQUATToSE3(np.array(tip))
    frame = pin.Frame('tip', model.njoints - 1, 0, data.oMi[-1].actInv(placed), pin.OP_FRAME)
    model.addFrame(frame)
    local = pin.computeFrameJacobian(
        model, model.createData(), values, model.nframes - 1, pin.ReferenceFrame.LOCAL
    )
    axes = pin.XYZQUATToSE3(np.array(base)).rotation
    expected = np.vstack([axes.T @ placed.rotation @ local[:3], local[3:]])
    picked = [bool(bits & bit) for bit in (1, 2, 4, 8, 8, 16)]
    np.testing.assert_allclose(np.reshape(rows, (-1, 6)), expected[picked], atol=1e-9)
    goal = pin.XYZQUATToSE3(np.array(target))
    offset = (axes.T @ (goal.translation - placed.translation))[picked[:3]]
    np.testing.assert_allclose(error[: len(offset)], offset, atol=1e-9)
    sim.eraseEnvironment(env)


def test_configurations_are_found_validated_and_sorted(arm):
    env, task_set, _, joints, *_ = arm
    shift(env, joints, 0.2)
    before = sim.save(env)
    configs = sim.findConfigs(env, task_set, joints, {'maxDist': 10.0, 'maxTime': 5.0})
    assert len(configs) == 1 and len(configs[0]) == 6
    seen = []
    params = {'maxTime': 0.2, 'cb': lambda config, data: seen.append((config, data)), 'auxData': 5}
    assert sim.findConfigs(env, task_set, joints, params) == []
    assert seen and seen[0][1] == 5 and isinstance(seen[0][0], list)
    merged = sim.findConfigs(env, task_set, joints, {'maxTime': 0.0}, [[0.0] * 6])
    assert merged == [[0.0] * 6]
    assert sim.save(env) == before
    with pytest.raises(SsikError, match='maxDist'):
        sim.findConfigs(env, task_set, joints, {'maxDst': 1.0})


def test_alternates_are_the_product_of_whole_turns(arm):
    env, _, _, joints, *_ = arm
    turn = 2 * np.pi
    sim.setJointInterval(env, joints[0], False, [-turn, 2 * turn])
    configs = sim.getAlternateConfigs(env, joints[:2])
    np.testing.assert_allclose(configs, [Q[0] - turn, Q[1], Q[0], Q[1]])
    assert sim.getAlternateConfigs(env, joints[:1], [0.0], [1.0]) == [Q[0]]
    assert sim.getAlternateConfigs(env, joints[:1], [1.0], [1.0]) == []


def test_paths_are_flat_and_empty_after_a_failure(arm):
    env, task_set, _, joints, tip, _ = arm
    shift(env, joints)
    path = sim.generatePath(env, task_set, joints, tip, 5)
    assert len(path) == 30
    np.testing.assert_allclose(path[:6], np.array(Q) + 0.05)
    assert sim.generatePath(env, task_set, joints, tip, 5, lambda config, data: data, False) == []
    with pytest.raises(SsikError):
        sim.generatePath(env, task_set, joints, tip, 1)


def test_environments_are_saved_loaded_and_duplicated(arm):
    env, _, _, joints, *_ = arm
    data = sim.save(env)
    assert isinstance(data, bytes) and json.loads(data)['format'] == 'ik-env'
    other = sim.createEnvironment()
    sim.load(other, data)
    assert sim.save(other) == data
    with pytest.raises(SsikError, match='not empty'):
        sim.load(other, data)
    twin = sim.duplicateEnvironment(env)
    sim.setJointPosition(twin, joints[0], 1.0)
    assert sim.getJointPosition(env, joints[0]) == Q[0]
    for handle in (other, twin):
        sim.eraseEnvironment(handle)
    with pytest.raises(KeyError):
        sim.save(other)
    empty = sim.createEnvironment()
    with pytest.raises(SsikError, match='CoppeliaSim'):
        sim.load(empty, b'\x01\x00\x00\x00binary')
    assert sim.getObjects(empty, 0) is None


def test_overlays_are_replaced_and_erased(arm):
    env, _, _, joints, tip, _ = arm
    overlay = sim.createDebugOverlay(env, tip)
    assert sim.createDebugOverlay(env, tip, joints[0]) == overlay
    markers = overlay_of(overlay).markers()
    assert {marker.shape for marker in markers} == {'sphere', 'cube', 'line_list'}
    sim.eraseDebugOverlay(overlay)
    with pytest.raises(KeyError):
        sim.eraseDebugOverlay(overlay)


@pytest.fixture
def scene(robots):
    """Return the panda as a scene, with a frame ``goal`` where its hand is with all joints moved a little."""
    ready = {'panda_joint2': 0.2, 'panda_joint4': -1.5, 'panda_joint6': 1.5}
    made = RobotScene(robots['panda'], ready)
    here = made.joint_positions()
    moved = {n: v + 0.1 for n, v in here.items() if 'finger' not in n}
    made.apply(moved)
    goal = made.pose('panda_link8')
    made.apply(here)
    made.set_frame('goal', goal)
    ik.use_scene(made)
    return made


def linked(env):
    """Return a task set with a task from the scene."""
    task_set = sim.createGroup(env)
    sim.setGroupCalculation(env, task_set, ik.method_damped_least_squares, 0.01, 60)
    handles = [ik.scene_handle(name) for name in ('panda_link0', 'panda_link8', 'goal')]
    task, to_ik, to_scene = sim.addElementFromScene(env, task_set, *handles, ik.constraint_pose)
    assert task == 0 and to_scene[to_ik[handles[1]]] == handles[1]
    return task_set


def test_chains_come_from_scenes_and_values_go_back(env, scene):
    task_set = linked(env)
    assert len(sim.getGroupJoints(env, task_set)) == 7
    scene.apply({'panda_joint1': 0.2})
    sim.syncFromSim(env, [task_set])
    joint = sim.getObjectHandle(env, 'panda_joint1')
    assert sim.getJointPosition(env, joint) == 0.2
    result, _, _ = sim.handleGroup(env, task_set, {'syncWorlds': True})
    assert result == ik.result_success
    assert np.abs(scene.pose('panda_link8') - scene.pose('goal')).max() < 2e-3
    sim.setJointPosition(env, joint, -0.3)
    sim.syncToSim(env, [task_set])
    assert scene.joint_positions()['panda_joint1'] == -0.3


def test_old_names_warn_and_work(arm, scene):
    env, task_set, _, joints, tip, target = arm
    shift(env, joints)
    with pytest.warns(DeprecationWarning, match='findConfigs'):
        config = sim.findConfig(env, task_set, joints, 1.0)
    assert len(config) == 6
    with pytest.warns(DeprecationWarning):
        assert sim.findConfig(env, task_set, joints, 0.0, 0.01) == []
    with pytest.warns(DeprecationWarning):
        low, ranges = [-3.0] * 6, [6.0] * 6
        limited = sim.getConfigForTipPose(
            env, task_set, joints, 1.0, lowLimits=low, ranges=ranges, jointOptions=[0] * 6
        )
    np.testing.assert_allclose(limited, config)
    with pytest.warns(DeprecationWarning):
        assert sim.getLinkedDummy(env, target) == tip
    with pytest.warns(DeprecationWarning), pytest.raises(InvalidOption):
        sim.setLinkedDummy(env, tip, tip)
    assert sim.getTargetDummy(env, tip) == target
    with pytest.warns(DeprecationWarning):
        sim.setLinkedDummy(env, tip, -1)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert sim.getLinkedDummy(env, tip) == -1
        linked_set = linked(env)
        scene.apply({'panda_joint2': 0.05})
        sim.applySceneToIkEnvironment(env, linked_set)
        assert environment_of(env)['panda_joint2'].position == 0.05
        assert sim.applyIkEnvironmentToScene(env, linked_set) == ik.result_success
    assert np.abs(scene.pose('panda_link8') - scene.pose('goal')).max() < 2e-3


def valid_arguments(name, arm):
    """Return a value for each argument of a function, by name."""
    env, task_set, task, joints, tip, target = arm
    hand, goal = ik.scene_handle('panda_link8'), ik.scene_handle('goal')
    ik.addElementFromScene(env, task_set, -1, hand, goal, 0)
    values = {
        **{'environmentHandle': env, 'ikGroup': task_set, 'ikGroupHandle': task_set},
        **{'ikGroups': [task_set], 'ikGroupHandles': [task_set], 'elementHandle': task},
        **dict.fromkeys(('objectHandle', 'tipHandle', 'tipDummyHandle', 'dummyHandle'), tip),
        **dict.fromkeys(('targetHandle', 'targetDummyHandle', 'linkedDummyHandle'), target),
        **dict.fromkeys(('baseHandle', 'baseObject', 'parentObjectHandle'), -1),
        **{'jointHandle': joints[-1], 'lastJoint': joints[-1], 'depJointHandle': joints[0]},
        **{'lowLimits': [0.0] * 6, 'ranges': [0.0] * 6, 'jointHandles': joints},
        **{'ikGroupName': 'arm', 'objectName': 'tip', 'tipMatrix': np.eye(4)},
        **{'pose': [0, 0, 0, 0, 0, 0, 1], 'matrix': np.eye(3, 4).ravel().tolist()},
        **{'position': [0, 0, 0], 'eulerOrQuaternion': [0, 0, 0], 'precision': [1e-3, 1e-3]},
        **{'weights': [1, 1, 1], 'constraints': 31, 'flags': 0, 'index': 0, 'method': 1},
        **{'damping': 0.1, 'maxIterations': 3, 'jointMode': 2, 'stepSize': 0.1, 'margin': 0.1},
        **{'weight': 1, 'lead': 0, 'cyclic': False, 'interval': [-1, 2], 'pathPointCount': 2},
        **{'maxTime': 0.02, 'params': {'maxTime': 0.02}},
    }
    if name == 'addElementFromScene':
        values |= {'tipHandle': hand, 'targetHandle': goal}
    elif name == 'createGroup':
        values['ikGroupName'] = 'another'
    elif name == 'eraseDebugOverlay':
        values['objectHandle'] = ik.createDebugOverlay(env, tip)
    elif name == 'load':
        values |= {'environmentHandle': ik.createEnvironment(), 'data': ik.save(env)}
    elif name == 'setJointPosition':
        values['position'] = 0.5
    elif name == 'setTargetDummy':
        values['tipDummyHandle'] = ik.createDummy(env)
    elif name.startswith('setSphericalJoint'):
        values['jointHandle'] = ik.createJoint(env, ik.jointtype_spherical)
    parameters = inspect.signature(getattr(ik, name)).parameters
    return {key: values.get(key, item.default) for key, item in parameters.items()}


LISTED = UnknownHandle, FrameNotFound, TaskSetNotFound, InvalidOption, DimensionMismatch
UNCHECKED = {'auxData', 'jointOptions'}
HANDLES = {'ikGroup', 'baseObject', 'lastJoint'}


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
@pytest.mark.parametrize('name', TABLE)
def test_wrong_arguments_raise_the_errors_that_the_package_lists(arm, scene, name):
    valid = valid_arguments(name, arm)
    for argument in set(valid) - UNCHECKED:
        wrong = {**valid, argument: np.zeros(5)}
        if name == 'doesObjectExist' and argument == 'objectName':
            assert not ik.doesObjectExist(**wrong)
            continue
        with pytest.raises(LISTED):
            getattr(ik, name)(**wrong)
        if argument in HANDLES or argument.endswith('Handle'):
            with pytest.raises(KeyError):
                getattr(ik, name)(**{**valid, argument: 10**6})
    getattr(ik, name)(**valid)


def test_every_documented_name_was_used_above():
    sources = inspect.getsource(inspect.getmodule(plain))
    missing = [name for name in TABLE if f'sim.{name}(' not in sources]
    assert missing == []
