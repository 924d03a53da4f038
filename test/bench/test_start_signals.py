"""
Signals from the first moment of a process on: the scripts of the executables end with their exit codes.

``START_SIGNALS=400`` in the environment sets the number of starts of each executable.
"""

import importlib.util
import itertools
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import NamedTuple

from test.repository import ROOT
from test.ros_domain import claimed_domain

import pytest

pytest.importorskip('rclpy', reason='no rclpy on this machine')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')

pytestmark = pytest.mark.ros

STARTS = int(os.environ.get('START_SIGNALS', '12'))
LONGEST = 1.5 if 'START_SIGNALS' in os.environ else 0.4
"""Latest signal [s]; the script of setuptools has its handlers later than 0.4 s."""
PARAMETERS = {
    'ik_server': ('-p', 'moveit_config_package:=panda'),
    'ik_stream': ('-p', 'moveit_config_package:=panda', '-p', 'task_sets_file:=panda'),
    'ik_view': ('-p', 'moveit_config_package:=panda', '-p', 'port:=0'),
    'joint_state_relay': ('-p', 'loop_closures_file:=four_bar'),
    'ik_benchmark': ('-p', 'robot:=topics', '-p', 'config:=panda'),
}
INTERRUPTED = {'ik_benchmark': 1}
"""Exit codes that are not zero."""
END_LIMIT = 15.0
"""Time after which a process counts as not ended [s]."""
FAULTS = 'Traceback', 'Exception', 'terminate called', 'core dumped', 'Segmentation'


class Start(NamedTuple):
    """One start: the signal's number and delay [s], the exit code (None without an end), and the output."""

    number: int
    delay: float
    code: int | None
    text: str

    def is_right(self, name):
        """Return whether the process ended as it has to, without a word about a fault."""
        is_quiet = not any(fault in self.text for fault in FAULTS)
        return self.code == INTERRUPTED.get(name, 0) and is_quiet


def wait_for_guard(process):
    """Wait until a process blocks or handles SIGTERM, or has ended."""
    bit, end = 1 << (signal.SIGTERM - 1), time.monotonic() + END_LIMIT
    while process.poll() is None and time.monotonic() < end:
        status = Path(f'/proc/{process.pid}/status').read_text(encoding='ascii')
        masks = (status.partition(f'{name}:')[2].split()[0] for name in ('SigBlk', 'SigCgt'))
        if any(int(mask, 16) & bit for mask in masks):
            return
        time.sleep(0.001)


def start_with_signal(command, number, delay):
    """Start a process, and send it a signal once it can handle signals and a delay [s] is over."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for_guard(process)
            time.sleep(delay)
            process.send_signal(number)
            code = process.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        return Start(number, delay, code, log.read().decode(errors='replace'))


def run_starts(name, script):
    """Start an executable again and again, with SIGINT and SIGTERM in turn at times drawn from a seed."""
    rng, command = random.Random(3), [str(script), '--ros-args', *PARAMETERS[name]]
    return [
        start_with_signal(command, number, rng.uniform(0.0, LONGEST))
        for number in itertools.islice(itertools.cycle((signal.SIGINT, signal.SIGTERM)), STARTS)
    ]


@pytest.fixture(scope='module')
def early_scripts():
    """Give the module that writes the scripts."""
    path = ROOT / 'tools' / 'early_scripts.py'
    spec = importlib.util.spec_from_file_location('early_scripts', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(early_scripts, folder, name):
    """Return the file of a script."""
    path = folder / name
    path.write_text(early_scripts.early_script(name, f'#!{sys.executable}\nimport re\n'))
    path.chmod(0o755)
    return path


def with_environment(monkeypatch, domain):
    """Run executables in a domain of their own, and with the package of the tests."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    folders = [str(ROOT), os.environ.get('PYTHONPATH', '')]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(filter(None, folders)))


def test_the_machine_is_asked_as_linux_passes_a_first_line(early_scripts, monkeypatch):
    """The env of Ubuntu 26.04 takes ``-S`` and its options as one word only."""
    asked = []
    monkeypatch.setattr(
        early_scripts.subprocess,
        'run',
        lambda words, **_: asked.append(words) or SimpleNamespace(returncode=0),
    )
    early_scripts.can_block.cache_clear()
    assert early_scripts.can_block()
    early_scripts.can_block.cache_clear()
    assert [' '.join(words) for words in asked] == [f'{early_scripts.BLOCKED} true']
    assert len(asked[0]) == 2


@pytest.mark.parametrize('name', ['ik_server', 'ik_benchmark'])
def test_signals_from_the_start_of_the_process_on(early_scripts, tmp_path, monkeypatch, name):
    if not early_scripts.can_block():
        pytest.skip('env has no --block-signal: signals before the first line of a script kill it')
    script = written(early_scripts, tmp_path, name)
    with claimed_domain() as domain:
        with_environment(monkeypatch, domain)
        starts = run_starts(name, script)
    assert [start for start in starts if not start.is_right(name)] == []


def test_a_script_gets_signals_after_its_start(early_scripts, tmp_path, monkeypatch):
    """A blocked signal would also be blocked in the programs that the executable starts."""
    script = written(early_scripts, tmp_path, 'ik_server')
    text = script.read_text().partition('import sys\n')[0]
    script.write_text(f'{text}print(*_signal.pthread_sigmask(_signal.SIG_BLOCK, ()))\n')
    run = subprocess.run([script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ''


def test_the_script_of_the_command_imports_nothing_else(early_scripts, tmp_path):
    """The script of setuptools reads the distribution's metadata first, a tenth of the command's time."""
    script = written(early_scripts, tmp_path, 'ssik')
    environment = os.environ | {'PYTHONPATH': str(ROOT), 'PYTHONPROFILEIMPORTTIME': '1'}
    run = subprocess.run(
        [script, 'robots'], capture_output=True, text=True, check=True, env=environment
    )
    assert 'panda' in run.stdout
    assert 'ssik_ros.cli.command' in run.stderr and 'importlib.metadata' not in run.stderr


def test_scripts_are_those_of_the_executables(early_scripts):
    from ssik_ros.ros.executables import EXECUTABLES

    assert early_scripts.EXIT_CODES.keys() == EXECUTABLES.keys() == PARAMETERS.keys()
    other = '#!/usr/bin/python3\nimport re\n'
    assert early_scripts.early_script('xacro', other) == other
    assert early_scripts.early_script('ik_server', '#!/usr/bin/env python3\n').startswith('#!/usr')
    far = early_scripts.early_script('ik_server', f'#!/{"x" * 120}/python3\n').partition('\n')[0]
    assert far == f'#!/{"x" * 120}/python3 -S'
