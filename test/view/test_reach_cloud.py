"""Reach maps as clouds: the points come from the map, and the values are counts of its cells."""

import numpy as np
import pytest

pytest.importorskip('zarr', reason='needs the extra reach')
pytest.importorskip('distributed', reason='needs the extra reach')

from ssik_ros.model.catalogue import arm_data, load_arm
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.reach import CellStatus, ReachMap
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.grid import Grid, GridRegion
from ssik_ros.reach.mapping import make_map, make_plan
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.view.reach_cloud import ReachCloud
from ssik_ros.view.sessions.session import Session


@pytest.fixture(scope='module')
def small(tmp_path_factory):
    """Return a session and a small map of its robot."""
    data, robot = arm_data('ur5e'), load_arm('ur5e')
    chain = SerialChain.from_robot(robot, data.base_link, data.tip_link)
    grid = Grid(GridRegion.sphere((0.0, 0.0, 0.2), 1.0), 0.4, spread_orientations(8), 128)
    path = tmp_path_factory.mktemp('maps') / 'ur5e.zarr'
    make_map(make_plan(chain, 'ur5e', grid, ('manipulability',)), path, Workers(0))
    session = Session(robot, robot.group_from_links(data.base_link, data.tip_link))
    return session, ReachMap.open(path)


def test_the_cloud_has_each_position_with_its_share(small):
    session, reach = small
    points = ReachCloud(reach, session).points('dexterity')
    base = session.tip_pose(reach.chain.base_link)
    expected = {}
    status = reach.read()
    for index in np.ndindex(status.shape[:3]):
        share = np.mean([status[(*index, k)] == CellStatus.REACHABLE for k in range(8)])
        if share > 0.0:
            place = base[:3, :3] @ reach.positions()[index] + base[:3, 3]
            expected[tuple(np.round(place, 9))] = share
    shares = dict(zip(map(tuple, np.round(points.places, 9)), points.values))
    assert shares.keys() == expected.keys() and len(shares) == len(points.places)
    assert all(shares[place] == pytest.approx(expected[place]) for place in shares)
    assert points.top == 1.0 and points.step == pytest.approx(0.4)


def test_a_threshold_leaves_the_best_positions(small):
    session, reach = small
    cloud = ReachCloud(reach, session)
    assert 'manipulability' in cloud.measures
    for measure in cloud.measures:
        every, best = cloud.points(measure), cloud.points(measure, 0.9)
        assert np.isfinite(every.values).all() and len(best.colours) == len(best.places)
        if measure == 'status':
            assert len(best.values) == len(every.values)
        else:
            assert np.array_equal(best.values, every.values[every.values >= 0.9 * every.top])
