"""The same bytes from the native library of each target, on calls that a few requests make."""

import importlib
import json
from pathlib import Path
import shutil
import subprocess
import sys

from test.kernels.fresh_python import run_python

import numpy as np
import pytest

from ssik_ros.kernels.native import sources, targets

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / 'ssik_ros' / 'kernels' / 'native'
LEVELS = ('x86_64_v2', 'x86_64_v3')
CALLED = 'closed_form.branches.branch_block.solve', 'search.plain_request.search_one'
"""Kernels that the requests call."""

REQUESTS = """
import os
import sys
sys.path.insert(0, {tools!r})
import compare_kernels
compare_kernels.record()
from ssik_ros import Manipulator
for name in ('ur5e', 'panda'):
    arm = Manipulator.from_prebuilt(name)
    for offset in (0.1, 0.3, 0.7):
        seed = arm.neutral + offset
        pose = arm.fk(seed)
        arm.solve_q(pose, seed), arm.ik_LM(pose, arm.neutral)
compare_kernels.write(compare_kernels.Path({folder!r}))
"""


def obstacle():
    """Return the reason why this machine cannot compare both levels of x86-64, or None."""
    missing = [level for level in LEVELS if not (NATIVE / f'_kernels.{level}.abi3.so').is_file()]
    if missing:
        return f'the library for {", ".join(missing)} is not built (make same-bytes builds it)'
    if not targets.processor_flags() >= targets.X86_64_V3:
        return 'the processor does not run x86-64-v3'
    return None if shutil.which('cc') else 'no C compiler is installed'


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """Return a folder with calls of kernels that were replayed for both levels of x86-64."""
    reason = obstacle()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp('calls')
    run_python(REQUESTS.format(tools=str(ROOT / 'tools'), folder=str(folder)), ROOT)
    for level in LEVELS:
        done = compare_kernels('replay', str(folder), '--target', level)
        assert done.returncode == 0, done.stderr
    return folder


def compare_kernels(*words):
    """Run tools/compare_kernels.py."""
    command = [sys.executable, str(ROOT / 'tools' / 'compare_kernels.py'), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_both_levels_of_x86_64_give_the_same_bytes(recording):
    done = compare_kernels('compare', str(recording))
    assert done.returncode == 0, done.stdout
    assert 'x86_64_v2 and x86_64_v3: 0 kernels differ' in done.stdout


def test_the_calls_are_those_of_whole_requests(recording):
    replayed = json.loads((recording / 'x86_64_v3.json').read_text())
    for name in CALLED:
        assert len(replayed[name]) >= 2, sorted(replayed)
        assert all(row['result'] != 'failed' for row in replayed[name].values())


@pytest.mark.parametrize('part', ['result', 'memory'])
def test_a_call_with_other_bytes_is_named(recording, tmp_path, part):
    copy = shutil.copytree(recording, tmp_path / 'copy')
    file = copy / 'x86_64_v3.json'
    replayed = json.loads(file.read_text())
    row = replayed[CALLED[1]]['1']
    row[part] = '0' if part == 'result' else ['0' * 16] * len(row['memory'])
    file.write_text(json.dumps(replayed))
    done = compare_kernels('compare', str(copy))
    assert done.returncode == 1
    assert 'search.plain_request.search_one: 1 calls, first 1' in done.stdout


def test_signs_of_nan_are_no_difference_and_integers_are(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / 'tools'))
    clear = importlib.import_module('compare_kernels').without_nan_signs
    minus, plus = (np.array([np.copysign(np.nan, sign), 1.0]).tobytes() for sign in (-1.0, 1.0))
    assert minus != plus and clear(minus) == clear(plus)
    integers = np.array([-1, -2, 2**62]).tobytes() + b'rest'
    assert clear(integers) == integers


def test_the_kernels_that_the_requests_call_are_listed():
    listed = sources.SIGNATURES.read_text(encoding='utf-8')
    assert all(f'\n{name}(' in listed for name in CALLED)
