"""Scenes made of robots: the same poses as the robot's own kinematics, and values in both directions."""

from test.tree_factory import walk

import numpy as np
import pytest

from ssik_ros.errors import SsikError
from ssik_ros.model.loader import load_robot
from ssik_ros.tasks import Constraint, Environment, JointType, RobotScene

MIXED = """
<robot name="mixed">
  <link name="root"/><link name="cart"/><link name="post"/><link name="arm"/><link name="free"/>
  <link name="left"/><link name="right"/><link name="plate"/>
  <joint name="drive" type="planar"><parent link="root"/><child link="cart"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.2" rpy="0.1 0 0"/></joint>
  <joint name="rise" type="prismatic"><parent link="cart"/><child link="post"/><axis xyz="0 1 1"/>
    <origin xyz="0 0.1 0" rpy="0 0.3 0"/><limit lower="-0.2" upper="0.9" effort="1" velocity="1"/></joint>
  <joint name="swing" type="continuous"><parent link="post"/><child link="arm"/><axis xyz="1 0 -1"/>
    <origin xyz="0 0 0.4" rpy="0 0 1"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="plate"/>
    <origin xyz="0 0 0.1" rpy="1 0 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="plate"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.05" effort="1" velocity="1"/></joint>
  <joint name="grip_mirror" type="prismatic"><parent link="plate"/><child link="right"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.05" effort="1" velocity="1"/>
    <mimic joint="grip" multiplier="0.5" offset="0.01"/></joint>
  <joint name="loose" type="floating"><parent link="arm"/><child link="free"/>
    <origin xyz="0.2 0 0"/></joint>
</robot>
"""


@pytest.fixture(scope='module')
def mixed():
    return load_robot(MIXED)


def random_positions(scene, rng):
    """Return values for all joints that follow no other."""
    values = {}
    for item in scene.structure():
        if item.joint == JointType.SPHERICAL:
            turn = rng.normal(size=4)
            values[item.name] = turn / np.linalg.norm(turn)
        elif item.joint is not None and item.master is None:
            lower, upper = item.limits or (-3.0, 3.0)
            values[item.name] = rng.uniform(max(lower, -1.0), min(upper, 1.0))
    return values


def full_state(robot, scene):
    """Return the robot's own state for the values of a scene."""
    values, q = scene.joint_positions(), robot.default_positions()
    parts = {'drive': ('x', 'y', 'theta'), 'loose': ('x', 'y', 'z', 'rotation')}
    for index, name in enumerate(robot.tree.joint_names):
        at = int(robot.tree.idx_q[index])
        numbers = [values[f'{name}/{part}'] for part in parts.get(name, ())] or [values[name]]
        flat = np.concatenate([np.atleast_1d(value) for value in numbers])
        q[at : at + len(flat)] = flat
    return q


@pytest.mark.parametrize('name', ['mixed', 'panda', 'gen3'])
def test_scene_and_environment_have_the_poses_of_the_robot(name, mixed, robots):
    robot = mixed if name == 'mixed' else robots[name]
    scene, rng = RobotScene(robot), np.random.default_rng(1)
    env = Environment.from_scene(scene)
    for _ in range(5):
        scene.apply(random_positions(scene, rng))
        env.sync_from(scene)
        for link, pose in walk(robot.tree, full_state(robot, scene)).items():
            np.testing.assert_allclose(scene.pose(link), pose, atol=1e-12)
            np.testing.assert_allclose(env[link].matrix(), pose, atol=1e-12)


def test_joints_come_with_limits_types_and_dependencies(mixed):
    env = Environment.from_scene(RobotScene(mixed, passive=['rise']))
    assert env['swing'].cyclic and not env['rise'].cyclic
    assert env['rise'].limits == (-0.2, 0.9) and env['rise'].passive
    rule = env['grip_mirror'].dependency
    assert (rule.master, rule.multiplier, rule.offset) == (env['grip'], 0.5, 0.01)
    assert env['loose/rotation'].kind == JointType.SPHERICAL
    env['grip'].position = 0.04
    assert env['grip_mirror'].position == pytest.approx(0.03)


