"""Verdicts on the figures of a run: each goal of the design, the best peer, and whether the goal is reached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.classes import CLASSES
from bench.closed_chain import GOALS_US, OURS, PEERS_ELSEWHERE_US

Row = Mapping[str, Any]
Results = Mapping[str, Mapping[str, Any]]
"""Content of the result files, by their names without the ending."""

TIMES_FASTER = {'first_found_1e-3': 5.0, 'near_seed_1e-3': 3.0}
"""How many times faster than the best peer; in the other classes the fastest is to be one of ours."""
ALSO_MEAN_AND_P99 = ('first_found_1e-3',)
ARMS = ('panda', 'gen3', 'fanuc', 'ur5e')
"""The arms that the two goals above are set for."""
SUCCESS_OF_OURS = 99.95
SUCCESS_OF_PEERS = 90.0
"""Least share of verified solutions that lets a solver count [%]."""
CLOSED_FORMS = ('fanuc', 'ur5e')
REFUSAL = 5.0
"""How many times a reachable pose one without a solution may cost, on arms with a closed form."""
BESIDE_PARTS = 1.1
"""How many times the time of the better of its parts ``Auto`` may take."""
ROUND_TRIP = 1.3
NODE_MIB = 300.0
BATCH_US = 1.0
OWN_ALL, OWN_AS_MANY, OWN_FREE = 'solve_q', 'solve_q as many', 'solve_q free'
PEER_FREE = 'eaik'
"""The peer without limits and seed; our row for comparison gets none either."""
EXPECTED = (
    *('peers', 'analytic', 'many_poses', 'closed_chain', 'start_up'),
    *('round_trip', 'start_up_ratios'),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One goal."""

    goal: str
    arm: str
    ours: str
    peer: str
    """The best peer and its figure; '-' where none can do it."""
    ratio: str
    """How many times the best peer's time is ours."""
    auto: str
    """The same of ``Auto``, which users get without choosing; '-' where it does not take part."""
    wanted: str
    reached: bool | None
    """None if the class has no goals on this arm."""


def best(rows: Sequence[Row], own: bool) -> Row | None:
    """
    Return the row with the lowest median among those whose solutions hold, None without one.

    :param rows: rows of one class and arm.
    :param own: whether ours or the peers' are meant.
    """
    least = SUCCESS_OF_OURS if own else SUCCESS_OF_PEERS
    fit = [
        row for row in rows if row['cpu'] and bool(row['own']) == own and row['success'] >= least
    ]
    return min(fit, key=lambda row: float(row['cpu']['median']), default=None)


def ratio(ours: Row, peer: Row, what: str = 'median') -> float:
    """
    Return the peer's processor time divided by ours; ``what`` names the figure of the distribution.

    :param ours: our row.
    :param peer: the peer's row.
    """
    return float(peer['cpu'][what]) / float(ours['cpu'][what])


def of_class(rows: Sequence[Row], name: str, arm: str) -> list[Row]:
    """
    Return the rows of one class and arm.

    :param rows: rows of ``peers.json``.
    :param name: the class.
    :param arm: the arm.
    """
    return [row for row in rows if (row['bench_class'], row['arm']) == (name, arm)]


def _figure(row: Row, name: str | None = None) -> str:
    """Return a row's name and median."""
    return f'{name or row["peer"]} {row["cpu"]["median"]:.1f} us'


def _of_auto(rows: Sequence[Row], peer: Row) -> str:
    """Return how many times the time of ``Auto`` a peer takes."""
    found = [row for row in rows if row['peer'].startswith('Auto') and row['cpu']]
    return f'{ratio(found[0], peer):.1f}' if found else '-'


