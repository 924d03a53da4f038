"""The release tree: our ROS packages as siblings, and packages of other projects hidden."""

from pathlib import Path
import re
import shutil
import sys

from test.repository import needs_git, tracked_files

import pytest
import yaml

import ssik_ros

pytest.importorskip('catkin_pkg', reason='catkin_pkg is not installed')

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
from catkin_pkg.packages import find_packages  # noqa: E402
import check_bloom  # noqa: E402
import make_release  # noqa: E402


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """Return a folder as of an unpacked source distribution: the tracked files, apart from tests and robots."""
    folder = tmp_path_factory.mktemp('source')
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(('test/', 'docs/', 'config/')):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)
    return folder


@pytest.fixture
def tree(source, tmp_path):
    make_release.write_tree(source, tmp_path)
    return tmp_path


pytestmark = needs_git


def test_catkin_finds_our_packages_and_no_others(tree):
    assert make_release.faults(tree) == []
    assert (tree / 'ssik_msgs' / 'srv' / 'SolveAll.srv').is_file()
    assert (tree / 'ssik_moveit' / 'LICENSE').is_file()
    assert (tree / 'subsets' / 'moveit_msgs' / 'package.xml').is_file()
    assert (tree / 'ssik_ros' / 'setup.py').is_file()
    assert not (tree / 'ssik_ros' / 'interfaces').exists()


def test_every_file_of_the_distribution_is_in_the_tree_once(source):
    names = [path.relative_to(source).as_posix() for path in source.rglob('*') if path.is_file()]
    places = {make_release.place_of(name) for name in names}
    assert len(places) == len(names) > 500
    assert {place.partition('/')[0] for place in places} == {*make_release.PACKAGES, 'subsets'}


def test_packages_of_other_projects_that_are_not_hidden_are_a_fault(tree):
    (tree / make_release.IGNORED).unlink()
    (fault,) = make_release.faults(tree)
    assert 'moveit_msgs' in fault


def test_versions_that_differ_are_a_fault(tree):
    manifest = tree / 'ssik_msgs' / 'package.xml'
    text, count = re.subn('<version>.*<', '<version>0.9.9<', manifest.read_text())
    assert count == 1
    manifest.write_text(text)
    faults = make_release.faults(tree)
    assert any('ssik_msgs has version 0.9.9' in line for line in faults)
    assert 'The changelog of ssik_msgs has no version 0.9.9.' in faults


def test_a_missing_changelog_is_a_fault(tree):
    (tree / 'ssik_moveit' / 'CHANGELOG.rst').unlink()
    (fault,) = make_release.faults(tree)
    assert fault == f'The changelog of ssik_moveit has no version {ssik_ros.__version__}.'


def test_the_index_for_bloom_names_every_dependency_and_our_packages_apart(tree, tmp_path):
    packages = list(find_packages(str(tree)).values())
    environment = check_bloom.write_index(tmp_path / 'index', packages)
    assert all(str(tmp_path) in value for value in environment.values())
    keys = yaml.safe_load((tmp_path / 'index' / 'keys.yaml').read_text())
    for name in check_bloom.PLATFORMS:
        content = yaml.safe_load((tmp_path / 'index' / name / 'distribution.yaml').read_text())
        rows = [set(row['release']['packages']) for row in content['repositories'].values()]
        assert set(make_release.PACKAGES) in rows and len(rows) == 2
        named = set().union(*rows, keys)
        assert set().union(*map(check_bloom.dependencies, packages)) <= named
    assert 'python3-numpy' in keys and not set(check_bloom.BUILD_ONLY) & named
