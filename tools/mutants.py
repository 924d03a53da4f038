"""
Break the promises of the package on purpose, one at a time, and show that the tests fail.

Every row of :data:`MUTANTS` names a function and an operator, such as :func:`drop` or :func:`fix`. The operator changes
the function in a temporary copy of the repository, and each test of the row runs there. If a test passes, the mutant
has survived, and the test does not hold the promise. The program exits with an error if a mutant survives, or if a test
fails for another reason than the promise. If a function does not have the place of an operator exactly once, the
program exits before any test runs.
"""

import argparse
import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
from dataclasses import dataclass
import itertools
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COPIED = ('ssik_ros', 'config', 'bench', 'campaigns', 'test', 'setup.cfg')
LONGEST_RUN = 600
"""Seconds after which the tests of a mutant are ended; that proves nothing."""
DOES_NOT_COMPILE = re.compile(r'TypingError|LoweringError|SyntaxError|NameError|IndentationError')

SINGULAR_POSES = 'test/closed_form/test_singular_poses.py'
NEWTON = 'ssik_ros/kernels/search'
SEARCH = f'{NEWTON}/restart_search.py'
CAUSES = f'{NEWTON}/causes.py'
DESCENT = f'{NEWTON}/descent.py'
LAWS = f'{NEWTON}/laws.py'
SOLVER = 'ssik_ros/solvers/search/solver.py'
REQUEST_LIMITS = 'ssik_ros/problem/request_limits.py'
KINEMATICS = 'ssik_ros/solvers/kinematics_yaml.py'
PARAMETERS = 'ssik_ros/solvers/options/parameters.py'
NULL_SPACE = f'{NEWTON}/null_space.py'
PLAIN_REQUEST = f'{NEWTON}/plain_request.py'
SIX_ROWS = f'{NEWTON}/six_rows.py'
NEWTON_FAMILY = 'ssik_ros/manipulator/newton_family.py'

VERIFIED = 'test/promises/test_verified.py'
DETERMINISTIC = 'test/promises/test_deterministic.py'
DEADLINE = 'test/promises/test_deadline.py'
SILENT = 'test/promises/test_nothing_silent.py'
PLAIN_REQUESTS = 'test/solvers/test_plain_requests.py'
TASKS = 'ssik_ros/kernels/tasks'
TASK_ROWS = f'{TASKS}/task_rows.py'
ROWS = 'ssik_ros/kernels/rows/rows.py'
TASK_STEPS = f'{TASKS}/task_steps.py'
TASK_HANDLING = f'{TASKS}/handling.py'
PRIORITY_TESTS = 'test/tasks/test_priorities.py'
SOLVE_TESTS = 'test/tasks/test_solving.py'
STREAM = 'ssik_ros/server/tasks/task_set_stream.py'
STREAM_TESTS = 'test/server/test_task_set_stream.py'
TASK_SET_FILES = 'ssik_ros/tasks/files/task_set_builder.py'
SEARCH_TESTS = 'test/tasks/test_searches.py'
CHAIN_ROWS = 'ssik_ros/kernels/mechanisms/mechanism.py'
CHAIN_TESTS = 'test/mechanisms/test_solver.py'
NEWTON_PROMISES = 'test/search/test_newton_promises.py'
NEWTON_INPUT = 'test/search/test_newton_wrong_input.py'
MOTION_PROOF = 'ssik_ros/kernels/closed_form/self_motions/proof.py'
MOTION_BALLS = 'test/self_motions/test_balls.py'
MOTION_CIRCLES = 'ssik_ros/kernels/closed_form/self_motions/elbow_circles.py'
CIRCLES_TEST = 'test/self_motions/test_elbow_circles.py'
PATH_BOUNDS = 'test/paths/test_path_bounds.py'


class PlaceError(ValueError):
    """The code does not have the place that a mutant names, or has it several times."""


Edit = tuple[Any, str]
"""A statement or expression, and the source that replaces it."""
Operator = Callable[[list[ast.AST]], Edit]
"""Return the edit for the nodes of a function."""


def choose(users: list[Any], name: str, n: int) -> Any:
    """
    Return one of the nodes that use a name; of nodes inside each other, only the innermost counts.

    :param users: these nodes.
    :param name: for the message of the error.
    :param n: number of the node in the order of the source, from 1; 0 if only one may use the name.
    :raises PlaceError: if the nodes are fewer than ``n``, or several for ``n`` = 0.
    """
    users = [node for node in users if sum(part in users for part in ast.walk(node)) == 1]
    users.sort(key=lambda node: (node.lineno, node.col_offset))
    if len(users) < max(n, 1) or (n == 0 and len(users) > 1):
        raise PlaceError(f'{len(users)} such places for {name!r}, wanted n = {n}')
    return users[max(n, 1) - 1]


def using(nodes: list[Any], name: str) -> list[Any]:
    """
    Return the nodes that use a name.

    :param nodes: to choose from.
    :param name: of a variable, attribute or function; ``return`` for a return statement; empty for every node.
    """
    return [node for node in nodes if not name or name in names_in(node)]


