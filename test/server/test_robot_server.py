"""Requests and responses: the order of checks, collisions with known truth, forward kinematics, immutability."""

import copy
import itertools
import math
import re

from test.server.served_robots import (
    ik_request,
    is_at,
    joint,
    pose_of,
    random_full_state,
    random_rigid,
    robot_text,
    serve,
    snapshot,
    standing_robot,
    torso_robot,
    true_pose,
)

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.errors import counted, InvalidLimits, SolverError
from ssik_ros.model.collision import checks as collision
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause, CAUSE_TEXT, CLOCK_ENDED, IkResult, IkStatus, no_solution
from ssik_ros.server.groups import all_branches
from ssik_ros.server.groups.batches import BatchRequest
from ssik_ros.server.paths.path_requests import PathRequest
from ssik_ros.server.requests.constraints import ConstraintsGiven
from ssik_ros.server.requests.ik_requests import (
    CarriedGiven,
    FkRequest,
    FramedPose,
    IkRequest,
    ObjectGiven,
    StateGiven,
)
from ssik_ros.server.requests.poses import pose_of_numbers
from ssik_ros.server.requests.refusals import CAUSE_OF_REFUSAL, Refusal, RequestRefused
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

ARM = 'panda_arm'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


@pytest.fixture(scope='module')
def server(robots):
    return serve(robots['panda'])


@pytest.fixture(scope='module')
def ready(server):
    """Give the current state: the arm in a posture where every link is free."""
    return server.groups[ARM].with_group(server.states.default(), READY)


@pytest.fixture(scope='module')
def target(server, ready):
    """Give a pose of the arm's tip that is reached."""
    return true_pose(server.robot, ready, 'panda_link8')


# The order of checks

BOX = WorldObject('box', np.eye(4), (ObjectShape(SolidKind.BOX, (0.1, 0.1, 0.1), np.eye(4)),))
CARRIED = CarriedGiven([ObjectGiven(BOX, '', 'ghost')])

FAULTS = {
    # In the order in which they are found.
    'group': (Refusal.UNKNOWN_GROUP, lambda q: setattr(q, 'group', 'nobody')),
    'state': (
        Refusal.BAD_STATE,
        lambda q: setattr(q, 'state', q.state._replace(names=('ghost',), positions=(1.0,))),
    ),
    'count': (Refusal.GOAL_COUNT, lambda q: setattr(q, 'links', [*q.links, 'panda_hand'])),
    'frame': (
        Refusal.UNKNOWN_FRAME,
        lambda q: setattr(q, 'poses', [*q.poses[:-1], q.poses[-1]._replace(frame='nowhere')]),
    ),
    'target': (
        Refusal.BAD_TARGET,
        lambda q: setattr(q, 'poses', [FramedPose(p.frame, p.pose * math.nan) for p in q.poses]),
    ),
    'constraints': (
        Refusal.CONSTRAINTS,
        lambda q: setattr(q, 'constraints', ConstraintsGiven(others=('visibility_constraints',))),
    ),
    'attached': (
        Refusal.BAD_STATE,
        lambda q: (
            setattr(q, 'avoid_collisions', True),
            setattr(q, 'state', q.state._replace(carried=CARRIED)),
        ),
    ),
    'link': (Refusal.UNKNOWN_LINK, lambda q: setattr(q, 'links', ['ghost', *q.links[1:]])),
}


def faulty(faults, target, goals=1):
    """Return a request with some faults."""
    asked = ik_request(ARM, [('', target)] * goals)
    for name in faults:
        FAULTS[name][1](asked)
    return asked


@pytest.mark.parametrize('name', FAULTS)
def test_each_fault_alone_is_told(server, ready, target, name):
    response = server.solve(faulty([name], target), ready)
    assert response.refusal is FAULTS[name][0]
    assert response.cause is CAUSE_OF_REFUSAL[response.refusal]
    assert response.state is None and response.result is None and response.text.endswith('.')


