"""The site: examples get titles, links that leave ``docs/`` lead to pages, and a browser opens every page."""

import importlib.util
from pathlib import Path
import re
import subprocess
import sys

from PIL import Image
import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name):
    """Return a module of ``tools/``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / 'tools' / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


site_sources, check_site = load('site_sources'), load('check_site')
site_pages, search_words = sys.modules['site_pages'], load('search_words')


@pytest.mark.parametrize(
    ('name', 'title'),
    [
        ('01_solve_a_pose', 'Solve a pose'),
        ('20_ik_environment', 'IK environment'),
        ('26_scene_over_ros', 'Scene over ROS'),
    ],
)
def test_the_title_of_an_example_is_its_name_in_words(name, title):
    assert site_sources.example_title(Path(f'{name}.py')) == title


def test_each_card_of_the_gallery_has_a_picture_of_its_own():
    pictures = {
        path.name: site_sources.example_picture(path) for path in (ROOT / 'examples').glob('*.py')
    }
    assert len(pictures) > 20
    images = [Image.open(picture).convert('RGBA') for picture in pictures.values()]
    assert len({image.tobytes() for image in images}) == len(images)
    # The ground is transparent, for pages in the dark.
    assert all(image.getpixel((0, 0))[3] == 0 for image in images)
    drawn = {picture.stem for picture in pictures.values() if picture.parent.name == 'cards'}
    assert {path.stem for path in (ROOT / 'docs/images/cards').iterdir()} == drawn
    assert all(
        (ROOT / 'docs/images/cards' / f'{name}.png').stat().st_size < 20_000 for name in drawn
    )


def test_copies_of_examples_do_the_same_and_stay_while_nothing_changes(tmp_path):
    source = tmp_path / 'examples'
    source.mkdir()
    (source / '99_print.py').write_text('"""Print one."""\n\nprint(1)\n')
    target = site_sources.copy_examples(source, tmp_path / 'copies')
    copy = target / '99_print.py'
    card = "# sphinx_gallery_thumbnail_path = 'images/cards/99.png'\n"
    assert copy.read_text() == f'"""\nPrint\n=====\n\nPrint one.\n"""\n{card}\nprint(1)\n'
    before = copy.stat().st_mtime_ns
    site_sources.copy_examples(source, target)
    assert copy.stat().st_mtime_ns == before
    (source / '99_print.py').unlink()
    site_sources.copy_examples(source, target)
    assert not copy.exists()


class Application:
    """As much of Sphinx as a page needs."""

    def __init__(self, page):
        self.env, self._page = self, page

    def doc2path(self, docname):
        return str(self._page)


@pytest.mark.parametrize(
    ('link', 'rewritten'),
    [
        ('[how](../../CONTRIBUTING.md#tests)', '[how](../contributing.md#tests)'),
        ('[one](../../examples/01_solve_a_pose.py)', '[one](../examples/01_solve_a_pose.rst)'),
        ('[decisions](../adr/)', '[decisions](../adr/index.md)'),
        ('[tests](../../test/)', 'tests'),
        ('[file](../../LICENSE)', '[file](../../LICENSE)'),
        ('[page](ros2.md)', '[page](ros2.md)'),
        ('[site](https://example.org/a)', '[site](https://example.org/a)'),
        ('```text\n[code](../../test/)\n```', '```text\n[code](../../test/)\n```'),
    ],
)
def test_links_that_leave_the_site_lead_to_pages_where_there_are_some(link, rewritten):
    source = [f'Before {link}\n' if '```' not in link else f'{link}\n']
    site_sources.rewrite_links(Application(ROOT / 'docs/reference/page.md'), 'page', source)
    assert source == [f'Before {rewritten}\n' if '```' not in link else f'{rewritten}\n']


def test_sites_that_do_not_respond_are_left_out():
    assert site_sources.reachable_inventories({'nobody': 'http://127.0.0.1:9/'}) == {}


@pytest.mark.slow
def test_a_browser_opens_every_page_without_an_error_and_search_finds_pages():
    if not (check_site.SITE / 'index.html').is_file():
        pytest.skip('no site; make docs builds it')
    try:
        with check_site.browser():
            pass
    except OSError as error:
        pytest.skip(str(error))
    assert list(check_site.check(check_site.SITE)) == []


def test_a_page_with_faults_is_found(tmp_path):
    try:
        with check_site.browser() as started, check_site.served(tmp_path) as address:
            (tmp_path / 'wrong.html').write_text(
                '<link rel="icon" href="data:,"><img src="none.png"><p style="width: 900px">wide</p><script>nothing()</script>'
            )
            wrong = check_site.Window(started, address, 390).open('wrong.html')
    except OSError as error:
        pytest.skip(str(error))
    assert {line.partition(':')[0].split()[-1] for line in wrong} == {
        'error',
        'missing',
        'console',
        'wide',
    }


def save_square(path, colour):
    """Write a small picture of one colour."""
    Image.new('RGBA', (80, 60), colour).save(path)


@pytest.mark.parametrize(
    ('colour', 'is_white'),
    [
        ((255, 255, 255, 255), True),
        ((255, 255, 255, 0), False),
        ((20, 20, 20, 255), False),
    ],
)
def test_a_white_ground_is_opaque_and_white(tmp_path, colour, is_white):
    save_square(tmp_path / 'a.png', colour)
    assert site_pages.has_white_ground(tmp_path / 'a.png') is is_white


def test_pictures_of_the_documentation_that_show_robots_are_transparent():
    pictures = [*(ROOT / 'docs/images').glob('*.png'), *(ROOT / 'docs/images').glob('*.webp')]
    white = {path.stem for path in pictures if site_pages.has_white_ground(path)}
    plots = {'bead', 'benchmark_grid', 'joint_values', 'reach_slices'}
    assert {name for name in white if not name.startswith('view_')} == plots


def test_pages_that_are_named_for_the_site_exist():
    named = {*search_words.SEARCH_WORDS, *check_site.SEARCHED.values()}
    assert [name for name in sorted(named) if not (ROOT / f'docs/{name}.md').is_file()] == []


LONG_PAGE = """# Causes