def names_in(node: ast.AST) -> set[str]:
    """Return the names of variables and attributes in a node, and ``return`` for a return statement."""
    names = {getattr(part, 'id', getattr(part, 'attr', '')) for part in ast.walk(node)}
    return names | ({'return'} if isinstance(node, ast.Return) else set())


def kind_of(node: ast.AST) -> tuple[type, ...]:
    """Return the types of a node and of its operators."""
    operators = getattr(node, 'ops', [getattr(node, 'op', None)])
    return type(node), *map(type, operators)


def operation(symbol: str) -> Any:
    """Return a node with an operator: ``+``, ``<``, ``and``, ``+=`` or another one."""
    statement: Any = ast.parse(f'a {symbol} b').body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def choose_operation(nodes: list[ast.AST], symbol: str, name: str, n: int) -> Any:
    """Return the operation such as ``a + b`` that uses a name."""
    kind = kind_of(operation(symbol))
    return choose([x for x in using(nodes, name) if kind_of(x) == kind], name or symbol, n)


def drop(name: str, n: int = 0, instead: str = 'pass') -> Operator:
    """Replace a statement that uses a name by ``instead``."""

    def edit(nodes: list[ast.AST]) -> Edit:
        return choose([x for x in using(nodes, name) if isinstance(x, ast.stmt)], name, n), instead

    return edit


def fix(truth: bool, name: str, n: int = 0) -> Operator:
    """Replace a condition, or an operand of ``and``, ``or`` or ``not``, that uses a name by True or False."""

    def edit(nodes: list[ast.AST]) -> Edit:
        conditions: list[ast.expr] = []
        for node in nodes:
            conditions += [node.test] if hasattr(node, 'test') else getattr(node, 'ifs', [])
            conditions += node.values if isinstance(node, ast.BoolOp) else []
            conditions += [node.operand] if kind_of(node)[1] is ast.Not else []
        return choose(using(conditions, name), name, n), str(truth)

    return edit


def keep(symbol: str, side: str, name: str = '', n: int = 0) -> Operator:
    """Replace an operation such as ``a + b`` that uses a name by its ``left`` or ``right`` operand."""

    def edit(nodes: list[ast.AST]) -> Edit:
        node = choose_operation(nodes, symbol, name, n)
        return node, ast.unparse(getattr(node, side))

    return edit


def swap(symbol: str, other: str, name: str = '', n: int = 0) -> Operator:
    """Replace the operator of an operation that uses a name by another operator."""

    def edit(nodes: list[ast.AST]) -> Edit:
        node, changed = choose_operation(nodes, symbol, name, n), operation(other)
        for field in set(node._fields) - {'op', 'ops'}:
            setattr(changed, field, getattr(node, field))
        return node, ast.unparse(changed)

    return edit


def assign(name: str, expression: str, n: int = 0) -> Operator:
    """
    Replace a value that a name gets: by ``=``, by ``for``, or as a keyword argument; ``return`` gets returned values.

    :param expression: the new value; ``{old}`` is the old one.
    """

    def edit(nodes: list[ast.AST]) -> Edit:
        given = itertools.chain.from_iterable(map(values_in, nodes))
        value = choose([v for names, v in given if v is not None and name in names], name, n)
        return value, expression.format(old=f'({ast.unparse(value)})')

    return edit


def values_in(node: ast.AST) -> list[tuple[set[str], Any]]:
    """Return the values that a node gives to names, each with its names; None for a return without a value."""
    if isinstance(node, ast.Return):
        return [({'return'}, node.value)]
    if isinstance(node, ast.keyword):
        return [({str(node.arg)}, node.value)]
    if isinstance(node, ast.For):
        return [(names_in(node.target), node.iter)]
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [(names_in(t), v) for t, v in zip(target.elts, value.elts, strict=True)]
    return [(set().union(*map(names_in, node.targets)), value)]


