"""Robots for the tests of serving, and results computed another way: by pinocchio, plain XML and scipy."""

import dataclasses
from functools import cache
import math
import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from ssik_ros.model.kinematic_tree import JointKind, POSITION_SIZE
from ssik_ros.model.loader import load_robot
from ssik_ros.model.reference_kinematics import ReferenceKinematics
from ssik_ros.model.robot_model import find_followers, RobotModel
from ssik_ros.model.srdf import Srdf
from ssik_ros.server.requests.ik_requests import FramedPose, FullState, IkRequest, NOTHING_GIVEN
from ssik_ros.server.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics


def joint(name, kind, parent, child, xyz='0 0 0', axis='0 0 1', inside='', rpy='0 0 0'):
    """Return one joint element; joints with a range have (-2.8, 2.8)."""
    limit = '<limit lower="-2.8" upper="2.8" effort="1" velocity="1"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'{limit if kind in ("revolute", "prismatic") else ""}{inside}</joint>'
    )


def robot_text(*joints, name='made', shapes=None):
    """Return a robot element with the links that its joints name; ``shapes`` is XML by link."""
    body = ''.join(joints)
    links = dict.fromkeys(word.split('"')[0] for word in body.split('link="')[1:])
    elements = ''.join(f'<link name="{k}">{(shapes or {}).get(k, "")}</link>' for k in links)
    return f'<robot name="{name}">{elements}{body}</robot>'


def _arm(side, y):
    """Return six axes on ``chest`` that end in ``<side>_tool``, on which a rigid camera sits."""
    axes = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
    places = (f'0 {y} 0.2', '0.05 0 0.1', '0 0 0.35', '0.3 0 0', '0.1 0 0', '0.05 0 0')
    links = ['chest', *(f'{side}_l{i}' for i in range(1, 7))]
    moving = [
        joint(f'{side}_j{i + 1}', 'revolute', links[i], links[i + 1], places[i], axes[i])
        for i in range(6)
    ]
    tool = joint(f'{side}_wrist', 'fixed', links[6], f'{side}_tool', '0.1 0 0')
    camera = joint(
        f'{side}_mount',
        'fixed',
        f'{side}_tool',
        f'{side}_camera',
        '0.02 0.05 0.1',
        rpy='0.3 0.2 1',
    )
    return [*moving, tool, camera]


TORSO = robot_text(
    joint('lift', 'prismatic', 'pelvis', 'spine', '0 0 0.4'),
    joint('torso', 'revolute', 'spine', 'chest', '0.1 0 0.1'),
    joint('ear', 'fixed', 'chest', 'head', '0 0 0.5'),
    *_arm('left', 0.25),
    *_arm('right', -0.25),
    name='torso_robot',
)
TORSO_SRDF = """
<robot name="torso_robot">
  <virtual_joint name="base" type="floating" parent_frame="map" child_link="pelvis"/>
  <group name="left"><chain base_link="chest" tip_link="left_tool"/></group>
  <group name="right"><chain base_link="chest" tip_link="right_tool"/></group>
  <group name="arms"><group name="left"/><group name="right"/></group>
  <group name="upper_body"><joint name="lift"/><joint name="torso"/><group name="arms"/></group>
</robot>
"""
FOUR_AXES = (
    joint('j1', 'revolute', 'l0', 'l1', '0 0 0.3', '0 0 1'),
    joint('j2', 'revolute', 'l1', 'l2', '0.4 0 0', '0 1 0'),
    joint('j3', 'revolute', 'l2', 'l3', '0.4 0 0', '0 1 0'),
    joint('j4', 'revolute', 'l3', 'l4', '0.1 0 0', '1 0 0'),
    joint('tool', 'fixed', 'l4', 'tip', '0.1 0 0'),
)
INNER_MULTI = robot_text(
    joint('slide', 'planar', 'l0', 'plate', '0.1 0.2 0', rpy='0.2 0.1 0.3'),
    joint('swivel', 'revolute', 'plate', 'arm', '0 0 0.3', '0 1 0'),
    joint('loose', 'floating', 'arm', 'kite', '0.3 0 0', rpy='0 0.5 0'),
    joint('tail', 'continuous', 'kite', 'tip', '0.1 0 0', '1 0 0'),
    name='inner_multi',
)
"""A planar and a floating joint in the middle of a robot."""


@cache
def torso_robot():
    """Return a robot with a lift and a torso below two arms, on a floating base that never moves."""
    return load_robot(TORSO, TORSO_SRDF)


def without_velocity_limit(robot, name):
    """Return a copy of a robot in which a joint has no velocity limit."""
    velocity = robot.tree.velocity.copy()
    velocity[robot.variable_names.index(name)] = np.inf
    tree = dataclasses.replace(robot.tree, velocity=velocity)
    return dataclasses.replace(robot, tree=tree)


@cache
def mobile_robot(kind):
    """Return four axes on a base that the group ``whole`` moves, on a planar or floating joint."""
    srdf = (
        f'<robot name="mobile"><virtual_joint name="base" type="{kind}" parent_frame="map" '
        'child_link="l0"/><group name="arm"><chain base_link="l0" tip_link="tip"/></group>'
        '<group name="whole"><joint name="base"/><chain base_link="l0" tip_link="tip"/></group>'
        '</robot>'
    )
    return load_robot(robot_text(*FOUR_AXES, name='mobile'), srdf)


