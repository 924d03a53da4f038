"""
The peers of the comparison: one module for each peer, found by its place in this folder.

A module has ``PEERS``, a tuple of :class:`Peer`: the same package at different tolerances or in different calls. If a
peer is not installed, its row says so.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
import importlib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
import pkgutil
from typing import Any

import numpy as np

from bench.arms import Arm, FloatArray

Solve = Callable[[Any, FloatArray], Any]
"""Target in the peer's own type and seed in, joint vector, None or all branches out: the call that is timed."""


FK_AGREEMENT = 1e-9
"""Largest difference of an entry of a pose at which a peer's chain is the arm."""
FK_POSES = 20


class NotComparable(Exception):
    """Says why a peer cannot be asked about an arm: it has no solver for it, or means another arm by its name."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A peer ready for one arm."""

    solve: Solve
    convert: Callable[[FloatArray], Any]
    """Turns a target (4, 4) into the peer's own type, outside of the timed call."""
    read: Callable[[Any], FloatArray] = np.atleast_2d
    """Turns the result of the call into joint vectors (k, n), also outside of the timed call."""
    note: str = ''
    """Note for readers of the figures."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One participant."""

    name: str
    module: str
    """Module that must be importable."""
    distribution: str
    """Whose version is quoted; empty for this package."""
    call: str
    """How it is called, for the report."""
    prepare: Callable[[Arm], Prepared] = field(repr=False)
    classes: tuple[str, ...] = ()
    """Names of the classes it takes part in."""
    slow: bool = False
    """It is asked a part of the poses, in a pass with others of its kind: it takes the caches from the fast ones."""

    @property
    def is_own(self) -> bool:
        """Return whether it is a solver of this package."""
        return not self.distribution

    def available(self) -> bool:
        """Return whether it is installed."""
        return find_spec(self.module) is not None

    def version(self) -> str:
        """Return its version, or '-' when it is not installed as a distribution."""
        try:
            return version(self.distribution or self.module)
        except PackageNotFoundError:
            return '-'


def load_peers(names: Iterable[str] | None = None) -> dict[str, Peer]:
    """
    Return the peers of this folder by name.

    :param names: which; None means all.
    :raises KeyError: for a name that no file has.
    """
    files = (
        importlib.import_module(f'{__name__}.{module.name}')
        for module in pkgutil.iter_modules(__path__)
    )
    all_peers = [peer for file in files for peer in getattr(file, 'PEERS', ())]
    peers = {peer.name: peer for peer in sorted(all_peers, key=lambda peer: not peer.is_own)}
    return peers if names is None else {name: peers[name] for name in names}


def prepare_all(peers: Mapping[str, Peer], arm: Arm) -> tuple[dict[str, Prepared], dict[str, str]]:
    """
    Return the peers that can be asked about an arm, and why the others cannot.

    :param peers: by name.
    :param arm: the arm.
    """
    prepared, refusals = {}, {}
    for name, peer in peers.items():
        try:
            if not peer.available():
                raise NotComparable('not installed')
            prepared[name] = peer.prepare(arm)
        except NotComparable as reason:
            refusals[name] = str(reason)
    return prepared, refusals


def check_fk(arm: Arm, forward: Callable[[FloatArray], Any]) -> None:
    """
    Refuse a chain of a peer that is not the arm.

    :param arm: the arm.
    :param forward: returns the peer's pose (4, 4) of the tip at joint values (n,).
    :raises NotComparable: when a pose differs.
    """
    q = np.random.default_rng(0).uniform(*arm.sampling_bounds(), (FK_POSES, len(arm.joints)))
    theirs = np.array([np.asarray(forward(row)) for row in q])
    difference = float(np.abs(theirs - arm.fk(q)).max())
    if difference > FK_AGREEMENT:
        raise NotComparable(f'its FK differs by {difference:.1e}')


def check_limits(arm: Arm, names: tuple[str, ...], lower: FloatArray, upper: FloatArray) -> None:
    """
    Make sure that the package reads the joints and limits of an arm as the judge does.

    :raises ValueError: when it does not.
    """
    is_same = np.array_equal([lower, upper], [arm.lower, arm.upper])
    if names != tuple(joint.name for joint in arm.joints) or not is_same:
        raise ValueError(f'{arm.name}: the package reads other joints or limits')
