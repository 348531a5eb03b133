"""Who may talk to the studio, and what its pages may do.

The studio listens on 127.0.0.1, where every page that the browser has open can reach it. Therefore each request must

- name this server in `Host`: a page of another name that was rebound to 127.0.0.1 (DNS rebinding) does not
- come from the studio's own page, by `Origin` and `Sec-Fetch-Site`, if a browser says where it comes from
- have the token of this launch in a cookie, which only the address that was printed sets
- have the header `x-regard`, if it changes or computes something: no form and no image of another page can send it

Pages load scripts and styles from the studio alone, run no inline script, connect to nothing else and are in no frame.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
"""Headers of every answer."""
NAMES = ("127.0.0.1", "localhost", "[::1]")
MARK = "x-regard"
READING = ("GET", "HEAD")
OWN = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` that the page itself, and an address typed or opened by a person, have."""


@dataclass(frozen=True)
class Launch:
    """One launch of the studio: its port, and the secret that its address carries."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def url(self) -> str:
        """The address with its token."""
        return f"{self.address}?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. The port is in it: a browser sends cookies of one port to all."""
        return f"regard-studio-{self.port}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.port}" for name in NAMES)

    def knows(self, given: str | None) -> bool:
        """Whether this is the token, compared in constant time."""
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Refuses requests that the studio's own page did not send, and adds the headers of security to all answers."""

    def __init__(self, app: App, launch: Launch) -> None:
        self.app, self.launch = app, launch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message.get("headers", [])}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [
                    *message.get("headers", []),
                    *((name, value) for name, value in more if name not in given),
                ]
            await send(message)

        headers = _headers(scope)
        if scope["path"] == "/" and scope["method"] in READING and b"token=" in scope["query_string"]:
            if (refused := self._foreign(headers)) is None:
                await self._enter(scope, headers, with_headers)
                return
        else:
            refused = self._refused(scope, headers)
        if refused is not None:
            await _refuse(scope, with_headers, *refused)
            return
        await self.app(scope, receive, with_headers)

    def _foreign(self, headers: Mapping[str, str]) -> tuple[int, str, str] | None:
        if headers.get("host") not in self.launch.hosts:
            return 421, "this server is not the one that the request names.", f"Use {self.launch.address}"
        return None

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, str] | None:
        """Why a request is refused: status, message and remedy; None if it is not."""
        if (foreign := self._foreign(headers)) is not None:
            return foreign
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        own = {f"http://{host}" for host in self.launch.hosts}
        navigates = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if (origin is not None and origin not in own) or (
            site is not None and site not in OWN and not navigates
        ):
            return 403, "another page sent this request.", "Use the studio's own page."
        if not self.launch.knows(_cookie(headers, self.launch.cookie)):
            return (
                401,
                "the token of this studio is missing.",
                "Open the address that `regard studio` printed; it ends with a token.",
            )
        if scope["method"] not in READING and headers.get(MARK) != "1":
            return 403, f"the header {MARK} is missing.", f"Send  {MARK}: 1"
        return None

    async def _enter(self, scope: Scope, headers: Mapping[str, str], send: Send) -> None:
        """Take the token from the address into a cookie."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self.launch.knows(given):
            await _refuse(
                scope,
                send,
                401,
                "this is not the token of this studio.",
                "Open the address that `regard studio` printed last.",
            )
            return
        cookie = f"{self.launch.cookie}={self.launch.token}; Path=/; HttpOnly; SameSite=Strict"
        found = [(b"set-cookie", cookie.encode())]
        if headers.get("sec-fetch-site") in (None, *OWN):
            found.append((b"location", b"/"))
            await _send(send, 303, b"", "text/plain; charset=utf-8", found)
            return
        # A strict cookie is not sent on a redirect that began at a link of another page, such as a notebook.
        await _send(send, 200, ENTERED, "text/html; charset=utf-8", found)


ENTERED = b"""<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">
<title>regard studio</title><p><a href="/">The studio</a></p></html>
"""


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name; of several with one name only their join, which equals none of what is expected."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key in found else text
    return found


def _cookie(headers: Mapping[str, str], name: str) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


async def _refuse(scope: Scope, send: Send, status: int, message: str, fix: str) -> None:
    if scope["path"].startswith("/api/"):
        told = {"error": {"message": message, "where": "", "fix": fix}}
        await _send(send, status, json.dumps(told).encode(), "application/json")
    else:
        text = f"{message[:1].upper()}{message[1:]} {fix}\n"
        await _send(send, status, text.encode(), "text/plain; charset=utf-8")


async def _send(
    send: Send, status: int, body: bytes, kind: str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    head = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        *(headers or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
