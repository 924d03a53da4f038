"""
The Robotics Toolbox's functions ``ik_NR``, ``ik_GN`` and ``ik_LM``, which are methods of ``Manipulator``, too.

>>> q, success, iterations, searches, residual = ik_LM(arm, Tep)

Names, order and defaults of the arguments are the Robotics Toolbox's, with more arguments after them. The criterion is
E = e^T W e / 2 < ``tol``, as there. Only ``method`` and ``k`` of ``ik_LM`` have other defaults. Here the damping
follows the success of the steps (``'adaptive'``), there it is ``'chan'`` with k = 1. With ``joint_limits``, most
searches keep the limits at every step, while the toolbox checks limits after a search. Without success ``q`` is the
best state of all searches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import (
    check_callable,
    check_kind,
    read_flag,
    read_number,
    read_numbers,
    refuse,
    shown,
)
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    describe_choices,
    DimensionMismatch,
    InvalidOption,
    InvalidTarget,
    quote,
    RequestError,
)
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.search import paths, plain_request, state
from ssik_ros.manipulator.newton_solution import IkSolution, IkSolutions, make_solution, Report
from ssik_ros.manipulator.solve_settings import count_threads, repair_target
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest, Validation
from ssik_ros.problem.pose_input import read_pose_or_poses
from ssik_ros.problem.problem import Rows
from ssik_ros.problem.request_fields import nanoseconds
from ssik_ros.results import Cause
from ssik_ros.solvers.search.newton.stacks import solve_each, solve_path, StackResult
from ssik_ros.solvers.search.newton.tracker import Tracker
from ssik_ros.solvers.search.settings import make_settings, SearchSettings
from ssik_ros.solvers.search.solver import Run, SearchSolver
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import NEW_TUPLE

NO_CAUSE = Cause.NONE
FOUND, MISSHAPEN = state.FOUND, plain_request.MISSHAPEN
NDARRAY = np.ndarray
EMPTY = np.empty
FLOAT64 = np.dtype(np.float64)
MOST_SOLVERS = 64
"""Combinations of arguments whose solvers an arm keeps."""
JUMP = 0.5
"""Step between neighbouring poses that counts as a jump, unless told otherwise [rad or m]."""
REQUEST = (
    'rows',
    'normalize',
    'timeout',
    'validate',
    'independent',
    'threads',
    'max_joint_step',
    'jump_threshold',
)
"""Keywords that are not settings of the search."""


class Chain(Protocol):
    """Interface of the arms that :func:`ik_NR`, :func:`ik_GN` and :func:`ik_LM` take."""

    @property
    def newton_family(self) -> 'NewtonFamily':
        """Return the Newton solvers of the arm."""
        ...


class NewtonFamily:
    """
    The Newton solvers of one arm: makes a solver for each combination of settings, and solves poses by them.

    A solver is made at its first use. At most 64 entries are kept.
    """

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Store the robot and the group of the arm; solvers are made at their first use.

        :param robot: the robot.
        :param group: one of its groups, with one tip.
        """
        self._robot, self._group = robot, group
        self._solvers: dict[Any, SearchSolver] = {}
        self.last: tuple[Any, Any] = (None, None)
        """The arguments that were used last, and their solver."""
        self._size = group.variable_count

    def solver(
        self, mask: ArrayLike | None, rows: Rows | None, settings: Mapping[str, Any]
    ) -> SearchSolver:
        """
        Return the solver for settings; the same object for the same settings while it is one of the 64 newest.

        :param mask: (6,) weights of the six components of the pose error; None means ones.
        :param rows: rows of the pose error, each with its own axis, instead of a mask.
        :param settings: fields of :class:`ssik_ros.solvers.search.settings.SearchSettings`.
        :raises InvalidOption: if both mask and rows are given, and for invalid settings.
        :raises DimensionMismatch, JointNotFound, InvalidLimits: as :class:`SearchSolver`.
        """
        checked = make_settings(settings)
        error_rows = _rows(mask, rows)
        key = (checked, error_rows.weights.tobytes(), rows if rows is None else id(rows))
        solver = self._solvers.get(key)
        if solver is None:
            solver = SearchSolver(self._robot, self._group, checked, rows=error_rows)
            self.keep(key, solver)
        return solver

    def get(self, key: Any) -> SearchSolver | None:
        """
        Return the solver that is stored under a key by :meth:`keep`; None for an unknown key.

        :param key: settings of the solver as a tuple.
        """
        return self._solvers.get(key)

    def keep(self, key: Any, solver: SearchSolver) -> None:
        """
        Store a solver under a key; if 64 solvers are stored, drop the oldest one.

        :param key: settings of the solver as a tuple.
        :param solver: the solver.
        """
        if key not in self._solvers and len(self._solvers) >= MOST_SOLVERS:
            del self._solvers[next(iter(self._solvers))]
        self._solvers[key] = solver

    def one(self, solver: SearchSolver, target: FloatArray, q0: ArrayLike | None) -> IkSolution:
        """
        Solve one pose by the fast path, without timeout and validation.

        Without success, the result has the best state and the cause.

        :param target: (4, 4) pose of the end effector in the base, of float64.
        :param q0: (n,) first start; None means the arm's default seed.
        :raises RequestError: for a target or a start of another form, and for a target that is not rigid.
        :raises InvalidLimits: if further starts cannot be drawn, because a sliding joint lacks a limit.
        """
        single, pool = solver.single, solver.single.idle
        start: Any = q0
        if q0 is None:
            start = single.start
        # The kernel checks the sizes of seed and target.
        elif not (type(q0) is NDARRAY and q0.dtype is FLOAT64 and q0.ndim == 1):
            start = solver.requests.seed(read_numbers('q0', q0))
        try:
            arrays = pool.pop()
        except IndexError:
            arrays = single.make_arrays()
        q = EMPTY(single.size)
        report = single.solve(arrays.address, 0, single.flag, start, target, q)
        if report[0] != FOUND:
            if report[0] == MISSHAPEN:
                _read_poses(target, False)
                solver.requests.seed(start)
            facts = (*report[:3], report[7], *report[4:6])
            failure = self._failure(solver, facts, arrays, q, target)
            pool.append(arrays)
            return failure
        pool.append(arrays)
        solution = NEW_TUPLE(IkSolution, (q, True, report[1], report[2], report[7]))
        solution._facts = (report, self._group, NO_CAUSE, False)
        return solution

    def one_checked(
        self,
        solver: SearchSolver,
        target: FloatArray,
        q0: ArrayLike | None,
        timeout_ns: int,
        validate: Validation | None,
    ) -> IkSolution:
        """
        Solve one pose with a time budget, a validation, or both.

        Without success, the result has the best state and the cause; malformed input raises an error.

        :param target: (4, 4) pose of the end effector in the base.
        :param q0: (n,) first start; None means the arm's default seed.
        :param timeout_ns: budget [ns]; 0 sets no limit.
        :param validate: called with a candidate (n,); False rejects it. None accepts every candidate.
        :raises RequestError: for a start of another form, and for a target that is not rigid.
        :raises InvalidLimits: if further starts cannot be drawn, because a sliding joint lacks a limit.
        """
        request = SolveRequest(target, validate=validate)
        arrays, out = solver.borrow(), np.empty((2, solver.width))
        arrays.reference[:] = solver.start
        if q0 is not None:
            arrays.reference[: self._size] = solver.requests.seed(read_numbers('q0', q0))
        arrays.matrices[0] = target
        options = solver.packed.copy()
        options[state.VALIDATED] = float(validate is not None)
        try:
            run = Run(solver.problem, options, arrays, out, request)
            code = solver.run(run, timeout_ns)
            counters, nq = arrays.counters, solver.problem.nq
            work = counters.item(state.ITERATIONS), counters.item(state.SEARCHES)
            if code != FOUND:
                norm = arrays.scalars.item(state.BEST_ERROR)
                report = (code, *work, 0.5 * norm * norm, *arrays.errors.tolist())
                return self._failure(solver, report, arrays, arrays.best[: self._size], target)
            norm = arrays.scalars.item(state.ERROR)
            report = (code, *work, 0.5 * norm * norm, *out[0, nq : nq + 2].tolist())
            values = (out[0, : self._size], True, *report[1:4])
            return make_solution(values, (report, self._group, NO_CAUSE, False))
        finally:
            solver.give_back(arrays)

    def _failure(
        self, solver: SearchSolver, report: Report, arrays: Any, q: FloatArray, target: FloatArray
    ) -> IkSolution:
        """
        Return the result of a search without a solution, with a copy of its best state ``q``.

        Raise InvalidTarget or RequestError if target or start is malformed. Raise InvalidLimits if starts cannot be
        drawn, because a sliding joint lacks a limit.

        :param report: code, iterations, searches, residual, position error [m] and rotation error [rad] of the search.
        :param arrays: arrays of the search.
        :param target: (4, 4) pose that was searched.
        """
        code = report[0]
        if code == state.BAD_TARGET:
            repair_target(np.array(target, dtype=np.float64), DEFAULT_TOLERANCES.rigid)
            raise InvalidTarget(f'Tep is no finite rigid transform: {target}.', target=target)
        if code == state.BAD_STATE:
            raise RequestError(f'q0 {joint_values.describe_unusable(arrays.reference)}.')
        if code == state.UNSAMPLED:
            variable = int(arrays.counters[state.UNSAMPLED_VARIABLE])
            raise solver.failures.unsampled(variable)
        clock_ended = code in (state.DEADLINE, state.CANCELLED)
        cause = solver.failures.explain(code, arrays.counters, target)[1]
        facts = (report, self._group, cause, clock_ended)
        return make_solution((q.copy(), False, *report[1:4]), facts)

    def many(
        self,
        solver: SearchSolver,
        targets: FloatArray,
        q0: ArrayLike | None,
        independent: bool = False,
        threads: int | None = None,
        max_joint_step: ArrayLike | None = None,
        jump_threshold: float = JUMP,
    ) -> IkSolutions:
        """
        Solve a stack of poses (N, 4, 4), either as a path or independently.

        On a path, the search for a pose starts at the solution of the pose before it. Then ``max_joint_step`` limits
        each step; without it, steps above ``jump_threshold`` are taken only if no shorter one is found.

        :param q0: (n,) first start, or (N, n) for independent poses; None means the arm's default seed.
        :param independent: True solves each pose for itself, with up to ``threads`` threads.
        :raises ValueError: for a ``q0`` of another shape or with unusable values. Also if further starts cannot be
            drawn, because a sliding joint lacks a limit.
        :raises TypeError: for ``max_joint_step`` with independent poses, and for several starts on a path.
        """
        seeds = None
        if q0 is not None:
            seeds = read_numbers('q0', q0)
            if seeds.ndim != 2:
                seeds = solver.requests.seed(seeds)[None]
            if seeds.shape[1] != self._size or len(seeds) not in (1, len(targets)):
                raise DimensionMismatch(
                    f'q0 must have the shape ({self._size},) or ({len(targets)}, {self._size}), not '
                    f'{np.shape(q0)}.'
                )
            if not joint_values.are_usable(seeds):
                raise RequestError(f'q0 {joint_values.describe_unusable(seeds)}.')
        if independent:
            if max_joint_step is not None:
                raise InvalidOption('max_joint_step belongs to paths: leave out independent=True.')
            stack = solve_each(solver, targets, seeds, count_threads(threads))
        else:
            if seeds is not None and len(seeds) > 1:
                raise InvalidOption('One q0 for each pose needs independent=True.')
            wish = jump_threshold if max_joint_step is None else max_joint_step
            bounds = np.broadcast_to(read_numbers('max_joint_step', wish), (self._size,))
            seed = None if seeds is None else seeds[0]
            hard = max_joint_step is not None
            stack = solve_path(solver, targets, seed, np.array(bounds), hard)
        return self._stacked(stack, jump_threshold)

    def _stacked(self, stack: StackResult, jump_threshold: float) -> IkSolutions:
        """Convert the arrays of a stack of poses to :class:`IkSolutions`."""
        q, numbers, codes, causes = stack
        success = codes[:, paths.CODE] == state.FOUND
        columns = (codes[:, paths.ITERATIONS], codes[:, paths.SEARCHES], numbers[:, 0])
        result = IkSolutions((q, success, *columns))
        result.causes = causes
        result.position_errors, result.rotation_errors = numbers[:, 1], numbers[:, 2]
        result.jump_threshold = float(jump_threshold)
        result.endless = np.isinf(self._group.lower) & np.isinf(self._group.upper)
        return result

    def solve(
        self, solver: SearchSolver, Tep: Any, q0: ArrayLike | None, request: Mapping[str, Any]
    ) -> IkSolution | IkSolutions:
        """
        Solve one pose or a stack of poses.

        Return IkSolution for one pose, IkSolutions for a stack.

        :param Tep: pose or poses in any form that :func:`ik_LM` takes.
        :param q0: first start; None means the arm's default seed.
        :param request: options of the call that are not settings of the solver, such as ``timeout`` and
            ``independent``.
        :raises InvalidOption: for an option of stacks with one pose, or the reverse.
        :raises TypeError, ValueError: for poses, starts and values of options of a wrong form.
        """
        targets = _read_poses(Tep, read_flag('normalize', request.get('normalize', False)))
        stack_options = {
            name: request[name]
            for name in ('independent', 'threads', 'max_joint_step', 'jump_threshold')
            if name in request
        }
        if targets.ndim == 3:
            for name in ('timeout', 'validate'):
                if request.get(name) is not None:
                    raise InvalidOption(f'{name} belongs to single poses, not to stacks.')
            return self.many(solver, targets, q0, **stack_options)
        if stack_options:
            raise InvalidOption(f'{", ".join(stack_options)}: only for stacks of poses.')
        timeout, validate = request.get('timeout'), request.get('validate')
        if validate is not None:
            check_callable('validate', validate)
        if timeout is None and validate is None:
            return self.one(solver, targets, q0)
        timeout_ns = 0 if timeout is None else nanoseconds(read_number('timeout', timeout))
        return self.one_checked(solver, targets, q0, timeout_ns, validate)

    def tracker(self, q0: ArrayLike, options: Mapping[str, Any]) -> Tracker:
        """
        Return a tracker for a control loop: each ``track(target)`` moves the joints by one cycle, starting at ``q0``.

        :param q0: (n,) where the arm is [rad or m].
        :param options: options of the tracker and of its search, ``mask`` and ``rows`` included.
        :raises InvalidOption: for an unknown option.
        :raises TypeError, ValueError: as :class:`Tracker`, and for values of search options of a wrong form.
        """
        names = ('dt', 'velocity_limits', 'acceleration_limits', 'max_iterations')
        more = ('max_joint_step', 'mask', 'rows', 'method')
        allowed = {*names, *more, *SearchSettings.__dataclass_fields__}
        for name in sorted(options.keys() - allowed):
            raise InvalidOption.unknown(
                f'A tracker has no option {quote(name)}', name, allowed - {'law'}
            )
        tracker_options = {name: options[name] for name in names if name in options}
        settings = {name: value for name, value in options.items() if name not in names}
        if 'max_joint_step' in settings:
            tracker_options['max_step'] = settings.pop('max_joint_step')
        mask, rows = settings.pop('mask', None), settings.pop('rows', None)
        settings.setdefault('law', settings.pop('method', 'adaptive'))
        settings.setdefault('pos_tol', 1e-6)
        settings.setdefault('rot_tol', 1e-6)
        return Tracker(self.solver(mask, rows, settings), q0, **tracker_options)


