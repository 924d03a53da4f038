"""
Find the branches of many poses: Python threads take chunks of poses, and each chunk is one kernel call without the GIL.

If one pose takes long, each pose is a kernel call. Singular poses are then solved again, one by one. The result of a
pose is bitwise the same as for a batch of this one pose, whatever the number of threads.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
import math
import threading
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import batch, held_search, search
from ssik_ros.solvers.closed_form.arm import AnalyticArm
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared
from ssik_ros.solvers.closed_form.branch_request import BranchRequest

CHUNK = 256
"""Largest number of poses in one kernel call."""
CHUNK_ROWS = 8192
"""Largest number of result rows in one kernel call, unless a single pose needs more."""
ROW_RESERVE = 1.3
"""Factor by which the rows allocated for all poses exceed the estimate from the first chunks [1]."""


class ManyBranches(NamedTuple):
    """Branches of many poses in two flat arrays, pose after pose; ``counts`` says how many rows belong to each pose."""

    q: FloatArray
    """(k, n) joint values [rad or m]."""
    residuals: FloatArray
    """(k,) Frobenius norm of FK - T of each branch."""
    counts: IntArray
    """(m, COUNTERS) counters of each pose's search. Item COUNT is its number of rows, -1 if the pose is not rigid."""


class _Chunks:
    """The worker of one thread: solves chunks of poses with arrays that no other thread uses."""

    def __init__(self, arm: AnalyticArm, prepared: Prepared, request: BranchRequest) -> None:
        """
        Allocate the arrays of this thread.

        :param arm: closed form of the arm.
        :param prepared: the request as arrays; the values of the held joint are copied, because searches overwrite
            them.
        :param request: the same request, for poses that are solved one by one.
        """
        self.n, self.held = arm.plan.size, int(prepared.ints[search.HELD])
        self.arm, self.request = arm, request
        self.prepared = prepared._replace(samples=prepared.samples.copy())
        self.rail = (arm, request) if arm.requests.is_slide(self.held) else None
        held_range = arm.requests.held_range(self.held, request) if self.held >= 0 else (0.0, 0.0)
        self.held_range = np.array(held_range)
        is_eliminating = bool(prepared.ints[search.CUT] >= 0)
        self.is_slow = is_eliminating or prepared.is_on_arcs or self.rail is not None
        """True if one pose takes so long that a separate call for each pose costs nothing."""
        self.arrays = BranchArrays(self.n, prepared.capacity)
        self.room: tuple[FloatArray, FloatArray] | None = None
        """(joint values, residuals) of a chunk, allocated for the largest possible number of rows."""

    def search(self, poses: FloatArray, seeds: FloatArray) -> ManyBranches:
        """
        Return the branches of a chunk of poses; the next call may overwrite the result.

        If no joint is held, singular poses are solved a second time, by a slower search. If a joint is held, the
        branches are those at the tried values of this joint.

        :param poses: (m, 4, 4) poses of the tip in the base.
        :param seeds: (m, n) one seed for each pose, or (1, n) one for all; not read if the request has no seed.
        """
        branches = self._search(poses, seeds)
        doubtful = np.flatnonzero(branches.counts[:, search.DOUBT])
        return (
            branches
            if self.held >= 0 or not len(doubtful)
            else self._settled(poses, seeds, branches, doubtful)
        )

    def _settled(
        self, poses: FloatArray, seeds: FloatArray, branches: ManyBranches, doubtful: IntArray
    ) -> ManyBranches:
        """
        Solve the singular poses of a chunk one by one, and return the branches of the whole chunk.

        :param poses, seeds: all poses of the chunk (m, 4, 4), and their seeds (m, n) or one for all (1, n).
        :param branches: branches of the chunk; its counters are changed in place.
        :param doubtful: indices of the singular poses in the chunk.
        """
        counts = branches.counts
        ends = np.cumsum(np.maximum(counts[:, search.COUNT], 0))[:-1]
        q, residuals = np.split(branches.q, ends), np.split(branches.residuals, ends)
        has_seed = bool(self.prepared.options[search.HAS_SEED])
        for pose in doubtful:
            seed = seeds[pose if len(seeds) > 1 else 0] if has_seed else None
            one = self.arm.branches_refined(poses[pose], self.request._replace(seed=seed))
            if one is None:
                continue
            q[pose], residuals[pose] = one.q, one.errors[:, 2]
            counts[pose, search.COUNT] = len(one.q)
            counts[pose, search.CERTIFIED] = one.certified
            counts[pose, [search.BRANCHES, search.DROPPED]] = one.branches, one.dropped
        return ManyBranches(np.concatenate(q), np.concatenate(residuals), counts)

    def _search(self, poses: FloatArray, seeds: FloatArray) -> ManyBranches:
        """
        Return the branches of a chunk from one kernel call, or from one call for each pose if a pose takes long.

        At singular poses, branches may be missing. The next call may overwrite the returned arrays.

        :param poses, seeds: (m, 4, 4) poses, and their seeds (m, n) or one for all (1, n).
        """
        counts = np.zeros((len(poses), search.COUNTERS), dtype=np.int64)
        if self.is_slow:
            return self._one_by_one(poses, seeds, counts)
        arrays, rows = self.arrays, len(poses) * self.arrays.capacity
        if self.room is None or len(self.room[1]) < rows:
            # The operating system provides memory only for the pages that are written.
            self.room = np.empty((rows, self.n)), np.empty(rows)
        q, residuals = self.room
        ints, reals, samples, _, options, *_ = self.prepared
        used = batch.search_many(
            q,
            residuals,
            counts,
            poses,
            seeds,
            self.held_range,
            ints,
            reals,
            samples,
            options,
            arrays.rows,
            arrays.counters,
            arrays.work,
        )
        return ManyBranches(q[:used], residuals[:used], counts)

    def _one_by_one(self, poses: FloatArray, seeds: FloatArray, counts: IntArray) -> ManyBranches:
        """
        Return the branches of a chunk from one search for each pose.

        :param poses, seeds: (m, 4, 4) poses, and their seeds (m, n) or one for all (1, n).
        :param counts: (m, COUNTERS) array that gets the counters of each search; item COUNT is the number of rows, or
            -1 if the pose is not rigid.
        """
        rows = [np.empty((0, self.n + 3))]
        for number, pose in enumerate(poses):
            seed = seeds[number if len(seeds) > 1 else 0]
            count = self.arrays.search(self._prepared_for(pose, seed), pose, seed)
            counts[number] = self.arrays.counters[: search.COUNTERS]
            counts[number, search.COUNT] = count
            rows.append(self.arrays.rows[: max(count, 0)].copy())
        together = np.concatenate(rows)
        q, residuals = together[:, : self.n].copy(), together[:, self.n + 2].copy()
        return ManyBranches(q, residuals, counts)

    def _prepared_for(self, pose: FloatArray, seed: FloatArray) -> Prepared:
        """
        Return the request as arrays, with the values of the held joint that fit one pose and its seed.

        For a held prismatic joint, the values depend on the pose. For a held revolute joint whose values are not chosen
        on arcs, the seed's value replaces the first value in place, if the request has a seed.
        """
        has_seed = bool(self.prepared.options[search.HAS_SEED])
        if self.rail is not None:
            arm, request = self.rail
            seeded = request._replace(seed=seed if has_seed else None)
            return self.prepared._replace(samples=arm.requests.prepare(seeded, pose).samples)
        if has_seed and self.held >= 0 and not self.prepared.is_on_arcs:
            low, high = self.held_range
            value = held_search.into_range(seed[self.held], low, high, False)
            self.prepared.samples[0] = value
        return self.prepared


