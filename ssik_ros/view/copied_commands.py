"""Write the shown request, or the path through recorded waypoints, as text: Python, ``ssik`` or ``ros2 service call``."""

from collections.abc import Callable, Mapping, Sequence
import json
import shlex
from typing import Any

import numpy as np
import yaml

from ssik_ros.errors import InvalidOption, quote
from ssik_ros.server.requests.poses import numbers_of_pose
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.view.obstacles import describe_obstacles, only_solid
from ssik_ros.view.pose_text import rounded
from ssik_ros.view.sessions.session import Session
from ssik_ros.view.waypoints import waypoints_in_base

SOLIDS = 'ObjectShape, SolidKind, WorldObject'
WIDTH = 1_000_000
"""Most columns of YAML, which has to be one line."""
SERVICE = 'ros2 service call /compute_ik moveit_msgs/srv/GetPositionIK'
AXES, QUATERNION = 'xyz', 'xyzw'


def write_solve(session: Session) -> str:
    """
    Return the command line of ``ssik solve`` for the shown targets, with the shown posture as seed.

    :param session: the session, without ignored constraints (``relaxations``).
    :raises InvalidOption: if constraints are ignored, or if the robot was not named on the command line.
    """
    session.refuse_relaxed('A command')
    words = ['ssik', 'solve', *_robot_words(_origin(session)), *_group_words(session)]
    # Without an orientation the target is only a position.
    kinematics, count = session.kinematics, 3 if session.kinematics.position_only else 7
    numbers = [x for tip in session.tips for x in _target_numbers(session, tip)[:count]]
    words += ['--xyz' if count == 3 else '--pose', *map(_text, numbers)]
    words += ['--seed', *map(_text, session.joints)]
    if kinematics.solver != DEFAULT_SOLVER:
        words += ['--solver', kinematics.solver]
    for name, value in kinematics.parameters.items():
        words += ['--param', f'{name}={json.dumps(value, default=np.generic.item)}']
    return shlex.join(words)


def write_python(session: Session) -> str:
    """
    Return a Python program that prints the solutions for the shown target, the nearest to the shown posture first.

    They are the solutions that :meth:`ssik_ros.Manipulator.solve` finds with its default solver.

    :param session: the session, without ignored constraints (``relaxations``).
    :raises InvalidOption: if constraints are ignored, if the group has several tips, or if the robot was not named on
        the command line. Also for a MoveIt package with further files or xacro arguments.
    """
    session.refuse_relaxed('A command')
    start, load = _arm_lines(session)
    target = _pose_text(_target_numbers(session, _only_tip(session)))
    lines = (
        *(*start, '', *load),
        f'target = {target}  # x y z [m], x y z w',
        f'seed = [{", ".join(map(_text, session.joints))}]',
        'for solution in arm.solve(target, q_seed=seed):',
        '    print(solution.q)',
    )
    return '\n'.join(lines)


def write_path_python(session: Session) -> str:
    """
    Return a Python program that plans a joint path along straight lines through the recorded waypoints, and prints it.

    :param session: the session, without ignored constraints (``relaxations``).
    :raises InvalidOption: if constraints are ignored, the group has several tips, or the robot was not named on the
        command line. Also for a MoveIt package with further files or xacro arguments, and for fewer than two waypoints.
        If collisions are avoided, also for an obstacle that is not one box, sphere or cylinder.
    """
    session.refuse_relaxed('A command')
    _only_tip(session)
    start, load = _arm_lines(session)
    start += ['from ssik_ros.paths.waypoints import straight_lines']
    poses = [
        f'    {_pose_text(numbers_of_pose(waypoint))},' for waypoint in waypoints_in_base(session)
    ]
    # Without the argument nothing is checked; an empty list checks the robot with itself.
    avoids = session.avoids_collisions
    if avoids:
        load += [f'obstacles = {_obstacles_text(session)}']
    if avoids and session.obstacles:
        start += ['import numpy as np', f'from ssik_ros.model.collision.objects import {SOLIDS}']
    lines = (
        *(*sorted(start, key=lambda line: (line[0] != 'i', line)), '', *load),
        *('waypoints = [  # x y z [m], x y z w', *poses, ']'),
        f'path = arm.plan(straight_lines(waypoints){", obstacles=obstacles" * avoids})',
        'print(path.reason or path.joint_names)',
        *('for q in path.positions:', '    print(q)'),
    )
    return '\n'.join(lines)


def write_view(session: Session) -> str:
    """
    Return the command line of ``ssik view`` that shows the same robot, posture, targets, obstacles and options again.

    :param session: the session, without ignored constraints (``relaxations``).
    :raises InvalidOption: if constraints are ignored, the robot was not named on the command line, or an obstacle is
        not one box, sphere or cylinder.
    """
    words = ['ssik', 'view', *shlex.split(write_solve(session))[2:]]
    if session.obstacles:
        words += ['--obstacles', _yaml_line({'obstacles': describe_obstacles(session.obstacles)})]
    if session.obstacles and not session.avoids_collisions:
        words.append('--ignore-collisions')
    if session.wants_windings:
        words.append('--windings')
    return shlex.join(words)


