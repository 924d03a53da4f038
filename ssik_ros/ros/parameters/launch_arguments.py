"""
The arguments of the launch files: some for all nodes, others from the parameter files of the nodes.

Nothing here imports launch, so that the lists can be read and tested on machines without it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ssik_ros.errors import counted, describe_choices, list_names, misspelt_name, quote
from ssik_ros.model.description_files import find_package
from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.solvers.options.parameters import Parameter

YES_OR_NO = ('true', 'false')
LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
TYPES = {'string': str, 'int': int, 'double': float, 'bool': bool}


class LaunchArgument(NamedTuple):
    """One argument of a launch file, with its default, description and allowed values."""

    name: str
    default: str
    """Default value as text; ``true`` or ``false`` for a switch."""
    description: str
    """A sentence or more."""
    type: type = str
    """Type of the node's parameter that takes the value."""
    choices: tuple[str, ...] = ()
    """The values that are allowed; empty for all."""

    @property
    def declaration(self) -> dict[str, Any]:
        """Return the keyword arguments of ``DeclareLaunchArgument``, without the name."""
        fields: dict[str, Any] = {'default_value': self.default, 'description': self.description}
        return {**fields, 'choices': list(self.choices)} if self.choices else fields


NAMESPACE = LaunchArgument(
    'namespace',
    '',
    'Namespace of the nodes. Beside a move_group, which serves compute_ik too, it must not be empty.',
)
LOG_LEVEL = LaunchArgument('log_level', 'info', 'Lowest level that is logged.', choices=LEVELS)
USE_SIM_TIME = LaunchArgument(
    'use_sim_time',
    'false',
    "Take the time from the topic /clock. Budgets of searches always run on the machine's own clock.",
    bool,
    YES_OR_NO,
)
PARAMS_FILE = LaunchArgument(
    'params_file',
    '',
    'Parameter file of the node, with substitutions such as $(find-pkg-share ...). Its values count more than '
    'these arguments.',
)
RESPAWN = LaunchArgument(
    'respawn', 'false', 'Start the node again when it ends by itself.', bool, YES_OR_NO
)


def require_packages(launch_file: str, packages: Mapping[str, str]) -> None:
    """
    Raise an error, before anything starts, if a package is missing: launch would leave started nodes running.

    :param launch_file: path of the launch file.
    :param packages: for each package whose nodes are to be started, the launch argument that leaves them out; empty
        without such an argument.
    :raises ValueError: for packages that are not installed; the text says how to install or leave out each.
    """
    missing = [name for name in packages if find_package(name) is None]
    if not missing:
        return
    installs = ' '.join(f'ros-$ROS_DISTRO-{name.replace("_", "-")}' for name in missing)
    without = ' '.join(f'{packages[name]}:=false' for name in missing if packages[name])
    hint = f', or leave its nodes out: {without}' if without else ''
    raise ValueError(
        f'{Path(launch_file).name} starts nothing: {counted(len(missing), "package")} not installed: '
        f'{list_names(missing)}. Install with apt install {installs}{hint}.'
    )


def node_arguments(node: str, names: Sequence[str] = ()) -> tuple[LaunchArgument, ...]:
    """
    Return one launch argument for each parameter of a node, with its default and description.

    :param node: name of the executable.
    :param names: names of the parameters, in the order of the launch file; empty for all.
    """
    schema = load_schema(f'ssik_ros.ros:{node}_parameters.yaml')
    parameters = {parameter.name: parameter for parameter in schema.parameters}
    return tuple(_make_argument(parameters[name]) for name in names or parameters)


def _make_argument(parameter: Parameter) -> LaunchArgument:
    kind = TYPES[parameter.type.scalar]
    default = str(parameter.default)
    choices = YES_OR_NO if kind is bool else ()
    for validator in parameter.validators:
        if validator.name == 'one_of':
            choices = tuple(validator.arguments[0])
    if kind is bool:
        default = default.lower()
    return LaunchArgument(parameter.name, default, parameter.description, kind, choices)


def require_known_arguments(
    words: Sequence[str], launch_file: str, arguments: Iterable[LaunchArgument]
) -> None:
    """
    Raise an error for a misspelt argument of ``ros2 launch``, which launch itself ignores.

    Names that are not close to an argument are accepted: a launch file that includes this one, or a substitution in a
    parameter file, may use them.

    :param words: the command line; only the words after the name of the launch file are read, none if it is not there.
    :param launch_file: path of the launch file.
    :param arguments: the arguments of the launch file.
    :raises ValueError: for a name that differs from all these arguments, but is close to one.
    """
    name = Path(launch_file).name
    places = [index for index, word in enumerate(words) if Path(word).name == name]
    names = [argument.name for argument in arguments]
    for word in words[places[0] + 1 :] if places else ():
        given, mark, _ = word.partition(':=')
        if mark and given not in names and misspelt_name(given, names):
            raise ValueError(
                f'{name} has no argument {quote(given)}. {describe_choices(given, names)}'
            )
