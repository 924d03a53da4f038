"""
Every block of code of the pages is run or read, or a list here gives the reason why it cannot be.

``test/test_guides.py`` runs the Python and console blocks of all pages and reads their ``ros2`` lines. Here the
``ssik`` lines of shell blocks run, one page after the other, in a folder with the files that they name. YAML files are
read by their own readers.
"""

import codeop
import contextlib
import io
from itertools import groupby
from pathlib import Path
import re
import shlex
import shutil
import sys

import pytest

from ssik_ros.cli.command import main
from ssik_ros.mechanisms.loop_closures import parse_loop_closures
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.solvers.kinematics_yaml import parse_kinematics
from ssik_ros.solvers.registry import is_known
from ssik_ros.strict_yaml import parse_yaml
from ssik_ros.tasks.files.task_set_file import parse_task_set_file
from ssik_ros.view.obstacles import parse_obstacles

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
import run_pages  # noqa: E402

PAGES = [*sorted(ROOT.glob('*.md')), *sorted((ROOT / 'docs').rglob('*.md'))]
NAMES = {page: str(page.relative_to(ROOT)) for page in PAGES}
OF_THE_SHELL = {
    '.': 'sets up a shell',
    'cd': 'sets up a shell',
    'colcon': 'builds for minutes: CI builds the package this way',
    'docker': 'is a program of other machines: test/test_project_files.py reads the recipe',
    'export': 'sets up a shell',
    'git': 'copies this repository',
    'ik_server': 'runs until it is stopped: test/ros starts it',
    'make': 'builds for minutes: test/test_docs.py compares the targets with the Makefile',
    'mkdir': 'sets up a folder',
    'pip': 'installs: CI and "make wheels" do',
    'python3': 'makes a virtual environment',
    'ros2': 'is no package of PyPI: test/test_guides.py reads the line',
    'rqt': 'is no package of PyPI: test/ros opens its panel where it is installed',
    'rviz2': 'is no package of PyPI: test/ros reads its configuration',
    'rosdep': 'is a program of ROS machines: test/test_ros_machine.py compares the keys',
    'sudo': 'installs packages of the system',
    'tar': 'unpacks a distribution',
    'taskset': 'measures for minutes',
}
"""Programs of shell blocks that do not run, with the reason."""
OF_SSIK = {
    'ssik call': 'needs a running node: test/ros calls its services',
    'ssik completion': 'writes into files of the shell: test/cli prints them',
    'ssik place': 'solves thousands of poses: test/reach places an arm',
    'ssik dataset': 'solves many poses: test/reach makes small data sets',
    'ssik reach': 'solves millions of poses: test/reach makes small maps',
    'view': 'serves until it is stopped, or films for a minute: test/view does both',
    '--arch': 'needs a compiler for another processor: test/c_library runs it where there is one',
    'panda.urdf': 'a file of the reader: test/control_plugin writes blocks of one',
    '.xacro': 'needs the package xacro of ROS: test/launch compares the arguments',
    '--xacro-arg': 'names a package of the reader: test/model and test/cli give arguments',
}
"""Words of ``ssik`` lines that do not run, with the reason."""
OUTPUTS = {
    'docs/explanation/cite.md': 'an entry for a list of references',
    'docs/start/command_line.md': 'the last lines of ten seconds of measuring',
    'docs/how_to/write_a_solver.md': 'a line for the setup.py of another package',
}
"""Pages with a text block that no Python block before it prints, with the reason."""
FILES = {
    'docs/how_to/link_a_c_library.md': 'part of the program that test/c_library compiles as a whole',
    'docs/how_to/control_with_ros2_control.md': 'files of ros2_control, which test/control_plugin starts',
    'docs/how_to/run_servo_without_halts.md': 'parameters of MoveIt Servo',
    'docs/reference/placement.md': 'cell.yaml, which the lines of "ssik place" read',
    'docs/reference/tool_paths.md': 'weld.yaml, which the lines of "ssik path" read',
    'docs/tutorials/moveit_walkthrough.md': 'parameters of plugin_benchmark, which needs MoveIt',
}
"""Pages with a file that is not read, with the reason."""
SHORTER = {
    'bench': ['--samples', '3', '--no-plots'],
    'build': ['--validate-poses', '20'],
    'path': ['--timeout', '60'],
    'recommend': ['--samples', '5', '--seconds', '60'],
}
"""Options that make a verb quick, or give it time on a busy machine; the last one of a name counts."""


