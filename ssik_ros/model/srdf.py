"""
Read the semantic description (SRDF) as data, checked against the robot that it describes.

As in MoveIt, a wrong element is left out or read in another way, with a warning, and the other elements are used.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from ssik_ros.errors import describe_choices, ModelError, quote
from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.urdf.data import Urdf
from ssik_ros.model.urdf.notes import FileNotes
from ssik_ros.model.urdf.xml_document import parse_xml, XmlElement
from ssik_ros.value_class import dataclass

MOST_GROUPS = 500
"""Groups, and end effectors, of one semantic description: each may hold all joints of a robot."""
MOST_HINTS = 20
"""Warnings that propose a name that exists."""
VIRTUAL_JOINT_TYPES = ('fixed', 'floating', 'planar')


@dataclass(frozen=True, slots=True)
class SrdfGroup:
    """A ``<group>`` element: the joints, links, chains and subgroups that it names. Together they give its joints."""

    name: str
    joints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    chains: tuple[tuple[str, str], ...] = ()
    """(base link, tip link) pairs."""
    subgroups: tuple[str, ...] = ()
    line: int = 0
    """Line of the element in the file; 0 if unknown."""

    @property
    def is_empty(self) -> bool:
        """Return whether the group names no joint, link, chain or subgroup."""
        return not (self.joints or self.links or self.chains or self.subgroups)


@dataclass(frozen=True, slots=True)
class GroupState:
    """A ``<group_state>`` element: a named posture of a planning group, which may leave out joints."""

    name: str
    group: str
    values: dict[str, tuple[float, ...]]
    """Position variables by the name of the joint [rad or m]."""


@dataclass(frozen=True, slots=True)
class EndEffector:
    """An ``<end_effector>`` element: the planning group ``group``, which is mounted on the link ``parent_link``."""

    name: str
    group: str
    parent_link: str
    parent_group: str
    """Group of the arm that moves the end effector; empty if the file does not give it."""


@dataclass(frozen=True, slots=True)
class VirtualJoint:
    """A ``<virtual_joint>`` element: the joint between a frame outside the robot and a link, usually the root link."""

    name: str
    type: str
    """fixed, floating or planar."""
    parent_frame: str
    child_link: str
    attached: bool
    """Whether the child link is the root; MoveIt leaves out a joint to any other link."""


@dataclass(frozen=True, slots=True)
class LinkPair:
    """Two links whose collision check the SRDF disables or enables; ``reason`` is empty if it gives none."""

    link1: str
    link2: str
    reason: str


@dataclass(frozen=True, slots=True)
class Srdf:
    """
    The content of an SRDF as data; all fields are empty if the robot has no SRDF.

    ``xml`` is its text. ``passive_joints`` has names of joints. ``warnings`` has sentences, with file and line, about
    faults, such as elements that are left out. Pairs with unknown links share one sentence for each tag.
    """

    name: str = ''
    xml: str = ''
    groups: tuple[SrdfGroup, ...] = ()
    """Subgroups before the groups that use them: by depth of nesting, then in document order."""
    states: tuple[GroupState, ...] = ()
    """In document order; of states with the same name and group, the last one counts."""
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    disabled_collisions: tuple[LinkPair, ...] = ()
    enabled_collisions: tuple[LinkPair, ...] = ()
    no_default_collisions: tuple[str, ...] = ()
    """Links whose collisions are checked only in the pairs of ``enabled_collisions``."""
    warnings: tuple[str, ...] = ()


def parse_srdf(text: str, urdf: Urdf, source: str = 'semantic description') -> Srdf:
    """
    Return a semantic description as checked data.

    :param text: SRDF text.
    :param urdf: the robot it describes.
    :param source: the file, for warnings.
    :raises ModelError: when the text is not XML, or has too many groups.
    """
    most = dict.fromkeys(('group', 'end_effector'), MOST_GROUPS)
    document = parse_xml(text, 'semantic description', most)
    return _SrdfReader(document, urdf, FileNotes(source)).read(text)


class _SrdfReader:
    """Reads the elements of one SRDF and checks their names against one robot."""

    def __init__(self, document: XmlElement, urdf: Urdf, notes: FileNotes) -> None:
        """
        Read virtual joints and groups of an SRDF, because other elements refer to them.

        :param document: root element of the SRDF.
        :param urdf: the robot that it describes.
        :param notes: gets a warning for each element that is left out or misread.
        """
        self.document = document
        self.urdf = urdf
        self.notes = notes
        if document.get('name') != urdf.name:
            notes.add(
                document.line,
                f'The semantic description is of robot {quote(document.get("name"))}, not of '
                f'{quote(urdf.name)}; it is used.',
            )
        self.links = frozenset(urdf.links)
        self.virtual_joints = tuple(self.virtual_joints_of(document))
        virtual = {joint.name: joint.type for joint in self.virtual_joints}
        self.joint_types = {**{j.name: j.type for j in urdf.joints.values()}, **virtual}
        self.groups = self.read_groups()
        self.group_names = {group.name for group in self.groups}

    def read(self, text: str) -> Srdf:
        """
        Return the whole SRDF as data.

        :param text: the XML text, stored with the result.
        """
        document = self.document
        return Srdf(
            name=document.get('name'),
            xml=text,
            groups=self.groups,
            states=tuple(self.states()),
            end_effectors=tuple(self.end_effectors()),
            virtual_joints=self.virtual_joints,
            passive_joints=self.passive_joints(),
            disabled_collisions=self.link_pairs('disable_collisions'),
            enabled_collisions=self.link_pairs('enable_collisions'),
            no_default_collisions=self.names_of(
                document.find_all('disable_default_collisions'), 'link', self.links, 'link'
            ),
            warnings=tuple(self.notes.lines),
        )

    def name_of(
        self, element: XmlElement, attribute: str, allowed: Collection[str] | None, noun: str
    ) -> str | None:
        """
        Return the name in an attribute; None, with a warning, if it is missing or unknown.

        The caller leaves the element out then.

        :param element: the element.
        :param attribute: the attribute.
        :param allowed: the names that the attribute may have; None for any.
        :param noun: word for the named thing in the warning ("joint").
        """
        name = element.get(attribute)
        if not name:
            self.notes.add(
                element.line, f'<{element.tag}> without {quote(attribute)} is left out.'
            )
        elif allowed is not None and name not in allowed:
            # A search among all names for each of many faults would take time that grows with their product.
            hint = describe_choices(name, allowed) if len(self.notes.lines) < MOST_HINTS else ''
            text = (
                f'<{element.tag}> names the unknown {noun} {quote(name)} and is left out. {hint}'
            )
            self.notes.add(element.line, text.rstrip())
        else:
            return name
        return None

    def names_of(
        self, elements: Iterable[XmlElement], attribute: str, allowed: Collection[str], noun: str
    ) -> tuple[str, ...]:
        """
        Return the names in one attribute of several elements.

        Elements whose name is missing or unknown are left out with a warning.

        :param allowed: the names that the attribute may have.
        :param noun: word for the named thing in the warning ("joint").
        """
        names = (self.name_of(element, attribute, allowed, noun) for element in elements)
        return tuple(name for name in names if name is not None)

    def read_groups(self) -> tuple[SrdfGroup, ...]:
        """
        Return the groups of the SRDF, each after its subgroups, without those that :meth:`order_groups` leaves out.

        Of several groups with the same name, the first is taken, and the others get a warning.
        """
        groups: dict[str, SrdfGroup] = {}
        for element in self.document.find_all('group'):
            group = self.one_group(element)
            if group is None:
                continue
            if group.name in groups:
                self.notes.add(
                    group.line,
                    f'Group {quote(group.name)} is declared twice; the one of line '
                    f'{groups[group.name].line} counts.',
                )
            else:
                groups[group.name] = group
        return self.order_groups(groups)

    def order_groups(self, groups: dict[str, SrdfGroup]) -> tuple[SrdfGroup, ...]:
        """
        Return groups in such an order that subgroups come before the groups that contain them.

        A group is left out with a warning if it names nothing, contains itself, or names an unknown group. So is a
        group that contains such a group, but a subgroup that names nothing is only removed from the groups that contain
        it.
        """
        ordered: dict[str, SrdfGroup] = {}
        empty: set[str] = set()
        waiting = list(groups.values())
        while True:
            ready = [g for g in waiting if all(s in ordered or s in empty for s in g.subgroups)]
            if not ready:
                break
            for group in ready:
                inner = tuple(name for name in group.subgroups if name in ordered)
                ordered_group = replace(group, subgroups=inner)
                if ordered_group.is_empty:
                    text = f'Group {quote(group.name)} is empty and is left out.'
                    self.notes.add(group.line, text)
                    empty.add(group.name)
                else:
                    ordered[group.name] = ordered_group
            waiting = [g for g in waiting if g.name not in ordered and g.name not in empty]
        for group in waiting:
            missing = next(name for name in group.subgroups if name not in ordered)
            reason = (
                f'contains {quote(missing)}, which is left out or contains it in turn.'
                if missing in groups
                else f'names the unknown group {quote(missing)}. {describe_choices(missing, groups)}'
            )
            self.notes.add(group.line, f'Group {quote(group.name)} is left out: it {reason}')
        return tuple(ordered.values())

    def one_group(self, element: XmlElement) -> SrdfGroup | None:
        """
        Return the group of an element; None, with a warning, if it has no name.

        Unknown joints, links and ends of chains in it are left out with a warning. Names of subgroups are not checked
        here.
        """
        name = self.name_of(element, 'name', None, 'group')
        if name is None:
            return None
        chains = (
            (
                self.name_of(child, 'base_link', self.links, 'link'),
                self.name_of(child, 'tip_link', self.links, 'link'),
            )
            for child in element.find_all('chain')
        )
        subgroups = [child.get('name') for child in element.find_all('group')]
        return SrdfGroup(
            name=name,
            joints=self.names_of(element.find_all('joint'), 'name', self.joint_types, 'joint'),
            links=self.names_of(element.find_all('link'), 'name', self.links, 'link'),
            chains=tuple((base, tip) for base, tip in chains if base and tip),
            subgroups=tuple(subgroup for subgroup in subgroups if subgroup),
            line=element.line,
        )

    def states(self) -> Iterable[GroupState]:
        """
        Iterate over the named postures in the order of the file.

        Postures without a name or with an unknown group are left out with a warning. A second posture with the same
        name and group is returned too, with a warning; users of the list take the last one.
        """
        seen: dict[tuple[str, str], int] = {}
        for element in self.document.find_all('group_state'):
            name = self.name_of(element, 'name', None, 'state')
            group = self.name_of(element, 'group', self.group_names, 'group')
            if name is None or group is None:
                continue
            if (name, group) in seen:
                self.notes.add(
                    element.line,
                    f'State {quote(name)} of group {quote(group)} stands in line {seen[name, group]} '
                    'already; this one counts.',
                )
            seen[name, group] = element.line
            yield GroupState(name, group, self.values_of(element))

    def values_of(self, state: XmlElement) -> dict[str, tuple[float, ...]]:
        """
        Return the values of a posture by joint [rad or m].

        Unknown joints, and joints with a wrong number of values or values that are not finite, are left out with a
        warning.
        """
        values: dict[str, tuple[float, ...]] = {}
        for element in state.find_all('joint'):
            name = self.name_of(element, 'name', self.joint_types, 'joint')
            if name is None:
                continue
            words = element.get('value').split()
            kind = self.joint_types[name]
            size = len(words) if kind == 'fixed' else POSITION_SIZE[JointKind[kind.upper()]]
            try:
                if len(words) != size:
                    element.fail(f'{len(words)} values instead of {size}')
                values[name] = element.vector('value', (0.0,) * len(words))
            except ModelError as error:
                self.notes.add(
                    element.line,
                    f'State {quote(state.get("name"))} is read without joint {quote(name)}: {error}',
                )
        return values

    def end_effectors(self) -> Iterable[EndEffector]:
        """
        Iterate over the end effectors; those without a name, or with a missing or unknown group or link, are left out.

        A warning says so. An unknown parent group is read as none, with a warning.
        """
        for element in self.document.find_all('end_effector'):
            name = self.name_of(element, 'name', None, 'end effector')
            group = self.name_of(element, 'group', self.group_names, 'group')
            link = self.name_of(element, 'parent_link', self.links, 'link')
            if name is None or group is None or link is None:
                continue
            parent = element.get('parent_group')
            if parent and parent not in self.group_names:
                self.notes.add(
                    element.line,
                    f'End effector {quote(name)} names the unknown parent group {quote(parent)}, which is '
                    f'not used. {describe_choices(parent, self.group_names)}',
                )
                parent = ''
            yield EndEffector(name, group, link, parent)

    def virtual_joints_of(self, document: XmlElement) -> Iterable[VirtualJoint]:
        """
        Iterate over the virtual joints; those without all attributes, or with an unknown link, are left out.

        A warning says so. A joint of an unknown type is read as fixed, with a warning. A joint to a link that is not
        the root gets a warning and ``attached`` False.
        """
        for element in document.find_all('virtual_joint'):
            name = self.name_of(element, 'name', None, 'joint')
            child = self.name_of(element, 'child_link', self.links, 'link')
            frame = self.name_of(element, 'parent_frame', None, 'frame')
            kind = self.name_of(element, 'type', None, 'type')
            if name is None or child is None or frame is None or kind is None:
                continue
            if kind.lower() not in VIRTUAL_JOINT_TYPES:
                self.notes.add(
                    element.line,
                    f'Virtual joint {quote(name)} has the unknown type {quote(kind)} and is read as fixed. '
                    + describe_choices(kind, VIRTUAL_JOINT_TYPES),
                )
                kind = 'fixed'
            if child != self.urdf.root:
                self.notes.add(
                    element.line,
                    f'Virtual joint {quote(name)} is left out: its child link {quote(child)} is not the '
                    f'root link {quote(self.urdf.root)}.',
                )
            yield VirtualJoint(name, kind.lower(), frame, child, child == self.urdf.root)

    def passive_joints(self) -> tuple[str, ...]:
        """
        Return the names of the passive joints, each once, wherever their elements are, also inside a group.

        Unknown names are left out with a warning.
        """
        elements = (e for e in self.document.walk() if e.tag == 'passive_joint')
        return tuple(dict.fromkeys(self.names_of(elements, 'name', self.joint_types, 'joint')))

    def link_pairs(self, tag: str) -> tuple[LinkPair, ...]:
        """
        Return the link pairs in the elements with a tag, in the order of the file.

        Pairs with an unknown link are left out with one warning for all of them. An element without two names gets its
        own.
        """
        pairs, gone = [], []
        for element in self.document.find_all(tag):
            first = self.name_of(element, 'link1', None, 'link')
            second = self.name_of(element, 'link2', None, 'link')
            if first is None or second is None:
                continue
            if first in self.links and second in self.links:
                pairs.append(LinkPair(first, second, element.get('reason')))
            else:
                gone.append((element.line, second if first in self.links else first))
        if gone:
            line, link = gone[0]
            others = f' (and {len(gone) - 1} more of them)' if len(gone) > 1 else ''
            self.notes.add(
                line, f'<{tag}> names the unknown link {quote(link)} and is left out{others}.'
            )
        return tuple(pairs)
