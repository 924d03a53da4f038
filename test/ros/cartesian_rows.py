"""Rows of ``compute_cartesian_path`` (docs/reference/cases.md)."""

import itertools

from test.ros.server_requests import message_of, set_state
from test.ros.service_rows import (
    FAILURE,
    FAR,
    FRAME,
    GROUP,
    MOVING,
    NO_SOLUTION,
    RIGID,
    rod,
    shifted,
    STATE,
)

from geometry_msgs.msg import Pose
from moveit_msgs.msg import RobotTrajectory
import numpy as np
from scipy.spatial.transform import Rotation
import yaml

REACHED = 1e-4
"""How near to its line a link is at the points of a path [m, and of each component]."""


def points_of(response):
    """Return the positions (k, n) of a path."""
    return np.array([p.positions for p in response.solution.joint_trajectory.points])


def times_of(response):
    """Return the times (k,) of a path [s]."""
    points = response.solution.joint_trajectory.points
    return np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])


def poses_of(rows, response, link=''):
    """Return the poses (4, 4) of a link at the points of a path."""
    return [rows.arm.pose(dict(zip(rows.posture, q)), link) for q in points_of(response)]


def empty(response):
    assert response.fraction == 0.0 and response.solution == RobotTrajectory()


def ends_at(rows, pose, link=''):
    """Return a check: the whole path is followed and ends at a pose."""

    def check(response):
        assert response.fraction == 1.0, response.error_code.message
        assert np.allclose(poses_of(rows, response, link)[-1], pose, atol=REACHED)

    return check


def row_cp01_the_order_of_checks(rows):
    """State, group, frames, step, waypoints."""
    here = rows.pose
    ghost = rows.path(here, group_name='nobody')
    set_state(ghost.start_state, {'ghost': 1.0})
    yield rows.follow(code=STATE, parts=("'ghost'",), check=empty)._replace(request=ghost)
    wrong = {'max_step': 0.0}
    lost = rows.path(group_name='nobody', **wrong)
    lost.header.frame_id = 'nowhere'
    yield rows.follow(code=GROUP, parts=("'nobody'",), check=empty)._replace(request=lost)
    lost = rows.path(**wrong)
    lost.header.frame_id = 'nowhere'
    yield rows.follow(code=FRAME, parts=("'nowhere'",), check=empty)._replace(request=lost)
    for step in (0.0, -0.1, np.nan, 1e-17):
        yield rows.follow(code=FAILURE, parts=('max_step',), check=empty, max_step=step)
    yield rows.follow(parts=('no waypoint',), check=empty)


def row_cp02_frames_of_waypoints(rows):
    # The base, no frame, a link of the present robot, and the led link itself: relative.
    end = rows.moved(0.0, 0.03, 0.0)
    yield rows.follow(end, check=ends_at(rows, end))
    bare = rows.path(end)
    bare.header.frame_id = ''
    yield rows.follow(check=ends_at(rows, end))._replace(request=bare)
    step = shifted(-0.02)
    relative = rows.path(step, step, link_name=rows.arm.tip)
    relative.header.frame_id = rows.arm.tip
    yield rows.follow(check=ends_at(rows, rows.pose @ step @ step))._replace(request=relative)


def row_cp03_the_link_that_is_led(rows):
    # The tip if the request names no link; a rigid link; a link of the tip's object; unknown links are refused.
    end = rows.arm.pose(rows.posture, RIGID[rows.arm.name])
    end[2, 3] -= 0.03
    name = RIGID[rows.arm.name]
    yield rows.follow(end, check=ends_at(rows, end, name), link_name=name)
    yield rows.follow(end, code=NO_SOLUTION, parts=("'thumb'",), check=empty, link_name='thumb')
    yield rows.follow(
        end,
        code=NO_SOLUTION,
        parts=('not rigidly',),
        check=empty,
        link_name=MOVING[rows.arm.name],
    )
    end = rows.moved(0.0, 0.0, -0.03)
    held = rows.path(end @ shifted(0.2), link_name='rod')
    held.start_state.attached_collision_objects = [rod(rows.arm.tip)]
    yield rows.follow(check=ends_at(rows, end))._replace(request=held)


def row_cp04_the_number_of_steps(rows):
    """max(floor(distance / step), floor(angle / (3.5 step))) + 1."""

    def has(count):
        def check(response):
            assert response.fraction == 1.0
            assert len(points_of(response)) == count + 1

        return check

    yield rows.follow(rows.moved(0.0, 0.055, 0.0), check=has(6), max_step=0.01)
    turned = rows.moved(0.0, 0.0, 0.0, turn=(0.0, 0.0, 0.2))
    yield rows.follow(turned, check=has(6), max_step=0.01)


def row_cp05_halfway_between_points_the_link_is_on_its_line(rows):
    end = rows.moved(0.05, 0.1, -0.05)

    def check(response):
        assert response.fraction == 1.0
        poses = poses_of(rows, response)
        points = points_of(response)
        for (a, b), (p, q) in zip(itertools.pairwise(poses), itertools.pairwise(points)):
            middle = rows.arm.pose(dict(zip(rows.posture, 0.5 * (p + q))))
            assert np.linalg.norm(middle[:3, 3] - 0.5 * (a[:3, 3] + b[:3, 3])) <= 1e-3
            turn = Rotation.from_matrix(middle[:3, :3].T @ a[:3, :3]).magnitude()
            assert turn <= 1e-2
        line = end[:3, 3] - rows.pose[:3, 3]
        for pose in poses:
            off = pose[:3, 3] - rows.pose[:3, 3]
            assert np.linalg.norm(np.cross(off, line)) / np.linalg.norm(line) < REACHED

    yield rows.follow(end, check=check, max_step=0.05)


