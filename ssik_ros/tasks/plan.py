"""Plans: some task sets and the objects that they move, packed into flat arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, Literal

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.rows import layout
from ssik_ros.kernels.tasks import handling, packing
from ssik_ros.tasks.constants import JointType, Method, TaskSetFlag
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import IkObject
from ssik_ros.tasks.task_set import Task, TaskSetData
from ssik_ros.tasks.world import TaskWorld
from ssik_ros.value_class import dataclass

Purpose = Literal['handling', 'search', 'rows', 'geometry']
PSEUDO_INVERSE_DAMPING = 1e-6
SEARCH_DAMPING = 1e-3
"""Of searches that go step by step from Python; those inside a kernel have a law of their own."""
MOST_PLANS = 64
"""Combinations of task sets whose packed form is kept."""
RESTORE = TaskSetFlag.RESTORE_ON_BAD_LINEAR | TaskSetFlag.RESTORE_ON_BAD_ANGULAR


@dataclass
class Plan:
    """Some task sets packed for the kernels, with the joints of the Jacobian's columns and the tasks of its rows."""

    version: int
    """``version`` of the environment when it was packed."""
    task_sets: tuple[TaskSetData, ...]
    ints: IntArray
    """All tables of integers, after a header with their sizes."""
    reals: FloatArray
    """All tables of floats."""
    work: FloatArray
    """Workspace that the kernels write to."""
    joints: tuple[IkJoint, ...]
    """Joints with columns, in their order."""
    tasks: tuple[Task, ...]
    """Enabled tasks that some joint moves, in the order of their rows."""
    valid: bool
    """Whether there are task sets, and each has an enabled task that some joint moves."""
    numbers: IntArray
    """Whole-number arguments of the kernel call ``handling.run`` that solves, see :func:`make_numbers`."""
    rows: tuple[tuple[tuple[Task, int], ...], ...]
    """For each task set, task and constraint (0 to 5) of each row, without the rows of limits."""
    functions: bool
    """Whether the value of some joint of the environment is a function of the user."""
    slaves: tuple[tuple[int, IkJoint], ...]
    """
    (index of the node, joint) of each joint that follows another one through a function.

    The derivatives of these joints change with the values.
    """
    views: packing.TaskWorkspace
    """The arrays of the workspace by their names."""
    outcome: FloatArray
    """Errors of all tasks, then limit hits of all columns: a view of the workspace."""

    def run(self, action: int, poses: FloatArray, values: FloatArray) -> Any:
        """
        Do one action of the kernel ``handling.run``, such as ``handling.EVALUATE``, and return its four numbers.

        These are bits of :class:`Reason`, number of steps, largest linear error [m] and largest angular error [rad].
        For STEP the errors are the ones before the step, for PROTECT they are 0. The first one is a truth value for
        EVALUATE (all tasks are within precision) and PROTECT (``values`` have changed).

        :param poses: (slots, 12) local poses of all objects.
        :param values: (nq,) joint values, which the action may change in place.
        """
        numbers = make_numbers(action, 0)
        return handling.run(self.ints, self.reals, self.work, poses, values, numbers)

    @property
    def restore(self) -> int:
        """Return those flags of the first task set that make a failed solve restore the joint values, as bits; 0 for none."""
        return int(self.numbers[handling.RESTORE])

    @property
    def protects(self) -> bool:
        """
        Return whether steps are corrected so that task sets lose little accuracy to task sets of lower priority.

        True for several task sets with the priority ``strict``. :func:`ssik_ros.tasks.handling.protect` defines the
        loss.
        """
        return len(self.task_sets) > 1 and not self.ints[packing.NESTED]

    @property
    def nv(self) -> int:
        """Return the number of columns of the Jacobian."""
        return int(self.ints[packing.VARIABLES])


def make_numbers(task: int, max_iterations: int) -> IntArray:
    """
    Return the array of whole-number arguments of a kernel call ``handling.run``.

    :param task: the action, such as ``handling.EVALUATE``.
    :param max_iterations: most steps.
    """
    numbers = np.zeros(handling.NUMBERS, dtype=np.int64)
    numbers[handling.ACTION] = task
    numbers[handling.MAX_ITERATIONS] = max_iterations
    return numbers


