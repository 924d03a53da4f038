"""Whatever arguments a Python program gives: a result, or an error of the package; never an error of the code inside."""

from fractions import Fraction
import json
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros import Manipulator, mechanisms
from ssik_ros.arguments import (
    read_count,
    read_flag,
    read_number,
    read_numbers,
    read_path,
    shown,
)
from ssik_ros.errors import DimensionMismatch, InvalidOption
from ssik_ros.paths.requests import PathPenalties
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.reach.placement import BaseSpace, PlaceTasks
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions
from ssik_ros.tasks import Environment
from ssik_ros.tasks.compat import registry
from ssik_ros.tasks.joints import Dependency

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


def test_a_count_has_a_least_and_a_largest_value():
    assert [read_count('it', number, 2, 4) for number in (2, 3, 4)] == [2, 3, 4]
    with pytest.raises(InvalidOption, match=r'^it must be at least 2, not 1'):
        read_count('it', 1, 2, 4)
    with pytest.raises(InvalidOption, match=r'^it must be at most 4, not 5'):
        read_count('it', 5, 2, 4)


@pytest.fixture(scope='module')
def arm():
    return Manipulator.from_prebuilt('panda')


POSTURE = np.array([0.2, -0.4, 0.3, -2.0, 0.1, 1.8, 0.5])
TEXTS = ['1'] * 7
OTHER_KINDS = {
    'free_axis of texts': lambda arm: arm.self_motions(arm.fk(POSTURE), free_axis=['0', '0', '1']),
    'free_axis of truth values': lambda arm: arm.self_motions(
        arm.fk(POSTURE), free_axis=[False, False, True]
    ),
    'seed of a curve': lambda arm: arm.self_motions(arm.fk(POSTURE)).nearest(TEXTS),
    'arc length': lambda arm: arm.self_motions(arm.fk(POSTURE))[0](['0']),
    'spacing': lambda arm: arm.self_motions(arm.fk(POSTURE)).sample('a'),
    'posture of an objective': lambda arm: arm.self_motions(arm.fk(POSTURE)).best(
        'distance', posture=TEXTS
    ),
    'objective': lambda arm: arm.self_motions(arm.fk(POSTURE)).best(np.array([1.0, 2.0])),
    'seed of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE), seed=np.array(TEXTS))
    ),
    'target of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE).astype(str).tolist(), seed=POSTURE)
    ),
    'tolerance of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE), seed=POSTURE, tolerance='1e-3')
    ),
    'timeout of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE), seed=POSTURE, timeout='1')
    ),
    'limit of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE), seed=POSTURE, lower=['-1'] * 7)
    ),
    'locked of a request': lambda arm: arm.solver().solve(
        SolveRequest(arm.fk(POSTURE), seed=POSTURE, locked={'panda_joint1': '0.2'})
    ),
    'max_iterations of a mechanism': lambda arm: ClosedChainOptions(max_iterations=True),
    'escapes of a mechanism': lambda arm: ClosedChainOptions(escapes=True),
    'penalty': lambda arm: arm.plan([arm.fk(POSTURE)] * 2, penalties=PathPenalties(limits='1')),
    'locked of a path': lambda arm: arm.plan(
        [arm.fk(POSTURE)] * 2, locked={'panda_joint1': '0.2'}
    ),
    'switch of a path': lambda arm: arm.plan([arm.fk(POSTURE)] * 2, is_closed='no'),
    'passes': lambda arm: arm.plan([arm.fk(POSTURE)] * 2, passes=['1']),
    'start by name': lambda arm: arm.plan(
        [arm.fk(POSTURE)] * 2, start=dict(zip(arm.group.joint_names, TEXTS, strict=True))
    ),
    'max_iterations of a task set': lambda arm: Environment().add_task_set(max_iterations=1.5),
    'switch of a task set': lambda arm: Environment().add_task_set(enabled='no'),
    'pose of an object': lambda arm: Environment().add_dummy(pose=TEXTS),
    'text that names no function': lambda arm: registry.read_function('math:pi'),
    'dependency': lambda arm: Dependency(None, function=str).value(
        Environment().add_joint('revolute'), 1.0
    ),
    'ranges of a placement': lambda arm: BaseSpace.box(['0'] * 6, ['1'] * 6),
    'weights of a placement': lambda arm: PlaceTasks.exact([np.eye(4)], ['1']),
}


@pytest.mark.parametrize('name', OTHER_KINDS)
def test_text_and_truth_values_are_no_numbers_anywhere(arm, name):
    with pytest.raises(InvalidOption):
        OTHER_KINDS[name](arm)


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
