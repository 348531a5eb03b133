"""Options of sections without a type: options that others make ineffective are refused."""

from __future__ import annotations

from typing import Any

import pytest

from regard.errors import RegardError
from regard.spec import DataSpec, SearchSpec, Spec, TrainingSpec
from regard.spec.reference import field_words
from regard.testing.specs import document


@pytest.mark.parametrize("settings", [TrainingSpec, SearchSpec, DataSpec])
def test_every_key_has_words(settings: Any) -> None:
    assert settings.__doc__
    words = field_words(settings)
    assert not [name for name in settings.model_fields if not words.get(name)]


@pytest.mark.parametrize(
    ("section", "options", "words"),
    [
        ("training", {"momentum": 0.9}, "momentum has no effect: it belongs to optimizer: sgd"),
        ("training", {"optimizer": "sgd", "betas": [0.9, 0.98]}, "betas has no effect: it belongs to adam"),
        ("training", {"average": 1}, "it averages a single checkpoint"),
        (
            "search",
            {"replace_unknown": True},
            "replace_unknown has no effect: it needs a text output with attention",
        ),
    ],
)
def test_what_has_no_effect_is_refused(section: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegardError, match=words) as refused:
        Spec.parse({**document("plain"), section: options})
    assert refused.value.where.startswith(section)


@pytest.mark.parametrize(
    ("section", "options"),
    [
        ("training", {"optimizer": "sgd", "momentum": 0.9}),
        ("training", {"optimizer": "adamw", "betas": [0.9, 0.98]}),
        ("training", {"average": 3}),
        ("search", {"beam": 4}),
        ("search", {"replace_unknown": True}),
    ],
)
def test_what_has_one_is_taken(section: str, options: dict[str, Any]) -> None:
    assert Spec.parse({**document("text"), section: options})
