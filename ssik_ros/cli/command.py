"""
The command ``ssik``: finds the verb, runs it, and reports errors as one line and an exit code.

Exit codes: 0 done, 1 no result (no solution, nothing ran), 2 wrong request, 130 interrupted.
A verb is a module with ``EXAMPLES``, ``add_arguments(parser)`` and ``run(arguments) -> int``; it is imported
only when it is chosen.
"""

import argparse
from collections.abc import Sequence
import difflib
import importlib
import logging
import math
import os
import re
import sys
from typing import Any, NamedTuple

from ssik_ros.errors import SsikError

NO = 1
WRONG = 2
INTERRUPTED = 130


class Verb(NamedTuple):
    """A verb of the command: its name and a summary for the help, in one line."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """Return the full name of the module of the verb."""
        return f'ssik_ros.cli.verb.{self.name.replace("-", "_")}'


VERBS = (
    Verb('solve', 'solve for one pose and show the errors of the solution'),
    Verb('fk', 'print the pose of the tip at joint positions'),
    Verb('path', 'plan the best joint path along a tool path'),
    Verb('reach', 'map the poses that an arm reaches'),
    Verb('place', 'find where to put the base of an arm for tasks'),
    Verb('dataset', 'write poses with all postures, labels and causes'),
    Verb('classify', 'show which closed form fits an arm, and why'),
    Verb('build', 'write the solver of an arm as one module that needs numpy only'),
    Verb('add-arm', 'add an arm to a catalogue'),
    Verb('recommend', 'try all solvers on an arm and recommend one'),
    Verb('view', 'show a robot in the browser and drag its target'),
    Verb('bench', 'replay ik_benchmarking configurations, verified'),
    Verb('call', 'call a ROS 2 service, without the program ros2'),
    Verb('solvers', 'list solvers with their parameters'),
    Verb('robots', 'list the shipped robots'),
    Verb('doctor', 'check the installation, or the descriptions of a robot against each other'),
    Verb('completion', 'print what completes the command in a shell'),
)
OTHER_NAMES = {
    'benchmark': 'bench',
    'check': 'doctor',
    'codegen': 'build',
    'explain': 'solve',
    'export': 'build',
    'forward': 'fk',
    'ik': 'solve',
    'info': 'classify',
    'inverse': 'solve',
    'list': 'robots',
    'map': 'reach',
    'plan': 'path',
    'service': 'call',
    'show': 'view',
    'visualize': 'view',
    'why': 'solve',
}
"""Verbs of other programs: the verb of this command runs instead, with a note."""
_NODE = 'ros2 launch ssik_ros ik_server.launch.py moveit_config_package:=PACKAGE'
ELSEWHERE = {
    'convert': 'ssik recommend',
    'jacobian': 'arm.jacobian(q) in Python',
    'launch': _NODE,
    'manipulability': 'arm.manipulability(q) in Python',
    'migrate': 'ssik recommend',
    'node': _NODE,
    'nullspace': 'arm.self_motions(pose) in Python',
    'parameters': 'ssik solvers NAME',
    'params': 'ssik solvers NAME',
    'run': _NODE,
    'self-motion': 'arm.self_motions(pose) in Python',
    'self-motions': 'arm.self_motions(pose) in Python',
    'serve': _NODE,
    'server': _NODE,
    'track': 'arm.tracker(q).track(pose) in Python',
}
"""Verbs that this command does not have, and the calls that do their work."""
_PICTURE = ('snapshot',)
OTHER_OPTIONS = {
    'file': ('out', *_PICTURE),
    'image': _PICTURE,
    'lang': ('target',),
    'language': ('target',),
    'out': _PICTURE,
    'output': _PICTURE,
    'picture': _PICTURE,
    'png': _PICTURE,
    'resolution': ('grid',),
    'save': ('out', *_PICTURE),
    'spacing': ('grid',),
    'step': ('grid',),
    'voxel': ('grid',),
}
"""Options of other programs, and the options that do their work; the first that the verb has is meant."""
UNSIGNED = r'(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?'
"""Pattern of a number without its sign."""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command and return its exit code: 0 done, 1 no result, 2 wrong request, 130 interrupted.

    If the reader of the output is closed, as by ``head``, the code is 1. Wrong options, ``--help`` and ``--version``
    end the process by SystemExit instead.

    :param argv: arguments without the program's name; None means the arguments of the process.
    """
    if argv is None:
        # Before numpy is imported: its OpenBLAS starts a thread for each processor, which takes a third of a short
        # command's time. The package has small matrices only.
        os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    words = _split_lists(sys.argv[1:] if argv is None else list(argv))
    if words[:1] == ['help']:
        words = [*words[1:2], '--help']
    if words == ['version']:
        words = ['--version']
    chosen = _chosen_verb(words)
    if chosen in OTHER_NAMES:
        word, chosen = chosen, OTHER_NAMES[chosen]
        words[words.index(word)] = chosen
        print(f"ssik: '{word}' is called '{chosen}' here.", file=sys.stderr)
    if not words:
        make_parser().print_help()
        return 0
    if chosen and chosen not in {verb.name for verb in VERBS}:
        return _refuse_verb(chosen)
    try:
        # A verb that is imported may find that the native library does not fit.
        arguments = make_parser(chosen).parse_args(words)
        level = logging.INFO if arguments.verbose else logging.WARNING
        logging.basicConfig(level=level, format='%(levelname)s: %(message)s')
        code = int(arguments.run(arguments))
        # Empty the buffer here, where a reader that has gone is noticed.
        sys.stdout.flush()
        return code
    except SsikError as error:
        print(f'ssik {chosen}: {" ".join(str(error).split())}', file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print('ssik: interrupted', file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `ssik solvers | head`; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO


def _split_lists(words: Sequence[str]) -> list[str]:
    """Return the words; a list of numbers such as ``0.4,0.1,0.5`` or ``[0.4, 0.1]`` becomes one word per number."""
    split: list[str] = []
    for word in words:
        parts = [part for part in re.split(r'[,\s\[\]]+', word) if part]
        is_list = len(parts) > 1 and all(re.fullmatch(f'[-+]?{UNSIGNED}', part) for part in parts)
        split += parts if is_list else [word]
    return split


def _refuse_verb(word: str) -> int:
    """
    Print an error about an unknown verb, with a suggestion; return the exit code ``WRONG``.

    The suggestion is the replacement for a verb of another tool, else the most similar verb, else all verbs.
    """
    names = [verb.name for verb in VERBS]
    near = difflib.get_close_matches(word, names, n=1)
    if word in ELSEWHERE:
        hint = f'Instead: {ELSEWHERE[word]}.'
    else:
        hint = f"Did you mean 'ssik {near[0]}'?" if near else f'Verbs: {", ".join(names)}.'
    usage = 'usage: ssik [--version] [--verbose] VERB ...'
    print(f"{usage}\nssik: There is no verb '{word}'. {hint}", file=sys.stderr)
    return WRONG


def _chosen_verb(words: Sequence[str]) -> str:
    """Return the first word that does not begin with a dash; empty without such a word."""
    return next((word for word in words if not word.startswith('-')), '')


class _RoomForVerbs(argparse.HelpFormatter):
    """
    A help formatter that starts all summaries in one column, to the right of the longest verb.

    The formatter of argparse computes the column without the indentation of the verbs.
    """

    def __init__(self, prog: str) -> None:
        """Set the column of the summaries."""
        super().__init__(prog)
        self._action_max_length = 2 * self._indent_increment + max(len(v.name) for v in VERBS)


class _Parser(argparse.ArgumentParser):
    """A parser that reports an unknown option with the usage of its verb and the nearest option."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments; an unknown option prints an error and ends the process."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(arguments, 'parser_of_verb', self)
            near = [n for word in unknown if (n := _near_option(word, parser))]
            hint = f' Did you mean {near[0]}?' if near else ''
            parser.error(f'unrecognized arguments: {" ".join(unknown)}.{hint}')
        return arguments


def _near_option(word: str, parser: argparse.ArgumentParser) -> str:
    """Return the option of a parser that an unknown word probably means; empty without one."""
    name = word.lstrip('-')
    if name == word:
        return ''
    options = {option.lstrip('-'): option for option in parser._option_string_actions}
    meant = [other for other in OTHER_OPTIONS.get(name, ()) if other in options]
    near = meant or difflib.get_close_matches(name, options, n=1, cutoff=0.7)
    return options[near[0]] if near else ''


def make_parser(chosen: str = '') -> argparse.ArgumentParser:
    """
    Return the parser of the command, with all verbs; only the chosen verb has its arguments.

    :param chosen: the verb's name; if it is empty, no verb has its arguments.
    """
    parser = _Parser(
        prog='ssik',
        description='Inverse kinematics for any robot that a URDF can describe.',
        epilog='`ssik VERB --help` explains a verb and shows examples.',
        formatter_class=_RoomForVerbs,
    )
    parser.add_argument('--version', action=_Version, help='show the version and exit')
    parser.add_argument('--verbose', action='store_true', help='log the decisions of the command')
    verbs = parser.add_subparsers(
        dest='verb', metavar='VERB', required=True, parser_class=argparse.ArgumentParser
    )
    for verb in VERBS:
        verb_parser = verbs.add_parser(
            verb.name,
            help=verb.summary,
            description=f'{verb.summary[0].upper()}{verb.summary[1:]}.',
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if verb.name == chosen:
            _add_verb(verb_parser, verb)
    return parser


def actions_of(verb: Verb) -> list[argparse.Action]:
    """
    Return the arguments and options of a verb, its help included; imports the verb's module.

    :param verb: the verb.
    """
    parser = argparse.ArgumentParser(prog=f'ssik {verb.name}')
    _add_verb(parser, verb)
    return list(parser._actions)


def _add_verb(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Add the arguments and examples of a verb to its parser; imports the verb's module."""
    module = importlib.import_module(verb.module)
    parser.epilog = 'examples:\n' + '\n'.join(f'  {line}' for line in module.EXAMPLES)
    # Words such as -1e-3 are numbers, not options; argparse itself knows only -1 and -0.001.
    parser._negative_number_matcher = re.compile(f'^-{UNSIGNED}$')
    # No verb has a use for NaN and infinite numbers.
    parser.register('type', float, _read_number)
    module.add_arguments(parser)
    for action in parser._actions:
        _tell_default(action)
    parser.set_defaults(run=module.run, parser_of_verb=parser)


def _read_number(word: str) -> float:
    """Return the number that a word is; raise ArgumentTypeError for NaN, infinite numbers, and other words."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"'{word}' is not a finite number")
    return number


def _tell_default(action: argparse.Action) -> None:
    """
    Add the default to the help of an option.

    The help of a positional argument stays as it is, and a help that contains the word ``default``. It also stays if
    the default is ``None``, ``False``, 0, ``''``, ``[]`` or suppressed.
    """
    text, value = action.help or '', action.default
    is_told = 'default' in text or value in (None, False, argparse.SUPPRESS, '', [])
    if action.option_strings and not is_told:
        action.help = f'{text} (default: %(default)s)'


class _Version(argparse.Action):
    """The option that prints the version; the version is looked up only here, because that takes 40 ms."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        """Declare an option without a value."""
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the installed version and end the process."""
        from importlib import metadata

        try:
            version = metadata.version('ssik_ros')
        except metadata.PackageNotFoundError:
            version = '(source tree, not installed)'
        print(f'ssik_ros {version}')
        parser.exit()


if __name__ == '__main__':
    sys.exit(main())
