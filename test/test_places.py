"""The checks of style find numbers for places, thresholds that share a name, and names that say nothing or are private."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    'check_style', Path(__file__).resolve().parents[1] / 'tools' / 'check_style.py'
)
check_style = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_style)


@pytest.mark.parametrize(
    ('source', 'lines'),
    [
        ('vector(work, 6 * n + 24, n)', [1]),
        ('\nmatrix(work, 12, 3, 3)', [2]),
        ('vector(work, at(LOWER, n), n)', []),
        ('vector(work, W_LOOP, 12)', []),
        ('vector(work, 0, 12)', []),
        ('jit.vector(work, 12, 3)', [1]),
        ('vector(work, start=24, size=3)', [1]),
        ('vector(work, at((6, 24), n), 3)', [1]),
        ("element.vector('rgba', (0.5, 1.0))", []),
        ('lanes.load(a, 9 * LANES)', [1]),
        ('lanes.load_half(a, (4 + k) * HALF_LANES)', [1]),
        ('lanes.store(a, TARGET + (ROW + k) * LANES, x)', []),
        ('lanes.store(a, column_of(branch, 5), x)', []),
        ('lanes.load(a, 3 * LANES)', []),
        ('tables.load(a, 9)', []),
        ('reals[72:78]', [1]),
        ('reals[12:18]', [1]),
        ('work[6 * n + 24]', [1]),
        ('work[6 * t.n + 24]', [1]),
        ('work[24]', [1]),
        ('work[k + 24]', [1]),
        ('ranges[2 * n + 1 + place]', [1]),
        ('ranges[2 * n + place]', [1]),
        ('ranges[n * 2 + place]', [1]),
        ('room[at + 4 * i + k]', [1]),
        ('table[7 * i + k]', [1]),
        ('points[3 * i + 4]', [1]),
        ('rows[j, 2 * nq + k]', [1]),
        ('x[n : 2 * n]', [1]),
        ('x[2 * n :]', [1]),
        ('x[3 * n : 3 * n + free]', [1]),
        ('row[LOWER : LOWER + 6]', [1]),
        ('x[2 * i : 2 * i + 7]', [1]),
        ('x[3 * i + k], x[4 * i + 3], x[3 * i], rows[13, k], x[12]', []),
        ('x[9:12], x[:16], x[: 2 * n], x[a + 2], x[k + 9]', []),
        ('x[3 * i : 3 * i + 3], x[9 * i : 9 * i + 9], x[a : a + n]', []),
        ('q[at : at + 4], poses[at : at + 12], words[HEAD : HEAD + 2 * len(parts)]', []),
    ],
)
def test_places_that_are_numbers_are_found(source, lines):
    assert check_style.literal_places(source) == lines


def test_a_fault_names_file_and_lines(tmp_path):
    (tmp_path / 'ssik_ros').mkdir()
    (tmp_path / 'ssik_ros' / 'kernel.py').write_text('vector(work, 12, 3)\n')
    (tmp_path / 'ssik_ros' / 'named.py').write_text('vector(work, AT_TURN, 3)\n')
    layout = tmp_path / check_style.LAYOUTS[0]
    layout.parent.mkdir(parents=True)
    layout.write_text('vector(work, 12, 3)\n')
    assert check_style.faults(check_style.read_sources(tmp_path)) == [
        'ssik_ros/kernel.py: lines [1] find memory by a number; give the place a name'
    ]


@pytest.mark.parametrize(
    ('first', 'second', 'is_fault'),
    [
        ('APART = 1e-3', 'APART = 0.1', True),
        ('APART = 2.0**-53', 'APART: float = 1.0 / 9007199254740992.0', False),
        ('APART = 1e-3', 'from first import APART', False),
        ('APART, LOOKS = 1e-3, 4', 'LOOKS, APART = 5, 1e-9', True),
        ('LOOKS = 4', 'LOOKS = 5', False),
        ('MOST = 4', 'MOST = 5', True),
        ('MOST, LEAST = range(2)', 'LEAST, MOST = range(2)', True),
        ('_APART = 1e-3', '_APART = 0.1', False),
        ('class First:\n    APART = 1e-3', 'APART = 0.1', False),
    ],
)
def test_a_threshold_shares_its_name_with_no_other_threshold(first, second, is_fault):
    sentences = check_style.shared_names({'first.py': first, 'second.py': second})
    assert bool(sentences) == is_fault
    assert all('first.py' in line and 'second.py' in line for line in sentences)


@pytest.mark.parametrize(
    ('source', 'names'),
    [
        ('found = 1', [('found', 1)]),
        ('\nfor _, own in rows: pass', [('own', 2)]),
        ('def ways(away): pass', [('ways', 1), ('away', 1)]),
        ('self._known = 1', [('_known', 1)]),
        ('class Row:\n    own: int', [('own', 2)]),
        ('try: pass\nexcept KeyError as found: pass', [('found', 2)]),
        ('match rows:\n    case found: pass', [('found', 2)]),
        ('match rows:\n    case [*own] | {**own}: pass', [('own', 2), ('own', 2)]),
        ('import rows as found', [('found', 1)]),
        ('from rows import pose as own', [('own', 1)]),
        ('async def found(): pass', [('found', 1)]),
        ('class _Found: pass', [('_Found', 1)]),
        ('answer, questions = ask(), 1', [('answer', 1), ('questions', 1)]),
        ('def question(answers): pass', [('question', 1), ('answers', 1)]),
        ('FOUND = 1', []),
        ('import found\ntry: pass\nexcept KeyError: pass', []),
        ('print(found, rows.own, key=own)', []),
        ('owner = founder = 1', []),
    ],
)
def test_names_without_a_noun_are_found(source, names):
    assert check_style.empty_names(source) == names


def test_a_name_is_judged_in_all_folders(tmp_path):
    (tmp_path / 'test').mkdir()
    (tmp_path / 'test' / 'test_rows.py').write_text('own = 1\nrows = 2\n')
    assert check_style.faults(check_style.read_sources(tmp_path)) == [
        'test/test_rows.py:1: the name own does not say what its value is; use a noun such as branches, offset or response.'
    ]


@pytest.mark.parametrize(
    ('source', 'names'),
    [
        ('arm._plan', [('_plan', 1)]),
        ('\narm.plan._plan.q = 1', [('_plan', 2)]),
        ('arm._plan._held', [('_plan', 1), ('_held', 1)]),
        ('from arms import arm, _plan', [('_plan', 1)]),
        ("monkeypatch.setattr(arm, '_plan', 1)", [('_plan', 1)]),
        ("monkeypatch.setattr('arms.arm._plan', 1)", [('_plan', 1)]),
        ("getattr(arm, '_plan')", [('_plan', 1)]),
        ('super()._plan()', [('_plan', 1)]),
        ('self._plan = cls._plan', []),
        ('row._replace(x=1)._asdict(), os._exit(0), shown._repr_html_()', []),
        ('arm.__dict__, from_arm.plan', []),
        ("getattr(arm, 'plan', '_plan')", []),
        ("show(arm, '_plan')", []),
    ],
)
def test_private_names_of_others_are_noticed(source, names):
    assert sorted(check_style.private_names(source)) == sorted(names)


def test_private_names_are_judged_in_tests_except_for_helpers(tmp_path):
    helper = check_style.HELPERS[0]
    for file in ('test/test_arms.py', 'bench/arms.py', helper):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('arm._plan\n')
    assert check_style.faults(check_style.read_sources(tmp_path)) == [
        'test/test_arms.py:1: the name _plan is private; test what users of the object see.'
    ]


def test_the_package_keeps_the_rules():
    assert check_style.faults(check_style.read_sources(check_style.ROOT)) == []
