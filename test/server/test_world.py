"""Objects around the robot: adding and removing them, and their effect on responses."""

import dataclasses

from test.server.served_robots import ik_request, is_at, pose_of, serve, true_pose

import numpy as np
import pytest

from ssik_ros.errors import ModelError
from ssik_ros.model.collision.objects import (
    CarriedObject,
    LONGEST_NAME,
    ObjectShape,
    SolidKind,
    WorldObject,
)
from ssik_ros.results import Cause
from ssik_ros.server.requests.constraints import (
    ConstraintsGiven,
    JointConstraintGiven,
    NO_CONSTRAINTS,
)
from ssik_ros.server.requests.ik_requests import (
    CarriedGiven,
    FkRequest,
    NOTHING_GIVEN,
    ObjectGiven,
    StateGiven,
    StateRequest,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import MOST_PARTS, PlacedFrame, SceneWorld

ARM, TIP = 'panda_arm', 'panda_link8'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def ball(name='ball', pose=None, radius=0.1):
    shape = ObjectShape(SolidKind.SPHERE, (radius,), np.eye(4))
    return WorldObject(name, np.eye(4) if pose is None else pose, (shape,))


# How objects come and go


def names(world):
    return [item.name for item in world.now().standing]


def test_an_object_replaces_the_one_of_its_name():
    world = SceneWorld()
    world.add(ball('a'))
    world.add(ball('b'))
    world.add(ball('a', radius=0.3))
    assert names(world) == ['b', 'a']
    assert world.now().standing_named('a').shapes[0].sizes == (0.3,)


def test_shapes_are_added_where_they_are():
    world = SceneWorld()
    world.add(ball('a', pose_of((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))))
    world.append(ball('a', pose_of((0.0, 2.0, 0.0))))
    item = world.now().standing_named('a')
    places = [(item.pose @ s.pose)[:3, 3] for s in item.shapes]
    assert np.allclose(places, [(1.0, 0.0, 0.0), (0.0, 2.0, 0.0)])
    world.append(ball('new'))
    assert names(world) == ['a', 'new']


def test_shapes_too_far_from_the_object_are_refused():
    world = SceneWorld()
    world.add(ball('a', pose_of((-6e8, 0.0, 0.0))))
    with pytest.raises(ModelError, match='beyond'):
        world.append(ball('a', pose_of((6e8, 0.0, 0.0))))
    assert len(world.now().standing_named('a').shapes) == 1


def test_an_object_moves_with_all_its_shapes():
    world = SceneWorld()
    world.add(ball('a'))
    world.move('a', pose_of((0.0, 0.0, 3.0)))
    assert world.now().standing_named('a').pose[2, 3] == 3.0


def test_objects_go_one_by_one_or_all():
    world = SceneWorld()
    for name in 'abc':
        world.add(ball(name))
    world.remove('b')
    assert names(world) == ['a', 'c']
    world.remove('')
    assert names(world) == []


def test_what_does_not_exist_is_named():
    world = SceneWorld()
    world.add(ball('cup'))
    for change in (lambda: world.remove('cap'), lambda: world.move('cap', np.eye(4))):
        with pytest.raises(ModelError, match=r"'cap'.*'cup'"):
            change()
    for bad in (
        ball(''),
        dataclasses.replace(ball(), shapes=()),
        ball(pose=np.full((4, 4), np.nan)),
    ):
        for change in (world.add, world.append):
            with pytest.raises(ModelError):
                change(bad)
    assert names(world) == ['cup']


def test_a_carried_object_stands_no_more():
    world = SceneWorld()
    world.add(ball('cup'))
    world.attach(CarriedObject(ball('cup'), 'panda_hand'))
    assert names(world) == []
    for _ in range(2):
        world.detach('cup', '', lambda carried: carried.object.pose)
        assert names(world) == ['cup'] and world.now().carried == ()


def held(world):
    """Return the names of the carried objects."""
    return [entry.object.name for entry in world.now().carried]


@pytest.mark.parametrize(
    ('name', 'link', 'put_down'),
    [('cup', '', 'cup'), ('', 'panda_hand', 'cup rod'), ('', '', 'cup rod jug'), ('cap', '', '')],
)
def test_objects_that_are_put_down_stay_in_the_world(name, link, put_down):
    world = SceneWorld()
    for item, holder in (('cup', 'panda_hand'), ('rod', 'panda_hand'), ('jug', 'panda_link3')):
        world.attach(CarriedObject(ball(item), holder))
    where = pose_of((1.0, 2.0, 3.0))
    world.add(ball('cup', radius=0.3))
    world.detach(name, link, lambda carried: where)
    kept = [item for item in ('cup', 'rod', 'jug') if item not in put_down.split()]
    assert held(world) == kept and names(world) == (put_down.split() or ['cup'])
    for item in put_down.split():
        assert (world.now().standing_named(item).pose == where).all()
        assert world.now().standing_named(item).shapes[0].sizes == (0.1,)


def test_what_cannot_be_put_down_stays_where_it_is():
    world = SceneWorld()
    world.attach(CarriedObject(ball('cup'), 'panda_hand'))
    for place in (lambda _: np.full((4, 4), np.nan), lambda _: np.eye(4) * 2.0):
        with pytest.raises(ModelError, match="'cup'"):
            world.detach('', '', place)
    assert held(world) == ['cup'] and names(world) == []


def test_a_world_does_not_grow_without_end():
    world = SceneWorld()
    many = dataclasses.replace(ball('many'), shapes=ball().shapes * (MOST_PARTS - 1))
    world.add(many)
    for grow in (
        lambda: world.append(dataclasses.replace(many, shapes=many.shapes[:2])),
        lambda: world.attach(CarriedObject(many, TIP, frozenset(('a', 'b')))),
    ):
        with pytest.raises(ModelError, match='does not fit'):
            grow()
    world.append(ball('many'))
    assert len(world.now().standing_named('many').shapes) == MOST_PARTS
    with pytest.raises(ModelError, match='does not fit'):
        world.add(ball('more'))
    assert names(world) == ['many']


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(ModelError, match=f'more than {LONGEST_NAME} characters'):
        SceneWorld().add(ball('x' * (LONGEST_NAME + 1)))


def test_a_snapshot_does_not_change():
    world = SceneWorld()
    world.add(ball('a'))
    before = world.now()
    world.remove('a')
    assert [item.name for item in before.standing] == ['a']


def test_objects_and_their_subframes_are_frames():
    world = SceneWorld()
    item = dataclasses.replace(
        ball('cup', pose_of((1.0, 0.0, 0.0))), subframes={'rim': pose_of((0.0, 0.0, 0.2))}
    )
    world.add(item)
    assert np.allclose(world.now().find_frame('cup/rim').pose[:3, 3], (1.0, 0.0, 0.2))
    world.attach(CarriedObject(item, 'panda_hand'))
    placed = world.now().find_frame('cup')
    assert (placed.base, placed.pose[0, 3]) == ('panda_hand', 1.0)
    assert world.now().find_frame('cup/handle') is None
    assert world.now().find_frame('mug') is None


# Effect of objects on responses


@pytest.fixture
def server(robots):
    return serve(robots['panda'], ARM)


@pytest.fixture
def ready(server):
    return server.groups[ARM].with_group(server.states.default(), READY)


def ask(server, current, target, **more):
    return server.solve(ik_request(ARM, [('', target)], avoid_collisions=True, **more), current)


def test_an_object_at_the_elbow_leaves_another_posture(server, ready):
    target = true_pose(server.robot, ready, TIP)
    seed = ask(server, ready, target)
    assert np.allclose(seed.state.positions[:7], READY, atol=1e-3)
    elbow = true_pose(server.robot, ready, 'panda_link4')[:3, 3]
    server.scene.world.add(ball('post', pose_of(elbow), 0.03))
    response = ask(server, ready, target)
    assert response.solved, response.text
    assert is_at(server.robot, response.state, TIP, target)
    assert not np.allclose(response.state.positions[:7], READY, atol=1e-2)
    judged = server.check_state(StateRequest('', StateGiven(), NO_CONSTRAINTS), response.state)
    assert judged.is_valid, judged
    # A request without collision avoidance is not affected by the object.
    free = server.solve(ik_request(ARM, [('', target)]), ready)
    assert np.allclose(free.state.positions[:7], READY, atol=1e-3)


def test_a_state_is_read_before_its_group_is_looked_up(server, ready):
    wrong = StateGiven(('ghost',), (1.0,))
    judged = server.check_state(StateRequest('nobody', wrong, NO_CONSTRAINTS), ready)
    assert judged.refusal is Refusal.BAD_STATE
    judged = server.check_state(StateRequest('nobody', StateGiven(), NO_CONSTRAINTS), ready)
    assert judged.refusal is Refusal.UNKNOWN_GROUP


def test_an_object_at_the_pose_is_the_cause(server, ready):
    target = true_pose(server.robot, ready, TIP)
    server.scene.world.add(ball('block', target, 0.3))
    response = ask(server, ready, target)
    assert (response.refusal, response.cause) == (Refusal.NONE, Cause.COLLISION)
    assert "'block'" in response.text


def test_a_carried_object_collides_with_the_world(server, ready):
    target = true_pose(server.robot, ready, TIP)
    rod = ObjectGiven(ball('rod', pose_of((0.0, 0.0, 0.6)), 0.05), '', 'panda_hand')
    there = true_pose(server.robot, ready, 'panda_hand') @ pose_of((0.0, 0.0, 0.6))
    assert ask(server, ready, target, carried=CarriedGiven([rod])).solved
    server.scene.world.add(ball('wall', there, 0.05))
    assert ask(server, ready, target).solved
    response = ask(server, ready, target, carried=CarriedGiven([rod]))
    assert response.cause is Cause.COLLISION
    assert "'rod'" in response.text and "'wall'" in response.text


def test_what_is_carried_is_forgotten_by_a_state_that_says_all(server, ready):
    target = true_pose(server.robot, ready, TIP)
    server.scene.world.attach(
        CarriedObject(ball('mass', pose_of((0.0, 0.0, -0.5)), 0.4), 'panda_hand')
    )
    assert ask(server, ready, target).cause is Cause.COLLISION
    assert ask(server, ready, target, carried=CarriedGiven(forgets=True)).solved
    gone = ObjectGiven(ball('mass'), '', 'panda_hand', is_gone=True)
    assert ask(server, ready, target, carried=CarriedGiven([gone])).solved


def test_an_object_without_shapes_is_the_one_that_stands(server, ready):
    hand = true_pose(server.robot, ready, 'panda_hand')
    server.scene.world.add(ball('cup', hand @ pose_of((0.0, 0.0, 0.12)), 0.05))
    taken = ObjectGiven(
        dataclasses.replace(ball('cup'), shapes=()),
        '',
        'panda_hand',
        frozenset({'panda_leftfinger', 'panda_rightfinger'}),
    )
    around = server.scene.surroundings(CarriedGiven([taken]), ready, ready)
    assert around.standing == ()
    assert np.allclose(around.carried[0].object.pose, pose_of((0.0, 0.0, 0.12)))
    judged = server.check_state(
        StateRequest(ARM, StateGiven(carried=CarriedGiven([taken]))), ready
    )
    assert judged.is_valid, judged
    assert not server.check_state(StateRequest(ARM, StateGiven(), NO_CONSTRAINTS), ready).is_valid


@pytest.mark.parametrize('fault', ['link', 'frame', 'shape'])
def test_a_carried_object_that_is_none_is_refused(server, ready, fault):
    item = ball('box', radius=-1.0) if fault == 'shape' else ball('box')
    link = 'thumb' if fault == 'link' else 'panda_hand'
    given = ObjectGiven(item, 'nowhere' if fault == 'frame' else '', link)
    response = ask(server, ready, np.eye(4), carried=CarriedGiven([given]))
    expected = Refusal.UNKNOWN_FRAME if fault == 'frame' else Refusal.BAD_STATE
    assert response.refusal is expected, response.text


def test_objects_are_frames_of_targets(server, ready):
    server.scene.world.add(ball('table', pose_of((0.4, 0.1, 0.2), (0.0, 0.0, 1.0))))
    target = true_pose(server.robot, ready, TIP)
    local = np.linalg.inv(server.scene.world.now().find_frame('table').pose) @ target
    response = server.solve(ik_request(ARM, [('', local, 'table')]), ready)
    assert response.solved and is_at(server.robot, response.state, TIP, target)
    server.scene.world.attach(CarriedObject(ball('cup', pose_of((0.0, 0.0, 0.1))), 'panda_hand'))
    hand = true_pose(server.robot, ready, 'panda_hand')
    poses = server.compute_fk(FkRequest([TIP], 'cup'), ready).poses
    expected = np.linalg.inv(hand @ pose_of((0.0, 0.0, 0.1))) @ target
    assert np.allclose(poses[0], expected, atol=1e-12)


def test_frames_of_others_are_looked_up(robots):
    asked = []

    def look_up(name, bases):
        asked.append((name, 'panda_hand' in bases and 'world' in bases))
        if name == 'camera':
            return PlacedFrame('panda_hand', pose_of((0.0, 0.0, 0.05)))
        if name == 'map':
            return PlacedFrame('world', pose_of((-1.0, 0.0, 0.0)))
        return 'No node publishes it.'

    server = RobotServer(
        robots['panda'],
        [robots['panda'].group(ARM)],
        scene=PlanningScene(robots['panda'], transforms=look_up),
    )
    current = server.states.default()
    assert np.allclose(server.frames.in_model_frame('map', current)[:3, 3], (-1.0, 0.0, 0.0))
    hand = true_pose(robots['panda'], current, 'panda_hand')
    camera = server.frames.in_model_frame('camera', current)
    assert np.allclose(camera, hand @ pose_of((0.0, 0.0, 0.05)))
    response = server.solve(ik_request(ARM, [('', np.eye(4), 'moon')]), current)
    assert response.refusal is Refusal.UNKNOWN_FRAME and 'No node publishes it.' in response.text
    assert asked == [('map', True), ('camera', True), ('moon', True)]


# Judging states


def test_a_state_is_judged_by_collisions_and_constraints(server, ready):
    folded = np.array([0.0, 1.7, 0.0, -3.0, 0.0, 3.0, 0.0])
    given = StateGiven(server.groups[ARM].group.variable_names, folded.tolist())
    judged = server.check_state(StateRequest(ARM, given, NO_CONSTRAINTS), ready)
    assert not judged.is_valid and judged.contacts and not judged.text
    wishes = ConstraintsGiven(
        joints=[
            JointConstraintGiven('panda_joint4', -2.356, 0.1, 0.1),
            JointConstraintGiven('panda_joint1', 1.0, 0.1, 0.1),
        ]
    )
    judged = server.check_state(StateRequest(ARM, NOTHING_GIVEN, wishes), ready)
    assert [v.holds for v in judged.verdicts] == [True, False]
    assert not judged.is_valid and not judged.contacts
    for group, refusal in (('nobody', Refusal.UNKNOWN_GROUP), ('', Refusal.NONE)):
        judged = server.check_state(StateRequest(group, NOTHING_GIVEN, NO_CONSTRAINTS), ready)
        assert judged.refusal is refusal
        assert judged.is_valid is (refusal is Refusal.NONE)


def test_only_what_the_group_moves_counts(robots):
    server = serve(robots['panda'], 'hand')
    current = server.states.default()
    elbow = true_pose(robots['panda'], current, 'panda_link4')
    server.scene.world.add(ball('post', elbow, 0.03))
    assert not server.check_state(
        StateRequest('', NOTHING_GIVEN, NO_CONSTRAINTS), current
    ).is_valid
    assert server.check_state(
        StateRequest('hand', NOTHING_GIVEN, NO_CONSTRAINTS), current
    ).is_valid
