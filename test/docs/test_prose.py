"""The prose of README and docs: no line is wider than 120 columns, and long sentences are found."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location('prose', ROOT / 'tools' / 'prose.py')
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)


@pytest.mark.parametrize('page', prose.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_of_prose_is_wider_than_120_columns(page):
    lines = [number + 1 for number in prose.wide(page.read_text(encoding='utf-8'))]
    assert not lines, f'python tools/prose.py --wrap {page.relative_to(ROOT)}'


PAGE = f"""# A heading {'that is long ' * 20}

| a table | {'is wide ' * 20} |

1. An item {'with words ' * 12}and 2. a number, `some code` - a dash
   that goes on.
2. Another one.

```bash
{'code is wide ' * 20}
```

> A quotation {'has words ' * 15}
"""


def test_paragraphs_are_wrapped_and_nothing_else_changes():
    assert prose.wide(PAGE) == [4, 12]
    text = prose.wrapped(PAGE)
    assert not prose.wide(text)
    assert prose.wrapped(text) == text
    item = [
        paragraph for paragraph in prose.paragraphs(text) if paragraph.lines[0].startswith('1.')
    ]
    assert len(item) == 1 and all(line.startswith('   ') for line in item[0].lines[1:])
    assert item[0].text.split() == prose.Paragraph(0, tuple(PAGE.splitlines()[4:6])).text.split()


def test_sentences_of_more_than_25_words_are_listed():
    text = f'Short. {"word " * 25}end. `{"code " * 30}` is one word.\n\n- {"word " * 26}\n'
    assert [line for line, _ in prose.long_sentences(text)] == [0, 2]


MODULE = '''"""What a module says, and ``what`` of code; what to do is fine."""

X = 'what of a string'
"""None for none.

The limit from which on it counts."""
# Beside the point.
'''


def test_phrases_of_the_dialect_are_listed_with_their_lines():
    phrases = sorted(
        (line, words.split(':')[0].lower())
        for line, words, _ in prose.dialect(prose.spoken(MODULE))
    )
    assert [line for line, _ in phrases] == [1, 4, 6, 7]
    assert 'what a module says' in phrases[0][1] and 'from which on' in phrases[2][1]


C_FILE = """#include "what.h"
/* What a function
 * says. */
const char *address = "package://what/of/it"; // a pose
// that is none
"""


def test_comments_of_c_are_read_and_its_strings_are_not():
    phrases = [
        (line, words.lower()) for line, words, _ in prose.dialect(prose.spoken_in_c(C_FILE))
    ]
    assert [line for line, _ in phrases] == [2, 5]
    assert 'what a function' in phrases[0][1] and 'that is none' in phrases[1][1]
