"""Jobs of the page: their results, and the end of a job that another one replaces."""

import threading

import pytest

from ssik_ros.errors import InvalidOption
from ssik_ros.view.browser.background_job import BackgroundJob


class Page:
    """A page that keeps the posted events."""

    def __init__(self):
        self.events, self._posted = [], threading.Semaphore(0)

    def post(self, event):
        """Keep an event."""
        self.events.append(event)
        self._posted.release()

    def run(self, count):
        """Wait for so many events, and call them in their order."""
        for _ in range(count):
            assert self._posted.acquire(timeout=60)
        for event in self.events[:count]:
            event()


def test_a_job_that_another_one_replaces_is_cancelled_and_stays_so():
    page, texts, results, begins = Page(), [], [], threading.Event()
    job = BackgroundJob(page, texts.append)

    def first(run):
        begins.wait(60)
        results.append(run.is_cancelled)
        return lambda: results.append('first')

    job.start(first)
    job.start(lambda run: lambda: results.append('second'))
    begins.set()
    page.run(2)
    assert sorted(map(str, results)) == ['True', 'second']
    assert not job.is_running


def test_the_result_of_a_stopped_job_is_dropped():
    page, results = Page(), []
    job, stopped = BackgroundJob(page, results.append), threading.Event()

    def work(run):
        run.say('at work')
        assert stopped.wait(60)
        return lambda: results.append(run.is_cancelled)

    job.start(work)
    assert job.is_running
    job.stop()
    stopped.set()
    page.run(1)
    assert results == ['at work', '']


def test_the_error_of_a_job_is_raised_where_its_result_would_be_used():
    page = Page()

    def work(run):
        raise InvalidOption('No such picture.')

    BackgroundJob(page, print).start(work)
    with pytest.raises(InvalidOption, match='No such picture'):
        page.run(1)
