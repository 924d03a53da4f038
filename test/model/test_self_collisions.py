"""Self collisions: primitive shapes, excluded pairs, padding, meshes that are not there."""

from test.model.small_robots import joint, robot

import coal
import numpy as np
import pytest

from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.collision.geometry import read_mesh, read_triangles, STL_TRIANGLE
from ssik_ros.model.loader import load_robot

SPHERE = '<sphere radius="0.1"/>'
LINKS = {'a': SPHERE, 'b': '', 'c': SPHERE, 'd': SPHERE}


def with_shapes(text, shapes, origin=''):
    """Return a description whose links have collision shapes."""
    for link, shape in shapes.items():
        collision = f'<collision>{origin}<geometry>{shape}</geometry></collision>' if shape else ''
        text = text.replace(f'<link name="{link}"/>', f'<link name="{link}">{collision}</link>')
    return text


def rail(shapes=LINKS, origin=''):
    """Return three sliders on one line: a -i- b -j- c -k- d, a shape on each but b."""
    free = 'lower="-9" upper="9"'
    sliders = [
        joint(name, 'prismatic', parent, child, axis='1 0 0', limit=free)
        for name, parent, child in (('i', 'a', 'b'), ('j', 'b', 'c'), ('k', 'c', 'd'))
    ]
    return with_shapes(robot(*sliders), shapes, origin)


def srdf(*pairs, extra=''):
    """Return a semantic description that excludes pairs of links."""
    inside = ''.join(
        f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in pairs
    )
    return f'<robot name="r">{inside}{extra}</robot>'


ONLY_A_AND_D = srdf('ac', 'cd')


def colliding(positions, text=None, semantics=ONLY_A_AND_D, **options):
    """Return the colliding pair of the rail at some positions."""
    checker = CollisionChecker(load_robot(text or rail(), semantics), **options)
    return checker.colliding_pair(np.array(positions))


def test_links_that_overlap_are_named():
    assert colliding([0.0, 0.0, 0.15]) == ('a', 'd')


def test_links_that_do_not_overlap_are_free():
    assert colliding([0.0, 0.0, 0.21]) is None


def test_padding_keeps_links_further_apart():
    assert colliding([0.0, 0.0, 0.21], padding=0.02) == ('a', 'd')


def test_pairs_that_the_semantic_description_excludes_are_not_checked():
    assert colliding([0.0, 0.0, 0.0], semantics=srdf('ac', 'cd', 'da')) is None


def test_neighbours_are_checked_unless_excluded():
    assert colliding([0.0, 1.0, 0.0], semantics=srdf('ac', 'ad')) == ('c', 'd')


def test_neighbours_are_left_out_when_nothing_is_excluded():
    assert colliding([0.0, 1.0, 0.05], semantics=None) is None


def test_links_that_touch_in_every_state_are_left_out_when_nothing_is_excluded():
    huge = '<sphere radius="99"/>'
    assert colliding([0.0, 1.0, 0.0], rail({'a': huge, 'd': huge}), None) is None


def test_links_that_touch_in_some_states_are_checked_when_nothing_is_excluded():
    assert colliding([0.0, 1.0, -1.0], semantics=None) == ('a', 'd')


def test_a_link_without_default_collisions_collides_only_where_enabled():
    base = '<disable_default_collisions link="d"/>'
    assert colliding([0.0, 0.0, 0.15], semantics=srdf('ac', extra=base)) is None
    enabled = base + '<enable_collisions link1="a" link2="d"/>'
    assert colliding([0.0, 0.0, 0.15], semantics=srdf('ac', extra=enabled)) == ('a', 'd')


def test_links_of_one_body_never_collide():
    text = with_shapes(
        robot(joint('j', 'revolute', 'a', 'b'), joint('k', 'fixed', 'b', 'c', limit='')),
        {'b': SPHERE, 'c': SPHERE},
    )
    model = load_robot(text, srdf('ab'))
    assert CollisionChecker(model).colliding_pair(model.default_positions()) is None


def test_shapes_stand_at_their_origins():
    text = rail(
        {'a': '<box size="0.2 2 0.2"/>', 'd': '<box size="0.2 0.2 2"/>'},
        '<origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/>',
    )
    # Turned about x, box a points along z and box d along y: they part when d is 0.2 away.
    assert colliding([0.0, 0.0, 0.19], text) == ('a', 'd')
    assert colliding([0.0, 0.0, 0.21], text) is None


def test_shapes_stand_away_from_their_link_where_the_origin_says_so():
    shapes = {'d': SPHERE}
    text = with_shapes(rail(shapes, '<origin xyz="5 0 0"/>'), {'a': SPHERE})
    assert colliding([0.0, 0.0, -4.9], text) == ('a', 'd')
    assert colliding([0.0, 0.0, 0.0], text) is None


