"""Run closed-chain-ik under node on a mechanism of ours, if it is installed."""

from collections.abc import Mapping, Sequence
import json
import math
from pathlib import Path
import shutil
import subprocess
from typing import Any

import numpy as np

from bench import ROOT
from ssik_ros.mechanisms import DOF, Frame, Goal, Joint

PACKAGE = ROOT / '.venv-bench' / 'node_modules' / 'closed-chain-ik'
PROGRAM = Path(__file__).with_name('peers') / 'closed_chain_ik.mjs'
OPTIONS = {
    'its hexapod example': {
        'maxIterations': 10,
        'translationConvergeThreshold': 1e-5,
        'rotationConvergeThreshold': 1e-5,
        'translationErrorClamp': 0.01,
        'rotationErrorClamp': 0.01,
    },
    'loose': {
        'maxIterations': 50,
        'translationConvergeThreshold': 1e-4,
        'rotationConvergeThreshold': 1e-3,
        'translationErrorClamp': 0.1,
        'rotationErrorClamp': 0.1,
    },
}
"""Options of the solver: the values of the package's own example, and wider ones that suit it better."""
CALLS = 6
"""How often the example solves again before it shows a frame."""
SECONDS = 300.0


class NoPeer(Exception):
    """Says why the peer cannot be asked."""


def find_node(package: Path = PACKAGE) -> str:
    """
    Return the path of node.

    :param package: where the peer is to be.
    :raises NoPeer: when node or the package is not installed.
    """
    node = shutil.which('node')
    if node is None:
        raise NoPeer('node is not installed')
    if not (package / 'package.json').is_file():
        raise NoPeer('the npm package closed-chain-ik is not installed')
    return node


def finite(value: float) -> float | None:
    """Return a number, or None for an infinite one, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def describe_frame(frame: Frame, rows: Mapping[Frame, int]) -> dict[str, Any]:
    """
    Return a frame as plain data.

    :param frame: of a mechanism.
    :param rows: number of every frame of it.
    """
    kind = 'goal' if isinstance(frame, Goal) else 'joint' if isinstance(frame, Joint) else 'link'
    data = {
        'kind': kind,
        'parent': -1 if frame.parent is None else rows[frame.parent],
        'position': np.array(frame.position).tolist(),
        'quaternion': np.array(frame.quaternion).tolist(),
        'closes': -1,
        'dof': {},
    }
    if isinstance(frame, Joint):
        if frame.is_closure and frame.child is not None:
            data['closes'] = rows[frame.child]
        data['dof'] = {
            DOF(dof).name: {
                'value': frame.get_dof_value(dof),
                'lower': finite(frame.get_min_limit(dof)),
                'upper': finite(frame.get_max_limit(dof)),
            }
            for dof in frame.dof
        }
    return data


def describe_mechanism(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    """
    Return all frames of a mechanism in their present state as plain data.

    :param frames: parents before children.
    """
    rows = {frame: row for row, frame in enumerate(frames)}
    return [describe_frame(frame, rows) for frame in frames]


def ask(
    frames: Sequence[Mapping[str, Any]],
    runs: Mapping[str, Sequence[Mapping[str, Sequence[float]]]],
    warm_up: int,
    options: Mapping[str, float],
    package: Path = PACKAGE,
) -> dict[str, Any]:
    """
    Return the times and misses of the peer for each goal.

    :param frames: of :func:`describe_mechanism`.
    :param runs: name to goals, each a ``position`` and a ``quaternion``; one run after the other.
    :param warm_up: goals at the start of each run that are not timed.
    :param options: of the solver, one of :data:`OPTIONS`.
    :param package: the folder of the package.
    :returns: ``version``, ``degrees`` of freedom, and ``runs`` with ``cpu`` and ``wall`` [us], ``solved``, ``metres`` and
        ``radians`` (the largest that a loop or the goal misses) of each goal.
    :raises NoPeer: when it is not here, or fails.
    """
    node = find_node(package)
    request = {
        'frames': frames,
        'options': options,
        'calls': CALLS,
        'runs': runs,
        'warm_up': warm_up,
    }
    try:
        done = subprocess.run(
            [node, str(PROGRAM), str(package)],
            input=json.dumps(request, allow_nan=False),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        told = [line for line in error.stderr.splitlines() if 'Error: ' in line]
        raise NoPeer(f'it failed: {" ".join(told[:1]) or error}') from error
    except subprocess.TimeoutExpired as error:
        raise NoPeer(f'it took more than {SECONDS:g} s') from error
    response: dict[str, Any] = json.loads(done.stdout)
    return response
