"""
Function ``solve_ik`` with the arguments of PoseIK's ``solveIK``: targets for any links, and a robot state to update.

C++ returns an expected value or an error text; here the return value is an :class:`IkOutcome`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import functools
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arguments import (
    check_callable,
    check_kind,
    check_mapping,
    read_float,
    read_numbers,
    refuse,
    shown,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, InvalidTarget, list_names, quote, SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.robot_state import RobotState
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.pose_input import read_pose
from ssik_ros.results import IkResult
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.search.pose_ik.options import (
    PARAMETER_ALIASES,
    PARAMETERS_FILE,
    PoseIkOptions,
)
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver
from ssik_ros.solvers.search.solver import Frames
from ssik_ros.value_class import dataclass

IkValidation = Callable[[RobotState, JointGroup, FloatArray], bool]


@dataclass(frozen=True, eq=False, slots=True)
class PoseTarget:
    """A target of :func:`solve_ik`: a link, and the pose (4, 4) that it is to reach in the robot's root link."""

    link: str
    """Any link that the group moves."""
    pose: FloatArray
    """(4, 4) pose of the link in the robot's root link."""


class IkOutcome(NamedTuple):
    """Result of :func:`solve_ik`: joint values ``q``, or an ``error`` text. It is true if it has joint values."""

    q: FloatArray | None
    """(n,) solution [rad or m], or None."""
    error: str
    """Reason of the failure; empty if the search found a solution."""
    result: IkResult
    """Full result of the search."""

    def __bool__(self) -> bool:
        """Return whether there is a solution."""
        return self.q is not None

    @property
    def success(self) -> bool:
        """Return whether there is a solution."""
        return self.q is not None

    def has_value(self) -> bool:
        """Return whether there is a solution."""
        return self.q is not None

    def value(self) -> FloatArray:
        """
        Return the joint values (n,) of the solution [rad or m].

        :raises SolverError: without a solution; its text is the reason of the failure.
        """
        if self.q is None:
            raise SolverError(self.error, result=self.result)
        return self.q


def solve_ik(
    robot_state: RobotState,
    group: JointGroup | str,
    targets: Sequence[PoseTarget],
    seed: FloatArray | None = None,
    timeout: Any = None,
    validation_fn: IkValidation | None = None,
    params: PoseIkOptions | Mapping[str, Any] | None = None,
) -> IkOutcome:
    """
    Find joint values of a group with which every target link is at its pose.

    :param robot_state: values of the joints outside the group; a solution is written into it.
    :param group: the group, or its name.
    :param targets: one pose for each link.
    :param seed: (n,) first start; None means the group's values in ``robot_state``.
    :param timeout: budget in seconds, or a duration with ``nanoseconds``; None or 0 bounds only the number of starts.
    :param validation_fn: called with the state at a candidate, the group and the candidate (n,); False refuses it.
    :param params: options, or parameters by name or alias; None means the defaults.
    :returns: an :class:`IkOutcome`. Without a solution, it has None as ``q`` and the reason as ``error``, and
        ``robot_state`` stays as it was.
    :raises RequestError: when an argument is malformed. An unreachable target is an outcome, not an error.
    :raises GroupNotFound, FrameNotFound: for an unknown name of a group or of a link.
    :raises InvalidParameter: for a wrong parameter in ``params``.
    """
    check_kind('robot_state', robot_state, RobotState)
    joint_group = robot_state.robot.read_group(group)
    targets = _read_targets(targets)
    solver = _solver_for(robot_state.robot, joint_group, targets, _options(params))
    request = SolveRequest(
        targets=np.stack([_pose(target) for target in targets]),
        seed=robot_state.group_positions(joint_group)
        if seed is None
        else read_numbers('seed', seed),
        state=robot_state.positions,
        timeout=_seconds(timeout),
    )
    if validation_fn is not None:
        check_callable('validation_fn', validation_fn)
        candidate = robot_state.copy()

        def validate(q: FloatArray) -> bool:
            candidate.set_group_positions(joint_group, q)
            return bool(validation_fn(candidate, joint_group, q))

        request.validate = validate
    result = solver.solve(request)
    if not result.solved:
        return IkOutcome(None, result.summary(), result)
    robot_state.set_group_positions(joint_group, result.q)
    return IkOutcome(result.q, '', result)


def _read_targets(targets: Any) -> tuple[PoseTarget, ...]:
    """Return an argument as a tuple of PoseTarget; raise InvalidOption for anything but an iterable of PoseTarget."""
    if not isinstance(targets, Iterable):
        refuse('targets', targets, 'a list of PoseTarget')
    return tuple(check_kind('targets', target, PoseTarget) for target in targets)


def _options(params: PoseIkOptions | Mapping[str, Any] | None) -> PoseIkOptions:
    """
    Return the options: given options unchanged, parameters by name or alias converted, the defaults for None.

    Raise InvalidParameter for a parameter with an unknown name or a wrong value.
    """
    if params is None:
        return PoseIkOptions()
    if isinstance(params, PoseIkOptions):
        return params
    check_mapping('params', params, 'PoseIkOptions, or parameters by name')
    return load_schema(PARAMETERS_FILE).resolve(params, PoseIkOptions, PARAMETER_ALIASES)


def _seconds(timeout: Any) -> float | None:
    """
    Return a budget in seconds from a number or an object with ``nanoseconds``; None stays None.

    Raise InvalidOption for anything else.
    """
    if timeout is None:
        return None
    nanoseconds = getattr(timeout, 'nanoseconds', None)
    if nanoseconds is not None:
        return float(nanoseconds) * 1e-9
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise InvalidOption(
            f'timeout must be a number of seconds or have nanoseconds, not {shown(timeout)}.'
        )
    return read_float('timeout', timeout)


def _pose(target: PoseTarget) -> FloatArray:
    """
    Return the pose of a target as an array (4, 4); whether a given matrix is rigid is not checked.

    Raise TypeError or ValueError, with the name of the link, for a value that is not a pose.
    """
    return read_pose(target.pose, f'The target of link {quote(target.link)}')


def _solver_for(
    robot: RobotModel, group: JointGroup, targets: Sequence[PoseTarget], options: PoseIkOptions
) -> PoseIkSolver:
    """
    Return the cached solver for the links of the targets.

    Raise InvalidTarget for an empty list, and for two targets of one link.
    """
    links = tuple(target.link for target in targets)
    if not links:
        raise InvalidTarget('solve_ik needs at least one target.')
    if len(set(links)) != len(links):
        raise InvalidTarget(f'A link has more than one target: {list_names(links)}.', links=links)
    return _make_solver(robot, group, links, options)


@functools.lru_cache(maxsize=32)
def _make_solver(
    robot: RobotModel, group: JointGroup, links: tuple[str, ...], options: PoseIkOptions
) -> PoseIkSolver:
    """Return the solver for these links; the 32 most recent solvers are cached."""
    return PoseIkSolver(robot, group, options, frames=Frames(robot.tree.root_link, links))
