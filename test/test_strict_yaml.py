"""YAML without surprises, and errors that say where."""

import importlib.util
import math
from pathlib import Path

import pytest
import yaml

from ssik_ros import yaml_loader
from ssik_ros.errors import ConfigError, DescriptionNotFound
from ssik_ros.strict_yaml import location, parse_yaml, read_yaml

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('1e-5', 1e-5),
        ('1.0e-5', 1e-5),
        ('-2E3', -2000.0),
        ('.5', 0.5),
        ('3.', 3.0),
        ('.inf', math.inf),
        ('-.inf', -math.inf),
        ('010', 10),
        ('0x10', 16),
        ('0o10', 8),
        ('-7', -7),
        ('1:30', '1:30'),
        ('2026-01-01', '2026-01-01'),
        ("'1e-5'", '1e-5'),
        ('true', True),
        ('', None),
    ],
)
def test_a_scalar_has_the_value_that_its_text_suggests(text, value):
    read = parse_yaml(f'key: {text}')['key']
    assert (read, type(read)) == (value, type(value))


def test_nan_is_read_as_nan():
    assert math.isnan(parse_yaml('key: .nan')['key'])


def test_a_duplicate_key_is_an_error_that_names_both_lines():
    with pytest.raises(ConfigError, match=r'f\.yaml, line 3, .*epsilon.*line 1'):
        parse_yaml('epsilon: 1\nother: 2\nepsilon: 3\n', 'f.yaml')


def test_a_duplicate_key_deep_inside_is_an_error():
    with pytest.raises(ConfigError, match='line 1'):
        parse_yaml('a: {b: [{c: 1, c: 2}]}')


def test_a_merged_key_may_be_overridden():
    text = 'base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}\n'
    assert parse_yaml(text)['own'] == {'a': 1, 'b': 3}


def test_a_tab_is_explained_with_file_and_line():
    with pytest.raises(ConfigError, match=r'f\.yaml, line 2, column 1: a tab'):
        parse_yaml('a:\n\tb: 1\n', 'f.yaml')


@pytest.mark.parametrize('text', ['a: [1', 'a: b: c', '- 1\nb: 2', 'a: !tag 1', '? [x]\n: 1'])
def test_text_that_is_no_plain_yaml_is_an_error_with_a_line(text):
    with pytest.raises(ConfigError, match=r'f\.yaml, line \d'):
        parse_yaml(text, 'f.yaml')


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DescriptionNotFound, match=r'gone\.yaml'):
        read_yaml(tmp_path / 'gone.yaml')


def test_a_file_that_is_not_utf8_is_an_error(tmp_path):
    path = tmp_path / 'latin.yaml'
    path.write_bytes(b'a: \xe9\n')
    with pytest.raises(ConfigError, match='not UTF-8'):
        read_yaml(path)


def test_a_mapping_knows_the_line_of_its_keys():
    content = parse_yaml('a:\n  b: 1\n  c: 2\n', 'f.yaml')
    assert location(content['a'], 'c', 'somewhere') == 'f.yaml:3'


def test_a_mapping_from_elsewhere_has_the_fallback_location():
    assert location({'c': 2}, 'c', 'somewhere') == 'somewhere'


@pytest.fixture
def lose_libyaml(monkeypatch):
    """Return a function after which texts are read as on a machine whose PyYAML has no libyaml."""
    monkeypatch.setattr(yaml, '__with_libyaml__', False)
    spec = importlib.util.spec_from_file_location('plain_yaml_loader', yaml_loader.__file__)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    return lambda: monkeypatch.setattr(yaml_loader, 'load_text', plain.load_text)


FILES = sorted(
    file for folder in ('config', 'ssik_ros') for file in (ROOT / folder).rglob('*.yaml')
)


@pytest.mark.sampled
@pytest.mark.parametrize('file', FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_means_the_same_with_and_without_libyaml(file, lose_libyaml):
    fast = read_yaml(file)
    lose_libyaml()
    plain = read_yaml(file)
    assert repr(fast) == repr(plain) and list_places(fast) == list_places(plain)


def list_places(content):
    """Return where every key was written."""
    if isinstance(content, list):
        return [list_places(item) for item in content]
    if not isinstance(content, dict):
        return []
    return [content.places, *(list_places(value) for value in content.values())]


@pytest.mark.parametrize('text', ['a: 1\na: 2', 'a: [1, 2', 'a:\n\t- 1', '? [1]\n: 2', 'a: *b'])
def test_a_fault_is_explained_in_the_same_words_with_and_without_libyaml(text, lose_libyaml):
    with pytest.raises(ConfigError) as fast:
        parse_yaml(text, 'file.yaml')
    lose_libyaml()
    with pytest.raises(ConfigError) as plain:
        parse_yaml(text, 'file.yaml')
    assert str(fast.value) == str(plain.value)


def test_a_text_with_too_many_levels_does_not_fill_the_stack():
    with pytest.raises(ConfigError, match='nest too deep'):
        parse_yaml('[' * 100_000)
