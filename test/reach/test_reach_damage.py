"""Damaged maps and data sets: each reader ends with one line, within the memory and the time that a sound one takes."""

import json
from pathlib import Path
import subprocess
import sys

from test.reach.reach_maps import chain_of, plan_of

import pytest

from ssik_ros.reach import ReachMap
from ssik_ros.reach.grid import Grid, GridRegion
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.reach.storage.files import StoreError
from ssik_ros.reach.store import MapStore

PROGRAM = Path(__file__).with_name('map_damage.py')


def campaign(count, seed=0):
    """Return the faults of a campaign, and its summary."""
    command = [sys.executable, '-W', 'ignore', str(PROGRAM), str(count), str(seed)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    *faults, summary = map(json.loads, run.stdout.splitlines())
    return faults, summary


@pytest.mark.slow
def test_each_kind_of_damage_is_one_line():
    faults, summary = campaign(80)
    assert faults == []
    assert summary['kinds'] == 80


@pytest.mark.slow
@pytest.mark.heavy
def test_a_thousand_kinds_of_damage_are_one_line_each():
    faults, summary = campaign(1000, seed=1)
    assert faults == []
    assert summary['kinds'] == 1000


def test_cells_of_a_chunk_that_holds_fewer_are_not_made_up(tmp_path):
    """Memory that nobody had written was read as cells."""
    from numcodecs import zstd

    from ssik_ros.reach.engine import Workers
    from ssik_ros.reach.mapping import make_map

    plan, folder = plan_of(chain_of('ur5e')), tmp_path / 'map.zarr'
    make_map(plan, folder, Workers(0))
    chunk = next(path for path in folder.glob('status/c/**/*') if path.is_file())
    chunk.write_bytes(zstd.compress(b'\1', 3))
    with pytest.raises(StoreError, match='does not hold'):
        ReachMap.open(folder).read()


def test_a_draft_that_is_a_link_is_not_followed(tmp_path):
    folder, precious = tmp_path / 'map.zarr', tmp_path / 'precious'
    precious.mkdir()
    (tmp_path / '.map.zarr.draft').symlink_to(precious)
    MapStore(folder).create(plan_of(chain_of('ur5e')))
    assert list(precious.iterdir()) == []
    assert not folder.is_symlink()


@pytest.mark.parametrize('long', [(1e4, 1e-9, 1e-9), (1e-9, 1e4, 1e4)])
def test_units_of_a_long_thin_region_are_found_at_once(long):
    """The edge of a unit grew by one cell at a time."""
    grid = Grid(GridRegion('box', (0.0, 0.0, 0.0), long), 1e-8, spread_orientations(2))
    assert grid.unit_count <= 1_000_000
