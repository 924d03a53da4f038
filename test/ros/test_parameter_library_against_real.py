"""
Our classes against the classes of generate_parameter_library, from the same files, on real nodes.

``pytest -rP`` prints every comparison. If the two differ on purpose (docs/adr/0005-parameter-library.md), the test
demands the difference, so a generator that changes is noticed.
"""

import importlib.util
import math
from pathlib import Path

from test.ros.parameter_nodes import (
    declarations,
    EVERY_TYPE,
    node_maker,
    REQUIRED,
    through_service,
    values_of,
)

import pytest
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter

from ssik_ros.ros.parameters.generated_parameters import adapt_generated
from ssik_ros.ros.parameters.parameter_listener import make_parameter_class
from ssik_ros.solvers.options.parameter_file import read_schema

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
OURS = ('ours', 'adapted')
"""Our own classes, and generated code with our listener around it."""

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
    """Give (real, ours, adapted) classes of each file, by the file's name."""
    folder = tmp_path_factory.mktemp('generated')
    made = {}
    for path in FILES:
        target, schema = folder / f'{path.stem}.py', read_schema(path)
        generator.run(str(target), str(path))
        spec = importlib.util.spec_from_file_location(path.stem, target)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        real = getattr(module, schema.name)
        made[path.name] = {
            'real': real,
            'ours': make_parameter_class(schema),
            'adapted': adapt_generated(real, schema),
        }
    return made


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


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_declarations_are_the_same(make_node, classes, path, which):
    made = classes[path.name]
    required = REQUIRED if path.name == EVERY_TYPE else {}
    outcomes = [start(made[one], make_node(required, 'a.'), 'a.') for one in ('real', which)]
    for name, declared in outcomes[0][0].items():
        print(name, *declared)
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0]


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_new_params_are_the_same(classes, path, which):
    made = classes[path.name]
    real, ours = made['real'].Params(), made[which].Params()
    assert values_of(real) == values_of(ours)
    assert real.stamp_ == ours.stamp_


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize('given', [{}, {'required_gain': 1.0}, {'required_labels': ['a']}])
def test_a_missing_required_value_is_the_same_exception(make_node, every_type, given, which):
    real, ours = (start(every_type[one], make_node(given)) for one in ('real', which))
    print(given, '->', *real)
    assert real == ours
    assert real[0] == 'ParameterUninitializedException'


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize(('name', 'value'), CASES)
def test_an_override_has_the_same_effect(make_node, every_type, name, value, which):
    overrides = {**REQUIRED, name: value}
    real, ours = (start(every_type[one], make_node(overrides)) for one in ('real', which))
    print(name, value, '->', real if isinstance(real[0], str) else 'accepted')
    assert plain(real) == plain(ours)


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize(('name', 'value'), CASES)
def test_a_change_has_the_same_effect(make_node, every_type, name, value, which):
    real, ours = (
        change(every_type[one], make_node(REQUIRED), through_service(name, value))
        for one in ('real', which)
    )
    print(name, value, '->', *real[0])
    assert plain(real) == plain(ours)


@pytest.mark.parametrize('which', OURS)
def test_changes_of_several_values_have_the_same_effect(make_node, every_type, which):
    def play(made):
        node = make_node(REQUIRED)
        listener, seen = made.ParamListener(node), []
        listener.set_user_callback(lambda params: seen.append(values_of(params)))
        for values in ({'gain': 2.0, 'mode': 'slow'}, {'gain': 3.0, 'mode': 'x'}, {'count': 4}):
            before = listener.get_params()
            given = [Parameter(name, value=value) for name, value in values.items()]
            result = node.set_parameters_atomically(given)
            seen.append((result.successful, result.reason, listener.is_old(before)))
            seen.append((values_of(listener.get_params()), declarations(node)))
        return seen

    assert play(every_type['real']) == play(every_type[which])


