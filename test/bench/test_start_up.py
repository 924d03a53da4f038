"""The start until the first solution, and mechanisms with loops: fresh processes, their memory, and the files."""

import json
from pathlib import Path
import re
from resource import getrusage, RUSAGE_SELF
import subprocess
import sys

import pytest

from bench import goals, pinning, start_up, usage
from bench.arms import read_arm
from bench.peers import load_peers, Peer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def unpinned(monkeypatch):
    """Leave the process of the tests on all its cores."""
    monkeypatch.setattr(pinning, 'pin', lambda cpu: cpu)


def test_a_fresh_process_tells_its_steps_and_its_memory(tmp_path):
    words = ['--arms', 'ur5e', '--peers', 'ik_LM', '--output', str(tmp_path)]
    start_up.main(words)
    content = json.loads((tmp_path / 'start_up.json').read_text())
    bare, others, ours = content['rows']
    assert (bare['solver'], ours['solver'], ours['note']) == ('numpy', 'ik_LM', '')
    assert others['solver'] == 'numpy,pinocchio'
    assert others['peak_mib'] > bare['peak_mib']
    assert ours['is_own'] and not bare['is_own'] and bare['set_up'] is None
    assert ours['together'] == ours['set_up'] + ours['first_solution'] > 0.0
    assert 5.0 < bare['peak_mib'] < ours['peak_mib'] < 2000.0
    assert 'ik_LM' in (tmp_path / 'start_up.md').read_text()


def test_memory_is_that_of_the_process_and_not_of_its_parent():
    bulk = bytearray(200 * 2**20)
    code = 'from bench.usage import memory_mib; print(memory_mib())'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 150.0
    assert usage.memory_mib() > len(bulk) / 2**20
    # The system's maximum over this process and its parent is at least as large.
    assert usage.memory_mib() <= getrusage(RUSAGE_SELF).ru_maxrss / 1024 + 1.0


def test_a_peer_that_does_not_respond_is_a_row_with_the_reason(monkeypatch):
    arm = read_arm('ur5e')
    absent = Peer('absent', 'no_such_module', 'absent', '', lambda arm: None)
    assert start_up.measure(arm, absent, 1.0).note == 'not installed'
    peer = load_peers(['ik_LM'])['ik_LM']
    assert start_up.measure(arm, peer, 0.001).note == 'no solution after 0.001 s'
    figures = start_up.ask(arm, 'no_such_module', 'ik_LM', 60.0)
    assert 'no_such_module' in figures['note']


def test_goals_are_those_of_the_facade_on_the_slowest_arm():
    rows = [
        {'solver': 'solve_q', 'imported': 0.5, 'together': 0.4},
        {'solver': 'solve_q', 'imported': 0.4, 'together': 1.7},
        {'solver': 'other', 'imported': 9.0, 'together': 9.0},
    ]
    verdicts = list(goals.start_ups({'start_up': {'rows': rows}}))
    assert [(v.ours, v.reached) for v in verdicts] == [('0.5 s', True), ('1.7 s', False)]


def test_processes_take_turns_and_the_least_of_each_figure_counts():
    order, figures = [], iter([3.0, 9.0, 5.0, 7.0])

    def start(name):
        order.append(name)
        return {'cpu': next(figures)}

    starts = {'a': lambda: start('a'), 'b': lambda: start('b')}
    assert start_up.best_of(starts, 2) == {'a': {'cpu': 3.0}, 'b': {'cpu': 7.0}}
    assert order == ['a', 'b', 'a', 'b']


BUSY = """
import sys, time
kept = bytearray(100 * 2**20)
while time.process_time() < 0.3:
    pass
print(time.process_time(), 'Ready', file=sys.stderr, flush=True)
time.sleep(60.0)
"""


def test_a_node_counts_from_exec_until_it_is_ready():
    figures = start_up.start_process(('-c', BUSY), 60.0)
    assert 0.3 <= figures['cpu'] < 2.0
    assert 100.0 < figures['mib'] < 300.0


def test_a_node_that_ends_before_is_no_figure_but_its_last_words():
    with pytest.raises(start_up.NotMeasured, match='no such robot'):
        start_up.start_process(('-c', "raise SystemExit('no such robot')"), 60.0)
    with pytest.raises(start_up.NotMeasured, match='without a word'):
        start_up.start_process(('-c', 'import time; time.sleep(60.0)'), 0.2)


def test_ratios_compare_with_what_cannot_be_avoided(monkeypatch, tmp_path):
    def ask(arm, module, name, seconds, environment=None):
        step = {'wall': 9.0, 'cpu': 0.5}
        if module == 'numpy,pinocchio':
            return {'import': {'wall': 9.0, 'cpu': 0.4}, 'peak_mib': 50.0}
        return {'import': step, 'set_up': step, 'first_solution': step, 'peak_mib': 50.0}

    def start_process(words, seconds):
        is_own = 'ik_server' in words
        return {'cpu': 1.5 if is_own else 1.0, 'mib': 120.0 if is_own else 90.0}

    monkeypatch.setattr(start_up, 'ask', ask)
    monkeypatch.setattr(start_up, 'start_process', start_process)
    monkeypatch.setattr(start_up.importlib.util, 'find_spec', lambda name: name)
    start_up.main(['--ratios', '--output', str(tmp_path)])
    ratios = json.loads((tmp_path / 'start_up_ratios.json').read_text())['ratios']
    assert {row['name']: row['ratio'] for row in ratios} == {
        'import': pytest.approx(1.25),
        'URDF to first solution': pytest.approx(2.5),
        'node': pytest.approx(1.5),
        'memory of the node': 120.0,
    }
    verdicts = list(goals.start_ratios({'start_up_ratios': {'ratios': ratios}}))
    assert [verdict.reached for verdict in verdicts] == [True, False, True, True]
    assert verdicts[3].ours == '120 MiB' and verdicts[1].wanted == 'at most 0.2 times'


def test_without_ros_the_ratios_of_the_node_are_left_out(monkeypatch):
    step = {'wall': 1.0, 'cpu': 0.5}
    figures = {'import': step, 'set_up': step, 'first_solution': step, 'peak_mib': 50.0}
    monkeypatch.setattr(start_up, 'ask', lambda *words: figures)
    monkeypatch.setattr(start_up.importlib.util, 'find_spec', lambda name: None)
    ratios = start_up.measure_ratios(read_arm('panda'), 1, 1.0)
    assert [ratio.name for ratio in ratios] == ['import', 'URDF to first solution']


def test_the_empty_node_imports_the_messages_that_the_node_imports():
    ros = ROOT / 'ssik_ros' / 'ros'
    files = [path for path in ros.rglob('*.py') if ros / 'view' not in path.parents]
    sources = '\n'.join(path.read_text() for path in files)
    pattern = r'^\s*(?:from|import) (\w+_(?:msgs|interfaces))\.'
    wanted = set(re.findall(pattern, sources, re.MULTILINE))
    assert set(re.findall(pattern, start_up.EMPTY_PROGRAM, re.MULTILINE)) == wanted
