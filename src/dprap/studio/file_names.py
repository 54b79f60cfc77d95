"""Names that are safe to give to a file, whatever somebody called theirs."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 80
_ENDINGS = re.compile(
    r"\.(csv|tsv|parquet|pq|xlsx|jsonl|ndjson|arrow|feather|txt)(\.gz|\.bz2|\.zst)?$", re.IGNORECASE
)


def split_name(name: str) -> tuple[str, str] | None:
    r"""A safe stem and the ending of a table's file name; None where the ending is not one of a
    table's.

    >>> split_name("../../etc/Löhne 2024.csv")
    ('Löhne_2024', '.csv')
    >>> split_name("-rf *.CSV.gz")
    ('rf', '.csv.gz')
    >>> split_name("con\x00<script>.exe") is None
    True
    """
    base = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    ending = _ENDINGS.search(base)
    if ending is None:
        return None
    return safe_stem(base[: ending.start()]) or "table", ending[0].lower()


def safe_stem(text: str) -> str:
    """Letters, digits, _ and -, beginning with a letter or digit; empty if nothing is left."""
    kept = re.sub(r"[^\w-]+", "_", unicodedata.normalize("NFC", text), flags=re.UNICODE)
    while len(kept.encode()) > LONGEST:
        kept = kept[:-1]
    return kept.strip("_-")
