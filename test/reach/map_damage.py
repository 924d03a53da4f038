"""
Damage maps and data sets on the disk in every way, and judge their readers: ``python map_damage.py [COUNT [SEED]]``.

A reader may return, or raise an error of the package with one line. It may neither take more memory than a sound map takes, nor
wait for ever. The program bounds its own memory and time, applies COUNT kinds of damage drawn by SEED (0: all of them), and
prints one JSON list for each verdict that is a fault, then the number of cases.
"""

import json
import os
from pathlib import Path
import random
import resource
import shutil
import signal
import sys
import tempfile

MEMORY = 4 << 30
"""Of the address space [bytes]; readers of the sound folders need a quarter."""
SECONDS = 20
"""Of one reader."""
LONGEST_LINE = 5000
VALUES = (
    *(None, True, 0, -1, 2, 3.5, 10**12, 10**30, -(10**30), 1e308, float('nan'), float('inf')),
    *('', 'x', 'NaN', '../..', 'x' * 10_000, [], {}, [0], [[]], {'a': 1}, [10**12] * 4, ['x'] * 3),
)
"""In place of any value of a JSON file."""
TEXTS = (
    *(
        b'',
        b'{',
        b'[]',
        b'null',
        b'3',
        b'"x"',
        b'\0' * 100,
        b'\xff\xfe\0x',
        b'\xef\xbb\xbf{}',
        b'{}',
    ),
    *(b'[' * 100_000, b'{"a":' * 100_000, b'9' * 10_000, b'"\\ud800"', b' ' * (20 << 20), b'NaN'),
)
"""In place of a JSON file."""
CODECS = (
    *(
        [],
        None,
        'zstd',
        [{}],
        [{'name': 'bytes'}],
        [{'name': 'zstd'}],
        [[], []],
        [{'name': 'bytes'}, None],
    ),
    [{'name': 'bytes', 'configuration': {'endian': 'big'}}, {'name': 'zstd'}],
    [{'name': 'bytes', 'configuration': None}, {'name': 'zstd'}],
    *([{'name': 'bytes'}, {'name': name}] for name in ('gzip', 'blosc', 'none', 'crc32c', 7)),
    [{'name': 'transpose', 'configuration': {'order': [0]}}, {'name': 'bytes'}],
    [
        {
            'name': 'sharding_indexed',
            'configuration': {'chunk_shape': [1], 'codecs': [], 'index_codecs': []},
        }
    ],
)
"""In place of the codecs of an array."""


def rle_bomb(gigabytes, with_size):
    """Return a Zstandard frame of some kilobytes that unpacks to gigabytes of zeros."""
    count = gigabytes << 13
    size = (count << 17).to_bytes(8, 'little')
    head = b'\x28\xb5\x2f\xfd' + (b'\xe0' + size if with_size else b'\x00\x58')
    block = ((1 << 17 << 3) | 2).to_bytes(3, 'little') + b'\0'
    return head + block * (count - 1) + ((1 << 17 << 3) | 3).to_bytes(3, 'little') + b'\0'


def leaves(content, path=()):
    """Yield the path of each value of JSON content, mappings and lists included; of a long list only the first values."""
    items = content.items() if isinstance(content, dict) else enumerate(content[:4])
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def changed(content, path, value):
    """Return JSON content with another value at a path; without the key for ``KeyError``."""
    copy = json.loads(json.dumps(content))
    owner = copy
    for key in path[:-1]:
        owner = owner[key]
    if value is KeyError:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value
    return copy


