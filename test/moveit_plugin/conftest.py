"""The programs of the transport, built once for all tests."""

import pytest
from transport_programs import build, missing_tool


@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    """Return the programs."""
    if missing_tool():
        pytest.skip(missing_tool())
    return build(tmp_path_factory.mktemp('transport') / 'plain')
