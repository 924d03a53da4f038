"""The executor of the node: short callbacks in the waiting thread, long ones in other threads."""

import threading
import time

import pytest

from ssik_ros.problem.scheduling import RequestQueue, RESPONSE_TIME

pytest.importorskip('moveit_msgs', reason='moveit_msgs is not built; run make setup')
rclpy = pytest.importorskip('rclpy', reason='no rclpy on this machine')
groups = pytest.importorskip('rclpy.callback_groups')
event_handler = pytest.importorskip('rclpy.event_handler')
qos = pytest.importorskip('rclpy.qos')
executors = pytest.importorskip('ssik_ros.ros.process.executors')
taken_requests = pytest.importorskip('ssik_ros.ros.process.taken_requests')
Trigger = pytest.importorskip('std_srvs.srv').Trigger
String = pytest.importorskip('std_msgs.msg').String

pytestmark = pytest.mark.ros

LIMIT = 10.0
THREADS = 3


class SilentContext(rclpy.Context):
    """A context that notifies nothing when it ends, as after a signal."""

    def on_shutdown(self, callback):
        pass


class Running:
    """An executor that spins in a thread of its own."""

    def __init__(self, threads, context=None):
        self.context = context or rclpy.Context()
        rclpy.init(args=[], context=self.context)
        self.node = rclpy.create_node(
            'tested', context=self.context, start_parameter_services=False, enable_rosout=False
        )
        self.reports = []
        self.executor = executors.InlineExecutor(
            threads, self.reports.append, context=self.context
        )
        self.executor.add_node(self.node)
        self.spinning = threading.Thread(target=self.executor.spin, daemon=True)
        self.spinning.start()

    def close(self):
        self.executor.shutdown(1.0)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        self.spinning.join(LIMIT)


@pytest.fixture
def running():
    """Give an executor with three threads."""
    made = Running(THREADS)
    yield made
    made.close()


@pytest.fixture
def gate():
    """Give an event that callbacks wait for; set at the end, so that nothing hangs."""
    event = threading.Event()
    yield event
    event.set()


class Blocked:
    """A callback that waits for a gate and counts how many are in it."""

    def __init__(self, gate):
        self._gate = gate
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0
        self.entered = threading.Semaphore(0)

    def __call__(self, *arguments):
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self.entered.release()
        self._gate.wait(2 * LIMIT)
        with self._lock:
            self._inside -= 1
        return arguments[-1] if arguments else None


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


def test_runs_every_task(running):
    done = []
    for number in range(300):
        running.executor.create_task(done.append, number)
    assert wait_until(lambda: len(done) == 300)
    assert sorted(done) == list(range(300))


def test_short_callbacks_share_one_thread(running):
    threads = []
    for _ in range(50):
        running.executor.create_task(lambda: threads.append(threading.get_ident()))
    assert wait_until(lambda: len(threads) == 50)
    assert threading.get_ident() not in threads
    assert len(set(threads)) <= THREADS


def test_a_long_callback_does_not_hold_up_others(running, gate):
    blocked, done = Blocked(gate), threading.Event()
    running.executor.create_task(blocked)
    assert blocked.entered.acquire(timeout=LIMIT)
    running.executor.create_task(done.set)
    assert done.wait(LIMIT)
    assert not gate.is_set()


def test_as_many_long_callbacks_as_threads_and_no_more(running, gate):
    blocked = Blocked(gate)
    tasks = [running.executor.create_task(blocked) for _ in range(2 * THREADS)]
    for _ in range(THREADS):
        assert blocked.entered.acquire(timeout=LIMIT)
    assert not blocked.entered.acquire(timeout=0.1)
    gate.set()
    assert wait_until(lambda: all(task.done() for task in tasks))
    assert blocked.most == THREADS


def test_goes_on_after_many_long_callbacks(running):
    for _ in range(4):
        gate = threading.Event()
        blocked = Blocked(gate)
        tasks = [running.executor.create_task(blocked) for _ in range(THREADS)]
        for _ in tasks:
            assert blocked.entered.acquire(timeout=LIMIT)
        gate.set()
        assert wait_until(lambda waited=tasks: all(task.done() for task in waited))


def test_reports_what_a_callback_raises_and_goes_on(running):
    def fail():
        raise KeyError('asked for')

    done = threading.Event()
    running.executor.create_task(fail)
    running.executor.create_task(done.set)
    assert done.wait(LIMIT)
    assert wait_until(lambda: len(running.reports) == 1)
    assert isinstance(running.reports[0], KeyError)


