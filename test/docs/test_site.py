"""The site: examples get titles, links that leave ``docs/`` lead to pages, and a browser opens every page."""

import importlib.util
from pathlib import Path
import sys

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


def test_copies_of_examples_do_the_same_and_stay_while_nothing_changes(tmp_path):
    source = tmp_path / 'examples'
    source.mkdir()
    (source / '99_print.py').write_text('"""Print one."""\n\nprint(1)\n')
    target = site_sources.copy_examples(source, tmp_path / 'copies')
    copy = target / '99_print.py'
    assert copy.read_text() == '"""\nPrint\n=====\n\nPrint one.\n"""\n\nprint(1)\n'
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


def test_sites_that_do_not_answer_are_left_out():
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