def use(name: str, expression: str, n: int = 0) -> Operator:
    """Replace the use of a variable or attribute by an expression, in which ``{old}`` is the replaced one."""

    def edit(nodes: list[ast.AST]) -> Edit:
        uses = [x for x in nodes if isinstance(getattr(x, 'ctx', None), ast.Load)]
        users = [x for x in uses if name in (getattr(x, 'id', ''), getattr(x, 'attr', ''))]
        node = choose(users, name, n)
        return node, expression.format(old=ast.unparse(node))

    return edit


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to break a promise."""

    promise: int
    """Number of the promise in the design document."""
    file: str
    function: str
    """Name of a function, or ``Class.method``; empty for the whole module."""
    operator: Operator
    compiled: bool = False
    """Whether kernels are compiled, as tests of threads and of the clock need; plain Python starts sooner."""
    new_attributes: tuple[str, ...] = ()
    """Attributes that only the fault uses; a test takes any other new attribute for a misspelt one."""

    def break_source(self, source: str) -> str:
        """
        Return the source of the file with the fault; everything outside the place stays as it is.

        :raises PlaceError: if the source does not have the place exactly once.
        """
        scopes: list[ast.AST] = [ast.parse(source)]
        for name in filter(None, self.function.split('.')):
            inside = itertools.chain.from_iterable(map(ast.walk, scopes))
            scopes = [node for node in inside if getattr(node, 'name', '') == name]
        try:
            node, text = self.operator([x for s in scopes for x in ast.walk(s) if x is not s])
        except PlaceError as error:
            raise PlaceError(f'{self.file}, {self.function}: {error}') from None
        text = f'({text})' if isinstance(node, ast.expr) else text
        # The columns of nodes are counted in bytes.
        lines = source.encode().splitlines(keepends=True)
        begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
        whole = source.encode()
        return (whole[:begin] + text.encode() + whole[end:]).decode()


MUTANTS: dict[str, dict[str, Mutant]] = {
    f'{VERIFIED}::test_reachable_poses_are_found_and_hold': {
        'accepts any orientation': Mutant(1, DESCENT, 'look', keep('+', 'left', 'rotation')),
        'accepts any position': Mutant(1, DESCENT, 'look', keep('+', 'right', 'rotation')),
        'takes a tolerance for its square': Mutant(1, DESCENT, 'look', keep('*', 'left', 'norm')),
    },
    f'{VERIFIED}::test_a_hinge_does_not_open_further_than_it_can '
    f'{NEWTON_PROMISES}::test_a_hinge_does_not_open_further_than_it_can': {
        'does not check limits': Mutant(1, SEARCH, 'settle', fix(True, 'within_limits')),
    },
    f'{VERIFIED}::test_a_hinge_does_not_open_further_than_it_can': {
        'takes the unlimited starts for limited ones': Mutant(
            1, SEARCH, 'settle', drop('LIMITS_SEEN')
        ),
    },
    f'{VERIFIED}::test_a_turn_too_far_for_its_digits_is_not_claimed': {
        'does not measure again after a change of winding': Mutant(
            1, SEARCH, 'settle', fix(True, 'inside')
        ),
    },
    'test/promises/test_small_steps.py::test_no_step_is_too_short_to_be_made': {
        'returns a seed within the tolerance unchanged': Mutant(
            1, SEARCH, 'settle', drop('polish')
        ),
    },
    f'{VERIFIED}::test_solutions_pulled_towards_the_seed_hold_and_are_no_farther': {
        'pulls a solution towards the seed without measuring it': Mutant(
            1, NULL_SPACE, 'pull_to_seed', fix(True, 'inside', 2)
        ),
    },
    f'{PLAIN_REQUESTS}::test_a_tolerance_below_rounding_is_not_claimed': {
        'Auto takes a branch of the closed form that is not within tolerance': Mutant(
            1, PLAIN_REQUEST, 'solve_one', fix(True, 'SOLUTION_ERROR')
        ),
    },
    f'{PLAIN_REQUESTS}::test_a_descent_that_leads_away_from_a_near_seed_is_no_solution': {
        'Auto goes from a near seed to wherever the descent leads': Mutant(
            1, PLAIN_REQUEST, '_follow', fix(True, 'LONGEST_WAY')
        ),
    },
    'test/cli/test_recommend_verb.py::test_a_solver_with_wrong_claims_is_left_out_however_fast': {
        'recommends a solver that makes wrong claims': Mutant(
            1,
            'ssik_ros/benchmark/recommendation.py',
            'recommend',
            fix(False, 'wrong', 1),
            compiled=True,
        ),
    },
    f'{VERIFIED}::test_what_is_no_pose_is_refused '
    f'{NEWTON_INPUT}::test_a_pose_that_is_no_rigid_transform_is_an_error': {
        'accepts targets that are no poses': Mutant(1, SEARCH, 'begin', fix(True, 'is_rigid')),
    },
    f'{VERIFIED}::test_a_seed_that_is_not_finite_is_refused '
    f'{NEWTON_INPUT}::test_a_start_that_is_not_finite_is_an_error': {
        'accepts seeds that are not finite': Mutant(
            1, SEARCH, 'begin', fix(True, 'LARGEST_JOINT_VALUE')
        ),
    },
    f'{VERIFIED}::test_validation_sees_only_what_holds_and_its_verdict_counts': {
        'does not call the validation': Mutant(1, SEARCH, 'run', fix(False, 'VALIDATED')),
    },
    f'{VERIFIED}::test_a_validation_that_refuses_everything_is_the_cause': {
        'takes every verdict of the validation for a yes': Mutant(
            1, SOLVER, 'SearchSolver.run', fix(True, 'accepted')
        ),
    },
    f'{VERIFIED}::test_the_limits_of_a_request_are_kept': {
        "forgets the request's limits": Mutant(
            1, REQUEST_LIMITS, 'narrow_by_own', drop('minimum', 1)
        ),
    },
    f'{DETERMINISTIC}::test_what_was_asked_before_does_not_matter': {
        'seeds its generator from the clock': Mutant(
            3,
            SEARCH,
            'begin',
            assign('RANDOM', 'clock.monotonic_ns(vector(counters, state.CLOCK, 2))'),
        ),
    },
    f'{DETERMINISTIC}::test_eight_threads_give_the_bytes_of_one': {
        'hands the memory of one search to two threads': Mutant(
            3,
            SOLVER,
            'SearchSolver.solve',
            assign('arrays', 'self.pool[-1] if self.pool else self.borrow()'),
            compiled=True,
        ),
    },
    f'{DETERMINISTIC}::test_what_the_clock_ended_says_so': {
        'does not say that the clock ended a search': Mutant(
            3, SEARCH, 'find', drop('CLOCK_ENDED')
        ),
    },
    f'{DEADLINE}::test_a_timeout_of_nanoseconds_leaves_no_room_for_iterations': {
        'does not look at the clock': Mutant(4, DESCENT, 'is_over', fix(True, 'LAST_TIME')),
        'counts whole seconds': Mutant(
            4, f'{NEWTON}/clock.py', 'monotonic_ns', keep('+', 'left'), compiled=True
        ),
        'rounds timeouts to milliseconds': Mutant(
            4,
            'ssik_ros/problem/request_fields.py',
            'nanoseconds',
            assign('return', '{old} // 1_000_000 * 1_000_000'),
        ),
    },
    f'{DEADLINE}::test_every_iteration_looks_at_the_clock': {
        'looks at the clock every third iteration': Mutant(
            4, DESCENT, 'descend', assign('code', '{old} if iteration % 3 == 0 else state.RUNNING')
        ),
        'does not look at the clock while it optimises': Mutant(
            4, NULL_SPACE, 'pull_to_seed', fix(False, 'is_over')
        ),
        'optimises beyond the timeout of the request': Mutant(
            4, SEARCH, 'start_clock', assign('STOP_WITH_SOLUTION', 'deadline', 3)
        ),
    },
    f'{SILENT}::test_a_misspelt_option_is_an_error_with_the_right_name': {
        'drops options that it does not know': Mutant(
            5, PARAMETERS, 'ParameterSchema.check', drop('_unknown', instead='continue')
        ),
    },
    f'{SILENT}::test_a_value_out_of_range_is_an_error_that_names_both': {
        'does not check the range of options': Mutant(
            5, PARAMETERS, 'Parameter.check', fix(False, 'reason')
        ),
    },
    f'{SILENT}::test_a_misspelt_key_of_a_file_is_an_error_with_the_right_name': {
        'takes a misspelt key for a foreign one': Mutant(
            5, KINEMATICS, '_report_unused', fix(True, 'KEYS_OF_OTHER_SOLVERS')
        ),
    },
    f'{SILENT}::test_keys_of_other_solvers_get_one_line': {
        'says nothing about keys that are not used': Mutant(
            5, KINEMATICS, '_report_unused', fix(False, 'unused')
        ),
        "drops another solver's keys from the list of unused ones": Mutant(
            5,
            KINEMATICS,
            '_report_unused',
            assign(
                'place',
                '[item for item in {old} if item[0].split(".")[0] not in KEYS_OF_OTHER_SOLVERS]',
            ),
        ),
    },
    f'{SILENT}::test_the_keys_of_moveit_are_honoured': {
        'ignores the timeout of a kinematics.yaml': Mutant(
            5, KINEMATICS, 'make_group_kinematics', assign('timeout', '0.05')
        ),
    },
    f'{SILENT}::test_a_request_that_makes_no_sense_is_an_error_that_says_why': {
        'ignores joints to lock that do not exist': Mutant(
            5, REQUEST_LIMITS, '_lock', fix(False, 'joint_names')
        ),
    },
    f'{NEWTON_PROMISES}::test_each_tolerance_holds_by_itself': {
        'Newton accepts any rotation': Mutant(1, DESCENT, 'look', fix(True, 'ROTATION')),
        'Newton accepts any position': Mutant(1, DESCENT, 'look', fix(True, 'POSITION')),
        'a Jacobian with a wrong sign': Mutant(
            1, f'{NEWTON}/serial.py', 'fill_jacobian', swap('-', '+', 'dx', 1)
        ),
    },
    f'{NEWTON_INPUT}::test_the_best_state_of_many_searches_is_no_worse_than_that_of_one': {
        'Newton returns the last state instead of the best one': Mutant(
            1, SEARCH, 'settle_for_best', drop('copy')
        ),
    },
    'test/search/test_bounded_step.py': {
        'the step of six rows loses a factor': Mutant(
            1, SIX_ROWS, 'solve', keep('*', 'left', 'd2', 3)
        ),
        'the step of six rows forgets limits': Mutant(
            1, SIX_ROWS, 'bounded_step', fix(False, 'limited')
        ),
    },
    f'{NEWTON_PROMISES}::test_the_damping_of_each_law_is_its_formula': {
        'chan damps by twice E': Mutant(1, LAWS, 'damping_of', keep('*', 'left', 'gain', 1)),
    },
    f'{NEWTON_PROMISES}::test_the_damping_follows_the_gain_ratio': {
        'the gain ratio is inverted': Mutant(1, LAWS, 'follow', swap('<', '>')),
    },
    'test/search/test_null_space.py::test_the_pull_away_from_limits_is_the_gradient_of_its_objective_and_the_formula': {
        'limits attract instead of repel': Mutant(
            1, NULL_SPACE, 'gradient', swap('+=', '-=', 'below')
        ),
    },
    'test/search/test_tracking.py::test_a_far_target_is_approached_at_the_speed_that_is_allowed': {
        'a tracker moves twice as far as a cycle allows': Mutant(
            1, f'{NEWTON}/tracking.py', 'confine_cycle', use('largest_motion', '2 * {old}', 2)
        ),
    },
    f'{CHAIN_TESTS}::test_a_reachable_goal_converges_and_an_unreachable_one_stalls_stretched': {
        'closed chains: one tolerance of two is enough': Mutant(
            1, CHAIN_ROWS, 'residuals', swap('and', 'or')
        ),
    },
    f'{CHAIN_TESTS}::test_limits_hold_to_the_last_bit_and_are_left_again': {
        'closed chains: steps leave the limits': Mutant(
            1,
            'ssik_ros/kernels/mechanisms/descent.py',
            'advance',
            drop(
                'move_by',
                0,
                'steps.move_by(t.variable, w.lower, w.upper, False, 1.001, w.step, w.trial)',
            ),
        ),
    },
    f'{CHAIN_TESTS}::test_locked_joints_stay_and_excluded_goals_do_not_count': {
        'closed chains: excluded goals count': Mutant(
            1, CHAIN_ROWS, 'residuals', fix(False, 'EXCLUDED')
        ),
    },
    'test/mechanisms/test_columns.py::test_columns_of_random_mechanisms_are_exact': {
        'closed chains: rotations move points the wrong way along x': Mutant(
            1, CHAIN_ROWS, 'add_turn', assign('vx', '-{old}')
        ),
        'closed chains: goals in the axes of the world rotate as closed links do': Mutant(
            1,
            ROWS,
            'rotation_maps',
            drop('inverse_left_jacobian', 2, 'vectors.copy(maps[2], maps[1])'),
        ),
    },
    'test/mechanisms/test_general_rows.py::'
    'test_random_mechanisms_have_the_rows_of_the_general_evaluator': {
        'closed chains: slides move nothing that the general rows see': Mutant(
            1, CHAIN_ROWS, 'add_columns', swap('+=', '-=', 'blocks')
        ),
    },
    'test/mechanisms/test_closed_chain_solver.py::'
    'test_an_open_loop_is_no_solution_however_near_the_tip_is': {
        'closed chains: results of groups have open loops': Mutant(
            1,
            'ssik_ros/mechanisms/closed_chain_solver.py',
            '_ClosedChainSearch._check',
            assign('closed', 'True'),
        ),
    },
    'test/server_loops/test_passive_joints.py::'
    'test_a_state_with_open_loops_is_none_and_leaves_no_trace': {
        'closed chains: the relay shows robots with open loops': Mutant(
            1,
            'ssik_ros/server/loops/passive_joints.py',
            'PassiveJoints._describe_problem',
            fix(False, 'open_chains'),
        ),
    },
    'test/tasks/test_rows.py::test_jacobian_is_the_derivative_of_the_error': {
        "task sets: columns of positions in the world's axes": Mutant(
            1, ROWS, 'add_axis', assign('change', 'vx if k == 0 else vy if k == 1 else vz')
        ),
        'task sets: forgets that constraint bases move': Mutant(
            1, ROWS, 'add_axis', fix(False, 'moves_axes')
        ),
        'task sets: forgets that targets slide': Mutant(
            1, ROWS, 'add_axis', use('sign', 'moves_b', 4)
        ),
        'task sets: gives gamma to alpha_beta': Mutant(
            1, ROWS, 'add_axis', use('k', 'min(k, 1)', 6)
        ),
    },
    f'{SOLVE_TESTS}::test_a_failed_orientation_restores_only_when_asked_for': {
        'task sets: takes any orientation for precise': Mutant(
            1, TASK_ROWS, 'measure', fix(True, 'TASK_PRECISION', 2)
        ),
    },
    f'{SOLVE_TESTS}::test_joints_near_their_limits_are_pushed_back': {
        'task sets: pushes joints to the limits that they are to avoid': Mutant(
            1, TASK_ROWS, 'margin_row', swap('<', '>=')
        ),
    },
    f'{PRIORITY_TESTS}::test_the_rows_of_higher_task_sets_are_the_same_with_task_sets_below': {
        'task sets: lets the last task set but one go unprotected': Mutant(
            1, TASK_STEPS, 'compute_step', use('sets', 'sets - 1', 3)
        ),
    },
    f'{PRIORITY_TESTS}::test_one_step_below_a_met_task_set_leaves_it_met': {
        'task sets: holds the task sets above to first order only': Mutant(
            1, TASK_HANDLING, 'measure_protected', fix(False, 'next_trial')
        ),
    },
    f'{PRIORITY_TESTS}::test_conflicting_tasks_reach_the_lexicographic_optimum': {
        'task sets: forgets what task sets above have moved already': Mutant(
            1, TASK_STEPS, 'write_right_side', drop('jacobian')
        ),
    },
    f'{PRIORITY_TESTS}::test_limits_that_lower_task_sets_reach_leave_the_upper_ones_alone': {
        'task sets: goes beyond limits by the motion so far': Mutant(
            1, TASK_STEPS, 'stop_at_limits', keep('-', 'left', 'VARIABLE_SCALE')
        ),
        'task sets: stops at limits at the cost of task sets above': Mutant(
            1, TASK_STEPS, 'stop_at_limits', assign('left', '1.0')
        ),
    },
    f'{PRIORITY_TESTS}::test_nested_priorities_are_the_documented_formula': {
        'task sets: nests priorities from the first to the last': Mutant(
            1, TASK_STEPS, 'nested_step', assign('g', 'reversed({old})')
        ),
    },
    f'{SOLVE_TESTS}::test_steps_keep_their_direction_when_they_are_too_long': {
        'task sets: takes steps of any length': Mutant(
            1, TASK_STEPS, 'apply_step', assign('share', '1.0', 2)
        ),
    },
    f'{SOLVE_TESTS}::test_numbers_belong_to_the_values_that_are_left': {
        'task sets: tells numbers of values that were put back': Mutant(
            1, TASK_HANDLING, 'restore', drop('measure')
        ),
    },
    f'{SEARCH_TESTS}::test_results_depend_on_the_seed_and_on_nothing_else': {
        'task sets: searches without its seed': Mutant(
            1, TASK_HANDLING, 'begin_start', keep('+', 'right', 'index', 2)
        ),
    },
    f'{SEARCH_TESTS}::test_only_the_selected_rows_count_for_the_distance': {
        'task sets: measures distances of tips in all rows': Mutant(
            1, TASK_HANDLING, 'is_near', fix(True, 'mask')
        ),
    },
    f'{STREAM_TESTS}::test_joints_keep_their_velocity_limits': {
        'stream: moves as fast as it likes': Mutant(
            1, STREAM, 'TaskSetStream._slow_down', fix(True, 'excess')
        ),
        'stream: tells what is left where it would have gone': Mutant(
            2, STREAM, 'TaskSetStream._follow', drop('_measure')
        ),
    },
    'test/closed_form/test_posture_search.py::test_a_search_that_finds_nothing_makes_no_proof': {
        'calls a pose out of reach that samples and starts have missed': Mutant(
            2, CAUSES, 'of_absence', fix(True, 'is_complete')
        ),
    },
    f'{SINGULAR_POSES}::test_branches_outside_the_limits_prove_nothing_at_a_singular_pose': {
        'takes branches outside the limits of a singular pose for a proof': Mutant(
            2, CAUSES, 'of_absence', fix(False, 'is_doubtful')
        ),
    },
    f'{SINGULAR_POSES}::test_axes_that_are_parallel_only_nearly_prove_nothing': {
        'proves by axes that fit a class only nearly': Mutant(
            2, 'ssik_ros/solvers/closed_form/plan.py', '_pack', assign('is_inexact', 'False')
        ),
    },
    'test/closed_form/test_held_proof.py::test_limits_that_pin_some_joints_still_hold_their_posture[panda]': {
        'reach maps: takes the centre of a range of a joint for all of it': Mutant(
            2,
            'ssik_ros/kernels/closed_form/counting/held_ranges.py',
            '_inside',
            keep('+', 'left', 'place'),
        ),
    },
    'test/reach/test_reach_collisions.py::test_a_singular_posture_that_collides_is_no_proof': {
        'reach maps: calls it a fact that a singular posture collides': Mutant(
            2,
            'ssik_ros/reach/checked_cells.py',
            'CheckedArm._status_of_stuck',
            drop('are_singular'),
        ),
    },
    f'{STREAM_TESTS}::test_out_of_reach_comes_nearer_until_it_stays': {
        'stream: wanders about where a target is out of reach': Mutant(
            1, STREAM, 'TaskSetStream._approach', fix(True, 'there'), compiled=True
        ),
    },
    f'{STREAM_TESTS}::test_a_target_that_ceases_is_held_and_the_robot_may_be_moved_meanwhile': {
        'stream: goes on with stale targets': Mutant(
            2, STREAM, 'TaskSetStream._why_stale', fix(False, 'max_age')
        ),
        'stream: begins anew at its last command': Mutant(
            2, STREAM, 'TaskSetStream.step', drop('begins')
        ),
    },
    f'{STREAM_TESTS}::test_the_newest_target_counts_and_a_late_one_is_left_out': {
        'stream: takes targets out of order': Mutant(
            3, STREAM, 'TaskSetStream.take', drop('return')
        ),
    },
    'test/tasks/test_task_set_files.py::test_what_does_not_fit_the_robot_is_refused_with_its_line': {
        'task set files: widen limits in silence': Mutant(
            5, TASK_SET_FILES, '_require_limits', fix(True, 'cyclic')
        ),
        'task set files: take a base that does not carry the tip': Mutant(
            5, TASK_SET_FILES, '_add_task', fix(False, 'ancestors')
        ),
        'task set files: give a tip another target in silence': Mutant(
            5, TASK_SET_FILES, '_add_task', fix(False, 'goal', 2)
        ),
    },
    f'{NEWTON_PROMISES}::test_the_sequence_of_starts_belongs_to_its_seed': {
        'Newton starts at chance': Mutant(
            3,
            'ssik_ros/solvers/search/settings.py',
            '_sequence',
            use('seed', '__import__("time").time_ns()'),
            new_attributes=('time_ns',),
        ),
    },
    f'{NEWTON_PROMISES}::test_calls_from_many_threads_give_the_bytes_of_one': {
        'hands the memory of one Newton search to two threads': Mutant(
            3,
            NEWTON_FAMILY,
            'NewtonFamily.one',
            assign('arrays', 'pool[-1] if pool else single.make_arrays()', 1),
            compiled=True,
        ),
    },
    f'{NEWTON_INPUT}::test_options_that_were_right_once_do_not_let_wrong_ones_pass': {
        'takes True for a count of updates': Mutant(5, NEWTON_FAMILY, '_solve', fix(True, 'int')),
    },
    f'{MOTION_BALLS}::test_candidates_lie_on_the_curve_within_the_ball_and_no_farther': {
        'proves self-motions with balls of twice the size': Mutant(
            9, MOTION_PROOF, '_advance', assign('free', '2.0 * {old}')
        ),
        'takes a candidate beside a ball for one of its curve': Mutant(
            9, MOTION_PROOF, '', assign('INSIDE_SHARE', '1.1')
        ),
    },
    f'{MOTION_BALLS}::test_balls_are_joined_where_a_solution_of_one_is_in_the_other': {
        'counts balls that touch as joined': Mutant(
            9, MOTION_PROOF, '_is_joined', assign('return', 'straight <= reach + state[REACH]', 2)
        ),
    },
    f'{CIRCLES_TEST}::test_the_same_curves_are_followed': {
        'cuts curves where another image of them reaches a limit': Mutant(
            9, MOTION_CIRCLES, '_add_root', fix(True, 'value')
        ),
        'leaves out the curves with the other sign of joint 6': Mutant(
            9, MOTION_CIRCLES, 'find', assign('image', 'range(2)')
        ),
    },
    f'{CIRCLES_TEST}::test_knots_are_no_farther_apart_than_their_cubics_bear': {
        'puts knots of circles far apart': Mutant(
            9, MOTION_CIRCLES, '_fit', assign('return', 'True'), compiled=True
        ),
    },
    f'{MOTION_BALLS}::test_a_stretched_arm_meets_the_bound_of_the_second_derivative': {
        'bounds the second derivative without that of the rotation': Mutant(
            9,
            'ssik_ros/solvers/self_motions/completeness.py',
            'bound_at',
            keep('+', 'left', 'turns'),
        ),
    },
    f'{PATH_BOUNDS}::test_second_order_parts_are_bounded_and_not_by_far': {
        'bounds the second-order part of a turn too low': Mutant(
            9,
            'ssik_ros/paths/bounding/enclosures.py',
            '_remainders',
            assign('bound', '0.2 * {old}'),
        ),
    },
    f'{PATH_BOUNDS}::test_a_straight_step_costs_no_more_than_the_steps_that_it_stands_for': {
        'counts a straight step dearer than the steps that it stands for': Mutant(
            9,
            'ssik_ros/paths/bounding/relaxed_paths.py',
            'joined_limits',
            use('minimum', 'np.maximum'),
        ),
    },
}
"""Files or tests for pytest, separated by spaces, and the mutants that each of them must notice, by their effects."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict of the tests on a mutant."""

    verdict: str
    """``noticed``; or ``survived``, ``no mutant``, ``too long``: then the row needs a change."""
    seconds: float
    detail: str = ''


