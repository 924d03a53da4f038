"""The judge of late responses that soak and hostile messages share."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='no rclpy on this machine')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from campaigns.soak import overrun_faults, Overruns, OverrunWatch, total
from ssik_ros.ros.process.call_records import CallRecords
from ssik_ros.ros.process.diagnostics import ServiceDiagnostics

pytestmark = pytest.mark.ros


@pytest.fixture
def watch():
    callbacks = []
    node = SimpleNamespace(
        create_subscription=lambda kind, topic, take, qos: callbacks.append(take)
    )
    watch = OverrunWatch(node)
    return SimpleNamespace(take=callbacks.pop(), watch=watch)


def status(name, values):
    pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
    return DiagnosticStatus(name=f'/soak/ssik_ros: {name}', values=pairs)


def test_the_watch_reads_the_message_that_the_node_writes(watch):
    node = SimpleNamespace()
    records = CallRecords()
    for overrun in (0.05, 0.001, -0.002):
        records.calls.append((0.2, None, 'cause', overrun))
    (written,) = ServiceDiagnostics(node, 0.0, {'compute_ik': records}).statuses()
    other = status('controller', {'calls': '3'})
    watch.take(DiagnosticArray(status=[status(written.name, written.values), other]))
    assert watch.watch.latest == {'compute_ik': Overruns(3, 1)}
    assert total(watch.watch.latest) == Overruns(3, 1)


@pytest.mark.parametrize(
    ('ended', 'late', 'is_fault'),
    [(0, 0, False), (3, 1, False), (3, 2, True), (30_000, 300, False), (30_000, 301, True)],
)
def test_one_late_response_in_a_hundred_is_no_fault(ended, late, is_fault):
    faults = overrun_faults({'compute_ik': Overruns(ended, late)})
    assert bool(faults) == is_fault
    if is_fault:
        assert faults[0].startswith(f'compute_ik: {late} of {ended} responses')


def test_a_node_that_reports_nothing_is_a_fault():
    assert overrun_faults({}) == ['The node reported nothing on /diagnostics.']
