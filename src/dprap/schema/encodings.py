"""Character encodings in which one record cannot change how another is read.

Python knows encodings with states: in `utf-7`, `hz` and the `iso2022` family a few signs switch the
meaning of all that follows, in the next records too. In `unicode_escape` two signs of a record are
a line break, and in those of mainframes quotes and line breaks are other bytes than the check of
quotes looks for. None of them is here. In those that are, a byte below 128 that is no part of a
longer sign means what it means in ASCII, no sign of several bytes takes in a line break, and
nothing is kept from one sign to the next. `tests/schema/test_encodings.py` tries all of it.
"""

from __future__ import annotations

import codecs

_ONE_BYTE = (
    "ascii", "koi8-r", "koi8-t", "koi8-u", "kz1048", "ptcp154", "hp-roman8", "tis-620",
    *(f"cp{number}" for number in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 865, 866, 869, 874,
                                   1006, 1125, *range(1250, 1259))),
    *(f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15, 16)),
    *(f"mac-{name}" for name in ("croatian", "cyrillic", "greek", "iceland", "latin2", "roman", "romanian", "turkish")),
)  # fmt: skip
_SEVERAL_BYTES = (
    "big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "shift_jis",
)  # fmt: skip
_UNICODE = ("utf-8", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le")

ENCODINGS = frozenset((*_ONE_BYTE, *_SEVERAL_BYTES, *_UNICODE))
"""The encodings of CSV files, by the names that Python's codecs give themselves."""


# Marks of byte order, as files begin with them; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a mark at the start of a file tells; None without a mark.

    >>> marked_encoding("x".encode("utf-16")), marked_encoding(b"x")
    ('utf-16', None)
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), None)


def encoding_named(name: str) -> str:
    """The encoding of a name that Python knows.

    Raises:
        ValueError: The name is none, or that of an encoding in which records depend on one another.

    >>> encoding_named("Latin-1"), encoding_named("windows-1252"), encoding_named("utf-8-sig")
    ('iso8859-1', 'cp1252', 'utf-8')
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError, TypeError):
        raise ValueError(
            "is no character encoding. Use a name such as utf-8, cp1252 or iso-8859-1"
        ) from None
    found = "utf-8" if found == "utf-8-sig" else found
    if found not in ENCODINGS:
        raise ValueError(
            f"{found} is no encoding in which every record is read by itself. Convert the file to"
            " UTF-8"
        )
    return found