@pytest.mark.parametrize('pair', itertools.combinations(FAULTS, 2), ids='-'.join)
def test_of_two_faults_the_earlier_one_is_told(server, ready, target, pair):
    for order in (pair, pair[::-1]):
        assert server.solve(faulty(order, target), ready).refusal is FAULTS[pair[0]][0]


def test_all_faults_at_once_are_told_one_after_the_other(server, ready, target):
    names = list(FAULTS)
    while names:
        assert server.solve(faulty(names, target), ready).refusal is FAULTS[names[0]][0]
        del names[0]
    assert server.solve(faulty([], target), ready).solved


def test_a_frame_outranks_a_bad_number_of_another_pose(server, ready, target):
    asked = ik_request(ARM, [('', target * math.nan), ('', target, 'nowhere')])
    assert server.solve(asked, ready).refusal is Refusal.UNKNOWN_FRAME


def test_two_poses_for_one_tip_come_after_the_frames(server, ready, target):
    asked = ik_request(ARM, [('', target), ('panda_hand', target, 'nowhere')])
    assert server.solve(asked, ready).refusal is Refusal.UNKNOWN_FRAME
    asked = ik_request(ARM, [('', target), ('panda_hand', target)])
    assert server.solve(asked, ready).refusal is Refusal.UNKNOWN_LINK


def test_a_group_without_solver_is_told_before_the_link(robots, ready, target):
    panda = robots['panda']
    bare = RobotServer(
        panda, [panda.group(ARM)], {ARM: GroupKinematics(ARM, solver='ssik_ros/NoSuch')}
    )
    for names in (['link'], []):
        assert bare.solve(faulty(names, target), ready).refusal is Refusal.NO_SOLVER
    assert bare.solve(faulty(['frame'], target), ready).refusal is Refusal.UNKNOWN_FRAME


def test_the_names_of_groups_are_told(server, ready, target):
    asked = ik_request('panda_amr', [('', target)])
    text = server.solve(asked, ready).text
    assert "'panda_amr'" in text and ARM in text and 'hand' in text
    assert 'empty' in server.solve(ik_request('', [('', target)]), ready).text


def test_a_request_without_poses_is_refused(server, ready):
    assert server.solve(IkRequest(ARM, (), ()), ready).refusal is Refusal.GOAL_COUNT


@pytest.mark.parametrize('spoilt', [math.nan, math.inf])
@pytest.mark.parametrize('place', [(0, 0), (2, 1), (0, 3), (2, 3)])
def test_a_pose_that_is_not_finite_is_refused_at_once(server, ready, target, place, spoilt):
    bad = target.copy()
    bad[place] = spoilt
    response = server.solve(ik_request(ARM, [('panda_hand', bad)]), ready)
    assert (response.refusal, response.cause) == (Refusal.BAD_TARGET, Cause.BAD_TARGET)
    assert 'panda_hand' in response.text


@pytest.mark.parametrize('far', [10.0, 1e4, 1e8])
@pytest.mark.parametrize('frame', ['', 'panda_hand', 'panda_link0'])
def test_a_pose_out_of_reach_is_an_outcome(server, ready, far, frame):
    response = server.solve(ik_request(ARM, [('', pose_of((far, -far, far)), frame)]), ready)
    assert response.refusal is Refusal.NONE and not response.solved
    assert response.cause in (Cause.UNREACHABLE, Cause.BAD_TARGET)
    assert response.result is not None


@pytest.mark.parametrize('far', [1e10, 1e20, 1e308])
def test_a_coordinate_beyond_the_bound_is_refused(server, ready, far):
    """Its square would leave the range of numbers, and the sum of squares tells nothing then."""
    response = server.solve(ik_request(ARM, [('', pose_of((far, -far, far)))]), ready)
    assert (response.refusal, response.cause) == (Refusal.BAD_TARGET, Cause.BAD_TARGET)
    assert 'beyond 1e+09 m' in response.text


def test_a_matrix_that_is_not_rigid_is_an_outcome_with_its_cause(server, ready, target):
    response = server.solve(ik_request(ARM, [('', target * 2.0)]), ready)
    assert not response.solved and response.cause is Cause.BAD_TARGET


