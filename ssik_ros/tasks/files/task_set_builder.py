"""Build an environment from a task set file and a scene; errors name the line of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ssik_ros.arrays import FloatArray
from ssik_ros.errors import ConfigError, describe_choices, quote, SsikError
from ssik_ros.strict_yaml import refuse
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.environment import Environment, TaskSet
from ssik_ros.tasks.files.task_set_file import FileEntry, FileFrame, TaskSetFile
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.objects import Dummy, IkObject
from ssik_ros.tasks.scene import Scene


def build_environment(content: TaskSetFile, scene: Scene, name: str | None = None) -> Environment:
    """
    Return an environment with all frames and joints of a scene, and with the frames and task sets of a file.

    Frames with ``at`` are at the present pose of the frame that they name; frames with ``follow`` are at the origin of
    their parent.

    :param content: content of the file.
    :param scene: the robot.
    :param name: name of the environment; None for the file's name.
    :raises ConfigError: for names that the scene does not have, and settings that do not fit the robot, with their
        line. Also for a task set that moves no joint.
    :raises ModelError, InvalidOption: as :meth:`Environment.from_scene`.
    """
    environment = Environment.from_scene(scene, content.source if name is None else name)
    environment.priority = 'nested' if content.priority == 'nested' else 'strict'
    for frame in content.frames:
        _add_frame(environment, frame)
    for joint in content.joints:
        _set_joint(environment, joint)
    for entry in content.task_sets:
        try:
            task_set = environment.add_task_set(entry.name, **entry.settings)
        except SsikError as error:
            refuse(entry.place, f'task set {quote(entry.name)}: {error}')
        for task in entry.tasks:
            _add_task(environment, task_set, task)
        if not task_set.joints:
            refuse(entry.place, f'task set {quote(entry.name)} moves no joint')
    place_frames(environment, content)
    return environment


def place_frames(
    environment: Environment,
    content: TaskSetFile,
    where: Callable[[str], FloatArray] | None = None,
    left_out: Iterable[str] = (),
) -> None:
    """
    Move the frames of a file that have ``at`` or ``follow`` to the present poses of the frames that these keys name.

    :param environment: made by :func:`build_environment`, or a copy; its frames are moved.
    :param content: content of the file.
    :param where: returns the pose (4, 4) in the world of a frame named by ``follow``; None leaves such frames as they
        are.
    :param left_out: names of frames that are not moved.
    :raises InvalidTarget: if ``where`` returns a pose that is not a finite rigid transform.
    """
    names = frozenset(left_out)
    for frame in content.frames:
        if frame.name in names:
            continue
        if frame.at is not None:
            environment[frame.name].set_pose(environment[frame.at].matrix())
        elif frame.follow is not None and where is not None:
            environment[frame.name].set_pose(where(frame.follow))


def frames_in_use(task_sets: Iterable[TaskSet]) -> set[str]:
    """Return the names of the tips, targets and bases of some task sets, and of all objects that carry these."""
    used: set[str] = set()
    for task_set in task_sets:
        for task in task_set.tasks:
            for end in (task.tip, task.target, task.base, task.constraint_base):
                used |= set() if end is None else {item.name for item in end.ancestors()}
    return used


def _find(environment: Environment, name: str, place: str, what: str) -> IkObject:
    """
    Return an object by its name in a file; raise ConfigError with the line for an unknown name.

    ``place`` is the file and line, ``what`` the role of the object, for the message.
    """
    if name not in environment:
        hint = describe_choices(name, environment.objects)
        refuse(place, f'the {what} {quote(name)} is no frame of the robot or of the file', hint)
    return environment[name]


def _find_dummy(environment: Environment, name: str, place: str, what: str) -> Dummy:
    """
    Return a link or frame of the environment by the name in a file; raise ConfigError for a joint or an unknown name.

    ``place`` is the file and line, ``what`` the role of the frame, for the message.
    """
    item = _find(environment, name, place, what)
    if not isinstance(item, Dummy):
        refuse(place, f'the {what} {quote(name)} is a joint; links and frames can be that')
    return item


def _add_frame(environment: Environment, frame: FileFrame) -> None:
    """
    Add a frame of the file to the environment, at its pose in its parent.

    :raises ConfigError: if the name is taken, if its parent or the frame named by ``at`` does not exist yet, or if
        ``at`` names a joint.
    """
    if frame.name in environment:
        refuse(frame.place, f'the robot has a link or joint {quote(frame.name)} already')
    parent = None
    if frame.parent is not None:
        parent = _find(environment, frame.parent, frame.place, f'parent of {quote(frame.name)},')
    if frame.at is not None:
        _find_dummy(environment, frame.at, frame.place, f'place of {quote(frame.name)},')
    environment.add_dummy(frame.name, parent, frame.pose)


def _set_joint(environment: Environment, entry: FileEntry) -> None:
    """Write the settings of a joint in the file; raise ConfigError if they do not fit the robot."""
    item = environment.objects.get(entry.name)
    if not isinstance(item, IkJoint):
        hint = describe_choices(entry.name, environment.joint_names)
        refuse(entry.place, f'{quote(entry.name)} is no joint of the robot', hint)
    for key, value in entry.settings.items():
        if key == 'limits':
            _require_limits(item, value, entry.place)
        try:
            setattr(item, key, value)
        except (SsikError, ConfigError) as error:
            refuse(entry.place, f'joint {quote(entry.name)}: {error}')


def _require_limits(joint: IkJoint, limits: tuple[float, float], place: str) -> None:
    """
    Raise ConfigError for limits [rad or m] in a file that a joint cannot get.

    They must be within the limits of the robot; a cyclic joint may get any. Spherical and dependent joints have none.

    :param place: file and line of the joint, for the message.
    """
    if joint.kind == JointType.SPHERICAL or joint.dependency is not None:
        refuse(place, f'joint {quote(joint.name)} has no limits of its own')
    (lower, upper), (low, high) = limits, joint.limits
    if not joint.cyclic and not (low <= lower and upper <= high):
        text = f'limits of joint {quote(joint.name)}, [{lower:g}, {upper:g}], may only be narrower'
        refuse(place, f'{text} than those of the robot, [{low:g}, {high:g}]')


def _add_task(environment: Environment, task_set: TaskSet, entry: FileEntry) -> None:
    """Add a task of the file to a task set; raise ConfigError if its frames do not fit."""
    given = entry.settings
    tip, target = given['tip'], given.get('target')
    dummy = _find_dummy(environment, tip, entry.place, 'tip')
    if target is not None:
        goal = _find_dummy(environment, target, entry.place, 'target')
        if goal is dummy:
            refuse(entry.place, f'the tip {quote(tip)} is its own target')
        if dummy.target is not None and dummy.target is not goal:
            before = dummy.target.name
            refuse(
                entry.place,
                f'the tip {quote(tip)} has the target {quote(before)} in another task, and {quote(target)} here',
                'A frame whose parent is the tip can be a second tip.',
            )
    for key in ('base', 'constraint_base'):
        if key in given:
            _find(environment, given[key], entry.place, key.replace('_', ' '))
    base = given.get('base')
    if base is not None and environment[base] not in list(dummy.ancestors()):
        refuse(entry.place, f'the base {quote(base)} does not carry the tip {quote(tip)}')
    try:
        task_set.add_task(**{**given, 'tip': dummy})
    except SsikError as error:
        refuse(entry.place, str(error))
