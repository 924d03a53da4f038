"""Checks of `ros2` lines in documentation pages: known files, executables, parameters, types and fields."""

from collections.abc import Iterator
import importlib
from pathlib import Path
import re
import shlex

from ssik_ros.solvers.options.parameter_file import load_schema
from ssik_ros.strict_yaml import parse_yaml

ROOT = Path(__file__).resolve().parents[1]
SHELLS = re.compile(r'^```(?:bash|console)\n(.*?)^```', re.M | re.S)
PLAIN = {'node', 'pkg', 'interface', 'bag'}
NODES = ('ik_server', 'ik_stream', 'ik_view', 'joint_state_relay')
OWN_ARGUMENTS = {
    *('namespace', 'log_level', 'use_sim_time', 'params_file', 'respawn'),
    *('config', 'samples', 'output_dir', 'start_server', 'robot', 'service', 'seeds'),
    *('mechanism', 'rate', 'solver', '__ns', 'state_publisher', 'rviz'),
}
"""Arguments of the launch files, and remappings, that no parameter of a node makes."""


def read_lines(text: str) -> list[list[str]]:
    """Return the words of each ros2 line; a line goes on while a quotation is open."""
    commands = []
    for block in SHELLS.findall(text):
        lines = iter(line.removeprefix('$ ') for line in block.splitlines())
        for line in lines:
            if line.startswith('ros2 '):
                commands.append(split_open(line, lines))
    return commands


def split_open(line: str, further: Iterator[str]) -> list[str]:
    """Return the words of a line and of those that finish it."""
    while True:
        try:
            return shlex.split(line.removesuffix('\\'), comments=True)
        except ValueError:
            line += '\n' + next(further)


def parameter_names() -> set[str]:
    schemas = [load_schema(f'ssik_ros.ros:{node}_parameters.yaml') for node in NODES]
    return {parameter.name for schema in schemas for parameter in schema.parameters}


def check(words: list[str]) -> None:
    """Fail for a line that no machine would accept."""
    verb = words[1]
    if verb in ('launch', 'run'):
        check_start(words)
    elif verb in ('service', 'topic', 'action') and words[2] in ('call', 'pub', 'send_goal'):
        check_message(drop_options(words[3:]), verb)
    elif verb == 'param':
        assert words[2] in {'set', 'get', 'list', 'dump', 'load', 'describe'}, words
        if words[2] in ('set', 'get', 'describe'):
            name = words[4]
            assert name in parameter_names() or name.startswith('robot_description_'), name
    else:
        assert verb in PLAIN or words[2] in {'list', 'echo', 'info', 'type'}, words


def drop_options(words: list[str]) -> list[str]:
    """Return words without options, and without the number or the file that options take."""
    if '--yaml-file' in words:
        at = words.index('--yaml-file')
        words = [*words[:at], *words[at + 2 :]]
    kept = [word for word in words if not word.startswith('-')]
    return [word for word in kept if not word.isdigit()]


def check_start(words: list[str]) -> None:
    """Check files, executables, arguments and parameters."""
    package, program = words[2:4]
    if package == 'ssik_ros':
        executables = set(re.findall(r"'(\w+) = ", (ROOT / 'setup.py').read_text()))
        files = {path.name for path in (ROOT / 'launch').iterdir()}
        assert program in (files if words[1] == 'launch' else executables), program
        names = parameter_names() | OWN_ARGUMENTS
        for name in re.findall(r'(?:^|\s)([a-z_]+):=', ' '.join(words)):
            assert name in names, name


def check_message(words: list[str], verb: str) -> None:
    """Check that a message has the fields that a line gives it."""
    _, kind, *given = words
    package, folder, name = kind.split('/')
    assert folder == {'service': 'srv', 'topic': 'msg', 'action': 'action'}[verb], kind
    check_fields(package, folder, name, parse_yaml(given[0]) if given else {})


def check_fields(package: str, folder: str, name: str, values: dict) -> None:
    """Check the names of fields, also in messages within messages."""
    types = field_types(package, folder, name)
    if types is None:
        return  # A message of ROS on a machine without ROS.
    for field, value in (values or {}).items():
        assert field in types, f'{name} has no field {field}'
        *inner, kind = types[field].split('/')
        if kind[0].isupper():
            for one in value if isinstance(value, list) else [value]:
                check_fields(inner[0] if inner else package, 'msg', kind, one)


def field_types(package: str, folder: str, name: str) -> dict[str, str] | None:
    """Return the types of a message's fields, from our own files or from the Python class."""
    path = ROOT / 'interfaces' / package / folder / f'{name}.{folder}'
    if path.exists():
        request = path.read_text(encoding='utf-8').partition('\n---')[0]
        rows = re.findall(r'^([\w/]+)(?:\[[^\]]*\])? +(\w+)\s*(?:#.*)?$', request, re.M)
        return {field: kind for kind, field in rows}
    try:
        module = importlib.import_module(f'{package}.{folder}')
    except ImportError:
        return None
    types = getattr(module, name).get_fields_and_field_types()
    plain = re.compile(r'sequence<([\w/]+)>|([\w/]+)(?:\[\d*\])?')
    return {field: plain.match(kind)[1] or plain.match(kind)[2] for field, kind in types.items()}
