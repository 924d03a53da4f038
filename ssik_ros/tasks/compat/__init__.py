"""
The API of scripts that were written for CoppeliaSim's simIK plugin: integer handles, argument order and defaults.

>>> from ssik_ros.tasks import compat as simIK
>>> env = simIK.createEnvironment()

As in the original, environments use the priority ``nested``, and task weights scale errors only (``gain``). Three
functions are new: ``use_scene`` and ``scene_handle`` replace the simulator, ``overlay_of`` gives the markers of a debug
overlay.

Euler angles alpha, beta, gamma mean the rotation Rx(alpha) Ry(beta) Rz(gamma), as in CoppeliaSim [rad].

Every function may raise these errors; its docstring names the others:

- UnknownHandle (a KeyError): no environment, overlay or object of the scene has the handle, or it is not an integer.
- FrameNotFound (a KeyError): the environment does not have the object.
- TaskSetNotFound (a KeyError): the environment does not have the task set, or the task set not the task. Also for a
  handle of a task set that is not an integer.
- InvalidOption (a TypeError and a ValueError): an argument has a wrong type or is out of range, a mapping has an
  unknown key, or the object is of another kind, such as a dummy instead of a joint.
- DimensionMismatch (a ValueError): a list of numbers has another length.
"""

from types import FunctionType

from ssik_ros.tasks.compat.calculation import (
    computeGroupJacobian as computeGroupJacobian,
    computeJacobian as computeJacobian,
    findConfigs as findConfigs,
    generatePath as generatePath,
    getAlternateConfigs as getAlternateConfigs,
    handleGroup as handleGroup,
    handleGroups as handleGroups,
)
from ssik_ros.tasks.compat.deprecated import (
    applyIkEnvironmentToScene as applyIkEnvironmentToScene,
    applySceneToIkEnvironment as applySceneToIkEnvironment,
    findConfig as findConfig,
    getConfigForTipPose as getConfigForTipPose,
    getLinkedDummy as getLinkedDummy,
    setLinkedDummy as setLinkedDummy,
)
from ssik_ros.tasks.compat.frames import (
    createDummy as createDummy,
    doesObjectExist as doesObjectExist,
    eraseObject as eraseObject,
    getObjectHandle as getObjectHandle,
    getObjectMatrix as getObjectMatrix,
    getObjectParent as getObjectParent,
    getObjectPose as getObjectPose,
    getObjects as getObjects,
    getObjectTransformation as getObjectTransformation,
    getObjectType as getObjectType,
    getTargetDummy as getTargetDummy,
    setObjectMatrix as setObjectMatrix,
    setObjectParent as setObjectParent,
    setObjectPose as setObjectPose,
    setObjectTransformation as setObjectTransformation,
    setTargetDummy as setTargetDummy,
)
from ssik_ros.tasks.compat.joints import (
    createJoint as createJoint,
    getJointDependency as getJointDependency,
    getJointInterval as getJointInterval,
    getJointLimitMargin as getJointLimitMargin,
    getJointMatrix as getJointMatrix,
    getJointMaxStepSize as getJointMaxStepSize,
    getJointMode as getJointMode,
    getJointPosition as getJointPosition,
    getJointScrewLead as getJointScrewLead,
    getJointTransformation as getJointTransformation,
    getJointType as getJointType,
    getJointWeight as getJointWeight,
    setJointDependency as setJointDependency,
    setJointInterval as setJointInterval,
    setJointLimitMargin as setJointLimitMargin,
    setJointMaxStepSize as setJointMaxStepSize,
    setJointMode as setJointMode,
    setJointPosition as setJointPosition,
    setJointScrewLead as setJointScrewLead,
    setJointWeight as setJointWeight,
    setSphericalJointMatrix as setSphericalJointMatrix,
    setSphericalJointRotation as setSphericalJointRotation,
)
from ssik_ros.tasks.compat.registry import (
    overlay_of as overlay_of,
    scene_handle as scene_handle,
    use_scene as use_scene,
)
from ssik_ros.tasks.compat.tasks import (
    addElement as addElement,
    createGroup as createGroup,
    doesGroupExist as doesGroupExist,
    getElementBase as getElementBase,
    getElementConstraints as getElementConstraints,
    getElementFlags as getElementFlags,
    getElementPrecision as getElementPrecision,
    getElementWeights as getElementWeights,
    getGroupCalculation as getGroupCalculation,
    getGroupFlags as getGroupFlags,
    getGroupHandle as getGroupHandle,
    getGroupJointLimitHits as getGroupJointLimitHits,
    getGroupJoints as getGroupJoints,
    setElementBase as setElementBase,
    setElementConstraints as setElementConstraints,
    setElementFlags as setElementFlags,
    setElementPrecision as setElementPrecision,
    setElementWeights as setElementWeights,
    setGroupCalculation as setGroupCalculation,
    setGroupFlags as setGroupFlags,
)
from ssik_ros.tasks.compat.worlds import (
    addElementFromScene as addElementFromScene,
    createDebugOverlay as createDebugOverlay,
    createEnvironment as createEnvironment,
    duplicateEnvironment as duplicateEnvironment,
    eraseDebugOverlay as eraseDebugOverlay,
    eraseEnvironment as eraseEnvironment,
    load as load,
    save as save,
    syncFromSim as syncFromSim,
    syncToSim as syncToSim,
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
    name
    for name, value in globals().items()
    if name[0].islower() and isinstance(value, int | FunctionType)
]