class _TaskChain:
    """
    A task with the joints of its chain, passive ones included.

    It also has the objects that carry tip, target and constraint base, each list from the outermost on.
    """

    def __init__(self, task: Task) -> None:
        """Collect the objects that carry tip, target and constraint base, outermost first, and the joints of the chain."""
        self.task = task
        target = task.tip.target
        self.tip = task.tip.line()
        self.target = [] if target is None else target.line()
        base = task.base if task.constraint_base is None else task.constraint_base
        self.constraint_base = [] if base is None else base.line()
        self.base = task.base
        self.joints = self._solved_joints()

    def _solved_joints(self) -> list[IkJoint]:
        """
        Return the joints on the chain from base to tip; passive ones are listed, although no solve moves them.

        For a task with ``closure``, joints that carry the target and not the tip follow. The list is empty if the base
        does not carry the tip.
        """
        if self.base is not None and self.base not in self.tip:
            return []
        first = 0 if self.base is None else self.tip.index(self.base) + 1
        line = self.tip[first:]
        if self.task.closure:
            line = line + [item for item in self.target if item not in self.tip]
        return [item for item in line if isinstance(item, IkJoint)]


def _column_of(joint: IkJoint) -> IkJoint | None:
    """
    Return the joint to whose column of the Jacobian a joint contributes: the joint that finally drives it.

    None if the driving joint is passive, because then no solve moves this joint.
    """
    driver = joint.driver()
    return None if driver.passive else driver


