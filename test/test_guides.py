"""The guides: every block of code runs as pasted, and prints the output of the page."""

from pathlib import Path
import re
import subprocess
import sys

from test import page_runner, ros_lines

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob('*.md')), *sorted((ROOT / 'docs').rglob('*.md'))]
NOT_RUN = {
    'moveit_walkthrough': 'a session with MoveIt, which is no package of PyPI',
    'ros2_walkthrough': 'a session with ros2 and launch, which are no packages of PyPI',
}
"""Pages whose outputs are not compared, with the reason. Single blocks: test/docs/test_blocks.py."""
GUIDES = [
    page
    for page in PAGES
    if page.stem not in NOT_RUN and re.search('^```(?:python|console)', page.read_text(), re.M)
]
LONG = {
    *('bead', 'choose_a_solver', 'draw_postures', 'export_a_solver', 'map_the_reach', 'my_robot'),
    *('place_an_arm', 'plan_a_tool_path', 'replay_ik_benchmarking'),
}
"""Pages that run for seconds."""
FIRST_PAGES = [
    page for page in GUIDES if page.parent in (ROOT, ROOT / 'docs/start', ROOT / 'docs/tutorials')
]
"""Pages that people read first: run in a Python of their own, which has imported nothing."""


@pytest.fixture(scope='module')
def pool():
    """Yield a pool that runs pages one after the other, each in a new process."""
    with page_runner.make_pool() as made:
        yield made


def require_modules(page):
    """Skip a page if a module that it needs is not installed."""
    text = page.read_text(encoding='utf-8')
    for module, sign in (('rclpy', 'import rclpy'), ('xacro', 'xacro_args=')):
        if sign in text:
            pytest.importorskip(module, reason=f'the page needs {module} of ROS 2')
    if re.search(r'^\$ ssik reach|^from ssik_ros.reach', text, re.M):
        pytest.importorskip('zarr', reason='the page needs the extra reach')


def guides():
    """Return the parameters for all guides."""
    for page in GUIDES:
        marks = [pytest.mark.slow] if page.stem in LONG else []
        yield pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize('page', guides())
def test_a_guide_prints_what_it_shows(page, pool):
    require_modules(page)
    assert pool.apply(page_runner.run, (page,)) == ''


@pytest.mark.slow
@pytest.mark.parametrize('page', FIRST_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_first_page_prints_what_it_shows_in_a_new_python(page):
    require_modules(page)
    script = ROOT / 'tools/run_pages.py'
    done = subprocess.run([sys.executable, script, page], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_ros2_lines_name_what_there_is(page):
    for words in ros_lines.read_lines(page.read_text(encoding='utf-8')):
        ros_lines.check(words)
