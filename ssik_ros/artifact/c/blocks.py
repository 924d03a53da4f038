"""
Pack the solvers of a planning group into an array of 64-bit words, the *image* that the C library reads.

:func:`find_arm` finds the solvers of a planning group, and :func:`pack` returns the image.

An image holds a head, a table with the begin of each section, and the sections. These are single numbers, thresholds,
joint limits, names, and four packed parts: closed form, search, control loop and forward kinematics.
:mod:`ssik_ros.artifact.c.image_rules` has the rules of the sections. ``layout.h`` has the constants with which the C
library reads images and the arrays of kernels.
"""

from collections.abc import Iterable, Sequence
import dataclasses
import logging
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.artifact.c import image, image_headers, image_rules
from ssik_ros.errors import (
    InvalidOption,
    list_names,
    ModelError,
    TopologyMismatch,
    UnsupportedJoint,
)
from ssik_ros.kernels.closed_form.branches import branch_block, plan_layout, search
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.native.freeze import Frozen
from ssik_ros.kernels.rows import layout, reach_hull
from ssik_ros.kernels.search import plain_request, restart_search, state, tracking
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.problem import Problem
from ssik_ros.solvers.auto import plain_requests
from ssik_ros.solvers.auto.policy import Knowledge
from ssik_ros.solvers.auto.solver import AutoSolver
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest, METRICS
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.solver import AnalyticSolver
from ssik_ros.solvers.closed_form.windings import MOST_WINDINGS
from ssik_ros.solvers.kinematics_yaml import GroupKinematics
from ssik_ros.solvers.registry import create_solver
from ssik_ros.solvers.search.arrays import SingleArrays
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.settings import SearchSettings, tip_tolerances
from ssik_ros.solvers.search.solver import SearchSolver

_LOGGER = logging.getLogger('ssik_ros.artifact.c.blocks')

SAMPLES = 16
"""Values of the held joint of seven that a pose is solved for, unless told otherwise."""
CLOSED_FORMS = r'(branches|elimination)\d+(search|held_search|general_search)6search'
SEARCHES = r'kernels6search'
KINEMATICS = r'kernels4rows13relative_pose'
"""Symbols of the functions that take the packed closed form, the packed search, and the chain."""
CHANGING = frozenset(
    {
        *(state.MAX_ITERATIONS, state.MAX_SEARCHES, state.NEAR_SQUARED, state.VALIDATED),
        state.KEEPS_LOOKING,
    }
)
"""Options of a search that a request or the search itself writes."""


class Form(NamedTuple):
    """The closed form of an arm, with the packed arrays that its kernels read, and the largest number of branches."""

    arm: AnalyticArm
    """The arm with the plan of its closed form; the plan has the integers that the kernels read."""
    reals: FloatArray
    """Real numbers of the plan, with the constants of an elimination at the end if there is one."""
    options: FloatArray
    """(search.OPTIONS,) options of a call of the closed form."""
    capacity: int
    """Largest number of branches."""

    @property
    def kind(self) -> int:
        """
        Return the method of the closed form: ``image_rules.DIRECT`` or ``image_rules.ELIMINATION``.

        DIRECT evaluates formulas, ELIMINATION finds the roots of a polynomial.
        """
        return (
            image_rules.ELIMINATION if self.arm.plan.ints[search.CUT] >= 0 else image_rules.DIRECT
        )

    @property
    def has_arcs(self) -> bool:
        """
        Return whether the held joint is sampled only on arcs: ranges of its values with a branch within limits.

        It is False without a held joint, if a joint slides, and for classes of arms that do not support arcs.
        """
        return self.arm.requests.has_arcs(BranchRequest())

    def widest(self) -> int:
        """
        Return an upper bound on the number of windings that any joint has within its limits, but at most 2^20.

        Windings of an angle differ by whole turns. The bound is 1 + range / 2 pi, rounded up, for the widest range
        above 2 pi. It is 1 without such a range; slides and joints without limits do not count.
        """
        chain, turn = self.arm.chain, 2.0 * math.pi
        ranges = [
            high - low
            for low, high, kind in zip(chain.lower, chain.upper, chain.kinds, strict=True)
            if math.isfinite(high - low) and high - low > turn and kind != JointKind.PRISMATIC
        ]
        most = 1 + max((math.ceil(value / turn) for value in ranges), default=0)
        return min(most, image_rules.MOST_WIDEST)


