"""Load a robot from its descriptions: the entry point of :mod:`ssik_ros.model`."""

from collections.abc import Mapping
import logging
import math
import os
from pathlib import Path
from typing import Any

from ssik_ros.arguments import names_keywords, read_count, refuse
from ssik_ros.errors import counted, ModelError, quote, reads_file
from ssik_ros.model.description_files import MoveItConfig
from ssik_ros.model.joint_limits import compute_limits, find_entries, resolve_mimic
from ssik_ros.model.makers_yaml import read_makers_yaml
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.srdf import parse_srdf, Srdf
from ssik_ros.model.tree_builder import build_tree
from ssik_ros.model.urdf.data import Urdf, UrdfJoint
from ssik_ros.model.urdf.reader import parse_urdf
from ssik_ros.model.urdf.source import read_source, TextSource

_LOGGER = logging.getLogger('ssik_ros.model.loader')

MOST_LINES = 20
"""Most warnings about one robot in the log; all are in ``RobotModel.warnings``."""
MOST_WARNINGS = 100
"""Most warnings about unused parts of a description; a hostile file could have one for each line."""

LimitsSource = Mapping[str, Any] | str | os.PathLike[str]


@names_keywords
@reads_file(ModelError)
def load_robot(
    urdf: TextSource,
    srdf: TextSource | None = None,
    joint_limits: LimitsSource | None = None,
    xacro_args: Mapping[str, object] | None = None,
    max_joints: int | None = None,
    *,
    logs_warnings: bool = True,
) -> RobotModel:
    """
    Return the robot that a URDF describes; log faults in its files that MoveIt tolerates.

    :param urdf: path or text of the URDF; a ``.xacro`` file is expanded.
    :param srdf: path or text of the semantic description.
    :param joint_limits: content or path of a joint_limits.yaml, whose limits win, as in MoveIt.
    :param xacro_args: arguments for xacro, by name; each file takes those that it declares.
    :param max_joints: a robot with more joints, fixed ones included, is refused; None for no bound.
    :param logs_warnings: False keeps the faults out of the log; they are in ``RobotModel.warnings`` either way.
    :raises ModelError: when a description is malformed, by name and line.
    :raises ConfigError: when the joint_limits.yaml is malformed.
    :raises DescriptionNotFound: when a file does not exist.
    :raises InvalidOption: for an unknown keyword, and for an argument of a wrong type.
    """
    if max_joints is not None:
        read_count('max_joints', max_joints)
    urdf_source = read_source(urdf, 'robot description', xacro_args)
    description = parse_urdf(urdf_source.text, max_joints, urdf_source.origin)
    warnings = [*urdf_source.warnings, *description.warnings]
    semantics, is_used = Srdf(), urdf_source.expanded
    if srdf is not None:
        srdf_source = read_source(srdf, 'semantic description', xacro_args)
        semantics = parse_srdf(srdf_source.text, description, srdf_source.origin)
        warnings += [*srdf_source.warnings, *semantics.warnings]
        is_used = is_used or srdf_source.expanded
    if xacro_args and not is_used:
        warnings.append('xacro_args are not used: no description is a xacro file.')
    description = hang_on_virtual_joint(description, semantics, warnings)
    followers = resolve_mimic(description)
    limits_content, limits_place = _read_limits(joint_limits, warnings)
    entries, faults = find_entries(limits_content, limits_place)
    limits, limit_warnings = compute_limits(description, entries, followers, limits_place)
    robot = RobotModel(
        name=description.name,
        tree=build_tree(description, limits, followers),
        urdf=description,
        urdf_xml=urdf_source.text,
        srdf=semantics,
        warnings=_bounded([*warnings, *faults, *limit_warnings]),
        directory=None if urdf_source.path is None else urdf_source.path.parent,
        accelerations={
            name: bound.acceleration
            for name, bound in limits.items()
            if math.isfinite(bound.acceleration)
        },
    )
    if logs_warnings:
        _log(robot)
    return robot


def load_package(files: MoveItConfig) -> RobotModel:
    """
    Return the robot of a MoveIt configuration.

    :param files: the files, from :func:`ssik_ros.model.description_files.find_moveit_config`.
    :raises ModelError: when a description is malformed, by name and line.
    :raises ConfigError: when the joint_limits.yaml is malformed.
    :raises DescriptionNotFound: when a file does not exist.
    """
    return load_robot(
        files.urdf_path, files.srdf_path, files.joint_limits_path, files.xacro_args or None
    )


def _log(robot: RobotModel) -> None:
    """Log the first MOST_LINES warnings about the files of a robot, and the number of further ones."""
    for warning in robot.warnings[:MOST_LINES]:
        _LOGGER.warning('%s', warning)
    more = len(robot.warnings) - MOST_LINES
    if more > 0:
        _LOGGER.warning(
            '%s about the files of robot %s; `ssik doctor` lists them.',
            counted(more, 'more warning'),
            quote(robot.name),
        )


def _bounded(warnings: list[str]) -> tuple[str, ...]:
    """Return at most 100 warnings; if there are more, add a sentence with the number of those left out."""
    more = len(warnings) - MOST_WARNINGS
    told = [f'{counted(more, "more warning")} about the descriptions.'] if more > 0 else []
    return (*warnings[:MOST_WARNINGS], *told)


def hang_on_virtual_joint(urdf: Urdf, srdf: Srdf, warnings: list[str]) -> Urdf:
    """
    Return the URDF with the virtual joint of the SRDF above its root link, if a planning group contains this joint.

    The joint must not be fixed; it moves the whole robot (a mobile base). Otherwise the URDF is returned unchanged,
    with a fixed base.

    :param urdf: a checked description.
    :param srdf: its semantic description.
    :param warnings: a warning is appended if the names of the virtual joint are already taken.
    """
    moved = {name for group in srdf.groups for name in group.joints}
    for virtual in srdf.virtual_joints:
        if not virtual.attached or virtual.type == 'fixed' or virtual.name not in moved:
            continue
        if virtual.name in urdf.joints or virtual.parent_frame in urdf.links:
            warnings.append(
                f'Virtual joint {quote(virtual.name)} from {quote(virtual.parent_frame)} does not move: a joint '
                'or link of the robot already has that name.'
            )
            continue
        return urdf.with_root_joint(
            UrdfJoint(
                name=virtual.name,
                type=virtual.type,
                parent=virtual.parent_frame,
                child=urdf.root,
            )
        )
    return urdf


def _read_limits(
    source: LimitsSource | None, warnings: list[str]
) -> tuple[Mapping[str, Any] | None, str]:
    """
    Return the content of a joint_limits.yaml and its name for messages; append notes on it to ``warnings``.

    :param source: a path, or the content itself; None gives the content None.
    :raises InvalidOption: if it is something else.
    :raises DescriptionNotFound: if the path is not a file.
    :raises ConfigError: if the file cannot be read or is not YAML.
    """
    if source is None or isinstance(source, Mapping):
        return source, 'joint_limits'
    if not isinstance(source, str | os.PathLike):
        refuse('joint_limits', source, 'a mapping or a path')
    content, notes = read_makers_yaml(Path(source))
    warnings += [f'{note}.' for note in notes]
    return content, str(source)
