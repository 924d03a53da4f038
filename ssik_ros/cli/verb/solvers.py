"""``ssik solvers``: list the solvers with their parameters."""

import argparse
import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ssik_ros.cli.options import add_option
from ssik_ros.errors import SsikError
from ssik_ros.problem.contract import SolverSpec
from ssik_ros.solvers.options.parameters import Parameter, REQUIRED
from ssik_ros.solvers.registry import list_solvers, solver_schema, solver_spec

EXAMPLES = ('ssik solvers', 'ssik solvers ssik_ros/PoseIK', 'ssik solvers --json')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument('names', nargs='*', metavar='NAME', help='solvers to list (default: all)')
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print solvers with parameters, defaults, ranges and aliases; return 0.

    :param arguments: the parsed arguments.
    :raises UnknownSolver: when a name is given that is not registered.
    :raises PluginLoadError: when a named solver of another package cannot be imported.
    """
    if arguments.names:
        described = [_describe(solver_spec(name)) for name in arguments.names]
    else:
        described = [_describe_or_explain(name) for name in list_solvers()]
    if arguments.json:
        print(json.dumps(described, indent=2))
        return 0
    console = Console()
    for solver in described:
        _print(console, solver)
    return 0


def _describe_or_explain(name: str) -> dict[str, Any]:
    """Return the description of a solver for JSON; if it fails to load, the reason as its description."""
    try:
        return _describe(solver_spec(name))
    except SsikError as error:
        return {'name': name, 'description': f'cannot be used: {error}', 'parameters': []}


def _describe(spec: SolverSpec) -> dict[str, Any]:
    return {
        'name': spec.name,
        'description': spec.description,
        'aliases': list(spec.aliases),
        'parameters': [
            _parameter(spec, parameter) for parameter in solver_schema(spec).parameters
        ],
    }


def _parameter(spec: SolverSpec, parameter: Parameter) -> dict[str, Any]:
    return {
        'name': parameter.name,
        'aliases': [a for a, name in spec.parameter_aliases.items() if name == parameter.name],
        'default': None if parameter.default is REQUIRED else parameter.default,
        'allowed': parameter.allowed,
        'description': parameter.description,
    }


def _print(console: Console, solver: dict[str, Any]) -> None:
    """Print one solver as a heading and a table of its parameters."""
    names = ', '.join([solver['name'], *(f'alias {name}' for name in solver.get('aliases', ()))])
    console.print(names, style='bold', markup=False)
    console.print(solver['description'], markup=False)
    if solver['parameters']:
        table = Table(show_lines=True)
        for column in ('parameter', 'default', 'allowed', 'description'):
            table.add_column(column, overflow='fold')
        for parameter in solver['parameters']:
            aliases = ''.join(f'\n(alias {name})' for name in parameter['aliases'])
            cells = (parameter['name'] + aliases, str(parameter['default']), parameter['allowed'])
            table.add_row(*(escape(cell) for cell in (*cells, parameter['description'])))
        console.print(table)
    console.print()
