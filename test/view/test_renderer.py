"""The renderer against geometry: silhouettes, depth, light, shadow and ghosts."""

import numpy as np
import pytest

from ssik_ros.view.pictures.renderer import Camera, Picture
from ssik_ros.view.pictures.solids import (
    join,
    make_box,
    make_cylinder,
    make_frame,
    make_mesh,
    make_sphere,
    make_tube,
    simplify,
    Surface,
)

RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
CAMERA = Camera((4.0, 0.0, 1.0), (0.0, 0.0, 1.0), angle=40.0, size=(120, 100))


def at(x, y, z):
    """Return the pose of a frame at a point."""
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def draw(*solids, floor=None, ghosts=()):
    """Return a picture of solids with their colours."""
    picture = Picture(CAMERA)
    for solid, colour in solids:
        picture.add(solid, colour)
    for ghost, colour in ghosts:
        picture.add_ghost([(ghost, colour)], 0.5)
    return picture.draw(floor).astype(int)


def area_of(solid):
    """Return the area of a solid's surface, and the volume that its normals enclose."""
    a, b, c = solid.corners[:, 0], solid.corners[:, 1], solid.corners[:, 2]
    cross = np.cross(b - a, c - a)
    outward = np.sign(np.einsum('ki,ki->k', cross, solid.normals.mean(axis=1)))
    volume = np.einsum('ki,ki->k', outward[:, None] * cross, a + b + c).sum() / 18.0
    return 0.5 * np.linalg.norm(cross, axis=1).sum(), volume


@pytest.mark.parametrize(
    ('solid', 'area', 'volume', 'relative'),
    [
        (make_box((1.0, 2.0, 3.0)), 22.0, 6.0, 1e-12),
        (make_sphere(0.7), 4.0 * np.pi * 0.49, 4.0 / 3.0 * np.pi * 0.343, 0.03),
        (make_cylinder(0.5, 2.0), 2.5 * np.pi, 0.5 * np.pi, 0.01),
        (make_cylinder(0.5, 1.2, 0.0), np.pi * 0.25 + np.pi * 0.5 * 1.3, np.pi * 0.1, 0.01),
    ],
)
def test_solids_have_their_area_and_normals_point_out(solid, area, volume, relative):
    measured = area_of(solid)
    assert measured == pytest.approx((area, volume), rel=relative)
    assert np.linalg.norm(solid.normals, axis=2) == pytest.approx(1.0)


@pytest.mark.parametrize('most', [1000, 300, 60])
def test_a_simpler_surface_has_fewer_triangles_and_about_the_same_shape(most):
    ball = make_sphere(0.7, 60).moved(at(1.0, -2.0, 3.0))
    coarse = simplify(ball, most)
    assert 0.2 * most < len(coarse.corners) <= most < len(ball.corners)
    radii = np.linalg.norm(coarse.corners - (1.0, -2.0, 3.0), axis=2)
    assert radii.min() > 0.45 and radii.max() < 0.701
    out = np.einsum('kij,kij->ki', coarse.normals, coarse.corners - (1.0, -2.0, 3.0))
    assert (out > 0.0).all()
    assert simplify(coarse, most) is coarse


def test_a_tube_leads_through_its_points():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    corners = make_tube(points, 0.1).corners.reshape(-1, 3)
    assert corners.min(axis=0) == pytest.approx((-0.1, -0.1, -0.1), abs=2e-3)
    assert corners.max(axis=0) == pytest.approx((1.1, 2.1, 0.1), abs=2e-3)


