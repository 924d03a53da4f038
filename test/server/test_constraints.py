"""Constraints: verdicts against scipy and plain arithmetic, and solutions that keep them or a report that none does."""

import math

from test.server.served_robots import (
    ik_request,
    is_at,
    joint,
    pose_of,
    random_full_state,
    robot_text,
    serve,
    true_pose,
)

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause, no_solution
from ssik_ros.server.requests.constraints import (
    ConstraintsGiven,
    JointConstraintGiven,
    OrientationConstraintGiven,
    PositionConstraintGiven,
)
from ssik_ros.server.requests.refusals import Refusal, RequestRefused
from ssik_ros.server.requests.regions import Region, RegionPart, Solid
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.constraint_check import ConstraintCheck

ARM, TIP = 'panda_arm', 'panda_link8'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
HERE = np.eye(4)
BOX = RegionPart(Solid.BOX, (2.0, 2.0, 2.0), HERE)


@pytest.fixture(scope='module')
def server(robots):
    return serve(robots['panda'], ARM)


@pytest.fixture(scope='module')
def ready(server):
    return server.groups[ARM].with_group(server.states.default(), READY)


def check(server, current, **wishes):
    return ConstraintCheck(
        server.frames,
        ConstraintsGiven(**wishes),
        lambda name: server.frames.in_model_frame(name, current),
    )


# Regions


SOLIDS = {
    'box': (Solid.BOX, (0.4, 0.6, 0.8), lambda p: (np.abs(p) <= [0.2, 0.3, 0.4]).all()),
    'sphere': (Solid.SPHERE, (0.35,), lambda p: np.linalg.norm(p) <= 0.35),
    'cylinder': (
        Solid.CYLINDER,
        (0.8, 0.3),
        lambda p: abs(p[2]) <= 0.4 and math.hypot(*p[:2]) <= 0.3,
    ),
    'cone': (
        Solid.CONE,
        (0.8, 0.4),
        lambda p: abs(p[2]) <= 0.4 and math.hypot(*p[:2]) <= 0.4 * (0.4 - p[2]) / 0.8,
    ),
}


@pytest.mark.parametrize('name', SOLIDS)
def test_points_of_a_solid(name):
    kind, sizes, truth = SOLIDS[name]
    pose, rng = pose_of((0.1, -0.2, 0.3), (0.5, 0.2, -1.0)), np.random.default_rng(1)
    region = Region([RegionPart(kind, sizes, pose)], 'It')
    points = rng.uniform(-0.6, 0.6, (500, 3))
    is_inside = [region.contains(pose[:3, :3] @ p + pose[:3, 3]) for p in points]
    assert is_inside == [bool(truth(p)) for p in points]
    assert 20 < sum(is_inside) < 480


def test_a_mesh_is_its_convex_hull():
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5
    region = Region([RegionPart(Solid.HULL, (), HERE, corners)], 'It')
    assert region.contains(np.array([0.5, 0.5, 0.5]))
    assert not region.contains(np.array([0.51, 0.0, 0.0]))


def test_a_region_is_the_union_of_its_solids():
    parts = [RegionPart(Solid.SPHERE, (0.1,), pose_of((x, 0.0, 0.0))) for x in (0.0, 1.0)]
    region = Region(parts, 'It')
    inside = [region.contains(np.array([x, 0.0, 0.0])) for x in (0.0, 0.5, 1.0)]
    assert inside == [True, False, True]


# Verdicts


def test_a_joint_within_its_tolerances_holds(server, ready):
    for off, holds in ((0.1, True), (0.11, False), (-0.2, True), (-0.21, False)):
        wish = JointConstraintGiven('panda_joint4', float(READY[3]) - off, above=0.1, below=0.2)
        (verdict,) = check(server, ready, joints=[wish]).judge(ready)
        assert verdict.holds is holds
        assert verdict.distance == pytest.approx(abs(off))
        assert holds or 'panda_joint4' in verdict.text


def test_weights_scale_distances(server, ready):
    for weight, factor in ((3.0, 3.0), (0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0)):
        wish = JointConstraintGiven('panda_joint4', READY[3] + 0.5, 1.0, 1.0, weight)
        (verdict,) = check(server, ready, joints=[wish]).judge(ready)
        assert verdict.distance == pytest.approx(0.5 * factor)


def test_a_point_of_a_link_is_judged_where_the_link_is(server, robots):
    rng, robot = np.random.default_rng(2), robots['panda']
    for _ in range(20):
        state = random_full_state(robot, rng)
        offset, radius = rng.uniform(-0.3, 0.3, 3), rng.uniform(0.3, 1.2)
        pose = true_pose(robot, state, TIP)
        point = pose[:3, :3] @ offset + pose[:3, 3]
        for frame, base in (('', HERE), ('panda_link2', true_pose(robot, state, 'panda_link2'))):
            local = base[:3, :3].T @ (point - base[:3, 3])
            centre = pose_of((0.2, 0.1, 0.4))
            parts = [RegionPart(Solid.SPHERE, (radius,), centre)]
            wish = PositionConstraintGiven(TIP, frame, offset, parts)
            (verdict,) = check(server, state, positions=[wish]).judge(state)
            distance = np.linalg.norm(local - centre[:3, 3])
            assert verdict.distance == pytest.approx(distance)
            assert verdict.holds is bool(distance <= radius)


