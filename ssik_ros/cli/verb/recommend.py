"""``ssik recommend``: try all or some solvers on an arm and recommend one for its kinematics.yaml."""

import argparse
import dataclasses
import json
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from ssik_ros.benchmark.comparison import (
    compare_solvers,
    Comparison,
    Entrant,
    Kind,
    MOST_SOLUTIONS,
    TrialSettings,
)
from ssik_ros.benchmark.machine import describe_machine
from ssik_ros.benchmark.oracle import DEFAULT_TOLERANCE, GroupOracle
from ssik_ros.benchmark.recommendation import (
    Figures,
    figures_of,
    kinematics_snippet,
    recommend,
    Recommendation,
)
from ssik_ros.cli.command import NO
from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import open_console, waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_group, ChosenGroup
from ssik_ros.errors import InvalidOption, percent, short
from ssik_ros.solvers.registry import list_solvers, solver_spec

EXAMPLES = (
    'ssik recommend arm.urdf --base base_link --tip tool0',
    'ssik recommend arm.urdf.xacro --srdf arm.srdf --group manipulator --seconds 30',
    'ssik recommend --robot panda',
    'ssik recommend --moveit-config my_robot_moveit_config --json',
)
WIDTH = 120
LEAST_WHOLE, LARGEST_WHOLE = 1e3, 1e6
"""Numbers of the table from the first on are written as whole ones, and those from the second on by a power of ten."""
OWN = 'ssik_ros/'
ROWS = (Kind.ANYWHERE, Kind.NEAR, Kind.OUT_OF_REACH)
_COLUMNS = ('mean', 'median', 'p95', 'p99')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    settings, trial = TrialSettings(), parser.add_argument_group('trial')
    text = 'time for all requests; the solvers are prepared before (default: %(default)s)'
    add_option(trial, '--seconds S', text, type=float, default=settings.seconds)
    text = 'time for one request (default: %(default)s)'
    add_option(trial, '--timeout S', text, type=float, default=settings.timeout)
    text = 'samples: most requests with a seed anywhere, the other kinds in proportion (default: %(default)s)'
    add_option(trial, '--samples N', text, type=int, default=settings.samples)
    text = 'seed of the random poses and seeds (default: %(default)s)'
    add_option(trial, '--random-seed N', text, type=int, default=settings.random_seed)
    text = 'try only this solver, such as Auto or ssik_ros/Auto (default: all of `ssik solvers`); may be repeated'
    add_option(trial, '--solver NAME', text, action='append')
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Try the solvers, print statistics and a recommendation; return 0, or 1 if no solver can be recommended.

    :param arguments: the parsed arguments.
    :raises SsikError: when robot, group or an option is wrong.
    """
    settings = _read_settings(arguments)
    names = list(dict.fromkeys(solver_spec(_full_name(n)).name for n in arguments.solver))
    chosen = choose_group(arguments)
    oracle = GroupOracle(chosen.robot, chosen.group)
    with waiting('Comparing solvers') as tell:
        comparison = compare_solvers(oracle, names or list_solvers(), settings, tell=tell)
    advice = recommend(comparison)
    if arguments.json:
        print(json.dumps(_as_mapping(chosen, comparison, advice), indent=2))
    else:
        _print_report(chosen, comparison, advice)
    return 0 if advice is not None else NO


def _full_name(name: str) -> str:
    """
    Return the name of a solver in the registry: ``ssik_ros/`` is put before a name without a package.

    Names of the registry stay unchanged.
    """
    return name if '/' in name or name in list_solvers() else OWN + name


def _read_settings(arguments: argparse.Namespace) -> TrialSettings:
    """Return the settings of the trial; raise InvalidOption for values out of range."""
    for name in ('seconds', 'timeout'):
        value = getattr(arguments, name)
        if not value > 0.0:
            raise InvalidOption(f'--{name} takes a number of seconds above 0, not {value:g}.')
    if arguments.samples < 1:
        raise InvalidOption(f'--samples takes at least 1, not {arguments.samples}.')
    if arguments.random_seed < 0:
        raise InvalidOption(f'--random-seed takes at least 0, not {arguments.random_seed}.')
    return TrialSettings(
        arguments.seconds, arguments.timeout, arguments.samples, arguments.random_seed
    )


def _as_mapping(
    chosen: ChosenGroup, comparison: Comparison, advice: Recommendation | None
) -> dict[str, Any]:
    """
    Return the report as a mapping for JSON: group, settings, machine, statistics of each solver, and recommendation.

    Without advice, the recommendation is null.
    """
    group, settings = chosen.group, comparison.settings
    return {
        'robot': chosen.robot.name,
        'group': group.name,
        'group_is_named': chosen.is_named,
        'base_frame': group.base_link,
        'tip_frames': list(group.tips),
        'variables': list(group.variable_names),
        'settings': dataclasses.asdict(settings),
        'tolerance': DEFAULT_TOLERANCE,
        'elapsed': comparison.elapsed,
        'machine': dataclasses.asdict(describe_machine()),
        'solvers': [_solver(entrant) for entrant in comparison.entrants],
        'recommendation': None
        if advice is None
        else {
            'solver': advice.solver,
            'reasons': list(advice.reasons),
            'kinematics_yaml': kinematics_snippet(group.name, advice.solver, settings.timeout),
        },
    }


def _solver(entrant: Entrant) -> dict[str, Any]:
    """
    Return one solver as a mapping for JSON: name, reason of a refusal, set-up time, and statistics by kind of request.

    The statistics are null for a solver that took no part.
    """
    figures = {
        kind.value: dataclasses.asdict(figures_of(results))
        for kind, results in entrant.results.items()
    }
    return {
        'name': entrant.name,
        'refusal': entrant.refusal or None,
        'set_up_seconds': entrant.set_up_seconds,
        'requests': None if entrant.refusal else figures,
    }


def _print_report(
    chosen: ChosenGroup, comparison: Comparison, advice: Recommendation | None
) -> None:
    """
    Print the table, the causes of failures, and the recommendation with its lines for kinematics.yaml.

    Solvers that took no part are named with the reason. Without a recommendation, a sentence says why.
    """
    console, group = open_console(WIDTH), chosen.group

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    say(f'{chosen.robot.name}: {group.name}, {group.base_link} -> {", ".join(group.tips)}')
    if comparison.running:
        console.print(_table(comparison, advice))
        say('No solution, by cause:')
        for entrant in comparison.running:
            say(f'  {entrant.name.removeprefix(OWN)}: {_causes(entrant) or "none"}')
        prepared = sum(entrant.set_up_seconds for entrant in comparison.entrants)
        say(f'ok: verified by independent kinematics at {DEFAULT_TOLERANCE:g} and within limits')
        say(f'of {MOST_SOLUTIONS}: solutions found of so many requested')
        say('away: mean norm of the joint distance from the seed')
        say(f'{short(comparison.elapsed)} s for the requests, {short(prepared)} s to prepare')
    for entrant in comparison.entrants:
        if entrant.refusal:
            say(f'{entrant.name} took no part: {entrant.refusal}')
    if advice is None:
        say(_no_advice(comparison))
        return
    say(f'\nRecommended: {advice.solver}')
    for reason in advice.reasons:
        say(f'- {reason}')
    named = '' if chosen.is_named else ' (the first line is the name of your group)'
    say(f'\nFor kinematics.yaml{named}:\n')
    say(kinematics_snippet(group.name, advice.solver, comparison.settings.timeout))


def _no_advice(comparison: Comparison) -> str:
    """Return a sentence about why no solver is recommended."""
    if not comparison.running:
        return 'No solver takes these joints.'
    count = len(comparison.running[0].results[Kind.ANYWHERE])
    if not count:
        return 'The time was up before every solver had solved once: give more --seconds.'
    return 'No solver reached a pose without calling wrong results solved.'


def _table(comparison: Comparison, advice: Recommendation | None) -> Table:
    """Return the table of statistics: a section for each solver, a row for each kind of request."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column('times in us', no_wrap=True)
    titles = ('poses', 'ok %', *_COLUMNS, f'of {MOST_SOLUTIONS}', 'away')
    for title in titles:
        table.add_column(title, justify='right', no_wrap=True)
    for entrant in comparison.running:
        is_chosen = advice is not None and entrant.name == advice.solver
        # Without the package's own name the table fits into 80 columns.
        title = escape(entrant.name.removeprefix(OWN))
        table.add_row(title, style='bold' if is_chosen else None)
        solutions = _number(figures_of(entrant.results[Kind.SEVERAL]).solutions)
        for kind in ROWS:
            cells = _cells(kind, figures_of(entrant.results[kind]), solutions)
            table.add_row(f'  {kind.value}', *cells)
            solutions = ''
        table.add_section()
    return table


