"""Other versions to compare with: folders and commits are found, anything else is refused."""

import subprocess

import pytest

from bench import checkouts


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository with one commit, and the list of folders that are built."""
    built = []
    (tmp_path / 'ssik_ros').mkdir()
    (tmp_path / 'ssik_ros' / '__init__.py').write_text('VERSION = 1\n')
    identity = ['-c', 'user.name=somebody', '-c', 'user.email=somebody@example.com']
    for words in (['init', '-q'], ['add', '.'], [*identity, 'commit', '-qm', 'Begin']):
        subprocess.run(['git', '-C', str(tmp_path), *words], check=True)
    monkeypatch.setattr(checkouts, 'ROOT', tmp_path)
    monkeypatch.setattr(checkouts, 'FOLDER', tmp_path / 'build' / 'checkouts')
    monkeypatch.setattr(checkouts, 'build', built.append)
    return tmp_path, built


def test_a_folder_with_the_package_is_taken_as_it_is(repository):
    folder, built = repository
    assert checkouts.find_checkout(str(folder)) == folder
    assert not built


def test_a_commit_is_unpacked_as_it_was_and_built(repository):
    folder, built = repository
    source = folder / 'ssik_ros' / '__init__.py'
    source.write_text('VERSION = 2\n')
    checkout = checkouts.find_checkout('HEAD')
    assert (checkout / 'ssik_ros' / '__init__.py').read_text() == 'VERSION = 1\n'
    assert checkouts.find_checkout('HEAD') == checkout
    assert built == [checkout, checkout]
    assert source.read_text() == 'VERSION = 2\n'


def test_a_name_that_is_neither_is_refused(repository):
    with pytest.raises(SystemExit, match='nowhere is neither a folder'):
        checkouts.find_checkout('nowhere')
