"""Verdicts on a run: the best peer, the missed goals, and the page and pictures that show them."""

import json

import pytest

from bench import document, goals, plots

CONDITIONS = {
    'date': '2026-01-02T03:04:05+00:00',
    'cpu': 'some processor',
    'cores': 2,
    'pinned_to': 1,
    'governor': 'unknown',
    'load_average': [0.5, 0.5, 0.5],
    'calibration_ms': 2.0,
    'system': 'Linux',
    'versions': {'python': '3.11', 'some_peer': '1.2'},
}


def times(median, mean=None, p99=None):
    return {
        'median': median,
        'mean': mean or 1.2 * median,
        'p95': 2.0 * median,
        'p99': p99 or 3.0 * median,
        'p05': 0.5 * median,
        'p25': 0.8 * median,
        'p75': 1.4 * median,
    }


def row(peer, median, is_own=False, name='first_found_1e-3', arm='panda', success=100.0, **more):
    return {
        'bench_class': name,
        'arm': arm,
        'peer': peer,
        'is_own': is_own,
        'cpu': times(median, **more),
        'success': success,
        'samples': 10,
        'claimed_wrongly': 0,
        'note': '',
        'call': f'{peer}(T)',
    }


def peers(*rows):
    return {'peers': {'conditions': CONDITIONS, 'rows': list(rows)}}


def test_the_fastest_with_verified_solutions_count():
    rows = [
        row('hasty', 1.0, is_own=True, success=99.9),
        row('ours', 2.0, is_own=True, success=99.96),
        row('slow', 3.0, is_own=True),
        row('wild', 1.0, success=80.0),
        row('peer', 20.0, success=96.0),
    ]
    assert goals.best(rows, is_own=True)['peer'] == 'ours'
    assert goals.best(rows, is_own=False)['peer'] == 'peer'
    assert goals.best(rows[:1], is_own=True) is None


@pytest.mark.parametrize(
    ('median', 'mean', 'p99', 'reached'),
    [
        (10.0, 12.0, 30.0, True),
        (10.1, 12.0, 30.0, False),
        (9.0, 12.5, 30.0, False),
        (9.0, 9.0, 31.0, False),
    ],
)
def test_the_first_solution_must_be_five_times_faster_in_the_mean_and_at_the_end_too(
    median, mean, p99, reached
):
    results = peers(row('ours', median, is_own=True, mean=mean, p99=p99), row('peer', 50.0))
    # The peer's mean is 60 and its p99 150.
    (verdict,) = goals.verdicts(results)
    assert verdict.reached is reached and verdict.wanted == '5 times'


def test_other_classes_are_to_be_won_and_auto_stands_beside():
    rows = [
        row('ours', 10.0, is_own=True, name='near_limit'),
        row('Auto', 20.0, is_own=True, name='near_limit'),
        row('peer', 15.0, name='near_limit'),
    ]
    verdict = goals.verdicts(peers(*rows))[0]
    assert (verdict.wanted, verdict.reached) == ('won', True)
    assert (verdict.ratio, verdict.auto) == ('1.5', '0.8')
    rows[0] = row('ours', 15.1, is_own=True, name='near_limit')
    assert not goals.verdicts(peers(*rows))[0].reached


@pytest.mark.parametrize(
    ('auto', 'success', 'reached'), [(11.0, 100.0, True), (11.1, 100.0, False), (9.0, 99.0, False)]
)
def test_auto_stands_beside_the_better_of_its_parts_on_the_worst_arm(auto, success, reached):
    rows = [
        row('ik_LM', 10.0, is_own=True),
        row('PoseIK', 12.0, is_own=True),
        row('Analytic', 5.0, is_own=True, success=90.0),
        row('peer', 1.0),
        row('Auto', auto, is_own=True, success=success),
        row('ik_LM', 10.0, is_own=True, arm='ur5e'),
        row('Auto', 5.0, is_own=True, arm='ur5e'),
        row('Auto', 5.0, is_own=True, arm='fanuc'),
    ]
    (verdict,) = (v for v in goals.verdicts(peers(*rows)) if 'beside' in v.goal)
    assert (verdict.arm, verdict.peer) == ('worst: panda', 'ik_LM 10.0 us')
    assert (verdict.ours, verdict.reached) == (
        f'Auto {auto:.1f} us: {auto / 10:.2f} times',
        reached,
    )


def test_a_class_that_none_of_ours_can_do_is_missed():
    verdicts = goals.verdicts(peers(row('ours', 1.0, is_own=True, success=99.0), row('peer', 9.0)))
    assert [(v.ours, v.reached) for v in verdicts] == [('none', False)]


