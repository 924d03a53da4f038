"""Options of a closed-chain solve with their ranges: our own defaults, and the defaults of closed-chain-ik-js."""

from dataclasses import fields, replace
import functools
import math
from typing import Any
import warnings

import numpy as np

from ssik_ros.arguments import read_choice, read_count, read_flag, read_float, refuse
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidOption, quote
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.value_class import dataclass

METHODS = {'lm': layout.LM, 'dls': layout.DLS, 'svd': layout.SVD}
OBJECTIVES = {'rest': layout.POSTURE, 'limit_centre': layout.LIMIT_CENTRE}
PRIORITIES = ('same', 'low')
UPDATES = ('always', 'converged')
REMOVED = ('translation_step', 'rotation_step')


@dataclass(frozen=True)
class ClosedChainOptions:
    """
    Options of one closed-chain solve: method, budgets, damping, tolerances, weights, objectives and restarts.

    The defaults are for :class:`ssik_ros.mechanisms.solver.Solver`; :meth:`compatible` returns the defaults of
    closed-chain-ik-js.
    """

    method: str = 'lm'
    """``lm``: adaptive damping. ``dls``: fixed damping. ``svd``: damping of single directions."""
    max_iterations: int = 100
    """Most iterations of one start, those after escapes included."""
    max_time: float = math.inf
    """Longest time of one chain's solve, restarts included [s]."""
    stall_threshold: float = 1e-9
    """A step that moves no degree of freedom by more than this ends the run of steps as a stall [m or rad]."""
    diverge_threshold: float = 0.01
    """Largest growth of the error above its last good value (dls, svd) [m + rad]."""
    damping_factor: float = 0.001
    """Damping of dls."""
    sigma_threshold: float = 0.001
    """Singular value below which svd damps."""
    rest_pose_factor: float = 1.0
    """Gain of the pull towards rest poses, in (0, 1]."""
    translation_converge_threshold: float = 1e-6
    """Length [m] below which the remaining error of a closure, goal or target counts as zero."""
    rotation_converge_threshold: float = 1e-6
    """Angle [rad] below which this error counts as zero."""
    translation_factor: float = 1.0
    rotation_factor: float = 1.0
    """Weights of the rows."""
    translation_error_clamp: float = 0.1
    rotation_error_clamp: float = 0.1
    """Largest error that one step of dls or svd tries to remove; lm bounds its steps by itself."""
    target_priority: str = 'same'
    """``same``: joint targets compete with closures. ``low``: joint targets use the freedom that closures leave."""
    secondary: str = 'rest'
    """``rest``: rest poses. ``limit_centre``: rest poses and the middle of every range."""
    escapes: int = 2
    """Attempts to leave a stall away from the goal, from nearby states."""
    restarts: int = 0
    """Starts from random states if the search from the present state fails; each has ``max_iterations``."""
    update_joints: str = 'always'
    """``always``: the joints get the last values. ``converged``: a failed solve leaves the joints as they were."""
    seed: int = 0
    """Seed of the random states of escapes and restarts."""

    def __post_init__(self) -> None:
        """
        Check every value.

        :raises InvalidOption: when one is out of its range.
        """
        for name, choices in (
            ('method', tuple(METHODS)),
            ('target_priority', PRIORITIES),
            ('secondary', tuple(OBJECTIVES)),
            ('update_joints', UPDATES),
        ):
            read_choice(name, getattr(self, name), choices)
        for name in ('max_iterations', 'escapes', 'restarts', 'seed'):
            read_count(name, getattr(self, name), most=2**63 - 1)
        for name in _NUMBERS:
            value = getattr(self, name)
            number = read_float(name, value)
            if not (number >= 0.0 and (number > 0.0 or name not in _POSITIVE)):
                bounds = 'at least 0, and above 0 for time, gain, tolerances and clamps'
                refuse(name, value, f'a number of {bounds}')
        if self.rest_pose_factor > 1.0:
            refuse('rest_pose_factor', self.rest_pose_factor, 'in (0, 1]')

    @classmethod
    def compatible(cls, **changes: Any) -> 'ClosedChainOptions':
        """
        Return the defaults of closed-chain-ik-js, with changes.

        :param changes: options by name.
        :raises InvalidOption: as :meth:`changed`.
        """
        options = cls(
            method='dls',
            max_iterations=5,
            stall_threshold=1e-4,
            rest_pose_factor=0.01,
            translation_converge_threshold=1e-3,
            rotation_converge_threshold=1e-5,
            escapes=0,
        )
        return options.changed(**changes)

    def changed(self, **changes: Any) -> 'ClosedChainOptions':
        """
        Return a copy of these options with changes.

        Options of closed-chain-ik-js are accepted: ``use_svd`` sets the method to ``svd`` (True) or ``dls`` (False).
        ``translation_step`` and ``rotation_step`` are ignored with a warning, because the Jacobian is exact.

        :param changes: options by name.
        :raises InvalidOption: for an unknown name or a value out of range.
        """
        for name in REMOVED:
            if name in changes:
                changes.pop(name)
                text = f'{name} has no effect: the columns of the Jacobian are exact'
                warnings.warn(text, stacklevel=3)
        if 'use_svd' in changes:
            changes['method'] = 'svd' if read_flag('use_svd', changes.pop('use_svd')) else 'dls'
        for name in changes:
            if name not in NAMES:
                raise InvalidOption.unknown(f'There is no option {quote(name)}', name, NAMES)
        return replace(self, **changes)

    @functools.cached_property
    def packed(self) -> FloatArray:
        """Return the options as an array (OPTIONS,), the form that the kernel reads."""
        packed = np.zeros(layout.OPTIONS)
        packed[layout.METHOD] = METHODS[self.method]
        packed[layout.LOW_TARGETS] = self.target_priority == 'low'
        packed[layout.KEEP_FAILED] = self.update_joints == 'always'
        packed[layout.SECONDARY] = OBJECTIVES[self.secondary]
        for place, name in _PLACES.items():
            packed[place] = getattr(self, name)
        return packed


_PLACES = {
    layout.MAX_ITERATIONS: 'max_iterations',
    layout.STALL: 'stall_threshold',
    layout.DIVERGE: 'diverge_threshold',
    layout.DAMPING: 'damping_factor',
    layout.REST_FACTOR: 'rest_pose_factor',
    layout.TRANSLATION_TOLERANCE: 'translation_converge_threshold',
    layout.ROTATION_TOLERANCE: 'rotation_converge_threshold',
    layout.TRANSLATION_FACTOR: 'translation_factor',
    layout.ROTATION_FACTOR: 'rotation_factor',
    layout.TRANSLATION_CLAMP: 'translation_error_clamp',
    layout.ROTATION_CLAMP: 'rotation_error_clamp',
    layout.SIGMA: 'sigma_threshold',
    layout.ESCAPES: 'escapes',
}
_POSITIVE = (
    'max_time',
    'rest_pose_factor',
    *('translation_converge_threshold', 'rotation_converge_threshold'),
    *('translation_error_clamp', 'rotation_error_clamp'),
)
"""Numbers above zero; the other numbers may be zero."""
NAMES = tuple(field.name for field in fields(ClosedChainOptions))
_NUMBERS = tuple(f.name for f in fields(ClosedChainOptions) if isinstance(f.default, float))
