"""Ask a node for poses one by one and keep the positions: run as a program, several at once, by a test."""

from pathlib import Path
import sys

from test.ros.server_client import Client
from test.ros.server_requests import ik_request, PANDA, positions_of, SUCCESS

import numpy as np

TIMEOUT = 5.0
"""Timeout of each search [s], far more than it needs, so that responses do not depend on the load of the machine."""


def requests_of(count, seed):
    """Return poses (4, 4) and a request for each."""
    poses = [PANDA.pose(posture) for posture in PANDA.postures(count, seed)]
    return poses, [ik_request(PANDA, pose, timeout=TIMEOUT) for pose in poses]


def positions_table(responses):
    """Return the positions (k, n) of responses, joints in model order; NaN for a response without solution."""
    table = np.full((len(responses), len(PANDA.joints)), np.nan)
    for row, response in zip(table, responses, strict=True):
        if response.error_code.val == SUCCESS:
            positions = positions_of(response)
            row[:] = [positions[name] for name in PANDA.joints]
    return table


def main(domain, seed, count, first, asked, path):
    """
    Ask for some of the poses, beginning with one of them, and write the positions.

    :param domain: number of the node's domain.
    :param seed: of the poses.
    :param count: how many poses there are.
    :param first: index of the first one.
    :param asked: how many.
    :param path: of the file, which appears after the last response.
    """
    client = Client(domain, sys.exit)
    requests = requests_of(count, seed)[1] * 2
    some = requests[first : first + asked]
    responses = [client.call('compute_ik', request) for request in some]
    client.close()
    np.save(path, positions_table(responses))


if __name__ == '__main__':
    main(*map(int, sys.argv[1:6]), Path(sys.argv[6]))
