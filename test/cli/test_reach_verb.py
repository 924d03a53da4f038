"""``ssik reach``: its output, and one line for each error."""

import csv
import json

import numpy as np
import pytest

from ssik_ros.cli.command import main
from ssik_ros.errors import percent
from ssik_ros.reach import CellStatus, ReachMap

pytest.importorskip('zarr')

SMALL = ['ur5e', '--grid', '0.4', '--orientations', '8', '--region', 'sphere:1', '--workers', '0']


def test_a_map_is_made_and_printed(tmp_path, capsys):
    folder = tmp_path / 'map.zarr'
    assert main(['reach', *SMALL, '-o', str(folder)]) == 0
    printed = capsys.readouterr().out
    assert 'ur5e from base_link to tool0' in printed
    assert 'Every orientation is within 140 degrees' in printed
    assert 'of processor time' in printed
    assert main(['reach', *SMALL, '-o', str(folder), '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    decided = content['reachable'] + content['out_of_reach']
    assert content['cells'] == decided > 0
    assert content['unknown'] == content['collides'] == 0


def test_a_list_of_poses_is_a_map(tmp_path, capsys):
    file = tmp_path / 'poses.csv'
    file.write_text('qw,x,y,z,qx,qy,qz\n1,0.4,0.1,0.3,0,0,0\n1,9,0,0,0,0,0\n')
    command = ['reach', 'ur5e', '--poses', str(file), '-o', str(tmp_path / 'poses.zarr'), '--json']
    assert main([*command, '--workers', '0']) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content['reachable'], content['out_of_reach']) == (1, 1)


def test_pictures_clouds_and_pages_are_written(tmp_path):
    files = {name: tmp_path / f'map.{name}' for name in ('html', 'ply', 'csv')}
    wanted = [word for name, file in files.items() for word in (f'--{name}', str(file))]
    plots = tmp_path / 'plots'
    assert main(['reach', *SMALL, '-o', str(tmp_path / 'm'), *wanted, '--plots', str(plots)]) == 0
    assert sorted(path.name for path in plots.iterdir()) == [
        'dexterity.png',
        'directions.png',
        'slices.png',
    ]
    rows = list(csv.DictReader(files['csv'].open()))
    assert rows
    assert all(0.0 < float(row['dexterity']) <= 1.0 for row in rows)
    head, _, body = files['ply'].read_bytes().partition(b'end_header\n')
    assert f'element vertex {len(rows)}'.encode() in head
    kinds = [(axis, '<f4') for axis in ('x', 'y', 'z', 'dexterity')]
    vertices = np.frombuffer(body, dtype=[*kinds, ('colour', 'u1', 3)])
    assert np.allclose(vertices['x'], [float(row['x']) for row in rows], atol=1e-5)
    page = files['html'].read_text()
    assert '@' not in page.replace('@media', '')
    assert 'http' not in page.replace('http-equiv', '')


def test_two_maps_are_compared_cell_by_cell(tmp_path, capsys):
    region = ['--region', 'sphere:0,0,0.1,1']
    command = ['reach', 'ur3e', *SMALL[1:], *region, '-o', str(tmp_path / 'small')]
    assert main([*command, '--json']) == 0
    # Collisions make the units smaller: the maps have other chunks, but the same cells.
    other = ['reach', *SMALL, *region, '--collisions', '-o', str(tmp_path / 'large')]
    assert main([*other, '--json']) == 0
    capsys.readouterr()
    assert main([*command, '--compare', str(tmp_path / 'large'), '--json']) == 0
    compared = json.loads(capsys.readouterr().out)['comparison']
    first, second = (ReachMap.open(tmp_path / name).read() for name in ('small', 'large'))
    asked = first != CellStatus.NOT_ASKED
    has, had = first == CellStatus.REACHABLE, second == CellStatus.REACHABLE
    counts = {
        'both': has & had,
        'first_only': has & ~had,
        'second_only': ~has & had,
        'neither': asked & ~has & ~had,
        'undecided': second == CellStatus.UNKNOWN,
    }
    expected = {name: int(cells.sum()) for name, cells in counts.items()}
    assert compared == {'map': str(tmp_path / 'large'), **expected}
    assert min(expected['both'], expected['second_only'], expected['neither']) > 0
    assert main([*command, '--compare', str(tmp_path / 'large')]) == 0
    printed = capsys.readouterr().out
    for name in ('both', 'second_only', 'neither'):
        share = percent(expected[name] / asked.sum())
        assert f'{expected[name]:,}' in printed and share in printed


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--grid', '0.3'], 'step 0.3, not 0.4'),
        (['--region', 'box:0,0,0,1,1,1'], 'region box, not sphere'),
        (['--orientations', '4'], 'orientations 4, not 8'),
        (['--compare', 'nowhere.zarr'], "no map 'nowhere.zarr'"),
    ],
)
def test_maps_of_other_cells_are_refused_before_the_work(tmp_path, capsys, words, text):
    assert main(['reach', *SMALL, '-o', str(tmp_path / 'm'), '--json']) == 0
    capsys.readouterr()
    command = ['reach', *SMALL, '-o', str(tmp_path / 'n'), '--compare', str(tmp_path / 'm')]
    assert main([*command, *words]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count('\n') == 1
    assert not (tmp_path / 'n').exists()


def test_an_estimate_makes_nothing(tmp_path, capsys):
    assert main(['reach', *SMALL, '--estimate']) == 0
    assert 'processor time' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--region', 'box:0,0,0,0,1,1'], 'has no cells'),
        (['--region', 'sphere:-1'], 'radius'),
        (['--region', 'sphere:nan'], 'radius'),
        (['--region', 'ball:1'], 'A region is auto'),
        (['--grid', '0'], 'positive distance'),
        (['--grid', '1e-5', '--orientations', '1000'], 'too large: '),
        (['--orientations', '0'], '1 to 20000 orientations'),
        (['--workers', '-1'], '0 to 4096 workers'),
        (['--with', 'manipulabilty'], 'manipulability'),
        (['--poses', 'nowhere.csv'], 'cannot be read'),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, capsys, words, text):
    folder = tmp_path / 'map.zarr'
    assert main(['reach', *SMALL, *words, '-o', str(folder)]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count('\n') == 1
    assert not folder.exists()


def test_a_map_of_other_cells_names_what_differs(tmp_path, capsys):
    folder = tmp_path / 'map.zarr'
    assert main(['reach', *SMALL, '-o', str(folder)]) == 0
    assert main(['reach', *SMALL, '--grid', '0.3', '-o', str(folder)]) == 2
    assert 'other cells (step 0.4, not 0.3)' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('content', 'text'),
    [
        ('', 'no column x'),
        ('x,y,z,qx,qy,qz,qw\n', 'no rows of numbers'),
        ('x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,a\n', 'line 2'),
        ('x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,2\n', 'unit quaternion'),
        ('x,y,z,qx,qy,qz,qw\n0,0,nan,0,0,0,1\n', "line 2: z is 'nan'"),
        ('x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0\n', 'line 2 has 6 cells, not 7'),
        ('x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,1,1\n', 'line 2 has 8 cells, not 7'),
        ('\ufeffx,y,z,qx,qy,qz,qw\n', 'no rows of numbers'),
        ('x,y,z,qx,qy,qz,qw\n0,0\n', 'line 2'),
    ],
)
def test_a_file_that_has_no_poses_says_where(tmp_path, capsys, content, text):
    file = tmp_path / 'poses.csv'
    file.write_text(content)
    assert main(['reach', 'ur5e', '--poses', str(file), '-o', str(tmp_path / 'm')]) == 2
    assert text in capsys.readouterr().err


def test_a_missing_package_is_named(tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'zarr', None)
    assert main(['reach', *SMALL, '-o', str(tmp_path / 'm')]) == 2
    assert "pip install 'ssik_ros[reach]'" in capsys.readouterr().err