def refusals(results: Results) -> Iterator[Verdict]:
    """
    Yield the cost of a pose without a solution over the cost of a pose with one, for arms with a closed form.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for solver in ('Auto', 'Analytic'):
        for arm in CLOSED_FORMS:
            pair = [
                row
                for name in ('unreachable', 'first_found_1e-3')
                for row in of_class(rows, name, arm)
                if row['peer'] == solver and row['cpu']
            ]
            if len(pair) == 2:
                without, usual = (float(row['cpu']['median']) for row in pair)
                times, most = without / usual, f'at most {REFUSAL:g} times'
                ours = f'{solver} {without:.1f} us, reachable {usual:.1f}'
                reached = times <= REFUSAL
                shown = f'{times:.1f} times'
                yield Verdict('a refusal', arm, f'{ours}: {shown}', '-', '-', '-', most, reached)


def one_solution(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the classes with one solution.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for name in CLASSES:
        for arm in dict.fromkeys(row['arm'] for row in rows if row['bench_class'] == name):
            of_arm = of_class(rows, name, arm)
            if not any(row.get('has_goals', True) for row in of_arm):
                yield Verdict(name, arm, '-', '-', '-', '-', '-', None)
                continue
            ours, peer = best(of_arm, own=True), best(of_arm, own=False)
            if ours is None or peer is None:
                if ours is None and any(row['own'] for row in of_arm):
                    least = f'{SUCCESS_OF_OURS} %'
                    yield Verdict(name, arm, 'none', '-', '-', '-', f'success of {least}', False)
                continue
            wanted = TIMES_FASTER.get(name, 1.0) if arm in ARMS else 1.0
            figures = ('median', 'mean', 'p99') if name in ALSO_MEAN_AND_P99 else ('median',)
            ratios = [ratio(ours, peer, what) for what in figures]
            yield Verdict(
                name,
                arm,
                _figure(ours),
                _figure(peer),
                ' / '.join(f'{value:.1f}' for value in ratios),
                _of_auto(of_arm, peer),
                f'{wanted:g} times' if wanted != 1.0 else 'won',
                min(ratios if wanted != 1.0 else ratios[:1]) >= wanted,
            )


def auto_beside_parts(results: Results) -> Iterator[Verdict]:
    """
    Yield the worst arm of each class for ``Auto``, compared with our fastest other solver with valid solutions.

    Each solver is called as its users call it: ``ik_LM`` directly, the others by a request.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for name in CLASSES:
        compared: list[tuple[float, Row, Row]] = []
        for arm in dict.fromkeys(row['arm'] for row in rows if row['bench_class'] == name):
            own = [row for row in of_class(rows, name, arm) if row['own'] and row['cpu']]
            autos = [row for row in own if row['peer'].startswith('Auto')]
            part = best([row for row in own if row not in autos], own=True)
            if autos and part is not None:
                compared.append((ratio(part, autos[0]), autos[0], part))
        if compared:
            times, auto, part = max(compared, key=lambda found: found[0])
            yield Verdict(
                f'{name}, Auto beside its parts',
                f'worst: {auto["arm"]}',
                f'{_figure(auto)}: {times:.2f} times',
                _figure(part),
                '-',
                '-',
                f'at most {BESIDE_PARTS:g} times',
                times <= BESIDE_PARTS and auto['success'] >= SUCCESS_OF_OURS,
            )


