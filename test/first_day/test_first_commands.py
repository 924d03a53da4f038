"""
Thirty-four commands of a first day, written as a new user writes them after the README.

``WORKS`` holds those whose first guess works, with their exit code; ``NAMED`` those whose error names the right words.
"""

import json

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
GUESSED_LATER = (
    'help',
    'help solve',
    'version',
    'solve panda --xyz 0.4 0.1 0.5 --rpy 3.14 0 0',
    'solve panda --xyz 0.4 0.1 0.5 --quat 1 0 0 0',
    'solve panda --xyz 0.4,0.1,0.5',
    'solve panda --pose [0.4,0.1,0.5,1,0,0,0]',
    'solve ur5e --xyz-rpy 0.4 0.2 0.3 3.14 0 0 --all',
    f'fk ur5e --q {UR}',
    f'solve ur5e --q {UR}',
    'doctor --moveit-config panda',
    'path ur5e {waypoints}',
    'path {waypoints} --robot ur5e',
)
"""By other new users."""
NAMED = {
    'serve panda': 'ros2 launch ssik_ros ik_server.launch.py',
    f'slove panda --pose {POSE}': 'ssik solve',
    f'solve pandda --pose {POSE}': "Did you mean 'panda'",
    'solve panda --pose 0.4 0.1 0.5': 'x y z qx qy qz qw',
    'solve panda': '--xyz',
    'jacobian ur5e': 'arm.jacobian(q)',
}
NAMED_LATER = {
    'path {waypoints}': 'ssik path ROBOT',
    'path': 'ssik path FILE',
    f'solve panda --pose {POSE} --rpy 0 0 0': '--quat and --rpy go with --xyz',
    'solve panda --xyz 0.4 0.1 0.5 --quat 1 0 0': 'qx qy qz qw',
    'doctor panda --robot ur5e': 'Name one robot',
    'path weld.yaml --group arm': 'a YAML names its robot',
    'view panda --rpy 0 0 0': '--quat and --rpy go with --xyz',
    'self-motion panda --xyz 0.4 0.1 0.5': 'arm.self_motions(pose)',
    'convert kinematics.yaml': 'ssik recommend',
    'show panda --output panda.png': 'Did you mean --snapshot?',
    'export ur5e --lang c': 'Did you mean --target?',
    'export ur5e --output ur5e_ik.c': 'add --target c',
    'benchmark panda --solvers pose_ik': 'Did you mean --solver?',
    'place panda --poses poses.csv': 'ssik place [-h] [--json] FILE',
    'call compute_ik --group panda_arm --xyz 0.4 0.1 0.5': 'add --quat or --rpy',
    'reach panda --resolution 0.2 --output reach.csv': 'Did you mean --grid?',
    'solvers newton': "Did you mean 'ssik_ros/NewtonRaphson'",
    'solvers pose_ik': "Did you mean 'ssik_ros/PoseIK'",
}


@pytest.fixture(scope='module')
def places(tmp_path_factory):
    """Return the files that the commands name."""
    from ssik_ros import find_moveit_config

    files = find_moveit_config('panda')
    folder = tmp_path_factory.mktemp('first_day')
    waypoints = folder / 'waypoints.csv'
    rows = [f'0.4,0.2,{0.3 + 0.01 * row},0,1,0,0' for row in range(5)]
    waypoints.write_text('\n'.join(['x,y,z,qw,qx,qy,qz', *rows]))
    return {
        'urdf': files.urdf_path,
        'package': files.directory,
        'folder': folder,
        'waypoints': waypoints,
    }


def run(words, places):
    """Return the exit code of a command; argparse exits by itself."""
    try:
        return command.main(words.format(**places).split())
    except SystemExit as error:
        return error.code


def test_there_are_thirty_four():
    assert len(WORKS) + len(NAMED) == 34


@pytest.mark.parametrize('words', WORKS + GUESSED_LATER)
def test_the_first_guess_works(words, places, capsys):
    assert run(words, places) == 0
    assert capsys.readouterr().out or 'snapshot' in words


@pytest.mark.parametrize(
    ('word', 'verb'), [('list', 'robots'), ('ik', 'solve'), ('info', 'classify')]
)
def test_a_verb_of_another_program_runs_with_a_note(word, verb, places, capsys):
    rest = {'robots': '', 'solve': ' panda --xyz 0.4 0.1 0.5', 'classify': ' ur5e'}[verb]
    assert run(f'{word}{rest}', places) == 0
    printed = capsys.readouterr()
    assert printed.err == f"ssik: '{word}' is called '{verb}' here.\n"
    assert printed.out


def test_every_other_name_of_a_verb_is_of_a_verb_and_of_no_other():
    verbs = {verb.name for verb in command.VERBS}
    assert set(command.OTHER_NAMES.values()) <= verbs
    assert not verbs & (command.OTHER_NAMES.keys() | command.ELSEWHERE.keys())
    assert not command.OTHER_NAMES.keys() & command.ELSEWHERE.keys()


@pytest.mark.parametrize(('words', 'wanted'), [*NAMED.items(), *NAMED_LATER.items()])
def test_the_error_names_the_right_words(words, wanted, places, capsys):
    assert run(words, places) == 2
    assert wanted in capsys.readouterr().err


def test_a_position_with_angles_or_a_quaternion_is_the_pose(places, capsys):
    outputs = []
    for target in ('--pose 0.4 0.2 0.3 1 0 0 0', '--xyz 0.4 0.2 0.3 --quat 1 0 0 0'):
        assert run(f'solve ur5e {target} --all --json', places) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]['solutions'] == outputs[1]['solutions']
    assert len(outputs[0]['solutions']) == 8
