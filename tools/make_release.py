#!/usr/bin/env python3
"""
Write the ROS packages of a release as siblings into dist/: ``make release``, which runs ``make wheels`` before.

The repository's root is the package ssik_ros, and colcon and bloom look for no packages inside a package. So they find
neither the messages nor the MoveIt plugin of a clone. In the release tree every package has a folder:

- ``ssik_ros``: the source distribution, which contains compiled kernels,
- ``ssik_msgs``, ``ssik_moveit``, ``ssik_control``: messages, MoveIt plugin, plugins of ros2_control,
- ``subsets``: parts of packages of other projects for machines that have no ROS from apt. ``AMENT_IGNORE`` hides them.

Everything comes from the source distribution. catkin_pkg checks that it finds exactly our packages, that each is valid, and
that each has a changelog with its version. bloom writes the Debian files of each.
"""

import os
from pathlib import Path
import shutil
import sys
import tarfile

from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.packages import find_packages

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
import check_bloom  # noqa: E402
import make_wheels  # noqa: E402

WORK = ROOT / 'build' / 'release'
MOVED = {
    'interfaces/ssik_msgs': 'ssik_msgs',
    'moveit_plugin': 'ssik_moveit',
    'control_plugin': 'ssik_control',
}
"""Folders of the repository with packages of this project, and their names in the release tree."""
SUBSETS = 'subsets'
"""Folder of the packages with names of other projects."""
IGNORED = f'{SUBSETS}/AMENT_IGNORE'
PACKAGES = ('ssik_ros', *MOVED.values())


def place_of(name: str) -> str:
    """
    Return the path of a file in the release tree.

    :param name: its path in the source distribution.
    """
    for folder, package in MOVED.items():
        if name.startswith(f'{folder}/'):
            return package + name.removeprefix(folder)
    if name.startswith('interfaces/'):
        return SUBSETS + name.removeprefix('interfaces')
    return f'ssik_ros/{name}'


def write_tree(source: Path, tree: Path) -> None:
    """
    Write the release tree.

    :param source: folder of the unpacked source distribution.
    :param tree: folder to write.
    """
    for path in sorted(source.rglob('*')):
        if path.is_file():
            target = tree / place_of(path.relative_to(source).as_posix())
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    for package in MOVED.values():
        shutil.copy2(source / 'LICENSE', tree / package)
    (tree / IGNORED).touch()


def faults(tree: Path) -> list[str]:
    """
    Return a sentence for each fault of a release tree.

    :param tree: its folder.
    """
    packages = {
        package.name: (path, package) for path, package in find_packages(str(tree)).items()
    }
    if set(packages) != set(PACKAGES):
        return [f'catkin_pkg finds {sorted(packages)} instead of {sorted(PACKAGES)}.']
    problems = []
    version = packages['ssik_ros'][1].version
    for name, (path, package) in packages.items():
        warnings: list[str] = []
        package.validate(warnings=warnings)
        problems += [f'{name}: {warning}' for warning in warnings]
        if path != name:
            problems.append(f'{name} is in the folder {path}.')
        if package.version != version:
            problems.append(f'{name} has version {package.version} instead of {version}.')
        changelog = get_changelog_from_path(str(tree / path), name)
        if changelog is None or package.version not in {
            row[0] for row in changelog.foreach_version()
        }:
            problems.append(f'The changelog of {name} has no version {package.version}.')
    return problems


def main() -> None:
    """
    Write the tree, check it, and pack it.

    :raises SystemExit: if the source distribution is missing, or the tree has a fault.
    """
    distributions = [
        path for path in make_wheels.DIST.glob('ssik_ros-*.tar.gz') if '-ros.' not in path.name
    ]
    if len(distributions) != 1:
        raise SystemExit('release: dist/ has no source distribution. Run "make wheels" first.')
    (sdist,) = distributions
    os.umask(0o022)
    shutil.rmtree(WORK, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        epoch = int(archive.getmembers()[0].mtime)
        archive.extractall(WORK / 'source')
    (source,) = (WORK / 'source').iterdir()
    tree = WORK / f'{source.name}-ros'
    write_tree(source, tree)
    problems = faults(tree) or check_bloom.faults(tree, WORK / 'bloom')
    if problems:
        raise SystemExit('\n'.join(f'release: {line}' for line in problems))
    files = {path.relative_to(tree).as_posix(): path for path in tree.rglob('*') if path.is_file()}
    packed = make_wheels.pack(make_wheels.DIST / f'{tree.name}.tar.gz', files, epoch)
    print(
        f'{packed.relative_to(ROOT)}: {packed.stat().st_size / 1e6:.2f} MB, {", ".join(PACKAGES)}'
    )


if __name__ == '__main__':
    main()
