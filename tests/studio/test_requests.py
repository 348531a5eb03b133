"""Requests are refused with the place of the mistake: unknown keys, wrong types, sizes out of bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.studio.client import Client

GOOD = {"run": "translation", "inputs": {"source": "a"}}


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"extra": 1}, "extra"),
        ({"run": 3}, "run"),
        ({"run": ""}, "run"),
        ({"run": "x" * 300}, "run"),
        ({"inputs": "a"}, "inputs"),
        ({"inputs": {}}, "inputs"),
        ({"inputs": {"other": "a"}}, "inputs"),
        ({"inputs": {"source": "x" * 200_000}}, "inputs.source"),
        ({"inputs": {"source": {"row": -1}}}, "inputs.source"),
        ({"inputs": {"source": {"row": 0, "path": "/etc"}}}, "inputs.source"),
        ({"inputs": {"source": {"row": 99}}}, "row"),
        ({"inputs": {"source": {"row": 0, "split": "../x"}}}, "split"),
        ({"inputs": {"source": {"upload": "../../etc"}}}, "inputs.source"),
        ({"inputs": {"source": {"upload": "abcdefghijkl"}}}, "upload"),
        ({"edits": [{}] * 2001}, "edits"),
        ({"edits": ["pin"]}, "edits"),
        ({"search": {"beam": 0}}, "search.beam"),
        ({"search": {"beam": 1000}}, "search.beam"),
        ({"search": {"beam": "2"}}, "search.beam"),
        ({"search": {"temperature": 1}}, "search.temperature"),
        ({"seed": -1}, "seed"),
        ({"panel": "nothing"}, "panel"),
        ({"output": "nothing"}, ""),
    ],
)
def test_a_wrong_request_is_told_its_place(client: Client, changed: dict[str, Any], where: str) -> None:
    assert client.refused("look", **{**GOOD, **changed})["where"].startswith(where)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"run": NaN}', b"[" * 100_000, b'{"run": "\\ud800"}', b"\xff"]
)
def test_what_is_no_json_is_refused(client: Client, content: bytes) -> None:
    headers = {"x-regard": "1", "content-type": "application/json"}
    answer = client.post("/api/look", content=content, headers=headers)
    assert answer.status_code == 400 and answer.json()["error"]["message"]


def test_a_request_is_not_read_further_than_it_may_be_long(client: Client) -> None:
    headers = {"x-regard": "1", "content-type": "application/json"}
    body = json.dumps({**GOOD, "prefix": "x" * (5 << 20)}).encode()
    answer = client.post("/api/look", content=body, headers=headers)
    assert answer.status_code == 400 and "bytes" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "edit",
    [
        {"edit": "nothing"},
        {"edit": "pin", "step": 0, "position": 999},
        {"edit": "pin", "step": 0, "position": "x"},
        {"edit": "pin", "input": "other", "step": 0, "position": 0},
        {"edit": "weights", "step": 0, "weights": {}},
        {"edit": "weights", "step": 0, "weights": {"0": 1e999}},
        {"edit": "region", "step": 0, "box": [0, 0, 1, 1]},
        {"edit": "arc", "head": 0, "dependent": 1, "how": "force"},
        {"edit": "pin", "step": 77, "position": 0},
    ],
)
def test_an_edit_that_does_not_apply_says_so(client: Client, edit: dict[str, Any]) -> None:
    content = json.dumps({"run": "translation", "inputs": {"source": {"row": 0}}, "edits": [edit]})
    headers = {"x-regard": "1", "content-type": "application/json"}
    answer = client.post("/api/look", content=content, headers=headers)
    assert answer.status_code == 400, answer.text
    assert len(answer.json()["error"]["message"]) > 10
