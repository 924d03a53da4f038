"""
Read the files of a map or data set, which is a folder, and lock the folder while one run writes it.

Files are read up to a maximum size. To have only one run write a folder, the caller holds the lock
:func:`held_by_one_run`. Except for this lock, symbolic links are followed; a caller that does not want this calls
:func:`refuse_links` first.
"""

from collections.abc import Iterator
import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path
import stat
from typing import Any

from ssik_ros.errors import MALFORMED, shorten, SsikError

WORK = '.work'
"""Folder of the lock and of the files that are being written, inside the folder of a map or data set."""
LARGEST_JSON = 1 << 24
"""Largest size of a file that describes a map, a data set or an array [bytes]."""


class StoreError(SsikError, OSError):
    """Error raised if a map or data set is missing, damaged, locked by another run, or cannot be read or written."""


def read_file(file: Path, most: int) -> bytes:
    """
    Return the content of a file.

    :param file: the file; pipes and devices are refused, which could block or never end.
    :param most: largest size [bytes].
    :raises OSError: when it cannot be opened.
    :raises ValueError: if it is not a regular file, or larger.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, 'rb') as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError('it is no file')
        content = stream.read(most + 1)
    if len(content) > most:
        raise ValueError(f'it has more than {most} bytes')
    return content


def read_json(file: Path) -> dict[str, Any]:
    """
    Return the mapping in a JSON file.

    :param file: the file, of up to :data:`LARGEST_JSON` bytes.
    :raises OSError, ValueError: as :func:`read_file`, and for content that is not a mapping.
    """
    try:
        content = json.loads(read_file(file, LARGEST_JSON))
    except MALFORMED as error:
        raise ValueError(f'{file.name}: {shorten(error)}') from error
    if not isinstance(content, dict):
        raise ValueError(f'{file.name} holds no mapping')
    return content


def has_bytes(file: Path) -> bool:
    """
    Return whether a file exists and is not empty; a power failure can leave empty files.

    :param file: the file.
    :raises OSError: if the system refuses to look, such as without permission.
    """
    try:
        return file.stat().st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """
    Turn an OSError in the ``with`` block into a StoreError with one line that says why and, on a full disk, what to do.

    :param path: path of the map or data set.
    """
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = f"The disk of '{path}' is full; make room and start the same command again: it goes on."
        else:
            text = f"'{path}' cannot be written: {error.strerror or error}."
        raise StoreError(text, path=path) from error


@contextlib.contextmanager
def held_by_one_run(path: Path, what: str) -> Iterator[None]:
    """
    Hold the lock of a map or data set during the ``with`` block, so that only one run writes it.

    The lock also ends with the process. The folder WORK is created in the folder of the map or data set.

    :param path: path of the map or data set, which must exist.
    :param what: 'map' or 'data set', for messages.
    :raises StoreError: if another run holds the lock, or if the folder or the file of the lock cannot be made.
    """
    with explained(path):
        (path / WORK).mkdir(exist_ok=True)
        # Neither is followed if it is a link, and nothing is emptied.
        folder = os.open(path / WORK, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open('lock', flags, 0o666, dir_fd=folder)
        finally:
            os.close(folder)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreError(
                f"Another run works on the {what} '{path}'; wait for it, or write to another place.",
                path=path,
            ) from error
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """
    Hold a lock on a folder during the ``with`` block, after waiting for other runs that hold it.

    On a file system without locks it does not wait, and holds none.

    :param folder: the folder.
    :raises OSError: if the folder cannot be opened.
    """
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def refuse_links(path: Path, what: str) -> None:
    """
    Raise StoreError if a folder contains symbolic links, because data written through them would go elsewhere.

    Folders inside are searched too. The folder itself may be a link.

    :param path: path of the map or data set.
    :param what: 'map' or 'data set', for messages.
    :raises StoreError: naming the first link that is met.
    """
    for folder, names, files in os.walk(path):
        for name in (*names, *files):
            if os.path.islink(os.path.join(folder, name)):
                raise StoreError(
                    f"'{os.path.join(folder, name)}' is a symbolic link; a {what} with links inside is not gone on with. "
                    'Write to another place.',
                    path=path,
                )
