"""Addresses of databases: what may be kept and shown of one, and the secrets that may not.

An address is read by PostgreSQL's own library, so that dprap and the driver never disagree on where
a password ends. What that library marks as secret or internal (passwords, keys) is taken out; a new
kind of secret is thus out as well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dprap.errors import SettingsError

_SCHEMES = ("postgresql://", "postgres://")
# At least two letters: C:/ is a drive.
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# Written before the question mark of an address; everything else follows it.
_PLACES = ("host", "port", "dbname", "user")

_ADVICE = "Leave the password out and give it by PGPASSWORD, a password file or a service."


def is_address(data: Any) -> bool:
    """Whether this is the address of a PostgreSQL database."""
    return isinstance(data, str) and data.startswith(_SCHEMES)


def looks_like_address(text: str) -> bool:
    """Whether this begins as an address does, of whatever kind: then no message may quote it."""
    return _ANY_SCHEME.match(text) is not None


def refuse_other_addresses(table: Any, engine: str | None) -> None:
    """Refuse an address of another kind than those that dprap reads.

    Args:
        table: Where the table is, or the table itself.
        engine: The engine that is to read it, if one was named.

    Raises:
        SettingsError: If nothing reads it. The message does not quote it.

    >>> refuse_other_addresses("s3://bucket/table.csv", None)
    Traceback (most recent call last):
    dprap.errors.SettingsError: this address cannot be read. Write postgresql://… or a file's path.
    """
    is_read = is_address(table) if engine is None else engine not in ("memory", "files")
    if isinstance(table, str | Path) and looks_like_address(str(table)) and not is_read:
        raise SettingsError("this address cannot be read. Write postgresql://… or a file's path.")


def settings_of(address: str) -> dict[str, str]:
    """The settings in an address, secrets included, by the names of PostgreSQL's library.

    Raises:
        SettingsError: for what is no address, or one in which the end of a password cannot be told.
            The message does not quote it.
    """
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise SettingsError(
            "PostgreSQL needs an extra package. Run: pip install 'dprap[postgres]'."
        ) from None
    before, at, after = address.partition("://")[2].partition("@")
    if not is_address(address) or "@" in after or (at and "/" in before):
        # the library would take the rest of such a password for a host or a database
        raise SettingsError(
            "the database address cannot be read: write / as %2F and @ as %40 in its names."
            f" {_ADVICE}"
        )
    try:
        found = conninfo_to_dict(address)
    except (ProgrammingError, UnicodeError, ValueError):
        raise SettingsError(
            "the database address cannot be read. It is"
            f" postgresql://user@host:port/database?setting=value. {_ADVICE}"
        ) from None
    if not set(str(found.get("port", ""))) <= set("0123456789,"):
        raise SettingsError(f"the port in the database address is no number. {_ADVICE}")
    return {name: str(value) for name, value in found.items() if value is not None}


def split_secrets(address: str) -> tuple[str, dict[str, str]]:
    """An address without its secrets, and these.

    >>> split_secrets("postgresql://ann:s3#?%25cret@db:5432,db2/clinic?sslmode=require")
    ('postgresql://ann@db:5432,db2/clinic?sslmode=require', {'password': 's3#?%cret'})
    """
    settings = settings_of(address)
    from psycopg.pq import Conninfo

    public = {
        option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar == b""
    }
    return (
        _address({name: value for name, value in settings.items() if name in public}),
        {name: value for name, value in settings.items() if name not in public},
    )


def without_secrets(table: str) -> str:
    """What may be kept and shown of where a table is: an address without its secrets, a path as it
    is.
    """
    return split_secrets(table)[0] if is_address(table) else table


def _address(settings: dict[str, str]) -> str:
    host, port, database, user = (settings.get(name, "") for name in _PLACES)
    hosts, ports = host.split(","), port.split(",")
    if len(ports) == 1:  # one port serves all hosts
        ports *= len(hosts)
    places = ",".join(
        (f"[{name}]" if ":" in name else quote(name, safe="")) + (f":{number}" if number else "")
        for name, number in zip(hosts, ports, strict=False)
    )
    rest = "&".join(
        f"{name}={quote(value, safe='')}" for name, value in settings.items() if name not in _PLACES
    )
    return (
        "postgresql://"
        + (f"{quote(user, safe='')}@" if user else "")
        + places
        + (f"/{quote(database, safe='')}" if database else "")
        + (f"?{rest}" if rest else "")
    )
