"""
``ssik build``: write the solver of an arm as a Python module or C library, or the parts of the generic C library.

These parts are ``libssik``, which serves any arm, and the blocks, which are the data of one arm that it reads.
"""

import argparse
from pathlib import Path
import re
import sys

from ssik_ros.artifact.c.blocks import SAMPLES
from ssik_ros.artifact.c.library import write_file
from ssik_ros.artifact.c.toolchain import ARCHITECTURES
from ssik_ros.artifact.module_text import ArtifactSubject, write_module
from ssik_ros.artifact.sources import SourceNotPortable
from ssik_ros.artifact.trial import load_module, make_judge, TRIAL_ERROR, TrialReport, try_module
from ssik_ros.cli.c_build import write_blocks, write_generic_library, write_library
from ssik_ros.cli.closed_form import describe_tier, find_closed_form
from ssik_ros.cli.command import NO
from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm
from ssik_ros.errors import describe_choices, InvalidOption, quote
from ssik_ros.manipulator.closed_form_solve import describe_plan

EXAMPLES = (
    'ssik build arm.urdf --base base_link --ee tool0',
    'ssik build arm.urdf --ee tool0 --out my_arm_ik.py --validate-poses 1000',
    'ssik build --robot ur5e --out ur5e_ik.py --force',
    'ssik build arm.urdf --target c --arch aarch64 -o arm_c',
    'ssik build --robot ur5e --blocks -o ur5e.blocks; ssik build --target libssik -o libssik',
    'ssik build --moveit-config panda --group panda_arm --kinematics kinematics.yaml --blocks',
    'python -c "import ur5e_ik; print(ur5e_ik.solve(ur5e_ik.fk([0.1] * 6)))"',
)
C_SUFFIXES = ('.a', '.c', '.cc', '.cpp', '.h', '.hpp', '.so')
"""Ends of the names of files that no Python module has, and a C library may have."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    group = parser.add_argument_group('result')
    text = 'python: a module that needs numpy only; c: a library for one arm; libssik: the C library that reads blocks'
    add_option(group, '--target NAME', f'{text} (default: python)', default='python')
    add_option(group, '--blocks', 'write the blocks of the arm or group, which libssik reads')
    text = 'with --blocks: a kinematics.yaml with solver and parameters of the group'
    add_option(group, '--kinematics PATH', text, type=Path)
    text = 'with --blocks: links that poses are for, with commas (default: the tips of the group)'
    add_option(group, '--tips LINKS', text)
    text = 'file or folder to write (default: named after the robot)'
    add_option(group, '-o --out --output PATH', text, type=Path, dest='out')
    text = f'of the C library: {", ".join(ARCHITECTURES)} (default: this machine)'
    add_option(group, '--arch NAME', text)
    add_option(group, '--shared-kernels', 'leave the constants of the arm out of the machine code')
    text = f'values of the redundant joint of seven that all branches are computed for, in C (default: {SAMPLES})'
    add_option(group, '--redundancy-samples N', text, type=int, default=SAMPLES)
    add_option(group, '--name NAME', 'prefix of the C functions (default: the robot)')
    text = (
        'random poses for the trial: N within the limits, N over full revolutions (default: 100)'
    )
    add_option(group, '--validate-poses N', text, type=int, default=100)
    add_option(group, '--force', 'overwrite what is there')


def run(arguments: argparse.Namespace) -> int:
    """
    Write the module, library or blocks that the options name; return 0.

    Print the reason and return 1 if the arm has no solver that can be written, or if a module fails its test poses.

    :param arguments: the parsed arguments.
    :raises SsikError: when the arm cannot be loaded, an option is wrong, a program fails, or the result cannot be
        written.
    """
    target = arguments.target
    if target not in TARGETS:
        raise InvalidOption(f"--target is '{target}'. {describe_choices(target, TARGETS)}")
    if target == 'python' and not arguments.blocks:
        if arguments.arch or arguments.name:
            raise InvalidOption('--arch and --name are for C libraries; add --target c.')
        if arguments.out is not None and arguments.out.suffix in C_SUFFIXES:
            raise InvalidOption(
                f'{quote(arguments.out)} is no name of a Python module; add --target c for a C library.'
            )
    if not arguments.blocks and (arguments.kinematics or arguments.tips):
        raise InvalidOption('--kinematics and --tips are for blocks; add --blocks.')
    return write_blocks(arguments) if arguments.blocks else TARGETS[target](arguments)


def write_python(arguments: argparse.Namespace) -> int:
    """
    Write a Python module that solves one arm, after it has solved a number of test poses; return 0.

    Write nothing and return 1 if the arm has no closed form, or if a test pose fails. The same holds for a class of
    arms that cannot be written as a module.

    :param arguments: the parsed arguments.
    :raises SsikError: when the arm cannot be loaded, ``--validate-poses`` is below 1, the file cannot be written, or it
        exists and ``--force`` is not given.
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
    with waiting(f'Solving {arguments.validate_poses} poses'):
        report = try_module(module, subject, judge, arguments.validate_poses)
    if not report.passed:
        print(f'ssik build: FAILED, nothing is written: {report.faults}.', file=sys.stderr)
        return NO
    write_file(path, write_module(subject, _validation(report)).encode())
    _print_result(path, report)
    return 0


def _validation(report: TrialReport) -> str:
    """
    Return sentences for the header of a written module: how many poses its trial solved, and with which errors.

    The text is the same for the same arm, version and number of poses.
    """
    half = report.poses // 2
    with_seed = ''
    if report.only_with_seed:
        with_seed = f' {report.only_with_seed} of them needed a seed that offers the value of the held joint.'
    return (
        f'{report.poses} poses were solved, {half} from random joints within the limits and {half} '
        f'over 2 pi; every solution reaches its pose on the loaded chain within {TRIAL_ERROR:g}, '
        f'and the sets are those of the library.{with_seed}'
    )


def _print_result(path: Path, report: TrialReport) -> None:
    """Print the name of the written file, and how the module solved its test poses."""
    print(f'validation: {_validation(report)}')
    print(f'worst residual {report.worst:.2g}; {report.median_ms:.3g} ms a solve, median, here')
    print(f'wrote {path} ({path.stat().st_size / 1024:.0f} KiB); it needs numpy only')


TARGETS = {'python': write_python, 'c': write_library, 'libssik': write_generic_library}
