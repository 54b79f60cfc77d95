"""Which user of this machine a connection comes from.

A cookie is sent to every port of its host, so another user's server on another port could collect
it. On Linux the kernel says who owns the other end of a loopback connection; where it says that
this is another user, the connection is refused, whatever cookie it brings. Elsewhere nothing is
known, and the cookie decides alone.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path

_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _USER = 1, 2, 7
"""Columns of the table: proc(5)."""


def user_of(client: tuple[str, int], server: tuple[str, int], table: Path = _TABLE) -> int | None:
    """The user id that owns the client's end of a connection over IPv4, or None where nobody
    knows.
    """
    if sys.platform != "linux":
        return None
    try:
        wanted = (_written(client), _written(server))
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except (OSError, ValueError):
        return None
    for line in lines:
        fields = line.split()
        if (fields[_LOCAL], fields[_REMOTE]) == wanted:
            return int(fields[_USER])
    return None


def is_other_user(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Whether the connection is known to come from another user than the one who runs this
    process.
    """
    if client is None or server is None:
        return False
    found = user_of(client, server)
    return found is not None and found != os.getuid()


def _written(end: tuple[str, int]) -> str:
    """An address as the kernel writes it: the four bytes in the machine's own order, and the
    port.
    """
    (number,) = struct.unpack("=I", socket.inet_aton(end[0]))
    return f"{number:08X}:{end[1]:04X}"
