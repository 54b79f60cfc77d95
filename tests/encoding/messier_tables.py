"""More tables as people have them: exports of hospitals, taxis, banks and surveys, in odd encodings
and with odd marks.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.encoding.messy_tables import Messy

ROWS = 5000
FIRST = ["Zoë", "Jean-Luc", "Aïcha", "Sören", "Beatriz", "Anna", "Ole", "Marie", "O'Neil", "Taro"]
LAST = [
    "Lefèvre",
    "d'Orsay",
    "Ben Ali",
    "Østergård",
    "González",
    "Van An",
    "Ivanova",
    "Schmidt",
    "Kelly",
    "Sato",
]
MARKERS = ["N/A", "-", ".", "", "NULL", "#N/A", "nan", "?"]


class Maker:
    """Columns of texts, and a file of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, values: Sequence[Any], p: Sequence[float] | None = None) -> list[str]:
        return [str(value) for value in self.rng.choice(values, ROWS, p=p)]

    def lose(self, texts: Sequence[str], share: float, markers: Sequence[str]) -> list[str]:
        lost = self.rng.random(ROWS) < share
        return [
            str(self.rng.choice(markers)) if gone else text
            for text, gone in zip(texts, lost, strict=True)
        ]

    def texts(self, values: Any, form: str | Callable[[Any], str]) -> list[str]:
        return [form(value) if callable(form) else format(value, form) for value in values]

    def days(self, start: str, length: int) -> pd.DatetimeIndex:
        return pd.Timestamp(start) + pd.to_timedelta(self.rng.integers(0, length, ROWS), "D")

    def people(self) -> list[str]:
        return [
            f"{LAST[a]}, {FIRST[b]} {chr(65 + c)}."
            for a, b, c in self.rng.integers(0, [10, 10, 26], (ROWS, 3))
        ]


def write(
    path: Path, columns: dict[str, list[str]], *, delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path.write_bytes(text.getvalue().encode(encoding))


def _titanic(path: Path) -> None:
    make = Maker(11)
    rng = make.rng
    write(
        path,
        {
            "PassengerId": [str(i + 1) for i in range(ROWS)],
            "Survived": make.pick([0, 1], [0.62, 0.38]),
            "Pclass": make.pick([1, 2, 3], [0.24, 0.21, 0.55]),
            "Name": make.people(),
            "Sex": make.pick(["male", "female"], [0.65, 0.35]),
            "Age": make.lose(make.texts(rng.normal(30, 14, ROWS).clip(0.4, 80), ".1f"), 0.2, [""]),
            "SibSp": make.pick([0, 1, 2, 3, 8], [0.7, 0.24, 0.03, 0.029, 0.001]),
            "Ticket": [
                f"{'PC ' if i % 3 else ''}{n}"
                for i, n in enumerate(rng.permutation(400_000)[:ROWS])
            ],
            "Fare": make.texts(
                np.where(rng.random(ROWS) < 0.05, 0, rng.lognormal(2.9, 1, ROWS)), ".4f"
            ),
            "Cabin": [
                "" if lost < 0.95 else f"C{c}"
                for lost, c in zip(rng.random(ROWS), rng.permutation(ROWS), strict=True)
            ],
            "Embarked": make.pick(["S", "C", "Q", ""], [0.72, 0.19, 0.085, 0.005]),
        },
    )


def _taxi(path: Path) -> None:
    make = Maker(13)
    rng = make.rng
    start = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 31 * 86_400, ROWS), "s")
    lasted, far = rng.lognormal(6.4, 0.7, ROWS).astype(int), rng.lognormal(0.7, 0.9, ROWS)
    fare = (2.5 + far * 2.5).round(1)
    tip = np.where(rng.random(ROWS) < 0.6, (fare * 0.2).round(2), 0)
    write(
        path,
        {
            "pickup": [each.strftime("%m/%d/%Y %I:%M:%S %p") for each in start],
            "dropoff": [
                each.strftime("%m/%d/%Y %I:%M:%S %p")
                for each in start + pd.to_timedelta(lasted, "s")
            ],
            "passengers": make.lose(
                make.pick([1, 2, 3, 4, 5, 6], [0.7, 0.14, 0.05, 0.03, 0.05, 0.03]), 0.03, [""]
            ),
            "distance": make.texts(far, ".2f"),
            "flag": make.pick(["N", "Y", ""], [0.95, 0.02, 0.03]),
            "fare": make.texts(fare, ".2f"),
            "tip": make.texts(tip, ".2f"),
            "surcharge": ["0.3"] * ROWS,
            "lon": make.texts(rng.normal(-73.97, 0.03, ROWS), ".6f"),
            "duration": [
                f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in lasted.tolist()
            ],
            "airport_fee": [""] * ROWS,
        },
        delimiter="|",
    )


