"""
Group J of the cases (docs/reference/cases.md), and collisions and smoothest paths with known truth.

The planar arm has links of 0.5, 0.4 and 0.2 m: a pose within reach has two postures, each the other one's mirror image
at the line to the wrist, and both can be written down.
"""

from functools import cache
import itertools
from pathlib import Path

from test.cases.asked_robots import Asked, from_text
from test.server.served_robots import errors_between, ik_request, pose_of, solve_all
from test.solvers import arms

import numpy as np
import pytest

from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.collision.objects import CarriedObject, ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_requests import PathRequest
from ssik_ros.server.paths.straight_lines import make_line
from ssik_ros.server.requests.ik_requests import (
    BranchOptions,
    CarriedGiven,
    NOTHING_CARRIED,
    NOTHING_GIVEN,
    ObjectGiven,
    StateGiven,
    StateRequest,
)
from ssik_ros.server.scene.world import SceneWorld

LENGTHS = np.array([0.5, 0.4, 0.2])
HEIGHT = 0.2
ELBOW_UP = np.array([0.9, -1.3, 0.5])
FANUC = np.array([0.1, 0.2, -0.3, 0.1, 0.4, 0.0])


def bar(length):
    """Return a thin bar along x as collision geometry."""
    size = f'<box size="{length} 0.02 0.02"/>'
    return f'<collision><origin xyz="{0.5 * length} 0 0"/><geometry>{size}</geometry></collision>'


def planar(limits=('-3.1 3.1', '-3.1 3.1', '-3.1 3.1'), kind='revolute', shapes=True):
    """Return the text of the planar arm."""
    rows = zip(('0 0 0.2', '0.5 0 0', '0.4 0 0'), limits, strict=True)
    text = arms.chain(*((kind, xyz, arms.Z, limit) for xyz, limit in rows), tool='0.2 0 0')
    if shapes:
        for number, length in enumerate((0.5, 0.4, 0.2), start=1):
            link = f'<link name="l{number}"'
            text = text.replace(f'{link}/>', f'{link}>{bar(length)}</link>')
    return text


def mirrored(q):
    """Return the other posture (3) that reaches the same pose."""
    elbow = LENGTHS[0] * np.exp(1j * q[0])
    wrist = elbow + LENGTHS[1] * np.exp(1j * (q[0] + q[1]))
    first = 2.0 * np.angle(wrist) - q[0]
    return np.array([first, -q[1], q.sum() - first + q[1]])


def elbow_of(q):
    """Return where the elbow is."""
    return np.array([*(LENGTHS[0] * np.array([np.cos(q[0]), np.sin(q[0])])), HEIGHT])


def ball(name, place, radius=0.03):
    """Return a sphere of the world."""
    return WorldObject(name, pose_of(place), (ObjectShape(SolidKind.SPHERE, [radius], np.eye(4)),))


def among(*objects, srdf=None, text='', padding=0.0):
    """Return the planar arm among objects, and the world with these objects."""
    world = SceneWorld()
    for item in objects:
        world.add(item)
    robot = load_robot(text or planar(), srdf)
    return Asked(robot, robot.group_from_links('l0', 'tip'), world=world, padding=padding), world


def test_both_postures_of_the_planar_arm_are_known():
    arm = from_text(planar())
    assert arm.pose(mirrored(ELBOW_UP)) == pytest.approx(arm.pose(ELBOW_UP), abs=1e-12)
    assert np.abs(mirrored(ELBOW_UP) - ELBOW_UP).max() > 0.5


# Collisions with known truth


def test_cc01_where_the_nearest_posture_collides_the_other_one_is_returned():
    arm, _ = among(ball('post', elbow_of(ELBOW_UP)))
    pose, near = arm.pose(ELBOW_UP), arm.state(ELBOW_UP)
    free = arm.ask([('', pose)], near)
    assert arm.q(free) == pytest.approx(ELBOW_UP, abs=1e-3)
    response = arm.ask([('', pose)], near, avoid_collisions=True)
    assert arm.is_verified(response, '', pose), response.text
    assert arm.q(response) == pytest.approx(mirrored(ELBOW_UP), abs=5e-3)


