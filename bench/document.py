"""
Write ``docs/benchmarks/results.md`` and its pictures from the last run: ``python bench/document.py --help``.

Reads the files that the programs of ``make bench`` left in ``bench_output/``; measures nothing.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
import json
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import conditions, plots, program, ROOT
from bench.classes import BenchClass, CLASSES
from bench.goals import (
    arms_of,
    best,
    EXPECTED,
    of_class,
    ratio,
    Results,
    Row,
    SUCCESS_OF_OURS,
    SUCCESS_OF_PEERS,
    table_of_goals,
    Verdict,
    verdicts,
)
from bench.tables import table, table_of
from ssik_ros.benchmark.harness import write_atomically

PAGE = ROOT / 'docs' / 'benchmarks' / 'results.md'
HEAD = """# Results

The figures of one run. `bench/document.py` wrote this page; `make benchmarks` measures anew and writes it again, in about ten
minutes. How it is measured, and more programs: [method.md](method.md).
"""
APPENDIX = """## Appendix

All tables of the run. On the site, a click on a heading opens its table."""
SUMMARY_HEADER = ('class', 'arms', 'best peer / ours', 'goals reached')
TIMES = {
    'median': '{cpu.median:.1f}',
    'mean': '{cpu.mean:.1f}',
    'p95': '{cpu.p95:.1f}',
    'p99': '{cpu.p99:.1f}',
}
CLASS_COLUMNS = {
    'arm': '{arm}',
    'solver': '{peer}',
    'poses': '{samples}',
    **TIMES,
    'success %': '{success:.2f}',
    'wrong': '{claimed_wrongly}',
    'best peer / this': '{ratio:.2f}',
}
BRANCH_COLUMNS = {
    'arm': '{arm}',
    'solver': '{peer}',
    **TIMES,
    'solutions': '{solutions:.1f}',
    'this / ours': '{times_ours.median:.2f}',
}
LOOP_COLUMNS = {
    'mechanism': '{mechanism}',
    'run': '{run}',
    'solver': '{solver}',
    'frames': '{frames}',
    **TIMES,
    'converged %': '{converged:.1f}',
    'within 1e-3 %': '{within:.1f}',
}
START_COLUMNS = {
    'arm': '{arm}',
    'solver': '{solver}',
    'import s': '{imported:.2f}',
    'set-up s': '{set_up:.2f}',
    'first solution s': '{first_solution:.2f}',
    'peak MiB': '{peak_mib:.0f}',
    'remark': '{note}',
}


def load(folder: Path) -> dict[str, Any]:
    """
    Return the content of each result file, by the file's name without its ending.

    :param folder: ``bench_output``.
    """
    files = {name: folder / f'{name}.json' for name in EXPECTED}
    return {
        name: json.loads(path.read_text(encoding='utf-8'))
        for name, path in files.items()
        if path.is_file()
    }


def circumstances(results: Results) -> str:
    """
    Return processor, versions and dates, and which parts were not measured.

    :param results: from :func:`load`.
    """
    parts = []
    around = {name: content['conditions'] for name, content in results.items()}
    if 'peers' in around:
        parts.append(conditions.as_text(around['peers']).replace('\n', '  \n'))
    dates = sorted(condition['date'] for condition in around.values())
    loads = [condition['load_average'][0] for condition in around.values()]
    if dates:
        parts.append(
            f'Measured from {dates[0]} to {dates[-1]}; load of the machine when the programs began: '
            f'{min(loads):.1f} to {max(loads):.1f}. Times are processor time on one core in microseconds unless said.'
        )
    missing = [name for name in EXPECTED if name not in results]
    if missing:
        parts.append(f'Not measured in this run: {", ".join(missing)}.')
    return '\n\n'.join(parts)


def goal_table(goals: Sequence[Verdict]) -> str:
    """
    Return the goals as a table, and how many are reached.

    :param goals: the goals.
    """
    reached, missed = ([v.reached for v in goals].count(value) for value in (True, False))
    without = len(goals) - reached - missed
    absent = f' Where it says so ({without}), the arm has no such goals.' if without else ''
    count = (
        f'{reached} of {reached + missed} reached, {missed} missed.{absent} A ratio is that of the medians; three stand for '
        'median, mean and p99, all of which have to reach the figure. Ours is the fastest of our solvers with at least '
        f'{SUCCESS_OF_OURS} % verified solutions, the best peer the fastest with at least {SUCCESS_OF_PEERS:g} %.'
    )
    return f'{table_of_goals(goals)}\n\n{count}'


def summary_table(goals: Sequence[Verdict]) -> str:
    """
    Return a short table: for each class the range of the ratios of medians, and how many goals are reached.

    :param goals: the goals.
    """
    lines = []
    for name in CLASSES:
        of_this = [v for v in goals if v.goal == name and v.reached is not None]
        ratios = [float(v.ratio.partition(' ')[0]) for v in of_this if v.ratio != '-']
        if ratios:
            span = f'{min(ratios):.1f} to {max(ratios):.1f}'
            reached = sum(bool(v.reached) for v in of_this)
            lines.append(
                [CLASSES[name].title, str(len(of_this)), span, f'{reached} of {len(of_this)}']
            )
    return table(SUMMARY_HEADER, lines)


def class_section(bench_class: BenchClass, rows: Sequence[Row]) -> str:
    """
    Return the section of one class.

    :param bench_class: the class.
    :param rows: rows of ``peers.json``.
    """
    lines = list(_class_lines(bench_class.name, rows))
    text = f'## {bench_class.name}\n\n{bench_class.title}.\n\n'
    text += f'![{bench_class.title}](images/bench_{bench_class.name}.png)\n\n'
    return text + table_of(CLASS_COLUMNS, lines)


def _class_lines(name: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of a class that have figures, the fastest of each arm first, with their ratios to the best peer."""
    for arm in arms_of(rows, name):
        of_arm = of_class(rows, name, arm)
        peer = best(of_arm, is_own=False)
        for row in sorted(plots.measured(of_arm), key=lambda row: float(row['cpu']['median'])):
            yield {**row, 'ratio': None if peer is None else ratio(row, peer)}


