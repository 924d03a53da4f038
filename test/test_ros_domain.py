"""Domains of tests: claimed once, and the tests' own environment."""

import os
import socket

from test.ros_domain import claimed_domain, DOMAINS


def test_claims_at_the_same_time_differ():
    with claimed_domain() as one, claimed_domain() as two, claimed_domain() as three:
        assert len({one, two, three}) == 3


def test_a_claim_ends_with_its_block():
    with claimed_domain() as one:
        pass
    with claimed_domain() as two:
        assert one == two


def test_a_domain_in_which_a_node_listens_is_passed_over():
    with claimed_domain() as first:
        pass
    with socket.socket(type=socket.SOCK_DGRAM) as listener:
        listener.bind(('', 7400 + 250 * first + 10))
        with claimed_domain() as second:
            assert second != first


def test_nodes_of_this_process_are_in_a_domain_that_it_holds():
    domain = int(os.environ['ROS_DOMAIN_ID'])
    assert domain in DOMAINS and os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    with claimed_domain() as other:
        assert other != domain
