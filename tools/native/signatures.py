"""
The list of the kernels that Python may call: its lines, the compiler's types, and the codes of the extension.

A line is ``module.function(name: type, name: const type, ...)`` with numba's names of types. ``const`` means that the
kernel does not write the array, so that a read-only one is accepted.
"""

import re
from typing import Any, NamedTuple

from numba.core import types

from ssik_ros.kernels.native.sources import SIGNATURES

_LINE = re.compile(r'(?P<module>[\w.]+)\.(?P<name>\w+)\((?P<arguments>.*)\)')
_KIND = r'\w+\[[:, 1]+\]|\w+|\([\w, ]+\)'
_ARGUMENT = re.compile(rf'(?P<name>\w+): (?P<const>const )?(?P<type>{_KIND})(?:, |$)')
_CODES = {
    types.int64: 'i',
    types.uint64: 'n',
    types.int32: 'w',
    types.float64: 'd',
    types.boolean: 'b',
    types.none: 'v',
}


class Listed(NamedTuple):
    """One line of the list."""

    module: str
    name: str
    parameters: tuple[str, ...]
    types: tuple[Any, ...]
    codes: str
    line: int


def read() -> list[Listed]:
    """
    Return the lines of the list.

    :raises SystemExit: if a line is malformed, or a kernel is listed twice.
    """
    rows: dict[tuple[str, str], Listed] = {}
    for number, line in enumerate(SIGNATURES.read_text(encoding='utf-8').splitlines(), 1):
        if not line or line.startswith('#'):
            continue
        row = parse(line, number)
        if (row.module, row.name) in rows:
            raise SystemExit(f'{SIGNATURES}:{number}: {row.module}.{row.name} is listed twice')
        rows[row.module, row.name] = row
    return list(rows.values())


def parse(line: str, number: int = 0) -> Listed:
    """
    Return one line of the list.

    :param line: the line.
    :param number: of the line, for errors.
    """
    match = _LINE.fullmatch(line)
    parts = list(_ARGUMENT.finditer(match['arguments'])) if match else []
    if not match or ''.join(part[0] for part in parts) != match['arguments']:
        raise SystemExit(
            f'{SIGNATURES}:{number}: this is no "module.kernel(name: type, ...)": {line}'
        )
    kinds, codes = [], []
    for part in parts:
        kind, code = _typed(part['type'], bool(part['const']))
        kinds.append(kind)
        codes.append(code)
    names = tuple(part['name'] for part in parts)
    return Listed(match['module'], match['name'], names, tuple(kinds), ''.join(codes), number)


def _typed(text: str, is_const: bool) -> tuple[Any, str]:
    """Return numba's type of an argument and its code in the extension."""
    if text.startswith('('):
        kind = types.Tuple([_scalar(part) for part in text[1:-1].split(', ')])
        return kind, code_of(kind)
    scalar, _, inside = text.partition('[')
    kind = _scalar(scalar)
    if not inside:
        return kind, _CODES[kind]
    layout = 'C' if inside.rstrip(']').endswith('1') else 'A'
    dimensions = inside.count(',') + 1
    code = f'A{"c" if is_const else "m"}{_CODES[kind]}{dimensions}{layout}'
    return types.Array(kind, dimensions, layout), code


def _scalar(name: str) -> Any:
    """Return numba's type of a number."""
    return types.boolean if name == 'bool' else getattr(types, name)


def code_of(kind: Any) -> str:
    """
    Return the code of a number or a tuple.

    :param kind: numba's type.
    :raises TypeError: for a type that does not cross the border to Python.
    """
    kind = types.unliteral(kind)
    if isinstance(kind, types.BaseTuple):
        return f'({"".join(code_of(part) for part in kind.types)})'
    if kind not in _CODES:
        raise TypeError(f'{kind} does not cross the border to Python')
    return _CODES[kind]
