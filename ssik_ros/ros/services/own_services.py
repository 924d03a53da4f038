"""
This package's own services for planning groups; ``DESCRIBE`` and ``GROUP_SERVICES`` describe them for the handler.

They compute batches, branches, self-motions and steps of control cycles, and return explanations and descriptions of
the groups.
"""

from array import array
from typing import Any

import numpy as np
from ssik_msgs.msg import (
    BranchDiagnostic,
    CurveEnd as EndMessage,
    GroupKinematics as GroupMessage,
    IkBranch,
    SelfMotion as CurveMessage,
    SolverParameter,
    StreamStatus,
)
from ssik_msgs.srv import Describe, ExplainIk, FindStep, SelfMotions, SolveAll, SolveBatch
import yaml

from ssik_ros.results import Cause
from ssik_ros.ros.conversions.messages import read_framed_pose
from ssik_ros.ros.conversions.request_readers import request_reader
from ssik_ros.ros.services.service_handlers import read_budget, Served, Service
from ssik_ros.ros.services.status_codes import code_of_cause
from ssik_ros.server.groups.batches import BatchRequest, BatchResponse
from ssik_ros.server.groups.cycle_steps import StepRequest, StepResponse
from ssik_ros.server.groups.explanations import Explanation
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.groups.self_motion_finder import SelfMotionsResponse
from ssik_ros.server.planning_groups import RobotReport
from ssik_ros.server.requests.ik_requests import (
    Branch,
    BranchesResponse,
    BranchOptions,
    IkRequest,
    SelfMotionOptions,
)
from ssik_ros.server.requests.refusals import Refusal
from ssik_ros.solvers.kinematics_yaml import KINEMATICS_FIELDS
from ssik_ros.solvers.registry import solver_schema, solver_spec
from ssik_ros.solvers.self_motions.curve import CurveEnd

CAUSE_NAMES = [cause.name for cause in Cause]
STEP_CAUSES = {
    Cause.NONE: 'NONE',
    Cause.CONSISTENCY: 'SPEED',
    Cause.LIMITS: 'LIMITS',
    Cause.SINGULAR: 'SINGULAR',
    Cause.BAD_TARGET: 'BAD_TARGET',
}
"""Causes in ``StreamStatus`` by cause of a step; every other cause is UNREACHED."""


def _write_batch(
    message: SolveBatch.Response, response: BatchResponse, served: Served, request: Any
) -> None:
    if response.refusal is not Refusal.NONE:
        return
    codes = [code_of_cause(cause, served.report_timeout) for cause in Cause]
    message.joint_names = list(response.joint_names)
    message.solved = response.solved_count
    message.positions = array('d', response.positions.tobytes())
    message.codes = array('i', np.array(codes, dtype=np.int32)[response.causes].tobytes())
    message.causes = array('B', response.causes.tobytes())
    message.cause_names = CAUSE_NAMES
    message.position_errors = array('d', response.errors[:, 0].tobytes())
    message.orientation_errors = array('d', response.errors[:, 1].tobytes())


def _write_all(
    message: SolveAll.Response, response: BranchesResponse, served: Served, request: Any
) -> None:
    message.joint_names = list(response.joint_names)
    message.branches = [_write_branch(branch) for branch in response.branches]
    message.diagnostic = BranchDiagnostic(**response.report._asdict())


def _write_self_motions(
    message: SelfMotions.Response, response: SelfMotionsResponse, served: Served, request: Any
) -> None:
    message.joint_names = list(response.joint_names)
    motions = response.motions
    if motions is None:
        return
    message.complete, message.resolution = motions.is_complete, motions.resolution
    message.reason = motions.reason
    message.curves = [
        CurveMessage(
            label=curve.label,
            length=curve.length,
            start=_write_end(curve.start),
            end=_write_end(curve.end),
            arc_lengths=array('d', arcs.tobytes()),
            positions=array('d', q.tobytes()),
        )
        for curve, (arcs, q) in zip(motions, response.postures)
    ]


def _write_end(end: CurveEnd) -> EndMessage:
    """
    Return the message about one end of a self-motion curve.

    It tells the kind of the end, the joint whose limit ends the curve, and the curves that continue there.
    """
    return EndMessage(
        kind=getattr(EndMessage, end.kind.name),
        joint=end.joint,
        is_upper=end.is_upper,
        curves=array('I', end.curves),
    )


