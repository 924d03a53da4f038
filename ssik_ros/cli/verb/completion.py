"""``ssik completion``: print the script that completes verbs, options and robots in bash, zsh or fish."""

import argparse

from ssik_ros.cli.command import actions_of, Verb, VERBS
from ssik_ros.model.catalogue import list_arms
from ssik_ros.model.description_files import list_shipped_robots

SHELLS = ('bash', 'zsh', 'fish')
EXAMPLES = (
    'ssik completion bash >> ~/.bashrc',
    "ssik completion zsh > ~/.zfunc/_ssik    # a folder of zsh's fpath",
    'ssik completion fish > ~/.config/fish/completions/ssik.fish',
)

_BASH = """_ssik() {{
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{verbs}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$2" in -*) ;; *) words="{robots}" ;; esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}}
complete -o default -F _ssik ssik
"""
_ZSH = """#compdef ssik
_ssik() {{
  local -a words_of
  if (( CURRENT == 2 )); then
    words_of=({verbs})
  else
    case "$words[2]" in
{cases}
    esac
    [[ "$PREFIX" == -* ]] || words_of=({robots})
  fi
  compadd -- $words_of
  [[ "$PREFIX" == -* ]] || (( CURRENT == 2 )) || _files
}}
if [ "$funcstack[1]" = _ssik ]; then _ssik "$@"; else compdef _ssik ssik; fi
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    parser.add_argument('shell', choices=SHELLS, help='the shell')


def run(arguments: argparse.Namespace) -> int:
    """
    Print the completion script for a shell; return 0.

    :param arguments: the parsed arguments.
    """
    options = {verb.name: _options_of(verb) for verb in VERBS}
    robots = ' '.join(dict.fromkeys([*list_shipped_robots(), *list_arms()]))
    if arguments.shell == 'fish':
        print('\n'.join(_fish(options, robots)))
        return 0
    word, form = ('words="{}"', _BASH) if arguments.shell == 'bash' else ('words_of=({})', _ZSH)
    cases = '\n'.join(
        f'      {verb}) {word.format(" ".join(names))} ;;' for verb, names in options.items()
    )
    print(form.format(verbs=' '.join(options), cases=cases, robots=robots), end='')
    return 0


def _options_of(verb: Verb) -> list[str]:
    """Return the long options of a verb, such as ``--json``."""
    names = [name for action in actions_of(verb) for name in action.option_strings]
    return [name for name in names if name.startswith('--')]


def _fish(options: dict[str, list[str]], robots: str) -> list[str]:
    """
    Return the lines of the completion script for fish.

    :param options: long options of each verb, by its name.
    :param robots: names of robots and arms, separated by spaces.
    """
    lines = [
        f'complete -c ssik -n __fish_use_subcommand -f -a {verb.name} -d "{verb.summary}"'
        for verb in VERBS
    ]
    for verb, names in options.items():
        seen = f'"__fish_seen_subcommand_from {verb}"'
        lines += [f'complete -c ssik -n {seen} -l {name.removeprefix("--")}' for name in names]
    return [*lines, f'complete -c ssik -n "not __fish_use_subcommand" -a "{robots}"']
