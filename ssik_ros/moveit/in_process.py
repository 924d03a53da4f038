"""
The group of a C++ host: descriptions come as text, requests and solutions as arrays that both sides share.

The kinematics plugin of MoveIt embeds Python and calls this module. A plain request is one call without arguments that
have to be converted; everything else is translated for :class:`~ssik_ros.moveit.kinematics_base.KinematicsBase`, whose
results and error codes these are.
"""

from collections.abc import Callable, Mapping, Sequence
import copy
import logging
import time
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import LocatedMapping, SolverError
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.moveit.kinematics_base import (
    DiscretizationMethod,
    error_code_of,
    IkReply,
    KinematicsBase,
    KinematicsQueryOptions,
    SUCCESS,
)
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import build_problem, PoseConstraint
from ssik_ros.results import IkResult
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, make_group_kinematics
from ssik_ros.strict_yaml import parse_yaml
from ssik_ros.tolerances import DEFAULT_TOLERANCES

PROTOCOL = 1
"""Version of the interface to the host; a host that was built for another number refuses to start."""

LOCK_REDUNDANT, APPROXIMATE = 1, 2
"""Bits of the options of a request."""

REFUSED = 0
"""Result of a callback that rejects a candidate."""
CYCLE = 0.01
"""Budget of a request for one cycle [s]."""
SHORTEST = 1e-6
"""Time for a request whose budget is used up [s]; zero would mean the default."""

_LOGGER = logging.getLogger('ssik_ros.moveit.in_process')

Accepts = Callable[[FloatArray], int]
"""Called with a candidate (n); SUCCESS takes it."""
Cost = Callable[[FloatArray], float]
"""Called with a solution (n); the smallest value wins."""


def open_group(
    urdf: str,
    srdf: str,
    group: str,
    base_frame: str,
    tip_frames: Sequence[str],
    search_discretization: float,
    parameters: Mapping[str, str],
    where: str,
) -> 'OpenGroup':
    """
    Return a group that is ready to solve: all kernels are loaded, all arrays made.

    :param urdf: text of the robot description.
    :param srdf: text of the semantic description.
    :param group: one of its groups.
    :param base_frame: of all poses; empty for the group's, which it has to be.
    :param tip_frames: links that poses are for. MoveIt names the last link of every group; a group that branches keeps
        its own tips, as in the node, unless that link is rigid with its only tip.
    :param search_discretization: step of redundant joints [rad or m].
    :param parameters: values as YAML by key of the group, as in a kinematics.yaml.
    :param where: place of the parameters, for messages.
    :raises SsikError: for a wrong argument, with the nearest valid name.
    """
    robot = load_robot(urdf, srdf)
    kinematics = make_group_kinematics(group, _read_values(parameters, where), where)
    tip_frames = _choose_tips(robot, robot.group(group), tip_frames)
    return OpenGroup(robot, kinematics, base_frame, tip_frames, search_discretization)


def _choose_tips(robot: RobotModel, group: JointGroup, tip_frames: Sequence[str]) -> Sequence[str]:
    """Return the links that poses are for: the host's, or the group's own where the host cannot name them."""
    if len(tip_frames) != 1 or group.is_chain or not group.joint_names:
        return tip_frames
    own, (named,) = group.tips, tip_frames
    if len(own) == 1 and robot.rigid_offset(own[0], named.removeprefix('/')) is not None:
        return tip_frames
    _LOGGER.info(
        "Group '%s' branches. Its solver takes poses of %s, not of '%s', which the host names.",
        group.name,
        ', '.join(own),
        named,
    )
    return own


def _read_values(parameters: Mapping[str, str], where: str) -> LocatedMapping:
    """Return parameters as a file would hold them."""
    entries = LocatedMapping()
    for key, text in parameters.items():
        entries.places[key] = f'{where}.{key}'
        entries[key] = parse_yaml(text, entries.places[key])
    return entries