# Texts


def test_the_text_names_no_link_where_none_was_asked_for(server, ready, target):
    text = server.solve(ik_request(ARM, [('', target * math.nan)]), ready).text
    assert text.startswith('The pose is no finite rigid transform') and "''" not in text


def test_a_quaternion_that_is_too_long_is_not_called_zero(server, ready):
    pose = pose_of_numbers(0.4, 0.0, 0.5, 1e300, 0.0, 0.0, 1e300)
    response = server.solve(ik_request(ARM, [('', pose)]), ready)
    assert response.refusal is Refusal.BAD_TARGET
    assert 'a length below 1e-150 or above 1e150' in response.text


def test_what_the_nearest_state_leaves_is_told_in_metres_and_radians(server, ready, blocked):
    response = server.solve(ik_request(ARM, [('', blocked)]), ready)
    assert not response.solved and response.result.searches
    match = re.search(r'off by (\S+) m and (\S+) rad', response.text)
    group = server.groups[ARM]
    here = true_pose(server.robot, group.with_group(ready, response.result.q), 'panda_link8')
    turn = Rotation.from_matrix(here[:3, :3].T @ blocked[:3, :3]).magnitude()
    distance = np.linalg.norm(here[:3, 3] - blocked[:3, 3])
    assert float(match[1]) == pytest.approx(distance, rel=1e-3)
    assert float(match[2]) == pytest.approx(turn, rel=1e-3)
    assert all(len(number.replace('.', '').strip('0')) <= 4 for number in match.groups())


def test_a_proof_without_a_search_tells_no_nearest_state(server, ready):
    response = server.solve(ik_request(ARM, [('', pose_of((3.0, 0.0, 0.5)))]), ready)
    assert response.cause is Cause.UNREACHABLE and not response.result.searches
    assert 'nearest state' not in response.text and 'quaternion' not in response.text
    assert 'move it closer' in response.text and 'm beyond reach' in response.text


def test_an_explanation_has_one_distance(server, ready, blocked):
    far = pose_of((1.0, 0.3, 0.9), (0.4, 0.2, 0.1))
    explanation = server.explain(ik_request(ARM, [('', far)]), ready)
    assert not explanation.solved
    told = f'{explanation.distance:.4g} m and {explanation.angle:.4g} rad'
    words = [explanation.text, *explanation.advice]
    off = [numbers for text in words for numbers in re.findall(r'(\S+) m and (\S+) rad', text)]
    assert off and {f'{a} m and {b} rad' for a, b in off} == {told}


@pytest.mark.parametrize(('distance', 'asks'), [(3.0, False), (537.0, True)])
def test_a_pose_in_millimetres_is_asked_about(server, ready, distance, asks):
    response = server.solve(ik_request(ARM, [('', pose_of((distance, 0.0, 0.5)))]), ready)
    assert ('Are these millimetres?' in response.text) is asks


def test_a_step_that_is_too_small_is_told_with_the_smallest_one(server, ready, target):
    path = PathRequest(ARM, [target], max_step=1e-300)
    assert server.follow_path(path, ready).text == (
        'max_step is 1e-300 m; it has to be larger than 2.2e-16 m.'
    )


# Frames of targets


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('frame', ['', 'map', 'pelvis', 'head', 'right_camera', 'left_tool'])
def test_a_pose_is_read_in_its_frame_of_the_present_robot(frame, seed):
    robot, rng = torso_robot(), np.random.default_rng(seed)
    server = serve(robot, 'left')
    current = random_full_state(robot, rng)
    wanted = server.groups['left'].with_group(
        current, random_full_state(robot, rng).positions[robot.group('left').idx_q]
    )
    in_model = true_pose(robot, wanted, 'left_tool')
    framed = np.eye(4) if frame in ('', 'map') else true_pose(robot, current, frame)
    asked = ik_request('left', [('left_tool', np.linalg.inv(framed) @ in_model, frame)])
    response = server.solve(asked, current)
    assert response.solved, response.text
    assert is_at(robot, response.state, 'left_tool', in_model)


