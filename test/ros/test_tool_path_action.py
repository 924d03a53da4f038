"""The action ``~/plan_tool_path`` over a real node: paths, feedback, cancellation, objects around, and goals that are wrong."""

import contextlib
import math
import time

from test.ros.server_client import ready_server
from test.ros.server_process import WAIT
from test.ros.server_requests import PANDA

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from moveit_msgs.msg import CollisionObject, MoveItErrorCodes
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from ssik_msgs.action import PlanToolPath
from ssik_msgs.msg import PathTolerance

pytestmark = pytest.mark.ros

NAME = 'ssik_ros/plan_tool_path'
LONG = 120.0
"""Bound on a plan of these tests [s]; they take a second on an idle machine."""
MOST = 3000
SUCCEEDED, CANCELED, ABORTED = (
    getattr(GoalStatus, f'STATUS_{name}') for name in ('SUCCEEDED', 'CANCELED', 'ABORTED')
)


class PathClient:
    """Sends goals to one node; to be used by one thread."""

    def __init__(self, client):
        self.client = client
        self._action = ActionClient(client.node, PlanToolPath, NAME)
        assert self._action.wait_for_server(WAIT)
        self.feedback = []

    def send(self, goal):
        """Return the handle of a goal once it is accepted."""
        self.feedback = []
        future = self._action.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        self.client.spin_until(future.done, 'acceptance', LONG)
        assert future.result().accepted
        return future.result()

    def result_of(self, handle):
        """Return (status, result) of a goal."""
        future = handle.get_result_async()
        self.client.spin_until(future.done, 'result', LONG)
        return future.result().status, future.result().result

    def run(self, goal):
        """Return (status, result) of a goal that is sent now."""
        return self.result_of(self.send(goal))

    def close(self):
        """Stop being a client."""
        self._action.destroy()


@contextlib.contextmanager
def path_client(folder, **parameters):
    """Give a client of a node that serves the Panda."""
    settings = {'moveit_config_package': 'panda', 'tool_path_waypoints': MOST, **parameters}
    with ready_server(folder, settings) as (_, client):
        sender = PathClient(client)
        yield sender
        sender.close()


@pytest.fixture(scope='module')
def paths(tmp_path_factory):
    """Give a client of one node for most tests."""
    with path_client(tmp_path_factory.mktemp('panda')) as client:
        yield client


def down(x, y, z):
    """Return a pose of the tip that looks down."""
    return Pose(
        position=Point(x=float(x), y=float(y), z=float(z)),
        orientation=Quaternion(x=1.0, y=0.0, z=0.0, w=0.0),
    )


def line_goal(count=30, **fields):
    """Return a goal along a line in front of the Panda."""
    goal = PlanToolPath.Goal(group=PANDA.group, **fields)
    goal.header.frame_id = PANDA.base
    goal.waypoints = [down(0.45, y, 0.4) for y in np.linspace(-0.2, 0.25, count)]
    return goal


def posture_table(result):
    """Return the positions (k, n) and times (k,) of a trajectory."""
    points = result.trajectory.points
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    return np.array([p.positions for p in points]), np.array(times)


def test_a_path_comes_with_times_and_reaches_each_waypoint(paths):
    goal = line_goal(tool_speed=0.1)
    status, result = paths.run(goal)
    assert (status, result.error_code.val) == (SUCCEEDED, MoveItErrorCodes.SUCCESS)
    assert result.valid and result.reason == '' and result.cause == 'NONE'
    q, times = posture_table(result)
    assert result.trajectory.joint_names == list(PANDA.chain().names)
    assert (np.diff(times) > 0.0).all() and times[0] == 0.0
    for row, pose in zip(q, goal.waypoints, strict=True):
        reached = PANDA.pose(dict(zip(result.trajectory.joint_names, row, strict=True)))
        place = (pose.position.x, pose.position.y, pose.position.z)
        assert np.abs(reached[:3, 3] - place).max() < 1e-5
        assert np.abs(reached[:3, :3] - np.diag([1.0, -1.0, -1.0])).max() < 1e-5
    assert result.lower_bound <= result.cost == pytest.approx(np.abs(np.diff(q, axis=0)).sum())
    # 0.45 m at 0.1 m/s, from rest to rest.
    assert times[-1] >= 4.5
    assert result.waypoint_times[0] == 0.0
    assert result.waypoint_times[-1] == pytest.approx(times[-1], abs=1e-6)
    assert not np.any(result.trajectory.points[-1].velocities)


