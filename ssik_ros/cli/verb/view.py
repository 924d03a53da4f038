"""``ssik view``: show a robot in the browser and drag its target, or draw the robot into a picture, film or HTML file."""

import argparse
from importlib.util import find_spec
import json
import os
from pathlib import Path
import sys
import threading

from ssik_ros.arrays import FloatArray
from ssik_ros.cli.options import add_option, add_solver_options, name_given
from ssik_ros.cli.printing import progress_bar, waiting
from ssik_ros.cli.robot_choice import add_robot_options, read_word
from ssik_ros.cli.target_options import add_target_options, has_target
from ssik_ros.cli.targets import read_targets
from ssik_ros.cli.tip_poses import TipPoses
from ssik_ros.cli.viewed_robot import add_content_options, open_session
from ssik_ros.errors import InvalidOption, SolverError
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.view.browser.guard import import_extra
from ssik_ros.view.browser.page import announce_addresses, Page
from ssik_ros.view.browser.page_panels import Extras
from ssik_ros.view.browser.static_scene import save_html
from ssik_ros.view.recordings import record, take_snapshot
from ssik_ros.view.sessions.posture_session import PostureSession
from ssik_ros.view.sessions.session import Session

_WIDTH = 100

EXAMPLES = (
    'ssik view panda',
    'ssik view arm.urdf --open',
    'ssik view --moveit-config my_robot_moveit_config --group arm',
    'ssik view hexapod',
    'ssik view dual_arm --tasks dual_arm',
    'ssik view panda --obstacles table.yaml --path trajectory.csv',
    'ssik view --ros',
    'ssik view --ros --send-to /arm_controller/follow_joint_trajectory',
    'ssik view ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --snapshot ur5e.png',
    'ssik view ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --record ur5e.gif',
    'ssik view ur5e --html ur5e.html',
)


_NOT_FOR_ROS = (
    *('pose', 'xyz-rpy', 'xyz', 'joints', 'snapshot', 'record', 'html', 'loops', 'goal'),
    *('tasks', 'obstacles', 'path', 'solver', 'param', 'seed', 'ignore-collisions', 'windings'),
)
"""Options that a running robot leaves no room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    add_content_options(parser)
    targets = parser.add_argument_group('target to begin with (one of)')
    add_target_options(targets, is_needed=False)
    add_solver_options(parser.add_argument_group('solver'), DEFAULT_SOLVER)
    pictures = parser.add_argument_group(
        'pictures, without a page (one of)'
    ).add_mutually_exclusive_group()
    text = 'draw the robot, its branches, its target and obstacles into a file'
    add_option(pictures, '--snapshot PNG', text, type=Path)
    text = 'film the way from the first posture to the target'
    add_option(pictures, '--record GIF', text, type=Path)
    text = 'write the robot, or the path of --path, as one HTML file that needs no server'
    add_option(pictures, '--html FILE', text, type=Path)
    page = parser.add_argument_group('page')
    add_option(page, '--port N', 'port of the page (default: 8080)', type=int, default=8080)
    text = 'address to listen at (default: 127.0.0.1, which only this machine reaches)'
    add_option(page, '--host ADDRESS', text, default='127.0.0.1')
    add_option(page, '--open', 'open the page in your browser')
    ros = parser.add_argument_group('running robot (ROS 2)')
    text = 'attach to the robot that publishes robot_description, joint_states and tf'
    add_option(ros, '--ros', text)
    text = (
        'take solver and parameters from this running ik_server (default: /ssik_ros, if it runs)'
    )
    add_option(ros, '--node NODE', text)
    text = 'topic or action that a button of the page sends goals to (default: none)'
    add_option(ros, '--send-to NAME', text)


def run(arguments: argparse.Namespace) -> int:
    """
    Write a picture, film or HTML file, or serve the page until Ctrl+C.

    Return 1 if the picture, film or file shows no solution, else 0. With ``--ros``, the process becomes the node
    ``ik_view``.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, viser or ROS is missing, or the port is taken.
    """
    if arguments.ros:
        return _attach(arguments)
    if arguments.node is not None or arguments.send_to is not None:
        raise InvalidOption('--node and --send-to belong to a running robot: add --ros.')
    if (arguments.snapshot or arguments.record or arguments.html) and (
        arguments.reach or arguments.open
    ):
        raise InvalidOption('--reach and --open belong to a page: pictures show neither.')
    session, extras, targets = begin(arguments)
    if arguments.record is not None:
        if targets is None:
            raise InvalidOption(
                '--record films the way to a target: give --pose, --xyz-rpy or --joints.'
            )
        with progress_bar(_WIDTH, quiet=False) as show:
            record(session, targets, arguments.record, show)
        return 0 if session.outcome.solved else 1
    if arguments.snapshot is not None:
        with waiting('Drawing the picture'):
            take_snapshot(session, arguments.snapshot)
        if lines := _describe(session, targets is not None):
            print(lines)
        return 0 if session.outcome.solved else 1
    if arguments.html is not None:
        save_html(session, arguments.html, extras.playback)
        return 0 if session.outcome.solved else 1
    with waiting('Reading meshes and opening the page'):
        page = Page(session, host=arguments.host, port=arguments.port, extras=extras)
    return _serve(page, arguments)


def begin(
    arguments: argparse.Namespace,
) -> tuple[PostureSession, Extras, dict[str, FloatArray] | None]:
    """
    Open the session for the command line; return (session, extras of the page, target pose (4, 4) of each tip).

    The poses are in the model frame; without a target, None replaces them. The session is solved for the targets at
    once. With ``--record`` it stays at its start, so that the film shows the motion to the targets.

    :param arguments: the parsed arguments.
    :raises SsikError: when a file cannot be read or does not fit the robot, and for a target of a robot without a
        planning group.
    """
    session, extras = open_session(arguments)
    targets = _read_targets(arguments, session)
    if targets is not None and arguments.record is None:
        session.targets = targets
        session.solve()
    return session, extras, targets


def _describe(session: PostureSession, has_target: bool) -> str:
    """Return the legend of a picture: the outcome of the target, and the colliding bodies; empty without either."""
    lines = [session.outcome.text] if has_target else []
    pairs = ', '.join(f'{c.first} and {c.second}' for c in session.contacts)
    if pairs:
        lines.append(f'In collision, drawn red: {pairs}.')
    return '\n'.join(filter(None, lines))


def _read_targets(
    arguments: argparse.Namespace, session: PostureSession
) -> dict[str, FloatArray] | None:
    """
    Return the target pose (4, 4) of each tip in the model frame; None if no option gives a target.

    :raises InvalidOption: for a session without a planning group, or as :func:`~ssik_ros.cli.targets.read_targets`.
    :raises InvalidTarget: for numbers that are not poses of the tips.
    """
    if not has_target(arguments):
        return None
    if not isinstance(session, Session):
        raise InvalidOption('--pose, --xyz-rpy and --joints are for planning groups.')
    poses = read_targets(arguments, TipPoses(session.robot, session.group))
    base = session.tip_pose(session.group.base_link)
    return {link: base @ pose for link, pose in zip(session.tips, poses, strict=True)}


def _serve(page: Page[PostureSession], arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C, close it, and return 0."""
    announce_addresses(page)
    print('Press Ctrl+C to end.', flush=True)
    if arguments.open:
        page.open_in_browser()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    finally:
        page.close()
    return 0


