"""Where the robot comes from: parameter before file before package before topic; late and replaced descriptions."""

from pathlib import Path
import time
from types import SimpleNamespace

from test.ros_units.bare_nodes import config_of, node_maker, NodeDouble

import pytest
from rclpy.clock import ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ssik_ros.errors import DescriptionNotFound, InvalidParameter, SsikError
from ssik_ros.ros.inputs.robot_source import LIMITS_PREFIX, nested_overrides, RobotSource

pytestmark = pytest.mark.ros

PANDA = str(config_of('panda').parent)
URDF, SRDF = 'robot_description', 'robot_description_semantic'
NO_PARAMETERS = {
    'robot_description': '',
    'robot_description_semantic': '',
    'robot_description_file': '',
    'semantic_file': '',
    'moveit_config_package': '',
    'robot_name': '',
    'xacro_args': '',
    'kinematics_file': '',
    'joint_limits_file': '',
    'tip_link': '',
    'semantic_timeout': 2.0,
    'max_robot_joints': 2000,
}


def made(name='made', size=1):
    """Return the text of a robot and the text of its semantic description."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(size + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(size)
    )
    srdf = (
        f'<robot name="{name}"><group name="arm"><chain base_link="l0" tip_link="l{size}"/></group>'
        '</robot>'
    )
    return f'<robot name="{name}">{links}{joints}</robot>', srdf


TEXT, SEMANTIC = made()
OTHER, OTHER_SEMANTIC = made('other', 2)


class Source:
    """A source on the double of a node, and the descriptions that it delivered."""

    def __init__(self, overrides=None, start=True, **parameters):
        self.node = NodeDouble(**(overrides or {}))
        self.delivered = []
        self.source = RobotSource(
            self.node, SimpleNamespace(**{**NO_PARAMETERS, **parameters}), self.delivered.append
        )
        if start:
            self.source.start()

    def hear(self, topic, text):
        """Let a description arrive."""
        self.node.callbacks[topic](String(data=text))

    @property
    def last(self):
        """Return the last description."""
        return self.delivered[-1]


@pytest.fixture
def files(tmp_path):
    """Give a folder with the descriptions of a robot in files."""
    (tmp_path / 'made.urdf').write_text(TEXT)
    (tmp_path / 'made.srdf').write_text(SEMANTIC)
    return tmp_path


def origins(description):
    return description.urdf.origin, description.srdf and description.srdf.origin


# Which one counts


def test_parameters_come_before_files_and_packages(files):
    source = Source(
        robot_description=TEXT,
        robot_description_semantic=SEMANTIC,
        robot_description_file=str(config_of('ur5e') / 'ur5e.urdf'),
        semantic_file=str(config_of('ur5e') / 'ur5e.srdf'),
        moveit_config_package=PANDA,
    )
    assert origins(source.last) == (f'parameter {URDF}', f'parameter {SRDF}')
    assert source.last.load().name == 'made'
    assert not source.node.callbacks


def test_files_come_before_packages(files):
    source = Source(
        robot_description_file=str(files / 'made.urdf'),
        semantic_file=str(files / 'made.srdf'),
        moveit_config_package=PANDA,
    )
    assert origins(source.last) == (str(files / 'made.urdf'), str(files / 'made.srdf'))


def test_packages_come_before_topics():
    source = Source(moveit_config_package=PANDA)
    assert origins(source.last) == (
        str(config_of('panda') / 'panda.urdf'),
        str(config_of('panda') / 'panda.srdf'),
    )
    assert source.last.load().groups['panda_arm'].base_link == 'panda_link0'
    assert not source.node.callbacks


def test_each_description_is_looked_for_by_itself():
    source = Source(robot_description=TEXT)
    assert set(source.node.callbacks) == {SRDF} and not source.delivered
    source.hear(SRDF, SEMANTIC)
    assert origins(source.last) == (f'parameter {URDF}', f'topic /ns/{SRDF}')


def test_what_is_nowhere_else_is_heard_on_latched_topics():
    source = Source()
    assert set(source.node.callbacks) == {URDF, SRDF}
    assert all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in source.node.qos.values())
    assert not source.delivered and not source.node.running


@pytest.mark.parametrize('key', ['robot_description_file', 'semantic_file'])
def test_a_file_that_does_not_exist_is_told_at_once(key):
    with pytest.raises(DescriptionNotFound, match=r'/nowhere/x\.urdf'):
        Source(**{key: '/nowhere/x.urdf'})


def test_a_package_that_does_not_exist_is_told_with_the_nearest():
    with pytest.raises(SsikError, match=r"Did you mean 'panda'\?"):
        Source(moveit_config_package='pand')


# Topics: late, repeated, replaced


def test_either_order_of_descriptions_is_one_robot():
    for order in ((URDF, SRDF), (SRDF, URDF)):
        source = Source()
        for topic in order:
            assert not source.delivered
            source.hear(topic, TEXT if topic == URDF else SEMANTIC)
        assert len(source.delivered) == 1
        assert source.last.load().groups['arm'].tips == ('l1',)
        assert not source.node.running


def test_without_srdf_the_robot_is_delivered_after_a_while(caplog):
    source = Source(semantic_timeout=1.5)
    source.hear(URDF, TEXT)
    (timer,) = source.node.running
    assert timer.period == 1.5 and not source.delivered
    source.node.fire()
    assert source.last.srdf is None and not source.node.running
    assert '1.5 s' in caplog.text and f'/ns/{SRDF}' in caplog.text


def test_an_srdf_that_comes_after_that_still_counts():
    source = Source()
    source.hear(URDF, TEXT)
    source.node.fire()
    source.hear(SRDF, SEMANTIC)
    assert len(source.delivered) == 2 and source.last.srdf.source == SEMANTIC
    assert not source.node.running


def test_however_many_robots_come_one_timer_waits_for_their_srdf():
    source = Source()
    for count in range(1, 9):
        source.hear(URDF, made(size=count)[0])
        (timer,) = source.node.timers
        assert timer in source.node.running
        source.node.fire()
        assert len(source.delivered) == count


def test_the_wait_for_an_srdf_goes_on_while_simulated_time_stands_still():
    (timer,) = Source().node.timers
    assert timer.clock.clock_type == ClockType.STEADY_TIME


def test_an_srdf_in_time_stops_the_wait():
    source = Source()
    source.hear(URDF, TEXT)
    source.hear(SRDF, SEMANTIC)
    assert not source.node.running and len(source.delivered) == 1


def test_with_a_tip_no_srdf_is_waited_for_nor_heard():
    source = Source(robot_description=TEXT, tip_link='l1')
    assert source.last.srdf is None and not source.node.callbacks and not source.node.timers


def test_equal_descriptions_are_delivered_once():
    source = Source()
    for _ in range(3):
        source.hear(URDF, TEXT)
        source.hear(SRDF, SEMANTIC)
    assert len(source.delivered) == 1


def test_a_replaced_robot_of_the_same_name_keeps_its_srdf():
    source = Source()
    source.hear(URDF, TEXT)
    source.hear(SRDF, SEMANTIC)
    source.hear(URDF, TEXT.replace('<link name="l0"/>', '<link name="l0"/><!-- new -->'))
    assert len(source.delivered) == 2
    assert source.last.srdf.source == SEMANTIC and 'new' in source.last.urdf.source


def test_the_srdf_of_another_robot_is_waited_for_anew():
    source = Source()
    source.hear(URDF, TEXT)
    source.hear(SRDF, SEMANTIC)
    source.hear(URDF, OTHER)
    assert len(source.delivered) == 1 and len(source.node.running) == 1
    source.hear(SRDF, OTHER_SEMANTIC)
    assert len(source.delivered) == 2 and source.last.load().name == 'other'
    assert not source.node.running


def test_a_latched_srdf_that_does_not_fit_is_not_called_missing(caplog):
    source = Source()
    source.hear(SRDF, SEMANTIC)
    source.hear(URDF, OTHER)
    source.node.fire()
    assert source.last.srdf is None
    assert "is for the robot 'made'" in caplog.text and 'No SRDF' not in caplog.text


def test_an_srdf_that_was_given_stays_when_the_robot_is_replaced(files):
    source = Source(semantic_file=str(files / 'made.srdf'))
    source.hear(URDF, TEXT)
    source.hear(URDF, OTHER)
    assert [d.srdf.origin for d in source.delivered] == [str(files / 'made.srdf')] * 2


def test_a_new_srdf_alone_makes_a_new_robot():
    source = Source()
    source.hear(URDF, TEXT)
    source.hear(SRDF, SEMANTIC)
    source.hear(SRDF, SEMANTIC.replace('"arm"', '"limb"'))
    assert list(source.last.load().groups) == ['limb']


def test_descriptions_arrive_over_real_topics():
    with node_maker() as make:
        node, publisher = make(), make()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        delivered = []
        source = RobotSource(node, SimpleNamespace(**NO_PARAMETERS), delivered.append)
        senders = {
            topic: publisher.create_publisher(String, topic, latched) for topic in (URDF, SRDF)
        }
        senders[URDF].publish(String(data=TEXT))
        senders[SRDF].publish(String(data=SEMANTIC))
        source.start()
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        until = time.monotonic() + 20.0
        while not delivered and time.monotonic() < until:
            executor.spin_once(timeout_sec=0.1)
        executor.shutdown()
        assert delivered and delivered[-1].load().name == 'made'
        assert origins(delivered[-1]) == (f'topic /{URDF}', f'topic /{SRDF}')


# Topics bring text and nothing else


@pytest.mark.parametrize('topic', [URDF, SRDF])
@pytest.mark.parametrize('name', ['made.urdf', 'made.srdf', 'made.urdf.xacro', '/etc/passwd', ''])
def test_a_message_never_names_a_file(files, topic, name, caplog):
    (files / 'made.urdf.xacro').write_text(TEXT)
    source = Source()
    source.hear(SRDF if topic == URDF else URDF, SEMANTIC if topic == URDF else TEXT)
    source.hear(topic, str(files / name))
    assert not source.delivered
    assert f'/ns/{topic} is ignored' in caplog.text and 'not XML text' in caplog.text


def test_a_message_that_is_no_xml_leaves_the_robot_as_it_was(files):
    source = Source()
    source.hear(URDF, TEXT)
    source.hear(SRDF, SEMANTIC)
    source.hear(URDF, str(files / 'made.urdf'))
    source.hear(SRDF, SEMANTIC.replace('"arm"', '"limb"'))
    assert list(source.last.load().groups) == ['limb']


def test_a_robot_with_more_joints_than_the_parameter_allows_is_refused_in_one_line():
    most = 'max_robot_joints'
    text, semantic = made(size=3)
    for bound, fits in ((3, True), (2, False)):
        source = Source(**{most: bound})
        source.hear(URDF, text)
        source.hear(SRDF, semantic)
        if fits:
            assert len(source.last.load().tree.joint_names) == 3
            continue
        with pytest.raises(SsikError, match='more than 2 <joint> elements') as refused:
            source.last.load()
        assert '\n' not in str(refused.value) and most in str(refused.value)


# kinematics.yaml, limits and xacro


def test_without_names_there_is_no_kinematics_file():
    assert Source().source.kinematics_path is None


def test_a_package_has_its_own_kinematics_file():
    source = Source(moveit_config_package=PANDA).source
    assert source.kinematics_path == config_of('panda') / 'kinematics.yaml'


def test_a_kinematics_file_is_a_path(tmp_path):
    path = tmp_path / 'k.yaml'
    path.write_text('')
    source = Source(moveit_config_package=PANDA, kinematics_file=str(path)).source
    assert source.kinematics_path == path


def test_a_kinematics_file_may_be_one_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = sorted(p.name for p in config_of('panda').glob('kinematics*.yaml'))
    for name in names:
        source = Source(moveit_config_package=PANDA, kinematics_file=name).source
        assert source.kinematics_path == config_of('panda') / name
    # A file of that name where the node runs is nearer.
    (tmp_path / names[0]).write_text('')
    source = Source(moveit_config_package=PANDA, kinematics_file=names[0]).source
    assert source.kinematics_path == Path(names[0])


def test_a_kinematics_file_that_is_nowhere_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for package in (PANDA, ''):
        source = Source(moveit_config_package=package, kinematics_file='none.yaml').source
        with pytest.raises(DescriptionNotFound, match=r'none\.yaml'):
            _ = source.kinematics_path


LIMIT = {'has_position_limits': True, 'min_position': -0.5, 'max_position': 0.5}


def test_limits_of_parameters_come_first(tmp_path):
    path = tmp_path / 'limits.yaml'
    path.write_text('joint_limits: {panda_joint1: {has_velocity_limits: true, max_velocity: 1.0}}')
    overrides = {
        f'{LIMITS_PREFIX}joint_limits.panda_joint1.{key}': value for key, value in LIMIT.items()
    }
    source = Source(overrides, moveit_config_package=PANDA, joint_limits_file=str(path))
    assert source.last.joint_limits == {'joint_limits': {'panda_joint1': LIMIT}}
    arm = source.last.load().groups['panda_arm']
    assert (arm.lower[0], arm.upper[0]) == (-0.5, 0.5)


def test_limits_of_moveit_s_launch_files_are_understood():
    """MoveIt puts scaling factors and the limits of its planners below the same prefix."""
    overrides = {
        f'{LIMITS_PREFIX}default_velocity_scaling_factor': 0.1,
        f'{LIMITS_PREFIX}cartesian_limits.max_trans_vel': 1.0,
    } | {f'{LIMITS_PREFIX}joint_limits.panda_joint1.{key}': value for key, value in LIMIT.items()}
    robot = Source(overrides, moveit_config_package=PANDA).last.load()
    assert robot.groups['panda_arm'].upper[0] == 0.5


def test_a_limits_file_comes_before_the_package_s(tmp_path):
    path = tmp_path / 'limits.yaml'
    path.write_text('')
    source = Source(moveit_config_package=PANDA, joint_limits_file=str(path))
    assert source.last.joint_limits == path
    limits_file = Source(moveit_config_package=PANDA).last.joint_limits
    assert limits_file == config_of('panda') / 'joint_limits.yaml'
    assert Source(robot_description=TEXT, tip_link='l1').last.joint_limits is None


def test_names_below_a_value_are_refused():
    node = NodeDouble(**{'p.a': 1, 'p.a.b': 2})
    with pytest.raises(InvalidParameter, match=r"'p\.a\.b' cannot stand below 'a'"):
        nested_overrides(node, 'p.')


def test_nested_values_are_put_together():
    node = NodeDouble(**{'p.a.b': 1, 'p.a.c': 2.5, 'p.d': 'x', 'q.a': 4, 'pp.a': 5})
    assert nested_overrides(node, 'p.') == {'a': {'b': 1, 'c': 2.5}, 'd': 'x'}


def test_xacro_arguments_are_words():
    source = Source(robot_description=TEXT, tip_link='l1', xacro_args=' a:=1  b:=x:=y c:= ')
    assert source.last.xacro_args == {'a': '1', 'b': 'x:=y', 'c': ''}
    assert Source(robot_description=TEXT, tip_link='l1').last.xacro_args is None


@pytest.mark.parametrize('text', ['a', 'a=1', 'a:=1 b', ':=1', 'a:=1 := b:=2'])
def test_wrong_xacro_arguments_are_told(text):
    with pytest.raises(InvalidParameter, match='name:=value'):
        Source(xacro_args=text)


def test_a_robot_of_a_package_of_several_is_named_by_robot_name(tmp_path):
    (tmp_path / 'config').mkdir()
    for name in ('left', 'right'):
        text, semantic = made(name)
        (tmp_path / f'config/{name}.urdf').write_text(text)
        (tmp_path / f'config/{name}.srdf').write_text(semantic)
    with pytest.raises(DescriptionNotFound, match='robot_name'):
        Source(moveit_config_package=str(tmp_path))
    right = Source(moveit_config_package=str(tmp_path), robot_name='right').last
    assert right.load().name == 'right'
    assert right.srdf.source == tmp_path / 'config/right.srdf'


def test_robot_name_without_a_package_is_an_error():
    with pytest.raises(InvalidParameter, match='moveit_config_package'):
        Source(robot_description=TEXT, robot_name='right')


def test_a_package_without_a_urdf_adds_to_a_urdf_that_is_given(tmp_path):
    (tmp_path / 'config').mkdir()
    (tmp_path / 'config/arm.srdf').write_text(SEMANTIC)
    texts = Source(moveit_config_package=str(tmp_path), robot_description=TEXT).last
    assert (texts.urdf.origin, texts.srdf.source) == (
        'parameter robot_description',
        tmp_path / 'config/arm.srdf',
    )


def test_xacro_args_add_to_those_of_the_package(tmp_path):
    (tmp_path / 'config').mkdir()
    text, semantic = made()
    (tmp_path / 'config/arm.urdf').write_text(text)
    (tmp_path / 'config/arm.srdf').write_text(semantic)
    (tmp_path / '.setup_assistant').write_text(
        'moveit_setup_assistant_config: {urdf: {xacro_args: "a:=1 b:=2"}}'
    )
    texts = Source(moveit_config_package=str(tmp_path), xacro_args='b:=3 c:=4').last
    assert texts.xacro_args == {'a': '1', 'b': '3', 'c': '4'}