class OpenGroup:
    """One group; several threads may call it at once, each over a channel of its own."""

    def __init__(
        self,
        robot: RobotModel,
        kinematics: GroupKinematics,
        base_frame: str,
        tip_frames: Sequence[str],
        search_discretization: float,
    ) -> None:
        """
        Make the solver and warm it up.

        :param kinematics: the group with its solver and parameters.
        :param base_frame: of all poses; empty for the group's.
        :param tip_frames: links that poses are for; empty for the group's tips.
        :param search_discretization: step of redundant joints [rad or m].
        :raises SolverError: when the solver does not serve the group.
        """
        self.base = KinematicsBase(
            kinematics.solver, kinematics.parameters, position_only=kinematics.position_only
        )
        ready = self.base.initialize(
            robot, kinematics.group, base_frame, tip_frames, search_discretization
        )
        if not ready:
            raise SolverError(self.base.reason)
        self._robot = robot
        self._chains: dict[str, ChainKinematics] = {}
        self.timeout = kinematics.timeout
        self.solver_name = kinematics.solver
        self.group_name = kinematics.group
        self.base_frame = self.base.get_base_frame()
        self.tip_frames = self.base.get_tip_frames()
        self.joint_names = robot.group(kinematics.group).joint_names
        self.variable_names = self.base.get_joint_names()
        self.link_names = self.base.get_link_names()
        self.state_names = robot.variable_names
        self.needs_state = self._needs_state()
        self._warm_up()

    def _needs_state(self) -> bool:
        """Return whether joints outside the group move its tips in its base frame."""
        goals = [PoseConstraint(frame_a=self.base_frame, frame_b=tip) for tip in self.tip_frames]
        problem = build_problem(self._robot.tree, self.joint_names, goals)
        return problem.nq != problem.group_size

    def _warm_up(self) -> None:
        """Send every kind of request once, for the pose of the default posture."""
        channel = self.open_channel()
        indices = self._robot.group(self.group_name).idx_q
        channel.seed[:] = self._robot.default_positions()[indices]
        channel.poses[:] = self.forward(self.tip_frames, channel.seed)
        channel.search(self.timeout)
        channel.search_by(self.timeout, 0, False, False, None, lambda q: SUCCESS, None)
        channel.nearest(0, None)
        channel.search_by(CYCLE, APPROXIMATE, False, False, None, None, None)

    def open_channel(self) -> 'Channel':
        """Return the arrays of one caller more."""
        shape = (len(self.tip_frames), len(self.variable_names), len(self.state_names))
        return Channel(self.base, *shape)

    def forward(self, links: Sequence[str], values: FloatArray) -> FloatArray:
        """
        Return the poses (k, 4, 4) of links in the base frame.

        :param links: names.
        :param values: (n) of the group's variables [rad or m].
        :raises SolverError: for an unknown link, by name, and for values that are not finite.
        """
        if values.shape != (len(self.variable_names),) or not np.isfinite(values).all():
            raise SolverError(f'The state has to hold {len(self.variable_names)} finite values.')
        poses = np.empty((len(links), 4, 4))
        for index, name in enumerate(links):
            poses[index] = self._chain(name).pose(values)
        return poses

    def _chain(self, link: str) -> ChainKinematics:
        """Return the chain from the base frame to a link."""
        chain = self._chains.get(link)
        if chain is None:
            known = self._robot.tree.link_index
            if link not in known:
                raise SolverError.unknown(f"There is no link '{link}'", link, known)
            group = self._robot.group(self.group_name)
            chain = ChainKinematics(self._robot, group, self.base_frame, link)
            self._chains[link] = chain
        return chain