class OrderedBranches:
    """
    Collects the branches of chunks that threads finish in any order, and returns them in the order of the poses.

    Rows are copied into one growing array: joining the chunks at the end would need twice the memory.
    """

    def __init__(self, poses: int, n: int, size: int) -> None:
        """
        Allocate the counters of all poses; the array of rows grows as chunks arrive.

        :param poses: number of poses.
        :param n: number of joints.
        :param size: number of poses of a chunk.
        """
        self._poses, self._size, self._lock = poses, size, threading.Lock()
        self._counts = np.zeros((poses, search.COUNTERS), dtype=np.int64)
        self._q, self._residuals = np.empty((0, n)), np.empty(0)
        self._used = self._next = 0
        self._early: dict[int, ManyBranches] = {}

    def take(self, index: int, branches: ManyBranches) -> None:
        """
        Store the branches of a chunk; chunks may come in any order.

        :param index: index of the chunk; each index comes once.
        :param branches: branches of the chunk, which are copied.
        """
        with self._lock:
            if index != self._next:
                q, residuals, counts = branches
                self._early[index] = ManyBranches(q.copy(), residuals.copy(), counts)
                return
            self._append(branches)
            while self._next in self._early:
                self._append(self._early.pop(self._next))

    def branches(self) -> ManyBranches:
        """Return the branches of all chunks, as views of the arrays."""
        return ManyBranches(self._q[: self._used], self._residuals[: self._used], self._counts)

    def _append(self, branches: ManyBranches) -> None:
        """
        Copy the rows and counters of the next chunk of poses to the end of the arrays, which grow if they are full.

        :param branches: branches of the chunk that follows the last appended one.
        """
        start, end = self._next * self._size, self._used + len(branches.q)
        self._counts[start : start + len(branches.counts)] = branches.counts
        if end > len(self._q):
            self._grow(end, start + len(branches.counts))
        self._q[self._used : end], self._residuals[self._used : end] = (
            branches.q,
            branches.residuals,
        )
        self._used, self._next = end, self._next + 1

    def _grow(self, rows: int, poses: int) -> None:
        """
        Replace the row arrays by larger ones, with a size that probably suffices for all poses.

        :param rows: number of rows of the first ``poses`` poses; the new size extrapolates this number to all poses.
        """
        room = int(ROW_RESERVE * rows * self._poses / poses) + 1
        q, residuals = np.empty((room, self._q.shape[1])), np.empty(room)
        q[: self._used] = self._q[: self._used]
        residuals[: self._used] = self._residuals[: self._used]
        self._q, self._residuals = q, residuals


