"""Two checkouts side by side: 5 % are found and nothing is not, however the machine drifts."""

from pathlib import Path

import numpy as np
import pytest

from bench import paired
from bench.arms import read_arm

NAMES = ['slow', 'same', 'fast']
FACTORS = {'slow': 1.05, 'same': 1.0, 'fast': 0.9}


class Machine:
    """A machine that drifts by half within seconds and gives each process a speed of its own."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.drift = 0.0

    def start(self, factors):
        """Return a double of a checkout's process."""
        layout = self.rng.normal(0.0, 0.01, len(NAMES))
        return Process(self, dict(zip(NAMES, layout, strict=True)), factors)


class Process:
    """The part of a worker that a comparison uses."""

    names = NAMES

    def __init__(self, machine, layout, factors):
        self.machine, self.layout, self.factors = machine, layout, factors

    def time(self, name):
        rng = self.machine.rng
        self.machine.drift = 0.95 * self.machine.drift + rng.normal(0.0, 0.1)
        noise = rng.normal(0.0, 0.05) + (rng.random() < 0.1) * rng.exponential(1.0)
        return 1e5 * self.factors[name] * np.exp(self.machine.drift + self.layout[name] + noise)

    def close(self):
        pass


@pytest.fixture
def compare(monkeypatch):
    """Return a function that compares two made checkouts on a machine of a seed."""

    def run(seed, most_starts=20):
        machine = Machine(seed)
        speeds = {Path('before'): dict.fromkeys(NAMES, 1.0), Path('now'): FACTORS}
        monkeypatch.setattr(
            paired, 'Worker', lambda checkout, arms: machine.start(speeds[checkout])
        )
        return paired.compare(Path('before'), Path('now'), (), most_starts)

    return run


@pytest.mark.parametrize('seed', range(5))
def test_five_percent_are_found_and_the_same_speed_is_not_called_slower(compare, seed):
    texts = {name: verdict.text for name, verdict in compare(seed, 40).verdicts().items()}
    assert texts == {'slow': 'SLOWER', 'same': '', 'fast': 'faster'}


@pytest.mark.parametrize('seed', range(5))
def test_the_interval_holds_the_true_ratio(compare, seed):
    for name, verdict in compare(seed).verdicts().items():
        # Wider than the interval: one of twenty lies outside.
        width = verdict.high - verdict.low
        assert verdict.low - width < FACTORS[name] < verdict.high + width


def test_few_starts_that_disagree_are_unclear():
    assert paired.judge(np.log([0.9, 1.0, 1.1])).text == 'unclear'


def test_more_starts_are_made_until_all_is_clear(compare):
    assert compare(1).verdicts()['slow'].starts > paired.FEWEST_STARTS


def test_a_table_has_times_and_verdicts(compare):
    lines = compare(0, 40).lines(poses=10)
    assert [line[0] for line in lines] == NAMES
    assert {len(line) for line in lines} == {len(paired.HEADER)}
    assert [line[-1] for line in lines] == ['SLOWER', '', 'faster']


def test_a_worker_times_the_package_of_its_checkout(tmp_path):
    root = Path(__file__).resolve().parents[2]
    (tmp_path / 'ssik_ros').symlink_to(root / 'ssik_ros')
    worker = paired.Worker(tmp_path, [read_arm('ur5e')])
    assert worker.time('ur5e: forward kinematics') > 0.0
    worker.close()


def test_a_folder_without_the_package_is_refused(tmp_path):
    with pytest.raises(SystemExit, match='the process of a checkout ended with 1'):
        paired.Worker(tmp_path, [read_arm('ur5e')])
