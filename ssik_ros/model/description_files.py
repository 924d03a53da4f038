"""
Find robot descriptions and MoveIt configurations on disk.

ROS packages are found through ``AMENT_PREFIX_PATH``, without ament. The package of a ``package://`` location that is
not found there is searched around the URDF, then in :func:`data_folders`: folders of packages that need no ROS.

The rules of MoveIt's MoveItConfigsBuilder decide which file of a MoveIt configuration is taken. If they find no file,
the only URDF or SRDF is taken, or a URDF of a package in the dependencies. Robots shipped with this package come last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
import functools
import logging
import os
from pathlib import Path
import re
import site
import sys
import sysconfig
from typing import Any

from ssik_ros.arguments import refuse
from ssik_ros.errors import (
    ConfigError,
    DescriptionNotFound,
    InvalidParameter,
    list_names,
    quote,
)
from ssik_ros.model.makers_yaml import read_makers_yaml
from ssik_ros.strict_yaml import read_yaml
from ssik_ros.value_class import dataclass

_LOGGER = logging.getLogger('ssik_ros.model.description_files')

PACKAGE = 'ssik_ros'
SUFFIX = '_moveit_config'
SOURCE_TREE = Path(__file__).resolve().parents[2]
ASSISTANT_KEYS = frozenset(
    {
        *('moveit_setup_assistant_config', 'urdf', 'URDF', 'srdf', 'SRDF'),
        *('package', 'relative_path', 'xacro_args'),
    }
)
"""The keys of a ``.setup_assistant`` that are read; all others are ignored."""
FOLDERS = ('config', 'srdf', 'urdf', 'robots', '.')
"""Folders in which packages keep their descriptions."""
PARTS = ('macro', 'ros2_control', 'gazebo', 'control')
"""Words in the names of xacro files that do not describe robots."""
DEPENDENCY = re.compile(r'<(?:exec_|run_)?depend\b[^>]*>\s*([\w-]+)\s*<')
"""A package that is needed when another one runs, in a package.xml."""
PACKAGE_NAME = re.compile(r'<name>\s*([\w-]+)\s*</name>')
"""The name of the package in a package.xml."""
MOST_ENTRIES = 50_000
"""Files of a folder of data packages that are looked at."""
LARGEST_MANIFEST = 100_000
"""Characters of a package.xml that are read."""


@dataclass(frozen=True, slots=True)
class MoveItConfig:
    """
    The files for one robot of a MoveIt configuration package.

    ``xacro_args`` are the arguments with which the URDF is expanded, by name.
    """

    robot_name: str
    directory: Path
    """The package's share folder."""
    urdf_path: Path
    srdf_path: Path
    kinematics_path: Path | None
    """None without a kinematics.yaml."""
    joint_limits_path: Path | None
    """None without a joint_limits.yaml."""
    xacro_args: Mapping[str, str] = field(default_factory=dict)

    def with_arguments(self, xacro_args: Mapping[str, str]) -> 'MoveItConfig':
        """
        Return a copy with more xacro arguments, which take precedence over the present ones.

        :param xacro_args: arguments by name.
        """
        return replace(self, xacro_args={**self.xacro_args, **xacro_args})


