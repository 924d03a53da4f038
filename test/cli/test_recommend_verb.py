"""``ssik recommend``: a trial in bounded time on an unknown arm, a reason in words, and lines to paste."""

import json

import numpy as np
import pytest

from ssik_ros.benchmark import comparison
from ssik_ros.benchmark.comparison import (
    BLOCKS,
    compare_solvers,
    Kind,
    SEED_OFFSET,
    TrialRequests,
    TrialSettings,
)
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.benchmark.recommendation import recommend
from ssik_ros.cli.command import main
from ssik_ros.errors import TopologyMismatch
from ssik_ros.model.loader import load_robot
from ssik_ros.problem.contract import SolverSpec
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers import registry
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml

SIX_JOINTS = (
    ('revolute', '0 0 1', '0 0 0.41'),
    ('revolute', '0 1 0', '0.07 0 0.11'),
    ('revolute', '0 1 0', '0 0 0.52'),
    ('revolute', '1 0 0', '0.13 0 0.06'),
    ('revolute', '0 1 0', '0.38 0 0'),
    ('revolute', '1 0 0', '0.09 0.02 0'),
)
"""Type, axis and origin of each joint of an arm with an offset wrist, which no catalogue has."""
SLIDES = tuple(('prismatic', axis, '0 0 0') for axis in ('1 0 0', '0 1 0', '0 0 1'))
WHEEL = (('revolute', '0 0 1', '0 0 0.2'),)
ROD = 0.5
"""Distance of the tip from the last axis [m]."""
CLOSED_FORM = 'test/ClosedForm'


def urdf_of(joints):
    """Return the URDF of an arm from ``base`` to ``tip``."""
    limits = '<limit lower="-2.6" upper="2.6" effort="1" velocity="1"/>'
    links = ['base', *(f'link{i}' for i in range(len(joints))), 'tip']
    parts = [f'<link name="{link}"/>' for link in links]
    for i, (kind, axis, origin) in enumerate(joints):
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><origin xyz="{origin}"/><axis xyz="{axis}"/>'
            f'<parent link="{links[i]}"/><child link="{links[i + 1]}"/>{limits}</joint>'
        )
    parts.append(
        f'<joint name="mount" type="fixed"><origin xyz="{ROD} 0 0"/>'
        f'<parent link="{links[-2]}"/><child link="tip"/></joint>'
    )
    return f'<robot name="own">{"".join(parts)}</robot>'


SRDF = """<robot name="own">
  <group name="my arm"><chain base_link="base" tip_link="tip"/></group>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    """Return a function that writes an arm and returns the path of its URDF."""

    def write(joints):
        path = tmp_path / 'own.urdf'
        path.write_text(urdf_of(joints), encoding='utf-8')
        return str(path)

    return write


def oracle_of(joints):
    """Return the judge of an arm."""
    robot = load_robot(urdf_of(joints))
    return GroupOracle(robot, robot.group_from_links('base', 'tip'))


def trial(capsys, *words):
    """Return exit code and JSON of ``ssik recommend`` with one round of requests."""
    code = main(['recommend', *words, '--samples', '16', '--seconds', '60', '--json'])
    return code, json.loads(capsys.readouterr().out)


def turn_to(request):
    """Solve for the wheel: the angle of the target, if it is in the wheel's plane and on its circle."""
    target = request.targets.reshape(4, 4)
    q = np.array([np.arctan2(target[1, 0], target[0, 0])])
    reached = [ROD * np.cos(q[0]), ROD * np.sin(q[0]), 0.2]
    if not np.allclose(target[:3, 3], reached, atol=1e-6):
        return IkResult(
            IkStatus.UNSOLVED,
            Cause.UNREACHABLE,
            q[None][:0],
            np.zeros((0, 2)),
            q,
            1.0,
            3,
            1,
            False,
        )
    return IkResult(IkStatus.SOLVED, Cause.NONE, q[None], np.zeros((1, 2)), None, 0.0, 0, 1, False)


