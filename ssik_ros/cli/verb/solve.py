"""``ssik solve``: one pose in, verified joint values out."""

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import json
from pathlib import Path
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.spatial.transform import Rotation

from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.runner import in_group_order
from ssik_ros.benchmark.runner import joint_order
from ssik_ros.errors import describe_choices
from ssik_ros.errors import InvalidOption
from ssik_ros.errors import InvalidTarget
from ssik_ros.errors import UnknownGroup
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.results import IkResult
from ssik_ros.solvers.base import Solver
from ssik_ros.solvers.base import SolveRequest
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.solvers.strict_yaml import parse_yaml
from ssik_ros.tolerances import DEFAULT_TOLERANCES

FloatArray = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class _Answer:
    """A result, and what is needed to judge it."""

    solver: Solver
    oracle: GroupOracle
    targets: FloatArray
    result: IkResult
    vectors: tuple[FloatArray, ...]
    """The solutions in the group's joint order, or without one the nearest state seen."""
    elapsed_ms: float

    @property
    def group(self) -> JointGroup:
        return self.oracle.group


def run(arguments: argparse.Namespace) -> int:
    """
    Solve and print; 0 when there is a solution, 1 when there is none.

    :param arguments: the parsed arguments.
    :raises SsikError: when robot, group, target, solver or a parameter is wrong.
    """
    robot, kinematics_path = _load_robot(arguments)
    group = _choose_group(robot, arguments, kinematics_path)
    oracle = GroupOracle(robot, group)
    targets = _targets(arguments, oracle)
    solver = _make_solver(arguments, robot, group)
    seed = _positions(arguments.seed, group, '--seed')
    answer = _ask(solver, oracle, targets, seed, arguments)
    if arguments.json:
        print(json.dumps(_as_mapping(answer), indent=2))
    else:
        _print(answer)
    return 0 if answer.result.solved else 1


def _ask(
    solver: Solver,
    oracle: GroupOracle,
    targets: FloatArray,
    seed: FloatArray | None,
    arguments: argparse.Namespace,
) -> _Answer:
    """Return the answer of a warm solver."""
    order = joint_order(solver, oracle)
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
    return _Answer(solver, oracle, targets, result, ordered, elapsed_ms)


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


def _targets(arguments: argparse.Namespace, oracle: GroupOracle) -> FloatArray:
    """Return the poses (t, 4, 4) that were asked for."""
    tips = len(oracle.group.tips)
    if arguments.joints is not None:
        positions = _positions(arguments.joints, oracle.group, '--joints')
        return oracle.tip_poses(positions)
    if arguments.pose is not None:
        rows = _reshape(arguments.pose, tips, 7, '--pose', 'x y z qx qy qz qw')
        return np.array([_pose(row[:3], _rotation(row[3:])) for row in rows])
    rows = _reshape(arguments.xyz_rpy, tips, 6, '--xyz-rpy', 'x y z roll pitch yaw')
    return np.array([_pose(row[:3], Rotation.from_euler('xyz', row[3:])) for row in rows])


def _reshape(numbers: Sequence[float], tips: int, size: int, option: str, what: str) -> FloatArray:
    if len(numbers) != tips * size or not np.isfinite(numbers).all():
        raise InvalidTarget(
            f'{option} takes {tips * size} finite numbers ({what} for each of {tips} tip(s)), not '
            f'{len(numbers)}: {" ".join(f"{number:g}" for number in numbers)}.'
        )
    return np.array(numbers, dtype=np.float64).reshape(tips, size)


def _rotation(quaternion: FloatArray) -> Rotation:
    """Return the rotation of a quaternion; rounding is forgiven, a mistake is not."""
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > DEFAULT_TOLERANCES.quaternion_norm:
        raise InvalidTarget(f'The quaternion qx qy qz qw has norm {norm:.6g}, not 1.')
    return Rotation.from_quat(quaternion)


def _pose(position: FloatArray, rotation: Rotation) -> FloatArray:
    pose = np.eye(4)
    pose[:3, :3] = rotation.as_matrix()
    pose[:3, 3] = position
    return pose


