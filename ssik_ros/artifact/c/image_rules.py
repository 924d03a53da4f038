"""
Define the rules of an image, the packed data of an arm for the C library.

They are its sections, the permitted values of each word, and the size of a solver's memory. Sizes and bounds are
expressions of a few numbers. The rules are written once, here. :mod:`ssik_ros.artifact.c.image` evaluates them for each
image that it writes; the C code of :mod:`ssik_ros.artifact.c.image_headers` evaluates the same expressions for each
image that it is given.
"""

import functools
import itertools
import math
import operator
from typing import Any, NamedTuple

from ssik_ros.kernels.closed_form.branches import (
    branch_block,
    held_search,
    plan_layout,
    search,
)
from ssik_ros.kernels.closed_form.classes import candidates
from ssik_ros.kernels.closed_form.elimination import (
    closed_loop,
    elimination,
    general_search,
    loop_workspace,
)
from ssik_ros.kernels.rows import layout, reach_hull, steps
from ssik_ros.kernels.rows.views import Ints
from ssik_ros.kernels.search import laws, plain_request, state, tracking
from ssik_ros.solvers.closed_form.branch_arrays import ArcArrays
from ssik_ros.solvers.closed_form.difficult_poses import FINER_SAMPLES
from ssik_ros.solvers.closed_form.plan import LARGEST_CAPACITY

CLOCK_WORDS = 2
"""Words for the caller's clock, after the integers of the problem."""
MOST_JOINTS = 64
MOST_SAMPLES = 64
"""Values of the held joint that a pose of seven joints is solved for, at most."""
MOST_WIDEST = 1 << 20
"""Largest number of windings of one joint."""
MOST_TIPS = 16
MOST_PATHS = 256
"""Largest number of joints that move tips, counted for each tip."""
MOST_SEARCHES = 10_000
"""Largest number of searches that an image may ask for."""
MOST_STEPS = 1000
"""Largest number of steps of a search, and of steps of a polish, that an image may ask for."""
MOST_NANOSECONDS = 1e18
NO_FORM, DIRECT, ELIMINATION = range(3)
POSE_ROWS, POSITION_ROWS = 6, 3
"""Equations of one pose, and of one position."""
FORM_JOINTS = 7
"""Most joints of a closed form."""


class Cell(NamedTuple):
    """
    The rule of one 64-bit word of an image, or of ``repeats`` neighbouring words: kind of number, and permitted range.

    An image is the packed data of an arm for the C library. A cell of the kind ``must`` has no word: it is a condition
    on the words before it.
    """

    kind: str
    """
    Kind of number in the word.

    ``whole`` is an integer, ``real`` a real number without NaN, and ``maybe`` a real number or NaN. ``counted`` is a
    whole number that is stored as a real one. ``bits`` is an integer from 0 to 62 whose bit is set in ``low``. ``must``
    is a condition without a word.
    """
    low: str
    """
    Expression for the smallest value; for ``bits`` the permitted values as set bits; for ``must`` the condition.
    """
    high: str = ''
    """Expression for the largest value, which is permitted too; empty for ``bits`` and ``must``."""
    name: str = ''
    """Name of the value in later expressions of the same row; empty for none."""
    repeats: int | str = 1
    """Number of neighbouring words with this rule, as a number or an expression; 0 for ``must``."""


class Table(NamedTuple):
    """
    The rules of the rows of a section of an image; all rows of a table have the same cells.

    An image is the packed data of an arm for the C library, 64-bit words in sections. A cell is the rule of a word.
    Expressions of the cells use ``i`` for the index of the row.
    """

    rows: str
    """Expression for the number of rows; 0 for no words."""
    cells: tuple[Cell, ...]
    """Rules of the words of one row, in their order."""


def _whole(low: object, high: object = None, name: str = '', count: int | str = 1) -> Cell:
    """
    Return the rule for integers from ``low`` to ``high``; without ``high`` they must be ``low``.

    :param low, high: numbers or expressions.
    :param name: name of the value for later expressions.
    :param count: number of neighbouring words.
    """
    return Cell('whole', str(low), str(low if high is None else high), name, count)


