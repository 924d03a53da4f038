"""
``ssik build`` for C: a library for one arm, a file with the data of one arm, and a library that reads such files.

A file with the data of one arm has the ending ``.blocks``. It has the numbers that the solver of this arm needs, the
*image* of the arm.
"""

import argparse
from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
import sys

import numpy as np

from ssik_ros import __version__
from ssik_ros.artifact.c import blocks, library, recorded, texts, toolchain
from ssik_ros.cli.command import NO
from ssik_ros.cli.printing import waiting
from ssik_ros.cli.robot_choice import choose_arm
from ssik_ros.errors import describe_choices, InvalidLimits, InvalidOption, TopologyMismatch
from ssik_ros.kernels.native import freeze, portable
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml


def _say(text: str) -> None:
    """Print a line of progress."""
    print(f'ssik build: {text}', flush=True)


@contextlib.contextmanager
def _saying(what: str) -> Iterator[Callable[[str], None]]:
    """
    Context manager: yield a function that takes lines of progress; ``what`` is shown before the first line.

    A terminal shows the newest line with the time. All lines are printed at the end of the context.
    """
    lines: list[str] = []
    try:
        with waiting(what) as tell:

            def say(text: str) -> None:
                lines.append(text)
                tell(text)

            yield say
    finally:
        for line in lines:
            _say(line)


def _toolchain(arguments: argparse.Namespace) -> toolchain.Toolchain:
    """
    Return the compilers and tools for the architecture of ``--arch``.

    :raises InvalidOption: for an unknown architecture, and when a program is missing.
    """
    chosen = arguments.arch
    if chosen is not None and chosen not in toolchain.ARCHITECTURES:
        hint = describe_choices(chosen, toolchain.ARCHITECTURES)
        raise InvalidOption(f"--arch is '{chosen}'. {hint}")
    return toolchain.find(chosen)


def write_library(arguments: argparse.Namespace) -> int:
    """
    Write a C library for one arm and return 0; write nothing and return 1 if no solver fits the chain or its limits.

    :param arguments: the parsed arguments of ``ssik build --target c``.
    :raises SsikError: when the arm cannot be loaded, a program or its self-test fails, or the folder cannot be written.
    """
    tools = _toolchain(arguments)
    chosen = choose_arm(arguments)
    name = texts.identifier(arguments.name or chosen.robot.name)
    try:
        arm = blocks.find_arm(chosen.robot, chosen.group, arguments.redundancy_samples)
        _say(f'{name}: {chosen.group.base_link} to {chosen.group.tip}; {arm.reason}')
        with waiting('Solving poses for the self-test'):
            poses = recorded.record(arm)
    except (TopologyMismatch, InvalidLimits) as error:
        print(f'ssik build: {error}', file=sys.stderr)
        return NO
    image = blocks.pack(arm, portable.digest())
    made = library.arm_library(name, __version__, arm, image, poses)
    return _write(made, tools, _kernels(tools, arm, arguments.shared_kernels), arguments)


def _kernels(tools: toolchain.Toolchain, arm: blocks.Arm, are_shared: bool) -> toolchain.Kernels:
    """
    Return a function that makes the object file of the kernels for the C library of an arm.

    The file is compiled with the constants of the arm, which makes it smaller and faster. With ``are_shared``, or if
    llvmlite is missing or too old, it is the shipped file that serves all arms.
    """
    if are_shared:
        return toolchain.kernels_of_all_arms(tools)
    if freeze.is_possible():
        return toolchain.kernels_of_one_arm(tools, blocks.constants(arm), _say)
    _say(
        f'llvmlite is missing or too old: pip install "{freeze.EXTRA}" makes the library smaller and faster'
    )
    return toolchain.kernels_of_all_arms(tools)


def write_generic_library(arguments: argparse.Namespace) -> int:
    """
    Write the C library for all arms, which reads the data of an arm from a file of :func:`write_blocks`; return 0.

    :param arguments: the parsed arguments of ``ssik build --target libssik``.
    :raises SsikError: when a program is missing or fails, or the folder cannot be written.
    """
    tools = _toolchain(arguments)
    made = library.generic_library(__version__)
    return _write(made, tools, toolchain.kernels_of_all_arms(tools), arguments)


def _write(
    made: library.Library,
    tools: toolchain.Toolchain,
    kernels: toolchain.Kernels,
    arguments: argparse.Namespace,
) -> int:
    """
    Compile a library, write its folder, run the self-test of a library for one arm, and return 0.

    :param made: contents of the library.
    :param kernels: function that makes the object file of the kernels.
    :raises InvalidOption: if a program or the self-test fails, or the folder cannot be written. Also if it exists and
        ``--force`` is not given.
    """
    path = arguments.out or Path(made.name)
    with library.new_folder(path, arguments.force) as folder:
        with _saying('Compiling the library') as say:
            library.build(made, tools, kernels, say, folder)
        if made.has_self_test:
            with waiting('Running the self-test'):
                said = library.self_test(tools, folder, made.name)
            _say(
                f'self-test: {said or f"not run, this machine does not run {tools.architecture}"}'
            )
        size = (folder / 'lib' / f'lib{made.name}.so.1').stat().st_size
    _say(f'wrote {path} (shared library of {size / 1024:.0f} KiB)')
    return 0


def _read_kinematics(arguments: argparse.Namespace, group: JointGroup) -> GroupKinematics | None:
    """Return the solver and parameters of a group in the file of ``--kinematics``; None without file or entry."""
    if arguments.kinematics is None:
        return None
    return read_kinematics_yaml(arguments.kinematics).get(group.name)


def write_blocks(arguments: argparse.Namespace) -> int:
    """
    Write the data file of an arm or a group for the generic C library, and return 0.

    Print the reason and return 1 if no solver fits the arm, or if the C library cannot run or hold it.

    :param arguments: the parsed arguments of ``ssik build --blocks``.
    :raises SsikError: when the arm cannot be loaded, a parameter is wrong, or the file cannot be written. Also when the
        file exists and ``--force`` is not given.
    """
    chosen = choose_arm(arguments)
    tips = arguments.tips.split(',') if arguments.tips else ()
    group = blocks.place_tips(chosen.robot, chosen.group, tips)
    path = arguments.out or Path(f'{texts.identifier(chosen.robot.name)}.blocks')
    if path.exists() and not arguments.force:
        raise InvalidOption(f"'{path}' exists already; --force overwrites it.")
    try:
        arm = blocks.find_arm(
            chosen.robot, group, arguments.redundancy_samples, _read_kinematics(arguments, group)
        )
        image = blocks.pack(arm, portable.digest())
    except TopologyMismatch as error:
        print(f'ssik build: {error}', file=sys.stderr)
        return NO
    data = np.ascontiguousarray(image, dtype='<i8').tobytes()
    library.write_file(path, data)
    _say(f'wrote {path} ({len(data)} bytes)')
    return 0
