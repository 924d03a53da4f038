"""Small maps for the tests of reach maps."""

import numpy as np
import pytest

from ssik_ros.model.catalogue import load_arm
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach.grid import Grid, GridRegion
from ssik_ros.reach.mapping import make_plan
from ssik_ros.reach.orientations import spread_orientations

for package in ('zarr', 'distributed'):
    pytest.importorskip(package)


def chain_of(name):
    """Return the chain of an arm of the catalogue."""
    from ssik_ros.model.catalogue import arm_data

    data = arm_data(name)
    return SerialChain.from_robot(load_arm(name), data.base_link, data.tip_link)


def small_grid(step=0.4, turns=8, unit_cells=128):
    """Return a grid of some dozen units, none of them of the shape of the whole."""
    region = GridRegion.sphere((0.0, 0.0, 0.2), 1.0)
    return Grid(region, step, spread_orientations(turns), unit_cells)


def plan_of(chain, cells=None, **changes):
    """Return the plan of a small map."""
    return make_plan(chain, 'arm', small_grid() if cells is None else cells, **changes)


def bytes_below(folder):
    """Return the content of each file below a folder, by its path there."""
    files = (path for path in sorted(folder.rglob('*')) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def random_poses(count, seed=0, reach=1.0):
    """Return poses (count, 4, 4) with positions in a cube."""
    rng = np.random.default_rng(seed)
    turns = rng.standard_normal((count, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    from ssik_ros.reach.grid import poses_of

    return poses_of(np.hstack([rng.uniform(-reach, reach, (count, 3)), turns]))
