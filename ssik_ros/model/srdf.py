"""The semantic description (SRDF) as data, checked against the robot it describes."""

from collections.abc import Collection

from ssik_ros.errors import describe_choices, list_names, ModelError, quote
from ssik_ros.model.urdf.data import Urdf
from ssik_ros.model.urdf.xml_document import by_name, parse_xml, XmlElement
from ssik_ros.value_class import dataclass

MOST_GROUPS = 500
"""Groups, and end effectors, of one semantic description: each may hold all joints of a robot."""
VIRTUAL_JOINT_TYPES = ('fixed', 'floating', 'planar')


@dataclass(frozen=True, slots=True)
class SrdfGroup:
    """What a group element names; its joints follow from all of it together."""

    name: str
    joints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    chains: tuple[tuple[str, str], ...] = ()
    """(base link, tip link) pairs."""
    subgroups: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class GroupState:
    """A named posture of a group."""

    name: str
    group: str
    values: dict[str, tuple[float, ...]]
    """Variables by joint [rad or m]."""


@dataclass(frozen=True, slots=True)
class EndEffector:
    """A group of joints that is mounted on a link of another group."""

    name: str
    group: str
    parent_link: str
    parent_group: str
    """Empty when the file does not say."""


@dataclass(frozen=True, slots=True)
class VirtualJoint:
    """The joint between a frame outside the robot and its root."""

    name: str
    type: str
    """fixed, floating or planar."""
    parent_frame: str
    child_link: str
    attached: bool
    """Whether the child link is the root; MoveIt leaves out a joint to any other link."""


@dataclass(frozen=True, slots=True)
class LinkPair:
    """Two links whose collisions are switched off (or on again), and why."""

    link1: str
    link2: str
    reason: str


@dataclass(frozen=True, slots=True)
class Srdf:
    """One semantic description; empty when the robot has none."""

    name: str = ''
    xml: str = ''
    groups: tuple[SrdfGroup, ...] = ()
    """Subgroups before the groups that use them, otherwise in document order."""
    states: tuple[GroupState, ...] = ()
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    disabled_collisions: tuple[LinkPair, ...] = ()
    enabled_collisions: tuple[LinkPair, ...] = ()
    no_default_collisions: tuple[str, ...] = ()
    """Links that collide only with links of ``enabled_collisions``."""
    warnings: tuple[str, ...] = ()


def parse_srdf(text: str, urdf: Urdf) -> Srdf:
    """
    Return a semantic description as checked data.

    :param text: SRDF text.
    :param urdf: the robot it describes.
    :raises ModelError: for every name that does not exist, with the nearest one that does.
    """
    most = dict.fromkeys(('group', 'end_effector'), MOST_GROUPS)
    document = parse_xml(text, 'semantic description', most)
    return _SrdfReader(document, urdf).read(text)


