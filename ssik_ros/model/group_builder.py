"""Build planning groups from joints, links, chains and subgroups, with MoveIt's rules."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
import itertools

import numpy as np

from ssik_ros.arrays import IntArray
from ssik_ros.errors import ModelError, quote
from ssik_ros.model.joint_group import JointGroup, name_variables
from ssik_ros.model.kinematic_tree import JointKind, KinematicTree, POSITION_SIZE
from ssik_ros.model.srdf import EndEffector, Srdf, SrdfGroup
from ssik_ros.model.urdf.data import Urdf, UrdfJoint


class GroupBuilder:
    """Builds the planning groups of one robot: all groups of its SRDF, or the group of the joints between two links."""

    def __init__(self, urdf: Urdf, tree: KinematicTree) -> None:
        """
        Store the joint above each link, and the model order of all joints.

        :param urdf: the checked description.
        :param tree: its kinematic tree.
        """
        self.urdf = urdf
        self.tree = tree
        order = urdf.depth_first()
        self.above: dict[str, UrdfJoint] = {joint.child: joint for joint in order}
        self.joint_order = {joint.name: i for i, joint in enumerate(order)}

    def build_all(self, srdf: Srdf) -> dict[str, JointGroup]:
        """
        Return the groups of a semantic description, by name in its order.

        :param srdf: the checked semantic description.
        """
        joints: dict[str, set[str]] = {}
        links: dict[str, set[str]] = {}
        groups: dict[str, JointGroup] = {}
        for group in srdf.groups:
            joints[group.name] = self.collect_joints(group, joints)
            links[group.name] = self.collect_root(group, srdf, links)
            groups[group.name] = self.build(
                group.name, joints[group.name], links[group.name], group.subgroups
            )
        return self.with_end_effector_tips(groups, srdf.end_effectors)

    def collect_joints(self, group: SrdfGroup, of_groups: Mapping[str, set[str]]) -> set[str]:
        """
        Return the names of all joints that an SRDF group element describes, fixed joints included.

        A link adds the joint above it, a chain all its joints, a subgroup the joints of that group. Unknown joints,
        links and subgroups are ignored.

        :param group: the group element; the links of its chains must exist.
        :param of_groups: joints of earlier groups, by the name of the group; subgroups are looked up there.
        """
        joints = {name for name in group.joints if name in self.joint_order}
        joints |= {self.above[link].name for link in group.links if link in self.above}
        for base, tip in group.chains:
            joints.update(self.chain(base, tip)[0])
        for subgroup in group.subgroups:
            joints |= of_groups.get(subgroup, set())
        return joints

    def collect_root(
        self, group: SrdfGroup, srdf: Srdf, of_groups: Mapping[str, set[str]]
    ) -> set[str]:
        """
        Return a set with the root link if a group contains it; an empty set otherwise.

        A group contains the root link if it names this link, or the virtual joint above it. So does a group with a
        chain that goes up to the root link and down again. A group also contains it if one of its subgroups does.

        :param group: the group element of the SRDF.
        :param srdf: the semantic description.
        :param of_groups: results of this method for earlier groups, by the name of the group.
        """
        others = set(group.joints) - self.joint_order.keys()
        named = self.urdf.root in group.links or any(
            joint.name in others for joint in srdf.virtual_joints if others
        )
        turned = any(self.chain(base, tip)[1] for base, tip in group.chains)
        inherited = any(of_groups.get(subgroup) for subgroup in group.subgroups)
        return {self.urdf.root} if named or turned or inherited else set()

    def chain(self, base: str, tip: str) -> tuple[list[str], bool]:
        """
        Return the names of the joints of an SRDF chain, in no fixed order, and whether the root link belongs to it.

        The chain may go up from the base to a common link and down again to the tip. As in MoveIt, the joint above the
        common link then belongs to the chain; if the common link is the root, the root link does.

        :param base: first link; it must exist.
        :param tip: last link; it must exist.
        """
        up_from_tip = self.joints_above(tip, stop=base)
        names = [joint.name for joint in up_from_tip]
        if tip == base or (up_from_tip and up_from_tip[-1].parent == base):
            return names, False
        from_base: list[str] = []
        for joint in self.joints_above(base):
            if joint.name in names:
                return from_base + names[: names.index(joint.name) + 1], False
            from_base.append(joint.name)
        return from_base + names, True

    def joints_above(self, link: str, stop: str = '') -> list[UrdfJoint]:
        """
        Return the joints from a link upwards, the nearest first.

        :param link: the link to start from.
        :param stop: the link to stop at; if it is not met, all joints up to the root are returned.
        """
        joints: list[UrdfJoint] = []
        while link != stop and link in self.above:
            joints.append(self.above[link])
            link = joints[-1].parent
        return joints

    def build(
        self,
        name: str,
        joints: Iterable[str],
        links: Iterable[str] = (),
        subgroups: tuple[str, ...] = (),
    ) -> JointGroup:
        """
        Return the planning group of some joints.

        :param name: the group's name.
        :param joints: names of its joints, in any order, fixed ones included.
        :param links: the root link, if it belongs to the group.
        :param subgroups: names of the groups it contains.
        """
        ordered = sorted(joints, key=self.joint_order.__getitem__)
        link_names = (*links, *(self.urdf.joints[joint].child for joint in ordered))
        moving = [self.tree.joint_index[joint] for joint in ordered if self.moves(joint)]
        active = [joint for joint in moving if self.tree.leaders[joint] < 0]
        following = [joint for joint in moving if self.tree.leaders[joint] >= 0]
        idx_q = self.variables(active)
        return JointGroup(
            name=name,
            joint_names=tuple(self.tree.joint_names[joint] for joint in active),
            mimic_joint_names=tuple(self.tree.joint_names[joint] for joint in following),
            all_joint_names=tuple(ordered),
            link_names=link_names,
            base_link=self.parent_link(link_names[0]) if link_names else self.urdf.root,
            tips=self.find_tips(link_names) if active else link_names[-1:],
            is_chain=bool(active) and self.is_chain(moving),
            subgroups=subgroups,
            joint_indices=np.array(active, dtype=np.int64),
            idx_q=idx_q,
            variable_names=name_variables(self.tree, active),
            lower=self.tree.lower[idx_q],
            upper=self.tree.upper[idx_q],
        )

    def moves(self, joint: str) -> bool:
        """
        Return whether a joint is not fixed.

        :param joint: its name.
        """
        return joint in self.tree.joint_index

    def parent_link(self, link: str) -> str:
        """
        Return the link above a link; for the root link, the root link itself.

        :param link: its name.
        """
        return self.above[link].parent if link in self.above else link

    def variables(self, joints: Iterable[int]) -> IntArray:
        """
        Return the indices (n,) of the position variables of some joints in a full state.

        :param joints: indices of moving joints.
        """
        tree = self.tree
        return np.array(
            [
                tree.idx_q[joint] + i
                for joint in joints
                for i in range(POSITION_SIZE[JointKind(tree.kinds[joint])])
            ],
            dtype=np.int64,
        )

    def is_chain(self, joints: list[int]) -> bool:
        """
        Return whether each moving joint is the nearest moving joint below the one before it.

        :param joints: indices in model order.
        """
        parents = self.tree.parents
        return all(parents[joint] == before for before, joint in itertools.pairwise(joints))

    def find_tips(self, links: tuple[str, ...]) -> tuple[str, ...]:
        """
        Return the tip links of a group, one for each branch: the last link on the last moving joint of the branch.

        Links that are rigidly connected count as one body, which has one tip.

        :param links: the group's links in model order.
        """
        tree = self.tree
        last = {int(tree.link_joints[tree.link_index[link]]): link for link in self.leaves(links)}
        inner: set[int] = set()
        for body in last:
            while body >= 0:
                body = int(tree.parents[body])
                if body in inner:
                    break
                inner.add(body)
        return tuple(link for body, link in last.items() if body not in inner)

    def leaves(self, links: tuple[str, ...]) -> tuple[str, ...]:
        """
        Return the given links that are the lowest on their branch: no other given link is below them.

        :param links: names of links.
        """
        inner: set[str] = set()
        for link in links:
            while link in self.above and self.above[link].parent not in inner:
                link = self.above[link].parent
                inner.add(link)
        return tuple(link for link in links if link not in inner)

    def with_end_effector_tips(
        self, groups: dict[str, JointGroup], end_effectors: Iterable[EndEffector]
    ) -> dict[str, JointGroup]:
        """
        Return the groups by name, with tips on end effectors replaced by the links on which these are mounted.

        :param groups: all groups by name.
        :param end_effectors: the end effectors of the semantic description.
        """
        effectors = [effector for effector in end_effectors if effector.group in groups]
        links = {e.group: frozenset(groups[e.group].link_names) for e in effectors}
        return {name: self.cut_tips(group, links, effectors) for name, group in groups.items()}

    def cut_tips(
        self,
        group: JointGroup,
        links: Mapping[str, frozenset[str]],
        effectors: Iterable[EndEffector],
    ) -> JointGroup:
        """
        Return a group without tips on end effectors: the link that an end effector is mounted on replaces them.

        A chain is returned unchanged. So is a group that does not contain the link on which the end effector is
        mounted.

        :param group: the group.
        :param links: the links of each end effector's group, by the name of that group.
        :param effectors: the end effectors.
        """
        if group.is_chain:
            return group
        tips, mounts = group.tips, frozenset(group.link_names)
        for effector in effectors:
            effector_links = links[effector.group]
            if effector.parent_link not in mounts or effector_links.isdisjoint(tips):
                continue
            mounted = [effector.parent_link if tip in effector_links else tip for tip in tips]
            tips = tuple(dict.fromkeys(mounted))
        return group if tips == group.tips else replace(group, tips=tips)

    def between(self, base: str, tip: str, name: str) -> JointGroup:
        """
        Return the group of all joints from one link down to another.

        :param base: the link to start from.
        :param tip: a link below it.
        :param name: the group's name.
        :raises FrameNotFound: when a link does not exist.
        :raises ModelError: if the tip is not below the base, or if no joint moves between them.
        """
        self.tree.link(base)
        self.tree.link(tip)
        joints = self.joints_above(tip, stop=base)
        if base != tip and (not joints or joints[-1].parent != base):
            swapped = any(joint.parent == tip for joint in self.joints_above(base))
            hint = ' The tip lies above the base: were they swapped?' if swapped else ''
            raise ModelError(
                f'Link {quote(tip)} is not below link {quote(base)}, so there is no chain from base to '
                f'tip.{hint}',
                base=base,
                tip=tip,
            )
        if not any(self.moves(joint.name) for joint in joints):
            raise ModelError(
                f'No joint moves between {quote(base)} and {quote(tip)}.', base=base, tip=tip
            )
        return self.build(name, [joint.name for joint in joints])
