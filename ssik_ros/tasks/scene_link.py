"""
Exchange between environments and scenes: copy frames and joints from a scene, and poses of targets.

Joint values are copied in both directions.
"""

from __future__ import annotations

from typing import Any

from ssik_ros.arguments import check_kind, refuse
from ssik_ros.errors import FrameNotFound, InvalidOption, quote, RequestError
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.joints import IkJoint
from ssik_ros.tasks.scene import LinkedTask, Scene, SceneItem, SceneMaps
from ssik_ros.tasks.task_set import Task, TaskSetData
from ssik_ros.tasks.world import TaskWorld


def maps_of(environment: TaskWorld, scene: Scene) -> SceneMaps:
    """
    Return the record of the frames that an environment has copied from a scene.

    The first call for a scene stores an empty record in the environment.
    """
    return environment.scene_maps.setdefault(id(scene), SceneMaps(scene))


class Copier:
    """Copies frames of a scene into an environment; a frame that was copied from this scene is not copied again."""

    def __init__(self, environment: TaskWorld, scene: Scene) -> None:
        """
        Read structure and joint values of the scene, and forget copies that were erased from the environment.

        :raises InvalidOption: if ``scene`` lacks a method of :class:`Scene`.
        """
        for method in ('structure', 'joint_positions', 'pose', 'apply'):
            if not callable(getattr(scene, method, None)):
                refuse('scene', scene, 'a scene such as RobotScene')
        self.environment = environment
        self.maps = maps_of(environment, scene)
        self.items = {item.name: item for item in scene.structure()}
        self.positions = scene.joint_positions()
        present = {item.handle for item in environment.slots}
        self.maps.to_ik = {n: h for n, h in self.maps.to_ik.items() if h in present}

    def item(self, name: str) -> SceneItem:
        """Return an item of the scene by its name; raise FrameNotFound for an unknown name."""
        if not isinstance(name, str) or name not in self.items:
            raise FrameNotFound.unknown(f'The scene has no frame {quote(name)}', name, self.items)
        return self.items[name]

    def line(self, name: str) -> list[SceneItem]:
        """Return a frame of the scene and all frames that carry it, the outermost first."""
        line = [self.item(name)]
        while line[-1].parent is not None:
            line.append(self.item(line[-1].parent))
        return line[::-1]

    def copy(self, name: str) -> int:
        """
        Copy a frame of the scene and all frames that carry it, as far as they are missing.

        Return the handle of its copy.
        """
        for item in self.line(name):
            if item.name not in self.maps.to_ik:
                self.maps.to_ik[item.name] = self._add(item)
        return self.maps.to_ik[name]

    def _add(self, item: SceneItem) -> int:
        """
        Add a copy of a frame, whose parent is copied already, to the environment; return the handle of the copy.

        If the name is taken, ``#`` and a number are appended.
        """
        parent = None if item.parent is None else self.maps.to_ik[item.parent]
        name, number = item.name, 1
        while name in self.environment:
            name, number = f'{item.name}#{number}', number + 1
        if item.joint is None:
            made = self.environment.add_dummy(name, parent)
            made.place(item.pose, made.parent)
            return made.handle
        joint = self.environment.add_joint(item.joint, name, parent)
        joint.place(item.pose, joint.parent)
        if item.screw_lead != 0.0:
            joint.screw_lead = item.screw_lead
        if item.limits is not None:
            joint.limits = item.limits
        joint.passive = item.passive
        write_value(joint, self.positions[item.name])
        return joint.handle

    def add_dependencies(self) -> tuple[str, ...]:
        """
        Copy all joints of the scene that follow other joints, with their masters.

        Let the copies follow in the same way, unless they follow a joint already.

        :returns: the names of these joints and masters in the scene.
        :raises FrameNotFound: for a master that the scene does not have.
        :raises UnsupportedJoint, InvalidOption: as :meth:`IkJoint.depend_on`, for a joint of the scene.
        """
        names = []
        for item in self.items.values():
            if item.joint is None or item.master is None:
                continue
            joint = self.environment.joint(self.copy(item.name))
            master = self.copy(item.master)
            names += [item.name, item.master]
            if joint.dependency is None:
                joint.depend_on(master, item.multiplier, item.offset)
        return tuple(dict.fromkeys(names))

    def add_task(
        self,
        task_set: TaskSetData,
        base: str | None,
        tip: str,
        target: str,
        constraints: int,
    ) -> tuple[Task, SceneMaps]:
        """
        Copy tip, target and the frames that carry them, and add a task that moves the tip to the target.

        All joints of the scene that follow other joints are copied, too, with their masters.

        :param task_set: task set of the environment that gets the task.
        :param base: frame of the scene where the chain begins; None for the world.
        :param tip, target: names of frames of the scene that are not joints.
        :param constraints: bits of :class:`Constraint`: the coordinates that must agree.
        :returns: the task, and the record of all copies: names in the scene and handles in the environment.
        :raises FrameNotFound: for a name that the scene does not have.
        :raises InvalidOption: if tip or target is a joint, if the base does not carry the tip, or for other bits.
        """
        for name in (tip, target):
            if self.item(name).joint is not None:
                raise InvalidOption(f'{quote(name)} is a joint; tip and target are other frames.')
        if base is not None and check_kind('base', base, str, 'the name of a frame') not in [
            item.name for item in self.line(tip)
        ]:
            raise InvalidOption(f'{quote(base)} does not carry {quote(tip)} in the scene.')
        tip_handle, goal = self.copy(tip), self.copy(target)
        dependent = self.add_dependencies()
        handle = None if base is None else self.maps.to_ik[base]
        self.environment.dummy(tip_handle).target = goal
        task = task_set.add_task(tip_handle, base=handle, constraints=constraints)
        lines = [*self.line(tip), *self.line(target)]
        joints = [item.name for item in lines if item.joint is not None]
        names = tuple(dict.fromkeys([*joints, *dependent]))
        self.maps.tasks.append(LinkedTask(task_set.handle, base, target, names))
        return task, self.maps