def test_frames_are_those_of_the_present_robot_and_not_of_the_request_s_state():
    """MoveIt transforms with the present robot too (moveit.md 2.1, step 3)."""
    robot = standing_robot('floating')
    server = serve(robot)
    current = server.states.default()
    moved = pose_of((0.3, 0.0, 0.1), (0.0, 0.0, 0.5))
    given = StateGiven((), (), ('stand',), (moved,))
    goal = true_pose(robot, current._replace(root_pose=moved), 'tip')
    asked = ik_request('arm', [('tip', goal, 'l0')], state=given)
    response = server.solve(asked, current)
    assert response.solved
    assert response.state.root_pose == pytest.approx(moved, abs=0.0)
    assert is_at(robot, response.state, 'tip', goal)


# Collisions, with boxes whose overlap is computed here

POST = ((0.45, 0.3), (0.1, 0.1))
"""Centre and size in the plane of a post next to the arm."""
LINK = ((0.225, 0.0), (0.35, 0.04))
UPPER, LOWER = 0.5, 0.4


def _box(center, size):
    return (
        f'<collision><origin xyz="{center[0]} {center[1]} 0"/>'
        f'<geometry><box size="{size[0]} {size[1]} 0.1"/></geometry></collision>'
    )


def two_links(post=True):
    """Return an arm of two links in a plane, whose second link may hit a post on the first."""
    shapes = {'l2': _box(*LINK)} | ({'l0': _box(*POST)} if post else {})
    return load_robot(
        robot_text(
            joint('j1', 'revolute', 'l0', 'l1'),
            joint('j2', 'revolute', 'l1', 'l2', f'{UPPER} 0 0'),
            joint('tool', 'fixed', 'l2', 'tip', f'{LOWER} 0 0'),
            name='elbow',
            shapes=shapes,
        ),
        '<robot name="elbow"><group name="arm"><chain base_link="l0" tip_link="tip"/></group></robot>',
    )


