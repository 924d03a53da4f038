"""The programs of the transport, built once for all tests."""

from test.moveit_plugin.transport_programs import build, missing_tool

import pytest


@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    """Return the programs."""
    if missing_tool():
        pytest.skip(missing_tool())
    return build(tmp_path_factory.mktemp('transport') / 'plain')
