"""`dprap studio`: the whole job in a browser, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def studio(
    folder: Annotated[
        Path, typer.Argument(help="Where tables, schemas and releases are.", metavar="FOLDER")
    ] = Path(),
    port: Annotated[int, typer.Option(help="Port on this machine (default any that is free).")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open nothing.")
    ] = False,
) -> None:
    """Open pages for the whole job in a browser: table, schema, plan, run, release, ledger.

    Nothing leaves this machine.
    """
    from dprap.cli.output import print_line
    from dprap.errors import SettingsError

    try:
        from dprap.studio.serve import serve
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the studio needs the package {error.name}. Install dprap[studio]."
        ) from None
    serve(
        folder,
        port=port,
        open_browser=not no_browser,
        say=print_line,
    )
