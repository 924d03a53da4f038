"""Branches at eight values of a held joint at once: the same as from the kernel for one value, in the same order."""

from test.closed_form.arms_under_test import catalogue_arm
from test.complete_oracle import wrap

import numpy as np
import pytest

from ssik_ros.kernels.closed_form.branches import held_wrist_lanes, search
from ssik_ros.kernels.closed_form.classes import candidates

STILL = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class Subject:
    """A plan that holds the first or the last joint, as the kernels take it."""

    def __init__(self, name):
        """Read the plan of an arm of the catalogue."""
        self.arm = catalogue_arm(name)
        self.plan = self.arm.plan
        self.held, self.is_reversed = self.plan.held, bool(self.plan.ints[search.REVERSED])
        self.axes, self.points = self.plan.reals[86:107].copy(), self.plan.reals[107:128].copy()
        self.special = self.plan.reals[80:86].copy()

    def goal(self, q):
        """Return G (12,) of the pose of a posture twice; the second is inverted if the reversed chain has the class."""
        g = self.arm.chain.pose(q) @ np.linalg.inv(self.arm.chain.home)
        class_goal = np.linalg.inv(g) if self.is_reversed else g
        return [np.concatenate([t[:3, :3].ravel(), t[:3, 3]]) for t in (g, class_goal)]

    def together(self, q, values):
        """Return branches (8 values, 8, 7), marks (8 values, 8) and the bits of values that are of no use."""
        scratch = np.zeros(held_wrist_lanes.SCRATCH)
        axes, points = np.zeros(18), np.zeros(18)
        candidates.write_six(
            axes, points, self.axes, self.points, 7, self.held, STILL, self.is_reversed
        )
        h, o = (tuple(v[3 * self.held :][:3].tolist()) for v in (self.axes, self.points))
        goal = self.goal(q)[1]
        is_last = self.held == 6
        held_wrist_lanes.write_targets(scratch, goal, h, o, values, is_last, self.is_reversed)
        useless = held_wrist_lanes.write_branches(scratch, axes, points, self.special)
        table = scratch[: held_wrist_lanes.ARMS].reshape(8, 7, 8).transpose(2, 0, 1)
        six = table[:, :, 5::-1] if self.is_reversed else table[:, :, :6]
        full = np.insert(six, self.held, values[:, None], axis=2)
        return full, table[:, :, 6], useless

    def alone(self, q, value):
        """Return the branches (8, 7) at one value."""
        out, ints = np.zeros((16, 7)), self.plan.ints
        kind, case = int(ints[search.KIND]), int(ints[search.CASE])
        is_moved = ints[search.BEHIND : search.BEHIND + 2].copy()
        count, _ = candidates.write_candidates(
            *(out, kind, case, self.is_reversed, self.axes, self.points, 7, 0, self.held, value),
            *(self.special, is_moved, self.goal(q)[0], 0.0, np.zeros(candidates.SCRATCH)),
        )
        assert count == 8
        return out[:8]


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'j2s7s300'])
def test_branches_are_those_of_one_value_in_their_order_and_marked_where_one_comes_twice(name):
    subject, rng, marked = Subject(name), np.random.default_rng(31), 0
    for q in rng.uniform(-2.0, 2.0, (20, 7)):
        values = rng.uniform(-3.0, 3.0, 8)
        values[3] = q[subject.held]
        branches, marks, useless = subject.together(q, values)
        for lane in set(range(8)) - {lane for lane in range(8) if useless >> lane & 1}:
            alone = subject.alone(q, values[lane])
            assert np.abs(wrap(branches[lane] - alone)).max() < 1e-9
            twice = [
                any((alone[b] == alone[b ^ bit]).all() for bit in (1, 2, 4)) for b in range(8)
            ]
            assert (marks[lane] > 0.0).tolist() == twice
            marked += sum(twice)
        assert useless >> 3 & 1 or np.abs(wrap(branches[3] - q)).max(axis=1).min() < 1e-6
    assert marked > 20


@pytest.mark.parametrize('name', ['iiwa14', 'j2s7s300'])
def test_values_with_a_straight_wrist_are_left_to_the_kernel_for_one_value(name):
    subject, q = Subject(name), np.array([0.3, 0.7, -0.4, 1.1, 0.6, 0.9, 0.2])
    straight = q.copy()
    # The middle joint of the three that the class solves last.
    straight[1 if subject.is_reversed else 5] = 0.0 if name == 'iiwa14' else np.pi
    values = np.full(8, 0.1)
    values[5] = straight[subject.held]
    *_, useless = subject.together(straight, values)
    assert useless & 1 << 5
