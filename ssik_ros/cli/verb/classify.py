"""``ssik classify``: show which closed form fits an arm, and why; writes nothing."""

import argparse
import json
import math
from typing import Any

from ssik_ros.cli.axis_relations import AxisRelation, find_relations
from ssik_ros.cli.branch_sample import BranchSample, sample_branches
from ssik_ros.cli.closed_form import describe_tier, find_closed_form
from ssik_ros.cli.command import NO
from ssik_ros.cli.options import add_option
from ssik_ros.cli.printing import print_table, waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm, ChosenGroup
from ssik_ros.errors import counted, short
from ssik_ros.manipulator.closed_form_solve import describe_plan
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.model.topology import AxisGeometry
from ssik_ros.solvers.closed_form.arm import AnalyticArm

EXAMPLES = (
    'ssik classify arm.urdf',
    'ssik classify arm.urdf --base base_link --ee tool0 --json',
    'ssik classify arm.urdf.xacro --xacro-arg safety_limits:=true',
    'ssik classify --robot panda',
    'ssik classify --robot jaco2                  # an arm of the catalogue',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    add_option(parser, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Print class, reason and statistics of an arm; return 0, or 1 and print only the reason if it has no closed form.

    :param arguments: the parsed arguments.
    :raises SsikError: when the arm cannot be loaded.
    """
    chosen = choose_arm(arguments)
    arm = find_closed_form('classify', chosen)
    if arm is None:
        return NO
    relations = find_relations(AxisGeometry.of_chain(arm.chain))
    with waiting('Solving random poses'):
        sample = sample_branches(arm)
    if arguments.json:
        print(json.dumps(_as_mapping(chosen, arm, relations, sample), indent=2))
    else:
        _print_report(chosen, arm, relations, sample)
    return 0


def _as_mapping(
    chosen: ChosenGroup, arm: AnalyticArm, relations: list[AxisRelation], sample: BranchSample
) -> dict[str, Any]:
    """Return the report of an arm as a mapping for JSON: joints, class, solver, relations of axes, branches and times."""
    plan, facts = arm.plan, describe_plan(arm.plan)
    return {
        'robot': chosen.robot.name,
        'base': arm.chain.base_link,
        'ee': arm.chain.tip_link,
        'dof': plan.size,
        'joints': _joints(arm.chain),
        'class': plan.name,
        'solver': facts.solver_name,
        'tier': facts.tier,
        'reason': facts.reason,
        'held_joint': facts.held_joint,
        'drift': facts.drift,
        'axes': [
            {
                'joints': list(relation.joints),
                'relation': relation.relation,
                'exact': relation.is_exact,
                'drift': relation.drift,
            }
            for relation in relations
        ],
        'poses': sample.poses,
        'solved': sample.solved,
        'branches': {'min': sample.fewest, 'median': sample.median, 'max': sample.most},
        'worst_residual': None if math.isnan(sample.worst_residual) else sample.worst_residual,
        'median_us': sample.median_us,
    }


def _joints(chain: SerialChain) -> list[dict[str, Any]]:
    """Return a mapping with name, type and limits for every joint; None for no limit."""
    return [
        {
            'name': name,
            'type': JointKind(kind).name.lower(),
            'lower': lower if math.isfinite(lower) else None,
            'upper': upper if math.isfinite(upper) else None,
        }
        for name, kind, lower, upper in zip(
            chain.joint_names,
            chain.kinds,
            chain.lower.tolist(),
            chain.upper.tolist(),
            strict=True,
        )
    ]


def _print_report(
    chosen: ChosenGroup, arm: AnalyticArm, relations: list[AxisRelation], sample: BranchSample
) -> None:
    """Print the report of an arm: a table of its joints, then class, solver, relations of axes, branches and times."""
    plan, chain, facts = arm.plan, arm.chain, describe_plan(arm.plan)
    values = (
        ''
        if facts.held_joint is None
        else f', at {counted(arm.samples, "value")} of the held joint'
    )
    links = len(chosen.robot.urdf.links)
    print(f'{chosen.robot.name}: {chain.base_link} -> {chain.tip_link}')
    _print_joints(chain)
    lines = {
        'links': f'{links} in the description',
        'class': plan.name,
        'solver': facts.solver_name,
        'tier': describe_tier(facts),
        'reason': facts.reason,
        'held joint': facts.held_joint or 'none',
        'axes': [relation.describe() for relation in relations] or ['nothing in common'],
        'branches': f'{sample.fewest} to {sample.most}, median {sample.median:g}, on '
        f'{sample.poses} random poses ({sample.solved} solved{values}, limits left out)',
        'residual': f'{sample.worst_residual:.2g} at most',
        'time': f'{sample.median_us:.3g} us for all branches of a pose, median, on this machine',
    }
    for title, value in lines.items():
        first, *others = value if isinstance(value, list) else [value]
        print(f'{title + ":":12}{first}')
        for line in others:
            print(f'{"":12}{line}')


def _print_joints(chain: SerialChain) -> None:
    """Print the joints as a table."""
    rows = []
    for number, joint in enumerate(_joints(chain), start=1):
        limits = ['none' if joint[k] is None else short(joint[k]) for k in ('lower', 'upper')]
        rows.append((str(number), joint['name'], joint['type'], *limits))
    print_table(('', 'joint', 'type', 'lower [rad]', 'upper [rad]'), rows, 120)
