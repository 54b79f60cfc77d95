"""Files as Excel writes them, with the fewest parts, and cells that have broken readers."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "styles": "styles"}


def cell(value: object) -> str:
    """A cell in XML: of a text, a number, or nothing."""
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"


ODD_CELLS = {
    "date": '<c s="1"><v>45000</v></c>', "negative date": '<c s="1"><v>-5</v></c>', "day 0": '<c s="1"><v>0.5</v></c>',
    "day 60": '<c s="1"><v>60</v></c>', "late date": '<c s="1"><v>9999999</v></c>', "endless date": '<c s="1"><v>1e300</v></c>',
    "time": '<c s="2"><v>45000.5</v></c>', "duration": '<c s="3"><v>1.5</v></c>', "error": '<c t="e"><v>#N/A</v></c>',
    "true": '<c t="b"><v>1</v></c>', "odd true": '<c t="b"><v>7</v></c>', "impossible day": '<c t="d"><v>2024-02-30</v></c>',
    "ISO": '<c t="d"><v>2024-02-29T01:02:03</v></c>', "formula": "<c><f>1+1</f><v>2</v></c>", "words": "<c><v>abc</v></c>",
    "NaN": "<c><v>NaN</v></c>", "nothing": "<c><v></v></c>", "digits": f"<c><v>{'9' * 400}</v></c>",
    "no such style": '<c s="99"><v>4</v></c>', "escape": cell("a_x000D_b"), "number": cell(5.5), "text": cell(" b"), "empty": "<c/>",
}  # fmt: skip
"""Cells that a book may have: each is a value, or none, of its own record alone."""

DAMAGED_CELLS = {
    "endless duration": '<c s="3"><v>1e300</v></c>', "unknown error": '<c t="e"><v>#FOO</v></c>', "unknown kind": '<c t="zz"><v>3</v></c>',
    "no such text": '<c t="s"><v>77</v></c>', "bad place": '<c r="2A"><v>1</v></c>',
}  # fmt: skip
"""Cells that make a book unreadable."""


def workbook(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """A book with one sheet, `Data`, of values."""
    workbook_of_cells(path, ([cell(value) for value in row] for row in rows))


def workbook_of_cells(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """A book with one sheet, `Data`, of cells in XML; styles 1 to 3 are days, times and
    durations.
    """
    lines = "".join(f"<row>{''.join(row)}</row>" for row in rows)
    kinds = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{_KIND}.{kind}+xml"/>'
        for part, kind in _PARTS.items()
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels"'
            f' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{kinds}</Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
            f' Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Data" sheetId="1"'
            ' r:id="r1"/></sheets></workbook>',
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
            f' Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2"'
            f' Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        formats = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 164))
        file.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164"'
            ' formatCode="[h]:mm:ss"/></numFmts><cellXfs'
            f' count="4">{formats}</cellXfs></styleSheet>',
        )
        file.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>',
        )
