"""The parameters of a file on a node: declarations, values, changes, integers."""

import math
from pathlib import Path
import sys
import threading
import types

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
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.parameter import Parameter

from ssik_ros.ros.parameters.integer_parameters import accept_integers, parameter_overrides
from ssik_ros.ros.parameters.parameter_listener import follow_changes, ParamListener
from ssik_ros.solvers.options.parameter_file import load_schema, make_schema
from ssik_ros.strict_yaml import parse_yaml

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
POSE_IK = load_schema('ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml')
PARAMETER_FILES = sorted((ROOT / 'ssik_ros').rglob('*_parameters.yaml'))
ARM = 'robot_description_kinematics.arm.'


@pytest.fixture(scope='module')
def make_node():
    with node_maker() as make:
        yield make


@pytest.fixture(scope='module')
def every_type():
    """Give the schema of the file with every type."""
    return read_schema(Path(__file__).with_name(EVERY_TYPE))


def one(leaf):
    """Return the schema with one parameter ``p`` whose leaf is given in flow style."""
    return make_schema(parse_yaml(f'one:\n  p: {leaf}\n'), 'one.yaml')


def change(node, **values):
    """Set parameters in one step and return the result."""
    given = [Parameter(name, value=value) for name, value in values.items()]
    return node.set_parameters_atomically(given)


def test_defaults_are_declared_below_the_raw_prefix(make_node):
    node = make_node()
    listener = ParamListener(node, POSE_IK, ARM)
    assert node.get_parameter(f'{ARM}gd_max_iters').value == 100
    assert listener.get_params().gd_max_iters == 100


def test_two_groups_have_values_of_their_own(make_node):
    node = make_node({'left.gd_max_iters': 7, 'right.gd_max_iters': 8})
    left, right = (ParamListener(node, POSE_IK, prefix) for prefix in ('left.', 'right.'))
    change(node, **{'left.gd_max_iters': 9})
    assert (left.get_params().gd_max_iters, right.get_params().gd_max_iters) == (9, 8)


def test_every_type_has_its_default_and_its_override(make_node, every_type):
    changed = {
        'flag': False,
        'count': 4,
        'gain': 2.5,
        'mode': 'slow',
        'short': 'abcde',
        'flags': [False],
        'counts': [5],
        'gains': [3.0],
        'labels': ['c'],
        'fixed_gains': [1.0],
        'inner.depth': 2,
        'inner.deeper.limit': 0.5,
        **REQUIRED,
    }
    plain = values_of(ParamListener(make_node(REQUIRED), every_type).get_params())
    given = values_of(ParamListener(make_node(changed), every_type).get_params())
    assert given == {**plain, **changed}
    assert plain['inner.deeper.limit'] == 0.25
    assert 'nothing' not in plain


def test_a_type_none_is_not_declared(make_node, every_type):
    node = make_node(REQUIRED)
    ParamListener(node, every_type)
    assert not node.has_parameter('nothing')


def test_an_empty_array_keeps_its_type(make_node):
    node = make_node()
    listener = ParamListener(node, one('{type: string_array, default_value: []}'))
    assert listener.get_params().p == []
    assert change(node, p=['a']).successful
    assert listener.get_params().p == ['a']


@pytest.mark.parametrize(
    ('name', 'ends'),
    [
        ('gain_above', (sys.float_info.epsilon, math.inf)),
        ('gain_below', (-math.inf, 1.0 - sys.float_info.epsilon)),
        ('gain_at_least', (-1.0, math.inf)),
        ('gain_at_most', (-math.inf, 2.0)),
        ('gain_between', (0.0, 1.0)),
        ('count', (0, 10)),
        ('count_above', (1, 2**31 - 1)),
        ('count_below', (-(2**31) - 1, 4)),
        ('count_between', (1, 4)),
    ],
)
def test_ranges_are_described(make_node, every_type, name, ends):
    node = make_node(REQUIRED)
    ParamListener(node, every_type)
    described = node.describe_parameter(name)
    (limits,) = described.integer_range or described.floating_point_range
    assert (limits.from_value, limits.to_value) == ends


def test_descriptions_and_marks_are_described(make_node, every_type):
    node = make_node(REQUIRED)
    ParamListener(node, every_type)
    assert node.describe_parameter('flag').description == 'A bool.'
    assert node.describe_parameter('constrained').additional_constraints == 'An even number.'
    assert node.describe_parameter('frozen').read_only
    assert not node.describe_parameter('gain').floating_point_range


