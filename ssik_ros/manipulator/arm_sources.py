"""
Constructors of an arm: from a URDF, a planning group or a robot's name.

Or from numbers: axes, frames of the joints, or Denavit-Hartenberg parameters.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TYPE_CHECKING

from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, shown
from ssik_ros.errors import InvalidOption
from ssik_ros.manipulator.arm_tasks import ArmTasks
from ssik_ros.manipulator.kin_body import KinBody, Limits
from ssik_ros.manipulator.named_robot import load_named
from ssik_ros.manipulator.tolerance_policy import DEFAULT_TOLERANCE_POLICY, TolerancePolicy
from ssik_ros.model.arm_ends import find_ends
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.loader import load_robot
from ssik_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from typing_extensions import Self


class ArmSources(ArmTasks):
    """An arm with class methods that load or build it, such as ``from_urdf`` and ``from_dh``."""

    @names_keywords
    def __init__(
        self,
        kinbody_or_robot: KinBody | RobotModel,
        group: JointGroup | None = None,
        *,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> None:
        """
        Make an arm from its axes, or from a group of a loaded robot; most users call :meth:`from_urdf`.

        :param kinbody_or_robot: the arm's axes, or the robot.
        :param group: with a robot, the group of the arm, which must have one tip; None with axes.
        :param policy: tolerances that :meth:`solve` uses when it gets none.
        :raises ValueError: when the group has several tips or none, or if the axes form no valid robot.
        :raises TypeError: when the arguments are something else.
        """
        if not isinstance(policy, TolerancePolicy):
            raise InvalidOption(f'policy must be a TolerancePolicy, not {shown(policy)}.')
        if isinstance(kinbody_or_robot, KinBody) and group is None:
            body = kinbody_or_robot
            robot = load_robot(body.to_urdf())
            super().__init__(robot, robot.group_from_links(body.base_link, body.ee_link))
        elif isinstance(kinbody_or_robot, RobotModel) and isinstance(group, JointGroup):
            super().__init__(kinbody_or_robot, group)
        else:
            raise InvalidOption(
                'Manipulator takes a KinBody, or a RobotModel and one of its groups, not '
                f'{type(kinbody_or_robot).__name__} and {type(group).__name__}.'
            )
        self.policy = policy

    @classmethod
    @names_keywords
    def from_urdf(
        cls,
        path: str | Path,
        *,
        base: str | None = None,
        ee: str | None = None,
        tip: str | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
        joint_limits: Mapping[str, Any] | str | Path | None = None,
        xacro_args: Mapping[str, object] | None = None,
    ) -> 'Self':
        """
        Load a URDF and return the arm between two of its links.

        :param path: URDF or xacro file, or the XML itself.
        :param base: link that targets are given in; None means the root link.
        :param ee, tip: link of the end effector; give only one of the two. None means the last moved link of the
            longest chain, hands left out.
        :param policy: tolerances.
        :param joint_limits: joint_limits.yaml (mapping or path), whose limits win, as in MoveIt.
        :param xacro_args: arguments of a xacro file by name.
        :raises FileNotFoundError: if the file does not exist.
        :raises ValueError: if the description is malformed, or if the chain does not exist or is ambiguous.
        """
        robot = load_robot(path, joint_limits=joint_limits, xacro_args=xacro_args)
        if ee is not None and tip is not None:
            raise InvalidOption('ee and tip are two names of one link: give one of them.')
        ends = find_ends(robot, base, tip if ee is None else ee)
        return cls(robot, robot.group_from_links(ends.base, ends.ee), policy=policy)

    @classmethod
    def from_group(cls, urdf: str | Path, srdf: str | Path, group: str, **options: Any) -> 'Self':
        """
        Load a URDF and an SRDF, and return the arm of a group.

        :param urdf, srdf: files or the XML itself.
        :param group: the group's name.
        :param options: further keywords of :func:`ssik_ros.load_robot`, such as ``joint_limits`` and ``xacro_args``.
        :raises FileNotFoundError: if a file does not exist.
        :raises ValueError: for a malformed description, an unknown group, or a group with several tips or none.
        """
        robot = load_robot(urdf, srdf, **options)
        return cls(robot, robot.group(group))

    @classmethod
    @names_keywords
    def from_axes(
        cls,
        H: ArrayLike,
        P: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Self':
        """
        Return the arm with given axes h and offsets p, whose tip is at T = p_0 J_1(q_1) p_1 ... J_n(q_n) p_n.

        J_i is the rotation about axis i of a revolute joint, or the shift along it of a prismatic one.

        :param H: (n, 3) directions of the axes in the base frame, all joints at zero.
        :param P: (n + 1, 3) offsets: base to axis 1, axis i to axis i + 1, axis n to the end effector [m].
        :param limits: (n, 2), or a pair or None for each joint; None means no limits [rad or m].
        :param joint_types: (n,) each ``revolute``, ``continuous`` or ``prismatic``; None means revolute ones.
        :param policy: tolerances.
        :raises ValueError: for wrong shapes, numbers that are not finite, lengths above 1e12 m, axes without direction,
            unknown types and invalid limits.
        """
        return cls(KinBody.from_axes(H, P, limits, joint_types=joint_types), policy=policy)

    @classmethod
    @names_keywords
    def from_transforms(
        cls,
        T: ArrayLike,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        joint_types: Sequence[str] | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Self':
        """
        Return the arm with joints between given frames: T_0 J_1(q_1) T_1 ... J_n(q_n) T_n.

        :param T: (n + 1, 4, 4) frame of joint 1 in the base, of joint i + 1 in joint i, of the end effector in joint n.
        :param axis: (3,) direction of every joint in its own frame, or (n, 3) of each.
        :param limits: (n, 2), or a pair or None for each joint; None means no limits [rad or m].
        :param joint_types: (n,) each ``revolute``, ``continuous`` or ``prismatic``; None means revolute ones.
        :param policy: tolerances.
        :raises ValueError: as :meth:`from_axes`, and for matrices that are not rigid transforms.
        """
        body = KinBody.from_transforms(T, axis, limits, joint_types=joint_types)
        return cls(body, policy=policy)

    @classmethod
    @names_keywords
    def from_dh(
        cls,
        alpha: ArrayLike,
        a: ArrayLike,
        d: ArrayLike,
        limits: Sequence[Limits] | ArrayLike | None = None,
        *,
        sigma: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY,
    ) -> 'Self':
        """
        Return the arm with distal Denavit-Hartenberg parameters: Rz(theta + q) Tz(d) Tx(a) Rx(alpha) for each joint.

        A prismatic joint has Rz(theta) Tz(d + q) in place of Rz(theta + q) Tz(d).

        :param alpha: (n,) twists [rad].
        :param a: (n,) lengths of common normals [m].
        :param d: (n,) offsets along the joint axes [m].
        :param limits: (n, 2), or a pair or None for each joint; None means no limits [rad or m].
        :param sigma: (n,) 0 for a revolute joint, 1 for a prismatic one; None means revolute ones.
        :param theta: (n,) angles about the joint axes [rad]; None means zeros.
        :param policy: tolerances.
        :raises ValueError: for lists of different length, numbers that are not finite, and lengths above 1e12 m. Also
            for a sigma that is neither 0 nor 1, and for invalid limits.
        """
        return cls(KinBody.from_dh(alpha, a, d, limits, sigma=sigma, theta=theta), policy=policy)

    @classmethod
    @names_keywords
    def from_prebuilt(
        cls, name: str, *, policy: TolerancePolicy = DEFAULT_TOLERANCE_POLICY
    ) -> 'Self':
        """
        Return the arm of a robot by name; ``ssik robots --all`` lists the names.

        :param name: a shipped robot, an arm of the catalogue (with or without ``_ik`` at the end), or an installed
            MoveIt configuration.
        :param policy: tolerances.
        :raises FileNotFoundError: for an unknown name; the message has a similar one, if any.
        :raises ValueError: unless the robot has exactly one arm, and for malformed files of a configuration.
        :raises UnknownSolver: for a misspelt solver of this package in a kinematics.yaml.
        """
        named = load_named(name)
        return cls(named.robot, named.arm(), policy=policy)
