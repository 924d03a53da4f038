"""Which topic an input is heard on: the relative name where that has a publisher, else the absolute one."""

import time

from test.ros_units.bare_nodes import node_maker

import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ssik_ros.ros.inputs.input_topics import InputTopic

pytestmark = pytest.mark.ros

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPIC = 'robot_description'
WAIT = 20.0


class World:
    """Nodes in one domain, and everything that inputs have taken, by the name of the node that heard it."""

    def __init__(self, make):
        self._make = make
        self._executor = SingleThreadedExecutor(context=make().context)
        self._talker = self._add(make())
        self.nodes, self.taken, self.forgotten, self._publishers = {}, {}, [], []

    def _add(self, node):
        self._executor.add_node(node)
        return node

    def talk(self, topic, text):
        """Publish a text that later listeners get too; return the publisher."""
        publisher = self._talker.create_publisher(String, topic, LATCHED)
        publisher.publish(String(data=text))
        self._publishers.append(publisher)
        return publisher

    def listen(self, namespace, topic_parameter=None, **options):
        """Return an input of a node in a namespace."""
        node = self.nodes[namespace] = self._add(self._make(namespace=namespace, **options))
        if topic_parameter is not None:
            node.declare_parameter(f'{TOPIC}_topic', topic_parameter)
        taken = self.taken[namespace] = []
        return InputTopic(
            node,
            String,
            TOPIC,
            lambda message: taken.append(message.data),
            LATCHED,
            callback_group=MutuallyExclusiveCallbackGroup(),
            forget=lambda: self.forgotten.append(namespace),
        )

    def spin(self, condition=lambda: False, wait=WAIT):
        """Spin until a condition holds; return whether it does."""
        end = time.monotonic() + wait
        while not condition() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        return condition()

    def close(self):
        """Run nothing more."""
        self._executor.shutdown()


@pytest.fixture
def world():
    """Yield nodes that receive each other's messages, and no others."""
    with node_maker() as make:
        world = World(make)
        yield world
        world.close()


def test_two_robots_in_two_namespaces_are_heard_apart(world):
    world.talk('/left/robot_description', 'left robot')
    world.talk('/right/robot_description', 'right robot')
    world.talk('/robot_description', 'robot of nobody')
    left, right = world.listen('/left'), world.listen('/right')
    assert world.spin(lambda: all(world.taken.values()))
    world.spin(wait=2.0)
    assert world.taken == {'/left': ['left robot'], '/right': ['right robot']}
    assert (left.name, right.name) == ('/left/robot_description', '/right/robot_description')


def test_the_absolute_name_counts_where_the_relative_one_has_no_publisher(world, caplog):
    caplog.set_level('INFO', logger='ssik_ros')
    world.talk('/robot_description', 'robot')
    heard = world.listen('/ssik')
    assert heard.names == '/ssik/robot_description or /robot_description'
    assert world.spin(lambda: world.taken['/ssik'])
    assert world.taken['/ssik'] == ['robot'] and heard.name == '/robot_description'
    (line,) = caplog.messages
    assert '/robot_description' in line and 'No node publishes /ssik/robot_description' in line


def test_a_publisher_that_comes_later_on_the_relative_name_takes_over(world):
    first = world.talk('/robot_description', 'first')
    heard = world.listen('/ssik')
    assert world.spin(lambda: world.taken['/ssik'] == ['first'])
    world.forgotten.clear()
    world.talk('/ssik/robot_description', 'own')
    assert world.spin(lambda: world.taken['/ssik'] == ['first', 'own'])
    first.publish(String(data='first again'))
    world.spin(wait=1.0)
    assert world.taken['/ssik'] == ['first', 'own']
    assert world.forgotten == ['/ssik'] and heard.names == '/ssik/robot_description'


def test_a_remapping_decides_for_good(world):
    world.talk('/robot_description', 'robot of nobody')
    remapping = ['--ros-args', '-r', 'robot_description:=/cell/robot_description']
    heard = world.listen('/ssik', cli_args=remapping)
    world.spin(wait=2.0)
    assert heard.names == '/cell/robot_description' and not world.taken['/ssik']
    world.talk('/cell/robot_description', 'robot of the cell')
    assert world.spin(lambda: world.taken['/ssik'] == ['robot of the cell'])


@pytest.mark.slow
@pytest.mark.parametrize('given', ['robot_description', '/cell/robot_description'])
def test_a_parameter_decides_for_good(world, given):
    world.talk('/robot_description', 'robot of nobody')
    heard = world.listen('/ssik', given)
    world.spin(wait=2.0)
    assert not world.taken['/ssik']
    world.talk(heard.name, 'own')
    assert world.spin(lambda: world.taken['/ssik'] == ['own'])


def test_without_a_namespace_one_name_is_heard_at_once(world):
    world.talk('robot_description', 'robot')
    heard = world.listen('/')
    assert heard.names == '/robot_description'
    assert world.spin(lambda: world.taken['/'] == ['robot'])


def test_a_publisher_of_the_node_itself_is_not_counted(world):
    world.listen('/ssik')
    world.nodes['/ssik'].create_publisher(String, TOPIC, LATCHED)
    world.talk('/robot_description', 'robot')
    assert world.spin(lambda: world.taken['/ssik'] == ['robot'])
