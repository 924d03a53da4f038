"""
Judge joint paths of published tool-path problems: ``python bench/tool_paths.py FOLDER [--only NAME] [--dense] [--bound S]``.

FOLDER holds files in the format of ``ssik path``. Each problem is planned, then judged here with pinocchio and coal alone, which
read URDF, SRDF, YAML and CSV by themselves: every waypoint within the tolerance of the file, limits, joint steps, no collision at
a waypoint and at values between. ``--dense`` adds the best sequence on a dense grid of the free parameters with the same
objective, ``--bound S`` lets the planner work on its lower bound for S seconds.
"""

import argparse
import csv
from pathlib import Path
import resource
import sys
import time
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import coal
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table
import yaml

from ssik_ros.kernels.paths import layers as kernels
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.paths.layered_search import make_layers
from ssik_ros.paths.path_file import read_problem
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ToolPathRequest
from ssik_ros.paths.search_space import product, Samples

VALUES = {1: (2000,), 2: (64, 64)}
"""Values of the dense grid by the number of free parameters."""
BETWEEN = 5
"""Values between neighbouring waypoints at which collisions are looked for."""
ROUNDING = 1e-9
STILL_LINKS = {'fetch': ('base_link', 'torso_lift_link')}
"""Links that the boxes of a robot's problems are not checked against, as their source has it."""


