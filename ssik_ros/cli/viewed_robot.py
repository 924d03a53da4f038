"""
Open the session that the options of ``ssik view`` describe: :func:`open_session`.

It shows a planning group, a mechanism or task sets, with obstacles, a joint path and a reach map.
"""

import argparse
from pathlib import Path

from ssik_ros.cli.case_file import robot_origin
from ssik_ros.cli.options import add_option, name_given
from ssik_ros.cli.robot_choice import choose_group, load_chosen
from ssik_ros.cli.target_options import is_position_only
from ssik_ros.cli.targets import read_parameters, read_positions
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.mechanisms.loop_closures import LoopClosures, read_loop_closures
from ssik_ros.mechanisms.shipped_mechanisms import mechanism_files, mechanism_names
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.paths.path_file import PathProblem, read_problem
from ssik_ros.paths.planner import plan_tool_path
from ssik_ros.reach.reach_map import ReachMap
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.tasks.files.task_set_file import find_task_set_file, read_task_set_file
from ssik_ros.view.browser.page_panels import Extras
from ssik_ros.view.obstacles import read_obstacle_option
from ssik_ros.view.playback import JointPath, Playback, read_joint_path
from ssik_ros.view.reach_cloud import ReachCloud
from ssik_ros.view.sessions.loop_session import LoopSession
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import make_kinematics, Session
from ssik_ros.view.sessions.task_session import TaskSession

PROBLEM_SUFFIXES = ('.yaml', '.yml')
NAMED_BY_FILE = (
    *('urdf', 'srdf', 'xacro-arg', 'robot', 'moveit-config', 'group', 'base', 'tip'),
    *('loops', 'goal', 'tasks', 'solver', 'param', 'seed'),
)
"""Options for which the file of a tool path leaves no room."""


def add_content_options(parser: argparse.ArgumentParser) -> None:
    """
    Add the options for contents that are shown with the robot.

    :param parser: the verb's parser.
    """
    group = parser.add_argument_group('mechanisms, tasks, obstacles and paths')
    text = 'a loop_closures.yaml of the robot; a shipped mechanism brings its own'
    add_option(group, '--loops FILE', text, type=Path)
    text = 'a link of a mechanism that gets a target (default: those that close its loops); may be repeated'
    add_option(group, '--goal LINK', text, action='append')
    add_option(group, '--tasks FILE', 'task sets, by file or by the name of shipped ones')
    text = 'a YAML of obstacles, its text in braces, or a mesh file; may be repeated'
    add_option(group, '--obstacles FILE', text, action='append')
    add_option(group, '--ignore-collisions', 'let the solver ignore the obstacles')
    add_option(group, '--windings', 'list whole turns of joints as branches of their own')
    text = 'a joint path to be played: trajectory.csv, or the YAML of a tool path, which is planned first'
    add_option(group, '--path FILE', text, type=Path, dest='joint_path')
    add_option(group, '--reach MAP', 'a reach map of this robot, as a cloud', type=Path)


def open_session(arguments: argparse.Namespace) -> tuple[PostureSession, Extras]:
    """
    Return the session that the arguments describe: the robot on the page, with its solver, targets and obstacles.

    The second value holds the playback of a joint path and the cloud of a reach map, each None if not given.

    :param arguments: the parsed arguments.
    :raises SsikError: when a file cannot be read or does not fit the robot, or when options exclude each other.
    """
    path, playback = arguments.joint_path, None
    if path is not None and path.suffix.lower() in PROBLEM_SUFFIXES:
        session, playback = _open_problem(arguments)
    else:
        session = _open_robot(arguments)
        if path is not None:
            playback = Playback(session.robot, read_joint_path(path))
    for text in arguments.obstacles:
        for item in read_obstacle_option(text):
            session.put_obstacle(item)
    is_needed = bool(session.obstacles) and not arguments.ignore_collisions
    session.avoids_collisions = session.can_avoid and is_needed
    if isinstance(session, Session):
        session.wants_windings = arguments.windings
    else:
        _refuse_solver(arguments)
    cloud = None
    if arguments.reach is not None:
        cloud = ReachCloud(ReachMap.open(arguments.reach), session)
    return session, Extras(playback, cloud)


