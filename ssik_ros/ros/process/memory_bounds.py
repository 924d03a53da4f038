"""
Bounds of the memory that a node keeps after large messages.

A message of a megabyte keeps memory in two places. glibc gives each thread its own heap, and after a block of up to 32
MB was freed, it keeps blocks of that size there. Fast DDS keeps a buffer for every place of a queue, as large as the
largest message that it ever held. Settings of the user in the environment are left as they are.
"""

import ctypes
import os
from pathlib import Path

from ssik_ros.errors import SsikError
from ssik_ros.model.description_files import config_directory

HEAPS = 2
"""Heaps of all threads together."""
LARGEST_KEPT = 1 << 20
"""A block as large as this gets memory of its own, which goes back when the block is freed; a heap gives as much free
memory at its end back [bytes]."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Numbers of glibc's ``mallopt``."""
PROFILE = ('middleware', 'fastdds.xml')
PROFILE_VARIABLES = 'FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE'
"""Of Fast DDS 3, and of earlier ones. rmw_fastrtps of Fast DDS 3 reads both files, and complains of profiles that it reads
twice."""
BEFORE_FAST_DDS_3 = 'humble', 'iron', 'jazzy'
"""Distributions of ROS."""
USE_PROFILE = 'RMW_FASTRTPS_USE_QOS_FROM_XML'
OWN_PROFILES = 'DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml'
"""Files in the working directory that Fast DDS reads without being told."""


def bound_memory() -> None:
    """Set the bounds of heaps and queues; call it before ``rclpy.init``, because Fast DDS reads its profile then."""
    bound_heaps()
    bound_queues()


def bound_heaps() -> bool:
    """
    Make the C library return freed memory to the system; return whether it accepted the settings.

    The settings of a user in the environment are kept; the result is false then.
    """
    if 'GLIBC_TUNABLES' in os.environ or any(name.startswith('MALLOC_') for name in os.environ):
        return False
    # Other C libraries have no such function, or ignore it.
    tell = getattr(ctypes.CDLL(None), 'mallopt', None)
    if tell is None:
        return False
    settings = (
        (M_ARENA_MAX, HEAPS),
        (M_MMAP_THRESHOLD, LARGEST_KEPT),
        (M_TRIM_THRESHOLD, LARGEST_KEPT),
    )
    told = [bool(tell(number, value)) for number, value in settings]
    return all(told)


def bound_queues() -> bool:
    """
    Make Fast DDS free the buffers of large messages, by environment variables; return whether they were set.

    They are not set if the user has a profile, or if the profile of this package is missing.
    """
    if any(name in os.environ for name in (*PROFILE_VARIABLES, USE_PROFILE)):
        return False
    if any(Path(name).is_file() for name in OWN_PROFILES):
        return False
    try:
        profile = config_directory().joinpath(*PROFILE)
    except SsikError:
        return False
    if not profile.is_file():
        return False
    is_earlier = os.environ.get('ROS_DISTRO') in BEFORE_FAST_DDS_3
    os.environ[USE_PROFILE] = '1'
    os.environ[PROFILE_VARIABLES[is_earlier]] = str(profile)
    return True
