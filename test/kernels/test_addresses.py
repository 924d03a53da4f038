"""Arrays made from an address, with numba and without."""

from importlib.util import find_spec
import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json
import numpy as np
from ssik_ros.kernels.geometry import addresses
from ssik_ros.kernels._jit import kernel

@kernel
def scale(address, factors):
    counts = addresses.integers_at(address, 1, 2)
    numbers = addresses.floats_at(address, 3, counts[1])
    for k in range(counts[1]):
        numbers[k] *= factors[k]
    counts[0] += 1
    return counts[1], numbers[0]

block = np.zeros(8)
block[:3].view(np.int64)[:] = 7, 41, 4
block[3:] = 1.0, 2.0, 3.0, 4.0, 5.0
back = scale(block.ctypes.data, np.arange(10.0, 18.0)[::2])
print(json.dumps([*map(float, back), *block[:3].view(np.int64).tolist(), *block[3:].tolist()]))
"""


needs_numba = pytest.mark.skipif(find_spec('numba') is None, reason='numba is not installed')


@pytest.mark.parametrize('disabled', [pytest.param('0', marks=needs_numba), '1'])
def test_numbers_at_an_address_are_read_and_written_in_place(tmp_path, disabled):
    file = tmp_path / 'scaling.py'
    file.write_text(CODE, encoding='utf-8')
    environment = {
        **os.environ,
        'NUMBA_DISABLE_JIT': disabled,
        'SSIK_ROS_JIT': '1',
        'PYTHONPATH': str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    expected = [4.0, 10.0, 7, 42, 4, 10.0, 24.0, 42.0, 64.0, 5.0]
    assert json.loads(done.stdout) == expected
