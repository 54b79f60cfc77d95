"""Keys of public randomness, with the bits that `jax.random` would give them.

A release's table is drawn from its seed. Keys are split by Threefry-2x32, as JAX does, so that a
table comes out the same whether or not JAX is installed, and the same as from earlier versions.
No privacy rests on these numbers: the noise comes from the operating system.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import UInt32

Key: TypeAlias = UInt32[np.ndarray, "2"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF


def random_key(seed: int) -> Key:
    """The key of a seed, of which the lowest 32 bits count.

    >>> random_key(3).tolist()
    [0, 3]
    """
    return np.array([0, seed & _MASK], dtype=np.uint32)


def split_key(key: Key) -> tuple[Key, Key]:
    """Two keys whose random numbers have nothing to do with each other.

    >>> [each.tolist() for each in split_key(random_key(0))]
    [[1797259609, 2579123966], [928981903, 3453687069]]
    """
    first, second = (np.array(_threefry(key, (0, count)), dtype=np.uint32) for count in (0, 1))
    return first, second


def _threefry(key: Key, block: tuple[int, int]) -> tuple[int, int]:
    """Twenty rounds of Threefry-2x32 on one block of two words."""
    low, high = (int(word) for word in key)
    words = (low, high, low ^ high ^ _PARITY)
    left, right = (block[0] + words[0]) & _MASK, (block[1] + words[1]) & _MASK
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            left = (left + right) & _MASK
            right = ((right << turn | right >> (32 - turn)) & _MASK) ^ left
        left = (left + words[(group + 1) % 3]) & _MASK
        right = (right + words[(group + 2) % 3] + group + 1) & _MASK
    return left, right
