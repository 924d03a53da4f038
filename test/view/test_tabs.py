"""An arm has its tabs, and each panel of a tab can be made."""

from test.view.made_pages import open_page

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
tabs_of = pytest.importorskip('ssik_ros.view.browser.tabs')

OF_EACH = ['Target', 'Joints', 'Obstacles', 'Measures']


@pytest.mark.parametrize(
    ('name', 'titles'),
    [
        ('panda', [*OF_EACH[:2], 'Branches', 'Why not', 'Solver', 'Copy', *OF_EACH[2:], 'Path']),
        ('ur5e', [*OF_EACH[:2], 'Branches', 'Why not', 'Solver', 'Copy', *OF_EACH[2:], 'Path']),
    ],
)
def test_an_arm_has_the_tabs_of_its_branches(name, titles, monkeypatch):
    made, make_panels = [], tabs_of.make_panels

    def keep_panels(*given):
        made.extend(make_panels(*given))
        return made

    monkeypatch.setattr('ssik_ros.view.browser.page.make_panels', keep_panels)
    with open_page(name) as page:
        tabs = tabs_of.list_tabs(page)
        assert list(tabs) == titles
        assert all(tabs.values())
        assert {*map(type, made)} >= {panel for panels in tabs.values() for panel in panels}


def test_a_redundant_arm_has_a_panel_for_its_curves():
    with open_page('panda') as page, open_page('ur5e') as other:
        assert (
            len(tabs_of.list_tabs(page)['Branches'])
            == len(tabs_of.list_tabs(other)['Branches']) + 1
        )