def test_feedback_rises_and_ends_with_a_cost(paths):
    status, result = paths.run(line_goal(200))
    assert status == SUCCEEDED
    done = [progress.done for progress in paths.feedback]
    assert len(done) > 2 and done == sorted(done) and done[0] >= 0.0 and done[-1] <= 1.0
    assert all(progress.phase and 0 <= progress.waypoint < 200 for progress in paths.feedback)
    assert all(progress.best_cost >= result.cost - 1e-9 for progress in paths.feedback)


def test_a_free_spin_and_a_start_posture_count(paths):
    exact = paths.run(line_goal())[1]
    spin = PathTolerance(spin=[-math.pi, math.pi])
    free = paths.run(line_goal(tolerances=[spin]))[1]
    assert free.valid and free.cost < exact.cost
    start = JointState(name=list(exact.trajectory.joint_names))
    start.position = exact.trajectory.points[0].positions
    kept = paths.run(line_goal(start=start))[1]
    assert kept.valid
    assert np.abs(posture_table(kept)[0][0] - start.position).max() < 1e-9


def box_message(size, place, name='wall', operation=CollisionObject.ADD):
    """Return a box as a collision object."""
    message = CollisionObject(id=name, operation=operation)
    message.header.frame_id = PANDA.base
    message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(size))]
    message.primitive_poses = [Pose(position=Point(**dict(zip('xyz', place, strict=True))))]
    return message


def test_objects_of_the_scene_are_in_the_way(paths):
    publisher = paths.client.publisher(
        CollisionObject, 'ssik_ros/collision_object', QoSProfile(depth=100)
    )
    publisher.publish(box_message((1.0, 0.02, 2.0), (0.8, 0.1, 0.5)))
    goal = line_goal(avoid_collisions=True)
    try:
        end = time.monotonic() + WAIT
        while True:
            status, result = paths.run(goal)
            if not result.valid or time.monotonic() > end:
                break
    finally:
        publisher.publish(CollisionObject(id='wall', operation=CollisionObject.REMOVE))
    assert status == ABORTED and result.cause == 'COLLISION' and 'wall' in result.reason
    assert result.error_code.val == MoveItErrorCodes.NO_IK_SOLUTION
    assert result.failed_waypoint > 0 and math.isinf(result.cost)
    # The longest piece ends before the wall.
    assert 0 < len(result.trajectory.points) <= result.failed_waypoint
    unchecked = paths.run(line_goal())[1]
    assert unchecked.valid


def broken(change):
    """Return a goal after a change."""
    goal = line_goal()
    change(goal)
    return goal


def _nan(goal):
    goal.waypoints[7].position.y = math.nan


def _zero_quaternion(goal):
    goal.waypoints[3].orientation = Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)


def _one(goal):
    del goal.waypoints[1:]


def _none(goal):
    goal.waypoints = []


def _too_many(goal):
    goal.waypoints = goal.waypoints[:1] * (MOST + 1)


def _frame(goal):
    goal.header.frame_id = 'tabel'


def _group(goal):
    goal.group = 'panda_amr'


def _link(goal):
    goal.link = 'x' * 100_000


def _objective(goal):
    goal.objective = 99


def _tolerances(goal):
    goal.tolerances = [PathTolerance()] * 3


def _infinite_cone(goal):
    goal.tolerances = [PathTolerance(cone=math.inf)]


def _axis(goal):
    goal.tolerances = [PathTolerance(axis=Vector3(x=math.nan), spin=[-1.0, 1.0])]


