"""Write files so that other processes see the old or the new content, never a part of it."""

from collections.abc import Iterator
import contextlib
import os
from pathlib import Path


@contextlib.contextmanager
def drafted(target: Path, draft: Path | None = None) -> Iterator[Path]:
    """
    Yield the path of a draft, which the ``with`` block writes and which is renamed to ``target`` at the end.

    After any exception, KeyboardInterrupt included, the draft is removed and ``target`` is as it was.

    :param target: the file to create or replace.
    :param draft: a path on the same disk; by default a hidden file with a random name next to ``target``.
    :raises OSError: if the file cannot be renamed.
    """
    if draft is None:
        draft = target.with_name(f'.{target.name}.{os.urandom(8).hex()}')
    try:
        yield draft
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_whole(target: Path, content: bytes | str, draft: Path | None = None) -> None:
    """
    Write a file by way of a draft, so that the file exists whole or not at all.

    :param target, draft: as for :func:`drafted`.
    :param content: the content; text is written in UTF-8.
    :raises OSError: if the file cannot be written.
    """
    with drafted(target, draft) as path:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
