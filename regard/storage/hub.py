"""Models on the Hugging Face Hub: upload, download. No downloaded file is executed."""

from __future__ import annotations

from pathlib import Path

from regard.errors import MissingExtra, RegardError
from regard.storage.manifest import MODEL_FILES

HUB = "hf:"
"""The beginning of the name of a model on the Hub."""


def fetched(source: str | Path) -> Path:
    """The folder of a model: a path unchanged; `hf:owner/name` or `hf:owner/name@revision` from the Hub."""
    if not str(source).startswith(HUB):
        return Path(source).expanduser()
    name, _, revision = str(source).removeprefix(HUB).partition("@")
    return download(repository_name(name), revision or None)


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


def repository_name(name: str) -> str:
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
