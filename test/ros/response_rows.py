"""Rows of the returned state and of ``compute_fk`` (docs/reference/cases.md)."""

from test.ros.server_requests import (
    assert_solves,
    fk_request,
    ik_request,
    matrix_of_message,
    positions_of,
    set_state,
)
from test.ros.service_rows import Ask, FAR, FRAME, LINK, MOVING, NO_SOLUTION, rod, shifted, STATE

from moveit_msgs.msg import RobotState
import numpy as np

VIRTUAL = {'panda': ['virtual_joint'], 'fanuc': []}
"""Joints with several variables: the virtual one where it moves."""

# The returned state


def row_rs01_every_joint_with_one_variable_in_model_order(rows):
    def check(response):
        assert_solves(rows.arm, response, rows.pose)
        state = response.solution.joint_state
        assert tuple(state.name) == rows.arm.joints
        assert len(state.position) == len(state.name)
        assert len(state.velocity) == len(state.effort) == 0
        assert (state.header.stamp.sec, state.header.stamp.nanosec) == (0, 0)
        assert state.header.frame_id == rows.arm.model_frame
        assert response.solution.is_diff is False

    yield Ask('compute_ik', rows.ik(), check=check)


def row_rs02_joints_with_several_variables(rows):
    def check(response):
        multi = response.solution.multi_dof_joint_state
        assert list(multi.joint_names) == VIRTUAL[rows.arm.name]
        assert len(multi.transforms) == len(multi.joint_names)
        assert multi.header.frame_id == rows.arm.model_frame
        for transform in multi.transforms:
            assert (transform.translation.x, transform.rotation.w) == (0.0, 1.0)

    yield Ask('compute_ik', rows.ik(), check=check)


def row_rs03_joints_outside_the_group_stay_as_the_request_has_them(rows):
    request = rows.ik()
    asked = request.ik_request.robot_state
    if rows.arm.name == 'panda':
        set_state(asked, {**rows.posture, 'panda_finger_joint1': 0.021})
    asked.attached_collision_objects = [rod(rows.arm.tip)]

    def check(response):
        assert_solves(rows.arm, response, rows.pose)
        assert list(response.solution.attached_collision_objects) == []
        if rows.arm.name == 'panda':
            positions = positions_of(response)
            assert positions['panda_finger_joint1'] == positions['panda_finger_joint2'] == 0.021

    yield Ask('compute_ik', request, check=check)


def row_rs04_a_failure_has_an_empty_state(rows):
    def check(response):
        assert response.solution == RobotState()

    yield Ask('compute_ik', rows.ik(FAR), NO_SOLUTION, check=check)
    yield Ask('compute_ik', rows.ik(group_name='nobody'), -15, check=check)


def row_rs05_message_and_source_are_always_filled(rows):
    def check(response):
        assert response.error_code.message and response.error_code.source == 'ssik_ros'

    for request in (rows.ik(), rows.ik(FAR), rows.ik(group_name='')):
        code = {0: 1, 1: NO_SOLUTION, 2: -15}
        index = 0 if request.ik_request.group_name else 2
        index = 1 if request.ik_request.pose_stamped.pose.position.x == 9.0 else index
        yield Ask('compute_ik', request, code[index], check=check)
    yield Ask('compute_fk', fk_request([rows.arm.tip]), check=check)


# compute_fk


def poses_of(response):
    """Return the poses (4, 4) of a response by link."""
    return {
        link: matrix_of_message(stamped.pose)
        for link, stamped in zip(response.fk_link_names, response.pose_stamped, strict=True)
    }


def at(expected, frame):
    """Return a check of poses (4, 4) by link, and of their frame."""

    def check(response):
        poses = poses_of(response)
        assert list(poses) == list(expected)
        for link, pose in expected.items():
            assert np.allclose(poses[link], pose, atol=1e-9), link
        for stamped in response.pose_stamped:
            assert stamped.header.frame_id == frame
            assert stamped.header.stamp.sec > 0

    return check


def nothing(response):
    assert list(response.pose_stamped) == list(response.fk_link_names) == []


