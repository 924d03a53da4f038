"""Data sets: every sample agrees with the solver, strata hold, and bytes do not depend on the workers."""

import dataclasses
import functools
import hashlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from ssik_ros import Manipulator
from ssik_ros.cli.command import main
from ssik_ros.errors import SsikError
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.dataset import CAUSES, DatasetPlan, make_dataset, SampleMaker
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.measures import limit_margin, manipulability
from ssik_ros.reach.strata import STRATA

pytest.importorskip('zarr')
parquet = pytest.importorskip('pyarrow.parquet')


@functools.cache
def chain_of(name: str) -> SerialChain:
    """Return the chain of an arm of the catalogue."""
    arm = Manipulator.from_prebuilt(name)
    return SerialChain.from_group(arm.robot, arm.group)


def plan_of(name: str = 'irb120', samples: int = 300, **settings) -> DatasetPlan:
    """Return a plan."""
    return DatasetPlan(chain_of(name), name, samples, **settings)


def only(stratum: str) -> tuple[float, ...]:
    """Return the shares of one stratum."""
    return tuple(float(name == stratum) for name in STRATA)


def digest(folder: Path) -> str:
    """Return a checksum of all files of a folder with their names."""
    check = hashlib.sha256()
    for file in sorted(path for path in folder.rglob('*') if path.is_file()):
        check.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return check.hexdigest()


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    """Make units of 128 samples, so that there are several."""
    monkeypatch.setattr('ssik_ros.reach.dataset.UNIT', 128)


@pytest.mark.sampled
@pytest.mark.parametrize('name', ['irb120', 'ur5e'])
def test_samples_are_what_the_solver_says(name):
    samples, arm = SampleMaker(plan_of(name)).make(0), Manipulator.from_prebuilt(name)
    starts = np.concatenate([[0], np.cumsum(samples.counts)])
    # Without a seed joints are at the winding nearest to zero.
    whole = arm.solve_batch(poses_of(samples.poses), np.zeros(arm.dof))
    # The numbers of a pose are rounded, so branches may differ near the border and near singularities.
    is_plain = np.isin(samples.strata, [STRATA.index('postures'), STRATA.index('space')])
    assert is_plain.sum() > 40
    for row in np.flatnonzero(is_plain):
        branches = samples.q[starts[row] : starts[row + 1]]
        assert len(branches) == len(whole[row])
        assert np.allclose(np.sort(branches, axis=0), np.sort(whole[row], axis=0), atol=1e-6)
        assert (samples.causes[row] == 0) == (len(branches) > 0)
    poses = poses_of(samples.poses)[np.repeat(np.arange(len(samples.counts)), samples.counts)]
    assert np.allclose(chain_of(name).moved(samples.q).poses, poses, atol=1e-8)


def poses_of(rows):
    """Return poses (m, 4, 4) of positions and quaternions, by scipy."""
    from scipy.spatial.transform import Rotation

    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, 3], poses[:, :3, :3] = rows[:, :3], Rotation.from_quat(rows[:, 3:]).as_matrix()
    return poses


def test_labels_of_one_pose_differ():
    samples = SampleMaker(plan_of('ur5e', shares=only('postures'))).make(0)
    starts = np.concatenate([[0], np.cumsum(samples.counts)])
    for first, last in itertools.pairwise(starts):
        labels = [tuple(row) for row in samples.labels[first:last].tolist()]
        assert len(set(labels)) == len(labels)


def test_causes_tell_limits_from_reach():
    plan = plan_of('irb6700', samples=128)
    samples = SampleMaker(plan).make(0)
    arm = Manipulator.from_prebuilt('irb6700')
    poses = poses_of(samples.poses)
    seen = set()
    for row in range(len(poses)):
        if samples.strata[row] == STRATA.index('border'):
            continue
        free = arm.solve(poses[row], respect_limits=False)
        cause = CAUSES[samples.causes[row]]
        seen.add(cause)
        assert (cause == 'UNREACHABLE') == (len(free) == 0)
    assert {'NONE', 'UNREACHABLE'} <= seen


def test_causes_of_seven_joints_tell_limits_from_reach():
    samples = SampleMaker(plan_of('panda', samples=128)).make(0)
    arm, seen = Manipulator.from_prebuilt('panda'), set()
    names = np.array(CAUSES)[samples.causes]
    # Near the border postures are hard to meet.
    is_clear = samples.strata != STRATA.index('border')
    assert (names[is_clear] != 'UNKNOWN').all()
    for row in np.flatnonzero(is_clear & (names != 'NONE')).tolist():
        pose = poses_of(samples.poses)[row]
        assert not arm.solve(pose)
        assert (names[row] == 'UNREACHABLE') == (not arm.solve(pose, respect_limits=False))
        seen.add(names[row])
    assert seen == {'LIMITS', 'UNREACHABLE'}


@pytest.mark.slow
def test_strata_are_what_they_promise():
    chain = chain_of('irb120')
    drawn = {name: SampleMaker(plan_of(shares=only(name))).make(0) for name in STRATA}
    best = {}
    for name, samples in drawn.items():
        assert (samples.strata == STRATA.index(name)).all()
        best[name] = np.median(manipulability(chain, samples.q))
    assert (drawn['postures'].counts > 0).all() and (drawn['limits'].counts > 0).all()
    assert best['singular'] < 0.3 * best['postures']
    near = [limit_margin(chain, drawn[name].q).min() for name in ('limits', 'postures')]
    assert near[0] < 0.2
    border, space = drawn['border'].counts > 0, drawn['space'].counts > 0
    assert 0.3 < border.mean() < 0.9 and 0.0 < space.mean() < 1.0


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize('kind', ['parquet', 'zarr'])
def test_the_bytes_do_not_depend_on_who_made_them(kind, tmp_path):
    plan = plan_of(kind=kind)
    for name in ('whole', 'again'):
        make_dataset(plan, tmp_path / name, Workers(0))
    assert digest(tmp_path / 'whole') == digest(tmp_path / 'again')
    other = plan_of(kind=kind, seed=1)
    make_dataset(other, tmp_path / 'other', Workers(0))
    assert digest(tmp_path / 'whole') != digest(tmp_path / 'other')


