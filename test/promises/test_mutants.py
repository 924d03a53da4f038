"""The mutants of ``make mutants``: each changes code that is there, and names tests that are there."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location('mutants', ROOT / 'tools' / 'mutants.py')
mutants = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutants)


def test_each_snippet_is_there_once():
    counts = {m.what: (ROOT / m.file).read_text().count(m.before) for m in mutants.MUTANTS}
    assert {what: count for what, count in counts.items() if count != 1} == {}


def test_each_test_is_there():
    named = {test for m in mutants.MUTANTS for test in m.tests}
    missing = []
    for test in named:
        file, _, name = test.partition('::')
        text = (ROOT / file).read_text()
        if name and f'def {name.partition("[")[0]}(' not in text:
            missing.append(test)
    assert missing == []
