"""
Call everything that Python programs may call with wrong arguments: ``python wrong_calls.py [COUNT [SEED [NAME]]]``.

A call may return, or raise an error of the package, or one of the system about a file. TypeError and ValueError of Python or
numpy are faults unless their messages name the argument. Anything else is a fault, as are a call without end and a process that
dies. The program prints one JSON list for each fault, then the number of calls.
"""

from collections import Counter
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import json
import os
from pathlib import Path
import random
import re
import resource
import signal
import sys
import tempfile

import numpy as np

MEMORY = 6 << 30
"""Of the address space [bytes]."""
SECONDS = 20
"""Of one call."""
CALLS_OF_A_WORLD = 40
"""Calls change environments and mechanisms: so many are made with the same objects."""
ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'robots'


def nested(depth):
    """Return a list in a list in a list."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def endless():
    """Return a list that contains itself."""
    value = []
    value.append(value)
    return value


HOSTILE = {
    'None': lambda: None,
    'True': lambda: True,
    'text': lambda: 'x',
    'no text': lambda: '',
    'long text': lambda: 'x' * 100_000,
    'NUL': lambda: 'a\0b',
    'surrogate': lambda: '\ud800',
    'lines': lambda: 'a\nb',
    'bytes': lambda: b'x',
    'complex': lambda: 1 + 2j,
    'nan': lambda: float('nan'),
    'inf': lambda: float('inf'),
    '-inf': lambda: -float('inf'),
    '-1': lambda: -1,
    '0': lambda: 0,
    '1.5': lambda: 1.5,
    '10**400': lambda: 10**400,
    '-10**400': lambda: -(10**400),
    '2**63': lambda: 2**63,
    '2**31': lambda: 2**31,
    '1e308': lambda: 1e308,
    '-1e308': lambda: -1e308,
    'tiny': lambda: 5e-324,
    'empty list': list,
    'empty dict': dict,
    'empty tuple': tuple,
    'set': lambda: {1, 2},
    'object': object,
    'class': lambda: int,
    'function': lambda: lambda *_: None,
    'iterator': lambda: iter([1.0, 2.0]),
    'generator': lambda: (k for k in 'ab'),
    'range': lambda: range(3),
    'two numbers': lambda: [1.0, 2.0],
    'list of None': lambda: [None] * 6,
    'list of text': lambda: ['a'] * 6,
    'list of huge': lambda: [10**400] * 6,
    'list of nan': lambda: [float('nan')] * 6,
    'list of objects': lambda: [object()] * 6,
    'list of dicts': lambda: [{}] * 3,
    'ragged': lambda: [[1.0, 2.0], [3.0]],
    'nested': lambda: nested(5000),
    'endless': endless,
    'dict of numbers': lambda: {1: 2},
    'dict of None': lambda: {'a': None},
    'dict of huge': lambda: {'elbow_joint': 10**400},
    'no rows': lambda: np.zeros((0, 4, 4)),
    'no numbers': lambda: np.zeros(0),
    'nan pose': lambda: np.full((4, 4), np.nan),
    'huge pose': lambda: np.eye(4) * 1e308,
    'flat pose': lambda: np.zeros((4, 4)),
    'six': lambda: np.zeros(6),
    'huge six': lambda: np.full(6, 1e308),
    'seven': lambda: np.zeros(7),
    'five axes': lambda: np.zeros((1, 1, 1, 1, 1)),
    'complex array': lambda: np.eye(4) * 1j,
    'object array': lambda: np.array([None] * 6, dtype=object),
    'huge objects': lambda: np.array([10**400] * 6, dtype=object),
    'bool array': lambda: np.ones(6, dtype=bool),
    'text array': lambda: np.array(['a'] * 6),
    'date': lambda: datetime.datetime(2000, 1, 1),
    'NaT': lambda: np.datetime64('NaT'),
    'decimal': lambda: decimal.Decimal('1e999'),
    'fraction': lambda: fractions.Fraction(1, 3),
    'int8': lambda: np.int8(-1),
    'float32': lambda: np.float32('nan'),
    'masked': lambda: np.ma.masked_all(6),
    'memoryview': lambda: memoryview(b'abc'),
    'many numbers': lambda: np.broadcast_to(0.0, (2_000, 6)),
    'no path': lambda: Path('/nowhere/at/all'),
    'folder': lambda: Path('/tmp'),
    'Exception': lambda: ValueError('x'),
}
"""In place of any argument, by a name."""


class World:
    """Objects to call, and values that are right for each argument."""

    def __init__(self, work):
        """Make them."""
        import ssik_ros
        from ssik_ros import mechanisms
        from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
        from ssik_ros.tasks import compat, Environment, RobotScene

        self.robot, self.arm, self.reach, reach_folder = _kept(work)
        arm, robot = self.arm, self.robot
        q, pose = arm.neutral, arm.fk(arm.neutral)
        shape = ObjectShape(SolidKind.BOX, (0.1, 0.1, 0.1), np.eye(4))
        env = Environment()
        first = env.add_joint('revolute', 'a', limits=(-2.0, 2.0))
        second = env.add_joint('revolute', 'b', parent=first, pose=[1, 0, 0, 0, 0, 0, 1])
        tip = env.add_dummy('tip', parent=second, pose=[1, 0, 0, 0, 0, 0, 1])
        target = env.add_dummy('target', pose=[1.2, 0.8, 0, 0, 0, 0, 1])
        tasks = env.add_task_set('set')
        task = tasks.add_task(tip, target=target, constraints=3)
        link, joint, hand = mechanisms.Link('l'), mechanisms.Joint('j'), mechanisms.Link('h')
        joint.set_dof(mechanisms.DOF.EZ)
        link.add_child(joint)
        joint.add_child(hand)
        goal = mechanisms.Goal('g')
        goal.make_closure(hand)
        handles = {}
        handles['environmentHandle'] = handle = compat.createEnvironment()
        handles['jointHandle'] = compat.createJoint(handle, compat.jointtype_revolute, 'j')
        handles['depJointHandle'] = compat.createJoint(handle, compat.jointtype_prismatic, 'k')
        handles['tipDummyHandle'] = compat.createDummy(handle, 'tip')
        handles['targetDummyHandle'] = compat.createDummy(handle, 'target')
        compat.setObjectParent(handle, handles['tipDummyHandle'], handles['jointHandle'])
        compat.setTargetDummy(handle, handles['tipDummyHandle'], handles['targetDummyHandle'])
        handles['ikGroupHandle'] = compat.createGroup(handle, 'g')
        handles['elementHandle'] = compat.addElement(
            handle, handles['ikGroupHandle'], handles['tipDummyHandle']
        )
        scene = RobotScene(robot)
        compat.use_scene(scene)
        self.values = {
            **handles,
            'objectHandle': handles['tipDummyHandle'],
            **{'ikGroup': handles['ikGroupHandle'], 'ikGroups': [handles['ikGroupHandle']]},
            **{
                'ikGroupHandles': [handles['ikGroupHandle']],
                'tipHandle': handles['tipDummyHandle'],
            },
            **{'jointHandles': [handles['jointHandle']], 'dummyHandle': handles['tipDummyHandle']},
            **{
                'linkedDummyHandle': handles['targetDummyHandle'],
                'baseHandle': -1,
                'baseObject': -1,
            },
            **{'parentObjectHandle': handles['jointHandle'], 'lastJoint': handles['jointHandle']},
            **{'tipMatrix': np.eye(4)[:3].ravel(), 'targetHandle': handles['targetDummyHandle']},
            **{'handle': compat.createDebugOverlay(handle, handles['tipDummyHandle'])},
            **{
                'ikGroupName': 'g',
                'objectName': 'tip',
                'dummyName': '',
                'jointName': '',
                'index': 0,
            },
            **{'eulerOrQuaternion': [0, 0, 0], 'weights': [1, 1], 'precision': [1e-3, 1e-3]},
            **{'jointType': 10, 'jointMode': 1, 'interval': [-1, 2], 'cyclic': False, 'data': b''},
            **{'flags': 1, 'method': 0, 'damping': 0.1, 'maxIterations': 3, 'pathPointCount': 2},
            **{'stepSize': 0.1, 'margin': 0.1, 'lead': 0.0, 'weight': 1.0, 'constraints': 3},
            **{'T_target': pose, 'Tep': pose, 'q': q, 'q0': q, 'q_seed': q, 'poses': pose[None]},
            **{'xyz': pose[:3, 3], 'pose': pose, 'matrix': np.eye(4), 'target': pose, 'seed': q},
            **{
                'H': arm.kinbody.axes,
                'P': np.full((7, 3), 0.1),
                'alpha': [0.1] * 6,
                'a': [0.1] * 6,
            },
            **{'d': [0.1] * 6, 'T': np.tile(np.eye(4), (7, 1, 1)), 'chain': arm, 'robot': robot},
            **{
                'group': arm.group,
                'name': 'ur5e',
                'urdf': URDF,
                'srdf': SRDF,
                'path': reach_folder,
            },
            **{'package_or_robot_name': 'ur5e', 'waypoints': np.stack([pose, pose]), 'rng': 0},
            **{
                'robot_state': ssik_ros.RobotState(robot),
                'targets': [ssik_ros.PoseTarget('tool0', pose)],
            },
            **{'kinbody_or_robot': arm.kinbody, 'joints': [first, second], 'home': np.eye(4)},
            **{'type': 'revolute', 'axis': [0.0, 0.0, 1.0], 'point': np.zeros(3), 'limits': None},
            **{'link': 'tool0', 'link_a': 'tool0', 'link_b': 'wrist_3_link', 'base': None},
            **{
                'positions': robot.default_positions(),
                'values': {'elbow_joint': 0.1},
                'value': 0.1,
            },
            **{'state': 'home', 'other': self.reach, 'sols': [], 'kb': arm.kinbody, 'k': 1},
            **{'child': mechanisms.Link('c'), 'condition': bool, 'callback': lambda *_: None},
            **{'dof': mechanisms.DOF.EZ, 'leader': _free_joint(), 'leader_dof': mechanisms.DOF.EX},
            **{
                'low': -1.0,
                'high': 1.0,
                'roots': link,
                'frames': [link],
                'source': robot,
                'tip': tip,
            },
            **{'names': ['elbow_joint'], 'kind': 'revolute', 'reference': first, 'item': first},
            **{'last_joint': second, 'tip_pose': np.eye(4), 'points': 2, 'frame': 'tool0'},
            **{
                'position': [0.1, 0.2, 0.3],
                'parent': None,
                'master': second,
                'scene': scene,
                'new': None,
                'message': 'x',
            },
        }
        self.of_callable = {
            'RobotModel.group_from_links': {'base': 'base_link', 'tip': 'tool0'},
            'RobotModel.group': {'name': 'ur_manipulator'},
            'RobotModel.require_joint': {'name': 'elbow_joint'},
            'RobotModel.sample': {'rng': np.random.default_rng(0)},
            'RobotState.joint_positions': {'name': 'elbow_joint'},
            'RobotModel.named_state': {'group': 'ur_manipulator'},
            'ReachMap.measure': {'name': 'status'},
            'ReachMap.read': {'name': 'status'},
            'ReachMap.slice': {'axis': 'z'},
            'mechanisms.load_mechanism': {'name': mechanisms.mechanism_names()[0]},
            'mechanisms.read_loop_closures': {'path': LOOPS},
            'UrdfRobot.from_joint_state': {'positions': [0.1]},
            'Joint.set_limits': {'dof': mechanisms.DOF.EZ},
            'Frame.set_matrix': {}, 'Solver': {}, 'WorkerSolver': {},
            'IkJoint.place': {'relative_to': None}, 'Dummy.place': {'relative_to': None},
            'IkJoint.local': {'relative_to': None}, 'Dummy.local': {'relative_to': None},
            'RobotScene.apply': {'positions': {'elbow_joint': 0.1}},
            'RobotScene': {'positions': None},
            'RobotScene.set_frame': {'name': 'f'},
            'KinBody': {'joints': arm.kinbody.joints},
            'TaskSet.task': {'reference': task}, 'Environment.dummy': {'reference': tip},
            'Environment.task_set': {'reference': tasks},
            'compat.setSphericalJointMatrix': {'matrix': np.eye(4)[:3].ravel()},
            'compat.setObjectMatrix': {'matrix': np.eye(4)[:3].ravel()},
            'compat.setObjectPose': {'pose': [0, 0, 0, 0, 0, 0, 1]},
            'compat.setJointPosition': {'position': 0.1}, 'compat.scene_handle': {'name': 'tool0'},
            'Manipulator.from_group': {'group': 'ur_manipulator'},
            'RobotState.set_joint_positions': {},
            'Environment.load': {'source': env.save()},
            'Environment.add_joint': {'name': 'new'}, 'Environment.add_dummy': {'name': 'new'},
            'Environment.add_task_set': {'name': 'new', 'method': None},
            'Environment': {'name': 'new'}, 'Overlay': {'world': env}, 'KinBodyJoint': {'axis': np.array([0.0, 0, 1])},
            'IkJoint.bring_inside': {}, 'Manipulator.tracker': {}, 'compat.load': {'data': compat.save(handle)},
            'ArmScene': {}, 'TaskSet.generate_path': {'tip': tip}, 'TaskSet.follow_path': {'poses': [np.eye(4)]},
            'Joint.set_position': {'position': 0.1}, 'SolveRequest': {'targets': pose}, 'Tracker.set_posture': {'posture': q},
            'TaskSet.add_task_from_scene': {'base': None, 'tip': 'tool0', 'target': 'wrist_1_link'},
        }  # fmt: skip
        world_object = WorldObject('box', np.eye(4), (shape,))
        self.options = _options(arm, pose, world_object)
        self.callables = dict(
            _callables(
                {
                    'Manipulator': arm,
                    'ArmScene': ssik_ros.ArmScene(robot, arm.group),
                    'KinBody': arm.kinbody,
                    'RobotModel': robot,
                    'RobotState': self.values['robot_state'],
                    'Tracker': arm.tracker(q, max_joint_step=0.1),
                    'ReachMap': self.reach,
                    'Frame': mechanisms.Frame('f'),
                    'Link': hand,
                    'Joint': joint,
                    'Goal': goal,
                    'Solver': mechanisms.Solver(link),
                    'UrdfRobot': mechanisms.from_urdf(robot),
                    'Environment': env,
                    'Dummy': tip,
                    'IkJoint': first,
                    'Task': task,
                    'TaskSet': tasks,
                    'RobotScene': scene,
                    'SolveResult': env.solve(),
                }
            )
        )


URDF = ROBOTS / 'ur5e_moveit_config' / 'config' / 'ur5e.urdf'
SRDF = URDF.with_suffix('.srdf')
LOOPS = next((ROBOTS.parent / 'mechanisms').rglob('loop_closures.yaml'))


@functools.cache
def _kept(work):
    """Return a robot, its arm, and a map of it: objects that calls do not change."""
    import ssik_ros
    from ssik_ros.model.serial_chain import SerialChain
    from ssik_ros.reach import ReachMap
    from ssik_ros.reach.engine import Workers
    from ssik_ros.reach.grid import Grid, GridRegion
    from ssik_ros.reach.mapping import make_map, make_plan
    from ssik_ros.reach.orientations import spread_orientations

    robot = ssik_ros.load_robot(URDF, SRDF)
    arm = ssik_ros.Manipulator(robot, robot.group('ur_manipulator'))
    chain = SerialChain.from_group(robot, arm.group)
    grid = Grid(GridRegion.sphere((0.0, 0.0, 0.2), 0.8), 0.8, spread_orientations(2))
    make_map(make_plan(chain, 'arm', grid), Path(work) / 'map.zarr', Workers(0))
    return robot, arm, ReachMap.open(Path(work) / 'map.zarr'), Path(work) / 'map.zarr'


def _free_joint():
    """Return a joint to follow."""
    from ssik_ros import mechanisms

    joint = mechanisms.Joint('leader')
    joint.set_dof(mechanisms.DOF.EX)
    return joint


def _options(arm, pose, world_object):
    """Return right values of keywords that a signature does not show, by callable."""
    search = {
        'rows': None,
        'hold': {'elbow_joint': 0.5},
        'kq': 0.0,
        'ps': 0.1,
        'pi': 0.3,
        'km': 0.0,
    }
    search |= {'kp': 0.0, 'posture': None, 'joint_weights': np.ones(6), 'max_step': 0.5}
    search |= {'sample_range': (-1.0, 1.0), 'gives_up': True, 'normalize': True, 'timeout': 0.1}
    search |= {'validate': None, 'independent': False, 'threads': 1, 'max_joint_step': None}
    search |= {'jump_threshold': 0.5, 'target_tolerance': 1e-4}
    solve_options = {'seed_metric': 'wrap_l2', 'seed_tolerance': None, 'enumerate_windings': False}
    solve_options |= {'hold': None, 'arm_angle': None, 'redundancy_samples': None, 'method': None}
    solve_options |= {
        'timeout': None,
        'scene': None,
        'cost': None,
        'target_tolerance': 1e-6,
        'max_solutions': 1,
    }
    solve_options |= {
        'respect_limits': True,
        'allow_refinement': False,
        'refinement_max_iters': 3,
        'q0': None,
    }
    solve_options |= {'policy': arm.policy, 'gd_max_iters': 5, 'optimization_timeout': 0.01}
    path = {'start': None, 'tolerance': None, 'spin_axis': None, 'clearance': 0.0, 'timeout': 5.0}
    path |= {'velocity_limits': None, 'feed': None, 'corner': 0.0, 'objective': None, 'threads': 1}
    path |= {'obstacles': (world_object,), 'end': None, 'max_joint_step': None, 'seed': 0}
    solve = {'max_iterations': 3, 'priority': 'strict', 'sync': None, 'allow_error': False}
    solve |= {'debug': 0, 'callback': None}
    search_tasks = {
        'timeout': 0.1,
        'max_configs': 2,
        'validation': None,
        'seed': 0,
        'metric': None,
    }
    joint = {'limits': (-1.0, 1.0), 'mode': 'ik', 'weight': 1.0, 'max_step': 0.1, 'position': 0.0}
    solver = {'max_iterations': 3, 'damping': 0.1, 'divergence_threshold': 1.0, 'timeout': 0.1}
    return {
        **dict.fromkeys(('Manipulator.ik_LM', 'ik_LM', 'ik_NR', 'ik_GN'), search),
        **dict.fromkeys(('Manipulator.solve_position',), search),
        'Manipulator.tracker': {
            **search,
            'dt': 0.01,
            'velocity_limits': np.ones(6),
            'max_iterations': 3,
        },
        **dict.fromkeys(('Manipulator.solve', 'Manipulator.solve_q'), solve_options),
        'Manipulator.solve_batch': solve_options,
        'Manipulator.solver': {'target_tolerance': 1e-3, 'gd_max_iters': 5},
        **dict.fromkeys(('Manipulator.plan', 'plan_tool_path'), path),
        'TaskSet.solve': solve,
        **dict.fromkeys(('TaskSet.find_configs', 'TaskSet.follow_path'), search_tasks),
        'TaskSet.generate_path': search_tasks,
        'Environment.add_joint': joint,
        'Environment.add_task_set': {'max_iterations': 3, 'damping': 0.1, 'flags': 1},
        'TaskSet.add_task': {'weights': (1.0, 1.0), 'precision': (1e-3, 1e-3), 'enabled': True},
        **dict.fromkeys(('Solver.configure', 'mechanisms.Solver'), solver),
        'Environment.debug_overlay': {'scale': 1.0, 'text': False, 'limits': False},
    }


NOT_CALLED = {
    'Manipulator.show',  # opens a browser
    'Environment.slot_tables', 'Environment.world_pose', 'Environment.wraps', 'Environment.follow',
    'Environment.changed', 'Environment.copy_to', 'Environment.make_task_set', 'Environment.require_open',
    'Dummy.place', 'IkJoint.place', 'Dummy.local', 'IkJoint.local', 'TaskSet.forget', 'ArmScene.colliding_pair', 'ArmScene.is_free',
    'RobotModel.set_followers', 'RobotModel.with_mimic',
}  # fmt: skip
"""Calls of the package itself, and those that need a person."""
CALLED = frozenset(
    ('callback', 'condition', 'validate', 'validation', 'validationCallback', 'cost')
)
"""Arguments that are functions."""
DATA = (
    'BatchSolutions Continuum Diagnostic IkOutcome IkResult IkSolution IkSolutions JointGroup RobotModel Solution SsikError '
    'Tracker mechanisms.ChainResult mechanisms.CompletedState mechanisms.LoopClosure mechanisms.LoopClosures mechanisms.Marker '
    'mechanisms.UrdfRobot mechanisms.WorkerSolver tasks.Dummy tasks.IkJoint tasks.Marker tasks.Overlay tasks.PathResult '
    'tasks.Scene tasks.SolveResult tasks.Task tasks.TaskSet tasks.DocumentError reach.ReachMap'
)
"""Classes whose objects the package makes."""


def _callables(objects):
    """Yield name and function of everything to call: functions, classes, methods and properties that can be set."""
    import ssik_ros
    from ssik_ros import mechanisms, postprocess, reach, tasks
    from ssik_ros.tasks import compat

    modules = {'': ssik_ros, 'mechanisms.': mechanisms, 'tasks.': tasks, 'reach.': reach}
    left_out = set(DATA.split())
    for prefix, module in modules.items():
        for name in module.__all__:
            thing = getattr(module, name)
            is_enum = isinstance(thing, type) and issubclass(thing, enum.Enum)
            is_own = getattr(thing, '__module__', '').startswith('ssik_ros') and callable(thing)
            if is_own and not is_enum and prefix + name not in left_out:
                yield prefix + name, thing
    for prefix, module in (('postprocess.', postprocess), ('compat.', compat)):
        for name, thing in vars(module).items():
            is_own = inspect.isfunction(thing) and thing.__module__.startswith(module.__name__)
            if is_own and not name.startswith('_'):
                yield prefix + name, thing
    for owner, thing in objects.items():
        for name in dir(type(thing)):
            if name.startswith('_') or f'{owner}.{name}' in NOT_CALLED:
                continue
            attribute = inspect.getattr_static(type(thing), name)
            if isinstance(attribute, property):
                if attribute.fset is not None:
                    yield f'{owner}.{name} =', functools.partial(setattr_of, thing, name)
            elif callable(getattr(type(thing), name)) and not isinstance(attribute, type):
                yield f'{owner}.{name}', getattr(thing, name)


def setattr_of(thing, attribute, value):
    """Set an attribute."""
    setattr(thing, attribute, value)


def arguments_of(world, name, function):
    """Return the parameters of a callable, with right values of those that it needs, and its further keywords."""
    given = {
        **world.values,
        **world.of_callable.get(name, {}),
        **world.of_callable.get(name.split('.')[-1], {}),
    }
    right, names = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        names.append(parameter)
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            if parameter.name not in given:
                print('MISSING', name, parameter.name)
            right[parameter.name] = given.get(parameter.name)
    return names, right


def call(function, names, arguments):
    """Call a function with arguments by name; those that stand for several become the first of them."""
    several = [p.name for p in names if p.kind is p.VAR_POSITIONAL and p.name in arguments]
    if several:
        return function(*[arguments[p.name] for p in names if p.name in arguments])
    positional = [p.name for p in names if p.kind is p.POSITIONAL_ONLY]
    rest = {name: value for name, value in arguments.items() if name not in positional}
    return function(*[arguments[name] for name in positional], **rest)


class TookTooLong(BaseException):
    """A call did not end."""


def stop(*_):
    """End a call."""
    raise TookTooLong


def judge(action, argument):
    """Return the fault of a call, an empty text for a right end."""
    from ssik_ros.errors import SsikError

    signal.alarm(SECONDS)
    try:
        result = action()
        if inspect.isgenerator(result):
            list(result)
    except (OSError, SsikError):
        # Sentences of the package, and of the system about a path.
        return ''
    except (TypeError, ValueError) as error:
        text = str(error)
        words = {argument, *NAMES.get(argument, ())}
        if not any(
            re.search(rf'(?i)(?<![a-z]){re.escape(word)}(?![a-z])', text) for word in words
        ):
            return f'no name: {type(error).__name__}: {text[:150]}'
        return ''
    except TookTooLong:
        return f'more than {SECONDS} s'
    except BaseException as error:
        return f'{type(error).__name__}: {str(error)[:150]}'
    finally:
        signal.alarm(0)
    return ''


_OBJECT = 'object', 'handle', 'joint', 'dummy', 'frame', 'link', 'environment'
NAMES = {
    **dict.fromkeys(('environmentHandle',), ('environment',)),
    **dict.fromkeys(
        ('ikGroup', 'ikGroupHandle', 'ikGroups', 'ikGroupHandles'), ('task set', 'scene')
    ),
    **dict.fromkeys(('ikGroupName', 'task_sets', 'method'), ('task set', 'solver')),
    **dict.fromkeys(('elementHandle',), ('task', 'element')),
    **dict.fromkeys(('jointHandle', 'depJointHandle', 'objectHandle', 'dummyHandle'), _OBJECT),
    **dict.fromkeys(('linkedDummyHandle', 'tipDummyHandle', 'targetDummyHandle'), _OBJECT),
    **dict.fromkeys(('parentObjectHandle', 'relativeToObjectHandle', 'baseObject'), _OBJECT),
    **dict.fromkeys(('tipHandle', 'baseHandle', 'constraintsBaseHandle', 'lastJoint'), _OBJECT),
    **dict.fromkeys(
        ('targetHandle', 'jointHandles', 'handle', 'objectName', 'index'), (*_OBJECT, 'overlay')
    ),
    **dict.fromkeys(
        ('reference', 'relative_to', 'parent', 'base', 'tip', 'target'), (*_OBJECT, 'task')
    ),
    **dict.fromkeys(('master', 'last_joint', 'joints', 'item', 'frame', 'child'), _OBJECT),
    **dict.fromkeys(
        ('link', 'link_a', 'link_b', 'keep', 'ee', 'passive'), ('link', 'frame', 'joint')
    ),
    **dict.fromkeys(
        ('jointName', 'dummyName', 'name'), ('object', 'joint', 'group', 'robot', 'measure')
    ),
    **dict.fromkeys(('jointType', 'kind'), ('joint type', 'scene')),
}
"""Nouns that stand for an argument in messages."""


def main(count=6000, seed=0, only=''):
    """Run the campaign."""
    count, rng = int(count), random.Random(int(seed))
    signal.signal(signal.SIGALRM, stop)
    with tempfile.TemporaryDirectory() as work:
        # Some calls write files under any name.
        os.chdir(work)
        World(work)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        verdicts, faults, world = Counter(), Counter(), None
        for number in range(count):
            if number % CALLS_OF_A_WORLD == 0:
                world = World(work)
                names = [name for name in world.callables if only in name]
            name = rng.choice(names)
            function = world.callables[name]
            parameters, right = arguments_of(world, name, function)
            options = world.options.get(name, {})
            places = [p.name for p in parameters] + list(options)
            if not places:
                continue
            argument, label = rng.choice(places), rng.choice(list(HOSTILE))
            if argument in CALLED and label == 'class':
                # The error of a function is an error of the caller's program.
                continue
            right[argument] = HOSTILE[label]()
            said = name.split('.')[-1].removesuffix(' =') if name.endswith('=') else argument
            fault = judge(lambda f=function, p=parameters, a=right: call(f, p, a), said)
            verdicts['fault' if fault else 'right'] += 1
            if fault:
                faults[name] += 1
                print(json.dumps([name, argument, label, fault]), flush=True)
        print(json.dumps(dict(verdicts)))


if __name__ == '__main__':
    main(*sys.argv[1:])
