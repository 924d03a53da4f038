"""The files of each interface package agree with each other and describe the package."""

from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

import pytest

INTERFACES = Path(__file__).resolve().parents[2] / 'interfaces'
PACKAGES = sorted(path.parent for path in INTERFACES.glob('*/package.xml'))


@pytest.mark.parametrize('folder', PACKAGES, ids=lambda folder: folder.name)
def test_every_interface_file_is_built(folder):
    listed = re.findall(r'"((?:msg|srv)/\w+\.\w+)"', (folder / 'CMakeLists.txt').read_text())
    present = [path.relative_to(folder).as_posix() for path in folder.glob('[ms][sr][gv]/*')]
    assert sorted(listed) == sorted(present)


@pytest.mark.parametrize('folder', PACKAGES, ids=lambda folder: folder.name)
def test_folder_bears_the_name_of_its_package(folder):
    name = ElementTree.parse(folder / 'package.xml').getroot().findtext('name')
    project = re.search(r'^project\((\w+)\)', (folder / 'CMakeLists.txt').read_text(), re.M)
    assert folder.name == name == project[1]


@pytest.mark.parametrize('name', ['moveit_msgs', 'object_recognition_msgs', 'tf2_msgs'])
def test_a_subset_says_that_it_is_one(name):
    root = ElementTree.parse(INTERFACES / name / 'package.xml').getroot()
    assert 'Wire-compatible subset' in root.findtext('description')


def test_the_subset_claims_the_release_it_was_compared_with():
    root = ElementTree.parse(INTERFACES / 'moveit_msgs/package.xml').getroot()
    assert root.findtext('version') == '2.6.0'
