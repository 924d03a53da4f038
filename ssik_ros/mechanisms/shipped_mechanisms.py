"""The mechanisms that come with the package: a URDF and its ``loop_closures.yaml`` each."""

from pathlib import Path

from ssik_ros.errors import DescriptionNotFound, quote
from ssik_ros.mechanisms.urdf_robot import from_urdf, UrdfRobot
from ssik_ros.model.description_files import config_directory

LOOPS_FILE = 'loop_closures.yaml'


def mechanism_names() -> tuple[str, ...]:
    """
    Return the names of the mechanisms that come with the package, in ``config/mechanisms``, sorted.

    :raises DescriptionNotFound: if the folder ``config`` is not installed.
    """
    folder = config_directory() / 'mechanisms'
    return tuple(sorted(path.parent.name for path in folder.glob(f'*/{LOOPS_FILE}')))


def mechanism_files(name: str) -> tuple[Path, Path]:
    """
    Return the paths of the URDF and of the ``loop_closures.yaml`` of a mechanism.

    :param name: one of :func:`mechanism_names`.
    :raises DescriptionNotFound: for an unknown name; the message has a similar one, if any.
    """
    names = mechanism_names()
    if not isinstance(name, str) or name not in names:
        raise DescriptionNotFound.unknown(f'There is no mechanism {quote(name)}', name, names)
    folder = config_directory() / 'mechanisms' / name
    return folder / f'{name}.urdf', folder / LOOPS_FILE


def load_mechanism(name: str, *, free_root: bool = False) -> UrdfRobot:
    """
    Return a mechanism that comes with the package, in its initial state.

    :param name: one of :func:`mechanism_names`.
    :param free_root: True gives the joint above the root link six degrees of freedom.
    :raises DescriptionNotFound: for an unknown name; the message has a similar one, if any.
    """
    urdf, loops = mechanism_files(name)
    return from_urdf(urdf, loops=loops, free_root=free_root)
