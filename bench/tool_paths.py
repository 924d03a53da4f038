"""
Judge joint paths of published tool-path problems: ``python bench/tool_paths.py FOLDER``.

Options are ``--only NAME``, ``--dense`` and ``--bound S``. ``python bench/tool_paths.py --long`` judges long paths of
its own.

FOLDER holds files in the format of ``ssik path``. Each problem is planned, then judged here with pinocchio and coal
only. The judge reads URDF, SRDF, YAML and CSV itself. It checks every waypoint against the tolerance of the file,
limits, joint steps, and collisions at waypoints and at values between them. ``--dense`` adds the best sequence on a
dense grid of the free parameters with the same objective. ``--bound S`` lets the planner work on its lower bound for S
seconds.

``--long`` plans these paths, each in a process of its own:

- 1,000 poses with a free spin over a wavy surface, for UR5e and IRB 6700, without obstacles (goal 1 s);
- the same poses with the surface as a workpiece of 50,000 triangles (goal 20 s);
- 10,000 poses around a part on a positioner of two axes, for a UR5e on a rail (goal 60 s, memory below 1 GB).

pinocchio and coal judge them: tool, limits, steps, and at each waypoint the workpiece.
"""

import argparse
import csv
import math
import multiprocessing
from pathlib import Path
import resource
import sys
import tempfile
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
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.paths.layered_search import make_layers
from ssik_ros.paths.path_file import read_problem
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ANY_ANGLE, PathTolerance, ToolPath, ToolPathRequest
from ssik_ros.paths.search_space import product, Samples

VALUES = {1: (2000,), 2: (64, 64)}
"""Values of the dense grid by the number of free parameters."""
BETWEEN = 5
"""Values between neighbouring waypoints at which collisions are looked for."""
ROUNDING = 1e-9
STILL_LINKS = {'fetch': ('base_link', 'torso_lift_link')}
"""Links that the boxes of a robot's problems are not checked against, as their source has it."""
SPUN = PathTolerance(spin=ANY_ANGLE)
TORCH = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.15]))
"""Pose of the tool in the frame of the flange; the tool has no body."""
STAND_OFF, WAVE = 0.002, 0.02
"""Distance of tool and surface, and height of its waves, as parts of the surface's size [m per m]."""
POSITIONER = """
<link name="cell"/><link name="carriage"/><link name="tilt"/><link name="plate"/>
<joint name="rail" type="prismatic"><parent link="cell"/><child link="carriage"/><axis xyz="0 1 0"/>
<origin xyz="-0.9 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="mount" type="fixed"><parent link="carriage"/><child link="base_link"/></joint>
<joint name="tilting" type="revolute"><parent link="cell"/><child link="tilt"/><axis xyz="1 0 0"/>
<origin xyz="0 0 0.1"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint>
<joint name="turning" type="continuous"><parent link="tilt"/><child link="plate"/><axis xyz="0 0 1"/>
<origin xyz="0 0 0.1"/><limit velocity="2" effort="1"/></joint>
"""
LONG = {
    'ur5e free': ('ur5e', 1000, False, 1.0),
    'irb6700 free': ('irb6700', 1000, False, 1.0),
    'ur5e mesh': ('ur5e', 1000, True, 20.0),
    'irb6700 mesh': ('irb6700', 1000, True, 20.0),
    'rail, ur5e, positioner': ('cell', 10_000, False, 60.0),
}
"""Long problems: robot, poses, whether the workpiece is in the way, and the goal [s]."""


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
        """Return the first fault of a joint path; empty if it has none."""
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
    """Return the cost of the best sequence on a dense grid, layer by layer; infinite if no sequence exists."""
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
    """Return the postures of a layer that a sequence reaches, and the cost of the cheapest sequence to each."""
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


