"""The columns of a synthetic table, for archives: data dictionary, Frictionless Data Package,
Croissant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from dprap.release import Release
from dprap.report.column_views import bin_ends
from dprap.schema import Column
from dprap.schema.file_layout import Csv
from dprap.schema.number_format import NumberFormat
from dprap.statement.about import About

# More values than these make a dictionary unreadable; the schema file has them all.
_MOST_VALUES = 50

# What metadata call a release that its steward has not named: the standards ask for a title.
_UNTITLED = "Differentially private release"

# Croissant's own context, whole: readers compare it with theirs.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        term: f"cr:{term}"
        for term in (
            "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
            "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
            "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
        )
    },
}  # fmt: skip


def dictionary(release: Release) -> list[dict[str, Any]]:
    """One entry a column: name, type, description, what it may hold, and whether it may be
    missing.
    """
    return [
        {
            "name": name,
            "type": column.type,
            "description": column.description or "",
            "values": _values(column),
            "may_be_missing": column.nullable,
        }
        for name, column in release.schema.columns.items()
    ]


def data_package(
    release: Release, about: About, *, table: str, sha256: str | None = None
) -> dict[str, Any]:
    """A Frictionless Data Package (version 2 of the standard) of the synthetic table in the file
    `table`.
    """
    is_csv = table.endswith(".csv")
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "dprap-release",
        "title": about.title or _UNTITLED,
        "description": release.guarantee,
        "created": release.facts.created,
        **({} if about.license is None else {"licenses": [_license(about.license)]}),
        **(
            {}
            if about.curator is None
            else {"contributors": [{"title": about.curator, "roles": ["publisher"]}]}
        ),
        "resources": [
            {
                "name": "synthetic",
                "type": "table",
                "path": table,
                "format": table.rpartition(".")[2],
                **({} if sha256 is None else {"hash": f"sha256:{sha256}"}),
                **(_csv_form(release.schema.csv) if is_csv else {}),
                "schema": {
                    "fields": [
                        {**_field(name, column), **(_written(column) if is_csv else {})}
                        for name, column in release.schema.columns.items()
                    ],
                    "missingValues": [""],
                },
            }
        ],
    }


def croissant(
    release: Release, about: About, *, table: str, sha256: str | None = None
) -> dict[str, Any]:
    """Croissant metadata (version 1.0) of the synthetic table in the file `table`; the standard
    wants its digest.
    """
    kind = "text/csv" if table.endswith(".csv") else "application/x-parquet"
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"synthetic/{identifier}",
            "name": name,
            "description": column.description or _values(column),
            "dataType": _schema_org_type(column),
            "source": {"fileObject": {"@id": table}, "extract": {"column": name}},
        }
        for (name, column), identifier in zip(
            release.schema.columns.items(), _identifiers(release.schema.columns), strict=True
        )
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title or _UNTITLED,
        "description": release.guarantee,
        **(
            {}
            if about.curator is None
            else {"creator": {"@type": "sc:Organization", "name": about.curator}}
        ),
        "datePublished": release.facts.created[:10],
        **({} if about.license is None else {"license": about.license}),
        **({} if about.url is None else {"url": about.url}),
        "citeAs": citation(release, about),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": table,
                "name": table,
                "contentUrl": table,
                "encodingFormat": kind,
                **({} if sha256 is None else {"sha256": sha256}),
            }
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": "synthetic", "name": "synthetic", "field": fields}
        ],
    }


def _identifiers(names: Iterable[str]) -> list[str]:
    """Names without the blanks and signs that readers of Croissant refuse in an identifier; each
    once.

    >>> _identifiers(["pay (EUR)", "pay/EUR", "age"])
    ['pay-EUR', 'pay-EUR-2', 'age']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.]+", "-", name).strip("-") or "column"
        used, number = plain, 2
        while used in found:
            used, number = f"{plain}-{number}", number + 1
        found.append(used)
    return found


def _license(name: str) -> dict[str, str]:
    """A licence as a data package names one: an address, or an identifier such as CC-BY-4.0 and
    what people call it.
    """
    if "://" in name:
        return {"path": name}
    return {"name": re.sub(r"[^-a-zA-Z0-9._]+", "-", name), "title": name}


def citation(release: Release, about: About) -> str:
    """How to cite the release: as that of its publisher, or by its title where none is stated."""
    where = "" if about.url is None else f" {about.url}"
    year, title = release.facts.created[:4], about.title or _UNTITLED
    head = f"{title} ({year})" if about.curator is None else f"{about.curator} ({year}). {title}"
    return (
        f"{head} [synthetic data, ε ="
        f" {release.privacy.epsilon:g}, δ = {release.privacy.delta:.3g}; dprap"
        f" {release.facts.version}].{where}"
    )


def _values(column: Column) -> str:
    """What a column may hold, in words."""
    last = column.size - column.nullable - 1
    if column.is_ordered:
        return f"{bin_ends(column.label(0))[0]} to {bin_ends(column.label(last))[1]}"
    labels = [column.label(code) for code in range(min(last + 1, _MOST_VALUES))]
    more = last + 1 - len(labels)
    return ", ".join(labels) + (f" and {more:,} more" if more > 0 else "")


def _field(name: str, column: Column) -> dict[str, Any]:
    kind = column.arrow_type
    types = (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_integer, "integer"),
        (pa.types.is_floating, "number"),
        (pa.types.is_decimal, "number"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "datetime"),
    )
    found: dict[str, Any] = {
        "name": name,
        "type": next((name for fits, name in types if fits(kind)), "string"),
    }
    if column.description:
        found["description"] = column.description
    found["constraints"] = {"required": not column.nullable}
    return found


def _csv_form(form: Csv) -> dict[str, Any]:
    """How a CSV file is read: what is not as in most of them, and the delimiter."""
    dialect = {
        "delimiter": form.delimiter,
        **({} if form.quote == Csv().quote else {"quoteChar": form.quote}),
        **({} if form.skip_lines == 0 else {"headerRows": [form.skip_lines + 1]}),
    }
    encoding = {} if form.encoding == Csv().encoding else {"encoding": form.encoding}
    return {**encoding, "dialect": dialect}


def _written(column: Column) -> dict[str, Any]:
    """How a CSV file writes missing values, and the values of a column that has a form of its
    own.
    """
    found: dict[str, Any] = (
        {"missingValues": ["", *column.null_values]} if column.null_values else {}
    )
    form = getattr(column, "format", None)
    if form is None:
        return found
    if not isinstance(form, NumberFormat):
        return {**found, "format": form}
    if form.clock is not None:
        return {**found, "type": "string"}
    if column.type == "number":
        found["decimalChar"] = form.decimal
    if form.thousands is not None:
        found["groupChar"] = form.thousands
    if form.prefix is not None or form.suffix is not None:
        found["bareNumber"] = False
    return found


def _schema_org_type(column: Column) -> str:
    kind = column.arrow_type
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "sc:Float"
    return "sc:Date" if pa.types.is_date(kind) or pa.types.is_timestamp(kind) else "sc:Text"