class _SrdfReader:
    """Reads one document against one robot."""

    def __init__(self, document: XmlElement, urdf: Urdf) -> None:
        """Read the virtual joints first, since groups may name them."""
        self.document = document
        self.urdf = urdf
        self.warnings: list[str] = []
        self.links = frozenset(urdf.links)
        self.virtual_joints = tuple(
            self.virtual_joint(element) for element in document.find_all('virtual_joint')
        )
        self.joints = {*urdf.joints, *(joint.name for joint in self.virtual_joints)}
        self.group_names = {element.get('name') for element in document.find_all('group')}

    def read(self, text: str) -> Srdf:
        """Return the description."""
        document = self.document
        if document.get('name') != self.urdf.name:
            self.warnings.append(
                f'The semantic description is of robot {quote(document.get("name"))}, not of '
                f'{quote(self.urdf.name)}.'
            )
        return Srdf(
            name=document.get('name'),
            xml=text,
            groups=self.groups(),
            states=tuple(self.state(e) for e in document.find_all('group_state')),
            end_effectors=tuple(self.end_effector(e) for e in document.find_all('end_effector')),
            virtual_joints=self.virtual_joints,
            passive_joints=self.passive_joints(),
            disabled_collisions=self.link_pairs('disable_collisions'),
            enabled_collisions=self.link_pairs('enable_collisions'),
            no_default_collisions=tuple(
                self.link(e, 'link') for e in document.find_all('disable_default_collisions')
            ),
            warnings=tuple(self.warnings),
        )

    def link(self, element: XmlElement, attribute: str) -> str:
        """Return the link that an attribute names."""
        return _known(element, attribute, self.links, 'link')

    def joint(self, element: XmlElement, attribute: str = 'name') -> str:
        """Return the joint that an attribute names."""
        return _known(element, attribute, self.joints, 'joint')

    def group(self, element: XmlElement, attribute: str) -> str:
        """Return the group that an attribute names."""
        return _known(element, attribute, self.group_names, 'group')

    def groups(self) -> tuple[SrdfGroup, ...]:
        """Return the groups so that each comes after its subgroups."""
        parsed = (
            (element, self.one_group(element)) for element in self.document.find_all('group')
        )
        found = by_name(((element, group.name, group) for element, group in parsed), 'Group')
        ordered: dict[str, SrdfGroup] = {}
        for name in found:
            _order_groups(name, found, ordered, ())
        return tuple(group for group in ordered.values() if self.is_filled(group))

    def is_filled(self, group: SrdfGroup) -> bool:
        """Return whether a group names anything; MoveIt leaves out one that does not."""
        filled = bool(group.joints or group.links or group.chains or group.subgroups)
        if not filled:
            self.warnings.append(f'Group {quote(group.name)} (line {group.line}) is empty.')
        return filled

    def one_group(self, element: XmlElement) -> SrdfGroup:
        """Return one group element."""
        return SrdfGroup(
            name=element.require('name'),
            joints=tuple(self.joint(child) for child in element.find_all('joint')),
            links=tuple(self.link(child, 'name') for child in element.find_all('link')),
            chains=tuple(
                (self.link(child, 'base_link'), self.link(child, 'tip_link'))
                for child in element.find_all('chain')
            ),
            subgroups=tuple(self.group(child, 'name') for child in element.find_all('group')),
            line=element.line,
        )

    def state(self, element: XmlElement) -> GroupState:
        """Return one named posture."""
        values: dict[str, tuple[float, ...]] = {}
        for child in element.find_all('joint'):
            words = child.require('value').split()
            values[self.joint(child)] = child.vector('value', (0.0,) * len(words))
        return GroupState(element.require('name'), self.group(element, 'group'), values)

    def end_effector(self, element: XmlElement) -> EndEffector:
        """Return one end effector."""
        return EndEffector(
            name=element.require('name'),
            group=self.group(element, 'group'),
            parent_link=self.link(element, 'parent_link'),
            parent_group=self.group(element, 'parent_group')
            if element.get('parent_group')
            else '',
        )

    def virtual_joint(self, element: XmlElement) -> VirtualJoint:
        """Return one virtual joint."""
        name = element.require('name')
        kind = element.require('type')
        if kind not in VIRTUAL_JOINT_TYPES:
            element.fail(
                f'Virtual joint {quote(name)} has the unknown type {quote(kind)}',
                describe_choices(kind, VIRTUAL_JOINT_TYPES),
            )
        child = self.link(element, 'child_link')
        if child != self.urdf.root:
            self.warnings.append(
                f'Virtual joint {quote(name)} (line {element.line}) is left out: its child link '
                f'{quote(child)} is not the root link {quote(self.urdf.root)}.'
            )
        return VirtualJoint(
            name, kind, element.require('parent_frame'), child, child == self.urdf.root
        )

    def passive_joints(self) -> tuple[str, ...]:
        """Return the passive joints; some files write them inside a group."""
        elements = (e for e in self.document.walk() if e.tag == 'passive_joint')
        return tuple(dict.fromkeys(self.joint(element) for element in elements))

    def link_pairs(self, tag: str) -> tuple[LinkPair, ...]:
        """Return the pairs of a collision element; a link that is gone cannot collide."""
        pairs = []
        for element in self.document.find_all(tag):
            pair = LinkPair(
                element.require('link1'), element.require('link2'), element.get('reason')
            )
            unknown = [link for link in (pair.link1, pair.link2) if link not in self.links]
            if unknown:
                self.warnings.append(
                    f'<{tag}> in line {element.line} names the unknown link {quote(unknown[0])}.'
                )
            else:
                pairs.append(pair)
        return tuple(pairs)


def _known(element: XmlElement, attribute: str, known: Collection[str], what: str) -> str:
    """Return a name that must be one of the known ones."""
    name = element.require(attribute)
    if name not in known:
        element.fail(
            f'<{element.tag}> names the unknown {what} {quote(name)}',
            describe_choices(name, known),
        )
    return name


def _order_groups(
    name: str,
    groups: dict[str, SrdfGroup],
    ordered: dict[str, SrdfGroup],
    above: tuple[str, ...],
) -> None:
    """Append a group after its subgroups; raise for a group that contains itself."""
    if name in above:
        cycle = list_names([*above[above.index(name) :], name], ' -> ')
        raise ModelError(
            f'Groups contain each other: {cycle} (line {groups[name].line}).',
            groups=above,
            line=groups[name].line,
        )
    if name in ordered:
        return
    for subgroup in groups[name].subgroups:
        _order_groups(subgroup, groups, ordered, (*above, name))
    ordered[name] = groups[name]
