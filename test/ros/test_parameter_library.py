"""Parameter files as classes for nodes: declarations, values, changes, integers, generated code."""

import hashlib
import math
from pathlib import Path
import runpy
import sys
import threading
import types

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
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.parameter import Parameter
import setuptools
from setuptools.command.build_py import build_py

from ssik_ros.errors import ConfigError
from ssik_ros.ros.parameters import generated_parameters
from ssik_ros.ros.parameters.integer_parameters import accept_integers, parameter_overrides
from ssik_ros.ros.parameters.parameter_library import load_parameters
from ssik_ros.ros.parameters.parameter_listener import follow_changes, make_parameter_class
from ssik_ros.solvers.options.parameter_file import make_schema, read_resource, read_schema
from ssik_ros.strict_yaml import parse_yaml

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
POSE_IK = 'ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml'
KINEMATICS = 'ssik_ros.solvers:kinematics_parameters.yaml'
PARAMETER_FILES = sorted((ROOT / 'ssik_ros').rglob('*_parameters.yaml'))
ARM = 'robot_description_kinematics.arm.'


@pytest.fixture(scope='module')
def make_node():
    with node_maker() as make:
        yield make


@pytest.fixture(scope='module')
def every_type():
    """Give the class of the file with every type."""
    return make_parameter_class(read_schema(Path(__file__).with_name(EVERY_TYPE)))


def one(leaf):
    """Return the class with one parameter ``p`` whose leaf is given in flow style."""
    return make_parameter_class(make_schema(parse_yaml(f'one:\n  p: {leaf}\n'), 'one.yaml'))


def change(node, **values):
    """Set parameters in one step and return the result."""
    given = [Parameter(name, value=value) for name, value in values.items()]
    return node.set_parameters_atomically(given)


def test_a_file_of_the_package_becomes_a_class_named_after_its_root():
    assert load_parameters(POSE_IK).__name__ == 'pose_ik'
    assert load_parameters(POSE_IK) is load_parameters(POSE_IK)
    assert load_parameters(POSE_IK).Params().target_tolerance == 0.001
    assert load_parameters(KINEMATICS).Params().kinematics_solver_timeout == 0.05


def test_a_missing_file_is_named():
    with pytest.raises(ConfigError, match=r'nowhere\.yaml'):
        load_parameters('ssik_ros.solvers:nowhere.yaml')


def test_defaults_are_declared_below_the_raw_prefix(make_node):
    node = make_node()
    listener = load_parameters(POSE_IK).ParamListener(node, ARM)
    assert node.get_parameter(f'{ARM}gd_max_iters').value == 100
    assert listener.get_params().gd_max_iters == 100
    assert listener.prefix_ == ARM


def test_two_groups_have_values_of_their_own(make_node):
    node = make_node({'left.gd_max_iters': 7, 'right.gd_max_iters': 8})
    pose_ik = load_parameters(POSE_IK)
    left, right = (pose_ik.ParamListener(node, prefix) for prefix in ('left.', 'right.'))
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
    plain = values_of(every_type.ParamListener(make_node(REQUIRED)).get_params())
    given = values_of(every_type.ParamListener(make_node(changed)).get_params())
    assert given == {**plain, **changed}
    assert plain['inner.deeper.limit'] == 0.25
    assert 'nothing' not in plain


def test_a_type_none_is_not_declared(make_node, every_type):
    node = make_node(REQUIRED)
    every_type.ParamListener(node)
    assert not node.has_parameter('nothing')


def test_an_empty_array_keeps_its_type(make_node):
    node = make_node()
    listener = one('{type: string_array, default_value: []}').ParamListener(node)
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
    every_type.ParamListener(node)
    described = node.describe_parameter(name)
    (limits,) = described.integer_range or described.floating_point_range
    assert (limits.from_value, limits.to_value) == ends


def test_descriptions_and_marks_are_described(make_node, every_type):
    node = make_node(REQUIRED)
    every_type.ParamListener(node)
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
        every_type.ParamListener(make_node(overrides))


def test_integers_stand_for_doubles_in_overrides(make_node, every_type):
    node = make_node({'gain': 2, 'gains': [3, 4], **REQUIRED})
    params = every_type.ParamListener(node).get_params()
    assert (params.gain, params.gains) == (2.0, [3.0, 4.0])
    assert isinstance(params.gain, float)
    assert node.get_parameter('gain').type_ is Parameter.Type.DOUBLE


@pytest.mark.parametrize('set_them', ['set_parameters', 'set_parameters_atomically'])
def test_integers_stand_for_doubles_at_run_time(make_node, every_type, set_them):
    node = make_node(REQUIRED)
    listener = every_type.ParamListener(node)
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
    pose_ik = load_parameters(POSE_IK)
    listeners = [pose_ik.ParamListener(node, f'{name}.') for name in 'abc']
    for name in 'abc':
        assert change(node, **{f'{name}.target_tolerance': 1}).successful
    assert [listener.get_params().target_tolerance for listener in listeners] == [1.0] * 3