class _Packer:
    """Collects the tables that kernels read, row by row, for some task sets and one purpose of :func:`plan_of`."""

    def __init__(
        self, world: TaskWorld, task_sets: tuple[TaskSetData, ...], purpose: Purpose
    ) -> None:
        """
        Write the rows of all tables for task sets, the first with the highest priority.

        :param purpose: the use of the tables, as for :func:`plan_of`: a solve, a search, or one of two kinds of
            Jacobians.
        """
        self.world, self.task_sets = world, task_sets
        self.search = purpose == 'search'
        self.plain = purpose in ('rows', 'geometry')
        self.at_target = purpose == 'geometry'
        self.columns: dict[IkJoint, int] = {}
        self.nodes: dict[IkJoint, int] = {}
        self.node_i: list[list[int]] = []
        self.node_f: list[list[float]] = []
        self.node_run: list[list[int]] = []
        self.run: list[int] = []
        self.path: list[list[int]] = []
        self.task_i: list[list[int]] = []
        self.task_f: list[list[float]] = []
        self.set_i: list[list[int]] = []
        self.set_f: list[list[float]] = []
        self.margin: list[int] = []
        self.rows = 0
        self.widest = 0
        self.row_names: list[tuple[tuple[Task, int], ...]] = []
        self.slaves: list[tuple[int, IkJoint]] = []
        self.chains: list[list[_TaskChain]] = []
        for task_set in task_sets:
            chains = [_TaskChain(task) for task in task_set.tasks if task.enabled]
            chains = [chain for chain in chains if any(map(_column_of, chain.joints))]
            self.chains.append(chains)
            for chain in chains:
                self.add_columns(chain.joints)
        for task_set, chains in zip(task_sets, self.chains, strict=True):
            self.add_task_set(task_set, chains)

    def add_columns(self, joints: Sequence[IkJoint]) -> None:
        """
        Give a Jacobian column to each joint that drives one of some joints; skip passive ones and those with a column.

        A spherical joint gets three columns.
        """
        for joint in joints:
            driver = _column_of(joint)
            if driver is not None and driver not in self.columns:
                self.columns[driver] = sum(earlier.columns for earlier in self.columns)

    def add_node(self, line: list[IkObject]) -> tuple[int, list[int]]:
        """
        Add a node, a row in the table of joints that a solve moves, for each such joint of a line of objects, once.

        :param line: an object and the objects that carry it, outermost first.
        :returns: index of the last node (-1 without any), and the pose indices (slots) of the objects after it.
        """
        node, rest = -1, []
        for item in line:
            rest.append(item.slot)
            column = _column_of(item) if isinstance(item, IkJoint) else None
            if column is None or column not in self.columns:
                continue
            assert isinstance(item, IkJoint)
            if item not in self.nodes:
                self._append_node(item, column, node, rest)
            node, rest = self.nodes[item], []
        return node, rest

    def _append_node(self, joint: IkJoint, column: IkJoint, parent: int, run: list[int]) -> None:
        """
        Append the row of a joint to the table of nodes (joints that a solve moves), and store its index in ``nodes``.

        The row has the multiplier and offset of the joint's linear dependencies. A joint that also depends on a
        function is added to ``slaves``.

        :param column: the joint at the end of all dependencies, whose column of the Jacobian is used; may be ``joint``.
        :param parent: index of the next node towards the world; -1 without any.
        :param run: pose indices (slots) of the objects from the one after ``parent`` to this joint, which is included.
        """
        source, multiplier, offset, plain = joint, 1.0, 0.0, True
        while source.dependency is not None and source.dependency.function is None:
            offset += multiplier * source.dependency.offset
            multiplier *= source.dependency.multiplier
            source = source.dependency.master
        plain = source is column
        self.nodes[joint] = len(self.node_i)
        if not plain:
            self.slaves.append((len(self.node_i), joint))
        self.node_i.append([joint.node_kind, parent, source.place_in_values, self.columns[column]])
        # Placements are written by every solve.
        self.node_f.append([0.0] * 12 + [multiplier, offset, joint.node_lead, multiplier])
        self.node_run.append(self._add_run(run))

    def _add_run(self, run: list[int]) -> list[int]:
        """
        Append a run, the pose indices (slots) of objects that carry each other in turn, to the table of runs.

        Return [index of the first one in the table, how many they are].
        """
        self.run += run
        return [len(self.run) - len(run), len(run)]

    def add_task(self, chain: _TaskChain, gain: bool) -> tuple[tuple[Task, int], ...]:
        """
        Write the packed row of a task, and return (task, coordinate 0 to 5) for each of its rows in the Jacobian.

        The coordinates are x, y, z, alpha, beta, gamma.

        :param gain: let the weights of the task scale only its errors; False scales the rows of the Jacobian, too.
        """
        task = chain.task
        lines = (chain.constraint_base, chain.target, chain.tip)
        frames = [self.add_node(line) for line in lines]
        runs = [self._add_run(run) for _, run in frames]
        bits = int(task.constraints)
        has_target = task.tip.target is not None and not self.at_target
        first = len(self.path)
        self._add_path(chain, lines if has_target else (lines[0], [], lines[2]))
        rotation = {8: layout.ALIGN, 16: layout.SPIN, 24: layout.FULL}
        rows = [k for k in range(6) if bits & (1, 2, 4, 8, 8, 16)[k]]
        (base, _), (_, _), (tip, _) = frames
        ints = [base, tip, -1, layout.FRAME_A, layout.FRAME_B]
        ints += [rotation.get(bits & 24, layout.NO_ROTATION), 0, 0, first, len(self.path) - first]
        ints += [sum(1 << k for k in rows), *(node for node, _ in frames)]
        ints += [*(start for start, _ in runs), *(size for _, size in runs)]
        self.task_i.append([*ints, int(has_target), len(rows)])
        linear, angular, overall = task.weights
        weights = [linear * overall] * 3 + [angular * overall] * 3
        ones = [1.0] * 6
        error_weights = ones if self.plain else weights
        self.task_f.append([*(ones if gain else error_weights), *error_weights, *task.precision])
        return tuple((task, k) for k in rows)

    def _add_path(self, chain: _TaskChain, lines: Sequence[list[IkObject]]) -> None:
        """
        Append [node, bits] for each node that moves tip, target and constraint base of a task relative to one another.

        The bits MOVES_A, MOVES_GOAL and MOVES_B of the layout say which frames the node carries: constraint base,
        target, tip.

        :param lines: the objects that carry constraint base, target and tip.
        """
        bits = (layout.MOVES_A, layout.MOVES_GOAL, layout.MOVES_B)
        moves: dict[int, int] = {}
        for line, bit in zip(lines, bits, strict=True):
            for item in line:
                is_included = chain.task.target_motion or item in chain.joints
                if isinstance(item, IkJoint) and item in self.nodes and is_included:
                    node = self.nodes[item]
                    moves[node] = moves.get(node, 0) | bit
        for node, moved in sorted(moves.items()):
            if not chain.task.target_motion:
                moved &= ~layout.MOVES_GOAL
            # A joint that carries all three frames changes nothing between them.
            if moved and moved != sum(bits):
                self.path.append([node, moved])

    def add_task_set(self, task_set: TaskSetData, chains: list[_TaskChain]) -> None:
        """
        Write the packed rows of a task set and of its tasks.

        If the task set avoids limits, each of its joints with limits also gets a row that keeps it off them, except in
        a search.

        :param chains: its tasks that take part.
        """
        first_row, first_task = self.rows, len(self.task_i)
        names: tuple[tuple[Task, int], ...] = ()
        gain = task_set.weights_mode == 'gain' and not self.search
        for chain in chains:
            names += self.add_task(chain, gain)
        joints: dict[IkJoint, None] = {}
        for chain in chains:
            joints |= dict.fromkeys(j for j in map(_column_of, chain.joints) if j is not None)
        margins = []
        if task_set.avoid_limits and not self.search:
            margins = [self.columns[j] for j in joints if not j.cyclic]
        method = Method.DAMPED_LEAST_SQUARES if self.search else task_set.method
        damping = {Method.PSEUDO_INVERSE: PSEUDO_INVERSE_DAMPING}.get(method, task_set.damping)
        if self.search:
            damping = SEARCH_DAMPING
        self.set_i.append(
            [first_task, len(chains), method, first_row, len(self.margin), len(margins), 0]
        )
        self.set_f.append([damping * damping])
        self.margin += margins
        self.rows += len(names) + len(margins)
        self.widest = max(self.widest, len(names) + len(margins))
        self.row_names.append(names)

    def variable_tables(self) -> tuple[list[list[int]], list[list[float]]]:
        """
        Return the table of Jacobian columns as two lists with a row for each column: integers, and floats.

        Integers: kind, index of the value, 1 if it is an angle, 1 if it has limits. Floats: lower and upper limit,
        square root of the weight, largest step, limit margin.
        """
        ints: list[list[int]] = []
        reals: list[list[float]] = []
        for joint in self.columns:
            scale = math.sqrt(joint.weight)
            limits = (-math.inf, math.inf) if joint.cyclic else joint.limits
            numbers = [*limits, scale, joint.max_step, joint.limit_margin]
            turns = int(joint.kind != JointType.PRISMATIC)
            if joint.kind == JointType.SPHERICAL:
                for kind in (layout.BALL_FIRST, layout.BALL_REST, layout.BALL_REST):
                    ints.append([kind, joint.place_in_values, turns, 0])
                    reals.append(numbers)
                continue
            wraps = joint.cyclic and self.world.wraps(joint)
            kind = layout.PERIODIC if wraps else layout.LINEAR
            ints.append([kind, joint.place_in_values, turns, int(not joint.cyclic)])
            reals.append(numbers)
        return ints, reals

    def follower_tables(self) -> tuple[list[list[int]], list[list[float]]]:
        """
        Return the table of linear dependencies as two lists with a row for each dependent joint, masters first.

        Integers: index of its value, index of the master's value. Floats: multiplier, offset.
        """
        ints: list[list[int]] = []
        reals: list[list[float]] = []
        for joint in self.world.dependent_joints():
            rule = joint.dependency
            if rule is not None and rule.function is None:
                ints.append([joint.place_in_values, rule.master.place_in_values])
                reals.append([rule.multiplier, rule.offset])
        return ints, reals

    def pack(self, nested: bool) -> Plan:
        """
        Return the plan of all tables: one array of integers, one of floats, and a new workspace.

        :param nested: whether each task set moves only in the null space of all task sets before it.
        """
        slot_i, slot_f = self.world.slot_tables()
        variable_i, variable_f = self.variable_tables()
        follower_i, follower_f = self.follower_tables()
        header = self._header(len(follower_i), nested)
        tables = (
            slot_i,
            self.node_i,
            self.node_run,
            self.run,
            variable_i,
            self.task_i,
            self.path,
            self.set_i,
            self.margin,
            follower_i,
            slot_f,
            variable_f,
            self.task_f,
            self.set_f,
            follower_f,
        )
        work = np.zeros(packing.WORKSPACE.place(header) + 1)
        ints, reals = packing.TABLES.pack(header, tables)
        views = packing.WORKSPACE.show(ints, work)
        views.node_f[:] = np.reshape(self.node_f, (-1, layout.NODE_REALS))
        outcome = packing.WORKSPACE.entry('errors')
        numbers = make_numbers(handling.HANDLE, 0)
        for lead in self.task_sets[:1]:
            numbers[handling.MAX_ITERATIONS] = lead.max_iterations
            numbers[handling.RESTORE] = lead.flags & RESTORE
        return Plan(
            version=self.world.version,
            task_sets=self.task_sets,
            ints=ints,
            reals=reals,
            work=work,
            joints=tuple(self.columns),
            tasks=tuple(chain.task for chains in self.chains for chain in chains),
            valid=bool(self.task_sets) and all(self.chains),
            numbers=numbers,
            rows=tuple(self.row_names),
            functions=any(
                joint.dependency is not None and joint.dependency.function is not None
                for joint in self.world.dependent_joints()
            ),
            slaves=tuple(self.slaves),
            views=views,
            outcome=work[slice(*ints[outcome : outcome + 3 : 2].tolist())],
        )

    def _header(self, followers: int, nested: bool) -> IntArray:
        """
        Return the header of the packed integers with the sizes of all tables and the flags of a solve.

        :param followers: number of joints with a linear dependency.
        """
        lead = self.task_sets[0] if self.task_sets else None
        header = np.zeros(packing.HEADER, dtype=np.int64)
        header[packing.SLOTS] = len(self.world.slots)
        header[packing.NODES] = len(self.node_i)
        header[packing.VARIABLES] = sum(joint.columns for joint in self.columns)
        header[packing.POSITIONS] = len(self.world.values)
        header[packing.TASKS] = len(self.task_i)
        header[packing.ROWS] = self.rows
        header[packing.SETS] = len(self.task_sets)
        header[packing.PATHS] = len(self.path)
        header[packing.MARGINS] = len(self.margin)
        header[packing.FOLLOWERS] = followers
        header[packing.WIDEST] = self.widest
        header[packing.RUNS] = len(self.run)
        header[packing.NESTED] = nested
        header[packing.IGNORE_MAX_STEPS] = self.search or (
            lead is not None and lead.ignore_max_steps
        )
        header[packing.STOP_ON_LIMIT_HIT] = lead is not None and lead.stop_on_limit_hit
        header[packing.WEIGHTED] = any(joint.weight != 1.0 for joint in self.columns)
        return header


def plan_of(
    world: TaskWorld,
    task_sets: tuple[TaskSetData, ...],
    *,
    nested: bool = False,
    purpose: Purpose = 'handling',
) -> Plan:
    """
    Return the plan of some task sets, the first with the highest priority.

    All given task sets count, but their disabled tasks are left out, and tasks without a joint that may move. The plan
    is kept in ``world.plans``. It is packed again after a change of structure or of a setting, and after many other
    plans have displaced it.

    :param nested: whether each task set moves only in the null space of all task sets before it, by the formula of
        simIK.
    :param purpose: ``handling`` packs a solve. ``search`` packs damped steps without rows of limits. ``rows`` leaves
        weights out. ``geometry`` leaves targets out, too, as if every tip were at its target.
    """
    key = (task_sets, nested, purpose)
    plan: Plan | None = world.plans.get(key)
    if plan is None or plan.version != world.version:
        if len(world.plans) >= MOST_PLANS:
            world.plans.clear()
        plan = world.plans[key] = _Packer(world, task_sets, purpose).pack(nested)
    return plan
