"""``ssik reach``: make a map of the poses that an arm reaches, and show, export or compare it."""

import argparse
import json
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.cli.options import add_option, add_worker_options
from ssik_ros.cli.printing import print_table, waiting
from ssik_ros.cli.robot_choice import add_robot_options, choose_group, ChosenGroup
from ssik_ros.cli.unit_display import UnitDisplay
from ssik_ros.errors import counted, InvalidOption, percent, short
from ssik_ros.reach.cells import ReachArm, ReachSettings
from ssik_ros.reach.checked_cells import make_arm
from ssik_ros.reach.collisions.chain_scene import ChainScene, make_scene
from ssik_ros.reach.engine import Progress, Workers
from ssik_ros.reach.exports import write_csv, write_page, write_ply
from ssik_ros.reach.grid import Cells, describe, Grid, PoseList, UNIT_CELLS
from ssik_ros.reach.mapping import (
    estimate,
    in_words,
    make_map,
    make_plan,
    QUANTITIES,
    settings_of,
)
from ssik_ros.reach.orientations import spread_orientations
from ssik_ros.reach.plots import write_plots
from ssik_ros.reach.reach_map import (
    check_measure,
    check_same_cells,
    MapComparison,
    MEASURES,
    ReachMap,
)
from ssik_ros.reach.regions import read_pose_list, read_region
from ssik_ros.reach.statuses import CellStatus
from ssik_ros.reach.store import MapPlan
from ssik_ros.view.obstacles import read_obstacles

_WIDTH = 100
FAST_UNIT = 65_536
"""Cells of a unit of an arm whose poses are decided side by side: less than a second."""
STATUSES = tuple(status for status in CellStatus if status is not CellStatus.NOT_ASKED)
SAMPLE = 2048
"""Cells that are decided to measure the rate."""

