"""
Words that users search for, by the page that explains them: entries of the index of the site.

:mod:`conf` of ``docs/`` connects :func:`add_index_entries`. The search of Sphinx ranks these entries first.
Sphinx forgets them if it builds only the pages that changed: ``make docs`` builds all.
"""

from typing import Any

SEARCH_WORDS = {
    'benchmarks/index': ('benchmark', 'speed', 'ikfast'),
    'explanation/determinism': ('deterministic', 'random seed', 'reproducible'),
    'explanation/faq': ('faq', 'not for', 'limitations'),
    'explanation/cite': ('citation', 'cite', 'bibtex', 'doi'),
    'how_to/add_a_tool': ('tool', 'tcp', 'end effector'),
    'how_to/avoid_self_collision': ('self-collision',),
    'how_to/call_compute_ik': ('compute_ik', 'getpositionik'),
    'how_to/control_with_ros2_control': ('ros2_control',),
    'how_to/follow_a_path': ('elbow flip', 'jump', 'continuous path'),
    'how_to/limit_the_time': ('timeout', 'time budget', 'deadline'),
    'how_to/lock_a_joint': ('fixed joint', 'locked joint'),
    'how_to/make_a_target_pose': ('quaternion', 'euler angles', 'rpy', 'pose'),
    'how_to/measure_manipulability': ('singularity', 'manipulability', 'condition number'),
    'how_to/plan_a_tool_path': ('tool path', 'cartesian path'),
    'how_to/solve_for_two_arms': ('dual arm', 'two arms'),
    'how_to/solve_many_poses': ('batch', 'vectorised'),
    'how_to/tighten_joint_limits': ('joint limits',),
    'how_to/use_an_arm_with_five_joints': ('5 dof', 'five joints'),
    'start/install': ('install', 'pip', 'wheel'),
    'tutorials/every_posture': ('elbow up', 'elbow down', 'branch', 'all solutions'),
    'tutorials/moving_from/bio_ik': ('bio_ik', 'bioik'),
    'tutorials/moving_from/kdl': ('kdl',),
    'tutorials/moving_from/pick_ik': ('pick_ik',),
    'tutorials/moving_from/trac_ik': ('trac-ik', 'trac_ik'),
    'tutorials/redundancy': ('redundancy', 'null space', 'self-motion'),
    'tutorials/why_no_solution': ('no solution', 'unreachable'),
}
"""In lower case, as the search compares them."""


def add_index_entries(app: Any, docname: str, source: list[str]) -> None:
    """
    Add the words of a page to the index, below the title.

    :param app: of Sphinx.
    :param docname: of the page.
    :param source: its text in Markdown, the only entry; it is replaced.
    """
    words = SEARCH_WORDS.get(docname)
    if words:
        title, _, rest = source[0].partition('\n')
        entries = ', '.join(f'! {word}' for word in words)
        source[0] = f'{title}\n\n```{{index}} {entries}\n```\n{rest}'