def claim_the_seed(request):
    q = request.seed[None].copy()
    return turn_to(request)._replace(
        status=IkStatus.SOLVED, cause=Cause.NONE, solutions=q, errors=np.zeros((1, 2))
    )


def claim_where_there_is_nothing(request):
    result = turn_to(request)
    return result if result.solved else claim_the_seed(request)


def divide_by_zero(request):
    return 1 / 0


class WheelSolver:
    """A solver whose result is a function of the request."""

    base_frame, tip_frames, joint_names = 'base', ('tip',), ('joint0',)

    def __init__(self, name, behaviour, clock=None):
        self.name, self.behaviour, self.clock = name, behaviour, clock
        self.requests = []

    def warm_up(self):
        """Nothing is compiled."""

    def solve(self, request):
        self.requests.append(request)
        if self.clock is not None:
            self.clock.now += self.clock.step
        return self.behaviour(request)


class Clock:
    """A clock that does not advance between requests."""

    def __init__(self, step):
        self.now, self.step = 100.0, step

    def __call__(self):
        return self.now


@pytest.fixture
def register(monkeypatch):
    """Return a function that adds a solver to the registry."""

    def add(name, behaviour, clock=None, factory=None):
        solver = WheelSolver(name, behaviour, clock)
        spec = SolverSpec(
            name=name,
            description='A solver of the tests.',
            options_type='ssik_ros.solvers.search.pose_ik.options:PoseIkOptions',
            parameters_file='ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml',
            factory=factory or (lambda robot, group, options: solver),
        )
        monkeypatch.setattr(registry, 'SOLVERS', (*registry.SOLVERS, spec))
        return solver

    return add


def test_solvers_are_known_by_the_names_in_the_table(arm, capsys):
    words = ['--base', 'base', '--tip', 'tip', '--solver', 'LevenbergMarquardt']
    code, content = trial(capsys, arm(SIX_JOINTS), *words)
    assert code == 0 and [s['name'] for s in content['solvers']] == ['ssik_ros/LevenbergMarquardt']
    assert main(['recommend', arm(SIX_JOINTS), '--tip', 'tip', '--solver', 'Autp']) == 2
    assert "Did you mean 'ssik_ros/Auto'?" in capsys.readouterr().err


def test_an_unknown_arm_gets_a_verified_solver_reasons_and_lines_for_its_file(
    arm, capsys, tmp_path
):
    words = ['--solver', 'ssik_ros/Auto', '--solver', 'ssik_ros/LevenbergMarquardt']
    code, content = trial(capsys, arm(SIX_JOINTS), '--base', 'base', '--tip', 'tip', *words)
    advice = content['recommendation']
    (chosen,) = (s for s in content['solvers'] if s['name'] == advice['solver'])
    for kind in (Kind.ANYWHERE, Kind.NEAR):
        figures = chosen['requests'][kind.value]
        assert (figures['count'], figures['verified'], figures['wrong']) == (16, 16, 0)
        assert 0.0 < figures['median_us'] <= figures['p95_us'] <= figures['p99_us']
    assert code == 0 and '32 of 32' in advice['reasons'][0]
    path = tmp_path / 'kinematics.yaml'
    path.write_text(advice['kinematics_yaml'], encoding='utf-8')
    (kinematics,) = read_kinematics_yaml(path).values()
    assert (kinematics.group, kinematics.solver) == ('base-tip', advice['solver'])
    assert (kinematics.timeout, kinematics.unused) == (0.05, ())
    request_words = [
        '--urdf',
        arm(SIX_JOINTS),
        '--base',
        'base',
        '--tip',
        'tip',
        '--joints',
        *'000000',
    ]
    assert main(['solve', *request_words, '--kinematics', str(path)]) == 0


