"""Malicious blocks: their digest is right, and their content is wrong."""

import ctypes
from pathlib import Path
import subprocess
import sys

from test.c_library.c_arm import doubles, package_arm

import numpy as np
import pytest

from ssik_ros.artifact.c import blocks, image, image_rules
from ssik_ros.errors import ModelError, TopologyMismatch
from ssik_ros.kernels.native import portable
from ssik_ros.kernels.rows import layout
from ssik_ros.manipulator.kin_body import KinBody

ROOT = Path(__file__).parents[2]
BAD_BLOCKS = -3
ARMS = 'ur5e', 'panda', 'gen3', 'hsr065'


@pytest.fixture(scope='module')
def packed():
    """Return a function that packs an arm once."""
    made = {}

    def pack(name):
        if name not in made:
            made[name] = blocks.pack(package_arm(name), portable.digest())
        return made[name].copy()

    return pack


@pytest.fixture(scope='module')
def memory_size(build_generic):
    """Return a function from blocks to the memory that a solver needs, or a code."""
    library = ctypes.CDLL(build_generic / 'lib' / 'libssik.so.1')
    library.ssik_memory_size.restype = ctypes.c_int64

    def size_for(words, sign=True):
        if sign:
            words[image.HEAD - image.DIGEST_WORDS : image.HEAD] = image.digest_of(words)
        size = ctypes.c_size_t(words.nbytes)
        return library.ssik_memory_size(doubles(words), size, ctypes.c_int64(0))

    return size_for


def place_of(name):
    """Return where a single number is in blocks."""
    return image.HEAD + 2 * len(image_rules.SECTIONS) + list(image_rules.NUMBERS).index(name)


def section_of(words, name):
    """Return a section of blocks, as a view."""
    return image.split(words)[name]


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('JOINTS', 10_000),
        ('JOINTS', 0),
        ('JOINTS', -1),
        ('HELD', 6),
        ('CAPACITY', 1),
        ('SAMPLES', 2**40),
        ('WIDEST', 2**62),
        ('NODES', 65),
        ('HULLS', 9),
        ('CLOCK', 0),
        ('SEARCH_WORK', -8),
        ('ERRORS', 2**60),
        ('FORM_FIRST', 2),
    ],
)
def test_a_wrong_number_is_refused(packed, memory_size, name, value):
    """No number of joints, size or place is believed: the others have to fit."""
    words = packed('ur5e')
    assert memory_size(words) > 0
    words[place_of(name)] = value
    assert memory_size(words) == BAD_BLOCKS


def test_a_wrong_place_of_a_section_is_refused(packed, memory_size):
    """Begin and size of each section are exactly those that the numbers imply."""
    words = packed('ur5e')
    for place in range(image.HEAD, image.HEAD + 2 * len(image_rules.SECTIONS)):
        right = words[place]
        for value in (0, right + 1, right - 1, 2**40, -(2**63)):
            words[place] = value
            assert memory_size(words) == BAD_BLOCKS, (place, value)
        words[place] = right
    assert memory_size(words) > 0


def test_an_index_outside_of_its_table_is_refused(packed, memory_size):
    """Each integer of the packed problem and of the closed form stays within the table that it points into."""
    for section, index, value in (
        *(
            ('SEARCH', 3 + layout.HEADER, 7),
            ('SEARCH', 4 + layout.HEADER, 0),
            ('SEARCH', 5 + layout.HEADER, 6),
            ('SEARCH', 6 + layout.HEADER, -1),
        ),
        *(('SEARCH', 0, 2), ('SEARCH', 3, 5), ('SEARCH', 3 + 8, 40)),
        ('SEARCH', 3 + layout.WORK_SIZE, 717),
        *(('FK_INTS', 0, 7), ('FK_INTS', layout.HEADER + 42, 6)),
        *(('FK_INTS', layout.HEADER + 52, 6), ('FK_INTS', layout.HEADER + 53, 8)),
        *(('INTS', 0, 7), ('INTS', 2, 2), ('INTS', 7, 6), ('INTS', 15, 0), ('INTS', 16, 64)),
    ):
        words = packed('ur5e')
        section_of(words, section)[index] = value
        assert memory_size(words) == BAD_BLOCKS, (section, index)


def test_a_class_with_too_many_joints_of_a_kind_is_refused(packed, memory_size):
    """A class whose arrays hold three joints that turn gets no arm with six of them, and none with other slides."""
    for robot, changes in (
        ('ur5e', {2: 4}),
        ('ur5e', {16: 1}),
        ('stanford', {16: 0}),
        ('stanford', {2: 4}),
        ('stanford', {3: 3}),
        ('panda', {16: 64}),
    ):
        words = packed(robot)
        assert memory_size(words) > 0
        for index, value in changes.items():
            section_of(words, 'INTS')[index] = value
        assert memory_size(words) == BAD_BLOCKS, (robot, changes)


