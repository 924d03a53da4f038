"""Paths along lines: on the line by pinocchio, the smoothest by brute force, and honest about where they end."""

import itertools
import math

from test.server.served_robots import (
    errors_between,
    joint,
    make_server,
    pose_of,
    robot_text,
    serve,
    torso_robot,
    true_pose,
    without_velocity_limit,
)

import numpy as np
import pytest

from ssik_ros.model.loader import load_robot
from ssik_ros.results import Cause
from ssik_ros.server.paths.path_requests import PathRequest
from ssik_ros.server.paths.path_search import cut_at_jump, PathModel, PathSearch, SamplePostures
from ssik_ros.server.paths.path_timing import time_path
from ssik_ros.server.paths.straight_lines import make_line
from ssik_ros.server.requests.constraints import ConstraintsGiven, JointConstraintGiven
from ssik_ros.server.requests.ik_requests import StateGiven
from ssik_ros.server.requests.refusals import Refusal

ARMS = {
    'fanuc': ('manipulator', 'tool0', (0.1, 0.2, -0.3, 0.1, 0.4, 0.0)),
    'panda': ('panda_arm', 'panda_link8', (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)),
}
SLACK = 1e-9


class Arm:
    """A server, the current state of its arm, and requests for its path."""

    def __init__(self, robot, group, tip, q):
        self.server, self.group, self.tip = serve(robot, group), group, tip
        self.current = self.server.groups[group].with_group(
            self.server.states.default(), np.array(q)
        )
        self.here = self.pose(np.array(q))

    def pose(self, q, link=None):
        state = self.server.groups[self.group].with_group(self.current, np.asarray(q))
        return true_pose(self.server.robot, state, link or self.tip)

    def moved(self, *xyz, turn=(0.0, 0.0, 0.0)):
        """Return where the tip is, moved along the axes of the model frame and turned about its own."""
        pose = self.here @ pose_of(rotation_vector=turn)
        pose[:3, 3] += xyz
        return pose

    def ask(self, *waypoints, **more):
        return self.server.follow_path(
            PathRequest(self.group, waypoints, **{'max_step': 0.01, **more}), self.current
        )


@pytest.fixture(scope='module')
def arms(robots):
    return {name: Arm(robots[name], *rest) for name, rest in ARMS.items()}


@pytest.fixture(params=ARMS)
def arm(request, arms):
    return arms[request.param]


def distance_from(line, pose):
    """Return how far a pose is from a line of poses (start, end): [m], [rad] at the nearest of many parts."""
    path = make_line(*line)
    parts = np.linspace(0.0, 1.0, 2001)
    direction = path.end[:3, 3] - path.start[:3, 3]
    if np.linalg.norm(direction) > 0.0:
        along = float((pose[:3, 3] - path.start[:3, 3]) @ direction / (direction @ direction))
        parts = np.array([min(max(along, 0.0), 1.0)])
    return min((errors_between(pose, path.at(float(part))) for part in parts), key=sum)


def test_the_link_stays_on_the_line_and_between_the_points_too(arm):
    first = arm.moved(0.0, 0.2, -0.1)
    second = arm.moved(-0.1, -0.1, -0.1, turn=(0.0, 0.3, 0.2))
    response = arm.ask(first, second)
    assert (response.fraction, response.refusal, response.cause) == (1.0, Refusal.NONE, Cause.NONE)
    points = response.path.positions
    assert np.array_equal(
        points[0], arm.current.positions[arm.server.groups[arm.group].group.idx_q]
    )
    assert errors_between(arm.pose(points[-1]), second) <= (2e-5, 2e-5)
    lines = [(arm.here, first), (first, second)]
    middles = 0.5 * (points[1:] + points[:-1])
    for q, bound in itertools.chain(((q, 2e-5) for q in points), ((q, 1e-2) for q in middles)):
        assert min(max(distance_from(line, arm.pose(q))) for line in lines) <= bound
        position = min(distance_from(line, arm.pose(q))[0] for line in lines)
        assert position <= 1e-3 + SLACK
    group = arm.server.groups[arm.group].group
    assert (points >= group.lower).all() and (points <= group.upper).all()