## First cause

One.

## Second cause

```
{code}```

## Group

### Long part

{texts}

### Short part

{rows}

## Last cause

Two.
""".format(code='a\n' * 200, texts='Text.\n\n' * 140, rows='|a|b|\n|-|-|\n' + '|1|2|\n' * 10)

SMALL_SITE = {
    'index.md': '# Small\n\n```{toctree}\n:glob:\n\n**/*\n```\n',
    'how_to/limit_the_time.md': '# Limit the time\n\nPass a timeout.\n\n![white](white.png)\n',
    'adr/timeout.md': '# Timeout\n\nA timeout of a timeout.\n',
    'reference/causes.md': LONG_PAGE,
    'reference/api.md': '# API\n\n```{py:attribute} Request.timeout\nSeconds.\n```\n',
}
SMALL_CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / 'tools')!r})
import search_words, site_pages
extensions = ['myst_parser']
html_theme = 'basic'
SCORER
def setup(app):
    app.connect('source-read', search_words.add_index_entries)
    app.connect('doctree-resolved', site_pages.mark_white_pictures)
    app.connect('doctree-resolved', site_pages.fold_sections)
"""


def build_site(folder, scorer):
    """Return the folder of a small site; skip the test without Sphinx."""
    for name in ('sphinx', 'myst_parser'):
        pytest.importorskip(name, reason='needs Sphinx: pip install -r requirements/docs.txt')
    source = folder / 'source'
    for name, text in SMALL_SITE.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    save_square(source / 'how_to' / 'white.png', (255, 255, 255, 255))
    (source / 'conf.py').write_text(SMALL_CONFIGURATION.replace('SCORER', scorer))
    command = [sys.executable, '-m', 'sphinx', '-q', '-b', 'html', source, folder / 'html']
    subprocess.run(command, check=True)
    return folder / 'html'


@pytest.fixture(scope='module')
def small_site(tmp_path_factory):
    """Return a small site with the hooks and the scores of this one."""
    scorer = f'html_search_scorer = {str(ROOT / "docs/search_scorer.js")!r}'
    return build_site(tmp_path_factory.mktemp('scored'), scorer)


