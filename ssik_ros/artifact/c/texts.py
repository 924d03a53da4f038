"""
Make the texts of a C library's files from templates and data; also its name as a C identifier.

In a template, ``@NAME@`` is replaced by a text. The lines from ``@if FLAG@`` to ``@end@`` are kept only for libraries
that have this flag.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
import re

from ssik_ros.arrays import IntArray
from ssik_ros.results import Cause, CAUSE_ADVICE, CAUSE_TEXT
from ssik_ros.solvers.search.newton.steps import OTHER_STEP, STEP_TEXT

TEMPLATES = Path(__file__).with_name('templates')
WORDS_A_LINE = 8
ABI = {'ABI_MAJOR': '1', 'ABI_MINOR': '2'}
"""Version of the interface in the header, whatever the version of the package."""


def render(template: str, values: dict[str, str], flags: Iterable[str]) -> str:
    """
    Return the text of a template with all names replaced, and with only the lines for the given flags.

    :param template: name of the template.
    :param values: texts that replace ``@NAME@``, by name.
    :param flags: lines between ``@if FLAG@`` and ``@end@`` are kept for these flags, and removed for others.
    :raises KeyError: for a name without a text.
    """
    text = (TEMPLATES / template).read_text(encoding='utf-8')
    kept: list[str] = []
    is_kept, chosen_flags = True, set(flags)
    for line in text.splitlines(keepends=True):
        mark = re.fullmatch(r'@(?:if (\w+)|end)@\n', line)
        if mark:
            is_kept = mark[1] is None or mark[1] in chosen_flags
        elif is_kept:
            kept.append(line)
    return re.sub(r'@([A-Z_]+)@', lambda match: values[match[1]], ''.join(kept))


def _cases(texts: Mapping[Cause, str]) -> list[str]:
    """Return the ``case`` lines of a C function that returns the text of a cause."""
    return [f'    case {cause}: return "{text}";' for cause, text in texts.items()]


def cause_texts() -> dict[str, str]:
    """
    Return the texts for templates about causes of failures, by name.

    They are the number of each cause, and the ``case`` lines of C functions that describe a cause.
    """
    numbers = {f'CAUSE_{cause.name}': str(cause.value) for cause in Cause}
    whole = {cause: text + CAUSE_ADVICE.get(cause, '') for cause, text in CAUSE_TEXT.items()}
    steps = [*_cases(STEP_TEXT), f'    default: return "{OTHER_STEP}";']
    return numbers | {'CAUSE_TEXTS': '\n'.join(_cases(whole)), 'STEP_TEXTS': '\n'.join(steps)}


def image_header(image: IntArray) -> str:
    """
    Return the text of ``image.h``, with an image as a constant array.

    :param image: result of :func:`ssik_ros.artifact.c.blocks.pack`.
    """
    words = [f'INT64_C({word})' if word > -(2**63) else 'INT64_MIN' for word in image.tolist()]
    lines = (', '.join(words[at : at + WORDS_A_LINE]) for at in range(0, len(words), WORDS_A_LINE))
    body = ',\n  '.join(lines)
    return f'static const int64_t IMAGE[{len(words)}] = {{\n  {body}}};\n'


def identifier(name: str) -> str:
    """
    Return a name as a C identifier in lower case: ``arm_`` precedes a digit at its begin.

    Each run of other characters than letters a to z and digits becomes one ``_``; runs at both ends are removed. A name
    of which nothing is left becomes ``arm``.

    :param name: name of a robot.
    """
    plain = re.sub(r'[^0-9a-z]+', '_', name.lower()).strip('_') or 'arm'
    return plain if plain[0].isalpha() else f'arm_{plain}'