def _hospital(path: Path) -> None:
    make = Maker(14)
    rng = make.rng
    came = make.days("2018-01-01", 1800)
    stay = rng.geometric(0.2, ROWS) - 1
    born = came - pd.to_timedelta((rng.normal(58, 20, ROWS).clip(0, 103) * 365.25).astype(int), "D")
    cost = np.where(rng.random(ROWS) < 0.15, 0, rng.lognormal(7.5, 1.1, ROWS)).round(2)
    left = [day.strftime("%d/%m/%Y") for day in came + pd.to_timedelta(stay, "D")]
    write(
        path,
        {
            "N° IPP": [str(8_000_000_000 + int(i)) for i in rng.permutation(10 * ROWS)[:ROWS]],
            "NOM": make.pick(LAST),
            "Prénom": make.pick(FIRST),
            "Né(e) le": [day.strftime("%d/%m/%Y") for day in born],
            "Entrée": [day.strftime("%d/%m/%Y %H:%M") for day in came],
            "Sortie": make.lose(left, 0.05, ["31/12/9999"]),
            "Durée": [str(days) for days in stay],
            "Code postal": make.pick(["75001", "75015", "69003", "13008", "01000", "20090"]),
            "Température": make.lose(
                make.texts(rng.normal(37.2, 0.7, ROWS), lambda t: f"{t:.1f}".replace(".", ",")),
                0.08,
                ["NR"],
            ),
            "Coût": make.texts(
                cost, lambda c: f"{c:,.2f} €".replace(",", "\u00a0").replace(".", ",")
            ),
            "Taux": make.pick(["65 %", "80 %", "100 %"]),
            "Diagnostic": make.pick(["I10", "E11.9", "J18.9", "Z51.1", "K35.8", "S72.0"]),
            "Gravité": make.pick(["1 - faible", "2 - modérée", "3 - sévère"], [0.5, 0.3, 0.2]),
            "Commentaire": [
                f"Vu le {i}.\nRAS ; suite : {['RDV', 'appel'][i % 2]} n°{i}" for i in range(ROWS)
            ],
        },
        delimiter=";",
        encoding="cp1252",
    )


def _utf16(path: Path) -> None:
    make = Maker(15)
    rng = make.rng
    write(
        path,
        {
            "Client Name": make.people(),
            "Región": make.pick(["Norte", "Sur", "Este", "Oeste"]),
            "Importe": make.texts(
                rng.lognormal(6, 1, ROWS),
                lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
            ),
            "Fecha": [day.strftime("%d-%m-%Y") for day in make.days("2020-01-01", 900)],
            "Activo": make.pick(["sí", "no"]),
            "Nota": make.texts(rng.uniform(0, 10, ROWS), lambda v: f"{v:.1f}".replace(".", ",")),
        },
        delimiter="\t",
        encoding="utf-16",
    )


def _survey(path: Path) -> None:
    make = Maker(16)
    rng = make.rng
    agree = [
        "Strongly agree",
        "Agree",
        "Neutral",
        "Disagree",
        "Strongly disagree",
        "Don't know",
        "Refused",
    ]
    columns = {"CASEID": [str(10_000_001 + i) for i in range(ROWS)]}
    for k in range(6):
        columns[f"Q{k}"] = make.pick([1, 2, 3, 4, 5, 8, 9], [0.1, 0.2, 0.3, 0.2, 0.1, 0.06, 0.04])
        columns[f"S{k}"] = make.pick(
            [1, 2, 3, 4, 5, 6, 7, -8, -9], [0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05]
        )
        columns[f"T{k}"] = make.pick(agree, [0.2, 0.3, 0.2, 0.15, 0.1, 0.03, 0.02])
    columns |= {
        "YOB": make.texts(
            np.where(rng.random(ROWS) < 0.02, 9999, rng.integers(1930, 2004, ROWS)), "d"
        ),
        "state": make.pick(["ND", "SD", "NY", "CA", "TX", "OH", "WA", "OR", "UT", "MA"]),
        "income": make.pick(
            ["Less than $20,000", "$20,000 to $39,999", "$150,000 or more", "Prefer not to say"]
        ),
        "height": make.texts(
            np.where(rng.random(ROWS) < 0.05, 999, rng.normal(170, 10, ROWS).round()), ".0f"
        ),
        "pain": make.pick(["None", "Mild", "Moderate", "Severe"], [0.6, 0.2, 0.15, 0.05]),
        "wave": ["3"] * ROWS,
    }
    write(path, columns)


