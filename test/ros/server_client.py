"""A client of the node within the test process, with a context of its own and bounded calls."""

import contextlib
import time

from test.ros.server_process import running_server, SHUTDOWN_WAIT, WAIT

from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import pytest
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as RclpyParameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from ssik_msgs.srv import (
    CompleteState,
    Describe,
    ExplainIk,
    FindConfigs,
    FindStep,
    GeneratePath,
    HandleTaskSets,
    ReachQuery,
    SelfMotions,
    SolveAll,
    SolveBatch,
    SolveGoals,
)
from std_msgs.msg import String

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEEP = QoSProfile(depth=1000)
KINDS = {
    'compute_ik': GetPositionIK,
    'solve_ik': GetPositionIK,
    'compute_fk': GetPositionFK,
    'compute_cartesian_path': GetCartesianPath,
    'check_state_validity': GetStateValidity,
    'ssik_ros/describe': Describe,
    'ssik_ros/solve_all': SolveAll,
    'ssik_ros/self_motions': SelfMotions,
    'ssik_ros/solve_batch': SolveBatch,
    'ssik_ros/explain_ik': ExplainIk,
    'ssik_ros/find_step': FindStep,
    'ssik_ros/reach_query': ReachQuery,
    'ssik_ros/handle_task_sets': HandleTaskSets,
    'ssik_ros/find_configs': FindConfigs,
    'ssik_ros/generate_path': GeneratePath,
    'ssik_ros/solve_goals': SolveGoals,
    'ssik_ros/complete_state': CompleteState,
    'ssik_ros/describe_parameters': DescribeParameters,
    'ssik_ros/get_parameters': GetParameters,
    'ssik_ros/list_parameters': ListParameters,
    'ssik_ros/set_parameters': SetParameters,
    'ssik_ros/set_parameters_atomically': SetParametersAtomically,
}


class Client:
    """Calls services and publishes; to be used by one thread."""

    def __init__(self, domain, fail=pytest.fail, namespace=''):
        """
        Join a domain.

        :param domain: its number.
        :param fail: called with a text if a wait reaches its bound.
        :param namespace: of the services.
        """
        self._fail = fail
        self._context = Context()
        self._context.init(domain_id=domain)
        self.node = Node(
            'test_client',
            context=self._context,
            namespace=namespace,
            use_global_arguments=False,
            enable_rosout=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._services = {}
        self._publishers = {}

    def close(self):
        """Leave the domain."""
        self._executor.shutdown(SHUTDOWN_WAIT)
        self.node.destroy_node()
        self._context.try_shutdown()

    def service(self, name):
        """Return the rclpy client of a service, made once."""
        if name not in self._services:
            self._services[name] = self.node.create_client(KINDS[name], name, qos_profile=DEEP)
        return self._services[name]

    def wait_for(self, name, wait=WAIT):
        """Wait until a service is there."""
        if not self.service(name).wait_for_service(wait):
            self._fail(f'There is no service {name} after {wait:g} s.')

    def wait_until_gone(self, name, wait=WAIT):
        """Wait until a service is not there any more."""
        self.spin_until(
            lambda: not self.service(name).service_is_ready(), f'the end of {name}', wait
        )

    def service_names(self):
        """Return the services of all nodes."""
        return {name for name, _ in self.node.get_service_names_and_types()}

    def call(self, name, request, wait=WAIT):
        """Return the response to one request."""
        return self.call_all(name, [request], wait)[0]

    def send(self, name, request):
        """Return the future of a response, after waiting for the service."""
        self.wait_for(name)
        return self.service(name).call_async(request)

    def call_all(self, name, requests, wait=WAIT):
        """Return the responses to requests that are all sent before the first response is read."""
        futures = [self.send(name, request) for request in requests]
        self.spin_until(lambda: all(future.done() for future in futures), name, wait)
        return [future.result() for future in futures]

    def spin_until(self, condition, what, wait=WAIT):
        """Spin until a condition holds."""
        end = time.monotonic() + wait
        while not condition():
            if time.monotonic() > end:
                self._fail(f'{what}: not done within {wait:g} s.')
            self.spin_once(0.05)

    def spin_once(self, wait):
        """Handle at most one message, after a wait of at most some seconds."""
        self._executor.spin_once(timeout_sec=wait)

    def publisher(self, kind, topic, profile):
        """Return a publisher that at least one node hears."""
        key = topic, profile.reliability
        if key not in self._publishers:
            self._publishers[key] = self.node.create_publisher(kind, topic, profile)
        publisher = self._publishers[key]
        self.spin_until(publisher.get_subscription_count, f'a subscription to {topic}')
        return publisher

    def publish_latched(self, topic, text):
        """Publish a string that later subscribers get too."""
        self.publisher(String, topic, LATCHED).publish(String(data=text))

    def publish_joints(self, positions, profile, topic='joint_states', **fields):
        """
        Publish a joint state.

        :param positions: by name.
        :param profile: quality of service.
        :param topic: its name.
        :param fields: other values of fields of the message.
        """
        values = {'name': list(positions), 'position': list(positions.values()), **fields}
        self.publisher(JointState, topic, profile).publish(JointState(**values))

    def describe(self, group=''):
        """Return the response of ``~/describe``."""
        return self.call('ssik_ros/describe', Describe.Request(group=group))

    def set_parameters(self, values, atomically=False):
        """Return the results of setting parameters; one, if that is done atomically."""
        messages = [RclpyParameter(n, value=v).to_parameter_msg() for n, v in values.items()]
        if atomically:
            request = SetParametersAtomically.Request(parameters=messages)
            return self.call('ssik_ros/set_parameters_atomically', request).result
        request = SetParameters.Request(parameters=messages)
        return self.call('ssik_ros/set_parameters', request).results

    def get_parameters(self, names):
        """Return the values of parameters by name."""
        names = list(names)
        response = self.call('ssik_ros/get_parameters', GetParameters.Request(names=names))
        messages = [
            Parameter(name=n, value=v) for n, v in zip(names, response.values, strict=True)
        ]
        parameters = (RclpyParameter.from_parameter_msg(message) for message in messages)
        return {parameter.name: parameter.value for parameter in parameters}


@contextlib.contextmanager
def ready_server(folder, parameters=None, arguments=(), **options):
    """
    Give a node that serves its robot, and a client.

    :param folder, parameters, arguments, options: as for ``running_server``.
    """
    with running_server(folder, parameters, arguments, **options) as server:
        # The client starts second: the process that starts first may have to wait for a second announcement.
        server.wait_until_ready()
        with client_of(server) as client:
            yield server, client


@contextlib.contextmanager
def client_of(server, namespace=''):
    """Give a client in the domain of a server; its waits fail with the server's log."""
    client = Client(server.domain, server.fail, namespace)
    try:
        yield client
    finally:
        client.close()
