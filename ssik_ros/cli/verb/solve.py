"""``ssik solve``: solve for one pose of each tip, and print joint values with errors by separate forward kinematics."""

import argparse
import dataclasses
import json
import math
from pathlib import Path
import time

from ssik_ros.arrays import FloatArray
from ssik_ros.cli.options import add_option, add_solver_options
from ssik_ros.cli.printing import waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_group, ChosenGroup
from ssik_ros.cli.solve_report import as_mapping, print_report, SolveReport
from ssik_ros.cli.target_options import add_target_options, is_position_only
from ssik_ros.cli.targets import read_parameters, read_positions, read_targets
from ssik_ros.cli.tip_poses import TipPoses
from ssik_ros.errors import UnknownGroup
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.problem.solver_order import in_group_order, joint_order
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER, solver_schema, solver_spec

ALL = 1000
"""Most solutions of ``--all``; an arm with seven joints has no end of them."""

EXAMPLES = (
    'ssik solve panda --pose 0.4 0.1 0.5 1 0 0 0',
    'ssik solve panda --xyz 0.4 0.1 0.5         # any orientation',
    'ssik solve ur5e --xyz 0.4 0.2 0.3 --rpy 3.14 0 0 --all',
    'ssik solve fanuc --joints 0.1 0.2 0.3 0.4 0.5 0.6 --json',
    'ssik solve arm.urdf --tip tool0 --pose 0.3 0 0.4 0 0 0 1',
    'ssik solve gen3 --param solve_mode=optimize_distance --seed 0 0 0 0 0 0 0 \\',
    '  --xyz-rpy 0.4 0.1 0.4 0 1.57 0',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    targets = parser.add_argument_group('target (one of)')
    target = add_target_options(targets, is_needed=True)
    text = 'robot, target, seed and solver of a test case that `ssik view` saved'
    add_option(target, '--case FILE', text, type=Path)
    parser.set_defaults(position_only=False)
    solver = parser.add_argument_group('solver')
    add_solver_options(solver, DEFAULT_SOLVER)
    add_option(
        solver, '--kinematics FILE', 'kinematics.yaml with solver and parameters', type=Path
    )
    add_option(solver, '--timeout S', 'wall-clock budget [s]', type=float)
    most = solver.add_mutually_exclusive_group()
    add_option(most, '--max-solutions N', 'most solutions to return', type=int, default=1)
    text = f'return every solution that the solver finds, at most {ALL}'
    add_option(most, '--all', text, action='store_const', const=ALL, dest='max_solutions')
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Solve and print the result; return 0 for a solution, 1 without a solution.

    :param arguments: the parsed arguments.
    :raises SsikError: when robot, group, target, solver or a parameter is wrong.
    """
    if arguments.case is not None:
        # The view brings the whole server along, which a plain solve does without.
        from ssik_ros.cli.case_file import take_case

        take_case(arguments)
    chosen = choose_group(arguments)
    group = chosen.group
    oracle = TipPoses(chosen.robot, group)
    targets = read_targets(arguments, oracle)
    kinematics = _read_kinematics(arguments.kinematics, group)
    if arguments.timeout is None and arguments.kinematics is not None:
        arguments.timeout = kinematics.timeout
    solver = _make_solver(arguments, kinematics, chosen)
    seed = read_positions(arguments.seed, group, '--seed')
    with waiting('Solving'):
        report = _solve(solver, oracle, targets, seed, arguments)
    if arguments.json:
        print(json.dumps(as_mapping(report), indent=2))
    else:
        print_report(report)
    return 0 if report.result.solved else 1


def _solve(
    solver: IkSolver,
    oracle: TipPoses,
    targets: FloatArray,
    seed: FloatArray | None,
    arguments: argparse.Namespace,
) -> SolveReport:
    """
    Warm up the solver, solve once, and return the report with the time of the solve.

    If a failed search reports no nearest state, the solver is called again for this state, which is not timed.

    :param targets: (t, 4, 4) target poses of the tips in the base frame.
    :param seed: (n,) in the group's joint order; None for the default seed.
    """
    order = joint_order(oracle.group, solver)
    solver.warm_up()
    request = SolveRequest(
        targets=targets,
        seed=None if seed is None else seed[order],
        timeout=arguments.timeout,
        max_solutions=arguments.max_solutions,
    )
    start = time.perf_counter()
    result = solver.solve(request)
    elapsed_ms = 1e3 * (time.perf_counter() - start)
    if result.searches and not math.isfinite(result.residual):
        # A closed form searches for the nearest state only where it is wanted.
        result = solver.solve(dataclasses.replace(request, wants_nearest=True))
    # Where nothing was searched, the nearest state is the seed.
    nearest = [result.nearest] if result.searches else []
    vectors = list(result.solutions) if result.solved else nearest
    ordered = tuple(in_group_order(q, order) for q in vectors if q is not None)
    reason_for = getattr(solver, 'reason_for', None)
    reason = reason_for(request) if reason_for else getattr(solver, 'reason', '')
    return SolveReport(solver, oracle, targets, result, ordered, elapsed_ms, reason)


def _make_solver(
    arguments: argparse.Namespace, kinematics: GroupKinematics, chosen: ChosenGroup
) -> IkSolver:
    """
    Return the solver of the kinematics file, with the changes of the command line.

    :raises SsikError: for an unknown solver, a wrong parameter, or a group that the solver refuses.
    """
    spec = solver_spec(arguments.solver or kinematics.solver)
    given = read_parameters(arguments.param)
    changes = solver_schema(spec).check(given, spec.parameter_aliases, '--param')
    parameters = {**kinematics.parameters, **changes}
    return create_solver(
        spec.name,
        chosen.robot,
        chosen.group,
        parameters,
        position_only=kinematics.position_only
        or arguments.position_only
        or is_position_only(arguments),
    )


def _read_kinematics(path: Path | None, group: JointGroup) -> GroupKinematics:
    if path is None:
        return GroupKinematics(group.name)
    groups = read_kinematics_yaml(path)
    if group.name not in groups:
        raise UnknownGroup.unknown(f"'{path}' has no group '{group.name}'", group.name, groups)
    return groups[group.name]