def test_neighbours_are_no_further_apart_than_asked(arm):
    target = arm.moved(0.0, 0.1, 0.0, turn=(0.0, 0.0, 0.8))
    for max_step in (0.05, 0.01, 0.003):
        points = arm.ask(target, max_step=max_step).path.positions
        poses = [arm.pose(q) for q in points]
        for a, b in itertools.pairwise(poses):
            position, angle = errors_between(a, b)
            assert position <= max_step + 1e-4 and angle <= 3.5 * max_step + 1e-4
        # MoveIt's count: the larger of two rounded down, and one.
        steps = max(math.floor(0.1 / max_step), math.floor(0.8 / (3.5 * max_step))) + 1
        assert len(points) == steps + 1


def test_waypoints_in_the_frame_of_the_link_are_relative_to_the_pose_before(arm):
    step = pose_of((0.0, 0.0, -0.05), (0.0, 0.0, 0.1))
    response = arm.ask(step, step, frame=arm.tip)
    assert response.fraction == 1.0
    assert errors_between(arm.pose(response.path.positions[-1]), arm.here @ step @ step) <= (
        2e-5,
        2e-5,
    )


def test_a_rigid_link_can_be_led(arms):
    arm = arms['panda']
    here = arm.pose(ARMS['panda'][2], 'panda_hand')
    target = here.copy()
    target[2, 3] -= 0.1
    response = arm.ask(target, link='panda_hand')
    assert response.fraction == 1.0
    assert errors_between(arm.pose(response.path.positions[-1], 'panda_hand'), target) <= (
        2e-5,
        2e-5,
    )


@pytest.mark.sampled
def test_out_of_reach_at_the_end_has_the_fraction_that_was_followed(arm):
    near, far = arm.moved(0.0, 0.0, -0.05), arm.moved(4.0, 0.0, -0.05)
    response = arm.ask(near, far)
    assert response.cause in (
        *(Cause.UNREACHABLE, Cause.LIMITS, Cause.NOT_FOUND),
        *(Cause.BUDGET, Cause.CONSISTENCY),
    )
    assert 0.5 < response.fraction < 1.0
    assert response.failed_waypoint == 1
    assert 'waypoint 1' in response.text
    reached = arm.pose(response.path.positions[-1])
    expected = near[0, 3] + (2.0 * response.fraction - 1.0) * 4.0
    assert reached[0, 3] == pytest.approx(expected, abs=1e-4)


def test_the_start_state_is_where_the_path_begins(arm):
    q = np.array(ARMS['fanuc' if arm.tip == 'tool0' else 'panda'][2]) + 0.05
    group = arm.server.groups[arm.group].group
    given = StateGiven(group.variable_names, q.tolist())
    target = arm.pose(q)
    target[2, 3] -= 0.05
    response = arm.ask(target, state=given)
    assert response.fraction == 1.0
    assert np.allclose(response.path.positions[0], q, rtol=0.0, atol=1e-15)
    assert np.allclose(response.start.positions[group.idx_q], q)


def test_a_bound_on_joint_steps_holds_by_points_in_between(arm):
    target = arm.moved(0.0, 0.2, 0.0)
    free = arm.ask(target, max_step=0.05)
    bound = 0.5 * np.abs(np.diff(free.path.positions, axis=0)).max()
    response = arm.ask(target, max_step=0.05, revolute_jump=bound)
    assert response.fraction == 1.0
    assert np.abs(np.diff(response.path.positions, axis=0)).max() <= bound + SLACK
    # The arm has no sliding joint.
    other = arm.ask(target, max_step=0.05, prismatic_jump=1e-9)
    assert np.array_equal(other.path.positions, free.path.positions)


def test_a_bound_that_no_step_keeps_ends_the_path():
    """Where the arm would have to jump, no point in between helps."""

    def find(pose, _):
        x = pose[0, 3]
        return SamplePostures(np.array([[x if x <= 0.5 else x + 0.7]]), Cause.NONE)

    model = TwoBranches(0.7).model(find)
    model.errors = lambda q, pose: (0.0, 0.0)
    search = PathSearch(model, lambda k, s: place((k + s) / 10))
    assert search.run(np.array([0.0]), 10, lambda: False).reached == 10
    model.largest_steps = np.array([0.3])
    path = search.run(np.array([0.0]), 10, lambda: False)
    assert path.reached == 5 and path.cause is Cause.CONSISTENCY