class Order(NamedTuple):
    """
    How the C library solves one pose of an arm: the order of closed form and search, and two rules for requests.

    The first three fields say when the closed form runs; at most one of them is True. If all are False, the
    kernel of plain requests only searches. A plain request has one pose, one seed and no conditions.
    """

    is_first: bool = False
    """Whether the closed form runs before the search, in the kernel of plain requests."""
    is_last: bool = False
    """Whether the closed form runs after a search without a solution."""
    is_only: bool = False
    """Whether the closed form runs without any search."""
    is_plain: bool = False
    """Whether a kernel of plain requests solves one pose; False solves it like a request with conditions."""
    follows_seed: bool = True
    """
    Whether a descent from a seed near the target may give the solution; read only with ``is_first``.

    Another solution may then be nearer to the seed. False always takes the nearest branch of the closed form.
    """


class Arm(NamedTuple):
    """A planning group with its solvers, ready to be packed for the C library: one arm, or several tips of one tree."""

    robot: RobotModel
    group: JointGroup
    """The planning group, whose joints are the variables and whose tips get the target poses."""
    solver: str
    """Name of the solver, such as ``ssik_ros/Auto``."""
    form: Form | None
    """The closed form; None without one."""
    reason: str
    """Reason for this closed form, or cause of its absence."""
    order: Order
    """Order of closed form and search."""
    search: SearchSolver
    """The search; it is packed in any case, also if only the closed form runs."""
    tolerance: float
    """Largest norm over position [m] and rotation [rad] error of a solution."""
    kinematics: ChainKinematics
    """Forward kinematics of the first tip."""
    plain: plain_requests.PlainRequests | None = None
    """
    Solver of plain requests in the package with the same results; it makes the recorded poses of a self-test.

    None for other solvers than ``ssik_ros/Auto``, and for requests that this solver cannot answer by one kernel call,
    such as requests for several tips.
    """

    @property
    def problem(self) -> Problem:
        """Return the packed problem of the search."""
        return self.search.problem

    @property
    def options(self) -> FloatArray:
        """Return a copy of the packed options of the search, in which the tolerance of every tip is the arm's."""
        options = self.search.packed.copy()
        tip_tolerances(options, self.problem.nv, len(self.group.tips))[state.NORM] = self.tolerance
        return options

    @property
    def track_options(self) -> FloatArray:
        """
        Return the packed options of a control loop, with the tolerance of the arm.

        The control loop uses Levenberg-Marquardt with default settings, whatever the solver of the arm is. Only the
        largest number of searches is copied from the search of the arm.
        """
        settings = SearchSettings(tolerance=self.tolerance)
        starts = int(self.search.packed[state.MAX_SEARCHES])
        return dataclasses.replace(settings, slimit=starts).pack(self.problem, self.search.start)


def find_arm(
    robot: RobotModel,
    group: JointGroup,
    samples: int = SAMPLES,
    kinematics: GroupKinematics | None = None,
) -> Arm:
    """
    Return a planning group with the solvers that the C library runs for it.

    :param robot, group: the robot and its planning group.
    :param samples: number of values of the held joint for which a pose of seven joints is solved, 1 to 64. Only
        ``ssik_ros/Auto`` reads it; a closed form that is the solver itself has its own number.
    :param kinematics: the solver with its parameters; None means ``ssik_ros/Auto`` with its defaults.
    :raises InvalidOption: for too few or too many samples.
    :raises InvalidParameter: for parameters that the solver refuses.
    :raises UnknownSolver: for a solver that is not registered.
    :raises TopologyMismatch: if the solver does not fit the group or the C library cannot run it. Also if a variable
        does not belong to one joint of the group.
    :raises SsikError: as :func:`~ssik_ros.solvers.registry.create_solver`.
    """
    if not 1 <= samples <= image_rules.MOST_SAMPLES:
        most = image_rules.MOST_SAMPLES
        raise InvalidOption(f'--redundancy-samples is {samples}; it is a number from 1 to {most}.')
    chosen = kinematics or GroupKinematics(group.name)
    solver = create_solver(
        chosen.solver, robot, group, chosen.parameters, position_only=chosen.position_only
    )
    if isinstance(solver, AnalyticSolver):
        arm = _arm_of_closed_form(robot, group, solver)
    elif isinstance(solver, AutoSolver):
        arm = _arm_of_auto(robot, group, solver, samples)
    elif isinstance(solver, SearchSolver) and solver.kernel is restart_search.search:
        arm = _arm_of_search(robot, group, solver, f'{solver.name} searches')
    else:
        raise TopologyMismatch(
            f'{chosen.solver} has no form in C. A server of the package solves for other programs.'
        )
    _require_own_variables(arm)
    return arm