@pytest.mark.parametrize('which', OURS)
def test_a_dictionary_has_the_same_effect(make_node, every_type, which):
    def play(made):
        node = make_node(REQUIRED)
        listener, seen = made.ParamListener(node), []
        for values in ({'gain': 2.0, 'inner': {'depth': 7}}, {'count': 5, 'mode': 'x'}):
            before = listener.get_params()
            listener.set_params_from_dict(values)
            seen += [values_of(listener.get_params()), listener.is_old(before)]
        flat = listener.unpack_parameter_dict('a.', {'b': {'c': 1.0}, 'd': 'e'})
        return seen, [(p.name, p.value) for p in flat], declarations(node)

    assert play(every_type['real']) == play(every_type[which])


def test_every_method_of_the_real_listener_is_here(every_type):
    names = {name for name in vars(every_type['real'].ParamListener) if not name.startswith('__')}
    for which in OURS:
        assert names <= set(dir(every_type[which].ParamListener))


def test_every_attribute_of_the_real_listener_is_here(make_node, every_type):
    attributes = {
        k: set(vars(v.ParamListener(make_node(REQUIRED)))) for k, v in every_type.items()
    }
    assert attributes['real'] <= attributes['ours'] & attributes['adapted']


def difference(what, real, ours):
    """Print a difference that is wanted."""
    print(f'WANTED DIFFERENCE, {what}\n  real: {real}\n  ours: {ours}')


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize(('name', 'value'), [('gain', 1), ('gains', [1, 2])])
def test_wanted_an_integer_override_of_a_double(make_node, every_type, name, value, which):
    overrides = {**REQUIRED, name: value}
    real, ours = (start(every_type[one], make_node(overrides)) for one in ('real', which))
    difference(f'override {name}:={value}', real, ours[1][name])
    assert real[0] == 'InvalidParameterTypeException'
    assert ours[1][name] == value


@pytest.mark.parametrize('which', OURS)
@pytest.mark.parametrize(('name', 'value'), [('gain', 1), ('gains', [1, 2])])
def test_wanted_an_integer_for_a_double_at_run_time(make_node, every_type, name, value, which):
    real, ours = (
        change(every_type[one], make_node(REQUIRED), through_service(name, value))
        for one in ('real', which)
    )
    difference(f'set {name} to {value}', real[0], (ours[0], ours[2][name]))
    assert real[0][1].startswith('Wrong parameter type')
    assert ours[0][0]
    assert ours[2][name] == value


@pytest.mark.parametrize('which', OURS)
def test_wanted_nothing_is_taken_over_before_all_callbacks_agree(make_node, every_type, which):
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

    real, ours = play(every_type['real']), play(every_type[which])
    difference('another callback refuses: (accepted, node, listener)', real, ours)
    assert real == (False, 1.5, 9.0)
    assert ours == (False, 1.5, 1.5)


@pytest.mark.parametrize('which', OURS)
def test_wanted_parameters_of_others_make_nothing_old(make_node, every_type, which):
    def play(made):
        node = make_node(REQUIRED)
        listener = made.ParamListener(node)
        before = listener.get_params()
        node.declare_parameter('theirs', 1)
        return listener.is_old(before)

    real, ours = play(every_type['real']), play(every_type[which])
    difference('old after somebody else declared a parameter', real, ours)
    assert (real, ours) == (True, False)


@pytest.mark.parametrize('which', OURS)
def test_wanted_the_user_is_told_when_the_node_has_the_value(make_node, every_type, which):
    def play(made):
        node, told = make_node(REQUIRED), []
        made.ParamListener(node).set_user_callback(
            lambda params: told.append((params.gain, node.get_parameter('gain').value))
        )
        node.set_parameters([Parameter('gain', value=9.0)])
        return told

    real, ours = play(every_type['real']), play(every_type[which])
    difference('in the user callback: (listener, node)', real, ours)
    assert (real, ours) == ([(9.0, 1.5)], [(9.0, 9.0)])


@pytest.mark.parametrize('which', OURS)
def test_wanted_a_dictionary_is_checked_for_types(make_node, every_type, which):
    def play(made):
        listener = made.ParamListener(make_node(REQUIRED))
        listener.set_params_from_dict({'gain': 'x'})
        return listener.get_params().gain

    real, ours = play(every_type['real']), play(every_type[which])
    difference('set_params_from_dict with a string for a double', real, ours)
    assert (real, ours) == ('x', 1.5)


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