def test_a_frame_that_is_a_link_moves_with_the_candidate(server, ready, robots):
    other = random_full_state(robots['panda'], np.random.default_rng(3))
    inner = np.linalg.inv(true_pose(robots['panda'], other, 'panda_link5'))
    place = inner @ true_pose(robots['panda'], other, TIP)
    wish = PositionConstraintGiven(
        TIP, 'panda_link5', np.zeros(3), [RegionPart(Solid.SPHERE, (1e-3,), place)]
    )
    tests = check(server, ready, positions=[wish])
    assert tests.judge(other)[0].holds
    assert not tests.judge(ready)[0].holds


@pytest.mark.parametrize('is_vector', [False, True])
def test_an_orientation_is_judged_by_three_numbers(server, robots, is_vector):
    rng, robot = np.random.default_rng(4), robots['panda']
    outcomes = set()
    for _ in range(60):
        state = random_full_state(robot, rng)
        actual = Rotation.from_matrix(true_pose(robot, state, TIP)[:3, :3])
        off = Rotation.from_rotvec(rng.uniform(-0.5, 0.5, 3))
        desired = np.eye(4)
        desired[:3, :3] = (actual * off.inv()).as_matrix()
        expected = np.abs(off.as_rotvec() if is_vector else off.as_euler('XYZ'))
        tolerances = tuple(rng.uniform(0.1, 0.9, 3))
        wish = OrientationConstraintGiven(TIP, '', desired, tolerances, is_vector)
        (verdict,) = check(server, state, orientations=[wish]).judge(state)
        assert verdict.distance == pytest.approx(expected.sum(), abs=1e-9)
        assert verdict.holds is bool((expected <= tolerances).all())
        outcomes.add(verdict.holds)
    assert outcomes == {True, False}


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('free', [0, 2])
def test_where_the_outer_angles_are_one_either_tolerance_will_do(server, ready, sign, free):
    actual = Rotation.from_matrix(true_pose(server.robot, ready, TIP)[:3, :3])
    off = Rotation.from_euler('XYZ', [0.3, sign * math.pi / 2, 0.0])
    desired = np.eye(4)
    desired[:3, :3] = (actual * off.inv()).as_matrix()
    tolerances = [0.01, 2.0, 0.01]
    wish = OrientationConstraintGiven(TIP, '', desired, tuple(tolerances))
    assert not check(server, ready, orientations=[wish]).judge(ready)[0].holds
    tolerances[free] = 0.31
    wish = OrientationConstraintGiven(TIP, '', desired, tuple(tolerances))
    assert check(server, ready, orientations=[wish]).judge(ready)[0].holds


REFUSED = {
    'joint': ({'joints': [JointConstraintGiven('panda_joint9', 0.0, 1.0, 1.0)]}, 'panda_joint9'),
    'joint tolerance': (
        {'joints': [JointConstraintGiven('panda_joint1', 0.0, -1.0, 1.0)]},
        'panda_joint1',
    ),
    'joint nan': (
        {'joints': [JointConstraintGiven('panda_joint1', math.nan, 1.0, 1.0)]},
        'panda_joint1',
    ),
    'link': ({'positions': [PositionConstraintGiven('thumb', '', np.zeros(3), [BOX])]}, 'thumb'),
    'no region': ({'positions': [PositionConstraintGiven(TIP, '', np.zeros(3), [])]}, 'no region'),
    'prism': (
        {'positions': [PositionConstraintGiven(TIP, '', np.zeros(3), [BOX._replace(kind=5)])]},
        'kind 5',
    ),
    'sizes': (
        {
            'positions': [
                PositionConstraintGiven(TIP, '', np.zeros(3), [BOX._replace(dimensions=(1.0,))])
            ]
        },
        'box',
    ),
    'flat mesh': (
        {
            'positions': [
                PositionConstraintGiven(
                    TIP, '', np.zeros(3), [RegionPart(Solid.HULL, (), HERE, np.zeros((4, 3)))]
                )
            ]
        },
        'without a volume',
    ),
    'tolerance': (
        {'orientations': [OrientationConstraintGiven(TIP, '', HERE, (0.1, math.nan, 0.1))]},
        'tolerance',
    ),
    'quaternion': (
        {'orientations': [OrientationConstraintGiven(TIP, '', HERE * math.nan, (0.1, 0.1, 0.1))]},
        'quaternion',
    ),
    'parameterization': (
        {'orientations': [OrientationConstraintGiven(TIP, '', HERE, (0.1, 0.1, 0.1), kind=7)]},
        'parameterization 7',
    ),
    'kind': ({'others': ('visibility_constraints',)}, 'visibility_constraints'),
}


