"""``~/describe``: every parameter in force as a YAML scalar, with its source."""

import copy
import dataclasses
from types import SimpleNamespace

from test.ros_units import bare_nodes  # noqa: F401 - skips the module if ROS is not installed

from hypothesis import given, strategies as st
import numpy as np
import pytest
import yaml

pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')

from ssik_msgs.srv import Describe

from ssik_ros.results import Cause
from ssik_ros.ros.services import own_services
from ssik_ros.ros.services.service_handlers import Served, ServiceHandlers
from ssik_ros.server.planning_groups import RobotReport
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import KINEMATICS_FIELDS, parse_kinematics
from ssik_ros.solvers.registry import solver_schema, solver_spec

pytestmark = pytest.mark.ros

CONTENT = {
    'panda_arm': {
        'kinematics_solver': 'ssik_ros/PoseIK',
        'epsilon': 1e-05,
        'solve_mode': 'optimize_distance',
        'kinematics_solver_timeout': 0.125,
        'position_only_ik': True,
    },
    'hand': {'kinematics_solver': 'kdl_kinematics_plugin/KDLKinematicsPlugin'},
}


@pytest.fixture(scope='module')
def server(robots):
    panda = robots['panda']
    return RobotServer(panda, panda.groups.values(), parse_kinematics(CONTENT, source='k.yaml'))


def ask(server, group='', read=own_services.DESCRIBE.read):
    live = SimpleNamespace(find=lambda reader: SimpleNamespace(state=None, has_defaults=False))
    handlers = ServiceHandlers(None, live)
    if server is not None:
        handlers.served = Served(server, None, origins=('a.urdf', 'topic /srdf'))
    handler = handlers.handler(own_services.DESCRIBE._replace(read=read))
    return handler(Describe.Request(group=group), Describe.Response())


def test_every_group_is_described(server):
    response = ask(server)
    assert response.success and response.message == ''
    assert [group.name for group in response.groups] == list(server.groups)
    assert (response.robot, response.model_frame) == ('panda', 'world')
    assert (response.urdf_source, response.srdf_source) == ('a.urdf', 'topic /srdf')


def test_one_group_is_described_alone(server):
    (group,) = ask(server, 'panda_arm').groups
    model = server.robot.group('panda_arm')
    assert (group.name, group.solver, group.tier) == ('panda_arm', 'ssik_ros/PoseIK', 'iterative')
    assert (group.base_frame, list(group.tip_frames)) == ('panda_link0', ['panda_link8'])
    assert list(group.joint_names) == list(model.joint_names)
    assert np.array_equal(group.lower, model.lower) and np.array_equal(group.upper, model.upper)
    assert group.timeout == 0.125 and group.position_only is True
    assert group.reason == server.groups['panda_arm'].reason


def test_an_unknown_group_is_told_with_the_nearest(server):
    response = ask(server, 'panda_amr')
    assert not response.success and not response.groups
    assert "Did you mean 'panda_arm'?" in response.message


def test_without_a_robot_that_is_told():
    response = ask(None)
    assert not response.success and 'no robot' in response.message


def test_a_fault_has_a_response(server):
    def fail(message):
        raise KeyError('lost')

    response = ask(server, read=fail)
    assert not response.success and 'KeyError' in response.message and not response.groups


def test_values_are_yaml_scalars_of_what_is_in_force(server):
    for message in ask(server).groups:
        kinematics = server.groups[message.name].kinematics
        expected = {key: getattr(kinematics, field) for key, field in KINEMATICS_FIELDS.items()}
        expected |= solver_schema(solver_spec(kinematics.solver)).complete(kinematics.parameters)
        read = {entry.name: yaml.safe_load(entry.value) for entry in message.parameters}
        assert read == expected
        assert {k: type(v) for k, v in read.items()} == {k: type(v) for k, v in expected.items()}
        assert all('\n' not in entry.value for entry in message.parameters)


def test_values_come_with_their_sources(server):
    arm, hand, _ = ask(server).groups
    sources = {entry.name: entry.source for entry in arm.parameters}
    assert sources['target_tolerance'] == 'k.yaml (epsilon)'
    assert sources['kinematics_solver_timeout'] == 'k.yaml (kinematics_solver_timeout)'
    assert sources['gd_max_iters'] == 'default'
    assert hand.requested_solver == 'kdl_kinematics_plugin/KDLKinematicsPlugin'
    assert hand.solver == 'ssik_ros/Auto'


SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec='ascii', exclude_categories=('Cc',)), max_size=60)
)


@given(value=SCALARS | st.lists(SCALARS, max_size=5).map(tuple))
def test_any_value_comes_back_from_its_one_line(server, value):
    group, message = copy.copy(server.groups['hand']), Describe.Response()
    group.kinematics = dataclasses.replace(group.kinematics, search_resolution=value)
    report = RobotReport(Refusal.NONE, Cause.NONE, '', [group])
    own_services.DESCRIBE.write(message, report, Served(server, None), None)
    (text,) = (
        entry.value
        for entry in message.groups[0].parameters
        if entry.name == 'kinematics_solver_search_resolution'
    )
    back = yaml.safe_load(text)
    assert (tuple(back) if isinstance(back, list) else back) == value
    assert '\n' not in text
