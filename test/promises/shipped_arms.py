"""The arms that the promises are tested on, with the chains that judge them."""

from collections.abc import Iterator
from dataclasses import dataclass
import functools
from pathlib import Path
from typing import Any

from test.promises.xml_walker import Chain, FloatArray, read_chain

import numpy as np

from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.results import IkResult
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions
from ssik_ros.solvers.search.pose_ik.solver import PoseIkSolver

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'
LINKS = {
    'panda': ('panda_link0', 'panda_link8'),
    'fanuc': ('base_link', 'tool0'),
    'gen3': ('base_link', 'end_effector_link'),
    'ur5e': ('base_link', 'tool0'),
}
TOLERANCE = 1e-3
ROUNDING = 1e-9
"""How far two correct computations of one error may be apart."""
FAR_OFF = 0.03
"""Smallest error of the nearest posture at which a pose counts as out of reach, not as hard to find."""


@dataclass(frozen=True)
class Arm:
    """A robot, the group from its base to its tip, a solver, and the judge."""

    name: str
    robot: RobotModel
    group: JointGroup
    solver: PoseIkSolver
    chain: Chain

    def ask(self, target: FloatArray, seed: FloatArray | None = None, **request: Any) -> IkResult:
        """Return the solver's result; further arguments are fields of the request."""
        return self.solver.solve(SolveRequest(targets=target, seed=seed, **request))

    def solver_with(self, **options: Any) -> PoseIkSolver:
        """Return another solver with the given options."""
        return PoseIkSolver(self.robot, self.group, PoseIkOptions(**options))

    def reachable(self, count: int, seed: int) -> list[tuple[FloatArray, FloatArray]]:
        """Return targets with seeds; each target is the pose of a random joint vector."""
        generator = np.random.default_rng(seed)
        return [
            (self.chain.pose(self.chain.sample(generator)), self.chain.sample(generator))
            for _ in range(count)
        ]


@functools.cache
def blocked_target(name: str) -> FloatArray:
    """Return a pose (4, 4) that many starts fail to reach, though no proof refuses it."""
    arm = load_arm(name)
    for target in _doubtful_targets(arm):
        result = arm.ask(target, max_searches=300)
        if result.iterations > 300 and result.residual > FAR_OFF:
            return target
    raise AssertionError(f'{name} reaches everything')


def _doubtful_targets(arm: Arm) -> Iterator[FloatArray]:
    """Yield poses that only postures beyond the limits may have, then some moved out a little."""
    generator = np.random.default_rng(0)
    for _ in range(300):
        yield arm.chain.pose(generator.uniform(-np.pi, np.pi, len(arm.chain.names)))
    poses = [target for target, _ in arm.reachable(200, seed=0)]
    for place in sorted(poses, key=lambda pose: -float(np.linalg.norm(pose[:3, 3]))):
        target = poses[0].copy()
        target[:3, 3] = 1.05 * place[:3, 3]
        yield target


@functools.cache
def load_arm(name: str) -> Arm:
    """Return a shipped arm by name; made once."""
    path = ROBOTS / f'{name}_moveit_config' / 'config' / f'{name}.urdf'
    return make_arm(name, path, *LINKS[name])


@functools.cache
def catalogue_chain(name: str) -> Chain:
    """Return the joints of an arm of the catalogue, whose poses share no code with the package."""
    arm = arm_data(name)
    return read_chain(make_urdf(arm), arm.base_link, arm.tip_link)


def make_arm(name: str, urdf: Path | str, base: str, tip: str) -> Arm:
    """Return an arm of a file or text."""
    robot = load_robot(urdf)
    group = robot.group_from_links(base, tip)
    chain = read_chain(urdf, base, tip)
    assert group.joint_names == chain.names
    return Arm(name, robot, group, PoseIkSolver(robot, group), chain)


def assert_holds(
    arm: Arm, result: IkResult, target: FloatArray, tolerance: float = TOLERANCE
) -> None:
    """Check every solution of a result against the chain, and the errors it reports."""
    assert result.solved, result.summary()
    for q, reported in zip(result.solutions, result.errors, strict=True):
        distance, angle = arm.chain.errors(q, target)
        assert arm.chain.is_inside(q), (q, arm.chain.lower, arm.chain.upper)
        assert np.hypot(distance, angle) <= tolerance + ROUNDING
        np.testing.assert_allclose(reported, [distance, angle], atol=ROUNDING)
