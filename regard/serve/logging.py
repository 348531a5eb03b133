"""The log of requests: one line of JSON each, without their inputs unless these are asked for."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import IO, Any

from regard.errors import RegardError


class AccessLog:
    """Lines of JSON in a file, on standard error ("-"), or nowhere ("")."""

    def __init__(self, place: str) -> None:
        self._stream: IO[str] | None = None
        if place == "-":
            self._stream = sys.stderr
        elif place:
            try:
                self._stream = open(place, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
            except OSError as error:
                raise RegardError(f"the log cannot be written: {error.strerror}.", where=place) from None

    def add(self, scope: Mapping[str, Any], status: int, seconds: float) -> None:
        if self._stream is None:
            return
        client = scope.get("client")
        line = {
            "time": round(time.time(), 3),
            "client": client[0] if client else "",
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 2),
            **scope["regard.details"],
        }
        # ASCII only: what a client sent cannot end a line or control a terminal.
        self._stream.write(json.dumps(line) + "\n")
