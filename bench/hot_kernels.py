"""
The calls that :mod:`bench.check` watches, and a process that runs them for one checkout.

Imports only public names of the package, and files of ``bench`` that share no code with it. So the same calls run on a
checkout whose modules have other places.
"""

from collections.abc import Callable, Sequence
import gc
import json
from pathlib import Path
import sys
from time import process_time_ns

from bench.arms import Arm, chain_from_file, FloatArray
from bench.cases import draw_cases

POSES = 40
"""Poses of a round, the same in every run."""
Round = Callable[[], object]
"""All poses once."""


def rounds_of(arm: Arm, label: str) -> dict[str, Round]:
    """
    Return the rounds to time on an arm, by names.

    "call of" measures the cost of a call whose solution takes next to no time: a pose out of reach, a seed that
    solves.

    :param label: the arm's part of the names.
    """
    from ssik_ros import create_solver, load_robot, Manipulator, SolveRequest

    robot = load_robot(arm.urdf_path)
    group = robot.group_from_links(arm.base, arm.tip)
    manipulator = Manipulator.from_urdf(arm.urdf_path, base=arm.base, ee=arm.tip)
    far, near = draw_cases(arm, POSES), draw_cases(arm, POSES, 0.05)
    auto, pose_ik = (
        create_solver(f'ssik_ros/{name}', robot, group).solve for name in ('Auto', 'PoseIK')
    )
    pairs = list(far.pairs())
    solved = [(manipulator.fk(q), q) for q in far.q]
    remote = [(_moved_away(target), q) for target, q in pairs]
    near_pairs = list(near.pairs())
    return {
        f'{label}: forward kinematics': lambda: [manipulator.fk(q) for q in far.q],
        f'{label}: all branches': lambda: [manipulator.solve_q(t, q) for t, q in pairs],
        f'{label}: ik_LM': lambda: [manipulator.ik_LM(t, q) for t, q in pairs],
        f'{label}: call of solve_q': lambda: [manipulator.solve_q(t, q) for t, q in remote],
        f'{label}: call of ik_LM': lambda: [manipulator.ik_LM(t, q) for t, q in solved],
        f'{label}: ik_LM, near': lambda: [manipulator.ik_LM(t, q) for t, q in near_pairs],
        f'{label}: Auto': lambda: [auto(SolveRequest(t, q)) for t, q in pairs],
        f'{label}: Auto, near': lambda: [auto(SolveRequest(t, q)) for t, q in near_pairs],
        f'{label}: PoseIK': lambda: [pose_ik(SolveRequest(t, q)) for t, q in pairs],
    }


def _moved_away(target: FloatArray) -> FloatArray:
    """Return a pose 100 m away."""
    far = target.copy()
    far[0, 3] += 100.0
    return far


def serve(checkout: Path, arms: Sequence[Sequence[str]]) -> None:
    """
    Run a round of the kernel that each line of the input names, and print its processor time [ns].

    :param checkout: folder whose ``ssik_ros`` is measured.
    :param arms: name, base link, tip link and URDF of each arm.
    """
    output, sys.stdout = sys.stdout, sys.stderr
    sys.path.insert(0, str(checkout))
    import ssik_ros

    if Path(ssik_ros.__file__).parents[1] != checkout:
        sys.exit(f'bench: {checkout} has no ssik_ros; {ssik_ros.__file__} came instead')
    kernels: dict[str, Round] = {}
    for name, base, tip, path in arms:
        kernels |= rounds_of(chain_from_file(Path(path), name, base, tip), name)
    for run in kernels.values():
        run()
    gc.collect()
    gc.disable()
    print(json.dumps(list(kernels)), file=output, flush=True)
    for line in sys.stdin:
        run = kernels[line.rstrip('\n')]
        # The other process had the caches.
        run()
        start = process_time_ns()
        run()
        print(process_time_ns() - start, file=output, flush=True)


if __name__ == '__main__':
    serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
