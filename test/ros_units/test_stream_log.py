"""Log messages for changes of a stream's status."""

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

import pytest

from ssik_ros.ros.streams.stream_node import describe_step
from ssik_ros.server.tasks.task_set_stream import StreamCause, StreamStep
from ssik_ros.solvers.search.newton.tracker import TrackStatus

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('status', 'cause', 'text', 'line'),
    [
        (TrackStatus.OK, StreamCause.NONE, '', 'OK'),
        (TrackStatus.HELD, StreamCause.STALE, 'Too old.', 'HELD STALE: Too old.'),
    ],
)
def test_a_status_without_a_cause_is_told_without_one(status, cause, text, line):
    assert describe_step(StreamStep(status, cause, text, None, None, False)) == line
