"""
Decide whether the branches of a nearby chain probably lead to all branches of the true chain.

Problem
-------
A class with a closed form has up to eight candidates on the chain nearest to the true chain. Newton steps turn each of
them into a branch of the true chain. Does the true chain have other branches?

Method
------
Between the nearby chain and the true chain, branches are born in pairs, and the Jacobian is singular at their
birthplace. If the axes drift by d, a birthplace is within a multiple of d of a candidate, counted in the chain's size.
So a candidate whose Jacobian has a pivot below this bound leaves a doubt. The multiple is observed, not proved.

Cost
----
One forward pass and one elimination of six equations for each candidate.
"""

from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.closed_form.certification import certify
from ssik_ros.kernels.geometry import vectors
from ssik_ros.kernels.rows import linalg

JOINTS = 6
BIRTHPLACE = 0.4
"""Pivot below which branches may be born, as a multiple of a candidate's largest miss over the size; observed: at most
0.28."""


@kernel
def smallest_pivot(system):
    """
    Return the smallest pivot of a 6x6 matrix, divided by its largest entry; 0 if the matrix is singular.

    :param system: (6, 6 or more) the matrix in the first six columns, overwritten.
    """
    smallest = largest = linalg.largest_entry(system, JOINTS)
    for k in range(JOINTS):
        best, size = linalg.find_pivot(system, k, JOINTS)
        smallest = min(smallest, size)
        if not smallest > 0.0:
            return 0.0
        linalg.exchange_rows(system, k, best, k, JOINTS)
        linalg.clear_below(system, k, JOINTS, system[k, k], k, JOINTS)
    return smallest / largest


@kernel
def are_all(axes, points, home, n, slides, free, raw, count, near, scratch):
    """
    Return whether the candidates of the nearest chain of a class probably lead to all branches of the true chain.

    False means a doubt: a candidate is so close to a singular posture that further branches may exist there. True is
    not proved, because BIRTHPLACE is an observed bound. Without candidates the result is True.

    :param axes, points, home, n, slides: the true chain of n joints, as for :func:`certify.evaluate`.
    :param free: (n,) indices of the joints; the first six of them may move.
    :param raw: (., n) candidates from the nearby chain in its first ``count`` rows [rad or m].
    :param count: number of candidates.
    :param near: largest distance by which a candidate may miss its branch, a few times the drift of the axes [m].
    :param scratch: flat scratch of ``certify.scratch_size(n)`` numbers.
    """
    room = certify.view_scratch(scratch, n)
    screws, pose, system = room.screws, room.pose, room.system
    for row in range(count):
        certify.evaluate(axes, points, home, n, slides, raw[row], screws, pose)
        certify.write_system(system, screws, slides, free, JOINTS, pose, pose, 1.0)
        size = 0.0
        for k in range(3):
            size = max(size, vectors.largest_of(system[k], JOINTS))
        for k in range(3):
            vectors.divide(system[k], size, JOINTS)
        if not smallest_pivot(system) * size > BIRTHPLACE * near:
            return False
    return True
