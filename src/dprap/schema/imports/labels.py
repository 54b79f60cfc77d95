"""Value labels of SAS, Stata and SPSS files; their records are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dprap.errors import SchemaError, SettingsError
from dprap.schema.imports.column_settings import column_settings

ENDINGS = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".sas7bcat", ".xpt")
"""Endings of files of SPSS, Stata and SAS."""

_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
            ".sas7bcat": "read_sas7bcat", ".xpt": "read_xport"}  # fmt: skip


def known(path: Path) -> dict[str, dict[str, Any] | None]:
    """A list of codes for each variable with value labels; codes of missing values are null
    markers.
    """
    try:
        import pyreadstat
    except ImportError:
        raise SettingsError(
            "SAS, Stata and SPSS files need an extra package. Run: pip install 'dprap[labels]'."
        ) from None
    reader = getattr(pyreadstat, _READERS[path.suffix.lower()])
    try:
        _, facts = reader(str(path), **_options(path.suffix.lower()))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError):
        raise SchemaError(
            f"{path}: cannot be read. It may be damaged or of another kind."
        ) from None
    labels = (
        dict(zip(facts.column_names, facts.column_labels, strict=True))
        if facts.column_names
        else {}
    )
    values = facts.variable_value_labels or facts.value_labels or {}
    return {
        str(name): _settings(values.get(name), _missing(facts, name), labels.get(name))
        for name in facts.column_names or values
    }


def _options(ending: str) -> dict[str, bool]:
    """What keeps records unread, and codes of missing values told."""
    if ending == ".sas7bcat":
        return {}
    return (
        {"metadataonly": True, "user_missing": True}
        if ending in (".sav", ".zsav")
        else {"metadataonly": True}
    )


def _missing(facts: Any, name: str) -> list[Any]:
    """Single codes that a variable declares as missing."""
    ranges = (getattr(facts, "missing_ranges", None) or {}).get(name, [])
    codes = [each["lo"] for each in ranges if each.get("lo") == each.get("hi")]
    return [*codes, *(getattr(facts, "missing_user_values", None) or {}).get(name, [])]


def _settings(
    values: dict[Any, str] | None, missing: list[Any], label: str | None
) -> dict[str, Any]:
    nulls = [_code(code) for code in missing]
    codes = [_code(code) for code in values or {} if _code(code) not in nulls]
    described = "; ".join(f"{_code(code)}: {text}" for code, text in (values or {}).items())
    return column_settings(
        None,
        values=codes or None,
        nullable=bool(nulls),
        description=" – ".join(text for text in (label, described) if text)[:2000] or None,
        null_values=[str(code) for code in nulls] or None,
    )


def _code(code: Any) -> Any:
    """Codes are floats in these files; whole ones are integers to everybody."""
    return int(code) if isinstance(code, float) and code.is_integer() else code