def test_a_threshold_relative_to_the_other_steps_cuts_at_the_first_long_one():
    points = np.zeros((6, 2))
    points[:, 0] = [0.0, 0.1, 0.2, 1.2, 1.3, 1.4]
    assert cut_at_jump(points, 0.0) == 6
    assert cut_at_jump(points, 20.0) == 6
    assert cut_at_jump(points, 5.0) == 3
    # J02: two steps are enough, MoveIt once wanted ten.
    assert cut_at_jump(points[2:5], 5.0) == 1


def test_a_relative_threshold_of_one_or_less_is_no_fault(arm):
    response = arm.ask(arm.moved(0.0, 0.1, 0.0), jump_threshold=0.9)
    assert response.refusal is Refusal.NONE
    assert response.fraction < 1.0 and response.cause is Cause.CONSISTENCY


# Branches


class TwoBranches:
    """One joint on a line whose pose can be had at two angles, the dearer one joined to the start."""

    def __init__(self, gap):
        self.gap = gap

    def model(self, find):
        return PathModel(
            find=find,
            knows_all=True,
            windings_near=lambda q, _: q,
            errors=lambda q, pose: (abs(float(q[0]) % self.gap - pose[0, 3]), 0.0),
            accepts=lambda q: True,
            refusal=lambda: (Cause.NONE, ''),
            largest_steps=np.array([math.inf]),
            middle=lambda a, b: 0.5 * (a + b),
        )


def place(x):
    return pose_of((x, 0.0, 0.0))


def test_a_change_of_branch_is_a_jump_however_often_it_is_halved():
    """J02: only the other branch reaches the second half."""

    def find(pose, _):
        x = pose[0, 3]
        return SamplePostures(np.array([[x]]) if x <= 0.5 else np.array([[x + 7.0]]), Cause.NONE)

    search = PathSearch(TwoBranches(7.0).model(find), lambda k, s: place((k + s) / 10))
    path = search.run(np.array([0.0]), 10, lambda: False)
    assert path.cause is Cause.CONSISTENCY
    assert path.reached == 5
    assert path.points[-1][0] <= 0.5 + 1e-4