def _require_own_variables(arm: Arm) -> None:
    """Raise TopologyMismatch unless the problem has exactly one variable for each joint of the group."""
    problem, group = arm.problem, arm.group
    if problem.nq != problem.group_size:
        others = sorted(set(problem.joint_of_variable) - set(group.joint_names))
        raise TopologyMismatch(
            f"Joints outside group '{group.name}' move its tip: {list_names(others)}. A C library is for groups whose own "
            'joints are all variables. Only the Python package solves it.'
        )
    if len(group.variable_names) != len(group.joint_names):
        raise TopologyMismatch(
            f"A joint of group '{group.name}' has several variables ({list_names(group.variable_names)}). A C library is "
            'for joints with one. Only the Python package solves it.'
        )


def _arm_of_search(robot: RobotModel, group: JointGroup, search: SearchSolver, reason: str) -> Arm:
    """
    Return a group that is solved by ``search`` only, without a closed form.

    An infinite tolerance is replaced by the default one.

    :param reason: text for users that says why the group has no closed form, or which solver searches.
    """
    is_plain = len(group.tips) == 1 and not search.packed[state.OPTIMISE]
    tolerance = search.settings.tolerance
    if not math.isfinite(tolerance):
        tolerance = PoseIkOptions().target_tolerance
    kinematics = ChainKinematics(robot, group, group.base_link, group.tips[0])
    order = Order(is_plain=is_plain)
    return Arm(robot, group, search.name, None, reason, order, search, tolerance, kinematics)


def _arm_of_auto(robot: RobotModel, group: JointGroup, solver: AutoSolver, samples: int) -> Arm:
    """
    Return a group whose solver ``ssik_ros/Auto`` runs a closed form, a search, or both.

    :param samples: number of values of the held joint.
    """
    arm = _arm_of_search(robot, group, solver.search, solver.reason)
    arm = arm._replace(
        solver=solver.name, tolerance=solver.options.target_tolerance, plain=solver.plain
    )
    if not solver.has_closed_form:
        return arm
    form, reason = _find_form(robot, group, samples)
    is_plain, knowledge = solver.plain is not None, solver.knowledge
    order = Order(
        is_first=is_plain and knowledge == Knowledge.ALL_AT_ONCE,
        is_last=is_plain and knowledge == Knowledge.ALL,
        is_plain=is_plain,
        follows_seed=solver.options.solve_mode != 'optimize_distance',
    )
    return arm._replace(form=form, reason=reason, order=order)


def _arm_of_closed_form(robot: RobotModel, group: JointGroup, solver: AnalyticSolver) -> Arm:
    """
    Return a group that is solved by the closed form of ``solver`` only.

    The image has search arrays in any case; here they hold a search with default settings.
    """
    settings = SearchSettings(tolerance=PoseIkOptions().target_tolerance)
    arm = _arm_of_search(robot, group, SearchSolver(robot, group, settings), solver.reason)
    form = _make_form(solver.arm, METRICS[solver.options.seed_metric])
    return arm._replace(solver=solver.name, form=form, order=Order(is_only=True))


