"""Parameter files in generate_parameter_library syntax: reading, checking, refusing."""

import dataclasses
from pathlib import Path
import pickle
import subprocess
import sys

import numpy as np
import pytest
import yaml

from ssik_ros.errors import ConfigError, InvalidParameter
from ssik_ros.solvers.options.parameter_file import load_schema, make_schema
from ssik_ros.solvers.options.parameters import ParameterSchema, REQUIRED
from ssik_ros.solvers.registry import make_options, SOLVERS
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.strict_yaml import parse_yaml

POSE_IK = 'ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml'


def one(leaf: str) -> ParameterSchema:
    """Return the schema with one parameter ``p`` whose leaf is given in flow style."""
    return make_schema(parse_yaml(f'root:\n  p: {leaf}\n', 'schema.yaml'), 'schema.yaml')


def accepts(leaf: str, value: object) -> bool:
    """Return whether the parameter takes the value."""
    try:
        one(leaf).check({'p': value})
    except InvalidParameter:
        return False
    return True


@dataclasses.dataclass(frozen=True)
class Inner:
    gain: float = 1.0


@dataclasses.dataclass(frozen=True)
class Outer:
    names: tuple[str, ...] = ()
    inner: Inner = dataclasses.field(default_factory=Inner)


def test_pose_ik_file_and_options_have_the_same_names_in_the_same_order():
    fields = tuple(field.name for field in dataclasses.fields(PoseIkOptions))
    assert load_schema(POSE_IK).names == fields


def test_pose_ik_file_and_options_have_the_same_defaults():
    defaults = {p.name: p.default for p in load_schema(POSE_IK).parameters}
    assert defaults == dataclasses.asdict(PoseIkOptions())


def test_pose_ik_file_and_options_have_the_same_types():
    of_type = {'double': float, 'int': int, 'string': str, 'bool': bool}
    types = {field.name: field.type for field in dataclasses.fields(PoseIkOptions)}
    assert {p.name: of_type[p.type.name] for p in load_schema(POSE_IK).parameters} == types


@pytest.mark.parametrize('spec', SOLVERS, ids=lambda spec: spec.name)
def test_options_of_a_solver_come_from_its_parameter_file(spec):
    options, schema = make_options(spec), load_schema(spec.parameters_file)
    assert dataclasses.asdict(options) == {p.name: p.default for p in schema.parameters}
    assert tuple(field.name for field in dataclasses.fields(options)) == schema.names
    assert type(pickle.loads(pickle.dumps(options))) is type(options)
    assert pickle.loads(pickle.dumps(options)) == options


