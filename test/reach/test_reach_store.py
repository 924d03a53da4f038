"""A map on the disk: the same bytes after any interruption, and clear errors."""

import fcntl
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

from test.reach.reach_maps import bytes_below, chain_of, plan_of, small_grid

import numpy as np
import pytest
import zarr

from ssik_ros.errors import InvalidOption, SsikError
from ssik_ros.reach import CellStatus, ReachMap
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.mapping import make_map, make_plan, MapJob
from ssik_ros.reach.storage.arrays import encode
from ssik_ros.reach.storage.files import held_by_one_run, StoreError, WORK
from ssik_ros.reach.store import FILLS, KEY, MapStore

ALONE = Workers(0)


@pytest.fixture(scope='module')
def chain():
    """Return the chain of an arm with a closed form."""
    return chain_of('ur5e')


@pytest.fixture(scope='module')
def whole(chain, tmp_path_factory):
    """Return the folder of a map that was made without interruption."""
    folder = tmp_path_factory.mktemp('maps') / 'whole.zarr'
    make_map(plan_of(chain), folder, ALONE)
    return folder


def test_a_chunk_has_the_bytes_that_zarr_writes(tmp_path):
    rng = np.random.default_rng(0)
    for name, (kind, fill) in FILLS.items():
        values = rng.integers(0, 4, (3, 4, 5, 6)).astype(kind)
        array = zarr.create_array(
            str(tmp_path / name),
            shape=values.shape,
            chunks=values.shape,
            dtype=kind,
            fill_value=fill,
            compressors=zarr.codecs.ZstdCodec(level=3),
        )
        array[...] = values
        written = (tmp_path / name).joinpath('c', '0', '0', '0', '0').read_bytes()
        assert encode(values.ravel(), np.dtype(kind)) == written


def test_zarr_reads_what_was_decided(whole):
    reach_map = ReachMap.open(whole)
    status = zarr.open_group(str(whole), mode='r')['status'][...]
    assert status.shape == reach_map.grid.shape
    counts = np.bincount(status.ravel(), minlength=len(CellStatus))
    assert reach_map.is_finished
    assert reach_map.counts['REACHABLE'] == counts[CellStatus.REACHABLE] > 0
    assert reach_map.counts['OUT_OF_REACH'] == counts[CellStatus.OUT_OF_REACH] > 0
    assert reach_map.counts['UNKNOWN'] == 0


def test_nothing_of_the_run_is_left(whole):
    assert not (whole / WORK).exists()
    assert not list(whole.parent.glob('.*draft'))


class Stopped(Exception):
    """Ends a run on purpose."""


