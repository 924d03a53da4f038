"""
The API of ported scripts: integer handles, its argument order, its defaults.

>>> from ssik_ros.tasks import compat as simIK
>>> env = simIK.createEnvironment()

Environments have nested priorities and task weights that act as gains, as there. What is new: ``use_scene`` and
``scene_handle`` stand for the simulator, ``overlay_of`` gives the markers of a debug overlay.
"""

from ssik_ros.tasks.compat.calculation import (
    computeGroupJacobian,
    computeJacobian,
    findConfigs,
    generatePath,
    getAlternateConfigs,
    handleGroup,
    handleGroups,
)
from ssik_ros.tasks.compat.deprecated import (
    applyIkEnvironmentToScene,
    applySceneToIkEnvironment,
    findConfig,
    getConfigForTipPose,
    getLinkedDummy,
    setLinkedDummy,
)
from ssik_ros.tasks.compat.frames import (
    createDummy,
    doesObjectExist,
    eraseObject,
    getObjectHandle,
    getObjectMatrix,
    getObjectParent,
    getObjectPose,
    getObjects,
    getObjectTransformation,
    getObjectType,
    getTargetDummy,
    setObjectMatrix,
    setObjectParent,
    setObjectPose,
    setObjectTransformation,
    setTargetDummy,
)
from ssik_ros.tasks.compat.joints import (
    createJoint,
    getJointDependency,
    getJointInterval,
    getJointLimitMargin,
    getJointMatrix,
    getJointMaxStepSize,
    getJointMode,
    getJointPosition,
    getJointScrewLead,
    getJointTransformation,
    getJointType,
    getJointWeight,
    setJointDependency,
    setJointInterval,
    setJointLimitMargin,
    setJointMaxStepSize,
    setJointMode,
    setJointPosition,
    setJointScrewLead,
    setJointWeight,
    setSphericalJointMatrix,
    setSphericalJointRotation,
)
from ssik_ros.tasks.compat.registry import overlay_of, scene_handle, use_scene
from ssik_ros.tasks.compat.tasks import (
    addElement,
    createGroup,
    doesGroupExist,
    getElementBase,
    getElementConstraints,
    getElementFlags,
    getElementPrecision,
    getElementWeights,
    getGroupCalculation,
    getGroupFlags,
    getGroupHandle,
    getGroupJointLimitHits,
    getGroupJoints,
    setElementBase,
    setElementConstraints,
    setElementFlags,
    setElementPrecision,
    setElementWeights,
    setGroupCalculation,
    setGroupFlags,
)
from ssik_ros.tasks.compat.worlds import (
    addElementFromScene,
    createDebugOverlay,
    createEnvironment,
    duplicateEnvironment,
    eraseDebugOverlay,
    eraseEnvironment,
    load,
    save,
    syncFromSim,
    syncToSim,
)
from ssik_ros.tasks.constants import (
    Constraint,
    JointMode,
    JointType,
    Method,
    ObjectType,
    Outcome,
    PARENT,
    Reason,
    TaskSetFlag,
    TIP_FLAG,
    WORLD,
)

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
group_enabled = int(TaskSetFlag.ENABLED)
group_ignoremaxsteps = int(TaskSetFlag.IGNORE_MAX_STEPS)
group_restoreonbadlintol = int(TaskSetFlag.RESTORE_ON_BAD_LINEAR)
group_restoreonbadangtol = int(TaskSetFlag.RESTORE_ON_BAD_ANGULAR)
group_stoponlimithit = int(TaskSetFlag.STOP_ON_LIMIT_HIT)
group_avoidlimits = int(TaskSetFlag.AVOID_LIMITS)
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
