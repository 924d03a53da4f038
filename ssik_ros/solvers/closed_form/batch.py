"""
Many poses of one arm: chunks over Python threads, each chunk one kernel call that holds no lock.

Each pose has the bytes that a request for it alone has, whatever the number of threads.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
import math
import threading
from typing import NamedTuple

import numpy as np

from ssik_ros.arrays import FloatArray, IntArray
from ssik_ros.kernels.closed_form.branches import batch, held_search, search
from ssik_ros.solvers.closed_form.arm import AnalyticArm, BranchRequest
from ssik_ros.solvers.closed_form.branch_arrays import BranchArrays, Prepared

CHUNK = 256
"""Poses of one kernel call."""
CHUNK_ROWS = 8192
"""Rows of room that one kernel call has at most, beside one pose's."""
ROOM = 1.3
"""Rows of room for all poses, in those that the first ones would have them have."""


class ManyBranches(NamedTuple):
    """The branches of some poses, one pose after the other."""

    q: FloatArray
    """(k, n) joint values [rad or m]."""
    residuals: FloatArray
    """(k,) Frobenius norm of FK - T at each."""
    counts: IntArray
    """(m, COUNTERS) what the search of each pose counted; COUNT of them are its rows, -1 for no rigid transform."""


class _Chunks:
    """The arrays of one running thread, and the calls that use them."""

    def __init__(self, arm: AnalyticArm, prepared: Prepared, request: BranchRequest) -> None:
        """Allocate."""
        self.n, self.held = arm.plan.size, int(prepared.ints[search.HELD])
        self.arm, self.request = arm, request
        self.prepared = prepared._replace(samples=prepared.samples.copy())
        self.rail = (arm, request) if arm.is_slide(self.held) else None
        held_range = arm.held_range(self.held, request) if self.held >= 0 else (0.0, 0.0)
        self.held_range = np.array(held_range)
        is_eliminating = bool(prepared.ints[search.CUT] >= 0)
        self.is_slow = is_eliminating or prepared.is_on_arcs or self.rail is not None
        """Whether one pose takes so long that a call for each costs nothing."""
        self.arrays = BranchArrays(self.n, prepared.capacity)
        self.room: tuple[FloatArray, FloatArray] | None = None
        """Where the rows of a chunk are written before their number is known."""

    def search(self, poses: FloatArray, seeds: FloatArray) -> ManyBranches:
        """Return the branches of a chunk, in arrays that the next one may overwrite."""
        found = self._search(poses, seeds)
        doubtful = np.flatnonzero(found.counts[:, search.DOUBT])
        return (
            found
            if self.held >= 0 or not len(doubtful)
            else self._settled(poses, seeds, found, doubtful)
        )

    def _settled(
        self, poses: FloatArray, seeds: FloatArray, found: ManyBranches, doubtful: IntArray
    ) -> ManyBranches:
        """Return the branches of a chunk with those of singular poses settled, one by one."""
        counts = found.counts
        ends = np.cumsum(np.maximum(counts[:, search.COUNT], 0))[:-1]
        q, residuals = np.split(found.q, ends), np.split(found.residuals, ends)
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
        """Return the branches of a chunk as the kernels find them."""
        counts = np.zeros((len(poses), search.COUNTERS), dtype=np.int64)
        if self.is_slow:
            return self._one_by_one(poses, seeds, counts)
        own, rows = self.arrays, len(poses) * self.arrays.capacity
        if self.room is None or len(self.room[1]) < rows:
            # The system gives memory only for the part that is used.
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
            own.rows,
            own.counters,
            own.work,
        )
        return ManyBranches(q[:used], residuals[:used], counts)

    def _one_by_one(self, poses: FloatArray, seeds: FloatArray, counts: IntArray) -> ManyBranches:
        """Return the branches of a chunk by one call for each pose."""
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
        """Return the request with the values of the held joint for one pose."""
        has_seed = bool(self.prepared.options[search.HAS_SEED])
        if self.rail is not None:
            arm, request = self.rail
            own = request._replace(seed=seed if has_seed else None)
            return self.prepared._replace(samples=arm.prepare(own, pose).samples)
        if has_seed and self.held >= 0 and not self.prepared.is_on_arcs:
            low, high = self.held_range
            value = held_search.into_range(seed[self.held], low, high, False)
            self.prepared.samples[0] = value
        return self.prepared


class OrderedBranches:
    """
    The branches of all chunks in the order of their poses, each copied once.

    Chunks that were kept to be joined at the end would be twice the memory, which the system hands out page by page.
    """

    def __init__(self, poses: int, n: int, size: int) -> None:
        """
        Allocate what is known: counts.

        :param poses: how many there are.
        :param n: number of joints.
        :param size: poses of a chunk.
        """
        self._poses, self._size, self._lock = poses, size, threading.Lock()
        self._counts = np.zeros((poses, search.COUNTERS), dtype=np.int64)
        self._q, self._residuals = np.empty((0, n)), np.empty(0)
        self._used = self._next = 0
        self._early: dict[int, ManyBranches] = {}

    def take(self, index: int, found: ManyBranches) -> None:
        """
        Take the branches of a chunk.

        :param index: its place among the chunks, each of which comes once.
        :param found: its branches, copied.
        """
        with self._lock:
            if index != self._next:
                q, residuals, counts = found
                self._early[index] = ManyBranches(q.copy(), residuals.copy(), counts)
                return
            self._append(found)
            while self._next in self._early:
                self._append(self._early.pop(self._next))

    def branches(self) -> ManyBranches:
        """Return all."""
        return ManyBranches(self._q[: self._used], self._residuals[: self._used], self._counts)

    def _append(self, found: ManyBranches) -> None:
        """Write the branches of the next chunk behind the others."""
        start, end = self._next * self._size, self._used + len(found.q)
        self._counts[start : start + len(found.counts)] = found.counts
        if end > len(self._q):
            self._grow(end, start + len(found.counts))
        self._q[self._used : end], self._residuals[self._used : end] = found.q, found.residuals
        self._used, self._next = end, self._next + 1

    def _grow(self, rows: int, poses: int) -> None:
        """Make room for all poses, by what so many have needed; what is not used does not become memory."""
        room = int(ROOM * rows * self._poses / poses) + 1
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
    Return the branches of many poses.

    :param arm: the closed form.
    :param poses: (m, 4, 4) contiguous.
    :param seeds: (m, n) one seed for each pose, (1, n) the same for all, or None.
    :param request: what else is wanted; its seed is not read.
    :param threads: how many threads share the work.
    """
    first = None if seeds is None else seeds[0]
    own = request._replace(seed=first)
    prepared = arm.prepare(own)
    size = max(1, min(CHUNK, math.ceil(CHUNK_ROWS / prepared.capacity)))
    if arm.has_arcs(own):
        prepared = arm.prepare_arcs(own)
    starts = range(0, len(poses), size)
    every = np.zeros((1, arm.plan.size)) if seeds is None else seeds

    out = OrderedBranches(len(poses), arm.plan.size, size)
    # A free thread takes the next chunk: a thread that waits for a processor takes fewer.
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
