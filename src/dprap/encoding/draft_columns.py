"""What a draft proposes for one column: its settings with a reason, or why the column is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.encoding import recognise
from dprap.encoding.draft_bounds import numeric_bounds
from dprap.schema.columns.base import INTEGER_STORAGE
from dprap.schema.values import is_text_type

MIN_COUNT = 20
"""A category that fewer records have is not written into a draft, nor a bound that fewer reach."""

MAX_CATEGORIES = 100

# Codes that surveys use for "don't know", "refused" and the like, beside a scale whose values stay below the limit.
_SENTINELS = {20: (77, 88, 97, 98, 99), 150: (777, 888, 997, 998, 999, 9999)}
_NEGATIVE_SENTINELS = (-1, -2, -7, -8, -9, -77, -88, -97, -98, -99, -999, -9999)

# Texts looked at to recognise a format; the whole column is checked against the draft afterwards.
_LOOKED_AT = 3_000


@dataclass(frozen=True)
class Proposal:
    """Settings of a column, or None if it is left out, with the reason and what was taken from the data."""

    settings: dict[str, Any] | None
    reason: str
    from_data: tuple[str, ...] = ()
    question: str | None = None


@dataclass(frozen=True)
class Hints:
    """What the rest of the table tells about how a column is written."""

    decimal_comma: bool = False
    day_first: bool | None = None


def propose(
    name: str, kind: pa.DataType, seen: Mapping[Any, int], *, has_null: bool, rows: int, hints: Hints
) -> Proposal:
    """A proposal for a column.

    Args:
        name: Its name.
        kind: Its Arrow type; text for CSV files.
        seen: Different values and how many records have each.
        has_null: Whether a record lacks a value.
        rows: The number of records in which the values were seen.
        hints: What the other columns tell.

    """
    storage: dict[str, Any] = {}
    if pa.types.is_dictionary(kind):
        kind, storage = kind.value_type, {"storage": "dictionary"}
    values = {
        value: count for value, count in seen.items() if not (isinstance(value, float) and not math.isfinite(value))
    }
    if not values:
        return Proposal(None, "has no values")
    if pa.types.is_boolean(kind):
        found = Proposal({"type": "boolean"}, "true or false")
    elif is_text_type(kind):
        found = _from_texts(name, {str(text): count for text, count in values.items()}, rows, hints)
        if (
            found.settings is not None
            and found.settings["type"] == "categorical"
            and (storage or kind == pa.large_string())
        ):
            found = _with(found, storage or {"storage": "large_string"})
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        found = _from_numbers(name, values, rows, kind)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        found = _from_times(values, kind)
    else:
        return Proposal(None, f"is of the type {kind}, for which there is no column. Convert it to text or numbers")
    if found.settings is None:
        return found
    return _with(found, {"nullable": True}) if has_null or found.settings.get("null_values") else found


def _with(proposal: Proposal, more: dict[str, Any]) -> Proposal:
    return replace(proposal, settings={**(proposal.settings or {}), **more})


def _from_texts(name: str, seen: dict[str, int], rows: int, hints: Hints) -> Proposal:
    markers = recognise.null_markers(list(seen))
    texts = {text: count for text, count in seen.items() if text not in markers}
    nulls: dict[str, Any] = {"null_values": sorted(markers)} if markers else {}
    if not texts:
        return Proposal(None, "has no values besides markers of missing ones")
    words = recognise.boolean_words(list(texts))
    if words is not None:
        plain = {"false", "False", "FALSE", "true", "True", "TRUE"}
        spelled = {} if set(texts) <= plain else {"false_values": sorted(words[0]), "true_values": sorted(words[1])}
        return Proposal({"type": "boolean", **spelled, **nulls}, "two opposite words")
    read = _read_numbers_or_times(name, texts, rows, hints)
    if read is None:
        # numbers or dates with a few words between them, which then mean that the value is missing
        odd = [text for text in texts if not any(sign.isdigit() for sign in text) and len(text) <= 16]
        rest = {text: count for text, count in texts.items() if text not in odd}
        if 0 < len(odd) <= 3 and len(rest) >= 3 * len(odd) + 3:
            read = _read_numbers_or_times(name, rest, rows, hints)
            if read is not None and read.settings is not None:
                nulls = {"null_values": sorted([*markers, *odd])}
                read = replace(read, reason=f"{read.reason}; words between the values taken as markers of missing ones")
    if read is not None:
        if read.settings is None:
            return read
        both = sorted({*nulls.get("null_values", ()), *read.settings.pop("null_values", ())})
        return _with(read, {"null_values": both}) if both else read
    found = _categories(name, texts, rows)
    return found if found.settings is None else _with(found, nulls)


def _read_numbers_or_times(name: str, texts: Mapping[str, int], rows: int, hints: Hints) -> Proposal | None:
    looked_at = list(texts)[:_LOOKED_AT]
    padded = [text for text in looked_at if len(text) > 1 and text[0] == "0" and text.isdigit()]
    postcode = recognise.looks_like_postcode(name)
    dated = None if postcode else recognise.date_format(looked_at, day_first=hints.day_first)
    if dated is not None:
        when = {found: count for text, count in texts.items() if (found := dated.read(text)) is not None}
        found = _from_times(when, pa.timestamp("us"), dated.settings)
        return replace(
            found,
            question=dated.question,
            from_data=(*found.from_data, *(("format",) if "format" in dated.settings else ())),
        )
    unit = recognise.clock_unit(looked_at)
    if unit is not None:
        return _clock(texts, unit)
    if padded or postcode:
        return None  # 007 is a label, not a number
    form = recognise.number_format(looked_at, decimal_comma=hints.decimal_comma)
    if form is None:
        return None
    numbers: dict[float, int] = {}
    decimals = 0
    for text, count in texts.items():
        value = form.read(text)
        if value is None or not math.isfinite(value):
            continue
        numbers[value] = numbers.get(value, 0) + count
        decimals = max(decimals, _decimals_of(value))
    found = _numbers(name, numbers, rows, decimals, has_fraction=any("." in text for text in looked_at))
    if found.settings is None or not form.settings:
        return found
    return replace(
        _with(found, {"format": dict(form.settings)}),
        reason=f"{found.reason}; written with {_signs(form.settings)}",
        from_data=(*found.from_data, "format"),
        question=form.question or found.question,
    )


def _signs(settings: Mapping[str, str]) -> str:
    words = {
        "prefix": "the sign {} in front",
        "suffix": "the sign {} behind",
        "decimal": "decimal {}",
        "thousands": "thousands set off by {}",
    }
    names = {",": "comma", ".": "points", " ": "blanks", "\u00a0": "blanks", "\u202f": "blanks", "'": "apostrophes"}
    return ", ".join(words[name].format(names.get(sign, sign)) for name, sign in settings.items())


def _clock(texts: Mapping[str, int], unit: str) -> Proposal:
    from dprap.schema.number_format import NumberFormat

    form = NumberFormat(clock=unit)  # type: ignore[arg-type]
    numbers = [int(form.plain(text) or 0) for text in texts if form.plain(text) is not None]
    day = 1440 if unit == "minutes" else 86_400
    if min(numbers) >= 0 and max(numbers) < day:
        bounds, what = {"min": 0, "max": day - 1, "width": day // 48}, "times of day, in half hours"
    else:
        values, counts = np.unique(np.array(numbers, dtype=np.float64), return_counts=True)
        bounds, what = numeric_bounds(values, counts, decimals=0, min_count=MIN_COUNT)[0], "durations"
    settings = {"type": "integer", **bounds, "out_of_domain": "clip", "format": {"clock": unit}}
    return Proposal(settings, f"{what}, counted in {unit}", () if "width" in bounds else tuple(bounds))


def _decimals_of(value: float) -> int:
    return max(0, -Decimal(repr(value)).normalize().as_tuple().exponent) if value == value else 0  # type: ignore[operator]


def _from_numbers(name: str, seen: Mapping[Any, int], rows: int, kind: pa.DataType) -> Proposal:
    storage = str(kind)
    if pa.types.is_decimal(kind):
        decimals = min(max(kind.scale, 0), 9)
        numbers = {float(value): count for value, count in seen.items()}
        found = _numbers(name, numbers, rows, decimals, has_fraction=True)
        fits = kind.precision <= 15 and kind.scale >= 0 and found.settings is not None
        return _with(found, {"storage": f"decimal128({kind.precision}, {kind.scale})"}) if fits else found
    numbers = {float(value): count for value, count in seen.items()}
    if pa.types.is_floating(kind):
        is_float32 = kind in (pa.float32(), pa.float16())
        whole = all(value.is_integer() and abs(value) < 2**53 for value in numbers)
        decimals = (
            0
            if whole
            else max(_decimals_of(round(value, 6) if is_float32 else value) for value in list(numbers)[:_LOOKED_AT])
        )
        found = _numbers(name, numbers, rows, decimals, has_fraction=False)
        if found.settings is None:
            return found
        if found.settings["type"] == "integer":
            return _with(found, {"storage": "float64"})  # integers with nulls, as pandas keeps them
        return _with(found, {"storage": "float32"}) if kind == pa.float32() else found
    found = _numbers(name, numbers, rows, 0, has_fraction=False)
    fits = found.settings is not None and storage in INTEGER_STORAGE[:-1] and _fits(found.settings, kind)
    return _with(found, {"storage": storage}) if fits else found


def _fits(settings: Mapping[str, Any], kind: pa.DataType) -> bool:
    ends = settings["edges"] if "edges" in settings else (settings["min"], settings["max"])
    bits = kind.bit_width - (not pa.types.is_unsigned_integer(kind))
    least = 0 if pa.types.is_unsigned_integer(kind) else -(2**bits)
    return bool(ends[0] >= least and ends[-1] < 2**bits)


def _numbers(name: str, seen: Mapping[float, int], rows: int, decimals: int, *, has_fraction: bool) -> Proposal:
    """Numbers, whatever they were written as."""
    if not seen:
        return Proposal(None, "has no finite values")
    values = np.array(sorted(seen), dtype=np.float64)
    counts = np.array([seen[value] for value in values.tolist()], dtype=np.int64)
    whole = decimals == 0 and not has_fraction
    if whole and len(values) >= max(MIN_COUNT, 0.9 * rows) and int(counts.max()) <= 2:
        runs_on = values[-1] - values[0] <= 1.5 * rows
        if runs_on or recognise.looks_like_id(name):
            return Proposal(None, "row numbers or identifiers: every record has its own whole number")
    sentinels = _sentinels(values, counts) if decimals == 0 else []
    if sentinels:
        kept = ~np.isin(values, sentinels)
        values, counts = values[kept], counts[kept]
    question = _odd_end(values, counts)
    if np.abs(values).max() > 2**52 or decimals > 9:
        decimals = min(decimals, max(0, 14 - math.ceil(math.log10(max(1.0, np.abs(values).max())))))
    if np.abs(values).max() >= 2**52:
        return Proposal(
            None, "numbers too large for bins, such as account numbers. Describe the column by hand if it is none"
        )
    bins, reason = numeric_bounds(values, counts, decimals=decimals, min_count=MIN_COUNT)
    is_integer = decimals == 0 and not has_fraction
    settings: dict[str, Any] = {"type": "integer" if is_integer else "number", **bins}
    if not is_integer:
        settings["decimals"] = decimals
    settings["out_of_domain"] = "clip"
    if sentinels:
        settings["null_values"] = [str(int(value)) for value in sentinels]
        reason += f"; {', '.join(settings['null_values'])} taken as codes of missing values"
        question = question or "Do the codes in null_values mean that there is no answer?"
    if decimals > 0:
        lattice = "lat" in name.lower() or "lon" in name.lower() or "lng" in name.lower()
        reason += "; coordinates" if lattice and abs(values[0]) <= 180 and abs(values[-1]) <= 180 else ""
    from_data = tuple(key for key in ("min", "max", "decimals", "null_values") if key in settings)
    return Proposal(settings, reason, from_data, question)


def _sentinels(values: np.ndarray, counts: np.ndarray) -> list[float]:
    """Codes of missing values beside a scale: they lie beyond a gap that no scale has."""
    found: list[float] = []
    candidates = {float(code) for codes in _SENTINELS.values() for code in codes} | {
        float(code) for code in _NEGATIVE_SENTINELS
    }
    rest = values[~np.isin(values, list(candidates))]
    if len(rest) < 2 or rest[-1] - rest[0] > 150:
        return []
    for limit, codes in _SENTINELS.items():
        found += [float(code) for code in codes if code in values and rest[-1] <= limit and rest[-1] < code / 2]
    if rest[0] >= 0:
        found += [float(code) for code in _NEGATIVE_SENTINELS if code in values]
    enough = {float(value) for value, count in zip(values, counts, strict=True) if count >= 2}
    return sorted(value for value in found if value in enough)


def _odd_end(values: np.ndarray, counts: np.ndarray) -> str | None:
    """A question about a value of nines far above all others, which may be a code or a cap."""
    last = int(values[-1]) if len(values) > 10 and float(values[-1]).is_integer() else 0
    if last >= 999 and set(str(last)) == {"9"} and counts[-1] >= MIN_COUNT and values[-2] < 0.9 * values[-1]:
        return f"Is {last} a value, a cap, or a code for a missing value? It is drafted as a value."
    return None


def _from_times(seen: Mapping[Any, int], kind: pa.DataType, declared: dict[str, Any] | None = None) -> Proposal:
    """Dates and times, as Python's `date` or `datetime`."""
    walls = [_wall(value) for value in seen]
    low, high = min(walls), max(walls)
    midnight = all(wall.time() == datetime.min.time() for wall in walls)
    declared = dict(declared or {})
    is_date = (
        declared.get("type", "date" if pa.types.is_date(kind) or (midnight and kind.tz is None) else "datetime")
        == "date"
    )
    days = (high - low).days + 1
    unit = (
        "day"
        if days <= 100
        else "week"
        if days <= 500
        else "month"
        if days <= 4000
        else "quarter"
        if days <= 12000
        else "year"
    )
    if days <= 400:
        first, last = low.date().replace(day=1), _month_end(high.date())
    else:
        first, last = low.date().replace(month=1, day=1), high.date().replace(month=12, day=31)
    from_data = ("min", "max", "unit")
    if is_date:
        settings: dict[str, Any] = {"type": "date", "min": first, "max": last, "unit": unit}
        if pa.types.is_timestamp(kind) and not declared:
            settings["storage"] = f"timestamp[{kind.unit}]"
        return Proposal({**settings, **declared, "out_of_domain": "clip"}, f"dates, by {unit}", from_data)
    finer = "hour" if days <= 4 else unit
    settings = {
        "type": "datetime",
        "min": f"{first.isoformat()}T00:00:00",
        "max": f"{last.isoformat()}T23:59:59",
        "unit": finer,
        **_resolution(walls),
        **declared,
    }
    if not declared and kind.tz is not None:
        settings["timezone"] = kind.tz if "/" in kind.tz else "UTC"
    if not declared and kind.unit != "us":
        settings["storage"] = f"timestamp[{kind.unit}]"
    reason = f"times, by {finer}; the time of day is drawn evenly within a bin"
    return Proposal({**settings, "out_of_domain": "clip"}, reason, from_data)


