"""A C library called from Python, and the package's own solutions for the same requests."""

import argparse
import ctypes

import numpy as np

from ssik_ros.artifact.c import blocks
from ssik_ros.artifact.c.recorded import random_joints
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm
from ssik_ros.manipulator.kin_body import KinBody
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import OneSolution
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

DOUBLES = ctypes.POINTER(ctypes.c_double)
CAPACITY = 4096
ACCEPT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, DOUBLES)


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


class Cycle(ctypes.Structure):
    """The bounds of a step and its results, as the header has them."""

    _fields_ = (
        ('period', ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ('velocity', 'acceleration', 'posture')),
        *((name, ctypes.c_void_p) for name in ('previous', 'speeds')),
        ('stopped_by', ctypes.c_void_p),
        ('condition', ctypes.c_void_p),
        ('scale', ctypes.c_double),
    )

    def __init__(self, period, **arrays):
        """Take a period and the arrays by the names of the fields."""
        places = {name: array.ctypes.data for name, array in arrays.items()}
        super().__init__(period=period, **places)
        self.arrays = arrays


class Conditions(ctypes.Structure):
    """Conditions on solutions, as the header has them."""

    _fields_ = (
        ('consistency', ctypes.c_void_p),
        ('accept', ACCEPT),
        ('context', ctypes.c_void_p),
        ('wants_nearest', ctypes.c_int32),
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
            'solve_several',
            'track',
            'step',
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
        """Call a function of the library with the solver, and return its result."""
        return getattr(self.library, f'{self.name}_{function}')(self.solver, *arguments)

    def call_text(self, function):
        """Call a function that returns text, and return its address."""
        called = getattr(self.library, f'{self.name}_{function}')
        called.restype = ctypes.c_void_p
        return called(self.solver)

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
        is_solved = self.call(
            'solve', doubles(pose), doubles(seed), budget, doubles(q), ctypes.byref(self.report)
        )
        return is_solved, q

    def solve_several(
        self,
        pose,
        seed,
        *,
        capacity=1,
        consistency=None,
        accept=None,
        wants_nearest=False,
        budget=None,
    ):
        """Return the solutions (k, n), or a code; without a solution ``nearest`` is the vector that was left."""
        q = np.full((capacity, self.n), np.nan)
        judge = (
            ACCEPT(0)
            if accept is None
            else ACCEPT(lambda _, values: int(accept(self.vector(values))))
        )
        width = None if consistency is None else np.ascontiguousarray(consistency, dtype=float)
        conditions = Conditions(
            None if width is None else width.ctypes.data, judge, None, wants_nearest
        )
        count = self.call(
            'solve_several', doubles(pose), doubles(seed), ctypes.byref(conditions), budget,
            ctypes.c_int64(capacity), doubles(q), ctypes.byref(self.report),
        )  # fmt: skip
        self.nearest = q[0].copy()
        return q[:count].copy() if count >= 0 else count

    def vector(self, values):
        """Return the joint vector at a pointer."""
        return np.array(values[: self.n])

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


def package_arm(name, samples=blocks.SAMPLES):
    """Return the arm that ``--robot NAME``, or a URDF, chooses as the package solves it."""
    parser = argparse.ArgumentParser()
    add_robot_options(parser)
    chosen = choose_arm(parser.parse_args([name] if name.endswith('.urdf') else ['--robot', name]))
    return blocks.find_arm(chosen.robot, chosen.group, samples)


X, Y, Z = np.eye(3).tolist()
MADE = {
    # Axes and offsets at zero, limits, and which joints slide.
    'gantry': (
        [X, Y, Z, Z, Y, X],
        [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, -0.2], [0, 0, 0], [0, 0, 0], [0.1, 0, -0.1]],
        [(-1.0, 1.0)] * 3 + [(-2.9, 2.9)] * 3,
        'ppprrr',
    ),
    # Published lengths and limits of Fanuc's CRX-10iA: an arm with an offset wrist and two parallel axes.
    'crx10ia': (
        [Z, Y, [0, -1, 0], [-1, 0, 0], [0, -1, 0], [-1, 0, 0]],
        [
            [0, 0, 0.245],
            [0, 0, 0],
            [0, 0, 0.54],
            [0, 0, 0],
            [0.54, 0, 0],
            [0, -0.15, 0],
            [0.16, 0, 0],
        ],
        np.radians(
            [(-190, 190), (-179.9, 179.9), (-71, 251), (-190, 190), (-179.9, 179.9), (-225, 225)]
        ),
        'rrrrrr',
    ),
}


def made_arm(name):
    """Return an arm that is not in the catalogue: one of :data:`MADE`, or ``general``, six axes without structure."""
    if name == 'general':
        rng = np.random.default_rng(3)
        axes, offsets = rng.standard_normal((6, 3)), rng.uniform(-0.3, 0.3, (7, 3))
        return KinBody.from_axes(axes, offsets, [(-2.9, 2.9)] * 6)
    axes, offsets, limits, kinds = MADE[name]
    types = [{'p': 'prismatic', 'r': 'revolute'}[kind] for kind in kinds]
    return KinBody.from_axes(axes, offsets, limits, joint_types=types)


def compare(arm, c, count):
    """Compare all branches, with and without a seed, and the first solution found; return how many were the same."""
    compared = 0
    for pose, seed in requests(arm, count):
        for start in (None, seed):
            branches = arm.form.arm.branches_refined(pose, BranchRequest(seed=start))
            if branches.starts:
                continue
            q, errors = c.solve_all(pose, start)
            np.testing.assert_array_equal(q, branches.q, strict=True)
            np.testing.assert_array_equal(errors, branches.errors, strict=True)
            compared += 1
        first = arm.plain.solve(SolveRequest(targets=pose, seed=seed))
        solved, q = c.solve(pose, seed)
        if isinstance(first, OneSolution):
            assert solved == 1
            np.testing.assert_array_equal(q, first.solutions[0])
    assert compared >= 1.9 * count
    return compared


def requests(arm, count, seed=7):
    """Yield poses that are within reach, with seeds."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield arm.kinematics.pose(random_joints(arm, rng)), random_joints(arm, rng)
