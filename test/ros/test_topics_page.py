"""docs/reference/topics.md, the overrides for bags and the RViz configuration agree with the endpoints of the nodes."""

import ast
import re
import sys
import time

from test.made_nodes import node_maker, Parameter
from test.repository import ROOT

import pytest
import yaml

pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from test.ros_domain import claimed_domain

from rclpy.context import Context
from rclpy.node import Node

from ssik_ros.ros.node import IkServer
from ssik_ros.ros.panel.node_client import NodeClient
from ssik_ros.ros.services.reach_services import ReachOverRos
from ssik_ros.ros.streams.joint_state_relay import JointStateRelay
from ssik_ros.ros.streams.ros_scene import RosScene
from ssik_ros.ros.streams.stream_node import StreamNode
from ssik_ros.ros.view.view_node import ViewNode

PAGE = ROOT / 'docs/reference/topics.md'
NAMES = {'ik_server': 'ssik_ros', 'RosScene in Python': ''}
"""Default names of the nodes whose sections have another title."""
OF_RCLPY = {'/parameter_events', '/rosout', '/clock'}
WAIT = 60.0


def table_rows():
    """Return the rows of the page by section: topic, type, way, reliability, durability and depth."""
    sections = {}
    for part in PAGE.read_text().split('\n## ')[1:]:
        title, _, text = part.partition('\n')
        rows = re.findall(
            r'^\| `(\S+)` \| `(\S+)` \| (\w+) \| ([\w ]+) \| ([\w ]+) \| (\d+) \|', text, re.M
        )
        if rows:
            sections[title] = set(rows)
    return sections


def described(end, direction, name):
    """Return an endpoint as a row of the page has it."""
    kind, qos = end.msg_type, end.qos_profile
    topic = end.topic_name
    if topic.startswith(f'/{name}/'):
        topic = '~' + topic.removeprefix(f'/{name}')
    topic = re.sub(r'^~/target/.*', '~/target/<frame>', topic)
    if not topic.startswith(('~', '/tf', '/diagnostics')):
        topic = topic.removeprefix('/')
    type_name = f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
    words = (
        getattr(qos, word).name.lower().replace('_', ' ') for word in ('reliability', 'durability')
    )
    return (topic, type_name, direction, *words, str(qos.depth))


class Endpoints:
    """The publishers and subscriptions of nodes, and the functions that made them."""

    def __init__(self, monkeypatch):
        self.makers, self.rows = set(), set()
        for method in ('create_publisher', 'create_subscription'):
            monkeypatch.setattr(Node, method, self._recorded(getattr(Node, method)))

    def _recorded(self, make):
        def record(node, *arguments, **options):
            frame = sys._getframe(1)
            self.makers.add(
                (frame.f_code.co_filename.rpartition('ssik_ros/ros/')[2], frame.f_code.co_name)
            )
            return make(node, *arguments, **options)

        return record

    def take(self, node):
        """Note the endpoints of a node."""
        for direction, ends in (('out', node.publishers), ('in', node.subscriptions)):
            for end in ends:
                if end.topic_name not in OF_RCLPY:
                    self.rows.add(described(end, direction, node.get_name()))

    def pop(self):
        """Return the rows noted since the last call."""
        rows, self.rows = self.rows, set()
        return rows


