"""The readers of files from untrusted sources, with valid files to begin from and unexpected values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
import random
import re
import shutil
from typing import Any

from ssik_ros.benchmark.config import read_benchmark_config
from ssik_ros.mechanisms.loop_closures import read_loop_closures
from ssik_ros.model.catalogue import read_catalogue
from ssik_ros.model.loader import load_robot
from ssik_ros.model.number_tables import read_table
from ssik_ros.paths.path_file import read_problem, read_waypoints
from ssik_ros.reach.place_file import read_cell, read_tasks
from ssik_ros.reach.store import MapStore
from ssik_ros.solvers.kinematics_yaml import read_kinematics_yaml
from ssik_ros.tasks.environment import Environment
from ssik_ros.tasks.files.task_set_file import read_task_set_file
from ssik_ros.view.obstacles import read_obstacles

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ROOT / 'config' / 'robots'
CORPUS = Path(__file__).resolve().parent / 'corpus'
URDF = ROBOTS / 'ur5e_moveit_config' / 'config' / 'ur5e.urdf'
TABLE = CORPUS / 'waypoints' / 'line.csv'
YAML, XML, CSV, JSON = 'yaml', 'xml', 'csv', 'json'


@dataclass(frozen=True)
class Reader:
    """One reader."""

    syntax: str
    """Syntax of the files, which the fuzzer uses to find values."""
    suffix: str
    read: Callable[[Path], Any]
    seeds: tuple[Path, ...]
    """Valid files."""

    def write(self, folder: Path, data: bytes) -> Path:
        """Write a file and, into the same folder, a table that some files refer to; return the file's path."""
        shutil.copy(TABLE, folder)
        path = folder / f'file{self.suffix}'
        path.write_bytes(data)
        return path


def _config(name: str) -> tuple[Path, ...]:
    """Return the files of a name in the MoveIt configurations that come along."""
    return tuple(sorted(ROBOTS.glob(f'*_moveit_config/config/{name}')))


def _read_map(path: Path) -> Any:
    """Read the head of a map, which is one file of its folder."""
    folder = path.with_suffix('.zarr')
    folder.mkdir(exist_ok=True)
    (folder / 'zarr.json').write_bytes(path.read_bytes())
    store = MapStore(folder)
    return store.read_chain(), store.read_cells(), store.read_scene()


READERS = {
    'urdf': Reader(XML, '.urdf', load_robot, (CORPUS / 'urdf' / 'arm.urdf',)),
    'srdf': Reader(
        XML, '.srdf', lambda path: load_robot(URDF, path), (URDF.with_suffix('.srdf'),)
    ),
    'joint_limits': Reader(
        YAML, '.yaml', lambda path: load_robot(URDF, None, path), _config('joint_limits.yaml')
    ),
    'kinematics': Reader(YAML, '.yaml', read_kinematics_yaml, _config('kinematics.yaml')),
    'task_sets': Reader(
        YAML,
        '.yaml',
        read_task_set_file,
        tuple(sorted((ROOT / 'config' / 'task_sets').glob('*.yaml'))),
    ),
    'loops': Reader(
        YAML,
        '.yaml',
        read_loop_closures,
        tuple(sorted((ROOT / 'config' / 'mechanisms').rglob('loop_closures.yaml'))),
    ),
    'obstacles': Reader(YAML, '.yaml', read_obstacles, (CORPUS / 'obstacles' / 'obstacles.yaml',)),
    'mesh': Reader(CSV, '.stl', read_obstacles, (CORPUS / 'mesh' / 'triangle.stl',)),
    'path': Reader(YAML, '.yaml', read_problem, (CORPUS / 'path' / 'path.yaml',)),
    'waypoints': Reader(CSV, '.csv', read_waypoints, (TABLE,)),
    'nav_path': Reader(YAML, '.yaml', read_waypoints, (CORPUS / 'nav_path' / 'line.yaml',)),
    'table': Reader(CSV, '.csv', lambda path: read_table(path, 1000), (TABLE,)),
    'cell': Reader(YAML, '.yaml', read_cell, (CORPUS / 'cell' / 'cell.yaml',)),
    'tasks': Reader(CSV, '.csv', read_tasks, (TABLE,)),
    'catalogue': Reader(YAML, '.yaml', read_catalogue, (CORPUS / 'catalogue' / 'arm.yaml',)),
    'benchmark': Reader(
        YAML,
        '.yaml',
        read_benchmark_config,
        tuple(sorted((ROOT / 'config' / 'benchmark').glob('*.yaml'))),
    ),
    'environment': Reader(JSON, '.json', Environment.load, (CORPUS / 'environment' / 'arm.json',)),
    'map': Reader(JSON, '.json', _read_map, (CORPUS / 'map' / 'zarr.json',)),
}
"""By the name of a harness."""

