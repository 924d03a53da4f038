"""
Build the packed tables of one chain for the kernel: elementary motions, unknowns and closures.

An elementary motion moves along or about one axis, or is the rotation of a ball joint. The kernel reads the tables as
:mod:`ssik_ros.kernels.mechanisms.layout` describes them.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.kernels.rows import layout as row_layout
from ssik_ros.solvers.mechanisms.structure import ChainRows, elimination_order, Shape

MOTION_ORDER = (0, 1, 2, 5, 4, 3)
"""Degrees of freedom in the order in which they move a frame: X, Y, Z, EZ, EY, EX."""
DOF_NAMES = ('X', 'Y', 'Z', 'EX', 'EY', 'EZ')


class _Motion(NamedTuple):
    """
    One node of the motion tree: a single degree of freedom of a joint, or the rotation of a ball joint.

    ``kind`` is the degree of freedom, 0 to 5 for X, Y, Z, EX, EY, EZ, or ``layout.BALL``. ``parent`` is the index of
    the node before it, -1 for the world. ``frame`` is the joint. ``segment`` lists the frames whose fixed poses lie
    between the two nodes; for the first motion of a joint, the joint's frame is the last of them. The value is
    multiplier * unknown + offset.
    """

    kind: int
    parent: int
    frame: int
    key: tuple[int, int]
    """Frame and degree of freedom of its unknown; for a follower, of its leader."""
    segment: list[int]
    multiplier: float
    offset: float


class MechanismTables:
    """
    The packed tables of one chain, and the order of its unknowns in the kernel.

    ``keys`` lists the unknowns as (frame, degree of freedom) in natural order, ``variables`` their names. ``place`` has
    the kernel's index of each. ``states`` maps each key to its first index in the state vector. ``columns`` has the
    kernel's indices of the unknowns of each closure.
    """

    def __init__(self, shape: Shape, chain: ChainRows) -> None:
        """
        Build the tables of one chain of a mechanism.

        :param shape: the mechanism.
        :param chain: one of its chains.
        """
        self.shape, self.chain = shape, chain
        self._make_nodes()
        self._make_variables()
        self._make_constraints()
        self._order_variables()
        self.packed = self._pack()
        """The integers and the real numbers."""

    def _make_nodes(self) -> None:
        """
        Set ``_nodes`` to the elementary motions, parents first, and ``_last`` to the last motion of each joint.

        Each element of ``_nodes`` is a :class:`_Motion`; ``_last`` maps the frame of a joint to an index in ``_nodes``.
        """
        shape = self.shape
        self._nodes: list[_Motion] = []
        self._last: dict[int, int] = {}
        for frame in self.chain.joints:
            free = shape.free(frame)
            if not free:
                continue
            parent, segment = self._support(shape.parents[frame])
            segment = [*segment, frame]
            for dof in MOTION_ORDER:
                if dof not in free or (shape.balls[frame] and dof in (3, 4)):
                    continue
                kind = layout.BALL if shape.balls[frame] and dof == 5 else dof
                key, multiplier, offset = self._followed(frame, dof)
                node = _Motion(kind, parent, frame, key, segment, multiplier, offset)
                parent, segment = len(self._nodes), []
                self._nodes.append(node)
            self._last[frame] = parent

    def _followed(self, frame: int, dof: int) -> tuple[tuple[int, int], float, float]:
        """
        Return the (frame, dof) at the end of the chain of leaders of a degree of freedom, with multiplier and offset.

        A degree of freedom that follows no other returns itself, 1 and 0.
        """
        key, multiplier, offset = (frame, dof), 1.0, 0.0
        while key in self.shape.followers:
            followed = self.shape.followers[key]
            key = (followed.frame, followed.dof)
            offset += multiplier * followed.offset
            multiplier *= followed.multiplier
        return key, multiplier, offset

    def _support(self, frame: int) -> tuple[int, list[int]]:
        """
        Return the index of the last node that moves a frame, -1 if the frame is fixed to the world.

        The second result lists the frames from below this node's joint down to the frame.
        """
        segment: list[int] = []
        while frame >= 0 and frame not in self._last:
            segment.append(frame)
            frame = self.shape.parents[frame]
        return self._last.get(frame, -1), segment[::-1]

    def _make_variables(self) -> None:
        """
        Set ``keys`` and ``variables``, the (frame, dof) and the name of each unknown in natural order.

        Natural order is by frame, then X, Y, Z, EX, EY, EZ. A ball joint has three unknowns; followers have none.
        """
        shape = self.shape
        self.keys = [
            (frame, dof)
            for frame in self.chain.joints
            for dof in shape.free(frame)
            if (frame, dof) not in shape.followers
        ]
        self._number = {key: k for k, key in enumerate(self.keys)}
        self.variables = [f'{shape.names[frame]}.{DOF_NAMES[dof]}' for frame, dof in self.keys]

    def _node_variables(self, node: _Motion) -> list[int]:
        """Return the indices in ``keys`` of the unknowns that move a node: three for a ball joint, otherwise one."""
        if node.kind == layout.BALL:
            return [self._number[node.frame, dof] for dof in (3, 4, 5)]
        return [self._number[node.key]]

    def _make_constraints(self) -> None:
        """
        Set ``_ends`` and ``_paths`` for each closure.

        ``_ends`` has two results of :meth:`_support`, for the closing frame and for the closed link. ``_paths`` maps
        each node that moves one of these frames to ``MOVES_A`` (closing frame), ``MOVES_B`` (closed link) or their sum.
        """
        self._ends = []
        self._paths = []
        for closure in self.chain.closures:
            ends = [self._support(frame) for frame in (closure, self.shape.closes[closure])]
            sides: dict[int, int] = {}
            for (node, _), side in zip(ends, (layout.MOVES_A, layout.MOVES_B), strict=True):
                while node >= 0:
                    sides[node] = sides.get(node, 0) + side
                    node = self._nodes[node].parent
            self._ends.append(ends)
            self._paths.append(dict(sorted(sides.items())))

    def _order_variables(self) -> None:
        """
        Choose the order of the unknowns in the kernel, and the first column of each row of the normal matrix.

        The order keeps the profile of the matrix small. Sets ``order``, ``place``, ``columns`` (of each closure) and
        ``_first``.
        """
        cliques = [
            {v for node in path for v in self._node_variables(self._nodes[node])}
            for path in self._paths
        ]
        triples = [
            {self._number[f, d] for d in (3, 4, 5) if (f, d) in self._number}
            for f in self.chain.joints
        ]
        self.order = np.array(
            elimination_order(len(self.keys), [*cliques, *triples]), dtype=np.int64
        )
        place = [0] * len(self.keys)
        for position, variable in enumerate(self.order):
            place[variable] = position
        # The three unknowns of a ball are neighbours, its first angle first.
        self.place = self._keep_balls_together(place)
        self.order = np.argsort(self.place)
        self.columns = [sorted(int(self.place[v]) for v in clique) for clique in cliques]
        self._first = list(range(len(self.keys)))
        for clique in [*self.columns, *([int(self.place[v]) for v in t] for t in triples if t)]:
            for v in clique:
                self._first[v] = min(self._first[v], min(clique))

    def _keep_balls_together(self, place: list[int]) -> IntArray:
        """
        Return the kernel's index of each unknown, changed so that the three unknowns of a ball joint are neighbours.

        :param place: index of each unknown in the order of elimination.
        """
        rank = [(float(p), 0) for p in place]
        for frame in self.chain.joints:
            if self.shape.balls[frame]:
                three = [self._number[frame, dof] for dof in (3, 4, 5)]
                last = max(place[v] for v in three)
                for k, v in enumerate(three):
                    rank[v] = (float(last), k - 3)
        order = sorted(range(len(place)), key=rank.__getitem__)
        result = np.zeros(len(place), dtype=np.int64)
        result[order] = np.arange(len(place))
        return result

    def _pack(self) -> tuple[IntArray, FloatArray]:
        """Return the tables as two flat arrays: the integers, which begin with a header of sizes, and the real numbers."""
        segments: list[int] = []

        def store(frames: list[int]) -> tuple[int, int]:
            segments.extend(frames)
            return len(segments) - len(frames), len(frames)

        self.states = states = self._place_states()
        nodes = [self._node_row(node, store, states) for node in self._nodes]
        constraints, paths = self._constraint_rows(store)
        header = np.zeros(layout.HEADER, dtype=np.int64)
        variables = self._variable_rows(states)
        columns = [v for clique in self.columns for v in clique]
        joints = self._joint_rows()
        factors = [(node.multiplier, node.offset) for node in self._nodes]
        header[: layout.COUNTS] = (
            len(nodes),
            len(variables),
            self.state_count,
            len(constraints),
            len(joints),
            len(columns),
            sum(v - first + 1 for v, first in enumerate(self._first)),
            len(paths),
            len(segments),
            max((self._motions(path) for path in self._paths), default=0),
        )
        tables = (nodes, variables, constraints, paths, columns, joints, segments, factors)
        return layout.TABLES.pack(header, tables)

    def _motions(self, path: Iterable[int]) -> int:
        """
        Return the sum of the elementary motions of the nodes with given indices: three for a ball joint, else one.

        :param path: indices of the nodes.
        """
        return sum(3 if self._nodes[k].kind == layout.BALL else 1 for k in path)

    def _place_states(self) -> dict[tuple[int, int], int]:
        """
        Return the first index of each (frame, dof) in the kernel's state vector; set ``state_count`` to its length.

        A ball joint takes four numbers, a quaternion; any other unknown takes one.
        """
        states: dict[tuple[int, int], int] = {}
        size = 0
        for frame, dof in self.keys:
            ball = self.shape.is_ball(frame, dof)
            if ball and dof > layout.FIRST_TURN:
                states[frame, dof] = states[frame, layout.FIRST_TURN]
                continue
            states[frame, dof] = size
            size += 4 if ball else 1
        self.state_count = size
        return states

    def _node_row(self, node: _Motion, store, states) -> list[int]:  # type: ignore[no-untyped-def]
        variable = int(self.place[self._node_variables(node)[0]])
        is_owner = node.key == (node.frame, 5 if node.kind == layout.BALL else node.kind)
        return [
            node.kind,
            node.parent,
            node.frame,
            variable,
            states[node.key],
            *store(node.segment),
            int(is_owner),
        ]

    def _variable_rows(self, states: dict[tuple[int, int], int]) -> list[list[int]]:
        rows, diagonal = [], -1
        for position, natural in enumerate(self.order):
            frame, dof = self.keys[natural]
            kind, moves = row_layout.LINEAR, row_layout.SLIDES
            if dof >= layout.FIRST_TURN:
                moves = row_layout.TURNS
            if self.shape.is_ball(frame, dof):
                kind = row_layout.BALL_FIRST if dof == layout.FIRST_TURN else row_layout.BALL_REST
            first = self._first[position]
            diagonal += position - first + 1
            rows.append([kind, states[frame, dof], moves, frame, dof, first, diagonal])
        return rows

    def _constraint_rows(self, store) -> tuple[list[list[int]], list[list[int]]]:  # type: ignore[no-untyped-def]
        rows: list[list[int]] = []
        paths: list[list[int]] = []
        column = 0
        for c, closure in enumerate(self.chain.closures):
            ends = [part for node, frames in self._ends[c] for part in (node, *store(frames))]
            columns = self.columns[c]
            row = [closure, self.shape.rows(closure), int(self.shape.is_world(closure)), *ends]
            rows.append([*row, len(paths), len(self._paths[c]), column, len(columns)])
            for node, side in self._paths[c].items():
                variable = int(self.place[self._node_variables(self._nodes[node])[0]])
                paths.append([node, side, columns.index(variable)])
            column += len(columns)
        return rows, paths

    def _joint_rows(self) -> list[list[int]]:
        rows = []
        for frame in self.chain.joints:
            if self.shape.free(frame):
                variables = [
                    int(self.place[self._number[frame, d]]) if (frame, d) in self._number else -1
                    for d in range(6)
                ]
                rotation = layout.SINGLE
                if min(variables[3:]) >= 0:
                    ball = self.shape.balls[frame]
                    rotation = layout.BALL_ROTATION if ball else layout.TRIPLE
                rows.append([frame, *variables, rotation])
        return rows