def test_cc02_where_both_postures_collide_the_cause_and_a_pair_are_told():
    posts = [
        ball(name, elbow_of(q)) for name, q in (('up', ELBOW_UP), ('down', mirrored(ELBOW_UP)))
    ]
    arm, _ = among(*posts)
    response = arm.ask([('', arm.pose(ELBOW_UP))], avoid_collisions=True, timeout=30.0)
    assert not response.solved and response.cause is Cause.COLLISION, response.text
    assert any(
        f"'{link}' with '{post}'" in response.text
        for link in ('l1', 'l2')
        for post in ('up', 'down')
    )
    report = arm.server.explain(_request(arm, ELBOW_UP), arm.default)
    assert set(report.colliding) & {'up', 'down'} and set(report.colliding) & {'l1', 'l2'}
    assert report.distance < 1e-3 and any('apart' in line for line in report.advice)


def _request(arm, q):
    return ik_request(arm.group.name, [('', arm.pose(q))], avoid_collisions=True, timeout=30.0)


def judged(arm, q, carried=NOTHING_CARRIED):
    """Return whether a posture is valid, and the pairs that collide."""
    current = arm.state(q)
    judgement = arm.server.check_state(
        StateRequest('', NOTHING_GIVEN._replace(carried=carried)), current
    )
    return judgement.is_valid, {frozenset((c.first, c.second)) for c in judgement.contacts}


@pytest.mark.parametrize('gap', [0.004, 0.02])
def test_cc03_padding_counts_exactly(gap):
    """A ball at a gap from the first bar: the bar's half width is 0.01, the ball's radius 0.03."""
    post = ball('post', (0.25, 0.01 + 0.03 + gap, HEIGHT))
    straight = np.array([0.0, 0.3, 0.0])
    for padding, valid in ((0.0, True), (gap - 0.001, True), (gap + 0.001, False)):
        arm, _ = among(post, padding=padding)
        assert judged(arm, straight) == (valid, set() if valid else {frozenset(('l1', 'post'))})


def test_cc04_pairs_that_the_srdf_disables_may_touch():
    """The arm folded up: the third bar lies on the first one."""
    folded = np.array([0.3, np.pi - 0.02, 0.0])
    neighbours = [('l1', 'l2'), ('l2', 'l3')]
    for pairs, colliding in (
        (neighbours, {frozenset(('l1', 'l3'))}),
        ([*neighbours, ('l3', 'l1')], set()),
    ):
        rows = ''.join(
            f'<disable_collisions link1="{a}" link2="{b}" reason="User"/>' for a, b in pairs
        )
        arm, _ = among(srdf=f'<robot name="made">{rows}</robot>')
        assert judged(arm, folded) == (not colliding, colliding)
    # Without such a list neighbours may touch, and nothing else.
    arm, _ = among()
    assert judged(arm, folded) == (False, {frozenset(('l1', 'l3'))})


def test_cc05_objects_of_the_world_stand_move_and_go():
    arm, world = among(ball('post', elbow_of(ELBOW_UP)))
    down = mirrored(ELBOW_UP)
    assert judged(arm, ELBOW_UP) == (False, {frozenset((link, 'post')) for link in ('l1', 'l2')})
    assert judged(arm, down) == (True, set())
    world.move('post', pose_of(elbow_of(down)))
    assert judged(arm, ELBOW_UP)[0] and not judged(arm, down)[0]
    world.remove('post')
    assert judged(arm, down) == (True, set())


def test_cc06_objects_that_are_carried_move_with_their_link():
    """A ball 0.3 m ahead of the tip meets another one there and nowhere else."""
    arm, world = among()
    held = ball('held', (0.3, 0.0, 0.0))
    world.attach(CarriedObject(held, 'tip'))
    place = (arm.pose(ELBOW_UP) @ pose_of((0.3, 0.0, 0.0)))[:3, 3]
    world.add(ball('wall', place))
    assert judged(arm, ELBOW_UP) == (False, {frozenset(('held', 'wall'))})
    assert judged(arm, mirrored(ELBOW_UP)) == (False, {frozenset(('held', 'wall'))})
    assert judged(arm, ELBOW_UP + np.array([0.2, 0.0, 0.0])) == (True, set())
    response = arm.ask([('', arm.pose(ELBOW_UP))], avoid_collisions=True, timeout=30.0)
    assert response.cause is Cause.COLLISION
    # Contact with the link that carries the object, or with its touch links, does not count as a collision.
    world.remove('wall')
    near = ball('near', (-0.1, 0.0, 0.0))
    world.attach(CarriedObject(near, 'tip'))
    assert judged(arm, ELBOW_UP) == (False, {frozenset(('near', 'l3'))})
    world.attach(CarriedObject(near, 'tip', frozenset(('l3',))))
    assert judged(arm, ELBOW_UP) == (True, set())