def _real(low: str, high: str, count: int | str = 1, kind: str = 'real') -> Cell:
    """
    Return the rule for real numbers from ``low`` to ``high``; NaN breaks the rule, except for the kind ``maybe``.

    :param low, high: expressions for the smallest and the largest number.
    :param count: number of neighbouring words, or an expression for it.
    :param kind: ``real`` or ``maybe``.
    """
    return Cell(kind, low, high, '', count)


def _counted(low: object, high: object = None, name: str = '') -> Cell:
    """
    Return the rule for a whole number from ``low`` to ``high`` that is stored as a real number.

    Without ``high`` it must be ``low``.

    :param low, high: numbers or expressions.
    :param name: name of the value for later expressions.
    """
    return Cell('counted', str(low), str(low if high is None else high), name)


FINITE = '-1e150', '1e150'
"""Squares of such numbers are finite."""
NUMBER = '-HUGE_VAL', 'HUGE_VAL'
UNIT = '-1.000001', '1.000001'
"""Entries of rotations and unit vectors."""
POSITIVE = '0.0', 'HUGE_VAL'

KINDS = [[0] * (FORM_JOINTS + 1) for _ in range(3)]
"""Classes, as bits, that a closed form may have: by its method, then by its joints that are not held."""
SLIDING = candidates.ORIENTATION_FIRST, candidates.PRISMATIC_SHOULDER
"""The classes with joints that slide."""
MOST_OF_A_KIND = 3
"""Most joints that turn, and most that slide, in the class ORIENTATION_FIRST."""
_SLIDING = 1 << candidates.PRISMATIC_SHOULDER | 1 << candidates.ORIENTATION_FIRST
TURNING = 1 << candidates.SPHERICAL_WRIST | 1 << candidates.THREE_PARALLEL
"""The classes of six joints that turn."""
KINDS[DIRECT][1:6] = [1 << candidates.ORIENTATION_FIRST] * 2 + [_SLIDING] * 3
KINDS[DIRECT][6] = _SLIDING | TURNING
KINDS[ELIMINATION][1:6] = [1 << candidates.GENERAL] * 5
KINDS[ELIMINATION][6] = 1 << candidates.GENERAL | TURNING
ALL_KINDS = functools.reduce(operator.or_, itertools.chain(*KINDS))
"""Bits of all classes."""


def _sizes_of(size: Any, first: int, most: int) -> list[int]:
    """Return the list of ``size(number)`` for the numbers 0 to ``most``, in which entries below ``first`` are 0."""
    return [0] * first + [int(size(number)) for number in range(first, most + 1)]


def _arcs(samples: int) -> ArcArrays:
    """
    Return the scratch arrays of a search of an arm with seven joints, whose held joint is sampled on arcs.

    An arc is a range of its values at which a branch is within the limits.

    :param samples: number of values of the held joint.
    """
    last = int(held_search.last_scanned(samples))
    return ArcArrays(FORM_JOINTS, samples, last, LARGEST_CAPACITY)


def _work_size(joints: int) -> int:
    """Return how many real numbers the scratch of a closed form has, by the number of joints of the arm."""
    capacity = LARGEST_CAPACITY if joints == FORM_JOINTS else search.BRANCHES_OF_SIX
    return int(search.work_size(joints, capacity))


SIX, LOOP, LOOP_INTS = (part.size for part in general_search.make_scratch())
LISTS = {
    'KINDS_OF': [value for row in KINDS for value in row],
    'ONES_OF': [bits.bit_count() for bits in range(1 << FORM_JOINTS)],
    'WORK_OF': _sizes_of(_work_size, 1, FORM_JOINTS),
    'PLAN_OF': _sizes_of(plan_layout.plan_size, 1, FORM_JOINTS),
    'PLACES_OF': _sizes_of(lambda samples: _arcs(samples).places.size, 1, MOST_SAMPLES),
    'STACK_OF': _sizes_of(lambda samples: _arcs(samples).stack.size, 1, MOST_SAMPLES),
    'SCRATCH_OF': _sizes_of(lambda samples: _arcs(samples).scratch.size, 1, MOST_SAMPLES),
}
"""Sizes that expressions read, by joints of the closed form or by samples."""


