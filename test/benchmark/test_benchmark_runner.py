"""Runs of solvers: the same requests for all, and success only for verified solutions."""

import gc

from test.benchmark import planar_arm

import numpy as np
import pytest

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.benchmark.session import prepare_benchmark
from ssik_ros.benchmark.summary import summarise
from ssik_ros.benchmark.trials import RunStatus, TrialVerdict
from ssik_ros.errors import DescriptionNotFound, GroupNotFound, InvalidParameter, UnknownGroup


@pytest.fixture
def arena(monkeypatch, tmp_path):
    """Return a function that prepares a benchmark of solvers with the given functions from request to result."""

    def prepare(sample_size=20, **behaviours):
        made = planar_arm.register(monkeypatch, **behaviours)
        package = planar_arm.write_package(tmp_path, **{key: f'test/{key}' for key in behaviours})
        path = planar_arm.write_config(package, *behaviours, sample_size=sample_size)
        return prepare_benchmark(read_benchmark_config(path)), made

    return prepare


def run_one(arena, behaviour, **kwargs):
    """Return the run of one solver."""
    session, _ = arena(solver=behaviour, **kwargs)
    return session.run().runs[0]


def test_a_right_solver_is_fully_verified(arena):
    run = run_one(arena, planar_arm.honest)
    assert [trial.verdict for trial in run.trials] == [TrialVerdict.VERIFIED] * 20
    assert summarise(run).worst_position_error < 1e-12


@pytest.mark.parametrize('behaviour', [planar_arm.lying, planar_arm.boasting])
def test_a_solver_that_lies_is_verified_in_no_trial(arena, behaviour):
    run = run_one(arena, behaviour)
    summary = summarise(run)
    assert (summary.success_rate, summary.found) == (0.0, 0)
    assert (summary.claimed, summary.false_claims) == (20, 20)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('behaviour', 'verdict'),
    [
        (planar_arm.lying, TrialVerdict.OUTSIDE_TOLERANCE),
        (planar_arm.sloppy, TrialVerdict.OUTSIDE_TOLERANCE),
        (planar_arm.wound, TrialVerdict.OUTSIDE_LIMITS),
        (planar_arm.not_finite, TrialVerdict.NOT_FINITE),
        (planar_arm.too_short, TrialVerdict.NOT_FINITE),
        (planar_arm.solved_by_nothing, TrialVerdict.NOT_FINITE),
        (planar_arm.giving_up, TrialVerdict.NO_SOLUTION),
        (planar_arm.raising, TrialVerdict.EXCEPTION),
        (planar_arm.returning_none, TrialVerdict.EXCEPTION),
    ],
)
def test_every_way_to_fail_has_its_verdict_and_counts_as_not_found(arena, behaviour, verdict):
    run = run_one(arena, behaviour)
    assert {trial.verdict for trial in run.trials} == {verdict}
    assert not any(trial.found_ik for trial in run.trials)


def test_a_vector_outside_the_limits_is_refused_although_its_pose_fits(arena):
    trial = run_one(arena, planar_arm.wound).trials[0]
    assert trial.position_error < 1e-9
    assert not trial.within_limits


def test_an_exception_is_recorded_with_its_text_on_one_line(arena):
    trial = run_one(arena, planar_arm.raising).trials[0]
    assert trial.note == 'RuntimeError: singular matrix'


def test_a_solver_that_gives_up_leaves_its_cause(arena):
    assert run_one(arena, planar_arm.giving_up).trials[0].cause == 'LIMITS'


def test_the_tolerance_is_the_one_of_the_kinematics_file(arena, tmp_path):
    session, _ = arena(solver=planar_arm.sloppy)
    path = tmp_path / 'planar_moveit_config/config/solver_kinematics.yaml'
    path.write_text(
        'arm: {kinematics_solver: test/solver, target_tolerance: 0.1}\n', encoding='utf-8'
    )
    session = prepare_benchmark(session.config)
    run = session.run().runs[0]
    assert (run.tolerance, summarise(run).success_rate) == (0.1, 1.0)