# The smoothest sequence


def test_cp12_of_all_sequences_the_smoothest_is_found(robots):
    """Every branch at each sample, every way through them that joins, by brute force."""
    robot = robots['fanuc']
    arm = Asked(robot, robot.group('manipulator'), solver='ssik_ros/Analytic')
    start, end = arm.state(FANUC), arm.pose(FANUC)
    end[:3, 3] += (0.0, 0.2, -0.1)
    asked = PathRequest('manipulator', [end], max_step=0.08)
    response = arm.server.follow_path(asked, start)
    assert response.fraction == 1.0, response.text
    points = response.path.positions
    first, layers = arm.pose(FANUC), []
    line, count = make_line(first, end), 3
    for part in np.arange(1, count + 1) / count:
        pose = line.at(float(part))
        every = solve_all(
            arm.server,
            ik_request('manipulator', [('', pose)]),
            BranchOptions(enumerate_windings=True),
            start,
        )
        layers.append(np.array([branch.positions for branch in every.branches]))
    best = np.inf
    for sequence in itertools.product(*layers):
        steps = np.diff([FANUC, *sequence], axis=0)
        if np.abs(steps).max() < 0.5:
            best = min(best, float((steps**2).sum()))
    assert float((np.diff(points, axis=0) ** 2).sum()) == pytest.approx(best, rel=1e-6)


# J. Paths and streaming


@cache
def endless():
    """Return the planar arm on endless joints."""
    return from_text(planar(('', '', ''), 'continuous', shapes=False))


def follow(arm, q, *poses, **more):
    return arm.server.follow_path(PathRequest(arm.group.name, poses, **more), arm.state(q))


def test_j01_lines_through_singular_places_limits_and_the_end_of_reach(robots):
    arm = from_text(planar())
    # Straight out, not turned: the wrist gets 0.9 m away, 0.2 m before the tip.
    q = np.array([0.8, -1.6, 0.8])
    start = arm.pose(q)
    end = start.copy()
    end[0, 3] += 0.6
    response = follow(arm, q, end, max_step=0.01)
    expected = (1.1 - start[0, 3]) / 0.6
    assert response.fraction == pytest.approx(expected, abs=0.02)
    assert response.cause in (Cause.NOT_FOUND, Cause.UNREACHABLE, Cause.BUDGET), response.text
    # About the base axis, once around: the first joint turns by four right angles.
    spin = [pose_of(rotation_vector=(0, 0, angle)) @ start for angle in np.linspace(0.2, 6.2, 31)]
    around = follow(endless(), q, *spin, max_step=0.05)
    assert around.fraction == 1.0, around.text
    assert around.path.positions[-1, 0] - q[0] == pytest.approx(6.2, abs=1e-3)
    # Through a limit of the first joint.
    narrow = from_text(planar(('-3.1 1.0', '-3.1 3.1', '-3.1 3.1')))
    inward = start.copy()
    inward[0, 3] -= 0.35
    response = follow(narrow, q, inward, max_step=0.01)
    assert 0.0 < response.fraction < 1.0
    assert 0.95 <= response.path.positions[-1, 0] <= 1.0
    # Through a wrist singularity: the fifth axis of the fanuc passes zero.
    robot = robots['fanuc']
    wrist = Asked(robot, robot.group('manipulator'), solver='ssik_ros/Analytic')
    ready = np.array([0.0, 0.2, -0.3, 0.0, 0.15, 0.0])
    turned = wrist.pose(ready) @ pose_of(rotation_vector=(0.0, 0.3, 0.0))
    back = wrist.pose(ready) @ pose_of(rotation_vector=(0.0, -0.3, 0.0))
    responses = [follow(wrist, ready, pose, max_step=0.02) for pose in (turned, back)]
    for response in responses:
        assert response.fraction == 1.0, response.text
        assert np.abs(np.diff(response.path.positions, axis=0)).max() < 0.3
    crossed = [np.sign(a.path.positions[-1, 4]) for a in responses]
    assert sorted(crossed) == [-1.0, 1.0]


def test_j02_a_branch_that_switches_between_two_waypoints_is_noticed():
    """Inwards the elbow would have to rise above its limit; only the mirrored posture reaches the end."""
    arm = from_text(planar(('-3.1 0.85', '-3.1 3.1', '-3.1 3.1')))
    q = np.array([0.8, -1.6, 0.8])
    inward = arm.pose(q)
    inward[0, 3] -= 0.3
    assert arm.ask([('', inward)]).solved
    response = follow(arm, q, inward, max_step=1.0)
    assert response.fraction < 1.0
    assert response.cause in (Cause.CONSISTENCY, Cause.LIMITS, Cause.BUDGET, Cause.NOT_FOUND)