def share_directories() -> Iterator[Path]:
    """Yield the ``share`` folder of each ROS prefix, the last sourced overlay first; some may not exist."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share'


def _installed_packages() -> Iterator[Path]:
    """Yield the share folder of each installed ROS package, packages of the last sourced overlay first."""
    for share in share_directories():
        yield from sorted(share.glob('*'))


def find_package(name: str) -> Path | None:
    """
    Return the share folder of an installed ROS package, or None.

    :param name: the package's name.
    """
    if not name or os.sep in name:
        return None
    folders = (share / name for share in share_directories())
    return next((folder for folder in folders if folder.is_dir()), None)


def data_folders() -> Iterator[Path]:
    """
    Yield the folders of packages without ROS that may hold descriptions and meshes; some may be missing.

    These are the share folders of wheels made by cmeel, such as example-robot-data, and the cache of
    robot_descriptions.
    """
    for entry in dict.fromkeys(sys.path):
        yield Path(entry) / 'cmeel.prefix' / 'share'
    cache = os.environ.get('ROBOT_DESCRIPTIONS_CACHE') or '~/.cache/robot_descriptions'
    yield Path(cache).expanduser()


def find_files(folder: Path, suffix: str, most: int = MOST_ENTRIES) -> Iterator[Path]:
    """
    Yield the files whose names end in a suffix, sorted: first in the folder itself, then in each subfolder.

    Hidden subfolders are skipped.

    :param folder: folder to search; it may be missing.
    :param suffix: end of the file names.
    :param most: largest number of files of any name to look at; a folder that would exceed it ends the search.
    """
    count = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        count += len(files)
        if count > most:
            return
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(suffix))


@functools.cache
def _data_package(folder: Path, name: str) -> Path | None:
    """
    Return the folder of a package in a data folder, found by the folder's name or its package.xml.

    Return None if the package is not there.
    """
    if existing_file(folder / name / 'package.xml') is not None:
        return folder / name
    for manifest in find_files(folder, 'package.xml'):
        if manifest.name == 'package.xml' and name in (
            manifest.parent.name,
            _manifest_name(manifest),
        ):
            return manifest.parent
    return None


def _manifest_name(manifest: Path) -> str:
    """Return the name of the package in a package.xml, empty without one."""
    with manifest.open(encoding='utf-8', errors='replace') as file:
        match = PACKAGE_NAME.search(file.read(LARGEST_MANIFEST))
    return match[1] if match else ''


def config_directory() -> Path:
    """
    Return the folder ``config`` of this package.

    :raises DescriptionNotFound: when it is not installed.
    """
    candidates = list(_config_candidates())
    for candidate in candidates:
        if (candidate / 'robots').is_dir():
            return candidate
    raise DescriptionNotFound(
        f'The configuration files of {PACKAGE} are not installed; looked in '
        + ', '.join(str(candidate) for candidate in candidates)
        + '.'
    )


def _config_candidates() -> Iterator[Path]:
    """Iterate over the folders that may be ``config``: in ROS prefixes, Python prefixes, the source tree."""
    for share in share_directories():
        yield share / PACKAGE / 'config'
    prefixes = (sys.prefix, sysconfig.get_path('data'), site.getuserbase())
    for prefix in dict.fromkeys(prefixes):
        yield Path(prefix) / 'share' / PACKAGE / 'config'
    yield SOURCE_TREE / 'config'


def find_shipped_file(kind: str, name: str, folder: str) -> Path:
    """
    Return the path of a YAML file, given by its path or by the name of a file that this package ships.

    :param kind: noun for the file, for messages.
    :param name: a path, or a name such as ``panda``.
    :param folder: folder of the shipped files, below ``config``.
    :raises DescriptionNotFound: if neither exists; the message lists the shipped names.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    shipped = config_directory() / folder / f'{name.removesuffix(".yaml")}.yaml'
    if shipped.is_file() and '/' not in name:
        return shipped
    names = ', '.join(sorted(file.stem for file in shipped.parent.glob('*.yaml')))
    raise DescriptionNotFound(
        f'There is no {kind} {quote(name)}, neither as a file nor among the shipped ones: {names}.',
        name=name,
    )


def list_shipped_robots() -> tuple[str, ...]:
    """
    Return the names of the robots that this package ships.

    :raises DescriptionNotFound: if the configuration files of the package are not installed.
    """
    folders = (config_directory() / 'robots').glob(f'*{SUFFIX}')
    return tuple(sorted(folder.name.removesuffix(SUFFIX) for folder in folders))


