"""
Write the solver data of an arm for ``ssik_headers.cpp``: ``python ssik_headers.py REQUESTS DATA``.

Needs the peers' Python. The chain comes from the file of requests, so that both packages solve the same arm. Prints the
folder of the headers and the family of the arm.
"""

import sys

import numpy as np
from ssik import cpp, Manipulator


def read_arm(path):
    """Return the arm of a file of requests."""
    numbers = np.fromfile(path)
    n = int(numbers[0])
    limits, axes, offsets, home = np.split(
        numbers[2 : 2 + 8 * n + 12], np.cumsum([2 * n, 3 * n, 3 * n + 3])
    )
    frames = np.tile(np.eye(4), (n + 1, 1, 1))
    frames[:, :3, 3] = offsets.reshape(n + 1, 3)
    frames[n, :3, :3] = home.reshape(3, 3)
    return Manipulator.from_transforms(frames, axes.reshape(n, 3), limits=limits.reshape(2, n).T)


def main():
    """Read the file of requests and write the file of solver data."""
    requests, target = sys.argv[1:]
    data = cpp.solver_data(read_arm(requests))
    with open(target, 'w', encoding='utf-8') as file:
        for name, values in data.arrays.items():
            numbers = ' '.join(map(repr, values.ravel().tolist()))
            file.write(f'{name} {values.size} {numbers}\n')
    print(cpp.get_include(), data.family.partition('.')[2])


if __name__ == '__main__':
    main()