class Sum:
    """A polynomial with whole coefficients in named numbers, such as ``2 * joints * tips + 3``; it adds and multiplies."""

    def __init__(self, terms: dict[tuple[str, ...], int]) -> None:
        """
        Store the terms of the polynomial whose coefficient is not zero.

        :param terms: coefficient of each product, by the names of its factors in alphabetical order.
        """
        self._terms = {names: factor for names, factor in terms.items() if factor}

    @classmethod
    def of(cls, value: 'int | str | Sum') -> 'Sum':
        """Return a number, a name or a sum as a :class:`Sum`."""
        if isinstance(value, Sum):
            return value
        return cls({(): value} if isinstance(value, int) else {(value,): 1})

    def __add__(self, other: 'int | Sum') -> 'Sum':
        """Return the sum of two polynomials as a new :class:`Sum`."""
        terms = dict(self._terms)
        for names, factor in Sum.of(other)._terms.items():
            terms[names] = terms.get(names, 0) + factor
        return Sum(terms)

    def __mul__(self, other: 'int | Sum') -> 'Sum':
        """Return the product of two polynomials as a new :class:`Sum`."""
        total = Sum({})
        for names, factor in self._terms.items():
            for others, by in Sum.of(other)._terms.items():
                total += Sum({tuple(sorted(names + others)): factor * by})
        return total

    __radd__, __rmul__ = __add__, __mul__

    def __str__(self) -> str:
        """Return the polynomial as an expression that is valid in Python and C."""
        parts = (
            ' * '.join([str(factor), *names] if factor != 1 or not names else names)
            for names, factor in self._terms.items()
        )
        return ' + '.join(parts) or '0'


class Places(NamedTuple):
    """Where the fields of a kernel layout begin, and how long its integer and float arrays are, as expressions."""

    fields: dict[str, Sum]
    """Index of the first number of each field, in the array of integers or of floats to which the field belongs."""
    ints: Sum
    """Length of the array of integers."""
    reals: Sum
    """Length of the array of floats."""


def _places(fields: Any, counts: dict[str, Any], ints: Sum, shorter: str) -> Places:
    """
    Return where the fields of a named tuple of :mod:`ssik_ros.kernels.rows.layout` begin, as expressions.

    :param fields: the named tuple class; its annotations give the shape and the kind of each field.
    :param counts: expressions for the counts in the header of a problem, by name.
    :param ints: where the first field of integers begins.
    :param shorter: expression for the smaller one of the numbers of rows and of variables.
    """
    header = {getattr(layout, name): Sum.of(value) for name, value in counts.items()}
    scope = {**vars(layout), 'ints': header, 'min': lambda one, other: Sum.of(shorter)}
    ends, places = {True: ints, False: Sum({})}, {}
    for name in fields._fields:
        hint = fields.__annotations__[name]
        sides = [Sum.of(eval(str(side), scope)) for side in hint.__metadata__]
        is_integer = bool(hint.__origin__ == Ints)
        places[name] = ends[is_integer]
        ends[is_integer] += math.prod(sides, start=Sum.of(1))
    return Places(places, ends[True], ends[False])