def blocks(*languages: str) -> list[tuple[Path, run_pages.Block]]:
    """Return the blocks of all pages in some languages, each with its page."""
    return [
        (page, block)
        for page in PAGES
        for block in run_pages.read_blocks(page.read_text(encoding='utf-8'))
        if block.language in languages
    ]


def commands(text: str) -> list[list[str]]:
    """Return the words of each command of a shell block."""
    parsed, line = [], ''
    for part in text.replace('\\\n', ' ').splitlines():
        line += part
        words = shlex.shlex(line, posix=True, punctuation_chars=';&')
        words.whitespace_split = True
        with contextlib.suppress(ValueError):  # A quotation goes on in the next line.
            parsed += [list(g) for end, g in groupby(words, {';', '&&'}.__contains__) if not end]
            line = ''
    assert not line, f'an open quotation: {line}'
    return parsed


def reason_not_to_run(words: list[str]) -> str | None:
    """Return why a command is not run; None means that it is."""
    if words[0] == 'ssik':
        text = ' '.join(words)
        return next((reason for word, reason in OF_SSIK.items() if word in text), None)
    return OF_THE_SHELL.get(words[0])


def test_each_language_has_its_rule():
    languages = {'python', 'text', 'console', 'bash', 'yaml', 'xml', 'c', 'cpp', ''}
    assert {
        b.language for page in PAGES for b in run_pages.read_blocks(page.read_text())
    } <= languages


def refused_when_pasted(code):
    """
    Return the first line that the prompt of Python 3.12 and older refuses, None if it takes all.

    Such a prompt reads line by line: an empty line ends a compound statement, and nothing else does.
    """
    compiled, pending = codeop.CommandCompiler(), []
    for line in code.splitlines():
        pending.append(line)
        try:
            statement = compiled('\n'.join(pending), symbol='single')
        except SyntaxError:
            return line
        if statement is not None:
            pending = []
    return None


@pytest.mark.parametrize(
    ('code', 'refused'),
    [
        ('for i in (1, 2):\n    j = i\nprint(j)\n', 'print(j)'),
        ('for i in (1, 2):\n    j = i\n\nprint(j)\n', None),
        ('class A:\n    a = 1\n\n    b = 2\n', '    b = 2'),
        ('x = (\n    1,\n\n    2,\n)\nprint(x)\n', None),
        ('with open("f") as file:\n    file.read()\n', None),
    ],
)
def test_a_prompt_that_reads_lines_needs_an_empty_line_after_a_loop(code, refused):
    assert refused_when_pasted(code) == refused


@pytest.mark.parametrize('page', PAGES, ids=NAMES.get)
def test_python_blocks_can_be_pasted_into_every_prompt(page):
    refused = {
        refused_when_pasted(block.text)
        for block in run_pages.read_blocks(page.read_text(encoding='utf-8'))
        if block.language == 'python' and not run_pages.FILE.search(block.before)
    }
    assert refused <= {None}, 'an empty line is missing before, or is too many inside'


def test_each_text_block_is_printed_by_the_block_before_or_has_a_reason():
    alone = set()
    for page in PAGES:
        page_blocks = run_pages.read_blocks(page.read_text(encoding='utf-8'))
        for index, block in enumerate(page_blocks):
            if block.language == 'text' and not run_pages.is_output(page_blocks, index):
                alone.add(NAMES[page])
    assert alone == set(OUTPUTS)