def row_fk01_no_link_comes_before_everything_else(rows):
    request = fk_request([], frame='nowhere', positions={'ghost': 1.0})
    yield Ask('compute_fk', request, LINK, ('empty',), nothing)


def row_fk02_poses_are_in_the_model_frame(rows):
    links = [rows.arm.tip, MOVING[rows.arm.name], rows.arm.base]
    expected = {link: rows.arm.pose(rows.posture, link) for link in links[:2]}
    expected[rows.arm.base] = np.eye(4)
    request = fk_request(links, positions=rows.posture)
    yield Ask('compute_fk', request, check=at(expected, rows.arm.model_frame))


def row_fk03_poses_are_transformed_where_a_frame_is_named(rows):
    # The frame is where the present robot has it, here at its default posture.
    arm = rows.arm
    pose = arm.pose(rows.posture)
    yield Ask(
        'compute_fk',
        fk_request([arm.tip], frame=arm.base, positions=rows.posture),
        check=at({arm.tip: pose}, arm.base),
    )
    frame = MOVING[arm.name]
    default = {n: 0.0 if lo <= 0.0 <= hi else 0.5 * (lo + hi) for n, lo, hi in _limits(arm)}
    expected = np.linalg.inv(arm.pose(default, frame)) @ pose
    yield Ask(
        'compute_fk',
        fk_request([arm.tip], frame=frame, positions=rows.posture),
        check=at({arm.tip: expected}, frame),
    )


def _limits(arm):
    chain = arm.chain()
    return zip(chain.names, chain.lower, chain.upper, strict=True)


def row_fk04_unknown_links_are_left_out_and_the_others_returned(rows):
    # The model frame is not a link, unless a link has its name.
    arm, pose = rows.arm, rows.arm.pose(rows.posture)
    request = fk_request(['thumb', arm.tip], positions=rows.posture)
    yield Ask('compute_fk', request, LINK, ('thumb',), at({arm.tip: pose}, arm.model_frame))
    request = fk_request(['thumb'], positions=rows.posture)
    yield Ask('compute_fk', request, LINK, ('thumb',), nothing)
    if arm.name == 'panda':
        request = fk_request(['world', arm.tip], positions=rows.posture)
        yield Ask('compute_fk', request, LINK, ('world',), at({arm.tip: pose}, arm.model_frame))


def row_fk05_a_failed_transform_outranks_an_unknown_link(rows):
    arm = rows.arm
    request = fk_request(['thumb', arm.tip], frame='nowhere', positions=rows.posture)
    pose = arm.pose(rows.posture)
    yield Ask('compute_fk', request, FRAME, ("'nowhere'",), at({arm.tip: pose}, arm.model_frame))


def row_fk06_what_is_attached_counts(rows):
    arm, tip = rows.arm, rows.arm.pose(rows.posture)
    request = fk_request(['rod', 'rod/tip', arm.tip], positions=rows.posture)
    request.robot_state.attached_collision_objects = [rod(arm.tip)]
    expected = {'rod': tip @ shifted(0.2), 'rod/tip': tip @ shifted(0.2, 0.1), arm.tip: tip}
    yield Ask('compute_fk', request, check=at(expected, arm.model_frame))
    request = fk_request(['rod'], positions=rows.posture)
    yield Ask('compute_fk', request, LINK, ('rod',), nothing)


def row_fk07_a_state_that_cannot_be_read(rows):
    arm = rows.arm
    yield Ask(
        'compute_fk', fk_request([arm.tip], positions={'ghost': 1.0}), STATE, ("'ghost'",), nothing
    )
    request = fk_request([arm.tip], positions={rows.joint: np.nan})
    yield Ask('compute_fk', request, STATE, (rows.joint,), nothing)
    request = fk_request([arm.tip], positions=rows.posture)
    request.robot_state.joint_state.position = [1.0]
    yield Ask('compute_fk', request, STATE, ('gives 1 position',), nothing)
    good = ik_request(arm, rows.pose, seed=rows.posture)
    yield Ask('compute_ik', good, check=lambda response: assert_solves(arm, response, rows.pose))
