"""``WorkerSolver``: a solver that works in a separate thread and sets all joints at the same moment."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssik_ros.arguments import check_callable, check_kind
from ssik_ros.errors import InvalidClosure
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.joint import Joint
from ssik_ros.mechanisms.mechanism import Mechanism
from ssik_ros.mechanisms.names import SOLVE_STATUS
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.mechanisms.solver import OptionAttributes

Results = list[ChainResult]

RESULTS = slice(layout.VALUES, layout.TARGET)
"""Columns of the table that a solve changes: values, and the rotations of balls."""


class WorkerSolver(OptionAttributes):
    """
    Solves mechanisms as :class:`ssik_ros.mechanisms.Solver` does, but in a separate thread.

    :meth:`solve` copies the present state and returns a future without waiting. Kernels run without Python's global
    lock. The thread solves again while a chain ends with TIMEOUT, until :meth:`stop`. After each run all joints get the
    new values at the same moment, unless the structure of the mechanism has changed.
    """

    def __init__(self, roots: Frame | Iterable[Frame], **options: Any) -> None:
        """
        Make a worker; its thread starts with the first solve.

        :param roots: a frame, or several: at least one of each connected mechanism.
        :param options: of :class:`~ssik_ros.solvers.mechanisms.options.ClosedChainOptions`, by name, as for ``Solver``.
        :raises InvalidClosure: if ``roots`` has anything but frames.
        :raises InvalidOption: for an unknown option, or a value out of range.
        """
        super().__init__(roots, **options)
        self._lock = threading.Condition()
        self._cancel: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._future: Future[Results] | None = None
        self._thread: threading.Thread | None = None
        self._disposed = False
        self._live: Mechanism | None = None
        self._private: Mechanism | None = None
        self._results: Results = []
        self._callbacks: list[Callable[[Results], Any]] = []

    @property
    def running(self) -> bool:
        """Whether a solve is under way."""
        return self._future is not None

    @property
    def results(self) -> Results:
        """The results of the last run, one for each chain; empty before the first run."""
        return list(self._results)

    @property
    def status(self) -> list[SOLVE_STATUS]:
        """The status of each chain in the last run; empty before the first run."""
        return [result.status for result in self._results]

    def on_update(self, callback: Callable[[Results], Any]) -> None:
        """
        Register a function to be called in the worker's thread after joints have new values.

        :param callback: called with the results; an exception in it ends the solve, and the future of the solve gets
            it.
        :raises InvalidOption: if it cannot be called.
        """
        self._callbacks.append(check_callable('callback', callback))

    def solve(self) -> 'Future[Results]':
        """
        Start to solve from the present state, or return the future of the running solve.

        :returns: a future with the results of the last run, or with the exception that ended the solve.
        :raises InvalidClosure: after :meth:`dispose`. Also if a leader has lost the degree of freedom that a joint
            follows, or if ``roots`` has anything but frames.
        """
        with self._lock:
            if self._disposed:
                raise InvalidClosure('This worker has been disposed of.', solver=self)
            if self._future is not None:
                return self._future
            self._prepare()
            self._cancel[0] = 0
            self._future = Future()
            self._future.set_running_or_notify_cancel()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._lock.notify_all()
            return self._future

    def stop(self) -> None:
        """
        End a running solve within one iteration, and wait for its end; its future gets the results so far.

        A call from a callback of :meth:`on_update` does not wait.
        """
        self._cancel[0] = 1
        with self._lock:
            future = self._future
        if future is not None and threading.current_thread() is not self._thread:
            future.exception()

    def dispose(self) -> None:
        """End the solve and the thread; later calls of :meth:`solve` raise InvalidClosure."""
        self.stop()
        with self._lock:
            self._disposed = True
            self._lock.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and threading.current_thread() is not thread:
            thread.join()

    def update_structure(self) -> None:
        """Stop, and compile the mechanism anew before the next solve; :meth:`solve` notices changes by itself."""
        self.stop()
        with self._lock:
            self._live = None

    def update_frame_state(self, *joints: Joint) -> None:
        """
        Copy poses, limits, targets, rest poses, weights and flags of joints, not their values, for a running solve.

        The solve uses them in its next run. Nothing is copied before the first solve, and if the structure of the
        mechanism has changed.

        :param joints: the joints that changed; no argument means all.
        :raises InvalidOption: for an object that is not a joint.
        """
        for joint in joints:
            check_kind('joints', joint, Joint, 'joints')
        with self._lock:
            if self._live is None or self._private is None or self._live.storage.stale:
                return
            live, private = self._live.storage, self._private.storage
            rows = [j._row for j in joints if j._storage is live] if joints else slice(None)
            with live.lock, private.lock:
                changed = live.reals[rows].copy()
                changed[:, RESULTS] = private.reals[rows][:, RESULTS]
                private.reals[rows] = changed
                private.flags[rows] = live.flags[rows]

    def update_solver_settings(self, settings: dict[str, Any] | None = None, **more: Any) -> None:
        """
        Change options; a running solve uses them in its next run.

        :param settings: options by name, in either spelling.
        :param more: further options by name.
        :raises AttributeError: for an unknown name; the options before it are changed.
        :raises InvalidOption: for a value out of range; the options before it are changed.
        """
        for name, value in {**(settings or {}), **more}.items():
            setattr(self, name, value)

    def _prepare(self) -> None:
        """
        Copy the present numbers of the frames into the worker's own copy of the mechanism.

        After a change of structure, the mechanism is compiled and copied again.
        """
        live = self._live
        if live is None or live.storage.stale or live.roots_given != list(self.roots):
            self._live = live = Mechanism(self.roots)
            self._private = live.copy()
        private = self._private
        assert private is not None
        with live.storage.lock:
            private.storage.reals[:] = live.storage.reals
            private.storage.flags[:] = live.storage.flags

    def _work(self) -> None:
        """Wait for solves and run them until the worker is disposed of; the thread runs this."""
        while True:
            with self._lock:
                while self._future is None and not self._disposed:
                    self._lock.wait()
                if self._future is None:
                    return
                future = self._future
            try:
                self._run()
            except Exception as error:
                self._finish()
                future.set_exception(error)
            else:
                self._finish()
                future.set_result(list(self._results))

    def _finish(self) -> None:
        with self._lock:
            self._future = None

    def _run(self) -> None:
        """Solve again while a chain ends with TIMEOUT; after each run set the joints and call the callbacks."""
        live, private = self._live, self._private
        assert live is not None and private is not None
        while True:
            # A copy to work on: settings may be pushed into the private table while the kernel runs.
            with private.storage.lock:
                reals, flags = private.storage.reals.copy(), private.storage.flags.copy()
            results = private.solve(self._options, reals, flags, self._cancel)
            with private.storage.lock:
                private.storage.reals[:, RESULTS] = reals[:, RESULTS]
            self._apply(live, reals)
            self._results = results
            for callback in self._callbacks:
                callback(list(results))
            timeout = any(result.status == SOLVE_STATUS.TIMEOUT for result in results)
            if self._cancel[0] or not timeout:
                return

    @staticmethod
    def _apply(live: Mechanism, reals: NDArray[np.float64]) -> None:
        """
        Copy solved values to the frames by replacing their table at once, so that readers never see a mixture.

        If the structure of the mechanism has changed meanwhile, nothing is copied.

        :param live: the mechanism whose frames the user sees.
        :param reals: table with the solved values.
        """
        with live.storage.lock:
            if not live.storage.stale:
                changed = live.storage.reals.copy()
                changed[:, RESULTS] = reals[:, RESULTS]
                live.storage.reals = changed
