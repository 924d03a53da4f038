"""Task set files: the shipped ones work on their robots, and every error names its place and line."""

from pathlib import Path
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import ConfigError, DescriptionNotFound
from ssik_ros.kernels.geometry.rotations import matrix_of_rpy
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.strict_yaml import parse_yaml
from ssik_ros.tasks import Constraint, Method, RobotScene
from ssik_ros.tasks.files.task_set_builder import build_environment, frames_in_use, place_frames
from ssik_ros.tasks.files.task_set_file import (
    find_task_set_file,
    parse_task_set_file,
    read_task_set_file,
)

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / 'config' / 'task_sets'
DUAL = ROOT / 'config' / 'mechanisms' / 'dual_arm' / 'dual_arm.urdf'
BENT = {f'{s}_joint{k}': v for s in ('left', 'right') for k, v in ((2, 0.5), (4, 1.6), (6, 0.9))}
READY = {
    'panda': {'panda_joint2': 0.2, 'panda_joint4': -1.6, 'panda_joint6': 1.8},
    'ur5e': {'shoulder_lift_joint': -1.2, 'elbow_joint': 1.6, 'wrist_2_joint': -1.5},
    'dual_arm': BENT,
}

FULL = """
priority: nested
frames:
  tool: {parent: tool0, xyz: [0, 0.1, 0.2], rpy: [0.1, 0.2, 0.3]}
  goal: {at: tool}
  cup: {follow: cup_seen}
joints:
  elbow_joint: {limits: [-1, 1], weight: 0.5, limit_margin: 0.1, max_step: 0.2}
  wrist_3_joint: {passive: true}
task_sets:
  arm:
    method: dls
    damping: 0.5
    max_iterations: 7
    weights_mode: gain
    avoid_limits: true
    tasks:
      - tip: tool
        base: base_link
        constraint_base: base
        target: goal
        constraints: [position, alpha_beta]
        precision: [0.001, 0.01]
        weights: [1, 2, 3]
        target_motion: false
  look:
    enabled: false
    tasks:
      - {tip: flange, target: cup, constraints: x}
"""


def scene_of(name):
    urdf = DUAL if name == 'dual_arm' else find_moveit_config(name).urdf_path
    return RobotScene(urdf, READY[name])


@pytest.fixture(scope='module')
def ur5e():
    return scene_of('ur5e')


def parse(text):
    return parse_task_set_file(parse_yaml(text, 'arms.yaml'), 'arms.yaml')


def test_every_key_arrives(ur5e):
    world = build_environment(parse(FULL), ur5e)
    assert (world.priority, list(world.task_sets)) == ('nested', ['arm', 'look'])
    arm, look = world.task_sets.values()
    assert (arm.method, arm.damping, arm.max_iterations) == (Method.DAMPED_LEAST_SQUARES, 0.5, 7)
    assert arm.avoid_limits and arm.enabled and not look.enabled and arm.weights_mode == 'gain'
    (task,) = arm.tasks
    assert task.constraints == Constraint.POSITION | Constraint.ALPHA_BETA
    assert (task.precision, task.weights) == ((0.001, 0.01), (1.0, 2.0, 3.0))
    assert [i.name for i in (task.tip, task.base, task.target)] == [
        'tool',
        'base_link',
        'goal',
    ]
    assert task.constraint_base.name == 'base' and not task.target_motion
    assert look.tasks[0].constraints == Constraint.X
    elbow = world.joint('elbow_joint')
    assert elbow.limits == (-1.0, 1.0) and not elbow.passive
    assert (elbow.weight, elbow.limit_margin, elbow.max_step) == (0.5, 0.1, 0.2)
    assert world.joint('wrist_3_joint') not in arm.joints
    offset = world['tool'].matrix('tool0')
    assert np.allclose(offset[:3, 3], [0.0, 0.1, 0.2], atol=1e-15)
    turn = Rotation.from_euler('xyz', [0.1, 0.2, 0.3]).as_matrix()
    assert np.allclose(offset[:3, :3], turn, atol=1e-15)
    assert np.allclose(world['goal'].matrix(), world['tool'].matrix(), atol=1e-14)


def test_roll_pitch_yaw_are_those_of_a_urdf():
    for angles in np.random.default_rng(4).uniform(-3.0, 3.0, (50, 3)):
        expected = Rotation.from_euler('xyz', angles).as_matrix()
        assert np.abs(matrix_of_rpy(*angles) - expected).max() < 1e-15


