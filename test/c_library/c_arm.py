"""A C library called from Python, and the package's own solutions for the same requests."""

import argparse
import ctypes

import numpy as np

from ssik_ros.artifact.c import blocks
from ssik_ros.artifact.c.recorded import random_joints
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm

DOUBLES = ctypes.POINTER(ctypes.c_double)
CAPACITY = 4096


class Report(ctypes.Structure):
    """The report of a request, as the header has it."""

    _fields_ = (
        ('status', ctypes.c_int32),
        ('cause', ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ('candidates', 'branches', 'dropped', 'samples')),
        *((name, ctypes.c_int64) for name in ('searches', 'iterations')),
        ('position_error', ctypes.c_double),
        ('rotation_error', ctypes.c_double),
    )


def doubles(array):
    """Return an array, or None, as a pointer."""
    return None if array is None else array.ctypes.data_as(DOUBLES)


class CArm:
    """One solver of a library."""

    def __init__(self, folder, name, windings=1000, first=()):
        """Load the library and make a solver; ``first`` are the arguments before the windings."""
        self.library, self.name, self._first = (
            ctypes.CDLL(folder / 'lib' / f'lib{name}.so.1'),
            name,
            first,
        )
        for function in (
            'memory_size',
            'solve_all',
            'solve_nearest',
            'solve_windings',
            'solve',
            'track',
        ):
            getattr(self.library, f'{name}_{function}').restype = ctypes.c_int64
        self.windings = windings
        self.memory, self.solver = self.new_solver()
        self.n = self.call('joints')
        self.report = Report()

    def new_solver(self):
        """Return the memory of a solver and the solver."""
        windings = ctypes.c_int64(self.windings)
        size = getattr(self.library, f'{self.name}_memory_size')(*self._first, windings)
        memory, solver = np.zeros(size // 8), ctypes.c_void_p()
        init = getattr(self.library, f'{self.name}_init')
        code = init(
            ctypes.byref(solver), *self._first, windings, doubles(memory), ctypes.c_size_t(size)
        )
        assert code == 0
        return memory, solver

    def call(self, function, *arguments):
        """Return what a function of the library returns."""
        return getattr(self.library, f'{self.name}_{function}')(self.solver, *arguments)

    def solve_all(self, pose, seed=None, mode=1, capacity=CAPACITY):
        """Return all branches (k, n) with their errors (k, 3), or a code."""
        q, errors = np.full((capacity, self.n), np.nan), np.full((capacity, 3), np.nan)
        count = self.call(
            'solve_all', doubles(pose), doubles(seed), mode, ctypes.c_int64(capacity),
            doubles(q), doubles(errors), ctypes.byref(self.report),
        )  # fmt: skip
        return (q[:count].copy(), errors[:count].copy()) if count >= 0 else count

    def solve(self, pose, seed, budget=None):
        """Return whether a solution was found, and the joint vector."""
        q = np.full(self.n, np.nan)
        found = self.call(
            'solve', doubles(pose), doubles(seed), budget, doubles(q), ctypes.byref(self.report)
        )
        return found, q

    def fk(self, q):
        """Return the pose (4, 4)."""
        pose = np.empty((4, 4))
        assert self.call('fk', doubles(q), doubles(pose)) == 0
        return pose

    def jacobian(self, q):
        """Return the Jacobian (6, n)."""
        matrix = np.empty((6, self.n))
        assert self.call('jacobian', doubles(q), doubles(matrix)) == 0
        return matrix


def package_arm(name):
    """Return the arm that ``--robot NAME``, or a URDF, chooses as the package solves it."""
    parser = argparse.ArgumentParser()
    add_robot_options(parser)
    chosen = choose_arm(parser.parse_args([name] if name.endswith('.urdf') else ['--robot', name]))
    return blocks.find_arm(chosen.robot, chosen.group)


def requests(arm, count, seed=7):
    """Yield poses that are within reach, with seeds."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield arm.kinematics.pose(random_joints(arm, rng)), random_joints(arm, rng)