class _Problem(NamedTuple):
    """Expressions for the sizes of a packed problem in an image: the problem of the search, or of forward kinematics."""

    nodes: str
    """Number of nodes: joints that move a frame of the problem."""
    paths: str
    """Number of rows of the path table."""
    hulls: str
    """Number of reach hulls; zero for forward kinematics."""
    constraints: str
    """Number of constraints: one for each tip in the search, 1 for forward kinematics."""
    targets: str
    """Number of targets: of tips for the search, zero for forward kinematics."""
    rows: str
    """Number of rows of residual and Jacobian."""
    shorter: str
    """The smaller one of the numbers of rows and of joints."""
    masks: str
    """The components that have a row, as bits."""

    @property
    def is_search(self) -> bool:
        """Return whether this is the problem of the search, which has targets, and not of forward kinematics."""
        return self.targets != '0'

    @property
    def places(self) -> tuple[Places, Places]:
        """Return (tables, workspace): where the fields of both layouts, ``Tables`` and ``Workspace``, begin."""
        counts: dict[str, Any] = {
            **dict.fromkeys(('VARIABLES', 'POSITIONS'), 'joints'),
            'NODES': self.nodes,
        }
        counts |= {'PATHS': self.paths, 'CONSTRAINTS': self.constraints, 'ROWS': self.rows}
        counts |= {'TARGETS': self.targets if self.is_search else 0}
        header = Sum.of(layout.HEADER)
        tables = _places(layout.Tables, counts, header, self.shorter)
        return tables, _places(layout.Workspace, counts, Sum.of(0), self.shorter)

    def ints(self) -> list[Table]:
        """Return the rules of the integers of the problem: counts and places, nodes, variables, constraints, paths."""
        tables, work = self.places
        variables = 'joints', 'joints'
        rows = self.constraints, self.rows
        counts = self.nodes, *variables, *rows, self.paths, self.targets
        places = *tables.fields.values(), *work.fields.values(), work.reals
        below = f'{self.nodes} - 1'
        frame = layout.WORLD if self.is_search else layout.FRAME_A
        node = (
            _whole(layout.REVOLUTE, layout.SCREW),
            _whole(-1, 'i - 1'),
            *(_whole(0, 'joints - 1'),) * 2,
        )
        variable = (
            _whole(layout.PERIODIC, layout.LINEAR),
            _whole('i'),
            _whole(layout.IDLE, layout.TURNS),
        )
        constraint = (
            _whole(-1, below),
            _whole(0, below),
            _whole('i' if self.is_search else -1),
            *(_whole(frame),) * 2,
            _whole(layout.FULL),
            _whole(0),
            _whole(0, int(self.is_search)),
            _whole(0, self.paths, 'first'),
            _whole(0, f'{self.paths} - first'),
            _whole(self.masks),
        )
        return [
            Table('1', tuple(map(_whole, (*counts, *places)))),
            Table(self.nodes, node),
            Table('joints', variable),
            Table(self.constraints, constraint),
            Table(self.paths, (_whole(0, below), _whole(0, 7))),
        ]

    def reals(self) -> list[Table]:
        """Return the rules of the real numbers of the problem: nodes, constraints, and hulls of the reach."""
        tables, _ = self.places
        first, size = f'({tables.reals})', reach_hull.BLOCK
        are_in_table = (
            f'((begin >= {first}) & ((begin - {first}) % {size} == 0) & '
            f'(begin + {size} * count <= {first} + {size} * {self.hulls}))'
        )
        pose = _real(*UNIT, 9), _real(*FINITE, 3)
        hull = (
            *(_real(*FINITE, reach_hull.HULL), _real(*FINITE, 3), _real(*UNIT, 3)),
            *(_real(*FINITE), _real(*POSITIVE), _counted(0, reach_hull.MOST_SLIDES)),
            _real(*FINITE, reach_hull.SLIDE_REALS * reach_hull.MOST_SLIDES),
            _real(*FINITE, reach_hull.DIRECTIONS),
        )
        constraint = (
            *(*pose, *pose, _real(*FINITE, 18), _real(*FINITE, 3), _real(*POSITIVE)),
            *(_counted(0, f'{tables.reals} + {reach_hull.BLOCK} * {self.hulls}', 'begin'),),
            _counted(0, self.hulls, 'count'),
            # The hulls of a tip are some of those in the table.
            Cell('must', f'(count == 0) | {are_in_table}', repeats=0),
        )
        return [
            Table(self.nodes, (*pose, _real(*FINITE, 4))),
            Table(self.constraints, constraint),
            Table(self.hulls, hull),
        ]


