"""
Write the rules of images as C code; an image is the packed data of an arm for the C library.

The code computes where each part of a solver's memory begins, and checks an untrusted image.
"""

import math
import re

from ssik_ros.artifact.c.image import HEAD
from ssik_ros.artifact.c.image_rules import Cell, LISTS, NUMBERS, PARTS, SECTIONS, Table


def room_header() -> str:
    """Return the part of ``layout.h`` with the C function that computes where each part of a solver's memory begins."""
    lines = []
    for name, values in LISTS.items():
        lines.append(f'static const word {name}[] = {{{", ".join(map(str, values))}}};')
    body = [
        f'  at[P_{name} + 1] = at[P_{name}] + ({room.always}) + windings * ({room.each}) + once * ({room.once});'
        for name, room in PARTS.items()
    ]
    return '\n'.join(
        [
            *lines,
            'static void lay_out_parts(const word *numbers, word windings, word *at) {',
            '  const word once = windings > 0;',
            *_locals('\n'.join(body)),
            *body,
            '}',
        ]
    )


def _locals(body: str) -> list[str]:
    """
    Return C lines that define, by lower-case names, the numbers of an image that a piece of C code uses.

    :param body: the piece of C code.
    """
    return [
        f'  const word {name.lower()} = numbers[N_{name}];'
        for name in NUMBERS
        if re.search(rf'\b{name.lower()}\b', body)
    ]


def sha_constants() -> dict[str, str]:
    """
    Return the two tables of constants of SHA-256 as C lists, by template name.

    They are the first 32 bits of the fractions of square and cube roots of primes, computed in integers.
    """
    primes = [n for n in range(2, 312) if all(n % k for k in range(2, n))]
    square = [math.isqrt(prime << 64) & 0xFFFFFFFF for prime in primes[:8]]
    cubic = [_cube_root(prime << 96) & 0xFFFFFFFF for prime in primes[:64]]
    lists = {'SHA_START': square, 'SHA_PARTS': cubic}
    return {
        name: ', '.join(f'0x{value:08x}' for value in values) for name, values in lists.items()
    }


def _cube_root(value: int) -> int:
    """Return the cube root of a whole number, rounded down."""
    low, high = 0, 1 << (value.bit_length() // 3 + 1)
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= value else (low, middle)
    return low


def checks_header() -> str:
    """Return the text of the C header ``checks.h``: functions that check whether an image keeps all rules."""
    first = HEAD + 2 * len(SECTIONS)
    sizes = []
    for name, rules in SECTIONS.items():
        size = ' + '.join(
            f'({table.rows}) * ({" + ".join(str(cell.repeats) for cell in table.cells)})'
            for table in rules
        )
        sizes.append(f'  if (!has_place(image, S_{name}, &end, {size})) return 0;')
    checks = [
        line for rules in list(SECTIONS.values())[1:] for table in rules for line in _loop(table)
    ]
    numbers: list[str] = []
    for cell in reversed(NUMBERS.values()):
        is_used = re.search(rf'\b{cell.name}\b', '\n'.join(numbers)) is not None
        numbers[:0] = _cell(cell if is_used else cell._replace(name=''), '  ')
    return '\n'.join(
        [
            '/* Whether the single numbers keep their rules: all else follows from them. */',
            'static COLD int are_numbers_sound(const word *at) {',
            *numbers,
            '  return 1;',
            '}',
            '',
            '/* Whether each section has the size that the numbers imply, one after the other. */',
            'static COLD int are_sizes_sound(const word *image, const word *numbers) {',
            f'  word end = {first};',
            *_locals('\n'.join(sizes)),
            *sizes,
            '  return end == image[3];',
            '}',
            '',
            '/* Whether each word of the other sections keeps its rule. */',
            'static COLD int are_words_sound(const word *at, const word *numbers) {',
            *_locals('\n'.join(checks)),
            *checks,
            '  return 1;',
            '}',
            '',
        ]
    )


def _loop(table: Table) -> list[str]:
    """
    Return the C lines of a loop that checks all rows of a table.

    The C pointer ``at`` moves past the checked words.
    """
    body = [line for cell in table.cells for line in _cell(cell, '    ')]
    return [f'  for (word i = 0; i < {table.rows}; ++i) {{', *body, '  }']


def _cell(cell: Cell, indent: str) -> list[str]:
    """
    Return the C lines that check the words of a cell and move the C pointer ``at`` past them.

    If the cell has a name, the lines define a C variable with its value.

    :param indent: spaces before each line.
    """
    if cell.kind == 'must':
        return [f'{indent}if (!MUST({cell.low})) return 0;']
    if cell.kind == 'bits':
        arguments = f'1, {cell.low}, 0'
    else:
        arguments = f'{cell.repeats}, {cell.low}, {cell.high}'
    lines = [f'{indent}if (!{CHECKS[cell.kind]}(&at, {arguments})) return 0;']
    if cell.name:
        value = '(word)real_of(at[-1])' if cell.kind == 'counted' else 'at[-1]'
        lines.append(f'{indent}const word {cell.name} = {value};')
    return lines


CHECKS = {
    **{'whole': 'are_whole', 'bits': 'are_members', 'real': 'are_real'},
    **{'counted': 'are_counted', 'maybe': 'are_real_or_none'},
}
"""Functions of the C library for each kind of cell."""