class Channel:
    """The arrays over which one caller at a time sends requests to a group."""

    def __init__(self, base: KinematicsBase, tips: int, size: int, full_size: int) -> None:
        """
        Make the arrays; the host reads and writes them where they are.

        :param base: the group's kinematics.
        :param tips: number of poses.
        :param size: number of variables of the group.
        :param full_size: number of variables of the robot.
        """
        self.poses: FloatArray = np.zeros((tips, 4, 4))
        """In: poses of the tips in the base frame."""
        self.seed: FloatArray = np.zeros(size)
        """In: start of the search, and reference of distances."""
        self.limits: FloatArray = np.zeros(size)
        """In: consistency limits."""
        self.state: FloatArray = np.zeros(full_size)
        """In: the robot, read for joints outside the group."""
        self.solution: FloatArray = np.zeros(size)
        """Out: the solution, valid after SUCCESS."""
        self._base = base
        self._solve = base.get_solver().solve
        # Both arrays are read before a solver returns, so one request object serves all plain requests.
        self._plain = SolveRequest(targets=self.poses, seed=self.seed)
        self._is_plain = base.has_own_tips()
        self._last: IkResult | IkReply | None = None
        self._redundancy: tuple[Any, KinematicsBase] = (None, base)

    def search(self, timeout: float) -> int:
        """
        Search for a solution without any wishes; return MoveIt's code.

        :param timeout: budget [s], above zero.
        """
        if not self._is_plain:
            return self.search_by(timeout, 0, False, False, None, None, None)
        request = self._plain
        request.timeout = timeout
        result = self._last = self._solve(request)
        if not result.solved:
            return error_code_of(result)
        self.solution[:] = result.solutions[0]
        return SUCCESS

    def search_by(
        self,
        timeout: float,
        options: int,
        is_limited: bool,
        has_state: bool,
        redundancy: tuple[Sequence[int], Sequence[float]] | None,
        accepts: Accepts | None,
        cost: Cost | None,
    ) -> int:
        """
        Search for a solution with wishes; return MoveIt's code.

        The solution of the plain request nearly always meets the wishes. Only if it does not, a request with the wishes
        follows.

        :param timeout: budget [s], above zero.
        :param options: bits of the options.
        :param is_limited: whether the consistency limits count.
        :param has_state: whether :attr:`state` holds the values of all joints of the robot.
        :param redundancy: redundant joints by index, and their steps.
        :param accepts: returns SUCCESS for a valid candidate; None accepts all.
        :param cost: which of several solutions is the best.
        """
        left, seen = timeout, list[FloatArray]()
        is_plain = not (options & (LOCK_REDUNDANT | APPROXIMATE) or has_state or cost is not None)
        if self._is_plain and is_plain:
            begun = time.monotonic()
            code = self.search(timeout)
            left = max(timeout - (time.monotonic() - begun), SHORTEST)
            if code == SUCCESS:
                if self._is_near(is_limited) and (
                    accepts is None or accepts(self.solution) == SUCCESS
                ):
                    return SUCCESS
                seen.append(self.solution.copy())
            elif not is_limited:
                return code
        limits = self.limits.copy() if is_limited else None
        return self._keep(
            self._with(redundancy).search_position_ik(
                self.poses,
                self.seed.copy(),
                left,
                consistency_limits=limits,
                solution_callback=None if accepts is None else _except_for(seen, accepts),
                cost_function=None if cost is None else lambda pose, q, seed: cost(q),
                options=_read_options(options),
                context_state=self.state if has_state else None,
            )
        )

    def _is_near(self, is_limited: bool) -> bool:
        """Return whether the solution keeps the consistency limits, where they count."""
        return not is_limited or bool((np.abs(self.solution - self.seed) <= self.limits).all())

    def nearest(
        self, options: int, redundancy: tuple[Sequence[int], Sequence[float]] | None
    ) -> int:
        """
        Look for the solution next to the seed, without other starts; return MoveIt's code.

        :param options: bits of the options.
        :param redundancy: redundant joints by index, and their steps.
        """
        base = self._with(redundancy)
        return self._keep(
            base.get_position_ik(self.poses, self.seed.copy(), _read_options(options))
        )

    def several(
        self, options: int, method: int, redundancy: tuple[Sequence[int], Sequence[float]] | None
    ) -> tuple[FloatArray, int, float]:
        """
        Return solutions (k, n), nearest to the seed first, MoveIt's KinematicError, and the part that was solved.

        :param options: bits of the options.
        :param method: MoveIt's DiscretizationMethod.
        :param redundancy: redundant joints by index, and their steps.
        """
        replies = self._with(redundancy).get_position_ik_solutions(
            self.poses.copy(), self.seed.copy(), _read_options(options, method)
        )
        solutions = np.array(replies.solutions, dtype=np.float64).reshape(-1, len(self.seed))
        return solutions, int(replies.kinematic_error), replies.solution_percentage

    def reason(self) -> str:
        """Return a sentence about the last request for one solution; empty before the first request."""
        if isinstance(self._last, IkReply):
            return self._last.text
        return '' if self._last is None else self._last.summary()

    def is_approximate(self) -> bool:
        """Return whether the last solution is only as near as one comes."""
        return isinstance(self._last, IkReply) and self._last.is_approximate

    def _keep(self, reply: IkReply) -> int:
        """Write down a reply for the host."""
        self._last = reply
        if reply.solved:
            self.solution[:] = reply.solution
        return reply.error_code

    def _with(self, redundancy: tuple[Sequence[int], Sequence[float]] | None) -> KinematicsBase:
        """Return the kinematics with these redundant joints."""
        if redundancy is None:
            return self._base
        if self._redundancy[0] != redundancy:
            other = copy.copy(self._base)
            joints, steps = redundancy
            if not other.set_redundant_joints(joints):
                raise SolverError(f'There is no joint of every index in {list(joints)}.')
            other.set_search_discretization(dict(zip(joints, steps, strict=True)))
            self._redundancy = (redundancy, other)
        return self._redundancy[1]


def _except_for(seen: Sequence[FloatArray], accepts: Accepts) -> Callable[..., int]:
    """Return a callback that skips the candidates it has already refused, which may come back with other last digits."""

    def decide(pose: FloatArray, q: FloatArray) -> int:
        del pose
        apart = DEFAULT_TOLERANCES.same_solution
        is_known = any(np.allclose(q, old, rtol=0.0, atol=apart) for old in seen)
        return REFUSED if is_known else accepts(q)

    return decide


def _read_options(bits: int, method: int = 1) -> KinematicsQueryOptions:
    """Return the options that the host means."""
    return KinematicsQueryOptions(
        lock_redundant_joints=bool(bits & LOCK_REDUNDANT),
        return_approximate_solution=bool(bits & APPROXIMATE),
        discretization_method=DiscretizationMethod(method),
    )


def send_log(emit: Callable[[int, str], object], level: int) -> None:
    """
    Send the package's log messages to the host, from now on.

    :param emit: called with a level of :mod:`logging` and the text.
    :param level: the lowest level that the host wants.
    """
    logger = logging.getLogger('ssik_ros')
    for handler in [h for h in logger.handlers if isinstance(h, _HostHandler)]:
        logger.removeHandler(handler)
    logger.addHandler(_HostHandler(emit))
    logger.setLevel(level)
    logger.propagate = False


class _HostHandler(logging.Handler):
    """Hands records on to the host."""

    def __init__(self, emit: Callable[[int, str], object]) -> None:
        super().__init__()
        self._emit = emit

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on one record."""
        self._emit(record.levelno, record.getMessage())
