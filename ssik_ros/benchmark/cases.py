"""
The requests of a benchmark: the same goals and seeds for every solver, stored in a file.

Each trial draws the goal state, then the seed state, from ``numpy.random.default_rng(random_seed)``. Both are uniform
within the limits, in the order of the group's joints. A shorter run has the first requests of a longer one. The target
is the pose of the goal state.

A goals file has one JSON object per line. The first line is a header. Each further line is a trial with ``goal``,
``seed`` (exact joint positions) and ``poses`` (``x y z qx qy qz qw`` of each tip in the base frame). Readers with their
own kinematics can use ``poses``; this package recomputes and compares them.
"""

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.benchmark.harness import write_atomically
from ssik_ros.benchmark.oracle import GroupOracle
from ssik_ros.errors import ConfigError, DescriptionNotFound, reads_file
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.server.requests.poses import numbers_of_pose, pose_of_numbers
from ssik_ros.value_class import dataclass

FORMAT = 'ssik_ros goals'
VERSION = 1
_SAME_POSE = 1e-6
"""Difference [m and rad] of a stored pose above which the file belongs to another robot."""


@dataclass(frozen=True, slots=True)
class BenchmarkCases:
    """``m`` requests to a group with ``n`` joint positions and ``t`` tips: goal states, seeds and target poses."""

    goals: FloatArray
    """(m, n) joint vectors whose poses are the targets."""
    seeds: FloatArray
    """(m, n) start of each search."""
    targets: FloatArray
    """(m, t, 4, 4) poses of the tips in the base frame."""
    random_seed: int | None
    """Seed of the generator; None for goals that were not generated."""

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.goals)

    def first(self, count: int) -> 'BenchmarkCases':
        """
        Return a copy with only the first ``count`` requests.

        :param count: number of requests; all if there are fewer.
        """
        return BenchmarkCases(
            self.goals[:count], self.seeds[:count], self.targets[:count], self.random_seed
        )

    def from_one_seed(self, seed: FloatArray) -> 'BenchmarkCases':
        """
        Return a copy in which all requests have the same seed.

        :param seed: (n,) the seed [rad or m].
        """
        seeds = np.broadcast_to(seed, self.seeds.shape).copy()
        return BenchmarkCases(self.goals, seeds, self.targets, self.random_seed)


def make_cases(oracle: GroupOracle, sample_size: int, random_seed: int) -> BenchmarkCases:
    """
    Return random requests: goal states and seeds, uniform within the limits of a group.

    :param oracle: the group and its forward kinematics, which gives the target poses.
    :param sample_size: number of requests.
    :param random_seed: seed of the random generator.
    :raises InvalidLimits: if a translation of the group, such as a sliding joint, lacks a limit.
    """
    rng = np.random.default_rng(random_seed)
    robot, group = oracle.robot, oracle.group
    states = np.array([robot.sample(group, rng) for _ in range(2 * sample_size)])
    goals, seeds = states[0::2], states[1::2]
    return BenchmarkCases(goals, seeds, _targets(oracle, goals), random_seed)


def _targets(oracle: GroupOracle, goals: FloatArray) -> FloatArray:
    return np.array([oracle.tip_poses(goal) for goal in goals])


def write_goals(cases: BenchmarkCases, oracle: GroupOracle, path: Path) -> None:
    """
    Write requests to a goals file; an older file is replaced.

    :param cases: the requests.
    :param oracle: the group of the requests.
    :param path: the file.
    :raises InvalidOption: if the file cannot be written.
    """
    lines = (json.dumps(entry) for entry in _entries(cases, oracle))
    write_atomically(path, '\n'.join(lines) + '\n')


