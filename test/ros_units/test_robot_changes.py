"""A robot description that comes while requests run."""

import gc
import time
import weakref

from test.ros_domain import claimed_domain
from test.ros_units.bare_nodes import Parameter

import pytest
from rclpy.context import Context
from std_msgs.msg import String

from ssik_ros.errors import SsikError
from ssik_ros.ros import node as ik_server
from ssik_ros.ros.node import IkServer

pytestmark = pytest.mark.ros

URDF = """<robot name="{name}"><link name="base"/><link name="tip"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
WAIT = 60.0


def wait_until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def hear():
    """Return a function that gives a text to a node as its robot description; the node serves a robot already."""
    context, ends = Context(), {'base_link': 'base', 'tip_link': 'tip'}
    with claimed_domain() as domain:
        context.init(domain_id=domain)
        node = IkServer(
            context=context,
            parameter_overrides=[Parameter(name, value=value) for name, value in ends.items()],
            use_global_arguments=False,
            enable_rosout=False,
        )
        try:
            node.start()
            topics = {topic.topic_name: topic.callback for topic in node.subscriptions}

            def hear(text):
                topics['/robot_description'](String(data=text))

            hear(URDF.format(name='first'))
            wait_until(lambda: any(s.srv_name.endswith('compute_ik') for s in node.services))
            yield hear
        finally:
            node.stop()
            node.destroy_node()
            context.try_shutdown()


def test_only_a_robot_that_is_replaced_is_searched_for_among_all_objects(hear, monkeypatch):
    # A search of all objects holds every other thread; descriptions may be wrong many times a second.
    collected = []
    monkeypatch.setattr(gc, 'collect', collected.append)
    hear('<robot')
    wait_until(lambda: collected)
    hear(URDF.format(name='second'))
    wait_until(lambda: len(collected) > 1)
    assert collected == [0, 2] and gc.isenabled()


def test_a_robot_that_failed_leaves_nothing_behind(hear, monkeypatch):
    class Cycle:
        """An object that only the collector of garbage removes."""

    cycles = []

    def fail(robot, *given, **named):
        cycle = Cycle()
        cycle.robot, cycle.itself = robot, cycle
        cycles.append(weakref.ref(cycle))
        raise SsikError('The robot has no links.')

    monkeypatch.setattr(ik_server, 'choose_groups', fail)
    # Only the node decides when the collector runs.
    monkeypatch.setattr(gc, 'enable', lambda: None)
    try:
        hear(URDF.format(name='second'))
        wait_until(lambda: cycles and cycles[0]() is None)
    finally:
        monkeypatch.undo()
        gc.enable()