def _resolution(walls: Sequence[datetime]) -> dict[str, str]:
    if all(wall.second == 0 and wall.microsecond == 0 for wall in walls):
        return {"resolution": "minute"}
    if all(wall.microsecond == 0 for wall in walls):
        return {}
    return {"resolution": "millisecond" if all(wall.microsecond % 1000 == 0 for wall in walls) else "microsecond"}


def _wall(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else value.to_pydatetime()  # noqa: DTZ001


def _month_end(day: date) -> date:
    if (day.year, day.month) == (date.max.year, date.max.month):
        return date.max
    following = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return following - timedelta(days=1)


def _categories(name: str, texts: Mapping[str, int], rows: int) -> Proposal:
    personal = recognise.identifying(name, texts, rows)
    if personal is not None:
        return Proposal(None, f"looks like {personal}")
    frequent = [
        text for text, count in sorted(texts.items(), key=lambda item: (-item[1], item[0])) if count >= MIN_COUNT
    ]
    if not frequent:
        return Proposal(None, f"no value is shared by {MIN_COUNT} records, so that none may be written down")
    listed = frequent[:MAX_CATEGORIES]
    ordered, has_order = recognise.in_order(listed)
    settings: dict[str, Any] = {"type": "categorical", "values": ordered}
    reason = "ordered categories" if has_order else "categories"
    left = sum(texts.values()) - sum(texts[text] for text in listed)
    question = None
    if left:
        settings["other"] = next(label for label in ("other", "any other", "other value") if label not in texts)
        reason += f"; those of fewer than {MIN_COUNT} records are put together as {settings['other']!r}"
    if len(texts) > MAX_CATEGORIES:
        what = "postcodes" if recognise.looks_like_postcode(name) else "many categories"
        reason = f"{what}: a top list of {len(listed)}, and all others together"
        question = (
            "Which of these values are public knowledge? A top list read off the data is not, until somebody says so."
        )
    return Proposal(settings, reason, ("values",), question)
