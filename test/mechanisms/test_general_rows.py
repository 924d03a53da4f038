"""The rows of a mechanism equal the rows of the general evaluator, for the same constraints packed as a problem."""

from test.mechanisms.random_mechanisms import draw_mechanism

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from ssik_ros.kernels.mechanisms import layout as chains
from ssik_ros.kernels.rows import layout, rows
from ssik_ros.mechanisms import Goal, load_mechanism, Solver

TURN_AXES = {
    0: np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    1: np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    2: np.eye(3),
}
"""Rotations whose z axis is x, y or z."""


def matrix_of(numbers):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = numbers[:9].reshape(3, 3), numbers[9:]
    return pose


def numbers_of(pose):
    return [*pose[:3, :3].ravel(), *pose[:3, 3]]


class GeneralProblem:
    """The constraints of a chain in the tables of ``rows.layout``: every axis turned to z, placements folded in."""

    def __init__(self, program):
        """Read the tables and the placements of a chain that was measured."""
        self.program, self.view = program, program.view
        self.t = chains.TABLES.show(program.ints, program.reals)
        nv, constraints = len(program.tables.keys), len(self.t.constraint)
        kinds = self.t.node[:, chains.NODE_KIND]
        self.turned = [np.eye(4) for _ in kinds]
        for i, kind in enumerate(kinds):
            if kind != chains.BALL:
                self.turned[i][:3, :3] = TURN_AXES[kind % 3]
        nodes = [self.node(i) for i in range(len(kinds))]
        paths, constraint_i, constraint_f, count = [], [], [], 0
        for c in range(constraints):
            new_paths = self.paths(c)
            integers, mask = self.constraint(c, len(paths), len(new_paths))
            constraint_i.append(integers)
            constraint_f.append([*self.end(c, 0), *self.end(c, 1), *np.ones(6), *np.zeros(18)])
            paths += new_paths
            count += mask.bit_count()
        header = np.zeros(layout.HEADER, dtype=np.int64)
        sizes = len(kinds), nv, program.tables.state_count, constraints, count, len(paths), 0
        header[: layout.COUNTS] = sizes
        work = layout.WORKSPACE.place(header)
        variables = [[layout.LINEAR, 0, layout.TURNS]] * nv
        real = [n[1] for n in nodes]
        tables = [n[0] for n in nodes], variables, constraint_i, paths, real, constraint_f
        self.ints, self.reals = layout.TABLES.pack(header, tables)
        self.work = np.zeros(work + 1)

    def carrier(self, node, segments, placement):
        """Return a placement on a node in the general node's frame."""
        local = matrix_of(placement) if segments else np.eye(4)
        return local if node < 0 else self.turned[node].T @ local

    def node(self, i):
        """Return the row of a node: integers, then numbers."""
        kind, parent, _, _, state, _, segments, _ = self.t.node[i]
        ball, slides = kind == chains.BALL, kind < chains.FIRST_TURN
        general = layout.SPHERICAL if ball else layout.PRISMATIC if slides else layout.REVOLUTE
        placed = self.carrier(parent, segments, self.view.placements[i]) @ self.turned[i]
        factor, offset = self.t.factors[i]
        column = self.natural(self.t.node[i, chains.NODE_VARIABLE])
        lead = 1.0 if slides else 0.0
        return [general, parent, state, column], [
            *numbers_of(placed), factor, offset, lead, factor
        ]  # fmt: skip

    def natural(self, variable):
        """Return the column of a variable in natural order."""
        return int(np.flatnonzero(self.program.tables.place == variable)[0])

    def paths(self, c):
        """Return the path of a constraint: a node that moves A moves the goal and frame a."""
        start, count = self.t.constraint[c, [chains.CONSTRAINT_PATH, chains.CONSTRAINT_PATHS]]
        moved = {0: 0, chains.MOVES_B: layout.MOVES_B}
        moved[chains.MOVES_A] = layout.MOVES_GOAL + layout.MOVES_A
        moved[chains.MOVES_A + chains.MOVES_B] = sum(moved.values())
        return [[node, moved[side]] for node, side, _ in self.t.path[start : start + count]]

    def constraint(self, c, start, count):
        """Return the integers of a constraint, and which components are rows."""
        row = self.t.constraint[c]
        a, b = row[[chains.CONSTRAINT_NODE_A, chains.CONSTRAINT_NODE_B]]
        axes = layout.WORLD if row[chains.CONSTRAINT_WORLD] else layout.GOAL
        mask = int(row[chains.CONSTRAINT_MASK])
        return [a, b, -1, axes, axes, layout.FULL, 0, 0, start, count, mask], mask

    def end(self, c, side):
        """Return the placement of closing frame or closed link in its node."""
        row = self.t.constraint[c]
        node = row[chains.CONSTRAINT_NODE_A + 3 * side]
        segments = row[chains.CONSTRAINT_SEGMENTS_A + 3 * side]
        placement = self.view.end_placements[2 * c + side]
        return numbers_of(self.carrier(node, segments, placement))

    def evaluate(self, exact):
        """Return residual and Jacobian at the state of the chain."""
        rows.evaluate(self.ints, self.reals, self.work, self.view.current.copy(), exact)
        w = layout.WORKSPACE.show(self.ints, self.work)
        return w.residual.copy(), w.jacobian.copy()


def compare(solver, exact):
    """Compare all chains of a mechanism; return how many rows there were."""
    count = 0
    for k, chain in enumerate(solver.mechanism.chains):
        residual, jacobian = solver.residual(k), solver.jacobian(k, exact=exact)
        if not chain.program.tables.keys:
            continue
        general = GeneralProblem(chain.program)
        expected, columns = general.evaluate(exact)
        assert np.abs(residual - expected).max() < 1e-12
        assert np.abs(jacobian - columns).max() < 1e-11
        count += len(residual)
    return count


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), exact=st.booleans())
def test_random_mechanisms_have_the_rows_of_the_general_evaluator(seed, exact):
    compare(Solver(draw_mechanism(np.random.default_rng(seed))), exact)


@pytest.mark.parametrize('name', ['delta', 'hexapod'])
def test_shipped_mechanisms_have_the_rows_of_the_general_evaluator(name):
    robot = load_mechanism(name)
    goal = Goal('goal')
    goal.set_position(0.05, -0.02, 0.4)
    goal.set_euler(0.2, -0.1, 0.3)
    goal.make_closure(next(iter(robot.links.values())))
    assert compare(Solver([robot.root]), True) >= 12