@cache
def standing_robot(kind):
    """Return four axes on a virtual joint that no group moves."""
    srdf = (
        f'<robot name="standing"><virtual_joint name="stand" type="{kind}" parent_frame="map" '
        'child_link="l0"/><group name="arm"><chain base_link="l0" tip_link="tip"/></group></robot>'
    )
    return load_robot(robot_text(*FOUR_AXES, name='standing'), srdf)


@cache
def inner_multi_robot():
    """Return the robot with a planar and a floating joint in its middle."""
    return load_robot(INNER_MULTI)


class TreeRobot:
    """A robot that is only a tree, which no URDF can describe (spherical joints)."""

    def __init__(self, tree):
        self.name, self.tree = 'tree', tree
        self.virtual_joints = ()
        self.model_frame = tree.root_link
        self._mimic = find_followers(tree)
        self.urdf, self.srdf = type('NoUrdf', (), {'joints': {}})(), Srdf()

    default_positions = RobotModel.default_positions
    with_mimic = RobotModel.with_mimic
    set_followers = RobotModel.set_followers
    variable_names = RobotModel.variable_names


def pose_of(xyz=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)):
    """Return a transform (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    pose[:3, 3] = xyz
    return pose


def random_rigid(rng, reach=1.0):
    """Return a transform (4, 4) of any rotation."""
    return pose_of(rng.uniform(-reach, reach, 3), Rotation.random(None, rng).as_rotvec())


def random_positions(robot, rng):
    """Return a random full state (nq) within limits, followers set by the rules in the tree."""
    tree = robot.tree
    low = np.where(np.isfinite(tree.lower), tree.lower, -2.0)
    high = np.where(np.isfinite(tree.upper), tree.upper, 2.0)
    positions = rng.uniform(low, high)
    for kind, start in zip(tree.kinds, tree.idx_q, strict=True):
        if kind in (JointKind.FLOATING, JointKind.SPHERICAL):
            first = start + POSITION_SIZE[JointKind(kind)] - 4
            positions[first : first + 4] = Rotation.random(None, rng).as_quat()
    for follower, leader in enumerate(tree.leaders):
        if leader >= 0:
            rule = tree.multipliers[follower], tree.offsets[follower]
            positions[tree.idx_q[follower]] = rule[0] * positions[tree.idx_q[leader]] + rule[1]
    return positions


def random_full_state(robot, rng):
    """Return a random state; if a virtual joint lets it, the root link is at a random pose."""
    stands = any(j.name not in robot.tree.joint_index for j in robot.virtual_joints)
    moves = stands and robot.model_frame != robot.tree.root_link
    return FullState(random_positions(robot, rng), random_rigid(rng) if moves else np.eye(4))


def true_pose(robot, state, link):
    """Return the pose (4, 4) of a link in the model frame, by pinocchio."""
    return state.root_pose @ ReferenceKinematics(robot).link_pose(state.positions, link)


def errors_between(actual, target):
    """Return the distance [m] and the angle [rad] between poses, by scipy."""
    difference = Rotation.from_matrix(actual[:3, :3].T @ target[:3, :3])
    return float(np.linalg.norm(actual[:3, 3] - target[:3, 3])), float(difference.magnitude())


def is_at(robot, state, link, target, tolerance=1e-3):
    """Return whether a link is at a pose within the norm over distance and angle."""
    errors = errors_between(true_pose(robot, state, link), target)
    return bool(np.hypot(*errors) <= tolerance * (1.0 + 1e-9) + 1e-9)


def mimic_rules(robot):
    """Return (leader, multiplier, offset) of each follower as the XML has them."""
    rules = {}
    for element in ET.fromstring(robot.urdf_xml).iter('joint'):
        mimic = element.find('mimic')
        if mimic is not None:
            rules[element.get('name')] = (
                mimic.get('joint'),
                float(mimic.get('multiplier', 1)),
                float(mimic.get('offset', 0)),
            )
    return rules


class WatchedName(str):
    """A name that tells by weak references whether it is kept."""


def serve(robot, *names, **kinematics):
    """
    Return a warm server of some groups (all by default), with kinematics by group.

    Searches end by their own counts, so that a slow machine gives the same responses; a test of budgets names its own.
    """
    groups = [robot.group(name) for name in names or robot.groups]
    server = make_server(robot, groups, **kinematics)
    server.warm_up()
    return server


def make_server(robot, groups, **kinematics):
    """Return a server as :func:`serve` does, of groups that are given and cold."""
    given = {
        group.name: GroupKinematics(
            group.name, **{'timeout': math.inf, **kinematics.get(group.name, {})}
        )
        for group in groups
    }
    server = RobotServer(robot, groups, given)
    server.planning_timeout = math.inf
    return server


def ik_request(group, goals, carried=None, **more):
    """Return a request for goals (link, pose) or (link, pose, frame)."""
    if carried is not None:
        more['state'] = more.get('state', NOTHING_GIVEN)._replace(carried=carried)
    framed = [FramedPose(goal[2] if len(goal) > 2 else '', goal[1]) for goal in goals]
    return IkRequest(group, [goal[0] for goal in goals], framed, **more)


def solve_all(server, request, options, current):
    """Return every branch of a request."""
    return server.solve_all(dataclasses.replace(request, branches=options), current)


def snapshot(*states):
    """Return the bytes of states, to notice any change."""
    return [(s.positions.tobytes(), s.root_pose.tobytes()) for s in states]
