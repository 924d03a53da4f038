"""No solution that Newton finds from many starts is off the curves of its pose."""

from test.self_motions.newton_oracle import solutions
from test.self_motions.test_curves import random_postures
from test.self_motions.test_proof import Traced

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm

ARMS = ('panda', 'iiwa14', 'gen3', 'fr3', 'xarm7', 'rizon4')


def assert_all_on_curves(name, poses, values, starts, seed):
    """Compare solutions at values of the last joint with the curves of random poses; return how many there were."""
    arm = Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    low, high = np.clip([body.lower[6], body.upper[6]], -np.pi, np.pi)
    held = low + (high - low) * (np.arange(values) + 0.5) / values
    count = 0
    for index, q in enumerate(random_postures(arm, poses, seed)):
        target = arm.fk(q)
        motions = arm.self_motions(target)
        for row in solutions(body, target, 6, held, starts, index):
            assert motions.nearest(row).value < 1e-9, (name, index, row.tolist())
            count += 1
    return count


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_every_solution_of_some_poses_lies_on_a_curve(name):
    assert assert_all_on_curves(name, poses=3, values=20, starts=12, seed=41) > 10


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize('name', ARMS)
def test_every_solution_of_many_poses_lies_on_a_curve(name):
    assert assert_all_on_curves(name, poses=12, values=200, starts=12, seed=42) > 1000


@pytest.mark.sampled
@pytest.mark.parametrize('name', ARMS)
def test_the_random_posture_of_every_pose_lies_on_a_curve(name):
    arm = Manipulator.from_prebuilt(name)
    for q in random_postures(arm, 40, 43):
        assert arm.self_motions(arm.fk(q)).nearest(q).value < 1e-9


@pytest.mark.parametrize(
    'q',
    [
        (2.6047, -0.7559, -2.9035, -0.8223, -2.9593, 2.9652, 1.8248),
        (0.6264, 0.4647, 0.7971, 1.5594, -2.9514, 1.3497, -2.9523),
        (2.7773, -2.0139, -2.9263, 2.1890, -0.4824, 3.5191, 0.7566),
    ],
)
def test_a_short_stretch_next_to_the_limits_of_joints_that_turn_round_outside_is_found(q):
    # Within wider limits these joints go from one limit to the other, across the half turn between both.
    arm = Manipulator.from_prebuilt('rizon4')
    assert arm.self_motions(arm.fk(q)).nearest(q).value < 1e-9


@pytest.mark.parametrize(
    ('name', 'q'),
    [
        ('rizon4', (2.7074, 1.5692, -2.9060, 0.4160, -2.3029, 2.5902, 1.6171)),
        # Nearly singular: the closed curve is some hundredths long.
        ('rizon10', (1.3018, -2.5651, -1.4264, 0.4176, -1.2112, -0.2482, 0.3316)),
        ('yumi_left', (2.5677, -2.0754, 0.6008, -1.1083, -2.1795, -0.7555, 1.3228)),
        # The branches exist between two folds only, where joint 6 is within its limits for a part of the way.
        ('xarm7', (-1.9301, -1.5495, -2.8627, 2.9378, 2.8912, -1.6882, -0.7697)),
        ('xarm7', (-1.5552, -1.7073, 0.5651, 3.5070, 0.2764, -1.6238, -0.4241)),
    ],
)
def test_a_short_closed_curve_between_two_values_of_the_held_joint_is_found(name, q):
    arm = Manipulator.from_prebuilt(name)
    motions = arm.self_motions(arm.fk(q))
    assert motions.nearest(q).value < 1e-9


@pytest.mark.parametrize('name', ARMS)
def test_curves_end_where_they_say(name):
    arm = Manipulator.from_prebuilt(name)
    body = SerialChain.from_group(arm.robot, arm.group)
    held, kinds = AnalyticArm(body).plan.held, set()
    for q in random_postures(arm, 12, 44):
        motions = arm.self_motions(arm.fk(q))
        for curve in motions:
            for s, inward, end in ((0.0, 1.0, curve.start), (curve.length, -1.0, curve.end)):
                here, kind = curve(s), end.kind.name
                kinds.add(kind)
                if kind == 'LIMIT':
                    joint = arm.joint_names.index(end.joint)
                    limit = (body.upper if end.is_upper else body.lower)[joint]
                    assert here[joint] == pytest.approx(limit, abs=1e-9)
                elif kind == 'FOLD':
                    near = curve(min(max(s + 1e-4 * inward, 0.0), curve.length))
                    # At the end, the change of the held joint is only of second order.
                    assert abs(near[held] - here[held]) < 1e-6 + 2e-2 * np.abs(near - here).max()
                    assert end.curves
                elif kind == 'CLOSED':
                    change = curve(0.0) - curve(curve.length)
                    assert (
                        np.abs(change - 2.0 * np.pi * np.round(change / (2.0 * np.pi))).max()
                        < 1e-8
                    )
    assert 'FOLD' in kinds and kinds <= {'LIMIT', 'FOLD', 'CLOSED', 'CROSSING'}


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_every_curve_has_a_posture_for_each_step_of_the_resolution(name):
    """Curves are followed from candidates: along each curve the held joint moves no farther than the resolution between two."""
    count = 0
    for q in random_postures(Manipulator.from_prebuilt(name), 6, 47):
        traced = Traced(name, q)
        motions, held = traced.motions, traced.table.pose.plan.held
        candidates = traced.table.find_candidates()
        for curve in motions:
            ends = curve(0.0)[held], curve(curve.length)[held]
            on_curve = [row[held] for row in candidates if curve.nearest(row).value < 1e-6]
            steps = np.diff(np.sort([*ends, *on_curve]))
            assert steps.max() <= motions.resolution * (1.0 + 1e-9), (curve, steps)
            count += abs(ends[1] - ends[0]) > motions.resolution
    assert count > 5


def test_beside_a_singular_posture_no_curve_is_followed_twice():
    arm = Manipulator.from_prebuilt('panda')
    q = [
        *(-1.6495678995722067, 1.7302391023954744, -0.7345596609797234, -0.4219410159683923),
        *(1.612884051816272, 1.8991750715076188, 2.6944009441559973),
    ]
    motions = arm.self_motions(arm.fk(q))
    assert motions.is_complete
    assert len(motions.sample(0.05)) > 50
