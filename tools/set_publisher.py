#!/usr/bin/env python3
"""
Set who publishes the package, and where: tools/set_publisher.py EMAIL REPOSITORY.

setup.py has the address of the maintainers and the address of the repository. Every tracked file that repeats one of them
is changed, too, so that nothing else has to be edited before a release.
"""

from pathlib import Path
import re
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[1]
NAME = r'[^@\s<>&"\'\\]+'
KEYS = {'maintainer_email': rf'{NAME}@{NAME}', 'url': rf'https://{NAME}[^\s<>&"\'\\/]'}
"""Arguments in setup.py, and the pattern of a value."""


def present(setup: str) -> dict[str, str]:
    """
    Return the present values.

    :param setup: text of setup.py.
    """
    return {key: re.search(rf"^    {key}='([^']*)'", setup, re.M)[1] for key in KEYS}


def replaced(text: str, old: dict[str, str], new: dict[str, str]) -> str:
    """
    Return a text with other values.

    :param text: of a file.
    :param old, new: values by key.
    """
    for key in KEYS:
        text = re.sub(rf'{re.escape(old[key])}(?![\w-])', lambda _, key=key: new[key], text)
    return text


def main(arguments: list[str]) -> int:
    """
    Change all files; return the exit code.

    :param arguments: EMAIL and REPOSITORY.
    """
    if len(arguments) != len(KEYS):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    new = dict(zip(KEYS, arguments, strict=True))
    for key, pattern in KEYS.items():
        if not re.fullmatch(pattern, new[key]):
            print(f'set_publisher: {new[key]!r} is not a valid {key}.', file=sys.stderr)
            return 2
    old = present((ROOT / 'setup.py').read_text(encoding='utf-8'))
    search = subprocess.run(
        ['git', 'grep', '-lIF', *(f'-e{value}' for value in old.values())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in search.stdout.splitlines():
        path = ROOT / name
        path.write_text(replaced(path.read_text(encoding='utf-8'), old, new), encoding='utf-8')
        print(name)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
