"""The arms of the catalogue as the package reads them and as the oracle does, and how their branches are asked for."""

import functools

from test.closed_form.synthetic_arms import serial_chain
from test.complete_oracle import chain_from_urdf

import numpy as np

from ssik_ros.model.catalogue import arm_data, list_arms, load_arm, make_urdf
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, KEEP_ALL

TURNING = tuple(name for name in list_arms() if arm_data(name).expected_class != 'prismatic')
SIX = tuple(name for name in TURNING if arm_data(name).dof == 6)
SEVEN = tuple(name for name in TURNING if arm_data(name).dof == 7)
EXACT_SRS = ('iiwa7', 'iiwa14')


@functools.cache
def catalogue_chain(name):
    """Return the oracle's chain of an arm, from the text of its URDF."""
    data = arm_data(name)
    return chain_from_urdf(make_urdf(data), data.base_link, data.tip_link)


@functools.cache
def catalogue_arm(name):
    """Return the arm under test."""
    data = arm_data(name)
    return AnalyticArm(SerialChain.from_robot(load_arm(name), data.base_link, data.tip_link))


def arm_of(chain):
    """Return the arm under test of an oracle's chain, without limits."""
    return AnalyticArm(serial_chain(chain))


def ask(arm, pose, q=None, held=None):
    """
    Return the arm's branches of a pose, without limits and windings.

    :param q: posture whose value a held joint keeps.
    """
    request = BranchRequest(mode=KEEP_ALL)
    if held is not None:
        request = request._replace(held=held, held_values=np.array([q[held]]))
    return arm.branches(np.ascontiguousarray(pose), request)


def six_of(chain, arm, q):
    """Return the chain of six joints that a plan solves, and the index of the joint that it holds (or None)."""
    held = arm.plan.held
    return (chain, None) if held < 0 else (chain.held(held, q[held]), held)
