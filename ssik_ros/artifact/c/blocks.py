"""
One arm as one array of 64-bit words: the image that the C library reads.

An image holds a head, a table of its sections, and the sections: the packed closed form, the packed search, forward
kinematics, and how much memory a solver of this arm needs for each part. ``layout.h`` tells the C library the places.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import InvalidOption, ModelError, TopologyMismatch, UnsupportedJoint
from ssik_ros.kernels.closed_form.branches import branch_block, held_search, search
from ssik_ros.kernels.closed_form.elimination import general_search
from ssik_ros.kernels.geometry import joint_values
from ssik_ros.kernels.native.freeze import Frozen
from ssik_ros.kernels.search import plain_request, state, tracking
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.solvers.auto import plain_requests
from ssik_ros.solvers.auto.policy import Knowledge, knowledge_of_arm
from ssik_ros.solvers.auto.solver import AutoSolver
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest, FINER_SAMPLES
from ssik_ros.solvers.closed_form.branch_arrays import ArcArrays
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY
from ssik_ros.solvers.closed_form.windings import MOST
from ssik_ros.solvers.search.arrays import SingleArrays
from ssik_ros.solvers.search.solver import EVIDENCE

MAGIC = 0x314B4C424B495353
"""The letters SSIKBLK1."""
FORMAT = 1
HEAD = 8
"""Words before the table of sections: magic, format, digest of the kernels, words in all, checksum, spare ones."""
CLOCK_WORDS = 2
"""Words for the caller's clock, behind the integers of the problem."""
SAMPLES, MOST_SAMPLES = 16, 64
"""Values of the held joint of seven that a pose is solved for: unless told otherwise, and at most."""

SECTIONS = (
    *('NUMBERS', 'ROOM', 'INTS', 'REALS', 'OPTIONS', 'OWN'),
    *('SEARCH', 'FK_INTS', 'FK_REALS', 'LIMITS', 'NAMES'),
)
NUMBERS = (
    *(
        'JOINTS',
        'CLOSED_FORM',
        'HELD',
        'ARCS',
        'HELD_SLIDES',
        'SAMPLES',
        'PLAN_SIZE',
        'IS_COMPLETE',
    ),
    *('FORM_FIRST', 'FORM_LAST', 'SLIDES', 'WIDEST', 'CLOCK', 'BASE', 'MATRICES', 'ERRORS'),
    *('SEARCH_COUNTERS', 'SEARCH_REALS', 'SEARCH_OPTIONS', 'SEARCH_WORK'),
)
PARTS = (
    *(
        'HEAD',
        'INTS',
        'COUNTERS',
        'REALS',
        'SAMPLES',
        'OPTIONS',
        'POSE',
        'SEED',
        'ROWS',
        'FOUND',
        'WORK',
    ),
    *('OWN', 'CONSTANTS', 'SIX', 'LOOP', 'LOOP_INTS', 'SPREAD', 'PLACES', 'STACK', 'SCRATCH'),
    *(
        'SEARCH',
        'TRACK',
        'TRACK_REPORT',
        'BOUNDS',
        'FK',
        'JOINTS',
        'JOINT_INTS',
        'START',
        'TARGET',
    ),
    *('WIND_BRANCHES', 'WIND_SIZES', 'WIND_VALUES', 'WIND_COSTS', 'WIND_OWNER'),
    *('WIND_HEAP', 'WIND_KEYS', 'WIND_OWNERS', 'WIND_CODES'),
)
CLOSED_FORMS = r'(branches|elimination)\d+(search|held_search|general_search)6search'
SEARCHES = r'kernels6search'
KINEMATICS = r'kernels4rows13relative_pose'
"""Symbols of the functions that take the packed closed form, the packed search, and the chain."""
CHANGING = frozenset({state.MAX_ITERATIONS, state.MAX_SEARCHES, state.NEAR_SQUARED})
"""Options of a search that a request or the search itself writes."""
NO_FORM, DIRECT, ELIMINATION = range(3)


