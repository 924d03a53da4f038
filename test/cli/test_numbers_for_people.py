"""Every verb that prints numbers: at most four significant digits for people, all digits in ``--json``."""

import importlib.util
import json
from pathlib import Path
import re
import sys
import types

import pytest

from ssik_ros.cli.command import main, VERBS
from ssik_ros.errors import percent, short

PATHS = Path(__file__).resolve().parents[1] / 'paths' / 'data'
UR = '0.31234567 -1.2 1.4 -0.8 1.1 0.5'
POSE = '0.41234567 0.1 0.5 1 0 0 0'
CELL = """
arms:
  - robot: irb120
    place: {x: [-0.4, 0.4], y: 0.0}
  - robot: kr6_r900
    place: {x: [-0.4, 0.4], y: 1.2345678}
tasks: tasks.csv
places: 2
"""
TASKS = 'x,y,z,qw,qx,qy,qz\n0.3,0.2,0.3,0,1,0,0\n9.123456,0,0,1,0,0,0\n'
MAP = '--grid 0.4 --orientations 8 --region sphere:1.2345678 --workers 0'
PRINTING = {
    'solve': f'solve panda --pose {POSE}',
    'several': f'solve ur5e --joints {UR} --max-solutions 8',
    'why not': 'solve ur5e --xyz 4.1234567 0 0',
    'not found': f'solve panda --seed 0 0 0 -1.5 0 1.5 0 --solver ssik_ros/LevenbergMarquardt --param slimit=1 --param ilimit=1 --pose {POSE}',
    'fk': f'fk ur5e {UR}',
    'path': f'path {PATHS / "line.yaml"}',
    'reach': f'reach ur5e {MAP} -o {{folder}}/map.zarr',
    'estimate': f'reach ur5e {MAP} --estimate',
    'place': 'place {folder}/cell.yaml',
    'dataset': 'dataset ur5e --samples 16 --workers 0 -o {folder}/data',
    'classify': 'classify kr6_r900',
    'build': 'build ur5e --out {folder}/ur5e_ik.py --validate-poses 5',
    'recommend': 'recommend ur5e --seconds 1 --samples 20 --solver Auto --solver PoseIK',
    'bench': 'bench panda --samples 20 --solver PoseIK --no-plots -o {folder}/bench',
    'robots': 'robots',
    'doctor': 'doctor panda',
    'call': 'call compute_fk',
}
SILENT = {
    'add-arm': 'prints the entry of a file, which keeps all digits',
    'view': 'draws, and prints an address',
    'completion': 'prints a script',
    'solvers': 'prints defaults and bounds of parameters, which are exact',
}
"""Verbs that print no measured numbers."""
WITH_ALL_DIGITS = (
    *(
        'solve',
        'several',
        'why not',
        'fk',
        'path',
        'place',
        'classify',
        'recommend',
        'bench',
        'call',
    ),
)
NEEDS = {'reach': 'zarr', 'estimate': 'zarr', 'dataset': 'pyarrow'}
NUMBER = re.compile(r'(?<![\w.+:])\d+\.\d+(?:e[-+]?\d+)?(?![\w.:])')


def digits(number):
    """Return how many significant digits a printed number has."""
    return len(number.partition('e')[0].replace('.', '').lstrip('0'))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command in a folder with a work cell and returns the output."""
    (tmp_path / 'cell.yaml').write_text(CELL)
    (tmp_path / 'tasks.csv').write_text(TASKS)
    monkeypatch.chdir(tmp_path)
    service = types.ModuleType('ssik_ros.ros.process.service_call')
    pose = {'position': {'x': 0.12345678901234567, 'y': [0.1, 2.123456789]}}
    service.call_service = lambda *_: {'pose_stamped': pose}
    monkeypatch.setitem(sys.modules, service.__name__, service)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        'ssik_ros.cli.verb.call.find_spec', lambda name: name == 'rclpy' or real(name)
    )

    def printed(name, *options):
        if name in NEEDS:
            pytest.importorskip(NEEDS[name])
        assert main([*PRINTING[name].format(folder=tmp_path).split(), *options]) in (0, 1)
        return capsys.readouterr().out

    return printed


def test_every_verb_is_in_a_table():
    tried = {words.split()[0] for words in PRINTING.values()}
    assert tried | set(SILENT) == {verb.name for verb in VERBS}


@pytest.mark.sampled
@pytest.mark.parametrize('name', PRINTING)
def test_people_get_four_significant_digits(run, name):
    text = run(name)
    numbers = NUMBER.findall(text)
    assert numbers or name in {'dataset', 'robots', 'doctor'}
    assert [number for number in numbers if digits(number) > 4] == [], text


@pytest.mark.sampled
@pytest.mark.parametrize('name', WITH_ALL_DIGITS)
def test_json_has_all_digits(run, name):
    text = run(name, '--json')
    json.loads(text)
    assert any(digits(number) >= 15 for number in NUMBER.findall(text))


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (-2.34567, '-2.346'),
        (0.000123456, '0.0001235'),
        (123.456, '123.5'),
        (-1e-17, '0'),
        (-0.0, '0'),
        (2.0, '2'),
        (float('inf'), 'inf'),
    ],
)
def test_short_numbers(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ('part', 'whole', 'text'),
    [
        (3, 3, '100 %'),
        (99_999, 100_000, '99.99 %'),
        (0, 7, '0 %'),
        (1, 3, '33.33 %'),
        (1, 8, '12.5 %'),
    ],
)
def test_a_share_below_all_is_never_called_all(part, whole, text):
    assert percent(part / whole) == text
