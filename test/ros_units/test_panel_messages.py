"""Messages of the panel: requests as the node reads them, and responses of nodes that nobody should trust."""

import numpy as np
import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from moveit_msgs.srv import GetPositionFK
from sensor_msgs.msg import JointState
from ssik_msgs.msg import GroupKinematics, IkBranch
from ssik_msgs.srv import Describe, ExplainIk, SolveAll, SolveGoals
from visualization_msgs.msg import InteractiveMarker
from visualization_msgs.srv import GetInteractiveMarkers

from ssik_ros.errors import SolverError
from ssik_ros.results import Cause
from ssik_ros.ros.conversions.messages import read_framed_pose
from ssik_ros.ros.panel import panel_messages as messages
from ssik_ros.server.requests.ik_requests import FramedPose
from ssik_ros.view.node_services import GroupOption, PoseQuery, Posture, ServiceFailure
from ssik_ros.view.pose_text import read_pose

pytestmark = pytest.mark.ros

OK = MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS)
QUERY = PoseQuery('arm', 'tool', FramedPose('base', read_pose('1 2 3 0.1 0.2 0.3')), True, True)
BAD = [[np.nan, 0.0], [np.inf, 0.0], [1e200, 0.0], [0.0], [0.0, 0.0, 0.0]]
NOWHERE = PoseStamped(pose=Pose(orientation=Quaternion(w=0.0)))


def failure(text='', number=MoveItErrorCodes.NO_IK_SOLUTION):
    code = MoveItErrorCodes(val=number)
    if hasattr(code, 'message'):
        code.message = text
    return code


def test_requests_hold_the_whole_query():
    requests = messages.write_solve_all(QUERY), messages.write_explain(QUERY)
    for request in requests:
        assert (request.group, request.link, request.avoid_collisions) == ('arm', 'tool', True)
        pose = read_framed_pose(request.pose_stamped)
        assert pose.frame == 'base' and np.allclose(pose.pose, QUERY.target.pose)
    assert requests[0].enumerate_windings and requests[0].max_solutions == messages.MOST_BRANCHES


def test_a_position_goal_frees_the_orientation_alone():
    request = messages.write_position_goal(QUERY, ['torso'])
    (goal,) = request.goals
    assert goal.link == 'tool' and goal.free_dof == ['EX', 'EY', 'EZ']
    assert request.locked_joints == ['torso'] and request.max_restarts > 0
    assert np.allclose(read_framed_pose(goal.pose_stamped).pose, QUERY.target.pose)


def test_forward_kinematics_changes_the_named_joints_alone():
    request = messages.write_forward('tool', Posture(('a', 'b'), np.array([1.0, 2.0])))
    state = request.robot_state
    assert request.fk_link_names == ['tool'] and state.is_diff
    assert state.joint_state.name == ['a', 'b'] and list(state.joint_state.position) == [1, 2]


def test_a_node_is_read_with_its_groups():
    group = GroupKinematics(
        name='arm', solver='s', base_frame='base', tip_frames=['tool'], joint_names=['a']
    )
    none = GroupKinematics(name='hand', reason='no chain')
    summary = messages.read_summary(
        Describe.Response(success=True, robot='r', groups=[group, none])
    )
    assert summary.robot == 'r' and summary.groups[0] == GroupOption(
        'arm', 'base', ('tool',), ('a',)
    )
    assert summary.groups[1].problem == 'no chain'
    refused = messages.read_summary(Describe.Response(message='no robot yet'))
    assert refused == ServiceFailure('no robot yet')


def branches(*positions, code=OK):
    rows = [IkBranch(positions=row, label='elbow +', distance=1.0) for row in positions]
    return SolveAll.Response(error_code=code, joint_names=['a', 'b'], branches=rows)


def test_branches_are_read_in_their_order():
    response = messages.read_branches(branches([0.1, 0.2], [0.3, 0.4]))
    assert response.outcome.solved and response.joint_names == ('a', 'b')
    assert [branch.positions.tolist() for branch in response.branches] == [[0.1, 0.2], [0.3, 0.4]]


