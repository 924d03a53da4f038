"""
Write the constants of an arm for ``ssik_headers.cpp``: ``python ssik_headers.py ur5e > arm.h``, in the venv of the peers.

Then ``g++ -std=c++17 -O2 -DSOLVER=three_parallel -I<ssik>/cpp/include -I<Eigen> ssik_headers.cpp``, with the name of the arm's
solver (``spherical_two_parallel`` for IRB 6700).
"""

import sys

import numpy as np
from ssik import Manipulator
from ssik.cpp import solver_data

for name, values in solver_data(Manipulator.from_prebuilt(sys.argv[1])).arrays.items():
    numbers = np.nan_to_num(np.asarray(values, dtype=float)).ravel().tolist()
    print(f'static const double {name}_[] = {{{", ".join(map(float.hex, numbers))}}};')
