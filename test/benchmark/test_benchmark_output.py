"""Output of a benchmark: data files, summaries, tables, plots."""

import csv
import dataclasses
import io
import json

from test.benchmark import planar_arm

import numpy as np
import pytest
from rich.console import Console

from ssik_ros.benchmark.config import BenchmarkConfig, read_benchmark_config, SolverEntry
from ssik_ros.benchmark.harness import write_atomically
from ssik_ros.benchmark.machine import describe_machine
from ssik_ros.benchmark.plots import plot_grid, plot_report
from ssik_ros.benchmark.published import PUBLISHED, published_for
from ssik_ros.benchmark.report import (
    BenchmarkReport,
    describe,
    make_json,
    make_markdown,
    make_table,
    make_text,
)
from ssik_ros.benchmark.session import prepare_benchmark, write_results
from ssik_ros.benchmark.summary import summarise
from ssik_ros.benchmark.trials import (
    CSV_COLUMNS,
    RunStatus,
    SolverRun,
    TrialRecord,
    TrialVerdict,
    write_csv,
)
from ssik_ros.errors import InvalidOption
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_package

PNG = b'\x89PNG'


def make_trial(number, *, time_us=10.0, verdict=TrialVerdict.VERIFIED, error=1e-4, **changes):
    trial = TrialRecord(
        trial=number,
        verdict=verdict,
        solve_time_ns=int(1000 * time_us),
        cpu_time_ns=int(1000 * time_us),
        position_error=error,
        orientation_error=2.0 * error,
        solver_claim=verdict is not TrialVerdict.NO_SOLUTION,
        within_limits=True,
        cause='NONE',
        iterations=10,
        searches=2,
        clock_ended=False,
        seed_distance=0.5,
    )
    return trial._replace(**changes)


def make_run(name, trials, status=RunStatus.RAN, reason=''):
    entry = SolverEntry(name, f'{name}.yaml')
    return SolverRun(entry, status, f'test/{name}', reason, {'p': 1}, 0.001, trials)


def make_report(*runs, robot='panda'):
    config = BenchmarkConfig('bench', 'pkg', robot, 'arm', 4, 12345, 0.1, 1, ())
    published = tuple(figure for figure in PUBLISHED if figure.robot == robot)
    return BenchmarkReport(
        config, robot, 'robot.urdf', 'random goals', describe_machine(), runs, published
    )


@pytest.fixture
def mixed():
    """Return a run with three verified trials and one claim that does not hold."""
    trials = [make_trial(i + 1, time_us=10.0 * (i + 1)) for i in range(3)]
    lie = make_trial(4, time_us=1000.0, verdict=TrialVerdict.OUTSIDE_TOLERANCE, error=0.5)
    return make_run('mixed', [*trials, lie])


@pytest.fixture
def absent():
    return make_run('absent', (), RunStatus.NOT_INSTALLED, 'it is somebody else[s]')


