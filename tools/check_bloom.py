"""
Let bloom write the Debian files of every package of a release tree, for every distribution that is supported.

bloom reads a ROS index and the keys of rosdep. Both are written from the manifests of the tree, so no network is needed.
Whether the real index has the dependencies is not checked here.
"""

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
from typing import Any

from catkin_pkg.package import Package
from catkin_pkg.packages import find_packages
import yaml

PLATFORMS = {'jazzy': 'noble', 'lyrical': 'resolute', 'rolling': 'resolute'}
"""Distributions of ROS, and the Ubuntu of each."""
NOWHERE = 'https://example.org/release.git'
"""A repository that the index has to name, and nobody reads."""
BUILD_ONLY = ('numba', 'llvmlite')
"""Packages that no build of a release may require: it contains compiled kernels."""


def dependencies(package: Package) -> set[str]:
    """
    Return the names of all packages that a package needs.

    :param package: its manifest.
    """
    kinds = (
        *('build_depends', 'buildtool_depends', 'build_export_depends'),
        *('exec_depends', 'test_depends'),
    )
    return {dependency.name for kind in kinds for dependency in getattr(package, kind)}


def write_index(folder: Path, packages: list[Package]) -> dict[str, str]:
    """
    Write an index of ROS and keys of rosdep; return the environment that makes bloom read them.

    :param folder: where to write.
    :param packages: the packages of the release.
    """
    ours = {package.name: package.version for package in packages}
    needed = set().union(*map(dependencies, packages)) - set(ours)
    system = sorted(name for name in needed if name.startswith('python3-'))

    def release(names: list[str], version: str) -> dict[str, Any]:
        tags = {'release': 'release/{package}/{version}'}
        row = {'packages': names, 'tags': tags, 'url': NOWHERE, 'version': f'{version}-1'}
        return {'release': row}

    index: dict[str, Any] = {'distributions': {}, 'type': 'index', 'version': 4}
    for name, ubuntu in PLATFORMS.items():
        (folder / name).mkdir(parents=True)
        content = {
            'release_platforms': {'ubuntu': [ubuntu]},
            'repositories': {
                'ssik_ros': release(sorted(ours), next(iter(ours.values()))),
                'others': release(sorted(needed - set(system)), '1.0.0'),
            },
            'type': 'distribution',
            'version': 2,
        }
        (folder / name / 'distribution.yaml').write_text(yaml.safe_dump(content))
        index['distributions'][name] = {
            'distribution': [f'{name}/distribution.yaml'],
            'distribution_status': 'active',
            'distribution_type': 'ros2',
            'python_version': 3,
        }
    (folder / 'index-v4.yaml').write_text(yaml.safe_dump(index))
    keys = {name: {'ubuntu': [name]} for name in system}
    (folder / 'keys.yaml').write_text(yaml.safe_dump(keys))
    (folder / 'sources').mkdir()
    (folder / 'sources' / '10-keys.list').write_text(f'yaml {(folder / "keys.yaml").as_uri()}\n')
    return {
        'ROSDISTRO_INDEX_URL': (folder / 'index-v4.yaml').as_uri(),
        'ROSDEP_SOURCE_PATH': str(folder / 'sources'),
        'ROS_HOME': str(folder / 'home'),
    }


def faults(tree: Path, folder: Path) -> list[str]:
    """
    Return a sentence for each package that bloom refuses, or whose build requires a compiler of kernels.

    :param tree: the release tree.
    :param folder: where to work; its content is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    packages = list(find_packages(str(tree)).items())
    environment = write_index(folder, [package for _, package in packages])
    programs = Path(sys.executable).parent

    def run(*words: str, place: Path = folder) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [programs / words[0], *words[1:]],
            cwd=place,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    done = run('rosdep', 'update')
    if done.returncode:
        return [f'rosdep update: {done.stdout[-2000:]}']
    problems = []
    for distribution, ubuntu in PLATFORMS.items():
        for path, package in packages:
            copy = folder / 'packages' / distribution / package.name
            shutil.copytree(tree / path, copy)
            done = run(
                *('bloom-generate', 'rosdebian', '--ros-distro', distribution),
                *('--os-name', 'ubuntu', '--os-version', ubuntu, '.'),
                place=copy,
            )
            control = copy / 'debian' / 'control'
            if done.returncode or not control.is_file():
                problems.append(f'bloom, {package.name}, {distribution}: {done.stdout[-2000:]}')
                continue
            asked = re.search('^Build-Depends: (.*)$', control.read_text(), re.M)
            if asked is None:
                problems.append(
                    f'bloom, {package.name}, {distribution}: there is no Build-Depends.'
                )
                continue
            problems += [
                f'bloom, {package.name}, {distribution}: the build requires {name}.'
                for name in BUILD_ONLY
                if name in asked[1]
            ]
    return problems
