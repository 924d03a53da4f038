"""Faults of a campaign: kept as files, run again, and counted in tables."""

from collections import Counter
from collections.abc import Sequence
import json
from pathlib import Path
import subprocess
from typing import Any

import numpy as np

from bench.program import write_json
from bench.tables import extended, table
from campaigns.postures.judges import judge, JUDGES
from campaigns.postures.judging import Fault, Tally
from campaigns.postures.planter import Group
from campaigns.postures.robots import Robot

WRONG = ('false proof', 'lost', 'missing', 'extra', 'duplicate', 'limits', 'step', 'law', 'error')
"""Claims that a fault breaks; ``unfound`` is an honest response."""
SHOWN = 40


class Store:
    """Writes faults as files."""

    def __init__(self, folder: Path, most: int) -> None:
        """
        Take a folder, which is made when the first fault comes, and emptied.

        :param folder: where files go.
        :param most: files of one claim, judge and class that are kept.
        """
        self._folder, self._most = folder, most
        self._counts: Counter[str] = Counter()
        for old in folder.glob('*.json'):
            old.unlink()

    def add(self, fault: Fault) -> None:
        """Write a fault, unless there are enough of its kind."""
        words = f'{fault.claim} {fault.judge} {fault.kind}'.replace(' ', '_').replace('/', '_')
        self._counts[words] += 1
        number = self._counts[words]
        if number <= self._most:
            write_json(self._folder / f'{words}_{number}.json', as_json(fault))


def as_json(fault: Fault) -> dict[str, Any]:
    """Return a fault as it is written."""
    robot = fault.robot
    of_robot = {name: getattr(robot, name) for name in ('family', 'base', 'tip', 'urdf')}
    limits = {'lower': robot.arm.lower.tolist(), 'upper': robot.arm.upper.tolist()}
    return extended(fault, robot=robot.name, q=fault.q.tolist()) | limits | of_robot


def group_of(saved: dict[str, Any]) -> Group:
    """
    Return the planted posture of a fault.

    :param saved: the fault, as it is written.
    """
    robot = Robot(*(saved[name] for name in ('robot', 'family', 'urdf', 'base', 'tip')))
    q, offset, number = (np.array([saved[name]]) for name in ('q', 'offset', 'number'))
    return Group(robot, saved['kind'], True, q, offset, saved['seed'], number)


def replay(paths: Sequence[Path]) -> int:
    """
    Run faults again and print those that remain; return 1 if a response is still wrong.

    :param paths: files of faults.
    """
    is_wrong = False
    for path in paths:
        try:
            saved = json.loads(path.read_text())
            group = group_of(saved)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f'{path} is not the file of a fault: {error!r}.') from error
        faults = judge(group, Tally(), (saved['judge'],))
        lines = [f'{fault.claim}, {fault.judge}: {fault.detail}' for fault in faults]
        print(f'{path.name}: ' + ('; '.join(lines) or 'nothing is wrong'))
        is_wrong |= any(fault.claim in WRONG for fault in faults)
    return int(is_wrong)


def commit() -> str:
    """Return the commit of the sources, empty outside of a repository."""
    words = ['git', 'rev-parse', '--short', 'HEAD']
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip()


def summary(tally: Tally, seconds: float) -> dict[str, Any]:
    """
    Return the figures of a campaign.

    :param tally: its counts.
    :param seconds: how long it took.
    """
    return {
        'commit': commit(),
        'seconds': seconds,
        'robots': len(tally.robots),
        'planted': tally.planted,
        'singular': tally.singular,
        'worst_error': dict(tally.residual),
        'farthest_outside': tally.outside,
        'trials': {' '.join(key): count for key, count in sorted(tally.trials.items())},
        'faults': [[*key, count] for key, count in sorted(tally.faults.items())],
    }


def as_text(tally: Tally, content: dict[str, Any]) -> str:
    """Return the tables of a campaign."""
    claims = (*WRONG, 'unfound')
    rows = []
    for name in JUDGES:
        trials = sum(count for key, count in tally.trials.items() if key[0] == name)
        if not trials:
            continue
        counts = [
            sum(n for key, n in tally.faults.items() if key[:2] == (claim, name))
            for claim in claims
        ]
        rows.append([name, str(trials), f'{tally.seconds[name]:.1f}', *map(str, counts)])
    lines = [
        f'Commit {content["commit"]}: {tally.planted} postures of {content["robots"]} robots, '
        f'{tally.singular} of them singular, in {content["seconds"]:.0f} s.',
        table(('asked', 'trials', 'seconds', *claims), rows),
        'Largest error in units of the allowed one: '
        + ', '.join(f'{name} {value:.2g}' for name, value in tally.residual.items())
        + f'. Farthest outside of limits: {tally.outside:.2g}.',
    ]
    worst: Counter[tuple[str, str, str, str]] = Counter(
        {key: count for key, count in tally.faults.items() if key[0] != 'unfound'}
    )
    if worst:
        most = [[*key, str(count)] for key, count in worst.most_common(SHOWN)]
        lines.append(table(('claim', 'asked', 'robot', 'class', 'count'), most))
    return '\n\n'.join(lines)
