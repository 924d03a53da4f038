"""
The API of ported scripts: integer handles, its argument order, its defaults.

>>> from ssik_ros.tasks import compat as simIK
>>> env = simIK.createEnvironment()

Environments have nested priorities and element weights that act as gains, as there. What is new: ``use_scene`` and
``scene_handle`` stand for the simulator, ``overlay_of`` gives the markers of a debug overlay.
"""

from ssik_ros.tasks.compat.calculation import computeGroupJacobian
from ssik_ros.tasks.compat.calculation import computeJacobian
from ssik_ros.tasks.compat.calculation import findConfigs
from ssik_ros.tasks.compat.calculation import generatePath
from ssik_ros.tasks.compat.calculation import getAlternateConfigs
from ssik_ros.tasks.compat.calculation import handleGroup
from ssik_ros.tasks.compat.calculation import handleGroups
from ssik_ros.tasks.compat.deprecated import applyIkEnvironmentToScene
from ssik_ros.tasks.compat.deprecated import applySceneToIkEnvironment
from ssik_ros.tasks.compat.deprecated import findConfig
from ssik_ros.tasks.compat.deprecated import getConfigForTipPose
from ssik_ros.tasks.compat.deprecated import getLinkedDummy
from ssik_ros.tasks.compat.deprecated import setLinkedDummy
from ssik_ros.tasks.compat.frames import createDummy
from ssik_ros.tasks.compat.frames import doesObjectExist
from ssik_ros.tasks.compat.frames import eraseObject
from ssik_ros.tasks.compat.frames import getObjectHandle
from ssik_ros.tasks.compat.frames import getObjectMatrix
from ssik_ros.tasks.compat.frames import getObjectParent
from ssik_ros.tasks.compat.frames import getObjectPose
from ssik_ros.tasks.compat.frames import getObjects
from ssik_ros.tasks.compat.frames import getObjectTransformation
from ssik_ros.tasks.compat.frames import getObjectType
from ssik_ros.tasks.compat.frames import getTargetDummy
from ssik_ros.tasks.compat.frames import setObjectMatrix
from ssik_ros.tasks.compat.frames import setObjectParent
from ssik_ros.tasks.compat.frames import setObjectPose
from ssik_ros.tasks.compat.frames import setObjectTransformation
from ssik_ros.tasks.compat.frames import setTargetDummy
from ssik_ros.tasks.compat.joints import createJoint
from ssik_ros.tasks.compat.joints import getJointDependency
from ssik_ros.tasks.compat.joints import getJointInterval
from ssik_ros.tasks.compat.joints import getJointLimitMargin
from ssik_ros.tasks.compat.joints import getJointMatrix
from ssik_ros.tasks.compat.joints import getJointMaxStepSize
from ssik_ros.tasks.compat.joints import getJointMode
from ssik_ros.tasks.compat.joints import getJointPosition
from ssik_ros.tasks.compat.joints import getJointScrewLead
from ssik_ros.tasks.compat.joints import getJointTransformation
from ssik_ros.tasks.compat.joints import getJointType
from ssik_ros.tasks.compat.joints import getJointWeight
from ssik_ros.tasks.compat.joints import setJointDependency
from ssik_ros.tasks.compat.joints import setJointInterval
from ssik_ros.tasks.compat.joints import setJointLimitMargin
from ssik_ros.tasks.compat.joints import setJointMaxStepSize
from ssik_ros.tasks.compat.joints import setJointMode
from ssik_ros.tasks.compat.joints import setJointPosition
from ssik_ros.tasks.compat.joints import setJointScrewLead
from ssik_ros.tasks.compat.joints import setJointWeight
from ssik_ros.tasks.compat.joints import setSphericalJointMatrix
from ssik_ros.tasks.compat.joints import setSphericalJointRotation
from ssik_ros.tasks.compat.registry import overlay_of
from ssik_ros.tasks.compat.registry import scene_handle
from ssik_ros.tasks.compat.registry import use_scene
from ssik_ros.tasks.compat.tasks import addElement
from ssik_ros.tasks.compat.tasks import createGroup
from ssik_ros.tasks.compat.tasks import doesGroupExist
from ssik_ros.tasks.compat.tasks import getElementBase
from ssik_ros.tasks.compat.tasks import getElementConstraints
from ssik_ros.tasks.compat.tasks import getElementFlags
from ssik_ros.tasks.compat.tasks import getElementPrecision
from ssik_ros.tasks.compat.tasks import getElementWeights
from ssik_ros.tasks.compat.tasks import getGroupCalculation
from ssik_ros.tasks.compat.tasks import getGroupFlags
from ssik_ros.tasks.compat.tasks import getGroupHandle
from ssik_ros.tasks.compat.tasks import getGroupJointLimitHits
from ssik_ros.tasks.compat.tasks import getGroupJoints
from ssik_ros.tasks.compat.tasks import setElementBase
from ssik_ros.tasks.compat.tasks import setElementConstraints
from ssik_ros.tasks.compat.tasks import setElementFlags
from ssik_ros.tasks.compat.tasks import setElementPrecision
from ssik_ros.tasks.compat.tasks import setElementWeights
from ssik_ros.tasks.compat.tasks import setGroupCalculation
from ssik_ros.tasks.compat.tasks import setGroupFlags
from ssik_ros.tasks.compat.worlds import addElementFromScene
from ssik_ros.tasks.compat.worlds import createDebugOverlay
from ssik_ros.tasks.compat.worlds import createEnvironment
from ssik_ros.tasks.compat.worlds import duplicateEnvironment
from ssik_ros.tasks.compat.worlds import eraseDebugOverlay
from ssik_ros.tasks.compat.worlds import eraseEnvironment
from ssik_ros.tasks.compat.worlds import load
from ssik_ros.tasks.compat.worlds import save
from ssik_ros.tasks.compat.worlds import syncFromSim
from ssik_ros.tasks.compat.worlds import syncToSim
from ssik_ros.tasks.constants import Constraint
from ssik_ros.tasks.constants import GroupFlag
from ssik_ros.tasks.constants import JointMode
from ssik_ros.tasks.constants import JointType
from ssik_ros.tasks.constants import Method
from ssik_ros.tasks.constants import ObjectType
from ssik_ros.tasks.constants import Outcome
from ssik_ros.tasks.constants import PARENT
from ssik_ros.tasks.constants import Reason
from ssik_ros.tasks.constants import TIP_FLAG
from ssik_ros.tasks.constants import WORLD

