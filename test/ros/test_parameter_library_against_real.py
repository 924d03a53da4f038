"""
Our listener against the classes that generate_parameter_library makes from the same files, on real nodes.

``pytest -rP`` prints every comparison. If the two differ on purpose (docs/adr/0005-parameter-library.md), the test
demands the difference, so a generator that changes is noticed.
"""

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace

from test.ros.parameter_nodes import (
    declarations,
    EVERY_TYPE,
    node_maker,
    read_schema,
    REQUIRED,
    through_service,
    values_of,
)

import pytest
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter

from ssik_ros.ros.parameters.parameter_listener import ParamListener

generator = pytest.importorskip(
    'generate_parameter_library_py.generate_python_module',
    reason='generate_parameter_library is not installed',
)
pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    Path(__file__).with_name(EVERY_TYPE),
    *sorted((ROOT / 'ssik_ros').rglob('*_parameters.yaml')),
]
VALUES = {
    'flag': [False, 1, 'true'],
    'count': [0, 10, 11, -1, 1.0, True],
    'count_above': [1, 0, 2**31 - 1, 2**31],
    'count_below': [4, 5, -(2**31)],
    'count_between': [0, 1, 4, 5],
    'level': [3, 4],
    'gain': [-1e300, math.inf, math.nan, '1.0', [1.0]],
    'gain_above': [1e-300, 1e-15, 0.0, -1.0, math.nan],
    'gain_below': [0.999, 1.0, 1.0000005, 2.0],
    'gain_at_least': [-1.0, -1.0000005, -1.1, math.inf],
    'gain_at_most': [2.0, 2.000001, 2.1],
    'gain_between': [0.0, 1.0, 1.0000005, 1.5, -1e-9, math.nan],
    'mode': ['slow', 'x', '', 3],
    'label': ['b', ''],
    'short': ['abcde', 'abcdef', ''],
    'flags': [[False], True],
    'counts': [[3, 4], [1, 1], [1, 10], [-1]],
    'gains': [[0.0, 10.0], [-1.0], [3.0, -1.0]],
    'gains_between': [[0.0, 1.0], [0.5, 1.5]],
    'labels': [['c'], ['a', 'z'], 'a'],
    'three': [[3.0, 2.0, 1.0], [1.0], [1.0] * 4],
    'few': [[1, 2, 3], [1], [1, 2, 3, 4]],
    'fixed_counts': [[7], [1, 2, 3]],
    'fixed_gains': [[7.0], [1.0] * 4],
    'fixed_labels': [['z'], ['a', 'b', 'c']],
    'frozen': [3.0],
    'constrained': [3.0],
    'inner.depth': [2, 2.0],
    'inner.deeper.limit': [0.0, -1.0],
    'required_gain': [1.0, 0.0],
    'required_labels': [['x'], 'x'],
}
"""Accepted and refused values of every_type_parameters.yaml."""

CASES = [(name, value) for name, values in VALUES.items() for value in values]


@pytest.fixture(scope='module')
def make_node():
    with node_maker() as make:
        yield make


@pytest.fixture(scope='module')
def classes(tmp_path_factory):
    """Give (real, ours) of each file, by the file's name: both have a ``ParamListener`` of a node and a prefix."""
    folder = tmp_path_factory.mktemp('generated')
    made = {}
    for path in FILES:
        target, schema = folder / f'{path.stem}.py', read_schema(path)
        generator.run(str(target), str(path))
        spec = importlib.util.spec_from_file_location(path.stem, target)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made[path.name] = {'real': getattr(module, schema.name), 'ours': our_way(schema)}
    return made


def our_way(schema):
    """Return an object that makes our listener of a schema as the generated class makes its own."""
    return SimpleNamespace(
        ParamListener=lambda node, prefix='': ParamListener(node, schema, prefix)
    )


@pytest.fixture(scope='module')
def every_type(classes):
    return classes[EVERY_TYPE]


def start(made, node, prefix=''):
    """Start a listener; return its declarations and values, or the exception."""
    try:
        listener = made.ParamListener(node, prefix)
    except ParameterException as error:
        return type(error).__name__, str(error)
    return declarations(node), values_of(listener.get_params())


def change(made, node, given):
    """Set a parameter; return the result, the node's values, the listener's values."""
    listener = made.ParamListener(node)
    (result,) = node.set_parameters([given])
    outcome = (result.successful, result.reason)
    return outcome, declarations(node), values_of(listener.get_params())


def plain(outcome):
    """Return an outcome in which NaN equals itself, and an array looks the same from everywhere."""
    return repr(outcome).replace("array('d', ", '').replace("array('q', ", '').replace('])', ']')


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_declarations_are_the_same(make_node, classes, path):
    made = classes[path.name]
    required = REQUIRED if path.name == EVERY_TYPE else {}
    outcomes = [start(made[one], make_node(required, 'a.'), 'a.') for one in ('real', 'ours')]
    for name, declared in outcomes[0][0].items():
        print(name, *declared)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0]


