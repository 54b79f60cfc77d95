"""The server on loopback: its address, and its end."""

from __future__ import annotations

import logging
import socket
import sys
import traceback
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Timer

from dprap.errors import SettingsError
from dprap.studio.gate import Keys
from dprap.studio.workspace import Workspace

HOST = "127.0.0.1"
_BACKLOG = 64


def serve(folder: Path, *, port: int, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve the pages until Ctrl-C.

    Args:
        folder: Where tables, schemas and releases are.
        port: The port on loopback; 0 for any that is free.
        open_browser: Whether to open the address in a browser.
        say: Shows a line to the user.

    Raises:
        SettingsError: If the folder or the port cannot be used.

    """
    import uvicorn

    from dprap.studio.routes import studio

    workspace = Workspace(folder)
    listening = _listen(port)
    port = listening.getsockname()[1]
    hosts = frozenset((f"{HOST}:{port}", f"localhost:{port}"))

    def address(token: str) -> str:
        return f"http://{HOST}:{port}/?token={token}"

    keys = Keys(announce=lambda token: say(f"for another browser, once: {address(token)}"))
    say(f"dprap studio works in {workspace.root}")
    say(f"open, once: {address(keys.token)}")
    say("stop with Ctrl-C; runs that are under way go on")
    if workspace.root.stat().st_mode & 0o077:
        say(
            "others on this machine may look into this folder; what the studio copies there only"
            " you can read"
        )
    if open_browser:
        timer = Timer(0.5, webbrowser.open, (address(keys.token),))
        timer.daemon = True
        timer.start()
    config = uvicorn.Config(
        studio(workspace, keys, hosts),
        access_log=False,  # addresses and names of files stay out of logs
        log_config=None,
        server_header=False,
        date_header=False,
        lifespan="off",
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=1 << 16,
    )
    logging.getLogger("uvicorn.error").addHandler(_PlainHandler(say))
    logging.getLogger("uvicorn.error").propagate = False
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    say("stopped")


def _listen(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "linux":  # elsewhere two servers could share a port by it
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(_BACKLOG)
    except (OSError, OverflowError):
        found.close()
        raise SettingsError(
            f"port {port} on this machine is taken or cannot be used. Choose another --port."
        ) from None
    return found


class _PlainHandler(logging.Handler):
    """Says where something went wrong, without the values that an exception may quote."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self.say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Show the kind of an exception and its place."""
        error = record.exc_info[1] if record.exc_info else sys.exc_info()[1]
        self.say(f"something unexpected: {where(error)}")


def where(error: BaseException | None) -> str:
    """The kind of an exception and the place in the code that raised it."""
    if error is None:
        return "unknown"
    places = traceback.extract_tb(error.__traceback__)
    last = f" at {Path(places[-1].filename).name}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{last}"
