"""
Print the cost of one solver in this process: ``python bench/fresh_process.py MODULES PEER URDF BASE TIP``.

Prints a line of JSON: seconds of wall clock and processor time for three steps, then the largest amount of memory in
use. The steps are the import, the set-up from the URDF and the first solution. Nothing of the peer is loaded before.
"""

import json
from pathlib import Path
import sys
from time import perf_counter, process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

KIB_IN_MIB = 1024.0
NO_PEER = '-'
"""In place of a peer: import the module and do nothing else."""


def clocks() -> tuple[float, float]:
    """Return the wall clock and the processor clock [s]."""
    return perf_counter(), process_time()


def spent(before: tuple[float, float], after: tuple[float, float]) -> dict[str, float]:
    """
    Return the seconds between two readings.

    :param before: from :func:`clocks`.
    :param after: from :func:`clocks`.
    """
    return {'wall': after[0] - before[0], 'cpu': after[1] - before[1]}


def peak_mib(process: int | None = None) -> float | None:
    """
    Return the most memory that a process held at once [MiB], None where the system does not tell.

    :param process: its number; None means this one.
    """
    # getrusage does not fit: its figure includes the memory of the parent at the start of this process.
    try:
        lines = Path(f'/proc/{process or "self"}/status').read_text(encoding='ascii').splitlines()
    except OSError:
        return None
    return next(float(line.split()[1]) / KIB_IN_MIB for line in lines if line.startswith('VmHWM'))


def main() -> None:
    """Import, set up and solve once, reading the clocks in between."""
    modules, name, path, base, tip = sys.argv[1:]
    begin = clocks()
    for module in modules.split(','):
        __import__(module)
    imported = clocks()

    import xml.etree.ElementTree as ElementTree

    import numpy as np

    from bench.arms import chain_from_xml
    from bench.peers import load_peers, NotComparable

    arm = chain_from_xml(ElementTree.parse(path).getroot(), Path(path).stem, base, tip, Path(path))
    lower, upper = arm.sampling_bounds()
    seed = 0.6 * lower + 0.4 * upper
    target = arm.fk(seed[None])[0]
    result: dict[str, object] = {'import': spent(begin, imported)}
    if name != NO_PEER:
        peer = load_peers([name])[name]
        start = clocks()
        try:
            prepared = peer.prepare(arm)
        except NotComparable as reason:
            print(json.dumps({'note': str(reason)}))
            return
        ready = clocks()
        solution = prepared.solve(prepared.convert(target), seed)
        solved = solution is not None and bool(np.size(prepared.read(solution)))
        result |= {'set_up': spent(start, ready), 'first_solution': spent(ready, clocks())}
        result |= {'solved': solved}
    print(json.dumps(result | {'peak_mib': peak_mib()}))


if __name__ == '__main__':
    main()