@pytest.mark.parametrize(
    ('overrides', 'error', 'words'),
    [
        ({'required_labels': ['a']}, ParameterUninitializedException, "'required_gain'"),
        ({**REQUIRED, 'flag': 1}, InvalidParameterTypeException, "'flag'.*'BOOL'"),
        ({**REQUIRED, 'count': 1.0}, InvalidParameterTypeException, "'count'.*'INTEGER'"),
        ({**REQUIRED, 'gain': '1'}, InvalidParameterTypeException, "'gain'.*'DOUBLE'"),
        ({**REQUIRED, 'gain': [1]}, InvalidParameterTypeException, "'gain'.*INTEGER_ARRAY"),
        ({**REQUIRED, 'count': 11}, InvalidParameterValueException, 'count out of range.*10'),
        ({**REQUIRED, 'mode': 'x'}, InvalidParameterValueException, 'initialization.*not in the'),
        ({**REQUIRED, 'gain_above': 0}, InvalidParameterValueException, 'gain_above out of range'),
        ({**REQUIRED, 'three': [1.0]}, InvalidParameterValueException, "'1' but must be equal"),
    ],
)
def test_a_bad_override_stops_the_start_and_says_which(
    make_node, every_type, overrides, error, words
):
    with pytest.raises(error, match=words):
        ParamListener(make_node(overrides), every_type)


def test_integers_stand_for_doubles_in_overrides(make_node, every_type):
    node = make_node({'gain': 2, 'gains': [3, 4], **REQUIRED})
    params = ParamListener(node, every_type).get_params()
    assert (params.gain, params.gains) == (2.0, [3.0, 4.0])
    assert isinstance(params.gain, float)
    assert node.get_parameter('gain').type_ is Parameter.Type.DOUBLE


@pytest.mark.parametrize('set_them', ['set_parameters', 'set_parameters_atomically'])
def test_integers_stand_for_doubles_at_run_time(make_node, every_type, set_them):
    node = make_node(REQUIRED)
    listener = ParamListener(node, every_type)
    given = [through_service('gain', 2), through_service('gains', [3, 4])]
    results = getattr(node, set_them)(given)
    results = results if isinstance(results, list) else [results]
    assert all(result.successful for result in results)
    params = listener.get_params()
    assert (params.gain, params.gains) == (2.0, [3.0, 4.0])
    assert isinstance(params.gain, float)
    assert node.get_parameter('gain').type_ is Parameter.Type.DOUBLE


def test_integers_are_accepted_by_every_listener_of_a_node(make_node):
    node = make_node()
    listeners = [ParamListener(node, POSE_IK, f'{name}.') for name in 'abc']
    for name in 'abc':
        assert change(node, **{f'{name}.target_tolerance': 1}).successful
    assert [listener.get_params().target_tolerance for listener in listeners] == [1.0] * 3


def test_an_integer_out_of_range_is_refused_as_the_double_is(make_node):
    node = make_node()
    ParamListener(node, POSE_IK)
    result = change(node, gd_step_multiplier=3)
    assert not result.successful
    assert 'gd_step_multiplier out of range' in result.reason


def test_parameters_of_others_keep_their_types(make_node, every_type):
    node = make_node(REQUIRED)
    ParamListener(node, every_type)
    node.declare_parameter('theirs', 1.0)
    assert not change(node, theirs=2).successful
    assert not change(node, gain='2').successful
    assert not change(node, count=2.0).successful


def test_rclpy_still_takes_declared_values_from_the_overrides_that_we_convert(make_node):
    node = make_node({'x': 1})
    parameter_overrides(node)['x'] = Parameter('x', value=2.5)
    assert node.declare_parameter('x', 0.5).value == 2.5


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('gain_between', 1.5, 'gain_between out of range'),
        ('gain_between', math.nan, 'gain_between out of range'),
        ('count_above', 0, 'count_above out of range'),
        ('frozen', 3.0, 'read-only'),
        ('count', 1.5, 'Wrong parameter type'),
        ('mode', 'x', "Parameter 'mode' with the value 'x' is not in the set ['fast', 'slow']"),
        ('level', 4, "Parameter 'level' with the value '4' is not in the set [1, 2, 3]"),
        ('label', '', "Parameter 'label' cannot be empty"),
        ('counts', [1, 1], "Parameter 'counts' must only contain unique values"),
        ('counts', [1, 10], "Value [1, 10] in parameter 'counts' must be within bounds [0, 9]"),
        ('gains', [-1.0], "Value -1.0 in parameter 'gains' must be above lower bound of 0.0"),
        ('gains', [math.nan], "Value nan in parameter 'gains' must be above lower bound of 0.0"),
        ('gains', [11.0], "Value 11.0 in parameter 'gains' must be below upper bound of 10.0"),
        (
            'labels',
            ['a', 'z'],
            "Entry 'z' in parameter 'labels' is not in the set ['a', 'b', 'c']",
        ),
        ('three', [1.0], "Length of parameter 'three' is '1' but must be equal to 3"),
        ('few', [1], "Length of parameter 'few' is '1' but must be greater than 1"),
        ('fixed_gains', [0.0] * 4, "Length of parameter 'fixed_gains' is '4' but must be less"),
        ('short', 'abcdef', "Length of parameter 'short' is '6' but must be less than 6"),
    ],
)
def test_a_change_out_of_range_is_refused_with_the_reason(
    make_node, every_type, name, value, reason
):
    node = make_node(REQUIRED)
    listener = ParamListener(node, every_type)
    before = listener.get_params()
    (result,) = node.set_parameters([through_service(name, value)])
    assert not result.successful
    assert reason in result.reason
    assert values_of(listener.get_params()) == values_of(before)


