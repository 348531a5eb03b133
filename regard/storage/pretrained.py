"""Folders of pretrained models in the format of transformers: found, identified, never downloaded.

A model is a folder, or `hf:owner/name` in the local cache of the Hugging Face Hub.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from regard.errors import MissingExtra, RegardError
from regard.storage.files import read_json
from regard.storage.hub import HUB

__all__ = ["license_of", "model_files", "model_folder", "read_config", "read_tokenizer"]

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
PIECE = 1 << 20


def model_folder(name: str) -> Path:
    """The folder of a pretrained model."""
    if not name.startswith(HUB):
        folder = Path(name).expanduser()
        if not (folder / CONFIG).is_file():
            cause = f"this folder holds no {CONFIG}." if folder.is_dir() else "there is no such folder."
            raise RegardError(
                cause,
                where=name,
                fix="Name the folder of a model of transformers, or hf:owner/name in the cache of the Hub.",
            )
        return folder
    repository, _, revision = name.removeprefix(HUB).partition("@")
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "text", f"The model {name}") from None
    try:
        found = huggingface_hub.snapshot_download(
            repository, revision=revision or None, local_files_only=True
        )
    except Exception:  # the library has several errors for a missing copy, and for a bad name
        wanted = f"  (revision {revision})" if revision else ""
        raise RegardError(
            "this model is not in the local cache of the Hub.",
            where=name,
            fix=f"Fetch it once: hf download {repository}{wanted}",
        ) from None
    return model_folder(found)


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of the model."""
    try:
        config = read_json(folder / CONFIG)
        if not isinstance(config, dict) or "model_type" not in config:
            raise ValueError("it names no model_type")
    except (OSError, ValueError) as error:
        raise RegardError(
            f"the configuration cannot be read: {error}.",
            where=str(folder / CONFIG),
            fix="Download the model again.",
        ) from None
    return config


def read_tokenizer(folder: Path) -> str:
    """The text of the tokenizer."""
    try:
        text = (folder / TOKENIZER).read_text(encoding="utf-8")
        json.loads(text)
    except FileNotFoundError:
        save = f"AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r})"
        raise RegardError(
            f"the model has no {TOKENIZER}.",
            where=str(folder),
            fix=f'Write it once: python -c "from transformers import AutoTokenizer; {save}"',
        ) from None
    except (OSError, ValueError) as error:
        raise RegardError(
            f"the tokenizer cannot be read: {error}.",
            where=str(folder / TOKENIZER),
            fix="Download the model again.",
        ) from None
    return text


def model_files(folder: Path) -> dict[str, dict[str, Any]]:
    """{name: bytes and digest} of the files that make the model."""
    names = [CONFIG, TOKENIZER, *WEIGHTS, *sorted(one.name for one in folder.glob("model-*.safetensors"))]
    return {name: _identity(folder / name) for name in names if (folder / name).is_file()}


def _identity(path: Path) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return {"bytes": path.stat().st_size, "digest": digest.hexdigest()}


def license_of(folder: Path) -> str:
    """The license that the README, the configuration or a file LICENSE of the model names; "" if none does."""
    readme = folder / "README.md"
    if readme.is_file():
        text = readme.read_text(encoding="utf-8", errors="replace")
        front = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
        named = re.search(r"(?m)^license:\s*['\"]?([\w.+ -]+)", front[1]) if front else None
        if named:
            return named[1].strip()
    config = read_config(folder)
    if isinstance(config.get("license"), str):
        return str(config["license"])
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        if (folder / name).is_file():
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").split("\n")
            return next((line.strip() for line in lines if line.strip()), "")
    return ""
