"""Pictures and films from the command line, without viser."""

import functools
import shutil
import sys

import numpy as np
from PIL import Image
import pytest
from scipy.spatial.transform import Rotation

from ssik_ros.cli.command import main
from ssik_ros.view import recordings
from ssik_ros.view.pictures.robot_pictures import RobotPictures
from ssik_ros.view.recordings import interpolate

NEAR = ('--xyz-rpy', '0.4', '0.2', '0.3', '3.14', '0', '0')


@pytest.fixture
def small(monkeypatch):
    """Draw at a quarter of the width and height, which takes a tenth of the time."""
    made = functools.partial(RobotPictures, size=(240, 160))
    monkeypatch.setattr(recordings, 'RobotPictures', made)


def test_a_snapshot_shows_the_robot_and_needs_no_viser(tmp_path, monkeypatch, small):
    monkeypatch.setitem(sys.modules, 'viser', None)
    path = tmp_path / 'a.png'
    assert main(['view', 'ur5e', *NEAR, '--snapshot', str(path)]) == 0
    image = np.array(Image.open(path))
    assert 0.03 < (image < 250).any(axis=2).mean() < 0.9
    assert main(['view', 'ur5e', '--snapshot', str(tmp_path / 'b.png')]) == 0
    assert (np.array(Image.open(tmp_path / 'b.png')) != image).any()


def test_a_snapshot_of_a_target_out_of_reach_is_drawn_and_told(tmp_path, capsys, small):
    path = tmp_path / 'far.png'
    far = ('--xyz-rpy', '3', '0', '0', '0', '0', '0')
    assert main(['view', 'ur5e', *far, '--snapshot', str(path)]) == 1
    assert 'out of reach' in capsys.readouterr().out
    folded = ['--joints', '0', '0', '3.1', '0', '0', '0']
    assert main(['view', 'ur5e', *folded, '--snapshot', str(path)]) in (0, 1)
    assert 'In collision, drawn red:' in capsys.readouterr().out
    assert path.exists()


def test_a_snapshot_shows_obstacles(tmp_path, small):
    (tmp_path / 'a.yaml').write_text(
        'obstacles: {wall: {box: [0.1, 1.0, 0.5], xyz: [0.8, 0, 0.25]}}'
    )
    path, words = str(tmp_path / 'a.png'), ('--obstacles', str(tmp_path / 'a.yaml'))
    assert main(['view', 'ur5e', *words, '--snapshot', path]) == 0
    image = np.array(Image.open(path), dtype=float)
    is_brown = (image[:, :, 0] > 1.2 * image[:, :, 2]) & (image[:, :, 0] > 60)
    assert is_brown.mean() > 0.02


@pytest.mark.slow
def test_a_film_moves(tmp_path):
    path = tmp_path / 'a.gif'
    assert main(['view', 'ur5e', *NEAR, '--record', str(path)]) == 0
    with Image.open(path) as film:
        assert film.n_frames > 30
        first = np.array(film.convert('RGB'), dtype=int)
        film.seek(film.n_frames - 1)
        assert (np.abs(np.array(film.convert('RGB'), dtype=int) - first) > 30).any(
            axis=2
        ).mean() > 0.01


@pytest.mark.parametrize(
    'words, reason',
    [
        (('--snapshot', 'a.gif'), 'ends in none of .png'),
        (('--snapshot', 'missing/folder/a.png'), 'no folder'),
        (('--record', 'a.gif'), 'give --pose'),
        ((*NEAR, '--record', 'a.png'), 'ends in none of .gif'),
    ],
)
def test_wrong_files_are_refused_with_the_reason(tmp_path, monkeypatch, capsys, words, reason):
    monkeypatch.chdir(tmp_path)
    assert main(['view', 'ur5e', *words]) == 2
    assert reason in capsys.readouterr().err


def test_a_film_as_mp4_needs_ffmpeg(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, 'which', lambda name: None)
    assert main(['view', 'ur5e', *NEAR, '--record', str(tmp_path / 'a.mp4')]) == 2
    assert 'ffmpeg' in capsys.readouterr().err


def test_a_robot_without_viser_is_told_what_to_install(monkeypatch, capsys):
    for name in ('viser', 'websockets.asyncio.server', 'msgspec.msgpack'):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(['view', 'ur5e', '--port', '0']) == 2
    assert "pip install 'ssik_ros[view]'" in capsys.readouterr().err


def test_targets_go_on_straight_lines():
    end = np.eye(4)
    end[:3, :3], end[:3, 3] = Rotation.from_rotvec((0.0, 0.0, 1.0)).as_matrix(), (1.0, 2.0, 3.0)
    between = interpolate({'a': np.eye(4)}, {'a': end}, 5)
    for place, targets in enumerate(between):
        part = place / 4
        assert np.allclose(targets['a'][:3, 3], part * end[:3, 3])
        turned = Rotation.from_matrix(targets['a'][:3, :3]).as_rotvec()
        assert np.allclose(turned, (0.0, 0.0, part))


def test_a_name_that_is_no_robot_is_refused_with_the_nearest(capsys):
    assert main(['view', 'pand', '--snapshot', 'a.png']) == 2
    assert "Did you mean 'panda'?" in capsys.readouterr().err


@pytest.mark.slow
def test_an_arm_of_the_catalogue_is_found_by_its_name_and_drawn_in_full_size(tmp_path):
    path = tmp_path / 'a.png'
    assert main(['view', 'iiwa14', '--snapshot', str(path)]) == 0
    image = np.array(Image.open(path))
    assert image.shape == (640, 960, 3) and 0.03 < (image < 250).any(axis=2).mean() < 0.9
