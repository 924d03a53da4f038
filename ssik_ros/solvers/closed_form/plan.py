"""
Choose the closed form of a chain and its held joint, and pack them for the kernel: the plan of the chain.

Before a plan is accepted, it must solve the poses of 12 postures and find these postures again; 10 of them if the axes
fit the class only nearly. So a degenerate arm, which fits a rule but not its mathematics, goes on to the next rule.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import counted, TopologyMismatch
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.closed_form.elimination import general_6r
from ssik_ros.kernels.geometry.rotations import rotate_about
from ssik_ros.kernels.search import restarts
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry, EXACT_MEETING, EXACT_PARALLEL
from ssik_ros.problem.reach_hull import hull_of_wrist
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.rules import Match, matches, RULES
from ssik_ros.tolerances import DEFAULT_TOLERANCES
from ssik_ros.value_class import dataclass

PROBES = 12
"""Number of poses on which a plan is tested before it is accepted."""
APPROXIMATE_PROBES = 10
"""Poses that the closed form of a nearby chain must solve, of PROBES."""
NEARBY_PARALLEL = 0.02
"""Largest sine of an angle between axes that a nearby chain may treat as parallel."""
NEARBY_MEETING = 0.01
"""Largest distance of axes from a point, relative to the chain's size, that a nearby chain may treat as meeting."""
LEAST_TRAVEL = 0.1
"""Least travel of prismatic joints in the test poses [m], for chains whose points coincide."""
PROBE_SEED = 20_250_607
PREFERRED = (6, 0, 2, 4, 1, 5, 3)
"""Joints of seven in the order in which they are held: the last, the first, then the middle ones."""
HELD_PROBES = (0.0, 0.7, -1.9, 2.6)
"""Values of a held joint at which a rule is tested [rad or m]."""
LARGEST_CAPACITY = 4096
"""Most branches kept for one pose."""
CERTIFIED_ERROR = 1e-9
"""Largest Frobenius norm of FK - T of a certified branch."""
CANDIDATE_RESIDUAL = 1e-2
"""Largest residual of a candidate of an exact class that gets a Newton step (Frobenius norm of FK - T)."""
EXACT_FIT = 1e-10
"""Largest drift of axes of a class whose candidates may prove that a pose has no solution, in sizes of the chain. It is
above the rounding of right angles that makers write, such as 1.57079632679."""
RESIDUAL_PER_DRIFT = 20.0
"""Largest residual of candidates from a nearby chain, per metre of drift [1/m]."""
BRANCH_SEPARATION = 1e-3
"""If all joints of two branches differ by less than this, they may be one branch [rad or m]."""
TEST_POSTURE_DISTANCE = 1e-6
"""Largest difference of a joint if a test posture counts as found [rad, or lengths of the chain]."""


@dataclass(frozen=True, eq=False)
class AnalyticPlan:
    """
    The closed form chosen for a chain: the name of its class, the held joint, and the constants for the kernel.

    :func:`make_plan` makes it. ``reason`` is a text with the conditions that the axes meet. ``ints`` has the number of
    joints, the class, the held joint, the free joints and marks of the class, see :func:`_pack_ints`.
    """

    chain: SerialChain
    name: str
    """Name of the class, such as ``three_parallel``."""
    tier: str
    """``closed_form``, ``elimination``, or ``search`` if values of a held joint are sampled."""
    reason: str
    held: int
    """Index of the held joint, -1 if no joint is held."""
    ints: NDArray[np.int64]
    reals: FloatArray
    """Chain, limits, points where axes meet, and reach hull for the kernel; then the constants of the elimination, if
    any."""
    drift: float = 0.0
    """Distance of the axes from the class [m]; if not zero, candidates come from the nearest chain of the class."""

    @property
    def size(self) -> int:
        """Return the number of joints."""
        return len(self.chain.joint_names)

    @property
    def is_complete(self) -> bool:
        """
        Return whether the closed form finds all branches of any pose that is not singular.

        This is so if no joint is held and the axes fit the class exactly. At a (nearly) singular pose, branches may be
        missing.
        """
        return self.held < 0 and self.drift == 0.0

    @property
    def options(self) -> FloatArray:
        """Return the options array (OPTIONS,) of the kernel for a search of all branches, limits ignored."""
        options = np.zeros(search.OPTIONS)
        options[search.MAX_SOLUTIONS] = LARGEST_CAPACITY
        options[search.ERROR_OPTION] = CERTIFIED_ERROR
        options[search.RESIDUAL_OPTION] = (
            CANDIDATE_RESIDUAL
            if self.drift == 0.0
            else max(CANDIDATE_RESIDUAL, RESIDUAL_PER_DRIFT * self.drift)
        )
        options[search.SEPARATION_OPTION] = BRANCH_SEPARATION
        options[search.RIGID_OPTION] = DEFAULT_TOLERANCES.rigid
        return options