def test_options_made_by_hand_are_checked_as_those_of_a_file_are():
    made = PoseIkOptions(target_tolerance=1)
    assert made.target_tolerance == 1.0 and type(made.target_tolerance) is float
    with pytest.raises(InvalidParameter, match='target_tolerance'):
        PoseIkOptions(target_tolerance=-1.0)
    with pytest.raises(InvalidParameter, match='gd_max_iters'):
        PoseIkOptions(gd_max_iters=5.0)
    with pytest.raises(TypeError, match='gd_max_iter'):
        PoseIkOptions(gd_max_iter=5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.target_tolerance = 2.0


def test_listing_solvers_opens_no_parameter_file_and_making_options_opens_one():
    lines = (
        'import sys',
        'opened = []',
        "note = lambda event, details: event == 'open' and opened.append(str(details[0]))",
        "files = lambda: [path for path in opened if path.endswith('_parameters.yaml')]",
        'sys.addaudithook(note)',
        'from ssik_ros.solvers import registry',
        'assert registry.list_solvers() and files() == [], files()',
        'registry.make_options(registry.SOLVERS[0])',
        'assert len(files()) == 1, files()',
    )
    subprocess.run([sys.executable, '-c', '\n'.join(lines)], check=True, timeout=60)


def test_every_pose_ik_parameter_has_a_description():
    assert all(parameter.description for parameter in load_schema(POSE_IK).parameters)


def test_pose_ik_file_means_the_same_to_plain_yaml_as_to_the_strict_reader():
    path = Path(__file__).parents[2] / 'ssik_ros/solvers/search/pose_ik/pose_ik_parameters.yaml'
    text = path.read_text(encoding='utf-8')
    assert yaml.safe_load(text) == parse_yaml(text)


def test_nothing_given_resolves_to_the_defaults():
    assert load_schema(POSE_IK).resolve({}, PoseIkOptions) == PoseIkOptions()


@pytest.mark.parametrize(
    ('type_name', 'good', 'bad'),
    [
        ('bool', [True, np.bool_(False)], [0, 1, 'true', None]),
        ('int', [3, -2, np.int64(4)], [True, 1.0, '3', 2**63, None]),
        ('double', [1.5, 2, np.float32(0.5), float('inf')], [True, '1.0', [1.0], float('nan')]),
        ('string', ['x', ''], [1, None, ['x']]),
        ('int_array', [[1, 2], (), np.array([3])], [1, [1.0], [True], 'ab']),
        ('double_array', [[1, 2.5], np.zeros(2)], [1.0, ['a']]),
        ('string_array', [['a'], ()], ['a', [1]]),
        ('bool_array', [[True]], [[1], True]),
        ('none', [None], [0, '']),
    ],
)
def test_a_type_accepts_its_own_values_and_no_others(type_name, good, bad):
    leaf = f'{{type: {type_name}}}'
    assert all(accepts(leaf, value) for value in good)
    assert not any(accepts(leaf, value) for value in bad)


@pytest.mark.parametrize(
    ('type_name', 'validation', 'good', 'bad'),
    [
        ('double', 'bounds<>: [0.0, 1.0]', [0.0, 1.0], [-1e-9, 1.1]),
        ('double', 'lt<>: [1.0]', [0.9], [1.0]),
        ('double', 'gt<>: [0.0]', [1e-9], [0.0]),
        ('double', 'gt<>: 0.0', [1e-9], [0.0]),
        ('int', 'lt_eq<>: [5]', [5], [6]),
        ('int', 'gt_eq<>: [5]', [5], [4]),
        ('int', 'gt_eq<>: [1], lt<>: [3]', [1, 2], [0, 3]),
        ('string', 'one_of<>: [[a, b]]', ['a', 'b'], ['c', '']),
        ('string', 'not_empty<>: []', ['a'], ['']),
        ('string', 'not_empty<>: null', ['a'], ['']),
        ('double_array', 'fixed_size<>: [2]', [[1, 2]], [[1], [1, 2, 3]]),
        ('double_array', 'size_gt<>: [1]', [[1, 2]], [[1]]),
        ('double_array', 'size_lt<>: [2]', [[1]], [[1, 2]]),
        ('string_array', 'unique<>: []', [['a', 'b']], [['a', 'a']]),
        ('string_array', 'subset_of<>: [[a, b]]', [['a'], []], [['a', 'c']]),
        ('double_array', 'element_bounds<>: [0.0, 1.0]', [[0, 1]], [[0, 2]]),
        ('double_array', 'lower_element_bounds<>: [0.0]', [[0, 9]], [[-1]]),
        ('double_array', 'upper_element_bounds<>: [1.0]', [[-9, 1]], [[1.5]]),
    ],
)
def test_a_validator_keeps_its_range(type_name, validation, good, bad):
    leaf = f'{{type: {type_name}, validation: {{{validation}}}}}'
    assert all(accepts(leaf, value) for value in good)
    assert not any(accepts(leaf, value) for value in bad)


@pytest.mark.parametrize('type_name', ['string_fixed_3', 'double_array_fixed_3'])
def test_a_fixed_type_limits_the_size(type_name):
    value = 'abcd' if type_name.startswith('string') else [1.0] * 4
    assert accepts(f'{{type: {type_name}}}', value[:3])
    assert not accepts(f'{{type: {type_name}}}', value)


def test_an_int_given_for_a_double_becomes_a_float():
    value = one('{type: double}').check({'p': 2})['p']
    assert isinstance(value, float)


def test_a_refused_value_is_reported_with_key_value_range_and_default():
    with pytest.raises(InvalidParameter, match='gd_max_iters') as caught:
        load_schema(POSE_IK).check({'gd_max_iters': 0})
    assert (caught.value.key, caught.value.value, caught.value.allowed) == (
        'gd_max_iters',
        0,
        'int >= 1',
    )
    assert 'default: 100' in str(caught.value)


def test_a_refused_value_is_reported_with_file_and_line():
    values = parse_yaml('solve_mode: first_found\ngd_max_iters: 0\n', 'arm.yaml')
    with pytest.raises(InvalidParameter, match=r'^arm\.yaml:2: '):
        load_schema(POSE_IK).check(values)


def test_a_misspelt_key_is_an_error_that_names_the_nearest():
    with pytest.raises(InvalidParameter, match="Did you mean 'target_tolerance'") as caught:
        load_schema(POSE_IK).resolve({'target_tolerence': 1e-4}, PoseIkOptions)
    assert caught.value.key == 'target_tolerence'


def test_an_alias_sets_the_parameter():
    options = load_schema(POSE_IK).resolve(
        {'epsilon': 1e-4}, PoseIkOptions, {'epsilon': 'target_tolerance'}
    )
    assert options.target_tolerance == 1e-4


def test_alias_and_name_with_different_values_are_an_error():
    with pytest.raises(InvalidParameter, match='same parameter'):
        load_schema(POSE_IK).check(
            {'epsilon': 1e-4, 'target_tolerance': 1e-3}, {'epsilon': 'target_tolerance'}
        )


def test_alias_and_name_with_the_same_value_are_accepted():
    checked = load_schema(POSE_IK).check(
        {'epsilon': 1, 'target_tolerance': 1.0}, {'epsilon': 'target_tolerance'}
    )
    assert checked == {'target_tolerance': 1.0}


NESTED = 'root:\n  names: {type: string_array, default_value: [a]}\n  inner:\n    gain: {type: double, default_value: 2.0}\n'


@pytest.mark.parametrize('values', [{'inner': {'gain': 3}}, {'inner.gain': 3}])
def test_structs_are_given_nested_or_dotted_and_become_nested_options(values):
    options = make_schema(parse_yaml(NESTED), 'x').resolve(values, Outer)
    assert options == Outer(('a',), Inner(3.0))


def test_a_missing_required_parameter_is_named():
    schema = one('{type: double}')
    assert schema.parameter('p').default is REQUIRED
    with pytest.raises(InvalidParameter, match="required but not given: 'p'"):
        schema.complete({})


@pytest.mark.parametrize(
    ('leaf', 'message'),
    [
        ('{type: doubel}', "Did you mean 'double'"),
        ('{type: bool_array_fixed_2}', "Did you mean 'bool_array'"),
        ('{type: double_fixed_2}', "Did you mean 'double"),
        ('{type: double, defualt_value: 1.0}', "Did you mean 'default_value'"),
        ('{type: double, default_value: 1}', 'must be written as a double'),
        ('{type: int, default_value: 0, validation: {gt<>: [0]}}', 'greater than 0'),
        ('{type: int, validation: {between<>: [0, 1]}}', 'unknown validator'),
        ('{type: int, validation: {bounds<>: [0]}}', r'takes 2 argument'),
        ('{type: int, validation: {bounds<>: [0, 1], gt<>: [0]}}', 'cannot be combined'),
        (
            '{type: int_array, validation: {element_bounds<>: [0, 1], lower_element_bounds<>: [0]}}',
            'cannot be combined',
        ),
        ('3', 'neither a parameter nor a struct'),
    ],
)
def test_a_malformed_schema_is_an_error_with_file_and_line(leaf, message):
    with pytest.raises(ConfigError, match=message) as caught:
        one(leaf)
    assert 'schema.yaml:2' in str(caught.value)


def test_a_schema_has_one_root_key():
    with pytest.raises(ConfigError, match='exactly one root key'):
        make_schema({'a': {}, 'b': {}}, 'schema.yaml')


def test_a_missing_packaged_parameter_file_is_named():
    with pytest.raises(ConfigError, match=r'nowhere\.yaml'):
        load_schema('ssik_ros.solvers:nowhere.yaml')
