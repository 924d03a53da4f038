"""
The start functions of the ROS 2 programs, one for each: server, stream, view, joint state relay and benchmark.

``python -m ssik_ros.ros.executables NAME`` runs a program without an installation.
"""

import gc
import importlib
import sys

from ssik_ros.ros.process.early_end import EARLY_END, end_process

INTERRUPTED = 1
"""Exit code of a benchmark that a signal ends: it has written nothing."""


def ik_server() -> None:
    """Run the node that serves MoveIt's kinematics services."""
    _run('ssik_ros.ros.node', 0)


def ik_stream() -> None:
    """Run the node whose task sets follow target poses."""
    _run('ssik_ros.ros.streams.stream_node', 0)


def ik_view() -> None:
    """Run the node that shows a running robot in the browser."""
    _run('ssik_ros.ros.view.view_node', 0)


def joint_state_relay() -> None:
    """Run the node that adds passive joints to joint states."""
    _run('ssik_ros.ros.streams.joint_state_relay', 0)


def ik_benchmark() -> None:
    """Run the node that benchmarks services."""
    _run('ssik_ros.ros.benchmark_node', INTERRUPTED)


EXECUTABLES = {
    run.__name__: run for run in (ik_server, ik_stream, ik_view, joint_state_relay, ik_benchmark)
}


def _run(module: str, when_interrupted: int) -> None:
    """
    Run ``main`` of a module, and end the process with its exit code; an error of ``main`` passes through.

    Until ``main`` sets other handlers, a signal ends the process with the code ``when_interrupted``.
    """
    EARLY_END.arm(when_interrupted)
    # Modules are no garbage: looking for it in them, again and again, takes a tenth of the start.
    gc.disable()
    main = importlib.import_module(module).main
    gc.freeze()
    gc.enable()
    try:
        code = int(main() or 0)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    end_process(code)


if __name__ == '__main__':
    EXECUTABLES[sys.argv.pop(1)]()