def write_value(joint: IkJoint, value: Any) -> None:
    """
    Set a joint of the environment to a value of a scene: a number [rad or m], or a quaternion for a spherical joint.

    A joint that depends on another joint is left as it is.
    """
    if joint.kind == JointType.SPHERICAL:
        joint.rotation = value
    elif joint.dependency is None:
        joint.position = value


def copy_all(environment: TaskWorld, scene: Scene) -> None:
    """
    Copy all frames of a scene into an environment, and let its dependent joints follow their masters there, too.

    :raises InvalidOption: as :class:`Copier`.
    :raises FrameNotFound, UnsupportedJoint: as :meth:`Copier.add_dependencies`.
    """
    copier = Copier(environment, scene)
    for name in copier.items:
        copier.copy(name)
    copier.add_dependencies()


def _linked(
    environment: TaskWorld, scene: Scene, task_sets: tuple[TaskSetData, ...] | None
) -> tuple[SceneMaps, list[LinkedTask], list[str]]:
    """
    Return (record of copies, tasks, names of joints in the scene) that an environment and a scene exchange.

    The tasks came from the scene and belong to the given task sets; the joints are the ones that these tasks use. With
    ``task_sets`` None, these are all tasks and joints that came from the scene. Joints that were erased since are left
    out.

    :raises RequestError: if nothing in the environment came from this scene.
    """
    if id(scene) not in environment.scene_maps:
        raise RequestError(
            f'Nothing in environment {quote(environment.name)} came from this scene.'
        )
    maps = environment.scene_maps[id(scene)]
    if task_sets is None:
        tasks = maps.tasks
        names = [item.name for item in scene.structure() if item.joint is not None]
    else:
        handles = {task_set.handle for task_set in task_sets}
        tasks = [task for task in maps.tasks if task.task_set in handles]
        names = list(dict.fromkeys(name for task in tasks for name in task.joints))
    object_handles = {item.handle for item in environment.slots}
    return maps, tasks, [name for name in names if maps.to_ik.get(name) in object_handles]


def sync_from(
    environment: TaskWorld, scene: Scene, task_sets: tuple[TaskSetData, ...] | None
) -> None:
    """
    Copy joint values, and the poses of targets relative to their bases, from a scene into an environment.

    :param task_sets: task sets whose joints and targets are read; None for everything that was copied from the scene.
    :raises FrameNotFound: if a target or base of these tasks was erased since.
    :raises RequestError: if nothing in the environment came from this scene.
    """
    maps, tasks, names = _linked(environment, scene, task_sets)
    positions = scene.joint_positions()
    for name in names:
        write_value(environment.joint(maps.to_ik[name]), positions[name])
    for task in tasks:
        target = environment[maps.to_ik[task.target]]
        base = None if task.base is None else maps.to_ik[task.base]
        target.set_pose(scene.pose(task.target, task.base), base)


def sync_to(
    environment: TaskWorld, scene: Scene, task_sets: tuple[TaskSetData, ...] | None
) -> None:
    """
    Set joints of a scene to the values that their copies have in an environment.

    :param task_sets: task sets whose joints are written; None for all joints that were copied from the scene.
    :raises RequestError: if nothing in the environment came from this scene.
    """
    maps, _, names = _linked(environment, scene, task_sets)
    joints = {name: environment.joint(maps.to_ik[name]) for name in names}
    scene.apply(
        {
            name: joint.rotation if joint.kind == JointType.SPHERICAL else joint.position
            for name, joint in joints.items()
        }
    )