def read_csv(path):
    with path.open(encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


def test_the_five_columns_of_ik_benchmarking_come_first(mixed, tmp_path):
    write_csv(mixed, tmp_path / 'data.csv')
    header = (tmp_path / 'data.csv').read_text(encoding='utf-8').splitlines()[0].split(',')
    assert header[:5] == ['trial', 'found_ik', 'solve_time', 'position_error', 'orientation_error']
    assert tuple(header) == CSV_COLUMNS


def test_data_have_the_units_and_words_that_their_visualiser_reads(mixed, tmp_path):
    write_csv(mixed, tmp_path / 'data.csv')
    rows = read_csv(tmp_path / 'data.csv')
    assert [row['trial'] for row in rows] == ['1', '2', '3', '4']
    assert [row['found_ik'] for row in rows] == ['true', 'true', 'true', 'false']
    assert [row['solve_time'] for row in rows] == ['10', '20', '30', '1000']
    assert float(rows[0]['position_error']) == 1e-4


def test_microseconds_are_truncated_as_theirs_and_nanoseconds_kept_beside(tmp_path):
    write_csv(make_run('a', [make_trial(1, time_us=12.999)]), tmp_path / 'data.csv')
    row = read_csv(tmp_path / 'data.csv')[0]
    assert (row['solve_time'], row['solve_time_ns']) == ('12', '12999')


def test_the_claim_of_the_solver_stands_beside_the_verdict(mixed, tmp_path):
    write_csv(mixed, tmp_path / 'data.csv')
    row = read_csv(tmp_path / 'data.csv')[3]
    assert (row['found_ik'], row['solver_claim'], row['verdict']) == (
        'false',
        'true',
        'outside tolerance',
    )


def test_the_text_of_an_exception_stays_one_field(tmp_path):
    trial = make_trial(1, verdict=TrialVerdict.EXCEPTION, note='RuntimeError: a, "b"')
    write_csv(make_run('a', [trial]), tmp_path / 'data.csv')
    assert read_csv(tmp_path / 'data.csv')[0]['note'] == 'RuntimeError: a, "b"'


def test_a_second_run_replaces_the_data_of_the_first(mixed, tmp_path):
    path = tmp_path / 'data.csv'
    write_csv(mixed, path)
    once = path.read_text(encoding='utf-8')
    write_csv(mixed, path)
    assert path.read_text(encoding='utf-8') == once
    assert [file.name for file in tmp_path.iterdir()] == ['data.csv']


def test_all_files_lie_in_the_output_folder(monkeypatch, tmp_path):
    planar_arm.register(monkeypatch, mine=planar_arm.honest)
    package = planar_arm.write_package(tmp_path, mine='test/mine', KDL='kdl/KDLPlugin')
    session = prepare_benchmark(
        read_benchmark_config(planar_arm.write_config(package, 'mine', 'KDL'))
    )
    report = session.run()
    taken = tmp_path / 'taken'
    taken.write_text('')
    for folder in (taken, taken / 'output'):
        with pytest.raises(InvalidOption, match='taken'):
            write_results(session, report, folder)
    with pytest.raises(InvalidOption, match='taken'):
        write_atomically(taken / 'summary.json', '{}')
    write_results(session, report, tmp_path / 'deep/output')
    assert sorted(file.name for file in (tmp_path / 'deep/output').iterdir()) == [
        'goals.jsonl',
        'mine_ik_benchmarking_data.csv',
        'summary.json',
        'summary.md',
    ]


def test_the_summary_counts_only_verified_solutions(mixed):
    summary = summarise(mixed)
    assert (summary.samples, summary.found, summary.success_rate) == (4, 3, 0.75)
    assert (summary.claimed, summary.false_claims) == (4, 1)


def test_the_mean_is_over_all_trials_and_over_verified_ones(mixed):
    summary = summarise(mixed)
    assert (summary.mean_us, summary.mean_found_us) == (265.0, 20.0)


def test_percentiles_are_over_all_trials():
    summary = summarise(make_run('a', [make_trial(i, time_us=float(i)) for i in range(1, 102)]))
    assert (summary.median_us, summary.p95_us, summary.p99_us, summary.max_us) == pytest.approx(
        (51.0, 96.0, 100.0, 101.0)
    )


def test_worst_errors_are_over_verified_solutions(mixed):
    summary = summarise(mixed)
    assert (summary.worst_position_error, summary.worst_orientation_error) == (1e-4, 2e-4)


def test_a_run_without_verified_solution_has_no_errors_and_a_rate_of_zero():
    summary = summarise(make_run('a', [make_trial(1, verdict=TrialVerdict.NO_SOLUTION)]))
    assert (summary.success_rate, summary.mean_found_us) == (0.0, None)
    assert summary.worst_position_error is None


def test_trials_that_the_clock_ended_are_counted(mixed):
    run = make_run('a', [make_trial(1, clock_ended=True), make_trial(2)])
    assert (summarise(run).clock_ended, summarise(mixed).clock_ended) == (1, 0)


def printed(report):
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(make_table(report))
    return console.export_text()


def test_the_table_has_a_row_for_every_solver_and_every_published_figure(mixed, absent):
    text = printed(make_report(mixed, absent))
    assert '75 %' in text
    assert 'not installed' in text
    assert 'published:' in text
    assert '  TRAC-IK' in text


def test_a_label_of_another_solver_does_not_hide_the_solver(mixed):
    assert 'mixed (ssik_ros/Auto)' in printed(
        make_report(dataclasses.replace(mixed, requested_solver='ssik_ros/Auto'))
    )


@pytest.mark.parametrize('label', ['PoseIK', 'pose_ik', 'ssik_ros/PoseIK'])
def test_a_label_that_tells_the_solver_stands_alone(label):
    run = dataclasses.replace(make_run(label, []), requested_solver='ssik_ros/PoseIK')
    assert run.title == label


def test_the_description_names_machine_versions_and_what_did_not_run(mixed, absent):
    report = make_report(mixed, absent)
    text = describe(report)
    assert report.machine.cpu in text
    assert 'numpy' in text
    assert 'absent: not installed: it is somebody else[s].' in text
    assert 'mixed: called 1 result solved that did not hold.' in text


def test_the_statistics_of_a_run_are_computed_once(mixed, absent, monkeypatch):
    seen = []
    monkeypatch.setattr(
        'ssik_ros.benchmark.report.summarise', lambda run: seen.append(run) or summarise(run)
    )
    report = make_report(mixed, absent)
    assert make_text(report) and make_markdown([report]) and make_json([report])
    assert report.false_claims and seen == [mixed, absent]


def test_markdown_has_a_table_that_says_what_is_published(mixed):
    lines = make_markdown([make_report(mixed)]).splitlines()
    assert lines[0] == '## bench: arm of panda'
    assert any(line.startswith('| mixed | 75 % |') for line in lines)
    assert any(line.startswith('| PoseIK (published) | (100 %) | 0.0421 |') for line in lines)


def test_json_has_configuration_machine_and_figures(mixed, absent):
    (content,) = json.loads(make_json([make_report(mixed, absent)]))
    assert content['config']['random_seed'] == 12345
    assert set(content['machine']['versions']) == {
        'python',
        'ssik_ros',
        'numpy',
        'pinocchio',
    }
    first, second = content['solvers']
    assert (first['status'], first['success_rate'], first['tolerance']) == ('ran', 0.75, 0.001)
    assert (second['status'], 'success_rate' in second) == ('not installed', False)


def test_published_figures_are_those_of_the_document():
    group = load_package(find_moveit_config('fanuc')).group('manipulator')
    figures = published_for('moveit_resources_fanuc', group)
    means = {figure.solver: figure.mean_ms for figure in figures}
    assert means == {'KDL': 3.28, 'TRAC-IK': 0.489, 'PoseIK': 0.0416}
    assert published_for('ur5e', group) == ()


@pytest.mark.parametrize('change', ['other limits', 'another number of joints'])
def test_published_figures_stand_beside_the_same_arm_only(change):
    group = load_package(find_moveit_config('gen3')).group('manipulator')
    assert len(published_for('gen3', group)) == 3
    if change == 'other limits':
        other = dataclasses.replace(group, upper=group.upper + 0.01 * np.isfinite(group.upper))
    else:
        other = load_package(find_moveit_config('ur5e')).group('ur_manipulator')
    assert published_for('gen3', other) == ()


def test_the_four_plots_of_ik_benchmarking_are_written(mixed, absent, tmp_path):
    paths = plot_report(make_report(mixed, absent), tmp_path)
    assert [path.name for path in paths] == [
        'solve_times.png',
        'success_rates.png',
        'position_error.png',
        'orientation_error.png',
    ]
    assert all(path.read_bytes().startswith(PNG) for path in paths)


def test_plots_survive_a_solver_without_verified_solution(tmp_path):
    hopeless = make_run('a', [make_trial(1, verdict=TrialVerdict.NO_SOLUTION, error=np.nan)])
    report = make_report(hopeless)
    assert len(plot_report(report, tmp_path)) == 4
    assert plot_grid([report], tmp_path / 'grid.png') is not None


def test_the_grid_is_written_for_several_robots(mixed, tmp_path):
    reports = [make_report(mixed), make_report(mixed, robot='ur5e')]
    path = plot_grid(reports, tmp_path / 'grid.png')
    assert path.read_bytes().startswith(PNG)


def test_nothing_is_plotted_when_nothing_ran(absent, tmp_path):
    report = make_report(absent)
    assert plot_report(report, tmp_path) == []
    assert plot_grid([report], tmp_path / 'grid.png') is None
    assert list(tmp_path.iterdir()) == []
