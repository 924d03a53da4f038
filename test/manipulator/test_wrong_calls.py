"""Whatever arguments a Python program gives: a result, or an error of the package; never an error of the code inside."""

from fractions import Fraction
import json
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros import mechanisms
from ssik_ros.arguments import (
    read_count,
    read_flag,
    read_number,
    read_numbers,
    read_path,
    shown,
)
from ssik_ros.errors import DimensionMismatch, InvalidOption

PROGRAM = Path(__file__).with_name('wrong_calls.py')


def campaign(count, seed=0):
    """Return the faults of a campaign, and its number of calls."""
    pytest.importorskip('zarr')
    command = [sys.executable, '-W', 'ignore', str(PROGRAM), str(count), str(seed)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    *faults, summary = map(json.loads, run.stdout.splitlines())
    return faults, sum(summary.values())


def test_wrong_arguments_are_errors_of_the_package():
    faults, calls = campaign(800)
    assert faults == []
    assert calls > 600


@pytest.mark.slow
def test_twenty_thousand_wrong_arguments_are_errors_of_the_package():
    faults, calls = campaign(20_000, seed=1)
    assert faults == []
    assert calls > 15_000


@pytest.mark.parametrize(
    'value',
    [
        *(10**400, '1', b'1', True, None, [1.0, 2.0], 1j, float('nan'), np.ones(1)),
        *(np.ones((1, 1)), np.True_, np.array('1'), np.array(True), np.complex128(1.0)),
        *(np.timedelta64(1, 's'), bytearray(b'1'), memoryview(b'1'), int),
    ],
)
def test_what_is_no_finite_number_is_named(value):
    with pytest.raises(InvalidOption, match=r'^speed must be'):
        read_number('speed', value)


@pytest.mark.parametrize('value', [1, np.int8(1), np.float32(1.0), np.array(1), Fraction(1)])
def test_every_real_number_is_a_number(value):
    assert type(read_number('speed', value)) is float


@pytest.mark.parametrize(
    ('read', 'value', 'wanted'),
    [
        (read_path, b'arm.urdf', 'the path of a file'),
        (read_path, 'a\0b', 'a path without a zero byte'),
        (read_flag, 'no', 'True or False'),
        (read_flag, np.zeros(2), 'True or False'),
        (read_count, True, 'a whole number'),
        (read_count, 1.0, 'a whole number'),
        (read_count, np.timedelta64(1, 's'), 'a whole number'),
        (read_count, -1, 'at least 0'),
        (read_numbers, [True, False], 'an array of real numbers'),
        (read_numbers, ['1', 2.0], 'an array of real numbers'),
        (read_numbers, bytearray(b'12'), 'an array of real numbers'),
    ],
)
def test_a_value_of_another_kind_is_named(read, value, wanted):
    with pytest.raises(InvalidOption, match=f'^it must be {wanted}'):
        read('it', value)


def test_numbers_are_checked_with_their_shape():
    assert read_numbers('q', [1, 2, 3], (3,)).dtype == np.float64
    with pytest.raises(DimensionMismatch, match=r'q must have the shape \(3,\), not \(2,\)'):
        read_numbers('q', [1, 2], (3,))
    with pytest.raises(InvalidOption, match='q must be an array of real numbers'):
        read_numbers('q', [10**400] * 6)
    with pytest.raises(DimensionMismatch, match='q is no array of numbers'):
        read_numbers('q', [[1.0], [1.0, 2.0]])


def test_any_value_is_shown_on_one_short_line():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, 'x' * 100_000, 10**5000, {k: k for k in range(10_000)}, np.zeros(10**6)):
        assert len(shown(value)) < 300
        assert shown(value).isprintable()


@pytest.mark.parametrize('child', [None, 1, 'link', [mechanisms.Link('l')]])
def test_what_is_no_frame_is_no_child(child):
    frame = mechanisms.Frame('f')
    for call in (frame.add_child, frame.attach_child, frame.detach_child, frame.remove_child):
        with pytest.raises(TypeError, match='child must be a Frame'):
            call(child)
