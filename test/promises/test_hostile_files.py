"""Every reader of files among hostile ones: content or one line of an error of this package, never a raw exception."""

from pathlib import Path
import sys

import pytest

pytest.importorskip('zarr', reason='needs the extra reach: pip install zarr')
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'fuzz' / 'python'))
from readers import hostile_files, READERS

from ssik_ros.errors import ConfigError, SsikError
from ssik_ros.strict_yaml import parse_yaml

CHANGED = 25
LONGEST = 5000


@pytest.mark.parametrize('name', READERS)
def test_valid_files_are_read(name, tmp_path):
    for seed in READERS[name].seeds:
        path = READERS[name].write(tmp_path, seed.read_bytes())
        try:
            READERS[name].read(path)
        except SsikError as error:
            # A map is its head, without arrays.
            assert name == 'map', error


@pytest.mark.sampled
@pytest.mark.parametrize('name', READERS)
def test_hostile_files_are_one_line(name, tmp_path):
    for data in hostile_files(READERS[name], CHANGED):
        path = READERS[name].write(tmp_path, data)
        try:
            READERS[name].read(path)
        except SsikError as error:
            assert '\n' not in str(error) and len(str(error)) < LONGEST, data[:100]


@pytest.mark.parametrize(
    'value',
    [
        '!!int abc',
        '!!float abc',
        '!!bool abc',
        '!!timestamp abc',
        '!!int ' + '9' * 5000,
        '9' * 5000,
        '!!int [1]',
        '!!set {[1]: 2}',
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_line(value):
    with pytest.raises(ConfigError, match=r'file\.yaml, line 2') as caught:
        parse_yaml(f'a: 1\nb: {value}\n', 'file.yaml')
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    'text', ['[' * 3000 + ']' * 3000, '- ' * 3000 + 'a', '{a: ' * 3000 + '1' + '}' * 3000]
)
def test_values_that_nest_too_deep_are_one_line(text):
    with pytest.raises(ConfigError, match='nest too deep'):
        parse_yaml(text, 'file.yaml')


def test_aliases_neither_hold_themselves_nor_exhaust_memory():
    with pytest.raises(ConfigError, match='inside of its own anchor'):
        parse_yaml('a: &a [1, *a]', 'file.yaml')
    lines = ['a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]']
    lines += [f'a{k + 1}: &a{k + 1} [{", ".join([f"*a{k}"] * 9)}]' for k in range(9)]
    with pytest.raises(ConfigError, match='aliases are written out'):
        parse_yaml('\n'.join(lines), 'file.yaml')
    assert parse_yaml('a: &a [1, 2]\nb: *a', 'file.yaml') == {'a': [1, 2], 'b': [1, 2]}
