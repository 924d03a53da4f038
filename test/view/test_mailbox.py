"""Events of a page are handled by one thread, the newest of a kind only, even after exceptions."""

import threading

from ssik_ros.errors import InvalidOption
from ssik_ros.view.mailbox import Mailbox, MOST_WAITING


class Box:
    """A mailbox that keeps its events."""

    def __init__(self):
        self.seen, self.reports, self.pause = [], [], 0.0
        self.report = self.reports.append
        self.box = Mailbox(
            lambda: self.seen.append('show'),
            self.rest,
            lambda text: self.report(text),
            pause=lambda: self.pause,
            name=f'thread of {id(self)}',
        )

    def rest(self):
        self.seen.append('rest')

    def events(self):
        return [entry for entry in self.seen if entry not in ('show', 'rest')]


def test_events_are_handled_in_order_and_waiting_ones_of_a_kind_replaced():
    kept, gate, entered = Box(), threading.Event(), threading.Event()
    kept.box.put(lambda: (entered.set(), gate.wait(10.0)))
    entered.wait(10.0)
    for number in range(100):
        kept.box.put(lambda number=number: kept.seen.append(number), 'drag')
    kept.box.put(lambda: kept.seen.append('button'))
    kept.box.put(lambda: kept.seen.append('button'))
    gate.set()
    assert kept.box.wait_idle(10.0)
    kept.box.close()
    assert kept.events() == [99, 'button', 'button']
    assert kept.seen[-2:] == ['show', 'rest'] and kept.seen.count('rest') == 1


def test_what_takes_longer_waits_for_a_pause_between_events():
    kept, shown = Box(), threading.Event()
    kept.pause = 60.0
    kept.box.put(lambda: kept.seen.append('move'))
    kept.box.put(shown.set)
    assert shown.wait(10.0) and not kept.box.wait_idle(0.05)
    assert 'rest' not in kept.seen
    kept.pause = 0.0
    kept.box.put(lambda: kept.seen.append('end'))
    assert kept.box.wait_idle(10.0)
    assert kept.seen[-3:] == ['end', 'show', 'rest'] and kept.seen.count('rest') == 1
    kept.pause = 60.0
    kept.box.put(lambda: kept.seen.append('move'))
    kept.box.close()
    assert f'thread of {id(kept)}' not in [thread.name for thread in threading.enumerate()]


def test_a_flood_of_events_is_bounded_and_the_newest_of_a_kind_still_comes():
    kept, gate, entered = Box(), threading.Event(), threading.Event()
    kept.box.put(lambda: (entered.set(), gate.wait(10.0)))
    entered.wait(10.0)
    kept.box.put(lambda: kept.seen.append('old'), 'drag')
    for _ in range(1000):
        kept.box.put(lambda: kept.seen.append('button'))
    kept.box.put(lambda: kept.seen.append('new'), 'drag')
    gate.set()
    assert kept.box.wait_idle(10.0)
    kept.box.close()
    assert kept.events().count('button') == MOST_WAITING - 1 and kept.box.dropped > 800
    assert 'new' in kept.events() and 'old' not in kept.events()


def test_a_report_that_fails_does_not_end_the_thread():
    kept = Box()

    def fail(text='fail'):
        raise InvalidOption(text)

    kept.report = fail
    kept.box.put(fail)
    kept.box.put(lambda: kept.seen.append('next'))
    assert kept.box.wait_idle(10.0)
    kept.box.close()
    assert kept.events() == ['next']


def test_an_event_that_fails_is_reported_and_the_next_one_handled():
    kept = Box()

    def refuse():
        raise InvalidOption('no such option')

    kept.box.put(refuse)
    kept.box.put(lambda: 1 / 0)
    kept.box.put(lambda: kept.seen.append('after'))
    assert kept.box.wait_idle(10.0)
    kept.box.close()
    assert kept.reports == ['no such option', 'Internal error: division by zero']
    assert kept.events() == ['after']
