"""Coverage of the accuracy certificate, by simulation."""

import numpy as np

from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Budget, Curator, Neighbors
from dprap.queries import Marginal
from dprap.sources import MemorySource


def test_upper_bound_covers_as_often_as_promised():
    """600 certificates of one release. Covered are 95% of them but for rounding up, so fewer than 535 (89.2%) happens by
    chance with probability below 1e-8; a bound at z = 1.0 instead of 1.645 would cover 505 and fail."""
    domain = Domain.of({"a": 3, "b": 2})
    generator = np.random.default_rng(0)
    codes = Codes.of(domain, {"a": generator.integers(0, 3, 500), "b": generator.integers(0, 2, 500)})
    source = MemorySource(codes)
    marginal = Marginal(("a", "b"))
    exact = source.count([marginal])[0].dense()
    estimate = np.full(6, 60.0)
    true_error = np.abs(exact - estimate).max()
    covered = 0
    for seed in range(600):
        budget = Budget.of(epsilon=1.0, delta=1e-6)
        curator = Curator(source, budget=budget, neighbors=Neighbors(), ledger=None, insecure_noise_seed=seed)
        certificate = curator.certify([marginal], [estimate], rho=budget.rho / 50)
        covered += certificate.upper_bound_counts >= true_error
    assert covered >= 535
    assert covered < 600, "a bound that always covers is too loose to be a 95% bound"
