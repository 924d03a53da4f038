"""
One arm as one array of 64-bit words: the image that the C library reads.

An image holds a head, a table of its sections, and the sections: single numbers, the packed closed form, the packed search
and forward kinematics. :mod:`ssik_ros.artifact.c.image_rules` has their rules. ``layout.h`` tells the C library the places.
"""

from collections.abc import Iterable
import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.artifact.c import image, image_headers, image_rules
from ssik_ros.errors import InvalidOption, ModelError, TopologyMismatch, UnsupportedJoint
from ssik_ros.kernels.closed_form.branches import branch_block, search
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.native.freeze import Frozen
from ssik_ros.kernels.rows import layout, reach_hull
from ssik_ros.kernels.search import plain_request, state, tracking
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.solvers.auto import plain_requests
from ssik_ros.solvers.auto.policy import Knowledge, knowledge_of_arm
from ssik_ros.solvers.auto.solver import AutoSolver
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.windings import MOST
from ssik_ros.solvers.search.failures import EVIDENCE

SAMPLES = 16
"""Values of the held joint of seven that a pose is solved for, unless told otherwise."""
CLOSED_FORMS = r'(branches|elimination)\d+(search|held_search|general_search)6search'
SEARCHES = r'kernels6search'
KINEMATICS = r'kernels4rows13relative_pose'
"""Symbols of the functions that take the packed closed form, the packed search, and the chain."""
CHANGING = frozenset(
    {state.MAX_ITERATIONS, state.MAX_SEARCHES, state.NEAR_SQUARED, state.VALIDATED}
)
"""Options of a search that a request or the search itself writes."""


class Form(NamedTuple):
    """The closed form of an arm, and how much room its arrays need."""

    arm: AnalyticArm
    reals: FloatArray
    options: FloatArray
    capacity: int

    @property
    def kind(self) -> int:
        """Return DIRECT or ELIMINATION."""
        return (
            image_rules.ELIMINATION if self.arm.plan.ints[search.CUT] >= 0 else image_rules.DIRECT
        )

    @property
    def has_arcs(self) -> bool:
        """Return whether a held joint is sampled on the arcs that are within limits."""
        return self.arm.requests.has_arcs(BranchRequest())

    def widest(self) -> int:
        """Return the largest number of windings of a joint."""
        chain, turn = self.arm.chain, 2.0 * math.pi
        ranges = [
            high - low
            for low, high, kind in zip(chain.lower, chain.upper, chain.kinds, strict=True)
            if math.isfinite(high - low) and high - low > turn and kind != JointKind.PRISMATIC
        ]
        most = 1 + max((math.ceil(value / turn) for value in ranges), default=0)
        return min(most, image_rules.MOST_WIDEST)


class Arm(NamedTuple):
    """An arm as the C library takes it."""

    robot: RobotModel
    group: JointGroup
    form: Form | None
    reason: str
    """Reason for this closed form, or cause of its absence."""
    plain: plain_requests.PlainRequests
    knowledge: Knowledge
    kinematics: ChainKinematics


def find_arm(robot: RobotModel, group: JointGroup, samples: int = SAMPLES) -> Arm:
    """
    Prepare an arm.

    :param samples: values of the held joint that a pose of seven joints is solved for.
    :raises InvalidOption: for too few or too many of them.
    :raises TopologyMismatch: for a chain that no C library is written for.
    """
    if not 1 <= samples <= image_rules.MOST_SAMPLES:
        most = image_rules.MOST_SAMPLES
        raise InvalidOption(f'--redundancy-samples is {samples}; it is a number from 1 to {most}.')
    solver = AutoSolver(robot, group)
    if solver.plain is None:
        raise TopologyMismatch(
            f"Group '{group.name}' has several tips, or joints outside the group move its tip: a C library is for one "
            'chain whose joints are all variables.'
        )
    kinematics = ChainKinematics(robot, group, group.base_link, group.tip)
    form, reason = _find_form(robot, group, samples)
    knowledge = Knowledge.NOTHING if form is None else knowledge_of_arm(form.arm)
    return Arm(robot, group, form, reason, solver.plain, knowledge, kinematics)