@pytest.fixture(scope='module')
def endpoints():
    """Return the rows of each section as the nodes have them, and the functions that made an endpoint."""
    pytest.importorskip('viser', reason='needs the extra view: pip install viser')
    sections = {}
    with pytest.MonkeyPatch.context() as patch, claimed_domain() as domain:
        ends, context = Endpoints(patch), Context()
        context.init(domain_id=domain)

        def run(kind, topic='', **values):
            """Start a node, wait for an endpoint that needs a robot, and note all."""
            overrides = [Parameter(name, value=value) for name, value in values.items()]
            options = {'use_global_arguments': False, 'enable_rosout': False}
            node = kind(context=context, parameter_overrides=overrides, **options)
            node.start()
            end = time.monotonic() + WAIT
            while not any(topic in e.topic_name for e in (*node.publishers, *node.subscriptions)):
                assert time.monotonic() < end, f'no {topic} after {WAIT} s'
                time.sleep(0.05)
            if kind is IkServer:
                # The topic of a reach map is there with a map.
                ReachOverRos(node, '', '')
            ends.take(node)
            node.stop()
            node.destroy_node()

        try:
            panda = {'moveit_config_package': 'panda'}
            run(IkServer, 'goal_joint_states', **panda, interactive_group='panda_arm')
            run(IkServer, 'robot_description_semantic')
            sections['ik_server'] = ends.pop()
            tasks = {'task_sets_file': 'panda', 'task_sets': 'arm', 'overlay_rate': 10.0}
            run(StreamNode, 'joint_command', **panda, **tasks, output='joint_state')
            run(StreamNode, 'joint_trajectory', **panda, **tasks, output='trajectory')
            run(StreamNode, 'robot_description', **tasks)
            sections['ik_stream'] = ends.pop()
            run(JointStateRelay, 'robot_description')
            sections['joint_state_relay'] = ends.pop()
            run(ViewNode, 'tf_static', **panda, port=0)
            sections['ik_view'] = ends.pop()
            with node_maker() as make:
                node = make()
                RosScene(node)
                ends.take(node)
                sections['RosScene in Python'] = ends.pop()
                node = make()
                panel = NodeClient(node, print, take_robot=print, move_marker=print)
                panel.use('/ssik_ros')
                ends.take(node)
                panel.close()
                sections['Panel of rqt'] = ends.pop()
        finally:
            context.try_shutdown()
    return sections, ends.makers


def test_the_page_lists_the_endpoints_of_each_node(endpoints):
    sections, _ = endpoints
    expected = table_rows()
    assert sections.keys() == expected.keys()
    for name, rows in sections.items():
        assert rows == expected[name], name


def test_no_module_makes_an_endpoint_that_the_nodes_above_do_not_show(endpoints):
    _, makers = endpoints
    calls = set()
    for path in sorted((ROOT / 'ssik_ros/ros').rglob('*.py')):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                names = {
                    getattr(call.func, 'attr', '')
                    for call in ast.walk(function)
                    if isinstance(call, ast.Call)
                }
                if names & {'create_publisher', 'create_subscription'}:
                    calls.add((str(path.relative_to(ROOT / 'ssik_ros/ros')), function.name))
    assert calls - makers == {('view/goal_sender.py', '__init__')}


def latched():
    """Return the transient local topics by their names in a graph without namespaces, with their depths."""
    return {
        topic.replace('~', f'/{NAMES.get(section, section)}')
        if '~' in topic
        else '/' + topic.lstrip('/'): int(depth)
        for section, rows in table_rows().items()
        for topic, _, _, _, durability, depth in rows
        if durability == 'transient local'
    }


def test_the_overrides_for_bags_name_all_transient_local_topics():
    text = (ROOT / 'config/rosbag/qos_overrides.yaml').read_text()
    content = yaml.safe_load(text)
    common = {'history': 'keep_last', 'reliability': 'reliable', 'durability': 'transient_local'}
    assert content == {topic: {**common, 'depth': depth} for topic, depth in latched().items()}


def test_rviz_asks_for_the_quality_that_the_nodes_offer():
    displays = yaml.safe_load((ROOT / 'config/rviz/ssik_ros.rviz').read_text())[
        'Visualization Manager'
    ]['Displays']
    topics = {
        d['Topic']['Value']: d['Topic']['Durability Policy'] for d in displays if 'Topic' in d
    }
    offered = {
        topic.replace('~', f'/{NAMES.get(section, section)}'): durability.title()
        for section, rows in table_rows().items()
        for topic, kind, direction, _, durability, _ in rows
        if direction == 'out'
        and topic.startswith('~')
        and kind.endswith(('MarkerArray', 'PointCloud2'))
    }
    assert topics == offered
