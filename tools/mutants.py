"""
Break the promises of the package on purpose, one at a time, and show that the tests fail.

Every row of :data:`MUTANTS` replaces a snippet in a temporary copy of the repository and runs the tests named in the
row there. If the tests pass, the mutant has survived, and the tests do not hold the promise. The program exits with an
error if a mutant survives or a snippet is not found exactly once. It also does if the tests fail for another reason
than the promise.
"""

import argparse
from collections.abc import Iterator, Sequence
import contextlib
from dataclasses import dataclass
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parents[1]
COPIED = ('ssik_ros', 'config', 'bench', 'test', 'setup.cfg')
LONGEST_RUN = 600
"""Seconds after which the tests of a mutant are ended; that proves nothing."""
DOES_NOT_COMPILE = re.compile(r'TypingError|LoweringError|SyntaxError|NameError|IndentationError')

ABSENCE = 'ssik_ros/solvers/closed_form/branch_request.py'
SINGULAR_POSES = 'test/closed_form/test_singular_poses.py'
SEARCH = 'ssik_ros/kernels/search/restart_search.py'
DESCENT = 'ssik_ros/kernels/search/descent.py'
SOLVER = 'ssik_ros/solvers/search/solver.py'
REQUESTS = 'ssik_ros/solvers/search/requests.py'
REQUEST_LIMITS = 'ssik_ros/problem/request_limits.py'
KINEMATICS = 'ssik_ros/solvers/kinematics_yaml.py'
PARAMETERS = 'ssik_ros/solvers/options/parameters.py'
NEWTON = 'ssik_ros/kernels/search'
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
ROW_TESTS = 'test/tasks/test_rows.py'
PRIORITY_TESTS = 'test/tasks/test_priorities.py'
SOLVE_TESTS = 'test/tasks/test_solving.py'
STREAM = 'ssik_ros/server/tasks/task_set_stream.py'
STREAM_TESTS = 'test/server/test_task_set_stream.py'
TASK_SET_FILES = 'ssik_ros/tasks/files/task_set_builder.py'
TASK_SET_FILE_TESTS = 'test/tasks/test_task_set_files.py'
SEARCH_TESTS = 'test/tasks/test_searches.py'
CHAIN_DESCENT = 'ssik_ros/kernels/mechanisms/descent.py'
CHAIN_ROWS = 'ssik_ros/kernels/mechanisms/mechanism.py'
CHAIN_TESTS = 'test/mechanisms/test_solver.py'
COLUMN_TESTS = 'test/mechanisms/test_columns.py'
POSTURE_SEARCH = 'test/closed_form/test_posture_search.py'
HELD_RANGES = 'ssik_ros/kernels/closed_form/counting/held_ranges.py'
HELD_PROOF = 'test/closed_form/test_held_proof.py'
REACH_COLLISIONS = 'test/reach/test_reach_collisions.py'
NEWTON_PROMISES = 'test/search/test_newton_promises.py'
NEWTON_INPUT = 'test/search/test_newton_wrong_input.py'
NEWTON_STEP = 'test/search/test_bounded_step.py'
MOTION_PROOF = 'ssik_ros/kernels/closed_form/self_motions/proof.py'
MOTION_BALLS = 'test/self_motions/test_balls.py'
MOTION_CIRCLES = 'ssik_ros/kernels/closed_form/self_motions/elbow_circles.py'
CIRCLES_TEST = 'test/self_motions/test_elbow_circles.py'


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to break a promise."""

    promise: int
    """Its number in the design."""
    what: str
    """Effect of the mutation."""
    file: str
    before: str
    """Text that occurs in the file exactly once."""
    after: str
    tests: tuple[str, ...]
    """Arguments of pytest: files or tests."""
    compiled: bool = False
    """Whether kernels are compiled, as tests of threads and of the clock need; plain Python starts sooner."""


MUTANTS = (
    Mutant(
        1,
        'accepts any orientation',
        DESCENT,
        'inside = inside and position * position + rotation * rotation <= norm * norm',
        'inside = inside and position * position <= norm * norm',
        (f'{VERIFIED}::test_reachable_poses_are_found_and_hold',),
    ),
    Mutant(
        1,
        'accepts any position',
        DESCENT,
        'inside = inside and position * position + rotation * rotation <= norm * norm',
        'inside = inside and rotation * rotation <= norm * norm',
        (f'{VERIFIED}::test_reachable_poses_are_found_and_hold',),
    ),
    Mutant(
        1,
        'takes a tolerance for its square',
        DESCENT,
        'rotation * rotation <= norm * norm',
        'rotation * rotation <= norm',
        (f'{VERIFIED}::test_reachable_poses_are_found_and_hold',),
    ),
    Mutant(
        1,
        'does not check limits',
        SEARCH,
        'if options[state.LIMITED] != 0.0 and not descent.within_limits(',
        'if False and not descent.within_limits(',
        (f'{VERIFIED}::test_a_hinge_does_not_open_further_than_it_can',),
    ),
    Mutant(
        1,
        'takes the unlimited starts for limited ones',
        SEARCH,
        '        counters[state.LIMITS_SEEN] += 1\n',
        '',
        (f'{VERIFIED}::test_a_hinge_does_not_open_further_than_it_can',),
    ),
    Mutant(
        1,
        'does not measure again after a change of winding',
        SEARCH,
        '        if not inside:\n            return False\n    enough',
        '    enough',
        (f'{VERIFIED}::test_a_turn_too_far_for_its_digits_is_not_claimed',),
    ),
    Mutant(
        1,
        'returns a seed within the tolerance unchanged',
        SEARCH,
        '    descent.polish(ints, reals, options, enough, work)\n    return True\n',
        '    return True\n',
        ('test/promises/test_small_steps.py::test_no_step_is_too_short_to_be_made',),
    ),
    Mutant(
        1,
        'pulls a solution towards the seed without measuring it',
        f'{NEWTON}/null_space.py',
        'if inside and distance < nearest and descent.within_limits(',
        'if distance < nearest and descent.within_limits(',
        (f'{VERIFIED}::test_answers_pulled_towards_the_seed_hold_and_are_no_farther',),
    ),
    Mutant(
        1,
        'Auto takes a branch of the closed form that is not within tolerance',
        'ssik_ros/kernels/search/plain_request.py',
        'if written > 0 and norm <= numbers[SOLUTION_ERROR]:',
        'if written > 0:',
        (f'{PLAIN_REQUESTS}::test_a_tolerance_below_rounding_is_not_claimed',),
    ),
    Mutant(
        1,
        'Auto goes from a near seed to wherever the descent leads',
        'ssik_ros/kernels/search/plain_request.py',
        '        if not abs(w.state[k] - w.reference[k]) <= numbers[LONGEST_WAY]:\n',
        '        if False and not abs(w.state[k] - w.reference[k]) <= numbers[LONGEST_WAY]:\n',
        (f'{PLAIN_REQUESTS}::test_a_descent_that_leads_away_from_a_near_seed_is_no_answer',),
    ),
    Mutant(
        1,
        'recommends a solver that makes wrong claims',
        'ssik_ros/benchmark/recommendation.py',
        'if not one.wrong and one.verified]',
        'if one.verified]',
        (
            'test/cli/test_recommend_verb.py::test_a_solver_with_wrong_claims_is_left_out_however_fast',
        ),
        compiled=True,
    ),
    Mutant(
        1,
        'accepts targets that are no poses',
        SEARCH,
        '        if not se3.is_rigid(w.matrices, 4 * t, options[state.RIGID_TOLERANCE]):\n',
        '        if False and not se3.is_rigid(w.matrices, 4 * t, options[state.RIGID_TOLERANCE]):\n',
        (f'{VERIFIED}::test_what_is_no_pose_is_refused',),
    ),
    Mutant(
        1,
        'accepts seeds that are not finite',
        SEARCH,
        '        if not abs(w.reference[k]) <= joint_values.LARGEST_JOINT_VALUE:\n',
        '        if False and not abs(w.reference[k]) <= joint_values.LARGEST_JOINT_VALUE:\n',
        (f'{VERIFIED}::test_a_seed_that_is_not_finite_is_refused',),
    ),
    Mutant(
        1,
        'does not call the validation',
        SEARCH,
        '            if options[state.VALIDATED] != 0.0:\n',
        '            if False and options[state.VALIDATED] != 0.0:\n',
        (f'{VERIFIED}::test_validation_sees_only_what_holds_and_its_verdict_counts',),
    ),
    Mutant(
        1,
        'takes every verdict of the validation for a yes',
        SOLVER,
        'phase = state.ACCEPTED if accepted else state.REFUSED',
        'phase = state.ACCEPTED',
        (f'{VERIFIED}::test_a_validation_that_refuses_everything_is_the_cause',),
    ),
    Mutant(
        1,
        "forgets the request's limits",
        REQUEST_LIMITS,
        "        upper[own] = np.minimum(upper[own], one_each(request.upper, 'upper', names)[place])\n",
        '        pass\n',
        (f'{VERIFIED}::test_the_limits_of_a_request_are_kept',),
    ),
    Mutant(
        3,
        'seeds its generator from the clock',
        SEARCH,
        '    counters[state.RANDOM] = np.int64(options[state.RANDOM_SEED])\n',
        '    counters[state.RANDOM] = clock.monotonic_ns(vector(counters, state.CLOCK, 2))\n',
        (f'{DETERMINISTIC}::test_what_was_asked_before_does_not_matter',),
    ),
    Mutant(
        3,
        'hands the memory of one search to two threads',
        SOLVER,
        'arrays = pool.pop()',
        'arrays = pool[-1]',
        (f'{DETERMINISTIC}::test_eight_threads_give_the_bytes_of_one',),
        compiled=True,
    ),
    Mutant(
        3,
        'does not say that the clock ended a search',
        SEARCH,
        'counters[state.CLOCK_ENDED] = 1\n',
        'counters[state.CLOCK_ENDED] = 0\n',
        (f'{DETERMINISTIC}::test_what_the_clock_ended_says_so',),
    ),
    Mutant(
        4,
        'does not look at the clock',
        DESCENT,
        'if stop == state.LAST_TIME or clock.',
        'if True or clock.',
        (f'{DEADLINE}::test_a_timeout_of_nanoseconds_leaves_no_room_for_iterations',),
    ),
    Mutant(
        4,
        'looks at the clock every third iteration',
        DESCENT,
        '        code = is_over(counters, cancel)\n',
        '        code = state.RUNNING\n'
        '        if iteration % 3 == 0:\n'
        '            code = is_over(counters, cancel)\n',
        (f'{DEADLINE}::test_every_iteration_looks_at_the_clock',),
    ),
    Mutant(
        4,
        'does not look at the clock while it optimises',
        f'{NEWTON}/null_space.py',
        'options[state.MAX_ITERATIONS]:\n        if descent.is_over(counters, cancel) != state.RUNNING:\n',
        'options[state.MAX_ITERATIONS]:\n        if False:\n',
        (f'{DEADLINE}::test_every_iteration_looks_at_the_clock',),
    ),
    Mutant(
        4,
        'optimises beyond the timeout of the request',
        SEARCH,
        'min(counters[state.STOP], own)',
        'own',
        (f'{DEADLINE}::test_every_iteration_looks_at_the_clock',),
    ),
    Mutant(
        4,
        'counts whole seconds',
        'ssik_ros/kernels/search/clock.py',
        'scratch[0] * 1_000_000_000 + scratch[1]',
        'scratch[0] * 1_000_000_000',
        (f'{DEADLINE}::test_a_timeout_of_nanoseconds_leaves_no_room_for_iterations',),
        compiled=True,
    ),
    Mutant(
        4,
        'rounds timeouts to milliseconds',
        REQUESTS,
        'max(1, round(seconds * 1e9))',
        'round(seconds * 1e3) * 1_000_000',
        (f'{DEADLINE}::test_a_timeout_of_nanoseconds_leaves_no_room_for_iterations',),
    ),
    Mutant(
        5,
        'drops options that it does not know',
        PARAMETERS,
        '                raise self._unknown(key, value, place, (*self.names, *aliases))\n',
        '                continue\n',
        (f'{SILENT}::test_a_misspelt_option_is_an_error_with_the_right_name',),
    ),
    Mutant(
        5,
        'does not check the range of options',
        PARAMETERS,
        '            if reason:\n',
        '            if False:\n',
        (f'{SILENT}::test_a_value_out_of_range_is_an_error_that_names_both',),
    ),
    Mutant(
        5,
        'takes a misspelt key for a foreign one',
        KINEMATICS,
        'meant = None if name in KEYS_OF_OTHER_SOLVERS else misspelt_name(key, ours)',
        'meant = None',
        (f'{SILENT}::test_a_misspelt_key_of_a_file_is_an_error_with_the_right_name',),
    ),
    Mutant(
        5,
        'says nothing about keys that are not used',
        KINEMATICS,
        '    if unused:\n',
        '    if False:\n',
        (f'{SILENT}::test_keys_of_other_solvers_get_one_line',),
    ),
    Mutant(
        5,
        "drops another solver's keys from the list of unused ones",
        KINEMATICS,
        '        unused[name] = _hint(name, ours)\n',
        '        if name not in KEYS_OF_OTHER_SOLVERS:\n            unused[name] = _hint(name, ours)\n',
        (f'{SILENT}::test_keys_of_other_solvers_get_one_line',),
    ),
    Mutant(
        5,
        'ignores the timeout of a kinematics.yaml',
        KINEMATICS,
        "timeout=common['kinematics_solver_timeout']",
        'timeout=0.05',
        (f'{SILENT}::test_the_keys_of_moveit_are_honoured',),
    ),
    Mutant(
        5,
        'ignores joints to lock that do not exist',
        REQUEST_LIMITS,
        '    if name not in group.joint_names:\n',
        '    if False and name not in group.joint_names:\n',
        (f'{SILENT}::test_a_request_that_makes_no_sense_is_an_error_that_says_why',),
    ),
    Mutant(
        1,
        'Newton accepts any rotation',
        DESCENT,
        'inside = inside and rotation <= largest[state.ROTATION, c]',
        'inside = inside and rotation <= 9.0',
        (f'{NEWTON_PROMISES}::test_each_tolerance_holds_by_itself',),
    ),
    Mutant(
        1,
        'Newton accepts any position',
        DESCENT,
        'inside = inside and position <= largest[state.POSITION, c]',
        'inside = inside and position <= 9.0',
        (f'{NEWTON_PROMISES}::test_each_tolerance_holds_by_itself',),
    ),
    Mutant(
        1,
        'Newton does not check limits',
        SEARCH,
        'if options[state.LIMITED] != 0.0 and not descent.within_limits(',
        'if False and not descent.within_limits(',
        (f'{NEWTON_PROMISES}::test_a_hinge_does_not_open_further_than_it_can',),
    ),
    Mutant(
        1,
        'Newton returns the last state instead of the best one',
        SEARCH,
        '    vectors.copy(w.state, w.best)\n    square, _',
        '    square, _',
        (f'{NEWTON_INPUT}::test_the_best_state_of_many_searches_is_no_worse_than_that_of_one',),
    ),
    Mutant(
        1,
        'Newton accepts targets that are no poses',
        SEARCH,
        '        if not se3.is_rigid(w.matrices, 4 * t, options[state.RIGID_TOLERANCE]):\n',
        '        if False and not se3.is_rigid(w.matrices, 4 * t, options[state.RIGID_TOLERANCE]):\n',
        (f'{NEWTON_INPUT}::test_a_pose_that_is_no_rigid_transform_is_an_error',),
    ),
    Mutant(
        1,
        'Newton accepts starts that are not finite',
        SEARCH,
        '        if not abs(w.reference[k]) <= joint_values.LARGEST_JOINT_VALUE:\n',
        '        if False and not abs(w.reference[k]) <= joint_values.LARGEST_JOINT_VALUE:\n',
        (f'{NEWTON_INPUT}::test_a_start_that_is_not_finite_is_an_error',),
    ),
    Mutant(
        1,
        'the step of six rows loses a factor',
        f'{NEWTON}/six_rows.py',
        'c3, c4, c5 = m32 * d2, m42 * d2, m52 * d2',
        'c3, c4, c5 = m32 * d2, m42 * d2, m52 * d1',
        (NEWTON_STEP,),
    ),
    Mutant(
        1,
        'the step of six rows forgets limits',
        f'{NEWTON}/six_rows.py',
        'if not limited or not steps.stop_at_limits(t.variable_i, w, scales):',
        'if True:',
        (NEWTON_STEP,),
    ),
    Mutant(
        1,
        'a Jacobian with a wrong sign',
        f'{NEWTON}/serial.py',
        'w.jacobian[1, v] = z * dx - x * dz',
        'w.jacobian[1, v] = z * dx + x * dz',
        (f'{NEWTON_PROMISES}::test_each_tolerance_holds_by_itself',),
    ),
    Mutant(
        1,
        'chan damps by twice E',
        f'{NEWTON}/laws.py',
        'return gain * 0.5 * square + SINGULAR_DAMPING',
        'return gain * square + SINGULAR_DAMPING',
        (f'{NEWTON_PROMISES}::test_the_damping_of_each_law_is_its_formula',),
    ),
    Mutant(
        1,
        'the gain ratio is inverted',
        f'{NEWTON}/laws.py',
        'if decrease < POOR * promised:',
        'if decrease > POOR * promised:',
        (f'{NEWTON_PROMISES}::test_the_damping_follows_the_gain_ratio',),
    ),
    Mutant(
        1,
        'limits attract instead of repel',
        f'{NEWTON}/null_space.py',
        'w.gradient[v] += scale * (reach - below) ** 2',
        'w.gradient[v] -= scale * (reach - below) ** 2',
        (
            'test/search/test_null_space.py::test_the_pull_away_from_limits_is_the_gradient_of_its_objective_and_the_formula',
        ),
    ),
    Mutant(
        1,
        'a tracker moves twice as far as a cycle allows',
        f'{NEWTON}/tracking.py',
        'centre[at] - bounds[v], centre[at] + bounds[v]',
        'centre[at] - 2 * bounds[v], centre[at] + 2 * bounds[v]',
        (
            'test/search/test_tracking.py::test_a_far_target_is_approached_at_the_speed_that_is_allowed',
        ),
    ),
    Mutant(
        1,
        'closed chains: one tolerance of two is enough',
        CHAIN_ROWS,
        'and w.errors[c, 1] < block.options[layout.ROTATION_TOLERANCE]',
        'or w.errors[c, 1] < block.options[layout.ROTATION_TOLERANCE]',
        (
            f'{CHAIN_TESTS}::test_a_reachable_goal_converges_and_an_unreachable_one_stalls_stretched',
        ),
    ),
    Mutant(
        1,
        'closed chains: steps leave the limits',
        CHAIN_DESCENT,
        'steps.move_by(t.variable, w.lower, w.upper, True, 1.0, w.step, w.trial)',
        'steps.move_by(t.variable, w.lower, w.upper, False, 1.001, w.step, w.trial)',
        (f'{CHAIN_TESTS}::test_limits_hold_to_the_last_bit_and_are_left_again',),
    ),
    Mutant(
        1,
        'closed chains: excluded goals count',
        CHAIN_ROWS,
        'if block.flags[t.constraint[c, layout.CONSTRAINT_FRAME], layout.EXCLUDED] != 0:\n            continue\n        constraint_error',
        'constraint_error',
        (f'{CHAIN_TESTS}::test_locked_joints_stay_and_excluded_goals_do_not_count',),
    ),
    Mutant(
        1,
        'closed chains: rotations move points the wrong way along x',
        CHAIN_ROWS,
        'vx, vy, vz = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx\n    for i',
        'vx, vy, vz = z * dy - y * dz, z * dx - x * dz, x * dy - y * dx\n    for i',
        (f'{COLUMN_TESTS}::test_columns_of_random_mechanisms_are_exact',),
    ),
    Mutant(
        1,
        'closed chains: goals in the axes of the world rotate as closed links do',
        ROWS,
        'so3.inverse_left_jacobian(maps[2], wx, wy, wz)',
        'so3.inverse_left_jacobian(maps[2], -wx, -wy, -wz)',
        (f'{COLUMN_TESTS}::test_columns_of_random_mechanisms_are_exact',),
    ),
    Mutant(
        1,
        'closed chains: slides move nothing that the general rows see',
        CHAIN_ROWS,
        'blocks[column, i] += factor * total',
        'blocks[column, i] -= factor * total',
        (
            'test/mechanisms/test_general_rows.py::'
            'test_random_mechanisms_have_the_rows_of_the_general_evaluator',
        ),
    ),
    Mutant(
        1,
        'closed chains: results of groups have open loops',
        'ssik_ros/mechanisms/closed_chain_solver.py',
        'closed = loops <= self._solver.parameters.loop_tolerance',
        'closed = True',
        (
            'test/mechanisms/test_closed_chain_solver.py::'
            'test_an_open_loop_is_no_solution_however_near_the_tip_is',
        ),
    ),
    Mutant(
        1,
        'closed chains: the relay shows robots with open loops',
        'ssik_ros/server/loops/passive_joints.py',
        'if open_chains:',
        'if False:',
        (
            'test/server_loops/test_passive_joints.py::'
            'test_a_state_with_open_loops_is_none_and_leaves_no_trace',
        ),
    ),
    Mutant(
        1,
        "task sets: columns of positions in the world's axes",
        ROWS,
        'change = maps[0, 3 * k] * vx + maps[0, 3 * k + 1] * vy + maps[0, 3 * k + 2] * vz',
        'change = vx if k == 0 else vy if k == 1 else vz',
        (f'{ROW_TESTS}::test_jacobian_is_the_derivative_of_the_error',),
    ),
    Mutant(
        1,
        'task sets: forgets that constraint bases move',
        ROWS,
        'share = (1.0 if side & moves_axes else 0.0) - moves_goal',
        'share = -moves_goal',
        (f'{ROW_TESTS}::test_jacobian_is_the_derivative_of_the_error',),
    ),
    Mutant(
        1,
        'task sets: forgets that targets slide',
        ROWS,
        'vx = turn * (zy * lz - zz * ly) + sign * slide * zx',
        'vx = turn * (zy * lz - zz * ly) + moves_b * slide * zx',
        (f'{ROW_TESTS}::test_jacobian_is_the_derivative_of_the_error',),
    ),
    Mutant(
        1,
        'task sets: gives gamma to alpha_beta',
        ROWS,
        'if (mask >> (3 + k)) & 1:\n            i = 3 * k',
        'if (mask >> (3 + min(k, 1))) & 1:\n            i = 3 * k',
        (f'{ROW_TESTS}::test_jacobian_is_the_derivative_of_the_error',),
    ),
    Mutant(
        1,
        'task sets: takes any orientation for precise',
        TASK_ROWS,
        'and w.errors[e, 1] <= t.task_f[e, packing.TASK_PRECISION + 1]\n        ):',
        'and True\n        ):',
        (f'{SOLVE_TESTS}::test_a_failed_orientation_restores_only_when_asked_for',),
    ),
    Mutant(
        1,
        'task sets: pushes joints to the limits that they are to avoid',
        TASK_ROWS,
        'jacobian[row, v] = -1.0 if way < 0.0 else 1.0',
        'jacobian[row, v] = 1.0 if way < 0.0 else -1.0',
        (f'{SOLVE_TESTS}::test_joints_near_their_limits_are_pushed_back',),
    ),
    Mutant(
        1,
        'task sets: lets the last task set but one go unprotected',
        TASK_STEPS,
        '        if g + 1 < sets:\n',
        '        if g + 2 < sets:\n',
        (
            f'{PRIORITY_TESTS}::test_the_rows_of_higher_task_sets_are_the_same_with_task_sets_below',
        ),
    ),
    Mutant(
        1,
        'task sets: holds the task sets above to first order only',
        TASK_HANDLING,
        '    while protection.next_trial(ints, reals, work, q):\n',
        '    while False:\n',
        (f'{PRIORITY_TESTS}::test_one_step_below_a_met_task_set_leaves_it_met',),
    ),
    Mutant(
        1,
        'task sets: forgets what task sets above have moved already',
        TASK_STEPS,
        '            total -= w.jacobian[first + a, v] * w.move[v]\n',
        '            pass\n',
        (f'{PRIORITY_TESTS}::test_conflicting_tasks_reach_the_lexicographic_optimum',),
    ),
    Mutant(
        1,
        'task sets: goes beyond limits by the motion so far',
        TASK_STEPS,
        'way = way / t.variable_f[v, packing.VARIABLE_SCALE] - w.move[v]',
        'way = way / t.variable_f[v, packing.VARIABLE_SCALE]',
        (f'{PRIORITY_TESTS}::test_limits_that_lower_task_sets_reach_leave_the_upper_ones_alone',),
    ),
    Mutant(
        1,
        'task sets: stops at limits at the cost of task sets above',
        TASK_STEPS,
        '        left = linalg.reject(axis, w.basis, rank, nv)\n        if left <= orthogonal_rows.COVERED:',
        '        left = 1.0\n        if left <= orthogonal_rows.COVERED:',
        (f'{PRIORITY_TESTS}::test_limits_that_lower_task_sets_reach_leave_the_upper_ones_alone',),
    ),
    Mutant(
        1,
        'task sets: nests priorities from the first to the last',
        TASK_STEPS,
        'for g in range(ints[packing.SETS] - 1, -1, -1):',
        'for g in range(ints[packing.SETS]):',
        (f'{PRIORITY_TESTS}::test_nested_priorities_are_the_documented_formula',),
    ),
    Mutant(
        1,
        'task sets: takes steps of any length',
        TASK_STEPS,
        '        share = min(share, 1.0 / ratio)\n',
        '        share = 1.0\n',
        (f'{SOLVE_TESTS}::test_steps_keep_their_direction_when_they_are_too_long',),
    ),
    Mutant(
        1,
        'task sets: tells numbers of values that were put back',
        TASK_HANDLING,
        '    vectors.copy(q, w.start)\n    task_rows.measure(ints, reals, work, q)\n',
        '    vectors.copy(q, w.start)\n',
        (f'{SOLVE_TESTS}::test_numbers_belong_to_the_values_that_are_left',),
    ),
    Mutant(
        1,
        'task sets: searches without its seed',
        TASK_HANDLING,
        'place = w.options[packing.SEQUENCE + nv + v] + index',
        'place = 0.5 + index',
        (f'{SEARCH_TESTS}::test_results_depend_on_the_seed_and_on_nothing_else',),
    ),
    Mutant(
        1,
        'task sets: measures distances of tips in all rows',
        TASK_HANDLING,
        '            if (mask >> k) & 1:\n                square += (w.options',
        '            if True:\n                square += (w.options',
        (f'{SEARCH_TESTS}::test_only_the_selected_rows_count_for_the_distance',),
    ),
    Mutant(
        1,
        'stream: moves as fast as it likes',
        STREAM,
        '        if excess <= 1.0:\n',
        '        if True:\n',
        (f'{STREAM_TESTS}::test_joints_keep_their_velocity_limits',),
    ),
    Mutant(
        2,
        'calls a pose out of reach that samples and starts have missed',
        ABSENCE,
        'return Cause.UNREACHABLE if plan.is_complete else Cause.NOT_FOUND',
        'return Cause.UNREACHABLE',
        (f'{POSTURE_SEARCH}::test_a_search_that_finds_nothing_makes_no_proof',),
    ),
    Mutant(
        2,
        'takes branches outside the limits of a singular pose for a proof',
        ABSENCE,
        '    if branches.is_doubtful:\n        return Cause.NOT_FOUND\n',
        '',
        (f'{SINGULAR_POSES}::test_branches_outside_the_limits_prove_nothing_at_a_singular_pose',),
    ),
    Mutant(
        2,
        'proves by axes that fit a class only nearly',
        'ssik_ros/solvers/closed_form/plan.py',
        'is_inexact = drift > EXACT_FIT * geometry.size',
        'is_inexact = False',
        (f'{SINGULAR_POSES}::test_axes_that_are_parallel_only_nearly_prove_nothing',),
    ),
    Mutant(
        2,
        'reach maps: takes the centre of a range of a joint for all of it',
        HELD_RANGES,
        'return margin, margin + place[1] + PROVED_OUTSIDE < 0.0',
        'return margin, margin + PROVED_OUTSIDE < 0.0',
        (f'{HELD_PROOF}::test_limits_that_pin_some_joints_still_hold_their_posture[panda]',),
    ),
    Mutant(
        2,
        'reach maps: calls it a fact that a singular posture collides',
        'ssik_ros/reach/checked_cells.py',
        'status[~singular[stuck]] = CellStatus.COLLIDES',
        'status[:] = CellStatus.COLLIDES',
        (f'{REACH_COLLISIONS}::test_a_singular_posture_that_collides_is_no_proof',),
    ),
    Mutant(
        2,
        'stream: tells what is left where it would have gone',
        STREAM,
        '            result = self._measure() if is_slowed else result\n',
        '            pass\n',
        (f'{STREAM_TESTS}::test_joints_keep_their_velocity_limits',),
    ),
    Mutant(
        1,
        'stream: wanders about where a target is out of reach',
        STREAM,
        '            if _cost(there) < cost:\n',
        '            if True:\n',
        (f'{STREAM_TESTS}::test_out_of_reach_comes_nearer_until_it_stays',),
        compiled=True,
    ),
    Mutant(
        2,
        'stream: goes on with stale targets',
        STREAM,
        '            if age > self.settings.max_age:\n',
        '            if False:\n',
        (
            f'{STREAM_TESTS}::test_a_target_that_ceases_is_held_and_the_robot_may_be_moved_meanwhile',
        ),
    ),
    Mutant(
        2,
        'stream: begins anew at its last command',
        STREAM,
        '            self.begins = True\n',
        '            pass\n',
        (
            f'{STREAM_TESTS}::test_a_target_that_ceases_is_held_and_the_robot_may_be_moved_meanwhile',
        ),
    ),
    Mutant(
        3,
        'stream: takes targets out of order',
        STREAM,
        '            self.disordered += 1\n            return\n',
        '            self.disordered += 1\n',
        (f'{STREAM_TESTS}::test_the_newest_target_counts_and_a_late_one_is_left_out',),
    ),
    Mutant(
        5,
        'task set files: widen limits in silence',
        TASK_SET_FILES,
        '    if not joint.cyclic and not (low <= lower and upper <= high):\n',
        '    if False:\n',
        (f'{TASK_SET_FILE_TESTS}::test_what_does_not_fit_the_robot_is_refused_with_its_line',),
    ),
    Mutant(
        5,
        'task set files: take a base that does not carry the tip',
        TASK_SET_FILES,
        '    if base is not None and environment[base] not in list(dummy.ancestors()):\n',
        '    if False:\n',
        (f'{TASK_SET_FILE_TESTS}::test_what_does_not_fit_the_robot_is_refused_with_its_line',),
    ),
    Mutant(
        5,
        'task set files: give a tip another target in silence',
        TASK_SET_FILES,
        '        if dummy.target is not None and dummy.target is not goal:\n',
        '        if False:\n',
        (f'{TASK_SET_FILE_TESTS}::test_what_does_not_fit_the_robot_is_refused_with_its_line',),
    ),
    Mutant(
        3,
        'Newton starts at chance',
        'ssik_ros/solvers/search/settings.py',
        'uniform_numbers(seed, nv)',
        'uniform_numbers(__import__("time").time_ns(), nv)',
        (f'{NEWTON_PROMISES}::test_the_sequence_of_starts_belongs_to_its_seed',),
    ),
    Mutant(
        3,
        'hands the memory of one Newton search to two threads',
        NEWTON_FAMILY,
        'arrays = pool.pop()',
        'arrays = pool[-1] if pool else single.make_arrays(seeded=True)',
        (f'{NEWTON_PROMISES}::test_calls_from_many_threads_give_the_bytes_of_one',),
        compiled=True,
    ),
    Mutant(
        5,
        'takes True for a count of updates',
        NEWTON_FAMILY,
        ' and type(key[1]) is type(key[2]) is int:',
        ':',
        (f'{NEWTON_INPUT}::test_options_that_were_right_once_do_not_let_wrong_ones_pass',),
    ),
    Mutant(
        9,
        'proves self-motions with balls of twice the size',
        MOTION_PROOF,
        'free = 1.0 / (SAFETY_FACTOR *',
        'free = 2.0 / (SAFETY_FACTOR *',
        (f'{MOTION_BALLS}::test_candidates_lie_on_the_curve_within_the_ball_and_no_farther',),
    ),
    Mutant(
        9,
        'takes a candidate beside a ball for one of its curve',
        MOTION_PROOF,
        'INSIDE_SHARE = 0.9',
        'INSIDE_SHARE = 1.1',
        (f'{MOTION_BALLS}::test_candidates_lie_on_the_curve_within_the_ball_and_no_farther',),
    ),
    Mutant(
        9,
        'counts balls that touch as joined',
        MOTION_PROOF,
        'return math.sqrt(ahead) + state[INVERSE_KAPPA] - state[REACH] <= reach',
        'return straight <= reach + state[REACH]',
        (f'{MOTION_BALLS}::test_balls_are_joined_where_a_solution_of_one_is_in_the_other',),
    ),
    Mutant(
        9,
        'cuts curves where another image of them reaches a limit',
        MOTION_CIRCLES,
        '0.0 if value >= 0.0 else 1.0',
        '0.0 if value >= 0.0 else 0.0',
        (f'{CIRCLES_TEST}::test_the_same_curves_are_followed',),
    ),
    Mutant(
        9,
        'leaves out the curves with the other sign of joint 6',
        MOTION_CIRCLES,
        'for image in range(4):',
        'for image in range(2):',
        (f'{CIRCLES_TEST}::test_the_same_curves_are_followed',),
    ),
    Mutant(
        9,
        'puts knots of circles far apart',
        MOTION_CIRCLES,
        'LEAST_COSINE, LARGEST_CHORD_MISS = 0.7, 0.05',
        'LEAST_COSINE, LARGEST_CHORD_MISS = -1.0, 5.0',
        (f'{CIRCLES_TEST}::test_knots_are_no_farther_apart_than_their_cubics_bear',),
    ),
    Mutant(
        9,
        'bounds the second derivative without that of the rotation',
        'ssik_ros/solvers/self_motions/completeness.py',
        'matrix = np.sqrt(matrix**2 + 0.25 * np.outer(turns, turns))',
        'matrix = np.sqrt(matrix**2)',
        (f'{MOTION_BALLS}::test_a_stretched_arm_meets_the_bound_of_the_second_derivative',),
    ),
    Mutant(
        9,
        'bounds the second-order part of a turn too low',
        'ssik_ros/paths/bounding/enclosures.py',
        'own = 0.5 * (crossed + spin**2 * (start.angle + spin))',
        'own = 0.1 * (crossed + spin**2 * (start.angle + spin))',
        ('test/paths/test_path_bounds.py::test_second_order_parts_are_bounded_and_not_by_far',),
    ),
    Mutant(
        9,
        'counts a straight step dearer than the steps that it stands for',
        'ssik_ros/paths/bounding/relaxed_paths.py',
        'own = np.minimum.reduceat(weights, begins)',
        'own = np.maximum.reduceat(weights, begins)',
        (
            'test/paths/test_path_bounds.py::test_a_straight_step_costs_no_more_than_the_steps_that_it_stands_for',
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict of the tests on a mutant."""

    verdict: str
    """``noticed``; or ``survived``, ``no snippet``, ``no mutant``, ``too long``: then the row needs a change."""
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
        Run Python in the copy, its modules before all others and its machine code apart.

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

    def test(self, tests: Sequence[str], compiled: bool) -> 'subprocess.CompletedProcess[str]':
        """
        Run tests in the copy.

        :param tests: arguments of pytest: files or tests.
        :param compiled: whether kernels are compiled.
        """
        command = ('-m', 'pytest', '-x', '-q', '-p', 'no:cacheprovider', *tests)
        return self.run(*command, compiled=compiled)

    @contextlib.contextmanager
    def broken_by(self, mutant: Mutant) -> Iterator[int]:
        """
        Break the copy for a while; yields how often the snippet was found, and breaks nothing unless once.

        :param mutant: how to break it.
        """
        path = self.root / mutant.file
        text, times = path.read_text(encoding='utf-8'), path.stat()
        count = text.count(mutant.before)
        try:
            if count == 1:
                broken = text.replace(mutant.before, mutant.after)
                path.write_text(broken, encoding='utf-8')
            yield count
        finally:
            path.write_text(text, encoding='utf-8')
            # The machine code of an untouched file is found again by its time.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def judge(copy: Copy, mutant: Mutant) -> Outcome:
    """
    Return the verdict of the tests on a mutant.

    :param copy: the copy to break.
    :param mutant: how to break it.
    """
    begin = time.monotonic()
    with copy.broken_by(mutant) as count:
        if count != 1:
            detail = f'{mutant.file} has the snippet {count} times: {mutant.before.strip()}'
            return Outcome('no snippet', 0.0, detail)
        try:
            done = copy.test(mutant.tests, mutant.compiled)
        except subprocess.TimeoutExpired:
            return Outcome('too long', time.monotonic() - begin)
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        return Outcome('survived', seconds)
    if done.returncode != 1 or DOES_NOT_COMPILE.search(done.stdout):
        return Outcome('no mutant', seconds, done.stdout[-2000:])
    return Outcome('noticed', seconds)


