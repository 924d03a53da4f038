"""ROS domains that no other process on this machine uses, and that reach no other machine."""

import contextlib
import os
import socket

import pytest

DOMAINS = range(1, 101)
"""Domains whose ports lie below those that the system hands out."""


@contextlib.contextmanager
def claimed_domain():
    """
    Give the number of a ROS domain that no other test run and no other node on this machine uses.

    The first one tried follows from the process id. Holding its first port under TCP, where DDS does not
    go, tells other test runs; a taken UDP port of its first participant tells of other nodes.
    """
    for offset in range(len(DOMAINS)):
        domain = DOMAINS[(os.getpid() + offset) % len(DOMAINS)]
        ports = 7400 + 250 * domain
        with socket.socket() as claim, socket.socket(type=socket.SOCK_DGRAM) as probe:
            try:
                claim.bind(('127.0.0.1', ports))
                probe.bind(('', ports + 10))
            except OSError:
                continue
            probe.close()
            yield domain
            return
    pytest.fail('Every ROS domain of this machine is in use.')


@contextlib.contextmanager
def own_environment():
    """Limit discovery of this process and its children to this machine, in a claimed domain unless one is named."""
    with claimed_domain() as domain:
        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', ROS_DOMAIN_ID=str(domain))
        yield domain
