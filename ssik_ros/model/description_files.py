"""
Find descriptions and configurations on disk.

Packages are found through ``AMENT_PREFIX_PATH`` without needing ament, in the order of MoveIt's
MoveItConfigsBuilder; then the shipped robots follow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
import os
from pathlib import Path
import site
import sys
import sysconfig
from typing import Any

from ssik_ros.errors import ConfigError, DescriptionNotFound, quote
from ssik_ros.strict_yaml import read_yaml
from ssik_ros.value_class import dataclass

PACKAGE = 'ssik_ros'
SUFFIX = '_moveit_config'
SOURCE_TREE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class MoveItConfig:
    """The files of one MoveIt configuration package."""

    robot_name: str
    directory: Path
    """The package's share folder."""
    urdf_path: Path
    srdf_path: Path
    kinematics_path: Path | None
    joint_limits_path: Path | None
    xacro_args: Mapping[str, str] = field(default_factory=dict)


def share_directories() -> Iterator[Path]:
    """Return the ``share`` folders of the ROS prefixes, nearest overlay first."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share'


def find_package(name: str) -> Path | None:
    """
    Return the share folder of an installed ROS package, or None.

    :param name: the package's name.
    """
    if not name or os.sep in name:
        return None
    folders = (share / name for share in share_directories())
    return next((folder for folder in folders if folder.is_dir()), None)


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
    """Return where ``config`` may be: ROS prefixes, Python prefixes, the source tree."""
    for share in share_directories():
        yield share / PACKAGE / 'config'
    prefixes = (sys.prefix, sysconfig.get_path('data'), site.getuserbase())
    for prefix in dict.fromkeys(prefixes):
        yield Path(prefix) / 'share' / PACKAGE / 'config'
    yield SOURCE_TREE / 'config'


def find_shipped_file(kind: str, name: str, folder: str) -> Path:
    """
    Return the path of a YAML file given by path or by the name of one that comes with the package.

    :param kind: what the file is, for the message.
    :param name: a path, or a name such as ``panda``.
    :param folder: of the shipped files, in ``config``.
    :raises DescriptionNotFound: when there is neither; with the shipped names.
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
    """Return the names of the robots that this package ships."""
    folders = (config_directory() / 'robots').glob(f'*{SUFFIX}')
    return tuple(sorted(folder.name.removesuffix(SUFFIX) for folder in folders))


def find_moveit_config(
    package_or_robot_name: str | os.PathLike[str], robot_name: str | None = None
) -> MoveItConfig:
    """
    Return the files that MoveItConfigsBuilder would load.

    :param package_or_robot_name: a package (``panda_moveit_config``), a robot (``panda``), or the
        path of a package's folder.
    :param robot_name: the robot, where the package's name does not tell.
    :raises DescriptionNotFound: with the places looked at and the robots that are shipped.
    """
    name = str(package_or_robot_name)
    folder = Path(name)
    if folder.is_dir() and (folder / 'config').is_dir():
        return _read_package(folder, robot_name or folder.resolve().name.removesuffix(SUFFIX))
    robot = robot_name or name.removesuffix(SUFFIX)
    for package in dict.fromkeys((name.removesuffix(SUFFIX) + SUFFIX, name)):
        installed = find_package(package)
        if installed is not None and (installed / 'config').is_dir():
            return _read_package(installed, robot)
    return _find_shipped(name, robot_name)


def _find_shipped(name: str, robot_name: str | None) -> MoveItConfig:
    """Return a robot of this package, by its name or an alias of it or of its package."""
    robots = config_directory() / 'robots'
    aliases = read_mapping(robots / 'aliases.yaml') if (robots / 'aliases.yaml').is_file() else {}
    shipped = list_shipped_robots()
    candidates = [name.removesuffix(SUFFIX)]
    for kind in ('packages', 'robots'):
        candidates.append(str((aliases.get(kind) or {}).get(name, '')).removesuffix(SUFFIX))
    for candidate in candidates:
        if candidate in shipped:
            return _read_package(robots / (candidate + SUFFIX), candidate)
    looked = [str(share) for share in share_directories()] or ['(AMENT_PREFIX_PATH is empty)']
    raise DescriptionNotFound.unknown(
        f'There is no MoveIt configuration {quote(name)}'
        + (f' for robot {quote(robot_name)}' if robot_name else '')
        + f'; looked for the packages {name.removesuffix(SUFFIX)}{SUFFIX} and {name} in '
        + f'{", ".join(looked)} and for a shipped robot in {robots}',
        name.removesuffix(SUFFIX),
        shipped,
    )


