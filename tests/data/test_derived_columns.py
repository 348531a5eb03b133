"""A column that derives from another is read, written and measured like it, and columns can be copied."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard.data.columns import TextColumn
from regard.data.contents import Contents
from regard.data.encoding_cache import EncodingCache
from regard.describe import answers
from regard.errors import RegardError
from regard.parts import names, part, registry
from regard.testing.rows import rows
from regard.testing.specs import document

ROWS = [{"source": "A b", "target": "B a"}, {"source": "b C a", "target": "a c B"}]


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    names("column")
    before = dict(registry.PARTS["column"])

    @regard.register("column", "loud")
    class LoudColumn(TextColumn):
        """A text in capitals."""

        def tokens(self, value):  # type: ignore[no-untyped-def]
            return [piece.upper() for piece in super().tokens(value)]

    yield
    registry.PARTS["column"] = before


def test_a_derived_text_is_read_written_measured_and_saved(tmp_path: Path) -> None:
    spec = regard.Spec(
        inputs={"source": {"type": "loud"}},
        outputs={"target": {"type": "loud"}},
        encoder={"size": 4, "embedding": 4},
        decoder={"size": 4, "embedding": 4},
        metrics=["bleu"],
    )
    assert spec.encoder["source"].type == "recurrent" and spec.decoder["target"].type == "recurrent"
    model = regard.Model.build(spec, rows=ROWS)
    assert model.predict("A b").trace.input["source"] == ["A", "B"]
    assert "bleu" in model.evaluate(data=ROWS, metrics=["bleu"]).scores
    model.save(tmp_path / "model")
    assert regard.load(tmp_path / "model").predict("b C").value == model.predict("b C").value


def test_what_stands_for_what() -> None:
    assert part("column", "loud").types() == ("loud", "text")
    assert part("column", "stream").types() == ("stream",)
    assert part("column", "dialog").types() == ("dialog",)
    with pytest.raises(RegardError, match="a label decoder cannot write a loud column: it writes label"):
        regard.Spec(
            inputs={"source": {"type": "loud"}},
            outputs={"target": {"type": "loud"}},
            decoder={"type": "label"},
        )


def test_columns_of_files_can_be_copied() -> None:
    model = regard.Model.build(regard.Spec.parse(document("image")), rows=list(rows()))
    for other in (copy.deepcopy(model.columns), pickle.loads(pickle.dumps(model.columns))):
        assert other["image"].state() == model.columns["image"].state()
    assert isinstance(pickle.loads(pickle.dumps(Contents())), Contents)
    assert copy.deepcopy(EncodingCache(7)).room == 7


def test_a_retrieval_decoder_shows_the_inputs_it_reads() -> None:
    lines = answers(regard.Spec.parse(document("offered")))["decoder"]
    assert lines[0] == "q_y = V_y [h′; h′′] + b_y"
