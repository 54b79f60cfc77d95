"""`dprap schema review`: walk through a draft, column by column."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dprap.schema import Schema

_SETTINGS = "such as  min: 0, max: 120"
_CHOICES = "[a]ccept, [e]dit, [c]oarsen, [d]rop, [s]kip for now, [q]uit"


def review(
    schema: Annotated[
        Path, typer.Argument(help="The draft, which is changed in its place.", metavar="SCHEMA")
    ],
    by: Annotated[
        str | None, typer.Option("--by", help="Who reviews, by name; asked for otherwise.")
    ] = None,
    because: Annotated[
        str | None,
        typer.Option(
            "--because",
            help="Why what came from the data is public; asked for each column otherwise.",
        ),
    ] = None,
    accept_all: Annotated[
        bool,
        typer.Option(
            "--accept-all", help="Accept every column as it is; needs --by and --because."
        ),
    ] = False,
) -> None:
    """Walk through a draft, keep who vouches for each entry that came from the data and why, and
    lift its mark.
    """
    from dprap.cli.output import note, print_line
    from dprap.errors import DprapError, SettingsError
    from dprap.schema import Schema
    from dprap.schema.files import suggestions_in
    from dprap.schema.review import accept, finish, to_review

    loaded, suggestions = Schema.load(schema), suggestions_in(schema)
    if not loaded.is_draft:
        raise SettingsError(f"{schema} is no draft: there is nothing to review.")
    if accept_all and not (by and because):
        raise SettingsError(
            "--accept-all needs --by NAME and --because REASON: somebody vouches for what came from"
            " the data."
        )
    who = by or typer.prompt("Who reviews (name)", err=True)
    today = datetime.now(tz=UTC).date()
    for name, kept in loaded.draft_notes.items():
        if name not in loaded.columns:
            note(f"left out   {name or '(a column without a name)'}: {kept.reason}")
    waiting = to_review(loaded)
    for at, name in enumerate(waiting, start=1):
        if accept_all:
            question = loaded.draft_notes[name].question
            if question:
                note(f"open       {name}: {question}")
            loaded = accept(loaded, name, by=who, because=str(because), on=today)
            continue
        _show(loaded, name, f" ({at} of {len(waiting)})")
        while True:
            try:
                loaded, is_done = _step(loaded, name, who, because, today)
            except DprapError as error:
                note(str(error))
                continue
            loaded.save(schema, suggestions=suggestions)
            if is_done:
                break
    left = to_review(loaded)
    if left:
        loaded.save(schema, suggestions=suggestions)
        note(f"{schema}: {len(left)} columns are left to review. It stays a draft.")
        raise typer.Exit(0)
    finished = finish(loaded)
    finished.save(schema)
    print_line(
        f"{schema}: reviewed by {who}, {len(finished.columns)} columns; it is no draft any more."
    )
    for text in suggestions:
        note(
            f"suggested  {text.removeprefix('- ')}: put it under constraints if it is so by law or"
            " logic"
        )
    for name, vouch in finished.vouched.items():
        note(f"  {vouch.sentence(name)}")


def _show(schema: Schema, name: str, place: str = "") -> None:
    import yaml

    from dprap.cli.output import note

    kept = schema.draft_notes[name]
    entry = yaml.safe_dump(
        schema.as_mapping()["columns"][name],
        sort_keys=False,
        default_flow_style=True,
        allow_unicode=True,
        width=100,
    )
    note(f"\n{name}{place}\n  {entry.strip()}\n  why: {kept.reason}")
    if kept.from_data:
        note(f"  from the data: {', '.join(kept.from_data)}")
    if kept.question:
        note(f"  question: {kept.question}")


def _step(
    schema: Schema, name: str, who: str, because: str | None, today: Any
) -> tuple[Schema, bool]:
    """One answer about a column; the schema after it, and whether the column is done."""
    from dprap.cli.output import note
    from dprap.documents import DocumentError, parse
    from dprap.errors import SettingsError
    from dprap.schema.review import accept, coarsen, drop, edit

    answer = typer.prompt(_CHOICES, default="a", err=True).strip().lower()[:1]
    if answer == "a":
        reason = because or ""
        if schema.draft_notes[name].from_data:
            reason = reason or typer.prompt(
                f"{', '.join(schema.draft_notes[name].from_data)}: public because", err=True
            )
        return accept(schema, name, by=who, because=reason or "-", on=today), True
    if answer == "d":
        return drop(schema, name), True
    if answer == "s":
        return schema, True
    if answer == "q":
        raise typer.Exit(0)
    if answer == "e":
        line = typer.prompt(f"settings, {_SETTINGS} (a setting that is null is removed)", err=True)
        line = line.strip()
        try:
            settings = parse(line if line.startswith("{") else f"{{{line}}}", "yaml")
        except DocumentError as error:
            raise SettingsError(f"the settings cannot be read: {error}.") from None
        if any(value is None and f"{name}:" not in line for name, value in settings.items()):
            raise SettingsError(f"write settings as NAME: VALUE, {_SETTINGS}.")
        changed = edit(schema, name, settings)
    elif answer == "c":
        listed = ""
        if schema.columns[name].type == "categorical":
            listed = typer.prompt("values to put together as other, with commas", err=True)
        changed = coarsen(
            schema, name, into_other=[value.strip() for value in listed.split(",") if value.strip()]
        )
    else:
        note(f"Answer with one letter: {_CHOICES}")
        return schema, False
    _show(changed, name)
    return changed, False
