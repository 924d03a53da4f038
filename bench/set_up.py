"""
Print what it costs to set up an arm from its URDF in this process: ``python bench/set_up.py URDF BASE TIP``.

A line of JSON: seconds of wall clock and processor time for the import, the set-up, and the first answer.
"""

import json
from pathlib import Path
import sys
from time import perf_counter
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def clocks() -> tuple[float, float]:
    """Return the wall clock and the processor clock [s]."""
    return perf_counter(), process_time()


def main() -> None:
    """Import, set up and solve once, reading the clocks in between."""
    path, base, tip = sys.argv[1:]
    readings = [clocks()]
    from ssik_ros.api import Manipulator

    readings.append(clocks())
    arm = Manipulator.from_urdf(path, base=base, ee=tip)
    name = arm.solver_name
    readings.append(clocks())
    seed = arm.neutral + 0.1
    arm.solve_q(arm.fk(seed), seed)
    readings.append(clocks())
    steps = ('import', 'set_up', 'first_answer')
    spent = {
        step: {'wall': after[0] - before[0], 'cpu': after[1] - before[1]}
        for step, before, after in zip(steps, readings[:-1], readings[1:], strict=True)
    }
    print(json.dumps(spent | {'solver': name}))


if __name__ == '__main__':
    main()
