"""MoveIt's codes for every response: the settled table, number by number."""

from types import SimpleNamespace

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

from moveit_msgs.msg import MoveItErrorCodes
import pytest

from ssik_ros.results import Cause
from ssik_ros.ros.services.moveit_services import MOVEIT_SERVICES
from ssik_ros.ros.services.status_codes import code_of, write_code
from ssik_ros.server.paths.path_requests import PathResponse
from ssik_ros.server.requests.ik_requests import FkResponse, FullState, IkResponse
from ssik_ros.server.requests.refusals import Refusal

pytestmark = pytest.mark.ros

IK = {
    Refusal.UNKNOWN_GROUP: -15,
    Refusal.BAD_STATE: -17,
    Refusal.GOAL_COUNT: -18,
    Refusal.UNKNOWN_FRAME: -21,
    Refusal.UNKNOWN_LINK: -31,
    Refusal.BAD_TARGET: -31,
    Refusal.NO_SOLVER: -31,
    Refusal.NO_COLLISION_CHECK: -22,
    Refusal.CONSTRAINTS: -16,
    Refusal.NOT_SEARCHABLE: -31,
    Refusal.BAD_TOLERANCE: -16,
    Refusal.BAD_STEP: 99999,
    Refusal.BAD_OPTION: -16,
    Refusal.FAULT: 99999,
    Refusal.BUSY: 99999,
}
PATH = {Refusal.NONE: 1}
"""Where compute_cartesian_path differs from compute_ik."""
FK = {Refusal.NONE: 1, Refusal.UNKNOWN_LINK: -18}
"""Where compute_fk differs from compute_ik."""


def response(refusal=Refusal.NONE, state=None, cause=Cause.NONE):
    return IkResponse(refusal, cause, 'text', state)


def code_of_fk(refusal):
    (row,) = (row for row in MOVEIT_SERVICES if row.name == 'compute_fk')
    return code_of(FkResponse(refusal, Cause.NONE, 'text'), row.unknown_link)


def test_the_table_is_complete():
    assert set(IK) | {Refusal.NONE} == set(Refusal)


@pytest.mark.parametrize('refusal', IK)
def test_a_refused_request_has_its_code(refusal):
    assert code_of(response(refusal)) == IK[refusal]
    assert code_of_fk(refusal) == FK.get(refusal, IK[refusal])


@pytest.mark.parametrize('refusal', Refusal)
def test_a_path_has_the_code_of_its_refusal(refusal):
    refused = PathResponse(refusal, Cause.NONE, 'text')
    assert code_of(refused) == (PATH | IK)[refusal]


def test_only_a_state_is_success():
    assert code_of(response(state=FullState(None, None))) == 1
    assert code_of_fk(Refusal.NONE) == 1


@pytest.mark.parametrize('cause', Cause)
def test_a_response_without_a_state_is_no_solution(cause):
    assert code_of(response(cause=cause)) == (-17 if cause is Cause.BAD_STATE else -31)


@pytest.mark.parametrize('cause', Cause)
def test_only_a_deadline_is_told_apart_and_only_on_demand(cause):
    expected = {Cause.DEADLINE: -6, Cause.BAD_STATE: -17}.get(cause, -31)
    assert code_of(response(cause=cause), report_timeout=True) == expected
    assert code_of(response(state=FullState(None, None)), report_timeout=True) == 1
    assert code_of(response(Refusal.UNKNOWN_GROUP, cause=cause), report_timeout=True) == (
        -17 if cause is Cause.BAD_STATE else -15
    )


def test_reason_and_source_are_written():
    message = MoveItErrorCodes()
    write_code(message, -31, 'Out of reach.')
    assert (message.val, message.message, message.source) == (-31, 'Out of reach.', 'ssik_ros')


def test_messages_with_the_number_alone_get_the_number():
    old = SimpleNamespace(val=0)
    write_code(old, -15, 'There is no group.')
    assert vars(old) == {'val': -15}
