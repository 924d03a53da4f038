"""Promise 5, nothing silent: an invalid obstacle or posture is an error at every entry, and never free of collisions."""

import functools

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.arrays import LARGEST_REQUEST_VALUE
from ssik_ros.errors import InvalidOption, ModelError, RequestError, SsikError
from ssik_ros.kernels.paths.clearance import DOUBTFUL
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.objects import (
    CarriedObject,
    ObjectShape,
    place_objects,
    SolidKind,
    WorldObject,
)
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.collisions.obstacles import Obstacles
from ssik_ros.paths.tool_chain import ToolChain
from ssik_ros.reach.collisions.chain_scene import make_scene
from ssik_ros.reach.placement import BaseSpace, PlacedArm
from ssik_ros.server.requests.ik_requests import ObjectGiven
from ssik_ros.server.requests.refusals import RequestRefused
from ssik_ros.server.scene.planning_scene import PlanningScene
from ssik_ros.server.scene.world import SceneWorld

HERE = np.eye(4)
Q = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
EDGES = (0.3, 0.3, 0.3)
CORNERS = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


def changed(pose, place, value):
    """Return a copy of a pose with another number at one place."""
    pose = pose.copy()
    pose[place] = value
    return pose


POSES = {
    'a position that is not finite': changed(HERE, (0, 3), np.nan),
    'a rotation that is not finite': changed(HERE, (1, 1), np.nan),
    'an infinite position': changed(HERE, (2, 3), np.inf),
    'a scaled rotation': np.diag((0.01, 0.01, 0.01, 1.0)),
    'a mirrored pose': np.diag((1.0, 1.0, -1.0, 1.0)),
    'a last row that is none': changed(HERE, (3, 0), 1.0),
    'no last row': HERE[:3],
    'a position alone': np.zeros(3),
    'a pose as text': 'here',
    'no pose': None,
    'a pose too far away': changed(HERE, (0, 3), 1e200),
}
SHAPES = {
    'a size that is not finite': (SolidKind.BOX, (0.3, np.nan, 0.3)),
    'a negative size': (SolidKind.BOX, (-0.3, 0.3, 0.3)),
    'a size of zero': (SolidKind.SPHERE, (0.0,)),
    'an infinite size': (SolidKind.SPHERE, (np.inf,)),
    'a size too large': (SolidKind.CYLINDER, (0.3, 1e200)),
    'a missing size': (SolidKind.CONE, (0.3,)),
    'sizes in rows': (SolidKind.BOX, [EDGES]),
    'sizes as text': (SolidKind.BOX, ('0.3', '0.3', '0.3')),
    'no sizes': (SolidKind.BOX, None),
    'an unknown kind': (SolidKind.UNKNOWN, EDGES),
    'a kind as text': ('box', EDGES),
    'a plane without direction': (SolidKind.PLANE, (0.0, 0.0, 0.0, 1.0)),
    'a plane whose direction is too short': (SolidKind.PLANE, (1e-200, 0.0, 0.0, 1.0)),
    'a mesh without triangles': (SolidKind.MESH, (), HERE, CORNERS, np.zeros((0, 3), int)),
    'a mesh without vertices': (SolidKind.MESH, (), HERE, None, np.array([[0, 1, 2]])),
    'a mesh of missing vertices': (SolidKind.MESH, (), HERE, CORNERS, np.array([[0, 1, 3]])),
    'a mesh of flat vertices': (SolidKind.MESH, (), HERE, CORNERS[:, :2], np.array([[0, 1, 2]])),
    'a vertex that is not finite': (
        *(SolidKind.MESH, (), HERE),
        *(CORNERS * np.nan, np.array([[0, 1, 2]])),
    ),
}


def box(pose=HERE, name='box'):
    """Return an object of one box."""
    return WorldObject(name, pose, (ObjectShape(SolidKind.BOX, EDGES, HERE),))


def of(kind, sizes, pose=HERE, *mesh):
    """Return an object of one shape."""
    return WorldObject('it', HERE, (ObjectShape(kind, sizes, pose, *mesh),))


BAD = {
    **{f'object with {words}': box(pose) for words, pose in POSES.items()},
    **{f'shape with {words}': of(SolidKind.BOX, EDGES, pose) for words, pose in POSES.items()},
    **{words: of(*shape) for words, shape in SHAPES.items()},
    'no shape': WorldObject('it', HERE, ()),
    'no name': box(name=''),
    'a name that is no text': box(name=3),
}


