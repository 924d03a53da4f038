"""
Build a harness of the C library: ``python fuzz/c/build.py OUT`` writes a program that libFuzzer or ``driver.c`` runs.

Options name the compiler, its sanitizers, and the object of the kernels. ``tools/build_native.py --checked --portable``
makes kernels that compare each index with the bounds of its array.
"""

import argparse
from pathlib import Path
import shlex
import subprocess
import tempfile

from ssik_ros.artifact.c import blocks, image, library, texts, toolchain
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm
from ssik_ros.kernels.native import portable
from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

HERE = Path(__file__).parent
ARMS = (
    *('ur5e', 'panda', 'gen3', 'xarm6', 'hsr065'),
    *('iiwa14', 'irb120', 'stanford', 'xarm5', 'sawyer'),
)
"""Each method: closed forms of each class, on arcs, by elimination, with slides, with fewer joints."""
GROUPS = {
    'nearest': GroupKinematics(
        'panda_arm', solver='ssik_ros/PoseIK', parameters={'solve_mode': 'optimize_distance'}
    ),
    'objective': GroupKinematics(
        'panda_arm', solver='ssik_ros/LevenbergMarquardt', parameters={'kq': 0.1, 'km': 0.1}
    ),
    'branches': GroupKinematics('panda_arm', solver='ssik_ros/Analytic'),
    'positions': GroupKinematics('panda_arm', position_only=True),
    'two_tips': GroupKinematics('both'),
}
"""Groups of a Panda with other solvers, and a tree with two tips."""
SANITIZERS = 'address,undefined'


def two_arms() -> RobotModel:
    """Return a robot with two arms of three joints."""
    parts, joints = [], []
    for side in 'ab':
        above = 'base'
        for number, axis in enumerate(('0 0 1', '0 1 0', '1 0 0')):
            name = f'{side}{number}'
            parts.append(
                f'<link name="{name}"/><joint name="j{name}" type="revolute"><parent link="{above}"/>'
                f'<child link="{name}"/><origin xyz="0.1 0.2 0.3"/><axis xyz="{axis}"/>'
                '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
            )
            joints.append(f'<joint name="j{name}"/>')
            above = name
    head = '<robot name="tree">'
    urdf = f'{head}<link name="base"/>{"".join(parts)}</robot>'
    return load_robot(urdf, f'{head}<group name="both">{"".join(joints)}</group></robot>')


def pack(name: str) -> image.IntArray:
    """Return the blocks of an arm of the catalogue, or of a group."""
    if name in GROUPS:
        kinematics = GROUPS[name]
        robot = two_arms() if kinematics.group == 'both' else load_named('panda').robot
        arm = blocks.find_arm(robot, robot.group(kinematics.group), kinematics=kinematics)
        return blocks.pack(arm, portable.digest())
    parser = argparse.ArgumentParser()
    add_robot_options(parser)
    chosen = choose_arm(parser.parse_args(['--robot', name]))
    return blocks.pack(blocks.find_arm(chosen.robot, chosen.group), portable.digest())


def seeds_header(arms: list[str]) -> str:
    """Return ``seeds.h``: the blocks of some arms."""
    lines, images = [], [pack(name) for name in arms]
    for number, words in enumerate(images):
        lines.append(texts.image_header(words).replace('IMAGE', f'SEED_{number}'))
    names = ', '.join(f'SEED_{number}' for number in range(len(images)))
    lines.append(f'static const int64_t *const SEEDS[] = {{{names}}};')
    sizes = ', '.join(str(len(words)) for words in images)
    lines.append(f'enum {{ SEED_COUNT = {len(images)} }};')
    lines.append(f'static const int64_t SEED_WORDS[] = {{{sizes}}};')
    return '\n'.join([*lines, ''])


def build(arguments: argparse.Namespace) -> None:
    """Write the program."""
    tools = toolchain.find(None)
    made = library.generic_library('fuzz')
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        library.write_sources(made, folder)
        source = folder / f'{made.name}.c'
        if arguments.trust_digest:
            text = source.read_text(encoding='utf-8')
            source.write_text(text.replace('!has_digest(image)', '0'), encoding='utf-8')
        if arguments.without_rules:
            text = source.read_text(encoding='utf-8')
            source.write_text(
                text.replace('return are_words_sound(', 'return 1 || are_words_sound('),
                encoding='utf-8',
            )
        (folder / 'seeds.h').write_text(seeds_header(arguments.arms), encoding='utf-8')
        kernels = folder / 'kernels.o'
        if arguments.kernels:
            kernels = arguments.kernels
        else:
            kernels.write_bytes(portable.read(portable.object_name(tools.target)))
        flags = [
            '-std=gnu99',
            '-g',
            '-O1',
            f'-I{folder}',
            '-Wall',
            '-Wextra',
            '-Wno-unused-function',
        ]
        flags += ['-DTRUST_DIGEST'] if arguments.trust_digest else []
        sanitizers = []
        if arguments.sanitize:
            sanitizers = [f'-fsanitize={arguments.sanitize}', '-fno-sanitize-recover=all']
        compiler, objects = shlex.split(arguments.cc), [str(kernels)]
        needs_driver = arguments.harness == 'blocks' and not arguments.engine
        for name in (arguments.harness, *(('driver',) if needs_driver else ())):
            objects.append(str(folder / f'{name}.o'))
            command = [*compiler, *flags, *sanitizers, '-c', str(HERE / f'{name}.c')]
            subprocess.run([*command, '-o', objects[-1]], check=True)
        linker = shlex.split(arguments.linker or arguments.cc)
        command = [
            *linker,
            *sanitizers,
            *objects,
            *shlex.split(arguments.engine),
            '-lm',
            '-pthread',
        ]
        subprocess.run([*command, '-o', str(arguments.out)], check=True)


def main() -> None:
    """Build as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('out', type=Path)
    parser.add_argument('--harness', default='blocks', choices=('blocks', 'threads'))
    parser.add_argument('--cc', default='cc', help='compiler and its flags')
    parser.add_argument('--sanitize', default=SANITIZERS, help='sanitizers; empty for none')
    parser.add_argument('--linker', help='default: the compiler')
    parser.add_argument(
        '--engine', default='', help='library or flag of a fuzzing engine; default: driver.c'
    )
    parser.add_argument(
        '--kernels', type=Path, help='object of the kernels; default: the installed one'
    )
    parser.add_argument('--arms', nargs='+', default=(*ARMS, *GROUPS), metavar='ARM')
    parser.add_argument(
        '--trust-digest',
        action='store_true',
        help='leave out SHA-256: more blocks in the same time',
    )
    parser.add_argument(
        '--without-rules',
        action='store_true',
        help='leave out checks: shows that the harness sees faults',
    )
    build(parser.parse_args())


if __name__ == '__main__':
    main()
