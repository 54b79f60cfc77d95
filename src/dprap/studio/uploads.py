"""Files that stream in, within limits: to the disk chunk by chunk, never into memory, into a folder
of the steward's own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from python_multipart.multipart import MultipartParser, parse_options_header

from dprap.errors import SettingsError

LARGEST_UPLOAD = 64 << 30
"""Bytes of a file. A larger one is better put into the folder without a browser."""
LONGEST_SILENCE = 60.0
"""Seconds between two chunks, after which a sender is given up."""
_LARGEST_FIELD = 1 << 16
_SPARE_BYTES = 256 << 20
"""What is left free on the disk."""


@dataclass
class Upload:
    """One form with small fields, and at most one file, which is written to `target(file name)` as
    it comes in.

    The first field must pass `admit`, so that nothing is written for a form of somebody else's.
    """

    admit: Callable[[str, str], bool]
    target: Callable[[str], Path]
    largest: int = LARGEST_UPLOAD
    fields: dict[str, str] = field(default_factory=dict)
    path: Path | None = None
    written: int = 0
    _header: bytearray = field(default_factory=bytearray)
    _headers: dict[str, bytes] = field(default_factory=dict)
    _name: str = ""
    _value: bytearray | None = None
    _file: Any = None
    _part: Path | None = None

    async def take(self, content_type: str, chunks: AsyncIterator[bytes]) -> None:
        """Read the whole form.

        Raises:
            SettingsError: If the form is not one, is too large, comes too slowly or from somewhere
                else.
        """
        kind, parameters = parse_options_header(content_type)
        boundary = parameters.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise SettingsError("this is no form with a file. Choose a file first.")
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._data,
                "on_part_end": self._part_ends,
            },
        )
        stream = aiter(chunks)
        try:
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(stream), LONGEST_SILENCE)
                except StopAsyncIteration:
                    break
                if chunk:
                    await asyncio.to_thread(parser.write, chunk)
            parser.finalize()
        except TimeoutError:
            self.discard()
            raise SettingsError("the file stopped coming. Try again.") from None
        except SettingsError:
            self.discard()
            raise
        except Exception:
            self.discard()
            raise SettingsError("the file did not come whole. Try again.") from None
        # the server is being stopped: no part of a private table stays behind
        except BaseException:
            self.discard()
            raise
        if self._file is not None:
            self.discard()
            raise SettingsError("the file did not come whole. Try again.")

    def discard(self) -> None:
        """Take back what was written."""
        if self._file is not None:
            self._file.close()
            self._file = None
        for written in (self._part, self.path):
            if written is not None:
                written.unlink(missing_ok=True)
        self.path = self._part = None

    def _part_begins(self) -> None:
        self._headers = {}
        self._header = bytearray()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]
        if len(self._header) > _LARGEST_FIELD:
            raise SettingsError("the form is too large.")

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        name = self._header.decode("latin-1").lower()
        self._headers[name] = self._headers.get(name, b"") + data[start:end]
        if len(self._headers[name]) > _LARGEST_FIELD:
            raise SettingsError("the form is too large.")

    def _header_ends(self) -> None:
        self._header = bytearray()

    def _headers_finished(self) -> None:
        _, parameters = parse_options_header(self._headers.get("content-disposition", b""))
        self._name = parameters.get(b"name", b"").decode("utf-8", "replace")
        file_name = parameters.get(b"filename")
        if file_name is None:
            self._value = bytearray()
            return
        if not self.fields:
            raise SettingsError("the form comes from another page. Open the studio again.")
        if self.path is not None:
            raise SettingsError("one file at a time, please.")
        self._value = None
        self.path = self.target(file_name.decode("utf-8", "replace"))
        # under a name that is no table's until the file is whole
        self._part = self.path.with_name(f".{self.path.name}.part")
        descriptor = os.open(
            self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600
        )
        self._file = os.fdopen(descriptor, "wb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._value is not None:
            self._value += data[start:end]
            if len(self._value) > _LARGEST_FIELD:
                raise SettingsError("the form is too large.")
            return
        if self._file is None:
            return
        before = self.written
        self.written += end - start
        if self.written > self.largest:
            raise SettingsError(
                f"the file is larger than {self.largest >> 20:,} MiB. Put it into the folder by"
                " hand."
            )
        if before >> 26 != self.written >> 26 or before == 0:  # now and then
            self._require_space()
        try:
            self._file.write(data[start:end])
        except OSError as error:
            raise SettingsError(f"the file cannot be kept: {error.strerror}.") from None

    def _require_space(self) -> None:
        if self.path is not None and shutil.disk_usage(self.path.parent).free < _SPARE_BYTES:
            raise SettingsError("the disk is nearly full. Make room, then try again.")

    def _part_ends(self) -> None:
        if self._value is None:
            if self._file is not None:
                self._file.flush()
                self._file.close()
                self._file = None
            if self._part is not None and self.path is not None:
                self._part.replace(self.path)
                self._part = None
            return
        value = self._value.decode("utf-8", "replace")
        if not self.fields and not self.admit(self._name, value):
            raise SettingsError("the form comes from another page. Open the studio again.")
        self.fields[self._name] = value
