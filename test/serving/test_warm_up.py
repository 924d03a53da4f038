"""
After warming up, no question meets the compiler.

It is not only slow: it is one lock for all threads. A node that still compiled what ``~/solve_all`` needs once let its
first ``compute_ik`` wait half a minute for 40 microseconds of machine code from the cache.
"""

from pathlib import Path
import subprocess
import sys

import pytest
from warm_questions import ROBOTS

PROGRAM = Path(__file__).parent / 'warm_questions.py'
HAS_NO_CLOSED_FORM = ('inner_multi',)


@pytest.mark.parametrize('robot', sorted(ROBOTS))
@pytest.mark.parametrize('solver', ['ssik_ros/PoseIK', 'ssik_ros/Analytic'])
def test_no_question_waits_for_the_compiler(solver, robot):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), solver, robot],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count, *places = done.stdout.split('\n')[:-1]
    assert places == []
    # The closed form serves chains of one to seven revolute joints on a fixed base.
    assert int(count) >= 6 or (solver == 'ssik_ros/Analytic' and robot in HAS_NO_CLOSED_FORM)