class Judge:
    """Kinematics and collisions of one problem by pinocchio and coal."""

    def __init__(self, file: Path) -> None:
        """Read the robot, the path and the boxes."""
        self.data = yaml.safe_load(file.read_text(encoding='utf-8'))
        urdf, srdf = self._descriptions(file.parent)
        self.model = pin.buildModelFromUrdf(urdf)
        self.values = self.model.createData()
        self.bodies = pin.buildGeomFromUrdf(self.model, urdf, pin.GeometryType.COLLISION)
        self.bodies.addAllCollisionPairs()
        pin.removeCollisionPairs(self.model, self.bodies, srdf)
        self._add_boxes()
        self.places = pin.GeometryData(self.bodies)
        self.poses = self._waypoints(file.parent / self.data['waypoints'])

    def _descriptions(self, folder: Path) -> tuple[str, str]:
        """Return the paths of URDF and SRDF."""
        if 'urdf' in self.data:
            return str(folder / self.data['urdf']), str(folder / self.data['srdf'])
        files = find_moveit_config(self.data['robot'])
        return str(files.urdf_path), str(files.srdf_path)

    def _link(self, name: str, q: np.ndarray) -> np.ndarray:
        """Return the pose of a link in the root frame."""
        pin.framesForwardKinematics(self.model, self.values, q)
        return self.values.oMf[self.model.getFrameId(name)].homogeneous.copy()

    def _add_boxes(self) -> None:
        """Put the boxes of the problem into the world, each in pairs with the links that move."""
        base = self._link(self.data['base'], pin.neutral(self.model))
        still = STILL_LINKS.get(self.model.name, (self.data['base'],))
        count = len(self.bodies.geometryObjects)
        for index, box in enumerate(self.data.get('boxes') or ()):
            place = pin.SE3(pin.rpy.rpyToMatrix(*box['rpy']), np.array(box['xyz'], dtype=float))
            shape = pin.GeometryObject(
                f'box {index}', 0, 0, pin.SE3(base) * place, coal.Box(*box['size'])
            )
            number = self.bodies.addGeometryObject(shape)
            for own in range(count):
                link = self.model.frames[self.bodies.geometryObjects[own].parentFrame].name
                if link not in still and self.bodies.geometryObjects[own].parentJoint > 0:
                    self.bodies.addCollisionPair(pin.CollisionPair(own, number))

    def _waypoints(self, file: Path) -> np.ndarray:
        """Return the poses of the tip in the base frame."""
        rows = list(csv.DictReader(file.read_text(encoding='utf-8').splitlines()))
        own = np.array(
            [[float(row[k]) for k in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')] for row in rows]
        )
        poses = [pin.SE3(pin.Quaternion(*row[[6, 3, 4, 5]]).normalized(), row[:3]) for row in own]
        offset = pin.SE3(
            np.array(self.data['offset_rotation'], dtype=float),
            np.array(self.data['offset_xyz'], dtype=float),
        )
        frame, still = self.data['offset_frame'], np.zeros(self.model.nq)
        if frame != 'world':
            between = np.linalg.inv(self._link(self.data['base'], still)) @ self._link(
                frame, still
            )
            offset = pin.SE3(between) * offset
        return np.array([(offset * pose).homogeneous for pose in poses])

    def states(self, names: tuple[str, ...], positions: np.ndarray) -> np.ndarray:
        """Return full states of rows of joint values."""
        states = np.tile(pin.neutral(self.model), (len(positions), 1))
        for name, value in (self.data.get('locked') or {}).items():
            states[:, self.model.idx_qs[self.model.getJointId(name)]] = value
        for column, name in enumerate(names):
            joint = self.model.getJointId(name)
            if self.model.nqs[joint] == 2:
                place = self.model.idx_qs[joint]
                states[:, place], states[:, place + 1] = (
                    np.cos(positions[:, column]),
                    np.sin(positions[:, column]),
                )
            else:
                states[:, self.model.idx_qs[joint]] = positions[:, column]
        return states

    def fault(self, names: tuple[str, ...], positions: np.ndarray) -> str:
        """Return what is wrong with a joint path; empty for nothing."""
        states = self.states(names, positions)
        return (
            self._missed(states)
            or self._limits(names, positions)
            or self._steps(names, positions)
            or self._collisions(names, positions)
        )

    def _missed(self, states: np.ndarray) -> str:
        """Return the first waypoint that is missed."""
        most = self.data['tolerance']
        for index, (state, pose) in enumerate(zip(states, self.poses, strict=True)):
            reached = np.linalg.inv(self._link(self.data['base'], state)) @ self._link(
                self.data['tip'], state
            )
            away = np.linalg.norm(reached[:3, 3] - pose[:3, 3])
            turn = np.linalg.norm(pin.log3(pose[:3, :3].T @ reached[:3, :3]))
            if away > most['position'] or np.degrees(turn) > most['angle_deg']:
                return f'waypoint {index} missed by {away:.2g} m, {np.degrees(turn):.2g} deg'
        return ''

    def _limits(self, names: tuple[str, ...], positions: np.ndarray) -> str:
        """Return the first joint that leaves its limits."""
        for name, values in zip(names, positions.T, strict=True):
            joint = self.model.getJointId(name)
            place = self.model.idx_qs[joint]
            low, high = (
                own[place]
                for own in (self.model.lowerPositionLimit, self.model.upperPositionLimit)
            )
            is_outside = values.min() < low - ROUNDING or values.max() > high + ROUNDING
            if self.model.nqs[joint] == 1 and is_outside:
                return f'{name} leaves its limits'
        return ''

    def _steps(self, names: tuple[str, ...], positions: np.ndarray) -> str:
        """Return the first joint whose steps are too large."""
        most = self.data['largest_step']
        for name, values in zip(names, positions.T, strict=True):
            is_slide = 'Prismatic' in self.model.joints[
                self.model.getJointId(name)
            ].shortname() or (
                self.model.joints[self.model.getJointId(name)]
                .shortname()
                .startswith('JointModelP')
            )
            largest = most['prismatic'] if is_slide else np.radians(most['revolute_deg'])
            step = np.abs(np.diff(values)).max()
            if step > largest + ROUNDING:
                return f'{name} moves by {step:.3g}'
        return ''

    def _collisions(self, names: tuple[str, ...], positions: np.ndarray) -> str:
        """Return the first collision at a waypoint or between two."""
        parts = np.arange(BETWEEN + 1) / (BETWEEN + 1)
        rows = positions[:-1, None] + parts[None, :, None] * np.diff(positions, axis=0)[:, None]
        every = np.vstack([rows.reshape(-1, positions.shape[1]), positions[-1:]])
        for index, state in enumerate(self.states(names, every)):
            if pin.computeCollisions(
                self.model, self.values, self.bodies, self.places, state, True
            ):
                return f'collision near waypoint {index / (BETWEEN + 1):.2f}'
        return ''


class Result(NamedTuple):
    """A row of the table."""

    name: str
    fault: str
    seconds: float
    cost: float
    dense: float
    bound: float
    bound_seconds: float


def dense_cost(planner: ToolPathPlanner, waypoints: np.ndarray) -> float:
    """Return the cost of the best sequence on a dense grid, layer by layer; infinite if there is none."""
    task = planner.task(waypoints)
    space, limits, count = task.space, task.limits, len(waypoints)
    parts = [(np.arange(n) + 0.5) / n for n in VALUES[space.size]]
    before = None
    for row in range(count):
        low, high = space.lower[row], space.upper[row]
        own = [low[p] + parts[p] * (high[p] - low[p]) for p in range(space.size)]
        held, outer = own[-1:], own[:-1]
        free = product(outer)[None]
        samples = Samples(free, np.tile(held[0], (1, free.shape[1], 1)))
        found, parameters = space.postures(np.array([row]), waypoints[row : row + 1], samples)
        layer = make_layers(found.q, found.owners, parameters, 1, limits)
        before = _connect(layer, before, limits, row, planner)
        if not len(before[0]):
            return float('inf')
    return float(before[1].min())


def _connect(
    layer: Any, before: Any, limits: Any, row: int, planner: ToolPathPlanner
) -> tuple[np.ndarray, np.ndarray]:
    """Return the postures of a layer that a sequence reaches, and what the cheapest one costs."""
    if before is None:
        costs, q = np.zeros(len(layer.q)), layer.q
    else:
        key = layer.key
        order = np.argsort(before[0][:, key], kind='stable')
        q = np.vstack([before[0][order], layer.q])
        first = len(order)
        costs = np.concatenate([before[1][order], np.full(len(layer.q), np.inf)])
        lengths = np.concatenate([np.ones(first), np.zeros(len(layer.q))]).astype(np.int64)
        parents = np.full(len(q), -1, dtype=np.int64)
        starts = np.array([0, first, len(q)])
        turning, objective = limits.turning, limits.objective
        largest, weights = (own[[row, row]].copy() for own in (limits.largest, limits.weights))
        kernels.connect(
            *(costs, lengths, parents, q, starts, np.zeros(len(q)), turning, largest, weights),
            *(objective, key, 1, 2),
        )
        is_reached = lengths[first:] == 2
        q, costs = layer.q[is_reached], costs[first:][is_reached]
    if planner.obstacles is not None and len(q):
        hits, _ = planner.obstacles[1].check(np.ascontiguousarray(q), np.arange(len(q)))
        q, costs = q[~hits], costs[~hits]
    return q, costs


def measure(file: Path, is_dense: bool, bound_seconds: float | None) -> Result:
    """Return the row of one problem."""
    problem = read_problem(file)
    request = ToolPathRequest(**problem.settings)
    start = time.process_time()
    planner = ToolPathPlanner(problem.robot, problem.group, request)
    path = planner.plan(problem.waypoints)
    seconds = time.process_time() - start
    fault = path.reason if not path.valid else Judge(file).fault(path.joint_names, path.positions)
    dense = dense_cost(planner, problem.waypoints) if is_dense else float('nan')
    bound, spent = path.lower_bound, 0.0
    if bound_seconds is not None:
        start = time.process_time()
        settings = {**problem.settings, 'bound_seconds': bound_seconds}
        own = ToolPathPlanner(problem.robot, problem.group, ToolPathRequest(**settings))
        bound = own.plan(problem.waypoints).lower_bound
        spent = time.process_time() - start - seconds
    return Result(problem.name, fault, seconds, path.cost, dense, bound, spent)


def main() -> int:
    """Measure and print; 1 if a path is not valid."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--only', nargs='+', metavar='NAME', help='names of some problems')
    parser.add_argument('--dense', action='store_true')
    parser.add_argument('--bound', type=float, metavar='S', help='seconds for the lower bound')
    arguments = parser.parse_args()
    table = Table(
        'problem', 'judged', 'time [s]', 'cost', 'dense', 'cost/dense', 'bound', 'gap [%]'
    )
    rows = []
    for file in sorted(arguments.folder.glob('*.yaml')):
        if arguments.only is None or file.stem in arguments.only:
            own = measure(file, arguments.dense, arguments.bound)
            rows.append(own)
            print(own, file=sys.stderr, flush=True)
            table.add_row(
                *(own.name, own.fault or 'valid', f'{own.seconds:.2f}', f'{own.cost:.4f}'),
                *(f'{own.dense:.4f}', f'{own.cost / own.dense:.3f}', f'{own.bound:.3f}'),
                f'{100.0 * (1.0 - own.bound / own.cost):.1f}',
            )
    Console().print(table)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f'One core, processor time; peak memory {memory:.0f} MB.')
    return int(any(own.fault for own in rows))


if __name__ == '__main__':
    sys.exit(main())