@pytest.mark.parametrize('given', [{}, {'required_gain': 1.0}, {'required_labels': ['a']}])
def test_a_missing_required_value_is_the_same_exception(make_node, every_type, given):
    real, ours = (start(every_type[one], make_node(given)) for one in ('real', 'ours'))
    print(given, '->', *real)
    assert real == ours
    assert real[0] == 'ParameterUninitializedException'


@pytest.mark.parametrize(('name', 'value'), CASES)
def test_an_override_has_the_same_effect(make_node, every_type, name, value):
    overrides = {**REQUIRED, name: value}
    real, ours = (start(every_type[one], make_node(overrides)) for one in ('real', 'ours'))
    print(name, value, '->', real if isinstance(real[0], str) else 'accepted')
    assert plain(real) == plain(ours)


@pytest.mark.parametrize(('name', 'value'), CASES)
def test_a_change_has_the_same_effect(make_node, every_type, name, value):
    real, ours = (
        change(every_type[one], make_node(REQUIRED), through_service(name, value))
        for one in ('real', 'ours')
    )
    print(name, value, '->', *real[0])
    assert plain(real) == plain(ours)


def test_changes_of_several_values_have_the_same_effect(make_node, every_type):
    def play(made):
        node = make_node(REQUIRED)
        listener, seen = made.ParamListener(node), []
        listener.set_user_callback(lambda params: seen.append(values_of(params)))
        for values in ({'gain': 2.0, 'mode': 'slow'}, {'gain': 3.0, 'mode': 'x'}, {'count': 4}):
            given = [Parameter(name, value=value) for name, value in values.items()]
            result = node.set_parameters_atomically(given)
            seen.append((result.successful, result.reason))
            seen.append((values_of(listener.get_params()), declarations(node)))
        return seen

    assert play(every_type['real']) == play(every_type['ours'])


def difference(what, real, ours):
    """Print a difference that is wanted."""
    print(f'WANTED DIFFERENCE, {what}\n  real: {real}\n  ours: {ours}')


@pytest.mark.parametrize(('name', 'value'), [('gain', 1), ('gains', [1, 2])])
def test_wanted_an_integer_override_of_a_double(make_node, every_type, name, value):
    overrides = {**REQUIRED, name: value}
    real, ours = (start(every_type[one], make_node(overrides)) for one in ('real', 'ours'))
    difference(f'override {name}:={value}', real, ours[1][name])
    assert real[0] == 'InvalidParameterTypeException'
    assert ours[1][name] == value


@pytest.mark.parametrize(('name', 'value'), [('gain', 1), ('gains', [1, 2])])
def test_wanted_an_integer_for_a_double_at_run_time(make_node, every_type, name, value):
    real, ours = (
        change(every_type[one], make_node(REQUIRED), through_service(name, value))
        for one in ('real', 'ours')
    )
    difference(f'set {name} to {value}', real[0], (ours[0], ours[2][name]))
    assert real[0][1].startswith('Wrong parameter type')
    assert ours[0][0]
    assert ours[2][name] == value


def test_wanted_nothing_is_taken_over_before_all_callbacks_agree(make_node, every_type):
    def play(made):
        node = make_node(REQUIRED)
        refused = {'gain'}
        node.add_on_set_parameters_callback(
            lambda given: SetParametersResult(
                successful=not refused & {p.name for p in given} or not node.has_parameter('gain')
            )
        )
        listener = made.ParamListener(node)
        (result,) = node.set_parameters([Parameter('gain', value=9.0)])
        return result.successful, node.get_parameter('gain').value, listener.get_params().gain

    real, ours = play(every_type['real']), play(every_type['ours'])
    difference('another callback refuses: (accepted, node, listener)', real, ours)
    assert real == (False, 1.5, 9.0)
    assert ours == (False, 1.5, 1.5)


def test_wanted_the_user_is_told_when_the_node_has_the_value(make_node, every_type):
    def play(made):
        node, told = make_node(REQUIRED), []
        made.ParamListener(node).set_user_callback(
            lambda params: told.append((params.gain, node.get_parameter('gain').value))
        )
        node.set_parameters([Parameter('gain', value=9.0)])
        return told

    real, ours = play(every_type['real']), play(every_type['ours'])
    difference('in the user callback: (listener, node)', real, ours)
    assert (real, ours) == ([(9.0, 1.5)], [(9.0, 9.0)])


def test_wanted_the_reason_of_an_upper_bound_of_elements(make_node, every_type):
    given = through_service('gains', [11.0])
    real, ours = (
        change(every_type[one], make_node(REQUIRED), given)[0] for one in ('real', 'ours')
    )
    difference('upper_element_bounds', real, ours)
    assert (real[0], ours[0]) == (False, False)
    assert real[1].replace('above lower', 'below upper') == ours[1]


def test_wanted_nan_is_outside_of_element_bounds(make_node, every_type):
    given = through_service('gains_between', [math.nan])
    real, ours = (
        change(every_type[one], make_node(REQUIRED), given)[0] for one in ('real', 'ours')
    )
    difference('NaN in element_bounds', real, ours)
    assert (real[0], ours[0]) == (True, False)
