"""Fixtures for tests of the view: searches that end by their own counts, not by the clock."""

import math

import pytest


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Let solvers end their searches by iterations, so that a slow machine shows the same postures."""
    monkeypatch.setattr('ssik_ros.view.session.DRAG_TIMEOUT', math.inf)
    monkeypatch.setattr('ssik_ros.view.session.SEARCH_BUDGET', math.inf)
    monkeypatch.setattr('ssik_ros.view.loop_session.DRAG_TIMEOUT', math.inf)
