"""Targets of machine code, such as x86_64_v3, that this machine can run."""

import os
import sys

X86_64_V3 = frozenset({'avx', 'avx2', 'bmi1', 'bmi2', 'f16c', 'fma', 'abm', 'movbe'})
"""Linux names of the features of a processor at level x86-64-v3."""


def of_this_machine() -> list[str]:
    """
    Return the targets whose code this machine runs, the fastest first; empty on platforms without a native library.

    If the environment variable SSIK_ROS_TARGET is set, its value is the only target.
    """
    chosen = os.environ.get('SSIK_ROS_TARGET')
    if chosen:
        return [chosen]
    if sys.platform != 'linux':
        return []
    machine = os.uname().machine
    if machine == 'x86_64':
        return ['x86_64_v3', 'x86_64_v2'] if processor_flags() >= X86_64_V3 else ['x86_64_v2']
    return ['aarch64'] if machine == 'aarch64' else []


def refusal() -> tuple[str, str]:
    """Return (cause, remedy) of the error for a platform without a native library."""
    platform = f'{sys.platform} {os.uname().machine}'
    what = f'There is no native library of the kernels for {platform}'
    return what, 'install numba and set SSIK_ROS_JIT=1'


def processor_flags() -> frozenset[str]:
    """Return the features of the first processor from /proc/cpuinfo, such as ``avx2``; empty if none are listed."""
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        for line in file:
            if line.startswith('flags'):
                return frozenset(line.partition(':')[2].split())
    return frozenset()