def test_each_command_of_a_shell_block_is_run_or_has_a_reason():
    unknown = {
        words[0]
        for _, block in blocks('bash')
        for words in commands(block.text)
        if words[0] not in ('ssik', 'python') and reason_not_to_run(words) is None
    }
    assert not unknown
    used = {words[0] for _, block in blocks('bash') for words in commands(block.text)}
    assert set(OF_THE_SHELL) <= used, 'reasons that nothing needs'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder with the files that commands name, and where the package of MoveIt lies."""
    path = tmp_path_factory.mktemp('reader')
    shutil.copy(find_moveit_config('ur5e').urdf_path, path / 'arm.urdf')
    for name in ('ik_benchmarking.yaml', 'path/to/ik_benchmarking.yaml'):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / 'config/benchmark/panda.yaml', path / name)
    package = 'my_robot_moveit_config'
    config = path / 'prefix/share' / package / 'config'
    shutil.copytree(find_moveit_config('ur5e').urdf_path.parent, config)
    for file in list(config.glob('ur5e.*')):
        file.rename(file.with_stem('my_robot'))
    index = path / 'prefix/share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / package).write_text('')
    seam = [f'{0.001 * index},0,0,1,0,0,0' for index in range(90)]
    (path / 'weld.csv').write_text('\n'.join(['x,y,z,qw,qx,qy,qz', *seam]))
    line = [f'{0.4 + 0.005 * index},0.2,0.3,0,1,0,0' for index in range(20)]
    (path / 'waypoints.csv').write_text('\n'.join(['x,y,z,qw,qx,qy,qz', *line]))
    (path / 'tasks.csv').write_text('x,y,z,qw,qx,qy,qz\n0.3,0.2,0.3,0,1,0,0\n')
    write_file_of_page(path / 'weld.yaml', 'tool_paths.md', 'name: weld')
    write_file_of_page(path / 'cell.yaml', 'placement.md', 'name: press')
    (path / 'kinematics.yaml').write_text('panda_arm:\n  kinematics_solver: ssik_ros/Auto\n')
    return path


def write_file_of_page(path, page_name, first_line):
    """Write the block of a page that begins with a line."""
    (page,) = (page for page in PAGES if page.name == page_name)
    text = page.read_text(encoding='utf-8')
    (block,) = (b.text for b in run_pages.read_blocks(text) if b.text.startswith(first_line))
    path.write_text(block)


def pages_of_commands():
    """Return the pages with lines to run; those that compile C are slow."""
    lines = [(page, words) for page, block in blocks('bash') for words in commands(block.text)]
    chosen = sorted({page for page, words in lines if words[0] in ('ssik', 'python')})
    slow = {page for page, words in lines if '-o' in words and '--target' in words}
    marks = {page: (pytest.mark.slow,) if page in slow else () for page in chosen}
    return [pytest.param(page, id=NAMES[page], marks=marks[page]) for page in chosen]


@pytest.mark.sampled
@pytest.mark.parametrize('page', pages_of_commands())
def test_commands_of_shell_blocks_run_in_order(page, folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'))
    lines = [w for p, b in blocks('bash') if p == page for w in commands(b.text)]
    for words in lines:
        if words[0] == 'python' and words[1] == '-c':
            assert 'Error' not in run_pages.run_command(words)
        elif words[0] == 'ssik' and reason_not_to_run(words) is None:
            with contextlib.redirect_stdout(io.StringIO()):
                code = main([*words[1:], *SHORTER.get(words[1], ())])
            assert code == 0, words


READERS = {
    'kinematics_solver': parse_kinematics,
    'loops': parse_loop_closures,
    'obstacles': parse_obstacles,
    'task_sets': parse_task_set_file,
}


@pytest.mark.parametrize(
    ('page', 'block'),
    [
        pytest.param(page, block, id=f'{NAMES[page]}-{block.start}')
        for page, block in blocks('yaml', 'xml', 'c')
        if not run_pages.FILE.search(block.before)
    ],
)
def test_files_of_the_pages_are_read(page, block, caplog):
    if NAMES[page] in FILES:
        pytest.skip(FILES[NAMES[page]])
    content = parse_yaml(block.text)
    (reader,) = (reader for key, reader in READERS.items() if re.search(rf'\b{key}:', block.text))
    read = reader(content)
    # The plugin of MoveIt uses these keys; the node names them as unused.
    keys = 'kinematics_solver_transport', 'kinematics_solver_blocks'
    texts = [record.getMessage() for record in caplog.records]
    assert all(any(key in text for key in keys) for text in texts)
    if reader is parse_kinematics:
        assert all(is_known(group.solver) for group in read.values())
