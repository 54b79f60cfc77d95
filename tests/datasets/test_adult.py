"""ADULT from UCI's files, against the papers' table where both are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dprap.datasets.adult import ADULT_DOMAIN, Binned, prepare_adult
from dprap.datasets.benchmark import load_benchmark, save_benchmark
from dprap.errors import DataError

DATA = Path(os.environ.get("DPRAP_DATA", Path(__file__).parents[3] / "shared" / "data"))

LINE = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male,"
    " 2174, 0, 40, United-States, <=50K"
)


def test_domain_is_the_papers() -> None:
    assert ADULT_DOMAIN.sizes == (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
    assert ADULT_DOMAIN.onehot_size == 588


def test_bins_are_closed_on_the_right() -> None:
    assert Binned(0, 1000, 100).codes(["0", "1", "1000", "1001", "99999"]).tolist() == [
        0,
        0,
        0,
        1,
        99,
    ]


def test_files_as_uci_publishes_them(tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_text(f"{LINE}\n\n")
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{LINE.replace('39,', '17,')}.\n")
    codes = prepare_adult(tmp_path / "adult.data", tmp_path / "adult.test")
    rows = np.stack(codes.columns, axis=1).astype(int).tolist()
    assert rows[0] == [23, 5, 4, 12, 2, 8, 3, 0, 1, 2, 0, 39, 0, 0]
    assert rows[1] == [1, *rows[0][1:]]


@pytest.mark.parametrize("change", [("State-gov", "Astronaut"), ("39,", "old,"), ("77516", "9000")])
def test_other_values_are_refused_without_being_shown(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    (tmp_path / "adult.data").write_text(LINE.replace(*change))
    with pytest.raises(DataError) as error:
        prepare_adult(tmp_path / "adult.data", tmp_path / "adult.data")
    assert change[1].rstrip(",") not in str(error.value)


@pytest.mark.skipif(
    not (DATA / "raw").is_dir(), reason="UCI's files are not here; set DPRAP_DATA to test on them"
)
def test_prepares_exactly_the_papers_table() -> None:
    prepared = prepare_adult(DATA / "raw" / "adult-train.csv", DATA / "raw" / "adult-test.csv")
    published = load_benchmark("adult", DATA)
    assert prepared.rows == published.rows == 48842
    assert prepared.domain == published.domain
    for name in ADULT_DOMAIN.names:
        assert np.array_equal(prepared.column(name), published.column(name)), name


def test_benchmark_round_trip_and_refusals(tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_text(LINE)
    codes = prepare_adult(tmp_path / "adult.data", tmp_path / "adult.data")
    save_benchmark(codes, "small", tmp_path / "data")
    again = load_benchmark("small", tmp_path / "data")
    assert again.domain == codes.domain
    assert all(np.array_equal(a, b) for a, b in zip(again.columns, codes.columns, strict=True))
    with pytest.raises(DataError, match=r"needs loans\.csv"):
        load_benchmark("loans", tmp_path)
    (tmp_path / "data" / "small-domain.json").write_text('{"age": 85, "height": 3}')
    with pytest.raises(DataError, match="'height'"):
        load_benchmark("small", tmp_path / "data")
    (tmp_path / "data" / "small-domain.json").write_text("[1, 2]")
    with pytest.raises(DataError, match="not a table of codes"):
        load_benchmark("small", tmp_path / "data")
