"""Self-motions: postures of a pose lie on its curves, and the curves end where they say."""

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.errors import InvalidOption, InvalidTarget, TopologyMismatch
from ssik_ros.solvers.self_motions.curve import EndKind
from ssik_ros.solvers.self_motions.maximum import find_maximum

ON_CURVE = 1e-9
"""Distance of a solution from its curve [rad]."""


def random_postures(arm, count, seed):
    """Return postures (count, dof) within the limits, and within a turn."""
    rng = np.random.default_rng(seed)
    limits = [(-np.pi, np.pi) if pair is None else pair for pair in arm.joint_limits]
    lower, upper = np.clip(np.array(limits).T, -np.pi, np.pi)
    return lower + (upper - lower) * rng.random((count, arm.dof))


@pytest.mark.parametrize('name', ['panda', 'fr3', 'iiwa14'])
def test_the_posture_of_a_pose_lies_on_one_of_its_curves(name):
    arm = Manipulator.from_prebuilt(name)
    for q in random_postures(arm, 30, 3):
        motions = arm.self_motions(arm.fk(q))
        assert motions.is_complete
        assert motions.nearest(q).value <= ON_CURVE


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'gen3', 'xarm7'])
def test_postures_of_curves_reach_the_pose_within_the_limits(name):
    arm = Manipulator.from_prebuilt(name)
    (q,) = random_postures(arm, 1, 5)
    target = arm.fk(q)
    rows = arm.self_motions(target).sample(0.1)
    assert len(rows) > 20
    for row in rows:
        assert np.abs(arm.fk(row) - target).max() < 1e-9
        for value, pair in zip(row, arm.joint_limits, strict=True):
            assert pair is None or pair[0] - 1e-9 <= value <= pair[1] + 1e-9


def test_a_limit_end_is_on_its_limit():
    arm = Manipulator.from_prebuilt('panda')
    (q,) = random_postures(arm, 1, 6)
    limits = dict(zip(arm.joint_names, arm.joint_limits, strict=True))
    ends = 0
    for curve in arm.self_motions(arm.fk(q)):
        for s, end in ((0.0, curve.start), (curve.length, curve.end)):
            if end.kind is EndKind.LIMIT:
                value = curve(s)[arm.joint_names.index(end.joint)]
                assert value == pytest.approx(limits[end.joint][end.is_upper], abs=1e-9)
                ends += 1
    assert ends > 0


def test_six_joints_with_a_free_axis_have_curves_too():
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.3, -1.2, 1.1, 0.4, 0.9, 0.2])
    motions = arm.self_motions(arm.fk(q), free_axis='z')
    assert motions.is_complete
    assert motions.nearest(q).value <= ON_CURVE
    target = arm.fk(q)
    for row in motions.sample(0.2):
        there = arm.fk(row)
        assert np.abs(there[:3, 2:] - target[:3, 2:]).max() < 1e-9


def test_wrong_input_is_named():
    arm, six = Manipulator.from_prebuilt('panda'), Manipulator.from_prebuilt('ur5e')
    with pytest.raises(InvalidTarget, match='not finite'):
        arm.self_motions(np.full((4, 4), np.nan))
    with pytest.raises(InvalidOption, match='free_axis'):
        six.self_motions(np.eye(4), free_axis='w')
    assert arm.self_motions(arm.fk(np.full(7, -0.5)), resolution=1e-300).resolution < 0.01
    with pytest.raises(InvalidOption, match='resolution'):
        arm.self_motions(np.eye(4), resolution=-1.0)
    with pytest.raises(TopologyMismatch, match='one redundant joint'):
        six.self_motions(np.eye(4))


@pytest.mark.parametrize('name', ['panda', 'gen3'])
def test_rounding_is_taken_out_of_a_pose(name):
    arm, q = Manipulator.from_prebuilt(name), np.linspace(0.4, 1.0, 7)
    rough = arm.fk(q)
    rough[:3, :3] += 3e-7 * np.random.default_rng(5).standard_normal((3, 3))
    postures = arm.self_motions(rough).sample(0.5)
    assert len(postures) > 10
    for reached in (arm.fk(posture) for posture in postures):
        # All reach one pose to rounding, which is exact where the given one is not.
        assert np.abs(reached - arm.fk(postures[0])).max() < 1e-12
        assert np.abs(reached - rough).max() < 3e-6


def test_a_maximum_is_looked_for_within_the_curve_only():
    for length in np.random.default_rng(5).uniform(0.1, 10.0, 1000):
        asked = []
        find_maximum(lambda s, asked=asked: asked.append(s) or -s, float(length), 0.05)
        assert min(asked) == 0.0 and max(asked) == length


def test_objectives_find_the_best_posture_of_all():
    arm = Manipulator.from_prebuilt('panda')
    (q,) = random_postures(arm, 1, 8)
    motions = arm.self_motions(arm.fk(q))
    lower, upper = np.array(arm.joint_limits).T
    rows = motions.sample(0.01)
    margins = np.minimum(rows - lower, upper - rows).min(axis=1)
    best = motions.best('limit_margin')
    assert margins.max() - 1e-9 <= best.value <= margins.max() + 0.02
    jacobians = np.array([arm.jacobian(row) for row in rows])
    measures = np.sqrt(np.linalg.det(jacobians @ jacobians.swapaxes(1, 2)))
    dexterous = motions.best('manipulability')
    assert measures.max() - 1e-9 <= dexterous.value <= measures.max() + 1e-3
    bent = motions.best(lambda posture: -abs(posture[3] + 1.5))
    assert bent.value >= -np.abs(rows[:, 3] + 1.5).min() - 1e-9
    near = motions.best('distance', posture=q)
    assert near.value == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(InvalidOption, match='limit_margin'):
        motions.best('beauty')


def test_a_pose_out_of_reach_has_no_curve():
    arm, far = Manipulator.from_prebuilt('panda'), np.eye(4)
    far[0, 3] = 5.0
    motions = arm.self_motions(far)
    assert len(motions) == 0
    assert motions.nearest(np.zeros(7)) is None and motions.best('limit_margin') is None


def test_an_arc_length_outside_is_refused():
    arm = Manipulator.from_prebuilt('panda')
    (q,) = random_postures(arm, 1, 9)
    curve = arm.self_motions(arm.fk(q))[0]
    for s in (-1e-3, curve.length + 1e-3, np.nan):
        with pytest.raises(InvalidOption, match='arc length'):
            curve(s)


def test_the_same_request_gives_the_same_bytes():
    arm = Manipulator.from_prebuilt('iiwa14')
    (q,) = random_postures(arm, 1, 10)
    first, second = (arm.self_motions(arm.fk(q)) for _ in range(2))
    arm.self_motions(arm.fk(np.zeros(7) + 0.3))
    assert [c.knots.tobytes() for c in first] == [c.knots.tobytes() for c in second]


@pytest.mark.parametrize('axis', ['x', (0.3, -0.2, 0.9)])
def test_any_axis_of_the_tool_may_be_free(axis):
    arm = Manipulator.from_prebuilt('ur5e')
    q = np.array([0.3, -1.2, 1.1, 0.4, 0.9, 0.2])
    target = arm.fk(q)
    vector = np.eye(3)[0] if axis == 'x' else np.array(axis) / np.linalg.norm(axis)
    motions = arm.self_motions(target, free_axis=axis)
    assert motions.nearest(q).value <= ON_CURVE
    for row in motions.sample(0.3):
        there = arm.fk(row)
        assert np.abs(there[:3, 3] - target[:3, 3]).max() < 1e-9
        assert np.abs((there - target)[:3, :3] @ vector).max() < 1e-9