def write(content):
    """Return the damage that writes JSON content or bytes in place of a file."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda file: file.write_bytes(data)


def in_place(make):
    """Return the damage that removes a file and makes something else there."""

    def apply(file):
        file.unlink()
        make(file)

    return apply


def file_damage():
    """Yield kinds of damage of any file: name and function of the file."""
    yield 'missing', lambda file: file.unlink()
    yield 'half', lambda file: os.truncate(file, file.stat().st_size // 2)
    yield 'sparse', lambda file: os.truncate(file, 1 << 37)
    yield 'folder', in_place(lambda file: file.mkdir())
    yield 'pipe', in_place(os.mkfifo)
    for target in ('/dev/zero', '/proc/self/mem', '/nowhere', 'zarr.json', '..', '/etc/passwd'):
        yield f'link to {target}', in_place(lambda file, target=target: file.symlink_to(target))


def json_damage(file):
    """Yield kinds of damage of a JSON file."""
    yield from file_damage()
    for text in TEXTS:
        yield f'text {text[:12]!r} of {len(text)}', write(text)
    content = json.loads(file.read_bytes())
    for path in leaves(content):
        name = '.'.join(map(str, path))
        for value in (KeyError, *VALUES):
            label = 'gone' if value is KeyError else f'{value!r:.30}'
            yield f'{name} = {label}', write(changed(content, path, value))
    if 'codecs' in content:
        for codecs in CODECS:
            yield f'codecs = {codecs}', write(changed(content, ('codecs',), codecs))
    robot = content.get('attributes', {}).get('ssik_reach', {}).get('robot')
    if robot is not None:
        for path in leaves(robot):
            for value in VALUES:
                forged = forge(content, path, value)
                if forged is not None:
                    yield f'forged robot.{".".join(map(str, path))} = {value!r:.30}', write(forged)


def forge(content, path, value):
    """Return a changed robot with its right checksum; None where it can have none."""
    from ssik_ros.reach import store

    copy = changed(content, ('attributes', 'ssik_reach', 'robot', *path), value)
    robot = copy['attributes']['ssik_reach']['robot']
    try:
        robot['sha256'] = store.hash_of_chain(store.chain_from_mapping(robot))
    except Exception:
        return None
    return copy


def chunk_damage(file):
    """Yield kinds of damage of the file of a chunk."""
    import numcodecs.zstd as zstd
    import numpy as np

    yield from file_damage()
    packed = file.read_bytes()
    size = len(zstd.decompress(packed))
    for text in (b'', b'x', b'\0' * 1000, packed + b'x', packed + packed, packed[:-1], packed[:5]):
        yield f'bytes {text[:6]!r} of {len(text)}', write(text)
    for number in range(0, len(packed), max(1, len(packed) // 12)):
        flipped = bytearray(packed)
        flipped[number] ^= 0xFF
        yield f'byte {number} flipped', write(bytes(flipped))
    for cells in (0, 1, size - 1, size + 1, 100 * size):
        yield f'{cells} bytes of cells', write(zstd.compress(bytes(cells), 3))
    for number in (5, 200, 255):
        yield f'all {number}', write(zstd.compress(bytes([number]) * size, 3))
    for value in (np.nan, np.inf, -1e308, 1e6):
        if size % 8 == 0:
            yield f'all {value}', write(zstd.compress(np.full(size // 8, value).tobytes(), 3))
    for number in (-1, 10**6, 1 << 62):
        if size % 8 == 0:
            yield f'all {number}', write(zstd.compress(np.full(size // 8, number).tobytes(), 3))
    for with_size in (False, True):
        yield f'bomb, size {with_size}', write(rle_bomb(16, with_size))


def damage_of(folder):
    """Yield every kind of damage of a folder: name, path below it, function of the file."""
    seen = set()
    for file in sorted(path for path in folder.rglob('*') if path.is_file()):
        place = file.relative_to(folder)
        if file.suffix == '.json':
            kinds = json_damage(file)
        elif place.parts[0] in seen or (file.suffix != '.parquet' and 'c' not in place.parts):
            continue
        else:
            # One chunk of each array.
            seen.add(place.parts[0] if place.parts[0] != 'collisions' else str(place.parent))
            kinds = chunk_damage(file) if file.suffix != '.parquet' else file_damage()
        for name, apply in kinds:
            yield f'{place}: {name}', place, apply
    for place in sorted(path.relative_to(folder) for path in folder.rglob('*') if path.is_dir()):
        if len(place.parts) < 4:
            yield f'{place}/: gone', place, shutil.rmtree
            yield f'{place}/: file', place, replace_folder(lambda path: path.write_bytes(b'x'))
            yield f'{place}/: link', place, replace_folder(lambda path: path.symlink_to('/tmp'))


def replace_folder(make):
    """Return the damage that puts something else in place of a folder."""

    def apply(path):
        shutil.rmtree(path)
        make(path)

    return apply


class MapCase:
    """A sound map, and its readers."""

    def __init__(self, work):
        """Make the map: with collisions and with every array."""
        import numpy as np

        from ssik_ros.cli.command import main
        from ssik_ros.model.catalogue import arm_data, load_arm
        from ssik_ros.model.collision.objects import ObjectShape, SolidKind, WorldObject
        from ssik_ros.model.serial_chain import SerialChain
        from ssik_ros.reach.collisions.chain_scene import make_scene
        from ssik_ros.reach.engine import Workers
        from ssik_ros.reach.grid import Grid, GridRegion
        from ssik_ros.reach.mapping import make_map, make_plan
        from ssik_ros.reach.orientations import spread_orientations
        from ssik_ros.reach.reach_map import ReachMap

        del main, arm_data, load_arm
        from ssik_ros.model.loader import load_robot

        urdf = Path(__file__).parents[2] / 'config/robots/ur5e_moveit_config/config/ur5e.urdf'
        robot = load_robot(urdf)
        chain = SerialChain.from_robot(robot, 'base_link', 'tool0')
        box = ObjectShape(SolidKind.BOX, (0.2, 0.2, 0.2), np.eye(4))
        pose = np.eye(4)
        pose[:3, 3] = 0.5, 0.0, 0.3
        scene = make_scene(robot, chain, [WorldObject('box', pose, (box,))]).scene
        grid = Grid(GridRegion.sphere((0.0, 0.0, 0.2), 0.8), 0.7, spread_orientations(4), 16)
        quantities = ('manipulability', 'limit_margin', 'clearance')
        self.plan = make_plan(chain, 'arm', grid, quantities, scene=scene)
        self.folder = work / 'map.zarr'
        self._make, self._alone, self._open = make_map, Workers(0), ReachMap.open
        make_map(self.plan, self.folder, self._alone)
        self._whole = ReachMap.open(self.folder)
        self._poses = np.concatenate([np.eye(4)[None], pose[None]])

    def readers(self, folder):
        """Yield the name and the call of each reader."""
        from ssik_ros.reach.exports import write_csv

        maps = []

        def opened():
            if not maps:
                maps.append(self._open(folder))
            return maps[0]

        def query():
            for result in (opened().query(self._poses), opened().query(self._poses, exact=True)):
                assert (result.status <= 4).all()

        def measures():
            for name in opened().measures:
                opened().measure(name)
                opened().slice('z', 0.2, name)

        yield 'open', lambda: (opened().counts, opened().is_finished, opened().covering_angle)
        yield 'query', query
        yield 'nearest', lambda: opened().nearest_reachable(self._poses[1])
        yield 'measures', measures
        yield 'compare', lambda: (opened().compare(self._whole), self._whole.compare(opened()))
        yield 'csv', lambda: write_csv(opened(), folder.parent / 'out.csv')
        yield 'continue', lambda: self._make(self.plan, folder, self._alone)


class DatasetCase:
    """A sound data set, and the run that goes on with it."""

    def __init__(self, work, kind):
        """Make the data set."""
        from ssik_ros.model.catalogue import arm_data, load_arm
        from ssik_ros.model.serial_chain import SerialChain
        from ssik_ros.reach.dataset import DatasetPlan, make_dataset
        from ssik_ros.reach.engine import Workers

        data = arm_data('ur5e')
        chain = SerialChain.from_robot(load_arm('ur5e'), data.base_link, data.tip_link)
        self._plan = DatasetPlan(chain, 'ur5e', 40, kind)
        self.folder = work / f'set.{kind}'
        self._make, self._alone = make_dataset, Workers(0)
        make_dataset(self._plan, self.folder, self._alone)

    def readers(self, folder):
        """Yield the run that goes on: as it is, and with its unit to be made again."""

        def again():
            for path in (folder / '.work' / '0', folder / 'part-0000000.parquet'):
                if path.is_file() and not path.is_symlink():
                    path.unlink()
            self._make(self._plan, folder, self._alone)

        yield 'continue', lambda: self._make(self._plan, folder, self._alone)
        yield 'again', again


class TookTooLong(BaseException):
    """A reader did not end."""


def judge(read):
    """Return the fault of the end of a reader, an empty text for a right end."""
    from ssik_ros.errors import SsikError

    signal.alarm(SECONDS)
    try:
        read()
    except SsikError as error:
        text = str(error)
        is_line = text and text.isprintable() and len(text) < LONGEST_LINE
        return '' if is_line else f'not one line: {text[:200]!r}'
    except TookTooLong:
        return f'more than {SECONDS} s'
    except BaseException as error:
        return f'{type(error).__name__}: {str(error)[:200]}'
    finally:
        signal.alarm(0)
    return ''


def stop(*_):
    """End a reader."""
    raise TookTooLong


def main(count=0, seed=0):
    """Run the campaign."""
    signal.signal(signal.SIGALRM, stop)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        cases = [MapCase(work), DatasetCase(work, 'zarr'), DatasetCase(work, 'parquet')]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        chosen = [(case, *damage) for case in cases for damage in damage_of(case.folder)]
        total = len(chosen)
        if count:
            chosen = random.Random(seed).sample(chosen, min(count, total))
        folder, readings = work / 'damaged', 0
        for case, label, place, apply in chosen:
            names = [reader for reader, _ in case.readers(folder)]
            for k, reader in enumerate(names):
                # The runs that go on change the folder; all other readers share one.
                if k == 0 or reader in ('continue', 'again'):
                    shutil.rmtree(folder, ignore_errors=True)
                    shutil.copytree(case.folder, folder, symlinks=True)
                    apply(folder / place)
                    readers = dict(case.readers(folder))
                readings += 1
                if fault := judge(readers[reader]):
                    print(json.dumps([label, reader, fault]), flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            json.dumps({'kinds': len(chosen), 'of': total, 'readings': readings, 'peak_kb': peak})
        )


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