def _dates(path: Path) -> None:
    make = Maker(17)
    rng = make.rng
    days = make.days("2022-01-01", 365)
    early = [pd.Timestamp(2022, m, d) for m, d in rng.integers(1, 13, (ROWS, 2)).tolist()]
    hours, minutes = rng.integers(0, 24, ROWS).tolist(), rng.integers(0, 60, ROWS).tolist()
    clocks = list(zip(hours, minutes, strict=True))
    write(
        path,
        {
            "ambiguous": [day.strftime("%d/%m/%Y") for day in early],
            "us": [day.strftime("%m/%d/%Y") for day in days],
            "short": [f"{day.day}/{day.month}/{day.year % 100:02d}" for day in days],
            "named": [day.strftime("%d-%b-%Y") for day in days],
            "compact": [day.strftime("%Y%m%d") for day in days],
            "gaps": make.lose([day.strftime("%Y-%m-%d") for day in days], 0.05, ["0000-00-00"]),
            "typos": make.lose(
                [day.strftime("%d.%m.%Y") for day in days],
                0.004,
                ["31.02.2022", "1.1.22?", "ca. 2022"],
            ),
            "noon": [f"{h % 12 or 12}:{m:02d} {'AM' if h < 12 else 'PM'}" for h, m in clocks],
            "took": [f"{h % 5}h {m}m" for h, m in clocks],
        },
    )