def test_the_json_has_these_fields(arm, capsys, register):
    register(CLOSED_FORM, turn_to)
    _, content = trial(capsys, arm(WHEEL), '--tip', 'tip', '--solver', CLOSED_FORM)
    assert set(content) == {
        *('robot', 'group', 'group_is_named', 'base_frame', 'tip_frames', 'variables'),
        *('settings', 'tolerance', 'elapsed', 'machine', 'solvers', 'recommendation'),
    }
    assert content['settings'] == {
        'seconds': 60.0,
        'timeout': 0.05,
        'samples': 16,
        'random_seed': 12345,
    }
    (solver,) = content['solvers']
    assert set(solver) == {'name', 'refusal', 'set_up_seconds', 'requests'}
    assert set(solver['requests']) == {kind.value for kind in Kind}
    far = solver['requests'][Kind.OUT_OF_REACH.value]
    assert (far['count'], far['verified'], far['causes']) == (8, 0, {'UNREACHABLE': 1.0})
    assert set(content['recommendation']) == {'solver', 'reasons', 'kinematics_yaml'}


def test_the_same_seed_asks_the_same_and_another_one_does_not(arm, capsys, register):
    solver = register(CLOSED_FORM, turn_to)
    words = [arm(WHEEL), '--tip', 'tip', '--solver', CLOSED_FORM]
    asked = []
    for seed in ('7', '7', '8'):
        solver.requests.clear()
        trial(capsys, *words, '--random-seed', seed)
        asked.append([float(request.seed[0]) for request in solver.requests])
    assert asked[0] == asked[1] != asked[2]


def test_solvers_that_cannot_be_made_or_raise_are_listed_with_their_reason(arm, capsys, register):
    def refuse(robot, group, options):
        raise TopologyMismatch('one joint is too few for me')

    register(CLOSED_FORM, turn_to)
    register('test/Picky', turn_to, factory=refuse)
    register('test/Broken', divide_by_zero)
    names = (CLOSED_FORM, 'test/Picky', 'test/Broken')
    words = ['--tip', 'tip', *(word for name in names for word in ('--solver', name))]
    code, content = trial(capsys, arm(WHEEL), *words)
    refusals = {s['name']: s['refusal'] for s in content['solvers']}
    assert code == 0 and content['recommendation']['solver'] == CLOSED_FORM
    assert refusals[CLOSED_FORM] is None
    assert refusals['test/Picky'] == 'one joint is too few for me'
    assert 'ZeroDivisionError: division by zero' in refusals['test/Broken']
    main(['recommend', arm(WHEEL), *words, '--samples', '16'])
    text = capsys.readouterr().out
    assert 'test/Picky took no part: one joint is too few for me' in text
    assert f'Recommended: {CLOSED_FORM}' in text and f'  kinematics_solver: {CLOSED_FORM}' in text


def test_a_chain_without_closed_form_says_why_and_goes_on_with_the_others(arm, capsys):
    joints = (*SIX_JOINTS, *SIX_JOINTS[3:5])
    words = ['--solver', 'ssik_ros/Analytic', '--solver', 'ssik_ros/LevenbergMarquardt']
    code, content = trial(capsys, arm(joints), *words)
    analytic, search = content['solvers']
    assert analytic['refusal'] and analytic['requests'] is None
    assert (code, content['recommendation']['solver']) == (0, search['name'])


def test_a_solver_with_wrong_claims_is_left_out_however_fast(register):
    register(CLOSED_FORM, turn_to)
    register('test/Liar', claim_the_seed)
    settings = TrialSettings(seconds=60.0, samples=16)
    outcome = compare_solvers(oracle_of(WHEEL), [CLOSED_FORM, 'test/Liar'], settings)
    advice = recommend(outcome)
    assert advice.solver == CLOSED_FORM
    assert 'test/Liar is left out: it called' in advice.reasons[-1]
    register('test/Boaster', claim_where_there_is_nothing)
    for name in ('test/Liar', 'test/Boaster'):
        assert recommend(compare_solvers(oracle_of(WHEEL), [name], settings)) is None


