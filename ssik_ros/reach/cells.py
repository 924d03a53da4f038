"""
Decide for poses whether an arm reaches them: reachable, proved out of reach, or unknown.

:class:`ReachArm` decides, and :class:`Decided` has the results.

Proofs
    A pose is REACHABLE if a posture within the limits is found whose forward kinematics is the pose. It is
    OUT_OF_REACH in three cases. The hull of the arm's reach does not contain it. Or the closed form of six joints
    gives all branches of a regular pose, and none is within the limits. Or the values of the seventh joint are divided
    into cells, and in each cell some joint of each branch is outside of its limits. If neither a posture nor a proof
    is found, the pose is UNKNOWN.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.errors import DimensionMismatch, InvalidTarget, TopologyMismatch
from ssik_ros.kernels.closed_form.branches import search
from ssik_ros.kernels.closed_form.counting import held_decision
from ssik_ros.model.serial_chain import SerialChain
from ssik_ros.paths.waypoints import wrong_poses
from ssik_ros.reach.grid import poses_of
from ssik_ros.reach.measures import best_measures
from ssik_ros.reach.statuses import CellStatus, FACTS
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.batch import ManyBranches, search_batch
from ssik_ros.solvers.closed_form.branch_request import PLAIN
from ssik_ros.solvers.closed_form.counting import count_branches, is_countable
from ssik_ros.solvers.closed_form.held_proof import HeldDecision
from ssik_ros.solvers.closed_form.plan import CERTIFIED_ERROR
from ssik_ros.solvers.closed_form.posture_search import Goal, KeptLimits, PostureSearch
from ssik_ros.value_class import dataclass

MOST_BRANCHES = 255
MOST_EFFORT = 65_535


class Decided(NamedTuple):
    """
    Result for n poses: status, number of branches, effort, and the largest measures over the postures of each pose.

    The largest values of two measures may belong to different postures.
    """

    status: NDArray[np.uint8]
    """(n,) of :class:`CellStatus`."""
    branches: NDArray[np.uint8]
    """
    (n,) number of branches within the limits, at most 255.

    For six joints with a closed form, all branches count that it finds. For seven joints, branches count at the first
    tried values of the seventh joint that have any. Without a closed form it is 1 if a search found a posture.
    """
    manipulability: NDArray[np.float32]
    """(n,) largest of all branches, NaN without a branch or if not requested; see :mod:`ssik_ros.reach.measures`."""
    limit_margin: NDArray[np.float32]
    """(n,) largest of all branches, of the distance to the nearest limit [rad or m]; NaN as ``manipulability``."""
    effort: NDArray[np.uint16]
    """
    (n,) amount of work of searches: numbers of values and cells of the sampled joint, plus starts.

    It is 0 for poses that were decided without a search. With collision checks, further postures that were tried for
    want of a free one count, too.
    """
    clearance: NDArray[np.float32] | None = None
    """(n,) largest of all branches [m], NaN without a branch; None if it was not requested."""
    self_motions: NDArray[np.uint8] | None = None
    """(n,) number of self-motions (curves of postures) of each pose, 255 for more; None if not requested."""


@dataclass(frozen=True, eq=False)
class ReachSettings:
    """Settings of a :class:`ReachArm`: quantities to compute for each pose, and whether to search for postures."""

    measures: bool = False
    """Whether manipulability and limit margin are wanted."""
    searches: bool = True
    """
    Whether a search follows where samples have met no posture of seven joints.

    An arm without a closed form is searched in any case.
    """
    clearance: bool = False
    """Whether the clearance is wanted; it needs shapes, see :class:`ssik_ros.reach.checked_cells.CheckedArm`."""
    self_motions: bool = False
    """Whether the self-motions of seven joints are to be counted."""


class ReachArm:
    """
    Decides which poses the tip of one chain reaches, without collision checks.

    It is not sent to other processes: each worker process makes its own object from the chain.
    """

    def __init__(self, chain: SerialChain, settings: ReachSettings) -> None:
        """
        Choose the solvers: a closed form if the chain has one, and a search unless the closed form finds all branches.

        :param chain: from the base link, in which poses are given, to the tip link.
        :param settings: the quantities to compute, and whether to search.
        """
        self.chain, self.settings = chain, settings
        self._limits = KeptLimits(chain.lower, chain.upper, True)
        try:
            self._arm: AnalyticArm | None = AnalyticArm(chain)
        except TopologyMismatch:
            self._arm = None
        plan = None if self._arm is None else self._arm.plan
        self.is_complete = plan is not None and plan.is_complete
        """Whether all branches are found, so that a pose without any is proved to be out of reach."""
        is_countable_arm = self._arm is not None and is_countable(self._arm)
        self._is_counted = self.is_complete and is_countable_arm and not settings.measures
        self._search = None if self.is_complete else PostureSearch(chain)
        self._proof = None if self._arm is None else HeldDecision.of(self._arm)
        finds_postures = self._proof is not None and self._proof.finds_postures
        self._is_decided = finds_postures and not settings.measures
        self.is_fast = self._is_counted or self._is_decided
        """Whether the poses are decided side by side, in microseconds each."""

    @property
    def method(self) -> str:
        """Return a phrase that says how poses are decided, such as 'closed form with all branches'."""
        if self._arm is None:
            return 'search with restarts; out of reach by the hull of the arm'
        if self.is_complete:
            return 'closed form with all branches'
        proofs = 'the hull of the arm' if self._proof is None else 'the ranges of all joints'
        return f'closed form at sampled values of a joint, then a search; out of reach by {proofs}'

    def decide(self, poses: FloatArray) -> Decided:
        """
        Return the status of poses, with the number of branches found and the measures in the settings.

        :param poses: (n, 4, 4) of the tip in the base, or (n, 7) positions and unit quaternions x, y, z, w.
        :raises DimensionMismatch: for other shapes.
        :raises InvalidTarget: if a pose is not a rigid transform.
        """
        matrices = as_matrices(poses)
        decided = unknown_results(len(matrices))
        if self._arm is not None and self._is_counted:
            return self._count(self._arm, matrices, decided)
        if self._proof is not None and self._is_decided:
            return self._decide_held(self._proof, matrices, decided)
        branches = self._branches(matrices, decided)
        counts = branches.counts[:, search.COUNT]
        decided.branches[:] = np.minimum(counts, MOST_BRANCHES)
        decided.status[counts > 0] = CellStatus.REACHABLE
        if self.settings.measures:
            best = best_measures(self.chain, branches.q, counts)
            decided.manipulability[:], decided.limit_margin[:] = best
        return decided

    @staticmethod
    def _count(arm: AnalyticArm, poses: FloatArray, decided: Decided) -> Decided:
        """
        Decide poses by counting their branches within limits; no postures are computed.

        Write counts and status into ``decided`` and return it. A pose without branches is UNKNOWN if the closed form
        has a doubt, because the pose is nearly singular.
        """
        counts, _, is_doubtful = count_branches(arm, poses)
        _check_rigid(poses, counts)
        decided.branches[:] = counts
        absent = np.where(is_doubtful, CellStatus.UNKNOWN, CellStatus.OUT_OF_REACH)
        decided.status[:] = np.where(counts > 0, CellStatus.REACHABLE, absent)
        return decided

    def _decide_held(self, proof: HeldDecision, poses: FloatArray, decided: Decided) -> Decided:
        """
        Decide poses of a seven-joint arm by proofs over cells of its held joint; search poses that stay undecided.

        The held joint is the joint that the closed form keeps fixed. Write status, branch counts and effort into
        ``decided`` and return it.
        """
        decisions = proof.decide(poses)
        _check_rigid(poses, decisions.status)
        decided.branches[:] = np.minimum(decisions.branches, MOST_BRANCHES)
        decided.status[decisions.status == held_decision.REACHED] = CellStatus.REACHABLE
        decided.status[decisions.status == held_decision.PROVED] = CellStatus.OUT_OF_REACH
        left = np.flatnonzero(decisions.status == held_decision.UNDECIDED)
        for pose, q in self._look_at(poses, decided, left, decisions.cells[left]).items():
            decided.status[pose] = CellStatus.REACHABLE
            decided.branches[pose] = min(len(q), MOST_BRANCHES)
        return decided

    def _branches(self, poses: FloatArray, decided: Decided) -> ManyBranches:
        """
        Return the postures of poses within limits.

        If it is proved that a pose has no posture, OUT_OF_REACH is written into ``decided``. Poses without a posture or
        a proof are searched, unless the closed form is complete.
        """
        if self._arm is None:
            nothing = np.zeros((len(poses), search.COUNTERS), dtype=np.int64)
            nothing[wrong_poses(poses), search.COUNT] = -1
            _check_rigid(poses, nothing[:, search.COUNT])
            branches = ManyBranches(np.empty((0, self.chain.axes.shape[0])), np.empty(0), nothing)
            return self._with_searched(poses, branches, decided, np.arange(len(poses)))
        branches = search_batch(self._arm, poses, None, PLAIN, 1)
        counts = branches.counts
        _check_rigid(poses, counts[:, search.COUNT])
        is_none, is_refused = counts[:, search.COUNT] == 0, counts[:, search.PROVED] > 0
        is_regular = self.is_complete & (counts[:, search.DOUBT] == 0)
        is_proved = is_none & (is_refused | is_regular)
        decided.status[is_proved] = CellStatus.OUT_OF_REACH
        # A complete closed form has looked twice at singular poses.
        left = np.flatnonzero(is_none & ~is_proved & (not self.is_complete))
        return self._with_searched(poses, branches, decided, left) if len(left) else branches

    def _with_searched(
        self, poses: FloatArray, branches: ManyBranches, decided: Decided, left: NDArray[np.int64]
    ) -> ManyBranches:
        """
        Search poses that have no posture yet, and return the postures of all poses, the new ones included.

        Proved statuses and the effort are written into ``decided``.

        :param branches: the postures so far.
        :param left: indices of the poses to search.
        """
        counts = branches.counts.copy()
        cells = np.zeros(len(left), dtype=np.int64)
        if self._proof is not None:
            proofs = self._proof.decide(poses[left])
            is_proved = proofs.status == held_decision.PROVED
            decided.status[left[is_proved]] = CellStatus.OUT_OF_REACH
            left, cells = left[~is_proved], proofs.cells[~is_proved]
        more = self._look_at(poses, decided, left, cells)
        for pose, q in more.items():
            counts[pose, search.COUNT] = len(q)
        if not more:
            return branches._replace(counts=counts)
        ends = np.cumsum(branches.counts[:, search.COUNT])[:-1]
        parts = np.split(branches.q, ends)
        for pose, q in more.items():
            parts[pose] = q
        return ManyBranches(np.concatenate(parts), np.empty(0), counts)

    def _look_at(
        self, poses: FloatArray, decided: Decided, left: NDArray[np.int64], cells: IntArray
    ) -> dict[int, FloatArray]:
        """
        Search poses one by one; return their postures (k, n) by index of the pose, without poses that have none.

        Write OUT_OF_REACH where it is proved, and the effort of each search, into ``decided``.

        :param left: indices of the poses to search.
        :param cells: (left,) number of cells of the held joint that were tried before; it is added to the effort.
        """
        assert self._search is not None
        more: dict[int, FloatArray] = {}
        for pose, before in zip(left.tolist(), cells.tolist(), strict=True):
            if self._search.proves_none(Goal(poses[pose], self._limits, CERTIFIED_ERROR)):
                decided.status[pose] = CellStatus.OUT_OF_REACH
                continue
            q, effort, is_too_far = self._look(np.ascontiguousarray(poses[pose]))
            decided.effort[pose] = min(effort + before, MOST_EFFORT)
            if len(q):
                more[pose] = q
            elif is_too_far:
                decided.status[pose] = CellStatus.OUT_OF_REACH
        return more

    def _look(self, pose: FloatArray) -> tuple[FloatArray, int, bool]:
        """
        Search one pose; return (postures (k, n), number of samples and starts, whether the pose is out of reach).

        The last value is True only if that is proved. If the arm has a closed form and the settings want no searches,
        no posture is returned.
        """
        assert self._search is not None
        if self._arm is None:
            one = self._search.find(Goal(pose, self._limits, CERTIFIED_ERROR))
            q = np.empty((0, len(self.chain.axes))) if one.q is None else one.q[None]
            return q, one.starts, one.is_too_far
        if not self.settings.searches:
            return np.empty((0, len(self.chain.axes))), self._arm.samples, False
        refined = self._arm.branches_refined(pose, PLAIN)
        assert refined is not None
        return refined.q, refined.samples + refined.starts, refined.is_too_far


def is_proved(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """
    Return a mask of statuses that are certain: REACHABLE, OUT_OF_REACH and COLLIDES.

    :param status: statuses of :class:`CellStatus`, of any shape.
    """
    facts: NDArray[np.bool_] = np.isin(status, FACTS)
    return facts


def _check_rigid(poses: FloatArray, counts: IntArray) -> None:
    """
    Raise InvalidTarget if a pose is not a rigid transform, naming the first such pose.

    :param counts: results of a kernel for each pose; it marks poses that are not rigid by negative numbers.
    """
    if (counts < 0).any():
        bad = int(np.argmax(counts < 0))
        raise InvalidTarget(f'Pose {bad} is no rigid transform: {poses[bad].tolist()}.', pose=bad)


def as_matrices(poses: FloatArray) -> FloatArray:
    """
    Return poses as contiguous matrices (n, 4, 4).

    :param poses: (n, 4, 4), or (n, 7) positions and unit quaternions x, y, z, w.
    :raises DimensionMismatch: for other shapes.
    """
    given = np.asarray(poses, dtype=np.float64)
    if given.ndim == 2 and given.shape[1] == 7:
        given = poses_of(given)
    if given.ndim != 3 or given.shape[1:] != (4, 4):
        raise DimensionMismatch(
            f'Poses are an array (n, 4, 4) or (n, 7), not {given.shape}.', shape=given.shape
        )
    return np.ascontiguousarray(given)


def unknown_results(count: int) -> Decided:
    """
    Return results for ``count`` poses with status UNKNOWN, no branches, no effort and measures NaN.

    :param count: number of poses.
    """
    return Decided(
        np.full(count, CellStatus.UNKNOWN, dtype=np.uint8),
        np.zeros(count, dtype=np.uint8),
        np.full(count, np.nan, dtype=np.float32),
        np.full(count, np.nan, dtype=np.float32),
        np.zeros(count, dtype=np.uint16),
    )
