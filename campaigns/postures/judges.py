"""The judges by name, and one campaign's call of them."""

from collections.abc import Callable, Iterator
import time

from campaigns.postures.completeness import (
    CURVE_ROWS,
    judge_branches,
    judge_self_motions,
    NEWTON_ROWS,
)
from campaigns.postures.judging import Fault, ISOLATED, Judged, Tally
from campaigns.postures.laws import judge_laws, ROWS as LAW_ROWS
from campaigns.postures.planter import Group
from campaigns.postures.reach import judge_places, judge_reach, judge_waypoints, TASKS
from campaigns.postures.solving import judge_analytic, judge_auto, judge_solve
from campaigns.postures.steps import judge_steps, STEP_ROWS
from ssik_ros.errors import SsikError

JUDGES: dict[str, Callable[[Judged, Tally], Iterator[Fault]]] = {
    'solve': judge_solve,
    'Analytic': judge_analytic,
    'Auto': judge_auto,
    'steps': judge_steps,
    'reach': judge_reach,
    'place': judge_places,
    'waypoints': judge_waypoints,
    'branches': judge_branches,
    'self_motions': judge_self_motions,
    'laws': judge_laws,
}
"""By the name of the part of the package that they ask."""


ASKED = {
    'steps': STEP_ROWS,
    'place': TASKS,
    'waypoints': TASKS,
    'branches': NEWTON_ROWS,
    'self_motions': CURVE_ROWS,
    'laws': LAW_ROWS,
}
"""Postures of a group that costly judges ask about."""


def judge(group: Group, tally: Tally, names: tuple[str, ...] = tuple(JUDGES)) -> list[Fault]:
    """
    Let the package solve for all postures of a group; return the faults of its responses.

    :param group: planted postures.
    :param tally: to count in.
    :param names: keys of :data:`JUDGES`.
    """
    judged = Judged(group)
    tally.robots.add(group.robot.name)
    tally.planted += len(group.q)
    tally.singular += int((judged.sigma < ISOLATED).sum())
    faults = []
    for name in names:
        tally.trials[name, group.kind] += min(len(group.q), ASKED.get(name, len(group.q)))
        started = time.process_time()
        try:
            faults += JUDGES[name](judged, tally)
        except SsikError as error:
            faults.append(judged.fault('error', name, 0, f'{type(error).__name__}: {error}'))
        tally.seconds[name] += time.process_time() - started
    for fault in faults:
        tally.faults[fault.claim, fault.judge, fault.robot.name, fault.kind] += 1
    return faults
