"""Sharing of finished models through the Hugging Face Hub or a folder.

    regard push runs/g2p owner/g2p          regard.load("hf:owner/g2p")
    regard push runs/g2p folder:/mnt/g2p    regard.load("/mnt/g2p")

Only the files of the model are shared (weights, spec, vocabularies, card, metrics), not the training state, no row
of the data and no local folder (`regard.model.shared_copy`). No downloaded file is executed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from regard.errors import MissingExtra, RegardError
from regard.storage.manifest import MODEL_FILES, claim

HUB, FOLDER = "hf:", "folder:"
FRONT = """---
library_name: regard
tags: [regard, encoder-decoder, attention]
---

"""
"""The metadata of a README for the Hub."""


def push(run: str | Path, target: str, *, private: bool = False) -> str:
    """Copy a run's model to `owner/name` on the Hub or to `folder:PATH`; returns the name to load."""
    from regard.model.shared_copy import copy_shared

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
    name = _repository(target)
    with tempfile.TemporaryDirectory() as staged:
        copy_shared(run, Path(staged))
        card = Path(staged) / "card.md"
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        text = text.replace('regard.load("this folder")', f'regard.load("{HUB}{name}")')
        (Path(staged) / "README.md").write_text(FRONT + text, encoding="utf-8")
        upload(Path(staged), name, private=private)
    return f"{HUB}{name}"


def fetched(source: str | Path) -> Path:
    """The folder of a model: a path unchanged; `hf:owner/name` or `hf:owner/name@revision` from the Hub."""
    if not str(source).startswith(HUB):
        return Path(source).expanduser()
    name, _, revision = str(source).removeprefix(HUB).partition("@")
    return download(_repository(name), revision or None)


def upload(folder: Path, repository: str, *, private: bool) -> None:
    """Upload all files of a folder to a repository of the Hub, which is created if it does not exist."""
    hub = _hub()
    try:
        api = hub.HfApi()
        api.create_repo(repository, exist_ok=True, private=private)
        api.upload_folder(folder_path=str(folder), repo_id=repository, commit_message="Add a model of regard")
    except Exception as error:  # errors of the Hub and of the network
        raise RegardError(
            f"the model could not be shared: {_first_line(error)}",
            where=f"{HUB}{repository}",
            fix="Log in with `hf auth login`, and check the name and the network.",
        ) from error


def download(repository: str, revision: str | None = None) -> Path:
    """Download the model's files from a repository of the Hub into its cache."""
    hub = _hub()
    try:
        return Path(hub.snapshot_download(repository, revision=revision, allow_patterns=list(MODEL_FILES)))
    except Exception as error:
        raise RegardError(
            f"Could not load the model from the Hugging Face Hub: {_first_line(error)}",
            where=f"{HUB}{repository}",
            fix="Check the name and the network; for a private model log in with `hf auth login`.",
        ) from error


def _repository(name: str) -> str:
    name = name.removeprefix(HUB)
    owner, slash, model = name.partition("/")
    if not owner or not slash or not model or "/" in model or owner.startswith("."):
        raise RegardError(
            f"expected owner/name or folder:PATH, received {name!r}.", where="push", fix="For example  me/g2p"
        )
    return name


def _hub():  # type: ignore[no-untyped-def]
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtra("huggingface_hub", "hub", "Sharing models") from error
    return huggingface_hub


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
