"""
Parts of the launch files: arguments as parameters, and nodes of this package.

Only launch files import this module: launch is not on every machine.
"""

from collections.abc import Callable, Iterable
import sys
from typing import Any

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from ssik_ros.ros.parameters.launch_arguments import LaunchArgument, require_known_arguments

LOGGED = ('--ros-args', '--log-level', LaunchConfiguration('log_level'))
"""Arguments of a node that logs from the level of the argument ``log_level`` on."""


def describe_launch(
    file: str, arguments: Iterable[LaunchArgument], start: Callable[[Any], list[Any]]
) -> LaunchDescription:
    """
    Return the description of a launch file: its arguments, and a function that starts nodes once the arguments are read.

    :param file: path of the launch file.
    :param arguments: its arguments; for a misspelt one on the command line, the launch ends with a ValueError.
    :param start: returns nodes and other actions for a launch context.
    """
    accepted = tuple(arguments)

    def start_if_accepted(context: Any) -> list[Any]:
        require_known_arguments(sys.argv, file, accepted)
        return start(context)

    declared = [DeclareLaunchArgument(a.name, **a.declaration) for a in accepted]
    return LaunchDescription([*declared, OpaqueFunction(function=start_if_accepted)])


def value_of(name: str, context: Any) -> str:
    """
    Return the value of an argument as text.

    :param name: its name.
    :param context: the launch context.
    """
    return str(LaunchConfiguration(name).perform(context))


def text(value: Any) -> ParameterValue:
    """
    Return a text parameter, even if the text looks like a number.

    :param value: the text, or a substitution.
    """
    return ParameterValue(value, value_type=str)


def parameters_of(arguments: Iterable[LaunchArgument]) -> dict[str, ParameterValue]:
    """
    Return arguments as parameters of a node, each with its type: YAML would read a number or nothing from some texts.

    :param arguments: the arguments.
    """
    return {
        argument.name: ParameterValue(LaunchConfiguration(argument.name), value_type=argument.type)
        for argument in arguments
    }


def parameter_file(context: Any) -> list[ParameterFile]:
    """
    Return the file that the argument ``params_file`` names, as a list; it is empty if no file is named.

    :param context: the launch context.
    """
    if not value_of('params_file', context):
        return []
    return [ParameterFile(LaunchConfiguration('params_file'), allow_substs=True)]


def make_node(executable: str, *parameters: Any, **settings: Any) -> Node:
    """
    Return a node that writes to the screen; by default it is of this package, and has the name of its executable.

    :param executable: name of the executable.
    :param parameters: mappings and files; later ones count more.
    :param settings: other arguments of ``launch_ros.actions.Node``.
    """
    named = {'package': 'ssik_ros', 'name': executable, 'arguments': list(LOGGED)}
    shown = {'output': 'screen', 'emulate_tty': True}
    return Node(
        executable=executable, parameters=list(parameters), **{**named, **shown, **settings}
    )
