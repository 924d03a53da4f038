"""Check the arrays of requests to a search, and make the kernel options of requests with special fields."""

import numpy as np

from ssik_ros.arguments import read_count
from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.search import state
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.problem.problem import Problem
from ssik_ros.problem.request_fields import RequestReader
from ssik_ros.problem.request_limits import narrow_limits, Variables
from ssik_ros.solvers.search.settings import joint_rows, tip_tolerances


class SearchRequests(RequestReader):
    """
    Checks the requests of one solver and converts them to kernel arrays; several threads may use it at once.

    Variables of joints outside the group that still move a tip are called passive.
    """

    def __init__(
        self,
        name: str,
        robot: RobotModel,
        group: JointGroup,
        problem: Problem,
        tips: tuple[str, ...],
        packed: FloatArray,
        start: FloatArray,
    ) -> None:
        """
        Store the sizes and defaults that requests are checked against.

        :param name: name of the solver, for messages.
        :param robot, group, problem: robot, group and packed problem of the solver.
        :param tips: links that have a target.
        :param packed: kernel options of plain requests.
        :param start: (nq,) first start of a request without a seed.
        """
        super().__init__(name, robot, group, tips)
        self._problem = problem
        self._packed, self._start = packed, start
        self._size = problem.group_size
        self.defaults = robot.default_positions()[problem.idx_q]
        """Values of passive variables if a request has no state (nq,); values of the group are not used."""
        self._passive = problem.nq != problem.group_size
        self._variables = Variables.of_problem(problem, group)

    def write_seed(self, request: SolveRequest, reference: FloatArray) -> None:
        """
        Write the seed of a request into ``reference`` (nq,); without a seed, the default start.

        Variables of joints outside the group come from the state of the request, or from their defaults.

        :raises RequestError: for a seed or a state of another shape, and for values that are not numbers.
        """
        seed, size = request.seed, self._size
        if seed is None:
            reference[:] = self._start
        else:
            reference[:size] = self.seed(seed)
        if self._passive:
            passive = self.defaults
            if request.state is not None:
                passive = self._robot.tree.full_state(request.state)[self._problem.idx_q]
            reference[size:] = passive[size:]

    def full_states(self, seeds: FloatArray | None) -> FloatArray:
        """
        Return seeds as full states (k, nq); joints outside the group have their default values.

        :param seeds: (k, n); None returns the default start (1, nq).
        """
        if seeds is None:
            return self._start[None].copy()
        states = np.tile(self._start, (len(seeds), 1))
        states[:, : self._size] = seeds
        return states

    def is_special(self, request: SolveRequest) -> bool:
        """
        Return whether a request has a special field, for which :meth:`options` makes kernel options of its own.

        Special fields are limits, a tolerance, a validation, locked joints, a number of searches, ``wants_nearest`` and
        a ``max_solutions`` that is not a positive int. All requests are special if joints outside the group move a tip.
        """
        return bool(
            self._passive
            or request.validate is not None
            or request.tolerance is not None
            or request.lower is not None
            or request.upper is not None
            or request.consistency_limits is not None
            or request.max_searches is not None
            or request.wants_nearest
            or type(request.max_solutions) is not int
            or request.max_solutions < 1
            or request.locked
        )

    def options(
        self, request: SolveRequest, problem: Problem, seed: FloatArray
    ) -> FloatArray | None:
        """
        Return the kernel's options for a request with special fields.

        Return None if the limits of the request exclude all values of a joint.

        :param problem: packed problem, with the tools of the request.
        :param seed: (nq,) seed, joints outside the group included.
        :raises RequestError: for a malformed field of the request.
        :raises JointNotFound, InvalidLimits: for an unknown locked joint, a joint locked outside its limits, and a
            lower limit above an upper limit.
        """
        read_count('max_solutions', request.max_solutions, 1)
        options = self._packed.copy()
        options[state.VALIDATED] = float(request.validate is not None)
        options[state.KEEPS_LOOKING] = float(request.wants_nearest)
        if request.max_searches is not None:
            options[state.MAX_SEARCHES] = read_count('max_searches', request.max_searches, 1)
        rows = joint_rows(options, problem.nv)
        lower, upper = rows[state.LOWER], rows[state.UPPER]
        room = narrow_limits(request, self._variables, seed, lower, upper)
        if request.tolerance is not None:
            norm = tip_tolerances(options, problem.nv, len(self._tips))[state.NORM]
            norm[:] = self.tolerance(request.tolerance)
        if not room:
            return None
        for row in (state.SAMPLING_LOWER, state.SAMPLING_UPPER):
            np.clip(rows[row], lower, upper, out=rows[row])
        return options
