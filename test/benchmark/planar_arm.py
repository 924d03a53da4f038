"""A planar arm with a closed form, and solvers for it with true solutions, wrong solutions or none."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ssik_ros.problem.contract import SolverSpec
from ssik_ros.results import Cause, IkResult, IkStatus
from ssik_ros.solvers import registry

UPPER_ARM, FOREARM = 0.5, 0.4
URDF = f"""<robot name="planar">
  <link name="base_link"/><link name="upper"/><link name="fore"/><link name="tool0"/>
  <joint name="shoulder" type="revolute">
    <parent link="base_link"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3.0" upper="3.0" effort="1" velocity="1"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="{UPPER_ARM} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="1" velocity="1"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="fore"/><child link="tool0"/><origin xyz="{FOREARM} 0 0"/>
  </joint>
</robot>
"""
SRDF = """<robot name="planar">
  <group name="arm"><chain base_link="base_link" tip_link="tool0"/></group>
</robot>
"""
LIMITS = np.array([3.0, 2.5])


def closed_form(target):
    """Return the joint positions that reach a pose; limits are ignored."""
    angle = np.arctan2(target[1, 0], target[0, 0])
    elbow = target[:2, 3] - FOREARM * np.array([np.cos(angle), np.sin(angle)])
    shoulder = np.arctan2(elbow[1], elbow[0])
    bend = angle - shoulder
    return np.array([shoulder, np.arctan2(np.sin(bend), np.cos(bend))])


def result(q, status=IkStatus.SOLVED, cause=Cause.NONE):
    """Return a result with one vector, which the solver calls perfect."""
    q = np.asarray(q, dtype=np.float64)
    solved = status == IkStatus.SOLVED
    return IkResult(
        status=status,
        cause=cause,
        solutions=q[None] if solved else q[None][:0],
        errors=np.zeros((1, 2)) if solved else np.zeros((0, 2)),
        nearest=None if solved else q,
        residual=0.0,
        iterations=7,
        searches=2,
        clock_ended=False,
    )


class PlanarSolver:
    """A solver whose result is a function of the request."""

    base_frame = 'base_link'
    tip_frames = ('tool0',)

    def __init__(self, name: str, behaviour: Callable, joint_names=('shoulder', 'elbow')) -> None:
        self.name = name
        self.behaviour = behaviour
        self.joint_names = joint_names
        self.requests = []

    def solve(self, request):
        self.requests.append(request)
        return self.behaviour(request)

    def warm_up(self):
        pass


def honest(request):
    return result(closed_form(request.targets.reshape(4, 4)))


def lying(request):
    return result(request.seed)


def boasting(request):
    """Claim success with a solution list that says nothing about the vector."""
    return result(LIMITS - 0.1)


def wound(request):
    """Reach the target one turn outside the limits."""
    return result(closed_form(request.targets.reshape(4, 4)) + 2.0 * np.pi)


def sloppy(request):
    return result(closed_form(request.targets.reshape(4, 4)) + 0.01)


def not_finite(request):
    return result([np.nan, 0.0])


def too_short(request):
    return result([0.0])


def raising(request):
    raise RuntimeError('singular\nmatrix')


def giving_up(request):
    return result(request.seed, IkStatus.UNSOLVED, Cause.LIMITS)


def returning_none(request):
    return None


def solved_by_nothing(request):
    return result(request.seed)._replace(solutions=np.zeros((0, 2)))


def write_package(folder: Path, **solvers: str) -> Path:
    """
    Write a MoveIt configuration of the arm, with one kinematics file per solver.

    :param solvers: the kinematics_solver of ``<key>_kinematics.yaml``.
    :returns: the package's folder.
    """
    package = folder / 'planar_moveit_config'
    config = package / 'config'
    config.mkdir(parents=True)
    (config / 'planar.urdf').write_text(URDF, encoding='utf-8')
    (config / 'planar.srdf').write_text(SRDF, encoding='utf-8')
    for key, solver in solvers.items():
        text = f'arm:\n  kinematics_solver: {solver}\n'
        (config / f'{key}_kinematics.yaml').write_text(text, encoding='utf-8')
    return package


def write_config(package: Path, *labels: str, sample_size: int = 20) -> Path:
    """Write a benchmark configuration that lists solvers, each label with its own file."""
    lines = [
        f'moveit_config_pkg: {package}',
        f'robot_name: {package}',
        'planning_group: arm',
        f'sample_size: {sample_size}',
        'random_seed: 12345',
        'ik_timeout: 0.1',
        'ik_iteration_display_step: 5',
        'ik_solvers:',
    ]
    for label in labels:
        lines += [f'  - name: {label}', f'    kinematics_file: {label}_kinematics.yaml']
    path = package.parent / 'planar.yaml'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def register(monkeypatch, **behaviours: Callable) -> dict[str, PlanarSolver]:
    """
    Register a solver ``test/<key>`` for each function from request to result.

    :returns: the solver objects, which keep the requests that they received.
    """
    made = {key: PlanarSolver(f'test/{key}', behaviour) for key, behaviour in behaviours.items()}
    monkeypatch.setattr(
        registry, 'SOLVERS', (*registry.SOLVERS, *(_spec(solver) for solver in made.values()))
    )
    return made


def _spec(solver: PlanarSolver) -> SolverSpec:
    return SolverSpec(
        name=solver.name,
        description='A solver of the tests.',
        options_type='ssik_ros.solvers.search.pose_ik.options:PoseIkOptions',
        parameters_file='ssik_ros.solvers.search.pose_ik:pose_ik_parameters.yaml',
        factory=lambda robot, group, options, position_only=False: solver,
        position_only=True,
    )