class Form(NamedTuple):
    """The closed form of an arm, and how much room its arrays need."""

    arm: AnalyticArm
    reals: FloatArray
    options: FloatArray
    capacity: int

    @property
    def kind(self) -> int:
        """Return DIRECT or ELIMINATION."""
        return ELIMINATION if self.arm.plan.ints[search.CUT] >= 0 else DIRECT

    @property
    def has_arcs(self) -> bool:
        """Return whether a held joint is sampled on the arcs that are within limits."""
        return self.arm.has_arcs(BranchRequest())

    def room(self) -> dict[str, int]:
        """Return the words of the parts."""
        n, capacity, plan = self.arm.plan.size, self.capacity, self.arm.plan
        words = {
            'INTS': len(plan.ints),
            'COUNTERS': search.COUNTERS + capacity,
            'REALS': len(self.reals),
            'SAMPLES': 1 if plan.held < 0 else FINER_SAMPLES[-1] + 1,
            'OPTIONS': search.OPTIONS,
            'ROWS': capacity * (n + 3),
            'FOUND': capacity * n if plan.held < 0 else 0,
            'WORK': int(search.work_size(n, capacity)),
            'CONSTANTS': len(self.reals) - int(search.plan_size(n)),
        }
        if self.kind == ELIMINATION:
            six, loop, loop_ints = general_search.make_scratch()
            words |= {'SIX': six.size, 'LOOP': loop.size, 'LOOP_INTS': (loop_ints.size + 1) // 2}
        if self.has_arcs:
            last = int(held_search.last_scanned(self.arm.samples))
            arcs = ArcArrays(n, self.arm.samples, last, capacity)
            words |= {'PLACES': arcs.places.size, 'STACK': arcs.stack.size}
            words |= {'SPREAD': held_search.SPREAD, 'SCRATCH': arcs.scratch.size}
        return words

    def widest(self) -> int:
        """Return the largest number of windings of a joint."""
        chain, turn = self.arm.chain, 2.0 * math.pi
        ranges = [
            high - low
            for low, high, kind in zip(chain.lower, chain.upper, chain.kinds, strict=True)
            if math.isfinite(high - low) and high - low > turn and kind != JointKind.PRISMATIC
        ]
        return 1 + max((math.ceil(value / turn) for value in ranges), default=0)


class Arm(NamedTuple):
    """An arm as the C library takes it."""

    robot: RobotModel
    group: JointGroup
    form: Form | None
    reason: str
    """Why this closed form, or why there is none."""
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
    if not 1 <= samples <= MOST_SAMPLES:
        raise InvalidOption(f'--samples is {samples}; it is a number from 1 to {MOST_SAMPLES}.')
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
    """Return the closed form with its reason, or None and why there is none."""
    try:
        chain = SerialChain.from_group(robot, group)
        if chain.joint_names != group.joint_names:
            return None, 'the group has joints beside the chain to its tip'
        arm = AnalyticArm(chain, samples)
    except (TopologyMismatch, UnsupportedJoint, ModelError) as error:
        return None, str(error)
    prepared = arm.prepare(BranchRequest(held_values=np.zeros(1)))
    capacity = search.BRANCHES_OF_SIX if arm.plan.held < 0 else LARGEST_CAPACITY
    form = Form(arm, prepared.reals, prepared.options.copy(), capacity)
    return form, f'{arm.plan.name}: {arm.plan.reason}'


class _Search(NamedTuple):
    """The block of a search with room for the clock, and the places in it."""

    block: IntArray
    places: dict[str, int]
    size: int


def _pack_search(arm: Arm) -> _Search:
    """Return the block of the search, without its workspace."""
    _, _, arrays = arm.plain.make_arrays()
    whole = arrays.block.view(np.int64)
    ints, reals, options = whole[: plain_request.HEAD].tolist()
    before = plain_request.HEAD + ints
    places = {'CLOCK': before, 'SEARCH_COUNTERS': before + CLOCK_WORDS}
    places['SEARCH_REALS'] = places['SEARCH_COUNTERS'] + state.STATE_SIZE
    places['SEARCH_OPTIONS'] = places['BASE'] = places['SEARCH_REALS'] + reals
    places['SEARCH_WORK'] = places['SEARCH_OPTIONS'] + options
    work = places['SEARCH_WORK']
    for name in ('matrices', 'errors'):
        places[name.upper()] = work + _place_in_work(arrays, name)
    block = np.insert(whole, [before] * CLOCK_WORDS, 0)
    block[0] += CLOCK_WORDS
    return _Search(block[:work], places, len(block))


def _place_in_work(arrays: SingleArrays, name: str) -> int:
    """Return where a view begins in the workspace."""
    own = getattr(arrays, name).__array_interface__['data'][0]
    place: int = own - arrays.work.__array_interface__['data'][0]
    return place // 8


def pack(arm: Arm, digest: int) -> IntArray:
    """
    Return the image of an arm.

    :param digest: of the kernels that it is for.
    """
    packed, form = _pack_search(arm), arm.form
    problem = arm.kinematics.problem
    own = np.zeros(plain_request.NUMBERS)
    own[plain_request.TOLERANCE] = arm.plain.tolerance
    own[plain_request.FARTHEST] = plain_requests.FARTHEST
    own[plain_request.LONGEST_WAY] = plain_requests.LONGEST_WAY
    empty: Any = np.zeros(0)
    sections = {
        'NUMBERS': _numbers(arm, packed),
        'ROOM': _room(arm, packed, problem.workspace_size),
        'INTS': empty if form is None else form.arm.plan.ints,
        'REALS': empty if form is None else form.reals,
        'OPTIONS': np.zeros(search.OPTIONS) if form is None else form.options,
        'OWN': own,
        'SEARCH': packed.block,
        'FK_INTS': problem.ints,
        'FK_REALS': problem.reals,
        'LIMITS': np.concatenate([arm.group.lower, arm.group.upper]),
        'NAMES': _text('\n'.join((arm.robot.name, *arm.group.joint_names))),
    }
    return _join(
        [np.ascontiguousarray(sections[name]).view(np.int64) for name in SECTIONS], digest
    )


def constants(arm: Arm) -> list[Frozen]:
    """
    Return what is the same at every call of the kernels.

    :param arm: the arm.
    """
    block, places, _ = _pack_search(arm)
    search_ints = block[plain_request.HEAD : places['SEARCH_COUNTERS']]
    search_reals = block[places['SEARCH_REALS'] : places['SEARCH_OPTIONS']]
    options = block[places['SEARCH_OPTIONS'] :][: state.OPTIONS]
    problem = arm.kinematics.problem
    found = [
        Frozen(SEARCHES, 'ints', search_ints),
        Frozen(SEARCHES, 'reals', search_reals),
        Frozen(SEARCHES, 'options', options, frozenset(range(state.OPTIONS)) - CHANGING),
        Frozen(KINEMATICS, 'ints', problem.ints),
        Frozen(KINEMATICS, 'reals', problem.reals),
    ]
    if arm.form is not None:
        found.append(Frozen(CLOSED_FORMS, 'ints', arm.form.arm.plan.ints))
        found.append(Frozen(CLOSED_FORMS, 'reals', arm.form.reals))
    return found


def _text(text: str) -> IntArray:
    """Return a text as words."""
    data = text.encode() + b'\0'
    return np.frombuffer(data + b'\0' * (-len(data) % 8), dtype=np.int64)


def _join(parts: list[IntArray], digest: int) -> IntArray:
    """Return head, table and sections as one array."""
    sizes = np.array([len(part) for part in parts])
    begins = HEAD + 2 * len(parts) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    table = np.column_stack([begins, sizes]).ravel()
    head = np.zeros(HEAD, dtype=np.int64)
    body = np.concatenate([table, *parts]).astype(np.int64)
    head[:4] = MAGIC, FORMAT, digest, HEAD + len(body)
    head[4] = checksum(body)
    return np.concatenate([head, body])


def checksum(words: IntArray) -> int:
    """Return a sum that the C library computes as well: xor of the words, each turned by its place."""
    values = words.view(np.uint64)
    turns = (np.arange(len(values)) % 63 + 1).astype(np.uint64)
    turned = (values << turns) | (values >> (np.uint64(64) - turns))
    return int(np.bitwise_xor.reduce(turned).view(np.int64))


def _numbers(arm: Arm, packed: _Search) -> IntArray:
    """Return the single numbers of an arm."""
    form, turning = arm.form, arm.plain.problem
    values = {'JOINTS': len(arm.group.joint_names), 'HELD': -1, 'SLIDES': bool(turning.reaches)}
    values |= packed.places
    if form is not None:
        plan = form.arm.plan
        values |= {
            'CLOSED_FORM': form.kind,
            'HELD': plan.held,
            'ARCS': form.has_arcs,
            'HELD_SLIDES': form.arm.is_slide(plan.held),
            'SAMPLES': form.arm.samples,
            'PLAN_SIZE': int(search.plan_size(plan.size)),
            'IS_COMPLETE': plan.held < 0 and plan.drift == 0.0,
            'FORM_FIRST': arm.knowledge == Knowledge.ALL_AT_ONCE,
            'FORM_LAST': arm.knowledge == Knowledge.ALL,
            'WIDEST': form.widest(),
        }
    return np.array([int(values.get(name, 0)) for name in NUMBERS], dtype=np.int64)


def _room(arm: Arm, packed: _Search, fk: int) -> IntArray:
    """Return the words of each part: always, for each winding that shall fit, and once for any windings."""
    n, form = len(arm.group.joint_names), arm.form
    words = {
        'HEAD': branch_block.HEAD,
        'OPTIONS': search.OPTIONS,
        'POSE': 16,
        'SEED': n,
        'OWN': plain_request.NUMBERS,
        'SEARCH': packed.size,
        'TRACK': packed.places['SEARCH_WORK'] - packed.places['BASE'],
        'TRACK_REPORT': tracking.NUMBERS,
        'BOUNDS': n,
        'FK': fk,
        'JOINTS': n,
        'JOINT_INTS': n,
        'START': n,
        'TARGET': 16,
        **({} if form is None else form.room()),
    }
    each, once = {}, {}
    if form is not None:
        rows = form.capacity
        each = {'WIND_OWNER': 1, **dict.fromkeys(PARTS[-4:], n)}
        once = {
            'WIND_BRANCHES': rows * n,
            'WIND_SIZES': rows * n,
            **dict.fromkeys(PARTS[-4:], rows),
        }
        once |= dict.fromkeys(('WIND_VALUES', 'WIND_COSTS'), rows * n * form.widest())
    table = [[source.get(name, 0) for source in (words, each, once)] for name in PARTS]
    return np.array(table, dtype=np.int64).ravel()


def layout_header() -> str:
    """Return ``layout.h``: the places in an image and in the kernels' arrays."""
    lists = {'S': SECTIONS, 'N': NUMBERS, 'P': PARTS}
    lines = [
        f'enum {{ {", ".join(f"{prefix}_{name}" for name in names)} }};'
        for prefix, names in lists.items()
    ]
    places = {
        'PARTS': len(PARTS),
        'SECTIONS': len(SECTIONS),
        'HEAD': HEAD,
        'FORMAT': FORMAT,
        **{'NO_FORM': NO_FORM, 'ELIMINATION': ELIMINATION, 'PLAN_SLIDES': search.SLIDES},
        **{
            f'O_{name}': getattr(search, name)
            for name in ('MODE', 'METRIC', 'HAS_SEED', 'MAX_SOLUTIONS')
        },
        **{f'O_{name}': getattr(state, name) for name in ('MAX_SEARCHES', 'MAX_ITERATIONS')},
        **{
            f'C_{name}': getattr(search, name) for name in ('RAW', 'BRANCHES', 'DROPPED', 'PROVED')
        },
        **{
            f'C_{name}': getattr(state, name)
            for name in ('SEARCHES', 'LIMITS_SEEN', 'STALLED', 'SINGULAR_SEEN')
        },
        **{
            f'T_{name}': getattr(tracking, name)
            for name in ('ITERATIONS', 'STEP_STOPPED', 'LIMIT_STOPPED')
        },
        **{f'CODE_{name}': getattr(state, name) for name in _CODES},
        'OWN_TOLERANCE': plain_request.TOLERANCE,
        'SEARCH_COUNTERS': state.STATE_SIZE,
        'CLOCK_BEFORE': state.CLOCK + CLOCK_WORDS,
        'EVIDENCE': EVIDENCE,
        'MOST_BRANCHES': LARGEST_CAPACITY,
        'MOST_WINDINGS': MOST,
    }
    lines += [f'enum {{ {name} = {int(value)} }};' for name, value in places.items()]
    numbers = {
        'MAGIC': f'INT64_C({MAGIC})',
        'LARGEST_JOINT': repr(joint_values.LARGEST),
        'LARGEST_FINITE': repr(float(np.finfo(np.float64).max)),
        'AT_THE_EDGE': repr(plain_requests.AT_THE_EDGE),
        'PI': repr(math.pi),
        'ENDLESS': 'HUGE_VAL',
    }
    lines += [f'#define {name} {text}' for name, text in numbers.items()]
    return '\n'.join(lines) + '\n'


_CODES = ('FOUND', 'EXHAUSTED', 'DEADLINE', 'CANCELLED', 'BAD_TARGET', 'BAD_STATE', 'OUT_OF_REACH')