def corners(center, size, turn=0.0, shift=(0.0, 0.0)):
    """Return the corners (4, 2) of a box in the plane."""
    c, s = math.cos(turn), math.sin(turn)
    local = np.array(center) + np.array(size) / 2 * [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    return local @ np.array([[c, s], [-s, c]]) + shift


def gap(q):
    """Return the distance between post and second link along the best axis; negative where they overlap."""
    elbow = (UPPER * math.cos(q[0]), UPPER * math.sin(q[0]))
    link, post = corners(*LINK, q[0] + q[1], elbow), corners(*POST)
    gaps = []
    for box in (link, post):
        for side in (box[0] - box[1], box[1] - box[2]):
            axis = side / np.linalg.norm(side)
            a, b = link @ axis, post @ axis
            gaps.append(max(a.min() - b.max(), b.min() - a.max()))
    return max(gaps)


def mirrored(q):
    """Return the other posture of two links with the same end."""
    turn = 2.0 * math.atan2(LOWER * math.sin(q[1]), UPPER + LOWER * math.cos(q[1]))
    return np.array([q[0] + turn, -q[1]])


def postures(first, second):
    """Return postures whose gaps, and the mirrored posture's, have given signs and are clear."""
    rows = []
    for q1, q2 in itertools.product(np.linspace(-1.5, 1.5, 16), np.linspace(-2.4, 2.4, 25)):
        q = np.array([q1, q2])
        gaps = gap(q), gap(mirrored(q))
        clear = min(map(abs, gaps)) > 0.01 and abs(q2) > 0.2
        if clear and (gaps[0] > 0, gaps[1] > 0) == (first, second):
            rows.append(q)
    return rows[:: max(1, len(rows) // 5)][:5]


@pytest.fixture(scope='module')
def elbow():
    """Give a server that asks for places only, so that each has exactly two postures."""
    return serve(two_links(), arm={'position_only': True})


def _end_of(server, q):
    state = server.groups['arm'].with_group(server.states.default(), q)
    return true_pose(server.robot, state, 'tip'), state


@pytest.mark.parametrize('q', postures(False, True), ids=str)
def test_where_the_nearest_posture_collides_the_other_one_is_returned(elbow, q):
    target, current = _end_of(elbow, q)
    asked = ik_request('arm', [('', target)], avoid_collisions=True)
    free = elbow.solve(asked, current)
    assert free.solved, free.text
    assert free.state.positions == pytest.approx(mirrored(q), abs=0.02)
    assert gap(free.state.positions) > 0
    near = elbow.solve(ik_request('arm', [('', target)]), current)
    assert near.state.positions == pytest.approx(q, abs=0.02)


@pytest.mark.parametrize('q', postures(True, True), ids=str)
def test_a_free_posture_near_the_seed_stays(elbow, q):
    target, current = _end_of(elbow, q)
    response = elbow.solve(ik_request('arm', [('', target)], avoid_collisions=True), current)
    assert response.solved and response.state.positions == pytest.approx(q, abs=0.02)


@pytest.mark.parametrize('q', postures(False, False), ids=str)
def test_where_all_collide_the_pair_is_told(elbow, q):
    target, current = _end_of(elbow, q)
    asked = ik_request('arm', [('', target)], avoid_collisions=True)
    elbow.cancel[0] = 0
    response = elbow.solve(asked, current)
    assert not response.solved and response.refusal is Refusal.NONE
    assert response.cause is Cause.COLLISION, response.text
    assert "'l0' with 'l2'" in response.text


def test_there_are_postures_of_each_kind():
    kinds = (False, True), (True, True), (False, False)
    assert all(postures(*kind) for kind in kinds)


def test_without_geometry_nothing_is_known(server, ready, target):
    robot = standing_robot('fixed')
    bare = serve(robot)
    asked = ik_request('arm', [('', np.eye(4))], avoid_collisions=True)
    response = bare.solve(asked, bare.states.default())
    assert (response.refusal, response.cause) == (Refusal.NO_COLLISION_CHECK, Cause.COLLISION)
    assert 'no collision geometry' in response.text


def test_without_the_library_nothing_is_known(robots, monkeypatch, ready, target):
    def missing():
        raise SolverError('Collision checking needs coal.')

    monkeypatch.setattr(collision, 'import_coal', missing)
    fresh = serve(robots['panda'], ARM)
    response = fresh.solve(ik_request(ARM, [('', target)], avoid_collisions=True), ready)
    assert response.refusal is Refusal.NO_COLLISION_CHECK and 'coal' in response.text
    assert fresh.solve(ik_request(ARM, [('', target)]), ready).solved


def test_attached_objects_do_not_matter_where_collisions_do_not(server, ready, target):
    asked = ik_request(ARM, [('', target)], carried=CARRIED)
    assert server.solve(asked, ready).solved


def test_a_robot_that_can_be_checked_in_part_only_is_not_called_free(caplog):
    shape = (
        '<collision><geometry><mesh filename="package://nowhere/x.stl"/></geometry></collision>'
    )
    robot = load_robot(
        robot_text(
            joint('j1', 'revolute', 'l0', 'l1'),
            joint('j2', 'revolute', 'l1', 'l2', '0.5 0 0'),
            shapes={'l0': shape, 'l1': _box(*LINK), 'l2': _box(*LINK)},
        ),
        '<robot name="made"><group name="arm"><chain base_link="l0" tip_link="l2"/></group></robot>',
    )
    server = serve(robot)
    current = server.states.default()
    asked = ik_request('arm', [('', true_pose(robot, current, 'l2'))], avoid_collisions=True)
    for _ in range(3):
        response = server.solve(asked, current)
        assert response.refusal is Refusal.NO_COLLISION_CHECK and 'x.stl' in response.text
    asked.avoid_collisions = False
    assert server.solve(asked, current).solved
    assert sum('x.stl' in record.getMessage() for record in caplog.records) == 1


# Texts of a solver are handed on


class _Saying:
    """A solver that always says, or raises, the same."""

    name, joint_names = 'saying', ()
    clock_ended = False

    def __init__(self, group, outcome):
        self.base_frame, self.tip_frames = group.base_link, group.tips
        self.outcome = outcome

    def warm_up(self):
        """Do nothing."""

    def solve(self, request):
        """Say it."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return IkResult(
            IkStatus.UNSOLVED,
            self.outcome,
            np.empty((0, 7)),
            np.empty((0, 2)),
            np.zeros(7),
            0.1,
            5,
            2,
            self.clock_ended,
        )


def saying(robots, outcome):
    """Return a server of the arm whose solver always says the same."""
    panda = robots['panda']
    server = RobotServer(panda, [panda.group(ARM)])
    server.groups[ARM].solver = _Saying(panda.group(ARM), outcome)
    return server


@pytest.mark.parametrize('cause', [c for c in Cause if c is not Cause.NONE])
def test_the_response_has_the_cause_of_the_solver(robots, ready, target, cause):
    response = saying(robots, cause).solve(ik_request(ARM, [('', target)]), ready)
    assert response.text == response.result.summary('0.4009 m and 0.785 rad')


def test_refused_candidates_are_collisions_where_collisions_are_checked(robots, ready, target):
    asked = ik_request(ARM, [('', target)], avoid_collisions=True)
    response = saying(robots, Cause.VALIDATION).solve(asked, ready)
    assert response.cause is Cause.COLLISION and 'in collision' in response.text
    assert saying(robots, Cause.LIMITS).solve(asked, ready).cause is Cause.LIMITS


@pytest.mark.parametrize('ended', [True, False])
def test_a_search_that_the_clock_ended_among_collisions_says_so(robots, ready, target, ended):
    server = saying(robots, Cause.VALIDATION)
    server.groups[ARM].solver.clock_ended = ended
    asked = ik_request(ARM, [('', target)], avoid_collisions=True)
    response = server.solve(asked, ready)
    assert (CLOCK_ENDED in response.text) == ended
    assert response.cause is (Cause.DEADLINE if ended else Cause.COLLISION)
    assert response.text.startswith(no_solution(response.cause))
    assert CAUSE_TEXT[Cause.COLLISION] in response.text


def ask_one(server, target, ready):
    return server.solve(ik_request(ARM, [('', target)], avoid_collisions=True), ready).cause


def ask_many(server, target, ready):
    numbers = np.hstack([target[:3, 3], Rotation.from_matrix(target[:3, :3]).as_quat()])
    request = BatchRequest(ARM, numbers, avoid_collisions=True)
    return server.solve_batch(request, ready).causes[0]


def ask_all(server, target, ready):
    return server.solve_all(ik_request(ARM, [('', target)], avoid_collisions=True), ready).cause


def ask_path(server, target, ready):
    moved = target @ pose_of((0.0, 0.05, 0.0))
    request = PathRequest(ARM, [moved], max_step=1.0, avoid_collisions=True)
    server.planning_timeout = 0.0
    return server.follow_path(request, ready).cause


@pytest.mark.parametrize('ask', [ask_one, ask_many, ask_all, ask_path])
@pytest.mark.parametrize('ended', [True, False])
def test_every_request_names_the_clock_that_ended_among_refused_candidates(
    robots, ready, target, ask, ended, monkeypatch
):
    # No closed form solves in place of the solver of the arm.
    monkeypatch.setattr(all_branches, 'find_closed_form', lambda make: (None, ''))
    server = saying(robots, Cause.VALIDATION)
    server.groups[ARM].solver.clock_ended = ended
    assert ask(server, target, ready) == (Cause.DEADLINE if ended else Cause.COLLISION)


def test_a_search_that_cannot_draw_starts_is_no_fault(robots, ready, target):
    error = InvalidLimits("Other starts cannot be drawn: joint 'base' has no finite limits.")
    response = saying(robots, error).solve(ik_request(ARM, [('', target)]), ready)
    assert response.refusal is Refusal.NOT_SEARCHABLE and 'finite limits' in response.text


def test_an_error_of_the_solver_is_a_fault_with_a_response(robots, ready, target):
    response = saying(robots, SolverError('It broke.')).solve(
        ik_request(ARM, [('', target)]), ready
    )
    assert response.refusal is Refusal.FAULT and response.text == 'It broke.'
    assert response.state is None


def test_an_error_that_is_not_ours_is_left_to_the_surface(robots, ready, target):
    with pytest.raises(ZeroDivisionError):
        saying(robots, ZeroDivisionError('x')).solve(ik_request(ARM, [('', target)]), ready)


# Other kinematics, unchanged requests


def test_other_kinematics_leave_the_old_server_as_it_was(robots, ready, target):
    old = serve(robots['panda'])
    before = dict(old.groups)
    new = old.with_kinematics(GroupKinematics(ARM, timeout=3.0, position_only=True))
    assert old.groups == before and old.groups[ARM].kinematics.timeout == math.inf
    assert new.groups[ARM].kinematics.timeout == 3.0 and new.groups[ARM] is not old.groups[ARM]
    assert all(new.groups[name] is old.groups[name] for name in before if name != ARM)
    assert list(new.groups) == list(before)
    assert (new.robot, new.states, new.frames, new.cancel) == (
        old.robot,
        old.states,
        old.frames,
        old.cancel,
    )
    assert new.groups[ARM].warm_up_seconds > 0.0
    assert new.solve(ik_request(ARM, [('', target)]), ready).solved


def test_other_kinematics_of_an_unknown_group_are_a_mistake(server):
    with pytest.raises(KeyError):
        server.with_kinematics(GroupKinematics('nobody'))


def _content(asked):
    """Return everything in a request as bytes and tuples."""
    poses = [(p.frame, p.pose.tobytes()) for p in asked.poses]
    multi = [pose.tobytes() for pose in asked.state.multi_dof_poses]
    state = (
        tuple(asked.state.names),
        tuple(asked.state.positions),
        tuple(asked.state.multi_dof_names),
    )
    return (
        asked.group,
        tuple(asked.links),
        poses,
        state,
        multi,
        asked.timeout,
        asked.avoid_collisions,
    )


@pytest.mark.parametrize('collisions', [False, True])
@pytest.mark.parametrize('reachable', [True, False])
def test_a_call_changes_neither_request_nor_current_state(
    server, ready, target, collisions, reachable
):
    base = random_rigid(np.random.default_rng(2))
    asked = ik_request(
        ARM,
        [('panda_hand', target if reachable else pose_of((5, 0, 0)), 'panda_link0')],
        state=StateGiven(['panda_joint1'], [0.2], ['virtual_joint'], [base]),
        avoid_collisions=collisions,
    )
    before = copy.deepcopy(_content(asked)), snapshot(ready)
    response = server.solve(asked, ready)
    forward = server.compute_fk(FkRequest(['panda_hand'], 'panda_link3', asked.state), ready)
    assert before == (_content(asked), snapshot(ready))
    for pose in forward.poses:
        pose += 1.0
    if response.state is not None:
        response.state.positions[:] = 7.0
    assert before == (_content(asked), snapshot(ready))


@pytest.mark.parametrize(
    ('frame', 'named'),
    [('panda_link0', 'panda_link0'), ('', 'world'), ('world', 'world'), ('/world', 'world')],
)
def test_poses_are_named_by_the_frame_that_was_asked_for(server, ready, frame, named):
    # The first link is at the model frame: the numbers are the same, the names are not.
    response = server.compute_fk(FkRequest(['panda_hand'], frame, StateGiven()), ready)
    plain = server.compute_fk(FkRequest(['panda_hand'], '', StateGiven()), ready)
    assert (response.frame, response.refusal) == (named, Refusal.NONE)
    assert np.array_equal(response.poses[0], plain.poses[0])


def test_equal_requests_get_equal_responses(server, ready, target):
    asked = ik_request(ARM, [('', target)], state=StateGiven(['panda_joint1'], [0.7]))
    first, second = (server.solve(asked, ready) for _ in range(2))
    assert first.state.positions.tobytes() == second.state.positions.tobytes()
    assert first.text == second.text
    assert not np.shares_memory(first.state.positions, second.state.positions)


# Forward kinematics


@pytest.mark.sampled
@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('frame', ['', 'map', 'pelvis', 'head', 'left_camera'])
def test_links_are_where_pinocchio_has_them(frame, seed):
    robot, rng = torso_robot(), np.random.default_rng(seed)
    server = serve(robot, 'left')
    current, given = random_full_state(robot, rng), random_full_state(robot, rng)
    names = robot.variable_names
    response = server.compute_fk(
        FkRequest(
            list(robot.tree.link_names),
            frame,
            StateGiven(names, given.positions, ['base'], [given.root_pose]),
        ),
        current,
    )
    assert (
        response.refusal is Refusal.NONE
        and response.text == counted(len(response.links), 'pose') + '.'
    )
    assert response.frame == (frame or 'map')
    framed = np.eye(4) if frame in ('', 'map') else true_pose(robot, current, frame)
    for link, pose in zip(robot.tree.link_names, response.poses, strict=True):
        truth = np.linalg.inv(framed) @ true_pose(robot, given, link)
        assert pose == pytest.approx(truth, abs=1e-12)


def test_unknown_links_are_left_out_and_named(server, ready):
    links = ['panda_hand', 'ghost', 'panda_link1', 'world', 'panda_hand']
    response = server.compute_fk(FkRequest(links, '', StateGiven()), ready)
    assert list(response.links) == ['panda_hand', 'panda_link1', 'panda_hand']
    assert response.refusal is Refusal.UNKNOWN_LINK
    assert (
        'ghost' in response.text and 'world' in response.text and 'panda_hand' not in response.text
    )
    for link, pose in zip(response.links, response.poses, strict=True):
        assert pose == pytest.approx(true_pose(server.robot, ready, link), abs=1e-12)


def test_an_unknown_frame_outranks_an_unknown_link_and_leaves_the_model_frame(server, ready):
    response = server.compute_fk(
        FkRequest(['panda_hand', 'ghost'], 'nowhere', StateGiven()), ready
    )
    assert response.refusal is Refusal.UNKNOWN_FRAME and response.frame == 'world'
    assert response.poses[0] == pytest.approx(true_pose(server.robot, ready, 'panda_hand'))


def test_no_link_outranks_everything(server, ready):
    response = server.compute_fk(FkRequest([], 'nowhere', StateGiven(('ghost',), (1.0,))), ready)
    assert response.refusal is Refusal.GOAL_COUNT and not response.links and not response.poses


def test_a_wrong_state_outranks_links_and_frames(server, ready):
    response = server.compute_fk(
        FkRequest(['ghost'], 'nowhere', StateGiven(('ghost',), (1.0,))), ready
    )
    assert response.refusal is Refusal.BAD_STATE and not response.poses


def test_only_unknown_links_give_no_poses(server, ready):
    response = server.compute_fk(FkRequest(['ghost'], '', StateGiven()), ready)
    assert response.refusal is Refusal.UNKNOWN_LINK and not response.links and not response.poses


# Tables


def test_every_refusal_has_a_cause_or_a_reason_for_none():
    without = {
        Refusal.NONE: 'nothing is wrong',
        Refusal.NO_SOLVER: 'no cause speaks of the configuration; the text does',
        Refusal.BUSY: 'no cause speaks of other goals; the text does',
        Refusal.FAULT: 'no cause speaks of faults of the package; the text does',
    }
    assert set(CAUSE_OF_REFUSAL) | set(without) == set(Refusal)
    assert not set(CAUSE_OF_REFUSAL) & set(without)
    assert Cause.NONE not in CAUSE_OF_REFUSAL.values()


def test_a_refused_request_is_one_of_our_errors_with_its_evidence():
    error = RequestRefused(Refusal.BAD_STATE, 'It is wrong.')
    assert error.refusal is Refusal.BAD_STATE and str(error) == 'It is wrong.'
    assert isinstance(error, ValueError)