def test_an_integer_out_of_range_is_refused_as_the_double_is(make_node):
    node = make_node()
    load_parameters(POSE_IK).ParamListener(node)
    result = change(node, gd_step_multiplier=3)
    assert not result.successful
    assert 'gd_step_multiplier out of range' in result.reason


def test_parameters_of_others_keep_their_types(make_node, every_type):
    node = make_node(REQUIRED)
    every_type.ParamListener(node)
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
    listener = every_type.ParamListener(node)
    before = listener.get_params()
    (result,) = node.set_parameters([through_service(name, value)])
    assert not result.successful
    assert reason in result.reason
    assert not listener.is_old(before)
    assert values_of(listener.get_params()) == values_of(before)


def test_one_bad_value_keeps_everything_as_it_was(make_node, every_type):
    node = make_node(REQUIRED)
    listener = every_type.ParamListener(node)
    before, declared = listener.get_params(), declarations(node)
    assert not change(node, gain=9.0, mode='x', count=5).successful
    assert declarations(node) == declared
    assert values_of(listener.get_params()) == values_of(before)
    assert not listener.is_old(before)
    assert change(node, gain=9.0, mode='slow', count=5).successful
    params = listener.get_params()
    assert (params.gain, params.mode, params.count) == (9.0, 'slow', 5)
    assert listener.is_old(before)


@pytest.mark.parametrize('registered', ['before', 'after'])
def test_values_stay_when_another_callback_refuses(make_node, every_type, registered):
    node = make_node(REQUIRED)
    listener, called = None, []

    def refuse(parameters):
        called.append(parameters)
        return SetParametersResult(successful=listener is None, reason='mine')

    if registered == 'before':
        node.add_on_set_parameters_callback(refuse)
    made = every_type.ParamListener(node)
    if registered == 'after':
        node.add_on_set_parameters_callback(refuse)
    listener, before = made, made.get_params()
    called.clear()
    assert change(node, gain=9.0).reason == 'mine'
    assert called
    assert listener.get_params().gain == before.gain == node.get_parameter('gain').value
    assert not listener.is_old(before)


def test_a_copy_is_old_after_a_change_of_ours_alone(make_node, every_type):
    node = make_node(REQUIRED)
    listener = every_type.ParamListener(node)
    copied = listener.get_params()
    node.declare_parameter('theirs', 1)
    assert change(node, theirs=2).successful
    assert not listener.is_old(copied)
    assert change(node, gain=9.0).successful
    assert listener.is_old(copied)
    assert not listener.is_old(listener.get_params())


def test_a_copy_is_independent(make_node, every_type):
    listener = every_type.ParamListener(make_node(REQUIRED))
    copied = listener.get_params()
    copied.gains.append(99.0)
    copied.inner.deeper.limit = 7.0
    assert listener.get_params().gains == [1.0, 2.0]
    assert listener.get_params().inner.deeper.limit == 0.25
    assert every_type.Params().gains == [1.0, 2.0]


def test_the_user_is_told_after_the_node_has_the_values(make_node, every_type):
    node = make_node(REQUIRED)
    listener, told = every_type.ParamListener(node), []
    listener.set_user_callback(lambda p: told.append((p.gain, node.get_parameter('gain').value)))
    change(node, gain=3.0)
    change(node, gain='x')
    change(node, mode='x')
    listener.clear_user_callback()
    change(node, gain=4.0)
    assert told == [(3.0, 3.0)]


def test_values_set_by_a_dictionary_stay_here(make_node, every_type):
    node = make_node(REQUIRED)
    listener = every_type.ParamListener(node)
    values = {'gain': 3, 'inner': {'depth': 5, 'deeper': {'limit': 0.5}}, 'unknown': 1}
    assert listener.set_params_from_dict(values).successful
    params = listener.get_params()
    assert (params.gain, params.inner.depth, params.inner.deeper.limit) == (3.0, 5, 0.5)
    assert node.get_parameter('gain').value == 1.5


@pytest.mark.parametrize('bad', [{'mode': 'x'}, {'gain': 'x'}, {'inner': {'depth': 1.5}}])
def test_a_dictionary_with_one_bad_value_changes_nothing(make_node, every_type, bad):
    listener = every_type.ParamListener(make_node(REQUIRED))
    result = listener.set_params_from_dict({'count': 5, **bad})
    assert not result.successful
    assert result.reason
    assert listener.get_params().count == 3


def test_dictionaries_are_flattened(make_node, every_type):
    listener = every_type.ParamListener(make_node(REQUIRED))
    flat = listener.unpack_parameter_dict('a.', {'b': 1, 'c': {'d': 'x'}})
    assert [(p.name, p.value) for p in flat] == [('a.b', 1), ('a.c.d', 'x')]


def test_a_second_listener_shares_the_declarations(make_node, every_type):
    node = make_node(REQUIRED)
    first, second = every_type.ParamListener(node), every_type.ParamListener(node)
    second.refresh_dynamic_parameters()
    change(node, gain=3)
    assert first.get_params().gain == second.get_params().gain == 3.0