def test_shutdown_waits_for_callbacks_up_to_its_limit(running, gate):
    blocked = Blocked(gate)
    running.executor.create_task(blocked)
    assert blocked.entered.acquire(timeout=LIMIT)
    assert running.executor.shutdown(0.05) is False
    gate.set()
    assert wait_until(lambda: running.executor.shutdown(1.0) is True)


def test_spin_ends_with_the_context_while_all_threads_are_busy(gate):
    running = Running(THREADS, SilentContext())
    blocked = Blocked(gate)
    for _ in range(THREADS):
        running.executor.create_task(blocked)
        assert blocked.entered.acquire(timeout=LIMIT)
    # Long enough for the watch to fall asleep, if it did.
    time.sleep(0.2)
    rclpy.shutdown(context=running.context)
    running.spinning.join(LIMIT)
    assert not running.spinning.is_alive()
    gate.set()
    running.close()


def test_a_signal_may_come_before_a_thread_starts(monkeypatch):
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    executor = executors.InlineExecutor(THREADS, [].append, context=context)

    def interrupt(thread):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(threading.Thread, 'start', interrupt)
        executor.spin()
    assert executor.shutdown(1.0)
    rclpy.try_shutdown(context=context)


def test_an_idle_executor_ends_at_once(running):
    assert running.executor.shutdown(LIMIT) is True
    running.spinning.join(LIMIT)
    assert not running.spinning.is_alive()


@pytest.mark.parametrize(
    ('group', 'at_once'),
    [(groups.ReentrantCallbackGroup, 2), (groups.MutuallyExclusiveCallbackGroup, 1)],
)
def test_services_honour_their_callback_group(running, gate, group, at_once):
    blocked = Blocked(gate)
    running.node.create_service(Trigger, 'wait', blocked, callback_group=group())
    client = running.node.create_client(Trigger, 'wait')
    assert client.wait_for_service(LIMIT)
    futures = [client.call_async(Trigger.Request()) for _ in range(2)]
    for _ in range(at_once):
        assert blocked.entered.acquire(timeout=LIMIT)
    assert not blocked.entered.acquire(timeout=0.1)
    gate.set()
    assert wait_until(lambda: all(future.done() for future in futures))
    assert blocked.most == at_once


IN_FLIGHT = 24


class TimedHandler:
    """Waits for a gate unless its request is late; notes the times of each request."""

    def __init__(self, gate, budget):
        self._blocked = Blocked(gate)
        self.entered = self._blocked.entered
        self.budget = lambda request: budget
        self.handlings = []

    def __call__(self, request, response):
        handling = taken_requests.PRESENT.handling
        self.handlings.append(handling)
        return response if handling.is_late else self._blocked(request, response)


def timed_service(running, gate, budget):
    """Return the handler of a service whose requests have a budget [s], and a client."""
    handler, deep = TimedHandler(gate, budget), rclpy.qos.QoSProfile(depth=2 * IN_FLIGHT)
    running.node.create_service(
        Trigger,
        'timed',
        handler,
        qos_profile=deep,
        callback_group=groups.ReentrantCallbackGroup(),
    )
    client = running.node.create_client(Trigger, 'timed', qos_profile=deep)
    assert client.wait_for_service(LIMIT)
    return handler, client


def test_late_requests_get_responses_while_every_thread_is_busy(running, gate, monkeypatch):
    handler, client = timed_service(running, gate, 0.3)
    times = []
    monkeypatch.setattr(RequestQueue, 'note_response', lambda queue, time: times.append(time))
    for _ in range(THREADS):
        client.call_async(Trigger.Request())
        assert handler.entered.acquire(timeout=LIMIT)
    for _ in range(IN_FLIGHT):
        client.call_async(Trigger.Request())
    assert wait_until(lambda: len(handler.handlings) == THREADS + IN_FLIGHT)
    late = handler.handlings[THREADS:]
    assert not gate.is_set()
    assert [each.is_late for each in handler.handlings] == [False] * THREADS + [True] * IN_FLIGHT
    assert {handling.budget for handling in late} == {0.3}
    assert [handling.arrived for handling in late] == sorted(handling.arrived for handling in late)
    # Responses without a search are timed, the three at long callbacks are not.
    assert wait_until(lambda: len(times) == IN_FLIGHT)
    assert all(0.0 < seconds < LIMIT for seconds in times)


