"""
Plan and judge long paths with a free spin of the tool: ``python bench/tool_paths.py --help``.

Each path is planned in a process of its own:

- 1,000 poses with a free spin over a wavy surface, for UR5e and IRB 6700, without obstacles (goal 1 s);
- the same poses with the surface as a workpiece of 50,000 triangles (goal 20 s);
- 10,000 poses around a part on a positioner of two axes, for a UR5e on a rail (goal 60 s, memory below 1 GB).

pinocchio and coal judge them: tool, limits, steps, and at each waypoint the workpiece.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
import multiprocessing
from pathlib import Path
import sys
import tempfile
import time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import coal
import numpy as np
import pinocchio as pin

from bench import program
from bench.tables import table_of
from bench.usage import memory_mib
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
from ssik_ros.model.description_files import find_moveit_config
from ssik_ros.model.loader import load_robot
from ssik_ros.paths.planner import ToolPathPlanner
from ssik_ros.paths.requests import ANY_ANGLE, PathTolerance, ToolPath, ToolPathRequest

ROUNDING = 1e-9
LARGEST_STEP = ToolPathRequest().largest_turn
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
    'ur5e free': ('ur5e', 1000, False, 1.0, None),
    'irb6700 free': ('irb6700', 1000, False, 1.0, None),
    'ur5e mesh': ('ur5e', 1000, True, 20.0, None),
    'irb6700 mesh': ('irb6700', 1000, True, 20.0, None),
    'rail, ur5e, positioner': ('cell', 10_000, False, 60.0, 1e9 / 2**20),
}
"""Long problems: robot, poses, whether the workpiece is in the way, the goal [s], and the largest memory [MiB]."""

COLUMNS = {
    'path': '{problem}',
    'poses': '{poses}',
    'judged': '{judged}',
    'time s': '{seconds:.2f}',
    'goal s': '{goal:.0f}',
    'cost': '{cost:.3f}',
    'memory MiB': '{memory:.0f}',
}


class LongProblem:
    """A long path, and its judge."""

    def __init__(self, name: str, folder: Path) -> None:
        """Write the robot's files and lay out path and workpiece."""
        self._robot, count, has_mesh, *_ = LONG[name]
        self._write(folder)
        self.robot = load_robot(folder / 'robot.urdf', folder / 'robot.srdf')
        self.group = max(self.robot.groups.values(), key=lambda group: len(group.joint_names))
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
            places, triangles = _surface(size)
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
            urdf, srdf = (path.read_text('utf-8') for path in (files.urdf_path, files.srdf_path))
        if self._robot == 'cell':
            joints = [f'{name}_joint' for name in ('shoulder_pan', 'shoulder_lift', 'elbow')]
            joints += ['rail', 'tilting', 'turning', *(f'wrist_{k}_joint' for k in (1, 2, 3))]
            named = ''.join(f'<joint name="{joint}"/>' for joint in joints)
            srdf = f'<robot name="ur5e"><group name="all">{named}</group></robot>'
            urdf = urdf.replace('</robot>', POSITIONER + '</robot>')
        (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
        (folder / 'robot.srdf').write_text(srdf, encoding='utf-8')

    def fault(self, path: ToolPath) -> str:
        """Return the first fault of a path; empty if it has none."""
        if np.abs(np.diff(path.positions, axis=0)).max() > LARGEST_STEP + ROUNDING:
            return 'a step is too large'
        model = pin.buildModelFromUrdf(self._urdf)
        bodies, values = self._bodies(model), model.createData()
        places, tool = pin.GeometryData(bodies), model.getFrameId(self._tool)
        base = model.getFrameId(self._workpiece or self.group.base_link)
        for index, (q, pose) in enumerate(zip(path.positions, self.poses, strict=True)):
            state, joint = _state_of(model, path.joint_names, q)
            if joint:
                return f'waypoint {index}: {joint} leaves its limits'
            pin.framesForwardKinematics(model, values, state)
            reached = (values.oMf[base].inverse() * values.oMf[tool] * TORCH).homogeneous
            miss = np.abs(reached[:3, 2:] - pose[:3, 2:]).max()
            if miss > 1e-6:
                return f'waypoint {index} is missed by {miss:.2g}'
            if pin.computeCollisions(model, values, bodies, places, state, True):
                return f'waypoint {index} collides'
        return ''

    def _bodies(self, model: Any) -> Any:
        """Return the robot's bodies and the workpiece, with the pairs of workpiece and moving links."""
        bodies = pin.buildGeomFromUrdf(model, self._urdf, pin.GeometryType.COLLISION)
        if self._mesh is not None:
            solid, count = _triangles(*self._mesh), len(bodies.geometryObjects)
            part = pin.GeometryObject('workpiece', 0, 0, pin.SE3.Identity(), solid)
            number = bodies.addGeometryObject(part)
            for index in range(count):
                if bodies.geometryObjects[index].parentJoint > 0:
                    bodies.addCollisionPair(pin.CollisionPair(index, number))
        return bodies


def _state_of(model: Any, names: Sequence[str], q: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the full state of joint values, and the name of a joint outside its limits."""
    state = pin.neutral(model)
    for name, value in zip(names, q, strict=True):
        joint = model.getJointId(name)
        at = model.idx_qs[joint]
        if model.nqs[joint] == 2:
            state[at : at + 2] = math.cos(value), math.sin(value)
            continue
        if not model.lowerPositionLimit[at] <= value <= model.upperPositionLimit[at]:
            return state, name
        state[at] = value
    return state, ''


def _height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the height of the surface."""
    return np.asarray(WAVE * np.sin(20.0 * x) * np.cos(15.0 * y))


def _surface(size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points and triangles of the surface in front of an arm, of a size in sizes of a UR5e."""
    sides = np.linspace(0.35, 0.65, 126), np.linspace(-0.3, 0.3, 201)
    x, y = (grid.ravel() for grid in np.meshgrid(*sides, indexing='ij'))
    places = size * np.stack([x, y, _height(x, y)], axis=1)
    corner = (np.arange(125)[:, None] * 201 + np.arange(200)).ravel()
    first = np.stack([corner, corner + 201, corner + 1], axis=1)
    second = np.stack([corner + 1, corner + 201, corner + 202], axis=1)
    return places, np.vstack([first, second])


def _raster(count: int, size: float) -> np.ndarray:
    """Return poses in five lines over the surface, the tool against its normal."""
    lines, along = 5, np.linspace(-0.22, 0.22, count // 5)
    x = np.repeat(np.linspace(0.42, 0.58, lines), len(along))
    y = np.concatenate([along[:: -1 if line % 2 else 1] for line in range(lines)])
    # A line goes over into the next one in small steps.
    turns = [slice(k * len(along) - 12, k * len(along) + 12) for k in range(1, lines)]
    for turn in turns:
        x[turn], y[turn] = (np.linspace(side[turn][0], side[turn][-1], 24) for side in (x, y))
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
        element = f'<link name="{link}"><collision><origin xyz="{half}" rpy="{turn}"/><geometry>{body}</geometry></collision></link>'
        urdf = urdf.replace(f'<link name="{link}" />', element)
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


@dataclass(frozen=True, slots=True)
class Row:
    """One path."""

    problem: str
    poses: int
    fault: str
    """Empty if the path is valid."""
    seconds: float
    """Processor time of the plan."""
    goal: float
    cost: float
    memory: float
    """Peak memory of the process up to the end of the plan [MiB]."""
    most_memory: float | None
    """Largest memory that is a goal [MiB], None without one."""

    @property
    def judged(self) -> str:
        """Return the verdict of the judge."""
        return self.fault or 'valid'


def measure(name: str) -> Row:
    """Return the row of one problem; to be called in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        problem = LongProblem(name, Path(folder))
        start = time.process_time()
        request = ToolPathRequest(**problem.request)
        path = ToolPathPlanner(problem.robot, problem.group, request).plan(problem.poses)
        seconds, memory = time.process_time() - start, memory_mib() or np.nan
        fault = path.reason if not path.valid else problem.fault(path)
    *_, goal, most = LONG[name]
    return Row(name, len(problem.poses), fault, seconds, goal, path.cost, memory, most)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Plan, judge, print and write; return 1 if a path is not valid.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    # The processes of the paths, whose memory is measured, must not import the goals.
    from bench import goals

    parser = program.make_parser(__doc__)
    parser.add_argument('--only', nargs='+', choices=LONG, default=list(LONG), help='some paths')
    options = parser.parse_args(arguments)
    run, rows = program.Run('tool_paths', options), []
    for name in options.only:
        with multiprocessing.get_context('spawn').Pool(1) as pool:
            rows.append(pool.apply(measure, (name,)))
    run.show(table_of(COLUMNS, rows))
    goals.finish(run, rows=rows)
    return int(any(row.fault for row in rows))


if __name__ == '__main__':
    sys.exit(main())