EVERY_ROW, POSITION_MASK = 0b111111, 0b000111
_SEARCH = _Problem(
    'nodes',
    'paths',
    'hulls',
    'tips',
    'tips',
    'rows',
    'shorter',
    f'{EVERY_ROW} - {EVERY_ROW - POSITION_MASK} * position_only',
)
_KINEMATICS = _Problem(
    'fk_nodes', 'fk_paths', '0', '1', '0', str(POSE_ROWS), 'fk_shorter', str(EVERY_ROW)
)


def _smaller(one: str, other: str) -> str:
    """Return an expression, valid in Python and C, for the smaller one of two numbers."""
    return f'{one} - ({other} < {one}) * ({one} - {other})'


def _numbers() -> dict[str, Cell]:
    """
    Return the rules of the words of section NUMBERS, by name.

    An expression may use the numbers before it by their lower-case names.
    """
    tables, work = _SEARCH.places
    option_count = Sum.of('joints') * (state.JOINT_ROWS + 3) + state.OPTIONS
    option_count += Sum.of('tips') * state.TOLERANCES
    form_may_be = f'(joints <= {FORM_JOINTS}) * (tips == 1) * (1 - position_only)'
    given = {
        'JOINTS': _whole(1, MOST_JOINTS),
        'TIPS': _whole(1, MOST_TIPS),
        'POSITION_ONLY': _whole(0, 1),
        'CLOSED_FORM': _whole(NO_FORM, f'{ELIMINATION} * {form_may_be}'),
        'HELD': _whole(
            f'(closed_form > 0) * (joints == {FORM_JOINTS}) - 1',
            f'(closed_form > 0) * (joints == {FORM_JOINTS}) * joints - 1',
        ),
        'ARCS': _whole(0, '(held >= 0)'),
        'HELD_SLIDES': _whole(0, '(held >= 0) * (1 - arcs)'),
        'SAMPLES': _whole(1, MOST_SAMPLES),
        'IS_COMPLETE': _whole(0, '(closed_form > 0) * (held < 0)'),
        'FORM_FIRST': _whole(0, f'(closed_form == {DIRECT}) * (held < 0)'),
        'FORM_LAST': _whole(0, '(closed_form > 0) * (held < 0) * (1 - form_first)'),
        'FORM_ONLY': _whole(0, '(closed_form > 0) * (1 - form_first) * (1 - form_last)'),
        'PLAIN': _whole('form_first', '(tips == 1) * (1 - form_only)'),
        'SLIDES': _whole(0, 1),
        'WIDEST': _whole('(closed_form > 0)', f'(closed_form > 0) * {MOST_WIDEST}'),
        **dict.fromkeys(('NODES', 'FK_NODES'), _whole(1, MOST_JOINTS)),
        **dict.fromkeys(('PATHS', 'FK_PATHS'), _whole(1, MOST_PATHS)),
        'HULLS': _whole(0, MOST_PATHS),
        'NAME_WORDS': _whole(1, 1 << 16),
    }
    derived: dict[str, object] = {
        'FORM_JOINTS': '(closed_form > 0) * joints',
        'CAPACITY': f'(closed_form > 0) * ({search.BRANCHES_OF_SIX} + '
        f'(held >= 0) * {LARGEST_CAPACITY - search.BRANCHES_OF_SIX})',
        'PLAN_SIZE': 'PLAN_OF[form_joints]',
        'FORM_LOWER': _plan_place('lower'),
        'FORM_UPPER': _plan_place('upper'),
        'ROWS': f'tips * ({POSE_ROWS} - {POSE_ROWS - POSITION_ROWS} * position_only)',
        'SHORTER': _smaller('rows', 'joints'),
        'FK_SHORTER': _smaller(str(POSE_ROWS), 'joints'),
        'SEARCH_INTS': tables.ints,
        'SEARCH_SIZE': f'{tables.reals} + {reach_hull.BLOCK} * hulls',
        'OPTION_COUNT': option_count,
        'CLOCK': f'{plain_request.HEAD} + search_ints',
        'SEARCH_COUNTERS': f'clock + {CLOCK_WORDS}',
        'SEARCH_REALS': f'search_counters + {state.STATE_SIZE}',
        'BASE': 'search_reals + search_size',
        'SEARCH_OPTIONS': 'base',
        'SEARCH_WORK': 'search_options + option_count',
        'MATRICES': f'search_work + {work.fields["matrices"]}',
        'ERRORS': f'search_work + {work.fields["errors"]}',
        'BEST': f'search_work + {work.fields["best"]}',
        'REFERENCE': f'search_work + {work.fields["reference"]}',
    }
    whole = {name: cell._replace(name=name.lower()) for name, cell in given.items()}
    return whole | {name: _whole(text, name=name.lower()) for name, text in derived.items()}


