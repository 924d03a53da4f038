"""
The node as a process of its own, with a domain that no other process on the machine uses.

Every wait is bounded, and a failure shows the end of the node's log. Importing this skips a test module on machines
without ROS, so it comes before other imports of ROS.
"""

import contextlib
from importlib.util import find_spec
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from test.ros_domain import claimed_domain

import pytest
import yaml

import ssik_ros

# Outside an activated shell, rclpy from wheels would start the interpreter anew, with which the test
# runner loses its output.
if find_spec('ros_wheels_bootstrapper') and '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in os.environ:
    pytest.skip('rclpy needs an activated shell: . ./activate', allow_module_level=True)
pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
pytest.importorskip('ssik_msgs', reason='ssik_msgs is not built; run make setup')
pytest.importorskip('rclpy', reason='no rclpy on this machine')

PACKAGE_ROOT = Path(ssik_ros.__file__).resolve().parents[1]
READY = 'Ready: robot'
NODE = ('-m', 'ssik_ros.ros.executables', 'ik_server')
WAIT = 60.0
"""Bound of every wait for a response [s], far above the time that any response takes."""
START_WAIT = 300.0
"""The same for a node that starts, whose kernels may have to be compiled first."""
SHUTDOWN_WAIT = 10.0
"""Bound of the time from a signal to the end of the process [s]."""


def python_path(*folders):
    """Return PYTHONPATH with the package of the tests first, wherever that is installed, then folders."""
    entries = [str(PACKAGE_ROOT), *map(str, folders), os.environ.get('PYTHONPATH', '')]
    return os.pathsep.join(filter(None, entries))


class ServerProcess:
    """A running ``ik_server``."""

    def __init__(
        self, folder, domain, parameters=None, arguments=(), environment=None, program=NODE
    ):
        """
        Start it.

        :param folder: for its log and its parameters file.
        :param domain: of its own.
        :param parameters: written to a params file for all nodes.
        :param arguments: further arguments after ``--ros-args``.
        :param environment: variables that differ from the environment of the tests.
        :param program: arguments of the interpreter that come before the arguments of ROS.
        """
        self.domain = domain
        self.log_path = folder / 'node.log'
        command = [sys.executable, *program, '--ros-args']
        if parameters:
            path = folder / 'parameters.yaml'
            path.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
            command += ['--params-file', str(path)]
        self.started = time.monotonic()
        with self.log_path.open('wb') as log:
            self._process = subprocess.Popen(
                [*command, *arguments],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    'PYTHONPATH': python_path(),
                    'ROS_DOMAIN_ID': str(domain),
                    'ROS_LOG_DIR': str(folder),
                    'RCUTILS_COLORIZED_OUTPUT': '0',
                    **(environment or {}),
                },
            )

    @property
    def log(self):
        """Return everything that was printed."""
        return self.log_path.read_text(errors='replace')

    @property
    def pid(self):
        """Return the number of the process."""
        return self._process.pid

    @property
    def is_running(self):
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def fail(self, text):
        """Fail the test with the end of the log."""
        tail = '\n'.join(self.log.splitlines()[-30:])
        pytest.fail(f'{text}\n--- log of the node ---\n{tail}')

    def wait_for_log(self, text, count=1, wait=START_WAIT):
        """
        Return the seconds since the start when the log has had a text so many times.

        :param text: a part of a line.
        :param count: how many times.
        :param wait: bound [s].
        """
        end = time.monotonic() + wait
        while self.log.count(text) < count:
            if not self.is_running and self.log.count(text) < count:
                self.fail(f"The node ended (code {self._process.returncode}) before '{text}'.")
            if time.monotonic() > end:
                self.fail(f"The node did not say '{text}' {count} times within {wait:g} s.")
            time.sleep(0.01)
        return time.monotonic() - self.started

    def wait_until_ready(self):
        """Return the seconds from the start until the robot is served."""
        return self.wait_for_log(READY)

    def wait_for_end(self, wait=WAIT):
        """Return the exit code."""
        try:
            return self._process.wait(wait)
        except subprocess.TimeoutExpired:
            self.fail(f'The node did not end within {wait:g} s.')

    def send(self, number):
        """Send a signal."""
        self._process.send_signal(number)

    def stop(self, number=signal.SIGINT):
        """
        Send a signal; return the exit code and the seconds until the process had ended.

        :param number: of the signal.
        """
        sent = time.monotonic()
        self._process.send_signal(number)
        code = self.wait_for_end(SHUTDOWN_WAIT)
        return code, time.monotonic() - sent

    def kill(self):
        """End the process whatever it does."""
        if self.is_running:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def running_server(folder, parameters=None, arguments=(), domain=None, **options):
    """
    Give a :class:`ServerProcess`; it is killed in the end where a test has not stopped it.

    :param folder: an existing folder for its files; a server that is started again has another.
    :param parameters, arguments: as there.
    :param domain: one that is claimed already; by default a new one.
    :param options: further arguments as there.
    """
    with contextlib.ExitStack() as stack:
        if domain is None:
            domain = stack.enter_context(claimed_domain())
        server = ServerProcess(folder, domain, parameters, arguments, **options)
        stack.callback(server.kill)
        yield server


def ended_server(folder, parameters=None, arguments=(), **options):
    """
    Return a server that ended by itself, and its exit code.

    :param folder, parameters, arguments, options: as for :func:`running_server`.
    """
    with running_server(folder, parameters, arguments, **options) as server:
        return server, server.wait_for_end()
