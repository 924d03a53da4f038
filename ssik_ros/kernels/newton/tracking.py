"""
One cycle of a control loop: towards a target, within the motion that one cycle allows.

Problem
    Given a configuration, a target and the largest motion of each joint in one cycle, find a configuration inside
    that box and the joint limits that reaches the target, or the one among those seen that comes nearest.

Method
    One search without restarts, from the configuration, confined to the box. Its steps end inside the box and solve
    for the joints that are not stopped, so that a target out of reach is approached as far as the box allows.

Solutions
    One; nothing is allocated.

Degeneracies
    Targets and states that are not usable leave the configuration as it is.

Cost
    That of one start.
"""

from ssik_ros.kernels import layout
from ssik_ros.kernels import pose_search
from ssik_ros.kernels._jit import kernel
from ssik_ros.kernels.newton import paths
from ssik_ros.kernels.newton import search

# Numbers of a cycle: error norm before and after, iterations, joints stopped by the cycle's motion and by limits.
BEFORE = 0
AFTER = 1
ITERATIONS = 2
STEP_STOPPED = 3
LIMIT_STOPPED = 4
NUMBERS = 5
AT_BOUND = 1e-9
"""Distance from a bound that counts as being there [rad or m]."""


@kernel
def follow(ints, reals, base, own, bounds, cancel, counters, work, out, q, report):
    """
    Move a configuration towards the target that stands in ``matrices`` of the workspace.

    :param base: options of a search with a seed and one start; own: a copy of them, overwritten.
    :param bounds: (nv,) largest motion of each joint.
    :param cancel, counters, work, out: as for one search; ``out`` has two rows.
    :param q: (nq,) configuration, moved in place.
    :param report: (NUMBERS,) result.
    :returns: code of the search.
    """
    w = layout.view_workspace(ints, work)
    w.reference[:] = q
    paths.confine(ints, reals, base, q, bounds, own)
    code = search.search(ints, reals, own, pose_search.FRESH, 0, cancel, counters, work, out)
    report[:] = 0.0
    report[ITERATIONS] = counters[pose_search.ITERATIONS]
    if code == pose_search.BAD_TARGET or code == pose_search.BAD_STATE:
        return code
    square, _ = search.measure(ints, reals, own, work, w.reference)
    report[BEFORE] = square
    if code == pose_search.FOUND:
        for k in range(q.shape[0]):
            q[k] = out[0, k]
    else:
        square, _ = search.measure(ints, reals, own, work, w.best)
        report[AFTER] = square
        if square < report[BEFORE]:
            q[:] = w.best
    report[AFTER], _ = search.measure(ints, reals, own, work, q)
    variable_i = layout.view_tables(ints, reals).variable_i
    for v in range(bounds.shape[0]):
        if variable_i[v, layout.VARIABLE_KIND] <= layout.LINEAR:
            value = q[variable_i[v, layout.VARIABLE_Q]]
            lower, upper = base[search.OPTIONS + v], base[search.OPTIONS + bounds.shape[0] + v]
            at_limit = value <= lower + AT_BOUND or value >= upper - AT_BOUND
            at_box = value <= w.lower[v] + AT_BOUND or value >= w.upper[v] - AT_BOUND
            if at_limit:
                report[LIMIT_STOPPED] += 1.0
            elif at_box:
                report[STEP_STOPPED] += 1.0
    return code
