"""Documents: the same bytes again, copies that share nothing, and refusals that name the item."""

import copy
import json
import math
import re
import sys

from test.tasks.made_worlds import serial_arm

import numpy as np
import pytest

from ssik_ros.errors import DescriptionNotFound, InvalidOption, SsikError
from ssik_ros.tasks import Constraint, DocumentError, Environment
from ssik_ros.tasks.document import load


@pytest.fixture
def env():
    """Return an environment with something of everything."""
    env = serial_arm(3)
    env.name = 'everything'
    env.q = [0.1, 0.2, 1.0 / 3.0]
    ball = env.add_joint('spherical', 'ball', 'j1', [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.4])
    ball.rotation = [0.1, 0.2, 0.3]
    screw = env.add_joint('revolute', 'screw', ball, limits=(-9.0, 9.0), screw_lead=0.01)
    slide = env.add_joint('prismatic', 'slide', screw)
    slide.depend_on('j0', 0.1, 0.05)
    env.add_joint('revolute', 'bent').depend_on('j0', function=math.sin, derivative=math.cos)
    slide.limit_margin, slide.max_step, slide.weight, slide.passive = 0.02, 0.03, 0.5, True
    task_set = env.add_task_set(
        'second', 'dls', damping=0.07, weights_mode='gain', avoid_limits=True
    )
    task_set.add_task('tip', base='j0', constraints=Constraint.X, constraint_base='ball')
    task_set.add_task('goal', weights=(1.0, 0.5, 0.1), precision=(1e-5, 1e-4)).enabled = False
    task_set.tasks[0].erase()
    return env


FUNCTIONS = {'math:sin': math.sin, 'math:cos': math.cos}


def test_a_document_imports_no_module(env, tmp_path, monkeypatch):
    """Bytes from elsewhere run no code, also if they name a module that exists."""
    (tmp_path / 'named_by_bytes.py').write_text('raise SystemExit("imported")')
    monkeypatch.syspath_prepend(tmp_path)
    data = env.save().replace(b'math:sin', b'named_by_bytes:f')
    for functions in (None, {}, FUNCTIONS):
        with pytest.raises(DocumentError, match=r"'named_by_bytes:f'.*functions="):
            Environment.load(data, functions)
    assert 'named_by_bytes' not in sys.modules
    with pytest.raises(DocumentError, match='math:sin'):
        Environment.load(env.save())
    loaded = Environment.load(data, {**FUNCTIONS, 'named_by_bytes:f': math.sin})
    assert loaded['bent'].position == math.sin(0.1)


@pytest.mark.parametrize(
    'value', ['1' + '0' * 400, '[' * 3000 + ']' * 3000, '9' * 5000, '1e999', '[[]]', '{}', 'true']
)
@pytest.mark.parametrize(
    'key',
    [
        'damping',
        'max_iterations',
        'multiplier',
        'pose',
        'limits',
        'flags',
        'kind',
        'name',
        'weights_mode',
    ],
)
def test_values_that_nobody_expects_are_refused_in_one_line(env, key, value):
    data = re.sub(
        rb'"%s": (\[.*?\]\s*\]|\[[^\[]*?\]|[^\[\n]*?)(,?)\n' % key.encode(),
        b'"%s": %s\\2\n' % (key.encode(), value.encode()),
        env.save(),
        count=1,
        flags=re.S,
    )
    assert data != env.save()
    with pytest.raises(DocumentError):
        Environment.load(data, FUNCTIONS)


def test_saving_what_was_loaded_gives_the_same_bytes(env, tmp_path):
    data = env.save(tmp_path / 'env.json')
    assert (tmp_path / 'env.json').read_bytes() == data
    for source in (data, tmp_path / 'env.json', str(tmp_path / 'env.json')):
        loaded = Environment.load(source, FUNCTIONS)
        assert loaded.save() == data
        np.testing.assert_array_equal(loaded.values, env.values)
        np.testing.assert_array_equal(loaded.poses, env.poses)
    assert loaded['bent'].position == math.sin(0.1)


def test_files_that_cannot_be_read_or_written_are_named(env, tmp_path):
    for path in (tmp_path / 'missing.json', tmp_path):
        with pytest.raises(DescriptionNotFound, match=re.escape(str(path))):
            Environment.load(path)
    with pytest.raises(InvalidOption, match=re.escape(str(tmp_path))):
        env.save(tmp_path)


def test_copies_share_nothing(env):
    data, twin = env.save(), env.copy()
    assert twin.save() == data
    assert {n: item.handle for n, item in twin.objects.items()} == {
        n: item.handle for n, item in env.objects.items()
    }
    twin['tip'].set_pose([1, 2, 3, 0, 0, 0, 1])
    twin['j0'].limits = (-0.5, 0.05)
    twin.task_set('arm').tasks[0].weights = (2.0, 2.0, 2.0)
    twin['tip'].target = None
    twin['goal'].erase()
    twin.task_set('arm').solve()
    assert env.save() == data
    assert twin['slide'].dependency.master is twin['j0']
    env.close()
    assert twin.save()
    with pytest.raises(SsikError, match='closed'):
        env.save()


def test_functions_without_a_name_are_refused_by_joint(env):
    env['bent'].depend_on('j0', function=lambda value: value)
    with pytest.raises(SsikError, match="function of 'bent'"):
        env.save()
    assert env.copy()['bent'].dependency.function is env['bent'].dependency.function


