"""Who may send a request, and what every response forbids.

A request passes when all of these hold:

* it comes from no other user of this machine, as far as the kernel tells (`peer`);
* its Host is this server's own, so that a name which a hostile page points at 127.0.0.1 (DNS
  rebinding) is refused;
* it carries the cookie that was given for the printed token. The token works once. The cookie is
  HttpOnly and SameSite=Strict, and says nothing: it is a random key of this process;
* a request that changes something comes from a page of this server (Origin, Sec-Fetch-Site) and
  carries the form's own token, which follows from the cookie by HMAC.

Every response forbids framing, foreign content, inline script and style, and caching: pages hold
private values.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dprap.studio.peer import is_other_user

CSRF_FIELD = "csrf"
OPENED_ELSEWHERE = frozenset(("cross-site", "same-site"))
_SAFE = frozenset(("GET", "HEAD"))

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report is one self-contained file with its own style sheet. It runs in a sandbox: no script, no
# form, no origin.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; sandbox; base-uri 'none'; frame-ancestors"
    " 'self'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Keys:
    """The secrets of one server: the token of the printed address, and the cookie that it is
    exchanged for.
    """

    def __init__(self, announce: Callable[[str], None] = lambda _: None) -> None:
        self._session = secrets.token_urlsafe(32)
        self._announce = announce
        self.token = secrets.token_urlsafe(24)

    def exchange(self, token: str) -> str | None:
        """The cookie for a token. A token that was used is replaced, and the new one announced."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = secrets.token_urlsafe(24)
        self._announce(self.token)
        return self._session

    def knows(self, cookie: str | None) -> bool:
        """Whether this is the cookie."""
        return cookie is not None and hmac.compare_digest(cookie.encode(), self._session.encode())

    def form_token(self) -> str:
        """What every form must carry."""
        return hmac.new(self._session.encode(), b"form", hashlib.sha256).hexdigest()

    def is_form_token(self, text: object) -> bool:
        """Whether a form carried what it must."""
        return isinstance(text, str) and hmac.compare_digest(
            text.encode(), self.form_token().encode()
        )


class Gate:
    """ASGI middleware: lets requests of the steward's own browser through, and none else."""

    def __init__(
        self, app: ASGIApp, *, keys: Keys, hosts: frozenset[str], refused: Callable[[str], Response]
    ) -> None:
        self.app = app
        self.keys = keys
        self.hosts = hosts
        self.refused = refused
        """Makes the page for a refused request out of a reason: host, user, origin or key."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and add the headers."""
        if scope["type"] != "http":  # there are no web sockets here
            return
        response = self._response(scope)
        await (self.app if response is None else response)(scope, receive, _with_headers(send))

    def _response(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further; None for one that does."""
        request = HTTPConnection(scope)
        if is_other_user(scope.get("client"), scope.get("server")):
            return self.refused("user")
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return self.refused("host")
        if not self._is_from_here(scope["method"], request.headers, host):
            return self.refused("origin")
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        is_known = self.keys.knows(request.cookies.get(cookie_name(host)))
        if token is not None and scope["path"] == "/":
            # a printed address that is opened again leads home, where the browser is known
            return (
                RedirectResponse("/", status_code=303) if is_known else self._enter(token[0], host)
            )
        return None if is_known else self.refused("key")

    def _is_from_here(self, method: str, headers: Headers, host: str) -> bool:
        site = headers.get("sec-fetch-site")
        if method in _SAFE:
            # a page elsewhere may lead here by a link, but may not fetch or embed anything
            is_link = (
                headers.get("sec-fetch-mode") == "navigate"
                and headers.get("sec-fetch-dest") == "document"
            )
            return site not in OPENED_ELSEWHERE or is_link
        origin = headers.get("origin")
        return site in (None, "same-origin") and (origin is None or origin == f"http://{host}")

    def _enter(self, token: str, host: str) -> Response:
        session = self.keys.exchange(token)
        if session is None:
            return self.refused("key")
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(cookie_name(host), session, httponly=True, samesite="strict", path="/")
        return response


def cookie_name(host: str) -> str:
    """The name of the cookie: ports share cookies, so that two servers need two names."""
    return f"dprap-studio-{host.rpartition(':')[2]}"


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if headers["content-security-policy"] == POLICY:
                headers.setdefault("x-frame-options", "DENY")
        await send(message)

    return sending
