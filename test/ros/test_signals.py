"""SIGINT and SIGTERM at any time: each executable ends with its exit code and without needless output."""

from pathlib import Path
import re
import signal
import time

from test.ros.server_process import running_server, WAIT

import numpy as np
import pytest

pytestmark = pytest.mark.ros

LONGEST_DELAY = 4.0
"""Time after which every node runs, even on a busy machine [s]."""
NOISE = re.compile(r'Traceback|Exception|Error|rcl|terminate|Segmentation|core dumped')
EXIT_CODES = {
    'ik_server': 0,
    'ik_stream': 0,
    'ik_view': 0,
    'joint_state_relay': 0,
    'ik_benchmark': 1,
}
"""An interrupted benchmark has written nothing, so that it has failed."""
PARAMETERS = {
    'ik_server': {'moveit_config_package': 'panda'},
    'ik_stream': {'moveit_config_package': 'panda', 'task_sets_file': 'panda'},
    'ik_view': {'moveit_config_package': 'panda', 'port': 0},
    'joint_state_relay': {'loop_closures_file': 'four_bar'},
    'ik_benchmark': {'robot': 'topics', 'config': 'panda'},
}
DELAYS = {'ik_server': 8, 'ik_stream': 3, 'ik_view': 3, 'joint_state_relay': 3, 'ik_benchmark': 3}


def wait_for_handlers(server):
    """Wait until Python runs and the executable has its first handlers."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        status = Path(f'/proc/{server.pid}/status').read_text()
        caught = int(status.split('SigCgt:')[1].split()[0], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)
    server.fail('The process has no handler of SIGTERM.')


def moments(executable):
    """Return signals and delays [s], the shortest of them none."""
    rng = np.random.default_rng(sum(map(ord, executable)))
    delays = [0.0, *rng.uniform(0.0, LONGEST_DELAY, DELAYS[executable] - 1)]
    return [(number, delay) for number in (signal.SIGINT, signal.SIGTERM) for delay in delays]


@pytest.mark.slow
@pytest.mark.parametrize(
    ('executable', 'number', 'delay'),
    [(name, number, round(delay, 3)) for name in DELAYS for number, delay in moments(name)],
)
def test_a_signal_at_any_time_ends_an_executable_quietly(tmp_path, executable, number, delay):
    program = ('-m', 'ssik_ros.ros.executables', executable)
    with running_server(tmp_path, PARAMETERS[executable], program=program) as server:
        wait_for_handlers(server)
        time.sleep(delay)
        code, _ = server.stop(number)
        assert code == EXIT_CODES[executable], server.log
        assert not NOISE.search(server.log), server.log


@pytest.mark.slow
@pytest.mark.parametrize('pause', [0.0, 0.05, 0.3])
def test_a_second_signal_changes_nothing(tmp_path, pause):
    """Ctrl-C below a launch file arrives twice, and SIGTERM may follow."""
    program = ('-m', 'ssik_ros.ros.executables', 'ik_server')
    with running_server(tmp_path, PARAMETERS['ik_server'], program=program) as server:
        server.wait_until_ready()
        server.send(signal.SIGINT)
        time.sleep(pause)
        server.send(signal.SIGTERM)
        assert server.wait_for_end() == 0, server.log
        assert not NOISE.search(server.log), server.log
