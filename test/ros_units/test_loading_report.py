"""While a robot takes long to load, the log says where the loading is."""

from ssik_ros.ros.process.loading_report import LoadingReport, STAGES


def report():
    """Return a report, its lines, and its clock."""
    lines, now = [], [100.0]
    return LoadingReport(lines.append, lambda: now[0]), lines, now


def test_nothing_is_said_before_and_after_a_robot_is_loaded():
    made, lines, _ = report()
    made.tell()
    made.enter(0)
    made.end()
    made.tell()
    assert lines == []


def test_a_line_names_stage_time_and_what_is_left():
    made, lines, now = report()
    made.enter(0)
    now[0] += 5.0
    made.enter(2)
    now[0] += 5.0
    made.tell()
    expected = (
        f'Loading the robot for 10 s: {STAGES[2]} (step 3 of {len(STAGES)}). Left: {STAGES[3]}.'
    )
    assert lines == [expected]


def test_the_last_stage_leaves_nothing():
    made, lines, _ = report()
    made.enter(0)
    made.enter(len(STAGES) - 1)
    made.tell()
    assert lines[0].endswith('Left: nothing.')


def test_a_second_robot_begins_anew():
    made, lines, now = report()
    made.enter(0)
    made.end()
    now[0] += 60.0
    made.enter(0)
    now[0] += 1.0
    made.tell()
    assert 'for 1 s' in lines[0]