def test_a_run_that_is_stopped_anywhere_goes_on_to_the_same_bytes(chain, whole, tmp_path):
    folder, units = tmp_path / 'map.zarr', len(list(small_grid().units()))
    runs = 0
    while runs < units:
        runs += 1
        left = []

        def stop(progress, units, left=left):
            left.append(units)
            if progress.units == 3:
                raise Stopped

        try:
            make_map(plan_of(chain), folder, ALONE, stop)
            break
        except Stopped:
            pass
    assert runs == -(-units // 3)
    assert bytes_below(folder) == bytes_below(whole)


def test_halves_of_chunks_are_written_again(chain, whole, tmp_path):
    folder = tmp_path / 'map.zarr'
    shutil.copytree(whole, folder)
    MapStore(folder)
    content = json.loads((folder / 'zarr.json').read_text())
    del content['attributes']['ssik_reach']['counts']
    (folder / 'zarr.json').write_text(json.dumps(content))
    files = sorted((folder / 'status' / 'c').rglob('*'))
    files = [path for path in files if path.is_file()]
    files[0].unlink()
    files[1].write_bytes(b'')
    (folder / WORK).mkdir()
    (folder / WORK / 'status-3-1').write_bytes(b'half')
    make_map(plan_of(chain), folder, ALONE)
    assert bytes_below(folder) == bytes_below(whole)


def test_a_finished_map_is_left_alone(chain, whole):
    times = {path: path.stat().st_mtime_ns for path in whole.rglob('*')}
    counts = make_map(plan_of(chain), whole, ALONE)
    assert counts[CellStatus.REACHABLE] > 0
    assert times == {path: path.stat().st_mtime_ns for path in whole.rglob('*')}


def test_another_robot_is_refused(chain, whole):
    from dataclasses import replace

    changed = replace(chain, upper=chain.upper - 1e-3)
    with pytest.raises(InvalidOption, match=r'robot has changed [(]its geometry or its limits'):
        make_map(plan_of(changed), whole, ALONE)


def test_other_cells_and_other_quantities_are_refused(chain, whole):
    with pytest.raises(InvalidOption, match='other cells'):
        make_map(plan_of(chain, small_grid(step=0.5)), whole, ALONE)
    with pytest.raises(InvalidOption, match='other arrays'):
        make_map(plan_of(chain, quantities=('limit_margin',)), whole, ALONE)


def test_a_second_run_is_told_that_the_map_is_held(chain, tmp_path):
    folder = tmp_path / 'map.zarr'
    store = MapStore(folder)
    store.create(plan_of(chain))
    (folder / WORK).mkdir()
    with (folder / WORK / 'lock').open('w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match='Another run works on the map'):
            make_map(plan_of(chain), folder, ALONE)
    make_map(plan_of(chain), folder, ALONE)


def test_a_full_disk_says_what_to_do(chain, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    folder = tmp_path / 'map.zarr'
    store = MapStore(folder)
    store.create(plan_of(chain))
    monkeypatch.setattr(Path, 'write_bytes', full)
    with pytest.raises(StoreError, match=r'disk of .* is full; make room'):
        make_map(plan_of(chain), folder, ALONE)
    monkeypatch.undo()
    make_map(plan_of(chain), folder, ALONE)


@pytest.mark.parametrize(
    'content', [None, '', '{}', '[1]', '{"attributes": 3}', '{"attributes": {"ssik_reach": {}}}']
)
def test_a_folder_that_is_no_map_is_named(chain, tmp_path, content):
    folder = tmp_path / 'map.zarr'
    folder.mkdir()
    if content is not None:
        (folder / 'zarr.json').write_text(content)
    with pytest.raises(StoreError, match='no whole reach map'):
        ReachMap.open(folder)
    with pytest.raises(StoreError, match='no whole reach map'):
        make_map(plan_of(chain), folder, ALONE)


def test_a_map_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match='There is no map'):
        ReachMap.open(tmp_path / 'none.zarr')


def test_a_worker_that_does_not_see_the_map_says_so(chain, tmp_path):
    store = MapStore(tmp_path / 'map.zarr')
    store.create(plan_of(chain))
    job = MapJob(store)
    store.path.rename(tmp_path / 'elsewhere.zarr')
    with pytest.raises(StoreError, match='file system that they share'):
        job.run(0)
    store.create(plan_of(chain, small_grid(0.5)))
    with pytest.raises(StoreError, match='was replaced'):
        job.run(0)


def test_a_map_that_nobody_could_make_is_refused_with_its_estimate(chain):
    region = small_grid().region
    from ssik_ros.reach.grid import Grid
    from ssik_ros.reach.orientations import spread_orientations

    huge = Grid(region, 2e-5, spread_orientations(1000))
    with pytest.raises(SsikError, match=r'too large: 5\.24e\+17 cells .* years .* GB'):
        make_plan(chain, 'arm', huge)


def test_a_quantity_that_does_not_exist_is_refused(chain):
    with pytest.raises(InvalidOption, match='manipulability'):
        plan_of(chain, quantities=('manipulabilty',))


def test_a_map_with_links_inside_is_not_gone_on_with(tmp_path):
    """A link in place of the lock emptied the file that it led to."""
    plan, folder = plan_of(chain_of('ur5e')), tmp_path / 'map.zarr'
    precious = tmp_path / 'precious.txt'
    precious.write_text('kept')
    MapStore(folder).create(plan)
    (folder / WORK).mkdir()
    (folder / WORK / 'lock').symlink_to(precious)
    with pytest.raises(StoreError, match='symbolic link'):
        make_map(plan, folder, Workers(0))
    with pytest.raises(StoreError, match='cannot be written'), held_by_one_run(folder, 'map'):
        pass
    assert precious.read_text() == 'kept'


def test_a_robot_that_does_not_have_its_checksum_is_refused(tmp_path):
    folder = tmp_path / 'map.zarr'
    MapStore(folder).create(plan_of(chain_of('ur5e')))
    head = folder / 'zarr.json'
    content = json.loads(head.read_text())
    content['attributes'][KEY]['robot']['points'][1][0] += 0.01
    head.write_text(json.dumps(content))
    with pytest.raises(StoreError, match='checksum'):
        MapStore(folder).read_chain()


@pytest.mark.parametrize('name', ['status', 'orientations'])
@pytest.mark.parametrize('shape', [[10**6, 10**6, 10**6, 4], [-1], 'x', None])
def test_an_array_of_another_shape_is_one_line_and_no_memory(tmp_path, name, shape):
    folder = tmp_path / 'map.zarr'
    MapStore(folder).create(plan_of(chain_of('ur5e')))
    head = folder / name / 'zarr.json'
    content = json.loads(head.read_text())
    content['shape'] = shape
    head.write_text(json.dumps(content))
    with pytest.raises(StoreError) as caught:
        ReachMap.open(folder)
    assert '\n' not in str(caught.value)


def test_a_chunk_that_claims_too_much_is_not_unpacked(tmp_path):
    plan, folder = plan_of(chain_of('ur5e')), tmp_path / 'map.zarr'
    make_map(plan, folder, Workers(0))
    chunk = next(path for path in folder.glob('status/c/**/*') if path.is_file())
    chunk.write_bytes(encode(np.zeros(10**7), np.dtype('uint8')))
    unit = next(plan.cells.units())
    with pytest.raises(StoreError, match='cannot be read'):
        for unit in plan.cells.units():
            MapStore(folder).read_unit('status', plan.cells, unit)


@pytest.mark.slow
def test_of_three_writers_one_wins_and_two_are_told(tmp_path):
    folder = tmp_path / 'map.zarr'
    program = (
        'import sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n'
        'from test.reach.reach_maps import chain_of, plan_of\n'
        'from ssik_ros.reach.storage.files import held_by_one_run, StoreError\n'
        'from ssik_ros.reach.store import MapStore\n'
        'path = Path(sys.argv[1]); MapStore(path).create(plan_of(chain_of("ur5e")))\n'
        'try:\n with held_by_one_run(path, "map"): print("won", flush=True); sys.stdin.read()\n'
        'except StoreError as error: print(error, flush=True)\n'
    )
    command = [sys.executable, '-c', program, str(folder), *sys.path]
    runs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    lines = [run.stdout.readline() for run in runs]
    for run in runs:
        run.communicate(timeout=60)
        assert run.returncode == 0
    assert lines.count('won\n') == 1
    assert sum('Another run works on the map' in line for line in lines) == 2
