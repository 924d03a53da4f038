"""One planning group as MoveIt's methods see it: robot, solver, links whose poses requests give, redundant joints."""

from collections.abc import Mapping, Sequence
from dataclasses import field
import itertools
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ModelError, quote, SsikError
from ssik_ros.kernels.geometry.rotations import invert_pose
from ssik_ros.model.forward_kinematics import compute_joint_poses, compute_link_pose
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.moveit.queries import DiscretizationMethod, KinematicsQueryOptions, Vector
from ssik_ros.problem.contract import BranchSolver, IkSolver, SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.solvers.auto.policy import knowledge_of
from ssik_ros.value_class import dataclass

RANDOM_SAMPLES = 16
"""Values of each redundant joint that are drawn where samples are random."""


@dataclass(frozen=True)
class GroupSetup:
    """
    One planning group with its solver, the links whose poses requests give, and its redundant joints.

    ``redundant`` has the indices of redundant joints among the variables of the group. ``discretization`` has their
    sampling steps [rad or m] by these indices.
    """

    robot: RobotModel
    group: JointGroup
    solver: IkSolver
    tip_frames: tuple[str, ...]
    tools: FloatArray | None
    """(t, 4, 4) poses of the requested tip links in the solver's tip frames; None if they are the same links."""
    redundant: tuple[int, ...] = ()
    discretization: Mapping[int, float] = field(default_factory=dict)

    def link_poses(self, names: Sequence[str], q: FloatArray) -> list[FloatArray]:
        """
        Return the poses (4, 4) of links in the solver's base frame; joints outside the group have default positions.

        :param names: names of links of the robot.
        :param q: (n,) joint vector of the group.
        :raises FrameNotFound: for a link that the robot does not have.
        """
        tree, positions = self.robot.tree, self.robot.default_positions()
        positions[self.group.idx_q] = q
        joints = compute_joint_poses(tree, self.robot.with_mimic(positions))
        base = invert_pose(compute_link_pose(tree, joints, tree.link(self.solver.base_frame)))
        return [base @ compute_link_pose(tree, joints, tree.link(name)) for name in names]

    def solve(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        **more: Any,
    ) -> IkResult | str:
        """
        Call the solver; return its result, or an error text if the request is malformed or raises an SsikError.

        :param poses: (t, 4, 4) of the tip links in the base frame, or (4, 4) for one tip.
        :param seed: (n,).
        :param more: other fields of :class:`SolveRequest`.
        """
        targets = np.asarray(poses, dtype=np.float64)
        targets = targets.reshape(1, 4, 4) if targets.shape == (4, 4) else targets
        if targets.shape != (len(self.tip_frames), 4, 4):
            return f'There are {len(self.tip_frames)} tips, and poses of shape {targets.shape}.'
        start = np.asarray(seed, dtype=np.float64)
        if start.shape != (len(self.group.idx_q),) or not np.isfinite(start).all():
            return f'The seed has to hold {len(self.group.idx_q)} finite values.'
        try:
            return self.solver.solve(
                SolveRequest(targets=targets, seed=start, tool_offsets=self.tools, **more)
            )
        except SsikError as error:
            return str(error)

    def led_to(
        self,
        poses: FloatArray | Sequence[FloatArray],
        seed: Vector,
        locked: Mapping[str, float | None],
    ) -> list[FloatArray]:
        """
        Return a list with the solution (n,) to which one search from the seed leads; the list may be empty.

        It is empty if the search fails or the request is malformed. It is also empty without a search for a solver that
        returns branches itself, and for a solver that does not use a closed form.

        :param poses: (t, 4, 4) of the tip links in the base frame, or (4, 4) for one tip.
        :param seed: (n,).
        :param locked: value of each held joint by name; None holds the joint at its value in the seed.
        """
        if isinstance(self.solver, BranchSolver) or not knowledge_of(self.solver):
            return []
        result = self.solve(poses, seed, max_searches=1, locked=locked)
        return list(result.solutions) if isinstance(result, IkResult) else []

    def locked(self, options: KinematicsQueryOptions) -> dict[str, float | None]:
        """
        Return the joints that a request has to hold: each redundant joint by name, with the value None.

        None holds a joint at its value in the seed. The result is empty unless the options lock redundant joints.

        :param options: MoveIt's options.
        """
        if not options.lock_redundant_joints:
            return {}
        return dict.fromkeys(self.group.variable_names[place] for place in self.redundant)

    def held_values(
        self, seed: FloatArray, method: DiscretizationMethod
    ) -> list[dict[str, float | None]]:
        """
        Return all combinations of sampled values of the redundant joints, each as a mapping from joint name to value.

        The first sample of each joint is its value in the seed. The DISCRETIZED methods add lower + k * step for k = 0,
        1 and so on, below the upper limit. The RANDOM methods add 16 values, the same in every call. The SOME methods
        sample the first redundant joint only, the ALL methods sample all.

        :param seed: (n,); values outside the limits are moved to the limits.
        :param method: how values between the limits are chosen: at steps or at random.
        :raises InvalidLimits: if a translation of the group lacks a limit.
        :raises KeyError: if a sampled joint has no step in ``discretization``.
        """
        rng = np.random.default_rng(0)
        low, high = self.robot.sampling_bounds(self.group)
        axes: list[list[float]] = []
        is_random = method in (
            DiscretizationMethod.ALL_RANDOM_SAMPLED,
            DiscretizationMethod.SOME_RANDOM_SAMPLED,
        )
        some = method in (
            DiscretizationMethod.SOME_DISCRETIZED,
            DiscretizationMethod.SOME_RANDOM_SAMPLED,
        )
        for place in self.redundant[:1] if some else self.redundant:
            step = self.discretization[place]
            values = [float(np.clip(seed[place], low[place], high[place]))]
            if is_random:
                values += rng.uniform(low[place], high[place], RANDOM_SAMPLES).tolist()
            else:
                values += np.arange(low[place], high[place], step).tolist()
            axes.append(values)
        names = [self.group.variable_names[place] for place in self.redundant]
        return [dict(zip(names, choice)) for choice in itertools.product(*axes)]


def place_tips(
    robot: RobotModel,
    group: JointGroup,
    solver: IkSolver,
    base_frame: str,
    tip_frames: Sequence[str],
) -> GroupSetup:
    """
    Return the setup of a group whose requests give poses of certain links, without redundant joints.

    :param robot, group, solver: the robot, its planning group, and the solver of the group.
    :param base_frame: link in which poses are given: the solver's base link, or empty.
    :param tip_frames: one link for each tip of the solver: the tip itself or a link fixed to it; empty for the tips.
    :raises ModelError: for another base, a wrong number of tips, or a link that is not fixed to its tip.
    """
    base = base_frame.removeprefix('/')
    if base not in ('', solver.base_frame):
        raise ModelError(
            f'The base of group {quote(group.name)} is {quote(solver.base_frame)}, not {quote(base)}.'
        )
    names = [name.removeprefix('/') for name in tip_frames] or list(solver.tip_frames)
    if len(names) != len(solver.tip_frames):
        raise ModelError(
            f'Group {quote(group.name)} has the tips {list(solver.tip_frames)}, not {names}.'
        )
    tools = np.empty((len(names), 4, 4))
    for index, (tip, wanted) in enumerate(zip(solver.tip_frames, names, strict=True)):
        offset = robot.rigid_offset(tip, wanted)
        if offset is None:
            raise ModelError(f'Link {quote(wanted)} is not rigid with the tip {quote(tip)}.')
        tools[index] = offset
    same = names == list(solver.tip_frames)
    return GroupSetup(robot, group, solver, tuple(names), None if same else tools)
