"""``ssik bench``: files, options and exit codes."""

import csv
import json

from test.benchmark import planar_arm

import pytest

from ssik_ros.cli.command import main

PLOTS = {'solve_times.png', 'success_rates.png', 'position_error.png', 'orientation_error.png'}


@pytest.fixture
def config(monkeypatch, tmp_path):
    """Return the path of a configuration with an honest, a lying and a foreign solver."""
    planar_arm.register(monkeypatch, honest=planar_arm.honest, lying=planar_arm.lying)
    package = planar_arm.write_package(
        tmp_path, honest='test/honest', lying='test/lying', KDL='kdl/KDLPlugin'
    )
    return planar_arm.write_config(package, 'honest', 'lying', 'KDL', sample_size=8)


@pytest.fixture
def output(tmp_path):
    return tmp_path / 'results'


def bench(*words):
    """Return the exit code of ``ssik bench``."""
    return main(['bench', *map(str, words)])


def rows(path):
    with path.open(encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


def test_one_configuration_writes_everything_into_the_output_folder(config, output):
    assert bench(config, '--output', output) == 0
    assert {path.name for path in output.iterdir()} == PLOTS | {
        'goals.jsonl',
        'honest_ik_benchmarking_data.csv',
        'lying_ik_benchmarking_data.csv',
        'summary.json',
        'summary.md',
        'benchmark_grid.png',
    }


def test_a_lying_solver_is_verified_in_no_trial_and_named(config, output, capsys):
    assert bench(config, '-o', output, '--no-plots') == 0
    data = rows(output / 'lying_ik_benchmarking_data.csv')
    assert {row['found_ik'] for row in data} == {'false'}
    assert (
        'ssik bench: lying: called 8 results solved that did not hold' in capsys.readouterr().err
    )


def test_a_solver_that_is_not_installed_is_a_row_and_no_failure(config, output, capsys):
    assert bench(config, '-o', output, '--no-plots') == 0
    assert 'not installed' in capsys.readouterr().out
    assert not (output / 'KDL_ik_benchmarking_data.csv').exists()


def test_a_benchmark_in_which_nothing_could_run_ends_with_one(config, output):
    assert bench(config, '-o', output, '--solver', 'KDL') == 1


def test_a_rerun_replaces_the_files(config, output):
    bench(config, '-o', output, '--no-plots')
    bench(config, '-o', output, '--no-plots')
    assert len(rows(output / 'honest_ik_benchmarking_data.csv')) == 8


def test_a_rerun_with_other_solvers_leaves_nothing_of_the_earlier_run(config, output):
    bench(config, '-o', output)
    bench(config, '-o', output, '--solver', 'lying', '--no-plots')
    assert {path.name for path in output.iterdir()} == {
        'goals.jsonl',
        'lying_ik_benchmarking_data.csv',
        'summary.json',
        'summary.md',
    }


def test_files_of_others_in_the_output_folder_stay(config, output):
    output.mkdir()
    theirs = output / 'KDL_ik_benchmarking_data.csv'
    theirs.write_text('trial\n', encoding='utf-8')
    bench(config, '-o', output, '--no-plots')
    assert theirs.read_text(encoding='utf-8') == 'trial\n'


def test_fewer_samples_and_one_solver_can_be_asked_for(config, output):
    assert bench(config, '-o', output, '--samples', 3, '--solver', 'honest', '--no-plots') == 0
    assert len(rows(output / 'honest_ik_benchmarking_data.csv')) == 3
    assert not (output / 'lying_ik_benchmarking_data.csv').exists()


def test_no_plots_means_no_png(config, output):
    bench(config, '-o', output, '--no-plots')
    assert list(output.glob('*.png')) == []


def test_json_is_all_that_is_printed(config, output, capsys):
    assert bench(config, '-o', output, '--json', '--no-plots') == 0
    (content,) = json.loads(capsys.readouterr().out)
    assert [solver['success_rate'] for solver in content['solvers'][:2]] == [1.0, 0.0]


def test_no_progress_bar_is_drawn_into_a_file(config, output, capsys):
    bench(config, '-o', output, '--no-plots', '--solver', 'honest')
    assert capsys.readouterr().err == ''


def test_goals_are_replayed_exactly(config, output, tmp_path):
    bench(config, '-o', output, '--no-plots')
    goals = output / 'goals.jsonl'
    config.write_text(config.read_text().replace('12345', '1'), encoding='utf-8')
    again = tmp_path / 'again'
    assert bench(config, '-o', again, '--no-plots', '--goals', goals) == 0
    assert (again / 'goals.jsonl').read_bytes() == goals.read_bytes()


def test_goals_of_one_robot_cannot_serve_several_configurations(config, output, capsys):
    other = config.with_name('other.yaml')
    other.write_text(config.read_text(), encoding='utf-8')
    assert bench(config, other, '-o', output, '--goals', 'goals.jsonl') == 2
    assert 'exactly one CONFIG' in capsys.readouterr().err


@pytest.mark.slow
def test_several_configurations_have_a_folder_each_and_a_common_summary(config, output):
    other = config.with_name('other.yaml')
    other.write_text(config.read_text(), encoding='utf-8')
    assert bench(config, other, '-o', output) == 0
    assert {path.name for path in output.iterdir()} == {
        'planar',
        'other',
        'summary.json',
        'summary.md',
        'benchmark_grid.png',
    }
    assert len(json.loads((output / 'summary.json').read_text())) == 2


def test_one_configuration_given_twice_is_an_error(config, output, capsys):
    assert bench(config, config, '-o', output) == 2
    assert 'planar' in capsys.readouterr().err


def test_a_mistake_in_the_last_configuration_shows_before_the_first_one_runs(config, output):
    broken = config.with_name('broken.yaml')
    broken.write_text(config.read_text().replace('ik_timeout: 0.1\n', ''), encoding='utf-8')
    assert bench(config, broken, '-o', output) == 2
    assert not output.exists()


@pytest.mark.parametrize('words', [('--samples', '0'), ('--solver', 'KLD'), ('--goals', 'none')])
def test_options_that_make_no_sense_end_with_two(config, output, words):
    assert bench(config, '-o', output, *words) == 2