def ik_NR(
    chain: Chain,
    Tep: Any,
    q0: ArrayLike | None = None,
    ilimit: int = 30,
    slimit: int = 100,
    tol: float = 1e-6,
    mask: ArrayLike | None = None,
    joint_limits: bool = True,
    pinv: bool = True,
    pinv_damping: float = 0.0,
    seed: int | None = None,
    pos_tol: float | None = None,
    rot_tol: float | None = None,
    **options: Any,
) -> Any:
    """
    Solve one pose or a stack of poses by Newton-Raphson, q += J^+ e.

    Other arguments, result and errors are as for :func:`ik_LM`.

    :param pinv: use the pseudo-inverse; False needs as many joints as rows, and gives a search up where the inverse
        does not exist.
    :param pinv_damping: damping d of the pseudo-inverse: s / (s^2 + d^2) in place of 1 / s for each singular value s.
        Up to five last updates of a search are not damped, because damping slows convergence.
    """
    key = (
        *('newton', ilimit, slimit, tol, joint_limits, pinv, pinv_damping),
        *(seed, pos_tol, rot_tol),
    )
    return _solve(chain, Tep, q0, mask, key, options)


def ik_GN(
    chain: Chain,
    Tep: Any,
    q0: ArrayLike | None = None,
    ilimit: int = 30,
    slimit: int = 100,
    tol: float = 1e-6,
    mask: ArrayLike | None = None,
    joint_limits: bool = True,
    pinv: bool = True,
    pinv_damping: float = 0.0,
    seed: int | None = None,
    pos_tol: float | None = None,
    rot_tol: float | None = None,
    **options: Any,
) -> Any:
    """
    Solve one pose or a stack of poses by Gauss-Newton, q += (J^T W J)^-1 J^T W e.

    Arguments, result and errors are as for :func:`ik_LM`, ``pinv`` as for :func:`ik_NR`.

    :param pinv_damping: as for :func:`ik_NR`; the toolbox ignores it here.
    """
    key = (
        *('gauss', ilimit, slimit, tol, joint_limits, pinv, pinv_damping),
        *(seed, pos_tol, rot_tol),
    )
    return _solve(chain, Tep, q0, mask, key, options)