def _find_form(robot: RobotModel, group: JointGroup, samples: int) -> tuple[Form | None, str]:
    """Return the closed form with its reason, or None with the cause of its absence."""
    try:
        chain = SerialChain.from_group(robot, group)
        if chain.joint_names != group.joint_names:
            return None, 'the group has joints beside the chain to its tip'
        arm = AnalyticArm(chain, samples)
    except (TopologyMismatch, UnsupportedJoint, ModelError) as error:
        return None, str(error)
    prepared = arm.requests.prepare(BranchRequest(held_values=np.zeros(1)))
    capacity = search.BRANCHES_OF_SIX if arm.plan.held < 0 else LARGEST_CAPACITY
    form = Form(arm, prepared.reals, prepared.options.copy(), capacity)
    return form, f'{arm.plan.name}: {arm.plan.reason}'


def _pack_search(arm: Arm) -> IntArray:
    """Return the block of the search with room for the clock, without its workspace."""
    _, _, arrays = arm.plain.make_arrays()
    whole = arrays.block.view(np.int64)
    ints, reals, options = whole[: plain_request.HEAD].tolist()
    before = plain_request.HEAD + ints
    work = before + state.STATE_SIZE + reals + options
    block: IntArray = np.insert(whole[:work], [before] * image_rules.CLOCK_WORDS, 0)
    block[0] += image_rules.CLOCK_WORDS
    return block


def pack(arm: Arm, digest: int) -> IntArray:
    """
    Return the image of an arm.

    :param digest: of the kernels that it is for.
    :raises TopologyMismatch: when the arm breaks a rule of images; names the rule.
    """
    form, problem = arm.form, arm.kinematics.problem
    own = np.zeros(plain_request.NUMBERS)
    own[plain_request.TOLERANCE] = arm.plain.tolerance
    own[plain_request.FARTHEST] = plain_requests.FARTHEST
    own[plain_request.LONGEST_WAY] = plain_requests.LONGEST_WAY
    empty: Any = np.zeros(0)
    sections = {
        'INTS': empty if form is None else form.arm.plan.ints,
        'REALS': empty if form is None else form.reals,
        'OPTIONS': np.zeros(search.OPTIONS) if form is None else form.options,
        'OWN': own,
        'SEARCH': _pack_search(arm),
        'FK_INTS': problem.ints,
        'FK_REALS': problem.reals,
        'LIMITS': np.concatenate([arm.group.lower, arm.group.upper]),
        'NAMES': _text('\n'.join((arm.robot.name, *arm.group.joint_names))),
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
    Return the arrays that are the same at every call of the kernels.

    :param arm: the arm.
    """
    _, _, arrays = arm.plain.make_arrays()
    problem, options = arm.plain.problem, arrays.block[plain_request.HEAD + state.STATE_SIZE :]
    options = options[len(problem.ints) + len(problem.reals) :][: state.OPTIONS]
    chain = arm.kinematics.problem
    clock = np.zeros(image_rules.CLOCK_WORDS, dtype=np.int64)
    found = [
        Frozen(SEARCHES, 'ints', np.concatenate([problem.ints, clock])),
        Frozen(SEARCHES, 'reals', problem.reals),
        Frozen(SEARCHES, 'options', options, frozenset(range(state.OPTIONS)) - CHANGING),
        Frozen(KINEMATICS, 'ints', chain.ints),
        Frozen(KINEMATICS, 'reals', chain.reals),
    ]
    if arm.form is not None:
        found.append(Frozen(CLOSED_FORMS, 'ints', arm.form.arm.plan.ints))
        found.append(Frozen(CLOSED_FORMS, 'reals', arm.form.reals))
    return found


def _text(text: str) -> IntArray:
    """Return a text as words."""
    data = text.encode() + b'\0'
    return np.frombuffer(data + b'\0' * (-len(data) % 8), dtype=np.int64)


def _numbers(arm: Arm, name_words: int) -> dict[str, int]:
    """Return the single numbers of an arm that do not follow from others."""
    form, search_ints, fk_ints = arm.form, arm.plain.problem.ints, arm.kinematics.problem.ints
    hulls = len(arm.plain.problem.reals) - layout.NODE_REALS * search_ints[layout.NODES]
    values = {
        'JOINTS': len(arm.group.joint_names),
        'HELD': -1,
        'SAMPLES': SAMPLES,
        'SLIDES': bool(arm.plain.problem.reaches),
        'NODES': search_ints[layout.NODES],
        'PATHS': search_ints[layout.PATHS],
        'HULLS': (hulls - layout.CONSTRAINT_REALS) // reach_hull.BLOCK,
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
            'FORM_FIRST': arm.knowledge == Knowledge.ALL_AT_ONCE,
            'FORM_LAST': arm.knowledge == Knowledge.ALL,
            'WIDEST': form.widest(),
        }
    return {name: int(value) for name, value in values.items()}


def layout_header() -> str:
    """Return ``layout.h``: the places in an image and in the kernels' arrays."""
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
        'CLOCK_BEFORE': state.CLOCK + image_rules.CLOCK_WORDS,
        'EVIDENCE': EVIDENCE,
        'MOST_BRANCHES': LARGEST_CAPACITY,
        'MOST_WINDINGS': MOST,
    }
    lines += [f'enum {{ {name} = {int(value)} }};' for name, value in places.items()]
    numbers = {
        'MAGIC': f'INT64_C({image.MAGIC})',
        'LARGEST_JOINT': repr(joint_values.LARGEST),
        'LARGEST_FINITE': repr(float(np.finfo(np.float64).max)),
        'AT_THE_EDGE': repr(plain_requests.AT_THE_EDGE),
        'PI': repr(math.pi),
        'ENDLESS': 'HUGE_VAL',
    }
    lines += [f'#define {name} {text}' for name, text in numbers.items()]
    return '\n'.join([*lines, image_headers.room_header(), ''])