class Copy:
    """A copy of the repository in which code can be broken."""

    def __init__(self, folder: Path) -> None:
        """
        Copy the files that the tests need.

        :param folder: an empty folder.
        """
        self.root = folder / 'repository'
        self.root.mkdir()
        self.cache = folder / 'cache'
        for name in COPIED:
            source, target = ROOT / name, self.root / name
            if source.is_dir():
                ignored = shutil.ignore_patterns('__pycache__', '*.egg-info')
                shutil.copytree(source, target, ignore=ignored)
            else:
                shutil.copy2(source, target)

    def run(self, *arguments: str, compiled: bool = False) -> 'subprocess.CompletedProcess[str]':
        """
        Run Python in the copy.

        Modules of the copy come first on the path, and its compiled kernels have their own cache.

        :param arguments: of the interpreter.
        :param compiled: whether kernels are compiled.
        """
        paths = [str(self.root), os.environ.get('PYTHONPATH', '')]
        environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join(path for path in paths if path),
            'SSIK_ROS_CACHE_DIR': str(self.cache),
            # The native library was built from the original sources, so numba compiles the changed kernels.
            'SSIK_ROS_JIT': '1' if compiled else '0',
            'NUMBA_DISABLE_JIT': '0' if compiled else '1',
            'PYTHONDONTWRITEBYTECODE': '1',
        }
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_RUN,
        )

    def test(self, tests: Iterable[str], compiled: bool) -> 'subprocess.CompletedProcess[str]':
        """
        Run tests in the copy.

        :param tests: arguments of pytest: files or tests.
        :param compiled: whether kernels are compiled.
        """
        command = ('-m', 'pytest', '-x', '-q', '-p', 'no:cacheprovider', *tests)
        return self.run(*command, compiled=compiled)

    @contextlib.contextmanager
    def broken_by(self, mutant: Mutant) -> Iterator[None]:
        """
        Break the copy for a while.

        :param mutant: how to break it.
        """
        path = self.root / mutant.file
        text, times = path.read_text(encoding='utf-8'), path.stat()
        try:
            path.write_text(mutant.break_source(text), encoding='utf-8')
            yield
        finally:
            path.write_text(text, encoding='utf-8')
            # The machine code of an untouched file is found again by its time.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def judge(copy: Copy, mutant: Mutant, test: str) -> Outcome:
    """
    Return the verdict of a test on a mutant.

    :param copy: the copy to break.
    :param mutant: how to break it.
    :param test: argument of pytest: a file or a test.
    """
    begin = time.monotonic()
    with copy.broken_by(mutant):
        try:
            done = copy.test([test], mutant.compiled)
        except subprocess.TimeoutExpired:
            return Outcome('too long', time.monotonic() - begin)
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        return Outcome('survived', seconds)
    if done.returncode != 1 or DOES_NOT_COMPILE.search(done.stdout):
        return Outcome('no mutant', seconds, done.stdout[-2000:])
    return Outcome('noticed', seconds)


