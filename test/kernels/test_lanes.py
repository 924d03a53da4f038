"""Eight numbers at a time: the same as one by one, compiled or not."""

import json
import operator
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros.kernels._jit import IS_PLAIN, JIT_DISABLED, kernel
from ssik_ros.kernels.geometry import lanes, so3

ROOT = Path(__file__).resolve().parents[2]
PI = np.pi

pytestmark = pytest.mark.skipif(
    JIT_DISABLED and not IS_PLAIN,
    reason='numba compiles these kernels: test_by_numba.py runs this file',
)


@kernel
def write_functions(out, y, x):
    """Write the results of the functions for eight pairs of numbers, one row for each function."""
    a, b = lanes.load(y, 0), lanes.load(x, 0)
    sine, cosine = lanes.sine_cosine(a)
    lanes.store(out, 0, sine)
    lanes.store(out, 8, cosine)
    lanes.store(out, 16, lanes.arc_tangent(a, b))
    lanes.store(out, 24, lanes.wrap_to_pi(a))
    lanes.store(out, 32, lanes.lesser(a, b))
    lanes.store(out, 40, lanes.greater(a, b))
    lanes.store(out, 48, lanes.floor(a))
    lanes.store(out, 56, lanes.ceil(a))
    lanes.store(out, 64, lanes.absolute(a))
    lanes.store(out, 72, lanes.root(lanes.absolute(b)))
    lanes.store(out, 80, lanes.select(a < b, 1.5, b))
    lanes.store(out, 88, lanes.select((a <= b) & (b > 0.5) | (a >= 2.0), a, -1.0))
    lanes.store(out, 96, (a + b) * 0.3 - 2.0 / (b - 1.0) * -a)
    lanes.store(out, 104, (1.0 - a) / lanes.spread(3.0) + lanes.places())


@kernel
def write_halves(out, y, x):
    """Write the results of the functions for eight pairs of numbers, four at a time, into the rows of eight."""
    for first in range(0, lanes.LANES, lanes.HALF_LANES):
        a, b = lanes.load_half(y, first), lanes.load_half(x, first)
        sine, cosine = lanes.sine_cosine(a)
        lanes.store(out, first, sine)
        lanes.store(out, 8 + first, cosine)
        lanes.store(out, 16 + first, lanes.arc_tangent(a, b))
        lanes.store(out, 24 + first, lanes.wrap_to_pi(a))
        lanes.store(out, 32 + first, lanes.lesser(a, b))
        lanes.store(out, 40 + first, lanes.greater(a, b))
        lanes.store(out, 48 + first, lanes.floor(a))
        lanes.store(out, 56 + first, lanes.ceil(a))
        lanes.store(out, 64 + first, lanes.absolute(a))
        lanes.store(out, 72 + first, lanes.root(lanes.absolute(b)))
        lanes.store(out, 80 + first, lanes.select(a < b, 1.5, b))
        lanes.store(out, 88 + first, lanes.select((a <= b) & (b > 0.5) | (a >= 2.0), a, -1.0))
        lanes.store(out, 96 + first, (a + b) * 0.3 - 2.0 / (b - 1.0) * -a)
        places = lanes.places_half() + first
        lanes.store(out, 104 + first, (1.0 - a) / lanes.spread_half(3.0) + places)


@kernel
def write_pairs(out, y, bits):
    """Write four numbers twice each, and which of them are positive."""
    a = lanes.load_half(y, 0)
    lanes.store(out, 0, lanes.in_pairs(a))
    lanes.store(out, 8, lanes.in_pairs(lanes.select(a > 0.0, 1.0, -1.0)))
    bits[0] = lanes.bits_of(a > 0.0)


@kernel
def write_bits(out, a, b, start):
    """Write which of eight numbers from ``start`` on are smaller, larger or the same."""
    x, y = lanes.load(a, start), lanes.load(b, start)
    out[0], out[1], out[2] = lanes.bits_of(x < y), lanes.bits_of(x > y), lanes.bits_of(x == y)


def functions_of(y, x, write=write_functions):
    """Return the rows (14, 8)."""
    out = np.zeros(112)
    write(out, y, x)
    return out.reshape(14, 8)


def pairs_of(y):
    """Return four numbers of a row twice each, their signs twice each, and the bits of those that are positive."""
    out, bits = np.zeros(16), np.zeros(1, dtype=np.int64)
    write_pairs(out, y, bits)
    return [*out, float(bits[0])]