def ik_LM(
    chain: Chain,
    Tep: Any,
    q0: ArrayLike | None = None,
    ilimit: int = 30,
    slimit: int = 100,
    tol: float = 1e-6,
    mask: ArrayLike | None = None,
    joint_limits: bool = True,
    k: float | None = None,
    method: str = 'adaptive',
    seed: int | None = None,
    pos_tol: float | None = None,
    rot_tol: float | None = None,
    **options: Any,
) -> Any:
    """
    Solve one pose or a stack of poses by Levenberg-Marquardt, q += (J^T W J + A)^-1 J^T W e.

    The default ``method='adaptive'`` is not the toolbox's; ``method='chan'`` with ``k=1.0`` is.

    :param chain: an arm, such as a :class:`ssik_ros.Manipulator`.
    :param Tep: (4, 4) pose of the end effector in the base, an (N, 4, 4) stack of them, or an object with such
        an array as ``.A``.
    :param q0: (n,) first start, and the state that the windings of the solution are nearest to [rad or m]; None: the
        arm's default seed, see :attr:`ssik_ros.Manipulator.neutral`.
    :param ilimit: most updates of one search.
    :param slimit: most searches.
    :param tol: a solution has E = e^T W e / 2 < tol: 1e-6 allows 1.4 mm or 1.4 mrad.
    :param mask: (6,) weights W of x, y, z and the rotations about them, in the axes of the base; 0 frees a row.
    :param joint_limits: keep the limits.
    :param k: damping in the sense of ``method``; None: 1 for chan, 1e-4 for wampler and sugihara, 0.01 for adaptive.
    :param method: A is k E I (``chan``), k I (``wampler``), (E + k) I (``sugihara``), or follows the success of the
        steps (``adaptive``). Up to five last updates of a search by ``wampler`` or ``sugihara`` go without A.
    :param seed: number of the sequence of starts; the same one gives the same bytes. None is a fixed number, too.
    :param pos_tol, rot_tol: largest position error [m] and rotation error [rad] of a solution, in addition to ``tol``.
    :param options: further options

        - ``rows``: :class:`ssik_ros.Rows` instead of a mask: axes, boxes, axis alignment, spin.
        - ``hold``: values of joints that are held, by name.
        - ``kq``, ``ps``, ``pi``: keep away from limits nearer than ``pi`` within the null space; ``km``: raise
          manipulability; ``kp``, ``posture``: stay near a posture.
        - ``joint_weights``: (n,) price of moving each joint; ``max_step``: longest joint step of an update [rad].
        - ``sample_range``: (low, high), which replace missing limits of joints when starts are drawn.
        - ``gives_up``: False lets every search go on to ``ilimit``.
        - ``normalize``: project a rotation that is not quite one instead of refusing it.
        - ``timeout`` [s] and ``validate(q)``, for single poses.
        - For stacks: each pose starts from the solution before it. ``max_joint_step``: largest step of each joint, kept
          even if no solution is within it; ``jump_threshold``: step above which ``jumps`` names a pose (0.5);
          ``independent=True``: every pose on its own, over ``threads`` threads, with one q0 or one for each.
    :returns: :class:`IkSolution` or, for a stack, :class:`IkSolutions`: both unpack as ``(q, success, iterations,
        searches, residual)``.
    :raises ValueError: for poses, seeds, masks and options that are malformed. Also if the first start fails, and other
        starts cannot be drawn because a sliding joint lacks a limit.
    """
    key = (method, ilimit, slimit, tol, joint_limits, k, seed, pos_tol, rot_tol)
    return _solve(chain, Tep, q0, mask, key, options)


