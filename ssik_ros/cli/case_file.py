"""
Read a test case, a file that the view has saved, into the options of ``ssik solve``: :func:`take_case`.

:func:`robot_origin` collects the options of a robot for such a case.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from ssik_ros.cli.options import name_given
from ssik_ros.errors import DescriptionNotFound, InvalidOption, quote
from ssik_ros.view.cases import KIND, VERSION

ROBOT_OPTIONS = ('path', 'urdf', 'srdf', 'xacro_arg', 'robot', 'moveit_config')
"""Options that choose a robot, by the names of their values."""
FILES = ('path', 'urdf', 'srdf')
MOST_CASE_BYTES = 1 << 20
"""Most bytes of a case that are read."""


def robot_origin(arguments: argparse.Namespace) -> dict[str, Any]:
    """
    Return the given options that choose the robot, by name; files have absolute paths.

    :param arguments: the parsed arguments.
    """
    given = {name: getattr(arguments, name) for name in ROBOT_OPTIONS if getattr(arguments, name)}
    return {k: str(Path(v).resolve()) if k in FILES else v for k, v in given.items()}


def take_case(arguments: argparse.Namespace) -> None:
    """
    Set the arguments of ``ssik solve`` from a case file; a solver that is given replaces the solver of the case.

    The parameters of the case come with its solver; given parameters replace them. The parser of the verb refuses a
    target with a case.

    :param arguments: the parsed arguments, with the path in ``case``; they are changed.
    :raises InvalidOption: when the file is not a case, or when options of the robot, its group or the seed are given
        too.
    :raises DescriptionNotFound: when the file cannot be read.
    """
    case = _read(arguments.case)
    fixed = (name.replace('_', '-') for name in ROBOT_OPTIONS)
    excess = name_given(arguments, (*fixed, 'group', 'base', 'tip', 'seed'))
    if excess:
        names = ', '.join(excess)
        raise InvalidOption(f'--case brings robot, target and seed along; leave out {names}.')
    try:
        for name, value in case['robot'].items():
            if name not in ROBOT_OPTIONS:
                raise InvalidOption(f'The robot of the case has the unknown option {quote(name)}.')
            setattr(arguments, name, Path(value) if name in FILES else value)
        _take_request(arguments, case)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidOption):
            raise
        text = f"The case '{arguments.case}' is incomplete: {error!r}."
        raise InvalidOption(text) from error


def _take_request(arguments: argparse.Namespace, case: dict[str, Any]) -> None:
    """Set group, target, seed, solver and parameters in the arguments from a case."""
    if case['group'] == f'{case["base"]}-{case["tips"][0]}':
        arguments.base, arguments.tip = case['base'], case['tips'][0]
    else:
        arguments.group = case['group']
    arguments.pose = [float(x) for tip in case['tips'] for x in case['poses'][tip]]
    arguments.seed = [float(x) for x in case['seed']]
    arguments.position_only = bool(case['position_only'])
    if arguments.solver is None:
        arguments.solver = str(case['solver'])
        given = {word.partition('=')[0] for word in arguments.param}
        words = {k: json.dumps(v) for k, v in case['parameters'].items() if k not in given}
        arguments.param = [*arguments.param, *(f'{k}={v}' for k, v in words.items())]


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a case file; raise an SsikError for an unreadable file or another kind or version."""
    try:
        with path.open('rb') as file:
            case = json.loads(file.read(MOST_CASE_BYTES))
    except OSError as error:
        raise DescriptionNotFound(f"The case '{path}' cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidOption(f"'{path}' is no JSON: {error}.") from error
    if not isinstance(case, dict) or case.get('kind') != KIND:
        raise InvalidOption(f"'{path}' is no test case of the view.")
    if case.get('version') != VERSION:
        raise InvalidOption(
            f"'{path}' has version {case.get('version')!r}; version {VERSION} is read."
        )
    return case
