"""Units of work in batches: their number and cost, and a map that does not depend on them."""

import contextlib
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

from test.reach.reach_maps import bytes_below, chain_of, plan_of, small_grid

import numpy as np
import pytest

from ssik_ros.errors import InvalidOption, SolverError
from ssik_ros.reach import engine
from ssik_ros.reach.engine import run_units, Workers
from ssik_ros.reach.grid import Grid, GridRegion, PoseList, UNIT_CELLS
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import spread_orientations

distributed = pytest.importorskip('distributed')


class UnitClock(threading.local):
    """A clock for each thread, which the units of the thread move."""

    now = 0.0


CLOCK = UnitClock()


class Marks:
    """Units that take time by the clock of the tests, and say which they are."""

    def __init__(self, seconds=1e-5):
        """Take the time of a unit [s]."""
        self.seconds = seconds

    def run(self, unit):
        """Return a one at the place of the unit."""
        CLOCK.now += self.seconds
        counts = np.zeros(3000, dtype=np.int64)
        counts[unit] = 1
        return counts


@pytest.fixture
def threads(monkeypatch):
    """Do the work in threads of this process: nothing has to start."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        connected = contextlib.nullcontext(client)
        monkeypatch.setattr(distributed, 'Client', lambda scheduler, timeout: connected)
        clocks = SimpleNamespace(monotonic=lambda: CLOCK.now, process_time=lambda: CLOCK.now)
        monkeypatch.setattr(engine, 'time', clocks)
        yield client


def run(job, count, left):
    """Return the sum of the counts, and how many units each batch had."""
    sizes, done = [], [0]

    def report(progress):
        sizes.append(progress.units - done[0])
        done[0] = progress.units

    total = run_units(job, iter(range(count)), Workers(scheduler='threads'), report, left)
    return total, sizes


@pytest.mark.parametrize('is_known', [True, False])
def test_short_units_go_in_batches_and_each_is_done_once(threads, is_known):
    count = 3000
    total, sizes = run(Marks(), count, count if is_known else None)
    assert (total == 1).all() and sum(sizes) == count
    assert len(sizes) < count / 10


def test_long_units_go_one_by_one(threads):
    total, sizes = run(Marks(0.6), 10, 10)
    assert total.sum() == 10 and max(sizes) == 1


def test_batches_take_about_as_long_as_they_shall(threads, monkeypatch):
    monkeypatch.setattr(engine, 'BATCH', 0.1)
    _, sizes = run(Marks(0.01), 300, None)
    assert 9 <= max(sizes) <= 11 and len(sizes) < 60


def test_the_last_batches_are_small_so_that_all_workers_end_together(threads):
    _, sizes = run(Marks(0.0002), 3000, 3000)
    assert max(sizes) >= 20
    assert max(sizes[-3:]) <= 2


def test_the_units_of_a_ball_are_those_that_have_cells():
    grid = Grid(GridRegion.sphere((0.1, 0.2, 0.3), 1.0), 0.11, spread_orientations(4), 64)
    touched = [unit for unit in range(grid.unit_count) if any(True for _ in grid.pieces(unit))]
    some = [unit for unit in touched if sum(len(p.places) for p in grid.pieces(unit))]
    assert list(grid.units()) == some
    assert 0 < len(some) < grid.unit_count


def test_no_map_has_more_tasks_than_a_scheduler_can_take():
    turns = spread_orientations(4096)
    region = GridRegion.sphere((0.0, 0.0, 0.0), 1.0)
    for step in (0.1, 0.01, 0.0025, 0.002):
        grid = Grid(region, step, turns, UNIT_CELLS)
        assert grid.unit_count <= 1_000_000
    assert grid.count > 1e12
    assert PoseList(np.zeros((10, 7))).unit_count == 1


@pytest.mark.slow
def test_the_largest_units_of_the_largest_maps_fit_into_the_memory_of_a_worker(tmp_path):
    """A unit as large as units get, in a process of its own, below 500 MiB."""
    program = """
