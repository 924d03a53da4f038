"""``ssik reach`` on the command line: each error is one line, and its files are in the map."""

import csv
import json

from test.reach.reach_maps import bytes_below

import numpy as np
import pytest

from ssik_ros.cli.command import main
from ssik_ros.reach import CellStatus, ReachMap

SMALL = ['--grid', '0.5', '--orientations', '4', '--workers', '0']


def reach(*words):
    """Return the command line of a map of a UR5e."""
    return ['reach', 'ur5e', *map(str, words)]


WRONG = {
    'radius of nothing': (['--region', 'sphere:0'], 'positive'),
    'box without room': (['--region', 'box:0,0,0,1,0,1'], 'has no cells'),
    'box the wrong way round': (['--region', 'box:0,0,0.5,1,1,0'], 'has no cells'),
    'no region': (['--region', 'cube:1'], 'A region is auto'),
    'not a number': (['--region', 'sphere:nan'], 'positive'),
    'far away': (['--region', 'sphere:1e9,0,0,1'], 'at most'),
    'no step': (['--grid', '0'], 'positive distance'),
    'no orientation': (['--orientations', '0'], 'orientations'),
    '1e15 cells': (['--grid', '0.0002', '--orientations', '2000'], 'e+15 cells'),
    'workers': (['--workers', '-1'], 'workers'),
    'scheduler': (['--scheduler', 'tcp://127.0.0.1:9'], 'No Dask scheduler responds'),
    'scheduler of no kind': (['--scheduler', 'nowhere'], 'No Dask scheduler responds'),
    'quantity': (['--with', 'speed'], "no quantity 'speed'"),
    'obstacles': (['--obstacles', 'none.yaml'], 'none.yaml'),
    'poses': (['--poses', 'none.csv'], 'none.csv'),
}


