"""
Thirty-four commands of a first day, written as a new user writes them after the README.

``WORKS`` holds those whose first guess works, with their exit code; ``NAMED`` those whose error names the right words.
"""

import pytest

from ssik_ros.cli import command

POSE = '0.4 0.1 0.5 1 0 0 0'
UR = '0.3 -1.2 1.4 -0.8 1.1 0.5'
WORKS = (
    '',
    '--help',
    '--version',
    'solve --help',
    f'solve panda --pose {POSE}',
    f'solve --robot panda --pose {POSE}',
    f'solve panda --group panda_arm --pose {POSE} --json',
    'solve panda --xyz 0.4 0.1 0.5',
    'solve ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0',
    'solve ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --max-solutions 8',
    f'solve ur5e --joints {UR} --seed {UR}',
    'solve ur5e --tip wrist_3_link --xyz 0.4 0.2 0.3',
    'solve {urdf} --tip panda_link8 --xyz 0.4 0.1 0.5',
    'solve {package} --xyz 0.4 0.1 0.5',
    'solve irb120 --xyz 0.3 0.1 0.5',
    'fk panda',
    f'fk ur5e {UR}',
    f'fk ur5e --joints {UR} --json',
    'classify ur5e',
    'classify {urdf} --tip panda_link8',
    'robots',
    'robots --all',
    'solvers',
    'solvers ssik_ros/PoseIK',
    'doctor panda',
    'build ur5e --out {folder}/ur5e_ik.py --validate-poses 5',
    'view panda --snapshot {folder}/panda.png',
    'completion bash',
)
NAMED = {
    f'ik panda --pose {POSE}': 'ssik solve',
    f'slove panda --pose {POSE}': 'ssik solve',
    f'solve pandda --pose {POSE}': "Did you mean 'panda'",
    'solve panda --pose 0.4 0.1 0.5': 'x y z qx qy qz qw',
    'solve panda': '--xyz',
    'list': 'ssik robots',
}


@pytest.fixture(scope='module')
def places(tmp_path_factory):
    """Return the files that the commands name."""
    from ssik_ros import find_moveit_config

    files = find_moveit_config('panda')
    folder = tmp_path_factory.mktemp('first_day')
    return {'urdf': files.urdf_path, 'package': files.directory, 'folder': folder}


def run(words, places):
    """Return the exit code of a command; argparse exits by itself."""
    try:
        return command.main(words.format(**places).split())
    except SystemExit as error:
        return error.code


def test_there_are_thirty_four():
    assert len(WORKS) + len(NAMED) == 34


@pytest.mark.parametrize('words', WORKS)
def test_the_first_guess_works(words, places, capsys):
    assert run(words, places) == 0
    assert capsys.readouterr().out or 'snapshot' in words


@pytest.mark.parametrize('words', NAMED)
def test_the_error_names_the_right_words(words, places, capsys):
    assert run(words, places) == 2
    assert NAMED[words] in capsys.readouterr().err