def make_plan(
    chain: SerialChain,
    held: int | None = None,
    *,
    parallel: float = EXACT_PARALLEL,
    meeting: float = EXACT_MEETING,
) -> AnalyticPlan:
    """
    Return the plan of a chain: the first proposed closed form that finds its test postures again.

    The tolerances below choose the class only. Branches are always certified on the chain itself.

    :param chain: up to seven revolute or prismatic joints.
    :param held: index of the joint of seven to hold; None means the one that suits best.
    :param parallel: largest sine of the angle between axes that count as parallel.
    :param meeting: largest distance of axes that count as meeting from their common point, in sizes of the chain.
    :raises TopologyMismatch: if no closed form solves the chain; the text says why.
    """
    n = len(chain.joint_names)
    if n > 7:
        raise TopologyMismatch(
            f"'{chain.base_link}' to '{chain.tip_link}' has {counted(n, 'joint')}; the analytic solver takes up to "
            'six, or seven with one held.'
        )
    for plan in possible_plans(chain, held, parallel, meeting):
        if held in (None, plan.held) and finds_postures(plan):
            return plan
    slides = [
        name for name, kind in zip(chain.joint_names, chain.kinds) if kind == JointKind.PRISMATIC
    ]
    if slides:
        raise TopologyMismatch(
            f"'{chain.base_link}' to '{chain.tip_link}' has prismatic joints ({', '.join(slides)}) where "
            'there is no closed form: at one end of the chain one or two of three joints may slide, with '
            'revolute joints whose axes meet behind them; or at most three joints are revolute; or the only slide '
            'of seven joints is held, and the others have a closed form.'
        )
    raise TopologyMismatch(
        f"The axes of '{chain.base_link}' to '{chain.tip_link}' are of no class with a closed "
        'form: no three neighbouring axes meet or are parallel in a way that helps.'
    )


def possible_plans(
    chain: SerialChain, held: int | None, parallel: float, meeting: float
) -> Iterator[AnalyticPlan]:
    """
    Yield the plans that the rules propose, best first.

    Plans whose class the axes fit within the given tolerances come first, then eliminations. For seven joints, classes
    that the axes fit nearly come between them. Eliminations are for revolute joints; the held one may be prismatic.

    :param chain: up to seven joints.
    :param held: index of the joint of seven to hold; None tries all joints.
    :param parallel: largest sine of the angle between axes that count as parallel.
    :param meeting: largest distance of axes that count as meeting from their common point, in sizes of the chain.
    """
    exact = AxisGeometry.of_chain(chain, parallel, meeting)
    n = len(chain.joint_names)
    if n <= 6:
        if n == 6 or exact.slides:
            for match in matches(exact):
                yield _pack(chain, match, -1, exact, is_exact=True)
        if not exact.slides:
            yield from _general_plans(chain, (-1,))
        return
    # Nearby classes and the elimination support only revolute joints: there, a prismatic joint must be the held joint.
    joints = PREFERRED if held is None else (held,)
    revolute = [joint for joint in joints if exact.slides <= {joint}]
    yield from _held_plans(chain, exact, joints, is_exact=True)
    nearby = replace(
        exact, parallel=max(parallel, NEARBY_PARALLEL), near=max(meeting, NEARBY_MEETING)
    )
    yield from _held_plans(chain, nearby, revolute, is_exact=False)
    yield from _general_plans(chain, revolute)


