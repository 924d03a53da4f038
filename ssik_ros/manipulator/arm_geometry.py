"""Joints, limits, forward kinematics, Jacobian and collision checks of an arm, which need no solver."""

from collections.abc import Iterable
import functools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ssik_ros.arguments import names_keywords, read_count, read_numbers, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import (
    DimensionMismatch,
    InvalidOption,
    list_names,
    ModelError,
    quote,
    tells_near_names,
)
from ssik_ros.manipulator.kin_body import limits_of
from ssik_ros.model.default_seed import default_seed
from ssik_ros.model.joint_group import JointGroup
from ssik_ros.model.robot_model import RobotModel
from ssik_ros.problem.chain_kinematics import ChainKinematics, manipulability_of

if TYPE_CHECKING:
    from ssik_ros.manipulator.arm_scene import ArmScene, Items
    from ssik_ros.model.collision.objects import WorldObject


@tells_near_names
class ArmGeometry:
    """
    An arm without a solver: a ``group`` with one tip of a ``robot``.

    It has the joints and limits, forward kinematics, Jacobian and collision checks of the arm.
    """

    def __init__(self, robot: RobotModel, group: JointGroup) -> None:
        """
        Store a robot and one of its groups as an arm.

        :param robot: the robot.
        :param group: a group of it that has one tip.
        :raises ModelError: for a group with several tips or none.
        """
        if len(group.tips) != 1:
            raise ModelError(
                f'Group {quote(group.name)} has {len(group.tips)} tips ({list_names(group.tips)}), and an arm has one. '
                'For several tips call ssik_ros.solve_ik(RobotState(robot), group, [PoseTarget(tip, pose), ...]).',
                group=group.name,
                tips=group.tips,
            )
        self.robot, self.group = robot, group
        self._kinematics = ChainKinematics(robot, group, group.base_link, group.tip)

    @property
    def base(self) -> str:
        """Return the name of the base link; all poses are given in its frame."""
        return self.group.base_link

    @property
    def tip(self) -> str:
        """Return the name of the end-effector link; targets are poses of this link in the base frame."""
        return self.group.tip

    @property
    def dof(self) -> int:
        """Return the number of joint variables."""
        return self.group.variable_count

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the joints, in the order of every joint vector."""
        return self.group.joint_names

    @property
    def joint_limits(self) -> list[tuple[float, float] | None]:
        """Return (lower, upper) of each joint variable, one of them maybe infinite; None without limits [rad or m]."""
        return list(map(limits_of, self.group.lower, self.group.upper))

    @property
    def lower(self) -> FloatArray:
        """Return the lower limits (dof,), -inf for a joint without one [rad or m]."""
        return self.group.lower

    @property
    def upper(self) -> FloatArray:
        """Return the upper limits (dof,), inf for a joint without one [rad or m]."""
        return self.group.upper

    @property
    def neutral(self) -> FloatArray:
        """
        Return the default posture (dof,), which is the seed of requests that give none [rad or m].

        Each joint has its value in the SRDF's posture ``ready``, else in ``home``, clamped to its limits. Without such
        a value it has the middle of its limits. An angle is moved by whole turns to between -pi and pi if the limits
        permit. A joint that lacks a limit has 0 instead, or the limit that it has if 0 is outside. Ball joints have the
        identity.
        """
        return self._seed.copy()

    @functools.cached_property
    def _seed(self) -> FloatArray:
        """Return the default seed (dof,), the same array at each access; do not write to it."""
        return default_seed(self.robot, self.group)

    def random(self, rng: 'np.random.Generator | int | None' = None) -> FloatArray:
        """
        Return a random posture (dof,) within the limits [rad or m].

        :param rng: a generator of numpy, or the seed of a new one; None means a generator of this arm, with the same
            sequence in every run.
        :raises ValueError: for a sliding joint that lacks a limit, and for a negative seed.
        :raises TypeError: for another ``rng``.
        """
        if rng is None:
            rng = self._rng
        elif isinstance(rng, int | np.integer):
            rng = np.random.default_rng(read_count('rng', rng))
        elif not isinstance(rng, np.random.Generator):
            raise InvalidOption(
                f'rng must be a numpy Generator, a seed or None, not {shown(rng)}.'
            )
        return self.robot.sample(self.group, rng)

    @functools.cached_property
    def _rng(self) -> 'np.random.Generator':
        """Return the generator that :meth:`random` uses by default; it starts at seed 0."""
        return np.random.default_rng(0)

    def fk(self, q: ArrayLike) -> FloatArray:
        """
        Return the pose (4, 4) of the end effector in the base at a joint vector, or (k, 4, 4) at k of them.

        :param q: (dof,) or (k, dof) joint vectors [rad or m].
        :raises ValueError: when the size is another or a value is not finite.
        """
        rows = self._rows('fk', q)
        if rows.ndim == 1:
            return self._kinematics.pose(rows)
        return np.array([self._kinematics.pose(row) for row in rows]).reshape(-1, 4, 4)

    def jacobian(self, q: ArrayLike) -> FloatArray:
        """
        Return the Jacobian (6, nv) of the end effector: linear, then angular velocity in base axes per joint velocity.

        The number nv of columns is ``dof``, less one for each ball or floating joint: its quaternion has four numbers,
        but three rates.

        :param q: (dof,) joint vector [rad or m], or (k, dof) for an array (k, 6, nv).
        :raises ValueError: when the size is another or a value is not finite.
        """
        rows = self._rows('jacobian', q)
        if rows.ndim == 1:
            return self._kinematics.jacobian(rows)
        if not len(rows):
            return np.empty((0, *self._kinematics.jacobian(self.neutral).shape))
        return np.array([self._kinematics.jacobian(row) for row in rows])

    def manipulability(self, q: ArrayLike) -> Any:
        """
        Return Yoshikawa's manipulability: the product of the singular values of the Jacobian, 0 at a singularity.

        :param q: (dof,) joint vector [rad or m], or (k, dof) for an array (k,).
        :raises ValueError: when the size is another or a value is not finite.
        """
        values = manipulability_of(self.jacobian(q))
        return float(values) if values.ndim == 0 else values

    @names_keywords
    def scene(
        self,
        boxes: 'Items' = (),
        spheres: 'Items' = (),
        meshes: 'Items' = (),
        objects: 'Iterable[WorldObject]' = (),
    ) -> 'ArmScene':
        """
        Return the arm among objects, for ``solve(..., scene=)``, :meth:`in_collision` and ``plan(..., scene=)``.

        Boxes, spheres and meshes are each a list of objects, or a mapping from names to objects. An object is a pair
        (size, where), in which ``where`` is a position or a pose in the base frame. It may also be a mapping with
        ``size`` and either ``pose`` or arguments of :func:`ssik_ros.pose`.

        :param boxes: (edges x y z, where) of each [m].
        :param spheres: (radius, where) of each [m].
        :param meshes: (file, where) of each, in metres.
        :param objects: more objects, with poses in the base frame.
        :raises ModelError: when the robot has no collision shapes, and for an invalid object.
        :raises FileNotFoundError: if the file of a mesh does not exist.
        :raises SolverError: when coal, the collision library, is missing.
        :raises TypeError: for an object of another form, and for unknown keys.
        :raises ValueError: for a malformed pose, and for a file that is not a mesh.
        """
        from ssik_ros.manipulator.arm_scene import ArmScene

        return ArmScene(self.robot, self.group, boxes, spheres, meshes, objects)

    def in_collision(self, q: ArrayLike, scene: 'ArmScene | None' = None) -> Any:
        """
        Return whether the arm collides at a posture, with itself or with objects.

        :param q: (dof,) joint vector [rad or m], or (k, dof) for an array (k,) of bool.
        :param scene: the objects, from :meth:`scene`; None checks the robot with itself.
        :raises ModelError: when the robot has no collision shapes.
        :raises ValueError: when the size is another or a value is not finite.
        """
        rows = self._rows('in_collision', q)
        scene = self._alone if scene is None else scene
        if not hasattr(scene, 'is_free'):
            refuse('scene', scene, 'a scene, as arm.scene(boxes=...) returns it')
        if rows.ndim == 1:
            return not scene.is_free(rows)
        return np.array([not scene.is_free(row) for row in rows], dtype=bool)

    @functools.cached_property
    def _alone(self) -> 'ArmScene':
        """Return the collision scene of the robot without objects, made at the first access."""
        return self.scene()

    def _rows(self, call: str, q: ArrayLike) -> FloatArray:
        """
        Return an argument as a joint vector (dof,), or an array (k, dof) of joint vectors.

        Raise DimensionMismatch for another shape or a value that is not finite; the text names ``call``, the calling
        method.
        """
        rows = read_numbers('q', q)
        if rows.shape[-1:] != (self.dof,) or rows.ndim > 2 or not np.isfinite(rows).all():
            raise DimensionMismatch(
                f'{call} needs {self.dof} finite joint values, or (k, {self.dof}) of them, in q, not {shown(q)}.',
                expected=(self.dof,),
            )
        return rows
