"""
Measure the view: time from a dragged handle to new joint values at a client, and memory during and after connections.

A client speaks viser's protocol over the websocket, as a page does, and drags the target of a Panda with eight ghosts.
The time ends when the client has the new values of the sliders; drawing in a browser takes additional time. With
``--browser`` the mouse drags in a Chromium without window, which draws with the processor. The time ends when the
sliders of the page have moved. ``--start`` measures how long ``ssik view panda`` takes until the page can be opened.
"""

from pathlib import Path
import sys
import time

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from test.view.made_pages import connect, controls_of, drag, open_page, read_messages, say_hello  # noqa: E402

from bench import program  # noqa: E402
from bench.times import Times  # noqa: E402
from bench.usage import memory_mib, RESIDENT  # noqa: E402
from ssik_ros.server.requests.poses import numbers_of_pose  # noqa: E402

LINK = 'panda_link8'
PERIOD = 1.0 / 60.0
"""A page sends so many updates while its user drags [s]."""


def is_slider(message, sliders):
    return message['type'] == 'GuiUpdateMessage' and message['uuid'] in sliders


def measure(page, samples):
    """Return the times [s] from sending a pose to receiving other joint values."""
    names = set(page.session.group.variable_names)
    sliders = {uuid for uuid, handle in controls_of(page).items() if handle.label in names}
    start = page.session.targets[LINK].copy()
    times = []
    with connect(page) as socket:
        say_hello(socket)
        for number in range(samples + 20):
            assert page.mailbox.wait_idle(10.0)
            drain(socket)
            pose = start.copy()
            pose[:3, 3] += 0.05 * np.array((np.cos(0.1 * number), np.sin(0.1 * number), 0.3))
            begin = time.perf_counter()
            drag(socket, LINK, numbers_of_pose(pose))
            while not any(is_slider(m, sliders) for m in read_messages(socket.recv(timeout=10))):
                pass
            times.append(time.perf_counter() - begin)
            time.sleep(max(0.0, PERIOD - times[-1]))
    return np.array(times[20:])


def drain(socket):
    """Read the messages that have arrived."""
    try:
        while True:
            socket.recv(timeout=0.005)
    except TimeoutError:
        return


def visit(page, count):
    """Open and close connections, each as soon as it has the scene."""
    for _ in range(count):
        with connect(page) as socket:
            say_hello(socket)
            socket.recv(timeout=30)


def measure_browser(samples):
    """Return the times [ms] from a motion of the mouse to other sliders in the page of a real browser."""
    from test.view.made_browser import open_browser, Screen

    with open_browser() as browser, open_page() as page:
        page.drawing.shows_ghosts = True
        screen = Screen(browser, page, size=(1400, 900))
        # The first motions compile the drawing code.
        screen.time_drags(10, 60)
        times = screen.time_drags(samples, 60)
        return times, count_ghosts(page)


def measure_start():
    """Return the least wall-clock and processor time [s] from the command to a page that can be opened."""
    from bench.start_up import best_of, start_process

    words = '-m', 'ssik_ros.cli.command', 'view', 'panda', '--port', '0'
    return best_of({'view': lambda: start_process(words, 60.0, 'http')}, 5)['view']


def count_ghosts(page):
    """Return the number of ghosts once the page is at rest; a motion takes them away."""
    assert page.mailbox.wait_idle(30.0)
    return len(page.session.branches)


def describe(times, ghosts):
    """Return a sentence on the times of drags [ms]."""
    drags = Times.of(times)
    return (
        f'p50 {drags.median:.1f} ms, p99 {drags.p99:.1f} ms, {len(times)} drags, {ghosts} ghosts'
    )


def describe_page(samples):
    """Return sentences on drags and on the memory of the server."""
    before = memory_mib(what=RESIDENT)
    with open_page() as page:
        page.drawing.shows_ghosts = True
        assert page.mailbox.wait_idle(30.0)
        times = 1e3 * measure(page, samples)
        yield f'drag to joint values: {describe(times, count_ghosts(page))}'
        visit(page, 200)
        first = memory_mib(what=RESIDENT)
        visit(page, 200)
        now = memory_mib(what=RESIDENT)
        yield f'memory: {before:.0f} MiB before, {now:.0f} MiB now, {memory_mib():.0f} MiB at most'
        yield f'200 connections: {now - first:+.1f} MiB'


def main():
    """Print the figures."""
    parser = program.make_parser(__doc__, is_pinned=False, samples=500)
    parser.add_argument('--browser', action='store_true', help='drag with the mouse in Chromium')
    parser.add_argument('--start', action='store_true', help='time the start of the command')
    options = parser.parse_args()
    run = program.Run('view_latency', options)
    if options.start:
        text = 'start to page: {wall:.2f} s, {cpu:.2f} s of processor time, least of 5'
        run.show(text.format(**measure_start()))
    elif options.browser:
        run.show(f'mouse to sliders in Chromium: {describe(*measure_browser(options.samples))}')
    else:
        run.show(*describe_page(options.samples))
    run.finish()


if __name__ == '__main__':
    main()
