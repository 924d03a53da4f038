"""The comparison with the last release names the kernels that have become slower, on any machine."""

import json

import pytest

from bench import check


def test_a_kernel_that_takes_much_longer_is_named():
    before = {'a': 10.0, 'b': 10.0}
    lines, is_fine = check.compare({'a': 12.0, 'b': 9.0}, before)
    assert is_fine
    assert [line[-1] for line in lines] == ['', '']
    lines, is_fine = check.compare({'a': 14.0, 'b': 9.0}, before)
    assert not is_fine
    assert [line[-1] for line in lines] == ['SLOWER', '']


def test_a_kernel_that_the_release_has_not_is_new():
    lines, is_fine = check.compare({'c': 3.0}, {'a': 10.0})
    assert is_fine
    assert lines == [['c', '3.00', '-', '-', 'new']]


def test_ratios_do_not_depend_on_the_machine(monkeypatch):
    def one_pose_after_another():
        pass

    for speed in (1.0, 7.0):
        monkeypatch.setattr(check, 'calibrate', lambda _, unit=speed: unit)
        monkeypatch.setattr(
            check, 'timed_call', lambda run, unit=speed: (run(), 0, 1e6 * unit * check.POSES)
        )
        assert check.measure({'a': one_pose_after_another}, 3) == {'a': pytest.approx(1e3)}


def test_the_release_has_ratios_of_every_kernel_and_arm(tmp_path):
    stored = check.load_ratios(check.RATIOS)
    newest = stored[list(stored)[-1]]
    for arm in ('ur5e', 'panda', 'jaco2'):
        kernels = check.rounds_of(check.find_arm(arm, tmp_path), arm)
        assert set(kernels) <= set(newest)
    assert all(ratio > 0.0 for ratios in stored.values() for ratio in ratios.values())


def test_a_run_fails_when_a_kernel_is_slower_than_in_the_release(tmp_path, monkeypatch):
    ratios = tmp_path / 'ratios.json'
    monkeypatch.setattr(check, 'rounds_of', lambda arm, label: {})
    monkeypatch.setattr(check.pinning, 'pin', lambda cpu: None)
    words = ['--arms', 'ur5e', '--ratios', str(ratios)]
    monkeypatch.setattr(check, 'measure', lambda kernels, repeats: {'a': 2.0})
    check.main([*words, '--store', '9.9.9'])
    assert json.loads(ratios.read_text()) == {'9.9.9': {'a': 2.0}}
    check.main(words)
    monkeypatch.setattr(check, 'measure', lambda kernels, repeats: {'a': 3.0})
    with pytest.raises(SystemExit, match='slower'):
        check.main(words)
