"""The files around the package agree with each other and work on any machine."""

from importlib.util import find_spec
from pathlib import Path
import re
import runpy
import shutil
import subprocess
import sys
from typing import Any
import xml.etree.ElementTree as ElementTree

from test.repository import needs_git, tracked_files

import pytest
import setuptools
import yaml

import ssik_ros
from ssik_ros.cli.command import make_parser

ROOT = Path(__file__).resolve().parents[1]

MANIFESTS = sorted(
    [
        ROOT / 'package.xml',
        ROOT / 'moveit_plugin/package.xml',
        ROOT / 'control_plugin/package.xml',
        *ROOT.glob('interfaces/*/package.xml'),
    ]
)

# Assembled from pieces, for this file is tracked as well.
FOREIGN = re.compile(
    '|'.join(
        [
            '/' + r'root/',
            '/' + r'home/\w+/',
            '/' + r'work/(main|shared)\b',
            '/' + r'tmp/(w\d?/|bash_jobs)',
            'file' + r':///(?!\$)',
            '(extra-)?index' + '-url',
            r'\b(10|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}\b(?!\.)' + ':',
        ]
    )
)


@pytest.fixture
def setup_arguments(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the arguments that setup.py passes to setuptools."""
    received: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, 'setup', lambda **arguments: received.update(arguments))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / 'setup.py'))
    return received


@pytest.fixture
def manifest() -> ElementTree.Element:
    """Give the root element of package.xml."""
    return ElementTree.parse(ROOT / 'package.xml').getroot()


def installed_files(arguments: dict[str, Any]) -> set[str]:
    return {
        f'{target}/{Path(name).name}'
        for target, names in arguments['data_files']
        for name in names
    }


def test_package_setup_and_changelog_name_the_same_version(setup_arguments, manifest):
    changelog = (ROOT / 'CHANGELOG.rst').read_text()
    newest = re.search(r'^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)\n-{10,}\n\* ', changelog, re.M)
    assert newest, 'CHANGELOG.rst has no section that catkin tools can read'
    assert manifest.findtext('version') == setup_arguments['version'] == newest[1]


RELEASE = re.compile(r'^(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$', re.M)
"""The heading of a release in a changelog: version and date."""


def test_all_packages_are_released_together(setup_arguments):
    version = setup_arguments['version']
    ours = [path for path in MANIFESTS if 'ssik_' in ElementTree.parse(path).findtext('name')]
    assert len(ours) == 4
    headings = [RELEASE.search(path.with_name('CHANGELOG.rst').read_text()) for path in ours]
    assert {heading[1] for heading in headings} == {version} == {ssik_ros.__version__}
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert {heading[2] for heading in headings} == {citation['date-released']}


def test_the_notes_of_a_release_are_short_and_in_four_groups():
    sections = RELEASE.split((ROOT / 'CHANGELOG.rst').read_text())
    bodies = sections[3::3]
    assert len(bodies) >= 2
    for body in bodies:
        # The heading is another line, which the split takes away.
        assert len(body.splitlines()) <= 40
    groups = re.findall(r'^\* \*\*(\w+)\*\*$', bodies[0], re.M)
    assert groups == ['Added', 'Changed', 'Fixed', 'Faster']


def test_pages_name_the_archives_and_the_version_of_the_release(setup_arguments):
    version = setup_arguments['version']
    pages = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', ROOT / 'QUALITY_DECLARATION.md']
    text = '\n'.join(path.read_text() for path in [*pages, *(ROOT / 'docs').rglob('*.md')])
    archives = re.findall(r'ssik_ros-(\d+\.\d+\.\d+)-ros', text)
    stated = re.findall(r'(?:It is|the) version (?:is )?(\d+\.\d+\.\d+)[.;]', text)
    cited = re.findall(r'version = \{(.*)\}', text)
    assert len(archives) >= 6 and len(stated) == 2 and len(cited) == 1
    assert {*archives, *stated, *cited} == {version}


def test_package_and_setup_agree_on_name_license_and_people(setup_arguments, manifest):
    maintainer = manifest.find('maintainer')
    assert manifest.findtext('name') == setup_arguments['name']
    assert manifest.findtext('license') == setup_arguments['license']
    assert maintainer.text == setup_arguments['maintainer']
    assert maintainer.get('email') == setup_arguments['maintainer_email']


def test_every_manifest_names_the_same_publisher(setup_arguments):
    """One command changes both addresses everywhere."""
    email, url = setup_arguments['maintainer_email'], setup_arguments['url']
    manifests = [ElementTree.parse(path).getroot() for path in MANIFESTS]
    assert {m.find('maintainer').get('email') for m in manifests} == {email}
    ours = [m for m in manifests if m.findtext('name').startswith('ssik_')]
    assert len(ours) == 4
    for manifest in ours:
        urls = {element.get('type'): element.text for element in manifest.findall('url')}
        assert urls == {'repository': url, 'bugtracker': f'{url}/issues'}
    about = yaml.safe_load((ROOT / 'recipe/recipe.yaml').read_text())['about']
    assert about['repository'] == about['homepage'] == url
    assert yaml.safe_load((ROOT / 'CITATION.cff').read_text())['repository-code'] == url


def test_the_publisher_is_replaced_wherever_it_stands(tmp_path):
    tool = runpy.run_path(str(ROOT / 'tools/set_publisher.py'))
    old = tool['present']((ROOT / 'setup.py').read_text())
    new = {'maintainer_email': 'arm@lab.example', 'url': 'https://lab.example/arm'}
    for path in [ROOT / 'setup.py', *MANIFESTS]:
        text = tool['replaced'](path.read_text(), old, new)
        assert 'arm@lab.example' in text and not any(value in text for value in old.values())
    assert tool['present'](tool['replaced']((ROOT / 'setup.py').read_text(), old, new)) == new
    wrong = ['nobody', 'https://lab.example/arm'], ["o'arm@lab.example", new['url']], []
    assert [tool['main'](words) for words in wrong] == [2, 2, 2]
    longer = f'{old["url"]}-tools'
    assert tool['replaced'](longer, old, new) == longer


def test_pip_and_make_install_the_same_bounds(setup_arguments):
    lines = (ROOT / 'requirements/core.txt').read_text().splitlines()
    assert [line for line in lines if not line.startswith('#')] == (
        setup_arguments['install_requires']
    )


def test_the_conda_recipe_builds_and_runs_with_the_packages_of_pip(setup_arguments):
    recipe = yaml.safe_load((ROOT / 'recipe/recipe.yaml').read_text())
    names = {'pin': 'pinocchio', 'PyYAML': 'pyyaml', 'matplotlib': 'matplotlib-base'}
    run = {
        re.sub('^[A-Za-z]+', lambda name: names.get(name[0], name[0]), line).replace('>', ' >', 1)
        for line in setup_arguments['install_requires']
    }
    assert set(recipe['requirements']['run']) == {
        *run,
        f'python {setup_arguments["python_requires"]}',
    }
    lines = (ROOT / 'requirements/native.txt').read_text().splitlines()
    pinned = {line.replace('==', ' ==') for line in lines if not line.startswith('#')}
    assert pinned <= set(recipe['requirements']['host'])
    backend = re.search(r'"(setuptools)(>=[^"]*)"', (ROOT / 'pyproject.toml').read_text())
    assert ' '.join(backend.groups()) in recipe['requirements']['host']
    assert recipe['package']['name'] == setup_arguments['name']
    assert recipe['context']['version'] == setup_arguments['version']
    assert recipe['about']['license'] == setup_arguments['license']
    assert (ROOT / 'recipe' / recipe['source']['path'] / recipe['about']['license_file']).is_file()


def test_the_conda_recipe_names_the_c_library_that_it_builds_with():
    """rattler-build renders no recipe that calls stdlib('c') without these two variants."""
    assert "stdlib('c')" in (ROOT / 'recipe/recipe.yaml').read_text()
    variants = yaml.safe_load((ROOT / 'recipe/variants.yaml').read_text())
    assert variants == {'c_stdlib': ['sysroot'], 'c_stdlib_version': ['2.17']}
    glibc = re.search(r"^GLIBC = '(.*)'$", (ROOT / 'tools/make_wheels.py').read_text(), re.M)
    assert variants['c_stdlib_version'] == [glibc[1]]


def test_the_conda_recipe_tries_commands_that_exist():
    recipe = yaml.safe_load((ROOT / 'recipe/recipe.yaml').read_text())
    imports = [
        name for test in recipe['tests'] for name in test.get('python', {}).get('imports', ())
    ]
    for module in imports:
        assert find_spec(module), module
    commands = [line for test in recipe['tests'] for line in test.get('script', ())]
    for command in commands:
        program, *words = command.split()
        assert program == 'ssik'
        make_parser(words[0]).parse_args(words)
    assert imports and commands


def test_every_python_dependency_has_a_rosdep_key(setup_arguments, manifest):
    keys = {'pin': 'pinocchio', 'PyYAML': 'python3-yaml'}
    names = [re.split('[<>=]', line)[0] for line in setup_arguments['install_requires']]
    expected = {keys.get(name, f'python3-{name}') for name in names}
    assert {element.text for element in manifest.findall('depend')} == expected


def test_every_file_below_config_and_launch_is_installed(setup_arguments):
    sources = [
        path.relative_to(ROOT)
        for folder in ('config', 'launch')
        for path in (ROOT / folder).rglob('*')
        if path.is_file() and '__pycache__' not in path.parts
    ]
    missing = {f'share/ssik_ros/{path}' for path in sources} - installed_files(setup_arguments)
    assert not missing


def test_the_ament_index_lists_the_package(setup_arguments):
    marker = 'share/ament_index/resource_index/packages/ssik_ros'
    assert marker in installed_files(setup_arguments)
    assert 'share/ssik_ros/package.xml' in installed_files(setup_arguments)


def test_rqt_finds_an_installed_plugin_and_its_class(setup_arguments, manifest):
    export = manifest.find('export/rqt_gui').get('plugin')
    name = export.removeprefix('${prefix}/')
    assert f'share/ssik_ros/{name}' in installed_files(setup_arguments)
    (plugin,) = ElementTree.parse(ROOT / name).getroot().findall('class')
    module, _, title = plugin.get('type').rpartition('.')
    classes = re.findall(
        r'^class (\w+)\(Plugin\)', (ROOT / f'{module.replace(".", "/")}.py').read_text(), re.M
    )
    assert classes == [title] and plugin.get('base_class_type') == 'rqt_gui_py::Plugin'
    assert plugin.findtext('qtgui/label') and plugin.findtext('qtgui/statustip')


def test_every_subpackage_is_installed(setup_arguments):
    folders = {path.parent for path in (ROOT / 'ssik_ros').rglob('*.py')}
    names = {'.'.join(path.relative_to(ROOT).parts) for path in folders}
    assert names == set(setup_arguments['packages'])


@pytest.mark.parametrize(
    'command, needs',
    [
        ('ssik', 'numpy'),
        ('ik_server', 'moveit_msgs'),
        ('ik_benchmark', 'moveit_msgs'),
        ('joint_state_relay', 'sensor_msgs'),
    ],
    ids=['ssik', 'ik_server', 'ik_benchmark', 'joint_state_relay'],
)
def test_entry_point_is_callable(setup_arguments, command, needs):
    if find_spec(needs) is None:
        pytest.skip(f'{needs} is not installed')
    rows = setup_arguments['entry_points']['console_scripts']
    targets = dict(re.split(r'\s*=\s*', row) for row in rows)
    module, function = targets[command].split(':')
    # In a process of its own: the ROS wheels may restart the interpreter that imports them.
    check = f'import {module}; assert callable({module}.{function})'
    shown = subprocess.run([sys.executable, '-c', check], cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr


@needs_git
def test_tracked_files_know_no_machine():
    lines = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if FOREIGN.search(line):
                lines.append(f'{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}')
    assert not lines, '\n'.join(lines)


@needs_git
def test_build_products_are_ignored():
    products = [
        '.venv',
        '.venv-bench/x',
        '.venv-wheels/x',
        'build/x',
        'install/x',
        'log/x',
        'demo_output/x',
    ]
    ignored = subprocess.run(
        ['git', '-C', str(ROOT), 'check-ignore', *products], capture_output=True, text=True
    )
    assert ignored.stdout.split() == products


@pytest.mark.parametrize(
    'target', ['setup', 'demo', 'test', 'bench', 'wheels', 'mutants', 'lint', 'clean']
)
def test_make_knows_target_and_help_shows_it(target):
    makefile = (ROOT / 'Makefile').read_text()
    assert re.search(rf'^{target}:.*##', makefile, re.M)


@pytest.mark.skipif(shutil.which('make') is None, reason='make is not installed')
def test_make_alone_shows_the_targets():
    shown = subprocess.run(['make', '-C', str(ROOT)], capture_output=True, text=True, check=True)
    assert 'make setup' in shown.stdout


@pytest.mark.parametrize('path', ['.ci/run', *(p.name for p in (ROOT / 'tools').glob('*.sh'))])
def test_script_is_executable_and_parses(path):
    script = ROOT / path if '/' in path else ROOT / 'tools' / path
    assert script.stat().st_mode & 0o111
    subprocess.run(['bash', '-n', str(script)], check=True)


def make_stub_workspace(folder: Path) -> None:
    """Create the files of ``make setup`` that activate looks at."""
    shutil.copy(ROOT / 'activate', folder)
    venv = folder / '.venv/bin'
    venv.mkdir(parents=True)
    (venv / 'activate').write_text(f'export VIRTUAL_ENV="{venv.parent}" PATH="{venv}:$PATH"\n')
    (venv.parent / 'ros_library_path').write_text(f'{venv.parent}/lib\n')
    (folder / 'install').mkdir()
    for shell in ('sh', 'bash', 'zsh'):
        overlay = f'export AMENT_PREFIX_PATH="{folder}/install/ssik_ros:$AMENT_PREFIX_PATH"\n'
        (folder / f'install/local_setup.{shell}').write_text(overlay)


def run_shell(shell: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, '-c', script],
        cwd=folder,
        env={'PATH': '/usr/bin:/bin'},
        capture_output=True,
        text=True,
    )


SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f'no {name} here'))
    for name in ('bash', 'sh', 'zsh')
]


@pytest.mark.parametrize('shell', SHELLS)
def test_activate_puts_the_overlay_before_the_underlay(shell, tmp_path):
    make_stub_workspace(tmp_path)
    shown = run_shell(shell, '. ./activate && echo "$AMENT_PREFIX_PATH" && echo "$PATH"', tmp_path)
    prefixes, path = (line.split(':') for line in shown.stdout.splitlines())
    assert prefixes == [f'{tmp_path}/install/ssik_ros', f'{tmp_path}/.venv']
    assert path[:2] == [f'{tmp_path}/install/ssik_ros/lib/ssik_ros', f'{tmp_path}/.venv/bin']


@pytest.mark.parametrize('shell', SHELLS)
def test_activate_without_setup_says_what_to_run(shell, tmp_path):
    shutil.copy(ROOT / 'activate', tmp_path)
    shown = run_shell(shell, '. ./activate', tmp_path)
    assert shown.returncode != 0
    assert 'make setup' in shown.stderr