@pytest.mark.slow
def test_two_workers_write_the_bytes_of_one(tmp_path, monkeypatch):
    monkeypatch.undo()
    plan = plan_of(samples=5000)
    make_dataset(plan, tmp_path / 'one', Workers(0))
    make_dataset(plan, tmp_path / 'two', Workers(2))
    assert digest(tmp_path / 'one') == digest(tmp_path / 'two')


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    plan = plan_of()
    make_dataset(plan, tmp_path / 'whole', Workers(0))
    make_dataset(plan, tmp_path / 'broken', Workers(0))
    (tmp_path / 'broken' / 'part-0000001.parquet').unlink()
    (tmp_path / 'broken' / '.work').mkdir()
    (tmp_path / 'broken' / '.work' / '1-77').write_bytes(b'half')
    counts = make_dataset(plan, tmp_path / 'broken', Workers(0))
    assert counts.sum() == 128
    assert digest(tmp_path / 'whole') == digest(tmp_path / 'broken')


@pytest.mark.sampled
@pytest.mark.parametrize('kind', ['parquet', 'zarr'])
def test_two_runs_at_once_are_refused(kind, tmp_path, monkeypatch):
    monkeypatch.setattr('ssik_ros.reach.dataset.UNIT', 8)
    plan, refused = plan_of(samples=20, kind=kind), []

    def run_again(progress, units):
        with pytest.raises(SsikError, match='Another run works on the data set') as error:
            make_dataset(plan, tmp_path / 'samples', Workers(0))
        refused.append(error)

    make_dataset(plan, tmp_path / 'samples', Workers(0), run_again)
    assert len(refused) > 1
    assert not make_dataset(plan, tmp_path / 'samples', Workers(0)).any()


@pytest.mark.slow
def test_parquet_and_zarr_hold_the_same(tmp_path):
    import zarr

    make_dataset(plan_of(), tmp_path / 'rows', Workers(0))
    make_dataset(plan_of(kind='zarr'), tmp_path / 'arrays', Workers(0))
    files = sorted((tmp_path / 'rows').glob('*.parquet'))
    rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    group = zarr.open_group(str(tmp_path / 'arrays'), mode='r')
    assert len(rows) == group['pose'].shape[0] == 300
    for index in range(0, 300, 7):
        row, count = rows[index], group['count'][index]
        assert np.array_equal(row['pose'], group['pose'][index])
        assert len(row['q']) == count
        if count:
            assert np.array_equal(row['q'], group['q'][index][:count])
            assert np.array_equal(row['label'], group['label'][index][:count])
        assert CAUSES.index(row['cause']) == group['cause'][index]


def test_seven_joints_are_sampled(tmp_path):
    samples = SampleMaker(plan_of('panda', samples=40, shares=only('postures'))).make(0)
    assert (samples.counts > 0).all() and samples.q.shape[1] == 7
    assert np.isfinite(samples.q).all()


WRONG = {
    'no samples': {'samples': 0},
    'shares': {'shares': (0.5, 0.1, 0.1, 0.1, 0.1)},
    'negative share': {'shares': (1.5, -0.5, 0.0, 0.0, 0.0)},
    'format': {'kind': 'csv'},
    'seed': {'seed': -1},
    'too many': {'samples': 10**12},
}


@pytest.mark.parametrize('settings', WRONG.values(), ids=WRONG)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(SsikError):
        plan_of(**settings)


def test_another_data_set_and_other_folders_are_refused(tmp_path):
    make_dataset(plan_of(samples=8), tmp_path / 'samples', Workers(0))
    with pytest.raises(SsikError, match='another place'):
        make_dataset(plan_of(samples=8, seed=3), tmp_path / 'samples', Workers(0))
    (tmp_path / 'own').mkdir()
    (tmp_path / 'own' / 'letter.txt').write_text('mine')
    with pytest.raises(SsikError, match='no data set'):
        make_dataset(plan_of(), tmp_path / 'own', Workers(0))


def test_the_command_writes_a_data_set(tmp_path, capsys):
    words = ['dataset', 'irb120', '-n', '20', '--workers', '0', '-o', str(tmp_path / 'samples')]
    assert main([*words, '--share', 'border=0.5', '--share', 'space=0.5']) == 0
    assert '20 samples of irb120' in capsys.readouterr().out
    assert main([*words, '--share', 'edge=1']) == 2
    assert "'edge'" in capsys.readouterr().err
    assert main([*words[:-2]]) == 2


@pytest.mark.parametrize('limits', [(4.0, 5.0), (-9.0, -4.0), (4.0, np.inf)])
def test_joints_that_cannot_be_within_half_a_turn_of_zero_are_drawn(limits):
    chain = chain_of('irb120')
    lower, upper = chain.lower.copy(), chain.upper.copy()
    lower[5], upper[5] = limits
    chain = dataclasses.replace(chain, lower=lower, upper=upper)
    plan = DatasetPlan(chain, 'irb120', 100, shares=only('postures'))
    samples = SampleMaker(plan).make(0)
    assert (samples.q[:, 5] >= lower[5]).all() and (samples.q[:, 5] <= upper[5]).all()
