"""
Numbers in [0, 1) from a seed: the same as numpy's ``Generator(PCG64(seed)).random()``, whatever numpy does in future.

numpy promises no stream of numbers from one version to the next, and its import of generators costs 40 ms.

References
    [ONeill2014] for PCG64: a congruential generator of 128 bits, whose output is rotated by its highest bits. The seed is
    spread over the state by hashes of 32 bits, as numpy's SeedSequence does it.
"""

import numpy as np

from ssik_ros.arrays import FloatArray
from ssik_ros.kernels.search.restarts import RANDOM_UNIT

WORD, LONG, HUGE = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
"""Masks of 32, 64 and 128 bits."""
POOL = 4
"""Words of 32 bits between seed and state."""
HASH_OF_SEED = 0x43B0D7E5, 0x931E8875
HASH_OF_STATE = 0x8B51F9DD, 0x58F38DED
"""First constant of a hash, and the factor between two of its constants."""
MIXED_LEFT, MIXED_RIGHT = 0xCA01F9DD, 0x4973F715
FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
"""Of the congruential generator."""


class _Hash:
    """The hash of numpy's SeedSequence for words of 32 bits; its constant changes with each word."""

    def __init__(self, constants: tuple[int, int]) -> None:
        """
        Start with the first constant.

        :param constants: the first constant, and the factor from each constant to the next.
        """
        self._constant, self._factor = constants

    def __call__(self, word: int) -> int:
        """Return the hash of a word of 32 bits, and change the constant for the next word."""
        word ^= self._constant
        self._constant = self._constant * self._factor & WORD
        word = word * self._constant & WORD
        return word ^ word >> 16


def uniform_numbers(seed: int, count: int) -> FloatArray:
    """
    Return numbers (count,) in [0, 1): the numbers that numpy's PCG64 draws with the same seed.

    :param seed: an integer that is not negative, of any size.
    :param count: how many numbers to return.
    """
    words = _state_words(seed)
    state, sequence = (words[at] << 64 | words[at + 1] for at in (0, 2))
    increment = (sequence << 1 | 1) & HUGE
    state = ((increment + state) * FACTOR + increment) & HUGE
    numbers = np.empty(count)
    for k in range(count):
        state = (state * FACTOR + increment) & HUGE
        bits, turn = (state >> 64 ^ state) & LONG, state >> 122
        numbers[k] = (((bits >> turn | bits << (64 - turn)) & LONG) >> 11) * RANDOM_UNIT
    return numbers


def _state_words(seed: int) -> list[int]:
    """Return four words of 64 bits that numpy's SeedSequence makes from a seed: state and sequence of PCG64."""
    size = max(POOL, -(-seed.bit_length() // 32))
    words = [seed >> 32 * k & WORD for k in range(size)]
    hashed = _Hash(HASH_OF_SEED)
    pool = [hashed(word) for word in words[:POOL]]
    for source in range(POOL):
        for place in range(POOL):
            if source != place:
                pool[place] = _mix(pool[place], hashed(pool[source]))
    for word in words[POOL:]:
        pool = [_mix(before, hashed(word)) for before in pool]
    hashed = _Hash(HASH_OF_STATE)
    halves = [hashed(pool[k % POOL]) for k in range(8)]
    return [low | high << 32 for low, high in zip(halves[::2], halves[1::2], strict=True)]


def _mix(left: int, right: int) -> int:
    """Return the word of 32 bits that numpy's SeedSequence makes of two words of 32 bits; their order matters."""
    word = (MIXED_LEFT * left - MIXED_RIGHT * right) & WORD
    return word ^ word >> 16
