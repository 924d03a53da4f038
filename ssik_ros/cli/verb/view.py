"""``ssik view``: a robot in the browser, whose target you drag."""

import argparse
from pathlib import Path
import threading
import webbrowser

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.cli.options import add_option
from ssik_ros.cli.robot_choice import add_robot_options
from ssik_ros.cli.targets import add_target_options, read_targets
from ssik_ros.cli.viewed_robot import add_content_options, open_session
from ssik_ros.errors import InvalidOption
from ssik_ros.view.browser.page import describe_access, Page
from ssik_ros.view.posture_session import PostureSession
from ssik_ros.view.recordings import record, take_snapshot
from ssik_ros.view.session import Session

EXAMPLES = (
    'ssik view panda',
    'ssik view arm.urdf --open',
    'ssik view --moveit-config my_robot_moveit_config --group arm',
    'ssik view hexapod',
    'ssik view dual_arm --tasks dual_arm',
    'ssik view panda --obstacles table.yaml --path trajectory.csv',
    'ssik view ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --snapshot ur5e.png',
    'ssik view ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --record ur5e.gif',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    add_content_options(parser)
    targets = parser.add_argument_group('target to begin with (one of)')
    add_target_options(targets.add_mutually_exclusive_group())
    pictures = parser.add_argument_group(
        'pictures, without a page (one of)'
    ).add_mutually_exclusive_group()
    text = 'draw the robot, its branches and its target into a file'
    add_option(pictures, '--snapshot PNG', text, type=Path)
    text = 'film the way from the first posture to the target'
    add_option(pictures, '--record GIF', text, type=Path)
    page = parser.add_argument_group('page')
    add_option(page, '--port N', 'port of the page (default: 8080)', type=int, default=8080)
    text = 'address to listen at (default: 127.0.0.1, which only this machine reaches)'
    add_option(page, '--host ADDRESS', text, default='127.0.0.1')
    add_option(page, '--open', 'open the page in your browser')


def run(arguments: argparse.Namespace) -> int:
    """
    Draw pictures, or serve the page until Ctrl+C; 1 when a picture shows no solution.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, viser is missing, or the port is taken.
    """
    session, playback = open_session(arguments)
    targets = _read_targets(arguments, session)
    if arguments.record is not None:
        if targets is None:
            raise InvalidOption(
                '--record films the way to a target: give --pose, --xyz-rpy or --joints.'
            )
        record(session, targets, arguments.record)
        return 0 if session.outcome.solved else 1
    if targets is not None:
        session.targets = targets
        session.solve()
    if arguments.snapshot is not None:
        take_snapshot(session, arguments.snapshot)
        return 0 if session.outcome.solved else 1
    return _serve(
        Page(session, host=arguments.host, port=arguments.port, playback=playback), arguments
    )


def _read_targets(
    arguments: argparse.Namespace, session: PostureSession
) -> dict[str, FloatArray] | None:
    """Return the target of each tip in the model frame, if the options name one."""
    if arguments.pose is None and arguments.xyz_rpy is None and arguments.joints is None:
        return None
    if not isinstance(session, Session):
        raise InvalidOption('--pose, --xyz-rpy and --joints are for planning groups.')
    poses = read_targets(arguments, GroupOracle(session.robot, session.group))
    base = session.tip_pose(session.group.base_link)
    return {link: base @ pose for link, pose in zip(session.tips, poses, strict=True)}


def _serve(page: Page, arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl+C."""
    print(describe_access(page), flush=True)
    print('Press Ctrl+C to end.', flush=True)
    if arguments.open:
        webbrowser.open(page.url)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    finally:
        page.close()
    return 0