def _write_branch(branch: Branch) -> IkBranch:
    """Return the message of one posture of a branch."""
    fields = {
        **branch._asdict(),
        'positions': array('d', branch.positions.tobytes()),
        'windings': array('i', branch.windings),
    }
    return IkBranch(**fields)


def _write_explain(
    message: ExplainIk.Response, explanation: Explanation, served: Served, request: Any
) -> None:
    message.cause = explanation.cause.name
    message.joint_names = list(explanation.joint_names)
    if explanation.nearest is not None:
        message.nearest = array('d', explanation.nearest.tobytes())
    message.distance, message.angle = explanation.distance, explanation.angle
    message.limit_joints = [limit.joint for limit in explanation.limits]
    message.limit_values = array('d', [limit.limit for limit in explanation.limits])
    message.limit_excesses = array('d', [limit.excess for limit in explanation.limits])
    message.colliding = list(explanation.colliding)
    message.advice = list(explanation.advice)


def _write_step(
    message: FindStep.Response, response: StepResponse, served: Served, request: Any
) -> None:
    step = response.step
    if step is None or step.motion is None:
        return
    message.positions = array('d', step.q.tobytes())
    message.velocities = array('d', step.motion.velocity.tobytes())
    message.status = StreamStatus(
        status=int(step.status),
        cause=STEP_CAUSES.get(step.cause, 'UNREACHED'),
        message='' if step.is_exact else step.text,
        linear=step.distance,
        angular=step.angle,
        scale=step.motion.scale,
        condition=step.motion.condition,
        joint_names=list(response.joint_names),
        stopped_by=array('B', step.motion.stopped_by),
    )
    if served.now is not None:
        message.status.stamp = served.now()


def _write_description(
    message: Describe.Response, described: RobotReport, served: Served, request: Any
) -> None:
    message.message = described.text
    if described.text:
        return
    robot = served.server.robot
    message.success = True
    message.robot, message.model_frame = robot.name, robot.model_frame
    message.urdf_source, message.srdf_source = served.origins
    message.groups = [_describe_group(group) for group in described.groups]


def _describe_group(server: GroupServer) -> GroupMessage:
    """Return the message about one planning group, its solver and parameters."""
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
    """Return the present parameters of a group as messages: the common keys, then the solver's own."""
    kinematics = server.kinematics
    values = {key: (getattr(kinematics, f), f) for key, f in KINEMATICS_FIELDS.items()}
    solver_values = solver_schema(solver_spec(kinematics.solver)).complete(kinematics.parameters)
    values |= {name: (value, name) for name, value in solver_values.items()}
    return [
        SolverParameter(
            name=name, value=_scalar(value), source=kinematics.sources.get(key, 'default')
        )
        for name, (value, key) in values.items()
    ]


def _scalar(value: Any) -> str:
    """Return a value as text on one line, as YAML writes it."""
    plain = list(value) if isinstance(value, tuple) else value
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=1_000_000)
    return text.removesuffix('\n').removesuffix('\n...')


DESCRIBE = Service(
    Describe, '~/describe', 'describe', lambda message: message.group, _write_description
)
"""Offered before there is a robot."""
_read_batch = request_reader(
    BatchRequest, SolveBatch.Request, poses=lambda message: np.asarray(message.poses, np.float64)
)
_read_all = request_reader(
    IkRequest, SolveAll.Request, branches=request_reader(BranchOptions, SolveAll.Request)
)
_read_self_motions = request_reader(
    IkRequest,
    SelfMotions.Request,
    self_motions=request_reader(SelfMotionOptions, SelfMotions.Request),
)
_read_step = request_reader(
    StepRequest,
    FindStep.Request,
    previous=lambda message: [read_framed_pose(pose) for pose in message.previous],
    velocities=lambda message: message.robot_state.joint_state.velocity,
)
_read_explain = request_reader(IkRequest, ExplainIk.Request)
GROUP_SERVICES = (
    Service(
        SolveBatch,
        '~/solve_batch',
        'solve_batch',
        _read_batch,
        _write_batch,
        budget=lambda message: read_budget(message.timeout),
    ),
    Service(
        SolveAll,
        '~/solve_all',
        'solve_all',
        _read_all,
        _write_all,
        budget=lambda message: read_budget(message.timeout),
    ),
    Service(
        SelfMotions, '~/self_motions', 'self_motions', _read_self_motions, _write_self_motions
    ),
    Service(FindStep, '~/find_step', 'find_step', _read_step, _write_step),
    Service(ExplainIk, '~/explain_ik', 'explain', _read_explain, _write_explain),
)
"""A row for each service that needs a robot."""