def change(path, value):
    """Return a function that puts a value somewhere into a document."""

    def apply(document):
        *steps, last = path
        for step in steps:
            document = document[step]
        if value is ...:
            del document[last]
        else:
            document[last] = value

    return apply


FAULTS = {
    'format': (change(['format'], 'other'), 'format'),
    'version': (change(['version'], 2), 'version 2'),
    'unknown key': (change(['object'], []), "'object'.*objects"),
    'missing key': (change(['task_sets'], ...), "lacks 'task_sets'"),
    'objects no list': (change(['objects'], {}), "'objects' of the document is no list"),
    'no name': (change(['objects', 0, 'name'], ''), 'no name'),
    'same name': (change(['objects', 1, 'name'], 'j0'), 'two objects.*j0'),
    'kind': (change(['objects', 0, 'kind'], 'hinge'), "object 'j0'.*hinge"),
    'key of a joint': (change(['objects', 0, 'wieght'], 1.0), "object 'j0'.*weight"),
    'lost key of a joint': (change(['objects', 0, 'weight'], ...), "object 'j0' lacks 'weight'"),
    'pose': (change(['objects', 0, 'pose', 0, 0], 3.0), "'pose' of object 'j0'.*rigid"),
    'pose shape': (change(['objects', 0, 'pose', 0], [1.0]), "'pose' of object 'j0'"),
    'pose text': (change(['objects', 0, 'pose', 0, 0], 'one'), "object 'j0': 'pose'"),
    'parent': (change(['objects', 1, 'parent'], 'nobody'), "'parent' of object 'j1'.*nobody"),
    'cycle': (change(['objects', 0, 'parent'], 'tip'), "parents of '.*' form a cycle"),
    'target': (change(['objects', 3, 'target'], 'nobody'), "'target' of object 'tip'"),
    'target joint': (change(['objects', 3, 'target'], 'j0'), 'dummy can be a target.*j0'),
    'limits': (change(['objects', 0, 'limits'], [1.0, -1.0]), "limits of joint 'j0'"),
    'cyclic': (change(['objects', 0, 'cyclic'], True), "object 'j0' contradict"),
    'mode': (change(['objects', 0, 'mode'], 'free'), "'mode' of object 'j0'"),
    'max step': (change(['objects', 0, 'max_step'], 0.0), "largest step of joint 'j0'"),
    'position': (change(['objects', 0, 'position'], [9.0]), "'position' of object 'j0'.*outside"),
    'rotation': (change(['objects', 5, 'position'], [0, 0, 0, 2]), "object 'ball'.*quaternion"),
    'master': (change(['objects', 7, 'dependency', 'master'], 'nobody'), "dependency of 'slide'"),
    'own master': (change(['objects', 7, 'dependency', 'master'], 'slide'), 'closes a cycle'),
    'ball master': (
        change(['objects', 7, 'dependency', 'master'], 'ball'),
        "dependency of 'slide'",
    ),
    'function': (change(['objects', 8, 'dependency', 'function'], 'math'), "'bent'.*module:name"),
    'lost function': (change(['objects', 8, 'dependency', 'function'], 'math:sinus'), 'sinus'),
    'task set name': (change(['task_sets', 1, 'name'], 'arm'), "already has a task set 'arm'"),
    'method': (change(['task_sets', 0, 'method'], 'newton'), 'newton'),
    'damping': (change(['task_sets', 0, 'damping'], -1.0), 'damping'),
    'iterations': (
        change(['task_sets', 0, 'max_iterations'], 1.5),
        "'max_iterations' of task set 'arm'",
    ),
    'weights mode': (change(['task_sets', 0, 'weights_mode'], 'none'), 'weights mode'),
    'tip': (
        change(['task_sets', 0, 'tasks', 0, 'tip'], 'nobody'),
        "'tip' of task 0 of task set 'arm'",
    ),
    'tip joint': (change(['task_sets', 0, 'tasks', 0, 'tip'], 'j0'), "'j0' is not a dummy"),
    'base': (
        change(['task_sets', 0, 'tasks', 0, 'base'], 7),
        "'base' of task 0 of task set 'arm'",
    ),
    'constraints': (change(['task_sets', 0, 'tasks', 0, 'constraints'], 64), '64'),
    'precision': (
        change(['task_sets', 0, 'tasks', 0, 'precision'], [1.0]),
        "'precision' of task 0",
    ),
    'weights': (change(['task_sets', 0, 'tasks', 0, 'weights'], [1, 2, -3]), 'weights must be'),
    'handle': (change(['task_sets', 0, 'tasks', 0, 'handle'], -1), "'handle' of task 0"),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_malformed_documents_are_refused_by_name(env, fault):
    spoil, message = FAULTS[fault]
    document = copy.deepcopy(json.loads(env.save()))
    spoil(document)
    with pytest.raises(DocumentError, match=message):
        Environment.load(json.dumps(document).encode(), FUNCTIONS)


def test_environment_is_as_before_when_a_document_is_refused(env):
    document = json.loads(env.save())
    document['name'], document['priority'] = 'other', 'nested'
    document['task_sets'][0]['tasks'][0]['handle'] = -1
    mine = Environment('mine', priority='strict')
    with pytest.raises(DocumentError):
        load(mine, json.dumps(document).encode(), FUNCTIONS)
    assert (mine.name, mine.priority, mine.objects) == ('mine', 'strict', {})


@pytest.mark.parametrize('data', [b'', b'[]', b'{', b'{"format": NaN}', b'\xff\xfe', b'\0\1'])
def test_other_data_are_no_documents(data):
    with pytest.raises(DocumentError):
        Environment.load(data)
