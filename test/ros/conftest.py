"""What the tests of the node share: the judge of the promises, and figures that are printed in the end."""

from pathlib import Path
import sys

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / 'promises'))

FIGURES = pytest.StashKey()


@pytest.fixture
def record_figure(pytestconfig):
    """Return a function that keeps a name and a number of seconds for the end of the run."""
    figures = pytestconfig.stash.setdefault(FIGURES, [])

    def record(name, seconds):
        figures.append((name, seconds))

    return record


def pytest_terminal_summary(terminalreporter, config):
    """Print the figures: they are reported, never judged."""
    figures = config.stash.get(FIGURES, [])
    if figures:
        terminalreporter.section('figures of the node')
    for name, seconds in figures:
        terminalreporter.write_line(f'{seconds:8.3f} s  {name}')