def _find_form(robot: RobotModel, group: JointGroup, samples: int) -> tuple[Form | None, str]:
    """
    Return (closed form, reason why it fits the arm), or (None, cause why the group has none).

    :param samples: number of values of the held joint.
    """
    try:
        arm = AnalyticArm(SerialChain.from_whole_group(robot, group), samples)
    except (TopologyMismatch, UnsupportedJoint, ModelError) as error:
        return None, str(error)
    return _make_form(arm), f'{arm.plan.name}: {arm.plan.reason}'


def _make_form(arm: AnalyticArm, metric: int = METRICS['wrap_l2']) -> Form:
    """
    Return the packed closed form of an arm.

    :param metric: code of the distance from the seed by which branches are sorted: a value of METRICS, by default the
        norm of the joint differences.
    """
    request = BranchRequest(held_values=np.zeros(1), metric=metric)
    prepared = arm.requests.prepare(request)
    capacity = search.BRANCHES_OF_SIX if arm.plan.held < 0 else LARGEST_CAPACITY
    return Form(arm, prepared.reals, prepared.options.copy(), capacity)


def place_tips(robot: RobotModel, group: JointGroup, named: Sequence[str]) -> JointGroup:
    """
    Return a group whose tips are the given links, if each link is rigidly fixed to its tip.

    MoveIt names the last link of every group as its tip. If a group branches and one such link is named that is not
    fixed to the tip of the group, the group is returned unchanged. A log message says so.

    :param robot, group: the robot and its planning group.
    :param named: links, in the order of the tips of the group; if there are none, the group is returned unchanged.
    :raises ModelError: for other links that are not fixed to their tips, and for another number of links.
    """
    names, tips = tuple(name.removeprefix('/') for name in named), group.tips
    if not names:
        return group
    is_rigid = len(names) == len(tips) and all(
        robot.rigid_offset(tip, name) is not None for tip, name in zip(tips, names, strict=True)
    )
    if is_rigid:
        return dataclasses.replace(group, tips=names)
    if len(names) == 1 and not group.is_chain and group.joint_names:
        _LOGGER.info(
            "Group '%s' branches. Its solver takes poses of %s, not of '%s'.",
            group.name,
            ', '.join(tips),
            names[0],
        )
        return group
    raise ModelError(
        f"Poses of {list_names(names)} are not poses of group '{group.name}', whose tips are {list_names(tips)}: each link "
        'has to be rigid with its tip.'
    )


def _pack_search(arm: Arm) -> IntArray:
    """
    Return the words of the image's section SEARCH: sizes, integers, real numbers and options of the search of an arm.

    Between integers and real numbers are zeros for the caller's clock, and the counters of the search. The workspace of
    the search is left out.
    """
    arrays = SingleArrays(arm.problem, arm.options, arm.search.start)
    whole = arrays.block.view(np.int64)
    ints, reals, options = whole[: plain_request.HEAD].tolist()
    before = plain_request.HEAD + ints
    work = before + state.STATE_SIZE + reals + options
    block: IntArray = np.insert(whole[:work], [before] * image_rules.CLOCK_WORDS, 0)
    block[0] += image_rules.CLOCK_WORDS
    return block


def pack(arm: Arm, digest: int) -> IntArray:
    """
    Return the image of an arm, an array of 64-bit words.

    :param arm: the arm.
    :param digest: digest of the kernels that will read the image; it is stored in the head of the image.
    :raises TopologyMismatch: if the arm breaks a rule of images, such as a largest number of joints; it names the rule.
    """
    form, problem = arm.form, arm.kinematics.problem
    thresholds = np.zeros(plain_request.NUMBERS)
    thresholds[plain_request.SOLUTION_ERROR] = arm.tolerance
    thresholds[plain_request.SEED_ERROR] = (
        plain_requests.LARGEST_SEED_ERROR if arm.order.follows_seed else 0.0
    )
    thresholds[plain_request.LONGEST_WAY] = plain_requests.LONGEST_WAY
    empty: Any = np.zeros(0)
    names = [
        arm.robot.name,
        arm.solver,
        arm.group.base_link,
        *arm.group.tips,
        *arm.group.joint_names,
    ]
    names = [' '.join(name.split()) for name in names]
    sections = {
        'INTS': empty if form is None else form.arm.plan.ints,
        'REALS': empty if form is None else form.reals,
        'OPTIONS': np.zeros(search.OPTIONS) if form is None else form.options,
        'OWN': thresholds,
        'SEARCH': _pack_search(arm),
        'TRACK': arm.track_options,
        'FK_INTS': problem.ints,
        'FK_REALS': problem.reals,
        'LIMITS': np.concatenate([arm.group.lower, arm.group.upper]),
        'NAMES': _text('\n'.join(names)),
    }
    words = {name: np.ascontiguousarray(part).view(np.int64) for name, part in sections.items()}
    numbers = image.complete(_numbers(arm, len(words['NAMES'])))
    try:
        return image.join(numbers, words, digest)
    except ModelError as error:
        raise TopologyMismatch(
            f"A C library cannot hold the chain of group '{arm.group.name}': {error}. Only the Python package solves it."
        ) from error


