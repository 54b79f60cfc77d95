"""Everything public says what it takes, gives and refuses, and shows it: `dprap.NAME` and what
docs/api.md lists.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import dprap

PAGE = Path(__file__).parents[2] / "docs" / "api.md"

CANNOT_REFUSE = {
    # They read what was checked when the object was made.
    "Marginal.groups_by_column",
    "Marginal.answers",
    "Marginal.subsets",
    "Threshold.answers",
    "Range.answers",
    "Workload.closure",
    "Schema.as_mapping",
    "Schema.null_texts",
    "Interval.times",
    "Interval.within",
    "difference",
    "quantile",
    "manifest",
    "Answered.as_data",
    "Answered.frame",
    "Answered.lines",
    "Combined.lines",
    "PrivacyStatement.promise",
    "PrivacyStatement.sentence",
    "PrivacyStatement.discovery",
    "PrivacyStatement.reason",
    "PrivacyStatement.unspent",
    "Synthesizer.get_params",
    "Ledger.close",
    "Ledger.may_hold",
    "example",
    "example_schema",
}

SHOWN_ELSEWHERE = {
    # They need a private table in files, or write pages; the test that is named shows them.
    "Curator.discover_values": "tests/privacy/test_discovery.py",
    "Curator.recode": "tests/privacy/test_refinement.py",
    "evaluate_report": "tests/report/test_page.py",
    "write_report": "tests/report/test_page.py",
    "draft_schema": "tests/schema/test_draft.py",
    "resume": "tests/runs/test_jobs.py",
    # Their draws take seconds.
    "Release.statistic_interval": "tests/intervals/test_calibrate.py",
    "Release.tables": "tests/intervals/test_calibrate.py",
}


def resolved(name: str) -> Any:
    home, _, last = name.rpartition(".")
    return getattr(importlib.import_module(home), last)


def listed() -> list[Any]:
    """The functions and classes that `import dprap` has or the page lists."""
    exported = [getattr(dprap, name) for name in dprap.__all__]
    named = [
        resolved(name)
        for name in re.findall(r"^::: (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    kept = [
        each for each in (*exported, *named) if inspect.isclass(each) or inspect.isfunction(each)
    ]
    return list(dict.fromkeys(kept))


def functions() -> Iterator[tuple[str, FunctionType, str]]:
    """Every public function and method, with what its class shows."""
    for each in listed():
        if inspect.isfunction(each):
            yield each.__name__, each, ""
            continue
        for name in dir(each):
            held = inspect.getattr_static(each, name)
            function = getattr(held, "__func__", held)
            if (
                not name.startswith("_")
                and inspect.isfunction(function)
                and function.__module__.startswith("dprap")
            ):
                shown = "\n".join(inspect.getdoc(base) or "" for base in each.__mro__[:-1])
                yield f"{each.__name__}.{name}", function, shown


def sections(docstring: str) -> dict[str, str]:
    """The parts of a docstring in Google's form, by their titles."""
    parts = re.split(r"^(Args|Returns|Yields|Raises):\n", docstring, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def gives_something(function: FunctionType) -> bool:
    return inspect.signature(function).return_annotation not in ("None", None)


def lacking(name: str, function: FunctionType, shown_by_class: str) -> list[str]:
    docstring = inspect.getdoc(function) or ""
    found, lacks = sections(docstring), []
    summary = docstring.split("\n\n")[0]
    if not summary or "\n" in summary or not summary.rstrip("`").endswith((".", ":")):
        lacks.append("a summary of one line")
    parameters = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.name not in ("self", "cls")
    ]
    for each in parameters:
        stars = {each.VAR_KEYWORD: r"\*\*", each.VAR_POSITIONAL: r"\*"}.get(each.kind, "")
        if not re.search(rf"^ +{stars}{each.name}: \S", found.get("Args", ""), re.MULTILINE):
            lacks.append(f"Args: {each.name}")
    if gives_something(function) and not {"Returns", "Yields"} & set(found):
        lacks.append("Returns")
    if "Raises" not in found and name not in CANNOT_REFUSE:
        lacks.append("Raises")
    method = name.rpartition(".")[2]
    if name not in SHOWN_ELSEWHERE and not re.search(
        rf"(>>>|\.\.\.).*\b{method}\(", f"{docstring}\n{shown_by_class}"
    ):
        lacks.append("an example that calls it")
    return lacks


def test_public_functions_say_what_they_take_give_and_refuse() -> None:
    every = list(functions())
    assert len(every) > 120
    found = {
        name: lacks for name, function, shown in every if (lacks := lacking(name, function, shown))
    }
    assert found == {}


@pytest.mark.parametrize(("name", "test"), SHOWN_ELSEWHERE.items())
def test_what_has_no_example_of_its_own_is_called_by_its_test(name: str, test: str) -> None:
    text = (Path(__file__).parents[2] / test).read_text(encoding="utf-8")
    assert re.search(rf"\b{name.rpartition('.')[2]}\(", text)


def test_exceptions_to_the_rule_are_still_there() -> None:
    names = {name for name, _, _ in functions()}
    assert names >= CANNOT_REFUSE | set(SHOWN_ELSEWHERE)
    for name, function, _ in functions():
        own = ast.parse(textwrap.dedent(inspect.getsource(function)))
        raises = any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(own))
        assert not (raises and name in CANNOT_REFUSE), name


def test_public_classes_say_what_they_are() -> None:
    for each in listed():
        if inspect.isclass(each):
            assert (each.__doc__ or "").strip(), each
            assert not (is_dataclass(each) and each.__doc__.startswith(f"{each.__name__}(")), each


def made(text: str) -> Callable[[int], int]:
    def function(number: int) -> int:
        return number

    function.__doc__ = text
    return function


@pytest.mark.parametrize(
    ("text", "lack"),
    [
        ("", "a summary of one line"),
        (
            "Give.\n\nReturns:\n    It.\n\nRaises:\n    ValueError: Never.\n\n>>> function(1)",
            "Args: number",
        ),
        (
            (
                "Give.\n\nArgs:\n    number: One.\n\nRaises:\n    ValueError: Never.\n\n>>>"
                " function(1)"
            ),
            "Returns",
        ),
        ("Give.\n\nArgs:\n    number: One.\n\nReturns:\n    It.\n\n>>> function(1)", "Raises"),
        (
            (
                "Give.\n\nArgs:\n    number: One.\n\nReturns:\n    It.\n\nRaises:\n    ValueError:"
                " Never."
            ),
            "an example that calls it",
        ),
    ],
)
def test_the_test_finds_what_is_missing(text: str, lack: str) -> None:
    assert lack in lacking("function", made(text), "")  # type: ignore[arg-type]