def test_one_bad_value_keeps_everything_as_it_was(make_node, every_type):
    node = make_node(REQUIRED)
    listener = ParamListener(node, every_type)
    before, declared = listener.get_params(), declarations(node)
    assert not change(node, gain=9.0, mode='x', count=5).successful
    assert declarations(node) == declared
    assert values_of(listener.get_params()) == values_of(before)
    assert change(node, gain=9.0, mode='slow', count=5).successful
    params = listener.get_params()
    assert (params.gain, params.mode, params.count) == (9.0, 'slow', 5)


@pytest.mark.parametrize('registered', ['before', 'after'])
def test_values_stay_when_another_callback_refuses(make_node, every_type, registered):
    node = make_node(REQUIRED)
    listener, called = None, []

    def refuse(parameters):
        called.append(parameters)
        return SetParametersResult(successful=listener is None, reason='mine')

    if registered == 'before':
        node.add_on_set_parameters_callback(refuse)
    made = ParamListener(node, every_type)
    if registered == 'after':
        node.add_on_set_parameters_callback(refuse)
    listener, before = made, made.get_params()
    called.clear()
    assert change(node, gain=9.0).reason == 'mine'
    assert called
    assert listener.get_params().gain == before.gain == node.get_parameter('gain').value


def test_a_copy_is_independent(make_node, every_type):
    listener = ParamListener(make_node(REQUIRED), every_type)
    copied = listener.get_params()
    copied.gains.append(99.0)
    copied.inner.deeper.limit = 7.0
    assert listener.get_params().gains == [1.0, 2.0]
    assert listener.get_params().inner.deeper.limit == 0.25


def test_the_user_is_told_after_the_node_has_the_values(make_node, every_type):
    node = make_node(REQUIRED)
    listener, told = ParamListener(node, every_type), []
    listener.set_user_callback(lambda p: told.append((p.gain, node.get_parameter('gain').value)))
    change(node, gain=3.0)
    change(node, gain='x')
    change(node, mode='x')
    assert told == [(3.0, 3.0)]


def test_a_second_listener_shares_the_declarations(make_node, every_type):
    node = make_node(REQUIRED)
    first, second = ParamListener(node, every_type), ParamListener(node, every_type)
    change(node, gain=3)
    assert first.get_params().gain == second.get_params().gain == 3.0


def test_many_threads_get_whole_copies(make_node, every_type, monkeypatch):
    node = make_node(REQUIRED)
    listener, faults = ParamListener(node, every_type), []

    def read():
        for _ in range(300):
            params = listener.get_params()
            if params.gains[0] != params.gain:
                faults.append(values_of(params))

    interval = sys.getswitchinterval()
    assert change(node, gain=0.0, gains=[0.0, 0.0]).successful
    threads = [threading.Thread(target=read) for _ in range(3)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for step in range(200):
            change(node, gain=step % 10, gains=[step % 10, 0])
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert faults == []


@pytest.mark.parametrize('path', PARAMETER_FILES, ids=lambda path: path.name)
def test_our_files_are_fit_for_generate_parameter_library(path):
    schema = read_schema(path)
    for parameter in schema.parameters:
        assert parameter.description, parameter.name
        # Its generator writes descriptions into code as they are, and cannot declare an empty array.
        assert not set('"\n\\') & set(parameter.description + parameter.additional_constraints)
        assert parameter.default != ()


def test_our_files_have_names_of_their_own():
    names = [path.stem for path in PARAMETER_FILES]
    roots = [read_schema(path).name for path in PARAMETER_FILES]
    assert len(set(names)) == len(names)
    assert len(set(roots)) == len(roots)


def test_without_post_set_callbacks_values_are_taken_over_when_ours_agrees():
    # rclpy of Humble.
    registered, adopted = [], []
    node = types.SimpleNamespace(add_on_set_parameters_callback=registered.append)

    def judge(parameters):
        return SetParametersResult(successful=parameters != ['bad'], reason='why')

    follow_changes(node, judge, adopted.append)
    (callback,) = registered
    assert callback(['good']).successful
    assert not callback(['bad']).successful
    assert adopted == [['good']]


def test_without_pre_set_callbacks_overrides_are_still_converted():
    # rclpy of Humble.
    name = 'a.target_tolerance'
    overrides = {name: Parameter(name, value=1)}
    node = types.SimpleNamespace(_parameter_overrides=overrides)
    accept_integers(node, 'a.', POSE_IK)
    assert overrides[name].type_ is Parameter.Type.DOUBLE
