"""
Check of the files of a robot before it is served: URDF, SRDF, kinematics.yaml and joint_limits.yaml.

:func:`examine` loads the files of :class:`RobotFiles` and returns findings, each with a remedy if something is wrong.
It also looks at collision geometry and named postures, and solves random poses with the solver of each group.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import are_inside
from ssik_ros.errors import list_names, quote, SsikError
from ssik_ros.model.collision.checks import CollisionChecker
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.server.findings import Finding, Level
from ssik_ros.server.groups.group_server import GroupServer
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, read_kinematics_yaml

TRIALS = 10
"""Random poses of each group that are solved."""
SHORT_TIMEOUT = 1e-3
"""A time-out below this ends most searches of arms before their second start [s]."""


class RobotFiles(NamedTuple):
    """The files that describe one robot: the URDF, and others that may be missing (None), with arguments for xacro."""

    urdf: Path
    srdf: Path | None = None
    kinematics: Path | None = None
    joint_limits: Path | None = None
    xacro_args: Mapping[str, str] | None = None
    """Arguments of the URDF and the SRDF by name if these are xacro files; None without arguments."""


def examine(files: RobotFiles) -> list[Finding]:
    """
    Check the files of one robot; return the findings in the order of the checks.

    If the URDF, the SRDF or the joint limits do not load, the findings end with this fault.

    :param files: the files.
    """
    findings: list[Finding] = []
    robot = _load(files, findings)
    if robot is None:
        return findings
    findings += _examine_semantics(robot, files)
    findings += _examine_geometry(robot)
    kinematics = _read_kinematics(files, robot, findings)
    findings += _examine_states(robot)
    server = RobotServer(robot, robot.groups.values(), kinematics)
    for group in server.groups.values():
        findings += _examine_group(robot, group, group.group.name in kinematics)
    return findings


def _load(files: RobotFiles, findings: list[Finding]) -> RobotModel | None:
    """
    Return the robot; None if a file does not load.

    Append findings to ``findings``: one or more for each of URDF, SRDF and joint limits, up to the first that fails.
    """
    steps = (
        ('URDF', files.urdf, (files.urdf,), 'mend the line that is named'),
        (
            'SRDF',
            files.srdf,
            (files.urdf, files.srdf),
            'use the names of the URDF; MoveIt Setup Assistant writes such a file',
        ),
        (
            'joint_limits.yaml',
            files.joint_limits,
            (files.urdf, files.srdf, files.joint_limits),
            'mend the line that is named',
        ),
    )
    robot = None
    told: dict[str, None] = {}
    for name, path, sources, mend in steps:
        if path is None:
            findings.append(Finding(Level.NOTE, name, 'there is none', _LACKING[name]))
            continue
        try:
            semantics, limits = (*sources[1:], None, None)[:2]
            with heard('ssik_ros.model'):
                robot = load_robot(files.urdf, semantics, limits, files.xacro_args or None)
        except SsikError as error:
            findings.append(Finding(Level.FAULT, str(path), str(error), mend))
            return None
        # Each file adds its findings to the findings of earlier files.
        new = [warning for warning in robot.warnings if warning not in told]
        told.update(dict.fromkeys(new))
        if not new:
            findings.append(Finding(Level.FINE, str(path), f'{name} is in order'))
        for warning in new:
            text = warning.removeprefix(f'{path}:')
            findings.append(Finding(Level.NOTE, str(path), text, 'see whether this is meant'))
    return robot


_LACKING = {
    'SRDF': 'name groups in one, or give the node base_link and tip_link',
    'joint_limits.yaml': 'the limits of the URDF count',
    'kinematics.yaml': 'every group gets ssik_ros/Auto',
}


def _examine_semantics(robot: RobotModel, files: RobotFiles) -> Iterator[Finding]:
    """Yield a fault if the SRDF has no group, and a note if it disables no collisions; nothing without an SRDF."""
    if files.srdf is None:
        return
    where = str(files.srdf)
    if not robot.groups:
        yield Finding(Level.FAULT, where, 'there is no group', 'name at least one <group>')
    if not robot.srdf.disabled_collisions:
        yield Finding(
            Level.NOTE,
            where,
            'no pair of links is excluded from collision checks; neighbours and pairs that always touch are '
            'left out by themselves',
            'let MoveIt Setup Assistant write <disable_collisions>',
        )


def _examine_geometry(robot: RobotModel) -> Iterator[Finding]:
    """
    Yield findings about the collision geometry.

    Each shape that is left out is a fault. Notes say that collisions cannot be checked, or that two bodies collide in
    the default posture. If there is nothing to say, yield that the geometry is fine.
    """
    try:
        checker = CollisionChecker(robot)
    except SsikError as error:
        yield Finding(Level.NOTE, 'collisions', str(error), 'install coal')
        return
    for warning in checker.warnings:
        yield Finding(
            Level.FAULT,
            'collisions',
            warning,
            'make the file findable (AMENT_PREFIX_PATH, a path beside the URDF); until then avoid_collisions '
            'gets -22',
        )
    if not checker.available:
        if not checker.warnings:
            yield Finding(
                Level.NOTE,
                'collisions',
                'no link has collision geometry',
                'add <collision> elements; until then avoid_collisions gets -22',
            )
        return
    pair = checker.colliding_pair(robot.default_positions())
    if pair is not None:
        yield Finding(
            Level.NOTE,
            'collisions',
            f'{quote(pair[0])} and {quote(pair[1])} collide in the default posture',
            'exclude the pair in the SRDF if it always touches',
        )
    elif not checker.warnings:
        yield Finding(
            Level.FINE, 'collisions', f'{len(checker.checked_links)} links have geometry'
        )


def _read_kinematics(
    files: RobotFiles, robot: RobotModel, findings: list[Finding]
) -> dict[str, GroupKinematics]:
    """
    Return the entries of kinematics.yaml by group, none if it is missing or wrong.

    :param findings: gets a finding about a missing, wrong or correct file, about unused entries and about short
        timeouts.
    """
    if files.kinematics is None:
        findings.append(
            Finding(Level.NOTE, 'kinematics.yaml', 'there is none', _LACKING['kinematics.yaml'])
        )
        return {}
    where = str(files.kinematics)
    try:
        with heard('ssik_ros.solvers') as lines:
            kinematics = read_kinematics_yaml(files.kinematics, robot.groups)
    except SsikError as error:
        findings.append(Finding(Level.FAULT, where, str(error), 'mend the entry that is named'))
        return {}
    findings += [
        Finding(Level.NOTE, where, line, 'remove what is not used, or mend its name')
        for line in lines
    ]
    for entry in kinematics.values():
        if 0.0 < entry.timeout < SHORT_TIMEOUT:
            findings.append(
                Finding(
                    Level.NOTE,
                    where,
                    f'group {quote(entry.group)} has {entry.timeout:g} s for a request',
                    'kinematics_solver_timeout is in seconds; 0.05 is usual',
                )
            )
    if not lines:
        findings.append(Finding(Level.FINE, where, 'kinematics.yaml is in order'))
    return kinematics


def _examine_states(robot: RobotModel) -> Iterator[Finding]:
    """
    Yield a finding for each named posture of the SRDF that cannot be read or is outside the limits.

    Postures of groups that the robot does not have are skipped.
    """
    for state in robot.srdf.states:
        if state.group not in robot.groups:
            continue
        group = robot.group(state.group)
        try:
            q = robot.named_state(group, state.name)
        except SsikError as error:
            yield Finding(Level.FAULT, f'state {quote(state.name)}', str(error), 'mend the state')
            continue
        is_inside = are_inside(q, group.lower, group.upper)
        outside = [
            name
            for name, inside in zip(group.variable_names, is_inside, strict=True)
            if not inside
        ]
        if outside:
            yield Finding(
                Level.FAULT,
                f'state {quote(state.name)} of group {quote(state.group)}',
                f'outside the limits: {list_names(outside)}',
                'change the state, or the limits',
            )


def _examine_group(robot: RobotModel, server: GroupServer, is_named: bool) -> Iterator[Finding]:
    """
    Yield a finding about one group: whether its joints can move, it has a solver, and random poses are solved.

    ``is_named`` tells whether kinematics.yaml has the group; without moving joints, only such a group needs a solver.
    """
    group = server.group
    where = f'group {quote(group.name)}'
    solver = server.solver
    if group.variable_count == 0 and not is_named:
        # Groups of end effectors and tool links: MoveIt gives them no solver either.
        yield Finding(Level.FINE, where, 'no joint moves; kinematics.yaml names no solver for it')
        return
    if group.variable_count and np.all(group.lower == 0.0) and np.all(group.upper == 0.0):
        yield Finding(
            Level.FAULT,
            where,
            f'no joint can move: all limits of {list_names(group.joint_names)} are 0',
            'give each joint <limit lower upper>',
        )
        return
    if solver is None:
        yield Finding(
            Level.FAULT, where, f'no solver: {server.reason}', 'choose another kinematics_solver'
        )
        return
    try:
        robot.sampling_bounds(group)
    except SsikError as error:
        yield Finding(Level.FAULT, where, str(error), 'give the joint <limit lower upper>')
        return
    solved = _count_solved(robot, group, server)
    tips = ', '.join(solver.tip_frames)
    text = (
        f'{solver.name}, {solver.base_frame} -> {tips}: {solved} of {TRIALS} random poses solved'
    )
    if solved == TRIALS:
        yield Finding(Level.FINE, where, text)
    else:
        yield Finding(
            Level.NOTE, where, text, 'give it a longer kinematics_solver_timeout or another solver'
        )


def _count_solved(robot: RobotModel, group: JointGroup, server: GroupServer) -> int:
    """
    Return how many of ``TRIALS`` poses of random postures are solved, each with a budget of 1 s or more.

    A solver's error counts as not solved; the postures are the same at every call.
    """
    solver = server.require_solver()
    rng = np.random.default_rng(0)
    chains = [ChainKinematics(robot, group, solver.base_frame, tip) for tip in solver.tip_frames]
    solved = 0
    for _ in range(TRIALS):
        q = robot.sample(group, rng)
        targets = np.array([chain.pose(q) for chain in chains])
        request = SolveRequest(targets=targets, timeout=max(server.kinematics.timeout, 1.0))
        try:
            solved += solver.solve(request).solved
        except SsikError:
            continue
    return solved


@contextlib.contextmanager
def heard(name: str) -> Iterator[Sequence[str]]:
    """
    Context manager: yield a list that collects the messages of a logger from level WARNING up.

    Until the context ends, the parent loggers get no message of this logger.

    :param name: name of the logger.
    """
    lines: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, listener = logging.getLogger(name), Listener(logging.WARNING)
    passes_on, logger.propagate = logger.propagate, False
    logger.addHandler(listener)
    try:
        yield lines
    finally:
        logger.removeHandler(listener)
        logger.propagate = passes_on
