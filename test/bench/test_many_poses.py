"""The measurement of batches: its poses, its comparison with single calls, and a run that writes its file."""

import json

import numpy as np

from bench import many_poses
from bench.cases import draw_cases
from bench.catalogue_arms import make_arm


def test_poses_are_reachable_and_differ_and_seeds_are_within_limits(tmp_path):
    arm = make_arm('irb6700', tmp_path)
    cases = draw_cases(arm, 50)
    poses, seeds = cases.targets, cases.seeds
    assert poses.shape == (50, 4, 4) and len({pose.tobytes() for pose in poses}) == 50
    assert (seeds >= arm.lower).all() and (seeds <= arm.upper).all()


def test_measured_calls_give_the_results_of_single_calls(tmp_path):
    words = ['--arms', 'irb6700', '--poses', '600', '--passes', '2', '--output', str(tmp_path)]
    many_poses.main(words)
    content = json.loads((tmp_path / 'many_poses.json').read_text(encoding='utf-8'))
    rows = [row for row in content['rows'] if row['call'] == 'solve_batch']
    assert [row['threads'] for row in rows] == [1, 2]
    assert all(row['same'] is True and row['solutions'] > 1.0 for row in rows)
    assert all(0.0 < row['spent']['wall'] <= row['spent']['median'] for row in rows)


def test_time_is_counted_per_pose():
    spent = many_poses.times(lambda: np.linalg.norm(np.ones(2000)), 1, 3)[1]
    many = many_poses.times(lambda: np.linalg.norm(np.ones(2000)), 1000, 3)[1]
    assert many.wall < spent.wall