def find_moveit_config(
    package_or_robot_name: str | os.PathLike[str],
    robot_name: str | None = None,
    *,
    urdf: str | os.PathLike[str] | None = None,
    srdf: str | os.PathLike[str] | None = None,
) -> MoveItConfig:
    """
    Return the files of a MoveIt configuration package: those that MoveItConfigsBuilder would load.

    If no such package is installed, return the files of a robot that this package ships.

    :param package_or_robot_name: a package (``panda_moveit_config``), a robot (``panda``), or the path of a package's
        folder.
    :param robot_name: the robot, if the package has several; None otherwise.
    :param urdf: the path of a URDF that replaces the package's own.
    :param srdf: the path of an SRDF that replaces the package's own.
    :raises DescriptionNotFound: if nothing has that name, with the places that were searched and the shipped robots. If
        a package has several URDFs or SRDFs to choose from, the message lists them.
    :raises InvalidOption: for an argument that is neither a text nor a path.
    """
    for noun, file in (('urdf', urdf), ('srdf', srdf), ('robot_name', robot_name)):
        if file is not None and not isinstance(file, str | os.PathLike):
            refuse(noun, file, 'a text')
    if not isinstance(package_or_robot_name, str | os.PathLike):
        refuse('package_or_robot_name', package_or_robot_name, 'a text')
    name = str(package_or_robot_name)
    given = _Given(robot_name or None, Path(urdf) if urdf else None, Path(srdf) if srdf else None)
    folder = Path(name)
    if folder.is_dir() and ((folder / 'config').is_dir() or (folder / 'package.xml').is_file()):
        return _read_package(folder, folder.resolve().name, given)
    for package in dict.fromkeys((name.removesuffix(SUFFIX) + SUFFIX, name)):
        installed = find_package(package)
        if installed is not None and (installed / 'config').is_dir():
            return _read_package(installed, name, given)
    return _find_shipped(name, given)


@dataclass(frozen=True, slots=True)
class _Given:
    """The caller's choice of robot, URDF and SRDF in a package; None leaves a choice to the package."""

    robot: str | None
    urdf: Path | None
    srdf: Path | None


def _find_shipped(name: str, given: _Given) -> MoveItConfig:
    """
    Return the files of a robot of this package, by the robot's name or an alias of the robot or its package.

    Raise DescriptionNotFound for an unknown name, and for a name that means another robot than ``given`` names.
    """
    robots = config_directory() / 'robots'
    aliases = read_mapping(robots / 'aliases.yaml') if (robots / 'aliases.yaml').is_file() else {}
    shipped = list_shipped_robots()
    candidates = [name.removesuffix(SUFFIX)]
    for kind in ('packages', 'robots'):
        candidates.append(str((aliases.get(kind) or {}).get(name, '')).removesuffix(SUFFIX))
    meant = str((aliases.get('robots') or {}).get(given.robot, given.robot or ''))
    for candidate in candidates:
        if candidate in shipped and meant in ('', candidate):
            choice = _Given(None, given.urdf, given.srdf)
            return _read_package(robots / (candidate + SUFFIX), candidate, choice)
    looked = [str(share) for share in share_directories()] or ['(AMENT_PREFIX_PATH is empty)']
    raise DescriptionNotFound.unknown(
        f'There is no MoveIt configuration {quote(name)}'
        + (f' for robot {quote(given.robot)}' if given.robot else '')
        + f'; looked for the packages {name.removesuffix(SUFFIX)}{SUFFIX} and {name} in '
        + f'{", ".join(looked)} and for a shipped robot in {robots}',
        name.removesuffix(SUFFIX),
        shipped,
    )


