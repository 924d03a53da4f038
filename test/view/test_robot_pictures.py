"""Pictures of robots: their shapes move as their links do, and shapes that cannot be drawn are named."""

import itertools

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
import pytest

from ssik_ros import load_robot, RobotState
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.view.pictures import RobotPictures, save_animation, save_picture
from ssik_ros.view.pictures.renderer import Camera
from ssik_ros.view.pictures.robot_solids import MARKED, PLAIN, RobotSolids
from ssik_ros.view.pictures.solids import make_box, Surface

BODY = """
<robot name="r">
  <material name="blue"><color rgba="0.1 0.2 0.9 1"/></material>
  <link name="base"><visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
  <joint name="turn" type="revolute">
    <origin xyz="0 0 0.5"/><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="arm">
    <visual><origin xyz="1 0 0"/><geometry>{shape}</geometry><material name="blue"/></visual>
    <collision><geometry><sphere radius="9"/></geometry></collision>
  </link>
  <joint name="end" type="fixed">
    <origin xyz="2 0 0"/><parent link="arm"/><child link="tip"/>
  </joint>
  <link name="tip"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
</robot>
"""


def body(shape='<box size="0.4 0.2 0.2"/>'):
    """Return the solids of a small robot."""
    return RobotSolids(load_robot(BODY.format(shape=shape)))


def test_solids_move_with_their_links():
    solids = body()
    for angle in (0.0, 0.5 * np.pi, -2.0):
        (base, _), (arm, _), (tip, _) = solids.at(np.array([angle]))
        direction = np.array((np.cos(angle), np.sin(angle), 0.0))
        middle = arm.corners.reshape(-1, 3)
        middle = 0.5 * (middle.min(axis=0) + middle.max(axis=0))
        assert middle == pytest.approx(np.add(direction, (0.0, 0.0, 0.5)))
        assert tip.corners.mean(axis=(0, 1)) == pytest.approx(
            np.add(2.0 * direction, (0.0, 0.0, 0.5)), abs=1e-2
        )
        assert np.abs(base.corners).max() == pytest.approx(0.1)


def test_colours_come_from_materials_or_are_plain():
    colours = [colour for _, colour in body().at(np.zeros(1))]
    assert colours == [PLAIN, (0.1, 0.2, 0.9), PLAIN]
    assert {c for _, c in body().at(np.zeros(1), (0.5, 0.5, 0.5))} == {(0.5, 0.5, 0.5)}


def test_coarser_solids_keep_their_meshes(tmp_path):
    file = tmp_path / 'part.stl'
    corners = '0 0 0', '1 0 0', '0 1 0', '0 0 1'
    faces = [[corners[k] for k in face] for face in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))]
    lines = ['\n'.join(f'vertex {corner}' for corner in face) for face in faces]
    parts = [f'facet normal 0 0 1\nouter loop\n{text}\nendloop\nendfacet' for text in lines]
    file.write_text('\n'.join(('solid part', *parts, 'endsolid part')))
    mesh = f'<mesh filename="file://{file}"/>'
    solids = body(mesh)
    # A missing file cannot be read again.
    file.unlink()
    coarse = solids.coarser(6)
    assert not solids.warnings + coarse.warnings
    (arm, tip), (coarse_arm, coarse_tip) = (
        [dict(s.by_link())[link][0][0].corners for link in ('arm', 'tip')]
        for s in (solids, coarse)
    )
    assert len(tip) == 784 and len(coarse_tip) == 6 * 3 * 2
    assert np.array_equal(arm, coarse_arm)


def test_marked_links_have_the_colour_of_marks():
    solids = body()
    colours = [colour for _, colour in solids.at(np.zeros(1), marked=['arm'])]
    assert colours == [PLAIN, MARKED, PLAIN]
    with pytest.raises(KeyError, match='elbow'):
        solids.at(np.zeros(1), marked=['elbow'])


