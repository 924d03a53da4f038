"""The six arms of the Newton tests, and pinocchio as the judge of their results."""

from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin

from ssik_ros.manipulator.manipulator import Manipulator
from ssik_ros.model.catalogue import arm_data, make_urdf

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'
SHIPPED = {
    'panda': ('panda_link0', 'panda_link8'),
    'fanuc': ('base_link', 'tool0'),
    'gen3': ('base_link', 'end_effector_link'),
    'ur5e': ('base_link', 'tool0'),
}
SIX_ARMS = (*SHIPPED, 'jaco2', 'xarm6')


class Oracle:
    """Pinocchio's kinematics of a chain of one-variable joints, limits as the text of the URDF has them."""

    def __init__(self, urdf, base, tip, joints):
        """Build the model from the text."""
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.base, self.tip = self.model.getFrameId(base), self.model.getFrameId(tip)
        self.ids = [self.model.getJointId(name) for name in joints]

    def full(self, q):
        """Return pinocchio's configuration of joint values."""
        configuration = pin.neutral(self.model)
        for index, value in zip(self.ids, q, strict=True):
            start = self.model.joints[index].idx_q
            if self.model.joints[index].nq == 2:
                configuration[start : start + 2] = np.cos(value), np.sin(value)
            else:
                configuration[start] = value
        return configuration

    def pose(self, q):
        """Return the pose (4, 4) of the tip in the base."""
        pin.framesForwardKinematics(self.model, self.data, self.full(q))
        relative = self.data.oMf[self.base].actInv(self.data.oMf[self.tip])
        return relative.homogeneous

    def jacobian(self, q):
        """Return the Jacobian (6, n) of the tip in the axes of the base, which must be the world's."""
        rows = pin.computeFrameJacobian(
            self.model, self.data, self.full(q), self.tip, pin.LOCAL_WORLD_ALIGNED
        )
        columns = [self.model.joints[index].idx_v for index in self.ids]
        turn = self.data.oMf[self.base].rotation.T
        return np.vstack([turn @ rows[:3], turn @ rows[3:]])[:, columns]

    def errors(self, q, target):
        """Return distance [m] and angle [rad] between the pose at q and a target."""
        pose = self.pose(q)
        turn = pin.log3(pose[:3, :3].T @ target[:3, :3])
        return np.linalg.norm(pose[:3, 3] - target[:3, 3]), np.linalg.norm(turn)


@cache
def load(name):
    """Return an arm and its oracle."""
    if name in SHIPPED:
        base, tip = SHIPPED[name]
        path = ROBOTS / f'{name}_moveit_config' / 'config' / f'{name}.urdf'
        arm = Manipulator.from_prebuilt(name)
        return arm, Oracle(path.read_text(encoding='utf-8'), base, tip, arm.joint_names)
    data = arm_data(name)
    arm = Manipulator.from_prebuilt(name)
    return arm, Oracle(make_urdf(data), data.base_link, data.tip_link, arm.joint_names)


def draw(arm, count, seed):
    """Return random configurations (count, n) within the limits; joints without limits from one turn."""
    lower = np.where(np.isfinite(arm.group.lower), arm.group.lower, -np.pi)
    upper = np.where(np.isfinite(arm.group.upper), arm.group.upper, np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, arm.dof))


def within(arm, q):
    """Return whether joint values are finite and inside their closed limits."""
    return bool(
        np.isfinite(q).all() and (q >= arm.group.lower).all() and (q <= arm.group.upper).all()
    )


def manipulability(jacobian):
    """Return sqrt(det(J J^T))."""
    return float(np.sqrt(max(0.0, np.linalg.det(jacobian @ jacobian.T))))
