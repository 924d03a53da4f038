"""The command ``ssik``: verbs, exit codes, and errors on one line."""

import os
import subprocess
import sys

import pytest

from ssik_ros.cli import command
from ssik_ros.cli.verb import robots


def run(*words):
    """Return the exit code of the command; argparse exits by itself."""
    try:
        return command.main(list(words))
    except SystemExit as error:
        return error.code


def test_help_names_every_verb(capsys):
    assert run('--help') == 0
    text = capsys.readouterr().out
    assert all(f' {verb.name} ' in text for verb in command.VERBS)


@pytest.mark.parametrize('verb', command.VERBS, ids=lambda verb: verb.name)
def test_help_of_every_verb_shows_examples(verb, capsys):
    assert run(verb.name, '--help') == 0
    text = capsys.readouterr().out
    assert f'examples:\n  ssik {verb.name}' in text


def test_version_is_printed(capsys):
    assert run('--version') == 0
    assert capsys.readouterr().out.startswith('ssik_ros ')


@pytest.mark.parametrize('words', [('slove',), ('robots', '--nothing')])
def test_words_that_make_no_sense_end_with_two(words, capsys):
    assert run(*words) == 2
    assert 'usage: ssik' in capsys.readouterr().err


def test_the_command_alone_prints_its_help(capsys):
    assert run() == 0
    assert 'ssik VERB --help' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('words', 'meant'),
    [
        (('slove',), "'ssik solve'"),
        (('sovle', 'panda'), "'ssik solve'"),
        (('bnech',), "'ssik bench'"),
        (('robots', '--jsn'), '--json'),
        (('solve', 'panda', '--joints', '0', '--sead', '0'), '--seed'),
    ],
)
def test_a_misspelt_word_is_followed_by_the_right_one(words, meant, capsys):
    assert run(*words) == 2
    assert f'Did you mean {meant}?' in capsys.readouterr().err


@pytest.mark.parametrize('verb', command.VERBS, ids=lambda verb: verb.name)
def test_help_of_every_option_with_a_default_tells_it(verb):
    for action in command.actions_of(verb):
        if action.option_strings and action.default not in (None, False, '', [], '==SUPPRESS=='):
            assert 'default' in action.help, action.dest


def test_seed_samples_and_out_mean_the_same_in_every_verb():
    for verb in command.VERBS:
        for action in command.actions_of(verb):
            names = action.option_strings
            if '--seed' in names:
                assert action.type is float and action.nargs == '+', verb.name
            if '--samples' in names:
                assert action.type is int and 'samples' in (action.help or ''), verb.name
            if '-o' in names or '--output' in names:
                assert {'-o', '--out', '--output'} <= set(names), verb.name


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_completions_know_verbs_options_and_robots(shell, capsys):
    assert run('completion', shell) == 0
    text = capsys.readouterr().out
    assert 'recommend' in text and 'max-solutions' in text and 'irb120' in text


def test_bash_completes_verbs_and_options(tmp_path, capsys):
    run('completion', 'bash')
    script = tmp_path / 'ssik.bash'
    script.write_text(capsys.readouterr().out, encoding='utf-8')
    line = (
        f'source {script}; COMP_WORDS=(ssik solve --ti); COMP_CWORD=2; _ssik ssik --ti; '
        'echo ${COMPREPLY[@]}; COMP_WORDS=(ssik sol); COMP_CWORD=1; _ssik ssik sol; echo ${COMPREPLY[@]}'
    )
    done = subprocess.run(['bash', '-c', line], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['--tip', '--timeout', 'solve', 'solvers']


def test_an_error_of_ours_is_one_line_and_ends_with_two(capsys):
    assert run('solve', '--robot', 'pandda', '--joints', '0') == 2
    text = capsys.readouterr().err
    assert text.startswith(
        "ssik solve: There is no robot 'pandda', neither as a MoveIt configuration"
    )
    assert text.count('\n') == 1


def test_an_interruption_ends_with_130(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(robots, 'run', interrupt)
    assert run('robots') == 130


def test_a_mistake_of_ours_is_not_hidden(monkeypatch):
    monkeypatch.setattr(robots, 'run', lambda arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run('robots')


def test_the_command_imports_no_numerics_before_a_verb_is_chosen():
    code = (
        'import sys; import ssik_ros.cli.command as command; command.make_parser();'
        "sys.exit(any(name in sys.modules for name in ('numpy', 'numba', 'matplotlib', 'rich')))"
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_the_process_of_the_command_starts_no_threads_for_matrices():
    """OpenBLAS starts one for each processor at import otherwise, and they stay."""
    # A thread that was joined is listed until the system has ended it.
    code = (
        'import os, sys, time\n'
        'from ssik_ros.cli.command import main\n'
        "sys.argv = ['ssik', 'solve', 'panda', '--xyz', '0.4', '0.1', '0.4']\n"
        'status = main()\n'
        'for _ in range(500):\n'
        "    threads = len(os.listdir('/proc/self/task'))\n"
        '    if threads == 1:\n'
        '        break\n'
        '    time.sleep(0.01)\n'
        'sys.exit(status or threads)\n'
    )
    environment = {name: value for name, value in os.environ.items() if 'THREADS' not in name}
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 1, done.stderr


def test_a_reader_that_goes_away_causes_no_traceback():
    line = f'{sys.executable} -m ssik_ros.cli.command solvers --json | head -c 1'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ''


def test_a_reader_that_never_reads_causes_no_traceback():
    # All that was written is still in the buffer when the command ends.
    command = [sys.executable, '-m', 'ssik_ros.cli.command', 'robots', '--json']
    buffered = {key: value for key, value in os.environ.items() if key != 'PYTHONUNBUFFERED'}
    pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'env': buffered}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == b''
        assert process.wait(60) == 1
