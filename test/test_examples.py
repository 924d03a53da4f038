"""Every example runs from any folder, without arguments, and prints its results."""

from importlib.util import find_spec
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / 'examples').glob('*.py'))
LONGEST = 60

SHOWN = {
    '01_solve_a_pose': r'7 joints: .*position error \d',
    '02_nearest_to_the_seed': r'first_found +mean .*optimize_distance +mean ',
    '03_two_arms': r'1 solution; .*left_6: .*right_6: ',
    '04_own_limits_and_locked_joints': r'locked: SOLVED.*tool of 10 cm: SOLVED',
    '05_validation_callback': r'of 20 poses solved.*VALIDATION: No solution',
    '06_why_no_solution': r'UNREACHABLE.*LIMITS.*DEADLINE.*InvalidParameter.*UnknownSolver',
    '07_third_party_solver': r'acme/FromZero\nacme/FromZero: 1 solution',
    '09_every_branch': r'tier 0.*shoulder \+.*8 solution.*8 branches, 256 postures.*8 with the elbow',
    '10_newton_and_tracking': r'solved: True.*UNREACHABLE.*50 of 50 solved, 0 jumps.*0 LIMITED CONSISTENCY.* OK NONE',
    '20_ik_environment': r'7 joints.*100 of 100 poses.*NOT_WITHIN_TOLERANCE.*m left',
    '21_two_priorities': r'strict: hand off by \d+e-(0[89]|1\d) m.*nested: .*elbow first: elbow \de-0[4-9] m',
    '22_relative_arms': r'12 joints: solved.*the grip changed by \de-0[6-9]',
    '23_screws_and_grippers': r'24\.000 turns.*LIMIT_HIT.*0\.03 and 0\.03.*30\.00 degrees.*True.*again: True',
    '24_configurations_and_paths': r'configurations, .*complete: True.*stopped at point \d.*before: True',
    '25_ported_script': r'success: True, reason 0.*path of 10 points.*1 configuration.*error \[',
    '26_scene_over_ros': r'No robot has come on /example/robot_description.*(reached: True.*){5}',
    '27_tool_path': r'free: sum of .*post: sum of .*wall: Waypoint 1\d: each of \d+ postures collides, .* with wall',
    '30_tool_path_over_ros': r'100 points in \d+ s, cost [\d.]+ \n100 points .*cost inf Waypoint 0 is out of reach.*refinement.*goal was cancelled',
    '29_learn_from_samples': r'2000 samples by (torch|numpy), \d+ are reached|skipped: pip',
    '28_self_motions': r'proved: True.*limit of panda_joint.*farthest from limits: \d.*png of \d+ kB.*free tool axis: \d+ curves',
    '11_closed_chain': r"\['CONVERGED'\] 0.785398.*STALLED, 1.0000.*\['CONVERGED'\] False",
    '12_hexapod': r'CONVERGED after.*CONVERGED, legs of .* us a frame',
    '13_rover_settles': r'CONVERGED: x 0.00.*roll -?0.0[1-9].*CONVERGED: x 1.00',
    '14_two_arms_one_object': r'CONVERGED with .*right_grasp.* us a pose.*raised to 1.037 m.*9 joints given, 16 known',
    '15_drag_a_goal': r"'move_x', 'move_y', 'move_z'.*CONVERGED behind the handle, .*drawn \d\d",
    '16_pictures_of_mechanisms': r'delta.png of \d+ kB.*dual_arm.png of \d+ kB.*hexapod.png of \d+ kB',
    '17_target_in_a_session': r'follows: True, [567] other.*undone: True.*UNREACHABLE \d.*orientation free.*png of \d+ kB',
    '08_compute_ik_over_ros': r"base_link 1 \{'shoulder_pan_joint.*tool1 -21 \{\}.*'tool0'",
}


def run_example(path: Path, folder: Path) -> str:
    paths = [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}
    shown = subprocess.run(
        [sys.executable, str(path)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


@pytest.mark.sampled
@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_shows_what_it_is_for(path, tmp_path):
    if path.stem.endswith('over_ros') and find_spec('moveit_msgs') is None:
        pytest.skip('moveit_msgs is not installed')
    assert re.search(SHOWN[path.stem], run_example(path, tmp_path), re.S)


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_does_not_end_the_process(path):
    """The site runs examples inside Sphinx, which an exit would end without a site and without an error."""
    text = path.read_text(encoding='utf-8')
    assert not re.search(r'\b(sys\.exit|SystemExit|os\._exit|quit\(|exit\()', text)


EXTRAS = ('dask', 'distributed', 'numcodecs', 'pyarrow', 'torch', 'zarr')


def test_the_example_of_an_extra_says_what_is_missing(tmp_path):
    program = (
        'import runpy, sys\n'
        f'sys.modules.update(dict.fromkeys({EXTRAS}))\n'
        'import importlib.util as finders\n'
        'own = finders.find_spec\n'
        f'finders.find_spec = lambda name: None if name in {EXTRAS} else own(name)\n'
        f'runpy.run_path({str(ROOT / "examples/29_learn_from_samples.py")!r})\n'
        'print("after the example")\n'
    )
    (tmp_path / 'program.py').write_text(program)
    shown = run_example(tmp_path / 'program.py', tmp_path)
    assert shown == 'skipped: pip install "ssik_ros[reach]"\nafter the example\n'


def test_nearer_solutions_are_nearer_than_the_first_ones(tmp_path):
    output = run_example(ROOT / 'examples/02_nearest_to_the_seed.py', tmp_path)
    first, nearest = (float(number) for number in re.findall(r'seed ([\d.]+) rad', output))
    assert nearest < first


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text(encoding='utf-8').splitlines()) <= LONGEST
