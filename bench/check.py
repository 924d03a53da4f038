"""
Compare the hot kernels with the last release: ``python bench/check.py --help``, or ``make bench-check``.

Compares ratios to a fixed piece of arithmetic that runs in between, so that neither the machine nor its load counts for
much. ``--store`` adds the ratios of a release to ``bench/ratios.json``.

``--against CHECKOUT`` compares with another checkout instead: both run now, in processes that alternate on one core.
This shows differences of 3 %, the ratios only of 30 %. CHECKOUT is a folder with its kernels built, or a commit, which
is unpacked and built.
"""

import argparse
from collections.abc import Mapping, Sequence
import json
from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import paired, pinning, program, ROOT
from bench.catalogue_arms import find_arm
from bench.checkouts import find_checkout
from bench.clocks import calibrate
from bench.hot_kernels import POSES, Round, rounds_of
from bench.run import CHOICES
from bench.tables import table
from ssik_ros.benchmark.harness import no_garbage_collection, timed_call

RATIOS = Path(__file__).with_name('ratios.json')
ALLOWED = 1.3
"""A kernel counts as slower if its ratio is more than this many times the ratio of the release."""
HEADER = ('kernel', 'ratio', 'of the release', 'times', '')


def measure(kernels: Mapping[str, Round], repeats: int) -> dict[str, float]:
    """
    Return the time of each kernel for one pose, in thousandths of the calibration that ran just before.

    The lower quartile of all rounds counts, because disturbances only make a round longer.

    :param kernels: by name.
    :param repeats: rounds.
    """
    ratios: dict[str, list[float]] = {name: [] for name in kernels}
    for run in kernels.values():
        run()
    with no_garbage_collection():
        for _ in range(repeats):
            for name, run in kernels.items():
                unit = 1e6 * calibrate(1)
                ratios[name].append(1e3 * timed_call(run)[2] / POSES / unit)
    return {name: float(np.quantile(values, 0.25)) for name, values in ratios.items()}


def load_ratios(path: Path) -> dict[str, dict[str, float]]:
    """Return the ratios of all releases, oldest first."""
    stored: dict[str, dict[str, float]] = json.loads(path.read_text(encoding='utf-8'))
    return stored


def compare(now: Mapping[str, float], before: Mapping[str, float]) -> tuple[list[list[str]], bool]:
    """
    Return a line of the table for each kernel, and whether none is slower than it was.

    :param now: ratios of this run.
    :param before: ratios of the release; a kernel without a ratio counts as new.
    """
    lines, is_fine = [], True
    for name, ratio in now.items():
        old = before.get(name)
        slower = old is not None and ratio > ALLOWED * old
        verdict = 'new' if old is None else 'SLOWER' if slower else ''
        shown = ('-', '-') if old is None else (f'{old:.2f}', f'{ratio / old:.2f}')
        lines.append([name, f'{ratio:.2f}', *shown, verdict])
        is_fine = is_fine and not slower
    return lines, is_fine


def compare_with(checkout: Path, run: program.Run, options: argparse.Namespace) -> None:
    """
    Compare this checkout with another one.

    :param checkout: the other one.
    :param run: prints the table.
    :param options: of the command line.
    """
    arms = [find_arm(name, options.output) for name in options.arms]
    comparison = paired.compare(checkout, ROOT, arms, options.starts)
    run.show(
        f'Processor time per pose; before is {checkout}',
        table(paired.HEADER, comparison.lines(POSES)),
    )
    slower = [name for name, verdict in comparison.verdicts().items() if verdict.text == 'SLOWER']
    if slower:
        sys.exit(f'bench: slower than {paired.ALLOWED} times {checkout}: {", ".join(slower)}')


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Measure, and compare or store.

    :param arguments: words of the command line; None means ``sys.argv``.
    """
    arms = ['ur5e', 'panda', 'jaco2']
    parser = program.make_parser(__doc__, CHOICES, arms, repeats=25)
    parser.add_argument('--ratios', type=Path, default=RATIOS, help='file of all releases')
    parser.add_argument('--store', metavar='RELEASE', help='write the ratios of this release')
    parser.add_argument('--against', metavar='CHECKOUT', help='another checkout, or a commit')
    parser.add_argument('--starts', type=int, default=20, help='of both, at most (%(default)s)')
    options = parser.parse_args(arguments)
    run = program.Run('check', options)
    if options.against:
        compare_with(find_checkout(options.against), run, options)
        return
    kernels: dict[str, Round] = {}
    for name in options.arms:
        kernels |= rounds_of(find_arm(name, options.output), name)
    now = measure(kernels, options.repeats)
    stored = load_ratios(options.ratios) if options.ratios.is_file() else {}
    if options.store:
        stored[options.store] = {name: round(ratio, 3) for name, ratio in now.items()}
        options.ratios.write_text(json.dumps(stored, indent=2) + '\n', encoding='utf-8')
    release = list(stored)[-1] if stored else 'none'
    lines, is_fine = compare(now, stored.get(release, {}))
    run.show(f'Thousandths of the calibration per pose; the release is {release}')
    run.show(table(HEADER, lines))
    if not is_fine:
        sys.exit(f'bench: slower than {ALLOWED} times the release {release}')


if __name__ == '__main__':
    pinning.limit_threads()
    main()
