"""Choose the solver of an arm for the options of ``Manipulator.solve``, and keep up to 64 choices for later calls."""

from collections.abc import Mapping
from dataclasses import replace
import functools
import operator
from typing import Any

from ssik_ros.arguments import check_kind
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote, TopologyMismatch
from ssik_ros.manipulator.closed_form_solve import ArmClosedForm, ClosedFormSolve
from ssik_ros.manipulator.prepared_solve import PreparedSolve, SearchSolve
from ssik_ros.manipulator.solution import SolverFacts
from ssik_ros.manipulator.solve_settings import check_settings, NAMES, SolveSettings
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import IkSolver
from ssik_ros.solvers.auto.policy import (
    find_closed_form,
    Knowledge,
    knowledge_of_arm,
    TARGET_TOLERANCE,
    uses_closed_form,
)
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER, solver_schema, solver_spec

ANALYTIC = 'ssik_ros/Analytic'
ITERATIVE_TIER = 3
MOST_KEPT = 64
"""Combinations of options that an arm keeps prepared."""


class SolveChoice:
    """
    Chooses between closed form and search for one arm, and keeps prepared solves and solvers.

    Several threads may use it at once.
    """

    def __init__(
        self,
        robot: RobotModel,
        group: JointGroup,
        kinematics: ChainKinematics,
        policy: TolerancePolicy,
        seed: FloatArray,
    ) -> None:
        """
        Store the arm; solvers are made at their first use.

        :param robot, group, kinematics: the arm.
        :param policy: tolerances of solves that give none.
        :param seed: (n,) seed of solves that give none.
        """
        self._robot, self._group, self._kinematics = robot, group, kinematics
        self._policy, self._seed = policy, seed
        self._solvers: dict[tuple[str, str], IkSolver] = {}
        self._prepared: dict[Any, PreparedSolve] = {}
        self._last: tuple[str | None, tuple[str, ...], tuple[Any, ...], PreparedSolve | None]
        self._last = None, (), (), None

    @functools.cached_property
    def facts(self) -> SolverFacts:
        """Return name, tier and reason of the solver that solves without options."""
        if self.closed_form is not None:
            return self.closed_form.facts
        return SolverFacts(
            'numerical.pose_ik', ITERATIVE_TIER, self._no_closed_form, is_analytic=False
        )

    def solver(self, method: str = DEFAULT_SOLVER, **parameters: Any) -> IkSolver:
        """
        Return a solver for this arm; the same object for the same arguments.

        :param method: name of a solver.
        :param parameters: parameters of the solver.
        :raises SsikError: as :func:`ssik_ros.solvers.registry.create_solver`.
        """
        # The key is text: 5, 5.0 and True are equal as keys but not as parameters, and a list is not hashable.
        check_kind('method', method, str, 'the name of a solver')
        try:
            key = (method, repr(sorted(parameters.items())))
        except RecursionError:
            # A list contains itself: create_solver refuses the parameter and names it.
            return create_solver(method, self._robot, self._group, parameters)
        if key not in self._solvers:
            self._solvers[key] = create_solver(method, self._robot, self._group, parameters)
        return self._solvers[key]

    @functools.cached_property
    def default(self) -> PreparedSolve:
        """Return the prepared solve for calls without options, made at the first access."""
        return self._make_solve(None, {})

    @functools.cached_property
    def closed_form(self) -> ArmClosedForm | None:
        """
        Return the closed form of the arm; None if the arm has none.

        The first access chooses the closed form and stores the reason of a failure in ``_no_closed_form``.
        """

        def make() -> ArmClosedForm:
            chain = SerialChain.from_whole_group(self._robot, self._group)
            return ArmClosedForm(chain, self._policy)

        form, reason = find_closed_form(make)
        self._no_closed_form = reason and f'no closed form: {reason}'
        return form

    def require_closed_form(self) -> ArmClosedForm:
        """Return the closed form; raise TopologyMismatch if the arm has none."""
        if self.closed_form is None:
            raise TopologyMismatch(self._no_closed_form)
        return self.closed_form

    def prepare(self, method: str | None, options: Mapping[str, Any]) -> PreparedSolve:
        """
        Return the prepared solve for some options; the same object for the same options if they can be kept.

        Up to 64 of them are kept. Options that are not hashable, such as arrays, are prepared anew at each call.

        :param method: name of a solver; None for the choice of this arm.
        :param options: keywords of ``Manipulator.solve`` and parameters of the solver, by name.
        :raises ValueError, TypeError: for wrong options.
        :raises UnknownSolver: for a ``method`` that does not exist.
        """
        names, values = tuple(options), tuple(options.values())
        last_method, last_names, last_values, kept = self._last
        # The same object has the same type, too; equal ones need not have.
        is_alike = method is last_method and names == last_names
        if kept is not None and is_alike and all(map(operator.is_, values, last_values)):
            return kept
        # The key includes the types: 1, 1.0 and True are equal as keys, but not as values.
        key = (method, names, values, *map(type, values))
        try:
            prepared = self._prepared.get(key)
        except TypeError:
            return self._make_solve(method, options)
        if prepared is None:
            # The caller may change its options afterwards.
            prepared = self._make_solve(method, dict(options))
            if len(self._prepared) < MOST_KEPT:
                self._prepared[key] = prepared
        self._last = method, names, values, prepared
        return prepared

    def _make_solve(self, method: str | None, options: Mapping[str, Any]) -> PreparedSolve:
        """
        Check the options and return a new prepared solve.

        The closed form is used if it is named. It is also used if the arm has one, no method is named, and the options
        do not require a search.

        :param method: name of a solver; None lets the arm choose.
        :param options: settings of the solve and parameters of the solver, by name.
        :raises ValueError, TypeError: for wrong options.
        :raises TopologyMismatch: if the closed form is named, and the arm has none.
        :raises UnknownSolver: for a ``method`` that does not exist.
        """
        given = {name: value for name, value in options.items() if name in NAMES}
        parameters = {name: value for name, value in options.items() if name not in NAMES}
        if given.get('policy', DEFAULT_TOLERANCE_POLICY) is DEFAULT_TOLERANCE_POLICY:
            given['policy'] = self._policy
        settings = check_settings(self._group.joint_names, self._seed, given)
        if method is not None:
            check_kind('method', method, str, 'the name of a solver')
        checked = self._check_parameters(method or DEFAULT_SOLVER, parameters)
        if method == ANALYTIC:
            if parameters:
                raise InvalidOption(
                    f'{", ".join(parameters)}: the parameters of {ANALYTIC} are keywords of solve.'
                )
            return ClosedFormSolve(self.require_closed_form(), settings)
        form = self.closed_form
        knowledge = Knowledge.NOTHING if form is None else knowledge_of_arm(form.arm)
        if method is None and form is not None and uses_closed_form(knowledge, checked):
            return ClosedFormSolve(form, _within(settings, checked.get(TARGET_TOLERANCE)))
        solver = self.solver(method or DEFAULT_SOLVER, **parameters)
        facts = self.facts
        if facts.is_analytic or method is not None:
            facts = SolverFacts(solver.name, ITERATIVE_TIER, 'named by method', None, False)
        return SearchSolve(solver, self._kinematics, self._group, settings, facts)

    def _check_parameters(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return checked parameters of a solver by their main names.

        :param parameters: values by name or alias.
        :raises InvalidOption: for a name that is neither a keyword of ``solve`` nor a parameter of the solver.
        :raises InvalidParameter: for a value that the parameter does not allow.
        :raises UnknownSolver: for a ``method`` that does not exist, if there are parameters.
        """
        if not parameters:
            return {}
        spec = solver_spec(method)
        schema = solver_schema(spec)
        names = {*schema.names, *spec.parameter_aliases}
        for name in parameters:
            if name not in names:
                choices = {*names, *NAMES, 'explain', 'q_seed', 'seed', 'q0', 'method'}
                raise InvalidOption.unknown(
                    f'solve has no keyword {quote(name)}, and {method} no such parameter',
                    name,
                    choices,
                )
        return schema.check(parameters, spec.parameter_aliases)


def _within(settings: SolveSettings, tolerance: float | None) -> SolveSettings:
    """
    Return the settings with ``tolerance`` as the largest residual of a solution, if it is below the present one.

    Otherwise, or for None, return the settings unchanged.
    """
    if tolerance is None or tolerance >= settings.policy.fk_atol:
        return settings
    return settings._replace(policy=replace(settings.policy, subproblem_postverify=tolerance))
