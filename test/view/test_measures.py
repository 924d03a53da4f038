"""The manipulability ellipsoid and the nearest pair of a session, against independent figures."""

from test.view.made_arms import two_arms
from test.view.test_session import session_of

import numpy as np
import pytest

from ssik_ros.server.requests.refusals import RequestRefused
from ssik_ros.view.obstacles import make_solid
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.velocity_ellipsoid import make_ellipsoid


def test_the_ellipsoid_holds_the_velocities_of_finite_differences():
    session = session_of('ur5e', 'ur_manipulator')
    ellipsoid = session.velocity_ellipsoid()
    q, here = session.joints, session.tip_pose('tool0')[:3, 3]
    assert np.allclose(ellipsoid.pose[:3, 3], here) and np.isclose(
        np.linalg.det(ellipsoid.pose[:3, :3]), 1.0
    )
    rng, most = np.random.default_rng(5), 0.0
    for _ in range(300):
        step = rng.normal(size=6)
        step *= 1e-6 / np.linalg.norm(step)
        there = session.tip_pose('tool0', session.state_with(q + step))[:3, 3]
        scaled = ellipsoid.pose[:3, :3].T @ (there - here) / 1e-6 / ellipsoid.radii
        most = max(most, float(np.linalg.norm(scaled)))
    assert 0.7 < most <= 1.0 + 1e-4


def test_the_ellipsoid_is_in_the_model_frame_of_a_turned_base():
    session = session_of('ur5e', 'ur_manipulator')
    before = session.velocity_ellipsoid()
    turned = session.joints.copy()
    turned[0] += 0.7
    session.set_joints(turned)
    after = session.velocity_ellipsoid()
    c, s = np.cos(0.7), np.sin(0.7)
    moved = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))) @ before.weakest
    assert abs(abs(moved @ after.weakest) - 1.0) < 1e-6
    assert np.allclose(before.radii, after.radii)


def test_an_arm_that_moves_in_a_plane_has_a_flat_ellipsoid():
    ellipsoid = make_ellipsoid(np.array(((1.0, 0.2), (0.1, 0.5), (0.0, 0.0))), np.zeros(3))
    assert (
        ellipsoid.radii[2] == 0.0
        and ellipsoid.ratio == 0.0
        and np.abs(ellipsoid.weakest[2]) > 1.0 - 1e-12
    )


def test_several_tips_have_no_ellipsoid_and_bodies_without_shapes_no_pair():
    robot = two_arms()
    session = Session(robot, robot.group('both'))
    assert session.velocity_ellipsoid() is None
    with pytest.raises(RequestRefused, match='no collision geometry'):
        session.nearest_pair()


BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
LOST = '<collision><geometry><mesh filename="package://lost/a.stl"/></geometry></collision>'


@pytest.mark.parametrize(
    ('shapes', 'reason'),
    [
        ('', 'has no collision geometry'),
        (BALL + LOST, "cannot be checked for collisions: Link 'base': the mesh"),
    ],
)
def test_the_panel_says_why_no_pair_is_measured(shapes, reason):
    measure_panel = pytest.importorskip('ssik_ros.view.browser.panels.measure_panel')
    robot = two_arms(shapes)
    pair, text = measure_panel.measure_pair(Session(robot, robot.group('both')))
    assert pair is None and reason in text


def test_the_nearest_pair_has_the_distance_of_its_points_and_leaves_far_objects_out():
    session = session_of('ur5e', 'ur_manipulator')
    pair = session.nearest_pair()
    apart = float(np.linalg.norm(pair.points[1] - pair.points[0]))
    assert pair.distance > 0.0 and np.isclose(apart, pair.distance, atol=1e-6)
    for name, y in (('one', 0.0), ('two', 0.201)):
        pose = np.eye(4)
        pose[:2, 3] = 3.0, y
        session.put_obstacle(make_solid(name, 'sphere', [0.1], pose))
    again = session.nearest_pair()
    assert (again.first, again.second) == (pair.first, pair.second)


def test_a_ball_near_the_elbow_is_the_nearest_and_overlaps_count_as_negative():
    session = session_of('ur5e', 'ur_manipulator')
    above = session.tip_pose('forearm_link')[:3, 3].copy()
    above[2] += 0.13
    for radius, sign in ((0.02, 1.0), (0.3, -1.0)):
        pose = np.eye(4)
        pose[:3, 3] = above
        session.put_obstacle(make_solid('ball', 'sphere', [radius], pose))
        pair = session.nearest_pair()
        assert 'ball' in {pair.first, pair.second} and sign * pair.distance > 0.0
        if sign > 0.0:
            ends = pair.points if pair.second == 'ball' else pair.points[::-1]
            assert np.isclose(np.linalg.norm(ends[1] - pose[:3, 3]), radius, atol=1e-4)


def test_no_pair_is_nearer_than_the_nearest():
    session, rng = session_of('ur5e', 'ur_manipulator'), np.random.default_rng(8)
    for number in range(6):
        pose = np.eye(4)
        pose[:3, 3] = rng.uniform(-0.6, 0.6, 3)
        session.put_obstacle(make_solid(f'ball {number}', 'sphere', [0.05], pose))
    world = session.server.scene.world.now()
    scene = session.server.scene.collisions.scene(world)
    for _ in range(20):
        session.set_joints(session.random_joints())
        every = scene.distances(session.state.positions, np.full(len(scene.pairs), np.inf))
        assert session.nearest_pair().distance == every.min()
