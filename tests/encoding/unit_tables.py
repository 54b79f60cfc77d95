"""Tables of units and limits: a school, houses for sale and a laboratory, as their programs export
them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from tests.encoding.messier_tables import ROWS, Maker, write
from tests.encoding.messy_tables import Messy

MONTHS = (
    *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
    *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)


def comma(text: str) -> str:
    return text.replace(".", ",")


def _school(path: Path) -> None:
    make = Maker(51)
    rng = make.rng
    fees = np.where(rng.random(ROWS) < 0.8, 0, rng.choice([150, 300, 450.5], ROWS))
    write(
        path,
        {
            "alumno": make.people(),
            "correo": [f"al{number}@colegio.example" for number in range(ROWS)],
            "nacimiento": [
                f"{day.day} de {MONTHS[day.month - 1]} de {day.year}"
                for day in make.days("2006-09-01", 1500)
            ],
            "curso": make.pick(["1ºA", "1ºB", "2ºA", "2ºB", "3ºA"]),
            "año académico": make.pick(["2021/22", "2022/23", "2023/24"]),
            "nota media": make.lose(
                make.texts(rng.normal(7, 1.4, ROWS).clip(0, 10), lambda mark: comma(f"{mark:.2f}")),
                0.03,
                ["NP", "s/d"],
            ),
            "calificación": make.pick(["A+", "A", "A-", "B+", "B", "B-", "C", "D", "F"]),
            "asistencia": make.texts(rng.binomial(180, 0.93, ROWS), lambda days: f"{days}/180"),
            "beca": make.pick(["Sí", "No", "si", "NO"], [0.2, 0.7, 0.05, 0.05]),
            "cuota": make.texts(fees, lambda fee: comma(f"{fee:.2f} €")),
            "semana": make.texts(rng.integers(1, 53, ROWS), lambda week: f"2023-W{week:02d}"),
            "transporte": make.pick(["✓", ""], [0.4, 0.6]),
            "observaciones": [
                f"Llega tarde los lunes, hablar con la familia {number}" if number % 3 == 0 else ""
                for number in range(ROWS)
            ],
        },
        delimiter=";",
    )


def _houses(path: Path) -> None:
    make = Maker(53)
    rng = make.rng
    price = rng.lognormal(13, 0.5, ROWS)
    write(
        path,
        {
            "listing_id": [f"MLS{number:07d}" for number in rng.permutation(10**6)[:ROWS]],
            "url": [f"https://homes.example/l/{number}" for number in range(ROWS)],
            "price": make.texts(
                price, lambda v: f"${v / 1e6:.2f}M" if v >= 1e6 else f"${v / 1e3:.0f}K"
            ),
            "list_price": make.texts(np.round(price, -3), lambda value: f"USD {value:,.0f}"),
            "area": make.texts(
                rng.normal(1600, 400, ROWS).clip(300), lambda size: f"{size:,.0f} sq ft"
            ),
            "lot_acres": make.lose(make.texts(rng.lognormal(-1, 1, ROWS), ".3f"), 0.1, ["—"]),
            "beds": make.pick(["Studio", "1", "2", "3", "4", "5+"]),
            "year_built": make.texts(
                np.where(rng.random(ROWS) < 0.05, 0, rng.integers(1900, 2024, ROWS)), "d"
            ),
            "hoa": make.texts(
                np.where(rng.random(ROWS) < 0.7, 0, np.round(rng.gamma(4, 60, ROWS))), ".0f"
            ),
            "latency": make.texts(rng.lognormal(3, 0.8, ROWS), lambda value: f"{value:.1f}ms"),
            "listed": list(make.days("2023-01-01", 400).strftime("%b %d, %Y")),
            "quarter": [
                f"{year}Q{part}" for year, part in rng.integers([2022, 1], [2025, 5], (ROWS, 2))
            ],
            "location": [
                f"{north:.4f}, {east:.4f}"
                for north, east in rng.normal([41.8, -87.6], 0.1, (ROWS, 2))
            ],
            "status": make.pick(["Active", "Pending", "Sold"], [0.6, 0.2, 0.2]),
        },
    )


def _laboratory(path: Path) -> None:
    make = Maker(57)
    rng = make.rng
    when = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 864_000, ROWS), "min")
    age = rng.integers(0, 90 * 12, ROWS)
    write(
        path,
        {
            "Probe": [f"P{number:06d}-{number % 97:02d}" for number in range(ROWS)],
            "Abnahme": list(when.strftime("%d.%m.%Y %H:%M")),
            "Alter": make.texts(age, lambda months: f"{months // 12} J {months % 12} M"),
            "CRP mg/l": make.texts(
                rng.lognormal(0, 1.2, ROWS), lambda v: "<0,5" if v < 0.5 else comma(f"{v:.1f}")
            ),
            "Titer": make.pick(["1:10", "1:20", "1:40", "1:80", "neg"]),
            "PCR": make.pick(["pos", "neg", "n.d.", "POS"], [0.18, 0.7, 0.1, 0.02]),
            "Viruslast": make.texts(
                10 ** rng.normal(4, 1.2, ROWS), lambda value: comma(f"{value:.2E}")
            ),
            "Leukozyten /µl": make.texts(
                rng.normal(7500, 2000, ROWS).clip(500), lambda v: f"{v:,.0f}".replace(",", ".")
            ),
            "Hb": make.texts(rng.normal(13.8, 1.6, ROWS), lambda v: comma(f"{v:.1f} g/dl")),
            "PLZ": make.pick(["01067", "10115", "20095", "80331"]),
            "Befund": [
                f"Kein Nachweis bei Patient {number}, Kontrolle empfohlen" for number in range(ROWS)
            ],
        },
        delimiter=";",
        encoding="cp1252",
    )


UNITS = [
    Messy("school", _school,
          {"curso": "categorical", "año académico": "categorical", "nota media": "number", "calificación": "categorical", "asistencia": "categorical",
           "beca": "categorical", "cuota": "number", "semana": "categorical", "transporte": "categorical"},
          ("alumno", "correo", "nacimiento", "observaciones"), ("Lefèvre", "familia"), ("nota media", "transporte"), {"nota media": {"decimal": ","}}),
    Messy("houses", _houses,
          {"list_price": "integer", "area": "integer", "lot_acres": "number", "beds": "categorical", "year_built": "integer", "hoa": "integer",
           "latency": "number", "listed": "date", "quarter": "categorical", "status": "categorical"},
          ("listing_id", "url", "price", "location"), ("MLS",), ("lot_acres",),
          {"area": {"suffix": "sq ft", "thousands": ","}, "latency": {"suffix": "ms"}}),
    Messy("laboratory", _laboratory,
          {"Abnahme": "datetime", "CRP mg/l": "number", "Titer": "categorical", "PCR": "categorical", "Viruslast": "number", "Leukozyten /µl": "integer",
           "Hb": "number", "PLZ": "categorical"},
          ("Probe", "Alter", "Befund"), ("Patient",), ("CRP mg/l", "PCR"),
          {"Hb": {"suffix": "g/dl", "decimal": ","}, "Leukozyten /µl": {"decimal": ",", "thousands": "."}, "Viruslast": {"decimal": ","}}),
]  # fmt: skip
