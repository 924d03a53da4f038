"""The fast clock of ``make test CLOCK_FACTOR=4``: Python and kernels read it, and waits end by it."""

import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
FACTOR = 4
PROGRAM = """
import json, threading, time
import numpy as np
from ssik_ros.kernels.search import clock

COARSE = 6  # CLOCK_MONOTONIC_COARSE of Linux: the same time, in ticks, and not faster; idle machines skip ticks

def now():
    return time.clock_gettime_ns(COARSE)

tick = int(100 * 1e9 * time.clock_getres(COARSE))
python = [now(), time.monotonic_ns(), now() + tick]
kernel = [time.monotonic_ns(), int(clock.monotonic_ns(np.zeros(2, dtype=np.int64))), time.monotonic_ns()]
lock = threading.Lock()
lock.acquire()
waits = []
for wait in (time.sleep, threading.Event().wait, lambda seconds: lock.acquire(timeout=seconds)):
    begin = time.monotonic()
    wait(0.2)
    waits.append(time.monotonic() - begin)
print(json.dumps([python, kernel, waits]))
"""


@pytest.mark.skipif(
    sys.platform != 'linux' or shutil.which('cc') is None, reason='needs Linux and a C compiler'
)
def test_python_and_kernels_read_the_fast_clock_and_waits_end_by_it(tmp_path):
    library = tmp_path / 'fast_clock.so'
    source = ROOT / 'tools' / 'fast_clock.c'
    command = ['cc', '-Wall', '-Werror', '-O2', '-shared', '-fPIC', '-o', library, source]
    subprocess.run([*command, '-ldl', '-pthread'], check=True)
    settings = {'SSIK_ROS_CLOCK_FACTOR': str(FACTOR), 'LD_PRELOAD': str(library)}
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert done.returncode == 0, done.stderr
    python, kernel, waits = json.loads(done.stdout)
    assert FACTOR * python[0] <= python[1] <= FACTOR * python[2]
    assert kernel[0] <= kernel[1] <= kernel[2]
    assert min(waits) >= 0.2
