"""Options of the verbs: a declaration in one line each, and ``KEY=VALUE`` words as mappings."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from ssik_ros.errors import InvalidOption


def add_option(parser: argparse._ActionsContainer, usage: str, text: str, **settings: Any) -> None:
    """
    Declare one option.

    :param parser: a parser or a group of its options.
    :param usage: names and value as the help shows them: ``--json``, ``--tip --ee LINK``, ``--seed Q...``.
    :param text: the help.
    :param settings: more arguments of ``add_argument``; without a value in ``usage``, the option is a switch.
    """
    names = [word for word in usage.split() if word.startswith('-')]
    value = usage.split()[-1]
    if value in names:
        settings.setdefault('action', 'store_true')
    else:
        settings['metavar'] = value.removesuffix('...')
    if value.endswith('...'):
        settings['nargs'] = '+'
    if settings.get('action') == 'append':
        settings['default'] = []
    parser.add_argument(*names, help=text, **settings)


def add_solver_options(group: argparse._ActionsContainer, default: str) -> None:
    """
    Declare the options that choose a solver, its parameters and its seed.

    :param group: a group of options.
    :param default: name of the default solver, for the help.
    """
    add_option(group, '--solver NAME', f'the solver (default: {default})')
    text = 'a parameter of the solver (see `ssik solvers`); may be repeated'
    add_option(group, '--param KEY=VALUE', text, action='append')
    text = 'joint positions to start from (default: ready or home of the SRDF, else the middle of the limits)'
    add_option(group, '--seed Q...', text, type=float)


def add_worker_options(group: argparse._ActionsContainer) -> None:
    """
    Declare the options about the processes that compute a map or a data set.

    :param group: a parser or a group of options.
    """
    text = 'worker processes; with 0 the command computes alone (default: one for each core)'
    add_option(group, '--workers N', text, type=int)
    add_option(group, '--scheduler ADDRESS', 'a Dask scheduler whose workers do the work')


def read_pairs(words: Sequence[str], usage: str) -> dict[str, str]:
    """
    Return the values of a repeated ``KEY=VALUE`` option by key.

    :param words: as given, such as ``epsilon=1e-6``.
    :param usage: option and form, such as ``--param KEY=VALUE``.
    :raises InvalidOption: for another form, and for a key that is given twice.
    """
    option, form = usage.split()
    sign = ':=' if ':=' in form else '='
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(sign)
        if not separator or not name:
            raise InvalidOption(f"{option} takes {form}, not '{word}'.")
        if name in given:
            raise InvalidOption(f"{option} names '{name}' twice.")
        given[name] = value
    return given


def name_given(arguments: argparse.Namespace, names: Iterable[str], **stored: str) -> list[str]:
    """
    Return the options that are given, such as ``--xacro-arg``, out of some options.

    :param arguments: the parsed arguments.
    :param names: names of options without the two hyphens.
    :param stored: names of values that are not named after their option, by option.
    """
    values = {name: stored.get(name, name.replace('-', '_')) for name in names}
    return [f'--{name}' for name, value in values.items() if getattr(arguments, value)]
