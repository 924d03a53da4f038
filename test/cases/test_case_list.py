"""Every case of docs/reference/cases.md has a test of its name where the page says, and no test has another id."""

import ast
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r'^\| ([A-Z]{1,2}\d\d) \| (.+?) \| (.+?) \|$', re.M)
NAME = re.compile(r'(?:test|row)_((?:[a-hj]|ik|rs|fk|cp|cc)\d\d)_')
"""Names such as test_p99 are no cases."""
REQUIRED = {'A': 11, 'B': 11, 'C': 10, 'D': 11, 'E': 14, 'F': 12, 'G': 6, 'H': 4, 'J': 5}
LEFT_OUT = {'E10', 'E13', 'F01', 'F05', 'F06', 'F07'}
"""Cases that need a day, 64 cores or a running move_group."""
ELSEWHERE = {'H': 5, 'I': 10, 'K': 5, 'L': 4}
"""Groups with cases that are tested in other folders."""


def listed():
    """Return the files of each case, by id, as the page has them."""
    page = (ROOT / 'docs' / 'reference' / 'cases.md').read_text(encoding='utf-8')
    files = {}
    for case, _, where in ROW.findall(page):
        assert case not in files, f'{case} is listed twice'
        files[case] = set(re.findall(r'\]\((?:\.\./){2}([^)]+)\)', where))
    return files


def written():
    """Return the files of each case, by id, in which a test or a row of a table has its name."""
    files = {}
    for path in sorted((ROOT / 'test').rglob('*.py')):
        text = path.read_text(encoding='utf-8')
        for node in ast.walk(ast.parse(text)) if NAME.search(text) else ():
            name = NAME.match(node.name) if isinstance(node, ast.FunctionDef) else None
            if name:
                files.setdefault(name[1].upper(), set()).add(str(path.relative_to(ROOT)))
    return files


def test_every_case_is_listed():
    cases = {f'{group}{n:02}' for group, count in REQUIRED.items() for n in range(1, count + 1)}
    assert cases - LEFT_OUT <= set(listed())


def test_every_case_that_is_listed_has_its_test_there_and_none_is_unknown():
    assert written() == listed()


def test_every_case_of_users_has_its_page():
    page = (ROOT / 'docs' / 'reference' / 'cases.md').read_text(encoding='utf-8')
    part = page.partition('## Pages of the cases')[2].partition('\n## ')[0]
    ids = []
    for cases, where in re.findall(r'^\| ([A-L]\d\d.*?) \| (.+) \|$', part, re.M):
        assert '](' in where, cases
        for first, last in re.findall(r'([A-L]\d\d)(?: to ([A-L]\d\d))?', cases):
            numbers = range(int(first[1:]), int((last or first)[1:]) + 1)
            ids += [f'{first[0]}{n:02}' for n in numbers]
    groups = REQUIRED | ELSEWHERE
    wanted = [f'{group}{n:02}' for group in sorted(groups) for n in range(1, groups[group] + 1)]
    assert sorted(ids) == wanted


def test_rows_of_the_services_are_numbered_without_gaps():
    for group in ('IK', 'RS', 'FK', 'CP', 'CC'):
        numbers = sorted(int(case[2:]) for case in listed() if case.startswith(group))
        assert numbers == list(range(1, len(numbers) + 1)), group