@functools.cache
def arm(name='ur5e'):
    """Return an arm with collision geometry."""
    return Manipulator.from_prebuilt(name)


@functools.cache
def checker():
    """Return the checker of the UR5e."""
    return CollisionChecker(arm().robot)


@functools.cache
def curves():
    """Return the self-motions of the UR5e with a free spin of the tool."""
    return arm().self_motions(arm().fk(Q), free_axis='z')


def carry(item):
    """Attach an object to the tool of the robot in a request to the server."""
    scene = PlanningScene(arm().robot)
    state = scene.states.default()
    scene.carry(ObjectGiven(item, '', 'tool0'), scene.world.now(), state, state)


def path_poses():
    """Return two poses of a tool path."""
    return [arm().fk(Q), arm().fk(Q + 0.01)]


ENTRIES = {
    'arm.scene': lambda item: arm().scene(objects=[item]),
    'arm.plan(obstacles=)': lambda item: arm().plan(path_poses(), obstacles=[item]),
    'arm.plan(carried=)': lambda item: arm().plan(
        path_poses(), obstacles=[], carried=[CarriedObject(item, 'tool0')]
    ),
    'self_motions.best': lambda item: curves().best('clearance', obstacles=[item]),
    'a curve.best': lambda item: curves()[0].best('clearance', obstacles=[item]),
    'CollisionChecker.scene(world)': lambda item: checker().scene([item]),
    'CollisionChecker.scene(carried)': lambda item: checker().scene(
        carried=[CarriedObject(item, 'tool0')]
    ),
    'make_scene': lambda item: make_scene(
        arm().robot, SerialChain.from_group(arm().robot, arm().group), [item]
    ),
    'PlacedArm': lambda item: PlacedArm(
        arm().robot, arm().group, BaseSpace(np.zeros(6), np.zeros((0, 6))), [item]
    ),
    'SceneWorld.add': lambda item: SceneWorld().add(item),
    'SceneWorld.append': lambda item: SceneWorld().append(item),
    'SceneWorld.attach': lambda item: SceneWorld().attach(CarriedObject(item, 'tool0')),
    'PlanningScene.carry': carry,
}


@pytest.mark.parametrize('entry', ENTRIES)
def test_an_invalid_object_is_refused_at_every_entry(entry):
    taken = []
    for words, item in BAD.items():
        try:
            ENTRIES[entry](item)
        except (ModelError, RequestRefused):
            continue
        taken.append(words)
    assert not taken
    ENTRIES[entry](box(changed(HERE, (0, 3), 5.0)))


@pytest.mark.parametrize('item', [3, None, 'box', CarriedObject(box(), 'tool0')])
def test_what_is_no_object_is_refused_at_every_python_entry(item):
    for entry in (name for name in ENTRIES if 'carried' not in name and '.' in name):
        if not entry.startswith(('SceneWorld', 'PlanningScene')):
            with pytest.raises(InvalidOption):
                ENTRIES[entry](item)
    with pytest.raises(InvalidOption, match='CarriedObject'):
        arm().plan(path_poses(), obstacles=[], carried=[box()])


# A position without a rotation is a valid place of a solid.
@pytest.mark.parametrize('words', sorted(POSES.keys() - {'a position alone'}))
def test_an_invalid_place_of_a_solid_of_a_scene_is_refused(words):
    for kind, size in (('boxes', EDGES), ('spheres', 0.1)):
        with pytest.raises(SsikError):
            arm().scene(**{kind: [(size, POSES[words])]})


@pytest.mark.parametrize(
    'solid',
    [
        *(('boxes', size) for size in ((0.3, np.nan, 0.3), (-0.3, 0.3, 0.3), (0.3, 0.3), 0.3)),
        *(('spheres', size) for size in (np.nan, -0.1, 0.0, np.inf, 'x', None)),
    ],
)
def test_an_invalid_size_of_a_solid_of_a_scene_is_refused(solid):
    kind, size = solid
    with pytest.raises(SsikError):
        arm().scene(**{kind: [(size, (5.0, 0.0, 0.0))]})


