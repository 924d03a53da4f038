"""Memory that a server keeps after requests: bounded for any names in them."""

import gc

from test.server.served_robots import ik_request, serve

import numpy as np
import pytest

from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.server.groups.batches import BatchRequest
from ssik_ros.server.requests.constraints import ConstraintsGiven
from ssik_ros.server.requests.ik_requests import (
    BranchOptions,
    CarriedGiven,
    FkRequest,
    ObjectGiven,
    SelfMotionOptions,
    StateGiven,
    StateRequest,
)

ARM = 'panda_arm'
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ROUNDS = 128
"""Requests of each kind that have nothing in common with those before; caches that are emptied when they are full hold a
power of two, so that they are as full after this many as before."""
GROWTH = 40
"""Objects by which the interpreter may grow meanwhile: less than one for each request of a kind."""


@pytest.fixture(scope='module')
def server(robots):
    return serve(robots['panda'])


@pytest.fixture(scope='module')
def ready(server):
    return server.groups[ARM].with_group(server.states.default(), READY)


def request_of(server, here, **fields):
    """Return a request for the pose of the hand in a state."""
    pose = server.frames.link_in_root('panda_link8', here)
    return ik_request(ARM, [('panda_link8', pose)], **fields)


def carried(number):
    """Return a state that carries an object unknown to the server."""
    shape = ObjectShape(SolidKind.BOX, (0.01 + 1e-5 * number,) * 3, np.eye(4))
    box = WorldObject(f'box {number}', np.eye(4), [shape])
    given = ObjectGiven(box, '', 'panda_link8')
    return StateGiven(carried=CarriedGiven([given]))


KINDS = {
    'tolerances of all branches': lambda server, ready, k: server.solve_all(
        request_of(server, ready, branches=BranchOptions(tolerance=1e-4 * (1 + 1e-3 * k))), ready
    ),
    'resolutions of self-motions': lambda server, ready, k: server.self_motions(
        request_of(
            server, ready, self_motions=SelfMotionOptions(resolution=0.05 / (1 + 0.02 * k))
        ),
        ready,
    ),
    'axes of self-motions': lambda server, ready, k: server.self_motions(
        request_of(
            server,
            ready,
            self_motions=SelfMotionOptions((0.0, np.sin(k), np.cos(k)), resolution=0.2),
        ),
        ready,
    ),
    'carried objects': lambda server, ready, k: server.solve(
        request_of(server, ready, state=carried(k), avoid_collisions=True), ready
    ),
    'names of joints': lambda server, ready, k: server.solve(
        request_of(server, ready, state=StateGiven([f'joint {k}'], [0.0])), ready
    ),
    'links': lambda server, ready, k: server.compute_fk(FkRequest([f'link {k}']), ready),
    'frames': lambda server, ready, k: server.compute_fk(
        FkRequest(['panda_link8'], f'frame {k}'), ready
    ),
    'groups': lambda server, ready, k: server.check_state(StateRequest(f'group {k}'), ready),
    'constraints': lambda server, ready, k: server.check_state(
        StateRequest(ARM, constraints=ConstraintsGiven([], [], [], (f'constraints {k}',))), ready
    ),
    'batches': lambda server, ready, k: server.solve_batch(
        BatchRequest(ARM, np.array([0.4, 0.01 * k, 0.4, 1.0, 0.0, 0.0, 0.0]), link=f'link {k}'),
        ready,
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize('kind', KINDS)
def test_requests_leave_nothing_behind(server, ready, kind):
    ask = KINDS[kind]
    # As many as the caches hold, so that all of them are full.
    for number in range(ROUNDS):
        ask(server, ready, number)
    gc.collect()
    before = len(gc.get_objects())
    for number in range(ROUNDS, 2 * ROUNDS):
        ask(server, ready, number)
    gc.collect()
    grown = len(gc.get_objects()) - before
    assert grown < GROWTH
