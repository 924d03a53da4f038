"""Servers as processes of their own: on one core, with an end that nothing can prevent."""

from collections.abc import Sequence
import os
from pathlib import Path
import signal
import subprocess
import sys

from bench import ROOT

SERVER = ROOT / 'bench' / 'ros' / 'empty_server.py'
STOP_WAIT = 20.0
"""Longest time for a server to write its measurements and end after a signal [s]."""


def claim_domain() -> None:
    """Use a ROS domain on this machine only, for this process and its servers, unless the environment names one."""
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'


class ServerProcesses:
    """Starts servers; on leaving the context all of them have ended."""

    def __init__(self, cpu: int | None, lifetime: int) -> None:
        """
        Start nothing yet.

        :param cpu: core of the servers; None for all.
        :param lifetime: after which a server ends even if this process was killed [s].
        """
        self._cpu = cpu
        self._lifetime = lifetime
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> 'ServerProcesses':
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End every server: by SIGINT, and by SIGKILL where that is not heard."""
        for process in self._started:
            process.send_signal(signal.SIGINT)
        for process in self._started:
            try:
                process.wait(STOP_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, command: Sequence[str], log: Path) -> 'subprocess.Popen[bytes]':
        """
        Start a server.

        :param command: program and arguments.
        :param log: file for its output.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open('wb') as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, preexec_fn=self._prepare
            )
        self._started.append(process)
        return process

    def _prepare(self) -> None:
        """Pin the new process and set its alarm; both outlive the start of the program."""
        signal.alarm(self._lifetime)
        if self._cpu is not None:
            os.sched_setaffinity(0, {self._cpu})


def node_words(module: str, *parameters: str, namespace: str = '') -> list[str]:
    """
    Return the arguments of Python that start a node.

    :param module: of the node, with its arguments after a space.
    :param parameters: such as ``executor_threads:=4``.
    :param namespace: of the node; empty for none.
    """
    names = ['-r', f'__ns:={namespace}'] if namespace else []
    words = [word for parameter in parameters for word in ('-p', parameter)]
    return ['-m', *module.split(), '--ros-args', *names, *words]


def own_server(robot: str, namespace: str, threads: int, *parameters: str) -> list[str]:
    """
    Return the command of the product's node.

    :param robot: name of a shipped robot; namespace: of its services.
    :param threads: how many threads run handlers.
    :param parameters: further ones.
    """
    given = f'moveit_config_package:={robot}', f'executor_threads:={threads}', *parameters
    return [sys.executable, *node_words('ssik_ros.ros.node', *given, namespace=namespace)]


def empty_server(namespace: str, threads: int, prepared: Path) -> list[str]:
    """
    Return the command of a server whose handler does nothing.

    :param namespace: of its service.
    :param threads: how many threads run handlers.
    :param prepared: file with its response.
    """
    program = [sys.executable, str(SERVER), str(prepared), '--threads', str(threads)]
    return [*program, '--ros-args', '-r', f'__ns:={namespace}']
