"""How files of a table are laid out: what a schema says of CSV and Excel files."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictInt, StrictStr, field_validator, model_validator

from dprap.schema.columns.base import Part
from dprap.schema.encodings import encoding_named


class Csv(Part):
    """How CSV files of this table are written.

    Args:
        delimiter: What stands between two fields.
        encoding: The character encoding, by the name that Python gives it.
        quote: What stands around a field that holds a delimiter.
        strip: Whether blanks around each field are no part of it.
        skip_lines: How many lines stand above the header.

    """

    delimiter: Annotated[StrictStr, Field(min_length=1, max_length=1)] = ","
    encoding: StrictStr = "utf-8"
    quote: Annotated[StrictStr, Field(min_length=1, max_length=1)] = '"'
    strip: bool = False
    skip_lines: Annotated[StrictInt, Field(ge=0, le=1000)] = 0

    @field_validator("encoding")
    @classmethod
    def _known(cls, name: str) -> str:
        return encoding_named(name)

    @model_validator(mode="after")
    def _signs_differ(self) -> Self:
        for sign in (self.delimiter, self.quote):
            if not sign.isascii() or sign in "\r\n\0":
                raise ValueError(
                    "csv: delimiter and quote are signs of ASCII, and neither line ends nor NUL"
                )
        if self.delimiter == self.quote:
            raise ValueError("csv: delimiter and quote are the same sign. Change one")
        return self


class Excel(Part):
    """Where in an Excel file the table stands: by default on the first sheet, with a header in its
    first line.
    """

    sheet: StrictStr | None = None
    skip_lines: Annotated[StrictInt, Field(ge=0, le=1000)] = 0
