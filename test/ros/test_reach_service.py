"""~/reach_query and ~/reach_cloud over the real node, judged by the map itself."""

import subprocess
import sys

from test.ros.server_client import LATCHED, ready_server

from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2
from ssik_msgs.srv import Describe, ReachQuery

from ssik_ros.reach import CellStatus, ReachMap

for package in ('zarr', 'distributed'):
    pytest.importorskip(package)
pytestmark = pytest.mark.ros

QUERY = 'ssik_ros/reach_query'
DOWN = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return the folder of a map that the command has made."""
    path = tmp_path_factory.mktemp('maps') / 'ur5e.zarr'
    cells = ['--grid', '0.2', '--orientations', '16', '--workers', '0', '--with', 'limit_margin']
    run = [sys.executable, '-m', 'ssik_ros.cli.command', 'reach', 'ur5e', *cells, '-o', str(path)]
    subprocess.run(run, check=True, timeout=300, capture_output=True)
    return path


@pytest.fixture(scope='module')
def client(folder, tmp_path_factory):
    """Return a client of a node with the map."""
    parameters = {
        'moveit_config_package': 'ur5e',
        'reach_map': str(folder),
        'reach_measure': 'limit_margin',
    }
    with ready_server(tmp_path_factory.mktemp('node'), parameters) as (_, client):
        yield client


def request(*positions, **fields):
    """Return a request for poses with the tool down."""
    numbers = [number for position in positions for number in (*position, *DOWN)]
    return ReachQuery.Request(poses=numbers, **fields)


def test_poses_are_looked_up_and_solved(client, folder):
    places = ((0.5, 0.1, 0.3), (0.1, 0.5, 0.3), (0.9, 0.9, 0.9), (9.0, 0.0, 0.0))
    asked = client.call(QUERY, request(*places, frame_id='base_link'))
    exact = client.call(QUERY, request(*places, frame_id='base_link', exact=True))
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (4, 1, 1))
    poses[:, :3, 3] = places
    for response, expected in (
        (asked, ReachMap.open(folder).query(poses)),
        (exact, ReachMap.open(folder).query(poses, exact=True)),
    ):
        assert response.error_code.val == MoveItErrorCodes.SUCCESS, response.error_code.message
        assert (response.base_frame, response.tip_frame) == ('base_link', 'tool0')
        assert list(response.reachable) == expected.reachable.tolist()
        assert list(response.proved) == expected.proved.tolist()
        assert list(response.status) == expected.status.tolist()
        assert list(response.branches) == expected.branches.tolist()
        assert list(response.border) == expected.is_border.tolist()
        assert np.allclose(response.distances, expected.distance)
        assert np.allclose(response.angles, expected.angle)
    assert list(exact.reachable) == [True, True, False, False] and all(exact.proved)
    assert asked.status[3] == ReachQuery.Response.NOT_ASKED
    for status in CellStatus:
        assert getattr(ReachQuery.Response, status.name) == status


WRONG = {
    'frame': (
        request((0.5, 0.1, 0.3), frame_id='moon'),
        MoveItErrorCodes.FRAME_TRANSFORM_FAILURE,
        'moon',
    ),
    'nan': (request((np.nan, 0.1, 0.3)), None, 'Pose 0'),
    'numbers': (ReachQuery.Request(poses=[0.0] * 8), None, '8 numbers'),
    'many': (ReachQuery.Request(poses=[1.0] * 7007, exact=True), None, '1001'),
}


@pytest.mark.parametrize('case', WRONG.values(), ids=WRONG)
def test_wrong_requests_are_refused(client, case):
    message, code, text = case
    response = client.call(QUERY, message)
    assert response.error_code.val != MoveItErrorCodes.SUCCESS
    assert text in response.error_code.message
    assert code is None or response.error_code.val == code
    assert not response.reachable and not response.distances


def test_a_late_subscriber_gets_the_cloud(client, folder):
    seen = []
    client.node.create_subscription(PointCloud2, 'ssik_ros/reach_cloud', seen.append, LATCHED)
    client.spin_until(lambda: seen, 'the cloud')
    reach_map = ReachMap.open(folder)
    message, reachable = seen[0], reach_map.read() == CellStatus.REACHABLE
    assert message.header.frame_id == 'base_link'
    assert [field.name for field in message.fields] == [
        *('x', 'y', 'z', 'dexterity', 'limit_margin', 'rgb')
    ]
    rows = np.frombuffer(bytes(message.data), dtype='<f4').reshape(message.width, 6)
    some = reachable.any(axis=3)
    assert message.width == some.sum()
    assert np.allclose(rows[:, :3], reach_map.positions()[some], atol=1e-6)
    margins = np.where(reachable, reach_map.read('limit_margin'), 0.0).max(axis=3)[some]
    assert np.allclose(rows[:, 4], margins, atol=1e-6)


def test_a_node_without_the_extra_says_so_in_one_line_and_lives_on(folder, tmp_path):
    (tmp_path / 'lib').mkdir()
    # The package that reads the chunks of a map; the node does without the other packages of the extra.
    (tmp_path / 'lib' / 'numcodecs.py').write_text('raise ImportError("no numcodecs here")')
    from test.ros.server_process import python_path

    environment = {'PYTHONPATH': python_path(tmp_path / 'lib')}
    parameters = {'moveit_config_package': 'ur5e', 'reach_map': str(folder)}
    with ready_server(tmp_path, parameters, environment=environment) as (server, client):
        response = client.call(QUERY, request((0.5, 0.1, 0.3)))
        assert response.error_code.val == MoveItErrorCodes.FAILURE
        assert "pip install 'ssik_ros[reach]'" in response.error_code.message
        lines = [line for line in server.log.splitlines() if 'ssik_ros[reach]' in line]
        assert len(lines) == 1 and 'numcodecs' in lines[0]
        assert 'Traceback' not in server.log
        assert client.call('ssik_ros/describe', Describe.Request()).success