@pytest.mark.parametrize('name', READY)
def test_shipped_files_solve(name):
    """A goal a few centimetres away is met, by independent kinematics of the environment's own copy."""
    assert find_task_set_file(name).name == f'{name}.yaml'
    content = read_task_set_file(SHIPPED / f'{name}.yaml')
    scene = scene_of(name)
    world = build_environment(content, scene)
    first = next(iter(world.task_sets.values()))
    assert first.solve().iterations == 0, 'the goals begin where the tips are'
    goal = world['goal']
    wanted = goal.matrix()
    wanted[:3, 3] += (-0.03, 0.02, 0.04)
    goal.set_pose(wanted)
    chosen = list(world.task_sets) if name != 'ur5e' else ['arm']
    grip = world['right_hand'].matrix('left_hand') if name == 'dual_arm' else None
    result = world.solve(chosen)
    assert result.success, result
    world.sync_to(scene)
    tip = goal_tip(world)
    reached = scene.pose(tip) if tip != 'tool' else world['tool'].matrix()
    assert np.abs(reached[:3, 3] - wanted[:3, 3]).max() < 1e-4
    if grip is not None:
        kept = np.linalg.inv(scene.pose('left_hand')) @ scene.pose('right_hand')
        assert np.abs(kept - grip).max() < 1e-4
        assert list(world.task_sets) == ['hold', 'carry'] and world.priority == 'strict'


def goal_tip(world):
    """Return the name of the tip whose target is the goal."""
    tasks = [task for task_set in world.task_sets.values() for task in task_set.tasks]
    return next(e.tip.name for e in tasks if e.target.name == 'goal')


def test_frames_are_placed_anew(ur5e):
    content = parse(FULL)
    world = build_environment(content, ur5e)
    world.q = world.q + 0.1
    seen = np.eye(4)
    seen[:3, 3] = 1.0, 2.0, 3.0
    asked = []

    def where(name):
        asked.append(name)
        return seen

    place_frames(world, content, where)
    assert np.allclose(world['goal'].matrix(), world['tool'].matrix(), atol=1e-14)
    assert np.array_equal(world['cup'].matrix(), seen) and asked == ['cup_seen']
    world['goal'].set_pose(np.eye(4))
    place_frames(world, content, where, left_out=['goal', 'cup'])
    assert np.array_equal(world['goal'].matrix(), np.eye(4)) and len(asked) == 1
    assert {'tool', 'goal', 'base'} <= frames_in_use([world.task_sets['arm']])
    assert 'cup' not in frames_in_use([world.task_sets['arm']])


