"""The twelve equations of an elimination, solved by numpy too. The kernels run as plain Python."""

import json
import os
import subprocess
import sys

import numpy as np

CODE = """
import json, sys
import numpy as np
from ssik_ros.kernels.closed_form.elimination import null_vectors as nv

given = json.loads(sys.stdin.read())
sine, cosine, one, x = (np.array(given[name]) for name in ('sine', 'cosine', 'one', 'x'))
lu, pivots, out = np.empty((12, 12)), np.empty(12, dtype=np.int32), np.empty((12, 12))
nv.factorise_equations(lu, pivots, sine, cosine, one, given['q'])
nv.refine(lu, pivots, x)
nv.write_inverse_distances(out, lu, pivots, sine, cosine, given['q'], np.empty(12))
print(json.dumps({'x': x.tolist(), 'out': out.tolist(), 'pivots': pivots.tolist()}))
"""


def equations(polynomials):
    """Return the equations (12, 12) of polynomials (6, 9): each in the last columns, then in the first."""
    rows = np.zeros((12, 12))
    rows[0::2, 3:], rows[1::2, :9] = polynomials, polynomials
    return rows


def test_the_equations_are_solved_whatever_rows_are_exchanged():
    rng = np.random.default_rng(4)
    sine, cosine, one = rng.normal(size=(3, 6, 9))
    q, x = 0.7, rng.normal(size=12)
    given = {'sine': sine, 'cosine': cosine, 'one': one, 'x': x}
    text = json.dumps({'q': q, **{name: array.tolist() for name, array in given.items()}})
    run = subprocess.run(
        [sys.executable, '-c', CODE],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, 'NUMBA_DISABLE_JIT': '1'},
    )
    assert run.returncode == 0, run.stderr
    output = json.loads(run.stdout)
    value = equations(np.sin(q) * sine + np.cos(q) * cosine + one)
    slope = equations(np.cos(q) * sine - np.sin(q) * cosine)
    # Only exchanges of rows that are not neighbours depend on the order of two loops.
    assert any(place > row + 1 for row, place in enumerate(output['pivots']))
    expected = np.linalg.solve(value, x)
    np.testing.assert_allclose(output['x'], expected / np.abs(expected).max(), rtol=0, atol=1e-11)
    np.testing.assert_allclose(output['out'], np.linalg.solve(value, slope), rtol=1e-9, atol=1e-10)
