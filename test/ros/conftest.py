"""What the tests of the node share: the judges of other tests, and figures that are printed in the end."""

from pathlib import Path
import sys

import pytest

sys.path += [
    str(Path(__file__).resolve().parents[1] / name) for name in ('promises', 'mechanisms', 'view')
]

FIGURE = 'figure of the node'


@pytest.fixture
def record_figure(request):
    """Return a function that keeps a name and a number of seconds for the end of the run."""

    def record(name, seconds):
        # Reports carry properties from the processes of pytest-xdist to the one that prints.
        request.node.user_properties.append((FIGURE, [name, seconds]))

    return record


def pytest_terminal_summary(terminalreporter):
    """Print the figures: they are reported, never judged."""
    reports = terminalreporter.getreports('passed') + terminalreporter.getreports('failed')
    properties = [
        pair for report in reports if report.when == 'call' for pair in report.user_properties
    ]
    figures = [value for key, value in properties if key == FIGURE]
    if figures:
        terminalreporter.section('figures of the node')
    for name, seconds in figures:
        terminalreporter.write_line(f'{seconds:8.3f} s  {name}')
