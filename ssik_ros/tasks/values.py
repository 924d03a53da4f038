"""Parts of the one vector that holds the values of all joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.tasks.joints import Joint


def joint_values(joints: Sequence[Joint], values: FloatArray) -> FloatArray:
    """
    Return the numbers of some joints from a vector of all, one behind the other; four for a spherical one.

    :param values: like ``Environment.q``.
    """
    places = [joint.place_in_values + k for joint in joints for k in range(joint.size)]
    return values[np.array(places, dtype=np.int64)]