def all_branches(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of all branches; a seven-joint arm must find at least as many solutions as ssik.

    Each goal is followed by the same work as eaik's, without limits and seed.

    :param results: content of the result files.
    """
    content = results['analytic']
    for arm, most in content['goals'].items():
        rows = {row['peer']: row for row in content['rows'] if row['arm'] == arm and row['cpu']}
        ours = rows.get(OWN_AS_MANY, rows.get(OWN_ALL))
        if ours is None:
            continue
        peer = min(
            (row for row in rows.values() if not row['own']),
            key=lambda row: float(row['cpu']['median']),
            default=None,
        )
        yield Verdict(
            'all branches',
            arm,
            _figure(ours),
            '-' if peer is None else _figure(peer),
            '-' if peer is None else f'{ratio(ours, peer):.1f}',
            '-',
            f'{most:g} us',
            ours['cpu']['median'] <= most,
        )
        free, same = rows.get(OWN_FREE), rows.get(PEER_FREE)
        if free is not None and same is not None:
            times = ratio(free, same)
            shown = _figure(free), _figure(same), f'{times:.1f}'
            yield Verdict('no limits, no seed', arm, *shown, '-', 'won', times >= 1.0)


def batches(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of many poses in one call, on as many threads as were used.

    :param results: content of the result files.
    """
    rows = results['many_poses']['rows']
    for arm in dict.fromkeys(row['arm'] for row in rows):
        of_arm = [row for row in rows if row['arm'] == arm]
        threads = max(row['threads'] for row in of_arm)
        mine = [
            row for row in of_arm if row['call'] == 'solve_batch' and row['threads'] == threads
        ]
        others = [row['spent']['wall'] for row in of_arm if row['call'] != 'solve_batch']
        wall, peer = mine[0]['spent']['wall'], min(others, default=None)
        yield Verdict(
            f'batch, {threads} threads, a pose',
            arm,
            f'solve_batch {wall:.2f} us',
            '-' if peer is None else f'eaik IK_batched {peer:.2f} us',
            '-' if peer is None else f'{peer / wall:.1f}',
            '-',
            f'{BATCH_US:g} us',
            wall <= BATCH_US,
        )


def closed_chains(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of a mechanism with loops, for small steps along a track and for jumps between poses.

    :param results: content of the result files.
    """
    rows = results['closed_chain']['rows']
    for row in (row for row in rows if row['solver'] == OURS):
        spent, wanted = row['cpu']['median'], GOALS_US[row['run']]
        elsewhere = PEERS_ELSEWHERE_US[row['run']]
        peers = [
            other
            for other in rows
            if other['solver'] != OURS
            and other['run'] == row['run']
            and other['within'] >= SUCCESS_OF_PEERS
        ]
        peer = min(peers, key=lambda other: float(other['cpu']['median']), default=None)
        names, ratios = [f'0.0.6 elsewhere {elsewhere:g} us'], [f'{elsewhere / spent:.1f}']
        if peer is not None:
            median = peer['cpu']['median']
            names.insert(0, f'{peer["solver"]} {median:.0f} us')
            ratios.insert(0, f'{median / spent:.1f}')
        yield Verdict(
            f'closed chain, {row["run"]}',
            row['mechanism'],
            f'{OURS} {spent:.1f} us',
            ' / '.join(names),
            ' / '.join(ratios),
            '-',
            f'{wanted:g} us',
            spent <= wanted and row['converged'] == 100.0,
        )


def services(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the node: round trips against an empty handler, and memory.

    :param results: content of the result files.
    """
    for row in results['round_trip']['rows']:
        if row['server'] != 'own':
            continue
        times = row['ratio']
        wanted = f'{ROUND_TRIP:g} times'
        yield Verdict(
            'service round trip',
            row['robot'],
            f'{row["p50"]:.0f} us',
            f'empty handler {row["p50"] / times:.0f} us',
            f'{1.0 / times:.2f}',
            '-',
            wanted,
            times <= ROUND_TRIP,
        )
        if row.get('peak_mib'):
            peak, robot = row['peak_mib'], row['robot']
            most = f'{NODE_MIB:g} MiB'
            reached = peak <= NODE_MIB
            shown = f'{peak:.0f} MiB'
            yield Verdict('memory of the node', robot, shown, '-', '-', '-', most, reached)


def start_ups(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the time until the first solution.

    :param results: content of the result files.
    """
    titles = {
        'import': 'import',
        'warm': 'URDF to first solution',
        'cold': 'the same, nothing compiled',
    }
    for name, seconds, most in results['start_up']['goals']:
        shown = f'{seconds:.2f} s'
        wanted = f'{most:g} s'
        reached = seconds <= most
        yield Verdict(titles[name], 'slowest', shown, '-', '-', '-', wanted, reached)


def start_ratios(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the start, as ratios to the unavoidable cost.

    :param results: content of the result files.
    """
    for row in results['start_up_ratios']['ratios']:
        unit = ' MiB' if row['compared'] == 1.0 else ' times'
        name, shown, wanted = row['name'], f'{row["ratio"]:.3g}{unit}', f'{row["most"]:g}{unit}'
        reached = row['ratio'] <= row['most']
        yield Verdict(
            f'start: {name}', 'panda', shown, '-', '-', '-', f'at most {wanted}', reached
        )


PARTS = (
    ('peers', one_solution),
    ('peers', refusals),
    ('peers', auto_beside_parts),
    ('analytic', all_branches),
    ('many_poses', batches),
    ('closed_chain', closed_chains),
    ('round_trip', services),
    ('start_up', start_ups),
    ('start_up_ratios', start_ratios),
)


def verdicts(results: Results) -> list[Verdict]:
    """
    Return all goals that were measured, in the order of the design.

    :param results: content of the result files.
    """
    return [verdict for name, part in PARTS if name in results for verdict in part(results)]
