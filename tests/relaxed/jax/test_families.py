from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import optax
from tests.relaxed.cases import DOMAIN, relaxed_rows

from dprap.queries import Marginal
from dprap.relaxed.jax.families import FamilyTarget, FamilyTargets, fit_families
from dprap.relaxed.jax.projection import ProjectionSettings


def test_a_fit_that_overflows_starts_again_with_smaller_steps() -> None:
    # Two whole steps overflow float32 and give NaN; at a tenth of the step five of them do not.
    pushed = jnp.zeros((DOMAIN.onehot_size, 1)).at[0].set(3e38)
    push = optax.GradientTransformation(
        lambda _: optax.EmptyState(),
        lambda updates, state, _=None: (jnp.zeros_like(updates) + pushed, state),
    )
    settings = ProjectionSettings(optimizer=push, max_steps=5, window=5, normalisation="softmax")
    family = Marginal(DOMAIN.names[:2])
    targets = FamilyTargets([FamilyTarget(family, np.zeros(family.size(DOMAIN), dtype=np.float32))])
    result = fit_families(relaxed_rows(3), targets, settings)
    assert math.isfinite(result.misfit)
    assert result.steps > settings.max_steps
