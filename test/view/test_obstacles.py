"""Obstacles of a viewer: from files and pages, met by the posture."""

from test.view.test_session import session_of

import numpy as np
import pytest

from ssik_ros.errors import ConfigError, ModelError, SsikError
from ssik_ros.view.obstacles import make_solid, obstacle_surface, read_obstacles

HERE = np.eye(4)


def write(tmp_path, text):
    path = tmp_path / 'scene.yaml'
    path.write_text(text)
    return path


def test_a_file_names_solids_and_meshes_with_their_places(tmp_path):
    (tmp_path / 'part.obj').write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n')
    path = write(
        tmp_path,
        'obstacles:\n'
        '  table: {box: [1.0, 0.5, 0.1], xyz: [0.5, 0, 0], rpy: [0, 0, 1.5707963267948966]}\n'
        '  ball: {sphere: 0.2}\n'
        '  post: {cylinder: [1.0, 0.05]}\n'
        '  part: {mesh: part.obj, scale: 0.5}\n',
    )
    obstacles = {item.name: item for item in read_obstacles(path)}
    bounds = {
        name: obstacle_surface(item).moved(item.pose).bounds() for name, item in obstacles.items()
    }
    assert np.allclose(bounds['table'], ((0.25, -0.5, -0.05), (0.75, 0.5, 0.05)))
    assert np.allclose(np.ptp(bounds['ball'], axis=0), 0.4, atol=0.01)
    assert np.allclose(np.ptp(bounds['post'], axis=0), (0.1, 0.1, 1.0), atol=1e-3)
    assert np.allclose(bounds['part'], ((0, 0, 0), (0.5, 0.5, 0.5)))
    (alone,) = read_obstacles(tmp_path / 'part.obj')
    assert alone.name == 'part'


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        ('obstacles: {a: {box: [1, 1]}}', '3 numbers'),
        ('obstacles: {a: {box: [1, 1, -1]}}', 'above zero'),
        ('obstacles: {a: {sphere: 0.1, box: [1, 1, 1]}}', 'needs one of'),
        ('obstacles: {a: {}}', 'needs one of'),
        ('obstacles: {a: {spheer: 1}}', 'sphere'),
        ('obstacles: {a: {mesh: none.stl}}', 'none.stl'),
        ('obstacles: {a: {mesh: scene.yaml}}', 'ends in none of'),
        ('things: {}', 'obstacles'),
        ('obstacles: [1]', 'obstacles'),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, what):
    with pytest.raises(SsikError, match=what):
        read_obstacles(write(tmp_path, text))


def test_a_file_error_names_the_line(tmp_path):
    path = write(tmp_path, 'obstacles:\n  a: {sphere: 1}\n  b: {sphere: x}\n')
    with pytest.raises(ConfigError, match=r'scene\.yaml:3'):
        read_obstacles(path)


@pytest.mark.parametrize(('kind', 'sizes'), [('box', [1.0, 1.0]), ('sphere', [0.0]), ('box', [])])
def test_a_page_gets_no_solid_of_wrong_numbers(kind, sizes):
    with pytest.raises(ModelError):
        make_solid('a', kind, sizes, HERE)


def test_a_page_gets_no_solid_that_is_too_large():
    with pytest.raises(SsikError, match='may be 10 m'):
        make_solid('a', 'sphere', [11.0], HERE)


def in_the_way(session):
    """Return a ball around the elbow of the shown posture, away from hand and base."""
    pose = np.eye(4)
    pose[:3, 3] = session.tip_pose('panda_link4')[:3, 3]
    return make_solid('ball', 'sphere', [0.05], pose)


def test_a_posture_goes_around_an_obstacle_and_collides_with_it_otherwise():
    session = session_of()
    target = session.targets['panda_link8'].copy()
    session.put_obstacle(in_the_way(session))
    session.complete()
    assert 'ball' in {c.first for c in session.contacts} | {c.second for c in session.contacts}
    session.avoids_collisions = True
    session.solve()
    session.complete()
    assert session.outcome.solved and not session.contacts
    assert np.abs(session.tip_pose('panda_link8') - target).max() < 2e-3
    for branch in session.branches:
        state = session.state_with(branch.positions)
        elbow = session.tip_pose('panda_link4', state)[:3, 3]
        assert np.linalg.norm(elbow - session.obstacles[0].pose[:3, 3]) > 0.05


def test_an_obstacle_that_moves_into_the_arm_makes_it_yield():
    session = session_of()
    ball = in_the_way(session)
    far = ball.pose.copy()
    far[:3, 3] += 3.0
    session.avoids_collisions = True
    session.put_obstacle(ball)
    session.move_obstacle('ball', far)
    session.go_home()
    before = session.joints.copy()
    session.move_obstacle('ball', ball.pose)
    session.complete()
    assert session.outcome.solved and not session.contacts
    assert np.abs(session.joints - before).max() > 0.01
    session.remove_obstacle('ball')
    assert session.obstacles == ()
    with pytest.raises(ModelError, match='no object'):
        session.move_obstacle('ball', far)


def test_obstacles_stay_when_the_solver_changes():
    session = session_of()
    session.put_obstacle(in_the_way(session))
    session.use_solver('ssik_ros/LevenbergMarquardt', {})
    session.complete()
    assert len(session.obstacles) == 1 and session.contacts
