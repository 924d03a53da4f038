"""Arms with simple shapes are drawn with the meshes of a URDF that has the same axes."""

import numpy as np
import pytest

from ssik_ros import load_robot
from ssik_ros.model import description_files
from ssik_ros.model.catalogue import load_arm
from ssik_ros.model.description_files import find_moveit_config, resolve_package_uri
from ssik_ros.view.pictures import maker_shapes
from ssik_ros.view.pictures.robot_solids import RobotSolids

TRIANGLE = 'v 0 0 0\nv 0.01 0 0\nv 0 0.01 0\nf 1 2 3\n'
"""A mesh whose first corner is the origin of its link."""
OWN = """
<robot name="own">
  <link name="base"/>
  <joint name="a" type="revolute">
    <origin xyz="0 0 0.3"/><parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="one"/>
  <joint name="b" type="revolute">
    <origin xyz="0 0.1 0" rpy="-1.5707963267948966 0 0"/><parent link="one"/><child link="two"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="two"/>
  <joint name="c" type="revolute">
    <origin xyz="0.4 0 0"/><parent link="two"/><child link="three"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="three"/>
</robot>
"""
# The same axes in other frames: the base is turned by a quarter, and joint b turns about y.
MAKER = """
<robot name="maker">
  <link name="foot"/>
  <joint name="a" type="revolute">
    <origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><parent link="foot"/><child link="m1"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="m1"/>
  <joint name="b" type="revolute">
    <origin xyz="0 0.1 0"/><parent link="m1"/><child link="m2"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="m2"/>
  <joint name="c" type="revolute">
    <origin xyz="{length} 0 0"/><parent link="m2"/><child link="m3"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/>
  </joint>
  <link name="m3">
    <visual><geometry><mesh filename="package://maker_pkg/part.obj"/></geometry></visual>
  </link>
  <joint name="grip" type="prismatic">
    <origin xyz="0 0 0.1"/><parent link="m3"/><child link="finger"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/>
  </joint>
  <link name="finger">
    <visual><geometry><mesh filename="package://maker_pkg/part.obj"/></geometry></visual>
  </link>
</robot>
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder that is the only one with packages of descriptions."""
    monkeypatch.setattr(description_files, 'data_folders', lambda: iter([tmp_path]))
    monkeypatch.setattr(maker_shapes, 'data_folders', lambda: iter([tmp_path]))
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    return tmp_path


def add_package(data, urdf, name='maker_pkg'):
    """Write a package with a URDF and a mesh."""
    (data / name).mkdir(exist_ok=True)
    (data / name / 'package.xml').write_text(f'<package><name>{name}</name></package>')
    (data / name / 'part.obj').write_text(TRIANGLE)
    (data / name / 'arm.urdf').write_text(urdf)


def test_meshes_of_a_urdf_with_other_frames_move_with_the_arm(data):
    add_package(data, MAKER.format(length=0.4))
    robot = load_robot(OWN)
    solids = RobotSolids(robot)
    assert not solids.warnings and not solids.note
    for q in (np.zeros(3), np.array([0.4, -0.7, 1.1])):
        ((surface, _),) = solids.at(q)
        elbow = np.array((0.0, 0.1, 0.3))
        reach = 0.4 * np.array((np.cos(q[1]), 0.0, -np.sin(q[1])))
        about_z = np.array(((np.cos(q[0]), -np.sin(q[0])), (np.sin(q[0]), np.cos(q[0]))))
        place = elbow + reach
        place[:2] = about_z @ place[:2]
        assert np.abs(surface.corners.reshape(-1, 3) - place).max(axis=1).min() < 1e-6


def test_a_hand_that_the_arm_does_not_have_is_left_out(data):
    hand = """<joint name="flange" type="fixed"><parent link="m3"/><child link="hand"/></joint>
    <link name="hand"><visual><geometry><mesh filename="package://maker_pkg/part.obj"/></geometry></visual></link>
    <joint name="grip" """
    urdf = MAKER.format(length=0.4).replace('<joint name="grip" ', hand)
    add_package(
        data,
        urdf.replace(
            '<parent link="m3"/><child link="finger"/>',
            '<parent link="hand"/><child link="finger"/>',
        ),
    )
    parts = maker_shapes.find_maker_parts(load_robot(OWN))
    assert [part.link for part in parts] == [3]


def test_a_urdf_with_other_lengths_does_not_fit_and_the_note_names_the_extra(data):
    add_package(data, MAKER.format(length=0.402))
    solids = RobotSolids(load_robot(OWN))
    assert solids.note == (
        "'own' is drawn with simple shapes. The meshes of some arms come with pip install 'ssik_ros[robots]'."
    )
    add_package(data, MAKER.format(length=0.402), maker_shapes.WHEEL)
    assert 'no installed package' in RobotSolids(load_robot(OWN)).note


def test_a_damaged_urdf_in_a_package_is_passed_over(data):
    add_package(
        data, '<robot name="a"><link name="a"/><joint name="b"/><joint name="c"/>', 'damaged'
    )
    add_package(data, MAKER.format(length=0.4))
    assert maker_shapes.find_maker_parts(load_robot(OWN))


def test_faults_of_urdfs_in_packages_are_not_logged(data, caplog):
    # The lower limit is above the upper one: a warning if this robot is loaded, and none if another one is drawn.
    faulty = MAKER.format(length=0.4).replace('lower="0" upper="1"', 'lower="1" upper="0"')
    assert load_robot(faulty).warnings
    caplog.clear()
    add_package(data, faulty)
    assert maker_shapes.find_maker_parts(load_robot(OWN))
    assert not caplog.messages


def test_shapes_of_a_users_own_urdf_are_never_replaced(data):
    add_package(data, MAKER.format(length=0.4))
    box = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    robot = load_robot(OWN.replace('<link name="one"/>', f'<link name="one">{box}</link>'))
    ((surface, _),) = RobotSolids(robot).at(np.zeros(3))
    assert len(surface.corners) == 12


def test_a_mesh_of_a_package_that_ros_does_not_have_comes_from_a_data_folder(data, tmp_path):
    add_package(data, MAKER, 'folder_of_another_name')
    (data / 'folder_of_another_name/package.xml').write_text('<name>real_name</name>')
    path = resolve_package_uri('package://real_name/part.obj')
    assert path == data / 'folder_of_another_name/part.obj'
    assert resolve_package_uri('package://real_name/../x.obj') is None
    assert resolve_package_uri('package://nowhere/part.obj') is None


def test_the_data_folders_are_those_of_wheels_and_of_robot_descriptions(monkeypatch, tmp_path):
    monkeypatch.setenv('ROBOT_DESCRIPTIONS_CACHE', str(tmp_path))
    folders = list(description_files.data_folders())
    assert folders[-1] == tmp_path
    assert folders[0].parts[-2:] == ('cmeel.prefix', 'share')


@pytest.mark.parametrize('name', ['panda', 'ur5', 'xarm7', 'z1'])
def test_the_extra_has_meshes_of_shipped_arms(name):
    if not maker_shapes.has_wheel():
        pytest.skip(f'needs the extra robots: {maker_shapes.EXTRA}')
    robot = load_robot(find_moveit_config(name).urdf_path) if name == 'panda' else load_arm(name)
    solids = RobotSolids(robot)
    assert not solids.warnings and not solids.note and solids.triangle_count > 5000
    carried = {int(robot.tree.link_joints[robot.tree.link(link)]) for link, _ in solids.by_link()}
    assert len(carried) >= 7
