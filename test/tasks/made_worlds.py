"""Random environments, and plain numpy and scipy as the judge of their geometry."""

import numpy as np
from scipy.spatial.transform import Rotation

from ssik_ros.tasks import Constraint, Environment, IkJoint, JointType


def random_pose(rng, reach=0.4):
    """Return seven numbers."""
    return [*rng.uniform(-reach, reach, 3), *Rotation.random(None, rng).as_quat()]


def motion(joint):
    """Return the 4x4 matrix of a joint's own motion, from the words of the document."""
    matrix = np.eye(4)
    if joint.kind == JointType.SPHERICAL:
        matrix[:3, :3] = Rotation.from_quat(joint.rotation).as_matrix()
    elif joint.kind == JointType.PRISMATIC:
        matrix[2, 3] = joint.position
    else:
        matrix[:3, :3] = Rotation.from_rotvec([0.0, 0.0, joint.position]).as_matrix()
        matrix[2, 3] = joint.screw_lead * joint.position / (2.0 * np.pi)
    return matrix


def local(item):
    """Return the 4x4 matrix of an object's local pose."""
    numbers = item.world.poses[item.slot]
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = numbers[:9].reshape(3, 3), numbers[9:]
    return matrix


def walk(item, moved=True):
    """Return the 4x4 pose of an object in the world."""
    if item is None:
        return np.eye(4)
    above = walk(item.parent) @ local(item)
    return above @ motion(item) if moved and isinstance(item, IkJoint) else above


def shortest_turn(start, end):
    """Return the rotation vector of the shortest rotation between two unit vectors."""
    axis = np.cross(start, end)
    sine = np.linalg.norm(axis)
    return axis / sine * np.arctan2(sine, start @ end)


def expected_error(task):
    """Return the selected rows of a task, from the words of the specification."""
    below = task.base if task.constraint_base is None else task.constraint_base
    inverse = np.linalg.inv(walk(below))
    a, b = inverse @ walk(task.tip), inverse @ walk(task.tip.target or task.tip)
    rows = np.zeros(6)
    rows[:3] = b[:3, 3] - a[:3, 3]
    turn, bits = a[:3, :3].T @ b[:3, :3], task.constraints
    if bits & Constraint.ORIENTATION == Constraint.ORIENTATION:
        rows[3:] = Rotation.from_matrix(turn).as_rotvec()
    elif bits & Constraint.ALPHA_BETA:
        rows[3:] = shortest_turn(np.array([0.0, 0.0, 1.0]), turn[:, 2])
    elif bits & Constraint.GAMMA:
        tilt = Rotation.from_rotvec(shortest_turn(b[:3, 2], a[:3, 2])).as_matrix()
        rows[3:] = Rotation.from_matrix(a[:3, :3].T @ tilt @ b[:3, :3]).as_rotvec()
    picked = [bool(bits & bit) for bit in (1, 2, 4, 8, 8, 16)]
    return rows[picked]


def random_chain(env, rng, count, kinds, parent=None, stem='j'):
    """Add a chain of joints and dummies; return the last object."""
    for index in range(count):
        kind = str(rng.choice(kinds))
        if rng.random() < 0.3:
            parent = env.add_dummy(f'{stem}{index}_link', parent, random_pose(rng))
        name = f'{stem}{index}'
        joint = env.add_joint(
            kind if kind != 'screw' else 'revolute', name, parent, random_pose(rng)
        )
        if kind == 'spherical':
            joint.rotation = Rotation.random(None, rng).as_quat()
        else:
            joint.limits = (-3.0, 3.0)
            joint.position = rng.uniform(-1.5, 1.5)
        if kind == 'screw':
            joint.screw_lead = rng.uniform(-0.5, 0.5)
        parent = joint
    return parent


def serial_arm(count=7, seed=0, limits=(-2.8, 2.8)):
    """Return an environment with one revolute arm, ``tip`` and ``goal``, and its task set ``arm`` with a pose task."""
    rng = np.random.default_rng(seed)
    env = Environment()
    parent = None
    for index in range(count):
        axis = Rotation.from_euler('xyz', rng.choice([-np.pi / 2, np.pi / 2, 0.0], 3))
        place = [*rng.uniform(0.05, 0.3, 3), *axis.as_quat()]
        parent = env.add_joint('revolute', f'j{index}', parent, place, limits=limits)
    env.add_dummy('tip', parent, [0.05, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    env.add_dummy('goal')
    task_set = env.add_task_set('arm', max_iterations=60)
    task_set.add_task('tip', target='goal')
    return env


def put_goal(env, q, tip='tip', goal='goal'):
    """Put a goal where the tip is at some joint values; the joints stay where they are."""
    here = env.q
    env.q = q
    pose = env[tip].matrix()
    env.q = here
    env[goal].set_pose(pose)