handle_world = WORLD
handle_parent = PARENT
handleflag_tipdummy = TIP_FLAG
constraint_x = int(Constraint.X)
constraint_y = int(Constraint.Y)
constraint_z = int(Constraint.Z)
constraint_alpha_beta = int(Constraint.ALPHA_BETA)
constraint_gamma = int(Constraint.GAMMA)
constraint_position = int(Constraint.POSITION)
constraint_orientation = int(Constraint.ORIENTATION)
constraint_pose = int(Constraint.POSE)
group_enabled = int(GroupFlag.ENABLED)
group_ignoremaxsteps = int(GroupFlag.IGNORE_MAX_STEPS)
group_restoreonbadlintol = int(GroupFlag.RESTORE_ON_BAD_LINEAR)
group_restoreonbadangtol = int(GroupFlag.RESTORE_ON_BAD_ANGULAR)
group_stoponlimithit = int(GroupFlag.STOP_ON_LIMIT_HIT)
group_avoidlimits = int(GroupFlag.AVOID_LIMITS)
calc_notperformed = int(Reason.NOT_PERFORMED)
calc_cannotinvert = int(Reason.CANNOT_INVERT)
calc_notwithintolerance = int(Reason.NOT_WITHIN_TOLERANCE)
calc_stepstoobig = int(Reason.STEPS_TOO_BIG)
calc_limithit = int(Reason.LIMIT_HIT)
calc_invalidcallbackdata = int(Reason.INVALID_CALLBACK_DATA)
result_not_performed = int(Outcome.NOT_PERFORMED)
result_success = int(Outcome.SUCCESS)
result_fail = int(Outcome.FAIL)
jointtype_revolute = int(JointType.REVOLUTE)
jointtype_prismatic = int(JointType.PRISMATIC)
jointtype_spherical = int(JointType.SPHERICAL)
jointmode_passive = int(JointMode.PASSIVE)
jointmode_ik = int(JointMode.IK)
objecttype_joint = int(ObjectType.JOINT)
objecttype_dummy = int(ObjectType.DUMMY)
method_pseudo_inverse = int(Method.PSEUDO_INVERSE)
method_damped_least_squares = int(Method.DAMPED_LEAST_SQUARES)
method_jacobian_transpose = int(Method.JACOBIAN_TRANSPOSE)
method_undamped_pseudo_inverse = int(Method.UNDAMPED_PSEUDO_INVERSE)

