"""Candidates that are measured eight at a time against the same kernels for one."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.certification import certify, ranking
from ssik_ros.kernels.closed_form.classes import lane_pipeline

ROOT = Path(__file__).resolve().parents[2]
KINDS = [(6, 0), (6, 0b000001), (7, 0b0010100), (5, 0), (3, 0b111)]
INF = np.inf


def chain_of(n, rng):
    """Return axes, points and home of a random chain as the kernels take them."""
    axes = rng.standard_normal((n, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rotation *= np.linalg.det(rotation)
    home = np.concatenate([rotation.ravel(), rng.uniform(-1.0, 1.0, 3)])
    return axes.ravel(), rng.uniform(-1.0, 1.0, 3 * n), home


def area_of(rows):
    """Return an area with candidates (8, n) in it."""
    n = rows.shape[1]
    area = np.zeros(8 * (n + lane_pipeline.ROWS))
    area[: 8 * n] = rows.T.ravel()
    return area


def row(area, n, what):
    """Return a row of an area."""
    start = 8 * (n + what)
    return area[start : start + 8]


@pytest.mark.parametrize(('n', 'slides'), KINDS)
def test_what_is_left_is_what_one_by_one_is_measured(n, slides):
    rng = np.random.default_rng(1)
    for _ in range(20):
        axes, points, home = chain_of(n, rng)
        rows, target = rng.uniform(-7.0, 7.0, (8, n)), np.empty(12)
        certify.evaluate(axes, points, home, n, slides, rows[0], np.empty(6 * n), target)
        area = area_of(rows)
        lane_pipeline.measure(area, axes, points, home, n, slides, target, 0.5)
        for lane, q in enumerate(rows):
            left = np.empty(3)
            scratch = np.empty(certify.scratch_size(n))
            certify.measure(axes, points, home, n, slides, q, target, left, scratch)
            assert row(area, n, lane_pipeline.POSITION)[lane] == pytest.approx(left[0], abs=1e-13)
            assert row(area, n, lane_pipeline.RESIDUAL)[lane] == pytest.approx(left[2], abs=1e-13)
            if lane == 0:
                assert row(area, n, lane_pipeline.ROTATION)[0] < 1e-13


def test_rotation_errors_near_zero_are_angles():
    rng = np.random.default_rng(2)
    axes, points, home = chain_of(6, rng)
    q, target, left = rng.uniform(-3.0, 3.0, 6), np.empty(12), np.empty(3)
    certify.evaluate(axes, points, home, 6, 0, q, np.empty(36), target)
    rows = q + 1e-9 * np.arange(8)[:, None]
    area = area_of(rows)
    lane_pipeline.measure(area, axes, points, home, 6, 0, target, 0.5)
    scratch = np.empty(certify.scratch_size(6))
    certify.measure(axes, points, home, 6, 0, rows[7], target, left, scratch)
    assert row(area, 6, lane_pipeline.ROTATION)[7] == pytest.approx(left[1], rel=1e-6)


def test_angles_too_large_are_left_to_others():
    rng = np.random.default_rng(3)
    axes, points, home = chain_of(6, rng)
    rows = np.zeros((8, 6))
    rows[3, 2] = 2e5
    area = area_of(rows)
    lane_pipeline.measure(area, axes, points, home, 6, 0, home, 0.5)
    assert row(area, 6, lane_pipeline.RESIDUAL).tolist() == pytest.approx(
        [0, 0, 0, 0.5, 0, 0, 0, 0]
    )


LIMITS = [(-INF, INF), (-3.0, 2.5), (-7.0, 9.0), (0.5, 0.7), (-INF, 1.0), (1.0, INF)]


@pytest.mark.parametrize('mode', [ranking.KEEP_ALL, ranking.WITHIN_LIMITS, ranking.WRAP_ONLY])
@pytest.mark.parametrize('has_seed', [True, False])
@pytest.mark.parametrize('slides', [0, 0b001001])
def test_turns_and_limits_are_those_of_one_by_one(mode, has_seed, slides):
    rng = np.random.default_rng(4)
    kept = 0
    for draw in range(60):
        limits = [LIMITS[i] for i in rng.integers(0, 4 if draw % 2 else 3, 6)]
        if draw % 5 == 0:
            limits = [LIMITS[i] for i in rng.integers(0, 6, 6)]
        lower, upper = np.array(limits).T.copy()
        rows = rng.uniform(-8.0, 8.0, (8, 6))
        rows[0] = np.where(np.isfinite(upper), upper + 5e-10, rows[0])
        rows[1] = np.where(np.isfinite(lower), lower - 5e-10, rows[1])
        seed, area = rng.uniform(-9.0, 9.0, 6), area_of(rows)
        lost = lane_pipeline.place(area, 6, slides, lower, upper, seed, has_seed, mode)
        for lane, q in enumerate(rows):
            if mode == ranking.KEEP_ALL or not has_seed:
                ranking.place(q, 6, slides, lower, upper, q, ranking.KEEP_ALL)
            wishes = seed if has_seed else q.copy()
            is_kept = ranking.place(q, 6, slides, lower, upper, wishes, mode)
            assert is_kept == (lost >> lane & 1 == 0)
            if is_kept:
                assert (area[lane:48:8] == q).all()
                kept += 1
    assert kept > 50


@pytest.mark.parametrize('metric', [ranking.SUM_OF_SQUARES, ranking.LARGEST_DIFFERENCE])
@pytest.mark.parametrize('slides', [0, 0b001001])
def test_distances_are_those_of_one_by_one(metric, slides):
    rng = np.random.default_rng(5)
    for _ in range(30):
        lower, upper = np.array([LIMITS[i] for i in rng.integers(0, 6, 6)]).T.copy()
        rows, seed = rng.uniform(-8.0, 8.0, (8, 6)), rng.uniform(-8.0, 8.0, 6)
        area = area_of(rows)
        lane_pipeline.write_distances(area, seed, 6, slides, lower, upper, metric)
        wanted = [ranking.distance(q, seed, 6, slides, lower, upper, metric) for q in rows]
        assert (row(area, 6, lane_pipeline.DISTANCE) == wanted).all()


@pytest.mark.parametrize(('n', 'slides'), KINDS)
def test_candidates_that_are_near_modulo_turns_are_found_to_be_alike(n, slides):
    rng = np.random.default_rng(6)
    same, different, alone = 1e-3, 0, 0
    turning = np.array([not slides >> k & 1 for k in range(n)])
    for _ in range(100):
        axes, points, home = chain_of(n, rng)
        rows = rng.uniform(-4.0, 4.0, (8, n))
        rows[5] = rows[2] + same * rng.choice([-1.0, 1.0], n)
        rows[5] += 2.0 * np.pi * turning * rng.integers(-1, 2, n)
        area = area_of(rows)
        lane_pipeline.measure(area, axes, points, home, n, slides, home, 0.5)
        bits = lane_pipeline.find_alike(area, n, 8, same)
        assert bits & 0b100100 == 0b100100
        different += bits == 0b100100
        # Without the sixth candidate, no other candidate equals the third.
        alone += lane_pipeline.find_alike(area, n, 5, same) == 0
    assert different > 30
    assert alone > 30


CODE = """
import json
import numpy as np
from ssik_ros.model.catalogue import arm_data, load_arm
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_request import BranchRequest
branches = []
rng = np.random.default_rng(7)
for name in ('ur5e', 'irb6700', 'puma560'):
    data = arm_data(name)
    arm = AnalyticArm(SerialChain.from_robot(load_arm(name), data.base_link, data.tip_link))
    for _ in range(4):
        q, seed = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6)
        rows = arm.branches(arm.chain.pose(q), BranchRequest(seed=seed))
        branches.append([float(v).hex() for v in np.hstack([rows.q, rows.errors]).ravel()])
print(json.dumps(branches))
"""


def test_interpreted_and_compiled_searches_agree_to_the_bit():
    outputs = []
    for disabled in '01':
        paths = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
        environment = {**os.environ, 'NUMBA_DISABLE_JIT': disabled, 'PYTHONPATH': paths}
        done = subprocess.run(
            [sys.executable, '-c', CODE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(json.loads(done.stdout))
    assert sum(map(len, outputs[0])) > 100
    assert outputs[0] == outputs[1]