def test_many_threads_get_whole_copies(make_node, every_type, monkeypatch):
    node = make_node(REQUIRED)
    listener, faults = every_type.ParamListener(node), []

    def read():
        for _ in range(300):
            params = listener.get_params()
            if params.stamp_ is None or params.gains[0] != params.gain:
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
    assert listener.params_.stamp_ is not None


@pytest.mark.parametrize('path', PARAMETER_FILES, ids=lambda path: path.name)
def test_our_files_are_fit_for_the_generator(path):
    schema = read_schema(path)
    for parameter in schema.parameters:
        assert parameter.description, parameter.name
        # It writes descriptions into its code as they are, and cannot declare an empty array.
        assert not set('"\n\\') & set(parameter.description + parameter.additional_constraints)
        assert parameter.default != ()


def test_our_files_have_names_of_their_own():
    names = [path.stem for path in PARAMETER_FILES]
    roots = [read_schema(path).name for path in PARAMETER_FILES]
    assert len(set(names)) == len(names)
    assert len(set(roots)) == len(roots)


@pytest.fixture
def generated(monkeypatch):
    """Give a function that pretends code was generated from a text."""
    package = generated_parameters.GENERATED_PACKAGE

    def install(text):
        module = types.ModuleType(f'{package}.pose_ik_parameters')
        module.SOURCE_SHA256 = hashlib.sha256(text.encode()).hexdigest()
        module.pose_ik = make_parameter_class(read_schema_of(POSE_IK))
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module.pose_ik

    load_parameters.cache_clear()
    yield install
    load_parameters.cache_clear()


def read_schema_of(resource):
    return make_schema(parse_yaml(read_resource(resource), resource), resource)


def test_code_generated_from_the_very_file_is_used(generated, make_node):
    code = generated(read_resource(POSE_IK))
    pose_ik = load_parameters(POSE_IK)
    assert pose_ik.Params is code.Params
    assert pose_ik.ParamListener.generated is code
    node = make_node({'a.target_tolerance': 1})
    listener = pose_ik.ParamListener(node, 'a.')
    assert listener.get_params().target_tolerance == 1.0
    assert isinstance(listener.get_params(), code.Params)


def test_code_generated_from_another_text_is_not_used(generated):
    code = generated(read_resource(POSE_IK) + '\n')
    assert load_parameters(POSE_IK).Params is not code.Params


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
    accept_integers(node, 'a.', read_schema_of(POSE_IK))
    assert overrides[name].type_ is Parameter.Type.DOUBLE


@pytest.fixture
def setup_script(monkeypatch):
    """Give the names of setup.py, run without installing anything."""
    monkeypatch.setattr(setuptools, 'setup', lambda **_: None)
    monkeypatch.chdir(ROOT)
    return runpy.run_path(str(ROOT / 'setup.py'))


def pretend_generator(monkeypatch, build, run):
    """Have the build call a function in place of the generator."""
    monkeypatch.setitem(build.__globals__, 'generate_module', run)


def test_the_build_notes_which_file_code_was_generated_from(setup_script, monkeypatch, tmp_path):
    def run(target, source):
        Path(target).parent.mkdir(exist_ok=True)
        Path(target).write_text(f'SOURCE = {source!r}\n')

    build = setup_script['generate_parameter_modules']
    pretend_generator(monkeypatch, build, run)
    build(tmp_path / 'generated')
    made = {path.stem: runpy.run_path(str(path)) for path in (tmp_path / 'generated').iterdir()}
    assert set(made) == {path.stem for path in PARAMETER_FILES}
    text = read_resource(POSE_IK)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    assert made['pose_ik_parameters']['SOURCE_SHA256'] == checksum


@pytest.mark.parametrize('fault', ['raises', 'writes nonsense'])
def test_the_build_goes_on_when_the_generator_fails(
    setup_script, monkeypatch, tmp_path, capsys, fault
):
    def run(target, source):
        if fault == 'raises':
            raise ValueError('bad file')
        Path(target).write_text('r"a "quoted" word"')

    build = setup_script['generate_parameter_modules']
    pretend_generator(monkeypatch, build, run)
    build(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert 'no code generated from pose_ik_parameters.yaml' in capsys.readouterr().err


@pytest.mark.parametrize('editable', [False, True])
def test_only_builds_that_copy_the_sources_have_code_generated(
    setup_script, monkeypatch, tmp_path, editable
):
    made = []
    command_class = setup_script['BuildWithLibrary']
    monkeypatch.setattr(build_py, 'run', lambda self: None)
    monkeypatch.setattr(setup_script['provide'], 'provide', lambda: None)
    pretend_generator(monkeypatch, command_class.run, lambda target, source: made.append(target))
    command = command_class(setuptools.Distribution({'name': 'ssik_ros'}))
    command.build_lib, command.editable_mode = str(tmp_path), editable
    command.run()
    assert bool(made) is not editable
    assert all(Path(target).is_relative_to(tmp_path) for target in made)