@pytest.mark.parametrize('case', WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_line(case, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('ssik_ros.reach.engine.CONNECT', 0.5)
    words, text = case
    base = [word for word in SMALL if '--scheduler' not in words or word not in ('--workers', '0')]
    assert main([*reach(*base), '-o', str(tmp_path / 'map.zarr'), *words]) == 2
    printed = capsys.readouterr()
    assert text in printed.err and printed.err.count('\n') == 1
    assert printed.out == ''


def test_the_refusal_of_a_map_that_is_too_large_has_its_estimate(tmp_path, capsys):
    words = ['--grid', '0.0002', '--orientations', '1000', '-o', str(tmp_path / 'map.zarr')]
    assert main(reach(*words)) == 2
    error = capsys.readouterr().err
    for part in ('cells', 'processor time', 'GB on the disk', 'wider grid'):
        assert part in error
    assert not (tmp_path / 'map.zarr').exists()


def test_half_written_stores_are_finished_or_named(tmp_path, capsys):
    folder, whole = tmp_path / 'map.zarr', tmp_path / 'whole.zarr'
    assert main(reach(*SMALL, '-o', whole)) == 0
    # A run that was killed while it made the folder has left its draft next to it.
    (tmp_path / '.map.zarr.draft').mkdir()
    (tmp_path / '.map.zarr.draft' / 'zarr.json').write_text('{')
    assert main(reach(*SMALL, '-o', folder)) == 0
    assert bytes_below(folder) == bytes_below(whole)
    assert not (tmp_path / '.map.zarr.draft').exists()
    capsys.readouterr()
    text = (folder / 'zarr.json').read_text()
    (folder / 'zarr.json').write_text(text[: len(text) // 2])
    assert main(reach(*SMALL, '-o', folder)) == 2
    error = capsys.readouterr().err
    assert 'no whole reach map' in error and error.count('\n') == 1
    (folder / 'zarr.json').write_text(text)
    (folder / 'status' / 'zarr.json').unlink()
    with pytest.raises(OSError, match="no array 'status'"):
        ReachMap.open(folder).read()


def test_poses_of_a_file_are_decided(tmp_path, capsys):
    file = tmp_path / 'tasks.csv'
    file.write_text('x,y,z,qx,qy,qz,qw,name\n0.4,0.1,0.3,1,0,0,0,a\n9,0,0,0,0,0,1,b\n')
    words = ['--poses', file, '--workers', '0', '-o', tmp_path / 'map.zarr', '--json']
    assert main(reach(*words)) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts['reachable'], counts['out_of_reach']) == (1, 1)
    import zarr

    status = zarr.open_array(str(tmp_path / 'map.zarr' / 'status'), mode='r')[...]
    assert status.tolist() == [CellStatus.REACHABLE, CellStatus.OUT_OF_REACH]
    file.write_text('x,y,z,qx,qy,qz,qw\n0.4,0.1,0.3,1,0,0,0\n0,0,0,0,0,0,0\n')
    assert main(reach(*words[:-3], '-o', tmp_path / 'other')) == 2
    assert 'row 2 below the names' in capsys.readouterr().err


@pytest.mark.slow
def test_files_of_a_map_hold_what_the_map_says(tmp_path):
    files = [f'--{kind}={tmp_path / kind}' for kind in ('csv', 'ply', 'html', 'plots')]
    assert main(reach(*SMALL, '-o', tmp_path / 'map.zarr', *files)) == 0
    reach_map = ReachMap.open(tmp_path / 'map.zarr')
    some = reach_map.dexterity() > 0.0
    rows = list(csv.DictReader((tmp_path / 'csv').open()))
    assert len(rows) == some.sum()
    points = np.array([[float(row[key]) for key in ('x', 'y', 'z', 'dexterity')] for row in rows])
    assert np.allclose(points[:, :3], reach_map.positions()[some], atol=1e-5)
    assert np.allclose(points[:, 3], reach_map.dexterity()[some])
    head, _, body = (tmp_path / 'ply').read_bytes().partition(b'end_header\n')
    assert f'element vertex {some.sum()}'.encode() in head
    assert len(body) == some.sum() * 19
    page = (tmp_path / 'html').read_text()
    assert '@POSITIONS@' not in page and '//' not in page.replace('<!--', '')
    for name in ('slices', 'directions', 'dexterity'):
        assert (tmp_path / 'plots' / f'{name}.png').stat().st_size > 5000


@pytest.mark.parametrize('measure', ['manipulability', 'branches', 'status'])
def test_files_show_the_measure_that_is_asked_for(measure, tmp_path):
    files = [f'--{kind}={tmp_path / kind}' for kind in ('csv', 'ply', 'html')]
    words = ['--with', 'manipulability', '-o', tmp_path / 'map.zarr', '--measure', measure]
    assert main(reach(*SMALL, *words, *files)) == 0
    reach_map = ReachMap.open(tmp_path / 'map.zarr')
    wanted = {}
    for place in np.ndindex(reach_map.grid.shape[:3]):
        status = reach_map.read(where=place)
        reached = reach_map.read(measure, place)[status == CellStatus.REACHABLE]
        if measure == 'status' and set(status) - {CellStatus.NOT_ASKED, CellStatus.OUT_OF_REACH}:
            wanted[place] = np.bincount(status).argmax()
        elif len(reached):
            wanted[place] = reached.max()
    rows = list(csv.DictReader((tmp_path / 'csv').open()))
    places = np.array([[float(row[axis]) for axis in 'xyz'] for row in rows])
    assert np.allclose(places, reach_map.positions()[tuple(np.array([*wanted]).T)], atol=1e-5)
    values = [float(row[measure]) for row in rows]
    assert np.allclose(values, [*wanted.values()], rtol=1e-4)
    kinds = [(name, '<f4') for name in ('x', 'y', 'z', 'dexterity', measure)]
    head, _, body = (tmp_path / 'ply').read_bytes().partition(b'end_header\n')
    assert f'property float {measure}\n'.encode() in head
    vertices = np.frombuffer(body, dtype=[*kinds, ('colour', 'u1', 3)])
    assert np.allclose(vertices[measure], values, rtol=1e-4)
    page = (tmp_path / 'html').read_text()
    assert f'"measure": "{measure}"' in page
    assert ('out of reach' in page) == (measure == 'status')


@pytest.mark.slow
def test_plots_show_the_measure_that_is_asked_for(tmp_path):
    words = ['--with', 'limit_margin', '-o', tmp_path / 'map.zarr', '--json']
    for measure in ('dexterity', 'limit_margin', 'status', 'unknown'):
        plots = tmp_path / measure
        assert main(reach(*SMALL, *words, '--measure', measure, '--plots', plots)) == 0
        names = {path.stem for path in plots.iterdir()}
        assert names == {'slices', 'directions', measure}
    pictures = {path.read_bytes() for path in tmp_path.glob('*/slices.png')}
    assert len(pictures) == 4


def test_a_measure_that_the_map_will_not_have_is_one_line_and_no_work(tmp_path, capsys):
    words = ['-o', tmp_path / 'map.zarr', '--measure', 'clearance']
    assert main(reach(*SMALL, *words)) == 2
    error = capsys.readouterr().err
    assert "no measure 'clearance'" in error and error.count('\n') == 1
    assert not (tmp_path / 'map.zarr').exists()


def test_the_estimate_of_a_map_is_printed_and_nothing_is_written(tmp_path, capsys):
    assert main(reach(*SMALL, '--estimate', '--with', 'manipulability')) == 0
    assert 'measured here' in capsys.readouterr().out
    assert main(reach(*SMALL)) == 2
    assert '-o map.zarr' in capsys.readouterr().err
