"""Tables as people have them: written by several programs, in several countries, with what goes
wrong in each.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 3000
FIRST = [
    "Zoë",
    "Jean-Luc",
    "Aïcha",
    "Søren",
    "Beatriz",
    "Nguyễn",
    "Олга",
    "Müller",
    "O'Neil",
    "Tarō",
]
LAST = [
    "Lefèvre",
    "d'Orsay",
    "Ben Ali",
    "Østergård",
    "González",
    "Văn An",
    "Иванова",
    "Schmidt",
    "Kelly",
    "Sato",
]


@dataclass(frozen=True)
class Messy:
    """A table in a file, and what a good draft makes of it."""

    name: str
    write: Callable[[Path], None]
    types: dict[str, str]
    """The type of each column that belongs into the schema."""
    ignored: tuple[str, ...]
    personal: tuple[str, ...] = ()
    """Texts that must not stand in the draft."""
    nulls: tuple[str, ...] = ()
    """Columns with missing values."""
    formats: dict[str, object] | None = None


def names(rng: np.random.Generator) -> list[str]:
    return [
        f"{FIRST[a]} {LAST[b]} {chr(65 + c)}."
        for a, b, c in rng.integers(0, [10, 10, 26], (ROWS, 3))
    ]


def csv(columns: dict[str, list[str]], *, delimiter: str = ",", quote: bool = False) -> str:
    frame = pd.DataFrame(columns)
    text = io.StringIO()
    frame.to_csv(text, index=False, sep=delimiter, quoting=1 if quote else 0)
    return text.getvalue()


def _hospital(path: Path) -> None:
    rng = np.random.default_rng(1)
    cost = np.where(rng.random(ROWS) < 0.9, 0, rng.lognormal(6, 1, ROWS).round(2))
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 30_000, ROWS), "D")
    columns = {
        "Numéro": [str(100_000 + i) for i in range(ROWS)],
        "Nom du patient": names(rng),
        "Né(e) le": [day.strftime("%d/%m/%Y") for day in born],
        "Sexe": rng.choice(["H", "F"], ROWS).tolist(),
        "Poids": [f"{w:.1f}".replace(".", ",") for w in rng.normal(72, 14, ROWS).clip(35, 160)],
        "Coût": [f"{c:,.2f} €".replace(",", "\u00a0").replace(".", ",") for c in cost],
        "Fumeur": rng.choice(["oui", "non", "N/A"], ROWS, p=[0.25, 0.7, 0.05]).tolist(),
        "Département": (
            rng.choice(["01", "02", "13", "75", "2A"], ROWS, p=[0.2, 0.2, 0.2, 0.3, 0.1]).tolist()
        ),
    }
    path.write_bytes(csv(columns, delimiter=";").encode("cp1252", errors="replace"))


def _sales(path: Path) -> None:
    rng = np.random.default_rng(2)
    amount = rng.lognormal(7, 1.2, ROWS).round(2)
    sold = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 364, ROWS), "D")
    columns = {
        "order_id": [f"ORD-{i:06d}" for i in rng.permutation(ROWS)],
        "email": [f"user{i}@example.org" for i in range(ROWS)],
        "sold": [day.strftime("%m/%d/%Y") for day in sold],
        "shipped": [
            day.strftime("%m/%d/%Y")
            for day in sold + pd.to_timedelta(rng.integers(0, 9, ROWS), "D")
        ],
        "amount": [f"${a:,.2f}" for a in amount],
        "refund": [
            f"(${a:,.2f})" if a else "$0.00" for a in np.where(rng.random(ROWS) < 0.93, 0, amount)
        ],
        "discount": [f"{d}%" for d in rng.choice([0, 5, 10, 25], ROWS)],
        "at": [
            f"{h:02d}:{m:02d}"
            for h, m in zip(rng.integers(8, 20, ROWS), rng.integers(0, 60, ROWS), strict=True)
        ],
        "repeat": rng.choice(["Y", "N"], ROWS).tolist(),
        "size": rng.choice(["S", "M", "L", "XL"], ROWS).tolist(),
    }
    path.write_text(csv(columns, quote=True), encoding="utf-8")


def _survey(path: Path) -> None:
    rng = np.random.default_rng(3)
    columns = {"respondent": [str(i + 1) for i in range(ROWS)]}
    for number in range(128):
        likert = rng.choice([1, 2, 3, 4, 5, 98, 99], ROWS, p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.06, 0.04])
        columns[f"q{number + 1:03d}"] = likert.astype(str).tolist()
    columns["age"] = [
        str(a) for a in np.where(rng.random(ROWS) < 0.03, 999, rng.integers(18, 90, ROWS))
    ]
    said = ["I liked the", "It was not", "Why did they", "Please tell"]
    columns["comment"] = [f"{said[i % 4]} number {i} and so on, thanks" for i in range(ROWS)]
    path.write_text(csv(columns), encoding="utf-8")


def _germany(path: Path) -> None:
    rng = np.random.default_rng(4)
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1000 * 1440, ROWS), "min")
    columns = {
        "Kunde": names(rng),
        "PLZ": rng.choice(["01067", "10115", "20095", "80331", "04109"], ROWS).tolist(),
        "Umsatz": [
            f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in rng.lognormal(7, 1, ROWS)
        ],
        "Eingang": [day.strftime("%d.%m.%Y %H:%M") for day in when],
        "Bezahlt": rng.choice(["ja", "nein"], ROWS).tolist(),
        "Stufe": rng.choice(["18-24", "25-34", "35-64", "65+"], ROWS).tolist(),
    }
    # two lines above the header, and a byte order mark
    path.write_text(
        "\ufeffBericht 2023\nerstellt am 1.2.2024\n" + csv(columns, delimiter="\t"),
        encoding="utf-8",
    )


def _flights(path: Path) -> None:
    rng = np.random.default_rng(5)
    delay = (
        np.where(rng.random(ROWS) < 0.7, rng.normal(-4, 5, ROWS), rng.exponential(40, ROWS))
        .round()
        .astype(int)
    )
    left = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 60 * 1440, ROWS), "min")
    columns = {
        "departure": [day.strftime("%Y-%m-%d %H:%M:%S") for day in left],
        "delay": [
            "N" if lost else str(d) for d, lost in zip(delay, rng.random(ROWS) < 0.04, strict=True)
        ],
        "carrier": rng.choice(["UA", "B6", "EV", "DL"], ROWS).tolist(),
        "tail": [f"N{n}" for n in rng.integers(100, 900, ROWS)],
        "lat": [f"{v:.4f}" for v in rng.normal(40.7, 1.5, ROWS)],
        "lon": [f"{v:.4f}" for v in rng.normal(-73.9, 2, ROWS)],
        "air_time": [f"{m // 60}:{m % 60:02d}:00" for m in rng.integers(30, 2000, ROWS)],
        "distance": [str(d) for d in rng.integers(80, 4983, ROWS)],
    }
    path.write_text(csv(columns), encoding="utf-8")


def _unicode(path: Path) -> None:
    rng = np.random.default_rng(6)
    when = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(
        rng.integers(0, 90 * 86_400, ROWS), "s"
    )
    columns = {
        "id": [f"{i:032x}" for i in rng.permutation(ROWS)],
        "城市": rng.choice(["東京", "大阪", "札幌, 北"], ROWS).tolist(),
        "الجنس": rng.choice(["ذكر", "أنثى", "-"], ROWS, p=[0.45, 0.5, 0.05]).tolist(),
        "население": [f"{n:,}".replace(",", "\u202f") for n in rng.integers(1_000, 90_000, ROWS)],
        "момент": [each.isoformat() for each in when],
        "день": [each.strftime("%Y/%m/%d") for each in when],
        "severity": rng.choice(["mild", "moderate", "severe"], ROWS).tolist(),
    }
    path.write_text(csv(columns), encoding="utf-8")


TABLES = [
    Messy("hospital", _hospital,
          {"Né(e) le": "date", "Sexe": "categorical", "Poids": "number", "Coût": "number", "Fumeur": "boolean", "Département": "categorical"},
          ("Numéro", "Nom du patient"), ("Lefèvre",), ("Fumeur",),
          {"Né(e) le": "%d/%m/%Y", "Poids": {"decimal": ","}}),
    Messy("sales", _sales,
          {"sold": "date", "shipped": "date", "amount": "number", "refund": "number", "discount": "integer", "at": "integer",
           "repeat": "boolean", "size": "categorical"},
          ("order_id", "email"), ("ORD-", "@"), (),
          {"sold": "%m/%d/%Y", "amount": {"prefix": "$", "thousands": ","}, "at": {"clock": "minutes"}}),
    Messy("survey", _survey, {**{f"q{n + 1:03d}": "integer" for n in range(128)}, "age": "integer"}, ("respondent", "comment"),
          ("thanks",), ("q001", "age")),
    Messy("germany", _germany,
          {"PLZ": "categorical", "Umsatz": "number", "Eingang": "datetime", "Bezahlt": "boolean", "Stufe": "categorical"},
          ("Kunde",), ("Schmidt",), (), {"Eingang": "%d.%m.%Y %H:%M", "Umsatz": {"decimal": ",", "thousands": "."}}),
    Messy("flights", _flights,
          {"departure": "datetime", "delay": "integer", "carrier": "categorical", "lat": "number", "lon": "number",
           "air_time": "integer", "distance": "integer"},
          ("tail",), ("N101",), ("delay",), {"air_time": {"clock": "minutes"}}),
    Messy("unicode", _unicode,
          {"城市": "categorical", "الجنس": "categorical", "население": "integer", "момент": "datetime", "день": "date", "severity": "categorical"},
          ("id",), ("0000000",), ("الجنس",), {"день": "%Y/%m/%d"}),
]  # fmt: skip