def _general_plans(chain: SerialChain, held_joints: Iterable[int]) -> Iterator[AnalyticPlan]:
    """
    Yield the plans that solve by elimination, one for each joint of ``held_joints`` for which elimination works.

    :param held_joints: indices of joints to hold; -1 holds none.
    """
    for held in held_joints:
        start, constants, is_exact = _prepare_elimination(chain, held)
        if start < 0:
            continue
        lock = '' if held < 0 else f", with joint '{chain.joint_names[held]}' held"
        n = len(chain.joint_names)
        ints = _pack_ints(chain, held, candidates.GENERAL, 0, start)
        ints[search.INEXACT] = not is_exact
        yield AnalyticPlan(
            chain=chain,
            name='general_6r' if n >= 6 else f'general_{n}r',
            tier='elimination' if held < 0 else 'search',
            reason=f'{_why_elimination(n)}{lock}',
            held=held,
            ints=ints,
            reals=_pack_reals(chain, np.full(6, np.nan), chain, constants),
        )


def _held_plans(
    chain: SerialChain, geometry: AxisGeometry, held_joints: Iterable[int], *, is_exact: bool
) -> Iterator[AnalyticPlan]:
    """
    Yield the plans of seven joints with one of ``held_joints`` held, best first.

    :param geometry: the axes of the chain, with the tolerances for parallel and for meeting axes.
    :param held_joints: indices of the joints that may be held.
    :param is_exact: False if the candidates come from a chain with slightly moved axes that fits the class exactly.
    """
    proposals = [
        (RULES.index(match.rule), PREFERRED.index(held), held, match)
        for held in held_joints
        for match in _persistent_matches(geometry, held)
    ]
    for _, _, held, match in sorted(proposals, key=lambda proposal: proposal[:2]):
        yield _pack(chain, match, held, geometry, is_exact=is_exact)


def _why_elimination(n: int) -> str:
    """Return the text that says why a chain of ``n`` joints is solved by elimination."""
    if n < 6:
        return f'fewer than six joints: elimination with {6 - n} added that must not move'
    return 'no axes are special: elimination'


def _prepare_elimination(chain: SerialChain, held: int) -> tuple[int, FloatArray, bool]:
    """
    Return (cut, constants, is_exact) of the elimination for a chain with joint ``held`` held, -1 for none.

    The elimination cuts the closed kinematic loop at one joint; ``cut`` is the number of this place. It is -1, with
    empty constants, if no place works. An exact elimination may prove that a pose has no solution.
    """
    geometry = _with_added_joints(AxisGeometry.of_chain(chain))
    if held >= 0:
        # The value is arbitrary; zero could make the chain special.
        geometry = _moved_behind(geometry, held, HELD_PROBES[1]).without(held)
    start, is_exact = general_6r.choose_start(geometry.axes, geometry.points)
    if start < 0:
        return -1, np.zeros(0), is_exact
    return start, general_6r.prepare(geometry.axes, geometry.points, start), is_exact


def _with_added_joints(geometry: AxisGeometry) -> AxisGeometry:
    """
    Return the axes of a chain of fewer than six joints, filled up to six with random axes, the same at each call.

    The axes of longer chains are returned unchanged.
    """
    missing = 6 - len(geometry.axes)
    if missing <= 0:
        return geometry
    rng = np.random.default_rng(PROBE_SEED)
    axes = rng.standard_normal((missing, 3))
    points = geometry.points[-1] + geometry.size * rng.uniform(-1.0, 1.0, (missing, 3))
    return AxisGeometry(
        np.vstack([geometry.axes, axes / np.linalg.norm(axes, axis=1)[:, None]]),
        np.vstack([geometry.points, points]),
    )


def _persistent_matches(geometry: AxisGeometry, held: int) -> list[Match]:
    """
    Return the rules that the six free axes fit at each of four test values of the held joint, best first.

    A rule is left out if the held joint moves some axes of a special point (where axes meet), and others not.
    """
    persistent = matches(geometry.without(held))
    for value in HELD_PROBES[1:]:
        if not persistent:
            break
        there = _moved_behind(geometry, held, value).without(held)
        back = there.reversed()
        persistent = [
            m for m in persistent if m.rule.applies(back if m.is_reversed else there) is not None
        ]
    return [match for match in persistent if _sides(match, held) is not None]


def _moved_behind(geometry: AxisGeometry, held: int, value: float) -> AxisGeometry:
    """Return a copy of the axes after joint ``held`` has moved by ``value`` [rad or m]; only later axes change."""
    axes, points = geometry.axes.copy(), geometry.points.copy()
    if held in geometry.slides:
        points[held + 1 :] += value * axes[held]
    else:
        rotation = rotate_about(axes[held], value)
        center = points[held]
        axes[held + 1 :] = axes[held + 1 :] @ rotation.T
        points[held + 1 :] = (points[held + 1 :] - center) @ rotation.T + center
    return replace(geometry, axes=axes, points=points)