def test_a_class_without_goals_on_an_arm_is_neither_reached_nor_missed():
    nothing = {'cpu': None, 'has_goals': False, 'note': 'no goals: the hull tells nearly all'}
    rows = [row('ours', 1.0, is_own=True) | nothing, row('peer', 9.0) | nothing]
    asked = [row('ours', 1.0, is_own=True, arm='ur5e'), row('peer', 9.0, arm='ur5e')]
    verdicts = goals.verdicts(peers(*rows, *asked))
    assert [(v.arm, v.reached) for v in verdicts] == [('panda', None), ('ur5e', True)]
    text = document.goal_table(verdicts)
    assert text.count('no such goals') == 2 and 'missed**' not in text
    assert '1 of 1 reached, 0 missed. Where it says so (1), the arm has no such goals.' in text


def test_the_summary_has_the_range_of_the_ratios_and_counts_goals_that_were_missed():
    rows = []
    for arm, ours in (('panda', 1.0), ('ur5e', 3.0)):
        rows += [row('ours', ours, is_own=True, arm=arm), row('peer', 9.0, arm=arm)]
    verdicts = goals.verdicts(peers(*rows))
    assert [v.reached for v in verdicts] == [True, False]
    text = document.summary(verdicts, has_pictures=False)
    assert '3.0 to 9.0' in text and '1 of 2' in text
    assert '1 are reached and 1 missed' in text and 'images/' not in text


@pytest.mark.parametrize(('spent', 'reached'), [(100.0, True), (101.0, False)])
def test_a_refusal_may_cost_five_solutions(spent, reached):
    rows = [
        row('Auto', 20.0, is_own=True, arm='ur5e'),
        row('Auto', spent, is_own=True, arm='ur5e', name='unreachable'),
    ]
    (verdict,) = (v for v in goals.verdicts(peers(*rows)) if v.goal == 'a refusal')
    assert verdict.reached is reached


def loops(solver, median, within=100.0):
    fields = {'mechanism': 'hexapod', 'run': 'track', 'solver': solver, 'frames': 9}
    return {**fields, 'cpu': times(median), 'converged': 100.0, 'within': within}


def test_a_peer_that_misses_the_loops_is_not_the_best():
    rows = [loops('ClosedChain', 50.0), loops('wrong', 10.0, 50.0), loops('right', 500.0)]
    (verdict,) = goals.verdicts({'closed_chain': {'conditions': CONDITIONS, 'rows': rows}})
    assert verdict.peer == 'right 500 us / 0.0.6 elsewhere 900 us'
    assert (verdict.ratio, verdict.reached) == ('10.0 / 18.0', True)


def started(seconds):
    fields = {'arm': 'panda', 'solver': 'solve_q', 'note': '', 'set_up': 0.1, 'peak_mib': 50.0}
    return {**fields, 'imported': None, 'first_solution': 0.1, 'together': seconds}


def other_results(wall, frame, start, ratio, memory):
    spent = {'wall': wall, 'median': wall, 'cpu': wall}
    batch = [{'arm': 'ur5e', 'call': 'solve_batch', 'threads': 2, 'spent': spent}]
    chain = [loops('ClosedChain', frame), loops('peer', 9.0 * frame)]
    trip = [
        {
            'robot': 'panda',
            'server': 'own',
            'times': {'median': 130.0},
            'ratio': ratio,
            'peak_mib': memory,
        }
    ]
    return {
        'many_poses': {'conditions': CONDITIONS, 'rows': batch},
        'closed_chain': {'conditions': CONDITIONS, 'rows': chain},
        'start_up': {'conditions': CONDITIONS, 'rows': [started(start)]},
        'round_trip': {'conditions': CONDITIONS, 'rows': trip},
    }


@pytest.mark.parametrize('missed', range(6))
def test_each_other_goal_is_missed_by_its_own_figure_alone(missed):
    figures = [[1.0, 1.01], [90.0, 90.1], [1.0, 1.1], [1.3, 1.31], [300.0, 301.0]]
    chosen = [pair[index == missed] for index, pair in enumerate(figures)]
    verdicts = goals.verdicts(other_results(*chosen))
    assert len(verdicts) == 5
    assert sum(not v.reached for v in verdicts) == (missed < 5)


@pytest.mark.parametrize(('added', 'reached'), [(20.0, True), (20.1, False)])
def test_searches_may_delay_single_calls_by_a_bound(added, reached):
    rows = [{'searches': 0, 'added': 0.0}, {'searches': 4, 'added': added}]
    (verdict,) = goals.verdicts({'load': {'delays': rows}})
    assert (verdict.ours, verdict.reached) == (f'{added:.3g} ms', reached)
    assert goals.verdicts({'load': {'late': []}}) == []


