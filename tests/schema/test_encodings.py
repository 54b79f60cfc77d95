"""Encodings of CSV files: whatever bytes one record has, the next one is read as it would be by
itself.
"""

from __future__ import annotations

import codecs
import itertools
from contextlib import suppress
from pathlib import Path

import pytest

from dprap.encoding import encode
from dprap.errors import DataError, SchemaError
from dprap.schema import Schema
from dprap.schema.encodings import ENCODINGS

OF_BYTES = sorted(name for name in ENCODINGS if not name.startswith("utf-"))
LINE = b"\n1,a\n"


@pytest.mark.parametrize("name", OF_BYTES)
def test_no_bytes_before_a_line_break_change_what_comes_after(name: str) -> None:
    for below in range(128):
        if chr(below) not in "\\~":  # a yen or an overline in some
            assert bytes([below]).decode(name) == chr(below)
    heads = [
        *itertools.product(range(128, 256)),
        *itertools.product(range(129, 256, 9), range(48, 256, 13)),
        *itertools.product(range(129, 255, 25), range(48, 58, 3), range(129, 255, 25)),
        *([0x8E], [0x8F], [0x8F, 0xA2], [0x1B, 0x24, 0x42], [0x0E], [0x0F]),
    ]
    for head in heads:
        with suppress(UnicodeDecodeError):  # then the file is refused as a whole
            assert (bytes(head) + LINE).decode(name).endswith(LINE.decode()), head


def test_names_are_those_that_python_gives() -> None:
    assert all(codecs.lookup(name).name == name for name in ENCODINGS)


def test_decoders_keep_no_state_between_signs() -> None:
    for name in OF_BYTES:
        assert codecs.getincrementaldecoder(name)().getstate()[0] == b""
        decoder = codecs.getincrementaldecoder(name)()
        with suppress(UnicodeDecodeError):
            decoder.decode(bytes([0xB0, 0xA1, 0x0A]))
            assert decoder.decode(b"1~{:\\n+AC", final=True).endswith("{:\\n+AC")


@pytest.mark.parametrize(
    "name", ["utf-7", "hz", "iso2022_jp", "iso2022_kr", "punycode", "idna", "unicode_escape", "raw_unicode_escape", "cp037", "cp500", "nonsense"],
)  # fmt: skip
def test_encodings_with_states_or_escapes_are_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="encoding"):
        Schema.of({"columns": {"x": {"type": "boolean"}}, "csv": {"encoding": name}})


@pytest.mark.parametrize(
    "name", ["utf-8", "cp1252", "utf-16", "utf-32-le", "shift_jis", "gb18030", "big5"]
)
def test_bytes_that_are_no_text_refuse_the_file_and_are_not_shown(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    schema = Schema.of(
        {
            "columns": {"x": {"type": "categorical", "values": ["a"], "other": "b"}},
            "csv": {"encoding": name},
        }
    )
    text = "x\na\nsecret8675309{}\na\n"
    broken = {"cp1252": b"\x81", "utf-32-le": b"\xff\xff\xff\xff", "utf-16": b"\x00\xd8"}.get(
        name, b"\xff"
    )
    before, after = text.split("{}")
    path.write_bytes(
        before.encode(name) + broken + after.encode(name.replace("utf-16", "utf-16-le"))
    )
    with pytest.raises(DataError, match=r"is not .* text") as refused:
        encode(path, schema)
    assert "8675309" not in str(refused.value)
    assert refused.value.__cause__ is None