@pytest.mark.parametrize('seconds', [0.5, 10.0, 40.0])
def test_the_time_is_kept_and_all_get_the_same_requests(register, seconds):
    clock = Clock(step=0.25)
    names = [CLOSED_FORM, 'test/Second']
    for name in names:
        register(name, turn_to, clock)
    settings = TrialSettings(seconds=seconds, samples=100_000)
    outcome = compare_solvers(oracle_of(WHEEL), names, settings, clock=clock)
    assert seconds <= outcome.elapsed <= seconds + clock.step
    for kind in Kind:
        first, second = (len(entrant.results[kind]) for entrant in outcome.running)
        assert first == second
    asked = sum(len(results) for results in outcome.entrants[0].results.values())
    assert asked <= seconds / clock.step / 2.0


def test_the_table_fits_into_a_terminal_and_says_causes_and_wrong_solutions(arm, capsys, register):
    register(CLOSED_FORM, turn_to)
    register('test/Liar', claim_the_seed)
    words = [arm(WHEEL), '--tip', 'tip', '--solver', CLOSED_FORM, '--solver', 'test/Liar']
    assert main(['recommend', *words, '--samples', '16']) == 0
    text = capsys.readouterr().out
    table, _, rest = text.partition('No solution, by cause:')
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80
    assert ' 100 ' in table and ' 0 ' in table
    assert f'{CLOSED_FORM}: out of reach UNREACHABLE 100 %' in rest
    assert 'test/Liar: seed anywhere 16 wrong results; seed near 16 wrong results' in rest


@pytest.mark.parametrize(
    ('time_us', 'shown'),
    [
        (0.5, '0.5'),
        (123.4, '123.4'),
        (1234.4, '1234'),
        (123456.0, '123456'),
        (1234567.0, '1.2e6'),
        (9.99e8, '1.0e9'),
    ],
)
def test_numbers_of_the_table_are_short_on_slow_machines_too(
    arm, capsys, register, monkeypatch, time_us, shown
):
    def spend(*given, tell):
        comparison = compare_solvers(*given, tell=tell)
        for entrant in comparison.entrants:
            for results in entrant.results.values():
                results[:] = [result._replace(time_us=time_us) for result in results]
        return comparison

    monkeypatch.setattr('ssik_ros.cli.verb.recommend.compare_solvers', spend)
    register(CLOSED_FORM, turn_to)
    words = ['recommend', arm(WHEEL), '--tip', 'tip', '--solver', CLOSED_FORM]
    main([*words, '--samples', '2'])
    assert f' {shown} ' in capsys.readouterr().out


def test_time_for_no_pose_gives_a_table_too(arm, capsys, register):
    register(CLOSED_FORM, turn_to)
    words = ['recommend', arm(WHEEL), '--tip', 'tip', '--solver', CLOSED_FORM]
    assert main([*words, '--seconds', '1e-9']) == 1
    assert 'give more --seconds' in capsys.readouterr().out


@pytest.mark.parametrize('joints', [SIX_JOINTS, WHEEL])
def test_requests_are_what_they_are_called(joints):
    oracle = oracle_of(joints)
    group, source = oracle.group, TrialRequests(oracle, 5)
    lengths = [np.linalg.norm(np.array(origin.split(), float)) for _, _, origin in joints]
    for kind in Kind:
        for request in source.take(kind, 20):
            assert (request.seed >= group.lower).all() and (request.seed <= group.upper).all()
            distance = np.linalg.norm(request.targets[0, :3, 3])
            assert (distance <= sum(lengths) + ROD) or kind is Kind.OUT_OF_REACH
            if kind is Kind.NEAR:
                moved = oracle.errors(request.seed, request.targets)
                assert 0.0 < moved[1].max() <= SEED_OFFSET * len(joints) + 1e-9
    if joints is WHEEL:
        far = source.take(Kind.OUT_OF_REACH, 20)
        assert all(np.linalg.norm(q.targets[0, :3, 3]) > sum(lengths) + 0.05 for q in far)


def test_poses_that_turn_out_to_be_in_reach_do_not_count_as_out_of_reach(monkeypatch):
    settings = TrialSettings(seconds=60.0, samples=16)
    oracle, names = oracle_of(SLIDES), ['ssik_ros/LevenbergMarquardt']
    (honest,) = compare_solvers(oracle, names, settings).running
    assert len(honest.results[Kind.OUT_OF_REACH]) == BLOCKS[Kind.OUT_OF_REACH]
    monkeypatch.setattr(comparison, 'BEYOND', (0.1, 0.3))
    (mistaken,) = compare_solvers(oracle, names, settings).running
    assert mistaken.results[Kind.OUT_OF_REACH] == []


