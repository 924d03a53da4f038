"""Words that are no number in each option of each verb: exit code 2 and one sentence, never a traceback."""

from pathlib import Path

import pytest

from ssik_ros.cli.command import actions_of, main, VERBS

PATHS = Path(__file__).resolve().parents[1] / 'paths' / 'data'
IK = 'call compute_ik --group arm'
COMMANDS = {
    'solve': 'solve panda --xyz 0.4 0.1 0.5',
    'fk': 'fk panda',
    'path': f'path {PATHS / "line.yaml"}',
    'reach': 'reach ur5e -o map.zarr',
    'dataset': 'dataset ur5e -o data',
    'build': 'build ur5e -o ur5e_ik.py',
    'recommend': 'recommend ur5e',
    'view': 'view panda --xyz 0.4 0.1 0.5 --snapshot picture.png',
    'bench': 'bench panda -o bench',
    'call': f'{IK} --xyz 0.4 0.1 0.5',
}
"""A command of each verb with numeric options."""
TARGETS = ('pose', 'xyz_rpy', 'xyz', 'joints')
"""Options that exclude each other."""
COUNTS = {'pose': 7, 'xyz_rpy': 6, 'xyz': 3, 'quat': 4, 'rpy': 3}
"""Number of values of each option; seven joints for the others that take several."""
NO_NUMBERS = ('nan', 'inf', '-inf', 'infinity', '1e400', '', 'one')
YAML_NUMBERS = ('.nan', '.inf')
"""NaN and infinity in YAML."""
TEXTS = [
    ('reach ur5e -o map.zarr --region', 'sphere:{}'),
    ('reach ur5e -o map.zarr --region', 'box:0,0,0,1,1,{}'),
    ('dataset ur5e -o data --share', 'space={}'),
    ('solve panda --xyz 0.4 0.1 0.5 --param', 'epsilon={}'),
    ('view panda --snapshot picture.png --obstacles', '{{obstacles: {{ball: {{sphere: {}}}}}}}'),
]
"""Commands and a text with a number that follows them."""


def numeric_actions():
    """Return verb and action of each numeric argument and option of the command."""
    return [
        pytest.param(verb.name, action, id=f'{verb.name} {action.dest}')
        for verb in VERBS
        for action in actions_of(verb)
        if action.type in (int, float)
    ]


def command_of(verb, action):
    """Return the words of a command up to the values of an option."""
    command = COMMANDS[verb]
    if action.dest in TARGETS:
        command = command.replace('--xyz 0.4 0.1 0.5', '')
    return [*command.split(), *action.option_strings[:1]]


def wrong_values(action):
    """Yield lists of words that an option does not take: words that are no number, and wrong counts."""
    count = COUNTS.get(action.dest, 7) if action.nargs in ('+', '*') else 1
    for word in NO_NUMBERS if action.type is float else (*NO_NUMBERS, '1.5', '1e3'):
        yield [*['0.1'] * (count - 1), word]
    yield ['1'] * (count + 1)
    if action.nargs != '*':
        yield []
    if count > 1:
        yield ['0.1'] * (count - 1)


def sentence_of(words, capsys):
    """Return the only sentence that a wrong command prints; the usage of the verb may precede it."""
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, ''), words
    *usage, sentence = printed.err.splitlines()
    assert not usage or usage[0].startswith(f'usage: ssik {words[0]} '), words
    assert sentence.startswith(f'ssik {words[0]}: '), words
    return sentence


@pytest.mark.parametrize(('verb', 'action'), numeric_actions())
def test_an_option_refuses_words_that_are_no_numbers_and_wrong_counts(
    verb, action, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for values in wrong_values(action):
        sentence_of([*command_of(verb, action), *values], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(('command', 'text'), TEXTS)
def test_a_text_with_a_number_refuses_words_that_are_no_numbers(
    command, text, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for word in (*NO_NUMBERS, *YAML_NUMBERS):
        sentence_of([*command.split(), text.format(word)], capsys)
    assert not list(tmp_path.iterdir())


def test_the_sentence_names_the_option_and_the_word(capsys):
    sentence = sentence_of(['path', 'weld.yaml', '--timeout', 'nan'], capsys)
    assert sentence == "ssik path: error: argument --timeout: 'nan' is not a finite number"