def check_places(mutants: Iterable[Mutant]) -> None:
    """
    Make sure that every mutant has its place in the code.

    :raises SystemExit: if a mutant has no place; the message lists all such mutants.
    """
    errors = []
    for mutant in mutants:
        try:
            mutant.break_source((ROOT / mutant.file).read_text(encoding='utf-8'))
        except PlaceError as error:
            errors.append(f'mutants: {error}')
    if errors:
        sys.exit('\n'.join(errors))


def check_untouched(copy: Copy, rows: Sequence[tuple[str, str, Mutant]]) -> None:
    """
    Make sure that the tests run in the copy and are green before anything is broken.

    :param copy: the copy.
    :param rows: test, effect and mutant of each row.
    :raises SystemExit: when they are not.
    """
    where = copy.run('-c', 'import ssik_ros; print(ssik_ros.__file__)').stdout.strip()
    if not where.startswith(str(copy.root)):
        sys.exit(f'mutants: the tests would import {where}, not the copy in {copy.root}')
    for compiled in (False, True):
        tests = {test for test, _, mutant in rows if mutant.compiled == compiled}
        if not tests:
            continue
        done = copy.test(sorted(tests), compiled)
        if done.returncode != 0:
            sys.exit(f'mutants: tests fail before anything is broken\n{done.stdout[-4000:]}')


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Run the chosen mutants, print each verdict, and exit with an error if one is not noticed.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Break the promises; the tests must notice.')
    parser.add_argument('--promises', nargs='+', type=int, help='numbers; all by default')
    parser.add_argument('-k', dest='word', default='', help='only mutants with this in their text')
    options = parser.parse_args(arguments)
    rows = [
        (test, what, mutant)
        for tests, mutants in MUTANTS.items()
        for what, mutant in mutants.items()
        if options.promises is None or mutant.promise in options.promises
        if options.word in what
        for test in tests.split()
    ]
    check_places(mutant for _, _, mutant in rows)
    with tempfile.TemporaryDirectory(prefix='ssik_ros_mutants_') as folder:
        copy = Copy(Path(folder))
        check_untouched(copy, rows)
        failures = []
        print(f'{"promise":>7}  {"verdict":<10}  {"s":>5}  mutant')
        for test, what, mutant in rows:
            outcome = judge(copy, mutant, test)
            line = f'{mutant.promise:>7}  {outcome.verdict:<10}  {outcome.seconds:5.1f}'
            print(f'{line}  {what}', flush=True)
            if outcome.verdict != 'noticed':
                failures.append(f'{outcome.verdict}: {what} ({test})\n{outcome.detail}')
    print(f'{len(rows) - len(failures)} of {len(rows)} tests noticed their mutant', flush=True)
    if failures:
        sys.exit('\n'.join(failures))


if __name__ == '__main__':
    main()
