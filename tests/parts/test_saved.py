"""A model that an older version of a part saved is loaded by the newer one."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import RegardError
from regard.parts import KINDS, Positive, find, names, registry
from regard.parts.registry import Origin

ROWS = [{"source": "a b c", "label": "x"}, {"source": "c a", "label": "y"}]


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    """Forget what a test registers."""
    for kind in KINDS:
        names(kind)
    parts = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = parts[kind]


class OldScore(regard.nn.AttentionScore):
    class Options(regard.nn.AttentionScore.Options):
        """As general."""

        gain: Positive = 1.0
        """Factor of the scores."""

    def __init__(self, query_size: int, key_size: int, gain: float = 1.0) -> None:
        super().__init__(query_size, key_size)
        self.general, self.gain = find("score", "general")(query_size, key_size), gain

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"{query}·W_{mark} {key}"

    def keys(self, keys: Any) -> Any:
        return self.general.keys(keys)

    def forward(self, query: Any, keys: Any, previous: Any = None) -> Any:
        return self.gain * self.general(query, keys)


class NewScore(OldScore):
    class Options(regard.nn.AttentionScore.Options):
        """As general."""

        strength: Positive = 8.0
        """Factor of the scores, once called gain."""

        @classmethod
        def upgrade(cls, data: dict[str, Any], version: str) -> dict[str, Any]:
            SEEN.append(version)
            if "gain" in data:
                data["strength"] = data.pop("gain")
            return data

    def __init__(self, query_size: int, key_size: int, strength: float = 8.0) -> None:
        super().__init__(query_size, key_size, strength)


class OldLabel(find("column", "label")):  # type: ignore[misc]
    pass


class OldExact(find("metric", "exact")):  # type: ignore[misc]
    pass


SEEN: list[str] = []


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A model of version 1.0, whose score had another option."""
    regard.register("score", "old")(OldScore)
    regard.register("column", "old-label")(OldLabel)
    regard.register("metric", "old_exact")(OldExact)
    spec = regard.Spec(
        inputs={"source": {"type": "text"}},
        outputs={"label": {"type": "old-label"}},
        encoder={"size": 4, "embedding": 4},
        decoder={"attention": {"score": {"type": "old", "gain": 5.0}}},
        metrics=["old_exact"],
    )
    regard.Model.build(spec, rows=ROWS).save(tmp_path / "model")
    content = json.loads((tmp_path / "model" / "parts.json").read_text(encoding="utf-8"))
    for one in content["parts"]:
        one["distribution"], one["version"] = "numpy", "1.0"
    (tmp_path / "model" / "parts.json").write_text(json.dumps(content), encoding="utf-8")
    for kind, name in (("score", "old"), ("column", "old-label"), ("metric", "old_exact")):
        del registry.PARTS[kind][name]
    return tmp_path / "model"


def test_a_missing_part_is_still_refused(saved: Path) -> None:
    with pytest.raises(RegardError, match="not registered here: column old-label"):
        regard.load(saved)


def test_former_options_are_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regard.register("score", "old")(NewScore)
    regard.register("column", "old-label")(OldLabel)
    regard.register("metric", "old_exact")(OldExact)
    monkeypatch.setattr("regard.parts.foreign.origin", lambda made: Origin("numpy", "2.0"))
    SEEN.clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = regard.load(saved)
    assert [str(one.message) for one in told] == [f"{saved}: saved with numpy 1.0; numpy 2.0 is installed."]
    assert set(SEEN) == {"1.0"}
    decoder = model.spec.decoder["label"]
    (attention,) = decoder.part.attentions(decoder)
    assert attention.score.strength == 5.0
    before = model.predict("a b").value
    model.save(saved.parent / "again")
    monkeypatch.undo()
    written = (saved.parent / "again" / "spec.yaml").read_text(encoding="utf-8")
    assert "strength: 5" in written and "gain" not in written
    assert regard.load(saved.parent / "again").predict("a b").value == before
    assert model.spec.changed("training.epochs=3").training.epochs == 3
