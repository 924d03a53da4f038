"""The files that a project shows to its visitors: they parse, and every file and command that they name exists."""

import fnmatch
import json
from pathlib import Path
import re
import xml.etree.ElementTree as ElementTree

from test.repository import FOLDERS, make_targets, needs_git, tracked_files

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / '.github'
WORKFLOWS = sorted((GITHUB / 'workflows').glob('*.yml'))
FORMS = sorted((GITHUB / 'ISSUE_TEMPLATE').glob('*.yml'))
PAGES = [ROOT / 'QUALITY_DECLARATION.md', GITHUB / 'pull_request_template.md']
FILES = {
    '.dockerignore',
    '.editorconfig',
    '.gitignore',
    '.pre-commit-config.yaml',
    'CHANGELOG.rst',
    'CITATION.cff',
    'CODE_OF_CONDUCT.md',
    'CONTRIBUTING.md',
    'Dockerfile',
    'LICENSE',
    'Makefile',
    'QUALITY_DECLARATION.md',
    'README.md',
    'SECURITY.md',
    'activate',
    'llms.txt',
    'package.xml',
    'pixi.toml',
    'pyproject.toml',
    'ruff.toml',
    'setup.cfg',
    'setup.py',
}


def read_yaml(path):
    return yaml.safe_load(path.read_text(encoding='utf-8'))


def assert_command_exists(command):
    """Fail unless a command is "make TARGET" with variables of the Makefile, or a script of the repository."""
    program, *words = command.split()
    if program != 'make':
        assert (ROOT / program).is_file(), command
        return
    targets = [word for word in words if '=' not in word]
    assert targets and set(targets) <= make_targets(), command
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    for word in words:
        name, is_variable, _ = word.partition('=')
        assert not is_variable or f'$({name})' in makefile or f'$(or $({name})' in makefile, (
            command
        )


@needs_git
def test_the_root_has_no_file_that_nobody_expects():
    parts = [path.relative_to(ROOT).parts for path in tracked_files()]
    assert {first for first, *inner in parts if inner} == set(FOLDERS)
    assert {first for first, *inner in parts if not inner} == FILES


def test_the_citation_names_version_and_licence_of_the_package():
    citation = read_yaml(ROOT / 'CITATION.cff')
    manifest = ElementTree.parse(ROOT / 'package.xml').getroot()
    assert citation['cff-version'] == '1.2.0' and citation['message'] and citation['authors']
    assert citation['title'] == manifest.findtext('name')
    assert citation['version'] == manifest.findtext('version')
    assert citation['license'] == manifest.findtext('license')


@pytest.mark.parametrize('path', WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_bounded_reads_only_and_runs_what_exists(path):
    workflow = read_yaml(path)
    # YAML 1.1 reads the key "on" as true.
    assert workflow['name'] and workflow[True] and workflow['permissions'] == {'contents': 'read'}
    for job in workflow['jobs'].values():
        assert 0 < job['timeout-minutes'] <= 180 and job['runs-on']
        commands = [step['run'] for step in job['steps'] if 'run' in step]
        # The action of ROS-Industrial builds the packages of a folder by itself.
        assert commands or any('industrial_ci@' in step['uses'] for step in job['steps'])
        choices = job.get('strategy', {}).get('matrix', {})
        for command in commands:
            chosen = re.fullmatch(r'\$\{\{ matrix\.(\w+) \}\}', command)
            for one in choices[chosen[1]] if chosen else [command]:
                assert_command_exists(one)


@pytest.mark.parametrize('path', FORMS, ids=lambda path: path.name)
def test_a_form_for_issues_asks_with_unique_names(path):
    form = read_yaml(path)
    assert form['name'] and form['description']
    names = [part['id'] for part in form['body']]
    assert len(set(names)) == len(names)
    assert all(part['attributes']['label'] for part in form['body'])


def test_the_container_installs_what_ci_installs_and_runs_what_exists():
    recipe = (ROOT / 'Dockerfile').read_text(encoding='utf-8').replace('\\\n', ' ')
    packages = set(re.search(r'--no-install-recommends ([^&]*)', recipe)[1].split())
    needed = set(re.findall(r'^need ([a-z0-9-]+) ', (ROOT / '.ci' / 'run').read_text(), re.M))
    assert packages == needed | {'ca-certificates', 'python3'}
    commands = [line for line in re.findall(r'^RUN (.*)$', recipe, re.M) if 'apt-get' not in line]
    assert commands
    for command in commands:
        assert_command_exists(command)
    (start,) = re.findall(r'^CMD (\[.*\])$', recipe, re.M)
    assert json.loads(start)[0] in (ROOT / 'setup.py').read_text()


def test_the_development_container_builds_a_stage_that_exists():
    container = json.loads((ROOT / '.devcontainer' / 'devcontainer.json').read_text())
    build = container['build']
    recipe = ROOT / '.devcontainer' / build['dockerfile']
    assert f' AS {build["target"]}\n' in recipe.read_text()
    assert (ROOT / '.devcontainer' / build['context']).resolve() == ROOT
    assert_command_exists(container['postCreateCommand'])


@needs_git
def test_the_container_copies_no_build_products():
    ignored = set((ROOT / '.dockerignore').read_text().split()) - {'.git'}
    lines = (ROOT / '.gitignore').read_text().split()
    products = {line.strip('/') for line in lines if re.fullmatch(r'/[^/]+/?', line)}
    unused = {name for name in ignored if not fnmatch.filter(products, name)}
    copied = {name for name in products if not any(fnmatch.fnmatch(name, i) for i in ignored)}
    assert (unused, copied) == (set(), set())


def test_tasks_of_pixi_exist_and_its_python_is_that_of_the_setup():
    tomllib = pytest.importorskip('tomllib', reason='Python 3.10 reads no TOML')
    workspace = tomllib.loads((ROOT / 'pixi.toml').read_text())
    for task in workspace['tasks'].values():
        assert_command_exists(task)
    assert {'setup', 'demo', 'test'} <= workspace['tasks'].keys()
    low, high = re.search(
        r'\((3, \d+)\) <= .* <= \((3, \d+)\)', (ROOT / 'tools/make_venv.sh').read_text()
    ).groups()
    last = int(high.partition(', ')[2])
    assert workspace['dependencies']['python'] == f'>={low.replace(", ", ".")},<3.{last + 1}'
    assert workspace['environments'].keys() == workspace['feature'].keys()


def test_the_hooks_before_a_commit_download_nothing():
    (repository,) = read_yaml(ROOT / '.pre-commit-config.yaml')['repos']
    assert repository['repo'] == 'local'
    for hook in repository['hooks']:
        assert hook['language'] == 'system'
        assert_command_exists(hook['entry'])


def test_the_editor_keeps_the_width_of_the_linter():
    width = re.search(r'^line-length = (\d+)', (ROOT / 'ruff.toml').read_text(), re.M)[1]
    assert f'max_line_length = {width}' in (ROOT / '.editorconfig').read_text()


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_files_and_commands_of_a_page_exist(page):
    for code in re.findall(r'`([^`\n]+)`', page.read_text(encoding='utf-8')):
        if code.startswith('make '):
            assert_command_exists(code)
        elif '/' in code or code.endswith(('.md', '.rst', '.xml', '.txt')):
            assert (ROOT / code).exists(), code
