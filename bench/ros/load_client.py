"""One of several clients that load a server: ``python bench/ros/load_client.py --help``."""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from bench.arms import read_arm
from bench.cases import draw_cases
from bench.ros.caller import Caller
from bench.ros.requests import make_requests

START_LIMIT = 60.0
"""Time that the server, and the sign to begin, have to come [s]."""
RESPONSE_LIMIT = 30.0
"""Time after which a response counts as lost [s]."""


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Wait for the sign, call one by one, and write round trips [ns], codes and positions.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    parser = argparse.ArgumentParser(description='Call compute_ik and keep the responses.')
    parser.add_argument('namespace')
    parser.add_argument('--robot', required=True)
    parser.add_argument('--first', type=int, required=True, help='index of its first case')
    parser.add_argument('--count', type=int, required=True)
    parser.add_argument('--cases', type=int, required=True, help='of all clients together')
    parser.add_argument('--ready', type=Path, required=True, help='file that it makes')
    parser.add_argument('--go', type=Path, required=True, help='file that it waits for')
    parser.add_argument('--responses', type=Path, required=True, help='.npz that it writes')
    options = parser.parse_args(arguments)
    arm = read_arm(options.robot)
    requests = make_requests(arm, draw_cases(arm, options.cases))
    requests = requests[options.first : options.first + options.count]
    times, codes, positions = [], [], []
    with Caller([options.namespace]) as caller:
        caller.wait_for(options.namespace, START_LIMIT)
        options.ready.touch()
        end = time.monotonic() + START_LIMIT
        while not options.go.exists():
            if time.monotonic() > end:
                sys.exit('load_client: the sign to begin did not come')
            time.sleep(0.005)
        for request in requests:
            request.ik_request.timeout.sec = 5
            response, elapsed = caller.timed_call(options.namespace, request, RESPONSE_LIMIT)
            times.append(elapsed)
            codes.append(response.error_code.val)
            positions.append(np.array(response.solution.joint_state.position))
    width = max(map(len, positions))
    table = np.full((len(positions), width), np.nan)
    for row, values in zip(table, positions, strict=True):
        row[: len(values)] = values
    np.savez(options.responses, times=times, codes=codes, positions=table)


if __name__ == '__main__':
    main()