def check_untouched(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """
    Make sure that the tests run in the copy and are green before anything is broken.

    :param copy: the copy.
    :param mutants: whose tests are run.
    :raises SystemExit: when they are not.
    """
    where = copy.run('-c', 'import ssik_ros; print(ssik_ros.__file__)').stdout.strip()
    if not where.startswith(str(copy.root)):
        sys.exit(f'mutants: the tests would import {where}, not the copy in {copy.root}')
    for compiled in (False, True):
        tests = {test for m in mutants if m.compiled == compiled for test in m.tests}
        if not tests:
            continue
        done = copy.test(sorted(tests), compiled)
        if done.returncode != 0:
            sys.exit(f'mutants: tests fail before anything is broken\n{done.stdout[-4000:]}')


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Break, test, print.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Break the promises; the tests must notice.')
    parser.add_argument('--promises', nargs='+', type=int, help='numbers; all by default')
    parser.add_argument('-k', dest='word', default='', help='only mutants with this in their text')
    options = parser.parse_args(arguments)
    mutants = [
        mutant
        for mutant in MUTANTS
        if options.promises is None or mutant.promise in options.promises
        if options.word in mutant.what
    ]
    with tempfile.TemporaryDirectory(prefix='ssik_ros_mutants_') as folder:
        copy = Copy(Path(folder))
        check_untouched(copy, mutants)
        failures = []
        print(f'{"promise":>7}  {"verdict":<10}  {"s":>5}  mutant')
        for mutant in mutants:
            outcome = judge(copy, mutant)
            line = f'{mutant.promise:>7}  {outcome.verdict:<10}  {outcome.seconds:5.1f}'
            print(f'{line}  {mutant.what}', flush=True)
            if outcome.verdict != 'noticed':
                failures.append(f'{outcome.verdict}: {mutant.what}\n{outcome.detail}')
    print(f'{len(mutants) - len(failures)} of {len(mutants)} mutants noticed', flush=True)
    if failures:
        sys.exit('\n'.join(failures))


if __name__ == '__main__':
    main()