def constants(arm: Arm) -> list[Frozen]:
    """
    Return the array arguments of kernels that do not change for an arm, so that a compiler can insert them as constants.

    If some numbers of an array may change, its entry lists the indices of the others.

    :param arm: the arm.
    """
    problem, options = arm.problem, arm.options[: state.OPTIONS]
    chain = arm.kinematics.problem
    clock = np.zeros(image_rules.CLOCK_WORDS, dtype=np.int64)
    frozen = [
        Frozen(SEARCHES, 'ints', np.concatenate([problem.ints, clock])),
        Frozen(SEARCHES, 'reals', problem.reals),
        Frozen(SEARCHES, 'options', options, frozenset(range(state.OPTIONS)) - CHANGING),
        Frozen(KINEMATICS, 'ints', chain.ints),
        Frozen(KINEMATICS, 'reals', chain.reals),
    ]
    if arm.form is not None:
        frozen.append(Frozen(CLOSED_FORMS, 'ints', arm.form.arm.plan.ints))
        frozen.append(Frozen(CLOSED_FORMS, 'reals', arm.form.reals, _constants_of(arm.form)))
    return frozen


def _constants_of(form: Form) -> frozenset[int]:
    """Return the indices of a closed form's real numbers that never change; requests may change only the joint limits."""
    n = form.arm.plan.size
    limits = {plan_layout.PLAN.start(name, n) + k for name in ('lower', 'upper') for k in range(n)}
    return frozenset(range(len(form.reals))) - limits


def _text(text: str) -> IntArray:
    """Return a text as 64-bit words: its bytes in UTF-8, then at least one zero byte."""
    data = text.encode() + b'\0'
    return np.frombuffer(data + b'\0' * (-len(data) % 8), dtype=np.int64)


def _numbers(arm: Arm, name_words: int) -> dict[str, int]:
    """
    Return the numbers of section NUMBERS that cannot be computed from others, such as JOINTS and TIPS, by name.

    :param name_words: number of words of section NAMES.
    """
    form, search_ints, fk_ints = arm.form, arm.problem.ints, arm.kinematics.problem.ints
    tips, rows = len(arm.group.tips), search_ints[layout.ROWS]
    hulls = len(arm.problem.reals) - layout.NODE_REALS * search_ints[layout.NODES]
    values = {
        'JOINTS': len(arm.group.joint_names),
        'TIPS': tips,
        'POSITION_ONLY': rows == image_rules.POSITION_ROWS * tips,
        'PLAIN': arm.order.is_plain,
        'HELD': -1,
        'SAMPLES': SAMPLES,
        'SLIDES': bool(arm.problem.reaches),
        'NODES': search_ints[layout.NODES],
        'PATHS': search_ints[layout.PATHS],
        'HULLS': (hulls - tips * layout.CONSTRAINT_REALS) // reach_hull.BLOCK,
        'FK_NODES': fk_ints[layout.NODES],
        'FK_PATHS': fk_ints[layout.PATHS],
        'NAME_WORDS': name_words,
    }
    if form is not None:
        plan = form.arm.plan
        values |= {
            'CLOSED_FORM': form.kind,
            'HELD': plan.held,
            'ARCS': form.has_arcs,
            'HELD_SLIDES': form.arm.requests.is_slide(plan.held),
            'SAMPLES': form.arm.samples,
            'IS_COMPLETE': plan.is_complete,
            'FORM_FIRST': arm.order.is_first,
            'FORM_LAST': arm.order.is_last,
            'FORM_ONLY': arm.order.is_only,
            'WIDEST': form.widest(),
        }
    return {name: int(value) for name, value in values.items()}