def _plan_place(part: str) -> str:
    """
    Return an expression for the index at which a part of a plan begins.

    :param part: name of the part; its index is a linear function of the number of joints.
    """
    first, second = (plan_layout.PLAN.start(part, joints) for joints in (0, 1))
    return f'{second - first} * joints + {first}'


NUMBERS = _numbers()
"""Single numbers of an arm; those after NAME_WORDS follow from the others."""


def _form_ints() -> list[Table]:
    """Return the rules of section INTS, the integers of a closed form; without a closed form it has no words."""
    turning = f'({ALL_KINDS} - arcs * {ALL_KINDS - TURNING})'
    cells = {
        search.N: _whole('joints'),
        search.HELD: _whole('held'),
        search.KIND: Cell(
            'bits',
            f'KINDS_OF[{FORM_JOINTS + 1} * closed_form + joints - (held >= 0)] & {turning}',
            name='kind',
        ),
        search.CASE: _whole(0, 7, 'variant'),
        search.REVERSED: _whole(0, 1),
        **dict.fromkeys((search.BEHIND, search.BEHIND + 1), _whole(0, '(held >= 0)')),
        **{
            search.JOINT_INDICES + k: _whole(
                f'({k} < joints - (held >= 0)) * ({k} + ({k} >= held) * (held >= 0))'
            )
            for k in range(FORM_JOINTS + 1)
        },
        search.CUT: _whole(
            f'(closed_form == {ELIMINATION}) - 1',
            f'(closed_form == {ELIMINATION}) * {closed_loop.CUTS * (closed_loop.CUTS + 1)} - 1',
        ),
        search.SLIDES: _whole(0, '(1 - arcs) * ((1 << joints) - 1)', 'sliding'),
        search.INEXACT: _whole(0, 1),
    }
    held = '((sliding >> (held * (held >= 0))) & (held >= 0))'
    ones = f'(ONES_OF[sliding] - {held})'
    mixed, shoulder = (f'(kind == {kind})' for kind in SLIDING)
    most = MOST_OF_A_KIND
    conditions = (
        f'held_slides == {held}',
        # Bounds on the number of sliding joints, the held joint aside, for which the class has room.
        f'{ones} <= {most} * {mixed} + ONES_OF[variant] * {shoulder}',
        f'{ones} >= (joints - (held >= 0) - {most}) * {mixed} + ONES_OF[variant] * {shoulder}',
    )
    rules = (
        *(cells[k] for k in range(search.PLAN_INTS)),
        *(Cell('must', each, repeats=0) for each in conditions),
    )
    return [Table('(closed_form > 0)', rules)]