def _read_package(folder: Path, name: str, given: _Given) -> MoveItConfig:
    """
    Return the files of one MoveIt configuration package, chosen as MoveItConfigsBuilder does.

    If its rules find no file, the only URDF or SRDF of the package is taken. Raise DescriptionNotFound if a file is
    missing or if several fit.

    :param name: name of the package or of the robot.
    :param given: robot and files that the caller chose.
    """
    config, assistant = folder / 'config', _read_setup_assistant(folder)
    urdf_entry, srdf_entry = (
        entry
        if isinstance(entry := assistant.get(key, assistant.get(key.upper())), Mapping)
        else {}
        for key in ('urdf', 'srdf')
    )
    written = srdf_entry.get('relative_path')
    written_names = [Path(str(written)).name.split('.')[0]] if written else []
    robots = [given.robot] if given.robot else [name.removesuffix(SUFFIX), *written_names]
    srdf = given.srdf or _find_srdf(folder, robots, written, given.robot is not None)
    if not given.robot and srdf is not None:
        robots.append(srdf.name.split('.')[0])
    urdf = given.urdf or _find_urdf(folder, robots, urdf_entry, given.robot is not None)
    if urdf is None or srdf is None:
        raise _refuse_choice(folder, robots, urdf, srdf)
    return MoveItConfig(
        robot_name=given.robot or (robots[-1] if given.srdf is None else robots[0]),
        directory=folder,
        urdf_path=urdf,
        srdf_path=srdf,
        kinematics_path=existing_file(config / 'kinematics.yaml'),
        joint_limits_path=existing_file(config / 'joint_limits.yaml'),
        xacro_args=parse_xacro_args(
            ' '.join(w for w in str(urdf_entry.get('xacro_args') or '').split() if ':=' in w[1:])
        ),
    )


def _find_srdf(
    folder: Path, robots: Iterable[str], written: object, is_chosen: bool
) -> Path | None:
    """
    Return the SRDF of a package; None if no file fits.

    It is the file in the setup assistant's entry, else a file named after a robot, else the only SRDF. If the caller
    chose the robot, the file named after it comes first, and the only SRDF is not taken.

    :param robots: names that the robot may have.
    :param written: relative path in the setup assistant's entry; None without an entry.
    :param is_chosen: whether the caller chose the robot.
    """
    entry = _first([folder / f'{written}', folder / f'{written}.xacro'] if written else [])
    by_name = _first_named(folder, 'srdf', robots)
    chosen = (by_name or entry) if is_chosen else (entry or by_name)
    return chosen or (None if is_chosen else _only(_descriptions(folder, 'srdf')))


def _find_urdf(
    folder: Path, robots: Sequence[str], entry: Mapping[str, Any], is_chosen: bool
) -> Path | None:
    """
    Return the URDF of a package; None if no file fits.

    A xacro file named after the robot in ``config`` comes first, then the file in the setup assistant's entry. Then
    come a file named after the robot, the only URDF, and the packages that this package depends on. If the caller chose
    the robot, a file named after it comes before the entry, and the only URDF is not taken.

    :param robots: names that the robot may have.
    :param entry: the setup assistant's entry. Raise DescriptionNotFound if the file that it names is missing.
    :param is_chosen: whether the caller chose the robot.
    """
    candidate = _first(folder / 'config' / f'{robot}.urdf.xacro' for robot in robots)
    by_name = candidate or _first_named(folder, 'urdf', robots)
    if candidate is not None or (is_chosen and by_name is not None):
        return by_name
    package, relative = entry.get('package'), entry.get('relative_path')
    if package and relative:
        described = find_package(str(package)) or _package_around(str(package), folder.resolve())
        path = None if described is None else existing_file(described / str(relative))
        if path is not None:
            return path
        raise DescriptionNotFound(
            f'The MoveIt configuration {quote(folder)} takes its URDF {quote(relative)} from the package '
            f'{quote(package)}, '
            + (
                'which is not installed.'
                if described is None
                else _without_file(described, str(relative))
            )
            + ' Install it, or name a URDF by robot_description_file (ssik: --urdf).',
            package=package,
        )
    candidate = None if is_chosen else _only(_descriptions(folder, 'urdf'))
    return by_name or candidate or _find_in_dependencies(folder, robots)


def _without_file(package: Path, relative: str) -> str:
    """
    Return the end of an error message about a URDF that is missing in a package.

    It lists the URDFs in the folder where the file should be.
    """
    paths = sorted((package / relative).parent.glob('*.urdf*'))
    files = list_names(path.name for path in paths)
    return 'which has no such file' + (f'; beside it are {files}.' if files else '.')