def _refuse_solver(arguments: argparse.Namespace) -> None:
    """Raise InvalidOption for options that only a planning group has: its solver, parameters, seed and windings."""
    given = name_given(arguments, ('solver', 'param', 'seed', 'windings'))
    if given:
        raise InvalidOption(
            f'Mechanisms and tasks have a solver of their own: leave out {", ".join(given)}.'
        )


def _open_problem(arguments: argparse.Namespace) -> tuple[PostureSession, Playback]:
    """
    Read and plan the tool path of ``--path``; return a session of its robot, and the playback of the path.

    Raise InvalidOption for options that the file leaves no room for, and if the plan has no posture.
    """
    given = name_given(arguments, NAMED_BY_FILE)
    if arguments.path is not None or given:
        what = ', '.join(given) or quote(str(arguments.path))
        raise InvalidOption(f'The file of --path names its robot and its group; leave out {what}.')
    problem = read_problem(arguments.joint_path)
    path = plan_tool_path(problem.robot, problem.group, problem.waypoints, **problem.settings)
    if not len(path.positions):
        raise InvalidOption(f"'{problem.name}' has no joint path: {path.reason}")
    session = Session(problem.robot, problem.group)
    _put_boxes(session, problem)
    played = Playback(problem.robot, JointPath(path.joint_names, path.positions))
    played.show(session, 0.0)
    return session, played


def _put_boxes(session: Session, problem: PathProblem) -> None:
    """Add the obstacles of a tool path to a session, moved from the base link to the model frame."""
    base = session.tip_pose(problem.group.base_link)
    for item in problem.settings.get('obstacles', ()):
        session.put_obstacle(type(item)(item.name, base @ item.pose, item.shapes))


def _open_robot(arguments: argparse.Namespace) -> PostureSession:
    """
    Return the session of the robot that the options name: a mechanism, a task set file, or a planning group.

    Raise InvalidOption for ``--goal`` without a mechanism.
    """
    word = str(arguments.path) if arguments.path is not None else arguments.robot or ''
    is_shipped = word in mechanism_names() and not Path(word).exists()
    if is_shipped or arguments.loops is not None:
        return _open_mechanism(arguments, word if is_shipped else '')
    if arguments.goal:
        raise InvalidOption('--goal is for mechanisms: name one, or its loops with --loops.')
    if arguments.tasks is not None:
        return _open_tasks(arguments, load_chosen(arguments), LoopClosures())
    return _open_group(arguments)


def _open_group(arguments: argparse.Namespace) -> Session:
    """Return the session of a planning group, with the solver, its parameters and the seed that the options name."""
    chosen, origin = choose_group(arguments), robot_origin(arguments)
    plain = GroupKinematics(chosen.group.name, position_only=is_position_only(arguments))
    kinematics = make_kinematics(
        plain, arguments.solver or plain.solver, read_parameters(arguments.param)
    )
    session = Session(chosen.robot, chosen.group, kinematics, origin=origin)
    seed = read_positions(arguments.seed, chosen.group, '--seed')
    if seed is not None:
        session.set_joints(seed)
    return session


def _open_mechanism(arguments: argparse.Namespace, shipped: str) -> PostureSession:
    """
    Return the session of a mechanism, or of its task sets if ``--tasks`` names a file.

    ``shipped`` is the name of a mechanism of this package. If it is empty, the robot and the file of its loops come
    from the options.
    """
    loops_path = arguments.loops
    if shipped:
        urdf, shipped_loops = mechanism_files(shipped)
        robot, loops_path = load_robot(urdf), loops_path or shipped_loops
    else:
        robot = load_chosen(arguments)
    loops = read_loop_closures(loops_path)
    if arguments.tasks is not None:
        return _open_tasks(arguments, robot, loops)
    return LoopSession(robot, loops, arguments.goal or None)


def _open_tasks(
    arguments: argparse.Namespace, robot: RobotModel, loops: LoopClosures
) -> TaskSession:
    content = read_task_set_file(find_task_set_file(arguments.tasks))
    return TaskSession(robot, content, loops.initial_positions)
