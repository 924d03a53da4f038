"""``ssik view``: a robot in the browser, whose target you drag."""

import argparse
import threading
import webbrowser

from ssik_ros.cli.case_file import robot_origin
from ssik_ros.cli.options import add_option
from ssik_ros.cli.robot_choice import add_robot_options, choose_by_word
from ssik_ros.view.page import describe_access, Page
from ssik_ros.view.session import Session

EXAMPLES = (
    'ssik view panda',
    'ssik view arm.urdf --open',
    'ssik view --moveit-config my_robot_moveit_config --group arm',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    page = parser.add_argument_group('page')
    add_option(page, '--port N', 'port of the page (default: 8080)', type=int, default=8080)
    text = 'address to listen at (default: 127.0.0.1, which only this machine reaches)'
    add_option(page, '--host ADDRESS', text, default='127.0.0.1')
    add_option(page, '--open', 'open the page in your browser')


def run(arguments: argparse.Namespace) -> int:
    """
    Serve the page until Ctrl+C.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot cannot be loaded, viser is missing, or the port is taken.
    """
    chosen = choose_by_word(arguments)
    session = Session(chosen.robot, chosen.group, origin=robot_origin(arguments))
    page = Page(session, host=arguments.host, port=arguments.port)
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