@pytest.mark.parametrize(
    'shape',
    [
        '<box size="0.2 0.2 0.2"/>',
        '<cylinder radius="0.1" length="0.2"/>',
        '<capsule radius="0.1" length="0.2"/>',
    ],
)
def test_all_primitive_shapes_of_urdf_are_known(shape):
    text = rail({'a': shape, 'd': shape})
    assert colliding([0.0, 0.0, 0.19], text) == ('a', 'd')
    assert colliding([0.0, 0.0, 0.21], text) is None


def test_a_robot_without_geometry_says_so():
    checker = CollisionChecker(load_robot(rail({})))
    assert not checker.available
    assert checker.colliding_pair(np.zeros(3)) is None


@pytest.mark.parametrize(
    ('shape', 'message'),
    [
        ('<mesh filename="package://gone/link.stl"/>', 'package://gone/link.stl'),
        ('<cone/>', '<cone>'),
        (' ', 'empty'),
    ],
)
def test_geometry_that_is_left_out_is_named_with_its_link(shape, message):
    checker = CollisionChecker(load_robot(rail({'a': shape, 'd': SPHERE})))
    assert checker.checked_links == ('d',)
    (warning,) = checker.warnings
    assert "'a'" in warning
    assert message in warning


TETRAHEDRON = """solid t
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 0 1 0 vertex 1 0 0 endloop endfacet
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 0 1 endloop endfacet
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 0 0 1 vertex 0 1 0 endloop endfacet
facet normal 0 0 0 outer loop vertex 1 0 0 vertex 0 1 0 vertex 0 0 1 endloop endfacet
endsolid t
"""


def test_a_mesh_of_an_installed_package_is_scaled_and_checked(tmp_path, monkeypatch):
    folder = tmp_path / 'share' / 'arm_description'
    folder.mkdir(parents=True)
    (folder / 'link.stl').write_text(TETRAHEDRON)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    mesh = '<mesh filename="package://arm_description/link.stl" scale="2 1 1"/>'
    text = rail({'a': mesh, 'd': SPHERE})
    assert colliding([0.0, 0.0, 1.9], text) == ('a', 'd')
    assert colliding([0.0, 0.0, 2.2], text) is None


def write_binary_stl(path, corners):
    """Write the corners (k, 3, 3) of triangles as a binary STL file."""
    rows = np.zeros(len(corners), STL_TRIANGLE)
    rows['corners'] = corners
    path.write_bytes(bytes(80) + np.uint32(len(corners)).tobytes() + rows.tobytes())


def test_a_binary_stl_has_the_triangles_that_the_library_reads(tmp_path):
    path, scale = tmp_path / 'part.stl', np.array((2.0, 1.0, 0.5))
    corners = np.random.default_rng(1).random((20, 3, 3), dtype=np.float32)
    write_binary_stl(path, corners)
    vertices, triangles = read_triangles(path, scale, coal)
    assert np.array_equal(vertices[triangles], corners * scale)
    mesh = read_mesh(path, scale, coal)
    assert sorted(mesh.vertices[mesh.triangles].sum(axis=(1, 2))) == pytest.approx(
        sorted((corners * scale).sum(axis=(1, 2)))
    )


@pytest.mark.parametrize('fault', ['cut', 'no triangles', 'not finite'])
def test_a_binary_stl_with_a_fault_is_left_to_the_library(tmp_path, fault):
    path, corners = tmp_path / 'part.stl', np.ones((2, 3, 3))
    if fault == 'not finite':
        corners[1, 2, 0] = np.nan
    write_binary_stl(path, corners[: 0 if fault == 'no triangles' else None])
    if fault == 'cut':
        path.write_bytes(path.read_bytes()[:-10])
    reason = read_triangles(path, np.ones(3), coal)
    assert isinstance(reason, str) and 'is left out' in reason


def test_checkers_share_a_mesh_until_its_file_changes(tmp_path):
    path = tmp_path / 'link.stl'
    mesh = f'<mesh filename="file://{path}"/>'

    def shapes():
        checker = CollisionChecker(load_robot(rail({'a': mesh, 'd': mesh}), ONLY_A_AND_D))
        return [shape.geometry for shape in checker.shapes]

    path.write_text(TETRAHEDRON)
    first, second = shapes(), shapes()
    assert all(geometry is first[0] for geometry in (*first, *second))
    write_binary_stl(path, np.eye(3)[None])
    assert all(geometry is not first[0] for geometry in shapes())


def test_a_mesh_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / 'link.stl'
    path.write_text('no mesh at all')
    checker = CollisionChecker(load_robot(rail({'a': f'<mesh filename="file://{path}"/>'})))
    assert str(path) in checker.warnings[0]