def _sides(match: Match, held: int) -> tuple[bool, bool] | None:
    """
    Return for each of the two special points of a class whether the held joint moves it.

    A special point is a point where axes meet. Return None if the held joint is between the axes of one point: then it
    moves some of them and not the others.
    """
    sides = []
    for joints in match.special.joints:
        moves = {0 <= held < joint for joint in _original(match, held, joints)}
        if len(moves) > 1:
            return None
        sides.append(bool(moves and moves.pop()))
    return sides[0], sides[1]


def _pack(
    chain: SerialChain, match: Match, held: int, geometry: AxisGeometry, *, is_exact: bool
) -> AnalyticPlan:
    """
    Return the plan for a chain that fits a rule.

    :param match: the rule that fits.
    :param held: index of the held joint, -1 for none.
    :param geometry: the axes of the chain, with the tolerances at which the rule fits.
    :param is_exact: True makes a plan of the class itself. False adds the constants of an elimination and marks the
        plan as a nearby class. True acts like False if the axes fit too badly for Newton steps. The candidates come
        from the real axes; if a tolerance exceeds EXACT_MEETING, from nearby axes that fit the class exactly.
    """
    is_near_allowed = max(geometry.near, geometry.parallel) > EXACT_MEETING
    # Rules name axes of six revolute joints.
    has_all_axes = len(geometry.axes) == 6 and not geometry.slides
    nearby = geometry
    if is_near_allowed or has_all_axes:
        nearby = _nearest_chain(geometry, match, held)
    drift = _drift(geometry, nearby)
    is_inexact = drift > EXACT_FIT * geometry.size
    if not is_near_allowed:
        nearby, drift = geometry, 0.0
    # With a larger drift, candidates would miss their branches by more than Newton steps are allowed to repair.
    is_exact = is_exact and RESIDUAL_PER_DRIFT * drift <= CANDIDATE_RESIDUAL
    cut, constants, _ = (-1, np.zeros(0), True) if is_exact else _prepare_elimination(chain, held)
    ints = _pack_ints(chain, held, match.rule.kind, match.rule.case, cut)
    ints[search.REVERSED] = match.is_reversed
    ints[search.INEXACT] = is_inexact
    ints[search.BEHIND : search.BEHIND + 2] = _sides(match, held) or (False, False)
    where = ' of the reversed chain' if match.is_reversed else ''
    lock = '' if held < 0 else f" with joint '{chain.joint_names[held]}' held"
    nearly = '' if is_exact else f', nearly (by {1000.0 * drift:.3g} mm)'
    return AnalyticPlan(
        chain=chain,
        name=match.rule.name if is_exact else f'{match.rule.name}_polished',
        tier='closed_form' if held < 0 else 'search',
        reason=f'{match.rule.reason}{where}{lock}{nearly}',
        held=held,
        ints=ints,
        reals=_pack_reals(chain, match.special.points, nearby, constants),
        drift=0.0 if is_exact else drift,
    )


def _pack_reals(
    chain: SerialChain,
    special: FloatArray,
    solved: SerialChain | AxisGeometry,
    constants: FloatArray,
) -> FloatArray:
    """
    Return the real numbers of a plan: chain, limits, special points, reach hull, then constants of an elimination.

    :param special: (6,) the two points where axes of the class meet; NaN for a missing point.
    :param solved: chain or axes that the closed form solves for its candidates; may differ slightly from ``chain``.
    :param constants: constants of the elimination; may be empty.
    """
    home = chain.packed.home
    reach = chain.lower, chain.upper, special, solved.axes, solved.points, hull_of_wrist(chain)
    return np.concatenate([search.pack_plan(chain.axes, chain.points, home, *reach), constants])


