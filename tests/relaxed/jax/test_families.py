from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.relaxed.cases import DOMAIN, relaxed_rows

from dprap.queries import Marginal
from dprap.relaxed.jax.families import FamilyTarget, FamilyTargets, fit_families
from dprap.relaxed.jax.projection import PAPER, ProjectionSettings


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


@pytest.mark.parametrize("keep", ["last", "best"])
def test_the_rows_that_the_last_step_reached_are_kept(keep: Literal["last", "best"]) -> None:
    start, family = relaxed_rows(3), Marginal(DOMAIN.names[:1])
    wanted = np.array([1, 0], dtype=np.float32)
    misfits = [((start.probabilities[:2] @ start.weights - wanted) ** 2).sum()]
    for steps in (1, 2):
        settings = replace(PAPER, max_steps=steps, keep=keep)
        result = fit_families(start, FamilyTargets([FamilyTarget(family, wanted)]), settings)
        assert result.steps == steps
        assert result.misfit < misfits[-1]
        answers = result.rows.probabilities[:2] @ start.weights
        assert result.misfit == pytest.approx(((answers - wanted) ** 2).sum(), rel=1e-4)
        misfits.append(result.misfit)
