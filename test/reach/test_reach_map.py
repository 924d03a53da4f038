"""A map asked: poses, slices, comparisons, the nearest reachable cell."""

from dataclasses import replace

from test.reach.reach_maps import chain_of, plan_of, random_poses, small_grid

import numpy as np
import pytest

from ssik_ros.errors import DimensionMismatch, InvalidOption, InvalidTarget
from ssik_ros.reach import CellStatus, ReachMap
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.exports import colours_of, dexterity_cloud
from ssik_ros.reach.grid import PoseList
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import angles_between, quaternions_of
from ssik_ros.reach.reach_map import at_positions


@pytest.fixture(scope='module')
def reach_map(tmp_path_factory):
    """Return a map of an arm."""
    folder = tmp_path_factory.mktemp('maps') / 'map.zarr'
    make_map(plan_of(chain_of('ur5e'), small_grid(0.2, 16)), folder, Workers(0))
    return ReachMap.open(folder)


def cells_of(reach_map):
    """Return the numbers (n, 4) and poses (n, 4, 4) of all cells in the region."""
    cells = np.argwhere(reach_map.read() != CellStatus.NOT_ASKED)
    poses = np.tile(np.eye(4), (len(cells), 1, 1))
    poses[:, :3, :3] = reach_map.grid.rotations[cells[:, 3]]
    poses[:, :3, 3] = reach_map.grid.positions(cells[:, :3])
    return cells, poses


def test_the_pose_of_a_cell_has_a_proved_result_that_the_solver_confirms(reach_map):
    cells, poses = cells_of(reach_map)
    status = reach_map.read()[tuple(cells.T)]
    asked, exact = reach_map.query(poses), reach_map.query(poses, exact=True)
    assert (asked.status == status).all()
    assert asked.proved.all()
    assert (asked.status == exact.status).all()
    assert (asked.branches == exact.branches).all()


def test_a_pose_beside_cells_has_the_result_of_the_nearest_and_no_proof(reach_map):
    poses = random_poses(400, seed=2, reach=0.8)
    asked, status = reach_map.query(poses), reach_map.read()
    turns = quaternions_of(poses[:, :3, :3])
    for row, pose in enumerate(poses):
        angles = [
            angles_between(turns[row : row + 1], orientation[None])[0]
            for orientation in reach_map.grid.orientations
        ]
        turn = int(np.argmin(angles))
        places = np.linalg.norm(reach_map.positions() - pose[:3, 3], axis=-1)
        index = np.unravel_index(np.argmin(places), places.shape)
        assert asked.status[row] == status[(*index, turn)]
        assert asked.distance[row] == pytest.approx(places[index])
        assert asked.angle[row] == pytest.approx(angles[turn])
    assert not asked.proved.any()
    assert (asked.angle <= reach_map.covering_angle).all()


def test_borders_are_where_the_solver_differs_most(reach_map):
    poses = random_poses(3000, seed=4, reach=0.9)
    asked, exact = reach_map.query(poses), reach_map.query(poses, exact=True)
    inside = asked.status != CellStatus.NOT_ASKED
    wrong = inside & (asked.reachable != exact.reachable)
    assert 0.0 < asked.is_border[inside].mean() < 1.0
    assert wrong[asked.is_border].mean() > 4.0 * wrong[inside & ~asked.is_border].mean()


def test_what_lies_outside_was_not_asked(reach_map):
    poses = random_poses(20)
    poses[:, 0, 3] += 1e9
    asked = reach_map.query(poses)
    assert (asked.status == CellStatus.NOT_ASKED).all()
    assert not asked.reachable.any()
    assert not asked.proved.any()
    assert not len(reach_map.query(np.empty((0, 4, 4))).status)


@pytest.mark.parametrize('poses', [np.zeros(4), np.zeros((3, 3)), np.full((4, 4), np.nan)])
def test_what_is_no_pose_is_refused(reach_map, poses):
    with pytest.raises(DimensionMismatch):
        reach_map.query(poses)


@pytest.mark.parametrize('turn', [2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0])])
@pytest.mark.parametrize('exact', [False, True])
def test_a_pose_that_is_no_rigid_transform_is_refused(reach_map, turn, exact):
    poses = random_poses(3)
    poses[1, :3, :3] = turn
    with pytest.raises(InvalidTarget, match='Pose 1 '):
        reach_map.query(poses, exact)
    with pytest.raises(InvalidTarget):
        reach_map.nearest_reachable(poses[1])
    with pytest.raises(InvalidOption, match='radian'):
        reach_map.nearest_reachable(poses[0], radian=-1.0)


def test_blocks_and_the_whole_array_give_the_same_results(reach_map, monkeypatch):
    poses = random_poses(2000, seed=6, reach=1.1)
    monkeypatch.setattr('ssik_ros.reach.reach_map.IN_MEMORY', 1000)
    monkeypatch.setattr('ssik_ros.reach.reach_map.FEW', 3)
    parts = ReachMap.open(reach_map.path).query(poses)
    monkeypatch.undo()
    for one, other in zip(parts, reach_map.query(poses), strict=True):
        assert np.array_equal(one, other)


def test_the_nearest_reachable_cell_is_that_of_a_full_search(reach_map):
    cells, cell_poses = cells_of(reach_map)
    status = reach_map.read()[tuple(cells.T)]
    cell_poses = cell_poses[status == CellStatus.REACHABLE]
    turns = quaternions_of(cell_poses[:, :3, :3])
    for pose in random_poses(25, seed=8, reach=2.0):
        same = np.repeat(quaternions_of(pose[None, :3, :3]), len(cell_poses), axis=0)
        price = np.linalg.norm(cell_poses[:, :3, 3] - pose[:3, 3], axis=1) + 0.1 * angles_between(
            same, turns
        )
        nearest = reach_map.nearest_reachable(pose)
        assert nearest.distance + 0.1 * nearest.angle == pytest.approx(price.min())
        assert reach_map.query(nearest.pose).reachable.all()
        assert nearest.branches == reach_map.query(nearest.pose).branches[0]


