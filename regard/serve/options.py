"""The limits of a server, validated when they are made."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path

from regard.errors import Message, Option, RegardError

KEY_VARIABLE = "REGARD_API_KEY"
BAD_KEY = "a key is empty or has characters that a header cannot have."
USE_LETTERS = "Use letters and digits."


@dataclass(frozen=True)
class ServeOptions:
    """What a server does at most.

    max_batch    rows that are computed together
    max_wait     seconds that the first row of a batch waits for others, while nothing is computed
    queue        rows that wait; more are refused with 429
    streams      streams and continuations at a time; more are refused with 429
    timeout      seconds until an answer, if a request names none; later it is 504
    max_timeout  the longest that a request may ask for
    body         bytes of a request
    body_time    seconds in which the body of a request must have arrived
    length       characters of an input, and of a dialog
    rows         inputs of one request
    tokens       tokens of a continuation, and steps of an output
    n_best       answers to one input, and hypotheses of a beam
    grace        seconds after SIGTERM in which new requests are told that the server ends
    keys         keys of clients; none: everybody is answered
    log          where each request is logged as a line of JSON: a file, "-" for standard error, or "" for nowhere
    log_inputs   whether the log holds the inputs too
    load_first   whether the start of the server waits until the models are loaded, for one that sends requests as soon
                 as it has started, such as Ray Serve; otherwise requests get 503 until then
    """

    max_batch: int = 64
    max_wait: float = 0.002
    queue: int = 256
    streams: int = 16
    timeout: float = 30.0
    max_timeout: float = 300.0
    body: int = 4 << 20
    body_time: float = 10.0
    length: int = 5_000
    rows: int = 256
    tokens: int = 2_000
    n_best: int = 64
    grace: float = 1.0
    keys: tuple[str, ...] = field(default=(), repr=False)
    log: str = ""
    log_inputs: bool = False
    load_first: bool = False

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("max_wait", "grace"):
                low = 0.0
            elif one.type in ("int", "float"):
                low = 1 if one.type == "int" else 1e-3
            else:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < 1e12:
                raise RegardError(
                    f"received {value!r}, expected a finite number from {low:g}.", where=Option(one.name)
                )
        if not all(map(is_key, self.keys)):
            raise RegardError(BAD_KEY, where="serve, keys", fix=USE_LETTERS)
        if self.log_inputs and not self.log:
            raise RegardError(
                Message(Option("log_inputs"), " has no effect: nothing is logged."),
                fix=Message(
                    "Name a file for the log, ", Option("log", "requests.jsonl"), ", or leave it out."
                ),
            )


def is_key(text: str) -> bool:
    """Whether the header of a request can hold this key."""
    return bool(text) and text.isascii() and text.isprintable()


def read_keys(file: Path | None) -> tuple[str, ...]:
    """The keys in a file, one in each line, or that of the environment variable REGARD_API_KEY."""
    if file is None:
        given = os.environ.get(KEY_VARIABLE)
        if given is not None and not given.strip():
            raise RegardError(
                "the variable is set, but empty.", where=KEY_VARIABLE, fix="Unset it, or give a key."
            )
        return (given.strip(),) if given else ()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RegardError(
            f"the file of keys cannot be read: {reason}.",
            where=str(file),
            fix="Name a text file with one key in each line.",
        ) from None
    found = {number: line.strip() for number, line in enumerate(lines, 1) if line.strip()}
    if not found:
        raise RegardError("the file has no key.", where=str(file), fix="Write one key in each line.")
    for number, key in found.items():
        if not is_key(key):
            raise RegardError(BAD_KEY, where=f"{file}:{number}", fix=USE_LETTERS)
    return tuple(found.values())
