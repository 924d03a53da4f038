"""
Find the planning groups in the content of a kinematics.yaml, and list the keys in such files that other solvers use.

Groups may be at the root, or below ``robot_description_kinematics``. This key may be at the root, or below a node name
(or ``/**``) and ``ros__parameters``.
"""

from collections.abc import Mapping
import logging
from typing import Any

from ssik_ros.errors import quote
from ssik_ros.model.makers_yaml import find_sections
from ssik_ros.strict_yaml import location

_LOGGER = logging.getLogger('ssik_ros.solvers.kinematics_yaml')

KEYS_OF_OTHER_SOLVERS = frozenset(
    {
        # Common to all, of the past or of the service plugin.
        *('kinematics_solver_attempts', 'kinematics_solver_service_name', 'link_prefix'),
        # How MoveIt's plugin of ours reaches the solver.
        *(
            'kinematics_solver_transport',
            'kinematics_solver_service_wait',
            'kinematics_solver_blocks',
        ),
        # KDL and TRAC-IK.
        *('epsilon', 'max_solver_iterations', 'orientation_vs_position', 'joints', 'solve_type'),
        # pick_ik.
        *('position_threshold', 'orientation_threshold', 'cost_threshold', 'mode'),
        *('gd_max_iters', 'gd_step_size', 'gd_min_cost_delta', 'memetic_max_generations'),
        *('memetic_gd_max_iters', 'memetic_gd_max_time', 'memetic_num_threads'),
        *('memetic_population_size', 'memetic_elite_size', 'memetic_wipeout_fitness_tol'),
        *('memetic_stop_on_first_solution', 'position_scale', 'rotation_scale'),
        *('center_joints_weight', 'avoid_joint_limits_weight', 'minimal_displacement_weight'),
        *('stop_optimization_on_valid_solution', 'stop_optimization_on_timeout'),
        *('approximate_solution_position_threshold', 'approximate_solution_joint_threshold'),
        *('approximate_solution_orientation_threshold', 'approximate_solution_cost_threshold'),
        # bio_ik.
        *('dpos', 'drot', 'dtwist', 'population_size', 'elite_count', 'no_wipeout'),
        *('linear_fitness', 'threads', 'random_seed', 'counter', 'profiler'),
        # PoseIK, where another solver of ours was chosen.
        *('target_tolerance', 'damping', 'solve_mode', 'gd_jacobian_damping'),
        *('gd_step_multiplier', 'gd_adaptive_threshold', 'optimization_timeout'),
        'optimization_distance_gain',
        # The cached plugins.
        *('max_cache_size', 'min_pose_distance', 'min_joint_config_distance', 'cached_ik_path'),
    }
)
"""Keys of other solvers that occur in files of users. They are unused unless the chosen solver has them."""


def find_groups(content: Any, source: str) -> dict[str, tuple[Mapping[str, Any], str]]:
    """
    Return for each group the mapping below its name, and the file and line of the group.

    If a group is defined for several nodes, the last definition counts, and a warning tells this. Definitions for
    ``/**`` come first. A group that is not a mapping is skipped with a warning.

    :param content: the content of a file, in either layout.
    :param source: the file, for messages.
    :raises ConfigError: if the content, or the parameters of a node in it, are not a mapping.
    """
    groups: dict[str, tuple[Mapping[str, Any], str]] = {}
    for section in find_sections(content, 'robot_description_kinematics', source):
        for name, entries in section.items():
            place = location(section, name, source)
            if entries is not None and not isinstance(entries, Mapping):
                _LOGGER.warning(
                    '%s: %s is not a group with keys such as kinematics_solver but %r: skipped.',
                    place,
                    quote(name),
                    entries,
                )
                continue
            if name in groups:
                _LOGGER.warning("%s: replaces the group '%s' of %s.", place, name, groups[name][1])
            groups[name] = (entries or {}, place)
    return groups