def pairs():
    """Return many groups of eight numbers y, and of x."""
    rng = np.random.default_rng(1)
    y = rng.uniform(-9.0, 9.0, (100, 8)) * 10.0 ** rng.uniform(-9, 2, (100, 8))
    x = rng.uniform(-9.0, 9.0, (100, 8)) * 10.0 ** rng.uniform(-9, 2, (100, 8))
    y[:6] = np.arange(-24, 24).reshape(6, 8) * (PI / 4)
    x[:6] = y[5::-1]
    return list(zip(y, x, strict=True))


def test_sine_and_cosine_and_wrapping_are_those_of_one_number():
    for y, x in pairs():
        rows = functions_of(y, x)
        single = np.array([so3.sine_cosine(value) for value in y])
        assert (rows[0] == single[:, 0]).all()
        assert (rows[1] == single[:, 1]).all()
        assert (rows[3] == [so3.wrap_to_pi(value) for value in y]).all()


def test_four_at_a_time_are_the_same_as_eight():
    for y, x in pairs():
        halves = functions_of(y, x, write_halves)
        assert halves.tobytes() == functions_of(y, x).tobytes()


def test_each_of_four_comes_into_two_neighbouring_lanes():
    for y, _ in pairs():
        doubled, signs, bits = np.split(np.array(pairs_of(y)), [8, 16])
        assert (doubled == np.repeat(y[:4], 2)).all()
        assert (signs == np.repeat(np.where(y[:4] > 0.0, 1.0, -1.0), 2)).all()
        assert bits[0] == sum(1 << i for i in np.flatnonzero(y[:4] > 0.0))


def test_arc_tangents_are_right_to_two_units_in_the_last_place():
    for y, x in pairs():
        wanted = np.arctan2(y, x)
        assert (np.abs(functions_of(y, x)[2] - wanted) <= 2.0 * np.spacing(np.abs(wanted))).all()


def test_arc_tangents_on_the_axes_and_diagonals_are_exact():
    x = np.array([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, -1.0, -1.0])
    y = np.array([0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, -1.0])
    wanted = np.array([0.0, 0.0, 0.5, 1.0, -0.5, 0.25, 0.75, -0.75]) * PI
    assert (functions_of(y, x)[2] == wanted).all()


def test_operators_and_choices_are_those_of_numpy():
    for y, x in pairs():
        rows = functions_of(y, x)
        assert (rows[4:6] == [np.minimum(y, x), np.maximum(y, x)]).all()
        assert (rows[6:10] == [np.floor(y), np.ceil(y), np.abs(y), np.sqrt(np.abs(x))]).all()
        assert (rows[10] == np.where(y < x, 1.5, x)).all()
        assert (rows[11] == np.where((y <= x) & (x > 0.5) | (y >= 2.0), y, -1.0)).all()
        assert (rows[12] == (y + x) * 0.3 - 2.0 / (x - 1.0) * -y).all()
        assert (rows[13] == (1.0 - y) / 3.0 + np.arange(8)).all()


@pytest.mark.parametrize('start', [0, 1, 3, 8])
def test_bits_of_a_mask_are_those_of_its_lanes_wherever_they_begin(start):
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 3, 16) + 0.0, rng.integers(0, 3, 16) + 0.0
    out = np.zeros(3, dtype=np.int64)
    write_bits(out, a, b, start)
    part = slice(start, start + 8)
    for bits, compare in zip(out, (operator.lt, operator.gt, operator.eq), strict=True):
        assert bits == sum(1 << i for i in np.flatnonzero(compare(a[part], b[part])))


def test_what_is_not_a_number_is_neither_smaller_nor_larger_nor_the_same():
    out, nothing = np.ones(3, dtype=np.int64), np.full(8, np.nan)
    write_bits(out, nothing, nothing, 0)
    assert (out == 0).all()
    rows = functions_of(nothing, np.ones(8))
    assert (rows[4:6] == 1.0).all()


CODE = """
import json
from test.kernels.test_lanes import functions_of, pairs, pairs_of, write_halves
rows = [
    [*functions_of(y, x).ravel(), *functions_of(y, x, write_halves).ravel(), *pairs_of(y)]
    for y, x in pairs()[:20]
]
print(json.dumps([[float(value).hex() for value in row] for row in rows]))
"""


def test_interpreted_and_compiled_lanes_agree_to_the_bit():
    outputs = []
    for disabled in '01':
        environment = {**os.environ, 'NUMBA_DISABLE_JIT': disabled, 'SSIK_ROS_JIT': '1'}
        done = subprocess.run(
            [sys.executable, '-c', CODE],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(json.loads(done.stdout))
    assert outputs[0] == outputs[1]
