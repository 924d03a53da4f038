"""
The default solver ``ssik_ros/Auto``: it chooses between closed form and searches for each chain and request.

:class:`AutoSolver` is its class. :mod:`ssik_ros.solvers.auto.policy` chooses the methods;
:mod:`ssik_ros.solvers.auto.general_requests` runs them in order. ``solve_mode: optimize_distance`` asks for the
solution nearest to the seed. Parameters that only PoseIK has select PoseIK.
"""

from collections.abc import Callable

from ssik_ros.errors import counted, list_names
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.solvers.auto.general_requests import GeneralRequests
from ssik_ros.solvers.auto.methods import GroupMethods, NAME
from ssik_ros.solvers.auto.plain_requests import ClosedForm, PlainRequests
from ssik_ros.solvers.auto.policy import (
    Knowledge,
    SolveMethod,
    Wanted,
)
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.solver import SearchSolver


class AutoSolver:
    """Chooses between closed form and searches for each request to one group; several threads may call it at once."""

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        options: PoseIkOptions | None = None,
        *,
        position_only: bool = False,
    ) -> None:
        """
        Find the closed form of the chain, if it has one, and prepare the search.

        :param robot: the robot.
        :param group: one of its groups.
        :param options: parameters; None means the defaults.
        :param position_only: leave the orientation of targets free.
        """
        self.name = NAME
        self.robot, self.group = robot, group
        self.options = options or PoseIkOptions()
        self.joint_names = group.joint_names
        self.base_frame, self.tip_frames = group.base_link, group.tips
        self._methods = GroupMethods(robot, group, self.options, position_only=position_only)
        self._general = GeneralRequests(self._methods)
        self.plain = self._make_plain()
        """The fast path for plain requests; None if this chain needs the general one."""
        self.solve: Callable[[SolveRequest], IkResult]
        self.solve = self.plain.solve if self.plain else self._general.solve
        """Solve one request; see :meth:`ssik_ros.solvers.auto.plain_requests.PlainRequests.solve`."""

    def _make_plain(self) -> PlainRequests | None:
        """
        Return the fast path, which solves plain requests by one kernel call; None if it cannot be used.

        It needs a group with one tip, whose pose no joint outside the group changes, and options that do not select
        PoseIK. If the nearest solution is wanted, the closed form must be complete and fast.
        """
        first = self._methods.first_starts
        reads_state = first.problem.nq != first.problem.group_size
        if self._methods.uses_pose_ik or len(self.tip_frames) != 1 or reads_state:
            return None
        is_fast = self._methods.knowledge == Knowledge.ALL_AT_ONCE
        if self._methods.wanted == Wanted.NEAREST and not is_fast:
            return None
        if self._methods.closed_form is None or not self._methods.is_complete:
            return PlainRequests(first, self._general.solve)
        follows_seed = self._methods.wanted == Wanted.ONE
        closed_form = ClosedForm(self._methods.closed_form.arm, follows_seed, is_fast)
        return PlainRequests(first, self._general.solve, closed_form)

    @property
    def knowledge(self) -> Knowledge:
        """Return how many branches of a pose this solver finds; NOTHING if PoseIK solves every request."""
        return Knowledge.NOTHING if self._methods.uses_pose_ik else self._methods.knowledge

    @property
    def search(self) -> SearchSolver:
        """Return the search that runs first: PoseIK if it solves every request, otherwise Levenberg-Marquardt."""
        return self._methods.pose_ik if self._methods.uses_pose_ik else self._methods.first_starts

    @property
    def has_closed_form(self) -> bool:
        """Return whether some requests are solved by a closed form."""
        return self._methods.closed_form is not None and not self._methods.uses_pose_ik

    @property
    def tier(self) -> str:
        """Return ``closed_form``, ``elimination`` or ``search`` if the closed form comes first, otherwise ``iterative``."""
        closed_form, first = self._methods.closed_form, self._methods.usual[0]
        if closed_form is None or first != SolveMethod.CLOSED_FORM:
            return 'iterative'
        return closed_form.tier

    @property
    def reason(self) -> str:
        """Return a text: which method solves a request for one solution, and why."""
        closed_form, first = self._methods.closed_form, self._methods.usual[0]
        if closed_form is None:
            why_none = self._methods.why_no_closed_form
            return f'{first.value}, as there is no closed form ({why_none})'
        if first == SolveMethod.CLOSED_FORM:
            return closed_form.reason
        if self._methods.uses_pose_ik:
            return f'{first.value}, as the nearest posture is no sample of {closed_form.reason}'
        return f'{first.value} for one solution; for several {closed_form.reason}'

    def reason_for(self, request: SolveRequest) -> str:
        """
        Return a text: which method solves a given request first, and why.

        :param request: any request.
        """
        closed_form, methods = self._methods.closed_form, self._methods.for_request(request)
        if closed_form is None or self._methods.uses_pose_ik:
            return self.reason
        if SolveMethod.CLOSED_FORM not in methods:
            held = list_names(request.locked or ())
            return f'{methods[0].value}, as with {held} locked a pose is reached by chance only'
        if request.max_solutions > 1:
            return f'{closed_form.reason}; it knows several solutions'
        if self._methods.wanted == Wanted.NEAREST:
            return f'{closed_form.reason}; it knows which of all branches is the nearest'
        if methods[0] == SolveMethod.CLOSED_FORM:
            return f'{closed_form.reason}; a seed that is near is followed by {methods[1].value} instead'
        starts = self._methods.first_starts.settings.slimit
        return (
            f'{methods[0].value}, as one solution takes less time than {closed_form.reason}, which is called '
            f'when {counted(starts, "start")} find nothing'
        )

    def warm_up(self) -> None:
        """Do all set-up that would otherwise delay the first request."""
        closed_form = self._methods.closed_form
        if closed_form is None or self._methods.uses_pose_ik:
            self._methods.pose_ik.warm_up()
        self._methods.first_starts.warm_up()
        if closed_form is not None:
            closed_form.warm_up()
            self.solve(SolveRequest(targets=closed_form.chain.home.copy()))