__all__ = [
    'addElement',
    'addElementFromScene',
    'applyIkEnvironmentToScene',
    'applySceneToIkEnvironment',
    'calc_cannotinvert',
    'calc_invalidcallbackdata',
    'calc_limithit',
    'calc_notperformed',
    'calc_notwithintolerance',
    'calc_stepstoobig',
    'computeGroupJacobian',
    'computeJacobian',
    'constraint_alpha_beta',
    'constraint_gamma',
    'constraint_orientation',
    'constraint_pose',
    'constraint_position',
    'constraint_x',
    'constraint_y',
    'constraint_z',
    'createDebugOverlay',
    'createDummy',
    'createEnvironment',
    'createGroup',
    'createJoint',
    'doesGroupExist',
    'doesObjectExist',
    'duplicateEnvironment',
    'eraseDebugOverlay',
    'eraseEnvironment',
    'eraseObject',
    'findConfig',
    'findConfigs',
    'generatePath',
    'getAlternateConfigs',
    'getConfigForTipPose',
    'getElementBase',
    'getElementConstraints',
    'getElementFlags',
    'getElementPrecision',
    'getElementWeights',
    'getGroupCalculation',
    'getGroupFlags',
    'getGroupHandle',
    'getGroupJointLimitHits',
    'getGroupJoints',
    'getJointDependency',
    'getJointInterval',
    'getJointLimitMargin',
    'getJointMatrix',
    'getJointMaxStepSize',
    'getJointMode',
    'getJointPosition',
    'getJointScrewLead',
    'getJointTransformation',
    'getJointType',
    'getJointWeight',
    'getLinkedDummy',
    'getObjectHandle',
    'getObjectMatrix',
    'getObjectParent',
    'getObjectPose',
    'getObjectTransformation',
    'getObjectType',
    'getObjects',
    'getTargetDummy',
    'group_avoidlimits',
    'group_enabled',
    'group_ignoremaxsteps',
    'group_restoreonbadangtol',
    'group_restoreonbadlintol',
    'group_stoponlimithit',
    'handleGroup',
    'handleGroups',
    'handle_parent',
    'handle_world',
    'handleflag_tipdummy',
    'jointmode_ik',
    'jointmode_passive',
    'jointtype_prismatic',
    'jointtype_revolute',
    'jointtype_spherical',
    'load',
    'method_damped_least_squares',
    'method_jacobian_transpose',
    'method_pseudo_inverse',
    'method_undamped_pseudo_inverse',
    'objecttype_dummy',
    'objecttype_joint',
    'overlay_of',
    'result_fail',
    'result_not_performed',
    'result_success',
    'save',
    'scene_handle',
    'setElementBase',
    'setElementConstraints',
    'setElementFlags',
    'setElementPrecision',
    'setElementWeights',
    'setGroupCalculation',
    'setGroupFlags',
    'setJointDependency',
    'setJointInterval',
    'setJointLimitMargin',
    'setJointMaxStepSize',
    'setJointMode',
    'setJointPosition',
    'setJointScrewLead',
    'setJointWeight',
    'setLinkedDummy',
    'setObjectMatrix',
    'setObjectParent',
    'setObjectPose',
    'setObjectTransformation',
    'setSphericalJointMatrix',
    'setSphericalJointRotation',
    'setTargetDummy',
    'syncFromSim',
    'syncToSim',
    'use_scene',
]