def _entries(cases: BenchmarkCases, oracle: GroupOracle) -> Iterator[dict[str, Any]]:
    group = oracle.group
    yield {
        'format': FORMAT,
        'version': VERSION,
        'robot': oracle.robot.name,
        'group': group.name,
        'variables': list(group.variable_names),
        'base_frame': group.base_link,
        'tip_frames': list(group.tips),
        'random_seed': cases.random_seed,
        'generator': 'numpy.random.default_rng',
        'numpy': np.__version__,
        'sample_size': len(cases),
    }
    for i, (goal, seed, targets) in enumerate(zip(cases.goals, cases.seeds, cases.targets)):
        poses = [list(numbers_of_pose(target)) for target in targets]
        yield {'trial': i + 1, 'goal': goal.tolist(), 'seed': seed.tolist(), 'poses': poses}


@reads_file(ConfigError)
def read_goals(path: Path, oracle: GroupOracle) -> BenchmarkCases:
    """
    Return the requests of a goals file that :func:`write_goals` wrote.

    The target poses are computed from the goal states anew; stored poses must agree with them.

    :param path: the file.
    :param oracle: the group of the requests.
    :raises DescriptionNotFound: if the file does not exist or cannot be read.
    :raises ConfigError: if the file is malformed, or was made for another robot or group.
    """
    try:
        lines = path.read_text(encoding='utf-8').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionNotFound(f"Cannot read the goals file '{path}': {error}.") from error
    entries = [_parse_line(line, f'{path}, line {i + 1}') for i, line in enumerate(lines)]
    if not entries or entries[0].get('format') != FORMAT or entries[0].get('version') != VERSION:
        raise ConfigError(f"'{path}' is no goals file of version {VERSION}.", path=path)
    header, trials = entries[0], entries[1:]
    _compare_header(header, oracle, path)
    goals = _states(trials, 'goal', oracle, path)
    seeds = _states(trials, 'seed', oracle, path)
    cases = BenchmarkCases(goals, seeds, _targets(oracle, goals), header.get('random_seed'))
    _compare_poses(trials, cases, path)
    return cases


def _parse_line(line: str, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f'{where}: {error}.') from error
    if not isinstance(entry, dict):
        raise ConfigError(f'{where}: not a JSON object.')
    return entry


def _compare_header(header: dict[str, Any], oracle: GroupOracle, path: Path) -> None:
    """Raise ConfigError if a goals file has other joints, base frame or tip frames than the group."""
    group = oracle.group
    expected = {
        'variables': list(group.variable_names),
        'base_frame': group.base_link,
        'tip_frames': list(group.tips),
    }
    for key, value in expected.items():
        if header.get(key) != value:
            raise ConfigError(
                f"The goals file '{path}' was made for {key} {header.get(key)}, but group "
                f"'{group.name}' of robot '{oracle.robot.name}' has {value}."
            )


def _states(trials: list[dict[str, Any]], key: str, oracle: GroupOracle, path: Path) -> FloatArray:
    """
    Return the joint vectors (m, n) that all trials of a goals file have under a key, ``goal`` or ``seed``.

    :param oracle: the group, which has n joint values.
    :param path: the file, for messages.
    :raises ConfigError: if a vector is missing, has another size or is not finite, or if there are no trials.
    """
    shape = (len(trials), oracle.group.variable_count)
    try:
        states = np.array([trial[key] for trial in trials], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"'{path}': a trial has no usable '{key}': {error}.") from error
    if states.shape != shape or not len(trials) or not np.isfinite(states).all():
        raise ConfigError(
            f"'{path}': every trial needs '{key}' with {shape[1]} finite numbers; there is at "
            'least one trial.'
        )
    return states


def _compare_poses(trials: list[dict[str, Any]], cases: BenchmarkCases, path: Path) -> None:
    """
    Raise ConfigError if a stored pose differs from the pose of its goal state by more than 1e-6 [m or rad].

    The file is then for another robot. Trials without stored poses are not compared.
    """
    for trial, targets in zip(trials, cases.targets):
        for stored, target in zip(trial.get('poses', ()), targets):
            distance, angle = ReferenceKinematics.pose_errors(pose_of_numbers(*stored), target)
            if not max(distance, angle) <= _SAME_POSE:
                raise ConfigError(
                    f"The goals file '{path}' was made for another robot: the pose of trial "
                    f'{trial.get("trial")} differs by {distance:.3g} m and {angle:.3g} rad.'
                )
