"""Processes of a map killed, its disk full, its scheduler not there: nothing is lost, and the bytes are the same."""

import contextlib
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from test.reach.reach_maps import bytes_below, chain_of, plan_of, small_grid

import pytest

from ssik_ros.errors import SolverError
from ssik_ros.reach.engine import Workers
from ssik_ros.reach.mapping import make_map
from ssik_ros.reach.storage.files import StoreError
from ssik_ros.reach.store import MapStore

LIMIT = 600.0
"""How long a test waits for a process [s]."""


def command(folder, *more):
    """Return the command of a map that takes some seconds."""
    cells = ['--grid', '0.2', '--orientations', '32', '--region', 'sphere:0.9']
    run = [sys.executable, '-m', 'ssik_ros.cli.command', 'reach', 'panda', *cells, '--collisions']
    return [*run, '-o', str(folder), *more]


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """Return the bytes of the map of :func:`command`, made without interruption."""
    folder = tmp_path_factory.mktemp('maps') / 'whole.zarr'
    subprocess.run(command(folder, '--workers', '0'), check=True, timeout=LIMIT)
    return bytes_below(folder)


def wait_for(condition):
    """Wait until something is the case."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def chunks(folder):
    """Return how many units are written."""
    return len([path for path in folder.glob('status/c/**/*') if path.is_file()])


def children(pid):
    """Return the processes that a process has started, and theirs."""
    # Each thread has a list of its own.
    for listing in Path(f'/proc/{pid}/task').glob('*/children'):
        with contextlib.suppress(OSError):
            for word in listing.read_text().split():
                yield int(word)
                yield from children(int(word))


def test_two_workers_write_the_bytes_that_one_process_writes(tmp_path):
    plan = plan_of(chain_of('ur5e'), small_grid(0.4, 8))
    for name, count in (('alone', 0), ('two', 2)):
        make_map(plan, tmp_path / name, Workers(count))
    assert bytes_below(tmp_path / 'alone') == bytes_below(tmp_path / 'two')


def test_a_scheduler_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr('ssik_ros.reach.engine.CONNECT', 1.0)
    workers = Workers(scheduler='tcp://127.0.0.1:9')
    with pytest.raises(
        SolverError, match=r'No Dask scheduler responds at .tcp://127\.0\.0\.1:9'
    ) as info:
        make_map(plan_of(chain_of('ur5e')), tmp_path / 'map.zarr', workers)
    assert '\n' not in str(info.value)


@pytest.mark.slow
def test_a_process_killed_again_and_again_goes_on_to_the_same_bytes(tmp_path, whole):
    folder = tmp_path / 'map.zarr'
    for _ in range(4):
        before = chunks(folder)
        run = subprocess.Popen(command(folder, '--workers', '0'))
        wait_for(lambda before=before, run=run: chunks(folder) > before or run.poll() is not None)
        run.kill()
        run.wait(LIMIT)
    assert chunks(folder)
    subprocess.run(command(folder, '--workers', '0'), check=True, timeout=LIMIT)
    assert bytes_below(folder) == whole


def sockets_of(pid):
    """Return the identities of the sockets that a process has open."""
    for place in Path(f'/proc/{pid}/fd').glob('*'):
        with contextlib.suppress(OSError):
            target = os.readlink(place)
            if target.startswith('socket:['):
                yield target[8:-1]


def reachable_sockets():
    """Return the identities of all sockets of this machine with a port or a name."""
    for kind in ('tcp', 'tcp6', 'udp', 'udp6'):
        with contextlib.suppress(OSError):
            for line in Path(f'/proc/net/{kind}').read_text().splitlines()[1:]:
                yield line.split()[9]
    for line in Path('/proc/net/unix').read_text().splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7:
            yield fields[6]


def test_no_process_of_a_map_can_be_reached_by_another_program(tmp_path):
    """A worker runs the code that it receives, so only its scheduler may send code."""
    folder = tmp_path / 'map.zarr'
    run = subprocess.Popen(command(folder, '--workers', '2'), start_new_session=True)
    try:
        wait_for(lambda: chunks(folder) or run.poll() is not None)
        processes = [run.pid, *children(run.pid)]
        assert len(processes) >= 3
        used = {socket for pid in processes for socket in sockets_of(pid)}
        assert used
        assert not used & set(reachable_sockets())
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait(LIMIT)


def test_workers_end_with_a_first_process_that_is_killed(tmp_path):
    folder = tmp_path / 'map.zarr'
    run = subprocess.Popen(command(folder, '--workers', '2'))
    wait_for(lambda: chunks(folder) or run.poll() is not None)
    workers = list(children(run.pid))
    assert workers
    run.kill()
    run.wait(LIMIT)

    def is_left(pid):
        try:
            return b'engine import serve' in Path(f'/proc/{pid}/cmdline').read_bytes()
        except OSError:
            return False

    wait_for(lambda: not any(map(is_left, workers)))


@pytest.mark.slow
def test_workers_killed_ten_times_cost_their_units_only(tmp_path, whole):
    folder, killed = tmp_path / 'map.zarr', []
    run = subprocess.Popen(command(folder, '--workers', '2'))
    end = time.monotonic() + LIMIT
    while run.poll() is None and time.monotonic() < end:
        for pid in children(run.pid):
            with contextlib.suppress(OSError):
                line = Path(f'/proc/{pid}/cmdline').read_bytes()
                if (
                    b'engine import serve' in line
                    and len(killed) < 10
                    and chunks(folder) > len(killed)
                ):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break
        time.sleep(0.05)
    assert run.wait(LIMIT) == 0
    assert killed
    assert bytes_below(folder) == whole


def start_dask(part, options, folder):
    """Start a part of a cluster as its own command does."""
    program = f'from distributed.cli import dask_{part}; dask_{part}.main()'
    command = [sys.executable, '-c', program, *options]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_ends_the_run_with_one_line(tmp_path, whole):
    folder, place = tmp_path / 'map.zarr', tmp_path / 'scheduler.json'
    options = [
        '--host',
        '127.0.0.1',
        '--port',
        '0',
        '--no-dashboard',
        '--scheduler-file',
        str(place),
    ]
    scheduler = start_dask('scheduler', options, tmp_path)
    # The file is complete when it has its last brace.
    wait_for(lambda: place.exists() and place.read_text().rstrip().endswith('}'))
    address = json.loads(place.read_text())['address']
    options = ['--nthreads', '1', '--no-dashboard', '--no-nanny', '--death-timeout', '20']
    worker = start_dask('worker', [address, *options], tmp_path)
    try:
        run = subprocess.Popen(
            command(folder, '--scheduler', address), stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda: chunks(folder) > 1 or run.poll() is not None)
        scheduler.kill()
        _, errors = run.communicate(timeout=LIMIT)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait(LIMIT)
    assert run.returncode == 2
    assert 'The scheduler is gone' in errors
    assert 'Traceback' not in errors
    subprocess.run(command(folder, '--workers', '0'), check=True, timeout=LIMIT)
    assert bytes_below(folder) == whole


@pytest.fixture
def little_disk(tmp_path):
    """Return a folder on a disk of 256 kB."""
    folder = tmp_path / 'disk'
    folder.mkdir()
    mount = ['mount', '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', str(folder)]
    try:
        made = subprocess.run(mount, capture_output=True, timeout=10)
    except OSError as error:
        pytest.skip(f'no mount: {error}')
    if made.returncode:
        pytest.skip(f'no disk of its own: {made.stderr.decode().strip()}')
    yield folder
    subprocess.run(['umount', '-l', str(folder)], check=True, timeout=10)


def test_a_disk_that_is_full_leaves_what_is_whole(little_disk):
    plan = plan_of(chain_of('ur5e'), small_grid(0.1, 8))
    folder = little_disk / 'map.zarr'
    with pytest.raises(StoreError, match='is full; make room and start the same command again'):
        make_map(plan, folder, Workers(0))
    done = chunks(folder)
    assert done
    subprocess.run(['mount', '-o', 'remount,size=64m', str(little_disk)], check=True, timeout=10)
    make_map(plan, folder, Workers(0))
    other = little_disk / 'other.zarr'
    make_map(plan, other, Workers(0))
    assert bytes_below(folder) == bytes_below(other)
    assert not (folder / '.work').exists()


def test_a_lock_ends_with_its_process(tmp_path):
    plan = plan_of(chain_of('ur5e'))
    store = MapStore(tmp_path / 'map.zarr')
    store.create(plan)
    hold = 'import sys, time; from pathlib import Path; from ssik_ros.reach.storage.files import held_by_one_run\n'
    hold += (
        'with held_by_one_run(Path(sys.argv[1]), "map"): print("held", flush=True); time.sleep(60)'
    )
    other = subprocess.Popen(
        [sys.executable, '-c', hold, str(store.path)], stdout=subprocess.PIPE, text=True
    )
    timer = threading.Timer(LIMIT, other.kill)
    timer.start()
    try:
        assert other.stdout.readline() == 'held\n'
        with pytest.raises(StoreError, match='Another run works on the map'):
            make_map(plan, store.path, Workers(0))
    finally:
        timer.cancel()
        other.kill()
        other.wait(LIMIT)
        other.stdout.close()
    make_map(plan, store.path, Workers(0))
