"""Keys have the bits of JAX's, so that tables are drawn alike with and without it."""

import jax
import numpy as np
import pytest

from dprap.relaxed import random_key, split_key


@pytest.mark.parametrize("seed", [0, 3, 2**31, 2**32 - 1, 2**32 + 5])
def test_keys_and_what_they_split_into_are_those_of_jax(seed):
    ours, theirs = random_key(seed), jax.random.key(seed)
    for _ in range(3):
        np.testing.assert_array_equal(ours, jax.random.key_data(theirs))
        halves = jax.random.split(theirs)
        for own, other in zip(split_key(ours), halves, strict=True):
            np.testing.assert_array_equal(own, jax.random.key_data(other))
        ours, theirs = split_key(ours)[0], halves[0]