def test_the_group_of_an_srdf_gives_its_name_even_by_its_links(arm, capsys, register, tmp_path):
    register(CLOSED_FORM, turn_to)
    srdf = tmp_path / 'own.srdf'
    srdf.write_text(SRDF, encoding='utf-8')
    words = [arm(WHEEL), '--srdf', str(srdf), '--solver', CLOSED_FORM]
    for chosen in ([], ['--group', 'my arm'], ['--base', 'base', '--tip', 'tip']):
        _, content = trial(capsys, *words, *chosen)
        assert (content['group'], content['group_is_named']) == ('my arm', True)
        path = tmp_path / 'kinematics.yaml'
        path.write_text(content['recommendation']['kinematics_yaml'], encoding='utf-8')
        assert set(read_kinematics_yaml(path)) == {'my arm'}


def test_where_nothing_works_the_exit_code_is_one_and_the_reason_is_told(arm, capsys, register):
    register('test/Broken', divide_by_zero)
    assert main(['recommend', arm(WHEEL), '--tip', 'tip', '--solver', 'test/Broken']) == 1
    text = capsys.readouterr().out
    assert 'test/Broken took no part: failed at a request: ZeroDivisionError' in text
    assert 'No solver takes these joints.' in text


def test_robots_are_found_by_name_and_by_package(capsys, register):
    def refuse(robot, group, options):
        raise TopologyMismatch(f'{group.name} of {robot.name}')

    register('test/Picky', turn_to, factory=refuse)
    for words, group in (
        (['--robot', 'panda'], 'panda_arm'),
        (['--moveit-config', 'panda_moveit_config'], 'panda_arm'),
        (['--robot', 'jaco2'], 'jaco2'),
    ):
        code, content = trial(capsys, *words, '--solver', 'test/Picky')
        assert (code, content['recommendation']) == (1, None)
        assert group in content['solvers'][0]['refusal']


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['{rail}', '--tip', 'tip'], 'joint0'),
        ([], 'Name one robot'),
        (['{arm}', '--robot', 'panda'], 'Name one robot'),
        (['{arm}', '--tip', 'tipp'], "Did you mean 'tip'"),
        (['{arm}', '--base', 'link0', '--tip', 'base'], 'base'),
        (['{arm}', '--base', 'link0', '--tip', 'tip'], 'link0'),
        (['{arm}', '--group', 'arm'], "no group 'arm'"),
        (['{arm}', '--group', 'arm', '--tip', 'tip'], 'not by both'),
        (['{arm}', '--solver', 'ssik_ros/PosIK'], "Did you mean 'ssik_ros/PoseIK'"),
        (['{arm}', '--seconds', '0'], '--seconds takes'),
        (['{arm}', '--samples', '0'], '--samples takes'),
        (['{arm}', '--random-seed', '-1'], '--random-seed takes'),
        (['{arm}', '--xacro-arg', 'a=1'], 'NAME:=VALUE'),
        (['--robot', 'pandda'], "Did you mean 'panda'"),
        (['--robot', 'panda', '--srdf', 'x.srdf'], 'x.srdf'),
        (['gone.urdf'], 'gone.urdf'),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_two_and_says_what_is_wrong(
    arm, words, message, capsys, tmp_path
):
    path = arm(WHEEL)
    rail = urdf_of(SLIDES).replace('lower="-2.6" upper="2.6"', 'lower="-1e400" upper="1e400"', 1)
    (tmp_path / 'rail.urdf').write_text(rail, encoding='utf-8')
    files = {'arm': path, 'rail': tmp_path / 'rail.urdf'}
    assert main(['recommend', *(word.format(**files) for word in words)]) == 2
    text = capsys.readouterr().err
    assert text.startswith('ssik recommend: ') and message in text