def layout_header() -> str:
    """Return the text of the C header ``layout.h``, which tells the C library where data are in images and kernel arrays."""
    lists: dict[str, Iterable[str]] = {
        'S': image_rules.SECTIONS,
        'N': image_rules.NUMBERS,
        'P': image_rules.PARTS,
    }
    lines = [
        f'enum {{ {", ".join(f"{prefix}_{name}" for name in names)} }};'
        for prefix, names in lists.items()
    ]
    places = {
        'PARTS': len(image_rules.PARTS),
        'SECTIONS': len(image_rules.SECTIONS),
        'NUMBERS': len(image_rules.NUMBERS),
        'HEAD': image.HEAD,
        'DIGEST_WORDS': image.DIGEST_WORDS,
        'FORMAT': image.FORMAT,
        **{'NO_FORM': image_rules.NO_FORM, 'ELIMINATION': image_rules.ELIMINATION},
        **_kernel_places(),
        'SEARCH_COUNTERS': state.STATE_SIZE,
        **{f'ROW_{name}': getattr(state, name) for name in ('LOWER', 'UPPER')},
        **{f'ROW_{name}': getattr(state, name) for name in ('SAMPLING_LOWER', 'SAMPLING_UPPER')},
        'FIRST_ROW': state.OPTIONS,
        'CLOCK_BEFORE': state.CLOCK + image_rules.CLOCK_WORDS,
        'MOST_BRANCHES': LARGEST_CAPACITY,
        'MOST_WINDINGS': MOST_WINDINGS,
    }
    lines += [f'enum {{ {name} = {int(value)} }};' for name, value in places.items()]
    numbers = {
        'MAGIC': f'INT64_C({image.MAGIC})',
        'LARGEST_JOINT': repr(joint_values.LARGEST_JOINT_VALUE),
        'LARGEST_FINITE': repr(float(np.finfo(np.float64).max)),
        'PI': repr(math.pi),
        'ENDLESS': 'HUGE_VAL',
    }
    lines += [f'#define {name} {text}' for name, text in numbers.items()]
    return '\n'.join([*lines, image_headers.room_header(), ''])


_KERNEL_NAMES: tuple[tuple[str, Any, str], ...] = (
    ('PLAN_', search, 'SLIDES'),
    ('O_', search, 'MODE METRIC HAS_SEED MAX_SOLUTIONS'),
    ('O_', state, 'MAX_SEARCHES MAX_ITERATIONS IMPROVES POSTURE_GAIN VALIDATED KEEPS_LOOKING'),
    ('C_', search, 'RAW BRANCHES DROPPED COUNT PROVED DOUBT'),
    ('B_', branch_block, 'DOUBTFUL'),
    ('C_', state, 'SEARCHES ITERATIONS COUNT_FOUND'),
    (
        'T_',
        tracking,
        'ITERATIONS BEFORE AFTER LARGEST_MOTION LARGEST_CHANGE LAST_MOTION STOPPED_BY',
    ),
    ('CODE_', state, 'FOUND CANDIDATE EXHAUSTED BAD_TARGET BAD_STATE OUT_OF_REACH'),
    ('OWN_', plain_request, 'TOLERANCE'),
    ('PHASE_', state, 'FRESH REFUSED ACCEPTED'),
)
"""Constants of kernels that the C library needs: prefix of the names in C, the module, and the names there."""
_RENAMED = {'COUNT_FOUND': 'COUNT', 'TOLERANCE': 'SOLUTION_ERROR'}
"""Names of constants in the kernels, by their names in C."""


def _kernel_places() -> dict[str, int]:
    """
    Return the constants of kernels that the C library needs, by their C names.

    They are indices of options, counters and numbers in arrays of kernels, and codes that a search returns.
    """
    return {
        prefix + name: getattr(module, _RENAMED.get(name, name))
        for prefix, module, names in _KERNEL_NAMES
        for name in names.split()
    }