def _attach(arguments: argparse.Namespace) -> int:
    """
    Replace this process by the ROS node ``ik_view``, which shows a running robot; does not return.

    Raise an SsikError if an option does not fit a running robot, or if rclpy or viser is missing.
    """
    given = name_given(arguments, _NOT_FOR_ROS, path='joint_path')
    if given:
        raise InvalidOption(f'--ros begins where the robot is; leave out {", ".join(given)}.')
    if find_spec('rclpy') is None:
        raise SolverError(
            'No ROS here: --ros needs rclpy. Source the setup file of ROS 2, or leave --ros out.'
        )
    import_extra('viser')
    words = [sys.executable, '-m', 'ssik_ros.ros.executables', 'ik_view', '--ros-args']
    for name, value in _node_parameters(arguments).items():
        # Quoted, or YAML would read the name 1 as a number.
        words += ['-p', f'{name}:={json.dumps(value)}']
    os.execv(sys.executable, words)


def _node_parameters(arguments: argparse.Namespace) -> dict[str, str | int | bool]:
    """
    Return the parameters of the node ``ik_view`` for the options; options that are not given are left out.

    Host, port and ``open_browser`` are always there, with the defaults of the command.

    :raises InvalidOption: if the options name several robots.
    """
    read_word(arguments)
    names = ('path', 'urdf', 'robot', 'moveit_config')
    if sum(getattr(arguments, name) is not None for name in names) > 1:
        raise InvalidOption('Name one robot, or none: then the running one is shown.')
    file = arguments.path or arguments.urdf
    values = {
        'robot_description_file': file and str(file.resolve()),
        'semantic_file': arguments.srdf and str(arguments.srdf.resolve()),
        'xacro_args': ' '.join(arguments.xacro_arg),
        'moveit_config_package': arguments.moveit_config or arguments.robot,
        'robot_name': arguments.robot_name,
        'group': arguments.group,
        'base_link': arguments.base,
        'tip_link': arguments.tip,
        'node': arguments.node,
        'send_to': arguments.send_to,
        'host': arguments.host,
        'port': arguments.port,
        'open_browser': arguments.open,
    }
    return {name: value for name, value in values.items() if value not in (None, '')}