def _nulls(path: Path) -> None:
    make = Maker(18)
    rng = make.rng
    income = np.where(
        rng.random(ROWS) < 0.1, -1, (rng.lognormal(10, 0.6, ROWS) // 100 * 100).astype(int)
    )
    dates = [day.strftime("%d/%m/%Y") for day in make.days("2015-01-01", 2500)]
    write(
        path,
        {
            "amount": make.lose(make.texts(rng.gamma(2, 50, ROWS), ".2f"), 0.1, MARKERS),
            "kids": make.lose(
                make.pick([0, 1, 2, 3, 4], [0.4, 0.25, 0.2, 0.1, 0.05]), 0.1, MARKERS
            ),
            "age": make.texts(
                np.where(rng.random(ROWS) < 0.06, 999, rng.integers(18, 95, ROWS)), "d"
            ),
            "score": make.pick([*range(11), 98, 99]),
            "income": [str(value) for value in income],
            "region": make.lose(make.pick(["north", "south", "east"]), 0.1, MARKERS),
            "smoker": make.lose(make.pick(["Yes", "No"]), 0.1, MARKERS),
            "bmi": make.texts(
                np.where(rng.random(ROWS) < 0.04, 999.9, rng.normal(26, 4, ROWS)), ".1f"
            ),
            "date": make.lose(dates, 0.1, MARKERS),
            "dashes": ["-"] * ROWS,
        },
    )


def _bank(path: Path) -> None:
    make = Maker(19)
    rng = make.rng
    balance = rng.normal(0, 1, ROWS) * np.exp(rng.normal(7, 1.2, ROWS))
    numbers = rng.integers(0, 10**12, ROWS).tolist()
    write(
        path,
        {
            "IBAN": [f"CH93{'0076'}{number:012d}" for number in numbers],
            "phone": [
                f"+41 {n % 90 + 10} {n % 997:03d} {n % 89 + 10} {n % 83 + 10}" for n in numbers
            ],
            "balance": make.texts(
                balance, lambda b: f"CHF {'-' if b < 0 else ''}{abs(b):,.2f}".replace(",", "'")
            ),
            "booked": make.texts(
                balance / 100, lambda b: f"{abs(b):.2f}-" if b < 0 else f"{b:.2f}"
            ),
            "mixed": [f"{'€$'[i % 2]}{x:,.2f}" for i, x in enumerate(rng.gamma(2, 100, ROWS))],
            "pay": make.texts(rng.gamma(3, 20, ROWS), lambda x: f"{x:.0f}k"),
            "vip": make.pick(["X", ""], [0.1, 0.9]),
            "yn": make.pick(["Y", "n", "N", "y"]),
            "tier": make.pick(["bronze", "silver", "gold"], [0.6, 0.3, 0.1]),
            "host": [f"10.{a}.{b}.{c}" for a, b, c in rng.integers(0, 255, (ROWS, 3))],
        },
    )


def _russia(path: Path) -> None:
    make = Maker(21)
    write(
        path,
        {
            "Фамилия": make.pick(["Иванов", "Петров", "Сидоров"]),
            "Пол": make.pick(["муж", "жен"]),
            "Доход": make.texts(
                make.rng.lognormal(10, 0.5, ROWS), lambda x: f"{x:,.0f}".replace(",", "\u00a0")
            ),
            "Да": make.pick(["да", "нет"]),
        },
        delimiter=";",
        encoding="cp1251",
    )


MESSIER = [
    Messy("titanic", _titanic,
          {"Survived": "integer", "Pclass": "integer", "Sex": "categorical", "Age": "number", "SibSp": "integer", "Fare": "number", "Embarked": "categorical"},
          ("PassengerId", "Name", "Ticket", "Cabin"), ("Lefèvre",), ("Age", "Embarked")),
    Messy("taxi", _taxi,
          {"pickup": "datetime", "dropoff": "datetime", "passengers": "integer", "distance": "number", "flag": "boolean", "fare": "number",
           "tip": "number", "surcharge": "number", "lon": "number", "duration": "integer"},
          ("airport_fee",), (), ("passengers", "flag"), {"pickup": "%m/%d/%Y %I:%M:%S %p", "duration": {"clock": "seconds"}}),
    Messy("hospital", _hospital,
          {"Né(e) le": "date", "Entrée": "datetime", "Sortie": "date", "Durée": "integer", "Code postal": "categorical", "Température": "number",
           "Coût": "number", "Taux": "integer", "Diagnostic": "categorical", "Gravité": "categorical"},
          ("N° IPP", "NOM", "Prénom", "Commentaire"), ("Lefèvre", "Aïcha", "RAS"), ("Sortie", "Température"),
          {"Sortie": "%d/%m/%Y", "Température": {"decimal": ","}}),
    Messy("utf16", _utf16,
          {"Región": "categorical", "Importe": "number", "Fecha": "date", "Activo": "boolean", "Nota": "number"}, ("Client Name",), ("Kelly",)),
    Messy("survey", _survey,
          {**{f"{kind}{k}": "categorical" if kind == "T" else "integer" for k in range(6) for kind in "QST"}, "YOB": "integer", "state": "categorical",
           "income": "categorical", "height": "integer", "pain": "categorical", "wave": "integer"},
          ("CASEID",), (), (*(f"{kind}{k}" for kind in "QS" for k in range(6)), "YOB", "height")),
    Messy("dates", _dates,
          {**dict.fromkeys(("ambiguous", "us", "short", "named", "compact", "gaps", "typos"), "date"), "noon": "integer", "took": "integer"},
          (), ("ca. 2022",), ("gaps", "typos"), {"us": "%m/%d/%Y", "short": "%d/%m/%y", "noon": {"clock": "minutes"}}),
    Messy("nulls", _nulls,
          {"amount": "number", "kids": "integer", "age": "integer", "score": "integer", "income": "integer", "region": "categorical",
           "smoker": "boolean", "bmi": "number", "date": "date"},
          ("dashes",), (), ("amount", "kids", "age", "score", "income", "region", "smoker", "bmi", "date")),
    Messy("bank", _bank,
          {"balance": "number", "booked": "number", "pay": "integer", "vip": "categorical", "yn": "boolean", "tier": "categorical"},
          ("IBAN", "phone", "mixed", "host"), ("CH93",), ("vip",), {"balance": {"prefix": "CHF", "thousands": "'"}}),
    Messy("russia", _russia, {"Пол": "categorical", "Доход": "integer", "Да": "boolean"}, ("Фамилия",), ("Иванов",)),
]  # fmt: skip