def _form_reals() -> list[Table]:
    """
    Return the rules of section REALS, the real numbers of a closed form: its plan, then constants of an elimination.

    Without a closed form it has no words, and without an elimination no constants.
    """
    chain = _real(*UNIT, '3 * joints'), _real(*FINITE, '3 * joints')
    pose = _real(*UNIT, 9), _real(*FINITE, 3)
    hull = _SEARCH.reals()[2].cells
    plan = (
        *(*chain, *pose, *pose, _real(*NUMBER, '2 * joints')),
        *(_real(*FINITE, 6, 'maybe'), *chain, *hull),
    )
    el, cl = elimination, closed_loop
    cut = (
        *(_real(*FINITE), _counted(0, loop_workspace.JOINTS - 1, 'joint'), _counted(0, 1)),
        *(_counted('(joint >= 3)'), _real(*FINITE, cl.AT_ELIMINATION - cl.AT_FIXED - 1)),
        _real(*FINITE, el.ELIMINATION - 4),
        _counted(0, 3, 'pairs'),
        _counted(0, '4 - pairs - (pairs == 3)', 'quadratic'),
        _counted(0, f'{el.LEFT} - 2 * pairs - quadratic'),
        _counted(0, el.RANK),
    )
    has_elimination = f'(closed_form == {ELIMINATION})'
    return [
        Table('(closed_form > 0)', plan),
        Table(has_elimination, (_counted(0, 2),)),
        Table(f'{has_elimination} * 2', cut),
    ]


def _search_options(*, tracks: bool) -> list[Table]:
    """
    Return the rules of the options of a search, in the order of :mod:`ssik_ros.kernels.search.state`.

    :param tracks: True for the options of a control loop.
    """
    switches = 'PLAIN_INVERSE', 'LIMITED', 'SEEDED', 'WEIGHTED', 'GIVES_UP', 'SERIAL'
    cells = {
        **{
            getattr(state, name): _counted(0, 1)
            for name in (*switches, 'KEEPS_LOOKING', 'CONSTANT')
        },
        state.VALIDATED: _counted(0),
        state.OPTIMISE: _counted(0, 0 if tracks else 1),
        state.IMPROVES: _counted(0, 0 if tracks else '(rows < joints)'),
        **{
            getattr(state, name): _counted(0, MOST_STEPS)
            for name in ('MAX_ITERATIONS', 'PROGRESS_STEPS', 'POLISH_STEPS')
        },
        state.MAX_SEARCHES: _counted(0, MOST_SEARCHES),
        state.OPTIMISE_NS: _real('0.0', repr(MOST_NANOSECONDS)),
        state.LAW: _counted(laws.NEWTON, laws.POSE_IK),
        state.ERROR_SQUARED: _real(*POSITIVE),
        state.RANDOM_SEED: _counted(0, 1 << 52),
    }
    return [
        Table('1', tuple(cells.get(k, _real(*FINITE)) for k in range(state.OPTIONS))),
        Table('4', (_real(*NUMBER, 'joints'),)),
        Table('2', (_real(*FINITE, 'joints'),)),
        Table('tips', (_real(*POSITIVE, state.TOLERANCES),)),
        Table('3', (_real(*FINITE, 'joints'),)),
    ]


SECTIONS = {
    'NUMBERS': [Table('1', tuple(NUMBERS.values()))],
    'INTS': _form_ints(),
    'REALS': _form_reals(),
    'OPTIONS': [Table('1', (_real(*FINITE, search.OPTIONS),))],
    'OWN': [Table('1', (_real(*FINITE, plain_request.NUMBERS),))],
    'SEARCH': [
        Table(
            '1',
            (
                _whole(f'search_ints + {CLOCK_WORDS}'),
                _whole('search_size'),
                _whole('option_count'),
            ),
        ),
        *_SEARCH.ints(),
        Table('1', (_whole(0, count=CLOCK_WORDS + state.STATE_SIZE),)),
        *_SEARCH.reals(),
        *_search_options(tracks=False),
    ],
    'TRACK': _search_options(tracks=True),
    'FK_INTS': _KINEMATICS.ints(),
    'FK_REALS': _KINEMATICS.reals(),
    'LIMITS': [Table('2', (_real(*NUMBER, 'joints'),))],
    'NAMES': [
        Table('name_words - 1', (_whole('-INT64_MAX - 1', 'INT64_MAX'),)),
        # The last byte is zero and ends the text.
        Table('1', (_whole(0, (1 << 56) - 1),)),
    ],
}
"""The sections in their order, with their rules."""


