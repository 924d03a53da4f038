"""``ssik build``: one Python module that solves one arm and needs numpy only."""

import argparse
import os
from pathlib import Path
import re
import sys
import tempfile

from ssik_ros.artifact.module_text import ArtifactSubject, write_module
from ssik_ros.artifact.sources import SourceNotPortable
from ssik_ros.artifact.trial import EXACT, load_module, make_judge, TrialReport, try_module
from ssik_ros.cli.closed_form import describe_tier, find_closed_form
from ssik_ros.cli.command import NO
from ssik_ros.cli.options import add_option
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.closed_form_solve import describe_plan

EXAMPLES = (
    'ssik build arm.urdf --base base_link --ee tool0',
    'ssik build arm.urdf --ee tool0 --out my_arm_ik.py --validate-poses 1000',
    'ssik build --robot ur5e --out ur5e_ik.py --force',
    'python -c "import ur5e_ik; print(ur5e_ik.solve(ur5e_ik.fk([0.1] * 6)))"',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    group = parser.add_argument_group('module')
    add_option(group, '--out FILE', 'file to write (default: ROBOT_ik.py here)', type=Path)
    text = (
        'random poses for the trial: N within the limits, N over full revolutions (default: 100)'
    )
    add_option(group, '--validate-poses N', text, type=int, default=100)
    add_option(group, '--force', 'overwrite the file')


def run(arguments: argparse.Namespace) -> int:
    """
    Write the module; 1 when the arm has no closed form or the module fails its trial, and nothing is written then.

    :param arguments: the parsed arguments.
    :raises SsikError: when the arm cannot be loaded or the file not be written.
    """
    if arguments.validate_poses < 1:
        raise InvalidOption(
            f'--validate-poses is {arguments.validate_poses}; a module without a trial is not written.'
        )
    chosen = choose_arm(arguments)
    path = arguments.out or Path(f'{re.sub(r"[^0-9A-Za-z]+", "_", chosen.robot.name)}_ik.py')
    if path.exists() and not arguments.force:
        raise InvalidOption(f"'{path}' exists already; --force overwrites it.")
    arm = find_closed_form('build', chosen)
    if arm is None:
        return NO
    subject = ArtifactSubject(chosen.robot.name, arm)
    print(f'{subject.robot}: {arm.chain.base_link} -> {arm.chain.tip_link}')
    facts = describe_plan(arm.plan)
    print(f'{facts.solver_name}, tier {describe_tier(facts)}: {facts.reason}')
    try:
        module = load_module(write_module(subject, 'not yet'))
    except SourceNotPortable as error:
        print(f'ssik build: this class of arms cannot be built: {error}', file=sys.stderr)
        return NO
    judge = make_judge(chosen.robot, arm.chain)
    report = try_module(module, subject, judge, arguments.validate_poses)
    if not report.passed:
        print(f'ssik build: FAILED, nothing is written: {report.faults}.', file=sys.stderr)
        return NO
    _write(path, write_module(subject, _validation(report)))
    _print_result(path, report)
    return 0


def _validation(report: TrialReport) -> str:
    """Return how a module was validated; the same words for the same arm and version."""
    half = report.poses // 2
    with_seed = ''
    if report.only_with_seed:
        with_seed = f' {report.only_with_seed} of them needed a seed that offers the value of the held joint.'
    return (
        f'{report.poses} poses were solved, {half} from random joints within the limits and {half} '
        f'over full turns; every solution reaches its pose on the loaded chain within {EXACT:g}, '
        f'and the sets are those of the library.{with_seed}'
    )


def _write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
        try:
            with os.fdopen(handle, 'w', encoding='utf-8', newline='\n') as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidOption(f"'{path}' cannot be written: {error.strerror}.") from error


def _print_result(path: Path, report: TrialReport) -> None:
    """Print what was written and how it did."""
    print(f'validation: {_validation(report)}')
    print(f'worst residual {report.worst:.2g}; {report.median_ms:.3g} ms a solve, median, here')
    print(f'wrote {path} ({path.stat().st_size / 1024:.0f} KiB); it needs numpy only')