@pytest.mark.parametrize('name', REFUSED)
def test_what_is_not_understood_is_refused_by_name(server, ready, name):
    wishes, part = REFUSED[name]
    with pytest.raises(RequestRefused, match=part) as caught:
        check(server, ready, **wishes)
    assert caught.value.refusal is Refusal.CONSTRAINTS


def test_an_unknown_frame_has_its_own_refusal(server, ready):
    wish = PositionConstraintGiven(TIP, 'nowhere', np.zeros(3), [BOX])
    with pytest.raises(RequestRefused, match='nowhere') as caught:
        check(server, ready, positions=[wish])
    assert caught.value.refusal is Refusal.UNKNOWN_FRAME


# Solutions


def ask(server, current, target, **wishes):
    return server.solve(
        ik_request(ARM, [('', target)], constraints=ConstraintsGiven(**wishes)), current
    )


def test_a_joint_constraint_decides_between_solutions(server, ready):
    target = true_pose(server.robot, ready, TIP)
    tree, rng = server.robot.tree, np.random.default_rng(5)
    place = tree.idx_q[tree.joint_index['panda_joint7']]
    values = []
    for _ in range(4):
        elsewhere = ready._replace(positions=random_full_state(server.robot, rng).positions)
        other = server.solve(ik_request(ARM, [('', target)]), elsewhere)
        value = float(other.state.positions[place])
        response = ask(
            server, ready, target, joints=[JointConstraintGiven('panda_joint7', value, 0.01, 0.01)]
        )
        assert response.solved, response.text
        assert is_at(server.robot, response.state, TIP, target)
        assert abs(response.state.positions[place] - value) <= 0.01 + 1e-9
        values.append(value)
    assert np.ptp(values) > 0.1


def test_a_position_constraint_of_another_link_decides_between_elbows(server, ready):
    target = true_pose(server.robot, ready, TIP)
    sides = []
    for side in (1.0, -1.0):
        part = RegionPart(Solid.BOX, (4.0, 2.0, 4.0), pose_of((0.0, side * 1.05, 0.0)))
        wish = PositionConstraintGiven('panda_link4', '', np.zeros(3), [part])
        response = ask(server, ready, target, positions=[wish])
        assert response.solved, response.text
        sides.append(true_pose(server.robot, response.state, 'panda_link4')[1, 3])
    assert sides[0] >= 0.05 - 1e-9 and sides[1] <= -0.05 + 1e-9


def test_constraints_that_nothing_keeps_are_the_cause(server, ready):
    target = true_pose(server.robot, ready, TIP)
    high = RegionPart(Solid.SPHERE, (0.1,), pose_of((0.0, 0.0, 9.0)))
    cases = {
        'tip elsewhere': {'positions': [PositionConstraintGiven(TIP, '', np.zeros(3), [high])]},
        'beyond the limits': {'joints': [JointConstraintGiven('panda_joint4', 1.0, 0.1, 0.1)]},
        'elbow that cannot be': {
            'joints': [JointConstraintGiven('panda_joint4', -0.1, 0.02, 0.02)]
        },
        'finger that is not there': {
            'joints': [JointConstraintGiven('panda_finger_joint1', 0.04, 0.0, 0.0)]
        },
    }
    for name, wishes in cases.items():
        asked = ik_request(ARM, [('', target)], constraints=ConstraintsGiven(**wishes))
        response = server.solve(asked, ready)
        assert not response.solved
        assert (response.refusal, response.cause) == (Refusal.NONE, Cause.CONSTRAINTS), name
        assert response.text.startswith(no_solution(response.cause)), name


def test_a_pose_beyond_the_links_stays_unreachable_under_constraints(server, ready):
    wish = JointConstraintGiven('panda_joint1', 0.0, 0.5, 0.5)
    assert ask(server, ready, pose_of((9.0, 0.0, 0.0)), joints=[wish]).cause is Cause.UNREACHABLE


def test_a_continuous_joint_is_compared_modulo_turns():
    text = robot_text(
        joint('turn', 'continuous', 'l0', 'l1', '0 0 0.1'),
        joint('swing', 'continuous', 'l1', 'l2', '0.5 0 0', '0 1 0'),
        joint('end', 'fixed', 'l2', 'tip', '0.3 0 0'),
    )
    robot = load_robot(text)
    group = robot.group_from_links('l0', 'tip', 'arm')
    server = RobotServer(robot, [group])
    state = server.states.default()._replace(positions=np.array([50.0, 0.2]))
    middle = math.remainder(50.0, 2.0 * math.pi)
    tests = check(server, state, joints=[JointConstraintGiven('turn', middle, 0.01, 0.01)])
    assert tests.judge(state)[0].holds
    lower, upper = tests.narrow(group, state)
    assert lower[0] <= 50.0 <= upper[0]
    assert upper[0] - lower[0] == pytest.approx(0.02)