def _kernel_places() -> dict[str, int]:
    """Return the places of options, counters and numbers in the arrays of kernels, and the codes of a search."""
    return {
        'PLAN_SLIDES': search.SLIDES,
        **{
            f'O_{name}': getattr(search, name)
            for name in ('MODE', 'METRIC', 'HAS_SEED', 'MAX_SOLUTIONS')
        },
        **{
            f'O_{name}': getattr(state, name)
            for name in ('MAX_SEARCHES', 'MAX_ITERATIONS', 'IMPROVES', 'POSTURE_GAIN', 'VALIDATED')
        },
        **{
            f'C_{name}': getattr(search, name)
            for name in ('RAW', 'BRANCHES', 'DROPPED', 'COUNT', 'PROVED', 'DOUBT')
        },
        'B_DOUBTFUL': branch_block.DOUBTFUL,
        **{
            f'C_{name}': getattr(state, name)
            for name in ('SEARCHES', 'ITERATIONS', 'LIMITS_SEEN', 'STALLED', 'SINGULAR_SEEN')
        },
        **{
            f'T_{name}': getattr(tracking, name)
            for name in (
                *('ITERATIONS', 'STEP_STOPPED', 'LIMIT_STOPPED', 'BEFORE', 'AFTER'),
                *('LARGEST_MOTION', 'LARGEST_CHANGE', 'LAST_MOTION', 'STOPPED_BY'),
            )
        },
        **{f'CODE_{name}': getattr(state, name) for name in _CODES},
        'OWN_TOLERANCE': plain_request.TOLERANCE,
        **{f'PHASE_{name}': getattr(state, name) for name in ('FRESH', 'REFUSED', 'ACCEPTED')},
    }


_CODES = (
    'FOUND',
    'CANDIDATE',
    'EXHAUSTED',
    'DEADLINE',
    'CANCELLED',
    'BAD_TARGET',
    'BAD_STATE',
    'OUT_OF_REACH',
)
