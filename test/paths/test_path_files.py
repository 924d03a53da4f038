"""Settings in the file of a tool path."""

import math

import pytest
import yaml

from ssik_ros.errors import InvalidTarget, SsikError
from ssik_ros.paths.path_file import read_problem, read_waypoints
from ssik_ros.paths.requests import PathObjective, PathTolerance

ROWS = ''.join(f'0.4,{0.01 * k},0.4,0,1,0,0\n' for k in range(6))


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a problem file with additional keys."""
    (tmp_path / 'w.csv').write_text('x,y,z,qw,qx,qy,qz\n' + ROWS, encoding='utf-8')

    def write(**keys):
        file = tmp_path / 'p.yaml'
        data = {'robot': 'panda', 'group': 'panda_arm', 'waypoints': 'w.csv', **keys}
        file.write_text(yaml.safe_dump(data), encoding='utf-8')
        return file

    return write


def test_every_setting_of_a_file_arrives(write):
    settings = read_problem(
        write(
            freedom={'axis': [1, 0, 0], 'spin_deg': [-180, 180], 'cone_deg': 10},
            objective='time',
            closed=True,
            passes=[2, 4],
            tool_speed=0.1,
            corner=0.002,
            largest_deviation=0.001,
            penalties={'limits': 2.0, 'limit_zone': 0.2},
        )
    ).settings
    tolerance = settings['tolerance']
    assert tolerance.axis == [1, 0, 0] and tolerance.spin == (-math.pi, math.pi)
    assert tolerance.cone == pytest.approx(math.radians(10))
    assert settings['objective'] is PathObjective.TIME and settings['is_closed']
    assert settings['passes'] == [2, 4] and settings['penalties'].limits == 2.0
    assert (settings['tool_speed'], settings['corner']) == (0.1, 0.002)
    assert settings['largest_deviation'] == 0.001


def test_freedoms_are_given_for_some_waypoints(write):
    entries = [
        {'from': 1, 'to': 2, 'yaw_deg': [-5, 5]},
        {'from': 4, 'position': [[0, 0, 0], [0, 0, 0.01]]},
    ]
    tolerances = read_problem(write(freedom=entries)).settings['tolerance']
    assert [isinstance(each, PathTolerance) for each in tolerances] == [
        False,
        True,
        True,
        False,
        True,
        True,
    ]
    assert tolerances[5].position[1] == [0, 0, 0.01]


@pytest.mark.parametrize(
    'keys',
    [
        {'freedom': 3},
        {'freedom': {'spin': [0, 1]}},
        {'freedom': {'spin_deg': [0]}},
        {'freedom': {'position': [1, 2]}},
        {'freedom': [{'from': 3, 'to': 1}]},
        {'freedom': [{'from': 0, 'to': 600}]},
        {'objective': 'shortest'},
        {'closed': 'yes'},
        {'penalties': {'limit': 1.0}},
        {'passes': 'all'},
        {'passes': ['1', True]},
        {'passes': [1.5]},
        {'freedom': [{'from': 0.5, 'to': 1}]},
        {'boxes': 0},
        {'tool_speed': 'fast'},
    ],
)
def test_settings_that_make_no_sense_are_refused(write, keys):
    with pytest.raises(SsikError):
        read_problem(write(**keys))


@pytest.mark.parametrize(
    ('row', 'wrong'), [('abc,0,0.5,1,0,0,0', ": x is 'abc', no"), ('0.3,0', ' has 2 cells, not 7')]
)
def test_a_row_without_numbers_is_named(tmp_path, row, wrong):
    file = tmp_path / 'w.csv'
    file.write_text(f'x,y,z,qw,qx,qy,qz\n{ROWS}{row}\n', encoding='utf-8')
    line = len(file.read_text(encoding='utf-8').splitlines())
    with pytest.raises(InvalidTarget, match=f'line {line}{wrong}'):
        read_waypoints(file)