VALUES = (
    b'!!int abc',
    b'!!float abc',
    b'!!bool abc',
    b'!!timestamp abc',
    b'!!binary abc',
    b'!!set x',
    b'!!omap x',
    b'!!python/object/apply:os.system ["exit 1"]',
    b'9' * 5000,
    b'1' + b'0' * 400,
    b'-1e999',
    b'.nan',
    b'nan',
    b'NaN',
    b'inf',
    b'1_0',
    b'0x',
    b'',
    b'~',
    b'true',
    b'[1, 2]',
    b'{a: 1}',
    b'{"a": 1}',
    b'[' * 3000 + b']' * 3000,
    b'&a [*a]',
    b'*a',
    b'"\\ud800"',
    b'\xff\xfe',
    b'\0',
    b'x' * 100_000,
    b'../../../../etc/passwd',
    b'-1',
    b'1e308',
)
"""In place of any value."""
FILES = (
    b'',
    b'\0' * 100,
    b'\xff\xfe\0x',
    b'\xef\xbb\xbf',
    b'[' * 3000,
    b'- ' * 3000,
    b'{"a":' * 3000,
    b'<a>' * 3000,
    b'%YAML 9.9\n---\na: 1\n',
    b'a: &a [x, x, x, x, x, x, x, x, x]\n'
    + b''.join(
        b'%c: &%c [%s]\n' % (k + 1, k + 1, b', '.join([b'*%c' % k] * 9))
        for k in range(ord('a'), ord('i'))
    ),
    b'<?xml version="1.0" encoding="undefined"?><robot name="r"><link name="l"/></robot>',
    b'<?xml version="1.0" encoding="idna"?><robot name="r"><link name="l"/></robot>',
    b'<?xml version="1.0" encoding="utf-16"?><robot name="r"><link name="l"/></robot>',
    b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "b">]><robot name="r">&a;</robot>',
    b'solid x\nfacet normal nan nan nan\nouter loop\nvertex nan nan nan\nvertex nan nan nan\n'
    b'vertex nan nan nan\nendloop\nendfacet\nendsolid x\n',
    b'x' * 80 + b'\x01\0\0\0' + b'\0\0\xc0\x7f' * 12 + b'\0\0',
    b'x' * 80 + b'\xff\xff\xff\xff',
    b'x,y,z,qw,qx,qy,qz\n' + b'"' * 200_000,
    b'[]',
    b'null',
    b'3',
)
"""Whole files."""
PLACES = {
    YAML: re.compile(rb'(?<=: )[^\n#]+|(?<=- )[^\n#:]+'),
    XML: re.compile(rb'(?<==")[^"]*(?=")'),
    CSV: re.compile(rb'[^,\s]+'),
    JSON: re.compile(rb'(?<=: )[^\n,\[{]+|(?<=\n)\s*[-0-9.e]+(?=[,\n])'),
}


def hostile_files(reader: Reader, count: int, seed: int = 0) -> Iterator[bytes]:
    """
    Yield hostile files: those that are wrong as a whole, then valid ones with one wrong value, or one wrong byte.

    :param reader: whose valid files are changed.
    :param count: of the changed ones.
    :param seed: of the choice.
    """
    yield from FILES
    rng = random.Random(seed)
    texts = [path.read_bytes() for path in reader.seeds]
    for _ in range(count):
        text = rng.choice(texts)
        places = list(PLACES[reader.syntax].finditer(text))
        if places and rng.random() < 0.9:
            begin, end = rng.choice(places).span()
            yield text[:begin] + rng.choice(VALUES) + text[end:]
        else:
            place = rng.randrange(len(text))
            yield text[:place] + rng.randbytes(1) + text[place + 1 :]
