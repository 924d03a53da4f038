"""``ssik solve``: one pose in, verified joint values out."""

import argparse
from collections.abc import Mapping, Sequence
import json
from pathlib import Path
import time
from typing import Any

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.oracle import GroupOracle, in_group_order
from ssik_ros.cli.answer import Answer, as_mapping, print_answer
from ssik_ros.cli.targets import read_positions, read_targets
from ssik_ros.errors import describe_choices, InvalidOption, UnknownGroup
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import IkSolver, SolveRequest
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml
from ssik_ros.solvers.registry import create_solver, DEFAULT_SOLVER, solver_schema, solver_spec
from ssik_ros.strict_yaml import parse_yaml

EXAMPLES = (
    'ssik solve --robot panda --group panda_arm --pose 0.4 0.1 0.5 1 0 0 0',
    'ssik solve --robot ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --max-solutions 4',
    'ssik solve --robot fanuc --joints 0.1 0.2 0.3 0.4 0.5 0.6 --json',
    'ssik solve --urdf arm.urdf --base base_link --tip tool0 --pose 0.3 0 0.4 0 0 0 1',
    'ssik solve --robot gen3 --param solve_mode=optimize_distance --seed 0 0 0 0 0 0 0 \\',
    '  --xyz-rpy 0.4 0.1 0.4 0 1.57 0',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    _add_robot_arguments(parser.add_argument_group('robot and group'))
    _add_target_arguments(parser.add_argument_group('target (one of)'))
    solver = parser.add_argument_group('solver')
    solver.add_argument('--solver', metavar='NAME', help=f'default: {DEFAULT_SOLVER}')
    solver.add_argument(
        '--param',
        action='append',
        default=[],
        metavar='KEY=VALUE',
        help='a parameter of the solver (see `ssik solvers`); may be repeated',
    )
    solver.add_argument(
        '--kinematics',
        type=Path,
        metavar='FILE',
        help='solver and parameters of a kinematics.yaml',
    )
    solver.add_argument('--seed', nargs='+', type=float, metavar='Q', help='first joint positions')
    solver.add_argument('--timeout', type=float, metavar='S', help='wall-clock budget [s]')
    solver.add_argument('--max-solutions', type=int, default=1, metavar='N', help='default: 1')
    parser.add_argument('--json', action='store_true', help='print JSON')


def _add_robot_arguments(group: argparse._ArgumentGroup) -> None:
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument(
        '--robot', metavar='NAME', help='a shipped robot or a MoveIt configuration package'
    )
    source.add_argument('--urdf', type=Path, metavar='PATH', help='a URDF or xacro file')
    group.add_argument('--srdf', type=Path, metavar='PATH', help='its semantic description')
    group.add_argument(
        '--group', metavar='NAME', help='a group of the SRDF (default: the only one)'
    )
    group.add_argument('--base', metavar='LINK', help='first link of the chain, without a group')
    group.add_argument('--tip', metavar='LINK', help='last link of the chain, without a group')


def _add_target_arguments(group: argparse._ArgumentGroup) -> None:
    target = group.add_mutually_exclusive_group(required=True)
    target.add_argument(
        '--pose',
        nargs='+',
        type=float,
        metavar='X',
        help='x y z qx qy qz qw of the tip in the base frame; so many per tip',
    )
    target.add_argument(
        '--xyz-rpy',
        nargs='+',
        type=float,
        metavar='X',
        help='x y z roll pitch yaw of the tip in the base frame [m, rad]; so many per tip',
    )
    target.add_argument(
        '--joints', nargs='+', type=float, metavar='Q', help='the pose of these joint positions'
    )


def run(arguments: argparse.Namespace) -> int:
    """
    Solve and print; 0 when there is a solution, 1 when there is none.

    :param arguments: the parsed arguments.
    :raises SsikError: when robot, group, target, solver or a parameter is wrong.
    """
    robot, kinematics_path = _load_robot(arguments)
    group = _choose_group(robot, arguments, kinematics_path)
    oracle = GroupOracle(robot, group)
    targets = read_targets(arguments, oracle)
    kinematics = _read_kinematics(arguments.kinematics, group)
    if arguments.timeout is None and arguments.kinematics is not None:
        arguments.timeout = kinematics.timeout
    solver = _make_solver(arguments, kinematics, robot, group)
    seed = read_positions(arguments.seed, group, '--seed')
    answer = _ask(solver, oracle, targets, seed, arguments)
    if arguments.json:
        print(json.dumps(as_mapping(answer), indent=2))
    else:
        print_answer(answer)
    return 0 if answer.result.solved else 1


def _ask(
    solver: IkSolver,
    oracle: GroupOracle,
    targets: FloatArray,
    seed: FloatArray | None,
    arguments: argparse.Namespace,
) -> Answer:
    """Return the answer of a warm solver."""
    order = oracle.joint_order(solver)
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
    vectors = list(result.solutions) if result.solved else [result.nearest]
    ordered = tuple(in_group_order(q, order) for q in vectors if q is not None)
    reason_for = getattr(solver, 'reason_for', None)
    reason = reason_for(request) if reason_for else getattr(solver, 'reason', '')
    return Answer(solver, oracle, targets, result, ordered, elapsed_ms, reason)


def _load_robot(arguments: argparse.Namespace) -> tuple[RobotModel, Path | None]:
    """Return the robot, and the kinematics.yaml that comes with it."""
    if arguments.urdf is not None:
        return load_robot(arguments.urdf, arguments.srdf), None
    if arguments.srdf is not None:
        raise InvalidOption('--srdf goes with --urdf; --robot brings its own.')
    files = find_moveit_config(arguments.robot)
    robot = load_robot(
        files.urdf_path, files.srdf_path, files.joint_limits_path, files.xacro_args or None
    )
    return robot, files.kinematics_path


def _choose_group(
    robot: RobotModel, arguments: argparse.Namespace, kinematics_path: Path | None
) -> JointGroup:
    """Return the group that was named, or the only one that can be meant."""
    if arguments.base is not None or arguments.tip is not None:
        if arguments.base is None or arguments.tip is None or arguments.group is not None:
            raise InvalidOption('Name the chain with --base and --tip together, or with --group.')
        return robot.group_from_links(arguments.base, arguments.tip)
    if arguments.group is not None:
        return robot.group(arguments.group)
    names = list(robot.groups)
    if len(names) > 1 and kinematics_path is not None:
        names = [name for name in read_kinematics_yaml(kinematics_path) if name in names]
    if len(names) == 1:
        return robot.group(names[0])
    how = f'--group ({", ".join(robot.groups)}) or ' if robot.groups else ''
    raise InvalidOption(f"Say which joints of robot '{robot.name}': {how}--base and --tip.")


def _make_solver(
    arguments: argparse.Namespace,
    kinematics: GroupKinematics,
    robot: RobotModel,
    group: JointGroup,
) -> IkSolver:
    """Return the solver of the kinematics file, changed by the command line."""
    spec = solver_spec(arguments.solver or kinematics.solver)
    given = _parse_parameters(arguments.param)
    own = solver_schema(spec).check(given, spec.parameter_aliases, '--param')
    parameters = {**kinematics.parameters, **own}
    return create_solver(
        spec.name, robot, group, parameters, position_only=kinematics.position_only
    )


def _read_kinematics(path: Path | None, group: JointGroup) -> GroupKinematics:
    if path is None:
        return GroupKinematics(group.name)
    groups = read_kinematics_yaml(path)
    if group.name not in groups:
        raise UnknownGroup(
            f"'{path}' has no group '{group.name}'. {describe_choices(group.name, groups)}",
            name=group.name,
            available=tuple(groups),
        )
    return groups[group.name]


def _parse_parameters(words: Sequence[str]) -> Mapping[str, Any]:
    """Return KEY=VALUE words as a mapping; values are read as in a YAML file."""
    parameters: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition('=')
        if not separator or not key:
            raise InvalidOption(f"--param takes KEY=VALUE, not '{word}'.")
        if key in parameters:
            raise InvalidOption(f"--param names '{key}' twice.")
        parameters[key] = parse_yaml(text, f'--param {key}')
    return parameters