def test_of_all_sequences_the_smoothest_is_taken():
    """Against every sequence there is, with costs in which the nearest next posture is the wrong choice."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        layers = [rng.uniform(-1.0, 1.0, (3, 2)) for _ in range(5)]
        model = PathModel(
            find=lambda pose, _, layers=layers: SamplePostures(
                layers[round(pose[0, 3])], Cause.NONE
            ),
            knows_all=True,
            windings_near=lambda q, _: q,
            errors=lambda q, pose: (0.0, 0.0),
            accepts=lambda q: True,
            refusal=lambda: (Cause.NONE, ''),
            largest_steps=np.array([math.inf, math.inf]),
            middle=lambda a, b: 0.5 * (a + b),
        )
        start = np.zeros(2)
        path = PathSearch(model, lambda k, s: place(k + s - 1.0)).run(start, 5, lambda: False)

        def cost(points):
            return sum(float(((b - a) ** 2).sum()) for a, b in itertools.pairwise(points))

        every = min(cost([start, *choice]) for choice in itertools.product(*layers))
        assert cost(path.points) == pytest.approx(every)


def test_a_path_avoids_what_it_can_and_names_what_it_cannot(arm):
    group = arm.server.groups[arm.group].group
    first = group.variable_names[0]
    now = float(arm.current.positions[group.idx_q[0]])
    wishes = ConstraintsGiven(joints=[JointConstraintGiven(first, now, 0.05, 0.05)])
    response = arm.ask(arm.moved(0.0, 0.4, 0.0), constraints=wishes)
    points = response.path.positions
    assert (np.abs(points[:, 0] - now) <= 0.05 + SLACK).all()
    if response.fraction < 1.0:
        assert response.cause in (Cause.CONSTRAINTS, Cause.CONSISTENCY)
    # The fanuc has no other way to the side.
    assert response.fraction < 1.0 or arm.tip != 'tool0'


# Turns, singularities, limits (J01)


def turning_arm(kind):
    """Return a turntable with an arm whose tip goes round."""
    text = robot_text(
        joint('turn', kind, 'l0', 'l1', '0 0 0.1'),
        joint('out', 'prismatic', 'l1', 'l2', '0.5 0 0', '1 0 0'),
        joint('up', 'prismatic', 'l2', 'l3', '0 0 0.1', '0 0 1'),
        joint('end', 'fixed', 'l3', 'tip', '0.1 0 0'),
        name='turning',
    )
    robot = load_robot(text)
    group = robot.group_from_links('l0', 'tip', 'arm')
    server = make_server(robot, [group], arm={'requested_solver': 'ssik_ros/PoseIK'})
    return server, server.states.default()


def test_an_endless_joint_goes_on_across_half_a_turn():
    """B05: no step is a turn."""
    server, current = turning_arm('continuous')
    chain = [pose_of(rotation_vector=(0.0, 0.0, a)) for a in np.linspace(0.05, 7.0, 140)]
    here = true_pose(server.robot, current, 'tip')
    response = server.follow_path(
        PathRequest('arm', [c @ here for c in chain], max_step=0.2), current
    )
    assert response.fraction == 1.0, response.text
    turn = response.path.positions[:, 0]
    assert turn[-1] == pytest.approx(7.0, abs=1e-3)
    assert np.abs(np.diff(turn)).max() < 0.2


def test_a_limit_ends_the_path_where_it_is():
    server, current = turning_arm('revolute')
    chain = [pose_of(rotation_vector=(0.0, 0.0, a)) for a in np.linspace(0.05, 3.5, 70)]
    here = true_pose(server.robot, current, 'tip')
    response = server.follow_path(
        PathRequest('arm', [c @ here for c in chain], max_step=0.2), current
    )
    assert response.fraction in (pytest.approx(55 / 70), pytest.approx(56 / 70))
    assert response.path.positions[-1, 0] <= 2.8
    assert response.path.positions[-1, 0] == pytest.approx(2.8, abs=0.05)


def test_a_closed_path_comes_back_to_its_start(arms):
    """J04."""
    arm = arms['fanuc']
    corners = [arm.moved(0, 0.1, 0), arm.moved(0, 0.1, -0.1), arm.moved(0, 0, -0.1), arm.here]
    points = arm.ask(*corners).path.positions
    assert np.allclose(points[0], points[-1], atol=1e-6)


# Times


def test_times_keep_the_limits_and_begin_and_end_at_rest():
    rng = np.random.default_rng(8)
    for _ in range(30):
        points = np.cumsum(rng.normal(0.0, 0.02, (40, 3)), axis=0)
        velocity, acceleration = rng.uniform(0.2, 2.0, 3), rng.uniform(0.5, 3.0, 3)
        path = time_path(points, velocity, acceleration)
        assert np.array_equal(path.positions, points)
        seconds = np.diff(path.times)
        assert path.times[0] == 0.0 and (seconds > 0.0).all()
        rates = np.diff(points, axis=0) / seconds[:, None]
        assert (np.abs(rates) <= velocity + SLACK).all()
        assert (path.velocities[0] == 0.0).all() and (path.velocities[-1] == 0.0).all()
        assert (np.abs(path.velocities) <= velocity + SLACK).all()


def test_a_single_line_is_the_trapezoid_of_its_limits():
    """A long straight line, against the time that the formula of constant acceleration gives."""
    points = np.linspace(0.0, 2.0, 2001)[:, None]
    path = time_path(points, np.array([0.5]), np.array([2.0]))
    # Half of the acceleration is kept for corners.
    assert path.times[-1] == pytest.approx(2.0 / 0.5 + 0.5 / 1.0, rel=1e-2)
    two = time_path(points[[0, -1]], np.array([0.5]), np.array([2.0]))
    assert len(two.positions) == 3 and two.times[-1] > 4.0


def test_points_that_repeat_are_left_out():
    points = np.array([[0.0], [0.0], [0.1], [0.1], [0.2]])
    assert time_path(points, np.ones(1), np.ones(1)).positions.ravel().tolist() == [0.0, 0.1, 0.2]


def test_a_link_is_not_faster_than_asked(arm):
    target = arm.moved(0.0, 0.2, 0.0)
    response = arm.ask(target, max_speed=0.02)
    seconds, places = (
        np.diff(response.path.times),
        [arm.pose(q)[:3, 3] for q in response.path.positions],
    )
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / seconds
    assert speeds.max() <= 0.02 * (1.0 + 1e-6)
    assert response.path.times[-1] > 2.0 * arm.ask(target).path.times[-1]


# Errors of a request


def wrong(arm):
    """Yield name, fields, refusal, cause."""
    here = arm.here
    yield 'state', {'state': StateGiven(('ghost',), (1.0,))}, Refusal.BAD_STATE
    yield 'group', {'group': 'nobody'}, Refusal.UNKNOWN_GROUP
    yield 'frame', {'frame': 'nowhere'}, Refusal.UNKNOWN_FRAME
    for step in (0.0, -1.0, math.nan, 1e-17, 1e-9):
        yield f'step {step}', {'max_step': step}, Refusal.BAD_STEP
    yield 'nan', {'waypoints': [here, here * math.nan]}, Refusal.BAD_TARGET
    yield 'jump', {'jump_threshold': math.nan}, Refusal.BAD_TARGET
    yield 'negative jump', {'revolute_jump': -1.0}, Refusal.BAD_TARGET
    yield 'link', {'link': 'thumb'}, Refusal.UNKNOWN_LINK
    yield 'speed', {'speed_link': 'thumb', 'max_speed': 1.0}, Refusal.UNKNOWN_LINK
    yield (
        'kind',
        {'constraints': ConstraintsGiven(others=('visibility_constraints',))},
        Refusal.CONSTRAINTS,
    )


def test_what_is_wrong_is_refused(arm):
    for name, fields, refusal in wrong(arm):
        values = {'group': arm.group, 'waypoints': [arm.moved(0.0, 0.1, 0.0)], **fields}
        response = arm.server.follow_path(PathRequest(**values), arm.current)
        assert (response.refusal, response.path, response.fraction) == (refusal, None, 0.0), name
        assert response.text.endswith('.')


@pytest.mark.parametrize(
    'fields', [{'velocity_scale': 1e-300}, {'acceleration_scale': 1e-300}, {'max_speed': 1e-300}]
)
def test_a_path_of_centuries_is_refused(arm, fields):
    response = arm.ask(arm.moved(0.0, 0.1, 0.0), **fields)
    assert response.refusal is Refusal.BAD_TARGET and ' s; at most' in response.text


def test_joints_that_a_velocity_scale_does_not_slow_down_are_named(arms, robots):
    robot = without_velocity_limit(robots['panda'], 'panda_joint2')
    arm = Arm(robot, *ARMS['panda'])
    target = arm.moved(0.0, 0.1, 0.0)
    for scale in (0.0, 1.0, 2.0):
        assert 'velocity' not in arm.ask(target, velocity_scale=scale).text
    assert 'velocity' not in arms['panda'].ask(target, velocity_scale=0.1).text
    text = arm.ask(target, velocity_scale=0.1).text
    assert 'Without a velocity limit: panda_joint2.' in text and 'scale 0.1 has no effect' in text


def test_no_waypoint_is_nothing_to_do(arm):
    response = arm.ask()
    assert (response.refusal, response.fraction, response.path) == (Refusal.NONE, 0.0, None)


def test_several_tips_need_a_name_and_the_others_stay():
    robot = torso_robot()
    server = serve(robot, 'arms')
    q = np.array([0.1, 0.4, -0.8, 0.2, 0.5, 0.1, -0.1, 0.5, -0.7, -0.2, 0.4, 0.0])
    current = server.groups['arms'].with_group(server.states.default(), q)
    here, other = (true_pose(robot, current, f'{side}_tool') for side in ('left', 'right'))
    target = here.copy()
    target[2, 3] -= 0.05
    nameless = server.follow_path(PathRequest('arms', [target]), current)
    assert nameless.refusal is Refusal.UNKNOWN_LINK
    response = server.follow_path(PathRequest('arms', [target], link='left_tool'), current)
    assert response.fraction == 1.0, response.text
    end = server.groups['arms'].with_group(current, response.path.positions[-1])
    assert errors_between(true_pose(robot, end, 'left_tool'), target) <= (2e-5, 2e-5)
    assert errors_between(true_pose(robot, end, 'right_tool'), other) <= (2e-5, 2e-5)
