"""Small models of zoo systems for the studio: fitted to a few rows, with drawn weights that nobody trained.

The weights are enlarged, so that the answer of a model depends on where it looks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from regard import Spec, zoo
from regard.data.sources import open_splits
from regard.model import build

KINDS = (
    "translation",
    "translation-segments-word",
    "parser-crf",
    "caption",
    "image-qa-attention",
    "dialog-context",
    "facts",
    "nli-self",
    "document-class",
    "speech",
    "video-class",
    "pointer-hull",
)
"""A system of each kind of input and output."""
SMALL = {"dev": 6, "test": 6}
DATA: dict[str, dict[str, Any]] = {
    "translation": {"train": 24, "long": 4},
    "reviews": {"train": 8, "long": 3},
    "scenes": {"train": 8, "crowded": 4},
    "bits": {"train": 8, "long": 4},
    "parity": {"train": 24, "long": 4},
    "sum": {"train": 24, "long": 4},
    "compare": {"train": 24, "long": 4},
    "programs": {"train": 24, "levels": 12},
    "addition": {"train": 24, "levels": 12},
    "points": {"train": 8},
    "films": {"train": 8},
    "tones": {"train": 4},
    "cmudict": {"train": 60},
    "python-docs": {"train": 20, "dev": 3, "test": 3},
}
"""Sizes of the data of each world and package; the others have 24 rows to train on."""
WHOLE = ("cldr",)
"""Packages that are read as they are."""
TEXT = ["encoder.size=8", "decoder.size=8", "encoder.embedding=8", "decoder.embedding=8"]
SIZES: dict[str, list[str]] = {
    "translation": TEXT,
    "translation-segments-word": TEXT,
    "reverse": TEXT,
    "parser-crf": TEXT[::2],
}
ENLARGED = 3.0


def small_spec(name: str, changes: tuple[str, ...] = ()) -> Spec:
    """A zoo system with few rows of data, and with small layers if it is one of `SIZES`."""
    spec = zoo.find(name)
    provider = spec.data.provider
    sizes = {} if provider.type in WHOLE else {"train": 24, **SMALL, **DATA.get(provider.type, {})}
    if getattr(provider, "most", 5) < 4:
        sizes.pop("crowded", None)
    found = [f"data.{provider.kind}.{key}={value}" for key, value in sizes.items()]
    found += SIZES.get(name, [])
    if spec.inputs and provider.type != "points":
        found.append("search.max_length=8")
    return zoo.find(name, [*found, *changes])


def small_run(name: str, folder: Path, *, enlarged: float = ENLARGED, changes: tuple[str, ...] = ()) -> Path:
    """The folder of a small model of a zoo system."""
    spec = small_spec(name, changes)
    torch.manual_seed(3)
    model = build(spec, rows=open_splits(spec)["train"])
    with torch.no_grad():
        for one in model.network.parameters():
            one.mul_(enlarged)
    model.save(folder)
    return folder


def small_language_model(folder: Path) -> Path:
    """The folder of a small model that continues a text."""
    text = folder.parent / "text.txt"
    text.write_text(
        "\n".join(f"the {name} sleeps and the cat sees it ." for name in ("dog", "fox", "owl")) * 40
    )
    changes = [f"data={{train: [{text}]}}", "decoder.size=8", "decoder.embedding=8", "search.max_length=12"]
    spec = zoo.find("lm-char", changes)
    torch.manual_seed(3)
    build(spec, rows=open_splits(spec)["train"]).save(folder)
    return folder
