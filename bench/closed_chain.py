"""
Measure a mechanism with loops, frame by frame: ``python bench/closed_chain.py --help``.

The hexapod that comes along (48 degrees of freedom, 36 rows of closures, 6 of the goal): its platform goes round a circle
in steps of 1.3 mm, one solve a frame, then to random poses. Where node and the npm package closed-chain-ik are installed,
that solves the same goals on the same mechanism. An open chain, a UR5e, goes from seeds near their solutions. Results go to ``bench_output/closed_chain.json``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import sys
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.spatial.transform import Rotation

from bench import arms, goals, node_peer, pinning, program
from bench.arms import FloatArray
from bench.cases import Cases, draw_cases
from bench.clocks import calibrate, measure_overhead
from bench.tables import table_of
from bench.times import TIME_COLUMNS, Times
from ssik_ros.benchmark.harness import no_garbage_collection, timed_call
from ssik_ros.mechanisms import DOF, Frame, from_urdf, Goal, Joint, load_mechanism, Solver

MECHANISM = 'hexapod'
PLATFORM = 'platform'
ARM = 'ur5e'
SPREAD = 0.05
"""How far each joint of a seed is from a solution at most [rad]."""
TRACK, JUMP, NEAR = 'track', 'jump', 'near'
OURS = goals.CLOSED_CHAIN
PEER = 'closed-chain-ik'
RADIUS, STEP = 0.012, 0.0013
FARTHEST, WIDEST = 0.015, 0.15
"""Of random poses, along and about each axis [m, rad]."""
TOLERANCE = 1e-5
"""Of both solvers [m, rad]."""
LEGS = range(1, 7)
CLOSE = 1e-3
"""Largest error at which a goal counts as reached, for every solver [m, rad]."""
WARM_UP = 50
SEED = 1
CALIBRATIONS = 20
"""How often the calibration runs between the frames of a run."""
COLUMNS = {
    'mechanism': '{mechanism}',
    'run': '{run}',
    'solver': '{solver}',
    'frames': '{frames}',
    **TIME_COLUMNS,
    'ratio': '{ratio:.2f}',
    'converged %': '{converged:.1f}',
    'within 1e-3 %': '{within:.1f}',
    'worst m': '{worst_metres:.0e}',
    'worst rad': '{worst_radians:.0e}',
}
Pose = tuple[list[float], list[float]]
"""Position [m] and quaternion x, y, z, w of the platform in the world."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run of frames."""

    mechanism: str
    run: str
    solver: str
    frames: int
    converged: float
    """Frames whose loops and goal were met, in the words of the solver [%]."""
    within: float
    """Frames that miss no loop and not the goal by more than ``CLOSE``, measured [%]."""
    worst_metres: float
    """Largest distance that a loop or the goal of a frame misses, measured."""
    worst_radians: float
    cpu: Times
    wall: Times
    ratio: float | None = None
    """
    Median processor time in thousandths of the calibration, which runs between the frames; independent of the clock
    rate.
    """


def make_solver(root: Frame) -> Solver:
    """Return a solver of the mechanism below a frame."""
    return Solver(
        [root], translation_converge_threshold=TOLERANCE, rotation_converge_threshold=TOLERANCE
    )


@dataclass(frozen=True, slots=True)
class Scene:
    """The mechanism with a goal for its platform, closed."""

    solver: Solver
    goal: Goal
    centre: FloatArray
    """(3,) where the platform is at first [m]."""
    feet: FloatArray
    """(6, 3) positions of the feet of the legs in the world [m]."""
    heads: FloatArray
    """(6, 3) where they end on the platform, along its axes."""
    shortest: FloatArray
    """(6,) lengths at the lower limits of the slides [m]."""
    longest: FloatArray
    """(6,) at the upper ones."""

    def place(self, pose: Pose) -> None:
        """Put the goal at a pose."""
        position, quaternion = pose
        self.goal.set_position(*position)
        self.goal.set_quaternion(*quaternion)

    @classmethod
    def load(cls) -> 'Scene':
        """Return the mechanism, its loops closed at its initial state."""
        robot = load_mechanism(MECHANISM)
        platform = robot.links[PLATFORM]
        centre = np.array(platform.matrix_world)[:3, 3]
        goal = Goal('goal')
        goal.set_position(*centre)
        goal.make_closure(platform)
        solver = make_solver(robot.root)
        solver.solve()
        joints = {j.name: j for j in solver.mechanism.frames if isinstance(j, Joint)}
        slides = [joints[f'leg{k}_slide'] for k in LEGS]
        feet = np.array([joints[f'leg{k}_tilt_x'].get_world_position() for k in LEGS])
        heads = np.array([joints[f'leg{k}_head'].get_world_position() for k in LEGS]) - centre
        # Length of a leg without its slide.
        rest = np.linalg.norm(heads + centre - feet, axis=1)
        rest -= [slide.get_dof_value(DOF.Z) for slide in slides]
        low = rest + [slide.get_min_limit(DOF.Z) for slide in slides]
        high = rest + [slide.get_max_limit(DOF.Z) for slide in slides]
        return cls(solver, goal, centre, feet, heads, low, high)

    def poses_of(self, name: str, count: int) -> list[Pose]:
        """
        Return the poses that the platform is to take.

        :param name: ``track``, or ``jump``: random ones whose leg lengths are within limits, by the closed form.
        :param count: how many.
        """
        if name == TRACK:
            angles = np.arange(count) * STEP / RADIUS
            circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=1)
            points = self.centre + RADIUS * circle
            return [(point.tolist(), [0.0, 0.0, 0.0, 1.0]) for point in points]
        random = np.random.default_rng(SEED)
        poses: list[Pose] = []
        while len(poses) < count:
            position = self.centre + random.uniform(-FARTHEST, FARTHEST, 3)
            rotation = Rotation.from_rotvec(random.uniform(-WIDEST, WIDEST, 3))
            lengths = np.linalg.norm(position + rotation.apply(self.heads) - self.feet, axis=1)
            if ((self.shortest < lengths) & (lengths < self.longest)).all():
                poses.append((position.tolist(), rotation.as_quat().tolist()))
        return poses


