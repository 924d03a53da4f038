"""
Check a rule of style that ruff does not know: ``python tools/check_style.py``, part of ``make lint``.

Memory has names: where kernels take a part of a flat array by ``vector`` or ``matrix``, no number except zero says
where the part begins. Files that still have such numbers are listed with their count, which may only fall.
"""

import ast
from pathlib import Path
import sys

PACKAGE = Path(__file__).resolve().parents[1] / 'ssik_ros'
VIEWS = 'vector', 'matrix'
LITERAL = {
    'kernels/closed_form/branches/held_branches.py': 1,
    'kernels/closed_form/branches/search.py': 5,
    'kernels/closed_form/classes/orientation_first.py': 1,
    'kernels/closed_form/classes/prismatic_shoulder.py': 1,
    'kernels/closed_form/classes/three_parallel_lanes.py': 1,
    'kernels/closed_form/counting/count_poses.py': 4,
    'kernels/closed_form/elimination/closed_loop.py': 1,
    'kernels/closed_form/elimination/general_search.py': 3,
    'kernels/closed_form/elimination/root_candidates.py': 4,
    'kernels/closed_form/self_motions/descents.py': 1,
    'kernels/closed_form/self_motions/elbow_circles.py': 2,
    'kernels/closed_form/self_motions/lane_trace.py': 1,
    'kernels/closed_form/self_motions/readout.py': 1,
    'kernels/closed_form/singular/singular_postures.py': 8,
    'kernels/mechanisms/mechanism.py': 1,
    'kernels/mechanisms/normal.py': 3,
    'kernels/mechanisms/second_order.py': 1,
    'kernels/rows/eigenvalues.py': 3,
    'kernels/rows/eigenvectors.py': 2,
    'kernels/rows/pencil_eigenvalues.py': 1,
}
"""Number of views that begin at a number, by file."""


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


def faults(root: Path, listed: dict[str, int]) -> list[str]:
    """
    Return a sentence for each file with more or fewer literal places than listed.

    :param root: folder of the package.
    :param listed: numbers by file, relative to ``root``.
    """
    found = []
    for path in sorted(root.rglob('*.py')):
        name = path.relative_to(root).as_posix()
        lines, allowed = literal_places(path.read_text(encoding='utf-8')), listed.get(name, 0)
        if len(lines) > allowed:
            found.append(f'{name}: lines {lines} begin at a number; give the place a name')
        elif len(lines) < allowed:
            found.append(
                f'{name}: {len(lines)} of {allowed} listed places are left; list {len(lines)}'
            )
    gone = [name for name in listed if not (root / name).is_file()]
    return found + [f'{name}: is listed, but does not exist' for name in gone]


def main() -> int:
    """Print the faults; return 1 if there are any."""
    found = faults(PACKAGE, LITERAL)
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == '__main__':
    sys.exit(main())
