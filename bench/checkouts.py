"""Other versions of the package to compare with: a folder, or a commit that is unpacked and built."""

from pathlib import Path
import subprocess
import sys

from bench import ROOT

FOLDER = ROOT / 'build' / 'checkouts'
"""Where commits are unpacked."""


def find_checkout(name: str) -> Path:
    """
    Return the folder of a checkout whose native library is built.

    :param name: a folder with ``ssik_ros``, or a commit of this repository.
    :raises SystemExit: when the name is neither.
    """
    folder = Path(name).resolve()
    if (folder / 'ssik_ros').is_dir():
        return folder
    words = ['git', '-C', str(ROOT), 'rev-parse', '--verify', '--quiet', f'{name}^{{commit}}']
    git = subprocess.run(words, capture_output=True, text=True, check=False)
    if git.returncode:
        sys.exit(
            f'bench: {name} is neither a folder with ssik_ros nor a commit of this repository'
        )
    folder = FOLDER / git.stdout.strip()
    if not (folder / 'ssik_ros').is_dir():
        unpack(folder)
    build(folder)
    return folder


def unpack(folder: Path) -> None:
    """
    Write the files of a commit.

    :param folder: where to; its name is the commit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = ['git', '-C', str(ROOT), 'archive', folder.name]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as git:
        assert git.stdout is not None
        subprocess.run(['tar', '-x', '-C', str(folder)], stdin=git.stdout, check=True)


def build(folder: Path) -> None:
    """
    Build the native library of a checkout; objects that this checkout has built before are used again.

    :param folder: the checkout.
    """
    store = folder / 'build' / 'native'
    if not store.exists():
        store.parent.mkdir(exist_ok=True)
        shared_store = ROOT / 'build' / 'native'
        shared_store.mkdir(parents=True, exist_ok=True)
        store.symlink_to(shared_store, target_is_directory=True)
    subprocess.run([sys.executable, 'tools/build_native.py'], cwd=folder, check=True)