@dataclass(frozen=True, slots=True)
class OpenScene:
    """An arm with a goal for its tip; its cases hold the targets of the tip and the start postures."""

    solver: Solver
    goal: Goal
    joints: list[Joint]
    base: FloatArray
    """(4, 4) pose of the arm's base in the world."""
    cases: Cases

    @classmethod
    def load(cls, count: int) -> 'OpenScene':
        """
        Return the arm with goals and seeds.

        :param count: how many.
        """
        arm = arms.read_arm(ARM)
        robot = from_urdf(str(arm.urdf_path), free_root=False)
        goal = Goal('goal')
        goal.make_closure(robot.links[arm.tip])
        solver = make_solver(robot.root)
        joints = [robot.joints[joint.name] for joint in arm.joints]
        base = np.array(robot.links[arm.base].matrix_world)
        return cls(solver, goal, joints, base, draw_cases(arm, count, SPREAD))

    def place(self, k: int) -> None:
        """
        Put the arm at a seed, and the goal at a pose.

        :param k: which of them.
        """
        self.goal.set_matrix(self.base @ self.cases.targets[k])
        for joint, value in zip(self.joints, self.cases.seeds[k], strict=True):
            joint.set_dof_values(value)


def run_frames(
    mechanism: str, name: str, solver: Solver, place: Callable[[int], None], count: int
) -> Row:
    """
    Return our times and misses for frames of a mechanism.

    :param mechanism, name: of the row.
    :param solver: asked once a frame.
    :param place: prepares a frame, by its number; not timed.
    :param count: of frames; the first ``WARM_UP`` do not count.
    """
    overhead, calibrations = measure_overhead(), []
    spent, solved, misses = np.empty((count, 2)), [], []
    with no_garbage_collection():
        for k in range(count):
            if k % max(count // CALIBRATIONS, 1) == 0:
                calibrations.append(calibrate(1))
            place(k)
            results, wall, cpu = timed_call(solver.solve)
            spent[k] = cpu - overhead.cpu, wall - overhead.wall
            solved.append(all(result.status.name == 'CONVERGED' for result in results))
            misses.append(np.max([result.error for result in results], axis=0))
    times, errors = 1e-3 * spent[WARM_UP:].T, np.array(misses[WARM_UP:]).T
    row = make_row((mechanism, name, OURS), solved[WARM_UP:], errors, times)
    return replace(row, ratio=row.cpu.median / float(np.median(calibrations)))


def make_row(names: tuple[str, str, str], solved: Sequence[bool], misses: Any, times: Any) -> Row:
    """
    Return a run as a row.

    :param names: of mechanism, run and solver.
    :param solved: whether each frame's loops and goal were met.
    :param misses: (2, k) by how many metres and radians they were not.
    :param times: (2, k) processor and wall time of each frame [us].
    """
    count, errors = len(solved), np.array(misses)
    within = float((errors < CLOSE).all(axis=0).mean())
    shares = 100.0 * sum(solved) / count, 100.0 * within
    worst = map(float, errors.max(axis=1))
    return Row(*names, count, *shares, *worst, *(Times.of(values) for values in times))


def run_peer(
    frames: Sequence[Mapping[str, Any]], poses: Mapping[str, Sequence[Pose]]
) -> list[Row]:
    """
    Return the peer's times and misses for the same frames.

    :param frames: the mechanism as plain data.
    :param poses: of each run.
    :raises node_peer.NoPeer: when it cannot be asked.
    """
    asked = {
        name: [{'position': position, 'quaternion': quaternion} for position, quaternion in some]
        for name, some in poses.items()
    }
    rows = []
    for name, options in node_peer.OPTIONS.items():
        response = node_peer.ask(frames, asked, WARM_UP, options)
        solver = f'{PEER} {response["version"]}, {name}'
        for part, of in response['runs'].items():
            misses, times = (of['metres'], of['radians']), (of['cpu'], of['wall'])
            rows.append(make_row((MECHANISM, part, solver), of['solved'], misses, times))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, print and write.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    options = program.make_parser(__doc__, frames=1000).parse_args(arguments)
    run, count = program.Run('closed_chain', options), options.frames + WARM_UP
    scene = Scene.load()
    frames = node_peer.describe_mechanism(scene.solver.mechanism.frames)
    poses = {name: scene.poses_of(name, count) for name in (TRACK, JUMP)}
    rows = [
        run_frames(MECHANISM, name, scene.solver, lambda k, some=some: scene.place(some[k]), count)
        for name, some in poses.items()
    ]
    arm = OpenScene.load(count)
    rows.append(run_frames(ARM, NEAR, arm.solver, arm.place, count))
    note = ''
    try:
        rows += run_peer(frames, poses)
    except node_peer.NoPeer as reason:
        note = f'{PEER} was not asked: {reason}.'
    run.show(table_of(COLUMNS, rows), *([note] if note else []))
    goals.finish(run, rows=rows, note=note)


if __name__ == '__main__':
    pinning.limit_threads()
    main()
