"""The machine of a measurement: processor, operating system and versions."""

from collections.abc import Mapping
import datetime
import importlib.metadata
import os
from pathlib import Path
import platform

from ssik_ros import __version__
from ssik_ros.value_class import dataclass

_DISTRIBUTIONS = {
    'numpy': ('numpy',),
    'pinocchio': ('pin', 'pinocchio'),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, operating system and software versions of one run."""

    cpu: str
    cores: int
    """Processors that this process may use."""
    system: str
    versions: Mapping[str, str]
    """Versions of Python, this package, numpy and pinocchio, by name; ``unknown`` if not installed."""
    date: str
    """Date and time in UTC, ISO 8601."""


def describe_machine() -> Machine:
    """Return processor, operating system and versions of this machine, with the current date and time."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0))
        if hasattr(os, 'sched_getaffinity')
        else os.cpu_count() or 1,
        system=platform.platform(),
        versions={
            'python': platform.python_version(),
            'ssik_ros': __version__,
            **{name: _version(others) for name, others in _DISTRIBUTIONS.items()},
        },
        date=now.isoformat(timespec='seconds'),
    )


def _cpu_model() -> str:
    """Return the name of the processor, or its architecture if the system has no name; ``unknown`` without both."""
    cpuinfo = Path('/proc/cpuinfo')
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding='utf-8', errors='replace').splitlines():
            key, _, value = line.partition(':')
            if key.strip() in ('model name', 'Model') and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or 'unknown'


def _version(distributions: tuple[str, ...]) -> str:
    """Return the version of the first distribution that is installed; ``unknown`` if none is."""
    for distribution in distributions:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return 'unknown'
