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

from bench.usage import memory_mib

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


def main() -> None:
    """Import, set up and solve once, reading the clocks in between."""
    modules, name, path, base, tip = sys.argv[1:]
    begin = clocks()
    for module in modules.split(','):
        __import__(module)
    imported = clocks()

    import numpy as np

    from bench.arms import chain_from_file
    from bench.peers import load_peers, NotComparable

    arm = chain_from_file(Path(path), Path(path).stem, base, tip)
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
    print(json.dumps(result | {'peak_mib': memory_mib()}))


if __name__ == '__main__':
    main()
