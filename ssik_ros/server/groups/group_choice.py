"""Choose the planning groups that a node serves: groups of the SRDF or, if it has none, one group between two links."""

from collections.abc import Sequence
import logging

from ssik_ros.errors import list_names, ModelError, quote
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel

_LOGGER = logging.getLogger('ssik_ros.server')


def choose_groups(
    robot: RobotModel, names: Sequence[str], *, base: str = '', tip: str = '', name: str = ''
) -> tuple[JointGroup, ...]:
    """
    Return the groups to serve.

    If the robot has groups, ``base``, ``tip`` and ``name`` are not used. Otherwise one group is made from them, and
    ``names`` are not used. Base, tip and names that are not used are logged as warnings.

    :param robot: the robot.
    :param names: groups of the semantic description; none means all of them.
    :param base: base link of the group that is made; empty means the root link.
    :param tip: tip link of this group; empty means the last link, if the robot has one branch.
    :param name: name of this group.
    :raises GroupNotFound: when a named group does not exist.
    :raises ModelError: when a link does not exist, the tip is not clear or not below the base, or nothing moves between
        base and tip.
    """
    if robot.groups:
        if base or tip:
            _LOGGER.warning(
                'base_link and tip_link are not used: the semantic description has groups.'
            )
        return tuple(robot.group(chosen) for chosen in names or robot.groups)
    group = robot.group_from_links(base or robot.tree.root_link, tip or find_only_tip(robot), name)
    for wanted in names:
        if wanted != group.name:
            _LOGGER.warning("There is no SRDF that has the group '%s'.", wanted)
    return (group,)


def find_only_tip(robot: RobotModel) -> str:
    """
    Return the name of the last link of a robot whose moving joints form one branch.

    If several links are fixed to the last joint, return the first of them.

    :param robot: the robot.
    :raises ModelError: when there are several branches, or no joint moves a link; the text names the ends of the
        branches.
    """
    tree = robot.tree
    parents = {joint.parent for joint in robot.urdf.joints.values()}
    last = set(range(len(tree.joint_names))) - set(tree.parents.tolist())
    ends: dict[int, str] = {}
    for index, link in enumerate(tree.link_names):
        if link not in parents and tree.link_joints[index] in last:
            ends.setdefault(int(tree.link_joints[index]), link)
    if len(ends) == 1:
        return next(iter(ends.values()))
    tips_text = list_names(ends.values()) or 'none that a joint moves'
    raise ModelError(
        f'Robot {quote(robot.name)} has no SRDF and no single last link ({tips_text}): name base_link and '
        'tip_link, or give an SRDF.',
        ends=tuple(ends.values()),
    )
