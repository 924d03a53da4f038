"""``check_state_validity``: whether a state is free of collisions and keeps constraints."""

from collections.abc import Callable
import logging

from geometry_msgs.msg import Point, Vector3
from moveit_msgs.msg import ConstraintEvalResult, ContactInformation
from moveit_msgs.srv import GetStateValidity
from rclpy.node import Node

from ssik_ros.model.collision.scene import Contact
from ssik_ros.ros.conversions.messages import read_constraints, read_state
from ssik_ros.ros.conversions.object_conversions import read_carried
from ssik_ros.ros.inputs.live_state import LiveState
from ssik_ros.ros.services.node_services import Served

_LOGGER = logging.getLogger('ssik_ros.services')


class ValidityService:
    """Handler of ``check_state_validity``; may be called by several threads at once."""

    def __init__(self, node: Node, served: Callable[[], Served], live: LiveState) -> None:
        """
        Take the way to what is served.

        :param node: its clock stamps contacts.
        :param served: returns it, or raises where there is no robot yet.
        :param live: where the robot is.
        """
        self._node = node
        self._served = served
        self._live = live

    def check_state_validity(
        self, request: GetStateValidity.Request, response: GetStateValidity.Response
    ) -> GetStateValidity.Response:
        """
        Answer ``check_state_validity``; its messages have no place for a reason, which goes into the log.

        :param request, response: the messages of the service.
        """
        try:
            self._judge(request, response)
        except Exception:
            _LOGGER.exception('Internal fault while answering a request')
            response = GetStateValidity.Response()
        return response

    def _judge(
        self, request: GetStateValidity.Request, response: GetStateValidity.Response
    ) -> None:
        server = self._served().server
        judgement = server.judge(
            request.group_name,
            read_state(request.robot_state),
            read_carried(request.robot_state),
            read_constraints(request.constraints),
            self._live.current(server.states),
        )
        if judgement.text:
            _LOGGER.warning(
                'check_state_validity: reported invalid, the state could not be checked: %s',
                judgement.text,
            )
        response.valid = judgement.is_valid
        response.constraint_result = [
            ConstraintEvalResult(result=verdict.holds, distance=verdict.distance)
            for verdict in judgement.verdicts
        ]
        response.contacts = [
            self._write_contact(contact, server.robot.model_frame)
            for contact in judgement.contacts
        ]

    def _write_contact(self, contact: Contact, frame: str) -> ContactInformation:
        message = ContactInformation(
            contact_body_1=contact.first,
            contact_body_2=contact.second,
            body_type_1=int(contact.kinds[0]),
            body_type_2=int(contact.kinds[1]),
            depth=contact.depth,
        )
        message.header.frame_id = frame
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.position = Point(**dict(zip('xyz', contact.position.tolist(), strict=True)))
        message.normal = Vector3(**dict(zip('xyz', contact.normal.tolist(), strict=True)))
        return message
