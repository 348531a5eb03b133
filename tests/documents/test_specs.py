"""Every spec, or piece of one, that a page shows is accepted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import regard
from tests.documents.pages import KEYS, Example, fenced, indented_specs

INPUTS: dict[str, Any] = {"source": {"type": "text"}}
OUTPUTS: dict[str, Any] = {"target": {"type": "text"}}


def pieces(example: Example) -> list[dict[str, Any]]:
    """The documents of a block: one, or one for each line if a key is shown in several ways."""
    keys = re.findall(r"(?m)^(\w+):", example.text)
    texts = example.text.splitlines() if len(set(keys)) < len(keys) else [example.text]
    return [document for text in texts if (document := yaml.safe_load(text))]


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """A piece with the keys that a spec needs beside it. A stream has no inputs."""
    outputs = document.get("outputs", OUTPUTS)
    streams = any(column["type"] == "stream" for column in outputs.values())
    return {"outputs": outputs, **({} if streams else {"inputs": INPUTS}), **document}


def shown() -> list[Any]:
    return [pytest.param(example, id=str(example)) for example in [*fenced("yaml"), *indented_specs()]]


@pytest.mark.parametrize("example", shown())
def test_spec(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("glove.6B.100d.txt").write_text("the" + " 0.5" * 100 + "\n", encoding="utf-8")
    for document in pieces(example):
        assert set(document) <= {*KEYS.split("|"), "name", "description"}, f"{example}: not a spec"
        regard.Spec(**completed(document))


def test_blocks_are_found() -> None:
    assert len(shown()) >= 20
