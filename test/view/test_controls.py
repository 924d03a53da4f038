"""Which values of a message a control may have."""

from types import SimpleNamespace

import pytest

pytest.importorskip('viser', reason='needs the extra view: pip install viser')
from ssik_ros.view.browser.controls import fits

SLIDER = SimpleNamespace(min=0.0, max=10.0, value=1.0)
CHOICE = SimpleNamespace(options=('a', 'b'), value='a')
BOX = SimpleNamespace(value=True)
TEXT = SimpleNamespace(value='x')


@pytest.mark.parametrize(
    ('control', 'value'),
    [
        (SLIDER, 3),
        (SLIDER, 10.000001),
        (CHOICE, 'b'),
        (BOX, False),
        (TEXT, ''),
        (TEXT, 'a' * 8192),
    ],
)
def test_values_that_a_browser_sends_fit(control, value):
    assert fits(control, value)


@pytest.mark.parametrize(
    ('control', 'value'),
    [
        (SLIDER, 'x'),
        (SLIDER, 10.1),
        (SLIDER, -1),
        (SLIDER, True),
        (CHOICE, 'c'),
        (CHOICE, 1.0),
        (BOX, 1.0),
        (BOX, 'true'),
        (TEXT, 1.0),
        (TEXT, True),
        (TEXT, 'a' * 8193),
    ],
)
def test_other_values_do_not_fit(control, value):
    assert not fits(control, value)