def _pack_ints(chain: SerialChain, held: int, kind: int, case: int, cut: int) -> NDArray[np.int64]:
    """
    Return the integers of a plan: number of joints, held joint, class, cut, prismatic joints and free joints.

    The caller sets the marks for a reversed chain, an inexact class and moved special points, which are zero here.

    :param held: index of the held joint, -1 for none.
    :param kind, case: class of the chain, and its variant.
    :param cut: number of the place at which an elimination cuts the loop; -1 without elimination.
    """
    n = len(chain.joint_names)
    ints = np.zeros(search.PLAN_INTS, dtype=np.int64)
    ints[search.N], ints[search.HELD] = n, held
    ints[search.KIND], ints[search.CASE], ints[search.CUT] = kind, case, cut
    ints[search.SLIDES] = chain.packed.slides
    free = [joint for joint in range(n) if joint != held]
    ints[search.JOINT_INDICES : search.JOINT_INDICES + len(free)] = free
    return ints


def _nearest_chain(geometry: AxisGeometry, match: Match, held: int) -> AxisGeometry:
    """
    Return the axes of the chain, changed slightly so that they fit the class of ``match`` exactly.

    Axes that should meet are moved to their common point; axes that should be parallel get their mean direction.

    :param match: the class, and its special points.
    :param held: index of the held joint, -1 for none; its axis is not changed.
    """
    axes, points = geometry.axes.copy(), geometry.points.copy()
    for joints, point in zip(
        match.special.joints, match.special.points.reshape(2, 3), strict=True
    ):
        for joint in _original(match, held, joints) if np.isfinite(point).all() else ():
            points[joint] = point
    for joints in match.rule.parallel:
        originals = _original(match, held, joints)
        signs = np.sign(axes[originals] @ axes[originals[0]])
        mean = (signs[:, None] * axes[originals]).sum(axis=0)
        axes[originals] = signs[:, None] * (mean / np.linalg.norm(mean))
    return AxisGeometry(axes, points)


def _original(match: Match, held: int, joints: tuple[int, ...]) -> list[int]:
    """
    Return the indices in the chain of joints that a rule numbers from 0 to 5.

    The rule leaves out the held joint, and counts from the tip if it fits the reversed chain.
    """
    free = [5 - joint if match.is_reversed else joint for joint in joints]
    return [joint + (0 <= held <= joint) for joint in free]


def _drift(geometry: AxisGeometry, nearby: AxisGeometry) -> float:
    """
    Return how far the axes of ``geometry`` are from the axes of ``nearby`` [m].

    The drift is the largest shift of an axis, plus the size of the chain times the largest sine of a tilt. A tilt is
    the angle between an axis and the same axis of ``nearby``.
    """
    gaps = np.cross(geometry.axes, nearby.points - geometry.points)
    tilts = np.cross(geometry.axes, nearby.axes)
    size = geometry.size
    return float(np.linalg.norm(gaps, axis=1).max() + size * np.linalg.norm(tilts, axis=1).max())


def finds_postures(plan: AnalyticPlan) -> bool:
    """
    Return whether a plan finds 12 random test postures again among the branches of their poses.

    A plan whose candidates come from slightly moved axes passes with 10 of 12.

    :param plan: one of :func:`possible_plans`.
    """
    random = np.array([PROBE_SEED], dtype=np.uint64)
    arrays = BranchArrays(plan.size, search.BRANCHES_OF_SIX)
    geometry = AxisGeometry.of_chain(plan.chain)
    slides, size = sorted(geometry.slides), max(geometry.size, LEAST_TRAVEL)
    options = plan.options
    missed, may_miss = 0, 0 if plan.drift == 0.0 else PROBES - APPROXIMATE_PROBES
    for _ in range(PROBES):
        # numpy's generators are avoided: their import delays the first solution, see docs/explanation/performance.md.
        posture = np.array([restarts.uniform(random) for _ in range(plan.size)])
        posture = np.pi * (2.0 * posture - 1.0)
        posture[slides] *= size / np.pi
        target = plan.chain.pose(posture)
        samples = posture[plan.held : plan.held + 1] if plan.held >= 0 else np.zeros(1)
        prepared = Prepared(plan.ints, plan.reals, samples.copy(), posture, options)
        branches = arrays.rows[: arrays.search(prepared, target), : plan.size]
        differences = np.abs(np.exp(1j * branches) - np.exp(1j * posture))
        differences[:, slides] = np.abs(branches - posture)[:, slides] / size
        missed += not (differences.max(axis=1) < TEST_POSTURE_DISTANCE).any()
    return missed <= may_miss
