"""The pages tell the truth: links, citations, commands, tables of modules, and the code they show."""

import contextlib
import importlib.util
import io
from pathlib import Path
import re
import shlex

from test.repository import FOLDERS, make_targets

import pytest

from ssik_ros.cli.command import make_parser, VERBS
from ssik_ros.solvers.kinematics_yaml import parse_kinematics
from ssik_ros.solvers.registry import DEFAULT_SOLVER
from ssik_ros.strict_yaml import parse_yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
CITATION = re.compile(r'\[[A-Z][A-Za-z]*\d{4}[a-z]?\]')
PAGE_SCRIPTS = sorted(
    path.stem
    for path in ROOT.glob('tools/make_*.py')
    if 'import generated_page' in path.read_text(encoding='utf-8')
)
PLACEHOLDERS = {'...', 'CONFIG', 'KEY=VALUE'}
LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')


def code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf'^```{language}\n(.*?)^```', text, re.M | re.S)


def prose(text: str) -> str:
    return re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r'^#+ (.*)$', prose(page.read_text(encoding='utf-8')), re.M)
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles}


def quoted_commands() -> list[str]:
    """Return the command lines of ``ssik`` in all pages, comments cut off."""
    commands = []
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        console = re.findall(
            r'^\$ ((?:.*\\\n)*.*\n)', '\n'.join(code_blocks(text, 'console')), re.M
        )
        blocks = '\n'.join([*code_blocks(text, 'bash'), *console])
        lines = blocks.replace('\\\n', ' ').splitlines()
        lines += re.findall(r'`(ssik [^`\n]*)`', prose(text))
        parts = [part.strip() for line in lines for part in line.split('; ')]
        commands += [part for part in parts if part.startswith('ssik ')]
    return sorted(set(commands))


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    for target in LINK.findall(prose(page.read_text(encoding='utf-8'))):
        if re.match(r'[a-z]+:', target):
            continue
        path, _, anchor = target.partition('#')
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f'{target} does not exist'
        assert not anchor or anchor in anchors(linked), f'{linked.name} has no heading {anchor}'


def test_modules_and_folders_that_pages_name_exist():
    folders = '|'.join(path.name for path in (ROOT / 'ssik_ros').iterdir() if path.is_dir())
    named = {
        path
        for folder in ('math', 'explanation')
        for page in (ROOT / 'docs' / folder).glob('*.md')
        for path in re.findall(rf'`((?:{folders})/[a-z_0-9/]+(?:\.py|/))`', page.read_text())
    }
    assert len(named) > 30
    roots = ROOT / 'ssik_ros', ROOT / 'test', ROOT
    assert [path for path in sorted(named) if not any((r / path).exists() for r in roots)] == []


def test_every_citation_is_resolved_and_every_reference_is_cited():
    folders = 'ssik_ros', 'bench', 'campaigns'
    sources = [*PAGES, *(path for name in folders for path in (ROOT / name).rglob('*.py'))]
    page = ROOT / 'docs/math/references.md'
    cited = set()
    for path in sources:
        if path != page:
            cited |= set(CITATION.findall(path.read_text(encoding='utf-8')))
    text = page.read_text(encoding='utf-8')
    resolved = {line.split('|')[1].strip() for line in text.splitlines() if line.startswith('| [')}
    assert cited == resolved


@pytest.mark.parametrize('script', PAGE_SCRIPTS)
def test_a_generated_page_is_up_to_date(script):
    path = ROOT / f'tools/{script}.py'
    spec = importlib.util.spec_from_file_location(script, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(['--check']) == 0, 'run make pages'


@pytest.mark.parametrize('command', quoted_commands())
def test_quoted_command_is_accepted(command):
    # Words after a redirection belong to the shell.
    words = shlex.split(command.partition(' >')[0], comments=True)[1:]
    verb = words[0] if words and not words[0].startswith('-') else ''
    if verb.isupper() or verb == '...':
        return
    assert not verb or verb in {entry.name for entry in VERBS}
    if words == [verb] or not PLACEHOLDERS.isdisjoint(words):
        return
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
        make_parser(verb).parse_args(words)
    assert not said.getvalue()


def test_pages_agree_about_versions_and_the_default_solver():
    texts = [page.read_text(encoding='utf-8') for page in [*PAGES, ROOT / 'tools/make_venv.sh']]
    versions = {
        match for text in texts for match in re.findall(r'Python (3\.\d+ to 3\.\d+)', text)
    }
    assert len(versions) == 1
    oldest = re.search("python_requires='>=([^']+)'", (ROOT / 'setup.py').read_text())[1]
    assert versions.pop().startswith(f'{oldest} to ')
    named = [match for text in texts for match in re.findall(r' gets `(ssik_ros/\w+)`', text)]
    assert len(named) > 1 and set(named) == {DEFAULT_SOLVER}


def test_the_readme_is_read_in_a_minute():
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert len(text.splitlines()) <= 120
    assert text.index('![') < text.index('pip install') < text.index('```python')


def test_kinematics_files_of_the_reference_are_read_without_a_warning(caplog):
    text = (ROOT / 'docs/reference/kinematics_yaml.md').read_text(encoding='utf-8')
    blocks = [b for b in code_blocks(text, 'yaml') if 'kinematics_solver' in b]
    assert len(blocks) == 2, 'one for each layout'
    read = [parse_kinematics(parse_yaml(block)) for block in blocks]
    assert not caplog.records
    solvers = [{group: k.solver for group, k in file.items()} for file in read]
    assert solvers[0] == solvers[1]
    assert set(solvers[0].values()) <= {'ssik_ros/PoseIK', 'ssik_ros/Auto'}


def test_make_targets_of_the_pages_exist():
    named = {
        word
        for page in PAGES
        for word in re.findall(r'[`$ ]make ([a-z-]+)\b`?', '\n'.join(inline_code(page)))
    }
    assert named <= make_targets()


def inline_code(page: Path) -> list[str]:
    """Return the code of a page, inline and in shell blocks."""
    text = page.read_text(encoding='utf-8')
    blocks = code_blocks(text, 'bash') + code_blocks(text, 'console')
    return [f'`{code}`' for code in re.findall(r'`([^`\n]+)`', prose(text))] + [
        f'`{line}' for block in blocks for line in block.splitlines()
    ]


def test_contributing_names_every_folder():
    text = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8')
    inner = [path for path in (ROOT / 'ssik_ros').iterdir() if (path / '__init__.py').exists()]
    # The folders inside ssik_ros/ are named instead of it.
    names = [*(path.name for path in inner), *(set(FOLDERS) - {'ssik_ros'})]
    assert [
        name for name in names if f'`{name}/`' not in text and f'`ssik_ros/{name}/`' not in text
    ] == []
