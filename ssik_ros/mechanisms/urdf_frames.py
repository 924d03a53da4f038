"""The frames of a robot: links and joints of its URDF, a joint above the root link, and a closure for each loop."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ssik_ros.errors import InvalidClosure, quote
from ssik_ros.mechanisms.frame import Link
from ssik_ros.mechanisms.free_frame import ANGLES
from ssik_ros.mechanisms.joint import Goal, Joint
from ssik_ros.mechanisms.joint_states import JointVariables
from ssik_ros.mechanisms.loop_closures import frame_pose, FREE_OF_TYPE, LoopClosure, z_to
from ssik_ros.mechanisms.names import DOF
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.model.urdf.data import MOVING_TYPES, Urdf, UrdfJoint

ROOT_NAME = '__world_joint__'
"""The ancestor's name of the joint above the root link."""


class UrdfFrames:
    """
    The frames of a robot ``model`` by name: ``links`` and ``joints`` of its URDF, and ``closures`` of its loops.

    ``root`` is one more joint above the root link. Further rigid frames without an entry turn joint axes to z, and
    place the ends of loops on links. ``variables`` maps positions of the model to the joints, after :meth:`add_tree`.
    """

    def __init__(self, model: RobotModel) -> None:
        """
        Make the root link and the joint above it.

        :param model: the robot.
        """
        self.model = model
        self.root = Joint(ROOT_NAME)
        self.links = {model.urdf.root: Link(model.urdf.root)}
        self.joints: dict[str, Joint] = {}
        self.closures: dict[str, Joint] = {}
        self.root.add_child(self.links[model.urdf.root])

    def add_tree(self, left_out: Collection[str]) -> None:
        """
        Add all joints and links of the URDF, with limits and mimic joints.

        If the axis of a joint is not z, a further link and a rigid joint are added between the joint and its link.

        :param left_out: links that are left out, with the joints above them. These joints must be fixed, and all links
            below a left-out link must be left out, too.
        :raises KeyError: if they are not.
        """
        for joint in self.model.urdf.depth_first():
            if joint.child not in left_out:
                self._add_joint(joint)
        self._limit_and_couple()

    def _add_joint(self, urdf_joint: UrdfJoint) -> None:
        """
        Add a joint of the URDF, ``urdf_joint``, and the link below it.

        The joint moves about or along its own z axis. If the axis in the URDF is not z, the joint is turned. A further
        rigid joint then turns the link back to the orientation of the URDF.
        """
        joint, link = Joint(urdf_joint.name), Link(urdf_joint.child)
        rotation = z_to(urdf_joint.axis)
        joint.set_matrix(frame_pose(urdf_joint.xyz, urdf_joint.rpy, rotation))
        if urdf_joint.type == 'floating':
            joint.set_dof(*DOF)
            joint.rotation = 'quaternion'
        else:
            joint.set_dof(*FREE_OF_TYPE[urdf_joint.type])
        self.links[urdf_joint.parent].add_child(joint)
        self.joints[joint.name], self.links[link.name] = joint, link
        if np.array_equal(rotation, np.eye(3)):
            joint.add_child(link)
            return
        axis_link, back = Link(f'{joint.name} axis'), Joint(f'{joint.name} back')
        back.set_matrix(frame_pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), rotation.T))
        joint.add_child(axis_link)
        axis_link.add_child(back)
        back.add_child(link)

    def _limit_and_couple(self) -> None:
        """
        Set the limits of all joints, and couple mimic joints with their leaders.

        The limits of a leader already keep its mimic joints within their limits.
        """
        tree = self.model.tree
        self.variables = JointVariables(self.model, self.joints)
        freedoms = {place: (joint, dof) for place, joint, dof in self.variables.scalars}
        for place, (joint, dof) in freedoms.items():
            joint.set_limits(dof, float(tree.lower[place]), float(tree.upper[place]))
        for leader, *rule, joint, dof in self.variables.followers.values():
            joint.follow(dof, *freedoms[leader], *rule)

    def close(self, closure: LoopClosure) -> None:
        """
        Add a loop as a closure joint on its parent link.

        :param closure: the loop, with names of links of the robot.
        :raises FrameNotFound: if a link does not exist.
        :raises InvalidClosure: when the name is taken.
        :raises InvalidTarget: if a pose is not a finite rigid transform.
        :raises InvalidOption: for degrees of freedom that are unknown, repeated or not ascending.
        """
        if closure.name in self.closures or closure.name in self.joints:
            text = f'Two joints or loops of robot {quote(self.model.name)} are called {quote(closure.name)}.'
            raise InvalidClosure(text, name=closure.name)
        for link in (closure.parent, closure.child):
            self.model.tree.link(link)
        joint = Joint(closure.name)
        joint.set_matrix(closure.parent_pose)
        joint.set_dof(*closure.dof)
        if set(ANGLES) <= set(closure.dof):
            joint.rotation = 'quaternion'
        self.links[closure.parent].add_child(joint)
        place = self.links[closure.child]
        if not np.array_equal(closure.child_pose, np.eye(4)):
            mount, place = Joint(f'{closure.name} mount'), Link(f'{closure.name} place')
            mount.set_matrix(closure.child_pose)
            self.links[closure.child].add_child(mount)
            mount.add_child(place)
        joint.make_closure(place)
        self.closures[closure.name] = joint


def add_goal(link: Link, name: str, dof: Sequence[DOF] = tuple(DOF)) -> tuple[Goal, Joint]:
    """
    Add a frame to a link, and return a goal for it and the rigid joint whose pose places the frame on the link.

    :param link: the link.
    :param name: the name of the goal.
    :param dof: the degrees of freedom that the goal fixes.
    :raises InvalidOption: for degrees of freedom that are unknown, repeated or not ascending.
    """
    mount, frame, goal = Joint(f'{link.name} mount'), Link(f'{link.name} frame'), Goal(name)
    link.add_child(mount)
    mount.add_child(frame)
    goal.set_goal_dof(*dof)
    goal.make_closure(frame)
    return goal, mount


def dangling_links(urdf: Urdf, kept: Iterable[str]) -> set[str]:
    """
    Return the names of links on fixed joints that carry no moving joint.

    :param urdf: the robot.
    :param kept: names of links that are not returned, nor the links that carry them.
    """
    needed = {urdf.root, *kept}
    for joint in reversed(urdf.depth_first()):
        if joint.type in MOVING_TYPES or joint.child in needed:
            needed |= {joint.parent, joint.child}
    return set(urdf.links) - needed