@pytest.mark.parametrize('value', [np.nan, np.inf, 1e300])
def test_a_real_number_that_no_arm_has_is_refused(packed, memory_size, value):
    """Where a kernel needs a finite number, no other one passes; limits may be infinite."""
    for section, index in (
        ('FK_REALS', 3),
        ('REALS', 20),
        ('OPTIONS', 4),
        ('OWN', 0),
        ('SEARCH', 200),
    ):
        words = packed('ur5e')
        section_of(words, section)[index] = np.float64(value).view(np.int64)
        assert memory_size(words) == BAD_BLOCKS, section
    words = packed('ur5e')
    section_of(words, 'LIMITS')[0] = np.float64(value).view(np.int64)
    assert (memory_size(words) > 0) is not bool(np.isnan(value))


def test_an_endless_search_is_refused(packed, memory_size):
    """Blocks cannot ask for more searches or steps than a call may take."""
    for option in (4, 5, 20, 22, 26, 29):
        words = packed('ur5e')
        at = words[place_of('SEARCH_OPTIONS')] + option
        section_of(words, 'SEARCH')[at] = np.float64(1e9).view(np.int64)
        assert memory_size(words) == BAD_BLOCKS, option


def test_two_words_exchanged_are_seen(packed, memory_size):
    """The digest sees each exchange of two words, whatever their distance."""
    words = packed('ur5e')
    seen = 0
    for at in range(image.HEAD, len(words) - 63):
        if words[at] != words[at + 63]:
            words[[at, at + 63]] = words[[at + 63, at]]
            assert memory_size(words, sign=False) == BAD_BLOCKS, at
            words[[at, at + 63]] = words[[at + 63, at]]
            seen += 1
    assert seen > 1000 and memory_size(words, sign=False) > 0


@pytest.mark.sampled
@pytest.mark.parametrize(
    ('robot', 'trials'),
    [*((robot, 100) for robot in ARMS), pytest.param('gen3', 400, marks=pytest.mark.slow)],
)
def test_library_and_package_keep_the_same_rules(packed, memory_size, robot, trials):
    """Of blocks with one change, C refuses exactly those that Python would not write."""
    rng, original = np.random.default_rng(5), packed(robot)
    first = place_of('JOINTS')
    odd = [
        0,
        1,
        -1,
        7,
        2**40,
        *np.array([np.nan, np.inf, 0.0, 1.5, -1e160]).view(np.int64).tolist(),
    ]
    refused = 0
    for _ in range(trials):
        words = original.copy()
        at = rng.integers(first, rng.choice([first + 40, len(words)]))
        near = int(words[at]) + rng.choice([-1, 1]).item()
        near = min(max(near, -(2**63)), 2**63 - 1)
        words[at] = rng.choice([*odd, near, words[rng.integers(len(words))]])
        try:
            image.check(image.split(words))
            is_kept = True
        except ModelError:
            is_kept = False
        assert (memory_size(words) > 0) is is_kept, (at, words[at])
        refused += not is_kept
    assert trials / 8 < refused < trials * 7 / 8


def test_a_chain_that_breaks_a_rule_is_refused_at_the_build():
    """The package writes no blocks that the library would refuse, and names the rule."""
    arm = package_arm('ur5e')
    arm.plain.problem.reals[3] = np.nan
    with pytest.raises(TopologyMismatch, match=r'SEARCH\[\d+\] is nan'):
        blocks.pack(arm, 1)


def test_a_chain_of_64_joints_has_blocks_and_one_of_65_says_why_not(memory_size, tmp_path):
    """The largest chain passes the check of the library; a larger one names the number of joints."""
    rng, path = np.random.default_rng(2), tmp_path / 'snake.urdf'
    for n in (64, 65):
        axes, points = rng.standard_normal((n, 3)), rng.uniform(-0.1, 0.1, (n + 1, 3))
        chain = KinBody.from_axes(axes, points, [(-2.0, 2.0)] * n)
        path.write_text(chain.to_urdf(), encoding='utf-8')
        arm = package_arm(str(path))
        if n == 64:
            assert memory_size(blocks.pack(arm, portable.digest())) > 0
        else:
            with pytest.raises(TopologyMismatch, match=r'JOINTS is 65, outside 1 \.\. 64'):
                blocks.pack(arm, 1)


def build_harness(path, *options):
    """Build the harness with sanitizers; skip where the compiler has none."""
    command = [sys.executable, ROOT / 'fuzz' / 'c' / 'build.py', path, *options]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode and 'cannot find' in made.stderr:
        pytest.skip('the compiler has no sanitizers')
    assert made.returncode == 0, made.stderr


@pytest.mark.slow
def test_hostile_blocks_do_no_harm(tmp_path):
    """Changed blocks with a right digest are refused, or every function runs clean between forbidden pages."""
    program = tmp_path / 'blocks'
    build_harness(program, '--arms', *ARMS, 'nearest', 'objective', 'positions', 'two_tips')
    said = subprocess.run([program, '1500', '3'], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    runs, _, accepted = said.stdout.split()[:3]
    assert int(runs) == 1500 and 300 < int(accepted) < 1500


@pytest.mark.slow
def test_the_harness_sees_what_a_missing_check_lets_through(tmp_path):
    """Without the rules of the words the same changes end in a fault."""
    program = tmp_path / 'blocks'
    build_harness(program, '--arms', 'ur5e', '--without-rules')
    said = subprocess.run([program, '1500', '3'], capture_output=True, text=True, check=False)
    assert said.returncode != 0