def test_the_error_names_the_object_and_what_is_wrong():
    with pytest.raises(ModelError, match="'cup' has a pose that is no finite rigid") as caught:
        arm().scene(objects=[box(POSES['a mirrored pose'], 'cup')])
    assert caught.value.object == 'cup'


def test_an_object_that_gets_too_far_away_in_another_frame_is_refused():
    far = changed(HERE, (0, 3), 0.6 * LARGEST_REQUEST_VALUE)
    (placed,) = place_objects([box()], far)
    assert np.array_equal(placed.pose, far)
    with pytest.raises(ModelError, match="'box' has a pose beyond") as caught:
        place_objects([placed], far)
    assert caught.value.object == 'box'


def test_obstacles_of_a_generator_are_kept():
    at_tip = box(arm().fk(Q))
    path = arm().plan(path_poses(), obstacles=(item for item in [at_tip]), start=Q)
    assert not path.valid


def around():
    """Return two scenes with a box around the tip of the arm at Q: the scene of the arm, and the inner one."""
    item = box(arm().fk(Q))
    return arm().scene(objects=[item]), checker().scene([item])


def posture_calls():
    """Return each call that judges one full state or posture, by name; all robots here have six variables."""
    scene, inner = around()
    return {
        'ArmScene.is_free': scene.is_free,
        'ArmScene.colliding_pair': scene.colliding_pair,
        'arm.in_collision': lambda q: arm().in_collision(q, scene),
        'CollisionChecker.colliding_pair': checker().colliding_pair,
        'CollisionScene.colliding_pair': inner.colliding_pair,
        'CollisionScene.contacts': lambda q: inner.contacts(q, HERE, lambda _: True),
        'CollisionScene.distances': lambda q: inner.distances(q, np.ones(len(inner.pairs))),
        'CollisionScene.least_distance': inner.least_distance,
        'CollisionScene.nearest_pair': inner.nearest_pair,
        'CollisionScene.near_pairs': inner.near_pairs,
        'CollisionScene.touching_pairs': inner.touching_pairs,
        'CollisionScene.place_links': lambda q: inner.place_links(q, HERE),
        'CollisionScene.moving_pairs': lambda q: inner.moving_pairs(q, Q),
    }


POSTURES = {
    'nothing finite': np.full(6, np.nan),
    **{f'NaN at joint {k}': changed(Q, k, np.nan) for k in range(6)},
    'an infinite value': changed(Q, 2, np.inf),
    'one number': 0.0,
    'a list of one number': [0.0],
    'too few numbers': Q[:5],
    'too many numbers': np.zeros(7),
    'text': ['0'] * 6,
    'nothing': None,
}


def test_the_posture_of_these_tests_collides():
    scene, inner = around()
    assert not scene.is_free(Q) and inner.colliding_pair(Q) is not None


@pytest.mark.parametrize('call', posture_calls())
def test_an_invalid_posture_is_refused_by_every_call(call):
    judge = posture_calls()[call]
    taken = []
    for words, q in POSTURES.items():
        try:
            judge(q)
        except RequestError:
            continue
        taken.append(words)
    assert not taken
    judge(Q)


def test_a_root_that_is_nowhere_is_refused():
    _, inner = around()
    for pose in (changed(HERE, (0, 3), np.nan), changed(HERE, (1, 1), np.nan)):
        for call in (inner.colliding_pair, inner.nearest_pair, inner.place_links):
            with pytest.raises(RequestError, match='not finite'):
                call(Q, pose)


def test_postures_that_are_not_finite_are_never_free_for_the_kernels():
    _, inner = around()
    bodies = Obstacles(ToolChain(arm().robot, arm().group), inner)
    apart = changed(Q, 0, 2.5)
    for words, q in POSTURES.items():
        if np.shape(q) == (6,) and words != 'text':
            assert bodies.judge(np.array([apart, q])).are_hits.tolist() == [False, True]
            assert bodies.follow(np.array([apart, q]))[0] < 1.0
            if bodies.judge(q[None]).verdicts[0] == DOUBTFUL:
                with pytest.raises(RequestError):
                    bodies.check(q[None])


@pytest.mark.parametrize('padding', [np.nan, np.inf, -np.inf, 'x', None])
def test_a_padding_that_is_no_number_is_refused(padding):
    with pytest.raises(InvalidOption, match='padding'):
        CollisionChecker(arm().robot, padding=padding)
