"""Joints of a mechanism, which move a child link or close a loop, and goals, which are target poses of links."""

from ssik_ros.arguments import check_kind, read_choice, shown
from ssik_ros.errors import InvalidClosure, InvalidOption
from ssik_ros.mechanisms.frame import Frame, Link
from ssik_ros.mechanisms.free_frame import FreeFrame
from ssik_ros.mechanisms.guided_frame import GuidedFrame
from ssik_ros.mechanisms.names import DOF, read_dof


class Joint(GuidedFrame):
    """
    A joint between two links: a fixed pose in the parent, followed by up to six degrees of freedom.

    After the fixed pose comes Trans(x, y, z) Rz(ez) Ry(ey) Rx(ex). A joint has one child, a link, or closes onto a
    link, which keeps its parent, or has neither. A method raises InvalidOption for an argument of a wrong type, unless
    it names another error.
    """

    def __init__(self, name: str = '') -> None:
        """
        Make a joint without degrees of freedom.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._closure: Link | None = None

    @property
    def child(self) -> Frame | None:
        """The child link, or the link that this joint closes onto; None without either."""
        return self._closure if self._closure is not None else next(iter(self._children), None)

    @property
    def is_closure(self) -> bool:
        """Whether this joint closes onto a link, which is not its child."""
        return self._closure is not None

    def add_child(self, child: Frame) -> None:
        """
        Make a link the child of this joint.

        :param child: a link without a parent.
        :raises InvalidClosure: if the child is not a link, has a parent, or is an ancestor. Also if this joint has a
            child or closes onto a link.
        """
        if not isinstance(child, Link):
            raise InvalidClosure(f'{self!r} is a joint, its child is a link.', frame=child)
        self._check_has_none()
        super().add_child(child)

    def make_closure(self, link: Link) -> None:
        """
        Close a loop: require that this joint's frame, after its degrees of freedom, coincides with a link.

        :param link: keeps its parent; it lists this joint among its ``closure_joints``.
        :raises InvalidClosure: if this joint has a child or closes onto a link already, or ``link`` is not a link.
        """
        if not isinstance(link, Link):
            raise InvalidClosure(
                f'{self!r} closes onto links only: link is {shown(link)}.', frame=link
            )
        self._check_has_none()
        self._closure = link
        link._closure_joints.append(self)
        self._restructured(link)

    def remove_closure(self) -> None:
        """Undo :meth:`make_closure`; raise InvalidClosure if this joint is not a closure."""
        link = self._closure
        if link is None:
            raise InvalidClosure(f'{self!r} closes onto nothing.', frame=self)
        link._closure_joints.remove(self)
        self._closure = None
        self._restructured(link)

    def _check_has_none(self) -> None:
        if self.child is not None:
            raise InvalidClosure(f'{self!r} already has the child {self.child!r}.', frame=self)

    def follow(
        self,
        dof: DOF,
        leader: 'Joint',
        leader_dof: DOF,
        multiplier: float = 1.0,
        offset: float = 0.0,
    ) -> None:
        """
        Couple one degree of freedom with a leader: value = multiplier * leader + offset.

        A solve keeps this rule for a follower that is in a chain, and its limits then also limit the leader. Setting a
        value of the leader does not move the follower. A rule that this degree of freedom had before is replaced.

        :param dof: a free degree of freedom of this joint.
        :param leader: another joint of the mechanism, or this one.
        :param leader_dof: the degree of freedom of the leader.
        :param multiplier, offset: numbers of the rule [1, m or rad].
        :raises InvalidOption: for degrees of freedom that are not free, for angles of ball joints, or if the leader
            follows this degree of freedom.
        :raises InvalidTarget: for numbers that are not finite.
        """
        check_kind('leader', leader, Joint)
        dof, leader_dof = self._check_free(dof), leader._check_free(leader_dof)
        for joint, d in ((self, dof), (leader, leader_dof)):
            if joint._rotation == 'quaternion' and d >= DOF.EX:
                raise InvalidOption(
                    f'The angles of {joint!r}, a ball joint, go together.', joint=joint
                )
        end: tuple[FreeFrame, DOF] | None = (leader, leader_dof)
        while end is not None:
            if end == (self, dof):
                text = f'{dof.name} of {self!r} would follow itself.'
                raise InvalidOption(text, joint=self, dof=dof)
            followed = end[0]._followed.get(end[1])
            end = None if followed is None else followed[:2]
        factor = self._check_number('multiplier', multiplier)
        self._followed[dof] = (leader, leader_dof, factor, self._check_number('offset', offset))
        self._restructured(leader)


class Goal(Joint):
    """
    A target pose of the link that :meth:`make_closure` names.

    Its degrees of freedom are those in which the link must agree with the goal, all six at first. In the others the
    link is free. A goal has no values: its pose is moved instead.
    """

    def __init__(self, name: str = '') -> None:
        """
        Make a goal that fixes all six degrees of freedom.

        :param name: for messages, results and markers.
        """
        super().__init__(name)
        self._world = False
        self.set_dof(*DOF)

    def add_child(self, child: Frame) -> None:
        """
        Refuse: a goal has no children.

        :raises InvalidClosure: always.
        """
        raise InvalidClosure(
            f'{self!r} is a goal, it only closes onto links and has no child.', frame=child
        )

    def set_goal_dof(self, *dof: DOF) -> None:
        """
        Set the degrees of freedom in which the link must agree with the goal.

        :param dof: in the order X, Y, Z, EX, EY, EZ, each at most once.
        :raises InvalidOption: if they are unknown, repeated or in another order.
        """
        self.set_dof(*dof)

    def set_free_dof(self, *dof: DOF) -> None:
        """
        Set the degrees of freedom in which the link is free; in all others it must agree with the goal.

        :param dof: in any order.
        :raises InvalidOption: for an unknown one.
        """
        free = {read_dof(d) for d in dof}
        self.set_dof(*(d for d in DOF if d not in free))

    def set_dof_value(self, dof: DOF, value: float) -> bool:
        """
        Refuse: a goal has no values.

        :raises InvalidOption: always.
        """
        raise InvalidOption(f'{self!r} is a goal: move its pose, it has no values.', joint=self)

    @property
    def mask_frame(self) -> str:
        """
        The frame, ``goal`` or ``world``, along whose axes the fixed and free degrees of freedom are measured.

        Setting any other text raises InvalidOption.
        """
        return 'world' if self._world else 'goal'

    @mask_frame.setter
    def mask_frame(self, frame: str) -> None:
        self._world = read_choice('mask_frame', frame, ('goal', 'world')) == 'world'
        self._restructured()
