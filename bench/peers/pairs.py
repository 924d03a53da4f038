"""A peer at two tolerances: one for the classes at 1e-3, one for those at 1e-6."""

from collections.abc import Callable
from typing import Any

from bench.arms import Arm
from bench.classes import AT_MICRO, AT_MILLI
from bench.peers import Peer, Prepared


def at_both_tolerances(
    name: str,
    prepare: Callable[[Arm, float], Prepared],
    call: str,
    tolerances: tuple[float, float] = (1e-3, 1e-6),
    **more: Any,
) -> tuple[Peer, Peer]:
    """
    Return a peer, and its twin ``NAME exact``.

    :param name: of the peer.
    :param prepare: returns the call for an arm at a tolerance.
    :param call: how it is called; ``{}`` is the tolerance.
    :param tolerances: in the sense of the peer.
    :param more: other fields of both peers.
    """
    milli, micro = (
        Peer(
            name=name + suffix,
            call=call.format(tolerance),
            prepare=lambda arm, tolerance=tolerance: prepare(arm, tolerance),
            classes=classes,
            **more,
        )
        for suffix, tolerance, classes in zip(
            ('', ' exact'), tolerances, (AT_MILLI, AT_MICRO), strict=True
        )
    )
    return milli, micro