def row_cp06_fraction_and_where_the_path_ends(rows):
    """Whole lines, and part of the last one, over all: 1 m is left of a line that ends 9 m away."""

    def half(response):
        assert 0.5 < response.fraction < 1.0
        assert len(points_of(response)) > 2

    near = rows.moved(0.0, 0.0, -0.02)
    yield rows.follow(near, FAR, check=half, parts=('waypoint 1',))

    def first(response):
        assert 0.0 < response.fraction < 0.5

    yield rows.follow(FAR, near, check=first, parts=('waypoint 0',))


def row_cp07_the_jump_threshold_counts(rows):
    # A threshold in (0, 1] ends the path, not the node; a wide one ends nothing.

    def short(response):
        assert response.fraction < 1.0

    end = rows.moved(0.0, 0.1, 0.0)
    yield rows.follow(end, check=short, parts=('times as long',), jump_threshold=0.5)
    yield rows.follow(end, check=ends_at(rows, end), jump_threshold=5.0)
    yield rows.follow(
        end, code=NO_SOLUTION, parts=('jump_threshold',), check=empty, jump_threshold=-1.0
    )


def row_cp08_thresholds_for_turning_joints_count(rows):
    """No step is longer than asked: shorter ones come, or the path ends."""
    end = rows.moved(0.0, 0.1, 0.0)

    def bounded(response):
        steps = np.abs(np.diff(points_of(response), axis=0))
        assert steps.max() <= 0.01 + 1e-12
        assert response.fraction > 0.0

    yield rows.follow(end, check=bounded, max_step=0.05, revolute_jump_threshold=0.01)


def row_cp09_the_speed_of_a_link_is_limited(rows):
    end = rows.moved(0.0, 0.1, 0.0)

    def slow(response):
        assert response.fraction == 1.0
        places = np.array([pose[:3, 3] for pose in poses_of(rows, response)])
        speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / np.diff(times_of(response))
        assert speeds.max() <= 0.02 * (1.0 + 1e-6)
        assert times_of(response)[-1] >= 5.0

    yield rows.follow(end, check=slow, max_cartesian_speed=0.02)
    slow_link = {'max_cartesian_speed': 0.02, 'cartesian_speed_limited_link': 'thumb'}
    yield rows.follow(end, code=NO_SOLUTION, parts=("'thumb'",), check=empty, **slow_link)


def limits_of(arm):
    """Return velocities and accelerations (n) of the file, read plainly."""
    entries = yaml.safe_load(arm.file('joint_limits.yaml').read_text())['joint_limits']
    rows = [entries[name] for name in arm.chain().names]
    velocities = [row['max_velocity'] for row in rows]
    accelerations = [row.get('max_acceleration') or 1.0 for row in rows]
    return np.array(velocities), np.array(accelerations)


def row_cp10_times_keep_the_limits_of_the_robot(rows):
    """Velocities and accelerations of joint_limits.yaml, scaled as asked."""

    def keeps(scale):
        def check(response):
            velocities, accelerations = limits_of(rows.arm)
            trajectory = response.solution.joint_trajectory
            times = times_of(response)
            assert times[0] == 0.0 and (np.diff(times) > 0.0).all()
            steps = np.diff(points_of(response), axis=0) / np.diff(times)[:, None]
            assert (np.abs(steps) <= scale * velocities * (1.0 + 1e-6)).all()
            speeds = np.array([p.velocities for p in trajectory.points])
            changes = np.diff(speeds, axis=0) / np.diff(times)[:, None]
            assert (np.abs(changes) <= scale * accelerations * (1.0 + 1e-3)).all()
            assert not speeds[0].any() and not speeds[-1].any()

        return check

    end = rows.moved(0.0, 0.2, -0.1)
    yield rows.follow(end, check=keeps(1.0))
    half = {'max_velocity_scaling_factor': 0.5, 'max_acceleration_scaling_factor': 0.5}
    yield rows.follow(end, check=keeps(0.5), **half)


def row_cp11_the_start_is_the_whole_state(rows):
    def check(response):
        state = response.start_state.joint_state
        assert tuple(state.name) == rows.arm.joints
        positions = dict(zip(state.name, state.position, strict=True))
        assert {name: positions[name] for name in rows.posture} == rows.posture
        assert [held.object.id for held in response.start_state.attached_collision_objects] == [
            'rod'
        ]
        assert np.array_equal(points_of(response)[0], list(rows.posture.values()))
        assert list(response.solution.joint_trajectory.joint_names) == list(rows.posture)

    request = rows.path(rows.moved(0.0, 0.0, -0.02))
    request.start_state.attached_collision_objects = [rod(rows.arm.tip)]
    yield rows.follow(check=check)._replace(request=request)


def row_cp13_a_waypoint_that_is_none(rows):
    for value in (np.nan, np.inf, 1e300):
        bad = message_of(rows.pose)
        bad.position.x = value
        request = rows.path(waypoints=[bad])
        part = 'beyond' if value == 1e300 else 'no finite'
        response = rows.follow(code=NO_SOLUTION, parts=(part,), check=empty)
        yield response._replace(request=request)
    zero = Pose()
    zero.orientation.w = 0.0
    request = rows.path(waypoints=[zero])
    response = rows.follow(code=NO_SOLUTION, parts=('quaternion has a length below',), check=empty)
    yield response._replace(request=request)