def test_tasks_copy_what_tip_and_target_hang_on_and_share_it(mixed):
    scene = RobotScene(mixed)
    scene.set_frame('goal', [0.5, 0, 0.8, 0, 0, 0, 1], 'root')
    env = Environment()
    task_set = env.add_task_set('one')
    task, maps = task_set.add_task_from_scene(scene, 'cart', 'plate', 'goal', Constraint.POSITION)
    assert task.base.name == 'cart' and task.target.name == 'goal'
    assert 'free' not in env and 'grip_mirror' in env
    assert [joint.name for joint in task_set.joints] == ['rise', 'swing']
    count = len(env.objects)
    second, again = env.add_task_set('two').add_task_from_scene(scene, None, 'left', 'goal')
    assert again is maps and len(env.objects) == count + 1
    assert maps.to_scene[maps.to_ik['plate']] == 'plate'
    assert second.tip.parent is env['grip']
    with pytest.raises(SsikError, match='is a joint'):
        task_set.add_task_from_scene(scene, None, 'rise', 'goal')
    with pytest.raises(SsikError, match="does not carry 'plate'"):
        task_set.add_task_from_scene(scene, 'left', 'plate', 'goal')


def test_targets_keep_their_place_relative_to_the_base(mixed):
    scene = RobotScene(mixed)
    scene.set_frame('goal', [0.5, 0, 0.8, 0, 0, 0, 1])
    env = Environment()
    task_set = env.add_task_set()
    task_set.add_task_from_scene(scene, 'cart', 'plate', 'goal')
    scene.set_frame('goal', [0.4, 0.1, 0.7, 0, 0, 0, 1])
    scene.apply({'drive/x': 0.3, 'drive/theta': 0.5})
    env.sync_from(scene, [task_set])
    np.testing.assert_allclose(env['goal'].matrix('cart'), scene.pose('goal', 'cart'), atol=1e-12)


def test_values_go_back_and_driven_joints_get_targets(robots):
    scene = RobotScene(robots['panda'], {'panda_joint4': -1.5, 'panda_joint6': 1.5})
    goal = scene.pose('panda_link8')
    goal[:3, 3] += 0.05
    scene.set_frame('goal', goal)
    env = Environment()
    task_set = env.add_task_set(method='dls', damping=0.01, max_iterations=50)
    task_set.add_task_from_scene(scene, 'panda_link0', 'panda_link8', 'goal')
    scene.driven.add('panda_joint1')
    before = scene.joint_positions()['panda_joint1']
    result = env.solve([task_set], sync=scene)
    assert result.success
    assert scene.joint_positions()['panda_joint1'] == before
    assert scene.targets['panda_joint1'] == env['panda_joint1'].position
    assert scene.joint_positions()['panda_joint2'] == env['panda_joint2'].position
    scene.set_frame('goal', [9, 0, 0, 0, 0, 0, 1])
    kept = dict(scene.joint_positions())
    assert not env.solve([task_set], sync=scene)
    assert scene.joint_positions() == kept
    env.solve([task_set], sync=scene, allow_error=True)
    assert scene.joint_positions() != kept


def test_unknown_names_and_other_scenes_are_errors(mixed):
    scene, env = RobotScene(mixed), Environment()
    with pytest.raises(KeyError, match='swing'):
        scene.apply({'swong': 1.0})
    with pytest.raises(KeyError, match='plate'):
        scene.pose('plait')
    with pytest.raises(SsikError, match='came from this scene'):
        env.sync_to(scene)
    with pytest.raises(SsikError, match='is a joint'):
        scene.set_frame('swing', np.eye(4))
    scene.set_frame('a', np.eye(4))
    scene.set_frame('b', np.eye(4), 'a')
    with pytest.raises(SsikError, match='cannot carry'):
        scene.set_frame('a', np.eye(4), 'b')