_SHARED = ('law', 'ilimit', 'slimit', 'tol', 'joint_limits')
_LAST = ('seed', 'pos_tol', 'rot_tol')
_INVERSE = (*_SHARED, 'pinv', 'pinv_damping', *_LAST)
_DAMPED = (*_SHARED, 'k', *_LAST)
_NAMES = {len(names): names for names in (_INVERSE, _DAMPED)}
"""Names of the settings in a key of so many values."""


def _solve(
    chain: Chain,
    Tep: Any,
    q0: ArrayLike | None,
    mask: ArrayLike | None,
    key: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """
    Find or make the solver for the arguments of ``ik_NR``, ``ik_GN`` or ``ik_LM``, and return its result.

    Raise InvalidOption if ``chain`` is not an arm, and for invalid settings.

    :param key: the settings among the arguments, in the order of the signature.
    :param options: further keyword options; the options of the call are removed.
    """
    try:
        family = chain.newton_family
    except AttributeError:
        raise InvalidOption(
            f'The chain must be an arm such as a Manipulator, not {type(chain).__name__}.',
            name='chain',
        ) from None
    # True and 1.0 equal 1 as keys, but are not valid counts.
    if mask is None and not options and type(key[1]) is type(key[2]) is int:
        last_key, solver = family.last
        try:
            cached = solver if last_key == key else family.get(key)
        except (OverflowError, TypeError, ValueError):
            # `make_settings` refuses a value that is not a scalar, and names it.
            last_key = cached = None
        if cached is not solver or last_key is None:
            solver = cached or family.solver(None, None, _named(key))
            family.keep(key, solver)
            family.last = key, solver
        if type(Tep) is NDARRAY and Tep.dtype is FLOAT64 and Tep.ndim == 2:
            return family.one(solver, Tep, q0)
        return family.solve(solver, Tep, q0, {})
    request = {name: options.pop(name) for name in REQUEST if name in options}
    settings = _named(key) | _checked_names(options, _NAMES[len(key)])
    solver = family.solver(mask, request.get('rows'), settings)
    return family.solve(solver, Tep, q0, request)


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    """
    Return the settings of a key as a dictionary by name.

    Raise InvalidOption if the key is from :func:`ik_LM` and has an unknown method.

    :param values: the settings in the order of the signature of ``ik_NR``, ``ik_GN`` or ``ik_LM``.
    """
    named = dict(zip(_NAMES[len(values)], values, strict=True))
    if 'k' in named and not isinstance(named['law'], str):
        refuse('method', named['law'], 'a word')
    if 'k' in named and named['law'] not in ('chan', 'wampler', 'sugihara', 'adaptive'):
        choices = ('adaptive', 'chan', 'wampler', 'sugihara')
        raise InvalidOption(
            f'method is {shown(named["law"])}. {describe_choices(shown(named["law"]), choices)}',
            name='method',
        )
    return named


def _checked_names(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """
    Return a copy of the keyword options; raise InvalidOption for an option that is already an argument.

    Such a name is ``law``, which is the argument ``method``. Unknown names are refused later by :func:`make_settings`.

    :param names: names of the settings that come from arguments.
    """
    for name in options:
        if name in names:
            raise InvalidOption(f'There is no option {quote(name)} here.', name=name)
    return dict(options)


def _rows(mask: ArrayLike | None, rows: Rows | None) -> Rows:
    """
    Return the rows of the pose error from a mask or from ``rows``; all six with weight 1 if both are None.

    The weights of rows are square roots of the weights in a mask. Raise InvalidOption if both are given, and for wrong
    values. Raise DimensionMismatch for a mask of another shape.

    :param mask: (6,) weights that are finite, not negative and not all zero.
    """
    if mask is None:
        return Rows() if rows is None else check_kind('rows', rows, Rows)
    if rows is not None:
        raise InvalidOption('Give a mask or rows, not both.', name='mask')
    weights = read_numbers('mask', mask)
    if weights.shape != (6,):
        raise DimensionMismatch(
            f'A mask has 6 weights, not the shape {weights.shape}.',
            expected=(6,),
            actual=weights.shape,
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise InvalidOption(
            f'A mask must be finite, not negative and not all zero: {weights.tolist()}.',
            name='mask',
            value=weights,
        )
    return Rows(weights=np.sqrt(weights))


def _read_poses(Tep: Any, normalize: bool) -> FloatArray:
    """
    Return one pose as an array (4, 4), or a stack of poses (N, 4, 4).

    :param Tep: pose or poses in any form.
    :param normalize: True replaces each rotation by the nearest orthonormal one; False leaves poses as they are.
    :raises TypeError, ValueError: for values that do not form poses.
    :raises InvalidTarget: with ``normalize``, for values that are not finite and mirrored rotations.
    """
    poses = read_pose_or_poses(getattr(Tep, 'A', Tep), 'Tep')
    if not normalize:
        return poses
    if not np.isfinite(poses).all():
        raise InvalidTarget(f'Tep has values that are not finite: {poses.tolist()}.')
    u, _, v = np.linalg.svd(poses[..., :3, :3])
    if (np.linalg.det(u @ v) < 0.0).any():
        raise InvalidTarget('Tep has a mirrored rotation, which has no nearest one.')
    poses = poses.copy()
    poses[..., :3, :3] = u @ v
    return poses