def first_page(site, words):
    """Return the page that a search finds first; skip the test without Node."""
    try:
        return check_site.search_in_node(site, [words])[words][0]
    except OSError as error:
        if 'not installed' not in str(error):
            raise
        pytest.skip(str(error))


def test_a_search_finds_the_how_to_before_names_of_the_api_and_decisions(small_site):
    assert first_page(small_site, 'timeout') == 'how_to/limit_the_time'
    pages = check_site.search_in_node(small_site, ['timeout'])['timeout']
    assert pages[:2] == ['how_to/limit_the_time'] * 2


def test_words_of_a_page_are_found_though_its_text_has_none_of_them(small_site):
    assert first_page(small_site, 'time budget') == 'how_to/limit_the_time'


def test_a_search_that_finds_another_page_is_a_fault():
    pages = {'timeout': ['adr/0007.html', 'modules.html#id1', 'how_to/limit_the_time.html']}
    assert list(check_site.misplaced(pages)) == [
        "the search for 'timeout' finds adr/0007, modules"
    ]
    pages = {'timeout': ['modules.html#a', 'modules.html#b', 'how_to/limit_the_time.html?x=1#c']}
    assert list(check_site.misplaced(pages)) == []


def test_a_long_page_is_folded_after_what_its_first_screens_show(small_site):
    page = (small_site / 'reference/causes.html').read_text()
    folded = re.findall(r'<details class="fold"><summary><h\d>(.*?)<', page)
    assert folded == ['Second cause', 'Long part', 'Short part', 'Last cause']
    assert page.count('</details>') == len(folded)
    assert '<details' not in (small_site / 'how_to/limit_the_time.html').read_text()


def test_white_pictures_are_marked_and_unmarked_ones_are_found(small_site, tmp_path):
    page = (small_site / 'how_to/limit_the_time.html').read_text()
    assert 'class="white-ground"' in page
    (tmp_path / 'a.html').write_text('<article><img src="a.png"><img src="b.png"></article>')
    save_square(tmp_path / 'a.png', (255, 255, 255, 255))
    save_square(tmp_path / 'b.png', (255, 255, 255, 0))
    assert list(check_site.unmarked_pictures(tmp_path)) == ['a.html: white: a.png']


def test_a_browser_finds_white_parts_in_the_dark_cut_parts_and_long_pages(tmp_path):
    save_square(tmp_path / 'a.png', (255, 255, 255, 255))
    (tmp_path / 'a.html').write_text(
        '<link rel="icon" href="data:,"><body style="background: #111; overflow-x: hidden">'
        '<article style="width: 300px; height: 9000px"><img src="a.png"><table style="width: 900px">'
        '<td>cut</table><div style="background: white; height: 90px"></div></article>'
    )
    try:
        with check_site.browser() as started, check_site.served(tmp_path) as address:
            wrong = check_site.Window(started, address, 390, 'dark').open('a.html')
    except OSError as error:
        pytest.skip(str(error))
    assert {'cut: table cut', 'white: div.', 'white: a.png'} <= set(wrong)
    assert any(line.endswith('pixels high') for line in wrong)


def test_a_link_opens_the_folded_section_of_its_target(tmp_path):
    script = (ROOT / 'docs/_static/fold.js').read_text()
    (tmp_path / 'a.html').write_text(
        '<section id="a"><details class="fold"><summary>A</summary><p id="b">B</p></details></section>'
        f'<section id="c"><details class="fold"><summary>C</summary></details></section><script>{script}</script>'
    )
    is_open = "() => [...document.querySelectorAll('details')].map(fold => fold.open)"
    try:
        with check_site.browser() as started, check_site.served(tmp_path) as address:
            page = started.new_page()
            seen = []
            for name in ('a.html', 'a.html?#b', 'a.html?1#c'):
                page.goto(f'{address}/{name}')
                seen.append(page.evaluate(is_open))
    except OSError as error:
        pytest.skip(str(error))
    assert seen == [[False, False], [True, False], [False, True]]
