"""All goals of the design, and verdicts on the figures of a run: the best peer, and whether a goal is reached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import itertools
from typing import Any

from bench import catalogue_arms, program
from bench.classes import CLASSES
from bench.peers import eaik_closed_form, ssik_ros_solve_q
from bench.tables import extended, table_of

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
ALL_BRANCHES_US = {
    **dict.fromkeys(catalogue_arms.CLOSED_FORMS, 5.0),
    **dict.fromkeys(catalogue_arms.ELIMINATIONS, 150.0),
    **{'panda': 70.0, 'iiwa14': 120.0, 'gen3': 350.0, 'rizon4': 2500.0},
}
"""Largest allowed median time for all branches of a pose."""
BATCH_US = 1.0
"""Of one pose in a call for many."""
CLOSED_CHAIN = 'ClosedChain'
"""Our solver of mechanisms with loops."""
CLOSED_CHAIN_US = {'track': 90.0, 'jump': 1500.0, 'near': 6.0}
ELSEWHERE_US = {'track': 900.0, 'jump': 18000.0, 'near': 20.0}
"""closed-chain-ik-js 0.0.6 with node 20 on another machine, a hexapod built alike; npm has 0.0.3. Near: to 1e-3."""
ROUND_TRIP = 1.3
"""How many times the round trip of an empty handler the node may take."""
NODE_MIB = 300.0
SERVICE_BATCH = 0.02
"""Share of a call of its own that a pose of a batch may take."""
IMPORT_S, FIRST_SOLUTION_S = 0.6, 1.0
"""Of our façade, on the slowest arm."""
ADDED_MS = 20.0
"""Largest time by which running searches may delay single calls, at p99."""
MEMORY = 'memory of the node'
START_RATIOS = {'import': 1.4, 'URDF to first solution': 0.2, 'node': 1.6, MEMORY: 190.0}
"""Largest processor time, as a multiple of the process for comparison, and largest memory [MiB]."""
OWN_ALL, OWN_FREE = ssik_ros_solve_q.PEER.name, ssik_ros_solve_q.FREE.name
OWN_AS_MANY = f'{OWN_ALL} as many'
"""Our solver with as many samples of the redundancy as it takes to return at least ssik's number of solutions."""
PEER_FREE = eaik_closed_form.PEER.name
"""The peer without limits and seed; our row for comparison gets none either."""
EXPECTED = (
    *('peers', 'analytic', 'many_poses', 'closed_chain', 'start_up'),
    *('round_trip', 'start_up_ratios'),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One goal; '-' where a figure does not apply."""

    goal: str
    arm: str
    ours: str = '-'
    peer: str = '-'
    """The best peer and its figure."""
    ratio: str = '-'
    """How many times the best peer's time is ours."""
    auto: str = '-'
    """The same of ``Auto``, which users get without choosing."""
    wanted: str = '-'
    reached: bool | None
    """None if the class has no goals on this arm."""


def arms_of(rows: Sequence[Row], name: str | None = None) -> list[str]:
    """Return the arms of rows, or of the rows of one class, each once."""
    fit = (row for row in rows if name is None or row['bench_class'] == name)
    return list(dict.fromkeys(row['arm'] for row in fit))


def best(rows: Sequence[Row], is_own: bool) -> Row | None:
    """
    Return the row with the lowest median among those whose solutions hold, None without one.

    :param rows: rows of one class and arm.
    :param is_own: whether ours or the peers' are meant.
    """
    least = SUCCESS_OF_OURS if is_own else SUCCESS_OF_PEERS
    fit = [
        row
        for row in rows
        if row['cpu'] and bool(row['is_own']) == is_own and row['success'] >= least
    ]
    return _fastest(fit)


def _fastest(rows: Sequence[Row]) -> Row | None:
    """Return the row with the lowest median, None without rows."""
    return min(rows, key=lambda row: float(row['cpu']['median']), default=None)


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


def _figure(row: Row) -> str:
    """Return a row's name and median."""
    return f'{row["peer"]} {row["cpu"]["median"]:.1f} us'


def _of_auto(rows: Sequence[Row], peer: Row) -> str:
    """Return how many times the time of ``Auto`` a peer takes."""
    autos = [row for row in rows if row['peer'].startswith('Auto') and row['cpu']]
    return f'{ratio(autos[0], peer):.1f}' if autos else '-'


def at_most(goal: str, arm: str, value: float, most: float, unit: str, **more: Any) -> Verdict:
    """
    Return a goal that is an upper bound.

    :param goal, arm: their names.
    :param value, most: the figure and its bound.
    :param unit: of both.
    :param more: other fields of the verdict.
    """
    wanted, is_reached = f'at most {most:g} {unit}', bool(value <= most)
    fields = {'ours': f'{value:.3g} {unit}', 'wanted': wanted, 'reached': is_reached}
    return Verdict(goal=goal, arm=arm, **(fields | more))


def compared(ours: Row, peer: Row | None) -> dict[str, Any]:
    """
    Return the fields of a verdict that compare a row of ours with the best peer.

    :param ours, peer: their rows.
    """
    if peer is None:
        return {'ours': _figure(ours)}
    return {'ours': _figure(ours), 'peer': _figure(peer), 'ratio': f'{ratio(ours, peer):.1f}'}


def refusals(results: Results) -> Iterator[Verdict]:
    """
    Yield the cost of a pose without a solution over the cost of a pose with one, for arms with a closed form.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for solver, arm in itertools.product(('Auto', 'Analytic'), CLOSED_FORMS):
        pair = [
            float(row['cpu']['median'])
            for name in ('unreachable', 'first_found_1e-3')
            for row in of_class(rows, name, arm)
            if row['peer'] == solver and row['cpu']
        ]
        if len(pair) == 2:
            times = pair[0] / pair[1]
            ours = f'{solver} {pair[0]:.1f} us, reachable {pair[1]:.1f}: {times:.1f} times'
            yield at_most('a refusal', arm, times, REFUSAL, 'times', ours=ours)


def one_solution(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the classes with one solution.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for name in CLASSES:
        for arm in arms_of(rows, name):
            yield from _one_solution(name, arm, of_class(rows, name, arm))


def _one_solution(name: str, arm: str, rows: Sequence[Row]) -> Iterator[Verdict]:
    """Yield the goal of one class on one arm, if it can be judged."""
    if not any(row.get('has_goals', True) for row in rows):
        yield Verdict(goal=name, arm=arm, reached=None)
        return
    ours, peer = best(rows, is_own=True), best(rows, is_own=False)
    if ours is None and any(row['is_own'] for row in rows):
        least = f'success of {SUCCESS_OF_OURS} %'
        yield Verdict(goal=name, arm=arm, ours='none', wanted=least, reached=False)
    if ours is None or peer is None:
        return
    times = TIMES_FASTER.get(name, 1.0) if arm in ARMS else 1.0
    figures = ('median', 'mean', 'p99') if name in ALSO_MEAN_AND_P99 else ('median',)
    ratios = [ratio(ours, peer, what) for what in figures]
    shown = ' / '.join(f'{value:.1f}' for value in ratios)
    fields = compared(ours, peer) | {'ratio': shown, 'auto': _of_auto(rows, peer)}
    is_reached = min(ratios if times != 1.0 else ratios[:1]) >= times
    wanted = f'{times:g} times' if times != 1.0 else 'won'
    yield Verdict(goal=name, arm=arm, wanted=wanted, reached=is_reached, **fields)


def auto_beside_parts(results: Results) -> Iterator[Verdict]:
    """
    Yield the worst arm of each class for ``Auto``, compared with our fastest other solver with valid solutions.

    Each solver is called as its users call it: ``ik_LM`` directly, the others by a request.

    :param results: content of the result files.
    """
    rows = results['peers']['rows']
    for name in CLASSES:
        pairs: list[tuple[float, Row, Row]] = []
        for arm in arms_of(rows, name):
            our_rows = [row for row in of_class(rows, name, arm) if row['is_own'] and row['cpu']]
            autos = [row for row in our_rows if row['peer'].startswith('Auto')]
            part = best([row for row in our_rows if row not in autos], is_own=True)
            if autos and part is not None:
                pairs.append((ratio(part, autos[0]), autos[0], part))
        if pairs:
            times, auto, part = max(pairs, key=lambda pair: pair[0])
            ours, is_valid = (
                f'{_figure(auto)}: {times:.2f} times',
                auto['success'] >= SUCCESS_OF_OURS,
            )
            more = {'ours': ours, 'peer': _figure(part)} | ({} if is_valid else {'reached': False})
            goal, arm = f'{name}, Auto beside its parts', f'worst: {auto["arm"]}'
            yield at_most(goal, arm, times, BESIDE_PARTS, 'times', **more)


def all_branches(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of all branches; a seven-joint arm must find at least as many solutions as ssik.

    Each goal is followed by the same work as eaik's, without limits and seed.

    :param results: content of the result files.
    """
    measured = [row for row in results['analytic']['rows'] if row['cpu']]
    for arm in arms_of(measured):
        rows = {row['peer']: row for row in measured if row['arm'] == arm}
        ours = rows.get(OWN_AS_MANY, rows.get(OWN_ALL))
        if ours is None:
            continue
        spent = ours['cpu']['median']
        most = ALL_BRANCHES_US[arm.removesuffix(catalogue_arms.OWN_MODEL)]
        peer = _fastest([row for row in rows.values() if not row['is_own']])
        yield at_most('all branches', arm, spent, most, 'us', **compared(ours, peer))
        free, same = rows.get(OWN_FREE), rows.get(PEER_FREE)
        if free is not None and same is not None:
            fields = compared(free, same) | {'wanted': 'won', 'reached': ratio(free, same) >= 1.0}
            yield Verdict(goal='no limits, no seed', arm=arm, **fields)


def batches(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of many poses in one call, on as many threads as were used.

    :param results: content of the result files.
    """
    rows = results['many_poses']['rows']
    for arm in arms_of(rows):
        of_arm = [row for row in rows if row['arm'] == arm]
        threads = max(row['threads'] for row in of_arm)
        mine = [row for row in of_arm if row['call'] == 'solve_batch']
        wall = next(row['spent']['wall'] for row in mine if row['threads'] == threads)
        peer = min((row['spent']['wall'] for row in of_arm if row not in mine), default=None)
        more = {'ours': f'solve_batch {wall:.2f} us'}
        if peer is not None:
            more |= {'peer': f'eaik IK_batched {peer:.2f} us', 'ratio': f'{peer / wall:.1f}'}
        yield at_most(f'batch, {threads} threads, a pose', arm, wall, BATCH_US, 'us', **more)


def closed_chains(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of a mechanism with loops, for small steps along a track and for jumps between poses.

    :param results: content of the result files.
    """
    rows = results['closed_chain']['rows']
    for row in (row for row in rows if row['solver'] == CLOSED_CHAIN):
        spent, most = row['cpu']['median'], CLOSED_CHAIN_US[row['run']]
        others = [o for o in rows if o['solver'] != CLOSED_CHAIN and o['run'] == row['run']]
        peer = _fastest([other for other in others if other['within'] >= SUCCESS_OF_PEERS])
        peer_medians = [('0.0.6 elsewhere', ELSEWHERE_US[row['run']])]
        if peer is not None:
            peer_medians.insert(0, (peer['solver'], peer['cpu']['median']))
        more: dict[str, Any] = {
            'ours': f'{CLOSED_CHAIN} {spent:.1f} us',
            'peer': ' / '.join(f'{name} {median:.0f} us' for name, median in peer_medians),
            'ratio': ' / '.join(f'{median / spent:.1f}' for _, median in peer_medians),
        }
        more |= {} if row['converged'] == 100.0 else {'reached': False}
        yield at_most(f'closed chain, {row["run"]}', row['mechanism'], spent, most, 'us', **more)


def services(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the node: round trips, compared with an empty handler, memory, and calls for many poses.

    :param results: content of the result files.
    """
    for row in (row for row in results['round_trip']['rows'] if row['server'] == 'own'):
        p50, times, robot = row['times']['median'], row['ratio'], row['robot']
        peer, shown = f'empty handler {p50 / times:.0f} us', f'{1.0 / times:.2f}'
        more = {'ours': f'{p50:.0f} us', 'peer': peer, 'ratio': shown}
        yield at_most('service round trip', robot, times, ROUND_TRIP, 'times', **more)
        if row.get('peak_mib'):
            yield at_most(MEMORY, robot, row['peak_mib'], NODE_MIB, 'MiB')
    for row in results['round_trip'].get('batches', ()):
        ours = f'{row["batch"]:.1f} us, alone {row["single"]:.0f} us'
        part = row['batch'] / row['single']
        yield at_most(
            'a pose of a batch', row['robot'], part, SERVICE_BATCH, 'of a call', ours=ours
        )


def start_ups(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the time until the first solution.

    :param results: content of the result files.
    """
    rows = [row for row in results['start_up']['rows'] if row['solver'] == OWN_ALL]
    for goal, name, most in (
        ('import', 'imported', IMPORT_S),
        ('URDF to first solution', 'together', FIRST_SOLUTION_S),
    ):
        seconds = max((row[name] for row in rows if row[name] is not None), default=None)
        if seconds is not None:
            yield at_most(goal, 'slowest', seconds, most, 's')


def start_ratios(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of the start, as ratios to the unavoidable cost.

    :param results: content of the result files.
    """
    for row in results['start_up_ratios']['ratios']:
        unit = 'MiB' if row['compared'] is None else 'times'
        name, most = row['name'], START_RATIOS[row['name']]
        yield at_most(f'start: {name}', 'panda', row['ratio'], most, unit)


def loads(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of single calls while searches run.

    :param results: content of the result files.
    """
    for row in results['load'].get('delays', ()):
        if row['searches']:
            goal = f'delay of a call at p99, {row["searches"]} searching'
            yield at_most(goal, 'panda', row['added'], ADDED_MS, 'ms')


def tool_paths(results: Results) -> Iterator[Verdict]:
    """
    Yield the goals of long tool paths: processor time, and memory where a path has a bound.

    :param results: content of the result files.
    """
    for row in results['tool_paths']['rows']:
        more = {'reached': False} if row['fault'] else {}
        name = row['problem']
        yield at_most('tool path', name, row['seconds'], row['goal'], 's', **more)
        if row['memory'] and row['most_memory']:
            yield at_most('memory of a tool path', name, row['memory'], row['most_memory'], 'MiB')


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
    ('load', loads),
    ('tool_paths', tool_paths),
)


def verdicts(results: Results) -> list[Verdict]:
    """
    Return all goals that were measured, in the order of the design.

    :param results: content of the result files.
    """
    return [verdict for name, part in PARTS if name in results for verdict in part(results)]


VERDICTS = {True: 'reached', False: '**missed**', None: 'no such goals'}
COLUMNS = {
    'class': '{goal}',
    'arm': '{arm}',
    'ours': '{ours}',
    'best peer': '{peer}',
    'its time / ours': '{ratio}',
    '/ Auto': '{auto}',
    'figure': '{wanted}',
    'verdict': '{verdict}',
}


def table_of_goals(goals: Sequence[Verdict]) -> str:
    """
    Return goals as a table.

    :param goals: the goals.
    """
    return table_of(COLUMNS, [extended(goal, verdict=VERDICTS[goal.reached]) for goal in goals])


def finish(run: program.Run, **content: Any) -> None:
    """
    Show the goals of a run, and write its files.

    :param run: the run; its name decides on the goals.
    :param content: as for :meth:`bench.program.Run.finish`.
    """
    goals = verdicts({run.name: program.plain(content)})
    if goals:
        run.show(table_of_goals(goals))
    run.finish(**content)
