"""
Write the text of an artifact: one Python module that solves one arm and needs only numpy.

:func:`write_module` returns the text, for an :class:`ArtifactSubject`.
"""

from collections.abc import Iterable, Mapping
import importlib.metadata
import math
import textwrap

import numpy as np
from numpy.typing import NDArray

from ssik_ros.artifact.sources import Origin, ParameterValue, PortableSources
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.manipulator.closed_form_solve import describe_plan
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.value_class import dataclass

HERE = 'ssik_ros.artifact'
RUNTIME, ELIMINATION = f'{HERE}.runtime', f'{HERE}.elimination_runtime'
KERNELS = 'ssik_ros.kernels'
CLOSED_FORM = f'{KERNELS}.closed_form'
SEARCHES = ('branches.search', 'elimination.general_search')
CLASSES = ('classes.spherical_wrist', 'classes.three_parallel')
REPLACED: Mapping[Origin, Origin] = {
    (f'{KERNELS}._jit', 'matrix'): (f'{HERE}.views', 'matrix'),
    (f'{CLOSED_FORM}.branches.search', 'work_of'): (f'{HERE}.views', 'work_of'),
    (f'{KERNELS}.rows.eigenvalues', 'eigenvalues'): (f'{HERE}.eigen', 'eigenvalues'),
    (f'{KERNELS}.rows.eigenvectors', 'eigensystem'): (f'{HERE}.eigen', 'eigensystem'),
    (f'{KERNELS}.rows.pencil_eigenvalues', 'generalised_eigenvalues'): (
        f'{HERE}.eigen',
        'generalised_eigenvalues',
    ),
}
"""Replaced functions: eigenvalues by numpy, as plain QR steps are slow; tables by views of Python's numbers."""
WIDTH = 95
"""Columns of a line of numbers."""

_HEAD = '''"""
Inverse kinematics of {robot}: {base} to {tip}, {dof} joints.

Made by ``ssik build`` of ssik_ros {version}; change the generator rather than this file. It needs numpy only.
{reason}.

>>> solve(fk([0.1] * {dof}))  # branches within the limits, each with its residual

{validation}

The solver is copied from ssik_ros and stands under its licence:
SPDX-FileCopyrightText: 2026 ssik_ros contributors
SPDX-License-Identifier: BSD-3-Clause
"""
'''

_TAIL = '''

class Solution(NamedTuple):
    """One inverse-kinematics solution: joint vector, Frobenius norm of FK(q) - T."""

    q: Any
    fk_residual: float
    refinement_used: str = 'none'


_PLAN = ArtifactPlan(
    ints=np.array(
        {ints}
    ),
    reals=np.array(
        {reals}
    ),
    options=np.array(
        {options}
    ),
    held_samples={samples},
    uses_views={uses_views},
)


def solve(T, q_seed=None, max_solutions=None, respect_limits=True):
    """
    Return branches of a pose as a list of Solution(q, fk_residual, refinement_used).

    T: (4, 4) pose of EE_LINK in BASE_LINK. q_seed: joint vector; solutions are sorted by distance to it, and have no
    particular order without it. max_solutions: largest number of solutions. respect_limits: True drops what is outside
    the limits; False keeps every branch in (-pi, pi]; 'wrap' moves joints by multiples of 2 pi into the limits and keeps
    the rest. ValueError and TypeError say what is wrong with an argument.
    {completeness}
    """
    found = solve_pose(_PLAN, {find}, T, q_seed, max_solutions, respect_limits)
    return [Solution(*row) for row in found]


def fk(q):
    """Return the pose (4, 4) of EE_LINK in BASE_LINK at a joint vector [rad]."""
    return forward(_PLAN, q)
'''

_ALL = 'All branches are found: the list is empty if there is none, or if a number of T is larger than 1e9.'
_SAMPLED = """Branches are found at {count} values of joint {held}, and at the seed's value of it: an empty list does not prove
    that there is no solution."""
_NEAR = (
    'The axes fit the closed form nearly: an empty list does not prove that there is no solution.'
)
"""Last sentence about ``solve``: for a complete closed form, with a held joint, and for axes that fit only nearly."""


@dataclass(frozen=True, eq=False, slots=True)
class ArtifactSubject:
    """An arm for which an artifact module is written, with the name of its robot."""

    robot: str
    """The robot's name."""
    arm: AnalyticArm

    @property
    def chain(self) -> SerialChain:
        """Return the serial chain of the arm."""
        return self.arm.chain