class LongProblem:
    """A long path, and its judge."""

    def __init__(self, name: str, folder: Path) -> None:
        """Write the robot's files and lay out path and workpiece."""
        self._robot, count, has_mesh, _ = LONG[name]
        self._write(folder)
        self.robot = load_robot(folder / 'robot.urdf', folder / 'robot.srdf')
        self.group = max(self.robot.groups.values(), key=lambda own: len(own.joint_names))
        self._workpiece = 'plate' if self._robot == 'cell' else None
        self._tool = next(tip for tip in self.group.tips if tip != self._workpiece)
        self.request: dict[str, Any] = {
            'tolerance': SPUN,
            'tool': TORCH.homogeneous,
            'workpiece': self._workpiece,
        }
        size = 2.4 if self._robot == 'irb6700' else 1.0
        self.poses = _helix(count) if self._workpiece else _raster(count, size)
        # The larger arm's workpiece is on a table.
        table = pin.SE3(np.eye(3), np.array([0.3, 0.0, 0.4]) * (size > 1.0)).homogeneous
        self.poses = table @ self.poses
        self._urdf, self._mesh = str(folder / 'robot.urdf'), None
        if has_mesh:
            x, y = (own.ravel() for own in np.meshgrid(*_sides(126, 201), indexing='ij'))
            places = size * np.stack([x, y, _height(x, y)], axis=1)
            corner = (np.arange(125)[:, None] * 201 + np.arange(200)).ravel()
            first = np.stack([corner, corner + 201, corner + 1], axis=1)
            second = np.stack([corner + 1, corner + 201, corner + 202], axis=1)
            triangles = np.vstack([first, second])
            self._mesh = places + table[:3, 3], triangles
            shape = ObjectShape(SolidKind.MESH, (), np.eye(4), places, triangles)
            self.request['obstacles'] = [WorldObject('workpiece', table, (shape,))]

    def _write(self, folder: Path) -> None:
        """Write URDF and SRDF."""
        if self._robot == 'irb6700':
            urdf = _with_bodies(make_urdf(arm_data('irb6700')))
            links = [f'joint_{k}_link' for k in range(1, 7)]
            pairs = [(a, b) for i, a in enumerate(links) for b in links[:i]]
            srdf = '<robot name="irb6700"><group name="arm"><chain base_link="base_link" tip_link="tool0"/></group>'
            srdf += ''.join(f'<disable_collisions link1="{a}" link2="{b}"/>' for a, b in pairs)
            srdf += '</robot>'
        else:
            files = find_moveit_config('ur5e')
            urdf, srdf = (own.read_text('utf-8') for own in (files.urdf_path, files.srdf_path))
        if self._robot == 'cell':
            joints = [f'{own}_joint' for own in ('shoulder_pan', 'shoulder_lift', 'elbow')]
            joints += ['rail', 'tilting', 'turning', *(f'wrist_{k}_joint' for k in (1, 2, 3))]
            named = ''.join(f'<joint name="{joint}"/>' for joint in joints)
            srdf = f'<robot name="ur5e"><group name="all">{named}</group></robot>'
            urdf = urdf.replace('</robot>', POSITIONER + '</robot>')
        (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
        (folder / 'robot.srdf').write_text(srdf, encoding='utf-8')

    def fault(self, path: ToolPath) -> str:
        """Return the first fault of a path; empty if it has none."""
        model = pin.buildModelFromUrdf(self._urdf)
        bodies = pin.buildGeomFromUrdf(model, self._urdf, pin.GeometryType.COLLISION)
        if self._mesh is not None:
            solid = _triangles(*self._mesh)
            part = pin.GeometryObject('workpiece', 0, 0, pin.SE3.Identity(), solid)
            number, count = bodies.addGeometryObject(part), len(bodies.geometryObjects) - 1
            for own in range(count):
                if bodies.geometryObjects[own].parentJoint > 0:
                    bodies.addCollisionPair(pin.CollisionPair(own, number))
        values, places = model.createData(), pin.GeometryData(bodies)
        tool = model.getFrameId(self._tool)
        base = model.getFrameId(self._workpiece or self.group.base_link)
        places_of = [model.getJointId(name) for name in path.joint_names]
        if (
            np.abs(np.diff(path.positions, axis=0)).max()
            > ToolPathRequest().largest_turn + ROUNDING
        ):
            return 'a step is too large'
        for index, (q, pose) in enumerate(zip(path.positions, self.poses, strict=True)):
            state = pin.neutral(model)
            for joint, value in zip(places_of, q, strict=True):
                at = model.idx_qs[joint]
                if model.nqs[joint] == 2:
                    state[at : at + 2] = math.cos(value), math.sin(value)
                elif not model.lowerPositionLimit[at] <= value <= model.upperPositionLimit[at]:
                    return f'waypoint {index}: {model.names[joint]} leaves its limits'
                else:
                    state[at] = value
            pin.framesForwardKinematics(model, values, state)
            reached = (values.oMf[base].inverse() * values.oMf[tool] * TORCH).homogeneous
            miss = reached[:3, 2:] - pose[:3, 2:]
            if np.abs(miss).max() > 1e-6:
                return f'waypoint {index} is missed by {np.abs(miss).max():.2g}'
            if self._mesh is not None and pin.computeCollisions(
                model, values, bodies, places, state, True
            ):
                return f'waypoint {index} collides'
        return ''


def _sides(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines of a grid in front of an arm of the size of a UR5e [m]."""
    return np.linspace(0.35, 0.65, rows), np.linspace(-0.3, 0.3, columns)


def _height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the height of the surface."""
    return np.asarray(WAVE * np.sin(20.0 * x) * np.cos(15.0 * y))


def _raster(count: int, size: float) -> np.ndarray:
    """Return poses in five lines over the surface, the tool against its normal."""
    lines, along = 5, np.linspace(-0.22, 0.22, count // 5)
    x = np.repeat(np.linspace(0.42, 0.58, lines), len(along))
    y = np.concatenate([along[:: -1 if line % 2 else 1] for line in range(lines)])
    # A line goes over into the next one in small steps.
    turns = [slice(k * len(along) - 12, k * len(along) + 12) for k in range(1, lines)]
    for own in turns:
        x[own], y[own] = (np.linspace(side[own][0], side[own][-1], 24) for side in (x, y))
    slopes = (
        WAVE * 20.0 * np.cos(20.0 * x) * np.cos(15.0 * y),
        -WAVE * 15.0 * np.sin(20.0 * x) * np.sin(15.0 * y),
    )
    normals = np.stack([-slopes[0], -slopes[1], np.ones(len(x))], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    places = np.stack([x, y, _height(x, y)], axis=1) + STAND_OFF * normals
    return np.array([_pose(size * p, -n) for p, n in zip(places, normals, strict=True)])


def _helix(count: int) -> np.ndarray:
    """Return poses around a part on the plate, seen from outside above."""
    angles = np.linspace(0.0, 20.0 * np.pi, count)
    places = [
        (0.2 * math.cos(a), 0.2 * math.sin(a), 0.05 + 0.1 * k / count)
        for k, a in enumerate(angles)
    ]
    inward = [(-0.5 * math.cos(a), -0.5 * math.sin(a), -1.0) for a in angles]
    return np.array([_pose(p, n / np.linalg.norm(n)) for p, n in zip(places, inward, strict=True)])


def _pose(place: Any, axis: np.ndarray) -> np.ndarray:
    """Return a pose (4, 4) with its z axis along a direction."""
    pose = np.eye(4)
    side = np.cross(axis, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    pose[:3, :3] = np.stack([np.cross(side, axis), side, axis], axis=1)
    pose[:3, 3] = place
    return pose


def _with_bodies(urdf: str) -> str:
    """Return the URDF of the IRB 6700 with a cylinder along each long link."""
    for link, length, radius, turn, half in (
        ('joint_2_link', 1.125, 0.15, '0 0 0', '0 0 0.5625'),
        ('joint_4_link', 1.1425, 0.12, '0 1.5707963 0', '0.57 0 0'),
        ('joint_6_link', 0.05, 0.08, '0 1.5707963 0', '-0.025 0 0'),
    ):
        body = f'<cylinder radius="{radius}" length="{length}"/>'
        own = f'<link name="{link}"><collision><origin xyz="{half}" rpy="{turn}"/><geometry>{body}</geometry></collision></link>'
        urdf = urdf.replace(f'<link name="{link}" />', own)
    return urdf


def _triangles(places: np.ndarray, corners: np.ndarray) -> Any:
    """Return triangles as a body of coal."""
    solid = coal.BVHModelOBBRSS()
    solid.beginModel(len(corners), len(places))
    vertices, rows = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for place in places:
        vertices.append(place)
    for row in corners:
        rows.append(coal.Triangle(*map(int, row)))
    solid.addSubModel(vertices, rows)
    solid.endModel()
    return solid


def measure_long(name: str) -> tuple[str, ...]:
    """Return the row of one long problem; to be called in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        problem = LongProblem(name, Path(folder))
        start = time.process_time()
        request = ToolPathRequest(**problem.request)
        path = ToolPathPlanner(problem.robot, problem.group, request).plan(problem.poses)
        seconds = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        fault = path.reason if not path.valid else problem.fault(path)
    numbers = f'{seconds:.2f}', f'{LONG[name][-1]:.0f}', f'{path.cost:.3f}', f'{memory:.0f}'
    return name, str(len(problem.poses)), fault or 'valid', *numbers


def main_long(only: list[str] | None) -> int:
    """Measure the long problems and print; 1 if a path is not valid."""
    table = Table('problem', 'poses', 'judged', 'time [s]', 'goal [s]', 'cost', 'memory [MB]')
    for name in LONG if only is None else only:
        with multiprocessing.get_context('spawn').Pool(1) as pool:
            table.add_row(*pool.apply(measure_long, (name,)))
    Console().print(table)
    print('One core, processor time; peak memory of the process up to the end of the plan.')
    return int(any(own != 'valid' for own in table.columns[2].cells))


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
    parser.add_argument('folder', type=Path, nargs='?')
    parser.add_argument('--long', action='store_true', help='long problems in place of a folder')
    parser.add_argument('--only', nargs='+', metavar='NAME', help='names of some problems')
    parser.add_argument('--dense', action='store_true')
    parser.add_argument('--bound', type=float, metavar='S', help='seconds for the lower bound')
    arguments = parser.parse_args()
    if arguments.long:
        return main_long(arguments.only)
    if arguments.folder is None:
        parser.error('name a folder, or --long')
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