EXAMPLES = (
    'ssik reach panda -o panda.zarr',
    'ssik reach ur5e --grid 0.02 --orientations 256 --region sphere:0.9 -o ur5e.zarr --workers 8',
    'ssik reach arm.urdf --tip gripper --with manipulability,limit_margin -o arm.zarr --html arm.html --measure limit_margin',
    'ssik reach panda --poses tasks.csv -o tasks.zarr',
    'ssik reach panda --obstacles scene.yaml --with clearance -o cell.zarr',
    'ssik reach ur10e --region sphere:0,0,0.2,1.2 -o ur10e.zarr --compare ur5e.zarr',
    'ssik reach panda --grid 0.005 --orientations 4096 -o large.zarr --scheduler tcp://scheduler:8786',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    cells = parser.add_argument_group('cells')
    add_option(cells, '--grid M', 'distance of positions [m]', type=float, default=0.05)
    add_option(cells, '--orientations N', 'orientations at each position', type=int, default=64)
    text = 'auto, sphere:RADIUS, sphere:X,Y,Z,RADIUS or box:X,Y,Z,X,Y,Z in the base link [m]'
    add_option(cells, '--region REGION', text, default='auto')
    text = 'poses x,y,z,qx,qy,qz,qw in the base link, instead of a grid'
    add_option(cells, '--poses CSV', text, type=Path)
    text = f'more of each cell: {", ".join(QUANTITIES)}; joined by commas'
    add_option(cells, '--with QUANTITIES', text, default='')
    text = 'a cell is reachable by postures only that do not collide with the robot itself'
    add_option(cells, '--collisions', text)
    text = 'nor with the obstacles in a YAML or mesh file, as for `ssik view`; may be repeated'
    add_option(cells, '--obstacles FILE', text, type=Path, action='append')
    work = parser.add_argument_group('work')
    add_worker_options(work)
    add_option(work, '--estimate', 'print what the map takes, from a measured rate, and stop')
    output = parser.add_argument_group('output')
    add_option(
        output, '-o --out --output MAP', 'folder of the map (Zarr)', type=Path, dest='output'
    )
    add_option(output, '--plots FOLDER', 'write pictures', type=Path)
    add_option(output, '--html FILE', 'write a page that shows the map in a browser', type=Path)
    add_option(output, '--ply FILE', 'write the positions as a coloured point cloud', type=Path)
    add_option(output, '--csv FILE', 'write the positions with their dexterity', type=Path)
    text = f'what these show: {", ".join(MEASURES)}; what the map has'
    add_option(output, '--measure NAME', text, default='dexterity')
    text = 'another map of the same cells: print how many cells one of them reaches, both, or none'
    add_option(output, '--compare OTHER', text, type=Path)
    add_option(output, '--json', 'print JSON')


def run(arguments: argparse.Namespace) -> int:
    """
    Make or finish a map and print its contents; return 0 if a cell is reachable, else 1.

    With ``--estimate``, print the expected size and time, and return 0.

    :param arguments: the parsed arguments.
    :raises SsikError: when the robot, an option or the map is wrong.
    """
    if arguments.output is None and not arguments.estimate:
        raise InvalidOption('Say where the map goes: -o map.zarr (or --estimate).')
    workers = Workers(arguments.workers, arguments.scheduler)
    plan = _plan(arguments, choose_group(arguments))
    check_measure(arguments.measure, plan.arrays)
    other = None if arguments.compare is None else ReachMap.open(arguments.compare)
    if other is not None:
        check_same_cells(plan.cells, other.grid)
    if arguments.estimate:
        print(
            f'{describe(plan.cells)}; {estimate(plan, _seconds(plan))} (measured here, one core).'
        )
        return 0
    with UnitDisplay(quiet=arguments.json) as display:
        counts = make_map(plan, arguments.output, workers, display.report)
    with waiting('Writing pictures and files'):
        _write(arguments)
    compared = None
    if other is not None:
        with waiting('Comparing the maps'):
            compared = ReachMap.open(arguments.output).compare(other)
    if arguments.json:
        _print_json(arguments, counts, compared)
    else:
        _print(arguments, plan, counts, display.last)
        if other is not None and compared is not None:
            _print_comparison(arguments.output, other, compared)
    return 0 if counts[CellStatus.REACHABLE] else 1


def _plan(arguments: argparse.Namespace, chosen: ChosenGroup) -> MapPlan:
    """Return the plan of the map that the options describe."""
    words = tuple(word for word in getattr(arguments, 'with').split(',') if word)
    chain, scene = chosen.chain(), _scene(arguments, chosen, words)
    is_plain = scene is None and not set(words) - {'branches'}
    unit = FAST_UNIT if is_plain and ReachArm(chain, ReachSettings()).is_fast else UNIT_CELLS
    if arguments.poses is not None:
        cells: Cells = PoseList(read_pose_list(arguments.poses), unit)
    else:
        turns = spread_orientations(arguments.orientations)
        cells = Grid(read_region(arguments.region, chain), arguments.grid, turns, unit)
    return make_plan(chain, chosen.robot.name, cells, words, scene=scene)


def _scene(
    arguments: argparse.Namespace, chosen: ChosenGroup, words: tuple[str, ...]
) -> ChainScene | None:
    """
    Return the robot with the obstacles that postures must avoid; None if no option asks for collision checks.

    ``words`` are the quantities to compute; ``clearance`` needs the checks. Notes about the shapes are printed.
    """
    files = arguments.obstacles or ()
    if not files and not arguments.collisions and 'clearance' not in words:
        return None
    world = [item for file in files for item in read_obstacles(file)]
    made_scene = make_scene(chosen.robot, chosen.chain(), world)
    for note in made_scene.notes:
        print(f'ssik reach: {note}', file=sys.stderr)
    return made_scene.scene


def _seconds(plan: MapPlan) -> float:
    """
    Measure and return the processor time of one cell [s].

    About ``SAMPLE`` random cells of the map are decided, from at most 64 random units (batches of cells).
    """
    arm = make_arm(plan.chain, settings_of(plan), plan.scene)
    generator, units = np.random.default_rng(0), plan.cells.unit_count
    decided, begun = 0, time.process_time()
    for unit in generator.integers(units, size=64).tolist():
        piece = next(plan.cells.pieces(unit), None)
        if piece is not None:
            rows = generator.permutation(len(piece.poses))[: SAMPLE // 8]
            arm.decide(np.ascontiguousarray(piece.poses[rows]))
            decided += len(rows)
        if decided >= SAMPLE:
            break
    return (time.process_time() - begun) / max(1, decided)


def _write(arguments: argparse.Namespace) -> None:
    """Write the pictures and files of the map that the options name."""
    writers = (
        (arguments.plots, write_plots),
        (arguments.html, write_page),
        (arguments.ply, write_ply),
        (arguments.csv, write_csv),
    )
    for path, write in writers:
        if path is not None:
            write(ReachMap.open(arguments.output), path, arguments.measure)


def _print_json(
    arguments: argparse.Namespace, counts: NDArray[np.int64], compared: MapComparison | None
) -> None:
    """
    Print the path of the map, its number of cells, and the number for each status, as JSON.

    :param counts: number of cells by status.
    :param compared: comparison with another map, which is printed too; None without one.
    """
    content: dict[str, Any] = {'map': str(arguments.output), 'cells': int(counts.sum())}
    content |= {status.name.lower(): int(counts[status]) for status in STATUSES}
    if compared is not None:
        content['comparison'] = {'map': str(arguments.compare), **compared._asdict()}
    print(json.dumps(content, indent=2))


def _print_comparison(path: Path, other: ReachMap, compared: MapComparison) -> None:
    """Print a table of the cells that both maps, one of them, or neither reaches."""
    if not other.is_finished:
        print(
            f"ssik reach: '{other.path}' is not finished; cells that it does not have yet are left out.",
            file=sys.stderr,
        )
    total = max(1, sum(compared))
    names = {
        'both': compared.both,
        f"'{path}' only": compared.first_only,
        f"'{other.path}' only": compared.second_only,
        'neither': compared.neither,
        'unknown to one of them': compared.undecided,
    }
    print(f"Compared with '{other.path}', {other.attributes['robot']['name']}:")
    rows = [(name, f'{count:,}', percent(count / total)) for name, count in names.items()]
    print_table(('reached by', 'cells', 'share'), rows, _WIDTH)


def _print(
    arguments: argparse.Namespace, plan: MapPlan, counts: NDArray[np.int64], last: Progress
) -> None:
    """
    Print the map's cells by status as a table, and the units, processor time and memory of this run if it did any.

    :param counts: number of cells by status.
    :param last: last progress of this run.
    """
    total = int(counts.sum())
    print(
        f"'{arguments.output}': {plan.robot} from {plan.chain.base_link} to {plan.chain.tip_link}."
    )
    print(f'{describe(plan.cells)}.')
    if isinstance(plan.cells, Grid):
        angle = np.degrees(ReachMap.open(arguments.output).covering_angle)
        print(f'Every orientation is within {short(angle)} degrees of one of the map.')
    rows = [
        (
            status.words,
            f'{counts[status]:,}',
            percent(counts[status] / total),
        )
        for status in STATUSES
        if counts[status]
    ]
    print_table(('status', 'cells', 'share'), rows, _WIDTH)
    if last.units:
        print(
            f'This run: {counted(last.units, "unit")}, {in_words(last.processor)} of processor time, at most '
            f'{last.memory / 1e6:.0f} MB a worker.'
        )
