"""Order constraints hold in every decoded record."""

import numpy as np
import pyarrow as pa
import pytest

from dprap import synthesize
from dprap.encoding import Codes, decode, encode
from dprap.errors import SchemaError
from dprap.schema import Schema

STAYS = {
    "columns": {
        "admitted": {"type": "date", "min": "2020-01-01", "max": "2023-12-31"},
        "discharged": {"type": "date", "min": "2020-01-01", "max": "2024-12-31", "nullable": True},
    },
    "constraints": [{"type": "order", "smaller": "admitted", "larger": "discharged"}],
}


def test_no_stay_ends_before_it_begins():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 1400, 3000)
    days = np.datetime64("2020-01-01") + np.stack(
        [first, first + rng.geometric(0.2, 3000) - 1]
    ).astype("m8[D]")
    table = pa.table(
        {"admitted": days[0], "discharged": pa.array(days[1], mask=rng.random(3000) < 0.1)}
    )
    release = synthesize(table, STAYS, epsilon=3.0, kway=2, insecure_noise_seed=0)
    drawn = release.table(format="arrow")
    known = drawn.filter(pa.compute.is_valid(drawn["discharged"]))
    assert not pa.compute.any(pa.compute.greater(known["admitted"], known["discharged"])).as_py()
    assert (
        encode(drawn, release.schema).column("admitted") == release.codes().column("admitted")
    ).all()


@pytest.mark.parametrize("decimals", [None, 1])
def test_hopeless_bins_are_drawn_at_their_ends(decimals):
    """The bins overlap in one value of a thousand: redrawing alone would hardly find it."""
    number = {"type": "number", "decimals": decimals}
    schema = Schema.of(
        {
            "columns": {
                "a": {**number, "edges": [0, 99.9, 200]},
                "b": {**number, "edges": [0, 100.0, 200]},
            },
            "constraints": [{"type": "order", "smaller": "a", "larger": "b"}],
        }
    )
    codes = Codes.of(schema.domain, {"a": [1] * 500, "b": [0] * 500})
    table = decode(codes, schema, seed=0)
    assert (table["a"].to_numpy() <= table["b"].to_numpy()).all()
    assert (encode(table, schema).column("a") == 1).all()
    assert (encode(table, schema).column("b") == 0).all()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"b": {"type": "boolean"}}, "has no order"),
        ({"b": STAYS["columns"]["admitted"]}, "different kinds"),
    ],
)
def test_what_cannot_be_compared_is_refused(columns, says):
    mapping = {
        "columns": {"a": {"type": "integer", "min": 0, "max": 9}, **columns},
        "constraints": [{"type": "order", "smaller": "a", "larger": "b"}],
    }
    with pytest.raises(SchemaError, match=says):
        Schema.of(mapping)
