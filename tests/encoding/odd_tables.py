"""Tables unlike those that drafts were written for: a clinic, sensors, wages, a survey and
payments, as their programs export them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from tests.encoding.messier_tables import ROWS, Maker, write
from tests.encoding.messy_tables import Messy


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def indian(value: float) -> str:
    whole, part = f"{value:.2f}".split(".")
    head, groups = whole[:-3], [whole[-3:]]
    while head:
        head, groups = head[:-2], [head[-2:], *groups]
    return f"₹ {','.join(groups)}.{part}"


def _clinic(path: Path) -> None:
    make = Maker(31)
    rng = make.rng
    came = make.days("2021-03-01", 700)
    left = came + pd.to_timedelta(rng.geometric(0.2, ROWS) - 1, "D")
    pressure = np.stack([rng.normal(130, 15, ROWS), rng.normal(80, 9, ROWS)], axis=1).astype(int)
    codes = [
        f"{letter}{number}.{part}" for letter in "EIJ" for number in (10, 25) for part in range(3)
    ]
    write(
        path,
        {
            "MRN": [f"{number:08d}" for number in rng.integers(0, 10**8, ROWS)],
            "Date of\nBirth": list(make.days("1935-01-01", 29_000).strftime("%d/%m/%y")),
            "Admitted": list(came.strftime("%d-%b-%y")),
            "Discharged": make.lose(list(left.strftime("%d-%b-%y")), 0.04, [""]),
            "ICD-10": make.pick(codes),
            "Sex ": make.pick(["M", "F", "m", "f"], [0.45, 0.45, 0.05, 0.05]),
            "BP": [f"{high}/{low}" for high, low in pressure],
            "Temp (°C)": make.texts(rng.normal(37.1, 0.6, ROWS), ".1f"),
            "Smoker": make.pick(["ja", "nein", "Ja", "unbekannt"], [0.2, 0.6, 0.1, 0.1]),
            "Ward": ["3B"] * ROWS,
            "Notes": [
                f"Patient {number} reports pain in the knee since last week"
                for number in range(ROWS)
            ],
            "Deceased": [""] * ROWS,
            "weight_kg": make.lose(make.texts(rng.normal(78, 14, ROWS), ".0f"), 0.03, ["999"]),
        },
    )


def _sensors(path: Path) -> None:
    make = Maker(33)
    rng = make.rng
    when = pd.Timestamp("2024-05-01", tz="Europe/Berlin") + pd.to_timedelta(
        rng.integers(0, 20 * 86_400, ROWS), "s"
    )
    up = rng.exponential(200_000, ROWS).astype(int)
    write(
        path,
        {
            "ts": [each.isoformat() for each in when],
            "epoch_ms": [str(int(each.timestamp() * 1000)) for each in when],
            "device": make.pick(["0x1234", "0xABCD", "0xDEAD"]),
            "mac": [
                ":".join(f"{byte:02x}" for byte in row) for row in rng.integers(0, 256, (ROWS, 6))
            ],
            "temperature": make.lose(make.texts(rng.normal(21, 3, ROWS), ".2f"), 0.02, ["NaN"]),
            "humidity": make.texts(100 * rng.beta(5, 4, ROWS), lambda share: f"{share:.0f} %"),
            "rssi": make.texts(rng.normal(-70, 9, ROWS), ".0f"),
            "lat": make.texts(rng.normal(52.52, 0.05, ROWS), ".6f"),
            "uptime": make.texts(
                up, lambda s: f"{s // 86_400}d {s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}"
            ),
            "flags": make.pick(["[]", "[1]", "[1, 2]"]),
            "payload": [f'{{"a": {number}, "b": "x"}}' for number in rng.integers(0, 10**6, ROWS)],
        },
    )


def _wages(path: Path) -> None:
    make = Maker(35)
    rng = make.rng
    pay = rng.lognormal(8.4, 0.5, ROWS)
    write(
        path,
        {
            "Pers.-Nr.": [str(100_000 + number) for number in rng.permutation(ROWS)],
            "Name, Vorname": make.people(),
            "IBAN": [
                f"DE{n % 89 + 10} 3704 {n % 8999 + 1000} 0532 {n % 8999 + 1000} 00"
                for n in rng.integers(0, 10**9, ROWS)
            ],
            "Brutto": make.texts(pay, lambda value: f"{german(value)} €"),
            "Lohn CH": make.texts(pay * 1.4, lambda value: f"CHF {value:,.2f}".replace(",", "’")),
            "CTC": make.texts(pay * 960, indian),
            "Korrektur": make.texts(
                rng.normal(0, 300, ROWS), lambda v: german(abs(v)) + ("-" if v < 0 else "")
            ),
            "Eintritt": list(make.days("1995-01-01", 10_000).strftime("%d.%m.%Y")),
            "Austritt": make.lose(
                list(make.days("2023-01-01", 700).strftime("%d.%m.%Y")), 0.8, ["31.12.9999"]
            ),
            "Teilzeit": make.pick(["Ja", "Nein", "JA", "nein", ""], [0.2, 0.6, 0.05, 0.13, 0.02]),
            "Stunden": make.texts(rng.choice([20, 25.5, 38.5, 40], ROWS), german),
            "Land": ["DE"] * ROWS,
        },
        delimiter=";",
        encoding="utf-8-sig",
    )


def _answers(path: Path) -> None:
    make = Maker(37)
    rng = make.rng
    agree = [
        "Strongly disagree",
        "Disagree",
        "Neither agree nor disagree",
        "Agree",
        "Strongly agree",
        "Don't know",
        "Refused",
    ]
    write(
        path,
        {
            "Respondent": [f"R-{number:05x}" for number in rng.permutation(3 * ROWS)[:ROWS]],
            "Q1. I trust it": make.pick(agree),
            "Q2. How often?": make.pick(
                ["Never", "Rarely", "Sometimes", "Often", "Prefer not to say"]
            ),
            "Q3": make.pick([1, 2, 3, 4, 5, 8, 9], [0.1, 0.2, 0.3, 0.2, 0.1, 0.06, 0.04]),
            "Q4 income": make.pick(
                ["< $20,000", "$20,000 - $49,999", "$50,000 - $99,999", "$100,000+", "-99"]
            ),
            "Q5 all that apply": make.pick(["TV", "Radio", "Radio, TV", "Friends, TV, Web"]),
            "Q6 (0-10)": make.pick([*range(11), -8, -9], [*[0.08] * 11, 0.08, 0.04]),
            "Q7 open": [
                f"I think site {n} was kind and the wait was long" if n % 3 == 0 else ""
                for n in range(ROWS)
            ],
            "weight": make.texts(rng.gamma(9, 1 / 9, ROWS), ".6f"),
            "ZIP": make.pick(["00501", "02139", "10001", "94110"]),
            "wave": ["3"] * ROWS,
        },
    )


def _payments(path: Path) -> None:
    make = Maker(39)
    rng = make.rng
    amount = rng.normal(1, 1, ROWS) * rng.lognormal(4, 1, ROWS)
    write(
        path,
        {
            "hash": [f"{number:016x}" for number in rng.integers(0, 2**62, ROWS)],
            "posted": list(make.days("2022-01-01", 365).strftime("%Y%m%d")),
            "time": [
                f"{h}:{m:02d} {'AP'[p]}M"
                for h, m, p in rng.integers([1, 0, 0], [13, 60, 2], (ROWS, 3))
            ],
            "amount": make.texts(amount, lambda v: f"(${-v:,.2f})" if v < 0 else f"${v:,.2f}"),
            "balance": make.texts(
                rng.normal(2000, 1500, ROWS), lambda v: f"{abs(v):.2f}" + ("-" if v < 0 else "")
            ),
            "fraud": make.pick([0, 1], [0.99, 0.01]),
            "merchant": make.pick(["Amazon", "AMAZON", "amazon ", "Shell", "Uber *Trip"]),
            "card": [
                f"{a}-****-****-{b:04d}"
                for a, b in rng.integers([4000, 0], [5000, 10_000], (ROWS, 2))
            ],
            "rate": make.texts(rng.lognormal(0, 0.1, ROWS), ".6e"),
            "phone": [
                f"({a}) {b}-{c:04d}"
                for a, b, c in rng.integers([200, 200, 0], [999, 999, 10_000], (ROWS, 3))
            ],
            "off": make.pick(["0%", "5%", "10%", "25%"], [0.7, 0.1, 0.1, 0.1]),
        },
        delimiter="\t",
    )


ODD = [
    Messy("clinic", _clinic,
          {"Date of\nBirth": "date", "Admitted": "date", "Discharged": "date", "ICD-10": "categorical", "Sex": "categorical", "Temp (°C)": "number",
           "Smoker": "categorical", "Ward": "categorical", "weight_kg": "integer"},
          ("MRN", "BP", "Notes", "Deceased"), ("Patient",), ("Discharged", "weight_kg"),
          {"Date of\nBirth": "%d/%m/%y", "Admitted": "%d-%b-%y"}),
    Messy("sensors", _sensors,
          {"ts": "datetime", "epoch_ms": "integer", "device": "categorical", "temperature": "number", "humidity": "integer", "rssi": "integer",
           "lat": "number", "uptime": "integer", "flags": "categorical"},
          ("mac", "payload"), (), ("temperature",), {"uptime": {"clock": "seconds"}}),
    Messy("wages", _wages,
          {"Brutto": "number", "Lohn CH": "number", "CTC": "number", "Korrektur": "number", "Eintritt": "date", "Austritt": "date",
           "Teilzeit": "boolean", "Stunden": "number", "Land": "categorical"},
          ("Pers.-Nr.", "Name, Vorname", "IBAN"), ("Lefèvre", "DE1"), ("Austritt", "Teilzeit"),
          {"Brutto": {"decimal": ",", "thousands": ".", "suffix": "€"}, "Lohn CH": {"prefix": "CHF", "thousands": "’"},
           "CTC": {"prefix": "₹", "thousands": ","}}),
    Messy("answers", _answers,
          {"Q1. I trust it": "categorical", "Q2. How often?": "categorical", "Q3": "integer", "Q4 income": "categorical",
           "Q5 all that apply": "categorical", "Q6 (0-10)": "integer", "weight": "number", "ZIP": "categorical", "wave": "integer"},
          ("Respondent", "Q7 open"), ("kind",), ("Q3", "Q6 (0-10)")),
    Messy("payments", _payments,
          {"posted": "date", "time": "integer", "amount": "number", "balance": "number", "fraud": "integer", "merchant": "categorical",
           "rate": "number", "off": "integer"},
          ("hash", "card", "phone"), ("****",), (), {"posted": "%Y%m%d", "amount": {"prefix": "$", "thousands": ","}}),
]  # fmt: skip
