"""Benchmarks of solvers elsewhere: the timed part, the reported figures, and the servers that are started."""

import csv
import json
import time

from test.benchmark import planar_arm

import pytest

from ssik_ros.benchmark.calls import RemoteResult
from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.report import make_json, make_markdown, make_text
from ssik_ros.benchmark.servers import namespace_of, plan_servers
from ssik_ros.benchmark.session import load_configured_robot, prepare_benchmark, write_results
from ssik_ros.benchmark.summary import summarise
from ssik_ros.benchmark.trials import RunStatus, TrialVerdict
from ssik_ros.errors import DescriptionNotFound, InvalidOption, SolverError

SLOW = 0.02
"""Time that everything takes which must not be measured [s]."""


class RemoteSolver(planar_arm.PlanarSolver):
    """A solver elsewhere that is slow in everything but the call."""

    service = '/there/compute_ik'
    server_time_ns = 1000

    def prepare(self, request):
        time.sleep(SLOW)
        return request

    def call(self, message):
        self.requests.append(message)
        return self.behaviour(message)

    def read(self, reply):
        time.sleep(SLOW)
        return RemoteResult(reply, 'a text\nof the server', self.server_time_ns)


@pytest.fixture
def config(monkeypatch, tmp_path):
    """Return the path of a configuration with a solver of ours and a foreign one."""
    planar_arm.register(monkeypatch, mine=planar_arm.lying)
    package = planar_arm.write_package(tmp_path, mine='test/mine', KDL='kdl/KDLPlugin')
    return planar_arm.write_config(package, 'mine', 'KDL', sample_size=5)


@pytest.fixture
def run(config):
    """Return a function that runs the configuration with a remote solver for some labels."""

    def run_with(behaviour=planar_arm.honest, labels=('mine',), kind=RemoteSolver):
        session = prepare_benchmark(read_benchmark_config(config))
        makers = dict.fromkeys(labels, lambda kinematics, oracle: kind('remote', behaviour))
        return session, session.run(makers=makers)

    return run_with


def test_maker_stands_for_its_label_and_no_other(run):
    _, report = run()
    mine, foreign = report.runs
    assert {trial.verdict for trial in mine.trials} == {TrialVerdict.VERIFIED}
    assert (mine.service, mine.requested_solver) == ('/there/compute_ik', 'test/mine')
    assert foreign.status is RunStatus.NOT_INSTALLED


def test_foreign_solver_runs_where_a_maker_stands_for_it(run):
    _, report = run(labels=('KDL',))
    assert (report.runs[1].status, len(report.runs[1].parameters)) == (RunStatus.RAN, 0)


def test_only_the_call_of_a_remote_solver_is_timed(run):
    _, report = run()
    trials = report.runs[0].trials
    assert sorted(trial.solve_time_ns for trial in trials)[0] < 1e9 * SLOW


def test_remote_solution_is_checked_like_any_other(run):
    _, report = run(planar_arm.lying)
    summary = summarise(report.runs[0])
    assert (summary.found, summary.false_claims) == (0, 5)


def test_remote_solver_that_raises_is_recorded(run):
    _, report = run(planar_arm.raising)
    trial = report.runs[0].trials[0]
    assert (trial.verdict, trial.note) == (TrialVerdict.EXCEPTION, 'RuntimeError: singular matrix')


def test_interruption_is_no_response(run):
    def interrupted(request):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupted)


def test_server_that_does_not_come_is_a_failed_row(run):
    class Absent(RemoteSolver):
        def warm_up(self):
            raise SolverError('There is no service.')

    _, report = run(kind=Absent)
    assert report.runs[0].status is RunStatus.FAILED
    assert 'mine: failed: There is no service.' in make_text(report).splitlines()