def write_service_call(session: Session) -> str:
    """
    Return a command line that calls the service ``compute_ik`` for the shown target, with the shown posture as seed.

    :param session: the session, without ignored constraints (``relaxations``).
    :raises InvalidOption: if constraints are ignored, or if the group has several tips.
    """
    session.refuse_relaxed('A command')
    tip = _only_tip(session)
    numbers = _target_numbers(session, tip)
    place = dict(zip(AXES, numbers[:3]))
    turn = dict(zip(QUATERNION, numbers[3:]))
    header = {'frame_id': session.group.base_link}
    posture = {'name': list(session.variable_names), 'position': rounded(session.joints)}
    request = {
        'group_name': session.group.name,
        'ik_link_name': tip,
        'avoid_collisions': session.avoids_collisions,
        'robot_state': {'joint_state': posture},
        'pose_stamped': {'header': header, 'pose': {'position': place, 'orientation': turn}},
    }
    return f'{SERVICE} {shlex.quote(_yaml_line({"ik_request": request}))}'


COMMANDS: dict[str, Callable[[Session], str]] = {
    'Python': write_python,
    'ssik solve': write_solve,
    'ros2 service call': write_service_call,
    'ssik view': write_view,
}
"""How a request becomes text, by the name of the form."""


def _yaml_line(content: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(content, default_flow_style=True, width=WIDTH, sort_keys=False)
    return str(text).strip()


def _arm_lines(session: Session) -> tuple[list[str], list[str]]:
    """
    Return two lists of lines of Python: imports, and the lines that assign ``robot`` and ``arm``.

    :raises InvalidOption: if the robot was not named on the command line, or as :func:`_load_line`.
    """
    line, robot = _load_line(_origin(session))
    group = f'robot.group({session.group.name!r})'
    if session.group.name not in session.robot.groups:
        group = f'robot.group_from_links({session.group.base_link!r}, {session.tips[0]!r})'
    start = ['from ssik_ros import Manipulator, pose', line]
    if line.startswith('from ssik_ros import '):
        start = [f'{line.replace("import ", "import Manipulator, ")}, pose']
    return start, [robot, f'arm = Manipulator(robot, {group})']


def _pose_text(numbers: Sequence[float]) -> str:
    """Return Python source that makes a pose from the numbers x, y, z, qx, qy, qz, qw."""
    x, y, z, *quaternion = map(_text, numbers)
    return f'pose([{x}, {y}, {z}], quat=[{", ".join(quaternion)}])'


def _obstacles_text(session: Session) -> str:
    """
    Return Python source of a list of the session's obstacles, with poses in the base link of the group.

    :raises InvalidOption: for an obstacle that is not a box, a sphere or a cylinder.
    """
    lines = []
    for item in session.obstacles:
        shape = only_solid(item)
        kind, sizes = f'SolidKind.{shape.kind.name}', ', '.join(map(_text, shape.sizes))
        text = f'ObjectShape({kind}, [{sizes}], np.eye(4))'
        place = _pose_text(numbers_of_pose(session.model_in_base @ item.pose @ shape.pose))
        lines.append(f'    WorldObject({item.name!r}, {place}, ({text},)),')
    return '\n'.join(['[', *lines, ']']) if lines else '[]'


def _origin(session: Session) -> Mapping[str, Any]:
    if not session.origin:
        raise InvalidOption('This robot was not named on the command line of `ssik view`.')
    return session.origin


def _only_tip(session: Session) -> str:
    if len(session.tips) != 1:
        raise InvalidOption(
            f'Group {quote(session.group.name)} has {len(session.tips)} tips: copy `ssik solve`.'
        )
    return session.tips[0]


def _target_numbers(session: Session, tip: str) -> list[float]:
    """Return the target of a tip as [x, y, z, qx, qy, qz, qw] in the base link of the group, rounded to DIGITS digits."""
    return rounded(numbers_of_pose(session.model_in_base @ session.targets[tip]))


def _text(number: float) -> str:
    """Return a number as text in decimal notation, rounded to DIGITS digits after the point, without trailing zeros."""
    return np.format_float_positional(rounded([number])[0], trim='-')


def _robot_words(origin: Mapping[str, Any]) -> list[str]:
    """
    Return the arguments of a command line that name the robot, such as its file and ``--xacro-arg``.

    :param origin: the options with which the viewer was started, by name.
    """
    words: list[str] = []
    for name, value in origin.items():
        if name in ('robot', 'path'):
            words.insert(0, str(value))
        elif name == 'xacro_arg':
            words += [word for one in value for word in ('--xacro-arg', one)]
        else:
            words += [f'--{name.replace("_", "-")}', str(value)]
    return words


def _group_words(session: Session) -> list[str]:
    """Return the arguments of a command line that name the group: ``--group``, or ``--base`` and ``--tip``."""
    group = session.group
    if group.name in session.robot.groups:
        return ['--group', group.name]
    return ['--base', group.base_link, '--tip', group.tips[0]]


def _load_line(origin: Mapping[str, Any]) -> tuple[str, str]:
    """
    Return two lines of Python: an import, and an assignment that loads ``robot``.

    :param origin: the options with which the viewer was started, by name.
    :raises InvalidOption: for a MoveIt package combined with further files or xacro arguments.
    """
    given = dict(origin)
    xacro = dict(one.split(':=', 1) for one in given.pop('xacro_arg', ()))
    name = given.pop('robot', None) or given.pop('moveit_config', None)
    if name is not None and not given and not xacro:
        start = 'from ssik_ros.manipulator.named_robot import load_named'
        return start, f'robot = load_named({str(name)!r}).robot'
    files = [given.pop(key) for key in ('path', 'urdf') if key in given]
    srdf = given.pop('srdf', None)
    if name is not None or given or len(files) != 1:
        raise InvalidOption('A package with files or arguments of its own: copy `ssik solve`.')
    words = [repr(str(files[0]))] + ([repr(str(srdf))] if srdf else [])
    words += [f'xacro_args={xacro!r}'] if xacro else []
    return 'from ssik_ros import load_robot', f'robot = load_robot({", ".join(words)})'
