"""
Check a rule of style that ruff does not know: ``python tools/check_style.py``, part of ``make lint``.

Memory has names: where kernels take a part of a flat array by ``vector`` or ``matrix``, no number except zero says
where the part begins.
"""

import ast
from pathlib import Path
import sys

PACKAGE = Path(__file__).resolve().parents[1] / 'ssik_ros'
VIEWS = 'vector', 'matrix'


def literal_places(source: str) -> list[int]:
    """
    Return the lines of views whose place contains a number other than zero.

    :param source: of a module.
    """
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in VIEWS and len(node.args) > 1:
            parts = ast.walk(node.args[1])
            if any(isinstance(part, ast.Constant) and part.value != 0 for part in parts):
                lines.append(node.lineno)
    return lines


def faults(root: Path) -> list[str]:
    """
    Return a sentence for each file with such places.

    :param root: folder of the package.
    """
    found = []
    for path in sorted(root.rglob('*.py')):
        if lines := literal_places(path.read_text(encoding='utf-8')):
            name = path.relative_to(root).as_posix()
            found.append(f'{name}: lines {lines} begin at a number; give the place a name')
    return found


def main() -> int:
    """Print the faults; return 1 if there are any."""
    found = faults(PACKAGE)
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == '__main__':
    sys.exit(main())
