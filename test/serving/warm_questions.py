"""
Program: warm a server up, ask it in every way, and print each place that needed the compiler afterwards.

Arguments: a solver by name and a robot by name. A process of its own, for in another one earlier tests have loaded
kernels already.
"""

import sys
import traceback

import numba.core.event
import numpy as np
import served_robots

from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.kinematic_tree import POSITION_SIZE
from ssik_ros.model.loader import load_robot
from ssik_ros.serving.constraints import JointWish
from ssik_ros.serving.constraints import OrientationWish
from ssik_ros.serving.constraints import PositionWish
from ssik_ros.serving.constraints import Wishes
from ssik_ros.serving.group_choice import choose_groups
from ssik_ros.serving.poses import numbers_of_pose
from ssik_ros.serving.poses import pose_of_numbers
from ssik_ros.serving.questions import FramedPose
from ssik_ros.serving.questions import IkQuestion
from ssik_ros.serving.questions import NOTHING_CARRIED
from ssik_ros.serving.questions import NOTHING_GIVEN
from ssik_ros.serving.questions import StateGiven
from ssik_ros.serving.regions import RegionPart
from ssik_ros.serving.regions import Solid
from ssik_ros.serving.robot_server import RobotServer
from ssik_ros.solvers.kinematics_yaml import GroupKinematics

ROBOTS = {
    'four_axes': lambda: load_robot(
        served_robots.robot_text(*served_robots.FOUR_AXES, name='four_axes')
    ),
    'torso': served_robots.torso_robot,
    'mobile_planar': lambda: served_robots.mobile_robot('planar'),
    'mobile_floating': lambda: served_robots.mobile_robot('floating'),
    'standing': lambda: served_robots.standing_robot('floating'),
    'inner_multi': served_robots.inner_multi_robot,
}


class CompilerUse(numba.core.event.Listener):
    """Collects who waits for the compiler, be it for machine code from the cache."""

    def __init__(self):
        self.places = []

    def on_start(self, event):
        """Note the line of this package that needs the compiler."""
        del event
        own = [f for f in traceback.extract_stack() if '/ssik_ros/' in f.filename]
        self.places.append(f'{own[-1].filename}:{own[-1].lineno}' if own else 'elsewhere')

    def on_end(self, event):
        """Do nothing: the beginning has been noted."""


def every_joint_given(robot):
    """Return a state that names each joint with several variables, virtual ones included."""
    names = [
        name
        for name, kind in zip(robot.tree.joint_names, robot.tree.kinds, strict=True)
        if POSITION_SIZE[JointKind(kind)] > 1
    ]
    names += [joint.name for joint in robot.virtual_joints if joint.name not in names]
    here = [pose_of_numbers(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)] * len(names)
    return StateGiven(multi_dof_names=names, multi_dof_poses=here)


def every_constraint(robot, link, pose):
    """Return constraints of every kind."""
    ball = RegionPart(Solid.SPHERE, (1.0,), pose)
    return Wishes(
        [JointWish(robot.variable_names[0], 0.0, 1.0, 1.0)],
        [PositionWish(link, '', np.zeros(3), [ball])],
        [
            OrientationWish(link, '', pose, (1.0, 1.0, 1.0), is_vector)
            for is_vector in (False, True)
        ],
    )


def ask(server, rng):
    """Ask about every group: tips and links behind them, frames, collisions, states; return how often."""
    robot, count = server.robot, 0
    for group in server.groups.values():
        if group.solver is None:
            continue
        tips, name = list(group.solver.tip_frames), group.group.name
        current = served_robots.random_full_state(robot, rng)
        there = server.forward(tips, robot.model_frame, NOTHING_GIVEN, current)
        behind = [k for k in robot.tree.link_index if k not in tips][-1]
        asked = [(tips, '', False), (tips, tips[0], True), ([behind], '', False)]
        for links, frame, avoid in asked:
            poses = [FramedPose(frame, pose_of_numbers(*numbers_of_pose(p))) for p in there.poses]
            for given in (NOTHING_GIVEN, every_joint_given(robot)):
                question = IkQuestion(name, links, poses[: len(links)], given, timeout=0.01)
                question.avoid_collisions = avoid
                server.answer(question, current)
                count += 1
                question.constraints = every_constraint(robot, links[0], there.poses[0])
                server.answer(question, current)
        server.judge(name, NOTHING_GIVEN, NOTHING_CARRIED, question.constraints, current)
    return count


def main(solver, robot_name):
    """Print the number of questions, then each place that met the compiler."""
    robot = ROBOTS[robot_name]()
    groups = choose_groups(robot, [], base='', tip='', name='')
    kinematics = {group.name: GroupKinematics(group.name, solver) for group in groups}
    server = RobotServer(robot, groups, kinematics)
    server.warm_up()
    use = CompilerUse()
    with numba.core.event.install_listener('numba:compiler_lock', use):
        count = ask(server, np.random.default_rng(7))
    print(count, *dict.fromkeys(use.places), sep='\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
