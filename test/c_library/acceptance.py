"""
Tests that every C library must pass: compilers, both architectures, the package's bytes.

``python -m test.c_library.acceptance [ARM ...] [--poses N]`` checks arms of all kinds and prints a table in Markdown.
"""

import argparse
from pathlib import Path
import resource
import shutil
import subprocess
import sys
import tempfile

from test.c_library.c_arm import CArm, compare, MADE, made_arm, package_arm

from ssik_ros.artifact.c.toolchain import of_this_machine
from ssik_ros.cli.command import main as ssik

ARMS = (
    *('ur5e', 'irb6700', 'panda', 'iiwa14', 'gen3', 'xarm6'),
    *('crx10ia', 'hsr065', 'gantry', 'general'),
)
"""Six and seven joints of each class; hsr065 is a SCARA."""
MADE_HERE = (*MADE, 'general')
WARNINGS = '-Wall', '-Wextra', '-Wpedantic', '-Werror'
LINUX = '/usr/aarch64-linux-gnu'
COMPILERS = {
    of_this_machine(): (('gcc', 'g++'), ('clang', 'clang++')),
    'aarch64': (
        ('aarch64-linux-gnu-gcc', 'aarch64-linux-gnu-g++'),
        ('clang --target=aarch64-linux-gnu', 'clang++ --target=aarch64-linux-gnu'),
    ),
}
TITLES = (
    *('arm', 'architecture', 'build [s]', 'code [KiB]', 'stack [B]', 'memory [B]'),
    *('compilers', 'self-test', 'requests with the bytes of the package'),
)


def describe(robot, folder):
    """Return the option that chooses an arm; the URDF of one that is not in the catalogue is written first."""
    if robot not in MADE_HERE:
        return robot
    path = folder / f'{robot}.urdf'
    path.write_text(made_arm(robot).to_urdf(), encoding='utf-8')
    return str(path)


def processor_time():
    """Return the time of this process and of the programs that it has run [s]."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def build(robot, described, architecture, folder):
    """Build a library with the arm's constants in the machine code, and return the processor time [s]."""
    start = processor_time()
    arm = [described] if described.endswith('.urdf') else ['--robot', described]
    options = '--target', 'c', '--arch', architecture, '--name', robot, '-o', str(folder)
    assert ssik(['build', *arm, *options]) == 0
    return processor_time() - start


def compile_and_run(robot, folder, architecture):
    """Compile header, examples and self-test with every compiler; return their number and the self-test's output."""
    emulator = [] if architecture == of_this_machine() else ['qemu-aarch64', '-L', LINUX]
    includes, count, said = f'-I{folder / "include"}', 0, ''
    share, library = folder / 'share' / robot, folder / 'lib' / f'lib{robot}.a'
    for c, plus in COMPILERS[architecture]:
        if shutil.which(c.split()[0]) is None:
            continue
        for source, command in (
            ('example.c', [*c.split(), '-std=c99']),
            ('selftest.c', [*c.split(), '-std=c99']),
            ('example.cpp', [*plus.split(), '-std=c++11']),
        ):
            program = folder.with_name(f'{folder.name}_{count}_{source.replace(".", "_")}')
            files = share / source, library, '-lm', '-o', program
            subprocess.run([*command, *WARNINGS, '-O1', includes, *files], check=True)
            words = [*emulator, program, *(['--bytes'] if 'self' in source else [])]
            output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            said = output if 'self' in source else said
        count += 1
    assert count, 'no compiler'
    return count, said


def figure(said, after, before=''):
    """Return the number after, or before, some words of the self-test."""
    return said.partition(after)[2].split()[0] if after else said.partition(before)[0].split()[-1]


def check(robot, architecture, poses, folder):
    """Check a library and return its row of the table."""
    described = describe(robot, folder)
    product = folder / f'{robot}_{architecture}'
    seconds = build(robot, described, architecture, product)
    compilers, said = compile_and_run(robot, product, architecture)
    same = '-'
    if architecture == of_this_machine():
        same = compare(package_arm(described), CArm(product, robot), poses)
    sizes = (
        float(figure(said, 'machine code: ')) / 1024,
        figure(said, 'at most '),
        figure(said, 'memory: '),
    )
    passed = f'{figure(said, "", " with the recorded")} of {figure(said, "", " poses")}'
    row = (
        robot,
        architecture,
        f'{seconds:.1f}',
        f'{sizes[0]:.0f}',
        *sizes[1:],
        compilers,
        passed,
        same,
    )
    return [str(cell) for cell in row]


def main():
    """Check the arms of the command line on both architectures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('arms', nargs='*', default=ARMS, metavar='ARM')
    parser.add_argument('--poses', type=int, default=10_000)
    arguments = parser.parse_args()
    rows = [list(TITLES), ['---'] * len(TITLES)]
    for robot in arguments.arms:
        for architecture in COMPILERS:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(check(robot, architecture, arguments.poses, Path(folder)))
            print(rows[-1], file=sys.stderr, flush=True)
    print('\n'.join(f'| {" | ".join(row)} |' for row in rows))


if __name__ == '__main__':
    main()