class Room(NamedTuple):
    """
    Size of a part of a solver's memory, as expressions for numbers of words.

    A caller of the C library says how many *windings* it needs: joint vectors that a call for several solutions may
    write.
    """

    always: object
    """Words in any case."""
    each: object = '0'
    """More words for each of these windings."""
    once: object = '0'
    """More words if the caller needs any windings."""


def _step_scratch(n: str) -> str:
    """
    Return an expression for the number of words of scratch that :mod:`ssik_ros.kernels.rows.steps` needs for one pose.

    It is a polynomial of degree two in the number of joints.

    :param n: expression for the number of joints.
    """
    of_none, of_one, of_two = (steps.optimal_size(POSE_ROWS, joints) for joints in range(3))
    square = (of_two - 2 * of_one + of_none) // 2
    return f'{square} * {n} * {n} + {of_one - of_none - square} * {n} + {of_none}'


def _parts() -> dict[str, Room]:
    """Return the size of each part of a solver's memory, by name, in the order of the parts."""
    n, form = 'form_joints', '(closed_form > 0)'
    eliminates, arcs = f'(closed_form == {ELIMINATION})', 'arcs'
    work, fk_work = _SEARCH.places[1], _KINEMATICS.places[1]
    rows = 'capacity'
    return {
        'HEAD': Room(branch_block.HEAD),
        'INTS': Room(f'{form} * {search.PLAN_INTS}'),
        'COUNTERS': Room(f'{form} * {search.COUNTERS} + {rows}'),
        'REALS': Room(f'plan_size + {eliminates} * {closed_loop.CONSTANTS}'),
        'SAMPLES': Room(f'{form} + (held >= 0) * {FINER_SAMPLES[-1]}'),
        'OPTIONS': Room(search.OPTIONS),
        'POSE': Room(16),
        'SEED': Room('joints'),
        'ROWS': Room(f'{rows} * ({n} + 3)'),
        'FOUND': Room(f'(held < 0) * {rows} * {n}'),
        'WORK': Room(f'WORK_OF[{n}]'),
        'OWN': Room(plain_request.NUMBERS),
        'CONSTANTS': Room(f'{eliminates} * {closed_loop.CONSTANTS}'),
        'SIX': Room(f'{eliminates} * {SIX}'),
        'LOOP': Room(f'{eliminates} * {LOOP}'),
        'LOOP_INTS': Room(f'{eliminates} * {(LOOP_INTS + 1) // 2}'),
        'SPREAD': Room(f'{arcs} * {held_search.SPREAD}'),
        'PLACES': Room(f'{arcs} * PLACES_OF[samples]'),
        'STACK': Room(f'{arcs} * STACK_OF[samples]'),
        'SCRATCH': Room(f'{arcs} * SCRATCH_OF[samples]'),
        'SEARCH': Room(f'search_work + {work.reals}'),
        # A solution and the candidate: joints, two errors of each tip, their norm, distance to the seed.
        'CANDIDATES': Room('2 * (joints + 2 * tips + 2)', 'joints + 2 * tips + 2'),
        'TRACK': Room('option_count'),
        'TRACK_REPORT': Room(tracking.NUMBERS),
        'TRACK_SCRATCH': Room(_step_scratch('joints')),
        'CYCLE': Room(f'{tracking.CYCLE_ROWS} * joints'),
        'FK': Room(fk_work.reals),
        **dict.fromkeys(('JOINTS', 'JOINT_INTS', 'START'), Room('joints')),
        'TARGET': Room('16 * tips'),
        'PREVIOUS': Room(16),
        **dict.fromkeys(('WIND_BRANCHES', 'WIND_SIZES'), Room(0, once=f'{rows} * {n}')),
        **dict.fromkeys(('WIND_VALUES', 'WIND_COSTS'), Room(0, once=f'{rows} * {n} * widest')),
        'WIND_OWNER': Room(0, form),
        **dict.fromkeys(('WIND_HEAP', 'WIND_KEYS', 'WIND_OWNERS', 'WIND_CODES'), Room(0, n, rows)),
    }


PARTS = _parts()
"""The parts of a solver's memory, with the room of each."""