def _cells(kind: Kind, figures: Figures, solutions: str) -> tuple[str, ...]:
    """
    Return the texts of a row of the table: the statistics of one solver for one kind of request.

    The title of the row is not included. ``solutions`` is the text of the second last cell.
    """
    share = '' if kind is Kind.OUT_OF_REACH else '-'
    if share and figures.count:
        share = percent(figures.verified / figures.count).removesuffix(' %')
    return (
        str(figures.count),
        share,
        *(_number(getattr(figures, f'{name}_us')) for name in _COLUMNS),
        solutions,
        '' if kind is Kind.OUT_OF_REACH else _number(figures.seed_distance),
    )


def _causes(entrant: Entrant) -> str:
    """Return the causes of unsolved poses and the number of wrong results, as text; empty without any."""
    parts = []
    for kind in ROWS:
        figures = figures_of(entrant.results[kind])
        said = [f'{cause} {percent(part)}' for cause, part in figures.causes.items()]
        if figures.wrong:
            said.insert(0, f'{figures.wrong} wrong results')
        if said:
            parts.append(f'{kind.value} {", ".join(said)}')
    return '; '.join(parts)


def _number(value: float | None) -> str:
    if value is None:
        return '-'
    if value < LARGEST_WHOLE:
        return short(value) if value < LEAST_WHOLE else f'{value:.0f}'
    # Times of a slow machine must not make the table wider than 80 columns.
    return f'{value:.1e}'.replace('e+0', 'e')