def test_nothing_reachable_has_no_nearest_cell(tmp_path):
    from ssik_ros.reach.grid import Grid, GridRegion
    from ssik_ros.reach.orientations import spread_orientations

    far = Grid(GridRegion.sphere((50.0, 0.0, 0.0), 0.3), 0.2, spread_orientations(4))
    make_map(plan_of(chain_of('ur5e'), far), tmp_path / 'm', Workers(0))
    empty = ReachMap.open(tmp_path / 'm')
    finished = empty.counts
    assert finished['REACHABLE'] == 0 and finished['OUT_OF_REACH'] > 0
    # A map that is not finished counts its cells.
    del empty.attributes['counts']
    # Cells outside the region are not asked.
    assert empty.counts == {**finished, 'NOT_ASKED': empty.counts['NOT_ASKED']}
    assert empty.nearest_reachable(np.eye(4)) is None
    assert not len(dexterity_cloud(empty).positions)


def test_slices_are_planes_of_the_dexterity(reach_map):
    share = reach_map.dexterity()
    for number, axis in enumerate('xyz'):
        index = reach_map.grid.shape[number] // 3
        value = float(reach_map.grid.origin[number] + reach_map.grid.step * index)
        plane = reach_map.slice(axis, value + 0.4 * reach_map.grid.step)
        inside = ~np.isnan(plane)
        assert np.array_equal(plane[inside], np.take(share, index, axis=number)[inside])
    for value in (7.0, 1e308):
        with pytest.raises(InvalidOption, match='outside'):
            reach_map.slice('x', value)
    with pytest.raises(InvalidOption, match="'x', 'y' or 'z'"):
        reach_map.slice('w', 0.0)


def test_slices_of_a_measure_are_planes_of_its_values(reach_map):
    value = float(reach_map.grid.origin[2])
    plane, share = reach_map.slice('z', value, 'branches'), reach_map.slice('z', value)
    values = reach_map.measure('branches')[:, :, 0]
    assert np.array_equal(plane, values, equal_nan=True)
    assert np.array_equal(np.isnan(plane), ~(share > 0.0))
    status = reach_map.slice('z', value, 'status')
    assert set(status[share > 0.5]) == {CellStatus.REACHABLE}
    assert np.array_equal(np.isnan(status), np.isnan(share))
    with pytest.raises(InvalidOption, match="no measure 'clearance'"):
        reach_map.slice('z', value, 'clearance')


def test_a_position_has_its_most_frequent_status_and_its_largest_value():
    asked, none, other = CellStatus.REACHABLE, CellStatus.NOT_ASKED, CellStatus.COLLIDES
    status = np.array([[asked, other, other], [none, none, none], [asked, asked, other]])
    cells = np.array([[2.0, 9.0, np.nan], [np.nan] * 3, [0.5, np.inf, 7.0]])
    assert at_positions('status', status).tolist() == [other, none, asked]
    assert at_positions('dexterity', status).tolist() == [1 / 3, 0.0, 2 / 3]
    largest = at_positions('clearance', status, cells)
    assert np.array_equal(largest, [2.0, np.nan, np.inf], equal_nan=True)


def test_tighter_limits_reach_nothing_more(reach_map, tmp_path):
    chain = chain_of('ur5e')
    tight = replace(chain, lower=np.full(6, -2.0), upper=np.full(6, 1.5))
    make_map(plan_of(tight, small_grid(0.2, 16)), tmp_path / 'm', Workers(0))
    other = ReachMap.open(tmp_path / 'm')
    compared = reach_map.compare(other)
    assert compared.second_only == compared.undecided == 0
    assert compared.first_only > 0
    assert compared.both == other.counts['REACHABLE']
    assert compared.both + compared.first_only == reach_map.counts['REACHABLE']
    make_map(plan_of(chain, small_grid(0.4, 16)), tmp_path / 'n', Workers(0))
    with pytest.raises(InvalidOption, match='same grid'):
        reach_map.compare(ReachMap.open(tmp_path / 'n'))


def test_the_arm_of_a_map_is_the_arm_it_was_made_of(reach_map):
    chain = chain_of('panda')
    assert reach_map.chain.joint_names == chain_of('ur5e').joint_names
    assert np.array_equal(reach_map.chain.axes, chain_of('ur5e').axes)
    assert reach_map.chain.joint_names != chain.joint_names


def test_single_poses_are_no_grid(tmp_path):
    rows = np.array([[0.4, 0.1, 0.3, 0.0, 0.0, 0.0, 1.0]])
    make_map(make_plan(chain_of('ur5e'), 'arm', PoseList(rows)), tmp_path / 'm', Workers(0))
    with pytest.raises(InvalidOption, match='single poses'):
        ReachMap.open(tmp_path / 'm')


def test_a_cloud_has_a_colour_for_each_share(reach_map):
    cloud = dexterity_cloud(reach_map)
    assert len(cloud.positions) == (reach_map.dexterity() > 0.0).sum()
    assert colours_of(np.array([0.0, 1.0])).tolist() == [[68, 1, 84], [253, 231, 37]]
    assert len(dexterity_cloud(reach_map, 2).positions) < len(cloud.positions)