def write_module(subject: ArtifactSubject, validation: str) -> str:
    """
    Return the text of the Python module that solves an arm; the same arguments and version give the same text.

    :param subject: the arm.
    :param validation: sentence that says how the module was validated.
    :raises SourceNotPortable: if the solver of the arm needs more than Python and numpy.
    """
    chain, plan = subject.chain, subject.arm.plan
    sources, find = _collect(plan.ints)
    facts = {
        'robot': subject.robot,
        'base': chain.base_link,
        'tip': chain.tip_link,
        'dof': plan.size,
        'version': version(),
        'reason': f'{describe_plan(plan).solver_name}: {plan.reason}',
        'validation': textwrap.fill(f'Validation: {validation}', WIDTH),
    }
    sampled = _SAMPLED.format(count=subject.arm.samples, held=plan.held + 1)
    completeness = _ALL if plan.is_complete else _NEAR if plan.held < 0 else sampled
    head = _HEAD.format(**{key: _printable(value) for key, value in facts.items()})
    constants = '\n'.join(_constants(subject, validation))
    tail = _TAIL.format(
        ints=_list_text(map(str, plan.ints.tolist())),
        reals=_list_text(map(_number, plan.reals.tolist())),
        options=_list_text(map(_number, plan.options.tolist())),
        samples=subject.arm.samples,
        uses_views=bool(plan.ints[search.CUT] < 0),
        find=find,
        completeness=completeness,
    )
    imports = '\n'.join(sources.import_lines())
    return f'{head}\n{imports}\n\n{constants}\n\n\n{sources.text()}\n{tail}'


def _collect(ints: NDArray[np.int64]) -> tuple[PortableSources, str]:
    """
    Return (sources, name of the search function in them): the functions that the module of an arm needs.

    :param ints: integers of the arm's plan, which choose the closed form.
    """
    kind, case = int(ints[search.KIND]), int(ints[search.CASE])
    constants: dict[Origin, Mapping[str, ParameterValue]] = {
        (f'{CLOSED_FORM}.{name}', 'search'): {'ints': tuple(ints.tolist())} for name in SEARCHES
    }
    constants[f'{CLOSED_FORM}.classes.candidates', 'write_candidates'] = {
        'kind': kind,
        'case': case,
    }
    constants.update({(f'{CLOSED_FORM}.{name}', 'solve'): {'case': case} for name in CLASSES})
    constants[f'{CLOSED_FORM}.classes.prismatic_shoulder', 'solve'] = {'slides': case}
    sources = PortableSources(constants, REPLACED, (RUNTIME, ELIMINATION))
    for name in ('solve_pose', 'forward'):
        sources.add(RUNTIME, name)
    if ints[search.CUT] >= 0:
        return sources, sources.add(ELIMINATION, 'eliminate')
    return sources, sources.add(f'{CLOSED_FORM}.branches.search', 'search')


def _constants(subject: ArtifactSubject, validation: str) -> list[str]:
    """
    Return the lines of the module that define public constants of the arm, such as JOINT_NAMES and LIMITS.

    :param validation: sentence that says how the module was validated.
    """
    chain, plan = subject.chain, subject.arm.plan
    facts = describe_plan(plan)
    limits = zip(chain.lower.tolist(), chain.upper.tolist(), strict=True)
    return [
        "__all__ = ('solve', 'fk', 'Solution')",
        '',
        f'BASE_LINK = {chain.base_link!r}',
        f'EE_LINK = {chain.tip_link!r}',
        f'DOF = {plan.size}',
        f'JOINT_NAMES = {chain.joint_names!r}',
        f'LIMITS = [{", ".join(_limits(*pair) for pair in limits)}]',
        f'T_HOME = np.array({chain.home.tolist()!r})',
        f'SOLVER_NAME = {facts.solver_name!r}',
        f'SOLVER_TIER = {facts.tier}',
        f'DISPATCH_REASON = {facts.reason!r}',
        f'VERSION = {version()!r}',
        f'VALIDATION = {validation!r}',
    ]


def version() -> str:
    """Return the version of this package; ``(source tree, not installed)`` if it is not installed."""
    try:
        return importlib.metadata.version('ssik_ros')
    except importlib.metadata.PackageNotFoundError:
        return '(source tree, not installed)'


def _limits(lower: float, upper: float) -> str:
    """Return the limits of a joint as Python code: ``(lower, upper)``, or ``None`` for a joint without limits."""
    if math.isinf(lower) and math.isinf(upper):
        return 'None'
    return f'({_number(lower)}, {_number(upper)})'


def _number(value: float) -> str:
    """Return a number as Python code that evaluates to the same bits, such as ``np.inf`` for infinity."""
    if math.isnan(value):
        return 'np.nan'
    return repr(value) if math.isfinite(value) else ('np.inf' if value > 0.0 else '-np.inf')


def _printable(value: object) -> str:
    """
    Return a value as a text that is safe inside a docstring.

    Backslashes become slashes, and triple double quotes become triple single quotes.
    """
    return str(value).replace('\\', '/').replace('"""', "'''")


def _list_text(words: Iterable[str]) -> str:
    """
    Return a Python list as code of several lines, each of at most WIDTH + 1 columns.

    :param words: code of each element.
    """
    indent, text = ' ' * 12, ''.join(f'{word}, ' for word in words)
    inner = textwrap.fill(
        text, WIDTH + 1, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return f'[\n{inner}\n        ]'
