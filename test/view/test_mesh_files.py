"""Mesh files of links: read once in another process, coarse, kept in a cache, and never fatal."""

import json
import os
from pathlib import Path
import subprocess

from test.view.made_arms import two_arms

import numpy as np
import pytest

from ssik_ros.model.collision.geometry import STL_TRIANGLE
from ssik_ros.view.pictures import mesh_files
from ssik_ros.view.pictures.mesh_files import cache_folder, MeshFile, read_meshes
from ssik_ros.view.pictures.solids import make_sphere
from ssik_ros.view.sessions.session import Session

SCALE = (1.0, 1.0, 1.0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Give each test an empty cache."""
    monkeypatch.setenv('SSIK_ROS_CACHE_DIR', str(tmp_path / 'cache'))


def write_stl(path, corners):
    """Write triangles (k, 3, 3) as a binary STL file and return it as a mesh file."""
    rows = np.zeros(len(corners), dtype=STL_TRIANGLE)
    rows['corners'] = corners
    path.write_bytes(bytes(80) + len(corners).to_bytes(4, 'little') + rows.tobytes())
    return MeshFile(path, SCALE)


def heavy(tmp_path, name='ball.stl'):
    """Return a sphere of many triangles as a mesh file."""
    return write_stl(tmp_path / name, make_sphere(0.2, 120).corners)


def test_a_heavy_mesh_is_read_once_and_then_comes_from_the_cache(tmp_path, monkeypatch):
    mesh, lines = heavy(tmp_path), []
    (first,) = read_meshes([mesh], lines.append)
    assert mesh_files.FEWEST / 4 < len(first.corners) <= mesh_files.MOST
    radii = np.linalg.norm(first.corners, axis=2)
    assert radii.min() > 0.19 and radii.max() < 0.201
    assert len(lines) == 1 and '1 mesh' in lines[0] and str(cache_folder()) in lines[0]
    monkeypatch.setattr(subprocess, 'run', lambda *_, **__: pytest.fail('read again'))
    (second,) = read_meshes([mesh], lines.append)
    assert np.array_equal(first.corners, second.corners) and len(lines) == 1


def test_a_changed_file_is_read_again_and_so_is_a_damaged_entry(tmp_path):
    mesh = heavy(tmp_path)
    read_meshes([mesh])
    (entry,) = cache_folder().glob('*.npy')
    entry.write_bytes(entry.read_bytes()[:1000])
    (mended,) = read_meshes([mesh])
    assert len(mended.corners) > 100
    write_stl(mesh.path, 2.0 * make_sphere(0.2, 120).corners)
    (larger,) = read_meshes([mesh])
    assert larger.bounds()[1] == pytest.approx(2.0 * mended.bounds()[1], rel=0.02)


def test_each_scale_of_a_file_is_a_surface_of_its_own(tmp_path):
    mesh = heavy(tmp_path)
    plain, large = read_meshes([mesh, mesh._replace(scale=(3.0, 1.0, 1.0))])
    assert large.bounds()[1] == pytest.approx(plain.bounds()[1] * (3.0, 1.0, 1.0), rel=0.02)


def test_a_small_file_is_read_at_once_and_needs_no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, 'run', lambda *_, **__: pytest.fail('another process'))
    corners = make_sphere(0.1, 8).corners
    (surface,) = read_meshes([write_stl(tmp_path / 'small.stl', corners)])
    assert len(surface.corners) == len(corners) and not cache_folder().exists()


def test_a_small_file_of_a_huge_mesh_is_left_out(tmp_path):
    (fault,) = read_meshes([write_stl(tmp_path / 'huge.stl', np.full((2, 3, 3), 1e30))])
    assert 'huge.stl' in fault and 'larger than 1e+06 m' in fault


@pytest.mark.parametrize(
    ('name', 'content'),
    [
        ('short.stl', b'solid' + bytes(90)),
        ('broken.dae', b'<COLLADA><library_geometries><geometry>'),
        ('wrong.obj', b'v 0 0 0\nf 1 2 3\n'),
        ('empty.obj', b''),
        ('deep.dae', b'<a>' * 20000),
        ('text.png', b'not a mesh'),
        ('nan.obj', b'v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'),
        ('far.obj', b'v 1e300 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'),
    ],
)
def test_a_file_that_is_no_mesh_is_left_out_and_the_others_are_read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    fault, surface = read_meshes([MeshFile(tmp_path / name, SCALE), heavy(tmp_path)])
    assert isinstance(fault, str) and name in fault and 'left out' in fault
    assert len(surface.corners) > 100


def test_a_file_that_ends_the_reader_is_named_and_the_next_ones_are_read(tmp_path, monkeypatch):
    meshes = [heavy(tmp_path, f'{name}.stl') for name in ('good', 'bad', 'last')]
    run, seen = subprocess.run, []

    def die_at_bad(command, *, input, **options):
        order = json.loads(input)
        names = [Path(path).stem for path, _, _ in order['jobs']]
        seen.append(names)
        if 'bad' in names:
            del order['jobs'][names.index('bad') :]
        return run(command, input=json.dumps(order).encode(), **options)

    monkeypatch.setattr(subprocess, 'run', die_at_bad)
    good, bad, last = read_meshes(meshes)
    assert seen == [['good', 'bad', 'last'], ['last']]
    assert 'bad.stl' in bad and 'more than 20 s' in bad
    assert len(good.corners) == len(last.corners)


def test_a_file_that_takes_too_long_ends_the_reader_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_files, 'MESH_SECONDS', 1e-4)
    (fault,) = read_meshes([heavy(tmp_path)])
    assert 'ball.stl' in fault and 'more than 0.0001 s' in fault


def test_all_meshes_together_have_a_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_files, 'ALL_SECONDS', 0.0)
    faults = read_meshes([heavy(tmp_path, 'a.stl'), heavy(tmp_path, 'b.stl')])
    assert all('more than 0 s' in fault for fault in faults) and 'a.stl' in faults[0]


def test_without_a_folder_for_the_cache_meshes_are_drawn_all_the_same(tmp_path, monkeypatch):
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('SSIK_ROS_CACHE_DIR', str(tmp_path / 'file'))
    (surface,) = read_meshes([heavy(tmp_path)])
    assert len(surface.corners) > 100


def test_the_oldest_files_leave_a_full_cache(tmp_path, monkeypatch):
    read_meshes([heavy(tmp_path, 'old.stl')])
    (old,) = cache_folder().glob('*.npy')
    os.utime(old, (1.0, 1.0))
    monkeypatch.setattr(mesh_files, 'MOST_CACHED', old.stat().st_size + 100)
    read_meshes([heavy(tmp_path, 'new.stl')])
    assert [file == old for file in cache_folder().glob('*.npy')] == [False]


def test_a_session_builds_trees_only_for_meshes_that_come_near(tmp_path):
    """Trees of fine meshes would take most of the memory of a page."""
    path = write_stl(tmp_path / 'ball.stl', make_sphere(0.02, 40).corners).path
    geometry = f'<geometry><mesh filename="file://{path}"/></geometry>'
    robot = two_arms(f'<collision>{geometry}</collision>')
    session = Session(robot, robot.group('both'))
    for _ in range(5):
        target = session.targets[session.tips[0]].copy()
        target[:3, 3] += 0.02
        session.move_target(session.tips[0], target)
        session.complete()
        assert session.unchecked == '' and not session.contacts
    scene = session.server.scene
    (mesh,) = {entry.shape.geometry for entry in scene.collisions.scene(scene.world.now()).shapes}
    assert mesh.trees == {}
    assert session.nearest_pair().distance > 0.0 and len(mesh.trees) == 1