def branch_section(content: Mapping[str, Any]) -> str:
    """
    Return the section of all branches.

    :param content: of ``analytic.json``.
    """
    lines = [
        {**row, 'solutions': sum(row['sets']['counts']) / len(row['sets']['counts'])}
        for row in plots.measured(content['rows'])
    ]
    text = '## All branches\n\nEvery branch of a pose, ours within limits and the nearest to the seed first.\n\n'
    text += '![All branches of a pose](images/bench_all_branches.png)\n\n'
    return text + table_of(BRANCH_COLUMNS, lines)


def start_section(content: Mapping[str, Any]) -> str:
    """
    Return the section of set-up and memory.

    :param content: of ``start_up.json``.
    """
    text = '## Set-up and memory\n\nA fresh process each, from the URDF to the first solution; wall clock.\n\n'
    return text + table_of(START_COLUMNS, content['rows'])


def loop_section(content: Mapping[str, Any]) -> str:
    """
    Return the section of a mechanism with loops.

    :param content: of ``closed_chain.json``.
    """
    text = '## Mechanisms with loops\n\nThe platform on a circle, 1.3 mm a frame (track), and from one random pose to the next '
    text += '(jump); an open chain from seeds within 0.05 rad of a solution (near). "Converged" is the word of the solver; "within" is measured, 1e-3 m and 1e-3 rad at most.\n\n'
    text += table_of(LOOP_COLUMNS, content['rows'])
    note = content.get('note', '')
    return f'{text}\n\n{note}' if note else text