def test_j03_between_the_points_the_link_stays_near_its_line():
    """1 mm and 0.01 rad at the middle; a parabola is within 1 mm everywhere then."""
    arm = from_text(planar())
    q = np.array([0.8, -1.6, 0.8])
    start, end = arm.pose(q), arm.pose(q)
    end[:3, 3] += (0.1, 0.25, 0.0)
    response = follow(arm, q, end, max_step=0.3)
    assert response.fraction == 1.0, response.text
    direction = (end - start)[:2, 3] / np.linalg.norm((end - start)[:2, 3])
    for a, b in itertools.pairwise(response.path.positions):
        for part in (0.25, 0.5, 0.75):
            off = arm.pose((1 - part) * a + part * b)[:2, 3] - start[:2, 3]
            assert abs(off[0] * direction[1] - off[1] * direction[0]) <= 1.05e-3


def test_j04_a_closed_path_comes_back_to_where_it_began():
    arm, q = endless(), np.array([0.8, -1.6, 0.8])
    corners = [arm.pose(q) for _ in range(4)]
    for corner, (x, y) in zip(corners, ((0.1, 0.0), (0.1, 0.1), (0.0, 0.1), (0.0, 0.0))):
        corner[:2, 3] += (x, y)
    response = follow(arm, q, *corners, max_step=0.02)
    assert response.fraction == 1.0, response.text
    assert response.path.positions[-1] == pytest.approx(q, abs=1e-3)


def test_j05_noise_of_the_target_is_no_more_noise_of_the_joints_than_the_arm_makes_of_it(robots):
    """0.1 mm at 500 Hz: the joints move by the noise over the smallest singular value, at most."""
    robot = robots['panda']
    arm = Manipulator(robot, robot.group('panda_arm'))
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    limits = robot.tree.velocity[robot.group('panda_arm').idx_q]
    tracker = arm.tracker(q, dt=0.002, velocity_limits=limits)
    smallest = np.linalg.svd(arm.jacobian(q), compute_uv=False).min()
    rng, target, drift = np.random.default_rng(5), arm.fk(q), []
    for _ in range(1000):
        noisy = target.copy()
        noisy[:3, 3] += rng.normal(0.0, 1e-4, 3)
        tracker.track(noisy)
        drift.append(tracker.q - q)
    # Six standard deviations of a three-dimensional error.
    assert np.linalg.norm(drift, axis=1).max() <= 6.0 * np.sqrt(3.0) * 1e-4 / smallest
    assert errors_between(arm.fk(tracker.q), target)[0] < 1e-3


def test_cp10_accelerations_of_the_file_are_those_that_times_keep(robots):
    """The panda's file allows more than 1 rad/s^2: the same path takes less time than without it."""
    folder = 'config/robots/panda_moveit_config/config'
    root = Path(__file__).resolve().parents[2] / folder
    q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    bare = load_robot(root / 'panda.urdf', root / 'panda.srdf')
    seconds = []
    for robot in (bare, robots['panda']):
        arm = Asked(robot, robot.group('panda_arm'))
        end = arm.pose(q)
        end[2, 3] -= 0.05
        response = follow(arm, q, end)
        assert response.fraction == 1.0, response.text
        seconds.append(response.path.times[-1])
    assert robots['panda'].accelerations['panda_joint1'] == 3.75 and not bare.accelerations
    assert seconds[1] < 0.9 * seconds[0]


def test_cc01_carried_objects_of_a_request_count_too():
    """The same ball, carried for one request only."""
    arm, world = among()
    place = (arm.pose(ELBOW_UP) @ pose_of((0.3, 0.0, 0.0)))[:3, 3]
    world.add(ball('wall', place))
    held = CarriedGiven([ObjectGiven(ball('held', (0.3, 0.0, 0.0)), 'tip', 'tip')])
    assert judged(arm, ELBOW_UP) == (True, set())
    assert judged(arm, ELBOW_UP, held) == (False, {frozenset(('held', 'wall'))})
    names, values = arm.group.variable_names, (ELBOW_UP + np.array([0.2, 0.0, 0.0])).tolist()
    state = arm.server.check_state(
        StateRequest('', StateGiven(names, values, carried=held)), arm.default
    )
    assert state.is_valid
