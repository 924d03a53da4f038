"""A double of a server of ``compute_ik``, within the test process, that responds as a test wants."""

import contextlib
import threading
import time

from test.ros.server_process import claimed_domain

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
from rclpy.context import Context
import rclpy.executors
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from ssik_ros.ros.services.service_solver import ServiceSolver

FAR = 100.0
"""Targets beyond it [m] are first requests of a client, which any server refuses."""


class ServiceDouble:
    """Responds by a function of request and response, and keeps the requests."""

    def __init__(self, node):
        self.behaviour = find_nothing
        self.requests = []
        node.create_service(GetPositionIK, 'compute_ik', self._handle)

    def _handle(self, request, response):
        stamped = request.ik_request.pose_stamped_vector or [request.ik_request.pose_stamped]
        if stamped[0].pose.position.z > FAR:
            return find_nothing(request, response)
        self.requests.append(request)
        return self.behaviour(request, response)


def find_nothing(request, response):
    response.error_code.val = MoveItErrorCodes.NO_IK_SOLUTION
    return response


def know_no_group(request, response):
    response.error_code.val = MoveItErrorCodes.INVALID_GROUP_NAME
    return response


def respond_late(request, response):
    time.sleep(0.3)
    return find_nothing(request, response)


def solve_by(positions, message=''):
    """Return a function that responds with joint positions by name, in the order given."""

    def respond(request, response):
        response.solution.joint_state.name = list(positions)
        response.solution.joint_state.position = list(positions.values())
        response.error_code.val = MoveItErrorCodes.SUCCESS
        response.error_code.message = message
        return response

    return respond


def return_the_seed(request, response):
    """Claim that the seed solves everything."""
    state = request.ik_request.robot_state.joint_state
    return solve_by(dict(zip(state.name, state.position, strict=True)))(request, response)


@contextlib.contextmanager
def served_client():
    """Yield a node with its executor for clients, and the double that responds in another thread."""
    with claimed_domain() as domain, contextlib.ExitStack() as stack:
        context = Context()
        context.init(domain_id=domain)
        stack.callback(context.try_shutdown)
        nodes = []
        for name in ('double', 'client'):
            nodes.append(Node(name, context=context, use_global_arguments=False))
            stack.callback(nodes[-1].destroy_node)
        executors = [SingleThreadedExecutor(context=context) for _ in nodes]
        for executor, node in zip(executors, nodes, strict=True):
            executor.add_node(node)
        double = ServiceDouble(nodes[0])
        thread = threading.Thread(target=_spin, args=[executors[0]])
        thread.start()
        stack.callback(thread.join)
        stack.callback(executors[0].shutdown)
        yield nodes[1], executors[1], double


def _spin(executor):
    with contextlib.suppress(rclpy.executors.ExternalShutdownException):
        executor.spin()


def make_solver(client, group, **changes):
    """Return a :class:`ServiceSolver` of a client from :func:`served_client`."""
    node, executor, _ = client
    options = {'service': 'compute_ik', 'service_timeout': 20.0, 'response_timeout': 10.0}
    options |= changes
    return ServiceSolver(node, executor, options.pop('service'), group, **options)
