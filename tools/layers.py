"""
The rank table of the package, as data: its folders, and which of them may import which.

A module imports modules of strictly lower ranks, or of its own row. A rank has two parts: the rank of the layer, and
the rank within the layer. ``test/test_layers.py`` checks every source, and ``tools/make_module_list.py`` writes the
table into the docs.
"""

from typing import NamedTuple

ALL = None
"""Every module of a folder; the folders below it have rows of their own."""


class Row(NamedTuple):
    """A folder, or some of its modules."""

    rank: tuple[int, int]
    folder: str
    modules: tuple[str, ...] | None
    holds: str


TABLE = (
    Row(
        (0, 0),
        '',
        ('other_words', 'errors', 'arrays', 'markers', 'tolerances', 'value_class'),
        'what everything else names',
    ),
    Row(
        (0, 1),
        '',
        ('arguments', 'atomic_files', 'results', 'strict_yaml', 'yaml_loader'),
        'arguments checked; what a solve returns; YAML without surprises; files written whole',
    ),
    Row(
        (1, 0),
        'kernels.native',
        ALL,
        'the library of compiled kernels, and the compiler for those who edit them',
    ),
    Row((1, 1), 'kernels', ALL, 'the decorator of all kernels'),
    Row(
        (1, 2),
        'kernels.geometry',
        ALL,
        'rotations, rigid transforms, vectors, eight numbers at once',
    ),
    Row((1, 3), 'kernels.geometry.subproblems', ALL, "Paden and Kahan's subproblems"),
    Row(
        (1, 3),
        'kernels.rows',
        ALL,
        'residual and Jacobian rows of any problem, joint steps, linear algebra',
    ),
    Row(
        (1, 4),
        'kernels.closed_form.certification',
        ALL,
        "candidates judged on the user's own chain, and ranked",
    ),
    Row((1, 4), 'kernels.closed_form', ALL, 'every branch of a pose'),
    Row((1, 5), 'kernels.closed_form.classes', ALL, 'candidates of the classes of arms'),
    Row((1, 5), 'kernels.closed_form.singular', ALL, 'solutions at singular postures'),
    Row(
        (1, 6),
        'kernels.closed_form.branches',
        ALL,
        'every branch of a pose, seven joints included',
    ),
    Row((1, 7), 'kernels.closed_form.counting', ALL, 'branches counted, eight poses at a time'),
    Row((1, 7), 'kernels.closed_form.elimination', ALL, 'arms without structure, by elimination'),
    Row(
        (1, 7), 'kernels.closed_form.self_motions', ALL, 'curves on which seven joints keep a pose'
    ),
    Row((1, 8), 'kernels.search', ALL, 'searches with restarts, step laws, tracking, paths'),
    Row(
        (1, 9),
        'kernels.paths',
        ALL,
        'joint paths of tools: postures, collisions, cheapest sequences',
    ),
    Row((1, 9), 'kernels.tasks', ALL, 'rows and steps of IK environments'),
    Row((1, 9), 'kernels.mechanisms', ALL, 'rows and steps of mechanisms with closed loops'),
    Row((2, 0), 'model.urdf', ALL, 'a URDF, read and checked'),
    Row((2, 1), 'model', ALL, 'robots: tree, groups, limits, states, catalogue'),
    Row((2, 2), 'model.collision', ALL, 'collisions of a robot with itself and with objects'),
    Row((3, 0), 'problem', ALL, 'requests, and the packed problem that kernels iterate on'),
    Row((4, 0), 'solvers.options', ALL, 'parameters of solvers, from YAML to options'),
    Row((4, 1), 'solvers.search', ALL, 'what solvers with a restart search share'),
    Row((4, 2), 'solvers.search.newton', ALL, 'NR, GN and LM'),
    Row((4, 2), 'solvers.search.pose_ik', ALL, 'PoseIK'),
    Row((4, 2), 'solvers.closed_form', ALL, 'Analytic: every branch'),
    Row((4, 2), 'solvers.mechanisms', ALL, 'options and programs of mechanisms'),
    Row((4, 3), 'solvers.self_motions', ALL, 'all solutions of seven joints as curves'),
    Row((4, 3), 'solvers.auto', ALL, 'Auto: the closed form or a search'),
    Row((4, 4), 'solvers', ALL, 'the registry, and kinematics.yaml'),
    Row(
        (8, 7),
        'manipulator',
        ('manipulator', 'arm_display', 'arm_path', 'arm_sources', 'arm_tasks'),
        'the arm that users of ssik and of the toolbox call, with planner and viewer',
    ),
    Row((5, 0), 'manipulator', ALL, 'settings, solutions and solves of an arm'),
    Row((5, 0), 'moveit', ALL, 'KinematicsBase, and the group of a C++ host'),
    Row((5, 0), 'tasks', ALL, 'IK environments'),
    Row((5, 0), 'mechanisms', ALL, 'mechanisms with closed loops'),
    Row((5, 1), 'tasks.compat', ALL, "simIK's functions by their names"),
    Row((5, 1), 'tasks.files', ALL, 'task sets as YAML'),
    Row(
        (5, 1),
        '',
        ('postprocess',),
        'the tail of a solve as single steps',
    ),
    Row(
        (6, 0),
        'paths',
        (
            *('__init__', 'requests', 'control', 'rotations', 'pose_freedom', 'tool_chain'),
            *('windings', 'waypoints', 'steps', 'search_space', 'singular_waypoints'),
            *('tolerance_reach', 'path_file'),
        ),
        'tool paths: requests, chains, tolerances, steps and free parameters',
    ),
    Row((6, 1), 'paths.bounding', ALL, 'lower bounds on the cost of any joint path'),
    Row((6, 1), 'paths.collisions', ALL, 'collisions of postures and of motions between them'),
    Row(
        (6, 2),
        'paths',
        ('penalties', 'travel'),
        'penalties of postures, and travel among obstacles',
    ),
    Row((6, 3), 'paths.search', ALL, 'the best sequence of postures, on finer and finer grids'),
    Row(
        (6, 4),
        'paths',
        ('measures', 'planner', 'verification'),
        'the best joint path along a tool path',
    ),
    Row((6, 3), 'reach.collisions', ALL, 'collisions of the cells of a map'),
    Row((6, 3), 'reach.storage', ALL, 'files of maps and data sets, read without trust'),
    Row((6, 4), 'reach', ALL, 'maps of what an arm reaches, decided in parallel'),
    Row((7, 0), 'server.requests', ALL, 'requests by name, as a service receives them'),
    Row((7, 1), 'server.scene', ALL, 'states, frames, the world, constraints and collisions'),
    Row((7, 2), 'server.groups', ALL, 'one planning group and its solver'),
    Row((7, 2), 'server.loops', ALL, 'robots with closed loops'),
    Row((7, 3), 'server.paths', ALL, 'joint paths along straight lines'),
    Row((7, 4), 'server', ALL, 'a robot by name; its descriptions checked'),
    Row((7, 5), 'server.tasks', ALL, 'the task sets of a file, solved and streamed'),
    Row((8, 0), 'artifact', ALL, 'one arm as a Python file that needs numpy alone'),
    Row((8, 0), 'artifact.c', ALL, 'one arm as a C library'),
    Row((8, 0), 'view.pictures', ALL, 'pictures of robots, without a window'),
    Row(
        (8, 1),
        'view',
        ('limit_room', 'relaxations', 'velocity_ellipsoid'),
        'numbers and words about a posture',
    ),
    Row((8, 2), 'view.sessions', ALL, 'a robot, its targets and the last solve'),
    Row((8, 3), 'view', ALL, 'what a viewer shows, without browser and without ROS'),
    Row(
        (8, 4),
        'view.browser',
        (
            *('background_job', 'controls', 'drag_handle', 'ghost_labels', 'guard', 'link_meshes'),
            *('page_panels', 'page_script', 'private_opening', 'private_server'),
            *('scene_pictures', 'scenery', 'session_drawing'),
        ),
        'parts of a page: server, scene, controls',
    ),
    Row((8, 5), 'view.browser.panels', ALL, 'panels of a page'),
    Row((8, 6), 'view.browser', ALL, 'the page that a browser shows'),
    Row((8, 8), '', ('__init__',), 'the public names'),
    Row((8, 9), 'benchmark', ALL, 'the benchmark of launch files and command line'),
    Row((9, 0), 'ros.process', ALL, 'executors, logs, signals, diagnostics'),
    Row((9, 1), 'ros.conversions', ALL, 'messages to requests, responses to messages'),
    Row((9, 1), 'ros.parameters', ALL, 'parameters of nodes, groups and launch files'),
    Row((9, 2), 'ros.inputs', ALL, 'the robot, its state and frames, from topics'),
    Row((9, 3), 'ros.services', ALL, 'a module for each service'),
    Row((9, 3), 'ros.streams', ALL, 'nodes that work in cycles'),
    Row((9, 3), 'ros.view', ALL, 'the page of a running robot'),
    Row((9, 4), 'ros.panel', ALL, 'the panel of rqt'),
    Row((9, 4), 'ros', ALL, 'the node, and the executables'),
    Row((10, 0), 'cli', ALL, 'the command line'),
    Row((10, 1), 'cli.verb', ALL, 'a module for each verb'),
)


def place_of(module: str, is_folder: bool) -> Row | None:
    """
    Return the row of a module, None where the table has none.

    :param module: its name below the package.
    :param is_folder: whether it is a folder, which is the module ``__init__`` in it.
    """
    folder, name = (module, '__init__') if is_folder else module.rpartition('.')[::2]
    for row in TABLE:
        if row.folder == folder and (row.modules is ALL or name in row.modules):
            return row
    return None