def _clearance(goal):
    goal.clearance = 0.01


def _turn(goal):
    goal.largest_turn = math.nan


def _start(goal):
    goal.start = JointState(name=['panda_joint1'], position=[0.0])


def _lengths(goal):
    goal.start = JointState(name=['panda_joint1'])


def _locked(goal):
    goal.locked = ['panda_joint9']


def _five_joints(goal):
    goal.locked = ['panda_joint3', 'panda_joint5']


def _passes(goal):
    goal.passes = [4_000_000_000]


def _workpiece(goal):
    goal.workpiece = 'panda_link0'


WRONG = {
    _nan: 'Waypoint 7',
    _zero_quaternion: 'Waypoint 3',
    _one: 'waypoints',
    _none: 'waypoints',
    _too_many: 'tool_path_waypoints',
    _frame: 'tabel',
    _group: 'panda_arm',
    _link: 'link',
    _objective: 'JOINT_LENGTH',
    _tolerances: '3 tolerances for 30 waypoints',
    _infinite_cone: 'tolerance',
    _axis: 'axis',
    _clearance: 'avoid_collisions',
    _turn: 'largest_turn',
    _start: 'panda_joint2',
    _lengths: 'position',
    _locked: 'panda_joint1',
    _five_joints: 'spin',
    _passes: 'passes',
    _workpiece: 'panda_link0',
}


@pytest.mark.parametrize('change', WRONG, ids=lambda change: change.__name__)
def test_wrong_goals_end_with_the_reason(paths, change):
    status, result = paths.run(broken(change))
    assert status == ABORTED and not result.valid
    assert result.error_code.val not in (MoveItErrorCodes.SUCCESS, 0)
    assert WRONG[change] in result.reason, result.reason
    assert len(result.reason) < 2000
    assert not result.trajectory.points


def test_the_node_goes_on_after_wrong_goals(paths):
    status, result = paths.run(line_goal(5))
    assert status == SUCCEEDED and result.valid


def test_a_deadline_ends_a_plan(paths):
    goal = line_goal(MOST)
    goal.timeout.nanosec = 50_000_000
    status, result = paths.run(goal)
    assert status == ABORTED and result.cause == 'DEADLINE'
    assert 'budget of 0.05 s' in result.reason


def test_a_cancelled_goal_ends_soon(paths, record_figure):
    handle = paths.send(line_goal(MOST, tolerances=[PathTolerance(cone=0.3)]))
    paths.client.spin_until(lambda: paths.feedback, 'feedback', LONG)
    start = time.monotonic()
    cancelling = handle.cancel_goal_async()
    paths.client.spin_until(cancelling.done, 'cancellation', LONG)
    status, result = paths.result_of(handle)
    record_figure('cancelled goal, from request to result', time.monotonic() - start)
    assert status == CANCELED and not result.valid
    assert result.error_code.val == MoveItErrorCodes.PREEMPTED
    assert 'cancelled' in result.reason
    # A generous bound: the plan itself would take many times as long.
    assert time.monotonic() - start < 5.0
    assert paths.run(line_goal(5))[0] == SUCCEEDED


def test_a_goal_too_many_ends_with_the_reason(paths):
    first = paths.send(line_goal(MOST, tolerances=[PathTolerance(cone=0.3)]))
    paths.client.spin_until(lambda: paths.feedback, 'feedback', LONG)
    status, result = paths.run(line_goal(5))
    assert status == ABORTED and 'tool_path_goals' in result.reason
    first.cancel_goal_async()
    assert paths.result_of(first)[0] == CANCELED


@pytest.mark.slow
def test_a_million_waypoints_are_refused_and_nothing_is_lost(paths):
    goal = line_goal()
    goal.waypoints = goal.waypoints[:1] * 1_000_000
    status, result = paths.run(goal)
    assert status == ABORTED
    assert '1000000 waypoints; at most 3000' in result.reason
    assert paths.run(line_goal(5))[0] == SUCCEEDED