def _find_in_dependencies(folder: Path, robots: Sequence[str]) -> Path | None:
    """
    Return the URDF named after one of ``robots`` in the packages that a package depends on, and log it.

    Return None unless there is exactly one.
    """
    packages = map(find_package, sorted(_dependencies(folder)))
    paths = _urdfs_of(filter(None, packages), robots)
    if len(paths) != 1:
        return None
    _LOGGER.warning(
        '%s has no URDF: %s is used, from a package that it depends on.',
        quote(folder),
        quote(paths[0]),
    )
    return paths[0]


def _dependencies(folder: Path) -> set[str]:
    """Return the names of the packages that a package depends on when it runs."""
    manifest = existing_file(folder / 'package.xml')
    if manifest is None:
        return set()
    with manifest.open(encoding='utf-8', errors='replace') as file:
        return set(DEPENDENCY.findall(file.read(LARGEST_MANIFEST)))


def _urdfs_of(packages: Iterable[Path], robots: Sequence[str]) -> list[Path]:
    """Return the URDFs that are named after one of ``robots``, at most one from each package."""
    paths = (_first_named(package, 'urdf', robots) for package in packages)
    return [path for path in paths if path is not None]


def _first_named(folder: Path, kind: str, robots: Iterable[str]) -> Path | None:
    """
    Return the first URDF or SRDF in a package that is named after one of ``robots``; None without any.

    For a robot ``a``, the file is ``a.urdf`` or ``a.urdf.xacro`` (``a.srdf`` or ``a.srdf.xacro``) in the folders
    ``config``, ``srdf``, ``urdf``, ``robots`` or the package itself. An earlier robot precedes a later one.

    :param kind: ``urdf`` or ``srdf``.
    """
    return _first(
        folder / place / f'{robot}.{kind}{ending}'
        for robot in robots
        for place in FOLDERS
        for ending in ('', '.xacro')
    )


def _first(paths: Iterable[Path]) -> Path | None:
    """Return the first path that is a file; None if no path is."""
    return next((path for path in paths if existing_file(path) is not None), None)


def _only(paths: list[Path]) -> Path | None:
    """
    Return the last path if all file names are equal up to their first dot; None otherwise, or without paths.

    So ``panda.urdf`` and ``panda.urdf.xacro`` count as one file.
    """
    names = {path.name.split('.')[0] for path in paths}
    return paths[-1] if len(names) == 1 else None


def _descriptions(folder: Path, kind: str) -> list[Path]:
    """
    Return the sorted URDF or SRDF files (``kind``: urdf or srdf) of a package, xacro files included.

    Files whose names say that they hold a part of a robot are left out.
    """
    paths = {
        path
        for place in FOLDERS
        for ending in ('', '.xacro')
        for path in sorted((folder / place).glob(f'*.{kind}{ending}'))
        if not any(word in path.name.split('.')[0].split('_') for word in PARTS)
        and not any(word in path.name for word in PARTS[1:3])
    }
    return sorted(paths)


def _refuse_choice(
    folder: Path, robots: Sequence[str], urdf: Path | None, srdf: Path | None
) -> DescriptionNotFound:
    """
    Return (not raise) the error for a package in which several URDFs or SRDFs, or none, could be the robot.

    :param robots: names that the robot may have; the first one is used in the message.
    :param urdf, srdf: the files that were found; None for a missing one.
    """
    parts, choices = [], False
    for kind, description, option in (
        ('URDF', urdf, 'robot_description_file (ssik: --urdf)'),
        ('SRDF', srdf, 'semantic_file (ssik: --srdf)'),
    ):
        if description is None:
            named = folder / 'config' / f'{robots[0]}.{kind.lower()}'
            paths = _descriptions(folder, kind.lower())
            files = list_names(str(path.relative_to(folder)) for path in paths) or 'none'
            others = _urdfs_of(_installed_packages(), robots) if kind == 'URDF' else []
            if others:
                files += f'; of other packages: {list_names(map(str, others))}'
            choices = choices or bool(paths)
            parts.append(
                f'There is no file {quote(named)}; {kind} files of the package: {files}. '
                f'Name one by {option}.'
            )
    text = f'The MoveIt configuration {quote(folder)} does not say which robot it is for.'
    hint = 'Or name the robot by robot_name (ssik: --robot-name).'
    if not choices:
        text, hint = f'The MoveIt configuration {quote(folder)} lacks a description.', ''
    message = ' '.join([text, *parts, hint]).rstrip()
    return DescriptionNotFound(message, path=str(folder), robot=robots[0])


