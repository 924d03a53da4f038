"""Numbers from a seed are the same as from numpy, without an import of numpy.random."""

import subprocess
import sys

import numpy as np
import pytest

from ssik_ros.problem.seeded_numbers import uniform_numbers

SEEDS = (
    0,
    1,
    7,
    20_250_607,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64 + 7,
    2**128 - 1,
    2**128,
    2**200 + 1,
)


@pytest.mark.parametrize('seed', SEEDS)
def test_the_numbers_are_those_of_pcg64(seed):
    wanted = np.random.Generator(np.random.PCG64(seed)).random(100)
    assert (uniform_numbers(seed, 100) == wanted).all()


def test_many_seeds_give_the_numbers_of_pcg64():
    for seed in range(2000):
        assert uniform_numbers(seed, 1)[0] == np.random.Generator(np.random.PCG64(seed)).random()


def test_a_search_imports_no_generators():
    """Their import takes 40 ms of the first solution."""
    program = """
import sys, numpy
before = 'numpy.random' in sys.modules  # numpy 1 imports it by itself
import ssik_ros
arm = ssik_ros.Manipulator.from_prebuilt('panda')
q = arm.neutral + 0.1
assert arm.solve(arm.fk(q), max_solutions=1, timeout=1.0)
assert arm.ik_LM(arm.fk(q)).success
print('numpy.random' in sys.modules and not before)
"""
    text = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=True
    )
    assert text.stdout.strip() == 'False'