def _read_package(folder: Path, robot: str) -> MoveItConfig:
    """Return the files of one package in the order of MoveItConfigsBuilder."""
    config = folder / 'config'
    assistant = _read_setup_assistant(folder)
    urdf_entry = assistant.get('urdf', assistant.get('URDF')) or {}
    srdf_entry = assistant.get('srdf', assistant.get('SRDF')) or {}
    urdf = _find_urdf(folder, robot, urdf_entry)
    srdf = folder / str(srdf_entry.get('relative_path') or f'config/{robot}.srdf')
    for path, what in ((urdf, 'URDF'), (srdf, 'SRDF')):
        if not path.is_file():
            raise DescriptionNotFound(
                f'The MoveIt configuration {quote(folder)} has no {what} of robot {quote(robot)}: there is '
                f'no file {quote(path)}.',
                path=str(path),
                robot=robot,
            )
    return MoveItConfig(
        robot_name=robot,
        directory=folder,
        urdf_path=urdf,
        srdf_path=srdf,
        kinematics_path=existing_file(config / 'kinematics.yaml'),
        joint_limits_path=existing_file(config / 'joint_limits.yaml'),
        xacro_args=_parse_xacro_args(urdf_entry.get('xacro_args')),
    )


def _find_urdf(folder: Path, robot: str, entry: Mapping[str, Any]) -> Path:
    """Return the URDF's path: the package's own xacro, the assistant's entry, the plain file."""
    own = folder / 'config' / f'{robot}.urdf.xacro'
    if own.is_file():
        return own
    package, relative = entry.get('package'), entry.get('relative_path')
    if not package or not relative:
        return folder / 'config' / f'{robot}.urdf'
    described = find_package(str(package))
    if described is None:
        raise DescriptionNotFound(
            f'The MoveIt configuration {quote(folder)} takes its URDF from the package {quote(package)}, '
            'which is not installed.',
            package=package,
        )
    return described / str(relative)


def _read_setup_assistant(folder: Path) -> Mapping[str, Any]:
    """Return the file of MoveIt's setup assistant, empty if there is none."""
    path = folder / '.setup_assistant'
    if not path.is_file():
        return {}
    entry = read_mapping(path).get('moveit_setup_assistant_config')
    return entry if isinstance(entry, Mapping) else {}


def _parse_xacro_args(text: object) -> dict[str, str]:
    """Return ``a:=1 b:=2`` as a mapping."""
    words = [word for word in str(text or '').split() if ':=' in word]
    return dict(word.split(':=', 1) for word in words)


def existing_file(path: Path) -> Path | None:
    """
    Return a path if the file exists; None also for paths that the system refuses.

    :param path: the path.
    """
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def read_mapping(path: Path) -> Mapping[str, Any]:
    """
    Return the mapping that a YAML file holds.

    :param path: the file.
    :raises ConfigError: when it is not YAML or not a mapping.
    """
    content = read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f'{quote(path)} is not a mapping.', path=str(path))
    return content


def resolve_package_uri(uri: str, beside: Path | None = None) -> Path | None:
    """
    Return the file that a ``package://`` or ``file://`` location names, or None if it is missing.

    A ``package://`` location cannot leave the package: ``..`` in it names nothing.

    :param uri: the location as a URDF writes it.
    :param beside: folder of the URDF, if it is a file: a package that is not installed may be around it.
    """
    if uri.startswith('file://'):
        return existing_file(Path(uri.removeprefix('file://')))
    if not uri.startswith('package://'):
        return None
    package, _, relative = uri.removeprefix('package://').partition('/')
    if relative.startswith('/') or '..' in Path(relative).parts:
        return None
    folder = find_package(package)
    if folder is None and beside is not None:
        folder = _package_around(package, beside.resolve())
    return existing_file(folder / relative) if folder is not None else None


def _package_around(name: str, beside: Path) -> Path | None:
    """Return the folder of a package that a folder lies in or beside, as in a clone that nobody has built."""
    if name in ('', '.', '..'):
        return None
    for parent in (beside, *beside.parents):
        for folder in (parent / name, parent if parent.name == name else None):
            if folder is not None and existing_file(folder / 'package.xml') is not None:
                return folder
    return None
