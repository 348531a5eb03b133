"""Mistakes in parts of one's own that only a model shows: each message names the part and what to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.data.columns import LabelColumn, TextColumn
from regard.errors import RegardError
from regard.nn.decoders import LabelDecoder
from regard.parts import KINDS, names, register, registry

ROWS = [(word, word[0]) for word in ("abc", "bca", "cab", "acb", "bac", "cba")] * 5
SPEC: dict[str, Any] = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "outputs": {"target": {"type": "label"}},
    "encoder": {"size": 4, "embedding": 4},
    "training": {"steps": 1},
}


@pytest.fixture(autouse=True)
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test registers."""
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        names(kind)
    before = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = before[kind]


def fitted(**changes: Any) -> regard.Model:
    return regard.fit(ROWS, dev=ROWS, spec={**SPEC, **changes}, device="cpu", quiet=True)


def test_a_default_decoder_that_does_not_write_its_column_is_pointed_to_writes() -> None:
    @register("column", "mood")
    class Mood(TextColumn):
        decoder = "label"

        class Options(TextColumn.Options):
            """A mood."""

    with pytest.raises(RegardError, match="default decoder of mood: add 'mood' to its `writes`"):
        fitted(outputs={"target": {"type": "mood"}})


def test_a_column_that_forgets_what_it_learned_is_refused_when_it_is_saved() -> None:
    @register("column", "mood")
    class Mood(LabelColumn):
        decoder = "moody"

        class Options(LabelColumn.Options):
            """A mood."""

        def learned(self) -> dict[str, Any]:
            return {}

        def relearn(self, learned: Mapping[str, Any]) -> None:
            return

    @register("decoder", "moody")
    class Moody(LabelDecoder):
        writes = ("mood",)

        class Options(LabelDecoder.Options):
            """A decoder of moods."""

    with pytest.raises(RegardError, match=r"^the column 'target' would be lost: its class Mood.*`learned`"):
        fitted(outputs={"target": {"type": "mood"}})


def test_a_prefix_needs_a_decoder_that_writes_step_by_step() -> None:
    with pytest.raises(RegardError, match="that of 'target', label, does not"):
        fitted().predict("abc", prefix="a")


def test_an_empty_file_has_no_rows() -> None:
    Path("empty.tsv").write_text("")
    Path("pairs.tsv").write_text("\n".join(map("\t".join, ROWS)))
    for data in ({"train": "empty.tsv"}, {"train": "empty.tsv", "dev": "pairs.tsv"}):
        with pytest.raises(RegardError, match="no rows"):
            regard.fit({**SPEC, "data": data}, device="cpu", quiet=True)
