"""Where privacy noise gets its randomness: the operating system, or, for tests and benchmarks
alone, a seed.
"""

from __future__ import annotations

import os
import secrets
from typing import Protocol

import numpy as np

from dprap.array_types import UInt64


class Entropy(Protocol):
    """A source of uniform random integers."""

    @property
    def secure(self) -> bool:
        """Whether noise drawn from it protects anybody."""
        ...

    def words(self, count: int) -> UInt64[np.ndarray, " count"]:
        """Uniform 64-bit words."""
        ...

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exactly."""
        ...


class OsEntropy:
    """The operating system's cryptographic generator."""

    secure = True

    def words(self, count: int) -> UInt64[np.ndarray, " count"]:
        """Uniform 64-bit words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exactly."""
        return secrets.randbelow(bound)


class InsecureSeededEntropy:
    """Reproducible noise that protects nobody: whoever knows the seed can subtract it."""

    secure = False

    def __init__(self, insecure_noise_seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(insecure_noise_seed))

    def words(self, count: int) -> UInt64[np.ndarray, " count"]:
        """Uniform 64-bit words."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exactly."""
        bits = bound.bit_length()
        while True:
            words = self.words((bits + 63) // 64)
            drawn = int.from_bytes(words.tobytes(), "little") >> (64 * len(words) - bits)
            if drawn < bound:
                return drawn
