"""Under which conditions a figure was measured: processor, governor, load, versions."""

from collections.abc import Iterable
import os
from pathlib import Path
from typing import Any

from bench.clocks import calibrate
from bench.peers import Peer
from ssik_ros.benchmark.machine import describe_machine


def describe(core: int | None, peers: Iterable[Peer]) -> dict[str, Any]:
    """
    Return machine, load, and versions, so that a reader can compare the figures with others.

    :param core: the core that this process is pinned to.
    :param peers: the peers whose versions are quoted.
    """
    machine = describe_machine()
    return {
        'date': machine.date,
        'cpu': machine.cpu,
        'cores': os.cpu_count(),
        'pinned_to': core,
        'governor': governor(core),
        'load_average': [round(value, 2) for value in os.getloadavg()],
        'calibration_ms': round(calibrate(), 3),
        'system': machine.system,
        'versions': {
            **machine.versions,
            **{
                peer.distribution: peer.version()
                for peer in peers
                if peer.distribution and peer.available()
            },
        },
    }


def governor(core: int | None) -> str:
    """
    Return the frequency governor of a core, or 'unknown' where the system does not tell.

    :param core: the core's number.
    """
    path = Path(f'/sys/devices/system/cpu/cpu{core or 0}/cpufreq/scaling_governor')
    return path.read_text(encoding='ascii').strip() if path.is_file() else 'unknown'


def as_text(conditions: dict[str, Any]) -> str:
    """
    Return the conditions as a few lines.

    :param conditions: from :func:`describe`.
    """
    versions = ', '.join(f'{name} {number}' for name, number in conditions['versions'].items())
    return (
        f'{conditions["cpu"]}, core {conditions["pinned_to"]} of {conditions["cores"]}, '
        f'governor {conditions["governor"]}, load {conditions["load_average"]}, '
        f'calibration {conditions["calibration_ms"]} ms\n'
        f'{conditions["system"]}; {versions}; {conditions["date"]}'
    )
