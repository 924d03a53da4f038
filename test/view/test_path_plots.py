"""The plot of a tool path has an axis for each joint with its limits."""

import numpy as np
import pytest

from ssik_ros.paths.measures import PathMeasures
from ssik_ros.paths.requests import ToolPath
from ssik_ros.view.pictures.path_plots import draw_path

NAMES = ('rail', 'shoulder', 'a_joint_with_a_very_long_name', 'cost_$1$')
LOWER = np.array([0.0, -1.5, -np.inf, -2.0])
UPPER = np.array([2.0, 2.5, np.inf, 2.0])


def make_plan(count=5, **changes):
    """Return a plan of four joints with its measures, without a clearance."""
    q = np.outer(np.linspace(0.0, 1.0, count), (1.0, 2.0, 7.0, -1.5))
    measures = PathMeasures(
        waypoints=np.arange(count),
        positions=q,
        lower=LOWER,
        upper=UPPER,
        units=('m', 'rad', 'rad', 'rad'),
        margins=np.full((count, 4), 0.2),
        singular=np.full(count, 0.3),
        clearance=None,
    )
    path = {'valid': True, 'joint_names': NAMES, 'positions': q, 'cost': 1.0, 'lower_bound': 0.5}
    return ToolPath(**{**path, **changes}), measures


def test_each_joint_has_an_axis_with_its_positions_and_limits():
    path, measures = make_plan()
    figure = draw_path('line', 5, path, measures)
    axes = figure.axes
    assert len(axes) == len(NAMES) + 2
    for column, part in enumerate(axes[: len(NAMES)]):
        curve, *limits = part.lines
        assert np.array_equal(curve.get_ydata(), measures.positions[:, column])
        wanted = [x for x in (LOWER[column], UPPER[column]) if np.isfinite(x)]
        assert [line.get_ydata()[0] for line in limits] == wanted
        low, high = part.get_ylim()
        assert all(low < limit < high for limit in wanted), 'limits are within the axis'
    labels = [part.get_ylabel() for part in axes[: len(NAMES)]]
    assert labels[0] == 'rail\n[m]' and labels[1] == 'shoulder\n[rad]'
    assert labels[2] == 'a_joint_with_a_very_l...\n[rad]'
    figure.canvas.draw()


def test_a_failed_plan_is_marked_in_every_axis():
    path, measures = make_plan(
        valid=False, reason='Waypoint 5 is out of reach.', failed_waypoint=5
    )
    figure = draw_path('line', 9, path, measures)
    for part in figure.axes:
        assert part.lines[-1].get_xdata()[0] == pytest.approx(5.0)
    assert 'out of reach' in figure.get_suptitle()
