"""Check that joints of a URDF form one tree, find its root link, and release mimic joints without a usable leader."""

from dataclasses import replace

from ssik_ros.errors import describe_choices, list_names, ModelError, quote
from ssik_ros.model.urdf.data import SCALAR_TYPES, UrdfJoint
from ssik_ros.model.urdf.notes import FileNotes
from ssik_ros.model.urdf.xml_document import XmlElement


def check_ends(joints: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> None:
    """Raise ModelError if a joint names a link that does not exist, or if two joints have the same child link."""
    above: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in links:
                raise ModelError(
                    f'The {end} link {quote(link)} of joint {quote(joint.name)} (line {joint.line}) does '
                    f'not exist. {describe_choices(link, links)}',
                    joint=joint.name,
                    line=joint.line,
                )
        if joint.child in above:
            raise ModelError(
                f'Link {quote(joint.child)} is the child of two joints, {quote(above[joint.child].name)} '
                f'and {quote(joint.name)} (line {joint.line}); a kinematic loop is not written as a '
                'second parent but as a loop closure.',
                link=joint.child,
                line=joint.line,
            )
        above[joint.child] = joint


def find_root(joints: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> str:
    """Return the only link without a parent; raise ModelError for zero or several such links, and for separate cycles."""
    children = {joint.child: joint for joint in joints.values()}
    roots = [link for link in links if link not in children]
    if len(roots) > 1:
        raise ModelError(
            f'The robot description has {len(roots)} root links, so it is not one tree: '
            + ', '.join(f'{quote(root)} (line {links[root].line})' for root in roots[:10])
            + '.',
            roots=tuple(roots),
        )
    cycle = _find_cycle(children, links)
    if cycle:
        names = list_names((joint.name for joint in cycle), ' -> ')
        raise ModelError(
            f'The joints {names} form a cycle (line {cycle[0].line}); a kinematic loop is '
            'written as a loop closure.',
            joints=tuple(joint.name for joint in cycle),
            line=cycle[0].line,
        )
    return roots[0]


def _find_cycle(children: dict[str, UrdfJoint], links: dict[str, XmlElement]) -> list[UrdfJoint]:
    """
    Return the joints of a cycle in order from parent to child; empty without a cycle.

    :param children: the joint above each link, by the name of the link.
    """
    clear: set[str] = set()
    for start in links:
        path: dict[str, UrdfJoint] = {}
        link = start
        while link in children and link not in clear and link not in path:
            path[link] = children[link]
            link = children[link].parent
        if link in path:
            names = list(path)
            return [path[name] for name in names[names.index(link) :]][::-1]
        clear.update(path)
    return []


def release_mimic(joints: dict[str, UrdfJoint], notes: FileNotes) -> None:
    """
    Let mimic joints without a leader move on their own, in place, as MoveIt does.

    :param joints: all joints by name.
    :param notes: gets a warning for each joint that is released.
    """
    clear: set[str] = set()
    for name in joints:
        # The joints from follower to leader; each joint is visited once in total.
        seen: dict[str, None] = {name: None}
        joint = joints[name]
        while joint.mimic is not None and joint.name not in clear:
            leader = joints.get(joint.mimic.joint)
            fault = ''
            if leader is None or leader.type not in SCALAR_TYPES:
                scalar = [other.name for other in joints.values() if other.type in SCALAR_TYPES]
                fault = (
                    f'mimics {quote(joint.mimic.joint)}, which is not a joint with one degree of freedom. '
                    + describe_choices(joint.mimic.joint, scalar)
                )
            elif leader.name in seen:
                ring = list_names([*seen, leader.name], ' -> ')
                fault = f'mimics a joint that follows it: {ring}.'
            if leader is None or fault:
                notes.add(
                    joint.line,
                    f'Joint {quote(joint.name)} is read without its <mimic>: it {fault}',
                )
                joints[joint.name] = replace(joint, mimic=None)
                break
            seen[leader.name] = None
            joint = leader
        clear.update(seen)
