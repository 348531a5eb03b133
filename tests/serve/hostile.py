"""Requests that are almost valid, for a server."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fuzz.mutation import ODD_TEXTS, mutated_bytes, mutated_value, written

PATHS = (
    "/predict",
    "/chat",
    "/generate",
    "/stream",
    "/v2/models/{}/infer",
    "/v2/models/{}",
    "/v2",
    "/metrics",
    "/docs",
)


def hostile_requests(model: str, texts: Sequence[str], count: int, random: random.Random) -> Iterator[bytes]:
    """Requests to all routes with mutated JSON, mutated bytes, odd texts, odd headers and binary tensors."""
    for _ in range(count):
        kind = random.choice(("json", "json", "json", "bytes", "text", "binary", "head", "whole"))
        path, content = _request(model, random.choice(texts), random)
        body = json.dumps(content).encode()
        headers = {"host": "x", "content-type": "application/json", "connection": "close"}
        if kind == "json":
            for _ in range(random.choice((1, 1, 2, 4))):
                content = mutated_value(content, random)
            body = written(content, random)
        elif kind == "bytes":
            body = mutated_bytes(body, random)
        elif kind == "text":
            odd = random.choice(ODD_TEXTS) * random.choice((1, 1, 3, 50))
            path, body = "/predict", written({"text": odd, "trace": random.random() < 0.5}, random)
        elif kind == "binary":
            path, headers, body = _binary(model, random)
        elif kind == "head":
            name = random.choice(
                ["content-type", "content-length", "transfer-encoding", "authorization", "expect"]
            )
            headers[name] = random.choice(
                ["", "x", "-1", "9" * 30, "chunked", "\xff", "a" * 9000, "application/json;x"]
            )
        headers.setdefault("content-length", str(len(body)))
        method = (
            "POST"
            if random.random() < 0.95
            else random.choice(("GET", "PUT", "HEAD", "OPTIONS", "DELETE", "\x01"))
        )
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()
        )
        whole = head.encode("latin-1", errors="replace") + b"\r\n" + body
        yield mutated_bytes(whole, random) if kind == "whole" else whole


def answer_to(port: int, request: bytes, longest: float = 10.0, patience: float = 0.5) -> str:
    """The status of the answer to a request; "closed" without one, "hung" if nothing happens for so long.

    patience   seconds after which the client says that it sends no more
    """
    began = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
            connection.sendall(request)
            try:
                answer = connection.recv(1 << 16)
            except TimeoutError:
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(longest)
                answer = connection.recv(1 << 16)
            connection.settimeout(longest)
            status, part = answer[9:12].decode(errors="replace") if answer else "closed", answer
            while part and not _whole(answer):
                part = connection.recv(1 << 16)
                answer += part
    except TimeoutError:
        return "hung"
    except OSError:
        status = "closed"
    return status if time.monotonic() - began < longest else "hung"


def _whole(answer: bytes) -> bool:
    """Whether an answer has ended; the connection may stay open after it."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    if b"transfer-encoding: chunked" in head.lower():
        return body.endswith(b"0\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
    return length is not None and len(body) >= int(length[1])


def _request(model: str, text: str, random: random.Random) -> tuple[str, Any]:
    path = random.choice(PATHS[:5]) if random.random() < 0.9 else random.choice(PATHS)
    contents: dict[str, Any] = {
        "/predict": {
            "text": text,
            "n_best": 2,
            "trace": True,
            "beam": 2,
            "timeout": 5.0,
            "seed": 1,
            "model": model,
        },
        "/chat": {"text": text, "history": [{"speaker": "U", "text": text}, text]},
        "/generate": {"prompt": text, "length": 4, "temperature": 0.5},
        "/stream": {"text": text, "method": "greedy", "max_length": 5},
        "/v2/models/{}/infer": {
            "id": "1",
            "inputs": [{"name": "source", "shape": [2], "datatype": "BYTES", "data": [text, text]}],
            "outputs": [
                {"name": "target"},
                {"name": "target.attention.source", "parameters": {"binary_data": True}},
            ],
            "parameters": {"n_best": 2, "timeout": 5_000_000},
        },
    }
    return path.format(model), contents.get(path, {})


def _binary(model: str, random: random.Random) -> tuple[str, dict[str, str], bytes]:
    """A request with a binary tensor, whose lengths may be wrong."""
    texts = [b"I see the onion", b"", b"\xff\xfe", b"a" * 300][: random.randint(1, 4)]
    packed = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    tensor: Any = {"name": "source", "shape": [len(texts)], "datatype": "BYTES"}
    tensor["parameters"] = {"binary_data_size": random.choice((len(packed), len(packed), 3, 0, -1, 10**9))}
    content: Any = {"inputs": [tensor]}
    if random.random() < 0.4:
        content = mutated_value(content, random)
    head = written(content, random)
    length = random.choice((str(len(head)), str(len(head)), "0", "-1", "x", "9" * 20, str(len(head) + 5)))
    if random.random() < 0.4:
        packed = mutated_bytes(packed, random)
    headers = {"host": "x", "connection": "close", "inference-header-content-length": length}
    return f"/v2/models/{model}/infer", headers, head + packed