@pytest.mark.parametrize('corner', ['nan 0 0', '0 1e39 0'])
def test_a_mesh_with_a_corner_that_is_nowhere_is_left_out(tmp_path, corner):
    path = tmp_path / 'link.obj'
    path.write_text(f'v {corner}\nv 1 0 0\nv 0 1 0\nf 1 2 3\n')
    checker = CollisionChecker(load_robot(rail({'a': f'<mesh filename="file://{path}"/>'})))
    assert 'a vertex is not finite' in checker.warnings[0] and not checker.available


@pytest.mark.parametrize(
    'shape', ['<box size="0 1 1"/>', '<sphere radius="-0.1"/>', '<capsule radius="1" length="0"/>']
)
def test_a_solid_of_a_robot_without_extent_is_taken_with_a_warning(caplog, shape):
    checker = CollisionChecker(load_robot(rail({'a': shape, 'd': SPHERE}), ONLY_A_AND_D))
    assert checker.checked_links == ('a', 'd') and not checker.warnings
    assert f'<{shape[1:].split()[0]}> in line 1' in caplog.text
    caplog.clear()
    CollisionChecker(load_robot(rail()))
    assert not caplog.text


def warning_about(mesh, **options):
    """Return the sentence about the one mesh of a robot that is left out."""
    text = rail({'a': f'<mesh filename="{mesh}"/>'})
    (warning,) = CollisionChecker(load_robot(text, **options)).warnings
    return warning


def test_a_mesh_beside_the_file_of_a_robot_is_read(tmp_path):
    (tmp_path / 'link.stl').write_text(TETRAHEDRON)
    (tmp_path / 'arm.urdf').write_text(rail({'a': '<mesh filename="link.stl"/>'}))
    assert CollisionChecker(load_robot(tmp_path / 'arm.urdf')).checked_links == ('a',)


def test_a_mesh_of_the_package_around_the_file_of_a_robot_is_read(tmp_path):
    """A clone of a description package that is neither built nor sourced."""
    package = tmp_path / 'workspace' / 'arm_description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'package.xml').touch()
    (package / 'link.stl').write_text(TETRAHEDRON)
    text = rail({'a': '<mesh filename="package://arm_description/link.stl"/>'})
    for folder in (package / 'urdf', tmp_path / 'workspace'):
        (folder / 'arm.urdf').write_text(text)
        assert CollisionChecker(load_robot(folder / 'arm.urdf')).checked_links == ('a',)
    # Text, as from a topic, has no place.
    (warning,) = CollisionChecker(load_robot(text)).warnings
    assert "package 'arm_description' is not installed: source the workspace" in warning
    (package / 'package.xml').unlink()
    (warning,) = CollisionChecker(load_robot(package / 'urdf' / 'arm.urdf')).warnings
    assert 'nor is its folder around the URDF' in warning


@pytest.mark.parametrize('name', ['..', '.', ''])
def test_a_package_around_a_robot_is_no_other_folder(tmp_path, name):
    (tmp_path / 'link.stl').write_text(TETRAHEDRON)
    (tmp_path / 'package.xml').touch()
    (tmp_path / 'urdf').mkdir()
    text = rail({'a': f'<mesh filename="package://{name}/link.stl"/>'})
    (tmp_path / 'urdf' / 'arm.urdf').write_text(text)
    assert CollisionChecker(load_robot(tmp_path / 'urdf' / 'arm.urdf')).warnings


def test_a_plain_path_in_the_text_of_a_robot_names_no_mesh(tmp_path):
    path = tmp_path / 'link.stl'
    path.write_text(TETRAHEDRON)
    warning = warning_about(path)
    assert 'is not found' in warning and 'package:// or file://' in warning


def test_a_file_that_is_no_mesh_by_its_name_is_not_opened(tmp_path):
    path = tmp_path / 'link.txt'
    path.write_text(TETRAHEDRON)
    assert 'its name ends in none of' in warning_about(f'file://{path}')


def test_a_mesh_above_the_largest_size_is_not_opened(tmp_path):
    path = tmp_path / 'link.STL'
    with path.open('wb') as file:
        file.truncate((64 << 20) + 1)
    assert 'larger than 64 MiB' in warning_about(f'file://{path}')


def test_followers_are_moved_before_checking():
    text = with_shapes(
        robot(
            joint('j', 'prismatic', 'a', 'b', axis='1 0 0', limit='lower="-9" upper="9"'),
            joint(
                'k',
                'prismatic',
                'b',
                'c',
                '<mimic joint="j"/>',
                axis='1 0 0',
                limit='lower="-9" upper="9"',
            ),
        ),
        {'a': SPHERE, 'c': SPHERE},
    )
    checker = CollisionChecker(load_robot(text, srdf('ab')))
    assert checker.colliding_pair(np.array([0.05, 9.0])) == ('a', 'c')