def _positions(numbers: Sequence[float] | None, group: JointGroup, option: str) -> Any:
    """Return joint positions (n,) of the group, or None when none were given."""
    if numbers is None:
        return None
    if len(numbers) != group.variable_count or not np.isfinite(numbers).all():
        raise InvalidOption(
            f"{option} takes {group.variable_count} finite numbers for group '{group.name}' "
            f'({", ".join(group.variable_names)}), not {len(numbers)}.'
        )
    return np.array(numbers, dtype=np.float64)


def _make_solver(arguments: argparse.Namespace, robot: RobotModel, group: JointGroup) -> Solver:
    """Return the solver of the kinematics file, changed by the command line."""
    kinematics = _read_kinematics(arguments.kinematics, group)
    parameters = {**kinematics.parameters, **_parse_parameters(arguments.param)}
    return create_solver(arguments.solver or kinematics.solver, robot, group, parameters)


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


def _as_mapping(answer: _Answer) -> dict[str, Any]:
    """Return the answer for JSON."""
    result, solver = answer.result, answer.solver
    shown = [_solution(answer, q) for q in answer.vectors]
    return {
        'robot': answer.oracle.robot.name,
        'group': answer.group.name,
        'solver': solver.name,
        'base_frame': solver.base_frame,
        'tip_frames': list(solver.tip_frames),
        'variables': list(answer.group.variable_names),
        'status': result.status.name,
        'cause': result.cause.name,
        'summary': result.summary(),
        'solutions': shown if result.solved else [],
        'nearest': None if result.solved or not shown else shown[0],
        'iterations': result.iterations,
        'searches': result.searches,
        'clock_ended': result.clock_ended,
        'solve_time_ms': answer.elapsed_ms,
    }


def _solution(answer: _Answer, q: FloatArray) -> dict[str, Any]:
    """Return one joint vector with its errors by independent FK and its distance to the limits."""
    distances, angles = answer.oracle.errors(q, answer.targets)
    margin = _limit_margin(answer.group, q)
    return {
        'positions': q.tolist(),
        'position_error': float(distances.max()),
        'orientation_error': float(angles.max()),
        'limit_margin': margin if np.isfinite(margin) else None,
    }


def _limit_margin(group: JointGroup, q: FloatArray) -> float:
    """Return the smallest distance to a joint limit; negative outside [rad or m]."""
    return float(np.minimum(q - group.lower, group.upper - q).min())


def _print(answer: _Answer) -> None:
    """Print the answer as a table: a row per joint, a column per solution."""
    result, group, console = answer.result, answer.group, Console()
    if not console.is_terminal:
        console = Console(width=_NAME_WIDTH + _CELL_WIDTH * (len(answer.vectors) + 2))
    tips = ', '.join(answer.solver.tip_frames)
    heading = f'{answer.solver.name}: {group.name}, {answer.solver.base_frame} -> {tips}'
    console.print(heading, markup=False, highlight=False, soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(escape('joint [rad or m]'), no_wrap=True)
    numbers = (
        [f'#{i + 1}' for i in range(len(answer.vectors))]
        if result.solved
        else ['nearest'] * len(answer.vectors)
    )
    for title in ('lower', 'upper', *numbers):
        table.add_column(title, justify='right', no_wrap=True)
    for i, name in enumerate(group.variable_names):
        values = (group.lower[i], group.upper[i], *(q[i] for q in answer.vectors))
        table.add_row(escape(name), *(f'{value:.4f}' for value in values))
    table.add_section()
    shown = [_solution(answer, q) for q in answer.vectors]
    for key, title in _FOOTER.items():
        table.add_row(escape(title), '', '', *(_footer_cell(one[key]) for one in shown))
    console.print(table)
    print(f'{result.summary()} {answer.elapsed_ms:.3g} ms.')


_NAME_WIDTH, _CELL_WIDTH = 40, 10
_FOOTER = {
    'position_error': 'position error [m]',
    'orientation_error': 'orientation error [rad]',
    'limit_margin': 'margin to limits',
}


def _footer_cell(value: float | None) -> str:
    return 'no limits' if value is None else f'{value:.3g}'