def absences(results: Results) -> str:
    """
    Return the peers that were not measured, each with its classes and the reason.

    :param results: from :func:`load`.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for name in ('peers', 'analytic'):
        for row in results.get(name, {}).get('rows', ()):
            if not row['cpu']:
                place = reasons.setdefault((row['peer'], row['note']), [])
                if row['arm'] not in place:
                    place.append(row['arm'])
    lines = [[peer, ', '.join(arms), reason] for (peer, reason), arms in reasons.items()]
    return f'## Not measured\n\n{table(("solver", "arms", "reason"), lines)}'


def calls(rows: Sequence[Mapping[str, Any]]) -> str:
    """
    Return how every solver was called.

    :param rows: rows of ``peers.json``.
    """
    call_of_peer = {row['peer']: row['call'] for row in plots.measured(rows)}
    lines = [[name, f'`{call}`'] for name, call in call_of_peer.items()]
    return f'## Calls\n\n{table(("solver", "call"), lines)}'


def summary(goals: Sequence[Verdict], has_pictures: bool) -> str:
    """
    Return the first section: the figures in short, and the two pictures that say most.

    :param goals: the goals.
    :param has_pictures: whether peers were measured, so that the pictures exist.
    """
    reached, missed = ([v.reached for v in goals].count(value) for value in (True, False))
    text = '## Summary\n\nTime of the best other package divided by ours, least and greatest ratio of the arms: above 1, '
    text += f'ours is faster. Ours verifies at least {SUCCESS_OF_OURS} % of the poses, the other package at least '
    text += f'{SUCCESS_OF_PEERS:g} %.\n\n{summary_table(goals)}\n\n'
    text += f'Of all goals of the run, {reached} are reached and {missed} missed: [the table](#goals) names each.'
    if has_pictures:
        text += '\n\n![First solution within 1e-3](images/bench_first_found_1e-3.png)'
        text += '\n\n![Verified solutions](images/bench_success.png)'
    return text


SECTIONS = (
    ('analytic', branch_section),
    ('closed_chain', loop_section),
    ('start_up', start_section),
)


def page(results: Results) -> str:
    """
    Return the page.

    :param results: from :func:`load`.
    """
    goals, rows = verdicts(results), results.get('peers', {}).get('rows', [])
    asked = {row['bench_class'] for row in rows}
    sections = [
        *(HEAD.strip(), summary(goals, bool(rows)), APPENDIX),
        *(f'## Conditions\n\n{circumstances(results)}', f'## Goals\n\n{goal_table(goals)}'),
        *(class_section(c, rows) for c in CLASSES.values() if c.name in asked),
        *(section(results[name]) for name, section in SECTIONS if name in results),
        *(absences(results), calls(rows)),
    ]
    return '\n\n'.join(sections) + '\n'


def draw(results: Results, folder: Path) -> None:
    """
    Write the pictures.

    :param results: from :func:`load`.
    :param folder: where the pictures are written.
    """
    rows = results.get('peers', {}).get('rows', [])
    for bench_class in CLASSES.values():
        of_this = [row for row in rows if row['bench_class'] == bench_class.name]
        if of_this:
            plots.boxes(of_this, bench_class.title, folder / f'bench_{bench_class.name}.png')
    if rows:
        titles = {bench_class.name: bench_class.title for bench_class in CLASSES.values()}
        plots.success(rows, titles, folder / 'bench_success.png')
    if 'analytic' in results:
        branches = results['analytic']['rows']
        plots.boxes(branches, 'All branches of a pose', folder / 'bench_all_branches.png')


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Write the page and its pictures.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument('--results', type=Path, default=program.OUTPUT, help='(%(default)s)')
    parser.add_argument('--page', type=Path, default=PAGE, help='(%(default)s)')
    options = parser.parse_args(arguments)
    results = load(options.results)
    if not results:
        sys.exit(f'bench: nothing was measured yet: {options.results} has no results')
    draw(results, options.page.parent / 'images')
    write_atomically(options.page, page(results))
    print(f'Written: {options.page}')


if __name__ == '__main__':
    main()