def test_scenery_stands_in_every_picture_and_is_seen_whole():
    robot = load_robot(BODY.format(shape='<box size="0.4 0.2 0.2"/>'))
    table = make_box((0.5, 0.5, 0.1)).moved(
        np.array([[1, 0, 0, -4.0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    )
    state = np.zeros(1)
    red = (0.9, 0.0, 0.0)
    pictures = RobotPictures(robot, [state], size=(200, 150), scenery=[(table, red)])
    image = pictures.draw([state]).astype(int)
    is_red = image[..., 0] > 2 * image[..., 1:].max(axis=2) + 20
    assert is_red.any()
    edge = np.concatenate([is_red[0], is_red[-1], is_red[:, 0], is_red[:, -1]])
    assert not edge.any()


def test_collision_elements_stand_in_for_missing_visual_ones_only():
    assert body().bounds(np.zeros(1))[1] == pytest.approx((2.1, 0.1, 0.6), abs=1e-2)


def test_a_mesh_is_drawn_and_a_missing_one_named(tmp_path):
    corners = make_box((1.0, 1.0, 1.0)).corners
    lines = [f'v {x} {y} {z}' for x, y, z in corners.reshape(-1, 3)]
    lines += [f'f {3 * i + 1} {3 * i + 2} {3 * i + 3}' for i in range(len(corners))]
    path = tmp_path / 'box.obj'
    path.write_text('\n'.join(lines) + '\n')
    solids = body(f'<mesh filename="file://{path}" scale="0.2 0.2 0.2"/>')
    assert not solids.warnings
    drawn_corners = solids.at(np.zeros(1))[1][0].corners.reshape(-1, 3)
    assert drawn_corners.min(axis=0) == pytest.approx((0.9, -0.1, 0.4))
    missing = body('<mesh filename="package://nowhere/a.stl"/>')
    assert len(missing.at(np.zeros(1))) == 2
    assert 'package://nowhere/a.stl' in missing.warnings[0]


SIZE = (90, 60)
FINER = 8
"""Pixels of an expected silhouette along each edge of a pixel."""


def triangles_by_link(robot, state):
    """Return the surfaces of each link as triangles (k, 3, 3) in the root frame, placed by pinocchio."""
    kinematics, placed = ReferenceKinematics(robot), {}
    for link, surfaces in RobotSolids(robot).by_link():
        pose = kinematics.link_pose(state, link)
        placed[link] = [surface.corners @ pose[:3, :3].T + pose[:3, 3] for surface, _ in surfaces]
    return placed


def camera_around(surfaces):
    """Return the camera that sees the boxes around surfaces (k, 3, 3)."""
    corners = [
        list(itertools.product(*zip(flat.min(axis=0), flat.max(axis=0), strict=True)))
        for flat in (surface.reshape(-1, 3) for surface in surfaces)
    ]
    return Camera.around(np.concatenate(corners), size=SIZE)


def covered_shares(camera, surfaces, *, is_inner=False):
    """
    Return the share of each pixel (height, width) that triangles cover, as Pillow draws them.

    Pillow fills each pixel that an edge touches. Those at the edge of the silhouette do not count if ``is_inner``.
    """
    width, height = SIZE
    forward = np.subtract(camera.target, camera.eye)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    focal = 0.5 * height / np.tan(np.radians(0.5 * camera.angle))
    canvas = Image.new('L', (FINER * width, FINER * height))
    pen = ImageDraw.Draw(canvas)
    axes = np.stack((right, np.cross(forward, right), forward))
    x, y, z = np.moveaxis((np.concatenate(surfaces) - np.array(camera.eye)) @ axes.T, -1, 0)
    columns, rows = focal * x / z + 0.5 * width, focal * y / z + 0.5 * height
    for outline in (FINER * np.stack((columns, rows), axis=-1)).reshape(-1, 6).tolist():
        pen.polygon(outline, fill=1)
    if is_inner:
        canvas = canvas.filter(ImageFilter.MinFilter(3))
    return np.array(canvas).reshape(height, FINER, width, FINER).mean(axis=(1, 3))


def is_red(image):
    return image[..., 0] > 2 * image[..., 1:3].max(axis=2).astype(int)


@pytest.mark.parametrize('turn', [0.0, 0.5])
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'fanuc', 'gen3'])
def test_every_robot_that_comes_along_is_drawn_where_its_links_are(name, turn):
    robot = load_robot(find_moveit_config(name).urdf_path)
    state = RobotState(robot).positions.copy()
    state[:6] += turn
    links = triangles_by_link(robot, state)
    surfaces = list(itertools.chain.from_iterable(links.values()))
    camera = camera_around(surfaces)
    pictures = RobotPictures(robot, [state], size=SIZE)
    plain = pictures.draw([state], is_transparent=True)
    shares, is_covered = covered_shares(camera, surfaces), plain[..., 3] == 255
    is_inside = covered_shares(camera, surfaces, is_inner=True) == 1.0
    assert is_inside.sum() > 150
    assert is_covered[is_inside].all() and not is_covered[shares == 0.0].any()
    assert not is_red(plain)[is_covered].any()
    assert is_red(pictures.draw([state], marked=list(links)))[is_covered].all()
    seen = 0
    for link, parts in links.items():
        marked = pictures.draw([state], marked=[link], is_transparent=True)
        changes = (marked != plain).any(axis=2)
        assert not changes[covered_shares(camera, parts) == 0.0].any()
        seen += changes.any()
    assert seen >= 6


def test_equal_states_give_equal_pictures_and_ghosts_add_to_them():
    robot = body().robot
    states = [np.array([0.0]), np.array([1.0])]
    pictures = RobotPictures(robot, states, size=(90, 60))
    alone, again = pictures.draw(states[:1]), pictures.draw(states[:1])
    assert (alone == again).all()
    with_ghost = pictures.draw(states, frames=[np.eye(4)], lines=[np.eye(3)])
    assert (with_ghost != alone).any(axis=2).mean() > 0.02


def test_files_hold_what_was_drawn(tmp_path):
    robot = body().robot
    states = [np.array([angle]) for angle in (0.0, 0.4, 0.8)]
    pictures = RobotPictures(robot, states, size=(90, 60))
    images = [pictures.draw([state]) for state in states]
    save_picture(tmp_path / 'a.png', images[0])
    assert (np.array(Image.open(tmp_path / 'a.png')) == images[0]).all()
    save_animation(tmp_path / 'a.gif', images, 10.0)
    animation = Image.open(tmp_path / 'a.gif')
    assert animation.n_frames == 3 and animation.info['duration'] == 100
    for number, image in enumerate(images):
        animation.seek(number)
        difference = np.abs(np.array(animation.convert('RGB')).astype(int) - image)
        assert difference.mean() < 4.0
        assert difference[0, 0].max() == 0, 'the background is white, as in pictures'


def test_a_transparent_picture_on_white_is_the_picture():
    states = [np.array([angle]) for angle in (0.0, 1.0)]
    pictures = RobotPictures(body().robot, states, size=(90, 60))
    opaque = pictures.draw(states, frames=[np.eye(4)])
    clear = pictures.draw(states, frames=[np.eye(4)], is_transparent=True)
    assert clear.shape == (60, 90, 4) and clear[0, 0, 3] == 0 and clear[..., 3].max() == 255
    alpha = clear[..., 3:] / 255.0
    on_white = alpha * clear[..., :3] + (1.0 - alpha) * 255.0
    assert np.abs(on_white - opaque).max() < 2.0


def test_a_webp_animation_is_transparent(tmp_path):
    states = [np.array([angle]) for angle in (0.0, 0.4)]
    pictures = RobotPictures(body().robot, states, size=(90, 60))
    images = [pictures.draw([state], is_transparent=True) for state in states]
    save_animation(tmp_path / 'a.webp', images, 10.0)
    animation = Image.open(tmp_path / 'a.webp')
    assert animation.n_frames == 2
    assert np.array(animation.convert('RGBA'))[0, 0, 3] == 0


def test_a_mirrored_mesh_of_a_ghost_faces_outwards():
    pytest.importorskip('msgspec', reason='needs the extra view: pip install viser')
    from ssik_ros.view.browser.link_meshes import facing_outwards

    box = make_box((1.0, 2.0, 3.0)).moved(
        np.array(((1, 0, 0, 9.0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)))
    )
    mirrored = Surface(box.corners * (-1.0, 1.0, 1.0), box.normals * (-1.0, 1.0, 1.0))
    assert facing_outwards(box) is box
    for surface in (box, facing_outwards(mirrored)):
        a, b, c = np.moveaxis(surface.corners, 1, 0)
        assert (np.einsum('ij,ij->i', np.cross(b - a, c - a), surface.normals[:, 0]) > 0.0).all()
