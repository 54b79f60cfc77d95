"""Mixing: records know of more than two columns only what pairs of columns say."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest

from dprap.domain import Domain
from dprap.relaxed import RelaxedDataset, cell_table
from dprap.relaxed.exchange import ExchangeSettings, draw_jointly
from dprap.relaxed.mixing import DEFAULT, MixingSettings, PairModel

DOMAIN = Domain.of({"x": 2, "y": 2, "z": 2})
PAIRS = list(combinations(DOMAIN.names, 2))
RECORDS = 20_000


def rows_of(joint: dict[tuple[int, ...], float], domain: Domain = DOMAIN) -> RelaxedDataset:
    """A row for each combination of codes, with the weight of its share."""
    probabilities = np.zeros((domain.onehot_size, len(joint)), np.float32)
    for row, codes in enumerate(joint):
        for offset, code in zip(domain.offsets, codes, strict=True):
            probabilities[offset + code, row] = 1
    return RelaxedDataset(domain, probabilities, np.array(list(joint.values()), np.float32))


# z is x or y but not both, nine times of ten: every pair of columns is independent.
ODD = rows_of(
    {(x, y, z): 0.25 * (0.9 if z == x ^ y else 0.1) for x, y, z in product((0, 1), repeat=3)}
)


def chain(first: int, second: int, third: int) -> float:
    """Y follows x, and z follows y alone."""
    return 0.5 * (0.8 if first == second else 0.2) * (0.7 if second == third else 0.3)


CHAIN = rows_of({codes: chain(*codes) for codes in product((0, 1), repeat=3)})


def drawn(relaxed: RelaxedDataset, *, mix: bool, rows: int = RECORDS) -> list[np.ndarray]:
    chunks = list(draw_jointly(relaxed, PAIRS, rows, 3, mix=DEFAULT if mix else None))
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]


def test_what_only_three_columns_say_together_is_forgotten() -> None:
    def odd(columns: list[np.ndarray]) -> float:
        return float((columns[2] == columns[0] ^ columns[1]).mean())

    assert odd(drawn(ODD, mix=False)) == pytest.approx(0.9, abs=0.01)
    # a share of 20,000 records has a standard deviation of .0035; this is six of them
    assert odd(drawn(ODD, mix=True)) == pytest.approx(0.5, abs=0.021)


def test_pairs_and_columns_are_kept() -> None:
    columns = drawn(CHAIN, mix=True)
    for pair in PAIRS:
        cells = np.ravel_multi_index([columns[DOMAIN.position(name)] for name in pair], (2, 2))
        expected = RECORDS * cell_table(CHAIN, pair).ravel()
        assert np.abs(np.bincount(cells, minlength=4) - expected).max() <= 2
    for name, column in zip(DOMAIN.names, columns, strict=True):
        expected = RECORDS * cell_table(CHAIN, (name,))
        assert np.abs(np.bincount(column) - expected).max() < 1.01


def test_a_strong_relation_of_many_codes_is_kept() -> None:
    """The cells on the diagonal are small, because there are 60. Steps that took them for noise
    left 59% of the records there.
    """
    codes, half = 60, 30
    joint = {
        (x, y, x % 2, y // half): 0.8 * (x == y) / codes + 0.2 / codes**2
        for x, y in product(range(codes), repeat=2)
    }
    domain = Domain.of({"x": codes, "y": codes, "z": 2, "w": 2})
    chunks = draw_jointly(
        rows_of(joint, domain), list(combinations(domain, 2)), 3000, 3, mix=DEFAULT
    )
    (columns,) = chunks
    assert (columns[0] == columns[1]).mean() > 0.72


def test_a_chain_is_what_its_pairs_say_and_stays() -> None:
    """The chain has the most entropy of all tables with its pairs, so mixing leaves it."""
    columns = drawn(CHAIN, mix=True)
    cells = np.bincount(np.ravel_multi_index(columns, (2, 2, 2)), minlength=8) / RECORDS
    expected = [chain(*codes) for codes in product((0, 1), repeat=3)]
    # the largest cell has a standard deviation of .0032 in 20,000 independent records
    np.testing.assert_allclose(cells, expected, atol=0.019)


def test_draws_are_the_same_for_a_seed() -> None:
    one, again = (drawn(CHAIN, mix=True, rows=500) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))


def test_cells_that_rows_rule_out_stay_empty() -> None:
    rule = rows_of({(0, 0, 0): 0.3, (0, 0, 1): 0.2, (1, 1, 0): 0.1, (1, 1, 1): 0.4})
    columns = drawn(rule, mix=True)
    np.testing.assert_array_equal(columns[0], columns[1])


def test_constraints_hold_in_mixed_records() -> None:
    def broken(records):
        return (records[0] == 1) & (records[2] == 1)

    def amend(records, owner_of, rng):
        records[2] = np.where(broken(records), 0, records[2]).astype(records[2].dtype)
        return records, owner_of

    (columns,) = draw_jointly(CHAIN, PAIRS, 4000, 8, amend=amend, broken=broken, mix=DEFAULT)
    assert not broken(columns).any()


@pytest.mark.parametrize(
    ("relaxed", "records", "settings", "worth"),
    [
        (CHAIN, 1000, DEFAULT, True),
        # one row has independent columns already
        (dataclasses.replace(rows_of({(0, 0, 0): 1.0})), 1000, DEFAULT, False),
        # two columns are one pair
        (rows_of({(0, 0): 0.5, (1, 1): 0.5}, Domain.of({"x": 2, "y": 2})), 1000, DEFAULT, False),
        (CHAIN, 1000, MixingSettings(most_places=5), False),
        (CHAIN, 10_000_000_000, DEFAULT, False),
    ],
)
def test_when_mixing_is_worth_its_time(
    relaxed: RelaxedDataset, records: int, settings: MixingSettings, worth: bool
) -> None:
    assert settings.worth(relaxed, records) is worth


@pytest.mark.parametrize(
    ("columns", "records", "sweeps"),
    [
        (14, 48_842, 80),
        # 40 columns: looks for 80 sweeps would take half a minute
        (40, 48_842, 40),
        (47, 48_842, 24),
        (49, 48_842, 20),
        (14, 1_000, 80),
    ],
)
def test_tables_of_more_columns_get_the_sweeps_that_there_is_time_for(
    columns: int, records: int, sweeps: int
) -> None:
    assert DEFAULT.sweeps_of(columns, records) == sweeps


def test_a_table_is_mixed_only_where_all_records_make_exchanges() -> None:
    few = ExchangeSettings(exchange_records=1000)

    def drawn(rows: int, mix: MixingSettings | None) -> np.ndarray:
        chunks = draw_jointly(CHAIN, PAIRS, rows, 8, mix=mix, settings=few)
        return np.concatenate([np.stack(chunk) for chunk in chunks], axis=1)

    assert not np.array_equal(drawn(1000, DEFAULT), drawn(1000, None))
    np.testing.assert_array_equal(drawn(4000, DEFAULT), drawn(4000, None))


def test_theta_of_a_relation_has_its_sign() -> None:
    theta = PairModel.of(CHAIN, RECORDS, np.random.default_rng(0)).theta
    x, y = (DOMAIN.offset(name) for name in ("x", "y"))
    assert theta[x, y] > theta[x, y + 1]
    np.testing.assert_allclose(theta, theta.T, atol=1e-5)


def test_more_sweeps_keep_sharper_relations() -> None:
    """A column of twelve codes, most of them rare, and another with their names."""
    domain = Domain.of({"code": 12, "name": 12, "other": 2})
    share = 0.6 ** np.arange(12)
    joint = np.diag(0.98 * share / share.sum()) + 0.02 / 144
    named = rows_of(
        {
            (code, name, other): joint[code, name] / 2
            for code, name, other in product(range(12), range(12), (0, 1))
        },
        domain,
    )

    def misnamed(settings: MixingSettings) -> float:
        model = PairModel.of(named, RECORDS, np.random.default_rng(0), settings=settings)
        (records,) = draw_jointly(named, [], RECORDS, 3)
        columns = model.mix(records, np.random.default_rng(1))
        return float((columns[0] != columns[1]).mean())

    # .018 in the rows; a share of 20,000 records has a standard deviation of .001
    assert misnamed(DEFAULT) < 0.75 * misnamed(MixingSettings(sweeps=20))
