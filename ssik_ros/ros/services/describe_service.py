"""``~/describe``: how each group is answered, with every parameter and where it came from."""

from collections.abc import Callable
import logging
from typing import Any, NamedTuple

from ssik_msgs.msg import GroupKinematics as GroupMessage, SolverParameter
from ssik_msgs.srv import Describe
import yaml

from ssik_ros.errors import describe_choices, quote, shorten
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import KINEMATICS_FIELDS
from ssik_ros.solvers.registry import solver_schema, solver_spec

_LOGGER = logging.getLogger('ssik_ros.describe')


class Described(NamedTuple):
    """A robot that is served, and where it came from."""

    server: RobotServer
    urdf_origin: str
    srdf_origin: str


class DescribeService:
    """Handler of ``~/describe``."""

    def __init__(self, described: Callable[[], Described | None]) -> None:
        """
        Take the way to what is served.

        :param described: returns it, None while there is no robot.
        """
        self._described = described

    def describe(
        self, request: Describe.Request, response: Describe.Response
    ) -> Describe.Response:
        """
        Answer ``~/describe``.

        :param request, response: the messages of the service.
        """
        try:
            self._describe(request.group, response)
        except Exception as error:
            _LOGGER.exception('Internal fault while describing')
            response = Describe.Response()
            response.message = f'{type(error).__name__}: {shorten(error)}'
        return response

    def _describe(self, group: str, response: Describe.Response) -> None:
        described = self._described()
        if described is None:
            response.message = 'The node has no robot yet.'
            return
        server = described.server
        if group and group not in server.groups:
            choices = describe_choices(group, server.groups)
            response.message = f'There is no group {quote(group)}. {choices}'
            return
        response.success = True
        response.robot = server.robot.name
        response.model_frame = server.robot.model_frame
        response.urdf_source = described.urdf_origin
        response.srdf_source = described.srdf_origin
        names = (group,) if group else tuple(server.groups)
        response.groups = [_describe_group(server.groups[name]) for name in names]


def _describe_group(server: GroupServer) -> GroupMessage:
    """Return the message about one group."""
    group, kinematics, solver = server.group, server.kinematics, server.solver
    return GroupMessage(
        name=group.name,
        solver='' if solver is None else kinematics.solver,
        requested_solver=kinematics.requested_solver,
        tier=server.tier,
        reason=server.reason,
        base_frame=group.base_link,
        tip_frames=list(group.tips),
        joint_names=list(group.joint_names),
        lower=group.lower.tolist(),
        upper=group.upper.tolist(),
        timeout=kinematics.timeout,
        position_only=kinematics.position_only,
        parameters=_parameters(server),
    )


def _parameters(server: GroupServer) -> list[SolverParameter]:
    """Return the keys of every group, then the solver's own parameters, as they are in force."""
    kinematics = server.kinematics
    values = {key: (getattr(kinematics, f), f) for key, f in KINEMATICS_FIELDS.items()}
    own = solver_schema(solver_spec(kinematics.solver)).complete(kinematics.parameters)
    values |= {name: (value, name) for name, value in own.items()}
    return [
        SolverParameter(
            name=name, value=_scalar(value), source=kinematics.sources.get(key, 'default')
        )
        for name, (value, key) in values.items()
    ]


def _scalar(value: Any) -> str:
    """Return a value as YAML writes it on one line."""
    plain = list(value) if isinstance(value, tuple) else value
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=1_000_000)
    return text.removesuffix('\n').removesuffix('\n...')