def test_a_mesh_is_smooth_across_small_angles_only():
    sphere, box = make_sphere(1.0).corners, make_box((1.0, 1.0, 1.0))
    round_one = make_mesh(sphere.reshape(-1, 3), np.arange(sphere.size // 3).reshape(-1, 3))
    area = np.linalg.norm(
        np.cross(sphere[:, 1] - sphere[:, 0], sphere[:, 2] - sphere[:, 0]), axis=1
    )
    radial = np.einsum('kij,kij->ki', round_one.normals, sphere)[area > 1e-9]
    assert np.abs(radial) == pytest.approx(1.0, abs=0.02)
    cube = make_mesh(box.corners.reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert np.abs(cube.normals).max(axis=2) == pytest.approx(1.0)


@pytest.mark.parametrize('place', [(0.0, 0.0, 1.0), (0.0, 0.5, 1.4), (1.5, -0.3, 0.8)])
def test_the_silhouette_of_a_sphere_has_its_size(place):
    image = draw((make_sphere(0.4).moved(at(*place)), RED))
    seen = (image < 250).any(axis=2)
    distance = np.linalg.norm(np.subtract(CAMERA.eye, place))
    focal = 50.0 / np.tan(np.radians(20.0))
    radius = focal * np.tan(np.arcsin(0.4 / distance))
    # Off the axis a sphere appears as an ellipse, longer by the cosine of its direction.
    cosine = (4.0 - place[0]) / distance
    assert seen.sum() == pytest.approx(np.pi * radius**2 / cosine**3, rel=0.04)


def test_points_are_projected_where_they_are_drawn():
    place = (0.3, -0.4, 1.2)
    image = draw((make_sphere(0.05).moved(at(*place)), RED))
    rows, columns = np.nonzero((image < 250).any(axis=2))
    centre = Picture(CAMERA).project(place)[0]
    assert (columns.mean() + 0.5, rows.mean() + 0.5) == pytest.approx(centre, abs=0.3)


@pytest.mark.parametrize('order', [1, -1])
def test_the_nearer_solid_hides_the_other_one(order):
    near = make_box((0.2, 0.6, 0.6)).moved(at(1.0, 0.0, 1.0)), RED
    far = make_box((0.2, 0.6, 0.6)).moved(at(-1.0, 0.0, 1.0)), BLUE
    image = draw(*(near, far)[::order])
    middle = image[50, 60]
    assert middle[0] > 100 and middle[2] < 60
    assert not (image[..., 2] > image[..., 0] + 50).any()


def test_solids_that_cross_show_the_nearer_part_of_each():
    wide = make_box((0.2, 1.6, 0.2)).moved(at(0.0, 0.0, 1.0)), RED
    long = make_box((1.6, 0.2, 0.2)).moved(at(0.0, 0.0, 1.0)), BLUE
    image = draw(wide, long)
    assert image[50, 60, 2] > image[50, 60, 0]
    assert image[50, 45, 0] > image[50, 45, 2]


def test_a_triangle_behind_the_camera_is_left_out():
    corners = np.array([[[5.0, 0.0, 1.0], [3.0, 1.0, 1.0], [3.0, -1.0, 1.2]]])
    assert (draw((Surface(corners, np.ones((1, 3, 3))), RED)) == 255).all()


def test_light_comes_from_above():
    image = draw((make_sphere(0.8).moved(at(0.0, 0.0, 1.0)), (0.6, 0.6, 0.6)))
    assert image[35, 60].sum() > image[65, 60].sum() + 60


def test_the_shadow_lies_on_the_floor_away_from_the_light():
    ball = make_sphere(0.3).moved(at(0.0, 0.0, 0.3)), (0.6, 0.6, 0.6)
    bare, shaded = draw(ball), draw(ball, floor=0.0)
    darker = (shaded < 235).all(axis=2) & (bare == 255).all(axis=2)
    columns = np.nonzero(darker)[1]
    assert darker.any()
    # The light comes from -y, so that the shadow falls to +y: to the right of a camera at +x.
    assert columns.mean() > Picture(CAMERA).project((0.0, 0.0, 0.0))[0, 0]


def test_a_ghost_lets_half_of_what_is_behind_it_through():
    wall = make_box((0.2, 3.0, 3.0)).moved(at(-1.0, 0.0, 1.0)), BLUE
    ghost = make_box((0.4, 0.4, 0.4)).moved(at(0.0, 0.0, 1.0))
    without, with_ghost = draw(wall), draw(wall, ghosts=[(ghost, RED)])
    alone = draw((ghost, RED))
    mixed = 0.5 * (without[50, 60] + alone[50, 60])
    assert with_ghost[50, 60] == pytest.approx(mixed, abs=2.0)


def test_a_ghost_behind_something_does_not_show():
    front = make_box((0.2, 3.0, 3.0)).moved(at(1.0, 0.0, 1.0)), BLUE
    ghost = make_box((0.4, 0.4, 0.4)).moved(at(0.0, 0.0, 1.0))
    assert (draw(front, ghosts=[(ghost, RED)]) == draw(front)).all()


def test_a_ghost_in_the_place_of_a_solid_does_not_show():
    ball = make_sphere(0.5).moved(at(0.0, 0.0, 1.0))
    assert (draw((ball, BLUE), ghosts=[(ball, RED)]) == draw((ball, BLUE))).all()


def test_an_empty_picture_is_its_background():
    assert (draw(floor=0.0) == 255).all()


def test_a_camera_around_a_box_sees_all_of_it_and_little_else():
    bounds = np.array([[-0.5, -0.2, 0.0], [0.4, 0.3, 1.7]])
    for direction in ((1.0, -0.9, 0.55), (0.2, 1.0, 0.1), (-1.0, 0.1, 2.0)):
        corners = np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T
        camera = Camera.around(corners, direction, (300, 200))
        seen = Picture(camera).project(corners)
        assert (seen > 0.0).all() and (seen < (300.0, 200.0)).all()
        used = (seen.max(axis=0) - seen.min(axis=0)) / (300.0, 200.0)
        assert used.max() > 0.92
        # The points are in the middle: exactly along the edge that they fill.
        middle = 0.5 * (seen.max(axis=0) + seen.min(axis=0)) / (300.0, 200.0)
        assert np.abs(middle - 0.5).min() < 1e-9 and np.abs(middle - 0.5).max() < 0.05


def test_arrows_of_a_frame_point_along_its_axes():
    for axis, (arrow, _) in enumerate(make_frame(0.5)):
        highest = arrow.corners.reshape(-1, 3).max(axis=0)
        assert highest[axis] == pytest.approx(0.5) and np.delete(highest, axis).max() < 0.1


def test_many_samples_are_compared_in_pieces(monkeypatch):
    solids = [(make_sphere(0.4).moved(at(0.2 * i, 0.0, 1.0)), RED) for i in range(4)]
    whole = draw(*solids)
    monkeypatch.setattr('ssik_ros.view.pictures.renderer.SAMPLES_PER_BLOCK', 500)
    assert (draw(*solids) == whole).all()


def test_nothing_joined_is_an_empty_solid():
    assert join([]).corners.shape == (0, 3, 3)
