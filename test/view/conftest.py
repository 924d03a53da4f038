"""Fixtures for tests of the view: searches that end by their own counts, and a cache of meshes for the tests."""

import math

import pytest


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Let solvers end their searches by iterations, so that a slow machine shows the same postures."""
    monkeypatch.setattr('ssik_ros.view.sessions.session.DRAG_TIMEOUT', math.inf)
    monkeypatch.setattr('ssik_ros.view.sessions.session.SEARCH_BUDGET', math.inf)
    monkeypatch.setattr('ssik_ros.view.sessions.loop_session.DRAG_TIMEOUT', math.inf)


@pytest.fixture(autouse=True)
def own_mesh_cache(monkeypatch, tmp_path_factory):
    """Keep the meshes of the tests out of the user's folder."""
    monkeypatch.setenv('SSIK_ROS_CACHE_DIR', str(tmp_path_factory.getbasetemp() / 'cache'))
