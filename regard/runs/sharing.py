"""Sharing of finished models through the Hugging Face Hub or a folder.

    regard push runs/g2p owner/g2p          regard.load("hf:owner/g2p")
    regard push runs/g2p folder:/mnt/g2p    regard.load("/mnt/g2p")

Only the files of the model are shared (weights, spec, vocabularies, card, metrics), not the training state, no row
of the data and no local folder (`regard.model.shared_copy`). No downloaded file is executed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from regard.errors import RegardError
from regard.model.shared_copy import copy_shared
from regard.storage.hub import HUB, repository_name, upload
from regard.storage.manifest import MODEL_FILES, claim

FOLDER = "folder:"
FRONT = """---
library_name: regard
tags: [regard, encoder-decoder, attention]
---

"""
"""The metadata of a README for the Hub."""


def push(run: str | Path, target: str, *, private: bool = False) -> str:
    """Copy a run's model to `owner/name` on the Hub or to `folder:PATH`; returns the name to load."""
    run = Path(run).expanduser()
    missing = [
        name for name in ("spec.yaml", "columns.json", "model.safetensors") if not (run / name).is_file()
    ]
    if missing:
        raise RegardError(
            f"this folder holds no finished model: {', '.join(missing)} is missing.",
            where=str(run),
            fix="Name the folder of a trained model.",
        )
    if target.startswith(FOLDER):
        folder = Path(target.removeprefix(FOLDER)).expanduser()
        if folder.is_file():
            raise RegardError(
                "this is a file, expected a folder.", where=str(folder), fix="Choose another folder."
            )
        if folder.resolve() == run.resolve():
            raise RegardError(
                "this is the folder of the run itself, which keeps its rows.",
                where=str(folder),
                fix="Choose another folder.",
            )
        claim(folder, MODEL_FILES)
        copy_shared(run, folder)
        return str(folder)
    name = repository_name(target)
    with tempfile.TemporaryDirectory() as staged:
        copy_shared(run, Path(staged))
        card = Path(staged) / "card.md"
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        text = text.replace('regard.load("this folder")', f'regard.load("{HUB}{name}")')
        (Path(staged) / "README.md").write_text(FRONT + text, encoding="utf-8")
        upload(Path(staged), name, private=private)
    return f"{HUB}{name}"
