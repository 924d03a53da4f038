"""
An executor for nodes whose callbacks are short except for a few: :class:`InlineExecutor` runs them where it waits.

rclpy's executor with several threads hands every callback from the thread that waits to another thread. Both then
compete for the interpreter, which costs most of the time of a short response. This executor also records when each
request arrived, so that deadlines count from the arrival.
"""

from collections import deque
from collections.abc import Callable
import functools
import inspect
import threading
import time
from typing import Any

from rclpy.context import Context
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.task import Task

from ssik_ros.ros.process.taken_requests import (
    is_taken_early,
    take_request,
    TakenRequest,
    TakenRequests,
)
from ssik_ros.ros.process.wait_set import Ready, ReusedWaitSet

LOOK_INTERVAL = 0.004
"""Time between two looks at the leading thread [s]; a callback that both of them find counts as long."""
LONGEST_WAIT = 0.2
"""Within this time the thread that spins notices a signal [s]."""
HASTE = 0.001
"""Time between two looks for a while after a long callback [s], because other long ones often follow."""
HASTY_LOOKS = 50
"""Number of looks at this interval."""


class InlineExecutor(SingleThreadedExecutor):
    """
    Runs callbacks in the thread that waits for them.

    If a callback takes long, another thread waits and runs the others.

    The leading thread waits and runs ready callbacks itself. While there is work, a watch thread looks at it every few
    milliseconds. If two looks find the same callback, the watch starts a new leading thread, up to the largest number
    of threads. The old one ends after its callback. Callback groups are honoured. :meth:`spin` runs no callbacks, so
    that Python handles a signal within ``LONGEST_WAIT`` [s].

    Requests of services in reentrant groups wait in a :class:`RequestQueue`. A handler may have an attribute
    ``budget``: a function of a request that returns the time from its arrival to its deadline [s]. Requests that are
    late, see :class:`RequestQueue`, come first, if necessary in the watch thread; their handler must respond without
    work. If all threads run long callbacks, the watch thread takes requests, so that their arrival is known.
    """

    def __init__(
        self,
        threads: int,
        report: Callable[[Exception], None],
        *,
        context: Context | None = None,
    ) -> None:
        """
        Prepare the executor; :meth:`spin` starts the threads.

        :param threads: largest number of callbacks that run at once; threads are made when they are needed.
        :param report: called with the exception of a callback, or of reading a message; the executor goes on.
        :param context: ROS context; None for the default one.
        """
        super().__init__(context=context)
        self._limit = threads
        self._report = report
        self._change = threading.Lock()
        self._callbacks = 0
        """Number of the latest callback."""
        self._running = 0
        """Number of the callback that the leading thread runs; 0 while the thread waits."""
        self._is_led = False
        """Whether a thread leads; false while all threads run long callbacks."""
        self._threads: set[threading.Thread] = set()
        self._active = threading.Event()
        self._ended = threading.Event()
        self._wait_set: ReusedWaitSet | None = None
        self._reuses = True
        """Whether this rclpy has the private parts that :class:`ReusedWaitSet` needs."""
        self._has_changed = True
        self._ready: deque[Ready] = deque()
        self._requests = TakenRequests()
        self._has_looked = False
        """Whether other entities were looked at after the last request of the queue."""
        self.context.on_shutdown(self._end)

    def spin(self) -> None:
        """Start the threads, and wait until the context or the executor is shut down."""
        with self._change:
            if not self._threads and not self._ended.is_set():
                self._is_led = True
                self._add_thread(self._watch)
                self._add_thread(self._lead)
        # A signal just before the wait begins does not end the wait, and Python runs its handler afterwards.
        while not self._ended.wait(LONGEST_WAIT):
            pass

    def add_node(self, node: Node) -> bool:
        """
        Run the callbacks of a node too; return whether the node is new.

        :param node: the node.
        """
        self._has_changed = True
        return bool(super().add_node(node))

    def remove_node(self, node: Node) -> None:
        """
        Stop running the callbacks of a node.

        :param node: the node.
        """
        super().remove_node(node)
        self.wake()

    def wake(self) -> None:
        """
        Read again which topics, services and timers the nodes have.

        Nodes call this after they made or destroyed one.
        """
        self._has_changed = True
        super().wake()

    def shutdown(self, timeout_sec: float | None = None, **options: Any) -> bool:
        """
        Start no further callback; return whether all callbacks in progress have ended.

        :param timeout_sec: how long to wait for them [s]; None for as long as it takes.
        :param options: other arguments of ``Executor.shutdown``.
        """
        self._end()
        self.wake()
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        with self._change:
            # A signal may have ended spin between making a thread and starting it: that one cannot be joined.
            threads = tuple(thread for thread in self._threads if thread.is_alive())
        for thread in threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        have_ended = not any(thread.is_alive() for thread in threads)
        if have_ended:
            self._drop_wait_set()
        return super().shutdown(0.0, **options) and have_ended

    def _end(self) -> None:
        """Tell every thread to end as soon as it has no callback to run."""
        self._ended.set()
        self._active.set()

    def _add_thread(self, work: Callable[[], None]) -> None:
        # A callback that never ends must not keep the process alive.
        thread = threading.Thread(target=work, name=f'executor {work.__name__}', daemon=True)
        self._threads.add(thread)
        thread.start()

    def _lead(self) -> None:
        """
        Wait for callbacks and run them until another thread has become the leading thread, then end.

        If no thread leads at the end, start a new leading thread.
        """
        while self._lead_once():
            pass
        with self._change:
            self._threads.discard(threading.current_thread())
            # All others may be busy too, and no thread leads.
            if not self._is_led and not self._ended.is_set():
                self._is_led = True
                self._add_thread(self._lead)

    def _lead_once(self) -> bool:
        """
        Wait for one callback, run it, and return whether this thread is still the leading thread.

        Report an exception of the callback. At the end of the executor or of ROS, end the executor and return False.
        """
        try:
            task = self._next()
        except (ShutdownException, ExternalShutdownException, ConditionReachedException):
            return self._give_up()
        except Exception as error:
            if self._is_over():
                return self._give_up()
            self._report(error)
            return True
        return self._run(task)

    def _is_over(self) -> bool:
        """Return whether the executor or ROS has ended, so that no further callback may start."""
        return self._ended.is_set() or not self.context.ok()

    def _give_up(self) -> bool:
        """End the executor and drop the waiting requests; return False, because no thread leads any longer."""
        self._end()
        self._drop_wait_set()
        self._requests.queue.clear()
        return False

    def _drop_wait_set(self) -> None:
        self._ready.clear()
        if self._wait_set is not None:
            self._wait_set.close()
            self._wait_set = None

    def _next(self) -> Callable[[], Any]:
        """
        Wait for the next callback, and return a function that runs it.

        Raise ShutdownException at the end of the executor.

        Tasks come first, then ready entities, then late requests, see :class:`RequestQueue`. One other request follows
        each time the wait set was checked.
        """
        while not self._is_over():
            if self._tasks:
                task = self._waiting_task()
                if task is not None:
                    return task
            while self._ready:
                run = self._taker(self._ready.popleft())
                if run is not None:
                    return run
            late = self._requests.queue.take_late(time.monotonic())
            if late is not None:
                return functools.partial(self._respond_to, late, is_late=True)
            if self._has_looked:
                self._has_looked = False
                taken = self._requests.queue.take()
                if taken is not None:
                    return functools.partial(self._respond_to, taken)
            wait_set = self._present_wait_set()
            if wait_set is None:
                rclpy_task: Callable[[], Any] = self.wait_for_ready_callbacks(
                    None, None, self._is_over
                )[0]
                return rclpy_task
            self._sort(wait_set.rest() or wait_set.wait(blocks=not self._requests.queue))
            self._has_looked = True
        raise ShutdownException()

    def _sort(self, entities: list[Ready]) -> None:
        """
        Queue the requests of ready services in reentrant groups; keep all other ready entities.

        The kept ones run before the next request of the queue.
        """
        early = []
        for ready in entities:
            if is_taken_early(ready):
                early.append(ready.entity)
            else:
                self._ready.append(ready)
        for service in early:
            self._requests.take(service)

    def _present_wait_set(self) -> ReusedWaitSet | None:
        """
        Return the reusable wait set, built again if the nodes have changed.

        Return None if this version of rclpy cannot reuse one.
        """
        if self._reuses and (self._has_changed or self._wait_set is None):
            self._drop_wait_set()
            self._has_changed = False
            guards = [guard for guard in (self._guard, self._sigint_gc) if guard is not None]
            try:
                self._wait_set = ReusedWaitSet(self.get_nodes(), guards, self.context)
            except (AttributeError, TypeError):
                self._reuses = False
        return self._wait_set

    def _waiting_task(self) -> Callable[[], Any] | None:
        """Return the first task that no thread executes, or None; remove finished tasks."""
        with self._tasks_lock:
            self._tasks[:] = [entry for entry in self._tasks if not entry[0].done()]
            waiting = (task for task, _, _ in self._tasks if not task.executing())
            return next(waiting, None)

    def _taker(self, ready: Ready) -> Callable[[], Any] | None:
        """
        Return a function that takes the message or event of a ready entity and runs its callback.

        Return None if its callback group is busy, or if its timer is no longer ready. The guard condition of a busy
        group is triggered again, so that it is not lost.
        """
        kind, entity, node = ready
        if not entity.callback_group.can_execute(entity):
            if kind == 'guard_condition':
                # Its trigger has been used up.
                entity.trigger()
            return None
        if kind == 'service' and not inspect.iscoroutinefunction(entity.callback):
            return lambda: self._respond(entity)
        if kind == 'timer' and not entity.handle.is_timer_ready():
            return None
        take = {
            'timer': self._take_timer,
            'subscription': self._take_subscription,
            'guard_condition': self._take_guard_condition,
            'client': self._take_client,
            'service': self._take_service,
            'waitable': self._take_waitable,
        }[kind]
        task: Callable[[], Any] = self._make_handler(entity, node, take)
        return task

    def _respond(self, service: Any) -> None:
        """Take one request of a service and send its response, without the coroutines of rclpy."""
        group = service.callback_group
        if not group.beginning_execution(service):
            return
        try:
            request, header = take_request(service)
            # Another process or thread may have taken the request.
            if header is not None:
                self._respond_to(TakenRequest(service, request, header, time.monotonic()))
        finally:
            group.ending_execution(service)

    def _respond_to(self, taken: TakenRequest, *, is_late: bool = False) -> None:
        """Respond to a taken request; rclpy waits for this work when it shuts down."""
        with self._work_tracker:
            self._requests.respond(taken, is_late=is_late)

    def _run(self, task: Callable[[], Any]) -> bool:
        """
        Run a callback and report its exception.

        Return whether this thread is still the leading thread afterwards.
        """
        with self._change:
            self._callbacks += 1
            number = self._running = self._callbacks
        if not self._active.is_set():
            self._active.set()
        error = None
        try:
            task()
            if isinstance(task, Task):
                error = task.exception()
        except Exception as raised:
            error = raised
        if error is not None:
            self._report(error)
        with self._change:
            still_leads = self._running == number
            if still_leads:
                self._running = 0
        if not still_leads and self._guard is not None:
            # The thread that waits now has left out the group of this callback, which is free again.
            self._guard.trigger()
        return still_leads

    def _watch(self) -> None:
        """
        Until the end of the executor, look at the leading thread at short intervals.

        If a callback takes long, start another leading thread. Take requests while no thread leads, and respond to late
        requests.
        """
        hasty = 0
        while not self._is_over():
            self._active.wait()
            seen = self._callbacks
            time.sleep(HASTE if hasty else LOOK_INTERVAL)
            hasty = max(0, hasty - 1)
            if self._relieve(seen):
                hasty = HASTY_LOOKS
            if not self._is_led:
                self._take_for_nobody()
            self._respond_to_late()
        # A signal ends the context without a word to anybody, even if all threads are busy.
        self._end()

    def _take_for_nobody(self) -> None:
        """Move requests to the queue while all threads run long callbacks, so that their time of arrival is known."""
        wait_set = self._wait_set
        for ready in () if wait_set is None else wait_set.services:
            if is_taken_early(ready):
                try:
                    self._requests.take(ready.entity)
                except Exception as error:
                    self._report(error)

    def _respond_to_late(self) -> None:
        """Respond to all late requests of the queue, in the thread of :meth:`_watch`; report exceptions."""
        while (taken := self._requests.queue.take_late(time.monotonic())) is not None:
            try:
                self._respond_to(taken, is_late=True)
            except Exception as error:
                self._report(error)

    def _relieve(self, seen: int) -> bool:
        """
        Return whether the leading thread runs the same callback as at the last look.

        If so, start another leading thread.

        No thread is started if the limit of threads is reached.

        :param seen: number of the latest callback at the last look.
        """
        with self._change:
            if self._running and self._running == seen:
                self._running = 0
                # The watch is one of the threads.
                self._is_led = len(self._threads) <= self._limit
                if self._is_led:
                    self._add_thread(self._lead)
                return True
            # While no thread waits, only the watch can notice that the context has ended.
            if self._callbacks == seen and self._is_led and not self._ended.is_set():
                self._active.clear()
            return False