def test_position_only_leaves_the_orientation_out_of_the_judgement(arena, tmp_path):
    def twisted(request):
        target = request.targets.reshape(4, 4)
        exact = planar_arm.closed_form(target)
        mirrored = target.copy()
        mirrored[:2, :2] = _other_elbow(exact)
        return planar_arm.result(planar_arm.closed_form(mirrored))

    session, _ = arena(solver=twisted)
    path = tmp_path / 'planar_moveit_config/config/solver_kinematics.yaml'
    path.write_text(
        'arm: {kinematics_solver: test/solver, position_only_ik: true}\n', encoding='utf-8'
    )
    free = prepare_benchmark(session.config).run().runs[0]
    strict = session.run().runs[0]
    judged = [(f.found_ik, s.found_ik) for f, s in zip(free.trials, strict.trials)]
    assert {trial.verdict for trial in strict.trials} != {TrialVerdict.VERIFIED}
    assert (True, False) in judged
    assert (False, True) not in judged


def _other_elbow(q):
    """Return the rotation (2, 2) of the tip for the second way to reach the same position."""
    reach = planar_arm.UPPER_ARM + planar_arm.FOREARM * np.exp(1j * q[1])
    shoulder = q[0] + 2.0 * np.angle(reach)
    angle = shoulder - q[1]
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def test_every_solver_gets_the_same_requests(arena):
    session, made = arena(a=planar_arm.honest, b=planar_arm.giving_up)
    session.run()
    for one, other in zip(made['a'].requests, made['b'].requests, strict=True):
        assert one.targets.tobytes() == other.targets.tobytes()
        assert one.seed.tobytes() == other.seed.tobytes()


def test_two_runs_have_the_same_requests(arena):
    session, made = arena(a=planar_arm.honest)
    session.run()
    prepare_benchmark(session.config).run()
    first, second = made['a'].requests[:20], made['a'].requests[20:]
    assert [r.seed.tobytes() for r in first] == [r.seed.tobytes() for r in second]


def test_a_solver_that_spoils_its_request_does_not_spoil_the_next_solver(arena):
    def spoiling(request):
        honest_result = planar_arm.honest(request)
        request.targets[:] = 0.0
        request.seed[:] = 0.0
        return honest_result

    session, _ = arena(bad=spoiling, good=planar_arm.honest)
    assert [summarise(run).success_rate for run in session.run().runs] == [1.0, 1.0]


def test_a_solution_is_kept_even_when_the_solver_reuses_its_memory(arena):
    memory = np.zeros(2)

    def reusing(request):
        memory[:] = planar_arm.closed_form(request.targets.reshape(4, 4))
        solved = planar_arm.result(memory)
        return solved._replace(solutions=memory[None])

    assert summarise(run_one(arena, reusing)).success_rate == 1.0


def test_the_budget_of_a_request_is_ik_timeout(arena):
    session, made = arena(a=planar_arm.honest)
    session.run()
    assert {request.timeout for request in made['a'].requests} == {0.1}


def test_a_solver_with_its_own_joint_order_is_asked_and_judged_in_it(arena):
    def swapped(request):
        return planar_arm.result(planar_arm.honest(request).q[::-1])

    session, made = arena(a=swapped)
    made['a'].joint_names = ('elbow', 'shoulder')
    report = session.run()
    assert summarise(report.runs[0]).success_rate == 1.0
    assert np.array_equal(made['a'].requests[0].seed, session.cases.seeds[0][::-1])


def test_a_solver_for_another_tip_fails_with_a_reason(arena):
    session, made = arena(a=planar_arm.honest, b=planar_arm.honest)
    made['a'].tip_frames = ('fore',)
    first, second = session.run().runs
    assert (first.status, second.status) == (RunStatus.FAILED, RunStatus.RAN)
    assert 'fore' in first.reason


def test_a_solver_whose_warm_up_raises_fails_with_a_reason_and_the_run_goes_on(arena):
    session, made = arena(a=planar_arm.honest, b=planar_arm.honest)
    made['a'].warm_up = lambda: 1 / 0
    first, second = session.run().runs
    assert (first.status, second.status) == (RunStatus.FAILED, RunStatus.RAN)
    assert 'ZeroDivisionError' in first.reason


