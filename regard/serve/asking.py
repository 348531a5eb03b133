"""The implementation of `regard ask`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from regard.errors import RegardError
from regard.reporting.terminal import LINES, printable, say
from regard.serve.client import Client


def ask(
    url: str,
    texts: Sequence[str],
    *,
    model: str | None,
    n_best: int | None,
    trace: bool,
    stream: bool,
    as_json: bool,
    key: str | None,
    timeout: float,
) -> None:
    client = Client(url, key=key, timeout=timeout + 5)
    options: dict[str, Any] = {"model": model, "n_best": n_best, "trace": trace or None, "timeout": timeout}
    given = inputs(texts)
    if stream:
        answer = _streamed(client, given, options, quiet=as_json)
    else:
        answer = client.predict(given, **options)["answers"][0]
        if not as_json:
            _print(answer)
    if as_json:
        print(json.dumps(answer))
    elif trace:
        _print_trace(answer)


def inputs(texts: Sequence[str]) -> str | dict[str, str]:
    """All words as one text; or several inputs by name, if each is written as name=text."""
    if len(texts) > 1 and all("=" in text and text.partition("=")[0].isidentifier() for text in texts):
        pairs = [text.partition("=") for text in texts]
        return {name: text for name, _, text in pairs}
    return " ".join(texts)


def _streamed(client: Client, given: Any, options: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    begun, answer = False, None
    for name, content in client.stream(given, **options):
        if name == "token" and not quiet:
            sys.stdout.write(printable(content["text"], LINES))
            sys.stdout.flush()
            begun = True
        elif name == "error":
            if begun:
                print()
            raise RegardError(content["message"], where=content["where"], fix=content["fix"])
        elif name == "answer":
            answer = content
    if answer is None:
        raise RegardError("the stream ended before the answer.", where=client.url, fix="Ask again.")
    if quiet:
        return answer
    if begun:
        print()
    else:
        _print(answer)
    if answer.get("streamed") is False:
        say(f"Not streamed: {answer['why']}", error=True)
    return answer


def _print(answer: dict[str, Any]) -> None:
    others = answer.get("alternatives") or []
    if len(others) < 2:
        say(str(answer["text"]))
        return
    for one in others:
        score = one["score"]
        say(f"{score if score is not None else float('-inf'):.4f}\t{one['text']}")


def _print_trace(answer: dict[str, Any]) -> None:
    from regard.reporting.console import safe_console
    from regard.trace import Trace

    content = answer.get("trace")
    trace = None if content is None else Trace.from_dict(content)
    if trace is None or not (trace.attention or trace.structures):
        say("(this model has no attention to show)", error=True)
        return
    trace.print(safe_console())
