"""A client of a server, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import math
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from regard.errors import RegardError
from regard.reporting.terminal import printable

TRIES = 5
"""How often a busy server is asked."""
LONGEST_WAIT = 30.0
MOST = 64 << 20
"""Bytes of an answer that are read."""


class Client:
    """Asks one server.

    url       its address: http://127.0.0.1:8000
    key       if the server asks for one
    timeout   seconds until an answer
    """

    def __init__(self, url: str, *, key: str | None = None, timeout: float = 60.0) -> None:
        self.url, self.timeout = url.rstrip("/"), timeout
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RegardError(
                "this is no address of a server.", where=url, fix="Write it as  http://127.0.0.1:8000"
            )
        try:
            self._port = parts.port
        except ValueError:
            raise RegardError(
                "the port is no number from 0 to 65535.", where=url, fix="Write it as  http://127.0.0.1:8000"
            ) from None
        self._secure, self._host, self._path = parts.scheme == "https", parts.hostname, parts.path.rstrip("/")
        self._headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if key is not None:
            if not key.isascii() or not key.isprintable():
                raise RegardError("the key has characters that a header cannot have.", where="--key")
            self._headers["authorization"] = f"Bearer {key}"

    def predict(self, text: str | Mapping[str, str], **options: Any) -> dict[str, Any]:
        """The answer to one input: a text, or the inputs by name."""
        found: dict[str, Any] = json.loads(self._sent("/predict", _asked(text, options)).read(MOST))
        return found

    def stream(self, text: str | Mapping[str, str], **options: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """The events of an answer: ("token", {"text": …}), …, ("answer", {…})."""
        name = ""
        for line in self._sent("/stream", _asked(text, options)):
            key, _, value = line.decode("utf-8", errors="replace").rstrip("\r\n").partition(": ")
            if key == "event":
                name = value
            elif key == "data":
                yield name, json.loads(value)

    def _sent(self, path: str, content: Mapping[str, Any]) -> http.client.HTTPResponse:
        """The response to a request. A busy server is asked again after the time that it names."""
        body = json.dumps(content).encode()
        for attempt in range(TRIES):
            made = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = made(self._host, self._port, timeout=self.timeout)
            try:
                connection.request("POST", self._path + path, body, self._headers)
                response = connection.getresponse()
            except TimeoutError:
                raise RegardError(
                    f"the server did not answer within {self.timeout:g} s.",
                    where=self.url,
                    fix="Pass a longer --timeout.",
                ) from None
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
                raise RegardError(
                    f"no server answers there: {reason}.",
                    where=self.url,
                    fix="A server of regard speaks http, not https, unless another program stands before it."
                    if isinstance(error, ssl.SSLError)
                    else "Start one:  regard serve RUN",
                ) from None
            if response.status == 200:
                return response
            wait = _seconds(response.getheader("retry-after"))
            if response.status in (429, 503) and attempt + 1 < TRIES:
                response.read(MOST)
                connection.close()
                time.sleep(wait)
                continue
            raise self._error(response)
        raise AssertionError("unreachable")

    def _error(self, response: http.client.HTTPResponse) -> RegardError:
        try:
            told = json.loads(response.read(MOST))["error"]
        except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
            told = response.reason
        if not isinstance(told, dict):
            told = {"message": str(told)}
        words = {name: printable(str(told.get(name, ""))) for name in ("message", "where", "fix")}
        if response.status == 401:
            return RegardError(
                "the server refuses the key.", where=self.url, fix="Pass --key, or set REGARD_API_KEY."
            )
        if response.status == 429:
            return RegardError(
                f"the server is busy; asked {TRIES} times.",
                where=self.url,
                fix="Ask again later, or with fewer requests.",
            )
        place = words["where"] or self.url
        return RegardError(words["message"] or f"status {response.status}.", where=place, fix=words["fix"])


def _asked(text: str | Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    return {**({"text": text} if isinstance(text, str) else {"inputs": dict(text)}), **given}


def _seconds(header: str | None) -> float:
    """What Retry-After says, within reason."""
    try:
        found = float(header or 1.0)
    except ValueError:
        return 1.0
    return min(max(found, 0.1), LONGEST_WAIT) if math.isfinite(found) else 1.0
