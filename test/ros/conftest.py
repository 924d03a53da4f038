"""Fixtures of the node's tests: the judges of other tests, and figures that are printed in the end."""

import contextlib

import pytest

FIGURE = 'figure of the node'
ARM_NAMES = ('panda', 'fanuc')


@pytest.fixture(scope='module')
def servers(tmp_path_factory):
    """Give (server, client) of a node for each arm; where the arms are stays at zero."""
    from test.ros.server_client import ready_server

    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                ready_server(tmp_path_factory.mktemp(name), {'moveit_config_package': name})
            )
            for name in ARM_NAMES
        }


@pytest.fixture(params=ARM_NAMES)
def arm(request):
    """Return each arm in turn."""
    # Imported here, because the module needs ROS.
    from test.ros.server_requests import ARMS

    return ARMS[request.param]


@pytest.fixture
def client(servers, arm):
    """Return the client of the arm's node."""
    return servers[arm.name][1]


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
