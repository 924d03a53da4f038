"""Ask a node for poses and check the answers: run as a program, several at once, by a test."""

import sys

from server_client import Client
from server_questions import assert_solves
from server_questions import ik_request
from server_questions import PANDA


def main(domain, seed, count):
    """
    Ask one by one, with a few requests in flight, and print how many answers hold.

    :param domain: number of the node's domain.
    :param seed: of the poses.
    :param count: how many.
    """
    client = Client(domain, sys.exit)
    poses = [PANDA.pose(posture) for posture in PANDA.postures(count, seed)]
    for start in range(0, count, 5):
        some = poses[start : start + 5]
        answers = client.call_all('compute_ik', [ik_request(PANDA, pose) for pose in some])
        for pose, answer in zip(some, answers, strict=True):
            assert_solves(PANDA, answer, pose)
    client.close()
    print(f'{count} hold')


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