# Each fault: a text of FULL, its replacement, the line of the error, and words of the message.
FAULTS = {
    'unknown key': ('priority: nested', 'prority: nested', 2, "'prority'"),
    'priority': ('priority: nested', 'priority: loose', 2, "'loose'"),
    'no task sets': (FULL[FULL.index('task_sets:') :], 'task_sets: {}\n', 10, 'no task set'),
    'task sets a list': (FULL[FULL.index('task_sets:') :], 'task_sets: [arm]\n', 10, 'no mapping'),
    'frame key': ('xyz: [0', 'xzy: [0', 4, "'xzy'"),
    'frame numbers': ('xyz: [0, 0.1, 0.2]', 'xyz: [0, 0.1]', 4, '3 numbers'),
    'frame nan': ('0.1, 0.2]', '.nan, 0.2]', 4, 'finite'),
    'two ways': ('{at: tool}', '{at: tool, follow: x}', 5, 'exclude'),
    'a list as name': ('{at: tool}', '{at: [tool]}', 5, 'no name'),
    'joint key': ('weight: 0.5', 'wieght: 0.5', 8, "'wieght'"),
    'joint number': ('weight: 0.5', 'weight: much', 8, "'much'"),
    'negative': ('weight: 0.5', 'weight: -0.5', 8, 'negative'),
    'reversed': ('[-1, 1]', '[1, -1]', 8, 'reversed'),
    'joint switch': ('passive: true', 'passive: 1', 9, 'true or false'),
    'a list as method': ('method: dls', 'method: [dls]', 12, "['dls']"),
    'method': ('method: dls', 'method: newton', 12, "'newton'"),
    'damping': ('damping: 0.5', 'damping: true', 13, 'finite'),
    'iterations': ('max_iterations: 7', 'max_iterations: 7.5', 14, '7.5'),
    'iterations negative': ('max_iterations: 7', 'max_iterations: -1', 14, '-1'),
    'iterations many': ('max_iterations: 7', 'max_iterations: 100001', 14, 'above'),
    'weights mode': ('weights_mode: gain', 'weights_mode: pain', 15, "'pain'"),
    'task set key': ('avoid_limits: true', 'avoid_limit: true', 16, "'avoid_limit'"),
    'switch': ('avoid_limits: true', 'avoid_limits: perhaps', 16, 'perhaps'),
    'task key': ('constraint_base: base', 'constrain_base: base', 20, "'constrain_base'"),
    'no tip': ('- tip: tool\n        base', '- base', 18, "no 'tip'"),
    'constraint': ('[position, alpha_beta]', '[position, delta]', 22, "'delta'"),
    'a list as constraint': ('[position, alpha_beta]', '[[position]]', 22, "['position']"),
    'no constraint': ('[position, alpha_beta]', '[]', 22, 'no list'),
    'precision': ('[0.001, 0.01]', '[0.001]', 23, '2 numbers'),
    'precision negative': ('[0.001, 0.01]', '[0.001, -1]', 23, 'negative'),
    'weights': ('[1, 2, 3]', '[1, 2, x]', 24, "'x'"),
    'task switch': ('target_motion: false', 'target_motion: 0', 25, 'true or false'),
    'no tasks': ('tasks:\n      - {', 'tasks: []\n    damping: 0\n#{', 28, 'no list'),
    'twice': ('damping: 0.5', 'damping: 0.5\n    damping: 1', 14, 'stands already'),
}
FAULTS_WITH_ROBOT = {
    'frame taken': ('tool: {parent', 'flange: {parent', 4, "'flange' already"),
    'parent': ('parent: tool0', 'parent: tool1', 4, "'tool1'"),
    'place': ('{at: tool}', '{at: tol}', 5, "'tol'"),
    'place is a joint': ('{at: tool}', '{at: elbow_joint}', 5, 'is a joint'),
    'joint': ('elbow_joint:', 'elbow:', 8, "'elbow'"),
    'a link as joint': ('elbow_joint:', 'flange:', 8, "'flange'"),
    'limits': ('[-1, 1]', '[-1, 9]', 8, 'narrower'),
    'tip': ('- tip: tool\n', '- tip: tol\n', 18, "'tol'"),
    'tip is a joint': ('- tip: tool\n', '- tip: elbow_joint\n', 18, 'is a joint'),
    'target': ('target: goal', 'target: gaol', 18, "'gaol'"),
    'own target': ('target: goal', 'target: tool', 18, 'its own target'),
    'base': ('base: base_link\n', 'base: cup\n', 18, 'does not carry'),
    'base unknown': ('base: base_link\n', 'base: cap\n', 18, "'cap'"),
    'constraint base': ('constraint_base: base\n', 'constraint_base: cap\n', 18, "'cap'"),
    'two targets': ('tip: flange', 'tip: tool', 29, "has the target 'goal'"),
    'moves nothing': ('tip: flange', 'tip: base', 26, 'moves no joint'),
}


def refused_with(fault, make):
    old, new, line, words = fault
    assert FULL.count(old) >= 1, old
    with pytest.raises(ConfigError) as caught:
        make(FULL.replace(old, new, 1))
    text = str(caught.value)
    assert re.match(rf'arms\.yaml(:|, line ){line}\b', text), text
    assert words in text, text


@pytest.mark.parametrize('fault', FAULTS)
def test_what_is_malformed_is_refused_with_its_line(fault):
    refused_with(FAULTS[fault], parse)


@pytest.mark.parametrize('fault', FAULTS_WITH_ROBOT)
def test_what_does_not_fit_the_robot_is_refused_with_its_line(fault, ur5e):
    refused_with(FAULTS_WITH_ROBOT[fault], lambda text: build_environment(parse(text), ur5e))


def test_no_file_is_refused_with_those_that_there_are():
    with pytest.raises(DescriptionNotFound, match='dual_arm, panda, ur5e'):
        find_task_set_file('pander')
    for content in (None, [], 'text'):
        with pytest.raises(ConfigError, match='no mapping'):
            parse_task_set_file(content)