def test_data_file_ends_with_the_time_of_the_server(run, tmp_path):
    session, report = run()
    write_results(session, report, tmp_path / 'out')
    path = tmp_path / 'out/mine_ik_benchmarking_data.csv'
    with path.open(encoding='utf-8', newline='') as stream:
        table = list(csv.reader(stream))
    assert table[0][-2:] == ['note', 'server_time_ns']
    assert table[1][-2:] == ['a text of the server', '1000']


def test_in_process_there_is_no_time_of_a_server(config, tmp_path):
    session = prepare_benchmark(read_benchmark_config(config))
    report = session.run()
    write_results(session, report, tmp_path / 'out')
    text = (tmp_path / 'out/mine_ik_benchmarking_data.csv').read_text(encoding='utf-8')
    assert all(line.endswith(',') for line in text.splitlines()[1:])
    assert summarise(report.runs[0]).server_mean_us is None
    assert 'solver mean' not in make_markdown([report])
    assert 'round trip' not in make_markdown([report])


def test_reports_keep_round_trip_and_solver_time_apart(run):
    _, report = run()
    (content,) = json.loads(make_json([report]))
    solver = content['solvers'][0]
    assert solver['service'] == '/there/compute_ik'
    assert [solver[f'server_{name}_us'] for name in ('mean', 'median', 'p99')] == [1.0] * 3
    assert solver['median_us'] != 1.0
    lines = make_markdown([report]).splitlines()
    assert lines[2].endswith('| solver mean | solver median | solver p99 |')
    row = next(line for line in lines if line.startswith('| mine'))
    assert row.endswith('| 0.001 | 0.001 | 0.001 |')
    assert len({line.count('|') for line in lines if line.startswith('|')}) == 1


def test_server_that_reports_no_time_leaves_the_columns_empty_and_is_named(run):
    class Silent(RemoteSolver):
        server_time_ns = None

    _, report = run(kind=Silent)
    assert summarise(report.runs[0]).server_mean_us is None
    assert '/there/compute_ik, which reports no solver time.' in make_text(report)


def test_every_search_starts_where_a_running_robot_is(config):
    configured = load_configured_robot(read_benchmark_config(config))
    state = configured.robot.default_positions() + 0.1
    session = prepare_benchmark(read_benchmark_config(config)).from_live_state(state)
    assert (session.cases.seeds == state).all()
    assert session.goals_source.endswith('the live state instead')


def test_a_server_is_planned_for_each_solver_of_ours_with_the_robot_of_the_judge(config):
    (plan,) = plan_servers(read_benchmark_config(config))
    folder = config.parent / 'planar_moveit_config/config'
    assert (plan.label, plan.namespace) == ('mine', 'mine')
    assert plan.parameters == {
        'robot_description_file': str(folder / 'planar.urdf'),
        'semantic_file': str(folder / 'planar.srdf'),
        'joint_limits_file': '',
        'xacro_args': '',
        'kinematics_file': str(folder / 'mine_kinematics.yaml'),
        'groups': 'arm',
    }


def test_server_of_a_running_robot_is_told_no_description(config):
    (plan,) = plan_servers(read_benchmark_config(config), live_robot=True)
    assert set(plan.parameters) == {'kinematics_file'}


def test_kinematics_of_a_running_robot_need_a_package_without_description(config):
    folder = config.parent / 'planar_moveit_config/config'
    (folder / 'planar.urdf').unlink()
    assert plan_servers(read_benchmark_config(config), live_robot=True)
    with pytest.raises(DescriptionNotFound):
        plan_servers(read_benchmark_config(config))


def test_configuration_without_a_solver_of_ours_needs_no_server(config):
    foreign = read_benchmark_config(config).with_solvers(['KDL'])
    with pytest.raises(InvalidOption, match='no solver of this package'):
        plan_servers(foreign)


@pytest.mark.parametrize(
    ('label', 'name'),
    [('PoseIK', 'PoseIK'), ('my solver-2', 'my_solver_2'), ('3rd', 'solver_3rd'), ('/a/', 'a')],
)
def test_label_becomes_a_name_that_ros_accepts(label, name):
    assert namespace_of(label) == name