def _read_setup_assistant(folder: Path) -> Mapping[str, Any]:
    """
    Return the entries of a package's .setup_assistant; empty without such a file or such entries.

    Log a warning if the file cannot be read, and for each fault in a key that is used.
    """
    path = folder / '.setup_assistant'
    if not path.is_file():
        return {}
    try:
        content, notes = read_makers_yaml(path)
    except ConfigError as error:
        _LOGGER.warning('%s The file is not used.', error)
        return {}
    for note in notes:
        if note.key in ASSISTANT_KEYS:
            _LOGGER.warning('%s.', note)
    entry = content.get('moveit_setup_assistant_config') if isinstance(content, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def parse_xacro_args(text: str) -> dict[str, str]:
    """
    Return arguments in the form ``a:=1 b:=2`` as a mapping: ``{'a': '1', 'b': '2'}``.

    :param text: the arguments, separated by blanks.
    :raises InvalidParameter: for a word of another form.
    """
    words = text.split()
    wrong = [word for word in words if word.find(':=') < 1]
    if wrong:
        raise InvalidParameter(
            f'xacro_args holds {quote(wrong[0])}; its entries are written name:=value.',
            key='xacro_args',
            value=wrong[0],
        )
    return dict(word.split(':=', 1) for word in words)


def existing_file(path: Path) -> Path | None:
    """
    Return a path if it is a file; None otherwise, also for paths that the system refuses.

    :param path: the path.
    """
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def read_mapping(path: Path) -> Mapping[str, Any]:
    """
    Return the mapping that a YAML file holds; an empty file is an empty mapping.

    :param path: the file.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ConfigError: if it cannot be read, is not YAML or not a mapping.
    """
    content = read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f'{quote(path)} is not a mapping.', path=str(path))
    return content


def resolve_package_uri(uri: str, urdf_folder: Path | None = None) -> Path | None:
    """
    Return the path of the file that a ``package://`` or ``file://`` location names.

    Return None if the file does not exist, and for any other location. A ``package://`` location cannot leave its
    package by ``..``. The package is searched among installed ROS packages, around the folder of the URDF, and in
    :func:`data_folders`.

    :param uri: the location as a URDF writes it.
    :param urdf_folder: folder of the URDF, if it is a file. A package that is not installed is searched around this
        folder.
    """
    if uri.startswith('file://'):
        return existing_file(Path(uri.removeprefix('file://')))
    if not uri.startswith('package://'):
        return None
    package, _, relative = uri.removeprefix('package://').partition('/')
    if relative.startswith('/') or '..' in Path(relative).parts:
        return None
    folder = find_package(package)
    if folder is None and urdf_folder is not None:
        folder = _package_around(package, urdf_folder.resolve())
    if folder is None and package not in ('', '.', '..'):
        packages = (_data_package(data, package) for data in data_folders())
        folder = next(filter(None, packages), None)
    return existing_file(folder / relative) if folder is not None else None


def _package_around(name: str, start: Path) -> Path | None:
    """
    Return the folder of package ``name`` near a folder; None if it is not there.

    Searched are the folder, its parents, and their direct children: in a clone that was never built, packages are next
    to each other. A package is a folder that has its name and holds a ``package.xml``.

    :param start: the folder to start from.
    """
    if name in ('', '.', '..'):
        return None
    for parent in (start, *start.parents):
        for folder in (parent / name, parent if parent.name == name else None):
            if folder is not None and existing_file(folder / 'package.xml') is not None:
                return folder
    return None
