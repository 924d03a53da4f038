"""Requests of this package's services: every field of a message reaches the request."""

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from ssik_msgs.srv import (
    CompleteState,
    ExplainIk,
    FindConfigs,
    FindStep,
    GeneratePath,
    HandleTaskSets,
    SelfMotions,
    SolveAll,
    SolveBatch,
    SolveGoals,
)

from ssik_ros.ros.services.loop_services import LOOP_SERVICES
from ssik_ros.ros.services.own_services import GROUP_SERVICES
from ssik_ros.ros.services.task_set_services import SERVICES

pytestmark = pytest.mark.ros

ROWS = {service.kind: service for service in (*GROUP_SERVICES, *LOOP_SERVICES, *SERVICES)}
VALUES = {
    'boolean': True,
    'string': 'a_name',
    'double': 0.5,
    'uint32': 7,
    'int32': 3,
    'sequence<string>': ['a', 'b'],
}
NUMBERS = {'sequence<double>'}
"""Types of plain fields that the tests of each service fill with vectors of the right length."""
NESTED = {'find_multiple', 'find_alternates', 'max_configs', 'max_samples', 'seed', 'max_dist'}
"""Fields of ``~/find_configs`` that are options of the search."""


@pytest.mark.parametrize(
    'kind',
    [
        *(CompleteState, ExplainIk, FindConfigs, FindStep, GeneratePath, HandleTaskSets),
        *(SelfMotions, SolveAll, SolveBatch, SolveGoals),
    ],
)
def test_plain_fields_keep_name_and_value_or_stand_in_a_part(kind):
    """Write a value other than the default into each plain field; the request shows it."""
    for name, type_ in kind.Request.get_fields_and_field_types().items():
        if type_ not in VALUES:
            assert '/' in type_ or type_ in NUMBERS, f'a plain field of a new type: {name}'
            continue
        message = kind.Request()
        setattr(message, name, VALUES[type_])
        read = ROWS[kind].read
        assert repr(read(message)) != repr(read(kind.Request())), name
        if hasattr(read(message), name) and not (kind is FindConfigs and name in NESTED):
            assert getattr(read(message), name) == VALUES[type_]


def test_conversions_have_their_own_names_and_types():
    """The frame, the pose, the state and the time of a message become fields of the request."""
    message = SolveAll.Request(group='arm', link='tool', max_solutions=3, tolerance=0.25)
    message.pose_stamped.header.frame_id = 'table'
    message.timeout.sec, message.timeout.nanosec = 1, 500_000_000
    message.robot_state.joint_state.name = ['a']
    request = ROWS[SolveAll].read(message)
    assert (request.group, request.links, request.timeout) == ('arm', ('tool',), 1.5)
    assert request.poses[0].frame == 'table'
    assert list(request.state.names) == ['a']
    assert request.branches == (3, False, 0.25)
