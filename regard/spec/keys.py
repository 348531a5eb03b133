"""Where a key of a spec belongs, for messages about keys that were written elsewhere or under another name."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel

from regard.parts import names, part
from regard.parts.choice import Section
from regard.spec.sections import DataSpec, SearchSpec, TrainingSpec

SECTIONS: dict[str, type[BaseModel]] = {"training": TrainingSpec, "search": SearchSpec, "data": DataSpec}
SYNONYMS = {
    "learning_rate": "lr",
    "batch": "batch_rows",
    "batch_size": "batch_rows",
    "num_epochs": "epochs",
    "max_epochs": "epochs",
    "num_steps": "steps",
    "max_steps": "steps",
    "early_stopping": "patience",
    "grad_clip": "clip",
    "beam_size": "beam",
    "num_beams": "beam",
    "hidden_size": "size",
    "hidden_dim": "size",
    "num_layers": "layers",
    "n_layers": "layers",
    "embedding_size": "embedding",
    "embedding_dim": "embedding",
    "num_heads": "heads",
    "n_heads": "heads",
}
"""Names of options in other toolkits."""


def paths_of(key: str) -> list[str]:
    """The paths of a spec at which this key, or else its synonym, is an option: `training.epochs`."""
    sections = [f"{section}.{key}" for section, model in SECTIONS.items() if key in _keys(model)]
    chosen = {kind: [part(kind, name).Options for name in names(kind)] for kind in ("encoder", "decoder")}
    fields = [options.model_fields.get("attention") for options in chosen["decoder"]]
    attends = any(
        key in model.model_fields for field in fields if field for model in _models(field.annotation)
    )
    looks = [f"attention.{key}"] if attends else []
    # What few parts have is meant only if nothing else has this name.
    share = 1 / 3 if sections or looks else 0.0
    own = [
        f"{kind}.{key}"
        for kind, options in chosen.items()
        if sum(key in one.model_fields for one in options) > share * len(options)
    ]
    found = [*sections, *own, *looks]
    return found if found or key not in SYNONYMS else paths_of(SYNONYMS[key])


def _keys(section: type[BaseModel]) -> set[str]:
    """The keys of a section, with those of a part whose options stand beside its name."""
    beside = section.all_options() if issubclass(section, Section) else ()
    return {key for model in (section, *beside) for key in model.model_fields}


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for one in get_args(annotation) for model in _models(one)]