import resource, sys
from pathlib import Path
import numpy as np
sys.path[:0] = sys.argv[2:]
from test.reach.reach_maps import chain_of
from ssik_ros.reach import grid
from ssik_ros.reach.engine import run_batch
from ssik_ros.reach.mapping import make_plan, MapJob
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.reach.storage.files import held_by_one_run
from ssik_ros.reach.store import MapStore
region = grid.GridRegion('box', (0.0, 0.0, 0.0), (0.8, 0.8, 0.8))
cells = grid.Grid(region, 0.08, spread_orientations(4096), grid.LARGEST_UNIT)
assert np.prod(cells.chunks) > 0.9 * grid.LARGEST_UNIT, cells.chunks
store = MapStore(Path(sys.argv[1]))
store.create(make_plan(chain_of('ur5e'), 'ur5e', cells))
with held_by_one_run(store.path, 'map'):
    report = run_batch(MapJob(store), (0,))
print(report.memory / 2**20)
"""
    command = [sys.executable, '-c', program, str(tmp_path / 'map.zarr'), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 500.0


def test_a_script_needs_no_main_guard_for_worker_processes(tmp_path):
    script = tmp_path / 'script.py'
    script.write_text(
        'import sys\nfrom pathlib import Path\nsys.path[:0] = sys.argv[2:]\n'
        'from test.reach.reach_maps import chain_of, plan_of\n'
        'from ssik_ros.reach.engine import Workers\nfrom ssik_ros.reach.mapping import make_map\n'
        "make_map(plan_of(chain_of('ur5e')), Path(sys.argv[1]), Workers(2))\n"
    )
    command = [sys.executable, str(script), str(tmp_path / 'map.zarr'), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_worker_process_that_cannot_start_is_one_error(monkeypatch):
    monkeypatch.setattr(engine, 'WORKER', 'import sys; sys.exit(3)')
    with pytest.raises(SolverError, match='ended with code 3') as info:
        run_units(Marks(), iter(range(10)), Workers(2))
    assert '\n' not in str(info.value)


@pytest.mark.slow
def test_an_error_of_a_unit_reaches_the_caller_through_a_worker_process():
    with pytest.raises(IndexError, match='out of bounds'):
        run_units(Marks(), iter([1, 4000]), Workers(2))


def test_a_chunk_that_cannot_be_read_is_named(tmp_path):
    plan, folder = plan_of(chain_of('ur5e'), small_grid()), tmp_path / 'map.zarr'

    def spoil(progress, units):
        chunk = next(path for path in folder.glob('status/c/**/*') if path.is_file())
        chunk.write_bytes(b'no zstd')
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_map(plan, folder, Workers(0), spoil)
    with pytest.raises(OSError, match=r'cannot be read \(status\): chunk 0/0/0/0: it does'):
        make_map(plan, folder, Workers(0))
    assert os.listdir(folder)


def test_a_map_is_not_finished_without_a_unit_that_a_worker_has_written_elsewhere(tmp_path):
    plan, folder = plan_of(chain_of('ur5e'), small_grid()), tmp_path / 'map.zarr'

    def lose(progress, units):
        for chunk in folder.glob('branches/c/**/*'):
            if chunk.is_file():
                chunk.unlink()

    with pytest.raises(OSError, match='a file system that they share'):
        make_map(plan, folder, Workers(0), lose)
    counts = make_map(plan, folder, Workers(0))
    assert (counts == make_map(plan, tmp_path / 'other.zarr', Workers(0))).all()


def test_a_finished_map_that_has_lost_files_is_mended(tmp_path):
    plan, folder = plan_of(chain_of('ur5e'), small_grid()), tmp_path / 'map.zarr'
    make_map(plan, folder, Workers(0))
    whole = bytes_below(folder)
    next(path for path in folder.glob('branches/c/**/*') if path.is_file()).unlink()
    make_map(plan, folder, Workers(0))
    assert bytes_below(folder) == whole


def test_the_number_of_cells_is_refused_before_anything_is_written():
    grid = Grid(GridRegion.sphere((0.0, 0.0, 0.0), 1.0), 1e-4, spread_orientations(200))
    with pytest.raises(InvalidOption, match=r'too large: .* cells'):
        make_plan(chain_of('ur5e'), 'arm', grid)