def search_batch(
    arm: AnalyticArm,
    poses: FloatArray,
    seeds: FloatArray | None,
    request: BranchRequest,
    threads: int,
) -> ManyBranches:
    """
    Return the branches of many poses, in the order of the poses, with the counters of each pose.

    A pose that is not rigid has no rows, and -1 as their number. Without a held joint, singular poses are solved one by
    one. With a held joint, the branches are those at the tried values, and no slower search follows.

    :param arm: closed form of the arm.
    :param poses: (m, 4, 4) poses of the tip in the base, contiguous.
    :param seeds: (m, n) one seed for each pose, (1, n) one for all, or None.
    :param request: other options of the request; its seed is ignored. With seeds, the seed's value of a held joint
        replaces the first of ``held_values``.
    :param threads: largest number of threads that share the work.
    :raises TopologyMismatch: if the chain has no closed form with the requested joint held.
    :raises InvalidLimits: if prismatic joints without limits leave the range of a held prismatic joint unbounded.
    """
    first = None if seeds is None else seeds[0]
    seeded = request._replace(seed=first)
    prepared = arm.requests.prepare(seeded)
    size = max(1, min(CHUNK, math.ceil(CHUNK_ROWS / prepared.capacity)))
    if arm.requests.has_arcs(seeded):
        prepared = arm.requests.prepare_arcs(seeded)
    starts = range(0, len(poses), size)
    every = np.zeros((1, arm.plan.size)) if seeds is None else seeds

    out = OrderedBranches(len(poses), arm.plan.size, size)
    # Each thread takes the next chunk when it is free, so that a delayed thread takes fewer.
    pending = deque(enumerate(starts))

    def work(_: int) -> None:
        chunks = _Chunks(arm, prepared, request)
        while pending:
            try:
                index, start = pending.popleft()
            except IndexError:
                return
            seeds = every[start : start + size] if len(every) > 1 else every
            out.take(index, chunks.search(poses[start : start + size], seeds))

    count = max(1, min(threads, len(starts)))
    if count == 1:
        work(0)
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(work, range(count)))
    return out.branches()
