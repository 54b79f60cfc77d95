"""Addresses of databases as a front end takes them: checked, and without secrets, which are never
kept.
"""

from __future__ import annotations

from dprap.address import is_address, split_secrets
from dprap.errors import SettingsError


def address_to_keep(text: str) -> str:
    """An address that may be kept and shown.

    Raises:
        SettingsError: If it is not an address of PostgreSQL, or holds a password or a key. It is
            not quoted.
    """
    if not is_address(text):
        raise SettingsError("an address begins with postgresql://. Check how it is written.")
    clean, secrets = split_secrets(text)
    if secrets:
        raise SettingsError(
            "the address holds a password or a key. Leave it out: give it by PGPASSWORD, a password"
            " file or a service."
        )
    return clean
