"""
Fuzz one reader, guided by coverage: ``python fuzz/python/fuzz_reader.py NAME [libFuzzer's options] [corpus]``.

Whatever a file holds, a reader returns, or raises an error of the package of one line. Anything else is a crash. Needs Atheris:
``pip install atheris``.
"""

from pathlib import Path
import sys
import tempfile

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parent))

with atheris.instrument_imports(include=['ssik_ros', 'yaml']):
    import readers

    from ssik_ros.errors import SsikError

LONGEST_LINE = 5000


def main() -> None:
    """Fuzz the reader whose name is the first argument."""
    name = sys.argv.pop(1)
    reader = readers.READERS[name]
    folder = tempfile.TemporaryDirectory(prefix='ssik_fuzz_')

    def check(data: bytes) -> None:
        path = reader.write(Path(folder.name), data)
        try:
            reader.read(path)
        except (SsikError, OSError) as error:
            text = str(error)
            assert '\n' not in text and len(text) < LONGEST_LINE, text[:200]

    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == '__main__':
    main()