def test_arrival_is_when_a_request_comes_and_not_when_it_is_handled(running, gate, monkeypatch):
    arrivals, put = [], RequestQueue.put

    def note(queue, request, arrived, budget):
        put(queue, request, arrived, budget)
        arrivals.append(arrived)

    monkeypatch.setattr(RequestQueue, 'put', note)
    handler, client = timed_service(running, gate, 1000.0)
    for _ in range(THREADS):
        client.call_async(Trigger.Request())
        assert handler.entered.acquire(timeout=LIMIT)
    futures = [client.call_async(Trigger.Request()) for _ in range(IN_FLIGHT)]
    assert wait_until(lambda: len(arrivals) == THREADS + IN_FLIGHT)
    all_there = time.monotonic()
    gate.set()
    assert wait_until(lambda: all(future.done() for future in futures))
    later = handler.handlings[THREADS:]
    assert len(later) == IN_FLIGHT
    assert all(handling.arrived <= all_there for handling in later)
    assert not any(handling.is_late for handling in later)
    # The first of them leaves time for the responses of all others.
    assert max(handling.reserve for handling in later) >= (IN_FLIGHT - 1) * RESPONSE_TIME


def test_a_thread_without_a_request_handles_nothing():
    assert taken_requests.PRESENT.handling is None


def test_a_handler_that_raises_still_responds(running):
    def fail(request, response):
        raise ValueError('asked for')

    running.node.create_service(Trigger, 'fail', fail)
    assert does_respond(running, 'fail')
    assert wait_until(lambda: [type(error) for error in running.reports] == [ValueError])


def test_no_request_of_many_in_flight_is_lost(running):
    running.node.create_service(
        Trigger,
        'many',
        lambda request, response: response,
        qos_profile=rclpy.qos.QoSProfile(depth=500),
        callback_group=groups.ReentrantCallbackGroup(),
    )
    client = running.node.create_client(
        Trigger, 'many', qos_profile=rclpy.qos.QoSProfile(depth=500)
    )
    assert client.wait_for_service(LIMIT)
    futures = [client.call_async(Trigger.Request()) for _ in range(500)]
    assert wait_until(lambda: all(future.done() for future in futures))


def does_respond(running, name):
    """Return whether a service of this name responds."""
    client = running.node.create_client(Trigger, name)
    assert client.wait_for_service(LIMIT)
    future = client.call_async(Trigger.Request())
    is_done = wait_until(future.done)
    running.node.destroy_client(client)
    return is_done


def test_serves_what_is_made_after_the_first_wait_and_forgets_what_is_destroyed(running):
    for number in range(3):
        service = running.node.create_service(
            Trigger, f'later{number}', lambda _, response: response
        )
        assert does_respond(running, f'later{number}')
        ticks = threading.Event()
        timer = running.node.create_timer(0.01, ticks.set)
        assert ticks.wait(LIMIT)
        running.node.destroy_timer(timer)
        running.node.destroy_service(service)
    assert running.reports == []


def test_events_of_the_middleware_are_heard(running):
    heard = threading.Event()
    events = event_handler.SubscriptionEventCallbacks(incompatible_qos=lambda _: heard.set())
    running.node.create_subscription(
        String, 'events', lambda _: None, qos.QoSProfile(depth=1), event_callbacks=events
    )
    unreliable = qos.QoSProfile(depth=1, reliability=qos.ReliabilityPolicy.BEST_EFFORT)
    running.node.create_publisher(String, 'events', unreliable)
    assert heard.wait(LIMIT)


def test_callbacks_that_are_coroutines_are_awaited(running):
    async def respond(_, response):
        response.message = 'awaited'
        return response

    running.node.create_service(Trigger, 'awaited', respond)
    client = running.node.create_client(Trigger, 'awaited')
    assert client.wait_for_service(LIMIT)
    future = client.call_async(Trigger.Request())
    assert wait_until(future.done)
    assert future.result().message == 'awaited'


def test_leaves_waiting_to_an_rclpy_whose_inside_is_another(monkeypatch):
    def refuse(*_):
        raise AttributeError('WaitSet')

    monkeypatch.setattr(executors, 'ReusedWaitSet', refuse)
    made = Running(THREADS)
    try:
        made.node.create_service(Trigger, 'plain', lambda _, response: response)
        assert does_respond(made, 'plain')
        assert made.reports == []
    finally:
        made.close()
