"""Self-motions of arms with slides and with a free tool axis, the clearance, and modules loaded by an import."""

import subprocess
import sys

from test.self_motions.test_curves import random_postures

import numpy as np
import pytest

from ssik_ros import load_robot, Manipulator
from ssik_ros.errors import InvalidOption
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config

RAIL = """<link name="rail_base"/>
<joint name="rail" type="prismatic"><parent link="rail_base"/><child link="base_link"/>
  <origin xyz="0.2 0 0.5" rpy="0.1 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-0.4" upper="0.9" effort="1" velocity="1"/></joint>
<link name="base_link" />"""


def on_rail():
    """Return an arm of six joints whose base slides."""
    text = make_urdf(arm_data('ur5e')).replace('<link name="base_link" />', RAIL)
    robot = load_robot(text)
    return Manipulator(robot, robot.group_from_links('rail_base', 'tool0'))


def stanford_and_wrist():
    """Return seven joints, the third of which slides."""
    alpha = [-np.pi / 2, np.pi / 2, 0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, 0.0]
    d, sigma = [0.4, 0.15, 0.0, 0.0, 0.0, 0.25, 0.1], [0, 0, 1, 0, 0, 0, 0]
    limits = [(-2.9, 2.9), (-2.0, 2.0), (0.3, 1.0), *[(-2.9, 2.9)] * 4]
    return Manipulator.from_dh(alpha, np.zeros(7), d, limits, sigma=sigma)


@pytest.mark.parametrize('make', [on_rail, stanford_and_wrist])
def test_seven_joints_with_a_slide_have_curves(make):
    arm = make()
    lower, upper = np.array(arm.joint_limits).T
    for q in random_postures(arm, 3, 11):
        target = arm.fk(q)
        motions = arm.self_motions(target)
        assert motions.nearest(q).value < 1e-9
        for row in motions.sample(0.5):
            assert np.abs(arm.fk(row) - target).max() < 1e-9
            assert (row >= lower - 1e-9).all() and (row <= upper + 1e-9).all()


@pytest.mark.parametrize('name', ['ur5e', 'irb6700', 'jaco2'])
def test_a_free_tool_axis_adds_the_seventh_joint(name):
    arm = Manipulator.from_prebuilt(name)
    for q in random_postures(arm, 2, 12):
        target = arm.fk(q)
        motions = arm.self_motions(target, free_axis='z')
        assert motions.nearest(q).value < 1e-9
        for row in motions.sample(0.5):
            assert np.abs((arm.fk(row) - target)[:3, 2:]).max() < 1e-9


def test_the_largest_clearance_is_that_of_no_other_posture():
    config = find_moveit_config('panda')
    arm = Manipulator.from_group(config.urdf_path, config.srdf_path, 'panda_arm')
    (q,) = random_postures(arm, 1, 8)
    motions = arm.self_motions(arm.fk(q))
    size = np.array([0.2, 0.2, 0.2])
    place = np.eye(4)
    place[:3, 3] = arm.fk(q)[:3, 3] + [0.3, 0.3, 0.3]
    box = WorldObject('box', place, (ObjectShape(SolidKind.BOX, size, np.eye(4)),))
    scene = CollisionChecker(arm.robot).scene([box])

    def state_of(posture):
        state = arm.robot.default_positions()
        state[arm.group.idx_q] = posture
        return state

    # Only pairs that the arm moves: fingers stay where they are in the hand.
    moving = scene.moving_pairs(state_of(q), state_of(q + 0.1))
    is_moved = np.array([tuple(pair) in moving for pair in scene.pairs.tolist()])

    def clearance(posture):
        apart = scene.distances(state_of(posture), np.full(len(is_moved), np.inf))
        return apart[is_moved].min()

    best = motions.best('clearance', obstacles=[box])
    assert best.value <= motions.best('clearance').value + 1e-9
    assert best.value == pytest.approx(clearance(best.q))
    assert best.value >= max(clearance(row) for row in motions.sample(0.2)) - 0.02


def test_the_clearance_needs_geometry():
    arm = Manipulator.from_prebuilt('iiwa14')
    (q,) = random_postures(arm, 1, 8)
    with pytest.raises(InvalidOption, match='geometry'):
        arm.self_motions(arm.fk(q)).best('clearance')


def test_an_arm_is_imported_without_what_finds_self_motions():
    code = (
        'import sys, ssik_ros; ssik_ros.Manipulator; '
        "print([name for name in sys.modules if 'self_motion' in name])"
    )
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == '[]', run.stderr