@pytest.mark.parametrize(
    ('more', 'reached'),
    [
        ({}, [True, True]),
        ({'seconds': 61.0}, [False, True]),
        ({'fault': 'waypoint 3 collides'}, [False, True]),
        ({'memory': 955.0}, [True, False]),
        ({'most_memory': None}, [True]),
        ({'memory': None}, [True]),
    ],
)
def test_a_tool_path_must_be_valid_and_keep_to_time_and_memory(more, reached):
    row = {'problem': 'rail', 'fault': '', 'seconds': 60.0, 'goal': 60.0}
    row |= {'memory': 953.0, 'most_memory': 954.0, **more}
    verdicts = goals.verdicts({'tool_paths': {'rows': [row]}})
    assert [verdict.reached for verdict in verdicts] == reached


def branches(arm, peer, median, is_own, count=8):
    sets = {'counts': [count], 'empty': 0.0, 'recovered_share': 100.0}
    return {
        'arm': arm,
        'peer': peer,
        'cpu': times(median),
        'is_own': is_own,
        'sets': sets,
        'note': '',
        'times_ours': {'median': 2.0},
    }


@pytest.mark.parametrize(('many', 'reached'), [(70.0, True), (70.1, False)])
def test_seven_joints_count_with_as_many_solutions(many, reached):
    rows = [
        branches('panda', 'solve_q', 60.0, True),
        branches('panda', 'solve_q as many', many, True),
        branches('panda', 'ssik', 140.0, False),
    ]
    content = {'conditions': CONDITIONS, 'rows': rows, 'goals': {'panda': 70.0}}
    (verdict,) = goals.verdicts({'analytic': content})
    assert verdict.reached is reached and verdict.ratio == f'{140.0 / many:.1f}'


@pytest.mark.parametrize(('free', 'reached'), [(4.5, True), (5.1, False)])
def test_the_same_work_as_the_peer_that_knows_no_limits_has_a_verdict_of_its_own(free, reached):
    rows = [
        branches('ur5e', 'solve_q', 4.0, True),
        branches('ur5e', 'solve_q free', free, True),
        branches('ur5e', 'eaik', 5.0, False),
    ]
    content = {'conditions': CONDITIONS, 'rows': rows, 'goals': {'ur5e': 5.0}}
    limited, same = goals.verdicts({'analytic': content})
    assert (limited.ours, limited.peer, limited.reached) == ('solve_q 4.0 us', 'eaik 5.0 us', True)
    assert (same.goal, same.reached) == ('no limits, no seed', reached)
    assert (same.ours, same.peer) == (f'solve_q free {free:.1f} us', 'eaik 5.0 us')


def test_the_page_and_its_pictures_come_from_the_files(tmp_path, capsys):
    absent = {**row('shy', 1.0), 'cpu': None, 'note': 'knows six joints only'}
    results = peers(row('ours', 10.0, is_own=True), row('peer', 20.0), absent)
    results |= other_results(2.0, 50.0, 0.5, 1.2, 200.0)
    del results['round_trip']
    rows = [branches('ur5e', 'solve_q', 4.0, True), branches('ur5e', 'eaik', 5.0, False)]
    results['analytic'] = {'conditions': CONDITIONS, 'rows': rows, 'goals': {'ur5e': 5.0}}
    for name, content in results.items():
        (tmp_path / f'{name}.json').write_text(json.dumps(content))
    page = tmp_path / 'docs' / 'benchmarks.md'
    document.main(['--results', str(tmp_path), '--page', str(page)])
    text = page.read_text()
    for words in ('some processor', 'some_peer 1.2', '2026-01-02', 'knows six joints only'):
        assert words in text
    assert text.count('**missed**') == 2
    assert 'Not measured in this run: round_trip, start_up_ratios.' in text
    pictures = {path.name for path in (page.parent / 'images').iterdir()}
    assert pictures == {f'bench_{n}.png' for n in ('first_found_1e-3', 'success', 'all_branches')}
    assert all(f'images/{name}' in text for name in pictures)
    assert str(page) in capsys.readouterr().out


def test_nothing_is_written_about_nothing(tmp_path):
    with pytest.raises(SystemExit, match='nothing was measured'):
        document.main(['--results', str(tmp_path), '--page', str(tmp_path / 'page.md')])


def test_boxes_are_the_quantiles_of_the_measurement():
    drawn = plots.box(row('ours', 10.0))
    assert (drawn['whislo'], drawn['q1'], drawn['med'], drawn['q3'], drawn['whishi']) == (
        5,
        8,
        10,
        14,
        20,
    )
    assert drawn['fliers'] == [30.0]
