"""Small damages to valid things: plain data, texts and bytes.

All randomness comes from the generator handed in.
"""

from __future__ import annotations

import copy
import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

HOSTILE_NUMBERS: list[Any] = [
    0, -1, 1, 2, 10**26, -(10**26), 10**400, 2**31, 2**53, 2**62, 2**63, -(2**63), 2**64, 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308,
    float("inf"), float("-inf"), float("nan"), 1e18, 999_999, 1_000_001,
]  # fmt: skip
HOSTILE_TEXTS = [
    "", " ", "\n", "\0", "\x1b[2J", "null", "~", "yes", "NaN", "inf", "-", "é", "年齢", "😀", "٣", "১২", "１２", "1_000", "1e400", "9" * 5000,
    "2024-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-12:00", "24:00",
    "%d%d%Y", "%", "a" * 3000, "{}", "[", "'", '"', "`", "..", "../../x", "/", "/dev/null", "!!int x", "&a", "*a", "<<", "\ufeff", "\u2028",
    "Europe/Berlin", "../UTC", "int8", "decimal128(99, 99)", "timestamp[ns]", "categorical", "integer", "datetime", "histogram", "log",
]  # fmt: skip
HOSTILE_VALUES: list[Any] = [
    None, True, False, [], {}, [[]], [None], {"a": 1}, {"": None}, [0, 0], [1, "a"], dt.date(1, 1, 1),
    dt.date(9999, 12, 31), dt.datetime.max, dt.datetime.min, *HOSTILE_NUMBERS, *HOSTILE_TEXTS,  # noqa: DTZ901 - wall times
]  # fmt: skip

Place = tuple[Any, Any]
"""A mapping or a list, and a key or a position in it."""


def places(data: Any) -> list[Place]:
    """Every place in plain data."""
    found: list[Place] = []
    waiting = [data]
    while waiting:
        each = waiting.pop()
        inside = (
            list(each.items())
            if isinstance(each, dict)
            else list(enumerate(each))
            if isinstance(each, list)
            else []
        )
        found += [(each, key) for key, _ in inside]
        waiting += [value for _, value in inside]
    return found


def mutated(data: Any, rng: random.Random, extra: Sequence[Any] = ()) -> Any:
    """Plain data with one to four damages: a value replaced, removed, moved, doubled, wrapped or
    renamed.
    """
    data = copy.deepcopy(data)
    for _ in range(rng.randint(1, 4)):
        found = places(data)
        if not found:
            return rng.choice(HOSTILE_VALUES)
        holder, key = rng.choice(found)
        kind = rng.randrange(8)
        if kind < 3:
            holder[key] = copy.deepcopy(rng.choice([*HOSTILE_VALUES, *extra]))
        elif kind == 3:
            del holder[key]
        elif kind == 4:
            other, at = rng.choice(found)
            holder[key] = (
                copy.deepcopy(other[at])
                if not (isinstance(other, list) and at >= len(other))
                else None
            )
        elif kind == 5 and isinstance(holder, dict):
            holder[rng.choice([*HOSTILE_TEXTS, *extra, 1, None, "columns"])] = holder.pop(key)
        elif kind == 5:
            holder.append(copy.deepcopy(holder[key]))
        elif kind == 6:
            holder[key] = _nudged(holder[key], rng)
        else:
            value = holder[key]
            for _ in range(rng.choice([1, 2, 40])):
                value = [value] if rng.random() < 0.5 else {"a": value}
            holder[key] = value
    return data


def _nudged(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 10, -(10**9), 10**9, -value, -2 * value])
    if isinstance(value, float):
        return value * rng.choice([-1, 0, 1e-300, 1e300, 2, 0.5])
    return mutated_text(value, rng) if isinstance(value, str) else value


def mutated_text(text: str, rng: random.Random, pieces: Sequence[str] = ()) -> str:
    """A text with one to three damages: a part cut, doubled, moved or replaced."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(text))
        stop = min(len(text), start + rng.choice([0, 1, 2, 5, 20]))
        piece = rng.choice(
            [*HOSTILE_TEXTS, *pieces, chr(rng.randrange(0x250)), text[start:stop] * 2, ""]
        )
        text = text[:start] + piece + text[stop:]
    return text


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bytes with one to four damages: a bit flipped, a part cut, overwritten or doubled."""
    for _ in range(rng.randint(1, 4)):
        if not content:
            return rng.randbytes(rng.randint(0, 20))
        at = rng.randrange(len(content))
        length = rng.choice([1, 1, 2, 4, 8, 64])
        before, part, after = content[:at], content[at : at + length], content[at + length :]
        content = rng.choice(
            [
                before + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :],
                before + rng.randbytes(length) + after,
                before + rng.choice([b"\xff", b"\0", b"\x7f", b"\n", b'"']) * length + after,
                before + after,
                before + part + part + after,
                before,
            ]
        )
    return content