@pytest.mark.parametrize('numbers', BAD)
def test_branches_with_wrong_numbers_are_refused(numbers):
    with pytest.raises(SolverError, match='wrong numbers'):
        messages.read_branches(branches([0.1, 0.2], numbers))


def test_more_branches_than_requested_are_not_read():
    response = messages.read_branches(branches(*[[0.0, 0.0]] * (messages.MOST_BRANCHES + 5)))
    assert len(response.branches) == messages.MOST_BRANCHES


def test_a_failure_has_a_cause_or_a_text():
    text = 'No solution: the joint limits keep the target out of reach (move it).'
    outcome = messages.read_branches(branches(code=failure(text))).outcome
    if hasattr(OK, 'message'):
        assert (outcome.solved, outcome.cause, outcome.text) == (False, Cause.LIMITS, text)
    refused = failure(number=MoveItErrorCodes.INVALID_GROUP_NAME)
    outcome = messages.read_branches(branches([0.1, 0.2], code=refused)).outcome
    assert not outcome.solved and outcome.text == 'The node refuses: code -15.'
    assert messages.read_branches(branches(code=failure())).outcome.text == 'No solution.'


def explanation(nearest=(), cause='LIMITS', **fields):
    return ExplainIk.Response(
        error_code=failure(), cause=cause, joint_names=['a', 'b'], nearest=nearest, **fields
    )


def test_an_explanation_keeps_cause_nearest_posture_and_advice():
    reason = messages.read_explanation(explanation([0.1, 0.2], distance=0.3, advice=['Turn it.']))
    assert (reason.solved, reason.cause, reason.distance) == (False, Cause.LIMITS, 0.3)
    assert reason.nearest.tolist() == [0.1, 0.2] and reason.advice == ('Turn it.',)
    assert messages.read_explanation(explanation()).nearest is None


def test_an_unreason_is_no_error():
    assert messages.read_explanation(explanation(cause='MOON')).cause in Cause


@pytest.mark.parametrize('numbers', BAD)
def test_a_nearest_posture_of_wrong_numbers_is_refused(numbers):
    with pytest.raises(SolverError):
        messages.read_explanation(explanation(numbers))


def test_long_texts_are_cut():
    reason = messages.read_explanation(explanation(advice=['x' * 10_000] * 1000))
    assert len(reason.advice) == messages.MOST_GROUPS
    assert len(reason.advice[0]) == messages.MOST_TEXT


def test_a_reached_posture_has_the_joints_of_the_group():
    joints = JointState(name=['b', 'other', 'a'], position=[2.0, 9.0, 1.0])
    response = SolveGoals.Response(error_code=OK, state=RobotState(joint_state=joints))
    assert messages.read_reached(response, ('a', 'b')).positions.tolist() == [1.0, 2.0]
    with pytest.raises(SolverError):
        messages.read_reached(response, ('a', 'missing'))
    failed = SolveGoals.Response(error_code=failure())
    assert 'any orientation' in messages.read_reached(failed, ('a',)).text


def test_a_pose_that_is_no_pose_is_refused():
    with pytest.raises(SolverError):
        messages.read_forward(GetPositionFK.Response(error_code=OK, pose_stamped=[NOWHERE]))
    here = PoseStamped(pose=Pose(orientation=Quaternion(w=1.0)))
    for code, poses in ((OK, []), (failure(), [here])):
        response = GetPositionFK.Response(error_code=code, pose_stamped=poses)
        assert isinstance(messages.read_forward(response), ServiceFailure)


def test_the_marker_of_the_link_is_read():
    pose = Pose(position=Point(x=1.0), orientation=Quaternion(w=1.0))
    marker = InteractiveMarker(name='tool', pose=pose)
    marker.header.frame_id = 'world'
    response = GetInteractiveMarkers.Response(markers=[InteractiveMarker(name='x'), marker])
    target = messages.read_marker(response, 'tool')
    assert target.frame == 'world' and target.pose[0, 3] == 1.0
    assert 'interactive_group' in messages.read_marker(response, 'hand').text