def test_a_foreign_solver_is_a_row_without_trials_and_the_run_goes_on(monkeypatch, tmp_path):
    planar_arm.register(monkeypatch, mine=planar_arm.honest)
    package = planar_arm.write_package(tmp_path, KDL='kdl/KDLPlugin', mine='test/mine')
    session = prepare_benchmark(
        read_benchmark_config(planar_arm.write_config(package, 'KDL', 'mine'))
    )
    foreign, mine = session.run().runs
    assert (foreign.status, len(foreign.trials)) == (RunStatus.NOT_INSTALLED, 0)
    assert (foreign.requested_solver, mine.status) == ('kdl/KDLPlugin', RunStatus.RAN)


def test_progress_is_reported_every_display_step_and_at_the_end(arena):
    session, _ = arena(sample_size=12, solver=planar_arm.honest)
    told = []
    session.run(lambda *state: told.append(state))
    assert told == [('solver', 5, 12), ('solver', 10, 12), ('solver', 12, 12)]


def test_garbage_collection_is_off_while_solvers_are_timed_and_on_again_after(arena):
    states = []

    def watching(request):
        states.append(gc.isenabled())
        return planar_arm.honest(request)

    run_one(arena, watching)
    assert set(states) == {False}
    assert gc.isenabled()


def test_only_the_call_is_timed(arena):
    run = run_one(arena, planar_arm.honest)
    assert all(trial.solve_time_ns > 0 for trial in run.trials)
    assert all(isinstance(trial.solve_time_ns, int) for trial in run.trials)


def test_the_claim_of_a_solver_is_its_status_and_nothing_else(arena):
    def hesitant(request):
        return planar_arm.honest(request)._replace(status=planar_arm.IkStatus.APPROXIMATE)

    assert not any(trial.solver_claim for trial in run_one(arena, hesitant).trials)


def test_the_distance_to_the_seed_is_recorded(arena):
    session, _ = arena(solver=planar_arm.honest)
    trial = session.run().runs[0].trials[3]
    expected = np.linalg.norm(session.cases.goals[3] - session.cases.seeds[3])
    assert trial.seed_distance == pytest.approx(expected)


def test_an_unknown_group_is_an_error_before_anything_runs(arena, tmp_path):
    session, _ = arena(a=planar_arm.honest)
    path = tmp_path / 'planar.yaml'
    path.write_text(path.read_text().replace('planning_group: arm', 'planning_group: amr'))
    with pytest.raises(GroupNotFound, match="Did you mean 'arm'"):
        prepare_benchmark(read_benchmark_config(path))
    assert session.config.planning_group == 'arm'


def test_a_kinematics_file_without_the_group_is_an_error(arena, tmp_path):
    session, _ = arena(a=planar_arm.honest)
    path = tmp_path / 'planar_moveit_config/config/a_kinematics.yaml'
    path.write_text('leg: {kinematics_solver: test/a}\n', encoding='utf-8')
    with pytest.raises(UnknownGroup, match="no group 'arm', only leg"):
        prepare_benchmark(session.config)


def test_a_missing_kinematics_file_is_an_error_that_lists_the_others(arena, tmp_path):
    session, _ = arena(a=planar_arm.honest, b=planar_arm.honest)
    (tmp_path / 'planar_moveit_config/config/b_kinematics.yaml').unlink()
    with pytest.raises(DescriptionNotFound, match=r'b_kinematics\.yaml.*a_kinematics\.yaml'):
        prepare_benchmark(session.config)


def test_a_misspelt_parameter_in_a_kinematics_file_is_an_error(arena, tmp_path):
    session, _ = arena(a=planar_arm.honest)
    path = tmp_path / 'planar_moveit_config/config/a_kinematics.yaml'
    path.write_text('arm: {kinematics_solver: test/a, target_tolerence: 1.0}\n', encoding='utf-8')
    with pytest.raises(InvalidParameter, match='target_tolerance'):
        prepare_benchmark(session.config)


def test_an_unknown_robot_is_an_error(tmp_path):
    package = planar_arm.write_package(tmp_path, a='ssik_ros/PoseIK')
    path = planar_arm.write_config(package, 'a')
    path.write_text(path.read_text().replace(str(package), 'no_such_robot'), encoding='utf-8')
    with pytest.raises(DescriptionNotFound, match='no_such_robot'):
        prepare_benchmark(read_benchmark_config(path))
