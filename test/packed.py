"""A packed problem with its workspace, so that tests can ask the kernels about it."""

import numpy as np

from ssik_ros.kernels.rows import layout, rows, steps, tree as tree_kernel


class Packed:
    """Arrays of one problem; all results are copies."""

    def __init__(self, problem, targets=(), ints=None, reals=None):
        """Make the workspace; ``ints`` and ``reals`` may replace the problem's own."""
        self.problem = problem
        self.ints = problem.ints if ints is None else ints
        self.reals = problem.reals if reals is None else reals
        self.work = np.full(problem.workspace_size, np.nan)
        self.variable_i = self._table(
            layout.TABLES.entry('variable_i'), problem.nv, layout.VARIABLE_INTS
        )
        self.set_targets(targets)
        self.set_limits(problem.lower, problem.upper)

    def _table(self, entry, count, width):
        """Return an integer table."""
        start = int(self.ints[entry])
        return self.ints[start : start + count * width].reshape(count, width)

    def _block(self, entry, count, skip=0):
        """Return a part of the workspace as a view."""
        start = int(self.ints[entry]) + skip
        return self.work[start : start + count]

    def set_targets(self, targets):
        """Write target poses (4, 4) as the kernels want them."""
        flat = [np.concatenate([t[:3, :3].ravel(), t[:3, 3]]) for t in targets]
        if flat:
            self._block(layout.WORKSPACE.entry('targets'), 12 * len(flat))[:] = np.concatenate(
                flat
            )

    def set_limits(self, lower, upper):
        """Write the limits of the velocity variables."""
        nv = self.problem.nv
        self._block(layout.WORKSPACE.entry('step'), nv, 2 * nv)[:] = lower
        self._block(layout.WORKSPACE.entry('step'), nv, 3 * nv)[:] = upper

    def set_state(self, q):
        """Write the current configuration."""
        self._block(layout.WORKSPACE.entry('state'), self.problem.nq)[:] = q

    def set_reference(self, q):
        """Write the seed."""
        nq = self.problem.nq
        self._block(layout.WORKSPACE.entry('state'), nq, 3 * nq)[:] = q

    def set_rows(self, jacobian, residual):
        """Write rows that no evaluation made."""
        self._block(layout.WORKSPACE.entry('jacobian'), jacobian.size)[:] = jacobian.ravel()
        self._block(layout.WORKSPACE.entry('residual'), len(residual))[:] = residual

    def evaluate(self, q, exact=True):
        """Return residual (m,), Jacobian (m, nv) and errors (c, 2)."""
        rows.evaluate(self.ints, self.reals, self.work, np.array(q, dtype=float), exact)
        return self.residual, self.jacobian, self.errors

    @property
    def residual(self):
        """Return the residual (m,)."""
        return self._block(layout.WORKSPACE.entry('residual'), self.problem.rows).copy()

    @property
    def jacobian(self):
        """Return the Jacobian (m, nv)."""
        m, nv = self.problem.rows, self.problem.nv
        return self._block(layout.WORKSPACE.entry('jacobian'), m * nv).reshape(m, nv).copy()

    @property
    def errors(self):
        """Return position and rotation error of each constraint (c, 2)."""
        count = int(self.ints[layout.CONSTRAINTS])
        return self._block(layout.WORKSPACE.entry('errors'), 2 * count).reshape(count, 2).copy()

    @property
    def step(self):
        """Return the joint step (nv,)."""
        return self._block(layout.WORKSPACE.entry('step'), self.problem.nv).copy()

    @property
    def free(self):
        """Return which joints the last step moved freely (nv,)."""
        nv = self.problem.nv
        return self._block(layout.WORKSPACE.entry('step'), nv, 4 * nv).copy()

    def limited_step(self, damping, limited=True):
        """Return the step (nv,) for the rows, state and limits in the workspace."""
        steps.limited_step(self.ints, self.reals, self.work, damping, limited)
        return self.step

    def advance(self, q, step):
        """Return a configuration moved by a step, regardless of limits."""
        moved = np.array(q, dtype=float)
        infinite = np.full(self.problem.nv, np.inf)
        steps.advance(
            self.variable_i, -infinite, infinite, False, 1.0, np.array(step, dtype=float), moved
        )
        return moved

    def node_poses(self, q):
        """Return the poses (N, 4, 4) of the nodes in the problem's root frame."""
        count = int(self.ints[layout.NODES])
        poses = np.empty((count, 12))
        start = int(self.ints[layout.TABLES.entry('node_f')])
        node_f = self.reals[start : start + count * layout.NODE_REALS]
        node_i = self._table(layout.TABLES.entry('node_i'), count, layout.NODE_INTS)
        node_f = node_f.reshape(count, layout.NODE_REALS)
        tree_kernel.forward(node_i, node_f, np.array(q, dtype=float), poses)
        result = np.tile(np.eye(4), (count, 1, 1))
        result[:, :3, :3], result[:, :3, 3] = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        return result

    def frame_pose(self, constraint, q, side='b'):
        """Return the pose (4, 4) of a constraint's frame a or b in the problem's root frame."""
        row = self._table(
            layout.TABLES.entry('constraint_i'),
            int(self.ints[layout.CONSTRAINTS]),
            layout.CONSTRAINT_INTS,
        )[constraint]
        node = row[layout.CONSTRAINT_NODE_B if side == 'b' else layout.CONSTRAINT_NODE_A]
        start = (
            int(self.ints[layout.TABLES.entry('constraint_f')])
            + constraint * layout.CONSTRAINT_REALS
        )
        start += layout.CONSTRAINT_PLACEMENT_B if side == 'b' else layout.CONSTRAINT_PLACEMENT_A
        placement, numbers = np.eye(4), self.reals[start : start + 12]
        placement[:3, :3], placement[:3, 3] = numbers[:9].reshape(3, 3), numbers[9:]
        return placement if node < 0 else self.node_poses(q)[node] @ placement


def difference(function, packed, q, step=1e-6):
    """Return the central differences (m, nv) of a function of the configuration, along the tangent."""
    columns = []
    for direction in np.eye(packed.problem.nv):
        ahead = function(packed.advance(q, step * direction))
        back = function(packed.advance(q, -step * direction))
        columns.append((ahead - back) / (2.0 * step))
    return np.transpose(columns)
